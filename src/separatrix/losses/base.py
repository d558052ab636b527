r"""What a loss is.

A loss is a convex function :math:`\ell(z) \ge 0` of the margin
:math:`z = y\,(w\cdot x + b)` or, where it says so, of the residual :math:`z = y - (w\cdot x + b)`.
Everything that the rest of the library needs to know about a loss is one class here:

======================  =====================================================================
``value(z)``            :math:`\ell(z)`
``derivative(z)``       :math:`\ell'(z)`; at a kink, the element nearest to the left slope
``curvature(z)``        :math:`\ell''(z)` (generalised at a kink); smooth losses only
``value_at(z)``         the loss again, as a compiled scalar function for kernels
``slope_at(z)``         the derivative, likewise
``unit_slope``          the same of a loss of the residual, see below
``conjugate(u)``        :math:`\ell^*(u) = \sup_z uz - \ell(z)`, ``inf`` outside its domain
``dual_step``           a compiled scalar function, see below
``dual_slope``          a compiled scalar function, see below
``gap_at``              a compiled scalar function, see below
``conjugate_at``        a compiled scalar function, see below
``terms_at``            a compiled scalar function for small problems, optional, see below
``slack_at``            likewise, of a loss with a kink
``shift_at``            compiled scalar functions for rows that are seen once, optional, see below
``shift_cost_at``       likewise
``dual_curvature``      second derivative of :math:`U\,\ell^*(-a/U)` in the multiplier ``a``
``dual_lower, _upper``  the range of a multiplier divided by ``U``: 0 to 1 or ``inf``
======================  =====================================================================

With :math:`U = C s_i` the dual of one term is :math:`-U\,\ell^*(-a/U)` for a multiplier
:math:`a \ge 0`.  ``dual_step(a, z, q, U)`` returns the exact maximiser over ``t`` of

.. math:: -z\,(t - a) - \tfrac q2 (t - a)^2 - U\,\ell^*(-t/U),

which is both the coordinate step of dual coordinate descent (``q`` the squared row norm) and,
for ``q = 1/sigma``, the proximal step of the augmented Lagrangian.  ``dual_slope(a, z, U)`` is
:math:`z + \mathrm d/\mathrm da\,[U\,\ell^*(-a/U)]`, zero at the optimum in the interior.
``gap_at(a, z, U)`` is the term's share of the duality gap, :math:`U\ell(z) + U\ell^*(-a/U) + az`,
and ``conjugate_at(a, U)`` is :math:`U\ell^*(-a/U)` for :math:`U > 0` and ``a`` in its range.
``terms_at(z, a, width, U, parameter)`` returns value, slope and curvature of :math:`U\,\ell` at
``z``; of a loss with a kink those of its Moreau envelope
:math:`\max_t -tz - U\,\ell^*(-t/U) - \tfrac{width}2 (t - a)^2`.
``slack_at(a, z, U, parameter)`` is ``gap_at`` of such a loss.  Both take the loss's ``parameter``,
the number that distinguishes losses of one class, so that one compiled kernel serves all of them.
``shift_at(z)`` and ``shift_cost_at(z)`` are numbers :math:`k, m \ge 0` such that for every
:math:`|\varepsilon| < 1` the multiplier :math:`a = -U\,\ell'(z)` moved to
:math:`a \pm \varepsilon U k` is in its range, and the term's gap there is at most
:math:`\tfrac12 \varepsilon^2 U m / (1 - |\varepsilon|)^2`.
``unit_slope`` is a compiled scalar function and two numbers: the derivative is the second number
times the function of the first number times the residual, so that one compiled loop serves every
width.

All functions are safe for any finite argument: nothing overflows.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
large-scale linear SVM.  Yu, Huang and Lin (2011), Dual coordinate descent methods for logistic
regression and maximum entropy models.  Boyd and Vandenberghe (2004), Convex Optimization, 3.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Loss", "MarginLoss"]


class MarginLoss(ABC):
    """What every loss of the margin is known by.

    Attributes
    ----------
    key : str
        What models, pictures, files and the command line know it by, in :data:`LOSSES`.
    name : str
        Its name in the field.
    formula : str
        The loss as text, in ``z = y (w.x + b)``, for the printed objective.
    conjugate_formula : str
        Its conjugate as text.
    convex : bool
    smooth : bool
        Whether its derivative is continuous.
    zero_one_factor : float
        The smallest multiple of the loss that is nowhere below the zero-one loss, so that the
        sum of the losses, times this, bounds the number of mistakes; ``inf`` where there is none.
    of_residual : bool
        Whether its argument is the residual ``y - f(x)`` of a number instead of a label's margin.
    flat_from : float, optional
        The margin from which on a row costs nothing, where that is more than being right.
    units : float
        How many times :math:`2^{-53}` of its size a value may be off, and the conjugate of its own
        size and, where terms of it cancel, of its argument's together.
    cancels : bool
        Whether terms of the conjugate cancel.
    """

    key: str = ""
    name: str
    formula: str
    conjugate_formula: str
    convex: bool = True
    smooth: bool
    zero_one_factor: float
    of_residual: bool = False
    flat_from: float | None = None
    units: float = 24.0
    cancels: bool = True

    @abstractmethod
    def value(self, z: np.ndarray) -> np.ndarray:
        r"""The loss :math:`\ell(z)` of every margin."""

    @abstractmethod
    def derivative(self, z: np.ndarray) -> np.ndarray:
        r"""Its derivative :math:`\ell'(z)`; at a kink, the element nearest to the left slope."""

    @abstractmethod
    def conjugate(self, u: np.ndarray) -> np.ndarray:
        r"""The conjugate :math:`\ell^*(u) = \sup_z uz - \ell(z)`; ``inf`` outside its domain."""

    @property
    def bounds_zero_one(self) -> bool:
        """Whether the loss itself is nowhere below the zero-one loss."""
        return bool(self.zero_one_factor <= 1.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Loss(MarginLoss):
    """A pointwise convex loss of the margin that can be minimised; subclass it to add one.

    Attributes
    ----------
    smooth : bool
        Whether ``curvature`` describes the loss: its derivative is continuous.
    unattained : bool
        Whether the infimum of the loss is approached without being reached, so that separable
        data have no finite optimum unless there is a penalty.
    dual_lower, dual_upper : float
        The range of a multiplier, divided by ``U``.
    smoothable : bool
        Whether ``nearest`` and ``bend`` describe its Moreau envelopes.
    edged : bool
        Whether a multiplier may end at an edge of its range.
    parameter : float
        The number that ``terms_at`` and ``slack_at`` take; 0 where the loss has none.
    """

    unattained: bool = False
    smoothable: bool = False
    edged: bool = True
    parameter: float = 0.0
    dual_lower: float = 0.0
    dual_upper: float
    value_at: Callable[..., Any]
    slope_at: Callable[..., Any]
    dual_step: Callable[..., Any]
    dual_slope: Callable[..., Any]
    gap_at: Callable[..., Any]
    conjugate_at: Callable[..., Any]
    terms_at: Callable[..., Any]
    slack_at: Callable[..., Any]
    shift_at: Callable[..., Any]
    shift_cost_at: Callable[..., Any]

    @property
    def unit_slope(self) -> tuple[Callable[..., Any], float, float]:
        """The derivative in kernels for all widths, with two factors; losses of the residual."""
        raise AttributeError(f"{self.name} has no slope in units")

    def curvature(self, z: np.ndarray) -> np.ndarray:
        r"""The second derivative :math:`\ell''(z)`, generalised at a kink; smooth losses only."""
        raise NotImplementedError(f"{self.name} has no curvature")

    def nearest(self, z: np.ndarray, width: float) -> np.ndarray:
        r""":math:`\arg\min_x \ell(x) + (z - x)^2 / (2\delta)`, for a width :math:`\delta`."""
        raise NotImplementedError(f"{self.name} has no envelope")

    def bend(self, z: np.ndarray, width: float) -> np.ndarray:
        """The second derivative of that minimum."""
        raise NotImplementedError(f"{self.name} has no envelope")

    @abstractmethod
    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        r"""The second derivative of :math:`U\,\ell^*(-a/U)` in ``a``, for ``U = upper``."""
