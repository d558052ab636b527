"""Directions in which rows spread: what principal components a picture needs, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal

from separatrix.data.design import Design

# Up to so many columns, all products of two of them are computed; beyond, only products with one.
_PRODUCTS = 1_000
# Steps of Lanczos' method at most: where they are not enough, no direction stands out.
_KRYLOV = 32


def mean_row(design: Design) -> np.ndarray:
    """The mean of the rows, shape (d,); sparse data stay sparse."""
    n = design.n_samples
    if sp.issparse(design.matrix):
        return np.asarray(design.t_dot(np.full(n, 1.0 / n)))
    total = np.zeros(design.n_features)
    first = None
    for _, block in design.blocks():
        if first is None:
            # Sums of differences keep the digits of data far from zero.
            first = np.array(block[0], dtype=np.float64)
        total += (block - first).sum(axis=0)
    assert first is not None
    return first + total / n


def oriented(basis: np.ndarray) -> np.ndarray:
    """The same directions, each with its largest entry positive, whatever the library."""
    largest = np.abs(basis).argmax(axis=1)
    signs = np.sign(basis[np.arange(len(basis)), largest])
    return np.asarray(basis * signs[:, None])


def scatter_along(design: Design, mean: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Products of the rows' coordinates about the mean along directions, shape (r, r)."""
    out = np.zeros((len(directions), len(directions)))
    if sp.issparse(design.matrix):
        at = design.dot(np.ascontiguousarray(directions.T)) - directions @ mean
        return np.asarray(at.T @ at)
    for _, block in design.blocks():
        at = (block - mean) @ directions.T
        out += at.T @ at
    return out


def main_direction(design: Design, mean: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, float]:
    """The first principal component of what is orthogonal to directions, and its share of that.

    With few columns from the matrix of their products, else by Lanczos' method from products with
    the data alone, started from the same vector every time.
    """
    n, d = design.n_samples, design.n_features

    def flat(v: np.ndarray) -> np.ndarray:
        return v - units.T @ (units @ v)

    # Where nothing varies, any direction will do: an axis, the one most within the plane.
    fallback = np.zeros(d)
    fallback[int(np.abs(units).max(axis=0).argmin())] = 1.0
    fallback = flat(fallback)
    fallback /= np.linalg.norm(fallback)
    stored = design.rows[0] if len(design.rows) > 1 else design.matrix
    largest = np.abs(stored).max(initial=0.0) if len(stored) else 0.0
    size = float(max(largest, float(np.abs(mean).max(initial=0.0))))
    if n < 2 or size == 0.0:
        return fallback, 1.0
    if d <= _PRODUCTS:
        products = np.zeros((d, d))
        for _, block in design.blocks():
            centred = (block - mean) / size
            products += centred.T @ centred
        products = flat(flat(products).T)
        values, vectors = np.linalg.eigh(0.5 * (products + products.T))
        found, total, most = vectors[:, -1], float(np.trace(products)), float(values[-1])
    else:

        def product(v: np.ndarray) -> np.ndarray:
            at = (design.dot(v) - float(mean @ v)) / size
            return np.asarray((design.t_dot(at) - float(at.sum()) * mean) / size)

        squares = design.column_squares(np.ones(n)) / size**2 - n * (mean / size) ** 2
        start = fallback + flat(np.sqrt(np.maximum(squares, 0.0)))
        found, most = _lanczos(lambda v: flat(product(v)), start)
        total = float(squares.sum() - sum(float(unit @ product(unit)) for unit in units))
    if not most > 1e-24 * n or not np.all(np.isfinite(found)):
        return fallback, 1.0
    found = flat(found)
    found = oriented((found / np.linalg.norm(found))[None])[0]
    return found, min(max(most / total, 0.0), 1.0) if total > 0.0 else 1.0


def _lanczos(product: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> tuple[Any, float]:
    """The eigenvector of the largest eigenvalue of a symmetric product, and that (Lanczos, 1950).

    Every vector is made orthogonal to all before it.  Where many eigenvalues are as large, the
    vector is one of many as good, and the value is close long before the vector is.
    """
    found = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        new = product(found[-1])
        diagonal.append(float(new @ found[-1]))
        before = np.array(found)
        for _ in range(2):
            new = new - before.T @ (before @ new)
        rest = float(np.linalg.norm(new))
        values, vectors = eigh_tridiagonal(diagonal, beside)
        # How far the vector is from one that the product only stretches.
        off = rest * abs(float(vectors[-1, -1]))
        if off <= 1e-3 * values[-1] or len(diagonal) == _KRYLOV:
            return before.T @ vectors[:, -1], float(values[-1])
        beside.append(rest)
        found.append(new / rest)
