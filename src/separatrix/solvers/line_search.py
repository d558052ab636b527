"""Where a search along a line looks next, for an objective that is convex along it.

The slope is monotone, so that a bracket around its root is kept, and cut by secants that bisection
safeguards.
"""

from __future__ import annotations

import math

from separatrix._compiled.compilation import scalar

__all__ = ["compiled_trial", "next_trial"]

# Step lengths beyond this are not tried.
_LONGEST = 1e6
# A bracket so narrow, relative to its upper end, is a point.
_NARROWEST = 1e-12


def next_trial(
    t: float, low: float, slope_low: float, high: float, slope_high: float, width: float
) -> tuple[float, float]:
    """Return the next step length, or 0 where the search ends, and the width of the bracket.

    Parameters
    ----------
    t : float
        The last step length.
    low, slope_low : float
        The longest step at which the slope is negative, and the slope there.
    high, slope_high : float
        The shortest one at which it is not, or infinity; NaN where the slope is not finite.
    width : float
        The width of the bracket that the last trial cut.
    """
    if not high < math.inf:
        return (4.0 * t if t < _LONGEST else 0.0), width
    if high - low <= _NARROWEST * high:
        return 0.0, width
    if high - low <= 0.5 * width and abs(slope_high) < math.inf:
        secant = low - slope_low * (high - low) / (slope_high - slope_low)
        # Keep a tenth away from the ends, or the bracket may stop shrinking.
        t = min(max(secant, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high)
    else:
        # A secant that did not halve the bracket has met a kink.  From zero, go down by tens: the
        # root may be orders of magnitude below.
        t = 0.5 * (low + high) if low > 0.0 else 0.1 * high
    return t, high - low


compiled_trial = scalar(next_trial)
