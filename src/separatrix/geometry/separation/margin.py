"""The largest margin, between two bounds that are proved in exact arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.geometry.exact.active_set import Stationary, exact_minimum
from separatrix.geometry.exact.deadline import NO_DEADLINE, Deadline, OutOfTime
from separatrix.geometry.exact.products import combination, product_signs
from separatrix.geometry.exact.rational import dot, root_down, root_up
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud
from separatrix.solvers.hard_margin import maximum_margin

Suggested = tuple[np.ndarray | None, np.ndarray]

# Bounds from floats that are further apart than this are worth an exact solution ...
_LOOSE = 1e-9
# ... where that is no larger than this many rows and columns that matter.
_EXACT_SIZE = 120
# The most steps times dimensions of that solution; without it, the bounds from floats still hold.
_STEPS = 600
# Up to this many rows that tie for the nearest, to rounding, are compared exactly.
_NEAR = 1000


@dataclass(frozen=True)
class MarginBounds:
    r"""The largest margin that any hyperplane has, certified from both sides.

    The margin of a hyperplane is the distance from it to the nearest point,
    :math:`\min_i y_i (w \cdot x_i + b) / \|w\|`.  ``lower`` is that of a hyperplane, rounded
    down; ``upper`` is half the distance between a point of one convex hull and a point of the
    other, rounded up (through the origin: the distance of such a combination from the origin).
    Both are computed in exact arithmetic, so the largest margin lies between them.

    Attributes
    ----------
    lower, upper : float
    hyperplane : Hyperplane
        The best that was found in floats, scaled so that the nearest points are at
        ``w.x + b = +-1``, to rounding.  Where floats cannot hold the very best one, its own margin
        is less than ``lower``.
    support : tuple of int
        Rows that hold it: those with a positive multiplier.
    """

    lower: float
    upper: float
    hyperplane: Hyperplane
    support: tuple[int, ...]

    @property
    def width(self) -> float:
        """The width of the gap between the classes: twice ``lower``."""
        return 2.0 * self.lower

    def __str__(self) -> str:
        if self.upper - self.lower <= 1e-9 * self.upper:
            return f"{self.lower:.10g}"
        return f"between {self.lower:.8g} and {self.upper:.8g}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "lower": self.lower,
            # JSON has no infinity.
            "upper": self.upper if math.isfinite(self.upper) else "inf",
            "w": self.hyperplane.w.tolist(),
            "b": self.hyperplane.b,
            "support": list(self.support),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> MarginBounds:
        """The inverse of :meth:`to_dict`."""
        return cls(
            lower=float(record["lower"]),
            upper=float(record["upper"]),
            hyperplane=Hyperplane(np.array(record["w"], dtype=np.float64), float(record["b"])),
            support=tuple(int(i) for i in record["support"]),
        )


def margin_bounds(
    cloud: Cloud,
    fallback: tuple[np.ndarray, float] | None = None,
    *,
    penalised_intercept: bool = False,
    suggested: Suggested | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> MarginBounds | None:
    """Bounds on the largest margin of separable points.

    Parameters
    ----------
    cloud : Cloud
        Separable.
    fallback : pair of ndarray and float, optional
        A separating hyperplane, for where the search finds none in floating point.
    penalised_intercept : bool
        Count the offset in the norm: the margin of the lifted points ``(x, 1)`` through the
        origin, which is the margin of the perceptron's theorem.
    suggested : pair, optional
        The result of :func:`suggest_margin`, where it is at hand.
    deadline : Deadline

    Returns
    -------
    MarginBounds, or None where floats hold no hyperplane that separates.
    """
    free = cloud.lifted and not penalised_intercept
    d = cloud.design.n_features
    candidates = []
    if suggested is None:
        suggested = suggest_margin(
            cloud, penalised_intercept=penalised_intercept, deadline=deadline
        )
    theta, alpha = suggested
    if theta is not None:
        candidates.append((theta[:d], float(theta[d]) if cloud.lifted else 0.0))
    if fallback is not None:
        candidates.append(fallback)
    best, square = None, Fraction(0)
    for w, b in candidates:
        found = _square_below(cloud, w, b, penalised_intercept)
        if found > square:
            best, square = (w, b), found
    above = _square_above(cloud, alpha, free)
    if above is None or above > square * Fraction(1 + _LOOSE):
        support = np.flatnonzero(alpha)
        if min(len(support), cloud.dimension) <= _EXACT_SIZE:
            bounds = _exactly(cloud, alpha, free, penalised_intercept, best, deadline)
            if bounds is not None:
                return bounds
    if best is None or above is None:
        return None
    lower = root_down(square)
    plane = _scaled(cloud, *best, lower, penalised_intercept)
    return MarginBounds(lower, root_up(above), plane, tuple(np.flatnonzero(alpha).tolist()))


def suggest_margin(
    cloud: Cloud, *, penalised_intercept: bool = False, deadline: Deadline = NO_DEADLINE
) -> Suggested:
    """The largest margin in floats: weights, any offset last, or None; and multipliers >= 0."""
    none = np.zeros(cloud.n)
    try:
        solution = maximum_margin(
            cloud.design,
            cloud.y,
            fit_intercept=cloud.lifted,
            intercept_penalty=1.0 if penalised_intercept else 0.0,
            time_limit=deadline.left,
        )
    except (ArithmeticError, ValueError):
        # Numbers so far apart that floats cannot hold what comes of them.
        return None, none
    if solution.interrupted:
        raise KeyboardInterrupt
    residual = solution.residual
    theta = solution.theta if np.all(np.isfinite(solution.theta)) else None
    if residual is None or not np.all(np.isfinite(residual)):
        return theta, none
    return theta, np.maximum(-cloud.y * residual, 0.0)


def _square_below(cloud: Cloud, w: np.ndarray, b: float, penalised: bool) -> Fraction:
    """The squared margin of a hyperplane; 0 where it does not separate."""
    signs, values = product_signs(cloud.design, cloud.y, w, float(b))
    if not np.all(signs > 0):
        return Fraction(0)
    # The values are exact to a few ulps, or to a few units of the smallest float.
    least = float(values.min())
    near = np.flatnonzero(values <= least * (1 + 2.0**-45) + 1e-320)
    exact_w = [Fraction(v) for v in w.tolist()]
    if len(near) <= _NEAR:
        u = [*exact_w, Fraction(b)] if cloud.lifted else exact_w
        smallest = min(dot(block.tolist(), u) for block in cloud.signed(near))
    else:
        # Too many to look at one by one: a little less than all of them is a bound as well.
        smallest = max(Fraction(least) * (1 - Fraction(1, 2**45)) - Fraction(1e-320), Fraction(0))
    square = dot(exact_w, exact_w)
    if penalised:
        square += Fraction(b) ** 2
    return smallest**2 / square if square else Fraction(0)


def _square_above(cloud: Cloud, alpha: np.ndarray, free: bool) -> Fraction | None:
    """A squared upper bound from multipliers >= 0; None where there are not enough."""
    if not free:
        rows = np.flatnonzero(alpha)
        total = sum((Fraction(v) for v in alpha[rows].tolist()), Fraction(0))
        if not total:
            return None
        signed = alpha[rows] * cloud.y[rows]
        v = combination(cloud.design, rows, signed)
        if cloud.lifted:
            v.append(sum((Fraction(a) for a in signed.tolist()), Fraction(0)))
        return dot(v, v) / total**2
    means = []
    for sign in (1.0, -1.0):
        rows = np.flatnonzero((alpha > 0) & (cloud.y == sign))
        total = sum((Fraction(v) for v in alpha[rows].tolist()), Fraction(0))
        if not total:
            return None
        means.append([v / total for v in combination(cloud.design, rows, alpha[rows])])
    between = [p - q for p, q in zip(*means, strict=True)]
    return dot(between, between) / 4


def feasible_multipliers(
    cloud: Cloud, rows: np.ndarray, alpha: np.ndarray, balanced: bool
) -> dict[int, Fraction] | None:
    """Multipliers that are exactly feasible, near the given ones, which are positive.

    Balanced ones have the sum 1 in both classes; None where a class has none.
    """
    start: dict[int, Fraction] = {}
    for sign in (1.0, -1.0):
        of_class = cloud.y[rows] == sign
        values = [Fraction(v) for v in alpha[of_class].tolist()]
        total = sum(values, Fraction(0))
        if balanced and not total:
            return None
        scale = 1 / total if balanced else Fraction(1)
        start.update((int(i), v * scale) for i, v in zip(rows[of_class], values, strict=True))
    return start


def _exactly(
    cloud: Cloud,
    alpha: np.ndarray,
    free: bool,
    penalised: bool,
    best: tuple[np.ndarray, float] | None,
    deadline: Deadline,
) -> MarginBounds | None:
    """Bounds that meet, from the exact solution; its hyperplane in floats.  None if it is far."""
    steps = max(3, _STEPS // cloud.dimension)
    rows = np.flatnonzero(alpha > 0)
    start = feasible_multipliers(cloud, rows, alpha[rows], free)
    try:
        exact = exact_minimum(cloud, balanced=free, start=start, deadline=deadline, max_steps=steps)
    except OutOfTime:
        return None
    if not isinstance(exact, Stationary):
        return None
    square = dot(exact.w, exact.w)
    d = cloud.design.n_features
    b = exact.w[d] if len(exact.w) > d else exact.b
    lower = root_down(1 / square)
    try:
        w = np.array([float(v) for v in exact.w[:d]])
        hyperplane: Hyperplane | None = Hyperplane(w, float(b))
        rounded = _square_below(cloud, w, float(b), penalised)
    except (OverflowError, ValueError):
        hyperplane, rounded = None, Fraction(0)
    if best is not None and rounded < _square_below(cloud, *best, penalised):
        # Rounding has cost the best one more than another falls short of it.
        hyperplane = _scaled(cloud, *best, lower, penalised)
    if hyperplane is None:
        return None
    support = tuple(sorted(i for i, v in exact.multipliers.items() if v > 0))
    return MarginBounds(lower, root_up(1 / square), hyperplane, support)


def _scaled(cloud: Cloud, w: np.ndarray, b: float, margin: float, penalised: bool) -> Hyperplane:
    """Scaled to 1 at the nearest points, unless rounding once more costs it its place."""
    norm = math.hypot(*w.tolist(), b) if penalised else math.hypot(*w.tolist())
    scale = 1.0 / (norm * margin) if margin > 0 and norm > 0 else 1.0
    if not math.isfinite(scale) or scale == 0.0:
        scale = 1.0
    if not _square_below(cloud, w * scale, b * scale, penalised):
        scale = 1.0
    return Hyperplane(w * scale, b * scale)
