r"""The objective: loss, penalty, design, weights and an unpenalised intercept.

Conventions
-----------
A point ``theta`` stacks the weights and, below them, the intercept if there is one: shape
(n_features + 1,), or (n_features + 1, K) for K classes at once.  ``scores`` are
:math:`s = Xw + b`, of shape (n_samples,) or (n_samples, K).  With :math:`U_i = C s_i` (``C``
times the sample weight) the objective is

.. math:: P(w, b) = \Omega(w) + \tfrac\tau2 b^2 + \sum_i U_i\,\ell_i(s_i),

where :math:`\tau = 0` unless an audit of another library's model needs its penalised
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

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from separatrix._compiled.linear_algebra import conjugate_gradients, inner, solve_positive
from separatrix._compiled.rounding import EPS, UNIT
from separatrix.data.design import Design
from separatrix.objectives.enclosure import (
    FUNCTION_UNITS,
    Enclosure,
    Level,
    enclosed_adjoint,
    enclosed_scores,
    half_square_above,
    row_norms_above,
    total,
    total_above,
)
from separatrix.objectives.formula import Formula
from separatrix.objectives.orthogonality import Projector
from separatrix.objectives.passes import (
    Evaluation,
)
from separatrix.objectives.penalties import L2, Penalty

# Up to this many parameters a dense Hessian is formed and factorised.
DENSE_HESSIAN = 2500
# The share of the loss at zero below which an objective has vanished: the relative error of a score
# is some 1e-15, and a loss falls with the square of the score's distance from the target.
VANISHED = 1e-28
# The share of the loss with zero weights and the best intercept below which the weights have left
# almost nothing of it.
_LITTLE_LEFT = 1e-20
# The least float that has all its digits.
_LEAST_NORMAL = 2.0**-1022
#: Rows at a time where vectors of the length of the data are looked at.
ROWS = 4096
# The size that counts as rounding, relative to the sum of the sizes of the terms.
_ROUNDING = 64.0 * EPS
# The share of the objective below which a bound is poor, and the most evaluations along the ray of
# its dual point for a better one.
_POOR, _LOOKS = 0.5, 12
# How much longer than a look at the rounding of products the next closer one takes.
_CLOSER = 4.0
# How many Gram matrices the bound without a penalty takes for each of the Hessian, all in all.
_PROJECTIONS = 4.0
# Entries from which on a Gram matrix is kept for a next request of the same one.
_KEPT = 10_000


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
        A bound on the difference between ``residual`` and the residual that ``adjoint`` was
        computed from, relative to each entry.
    charge : float
        The part of the gap that is there for the rounding of the evaluation; 0 where the bound is
        not yet charged for it.
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
    ``share * |r_i| + spread * reach_i``; floats need not be able to hold it.

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
    reach : ndarray, optional
        The sizes of which ``spread`` is a share; the weights :math:`U_i` where it is not given.
    """

    residual: np.ndarray
    conjugate: float
    conjugate_above: float
    share: float = 0.0
    spread: float = 0.0
    slope: Any = 0.0
    reach: np.ndarray | None = None


