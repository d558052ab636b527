"""Newton's method for smooth losses.

Where the parameters are few, the Hessian is formed and factorised; otherwise the Newton system is
solved inexactly by conjugate gradients.  These are preconditioned with the Hessian's diagonal (Lin,
Weng and Keerthi, 2008; Galli and Lin, 2022); where the loss is weak, with the part that the rows
have in common; for several outputs, with the Hessian's blocks of one output each, from a sample of
the rows and kept over some steps; or, on request, with two levels of columns
(:mod:`~separatrix.solvers.two_level_preconditioner`).  The step length comes from a search along
the scores, which costs no product with the data; the objective never rises, so the method cannot
diverge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.linear_algebra import (
    conjugate_gradients,
    factorise,
    inner,
    solve_columns,
    solve_positive,
)
from separatrix.objectives.base import DENSE_HESSIAN, LinearProblem, Objective
from separatrix.solvers import (
    forecast,
    small_newton,
    small_softmax_newton,
    two_level_preconditioner,
)
from separatrix.solvers.descent import (
    Common,
    Descent,
    Point,
    descent_direction,
    line_step,
    norm,
    optimum_of_sample,
)
from separatrix.solvers.protocol import Solver, require_smooth
from separatrix.solvers.small_newton import SmallNewton
from separatrix.solvers.two_level_preconditioner import TwoLevelPreconditioner

# The weight of the Hessian's diagonal, beside the penalty, in the preconditioner of conjugate
# gradients.
_SHARE = 0.01


@dataclass(frozen=True)
class Blocks:
    """A preconditioner: the factor of each output's block of the Hessian.

    A part that all outputs have in common changes no probability: only the ``penalty`` acts on it.
    """

    upper: np.ndarray
    scale: np.ndarray
    penalty: float

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        d, outputs = rhs.shape
        mean = rhs.mean(axis=1, keepdims=True)
        centred, out = rhs - mean, np.empty((outputs, d))
        parts = pool.ranges(outputs, 2.0 * rhs.size * d)
        pool.run([partial(solve_columns, self.upper, self.scale, centred, out, *r) for r in parts])
        # Centred on both sides, so that it is symmetric.
        out += mean[:, 0] / self.penalty - out.mean(axis=0)
        return np.ascontiguousarray(out.T)


@dataclass(frozen=True)
class NewtonState(Point):
    """The state of the method.

    ``diagonal``, ``blocks`` or ``levels`` is the preconditioner in use, and ``products`` the number
    of products that were taken with it.
    """

    diagonal: np.ndarray | Common | None = None
    blocks: Blocks | None = None
    levels: TwoLevelPreconditioner | None = None
    products: int = 0


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of Newton's method, which affect its speed but not its optimum.

    Parameters
    ----------
    small : bool
        Whether small problems have compiled steps.
    large : int
        The number of stored entries from which a start on a sample of the rows is worth its
        overhead.
    block : int
        The largest number of parameters of an output whose block of the Hessian is factorised.
    rows : int
        The number of rows, for each of its parameters, that such a block is formed from.
    patience : float
        The multiple of the operations for blocks that products have to take before blocks are
        formed.
    renewal : float
        The multiple of that which products with blocks have to take before blocks are formed anew.
    around : float
        The overhead of a block beside its arithmetic, in operations.
    worn : int
        The number of products after which two levels of columns are made anew, which takes about
        as long.
    aimed : float
        The part of the tolerance at which the last step aims.
    longest : float
        The largest squared length of a column, as a multiple of the penalty, with which blocks are
        formed.
    levels : two_level_preconditioner.Tuning
        The sizes of the two levels of columns.
    dense : int
        The largest number of parameters for which a Hessian is formed.
    """

    small: bool = True
    large: int = 5_000_000
    block: int = 1500
    rows: int = 4
    patience: float = 1.3
    renewal: float = 2.0
    around: float = 3e6
    worn: int = 30
    aimed: float = 0.25
    longest: float = 1e10
    levels: two_level_preconditioner.Tuning = two_level_preconditioner.Tuning()
    dense: int = DENSE_HESSIAN


