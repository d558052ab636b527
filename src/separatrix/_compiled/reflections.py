"""Householder's reflections in twice the working precision."""

from __future__ import annotations

import math

from separatrix._compiled.double_double import (
    add_parts,
    compiled,
    multiply_parts,
    strict,
    two_product,
    two_sum,
)


@strict
def _reciprocal(high, low):
    """``1 / (high + low)`` in two parts."""
    out = 1.0 / high
    product, rest = two_product(out, high)
    return two_sum(out, out * ((1.0 - product) - rest - out * low))


@strict
def _root(high, low):
    """``sqrt(high + low)`` in two parts, of a positive number."""
    out = math.sqrt(high)
    product, rest = two_product(out, out)
    return two_sum(out, ((high - product) - rest + low) / (2.0 * out))


@strict
def _scale(column, first):
    """A power of two that brings the largest entry from ``first`` on near one; 0 if all are 0."""
    top = 0.0
    for i in range(first, len(column)):
        top = max(top, abs(column[i]))
    return math.ldexp(1.0, min(1000, -math.frexp(top)[1])) if top > 0.0 else 0.0


@compiled
def reflect(high, low, fixed, count, order):
    """Make a matrix triangular in place, with pivoting of its columns.

    Where the rows come from the largest to the smallest, the error of each is relative to its own
    size, however unequal they are (Powell and Reid, 1969; Cox and Higham, 1998).

    Parameters
    ----------
    high, low : ndarray of shape (n_columns, n_rows)
        The transposed matrix in two parts.  Afterwards it is ``R`` in the first ``count`` columns,
        and ``Q'`` times the original entries in the others.
    fixed : int
        The number of leading columns that keep their place.
    count : int
        The number of columns that are made triangular, those of the largest remainder first.
    order : ndarray of int64, shape (count,)
        The columns' numbers; they are permuted with them.
    """
    width, n = high.shape
    for k in range(min(count, n)):
        if k >= fixed:
            best, most = k, -1.0
            for j in range(k, count):
                scale = _scale(high[j], k)
                total = 0.0
                for i in range(k, n):
                    total += (high[j, i] * scale) ** 2
                length = math.sqrt(total) / scale if scale > 0.0 else 0.0
                if length > most:
                    best, most = j, length
            if best != k:
                order[k], order[best] = order[best], order[k]
                for i in range(n):
                    high[k, i], high[best, i] = high[best, i], high[k, i]
                    low[k, i], low[best, i] = low[best, i], low[k, i]
        scale = _scale(high[k], k)
        if scale == 0.0:
            continue
        square, below = 0.0, 0.0
        for i in range(k, n):
            high[k, i] *= scale
            low[k, i] *= scale
            a, b = multiply_parts(high[k, i], low[k, i], high[k, i], low[k, i])
            square, below = add_parts(square, below, a, b)
        length, rest = _root(square, below)
        if high[k, k] < 0.0:
            length, rest = -length, -rest
        high[k, k], low[k, k] = add_parts(high[k, k], low[k, k], length, rest)
        a, b = multiply_parts(high[k, k], low[k, k], length, rest)
        factor, error = _reciprocal(a, b)
        for j in range(k + 1, width):
            total, below = 0.0, 0.0
            for i in range(k, n):
                a, b = multiply_parts(high[k, i], low[k, i], high[j, i], low[j, i])
                total, below = add_parts(total, below, a, b)
            total, below = multiply_parts(total, below, -factor, -error)
            for i in range(k, n):
                a, b = multiply_parts(high[k, i], low[k, i], total, below)
                high[j, i], low[j, i] = add_parts(high[j, i], low[j, i], a, b)
        for i in range(k, n):
            high[k, i] = low[k, i] = 0.0
        high[k, k], low[k, k] = -length / scale, -rest / scale
