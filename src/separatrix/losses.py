r"""Pointwise convex losses of the margin.

A loss is a convex function :math:`\ell(z) \ge 0` of the margin
:math:`z = y\,(w\cdot x + b)`.  Everything that the rest of the library needs to know about a
loss is one class here:

======================  =====================================================================
``value(z)``            :math:`\ell(z)`
``derivative(z)``       :math:`\ell'(z)`; at a kink, the element nearest to the left slope
``curvature(z)``        :math:`\ell''(z)` (generalised at a kink); smooth losses only
``value_at(z)``         the loss again, as a compiled scalar function for kernels
``slope_at(z)``         the derivative, likewise
``conjugate(u)``        :math:`\ell^*(u) = \sup_z uz - \ell(z)`, ``inf`` outside its domain
``dual_step``           a compiled scalar function, see below
``dual_slope``          a compiled scalar function, see below
``gap_at``              a compiled scalar function, see below
``conjugate_at``        a compiled scalar function, see below
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

All functions are safe for any finite argument: nothing overflows.

:data:`LOSSES` has them all by the names that models and command line know them by, and beside them
the loss that they stand in for, zero-one; :func:`table` puts side by side what sets them apart.

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
from scipy.special import expit, logsumexp, xlogy

from separatrix._kernels import exp_negative, inlined, log1p_unit, log_normal, scalar

__all__ = [
    "LOSSES",
    "Hinge",
    "LogLoss",
    "Loss",
    "MarginLoss",
    "PerceptronLoss",
    "Softmax",
    "SquaredError",
    "SquaredHinge",
    "ZeroOneLoss",
    "loss_of",
    "margin_losses",
    "table",
]

_TINY = np.finfo(np.float64).tiny
_BELOW_ONE = np.nextafter(1.0, 0.0)


class MarginLoss(ABC):
    """What every loss of the margin is known by.

    Attributes
    ----------
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
    units : float
        By how many times :math:`2^{-53}` of its size a value may be off, and one of the conjugate
        by as much of its size and of its argument's together.
    """

    name: str
    formula: str
    conjugate_formula: str
    convex: bool = True
    smooth: bool
    zero_one_factor: float
    units: float = 24.0

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
    edged : bool
        Whether a multiplier may end at an edge of its range.
    """

    unattained: bool = False
    edged: bool = True
    dual_lower: float = 0.0
    dual_upper: float
    value_at: Callable[..., Any]
    slope_at: Callable[..., Any]
    dual_step: Callable[..., Any]
    dual_slope: Callable[..., Any]
    gap_at: Callable[..., Any]
    conjugate_at: Callable[..., Any]

    def curvature(self, z: np.ndarray) -> np.ndarray:
        r"""The second derivative :math:`\ell''(z)`, generalised at a kink; smooth losses only."""
        raise NotImplementedError(f"{self.name} has no curvature")

    @abstractmethod
    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        r"""The second derivative of :math:`U\,\ell^*(-a/U)` in ``a``, for ``U = upper``."""


def margin_losses() -> list[Loss]:
    """One instance of every margin loss, in order of definition; tests enrol themselves by it.

    Returns
    -------
    list of Loss

    Examples
    --------
    >>> from separatrix.losses import margin_losses
    >>> margin_losses()[:3]
    [Hinge(), SquaredHinge(), LogLoss()]
    """
    return [cls() for cls in Loss.__subclasses__()]


# --- hinge ----------------------------------------------------------------------------------


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
    # Slack times room at one edge or the other.
    return (1.0 - z) * (upper - a) if z < 1.0 else a * (z - 1.0)


@scalar
def _hinge_conjugate(a, upper):
    return -a


