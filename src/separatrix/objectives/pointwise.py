r"""The objective of a loss of one score a row and its target.

With the sign :math:`\sigma_i` and the centre :math:`c_i` that a target gives (see
:mod:`separatrix.losses.base`) a row's loss is :math:`\ell_i(z_i)` with
:math:`z_i = \sigma_i (s_i - c_i)`, and its multiplier :math:`a_i = -\sigma_i r_i`.  In the
conjugate the centre is a linear term:

.. math:: \sup_s\, r s - U\ell(\sigma (s - c)) = U\,\ell^*(\sigma r/U) + r\,c .
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.objectives import passes
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
    quotient_above,
    row_squares_above,
    score_rounding,
    total,
    total_above,
)
from separatrix.objectives.passes import SUMMED, scalars_of
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.root import bracketed_root
from separatrix.objectives.row_sums import SUMS, RowSums

# Rows whose slopes are looked at again and again for less than it takes to part them.
_FEW = 1000
# The number of entries from which on one pass is worth it instead of two products.
_FUSED = 200_000
# A Hessian in single precision is off by less than this part of its trace (2e-8 for rows that are
# all equal, and less for others).  Steps by it are as good as any where that is so small a part of
# the curvature of the penalty, which is far from the ends of the range of such numbers.
_ROUNDED, _NO_MATTER, _WITHIN = 1e-7, 0.1, (1e-10, 1e10)


def clipped(a: np.ndarray, low: Any, high: Any, out: np.ndarray | None = None) -> np.ndarray:
    """``np.clip``, which for few rows takes longer to find this than to do it."""
    found: np.ndarray = np.minimum(np.maximum(a, low, out=out), high, out=out)
    return found


def sum_by_cells(values: np.ndarray) -> float:
    """The sum of an array by blocks, as the sums of a charged bound are."""
    if len(values) <= SUMMED:
        return float(np.add.reduce(values))
    starts = range(0, len(values), SUMMED)
    return float(np.add.reduce([np.add.reduce(values[k : k + SUMMED]) for k in starts]))


class Charges(NamedTuple):
    """Sums over all rows that a charged bound is made of.

    Attributes
    ----------
    losses : float
        The sum of ``U l`` at the least favourable end of each argument.
    conjugate, sizes : float
        The sum of ``U l*(-a/U)``, and that of the sizes of the terms that it is computed from.
    lengths : float
        The sum of ``|a|`` times the norms of the rows.
    up, down : float
        The sums of the multipliers of either sign of the score, where none is below zero.
    slope, outside : float
        The sum of the residual, and the number of rows whose multiplier is out of its range.
    mass : float
        The sum of the sizes of the multipliers, or more.
    paired, pairs : float
        The sum of the products of the residual with the centres, and that of their sizes.
    reached, reach : float
        The sums of ``U`` times the sizes of the centres, and times the norms of the rows, where
        multipliers move in proportion to ``U``.
    """

    losses: float
    conjugate: float
    sizes: float
    lengths: float
    up: float
    down: float
    slope: float
    outside: float
    mass: float
    paired: float = 0.0
    pairs: float = 0.0
    reached: float = 0.0
    reach: float = 0.0


class PointwiseObjective(Objective):
    """A loss of the score ``w.x + b`` of a row and of its target.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept, intercept_penalty
        See :class:`Objective`.
    targets : ndarray of shape (n_samples,)
        The targets, in the loss's domain.
    loss : Loss

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        The signs that the targets give the scores; labels are their own signs.
    centres : ndarray of shape (n_samples,) or None
        The scores that the targets move to zero.
    """

    # Whether the dual has no constraint on several rows together but that of an intercept.
    _rows_apart = True

    def __init__(
        self,
        design: Design,
        targets: np.ndarray,
        loss: Loss,
        penalty: Penalty | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, penalty, **options)
        self.loss = loss
        self.targets = targets
        self.y = loss.sign(targets)
        self.centres = loss.centre(targets)

    def of_rows(self, index: np.ndarray) -> Self:
        part = super().of_rows(index)
        part.targets = self.targets[index]
        # Signs and centres that are the targets themselves stay so.
        part.y = part.targets if self.y is self.targets else self.y[index]
        if self.centres is not None:
            part.centres = part.targets if self.centres is self.targets else self.centres[index]
        return part

    def loss_value(self, scores: np.ndarray) -> float:
        def terms(rows: slice) -> float:
            return inner(self.upper[rows], self._given(rows).value(self._argument(scores, rows)))

        return float(self._over_rows(terms))

    def residual(self, scores: np.ndarray) -> np.ndarray:
        return self.upper * self.y * self._given().derivative(self._argument(scores))

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.upper * self._given().curvature(self._argument(scores))

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return curvature * direction

    @property
    def in_one_pass(self) -> bool:
        """Whether a product with the rows and one with their transpose are worth one reading."""
        # A design from elsewhere may lack the functions that this needs.
        able = getattr(self.design, "pieces", None) is not None
        return able and self.design.n_stored >= _FUSED

    def hessian_product(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        if curvature.ndim > 1 or not self.in_one_pass:
            return super().hessian_product(curvature, direction)
        w, b = self.weights_of(direction), float(self.intercept_of(direction))
        found = self.join(*passes.curved_product(self.design, curvature, w, b))
        return self._penalty_curvature() * direction + found

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        out = self.gram(curvature)
        np.einsum("ii->i", out)[...] += self._penalty_curvature()
        return out

    def step_hessian(self, curvature: np.ndarray) -> np.ndarray:
        convexity = self.penalty.strong_convexity
        able = self.design.has_rough_gram and curvature.ndim == 1
        if not able or not _WITHIN[0] <= convexity <= _WITHIN[1]:
            return self.hessian(curvature)
        trace = inner(curvature, self.design.row_squares())
        if not _ROUNDED * trace <= _NO_MATTER * convexity:
            return self.hessian(curvature)
        rough = copy(self)
        rough._rough = True
        return rough.hessian(curvature)

    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        return self._penalty_curvature() + self.join(
            self.design.column_squares(curvature), curvature.sum()
        )

    def balanced(self, residual: np.ndarray) -> np.ndarray:
        # In multipliers a = -y r the constraint reads sum a y = 0; each within its range first, or
        # the last clipping would undo the balance.
        ends = self._ranges() if self.loss.by_target else None
        low, high = (0.0, 0.0) if ends else (self.loss.dual_lower, self.loss.dual_upper)
        return passes.balanced(self.y, residual, self.upper, ends, low, high)

    def clipped(self, residual: np.ndarray) -> np.ndarray:
        return -self.y * self.multipliers(residual)

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """The multipliers ``-y r`` of a residual, each moved into its range."""
        a = -self.y * residual
        return a if self._unbounded() else clipped(a, *self._ranges())

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest multiplier of every row."""
        given = self._given()
        return self._times_upper(given.dual_lower), self._times_upper(given.dual_upper)

    def _unbounded(self) -> bool:
        """Whether the multiplier of every row may be any number."""
        if self.loss.by_target:
            return False
        both = self.loss.dual_lower == -math.inf and self.loss.dual_upper == math.inf
        return both and bool(self.upper.all())

    def _times_upper(self, factor: Any) -> np.ndarray:
        if isinstance(factor, np.ndarray):
            # No further than the true product: an end that is beyond it is outside of the range.
            return self.upper * factor * (1.0 - 4.0 * UNIT)
        if factor == 1.0:
            return self.upper
        if factor == 0.0 or (math.isinf(factor) and self.upper.all()):
            if len(self.upper) <= ROWS:
                # Where memory costs less than a view.
                return np.full(len(self.upper), factor)
            return np.broadcast_to(factor, self.upper.shape)
        if math.isfinite(factor):
            return self.upper * factor
        out = np.zeros_like(self.upper)
        return np.multiply(factor, self.upper, out=out, where=self.upper > 0.0)

    def _argument(self, scores: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """The number ``z`` of the loss for the scores of some rows."""
        if self.centres is None:
            return self.y[rows] * scores[rows]
        if self.loss.of_residual:
            # One look at the numbers less.
            return self.centres[rows] - scores[rows]
        return self.y[rows] * (scores[rows] - self.centres[rows])

    def _given(self, rows: slice = slice(None), used: Any = slice(None)) -> Loss:
        """The loss as a function of ``z``, for the targets of some rows, or of some among them."""
        return self.loss.given(self.targets[rows][used]) if self.loss.by_target else self.loss

    def _over_rows(self, terms: Callable[[slice], Any]) -> np.ndarray:
        """The sum of the results of ``terms`` for some rows at a time.

        The rows are so few that intermediate arrays stay in the cache: fresh memory costs more.
        """
        if len(self.y) <= ROWS:
            return np.asarray(terms(slice(None)))
        return np.sum([terms(rows) for rows in self._slices()], axis=0)

    def _slopes(self, residual: np.ndarray, rows: slice) -> tuple[np.ndarray, Any, np.ndarray]:
        """Weights, rows of positive weight and the slopes in ``z`` of a residual."""
        upper, y, residual = self.upper[rows], self.y[rows], residual[rows]
        used: Any = slice(None)
        if not upper.all():
            used = upper > 0.0
            upper, y, residual = upper[used], y[used], residual[used]
        slopes = y * residual / upper
        for edge in () if self.loss.by_target else (self.loss.dual_lower, self.loss.dual_upper):
            if edge != 0.0 and math.isfinite(edge):
                # A slope that is beyond the edge by an ulp stands for the edge.
                slopes[np.abs(slopes + edge) < 1e-15 * abs(edge)] = -edge
        return upper, used, slopes

    def _without_weight(self, residual: np.ndarray) -> bool:
        """Whether a row without weight has a multiplier, whose conjugate is infinite."""
        return not self.upper.all() and bool(np.any(residual[self.upper == 0.0]))

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        scalars = None if self.loss.by_target else scalars_of(self.loss)
        if scalars is not None:
            vectors = self.y, self.upper, scores, residual, self.centres
            gap, conjugate = passes.dual_terms(self.loss, scalars, *vectors)
            return gap, conjugate + self._at_centre(residual)
        if self._without_weight(residual):
            return math.inf, math.inf

        def terms(rows: slice) -> tuple[float, float]:
            upper, used, slopes = self._slopes(residual, rows)
            given = self._given(rows, used)
            z = self._argument(scores, rows)[used]
            conjugate = given.conjugate(slopes)
            gap = given.value(z) + conjugate - slopes * z
            return inner(upper, np.maximum(gap, 0.0)), inner(upper, conjugate)

        gap, conjugate = self._over_rows(terms)
        return float(gap), float(conjugate) + self._at_centre(residual)

    def fenchel_young(self, scores: np.ndarray, residual: np.ndarray) -> float:
        return self.dual_terms(scores, residual)[0]

    def conjugate_value(self, residual: np.ndarray) -> float:
        if not self.loss.by_target and scalars_of(self.loss) is not None:
            # The scores matter to the gap alone.
            return self.dual_terms(residual, residual)[1]
        if self._without_weight(residual):
            return math.inf

        def terms(rows: slice) -> float:
            upper, used, slopes = self._slopes(residual, rows)
            return inner(upper, self._given(rows, used).conjugate(slopes))

        return float(self._over_rows(terms)) + self._at_centre(residual)

    def _at_centre(self, residual: np.ndarray) -> float:
        """The excess of the conjugate in the scores over that in ``z``."""
        return 0.0 if self.centres is None else inner(residual, self.centres)

    def _used(self, rows: slice) -> Any:
        """The index of the rows that have a weight, among some rows."""
        upper = self.upper[rows]
        return slice(None) if upper.all() else upper > 0.0

    def loss_above(self, scores: Enclosure) -> float:
        sums, weights, products = Total(), Total(), 0
        for rows in self._slices():
            used = self._used(rows)
            given = self._given(rows, used)
            upper, z = self.upper[rows][used], self._argument(scores.middle, rows)[used]
            radius = scores.radius[rows][used]
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                if self.centres is not None:
                    radius = radius * (1.0 + 4.0 * UNIT) + UNIT * np.abs(z)
                    if self.loss.centre_units > 0.0:
                        size = np.abs(self.centres[rows][used])
                        radius = radius + self.loss.centre_units * UNIT * size
                # Also what the next subtraction rounds.
                radius = radius * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * np.abs(z)
                ends = z - radius, z + radius
                value = given.value_above(ends[0])
                if self.loss.by_target or not self.loss.dual_lower >= 0.0:
                    # A loss that also rises is the largest at either end: it is convex.
                    value = np.maximum(value, given.value_above(ends[1]))
                sums.add(upper * value)
                # A value near zero may have lost a square or an exponential to underflow, unless
                # the loss is flat there, and its product with a weight may have been lost as well.
                faint = value < FAINT
                if self.loss.smooth and faint.any():
                    if not self.loss.unattained:
                        slopes = [given.derivative(end) != 0.0 for end in ends]
                        faint &= np.logical_or(*slopes)
                    weights.add(upper[faint])
                    products += int(np.count_nonzero(faint & (value == 0.0)))
                products += int(np.count_nonzero(value))
        out = sums.above() * (1.0 + (self.loss.units + 4.0) * UNIT)
        out += (LOST * weights.above() + products) * TINY
        return float("inf") if math.isnan(out) else out

    # --- the charged bound, at one look at vectors of the length of the data ---------------------

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        whole = known is not None and known.scores is not None and known.primal < np.inf
        # Losses by target have ranges of their own, which no two numbers describe.
        plain = self._rows_apart and not self.loss.by_target and self.penalty.coercive
        if level is Level.NORMS and whole and plain:
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
            return self._nothing(r)
        n, width = len(r), longest_row(self.design)
        rounding = gamma(min(SUMMED, n) - (-n // SUMMED))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            falls = self.loss.dual_lower >= 0.0
            share, spread, weight = 0.0, 0.0, 0.0
            if self.balances and not falls:
                weight = sum_by_cells(self.upper) * (1.0 + rounding)
                share, spread = self._moves_to_balance(r, weight, rounding)
                if not (share < 1.0 and spread < math.inf):
                    return self._nothing(r)
            moves = share, spread
            wrong = score_rounding(self.design, w, b)
            sums = self._charges(known.scores, r, squares, wrong, moves, balanced=self.balances)
            if not all(map(math.isfinite, sums)) or sums.outside:
                return self._nothing(r)
            units = (rounding + (self.loss.units + 8.0) * UNIT) * (1.0 + 1e-9)
            # This covers the error of a conjugate at odds below 2^-1022, where those are used.
            most = float(np.maximum.reduce(self.upper, initial=0.0))
            underflow = n * (most * 2.0**-1020 + 4.0 * TINY)
            loss = sums.losses * (1.0 + units) + underflow
            tau = 0.5 * self.intercept_penalty * b * b * (1.0 + 8.0 * UNIT)
            primal = self.penalty.value_above(w) + tau + loss
            beyond = 0.0
            if self.balances and falls:
                # The heavier class, whichever it is, is scaled down to the other.
                slope = abs(sums.slope) + rounding * (sums.up + sums.down) * (1.0 + units)
                least = min(sums.up, sums.down) * (1.0 - rounding)
                share = quotient_above(slope, least) if least > 0.0 else np.inf
            elif self.intercept_penalty > 0.0:
                slope = abs(sums.slope) + rounding * sums.mass * (1.0 + units)
                beyond = 0.5 * slope * slope / self.intercept_penalty * (1.0 + 1e-9)
            conjugate = sums.conjugate + sums.paired
            above = conjugate + (units + share) * sums.sizes * (1.0 + units) + underflow
            if self.centres is not None:
                above += self._paired_rounding(sums, share, spread, weight, units)
            # The underflow in the squares of the norms.
            lost = math.sqrt(width) * 2.0**-509
            # The sums of the pass that gave the adjoint may have been of residuals beside these.
            lengths = (sums.lengths * (1.0 + units) + lost * sums.mass) * spare
            if proof.apart > 0.0:
                # Cauchy and Schwarz: the sum of the lengths of the rows.
                most *= math.sqrt(n * (sum_by_cells(squares) + n * width * 2.0**-1020))
                lengths += 2.0**-899 * most
            factor = gamma(n) + share + 2.0 * proof.apart
            length = factor * lengths + (n + 2) * math.sqrt(len(w)) * TINY
            if spread > 0.0:
                length += 2.0 * spread * (sums.reach * (1.0 + units) + lost * weight) * spare
            # Where the sign makes a difference, it is that of what pulls at the weights.
            v = adjoint if self.penalty.symmetric else -adjoint
            pulled = Enclosure(v, length, length)
            if not math.isfinite(length + above):
                return self._nothing(r)
            penalty, above = self.penalty.conjugate_above(pulled, above)
            dual = -(penalty + beyond + above)
            near = self.penalty.conjugate(v)
            middle = -conjugate - beyond - (near if math.isfinite(near) else 0.0)
        return charged_bound((known.primal, middle), primal, dual, r)

    def row_sums(self, theta: np.ndarray, squares: np.ndarray, *, balance: bool) -> RowSums:
        """All sums that a certificate needs of these rows, in blocks of them.

        The same as :func:`~separatrix.objectives.row_sums.margin_sums`, for any smooth loss.

        Parameters
        ----------
        theta : ndarray
        squares : ndarray of shape (n_samples,)
            Squared norms of the rows.
        balance : bool
            Whether the slopes are to be balanced, for an intercept without a penalty.
        """
        w, b = self.weights_of(theta), float(self.intercept_of(theta))
        scores = self.linear(theta)
        r, upper = self.clipped(self.residual(scores)), self.upper
        z, given = self._argument(scores), self._given()
        wrong = score_rounding(self.design, w, b)
        found = self._charges(scores, r, squares, wrong, (0.0, 0.0), balanced=False)
        sizes, size = found.sizes, np.abs(r)
        centre = 0.0 if self.centres is None else np.abs(self.centres)
        if self.centres is not None:
            # The product with the centres is rounded like the conjugate itself, and so are they.
            off = 2.0 * self.loss.centre_units * float(np.max(centre, initial=0.0))
            sizes += found.pairs + off * found.mass
        nothing = np.zeros(0)
        moves = move = nothing
        if balance:
            moves = move = upper * given.shift(z)
            # No further than the ends of its range, of which floats may hold the slope to be one.
            a = -self.y * r
            low, high = self._ranges()
            if not self._unbounded():
                move = np.maximum(np.minimum(np.minimum(moves, a - low), high - a), 0.0)
                move[upper == 0.0] = 0.0
            shares = np.divide(move, upper, out=np.zeros_like(move), where=upper > 0.0)
            cost = upper * given.shift_cost(shares)
        sums = {
            "loss": self.loss_value(scores),
            "loss_above": found.losses,
            "conjugate": found.conjugate + found.paired,
            "sizes": sizes,
            "lengths": found.lengths,
            "slope": found.slope,
            "slope_size": sum_by_cells(size),
            "outside": found.outside,
            "upper": sum_by_cells(upper),
            "right": sum_by_cells(upper * (z > 0.0)),
        }
        if balance:
            sums |= {
                "shift": sum_by_cells(move),
                "shift_score": sum_by_cells(move * scores),
                "shift_size": sum_by_cells(move * np.abs(scores)),
                "shift_cost": sum_by_cells(cost),
                "shift_lengths": sum_by_cells(move * np.sqrt(squares)),
                "slips": sum_by_cells(moves * (np.abs(scores) + centre) + size),
            }
        values = np.array([*(sums.get(name, 0.0) for name in SUMS), *self._sums_beside(z, r, move)])
        shifted = self.design.t_dot(move) if balance else nothing
        return RowSums(values, self.design.t_dot(r), shifted)

    def _sums_beside(self, z: np.ndarray, r: np.ndarray, move: np.ndarray) -> Sequence[float]:
        """Further sums of a kind of objective, of arguments, slopes and moves."""
        return ()

    @staticmethod
    def _nothing(residual: np.ndarray) -> Bound:
        """The bound that is known where sums overflow, or a multiplier is out of its range."""
        return Bound(np.inf, 0.0, np.inf, residual, charge=np.inf)

    def _moves_to_balance(
        self, residual: np.ndarray, weight: float, rounding: float
    ) -> tuple[float, float]:
        """The moves of multipliers of both signs to a sum of zero, as a share and a spread.

        Nearer to zero by a ``share`` of each there is space in their ranges for moves by a
        ``spread`` of the weights, whose sum is at most ``weight``.  ``rounding``: a bound on the
        error of sums, relative to their sizes.
        """
        slope = abs(sum_by_cells(residual)) + rounding * sum_by_cells(np.abs(residual)) * (
            1.0 + 2.0 * rounding
        )
        least = weight * (1.0 - 3.0 * rounding)
        spread = quotient_above(slope, least) if least > 0.0 else math.inf
        reach = min(-self.loss.dual_lower, self.loss.dual_upper)
        return (quotient_above(spread, reach) if reach < math.inf else 0.0), spread

    def _paired_rounding(
        self, sums: Charges, share: float, spread: float, weight: float, units: float
    ) -> float:
        """A bound on the error of the products of a residual with the centres."""
        assert self.centres is not None
        error = (units + share) * sums.pairs + spread * sums.reached
        if self.loss.centre_units > 0.0:
            off = 2.0 * self.loss.centre_units * UNIT * float(np.abs(self.centres).max())
            error += off * (sums.mass + spread * weight)
        return error * (1.0 + 4.0 * units) + 4.0 * len(self.centres) * TINY

    def _charges(
        self,
        scores: np.ndarray,
        residual: np.ndarray,
        squares: np.ndarray,
        rounding: tuple[float, float],
        moves: tuple[float, float],
        *,
        balanced: bool,
    ) -> Charges:
        """The sums of a charged bound, for multipliers within their ranges.

        ``rounding``: that of the scores, as :func:`score_rounding` has it; ``moves``: the share and
        the spread by which the multipliers may be moved; ``balanced``: whether the true slopes of
        these rows add up to zero.
        """
        n, loss, (wide, shift), (share, spread) = len(self.y), self.loss, rounding, moves
        bounded, falls = not self._unbounded(), not loss.by_target and loss.dual_lower >= 0.0
        middle = 0.0
        if self.centres is not None and balanced:
            # A constant has no effect on slopes that are balanced.
            ends = np.minimum.reduce(self.centres), np.maximum.reduce(self.centres)
            middle = 0.5 * float(ends[0] + ends[1])
        scalars = None if loss.by_target else scalars_of(loss)
        if scalars is not None:
            vectors = self.y, self.upper, scores, residual, squares, self.centres
            found = passes.charges(loss, scalars, *vectors, rounding, moves, middle)
            return Charges(*np.add.reduce(found, axis=1).tolist())
        by_size = 2.0 * UNIT + share
        columns = []
        for start in range(0, n, SUMMED):
            rows = slice(start, start + SUMMED)
            given = self._given(rows)
            u, r, length = self.upper[rows], residual[rows], np.sqrt(squares[rows])
            z, a = self._argument(scores, rows), -self.y[rows] * r
            off = wide * length + shift + 8.8e-16 * np.abs(z)
            size, pairs = np.abs(a), (0.0, 0.0, 0.0)
            mass = np.add.reduce(size)
            if self.centres is not None:
                centre = self.centres[rows]
                if loss.centre_units > 0.0:
                    off += loss.centre_units * UNIT * np.abs(centre)
                centre = centre - middle if middle != 0.0 else centre
                far = np.abs(centre)
                reached = inner(u, far) if spread > 0.0 else 0.0
                pairs = inner(r, centre), inner(size, far), reached
            above = given.value_above(z - off)
            if not falls:
                above = np.maximum(above, given.value_above(z + off))
            losses, long = inner(u, above), inner(size, length)
            reach = inner(u, length) if spread > 0.0 else 0.0
            sizes, outside, up, down = mass if loss.cancels else 0.0, 0, 0.0, 0.0
            if falls:
                up, down = inner(0.5 + 0.5 * self.y[rows], a), inner(0.5 - 0.5 * self.y[rows], a)
            if not u.all():
                outside = int(np.count_nonzero(a[u == 0.0]))
                used = u > 0.0
                given, a, u = self._given(rows, used), a[used], u[used]
            # The quotient is rounded; the conjugate is convex.
            t = -a / u
            by = by_size * np.abs(t) + (spread + TINY)
            ends = t - by, t + by
            if bounded:
                low, high = given.dual_lower, given.dual_upper
                outside += int(np.count_nonzero((a < low * u) | (a > high * u)))
                ends = clipped(ends[0], -high, -low), clipped(ends[1], -high, -low)
            conjugate = u * np.maximum(given.conjugate(ends[0]), given.conjugate(ends[1]))
            sizes += np.add.reduce(np.abs(conjugate))
            sums = np.add.reduce(conjugate), sizes, long, up, down, np.add.reduce(r)
            columns.append((losses, *sums, outside, mass, *pairs, reach))
        return Charges(*map(float, columns[0] if len(columns) == 1 else np.sum(columns, axis=0)))

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        point = self.point_in_argument(residual, moved)
        return point if self.centres is None else self._paired(point, moved)

    def point_in_argument(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        """:meth:`dual_point` with the conjugates in ``z``, which know of no centre."""
        unbounded = self._unbounded()
        if unbounded:
            a = -self.y * residual
        else:
            low, high = self._ranges()
            a = np.empty(len(self.y))
            for rows in self._slices():
                clipped(-self.y[rows] * residual[rows], low[rows], high[rows], out=a[rows])
        share, spread, slope = 0.0, 0.0, 0.0
        reach: np.ndarray | None = None
        if self.fit_intercept and moved is None:
            value, error = self._total(lambda rows: a[rows] * self.y[rows]).value()
            slope = abs(value) + error
        if self.balances and slope > 0.0:
            balance = self._balance(a, slope)
            if balance is None:
                return DualPoint(np.zeros_like(residual), 0.0, 0.0)
            (share, spread, reach), slope = balance, 0.0
        if moved is not None and not self._inside(a, moved):
            return DualPoint(np.zeros_like(residual), 0.0, np.inf)
        sums, sizes, weights, n = Total(), Total(), Total(), 0
        for rows in self._slices():
            used = self._used(rows)
            given, upper = self._given(rows, used), self.upper[rows][used]
            ends = -given.dual_upper, -given.dual_lower
            n += len(upper)
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                # The quotient is rounded, and may move besides; the conjugate is convex.
                t = -a[rows][used] / upper
                out = (2.0 * UNIT + (share if spread > 0.0 else 0.0)) * np.abs(t)
                if reach is None:
                    out = out + spread + TINY
                else:
                    out = out + spread * reach[rows][used] / upper * (1.0 + 8.0 * UNIT) + TINY
                if moved is not None:
                    out = out + moved[rows][used] / upper * (1.0 + 4.0 * UNIT)
                moves = (t - out, t + out)
                if not unbounded:
                    moves = (clipped(moves[0], *ends), clipped(moves[1], *ends))
                values = [given.conjugate(u) for u in moves]
                above = np.maximum(*values)
                size = np.abs(above)
                sizes.add(upper * (size + np.abs(t) if self.loss.cancels else size))
                sums.add(upper * above)
                weights.add(upper[(np.abs(above) < FAINT) & ((t != 0.0) | (out > TINY))])
            np.multiply(-self.y[rows], a[rows], out=a[rows])
        value, error = sums.value()
        # The least of the two ends is no further from the conjugate itself than the units are.
        rounding = ((self.loss.units + 4.0) * UNIT + share) * sizes.above()
        # The underflow of the conjugate, and of its product with the weight.
        rounding += (LOST * weights.above() + n) * TINY
        conjugate = value + error + rounding * (1.0 + 1e-9)
        conjugate = float("inf") if math.isnan(conjugate) else conjugate
        return DualPoint(a, value, conjugate, share, spread, slope, reach)

    def _balance(
        self, a: np.ndarray, slope: float
    ) -> tuple[float, float, np.ndarray | None] | None:
        """The moves of multipliers to a sum of zero: share, spread and reach of a dual point.

        None where they would leave their ranges.  ``slope``: a bound on the size of the sum.
        """
        if self.loss.by_target:
            # All move in proportion to their distance from the end of their range.
            low, high = self._ranges()
            reach = np.minimum(a - low, high - a)
            value, error = self._total(lambda rows: reach[rows]).value()
            spread = quotient_above(slope, value - error) if value > error else math.inf
            return (0.0, spread, reach) if spread < 0.5 else None
        if self.loss.dual_lower >= 0.0:
            # The heavier class, whichever it is, is scaled down to the other, by 1 - share.
            share = balancing_share(a, self.y, slope)
            return (share, 0.0, None) if share <= 1.0 else None
        value, error = self._total(lambda rows: self.upper[rows]).value()
        spread = quotient_above(slope, value - error)
        if self._inside(a, spread * self.upper):
            return 0.0, spread, None
        reach_of_range = min(-self.loss.dual_lower, self.loss.dual_upper)
        if not reach_of_range > 0.0:
            return None
        # Nearer to zero, which keeps the balance, there is space for these moves.
        share = quotient_above(spread, reach_of_range)
        return (share, spread, None) if share < 1.0 else None

    def _paired(self, point: DualPoint, moved: np.ndarray | None) -> DualPoint:
        """The point with the term of its conjugate that is linear in the centres.

        A constant has no effect on slopes that are balanced: only the centres without it count.
        """
        assert self.centres is not None
        centre, residual = self.centres, point.residual
        reach = self.upper if point.reach is None else point.reach
        used = self.upper > 0.0
        if not used.all():
            # Rows without weight have no multipliers, and their centres round nothing.
            centre, residual, reach = centre[used], residual[used], reach[used]
            moved = None if moved is None else moved[used]
        largest = float(np.abs(centre).max(initial=0.0))
        if self.balances and len(centre):
            centre = centre - 0.5 * (centre.max() + centre.min())
        with np.errstate(all="ignore"):
            value, error = total(residual * centre)
            off = self.loss.centre_units * UNIT * largest
            size = np.abs(centre) * (1.0 + 4.0 * UNIT) + off
            moves = (point.share + 4.0 * UNIT) * np.abs(residual)
            moves = moves + point.spread * reach + (0.0 if moved is None else moved) + TINY
            error = (error + total_above(moves * size)) * (1.0 + 1e-9)
            error += (UNIT * largest + off) * total_above(np.abs(residual))
            # Products that underflow, of the residuals and of their moves.
            lost = 4.0 * float(np.count_nonzero(centre)) * TINY
        above = point.conjugate_above + value + error + lost
        above = math.inf if math.isnan(above) else above + 4.0 * UNIT * abs(above)
        return replace(point, conjugate=point.conjugate + value, conjugate_above=above)

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

    def polished(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        if self.balances:
            scores = self.doubled_scores(theta)
            if scores is not None and np.all(np.isfinite(scores)):
                yield self._levelled(theta, scores)[0]

    def _levelled(self, theta: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A point and its scores with the best intercept."""
        # The scores keep their digits if the intercept they have is only corrected.
        by = self.best_intercept(scores)
        b = self.intercept_of(theta)
        return self.join(self.weights_of(theta), b + by), scores + by

    def doubled_scores(self, theta: np.ndarray) -> np.ndarray | None:
        """``linear(theta)``, rounded once."""
        w, b = self.weights_of(theta), self.intercept_of(theta)
        return enclosed_scores(self.design, w, b, Level.DOUBLED).middle

    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        low, high = self._ranges()
        a = -self.y * residual
        inside = (a > low) & (a < high)
        # Not where a row is on the verge of leaving its range.
        near = np.minimum(a - low, high - a) < 1e-9 * self.upper if self.loss.edged else False
        return np.where(inside & ~near, self.curvature(scores), 0.0)

    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(self.upper > 0.0)
        return used, self.loss.progress(scores[used], self.targets[used])

    def null_scores(self) -> np.ndarray:
        scores = np.zeros(len(self.y))
        return scores + self.best_intercept(scores) if self.fit_intercept else scores

    def best_intercept(self, scores: np.ndarray) -> float:
        """The intercept that minimises the objective for weights whose scores are given.

        ``scores`` are without intercept.  The slope in ``b`` is monotone; its root is bracketed,
        and found by interpolation or, where it has steps, exactly by bisection.
        """
        tau = self.intercept_penalty
        if tau == 0.0:
            level = self.loss.level(scores, self.targets, self.upper)
            if level is not None:
                return level
        # The rows whose slopes still differ between the ends, and the sum of the other slopes.
        y, given, weights, settled = self.y, self._given(), self.upper * self.y, 0.0
        moved = scores if self.centres is None else scores - self.centres

        def slopes(b: float) -> tuple[np.ndarray, float]:
            of_rows = given.derivative(y * (moved + b))
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
                if len(y) > _FEW and not self.loss.by_target:
                    # The loss is convex: a slope that is the same at both ends is so between them.
                    same, differ = at_near == at_far, np.flatnonzero(at_near != at_far)
                    settled += inner(weights[same], at_near[same])
                    y, moved, weights = y[differ], moved[differ], weights[differ]
                    at_near, at_far = at_near[differ], at_far[differ]
                at_middle, slope = slopes(middle)
                if slope == 0.0:
                    # Inside of all optima, where rounding makes no loss.
                    return middle
                if (slope > 0.0) == (s0 > 0.0):
                    near, at_near = middle, at_middle
                else:
                    far, at_far = middle, at_middle

        def value(b: float) -> float:
            return self.loss_value(scores + b) + 0.5 * tau * b * b

        return min(near, far, key=value)
