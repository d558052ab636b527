r"""Huber's loss over blocks of rows, with the scale that is best for the residuals at hand.

The objective and its dual are those of :mod:`~separatrix.objectives.residual`.  At a point the best
scale is the root of :math:`A/\sigma^2 + \delta^2 B = \sum U_i`, with the sum :math:`A` of the
squares of residuals up to :math:`\delta\sigma` and the weight :math:`B` of the others.  A pass
gives both at one scale, and the next scale is the root for these very residuals, which converges
quadratically: what changes sides adds to :math:`A` what it takes from :math:`\sigma^2\delta^2 B`.
At any scale the sums are those of a bound, so that the last digits of the scale cost a little of
the gap and nothing of the proof.

The conjugate at a scale that is held is :math:`\tfrac\sigma2 Q + \sum r_i t_i` with :math:`Q = \sum
r_i^2/U_i`; that of the objective is :math:`\sum r_i t_i`, at most, for slopes with :math:`Q \le
\sum U_i`, which a multiplication makes of any.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import UNIT
from separatrix.losses import Huber
from separatrix.objectives.base import Bound
from separatrix.objectives.enclosure import length_above
from separatrix.objectives.formula import Formula
from separatrix.objectives.residual import (
    HELD,
    HeldScaleObjective,
    ScaledResidualObjective,
    WithScale,
    least_scale_of,
)
from separatrix.objectives.row_sums import SUMS
from separatrix.scale.blocks import Rows
from separatrix.scale.objectives import At, BlockedPointwise, PointwiseRows

_SPARE = 1.0 + 1e-9
# The scale is found to this part of itself, in at most so many passes.
_EXACT, _PASSES = 1e-9, 30
# The factor by which a scale grows where too many rows are beyond it.
_GROWS = 8.0
# The share of the curvature along the residuals that a scale which follows them takes away.
_SHARE = 1.0 - 1e-8


@dataclass(frozen=True)
class _ScaledRows(PointwiseRows):
    """Huber's loss at a scale on the rows of a block."""

    def objective(self, rows: Rows, kind: Any = HeldScaleObjective) -> Any:
        return super().objective(rows, kind)


def _bent(rows: Rows, shared: tuple[_ScaledRows, np.ndarray], own: Any) -> dict[str, np.ndarray]:
    """The residuals' own direction in the Hessian, and its length."""
    of, theta = shared
    part = of.objective(rows)
    scores = part.linear(theta)
    z = part.targets - scores
    along = part.curvature(scores) * z
    return {"along": part.adjoint(along), "length": np.array(inner(along, z))}


