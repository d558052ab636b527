"""Mean and standard deviation of a column of any size.

Numbers are standardised here rather than by scikit-learn's ``StandardScaler``, whose squares leave
the range of float64 at 1e200 and at 1e-200.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS


def is_constant(low: float, high: float) -> bool:
    """Whether values from the lowest to the highest differ by rounding at most."""
    largest = max(abs(low), abs(high))
    return low == high or high / largest - low / largest <= 4 * EPS


def mean_and_scale(values: Any) -> tuple[float, float]:
    """Mean and standard deviation; scale 0 where the values differ by rounding at most.

    Two passes over values brought to the size of 1, so that neither 1e-200 nor 1e200 leaves the
    range of float64 when squared.
    """
    mean, scale, _ = moments(values, float(values.min()), float(values.max()))
    return mean, scale


def moments(values: Any, low: float, high: float, counts: Any = None) -> tuple[float, float, float]:
    """Mean and standard deviation of values from ``low`` to ``high``, and the mean's rounding.

    ``counts``: the number of rows with each value; one by default.
    """
    if low == high:
        return low, 0.0, 0.0
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    if is_constant(low, high):
        return float(np.ldexp(np.median(np.ldexp(values, -exponent)), exponent)), 0.0, 0.0
    # A power of two, so exact; a product is faster where the factor is a number.
    plain = abs(exponent) < 1000
    unit = values * 2.0**-exponent if plain else np.ldexp(values, -exponent)
    n = len(values) if counts is None else counts.sum()

    def average(of: Any) -> Any:
        # The sums of NumPy's means, without what surrounds them: there may be thousands of columns.
        return (np.add.reduce(of) if counts is None else counts @ of) / n

    mean = float(average(unit))
    mean += float(average(unit - mean))  # takes out the rounding of the first sum
    unit -= mean
    rest = float(average(unit))
    unit *= unit
    # The mean of the squares about the rounded mean is larger than that about the exact mean.
    scale = math.sqrt(max(average(unit) - rest * rest, 0.0))
    return (
        float(np.ldexp(mean, exponent)),
        float(np.ldexp(scale, exponent)),
        float(np.ldexp(rest, exponent)),
    )
