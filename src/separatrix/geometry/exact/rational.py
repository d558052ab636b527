"""Exact linear algebra over the integers and rationals.

Linear systems are solved by lifting (Dixon, 1982): the matrix is inverted modulo one prime, the
solution is then found digit by digit in that base, and its fractions are recovered at the end
and put to the test.  The work is that of many small products instead of one elimination whose
entries grow without bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix.geometry.exact.deadline import NO_DEADLINE

# Primes below 2**31, so that products of two residues fit into 64 bits; not 2**31 - 1 or another
# number that data are likely to be multiples of.
_PRIMES = (2147480039, 2147471891, 2147463167)


@njit(nogil=True, cache=True)
def _power(base, exponent, prime):
    out = 1
    while exponent:
        if exponent & 1:
            out = out * base % prime
        base = base * base % prime
        exponent >>= 1
    return out


@njit(nogil=True, cache=True)
def _inverse(a, prime):
    """The inverse of a square matrix modulo ``prime``, and whether there is one."""
    k = a.shape[0]
    out = np.zeros((k, k), dtype=np.int64)
    for i in range(k):
        out[i, i] = 1
    for i in range(k):
        pivot = i
        while pivot < k and a[pivot, i] == 0:
            pivot += 1
        if pivot == k:
            return out, False
        if pivot != i:
            for j in range(k):
                a[i, j], a[pivot, j] = a[pivot, j], a[i, j]
                out[i, j], out[pivot, j] = out[pivot, j], out[i, j]
        factor = _power(a[i, i], prime - 2, prime)
        for j in range(k):
            a[i, j] = a[i, j] * factor % prime
            out[i, j] = out[i, j] * factor % prime
        for r in range(k):
            if r != i and a[r, i] != 0:
                factor = prime - a[r, i]
                for j in range(k):
                    a[r, j] = (a[r, j] + factor * a[i, j]) % prime
                    out[r, j] = (out[r, j] + factor * out[i, j]) % prime
    return out, True


@njit(nogil=True, cache=True)
def _profile(a, prime):
    """Rows and columns of a maximal independent set modulo ``prime``; first come, first taken."""
    n, p = a.shape
    rows = np.empty(min(n, p), dtype=np.int64)
    columns = np.empty(min(n, p), dtype=np.int64)
    rank = 0
    for i in range(n):
        if rank == p:
            break
        for r in range(rank):
            factor = a[i, columns[r]]
            if factor != 0:
                factor = prime - factor
                for j in range(p):
                    a[i, j] = (a[i, j] + factor * a[rows[r], j]) % prime
        for j in range(p):
            if a[i, j] != 0:
                factor = _power(a[i, j], prime - 2, prime)
                for c in range(p):
                    a[i, c] = a[i, c] * factor % prime
                rows[rank] = i
                columns[rank] = j
                rank += 1
                break
    return rows[:rank], columns[:rank]


def _residues(matrix: np.ndarray, prime: int) -> np.ndarray:
    out: np.ndarray = (matrix % prime).astype(np.int64)
    return out


def whole_numbers(block: np.ndarray) -> tuple[np.ndarray, int]:
    """Floats as Python integers over one power of two.

    Parameters
    ----------
    block : ndarray of float

    Returns
    -------
    whole : ndarray of object
    shift : int
        ``block == whole / 2**shift``.
    """
    values = np.asarray(block, dtype=np.float64)
    part, exponent = np.frexp(values)
    if np.isfinite(part).all():
        # Each is odd * 2**exponent; those of zeros are as good as any.
        odd = (part * 2.0**53).astype(np.int64)
        trailing = np.frexp((odd & -odd).astype(np.float64))[1] - 1
        trailing[odd == 0] = 0
        odd >>= trailing
        exponent = np.where(odd == 0, 0, exponent - 53 + trailing)
        shift = max(-int(exponent.min(initial=0)), 0)
        bits = np.frexp(odd.astype(np.float64))[1] + exponent + shift
        if bits.max(initial=0) < 63:
            return (odd << (exponent + shift)).astype(object), shift
    pairs = [v.as_integer_ratio() for v in values.ravel().tolist()]
    shift = max((d.bit_length() - 1 for _, d in pairs), default=0)
    out = np.empty(len(pairs), dtype=object)
    out[:] = [n << (shift - d.bit_length() + 1) for n, d in pairs]
    return out.reshape(values.shape), shift


def independent(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a large independent part of a matrix of integers.

    They are independent modulo a prime, and therefore independent; that there are no more is
    certain only where the rank cannot be larger, and otherwise to be checked by what follows.
    """
    found: tuple[np.ndarray, np.ndarray] = _profile(_residues(matrix, _PRIMES[0]), _PRIMES[0])
    return found


