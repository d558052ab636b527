"""Sample weights as whole numbers of one unit, so that their sums are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from separatrix.geometry.exact.rational import whole_numbers

# A number is high * 2**BITS + low with 0 <= low < 2**BITS: sums of four million low parts, and
# all sums of the high ones, stay within 64 bits.
BITS = 40
MASK = (1 << BITS) - 1
_LARGEST = 62 + BITS


def join(high: int, low: int) -> int:
    """The number of which these are the parts."""
    return (high << BITS) + low


def split(number: int) -> tuple[int, int]:
    """The parts of a number, which may be negative."""
    return number >> BITS, number & MASK


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """Weights as whole numbers.

    Attributes
    ----------
    high, low : ndarray of int64, shape (n,)
        The weight of row i is ``(high[i] * 2**BITS + low[i]) * unit``.
    unit : Fraction
    whole : bool
        Whether that is so exactly; otherwise, where the weights span more than 15 orders of
        magnitude or so, it is rounded down.
    """

    high: np.ndarray
    low: np.ndarray
    unit: Fraction
    whole: bool


def whole_weights(weights: np.ndarray | None, n: int) -> tuple[list[int], Fraction]:
    """The weights of ``n`` rows as integers of any size, exactly, and their unit."""
    if weights is None:
        return [1] * n, Fraction(1)
    numbers, place, unit = _distinct(weights)[:3]
    return numbers[place].tolist(), unit


def _distinct(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, Fraction, np.ndarray]:
    """The different weights as integers without a common factor, which a row has, their unit,
    and how often each occurs."""
    values, place, counts = np.unique(weights, return_inverse=True, return_counts=True)
    numbers, shift = whole_numbers(values)
    unit = math.gcd(*numbers.tolist()) or 1
    return numbers // unit, place, Fraction(unit, 1 << shift), counts


def integer_weights(weights: np.ndarray | None, n: int) -> IntegerWeights:
    """The weights of ``n`` rows, all one where there are none.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,), or None
        Not negative, of any magnitudes.
    n : int
    """
    if weights is None:
        return IntegerWeights(np.zeros(n, np.int64), np.ones(n, np.int64), Fraction(1), True)
    numbers, place, unit, counts = _distinct(weights)
    excess = int(numbers.dot(counts.astype(object))).bit_length() - _LARGEST
    whole = True
    if excess > 0:
        whole = not any(v & ((1 << excess) - 1) for v in numbers)
        numbers >>= excess
        unit *= 1 << excess
    high = (numbers >> BITS).astype(np.int64)
    low = (numbers & MASK).astype(np.int64)
    return IntegerWeights(high[place], low[place], unit, whole)
