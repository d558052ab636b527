r"""The objectives of kernel machines: weights that are combinations of the lifted data.

By the representer theorem (Kimeldorf and Wahba, 1971) the best weights are
:math:`w = \sum_j c_j \varphi(x_j)`, so a point ``theta`` stacks the coefficients ``c`` and the
intercept.  With the kernel's matrix :math:`K` the scores are :math:`Kc + b`, the squared norm is
:math:`c^\top K c`, and the dual point that belongs to the weights is their own coefficients,
:math:`c_i = \alpha_i y_i`.  One product with the matrix therefore gives both sides of weak duality.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.linalg

from separatrix._compiled import double_double
from separatrix._compiled.compilation import source_of
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import EPS, EPS32, TINY, UNIT
from separatrix._compiled.tuning import Tuned
from separatrix.data.design import Design, as_design
from separatrix.kernels.functions import Kernel, LinearKernel, PrecomputedKernel
from separatrix.kernels.gram import AnchoredGram, DoubledGram, Gram, PartialGram
from separatrix.kernels.prediction import kernel_scores
from separatrix.losses import Loss
from separatrix.objectives.base import Bound
from separatrix.objectives.base import charged_bound as _charged
from separatrix.objectives.enclosure import (
    Enclosure,
    Level,
    enclosed_adjoint,
    enclosed_scores,
    length_above,
    total,
    total_above,
)
from separatrix.objectives.formula import Formula
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.residual import ResidualObjective

# A column this many times as long as the median one drowns the others.
_WIDE = 30.0
# Coefficients that take in what rounding has left in their sum.
_ROUNDS = 8
# Operations of a product in twice the digits that take no more than some milliseconds; where it
# takes more, rounding may have this share of the tolerance.
_CHEAP = 3e7
_CHARGED = 0.5


@dataclass(frozen=True)
class Tuning:
    """The limit on what is computed beside an approximation.

    Parameters
    ----------
    affordable : float
        The most multiplications that a true bound may take: some seconds.
    """

    affordable: float = 2e11


tuned = Tuned(Tuning())


def _defined(kernel: Kernel, relation: str = "=") -> str:
    """The definition of ``phi`` for the formula of an objective."""
    return f", phi(x).phi(z) {relation} {kernel.formula}"


def _kernelised(formula: Formula, kernel: Kernel, relation: str = "=") -> Formula:
    return replace(formula, product="w.phi(x)", remark=_defined(kernel, relation))


@dataclass(frozen=True)
class KKTConditions:
    r"""The side of the margin of every sample, and how far complementary slackness is violated.

    At the optimum a multiplier :math:`0 \le \alpha_i \le U_i` is zero for a sample beyond its
    margin (:math:`z_i > 1`), at its upper end for one within it (:math:`z_i < 1`), and anything
    between only for one that is on it (Karush, 1939; Kuhn and Tucker, 1951).

    Attributes
    ----------
    margin : ndarray of shape (n_samples,)
        ``z_i = y_i f(x_i)``; NaN for a row that takes no part.  With thousands of rows, it may have
        only float32's digits for those outside the margin.
    multiplier : ndarray of shape (n_samples,)
        ``alpha_i``.
    upper : ndarray of shape (n_samples,)
        ``U_i = C s_i``.
    side : ndarray of shape (n_samples,) of str
        ``"outside"`` the margin, ``"on"`` it, ``"inside"`` it but on the right side of the
        surface, or ``"wrong"``, on the other side or on the surface; empty for a row that takes
        no part.
    violation : ndarray of shape (n_samples,)
        The distance of ``z_i`` from 1 where it is on a side that the multiplier excludes; 0 where
        the conditions hold, NaN for a row that takes no part.
    gap : ndarray of shape (n_samples,)
        The sample's share of the duality gap, ``U_i max(0, 1 - z_i) + alpha_i (z_i - 1)``; for the
        hard margin, ``alpha_i (z_i - 1)`` without sign.
    """

    margin: np.ndarray
    multiplier: np.ndarray
    upper: np.ndarray
    side: np.ndarray
    violation: np.ndarray
    gap: np.ndarray

    @property
    def worst(self) -> float:
        """The largest violation."""
        used = self.violation[~np.isnan(self.violation)]
        return float(used.max(initial=0.0))

    def counts(self) -> dict[str, int]:
        """The number of samples on each side."""
        return {name: int(np.sum(self.side == name)) for name in _SIDES}

    def __bool__(self) -> bool:
        raise TypeError(
            "The conditions hold up to a tolerance: compare worst <= tol or, for each sample, "
            "violation <= tol."
        )

    def __str__(self) -> str:
        counted = ", ".join(f"{count:,} {_COUNTS[name]}" for name, count in self.counts().items())
        return f"{counted}; complementary slackness holds to {self.worst:.2g}"


_SIDES = ("outside", "on", "inside", "wrong")
_COUNTS = {
    "outside": "outside the margin",
    "on": "on it",
    "inside": "inside it",
    "wrong": "on the wrong side",
}


def kkt_conditions(
    margin: np.ndarray, multiplier: np.ndarray, upper: np.ndarray, tol: float
) -> KKTConditions:
    """Compare margins with multipliers; ``tol`` is how far from 1 a margin still counts as 1.

    Rows whose ``upper`` is zero take no part.
    """
    used = upper > 0.0
    z = np.where(used, margin, np.nan)
    short, beyond = np.maximum(0.0, 1.0 - z), np.maximum(0.0, z - 1.0)
    violation = np.where(
        multiplier <= 0.0, short, np.where(multiplier >= upper, beyond, np.abs(1 - z))
    )
    hard = np.isinf(upper)
    weight = np.where(hard, 0.0, upper)
    gap = np.where(hard, np.abs(multiplier * (z - 1.0)), weight * short + multiplier * (z - 1.0))
    side = np.full(len(z), "", dtype="<U7")
    with np.errstate(invalid="ignore"):
        side[used & (z > 1.0 + tol)] = "outside"
        side[used & (np.abs(z - 1.0) <= tol)] = "on"
        side[used & (z < 1.0 - tol)] = "inside"
        side[used & (z <= 0.0)] = "wrong"
    return KKTConditions(z, multiplier, upper, side, np.where(used, violation, np.nan), gap)


def is_semidefinite(gram: Gram | PartialGram, most_rows: int = 6000) -> bool:
    """Whether the matrix is positive semidefinite, to the rounding of its entries.

    Known of a kernel that always is; else found by a Cholesky factorisation, of all rows, or where
    there are more than `most_rows`, of that many spread evenly among them.
    """
    if gram.kernel.semidefinite:
        return True
    n = gram.n_samples
    index = np.arange(n)
    if n > most_rows:
        index = np.linspace(0, n - 1, most_rows).astype(np.intp)
    matrix = gram.entries(index)
    scale = float(np.abs(matrix).max(initial=0.0))
    if scale == 0.0:
        return True
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-6 * scale):
        return False
    matrix += matrix.T
    matrix *= 0.5
    # Values that were rounded to float32 on their way are still those of a scalar product.
    single = bool(np.array_equal(matrix.astype(np.float32), matrix))
    rounding = EPS32 if single else gram.rounding
    matrix[np.diag_indices(len(index))] += 4.0 * len(index) * rounding * scale
    try:
        scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def evened(c: np.ndarray, low: Any = -np.inf, high: Any = np.inf) -> np.ndarray:
    """Take out of the sum of coefficients what their rounding has left in it, to the last digit.

    What is left would count as often as the points are far from the origin.  Coefficients that
    are zero or at their ends stay as they are, and so does a sum that is more than rounding.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from separatrix.kernels.objective import evened
    >>> c = np.array([0.1, 0.2, -0.3])
    >>> math.fsum(c), math.fsum(evened(c))
    (2.7755575615628914e-17, 0.0)
    """
    out = c.copy()
    sizes = np.abs(c)
    free = (sizes > 0.0) & (c > low) & (c < high)
    with np.errstate(over="ignore"):
        if not np.isfinite(sizes.sum()):
            return out
    left = math.fsum(out)
    if abs(left) > 4.0 * UNIT * math.fsum(sizes):
        return out
    for _ in range(_ROUNDS):
        # The smallest that it does not change by much holds most digits of it.
        inside = (out - left >= low) & (out - left <= high)
        able = np.flatnonzero(free & inside & (np.abs(out) > 4.0 * abs(left)))
        if left == 0.0 or not len(able):
            break
        out[able[np.abs(out[able]).argmin()]] -= left
        left = math.fsum(out)
    return out


def dual_slope_of(loss: Loss) -> float:
    """The slope of a row's share of the dual where its multiplier and its score are zero.

    Examples
    --------
    >>> from separatrix.kernels.objective import dual_slope_of
    >>> from separatrix.losses import Hinge
    >>> dual_slope_of(Hinge())
    -1.0
    """
    return float(source_of(loss.dual_slope)(0.0, 0.0, 1.0))


def box_of(y: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of coefficients ``y a``, for labels and multipliers ``a`` from zero to ``upper``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.kernels.objective import box_of
    >>> low, high = box_of(np.array([1.0, -1.0]), np.array([2.0, 3.0]))
    >>> low.tolist(), high.tolist()
    ([0.0, -3.0], [2.0, 0.0])
    """
    positive = y > 0.0
    return np.where(positive, 0.0, -upper), np.where(positive, upper, 0.0)


