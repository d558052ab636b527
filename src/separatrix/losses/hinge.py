"""The hinge loss."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix.losses.base import Loss, MarginLoss


@scalar
def _hinge_step(a, z, q, upper):
    if q <= 0.0:
        # A zero row: the term is linear in the multiplier.
        if z < 1.0:
            return upper
        return 0.0 if z > 1.0 else a
    return min(max(a + (1.0 - z) / q, 0.0), upper)


@scalar
def _hinge_slope(a, z, upper):
    return z - 1.0


@scalar
def _hinge_value(z):
    return max(1.0 - z, 0.0)


@scalar
def _hinge_derivative(z):
    return -1.0 if z < 1.0 else 0.0


@scalar
def _hinge_gap(a, z, upper):
    # Slack times what is left of the range at one edge or the other.
    return (1.0 - z) * (upper - a) if z < 1.0 else a * (z - 1.0)


@scalar
def _hinge_slack(a, z, upper, parameter):
    return _hinge_gap(a, z, upper)


@scalar
def _hinge_conjugate(a, upper):
    return -a


@scalar
def _hinge_terms(z, centre, width, upper, parameter):
    a = min(max(centre + (1.0 - z) / width, 0.0), upper)
    value = a * (1.0 - z) - 0.5 * width * (a - centre) * (a - centre)
    return value, -a, 1.0 / width if a > 0.0 and a < upper else 0.0


class Hinged(Loss):
    r"""Losses :math:`\max(0, m - z)` with a kink at the margin :math:`m`."""

    margin = 1.0
    units = 6.0
    smooth = False
    dual_upper = 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(self.margin - z, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return np.where(z < self.margin, -1.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where((u >= -1.0) & (u <= 0.0), self.margin * u, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.zeros_like(a)


class Hinge(Hinged, MarginLoss):
    r"""The hinge loss :math:`\max(0, 1 - z)` of the support vector machine.

    Conjugate: :math:`u` on :math:`[-1, 0]`.  Cortes and Vapnik (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    key = "hinge"
    name = "hinge"
    expression = "max(0, 1 - {z})"
    conjugate_formula = "u for -1 <= u <= 0, else inf"
    zero_one_factor = 1.0
    flat_from = 1.0
    smoothable = True
    pieces = ((-1.0, 1.0), (0.0, 0.0))
    value_at = staticmethod(_hinge_value)
    slope_at = staticmethod(_hinge_derivative)
    dual_step = staticmethod(_hinge_step)
    dual_slope = staticmethod(_hinge_slope)
    gap_at = staticmethod(_hinge_gap)
    conjugate_at = staticmethod(_hinge_conjugate)
    terms_at = staticmethod(_hinge_terms)
    slack_at = staticmethod(_hinge_slack)

    def nearest(self, z: np.ndarray, width: float) -> np.ndarray:
        """``argmin_x loss(x) + (z - x)^2 / (2 width)``."""
        return np.maximum(z, np.minimum(z + width, 1.0))

    def bend(self, z: np.ndarray, width: float) -> np.ndarray:
        """The curvature of that minimum."""
        return np.where((z < 1.0) & (z >= 1.0 - width), 1.0 / width, 0.0)
