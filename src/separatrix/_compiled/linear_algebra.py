"""Small symmetric systems and conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.linalg

from separatrix._compiled import blas
from separatrix._compiled.compilation import FASTMATH, njit, scalar

# The number of entries of long vectors that are processed at a time: intermediate results stay in
# the cache, where fresh memory for them would cost more than the arithmetic.
_BLOCK = 8192
# The number of rows of a matrix that are processed at a time, within the cache.
_ROWS = 128


@scalar
def copy_numbers(values: np.ndarray, out: np.ndarray) -> None:
    """Copy a vector, in a kernel.

    There an assignment ``out[:] = values`` also compiles the error for shapes that differ, whose
    message takes two seconds.
    """
    for j in range(out.shape[0]):
        out[j] = values[j]


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """``sum(a * b)``, summed in pairs.

    It is more accurate than BLAS, whose threads moreover cost more than they save on vectors of the
    length of a data set (they spin while they wait).
    """
    if a.ndim != 1 or len(a) <= _BLOCK:
        # np.sum would take longer to find this than the sum of a hundred numbers does.
        return float(np.add.reduce(a * b, axis=None))
    starts = range(0, len(a), _BLOCK)
    return float(np.sum([np.sum(a[k : k + _BLOCK] * b[k : k + _BLOCK]) for k in starts]))


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """``sum((a - b)^2)``, summed in pairs."""
    if a.ndim != 1 or len(a) <= _BLOCK:
        return float(np.add.reduce(np.square(a - b), axis=None))
    starts = range(0, len(a), _BLOCK)
    return float(np.sum([squared_distance(a[k : k + _BLOCK], b[k : k + _BLOCK]) for k in starts]))


def sums_of_rows(a: np.ndarray) -> np.ndarray:
    """``a.sum(axis=1)`` with the same bits; for few columns in a fraction of the time."""
    return _over_columns(np.add, a)


def largest_of_rows(a: np.ndarray) -> np.ndarray:
    """``a.max(axis=1)`` with the same bits; for few columns in a fraction of the time."""
    return _over_columns(np.maximum, a)


def _over_columns(operation: np.ufunc, a: np.ndarray) -> np.ndarray:
    # From eight columns on numpy adds up in pairs.
    if not 0 < a.shape[1] < 8:
        found: np.ndarray = operation.reduce(a, axis=1)
        return found
    out = a[:, 0].copy()
    for k in range(1, a.shape[1]):
        operation(out, a[:, k], out=out)
    return out


def unit_diagonal(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One over the roots of the diagonal, and the matrix scaled by them from both sides.

    The scale is zero for a row with zero on the diagonal.
    """
    diagonal = np.diagonal(matrix)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, np.inf))
    # One side after the other: a product of two scales could overflow.
    out = matrix * scale[:, None]
    out *= scale
    return scale, out


def sums_of_sizes(matrix: np.ndarray) -> np.ndarray:
    """The sums of the absolute values of each row, a few rows at a time."""
    if len(matrix) <= _ROWS:
        return np.add.reduce(np.abs(matrix), axis=1)
    blocks = [matrix[a : a + _ROWS] for a in range(0, len(matrix), _ROWS)]
    return np.concatenate([np.abs(block).sum(axis=1) for block in blocks])


def clear_below(matrix: np.ndarray) -> None:
    """Overwrite the entries below the diagonal by zeros."""
    for i in range(1, len(matrix)):
        matrix[i, :i] = 0.0