def weighed(C: Any, weights: np.ndarray) -> np.ndarray:
    """``C`` times the sample weights, each to all digits of float64.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If a weight above zero has a product so small that it loses digits: no bound of what
        rounding may do to the objective would hold.
    """
    with np.errstate(over="ignore", under="ignore"):
        weights = weights.astype(np.float64, copy=False)
        out: np.ndarray = C * weights
        if not np.minimum.reduce(out, initial=math.inf) < _LEAST_NORMAL:
            return out
        # The same products where none underflows: multiplied by a power of two, which is exact.
        small, power = (weights > 0.0) & (out < _LEAST_NORMAL), 2.0**600
        lost = np.flatnonzero(small & (out * power != C * (weights * power)))
        if len(lost):
            i = int(lost[0])
            strength = float(np.broadcast_to(C, out.shape)[i])
            raise ValueError(
                f"The sample weight {float(weights[i]):g} of row {i} times the strength "
                f"{strength:g} of its loss is less than float64 can hold to all its digits; "
                "multiply the sample weights by a common factor, or give the row a weight of 0."
            )
    return out


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
    # Whether every look at the data is a pass over files or other machines, and vectors as long as
    # the data are not at hand.
    in_passes: bool = False
    # Whether a point is its own dual point, so that the one is worth as much as the other.
    coupled: bool = False
    _check: Callable[[], None] | None = None
    # Until when, on the clock of :func:`time.perf_counter`, a bound may take long; infinite for as
    # long as neither a limit nor Ctrl-C has ended the fit.
    until: float = math.inf
    # The share of the tolerance that rounding may have, see :meth:`rounding_share`.
    charge_share: float = 1e-3
    # The factor by which a model that claims to solve it multiplies the objective.
    multiple: Fraction = Fraction(1)

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
        if weights is None:
            self.upper, total = np.full(n, self.C), n * self.C
        else:
            self.upper = weighed(C, weights)
            with np.errstate(over="ignore"):
                total = float(np.add.reduce(self.upper))
        if not total < math.inf:
            raise ValueError(
                "The losses of all rows together weigh more than float64 can hold, "
                f"{self.C:.3g} times the sum of the sample weights; divide the sample weights by a "
                "common factor, or strengthen the penalty."
            )

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
        # Weights may be kept in float32; objectives and their bounds are computed in float64.
        w = np.asarray(w, dtype=np.float64)
        if not self.fit_intercept:
            return w
        return np.concatenate([w, np.asarray(b, dtype=np.float64).reshape(1, *self.output_shape)])

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
        """The sums of the sizes of the terms of :meth:`linear`, for one column of ``theta``."""
        terms = self.design.absolute_dot(self.weights_of(t))
        if self.fit_intercept:
            terms += np.abs(t[-1])
        return terms

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """The design's Gram matrix, bordered by that of the constant for an intercept."""
        return self._bordered_gram(self.design, weights)

    # Whether Gram matrices are for the direction of a step alone.
    _rough = False

    def _bordered_gram(self, design: Design, weights: np.ndarray) -> np.ndarray:
        inner = (design.rough_gram if self._rough else design.gram)(weights)
        if not self.fit_intercept:
            return inner
        d = design.n_features
        out = np.empty((d + 1, d + 1))
        out[:d, :d] = inner
        out[d, :d] = out[:d, d] = design.t_dot(weights)
        out[d, d] = weights.sum()
        return out

    def objective_at(
        self, theta: np.ndarray, scores: np.ndarray | None
    ) -> tuple[float, np.ndarray] | None:
        """The objective and the scores of a point without a bound; None where they come with one.

        ``scores``: ``linear(theta)`` where it is at hand.
        """
        return None

    @property
    def smooth(self) -> bool:
        """Whether the loss has curvature: what a Newton method needs."""
        return False

    def null_loss(self) -> float:
        """The loss of weights and an intercept that are zero; infinite where there is none."""
        return math.inf

    def has_vanished(
        self, theta: np.ndarray, value: float, tol: float, *, look: bool = True
    ) -> bool:
        """Whether so little is left of the objective that a gap relative to it has no meaning.

        ``value``: the objective at ``theta``; ``look``: whether to look at the rounding of what is
        left, where that decides.
        """
        return False

    def null_point(self) -> np.ndarray:
        """Weights of zero, with the intercepts that are best for them."""
        raise NotImplementedError

    def support_counts(self, residual: np.ndarray | None) -> tuple[int, int] | None:
        """Count the nonzero multipliers of a kernel machine, and those at the upper bound."""
        return None

    @abstractmethod
    def formula(self) -> Formula | str:
        """The objective as text, or a record whose string it is."""

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
        """:meth:`bound` where one pass over the data has found all sums at ``theta``."""
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
            The level at which the rounding of products with the data is bounded.
        proof : Bound
            A bound whose ``residual`` is the dual point, which is made feasible exactly; None there
            for none.
        known : Bound, optional
            The bound of the very same point, as :meth:`bound` gave it.
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
        """:meth:`charged`, as closely as it takes.

        A closer look ends where rounding has a small share of ``tol`` and does not decide whether
        the gap is within it.
        """
        best: Bound | None = None
        begun = math.inf
        for level in self.levels():
            found = self.charged(theta, level, proof, known)
            best = found if best is None else sharper(best, found)
            goal = tol * abs(best.primal)
            decided = best.gap <= goal or best.gap - best.charge > goal
            if best.primal < np.inf and best.charge <= self.rounding_share() * goal and decided:
                break
            if self.hurried:
                now = time.perf_counter()
                if now + _CLOSER * max(now - begun, 0.0) > self.until:
                    break
                begun = now
            else:
                self.check_interrupt()
        assert best is not None
        if best.dual > best.primal:
            # A bound above the objective proves that an assumption fails (a kernel that is none,
            # say), and so that nothing is known.
            return Bound(np.inf, 0.0, np.inf, charge=np.inf)
        return best

    @property
    def hurried(self) -> bool:
        """Whether a limit or Ctrl-C has ended the fit, so that no bound may take long any more."""
        return self.until < math.inf

    def affords(self, seconds: float) -> bool:
        """Whether there is time for something that sharpens a bound."""
        return not self.hurried or time.perf_counter() + seconds <= self.until

    def rounding_share(self) -> float:
        """The share of the tolerance that rounding may have before it is bounded more closely."""
        return self.charge_share

    def levels(self) -> Sequence[Level]:
        """The levels at which it is worth bounding the rounding."""
        return tuple(Level)

    def listen(self, check_interrupt: Callable[[], None] | None) -> Callable[[], None] | None:
        """Set the function that raises where the fit is to end, or None; return the former one."""
        before = self._check
        if check_interrupt is not None:
            self._check = check_interrupt
        else:
            vars(self).pop("_check", None)
        return before

    def check_interrupt(self) -> None:
        """Raise where the fit is to end.

        Long products with the data call this, and so do computations of a method outside its steps.
        """
        if self._check is not None:
            self._check()

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

    def widest_column(self) -> int | None:
        """The column whose scale drowns the others; None where none does."""
        return None

    def receding_column(self, theta: np.ndarray) -> int:
        """The column that moves scores most where, from a point on, the loss falls for ever."""
        raise NotImplementedError

    def polished(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        """Points beside one where the objective may be less, seen in twice float64's digits."""
        return iter(())


def sharper(one: Bound, other: Bound) -> Bound:
    """The bound that two charged bounds of the same point give together."""
    primal, dual = min(one.primal, other.primal), max(one.dual, other.dual)
    gap = max(primal - dual, 0.0) if primal < np.inf else np.inf
    residual = one.residual if one.dual >= other.dual else other.residual
    charge = min(one.charge, other.charge)
    return Bound(primal, dual, gap, residual, charge=charge)


def balancing_share(multipliers: np.ndarray, y: np.ndarray, slope: float) -> float:
    """Bound the share by which balancing scales the heavier class down, whichever it is.

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
    primal = float(primal) * (1.0 + 16.0 * UNIT)
    dual = float(dual) * (1.0 - 16.0 * UNIT)
    primal = float("inf") if math.isnan(primal) else primal
    if not dual > 0.0:
        # The bound at the dual point 0.
        dual, residual = 0.0, None if residual is None else np.zeros_like(residual)
    gap = max(primal - dual, 0.0) if primal < np.inf else np.inf
    charge = primal - middle[0] + max(middle[1] - dual, 0.0)
    charge = charge if charge < np.inf else np.inf  # NaN, too
    return Bound(primal, dual, gap, residual, charge=charge)


class Objective(LinearProblem):
    """The objective that a solver minimises and that a certificate is about.

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
    # Whether targets are classes, which scores may separate.
    of_classes: bool = False
    # Without a penalty, how long the last Gram matrix took; infinite before there was one.
    gram_seconds: float = math.inf
    # Up to this many parameters the bounds form the Hessian.
    dense_hessian: int = DENSE_HESSIAN

    # A design, weights of its rows, and the Gram matrix with them.
    _kept_gram: tuple[Design, np.ndarray, np.ndarray] | None = None

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
        value = self.penalty.value(self.weights_of(theta))
        if self.intercept_penalty > 0.0:
            b = self.intercept_of(theta)
            value += 0.5 * self.intercept_penalty * float(np.sum(np.square(b)))
        return value

    def penalty_gradient(self, theta: np.ndarray) -> np.ndarray:
        w = self.penalty.gradient(self.weights_of(theta))
        return self.join(w, self.intercept_penalty * self.intercept_of(theta))

    def value(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        scores = self.linear(theta) if scores is None else scores
        return self.penalty_value(theta) + self.loss_value(scores)

    def objective_at(
        self, theta: np.ndarray, scores: np.ndarray | None
    ) -> tuple[float, np.ndarray] | None:
        if scores is None and not theta.any():
            # Known without a product with the data.
            scores = np.zeros((self.design.n_samples, *self.output_shape))
        scores = self.linear(theta) if scores is None else scores
        return self.value(theta, scores), scores

    def gradient(self, theta: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        scores = self.linear(theta) if scores is None else scores
        return self.penalty_gradient(theta) + self.adjoint(self.residual(scores))

    def along_line(self, scores: np.ndarray, along: np.ndarray, t: float) -> tuple[float, float]:
        """The loss at ``scores + t along``, and its slope in ``t``."""
        scores = scores + t * along
        return self.loss_value(scores), inner(self.residual(scores), along)

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
        out = self.penalty.curvature(self.shape, self.design.n_features)
        if self.fit_intercept:
            out[-1] = self.intercept_penalty
        return out

    def formula(self) -> Formula:
        even = bool(np.all(self.upper == self.upper[0]))
        return Formula(
            self.penalty.formula,
            self.loss,
            float(self.upper[0]) if even else self.C,
            not even,
            self.fit_intercept,
            constraint=self.penalty.constraint,
        )

    @property
    def smooth(self) -> bool:
        return bool(self.loss.smooth)

    # --- what a kind of loss supplies -------------------------------------------------------

    def of_rows(self, index: np.ndarray) -> Self:
        """The penalty and the losses of some of the rows."""
        part = copy(self)
        part.design = self.design.take(index)
        part.upper = self.upper[index]
        return part

    def sample(self, index: np.ndarray) -> Self:
        """The same objective on some of the rows, weighing as much as all of them."""
        part = self.of_rows(index)
        part.upper = part.upper * (self.upper.sum() / part.upper.sum())
        return part

    def some(self, rows: int, rng: np.random.Generator) -> Self:
        """The same objective on about ``rows`` rows: one from each stretch of equal length.

        It is the objective itself where there are no more rows, or where those have no weight.
        """
        n = self.design.n_samples
        if rows >= n:
            return self
        edges = np.linspace(0, n, rows + 1).astype(np.int64)
        index = edges[:-1] + (rng.random(rows) * np.diff(edges)).astype(np.int64)
        return self.sample(index) if self.upper[index].sum() > 0.0 else self

    def null_loss(self) -> float:
        """The loss of weights and an intercept that are zero."""
        return self.loss_value(np.zeros((self.design.n_samples, *self.output_shape)))

    def has_vanished(
        self, theta: np.ndarray, value: float, tol: float, *, look: bool = True
    ) -> bool:
        if not value <= VANISHED * self.null_loss() < math.inf:
            return False
        constant = self.loss_value(self.null_scores())
        beside = _LITTLE_LEFT * constant < value < constant
        if not (self.penalty.shrinks or beside):
            # There is nothing that losses have to be weighed against.
            return True
        if not look:
            return False
        charge = self.certify(theta, Bound(math.inf, -math.inf, math.inf), tol).charge
        if beside and constant > charge:
            # An intercept takes nearly all, and what is left is what the weights are about.
            return False
        # What a penalty weighs is small where columns are long, and may well be an optimum; what is
        # left where every row is fitted without error is rounding.
        return not self.penalty.shrinks or charge > 0.5 * tol * value

    def restricted(self, index: np.ndarray) -> Objective:
        """The same objective on some of the columns, as if the weights of the others were zero."""
        part = copy(self)
        part.design = self.design.columns(index)
        part.penalty = self.penalty.restricted(index)
        return part

    @abstractmethod
    def loss_value(self, scores: np.ndarray) -> float:
        """``sum U_i l_i(s_i)``."""

    @abstractmethod
    def residual(self, scores: np.ndarray) -> np.ndarray:
        """``U_i l_i'(s_i)``: gradient with respect to the scores."""

    @abstractmethod
    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """The curvature that :meth:`curvature_apply` and the Hessians take."""

    @abstractmethod
    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian of the loss term in the scores, times a direction of scores."""

    @abstractmethod
    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        """The dense Hessian, of ``theta.size`` rows."""

    def step_hessian(self, curvature: np.ndarray) -> np.ndarray:
        """The Hessian as exactly as the direction of a step needs it."""
        return self.hessian(curvature)

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

    def dual_scale(self, residual: np.ndarray) -> float:
        """The number up to 1 to multiply a residual by, where rows have a constraint together."""
        return 1.0

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        """:meth:`fenchel_young` and :meth:`conjugate_value`, which have much in common."""
        return self.fenchel_young(scores, residual), self.conjugate_value(residual)

    @abstractmethod
    def null_scores(self) -> np.ndarray:
        """The scores of weights that are zero, with the best intercept for them."""

    def null_point(self) -> np.ndarray:
        return self.join(self.weights_of(self.zero()), self.null_scores()[0])

    @property
    def critical_C(self) -> float:
        """The largest ``C`` at which weights of zero are optimal; 0 without a kink there.

        The product ``x_j . r`` on every weight is then within the penalty's kink.
        """
        if not self.penalty.kinked:
            return 0.0
        residual = self.residual(self.null_scores()).reshape(self.design.n_samples, -1)
        largest = math.inf
        for r in residual.T:
            v = -self.design.t_dot(r)
            # A constant column pulls nothing but what rounding leaves of it.
            v[np.abs(v) <= _ROUNDING * self.design.absolute_t_dot(r)] = 0.0
            largest = min(largest, self.penalty.longest(v, self.C))
        return largest

    @abstractmethod
    def loss_above(self, scores: Enclosure) -> float:
        """An upper bound of :meth:`loss_value` at the true scores."""

    @abstractmethod
    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        """A point near a residual: exactly in the domain of the conjugate, and balanced if need be.

        ``moved``: the distance by which every entry may move besides.
        """

    @abstractmethod
    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of positive weight, and how far each is on the side where its loss only falls.

        For classes that is the row's own side.
        """

    def largest_move(self, direction: np.ndarray) -> float:
        """The most that a direction moves the score of a row of positive weight."""
        moved = np.abs(self.linear(direction)[self.upper > 0.0])
        return float(moved.max(initial=0.0)) if np.all(np.isfinite(moved)) else math.inf

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
        reach = self._reach(direction)
        cleaned = np.where(reach < 1e-5 * reach.max(), 0.0, direction)
        return self._is_recession_direction(scores, direction) or self._is_recession_direction(
            scores, cleaned
        )

    def _reach(self, direction: np.ndarray) -> np.ndarray:
        """The norm of the moves of all scores by each entry of a direction alone."""
        ones = (self.upper > 0.0).astype(np.float64)
        scale = np.sqrt(self.design.column_squares(ones))
        if self.fit_intercept:
            scale = np.append(scale, np.sqrt(ones.sum()))
        reach: np.ndarray = np.abs(direction) * scale.reshape(-1, *(1,) * len(self.output_shape))
        return reach

    def receding_column(self, theta: np.ndarray) -> int:
        scores = self.linear(theta)
        direction = theta
        if theta.size <= self.dense_hessian:
            hessian = self.hessian(self.curvature(scores))
            gradient = self.gradient(theta, scores).ravel()
            with contextlib.suppress(np.linalg.LinAlgError):
                direction = solve_positive(hessian, -gradient).reshape(self.shape)
        reach = self._reach(direction)[: self.design.n_features]
        return int(np.argmax(reach.reshape(len(reach), -1).max(axis=1)))

    def _is_recession_direction(self, scores: np.ndarray, direction: np.ndarray) -> bool:
        self.check_interrupt()
        along = self.linear(direction)
        used, moves = self.margins(along)
        if not self.output_shape and not self.in_passes and moves.min(initial=0.0) < 0.0:
            # No row's terms add up to more than its length times that of the direction.
            w = self.weights_of(direction)
            lengths = np.sqrt(self.design.row_squares()[used] * inner(w, w))
            most = 1.01 * lengths + np.abs(self.intercept_of(direction))
            if np.any(moves < -1e-7 * most):
                return False
        columns = direction.reshape(len(direction), -1).T
        size = np.sum([self.absolute_linear(t) for t in columns], axis=0)[used]
        # A move that is a rounding error of its own terms is none: dependent columns
        # have directions in which no score moves but by those.
        least = 1e-7 * size
        # Among several classes it is enough that one falls behind, though another keeps up.
        spread = np.ptp(along[used], axis=1) if self.output_shape else moves
        if not (np.any(spread > least) and np.all(moves >= -least)):
            return False
        return self.loss_value(scores + 1e6 * along) <= self.loss_value(scores)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        if self.penalty.coercive:
            return super().gram(weights)
        # Without a penalty the matrix of the last step is requested again: by its bound, by the
        # certificate, and for the errors of the coefficients.
        kept = self._kept_gram
        if kept is not None and kept[0] is self.design and np.array_equal(kept[1], weights):
            return kept[2].copy()
        begun = time.perf_counter()
        out = super().gram(weights)
        self.gram_seconds = time.perf_counter() - begun
        if out.size >= _KEPT:
            self._kept_gram = self.design, weights.copy(), out.copy()
        return out

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
            ``X' residual`` where it is at hand.
        """
        scores = self.linear(theta) if scores is None else scores
        r = given = self.residual(scores) if residual is None else residual
        primal = self.value(theta, scores)
        if not self.penalty.coercive:
            with np.errstate(all="ignore"):
                projected = self._projected(r, scores)
            if projected is None:
                return self._trivial(primal, r, scores if self.hurried else None)
            r = projected
        if self.balances:
            r = self.balanced(r)
        if adjoint is None or (r is not given and bool((r != given).any())):
            # A residual that is balanced once more differs in the last digits alone, but where
            # columns are far from zero the bound would be charged for these.
            adjoint = self.design.t_dot(r)
        v = -adjoint
        scale = min(self.penalty.dual_scale(v), self.dual_scale(r))
        # A product that is scaled as its residual is differs from that of the scaled residual in
        # the last digits of each alone.
        apart = 0.0
        if scale < 1.0:
            # Towards zero: within the domain of every loss, and balanced as before.
            r, v, adjoint, apart = scale * r, scale * v, scale * adjoint, 4.0 * UNIT
        dual = self._weak_duality(theta, scores, primal, r, v)
        if self.penalty.coercive and not dual > _POOR * primal:
            # Far from the optimum the slopes are too long: somewhere between them and zero, which
            # is worth nothing, the bound is best.
            scale = self._best_scale(r, v)
            if scale < 1.0:
                r, v, adjoint, apart = scale * r, scale * v, scale * adjoint, apart + 4.0 * UNIT
                dual = self._weak_duality(theta, scores, primal, r, v)
        if not dual > 0.0:
            return self._trivial(primal, r, scores if self.hurried else None)
        return Bound(primal, dual, primal - dual, r, scores, adjoint, apart)

    def _weak_duality(
        self, theta: np.ndarray, scores: np.ndarray, primal: float, r: np.ndarray, v: np.ndarray
    ) -> float:
        """The lower bound of a dual point in the domain, ``v`` minus its products with the data."""
        slope = np.add.reduce(r, axis=0)
        b = self.intercept_of(theta)
        terms, conjugate = self.dual_terms(scores, r)
        gap = self.penalty.fenchel_young(self.weights_of(theta), v) + terms
        if self.intercept_penalty > 0.0:
            tau = self.intercept_penalty
            gap += 0.5 * tau * float(np.sum(np.square(b + slope / tau)))
        elif self.balances:
            # Balanced to rounding; what is left is charged to the gap.
            gap += float(np.add.reduce(np.abs(b * slope), axis=None))
        # The dual objective itself, which the rounding of the scores does not touch; of the two
        # values the lower one is the bound.
        direct = -self.penalty.conjugate(v) - conjugate
        if self.intercept_penalty > 0.0:
            direct -= 0.5 * float(np.sum(np.square(slope))) / self.intercept_penalty
        # Never a bound more precise than the arithmetic behind it; sums are pairwise, so that
        # their rounding does not grow with the number of rows to speak of.
        return min(primal - gap, direct) - 8.0 * EPS * abs(primal)

    def _best_scale(self, r: np.ndarray, v: np.ndarray) -> float:
        """The multiple of a dual point, up to 1, whose bound is about the best; 1 where it is not.

        Along a ray the dual objective is concave, so that three points show where to look next.
        """

        def bound(scale: float) -> float:
            part = scale * r
            value = -self.penalty.conjugate(scale * v) - self.conjugate_value(part)
            if self.intercept_penalty > 0.0:
                slope = np.add.reduce(part, axis=0)
                value -= 0.5 * float(np.sum(np.square(slope))) / self.intercept_penalty
            return value if np.isfinite(value) else -np.inf

        best, value = 1.0, bound(1.0)
        step = 0.5
        # Halves until it gets worse, and then closer.
        for _ in range(_LOOKS):
            if not self.affords(0.0):
                break
            trial = best * step
            found = bound(trial)
            if found > value:
                best, value = trial, found
            elif step < 0.9:
                step = math.sqrt(step)
            else:
                break
        return best

    def bound_of(self, theta: np.ndarray, evaluation: Evaluation) -> Bound:
        """:meth:`bound`, from :meth:`evaluate` at ``theta``, without another product with the data.

        Slopes and values that belong together leave nothing of the loss's terms: the gap is the
        penalty's.  An intercept requires slopes that are balanced first.
        """
        if self.fit_intercept or self.penalty.strong_convexity == 0.0:
            return super().bound_of(theta, evaluation)
        v = -evaluation.adjoint
        primal = self.penalty_value(theta) + evaluation.loss
        gap = self.penalty.fenchel_young(theta, v)
        # (U l)*(r) = r s - U l(s) at the slope r of s, whatever s.
        direct = evaluation.loss - evaluation.paired - self.penalty.conjugate(v)
        dual = min(primal - gap, direct) - 8.0 * EPS * abs(primal)
        residual = self.residual(evaluation.scores)
        if not dual > _POOR * primal:
            return self.bound(theta, residual, evaluation.scores, evaluation.adjoint)
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
        return sharper(best, charged_bound((best.primal, dual), best.primal, dual, point.residual))

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
            # A residual that moved in the last digits alone needs no other product with the data.
            apart += 4.0 * len(self.output_shape) * (np.prod(self.output_shape) + 4.0) * UNIT
            for rows in self._slices():
                old = residual[rows]
                if not np.all(np.abs(point.residual[rows] - old) <= apart * np.abs(old)):
                    adjoint = None
                    break
            else:
                share += 2.0 * apart
        pulled = enclosed_adjoint(
            self.design,
            point.residual,
            level,
            adjoint=adjoint,
            share=share,
            spread=point.spread + 2.0**-1000 * (apart > 0.0),
            upper=self.upper if point.reach is None else point.reach,
            centred=self.balances,
        )
        # Where the sign makes a difference, it is that of what pulls at the weights.
        pulled = pulled if self.penalty.symmetric else pulled.mirrored()
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
        if not self.smooth or self.shape[0] > self.dense_hessian:
            return failed
        if self.hurried and not residual.any():
            # It proves nothing but that losses are not negative, wherever it may be moved to.
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

    def _slices(self) -> list[slice]:
        """Slice the rows, because fresh memory costs more than the arithmetic on it."""
        return [slice(start, start + ROWS) for start in range(0, len(self.upper), ROWS)]

    @abstractmethod
    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Weights of the rows by which a residual may move and stay in its domain."""

    def _trivial(
        self, primal: float, residual: np.ndarray, scores: np.ndarray | None = None
    ) -> Bound:
        # All losses here are >= 0, which is the bound at the dual point 0.
        return Bound(primal, 0.0, primal, np.zeros_like(residual), scores)

    def _projected(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray | None:
        """The residual moved to ``X' r = 0``, or None where that leaves the domain.

        A Newton step ``t`` from here solves ``H t = -g``; moving the residual along
        ``curvature * linear(t)`` is the weighted least-squares projection whose weights vanish
        at the edge of the domain, so near an optimum it stays inside.
        """
        if not self.smooth:
            return None
        size = int(np.prod(self.shape))
        if self.hurried:
            outputs = math.prod(self.output_shape)
            grams = 0.5 * outputs * (outputs + 1) * self.gram_seconds
            if size > self.dense_hessian or not self.affords(_PROJECTIONS * grams):
                return None
        curvature = self.curvature(scores)
        hessian = self.hessian(curvature) if size <= self.dense_hessian else None
        # One weight a row: the Hessian is a Gram matrix.
        known = (curvature, hessian) if hessian is not None and curvature.ndim == 1 else None

        def product(p: np.ndarray) -> np.ndarray:
            self.check_interrupt()
            return self.hessian_product(curvature, p)

        r, left = residual, math.inf
        # One step leaves rounding alone, which the next takes most of.
        for _ in range(2 if self.hurried else 5):
            g = self.adjoint(r)
            before, left = left, float(np.abs(g).max(initial=0.0))
            if left > 0.5 * before:
                # As far as rounding lets it.
                break
            if hessian is not None:
                try:
                    step = solve_positive(hessian, -g.ravel()).reshape(self.shape)
                except np.linalg.LinAlgError:
                    return None
            else:
                diagonal = np.maximum(self.hessian_diagonal(curvature), 1e-300)
                step = conjugate_gradients(
                    product,
                    -g,
                    diagonal,
                    tol=1e-12,
                    max_iter=1000,
                )
            r = r + self.curvature_apply(curvature, self.linear(step))
        # Beyond rounding, the constraint does not hold, and there is honestly no bound.
        if not np.all(np.isfinite(r)) or not self._orthogonal(r, known):
            return None
        return r if np.isfinite(self.fenchel_young(scores, r)) else None

    def _well_conditioned(self, weights: np.ndarray, others: np.ndarray, gram: np.ndarray) -> bool:
        """Whether no combination of columns nearly cancels, from a Gram matrix of other weights.

        Where the other weights are at most ``most`` times ``weights``, so is their Gram matrix.
        """
        used = others > 0.0
        if not np.all(weights[used] > 0.0):
            return False
        most = float(np.max(others[used] / weights[used], initial=0.0))
        squares = self.join(self.design.column_squares(weights), weights.sum())
        if not (0.0 < most < np.inf and np.all(squares > 0.0)):
            return False
        length = np.sqrt(squares)
        # Twice as far from singular as what is looked for, for what rounding leaves of it.
        matrix = gram / np.outer(length, length) / most
        np.einsum("ii->i", matrix)[...] -= 2e-6
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return False
        return True

    def _orthogonal(
        self, residual: np.ndarray, known: tuple[np.ndarray, np.ndarray] | None = None
    ) -> bool:
        """Whether a residual is orthogonal, to rounding, to all scores that points can produce.

        Each column is judged against what its own terms add up to in size, and so is every
        combination of columns that nearly cancels: a column with a large offset carries its
        signal in the short difference from the intercept, which its own length would drown.
        ``known``: weights of the rows and the Gram matrix with them, where there is one.
        """
        flat = residual.reshape(len(residual), -1)
        for r in flat.T:
            terms = self.design.absolute_t_dot(r)
            if np.any(np.abs(self.design.t_dot(r)) > _ROUNDING * terms):
                return False
            if self.fit_intercept and abs(r.sum()) > _ROUNDING * np.abs(r).sum():
                return False
        if self.shape[0] > self.dense_hessian or self.hurried:
            # The certificate charges what is left, whatever it is.
            return True
        if known is not None and self._well_conditioned(np.abs(residual), *known):
            return True
        # Rows count as much as their residuals: one without any must not set the scale.
        gram = self.gram(np.abs(flat).sum(axis=1))
        length = np.sqrt(np.diagonal(gram))
        length = np.where(length > 0.0, length, 1.0)
        values, vectors = np.linalg.eigh(gram / np.outer(length, length))
        for u in vectors.T[values < 1e-6]:
            t = u / length
            scores, terms = self.linear(t), self.absolute_linear(t)
            if np.sqrt(inner(scores, scores)) <= 4.0 * EPS * np.sqrt(inner(terms, terms)):
                # Columns that depend on one another exactly leave nothing but rounding behind.
                continue
            if np.any(np.abs(scores @ flat) > 8.0 * EPS * (terms @ np.abs(flat))):
                return False
        return True
