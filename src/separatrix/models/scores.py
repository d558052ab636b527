"""Predictions from scores: of classes by the largest, of numbers as they are."""

from __future__ import annotations

import contextlib
import math
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix._compiled import pool
from separatrix.data.design import Design, as_design, dense
from separatrix.data.validation import require_finite, validate
from separatrix.models.blocked import accuracy_over, is_blocked, r2_over

__all__ = [
    "ClassPredictions",
    "NumberPredictions",
    "agreeing",
    "column_names",
    "linear_scores",
    "narrowed",
    "scores_of",
    "winners",
]

# Multiplications.
_FEW = 4096


class ClassPredictions(ClassifierMixin):
    """The scores of half-spaces, one for two classes and one a class for more, and predictions.

    A classifier of other surfaces has a ``decision_function`` of its own.
    """

    classes_: np.ndarray
    coef_: Any
    intercept_: Any

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores ``w.x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
            Positive for ``classes_[1]``.
        """
        scores = _fitted_scores(self, X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The first class wins ties; for two classes, a point on the plane (score 0) belongs to
            ``classes_[0]``.
        """
        scores = self.decision_function(X)
        return self.classes_[winners(scores)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy: the share of the rows that are predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Row blocks contain their labels and weights.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if is_blocked(X):
            return accuracy_over(self, X, y, sample_weight)
        plain = sample_weight is None and type(y) is np.ndarray and y.ndim == 1 and len(y) > 0
        if plain and "classes_" in vars(self) and y.dtype.kind in "biuU":
            predicted = self.predict(X)
            if predicted.dtype.kind == y.dtype.kind and predicted.shape == y.shape:
                # What scikit-learn checks besides takes it ten times as long.
                return float(np.count_nonzero(predicted == y) / len(y))
        return float(super().score(X, y, sample_weight))


class NumberPredictions(RegressorMixin):
    """The fitted values of a regression, and the share of the variation that they explain."""

    # Whether it predicts several numbers a row where it was fitted to several.
    _several: ClassVar[bool] = True
    coef_: Any
    intercept_: Any

    def predict(self, X: Any) -> np.ndarray:
        """The fitted values ``W x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        values = _fitted_scores(self, X)
        return values if self._several and self.coef_.ndim == 2 else values[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        return float(super().score(X, y, sample_weight))


def _fitted_scores(model: Any, X: Any) -> np.ndarray:
    """Scores of a model that may not be fitted, one a column."""
    if "coef_" not in vars(model):
        # To raise: for one row it would take longer than all the rest.
        check_is_fitted(model)
    coef = model.coef_
    return linear_scores(model, X, coef if coef.ndim == 2 else coef[None, :], model.intercept_)


def linear_scores(
    estimator: Any, X: Any, coef: np.ndarray, intercept: np.ndarray | float
) -> np.ndarray:
    """``X W' + b`` for the data of a prediction, which are read once.

    NaN and infinities in ``X`` are not looked for: they show in the scores, as finite weights
    hide none.  Only then does anything search for the first one.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    coef : ndarray or sparse matrix of shape (K, n_features)
    intercept : ndarray of shape (K,) or float

    Returns
    -------
    ndarray of shape (n_samples, K)
        Of float64; of float32 where both the data and the weights are.

    Raises
    ------
    ValueError
        For data that scikit-learn refuses, and NaN or infinity, named by row and column.
    """
    return scores_of(estimator, validate(estimator, X, finite=False), coef, intercept)


def scores_of(
    estimator: Any, matrix: Any, coef: np.ndarray, intercept: np.ndarray | float
) -> np.ndarray:
    """:func:`linear_scores` of a matrix that has been validated."""
    if coef.ndim != 2 or coef.shape[1] != matrix.shape[1]:
        # Attributes can be set by hand, and compiled loops follow the shape of the data.
        raise ValueError(
            f"The coef_ of this {type(estimator).__name__} has the shape {coef.shape}, which does "
            f"not match data of {matrix.shape[1]:,} columns (n_features_in_ is "
            f"{estimator.n_features_in_!r}); fit it again."
        )
    single = coef.dtype == np.float32
    if single or type(coef) is not np.ndarray:
        # Products and sums are taken in float64 whatever the data are.
        coef = dense(coef).astype(np.float64)
        intercept = np.asarray(intercept, dtype=np.float64)
    # So few entries BLAS gives to one thread by itself.
    few = matrix.size * len(coef) <= _FEW
    with (
        contextlib.nullcontext() if few else pool.bounded_blas(),
        np.errstate(over="ignore", under="ignore", invalid="ignore"),
    ):
        scores, total = as_design(matrix).scores(coef, intercept)
    # Some BLAS pass over weights of zero, where an infinity would show as NaN.
    if not (math.isfinite(total) and (coef.all() or sp.issparse(matrix))):
        require_finite(matrix, getattr(estimator, "feature_names_in_", None))
    return scores.astype(np.float32) if single and matrix.dtype == np.float32 else scores


def narrowed(
    coef: np.ndarray, intercept: np.ndarray, design: Design
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts as float32, where the data are, and that loses nothing."""
    if design.matrix.dtype == np.float32:
        narrow = coef.astype(np.float32), intercept.astype(np.float32)
        if np.array_equal(narrow[0], coef) and np.array_equal(narrow[1], intercept):
            return narrow
    return coef, intercept


def column_names(model: Any) -> list[str]:
    """The names of a fitted model's columns; ``x0``, ``x1``, ... where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]


def winners(scores: np.ndarray) -> np.ndarray:
    """Class numbers from scores: the one place where ties are decided."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.intp)
    return scores.argmax(axis=1)


def agreeing(proba: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """Lift the winner's probability by an ulp where rounding made it tie or lose."""
    rows = np.arange(len(proba))
    others = proba.copy()
    others[rows, winner] = -np.inf
    best = others.max(axis=1)
    tied = proba[rows, winner] <= best
    proba[rows[tied], winner[tied]] = np.nextafter(best[tied], 2.0)
    return proba
