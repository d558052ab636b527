r"""Corrections that make residuals exactly orthogonal to all columns, where they nearly are.

Without a penalty the dual has the constraint :math:`A^\top r = 0`, with :math:`A = [X, 1]` where
there is an intercept, and floats can fulfil it only to rounding.  What is left,
:math:`g = A^\top r`, is taken away by a correction that floats need not be able to hold:  with
weights :math:`c_i \ge 0`, a matrix :math:`R` of full rank and :math:`B = AR`,
:math:`G = B^\top \mathrm{diag}(c) B`,

.. math:: \delta = -\mathrm{diag}(c)\, B\, G^{-1} R^\top g, \qquad A^\top (r + \delta) = 0, \qquad
    |\delta_i| \le c_i \frac{\|B_i\|\,\|R^\top g\|}{1 - \eta}
    \quad\text{if } \|G - I\| \le \eta < 1,

where the columns of ``A`` are independent; :math:`G` near the identity proves that they are.
A column that depends on others is left out once the dependence is proved in exact arithmetic.
``R`` is an approximate inverse of a triangular factor, and how good it is, is all that rounding
decides (Rump, 2010, Verification methods, section 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from separatrix._compiled import double_double, pulse
from separatrix._compiled.rounding import UNIT
from separatrix.data.design import Design
from separatrix.objectives.enclosure import (
    Level,
    enclosed_adjoint,
    gamma,
    length_above,
    total,
    total_above,
)

# Coefficients of an exact dependence are looked for among the fractions with such denominators.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12)


@dataclass(frozen=True)
class Tuning:
    """The sizes at which each way to a factor is taken; every bound is true whichever it is.

    Parameters
    ----------
    whole : int
        The most numbers of a weighted matrix that is factorised as it is; for a larger one the
        Gram matrix is, which keeps half as many digits.
    many : int
        The number of columns from which on the Gram matrix is tried first.
    plain : float
        The Gram matrix suffices where no pivot is less than this part of the largest.
    few : int
        The most columns of a factor for which the rounding of a product with it is bounded entry
        by entry.
    """

    whole: int = 4_000_000
    many: int = 100
    plain: float = 1e-4
    few: int = 64


@dataclass(frozen=True)
class Projector:
    """Bounds on the moves by which residuals become orthogonal to all columns.

    Attributes
    ----------
    design : Design
    fit_intercept : bool
    columns : ndarray
        Independent columns; the number of features stands for the constant.
    factor : ndarray of shape (len(columns), len(columns))
        ``R``.
    reach : ndarray of shape (n_samples,)
        Bounds of ``c_i |B_i| / (1 - eta)``.
    weights : ndarray of shape (n_samples,)
    """

    design: Design
    fit_intercept: bool
    columns: np.ndarray
    factor: np.ndarray
    reach: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls,
        design: Design,
        weights: np.ndarray,
        fit_intercept: bool,
        gram: Any,
        tuning: Tuning = Tuning(),
    ) -> Projector | None:
        """The projector with these weights, or None where float64 cannot prove what it takes.

        ``gram``: called for the weighted Gram matrix, with the constant as its last column.
        """
        if not np.all(np.isfinite(weights)) or not weights.any():
            return None
        with np.errstate(all="ignore"):
            found = _factor(design, weights, fit_intercept, gram, tuning)
            if found is None:
                return None
            columns, factor = found
            reach = _reach(design, weights, columns, factor, tuning)
        if reach is None:
            return None
        return cls(design, fit_intercept, columns, factor, reach, weights)

    def distance(self, residual: np.ndarray, level: Level, share: float) -> np.ndarray:
        """Bounds on the distance by which every entry has to move.

        The true residual may differ from the one given by ``share`` of every entry.
        """
        flat = residual.reshape(len(residual), -1)
        pulled = enclosed_adjoint(self.design, flat, level, share=share)
        middle = pulled.middle
        radius = np.broadcast_to(pulled.radius, middle.shape)
        if self.fit_intercept:
            sums = np.array([total(column) for column in flat.T]).T
            sums[1] += share * np.abs(flat).sum(axis=0) * 1.01
            middle, radius = np.vstack([middle, sums[0]]), np.vstack([radius, sums[1]])
        out = np.empty_like(flat)
        with np.errstate(all="ignore"):
            for k, (g, error) in enumerate(zip(middle.T, radius.T, strict=True)):
                g, error = g[self.columns], error[self.columns]
                size = np.abs(self.factor).T @ (error + gamma(len(g)) * np.abs(g))
                length = length_above(self.factor.T @ g) + length_above(size * (1.0 + 1e-9))
                out[:, k] = self.reach * length * (1.0 + 8.0 * UNIT)
        return np.where(np.isnan(out), np.inf, out).reshape(residual.shape)

    def corrected(self, residual: np.ndarray) -> np.ndarray:
        """The residual with most of what is left of it taken away."""
        flat = residual.reshape(len(residual), -1)
        pulled = enclosed_adjoint(self.design, flat, Level.DOUBLED)
        middle = pulled.middle
        if self.fit_intercept:
            middle = np.vstack([middle, [total(column)[0] for column in flat.T]])
        t = np.zeros((self.design.n_features + 1, flat.shape[1]))
        t[self.columns] = self.factor @ (self.factor.T @ middle[self.columns])
        scores = self.design.dot(t[:-1]) + t[-1]
        out: np.ndarray = flat - self.weights[:, None] * scores
        return out.reshape(residual.shape)


def _with_constant(block: np.ndarray) -> np.ndarray:
    return np.concatenate([block, np.ones((len(block), 1))], axis=1)


def _factor(
    design: Design, weights: np.ndarray, fit_intercept: bool, gram: Any, tuning: Tuning
) -> tuple[np.ndarray, np.ndarray] | None:
    """Independent columns, and the approximate inverse of a triangular factor of them."""
    n, d = design.shape
    size = d + int(fit_intercept)
    found = None
    if n * size > tuning.whole or size >= tuning.many:
        found = factor_of_gram(gram(weights))
        if found is None:
            return None
        pivots = np.diagonal(found[0])
        if n * size <= tuning.whole and not np.all(pivots > tuning.plain * pivots.max()):
            # Columns that nearly depend on one another need all digits.
            found = None
    if found is not None:
        triangle, order, scale = found
        least = math.sqrt(64.0 * max(n, size) * UNIT)
    else:
        root = np.sqrt(weights)
        whole = np.empty((n, d))
        for rows, block in design.blocks():
            whole[rows] = block
        whole = _with_constant(whole)[:, :size] * root[:, None]
        scale = np.sqrt(np.einsum("ij,ij->j", whole, whole))
        if not np.all(np.isfinite(scale)):
            return None
        scale = np.where(scale > 0.0, scale, 1.0)
        triangle, order = scipy.linalg.qr(
            whole / scale, mode="r", pivoting=True, check_finite=False
        )
        triangle = triangle[:size, :size]
        least = 8.0 * max(n, size) * UNIT
    pivots = np.abs(np.diagonal(triangle))
    rank = int(np.count_nonzero(pivots > least * pivots.max(initial=0.0)))
    columns, others = order[:rank], order[rank:]
    upper = triangle[:rank, :rank]
    if len(others):
        # In terms of the columns as they are.
        beside = triangle[:rank, rank:]
        shares = (
            scipy.linalg.solve_triangular(upper, beside, check_finite=False) if rank else beside
        )
        shares *= scale[others] / scale[columns][:, None]
        for column, share in zip(others, shares.T, strict=True):
            if not _depends(design, int(column), columns, share):
                return None
    if rank == 0:
        return columns, upper
    inverse = scipy.linalg.solve_triangular(upper, np.eye(rank), check_finite=False)
    factor = inverse / scale[columns][:, None]
    if not np.all(np.isfinite(factor)):
        return None
    return columns, factor


def factor_of_gram(
    matrix: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The triangular factor of a Gram matrix, the order of its columns, and their lengths."""
    scale = np.sqrt(np.diagonal(matrix))
    if not np.all(np.isfinite(matrix)):
        return None
    scale = np.where(scale > 0.0, scale, 1.0)
    triangle, order, _, _ = scipy.linalg.lapack.dpstrf(matrix / np.outer(scale, scale))
    return np.triu(triangle), order - 1, scale


