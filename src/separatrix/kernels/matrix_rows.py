"""Compiled sums over parts of a kernel's matrix: of its rows, and of what a certificate is made."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit
from separatrix.losses.hinge import _hinge_conjugate as conjugate_at
from separatrix.losses.hinge import _hinge_value as value_at

# Columns at a time: what the rows are added to stays in the first-level cache.
_PIECE = 2048


@njit(fastmath=FASTMATH, nogil=True, cache=True)
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


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def add_tile(tile, c, rows, out):
    """``out[rows] += tile @ c``, summed in float64 whatever the tile's type."""
    for i in range(tile.shape[0]):
        row, added = tile[i], 0.0
        for j in range(c.shape[0]):
            added += row[j] * c[j]
        out[rows[i]] += added


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def add_mirrored_tile(tile, c, columns, out):
    """``out[columns] += c @ tile``, likewise."""
    added = np.zeros(columns.shape[0])
    for i in range(tile.shape[0]):
        row, factor = tile[i], c[i]
        for j in range(columns.shape[0]):
            added[j] += factor * row[j]
    for j in range(columns.shape[0]):
        out[columns[j]] += added[j]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def add_parts(rows, places, columns, starts, runs, run_starts, c, out, first, last):
    """Add to every part's vector its coefficients times those of its rows that are at hand.

    Part ``p`` has the entries from ``starts[p]`` on, at the positions ``columns`` of the matrix,
    and the runs from ``run_starts[p]`` on; ``places`` says where a position's row is, or -1.
    """
    for p in range(first, last):
        a, b = starts[p], starts[p + 1]
        slots, changes = np.empty(b - a, dtype=np.intp), np.empty(b - a)
        m = 0
        for i in range(a, b):
            if c[i] != 0.0 and places[columns[i]] >= 0:
                slots[m], changes[m] = places[columns[i]], c[i]
                m += 1
        if m:
            own = runs[run_starts[p] : run_starts[p + 1]]
            add_rows(rows, slots[:m], changes[:m], own, out[a:b], 0, b - a)


def charges(
    starts, columns, y, upper, diagonal, norms, c, product, b, entry, by_norm, unit, entry_error,
    high, sums,
):  # fmt: skip
    """Compute for every part the sums that a charged bound consists of.

    They are the size of the coefficients; a bound on the error of ``c . Kc``, its value, and the
    size of its terms; the losses at the margins' least favourable ends (with multipliers of one
    sign a loss never rises) and at the margins themselves; the conjugate, and the sizes of its
    terms and of the multipliers; a bound of ``sum |c| |phi|``; the sums of the multipliers of
    either class; and the number of those out of their range.
    An entry of the matrix can be off by ``entry + by_norm (norms_i + norms_j)``, and each term of a
    product by ``unit`` for every other.
    """
    for p in range(starts.shape[0] - 1):
        size, normed, used = 0.0, 0.0, 8.0
        for i in range(starts[p], starts[p + 1]):
            size += abs(c[i])
            normed += abs(c[i]) * norms[columns[i]]
            used += 1.0 if c[i] != 0.0 else 0.0
        # Rounded up by far more than the rounding of a sum.
        shared = (size * (entry + used * unit) + by_norm * normed) * (1.0 + 1e-9) + 2.0**-1000
        own = by_norm * size * (1.0 + 1e-9)
        errors, square, terms, losses, near = 0.0, 0.0, 0.0, 0.0, 0.0
        conjugate, spans, lengths, up, down, outside = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(starts[p], starts[p + 1]):
            u, a = upper[i], y[i] * c[i]
            error = shared + own * norms[columns[i]]
            errors += abs(a) * error
            term = c[i] * product[i]
            square += term
            terms += abs(term)
            z = y[i] * (product[i] + b[p])
            off = (error + 1e-15 * abs(z)) * (1.0 + 1e-9)
            losses += u * value_at(z - off)
            near += u * value_at(z)
            value = conjugate_at(a, u)
            value = value if u > 0.0 else 0.0
            conjugate += value
            spans += abs(value) + abs(a)
            lengths += abs(a) * np.sqrt(abs(diagonal[columns[i]]) * (1.0 + 1e-9) + entry_error)
            side = 0.5 + 0.5 * y[i]
            up += side * a
            down += (1.0 - side) * a
            inside = (u > 0.0) & (a >= 0.0) & (a <= high * u)
            outside += 0.0 if inside | (a == 0.0) else 1.0
        sums[0, p], sums[1, p], sums[2, p], sums[3, p] = size, errors, square, terms
        sums[4, p], sums[5, p], sums[6, p], sums[7, p] = losses, near, conjugate, spans
        sums[8, p], sums[9, p], sums[10, p], sums[11, p] = lengths, up, down, outside
