"""The squared error of labels."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import ordered, scalar
from separatrix.losses.base import HalfSquare, MarginLoss


@scalar
def _squared_error_step(a, z, q, upper):
    return a + (1.0 - z - a / upper) / (q + 1.0 / upper)


@scalar
def _squared_error_slope(a, z, upper):
    return z - 1.0 + a / upper


@scalar
def _squared_error_value(z):
    return 0.5 * (1.0 - z) * (1.0 - z)


@scalar
def _squared_error_derivative(z):
    return z - 1.0


@scalar
def _squared_error_gap(a, z, upper):
    t = 1.0 - z - a / upper
    return 0.5 * upper * t * t


@ordered
def _squared_error_conjugate(a, upper):
    return a * (0.5 * (a / upper)) - a


class SquaredError(HalfSquare, MarginLoss):
    r"""The squared error :math:`\tfrac12 (1 - z)^2 = \tfrac12 (y - w\cdot x - b)^2` of labels ±1.

    Conjugate: :math:`u + u^2/2`.  Its multipliers may have either sign.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredError
    >>> SquaredError().value(np.array([-1.0, 1.0, 3.0])).tolist()
    [2.0, 0.0, 2.0]
    """

    key = "squared_error"
    name = "squared error"
    expression = "1/2 (1 - {z})^2"
    conjugate_formula = "u + u^2 / 2"
    zero_one_factor = 2.0
    units = 6.0
    value_at = staticmethod(_squared_error_value)
    slope_at = staticmethod(_squared_error_derivative)
    dual_step = staticmethod(_squared_error_step)
    dual_slope = staticmethod(_squared_error_slope)
    gap_at = staticmethod(_squared_error_gap)
    conjugate_at = staticmethod(_squared_error_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(1.0 - z)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return z - 1.0

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return u + 0.5 * np.square(u)
