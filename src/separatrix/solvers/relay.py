"""Dual descent for as long as that promises to be the shorter way, and then another method.

Which of the two is the faster can differ tenfold either way, and neither sizes nor norms tell it in
advance: where the margins settle soon, a few dozen passes do what one Hessian costs; elsewhere it
takes thousands of them.  The passes themselves tell: after a few, the rate at which they close the
gap says how many more there would be.  Where these would cost more than the other method, it takes
over, and what was tried has cost a small part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers.driver import Candidate, Solver
from separatrix.solvers.dual_descent import DualDescent, DualDescentState
from separatrix.solvers.levels import FREQUENT

__all__ = ["Relay", "RelayState"]

# Steps that Newton's method takes, and its passes over the data in each.
_STEPS, _PASSES = 12.0, 1.0
# How many times faster than an entry of a pass blocks of a Hessian are, dense and sparse.
_DENSE, _SPARSE = 40.0, 20.0
# What the other method has to cost, in passes, for a try to be worth it; and how long that is.
_WORTH, _TRY = 40.0, 5.0
# How many times as long the way may look: passes become faster as rows settle, and where the loss
# is nowhere at its least none does.
_DOUBT, _UNSETTLED = 3.0, 1.5
# What products take that are preconditioned with two levels of columns, in passes, beside two
# factors of the frequent ones.
_PRODUCTS = 50.0
# The gap that counts as the end of the way: nothing here knows what was asked for.
_END = 1e-6


@dataclass(frozen=True)
class RelayState:
    """The state of the method at work.

    ``work`` is that of the passes so far, in passes over all rows; ``marks`` are pairs of it and
    the logarithm of the gap then, ``looked`` the last of these.
    """

    inner: Any
    handed_over: bool = False
    work: float = 0.0
    marks: tuple[tuple[float, float], ...] = ()
    looked: float = 0.0
    start: tuple[Any, ...] = ()
    # Where the first method ended.
    left: Candidate | None = None


class Relay:
    """Dual descent, and a second method where it is slow.  Needs what both of them need.

    Parameters
    ----------
    second : Solver
        The method that works with Hessians.
    cost : float
        What it is thought to take, in passes over the data; see :meth:`cost_of`.
    warm : bool
        Begin it where the first one ended, if that is better than the start.
    """

    def __init__(self, second: Solver, cost: float, *, warm: bool = False) -> None:
        self.second, self.cost, self.warm = second, cost, warm
        self._first = DualDescent()

    @staticmethod
    def cost_of(problem: LinearProblem) -> float:
        """What a method that factorises Hessians takes, in passes of dual descent."""
        design, size = problem.design, problem.shape[0]
        stored = float(max(design.n_stored, 1))
        dense = stored >= design.n_samples * design.n_features
        gram = design.gram_cost / (_DENSE if dense else _SPARSE) + size**3 / (6.0 * _DENSE)
        return _STEPS * (gram / stored + _PASSES)

    @staticmethod
    def cost_of_products(problem: LinearProblem) -> float:
        """What a method that multiplies with Hessians takes, in passes of dual descent."""
        return _PRODUCTS + 2.0 * FREQUENT**3 / (6.0 * _DENSE) / max(problem.design.n_stored, 1)

    @classmethod
    def pays(cls, problem: LinearProblem) -> bool:
        """Whether a few passes are little beside what they may save."""
        return cls.cost_of(problem) >= _WORTH

    def requires(self, problem: MarginObjective) -> None:
        self._first.requires(problem)
        self.second.requires(problem)

    def init(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> RelayState:
        start = (theta, rng, residual)
        return RelayState(self._first.init(problem, *start), start=start)

    def step(
        self, problem: MarginObjective, state: RelayState, check_interrupt: Callable[[], None]
    ) -> RelayState:
        if state.handed_over:
            return replace(state, inner=self.second.step(problem, state.inner, check_interrupt))
        passed = self._first.step(problem, state.inner, check_interrupt)
        work = state.work + self._first.part(problem, passed)
        state = replace(state, inner=passed, work=work)
        stuck = self._first.stopped(problem, passed) is not None
        # Passes over few rows are cheaper than to look at the way.
        if not stuck and passed.estimate > 0.0 and work >= 1.3 * state.looked + 1.0:
            state = replace(
                state, marks=(*state.marks, (work, math.log(passed.estimate))), looked=work
            )
            stuck = self._is_slow(problem, state)
        if not stuck:
            return state
        left = self._first.candidate(problem, passed)
        theta, *rest = state.start
        if self.warm and problem.value(left.theta) < problem.value(theta):
            theta = left.theta
        return RelayState(self.second.init(problem, theta, *rest), handed_over=True, left=left)

    def _is_slow(self, problem: MarginObjective, state: RelayState) -> bool:
        """Whether the way that is left is longer than the other one."""
        work, gap = state.marks[-1]
        earlier = [mark for mark in state.marks if mark[0] <= work - 0.5 * max(work, _TRY)]
        if work < _TRY or not earlier:
            return False
        before, wider = earlier[-1]
        inner_state: DualDescentState = state.inner
        dual = -problem.conjugate_value(-problem.y * inner_state.alpha)
        dual -= 0.5 * inner(inner_state.w, inner_state.w)
        left = gap - math.log(_END * max(abs(dual), 1e-300))
        rate = (wider - gap) / (work - before)
        doubt = _UNSETTLED if problem.loss.unattained else _DOUBT
        return left > 0.0 and (left > doubt * self.cost * rate or work > self.cost)

    def _current(self, state: RelayState) -> Any:
        return self.second if state.handed_over else self._first

    def candidate(self, problem: MarginObjective, state: RelayState) -> Candidate:
        found: Candidate = self._current(state).candidate(problem, state.inner)
        return found

    def earlier(self, problem: MarginObjective, state: RelayState) -> Candidate | None:
        """The point that the first method left, which may be the better one for a while."""
        return state.left

    def should_check(self, problem: MarginObjective, state: RelayState, tol: float) -> bool:
        return bool(self._current(state).should_check(problem, state.inner, tol))

    def outlook(self, problem: MarginObjective, state: RelayState) -> float:
        """What the first method knows; the second one is checked at every step."""
        return np.nan if state.handed_over else self._first.outlook(problem, state.inner)

    def stopped(self, problem: MarginObjective, state: RelayState) -> str | None:
        status: str | None = self._current(state).stopped(problem, state.inner)
        return status
