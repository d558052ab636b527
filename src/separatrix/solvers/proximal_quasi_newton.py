r"""A quasi-Newton method for penalties with a kink, where each evaluation is a pass over the data.

The model of the objective at a point is that of the proximal Newton method (:mod:`proximal_newton`;
Lee, Sun and Saunders, 2014): the gradient of all rows, a Hessian, and the kinks as they are.  Its
minimum, found by coordinate descent with soft thresholds and linear systems, is evaluated next,
by a pass that gives the value, the gradient and the certificate alike.

The Hessian is that of all rows, from the same pass, where there are few parameters: the method is
then Newton's.  With more parameters it is that of a sample in memory, at whose optimum the search
begins; its errors are corrected from the gradients, by the BFGS formula on the matrix itself
(Nocedal and Wright, 2006, 6.1; for composite objectives Scheinberg and Tang, 2016).  Under L1 the
bound is away from the optimum by as much as the strongest product of a column exceeds the
threshold, which is of the first order, so that steps must converge faster than linearly; these do.

With more columns than a Hessian is formed of, a step moves those that are in use or violate their
thresholds, and the sample's Hessian is scaled to the diagonal of that of all rows: a level that the
sample lacks has a curvature nevertheless.  Where these are too many as well, the model is minimised
by the sample's columns (:mod:`column_model`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.pool import with_one_blas_thread
from separatrix.certificate import relative_to
from separatrix.objectives.base import DENSE_HESSIAN
from separatrix.objectives.penalties import Kinks
from separatrix.solvers.column_model import ColumnModel
from separatrix.solvers.descent import GapDescent, Point, bfgs_update, column_scale
from separatrix.solvers.protocol import require_smooth
from separatrix.solvers.proximal_newton import ProximalNewton, level_of, minimise_model

_HALVINGS = 40
# For steps without a Hessian: the passes over the columns between two leaps, the largest number of
# leaps, and the ridge of the model, as a share of the diagonal.
_DESCENTS, _LEAPS, _RIDGE = 30, 20, 1e-9
_LEAST = 1e-300


@dataclass(frozen=True)
class ProximalQuasiNewtonState(Point):
    """The state of the method.

    Attributes
    ----------
    relative_gap : float
        The relative gap in floating point.
    index : ndarray of int
        The columns of the Hessian.
    hessian : ndarray or None
        The Hessian of the weights of these columns, and of the intercepts.
    pairs : tuple
        The steps since the Hessian was formed, with the differences of the gradients.
    slow : int
        The number of these steps that closed little of the gap.
    exact : bool
        Whether Hessians are those of all rows.
    newton : bool
        Whether every pass gives the Hessian at its point as well.
    diagonal : ndarray or None
        The diagonal of the Hessian of all rows, at an earlier point.
    stuck : int
        The number of steps in succession that have gained nothing.
    """

    relative_gap: float = np.inf
    rng: Any = None
    index: Any = None
    hessian: np.ndarray | None = None
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    slow: int = 0
    exact: bool = False
    newton: bool = False
    diagonal: np.ndarray | None = None
    stuck: int = 0


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters, which affect the number of passes but not the optimum.

    Parameters
    ----------
    rows : int
        The number of rows in a sample for each parameter.
    few : int
        The largest number of parameters for which a pass gives the Hessian of all rows as well, for
        little more.
    dense : int
        The largest number of parameters for which a Hessian is formed.
    memory : int
        The number of pairs of steps and differences of gradients that are remembered.
    exact : float
        The model is minimised to this part of the relative gap, times the threshold.
    near : float
        Columns whose product is below the threshold by at most this part of it may move as well.
    slow : float
        A step that leaves more of the gap than this part makes the Hessian suspect.
    patience : int
        The number of such steps after which the Hessian is formed anew.
    stuck : int
        The number of steps without a gain after which the method gives up.
    """

    rows: int = 12
    few: int = 250
    dense: int = DENSE_HESSIAN
    memory: int = 20
    exact: float = 1e-3
    near: float = 0.2
    slow: float = 0.3
    patience: int = 2
    stuck: int = 5


