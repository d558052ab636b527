"""The squared hinge loss."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import ordered, scalar
from separatrix.losses.base import MarginLoss


@scalar
def _squared_hinge_step(a, z, q, upper):
    return max(a + (1.0 - z - a / (2.0 * upper)) / (q + 1.0 / (2.0 * upper)), 0.0)


@scalar
def _squared_hinge_slope(a, z, upper):
    return z - 1.0 + a / (2.0 * upper)


@scalar
def _squared_hinge_value(z):
    slack = max(1.0 - z, 0.0)
    return slack * slack


@scalar
def _squared_hinge_derivative(z):
    return -2.0 * max(1.0 - z, 0.0)


@scalar
def _squared_hinge_gap(a, z, upper):
    t = a / (2.0 * upper)
    if z < 1.0:
        return upper * (1.0 - z - t) * (1.0 - z - t)
    return a * (z - 1.0) + upper * t * t


@ordered
def _squared_hinge_conjugate(a, upper):
    return a * (0.25 * (a / upper)) - a


@scalar
def _squared_hinge_shift(z):
    # In proportion to the multiplier itself, which so stays positive.
    return 2.0 * max(1.0 - z, 0.0)


@scalar
def _squared_hinge_shift_cost(z):
    # The gap of (1 + e) a is e^2 a^2 / (4 U), and a = 2 U (1 - z).
    slack = max(1.0 - z, 0.0)
    return 2.0 * slack * slack


@scalar
def _squared_hinge_terms(z, centre, width, upper, parameter):
    slack = max(1.0 - z, 0.0)
    curvature = 2.0 * upper if z < 1.0 else 0.0
    return upper * (slack * slack), -2.0 * upper * slack, curvature


class SquaredHinge(MarginLoss):
    r"""The squared hinge loss :math:`\max(0, 1 - z)^2`, without a factor of one half.

    Conjugate: :math:`u + u^2/4` for :math:`u \le 0`.  Fan et al. (2008), LIBLINEAR.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    key = "squared_hinge"
    name = "squared hinge"
    expression = "max(0, 1 - {z})^2"
    conjugate_formula = "u + u^2 / 4 for u <= 0, else inf"
    zero_one_factor = 1.0
    units = 6.0
    flat_from = 1.0
    smooth = True
    dual_upper = np.inf
    value_at = staticmethod(_squared_hinge_value)
    slope_at = staticmethod(_squared_hinge_derivative)
    dual_step = staticmethod(_squared_hinge_step)
    dual_slope = staticmethod(_squared_hinge_slope)
    gap_at = staticmethod(_squared_hinge_gap)
    conjugate_at = staticmethod(_squared_hinge_conjugate)
    terms_at = staticmethod(_squared_hinge_terms)
    shift_at = staticmethod(_squared_hinge_shift)
    shift_cost_at = staticmethod(_squared_hinge_shift_cost)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(1.0 - z, 0.0))

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(1.0 - z, 0.0)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.where(z < 1.0, 2.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(u <= 0.0, u + 0.25 * np.square(u), np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 0.5 / upper
