r"""The objective of a loss of the margin, for two classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.objectives.base import Bound, charged_bound
from separatrix.objectives.enclosure import (
    Enclosure,
    Level,
    gamma,
    longest_row,
    row_squares_above,
    score_rounding,
)
from separatrix.objectives.passes import (
    SUMMED,
    Evaluation,
    charges,
    margin_line,
    margin_pass,
    margin_slopes,
)
from separatrix.objectives.pointwise import PointwiseObjective, clipped

__all__ = ["MarginObjective"]

# From so many rows on, vectors of their length are worth a kernel.
_MANY = 50_000
# From so many entries on, one pass instead of two products is.
_FUSED = 200_000
# Rows from which on one look at vectors of their length is worth a kernel beside such a pass.
_SEVERAL = 25_000
# By how much a margin that is short of 1 may have been meant to be 1.
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
        # A design or a loss of somebody else's may lack what one pass asks for.
        able = hasattr(self.loss, "value_at") and getattr(self.design, "pieces", None) is not None
        if scores is not None or self.design.n_stored < _FUSED or not able:
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

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        whole = known is not None and known.scores is not None and known.primal < np.inf
        # Multipliers of both signs are balanced by moves of every one.
        plain = self.loss.dual_lower >= 0.0 or not self.balances
        if level is Level.NORMS and whole and plain and self.penalty.coercive:
            assert known is not None
            if proof.residual is not None and proof.adjoint is not None:
                found = self._charged_at_once(theta, proof, known)
                if found.primal < np.inf:
                    return found
        return super().charged(theta, level, proof, known)

    def _charged_at_once(self, theta: np.ndarray, proof: Bound, known: Bound) -> Bound:
        """Charge rounding by the norms of the rows, in one pass over vectors as long as the data.

        Sums are those of blocks, whose rounding is bounded as that of any order of their terms.
        """
        w, b = self.weights_of(theta), float(self.intercept_of(theta))
        r, adjoint = proof.residual, proof.adjoint
        assert r is not None and adjoint is not None and known.scores is not None
        squares, spare = row_squares_above(self.design)
        if squares is None:
            return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
        width = longest_row(self.design)
        wide, shift = score_rounding(self.design, w, b)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sums = self._charges(known.scores, r, squares, wide, shift)
            if not np.all(np.isfinite(sums)) or sums[7].any():
                return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
            rounding = gamma(min(SUMMED, len(r)) + sums.shape[1])
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
            length = factor * lengths + (len(r) + 2) * math.sqrt(len(w)) * TINY
            # Where the sign makes a difference, it is that of what pulls at the weights.
            v = adjoint if self.penalty.symmetric else -adjoint
            pulled = Enclosure(v, length, length)
            if not np.isfinite(length + above):
                return Bound(np.inf, 0.0, np.inf, r, charge=np.inf)
            penalty, above = self.penalty.conjugate_above(pulled, above)
            dual = -(penalty + beyond + above)
            near = self.penalty.conjugate(v)
            middle = -conjugate - beyond - (near if np.isfinite(near) else 0.0)
        return charged_bound((known.primal, middle), primal, dual, r)

    def _charges(
        self,
        scores: np.ndarray,
        residual: np.ndarray,
        squares: np.ndarray,
        wide: float,
        shift: float,
    ) -> np.ndarray:
        """The sums of :func:`charges`, compiled where there are so many rows that it pays."""
        n, loss = len(self.y), self.loss
        compiled = n >= _MANY or (self.design.n_stored >= _FUSED and n >= _SEVERAL)
        if compiled and hasattr(loss, "conjugate_at") and hasattr(loss, "value_at"):
            return charges(loss, self.y, self.upper, scores, residual, squares, wide, shift)
        low, high = loss.dual_lower, loss.dual_upper
        columns = []
        for start in range(0, n, SUMMED):
            rows = slice(start, start + SUMMED)
            y, u, r = self.y[rows], self.upper[rows], residual[rows]
            z, a, length = y * scores[rows], -y * r, np.sqrt(squares[rows])
            off = wide * length + shift + 8.8e-16 * np.abs(z)
            above = loss.value(z - off)
            if low < 0.0:
                above = np.maximum(above, loss.value(z + off))
            losses, lengths = inner(u, above), np.abs(a)
            size, outside = lengths.sum() if loss.cancels else 0.0, 0
            up = inner(0.5 + 0.5 * y, a)
            down = inner(0.5 - 0.5 * y, a)
            if not u.all():
                outside = int(np.count_nonzero(a[u == 0.0]))
                a, u = a[u > 0.0], u[u > 0.0]
            outside += int(np.count_nonzero((a < low * u) | (a > high * u)))
            # The quotient is rounded; the conjugate is convex.
            t = -a / u
            by = 2.0 * UNIT * np.abs(t) + TINY
            ends = [loss.conjugate(clipped(t + by_, -high, -low)) for by_ in (-by, by)]
            conjugate = u * np.maximum(*ends)
            size += np.abs(conjugate).sum()
            long = inner(lengths, length)
            columns.append((losses, conjugate.sum(), size, long, up, down, r.sum(), outside))
        return np.array(columns).T

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
        """How large the entries of a point's weights may be."""
        return np.inf
