r"""The objectives of a loss of the residual, for one number a row.

For the residual :math:`t_i - s_i` the sign is -1 and the centre is the target, see
:mod:`separatrix.objectives.pointwise`.

With a scale :math:`\sigma \ge \sigma_0` to be found as well, of the loss
:math:`\ell_\sigma(z) = \sigma\,\ell(z/\sigma)`, the objective is

.. math:: P(w, b) = \Omega(w) + \min_{\sigma \ge \sigma_0} \sum_i U_i
    \Big[\frac\sigma2 + \sigma\,\ell\Big(\frac{t_i - s_i}\sigma\Big)\Big] ,

convex, as a minimum over one variable of a function that is convex in all (a perspective).  The
term in brackets has the conjugate :math:`\sigma\,(\ell^*(u) - \tfrac12)`, linear in
:math:`\sigma`, so that the dual gains one constraint and nothing else:

.. math:: D(r) = -\Omega^*(-X^\top r) - \sum_i r_i t_i
    + \sigma_0 \Big[\sum_i U_i \big(\tfrac12 - \ell^*(-r_i/U_i)\big)\Big]
    \quad\text{where}\quad \sum_i U_i\,\ell^*(-r_i/U_i) \le \tfrac12 \sum_i U_i .

Any point of the dual obeys it after a multiplication by a number below one.

References
----------
Huber (1981), Robust Statistics, 7.8.  Owen (2007), A robust hybrid of lasso and ridge regression.
Boyd and Vandenberghe (2004), Convex Optimization, 3.2.6.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix._compiled.row_access import read_only
from separatrix.data.design import Design
from separatrix.losses import Huber
from separatrix.objectives.base import DualPoint
from separatrix.objectives.enclosure import Enclosure, total, total_above
from separatrix.objectives.formula import Formula
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.pointwise import PointwiseObjective, sum_by_cells

# The least scale, relative to the largest target: what rounding leaves of an exact fit is small
# beside it.
_LEAST_SCALE = 4096.0 * UNIT
# The least scale at all, which is large enough to be divided by.
_TINY_SCALE = 2.0**-900
# The exponent of a float from which on products of its square with weights may be out of range.
_FAR = 400
# The share of the curvature along the residuals themselves that a scale which follows them takes
# away: all of it but what keeps a Hessian positive definite through its rounding.
_SHARE = 1.0 - 1e-8


class ResidualObjective(PointwiseObjective):
    """A loss of the residual ``t - (w.x + b)``.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept, intercept_penalty
        See :class:`~separatrix.objectives.base.Objective`.
    targets : ndarray of shape (n_samples,)
    loss : ResidualLoss
    """


#: The terms that :class:`HeldScaleObjective` adds up beside the other sums, in this order.
HELD = (
    "squares",  # r^2 / U
    "cross",  # r kappa / U
    "cross_size",  # |r| kappa / U
    "near",  # U z^2 of the residuals that are squared
    "beyond",  # U of the others
)


class HeldScaleObjective(ResidualObjective):
    """Huber's loss with a scale that is held, and the sums by which the next one is found."""

    loss: Huber

    def _sums_beside(self, z: np.ndarray, r: np.ndarray, move: np.ndarray) -> tuple[float, ...]:
        upper = self.upper
        shares = np.divide(r, upper, out=np.zeros_like(r), where=upper > 0.0)
        near = np.abs(z) <= self.loss.threshold * self.loss.scale
        crosses = (0.0, 0.0)
        if len(move):
            crosses = sum_by_cells(shares * move), sum_by_cells(np.abs(shares) * move)
        return (
            sum_by_cells(r * shares),
            *crosses,
            sum_by_cells(upper * np.square(np.where(near, z, 0.0))),
            sum_by_cells(upper * ~near),
        )


def least_scale_of(largest: float) -> float:
    """The least scale beside targets whose largest is of this size."""
    # Numbers that are all zero have no unit: any scale is one, and the least is zero.
    return max(_LEAST_SCALE * (largest or 1.0), _TINY_SCALE)


