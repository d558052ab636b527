r"""Losses with kinks over blocks of rows, by way of the few rows that are near a kink.

At a point, a pass over the blocks gathers the rows near the kinks of a loss that is straight
between them, and adds up the others, by sign, side and distance
(:mod:`~separatrix.objectives.partition`).  What results is an objective on as many rows as memory
holds with ease, each mean of many rows among them as one, and nowhere above the objective on all
rows.  So its own certified lower bound is one on all rows, whichever rows change sides later; and
where none of the others does, its minimiser is that of all rows.  Multipliers of the rows that are
not near are those of their mean, and need not be kept.
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
from separatrix._compiled.tuning import Tuned
from separatrix.certificate import Certificate
from separatrix.data.design import as_design
from separatrix.objectives.base import Bound
from separatrix.objectives.composing import objective_of
from separatrix.objectives.enclosure import gamma, length_above, score_rounding
from separatrix.objectives.partition import PARTITIONED, partitioned_sums
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.scale.blocks import Rows
from separatrix.scale.objectives import BlockedLoss, PointwiseRows
from separatrix.scale.sums import Sum


@dataclass(frozen=True)
class Tuning:
    """The size of the data from which rows near the kink are distinguished from the others.

    Parameters
    ----------
    few : int
        All rows count as near where there are no more stored entries than this.
    """

    few: int = 500_000


tuned = Tuned(Tuning())

# The share of the memory that rows near the kink may take, with copies of a part of these rows.
_SHARE = 0.4
# Bands of distance beyond the near rows, each so many times as wide as what is within it, where
# means are short, and where they are not.
_BANDS, _WIDER, _SHORT = 4, 4.0, 10_000
_SPARE = 1.0 + 1e-9
_SEED = 20


@dataclass(frozen=True, eq=False)
class ScreenedRows:
    """The few rows to which a pass has reduced all rows at a point.

    Attributes
    ----------
    theta : ndarray
        The point.
    objective : PointwiseObjective
        The objective on the means of the rows that are not near, and on the rows that are near.
    off : tuple of float
        A bound on the difference, in norm, between the products of multipliers with the means and
        those of the same multipliers with the rows themselves; and such a bound for the products
        with the centres.
    exact : bool
        Whether the near rows are all here, rather than a sample that stands for all of them.
    whole : bool
        Whether the objective is simply on all rows.
    near : int
        The number of near rows in the objective.
    coarse : ScreenedRows or None
        The means of all rows and nothing else, where the near rows are a sample; None otherwise.
    """

    theta: np.ndarray
    objective: PointwiseObjective
    off: tuple[float, float]
    exact: bool
    whole: bool
    near: int
    coarse: ScreenedRows | None = None


@dataclass(frozen=True, eq=False)
class _Near:
    """A sample of rows near a kink, each with a number between 0 and 1 that thins them out."""

    matrix: Any
    targets: np.ndarray
    upper: np.ndarray
    draws: np.ndarray

    def thinned(self, share: float) -> _Near:
        if share >= 1.0:
            return self
        kept = self.draws < share
        return _Near(self.matrix[kept], self.targets[kept], self.upper[kept], self.draws[kept])

    @classmethod
    def joined(cls, parts: Sequence[_Near]) -> _Near:
        matrices = [part.matrix for part in parts]
        if sp.issparse(matrices[0]):
            matrix = sp.csr_matrix(sp.vstack(matrices, format="csr"))
        else:
            matrix = np.concatenate(matrices)
        targets, upper, draws = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("targets", "upper", "draws")
        )
        return cls(matrix, targets, upper, draws)

    def merged(self) -> _Near:
        """Rows of one target that are the same as one, with their weight together.

        No more than that: a mean's multiplier has to be within the range of its rows.
        """
        n, d = self.matrix.shape
        key = as_design(self.matrix).dot(np.random.default_rng(_SEED).random(d) + 0.5)
        order = np.lexsort((key, self.targets))
        changed = (np.diff(key[order]) != 0.0) | (np.diff(self.targets[order]) != 0.0)
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
        return _Near(self.matrix[kept], self.targets[kept], upper, self.draws[kept])

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True, eq=False)
class _Found:
    """The sums of a block at a point, and its near rows."""

    sums: dict[str, np.ndarray]
    near: _Near


def _find(
    rows: Rows, shared: tuple[PointwiseRows, np.ndarray, np.ndarray, float], own: int
) -> _Found:
    of, theta, edges, share = shared
    design = rows.design
    w, b = of.split(theta)
    targets, upper = of.targets(rows), of.upper(rows)
    wide, shift = score_rounding(design, w, b)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = rows.row_squares(design)
        found = partitioned_sums(
            design, of.loss, targets, upper, squares, w, b, edges, wide=wide, shift=shift
        )
    index = np.flatnonzero(found.near)
    draws = np.random.default_rng([_SEED, own]).random(len(index))
    if share < 1.0:
        kept = draws < share
        index, draws = index[kept], draws[kept]
    near = _Near(rows.matrix[index], targets[index], upper[index], draws)
    sums = {
        "sums": found.sums,
        "weights": found.weights,
        "totals": found.totals,
        "centres": found.centres,
    }
    return _Found(sums, near)


class BlockedKinked(BlockedLoss):
    """A loss that is straight between kinks, over blocks, with a strongly convex penalty.

    Parameters
    ----------
    data, engine, loss, penalty, positive, **options
        See :class:`~separatrix.scale.objectives.BlockedLoss`; the loss has ``pieces``.

    Attributes
    ----------
    width : float
        The distance from a kink, in the loss's argument, up to which rows are near at the next
        point.
    latest : ScreenedRows or None
        The few rows to which the last pass has reduced all rows.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.width = math.inf
        self.latest: ScreenedRows | None = None
        # Whether the last near rows were too many.
        self._full = False
        self._best: tuple[float, np.ndarray] | None = None
        # The best lower bound so far: as it is, and before it was charged for rounding.
        self._dual, self._dual_near = 0.0, 0.0
        self._points: dict[bytes, dict[str, Any]] = {}

    # --- passes -------------------------------------------------------------------------------

    @property
    def limit(self) -> int:
        """The number of near rows that memory holds."""
        stored = self.data.n_stored / max(self.data.n_rows, 1)
        per_row = (24.0 if self._sparse else 20.0) * stored + 160.0
        return max(int(_SHARE * self.data.memory / per_row), 64)

    @property
    def few(self) -> bool:
        """Whether there are so few rows that all may as well be near."""
        return self.data.n_stored <= tuned.now.few and self.fits

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
            if theta.any() or self.data.classes is None:
                self._points[key] = self._account(theta)
                self._keep(theta, self._points[key])
            else:
                # Nobody has to look: a loss of labels is the same at every row.
                total, loss = self.total_upper, self.null_loss()
                above = loss * (1.0 + gamma(self.data.n_rows))
                self._points[key] = {"loss": loss, "loss_above": above, "upper": total}
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

    def look(self, theta: np.ndarray) -> ScreenedRows:
        """The few rows for a point, by one pass; those of the last point are at hand."""
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
        shared = (self._shared(), theta, edges, share)
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
        z = part._argument(part.linear(theta))
        distance = np.min([np.abs(kink - z) for kink in self.loss.kinks], axis=0)
        return float(np.mean((distance <= self.width) & (part.upper > 0.0)))

    def _condensed(
        self,
        theta: np.ndarray,
        sums: dict[str, float],
        value: dict[str, np.ndarray],
        parts: Sequence[_Near],
        share: float,
    ) -> ScreenedRows:
        means, targets, weights, off = self._means(sums, value, slice(1, None))
        near_targets = np.concatenate([part.targets for part in parts])
        upper = np.concatenate([part.upper for part in parts])
        whole = share >= 1.0 and math.isinf(self.width) and len(upper) == self.data.n_rows
        if share < 1.0:
            # A sample stands for all rows, with the weight that these have of either sign.
            near, lines = value["weights"][:, 0], len(self.loss.pieces)
            signs = self.loss.sign(near_targets)
            for sign, total in ((-1.0, near[:lines].sum()), (1.0, near[lines:].sum())):
                mine = signs == sign
                if mine.any():
                    upper[mine] *= float(total) / float(upper[mine].sum())
        matrix: Any
        if sp.issparse(parts[0].matrix):
            stacked = [sp.csr_matrix(means), *(part.matrix for part in parts)]
            matrix = sp.csr_matrix(sp.vstack(stacked, format="csr", dtype=np.float64))
        else:
            matrix = np.empty((len(means) + len(upper), self.data.n_features))
            matrix[: len(means)] = means
            start = len(means)
            for part in parts:
                matrix[start : start + len(part)] = part.matrix
                start += len(part)
        near_rows = len(upper)
        objective = self._in_memory(
            matrix, np.concatenate([targets, near_targets]), np.concatenate([weights, upper])
        )
        if share >= 1.0:
            return ScreenedRows(theta, objective, off, True, whole, near_rows)
        # A sample proves nothing for all rows, but the means of all do.
        means, targets, weights, off = self._means(sums, value, slice(None))
        coarse = ScreenedRows(theta, self._in_memory(means, targets, weights), off, True, False, 0)
        unknown = math.inf, math.inf
        return ScreenedRows(theta, objective, unknown, False, False, near_rows, coarse)

    def _in_memory(self, matrix: Any, targets: np.ndarray, upper: np.ndarray) -> PointwiseObjective:
        objective = objective_of(
            as_design(matrix), targets, self.loss, self.penalty, fit_intercept=self.fit_intercept
        )
        objective.upper = upper
        return objective

    def _means(
        self, sums: dict[str, float], value: dict[str, np.ndarray], bands: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[float, float]]:
        """Means of groups, their targets and weights, and bounds on the errors of products."""
        n, d = float(self.data.n_rows), self.data.n_features
        longest = max((block.n_rows for block in self.data.blocks), default=0)
        products = gamma(longest + 8.0)
        weights, totals = value["weights"][:, bands], value["totals"][:, bands]
        centres, numbers = value["centres"][:, bands], self.data.classes is None
        signs = np.repeat([-1.0, 1.0], len(self.loss.pieces))
        signs = np.broadcast_to(signs[:, None], weights.shape)
        # No more than they truly are, so that a mean's multiplier is within its rows' range.
        weights = weights * (1.0 - products - 8.0 * UNIT)
        used = weights > 0.0
        totals, signs, weights = totals[used], signs[used], weights[used]
        targets = centres[used] / weights if numbers else signs
        # | sum U x - its float | <= products * sum U |x|, and as much again twice for weights that
        # are made smaller; then the mean is rounded.
        lengths = sums["lengths"] + (sums["near_lengths"] if bands.start is None else 0.0)
        lengths = lengths * (1.0 + products) + math.sqrt(n) * 2.0**-510 * sums["upper"]
        off = (4.0 * products + 32.0 * UNIT) * lengths
        off = (off + (n + 2.0) * math.sqrt(d + 1.0) * TINY) * _SPARE if len(weights) else 0.0
        # The same of the centres, which the conjugate is linear in.
        sizes = sums["sizes"] + (sums["near_sizes"] if bands.start is None else 0.0)
        sizes = sizes * (1.0 + products) + n * TINY
        off_centre = (4.0 * products + 32.0 * UNIT) * sizes * _SPARE if numbers else 0.0
        return totals / weights[:, None], targets, weights, (off, off_centre)

    def settle(self, condensed: ScreenedRows, theta: np.ndarray, certificate: Certificate) -> None:
        """Take what is proved of the few rows for all of them.

        A dual point of the former with their best bound is one of the latter; but its products
        with the rows are ``off``, and their own length is at most that of the weights and what
        strong convexity lets them differ by.
        """
        if condensed.exact:
            dual, (off, off_centre) = certificate.dual, condensed.off
            if off > 0.0:
                bend = self.penalty.strong_convexity
                apart = math.sqrt(2.0 * max(certificate.primal - dual, 0.0) / bend)
                length = (length_above(self.weights_of(theta)) + apart) * _SPARE
                dual -= (off * length + 0.5 * off * off / bend + off_centre) * _SPARE
                dual *= 1.0 - 8.0 * UNIT if dual > 0.0 else 1.0
            if dual > self._dual:
                self._dual, self._dual_near = dual, certificate.dual
        if condensed.whole and math.isfinite(certificate.primal):
            # These are all rows: what is known of the point there is known.
            loss = certificate.primal - self.penalty_value(theta)
            known = {"loss": loss, "above": certificate.primal}
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
        """The root of the mean square difference of the scores between two points."""
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

    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        above: float | None = here.get("above")
        return super()._primal_above(theta, here) if above is None else above

    def _dual_below(self, proof: dict[str, np.ndarray] | None) -> tuple[float, float]:
        return self._dual, self._dual_near

    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        bound = self.bound(theta)
        return bound.gap, bound.dual
