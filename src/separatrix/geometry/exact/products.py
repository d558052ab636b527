"""Exact sums of products of floats, in integer arithmetic.

Every finite float is an integer times a power of two, so a scalar product of floats, or of
floats with rational weights brought to a common denominator, is an integer times a power of two
as well.  It is added up digit by digit in a long accumulator (Kulisch, 1971) that has a place
for every bit that a product can have: no rounding, no overflow, and therefore the true sign,
whatever cancels.  Nothing here touches the floating-point unit, except that the size of a
result is also given as a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from separatrix._compiled import pool
from separatrix._compiled.compilation import njit, scalar, specialise
from separatrix._compiled.row_access import row_entry, row_length
from separatrix.data.design import Design
from separatrix.geometry.exact.rational import common_denominator

# Digits of 32 bits, held in 64 so that carries can wait until the end of a row.
_DIGIT = 32
# The lowest bit of a float64 is worth 2**-1074.
_FLOOR = 1074
# Bits of one term of a weight: what float64 has, so that a float is one term.
_TERM = 53


@intrinsic
def _bits(typingctx, value):
    """The 64 bits of a float64, as an integer."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@scalar
def _decompose(value):
    """Signed integer ``m`` and bit position ``p`` with ``value = m 2**(p - 1074)``."""
    bits = _bits(value)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 0:
        exponent = 1
    else:
        mantissa |= 1 << 52
    return -mantissa if bits < 0 else mantissa, exponent - 1


@scalar
def _accumulate(digits, first, second, position):
    """Add ``first * second * 2**position``; both below ``2**53`` in size.

    Returns the lowest digit that was touched; the highest is four further up.
    """
    negative = (first < 0) != (second < 0)
    a, b = np.uint64(abs(first)), np.uint64(abs(second))
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(_DIGIT)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low = a0 * b0
    middle = a0 * b1 + a1 * b0
    high = a1 * b1
    carry = (low >> half) + (middle & mask)
    p0 = low & mask
    p1 = carry & mask
    carry = (carry >> half) + (middle >> half) + (high & mask)
    p2 = carry & mask
    p3 = (carry >> half) + (high >> half)
    q = position >> 5
    shift = np.uint64(position & 31)
    s0, s1, s2, s3 = p0 << shift, p1 << shift, p2 << shift, p3 << shift
    d0 = np.int64(s0 & mask)
    d1 = np.int64((s0 >> half) + (s1 & mask))
    d2 = np.int64((s1 >> half) + (s2 & mask))
    d3 = np.int64((s2 >> half) + (s3 & mask))
    d4 = np.int64(s3 >> half)
    if negative:
        d0, d1, d2, d3, d4 = -d0, -d1, -d2, -d3, -d4
    digits[q] += d0
    digits[q + 1] += d1
    digits[q + 2] += d2
    digits[q + 3] += d3
    digits[q + 4] += d4
    return q


@scalar
def _settle(digits, low, high):
    """Carry digits ``low`` to ``high`` and clear them.

    Returns the sign, the highest four digits that matter as a float, and the place of the lowest
    of them: the size is that float times ``2**(32 place)``, to a few units in the last place.
    """
    carry = 0
    for k in range(low, high):
        total = digits[k] + carry
        digits[k] = total & 0xFFFFFFFF
        carry = total >> 32
    # Between -1 and 0: the two spare digits above the highest hold the sign.
    sign = 1
    if carry < 0:
        sign = -1
        carry = 1
        for k in range(low, high):
            total = (0xFFFFFFFF - digits[k]) + carry
            digits[k] = total & 0xFFFFFFFF
            carry = total >> 32
    top = high - 1
    while top >= low and digits[top] == 0:
        top -= 1
    size, place = 0.0, max(top - 3, low)
    for k in range(top, place - 1, -1):
        size = size * 4294967296.0 + digits[k]
    for k in range(low, high):
        digits[k] = 0
    return (sign if top >= low else 0), size, place


@scalar
def _certain(total, size, count):
    """A sum of ``count`` products and a few numbers more, where its sign is certain, else 0.

    Its error, in whatever order it was taken, is below ``n`` units in the last place of the sum
    of the sizes (Higham, 2002, section 3.1), and that of each product that underflows below the
    smallest float.
    """
    error = (count + 4) * (2.3e-16 * size + 5e-324)
    # Not where anything overflowed.
    return total if error < abs(total) < np.inf else 0.0


