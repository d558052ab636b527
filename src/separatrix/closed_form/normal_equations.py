r"""The normal equations of least squares: what is left of them at a point, and refinement by it.

With the centred columns ``A``, the weights ``S`` and the penalty ``rho`` they are
``(A'SA + rho I) w = A'Sy``.  What is left of them is evaluated from the rows, a pass for a point,
in float64 or in twice its digits: it certifies a solution, and it is the right side of a step of
refinement (Bjorck, 1987), for which an approximate inverse is good enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack

from separatrix._compiled import compilation, pool, row_access
from separatrix._compiled.double_double import (
    product_parts,
    residual_sums,
    sum_parts,
    take_offsets,
)
from separatrix._compiled.linear_algebra import lengths_of, norms_of, solve_upper
from separatrix._compiled.rounding import EPS
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.projection import Columns
from separatrix.data.design import CSRDesign, DenseDesign, Design
from separatrix.data.moments import Moments
from separatrix.data.validation import require_finite

# The length that the factorisation of a few rows leaves of a unit column that depends on others.
NEGLIGIBLE = 64 * EPS
_BLOCK_BYTES = 1 << 20
# Rows whose targets are copied at a time.
_TURNED = 4096
_FEW_TARGETS = 8
# Entries, times targets, up to which residuals are taken in twice the precision: always, and where
# the condition number makes a difference, which costs the more the more entries there are.
_SMALL, _SEVERAL, _MEDIUM = 20_000, 100_000, 4_000_000
_ILL, _VERY_ILL = 100.0, 1e4
# Means that are this many times the spread cost digits unless they are subtracted from the rows.
_OFFSET = 16.0
# A step of refinement that changes less is not worth another pass.
_STILL = 64 * EPS
# The same where coefficients are sums of two numbers.
_STILL_IN_PARTS = EPS**1.6
# And where the condition number is no larger than _ILL, and means no larger than _OFFSET times the
# spread: the next step would be shorter by the square of the one, and the other, times rounding.
_STILL_WELL = 64 * EPS
# Multiplications up to which the residual is projected on the columns, where rounding explains it.
_MOST_PROJECTED = 2e8
# And where columns depend on one another, or nearly do.
_MOST_LOOKED_AT = 2e7
# And where all of that is done in twice the precision.
_MOST_CLOSELY = 2e5
# The share of the objective that rounding may be the reason for leaving.
_MOST_SHARE = 1e-6
# The most by which a residual may exceed that of zero weights, in roundings of its terms.
_SPARE = 4.0
MOST_STEPS = 10
_MOST_STEPS_IN_PARTS = 30
# Beyond this many columns the condition number is estimated instead of computed.
_EXACT_CONDITION = 100


@dataclass(frozen=True)
class Tuning:
    """The sizes that each method of least squares is for.

    Parameters
    ----------
    most_square : int
        A matrix of all pairs of columns, or of rows where these are fewer, is formed for at most
        this many of them.
    most_wide : int
        A matrix of all pairs of columns is formed for at most this many where rows are fewer.
    most_copied : int
        Where nothing else will do, a factor of fewer rows than columns is made if the rows have at
        most this many entries.
    many : int
        Sparse rows of more columns than this are multiplied with, and no matrix of all pairs of
        columns is formed.
    iterations : int
        The most steps of conjugate gradients.
    """

    most_square: int = 8192
    most_wide: int = 1024
    most_copied: int = 1 << 27
    many: int = 1024
    iterations: int = 10_000


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2``, and how its answer is judged.

    With ``bounds``, the lower and the upper ends of the weights, each of shape (d, m) or (d, 1), a
    weight at one of them may be pushed beyond it.  With ``single``, the weights of the answer are
    rounded to float32 where they still solve the equations as closely as those numbers can.  The
    answer has a factor of the rows only with ``keep_factor``: it can take another pass over them.
    """

    design: Design
    targets: np.ndarray
    weights: np.ndarray | None = None
    ridge: float = 0.0
    fit_intercept: bool = True
    tol: float = 1e-10
    names: Sequence[str] | None = None
    bounds: tuple[np.ndarray, np.ndarray] | None = None
    single: bool = False
    keep_factor: bool = True
    # Whether the rows are those of a triangular factor, which stand for others.
    factored: bool = False
    tuning: Tuning = Tuning()
    begun: float = field(default_factory=perf_counter)

    @property
    def nonnegative(self) -> bool:
        """Whether the bounds say that no weight is below zero, and nothing else."""
        return self.bounds is not None and not (
            self.bounds[0].any() or np.isfinite(self.bounds[1]).any()
        )

    def gathered(self, of: Callable[..., Any]) -> Any:
        """The result of a function of the design, the targets and the weights.

        Where rows come in parts, the function is applied to each part, and the results are merged.
        """
        return of(self.design, self.targets, self.weights)

    # Whether the rows come in parts, so that nothing but what is gathered of them is known.
    in_passes: ClassVar[bool] = False

    def moments(self) -> Moments:
        """The moments of all rows and their targets."""
        found: Moments = self.gathered(moments_of)
        return found

    def in_units(self) -> tuple[LeastSquaresProblem, np.ndarray | None]:
        """The problem in units in which squares of the targets are in the range of float64.

        Beside it is the factor of the targets; None where they are not scaled.
        """
        unit = units_of(self.targets, self.weights)
        if unit is None:
            return self, None
        with np.errstate(over="ignore", under="ignore"):
            bounds = self.bounds and (self.bounds[0] * unit, self.bounds[1] * unit)
        return replace(self, targets=self.targets * unit, bounds=bounds), unit

    def equations(
        self,
        mean: np.ndarray,
        lengths: np.ndarray,
        weight: float,
        kind: type[NormalEquations] | None = None,
    ) -> NormalEquations:
        """The normal equations, for the columns' means and lengths; see there.

        ``kind``: the class of the equations of rows in memory.
        """
        return (kind or NormalEquations)(self, mean, lengths, weight)

    @property
    def entries(self) -> float:
        """Multiplications that residuals take."""
        return float(self.design.n_samples) * self.design.n_features * self.targets.shape[1]

    @property
    def roots(self) -> np.ndarray:
        """The factors of the rows: the roots of their weights."""
        return np.ones(self.design.n_samples) if self.weights is None else np.sqrt(self.weights)

    def require_finite(self) -> None:
        """Raise ValueError for NaN or infinity, named by row and column."""
        require_finite(self.design.matrix, self.names)

    def refuse(self) -> None:
        """Raise ValueError for data whose squares are not finite."""
        self.require_finite()
        raise ValueError(
            "The squares of the data are out of the range of float64; scale the columns."
        )


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