@dataclass
class QuadraticDual:
    r"""A dual as a quadratic problem: :math:`\min_c \tfrac12 c^\top K c + g^\top c` in a box.

    The sum of all coefficients is zero, or the sums of the groups are the given ones.

    Attributes
    ----------
    matrix : Gram, PartialGram, SmallGram, DoubledGram or AnchoredGram
    low, high, linear : ndarray of shape (n_coefficients,)
        The bounds of the box, and :math:`g`.
    groups : tuple of (ndarray of bool, float), optional
        The groups of coefficients, each with its sum.
    start : ndarray of shape (n_coefficients,), optional
        A feasible point, where zero is none.
    """

    matrix: Any
    low: np.ndarray
    high: np.ndarray
    linear: np.ndarray
    groups: tuple[tuple[np.ndarray, float], ...] | None = None
    start: np.ndarray | None = None

    def without_sum(self) -> QuadraticDual:
        """The problem whose coefficients may have any sum, which an anchor makes up for."""
        return replace(
            self,
            matrix=AnchoredGram(self.matrix),
            low=np.append(self.low, -np.inf),
            high=np.append(self.high, np.inf),
            linear=np.append(self.linear, 0.0),
        )

    def of_first(self, index: np.ndarray) -> int:
        """The number of given coefficients in the first group; all of them without groups."""
        if self.groups is None:
            return len(index)
        return int(np.count_nonzero(self.groups[0][0][index]))

    def begun(self, c: np.ndarray) -> np.ndarray:
        """A feasible point at or near coefficients of the points."""
        out: np.ndarray = self.matrix.unfold(c)
        if self.groups:
            out = np.clip(out, self.low, self.high)
        for group, mass in self.groups or ():
            if abs(out[group].sum() - mass) > 1e-9 * abs(mass):
                assert self.start is not None
                return self.start.copy()
        return out

    def balance(self, c: np.ndarray) -> None:
        """Take out of the sums what rounding has left in them, to the last digit."""
        for group, mass in self.groups or ((slice(None), 0.0),):
            own = c[group]
            excess = total(own)[0] - mass
            slack = np.minimum(own - self.low[group], self.high[group] - own)
            widest = int(slack.argmax())
            if abs(excess) < slack[widest]:
                own[widest] -= excess
                c[group] = own
        if sum(mass for _, mass in self.groups or ()) == 0.0:
            c[:] = evened(c, self.low, self.high)