def _signs(
    rows, y, filters, unit, mantissas, positions, length, signs, sizes, exponents, start, stop
):
    """``y (x.w + b) + c`` for rows ``start`` to ``stop``: sign, and size * 2**exponent.

    ``filters`` holds ``(w, b)`` as floats where these may decide what rounding cannot change;
    it is empty where they may not.  ``unit`` is the exponent of 1.
    """
    digits = np.zeros(length, dtype=np.int64)
    terms, width = mantissas.shape
    offset, constant = width - 2, width - 1
    for i in range(start, stop):
        low, high = length, 0
        positive = y[i] > 0
        if filters.shape[0]:
            last = filters.shape[0] - 1
            total, size = filters[last], abs(filters[last])
            for k in range(row_length(rows, i)):
                j, value = row_entry(rows, i, k)
                product = value * filters[j]
                total += product
                size += abs(product)
            total = _certain(total, size, row_length(rows, i))
            if total != 0.0:
                signs[i] = 1 if (total > 0.0) == positive else -1
                sizes[i] = abs(total)
                exponents[i] = unit
                continue
        for k in range(row_length(rows, i)):
            j, value = row_entry(rows, i, k)
            mantissa, position = _decompose(value)
            if mantissa == 0:
                continue
            if not positive:
                mantissa = -mantissa
            for t in range(terms):
                if mantissas[t, j] != 0:
                    place = position + positions[t, j]
                    q = _accumulate(digits, mantissa, mantissas[t, j], place)
                    low = min(low, q)
                    high = max(high, q)
        for t in range(terms):
            if mantissas[t, offset] != 0:
                place = _FLOOR + positions[t, offset]
                q = _accumulate(digits, 1 if positive else -1, mantissas[t, offset], place)
                low = min(low, q)
                high = max(high, q)
            if mantissas[t, constant] != 0:
                place = _FLOOR + positions[t, constant]
                q = _accumulate(digits, 1, mantissas[t, constant], place)
                low = min(low, q)
                high = max(high, q)
        if low > high:
            signs[i] = 0
            sizes[i] = 0.0
            continue
        # Five digits a product, and one for the carries of up to 2**30 of them.
        sign, size, place = _settle(digits, low, high + 6)
        signs[i] = sign
        sizes[i] = size
        exponents[i] = place * _DIGIT


@njit(nogil=True, cache=True)
def _carry(digits):
    """Bring every digit but the last of a row below ``2**32``."""
    for j in range(digits.shape[0]):
        carry = 0
        for k in range(digits.shape[1] - 1):
            total = digits[j, k] + carry
            digits[j, k] = total & 0xFFFFFFFF
            carry = total >> 32
        digits[j, digits.shape[1] - 1] += carry


def _columns(rows, index, mantissas, positions, digits):
    """``sum_i a_i x_i`` by column, for the rows in ``index``."""
    for r in range(index.shape[0]):
        i = index[r]
        for k in range(row_length(rows, i)):
            j, value = row_entry(rows, i, k)
            mantissa, position = _decompose(value)
            if mantissa == 0:
                continue
            for t in range(mantissas.shape[0]):
                if mantissas[t, r] != 0:
                    place = position + positions[t, r]
                    _accumulate(digits[j], mantissa, mantissas[t, r], place)