def _depends(design: Design, column: int, columns: np.ndarray, shares: np.ndarray) -> bool:
    """Whether a column is exactly a combination of others with small fractions."""
    for denominator in _DENOMINATORS:
        numerators = np.rint(shares * denominator)
        if np.any(np.abs(shares * denominator - numerators) > 1e-4):
            continue
        t = np.zeros(design.n_features + 1)
        t[columns] = -numerators
        t[column] = denominator
        if _vanishes(design, t):
            return True
    return False


def _vanishes(design: Design, t: np.ndarray) -> bool:
    """Whether ``X t`` with the constant as the last column is zero, in exact arithmetic."""
    used = np.flatnonzero(t)
    for _, block in design.blocks(size=1024):
        product, rest = double_double.product_parts(_with_constant(block)[:, used], t[used])
        if not np.all(np.isfinite(product)):
            return False
        terms = np.concatenate([product, rest], axis=1)
        if np.any(np.abs(terms.sum(axis=1)) > 1e-9 * np.abs(terms).sum(axis=1)):
            return False
        if any(math.fsum(row) != 0.0 for row in terms.tolist()):
            return False
    return True


def _reach(
    design: Design, weights: np.ndarray, columns: np.ndarray, factor: np.ndarray, tuning: Tuning
) -> np.ndarray | None:
    """Bounds of ``c_i |B_i| / (1 - eta)``, or None where ``eta`` is not known to be below one."""
    n, size = design.n_samples, len(columns)
    lengths, errors = np.empty(n), np.empty(n)
    square = np.zeros((size, size))
    sizes, beat = np.abs(factor), pulse.current()
    # The lengths of its rows, where a product of all sizes would take as long as that with it.
    long = (
        np.sqrt(np.square(factor).sum(axis=1)) * (1.0 + gamma(size)) if size > tuning.few else None
    )
    for rows, block in design.blocks():
        beat()
        part = np.asfortranarray(_with_constant(block)[:, columns])
        if long is not None:
            errors[rows] = gamma(size) * (np.abs(part) @ long) * (1.0 + 2.0 * gamma(size))
        else:
            error = gamma(size) * (np.abs(part) @ sizes) * (1.0 + gamma(size))
            errors[rows] = np.sqrt(np.einsum("ij,ij->i", error, error)) * (1.0 + gamma(size))
        # The factor is a triangle, so that half of the terms are none.
        b = scipy.linalg.blas.dtrmm(1.0, factor, part, side=1, overwrite_b=1) if size else part
        lengths[rows] = np.sqrt(np.einsum("ij,ij->i", b, b)) * (1.0 + gamma(size))
        b *= np.sqrt(weights[rows, None])
        square += b.T @ b
    if not np.all(np.isfinite(square)):
        return None
    off = total_above(weights * errors * (2.0 * lengths + errors))
    off += gamma(n + 8.0) * total_above(weights * np.square(lengths))
    eta = length_above(square - np.eye(size)) * (1.0 + 8.0 * UNIT) + off
    if not eta <= 0.5:
        return None
    out: np.ndarray = weights * (lengths + errors) / (1.0 - eta) * (1.0 + 16.0 * UNIT)
    return out