@dataclass(frozen=True, eq=False)
class Factor:
    """A positive definite matrix, factorised with its diagonal scaled to one.

    Attributes
    ----------
    scale : ndarray of shape (p,)
        One over the roots of the diagonal.
    lower : ndarray of shape (p, p)
        The triangle ``L``, by columns: the scaled matrix is ``L L'``.
    norm : float
        The norm of the scaled matrix, its largest row sum; NaN where it was not requested.
    """

    scale: np.ndarray
    lower: np.ndarray
    norm: float = math.nan

    @classmethod
    def of(cls, matrix: np.ndarray, scale: np.ndarray | None = None) -> Self | None:
        """The factor of a matrix, scaled by ``scale`` if that is given; None if it has none."""
        if scale is None:
            scale, upper = unit_diagonal(matrix)
        else:
            upper = matrix * scale[:, None] * scale
        if not len(scale):
            return cls(scale, upper, 1.0)
        norm = float(sums_of_sizes(upper).max())
        # L' by rows, which LAPACK makes sooner than L by rows.
        # NaN would pass through LAPACK.
        if not (scale.min() > 0.0 and norm < math.inf and blas.cholesky(upper)):
            return None
        clear_below(upper)
        return cls(scale, upper.T, norm)

    @cached_property
    def condition(self) -> float:
        """The condition number of the scaled matrix in the 1-norm, estimated (Higham, 1988)."""
        if not len(self.scale):
            # LAPACK would print an error on standard output: an illegal leading dimension.
            return 1.0
        inverse = float(scipy.linalg.lapack.dpocon(self.lower, self.norm, uplo="L")[0])
        return 1.0 / inverse if inverse > 0.0 else math.inf

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """The solution ``x`` of ``matrix x = rhs``."""
        if not rhs.size:
            return np.zeros(rhs.shape)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x, _ = scipy.linalg.lapack.dpotrs(self.lower, scale * rhs, lower=1)
        out: np.ndarray = scale * x
        return out


def factorise(matrix: np.ndarray) -> Factor:
    """The Cholesky factor of a positive semidefinite matrix.

    The diagonal is scaled to one first, so that columns of any magnitude weigh the same.
    A singular matrix (columns that depend on one another) gets a ridge of the size of rounding;
    the solution is then that of least norm in the scaled columns, to rounding.

    Raises
    ------
    numpy.linalg.LinAlgError
        For a matrix that is not positive semidefinite, or not finite.
    """
    diagonal = np.diagonal(matrix).copy()
    diagonal[diagonal <= 0] = 1.0
    scale = 1.0 / np.sqrt(diagonal)
    scaled = np.empty(matrix.shape)
    ridge = 0.0
    for _ in range(12):
        np.multiply(matrix, scale[:, None], out=scaled)
        scaled *= scale
        if ridge > 0.0:
            scaled.flat[:: len(scaled) + 1] += ridge
        if blas.cholesky(scaled):
            # LAPACK reads the matrix by columns: its lower triangle is the upper one by rows.
            return Factor(scale, scaled.T)
        ridge += max(9 * ridge, 1e-14 * len(scaled))
    # Underflowed or overflowed entries.
    raise np.linalg.LinAlgError("the matrix is not positive semidefinite")