class _InKernelSpace:
    """The base of objectives whose points are coefficients of the lifted data.

    Attributes
    ----------
    matrix : Gram, PartialGram or SmallGram
        The matrix, which takes the place of the design.
    predicting : ndarray of shape (n_features,) or None
        The weights of the columns that a machine with the linear kernel predicts by, where there
        are any besides its coefficients.
    """

    matrix: Any
    upper: np.ndarray
    charge_share: float
    predicting: np.ndarray | None = None
    weights_of: Callable[[np.ndarray], np.ndarray]
    intercept_of: Callable[[np.ndarray], Any]
    join: Callable[[np.ndarray, Any], np.ndarray]
    # Whether a row far enough beyond its margin counts for nothing, wherever exactly it is.
    flat: bool = False
    _convex: bool | None = None
    _came: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def convex(self) -> bool:
        """Whether the kernel's matrix is positive semidefinite; if not, no bound holds."""
        if self._convex is None:
            self._convex = is_semidefinite(self.matrix)
        return self._convex

    def square(self, theta: np.ndarray, scores: np.ndarray) -> float:
        """``|w|^2``, from the scores that the product with the matrix has given."""
        return inner(self.weights_of(theta), scores - self.intercept_of(theta))

    def to_internal(self, theta: np.ndarray) -> np.ndarray:
        c = self.weights_of(theta)
        out = self.join(c, self.intercept_of(theta) + self.matrix.intercept_shift(c))
        self._came = out, theta
        return out

    def from_internal(self, theta: np.ndarray) -> np.ndarray:
        # A point that came in goes out as it was, to the last digit.
        if self._came is not None and np.array_equal(self._came[0], theta):
            return self._came[1]
        c = self.weights_of(theta)
        return self.join(c, self.intercept_of(theta) - self.matrix.intercept_shift(c))

    def enclosed(
        self, c: np.ndarray, level: Level, b: float | None = None
    ) -> tuple[Enclosure, float, float] | None:
        """``K c``, and ``c' K c`` with a bound on its error; None where it is not to be had so.

        With an intercept only rows that may have a loss are looked at in twice the digits, besides
        those with a coefficient; without one, those alone.
        """
        if not c.any():
            # Zero to the last digit.
            return Enclosure(np.zeros(len(c)), np.zeros(len(c)), 0.0), 0.0, 0.0
        matrix, index = self.matrix.whole, self.matrix.columns
        product, radius = matrix.enclosed_product(index, c, self.matrix.dot(c))
        radius += self.matrix.off_by(c)
        rest = np.zeros_like(product)
        if level is Level.DOUBLED:
            at = np.flatnonzero((c != 0.0) | (b is not None and self.losing(product, radius, b)))
            found = matrix.doubled_product(index, c, at)
            if found is None:
                return None
            product[at], rest[at], radius[at] = found
        # A row without a coefficient has no part in the square, however wide its bounds are.
        of_square = np.where(c != 0.0, product, 0.0)
        apart = np.where(c != 0.0, radius, 0.0)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            high, low = double_double.product_parts(c, of_square)
            square, error = total(np.concatenate([high, low, c * rest]))
            error += total_above(np.abs(c) * apart) + UNIT * total_above(np.abs(c * rest))
            error += 16.0 * len(c) * TINY
        if not np.isfinite(square + error):
            square, error = max(square, 0.0) if np.isfinite(square) else 0.0, np.inf
        return Enclosure(product, radius + np.abs(rest), np.inf), square, error

    def losing(self, product: np.ndarray, radius: np.ndarray, b: float) -> np.ndarray:
        """The rows whose loss may be more than zero, by products that are off by a radius."""
        return np.ones(len(product), dtype=bool)

    def enclosed_at(self, theta: np.ndarray, level: Level) -> tuple[Enclosure, float, float] | None:
        """The scores at ``theta``, and ``|w|^2`` with a bound on its error; or None, likewise."""
        b = float(self.intercept_of(self.from_internal(theta)))
        found = self.enclosed(self.weights_of(theta), level, b)
        if found is None:
            return None
        product, square, error = found
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            middle = product.middle + b
            radius = (product.radius + UNIT * np.abs(middle)) * (1.0 + 8.0 * UNIT)
        return Enclosure(middle, radius, np.inf), square, error

    def enclosed_as_linear(
        self, theta: np.ndarray, level: Level, predicting: np.ndarray | None = None
    ) -> tuple[Design, Enclosure, Enclosure]:
        """The data, the weights and the scores of a machine whose kernel is the scalar product.

        It is a linear one: rows show more than their products do.  It predicts by weights in
        float64, by default the combination rounded once; the enclosures are about these, and hold
        the combination, too.
        """
        points = self.matrix.whole.points(self.matrix.columns)
        found = enclosed_adjoint(points, self.weights_of(theta), level)
        w = found.middle if predicting is None else predicting
        off = found.length + UNIT * length_above(w)
        if predicting is not None:
            off += length_above(found.middle - w) * (1.0 + 8.0 * UNIT)
        b = float(self.intercept_of(self.from_internal(theta)))
        scores = enclosed_scores(points, w, b, level, off=off)
        return points, Enclosure(w, off, off), scores

    def unknown(self, residual: np.ndarray | None) -> Bound:
        """The bound where products cannot be computed to the requested accuracy."""
        return Bound(np.inf, 0.0 if self.convex else -np.inf, np.inf, residual, charge=np.inf)

    def lengths_above(self, r: np.ndarray) -> float:
        """A bound of ``sum_i |r_i| |phi(x_i)|``."""
        matrix = self.matrix.whole
        error = matrix._source.error
        square = np.abs(self.matrix.diagonal) * (1.0 + 1e-9) + (error if error < np.inf else 0.0)
        with np.errstate(over="ignore"):
            return total_above(np.abs(r) * np.sqrt(square)) * (1.0 + 1e-9)

    def points(self) -> Design | None:
        kernel = self.matrix.kernel
        # A Gaussian kernel does not depend on where the origin of the points is.
        if isinstance(kernel, PrecomputedKernel) or getattr(kernel, "translates", False):
            return None
        points: Design = self.matrix.whole.points(self.matrix.columns)
        return points

    def widest_column(self) -> int | None:
        points = self.points()
        if points is None or points.n_features < 2:
            return None
        with np.errstate(all="ignore"):
            sizes = np.sqrt(points.column_squares(np.full(points.n_samples, 1.0)))
        j = int(np.argmax(sizes))
        return j if sizes[j] > _WIDE * float(np.median(sizes)) else None

    def rounding_share(self) -> float:
        # A product with a large matrix in twice the digits takes longer than many a fit.
        n = self.matrix.n_samples
        return self.charge_share if self.matrix.whole.doubling_cost(n, n) < _CHEAP else _CHARGED

    def levels(self) -> Sequence[Level]:
        # Sums of the sizes of products of a kernel cost as much as the products in all digits.
        linear = isinstance(self.matrix.kernel, LinearKernel)
        return tuple(Level) if linear else (Level.NORMS, Level.DOUBLED)

    @property
    def samples(self) -> np.ndarray:
        """The rows of the data that the positions of the matrix are."""
        out: np.ndarray = self.matrix.samples
        return out

    def support_counts(self, residual: np.ndarray | None) -> tuple[int, int]:
        """The number of multipliers that are not zero, and of those at their upper end."""
        if residual is None:
            return 0, 0
        a = np.abs(residual)
        return int(np.count_nonzero(a)), int(np.count_nonzero((a >= self.upper) & (a > 0.0)))

    def multipliers_of(self, theta: np.ndarray, residual: np.ndarray | None) -> np.ndarray:
        """``alpha``, which the coefficients are but for the sign."""
        return np.abs(self.weights_of(theta))


