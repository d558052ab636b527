r"""The hinge in passes: few rows instead of all, solved in memory, and a check of all rows.

If there are very many rows, few are near the kink at the optimum.  A sample's optimum shows about
where that is, and how far off scores are there (from its quarter's optimum to its own they move by
:math:`\sqrt 3` times as much).  One pass gathers the rows that may change sides, and adds up the
others; the resulting problem is solved in memory, exactly; the next pass finds the others that have
changed sides, which make up the gap, and gathers anew, from nearer.  To fix multipliers that
are clearly at an end of their range is what shrinking does (Joachims, 1999; Hsieh et al., 2008);
here nothing is ever wrong for long, since the rows that are fixed remain a bound, and every pass
visits all.

Where memory does not hold the near rows, some of them stand for all: less of the sum is then
sampled than before, and the next point is nearer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.augmented_lagrangian import AugmentedLagrangian
from separatrix.solvers.driver import Solution, minimise, within
from separatrix.solvers.protocol import Candidate, Solver, require_parts

_SEED = 20
# The parts of an objective over blocks that gathers the rows near a kink.
_CAPABILITIES = ("look", "settle", "moved", "best")


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters, which affect the number of passes but not the optimum.

    Parameters
    ----------
    first : float
        The first width, as a multiple of the error of the scores: nearly none of the rows beyond it
        changes sides.
    next : float
        The next width, as a multiple of the move of the scores.
    least : float
        The least next width, as a part of the last one.
    most : float
        The largest next width, as a part of the last one.
    crowded : float
        All rows count as near once more than this share of them is near, where memory holds them;
        below zero, all do from the start.
    inner : float
        The part of the tolerance to which the problem in memory is solved.
    wider : float
        The factor of the next width, for each pass in succession in which the gap has not fallen by
        half.
    tries : int
        The largest number of passes in succession in which the gap does not fall by half.
    """

    first: float = 4.0
    next: float = 1.0
    least: float = 1.0 / 16.0
    most: float = 0.5
    crowded: float = 0.4
    inner: float = 0.1
    wider: float = 8.0
    tries: int = 6


@dataclass(frozen=True)
class ScreeningState:
    """The point of the last pass over all rows, and the point of the next one.

    ``width`` is that of the last pass; ``gap`` and ``exact`` are the gap of the one before, and
    whether it had all near rows.
    """

    theta: np.ndarray
    next: np.ndarray | None = None
    looked: bool = False
    n_iter: int = 0
    width: float = math.inf
    gap: float = math.inf
    exact: bool = False
    failed: int = 0


class _Nearby(AugmentedLagrangian):
    """The augmented Lagrangian from a point whose scores are off by about ``off``."""

    def __init__(self, off: float) -> None:
        super().__init__()
        self._off = off

    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> Any:
        return self.near(problem, theta, self._off)