@dataclass(frozen=True)
class Terms:
    """Numbers as sums of terms ``mantissa 2**(position - base)``, exactly.

    Attributes
    ----------
    mantissas, positions : ndarray of int64, shape (n_terms, n)
        Mantissas are below ``2**53`` in size; positions are not negative.
    base : int
    """

    mantissas: np.ndarray
    positions: np.ndarray
    base: int

    @classmethod
    def of(cls, numbers: Sequence[Fraction | int] | np.ndarray) -> Terms:
        """The terms of floats, or of integers of any size, or of dyadic rationals."""
        if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f":
            values = np.ascontiguousarray(numbers, dtype=np.float64)
            bits = values.view(np.int64)
            exponent = (bits >> 52) & 0x7FF
            mantissa = (bits & 0xFFFFFFFFFFFFF) | np.where(exponent > 0, 1 << 52, 0)
            mantissa = np.where(bits < 0, -mantissa, mantissa)
            position = np.maximum(exponent, 1) - 1
            # Only as many digits as these numbers need.
            used = position[mantissa != 0]
            floor = int(used.min()) if len(used) else 0
            position = np.maximum(position - floor, 0)
            return cls(mantissa[None, :], position[None, :], _FLOOR - floor)
        pairs = [(int(v.numerator), int(v.denominator)) for v in numbers]
        if any(d & (d - 1) for _, d in pairs):
            raise ValueError("Terms need denominators that are powers of two.")
        base = max((d.bit_length() - 1 for _, d in pairs), default=0)
        whole = [n << (base - d.bit_length() + 1) for n, d in pairs]
        count = max((-(-abs(v).bit_length() // _TERM) for v in whole), default=1) or 1
        mantissas = np.zeros((count, len(whole)), dtype=np.int64)
        positions = np.repeat(_TERM * np.arange(count, dtype=np.int64)[:, None], len(whole), axis=1)
        mask = (1 << _TERM) - 1
        for j, v in enumerate(whole):
            sign, v = (-1 if v < 0 else 1), abs(v)
            t = 0
            while v:
                mantissas[t, j] = sign * (v & mask)
                v >>= _TERM
                t += 1
        return cls(mantissas, positions, base)

    @property
    def length(self) -> int:
        """Digits that an accumulator of products with floats needs."""
        highest = int(self.positions.max(initial=0)) + 2046 + 2 * _TERM + 40
        return highest // _DIGIT + 12


def product_signs(
    design: Design,
    y: np.ndarray,
    w: Sequence[Fraction | int] | np.ndarray,
    b: Fraction | int | float = 0,
    c: Fraction | int | float = 0,
    *,
    filtered: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The exact signs of ``y_i (x_i . w + b) + c``, and their sizes.

    Parameters
    ----------
    design : Design
    y : ndarray of shape (n_samples,)
        Labels, of which only the signs count.
    w : sequence of n_features rationals, or ndarray of float64
        Weights; rationals have denominators that are powers of two.
    b, c : number
    filtered : bool
        Let floats decide the signs that their rounding cannot change, by a rigorous bound on
        it; only for ``w`` and ``b`` in floats without ``c``.  Several times as fast, and the
        values are then rounded sums.

    Returns
    -------
    signs : ndarray of int8
        -1, 0 or 1.
    values : ndarray of float64
        The same numbers, rounded; infinite or zero beyond the range of floats.
    """
    if isinstance(w, np.ndarray) and isinstance(b, float) and isinstance(c, (int, float)):
        terms = Terms.of(np.concatenate([w, [b, float(c)]]))
    else:
        terms = Terms.of([*(_rational(v) for v in w), _rational(b), _rational(c)])
    n = design.n_samples
    signs = np.zeros(n, dtype=np.int8)
    sizes, exponents = np.zeros(n), np.zeros(n, dtype=np.int64)
    kernel = specialise(_signs, row_length=design.row_length, row_entry=design.row_entry)
    filters = np.empty(0)
    if filtered:
        filters = np.append(np.asarray(w, dtype=np.float64), float(b))
    unit = _FLOOR + terms.base
    arguments = (
        design.rows, y, filters, unit, terms.mantissas, terms.positions, terms.length
    )  # fmt: skip
    ranges = pool.ranges(n, 20.0 * design.n_stored * len(terms.mantissas))
    pool.run([partial(kernel, *arguments, signs, sizes, exponents, *r) for r in ranges])
    with np.errstate(over="ignore", under="ignore"):
        values = signs * _scaled(sizes, exponents - unit)
    return signs, values


def _scaled(sizes: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    # In two steps: the power of two alone may be out of range where the result is not.
    mantissa, exponent = np.frexp(sizes)
    total = np.clip(exponent + exponents, -2000, 2000).astype(np.int64)
    half = total // 2
    return np.ldexp(np.ldexp(mantissa, half), total - half)


def combination(
    design: Design,
    index: np.ndarray,
    coefficients: Sequence[Fraction | int] | np.ndarray,
) -> list[Fraction]:
    """``sum_i a_i x_i`` over the rows in ``index``, exactly, by column.

    Parameters
    ----------
    design : Design
    index : ndarray of int
        Row numbers.
    coefficients : sequence of rationals, or ndarray of float64, one a row
        Rationals may have any denominator.

    Returns
    -------
    list of Fraction, of length n_features
    """
    denominator = 1
    if not isinstance(coefficients, np.ndarray):
        fractions = [_rational(v) for v in coefficients]
        coefficients, denominator = common_denominator(fractions)
    terms = Terms.of(coefficients)
    kernel = specialise(_columns, row_length=design.row_length, row_entry=design.row_entry)
    out: list[Fraction] = []
    index = np.ascontiguousarray(index, dtype=np.int64)
    digits = np.zeros((design.n_features, terms.length), dtype=np.int64)
    # Carries wait for at most 2**30 additions; far fewer are done at a time.
    step = 1 << 26
    for start in range(0, max(len(index), 1), step):
        part = slice(start, start + step)
        kernel(design.rows, index[part], terms.mantissas[:, part], terms.positions[:, part], digits)
        _carry(digits)
    scale = denominator << (_FLOOR + terms.base)
    for row in digits:
        top = int(row[-1])
        whole = int.from_bytes(row[:-1].astype("<u4").tobytes(), "little")
        out.append(Fraction((top << (_DIGIT * (len(row) - 1))) + whole, scale))
    return out


def _rational(value: Fraction | int | float) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value)