def solve_positive(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve ``matrix x = rhs`` for a positive semidefinite matrix, by :func:`factorise`."""
    return factorise(matrix).solve(rhs)


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def solve_lower(h: np.ndarray, x: np.ndarray) -> float:
    """Solve a small system from the lower half of its matrix; ``x`` is the right-hand side.

    Cholesky's factor of the matrix with its diagonal scaled to one overwrites it.  Returns the
    least square of a pivot.  In the factor, a square that may be rounding alone is raised to a
    lower limit.
    """
    p = x.shape[0]
    scale = np.empty(p)
    for j in range(p):
        scale[j] = 1.0 / np.sqrt(h[j, j]) if h[j, j] > 0.0 else 1.0
    smallest, least = 1.0, 1e-14 * p
    for j in range(p):
        for k in range(j + 1):
            total = h[j, k] * scale[j] * scale[k]
            for m in range(k):
                total -= h[j, m] * h[k, m]
            if j > k:
                h[j, k] = total / h[k, k]
            else:
                smallest = total if not total >= smallest else smallest
                h[j, j] = np.sqrt(max(total, least))
    for j in range(p):
        total = scale[j] * x[j]
        for k in range(j):
            total -= h[j, k] * x[k]
        x[j] = total / h[j, j]
    for j in range(p - 1, -1, -1):
        total = x[j]
        for k in range(j + 1, p):
            total -= h[k, j] * x[k]
        x[j] = total / h[j, j]
    for j in range(p):
        x[j] *= scale[j]
    return smallest


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def solve_columns(
    upper: np.ndarray,
    scale: np.ndarray,
    rhs: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Solve for every column from ``first`` to ``last`` with a factor of its own.

    ``upper[k]`` and ``scale[k]`` are the triangle and the scale of a :class:`Factor`, the triangle
    transposed, so that its rows are contiguous; ``out`` becomes the transpose.
    """
    d = rhs.shape[0]
    for k in range(first, last):
        x = out[k]
        for j in range(d):
            x[j] = scale[k, j] * rhs[j, k]
        for j in range(d):
            value = x[j] / upper[k, j, j]
            x[j] = value
            for i in range(j + 1, d):
                x[i] -= upper[k, j, i] * value
        for j in range(d - 1, -1, -1):
            value = x[j]
            for i in range(j + 1, d):
                value -= upper[k, j, i] * x[i]
            x[j] = value / upper[k, j, j]
        for j in range(d):
            x[j] *= scale[k, j]


def solve_upper(upper: np.ndarray, right: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """The solution of ``R x = right`` for an upper triangle, or of ``R' x = right``.

    Raises
    ------
    numpy.linalg.LinAlgError
        For a zero on the diagonal.
    """
    if not right.size:
        return np.zeros(right.shape)
    # LAPACK reads the matrix by columns, so that an upper triangle by rows is a lower one.
    lower = bool(upper.flags.c_contiguous)
    triangle = upper.T if lower else upper
    out, info = scipy.linalg.lapack.dtrtrs(
        triangle, right, lower=int(lower), trans=int(transposed != lower)
    )
    if info:
        raise np.linalg.LinAlgError("the triangular matrix has a zero on its diagonal")
    solution: np.ndarray = out
    return solution


def lengths_of(a: np.ndarray) -> np.ndarray:
    """The lengths of the columns of a matrix, without overflow of the squares."""
    if not a.size:
        return np.zeros(a.shape[1])
    top = np.abs(a).max(axis=0)
    safe = np.where((top > 0.0) & np.isfinite(top), top, 1.0)
    return safe * np.sqrt(np.square(a / safe).sum(axis=0))


def norms_of(a: np.ndarray) -> np.ndarray:
    """The lengths of the columns, for numbers whose squares are in the range of float64."""
    out: np.ndarray = np.sqrt(np.add.reduce(a * a, axis=0))
    return out


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    rhs: np.ndarray,
    preconditioner: np.ndarray | Callable[[np.ndarray], np.ndarray],
    *,
    tol: float,
    max_iter: int,
) -> np.ndarray:
    """Run preconditioned conjugate gradients for a positive semidefinite system.

    The preconditioner is a diagonal, or a function that solves a positive definite system like this
    one.  The iteration stops when the preconditioned residual norm has fallen by the factor
    ``tol``, after ``max_iter`` products, or at a direction without curvature.  Every iterate from
    zero is a descent direction of the quadratic.  Hestenes and Stiefel (1952).
    """
    solve = preconditioner if callable(preconditioner) else preconditioner.__rtruediv__
    x = np.zeros_like(rhs)
    r = rhs.copy()
    y = solve(r)
    p = y.copy()
    rho = inner(r, y)
    target = tol * tol * rho
    for _ in range(max_iter):
        if rho <= target or rho == 0.0:
            break
        q = product(p)
        curvature = inner(p, q)
        if curvature <= 0.0 or not np.isfinite(curvature):
            break
        step = rho / curvature
        x += step * p
        r -= step * q
        y = solve(r)
        rho, previous = inner(r, y), rho
        p *= rho / previous
        p += y
    return x
