"""Dual coordinate descent with shrinking, for any loss with a dual coordinate step.

Hsieh, Chang, Lin, Keerthi and Sundararajan (2008); for log loss, Yu, Huang and Lin (2011).  Rows
are visited in a random order; a multiplier at the edge of its range, with a slope that holds it
there, is set aside until the end is near.

An unpenalised intercept is the multiplier of the constraint ``sum a y = 0``.  It is found by the
method of multipliers (Hestenes, 1969; Powell, 1969): a penalty ``rho/2 (sum a y)^2``, which is
an extra constant feature of size ``sqrt(rho)``, pulls the sum to zero while the intercept takes
over its force, ``b += rho sum a y``.  All rows together answer to the intercept, so that a feature
much smaller than the rows is enough, and hardly couples their multipliers; where most of those are
at the ends of their ranges and few answer, it grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled import pulse
from separatrix._compiled.compilation import njit, specialise
from separatrix._compiled.linear_algebra import inner, squared_distance
from separatrix._compiled.row_access import row_add, row_dot, row_prefetch
from separatrix.losses.hinge import _hinge_gap as gap_at
from separatrix.losses.hinge import _hinge_slope as dual_slope
from separatrix.losses.hinge import _hinge_step as dual_step
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers.extrapolation import Extrapolation
from separatrix.solvers.protocol import Candidate, Solver, require_parts


@njit(nogil=True, cache=True)
def _shuffle(kept, order, active, size, seed):
    """Put sorted multipliers into ``active`` in groups of neighbours, in a fresh random order.

    ``order`` holds the numbers of the groups.

    Rows that lie side by side in memory are read half as fast again as rows from random places.
    """
    n_active = kept.shape[0]
    count = order.shape[0]
    state = seed
    for k in range(count - 1, 0, -1):
        # xorshift64* (Vigna, 2016): numpy's generators are not open to compiled code.
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        draw = (state * np.uint64(2685821657736338717)) >> np.uint64(33)
        j = np.int64(draw % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    k = 0
    for m in range(count):
        group = order[m]
        for i in range(group * size, min((group + 1) * size, n_active)):
            active[k] = kept[i]
            k += 1


def _sorted(index: np.ndarray, n: int) -> np.ndarray:
    """Sort distinct numbers below ``n``."""
    if 16 * len(index) < n:
        return np.sort(index)
    used = np.zeros(n, dtype=np.bool_)
    used[index] = True
    return np.flatnonzero(used)


def _sweep(
    rows,
    y,
    upper,
    squares,
    low,
    high,
    rho,
    alpha,
    w,
    b,
    active,
    edged,
    floor,
    ceiling,
    most,
    n_active,
    k,
    kept,
    largest,
    smallest,
    gap,
):
    """Make one pass over some active multipliers, in order, or up to ``most`` visits of it.

    ``floor`` and ``ceiling`` are the extreme slopes of the last pass: a multiplier at an edge
    whose slope holds it there more firmly is set aside; none is unless ``edged``.  The others come
    first in ``active`` afterwards.  Takes and returns the place of the next visit, the number of
    those kept so far, the extreme projected slopes, and the sum of the shares of the duality gap
    at the time of the visits.
    """
    while k < n_active and most > 0:
        most -= 1
        i = active[k]
        if k + 1 < n_active:
            row_prefetch(rows, active[k + 1])
        u = upper[i]
        a = alpha[i]
        z = y[i] * (row_dot(rows, i, w) + b[0])
        slope = 1.0
        if edged:
            slope = dual_slope(a, z, u)
            if a <= low * u:
                if slope > ceiling:
                    k += 1
                    continue
                slope = min(slope, 0.0)
            elif a >= high * u:
                if slope < floor:
                    k += 1
                    continue
                slope = max(slope, 0.0)
            largest = max(largest, slope)
            smallest = min(smallest, slope)
        if kept & 3 == 0:
            # A quarter of the rows, in random order, is sample enough for an estimate.
            gap += 4.0 * gap_at(a, z, u)
        if slope != 0.0:
            new = dual_step(a, z, squares[i], u)
            if new != a:
                alpha[i] = new
                change = new - a
                row_add(rows, i, change * y[i], w)
                b[0] += rho * change * y[i]
        # Every row stays in its place in the order: rows side by side in memory follow one another.
        active[k] = active[kept]
        active[kept] = i
        kept += 1
        k += 1
    return k, kept, largest, smallest, gap


@dataclass
class DualDescentState:
    """Multipliers, weights and the active set; updated in place, a pass at a time."""

    alpha: np.ndarray
    w: np.ndarray
    b: np.ndarray
    active: np.ndarray
    n_active: int
    squares: np.ndarray
    rho: float
    floor: float
    ceiling: float
    precision: float
    rng: np.random.Generator
    average: np.ndarray
    # The upper limit of ``rho``, and the sum that the last pass left.
    stiffest: float = 0.0
    excess: float = np.inf
    extrapolation: Extrapolation | None = None
    averaged: float = 0.0
    passes: int = 0
    checked: int = 0
    # The gap as the last pass estimated it, and the ratio of a certificate's gap to that.  Before
    # the first certificate, the ratio is that of the last two estimates.
    estimate: float = np.inf
    ratio: float = 1.0
    tried: bool = False
    # The least objective at a certificate so far; at first that of zero weights.
    value: float = np.inf


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of dual descent, which affect its speed but not its optimum.

    Parameters
    ----------
    closer : float
        The part of the spread of the slopes to which the active set is solved before all rows are
        visited again.  Larger values return to all rows too often, smaller ones polish the wrong
        set; 0.03 to 0.3 measured within a quarter of each other.
    stretch : int
        The number of multiplications between two checks of a limit.
    drift : float
        The largest distance of the running sum of the weights from the multipliers' own weights,
        relative to the length of these.
    left : float
        The part of the estimated gap that the first pass from a nearby point leaves.
    answer : float
        The largest move of the multipliers in answer to the first penalty on their sum, as a
        multiple of that sum.
    wanders : float
        The largest such multiple, relative to the root of the number of rows.
    group : int
        The number of neighbouring rows that a pass visits in succession, where it has too many
        entries for a core's cache.
    group_work : int
        The number of entries above which a pass is too large for a core's cache.
    early : float
        The number of passes from which displacements are extrapolated; infinite for never.
    """

    closer: float = 0.1
    stretch: int = 2_000_000
    drift: float = 1e-9
    left: float = 0.3
    answer: float = 200.0
    wanders: float = 1.3
    group: int = 8
    group_work: int = 200_000
    early: float = 8