class BlockedScaled(BlockedPointwise):
    """Huber's loss with the best scale, over blocks, under half the squared norm.

    Parameters
    ----------
    data, engine, loss, penalty, **options
        See :class:`~separatrix.scale.objectives.BlockedPointwise`.
    largest : float
        The largest size of a number of positive weight.
    """

    loss: Huber

    def __init__(self, *arguments: Any, largest: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.largest = largest
        self.least_scale = least_scale_of(largest)
        self._scale: float | None = None

    @property
    def unitless(self) -> bool:
        """Whether all targets are zero; see :class:`ScaledResidualObjective`."""
        return self.largest == 0.0

    def with_least_scale(self, scale: float) -> BlockedScaled:
        """The objective whose scale may be no less than this, nor than it may be here."""
        part = copy(self)
        part.least_scale = max(float(scale), self.least_scale)
        # The known sums of a point are those at its best scale.
        part._known = []
        return part

    def spread(self) -> float:
        """The mean distance of the targets from their mean, as the sample has it."""
        part: Any = self.some(0, np.random.default_rng(0))
        return self.largest if part is self else float(part.spread())

    def formula(self) -> Formula:
        return replace(super().formula(), loss=WithScale(self.loss.threshold))

    def _rows_at(self, scale: float) -> _ScaledRows:
        own = {**vars(self._shared()), "loss": Huber(self.loss.threshold, scale)}
        return _ScaledRows(**own)

    def _of_rows(self, rows: Rows) -> ScaledResidualObjective:
        out: ScaledResidualObjective = self._shared().objective(rows, ScaledResidualObjective)
        return out.with_least_scale(self.least_scale)

    def scale_at(self, scores: At) -> float:
        """The best scale for the residuals of some scores."""
        return float(self.account(scores.theta)["scale"])

    def residual(self, scores: At) -> Any:
        """The sums of a pass at some scores, which stand for the slopes there."""
        return self.account(scores.theta)

    def _first_scale(self, theta: np.ndarray) -> float:
        part: Any = self.some(0, np.random.default_rng(0))
        return 1.0 if part is self else float(part.scale_at(part.linear(theta)))

    def _account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        scale = self._first_scale(theta) if self._scale is None else self._scale
        root = max(scale, self.least_scale)
        square, whole = self.loss.threshold**2, self.total_upper
        for _ in range(_PASSES):
            scale = root
            found = self._row_sums(self._rows_at(scale), theta)
            sums = dict(zip((*SUMS, *HELD), found["sums"], strict=True))
            rest = whole - square * float(sums["beyond"])
            # Where more rows than the scale allows are beyond it, it has to grow.  Otherwise the
            # root is never below the best scale, however far the residuals are from this one.
            root = math.sqrt(float(sums["near"]) / rest) if rest > 0.0 else _GROWS * scale
            root = max(root, self.least_scale)
            # The slope in the logarithm of the scale, which is that part of the gap.
            pull = abs(rest - float(sums["near"]) / (scale * scale)) * scale
            near = abs(root - scale) <= _EXACT * scale
            if near or pull <= _EXACT * (float(sums["loss"]) + 0.5 * scale * whole):
                break
        self._scale = scale
        # Numbers that are all zero are fitted by nothing, in the limit of a scale of zero.
        vanishing = self.unitless and not theta.any()
        beside = 0.0 if vanishing else 0.5 * scale * float(sums["upper"])
        sums["loss"] = sums["loss"] + beside
        sums["loss_above"] = sums["loss_above"] + beside
        gradient = self.join(found["adjoint"], sums["slope"])
        return {**found, **sums, "gradient": gradient, "scale": np.array(scale)}

    # --- curvature: that at the scale, and less of it, for the scale follows ---------------------

    def look_twice(self, theta: np.ndarray, *, diagonal: bool = False) -> None:
        # The first passes for the scale are none at the best one.
        self.account(theta)

    def _sums_at(self, task: Any, theta: np.ndarray, *more: Any) -> dict[str, np.ndarray]:
        return self._sums(task, (self._rows_at(self.scale_at(At(theta))), theta, *more))

    def _along(self, theta: np.ndarray) -> np.ndarray:
        """The direction whose square is taken from the Hessian at the scale."""
        found = self._sums_at(_bent, theta)
        length = float(found["length"])
        free = length > 0.0 and self.scale_at(At(theta)) > self.least_scale
        along: np.ndarray = found["along"]
        return along * (_SHARE / math.sqrt(length)) if free else np.zeros_like(along)

    def hessian(self, curvature: At) -> np.ndarray:
        along = self._along(curvature.theta)
        return super().hessian(curvature) - np.outer(along, along)

    def hessian_diagonal(self, curvature: At) -> np.ndarray:
        along = self._along(curvature.theta)
        return np.maximum(super().hessian_diagonal(curvature) - np.square(along), 0.0)

    def hessian_product(self, curvature: At, direction: np.ndarray) -> np.ndarray:
        along = self._along(curvature.theta)
        return super().hessian_product(curvature, direction) - along * inner(along, direction)

    # --- the certificate ------------------------------------------------------------------------

    def bound(
        self,
        theta: np.ndarray,
        residual: Any = None,
        scores: Any = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        if not isinstance(residual, dict):
            return super().bound(theta)
        # Slopes at another scale, which is near the best one.
        proof: Any = residual
        self._scale = float(proof["scale"])
        here: Any = self.account(theta)
        primal = self.penalty_value(theta) + float(here["loss"])
        gap, dual = self._gap(theta, proof)
        return Bound(primal, dual, primal - dual if gap < np.inf else primal, proof, here)

    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = self._dual_point(account)
            if found is None:
                return math.inf, 0.0
            _, dual = self._dual_of(*found)
        return self.penalty_value(theta) + float(account["loss"]) - dual, dual

    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        # Nothing is computed of numbers that are all zero, and nothing rounded.
        if self.unitless and not theta.any():
            return 0.0
        return super()._primal_above(theta, here)

    def _dual_point(self, proof: dict[str, np.ndarray]) -> tuple[np.ndarray, float, float] | None:
        found = super()._dual_point(proof)
        if found is None:
            return None
        v, length, conjugate = found
        p = {name: float(proof[name]) for name in (*SUMS, *HELD, "scale")}
        rounding, _ = self.rounding(proof)
        epsilon, off = self._moved_by(p, rounding)
        most = abs(epsilon) + off
        bend = p["shift_cost"] / p["scale"]
        square = p["squares"] - 2.0 * epsilon * p["cross"] + epsilon * epsilon * bend
        sizes = p["squares"] + 2.0 * most * p["cross_size"] + most * most * bend
        wrong = (8.0 * rounding * sizes + 2.0 * off * (p["cross_size"] + most * bend)) * _SPARE
        weight = p["upper"] * (1.0 - rounding)
        # The squares' part of the conjugate at the scale is no part of this one.
        conjugate -= 0.5 * p["scale"] * max(square - wrong, 0.0)
        conjugate += 8.0 * UNIT * (abs(conjugate) + p["scale"] * (square + wrong))
        largest = square + wrong
        if not (weight > 0.0 and math.isfinite(largest + conjugate)):
            return None
        if largest > weight:
            share = math.sqrt(weight / largest) * (1.0 - 8.0 * UNIT)
            v, length = share * v, length + 2.0 * UNIT * length_above(v)
            conjugate *= share * (1.0 - 4.0 * UNIT) if conjugate < 0.0 else 1.0
        elif not self.unitless:
            # What the constraint leaves, times the least scale.
            conjugate -= 0.5 * self.least_scale * (weight - largest) * (1.0 - 16.0 * UNIT)
            conjugate += 4.0 * UNIT * abs(conjugate)
        return v, length, conjugate
