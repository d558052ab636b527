r"""Newton's method for objectives with a scale of their own, which may fall to nothing.

Where a plane fits enough of the rows exactly, the best scale of the residuals is the least one that
is allowed, of the size of rounding.  The loss is then one of absolute deviations in all but name,
and its curvature either infinite or zero: no method that uses curvature makes progress on it.
So the least scale starts at a share of the targets' spread and falls in stages, each of which is
minimised from where the stage before ended (Madsen and Nielsen, 1993: rows on the plane are soon
distinguished from the others, and from there on weights and slopes move along a line).  The slopes
of a stage obey the dual constraints of the objective as it stands, so that each stage has a dual
point of it, and the certificate is about that one.

Nothing changes with a scale that stays above the first stage's least one: the steps are those of
the method for smooth losses.

References
----------
Madsen and Nielsen (1993), A finite smoothing algorithm for linear l1 estimation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.objectives.residual import ScaledResidualObjective
from separatrix.solvers.newton import Newton
from separatrix.solvers.protocol import Candidate, Solver, require_parts

# The first least scale, as a share of the targets' spread; and the factor of it in each stage.
_FIRST, _LOWER = 1e-2, 0.1
# A stage ends at this share of the most that its least scale leaves out.
_SHARE = 0.05


@dataclass(frozen=True)
class ScaleState:
    """The state of the present stage.

    ``stage`` is its objective, ``method`` the method that minimises it and ``inner`` the state of
    that method; ``ended`` says whether the stage has come to its end, and ``turn`` is the point and
    the least scale that the stage before ended with.
    """

    stage: Any
    method: Any
    inner: Any
    ended: bool = False
    turn: tuple[np.ndarray, float] | None = None


class ScaleContinuation(Solver):
    """Stages of a method for smooth losses.  Needs an objective with a least scale.

    Parameters
    ----------
    first : Solver
        The method for as long as the scale stays above the least one.
    """

    def __init__(self, first: Solver) -> None:
        self.first = first

    def requires(self, problem: ScaledResidualObjective) -> None:
        require_parts("The continuation of the scale", (problem, "with_least_scale"))
        self.first.requires(problem)

    def init(
        self,
        problem: ScaledResidualObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> ScaleState:
        stage = problem.with_least_scale(_FIRST * problem.spread())
        start = (theta, rng) if residual is None else (theta, rng, residual)
        return ScaleState(stage, self.first, self.first.init(stage, *start))

    def step(
        self,
        problem: ScaledResidualObjective,
        state: ScaleState,
        check_interrupt: Callable[[], None],
    ) -> ScaleState:
        if state.ended:
            state = self._lowered(problem, state)
        stepped = state.method.step(state.stage, state.inner, check_interrupt)
        state = replace(state, inner=stepped)
        return replace(state, ended=self._is_at_its_end(problem, state))

    @staticmethod
    def _lowered(problem: ScaledResidualObjective, state: ScaleState) -> ScaleState:
        """The state at the beginning of the next stage."""
        theta, scale = state.inner.theta, state.stage.least_scale
        stage = problem.with_least_scale(_LOWER * scale)
        method = Newton()
        inner = method.at(stage, theta, state.inner.scores)
        if state.turn is not None:
            before, larger = state.turn
            step = (stage.least_scale - scale) / (scale - larger)
            along = method.at(stage, problem.canonical(theta + step * (theta - before)))
            inner = along if along.value < inner.value else inner
        return ScaleState(stage, method, inner, turn=(theta, scale))

    @staticmethod
    def _is_held(problem: ScaledResidualObjective, state: ScaleState) -> bool:
        """Whether the least scale of the stage keeps the scale from falling further."""
        least = state.stage.least_scale
        scores = state.inner.scores
        return bool(least > problem.least_scale and state.stage.scale_at(scores) <= least)

    def _is_at_its_end(self, problem: ScaledResidualObjective, state: ScaleState) -> bool:
        if not self._is_held(problem, state):
            return False
        left_out = 0.5 * state.stage.least_scale * problem.total_upper
        value = max(abs(state.inner.value), 1e-300)
        tol = float(np.clip(_SHARE * left_out / value, 1e-14, 1e-2))
        stage, method = state.stage, state.method
        stopped = method.stopped(stage, state.inner) is not None
        return bool(stopped or method.should_check(stage, state.inner, tol))

    def candidate(self, problem: ScaledResidualObjective, state: ScaleState) -> Candidate:
        if not self._is_held(problem, state):
            found: Candidate = state.method.candidate(state.stage, state.inner)
            return found
        scores = state.inner.scores
        return Candidate(state.inner.theta, state.stage.residual(scores), scores)

    def should_check(self, problem: ScaledResidualObjective, state: ScaleState, tol: float) -> bool:
        if self._is_held(problem, state):
            return state.ended
        return bool(state.method.should_check(state.stage, state.inner, tol))

    def stopped(self, problem: ScaledResidualObjective, state: ScaleState) -> str | None:
        if self._is_held(problem, state):
            return None
        status: str | None = state.method.stopped(state.stage, state.inner)
        return status
