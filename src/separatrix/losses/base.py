r"""The form of a loss, and the interface of its classes.

A loss is a convex function :math:`\ell(s, t) \ge 0` of a score :math:`s = w\cdot x + b` and a
target :math:`t`.  All of those here have the form

.. math:: \ell(s, t) = \ell_t(z), \qquad z = \sigma_t\,(s - c_t), \quad \sigma_t = \pm 1,

which is the effect of a target: it turns the score round (the sign :math:`\sigma_t`) and moves it
(the centre :math:`c_t`).  For a loss of the margin (:class:`MarginLoss`) the sign is the label,
:math:`z = t\,s`; for one of the residual (:class:`ResidualLoss`) the centre is the number,
:math:`z = t - s`.  In both, :math:`\ell_t` is the same function for all targets, so that compiled
loops have scalars of :math:`z` alone.  Where it is not, :meth:`Loss.given` has the functions of the
targets of some rows.  The conjugate in the score follows from that in :math:`z`,

.. math:: \sup_s\, r s - U\,\ell(s, t) = U\,\ell_t^*(\sigma_t\,r/U) + r\,c_t .

A loss that is by nature below zero somewhere is stated less its infimum for the target, which does
not move the optimum: that no loss is negative bounds an objective where nothing else does.

Everything that the rest of the library needs to know about a loss is one class here:

======================  =====================================================================
``sign(t), centre(t)``  what targets do to scores; ``given(t)`` where they do more, see above
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
``cost_at``             compiled scalar functions of a loss of the residual, optional, see below
``dual_cost_at``        likewise
``terms_at``            a compiled scalar function for small problems, optional, see below
``slack_at``            likewise, of a loss with a kink
``shift_at``            compiled scalar functions for rows that are seen once, optional, see below
``shift_cost_at``       likewise
``shift, shift_cost``   the same for arrays, see :meth:`Loss.shift`
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
``cost_at(z, parameter)`` is the loss and ``dual_cost_at(a, U, parameter)`` is
:math:`U\ell^*(-a/U)`, likewise.
``terms_at(z, a, width, U, parameter)`` returns value, slope and curvature of :math:`U\,\ell` at
``z``; for a loss with a kink it returns those of its Moreau envelope
:math:`\max_t -tz - U\,\ell^*(-t/U) - \tfrac{width}2 (t - a)^2`.
``slack_at(a, z, U, parameter)`` is ``gap_at`` of such a loss.  All four take the loss's
``parameter``, the number that distinguishes losses of one class, so that one compiled kernel serves
all of them.
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


def score_text(product: str, intercept: bool) -> str:
    """The score as text, in brackets where it is a sum."""
    return f"({product} + b)" if intercept else product


class Loss(ABC):
    """A pointwise convex loss of a score and a target.

    Subclass :class:`MarginLoss` or :class:`ResidualLoss` to add one, and this class where a target
    does more than turn or move the score.

    Attributes
    ----------
    key : str
        The name by which models, pictures, files and the command line know it, in :data:`LOSSES`.
    name : str
        Its name in the field.
    synonyms : tuple of str
        Its other names.
    expression : str
        The loss as text, with ``{z}`` where its argument stands and ``{score}`` where the score
        stands between brackets that are there; :meth:`written` puts them in.
    argument_text : str
        The argument ``z`` as text, with ``{score}`` where the score stands.
    conjugate_formula : str
        Its conjugate in ``z`` as text.
    convex : bool
        Whether it is convex; no method here minimises one that is not.
    smooth : bool
        Whether ``curvature`` describes the loss: its derivative is continuous.
    zero_one_factor : float
        The smallest multiple of the loss that is nowhere below the zero-one loss, so that the
        sum of the losses, times this, bounds the number of mistakes; ``inf`` where there is none.
    domain : tuple of float
        The least and the largest target.
    of_residual : bool
        Whether ``z`` is the residual ``y - f(x)`` of a number.
    quadratic : bool
        Whether the loss is half the square of ``z``.
    by_target : bool
        Whether it is another function of ``z`` for every target, see :meth:`given`.
    centre_units : float
        The largest error of a centre, in multiples of :math:`2^{-53}` of its size.
    flat_from : float, optional
        The margin from which on a row costs nothing, where that is more than being right.
    units : float
        The largest error of a value, in multiples of :math:`2^{-53}` of its size; and that of the
        conjugate, in such multiples of its own size, plus its argument's where terms of it cancel.
    cancels : bool
        Whether terms of the conjugate cancel.
    unattained : bool
        Whether the infimum of the loss is approached without being reached, so that separable
        data have no finite optimum unless there is a penalty.
    dual_lower, dual_upper : float
        The range of a multiplier, divided by ``U``; an array for a loss by target.
    smoothable : bool
        Whether ``nearest`` and ``bend`` describe its Moreau envelopes.
    edged : bool
        Whether a multiplier may end at an edge of its range.
    parameter : float
        The number that ``terms_at`` and ``slack_at`` take; 0 where the loss has none.
    pieces : tuple of (float, float)
        Slopes and levels of the lines whose maximum the loss is, by slope; empty for a loss that is
        no such maximum.
    shift_limit : float
        The multiple of :meth:`shift` below which a moved multiplier stays in its range; infinite
        where it has none.
    """

    key: str = ""
    name: str
    synonyms: tuple[str, ...] = ()
    expression: str
    argument_text: str = "{score}"
    conjugate_formula: str
    convex: bool = True
    smooth: bool
    zero_one_factor: float = np.inf
    domain: tuple[float, float] = (-np.inf, np.inf)
    of_residual: bool = False
    quadratic: bool = False
    by_target: bool = False
    centre_units: float = 0.0
    flat_from: float | None = None
    units: float = 24.0
    cancels: bool = True

    @property
    def formula(self) -> str:
        """The loss of the score ``w.x + b`` as text."""
        return self.written()

    def written(self, product: str = "w.x", intercept: bool = True) -> str:
        """The loss as text, of the score that a product and an intercept add up to."""
        z = self.argument_text.format(score=score_text(product, intercept))
        return self.expression.format(z=z, score=f"{product} + b" if intercept else product)

    unattained: bool = False
    smoothable: bool = False
    edged: bool = True
    parameter: float = 0.0
    pieces: tuple[tuple[float, float], ...] = ()
    shift_limit: float = 1.0
    dual_lower: Any = 0.0
    dual_upper: Any
    value_at: Callable[..., Any]
    slope_at: Callable[..., Any]
    dual_step: Callable[..., Any]
    dual_slope: Callable[..., Any]
    gap_at: Callable[..., Any]
    conjugate_at: Callable[..., Any]
    cost_at: Callable[..., Any]
    dual_cost_at: Callable[..., Any]
    terms_at: Callable[..., Any]
    slack_at: Callable[..., Any]
    shift_at: Callable[..., Any]
    shift_cost_at: Callable[..., Any]

    # --- of a score and a target --------------------------------------------------------------

    @abstractmethod
    def sign(self, target: np.ndarray) -> np.ndarray:
        """The slope of ``z`` in the score, -1.0 or +1.0, for each target."""

    def centre(self, target: np.ndarray) -> np.ndarray | None:
        """The score that is ``z = 0`` for each target; None where it is zero for all."""
        return None

    def given(self, target: np.ndarray) -> Loss:
        """The functions of ``z`` for the targets of some rows, one each; by default the same."""
        return self

    def mean(self, score: np.ndarray) -> np.ndarray:
        """The target that a score predicts: the inverse of the link; by default the score."""
        return score

    def progress(self, move: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The sizes of moves of scores, negative except for moves to where the loss only falls.

        By default the loss falls for ever to neither side.
        """
        return -np.abs(move)

    @property
    def recedes(self) -> bool:
        """Whether the loss of some target falls for ever, the way that :meth:`progress` goes."""
        return self.unattained

    def level(self, score: np.ndarray, target: np.ndarray, upper: np.ndarray) -> float | None:
        """The best intercept beside scores without one; None where no formula has it."""
        return None

    def argument(self, score: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The number ``z`` of each score and target."""
        centre = self.centre(target)
        return self.sign(target) * (score if centre is None else score - centre)

    def __call__(self, score: np.ndarray, target: np.ndarray) -> np.ndarray:
        r"""The loss :math:`\ell(s, t)` of every score and target."""
        return self.given(target).value(self.argument(score, target))

    def slope(self, score: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Its derivative in the score."""
        return self.sign(target) * self.given(target).derivative(self.argument(score, target))

    def score_conjugate(self, slope: np.ndarray, target: np.ndarray) -> np.ndarray:
        r"""Its conjugate in the score, :math:`\sup_s us - \ell(s, t)`, at every slope."""
        found, centre = self.given(target).conjugate(self.sign(target) * slope), self.centre(target)
        return found if centre is None else found + slope * centre

    # --- of z ---------------------------------------------------------------------------------

    @abstractmethod
    def value(self, z: np.ndarray) -> np.ndarray:
        r"""The loss :math:`\ell(z)` of every margin or residual."""

    def value_above(self, z: np.ndarray) -> np.ndarray:
        """Upper bounds of the loss, but for ``units`` of their size."""
        return self.value(z)

    @abstractmethod
    def derivative(self, z: np.ndarray) -> np.ndarray:
        r"""Its derivative :math:`\ell'(z)`; at a kink, the element nearest to the left slope."""

    @abstractmethod
    def conjugate(self, u: np.ndarray) -> np.ndarray:
        r"""The conjugate :math:`\ell^*(u) = \sup_z uz - \ell(z)`; ``inf`` outside its domain."""

    @property
    def lines(self) -> np.ndarray:
        """The slopes of the :attr:`pieces` and their levels, as two rows."""
        return np.array(self.pieces).reshape(-1, 2).T

    @property
    def kinks(self) -> np.ndarray:
        """The points at which the :attr:`pieces` meet."""
        slopes, levels = self.lines
        return -np.diff(levels) / np.diff(slopes)

    @property
    def bounds_zero_one(self) -> bool:
        """Whether the loss itself is nowhere below the zero-one loss."""
        return bool(self.zero_one_factor <= 1.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

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

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        r"""The second derivative of :math:`U\,\ell^*(-a/U)` in ``a``, for ``U = upper``."""
        raise NotImplementedError(f"{self.name} has no curvature in the dual")

    def shift(self, z: np.ndarray) -> np.ndarray:
        r"""The largest move of the multiplier at ``z``, divided by ``U``; smooth losses only.

        A multiplier :math:`a = -U\,\ell'(z)` is moved to :math:`a \pm \varepsilon U k` with a
        number :math:`k \ge 0` that is at most this, and at most what the range leaves.  It is then
        still in its range for every :math:`|\varepsilon|` below :attr:`shift_limit`.
        """
        raise NotImplementedError(f"{self.name} has no 'shift', which fits in passes need")

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        r"""Numbers :math:`m` such that the term's gap after that move is at most

        .. math:: \tfrac12 \varepsilon^2 U m \big/ (1 - |\varepsilon| / L)^2

        for the :attr:`shift_limit` :math:`L`, whatever :math:`k` was.
        """
        raise NotImplementedError(f"{self.name} has no 'shift_cost', which fits in passes need")


class MarginLoss(Loss):
    """A loss of the margin ``z = y s`` of a label."""

    domain = (-1.0, 1.0)
    argument_text = "y {score}"

    def sign(self, target: np.ndarray) -> np.ndarray:
        return target

    def progress(self, move: np.ndarray, target: np.ndarray) -> np.ndarray:
        return target * move


class ResidualLoss(Loss):
    """A loss of the residual ``z = y - s`` of a number."""

    of_residual = True
    argument_text = "y - {score}"

    def sign(self, target: np.ndarray) -> np.ndarray:
        # One number for all rows, and no array of them.
        return np.broadcast_to(-1.0, np.shape(target))

    def centre(self, target: np.ndarray) -> np.ndarray:
        return target


class HalfSquare(Loss):
    """The common part of losses that are half a square, whatever it is the square of."""

    smooth = True
    dual_lower, dual_upper = -np.inf, np.inf
    edged = False
    shift_limit = np.inf

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.ones_like(z)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 1.0 / upper

    def shift(self, z: np.ndarray) -> np.ndarray:
        return np.ones_like(z)

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        return np.square(k)
