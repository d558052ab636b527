"""The best threshold on one column: half-spaces whose plane is parallel to all axes but one.

Every column is sorted once; a cut between two neighbouring values has, on each side, the class
of the largest weight, and its risk is the weight of all others.  The sums are whole numbers, so
that the cut that is found is the best one and not merely nearly so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import pool
from separatrix._compiled.compilation import njit
from separatrix.data.design import Design
from separatrix.geometry.exact.integer_weights import BITS, MASK, IntegerWeights, join, split

# Entries of a sparse matrix that are rearranged by column at one time: an eighth of them, or
# this many.
_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Threshold:
    """A cut of one column between two neighbouring values.

    Attributes
    ----------
    column : int
    below, above : float
        The largest value on the left and the smallest on the right; for the cut that has all
        rows on its right, which stands for no cut at all, ``-inf`` and ``-inf``.
    left, right : int
        The class on each side.
    risk : Fraction
        Weight of the rows of other classes; the least that is possible.
    """

    column: int
    below: float
    above: float
    left: int
    right: int
    risk: Fraction

    def threshold(self, closed_right: bool) -> float:
        """A number between the two values that has each on its side.

        Half way, where there is a float strictly between them; else the value that lies on the
        side to which the threshold itself belongs: the right one if ``closed_right``.
        """
        # Halves first: the sum of the two can overflow.
        middle = 0.5 * self.below + 0.5 * self.above
        if self.below < middle < self.above:
            return middle
        return self.above if closed_right else self.below


def best_threshold(
    design: Design, codes: np.ndarray, n_classes: int, weights: IntegerWeights
) -> Threshold:
    """The threshold of the least risk: the first such column, and in it the lowest cut.

    Takes ``O(n d log n)``; in a sparse matrix only the stored entries are sorted.

    Parameters
    ----------
    design : Design
        Read a column at a time; repeated entries of a sparse one are added up in a copy.
    codes : ndarray of int, shape (n_samples,)
        Class of every row.
    n_classes : int
    weights : IntegerWeights
        Rows of weight zero are left out.
    """
    matrix = design.matrix
    if sp.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    # A negative class marks the rows that are left out.
    present = (weights.high | weights.low) > 0
    classes = np.where(present, codes, -1).astype(np.int32)
    totals = [
        join(*(int(part[classes == k].sum()) for part in (weights.high, weights.low)))
        for k in range(n_classes)
    ]
    count = int(np.count_nonzero(present))
    best_cuts = _best_cuts_of_two if n_classes == 2 else _best_cuts_of_several

    def look(first: int, last: int, out: list[_Cut]) -> None:
        for start, starts, values, rows in _sorted_columns(matrix, classes, first, last):
            entries = (values, rows, starts, classes, weights.high, weights.low)
            out.extend(best_cuts(start, entries, totals, count))

    parts = pool.ranges(design.n_features, 20.0 * design.n_stored)
    found: list[list[_Cut]] = [[] for _ in parts]
    pool.run([partial(look, *part, out) for part, out in zip(parts, found, strict=True)])
    # No cut at all: every row on the right, with the largest class.
    majority = totals.index(max(totals))
    uncut = _Cut(totals[majority], 0, -np.inf, -np.inf, majority, majority)
    # Among equal cuts the first column, and on it the lowest cut.
    best = min(
        (uncut, *itertools.chain.from_iterable(found)),
        key=lambda cut: (-cut.weight, cut.column, cut.below),
    )
    return Threshold(*best[1:], (sum(totals) - best.weight) * weights.unit)


class _Cut(NamedTuple):
    """A candidate: the weight of the rows that are on a side with their own class, and where."""

    weight: int
    column: int
    below: float
    above: float
    left: int
    right: int


def _best_cuts_of_two(
    start: int, entries: tuple[np.ndarray, ...], totals: list[int], count: int
) -> Iterator[_Cut]:
    """The best cuts of some columns, the first of which is ``start``.

    One sum determines both sides: the weight of class 0 less that of class 1.
    """
    columns, cuts = np.full(2, -1), np.zeros((2, 2))
    best = np.zeros((2, 2), np.int64)
    _scan_two(*entries, np.array(split(totals[0] - totals[1])), count, columns, cuts, best)
    for left in np.flatnonzero(columns >= 0).tolist():
        lead = join(*best[left].tolist())
        weight = totals[1] + lead if left == 0 else totals[0] - lead
        below, above = cuts[left].tolist()
        yield _Cut(weight, start + int(columns[left]), below, above, left, 1 - left)


def _best_cuts_of_several(
    start: int, entries: tuple[np.ndarray, ...], totals: list[int], count: int
) -> Iterator[_Cut]:
    """The best cut of some columns for several classes, with the largest class on each side."""
    place, cut, best = np.full(3, -1), np.zeros(2), np.zeros(2, np.int64)
    parts = np.array([split(total) for total in totals])
    _scan(*entries, parts, count, place, cut, best)
    column, left, right = place.tolist()
    if column >= 0:
        below, above = cut.tolist()
        yield _Cut(join(*best.tolist()), start + column, below, above, left, right)


def _sorted_columns(
    matrix: Any, classes: np.ndarray, first: int, last: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Columns ``first`` to ``last``, a few at a time: the first of them, where each begins and
    ends, and their stored values in ascending order with the rows that these are of."""
    kept = np.flatnonzero(classes >= 0)
    left_out = len(kept) < len(classes)
    if not sp.issparse(matrix):
        for j in range(first, last):
            column = np.ascontiguousarray(matrix[:, j])
            rows = np.argsort(column)
            if left_out:
                rows = rows[classes[rows] >= 0]
            yield j, np.array([0, len(rows)]), column[rows], rows
        return
    # Before anything is sorted: what is left out need not be.
    matrix = matrix[kept] if left_out else matrix
    ends = np.cumsum(np.bincount(matrix.indices, minlength=last))
    limit = max(_ENTRIES, int(ends[-1]) // 8)
    while first < last:
        before = ends[first - 1] if first else 0
        stop = int(np.searchsorted(ends[:last], before + limit, side="right"))
        part = matrix[:, first : max(first + 1, stop)].tocsc()
        width = part.shape[1]
        order = np.lexsort((part.data, np.repeat(np.arange(width), np.diff(part.indptr))))
        yield first, part.indptr.astype(np.int64), part.data[order], kept[part.indices[order]]
        first += width


@njit(nogil=True, cache=True)
def _scan_two(
    values: np.ndarray,
    rows: np.ndarray,
    starts: np.ndarray,
    classes: np.ndarray,
    high: np.ndarray,
    low: np.ndarray,
    total: np.ndarray,
    count: int,
    columns: np.ndarray,
    cuts: np.ndarray,
    best: np.ndarray,
) -> None:
    """Find the cuts where class 0 leads class 1 most, and least, on the left.

    Entry p belongs to row ``rows[p]``; of ``count`` rows those without an entry in a column are
    a block of zeros there, whose lead is what the entries leave of the total.
    """
    for c in range(starts.shape[0] - 1):
        start, stop = starts[c], starts[c + 1]
        block_high, block_low = total[0], total[1]
        pending = stop - start < count
        if pending:
            for p in range(start, stop):
                i = rows[p]
                sign = 1 - 2 * classes[i]
                part = block_low - sign * low[i]
                block_high += (part >> BITS) - sign * high[i]
                block_low = part & MASK
        lead_high, lead_low = np.int64(0), np.int64(0)
        previous = 0.0
        first = True
        p = start
        while p < stop or pending:
            block = pending and (p == stop or values[p] >= 0.0)
            value = 0.0 if block else np.float64(values[p])
            if not first and value != previous:
                hi, lo = lead_high, lead_low
                if columns[0] < 0 or hi > best[0, 0] or (hi == best[0, 0] and lo > best[0, 1]):
                    columns[0], best[0, 0], best[0, 1] = c, hi, lo
                    cuts[0, 0], cuts[0, 1] = previous, value
                if columns[1] < 0 or hi < best[1, 0] or (hi == best[1, 0] and lo < best[1, 1]):
                    columns[1], best[1, 0], best[1, 1] = c, hi, lo
                    cuts[1, 0], cuts[1, 1] = previous, value
            first = False
            previous = value
            if block:
                pending = False
                part = lead_low + block_low
                lead_high += block_high + (part >> BITS)
            else:
                i = rows[p]
                p += 1
                sign = 1 - 2 * classes[i]
                part = lead_low + sign * low[i]
                lead_high += sign * high[i] + (part >> BITS)
            lead_low = part & MASK


@njit(nogil=True, cache=True)
def _raise(
    sums: np.ndarray,
    k: int,
    high: int,
    low: int,
    top_high: int,
    top_low: int,
    top: int,
) -> tuple[int, int, int]:
    """Add a weight to class ``k``; the largest class so far, the first of equals."""
    part = sums[1, k] + low
    hi = sums[0, k] + high + (part >> BITS)
    lo = part & MASK
    sums[0, k], sums[1, k] = hi, lo
    # Without branches, which would be taken as unpredictably as the classes come.
    larger = (hi > top_high) | ((hi == top_high) & ((lo > top_low) | ((lo == top_low) & (k < top))))
    return hi if larger else top_high, lo if larger else top_low, k if larger else top


@njit(nogil=True, cache=True)
def _scan(
    values: np.ndarray,
    rows: np.ndarray,
    starts: np.ndarray,
    classes: np.ndarray,
    high: np.ndarray,
    low: np.ndarray,
    totals: np.ndarray,
    count: int,
    place: np.ndarray,
    cut: np.ndarray,
    best: np.ndarray,
) -> None:
    """Find the cut with most weight on the right sides, over some columns; the first of equals.

    Entries and zeros as in :func:`_scan_two`.  Two passes: from the left, noting the largest class
    so far; and from the right, adding that of the other side.  So the work does not grow with the
    classes.
    """
    n_classes = totals.shape[0]
    longest = n_classes
    for c in range(starts.shape[0] - 1):
        longest = max(longest, n_classes + starts[c + 1] - starts[c])
    # The values of a column, side by side in ascending order: rows lie anywhere in memory.
    value = np.empty(longest)
    entry_class = np.empty(longest, dtype=np.int64)
    entry_high = np.empty(longest, dtype=np.int64)
    entry_low = np.empty(longest, dtype=np.int64)
    left_high = np.empty(longest, dtype=np.int64)
    left_low = np.empty(longest, dtype=np.int64)
    left = np.empty(longest, dtype=np.int64)
    sums = np.empty((2, n_classes), dtype=np.int64)
    zero = np.int64(0)
    for c in range(starts.shape[0] - 1):
        first, stored = starts[c], starts[c + 1] - starts[c]
        # The block of zeros is one entry a class, before the first value that is not negative.
        block = n_classes if stored < count else 0
        size = stored + block
        middle = 0
        for p in range(stored):
            v = np.float64(values[first + p])
            if v < 0.0:
                middle = p + 1
            i = rows[first + p]
            q = p if v < 0.0 else p + block
            value[q], entry_class[q], entry_high[q], entry_low[q] = v, classes[i], high[i], low[i]
        if block:
            for k in range(n_classes):
                q = middle + k
                value[q], entry_class[q] = 0.0, k
                entry_high[q], entry_low[q] = totals[k, 0], totals[k, 1]
            for p in range(size):
                if p < middle or p >= middle + block:
                    q = middle + entry_class[p]
                    part = entry_low[q] - entry_low[p]
                    entry_high[q] += (part >> BITS) - entry_high[p]
                    entry_low[q] = part & MASK
        sums[:] = 0
        top_high, top_low, top = zero, zero, zero
        for p in range(size):
            k, hi, lo = entry_class[p], entry_high[p], entry_low[p]
            top_high, top_low, top = _raise(sums, k, hi, lo, top_high, top_low, top)
            left_high[p], left_low[p], left[p] = top_high, top_low, top
        sums[:] = 0
        top_high, top_low, top = zero, zero, zero
        here = False
        for p in range(size - 1, 0, -1):
            k, hi, lo = entry_class[p], entry_high[p], entry_low[p]
            top_high, top_low, top = _raise(sums, k, hi, lo, top_high, top_low, top)
            if value[p - 1] != value[p]:
                part = left_low[p - 1] + top_low
                hi, lo = left_high[p - 1] + top_high + (part >> BITS), part & MASK
                equal = hi == best[0] and lo == best[1]
                larger = hi > best[0] or (hi == best[0] and lo > best[1])
                if place[0] < 0 or larger or (here and equal):
                    here = True
                    best[0], best[1] = hi, lo
                    place[0], place[1], place[2] = c, left[p - 1], top
                    cut[0], cut[1] = value[p - 1], value[p]
