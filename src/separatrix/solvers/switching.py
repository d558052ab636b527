"""Dual descent for as long as it promises to be the shorter way, and then another method.

Which of the two is the faster can differ a hundredfold either way, and neither sizes nor norms
predict it: where the margins settle soon, a few dozen passes do as much as one Hessian;
elsewhere it takes thousands of them.  The passes themselves show it: after a few, the rate at which
they close the gap predicts how many more there would be.  Where dual descent is behind the forecast
of the other method, that one goes on from the point and the multipliers that there are, and
never the other way round.  The passes have then cost a part of the forecast that is fixed
beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import forecast
from separatrix.solvers.dual_descent import DualDescent, DualDescentState
from separatrix.solvers.protocol import Candidate, Solver

# The passes from which the rate is meaningful: at least so many, and a part of the forecast of the
# other method, which costs little beside it; the larger part where dual descent was expected to be
# the shorter way.  Early rates mislead where rows settle late.
_TRY, _TRIAL, _EXPECTED = 5.0, 0.1, 0.25
# The smallest gap to which passes are counted, since rounding ends them there.
_FINEST = 1e-14
# Dual descent is left out, for a smooth loss, where this share of its forecast exceeds the forecast
# of the other method.
_SURE = 0.6
# The largest expected cost of all passes, as a multiple of the other method's forecast.  Passes
# seldom become better than the first ones promise: of 81 made problems in which dual descent was
# the slower one, the passes from the fifth to the tenth showed this in 70.
_DOUBT = 1.2
# Dual descent goes on in any case where its remaining passes are expected to cost at most this
# share of the other method's forecast.
_NEARLY = 0.1


@dataclass(frozen=True)
class SwitchingState:
    """The state of the method at work.

    ``work`` is the work of the passes so far, with extrapolations, in passes over all rows;
    ``marks`` are pairs of it and the logarithm of the gap at the time, ``looked`` the last of
    these, and ``costs`` the costs of a pass over no row, and of an extrapolation.
    """

    inner: Any
    handed_over: bool = False
    work: float = 0.0
    marks: tuple[tuple[float, float], ...] = ()
    looked: float = 0.0
    costs: tuple[float, float] = (0.0, 0.0)
    start: tuple[Any, ...] = ()
    # The point at the end of the first method.
    left: Candidate | None = None

    @property
    def theta(self) -> np.ndarray:
        """The point of the method at work; dual descent, which states no objective, has none."""
        found: np.ndarray = self.inner.theta
        return found


class Switching(Solver):
    """Dual descent, and a second method where it is slow.  Needs what both of them need.

    Parameters
    ----------
    second : Solver
        The method that takes over.
    cost : float
        The forecast of ``second``, in passes of dual descent over all rows.
    tol : float
        The relative gap at which the fit ends.
    calm : float, optional
        The forecast of ``second``, in such passes, where the rows with a curvature no longer
        change, which the multipliers of the passes show.
    """

    # The forecast of each method that was considered, in passes, for the trace.
    forecast: dict[str, float]

    def __init__(
        self, second: Any, cost: float, *, tol: float = 1e-6, calm: float | None = None
    ) -> None:
        self.second, self.cost, self.tol = second, cost, tol
        self.calm = cost if calm is None else min(calm, cost)
        self._first = DualDescent()
        self.forecast = {self._first.name: math.nan, second.name: cost}

    def suited(self, problem: MarginObjective) -> Switching:
        """The same method with the second one that suits the problem."""
        twin = copy(self)
        twin.second = self.second.suited(problem)
        return twin

    def aimed(self, tol: float) -> Switching:
        """The same method for another tolerance."""
        twin = copy(self)
        twin.tol, twin.forecast = max(tol, _FINEST), dict(self.forecast)
        return twin

    def method(self, state: SwitchingState) -> str:
        """The name of the method at work."""
        return str(self._current(state).name)

    def requires(self, problem: MarginObjective) -> None:
        self._first.requires(problem)
        self.second.requires(problem)

    def init(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> SwitchingState:
        start = (theta, rng, residual)
        expected = forecast.passes(problem, self.tol)
        self.forecast[self._first.name] = expected
        # Where losses have a kink, the multipliers of a few passes shorten the other way as well.
        if problem.smooth and _SURE * expected > self.cost:
            return SwitchingState(self.second.init(problem, *start), handed_over=True)
        a_pass = forecast.visits(problem)
        costs = forecast.visits(problem, 0.0) / a_pass, forecast.extrapolation(problem) / a_pass
        return SwitchingState(self._first.init(problem, *start), start=start, costs=costs)

    def step(
        self, problem: MarginObjective, state: SwitchingState, check_interrupt: Callable[[], None]
    ) -> SwitchingState:
        if state.handed_over:
            return replace(state, inner=self.second.step(problem, state.inner, check_interrupt))
        least, leap = state.costs
        cost = least + (1.0 - least) * self._first.part(problem, state.inner)
        if self._first.extrapolates(state.inner):
            cost += leap
        passed = self._first.step(problem, state.inner, check_interrupt)
        work = state.work + cost
        state = replace(state, inner=passed, work=work)
        stuck = self._first.stopped(problem, passed) is not None
        # Passes over few rows are cheaper than this check.
        if not stuck and passed.estimate > 0.0 and work >= 1.3 * state.looked + 1.0:
            state = replace(
                state, marks=(*state.marks, (work, math.log(passed.estimate))), looked=work
            )
            stuck = self._is_slow(problem, state)
        if not stuck:
            return state
        left = self._first.candidate(problem, passed)
        theta, rng, residual = state.start
        if problem.value(left.theta, left.scores) < problem.value(theta):
            theta, residual = left.theta, left.residual
        inner_state = self.second.init(problem, theta, rng, residual)
        return SwitchingState(inner_state, handed_over=True, left=left)

    def _is_slow(self, problem: MarginObjective, state: SwitchingState) -> bool:
        """Whether the remaining passes are longer than the other method."""
        work, gap = state.marks[-1]
        inner_state: DualDescentState = state.inner
        cost = self.cost
        if self.calm < cost and forecast.is_calm(problem, int(np.count_nonzero(inner_state.alpha))):
            cost = self.calm
        hopeful = 0.0 < self.forecast[self._first.name] < cost
        least = max(_TRY, (_EXPECTED if hopeful else _TRIAL) * cost)
        earlier = [mark for mark in state.marks if mark[0] <= work - 0.5 * max(work, _TRY)]
        if work < least or not earlier:
            return False
        before, wider = earlier[-1]
        dual = -problem.conjugate_value(-problem.y * inner_state.alpha)
        dual -= 0.5 * inner(inner_state.w, inner_state.w)
        decades = gap - math.log(self.tol * max(abs(dual), 1e-300))
        rate = (wider - gap) / (work - before)
        most = max(_DOUBT * cost - work, _NEARLY * cost)
        return decades > 0.0 and decades > most * rate

    def _current(self, state: SwitchingState) -> Any:
        return self.second if state.handed_over else self._first

    def candidate(self, problem: MarginObjective, state: SwitchingState) -> Candidate:
        found: Candidate = self._current(state).candidate(problem, state.inner)
        return found

    def earlier(self, problem: MarginObjective, state: SwitchingState) -> Candidate | None:
        """The point at the end of the first method, which may be the better one for a while."""
        return state.left

    def objective_at(self, state: SwitchingState) -> float:
        return float(self._current(state).objective_at(state.inner))

    def should_check(self, problem: MarginObjective, state: SwitchingState, tol: float) -> bool:
        return bool(self._current(state).should_check(problem, state.inner, tol))

    def outlook(self, problem: MarginObjective, state: SwitchingState) -> float:
        """The outlook of the first method; the second one is checked at every step."""
        return np.nan if state.handed_over else self._first.outlook(problem, state.inner)

    def stopped(self, problem: MarginObjective, state: SwitchingState) -> str | None:
        status: str | None = self._current(state).stopped(problem, state.inner)
        return status
