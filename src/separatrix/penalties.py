r"""Penalties on the weights; the intercept is never among them.

A penalty gives its value, its gradient, its (constant) curvature, and the part of the duality
gap that it contributes: with the dual vector :math:`v = \sum_i \alpha_i y_i x_i` the Fenchel-Young
gap :math:`\Omega(w) + \Omega^*(v) - w\cdot v`.
"""

from __future__ import annotations

import numpy as np

from separatrix._linalg import inner

__all__ = ["L2", "NoPenalty", "Penalty"]


class Penalty:
    """The face of a penalty.

    Attributes
    ----------
    curvature : float
        Strong convexity constant: the second derivative in every direction.
    formula : str
        The penalty as text; empty for none.
    """

    curvature: float
    formula: str

    def value(self, w: np.ndarray) -> float:
        raise NotImplementedError

    def gradient(self, w: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def conjugate(self, v: np.ndarray) -> float:
        raise NotImplementedError

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class L2(Penalty):
    r"""Half the squared norm, :math:`\tfrac12\|w\|^2` (ridge; Hoerl and Kennard, 1970)."""

    curvature = 1.0
    formula = "1/2 |w|^2"

    def value(self, w: np.ndarray) -> float:
        return 0.5 * inner(w, w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return w

    def conjugate(self, v: np.ndarray) -> float:
        return 0.5 * inner(v, v)

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        difference = w - v
        return 0.5 * inner(difference, difference)


class NoPenalty(Penalty):
    r"""No penalty: its conjugate is 0 at :math:`v = 0` and infinite elsewhere."""

    curvature = 0.0
    formula = ""

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w)

    def conjugate(self, v: np.ndarray) -> float:
        return 0.0

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        # The objective has projected v to zero, up to rounding, before it asks; what rounding
        # left over is charged to the gap.
        return float(np.sum(np.abs(w * v)))