class KernelObjective(_InKernelSpace, MarginObjective):
    r"""A loss of the margin in the kernel's space, with the squared norm as the penalty.

    .. math:: P(c, b) = \tfrac12 c^\top K c + \sum_i U_i\, \ell(y_i ((Kc)_i + b))

    Parameters
    ----------
    gram : Gram or PartialGram
        Takes the place of the design.
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    loss : Loss
    C, weights, fit_intercept
        See :class:`separatrix.objectives.base.Objective`.
    """

    coupled = True

    def __init__(self, gram: Any, y: np.ndarray, loss: Loss, **options: Any) -> None:
        super().__init__(gram, y, loss, **options)
        self.matrix = gram
        whole = isinstance(gram, Gram | PartialGram) and gram.whole.bounded
        self.flat = whole and loss.flat_from is not None and self.balances

    def losing(self, product: np.ndarray, radius: np.ndarray, b: float) -> np.ndarray:
        flat = self.loss.flat_from
        if flat is None:
            return super().losing(product, radius, b)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Also those of which nothing is known.
            return ~(self.y * (product + b) - 2.0 * radius > flat + 1e-9)

    def of_rows(self, index: np.ndarray) -> Self:
        part = super().of_rows(index)
        part.matrix = part.design = self.matrix.small(index)
        part.flat = False
        return part

    def formula(self) -> Formula:
        return _kernelised(super().formula(), self.matrix.kernel)

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        return 0.5 * self.square(theta, scores) + self.loss_value(scores)

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        """Weak duality at ``theta``; the dual point is by default the one of the coefficients."""
        scores = self.linear(theta) if scores is None else scores
        c, b = self.weights_of(theta), float(self.intercept_of(theta))
        primal = self.value(theta, scores)
        r = -c if residual is None else residual
        a, (low, high) = self.y * -r, self._ranges()
        inside = bool(np.all(a >= low) and np.all(a <= high))
        # The rounding that is left of the balance is charged to the gap below.
        even = not self.balances or abs(r.sum()) <= 1e-12 * np.abs(r).sum()
        if not (inside and even):
            r = -self.y * np.clip(a, low, high)
            r = self.balanced(r) if self.balances else r
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, r)
        gap = self.fenchel_young(scores, r)
        if np.array_equal(-r, c):
            product, apart = scores - b, 0.0
        else:
            product = self.matrix.dot(-r)
            apart = 0.5 * inner(c + r, scores - b - product)
        gap += max(apart, 0.0)
        if self.balances:
            gap += abs(b * float(r.sum()))
        direct = 0.5 * inner(r, product) - self.conjugate_value(r)
        # The allowance for the rounding of the entries: their own errors, of random sign, and
        # those of a point's norm, which all entries of its row share.
        scaled = np.sqrt(self.matrix.largest) * r  # first, for the squares alone may overflow
        size = inner(np.abs(r), np.abs(product)) + inner(scaled, scaled)
        allowance = self.matrix.rounding * size
        # Twice, because the objective at the point has been rounded as well.
        dual = min(primal - gap, direct) - 2.0 * allowance - 8.0 * EPS * abs(primal)
        if not dual > 0.0:
            return self._trivial(primal, r)
        return Bound(primal, dual, primal - dual, r)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        residual = proof.residual
        if isinstance(self.matrix.kernel, LinearKernel):
            return self._charged_as_linear(theta, residual, level)
        found = self.enclosed_at(theta, level)
        if found is None:
            return self.unknown(residual)
        at, square, error = found
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            half, losses = 0.5 * (square + error), self.loss_above(at)
            primal = max(half, 0.0) * (1.0 + 8.0 * UNIT) + losses
            near = 0.5 * square + self.loss_value(at.middle)
        if not self.convex:
            # Without a scalar product nothing bounds the objective from below, and it can be
            # negative: what is rounded is charged to sizes.
            primal = half + losses + 16.0 * UNIT * (abs(half) + losses)
            return Bound(primal, -np.inf, np.inf, residual, charge=primal - near)
        if residual is None:
            return _charged((near, 0.0), primal, 0.0, None)
        point = self.dual_point(residual)
        r = point.residual
        if not np.array_equal(-r, self.weights_of(theta)):
            other = self.enclosed(-r, level)
            if other is None:
                return _charged((near, 0.0), primal, 0.0, r)
            _, square, error = other
        length = math.sqrt(max(square + error, 0.0)) * (1.0 + 8.0 * UNIT)
        length += point.share * self.lengths_above(r) if point.share > 0.0 else 0.0
        if point.spread > 0.0:
            length += point.spread * self.lengths_above(self.upper)
        dual = -(0.5 * length * length * (1.0 + 8.0 * UNIT) + point.conjugate_above)
        middles = near, -0.5 * square - point.conjugate
        return _charged(middles, primal, dual, r)

    def doubled_scores(self, theta: np.ndarray) -> np.ndarray | None:
        if isinstance(self.matrix.kernel, LinearKernel):
            return self.enclosed_as_linear(theta, Level.DOUBLED)[2].middle
        found = self.enclosed_at(theta, Level.DOUBLED)
        return None if found is None else found[0].middle

    def reach_of(self, theta: np.ndarray) -> np.ndarray:
        # Coefficients are multipliers, too.
        return self.upper * self.loss.dual_upper

    def quadratic(self) -> QuadraticDual:
        box = box_of(self.y, self.upper * self.loss.dual_upper)
        linear = dual_slope_of(self.loss) * self.y
        dual = QuadraticDual(self.matrix, *box, linear)
        return dual if self.balances else dual.without_sum()

    def _linear(self, points: Design) -> PointwiseObjective:
        """The objective on the points themselves, whose scalar products the kernel has."""
        return MarginObjective(points, self.y, self.loss, fit_intercept=self.fit_intercept)

    def _charged_as_linear(
        self, theta: np.ndarray, residual: np.ndarray | None, level: Level
    ) -> Bound:
        points, w, at = self.enclosed_as_linear(theta, level, self.predicting)
        linear = self._linear(points)
        linear.upper = self.upper
        length = length_above(w.middle) + w.length
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            primal = 0.5 * length * length * (1.0 + 8.0 * UNIT) + linear.loss_above(at)
            near = 0.5 * inner(w.middle, w.middle) + linear.loss_value(at.middle)
        if residual is None:
            return _charged((near, 0.0), primal, 0.0, None)
        middle, dual, r = linear.dual_below(residual, level)
        return _charged((near, middle), primal, dual, r)