def solve(
    matrix: np.ndarray,
    right: Sequence[int] | np.ndarray,
    deadline: Callable[[], None] = NO_DEADLINE,
) -> list[Fraction] | None:
    """The exact solution of a square system of integers; None where it is singular.

    Parameters
    ----------
    matrix : ndarray of object, shape (k, k)
        Python integers.
    right : sequence of k integers
    deadline : callable
        Called between steps; may raise.
    """
    k = len(matrix)
    if k == 0:
        return []
    b = np.empty(k, dtype=object)
    b[:] = list(right)
    for prime in _PRIMES:
        inverse, regular = _inverse(_residues(matrix, prime), prime)
        if regular:
            return _lift(matrix, b, inverse, prime, deadline)
    # Singular modulo every prime: almost certainly singular, and a relation proves it.
    if dependency(matrix, deadline) is not None:
        return None
    rows, leading = echelon(np.column_stack([matrix, b]))
    return [row[k] for row in rows] if leading == list(range(k)) else None


def _lift(
    matrix: np.ndarray,
    b: np.ndarray,
    inverse: np.ndarray,
    prime: int,
    deadline: Callable[[], None],
) -> list[Fraction]:
    # Digits of the solution in base ``prime``; after a while, after twice as many and so on,
    # fractions are tried that would explain them.
    product, unprime = _Product(matrix), _Product(inverse)
    digits: list[np.ndarray] = []
    residual = b.copy()
    goal = 4
    while True:
        while len(digits) < goal:
            deadline()
            digit = unprime((residual % prime).astype(np.int64)) % prime
            digits.append(digit)
            residual = (residual - product(digit.astype(np.int64))) // prime
        total = _join(digits, prime)
        found = _fractions(total, prime ** len(digits))
        if found is not None:
            numerators, denominator = found
            # The test that makes it exact.
            x = np.empty(len(numerators), dtype=object)
            x[:] = numerators
            if np.array_equal(matrix.dot(x), b * denominator):
                return [Fraction(v, denominator) for v in numerators]
        goal = 2 * goal


class _Product:
    """Products of one matrix of integers with vectors below ``2**31``, by way of BLAS.

    Both are cut into pieces so short that sums of their products are exact in float64.
    """

    _PIECE = 20
    _HALF = 16
    # Below this size the pieces cost more than they save.
    _SMALL = 48

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix.astype(object)
        if len(matrix) < self._SMALL:
            return
        sign = np.where(matrix < 0, -1.0, 1.0)
        left = np.abs(matrix)
        mask = (1 << self._PIECE) - 1
        # 20 + 16 bits leave room for sums of 2**17 products.
        self.pieces: list[np.ndarray] = []
        while not self.pieces or np.any(left):
            self.pieces.append((left & mask).astype(np.float64) * sign)
            left = left >> self._PIECE

    def __call__(self, vector: np.ndarray) -> np.ndarray:
        if len(self.matrix) < self._SMALL:
            whole: np.ndarray = self.matrix.dot(vector.astype(object))
            return whole
        halves = np.stack([vector & 0xFFFF, vector >> self._HALF], axis=1).astype(np.float64)
        out: np.ndarray = np.zeros(len(self.pieces[0]), dtype=object)
        for k, piece in enumerate(self.pieces):
            low, high = (piece @ halves).astype(np.int64).T
            # Both are below 2**53, so this is exact in 64 bits only apart.
            out += (low.astype(object) + (high.astype(object) << self._HALF)) << (self._PIECE * k)
        return out


def _join(digits: list[np.ndarray], prime: int) -> np.ndarray:
    """The numbers whose digits in base ``prime`` these are, lowest first, by halving."""
    if len(digits) == 1:
        return digits[0]
    half = len(digits) // 2
    return _join(digits[:half], prime) + _join(digits[half:], prime) * prime**half


