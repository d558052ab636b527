"""Scores of rows by weights, for all that predict by them."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix._compiled import pool
from separatrix.data.design import Design, as_design, dense
from separatrix.data.validation import require_finite, validate

__all__ = [
    "column_names",
    "fitted_scores",
    "linear_scores",
    "narrowed",
    "scores_of",
]

# Multiplications.
_FEW = 4096


def fitted_scores(model: Any, X: Any) -> np.ndarray:
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
