"""A loss with a kink, minimised by way of smooth ones that come ever closer to it.

Each stage minimises the objective with the loss's Moreau envelope in its place, by the method for
smooth losses, from where the stage before ended; then the envelope is narrowed.  The slopes of an
envelope are slopes of the loss itself at a point nearby, so that each stage has a dual point of the
problem as it stands, and the certificate is about that one.

References
----------
Nesterov (2005), Smooth minimization of non-smooth functions.  Beck and Teboulle (2012), Smoothing
and first order methods: a unified framework.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.losses.smoothed import Smoothed
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.driver import minimise, within
from separatrix.solvers.protocol import Candidate, Solver

# The first width in mean losses, so that most rows are on the parabola; the factor of it in each
# stage; and the last width.
_FIRST, _NARROWER, _LEAST = 2.0, 0.15, 1e-13
# A stage ends at this share of the most that its envelope leaves out.
_SHARE = 0.05
# The largest number of steps of a stage, and of stages in succession that may fail.
_STEPS, _TRIES = 300, 8


@dataclass(frozen=True)
class SmoothingState:
    """The state at the end of the last stage.

    ``width`` is that of the next stage, ``good`` that of the last one that came to its end, and
    ``failed`` the number of stages since that one.
    """

    theta: np.ndarray
    residual: np.ndarray | None
    width: float
    good: float = np.inf
    failed: int = 0
    n_iter: int = 0


class Smoothing(Solver):
    """Stages of a method for smooth losses.  Needs a loss with envelopes.

    Parameters
    ----------
    choose : callable
        A function that gives the method for a problem.
    """

    def __init__(self, choose: Callable[[Any], Solver]) -> None:
        self._choose = choose

    def requires(self, problem: PointwiseObjective) -> None:
        if not (isinstance(problem, PointwiseObjective) and problem.loss.smoothable):
            raise TypeError("Smoothing needs a loss with 'smoothable'.")

    def init(
        self,
        problem: PointwiseObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> SmoothingState:
        theta = np.array(theta, dtype=np.float64)
        mean = problem.loss_value(problem.linear(theta)) / max(float(problem.upper.sum()), 1e-300)
        return SmoothingState(theta, residual, _FIRST * max(mean, 1e-300))

    def step(
        self,
        problem: PointwiseObjective,
        state: SmoothingState,
        check_interrupt: Callable[[], None],
    ) -> SmoothingState:
        check_interrupt()
        smooth = copy(problem)
        smooth.loss = Smoothed(problem.loss, state.width)
        left_out = 0.5 * state.width * float(problem.upper.sum())
        value = max(problem.value(state.theta), 1e-300)
        with within(check_interrupt):
            found = minimise(
                smooth,
                self._choose(smooth),
                theta=state.theta,
                tol=float(np.clip(_SHARE * left_out / value, 1e-14, 1e-2)),
                max_iter=_STEPS,
            )
        check_interrupt()
        n_iter = state.n_iter + max(1, found.certificate.n_iter)
        if not found.certificate.ok:
            # The envelope is so narrow that no row is left on the parabola, and nothing has
            # curvature.
            wide = state.width * 4.0 if state.good == np.inf else np.sqrt(state.good * state.width)
            better = problem.value(found.theta) < problem.value(state.theta)
            return replace(
                state,
                theta=found.theta if better else state.theta,
                width=float(wide),
                failed=state.failed + 1,
                n_iter=n_iter,
            )
        # The residual is clipped to the range of its multipliers, which rounding may have left.
        residual = None if found.residual is None else problem.clipped(found.residual)
        width = state.width * (_NARROWER if state.failed == 0 else np.sqrt(_NARROWER))
        return SmoothingState(found.theta, residual, float(width), state.width, 0, n_iter)

    def candidate(self, problem: PointwiseObjective, state: SmoothingState) -> Candidate:
        return Candidate(state.theta, state.residual)

    def iterations(self, state: SmoothingState, before: int) -> int:
        return state.n_iter

    def should_check(self, problem: PointwiseObjective, state: SmoothingState, tol: float) -> bool:
        return state.failed == 0 and state.n_iter > 0

    def stopped(self, problem: PointwiseObjective, state: SmoothingState) -> str | None:
        stuck = state.failed > _TRIES or state.width < _LEAST
        return "precision_limit" if stuck else None