def _fractions(residues: np.ndarray, modulus: int) -> tuple[list[int], int] | None:
    """Numerators over one denominator that are congruent to the residues, all of them small."""
    bound = math.isqrt(modulus // 2)
    denominator = 1
    numerators: list[int] = []
    for residue in residues:
        value = int(residue) * denominator % modulus
        if min(value, modulus - value) > bound:
            factor = _denominator(value, modulus, bound)
            if factor is None or denominator * factor > bound:
                return None
            # Seldom after the first few: the products with those before are short ones.
            denominator *= factor
            numerators = [factor * numerator for numerator in numerators]
            value = value * factor % modulus
        numerators.append(value - modulus if value > modulus // 2 else value)
    if any(abs(numerator) > bound for numerator in numerators):
        return None
    return numerators, denominator


def _denominator(value: int, modulus: int, bound: int) -> int | None:
    """The denominator of the fraction that is congruent to ``value`` (Wang, 1981)."""
    r0, r1, s0, s1 = modulus, value, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1 = r1, r0 - q * r1
        s0, s1 = s1, s0 - q * s1
    s1 = abs(s1)
    return s1 if 0 < s1 <= bound else None


def dependency(matrix: np.ndarray, deadline: Callable[[], None] = NO_DEADLINE) -> np.ndarray | None:
    """Integers ``a``, not all zero, with ``a @ matrix == 0`` exactly; None if there are none.

    Parameters
    ----------
    matrix : ndarray of object, shape (k, p)
        Python integers.

    Returns
    -------
    ndarray of object, shape (k,)
        The dependence of the first row that depends on rows before it; zeros for later rows.
    """
    for prime in _PRIMES:
        rows, columns = _profile(_residues(matrix, prime), prime)
        found = _relation(matrix, rows, columns, deadline)
        if found is None:
            return None
        # Dependent modulo a prime is not yet dependent.
        if not np.any(found.dot(matrix)):
            return found
    rows, columns = _certain_profile(matrix)
    return _relation(matrix, rows, columns, deadline)


def _relation(
    matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray, deadline: Callable[[], None]
) -> np.ndarray | None:
    """The first row that is not among the independent ones, in terms of those before it."""
    k = len(matrix)
    if len(rows) == k:
        # Independent modulo a prime is independent.
        return None
    taken = set(rows.tolist())
    extra = next(i for i in range(k) if i not in taken)
    # Rows are taken in order, so those before ``extra`` are the first of them.
    before = rows[rows < extra]
    pivot = columns[: len(before)]
    out = np.zeros(k, dtype=object)
    x = solve(matrix[np.ix_(before, pivot)].T, matrix[extra, pivot], deadline)
    assert x is not None  # independent rows, in columns chosen so that they are
    out[before], denominator = common_denominator(x)
    out[extra] = -denominator
    return out


def _certain_profile(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result of :func:`_profile` over the integers, instead of modulo a prime.

    The columns are those of the rows before the first that depends on others.
    """
    _, rows = echelon(matrix.T)
    first = next((i for i, row in enumerate(rows) if row != i), len(rows))
    _, columns = echelon(matrix[:first])
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def echelon(matrix: np.ndarray) -> tuple[list[list[Fraction]], list[int]]:
    """The reduced row echelon form of a matrix of integers, and its leading columns."""
    rows = [[Fraction(int(v)) for v in row] for row in matrix]
    leading: list[int] = []
    for j in range(matrix.shape[1]):
        r = len(leading)
        pivot = next((i for i in range(r, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[r], rows[pivot] = rows[pivot], rows[r]
        rows[r] = [v / rows[r][j] for v in rows[r]]
        for i in range(len(rows)):
            if i != r and rows[i][j]:
                factor = rows[i][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[r], strict=True)]
        leading.append(j)
    return rows, leading


def common_denominator(values: Sequence[Fraction]) -> tuple[np.ndarray, int]:
    """Rationals as Python integers over their least common denominator."""
    shared = math.lcm(*(v.denominator for v in values))
    whole = np.empty(len(values), dtype=object)
    whole[:] = [int(v * shared) for v in values]
    return whole, shared


def dot(a: Iterable[Any], b: Iterable[Any]) -> Fraction:
    """The sum of the products of rationals, or of rationals and integers."""
    return sum((Fraction(v) * u for v, u in zip(a, b, strict=True)), Fraction(0))


def round_down(value: Fraction) -> float:
    """The largest float that is not above ``value``."""
    out = _nearest(value)
    return out if Fraction(out) <= value else math.nextafter(out, -math.inf)


def round_up(value: Fraction) -> float:
    """The smallest float that is not below ``value``; infinite where there is none."""
    return -round_down(-value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return largest if value > 0 else -largest


def root_down(square: Fraction) -> float:
    """The largest float, to an ulp or two, whose square is not above ``square`` >= 0."""
    return round_down(_root(square, 0))


def root_up(square: Fraction) -> float:
    """The smallest float, to an ulp or two, whose square is not below ``square`` >= 0."""
    return round_up(_root(square, 1))


def _root(square: Fraction, extra: int) -> Fraction:
    # sqrt(n / d) with 64 bits or more after scaling, from below, or above with one ulp more.
    shift = max(0, 128 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift & 1
    scaled = (square.numerator << shift) // square.denominator
    root = math.isqrt(scaled)
    if extra and Fraction(root * root, 1 << shift) != square:
        root += 1
    return Fraction(root, 1 << (shift // 2))
