"""A search along a line for an objective that is convex along it, one trial at a time.

The slope is monotone, so that a bracket around its root is kept, and cut by secants that bisection
safeguards.  A length at which the slope has fallen well and the objective has not risen ends the
search.  Near the optimum values cannot distinguish a rise from rounding; there the slope alone
decides.
"""

from __future__ import annotations

import math

from separatrix._compiled.compilation import scalar

# The length from which on a step is not lengthened any more.
_LONGEST = 1e6
# The width of a bracket, relative to its upper end, below which it counts as a point.
_NARROWEST = 1e-12

# The best length so far, or 0; the longest one at which the slope is negative, and the slope there;
# the shortest one at which it is not, or infinity, and the slope there, NaN where it is not finite;
# and the width of the bracket that the last trial cut.
Bracket = tuple[float, float, float, float, float, float]


def begin(slope: float) -> Bracket:
    """Return the bracket before the first trial, from the slope at zero."""
    return 0.0, 0.0, slope, math.inf, math.nan, math.inf


def next_trial(
    t: float, value: float, here: float, before: float, slope: float, bracket: Bracket
) -> tuple[float, Bracket]:
    """Return the next step length, or 0 where the search ends, and the bracket with this trial.

    Parameters
    ----------
    t : float
        The length that was tried.
    value, here : float
        The objective at that length, and its slope along the line.
    before, slope : float
        The objective and its slope at length zero.
    bracket : tuple of float
    """
    best, low, slope_low, high, slope_high, width = bracket
    fine = abs(value) < math.inf and abs(here) < math.inf
    if fine and value <= before + 1e-4 * t * slope + 1e-14 * abs(before):
        best = t
        if abs(here) <= 0.5 * abs(slope):
            return 0.0, (best, low, slope_low, high, slope_high, width)
    if fine and here < 0.0:
        low, slope_low = t, here
    else:
        high, slope_high = t, here if fine else math.nan
    if not high < math.inf:
        t = 4.0 * t if t < _LONGEST else 0.0
    elif high - low <= _NARROWEST * high:
        t = 0.0
    else:
        if high - low <= 0.5 * width and abs(slope_high) < math.inf:
            secant = low - slope_low * (high - low) / (slope_high - slope_low)
            # Keep a tenth away from the ends, or the bracket may stop shrinking.
            t = min(max(secant, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high)
        else:
            # A secant that did not halve the bracket has met a kink.  From zero, go down by tens:
            # the root may be orders of magnitude below.
            t = 0.5 * (low + high) if low > 0.0 else 0.1 * high
        width = high - low
    return t, (best, low, slope_low, high, slope_high, width)


compiled_begin, compiled_trial = scalar(begin), scalar(next_trial)
