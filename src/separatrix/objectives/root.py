"""The root of a monotone function, to the last digit."""

from __future__ import annotations

from collections.abc import Callable

from separatrix._compiled.rounding import EPS


def bracketed_root(
    function: Callable[[float], float], a: float, at_a: float, b: float, at_b: float, most: int
) -> tuple[float, float]:
    """The ends of a bracket of the root that is no wider than rounding.

    Inverse quadratic interpolation where it is sure to help, and bisection elsewhere
    (Chandrupatla, 1997): a kink on the way costs a few steps, where secants may crawl.

    Parameters
    ----------
    function : callable
    a, b : float
        Ends of a bracket.
    at_a, at_b : float
        The values of the function there, of opposite signs.
    most : int
        The most evaluations of the function.

    Returns
    -------
    best, other : float
        The end at which the function is the smaller, and the other one.

    Examples
    --------
    >>> best, other = bracketed_root(lambda x: x * x - 2.0, 0.0, -2.0, 2.0, 2.0, 50)
    >>> round(best, 12)
    1.414213562373
    """
    share = 0.5
    for _ in range(most):
        width = abs(b - a)
        smallest = a if abs(at_a) < abs(at_b) else b
        least = EPS * abs(smallest) / width if width > 0.0 else 1.0
        if min(abs(at_a), abs(at_b)) == 0.0 or least >= 0.5:
            break
        x = a + min(max(share, least), 1.0 - least) * (b - a)
        if x in (a, b):
            break
        at_x = function(x)
        if (at_x > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        # Where the last three points lie nearly on a parabola in the values, its root is the next.
        near = (a - b) / (c - b)
        level = (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if level * level < near and (1.0 - level) ** 2 < 1.0 - near and at_c != at_a:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return (a, b) if abs(at_a) < abs(at_b) else (b, a)
