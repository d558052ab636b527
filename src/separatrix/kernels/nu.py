r"""Kernel machines whose parameter is a share :math:`\nu` of the rows.

Their duals have the sums of the multipliers fixed besides.  For classes, and for one alone,

.. math:: \min_\alpha \tfrac12 \Big\|\sum_i \alpha_i y_i \varphi(x_i)\Big\|^2
    \quad\text{subject to}\quad 0 \le \alpha_i \le s_i, \
    \sum_{i \in G} \alpha_i = m_G

where :math:`G` are the classes and :math:`m_G = \tfrac\nu2 \sum_i s_i`, or all rows of the one
class and :math:`m_G = \nu \sum_i s_i`.  Any point :math:`c_i = \alpha_i y_i` with the scores
:math:`f = Kc` bounds it from below, by the tangent there and any thresholds :math:`\rho_G`:

.. math:: -\tfrac12 c^\top K c + \sum_G \Big[\rho_G m_G
    - \sum_{i \in G} s_i \max(0, \rho_G - y_i f_i)\Big] ,

which is minus the primal objective of Schölkopf, Smola, Williamson and Bartlett (2000), and of
Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001) for one class, whose best thresholds are
quantiles of the scores.  Regression has the primal objective, with :math:`M = \nu \sum_i U_i`,

.. math:: \tfrac12 \|w\|^2 + \min_{\epsilon \ge 0} \Big[M \epsilon
    + \sum_i U_i \max(0, |t_i - s_i| - \epsilon)\Big] ,

and the dual of least absolute deviations under :math:`\sum_i |c_i| \le M`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import UNIT
from separatrix.kernels.functions import LinearKernel
from separatrix.kernels.objective import (
    KernelResidualObjective,
    QuadraticDual,
    _defined,
    _InKernelSpace,
    box_of,
)
from separatrix.losses import EpsilonInsensitive
from separatrix.objectives.base import Bound, LinearProblem
from separatrix.objectives.base import charged_bound as _charged
from separatrix.objectives.enclosure import Enclosure, Level, length_above, total, total_above
from separatrix.objectives.formula import Formula

# The share by which rounding may enlarge a sum of multipliers, and what is left for more.
_ROUNDED, _SPARE = 1e-9, 1e-14
# Sums of weights closer than this, relative to their size, are the same.
_EVEN = 1e-12
# Squared distances of hulls that meet, relative to the longest point.
MEETING = 1e-13


def quantile_below(values: np.ndarray, weights: np.ndarray, mass: float) -> float:
    """The value at which the weights of all that are smaller come to a mass.

    It maximises ``mass * r - sum_i weights_i max(0, r - values_i)`` over ``r``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.kernels.nu import quantile_below
    >>> quantile_below(np.array([3.0, 1.0, 2.0]), np.ones(3), 1.5)
    2.0
    """
    used = np.flatnonzero(weights > 0.0)
    order = used[np.argsort(values[used], kind="stable")]
    reached = np.cumsum(weights[order])
    # A mass that the weights come to exactly is one that they do.
    place = min(int(np.searchsorted(reached, mass * (1.0 - _EVEN))), len(order) - 1)
    value = float(values[order[place]])
    if place + 1 < len(order) and abs(reached[place] - mass) <= _EVEN * mass:
        # Any between this one and the next is as good.
        value = 0.5 * (value + float(values[order[place + 1]]))
    return value


def _filled(upper: np.ndarray, mass: float) -> np.ndarray:
    """The first rows at their upper ends, up to a total mass."""
    before = np.cumsum(upper) - upper
    out: np.ndarray = np.clip(mass - before, 0.0, upper)
    return out


class KernelNuObjective(_InKernelSpace, LinearProblem):
    r"""The shortest difference of two points, one of each class's reduced convex hull.

    Its objective is the dual of the textbook, and its lower bound the primal: the objective is
    then never negative.  A point is the coefficients :math:`c = \alpha y` and an intercept.  The
    sums :math:`m_G` are those that the coefficients have, which are as near to the required sums
    as float64 holds them; coefficients that miss the sums or the bounds by more than rounding are
    infinitely bad.  The dual has no intercept: one that is not the best for its coefficients adds
    what it costs in the primal.

    Parameters
    ----------
    gram : Gram or PartialGram
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0; for one class, all +1.0.
    nu : float
        The share of the rows that may be on the wrong side of their margin, and the least share of
        the support vectors.
    weights : ndarray of shape (n_samples,), optional

    Raises
    ------
    ValueError
        Where ``nu`` requires more than the rows of a class come to.
    """

    coupled = True
    loss: Any = None
    balances = True
    # The status where the hulls meet.
    met = "no_margin"

    def __init__(self, gram: Any, y: np.ndarray, nu: float, **options: Any) -> None:
        super().__init__(gram, **options)
        self.matrix = gram
        self.y = y
        self.nu = float(nu)
        sides = [side for side in (y > 0.0, y < 0.0) if side.any()]
        self.one_class = len(sides) == 1
        if self.one_class and isinstance(gram.kernel, LinearKernel):
            raise TypeError("The matrix of the linear kernel needs centred points.")
        mass = self.nu * float(self.upper.sum()) / len(sides)
        self.groups = [(side, mass) for side in sides]
        for side, mass in self.groups:
            if mass > float(self.upper[side].sum()) * (1.0 + 1e-12):
                most = 2.0 * min(float(self.upper[s].sum()) for s, _ in self.groups)
                raise ValueError(
                    f"specified nu is infeasible: nu={self.nu:g} needs more rows than the smaller "
                    f"class has; give at most {most / float(self.upper.sum()):.4g}."
                )

    def formula(self) -> str:
        signs = "" if self.one_class else "y_i "
        total = "nu sum_i s_i" if self.one_class else "nu/2 sum_i s_i over each class"
        text = (
            f"minimise 1/2 |sum_i a_i {signs}phi(x_i)|^2 subject to 0 <= a_i <= s_i, "
            f"sum_i a_i = {total}"
        )
        return text + _defined(self.matrix.kernel)

    def quadratic(self) -> QuadraticDual:
        start = np.zeros(len(self.y))
        for side, mass in self.groups:
            start[side] = _filled(self.upper[side], mass)
        return QuadraticDual(
            self.matrix,
            *box_of(self.y, self.upper),
            linear=np.zeros(len(self.y)),
            groups=tuple((side, float(self.y[side][0]) * mass) for side, mass in self.groups),
            start=start * self.y,
        )

    def zero(self) -> np.ndarray:
        start = self.quadratic().start
        assert start is not None
        return self.join(start, 0.0)

    def thresholds(self, product: np.ndarray) -> list[float]:
        """The best threshold of each class for the scores without an intercept."""
        return [
            quantile_below((self.y * product)[side], self.upper[side], mass)
            for side, mass in self.groups
        ]

    def thresholds_at(self, product: np.ndarray, level: float) -> list[float]:
        """The thresholds of an intercept, with the best width beside it."""
        if self.one_class:
            return [-level]
        mass = sum(mass for _, mass in self.groups)
        width = quantile_below(self.y * (product + level), self.upper, mass)
        return [width - float(self.y[side][0]) * level for side, _ in self.groups]

    def admits(self, c: np.ndarray) -> bool:
        """Whether coefficients keep the bounds and the sums, up to rounding."""
        a, spare = self.y * c, _ROUNDED * self.upper
        if np.any(a < -spare) or np.any(a > self.upper + spare):
            return False
        sums = [(float(a[side].sum()), mass) for side, mass in self.groups]
        return all(abs(reached - mass) <= _ROUNDED * mass for reached, mass in sums)

    def level_and_width(self, product: np.ndarray) -> tuple[float, float]:
        """The intercept, and half the width of the margin, by the thresholds."""
        found = self.thresholds(product)
        if self.one_class:
            return -found[0], 1.0
        return 0.5 * (found[1] - found[0]), 0.5 * (found[0] + found[1])

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        return 0.5 * self.square(theta, scores)

    def vanishes(self, c: np.ndarray, product: np.ndarray) -> bool:
        """Whether the hulls meet, so that the best weights are zero, to seven digits or so."""
        size = float(np.abs(c).sum())
        if size == 0.0:
            return False
        return inner(c / size, product / size) <= MEETING * self.matrix.largest

    def survey(self, c: np.ndarray, product: np.ndarray) -> tuple[float, float]:
        """About the relative gap at coefficients with the scores ``K c``, and the intercept."""
        square = inner(c, product)
        below = -0.5 * square
        for (side, mass), at in zip(self.groups, self.thresholds(product), strict=True):
            short = np.maximum(0.0, at - (self.y * product)[side])
            below += at * mass - inner(self.upper[side], short)
        primal = 0.5 * square
        gap = max(primal - below, 0.0)
        return (gap / primal if primal > 0.0 else (0.0 if gap <= 0.0 else np.inf)), float(
            self.level_and_width(product)[0]
        )

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        scores = self.linear(theta) if scores is None else scores
        c, level = self.weights_of(theta), float(self.intercept_of(theta))
        if not self.admits(c):
            return Bound(np.inf, -np.inf, np.inf, None)
        product = scores - level
        square = inner(c, product)
        if not self.convex:
            return Bound(0.5 * square, -np.inf, np.inf, -c)
        radius = np.full(len(c), self.matrix.rounding * self.matrix.largest * np.abs(c).sum())
        enclosed = Enclosure(product, radius, np.inf)
        primal = 0.5 * square + self._cost(c, enclosed, level)
        dual = max(self._below(c, enclosed, square, 0.0, self.thresholds(product))[1], 0.0)
        return Bound(primal, dual, max(primal - dual, 0.0), -c)

    def _cost(self, c: np.ndarray, product: Enclosure, level: float) -> float:
        """The cost that an intercept adds to the primal of the textbook, and rounding with it."""
        best = self._below(c, product, 0.0, 0.0, self.thresholds(product.middle))
        own = self._below(c, product, 0.0, 0.0, self.thresholds_at(product.middle, level))
        return max(best[0] - own[1], 0.0)

    def _below(
        self,
        c: np.ndarray,
        product: Enclosure,
        square: float,
        error: float,
        found: Sequence[float],
    ) -> tuple[float, float]:
        """The lower bound by thresholds of the scores, about and certainly."""
        near = below = -0.5 * square
        below -= 0.5 * error + 8.0 * UNIT * abs(square)
        for (side, _), at in zip(self.groups, found, strict=True):
            z, radius = (self.y * product.middle)[side], product.radius[side]
            upper = np.maximum(self.upper[side], np.abs(c[side]))
            mass, off = total(np.abs(c[side]))
            short = np.maximum(0.0, at - z)
            near += at * mass - inner(upper, short)
            # Rounding of the difference, and of the product of weight and shortfall.
            more = np.maximum(0.0, (at - z) + radius + 2.0 * UNIT * (abs(at) + np.abs(z)))
            below += at * mass - abs(at) * (off + 4.0 * UNIT * mass)
            below -= total_above(upper * more) * (1.0 + 8.0 * UNIT)
            below -= 4.0 * UNIT * abs(below)
        return near, below if not math.isnan(below) else 0.0

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        c = self.weights_of(theta)
        if not self.admits(c):
            return self.unknown(None)
        b = float(self.intercept_of(theta))
        found = self._enclosed(c, b, level, self.predicting)
        if found is None:
            return self.unknown(proof.residual)
        product, b, square, error = found
        primal = 0.5 * max(square + error, 0.0) * (1.0 + 8.0 * UNIT)
        near = 0.5 * square
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, -c, charge=primal - near)
        cost = self._cost(c, product, b)
        near, primal = near + cost, (primal + cost) * (1.0 + UNIT)
        residual = proof.residual
        if residual is not None and not np.array_equal(-residual, c):
            other = self._enclosed(-residual, b, level) if self.admits(-residual) else None
            if other is None:
                return _charged((near, 0.0), primal, 0.0, residual)
            c, (product, _, square, error) = -residual, other
        at = self.thresholds(product.middle)
        middle, below = self._below(c, product, square, error, at)
        return _charged((near, max(middle, 0.0)), primal, max(below, 0.0), -c)

    def _enclosed(
        self, c: np.ndarray, b: float, level: Level, predicting: np.ndarray | None = None
    ) -> tuple[Enclosure, float, float, float] | None:
        """The scores, what is to be added to them as the intercept, and ``|w|^2`` with its error.

        A machine with the linear kernel predicts by weights of the columns: its scores are theirs,
        with the intercept in them, which moves the thresholds of the classes and nothing else.
        """
        if isinstance(self.matrix.kernel, LinearKernel):
            _, w, at = self.enclosed_as_linear(self.join(c, b), level, predicting)
            square = inner(w.middle, w.middle)
            length = length_above(w.middle) + w.length
            return at, 0.0, square, max(length * length * (1.0 + 8.0 * UNIT) - square, 0.0)
        found = self.enclosed(c, level)
        return None if found is None else (found[0], b, *found[1:])

    def levels(self) -> tuple[Level, ...]:
        # Norms of points that are not centred show less than their scalar products do.
        linear = isinstance(self.matrix.kernel, LinearKernel)
        return (Level.DOUBLED,) if linear else (Level.NORMS, Level.DOUBLED)


class KernelNuResidualObjective(KernelResidualObjective):
    r"""Regression whose tube is as wide as leaves a share :math:`\nu` of the rows outside.

    Parameters
    ----------
    gram : Gram or PartialGram
    targets : ndarray of shape (n_samples,)
    nu : float
    C, weights
        See :class:`separatrix.objectives.base.Objective`.
    """

    loss: EpsilonInsensitive

    def __init__(self, gram: Any, targets: np.ndarray, nu: float, **options: Any) -> None:
        # The loss of the dual has no width.
        super().__init__(gram, targets, EpsilonInsensitive(0.0), **options)
        self.nu = float(nu)
        self.mass = self.nu * float(self.upper.sum())

    def formula(self) -> Formula:
        formula = super().formula()
        return replace(
            formula, remark=f"{formula.remark}, with the width epsilon at the price nu n"
        )

    def quadratic(self) -> QuadraticDual:
        dual = super().quadratic()
        n = len(self.targets)
        first = np.arange(2 * n) < n
        start = _filled(self.upper, 0.5 * self.mass)
        dual.groups = (first, 0.5 * self.mass), (~first, -0.5 * self.mass)
        dual.start = np.concatenate([start, -start])
        return dual

    def width_of(self, scores: np.ndarray) -> float:
        """The best width for some scores."""
        sizes = np.abs(self.targets - scores)
        return max(-quantile_below(-sizes, self.upper, self.mass), 0.0)

    def level_of(self, product: np.ndarray) -> float:
        """The best intercept beside the scores without one."""
        rest = self.targets - product
        high = -quantile_below(-rest, self.upper, 0.5 * self.mass)
        return 0.5 * (high + quantile_below(rest, self.upper, 0.5 * self.mass))

    def held(self, width: float) -> KernelResidualObjective:
        """The problem of a tube of some width."""
        part = KernelResidualObjective.__new__(KernelResidualObjective)
        part.__dict__.update(vars(self), loss=EpsilonInsensitive(width))
        return part

    def loss_value(self, scores: np.ndarray) -> float:
        width = self.width_of(scores)
        return self.held(width).loss_value(scores) + self.mass * width

    def survey(self, c: np.ndarray, product: np.ndarray) -> tuple[float, float]:
        """About the relative gap at coefficients with the scores ``K c``, and the intercept."""
        level, square = self.level_of(product), inner(c, product)
        primal = 0.5 * square + self.loss_value(product + level)
        gap = max(primal - (inner(c, self.targets) - 0.5 * square), 0.0)
        return (gap / primal if primal > 0.0 else (0.0 if gap <= 0.0 else np.inf)), level

    def _proof(self, r: np.ndarray) -> tuple[np.ndarray, float]:
        """A dual point, and the share by which its sum of sizes is more than is allowed.

        The objective with that much more of it is larger by no more than this share.
        """
        size = total_above(np.abs(r))
        if size > self.mass * (1.0 + _ROUNDED):
            r, size = r * (self.mass / size), self.mass
        # Balancing adds far less than this.
        return r, max(size / self.mass - 1.0, 0.0) + _SPARE

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        scores = self.linear(theta) if scores is None else scores
        primal = self.value(theta, scores)
        r, share = self._proof(-self.weights_of(theta) if residual is None else residual)
        found = self.held(0.0).bound(theta, r, scores)
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, found.residual)
        dual = found.dual * (1.0 - share)
        return Bound(primal, dual, max(primal - dual, 0.0), found.residual)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        width = self.width_of(self.linear(theta))
        above = self.held(width).charged(theta, level, Bound(0.0, 0.0, 0.0), None)
        primal = (above.primal + self.mass * width) * (1.0 + 8.0 * UNIT)
        if not self.convex:
            return Bound(primal, -np.inf, np.inf, proof.residual, charge=above.charge)
        if proof.residual is None:
            return Bound(primal, 0.0, primal, None, charge=above.charge)
        r, share = self._proof(proof.residual)
        below = self.held(0.0).charged(theta, level, Bound(0.0, 0.0, 0.0, r), None)
        dual = below.dual * (1.0 - share) * (1.0 - 8.0 * UNIT)
        charge = above.charge + below.charge
        return Bound(primal, dual, max(primal - dual, 0.0), below.residual, charge=charge)