class KernelResidualObjective(KernelObjective, ResidualObjective):
    r"""A loss of the residual in the kernel's space, with the squared norm as the penalty.

    .. math:: P(c, b) = \tfrac12 c^\top K c + \sum_i U_i\, \ell(t_i - (Kc)_i - b)

    For the insensitive loss the dual is, with :math:`c = \alpha - \alpha^*`, a quadratic problem in
    twice as many multipliers, each of one sign (Vapnik, 1995; Smola and Schölkopf, 2004).

    Parameters
    ----------
    gram : Gram or PartialGram
        The matrix, which takes the place of the design.
    targets : ndarray of shape (n_samples,)
    loss : Loss
        A loss that is ``of_residual``.
    C, weights, fit_intercept
        See :class:`separatrix.objectives.base.Objective`.
    """

    def quadratic(self) -> QuadraticDual:
        zero, upper = np.zeros_like(self.upper), self.upper * self.loss.dual_upper
        edge = float(self.loss.conjugate(np.ones(1))[0])
        dual = QuadraticDual(
            DoubledGram(self.matrix),
            low=np.concatenate([zero, -upper]),
            high=np.concatenate([upper, zero]),
            linear=np.concatenate([edge - self.targets, -edge - self.targets]),
        )
        return dual if self.balances else dual.without_sum()

    def _linear(self, points: Design) -> ResidualObjective:
        return ResidualObjective(points, self.targets, self.loss, fit_intercept=self.fit_intercept)


