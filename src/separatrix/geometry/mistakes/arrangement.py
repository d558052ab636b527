r"""The fewest mistakes by trying all ways in which a hyperplane can part the points.

A row :math:`z_i` (a point with its sign, lifted by a constant where there is an offset) requires
:math:`z_i \cdot u > 0`.  The planes :math:`z_i \cdot u = 0` cut the space of all hyperplanes
:math:`u` into cells, and in one cell the mistakes are the same.  Every cell has a face of
dimension two, where :math:`D - 2` independent rows hold with equality: so every cell is met by
turning a hyperplane about each :math:`D - 2` of the rows, which sorts the others by angle.  In the
plane that is a line that turns about each of the points.  ``O(n^(D-1) log n)``.

The angles are compared in floating point with bounds on every rounding.  What they leave in doubt
is taken for the best; only where that could be better than the best known is it settled, in
integer arithmetic.  So nothing rests on a tolerance, and little is computed exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix.geometry.exact.rational import (
    common_denominator,
    dot,
    echelon,
    independent,
    solve,
    whole_numbers,
)
from separatrix.geometry.points import Cloud

_U = 2.0**-53
# More than all that underflow can take from a few products and sums.
_TINY = 1e-300
_HUGE = 1e300
# Leaves times rows that are looked at between two looks at the deadline.
_CHUNK = 1 << 22

_Vector = list[Fraction]


# --- in integers ----------------------------------------------------------------------------


def fewest(rows: np.ndarray, costs: Sequence[int]) -> tuple[int, _Vector]:
    """The least cost of the rows with ``z . u <= 0``, and such a ``u``; by trying everything.

    Parameters
    ----------
    rows : ndarray of object, shape (n, D)
        Integers, of rank D; none is zero.
    costs : sequence of int
    """
    n, size = rows.shape
    if size == 1:
        lead = sum(c if z > 0 else -c for c, (z,) in zip(costs, rows, strict=True))
        wrong = sum(c for c, (z,) in zip(costs, rows, strict=True) if (z > 0) != (lead > 0))
        return wrong, [Fraction(1 if lead > 0 else -1)]
    if n == size:
        # Independent rows can have any signs.
        u = solve(rows, [1] * n)
        assert u is not None
        return 0, u
    best: tuple[int, _Vector] | None = None
    for pivots in itertools.combinations(range(n), size - 2):
        found = turn(rows, costs, pivots, None if best is None else best[0])
        best = found or best
    assert best is not None
    return best


def turn(
    rows: np.ndarray, costs: Sequence[int], pivots: Sequence[int], beat: int | None = None
) -> tuple[int, _Vector] | None:
    """The least cost of the cells that touch the face where the ``pivots`` hold with equality.

    None where the pivots depend on one another, and where the cost is not below ``beat``.
    """
    plane = _kernel(rows[list(pivots)])
    if len(plane) != 2:
        return None
    x, y = (rows.dot(v) for v in plane)
    level = [i for i in range(len(rows)) if not x[i] and not y[i]]
    others = [i for i in range(len(rows)) if x[i] or y[i]]
    cost, (s, t) = _half_turn([(x[i], y[i]) for i in others], [costs[i] for i in others])
    if beat is not None and cost >= beat:
        return None
    u = [Fraction(a * s + b * t) for a, b in zip(*plane, strict=True)]
    if not level:
        return cost, u
    # The rows on the face are decided by a step off it, too small to change any other.
    _, used = echelon(rows[list(pivots)])
    more, part = fewest(rows[np.ix_(level, used)], [costs[i] for i in level])
    if beat is not None and cost + more >= beat:
        return None
    step = [Fraction(0)] * len(u)
    for j, v in zip(used, part, strict=True):
        step[j] = v
    lengths = [abs(a / b) for i in others if (a := dot(rows[i], u)) * (b := dot(rows[i], step)) < 0]
    length = min(lengths, default=Fraction(2)) / 2
    return cost + more, [a + length * b for a, b in zip(u, step, strict=True)]


def _half_turn(vectors: list[tuple[int, int]], costs: list[int]) -> tuple[int, tuple[int, int]]:
    """The ``u`` in the plane with the least cost of ``v . u < 0``, orthogonal to none of them."""
    if not vectors:
        return 0, (1, 0)
    # A line through the origin turns from angle 0 on; ahead are the rows on its left, which are
    # right for its normal.  Each row is met at its angle, or at that of its opposite.
    flips = [1 if y > 0 or (y == 0 and x > 0) else -1 for x, y in vectors]
    met = [(f * x, f * y) for f, (x, y) in zip(flips, vectors, strict=True)]
    groups = _by_angle(met)
    cost = sum(c for c, f in zip(costs, flips, strict=True) if f < 0)
    total = sum(costs)
    best: tuple[int, int, int] | None = None
    for k, group in enumerate(groups):
        for value, sign in ((cost, 1), (total - cost, -1)):
            if best is None or value < best[0]:
                best = (value, k, sign)
        cost += sum(costs[i] * flips[i] for i in group)
    assert best is not None
    value, k, sign = best
    # Between the group before and this one; before the first comes the last, half a turn ago.
    after, before = met[groups[k][0]], met[groups[k - 1][0]]
    if k == 0:
        before = (-before[0], -before[1])
    x, y = before[0] + after[0], before[1] + after[1]
    if _cross(before, after) == 0:
        x, y = after[1], -after[0]
    return value, (-sign * y, sign * x)


def _by_angle(vectors: list[tuple[int, int]]) -> list[list[int]]:
    """Vectors of angles in [0, pi) in groups of equal ones, ascending."""

    def place(x: int, y: int) -> float:
        # Minus the cotangent.  Python rounds the quotient of integers correctly, so that a larger
        # one never becomes a smaller float: only equal floats are in doubt.
        if y == 0:
            return -math.inf
        try:
            return -x / y
        except OverflowError:
            return -math.inf if x > 0 else math.inf

    def compare(i: int, j: int) -> int:
        return _cross(vectors[j], vectors[i])

    places = [place(x, y) for x, y in vectors]
    groups: list[list[int]] = []
    order = sorted(range(len(vectors)), key=lambda i: places[i])
    for _, run in itertools.groupby(order, key=lambda i: places[i]):
        equal = list(run)
        if any(_cross(vectors[i], vectors[j]) for i, j in itertools.pairwise(equal)):
            equal.sort(key=cmp_to_key(compare))
        groups.append(equal[:1])
        for i, j in itertools.pairwise(equal):
            if _cross(vectors[i], vectors[j]) == 0:
                groups[-1].append(j)
            else:
                groups.append([j])
    return groups


def _cross(a: tuple[int, int], b: tuple[int, int]) -> int:
    return a[0] * b[1] - a[1] * b[0]


def _kernel(matrix: np.ndarray) -> list[np.ndarray]:
    """Integer vectors that span what is orthogonal to all rows."""
    size = matrix.shape[1]
    rows, leading = echelon(matrix)
    out = []
    for j in (j for j in range(size) if j not in leading):
        v = [Fraction(0)] * size
        v[j] = Fraction(1)
        for row, lead in zip(rows, leading, strict=False):
            v[lead] = -row[j]
        out.append(common_denominator(v)[0])
    return out


def _spanning(rows: np.ndarray) -> list[int] | None:
    """Independent columns of which all others are combinations; None where that is not certain."""
    some, columns = independent(rows)
    used = sorted(columns.tolist())
    square = rows[np.ix_(some, used)]
    for j in set(range(rows.shape[1])) - set(used):
        x = solve(square, rows[some, j])
        if x is None:
            return None
        whole, shared = common_denominator(x)
        if np.any(rows[:, used].dot(whole) != rows[:, j] * shared):
            return None
    return used


# --- in floats, with bounds on the rounding -------------------------------------------------


@njit(nogil=True, cache=True)
def _project(
    values: np.ndarray,
    errors: np.ndarray,
    i: int,
    whole: bool,
    out: np.ndarray,
    out_errors: np.ndarray,
) -> bool:
    """Rows modulo row ``i``: one coordinate is eliminated from all.  False if it may be zero.

    ``|values - truth| <= errors``, before and after.  With ``whole`` the last coordinates are -1
    or +1, and that is the one.
    """
    n, size = values.shape
    c = size - 1
    if not whole:
        for j in range(size):
            if abs(values[i, j]) > abs(values[i, c]):
                c = j
        if not abs(values[i, c]) > errors[i, c]:
            return False
    f, ef = values[i, c], errors[i, c]
    for k in range(n):
        g, eg = values[k, c], errors[k, c]
        column = 0
        for j in range(size):
            if j == c:
                continue
            v, p, ev, ep = values[k, j], values[i, j], errors[k, j], errors[i, j]
            a, b = v * f, p * g
            out[k, column] = a - b
            if whole:
                error = ev + ep + 1.5 * _U * abs(a - b)
            else:
                error = abs(v) * ef + abs(f) * ev + ev * ef + abs(p) * eg + abs(g) * ep + ep * eg
                error = 1.001 * error + 2.5 * _U * (abs(a) + abs(b))
            out_errors[k, column] = error + _TINY
            column += 1
    return True


@njit(nogil=True, cache=True)
def _first_candidate(
    values: np.ndarray,
    errors: np.ndarray,
    start: int,
    stop: int,
    whole: bool,
    costs: np.ndarray,
    beat: int,
) -> int:
    """The first row about which a turn might cost less than ``beat``, or that may be zero; or -1.

    ``values`` has three columns; modulo a row they are vectors in the plane.
    """
    n = values.shape[0]
    flat = np.empty((n, 2))
    slack = np.empty((n, 2))
    low = np.empty(n)
    high = np.empty(n)
    change = np.empty(n, dtype=np.int64)
    for i in range(start, stop):
        if not _project(values, errors, i, whole, flat, slack):
            return i
        count = 0
        cost = np.int64(0)
        total = np.int64(0)
        for k in range(n):
            x, y, ex, ey = flat[k, 0], flat[k, 1], slack[k, 0], slack[k, 1]
            # A row too near the start of the turn, or too near zero, counts as right throughout.
            if not abs(y) > ey:
                continue
            # Minus the cotangent grows with the angle.
            place = -x / y
            error = 1.001 * ((ex + abs(place) * ey) / (abs(y) - ey) + 4 * _U * abs(place))
            if error < _HUGE:
                low[count] = place - error - _TINY
                high[count] = place + error + _TINY
                change[count] = costs[k] if y > 0.0 else -costs[k]
                if y < 0.0:
                    cost += costs[k]
                total += costs[k]
                count += 1
        # At angle 0, and half a turn later.
        if cost < beat or total - cost < beat:
            return i
        order = np.argsort(low[:count])
        p = 0
        while p < count:
            # Places that overlap may come in any order, or all at once.
            reach = high[order[p]]
            least, most = cost, cost
            first = p
            while p < count and (p == first or not low[order[p]] > reach):
                k = order[p]
                reach = max(reach, high[k])
                cost += change[k]
                least += min(change[k], 0)
                most += max(change[k], 0)
                p += 1
            if p - first == 1:
                least, most = cost, cost
            if least < beat or total - most < beat:
                return i
    return -1


class Arrangement:
    """All ways to part some points.

    Parameters
    ----------
    cloud : Cloud
        Different points, each with one sign; without an offset none at the origin.
    costs : list of int
        The cost of a mistake on each point; positive.
    """

    def __init__(self, cloud: Cloud, costs: list[int]) -> None:
        # With an offset, a best hyperplane with points on its positive side can be pushed towards
        # them until it meets one, which is right, or passing it would be better: so one of the
        # pivots has that class, and it may be the smaller one.
        positive = cloud.y > 0
        rare = positive if 2 * np.count_nonzero(positive) <= cloud.n else ~positive
        order = np.concatenate([np.flatnonzero(rare), np.flatnonzero(~rare)])
        self.first = int(np.count_nonzero(rare)) if cloud.lifted else cloud.n
        self.costs = [costs[i] for i in order.tolist()]
        z = cloud.signed(order)
        # In integers, each column over a power of two of its own.
        rows = np.empty(z.shape, dtype=object)
        self._shifts = []
        for j, column in enumerate(z.T):
            rows[:, j], shift = whole_numbers(column)
            self._shifts.append(shift)
        self._columns = _spanning(rows)
        used = list(range(z.shape[1])) if self._columns is None else self._columns
        self.rows, z = rows[:, used], z[:, used]
        self.n, self.size = z.shape
        # And in floats, each column over another, which brings it near one.
        exponents = np.frexp(np.abs(z).max(axis=0))[1]
        self._constant = cloud.lifted and used[-1] == len(self._shifts) - 1
        if self._constant:
            exponents[-1] = 0
        with np.errstate(under="ignore"):
            # In the order in which those of a projection lie.
            self._floats = np.ldexp(z, -exponents, order="C")
            whole = np.ldexp(self._floats, exponents) == z
        self._errors = np.ascontiguousarray(np.where(whole, 0.0, _TINY))
        # Costs rounded down keep every candidate a candidate.
        self._shift = max(0, sum(costs).bit_length() - 62)
        self._costs = np.array([c >> self._shift for c in self.costs], dtype=np.int64)

    @property
    def complete(self) -> bool:
        """Whether what is found last is the best: the rows are known to span a space."""
        return self._columns is not None

    @property
    def effort(self) -> float:
        """Roughly the seconds that trying everything takes."""
        pivots = max(self.size - 2, 0)
        # At least one of them is among the first.
        turns = math.comb(self.n, pivots)
        turns -= math.comb(self.n - self.first, pivots) if pivots else 0
        return float(turns) * self.n * (20.0 + 8.0 * math.log2(self.n + 1)) * 1e-9

    def search(
        self, beat: int, deadline: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, tuple[Fraction, ...]]]:
        """Ever better vectors ``u`` (in the points' own coordinates) with their costs.

        Parameters
        ----------
        beat : int
            A cost that is known to be reached; what is found costs less.  When there is no more,
            that which was found last is the least, or ``beat``.
        deadline : callable
            Called now and then; may raise.
        """
        if self.size <= 2:
            found = fewest(self.rows, self.costs)
            if found[0] < beat:
                yield found[0], self._own(found[1])
            return
        self._beat = beat
        for pivots in self._candidates(deadline):
            better = turn(self.rows, self.costs, pivots, self._beat)
            if better is not None:
                self._beat = better[0]
                yield self._beat, self._own(better[1])

    def _own(self, u: _Vector) -> tuple[Fraction, ...]:
        out = [Fraction(0)] * len(self._shifts)
        for j, v in zip(self._columns or [], u, strict=True):
            out[j] = v * (1 << self._shifts[j])
        return tuple(out)

    def _candidates(self, deadline: Callable[[], None]) -> Iterator[tuple[int, ...]]:
        """Pivots about which a turn might cost less than what is to be beaten by then."""
        step = max(1, _CHUNK // self.n)

        def descend(
            values: np.ndarray, errors: np.ndarray, pivots: tuple[int, ...], stop: int
        ) -> Iterator[tuple[int, ...]]:
            start = pivots[-1] + 1 if pivots else 0
            whole = self._constant and not pivots
            if values.shape[1] == 3:
                while start < stop:
                    deadline()
                    end = min(start + step, stop)
                    goal = -(-self._beat >> self._shift)
                    i = _first_candidate(values, errors, start, end, whole, self._costs, goal)
                    if i >= 0:
                        yield (*pivots, i)
                    start = end if i < 0 else i + 1
                return
            shape = (self.n, values.shape[1] - 1)
            for i in range(start, stop):
                out, out_errors = np.empty(shape), np.empty(shape)
                if _project(values, errors, i, whole, out, out_errors):
                    yield from descend(out, out_errors, (*pivots, i), self.n)
                elif len(_kernel(self.rows[[*pivots, i]])) == self.size - len(pivots) - 1:
                    # Too near zero for floats: everything exactly.
                    rest = self.size - 3 - len(pivots)
                    for more in itertools.combinations(range(i + 1, self.n), rest):
                        deadline()
                        yield (*pivots, i, *more)

        yield from descend(self._floats, self._errors, (), self.first)
