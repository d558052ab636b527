r"""The objective of a loss of the margin, for two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.objectives.base import (
    ROWS,
    Bound,
    DualPoint,
    Objective,
    balancing_share,
    charged_bound,
)
from separatrix.objectives.enclosure import (
    FAINT,
    LOST,
    Enclosure,
    Level,
    Total,
    enclosed_scores,
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
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.root import bracketed_root

__all__ = ["MarginObjective"]

# From so many rows on, vectors of their length are worth a kernel.
_MANY = 50_000
# Rows whose slopes are looked at again and again for less than it takes to part them.
_FEW = 1000
# From so many entries on, one pass instead of two products is.
_FUSED = 200_000
# Rows from which on one look at vectors of their length is worth a kernel beside such a pass.
_SEVERAL = 25_000
# By how much a margin that is short of 1 may have been meant to be 1.
_STRETCH = 1e-3


def _clipped(a: np.ndarray, low: Any, high: Any, out: np.ndarray | None = None) -> np.ndarray:
    """``np.clip``, which for few rows takes longer to find this than to do it."""
    clipped: np.ndarray = np.minimum(np.maximum(a, low, out=out), high, out=out)
    return clipped


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

    def of_rows(self, index: np.ndarray) -> Self:
        part = super().of_rows(index)
        part.y = self.y[index]
        return part

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

    def loss_value(self, scores: np.ndarray) -> float:
        def terms(rows: slice) -> float:
            return inner(self.upper[rows], self.loss.value(self.y[rows] * scores[rows]))

        return float(self._over_rows(terms))

    def along_line(self, scores: np.ndarray, along: np.ndarray, t: float) -> tuple[float, float]:
        if len(scores) < _SEVERAL or not hasattr(self.loss, "value_at"):
            return super().along_line(scores, along, t)
        found = margin_line(self.loss, self.y, self.upper, scores, along, t)
        return found if np.isfinite(found[0]) else super().along_line(scores, along, t)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        if len(scores) >= _MANY and hasattr(self.loss, "slope_at"):
            # In registers and in threads; for few rows not worth the compilation.
            return margin_slopes(self.loss, self.y, self.upper, scores)
        return self.upper * self.y * self.loss.derivative(self.y * scores)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.upper * self.loss.curvature(self.y * scores)

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return curvature * direction

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        out = self.gram(curvature)
        np.einsum("ii->i", out)[...] += self._penalty_curvature()
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
        # A few rows at a time, because fresh memory costs more than what is done to it.
        for rows in self._slices():
            _clipped(-self.y[rows] * residual[rows], low[rows], high[rows], out=a[rows])
        excess = inner(a, self.y)
        if excess == 0.0:
            return -self.y * a
        slack = np.empty_like(a)
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
            # Otherwise scale the heavier side down: the box survives.  Of labels the sides are the
            # classes; multipliers of numbers have both signs.
            pulls = a * self.y
            positive = pulls > 0.0
            up, down = float(pulls[positive].sum()), -float(pulls[~positive].sum())
            if not (up > 0.0 and down > 0.0):
                return np.zeros_like(residual)
            a = a * np.where(positive, min(1.0, down / up), min(1.0, up / down))
        for rows in self._slices():
            _clipped(a[rows], low[rows], high[rows], out=a[rows])
            np.multiply(-self.y[rows], a[rows], out=a[rows])
        return a

    def clipped(self, residual: np.ndarray) -> np.ndarray:
        return -self.y * self.multipliers(residual)

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """The multipliers ``-y r`` of a residual, each moved into its range."""
        a = -self.y * residual
        return a if self._unbounded() else _clipped(a, *self._ranges())

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest multiplier of every row."""
        return self._times_upper(self.loss.dual_lower), self._times_upper(self.loss.dual_upper)

    def _unbounded(self) -> bool:
        """Whether the multiplier of every row may be any number."""
        both = self.loss.dual_lower == -math.inf and self.loss.dual_upper == math.inf
        return both and bool(self.upper.all())

    def _times_upper(self, factor: float) -> np.ndarray:
        if factor == 1.0:
            return self.upper
        if factor == 0.0 or (math.isinf(factor) and self.upper.all()):
            if len(self.upper) <= ROWS:
                # Where memory costs less than a view.
                return np.full(len(self.upper), factor)
            return np.broadcast_to(factor, self.upper.shape)
        out = np.zeros_like(self.upper)
        return np.multiply(factor, self.upper, out=out, where=self.upper > 0.0)

    def _over_rows(self, terms: Callable[[slice], Any]) -> np.ndarray:
        """The sum of what ``terms`` gives for some rows at a time.

        Few enough that what is in between stays in the cache: fresh memory costs more.
        """
        if len(self.y) <= ROWS:
            return np.asarray(terms(slice(None)))
        return np.sum([terms(rows) for rows in self._slices()], axis=0)

    def _slopes(self, residual: np.ndarray, rows: slice) -> tuple[np.ndarray, Any, np.ndarray]:
        """Weights, rows of positive weight and the slopes in the margin of a residual."""
        upper, y, residual = self.upper[rows], self.y[rows], residual[rows]
        used: Any = slice(None)
        if not upper.all():
            used = upper > 0.0
            upper, y, residual = upper[used], y[used], residual[used]
        slopes = y * residual / upper
        for edge in (self.loss.dual_lower, self.loss.dual_upper):
            if edge != 0.0 and math.isfinite(edge):
                # A slope that is beyond the edge by an ulp stands for the edge.
                slopes[np.abs(slopes + edge) < 1e-15 * abs(edge)] = -edge
        return upper, used, slopes

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

    def _used(self, rows: slice) -> Any:
        """Which of some rows have a weight."""
        upper = self.upper[rows]
        return slice(None) if upper.all() else upper > 0.0

    def loss_above(self, scores: Enclosure) -> float:
        sums, weights, products = Total(), Total(), 0
        for rows in self._slices():
            used = self._used(rows)
            upper, z = self.upper[rows][used], (self.y[rows] * scores.middle[rows])[used]
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                # Also what the next subtraction rounds.
                radius = scores.radius[rows][used] * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * np.abs(z)
                ends = z - radius, z + radius
                value = self.loss.value(ends[0])
                if not self.loss.dual_lower >= 0.0:
                    # One that also rises is the largest at either end: it is convex.
                    value = np.maximum(value, self.loss.value(ends[1]))
                sums.add(upper * value)
                # A value near zero may have lost a square or an exponential to underflow, unless
                # the loss is flat there, and its product with a weight may have been lost as well.
                faint = value < FAINT
                if self.loss.smooth and faint.any():
                    if not self.loss.unattained:
                        slopes = [self.loss.derivative(end) != 0.0 for end in ends]
                        faint &= np.logical_or(*slopes)
                    weights.add(upper[faint])
                    products += int(np.count_nonzero(faint & (value == 0.0)))
                products += int(np.count_nonzero(value))
        out = sums.above() * (1.0 + (self.loss.units + 4.0) * UNIT)
        out += (LOST * weights.above() + products) * TINY
        return float("inf") if math.isnan(out) else out

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        unbounded = self._unbounded()
        if unbounded:
            a = -self.y * residual
        else:
            low, high = self._ranges()
            a = np.empty(len(self.y))
            for rows in self._slices():
                _clipped(-self.y[rows] * residual[rows], low[rows], high[rows], out=a[rows])
        share, spread, slope = 0.0, 0.0, 0.0
        if self.fit_intercept and moved is None:
            value, error = self._total(lambda rows: a[rows] * self.y[rows]).value()
            slope = abs(value) + error
        if self.balances and slope > 0.0:
            if self.loss.dual_lower >= 0.0:
                # The heavier class, whichever it is, is scaled down to the other, by 1 - share.
                share, inside = balancing_share(a, self.y, slope), True
            else:
                value, error = self._total(lambda rows: self.upper[rows]).value()
                spread = slope / (value - error) * (1.0 + 8.0 * UNIT)
                inside = self._inside(a, spread * self.upper)
                reach = min(-self.loss.dual_lower, self.loss.dual_upper)
                if not inside and reach > 0.0:
                    # Nearer to zero, which keeps the balance, there is space for these moves.
                    share = spread / reach * (1.0 + 8.0 * UNIT)
                    inside = share < 1.0
            slope = 0.0
            if not (share <= 1.0 and inside):
                return DualPoint(np.zeros_like(residual), 0.0, 0.0)
        if moved is not None and not self._inside(a, moved):
            return DualPoint(np.zeros_like(residual), 0.0, np.inf)
        ends = -self.loss.dual_upper, -self.loss.dual_lower
        sums, sizes, weights, n = Total(), Total(), Total(), 0
        for rows in self._slices():
            used = self._used(rows)
            upper = self.upper[rows][used]
            n += len(upper)
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                # The quotient is rounded, and may move besides; the conjugate is convex.
                t = -a[rows][used] / upper
                out = (2.0 * UNIT + (share if spread > 0.0 else 0.0)) * np.abs(t) + spread + TINY
                if moved is not None:
                    out = out + moved[rows][used] / upper * (1.0 + 4.0 * UNIT)
                moves = (t - out, t + out)
                if not unbounded:
                    moves = (_clipped(moves[0], *ends), _clipped(moves[1], *ends))
                values = [self.loss.conjugate(u) for u in moves]
                above = np.maximum(*values)
                size = np.abs(above)
                sizes.add(upper * (size + np.abs(t) if self.loss.cancels else size))
                sums.add(upper * above)
                weights.add(upper[(np.abs(above) < FAINT) & ((t != 0.0) | (out > TINY))])
            np.multiply(-self.y[rows], a[rows], out=a[rows])
        value, error = sums.value()
        # The least of the two ends is no further from the conjugate itself than the units are.
        rounding = ((self.loss.units + 4.0) * UNIT + share) * sizes.above()
        # And what underflows: of the conjugate, and of its product with the weight.
        rounding += (LOST * weights.above() + n) * TINY
        conjugate = value + error + rounding * (1.0 + 1e-9)
        conjugate = float("inf") if math.isnan(conjugate) else conjugate
        return DualPoint(a, value, conjugate, share, spread, slope)

    def _total(self, terms: Callable[[slice], np.ndarray]) -> Total:
        out = Total()
        for rows in self._slices():
            out.add(terms(rows))
        return out

    def _inside(self, a: np.ndarray, moves: np.ndarray) -> bool:
        """Whether multipliers that have a range are still in it after moves to either side."""
        if self._unbounded():
            return bool(np.isfinite(a).all() and np.isfinite(moves).all())
        low, high = self._ranges()
        used = self._used(slice(None))
        a, moves = a[used], moves[used]
        return bool(np.all(a - moves >= low[used]) and np.all(a + moves <= high[used]))

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
            ends = [loss.conjugate(_clipped(t + by_, -high, -low)) for by_ in (-by, by)]
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

        ``scores`` are without intercept.  The slope in ``b`` is monotone; its root is bracketed,
        and found by interpolation or, where it has steps, exactly by bisection.
        """
        tau = self.intercept_penalty
        # The rows whose slopes still differ between the ends, and the sum of the other slopes.
        y, moved, weights, settled = self.y, scores, self.upper * self.y, 0.0

        def slopes(b: float) -> tuple[np.ndarray, float]:
            of_rows = self.loss.derivative(y * (moved + b))
            return of_rows, settled + inner(weights, of_rows) + tau * b

        at_near, s0 = slopes(0.0)
        if s0 == 0.0:
            return 0.0
        near, far, s_near = 0.0, -1.0 if s0 > 0 else 1.0, s0
        for _ in range(1100):
            at_far, s_far = slopes(far)
            if s_far == 0.0 or (s_far > 0.0) != (s0 > 0.0):
                break
            near, far, at_near, s_near = far, 2.0 * far, at_far, s_far
        else:
            return 0.0
        # Any intercept makes a point, and who wants an end has one that is close.
        most = 20 if self.hurried else 80
        if self.smooth:
            near, far = bracketed_root(lambda b: slopes(b)[1], near, s_near, far, s_far, most)
        else:
            for _ in range(most):
                middle = 0.5 * (near + far)
                if middle in (near, far):
                    break
                if len(y) > _FEW:
                    # The loss is convex: a slope that is the same at both ends is so between them.
                    same, differ = at_near == at_far, np.flatnonzero(at_near != at_far)
                    settled += inner(weights[same], at_near[same])
                    y, moved, weights = y[differ], moved[differ], weights[differ]
                    at_near, at_far = at_near[differ], at_far[differ]
                at_middle, slope = slopes(middle)
                if slope != 0.0 and (slope > 0.0) == (s0 > 0.0):
                    near, at_near = middle, at_middle
                else:
                    far, at_far = middle, at_middle

        def value(b: float) -> float:
            return self.loss_value(scores + b) + 0.5 * tau * b * b

        return min(near, far, key=value)