class LiftedObjective(MarginObjective):
    """A linear machine on lifted points: a kernel machine whose kernel is approximated.

    Parameters
    ----------
    design : Design
        The lifted points.
    y, loss, C, weights, fit_intercept
        See :class:`separatrix.objectives.margin.MarginObjective`.
    kernel : Kernel
        The kernel that the lift approximates.
    samples : ndarray of shape (n_samples,)
        The rows of the data that these points are.
    """

    def __init__(self, design: Any, y: np.ndarray, loss: Loss, **options: Any) -> None:
        self.kernel: Kernel = options.pop("kernel")
        self.samples: np.ndarray = options.pop("samples")
        super().__init__(design, y, loss, **options)

    def formula(self) -> Formula:
        return _kernelised(super().formula(), self.kernel, "about")

    def square(self, theta: np.ndarray, scores: np.ndarray) -> float:
        """``|w|^2``."""
        return inner(self.weights_of(theta), self.weights_of(theta))

    def multipliers_of(self, theta: np.ndarray, residual: np.ndarray | None) -> np.ndarray:
        """``alpha`` of a dual point, or where there is none the slopes of the loss."""
        r = self.residual(self.linear(theta)) if residual is None else residual
        return np.abs(r)

    def exact_value(self, lift: Any, data: Design, theta: np.ndarray) -> float:
        """The true kernel's objective at a function on the landmarks of a lift.

        Such a function is ``sum_j beta_j k(l_j, x)``, an element of the true kernel's space.
        """
        landmarks = as_design(lift.landmark_points_)
        beta = lift.coefficients(self.weights_of(theta))[:, None]
        rows = data if len(self.samples) == data.n_samples else data.take(self.samples)
        scores = kernel_scores(self.kernel, rows, landmarks, beta)[:, 0]
        square = inner(beta, kernel_scores(self.kernel, landmarks, landmarks, beta))
        return 0.5 * square + self.loss_value(scores + self.intercept_of(theta))

    def exact_bound(self, lift: Any, data: Design, residual: np.ndarray | None) -> float:
        """A lower bound of the true kernel's problem, from a dual point of the approximate one.

        The multipliers are feasible for both.  With many rows and multipliers the true
        ``|sum_i c_i phi(x_i)|^2`` is not computed but bounded: what the landmarks leave unexplained
        of the points is orthogonal to what they explain, and as a combination no longer than the
        sum of its parts.
        """
        if residual is None:
            return 0.0
        r = self.balanced(residual)
        used = np.flatnonzero(r)
        if len(used) == 0:
            return 0.0
        points = data.take(self.samples[used])
        c = -r[used]
        if float(len(used)) ** 2 * data.n_features <= tuned.now.affordable:
            square = inner(c, kernel_scores(self.kernel, points, points, c[:, None])[:, 0])
        else:
            rest = np.sqrt(lift.unexplained(points.matrix))
            explained = self.design.t_dot(r)
            square = inner(explained, explained) + inner(np.abs(c), rest) ** 2
        return max(-0.5 * square - self.conjugate_value(r), 0.0)


