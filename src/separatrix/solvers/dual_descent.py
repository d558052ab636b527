"""Dual coordinate descent with shrinking, for any loss with a dual coordinate step.

Hsieh, Chang, Lin, Keerthi and Sundararajan (2008); for log loss, Yu, Huang and Lin (2011).  Rows
are visited in a random order; a multiplier at the edge of its range, with a slope that holds it
there, is set aside until the end is near.

An unpenalised intercept is the multiplier of the constraint ``sum a y = 0``.  It is found by the
method of multipliers (Hestenes, 1969; Powell, 1969): a penalty ``rho/2 (sum a y)^2``, which is
an extra constant feature of size ``sqrt(rho)``, pulls the sum to zero while the intercept takes
over its force, ``b += rho sum a y``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix._kernels import row_add, row_dot, row_prefetch, specialise
from separatrix._linalg import inner
from separatrix.losses import _hinge_gap as gap_at
from separatrix.losses import _hinge_slope as dual_slope
from separatrix.losses import _hinge_step as dual_step
from separatrix.objective import MarginObjective
from separatrix.solvers.driver import Candidate

__all__ = ["DualDescent", "DualDescentState"]

# How much closer the active set is brought before all rows are looked at again.  Larger looks
# too often, smaller polishes the wrong set; 0.03 to 0.3 measured within a quarter of each other.
_CLOSER = 0.1


def _sweep(
    rows, y, upper, squares, low, high, rho, alpha, w, b, active, n_active, floor, ceiling, seed
):
    """One pass over the active multipliers, in a fresh random order.

    ``floor`` and ``ceiling`` are the extreme slopes of the last pass: a multiplier at an edge
    whose slope holds it there more firmly is set aside.  Returns the number still active, the
    extreme projected slopes, and the shares of the duality gap added up as they were met.
    """
    state = np.uint64(seed)
    for k in range(n_active - 1, 0, -1):
        # xorshift64* (Vigna, 2016): numpy's generators are not open to compiled code.
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        draw = (state * np.uint64(2685821657736338717)) >> np.uint64(33)
        j = np.int64(draw % np.uint64(k + 1))
        active[k], active[j] = active[j], active[k]
    largest, smallest, gap = -np.inf, np.inf, 0.0
    k = 0
    while k < n_active:
        i = active[k]
        if k + 1 < n_active:
            row_prefetch(rows, active[k + 1])
        u = upper[i]
        a = alpha[i]
        z = y[i] * (row_dot(rows, i, w) + b[0])
        slope = dual_slope(a, z, u)
        if a <= low * u:
            if slope > ceiling:
                n_active -= 1
                active[k] = active[n_active]
                active[n_active] = i
                continue
            slope = min(slope, 0.0)
        elif a >= high * u:
            if slope < floor:
                n_active -= 1
                active[k] = active[n_active]
                active[n_active] = i
                continue
            slope = max(slope, 0.0)
        if k & 3 == 0:
            # A quarter of the rows, in random order, is sample enough for an estimate.
            gap += 4.0 * gap_at(a, z, u)
        largest = max(largest, slope)
        smallest = min(smallest, slope)
        if slope != 0.0:
            new = dual_step(a, z, squares[i], u)
            if new != a:
                alpha[i] = new
                change = (new - a) * y[i]
                row_add(rows, i, change, w)
                b[0] += rho * change
        k += 1
    return n_active, largest, smallest, gap


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
    averaged: float = 0.0
    passes: int = 0
    checked: int = 0
    # The gap as the last pass met it, and what a certificate made of such an estimate.
    estimate: float = np.inf
    ratio: float = 1.0


class DualDescent:
    """Dual coordinate descent.  Needs rows, a dual step and an L2 penalty."""

    def requires(self, problem: MarginObjective) -> None:
        for owner, name in ((problem.loss, "dual_step"), (problem.design, "rows")):
            if not hasattr(owner, name):
                raise TypeError(f"Dual descent needs {name!r}, which {owner!r} does not have.")
        if problem.penalty.curvature != 1.0:
            raise TypeError("Dual descent needs a penalty of curvature 1 (L2).")

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
        rho = 0.0
        b = 0.0
        if problem.fit_intercept:
            if problem.intercept_penalty > 0.0:
                rho = 1.0 / problem.intercept_penalty
            else:
                # A constant feature on the scale of the rows: much larger would couple the
                # coordinates, much smaller would need many corrections.  The median, because a
                # few long rows must not set it.
                rho = float(np.median(squares[rows])) or float(squares[rows].mean()) or 1.0
                b = float(problem.intercept_of(theta))
        alpha, w = np.zeros(n), np.zeros(d)
        if residual is not None:
            alpha = problem.multipliers(residual)
            w = problem.design.t_dot(alpha * problem.y)
        return DualDescentState(
            alpha=alpha,
            w=w,
            b=np.array([b]),
            active=rows,
            n_active=len(rows),
            squares=squares + rho,
            rho=rho,
            floor=-np.inf,
            ceiling=np.inf,
            precision=np.inf,
            rng=rng,
            average=np.zeros(d),
        )

    def step(
        self, problem: MarginObjective, state: DualDescentState, pulse: Callable[[], None]
    ) -> DualDescentState:
        kernel = specialise(
            _sweep,
            row_dot=problem.design.row_dot,
            row_add=problem.design.row_add,
            row_prefetch=problem.design.row_prefetch,
            dual_step=problem.loss.dual_step,
            dual_slope=problem.loss.dual_slope,
            gap_at=problem.loss.gap_at,
        )
        loss = problem.loss
        state.n_active, largest, smallest, state.estimate = kernel(
            problem.design.rows,
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
            state.n_active,
            state.floor,
            state.ceiling,
            int(state.rng.integers(1, 2**62)),
        )
        state.passes += 1
        if problem.balances:
            excess = inner(state.alpha, problem.y)
            state.estimate += abs(excess * state.b[0])
            state.b[0] += state.rho * excess
        # Weights circle around the optimum as single rows pull at them; their average over the
        # last half of the passes or so is closer to it.
        if state.passes & (state.passes - 1) == 0 and state.passes > 2:
            state.average *= 0.25
            state.averaged *= 0.25
        state.average += state.w
        state.averaged += 1.0
        spread = largest - smallest if state.n_active else 0.0
        if state.floor == -np.inf and state.ceiling == np.inf:
            # A pass over all: how far there is to go.  Polishing the active set to much less
            # than this would be work on the wrong set.
            state.precision = _CLOSER * spread
        if spread <= state.precision:
            # Settled on the active set: bring the others back and look more closely.
            state.n_active = len(state.active)
            state.floor, state.ceiling = -np.inf, np.inf
        else:
            state.floor = smallest if smallest < 0.0 else -np.inf
            state.ceiling = largest if largest > 0.0 else np.inf
        return state

    def candidate(self, problem: MarginObjective, state: DualDescentState) -> Candidate:
        state.checked = state.passes
        residual = -problem.y * state.alpha
        if problem.balances:
            residual = problem.balanced(residual)
        # Weights straight from the multipliers: the running sum has drifted by rounding.
        choices = [-problem.design.t_dot(residual)]
        if state.averaged > 1.0:
            choices.append(state.average / state.averaged)
        best = min((self._point(problem, w) for w in choices), key=lambda c: c[0])
        value, theta, scores = best
        dual = -0.5 * inner(choices[0], choices[0]) - problem.conjugate_value(residual)
        if state.estimate > 0.0 and np.isfinite(state.estimate):
            state.ratio = max(value - dual, 0.0) / state.estimate
        return Candidate(theta, residual, scores)

    @staticmethod
    def _point(problem: MarginObjective, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Objective, point and scores for weights, with the best intercept for them."""
        scores = problem.design.dot(w)
        theta = w
        if problem.fit_intercept:
            b = problem.best_intercept(scores)
            theta, scores = problem.join(w, b), scores + b
        return problem.value(theta, scores), theta, scores

    def promising(self, problem: MarginObjective, state: DualDescentState, tol: float) -> bool:
        # A certificate costs a few passes, so it waits until the gap that the last pass met,
        # corrected by what the last certificate said, promises success; with many passes done,
        # now and then to correct the correction.
        if state.passes >= 3 * state.checked + 50:
            return True
        value = -problem.conjugate_value(-problem.y * state.alpha)
        value += state.estimate - 0.5 * inner(state.w, state.w)
        return state.estimate * min(state.ratio, 1.0) <= 0.9 * tol * abs(value)

    def stopped(self, problem: MarginObjective, state: DualDescentState) -> str | None:
        # A pass that met no gap at all has nothing to correct.
        return "precision_limit" if state.estimate == 0.0 and state.precision == 0.0 else None
