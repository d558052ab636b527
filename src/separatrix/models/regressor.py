"""What the regressions share: fitted values, residuals, and the share that they explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data.validation import validate
from separatrix.messages import counted

__all__ = ["Regressor", "told_targets"]


class Regressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """An estimator of one number a row, or of several."""

    def projection(self, X: Any) -> np.ndarray:
        r"""The vector of fitted values :math:`\hat y = A x`.

        On the training rows, without a penalty: the orthogonal projection of the targets on the
        space that the columns span.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self.predict(X)

    def residuals(self, X: Any, y: Any) -> np.ndarray:
        """``y`` less the fitted values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        ndarray of the shape of ``y``
        """
        check_is_fitted(self)
        _, numbers = validate(self, X, y, regression=True, reset=False)
        fitted = self.predict(X)
        if numbers.shape != fitted.shape:
            raise ValueError(
                f"y has {told_targets(numbers.shape[1:])}, and the model was fitted to "
                f"{told_targets(fitted.shape[1:])}."
            )
        return numbers - fitted

    def r2(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""The share of the variation that is explained.

        .. math:: R^2 = 1 - \frac{\sum_i s_i (y_i - \hat y_i)^2}{\sum_i s_i (y_i - \bar y)^2} ,

        the mean of it over several targets; the same as :meth:`score`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(self.score(X, y, sample_weight))


def told_targets(shape: tuple[int, ...]) -> str:
    """How many targets an array has, in words."""
    return f"two dimensions and {counted(shape[0], 'target')}" if shape else "one dimension"
