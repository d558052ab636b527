"""Huber's loss of a residual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix.losses.base import ResidualLoss


@scalar
def _within_one(z):
    return min(max(z, -1.0), 1.0)


class Huber(ResidualLoss):
    r"""Huber's loss of the residual :math:`z = y - f(x)`: squared near zero, linear beyond.

    .. math:: \ell_\sigma(z) = \begin{cases} z^2 / (2\sigma) & |z| \le \delta\sigma \\
        \delta |z| - \tfrac12 \delta^2 \sigma & \text{otherwise} \end{cases}

    Conjugate: :math:`\sigma u^2 / 2` on :math:`[-\delta, \delta]`.  Huber (1964), Robust
    estimation of a location parameter.

    Parameters
    ----------
    threshold : float, default=1.35
        :math:`\delta > 0`, in multiples of the scale: where the loss becomes linear.
    scale : float, default=1.0
        :math:`\sigma > 0`, in the unit of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Huber
    >>> Huber(threshold=1.0).value(np.array([-3.0, 0.5, 1.0])).tolist()
    [2.5, 0.125, 0.5]
    """

    key = "huber"
    name = "Huber"
    expression = "H({z})"
    conjugate_formula = "u^2 / 2 for |u| <= delta, else inf"
    units = 8.0
    cancels = False
    smoothable = True
    smooth = True

    def __init__(self, threshold: float = 1.35, scale: float = 1.0) -> None:
        self.threshold = threshold
        self.scale = scale
        self.dual_lower, self.dual_upper = -threshold, threshold

    def __repr__(self) -> str:
        return f"Huber(threshold={self.threshold!r}, scale={self.scale!r})"

    @property
    def unit_slope(self) -> tuple[Callable[..., Any], float, float]:
        return _within_one, 1.0 / (self.threshold * self.scale), self.threshold

    def value(self, z: np.ndarray) -> np.ndarray:
        size = np.abs(z)
        near = np.minimum(size, self.threshold * self.scale)
        # z^2 / 2 sigma as far as the loss is quadratic, and the tangent from there on.
        return near * (0.5 * near / self.scale) + self.threshold * (size - near)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return np.clip(z / self.scale, -self.threshold, self.threshold)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.where(np.abs(z) <= self.threshold * self.scale, 1.0 / self.scale, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(np.abs(u) <= self.threshold, 0.5 * self.scale * np.square(u), np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return self.scale / upper

    def shift(self, z: np.ndarray) -> np.ndarray:
        return self.threshold - np.abs(self.derivative(z))

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        return self.scale * np.square(k)

    def nearest(self, z: np.ndarray, width: float) -> np.ndarray:
        """``argmin_x loss(x) + (z - x)^2 / (2 width)``."""
        wide = self.scale + width
        beyond = z - np.sign(z) * (self.threshold * width)
        return np.where(np.abs(z) <= self.threshold * wide, z * (self.scale / wide), beyond)

    def bend(self, z: np.ndarray, width: float) -> np.ndarray:
        """The curvature of that minimum."""
        wide = self.scale + width
        return np.where(np.abs(z) <= self.threshold * wide, 1.0 / wide, 0.0)