class Hinge(Loss):
    r"""The hinge loss :math:`\max(0, 1 - z)` of the support vector machine.

    Conjugate: :math:`u` on :math:`[-1, 0]`.  Cortes and Vapnik (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    name = "hinge"
    formula = "max(0, 1 - y (w.x + b))"
    conjugate_formula = "u for -1 <= u <= 0, else inf"
    zero_one_factor = 1.0
    units = 6.0
    smooth = False
    dual_upper = 1.0
    value_at = staticmethod(_hinge_value)
    slope_at = staticmethod(_hinge_derivative)
    dual_step = staticmethod(_hinge_step)
    dual_slope = staticmethod(_hinge_slope)
    gap_at = staticmethod(_hinge_gap)
    conjugate_at = staticmethod(_hinge_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - z, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return np.where(z < 1.0, -1.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where((u >= -1.0) & (u <= 0.0), u, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.zeros_like(a)


# --- squared hinge --------------------------------------------------------------------------


@scalar
def _squared_hinge_step(a, z, q, upper):
    return max(a + (1.0 - z - a / (2.0 * upper)) / (q + 1.0 / (2.0 * upper)), 0.0)


@scalar
def _squared_hinge_slope(a, z, upper):
    return z - 1.0 + a / (2.0 * upper)


@scalar
def _squared_hinge_value(z):
    slack = max(1.0 - z, 0.0)
    return slack * slack


@scalar
def _squared_hinge_derivative(z):
    return -2.0 * max(1.0 - z, 0.0)


@scalar
def _squared_hinge_gap(a, z, upper):
    t = a / (2.0 * upper)
    if z < 1.0:
        return upper * (1.0 - z - t) * (1.0 - z - t)
    return a * (z - 1.0) + upper * t * t


@scalar
def _squared_hinge_conjugate(a, upper):
    return a * (a / (4.0 * upper)) - a


class SquaredHinge(Loss):
    r"""The squared hinge loss :math:`\max(0, 1 - z)^2`, without a factor of one half.

    Conjugate: :math:`u + u^2/4` for :math:`u \le 0`.  Fan et al. (2008), LIBLINEAR.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    name = "squared hinge"
    formula = "max(0, 1 - y (w.x + b))^2"
    conjugate_formula = "u + u^2 / 4 for u <= 0, else inf"
    zero_one_factor = 1.0
    units = 6.0
    smooth = True
    dual_upper = np.inf
    value_at = staticmethod(_squared_hinge_value)
    slope_at = staticmethod(_squared_hinge_derivative)
    dual_step = staticmethod(_squared_hinge_step)
    dual_slope = staticmethod(_squared_hinge_slope)
    gap_at = staticmethod(_squared_hinge_gap)
    conjugate_at = staticmethod(_squared_hinge_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(1.0 - z, 0.0))

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(1.0 - z, 0.0)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.where(z < 1.0, 2.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(u <= 0.0, u + 0.25 * np.square(u), np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 0.5 / upper


# --- logistic -------------------------------------------------------------------------------


@scalar
def _log_slope(a, z, upper):
    return z + np.log(a / (upper - a))


@scalar
def _log_step(a, z, q, upper):
    # Find t in (0, U) with z + q (t - a) + log(t / (U - t)) = 0.  In the logit
    # v = log(t / (U - t)) the equation is  v + q U sigma(v) = q a - z,  increasing in v with
    # slope 1 + q U sigma'(v): no logarithm near a bound, and t keeps its relative accuracy.
    if not q * upper < np.inf:
        # No finite step could matter against a row of such length.
        return a
    target = q * a - z
    low = target - q * upper
    high = target
    # Either start is the answer near the optimum; what the margin alone says is the cheaper one.
    settled = q * upper > 1.0 and a > 0.0 and a < upper
    v = np.log(a / (upper - a)) if settled else -z
    v = min(max(v, low), high)
    for _ in range(60):
        e = np.exp(-abs(v))
        share = 1.0 / (1.0 + e)
        sigma = share if v >= 0.0 else e * share
        residual = v + q * upper * sigma - target
        if residual > 0.0:
            high = v
        else:
            low = v
        slope = e * share * share
        new = v - residual / (1.0 + q * upper * slope)
        if not (new > low and new < high):
            new = 0.5 * (low + high)
        # After a Newton step the error is less than the square of the step, and a row is visited
        # again: each time its step is shorter.  For one so short sigma is straight.
        if abs(new - v) <= 1e-5 * max(1.0, 1e-9 * abs(v)):
            return upper * (sigma + (new - v) * slope)
        v = new
    e = np.exp(-abs(v))
    share = 1.0 / (1.0 + e)
    return upper * (share if v >= 0.0 else e * share)


@scalar
def _log_value(z):
    return max(-z, 0.0) + log1p_unit(exp_negative(-abs(z)))


@scalar
def _log_derivative(z):
    e = exp_negative(-abs(z))
    return -(e if z >= 0.0 else 1.0) / (1.0 + e)


@scalar
def _log_gap(a, z, upper):
    # The Kullback-Leibler divergence of the slope in use from the slope at z.
    t = a / upper
    value = max(-z, 0.0) + np.log1p(np.exp(-abs(z)))
    entropy = 0.0
    if t > 0.0 and t < 1.0:
        entropy = t * np.log(t) + (1.0 - t) * np.log1p(-t)
    return max(upper * (value + entropy) + a * z, 0.0)


@inlined
def _log_conjugate(a, upper):
    # With the odds q of the rarer outcome, m log q - U log(1 + q): both terms have one sign, and
    # the sum is stationary at the true odds, so that the rounding of q does not tell.
    rest = upper - a
    m = min(a, rest)
    q = m / max(a, rest)
    return m * log_normal(max(q, 2.0**-1022)) - upper * log1p_unit(q)


class LogLoss(Loss):
    r"""The logistic loss :math:`\log(1 + e^{-z})`.

    Conjugate: :math:`(1+u)\log(1+u) + (-u)\log(-u)` on :math:`[-1, 0]`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import LogLoss
    >>> LogLoss().derivative(np.array([0.0, 800.0])).tolist()
    [-0.5, -0.0]
    """

    name = "log loss"
    formula = "log(1 + exp(-y (w.x + b)))"
    conjugate_formula = "(1 + u) * log(1 + u) - u * log(-u) for -1 <= u <= 0, else inf"
    zero_one_factor = 1.0 / np.log(2.0)
    smooth = True
    unattained = True
    edged = False
    dual_upper = 1.0
    value_at = staticmethod(_log_value)
    slope_at = staticmethod(_log_derivative)
    dual_step = staticmethod(_log_step)
    dual_slope = staticmethod(_log_slope)
    gap_at = staticmethod(_log_gap)
    conjugate_at = staticmethod(_log_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return -expit(-z)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        e = np.exp(-np.abs(z))
        return e / np.square(1.0 + e)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        t = np.clip(-u, 0.0, 1.0)
        # Zero times a logarithm that is finite, at either end: several times as fast as xlogy.
        out = t * np.log(np.maximum(t, _TINY)) + (1.0 - t) * np.log1p(-np.minimum(t, _BELOW_ONE))
        return np.where((u >= -1.0) & (u <= 0.0), out, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return upper / (a * (upper - a))


# --- squared error --------------------------------------------------------------------------


@scalar
def _squared_error_step(a, z, q, upper):
    return a + (1.0 - z - a / upper) / (q + 1.0 / upper)


@scalar
def _squared_error_slope(a, z, upper):
    return z - 1.0 + a / upper


@scalar
def _squared_error_value(z):
    return 0.5 * (1.0 - z) * (1.0 - z)


@scalar
def _squared_error_derivative(z):
    return z - 1.0


@scalar
def _squared_error_gap(a, z, upper):
    t = 1.0 - z - a / upper
    return 0.5 * upper * t * t


@scalar
def _squared_error_conjugate(a, upper):
    return a * (a / (2.0 * upper)) - a


class SquaredError(Loss):
    r"""The squared error :math:`\tfrac12 (1 - z)^2 = \tfrac12 (y - w\cdot x - b)^2` of labels ±1.

    Conjugate: :math:`u + u^2/2`.  Its multipliers may have either sign.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredError
    >>> SquaredError().value(np.array([-1.0, 1.0, 3.0])).tolist()
    [2.0, 0.0, 2.0]
    """

    name = "squared error"
    formula = "1/2 (1 - y (w.x + b))^2"
    conjugate_formula = "u + u^2 / 2"
    zero_one_factor = 2.0
    units = 6.0
    smooth = True
    dual_upper = np.inf
    dual_lower = -np.inf
    edged = False
    value_at = staticmethod(_squared_error_value)
    slope_at = staticmethod(_squared_error_derivative)
    dual_step = staticmethod(_squared_error_step)
    dual_slope = staticmethod(_squared_error_slope)
    gap_at = staticmethod(_squared_error_gap)
    conjugate_at = staticmethod(_squared_error_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(1.0 - z)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return z - 1.0

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.ones_like(z)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return u + 0.5 * np.square(u)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 1.0 / upper


# --- perceptron -----------------------------------------------------------------------------


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


class PerceptronLoss(Loss):
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

    name = "perceptron"
    formula = "max(0, -y (w.x + b))"
    conjugate_formula = "0 for -1 <= u <= 0, else inf"
    zero_one_factor = np.inf
    units = 6.0
    smooth = False
    dual_upper = 1.0
    value_at = staticmethod(_perceptron_value)
    slope_at = staticmethod(_perceptron_derivative)
    dual_step = staticmethod(_perceptron_step)
    dual_slope = staticmethod(_perceptron_slope)
    gap_at = staticmethod(_perceptron_gap)
    conjugate_at = staticmethod(_perceptron_conjugate)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(-z, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return np.where(z <= 0.0, -1.0, 0.0)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where((u >= -1.0) & (u <= 0.0), 0.0, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.zeros_like(a)


# --- zero-one -------------------------------------------------------------------------------


class ZeroOneLoss(MarginLoss):
    r"""The zero-one loss: 1 for a mistake, :math:`z \le 0`, else 0.

    What a classifier is judged by, and what no method minimises: it is not convex, and flat
    wherever it has a derivative.  A point on the plane counts as a mistake.  Its conjugate is
    that of the constant 0, its convex envelope: 0 at :math:`u = 0`, else infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import ZeroOneLoss
    >>> ZeroOneLoss().value(np.array([-1.0, 0.0, 1.0])).tolist()
    [1.0, 1.0, 0.0]
    """

    name = "zero-one"
    formula = "1 if y (w.x + b) <= 0 else 0"
    conjugate_formula = "0 for u = 0, else inf"
    convex = False
    smooth = False
    zero_one_factor = 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.where(z <= 0.0, 1.0, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        """Zero; at the step itself there is none, and zero stands for it."""
        return np.zeros(np.shape(z))

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(u) == 0.0, 0.0, np.inf)


# --- by name --------------------------------------------------------------------------------

LOSSES: dict[str, type[MarginLoss]] = {
    "zero_one": ZeroOneLoss,
    "perceptron": PerceptronLoss,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "log": LogLoss,
    "squared_error": SquaredError,
}
"""The losses of the margin by name: zero-one, and those that take its place."""


def loss_of(name: str) -> Loss:
    """The loss of a name in :data:`LOSSES`, to be minimised.

    Parameters
    ----------
    name : str

    Returns
    -------
    Loss

    Raises
    ------
    ValueError
        For a name that is not there, or zero-one, which no method here minimises.

    Examples
    --------
    >>> from separatrix.losses import loss_of
    >>> loss_of("squared_hinge")
    SquaredHinge()
    """
    kind = LOSSES.get(name)
    if kind is None or not issubclass(kind, Loss):
        known = ", ".join(repr(k) for k, v in LOSSES.items() if issubclass(v, Loss))
        raise ValueError(f"loss={name!r} is not known; choose one of {known}.")
    return kind()


def table(z: Any = (-1.0, 0.0, 0.5, 1.0, 2.0)) -> list[dict[str, Any]]:
    """All losses side by side: what they are, and what they come to at some margins.

    Parameters
    ----------
    z : array-like of float
        Margins ``y (w.x + b)``.

    Returns
    -------
    list of dict
        One a loss: ``key`` (in :data:`LOSSES`), ``name``, ``formula``, ``conjugate``, ``convex``,
        ``smooth``, ``zero_one_factor`` (the smallest multiple that bounds zero-one from above),
        ``bounds_zero_one`` (whether that is 1), ``z``, ``value`` and ``derivative`` (lists).

    Examples
    --------
    >>> from separatrix.losses import table
    >>> for row in table(z=[0.5]):
    ...     print(f"{row['name']:14s} {row['value'][0]:.3f} {row['derivative'][0]:+.3f} "
    ...           f"convex={row['convex']} smooth={row['smooth']} x{row['zero_one_factor']:.3f}")
    zero-one       0.000 +0.000 convex=False smooth=False x1.000
    perceptron     0.000 +0.000 convex=True smooth=False xinf
    hinge          0.500 -1.000 convex=True smooth=False x1.000
    squared hinge  0.250 -1.000 convex=True smooth=True x1.000
    log loss       0.474 -0.378 convex=True smooth=True x1.443
    squared error  0.125 -0.500 convex=True smooth=True x2.000
    """
    margins = np.atleast_1d(np.asarray(z, dtype=np.float64))
    out = []
    for key, kind in LOSSES.items():
        loss = kind()
        out.append(
            {
                "key": key,
                "name": loss.name,
                "formula": loss.formula,
                "conjugate": loss.conjugate_formula,
                "convex": loss.convex,
                "smooth": loss.smooth,
                "zero_one_factor": float(loss.zero_one_factor),
                "bounds_zero_one": loss.bounds_zero_one,
                "z": margins.tolist(),
                "value": loss.value(margins).tolist(),
                "derivative": loss.derivative(margins).tolist(),
            }
        )
    return out


# --- softmax --------------------------------------------------------------------------------


class Softmax:
    r"""The multinomial logistic loss :math:`\log\sum_k e^{s_k} - s_y` of K scores.

    Its conjugate at :math:`p - e_y`, for a probability vector :math:`p`, is
    :math:`\sum_k p_k \log p_k`.  Not a loss of one margin, so it stands beside :class:`Loss`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Softmax
    >>> Softmax().value(np.zeros((1, 4)), np.array([2])).round(4).tolist()   # log 4
    [1.3863]
    """

    name = "multinomial log loss"
    formula = "log sum_k exp(s_k - s_y), s_k = w_k.x + b_k"
    smooth = True
    unattained = True

    def value(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The loss of every row; ``scores`` is (n, K), ``codes`` (n,) the class numbers."""
        # Relative to the label's own score, and with log1p where that is the largest: the loss
        # of a row far on its side keeps its digits.
        rows = np.arange(len(codes))
        relative = scores - scores[rows, codes][:, None]
        relative[rows, codes] = -np.inf
        largest = np.maximum(relative.max(axis=1), 0.0)
        rest = np.exp(relative - largest[:, None]).sum(axis=1)
        return largest + np.log1p(rest + np.expm1(-largest))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Of every class, for each row of ``scores``, shape (n, K)."""
        shifted = scores - scores.max(axis=1, keepdims=True)
        np.exp(shifted, out=shifted)
        shifted /= shifted.sum(axis=1, keepdims=True)
        return shifted

    def negative_entropy(self, p: np.ndarray) -> np.ndarray:
        """The conjugate of every row: ``sum_k p_k log p_k``."""
        return xlogy(p, p).sum(axis=1)

    def divergence(self, p: np.ndarray, scores: np.ndarray) -> np.ndarray:
        r"""Fenchel-Young gap of every row: :math:`\mathrm{KL}(p \,\|\, \mathrm{softmax}(s))`."""
        log_q = scores - logsumexp(scores, axis=1, keepdims=True)
        return (xlogy(p, p) - p * log_q).sum(axis=1)
