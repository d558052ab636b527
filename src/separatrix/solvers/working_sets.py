r"""Working sets of a quadratic problem in a box whose coefficients have fixed sums, compiled.

A working set is the coefficients that violate the conditions of optimality most (Osuna, Freund and
Girosi, 1997; Joachims, 1999), together with others that are still on the move.  It is improved two
coefficients at a time (Platt, 1998), the second chosen by its gain (Fan, Chen and Lin, 2005).
Coefficients inside their range move as one by a Newton step under the equality, which crosses in
one step the valleys that pairs crawl along (Scheinberg, 2006); one that meets its end stays there.

:mod:`separatrix.solvers.decomposition` calls these steps for one problem of any size, whose rows
are computed as they are needed, and :mod:`separatrix.solvers.batched_decomposition` in one compiled
loop for several on a matrix that lies in memory.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit
from separatrix._compiled.elementary import larger, smaller
from separatrix.kernels.matrix_rows import add_rows

# The part of the violation to which a working set is solved before the others are updated.
CLOSER = 0.1
# The estimated gap below which a check is worth its price, as a part of the tolerance.
PROMISE = 0.5
# The largest number of steps for a tighter goal, where rows are so few that steps cost almost
# nothing.
SPARE = 5
# A relative gap below this is rounding.
FINEST = 1e-13
# A curvature below this, against the diagonal, is rounding (or the kernel is not semidefinite).
FLAT = 1e-12
_CHUNK = 64
# In addition to reordering, the assumption that nothing is NaN, which lets the search for extremes
# use vectors.
_NO_NAN = FASTMATH | {"nnan"}


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def ends(g, c, low, high):
    """The least gradient of those that can rise, and the largest of those that can fall."""
    lowest, highest = np.inf, -np.inf
    for k in range(g.shape[0]):
        lowest = smaller(lowest, g[k] if c[k] < high[k] else np.inf)
        highest = larger(highest, g[k] if c[k] > low[k] else -np.inf)
    return lowest, highest


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def gap(g, c, low, high, at):
    """The gap of coefficients whose sum is fixed, with the multiplier ``at`` of that sum.

    No term is negative: it is the most that a coefficient can gain by going to an end of its range.
    """
    most = 0.0
    for k in range(g.shape[0]):
        most += larger(at - g[k], 0.0) * (high[k] - c[k]) + larger(g[k] - at, 0.0) * (c[k] - low[k])
    return most


@njit(nogil=True, cache=True)
def _nth(values, count, n):
    """The ``n``-th smallest of the first ``count`` values, which are reordered (Hoare, 1961)."""
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
def choose(g, c, low, high, lowest, highest, violators, kept, most, chosen):
    """Choose the worst violators at either end, and others; return how many there are.

    The others are added up to a total of ``most``: those inside their range, first the ones that
    were ``kept`` from the set before and then the rest, and last the ``kept`` ones at an end.
    """
    q = g.shape[0]
    if q <= 2 * violators:
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
    below = _nth(up, rises, violators - 1) if rises > violators else np.inf
    above = -_nth(down, falls, violators - 1) if falls > violators else -np.inf
    # Entries equal to the threshold fill the places that are left, and no more.
    rises, falls, taken = 0, 0, np.zeros(q, dtype=np.bool_)
    m, places = 0, most
    for k in range(q):
        can_rise, can_fall = c[k] < high[k], c[k] > low[k]
        if can_rise and g[k] < highest and g[k] <= below:
            rises += g[k] == below
            taken[k] = g[k] < below or rises <= violators
        if can_fall and g[k] > lowest and g[k] >= above:
            falls += g[k] == above
            taken[k] = taken[k] or g[k] > above or falls <= violators
        places -= taken[k]
    for rank in range(3):
        for k in range(q):
            if places <= 0:
                break
            inside = low[k] < c[k] < high[k]
            if not taken[k] and (inside or rank == 2) and (kept[k] or rank == 1):
                taken[k] = True
                places -= 1
    for k in range(q):
        if taken[k]:
            chosen[m] = k
            m += 1
    return m


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def _where_largest(values):
    """The place of the largest of the values; the first of equal ones."""
    count = values.shape[0]
    most, place = -np.inf, 0
    for start in range(0, count, _CHUNK):
        # The largest of a chunk compiles to vector instructions; the search within does not.
        top = values[start]
        for k in range(start, min(start + _CHUNK, count)):
            top = larger(top, values[k])
        if top > most:
            most = top
            place = start
    for k in range(place, min(place + _CHUNK, count)):
        if values[k] == most:
            return k
    return place


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def _gain(steepest, own, row, gradient, stops_down, diagonal, flat, gain):
    """Compute the gain of each coefficient as the partner of the one that rises most steeply."""
    for k in range(gradient.shape[0]):
        slope = larger(steepest + gradient[k] - stops_down[k], 0.0)
        bend = larger(own + diagonal[k] - 2.0 * np.float64(row[k]), flat)
        gain[k] = slope * slope / bend


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def _follow(step, row, partner, gradient, rise, stops_up, stops_down):
    """Bring the gradient up to date; return the shallowest slope down."""
    shallowest = np.inf
    for k in range(gradient.shape[0]):
        new = gradient[k] + step * (np.float64(row[k]) - np.float64(partner[k]))
        gradient[k] = new
        rise[k] = -new - stops_up[k]
        shallowest = smaller(shallowest, stops_down[k] - new)
    return shallowest


@njit(nogil=True, cache=True)
def _fetch(cache, slots, columns, block, ready, at):
    """Copy a row of the matrix within the set, unless it has been copied."""
    if not ready[at]:
        source = cache[slots[at]]
        for k in range(columns.shape[0]):
            block[at, k] = source[columns[k]]
        ready[at] = True


@njit(fastmath=_NO_NAN, nogil=True, cache=True, error_model="numpy")
def improve(
    cache, slots, columns, block, ready, gradient, c, low, high, diagonal, flat, target, most, split
):
    """Improve the coefficients of a working set, two at a time; return the number of pairs.

    ``block`` receives the rows of the matrix within the set, each when it is first needed; an
    anchor, which comes last, has no column to be read.  The sums of the first ``split``
    coefficients and of the others do not change.
    """
    q = gradient.shape[0]
    # The barriers against a rise or fall of a coefficient: 0, or infinite where it is at that end.
    stops_up, stops_down = np.empty(q), np.empty(q)
    for k in range(q):
        stops_up[k] = 0.0 if c[k] < high[k] else np.inf
        stops_down[k] = 0.0 if c[k] > low[k] else np.inf
    # The slope of the dual in each coefficient, where it can rise; and the gain of a partner.
    rise, gain = np.empty(q), np.empty(q)
    ends = ((0, split), (split, q))
    shallowest = np.empty(2)
    for part in range(2):
        begin, end = ends[part]
        still = diagonal[begin:end]
        shallowest[part] = _follow(
            0.0, still, still, gradient[begin:end], rise[begin:end], stops_up[begin:end],
            stops_down[begin:end],
        )  # fmt: skip
    for count in range(most):
        part, first, violation = 0, 0, -np.inf
        for k in range(2 if split < q else 1):
            begin, end = ends[k]
            if begin < end:
                at = begin + _where_largest(rise[begin:end])
                if rise[at] - shallowest[k] > violation:
                    part, first, violation = k, at, rise[at] - shallowest[k]
        if not violation > target:
            return count
        begin, end = ends[part]
        _fetch(cache, slots, columns, block, ready, first)
        row = block[first]
        own, steepest = diagonal[first], rise[first]
        _gain(
            steepest, own, row[begin:end], gradient[begin:end], stops_down[begin:end],
            diagonal[begin:end], flat, gain[begin:end],
        )  # fmt: skip
        second = begin + _where_largest(gain[begin:end])
        if not gain[second] > 0.0:
            return count
        _fetch(cache, slots, columns, block, ready, second)
        partner = block[second]
        bend = max(own + diagonal[second] - 2.0 * row[second], flat)
        step = (steepest + gradient[second]) / bend
        up, down = high[first] - c[first], c[second] - low[second]
        step = min(step, up, down)
        # An end of the range is met exactly, or rounding would leave it to be met again.
        c[first] = high[first] if step == up else c[first] + step
        c[second] = low[second] if step == down else c[second] - step
        for k in (first, second):
            stops_up[k] = 0.0 if c[k] < high[k] else np.inf
            stops_down[k] = 0.0 if c[k] > low[k] else np.inf
        for k in range(2):
            begin, end = ends[k]
            shallowest[k] = _follow(
                step, row[begin:end], partner[begin:end], gradient[begin:end], rise[begin:end],
                stops_up[begin:end], stops_down[begin:end],
            )  # fmt: skip
    return most


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
    """Solve with the transpose of the first rows of a lower triangle, in place."""
    for j in range(n - 1, -1, -1):
        v[j] /= m[j, j]
        f = v[j]
        for i in range(j):
            v[i] -= f * m[j, i]


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(matrix, rows, columns, g, free, lift, flat, u):
    """Find a direction of sum zero on ``free`` that lowers the dual; return its number of entries.

    It is the Newton step of the coefficients whose rows are independent; or, where a dependent one
    gives a direction with a slope and without curvature, that direction, and the number is
    negative.
    """
    n, kept = len(free), 0
    m = np.empty((n, n))
    v = np.empty(n)
    for k in range(n):
        row = matrix[rows[free[k]]]
        # A constant is added, which changes nothing for moves whose sum is zero.
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
def _leap(matrix, slots, columns, g, c, low, high, flat, most, chosen, moves):
    """Find a joint step of the coefficients inside their range; return how many move.

    The coefficients and their moves are stored in ``chosen`` and ``moves``.  The step ends where
    the first of them meets its end, and then the number is negative; it is zero where there is no
    step, or where more than ``most`` coefficients would take it.
    """
    q, n, lift = g.shape[0], 0, 0.0
    for k in range(q):
        if low[k] < c[k] < high[k]:
            if n == most:
                return 0
            chosen[n] = k
            n += 1
            lift = max(lift, abs(matrix[slots[columns[k]], columns[k]]))
    if n < 2:
        return 0
    u = np.zeros(n)
    n = _direction(matrix, slots[columns], columns, g, chosen[:n], lift, 64.0 * flat, u)
    length, end = (1.0, -1) if n > 0 else (np.inf, -1)
    n = abs(n)
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
    # The rounding error of the sum goes to the coefficient with the most slack.
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
    return n if end < 0 else -n


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def leaps(
    matrix, slots, places, own, flat, most, steps, g, c, low, high, first, last
):  # fmt: skip
    """Make Newton steps of up to ``most`` coefficients inside their range; return the work.

    They are those from ``first`` to ``last``, which have a sum; the gradients of all are brought up
    to date.  A step that ends where a coefficient meets its end is followed by another of the rest.
    """
    work, q = 0, len(g)
    chosen, moves = np.empty(most, dtype=np.intp), np.empty(most)
    for _ in range(steps):
        part = slice(first, last)
        n = _leap(
            matrix, slots, places[part], g[part], c[part], low[part], high[part], flat, most,
            chosen, moves,
        )  # fmt: skip
        m = abs(n)
        if m == 0:
            break
        at = slots[places[part][chosen[:m]]]
        add_rows(matrix, at, moves[:m], own, g, 0, q)
        for k in range(m):
            i = first + chosen[k]
            c[i] = min(max(c[i] + moves[k], low[i]), high[i])
        work += m * (m * m // 6 + q)
        if n > 0:
            break
    return work
