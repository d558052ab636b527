"""The squared error of a residual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import ordered, scalar
from separatrix.losses.base import HalfSquare, ResidualLoss


@scalar
def _identity(z):
    return z


@scalar
def _squared_cost(z, parameter):
    return 0.5 * (z * z)


@ordered
def _squared_dual_cost(a, upper, parameter):
    return a * (0.5 * (a / upper))


@scalar
def _squared_terms(z, centre, width, upper, parameter):
    return 0.5 * upper * (z * z), upper * z, upper


class SquaredResidual(HalfSquare, ResidualLoss):
    r"""Half the square of the residual, :math:`\tfrac12 z^2` with :math:`z = y - f(x)`.

    Conjugate: :math:`u^2 / 2`.  Legendre (1805), Nouvelles méthodes pour la détermination des
    orbites des comètes.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredResidual
    >>> SquaredResidual().value(np.array([-2.0, 0.0, 1.0])).tolist()
    [2.0, 0.0, 0.5]
    """

    key = "squared_residual"
    name = "squared residual"
    expression = "1/2 ({z})^2"
    conjugate_formula = "u^2 / 2"
    units = 4.0
    cancels = False
    quadratic = True
    cost_at = staticmethod(_squared_cost)
    dual_cost_at = staticmethod(_squared_dual_cost)
    terms_at = staticmethod(_squared_terms)

    @property
    def unit_slope(self) -> tuple[Callable[..., Any], float, float]:
        return _identity, 1.0, 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(z)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return z

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(u)
