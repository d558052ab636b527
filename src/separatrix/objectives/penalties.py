r"""Penalties on the weights; the intercept is never among them.

A penalty gives its value, its gradient, its (constant) curvature, and the part of the duality
gap that it contributes: with the dual vector :math:`v = \sum_i \alpha_i y_i x_i` the Fenchel-Young
gap :math:`\Omega(w) + \Omega^*(v) - w\cdot v`.

Some penalties have a kink at zero, :math:`\lambda \|w\|_1` beside a smooth part: that is what sets
weights to exactly zero.  Gradient and curvature are those of the smooth part, ``threshold`` is
:math:`\lambda`, and :func:`soft_threshold` is the proximal step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix._compiled.linear_algebra import inner, squared_distance
from separatrix._compiled.rounding import EPS, TINY, UNIT
from separatrix.objectives.enclosure import Enclosure, length_above, total_above

__all__ = ["L1", "L2", "ElasticNet", "NoPenalty", "Penalty", "penalty_of", "soft_threshold"]


@scalar
def soft_threshold(u: Any, threshold: Any, below: Any) -> Any:
    """``argmin_x 1/2 (x - u)^2 + threshold max(x, 0) + below max(-x, 0)``.

    Donoho and Johnstone (1994) have it for two sides that are alike; an infinite one is a bound.
    """
    if u > threshold:
        return u - threshold
    if u < -below:
        return u + below
    return 0.0


class Penalty:
    """The face of a penalty.

    Attributes
    ----------
    curvature : float
        Strong convexity constant: the second derivative of the smooth part in every direction.
    threshold : float
        Factor of the absolute values of the weights; 0 for a penalty without a kink.
    below : float
        The same for what is below zero; infinite where no weight may be.
    coercive : bool
        Whether it grows without end in every direction, so that there is always an optimum.
    formula : str
        The penalty as text; empty for none.
    """

    curvature: float
    threshold: float = 0.0
    nonnegative: bool = False
    coercive: bool = True
    formula: str

    @property
    def below(self) -> float:
        return math.inf if self.nonnegative else self.threshold

    @property
    def ridge(self) -> bool:
        """Whether it is half the squared norm, and nothing else."""
        return self.curvature == 1.0 and self.smooth and not self.nonnegative

    @property
    def smooth(self) -> bool:
        """Whether it has a gradient everywhere: no kink at zero."""
        return self.threshold == 0.0

    def value(self, w: np.ndarray) -> float:
        raise NotImplementedError

    def gradient(self, w: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def conjugate(self, v: np.ndarray) -> float:
        raise NotImplementedError

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        raise NotImplementedError

    def dual_scale(self, v: np.ndarray) -> float:
        """The largest factor, at most 1, that brings ``v`` into the domain of the conjugate."""
        return 1.0

    def value_above(self, w: np.ndarray) -> float:
        """An upper bound of :meth:`value`, rounding included."""
        if self.nonnegative and np.any(w < 0.0):
            return math.inf
        out = 0.0
        with np.errstate(over="ignore"):
            if self.threshold > 0.0:
                out += self.threshold * total_above(np.abs(w))
            if self.curvature > 0.0:
                out += 0.5 * self.curvature * total_above(np.square(w))
        if self.coercive:
            # What underflows: squares, and their products with the factors.
            out += np.count_nonzero(w) * (self.curvature + 2.0) * TINY
        return out * (1.0 + 8.0 * UNIT)

    def conjugate_above(self, v: Enclosure, losses: float) -> tuple[float, float]:
        """Upper bounds of the conjugate at the true ``v``, and of the losses' conjugates.

        The latter are ``losses``; a penalty whose conjugate ends somewhere scales the dual point
        down into its domain, and the losses' conjugates with it.
        """
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
        return 0.5 * squared_distance(w, v)

    def conjugate_above(self, v: Enclosure, losses: float) -> tuple[float, float]:
        return _half_square(v, 0.0), losses


class NoPenalty(Penalty):
    r"""No penalty: its conjugate is 0 at :math:`v = 0` and infinite elsewhere."""

    curvature = 0.0
    coercive = False
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


class ElasticNet(Penalty):
    r"""A mixture of L1 and L2, :math:`\rho \|w\|_1 + \tfrac{1-\rho}2 \|w\|^2`.

    Its conjugate is :math:`\sum_j \max(|v_j| - \rho, 0)^2 / (2 (1 - \rho))`.  Zou and Hastie
    (2005).

    Parameters
    ----------
    l1_ratio : float
        The share :math:`\rho` of L1, above 0 and below 1.
    nonnegative : bool, default=False
        Whether no weight may be below zero; its conjugate then has :math:`v_j` for :math:`|v_j|`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.objectives.penalties import ElasticNet
    >>> ElasticNet(0.5).value(np.array([2.0, -1.0]))
    2.75
    """

    def __init__(self, l1_ratio: float, nonnegative: bool = False) -> None:
        self.threshold = float(l1_ratio)
        self.curvature = 1.0 - self.threshold
        self.nonnegative = nonnegative

    @property
    def formula(self) -> str:  # type: ignore[override]
        return f"{self.threshold:.6g} |w|_1 + {0.5 * self.curvature:.6g} |w|^2"

    def value(self, w: np.ndarray) -> float:
        if self.nonnegative and np.any(w < 0.0):
            return math.inf
        return self.threshold * float(np.sum(np.abs(w))) + 0.5 * self.curvature * inner(w, w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.curvature * w

    def conjugate(self, v: np.ndarray) -> float:
        beyond = np.maximum(_pull(self, v) - self.threshold, 0.0)
        return 0.5 * inner(beyond, beyond) / self.curvature

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        # The kink takes what it can of v, the smooth part the rest; either share is >= 0.
        kink = np.clip(v, -self.below, self.threshold)
        difference = self.curvature * w - (v - kink)
        smooth = 0.5 * inner(difference, difference) / self.curvature
        return smooth + float(np.sum(self.threshold * np.abs(w) - kink * w))

    def conjugate_above(self, v: Enclosure, losses: float) -> tuple[float, float]:
        square = _half_square(v, self.threshold, signed=self.nonnegative)
        return square / self.curvature * (1.0 + 8.0 * UNIT), losses

    def __repr__(self) -> str:
        return f"ElasticNet({self.threshold:g}{', nonnegative=True' * self.nonnegative})"


class L1(Penalty):
    r"""The sum of absolute values, :math:`\|w\|_1` (lasso; Tibshirani, 1996).

    Its conjugate is 0 where :math:`\|v\|_\infty \le 1` and infinite elsewhere.

    Parameters
    ----------
    nonnegative : bool, default=False
        Whether no weight may be below zero; the conjugate is then 0 where all :math:`v_j \le 1`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.objectives.penalties import L1
    >>> L1().value(np.array([2.0, -1.0]))
    3.0
    """

    curvature = 0.0
    threshold = 1.0
    formula = "|w|_1"

    def __init__(self, nonnegative: bool = False) -> None:
        self.nonnegative = nonnegative

    def value(self, w: np.ndarray) -> float:
        if self.nonnegative and np.any(w < 0.0):
            return math.inf
        return float(np.sum(np.abs(w)))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w)

    def conjugate(self, v: np.ndarray) -> float:
        return 0.0 if _pull(self, v).max(initial=0.0) <= 1.0 else float("inf")

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        if _pull(self, v).max(initial=0.0) > 1.0:
            return float("inf")
        return float(np.sum(np.abs(w) - v * w))

    def dual_scale(self, v: np.ndarray) -> float:
        largest = float(_pull(self, v).max(initial=0.0))
        # A hair's breadth inside, so that the product with the factor cannot round to beyond 1.
        return 1.0 if largest <= 1.0 else (1.0 - 4.0 * EPS) / largest

    def conjugate_above(self, v: Enclosure, losses: float) -> tuple[float, float]:
        largest = float(np.max(v.above(signed=self.nonnegative), initial=0.0))
        if not largest < np.inf:
            return 0.0, max(losses, 0.0)
        # By convexity a share of the point has at most that share of the conjugates, all of which
        # are at most zero at zero.
        return 0.0, losses / max(1.0, largest) * (1.0 - 8.0 * UNIT) if losses < 0.0 else losses

    def __repr__(self) -> str:
        return "L1(nonnegative=True)" if self.nonnegative else "L1()"


def _pull(penalty: Penalty, v: np.ndarray) -> np.ndarray:
    """Return the pull of each weight away from zero, towards where it may be."""
    return v if penalty.nonnegative else np.abs(v)


def _half_square(v: Enclosure, threshold: float, *, signed: bool = False) -> float:
    """An upper bound of half the squared norm of what is beyond the threshold.

    Of ``signed`` numbers only those above zero count.
    """
    beyond = v.middle
    if threshold > 0.0:
        beyond = np.maximum((beyond if signed else np.abs(beyond)) - threshold, 0.0)
    # A norm changes by no more than its argument does.
    length = (length_above(beyond) + v.length) * (1.0 + 8.0 * UNIT)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # In place: of many columns a copy is what a fit needs the most memory for.
        entries = v.above(signed=signed)
        entries -= threshold
        np.maximum(entries, 0.0, out=entries)
        positive = np.count_nonzero(entries)
        squares = total_above(np.square(entries, out=entries))
        underflow = (positive + 1.0) * TINY if length > 0.0 else 0.0
        return float(0.5 * min(length * length, squares) * (1.0 + 8.0 * UNIT) + underflow)


def penalty_of(l1_ratio: float, *, nonnegative: bool = False) -> Penalty:
    """The penalty of which L1 has the share ``l1_ratio``, and L2 the rest.

    Parameters
    ----------
    l1_ratio : float
        From 0 to 1.
    nonnegative : bool, default=False
        Whether no weight may be below zero; needs a share of L1.

    Raises
    ------
    ValueError
        For weights that may not be negative without a share of L1.

    Examples
    --------
    >>> from separatrix.objectives.penalties import penalty_of
    >>> penalty_of(0.0), penalty_of(0.25), penalty_of(1.0)
    (L2(), ElasticNet(0.25), L1())
    """
    if l1_ratio == 0.0:
        if nonnegative:
            raise ValueError("Weights that may not be negative need a share of L1: l1_ratio > 0.")
        return L2()
    return L1(nonnegative) if l1_ratio == 1.0 else ElasticNet(l1_ratio, nonnegative)