class DualDescent(Solver):
    """Dual coordinate descent.  Needs rows, a dual step and an L2 penalty.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "dual"

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning

    def requires(self, problem: MarginObjective) -> None:
        require_parts("Dual descent", (problem.loss, "dual_step"), (problem.design, "rows"))
        if not problem.penalty.ridge:
            raise TypeError("Dual descent needs an L2 penalty.")

    def init(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> DualDescentState:
        n, d = problem.design.shape
        rows = np.flatnonzero(problem.upper > 0.0)
        squares = problem.design.row_squares()
        rho, stiffest, b = 0.0, 0.0, 0.0
        if problem.fit_intercept:
            if problem.intercept_penalty > 0.0:
                rho = 1.0 / problem.intercept_penalty
            else:
                rho, stiffest = self._stiffness(problem, squares, rows)
                b = float(problem.intercept_of(theta))
        alpha, w, ratio = np.zeros(n), np.zeros(d), 1.0
        if residual is not None:
            alpha = problem.multipliers(residual)
            w = problem.design.t_dot(alpha * problem.y)
            ratio = self.tuning.left
        return DualDescentState(
            alpha=alpha,
            w=w,
            b=np.array([b]),
            active=rows,
            n_active=len(rows),
            squares=squares + rho,
            rho=rho,
            stiffest=stiffest,
            floor=-np.inf,
            ceiling=np.inf,
            precision=np.inf,
            rng=rng,
            average=np.zeros(d),
            ratio=ratio,
            # No optimum is above the objective of zero weights.
            value=problem.loss_value(np.zeros(n)),
        )

    def step(
        self, problem: MarginObjective, state: DualDescentState, check_interrupt: Callable[[], None]
    ) -> DualDescentState:
        self._extrapolate(problem, state)
        size = self.tuning.group if self._work(problem, state) > self.tuning.group_work else 1
        seed = int(state.rng.integers(1, 2**62))
        kept = _sorted(state.active[: state.n_active], len(state.alpha))
        _shuffle(kept, np.arange(-(-len(kept) // size)), state.active, size, np.uint64(seed))
        before, whole = state.estimate, state.n_active == len(state.active)
        largest, smallest, state.estimate = self._pass(problem, state)
        state.passes += 1
        if problem.balances:
            self._correct(state, inner(state.alpha, problem.y))
        if not state.tried and np.isfinite(before):
            state.ratio = state.estimate / before if before > 0.0 else 1.0
        if not problem.loss.smooth:
            # Weights circle around the optimum as rows at the kink pull at them; their average
            # over the last half of the passes or so is closer to it.
            if state.passes & (state.passes - 1) == 0 and state.passes > 2:
                state.average *= 0.25
                state.averaged *= 0.25
            state.average += state.w
            state.averaged += 1.0
        spread = max(largest - smallest, 0.0)
        if whole:
            # A pass over all rows measures the distance to the optimum.  Polishing the active set
            # to much less than this would be work on the wrong set.
            state.precision = self.tuning.closer * spread
        if spread <= state.precision:
            # The active set is solved: bring the others back and visit all rows.
            state.n_active = len(state.active)
        state.floor = smallest if smallest < 0.0 else -np.inf
        state.ceiling = largest if largest > 0.0 else np.inf
        return state

    def _stiffness(
        self, problem: MarginObjective, squares: np.ndarray, rows: np.ndarray
    ) -> tuple[float, float]:
        """The first and the largest penalty on the sum of the multipliers."""
        # A constant feature on the scale of the rows would couple their multipliers. The median,
        # because a few long rows must not set it.
        most = float(np.median(squares[rows])) or float(squares[rows].mean()) or 1.0
        upper = problem.upper[rows]
        # The move of all multipliers, one by one, for a move of the intercept by one.
        bends = squares[rows] + problem.loss.dual_curvature(0.5 * upper, upper)
        answer = float(np.sum(1.0 / bends[bends > 0.0]))
        # In a pass the sum wanders as far as the root of the number of rows goes, in moves of one.
        # The pull of that on a row is to be no more than the pull of the row itself.
        times = min(self.tuning.answer, self.tuning.wanders * float(np.sqrt(len(rows))))
        return (min(most, times / answer) if answer > 0.0 else most), most

    @staticmethod
    def _correct(state: DualDescentState, excess: float) -> None:
        """Let the intercept take over the force of the penalty on the remainder of the sum."""
        state.b[0] += state.rho * excess
        off = abs(excess * state.b[0])
        state.estimate += off
        slow = off > 0.3 * state.estimate and abs(excess) > 0.3 * abs(state.excess)
        state.excess = excess
        if slow and state.rho < state.stiffest:
            rho = min(4.0 * state.rho, state.stiffest)
            state.squares = state.squares + (rho - state.rho)
            state.b[0] += (rho - state.rho) * excess
            state.rho = rho
            if state.extrapolation is not None:
                state.extrapolation.forget()

    def _extrapolate(self, problem: MarginObjective, state: DualDescentState) -> None:
        """Extrapolate along the displacements of the last passes, except in the first passes."""
        if not self.extrapolates(state):
            return
        if state.extrapolation is None:
            state.extrapolation = Extrapolation(problem)
        # Before the pass, not after it: the point that a pass leaves behind is the better
        # candidate, its rows have been put right one by one.
        state.extrapolation.extrapolate(
            problem,
            state.alpha,
            state.w,
            state.b,
            squares=state.squares,
            rho=state.rho,
            coming=state.active[: state.n_active],
        )

    def _pass(
        self, problem: MarginObjective, state: DualDescentState
    ) -> tuple[float, float, float]:
        """Visit the active rows; return the extreme slopes and the estimated gap."""
        loss, design = problem.loss, problem.design
        kernel = specialise(
            _sweep,
            row_dot=design.row_dot,
            row_add=design.row_add,
            row_prefetch=design.row_prefetch,
            dual_step=loss.dual_step,
            dual_slope=loss.dual_slope,
            gap_at=loss.gap_at,
        )
        # The visits between two checks of a limit; multipliers are valid wherever a pass is ended.
        width = max(design.n_stored // max(design.n_samples, 1), 1)
        stretch, beat = max(self.tuning.stretch // width, 1), pulse.current()
        met: Any = (0, 0, -np.inf, np.inf, 0.0)
        while True:
            met = kernel(
                design.rows,
                problem.y,
                problem.upper,
                state.squares,
                loss.dual_lower,
                loss.dual_upper,
                state.rho,
                state.alpha,
                state.w,
                state.b,
                state.active,
                loss.edged,
                state.floor,
                state.ceiling,
                stretch,
                state.n_active,
                *met,
            )
            if met[0] >= state.n_active:
                break
            beat()
        state.n_active = met[1]
        largest, smallest, estimate = met[2:]
        return largest, smallest, estimate

    @staticmethod
    def _work(problem: MarginObjective, state: DualDescentState) -> float:
        """The number of entries of the active rows."""
        return problem.design.n_stored / problem.design.n_samples * state.n_active

    @staticmethod
    def part(problem: MarginObjective, state: DualDescentState) -> float:
        """The share of all rows that the next pass visits."""
        return state.n_active / problem.design.n_samples

    def extrapolates(self, state: DualDescentState) -> bool:
        """Whether the next pass begins with an extrapolation of the last ones."""
        return state.passes >= self.tuning.early

    def candidate(self, problem: MarginObjective, state: DualDescentState) -> Candidate:
        state.checked = state.passes
        residual = -problem.y * state.alpha
        if problem.balances:
            residual = problem.balanced(residual)
        # The weights are computed from the multipliers: the running sum has drifted by rounding.
        adjoint = problem.design.t_dot(residual) if residual.any() else np.zeros_like(state.w)
        choices = [-adjoint]
        drift = 0.0 if problem.balances else squared_distance(choices[0], state.w)
        if drift > self.tuning.drift**2 * inner(adjoint, adjoint):
            # Large multipliers nearly cancel: displacements of such weights are wrong.
            state.w[:] = choices[0]
            if state.extrapolation is not None:
                state.extrapolation.forget()
        if state.averaged > 1.0:
            choices.append(state.average / state.averaged)
        best = min((self._point(problem, w) for w in choices), key=lambda c: c[0])
        value, theta, scores = best
        dual = -0.5 * inner(choices[0], choices[0]) - problem.conjugate_value(residual)
        if state.estimate > 0.0 and np.isfinite(state.estimate):
            state.ratio, state.tried = max(value - dual, 0.0) / state.estimate, True
        state.value = min(state.value, value)
        return Candidate(theta, residual, scores, adjoint)

    @staticmethod
    def _point(problem: MarginObjective, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The objective, point and scores for weights, with the best intercept for them."""
        scores = problem.design.dot(w) if w.any() else np.zeros(problem.design.n_samples)
        theta = w
        if problem.fit_intercept:
            b = problem.best_intercept(scores)
            theta, scores = problem.join(w, b), scores + b
        return problem.value(theta, scores), theta, scores

    def should_check(self, problem: MarginObjective, state: DualDescentState, tol: float) -> bool:
        # A certificate costs a few passes, so it waits until the gap that the last pass estimated,
        # corrected by what the last certificate found, promises success; after many passes, now
        # and then to update the correction.
        if state.passes >= 3 * state.checked + 50:
            return True
        if state.passes == 0:
            return False
        gap = state.estimate * min(state.ratio, 1.0)
        if gap > 0.9 * tol * state.value:
            return False
        # That objective may be long out of date, and the present one costs a pass over all rows.
        residual = -problem.y * state.alpha
        below = -problem.conjugate_value(residual) - 0.5 * inner(state.w, state.w)
        value = below + state.estimate
        if problem.balances:
            # While the intercept is far from its end, the sum that is left costs more than it is
            # multiplied by in the estimate: the multipliers have to give way for it.
            balanced = problem.balanced(residual)
            adjoint = problem.design.t_dot(balanced)
            lost = below + problem.conjugate_value(balanced) + 0.5 * inner(adjoint, adjoint)
            gap = max(gap, lost - abs(inner(state.alpha, problem.y) * float(state.b[0])))
        return gap <= 0.9 * tol * abs(value)

    def outlook(self, problem: MarginObjective, state: DualDescentState) -> float:
        """The corrected estimate of the gap, relative to the least objective at a certificate."""
        return state.estimate * min(state.ratio, 1.0) / state.value if state.value > 0.0 else np.nan

    def stopped(self, problem: MarginObjective, state: DualDescentState) -> str | None:
        # A pass with an estimated gap of zero has nothing to correct.
        return "precision_limit" if state.estimate == 0.0 and state.precision == 0.0 else None