class NormalEquations:
    """The equations of a problem, of which the means and the lengths of the columns are known.

    Parameters
    ----------
    problem : LeastSquaresProblem
    mean : ndarray of shape (d + m,)
        Weighted means of the features and, after them, of the targets; zero without an intercept.
    lengths : ndarray of shape (d + m,)
        Lengths of the same columns about these means.
    weight : float
        Sum of the weights.
    """

    def __init__(
        self, problem: LeastSquaresProblem, mean: np.ndarray, lengths: np.ndarray, weight: float
    ) -> None:
        self.problem, self.design, self.targets = problem, problem.design, problem.targets
        self.ridge, self.weight = problem.ridge, weight
        d = self.design.n_features
        self.mean, self.target_mean = mean[:d], mean[d:]
        self.lengths, self.spread = lengths[:d], lengths[d:]
        # Whether there is an equation for the intercept.
        self.level = problem.fit_intercept and weight > 0.0
        # Lengths of the targets about zero.
        self.size = np.hypot(self.spread, np.sqrt(weight) * self.target_mean)
        self.offset = np.sqrt(weight) * np.abs(self.mean)
        # Where only rounding is left of a column, so is of its product with the residual.
        self.alive = self.lengths > 4.0 * EPS * self.offset
        self.penalised = np.hypot(self.lengths, np.sqrt(self.ridge))
        # Means are zero without an intercept.
        self.centred = bool(self.mean.any())
        self.shifted = bool((self.alive & (self.offset > _OFFSET * self.lengths)).any())

    @property
    def finite(self) -> bool:
        """Whether the lengths of all columns are."""
        return bool(np.isfinite(self.lengths).all() and np.isfinite(self.spread).all())

    def intercept_of(self, coef: np.ndarray) -> np.ndarray:
        """The intercepts that go with coefficients (m, d)."""
        if not self.problem.fit_intercept:
            return np.zeros(len(coef))
        return self.target_mean - coef @ self.mean

    def at(self, coef: np.ndarray, intercept: np.ndarray | None = None) -> NormalResidual:
        """Return the residual at a point, whose intercept is the best one unless it is given."""
        if intercept is None:
            left = self.at(coef, self.intercept_of(coef))
            return self.at(coef, left.intercept + left.sums / self.weight) if self.level else left
        gradient, sums = self.sums_at(coef, intercept)
        if self.problem.fit_intercept and not self.shifted:
            gradient -= np.outer(sums[0], self.mean)
        gradient -= self.ridge * coef
        return NormalResidual(self, coef, intercept, gradient.T, *sums)

    def sums_at(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``sum s r x``, of shape (m, d), and ``sum s r`` with ``sum s r^2``: (2, m).

        Where means are large against the spread, ``x`` is a row less the means.
        """
        by_blocks = self.shifted or not _by_row(self.design, len(coef))
        work = (self._block_adder if by_blocks else self._row_adder)(coef, intercept)
        ranges = pool.ranges(self.design.n_samples, 2.0 * self.design.n_stored * len(coef))
        with pool.one_blas_thread():
            gradient, sums = pool.run_and_add(
                work, ranges, lambda: (np.zeros(coef.shape), np.zeros((2, len(coef))))
            )
        return gradient, sums

    def _weights(self) -> np.ndarray:
        """The weights or an empty array; read-only, as mapped data are: one type to compile."""
        s = self.problem.weights
        return row_access.read_only(np.empty(0) if s is None else s)

    def _row_adder(self, coef: np.ndarray, intercept: np.ndarray) -> Callable[..., None]:
        """The function that adds the sums of some rows to those of its part, row by row."""
        design = self.design
        kernel = compilation.specialise(
            _residual_rows, row_dot=design.row_dot, row_add=design.row_add
        )
        s, w = self._weights(), np.ascontiguousarray(coef)

        def work(own: np.ndarray, totals: np.ndarray, start: int, stop: int) -> None:
            # Targets that lie column by column (one-hot) are turned, some rows at a time.
            size = stop - start if self.targets.flags.c_contiguous else _TURNED
            scratch = np.empty_like(own), np.empty_like(totals)
            for a in range(start, stop, max(size, 1)):
                b = min(a + size, stop)
                y = row_access.read_only(np.ascontiguousarray(self.targets[a:b]))
                kernel(design.rows, a, y, s[a:b], w, intercept, own, totals, *scratch)

        return work

    def _block_adder(self, coef: np.ndarray, intercept: np.ndarray) -> Callable[..., None]:
        """The function of :meth:`_row_adder`, in blocks of rows."""
        design, weights = self.design, self.problem.weights
        level, rest = self._levels(coef, intercept)
        size = max(16, _BLOCK_BYTES // (8 * max(1, design.n_features)))

        def work(own: np.ndarray, totals: np.ndarray, start: int, stop: int) -> None:
            for part, block in design.blocks(start, stop, owned=self.shifted, size=size):
                if self.shifted:
                    block -= self.mean
                r = self.targets[part] - self.target_mean
                r -= level
                r -= rest
                r -= block @ coef.T
                weighted = r if weights is None else r * weights[part, None]
                own += weighted.T @ block
                totals[0] += weighted.sum(axis=0)
                totals[1] += np.einsum("ij,ij->j", weighted, r)

        return work

    def _levels(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``b + w.c - c_y`` in two parts, for rows less ``c``: each of the three may be large."""
        high = intercept - self.target_mean
        low = np.zeros_like(high)
        if self.shifted:
            for k, (b, c) in enumerate(zip(intercept, self.target_mean, strict=True)):
                terms = [*zip(coef[k], self.mean, strict=True), (b, 1.0), (c, -1.0)]
                high[k] = dot_once_rounded(terms)
                low[k] = dot_once_rounded([*terms, (high[k], -1.0)])
        return high, low

    def in_parts(self, high: np.ndarray, low: np.ndarray) -> NormalResidual:
        """Return the residual at ``high + low``, computed in twice the precision.

        The numbers, of shape (m, 1 + d), have the intercept first.
        """
        gradient, rest, sums = self.sums_in_parts(high, low)
        if self.centred or self.ridge != 0.0:
            # Large offsets cancel here, and have digits to spare.
            mean = row_access.read_only(np.ascontiguousarray(self.mean, dtype=np.float64))
            take_offsets(gradient, rest, sums, mean, high, low, float(self.ridge))
        gradient = gradient + rest
        coef = np.ascontiguousarray(high[:, 1:])
        return NormalResidual(
            self, coef, high[:, 0].copy(), gradient.T, sums[:, 0] + sums[:, 1], sums[:, 2]
        )

    def sums_in_parts(
        self, high: np.ndarray, low: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``sum s r x`` in two parts, of shape (m, d), and ``sum s r``, ``sum s r^2``: (m, 4)."""
        m, d = len(high), self.design.n_features
        gradient, rest, sums = np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, 4))
        for part, block in self.design.blocks():
            x = row_access.read_only(np.ascontiguousarray(block))
            s = self._weights()[part]
            for k in range(m):
                y = row_access.read_only(np.ascontiguousarray(self.targets[part, k]))
                residual_sums(x, y, s, high[k], low[k], gradient[k], rest[k], sums[k])
        return gradient, rest, sums

    def largest_misfit(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return each target's largest ``|r_i| / (sum_j |x_ij w_j| + |b| + |y_i|)`` of the rows.

        Rows without weight do not count.
        """
        s = self.problem.weights
        used = slice(None) if s is None else np.flatnonzero(s > 0.0)
        out = np.zeros(len(coef))
        for k, w in enumerate(coef):
            w = np.ascontiguousarray(w)
            y = self.targets[:, k]
            left = np.abs(y - (self.design.dot(w) + intercept[k]))
            size = self.design.absolute_dot(w) + abs(intercept[k]) + np.abs(y)
            out[k] = np.max((left / _or_one(size))[used], initial=0.0)
        return out

    def explained_shares(
        self, coef: np.ndarray, intercept: np.ndarray, free: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the share of each target's objective that other coefficients could take away.

        It is the squared cosine of the angle between the residual and what columns span, those that
        are ``free`` (d, m), or all; zero where there are too many columns to look.
        """
        d, m = self.design.n_features, len(coef)
        if self.design.n_samples * (d + m) ** 2 > _MOST_PROJECTED:
            return np.zeros(m)
        return self._explained(self.columns(coef, intercept, self.looks_closely(m)), coef, free)

    def looks_closely(self, n_targets: int) -> bool:
        """Whether the residuals are projected in twice the precision."""
        width = self.design.n_features + n_targets
        return self.design.n_samples * width**2 <= _MOST_CLOSELY

    def columns(self, coef: np.ndarray, intercept: np.ndarray, closely: bool) -> Columns:
        """The weighted columns, that of ones first, and the residuals after them."""
        if closely:
            at = self.problem.roots, bool(self.level), coef, intercept
            return Columns.of(self.design, self.targets, *at)
        parts, roots = [], self.problem.roots
        level, rest = self._levels(coef, intercept)
        for part, block in self.design.blocks(owned=True):
            r = self.targets[part] - self.target_mean - level - rest
            if self.shifted:
                block -= self.mean
                r -= block @ coef.T
            else:
                r -= block @ coef.T
                block -= self.mean
            ones = np.full((len(block), 1), float(self.level))
            parts.append((roots[part, None] * np.hstack([ones, block, r])).T)
        width = self.design.n_features + 1 + len(coef)
        return Columns(np.concatenate(parts, axis=1) if parts else np.empty((width, 0)), None)

    def reduced_columns(self, coef: np.ndarray, intercept: np.ndarray, closely: bool) -> Columns:
        """Few rows that stand for :meth:`columns`."""
        return self.columns(coef, intercept, closely).reduced()

    def _explained(self, columns: Columns, coef: np.ndarray, free: np.ndarray | None) -> np.ndarray:
        if self.ridge > 0.0:
            columns = columns.with_penalty(self.ridge, coef)
        raw, plain = np.hypot(self.lengths, self.offset), self.ridge == 0.0
        if free is None:
            return columns.explained(raw, self.lengths, coef if plain else None)
        shares = np.zeros(len(coef))
        for k, used in enumerate(free.T):
            own = np.flatnonzero(used)
            at = coef[k : k + 1, own] if plain else None
            part = columns.of_features(own, k, len(coef))
            shares[k] = part.explained(raw[own], self.lengths[own], at)[0]
        return shares


def _by_row(design: Design, n_targets: int) -> bool:
    """Whether a compiled loop over the rows reads the design where it lies.

    Every kind of storage would be compiled by itself: of dense ones it is for the usual one alone,
    and for many targets products of blocks are faster.
    """
    if isinstance(design, DenseDesign):
        return design.by_rows and design.rows[0].dtype == np.float64 and n_targets <= _FEW_TARGETS
    return isinstance(design, CSRDesign)


def for_all_targets(
    bounds: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """The bounds of the weights of every target, (d,), as a problem has them: (d, 1)."""
    return None if bounds is None else (bounds[0][:, None], bounds[1][:, None])


def moments_of(design: Design, targets: np.ndarray, weights: np.ndarray | None = None) -> Moments:
    """The moments of rows with their targets, of one class."""
    return Moments.of(design, weights=weights, targets=targets)


def units_of(targets: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray | None:
    """Powers of two that bring targets near one whose squares are not in the range of float64.

    The squares are those of the weighted targets.
    """
    if not targets.size:
        return None
    # The largest size, without a copy.
    top = np.maximum(targets.max(axis=0), -targets.min(axis=0))
    if weights is not None:
        top = top * math.sqrt(float(weights.max()))
    odd = (top > 0.0) & ((top < 1e-120) | (top > 1e120))
    if not odd.any():
        return None
    power = np.clip(np.frexp(np.where(odd, top, 0.5))[1], -1000, 1000)
    return np.ldexp(1.0, -power)


def dot_once_rounded(terms: Iterable[tuple[float, float]]) -> float:
    """A sum of products, rounded once."""
    terms = list(terms)
    try:
        total = math.fsum(part for a, b in terms for part in product_parts(float(a), float(b)))
    except (OverflowError, ValueError):
        total = math.nan
    # The halves of large numbers overflow before their products do.
    return total if math.isfinite(total) else float(np.sum([a * b for a, b in terms]))


@dataclass(frozen=True, eq=False)
class NormalResidual:
    """The residual of the normal equations at a point, and its size.

    Attributes
    ----------
    equations : NormalEquations
    coef : ndarray of shape (m, d)
    intercept : ndarray of shape (m,)
    gradient : ndarray of shape (d, m)
        ``A'S r - ridge w``.
    sums, rss : ndarray of shape (m,)
        Weighted sums of the residuals and of their squares.
    """

    equations: NormalEquations
    coef: np.ndarray
    intercept: np.ndarray
    gradient: np.ndarray
    sums: np.ndarray
    rss: np.ndarray

    @cached_property
    def terms(self) -> np.ndarray:
        """Size of what the residuals are differences of, for each target."""
        of = self.equations
        lengths = np.hypot(of.lengths, of.offset)
        out = np.abs(self.coef) @ lengths + np.sqrt(of.weight) * np.abs(self.intercept)
        return out + of.size + self._penalty()

    def _penalty(self) -> np.ndarray:
        """Length of what the penalty adds to the residuals."""
        if self.equations.ridge == 0.0:
            return np.zeros(len(self.coef))
        return np.sqrt(self.equations.ridge) * lengths_of(self.coef.T)

    @cached_property
    def outside(self) -> np.ndarray:
        """The weights that are beyond their bounds; (d, m)."""
        bounds, weights = self.equations.problem.bounds, self.coef.T
        if bounds is None:
            return np.zeros(weights.shape, dtype=bool)
        beyond: np.ndarray = (weights < bounds[0]) | (weights > bounds[1])
        return beyond

    def inward(self) -> np.ndarray:
        """The slopes that could move each weight without leaving its bounds; (d, m)."""
        bounds, weights = self.equations.problem.bounds, self.coef.T
        if bounds is None:
            return self.gradient
        below = np.where(weights <= bounds[0], np.maximum(self.gradient, 0.0), self.gradient)
        return np.where(weights >= bounds[1], np.minimum(below, 0.0), below)

    def _shares(self) -> np.ndarray:
        """The share of each objective that other weights could remove, see ``explained_shares``.

        Weights that are pushed beyond their bounds are left out.
        """
        return self.equations.explained_shares(self.coef, self.intercept, self._free)

    @property
    def _free(self) -> np.ndarray | None:
        """Whether weights are between their bounds, or pushed there; (d, m), None where all are."""
        bounds, weights = self.equations.problem.bounds, self.coef.T
        if bounds is None:
            return None
        between = (weights > bounds[0]) & (weights < bounds[1])
        free: np.ndarray = between | (self.inward() != 0.0)
        return free

    @cached_property
    def _ratios(self) -> np.ndarray:
        """``|a_j' r| / |a_j|`` for every column and target, that of ones last."""
        of = self.equations
        used = of.alive & (of.penalised > 0.0)
        left = np.abs(self.inward()[used])
        if of.problem.bounds is not None:
            left[self.outside[used]] = np.inf
        out = left / of.penalised[used, None]
        if of.level:
            out = np.vstack([out, np.abs(self.sums) / np.sqrt(of.weight)])
        return out

    def measure(self) -> float:
        """The measure that refinement makes small: the largest ratio, relative to the terms."""
        with np.errstate(all="ignore"):
            shares = self._ratios / _or_one(self.terms)
        return float(shares.max(initial=0.0)) if np.isfinite(shares).all() else np.inf

    @cached_property
    def _norm(self) -> np.ndarray:
        """The root of twice the objective, for each target."""
        norm = np.hypot(np.sqrt(self.rss), self._penalty())
        # Where the squares underflow, it is at least what any column takes of it (Cauchy-Schwarz).
        return np.where(norm == 0.0, self._ratios.max(axis=0, initial=0.0), norm)

    @cached_property
    def _idle(self) -> np.ndarray:
        """The residual of a penalty at columns that are zero, or constant but for rounding; (k, m).

        Rows are fitted as well without them, so that their weights ought to be zero. Without a
        penalty these are free.
        """
        of = self.equations
        idle = ~of.alive
        if of.ridge == 0.0 or not idle.any():
            return np.zeros((0, len(self.coef)))
        # Where rounding is all that a column has, its product with the residual counts or not.
        sizes = of.ridge * np.abs(self.coef.T[idle])
        left = np.minimum(np.abs(self.gradient[idle]), sizes)
        if of.problem.bounds is not None:
            left[self.outside[idle]] = np.inf
        return left / of.penalised[idle, None] / _or_one(self._norm)

    def judged(self) -> tuple[float, float]:
        r"""Relative residual and orthogonality.

        The latter is the largest cosine :math:`\max_j |a_j^\top r| / (|a_j||r|)`, whose square is
        the share of the objective that changing a single coefficient could take away. The former
        is the same, but for two exceptions. What is left of an equation may be no more than the
        rounding of the returned numbers explains; then it counts relative to the terms, as long as
        no change of the coefficients could take away more than a millionth. And a fit may be exact:
        then it is ``y = A x`` that holds, in every row relative to its terms and in all together
        relative to the targets.
        """
        return self._judged(_MOST_SHARE)

    @property
    def _rounding(self) -> float:
        """The share of the terms that rounding explains."""
        return EPS * max(8.0, 2.0 * math.sqrt(self.equations.design.n_features))

    def reached(self) -> float:
        """The relative residual where whatever rounding explains counts relative to the terms.

        It shows which of several ways to solve the equations did so as well as float64 can.
        """
        return self._judged(np.inf)[0]

    def _judged(self, most: float) -> tuple[float, float]:
        """Relative residual and orthogonality; rounding explains shares of at most ``most``."""
        of = self.equations
        tol = of.problem.tol
        with np.errstate(all="ignore"):
            norm, terms, ratios = self._norm, self.terms, self._ratios
            if not all(bool(np.isfinite(a).all()) for a in (norm, terms, ratios)):
                return np.inf, np.inf
            cosines, by_terms = ratios / _or_one(norm), ratios / _or_one(terms)
            idle = self._idle.max(axis=0, initial=0.0)
            orthogonality = float(max(cosines.max(initial=0.0), idle.max(initial=0.0)))
            rounding = self._rounding
            explained = (by_terms <= rounding) & (np.square(cosines) <= most)
            # A fit that leaves more than zero weights would is no solution, whatever the rounding.
            nothing = of.spread if of.problem.fit_intercept else of.size
            explained &= norm <= 1.01 * nothing + _SPARE * rounding * of.size
            if most < np.inf and (explained & (cosines > tol)).any():
                explained &= self._shares() <= most
            relative = np.where(explained, by_terms, cosines).max(axis=0, initial=0.0)
            if not (relative <= tol).all():
                relative = np.minimum(relative, self._inexactness(rounding, most))
            relative = np.maximum(relative, idle)
            # Also of columns that the rows say nothing about.
            relative[self.outside.any(axis=0)] = np.inf
        return float(relative.max(initial=0.0)), orthogonality

    def _inexactness(self, rounding: float, most: float) -> np.ndarray:
        """The relative residual of each target that is fitted exactly; infinite for the others."""
        of = self.equations
        constant = of.spread <= _SPARE * EPS * of.size
        by_targets = self._norm / np.where(constant, of.size, of.spread)
        by_targets[np.isnan(by_targets)] = np.inf
        # Terms far larger than the targets explain what their rounding does, and no more.
        by_terms = self._norm / _or_one(np.abs(self.coef) @ of.lengths + of.spread)
        by_terms[(by_terms > _SPARE * rounding) | (np.square(by_targets) > most)] = np.inf
        found = np.minimum(by_targets, by_terms)
        found[found > of.problem.tol] = np.inf
        if not of.problem.factored and np.any(found < np.inf):
            # Rows that weigh little have no share in the sums, and are looked at one by one.
            misfit = of.largest_misfit(self.coef, self.intercept)
            found[~(misfit <= of.problem.tol)] = np.inf
        return found

    def certificate(
        self, rank: int, condition: float, unfinished: str | None, n_iter: int = 0, whose: str = ""
    ) -> ResidualCertificate:
        """The certificate of this point; ``unfinished`` is its status where it is above ``tol``."""
        relative, orthogonality = self.judged()
        problem = self.equations.problem
        if relative <= problem.tol:
            relative = max(relative, self._left_together(rank, condition, orthogonality))
        text = "normal equations A'r = 0"
        if problem.ridge > 0.0:
            text = "normal equations (A'A + rho I) w = A'y"
        if problem.nonnegative:
            text = "conditions w >= 0, A'r <= 0, w A'r = 0"
            if problem.ridge > 0.0:
                text = "conditions w >= 0, A'r <= rho w, w (A'r - rho w) = 0"
        elif problem.bounds is not None:
            slope = "A'r - rho w" if problem.ridge > 0.0 else "A'r"
            text = f"conditions l <= w <= u, {slope} <= 0 where w < u, >= 0 where w > l"
        return ResidualCertificate.of(
            equations=text + whose,
            relative_residual=relative,
            orthogonality=orthogonality,
            condition=condition,
            rank=rank,
            n_columns=problem.design.n_features,
            tol=problem.tol,
            status=unfinished if problem.tol < relative < math.inf else None,
            n_iter=n_iter,
            seconds=perf_counter() - problem.begun,
        )

    def _left_together(self, rank: int, condition: float, orthogonality: float) -> float:
        """Return the cosine with the span of all columns, where it means more than each of theirs.

        Columns of unit length whose condition number is ``k`` can take away together no more than
        ``d k^2`` times the share that the best of them takes away alone.
        """
        of = self.equations
        d = of.design.n_features
        # A penalty holds up the columns of which the rows say nothing.
        if (free := self._free) is not None:
            full = bool((np.count_nonzero(free & of.alive[:, None], axis=0) == rank).all())
        else:
            full = rank == int(np.count_nonzero(of.alive)) or (rank == d and of.ridge > 0.0)
        if full:
            bound = d * (condition * orthogonality) ** 2
            if bound <= _MOST_SHARE:
                return 0.0
        if of.design.n_samples * (d + len(self.coef)) ** 2 > _MOST_LOOKED_AT:
            return 0.0
        shares = self._shares()
        # The rounding that is left of an exact fit has no direction that could be wrong.
        exact = (self._inexactness(self._rounding, _MOST_SHARE) <= of.problem.tol) | (
            self._norm == 0
        )
        largest = float(np.max(np.where(exact, 0.0, shares), initial=0.0))
        return math.sqrt(largest) if largest > _MOST_SHARE else 0.0

    def correction(self, inverse: NormalInverse) -> tuple[np.ndarray, float]:
        """A step of refinement, the intercept first, and its size relative to the coefficients."""
        of = self.equations
        change = inverse.step(self.gradient)
        # A column without any weight in the rows has no length: what it gets is zero.
        change = np.where(np.isfinite(change), change, 0.0)
        level = np.zeros(len(self.intercept))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            sizes = norms_of(of.penalised[:, None] * change)
            whole = norms_of(of.penalised[:, None] * self.coef.T) + 1e-300
            if of.level:
                level = self.sums / of.weight - of.mean @ change
                sizes += np.abs(self.sums) / np.sqrt(of.weight)
                # An intercept is a number like the others, and has no more digits than they have.
                whole += np.sqrt(of.weight) * np.abs(self.intercept)
            relative = float((sizes / whole).max(initial=0.0))
        step = np.empty((len(level), 1 + len(change)))
        step[:, 0], step[:, 1:] = level, change.T
        return step, relative


def _or_one(a: np.ndarray) -> np.ndarray:
    """To divide by: ones instead of zeros."""
    return np.where(a > 0.0, a, 1.0)


# --- refinement ---------------------------------------------------------------------------------


def refine(
    equations: NormalEquations, inverse: NormalInverse, coef: np.ndarray
) -> tuple[NormalResidual, int, bool]:
    """Refine coefficients (m, d) in the precision that the problem deserves.

    Returns
    -------
    residual : NormalResidual
        The residual at the refined numbers.
    steps : int
    good : bool
        Whether it went as it should.
    """
    ill = inverse.condition > _ILL
    most = _MEDIUM if inverse.condition > _VERY_ILL else _SEVERAL if ill else _SMALL
    if equations.problem.entries <= most:
        start = np.column_stack([equations.intercept_of(coef), coef])
        # The condition number does not include the rounding of centring.
        rough = ill or equations.shifted
        still = _STILL_IN_PARTS if rough else _STILL_WELL
        contraction = 1.0 if rough else inverse.contraction
        found = refine_in_parts(equations, inverse, start, still, contraction)
        if found is not None:
            high, low, steps = found
            best = equations.in_parts(high, np.zeros_like(low))
            # The halves of numbers near the largest overflow where the numbers do not.
            if np.isfinite(best.measure()):
                return best, steps, True
    best = equations.at(coef, equations.intercept_of(coef))
    measure, steps = best.measure(), 0
    while steps < MOST_STEPS and measure > 0.5 * EPS:
        if not np.isfinite(measure):
            return best, steps, False
        change, relative = best.correction(inverse)
        if relative <= _STILL:
            return best, steps, True
        trial = equations.at(best.coef + change[:, 1:], best.intercept + change[:, 0])
        before, reached = measure, trial.measure()
        if reached < before:
            best, measure, steps = trial, reached, steps + 1
        if not reached <= 0.3 * before:
            break
    # Only at the level of rounding is it no wonder that no more is gained.
    return best, steps, measure <= 100 * EPS


def refine_in_parts(
    equations: NormalEquations,
    inverse: NormalInverse,
    high: np.ndarray,
    still: float = _STILL_IN_PARTS,
    contraction: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Refine numbers (m, 1 + d), the intercept first, to sums of two.

    Returns
    -------
    high, low : ndarray of shape (m, 1 + d)
    steps : int
        The last one changed less than ``still``, relative to the numbers, or the next one would:
        it is at most ``contraction`` times as long.  None where the steps do not shrink.
    """
    low = np.zeros_like(high)
    previous = np.inf
    for steps in range(1, _MOST_STEPS_IN_PARTS + 1):
        change, relative = equations.in_parts(high, low).correction(inverse)
        if not relative < 0.5 * previous:
            # Below the rounding of the result there is nothing left to gain.
            return (high, low, steps) if min(relative, previous) < 0.1 * EPS else None
        total, rest = sum_parts(high, change)
        high, low = sum_parts(total, low + rest)
        previous = relative
        if relative * min(contraction, 1.0) < still:
            break
    return high, low, steps


# --- the inverse --------------------------------------------------------------------------------


class NormalInverse:
    """``(A'A + ridge I)^-1``, or its counterpart where columns depend on one another.

    Everything is done in columns of unit length.  A column that the others explain to rounding
    leaves the basis; a solution in the basis becomes the one of least norm by adding relations
    between columns, each known entry by entry.

    Parameters
    ----------
    r : ndarray of shape (k, p)
        Rows that have the same ``A'A`` and ``A'Y``: the features and, after them, the targets.
    n_features : int
    ridge : float
    noise : ndarray of shape (n_features,), optional
        The length that rounding of the entries alone can give each column of ``A``.
    negligible : float, optional
        The length that is left of a unit column that depends on others.
    trusted : bool, default=False
        Whether the features are known to be independent.
    """

    def __init__(
        self,
        r: np.ndarray,
        n_features: int,
        ridge: float = 0.0,
        noise: np.ndarray | None = None,
        negligible: float = NEGLIGIBLE,
        trusted: bool = False,
    ) -> None:
        self._negligible = negligible
        d = n_features
        noise = np.zeros(d) if noise is None else noise
        if ridge > 0.0:
            penalty = np.zeros((d, r.shape[1]))
            np.fill_diagonal(penalty, np.sqrt(ridge))
            r = triangle_of(np.vstack([r, penalty]))
            # The penalty is exact: no column is lost in rounding that it holds up.
            noise = np.zeros(d)
        lengths = lengths_of(r[:, :d])
        alive = lengths > 4.0 * noise
        self.scale = np.where(alive, lengths, 1.0)
        self.n_columns = d
        self._live = np.flatnonzero(alive)
        self._rest = np.zeros(0, dtype=np.int64)
        a = r[:, self._live] / self.scale[self._live]
        relative = float(np.max(noise[alive] / lengths[alive], initial=0.0))
        if (
            alive.all()
            and len(r) >= d
            and (trusted or _reciprocal_condition(a[:d]) > max(1e3 * negligible, 64.0 * relative))
        ):
            self.basis, self.upper = np.arange(d), np.ascontiguousarray(a[:d])
            self._right = r[:d, d:]
        else:
            self._pivot(a, r[:, d:], noise[self._live] / self.scale[self._live])
        self.rank = len(self.basis)
        self.dependent: tuple[int, ...] = ()
        if self.rank < d:
            self.dependent = tuple(int(j) for j in np.setdiff1d(np.arange(d), self.basis))

    @cached_property
    def condition(self) -> float:
        """The condition number: exact, or for many columns an estimate in the 1-norm."""
        if not self.rank:
            return 1.0
        if self.rank <= _EXACT_CONDITION:
            values = lapack.dgesdd(self.upper, compute_uv=0)[1]
            return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
        inverse = _reciprocal_condition(self.upper)
        return 1.0 / inverse if inverse > 0.0 else np.inf

    @property
    def contraction(self) -> float:
        """A generous bound on the error of :meth:`step`, relative to the step."""
        return 1e3 * EPS * max(self.n_columns, 1) * self.condition**2

    def _pivot(self, a: np.ndarray, right: np.ndarray, noise: np.ndarray) -> None:
        q, upper, order = scipy.linalg.qr(a, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diagonal(upper))
        rank = int(np.sum(size > self._negligible * size[:1].sum())) if len(size) else 0
        # A relation between rounded columns holds to their rounding, not to that of the sums.
        while rank and size[rank - 1] < 1e-4 and noise.any():
            k = rank - 1
            head = upper[:k, :k]
            expected = noise[order[k]] + np.abs(solve_upper(head, upper[:k, k])) @ noise[order[:k]]
            if size[k] > 4.0 * expected:
                break
            rank = k
        self._right = q[:, :rank].T @ right
        self.upper = np.ascontiguousarray(upper[:rank, :rank])
        self.basis = self._live[order[:rank]]
        self._rest = rest = self._live[order[rank:]]
        if not len(rest):
            return
        over = solve_upper(self.upper, upper[:rank, rank : rank + len(rest)])
        # The remainder of a coefficient that is zero would be blown up by unequal units.
        over[np.abs(over) < 1e3 * NEGLIGIBLE] = 0.0
        d = self.n_columns
        if len(rest) <= rank:
            relations = np.zeros((d, len(rest)))
            relations[self.basis] = -over / self.scale[self.basis, None]
            relations[rest, np.arange(len(rest))] = 1.0 / self.scale[rest]
            relations /= lengths_of(relations)
            self._relations = relations
            self._span, self._span_r = scipy.linalg.qr(relations, mode="economic")
        else:
            combined = np.zeros((d, rank))
            combined[self.basis, np.arange(rank)] = self.scale[self.basis]
            combined[rest] = over.T * self.scale[rest, None]
            self._span, self._span_r = scipy.linalg.qr(combined, mode="economic")

    def _least_norm(self, z: np.ndarray) -> np.ndarray:
        """Coefficients of least norm for a solution in the basis, in columns of unit length."""
        w = np.zeros((self.n_columns, z.shape[1]))
        if 0 < self.rank < len(self._rest):
            return self._span @ solve_upper(self._span_r, z, transposed=True)
        w[self.basis] = z / self.scale[self.basis, None]
        if len(self._rest) and self.rank:
            # Three times: what is large in one unit hides what is small in another.
            for _ in range(3):
                w -= self._relations @ solve_upper(self._span_r, self._span.T @ w)
        return w

    def solve(self) -> np.ndarray:
        """Coefficients (n_features, m) for the targets that came with the rows."""
        return self._least_norm(solve_upper(self.upper, self._right))

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """``(A'A + ridge I)^-1 gradient`` for (d, m): seminormal equations (Bjorck, 1987)."""
        right = gradient[self.basis] / self.scale[self.basis, None]
        half = solve_upper(self.upper, right, transposed=True)
        return self._least_norm(solve_upper(self.upper, half))


def triangle_of(rows: np.ndarray) -> np.ndarray:
    """``R`` of a QR factorisation of the rows, which are overwritten."""
    rows = np.asfortranarray(rows)
    k = min(rows.shape)
    if not k:
        return np.zeros((k, rows.shape[1]))
    out = lapack.dgeqrf(rows, lwork=max(1, 64 * rows.shape[1]), overwrite_a=True)[0]
    return np.triu(out[:k])


def _reciprocal_condition(upper: np.ndarray) -> float:
    return float(lapack.dtrcon(upper, norm="1", uplo="U")[0])
