r"""The objective: loss, penalty, design, weights and an unpenalised intercept.

Conventions
-----------
A point ``theta`` stacks the weights and, below them, the intercept if there is one: shape
(n_features + 1,), or (n_features + 1, K) for K classes at once.  ``scores`` are
:math:`s = Xw + b`, of shape (n_samples,) or (n_samples, K).  With :math:`U_i = C s_i` (``C``
times the sample weight) the objective is

.. math:: P(w, b) = \Omega(w) + \tfrac\tau2 b^2 + \sum_i U_i\,\ell_i(s_i),

where :math:`\tau = 0` unless an audit of another library's model asks for its penalised
intercept.  The dual point is the *residual* :math:`r_i`, any slope that stands for
:math:`U_i \ell_i'(s_i)`; for a margin loss :math:`r_i = -\alpha_i y_i`.

With :math:`v = -X^\top r` weak duality gives the bound, and its distance from the objective is a
sum of terms that are each non-negative,

.. math::
    P - D = [\Omega(w) + \Omega^*(v) - w\cdot v]
        + \sum_i [U_i\ell_i(s_i) + (U_i\ell_i)^*(r_i) - r_i s_i]
        + b \sum_i r_i,

the last of which vanishes once the residuals are balanced (:math:`\sum r_i = 0`, the
constraint that an unpenalised intercept puts on the dual).  The gap is evaluated in this form,
because the difference of two large numbers would drown a small one in rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlog1py, xlogy

from separatrix._compiled import narrow_products as narrow
from separatrix._compiled.linear_algebra import conjugate_gradients, inner, solve_positive
from separatrix.data.design import Design
from separatrix.losses import Loss, Softmax
from separatrix.objectives.enclosure import (
    FUNCTION_UNITS,
    TINY,
    UNIT,
    Enclosure,
    Level,
    enclosed_adjoint,
    enclosed_scores,
    gamma,
    half_square_above,
    length_above,
    row_norms_above,
    row_squares_above,
    total,
    total_above,
)
from separatrix.objectives.orthogonality import Projector
from separatrix.objectives.passes import (
    SUMMED,
    Evaluation,
    charges,
    margin_pass,
    margin_slopes,
    softmax_pass,
    softmax_product,
)
from separatrix.objectives.penalties import L2, Penalty

__all__ = [
    "Bound",
    "DualPoint",
    "HardMarginObjective",
    "LinearProblem",
    "MarginObjective",
    "MistakeObjective",
    "Objective",
    "SoftmaxObjective",
    "charged_bound",
]

# Up to this many parameters a dense Hessian is formed and factorised.
DENSE_HESSIAN = 2500
# From so many rows on, vectors of their length are worth a kernel.
_MANY = 50_000
# From so many entries on, one pass instead of two products is.
_FUSED = 1_000_000
# Rows from which on one look at vectors of their length is worth a kernel beside such a pass.
_SEVERAL = 5_000
# Rows at a time in sums over rows.
_ROWS = 4096
_EPS = float(np.finfo(np.float64).eps)
# By how much a margin that is short of 1 may have been meant to be 1.
_STRETCH = 1e-3
# What counts as rounding, relative to the sum of the sizes of the terms.
_ROUNDING = 64.0 * _EPS


@dataclass(frozen=True)
class Bound:
    """The two sides of weak duality at one point.

    Attributes
    ----------
    primal, dual, gap : float
    residual : ndarray
        The feasible dual point that proves ``dual``.
    scores, adjoint : ndarray, optional
        ``linear(theta)`` and ``X' residual``, where they were computed on the way, from these very
        numbers.
    apart : float
        By how much the residual that ``adjoint`` was computed from may differ from ``residual``,
        relative to each entry.
    charge : float
        How much of the gap is there for the rounding of the evaluation; 0 where the bound is not
        yet charged for it.
    """

    primal: float
    dual: float
    gap: float
    residual: np.ndarray | None = None
    scores: np.ndarray | None = None
    adjoint: np.ndarray | None = None
    apart: float = 0.0
    charge: float = 0.0


@dataclass(frozen=True)
class DualPoint:
    r"""A point of the dual that is feasible exactly, near one that floats can hold.

    The true point :math:`r'` differs from the residual at hand in every entry by at most
    ``share * |r_i| + spread * U_i``; floats need not be able to hold it.

    Attributes
    ----------
    residual : ndarray
    conjugate : float
        ``sum (U l)*(r)``, as floats give it.
    conjugate_above : float
        An upper bound of the same sum at :math:`r'`.
    share, spread : float
    slope : ndarray or float
        Upper bounds of ``|sum_i r'_i|``; 0 where they are balanced.
    """

    residual: np.ndarray
    conjugate: float
    conjugate_above: float
    share: float = 0.0
    spread: float = 0.0
    slope: Any = 0.0


class LinearProblem(ABC):
    """Points, scores and their shapes: what every objective over ``(w, b)`` shares.

    Parameters
    ----------
    design : Design
    C : float
        Weight of the loss.
    weights : ndarray of shape (n_samples,), optional
        Sample weights >= 0.
    fit_intercept : bool
    """

    # Shape of one row of scores: () for one score, (K,) for K.
    output_shape: tuple[int, ...] = ()
    # Whether points may break a constraint, where the objective is infinite by rights.
    constrained: bool = False
    # Whether a point is its own dual point, so that the one is worth as much as the other.
    coupled: bool = False

    def __init__(
        self,
        design: Design,
        *,
        C: float = 1.0,
        weights: np.ndarray | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.design = design
        self.fit_intercept = fit_intercept
        self.C = float(C)
        n = design.n_samples
        self.upper = np.full(n, float(C)) if weights is None else C * weights.astype(np.float64)

    # --- points and scores ------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point ``theta``."""
        return (self.design.n_features + int(self.fit_intercept), *self.output_shape)

    def zero(self) -> np.ndarray:
        return np.zeros(self.shape)

    def weights_of(self, theta: np.ndarray) -> np.ndarray:
        return theta[: self.design.n_features]

    def intercept_of(self, theta: np.ndarray) -> Any:
        """The intercept: a number or (K,); 0 where there is none."""
        return theta[-1] if self.fit_intercept else np.zeros(self.output_shape)

    def join(self, w: np.ndarray, b: Any) -> np.ndarray:
        return (
            np.concatenate([w, np.asarray(b).reshape(1, *self.output_shape)])
            if self.fit_intercept
            else w
        )

    def canonical(self, theta: np.ndarray) -> np.ndarray:
        """The representative among points that mean the same: the one to return."""
        return theta

    def to_internal(self, theta: np.ndarray) -> np.ndarray:
        """The point for weights and an intercept that are those of the data as they are."""
        return theta

    def from_internal(self, theta: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`to_internal`."""
        return theta

    def linear(self, theta: np.ndarray) -> np.ndarray:
        """The scores at ``theta``; also of a direction."""
        scores = self.design.dot(self.weights_of(theta))
        if self.fit_intercept:
            scores += theta[-1]
        return scores

    def adjoint(self, residual: np.ndarray) -> np.ndarray:
        """The transpose of :meth:`linear`."""
        w = self.design.t_dot(residual)
        return self.join(w, residual.sum(axis=0))

    def absolute_linear(self, t: np.ndarray) -> np.ndarray:
        """What the terms of :meth:`linear` add up to in size, for one column of ``theta``."""
        terms = self.design.absolute_dot(self.weights_of(t))
        if self.fit_intercept:
            terms += np.abs(t[-1])
        return terms

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """The design's Gram matrix, bordered by that of the constant for an intercept."""
        d = self.design.n_features
        out = np.empty((self.shape[0], self.shape[0]))
        out[:d, :d] = self.design.gram(weights)
        if self.fit_intercept:
            out[d, :d] = out[:d, d] = self.design.t_dot(weights)
            out[d, d] = weights.sum()
        return out

    @property
    def smooth(self) -> bool:
        """Whether the loss has curvature: what a Newton method needs."""
        return False

    def support_counts(self, residual: np.ndarray | None) -> tuple[int, int] | None:
        """Of a kernel machine, how many multipliers are not zero, and how many are at the top."""
        return None

    @abstractmethod
    def formula(self) -> str:
        """What is minimised, as text."""

    @abstractmethod
    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        """Objective, lower bound and gap at ``theta``."""

    def bound_of(self, theta: np.ndarray, evaluation: Evaluation) -> Bound:
        """:meth:`bound` where one pass over the data has told all about ``theta``."""
        return self.bound(theta, None, evaluation.scores)

    @abstractmethod
    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        """Bounds that hold whatever rounding did: of this point from above, of all from below.

        Parameters
        ----------
        theta : ndarray
            The point that is returned.
        level : Level
            How closely to look at the rounding of products with the data.
        proof : Bound
            Has a dual point, which is made feasible exactly, or None for none.
        known : Bound, optional
            Of the very same point, as :meth:`bound` gave it.
        """

    def enclosed_linear(
        self, theta: np.ndarray, level: Level, known: Bound | None = None
    ) -> Enclosure:
        """:meth:`linear`, from the scores of ``known`` where it has them."""
        scores = None if known is None else known.scores
        return enclosed_scores(
            self.design, self.weights_of(theta), self.intercept_of(theta), level, scores=scores
        )

    def certify(
        self, theta: np.ndarray, proof: Bound, tol: float, known: Bound | None = None
    ) -> Bound:
        """:meth:`charged`, as closely as it takes: until rounding has a thousandth of ``tol``."""
        best: Bound | None = None
        for level in self.levels():
            found = self.charged(theta, level, proof, known)
            best = found if best is None else _sharper(best, found)
            if best.primal < np.inf and best.charge <= 1e-3 * tol * abs(best.primal):
                break
        assert best is not None
        if best.dual > best.primal:
            # A bound above the objective proves that an assumption fails (a kernel that is none,
            # say), and so that nothing is known.
            return Bound(np.inf, 0.0, np.inf, charge=np.inf)
        return best

    def levels(self) -> Sequence[Level]:
        """How closely it is worth looking."""
        return tuple(Level)

    def points(self) -> Design | None:
        """The data, where moving a column changes how well float64 holds the problem."""
        return self.design

    def hardest_column(self) -> tuple[int, float] | None:
        """The column whose offset costs most digits, and the offset; None where none costs many."""
        design = self.points()
        if design is None or design.n_features == 0:
            return None
        share = np.full(design.n_samples, 1.0 / design.n_samples)
        with np.errstate(all="ignore"):
            mean = design.t_dot(share)
            spread = np.sqrt(np.maximum(design.column_squares(share) - np.square(mean), 0.0))
            spread = np.maximum(spread, 1e-8 * np.abs(mean))
            ratio = np.where(np.isfinite(mean) & (mean != 0.0), np.abs(mean) / spread, 0.0)
        j = int(np.argmax(ratio))
        return (j, float(f"{mean[j]:.2g}")) if 1e2 < ratio[j] < 0.99e8 else None

    def polished(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        """Points beside one where the objective may be less, seen in twice float64's digits."""
        return iter(())


def _sharper(one: Bound, other: Bound) -> Bound:
    """What two charged bounds of the same point say together."""
    primal, dual = min(one.primal, other.primal), max(one.dual, other.dual)
    gap = max(primal - dual, 0.0) if primal < np.inf else np.inf
    residual = one.residual if one.dual >= other.dual else other.residual
    charge = min(one.charge, other.charge)
    return Bound(primal, dual, gap, residual, charge=charge)


def _balancing_share(multipliers: np.ndarray, y: np.ndarray, slope: float) -> float:
    """By which share the heavier class, whichever it is, is scaled down at most to balance both.

    ``slope`` bounds the difference of the two sums; infinite where a class has no multipliers.
    """
    sums = [total(multipliers[y * sign > 0.0]) for sign in (1.0, -1.0)]
    least = min(value - error for value, error in sums)
    return slope / least * (1.0 + 8.0 * UNIT) if least > 0.0 else math.inf


def charged_bound(
    middle: tuple[float, float], primal: float, dual: float, residual: np.ndarray | None
) -> Bound:
    """The bound of objectives that are nowhere negative, from its sides and from their middles."""
    # Weights that are products of C, sample and class weights are rounded: by a factor of at most
    # 1 + 8 u, and so are both sides.
    primal *= 1.0 + 16.0 * UNIT
    dual *= 1.0 - 16.0 * UNIT
    primal = float("inf") if math.isnan(primal) else primal
    if not dual > 0.0:
        # The bound at the dual point 0.
        dual, residual = 0.0, None if residual is None else np.zeros_like(residual)
    gap = max(primal - dual, 0.0) if primal < np.inf else np.inf
    charge = primal - middle[0] + max(middle[1] - dual, 0.0)
    charge = charge if charge < np.inf else np.inf  # NaN, too
    return Bound(primal, dual, gap, residual, charge=charge)


class Objective(LinearProblem):
    """What a solver minimises and a certificate speaks about.

    Parameters
    ----------
    design : Design
    penalty : Penalty
    C : float
        Weight of the loss against the penalty.
    weights : ndarray of shape (n_samples,), optional
        Sample weights >= 0.
    fit_intercept : bool
    intercept_penalty : float
        The factor ``tau``; 0 for every model of this library.
    """

    loss: Any

    def __init__(
        self,
        design: Design,
        penalty: Penalty | None = None,
        *,
        intercept_penalty: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(design, **options)
        self.penalty = L2() if penalty is None else penalty
        self.intercept_penalty = intercept_penalty

    @property
    def balances(self) -> bool:
        """Whether the dual has the constraint of an unpenalised intercept: a sum of zero."""
        return self.fit_intercept and self.intercept_penalty == 0.0

    # --- value and derivatives --------------------------------------------------------------

    def penalty_value(self, theta: np.ndarray) -> float:
        b = self.intercept_of(theta)
        return self.penalty.value(self.weights_of(theta)) + 0.5 * self.intercept_penalty * float(
            np.sum(np.square(b))
        )

    def penalty_gradient(self, theta: np.ndarray) -> np.ndarray:
        w = self.penalty.gradient(self.weights_of(theta))
        return self.join(w, self.intercept_penalty * self.intercept_of(theta))

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        return self.penalty_value(theta) + self.loss_value(scores)

    def gradient(self, theta: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        scores = self.linear(theta) if scores is None else scores
        return self.penalty_gradient(theta) + self.adjoint(self.residual(scores))

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        """Loss and gradient of the loss at once: one pass over the data, where it can be one.

        ``scores``: ``linear(theta)`` where it is at hand.
        """
        scores = self.linear(theta) if scores is None else scores
        r = self.residual(scores)
        return Evaluation(scores, self.loss_value(scores), inner(r, scores), self.adjoint(r))

    def hessian_product(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction; ``curvature`` from :meth:`curvature`."""
        inner = self.curvature_apply(curvature, self.linear(direction))
        return self._penalty_curvature() * direction + self.adjoint(inner)

    def _penalty_curvature(self) -> np.ndarray:
        """Second derivative of the penalty for each row of ``theta``, as a column."""
        out = np.full((self.shape[0],) + (1,) * len(self.output_shape), self.penalty.curvature)
        if self.fit_intercept:
            out[-1] = self.intercept_penalty
        return out

    def formula(self) -> str:
        loss = self.loss.formula
        if not self.fit_intercept:
            loss = loss.replace("(w.x + b)", "w.x").replace(" + b_k", "")
        even = bool(np.all(self.upper == self.upper[0]))
        factor = f"{self.upper[0]:.6g} * sum {loss}" if even else f"{self.C:.6g} * sum s_i {loss}"
        terms = [self.penalty.formula, factor] if self.penalty.formula else [factor]
        return "minimise " + " + ".join(terms)

    @property
    def smooth(self) -> bool:
        return bool(self.loss.smooth)

    # --- what a kind of loss supplies -------------------------------------------------------

    def sample(self, index: np.ndarray) -> Objective:
        """The same objective on some of the rows, weighing as much as all of them."""
        part = copy(self)
        part.design = self.design.take(index)
        part.upper = self.upper[index] * (self.upper.sum() / self.upper[index].sum())
        return part

    def restricted(self, index: np.ndarray) -> Objective:
        """The same objective on some of the columns, as if the weights of the others were zero."""
        part = copy(self)
        part.design = self.design.columns(index)
        return part

    @abstractmethod
    def loss_value(self, scores: np.ndarray) -> float:
        """``sum U_i l_i(s_i)``."""

    @abstractmethod
    def residual(self, scores: np.ndarray) -> np.ndarray:
        """``U_i l_i'(s_i)``: gradient with respect to the scores."""

    @abstractmethod
    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """What :meth:`curvature_apply` and the Hessians take."""

    @abstractmethod
    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian of the loss term in the scores, times a direction of scores."""

    @abstractmethod
    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        """The dense Hessian, of ``theta.size`` rows."""

    @abstractmethod
    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        """The Hessian's diagonal, in the shape of ``theta``."""

    @abstractmethod
    def balanced(self, residual: np.ndarray) -> np.ndarray:
        """A dual feasible residual near ``residual`` whose sum is zero."""

    @abstractmethod
    def clipped(self, residual: np.ndarray) -> np.ndarray:
        """The residual with every row moved into the domain of its conjugate."""

    @abstractmethod
    def fenchel_young(self, scores: np.ndarray, residual: np.ndarray) -> float:
        """``sum (U l)(s) + (U l)*(r) - r s``, each term >= 0; ``inf`` outside the domain."""

    @abstractmethod
    def conjugate_value(self, residual: np.ndarray) -> float:
        """``sum (U l)*(r)``; ``inf`` outside the domain."""

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        """:meth:`fenchel_young` and :meth:`conjugate_value`, which have much in common."""
        return self.fenchel_young(scores, residual), self.conjugate_value(residual)

    @abstractmethod
    def null_scores(self) -> np.ndarray:
        """The scores of weights that are zero, with the best intercept for them."""

    @property
    def critical_C(self) -> float:
        """The largest ``C`` at which weights of zero are optimal; 0 without a kink there.

        The product ``|x_j . r|`` on every weight is then within the penalty's threshold.
        """
        if not self.penalty.threshold > 0.0:
            return 0.0
        residual = self.residual(self.null_scores()).reshape(self.design.n_samples, -1)
        strongest = 0.0
        for r in residual.T:
            products = np.abs(self.design.t_dot(r))
            # A constant column pulls nothing but what rounding leaves of it.
            rounding = _ROUNDING * self.design.absolute_t_dot(r)
            strongest = max(strongest, float(products[products > rounding].max(initial=0.0)))
        return self.C * self.penalty.threshold / strongest if strongest > 0.0 else float("inf")

    @abstractmethod
    def loss_above(self, scores: Enclosure) -> float:
        """An upper bound of :meth:`loss_value` at the true scores."""

    @abstractmethod
    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        """A point near a residual: exactly in the domain of the conjugate, and balanced if need be.

        ``moved``: how far every entry may move besides.
        """

    @abstractmethod
    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of positive weight, and by how much each is on its own side."""

    def separates(self, scores: np.ndarray) -> bool:
        """Whether every point of positive weight is strictly on its side."""
        return bool(np.all(self.margins(scores)[1] > 0.0))

    def has_recession_direction(self, scores: np.ndarray, direction: np.ndarray) -> bool:
        """Whether the loss only falls along a direction of ``theta``, however far one goes.

        No row moves back by more than a 1e-7th of what its terms add up to in size (the row's
        own rounding, with room for a direction that is not yet exact), one moves on, and a
        million times as far the loss is still no higher.
        """
        direction = self.canonical(direction)
        # A weight that Newton's method has nearly finished with still moves a little; but where
        # columns depend on one another, small weights may be there to cancel.  Try both.
        ones = (self.upper > 0.0).astype(np.float64)
        scale = np.sqrt(self.design.column_squares(ones))
        if self.fit_intercept:
            scale = np.append(scale, np.sqrt(ones.sum()))
        reach = np.abs(direction) * scale.reshape(-1, *(1,) * len(self.output_shape))
        cleaned = np.where(reach < 1e-5 * reach.max(), 0.0, direction)
        return self._is_recession_direction(scores, direction) or self._is_recession_direction(
            scores, cleaned
        )

    def _is_recession_direction(self, scores: np.ndarray, direction: np.ndarray) -> bool:
        along = self.linear(direction)
        used, moves = self.margins(along)
        columns = direction.reshape(len(direction), -1).T
        size = np.sum([self.absolute_linear(t) for t in columns], axis=0)[used]
        if not (moves.max(initial=0.0) > 0.0 and np.all(moves >= -1e-7 * size)):
            return False
        return self.loss_value(scores + 1e6 * along) <= self.loss_value(scores)

    # --- the certificate --------------------------------------------------------------------

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        """Weak duality at ``theta``.

        Parameters
        ----------
        theta : ndarray
            The point.
        residual : ndarray, optional
            A dual point, feasible or not: it is made feasible.  Default: the slopes of the loss
            at ``theta``.
        scores : ndarray, optional
            ``linear(theta)`` where it is at hand.
        adjoint : ndarray, optional
            ``X' residual`` where it is.
        """
        scores = self.linear(theta) if scores is None else scores
        r = given = self.residual(scores) if residual is None else residual
        primal = self.value(theta, scores)
        if not self.penalty.coercive:
            with np.errstate(all="ignore"):
                projected = self._projected(r, scores)
            if projected is None:
                return self._trivial(primal, r)
            r = projected
        if self.balances:
            r = self.balanced(r)
        if adjoint is None or np.any(r != given):
            adjoint = self.design.t_dot(r)
        v = -adjoint
        scale = self.penalty.dual_scale(v)
        if scale < 1.0:
            # Towards zero: within the domain of every loss, and balanced as before.
            r, v, adjoint = scale * r, scale * v, None
        slope = r.sum(axis=0)
        b = self.intercept_of(theta)
        terms, conjugate = self.dual_terms(scores, r)
        gap = self.penalty.fenchel_young(self.weights_of(theta), v) + terms
        if self.intercept_penalty > 0.0:
            tau = self.intercept_penalty
            gap += 0.5 * tau * float(np.sum(np.square(b + slope / tau)))
        elif self.balances:
            # Balanced to rounding; what is left is charged to the gap.
            gap += float(np.sum(np.abs(b * slope)))
        # The dual objective itself, which the rounding of the scores does not touch; of the two
        # values the lower one is the bound.
        direct = -self.penalty.conjugate(v) - conjugate
        if self.intercept_penalty > 0.0:
            direct -= 0.5 * float(np.sum(np.square(slope))) / self.intercept_penalty
        # Never a bound more precise than the arithmetic behind it; sums are pairwise, so that
        # their rounding does not grow with the number of rows to speak of.
        dual = min(primal - gap, direct) - 8.0 * _EPS * abs(primal)
        if not dual > 0.0:
            return self._trivial(primal, r)
        return Bound(primal, dual, primal - dual, r, scores, adjoint)

    def bound_of(self, theta: np.ndarray, evaluation: Evaluation) -> Bound:
        """The same, from :meth:`evaluate` at ``theta``, without another product with the data.

        Slopes and values that belong together leave nothing of the loss's terms: the gap is the
        penalty's.  An intercept asks for slopes that are balanced first.
        """
        if self.fit_intercept or self.penalty.curvature == 0.0:
            return super().bound_of(theta, evaluation)
        v = -evaluation.adjoint
        primal = self.penalty_value(theta) + evaluation.loss
        gap = self.penalty.fenchel_young(theta, v)
        # (U l)*(r) = r s - U l(s) at the slope r of s, whatever s.
        direct = evaluation.loss - evaluation.paired - self.penalty.conjugate(v)
        dual = min(primal - gap, direct) - 8.0 * _EPS * abs(primal)
        residual = self.residual(evaluation.scores)
        if not dual > 0.0:
            return self._trivial(primal, residual)
        # The slopes that the pass has summed are these, but for the last digits of each.
        adjoint, apart = evaluation.adjoint, 2.0 * FUNCTION_UNITS * UNIT
        return Bound(primal, dual, primal - dual, residual, evaluation.scores, adjoint, apart)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        residual = proof.residual
        found = self.enclosed_linear(theta, level, known)
        tau = half_square_above(self.intercept_of(theta), math.sqrt(self.intercept_penalty))
        primal = self.penalty.value_above(self.weights_of(theta)) + tau + self.loss_above(found)
        if known is not None and known.primal < np.inf:
            middle = known.primal
        else:
            middle = self.value(theta, found.middle)
        if residual is None:
            return charged_bound((middle, 0.0), primal, 0.0, None)
        if not self.penalty.coercive:
            point, dual = self._unpenalised(residual, found.middle, level)
            return charged_bound((middle, -point.conjugate), primal, dual, point.residual)
        below, dual, r = self.dual_below(residual, level, proof.adjoint, proof.apart)
        return charged_bound((middle, below), primal, dual, r)

    def certify(
        self, theta: np.ndarray, proof: Bound, tol: float, known: Bound | None = None
    ) -> Bound:
        best = super().certify(theta, proof, tol, known)
        if best.gap <= tol * best.primal or not (self.penalty.coercive and self.smooth):
            return best
        scores = self.linear(theta)
        residual = self.residual(scores)
        norms = row_norms_above(self.design)
        flat = np.abs(residual).reshape(len(residual), -1).sum(axis=1)
        noise = np.inf if norms is None else 2.0 * UNIT * total_above(flat * norms)
        if not 0.5 * noise * noise > tol * best.primal:
            return best
        # Rows so long that the last digits of the multipliers outweigh the penalty: a dual point
        # that no column pulls at is feasible whatever the penalty.
        point, dual = self._unpenalised(residual, scores, Level.DOUBLED)
        return _sharper(best, charged_bound((best.primal, dual), best.primal, dual, point.residual))

    def dual_below(
        self,
        residual: np.ndarray,
        level: Level,
        adjoint: np.ndarray | None = None,
        apart: float = 0.0,
    ) -> tuple[float, float, np.ndarray]:
        """The dual objective near a residual, a lower bound of it, and the point itself."""
        point = self.dual_point(residual)
        share = point.share
        if adjoint is not None:
            # What has moved in the last digits alone needs no other product with the data.
            moved = np.abs(point.residual - residual)
            apart += 4.0 * len(self.output_shape) * (np.prod(self.output_shape) + 4.0) * UNIT
            if np.all(moved <= apart * np.abs(residual)):
                share += 2.0 * apart
            else:
                adjoint = None
        pulled, _ = enclosed_adjoint(
            self.design,
            point.residual,
            level,
            adjoint=adjoint,
            share=share,
            spread=point.spread + 2.0**-1000 * (apart > 0.0),
            upper=self.upper,
            centred=self.balances,
        )
        conjugate, above = self.penalty.conjugate_above(pulled, point.conjugate_above)
        middles = -point.conjugate
        if np.isfinite(near := self.penalty.conjugate(pulled.middle)):
            middles -= near
        if self.intercept_penalty > 0.0:
            slope = half_square_above(point.slope, 1.0 / math.sqrt(self.intercept_penalty))
            conjugate += slope
            middles -= slope
        # Both terms are rounded up, and their sum by another unit.
        dual = -(conjugate + above)
        return middles, dual, point.residual

    def _unpenalised(
        self, residual: np.ndarray, scores: np.ndarray, level: Level
    ) -> tuple[DualPoint, float]:
        """A dual point orthogonal to all columns near a residual, and the bound that it gives."""
        failed = DualPoint(np.zeros_like(residual), 0.0, 0.0), 0.0
        if not self.smooth or self.shape[0] > DENSE_HESSIAN:
            return failed
        nothing = np.zeros_like(residual)
        with np.errstate(all="ignore"):
            point = self.dual_point(residual, nothing)
            r = point.residual
            weights = self.slack(r, scores)
            projector = Projector.of(self.design, weights, self.fit_intercept, self.gram)
            if projector is None:
                return failed
            if level is Level.DOUBLED:
                r = self.dual_point(projector.corrected(r), nothing).residual
            point = self.dual_point(r, projector.distance(r, level, point.share))
        return point, -point.conjugate_above

    @abstractmethod
    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Weights of the rows by which a residual may move and stay in its domain."""

    def _trivial(self, primal: float, residual: np.ndarray) -> Bound:
        # All losses here are >= 0, which is the bound at the dual point 0.
        return Bound(primal, 0.0, primal, np.zeros_like(residual))

    def _projected(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray | None:
        """The residual moved to ``X' r = 0``, or None where that leaves the domain.

        A Newton step ``t`` from here solves ``H t = -g``; moving the residual along
        ``curvature * linear(t)`` is the weighted least-squares projection whose weights vanish
        at the edge of the domain, so near an optimum it stays inside.
        """
        if not self.smooth:
            return None
        curvature = self.curvature(scores)
        size = int(np.prod(self.shape))
        hessian = self.hessian(curvature) if size <= DENSE_HESSIAN else None
        r = residual
        for _ in range(5):
            g = self.adjoint(r)
            if hessian is not None:
                try:
                    step = solve_positive(hessian, -g.ravel()).reshape(self.shape)
                except np.linalg.LinAlgError:
                    return None
            else:
                diagonal = np.maximum(self.hessian_diagonal(curvature), 1e-300)
                step = conjugate_gradients(
                    lambda p: self.hessian_product(curvature, p),
                    -g,
                    diagonal,
                    tol=1e-12,
                    max_iter=1000,
                )
            r = r + self.curvature_apply(curvature, self.linear(step))
        # Beyond rounding, the constraint does not hold, and there is honestly no bound.
        if not np.all(np.isfinite(r)) or not self._orthogonal(r):
            return None
        return r if np.isfinite(self.fenchel_young(scores, r)) else None

    def _orthogonal(self, residual: np.ndarray) -> bool:
        """Whether a residual is orthogonal, to rounding, to all scores that points can produce.

        Each column is judged against what its own terms add up to in size, and so is every
        combination of columns that nearly cancels: a column with a large offset carries its
        signal in the short difference from the intercept, which its own length would drown.
        """
        flat = residual.reshape(len(residual), -1)
        for r in flat.T:
            terms = self.design.absolute_t_dot(r)
            if np.any(np.abs(self.design.t_dot(r)) > _ROUNDING * terms):
                return False
            if self.fit_intercept and abs(r.sum()) > _ROUNDING * np.abs(r).sum():
                return False
        if self.shape[0] > DENSE_HESSIAN:
            return True
        # Rows count as much as their residuals: one without any must not set the scale.
        gram = self.gram(np.abs(flat).sum(axis=1))
        length = np.sqrt(np.diagonal(gram))
        length = np.where(length > 0.0, length, 1.0)
        values, vectors = np.linalg.eigh(gram / np.outer(length, length))
        for u in vectors.T[values < 1e-6]:
            t = u / length
            scores, terms = self.linear(t), self.absolute_linear(t)
            if np.sqrt(inner(scores, scores)) <= 4.0 * _EPS * np.sqrt(inner(terms, terms)):
                # Columns that depend on one another exactly leave nothing but rounding behind.
                continue
            if np.any(np.abs(scores @ flat) > 8.0 * _EPS * (terms @ np.abs(flat))):
                return False
        return True


class MarginObjective(Objective):
    """A loss of the margin ``y (w.x + b)`` with labels in {-1, +1}.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept, intercept_penalty
        See :class:`Objective`.
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    loss : Loss
    """

    def __init__(
        self,
        design: Design,
        y: np.ndarray,
        loss: Loss,
        penalty: Penalty | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, penalty, **options)
        self.y = y
        self.loss = loss

    def sample(self, index: np.ndarray) -> MarginObjective:
        part = super().sample(index)
        assert isinstance(part, MarginObjective)
        part.y = self.y[index]
        return part

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        # A design or a loss of somebody else's may lack what one pass asks for.
        able = self.design.by_rows and hasattr(self.loss, "value_at")
        if scores is not None or not able or self.design.n_stored < _FUSED:
            return super().evaluate(theta, scores)
        w, b = self.weights_of(theta), float(self.intercept_of(theta))
        scores, loss, paired, adjoint, slope = margin_pass(
            self.design, self.loss, self.y, self.upper, w, b
        )
        if not np.isfinite(paired):
            # Overflow, which the kernel's arithmetic does not look at more closely.
            return super().evaluate(theta)
        return Evaluation(scores, loss, paired, self.join(adjoint, slope))

    def loss_value(self, scores: np.ndarray) -> float:
        def terms(rows: slice) -> float:
            return inner(self.upper[rows], self.loss.value(self.y[rows] * scores[rows]))

        return float(self._over_rows(terms))

    def residual(self, scores: np.ndarray) -> np.ndarray:
        if len(scores) >= _MANY:
            # In registers and in threads; for few rows not worth the compilation.
            return margin_slopes(self.loss, self.y, self.upper, scores)
        return self.upper * self.y * self.loss.derivative(self.y * scores)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.upper * self.loss.curvature(self.y * scores)

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return curvature * direction

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        out = self.gram(curvature)
        out[np.diag_indices_from(out)] += self._penalty_curvature()
        return out

    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        return self._penalty_curvature() + self.join(
            self.design.column_squares(curvature), curvature.sum()
        )

    def balanced(self, residual: np.ndarray) -> np.ndarray:
        # In multipliers a = -y r the constraint reads sum a y = 0; each within its range first, or
        # the last clipping would undo the balance.
        low, high = self._ranges()
        a = np.empty(len(self.y))
        slack = np.empty_like(a)
        # A few rows at a time, because fresh memory costs more than what is done to it.
        for rows in self._slices():
            np.clip(-self.y[rows] * residual[rows], low[rows], high[rows], out=a[rows])
        excess = inner(a, self.y)
        if excess == 0.0:
            return -self.y * a
        # First choice: share the excess out among the multipliers that lie inside their range,
        # where the dual is flat to first order; each moves by at most its slack.
        for rows in self._slices():
            near = np.minimum(a[rows] - low[rows], high[rows] - a[rows])
            most = np.maximum(self.upper[rows], np.abs(a[rows]))
            np.maximum(np.minimum(near, most), 0.0, out=slack[rows])
        total = slack.sum()
        if abs(excess) <= 0.5 * total:
            share = excess / total
            for rows in self._slices():
                a[rows] -= self.y[rows] * slack[rows] * share
        else:
            # Otherwise scale the heavier class down: the box survives.
            positive = self.y > 0
            up, down = float(a[positive].sum()), float(a[~positive].sum())
            if not (up > 0.0 and down > 0.0):
                return np.zeros_like(residual)
            a = a * np.where(positive, min(1.0, down / up), min(1.0, up / down))
        for rows in self._slices():
            np.multiply(-self.y[rows], np.clip(a[rows], low[rows], high[rows]), out=a[rows])
        return a

    def clipped(self, residual: np.ndarray) -> np.ndarray:
        return -self.y * self.multipliers(residual)

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """The multipliers ``-y r`` of a residual, each moved into its range."""
        return np.clip(-self.y * residual, *self._ranges())

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest multiplier of every row."""
        return self._times_upper(self.loss.dual_lower), self._times_upper(self.loss.dual_upper)

    def _times_upper(self, factor: float) -> np.ndarray:
        if factor == 1.0:
            return self.upper
        if factor == 0.0 or (math.isinf(factor) and self.upper.all()):
            return np.broadcast_to(factor, self.upper.shape)
        out = np.zeros_like(self.upper)
        return np.multiply(factor, self.upper, out=out, where=self.upper > 0.0)

    def _over_rows(self, terms: Callable[[slice], Any]) -> np.ndarray:
        """The sum of what ``terms`` gives for some rows at a time.

        Few enough that what is in between stays in the cache: fresh memory costs more.
        """
        return np.sum([terms(rows) for rows in self._slices()], axis=0)

    def _slices(self) -> list[slice]:
        return [slice(start, start + _ROWS) for start in range(0, len(self.y), _ROWS)]

    def _slopes(self, residual: np.ndarray, rows: slice) -> tuple[np.ndarray, Any, np.ndarray]:
        """Weights, rows of positive weight and the slopes in the margin of a residual."""
        upper, y, residual = self.upper[rows], self.y[rows], residual[rows]
        used: Any = slice(None) if upper.all() else upper > 0.0
        slopes = y[used] * residual[used] / upper[used]
        if self.loss.dual_upper < np.inf:
            # A slope that is beyond the edge by an ulp stands for the edge.
            slopes[np.abs(slopes + 1.0) < 1e-15] = -1.0
        return upper[used], used, slopes

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        def terms(rows: slice) -> tuple[float, float]:
            upper, used, slopes = self._slopes(residual, rows)
            z = (self.y[rows] * scores[rows])[used]
            conjugate = self.loss.conjugate(slopes)
            gap = self.loss.value(z) + conjugate - slopes * z
            return inner(upper, np.maximum(gap, 0.0)), inner(upper, conjugate)

        gap, conjugate = self._over_rows(terms)
        return float(gap), float(conjugate)

    def fenchel_young(self, scores: np.ndarray, residual: np.ndarray) -> float:
        return self.dual_terms(scores, residual)[0]

    def conjugate_value(self, residual: np.ndarray) -> float:
        def terms(rows: slice) -> float:
            upper, _, slopes = self._slopes(residual, rows)
            return inner(upper, self.loss.conjugate(slopes))

        return float(self._over_rows(terms))

    def loss_above(self, scores: Enclosure) -> float:
        used: Any = slice(None) if self.upper.all() else self.upper > 0.0
        z = (self.y * scores.middle)[used]
        # Also what the next subtraction rounds.
        radius = scores.radius[used] * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * np.abs(z)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            value = self.loss.value(z - radius)
            if not self.loss.dual_lower >= 0.0:
                # One that also rises is the largest at either end: it is convex.
                value = np.maximum(value, self.loss.value(z + radius))
            upper = self.upper[used]
            out = total_above(upper * value) * (1.0 + (self.loss.units + 4.0) * UNIT)
            # What underflows: of a loss that is never zero the value, else the product.
            if self.loss.unattained:
                out += (total_above(upper) + len(upper)) * TINY
            else:
                out += np.count_nonzero(value) * TINY
        return float("inf") if math.isnan(out) else out

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        low, high = self._ranges()
        a = np.clip(-self.y * residual, low, high)
        used = self.upper > 0.0
        upper = self.upper[used]
        share, spread, slope = 0.0, 0.0, 0.0
        if self.fit_intercept and moved is None:
            value, error = total(a * self.y)
            slope = abs(value) + error
        if self.balances and slope > 0.0:
            if self.loss.dual_lower >= 0.0:
                # The heavier class, whichever it is, is scaled down to the other, by 1 - share.
                share, inside = _balancing_share(a, self.y, slope), True
            else:
                value, error = total(upper)
                spread = slope / (value - error) * (1.0 + 8.0 * UNIT)
                moves = spread * upper
                inside = bool(np.all(a[used] - moves >= low[used]))
                inside = inside and bool(np.all(a[used] + moves <= high[used]))
            slope = 0.0
            if not (share <= 1.0 and inside):
                return DualPoint(np.zeros_like(residual), 0.0, 0.0)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            # The quotient is rounded, and may move besides; the conjugate is convex.
            t = -a[used] / upper
            out = 2.0 * UNIT * np.abs(t) + spread + TINY
            if moved is not None:
                out = out + moved[used] / upper * (1.0 + 4.0 * UNIT)
                if np.any(a[used] - moved[used] < low[used]) or np.any(
                    a[used] + moved[used] > high[used]
                ):
                    return DualPoint(np.zeros_like(residual), 0.0, np.inf)
            ends = -self.loss.dual_upper, -self.loss.dual_lower
            values = [self.loss.conjugate(np.clip(t + by, *ends)) for by in (-out, out)]
            above = np.maximum(*values)
            sizes = total_above(upper * (np.abs(above) + np.abs(t)))
            value, error = total(upper * above)
            # The least of the two ends is no further from the conjugate itself than the units are.
            rounding = ((self.loss.units + 4.0) * UNIT + share) * sizes + len(t) * TINY
            conjugate = value + error + rounding * (1.0 + 1e-9)
        conjugate = float("inf") if math.isnan(conjugate) else conjugate
        return DualPoint(-self.y * a, value, conjugate, share, spread, slope)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        able = hasattr(self.loss, "conjugate_at") and hasattr(self.loss, "value_at")
        able = able and self.penalty.coercive and not self.output_shape
        whole = known is not None and known.scores is not None and known.primal < np.inf
        compiled = self.design.n_stored >= _FUSED and len(self.y) >= _SEVERAL
        many = compiled or len(self.y) >= _MANY
        if level is Level.NORMS and many and able and whole:
            assert known is not None
            if proof.residual is not None and proof.adjoint is not None:
                return self._charged_at_once(theta, proof, known)
        return super().charged(theta, level, proof, known)

    def _charged_at_once(self, theta: np.ndarray, proof: Bound, known: Bound) -> Bound:
        """By the norms of the rows, in one pass over vectors of the length of the data.

        Sums are those of blocks, whose rounding is bounded as that of any order of their terms.
        """
        w, b = self.weights_of(theta), float(self.intercept_of(theta))
        r, adjoint = proof.residual, proof.adjoint
        assert r is not None and adjoint is not None and known.scores is not None
        squares, spare = row_squares_above(self.design)
        if squares is None:
            return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
        width = self.design.n_features
        length = length_above(w)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            wide = gamma(width + 1) * length * spare
            shift = (gamma(width + 1) * abs(b) + (width + 2) * TINY) * spare
            shift += wide * math.sqrt(width) * 2.0**-510
            sums = charges(self.loss, self.y, self.upper, known.scores, r, squares, wide, shift)
            if not np.all(np.isfinite(sums)) or sums[7].any():
                return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
            rounding = gamma(SUMMED + sums.shape[1])
            losses, conjugate, sizes, lengths, up, down, slope, _ = sums.sum(axis=1)
            units = (rounding + (self.loss.units + 8.0) * UNIT) * (1.0 + 1e-9)
            # Also by what a conjugate is less at odds below 2^-1022 than float64 has them.
            most = float(self.upper.max(initial=0.0))
            underflow = len(r) * (most * 2.0**-1020 + 4.0 * TINY)
            loss = losses * (1.0 + units) + underflow
            tau = 0.5 * self.intercept_penalty * b * b * (1.0 + 8.0 * UNIT)
            primal = self.penalty.value_above(w) + tau + loss
            sizes = sizes * (1.0 + units)
            slope = abs(slope) + rounding * (abs(up) + abs(down)) * (1.0 + units)
            share, beyond = 0.0, 0.0
            if self.balances:
                least = min(up, down) * (1.0 - rounding)
                falls = self.loss.dual_lower >= 0.0
                share = slope / least * (1.0 + 1e-9) if least > 0.0 and falls else np.inf
            elif self.intercept_penalty > 0.0:
                beyond = 0.5 * slope * slope / self.intercept_penalty * (1.0 + 1e-9)
            above = conjugate + (units + share) * sizes + underflow
            # The sums of the pass that gave the adjoint may have been of residuals beside these.
            lengths = (lengths * (1.0 + units) + math.sqrt(len(r)) * 2.0**-510) * spare
            if proof.apart > 0.0:
                # Cauchy and Schwarz: the sum of the lengths of the rows.
                most *= math.sqrt(len(r) * (float(squares.sum()) + len(r) * width * 2.0**-1020))
                lengths += 2.0**-899 * most
            factor = gamma(len(r)) + share + 2.0 * proof.apart
            length = factor * lengths + (len(r) + 2) * math.sqrt(width) * TINY
            pulled = Enclosure(adjoint, length, length)
            if not np.isfinite(length + above):
                return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
            penalty, above = self.penalty.conjugate_above(pulled, above)
            dual = -(penalty + beyond + above)
            near = self.penalty.conjugate(adjoint)
            middle = -conjugate - beyond - (near if np.isfinite(near) else 0.0)
        return charged_bound((known.primal, middle), primal, dual, r)

    def polished(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        # The intercept, and a stretch that lifts rows to their margin whom rounding left short of
        # it; for the optimum that is as good as the rounding is small.
        scores = self.doubled_scores(theta)
        if scores is None or not np.all(np.isfinite(scores)):
            return
        if self.fit_intercept and self.intercept_penalty == 0.0:
            b = self.intercept_of(theta)
            # The scores keep their digits if the intercept they have is only corrected.
            by = self.best_intercept(scores)
            theta, scores = self.join(self.weights_of(theta), b + by), scores + by
            yield theta
        short = (1.0 - self.y * scores)[self.upper > 0.0]
        near = short[(short > 0.0) & (short < _STRETCH)]
        if len(near) and not self.smooth:
            factor = 1.0 + 2.0 * float(near.max())
            if np.all(np.abs(self.weights_of(theta)) * factor <= self.reach_of(theta)):
                yield theta * factor

    def doubled_scores(self, theta: np.ndarray) -> np.ndarray | None:
        """``linear(theta)``, rounded once."""
        w, b = self.weights_of(theta), self.intercept_of(theta)
        return enclosed_scores(self.design, w, b, Level.DOUBLED).middle

    def reach_of(self, theta: np.ndarray) -> Any:
        """How large the entries of a point's weights may be."""
        return np.inf

    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        low, high = self._ranges()
        a = -self.y * residual
        inside = (a > low) & (a < high)
        # Not where a row is on the verge of leaving its range.
        near = np.minimum(a - low, high - a) < 1e-9 * self.upper if self.loss.edged else False
        return np.where(inside & ~near, self.curvature(scores), 0.0)

    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(self.upper > 0.0)
        return used, (self.y * scores)[used]

    def null_scores(self) -> np.ndarray:
        scores = np.zeros_like(self.y)
        return scores + self.best_intercept(scores) if self.fit_intercept else scores

    def best_intercept(self, scores: np.ndarray) -> float:
        """The intercept that minimises the objective for weights whose scores are given.

        ``scores`` are without intercept.  The slope in ``b`` is monotone; its root is bracketed
        and bisected, which is exact for a loss with kinks as well.
        """
        y, upper, tau = self.y, self.upper, self.intercept_penalty

        def slope(b: float) -> float:
            return inner(upper * y, self.loss.derivative(y * (scores + b))) + tau * b

        s0 = slope(0.0)
        if s0 == 0.0:
            return 0.0
        direction = -1.0 if s0 > 0 else 1.0
        near, far = 0.0, direction
        for _ in range(1100):
            if slope(far) * s0 <= 0.0:
                break
            near, far = far, 2.0 * far
        else:
            return 0.0
        for _ in range(80):
            middle = 0.5 * (near + far)
            if middle in (near, far):
                break
            if slope(middle) * s0 > 0.0:
                near = middle
            else:
                far = middle

        def value(b: float) -> float:
            return self.loss_value(scores + b) + 0.5 * tau * b * b

        return min(near, far, key=value)


class SoftmaxObjective(Objective):
    """Multinomial logistic regression: K scores a row, one problem.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept
        See :class:`Objective`.
    codes : ndarray of shape (n_samples,)
        Class numbers 0 to K-1.
    n_classes : int
    """

    def __init__(
        self,
        design: Design,
        codes: np.ndarray,
        n_classes: int,
        penalty: Penalty | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, penalty, **options)
        self.loss = Softmax()
        self.codes = codes
        self.output_shape = (n_classes,)

    def canonical(self, theta: np.ndarray) -> np.ndarray:
        # Adding one number to all scores changes no probability: what the penalty leaves open
        # is centred over the classes.
        theta = theta.copy()
        start = self.design.n_features if self.penalty.coercive else 0
        theta[start:] -= theta[start:].mean(axis=1, keepdims=True)
        return theta

    def sample(self, index: np.ndarray) -> SoftmaxObjective:
        part = super().sample(index)
        assert isinstance(part, SoftmaxObjective)
        part.codes = self.codes[index]
        return part

    def _minus_labels(self, p: np.ndarray) -> np.ndarray:
        p[np.arange(len(self.codes)), self.codes] -= 1.0
        return p

    @property
    def _at_once(self) -> bool:
        """Whether the kernels that take a few rows at a time take these."""
        return narrow.KNOWN and self.design.by_rows and len(self.design.rows) == 1

    def _intercepts(self, theta: np.ndarray) -> np.ndarray:
        return np.array(self.intercept_of(theta), dtype=np.float64)

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        if scores is not None or not self._at_once:
            return super().evaluate(theta, scores)
        w, b = self.weights_of(theta), self._intercepts(theta)
        scores, loss, paired, adjoint = softmax_pass(self.design, self.codes, self.upper, w, b)
        if not np.isfinite(paired):
            return super().evaluate(theta)
        return Evaluation(scores, loss, paired, adjoint[: self.shape[0]])

    def hessian_product(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        if not self._at_once:
            return super().hessian_product(curvature, direction)
        w, b = self.weights_of(direction), self._intercepts(direction)
        out = softmax_product(self.design, curvature, self.upper, w, b)[: self.shape[0]]
        return self._penalty_curvature() * direction + out

    def null_scores(self) -> np.ndarray:
        shape = (self.design.n_samples, self.output_shape[0])
        if not self.fit_intercept:
            return np.zeros(shape)
        totals = np.bincount(self.codes, weights=self.upper, minlength=shape[1])
        # A class without weight is as unlikely as a number can say.
        return np.broadcast_to(np.log(np.maximum(totals / totals.sum(), 1e-300)), shape)

    def loss_value(self, scores: np.ndarray) -> float:
        return inner(self.upper, self.loss.value(scores, self.codes))

    def residual(self, scores: np.ndarray) -> np.ndarray:
        out = self._minus_labels(self.loss.probabilities(scores))
        out *= self.upper[:, None]
        return out

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.loss.probabilities(scores)

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        out = curvature * direction
        out -= curvature * out.sum(axis=1, keepdims=True)
        out *= self.upper[:, None]
        return out

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        rows, k = self.shape
        out = np.zeros((rows, k, rows, k))
        # The blocks (j, l) sum to zero over l (scores are defined up to a shift), so the
        # diagonal blocks follow from the others.
        for j in range(k):
            for m in range(j):
                block = self.gram(self.upper * curvature[:, j] * curvature[:, m])
                out[:, j, :, m] = out[:, m, :, j] = -block
                out[:, j, :, j] += block
                out[:, m, :, m] += block
        full = out.reshape(rows * k, rows * k)
        full[np.diag_indices_from(full)] += np.broadcast_to(
            self._penalty_curvature(), self.shape
        ).ravel()
        return full

    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        weights = self.upper[:, None] * curvature * (1.0 - curvature)
        out = self.join(self.design.column_squares(weights), weights.sum(axis=0))
        return out + self._penalty_curvature()

    def hessian_block(self, curvature: np.ndarray, k: int, rows: int) -> np.ndarray:
        """The Hessian in the weights of class ``k`` alone, from about so many of the rows.

        A row is drawn with a chance in proportion to its curvature, and weighs the more the less
        likely it was; those that would count more than once are all taken.  The draw is
        systematic (Madow, 1949) and not random: the same rows at the same point.
        """
        p = curvature[:, k]
        weights = self.upper * p * (1.0 - p)
        part = self
        if rows < len(weights):
            chance = _inclusion(weights, rows)
            total = np.cumsum(chance) + 0.5
            index = np.flatnonzero(np.diff(np.floor(total), prepend=0.0))
            part, weights = self.sample(index), weights[index] / chance[index]
        out = part.gram(weights)
        out[np.diag_indices_from(out)] += self._penalty_curvature().ravel()
        return out

    def _mixture(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of positive weight, and the probability vectors that a residual stands for."""
        used = np.flatnonzero(self.upper > 0.0)
        p = residual[used] / self.upper[used, None]
        p[np.arange(len(used)), self.codes[used]] += 1.0
        # The label's own entry is 1 + r/U, so it may fall short of 0 by an ulp.
        p[(p < 0.0) & (p > -4e-16)] = 0.0
        return used, p

    def balanced(self, residual: np.ndarray) -> np.ndarray:
        # Mix every row with one and the same probability vector q, chosen so that the sums
        # come out; t, the share of q, is the smallest for which q is non-negative.
        used, p = self._mixture(residual)
        u = self.upper[used]
        sums = np.bincount(self.codes[used], weights=u, minlength=self.output_shape[0])
        excess = u @ p - sums
        # Rows sum to one up to rounding, which must not pass for an excess of every class.
        excess -= sums * (excess.sum() / sums.sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(excess > 0, excess / (sums + excess), 0.0)
        t = float(shares.max())
        if t > 0.0:
            q = np.maximum(sums - (1.0 - t) / t * excess, 0.0) / u.sum()
            p = (1.0 - t) * p + t * (q / q.sum())
        p[np.arange(len(used)), self.codes[used]] -= 1.0
        out = np.zeros_like(residual)
        out[used] = p * u[:, None]
        return out

    def clipped(self, residual: np.ndarray) -> np.ndarray:
        used, p = self._mixture(residual)
        p = np.maximum(p, 0.0)
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(used)), self.codes[used]] -= 1.0
        out = np.zeros_like(residual)
        out[used] = p * self.upper[used, None]
        return out

    def fenchel_young(self, scores: np.ndarray, residual: np.ndarray) -> float:
        used, p = self._mixture(residual)
        if not self._is_mixture(p):
            return float("inf")
        divergence = self.loss.divergence(p, scores[used])
        return inner(self.upper[used], np.maximum(divergence, 0.0))

    def conjugate_value(self, residual: np.ndarray) -> float:
        used, p = self._mixture(residual)
        if not self._is_mixture(p):
            return float("inf")
        return inner(self.upper[used], self.loss.negative_entropy(p))

    def loss_above(self, scores: Enclosure) -> float:
        used = np.flatnonzero(self.upper > 0.0)
        s, codes = scores.middle[used], self.codes[used]
        rows = np.arange(len(used))
        # Besides the scores' own errors what their differences are rounded by.
        radius = scores.radius[used] * (1.0 + 4.0 * UNIT)
        radius = radius + 4.0 * UNIT * np.abs(s).max(axis=1, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            # The loss rises in every score but the label's own.
            up = s + radius
            up[rows, codes] = s[rows, codes] - radius[rows, codes]
            value = self.loss.value(up, codes)
            terms = self.upper[used] * value
            units = FUNCTION_UNITS + s.shape[1] + 4.0
            out = total_above(terms) * (1.0 + units * UNIT)
            out += (total_above(self.upper) + len(used)) * TINY
        return float("inf") if math.isnan(out) else out

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        used = np.flatnonzero(self.upper > 0.0)
        codes, upper, k = self.codes[used], self.upper[used], self.output_shape[0]
        rows = np.arange(len(used))
        # The entries of the other classes are the point; the label's own is minus their sum, which
        # floats hold to K units.
        q = np.maximum(residual[used], 0.0)
        q[rows, codes] = 0.0
        sums = q.sum(axis=1)
        over = sums * (1.0 + (k + 2.0) * UNIT) > upper
        if np.any(over):
            q[over] *= (upper[over] * (1.0 - (2.0 * k + 8.0) * UNIT) / sums[over])[:, None]
            sums = q.sum(axis=1)
        share, spread, slope = 2.0 * k * UNIT, 0.0, np.zeros(k)
        weights = np.bincount(codes, weights=upper, minlength=k)
        if self.fit_intercept and moved is None:
            for c in range(k):
                value, error = total(q[:, c])
                own, other = total(q[codes == c])
                slope[c] = abs(value - own) + error + other + 4.0 * UNIT * abs(own)
        if self.balances and slope.any():
            # All rows are mixed with one distribution of the classes, of which a share is enough.
            with np.errstate(divide="ignore"):
                shares = np.where(slope > 0.0, slope / (weights * (1.0 - gamma(len(used)))), 0.0)
            spread = float(shares.max()) * (1.0 + 8.0 * UNIT)
            slope = np.zeros(k)
            if not spread <= 0.5:
                return DualPoint(np.zeros_like(residual), 0.0, 0.0)
        with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
            p, s = q / upper[:, None], np.minimum(sums / upper, 1.0)
            entropies = xlogy(p, p).sum(axis=1)
            rest = xlog1py(1.0 - s, -s)
            value = entropies + rest
            # The derivative by p_k is log p_k - log(1 - s); a share of it for each unit.
            beside = s * (1.0 - np.log(np.maximum(1.0 - s, UNIT)))
            units = FUNCTION_UNITS + 2.0 * k + 8.0
            sizes = upper * (np.abs(entropies) + np.abs(rest) + beside)
            rounding = units * UNIT * total_above(sizes)
            terms, error = total(upper * value)
            rounding += 2.0 * spread * total_above(np.abs(upper * value)) + p.size * TINY
            rounding += 800.0 * k * total_above(upper) * TINY
            if moved is not None:
                rounding += self._moving(q, upper - sums, moved[used], codes)
            conjugate = terms + error + rounding * (1.0 + 1e-9)
        conjugate = float("inf") if math.isnan(conjugate) else conjugate
        out = np.zeros_like(residual)
        out[used] = q
        out[used, codes] = -sums
        return DualPoint(out, terms, conjugate, share, 2.0 * spread, slope)

    @staticmethod
    def _moving(q: np.ndarray, own: np.ndarray, moved: np.ndarray, codes: np.ndarray) -> float:
        """What the entropies can change by where every ``U p`` moves; infinite beyond its range."""
        masses = q.copy()
        masses[np.arange(len(q)), codes] = own
        total_mass = masses.sum(axis=1, keepdims=True)
        if np.any(moved > 0.5 * masses):
            return float("inf")
        # |d (U p log p)| <= (1 + |log p|) |d (U p)|, at the least p on the way.
        slopes = 1.0 + np.abs(np.log(0.5 * masses / total_mass)) + 1e-9
        return total_above(np.where(moved > 0.0, slopes * moved, 0.0))

    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        used, p = self._mixture(residual)
        out = np.zeros(len(residual))
        out[used] = self.upper[used] * np.maximum(p.min(axis=1), 0.0)
        return out

    @staticmethod
    def _is_mixture(p: np.ndarray) -> bool:
        return bool(np.all(p >= 0.0) and np.all(np.abs(p.sum(axis=1) - 1.0) <= 1e-9))

    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(self.upper > 0.0)
        codes = self.codes[used]
        own = scores[used, codes]
        others = scores[used].copy()
        others[np.arange(len(used)), codes] = -np.inf
        return used, own - others.max(axis=1)


def _inclusion(weights: np.ndarray, count: int) -> np.ndarray:
    """Chances in proportion to ``weights``, at most one, that add up to ``count`` or less."""
    chance = np.zeros(len(weights))
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        left, rest = count - int(certain.sum()), float(weights[~certain].sum())
        chance[:] = 1.0
        if left <= 0 or rest <= 0.0:
            chance[~certain] = 0.0
            return chance
        chance[~certain] = left * (weights[~certain] / rest)
        if not np.any(chance > 1.0):
            return chance
        certain |= chance >= 1.0


class HardMarginObjective(LinearProblem):
    r"""The hyperplane of the largest margin, under constraints instead of a loss.

    .. math:: \min \tfrac12 \|w\|^2 + \tfrac\tau2 b^2 \quad\text{subject to}\quad
        y_i (w\cdot x_i + b) \ge 1 .

    A point is judged up to its scale, which the constraints fix: with :math:`m` its smallest
    margin, :math:`(w, b)/m` is feasible where :math:`m > 0`, and no feasible multiple is shorter;
    where :math:`m \le 0` the objective is infinite.  So is a dual point: for multipliers
    :math:`\alpha \ge 0` (of sum :math:`\sum \alpha_i y_i = 0` if :math:`\tau = 0`), with
    :math:`v = \sum_i \alpha_i y_i x_i` and :math:`\beta = \sum_i \alpha_i y_i`,

    .. math:: P = \frac{\|w\|^2 + \tau b^2}{2 m^2}, \qquad
        D = \frac{(\sum_i \alpha_i)^2}{2\,(\|v\|^2 + \beta^2/\tau)} .

    Both are the textbook's bounds at the best multiple of the point.  The gap of the widest empty
    band between the classes, :math:`2/\|w\|`, is thereby bounded from both sides.  Vapnik and
    Lerner (1963); Cortes and Vapnik (1995).

    Parameters
    ----------
    design : Design
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    weights : ndarray of shape (n_samples,), optional
        A row of weight zero is left out; all others count alike.
    fit_intercept : bool
    intercept_penalty : float
        The factor ``tau``; 1 puts the constant 1 among the features.
    """

    constrained = True
    # There is none.
    loss: Any = None

    def __init__(
        self, design: Design, y: np.ndarray, *, intercept_penalty: float = 0.0, **options: Any
    ) -> None:
        super().__init__(design, **options)
        # There is nothing to weigh: a constraint holds or it does not.
        self.upper = np.where(self.upper > 0.0, 1.0, 0.0)
        self.y = y
        self.intercept_penalty = intercept_penalty if self.fit_intercept else 0.0

    @property
    def balances(self) -> bool:
        """Whether the dual has the constraint of an unpenalised intercept: a sum of zero."""
        return self.fit_intercept and self.intercept_penalty == 0.0

    @cached_property
    def used(self) -> np.ndarray:
        """Numbers of the rows of positive weight."""
        return np.flatnonzero(self.upper > 0.0)

    @cached_property
    def reach(self) -> float:
        """The norm of the longest row of positive weight."""
        return float(np.sqrt(self.design.row_squares()[self.used].max()))

    def formula(self) -> str:
        score = "(w.x + b)" if self.fit_intercept else "w.x"
        return f"minimise 1/2 |w|^2 subject to y {score} >= 1"

    def margin(self, scores: np.ndarray) -> float:
        """The smallest margin ``y s`` among rows of positive weight."""
        return float((self.y * scores)[self.used].min())

    def best_intercept(self, scores: np.ndarray) -> float:
        """The unpenalised intercept that makes the smallest margin largest.

        ``scores`` are without intercept.  It puts the plane halfway between the classes.
        """
        used = self.upper > 0.0
        above, below = used & (self.y > 0.0), used & (self.y < 0.0)
        return -0.5 * float(scores[above].min() + scores[below].max())

    def canonical(self, theta: np.ndarray) -> np.ndarray:
        """The multiple of ``theta`` whose smallest margin is 1, where it has one."""
        margin = self.margin(self.linear(theta))
        return theta / margin if margin > 0.0 else theta

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        margin = self.margin(scores)
        if not margin > 0.0:
            return float("inf")
        # Scaled before it is squared, so that nothing overflows on the way.
        w, b = self.weights_of(theta) / margin, self.intercept_of(theta) / margin
        return 0.5 * inner(w, w) + 0.5 * self.intercept_penalty * float(b * b)

    def balanced(self, residual: np.ndarray) -> np.ndarray:
        """A feasible residual near ``residual``: multipliers >= 0, and of sum zero if need be."""
        alpha = np.where(self.upper > 0.0, np.maximum(-self.y * residual, 0.0), 0.0)
        if self.balances:
            positive = self.y > 0.0
            up, down = float(alpha[positive].sum()), float(alpha[~positive].sum())
            if not (up > 0.0 and down > 0.0):
                return np.zeros_like(residual)
            alpha *= np.where(positive, min(1.0, down / up), min(1.0, up / down))
            # To the last digit: multiples of one power of two have sums without rounding, and
            # the largest bears what is left over.
            largest = int(alpha.argmax())
            unit = math.ulp(alpha[largest])
            alpha = np.rint(alpha / unit) * unit
            alpha[largest] -= self.y[largest] * math.fsum((alpha * self.y)[alpha > 0.0])
        return -self.y * alpha

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """The multipliers of a feasible residual at its best scale.

        At the optimum ``w = sum alpha y x``, and the sum of ``alpha`` is ``|w|^2``.
        """
        alpha = np.abs(residual)
        v = self.adjoint(residual)
        square = inner(v[: self.design.n_features], v[: self.design.n_features])
        if self.intercept_penalty > 0.0:
            square += float(v[-1] ** 2) / self.intercept_penalty
        return alpha * (float(alpha.sum()) / square) if square > 0.0 else alpha

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        """Weak duality at ``theta``, with an allowance for the rounding of sums of products.

        Without a ``residual`` the bound is zero, the trivial one.
        """
        scores = self.linear(theta) if scores is None else scores
        primal = self.value(theta, scores)
        dual = 0.0
        if residual is not None:
            residual = self.balanced(residual)
            dual = self._dual_value(residual)
        if not np.isfinite(primal):
            return Bound(primal, dual, float("inf"), residual)
        # What the smallest margin may have lost to rounding, the objective may be short of.
        slack = 2.0 * self._margin_rounding(theta, scores) / self.margin(scores)
        dual -= (slack + 8.0 * _EPS) * primal
        if not dual > 0.0:
            return Bound(primal, 0.0, primal, None)
        return Bound(primal, dual, max(primal - dual, 0.0), residual)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        residual = proof.residual
        w, b = self.weights_of(theta), self.intercept_of(theta)
        found = self.enclosed_linear(theta, level, known)
        length = length_above(np.append(w, np.sqrt(self.intercept_penalty) * abs(b)))
        middle, primal = self.primal_above(length, found)
        if residual is None:
            return charged_bound((middle, 0.0), primal, 0.0, None)
        below, dual, r = self.dual_below(residual, level)
        return charged_bound((middle, below), primal, dual, r)

    def primal_above(
        self, length: float, scores: Enclosure, more: float = 0.0
    ) -> tuple[float, float]:
        """The objective at weights of a length and their scores, and an upper bound of it.

        ``more``: by how much the true length may be greater.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            z = (self.y * scores.middle)[self.used]
            least = float(np.min(z - scores.radius[self.used])) * (1.0 - 4.0 * UNIT)
            near, ratios = float(np.min(z)), []
            for size, margin in ((length, near), ((length + more) * (1.0 + 8.0 * UNIT), least)):
                ratios.append(size / margin if margin > 0.0 else np.inf)
        middle, above = (0.5 * ratio * ratio for ratio in ratios)
        return middle, above * (1.0 + 16.0 * UNIT) + 2.0 * TINY

    def feasible(self, residual: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Multipliers >= 0 at a scale of about one, and how far they are from being balanced.

        That is, by which share those of one class have to be scaled down, and how large the sum of
        ``alpha y`` may be where it need not be zero.
        """
        alpha = np.where(self.upper > 0.0, np.maximum(-self.y * residual, 0.0), 0.0)
        largest = float(alpha.max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return alpha, np.inf, np.inf
        # By a power of two, exactly; a dual point is judged up to its scale.
        alpha = np.ldexp(alpha, -math.frexp(largest)[1])
        value, error = total(self.y * alpha)
        slope = abs(value) + error
        if not self.balances or slope == 0.0:
            return alpha, 0.0, slope
        return alpha, _balancing_share(alpha, self.y, slope), 0.0

    @staticmethod
    def ratio_below(
        alpha: np.ndarray, share: float, length: float, near: float
    ) -> tuple[float, float]:
        """``(sum alpha)^2 / (2 |v|^2)`` for about that norm, and a lower bound of it."""
        value, error = total(alpha)
        top = (value - error) * (1.0 - share) * (1.0 - 8.0 * UNIT)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratios = np.float64(value) / near, np.float64(top) / length
            middle, below = (float(0.5 * ratio * ratio) for ratio in ratios)
        return middle, below * (1.0 - 16.0 * UNIT) if length < np.inf else 0.0

    def dual_below(
        self, residual: np.ndarray | None, level: Level
    ) -> tuple[float, float, np.ndarray | None]:
        """The dual objective near a residual, a lower bound of it, and the point itself."""
        if residual is None:
            return 0.0, 0.0, None
        alpha, share, slope = self.feasible(residual)
        if not share <= 0.5:
            return 0.0, 0.0, residual
        point = -self.y * alpha
        pulled, _ = enclosed_adjoint(self.design, point, level, share=share, centred=self.balances)
        near = length_above(pulled.middle)
        if isinstance(pulled.radius, float):
            length = (near + pulled.length) * (1.0 + 4.0 * UNIT)
        else:
            length = length_above(pulled.above())
        if self.intercept_penalty > 0.0:
            length = math.hypot(length, slope / math.sqrt(self.intercept_penalty))
            length *= 1.0 + 8.0 * UNIT
        middle, dual = self.ratio_below(alpha, share, length, near)
        return middle, dual, point

    def _margin_rounding(self, theta: np.ndarray, scores: np.ndarray) -> float:
        """By how much the true smallest margin may fall short of the computed one."""
        terms = _rounding_of(self.shape[0])
        z = (self.y * scores)[self.used]
        least = z.min()
        w, b = self.weights_of(theta), abs(float(self.intercept_of(theta)))
        # No row's rounding is larger than this one's, so most rows need no closer look.
        most = terms * (np.sqrt(inner(w, w)) * self.reach + b)
        if not np.isfinite(least + most):
            # Overflowed: nothing is known of the true one.
            return float("inf")
        near = self.used[z <= least + most]
        size = self.design.take(near).absolute_dot(w) + b
        return float(least - np.min((self.y * scores)[near] - terms * size))

    def _dual_value(self, residual: np.ndarray) -> float:
        """The dual objective of a feasible residual at its best scale, rounded down."""
        alpha = np.abs(residual)
        rows = np.flatnonzero(alpha)
        if not len(rows):
            return 0.0
        design = self.design.take(rows)
        # At a scale of about one, so that no square overflows; by a power of two, exactly.
        alpha = np.ldexp(alpha[rows], -math.frexp(alpha.max())[1])
        total, signed = float(alpha.sum()), alpha * self.y[rows]
        terms = _rounding_of(len(rows))
        v = np.abs(design.t_dot(signed)) + terms * design.absolute_t_dot(signed)
        if self.intercept_penalty > 0.0:
            excess = abs(float(signed.sum())) + terms * total
            v = np.append(v, excess / np.sqrt(self.intercept_penalty))
        length = float(np.sqrt(inner(v, v)))
        # A combination that vanishes allows for no hyperplane at all, up to rounding.
        ratio = total * (1.0 - terms) / length if length > 0.0 else float("inf")
        # Not a power: Python's raises where it overflows, and the bound is then infinite.
        return 0.5 * ratio * ratio


def _rounding_of(terms: int) -> float:
    """A bound on the rounding of a sum of so many products, relative to the sum of their sizes.

    In the worst case half an ulp a term, for a few terms; for many, errors of random sign
    (Higham and Mary, 2019).
    """
    return 2.0 * _EPS * float(np.sqrt(terms + 2))


class MistakeObjective(LinearProblem):
    """The weight of the training mistakes: what a perceptron drives to zero.

    A mistake is a row that the rule would correct: one with ``y (w.x + b) <= 0``, so that a
    point on the plane counts as one, or with a margin one with ``y (w.x + b) < margin``.  The
    lower bound is zero, the trivial one: weights without a mistake are optimal, and no others
    are known to be.

    Parameters
    ----------
    design : Design
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    loss : Loss
        Has its kink at 0, where its slope is that of a mistake.
    margin : float
        0 is the plain rule.
    rate : float
        Learning rate: a correction is ``rate y x``.
    start : ndarray, optional
        The point where the passes start; zero by default.
    weights, fit_intercept
        See :class:`LinearProblem`.
    """

    def __init__(
        self,
        design: Design,
        y: np.ndarray,
        loss: Loss,
        *,
        margin: float = 0.0,
        rate: float = 1.0,
        start: np.ndarray | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, **options)
        self.y = y
        self.loss = loss
        self.margin = float(margin)
        self.rate = float(rate)
        self.start = start

    @property
    def level(self) -> float:
        """The largest ``y (w.x + b)`` that is a mistake: one rule with a margin and without."""
        return float(np.nextafter(self.margin, -np.inf)) if self.margin > 0.0 else 0.0

    def zero(self) -> np.ndarray:
        return super().zero() if self.start is None else np.array(self.start, dtype=np.float64)

    def formula(self) -> str:
        score = "w.x + b" if self.fit_intercept else "w.x"
        step = "" if self.rate == 1.0 else f"{self.rate:g} "
        b = f", b += {step}y" if self.fit_intercept else ""
        mistake = (
            f"row with y ({score}) < {self.margin:g}"
            if self.margin > 0.0
            else f"mistake y ({score}) <= 0"
        )
        return f"correct each {mistake} by w += {step}y x{b}, until a pass has none"

    def value(self, scores: np.ndarray, rows: Any = slice(None)) -> float:
        """The weight of the mistakes among ``rows``; infinite where scores have overflowed."""
        if not np.isfinite(np.sum(scores)):
            return float("inf")
        mistaken = self.loss.derivative((self.y * scores - self.level)[rows]) != 0.0
        return inner(self.upper[rows], mistaken)

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        scores = self.linear(theta) if scores is None else scores
        mistakes = self.value(scores)
        return Bound(mistakes, 0.0, mistakes, None, scores)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        found = self.enclosed_linear(theta, level, known)
        middle = self.value(found.middle)
        # A row whose side rounding leaves open counts as a mistake.
        least = self.y * found.middle - found.radius * (1.0 + 4.0 * UNIT)
        mistaken = self.loss.derivative(least - self.level) != 0.0
        mistakes = total_above(np.where(mistaken, self.upper, 0.0))
        if not np.array_equal(self.upper, np.rint(self.upper)):
            # Weights are products of sample and class weights, rounded.
            mistakes *= 1.0 + 8.0 * UNIT
        mistakes = mistakes if np.isfinite(middle) else np.inf
        return Bound(mistakes, 0.0, mistakes, proof.residual, charge=max(mistakes - middle, 0.0))