class Newton(Descent):
    """Newton's method with a line search.

    Parameters
    ----------
    dense : bool, optional
        Whether to form and factorise the Hessian; default: when it is small enough to pay off.
    max_inner : int
        The largest number of conjugate-gradient products in one step.
    levels : bool
        Whether to precondition conjugate gradients with two levels of columns, which needs sparse
        rows, one output and a curved penalty.
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "newton"

    def __init__(
        self,
        dense: bool | None = None,
        max_inner: int = 200,
        levels: bool = False,
        tuning: Tuning = Tuning(),
    ) -> None:
        self.dense = dense
        self.max_inner = max_inner
        self.levels = levels
        self.tuning = tuning

    def requires(self, problem: Objective) -> None:
        require_smooth(problem, "Newton's method")
        if problem.penalty.kinked:
            raise TypeError(
                "Newton's method needs a penalty without a kink; L1 has one at zero, and bounds "
                "are kinks."
            )
        if self.levels and (problem.output_shape or not TwoLevelPreconditioner.suit(problem)):
            raise TypeError("Two levels of columns need one output, and sparse rows in memory.")

    def suited(self, problem: Objective) -> Solver:
        """The method for a problem: compiled steps for a small one."""
        if self.tuning.small and self.dense is not False:
            for of_kind in (small_newton, small_softmax_newton):
                if of_kind.fits(problem):
                    return SmallNewton(self.name, of_kind.start)
        return self

    def judges_start(self, problem: Objective) -> bool:
        """Whether the gradient at the start bounds the gap there."""
        return bool(problem.penalty.coercive)

    def init(
        self,
        problem: Objective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> NewtonState:
        if not theta.any() and problem.penalty.strong_convexity > 0.0:
            theta = self._head_start(problem, theta, rng)
        return self.at(problem, theta)

    def _head_start(
        self, problem: Objective, theta: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """A point from a sixteenth of the rows, where even those determine the weights.

        It costs less than half an iteration on all rows and saves two or three.
        """
        n = problem.design.n_samples
        if problem.design.n_stored < self.tuning.large or n < 1600 * np.prod(problem.shape):
            return theta
        part = problem.sample(np.sort(rng.choice(n, n // 16, replace=False)))
        state = self.at(part, theta)
        there = optimum_of_sample(self, part, state, 10, 1e-4, problem.check_interrupt)
        return np.asarray(there.theta)

    at = staticmethod(NewtonState.at)

    def is_dense(self, problem: LinearProblem) -> bool:
        """Whether to factorise: Gram matrices must not cost far more than tens of products."""
        if self.dense is not None:
            return self.dense
        size = int(np.prod(problem.shape))
        if size > self.tuning.dense:
            return False
        if problem.in_passes:
            # A Hessian takes a pass, and so does each product.
            return True
        if int(np.prod(problem.output_shape)) > 1:
            return forecast.step_by_hessian(problem) <= forecast.step_by_products(problem)
        return forecast.hessian_pays(problem)

    def direction(
        self, problem: Objective, state: NewtonState, check_interrupt: Callable[[], None]
    ) -> tuple[np.ndarray, NewtonState]:
        """The step to try, and the state with the preconditioner and the count of its products."""
        curvature = problem.curvature(state.scores)
        check_interrupt()
        if self.is_dense(problem):
            hessian = problem.step_hessian(curvature)
            check_interrupt()
            step = solve_positive(hessian, -state.gradient.ravel()).reshape(problem.shape)
            return step, state
        products = 0

        def product(p: np.ndarray) -> np.ndarray:
            nonlocal products
            check_interrupt()
            products += 1
            return problem.hessian_product(curvature, p)

        preconditioner, state = self._preconditioner(problem, state, curvature, check_interrupt)
        step = conjugate_gradients(
            product,
            -state.gradient,
            preconditioner,
            tol=self._exactness(problem, state),
            max_iter=self.max_inner,
        )
        # The diagonal is kept for as long as it solves the systems: the curvature may leave
        # some columns sooner than others, where margins grow.
        diagonal = None if products >= self.max_inner else state.diagonal
        return step, replace(state, diagonal=diagonal, products=state.products + products)

    def _exactness(self, problem: Objective, state: NewtonState) -> float:
        """The factor by which the residual of a Newton system is to fall."""
        relative = norm(state.gradient) / max(abs(state.value), 1e-300)
        enough = np.sqrt(relative)
        if self.tol > 0.0 and problem.penalty.strong_convexity > 0.0:
            # The gap falls with the square of the gradient: no further than it has to.
            gap = self.gap(problem, state)
            goal = self.tuning.aimed * self.tol * abs(state.value)
            enough = max(enough, np.sqrt(goal / gap)) if gap > goal else enough
        return float(np.clip(enough, 0.1, 0.5))

    def _preconditioner(
        self,
        problem: Objective,
        state: NewtonState,
        curvature: np.ndarray,
        check_interrupt: Callable[[], None],
    ) -> tuple[np.ndarray | Callable[[np.ndarray], np.ndarray], NewtonState]:
        """The stand-in for the Hessian, and the state that keeps it."""
        if self.levels and (state.levels is None or state.products > self.tuning.worn):
            check_interrupt()
            levels = self._levels(problem, state.theta, curvature)
            state = replace(state, levels=levels, products=0)
        if state.levels is not None:
            return state.levels.solve, state
        # Existing blocks wear out slowly.
        worn = 1.0 if state.blocks is None else self.tuning.renewal
        if state.products > worn * self._patience(problem):
            state = replace(
                state, blocks=self._blocks(problem, curvature, check_interrupt), products=0
            )
        if state.blocks is not None:
            return state.blocks.solve, state
        diagonal = state.diagonal
        if diagonal is None or not problem.penalty.coercive:
            weak = self._is_weak(problem, curvature)
            diagonal = Common.of(problem, curvature) if weak else self._diagonal(problem, curvature)
        state = replace(state, diagonal=diagonal)
        return diagonal.solve if isinstance(diagonal, Common) else diagonal, state

    @staticmethod
    def _is_weak(problem: Objective, curvature: np.ndarray) -> bool:
        """Whether the diagonal is the penalty's, because no column is longer than all rows are.

        The part that the rows have in common is then the first that conjugate gradients find.
        """
        penalty = problem.penalty.strong_convexity
        if problem.in_passes or problem.output_shape or curvature.ndim > 1 or not penalty > 0.0:
            return False
        return _SHARE * inner(curvature, problem.design.row_squares()) <= penalty

    def _patience(self, problem: Objective) -> float:
        """The number of products after which blocks of the Hessian pay; infinite where never."""
        d, stored = problem.shape[0], problem.design.n_stored
        if not (
            hasattr(problem, "hessian_block")
            and problem.penalty.strong_convexity > 0.0
            and d <= self.tuning.block
        ):
            return np.inf
        of_block = self.tuning.rows * d**3 + d**3 / 3.0 + self.tuning.around
        return self.tuning.patience * of_block / (4.0 * stored)

    def _blocks(
        self, problem: Any, curvature: np.ndarray, check_interrupt: Callable[[], None]
    ) -> Blocks | None:
        outputs, size = problem.output_shape[0], problem.shape[0]
        upper, scale = np.empty((outputs, size, size)), np.empty((outputs, size))
        found = [False] * outputs

        def fill(first: int, last: int) -> None:
            for k in range(first, last):
                check_interrupt()
                block = problem.hessian_block(curvature, k, self.tuning.rows * size)
                # Columns so long that the penalty is lost in rounding would mislead.
                if not np.all(
                    np.diagonal(block) <= self.tuning.longest * problem.penalty.strong_convexity
                ):
                    return
                try:
                    factor = factorise(block)
                except np.linalg.LinAlgError:
                    return
                upper[k], scale[k], found[k] = factor.lower.T, factor.scale, True

        # A thread takes whole classes: their sums need no further matrices then.
        with pool.one_blas_thread():
            parts = pool.ranges(outputs, float(outputs) * size**3)
            pool.run([partial(fill, *part) for part in parts])
        return Blocks(upper, scale, problem.penalty.strong_convexity) if all(found) else None

    def _levels(
        self, problem: Objective, theta: np.ndarray, curvature: np.ndarray
    ) -> TwoLevelPreconditioner | None:
        diagonal = problem.hessian_diagonal(curvature)
        # Columns so long that the penalty is lost in rounding would mislead.
        if not np.all(diagonal <= self.tuning.longest * problem.penalty.strong_convexity):
            return None
        with pool.one_blas_thread():
            try:
                return TwoLevelPreconditioner.of(
                    problem, theta, diagonal, np.random.default_rng(0), self.tuning.levels
                )
            except np.linalg.LinAlgError:
                return None

    @staticmethod
    def _diagonal(problem: Objective, curvature: np.ndarray) -> np.ndarray:
        diagonal = problem.hessian_diagonal(curvature)
        # An intercept that no active row touches has no curvature of its own.
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        if problem.penalty.strong_convexity > 0.0:
            # The diagonal alone would spoil a system that the penalty conditions well; a hundredth
            # of it is still enough for columns of wild scale (Galli and Lin, 2022).
            diagonal = (1.0 - _SHARE) * problem.penalty.strong_convexity + _SHARE * diagonal
        return diagonal

    def step(
        self, problem: Objective, state: NewtonState, check_interrupt: Callable[[], None]
    ) -> NewtonState:
        direction, state = self.direction(problem, state, check_interrupt)
        direction, slope = descent_direction(state, direction)
        new, length = line_step(problem, state, direction, slope, check_interrupt, left=0.5)
        if length == 0.0:
            return new
        status = receding(problem, new.scores, new.value, direction, slope)
        return new if status is None else replace(new, status=status)

    def should_check(self, problem: Objective, state: Any, tol: float) -> bool:
        if not problem.penalty.coercive:
            return bool(state.decrement <= 10.0 * tol * abs(state.value))
        return super().should_check(problem, state, tol)


def receding(
    problem: Objective,
    scores: np.ndarray,
    value: float,
    direction: np.ndarray | None = None,
    slope: float = -np.inf,
) -> str | None:
    """The status where no point is optimal, because the loss falls for ever.

    ``direction``: a step of Newton's method; ``slope``: the slope of the objective along it.
    """
    if problem.penalty.coercive or not problem.loss.recedes:
        return None
    if problem.separates(scores):
        return "separable" if problem.of_classes else "unattained"
    # Far from the optimum a step still lowers losses that have a least value.  Once those are at
    # their least, a step takes as large a part of the rest as ever.
    ended = -slope < 1e-2 * abs(value) or (-slope > 0.5 * abs(value) and not problem.of_classes)
    if direction is None or not ended or not problem.has_recession_direction(scores, direction):
        return None
    return "quasi_separable" if problem.of_classes else "unattained"
