r"""Least squares, by one pass over the rows where the condition number allows it.

Minimised is, for the rows :math:`x_i` with weights :math:`s_i` and targets :math:`y_i`,

.. math::
    \tfrac12 \sum_i s_i \|y_i - W x_i - b\|^2 + \tfrac{\rho}{2} \|W\|^2 .

==============================  ===================================================================
where                           how
==============================  ===================================================================
more rows than columns          sums of products in one pass, Cholesky's factor in columns of unit
                                length; its condition number is measured (LAPACK's ``pocon``)
condition too large for that    ``R`` of a QR factorisation of the rows, a block at a time
columns that depend on others   the same with column pivoting: the coefficients of least norm
fewer rows than columns, many   sums of products of rows with rows; ``R`` of the transposed rows
neither fits into memory        LSMR (Fong and Saunders, 2011) on products with the rows
==============================  ===================================================================

Whatever was done, a pass over the rows evaluates the residuals at the returned numbers and what is
left of the normal equations: that is the certificate, and where something is left it is the right
side of a step of refinement (Bjorck, 1987).  Small and ill-conditioned problems are refined with
residuals in twice the working precision, to all the digits that the data determine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack
import scipy.sparse.linalg

from separatrix._compiled import pool, row_access
from separatrix._compiled.compilation import njit
from separatrix._compiled.double_double import product_parts
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.extended import residual_sums
from separatrix.closed_form.triangular import (
    NOTHING,
    NormalInverse,
    TriangularFactor,
    lengths_of,
)
from separatrix.data.design import CSRDesign, DenseDesign, Design
from separatrix.data.moments import Moments
from separatrix.data.validation import require_finite

__all__ = [
    "LeastSquaresSolution",
    "TriangularFactor",
    "certify_least_squares",
    "solve_factor",
    "solve_least_squares",
]

_EPS = float(np.finfo(np.float64).eps)
_BLOCK_BYTES = 1 << 20
# Rows whose targets are copied at a time.
_TURNED = 4096
_FEW_TARGETS = 8
# 1 / rcond of the scaled sums of products up to which Cholesky's factor is refined.
_CHOLESKY_LIMIT = 1e12
# Columns up to which a matrix of all pairs of them is made, and the same for rows.
_MOST_SQUARE = 8192
_MOST_SMALL = 512
# The same where there are fewer rows than columns.
_MOST_WIDE = 1024
# Entries of a factor of fewer rows than columns that is kept.
_FACTOR_ENTRIES = 1 << 22
# Entries of one that is made where nothing else will do.
_MOST_COPIED = 1 << 27
# Entries, times targets, up to which residuals are taken in twice the precision: always, and where
# the condition number makes a difference.
_SMALL, _MEDIUM = 20_000, 4_000_000
_ILL = 100.0
# Condition number, times the relative rounding of columns with large means, beyond which it is
# looked at whether they are independent of one another at all.
_DOUBTFUL = 1.0 / 64.0
# Means that are so many times the spread cost digits unless they are subtracted from the rows.
_OFFSET = 16.0
# Sums of products square the condition number, and round the means: what is kept of the rows for
# those that follow and for standard errors is made of the sums only where the condition number,
# the means over the spread, and the spread over the residuals are no larger than this.
_KEPT, _KEPT_OFFSET, _KEPT_FIT = 300.0, 1e5, 300.0
# A step of refinement that changes less is not worth another pass.
_STILL = 64 * _EPS
# An exact fit leaves no more than so many times the rounding of its terms.
_EXACT = 4.0
_MOST_STEPS = 10
# How much more is taken for rounding where columns that nearly depend on one another defy solution.
_LOOSER = (1e1, 1e2, 1e3, 1e4)
_ITERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class LeastSquaresSolution:
    """What :func:`solve_least_squares` found.

    Attributes
    ----------
    coef : ndarray of shape (m, d)
    intercept : ndarray of shape (m,)
    rank : int
        Columns that are independent of one another and, with an intercept, of a constant.
    condition : float
        Condition number of those columns, centred (with an intercept) and of unit length; an
        estimate for more than 400 columns.
    dependent : tuple of int
        Columns that depend on the others; which of a group is named is arbitrary.
    rss : ndarray of shape (m,)
        Weighted sums of squared residuals.
    tss : ndarray of shape (m,)
        Weighted sums of squares of the targets, about the mean where there is an intercept.
    weight : float
        Sum of the weights.
    factor : TriangularFactor or None
        What goes on with more rows; None where it would be too large.
    method : {"cholesky", "qr", "svd", "rows", "lsmr"}
        "svd" names the factorisation with pivoting, which reveals the rank.
    certificate : ResidualCertificate
    """

    coef: np.ndarray
    intercept: np.ndarray
    rank: int
    condition: float
    dependent: tuple[int, ...]
    rss: np.ndarray
    tss: np.ndarray
    weight: float
    factor: TriangularFactor | None
    method: str
    certificate: ResidualCertificate


# --- residuals ----------------------------------------------------------------------------------


# The defaults that the template is written against.
row_dot, row_add = row_access.dense_dot, row_access.dense_add


def _residual_rows(rows, first, y, s, w, b, gradient, sums, part, part_sums):
    """``X'(s r)``, ``sum s r`` and ``sum s r^2`` of rows from ``first`` on.

    ``y`` and ``s`` are of these rows; ``s`` is empty where there are no weights.  A few hundred
    rows are summed by themselves: of half a million in one go the last digits would be lost.
    """
    n, m = y.shape
    for start in range(0, n, 512):
        part[:] = 0.0
        part_sums[:] = 0.0
        for i in range(start, min(start + 512, n)):
            for k in range(m):
                r = y[i, k] - b[k] - row_dot(rows, first + i, w[k])
                weighted = r * s[i] if len(s) else r
                row_add(rows, first + i, weighted, part[k])
                part_sums[0, k] += weighted
                part_sums[1, k] += weighted * r
        gradient += part
        sums += part_sums


class _Rows:
    """The data of a problem, and what is left of its equations at a point."""

    def __init__(
        self,
        design: Design,
        targets: np.ndarray,
        weights: np.ndarray | None,
        ridge: float,
        fit_intercept: bool,
        mean: np.ndarray,
        lengths: np.ndarray,
        weight: float,
    ) -> None:
        self.design, self.targets, self.weights = design, targets, weights
        self.ridge, self.fit_intercept = ridge, fit_intercept
        d = design.n_features
        # Means of the features and targets, zero without an intercept.
        self.mean, self.target_mean = mean[:d], mean[d:]
        # Lengths of the columns about their means, and of the targets about theirs and about zero.
        self.lengths, self.spread = lengths[:d], lengths[d:]
        self.size = np.hypot(self.spread, np.sqrt(weight) * self.target_mean)
        self.weight = weight
        self.offset = np.sqrt(weight) * np.abs(self.mean)
        # Where only rounding is left of a column, so is of its product with the residual.
        self.alive = self.lengths > 4.0 * _EPS * self.offset
        self.penalised = np.hypot(self.lengths, np.sqrt(ridge))
        with np.errstate(invalid="ignore", divide="ignore"):
            far = self.offset[self.alive] > _OFFSET * self.lengths[self.alive]
        self.shifted = bool(far.any())

    def left(self, coef: np.ndarray, intercept: np.ndarray) -> _Left:
        """What is left at a point: gradient (d, m), sums of residuals and of their squares."""
        d, m = self.design.n_features, len(coef)
        gradient, sums = np.zeros((m, d)), np.zeros((2, m))
        start = (coef, intercept)
        if self.shifted or not _by_row(self.design, m):
            self._by_blocks(*start, gradient, sums)
        else:
            self._by_rows(*start, gradient, sums)
        out = gradient.T - np.outer(self.mean, sums[0]) if self.fit_intercept else gradient.T
        if self.shifted and self.fit_intercept:
            out = gradient.T
        return _Left(self, coef, intercept, out - self.ridge * coef.T, sums[0], sums[1])

    def _weights(self) -> np.ndarray:
        """Empty where there are none; read-only, as memory-mapped data are: one type to compile."""
        return row_access.read_only(np.empty(0) if self.weights is None else self.weights)

    def _split(self, work: Callable[..., None], gradient: np.ndarray, sums: np.ndarray) -> None:
        """Run over ranges of rows, a buffer a thread, added up in a fixed order."""
        stored = getattr(self.design, "n_stored", self.design.n_samples * self.design.n_features)
        ranges = pool.ranges(self.design.n_samples, 2.0 * stored * len(gradient))
        parts = [(np.zeros_like(gradient), np.zeros_like(sums)) for _ in ranges]
        with pool.one_blas_thread():
            pool.run([partial(work, a, b, *out) for (a, b), out in zip(ranges, parts, strict=True)])
        for own, totals in parts:
            gradient += own
            sums += totals

    def _by_rows(
        self, coef: np.ndarray, intercept: np.ndarray, gradient: np.ndarray, sums: np.ndarray
    ) -> None:
        design = self.design
        kernel = row_access.specialise(
            _residual_rows, row_dot=design.row_dot, row_add=design.row_add
        )
        s, w = self._weights(), np.ascontiguousarray(coef)

        def work(start: int, stop: int, own: np.ndarray, totals: np.ndarray) -> None:
            # Targets that lie column by column (one-hot) are turned, some rows at a time.
            size = stop - start if self.targets.flags.c_contiguous else _TURNED
            scratch = np.empty_like(own), np.empty_like(totals)
            for a in range(start, stop, max(size, 1)):
                b = min(a + size, stop)
                y = row_access.read_only(np.ascontiguousarray(self.targets[a:b]))
                kernel(design.rows, a, y, s[a:b], w, intercept, own, totals, *scratch)

        self._split(work, gradient, sums)

    def _by_blocks(
        self, coef: np.ndarray, intercept: np.ndarray, gradient: np.ndarray, sums: np.ndarray
    ) -> None:
        design = self.design
        shift = self.mean if self.shifted else None
        level = intercept - self.target_mean
        rest = np.zeros_like(level)
        if shift is not None:
            # b + w.c - c_y, to the last digit: each of the three may be large.
            level, rest = _level(coef, shift, intercept, self.target_mean)
        size = max(16, _BLOCK_BYTES // (8 * max(1, design.n_features)))

        def work(start: int, stop: int, own: np.ndarray, totals: np.ndarray) -> None:
            for part, block in design.blocks(start, stop, owned=shift is not None, size=size):
                if shift is not None:
                    block -= shift
                r = self.targets[part] - self.target_mean
                r -= level
                r -= rest
                r -= block @ coef.T
                weighted = r if self.weights is None else r * self.weights[part, None]
                own += weighted.T @ block
                totals[0] += weighted.sum(axis=0)
                totals[1] += np.einsum("ij,ij->j", weighted, r)

        self._split(work, gradient, sums)

    def extended(
        self,
        coef: np.ndarray,
        rest: np.ndarray,
        intercept: np.ndarray,
        intercept_rest: np.ndarray,
    ) -> _Left:
        """The same with everything in twice the precision, at ``coef + rest``."""
        d, m = self.design.n_features, len(coef)
        gradient, low, sums = np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, 4))
        for part, block in self.design.blocks():
            x = row_access.read_only(np.ascontiguousarray(block))
            s = self._weights()[part]
            for k in range(m):
                y = row_access.read_only(np.ascontiguousarray(self.targets[part, k]))
                residual_sums(
                    *(x, y, s, coef[k], rest[k]),
                    *(intercept[k], intercept_rest[k], gradient[k], low[k], sums[k]),
                )
        # Large offsets cancel here, and have digits to spare.
        for k in range(m):
            for j in range(d):
                terms = [(gradient[k, j], 1.0), (low[k, j], 1.0)]
                if self.fit_intercept:
                    terms += [(sums[k, 0], -self.mean[j]), (sums[k, 1], -self.mean[j])]
                if self.ridge:
                    terms += [(coef[k, j], -self.ridge), (rest[k, j], -self.ridge)]
                gradient[k, j] = _dot(terms)
        return _Left(self, coef, intercept, gradient.T, sums[:, 0] + sums[:, 1], sums[:, 2])


def _by_row(design: Design, n_targets: int) -> bool:
    """Whether a compiled loop over the rows reads the design where it lies.

    Every kind of storage would be compiled by itself: of dense ones it is for the usual one alone,
    and for many targets products of blocks are faster.
    """
    if isinstance(design, DenseDesign):
        x = design.rows[0]
        usual = x.dtype == np.float64 and x.flags.c_contiguous and x.flags.aligned
        return bool(usual) and n_targets <= _FEW_TARGETS
    return isinstance(design, CSRDesign)


def _level(
    coef: np.ndarray, shift: np.ndarray, intercept: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    high, low = np.empty(len(coef)), np.empty(len(coef))
    for k in range(len(coef)):
        terms = [*zip(coef[k], shift, strict=True), (intercept[k], 1.0), (target[k], -1.0)]
        high[k] = _dot(terms)
        low[k] = _dot([*terms, (high[k], -1.0)])
    return high, low


def _dot(terms: Sequence[tuple[float, float]]) -> float:
    """A sum of products, rounded once."""
    parts: list[float] = []
    for a, b in terms:
        parts += product_parts(float(a), float(b))
    try:
        total = math.fsum(parts)
    except (OverflowError, ValueError):
        total = math.nan
    # The halves of large numbers overflow before their products do.
    return total if math.isfinite(total) else float(np.sum([a * b for a, b in terms]))


@dataclass(frozen=True, eq=False)
class _Left:
    """What is left of the equations at a point, and how much that is."""

    rows: _Rows
    coef: np.ndarray
    intercept: np.ndarray
    gradient: np.ndarray
    sums: np.ndarray
    rss: np.ndarray

    def terms(self) -> np.ndarray:
        """Size of what the residuals are differences of, for each target."""
        rows = self.rows
        lengths = np.hypot(rows.lengths, rows.offset)
        out = np.abs(self.coef) @ lengths + np.sqrt(rows.weight) * np.abs(self.intercept)
        return out + rows.size + self._penalty()

    def _penalty(self) -> np.ndarray:
        """Length of what the penalty adds to the residuals."""
        if self.rows.ridge == 0.0:
            return np.zeros(len(self.coef))
        return np.sqrt(self.rows.ridge) * lengths_of(self.coef.T)

    def _ratios(self) -> np.ndarray:
        """``|a_j' r| / |a_j|`` for every column and target, that of ones last."""
        rows = self.rows
        used = rows.alive & (rows.penalised > 0.0)
        out = np.abs(self.gradient[used]) / rows.penalised[used, None]
        if rows.fit_intercept and rows.weight > 0.0:
            out = np.vstack([out, np.abs(self.sums) / np.sqrt(rows.weight)])
        return out

    def measure(self) -> float:
        """What refinement makes small: the ratios, relative to the terms."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            shares = self._ratios() / np.where(self.terms() > 0.0, self.terms(), 1.0)
        return float(np.max(shares, initial=0.0)) if np.all(np.isfinite(shares)) else np.inf

    def judged(self) -> tuple[float, float]:
        """Relative residual and orthogonality."""
        rows = self.rows
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            norm = np.hypot(np.sqrt(self.rss), self._penalty())
            terms, ratios = self.terms(), self._ratios()
            if not all(bool(np.all(np.isfinite(a))) for a in (norm, terms, ratios)):
                return np.inf, np.inf
            by_norm = ratios / np.where(norm > 0.0, norm, 1.0)
            by_terms = ratios / np.where(terms > 0.0, terms, 1.0)
        orthogonality = float(np.max(np.where(norm > 0.0, by_norm, 0.0), initial=0.0))
        # What rounding of the returned numbers explains has no direction that could be wrong.
        rounding = _EPS * max(8.0, 2.0 * math.sqrt(rows.design.n_features))
        relative = np.where(by_terms > rounding, by_norm, by_terms)
        # Nor has the residual of an exact fit: there y = A x itself is what holds, relative to y.
        # Terms far larger than y explain what their rounding does, and no more.
        varying = np.abs(self.coef) @ rows.lengths + rows.spread
        exact = norm / np.where(varying > 0.0, varying, 1.0)
        exact[exact > _EXACT * rounding] = np.inf
        with np.errstate(invalid="ignore", divide="ignore"):
            exact = np.fmin(exact, norm / rows.spread)
        relative = np.minimum(relative, exact)
        # What leaves more than zero weights would is no solution, whatever rounding explains.
        nothing = rows.spread if rows.fit_intercept else rows.size
        worse = norm > 1.01 * nothing + _EXACT * rounding * rows.size
        relative = np.where(worse, by_norm, relative)
        return float(np.max(relative, initial=0.0)), orthogonality


# --- refinement ---------------------------------------------------------------------------------


def _correction(left: _Left, step: Callable[[np.ndarray], np.ndarray]) -> tuple[Any, Any, float]:
    """A step of refinement, and its size relative to the coefficients."""
    rows = left.rows
    change = step(left.gradient)
    # A column without any weight in the rows has no length: what it gets is zero.
    change = np.where(np.isfinite(change), change, 0.0)
    level = np.zeros(len(left.intercept))
    if rows.fit_intercept and rows.weight > 0.0:
        level = left.sums / rows.weight - rows.mean @ change
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.linalg.norm(rows.penalised[:, None] * change, axis=0)
        whole = np.linalg.norm(rows.penalised[:, None] * left.coef.T, axis=0) + 1e-300
        if rows.fit_intercept and rows.weight > 0.0:
            sizes += np.abs(left.sums) / np.sqrt(rows.weight)
            # An intercept is a number like the others, and has no more digits than they have.
            whole += np.sqrt(rows.weight) * np.abs(left.intercept)
        relative = float(np.max(sizes / whole, initial=0.0))
    return np.ascontiguousarray(change.T), level, relative


def _refined(
    rows: _Rows, step: Callable[[np.ndarray], np.ndarray], coef: np.ndarray, intercept: np.ndarray
) -> tuple[_Left, int, bool]:
    """Refine for as long as it helps; also how often, and whether it was as it should be."""
    best = rows.left(coef, intercept)
    measure = best.measure()
    for done in range(_MOST_STEPS):
        if not np.isfinite(measure) or measure <= 0.5 * _EPS:
            return best, done, bool(np.isfinite(measure))
        change, level, relative = _correction(best, step)
        if relative <= _STILL:
            return best, done, True
        left = rows.left(best.coef + change, best.intercept + level)
        reached = left.measure()
        if not reached < measure:
            # Only at the level of rounding is that no wonder.
            return best, done, measure <= 100 * _EPS
        slow = reached > 0.3 * measure
        best, measure = left, reached
        if slow:
            return best, done + 1, measure <= 100 * _EPS
    return best, _MOST_STEPS, measure <= 100 * _EPS


def _added(high: np.ndarray, low: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = high + change
    part = total - high
    low = low + ((high - (total - part)) + (change - part))
    out = total + low
    return out, low - (out - total)


def _refined_extended(
    rows: _Rows, step: Callable[[np.ndarray], np.ndarray], coef: np.ndarray, intercept: np.ndarray
) -> tuple[_Left, int] | None:
    """Coefficients rounded from those of twice the precision; None where it does not converge."""
    w, w_rest = np.ascontiguousarray(coef), np.zeros_like(coef)
    b, b_rest = intercept, np.zeros_like(intercept)
    previous, steps = np.inf, 0
    while steps < 30:
        steps += 1
        change, level, relative = _correction(rows.extended(w, w_rest, b, b_rest), step)
        if not relative < 0.5 * previous:
            # Below the rounding of the result there is nothing left to gain.
            if not min(relative, previous) < 0.1 * _EPS:
                return None
            break
        w, w_rest = _added(w, w_rest, change)
        b, b_rest = _added(b, b_rest, level)
        previous = relative
        if relative < _EPS**1.6:
            break
    return rows.extended(w, np.zeros_like(w), b, np.zeros_like(b)), steps


def _solved(
    rows: _Rows,
    inverse: NormalInverse,
    coef: np.ndarray,
    entries: float,
) -> tuple[_Left, int, bool]:
    """Refine the coefficients (m, d) in the precision that the problem deserves."""
    intercept = rows.target_mean - coef @ rows.mean if rows.fit_intercept else np.zeros(len(coef))
    ill = inverse.condition > _ILL
    if entries <= (_MEDIUM if ill else _SMALL):
        found = _refined_extended(rows, inverse.step, coef, intercept)
        # The halves of numbers near the largest overflow where the numbers do not.
        if found is not None and np.isfinite(found[0].measure()):
            return *found, True
    return _refined(rows, inverse.step, coef, intercept)


def _equations(ridge: float) -> str:
    return "normal equations (A'A + rho I) w = A'y" if ridge > 0.0 else "normal equations A'r = 0"


def _solution(
    left: _Left,
    *,
    steps: int,
    rank: int,
    condition: float,
    dependent: tuple[int, ...],
    factor: TriangularFactor | None,
    method: str,
    tol: float,
    begun: float,
    status: str | None = None,
    equations: str = "",
) -> LeastSquaresSolution:
    rows = left.rows
    relative, orthogonality = left.judged()
    certificate = ResidualCertificate.of(
        equations=equations or _equations(rows.ridge),
        relative_residual=relative,
        orthogonality=orthogonality,
        condition=condition,
        rank=rank,
        n_columns=rows.design.n_features,
        tol=tol,
        status=None if relative <= tol else status,
        n_iter=steps,
        seconds=perf_counter() - begun,
    )
    return LeastSquaresSolution(
        coef=np.ascontiguousarray(left.coef),
        intercept=np.array(left.intercept),
        rank=rank,
        condition=condition,
        dependent=dependent,
        rss=np.array(left.rss),
        tss=rows.spread**2,
        weight=rows.weight,
        factor=factor,
        method=method,
        certificate=certificate,
    )


# --- ways to solve ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Problem:
    design: Design
    targets: np.ndarray
    weights: np.ndarray | None
    ridge: float
    fit_intercept: bool
    tol: float
    names: Sequence[str] | None
    begun: float

    @property
    def entries(self) -> float:
        return float(self.design.n_samples) * self.design.n_features * self.targets.shape[1]

    def rows(self, mean: np.ndarray, lengths: np.ndarray, weight: float) -> _Rows:
        return _Rows(
            self.design,
            self.targets,
            self.weights,
            self.ridge,
            self.fit_intercept,
            mean,
            lengths,
            weight,
        )

    def require_finite(self) -> None:
        require_finite(self.design.matrix, self.names)


def solve_least_squares(
    design: Design,
    targets: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-10,
    names: Sequence[str] | None = None,
) -> LeastSquaresSolution:
    """Minimise ``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2``.

    Parameters
    ----------
    design : Design
        NaN and infinities are found by what they do to the sums; nothing looks for them before.
    targets : ndarray of float64, shape (n_samples, m)
        Finite.
    weights : ndarray of float64, shape (n_samples,), optional
        Finite and not negative.
    ridge : float, default=0.0
        The sum of the weights times ``lam``; the intercept is not penalised.
    fit_intercept : bool, default=True
    tol : float, default=1e-10
        Of the certificate.
    names : sequence of str, optional
        Names of the columns, for messages.

    Returns
    -------
    LeastSquaresSolution
        Of all solutions, where there are several, the one of least ``|W|``.

    Raises
    ------
    ValueError
        For NaN or infinity in the design, named by row and column.
    """
    targets = np.asarray(targets, dtype=np.float64)
    unit = _units(targets)
    problem = _Problem(
        design,
        targets if unit is None else targets * unit,
        weights,
        float(ridge),
        bool(fit_intercept),
        tol,
        names,
        perf_counter(),
    )
    # Matrices over few columns are no work for two threads of BLAS.
    small = design.n_features + targets.shape[1] <= _MOST_SMALL
    threads = pool.one_blas_thread() if small else pool.bounded_blas()
    with threads, np.errstate(all="ignore"):
        return _in_units(_dispatched(problem), unit)


def _units(targets: np.ndarray) -> np.ndarray | None:
    """Powers of two that bring targets near one whose squares are not in the range of float64."""
    if not targets.size:
        return None
    # The largest size, without a copy.
    top = np.maximum(targets.max(axis=0), -targets.min(axis=0))
    odd = (top > 0.0) & ((top < 1e-120) | (top > 1e120))
    if not odd.any():
        return None
    power = np.clip(np.frexp(np.where(odd, top, 0.5))[1], -1000, 1000)
    return np.ldexp(1.0, -power)


def _in_units(solution: LeastSquaresSolution, unit: np.ndarray | None) -> LeastSquaresSolution:
    """The solution for targets that were multiplied by ``unit``, for the targets themselves."""
    if not np.all(np.isfinite(solution.coef)) or not np.all(np.isfinite(solution.intercept)):
        raise ValueError("The coefficients are out of the range of float64; scale the columns.")
    if unit is None:
        return solution
    coef, intercept = solution.coef / unit[:, None], solution.intercept / unit
    if not np.all(np.isfinite(coef)) or not np.all(np.isfinite(intercept)):
        raise ValueError(
            "The coefficients are out of the range of float64; scale the columns or the targets."
        )
    factor = solution.factor
    if factor is not None:
        whole = np.concatenate([np.ones(factor.n_features), unit])
        factor = replace(
            factor,
            r=factor.r / whole,
            mean=factor.mean / whole,
            mean_rest=factor.mean_rest / whole,
        )
    return replace(
        solution,
        coef=coef,
        intercept=intercept,
        rss=solution.rss / unit / unit,
        tss=solution.tss / unit / unit,
        factor=factor,
    )


def _dispatched(problem: _Problem) -> LeastSquaresSolution:
    n, d = problem.design.shape
    p = d + problem.targets.shape[1]
    found = None
    if n > d and p <= _MOST_SQUARE:
        found = _by_cholesky(problem)
    if found is None and p <= (_MOST_SQUARE if n > d else _MOST_WIDE):
        found = _by_factor(problem)
    if found is None and n <= min(d, _MOST_SQUARE):
        found = _by_rows(problem)
        # Rows that depend on one another need a copy of them.
        if found is None and n * p <= _MOST_COPIED and problem.ridge == 0.0:
            found = _by_factor(problem)
    return _by_iteration(problem) if found is None else found


def _by_cholesky(problem: _Problem) -> LeastSquaresSolution | None:
    """From sums of products; None where they do not determine the answer well enough."""
    d = problem.design.n_features
    moments = Moments.of(problem.design, weights=problem.weights, targets=problem.targets)
    if not moments.finite:
        problem.require_finite()
        return None
    weight, mean, scatter = float(moments.weight[0]), moments.mean[0], moments.scatter
    if problem.fit_intercept:
        noise = _EPS * np.sqrt(weight) * np.abs(mean[:d])
    else:
        scatter = scatter + weight * np.outer(mean, mean)
        mean, noise = np.zeros_like(mean), np.zeros(d)
    squares = np.diagonal(scatter)[:d]
    # Constant columns, and squares near the ends of the range, are left to the rows.
    if not np.all((squares > (1e4 * noise) ** 2) & (squares > 1e-250)):
        return None
    inner = scatter[:d, :d]
    found = _cholesky(inner, problem.ridge)
    if found is None:
        return None
    inverse = NormalInverse(found, d, trusted=True)
    # Columns that may depend on one another but for the rounding of their entries.
    if inverse.condition * float(np.max(noise / np.sqrt(squares), initial=0.0)) > _DOUBTFUL:
        return None
    across = scipy.linalg.solve_triangular(found, scatter[:d, d:], trans="T", check_finite=False)
    coef = scipy.linalg.solve_triangular(found, across, check_finite=False).T
    rows = problem.rows(mean, np.sqrt(np.diagonal(scatter)), weight)
    left, steps, good = _solved(rows, inverse, np.ascontiguousarray(coef), problem.entries)
    if not good:
        return None
    if _keeps(left, inverse.condition):
        root = found if problem.ridge == 0.0 else _cholesky(inner, 0.0)
        factor = TriangularFactor.from_scatter(
            weight, mean, scatter, root, moments.n_rows, d, problem.fit_intercept
        )
    else:
        factor = TriangularFactor.of(
            problem.design, problem.targets, problem.weights, problem.fit_intercept
        )
    return _solution(
        left,
        steps=steps,
        rank=d,
        condition=inverse.condition,
        dependent=(),
        factor=factor,
        method="cholesky",
        tol=problem.tol,
        begun=problem.begun,
    )


def _keeps(left: _Left, condition: float) -> bool:
    """Whether a factor that is made of sums of products keeps all digits of the rows."""
    rows = left.rows
    alive = rows.alive & (rows.lengths > 0.0)
    offset = np.max(rows.offset[alive] / rows.lengths[alive], initial=0.0)
    # Targets that the columns explain to the last digits leave a residual that a difference of
    # sums would lose.
    fit = np.min(np.sqrt(left.rss)[rows.spread > 0.0] / rows.spread[rows.spread > 0.0], initial=1.0)
    return bool(condition <= _KEPT and offset <= _KEPT_OFFSET and fit * _KEPT_FIT >= 1.0)


def _cholesky(inner: np.ndarray, ridge: float) -> np.ndarray | None:
    """The upper factor of ``inner + ridge I``, if its condition number leaves digits."""
    squares = np.diagonal(inner) + ridge
    scale = np.sqrt(squares)
    scaled = inner / scale[:, None] / scale
    np.fill_diagonal(scaled, 1.0)
    norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
    root, info = lapack.dpotrf(scaled, lower=False, clean=True)
    if info != 0:
        return None
    inverse_condition = float(lapack.dpocon(root, norm, uplo="U")[0])
    if not inverse_condition * _CHOLESKY_LIMIT >= 1.0:
        return None
    return np.ascontiguousarray(root * scale)


def _by_factor(problem: _Problem) -> LeastSquaresSolution:
    """From the triangular factor of the rows, which loses nothing that float64 can hold."""
    design = problem.design
    d = design.n_features
    factor = TriangularFactor.of(design, problem.targets, problem.weights, problem.fit_intercept)
    if not np.all(np.isfinite(factor.r)):
        problem.require_finite()
        raise ValueError(
            "The squares of the data are out of the range of float64; scale the columns."
        )
    rows = problem.rows(factor.mean, lengths_of(factor.r), factor.weight)
    left, steps, inverse = _from_factor(rows, factor, problem.tol, problem.entries)
    keep = factor.r.size <= max(_FACTOR_ENTRIES, d * d)
    return _solution(
        left,
        steps=steps,
        rank=inverse.rank,
        condition=inverse.condition,
        dependent=inverse.dependent,
        factor=factor if keep else None,
        method="svd" if inverse.dependent else "qr",
        tol=problem.tol,
        begun=problem.begun,
    )


def _from_factor(
    rows: _Rows, factor: TriangularFactor, tol: float, entries: float
) -> tuple[_Left, int, NormalInverse]:
    """The refined solution, the steps, and what was taken for the inverse."""

    def tried(looser: float) -> tuple[_Left, int, NormalInverse]:
        inverse = _inverse_of(factor, rows.ridge, looser)
        coef = np.ascontiguousarray(inverse.solve().T)
        left, steps, _ = _solved(rows, inverse, coef, entries)
        return left, steps, inverse

    best = tried(1.0)
    for looser in _LOOSER:
        # Columns that hardly differ, and many of them, have relations that rounding has spoilt;
        # with fewer columns in the basis those are sharper.
        if not best[2].dependent or best[0].judged()[0] <= tol:
            break
        again = tried(looser)
        if again[0].judged()[0] < best[0].judged()[0]:
            best = again
    return best


def _inverse_of(factor: TriangularFactor, ridge: float, looser: float = 1.0) -> NormalInverse:
    d = factor.n_features
    noise = _EPS * np.sqrt(factor.weight) * np.abs(factor.mean[:d])
    # Rounding adds up over the blocks of rows, as a random walk does.
    nothing = max(NOTHING, 4.0 * _EPS * max(math.sqrt(factor.n_rows), len(factor.mean)))
    return NormalInverse(factor.r, d, ridge, noise, looser * nothing)


def _by_rows(problem: _Problem) -> LeastSquaresSolution | None:
    """Far more columns than rows: from the products of rows with rows, ``w = A' v``."""
    design, d, n = problem.design, problem.design.n_features, problem.design.n_samples
    mean, lengths, weight = _column_moments(problem)
    if not np.all(np.isfinite(lengths)):
        problem.require_finite()
        return None
    root = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
    used = root > 0.0
    rows = problem.rows(mean, lengths, weight)
    gram = _row_products(problem, rows.mean) * root[:, None] * root
    gram[np.diag_indices(n)] += problem.ridge
    # Rows without weight, and the direction that centring takes away, are given something
    # harmless: no residual has a part in them.
    typical = float(np.trace(gram)) / n or 1.0
    gram[~used, ~used] = typical
    if problem.fit_intercept:
        gram += np.outer(root, root) * (typical / max(weight, 1.0))
    norm = float(np.abs(gram).sum(axis=0).max())
    factor, info = lapack.dpotrf(gram, lower=False, overwrite_a=True)
    if info != 0:
        return None
    inverse_condition = float(lapack.dpocon(factor, norm, uplo="U")[0])
    if not inverse_condition * _CHOLESKY_LIMIT >= 1.0:
        return None

    def solved(right: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve((factor, False), right, check_finite=False)

    centred = root[:, None] * (problem.targets - rows.target_mean)
    v = np.zeros_like(centred)
    best: _Left | None = None
    steps, right = 0, centred
    for steps in range(_MOST_STEPS):  # noqa: B007
        trial = v + solved(right)
        weighted = root[:, None] * trial
        coef = design.t_dot(weighted) - np.outer(rows.mean, weighted.sum(axis=0))
        coef = np.ascontiguousarray(coef.T)
        intercept = np.zeros(len(coef))
        if problem.fit_intercept:
            intercept = rows.target_mean - coef @ rows.mean
        left = rows.left(coef, intercept)
        if problem.fit_intercept and weight > 0.0:
            left = rows.left(coef, intercept + left.sums / weight)
        if best is not None and not left.measure() < 0.5 * best.measure():
            break
        v, best = trial, left
        if left.measure() <= 0.5 * _EPS:
            break
        fitted = design.dot(np.ascontiguousarray(coef.T)) + left.intercept
        right = root[:, None] * (problem.targets - fitted) - problem.ridge * v
    assert best is not None
    rank = d if problem.ridge > 0.0 else min(d, int(used.sum()) - int(problem.fit_intercept))
    return _solution(
        best,
        steps=steps,
        rank=rank,
        condition=float(np.sqrt(1.0 / inverse_condition)),
        dependent=(),
        factor=None,
        method="rows",
        tol=problem.tol,
        begun=problem.begun,
    )


def _row_products(problem: _Problem, mean: np.ndarray) -> np.ndarray:
    """``(X - mean)(X - mean)'``, some columns, or rows, at a time."""
    design, n, d = problem.design, problem.design.n_samples, problem.design.n_features
    out = np.zeros((n, n))
    x = design.matrix
    if isinstance(design, CSRDesign):
        products = x.astype(np.float64, copy=False) @ x.T.astype(np.float64, copy=False)
        out += products.toarray()
        across = design.dot(mean)
        out -= across[:, None] + across
        out += float(mean @ mean)
        return out
    size = max(1, _FACTOR_ENTRIES // n)
    if isinstance(design, DenseDesign):
        for start in range(0, d, size):
            part = slice(start, start + size)
            block = x[:, part] - mean[part]
            out += block @ block.T
        return out
    size = max(1, _FACTOR_ENTRIES // d)
    for part, block in design.blocks(owned=True, size=size):
        mine = block - mean
        for others, other in design.blocks(0, part.stop, owned=True, size=size):
            out[part, others] = mine @ (other - mean).T
            out[others, part] = out[part, others].T
    return out


def _by_iteration(problem: _Problem) -> LeastSquaresSolution:
    """LSMR on the centred and weighted rows, taken up again until the equations hold."""
    design, n, d = problem.design, problem.design.n_samples, problem.design.n_features
    mean, lengths, weight = _column_moments(problem)
    if not np.all(np.isfinite(lengths)):
        problem.require_finite()
        raise ValueError(
            "The squares of the data are out of the range of float64; scale the columns."
        )
    rows = problem.rows(mean, lengths, weight)
    root = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
    damp = float(np.sqrt(problem.ridge))
    # With a penalty the answer is the same in any units, and found sooner in equal ones; without
    # one they decide which of several answers has the least norm.
    unit = np.where(rows.penalised > 0.0, rows.penalised, 1.0) if damp else np.ones(d)

    def forward(z: np.ndarray) -> np.ndarray:
        w = z.ravel() / unit
        head = root * (design.dot(w) - rows.mean @ w)
        return np.concatenate([head, damp * w]) if damp else head

    def backward(u: np.ndarray) -> np.ndarray:
        u = u.ravel()
        head = root * u[:n]
        out = design.t_dot(head) - rows.mean * head.sum()
        if damp:
            out += damp * u[n:]
        return out / unit

    operator = scipy.sparse.linalg.LinearOperator(
        (n + (d if damp else 0), d), matvec=forward, rmatvec=backward, dtype=np.float64
    )
    m = problem.targets.shape[1]
    coef = np.zeros((m, d))
    intercept = rows.target_mean.copy()
    if not problem.fit_intercept:
        intercept[:] = 0.0
    best, steps, condition = rows.left(coef, intercept), 0, 1.0
    for _ in range(_MOST_STEPS):
        relative = best.judged()[0]
        if relative <= 1e-2 * problem.tol or steps >= _ITERATIONS:
            break
        trial = best.coef.copy()
        for k in range(m):
            residual = problem.targets[:, k] - (design.dot(best.coef[k]) + best.intercept[k])
            right = root * residual
            if damp:
                right = np.concatenate([right, -damp * best.coef[k]])
            answer = scipy.sparse.linalg.lsmr(
                *(operator, right),
                atol=1e-3 * problem.tol,
                btol=1e-3 * problem.tol,
                conlim=0.0,
                maxiter=_ITERATIONS - steps // m,
            )
            steps += int(answer[2])
            condition = max(condition, float(answer[6]))
            trial[k] += answer[0] / unit
        level = rows.target_mean - trial @ rows.mean if problem.fit_intercept else intercept
        left = rows.left(trial, level)
        if problem.fit_intercept and weight > 0.0:
            left = rows.left(trial, level + left.sums / weight)
        if not left.measure() < best.measure():
            break
        best = left
    return _solution(
        best,
        steps=steps,
        rank=d if damp else min(d, n - int(problem.fit_intercept)),
        condition=condition,
        dependent=(),
        factor=None,
        method="lsmr",
        tol=problem.tol,
        begun=problem.begun,
        status="above_tol",
    )


def solve_factor(
    factor: TriangularFactor, ridge: float = 0.0, *, tol: float = 1e-10
) -> LeastSquaresSolution:
    """The least-squares solution for the rows of a factor; see :meth:`TriangularFactor.solve`."""
    d = factor.n_features
    unit = _units(factor.r[:, d:])
    if unit is not None:
        whole = np.concatenate([np.ones(d), unit])
        factor = replace(
            factor, r=factor.r * whole, mean=factor.mean * whole, mean_rest=factor.mean_rest * whole
        )
    with np.errstate(all="ignore"):
        return _in_units(_solve_factor(factor, float(ridge), tol), unit)


def _solve_factor(factor: TriangularFactor, ridge: float, tol: float) -> LeastSquaresSolution:
    begun = perf_counter()
    d, m = factor.n_features, factor.n_targets
    # The rows of the triangle stand for those that went in, centred.
    triangle = np.ascontiguousarray(factor.r[:, :d])
    targets = np.ascontiguousarray(factor.r[:, d:])
    rows = _Rows(
        DenseDesign(triangle),
        targets,
        None,
        ridge,
        False,
        np.zeros(d + m),
        lengths_of(factor.r),
        factor.weight,
    )
    left, steps, inverse = _from_factor(rows, factor, tol, float(triangle.size) * m)
    solution = _solution(
        left,
        steps=steps,
        rank=inverse.rank,
        condition=inverse.condition,
        dependent=inverse.dependent,
        factor=factor,
        method="svd" if inverse.dependent else "qr",
        tol=tol,
        begun=begun,
        equations=_equations(ridge) + " of the triangular factor of all rows",
    )
    intercept = np.zeros(m)
    if factor.centred:
        for k in range(m):
            terms = [(factor.mean[d + k], 1.0), (factor.mean_rest[d + k], 1.0)]
            terms += zip(-solution.coef[k], factor.mean[:d], strict=True)
            terms += zip(-solution.coef[k], factor.mean_rest[:d], strict=True)
            intercept[k] = _dot(terms)
    return replace(solution, intercept=intercept)


@njit(nogil=True, cache=True)
def _sparse_squares(data, indices, s, rows, mean, squares, stored):
    """``sum s (x - m)^2`` over what is stored, and the weight of it, column by column."""
    for p in range(len(data)):
        j = indices[p]
        e = data[p] - mean[j]
        squares[j] += s[rows[p]] * e * e
        stored[j] += s[rows[p]]


def _column_moments(problem: _Problem) -> tuple[np.ndarray, np.ndarray, float]:
    """Means and lengths about them, of the features and then the targets; sum of the weights."""
    design, targets = problem.design, problem.targets
    n, d = design.shape
    s = np.ones(n) if problem.weights is None else problem.weights
    weight = float(s.sum())
    mean, squares = np.zeros(d + targets.shape[1]), np.zeros(d + targets.shape[1])
    if weight > 0.0 and isinstance(design, CSRDesign):
        x = design.matrix
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        if problem.fit_intercept:
            mean[:d] = design.t_dot(s) / weight
            mean[d:] = s @ targets / weight
        stored = np.zeros(d)
        owners = np.repeat(np.arange(n), np.diff(x.indptr))
        _sparse_squares(x.data, x.indices, s, owners, mean[:d], squares[:d], stored)
        squares[:d] += (weight - stored) * mean[:d] ** 2
        squares[d:] = s @ np.square(targets - mean[d:])
    elif weight > 0.0:
        shift = None
        first = np.zeros(d + targets.shape[1])
        for part, block in design.blocks(owned=True):
            own, tail = s[part], targets[part]
            if shift is None:
                shift = np.zeros_like(mean)
                if problem.fit_intercept:
                    shift = np.concatenate([block.mean(axis=0), tail.mean(axis=0)])
            block -= shift[:d]
            tail = tail - shift[d:]
            first[:d] += own @ block
            first[d:] += own @ tail
            squares[:d] += own @ np.square(block, out=block)
            squares[d:] += own @ np.square(tail)
        if problem.fit_intercept and shift is not None:
            mean = shift + first / weight
            squares = np.maximum(squares - first**2 / weight, 0.0)
    if not np.all(np.isfinite(squares)) and len(mean) <= _MOST_SQUARE:
        # Squares that overflow; a factorisation does without them.
        factor = TriangularFactor.of(design, targets, problem.weights, problem.fit_intercept)
        return factor.mean, lengths_of(factor.r), weight
    return mean, np.sqrt(np.maximum(squares, 0.0)), weight


def certify_least_squares(
    design: Design,
    targets: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    condition: float = np.nan,
    rank: int | None = None,
    tol: float = 1e-10,
) -> ResidualCertificate:
    """What is left of the normal equations at given coefficients, from the rows.

    Parameters
    ----------
    design : Design
    targets : ndarray of float64, shape (n_samples, m)
    coef : ndarray of shape (m, n_features)
    intercept : ndarray of shape (m,)
    weights : ndarray of float64, shape (n_samples,), optional
    ridge : float, default=0.0
    fit_intercept : bool, default=True
    condition : float, optional
        To be repeated in the certificate.
    rank : int, optional
        The same; all columns by default.
    tol : float, default=1e-10

    Returns
    -------
    ResidualCertificate
        ``orthogonality`` is the largest, over columns and targets, of ``|a_j' r| / (|a_j| |r|)``,
        with weights, the columns about their means and that of ones beside them where there is an
        intercept, and with ``sqrt(ridge) I`` below the rows. ``relative_residual`` is the same,
        but where what is left is no more than rounding explains (8 eps, or 2 eps times the root
        of the number of columns, of the sum of the lengths of the terms of ``y - A x``), relative
        to those terms; or, where that is less, ``|r|`` relative to the targets about their means
        (a fit may be exact), or to all terms about theirs where rounding of these explains it.
        Of weights that leave more than zero weights would, it is always ``orthogonality``'s cosine.
    """
    begun = perf_counter()
    targets = np.asarray(targets, dtype=np.float64)
    coef = np.asarray(coef, dtype=np.float64).reshape(targets.shape[1], -1)
    intercept = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(coef))
    unit = _units(targets)
    if unit is not None:
        with np.errstate(over="ignore", under="ignore"):
            targets, coef, intercept = targets * unit, coef * unit[:, None], intercept * unit
    problem = _Problem(
        design, targets, weights, float(ridge), bool(fit_intercept), tol, None, begun
    )
    with np.errstate(all="ignore"):
        return _certified(problem, coef, intercept, condition, rank)


def _certified(
    problem: _Problem, coef: np.ndarray, intercept: np.ndarray, condition: float, rank: int | None
) -> ResidualCertificate:
    rows = problem.rows(*_column_moments(problem))
    design, ridge, tol = problem.design, problem.ridge, problem.tol
    left = rows.left(np.ascontiguousarray(coef), np.array(intercept))
    relative, orthogonality = left.judged()
    return ResidualCertificate.of(
        equations=_equations(ridge),
        relative_residual=relative,
        orthogonality=orthogonality,
        condition=condition,
        rank=design.n_features if rank is None else rank,
        n_columns=design.n_features,
        tol=tol,
        status=None if relative <= tol or not np.isfinite(relative) else "above_tol",
        seconds=perf_counter() - problem.begun,
    )
