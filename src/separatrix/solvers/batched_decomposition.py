r"""Decomposition of the duals of several kernel machines on one matrix, in one compiled loop.

The steps are those of :mod:`separatrix.solvers.working_sets`.  Where all rows of the matrix are in
memory and a machine has some hundred of them, the work between two working sets takes less time
than its calls in Python would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import FASTMATH, njit
from separatrix.kernels.batched import BatchedObjective
from separatrix.kernels.gram import FEW
from separatrix.kernels.matrix_rows import add_rows
from separatrix.solvers.working_sets import (
    CLOSER,
    FINEST,
    FLAT,
    PROMISE,
    SPARE,
    choose,
    ends,
    gap,
    improve,
    leaps,
)

# The number of coefficients that a working set takes at either end for their violation, and its
# largest size, together with those inside their range.
_VIOLATORS, _LARGEST_SET = 48, 608
# The largest number of coefficients inside their range that move by Newton steps, and the largest
# number of such steps in succession.
_LEAPING, _LEAPS = 192, 8
# The number of working sets after which another method should do better.
_MOST_SETS = 400
# The number of changes of gradients' entries that a part makes before the time is checked.
_MOST_WORK = 30_000_000
# The number of checks of the exact gradient after which another method should do better.
_ROUNDS = 6


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _survey(g, c, low, high, linear, split, lowest, highest):
    """The gap, the violation, the intercept and the objective by the gradient at hand.

    ``lowest`` and ``highest`` receive the ends of the coefficients before the split and of those
    after it, if there are any, which have sums of their own.
    """
    q, most, violation, threshold, value = len(g), 0.0, -np.inf, 0.0, 0.0
    groups, sums = ((0, split), (split, q)), 2 if split < q else 1
    for k in range(sums):
        u, v = groups[k]
        lowest[k], highest[k] = ends(g[u:v], c[u:v], low[u:v], high[u:v])
        violation = max(violation, highest[k] - lowest[k])
        middle = 0.5 * (lowest[k] + highest[k])
        if not abs(middle) < np.inf:
            # Nothing can rise, or nothing fall, or neither.
            middle = highest[k] if abs(highest[k]) < np.inf else lowest[k]
            middle = middle if abs(middle) < np.inf else 0.0
        most += gap(g[u:v], c[u:v], low[u:v], high[u:v], middle)
        threshold += middle / sums
    for k in range(q):
        value += 0.5 * c[k] * (g[k] + linear[k])
    return most, violation, -threshold, value


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _vanishes(g, c, linear, met):
    """Whether the square of the weights is below ``met`` times that of the sum of coefficients."""
    square, size = 0.0, 0.0
    for k in range(len(g)):
        square += c[k] * (g[k] - linear[k])
        size += abs(c[k])
    return not square > met * size * size


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _improve_set(
    matrix, slots, places, own, diagonal, flat, split, lowest, highest, g, c, low, high
):  # fmt: skip
    """Improve the coefficients of a working set; return the work, and whether any has moved."""
    q, violation, of_first, m = len(g), -np.inf, 0, 0
    groups, sums = ((0, split), (split, q)), 2 if split < q else 1
    w, none = np.empty(q, dtype=np.intp), np.zeros(q, dtype=np.bool_)
    for k in range(sums):
        u, v = groups[k]
        violation = max(violation, highest[k] - lowest[k])
        if highest[k] > lowest[k]:
            n = choose(
                g[u:v], c[u:v], low[u:v], high[u:v], lowest[k], highest[k], _VIOLATORS, none,
                _LARGEST_SET, w[m:],
            )  # fmt: skip
            for i in range(m, m + n):
                w[i] += u
            m += n
        of_first = m if k == 0 else of_first
    w = w[:m]
    at, before = places[w], c[w]
    rows = slots[at]
    new, own_g = before.copy(), g[w]
    block, ready = np.empty((m, m), dtype=matrix.dtype), np.zeros(m, dtype=np.bool_)
    done = improve(
        matrix, rows, at, block, ready, own_g, new, low[w], high[w], diagonal[at], flat,
        CLOSER * violation, 10 * m, of_first,
    )  # fmt: skip
    # Entry by entry: to assign to a slice, or to look for what is not zero, would have Numba
    # compile the sentences of errors that cannot occur.
    n_changed = 0
    moved, steps = np.empty(m, dtype=rows.dtype), np.empty(m)
    for i in range(m):
        c[w[i]] = new[i]
        if new[i] != before[i]:
            moved[n_changed], steps[n_changed] = rows[i], new[i] - before[i]
            n_changed += 1
    add_rows(matrix, moved[:n_changed], steps[:n_changed], own, g, 0, q)
    work = 0
    for k in range(sums):
        work += leaps(
            matrix, slots, places, own, flat, _LEAPING, _LEAPS, g, c, low, high, *groups[k]
        )
    return (done + n_changed + 4) * q + work, n_changed > 0 or work > 0


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _work(
    matrix, slots, columns, starts, splits, runs, run_starts, low, high, linear, diagonal,
    flat, met, goal, close, spare, sets, c, g, level, estimate, used, still, spent, work, active,
    first, last,
):  # fmt: skip
    """Run working sets for the parts from ``first`` to ``last`` until their gaps meet the goal.

    The coefficients of a part before its split have a sum of their own, and so have those after it,
    if there are any.  ``goal`` and ``close`` are relative gaps: up to ``spare`` sets go from the
    one to the other.  A part that has used ``sets`` of them goes on from there as though it had not
    stopped.  A square of weights below ``met`` times that of the sums of all coefficients means
    that the hulls of the classes meet, which is for another method to find.
    """
    for p in range(first, last):
        if not active[p]:
            continue
        a, z = starts[p], starts[p + 1]
        split = splits[p] - a
        own = runs[run_starts[p] : run_starts[p + 1]]
        g_, c_, low_, high_ = g[a:z], c[a:z], low[a:z], high[a:z]
        lowest, highest = np.empty(2), np.empty(2)
        while True:
            found = _survey(g_, c_, low_, high_, linear[a:z], split, lowest, highest)
            most, violation, level[p], value = found
            estimate[p] = most / abs(value) if value != 0.0 else (np.inf if most > 0.0 else 0.0)
            if met > 0.0 and _vanishes(g_, c_, linear[a:z], met):
                estimate[p], still[p] = np.inf, True
                break
            if used[p] >= sets:
                break
            if estimate[p] <= goal:
                spent[p] += 1
            if estimate[p] <= close or spent[p] > spare or work[p] > _MOST_WORK:
                break
            if not violation > 0.0 or still[p]:
                still[p] = True
                break
            used[p] += 1
            done, moved = _improve_set(
                matrix, slots, columns[a:z], own, diagonal, flat, split, lowest, highest,
                g_, c_, low_, high_,
            )  # fmt: skip
            work[p] += done
            still[p] = not moved


@dataclass
class BatchedState:
    """Coefficients and gradients of all parts, one after another; updated in place."""

    c: np.ndarray
    gradient: np.ndarray
    # The intercept, the estimated gap and the number of working sets of each part, and whether it
    # moves no more; and in the present step, its sets near the goal and its changes of gradients.
    level: np.ndarray
    estimate: np.ndarray
    used: np.ndarray
    still: np.ndarray
    spent: np.ndarray
    work: np.ndarray
    rounds: int = 0


class BatchedDecomposition:
    """Decomposition of several machines at once; ``driver.minimise_batch`` runs it."""

    def init(self, batch: BatchedObjective) -> BatchedState:
        c, parts = batch.begun(), len(batch.problems)
        return BatchedState(
            c=c,
            gradient=batch.product(c) + batch.linear if c.any() else batch.linear.copy(),
            level=np.zeros(parts),
            estimate=np.full(parts, np.inf),
            used=np.zeros(parts, dtype=np.intp),
            still=np.zeros(parts, dtype=bool),
            spent=np.zeros(parts, dtype=np.intp),
            work=np.zeros(parts, dtype=np.intp),
        )

    def step(
        self,
        batch: BatchedObjective,
        state: BatchedState,
        active: np.ndarray,
        tol: float,
        sets: int,
        each: Callable[[BatchedState], None] | None = None,
    ) -> None:
        """Run working sets for the active parts, until they promise to be good enough.

        ``each`` is called after each working set, and changes nothing.
        """
        few = batch.gram.n_samples <= FEW
        goal = max(PROMISE * tol, FINEST)
        # At almost no cost, weighted and repeated rows agree to more digits than ``tol`` asks.
        close = max(1e-6 * goal, FINEST) if few else goal
        spare, sets = SPARE if few else 0, min(sets, _MOST_SETS)
        self._begin(state, active)
        if each is None:
            self._run(batch, state, active, goal, close, spare, sets)
            return
        going = active.copy()
        while going.any():
            before = state.used.copy()
            for k in np.flatnonzero(going):
                one = np.arange(len(going)) == k
                self._run(batch, state, one, goal, close, spare, min(int(before[k]) + 1, sets))
            each(state)
            going &= state.used > before

    @staticmethod
    def _begin(state: BatchedState, active: np.ndarray) -> None:
        state.still[active], state.spent[active], state.work[active] = False, 0, 0

    def _run(
        self,
        batch: BatchedObjective,
        state: BatchedState,
        active: np.ndarray,
        goal: float,
        close: float,
        spare: int,
        sets: int,
    ) -> None:
        gram = batch.gram
        args = (
            gram.cache, gram.places, batch.columns, batch.starts, batch.splits, batch.runs,
            batch.run_starts, batch.low, batch.high, batch.linear, gram.diagonal,
            max(FLAT * gram.largest, 1e-320), batch.met, goal, close, spare, sets, state.c,
            state.gradient, state.level, state.estimate, state.used, state.still, state.spent,
            state.work, active,
        )  # fmt: skip
        parts = len(active)
        ranges = pool.ranges(parts, 100.0 * len(state.c)) if parts > 1 else [(0, 1)]
        pool.run([partial(_work, *args, a, b) for a, b in ranges])

    def promises(self, state: BatchedState, active: np.ndarray, tol: float) -> np.ndarray:
        """Whether a certificate is worth its price, for every part."""
        close = state.estimate <= max(PROMISE * tol, FINEST)
        return active & (close | state.still)

    def candidates(
        self, batch: BatchedObjective, state: BatchedState, due: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients, intercepts and products of the parts that are due.

        The solver goes on from these exact products.
        """
        mine = np.repeat(due, np.diff(batch.starts))
        batch.balance(state.c, due)
        product = batch.product(state.c if due.all() else np.where(mine, state.c, 0.0))
        np.add(product, batch.linear, out=state.gradient, where=mine)
        state.rounds += 1
        if not batch.gram.exact:
            # Find the intercepts of the exact gradient, without a further step.
            self._begin(state, due)
            self._run(batch, state, due, np.inf, np.inf, 0, 0)
        batch.set_levels(state.level, product, due)
        return state.c, state.level, product

    def stopped(self, state: BatchedState) -> bool:
        """Whether the method can do no more."""
        return state.rounds >= _ROUNDS or bool(np.any(state.used >= _MOST_SETS))