class Screening(Solver):
    """Passes that gather the rows near the kink.  Needs an objective over blocks that can.

    Parameters
    ----------
    choose : callable
        A function that gives the method for a problem in memory.
    tuning : Tuning
        The tuning parameters of the passes.
    """

    def __init__(self, choose: Callable[[Any], Solver], tuning: Tuning = Tuning()) -> None:
        self._choose = choose
        self.tuning = tuning
        self._tol = 1e-6

    def requires(self, problem: Any) -> None:
        require_parts("Screening", *((problem, name) for name in _CAPABILITIES))

    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> ScreeningState:
        return ScreeningState(np.array(theta, dtype=np.float64))

    def step(
        self, problem: Any, state: ScreeningState, check_interrupt: Callable[[], None]
    ) -> ScreeningState:
        check_interrupt()
        if not state.looked:
            theta = state.theta if state.next is None else state.next
            if state.next is None and not theta.any() and not problem.few:
                theta = self._of_sample(problem, check_interrupt)
            width = problem.width
            problem.look(theta)
            n_iter = state.n_iter + 1
            state = replace(state, theta=theta, looked=True, n_iter=n_iter, width=width)
            bound = problem.bound(theta)
            if bound.gap <= self._tol * bound.primal:
                return state
        return self._solved(problem, state, check_interrupt)

    def _of_sample(self, problem: Any, check_interrupt: Callable[[], None]) -> np.ndarray:
        """The optimum on the sample; also sets the width of the rows near the kink there."""
        # The generator is the same whenever and wherever the sample is fitted.
        rng = np.random.default_rng(_SEED)
        part = problem.some(0, rng)
        if part is problem:
            return problem.zero()
        n, size = len(part.y), part.shape[0]
        tol = _of_samples(size, n)
        quarter = part.some(max(n // 4, min(4 * size, n)), rng)
        first = self._minimised(quarter, quarter.zero(), math.inf, tol, check_interrupt)
        off = math.sqrt(size / len(quarter.y))
        found = self._minimised(part, first.theta, off, tol, check_interrupt)
        problem.width = self.tuning.first * problem.moved(first.theta, found.theta) / math.sqrt(3.0)
        crowded = problem.fits and problem.near_at(found.theta) > self.tuning.crowded
        if crowded or not problem.width > 0.0:
            problem.width = math.inf
        return found.theta

    def _solved(
        self, problem: Any, state: ScreeningState, check_interrupt: Callable[[], None]
    ) -> ScreeningState:
        here, width = problem.look(state.theta), state.width
        bound = problem.bound(state.theta)
        off = 0.5 * width if math.isfinite(width) else math.inf
        tol = max(self.tuning.inner * self._tol, 1e-12)
        if not here.exact:
            # The tolerance is that of a sample, since some of the rows stand for all.
            tol = max(tol, _of_samples(len(state.theta), here.near))
        found = self._minimised(here.objective, state.theta, off, tol, check_interrupt)
        problem.settle(here, found.theta, found.certificate)
        if here.coarse is not None:
            means = here.coarse.objective
            rough = self._minimised(means, means.zero(), math.inf, 1e-6, check_interrupt)
            problem.settle(here.coarse, rough.theta, rough.certificate)
        move = problem.moved(state.theta, found.theta)
        failed = state.failed
        if here.exact:
            stuck = state.exact and bound.gap > 0.5 * state.gap
            failed = failed + 1 if stuck else 0
            if here.whole and not found.certificate.ok:
                # No other remedy is left.
                failed = self.tuning.tries + 1
            wanted = self.tuning.wider**failed * self.tuning.next * move
            least = self.tuning.least * width if math.isfinite(width) else 0.0
            width = max(wanted, least)
            if failed > 2 and problem.fits:
                width = math.inf
            gap = bound.gap if bound.dual > 0.0 else math.inf
        else:
            noise = 2.0 * self.tuning.first * math.sqrt(len(found.theta) / max(here.near, 1))
            narrower = float(np.clip(noise, self.tuning.least, self.tuning.most))
            width = narrower * width if math.isfinite(width) else self.tuning.first * narrower
            # Means alone can be enough, where rows near the kink are nearly the same.
            gap = problem.bound(state.theta).gap
            failed = failed + 1 if gap > 0.5 * state.gap else 0
        problem.width = width if width > 0.0 else math.inf
        problem.keep(found.theta)
        return replace(
            state, next=found.theta, looked=False, gap=gap, exact=here.exact, failed=failed
        )

    def _minimised(
        self,
        part: PointwiseObjective,
        theta: np.ndarray,
        off: float,
        tol: float,
        check_interrupt: Callable[[], None],
    ) -> Solution:
        solver = self._choose(part)
        if isinstance(solver, AugmentedLagrangian) and math.isfinite(off) and theta.any():
            solver = _Nearby(off)
        with within(check_interrupt):
            start = theta if theta.any() else None
            return minimise(part, solver, tol=tol, theta=start, seed=_SEED)

    def candidate(self, problem: Any, state: ScreeningState) -> Candidate:
        return Candidate(problem.best(state.theta))

    def iterations(self, state: ScreeningState, before: int) -> int:
        return state.n_iter

    def should_check(self, problem: Any, state: ScreeningState, tol: float) -> bool:
        self._tol = tol
        return state.n_iter > 0

    def stopped(self, problem: Any, state: ScreeningState) -> str | None:
        if state.failed <= self.tuning.tries:
            return None
        latest = problem.latest
        return "memory_limit" if latest is not None and not latest.exact else "precision_limit"


def _of_samples(size: int, rows: int) -> float:
    """The tolerance for a problem on a sample of ``rows`` rows, with ``size`` parameters."""
    return float(np.clip(0.05 * size / max(rows, 1), 1e-8, 1e-3))
