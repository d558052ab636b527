r"""Objectives as sums over blocks of rows.

The face is that of every objective, so that solvers and the driver take them; but nothing here is
as long as the data.  Where a method needs scores, it is given the point that they are of
(:class:`At`), and the sums at that point are those of one pass over the blocks, or of the last
passes, which are kept.  A pass gives everything that is needed of a point: loss, gradient and
both sides of the certificate, with bounds on their rounding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.data.design import as_design
from separatrix.losses import Loss
from separatrix.objectives.base import (
    Bound,
    LinearProblem,
    Objective,
    charged_bound,
    weighed,
)
from separatrix.objectives.composing import objective_of
from separatrix.objectives.enclosure import Enclosure, Level, gamma, length_above, score_rounding
from separatrix.objectives.formula import Formula
from separatrix.objectives.orthogonality import factor_of_gram
from separatrix.objectives.passes import SUMMED, Evaluation
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.row_sums import SUMS, margin_sums
from separatrix.scale.blocks import BlockedData, Rows, Shape
from separatrix.scale.engines import Engine
from separatrix.scale.folds import Fold
from separatrix.scale.passes import Passes
from separatrix.scale.shared_passes import parted, several

# Points whose sums are kept: the one at hand, the one before and the start.
_KEPT = 4
# The largest move of slopes, as a share of the limit that the loss sets.
_FAR = 0.5
_SPARE = 1.0 + 1e-9
_LABELS = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class At:
    """Stands for the scores of all rows: those at a point, or of a direction."""

    theta: np.ndarray


class BlockedObjective(LinearProblem):
    """A smooth loss over blocks, with a penalty on the weights.

    Parameters
    ----------
    data : BlockedData
    engine : Engine
    penalty : Penalty
    C : float
    fit_intercept : bool
    factors : ndarray of shape (n_classes,), optional
        Weights of the classes.
    passes : Passes, optional
        Counts and reports the passes, and keeps their sums.
    fold : Fold, optional
        Rows to leave out.
    totals : ndarray of shape (n_classes,), optional
        The sums of the weights of the other rows, by class.
    """

    loss: Any
    in_passes = True
    intercept_penalty = 0.0

    def __init__(
        self,
        data: BlockedData,
        engine: Engine,
        penalty: Penalty,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        factors: np.ndarray | None = None,
        passes: Passes | None = None,
        fold: Fold | None = None,
        totals: np.ndarray | None = None,
    ) -> None:
        self.data, self.engine, self.penalty = data, engine, penalty
        self.C, self.fit_intercept = float(C), fit_intercept
        self.factors = np.ones(max(len(data.class_totals), 1)) if factors is None else factors
        self.passes = Passes(data, engine) if passes is None else passes
        self.fold = fold
        self.class_totals = data.class_totals if totals is None else totals
        # Rows may be float32 because that is how they are kept; weights are not rounded for that.
        self.design = Shape(data.shape, data.n_stored, np.empty(0))  # type: ignore[assignment]
        self.n_passes = 0
        # The sums that the next pass is to compute as well.
        self._beside: tuple[Any, Any] | None = None
        self._known: list[tuple[bytes, dict[str, np.ndarray]]] = []

    # --- passes -------------------------------------------------------------------------------

    def _sums(self, task: Any, shared: Any) -> dict[str, np.ndarray]:
        """The sums of a pass over all blocks."""
        self.n_passes += 1
        beside, self._beside = self._beside, None
        if beside is None:
            return self.passes.sums(task, shared, self._check)
        both = self.passes.sums(several, ((task, shared), beside), self._check)
        found, other = parted(both, 2)
        return {**found, **{f"loss_{name}": value for name, value in other.items()}}

    def look_twice(self, theta: np.ndarray, *, diagonal: bool = False) -> None:
        """Compute the sums of :meth:`account` and :meth:`hessian` in one pass.

        With ``diagonal``, the sums of :meth:`hessian_diagonal` instead of those of :meth:`hessian`.
        """
        self._beside = (_hessian_diagonal if diagonal else _hessian, (self._shared(), theta))
        try:
            self.account(theta)
        finally:
            self._beside = None

    def account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """All that is known of a point, from the last passes or from one over the blocks."""
        key = np.ascontiguousarray(theta).tobytes()
        for k, (name, found) in enumerate(self._known):
            if name == key:
                self._known.append(self._known.pop(k))
                return found
        found = self._account(theta)
        self._remember(key, found)
        self.passes.keep(theta, found)
        return found

    def recall(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Take the sums of a point from a pass that another process made."""
        self._remember(np.ascontiguousarray(theta).tobytes(), account)

    def _remember(self, key: bytes, found: dict[str, np.ndarray]) -> None:
        self._known = [*self._known[1 - _KEPT :], (key, found)]

    # --- what a kind of loss supplies -----------------------------------------------------------

    @abstractmethod
    def _account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """The sums of one pass, with ``loss`` and its ``gradient`` in the shape of a point."""

    @abstractmethod
    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        """The gap at a point, as floats give it, and the bound that goes with it."""

    @abstractmethod
    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        """An upper bound of the objective at a point, from what is known of it."""

    def _dual_point(self, proof: dict[str, np.ndarray]) -> tuple[np.ndarray, float, float] | None:
        """Slopes that are moved so that they are balanced; None where they cannot be.

        The result is minus their product with the data, a bound on its error, and an upper bound
        of the conjugate.
        """
        raise NotImplementedError

    @abstractmethod
    def _of_rows(self, rows: Rows) -> Objective:
        """The same objective on rows in memory."""

    @abstractmethod
    def null_loss(self) -> float:
        """The loss of weights and intercepts that are zero."""

    # --- for solvers ----------------------------------------------------------------------------

    @property
    def balances(self) -> bool:
        return self.fit_intercept

    @property
    def smooth(self) -> bool:
        return bool(self.loss.smooth)

    def linear(self, theta: np.ndarray) -> Any:
        return At(theta)

    def evaluate(self, theta: np.ndarray, scores: Any = None) -> Evaluation:
        found = self.account(theta)
        return Evaluation(At(theta), float(found["loss"]), math.nan, found["gradient"])  # type: ignore[arg-type]

    def loss_value(self, scores: At) -> float:
        return float(self.account(scores.theta)["loss"])

    def penalty_value(self, theta: np.ndarray) -> float:
        return self.penalty.value(self.weights_of(theta))

    def penalty_gradient(self, theta: np.ndarray) -> np.ndarray:
        w = self.penalty.gradient(self.weights_of(theta))
        return self.join(w, np.zeros(self.output_shape))

    def along_line(self, scores: At, along: At, t: float) -> tuple[float, float]:
        """The loss at ``scores + t along``, and its slope in ``t``."""
        found = self.account(self.canonical(scores.theta + t * along.theta))
        return float(found["loss"]), inner(found["gradient"].ravel(), along.theta.ravel())

    def curvature(self, scores: At) -> At:
        return scores

    @property
    def critical_C(self) -> float:
        """The largest ``C`` at which weights of zero are optimal; 0 without a kink there."""
        if not self.penalty.kinked:
            return 0.0
        slopes = self.weights_of(self.account(self.null_point())["gradient"])
        return self.penalty.longest(-slopes, self.C)

    def some(self, rows: int, rng: np.random.Generator) -> Any:
        """The objective on the sample of the rows in memory, weighted like all rows together.

        The sample was drawn when the data were scanned, whatever ``rows`` is.  The result is the
        objective on all rows where there is no sample, or where more than four times its rows are
        requested and a Hessian can be held.
        """
        sample = self.data.sample
        few = sample is None or len(sample) == 0 or (rows > 4 * len(sample) and self._narrow)
        if few:
            return self
        assert sample is not None
        part = self._of_rows(sample)
        if not part.upper.sum() > 0.0:
            return self
        part.upper = part.upper * (self.total_upper / part.upper.sum())
        return part

    @property
    def _narrow(self) -> bool:
        """Whether a Hessian can be held and factorised."""
        return int(np.prod(self.shape)) <= 2500

    @property
    def total_upper(self) -> float:
        """The sum of ``C`` times the weights of all rows."""
        return self.C * float(np.dot(self.factors, self.class_totals))

    def hessian(self, curvature: At) -> np.ndarray:
        """The Hessian of all rows, by one pass where :meth:`look_twice` has not made it."""
        known = self._looked_at(curvature.theta, "loss_hessian")
        if known is not None:
            out = known.copy()
        else:
            out = self._sums_at(_hessian, curvature.theta)["hessian"]
        curved = np.broadcast_to(self._penalty_curvature(), self.shape)
        out[np.diag_indices_from(out)] += curved.ravel()
        return out

    def step_hessian(self, curvature: At) -> np.ndarray:
        """The Hessian: passes read rows as exactly as they are stored."""
        return self.hessian(curvature)

    def _looked_at(self, theta: np.ndarray, name: str) -> np.ndarray | None:
        """A sum that the pass at a point found beside the account; None where it did not."""
        key = np.ascontiguousarray(theta).tobytes()
        known = [found[name] for its, found in self._known if its == key and name in found]
        return known[0] if known else None

    def hessian_diagonal(self, curvature: At) -> np.ndarray:
        """The diagonal of the Hessian of all rows, by one pass at most, as :meth:`hessian`."""
        found = self._looked_at(curvature.theta, "loss_diagonal")
        if found is None:
            found = self._sums_at(_hessian_diagonal, curvature.theta)["diagonal"]
        return found.reshape(self.shape) + self._penalty_curvature()

    def _penalty_curvature(self) -> np.ndarray:
        return self.penalty.curvature(self.shape, self.design.n_features)

    def hessian_product(self, curvature: At, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction, by one pass."""
        found = self._sums_at(_hessian_product, curvature.theta, direction)
        return self._penalty_curvature() * direction + found["product"].reshape(self.shape)

    def _shared(self) -> Any:
        """The object that makes the objective on the rows of a block."""
        raise NotImplementedError

    def _sums_at(self, task: Any, theta: np.ndarray, *more: Any) -> dict[str, np.ndarray]:
        """The sums of a pass about the curvature at a point."""
        return self._sums(task, (self._shared(), theta, *more))

    # --- the certificate ------------------------------------------------------------------------

    def bound(
        self,
        theta: np.ndarray,
        residual: Any = None,
        scores: Any = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        found: Any = self.account(theta)
        primal = self.penalty_value(theta) + float(found["loss"])
        gap, dual = self._gap(theta, found)
        if not (gap < np.inf and dual > 0.0):
            return Bound(primal, 0.0, primal, found, found)
        return Bound(primal, dual, gap, found, found)

    def _gap_of(
        self, theta: np.ndarray, loss: float, v: np.ndarray, conjugate: float, cost: float
    ) -> tuple[float, float]:
        """The gap at a point, and the bound, of slopes that are balanced.

        ``v`` is minus their product with the data, ``conjugate`` that of the losses, and ``cost``
        the losses' share of the gap.
        """
        primal = self.penalty_value(theta) + loss
        scale = self.penalty.dual_scale(v)
        if scale < 1.0:
            v, conjugate = scale * v, scale * conjugate
            dual = -self.penalty.conjugate(v) - conjugate
            return primal - dual, dual
        gap = self.penalty.fenchel_young(self.weights_of(theta), v) + cost
        dual = primal - gap
        if not self.penalty.kinked and not dual > 0.5 * primal:
            # Far from the optimum the slopes are too long: some multiple of them is better.
            square = self.penalty.conjugate(v)
            if -conjugate < 2.0 * square:
                dual = conjugate * conjugate / (4.0 * square) if conjugate < 0.0 else 0.0
                gap = primal - dual
        return gap, dual

    def _dual_of(self, v: np.ndarray, length: float, conjugate: float) -> tuple[float, float]:
        """A lower bound of the dual objective, and its middle.

        The true ``v`` is within ``length`` of this one, and the losses' conjugate is at most
        ``conjugate``.
        """
        if not math.isfinite(length + conjugate):
            return 0.0, 0.0
        penalty, above = self.penalty.conjugate_above(Enclosure(v, length, length), conjugate)
        dual = -(penalty + above)
        near = -(penalty if self.penalty.kinked else self.penalty.conjugate(v)) - above
        if not self.penalty.kinked and above < 0.0 and -above < 2.0 * penalty:
            # The best multiple of these slopes; that of a conjugate is at most the multiple of it.
            scaled = above * above / (4.0 * penalty) * (1.0 - 16.0 * UNIT)
            if scaled > dual:
                return scaled, scaled
        return dual, near

    def bound_of(self, theta: np.ndarray, evaluation: Evaluation) -> Bound:
        return self.bound(theta)

    def levels(self) -> Sequence[Level]:
        # Blocks are not looked at again in twice float64's digits.
        return (Level.NORMS,)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        # A point that has been looked at brings its sums along, however long ago that was.
        here: Any = None if known is None else known.scores
        if not isinstance(here, dict):
            here = self.account(theta)
        slopes: Any = proof.residual
        with np.errstate(all="ignore"):
            primal = self._primal_above(theta, here)
            middle = self.penalty_value(theta) + float(here["loss"])
            dual, near = self._dual_below(slopes)
        if math.isnan(dual) or math.isnan(near):
            dual, near = 0.0, 0.0
        return charged_bound((middle, near), primal, dual, slopes)

    def _dual_below(self, proof: dict[str, np.ndarray] | None) -> tuple[float, float]:
        """A lower bound of the dual objective at the slopes of a point, and its middle."""
        found = None if proof is None else self._dual_point(proof)
        return (0.0, 0.0) if found is None else self._dual_of(*found)

    def points(self) -> None:
        return None

    def formula(self) -> Formula:
        even = self.factors.min() == self.factors.max() == 1.0 and not self.passes.weighted
        return Formula(
            self.penalty.formula,
            self.loss,
            self.C,
            not even,
            self.fit_intercept,
            constraint=self.penalty.constraint,
        )

    def rounding(self, account: dict[str, np.ndarray]) -> tuple[float, float]:
        """Bounds on the relative rounding of sums of all rows, and of products with the data."""
        longest = max((block.n_rows for block in self.data.blocks), default=0)
        cells = -(-longest // SUMMED)
        return gamma(min(SUMMED, longest) + cells + 8.0), gamma(longest + 8.0)


# --- a loss of one score a row --------------------------------------------------------------------


def uppers(of: Any, rows: Rows) -> np.ndarray:
    """``C`` times the weights of the rows of a block; zero for those that a fold leaves out."""
    out: np.ndarray
    if rows.target.dtype.kind == "f":
        out = np.full(len(rows), of.C)
    else:
        out = (of.C * of.factors)[rows.target]
    if rows.weights is not None:
        out = weighed(out, rows.weights)
    return out if of.fold is None else out * of.fold.kept(rows)


def _has_kernel(loss: Loss) -> bool:
    """Whether compiled scalars of a loss make its sums at one reading of the rows."""
    return hasattr(loss, "shift_at")


def summable(loss: Loss) -> bool:
    """Whether a pass over the rows gives a bound: whether a loss states how its slopes can move."""
    return bool(loss.smooth) and (_has_kernel(loss) or type(loss).shift is not Loss.shift)


@dataclass(frozen=True)
class PointwiseRows:
    """A loss of one score a row on the rows of a block; small enough to be sent anywhere.

    ``positive`` is the class whose label is +1, where targets are classes.
    """

    loss: Loss
    penalty: Penalty
    C: float
    fit_intercept: bool
    positive: int
    factors: np.ndarray
    fold: Fold | None = None

    def upper(self, rows: Rows) -> np.ndarray:
        return uppers(self, rows)

    def targets(self, rows: Rows) -> np.ndarray:
        """Labels, -1.0 or +1.0, or numbers as they are."""
        if rows.target.dtype.kind == "f":
            return rows.target
        return np.where(rows.target == self.positive, 1.0, -1.0)

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """The weights of a point, and its intercept."""
        return (theta[:-1], float(theta[-1])) if self.fit_intercept else (theta, 0.0)

    def objective(self, rows: Rows, kind: Any = objective_of) -> Any:
        """The objective on the rows of a block, of a kind."""
        options = {"fit_intercept": self.fit_intercept}
        out = kind(rows.design, self.targets(rows), self.loss, self.penalty, **options)
        out.upper = self.upper(rows)
        return out


def _account(
    rows: Rows, shared: tuple[PointwiseRows, np.ndarray], own: Any
) -> dict[str, np.ndarray]:
    of, theta = shared
    design = rows.design
    squares = rows.row_squares(design)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if _has_kernel(of.loss):
            w, b = of.split(theta)
            wide, shift = score_rounding(design, w, b)
            found = margin_sums(
                design,
                of.loss,
                of.targets(rows),
                of.upper(rows),
                squares,
                w,
                b,
                wide=wide,
                shift=shift,
                balance=of.fit_intercept,
            )
        else:
            found = of.objective(rows).row_sums(theta, squares, balance=of.fit_intercept)
    return {"sums": found.sums, "adjoint": found.adjoint, "shifted": found.shifted}


def _hessian(rows: Rows, shared: tuple[Any, np.ndarray], own: Any) -> dict[str, np.ndarray]:
    of, theta = shared
    part = of.objective(rows)
    out = part.hessian(part.curvature(part.linear(theta)))
    curved = np.broadcast_to(part._penalty_curvature(), part.shape).ravel()
    out[np.diag_indices_from(out)] -= curved
    return {"hessian": out}


def _hessian_diagonal(
    rows: Rows, shared: tuple[Any, np.ndarray], own: Any
) -> dict[str, np.ndarray]:
    of, theta = shared
    part = of.objective(rows)
    diagonal = part.hessian_diagonal(part.curvature(part.linear(theta)))
    return {"diagonal": diagonal - np.broadcast_to(part._penalty_curvature(), part.shape)}


def _hessian_product(
    rows: Rows, shared: tuple[Any, np.ndarray, np.ndarray], own: Any
) -> dict[str, np.ndarray]:
    of, theta, direction = shared
    part = of.objective(rows)
    along = part.curvature_apply(part.curvature(part.linear(theta)), part.linear(direction))
    return {"product": part.adjoint(along)}


# --- without a penalty ----------------------------------------------------------------------------
#
# As in memory (:mod:`~separatrix.objectives.orthogonality`): slopes that a Newton step has made
# orthogonal to all columns, up to rounding, are so exactly after a correction that is bounded row
# by row.  One pass finds what is left and how good the factor is, a second one the conjugates.


@dataclass(frozen=True, eq=False)
class _Correction:
    """The correction of the slopes at a point: along the scores of ``step``, then by ``length``.

    ``factor`` is ``R`` of the module on orthogonality; ``length`` bounds the length of what is left
    in its coordinates, over one less ``eta``.
    """

    theta: np.ndarray
    step: np.ndarray
    factor: np.ndarray
    length: float = 0.0


def _corrected(
    rows: Rows, shared: tuple[PointwiseRows, _Correction]
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The objective of a block, its slopes, the weights of rows, their lengths and their errors."""
    of, by = shared
    part = of.objective(rows)
    scores = part.linear(by.theta)
    weights = part.curvature(scores)
    moved = part.residual(scores) + weights * part.linear(by.step)
    # Slopes are balanced over all blocks, and not over those of one.
    part = replace(of, fit_intercept=False).objective(rows)
    slopes = part.dual_point(moved, np.zeros_like(moved)).residual
    n, size = len(rows), len(by.step)
    b, lengths, errors = np.empty((n, size)), np.empty(n), np.empty(n)
    sizes = np.abs(by.factor)
    for piece, block in part.design.blocks():
        whole = np.concatenate([block, np.ones((len(block), 1))], axis=1)[:, :size]
        b[piece] = whole @ by.factor
        error = gamma(size) * (np.abs(whole) @ sizes) * (1.0 + gamma(size))
        errors[piece] = np.sqrt(np.einsum("ij,ij->i", error, error)) * (1.0 + gamma(size))
        lengths[piece] = np.sqrt(np.einsum("ij,ij->i", b[piece], b[piece])) * (1.0 + gamma(size))
    return part, slopes, weights, b, lengths, errors


def _largest_move(rows: Rows, shared: tuple[PointwiseRows, np.ndarray], own: Any) -> float:
    of, direction = shared
    found: float = of.objective(rows).largest_move(direction)
    return found


def _moves(
    rows: Rows, shared: tuple[PointwiseRows, list[np.ndarray]], own: Any
) -> dict[str, np.ndarray]:
    """The numbers of rows that move back and on along directions, by more than rounding."""
    of, directions = shared
    part, back, on = of.objective(rows), [], []
    for direction in directions:
        used, moves = part.margins(part.linear(direction))
        least = 1e-7 * part.absolute_linear(direction)[used]
        back.append(float(np.count_nonzero(moves < -least)))
        on.append(float(np.count_nonzero(moves > least)))
    return {"back": np.array(back), "on": np.array(on)}


def _left(rows: Rows, shared: tuple[PointwiseRows, _Correction], own: Any) -> dict[str, np.ndarray]:
    """The products with the columns that are left, and how far the factor is from one."""
    part, slopes, weights, b, lengths, errors = _corrected(rows, shared)
    size, design = len(shared[1].step), part.design
    off = np.sum(weights * errors * (2.0 * lengths + errors))
    return {
        "left": np.append(design.t_dot(slopes), slopes.sum())[:size],
        "sizes": np.append(design.absolute_t_dot(slopes), np.abs(slopes).sum())[:size],
        "square": b.T @ (weights[:, None] * b),
        "off": np.array(off),
        "whole": np.array(np.sum(weights * np.square(lengths))),
        "digest": _digest(slopes, weights),
    }


def _digest(*arrays: np.ndarray) -> np.ndarray:
    """A number that is the same where all bits are; sums over blocks are exact."""
    bits = np.bitwise_xor.reduce(np.concatenate(arrays).view(np.uint64))
    return np.array(float(int(bits) & 0xFFFFFFFF))


def _free_conjugate(
    rows: Rows, shared: tuple[PointwiseRows, _Correction], own: Any
) -> dict[str, np.ndarray]:
    """The conjugates at most, wherever the slopes are moved to."""
    part, slopes, weights, _, lengths, errors = _corrected(rows, shared)
    digest = _digest(slopes, weights)
    moved = weights * (lengths + errors) * (shared[1].length * (1.0 + 32.0 * UNIT))
    with np.errstate(all="ignore"):
        conjugate = part.dual_point(slopes, moved).conjugate_above
    return {
        "conjugate": np.array(conjugate),
        "size": np.array(abs(conjugate)),
        "digest": digest,
    }


class BlockedLoss(BlockedObjective):
    """A loss of one score a row and its target over blocks.

    Parameters
    ----------
    data, engine, penalty, C, fit_intercept, factors, passes
        See :class:`BlockedObjective`.
    loss : Loss
    positive : int
        The class whose label is +1, and all others are -1, where targets are classes.
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
        self._null: float | None = None

    def _shared(self) -> PointwiseRows:
        return PointwiseRows(
            self.loss,
            self.penalty,
            self.C,
            self.fit_intercept,
            self.positive,
            self.factors,
            self.fold,
        )

    def _of_rows(self, rows: Rows) -> PointwiseObjective:
        out: PointwiseObjective = self._shared().objective(rows)
        return out

    def _at_origin(self) -> PointwiseObjective:
        """The objective of a row of each label at the origin, which has all weight of the label."""
        design = as_design(sp.csr_matrix((2, self.design.n_features)))
        options = {"fit_intercept": self.fit_intercept}
        part: PointwiseObjective = objective_of(design, _LABELS, self.loss, self.penalty, **options)
        totals = self.factors * self.class_totals
        right = float(totals[self.positive])
        part.upper = self.C * np.array([float(totals.sum()) - right, right])
        return part

    def null_loss(self) -> float:
        if self.data.classes is not None:
            return self._at_origin().null_loss()
        if self._null is None:
            self._null = float(self.account(self.zero())["loss"])
        return self._null

    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        rounding, _ = self.rounding(here)
        # Sums of weights are more than the largest of them.
        units = (rounding + (self.loss.units + 8.0) * UNIT) * _SPARE
        underflow = float(self.data.n_rows) * (float(here["upper"]) * 2.0**-1020 + 4.0 * TINY)
        loss = float(here["loss_above"]) * (1.0 + units) + underflow
        return self.penalty.value_above(self.weights_of(theta)) + loss


class BlockedPointwise(BlockedLoss):
    """A smooth loss of one score a row and its target over blocks: :func:`summable`.

    Parameters
    ----------
    data, engine, loss, penalty, positive, **options
        See :class:`BlockedLoss`.
    """

    def null_point(self) -> np.ndarray:
        theta = self.zero()
        if self.fit_intercept and self.data.classes is None:
            # About the best one: that of a sample.
            part = self.some(0, np.random.default_rng(0))
            if part is not self:
                theta[-1] = part.best_intercept(np.zeros(part.design.n_samples))
        elif self.fit_intercept:
            theta[-1] = self._at_origin().null_scores()[0]
        return theta

    def _row_sums(self, of: PointwiseRows, theta: np.ndarray) -> dict[str, np.ndarray]:
        """The sums of all rows at a point, as :class:`~separatrix.objectives.row_sums.RowSums`."""
        return self._sums(_account, (of, theta))

    def _account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        found = self._row_sums(self._shared(), theta)
        sums = dict(zip(SUMS, found["sums"], strict=True))
        gradient = self.join(found["adjoint"], sums["slope"])
        return {**found, **sums, "gradient": gradient}

    def largest_move(self, direction: np.ndarray) -> float:
        """The most that a direction moves the score of a row of positive weight, by one pass."""
        shared = self._shared(), direction
        return max(self.passes.each(_largest_move, shared, self._check), default=0.0)

    def separates(self, at: At) -> bool:
        """Whether every row of positive weight is on its own side, where there are classes."""
        found = self.account(at.theta)
        return self.of_classes and bool(found["upper"] > 0.0 and found["right"] == found["upper"])

    def has_recession_direction(self, at: At, direction: np.ndarray) -> bool:
        """Whether no row moves back along a direction and one moves on, by a pass or two.

        A million times as far the loss is still no higher, as in memory.
        """
        if not self.of_classes:
            return False
        tried, sample = [self.canonical(direction)], self.data.sample
        if sample is not None and len(sample):
            # A weight that the method has nearly finished with still moves a little.
            reach = self._of_rows(sample)._reach(direction)
            tried.append(np.where(reach < 1e-5 * reach.max(), 0.0, direction))
        found = self._sums(_moves, (self._shared(), tried))
        far = np.flatnonzero((found["back"] == 0.0) & (found["on"] > 0.0))[-1:]
        known = self.loss_value(at)
        return any(self.loss_value(At(at.theta + 1e6 * tried[k])) <= known for k in far)

    @property
    def of_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.data.classes is not None

    # Slopes moved by epsilon: the pull on the weights, the gap's own share, the conjugate.

    def _epsilon(self, account: dict[str, np.ndarray]) -> float:
        """The move by which slopes are balanced; infinite where they cannot be."""
        if not self.balances:
            return 0.0
        slope, shift = float(account["slope"]), float(account["shift"])
        if slope == 0.0:
            return 0.0
        far = shift > 0.0 and abs(slope) / shift <= _FAR * self.loss.shift_limit
        return slope / shift if far else math.inf

    def _cost(self, move: float) -> float:
        """The cost of moves by so many shifts, at most, in units of ``shift_cost``."""
        return (move / (1.0 - move / self.loss.shift_limit)) ** 2

    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        if not self.penalty.coercive:
            dual = self._free_dual(theta, account)
            return float(account["loss"]) - dual, dual
        epsilon = self._epsilon(account)
        if not math.isfinite(epsilon):
            return math.inf, 0.0
        v = -account["adjoint"]
        if epsilon:
            v = v + epsilon * account["shifted"]
        cost = 0.5 * self._cost(abs(epsilon)) * float(account["shift_cost"])
        conjugate = float(account["conjugate"]) - epsilon * float(account["shift_score"]) + cost
        return self._gap_of(theta, float(account["loss"]), v, conjugate, cost)

    def _dual_below(self, proof: dict[str, np.ndarray] | None) -> tuple[float, float]:
        if self.penalty.coercive:
            return super()._dual_below(proof)
        dual = 0.0 if proof is None else float(proof.get("free_dual", 0.0))
        return dual, dual

    def _free_dual(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> float:
        """The bound that the slopes at a point have without a penalty; zero for none."""
        if "free_dual" not in account:
            with np.errstate(all="ignore"):
                dual = self._free_bound(theta, account["gradient"])
            account["free_dual"] = np.array(max(dual, 0.0) if math.isfinite(dual) else 0.0)
        return float(account["free_dual"])

    def _free_bound(self, theta: np.ndarray, gradient: np.ndarray) -> float:
        found = factor_of_gram(self.hessian(At(theta)))
        if found is None:
            return 0.0
        triangle, order, scale = found
        pivots = np.diagonal(triangle)
        if not np.all(pivots > math.sqrt(64.0 * len(pivots) * UNIT) * pivots.max(initial=0.0)):
            # Columns that depend on one another, or next to it.
            return 0.0
        factor = np.zeros_like(triangle)
        factor[order] = solve_triangular(triangle, np.eye(len(order)), check_finite=False)
        factor /= scale[:, None]
        by = _Correction(theta, -factor @ (factor.T @ gradient), factor)
        known = self._sums(_left, (self._shared(), by))
        n, size = float(self.data.n_rows), len(theta)
        rounding = gamma(n + 8.0)
        off = (float(known["off"]) + rounding * float(known["whole"])) * (1.0 + rounding)
        eta = length_above(known["square"] - np.eye(size)) * (1.0 + 8.0 * UNIT) + off * _SPARE
        if not eta <= 0.5:
            return 0.0
        left, error = known["left"], rounding * (1.0 + rounding) * known["sizes"]
        error = np.abs(factor).T @ (error + gamma(size) * np.abs(left) + n * TINY)
        length = length_above(factor.T @ left) + length_above(error * _SPARE)
        by = replace(by, length=length / (1.0 - eta) * (1.0 + 16.0 * UNIT))
        sums = self._sums(_free_conjugate, (self._shared(), by))
        if sums["digest"] != known["digest"]:
            # Machines that round differently: these are not the slopes that are orthogonal.
            return 0.0
        blocks = len(self.data.blocks) + 4.0
        return -(float(sums["conjugate"]) + 4.0 * UNIT * blocks * float(sums["size"]))

    def _dual_point(self, proof: dict[str, np.ndarray]) -> tuple[np.ndarray, float, float] | None:
        p = {name: float(proof[name]) for name in SUMS}
        rounding, products = self.rounding(proof)
        n, d = float(self.data.n_rows), self.data.n_features
        if p["outside"] or not all(map(math.isfinite, p.values())):
            return None
        units = (rounding + (self.loss.units + 8.0) * UNIT) * _SPARE
        underflow = n * (p["upper"] * 2.0**-1020 + 4.0 * TINY)
        conjugate = p["conjugate"] + units * p["sizes"] * (1.0 + units) + underflow
        lost = math.sqrt(n) * 2.0**-510
        lengths = (p["lengths"] * (1.0 + units) + lost * (1.0 + p["slope_size"])) * _SPARE
        length = products * lengths
        v, epsilon, off = -proof["adjoint"], 0.0, 0.0
        if self.balances:
            epsilon, off = self._moved_by(p, rounding)
            most = abs(epsilon) + off
            furthest = _FAR * self.loss.shift_limit * (1.0 - 1e-9)
            if not (most <= furthest and math.isfinite(most)):
                return None
            v = v + epsilon * proof["shifted"]
            sizes = (p["shift_size"] + underflow) * (1.0 + units)
            slips = 64.0 * UNIT * p["slips"] + underflow
            conjugate += -epsilon * p["shift_score"] + (rounding * most + off) * sizes
            conjugate += most * slips * _SPARE
            # Twice as much as the loss gives, for where the slope itself is rounded.
            cost = self._cost(most) * (p["shift_cost"] + underflow) * (1.0 + units)
            conjugate += cost * _SPARE
            moved = p["shift_lengths"] * (1.0 + units) + lost * (1.0 + p["shift"])
            moved *= _SPARE
            length += (products * most + off) * moved + 4.0 * UNIT * length_above(v)
        length = (length + (n + 2.0) * math.sqrt(d + 1.0) * TINY) * _SPARE
        conjugate += 8.0 * UNIT * abs(conjugate)
        return v, length, conjugate

    def _moved_by(self, p: dict[str, float], rounding: float) -> tuple[float, float]:
        """The number by which slopes are moved, in shifts, and a bound on its error.

        The true one, for which the moved slopes add up to exactly zero, is this near.
        """
        if not self.balances:
            return 0.0, 0.0
        wrong = rounding * p["slope_size"] * (1.0 + 2.0 * rounding) + self.data.n_rows * TINY
        least = p["shift"] * (1.0 - rounding)
        if not least > 0.0:
            return math.inf, math.inf
        epsilon = p["slope"] / p["shift"]
        return epsilon, (wrong / least + 4.0 * (rounding + UNIT) * abs(epsilon)) * _SPARE