class WithScale(Huber):
    """Huber's loss as text where its scale is a variable."""

    def written(self, product: str = "w.x", intercept: bool = True) -> str:
        residual = f"y - {product}{' - b' if intercept else ''}"
        return f"sigma (1/2 + H(({residual}) / sigma))"


class ScaledResidualObjective(ResidualObjective):
    """Huber's loss of the residual, with the scale that is best for the residuals at hand.

    Parameters
    ----------
    design, targets, penalty, C, weights, fit_intercept, intercept_penalty
        See :class:`ResidualObjective`.
    loss : Huber
        The loss, whose ``scale`` is ignored.

    Attributes
    ----------
    least_scale : float
        The least scale, in the unit of the targets.
    unitless : bool
        Whether all targets are zero, so that the least objective is zero, in the limit of a scale
        of zero.
    """

    loss: Huber
    # The rows share the scale.
    _rows_apart = False

    def __init__(
        self,
        design: Design,
        targets: np.ndarray,
        loss: Huber,
        penalty: Penalty | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, targets, loss, penalty, **options)
        # Rows without weight are as good as absent.
        largest = float(np.abs(targets[self.upper > 0.0]).max(initial=0.0))
        self.unitless = largest == 0.0
        self.least_scale = least_scale_of(largest)

    def formula(self) -> Formula:
        return replace(super().formula(), loss=WithScale(self.loss.threshold))

    @property
    def total_upper(self) -> float:
        """The sum of ``C`` times the weights of all rows."""
        return float(self.upper.sum())

    def held(self, scores: np.ndarray) -> ResidualObjective:
        """The objective with the scale held that is best at some scores."""
        part = ResidualObjective.__new__(ResidualObjective)
        loss = Huber(self.loss.threshold, self.scale_of(self.targets - scores))
        part.__dict__.update(vars(self), loss=loss)
        return part

    def with_least_scale(self, scale: float) -> ScaledResidualObjective:
        """The objective whose scale may be no less than this, nor than it may be here."""
        part = copy(self)
        part.least_scale = max(float(scale), self.least_scale)
        return part

    def spread(self) -> float:
        """The mean distance of the targets from their mean, in their unit."""
        targets, whole = self.targets, float(self.upper.sum()) or 1.0
        if self.fit_intercept:
            targets = targets - inner(self.upper, targets) / whole
        return inner(self.upper, np.abs(targets)) / whole

    def scale_at(self, scores: np.ndarray) -> float:
        """The best scale for the residuals of some scores."""
        return self.scale_of(self.targets - scores)

    def scale_of(self, shifted: np.ndarray) -> float:
        r"""The best scale for some residuals, whatever their signs.

        The root of :math:`\sum_{|z_i| \le \delta\sigma} U_i z_i^2 / \sigma^2
        + \delta^2 \sum_{|z_i| > \delta\sigma} U_i = \sum_i U_i`, whose left side falls.
        """
        sizes = np.abs(shifted)
        exponent = math.frexp(float(sizes.max(initial=0.0)))[1]
        if abs(exponent) > _FAR:
            # In a unit, a power of two, in which squares are in range.
            sizes = np.ldexp(sizes, -exponent)
        else:
            exponent = 0
        scale = _scale_of(sizes, read_only(self.upper), self.loss.threshold)
        return max(float(np.ldexp(scale, exponent)), self.least_scale)

    def loss_value(self, scores: np.ndarray) -> float:
        if self.unitless and not scores.any():
            return 0.0
        held = self.held(scores)
        return held.loss_value(scores) + 0.5 * held.loss.scale * float(self.upper.sum())

    def residual(self, scores: np.ndarray) -> np.ndarray:
        return self.held(scores).residual(scores)

    # --- curvature: that at a given scale, and less of it, for the scale follows ----------------

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        held = self.held(scores)
        curvature = held.curvature(scores)
        z = self.targets - scores
        along = curvature * z
        length = inner(along, z)
        if length > 0.0 and held.loss.scale > self.least_scale:
            along = along * (_SHARE / math.sqrt(length))
        else:
            along = np.zeros_like(along)
        return np.stack([curvature, along], axis=1)

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        own, along = np.ascontiguousarray(curvature.T)
        return own * direction - along * inner(along, direction)

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        own, along = np.ascontiguousarray(curvature.T)
        pulled = self.adjoint(along)
        out: np.ndarray = super().hessian(own) - np.outer(pulled, pulled)
        return out

    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        own, along = np.ascontiguousarray(curvature.T)
        return np.maximum(super().hessian_diagonal(own) - np.square(self.adjoint(along)), 0.0)

    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.held(scores).slack(residual, scores)

    # --- the constraint of the dual -------------------------------------------------------------

    def dual_scale(self, residual: np.ndarray) -> float:
        left = self._left(residual)
        whole = float(self.upper.sum())
        return 1.0 if left >= 0.0 else math.sqrt(0.5 * whole / (0.5 * whole - left))

    def _left(self, residual: np.ndarray) -> float:
        """The slack of the constraint of a dual point: not negative where it holds."""
        used = self.upper > 0.0
        upper, r = self.upper[used], residual[used]
        return 0.5 * (float(upper.sum()) - inner(r, r / upper))

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        held = self.held(scores)
        gap, _ = held.dual_terms(scores, residual)
        return gap + held.loss.scale * max(self._left(residual), 0.0), self.conjugate_value(
            residual
        )

    def conjugate_value(self, residual: np.ndarray) -> float:
        least = 0.0 if self.unitless else self.least_scale * max(self._left(residual), 0.0)
        return inner(residual, self.targets) - least

    def loss_above(self, scores: Enclosure) -> float:
        if self.unitless and not (np.any(scores.middle) or np.any(scores.radius)):
            return 0.0
        held = self.held(scores.middle)
        scale = 0.5 * held.loss.scale * total_above(self.upper)
        return (held.loss_above(scores) + scale) * (1.0 + 4.0 * UNIT)

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        scale = self.dual_scale(residual)
        if scale < 1.0 - 1e-12:
            residual = scale * residual
        point = self.point_in_argument(residual, moved)
        used = self.upper > 0.0
        upper = self.upper[used]
        with np.errstate(all="ignore"):
            # The true point is within these bounds, and nearer to zero still where it has to be.
            u = np.abs(point.residual[used]) / upper * (1.0 + point.share + 4.0 * UNIT)
            u += point.spread + (0.0 if moved is None else moved[used] / upper) + TINY
            squares = total_above(upper * np.square(u)) * (1.0 + 16.0 * UNIT)
            weight, error = total(upper)
            whole = (weight - error) * (1.0 - 4.0 * UNIT)
            excess = squares / whole if whole > 0.0 else math.inf
        if not excess < 2.0:
            return DualPoint(np.zeros_like(residual), 0.0, math.inf)
        nearer = 0.0
        if excess > 1.0:
            nearer = (1.0 - 1.0 / math.sqrt(excess)) * (1.0 + 1e-9) + 4.0 * UNIT
        bare = replace(point, conjugate=0.0, conjugate_above=0.0, share=point.share + nearer)
        found = self._paired(bare, moved)
        left = 0.5 * self.least_scale * max(whole - squares, 0.0) * (1.0 - 16.0 * UNIT)
        left = 0.0 if self.unitless else left
        return replace(found, conjugate_above=found.conjugate_above - left)


@njit(nogil=True, cache=True, error_model="numpy")
def _scale_of(sizes: np.ndarray, upper: np.ndarray, threshold: float) -> float:
    """Return the root in ``scale`` of :meth:`ScaledResidualObjective.scale_of`; zero for none.

    The left side is concave in ``1 / scale^2``, and linear between the sizes of the residuals, so
    that Newton's steps from the largest scale descend to the root and end at it.
    """
    n = len(sizes)
    whole = 0.0
    for i in range(n):
        whole += upper[i]
    scale, before = np.inf, -1
    for _ in range(n + 1):
        squares, beyond, inside = 0.0, 0.0, 0
        for i in range(n):
            if sizes[i] <= threshold * scale:
                squares += upper[i] * sizes[i] * sizes[i]
                inside += 1
            else:
                beyond += upper[i]
        if inside == before:
            break
        before, rest = inside, whole - threshold * threshold * beyond
        scale = math.sqrt(squares / rest) if rest > 0.0 else 0.0
    return scale
