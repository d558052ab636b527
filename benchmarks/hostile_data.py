"""Hostile data: small problems of the kinds that floating point is bad at.

Outliers, offsets, collinear columns, scales up to 1e150, weights from one end of the range to the
other, and all ways of storing a matrix.  Both attacks, :mod:`benchmarks.certificates` and
:mod:`benchmarks.tampering`, draw their data from these families.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["FAMILIES", "Data", "all_there", "power", "separable", "stored"]


@dataclass
class Data:
    """The data of a problem, before a storage is chosen."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    storage: str = "dense"
    C: float | None = None
    lam: float | None = None


def power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _outlier_entry(rng: np.random.Generator, data: Data) -> None:
    n, d = data.X.shape
    data.X[rng.integers(n), rng.integers(d)] *= power(rng, 3, 12)


def _outlier_row(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.integers(len(data.X))] *= power(rng, 3, 12)


def _outlier_column(rng: np.random.Generator, data: Data) -> None:
    data.X[:, rng.integers(data.X.shape[1])] *= power(rng, 3, 12)


def _offset(rng: np.random.Generator, data: Data) -> None:
    columns = rng.random(data.X.shape[1]) < 0.7
    data.X[:, columns] += power(rng, 3, 12)


def _years(rng: np.random.Generator, data: Data) -> None:
    column = rng.integers(data.X.shape[1])
    data.X[:, column] = np.round(1970 + 20 * data.X[:, column])


def _seconds(rng: np.random.Generator, data: Data) -> None:
    column = rng.integers(data.X.shape[1])
    data.X[:, column] = np.round(1.6e9 + 3e7 * data.X[:, column])


def _nanoseconds(rng: np.random.Generator, data: Data) -> None:
    _seconds(rng, data)
    data.X[:, np.abs(data.X).max(axis=0) > 1e8] *= 1e9


def _collinear(rng: np.random.Generator, data: Data) -> None:
    d = data.X.shape[1]
    if d == 1:
        data.X = np.column_stack([data.X, data.X])
        d = 2
    noise = rng.normal(size=len(data.X)) * power(rng, -16, -6) * rng.integers(2)
    factor = rng.choice([1.0, -1.0, 3.0, 0.1])
    data.X[:, -1] = factor * data.X[:, 0] * (1.0 + noise)
    if d > 2 and rng.random() < 0.4:
        data.X[:, -1] = data.X[:, 0] + data.X[:, 1] + noise


def _one_scale(rng: np.random.Generator, data: Data) -> None:
    data.X *= power(rng, -150, 150) if rng.random() < 0.5 else power(rng, -12, 12)


def _column_scales(rng: np.random.Generator, data: Data) -> None:
    reach = 150 if rng.random() < 0.4 else 9
    data.X *= 10.0 ** rng.uniform(-reach, reach, size=data.X.shape[1])


def _row_scales(rng: np.random.Generator, data: Data) -> None:
    reach = 100 if rng.random() < 0.2 else 6
    data.X *= (10.0 ** rng.uniform(-reach, reach, size=len(data.X)))[:, None]


def _weights(rng: np.random.Generator, data: Data) -> None:
    reach = float(rng.choice([1, 3, 8, 30, 100]))
    data.weights = 10.0 ** rng.uniform(-reach, reach, size=len(data.X))


def _zero_weights(rng: np.random.Generator, data: Data) -> None:
    weights = np.ones(len(data.X)) if data.weights is None else data.weights
    weights = np.where(rng.random(len(weights)) < 0.3, 0.0, weights)
    for label in np.unique(data.y):
        own = np.flatnonzero(data.y == label)
        if not weights[own].any():
            weights[own[0]] = 1.0
    data.weights = weights


def _strength(rng: np.random.Generator, data: Data) -> None:
    if rng.random() < 0.15:
        data.C = math.inf
    else:
        data.C = power(rng, -100, 100) if rng.random() < 0.5 else power(rng, -12, 12)


def _lam(rng: np.random.Generator, data: Data) -> None:
    data.lam = power(rng, -30, 30) if rng.random() < 0.3 else power(rng, -6, 2)


