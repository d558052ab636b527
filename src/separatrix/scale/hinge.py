r"""The hinge over blocks of rows, by way of the few rows that are near its kink.

At a point, a pass over the blocks gathers the rows near the kink and adds up the others, by class,
side and distance (:mod:`~separatrix.objectives.hinge_partition`).  What results is an objective on
as many rows as memory holds with ease, each mean of many rows among them as one, and nowhere above
the objective on all rows.  So its own certified lower bound is one on all rows, whichever rows
change sides later; and where none of the others does, its minimiser is that of all rows.
Multipliers of the rows that are not near are those of their mean, and need not be kept.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.certificate import Certificate
from separatrix.data.design import as_design
from separatrix.losses import Loss
from separatrix.objectives.base import Bound, charged_bound
from separatrix.objectives.enclosure import gamma, length_above, score_rounding
from separatrix.objectives.hinge_partition import PARTITIONED, partitioned_sums
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import Penalty
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.engines import Engine
from separatrix.scale.objectives import BlockedObjective, MarginRows
from separatrix.scale.sums import Sum

__all__ = ["BlockedHinge", "ScreenedHinge"]

# The share of the memory that rows near the kink may take, with copies of a part of them.
_SHARE = 0.4
# All rows count as near where there are no more stored entries than this.
_FEW = 500_000
# Bands of distance beyond the near rows, each so many times as wide as what is within it, where
# means are short, and where they are not.
_BANDS, _WIDER, _SHORT = 4, 4.0, 10_000
_SPARE = 1.0 + 1e-9
_SEED = 20


@dataclass(frozen=True, eq=False)
class ScreenedHinge:
    """What a pass has made of all rows at a point.

    Attributes
    ----------
    theta : ndarray
        The point.
    objective : MarginObjective
        On the means of the rows that are not near, and on those that are.
    off : float
        By how much the products of multipliers with the means may differ, in norm, from those of
        the same multipliers with the rows themselves.
    exact : bool
        Whether the near rows are all here, and not some of them that stand for all.
    whole : bool
        Whether these are simply all rows.
    near : int
        How many near rows are here.
    coarse : ScreenedHinge or None
        Where these are not all of them, the means of all rows, and nothing else.
    """

    theta: np.ndarray
    objective: MarginObjective
    off: float
    exact: bool
    whole: bool
    near: int
    coarse: ScreenedHinge | None = None


@dataclass(frozen=True, eq=False)
class _Near:
    """A sample of rows near the kink, each with a number between 0 and 1 that thins them out."""

    matrix: Any
    y: np.ndarray
    upper: np.ndarray
    draws: np.ndarray

    def thinned(self, share: float) -> _Near:
        if share >= 1.0:
            return self
        kept = self.draws < share
        return _Near(self.matrix[kept], self.y[kept], self.upper[kept], self.draws[kept])

    @classmethod
    def joined(cls, parts: Sequence[_Near]) -> _Near:
        matrices = [part.matrix for part in parts]
        if sp.issparse(matrices[0]):
            matrix = sp.csr_matrix(sp.vstack(matrices, format="csr"))
        else:
            matrix = np.concatenate(matrices)
        y, upper, draws = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("y", "upper", "draws")
        )
        return cls(matrix, y, upper, draws)

    def merged(self) -> _Near:
        """Rows of one class that are the same as one, with their weight together.

        No more than that: a mean's multiplier has to be within the range of its rows.
        """
        n, d = self.matrix.shape
        key = as_design(self.matrix).dot(np.random.default_rng(_SEED).random(d) + 0.5)
        order = np.lexsort((key, self.y))
        changed = (np.diff(key[order]) != 0.0) | (np.diff(self.y[order]) != 0.0)
        starts = np.concatenate([[0], np.flatnonzero(changed) + 1]) if n else np.empty(0, int)
        first = np.empty(n, dtype=np.int64)
        first[order] = np.repeat(order[starts], np.diff(np.append(starts, n)))
        # Rows that differ may have one key.
        differ = self.matrix != self.matrix[first]
        if sp.issparse(differ):
            other = np.diff(sp.csr_matrix(differ).indptr) > 0
        else:
            other = differ.any(axis=1)
        first[other] = np.flatnonzero(other)
        kept, place, counts = np.unique(first, return_inverse=True, return_counts=True)
        upper = np.bincount(place, weights=self.upper, minlength=len(kept))
        upper *= np.where(counts > 1, 1.0 - gamma(n), 1.0)
        return _Near(self.matrix[kept], self.y[kept], upper, self.draws[kept])

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class _Found:
    """What a block has at a point."""

    sums: dict[str, np.ndarray]
    near: _Near


def _find(rows: Rows, shared: tuple[MarginRows, np.ndarray, np.ndarray, float], own: int) -> _Found:
    of, theta, edges, share = shared
    design = rows.design
    w, b = (theta[:-1], float(theta[-1])) if of.fit_intercept else (theta, 0.0)
    y, upper = of.signs(rows), of.upper(rows)
    wide, shift = score_rounding(design, w, b)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = rows.row_squares(design)
        found = partitioned_sums(design, y, upper, squares, w, b, edges, wide=wide, shift=shift)
    index = np.flatnonzero(found.near)
    draws = np.random.default_rng([_SEED, own]).random(len(index))
    if share < 1.0:
        kept = draws < share
        index, draws = index[kept], draws[kept]
    near = _Near(rows.matrix[index], y[index], upper[index], draws)
    sums = {"sums": found.sums, "weights": found.weights, "totals": found.totals}
    return _Found(sums, near)


class BlockedHinge(BlockedObjective):
    """The hinge of the margin, over blocks, with an L2 penalty.

    Parameters
    ----------
    data, engine, penalty, C, fit_intercept, factors, passes
        See :class:`~separatrix.scale.objectives.BlockedObjective`.
    loss : Loss
    positive : int
        The class whose label is +1; all others are -1.

    Attributes
    ----------
    width : float
        How far from the kink, in the margin, rows are near at the next point that is looked at.
    latest : ScreenedHinge or None
        What the last pass has made of all rows.
    """

    def __init__(
        self,
        data: BlockedData,
        engine: Engine,
        loss: Loss,
        penalty: Penalty,
        *,
        positive: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(data, engine, penalty, **options)
        self.loss, self.positive = loss, positive
        self.width = math.inf
        self.latest: ScreenedHinge | None = None
        # Whether the last near rows were too many.
        self._full = False
        self._best: tuple[float, np.ndarray] | None = None
        # The best lower bound so far: as it is, and before it was charged for rounding.
        self._dual, self._dual_near = 0.0, 0.0
        self._points: dict[bytes, dict[str, Any]] = {}

    def _of(self) -> MarginRows:
        return MarginRows(
            self.loss, self.penalty, self.C, self.fit_intercept, self.positive, self.factors
        )

    def _of_rows(self, rows: Rows) -> MarginObjective:
        return self._of().objective(rows)

    def null_loss(self) -> float:
        return self.total_upper

    # --- passes -------------------------------------------------------------------------------

    @property
    def limit(self) -> int:
        """How many near rows memory holds."""
        stored = self.data.n_stored / max(self.data.n_rows, 1)
        per_row = (24.0 if self._sparse else 20.0) * stored + 160.0
        return max(int(_SHARE * self.data.memory / per_row), 64)

    @property
    def few(self) -> bool:
        """Whether there are so few rows that all may as well be near."""
        return self.data.n_stored <= _FEW and self.fits

    @property
    def fits(self) -> bool:
        """Whether all rows could be near."""
        return self.data.n_rows <= self.limit

    @property
    def _sparse(self) -> bool:
        return self.data.n_stored < 0.5 * self.data.n_rows * self.data.n_features

    def account(self, theta: np.ndarray) -> dict[str, Any]:
        key = np.ascontiguousarray(theta).tobytes()
        if key not in self._points:
            if theta.any():
                self._points[key] = self._account(theta)
                self._keep(theta, self._points[key])
            else:
                # Nobody has to look: the hinge is 1 at every row.
                total = self.total_upper
                above = total * (1.0 + gamma(self.data.n_rows))
                self._points[key] = {"loss": total, "loss_above": above, "upper": total}
        return self._points[key]

    def recall(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        known = {name: float(value) for name, value in account.items()}
        self._dual, self._dual_near = known.pop("dual"), known.pop("dual_near")
        self.width = known.pop("width")
        if known:
            self._points[np.ascontiguousarray(theta).tobytes()] = known

    def _keep(self, theta: np.ndarray, known: dict[str, Any]) -> None:
        also = {"dual": self._dual, "dual_near": self._dual_near, "width": self.width}
        self.passes.keep(theta, {k: np.array(float(v)) for k, v in {**known, **also}.items()})

    def look(self, theta: np.ndarray) -> ScreenedHinge:
        """All rows as few, by one pass; that of the last point is at hand."""
        if self.latest is None or not np.array_equal(self.latest.theta, theta):
            found = self._account(theta)
            self._points[np.ascontiguousarray(theta).tobytes()] = found
            self._keep(theta, found)
        assert self.latest is not None
        return self.latest

    def _account(self, theta: np.ndarray) -> dict[str, Any]:
        bands = _BANDS if self.data.n_features <= _SHORT else 1
        edges = self.width * _WIDER ** np.arange(bands)
        share, limit = min(1.0, self._share_of_near(theta)), self.limit
        self.n_passes += 1
        self.latest = None
        total, parts, kept = Sum(), [], 0
        shared = (self._of(), theta, edges, share)
        numbers = range(len(self.data.blocks))
        with contextlib.closing(self.passes.each(_find, shared, self._check, numbers)) as found:  # type: ignore[type-var]
            for one in found:
                total.add(one.sums)
                parts.append(one.near.thinned(share))
                kept += len(parts[-1])
                if kept > limit:
                    parts = [_Near.joined(parts).merged()]
                    kept = len(parts[0])
                while kept > 0.75 * limit and len(parts) == 1:
                    share *= 0.5
                    parts = [parts[0].thinned(share)]
                    kept = len(parts[0])
        self._full = share < 1.0
        value = total.value()
        sums = dict(zip(PARTITIONED, map(float, value["sums"]), strict=True))
        self.latest = self._condensed(theta, sums, value, parts, share)
        self._offer(theta, self.penalty_value(theta) + sums["loss"])
        return {name: sums[name] for name in ("loss", "loss_above", "upper")}

    def _share_of_near(self, theta: np.ndarray) -> float:
        """Estimate from the sample the share of the rows near the kink that fits in memory."""
        if self.fits or self._full:
            # Where there was no room for all, rows that are the same may have to be merged.
            return 1.0
        sample = self.data.sample
        share = self.near_at(theta)
        if sample is not None and len(sample):
            share += 3.0 * math.sqrt(max(share, 1.0 / len(sample)) / len(sample))
        expected = share * self.data.n_rows
        # All of them, where it is close: there is room for some more, and they can be thinned yet.
        return 1.0 if expected <= 0.95 * self.limit else 0.9 * self.limit / expected

    def near_at(self, theta: np.ndarray) -> float:
        """The share of the rows that are near at a point, as the sample has it."""
        sample = self.data.sample
        if sample is None or len(sample) == 0:
            return 1.0
        part = self._of_rows(sample)
        distance = np.abs(1.0 - part.y * part.linear(theta))
        return float(np.mean((distance <= self.width) & (part.upper > 0.0)))

    def _condensed(
        self,
        theta: np.ndarray,
        sums: dict[str, float],
        value: dict[str, np.ndarray],
        parts: Sequence[_Near],
        share: float,
    ) -> ScreenedHinge:
        means, y, weights, off = self._means(sums, value, slice(1, None))
        near_y = np.concatenate([part.y for part in parts])
        upper = np.concatenate([part.upper for part in parts])
        whole = share >= 1.0 and math.isinf(self.width) and len(near_y) == self.data.n_rows
        if share < 1.0:
            # A sample stands for all rows, with the weight that these have in either class.
            near = value["weights"][:, 0]
            for sign, total in ((-1.0, near[:2].sum()), (1.0, near[2:].sum())):
                mine = near_y == sign
                if mine.any():
                    upper[mine] *= float(total) / float(upper[mine].sum())
        matrix: Any
        if sp.issparse(parts[0].matrix):
            stacked = [sp.csr_matrix(means), *(part.matrix for part in parts)]
            matrix = sp.csr_matrix(sp.vstack(stacked, format="csr", dtype=np.float64))
        else:
            matrix = np.empty((len(means) + len(near_y), self.data.n_features))
            matrix[: len(means)] = means
            start = len(means)
            for part in parts:
                matrix[start : start + len(part)] = part.matrix
                start += len(part)
        objective = self._in_memory(
            matrix, np.concatenate([y, near_y]), np.concatenate([weights, upper])
        )
        if share >= 1.0:
            return ScreenedHinge(theta, objective, off, True, whole, len(near_y))
        # A sample proves nothing for all rows, but the means of all do.
        means, y, weights, off = self._means(sums, value, slice(None))
        coarse = ScreenedHinge(theta, self._in_memory(means, y, weights), off, True, False, 0)
        return ScreenedHinge(theta, objective, math.inf, False, False, len(near_y), coarse)

    def _in_memory(self, matrix: Any, y: np.ndarray, upper: np.ndarray) -> MarginObjective:
        objective = MarginObjective(
            as_design(matrix), y, self.loss, self.penalty, fit_intercept=self.fit_intercept
        )
        objective.upper = upper
        return objective

    def _means(
        self, sums: dict[str, float], value: dict[str, np.ndarray], bands: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Means of groups, their classes and weights, and how far off their products can be."""
        n, d = float(self.data.n_rows), self.data.n_features
        longest = max((block.n_rows for block in self.data.blocks), default=0)
        products = gamma(longest + 8.0)
        weights, totals = value["weights"][:, bands], value["totals"][:, bands]
        y = np.broadcast_to(np.array([-1.0, -1.0, 1.0, 1.0])[:, None], weights.shape)
        # No more than they truly are, so that a mean's multiplier is within its rows' range.
        weights = weights * (1.0 - products - 8.0 * UNIT)
        used = weights > 0.0
        totals, y, weights = totals[used], y[used], weights[used]
        # | sum U x - its float | <= products * sum U |x|, and as much again twice for weights that
        # are made smaller; then the mean is rounded.
        lengths = sums["lengths"] + (sums["near_lengths"] if bands.start is None else 0.0)
        lengths = lengths * (1.0 + products) + math.sqrt(n) * 2.0**-510 * sums["upper"]
        off = (4.0 * products + 32.0 * UNIT) * lengths
        off = (off + (n + 2.0) * math.sqrt(d + 1.0) * TINY) * _SPARE if len(weights) else 0.0
        return totals / weights[:, None], y, weights, off

    def settle(self, condensed: ScreenedHinge, theta: np.ndarray, certificate: Certificate) -> None:
        """Take what is proved of the few rows for all of them.

        A dual point of the former with their best bound is one of the latter; but its products
        with the rows are ``off``, and their own length is at most that of the weights and what
        strong convexity lets them differ by.
        """
        if condensed.exact:
            dual, off = certificate.dual, condensed.off
            if off > 0.0:
                apart = math.sqrt(2.0 * max(certificate.primal - dual, 0.0))
                length = (length_above(self.weights_of(theta)) + apart) * _SPARE
                dual -= (off * length + 0.5 * off * off) * _SPARE
                dual *= 1.0 - 8.0 * UNIT if dual > 0.0 else 1.0
            if dual > self._dual:
                self._dual, self._dual_near = dual, certificate.dual
        if condensed.whole and math.isfinite(certificate.primal):
            # These are all rows: what is known of the point there is known.
            w = self.weights_of(theta)
            known = {"loss": certificate.primal - 0.5 * inner(w, w), "above": certificate.primal}
            self._points[np.ascontiguousarray(theta).tobytes()] = known
            self._offer(theta, certificate.primal)

    def keep(self, theta: np.ndarray) -> None:
        """Write down where to go on, and what is proved."""
        self._keep(theta, self._points.get(np.ascontiguousarray(theta).tobytes(), {}))

    def _offer(self, theta: np.ndarray, primal: float) -> None:
        if self._best is None or primal < self._best[0]:
            self._best = primal, theta

    def best(self, theta: np.ndarray) -> np.ndarray:
        """The best point whose objective is known; the given one where there is none."""
        return theta if self._best is None else self._best[1]

    def moved(self, before: np.ndarray, after: np.ndarray) -> float:
        """How far scores differ between two points, in the root of the mean square."""
        sample = self.data.sample
        if sample is not None and len(sample):
            part = self._of_rows(sample)
        elif self.latest is not None:
            part = self.latest.objective
        else:
            return math.inf
        by, upper = part.linear(after - before), part.upper
        total = float(upper.sum())
        return math.sqrt(inner(upper, np.square(by)) / total) if total > 0.0 else math.inf

    # --- the certificate ------------------------------------------------------------------------

    def bound(
        self, theta: np.ndarray, residual: Any = None, scores: Any = None, adjoint: Any = None
    ) -> Bound:
        primal = self.penalty_value(theta) + float(self.account(theta)["loss"])
        dual = self._dual
        if not dual > 0.0:
            return Bound(primal, 0.0, primal)
        return Bound(primal, dual, max(primal - dual, 0.0))

    def _charged(
        self, theta: np.ndarray, here: dict[str, Any], proof: dict[str, np.ndarray] | None
    ) -> Bound:
        middle = self.penalty_value(theta) + float(here["loss"])
        primal = self._primal_above(theta, here)
        return charged_bound((middle, self._dual_near), primal, self._dual, None)

    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        if "above" in here:
            return float(here["above"])
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rounding, _ = self.rounding(here)
            units = (rounding + (self.loss.units + 8.0) * UNIT) * _SPARE
            underflow = float(self.data.n_rows) * (here["upper"] * 2.0**-1020 + 4.0 * TINY)
            loss = float(here["loss_above"]) * (1.0 + units) + underflow
            return self.penalty.value_above(self.weights_of(theta)) + loss

    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        bound = self.bound(theta)
        return bound.gap, bound.dual
