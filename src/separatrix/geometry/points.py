"""Labelled points: what every statement about data is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import Labels, encode
from separatrix.data.validation import require_classes, require_finite, validate

# Rows that are looked at at a time.
_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points with signs, in homogeneous coordinates: ``z = y (x, 1)``, or ``y x``.

    Attributes
    ----------
    design : Design
    y : ndarray of shape (n_samples,)
        -1 or +1.
    lifted : bool
        With the constant 1 as the last coordinate: hyperplanes with an offset.
    """

    design: Design
    y: np.ndarray
    lifted: bool

    @property
    def n(self) -> int:
        return self.design.n_samples

    @property
    def dimension(self) -> int:
        return self.design.n_features + int(self.lifted)

    def width(self, *, balanced: bool) -> int:
        return self.design.n_features if balanced else self.dimension

    def take(self, rows: np.ndarray) -> Cloud:
        return Cloud(self.design.take(rows), self.y[rows], self.lifted)

    def signed(self, rows: np.ndarray, *, balanced: bool = False) -> np.ndarray:
        """``z`` for the given rows, dense in float64; ``balanced`` leaves the constant out."""
        out = dense(self.design.take(rows).matrix).astype(np.float64) * self.y[rows, None]
        if self.lifted and not balanced:
            out = np.column_stack([out, self.y[rows]])
        return out


def class_ranges(cloud: Cloud) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each column by class.

    Returns
    -------
    low, high : ndarray of shape (2, n_features)
        The first row is the positive class, the second the negative one.
    """
    n, d = cloud.design.shape
    low, high = np.full((2, d), np.inf), np.full((2, d), -np.inf)
    x = cloud.design.matrix
    for k, positive in enumerate((True, False)):
        member = (cloud.y > 0) == positive
        if sp.issparse(x):
            stored = np.repeat(member, np.diff(x.indptr))
            columns, values = x.indices[stored], x.data[stored].astype(np.float64)
            np.minimum.at(low[k], columns, values)
            np.maximum.at(high[k], columns, values)
            # Where an entry is not stored it is zero.
            some = np.bincount(columns, minlength=d) < np.count_nonzero(member)
            low[k] = np.where(some, np.minimum(low[k], 0.0), low[k])
            high[k] = np.where(some, np.maximum(high[k], 0.0), high[k])
            continue
        for start in range(0, n, _ROWS):
            block = x[start : start + _ROWS][member[start : start + _ROWS]]
            if len(block):
                low[k] = np.minimum(low[k], block.min(axis=0))
                high[k] = np.maximum(high[k], block.max(axis=0))
    return low, high


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """Validated points with their labels.

    Attributes
    ----------
    design : Design
    labels : Labels
    names : tuple of str or None
        The names of the columns, if they had any.
    """

    design: Design
    labels: Labels
    names: tuple[str, ...] | None = None


def _has_repeats(matrix: Any) -> bool:
    """Whether a place of a CSR matrix is stored more than once; unsorted rows are no repeats."""
    if matrix.has_canonical_format:
        return False
    pattern = sp.csr_matrix(
        (np.ones(len(matrix.data), dtype=np.int8), matrix.indices, matrix.indptr), matrix.shape
    ).copy()
    pattern.sum_duplicates()
    return bool(pattern.nnz < matrix.nnz)


def labelled_points(X: Any, y: Any, *, classes: bool = True) -> LabelledPoints:
    """Validate a matrix and its labels as an estimator would, without a copy where possible.

    Without ``classes`` the labels need be no classes: those of a quantity are its different
    numbers, and where `y` is None all rows have the same one.

    Entries of a sparse matrix that are stored in several parts are added up, in floats as
    elsewhere, so that what is stated is about one number a place; that takes a copy.

    Raises
    ------
    ValueError
        For NaN or infinity (named by row and column), lengths that differ, or one class only.
    """
    # scikit-learn's validation remembers the columns' names on an estimator.
    holder = BaseEstimator()
    if classes:
        matrix, y = validate(holder, X, y)
        require_classes(y)
        labels = encode(y, None, None)
    elif y is None:
        matrix = validate(holder, X, reset=True)
        labels = Labels(np.zeros(1), np.zeros(matrix.shape[0], np.int64), None, matrix.shape[0])
    else:
        matrix, y = validate(holder, X, y, regression=True)
        values, codes = np.unique(y, return_inverse=True)
        labels = Labels(values, codes.reshape(-1), None, len(codes))
    if sp.issparse(matrix) and _has_repeats(matrix):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        require_finite(matrix)
    names = getattr(holder, "feature_names_in_", None)
    return LabelledPoints(
        as_design(matrix),
        labels,
        None if names is None else tuple(str(name) for name in names),
    )