def _duplicate_rows(rng: np.random.Generator, data: Data) -> None:
    n = len(data.X)
    source = rng.integers(max(1, n // 3), size=n)
    data.X, data.y = data.X[source], all_there(data.y[source], data.y)


def all_there(y: np.ndarray, before: np.ndarray) -> np.ndarray:
    classes = np.unique(before)
    y = y.copy()
    y[: len(classes)] = classes
    return y


def _duplicate_columns(rng: np.random.Generator, data: Data) -> None:
    d = data.X.shape[1]
    data.X = data.X[:, rng.integers(d, size=min(d + 2, 10))].copy()


def _contradictions(rng: np.random.Generator, data: Data) -> None:
    half = len(data.X) // 2
    data.X[half : 2 * half] = data.X[:half]


def _zero_rows(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.random(len(data.X)) < 0.4] = 0.0


def _constant_column(rng: np.random.Generator, data: Data) -> None:
    data.X[:, rng.integers(data.X.shape[1])] = rng.choice([0.0, 1.0, -3.7, 1e8, 1e-9])


def _few_rows(rng: np.random.Generator, data: Data) -> None:
    """One row a class: two rows of two classes."""
    first = [int(np.flatnonzero(data.y == label)[0]) for label in np.unique(data.y)]
    data.X, data.y = data.X[first].copy(), data.y[first]
    data.weights = None if data.weights is None else data.weights[first]


def _wide(rng: np.random.Generator, data: Data) -> None:
    n = min(len(data.X), 5)
    keep = np.argsort(np.unique(data.y, return_inverse=True)[1], kind="stable")
    keep = np.unique(
        np.r_[[int(np.flatnonzero(data.y == c)[0]) for c in np.unique(data.y)], keep[:n]]
    )
    data.X, data.y = data.X[keep], data.y[keep]
    data.weights = None if data.weights is None else data.weights[keep]
    extra = rng.normal(size=(len(keep), int(rng.integers(2, 7))))
    data.X = np.column_stack([data.X, extra])


def separable(rng: np.random.Generator, data: Data) -> None:
    codes = np.unique(data.y, return_inverse=True)[1]
    data.X[:, 0] = codes * rng.uniform(0.5, 3.0) + 0.2 * rng.random(len(codes))


def _whole_numbers(rng: np.random.Generator, data: Data) -> None:
    data.X = np.round(np.clip(data.X, -1e15, 1e15) * float(rng.choice([1.0, 3.0, 100.0])))
    data.storage = str(rng.choice(["int64", "int32", "int8", "bool"]))


def _single(rng: np.random.Generator, data: Data) -> None:
    data.storage = "float32"


def _sparse(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.random(data.X.shape) < 0.4] = 0.0
    data.storage = str(rng.choice(["csr", "unsorted"]))


def _strided(rng: np.random.Generator, data: Data) -> None:
    data.storage = str(rng.choice(["fortran", "every other", "reversed"]))


def _ordinary(rng: np.random.Generator, data: Data) -> None:
    pass


FAMILIES: dict[str, Callable[[np.random.Generator, Data], None]] = {
    "ordinary": _ordinary,
    "outlier entry": _outlier_entry,
    "outlier row": _outlier_row,
    "outlier column": _outlier_column,
    "offset": _offset,
    "years": _years,
    "seconds": _seconds,
    "nanoseconds": _nanoseconds,
    "collinear": _collinear,
    "one scale": _one_scale,
    "column scales": _column_scales,
    "row scales": _row_scales,
    "weights": _weights,
    "zero weights": _zero_weights,
    "strength": _strength,
    "lam": _lam,
    "duplicate rows": _duplicate_rows,
    "duplicate columns": _duplicate_columns,
    "contradictions": _contradictions,
    "zero rows": _zero_rows,
    "constant column": _constant_column,
    "few rows": _few_rows,
    "wide": _wide,
    "separable": separable,
    "whole numbers": _whole_numbers,
    "float32": _single,
    "sparse": _sparse,
    "strided": _strided,
}


def stored(data: Data) -> Any:
    """The matrix in its storage, with the numbers that it can hold."""
    X, kind = data.X, data.storage
    if kind == "float32":
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(X, -1e30, 1e30).astype(np.float32)
    if kind == "bool":
        return X > 0
    if kind.startswith("int"):
        info = np.iinfo(kind)
        high = min(info.max, 2**62)
        return np.clip(X, -float(min(high, 10**18)), float(min(high, 10**18))).astype(kind)
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "every other":
        wide = np.zeros((2 * len(X), 2 * X.shape[1]))
        wide[::2, ::2] = X
        return wide[::2, ::2]
    if kind == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if kind == "csr":
        return sp.csr_matrix(X)
    if kind == "unsorted":
        return _unsorted(X)
    return np.ascontiguousarray(X)


def _unsorted(X: np.ndarray) -> Any:
    """CSR with the entries of a row from the last to the first, some of them in two halves."""
    values, columns, starts = [], [], [0]
    for row in X:
        for j in np.flatnonzero(row)[::-1]:
            half = float(row[j]) / 2.0
            pieces = (
                [half, half] if (j + len(values)) % 3 == 0 and half + half == row[j] else [row[j]]
            )
            values += pieces
            columns += [int(j)] * len(pieces)
        starts.append(len(values))
    return sp.csr_matrix(
        (np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(starts)),
        shape=X.shape,
    )
