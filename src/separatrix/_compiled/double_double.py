"""Error-free transformations, and sums of products in twice the working precision.

A number is carried as the unevaluated sum of two floats.  The rounding error of a sum or of a
product of floats is a float itself, and is found by a few more operations (Dekker, 1971; Knuth,
1969), so that sums of products keep about 32 digits.  This needs arithmetic that rounds every
operation by itself: nothing here may be reordered or contracted.

Every sum comes with the sum of the sizes of its terms, by which its error is bounded: with
:math:`n` terms it is at most :math:`8 (n + 4) u^2` times that, :math:`u = 2^{-53}`, where nothing
overflows; what underflows adds :math:`8 (n + 4)\\,2^{-1074}`.

References
----------
Dekker (1971), A floating-point technique for extending the available precision.  Knuth (1969), The
Art of Computer Programming, 4.2.2.  Ogita, Rump and Oishi (2005), Accurate sum and dot product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._compiled.compilation import njit

#: The decorator of functions that compiled loops call: no reordering, no contraction.
strict = njit(nogil=True, error_model="numpy")
#: The decorator of the loops themselves, which are kept on disk.
compiled = njit(nogil=True, cache=True, error_model="numpy")

_LOG2E = 1.4426950408889634
# ln 2 in two parts; whole multiples of each are formed exactly, as two floats.
_LN2_A = 0.6931471805599453
_LN2_B = 2.3190468138462996e-17
# The number of reciprocals of factorials, in two parts each.
_TERMS = 14


def _reciprocal_factorials() -> np.ndarray:
    from fractions import Fraction

    out = np.zeros((_TERMS, 2))
    for k in range(_TERMS):
        exact = Fraction(1, math.factorial(k))
        out[k, 0] = float(exact)
        out[k, 1] = float(exact - Fraction(out[k, 0]))
    return out


_FACTORIALS = _reciprocal_factorials()


def sum_parts(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b`` rounded, and the rounding error; for numbers or for whole arrays."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def product_parts(a: Any, b: Any) -> tuple[Any, Any]:
    """``a b`` rounded, and the rounding error (exact where nothing under- or overflows)."""
    product = a * b
    c = 134217729.0 * a  # 2^27 + 1: Veltkamp's splitting into two halves
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, low


#: The same functions for compiled loops.
two_sum = strict(sum_parts)
two_product = strict(product_parts)


@strict
def add_parts(high, low, a, b):
    """``(high + low) + (a + b)``, normalised; off by some ``u^2`` of the sum of the sizes."""
    total, rest = two_sum(high, a)
    rest += low + b
    out = total + rest
    return out, rest - (out - total)


@strict
def add_closely(high, low, a, b):
    """``(high + low) + (a + b)``, normalised; off by some ``u^2`` of the sum itself."""
    total, rest = two_sum(high, a)
    below, error = two_sum(low, b)
    rest += below
    out = total + rest
    rest = (rest - (out - total)) + error
    total = out + rest
    return total, rest - (total - out)


@strict
def multiply_parts(high, low, a, b):
    """``(high + low) (a + b)``, normalised."""
    product, rest = two_product(high, a)
    rest += high * b + low * a
    out = product + rest
    return out, rest - (out - product)


@strict
def _exp_parts(high, low):
    """``exp(high + low)`` for ``high <= 0``, to about 30 digits; below -700 in single precision.

    The argument is reduced by a multiple of ``ln 2`` and by a factor of 256; the series of the rest
    is squared eight times.
    """
    if high < -700.0:
        return np.exp(high), 0.0
    k = np.floor(high * _LOG2E + 0.5)
    product, rest = two_product(k, _LN2_A)
    r, s = add_parts(high, low, -product, -rest)
    product, rest = two_product(k, _LN2_B)
    r, s = add_parts(r, s, -product, -rest)
    r, s = r / 256.0, s / 256.0
    # The series is that of exp(r) - 1, so that the squarings keep the digits of a small number.
    p, q = _FACTORIALS[_TERMS - 1, 0], _FACTORIALS[_TERMS - 1, 1]
    for t in range(_TERMS - 2, 0, -1):
        p, q = multiply_parts(p, q, r, s)
        p, q = add_parts(p, q, _FACTORIALS[t, 0], _FACTORIALS[t, 1])
    p, q = multiply_parts(p, q, r, s)
    for _ in range(8):
        a, b = multiply_parts(p, q, p, q)
        p, q = add_parts(2.0 * p, 2.0 * q, a, b)
    p, q = add_parts(p, q, 1.0, 0.0)
    scale = 2.0**k
    return p * scale, q * scale


# --- products with a matrix ------------------------------------------------------------------
# These functions take one column at a time; ``low`` are the second parts of the factors.


@compiled
def dense_dot_parts(x, w, low, b, out, rest, size, start):
    """``x_i . (w + low) + b`` in two parts, and the sum of the sizes of its terms."""
    for i in range(x.shape[0]):
        high, error, total = b, 0.0, abs(b)
        for j in range(x.shape[1]):
            product, more = two_product(x[i, j], w[j])
            more += x[i, j] * low[j]
            high, error = add_parts(high, error, product, more)
            total += abs(product)
        out[start + i], rest[start + i], size[start + i] = high, error, total


@compiled
def csr_dot_parts(data, indices, indptr, w, low, b, out, rest, size):
    """``x_i . (w + low) + b`` in two parts, and the sum of the sizes, for rows in CSR."""
    for i in range(len(indptr) - 1):
        high, error, total = b, 0.0, abs(b)
        for p in range(indptr[i], indptr[i + 1]):
            x, j = np.float64(data[p]), indices[p]
            product, more = two_product(x, w[j])
            more += x * low[j]
            high, error = add_parts(high, error, product, more)
            total += abs(product)
        out[i], rest[i], size[i] = high, error, total


@compiled
def dense_t_dot_parts(x, centre, r, out, rest, size, start):
    """Add ``sum_i r_i (x_i - centre)`` in two parts, and the sums of the sizes of its terms."""
    for i in range(x.shape[0]):
        a = r[start + i]
        if a == 0.0:
            continue
        for j in range(x.shape[1]):
            difference, below = two_sum(x[i, j], -centre[j])
            product, more = two_product(a, difference)
            more += a * below
            out[j], rest[j] = add_parts(out[j], rest[j], product, more)
            size[j] += abs(product)


@compiled
def csr_t_dot_parts(data, indices, indptr, r, out, rest, size):
    """Add ``sum_i r_i x_i`` in two parts, and the sums of the sizes, for rows in CSR."""
    for i in range(len(indptr) - 1):
        a = r[i]
        if a == 0.0:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            product, more = two_product(a, np.float64(data[p]))
            out[j], rest[j] = add_parts(out[j], rest[j], product, more)
            size[j] += abs(product)


@compiled
def residual_sums(x, y, s, w, low, gradient, rest, sums):
    """Add rows to ``X'(s r)`` and to the sums of ``s r`` and of ``s r^2``, all in two parts.

    ``r = y - b - X v`` for one target, where ``w + low`` holds ``b`` and, after it, ``v``.
    ``sums`` holds the two sums, each as a high and a low part; ``s`` is empty where there are no
    weights.
    """
    for i in range(x.shape[0]):
        high, below = two_sum(y[i], -w[0])
        below -= low[0]
        for j in range(x.shape[1]):
            product, error = two_product(x[i, j], w[j + 1])
            error += x[i, j] * low[j + 1]
            high, below = add_parts(high, below, -product, -error)
        weighted, under = high, below
        if len(s):
            weighted, error = two_product(s[i], high)
            weighted, under = two_sum(weighted, error + s[i] * below)
        for j in range(x.shape[1]):
            product, error = two_product(x[i, j], weighted)
            error += x[i, j] * under
            gradient[j], rest[j] = add_parts(gradient[j], rest[j], product, error)
        sums[0], sums[1] = add_parts(sums[0], sums[1], weighted, under)
        product, error = two_product(high, weighted)
        error += high * under + below * weighted
        sums[2], sums[3] = add_parts(sums[2], sums[3], product, error)


@compiled
def take_offsets(gradient, rest, sums, mean, w, low, ridge):
    """Subtract ``mean sum(s r) + ridge v`` from ``X'(s r)``, in two parts; a row for each target.

    The sums are those of :func:`residual_sums`, and ``w + low`` holds ``v`` after an intercept.
    """
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            # The halves of large numbers overflow, whatever they are multiplied by.
            if mean[j] != 0.0:
                product, error = two_product(sums[k, 0], -mean[j])
                gradient[k, j], carry = two_sum(gradient[k, j], product)
                rest[k, j] += carry + error - sums[k, 1] * mean[j]
            if ridge != 0.0:
                product, error = two_product(w[k, j + 1], -ridge)
                gradient[k, j], carry = two_sum(gradient[k, j], product)
                rest[k, j] += carry + error - low[k, j + 1] * ridge


# --- kernels ----------------------------------------------------------------------------------


@compiled
def gaussian_dot_parts(x, z, c, gamma, out, rest, size):
    """``sum_j c_j exp(-gamma |x_i - z_j|^2)`` in two parts, and the sums of the sizes."""
    for i in range(x.shape[0]):
        high, error, total = 0.0, 0.0, 0.0
        for j in range(z.shape[0]):
            square, below = 0.0, 0.0
            for k in range(x.shape[1]):
                a, b = two_sum(x[i, k], -z[j, k])
                a, b = multiply_parts(a, b, a, b)
                square, below = add_parts(square, below, a, b)
            a, b = multiply_parts(square, below, -gamma, 0.0)
            # NaN where the square is beyond the range of float64: the term is then zero.
            a, b = _exp_parts(a, b) if a == a else (0.0, 0.0)
            a, b = multiply_parts(a, b, c[j], 0.0)
            high, error = add_parts(high, error, a, b)
            total += abs(a)
        out[i], rest[i], size[i] = high, error, total


@compiled
def polynomial_dot_parts(x, z, c, gamma, coef0, degree, out, rest, size):
    """``sum_j c_j (gamma x_i . z_j + coef0)^degree`` in two parts, and the sums of the sizes.

    The sizes are those of the terms of all scalar products, raised to the degree.
    """
    for i in range(x.shape[0]):
        high, error, total = 0.0, 0.0, 0.0
        for j in range(z.shape[0]):
            base, below, sizes = 0.0, 0.0, 0.0
            for k in range(x.shape[1]):
                product, more = two_product(x[i, k], z[j, k])
                base, below = add_parts(base, below, product, more)
                sizes += abs(product)
            base, below = multiply_parts(base, below, gamma, 0.0)
            base, below = add_parts(base, below, coef0, 0.0)
            sizes = gamma * sizes + abs(coef0)
            a, b, power = base, below, sizes
            for _ in range(degree - 1):
                a, b = multiply_parts(a, b, base, below)
                power *= sizes
            a, b = multiply_parts(a, b, c[j], 0.0)
            high, error = add_parts(high, error, a, b)
            total += power * abs(c[j])
        out[i], rest[i], size[i] = high, error, total


@compiled
def split_sum(terms):
    """The sum of some terms as two floats, the first of which is exact.

    The leading parts of the terms, split off with a large power of two, are summed without rounding
    (Rump, Ogita and Oishi, 2008).

    Returns
    -------
    high, rest : float
        The sum of the leading parts, and that of the remainders, each of which is at most
        ``power u``.
    power : float
        The power of two; zero where all terms are zero; infinite where they are too large for it or
        not numbers, and ``high`` is then their plain sum.
    exact : bool
        Whether all remainders are zero.
    """
    largest, plain, wild = 0.0, 0.0, False
    for i in range(terms.shape[0]):
        size = abs(terms[i])
        plain += terms[i]
        if not size < 2.0**1000:
            wild = True
        largest = max(largest, size)
    if wild:
        return plain, 0.0, math.inf, False
    if largest == 0.0:
        return 0.0, 0.0, 0.0, True
    bits, count = 0, terms.shape[0] + 1
    while count > 0:
        bits, count = bits + 1, count >> 1
    power = math.ldexp(1.0, math.frexp(largest)[1] + bits)
    high, rest, exact = 0.0, 0.0, True
    for i in range(terms.shape[0]):
        part = (power + terms[i]) - power
        left = terms[i] - part
        high += part
        rest += left
        exact = exact and left == 0.0
    return high, rest, power, exact
