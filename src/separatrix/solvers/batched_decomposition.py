r"""Decomposition of the duals of several kernel machines on one matrix, in one compiled loop.

The steps are those of :mod:`separatrix.solvers.decomposition`: working sets of the coefficients
that violate the conditions of optimality most, improved two at a time (Fan, Chen and Lin, 2005).
Where all rows of the matrix are in memory and a machine has some hundred of them, what there is to
do between two working sets takes less time than to say so in Python.

Coefficients inside their range move as one by a Newton step under the equality, which crosses in
one step the valleys that pairs crawl along (Scheinberg, 2006); one that meets its end stays there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import FASTMATH, njit
from separatrix._compiled.elementary import larger, smaller
from separatrix.kernels.batched import BatchedObjective
from separatrix.kernels.gram import FEW
from separatrix.kernels.matrix_rows import add_rows
from separatrix.solvers.decomposition import CLOSER, FINEST, FLAT, PROMISE, SPARE, improve

__all__ = ["BatchedDecomposition", "BatchedState"]

# Coefficients of a working set that are there for their violation; and up to how many all are.
_VIOLATORS = 48
_ALL = 96
# Up to how many coefficients inside their range are in every set, and move by Newton steps.
_MOST_INSIDE = 512
_LEAPING = 192
# Such steps, one after another, down slopes without curvature.
_LEAPS = 8
# Working sets after which another method should do better.
_MOST_SETS = 400
# Changes of entries of gradients that a part makes before the clock is looked at.
_MOST_WORK = 30_000_000
# Looks at the exact gradient after which another method should do better.
_ROUNDS = 6
_NO_NAN = FASTMATH | {"nnan"}


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def _ends(g, c, low, high):
    """The least gradient of those that can rise, the largest of those that can fall."""
    lowest, highest = np.inf, -np.inf
    for k in range(g.shape[0]):
        lowest = smaller(lowest, g[k] if c[k] < high[k] else np.inf)
        highest = larger(highest, g[k] if c[k] > low[k] else -np.inf)
    return lowest, highest


@njit(nogil=True, cache=True)
def _nth(values, count, n):
    """The ``n``-th smallest of the first values, which are reordered (Hoare, 1961)."""
    first, last = 0, count - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if n <= j:
            last = j
        elif n >= i:
            first = i
        else:
            break
    return values[n]


@njit(nogil=True, cache=True)
def _choose(g, c, low, high, lowest, highest, chosen):
    """Write down the worst violators at either end and those inside their range; how many."""
    q = g.shape[0]
    if q <= _ALL:
        for k in range(q):
            chosen[k] = k
        return q
    up, down = np.empty(q), np.empty(q)
    rises, falls = 0, 0
    for k in range(q):
        if c[k] < high[k] and g[k] < highest:
            up[rises] = g[k]
            rises += 1
        if c[k] > low[k] and g[k] > lowest:
            down[falls] = -g[k]
            falls += 1
    below = _nth(up, rises, _VIOLATORS - 1) if rises > _VIOLATORS else np.inf
    above = -_nth(down, falls, _VIOLATORS - 1) if falls > _VIOLATORS else -np.inf
    # Entries equal to the threshold fill the places that are left, and no more.
    m, rises, falls, inside = 0, 0, 0, 0
    for k in range(q):
        can_rise, can_fall = c[k] < high[k], c[k] > low[k]
        taken = False
        if can_rise and g[k] < highest and g[k] <= below:
            rises += g[k] == below
            taken = g[k] < below or rises <= _VIOLATORS
        if can_fall and g[k] > lowest and g[k] >= above:
            falls += g[k] == above
            taken = taken or g[k] > above or falls <= _VIOLATORS
        if not taken and can_rise and can_fall and inside < _MOST_INSIDE:
            inside += 1
            taken = True
        if taken:
            chosen[m] = k
            m += 1
    return m


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _forward(m, n, v):
    """Solve with the first rows of a lower triangle, in place."""
    for j in range(n):
        f = v[j]
        for i in range(j):
            f -= m[j, i] * v[i]
        v[j] = f / m[j, j]


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _backward(m, n, v):
    """The same with its transpose."""
    for j in range(n - 1, -1, -1):
        v[j] /= m[j, j]
        f = v[j]
        for i in range(j):
            v[i] -= f * m[j, i]


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(matrix, rows, columns, g, free, lift, flat, u):
    """A direction of sum zero that lowers the dual, on ``free``; the number of its entries.

    It is the Newton step, of those that do not depend on others; or where one that does makes for a
    direction without curvature that is not level, that direction, and the number is negative.
    """
    n, kept = len(free), 0
    m = np.empty((n, n))
    v = np.empty(n)
    for k in range(n):
        row = matrix[rows[free[k]]]
        # A constant is added, which changes nothing of moves whose sum is zero.
        for i in range(kept):
            v[i] = row[columns[free[i]]] + lift
        _forward(m, kept, v)
        own = row[columns[free[k]]] + lift
        pivot = own
        for i in range(kept):
            pivot -= v[i] * v[i]
        if pivot > flat:
            for i in range(kept):
                m[kept, i] = v[i]
            m[kept, kept] = np.sqrt(pivot)
            free[kept] = free[k]
            kept += 1
            continue
        _backward(m, kept, v)
        slope, size, total = g[free[k]], abs(g[free[k]]), 1.0
        for i in range(kept):
            slope -= v[i] * g[free[i]]
            size += abs(v[i] * g[free[i]])
            total -= v[i]
        if abs(slope) > 1e-9 * size and abs(total) < 1e-6:
            sign = -1.0 if slope > 0.0 else 1.0
            for i in range(kept):
                u[i] = -sign * v[i]
            u[kept] = sign
            free[kept] = free[k]
            return -(kept + 1)
    if kept < 2:
        return 0
    for i in range(kept):
        u[i], v[i] = g[free[i]], 1.0
    _forward(m, kept, u)
    _backward(m, kept, u)
    _forward(m, kept, v)
    _backward(m, kept, v)
    level = u[:kept].sum() / v[:kept].sum()
    for i in range(kept):
        u[i] = level * v[i] - u[i]
    return kept


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _improve_set(
    matrix, slots, places, own, diagonal, flat, near, w, of_first, g, c, low, high
):  # fmt: skip
    """Improve the coefficients of a working set; the work, and how many have changed.

    ``w``: their places in the part, of which the first ``of_first`` have a sum of their own.
    """
    m = len(w)
    at, before = places[w], c[w]
    rows = slots[at]
    new, own_g = before.copy(), g[w]
    block, ready = np.empty((m, m), dtype=matrix.dtype), np.zeros(m, dtype=np.bool_)
    done = improve(
        matrix, rows, at, block, ready, own_g, new, low[w], high[w], diagonal[at],
        flat, near, 10 * m, of_first,
    )  # fmt: skip
    n = 0
    changed, changes = np.empty(m, dtype=np.intp), np.empty(m)
    for k in range(m):
        if new[k] != before[k]:
            changed[n], changes[n] = rows[k], new[k] - before[k]
            c[w[k]] = new[k]
            n += 1
    add_rows(matrix, changed[:n], changes[:n], own, g, 0, len(g))
    return (done + n + 4) * len(g), n


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _leaps(
    matrix, slots, places, own, flat, chosen, moves, g, c, low, high, u, v
):  # fmt: skip
    """Leaps of the free coefficients from ``u`` to ``v``, which have a sum; the work of them."""
    work, q = 0, len(g)
    # One down a slope without curvature is followed by others.
    for _ in range(_LEAPS):
        n = _leap(
            matrix, slots, places[u:v], g[u:v], c[u:v], low[u:v], high[u:v], flat, chosen, moves
        )
        if n == 0:
            break
        at = slots[places[u:v][chosen[: abs(n)]]]
        add_rows(matrix, at, moves[: abs(n)], own, g, 0, q)
        for k in range(abs(n)):
            i = u + chosen[k]
            c[i] = min(max(c[i] + moves[k], low[i]), high[i])
        work += abs(n) * (n * n // 6 + q)
        if n > 0:
            break
    return work


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _leap(matrix, slots, columns, g, c, low, high, flat, chosen, moves):
    """A step of those inside their range at once: which, by how much, and how many.

    It ends where the first of them meets its end.  The number is negative for one along which there
    is no curvature, and zero where there is no step.
    """
    q, n, lift = g.shape[0], 0, 0.0
    for k in range(q):
        if low[k] < c[k] < high[k]:
            if n == _LEAPING:
                return 0
            chosen[n] = k
            n += 1
            lift = max(lift, abs(matrix[slots[columns[k]], columns[k]]))
    if n < 2:
        return 0
    u = np.zeros(n)
    n = _direction(matrix, slots[columns], columns, g, chosen[:n], lift, 64.0 * flat, u)
    length, end = (1.0, -1) if n > 0 else (np.inf, -1)
    level, n = n > 0, abs(n)
    descent = 0.0
    for i in range(n):
        k = chosen[i]
        descent += u[i] * g[k]
        reach = np.inf
        if u[i] > 0.0:
            reach = (high[k] - c[k]) / u[i]
        elif u[i] < 0.0:
            reach = (low[k] - c[k]) / u[i]
        if reach < length:
            length, end = reach, i
    if not (n >= 2 and descent < 0.0 and 0.0 < length < np.inf):
        return 0
    # What rounding leaves of the sum goes to the one with the most slack.
    widest, slack, excess = -1, 0.0, 0.0
    for i in range(n):
        k = chosen[i]
        new = min(max(c[k] + length * u[i], low[k]), high[k])
        if i == end:
            new = high[k] if u[i] > 0.0 else low[k]
        moves[i] = new - c[k]
        excess += moves[i]
        distance = min(new - low[k], high[k] - new)
        if distance > slack:
            widest, slack = i, distance
    if not abs(excess) < slack:
        return 0
    moves[widest] -= excess
    return n if level else -n


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def _gap(g, c, low, high, at):
    """The gap of coefficients whose sum is fixed, with the multiplier ``at`` of that sum.

    No term is negative: it is the most that a coefficient can gain by going to an end of its range.
    """
    gap = 0.0
    for k in range(g.shape[0]):
        gap += larger(at - g[k], 0.0) * (high[k] - c[k]) + larger(g[k] - at, 0.0) * (c[k] - low[k])
    return gap


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _work(
    matrix, slots, columns, starts, splits, runs, run_starts, low, high, linear, diagonal,
    flat, met, goal, close, spare, sets, c, g, level, estimate, used, still, spent, work, active,
    first, last,
):  # fmt: skip
    """Working sets for the parts from ``first`` to ``last`` until their gaps meet the goal.

    The coefficients of a part before its split have a sum of their own, and so have those after it,
    if there are any.  ``goal`` and ``close`` are relative gaps: up to ``spare`` sets go from the
    one to the other.  A part that has used ``sets`` of them goes on from there as though it had not
    stopped.  A square of weights below ``met`` times that of the sums of all coefficients is of
    hulls that meet, which is for another method to find.
    """
    for p in range(first, last):
        if not active[p]:
            continue
        a, z = starts[p], starts[p + 1]
        q, split = z - a, splits[p] - a
        own = runs[run_starts[p] : run_starts[p + 1]]
        g_, c_, low_, high_ = g[a:z], c[a:z], low[a:z], high[a:z]
        places = columns[a:z]
        groups = ((0, split), (split, q))
        sums = 2 if split < q else 1
        chosen, moves = np.empty(q, dtype=np.intp), np.empty(q)
        picked = np.empty(q, dtype=np.intp)
        lowest, highest = np.empty(2), np.empty(2)
        while True:
            gap, violation, threshold = 0.0, -np.inf, 0.0
            for k in range(sums):
                u, v = groups[k]
                lowest[k], highest[k] = _ends(g_[u:v], c_[u:v], low_[u:v], high_[u:v])
                violation = max(violation, highest[k] - lowest[k])
                middle = 0.5 * (lowest[k] + highest[k])
                if not abs(middle) < np.inf:
                    # Nothing can rise, or nothing fall, or neither.
                    middle = highest[k] if abs(highest[k]) < np.inf else lowest[k]
                    middle = middle if abs(middle) < np.inf else 0.0
                gap += _gap(g_[u:v], c_[u:v], low_[u:v], high_[u:v], middle)
                threshold += middle / sums
            value, square, size = 0.0, 0.0, 0.0
            for k in range(q):
                value += 0.5 * c_[k] * (g_[k] + linear[a + k])
                square += c_[k] * (g_[k] - linear[a + k])
                size += abs(c_[k])
            level[p] = -threshold
            estimate[p] = gap / abs(value) if value != 0.0 else (np.inf if gap > 0.0 else 0.0)
            if met > 0.0 and not square > met * size * size:
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
            m, of_first = 0, 0
            for k in range(sums):
                u, v = groups[k]
                if highest[k] > lowest[k]:
                    n = _choose(
                        g_[u:v], c_[u:v], low_[u:v], high_[u:v], lowest[k], highest[k], picked
                    )
                    for i in range(n):
                        chosen[m + i] = u + picked[i]
                    m += n
                of_first = m if k == 0 else of_first
            done, n = _improve_set(
                matrix, slots, places, own, diagonal, flat, CLOSER * violation, chosen[:m],
                of_first, g_, c_, low_, high_,
            )  # fmt: skip
            work[p] += done
            still[p] = n == 0
            for k in range(sums):
                u, v = groups[k]
                more = _leaps(
                    matrix, slots, places, own, flat, picked, moves, g_, c_, low_, high_, u, v
                )
                work[p] += more
                still[p] = still[p] and more == 0


@dataclass
class BatchedState:
    """Coefficients and gradients of all parts, one after another; updated in place."""

    c: np.ndarray
    gradient: np.ndarray
    # Each part has its intercept, its estimated gap, its working sets, and whether none moved it;
    # and in the present step, its sets near the goal and its changes of gradients.
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
        """Working sets for the active parts, until they promise to be good enough.

        ``each`` is called after each of them, and changes nothing.
        """
        few = batch.gram.n_samples <= FEW
        goal = max(PROMISE * tol, FINEST)
        # For next to nothing, weights and copies agree to more digits than were asked for.
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
            # The intercepts of the exact gradient, and no further step.
            self._begin(state, due)
            self._run(batch, state, due, np.inf, np.inf, 0, 0)
        batch.set_levels(state.level, product, due)
        return state.c, state.level, product

    def stopped(self, state: BatchedState) -> bool:
        """Whether the method can do no more."""
        return state.rounds >= _ROUNDS or bool(np.any(state.used >= _MOST_SETS))
