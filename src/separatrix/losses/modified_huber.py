"""The modified Huber loss."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix.losses.base import MarginLoss
from separatrix.losses.squared_hinge import _squared_hinge_conjugate, _squared_hinge_slope


@scalar
def _modified_huber_step(a, z, q, upper):
    new = a + (1.0 - z - a / (2.0 * upper)) / (q + 1.0 / (2.0 * upper))
    return min(max(new, 0.0), 4.0 * upper)


@scalar
def _modified_huber_value(z):
    near = min(max(1.0 - z, 0.0), 2.0)
    return near * near + 4.0 * max(-1.0 - z, 0.0)


@scalar
def _modified_huber_derivative(z):
    return -2.0 * min(max(1.0 - z, 0.0), 2.0)


@scalar
def _modified_huber_gap(a, z, upper):
    t = a / (2.0 * upper)
    if z >= 1.0:
        return a * (z - 1.0) + upper * t * t
    if z >= -1.0:
        return upper * (1.0 - z - t) * (1.0 - z - t)
    left = 2.0 - t
    return upper * left * (left + 2.0 * (-1.0 - z))


@scalar
def _modified_huber_terms(z, centre, width, upper, parameter):
    near = min(max(1.0 - z, 0.0), 2.0)
    curvature = 2.0 * upper if -1.0 <= z < 1.0 else 0.0
    return upper * (near * near + 4.0 * max(-1.0 - z, 0.0)), -2.0 * upper * near, curvature


class ModifiedHuber(MarginLoss):
    r"""The squared hinge :math:`\max(0, 1 - z)^2` down to :math:`z = -1`, and :math:`-4z` beyond.

    It tolerates outliers as the hinge does, and determines probabilities as the squared hinge does.
    Conjugate: :math:`u + u^2/4` on :math:`[-4, 0]`.  Zhang (2004), Solving large scale linear
    prediction problems using stochastic gradient descent algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import ModifiedHuber
    >>> ModifiedHuber().value(np.array([-2.0, -1.0, 0.0, 2.0])).tolist()
    [8.0, 4.0, 1.0, 0.0]
    """

    key = "modified_huber"
    name = "modified Huber"
    expression = "(max(0, 1 - {z})^2 - max(0, -1 - {z})^2)"
    conjugate_formula = "u + u^2 / 4 for -4 <= u <= 0, else inf"
    zero_one_factor = 1.0
    units = 8.0
    flat_from = 1.0
    smooth = True
    dual_lower, dual_upper = 0.0, 4.0
    value_at = staticmethod(_modified_huber_value)
    slope_at = staticmethod(_modified_huber_derivative)
    dual_step = staticmethod(_modified_huber_step)
    dual_slope = staticmethod(_squared_hinge_slope)
    gap_at = staticmethod(_modified_huber_gap)
    conjugate_at = staticmethod(_squared_hinge_conjugate)
    terms_at = staticmethod(_modified_huber_terms)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.square(np.clip(1.0 - z, 0.0, 2.0)) + 4.0 * np.maximum(-1.0 - z, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return -2.0 * np.clip(1.0 - z, 0.0, 2.0)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.where((z < 1.0) & (z >= -1.0), 2.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where((u >= -4.0) & (u <= 0.0), u + 0.25 * np.square(u), np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 0.5 / upper

    def shift(self, z: np.ndarray) -> np.ndarray:
        slope = -self.derivative(z)
        return np.minimum(slope, 4.0 - slope)

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(k)