class ProximalQuasiNewton(GapDescent):
    """BFGS with soft thresholds.  Needs curvature, a kink, and an objective that is read in passes.

    In addition to the sample it takes two square matrices of at most 2,500 weights.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning

    def requires(self, problem: Any) -> None:
        require_smooth(problem, "The proximal quasi-Newton method")
        if not problem.penalty.kinked:
            raise TypeError("The proximal quasi-Newton method needs a penalty with a kink: L1.")

    def _sample(self, problem: Any, rng: np.random.Generator) -> Any:
        n = problem.design.n_samples
        return problem.some(min(max(self.tuning.rows * problem.shape[0], n // 16), n), rng)

    @with_one_blas_thread
    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> ProximalQuasiNewtonState:
        if not theta.any():
            part = self._sample(problem, rng)
            if part is not problem:
                there = ProximalNewton().optimum(part, rng, problem.check_interrupt)
                start = self._at(problem, there, rng)
                if start.value < problem.null_loss():
                    return start
        return self._at(problem, theta, rng)

    def _at(
        self, problem: Any, theta: np.ndarray, rng: np.random.Generator
    ) -> ProximalQuasiNewtonState:
        theta = problem.canonical(theta)
        few = int(np.prod(problem.shape)) <= self.tuning.few
        if few:
            problem.look_twice(theta)
        columns = np.arange(problem.design.n_features)
        state = ProximalQuasiNewtonState.at(
            problem, theta, rng=rng, index=columns, exact=few, newton=few
        )
        bound = problem.bound_of(theta, state.evaluation)
        return replace(state, relative_gap=relative_to(bound.gap, bound.primal))

    def _goal(self, problem: Any, state: ProximalQuasiNewtonState) -> float:
        """The violation at which the model is close to its minimum."""
        level = level_of(problem, state.theta, state.value)
        return self.tuning.exact * level * min(state.relative_gap, 1.0)

    # --- the model --------------------------------------------------------------------------

    def _moving(self, problem: Any, state: ProximalQuasiNewtonState) -> np.ndarray | None:
        """The columns that a step moves; None where a Hessian of them would be too large."""
        d, outputs = problem.design.n_features, int(np.prod(problem.output_shape, dtype=int))
        most = self.tuning.dense // outputs - 1
        if d <= most:
            return np.arange(d)
        slope = problem.weights_of(state.gradient)
        used = np.any(problem.weights_of(state.theta).reshape(d, -1), axis=1)
        away = problem.penalty.violation(np.zeros_like(slope), slope).reshape(d, -1).max(axis=1)
        wanted = used | (away > -self.tuning.near * problem.penalty.l1)
        if state.hessian is not None:
            # The columns of the present Hessian stay, as long as there is room.
            more = wanted.copy()
            more[state.index] = True
            wanted = more if np.count_nonzero(more) <= most else wanted
        if np.count_nonzero(wanted) <= most:
            return np.flatnonzero(wanted)
        if not outputs > 1:
            return None
        # The columns that violate most come first among those out of use, after those in use.
        order = np.lexsort((-away, ~used))
        return np.sort(order[:most])

    def _with_hessian(
        self, problem: Any, state: ProximalQuasiNewtonState, index: np.ndarray
    ) -> ProximalQuasiNewtonState:
        """The state with a Hessian of some columns at its point."""
        whole = len(index) == problem.design.n_features
        part = problem if state.exact else self._sample(problem, state.rng)
        if part is problem and whole:
            hessian = problem.step_hessian(problem.curvature(state.scores))
            return replace(state, index=index, hessian=hessian, pairs=(), slow=0, exact=True)
        if not whole and state.diagonal is None:
            diagonal = problem.hessian_diagonal(problem.curvature(state.scores))
            state = replace(state, diagonal=diagonal)
        if part is problem:
            assert state.diagonal is not None
            diagonal = state.diagonal[self._rows(problem, index)]
            return replace(state, index=index, hessian=np.diag(diagonal.ravel()), slow=0)
        scores = part.linear(state.theta)
        some = part if whole else part.restricted(index)
        hessian = some.step_hessian(some.curvature(scores))
        if not whole:
            assert state.diagonal is not None
            _scale_to(hessian, state.diagonal[self._rows(problem, index)].ravel())
            return replace(state, index=index, hessian=hessian, slow=0)
        return replace(state, index=index, hessian=hessian, pairs=(), slow=0)

    @staticmethod
    def _rows(problem: Any, index: np.ndarray) -> np.ndarray:
        """The rows of a point that belong to some columns, and to an intercept."""
        return np.append(index, problem.design.n_features) if problem.fit_intercept else index

    @staticmethod
    def _updated(state: ProximalQuasiNewtonState, rows: np.ndarray) -> np.ndarray:
        """The Hessian with the corrections from the pairs."""
        assert state.hessian is not None
        out = state.hessian.copy()
        others = np.ones(len(state.theta), dtype=bool)
        others[rows] = False
        for step, change in state.pairs:
            if step[others].any():
                # The difference of gradients is not of these columns alone.
                continue
            bfgs_update(out, step[rows].ravel(), change[rows].ravel())
        return out

    @with_one_blas_thread
    def step(
        self,
        problem: Any,
        state: ProximalQuasiNewtonState,
        check_interrupt: Callable[[], None],
    ) -> ProximalQuasiNewtonState:
        index = self._moving(problem, state)
        if index is None:
            return self._by_columns(problem, state, check_interrupt)
        again = state.hessian is None or not np.array_equal(index, state.index)
        if state.newton:
            again = True
        elif state.slow >= self.tuning.patience:
            # A Hessian over all rows is taken where there can be one.
            whole = len(index) == problem.design.n_features
            again, state = True, replace(state, exact=whole)
        if again:
            state = self._with_hessian(problem, state, index)
        check_interrupt()
        rows = self._rows(problem, index)
        hessian = self._updated(state, rows)
        diagonal = np.diagonal(hessian).copy()
        hessian[np.diag_indices_from(hessian)] = diagonal * (1.0 + 1e-10)
        old, slope = state.theta[rows], state.gradient[rows]
        kinks = problem.penalty.restricted(index).kinks(old.shape, len(index))
        theta, ahead = old.copy(), slope.copy()
        tol = self._goal(problem, state)
        flat = ahead.ravel(), theta.ravel(), kinks.ravel()
        minimise_model(hessian, *flat, math.prod(problem.output_shape), tol, check_interrupt)
        return self._towards(problem, state, rows, theta, kinks)

    def _by_columns(
        self,
        problem: Any,
        state: ProximalQuasiNewtonState,
        check_interrupt: Callable[[], None],
    ) -> ProximalQuasiNewtonState:
        """A step without a Hessian: on the model of the sample's columns, turned."""
        part = self._sample(problem, state.rng)
        if state.diagonal is None or state.slow >= self.tuning.patience:
            diagonal = problem.hessian_diagonal(problem.curvature(state.scores))
            state = replace(state, diagonal=diagonal, slow=0)
        # The corrections of a Hessian of some columns do not hold for all of them.
        state = replace(state, hessian=None, pairs=())
        assert state.diagonal is not None
        d = problem.design.n_features
        everywhere = np.arange(len(state.theta))
        kinks = problem.penalty.kinks(problem.shape, d)
        penalty = np.broadcast_to(problem._penalty_curvature(), problem.shape)
        if part is problem:
            # Without a sample there is the diagonal alone, and twice of it is taken to be safe.
            bend = np.maximum(2.0 * state.diagonal, _LEAST)
            moved = state.theta - state.gradient / bend
            theta = np.sign(moved) * np.maximum(np.abs(moved) - kinks.l1 / bend, 0.0)
            return self._towards(problem, state, everywhere, kinks.within(theta), kinks)
        curvature = part.curvature(part.linear(state.theta))
        own = part.hessian_diagonal(curvature) - penalty
        whole = np.maximum(state.diagonal - penalty, 0.0)
        # In scaled weights, the sample's Hessian has the diagonal of that of all rows.
        scale, there = column_scale(own, whole)
        scale[d:] = 1.0
        lacking = np.where(there, 0.0, whole)
        rest = (penalty + lacking) / np.square(scale)
        start = state.theta * scale
        model = ColumnModel(
            part.design, np.arange(d), curvature, np.zeros(len(curvature)), start,
            kinks.scaled(scale), rest, _RIDGE, state.gradient / scale - rest * start,
        )  # fmt: skip
        goal = self._goal(problem, state)
        for _ in range(_LEAPS):
            _, passes = model.descend(goal, _DESCENTS, check_interrupt)
            if passes < _DESCENTS:
                break
            model.leap(goal, check_interrupt)
        return self._towards(problem, state, everywhere, kinks.within(model.x / scale), kinks)

    def _towards(
        self,
        problem: Any,
        state: ProximalQuasiNewtonState,
        rows: np.ndarray,
        theta: np.ndarray,
        kinks: Kinks,
    ) -> ProximalQuasiNewtonState:
        """The state where the objective has fallen enough, on the way to the model's minimum.

        ``rows`` are the rows of the point that move, ``theta`` their values at the minimum.
        """
        old = state.theta[rows]
        direction = theta - old
        kink = inner(kinks.l1, np.abs(theta) - np.abs(old))
        expected = inner(state.gradient[rows], direction) + kink
        if not (np.isfinite(expected) and expected < 0.0):
            return replace(state, status="precision_limit")
        noise, t = 1e-14 * abs(state.value), 1.0
        new = state
        for _ in range(_HALVINGS):
            whole = state.theta.copy()
            whole[rows] = theta if t == 1.0 else old + t * direction
            new = self._at(problem, whole, state.rng)
            if new.value <= state.value + 1e-4 * t * expected + noise:
                break
            # The minimum of a parabola of this value and slope.
            rise = new.value - state.value - t * expected
            lowest = -0.5 * t * t * expected / rise if np.isfinite(rise) else 0.0
            t = float(np.clip(lowest, 0.1 * t, 0.5 * t))
        else:
            return replace(state, status="precision_limit")
        # Where values cannot distinguish a fall from rounding the gap still can, now and then.
        better = new.value < state.value - noise or new.relative_gap < 0.9 * state.relative_gap
        stuck = 0 if better else state.stuck + 1
        if stuck >= self.tuning.stuck:
            return replace(state, status="precision_limit")
        step, change = new.theta - state.theta, new.gradient - state.gradient
        closer = new.relative_gap <= self.tuning.slow * state.relative_gap
        return replace(
            new,
            index=state.index,
            hessian=state.hessian,
            pairs=(*state.pairs, (step, change))[-self.tuning.memory :],
            slow=state.slow + int(not closer),
            exact=state.exact or new.exact,
            diagonal=state.diagonal,
            stuck=stuck,
        )


def _scale_to(hessian: np.ndarray, diagonal: np.ndarray) -> None:
    """Scale a matrix to a diagonal; a row without a diagonal entry gets that entry alone."""
    scale, _ = column_scale(np.diagonal(hessian).copy(), diagonal)
    hessian *= scale[:, None]
    hessian *= scale
    hessian[np.diag_indices_from(hessian)] = diagonal
