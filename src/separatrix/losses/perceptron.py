"""The perceptron loss, and the one with a margin."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix.losses.base import MarginLoss
from separatrix.losses.hinge import Hinged


@scalar
def _perceptron_step(a, z, q, upper):
    if q <= 0.0:
        if z < 0.0:
            return upper
        return 0.0 if z > 0.0 else a
    return min(max(a - z / q, 0.0), upper)


@scalar
def _perceptron_slope(a, z, upper):
    return z


@scalar
def _perceptron_value(z):
    return max(-z, 0.0)


@scalar
def _perceptron_derivative(z):
    return -1.0 if z <= 0.0 else 0.0


@scalar
def _perceptron_gap(a, z, upper):
    return -z * (upper - a) if z < 0.0 else a * z


@scalar
def _perceptron_conjugate(a, upper):
    return 0.0


class PerceptronLoss(Hinged, MarginLoss):
    r"""The perceptron loss :math:`\max(0, -z)`.

    A point on the plane (:math:`z = 0`) counts as a mistake: its derivative there is -1, the
    left slope.  Conjugate: 0 on :math:`[-1, 0]`.  Rosenblatt (1958).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import PerceptronLoss
    >>> PerceptronLoss().derivative(np.array([-1.0, 0.0, 1.0])).tolist()
    [-1.0, -1.0, 0.0]
    """

    key = "perceptron"
    name = "perceptron"
    expression = "max(0, -{z})"
    conjugate_formula = "0 for -1 <= u <= 0, else inf"
    margin = 0.0
    pieces = ((-1.0, 0.0), (0.0, 0.0))
    value_at = staticmethod(_perceptron_value)
    slope_at = staticmethod(_perceptron_derivative)
    dual_step = staticmethod(_perceptron_step)
    dual_slope = staticmethod(_perceptron_slope)
    gap_at = staticmethod(_perceptron_gap)
    conjugate_at = staticmethod(_perceptron_conjugate)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        # A point on the plane is a mistake.
        return np.where(z <= 0.0, -1.0, 0.0)


@functools.cache
def _shifted(margin: float) -> tuple[Callable[..., Any], ...]:
    """The compiled functions of ``max(0, margin - z)``, in the order of their use below."""

    @scalar
    def value(z):
        return max(margin - z, 0.0)

    @scalar
    def derivative(z):
        return -1.0 if z < margin else 0.0

    @scalar
    def step(a, z, q, upper):
        if q <= 0.0:
            if z < margin:
                return upper
            return 0.0 if z > margin else a
        return min(max(a + (margin - z) / q, 0.0), upper)

    @scalar
    def slope(a, z, upper):
        return z - margin

    @scalar
    def gap(a, z, upper):
        return (margin - z) * (upper - a) if z < margin else a * (z - margin)

    @scalar
    def conjugate(a, upper):
        return -margin * a

    return value, derivative, step, slope, gap, conjugate


class MarginPerceptronLoss(PerceptronLoss):
    r"""The perceptron loss with a margin, :math:`\max(0, m - z)`; a hinge, for ``m = 1``.

    Conjugate: :math:`m u` on :math:`[-1, 0]`.

    Parameters
    ----------
    margin : float, default=1.0
        The margin, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import MarginPerceptronLoss
    >>> MarginPerceptronLoss(0.5).value(np.array([-1.0, 0.0, 1.0])).tolist()
    [1.5, 0.5, 0.0]
    """

    # It has a parameter, which no key states.
    key = ""
    name = "margin perceptron"

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = self.flat_from = float(margin)
        self.pieces = ((-1.0, self.margin), (0.0, 0.0))
        self.expression = f"max(0, {self.margin:g} - {{z}})"
        self.value_at, self.slope_at, *duals = _shifted(self.margin)
        self.dual_step, self.dual_slope, self.gap_at, self.conjugate_at = duals

    derivative = Hinged.derivative

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.margin:g})"
