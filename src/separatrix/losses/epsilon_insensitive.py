"""Losses of a residual that cost nothing up to a width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import ordered, scalar
from separatrix.losses.base import ResidualLoss
from separatrix.losses.squared_residual import _identity


@scalar
def _sign(z):
    return 1.0 if z > 0.0 else (-1.0 if z < 0.0 else 0.0)


@scalar
def _sign_beyond_one(z):
    return 1.0 if z > 1.0 else (-1.0 if z < -1.0 else 0.0)


@scalar
def _part_beyond_one(z):
    return z - 1.0 if z > 1.0 else (z + 1.0 if z < -1.0 else 0.0)


@scalar
def _tube_cost(z, epsilon):
    return max(abs(z) - epsilon, 0.0)


@scalar
def _tube_dual_cost(a, upper, epsilon):
    return epsilon * abs(a)


@scalar
def _tube_terms(z, centre, width, upper, epsilon):
    # The proximal step of the conjugate epsilon |a| on [-upper, upper].
    middle, edge = centre - z / width, epsilon / width
    a = middle - edge if middle > edge else (middle + edge if middle < -edge else 0.0)
    a = min(max(a, -upper), upper)
    value = -a * z - epsilon * abs(a) - 0.5 * width * (a - centre) * (a - centre)
    free = a > -upper and a < upper and (a != 0.0 or epsilon == 0.0)
    return value, -a, 1.0 / width if free else 0.0


@scalar
def _tube_slack(a, z, upper, epsilon):
    # Terms that are each not negative: a multiplier pulls against its residual at the optimum.
    size, pull = abs(z), abs(a)
    against = pull if a * z <= 0.0 else -pull
    if size > epsilon:
        return (size - epsilon) * (upper - against) + epsilon * (pull - against)
    return (epsilon - size) * pull + size * (pull - against)


@scalar
def _squared_tube_cost(z, epsilon):
    beyond = max(abs(z) - epsilon, 0.0)
    return beyond * beyond


@ordered
def _squared_tube_dual_cost(a, upper, epsilon):
    return epsilon * abs(a) + a * (0.25 * (a / upper))


@scalar
def _squared_tube_terms(z, centre, width, upper, epsilon):
    beyond = max(abs(z) - epsilon, 0.0)
    slope = 2.0 * upper * (beyond if z > 0.0 else -beyond)
    return upper * (beyond * beyond), slope, 2.0 * upper if beyond > 0.0 or epsilon == 0.0 else 0.0


class EpsilonInsensitive(ResidualLoss):
    r"""The loss :math:`\max(0, |z| - \epsilon)` of the residual :math:`z = y - f(x)`.

    Conjugate: :math:`\epsilon |u|` on :math:`[-1, 1]`.  Vapnik (1995), The nature of statistical
    learning theory.

    Parameters
    ----------
    epsilon : float, default=0.1
        The width, at least 0; with 0 the loss is the absolute error.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([-2.0, 0.25, 1.0])).tolist()
    [1.5, 0.0, 0.5]
    """

    key = "epsilon_insensitive"
    name = "epsilon-insensitive"
    expression = "max(0, |{z}| - epsilon)"
    conjugate_formula = "epsilon |u| for |u| <= 1, else inf"
    units = 6.0
    cancels = False
    smoothable = True
    smooth = False
    dual_lower, dual_upper = -1.0, 1.0
    cost_at = staticmethod(_tube_cost)
    dual_cost_at = staticmethod(_tube_dual_cost)
    terms_at = staticmethod(_tube_terms)
    slack_at = staticmethod(_tube_slack)

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = self.parameter = epsilon
        if not self.smooth:
            flat = ((0.0, 0.0),) if epsilon > 0.0 else ()
            self.pieces = ((-1.0, -epsilon), *flat, (1.0, -epsilon))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.epsilon!r})"

    @property
    def unit_slope(self) -> tuple[Callable[..., Any], float, float]:
        if self.epsilon > 0.0:
            return _sign_beyond_one, 1.0 / self.epsilon, 1.0
        return _sign, 1.0, 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(z) - self.epsilon, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return np.where(np.abs(z) > self.epsilon, np.sign(z), 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(np.abs(u) <= 1.0, self.epsilon * np.abs(u), np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.zeros_like(a)

    def nearest(self, z: np.ndarray, width: float) -> np.ndarray:
        """``argmin_x loss(x) + (z - x)^2 / (2 width)``."""
        size = np.abs(z)
        moved = np.where(size > self.epsilon + width, size - width, self.epsilon)
        return np.sign(z) * np.where(size <= self.epsilon, size, moved)

    def bend(self, z: np.ndarray, width: float) -> np.ndarray:
        """The curvature of that minimum."""
        size = np.abs(z)
        near = (size > self.epsilon) & (size <= self.epsilon + width)
        return np.where(near, 1.0 / width, 0.0)


class SquaredEpsilonInsensitive(EpsilonInsensitive):
    r"""The loss :math:`\max(0, |z| - \epsilon)^2` of the residual :math:`z = y - f(x)`.

    Conjugate: :math:`\epsilon |u| + u^2 / 4`.

    Parameters
    ----------
    epsilon : float, default=0.1

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.array([-2.0, 0.25, 1.0])).tolist()
    [2.25, 0.0, 0.25]
    """

    key = "squared_epsilon_insensitive"
    name = "squared epsilon-insensitive"
    expression = "max(0, |{z}| - epsilon)^2"
    conjugate_formula = "epsilon |u| + u^2 / 4"
    units = 8.0
    smoothable = False
    smooth = True
    dual_lower, dual_upper = -np.inf, np.inf
    edged = False
    cost_at = staticmethod(_squared_tube_cost)
    dual_cost_at = staticmethod(_squared_tube_dual_cost)
    terms_at = staticmethod(_squared_tube_terms)

    @property
    def unit_slope(self) -> tuple[Callable[..., Any], float, float]:
        if self.epsilon > 0.0:
            return _part_beyond_one, 1.0 / self.epsilon, 2.0 * self.epsilon
        return _identity, 1.0, 2.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.square(super().value(z))

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return 2.0 * np.sign(z) * super().value(z)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.where(np.abs(z) > self.epsilon, 2.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return self.epsilon * np.abs(u) + 0.25 * np.square(u)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 0.5 / upper

    def shift(self, z: np.ndarray) -> np.ndarray:
        # In proportion to the multiplier itself, which so keeps its sign: at zero the conjugate has
        # a kink.
        return np.abs(self.derivative(z))

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(k)
