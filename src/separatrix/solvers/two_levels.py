r"""A quasi-Newton method for wide, sparse data that are read in passes.

The Hessian has a stand-in :math:`M` of two levels of columns
(:mod:`~separatrix.solvers.two_level_preconditioner`).
A step minimises the model that the gradients at all remembered points give of the objective on the
affine space between them, and goes on from there by :math:`-M^{-1}` times the gradient that the
model predicts: rare columns first, and then the coarse ones, by the gradients of the sample after
the move of the former.  Many small effects of rare columns make scores vary more, and where
slopes bend, the intercept and the frequent columns have to follow.  On a quadratic all of that is
about the method of conjugate gradients, one step later, and it needs no search along a line: a
pass is an iteration.

It begins at the optimum of the sample's rows by themselves, with their own weights: if they stood
for all, the noise in rare columns would be taken for an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.pool import with_one_blas_thread
from separatrix.objectives.base import DENSE_HESSIAN
from separatrix.solvers import newton, two_level_preconditioner
from separatrix.solvers.descent import (
    Descent,
    Point,
    descent_direction,
    line_step,
    norm,
    optimum_of_sample,
)
from separatrix.solvers.newton import Newton
from separatrix.solvers.protocol import require_smooth
from separatrix.solvers.two_level_preconditioner import TwoLevelPreconditioner

# The number of points whose gradients are remembered.
_MEMORY = 12
# The size of eigenvalues of the model between them, relative to the largest, that counts as
# rounding.
_LOST = 1e-10
# The first and largest share of a step that rare columns take, because their diagonal leaves out
# what they have in common; the least share; and the range of the minimum along a step, as a part of
# the step, outside of which it was too long or too short and the share changes.
_SHARE, _LEAST, _SHORT, _LONG = 0.8, 0.1, 0.7, 1.3
# The largest number of steps by which the coarse columns follow, and the part of the first one's
# decrease at which they end.
_FOLLOWING, _FOLLOWED = 8, 1e-2
# The number of points after the first that have a Hessian of their own, as the first has; then the
# part of the gap that a step may leave, and the number of steps that leave more before another
# Hessian.
_YOUNG, _SLOW, _PATIENCE = 2, 0.5, 3
# The start: the size of each sample as a part of the next, and the least number of rows; the steps
# on each, the products of one, and the decrease, as a part of the objective, that ends them.
_PART, _FEW, _STEPS, _PRODUCTS, _ENOUGH = 0.25, 10_000, 12, 50, 1e-2


@dataclass(frozen=True)
class TwoLevelsState(Point):
    """The state of the method.

    Attributes
    ----------
    levels : TwoLevelPreconditioner or None
        The stand-in for the Hessian.
    pairs : tuple
        The steps between remembered points, and the differences of their gradients.
    slow : int
        The number of steps since ``levels`` was made that closed little of the gap.
    count : int
        The number of steps so far.
    share : float
        The share of a step that rare columns take.
    """

    rng: Any = None
    levels: TwoLevelPreconditioner | None = None
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    slow: int = 0
    count: int = 0
    share: float = _SHARE


class TwoLevels(Descent):
    """Quasi-Newton steps with two levels of columns, one pass each.

    Needs curvature, a quadratic penalty, and wide sparse data of which a sample lies in memory.

    Parameters
    ----------
    tuning : two_level_preconditioner.Tuning
        The sizes of the levels.
    """

    def __init__(
        self, tuning: two_level_preconditioner.Tuning = two_level_preconditioner.Tuning()
    ) -> None:
        self.tuning = tuning

    def requires(self, problem: Any) -> None:
        require_smooth(problem, "The method of two levels")
        if not problem.penalty.quadratic:
            raise TypeError(
                "The method of two levels needs a smooth penalty of positive curvature."
            )
        if problem.output_shape or not TwoLevelPreconditioner.suit(self._sample(problem)):
            raise TypeError("The method of two levels needs one output, and a sparse sample.")

    def pays(self, problem: Any) -> bool:
        """Whether there are more columns than a Hessian is formed of, and few in a row."""
        if problem.output_shape or problem.shape[0] <= DENSE_HESSIAN:
            return False
        return (
            problem.smooth
            and problem.penalty.quadratic
            and TwoLevelPreconditioner.suit(self._sample(problem))
        )

    @staticmethod
    def _sample(problem: Any) -> Any:
        return problem.some(problem.design.n_samples // 4, np.random.default_rng(0))

    @with_one_blas_thread
    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> TwoLevelsState:
        if theta.any():
            return self._first(problem, theta, rng)
        part = self._sample(problem)
        lighter = copy(part)
        lighter.upper = part.upper * (part.design.n_samples / problem.design.n_samples)
        start = self._optimum(lighter, problem.null_point(), rng, problem.check_interrupt)
        state = self._first(problem, start, rng)
        if not state.value < problem.null_loss():
            return self._first(problem, theta, rng)
        return state

    def _first(self, problem: Any, theta: np.ndarray, rng: np.random.Generator) -> TwoLevelsState:
        # The pass that evaluates the point also gives the diagonal of the Hessian there.
        problem.look_twice(theta, diagonal=True)
        return TwoLevelsState.at(problem, theta, rng=rng)

    def _optimum(
        self,
        part: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        check_interrupt: Callable[[], None],
    ) -> np.ndarray:
        """An approximate optimum on rows in memory, after that on some of them."""
        n = part.design.n_samples
        if n >= _FEW / _PART:
            few = part.some(int(_PART * n), rng)
            few.upper = few.upper * _PART
            theta = self._optimum(few, theta, rng, check_interrupt)
        tuning = newton.Tuning(levels=self.tuning)
        solver = Newton(dense=False, max_inner=_PRODUCTS, levels=True, tuning=tuning)
        start = solver.at(part, theta)
        found = optimum_of_sample(solver, part, start, _STEPS, _ENOUGH, check_interrupt)
        return np.asarray(found.theta)

    def _with_levels(self, problem: Any, state: TwoLevelsState) -> TwoLevelsState:
        diagonal = problem.hessian_diagonal(problem.curvature(state.scores))
        levels = TwoLevelPreconditioner.of(
            self._sample(problem), state.theta, diagonal, state.rng, self.tuning
        )
        return replace(state, levels=levels, slow=0)

    @staticmethod
    def _between(state: TwoLevelsState) -> tuple[np.ndarray, np.ndarray]:
        """The move to the minimum of the model between remembered points; its gradient there."""
        move, ahead = np.zeros_like(state.theta), state.gradient
        if not state.pairs:
            return move, ahead
        steps = [step for step, _ in state.pairs]
        changes = [change for _, change in state.pairs]
        model = np.array([[inner(s, y) for y in changes] for s in steps])
        model = 0.5 * (model + model.T)
        size = np.sqrt(np.maximum(np.diagonal(model), np.finfo(float).tiny))
        slopes = np.array([inner(s, state.gradient) for s in steps]) / size
        values, vectors = np.linalg.eigh(model / np.outer(size, size))
        there = values > _LOST * values[-1]
        shares = vectors[:, there] @ ((vectors[:, there].T @ -slopes) / values[there]) / size
        for share, step, change in zip(shares.tolist(), steps, changes, strict=True):
            move = move + share * step
            ahead = ahead + share * change
        return move, ahead

    def _direction(
        self, problem: Any, state: TwoLevelsState, move: np.ndarray, ahead: np.ndarray
    ) -> np.ndarray:
        """The move, then the step of the rare columns, and then that of the coarse ones.

        ``ahead`` is the gradient after the move.  Its change with the rare columns is that of the
        sample, whose slopes bend as those of all rows do.
        """
        assert state.levels is not None
        part, levels = self._sample(problem), state.levels
        bend = problem._penalty_curvature()
        middle = state.theta + move
        before = part.evaluate(middle).adjoint
        step = -state.share * levels.fine(ahead)
        last = np.zeros_like(step)
        first = size = np.inf
        damping = 1.0
        for k in range(_FOLLOWING):
            rest = ahead + part.evaluate(middle + step).adjoint - before + bend * step
            change = -levels.coarse(rest)
            now = -inner(change, rest)
            if not now <= size:
                # Slopes have become steeper than in the factor.
                damping, last = 0.5 * damping, 0.5 * last
                step = step - last
                continue
            if k == 0:
                first = now
            elif now <= _FOLLOWED * first:
                break
            size, last = now, damping * change
            step = step + last
        return move + step

    @with_one_blas_thread
    def step(
        self, problem: Any, state: TwoLevelsState, check_interrupt: Callable[[], None]
    ) -> TwoLevelsState:
        young = state.count <= _YOUNG
        if state.levels is None or state.slow >= _PATIENCE or young:
            state = self._with_levels(problem, state)
        levels = state.levels
        assert levels is not None
        check_interrupt()
        move, ahead = self._between(state)
        direction = self._direction(problem, state, move, ahead)
        if not inner(state.gradient, direction) < 0.0:
            # The model between the points is worn out.
            state = replace(state, pairs=())
            direction = -levels.solve(state.gradient)
        direction, slope = descent_direction(state, direction)
        if state.count < _YOUNG:
            there = problem.canonical(state.theta + direction)
            problem.look_twice(there, diagonal=True)
        new, t = line_step(problem, state, direction, slope, check_interrupt, steepest=np.inf)
        if t == 0.0:
            return new
        # The place of the minimum along the direction, by the slopes at both ends.
        end = inner(new.gradient, direction)
        best = t * slope / (slope - end) if end > slope else 2.0
        share = state.share
        if not _SHORT <= best <= _LONG:
            share = float(np.clip(share * np.sqrt(np.clip(best, 0.25, 2.0)), _LEAST, _SHARE))
        pair = (new.theta - state.theta, new.gradient - state.gradient)
        pairs = state.pairs
        if inner(*pair) > 1e-12 * norm(pair[0]) * norm(pair[1]):
            pairs = (*pairs, pair)[-_MEMORY:]
        slow = state.slow + int(self.gap(problem, new) > _SLOW * self.gap(problem, state))
        return replace(new, pairs=pairs, slow=slow, count=state.count + 1, share=share)
