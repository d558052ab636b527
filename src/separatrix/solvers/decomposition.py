r"""Decomposition of the dual of a kernel machine, with second-order working sets.

With :math:`c_i = \alpha_i y_i` the dual of a loss whose conjugate is linear on its range (the
hinge) is a quadratic problem under a box and one equality,

.. math:: \min_c \tfrac12 c^\top K c + \ell_0 \sum_i y_i c_i \quad\text{subject to}\quad
    l_i \le c_i \le h_i, \ \sum_i c_i = 0 .

Each step takes the coefficients that violate the conditions of optimality most (Osuna, Freund and
Girosi, 1997; Joachims, 1999), together with those of the step before, and improves them two at a
time (Platt, 1998), the second chosen by what it gains (Fan, Chen and Lin, 2005).  Only then is the
gradient of the others brought up to date, by rows of the matrix that were computed all at once.

The rows are in float32 and steer the steps.  A check computes the product :math:`Kc` anew in
float64, and the solver goes on from that exact gradient: what the rows are off by then weighs only
on the changes since, so that the gap falls below float32's precision all the same.  Should it not,
the rows are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numba
import numpy as np

from separatrix import _kernels
from separatrix._kernels import FASTMATH
from separatrix._linalg import inner
from separatrix.kernel_objective import KernelHardMarginObjective, KernelObjective
from separatrix.solvers.driver import Candidate

__all__ = ["Decomposition", "DecompositionState"]

# Coefficients in a working set: the more, the fewer steps, and the more each pair costs to find.
_WORKING_SET = 1024
# How much closer the working set is brought before the others are looked at again.
_CLOSER = 0.1
# What the estimated gap must fall to, against the tolerance, before a check is worth its price.
_PROMISE = 0.5
# A curvature below this, against the diagonal, is rounding (or the kernel is not semidefinite).
_FLAT = 1e-12
_PIECE = 2048


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def improve(
    cache, slots, columns, block, ready, gradient, c, low, high, diagonal, flat, target, most
):
    """Improve the coefficients of a working set, two at a time; return how often.

    ``block`` receives the rows of the matrix within the set, each when it is first needed.
    """
    q = gradient.shape[0]
    for count in range(most):
        # The steepest way up for one coefficient, and how steep a way down must be to pair with.
        first, steepest, shallowest = -1, -np.inf, np.inf
        for k in range(q):
            g = -gradient[k]
            if c[k] < high[k] and g > steepest:
                steepest = g
                first = k
            if c[k] > low[k] and g < shallowest:
                shallowest = g
        if first < 0 or not steepest - shallowest > target:
            return count
        if not ready[first]:
            source = cache[slots[first]]
            for k in range(q):
                block[first, k] = source[columns[k]]
            ready[first] = True
        row = block[first]
        own = diagonal[first]
        second, most_gain = -1, -1.0
        for k in range(q):
            if c[k] > low[k]:
                slope = steepest + gradient[k]
                if slope > 0.0:
                    bend = max(own + diagonal[k] - 2.0 * row[k], flat)
                    gain = slope * slope / bend
                    if gain > most_gain:
                        most_gain = gain
                        second = k
        if second < 0:
            return count
        if not ready[second]:
            source = cache[slots[second]]
            for k in range(q):
                block[second, k] = source[columns[k]]
            ready[second] = True
        other = block[second]
        bend = max(own + diagonal[second] - 2.0 * row[second], flat)
        step = (steepest + gradient[second]) / bend
        up, down = high[first] - c[first], c[second] - low[second]
        step = min(step, up, down)
        # An end of the range is met exactly, or rounding would leave it to be met again.
        c[first] = high[first] if step == up else c[first] + step
        c[second] = low[second] if step == down else c[second] - step
        for k in range(q):
            gradient[k] += step * (np.float64(row[k]) - np.float64(other[k]))
    return most


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True)
def add_rows(cache, slots, changes, runs, gradient, start, stop):
    """``gradient += sum_r changes_r row_r`` for the entries from ``start`` to ``stop``.

    A run is a piece of neighbouring columns of the cache: where it begins, and how long it is.
    """
    m = slots.shape[0]
    here = 0
    for run in range(runs.shape[0]):
        length = runs[run, 1]
        shift = runs[run, 0] - here
        a, b = max(here, start), min(here + length, stop)
        here += length
        while a < b:
            end = min(a + _PIECE, b)
            r = 0
            while r + 4 <= m:
                row0, row1 = cache[slots[r]], cache[slots[r + 1]]
                row2, row3 = cache[slots[r + 2]], cache[slots[r + 3]]
                d0, d1, d2, d3 = changes[r], changes[r + 1], changes[r + 2], changes[r + 3]
                for k in range(a, end):
                    j = k + shift
                    gradient[k] += d0 * row0[j] + d1 * row1[j] + d2 * row2[j] + d3 * row3[j]
                r += 4
            while r < m:
                row0, d0 = cache[slots[r]], changes[r]
                for k in range(a, end):
                    gradient[k] += d0 * row0[k + shift]
                r += 1
            a = end


@dataclass
class DecompositionState:
    """Coefficients and their gradient; updated in place, a working set at a time."""

    c: np.ndarray
    gradient: np.ndarray
    low: np.ndarray
    high: np.ndarray
    linear: np.ndarray
    working: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    # The relative gap by the gradient at hand, and by the last exact one.
    estimate: float = np.inf
    exact: float = np.inf
    tol: float = 0.0
    violation: float = np.inf
    pairs: int = 0
    # Whether the last check was expected to succeed, and how many such checks did not help.
    promised: bool = False
    stalls: int = 0
    hopeless: bool = False
    still: bool = False


class Decomposition:
    """Decomposition of the dual.  Needs rows of a Gram matrix and a conjugate without curvature.

    Parameters
    ----------
    working_set : int
        How many coefficients are improved between two updates of the whole gradient.
    """

    def __init__(self, working_set: int = _WORKING_SET) -> None:
        self.working_set = working_set

    def requires(self, problem: Any) -> None:
        if not hasattr(problem.design, "runs"):
            raise TypeError(f"Decomposition needs rows of a Gram matrix, not {problem.design!r}.")
        if not problem.balances:
            raise TypeError("Decomposition needs an unpenalised intercept.")
        if problem.constrained:
            return
        loss = problem.loss
        probe = np.array([0.0, 0.5])
        if np.any(loss.dual_curvature(probe, np.ones(2)) != 0.0) or loss.dual_lower != 0.0:
            raise TypeError(f"Decomposition needs a conjugate without curvature, not {loss!r}'s.")

    def init(
        self,
        problem: KernelObjective | KernelHardMarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
    ) -> DecompositionState:
        upper = problem.upper
        c = problem.weights_of(theta).copy()
        slope = -1.0
        if not problem.constrained:
            upper = upper * problem.loss.dual_upper
            slope = float(problem.loss.dual_slope(0.0, 0.0, 1.0))
        linear = slope * problem.y
        return DecompositionState(
            c=c,
            gradient=problem.matrix.dot(c) + linear,
            low=np.where(problem.y > 0.0, 0.0, -upper),
            high=np.where(problem.y > 0.0, upper, 0.0),
            linear=linear,
        )

    def step(
        self, problem: Any, state: DecompositionState, pulse: Callable[[], None]
    ) -> DecompositionState:
        gram = problem.matrix
        working = self._choose(gram, state)
        if not len(working):
            state.still = True
            return state
        pulse()
        slots = gram.rows(working)
        pulse()
        q = len(working)
        before = state.c[working]
        c, gradient = before.copy(), state.gradient[working]
        diagonal = gram.diagonal[working]
        done = improve(
            gram.cache,
            slots,
            gram.columns[working],
            np.empty((q, q), dtype=gram.cache.dtype),
            np.zeros(q, dtype=np.bool_),
            gradient,
            c,
            state.low[working],
            state.high[working],
            diagonal,
            _FLAT * max(float(np.abs(diagonal).max()), 1e-300),
            _CLOSER * state.violation,
            20 * q,
        )
        changed = np.flatnonzero(c != before)
        state.still = done == 0 or not len(changed)
        if len(changed):
            changes = (c - before)[changed]
            ranges = _kernels.ranges(gram.n_samples, float(len(changed)) * gram.n_samples)
            args = (gram.cache, slots[changed], changes, gram.runs, state.gradient)
            _kernels.run([partial(add_rows, *args, a, b) for a, b in ranges])
            state.c[working] = c
        state.pairs += int(done)
        state.working = working
        self._survey(problem, state)
        return state

    def _choose(self, gram: Any, state: DecompositionState) -> np.ndarray:
        """The worst violators at either end, half of them anew and half kept, in order."""
        g = state.gradient
        rises, falls = np.flatnonzero(state.c < state.high), np.flatnonzero(state.c > state.low)
        if not len(rises) or not len(falls):
            return np.empty(0, dtype=np.intp)
        up, down = g[rises], g[falls]
        # Only those take part that have a partner to move with.
        state.violation = float(down.max() - up.min())
        if not state.violation > 0.0:
            return np.empty(0, dtype=np.intp)
        rises, up = rises[up < down.max()], up[up < down.max()]
        falls, down = falls[down > g[rises].min()], down[down > g[rises].min()]
        size = min(self.working_set, gram.n_slots, gram.n_samples)
        fresh = size if not len(state.working) else max(2, size // 2)
        half = max(1, fresh // 2)
        chosen = np.union1d(_lowest(rises, up, half), _lowest(falls, -down, half))
        kept = np.setdiff1d(state.working, chosen, assume_unique=True)
        if len(kept) > size - len(chosen):
            # Those inside their range are the ones still on the move.
            inside = (state.c[kept] > state.low[kept]) & (state.c[kept] < state.high[kept])
            kept = kept[np.argsort(~inside, kind="stable")][: size - len(chosen)]
        return np.union1d(chosen, kept)

    def _survey(self, problem: Any, state: DecompositionState) -> None:
        """Estimate the relative gap from the gradient at hand."""
        g = state.gradient
        rises, falls = state.c < state.high, state.c > state.low
        if not rises.any() or not falls.any():
            state.estimate = 0.0
            return
        lowest, highest = float(g[rises].min()), float(g[falls].max())
        state.violation = highest - lowest
        product = g - state.linear
        square = inner(state.c, product)
        scores = product - 0.5 * (lowest + highest)
        if problem.constrained:
            margin = problem.margin(scores)
            total = float(np.abs(state.c).sum())
            state.estimate = np.inf
            if margin > 0.0 and square > 0.0:
                primal, dual = 0.5 * square / margin**2, 0.5 * total * total / square
                state.estimate = max(primal - dual, 0.0) / primal
            state.hopeless = total > 0.0 and problem.vanishes(state.c, product)
            return
        primal = 0.5 * square + problem.loss_value(scores)
        gap = problem.fenchel_young(scores, -state.c)
        state.estimate = gap / primal if primal > 0.0 else (0.0 if gap <= 0.0 else np.inf)

    def candidate(self, problem: Any, state: DecompositionState) -> Candidate:
        product = problem.matrix.dot(state.c)
        # From here on the gradient is exact again.
        state.gradient = product + state.linear
        b = problem.best_intercept(product) if state.c.any() or not problem.constrained else 0.0
        self._survey(problem, state)
        if state.promised:
            state.promised = False
            # Half as far each time is progress; less is what the rounding of the rows leaves.
            state.stalls = state.stalls + 1 if state.estimate >= 0.5 * state.exact else 0
            state.exact = state.estimate
            if state.stalls >= 2 and not problem.matrix.exact:
                problem.matrix.sharpen()
                state.stalls, state.exact = 0, np.inf
        theta = problem.join(state.c.copy(), b)
        return Candidate(theta, -state.c, product + b)

    def promising(self, problem: Any, state: DecompositionState, tol: float) -> bool:
        state.tol = tol
        state.promised = state.estimate <= _PROMISE * tol or state.still or state.hopeless
        return state.promised

    def stopped(self, problem: Any, state: DecompositionState) -> str | None:
        if not problem.convex and state.estimate <= max(state.tol, 1e-12):
            return "indefinite"
        if state.hopeless:
            return "not_separable"
        if problem.matrix.exact and (state.stalls >= 3 or state.still):
            return "precision_limit"
        if state.still:
            # Nothing moves with rows in float32.
            problem.matrix.sharpen()
            state.gradient = problem.matrix.dot(state.c) + state.linear
        return None


def _lowest(index: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    if len(index) <= count:
        return index
    return index[np.argpartition(values, count - 1)[:count]]
