r"""The objective of a loss of the margin, for two classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.objectives.passes import (
    Evaluation,
    margin_line,
    margin_pass,
    margin_slopes,
)
from separatrix.objectives.pointwise import PointwiseObjective

# The number of rows from which on vectors of their length are worth a kernel.
_MANY = 50_000
# Rows from which on one look at vectors of their length is worth a kernel beside such a pass.
_SEVERAL = 25_000
# The shortfall from 1 up to which a margin may have been meant to be 1.
_STRETCH = 1e-3


class MarginObjective(PointwiseObjective):
    """A loss of the margin ``y (w.x + b)`` with labels in {-1, +1}.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept, intercept_penalty
        See :class:`~separatrix.objectives.base.Objective`.
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    loss : MarginLoss
    """

    of_classes = True

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        # A loss from elsewhere may lack the functions that one pass needs.
        able = hasattr(self.loss, "value_at") and self.in_one_pass
        if scores is not None or not able:
            return super().evaluate(theta, scores)
        w, b = self.weights_of(theta), float(self.intercept_of(theta))
        scores, loss, paired, adjoint, slope = margin_pass(
            self.design, self.loss, self.y, self.upper, w, b
        )
        if not np.isfinite(paired):
            # Overflow, which the kernel's arithmetic does not look at more closely.
            return super().evaluate(theta)
        return Evaluation(scores, loss, paired, self.join(adjoint, slope))

    def along_line(self, scores: np.ndarray, along: np.ndarray, t: float) -> tuple[float, float]:
        if len(scores) < _SEVERAL or not hasattr(self.loss, "value_at"):
            return super().along_line(scores, along, t)
        found = margin_line(self.loss, self.y, self.upper, scores, along, t)
        return found if np.isfinite(found[0]) else super().along_line(scores, along, t)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        if len(scores) >= _MANY and hasattr(self.loss, "slope_at"):
            # In registers and in threads; for few rows not worth the compilation.
            return margin_slopes(self.loss, self.y, self.upper, scores)
        return super().residual(scores)

    def polished(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        # The intercept, and a stretch that lifts rows to their margin whom rounding left short of
        # it; for the optimum that is as good as the rounding is small.
        scores = self.doubled_scores(theta)
        if scores is None or not np.all(np.isfinite(scores)):
            return
        if self.balances:
            theta, scores = self._levelled(theta, scores)
            yield theta
        short = (1.0 - self.y * scores)[self.upper > 0.0]
        near = short[(short > 0.0) & (short < _STRETCH)]
        if len(near) and not self.smooth:
            factor = 1.0 + 2.0 * float(near.max())
            if np.all(np.abs(self.weights_of(theta)) * factor <= self.reach_of(theta)):
                yield theta * factor

    def reach_of(self, theta: np.ndarray) -> Any:
        """The largest size that the entries of a point's weights may have."""
        return np.inf
