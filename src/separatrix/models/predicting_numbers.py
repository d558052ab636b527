"""The methods of regressions that predict, each of which their classes name in their bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.models.blocked import is_blocked, r2_over
from separatrix.models.scores import fitted_scores

__all__ = ["predict", "score"]


def predict(self: Any, X: Any) -> np.ndarray:
    """The fitted values ``W x + b``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
    """
    values = fitted_scores(self, X)
    return values if self._several and self.coef_.ndim == 2 else values[:, 0]


def score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    r"""The coefficient of determination :math:`R^2`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        Row blocks contain their targets and weights.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float
    """
    if is_blocked(X):
        return r2_over(self, X, y, sample_weight)
    return float(RegressorMixin.score(self, X, y, sample_weight))
