r"""Stochastic gradients for as long as their rates can get there, then steps of the best length.

Steps of :math:`1/(\alpha (t_0 + k))` come within :math:`\epsilon` of the optimum after a number of
them of the order of :math:`1/(\alpha \epsilon)` (Shalev-Shwartz, Singer and Srebro, 2007), because
the slope of a row is as large at the optimum of a loss with a kink as it is elsewhere, so that only
shrinking rates make the noise die out.  Under a tiny penalty that is more than anybody waits for.

What those steps gather are multipliers: with :math:`t_0 = 0` the weights are
:math:`-\frac1\alpha` times the mean of the rows times the slopes that they were met with.  A visit
makes all multipliers a little smaller and that of its row larger by as much as the rate says.  To
set the row's own multiplier to its best, all others held, costs the same and has no noise at the
optimum (Hsieh et al., 2008; Shalev-Shwartz and Zhang, 2013; as the best step of a Frank-Wolfe
method by blocks, Lacoste-Julien et al., 2013).  So that is how the passes go on, from the
multipliers that there are, once the gap tells that the rates do not get there in the passes left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from separatrix.certificate import relative_to
from separatrix.solvers.driver import Candidate, Solution
from separatrix.solvers.dual_descent import DualDescent, DualDescentState
from separatrix.solvers.stochastic import (
    StochasticDescent,
    StochasticObjective,
    StochasticState,
    factorises,
)

__all__ = ["FinishedDescent", "FinishedState", "conclude"]

# Passes before the way that is left is first looked at, and then each time that they have doubled.
_FIRST = 16
# So many times the passes made have to be left: with few, the rates come to a better point.
_LEFT = 4


@dataclass(frozen=True)
class FinishedState:
    """The state of the steps at given rates, and that of those after them.

    Attributes
    ----------
    descent : StochasticState
    dual : DualDescentState or None
        Where it has come to that.
    """

    descent: StochasticState
    dual: DualDescentState | None = None


class FinishedDescent:
    """Steps at given rates, and of the best length where those are too slow.

    Needs what both of them need.

    Parameters
    ----------
    descent : StochasticDescent
    tol : float
        The relative gap that is asked for.
    most : int
        The most passes of both together.
    """

    def __init__(self, descent: StochasticDescent, tol: float, most: int) -> None:
        self.descent, self.tol, self.most = descent, tol, most
        self._dual = DualDescent()

    def takes(self, problem: StochasticObjective) -> bool:
        """Whether a problem has what the second kind of step needs."""
        try:
            self._dual.requires(problem)
        except TypeError:
            return False
        # Rows held out say themselves when to stop.  For few weights, whose bound needs no luck,
        # weights of rows stay the same as copies of them to the last digits, as the visits have it.
        return problem.holdout is None and not factorises(problem)

    def requires(self, problem: StochasticObjective) -> None:
        self.descent.requires(problem)
        self._dual.requires(problem)

    def init(
        self,
        problem: StochasticObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> FinishedState:
        return FinishedState(self.descent.init(problem, theta, rng, residual))

    def step(
        self,
        problem: StochasticObjective,
        state: FinishedState,
        check_interrupt: Callable[[], None],
    ) -> FinishedState:
        if state.dual is None and self._is_hopeless(problem, state.descent):
            state = replace(state, dual=self._from_here(problem, state.descent))
        if state.dual is None:
            return replace(
                state, descent=self.descent.step(problem, state.descent, check_interrupt)
            )
        return replace(state, dual=self._dual.step(problem, state.dual, check_interrupt))

    def _is_hopeless(self, problem: StochasticObjective, state: StochasticState) -> bool:
        """Whether passes at these rates do not get there, if the gap falls as one over them."""
        made = state.passes
        if made < _FIRST or made & (made - 1) or self.most - made < _LEFT * made:
            return False
        scores = problem.linear(state.kept)
        residual = problem.upper * problem.y * state.multipliers
        bound = problem.bound(state.kept, residual, scores)
        return made * relative_to(bound.gap, bound.primal) / self.tol > self.most

    def _from_here(self, problem: StochasticObjective, state: StochasticState) -> DualDescentState:
        residual = problem.upper * problem.y * state.multipliers
        return self._dual.init(problem, state.kept, state.rng, residual)

    def candidate(self, problem: StochasticObjective, state: FinishedState) -> Candidate:
        if state.dual is None:
            return self.descent.candidate(problem, state.descent)
        return self._dual.candidate(problem, state.dual)

    def should_check(self, problem: StochasticObjective, state: FinishedState, tol: float) -> bool:
        if state.dual is None:
            return self.descent.should_check(problem, state.descent, tol)
        return self._dual.should_check(problem, state.dual, tol)

    def stopped(self, problem: StochasticObjective, state: FinishedState) -> str | None:
        if state.dual is None:
            return self.descent.stopped(problem, state.descent)
        return self._dual.stopped(problem, state.dual)


def conclude(solution: Solution) -> Solution:
    """The solution of a run with the state of its stochastic steps, which goes on from there."""
    state: FinishedState = solution.state
    descent = state.descent
    if state.dual is not None:
        descent.finish = state.dual.passes
        descent.theta = np.array(solution.theta)
    return replace(solution, state=descent)
