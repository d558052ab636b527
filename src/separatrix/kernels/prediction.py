"""Combinations of a kernel at some points: the functions that a kernel machine predicts with."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.pool import with_one_blas_thread
from separatrix._compiled.rounding import EPS, EPS32
from separatrix.data.design import CSRDesign, Design
from separatrix.kernels.functions import InnerProductKernel, Kernel, PrecomputedKernel
from separatrix.kernels.points import (
    DENSE_BYTES,
    HELD_BYTES,
    ROUGHEST,
    TILE_COLUMNS,
    TILE_ROWS,
    Points,
    column_means,
    fill_tile,
    growth_of,
    points_of,
    slices,
    values_of,
)
from separatrix.objectives.enclosure import Level, enclosed_adjoint

# How many times the size that errors of random sign have an error is allowed to be.
_SIGMAS = 16.0


def column_weights(vectors: Design, coefficients: np.ndarray) -> np.ndarray:
    """The weights of the columns of a machine with the linear kernel, rounded once.

    Sums in float64 alone would lose the digits that large offsets of the columns show.

    Parameters
    ----------
    vectors : Design of shape (n_vectors, n_features)
    coefficients : ndarray of shape (n_vectors, K)

    Returns
    -------
    ndarray of shape (K, n_features)
    """
    if not len(coefficients):
        return np.zeros((coefficients.shape[1], vectors.n_features))
    found = enclosed_adjoint(vectors, np.ascontiguousarray(coefficients), Level.DOUBLED)
    return np.ascontiguousarray(found.middle.T)


def kernel_scores(
    kernel: Kernel, new: Design, vectors: Design, coefficients: np.ndarray
) -> np.ndarray:
    """``sum_j c_j k(x, v_j)`` for every new point, in float64.

    Parameters
    ----------
    kernel : Kernel
    new : Design of shape (n_new, n_features)
        For a precomputed kernel, the values ``k(x, v_j)`` themselves.
    vectors : Design of shape (n_vectors, n_features)
    coefficients : ndarray of shape (n_vectors, K)

    Returns
    -------
    ndarray of shape (n_new, K)
    """
    coefficients = np.ascontiguousarray(coefficients)
    if isinstance(kernel, PrecomputedKernel):
        return np.ascontiguousarray(new.dot(coefficients))
    out = np.zeros((new.n_samples, coefficients.shape[1]))
    if not len(coefficients):
        return out
    pair = _centred(kernel, new, vectors)
    if pair is None:
        for part in slices(0, new.n_samples, TILE_ROWS):
            rows = np.arange(part.start, part.stop)
            out[part] = values_of(kernel, new.matrix[rows], vectors.matrix) @ coefficients
        return out
    assert isinstance(kernel, InnerProductKernel)
    _accumulate(kernel, *pair, coefficients, out, new.n_features)
    if kernel.translates:
        # Scalar products overflow long before distances do.
        far = np.flatnonzero(~np.isfinite(pair[0].squares))
        if len(far):
            out[far] = values_of(kernel, new.matrix[far], vectors.matrix) @ coefficients
    return out


def certain_predictions(
    kernel: Kernel,
    new: Design,
    vectors: Design,
    coefficients: np.ndarray,
    intercept: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores in float32 arithmetic, and for each point whether their signs are those of float64.

    It takes a third of the time of :func:`kernel_scores`.

    Returns
    -------
    scores : ndarray of shape (n_new, K)
        ``sum_j c_j k(x, v_j)`` plus the intercept.
    certain : ndarray of shape (n_new,) of bool
        Whether every score is further from zero than its rounding; nowhere, with no scores
        computed, for a kernel that float32 does not do.
    """
    k = coefficients.shape[1]
    nothing = np.zeros((new.n_samples, k)), np.zeros(new.n_samples, dtype=bool)
    pair = None if not len(coefficients) else _centred(kernel, new, vectors)
    if pair is None or not isinstance(kernel, InnerProductKernel):
        return nothing
    left, right = pair
    if left.sparse or right.sparse:
        return nothing
    typical = np.maximum(left.squares, float(right.squares.max(initial=0.0)))
    with np.errstate(over="ignore"):
        largest = float(np.abs(kernel.of_norms(typical)).max(initial=0.0))
    # Float32 has less than a tenth of float64's range besides half of its digits.
    sizes = largest, float(typical.max(initial=0.0)), float(np.abs(coefficients).max())
    if not all(1e-30 < size < 1e30 for size in sizes):
        return nothing
    scores = np.zeros((new.n_samples, k))
    _accumulate(kernel, left, right, coefficients, scores, new.n_features, np.float32)
    size = np.sqrt(np.einsum("jk,jk->k", coefficients, coefficients)) * largest
    units = 1.0 + np.array([kernel.sensitivity(square) for square in typical.tolist()])
    error = _SIGMAS * EPS32 * units[:, None] * (size + np.abs(scores))
    scores += intercept
    return scores, np.all(np.abs(scores) > error, axis=1)


def _centred(kernel: Kernel, new: Design, vectors: Design) -> tuple[Points, Points] | None:
    """Both sets of points; None where the kernel is not a function of scalar products."""
    if not isinstance(kernel, InnerProductKernel):
        return None
    sparse = isinstance(new, CSRDesign) or isinstance(vectors, CSRDesign)
    mean = column_means(vectors.matrix) if kernel.translates and not sparse else None
    left, right = points_of(new, mean), points_of(vectors, mean)
    square = float(right.squares.max(initial=0.0))
    if kernel.translates and not 4.0 * EPS * growth_of(kernel, square, new.n_features) <= ROUGHEST:
        # Scalar products lose too many digits of the distances.
        return None
    return left, right


@with_one_blas_thread
def _accumulate(
    kernel: InnerProductKernel,
    left: Points,
    right: Points,
    coefficients: np.ndarray,
    out: np.ndarray,
    n_features: int,
    kind: type = np.float64,
) -> None:
    size = TILE_ROWS
    width = max(128, min(TILE_COLUMNS, HELD_BYTES // (8 * max(1, n_features))))
    if left.sparse or right.sparse:
        size = max(1, min(TILE_ROWS, DENSE_BYTES // (8 * max(1, n_features))))
        width = right.n
    shape = min(size, left.n), min(width, right.n)
    scratch: np.ndarray = np.empty(shape, dtype=kind)
    near: np.ndarray = left.squares.astype(kind, copy=False)
    far: np.ndarray = right.squares.astype(kind, copy=False)
    for there in slices(0, right.n, max(1, width)):
        multiply = right.against(there, kind)
        held: np.ndarray = coefficients[there].astype(kind, copy=False)
        for part in slices(0, left.n, size):
            place = scratch[: part.stop - part.start, : there.stop - there.start]
            fill_tile(kernel, left, part, multiply, near[part], far[there], place)
            out[part] += place @ held
