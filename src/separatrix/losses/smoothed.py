"""Losses with a kink, made smooth by a parabola of some width."""

from __future__ import annotations

import numpy as np

from separatrix.losses.base import Loss


class Smoothed(Loss):
    r"""The Moreau envelope of another loss,

    .. math:: \ell_\delta(z) = \min_x \ell(x) + \frac1{2\delta} (z - x)^2 ,

    nowhere above it, by at most :math:`\delta/2` times its steepest slope squared below, and
    smooth.  Its conjugate is :math:`\ell^*(u) + \tfrac\delta2 u^2`, so that its dual points are
    dual points of the other loss as well.  Moreau (1965); Nesterov (2005), Smooth minimization of
    non-smooth functions.

    Parameters
    ----------
    loss : Loss
        A loss with ``nearest``, the minimising :math:`x`, and ``bend``, the curvature.
    width : float
        The width :math:`\delta > 0` of the parabola at a kink of slopes that differ by one.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge
    >>> from separatrix.losses.smoothed import Smoothed
    >>> Smoothed(Hinge(), 0.5).value(np.array([0.0, 0.75, 1.0])).tolist()
    [0.75, 0.0625, 0.0]
    """

    smooth = True

    def __init__(self, loss: Loss, width: float) -> None:
        self.loss, self.width = loss, width
        self.name, self.expression = f"smoothed {loss.name}", loss.expression
        self.argument_text = loss.argument_text
        self.conjugate_formula = f"{loss.conjugate_formula} + {width / 2:g} u^2"
        self.of_residual, self.domain = loss.of_residual, loss.domain
        self.dual_lower, self.dual_upper = loss.dual_lower, loss.dual_upper
        self.units, self.cancels = loss.units + 8.0, loss.cancels

    def __repr__(self) -> str:
        return f"Smoothed({self.loss!r}, {self.width:g})"

    def sign(self, target: np.ndarray) -> np.ndarray:
        return self.loss.sign(target)

    def centre(self, target: np.ndarray) -> np.ndarray | None:
        return self.loss.centre(target)

    def value(self, z: np.ndarray) -> np.ndarray:
        x = self.loss.nearest(z, self.width)
        return self.loss.value(x) + np.square(z - x) * (0.5 / self.width)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return (z - self.loss.nearest(z, self.width)) / self.width

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return self.loss.bend(z, self.width)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return self.loss.conjugate(u) + 0.5 * self.width * np.square(u)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return self.width / upper
