"""The weights that a linear model gives to columns, in sizes that can be compared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from separatrix.data.design import dense
from separatrix.kernels.functions import LinearKernel

# The entries of a sparse matrix that are read at a time.
_ENTRIES = 1 << 20


def column_spread(X: Any) -> np.ndarray:
    """The standard deviation of every column, without making a sparse matrix dense."""
    if sparse.issparse(X):
        # Accumulated in float64 whatever the matrix holds; indices of 64 bits are fine.
        rows = X.astype(np.float64, copy=False).tocsr()
        spread = np.sqrt(mean_variance_axis(rows, axis=0)[1])
        largest = np.zeros(rows.shape[1])
        for start in range(0, rows.nnz, _ENTRIES):
            part = slice(start, start + _ENTRIES)
            np.maximum.at(largest, rows.indices[part], np.abs(rows.data[part]))
        far = np.flatnonzero(_out_of_range(largest))
        for j in far.tolist():
            spread[j] = _spread_of_one(rows[:, [j]].toarray(), largest[j])
        return spread
    X = np.asarray(X)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.std(X, axis=0, dtype=np.float64)
    largest = np.maximum(np.max(X, axis=0), -np.min(X, axis=0)).astype(np.float64)
    for j in np.flatnonzero(_out_of_range(largest)).tolist():
        spread[j] = _spread_of_one(X[:, j].astype(np.float64), largest[j])
    return spread


def _out_of_range(largest: np.ndarray) -> np.ndarray:
    """Whether squares of a column of this size overflow, or vanish."""
    return (largest > 1e150) | ((largest < 1e-150) & (largest > 0.0))


def _spread_of_one(column: np.ndarray, largest: float) -> float:
    """The standard deviation of a column, brought to the size of 1 first."""
    exponent = int(np.frexp(largest)[1])
    return float(np.ldexp(np.std(np.ldexp(column, -exponent)), exponent))


def has_weights(model: Any) -> bool:
    """Whether a model weighs columns; one with a kernel does only where that is linear.

    Quadratic discriminants have a matrix of weights a class, and polynomials weigh powers.
    """
    if not hasattr(model, "kernel_"):
        return np.shape(getattr(model, "coef_", ()))[-1:] == (model.n_features_in_,)
    return isinstance(model.kernel_, LinearKernel) and not hasattr(model, "lift_")


def sign_towards(labels: Sequence[Any], positive: Any) -> float:
    """The factor of scores of two classes that makes them point towards the positive class.

    Estimators score towards the second of two classes; where nobody chose a positive class, it is
    that one.
    """
    return -1.0 if len(labels) == 2 and positive is not None and positive == labels[0] else 1.0


def effective_weights(model: Any, positive: Any = None) -> tuple[np.ndarray, bool]:
    """The weights, a row for each score, and whether their mean over the classes was taken off.

    The weights for two classes point towards the positive one.
    """
    weights = np.atleast_2d(dense(model.coef_).astype(np.float64, copy=False))
    if len(weights) == 1 and hasattr(model, "classes_"):
        # The sum with 0 is never a zero with a minus.
        weights = sign_towards(model.classes_.tolist(), positive) * weights + 0.0
    centred = hasattr(model, "means_") and len(weights) > 1
    # The part that the scores of all classes have in common decides nothing.
    return weights - weights.mean(axis=0) if centred else weights, centred


def largest_weights(
    model: Any,
    names: Sequence[str],
    spread: np.ndarray,
    count: int = 10,
    *,
    scales: np.ndarray | None = None,
    positive: Any = None,
) -> list[dict[str, Any]]:
    """The largest weights by standardised size.

    Parameters
    ----------
    model : estimator
        A fitted linear model with ``coef_`` of shape ``(1 or K, d)``, or one against one of
        shape ``(1 or K (K - 1) / 2, d)``; for a regressor of shape ``(d,)``.
    names : sequence of str
        The names of the d features.
    spread : ndarray of shape (d,)
        The standard deviation of each feature over the rows that were fitted. A weight times its
        feature's spread is the effect of a typical change of the feature on the score, so sizes
        can be compared whatever the units. Only differences of the scores of linear discriminants
        count, so their weights are reported less their mean over the classes.
    count : int
        The largest number of weights; weights without effect are left out.
    scales : ndarray of shape (d,), optional
        The number of units of its column that make one unit of a feature, as ``Encoder.scales_``
        has it.
    positive : label, optional
        The positive class of two, towards which weights point; the second by default.

    Returns
    -------
    list of dict
        ``feature``, ``class`` (towards which a positive weight points; not for a regressor),
        ``weight`` (of one unit of the column) and ``standardised`` (of one standard deviation),
        from the largest; one against one also ``against``, the other class.
    """
    weights, _ = effective_weights(model, positive)
    standardised = weights * spread
    per_unit = weights if scales is None else weights / scales
    order = np.argsort(-np.abs(standardised), axis=None, kind="stable")[:count]
    labels = model.classes_.tolist() if hasattr(model, "classes_") else []
    towards = labels
    if len(weights) == 1 and labels:
        towards = labels[:1] if sign_towards(labels, positive) < 0.0 else labels[1:]
    pairs = list(itertools.combinations(labels, 2)) if hasattr(model, "kernel_") else []
    if len(labels) == 2:
        pairs = []
    entries = []
    for row, column in zip(*np.unravel_index(order, weights.shape), strict=True):
        if standardised[row, column] == 0:
            break
        side = {"class": pairs[row][0] if pairs else towards[row]} if labels else {}
        entries.append(
            {
                "feature": names[column],
                **side,
                **({"against": pairs[row][1]} if pairs else {}),
                "weight": float(per_unit[row, column]),
                "standardised": float(standardised[row, column]),
            }
        )
    return entries
