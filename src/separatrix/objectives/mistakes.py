r"""The objective of mistake-driven methods: the sum of the perceptron's losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import UNIT
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.objectives.base import (
    Bound,
    LinearProblem,
)
from separatrix.objectives.enclosure import Level, total_above


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
        A loss with its kink at 0, where its slope is that of a mistake.
    margin : float
        The margin below which a row is corrected; 0 is the plain rule.
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
    def judge(self) -> MistakeObjective:
        """The objective by which weights are compared on the way."""
        return self

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
