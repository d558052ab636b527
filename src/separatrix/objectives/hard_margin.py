r"""The hard margin: the shortest weights that keep every row at a margin of one."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import EPS, TINY, UNIT
from separatrix.data.design import Design
from separatrix.objectives.base import (
    Bound,
    LinearProblem,
    balancing_share,
    charged_bound,
)
from separatrix.objectives.enclosure import Enclosure, Level, enclosed_adjoint, length_above, total
from separatrix.objectives.formula import Formula


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
        The weights of the rows: one of weight zero is left out, and all others count alike.
    fit_intercept : bool
    intercept_penalty : float
        The factor ``tau``; 1 puts the constant 1 among the features.
    """

    constrained = True
    # There is no loss.
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

    def formula(self) -> Formula:
        constraint = " subject to y {score} >= 1"
        return Formula("1/2 |w|^2", intercept=self.fit_intercept, constraint=constraint)

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
        # The objective may be too small by as much as rounding may have added to the smallest
        # margin.
        slack = 2.0 * self._margin_rounding(theta, scores) / self.margin(scores)
        dual -= (slack + 8.0 * EPS) * primal
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

        ``more``: a bound on the excess of the true length over ``length``.
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
        """Multipliers >= 0 at a scale of about one, and bounds on their distance from balance.

        These are the share by which those of one class have to be scaled down, and the size that
        the sum of ``alpha y`` may have where it need not be zero.
        """
        alpha = np.where(self.upper > 0.0, np.maximum(-self.y * residual, 0.0), 0.0)
        largest = float(alpha.max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return alpha, np.inf, np.inf
        # Scaled by a power of two, exactly; a dual point is judged up to its scale.
        alpha = np.ldexp(alpha, -math.frexp(largest)[1])
        value, error = total(self.y * alpha)
        slope = abs(value) + error
        if not self.balances or slope == 0.0:
            return alpha, 0.0, slope
        return alpha, balancing_share(alpha, self.y, slope), 0.0

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
        pulled = enclosed_adjoint(self.design, point, level, share=share, centred=self.balances)
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
        """Bound how far the true smallest margin may fall short of the computed one."""
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
    """A bound on the rounding of a sum of ``terms`` products, relative to the sum of their sizes.

    In the worst case half an ulp a term, for a few terms; for many, errors of random sign
    (Higham and Mary, 2019).
    """
    return 2.0 * EPS * float(np.sqrt(terms + 2))