class KernelHardMarginObjective(_InKernelSpace, HardMarginObjective):
    r"""The hyperplane of the largest margin in the kernel's space.

    The bounds are those of :class:`separatrix.objectives.hard_margin.HardMarginObjective`, with
    :math:`\|w\|^2 = c^\top K c`.

    Parameters
    ----------
    gram : Gram or PartialGram
        Takes the place of the design.
    y, weights, fit_intercept
        See there.
    """

    def __init__(self, gram: Any, y: np.ndarray, **options: Any) -> None:
        super().__init__(gram, y, **options)
        self.matrix = gram
        self.upper = np.where(self.upper > 0.0, np.inf, 0.0)

    def formula(self) -> Formula:
        return _kernelised(super().formula(), self.matrix.kernel)

    def quadratic(self) -> QuadraticDual:
        dual = QuadraticDual(self.matrix, *box_of(self.y, self.upper), linear=-self.y)
        return dual if self.balances else dual.without_sum()

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        margin = self.margin(scores)
        if not margin > 0.0:
            return float("inf")
        # Scaled before it is squared: margins of 1e-200 have no square.
        length = np.sqrt(np.float64(max(self.square(theta, scores), 0.0))) / margin
        return float(0.5 * length * length)

    def _rounding(self, c: np.ndarray) -> float:
        """A bound on the rounding of a product with the matrix."""
        return self.matrix.rounding * self.matrix.largest * float(np.abs(c).sum())

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        alpha = np.abs(residual)
        square = inner(-residual, self.matrix.dot(-residual))
        return alpha * (float(alpha.sum()) / square) if square > 0.0 else alpha

    # The status where the classes meet.
    met = "not_separable"

    def vanishes(self, c: np.ndarray, product: np.ndarray) -> bool:
        """Whether a convex combination of one class meets one of the other, to rounding.

        ``product`` is ``K c``.  Such classes have no margin that float64 distinguishes from zero.
        """
        size = float(np.abs(c).sum())
        if size == 0.0:
            return False
        unit = c / size
        return inner(unit, product / size) <= 4.0 * self._rounding(unit)

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        scores = self.linear(theta) if scores is None else scores
        primal = self.value(theta, scores)
        r = -self.weights_of(theta) if residual is None else residual
        r = self.balanced(r)
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, r)
        dual = 0.0
        total = float(np.abs(r).sum())
        if total > 0.0:
            # A dual point is judged up to its scale.
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                unit = r / total
                square = max(inner(-unit, self.matrix.dot(-unit)), 0.0) + self._rounding(unit)
            # A combination that vanishes allows for no surface at all.
            dual = 0.5 / square if square > 0.0 else np.inf
        if not np.isfinite(primal):
            return Bound(primal, dual, float("inf"), r)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            slack = 2.0 * self._rounding(self.weights_of(theta)) / self.margin(scores)
        dual -= (slack + 8.0 * EPS) * primal
        if not dual > 0.0:
            return Bound(primal, 0.0, primal, None)
        return Bound(primal, dual, max(primal - dual, 0.0), r)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        residual = proof.residual
        if isinstance(self.matrix.kernel, LinearKernel):
            points, w, at = self.enclosed_as_linear(theta, level, self.predicting)
            linear = HardMarginObjective(points, self.y, fit_intercept=self.fit_intercept)
            linear.upper = np.where(self.upper > 0.0, 1.0, 0.0)
            near, primal = linear.primal_above(length_above(w.middle), at, w.length)
            middle, dual, r = linear.dual_below(residual, level)
            return _charged((near, middle), primal, dual, r)
        found = self.enclosed_at(theta, level)
        if found is None:
            return self.unknown(residual)
        at, square, error = found
        length = math.sqrt(max(square, 0.0))
        more = math.sqrt(max(square + error, 0.0)) - length + 4.0 * UNIT * length
        near, primal = self.primal_above(length, at, more)
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, residual, charge=primal - near)
        if residual is None:
            return _charged((near, 0.0), primal, 0.0, None)
        alpha, share, _ = self.feasible(residual)
        if not share <= 0.5:
            return _charged((near, 0.0), primal, 0.0, residual)
        r = -self.y * alpha
        if not np.array_equal(-r, self.weights_of(theta)):
            other = self.enclosed(-r, level)
            if other is None:
                return _charged((near, 0.0), primal, 0.0, r)
            _, square, error = other
        length = math.sqrt(max(square + error, 0.0)) * (1.0 + 8.0 * UNIT)
        length += share * self.lengths_above(r) if share > 0.0 else 0.0
        middle, dual = self.ratio_below(alpha, share, length, math.sqrt(max(square, 0.0)))
        return _charged((near, middle), primal, dual, r)
