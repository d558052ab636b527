"""Newton's method for penalties with a kink at zero, on a working set of columns.

Where most weights are zero at the optimum, most columns need not be visited: their product
``|x_j . r|`` stays below the penalty's threshold.  The objective is minimised over a working set of
the others, copied out of the design.  Coordinate descent with soft thresholds on its quadratic
model finds which weights are zero and the signs of the rest, a linear system their values; a line
search makes the objective fall (Yuan, Ho and Lin, 2012; Lee, Sun and Saunders, 2014).  One product
with all columns then finds those whose product is too strong (Johnson and Guestrin, 2015; Massias,
Gramfort and Salmon, 2018).

Where the Hessian of so few columns is cheap, the system is factorised and the model minimised
exactly.  Where it would cost far more than some dozens of products, there is none
(:mod:`column_model`): the columns themselves are turned, so that each lies in one piece, and the
model is minimised as closely as is worthwhile: at first by a pass or two, for far from the optimum
the next model is worth more than the rest of this one (Yuan, Ho and Lin, 2012), and near it by
conjugate gradients.  Several classes, whose Hessian has a block for every pair of them, have a
model of their own (:mod:`class_columns`).

With many rows it begins near the optimum of a sample of them, found in the same way.

The dual point is not the slope of the loss at the new point but that of its linear model there.
The product of the working set's columns is then exactly what the penalty allows, so that the gap is
of the order of the model's error, the square of the step, and not of the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import compilation, pool
from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import inner, solve_positive
from separatrix.objectives.base import DENSE_HESSIAN, Objective
from separatrix.objectives.penalties import Kinks, prox
from separatrix.solvers.class_columns import ClassColumnModel
from separatrix.solvers.column_model import ColumnModel, common_move, reach
from separatrix.solvers.descent import GapDescent, optimum_of_sample
from separatrix.solvers.protocol import Candidate, require_smooth

# The passes of coordinate descent between two linear systems, and the most such rounds of a step.
_PASSES = 5
_ROUNDS = 200
_LEAST = 1e-100


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _descend(hessian, slope, x, l1, lower, upper, classes, held, tol, passes):
    """Run coordinate descent on ``1/2 u' H u + slope.u + sum l1 |x + u|`` over steps ``u``.

    The ``classes`` weights that belong to one column move together before each moves by itself.
    ``held``: whether weights at a kink stay there.
    ``x`` moves to ``x + u``, within its bounds, and ``slope`` to the gradient of the smooth part
    there.  Returns the largest violation of a slope in the last pass; ends after a pass where that
    is at most ``tol``.
    """
    worst = 0.0
    for _ in range(passes):
        worst = 0.0
        for j in range(len(x)):
            if classes > 1 and j % classes == 0 and l1[j] > 0.0:
                end = j + classes
                bend = 0.0
                for m in range(j, end):
                    for k in range(j, end):
                        bend += hessian[m, k]
                part = slice(j, end)
                together = common_move(
                    slope[part], x[part], bend, l1[part], lower[part], upper[part]
                )
                if together != 0.0:
                    for m in range(j, end):
                        x[m] = min(max(x[m] + together, lower[m]), upper[m])
                        for k in range(len(x)):
                            slope[k] += together * hessian[m, k]
            h = hessian[j, j]
            if held and ((x[j] == 0.0 and l1[j] > 0.0) or x[j] == lower[j] or x[j] == upper[j]):
                continue
            if h > 0.0:
                new = prox(x[j] * h - slope[j], h, l1[j], lower[j], upper[j])
            else:
                # No row that matters has an entry in this column.
                new = 0.0 if l1[j] > 0.0 else x[j]
            change = new - x[j]
            if change != 0.0:
                worst = max(worst, abs(change) * h)
                x[j] = new
                for k in range(len(x)):
                    slope[k] += change * hessian[j, k]
        if worst <= tol:
            break
    return worst


def _gain(
    slope: np.ndarray, move: np.ndarray, bend: np.ndarray, x: np.ndarray, kinks: Kinks
) -> float:
    """The change of the model by a move whose product with the Hessian is ``bend``."""
    sizes = inner(kinks.l1, np.abs(x + move) - np.abs(x))
    return inner(slope, move) + 0.5 * inner(bend, move) + sizes


# One thread, because these are many systems of a few hundred unknowns, between loops of one thread.
@pool.with_one_blas_thread
def minimise_model(
    hessian: np.ndarray,
    slope: np.ndarray,
    x: np.ndarray,
    kinks: Kinks,
    classes: int,
    tol: float,
    check_interrupt: Callable[[], None],
) -> None:
    """Move ``x`` and ``slope`` to the minimum of the model that :func:`_descend` describes.

    For the coordinates that coordinate descent leaves elsewhere than at a kink, and as long as
    none of them meets one, the model is quadratic and its minimum the solution of a linear system.
    """
    fixed = hessian, slope, x, kinks.l1, kinks.lower, kinks.upper, classes
    met = False
    for _ in range(_ROUNDS):
        # Weights that have just met their kinks stay there until the others are at their best,
        # which a pass over these brings nearer than a system that ends at the next kink.
        if _descend(*fixed, met, tol, _PASSES) <= tol and not met:
            return
        check_interrupt()
        free = np.flatnonzero(kinks.free(x))
        steep = slope[free] + kinks.l1[free] * np.sign(x[free])
        try:
            step = solve_positive(hessian[np.ix_(free, free)], -steep)
        except np.linalg.LinAlgError:
            met = False
            continue
        start, own = x[free], kinks.of(free)
        # Beyond a kink the model is another.  Either all that would pass one stop there, or all
        # go on together for as long as the model falls, whichever leads lower.
        crossed, stop = own.met(start, step)
        move = np.zeros_like(x)
        move[free] = step
        bend = hessian @ move
        met = bool(np.any(crossed))
        if met:
            other = np.zeros_like(x)
            other[free] = np.where(crossed, stop - start, step)
            turned = hessian @ other
            length, last, kink = reach(start, step, own, inner(steep, step), inner(bend, move))
            move, bend = length * move, length * bend
            if last >= 0:
                k = free[last]
                bend += (kink - x[k] - move[k]) * hessian[k]
                move[k] = kink - x[k]
            if _gain(slope, other, turned, x, kinks) < _gain(slope, move, bend, x, kinks):
                move, bend = other, turned
        # Weights that rounding has put beyond a bound are moved back to it.
        x[:] = kinks.within(x + move)
        slope += bend


def _least(
    part: Objective,
    theta: np.ndarray,
    direction: np.ndarray,
    scores: np.ndarray,
    along: np.ndarray,
    l1: np.ndarray,
) -> float:
    """A step below 1 where the slope along the line is a tenth of that at 0, by bisection."""

    def slope(t: float) -> float:
        there = theta + t * direction
        kink = np.where(there == 0.0, np.abs(direction), np.sign(there) * direction)
        smooth = inner(part.penalty_gradient(there), direction)
        return smooth + inner(l1, kink) + inner(part.residual(scores + t * along), along)

    low, high, steep = 0.0, 1.0, abs(slope(0.0))
    for _ in range(60):
        middle = 0.5 * (low + high)
        here = slope(middle)
        if here > 0.0 or not np.isfinite(here):
            high = middle
        else:
            low = middle
            if -here <= 0.1 * steep:
                break
    return low


def level_of(problem: Any, theta: np.ndarray, value: float) -> float:
    """The scale of the slopes of the weights: the least kink at zero.

    Where no kink has a size, it is the violation, common to all weights, at which the gap equals
    the objective.
    """
    if problem.penalty.level > 0.0:
        return float(problem.penalty.level)
    return abs(value) / max(float(np.sum(np.abs(problem.weights_of(theta)))), _LEAST)


def _used(problem: Objective, theta: np.ndarray) -> int:
    """The number of columns with a weight that is not zero, in any class."""
    w = problem.weights_of(theta)
    return int(np.count_nonzero(w if w.ndim == 1 else np.any(w, axis=1)))


def _hessian_of(
    part: Objective, state: ProximalNewtonState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The curvature of the rows, the Hessian and its diagonal: those at hand, or new ones."""
    if state.curvature is not None and state.hessian is not None and state.diagonal is not None:
        return state.curvature, state.hessian, state.diagonal
    curvature = part.curvature(state.scores)
    hessian = part.step_hessian(curvature)
    return curvature, hessian, np.diagonal(hessian).copy()


