"""Residuals of least squares in twice the working precision.

A number is carried as the unevaluated sum of two floats.  Sums and products are exact to about 32
digits (Dekker, 1971; Knuth, 1969); they need arithmetic that rounds every operation by itself, so
nothing here may be reordered or contracted.
"""

from __future__ import annotations

import numba

from separatrix._compile import njit

__all__ = ["residual_sums"]

_jit = njit(nogil=True, cache=True, error_model="numpy")


@numba.njit(nogil=True, error_model="numpy")
def _two_sum(a, b):
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@numba.njit(nogil=True, error_model="numpy")
def _two_product(a, b):
    product = a * b
    c = 134217729.0 * a  # 2^27 + 1: Veltkamp's splitting into two halves
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, low


@numba.njit(nogil=True, error_model="numpy")
def _add(high, low, a, b):
    """``(high + low) + (a + b)``, normalised."""
    total, rest = _two_sum(high, a)
    rest += low + b
    out = total + rest
    return out, rest - (out - total)


@_jit
def residual_sums(x, y, s, w, w_rest, b, b_rest, gradient, gradient_rest, sums):
    """Add rows to ``X'(s r)``, and to the sums of ``s r`` and of ``s r^2``, for one target.

    ``r = y - X w - b``.  ``sums`` holds the two sums, each as a high and a low part; ``s`` is empty
    where there are no weights.
    """
    n, d = x.shape
    for i in range(n):
        high, low = _two_sum(y[i], -b)
        low -= b_rest
        for j in range(d):
            product, error = _two_product(x[i, j], w[j])
            error += x[i, j] * w_rest[j]
            high, low = _add(high, low, -product, -error)
        if len(s):
            weighted, error = _two_product(s[i], high)
            weighted, rest = _two_sum(weighted, error + s[i] * low)
        else:
            weighted, rest = high, low
        for j in range(d):
            product, error = _two_product(x[i, j], weighted)
            error += x[i, j] * rest
            gradient[j], gradient_rest[j] = _add(gradient[j], gradient_rest[j], product, error)
        sums[0], sums[1] = _add(sums[0], sums[1], weighted, rest)
        product, error = _two_product(high, weighted)
        error += high * rest + low * weighted
        sums[2], sums[3] = _add(sums[2], sums[3], product, error)