@dataclass(frozen=True)
class ProximalNewtonState:
    """The state of the method.

    Attributes
    ----------
    theta, scores : ndarray
    value : float
        The objective at the point.
    residual, product : ndarray
        The best dual point so far, with the value ``dual`` once it is made feasible, and ``X' r``.
    adjoint : ndarray or None
        ``X' r`` at the last dual point, None where the last step had none.
    pulls : ndarray or None
        The gradient of the loss at the point, where one pass gave it with the objective.
    index : ndarray
        The columns of the working set.
    part : Objective or None
        The objective on these columns.
    curvature, hessian : ndarray or None
        The curvature of the rows and the Hessian of ``part``, at this point or an earlier one; the
        Hessian has a ridge on its diagonal, which without it is ``diagonal``.
    damping : float
        The factor of the ridge.
    by_columns : bool
        Whether there are to be no more Hessians; the scores are then sums of updates, and not a
        product with the weights.
    ridge : float
        The share of the Hessian's diagonal that is added to it.
    goal, fall, patience : float
        The sum of the violations of the slopes that a step's coordinate descent may leave; the
        decrease of the objective in the last step; and a factor of the decrease below which there
        are leaps.
    """

    theta: np.ndarray
    scores: np.ndarray
    value: float
    residual: np.ndarray
    dual: float
    product: np.ndarray
    adjoint: np.ndarray | None
    index: np.ndarray
    part: Objective | None = None
    curvature: np.ndarray | None = None
    hessian: np.ndarray | None = None
    diagonal: np.ndarray | None = None
    damping: float = 1.0
    by_columns: bool = False
    ridge: float = 0.0
    goal: float = np.inf
    fall: float = np.inf
    patience: float = 1.0
    pulls: np.ndarray | None = None
    status: str | None = None

    @property
    def relative_gap(self) -> float:
        # Rounding can put a bound that is not yet charged for it above the value.
        return max(self.value - self.dual, 0.0) / max(abs(self.value), 1e-300)

    def gained_nothing(self, value: float, dual: float) -> bool:
        """Whether a step to these left the value and the bound unchanged."""
        still = self.value - value <= 1e-15 * abs(value)
        return still and dual - self.dual <= 0.01 * max(value - dual, 0.0)


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of the proximal Newton method, which affect its speed only.

    Parameters
    ----------
    rows : int
        The number of rows in a sample for each parameter.
    tall : float
        The number of rows from which a sample is worth its overhead; infinite for never.
    steps : int
        The largest number of steps on a sample.
    varies : float
        Steps on a sample end after one that gains less than this part of the objective, times the
        number of parameters for each row.
    near : float
        The distance of the adjoint from the threshold, as a part of it, up to which columns are
        taken in as well: the next step may need them, and to copy the columns again costs more than
        a few zero weights.
    stale : float
        The error, as a part of the predicted decrease of the objective, up to which the Hessian is
        kept.
    exact : float
        The model is minimised until its slopes are off by this part of the relative gap, times the
        threshold.
    forced : float
        It is minimised no further than to this part of the slopes' violation at the start, times
        the relative gap: the next model is then worth more than the rest of this one.
    little : int
        The number of weights up to which the rest costs nothing, and `forced` has no effect.
    promising : float
        A step has a dual point where the error of the model's prediction of the objective is at
        most this part of the tolerance: the gap is several times that error.
    close : float
        A step whose error is at most this part of the objective has a dual point for however small
        a tolerance.
    far : float
        A step whose error is more than this part of the objective has none.
    ridge : float
        The ridge, as a part of the Hessian's diagonal and of the relative gap.
    cheap : float
        The largest cost, in products, of forming the Hessian of the working set, and of factorising
        it.
    dense_speed : float
        The factor by which forming a Hessian of full rows is faster than taking products.
    blocks : float
        The factor by which factorising a Hessian is faster than taking products.
    few : int
        Columns that may be needed are taken in a part at a time, the strongest first, if there are
        at most this many or if a Hessian of them all is cheap; otherwise all at once.
    dense : float
        The number of weights from which steps have no Hessian: those of the columns that a step
        moves, or with several classes those of all columns that may be needed.
    whole : float
        Steps are on all columns where more than this part of them may be needed: to copy these
        would cost more than the rest add to the Hessian.
    sharper : float
        A step without a Hessian descends until the sum of the violations is at most a goal, which
        is multiplied by this once a single pass is enough.
    settled : tuple of pairs
        For L1, and for an elastic net, whose dual point need not keep to thresholds: a step leaps
        once the last one lowered the objective by at most the first number times its value, and the
        leap ends where slopes are off by the second number times the threshold.
    proved : float
        A leap ends at the latest where slopes are off by this part of the tolerance times the
        threshold: smaller violations would prove more than is needed.
    quadratic : float
        Above that it goes on until slopes are off by at most this part of the largest violation at
        the start of the step.
    settled_classes : float
        The first number of `settled` for several classes, whose weights move against twice
        their curvature, unless that is larger.
    crowd : float
        The largest share of weights that may change their signs in a leap; after a larger one the
        next leap waits until the decrease is ten times smaller.
    after : int
        The number of passes after a leap.
    proximal : float
        The least ridge, as a part of the diagonal, after a step that does not lower the objective.
    many : int
        The largest number of passes of coordinate descent in a step.
    straight : float
        The least curvature of a row's loss, as a part of its slope: where the loss is straight, no
        distance would be too far.
    least_ridge : float
        The least ridge, which matters where columns depend on one another.
    """

    rows: int = 12
    tall: float = 50_000
    steps: int = 60
    varies: float = 0.05
    near: float = 0.05
    stale: float = 0.1
    exact: float = 1e-3
    forced: float = 0.1
    little: int = 20
    promising: float = 0.2
    close: float = 1e-3
    far: float = 0.04
    ridge: float = 1e-6
    cheap: float = 40.0
    dense_speed: float = 25.0
    blocks: float = 40.0
    few: int = 500
    dense: float = DENSE_HESSIAN
    whole: float = 0.85
    sharper: float = 0.25
    settled: tuple[tuple[float, float], tuple[float, float]] = ((1e-4, 1e-3), (1e-3, 5e-2))
    proved: float = 0.5
    quadratic: float = 0.05
    settled_classes: float = 1e-2
    crowd: float = 0.05
    after: int = 3
    proximal: float = 1e-3
    many: int = 1000
    straight: float = 1e-6
    least_ridge: float = 1e-9


class ProximalNewton(GapDescent):
    """Newton's method with soft thresholds on a working set.  Needs curvature and a kink.

    In addition to vectors it takes a copy of the working set's columns, with a Hessian of at most
    2,500 weights, 50 MB, or where these columns are many, a copy of all, which the design keeps.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "proximal-newton"

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning

    def requires(self, problem: Objective) -> None:
        require_smooth(problem, "The proximal Newton method")
        if not problem.penalty.kinked:
            raise TypeError(
                "The proximal Newton method needs a penalty with a kink: L1, or bounds."
            )

    def init(
        self,
        problem: Objective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> ProximalNewtonState:
        kinks = problem.penalty.kinks(problem.shape, problem.design.n_features)
        # A hint may be beyond the bounds, along a path for instance.
        theta = kinks.within(np.array(theta, dtype=np.float64))
        if not theta.any():
            part = problem.some(self._sample_size(problem), rng)
            if part is not problem:
                theta = self.optimum(part, rng, problem.check_interrupt)
        # The scores of zero weights need no product with the data.
        scores = np.zeros((problem.design.n_samples, *problem.output_shape))
        value = problem.value(problem.zero(), scores)
        if theta.any():
            found = problem.linear(theta)
            there = problem.value(theta, found)
            if there <= value:
                scores, value = found, there
            else:
                # The hint is worse than zero weights.
                theta = problem.zero()
        nothing = np.zeros_like(problem.weights_of(theta))
        state = ProximalNewtonState(
            theta,
            scores,
            value,
            np.zeros_like(scores),
            0.0,
            nothing,
            nothing,
            np.zeros(0, dtype=np.intp),
        )
        if residual is not None:
            state = self._with_dual(problem, state, residual)
        # The adjoint that is kept is the one at the point itself.
        return self._with_dual(problem, state, problem.residual(scores))

    def _sample_size(self, problem: Objective) -> int:
        """The number of rows of a first sample; all where a step on them costs little more."""
        n = problem.design.n_samples
        # A loss of the residual has nearly the same curvature everywhere: the first model is as
        # good as the last.
        if n < self.tuning.tall or problem.output_shape or problem.loss.of_residual:
            return n
        rows = max(self.tuning.rows * problem.shape[0], n // 16)
        return rows if 3 * rows <= n else n

    def optimum(
        self, part: Objective, rng: np.random.Generator, check_interrupt: Callable[[], None]
    ) -> np.ndarray:
        """An approximate optimum on a sample of the rows, as exact as the sample itself."""
        state = self.init(part, part.zero(), rng)
        enough = self.tuning.varies * math.prod(part.shape) / part.design.n_samples
        steps = self.tuning.steps
        found = optimum_of_sample(self, part, state, steps, enough, check_interrupt)
        return np.asarray(found.theta)

    @staticmethod
    def _with_dual(
        problem: Objective, state: ProximalNewtonState, residual: np.ndarray
    ) -> ProximalNewtonState:
        """The state with another dual point where that is better; its adjoint is kept always."""
        residual = problem.clipped(residual)
        if problem.balances:
            residual = problem.balanced(residual)
        adjoint = problem.design.t_dot(residual)
        v = -adjoint
        scale = problem.penalty.dual_scale(v)
        feasible = scale * residual if scale < 1.0 else residual
        dual = -problem.conjugate_value(feasible) - problem.penalty.conjugate(scale * v)
        if problem.intercept_penalty > 0.0:
            slope = np.square(feasible.sum(axis=0))
            dual -= 0.5 * float(np.sum(slope)) / problem.intercept_penalty
        if dual > state.dual:
            return replace(state, residual=residual, product=adjoint, dual=dual, adjoint=adjoint)
        return replace(state, adjoint=adjoint)

    def _is_cheap(self, problem: Objective, index: np.ndarray) -> bool:
        """Whether a Hessian of some columns costs little compared with the products without it.

        A row that has ``k`` entries in them makes ``k`` products for the Hessian and one without;
        and the Hessian is to be factorised, too.  That of several classes is formed whatever it
        takes: without it, weights move against twice their curvature.
        """
        design, classes = problem.design, math.prod(problem.output_shape)
        weights = classes * len(index)
        if weights >= self.tuning.dense:
            return False
        cheap = self.tuning.cheap * design.n_samples
        if design.n_stored <= cheap and weights**2 <= 3.0 * self.tuning.blocks * self.tuning.cheap:
            # This holds whichever columns they are; to count their entries costs a pass.
            return True
        stored, cells = int(design.column_counts[index].sum()), design.n_samples * len(index)
        speed = self.tuning.dense_speed if stored == cells else 1.0
        formed = classes > 1 or stored <= cheap * speed
        factorised = weights**3 <= 3.0 * self.tuning.blocks * self.tuning.cheap * classes * stored
        return formed and factorised

    def _tolerance(
        self,
        problem: Objective,
        state: ProximalNewtonState,
        kinks: Kinks,
        old: np.ndarray,
        slope: np.ndarray,
    ) -> float:
        """The violation at which the model is close to its minimum, times the relative gap."""
        tol = self.tuning.exact * level_of(problem, state.theta, state.value)
        if old.size > self.tuning.little:
            tol = max(tol, self.tuning.forced * float(kinks.violation(old, slope).max()))
        return tol

    def _working_set(self, problem: Objective, state: ProximalNewtonState) -> np.ndarray | None:
        """The columns to visit: those in use, and of the others those with the largest violation.

        None where several classes have too many weights in them for a Hessian.
        """
        d = problem.design.n_features
        w = problem.weights_of(state.theta)
        used = np.any(w.reshape(d, -1), axis=1)
        # The violation of the slope, at zero or at the weight.
        excess = problem.penalty.violation(w, state.adjoint + problem.penalty.gradient(w))
        excess, level = excess.reshape(d, -1).max(axis=1), problem.penalty.l1
        inside = np.zeros(d, dtype=bool)
        inside[state.index] = True
        if state.part is not None and not np.any(((excess > 1e-9 * level) | used) & ~inside):
            return state.index
        near = np.flatnonzero(((excess > -self.tuning.near * level) | inside) & ~used)
        needed = int(used.sum()) + len(near)
        if problem.output_shape and needed * problem.output_shape[0] >= self.tuning.dense:
            return None
        free = min(max(2 * int(used.sum()), 100), d - int(used.sum()))
        if len(near) > free and (len(near) <= self.tuning.few or self._is_cheap(problem, near)):
            near = near[np.argpartition(-excess[near], free)[:free]]
        used[near] = True
        return np.arange(d) if used.sum() > self.tuning.whole * d else np.flatnonzero(used)

    def step(
        self, problem: Objective, state: ProximalNewtonState, check_interrupt: Callable[[], None]
    ) -> ProximalNewtonState:
        if state.by_columns:
            return self._by_columns(problem, state, check_interrupt)
        d, pulls = problem.design.n_features, state.pulls
        # The products of a dual point are of use for columns outside the last model alone: where
        # most columns are in it, those at the point itself are taken.
        crowded = 2 * _used(problem, state.theta) > d
        if pulls is None and (state.adjoint is None or crowded):
            pulls = problem.adjoint(problem.residual(state.scores))
        if pulls is not None:
            state = replace(state, adjoint=problem.weights_of(pulls))
        index, part = self._working_set(problem, state), state.part
        if index is None or not self._is_cheap(problem, index):
            return self._by_columns(problem, state, check_interrupt)
        if part is None or not np.array_equal(index, state.index):
            part, state = problem.restricted(index), replace(state, hessian=None)
        check_interrupt()
        rows = np.append(index, d) if problem.fit_intercept else index
        old = state.theta[rows]
        pulls = part.adjoint(part.residual(state.scores)) if pulls is None else pulls[rows]
        slope = part.penalty_gradient(old) + pulls
        curvature, hessian, diagonal = _hessian_of(part, state)
        check_interrupt()
        kinks = part.penalty.kinks(part.shape, len(index))
        relative = min(state.relative_gap, 1.0)
        # Where columns depend on one another the model is flat, and its minimum far off or
        # nowhere; a ridge that vanishes with the gap keeps the step short (Li, Fukushima,
        # Qi and Yamashita, 2004).
        ridge = 1.0 + self.tuning.ridge * relative * state.damping
        hessian[np.diag_indices_from(hessian)] = ridge * diagonal
        tol = relative * self._tolerance(problem, state, kinks, old, slope)
        theta, ahead = old.copy(), slope.copy()
        flat = ahead.ravel(), theta.ravel(), kinks.ravel()
        minimise_model(hessian, *flat, math.prod(problem.output_shape), tol, check_interrupt)
        direction = theta - old
        kink = inner(kinks.l1, np.abs(theta) - np.abs(old))
        expected = inner(slope, direction) + kink
        foreseen = 0.5 * inner(slope + ahead, direction) + kink

        def look(theta: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray | None]:
            whole = state.theta.copy()
            whole[rows] = theta
            if not crowded:
                scores = part.linear(theta)
                return scores, part.value(theta, scores), whole, None
            # The next step begins with the products of all columns.
            found = problem.evaluate(whole)
            return found.scores, problem.penalty_value(whole) + found.loss, whole, found.adjoint

        scores, value, whole, pulls = look(theta)
        along, t = scores - state.scores, 1.0
        if not value <= state.value + 1e-2 * expected:
            t = _least(part, old, direction, state.scores, along, kinks.l1)
            theta = kinks.within(old + t * direction)
            scores, value, whole, pulls = look(theta)
        missed = abs(value - state.value - foreseen)
        # A dual point is worth its price where the model predicted the objective well.
        least, most = self.tuning.close, self.tuning.far
        promising = min(max(self.tuning.promising * self.tol, least), most)
        new = replace(state, adjoint=None)
        if missed <= promising * abs(value) or not value <= state.value:
            slopes = part.residual(state.scores) + part.curvature_apply(curvature, along)
            new = self._with_dual(problem, state, slopes)
        if not value <= state.value:
            return replace(new, status="precision_limit")
        # Steps that had to be cut short show that the model is flatter than the objective.
        damping = state.damping * (8.0 if t < 0.25 else 1.0 if t < 1.0 else 0.125)
        return replace(
            new,
            theta=whole,
            scores=scores,
            value=value,
            index=index,
            part=part,
            curvature=curvature,
            hessian=hessian if missed <= self.tuning.stale * abs(foreseen) else None,
            diagonal=diagonal,
            damping=max(damping, 1.0),
            pulls=pulls,
            status="precision_limit" if state.gained_nothing(value, new.dual) else None,
        )

    def _column_model(
        self, problem: Objective, state: ProximalNewtonState
    ) -> tuple[ColumnModel, np.ndarray, Kinks, np.ndarray]:
        """The model of the columns that may be needed.

        Also returns all slopes, the kinks, and the violations of the slopes.
        """
        d = problem.design.n_features
        kinks = problem.penalty.kinks(problem.shape, d)
        own = np.array(np.broadcast_to(problem._penalty_curvature(), problem.shape))
        residual = problem.residual(state.scores)
        # The columns lie in one piece each, which a sum reads faster than it adds to many sums.
        pulls = problem.join(problem.design.turned.dot(residual), residual.sum(axis=0))
        slope = problem.penalty_gradient(state.theta) + pulls
        away = kinks.violation(state.theta, slope)
        needed = ((state.theta != 0.0) | (away > -self.tuning.near * kinks.l1))[:d].reshape(d, -1)
        active = np.flatnonzero(np.any(needed, axis=1))
        bends = problem.curvature(state.scores)
        least = max(state.ridge, self.tuning.least_ridge)
        if problem.output_shape:
            curvature_apply = partial(problem.curvature_apply, bends)
            model: ColumnModel = ClassColumnModel(
                problem.design, active, problem.upper, bends, curvature_apply,
                residual, state.theta, kinks, own, least,
            )  # fmt: skip
        else:
            bends = np.maximum(bends, self.tuning.straight * np.abs(residual))
            model = ColumnModel(
                problem.design, active, bends, residual, state.theta, kinks, own, least,
            )  # fmt: skip
        return model, slope, kinks, np.maximum(away, 0.0)

    def _by_columns(
        self,
        problem: Objective,
        state: ProximalNewtonState,
        check_interrupt: Callable[[], None],
    ) -> ProximalNewtonState:
        """Make a step without a Hessian."""
        level = level_of(problem, state.theta, state.value)
        model, slope, kinks, away = self._column_model(problem, state)
        check_interrupt()
        goal = min(state.goal, float(away.sum()))
        worst, passes = model.descend(goal, self.tuning.many, check_interrupt)
        goal *= self.tuning.sharper if passes == 1 else 1.0
        new = replace(state, part=None, hessian=None, by_columns=True)
        share, exactly = self.tuning.settled[problem.penalty.supercoercive]
        if problem.output_shape:
            share = max(share, self.tuning.settled_classes)
        settled = False
        if state.fall <= state.patience * share * abs(state.value):
            close = min(exactly * level, self.tuning.quadratic * float(away.max()))
            # To prove a gap, slopes need come no nearer to their thresholds than a part of it.
            close = max(close, self.tuning.proved * self.tol * level)
            ahead = model.leap(close, check_interrupt)
            if model.crowd > 0.0:
                new = self._with_dual(problem, new, ahead)
            settled = model.crowd <= self.tuning.crowd
            new = replace(new, patience=state.patience * (1.0 if settled else 0.1))
            worst, _ = model.descend(0.0, self.tuning.after, check_interrupt)
        # To make the dual point feasible, it is divided by 1 + off, and its value by at most that.
        off = worst / level
        if off < 0.5 or off <= self.tol * (1.0 + off):
            new = self._with_dual(problem, new, model.u)
        theta, move = model.x, model.x - state.theta
        expected = inner(slope, move) + inner(kinks.l1, np.abs(theta) - np.abs(state.theta))
        along = model.scores(move)
        scores = state.scores + along
        value, t = problem.value(theta, scores), 1.0
        if not value <= state.value + 1e-2 * expected:
            t = _least(problem, state.theta, move, state.scores, along, kinks.l1)
            theta = kinks.within(state.theta + t * move)
            scores = state.scores + t * along
            value = problem.value(theta, scores)
        if not value <= state.value:
            # The model was too flat, or nothing is left to gain: a stiffer model shows which.
            return replace(
                new,
                ridge=max(32.0 * state.ridge, self.tuning.proximal),
                status="precision_limit" if state.ridge >= 1.0 else None,
            )
        stuck = state.gained_nothing(value, new.dual)
        return replace(
            new,
            theta=theta,
            scores=scores,
            value=value,
            goal=goal,
            # After a successful leap the next step takes one, too.
            fall=0.0 if settled and t == 1.0 else state.value - value,
            ridge=state.ridge / 4.0,
            status="precision_limit" if stuck else None,
        )

    def candidate(self, problem: Objective, state: ProximalNewtonState) -> Candidate:
        scores = None if state.by_columns else state.scores
        return Candidate(state.theta, state.residual, scores, state.product)
