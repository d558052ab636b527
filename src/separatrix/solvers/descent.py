"""The common parts of methods that descend along lines: points, steps and where they begin.

A method of this kind knows the objective and its gradient at each of its points, from one pass over
the rows; it differs from the others by the directions that it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix.objectives.passes import Evaluation
from separatrix.solvers.line_search import begin, next_trial
from separatrix.solvers.protocol import Candidate, Solver

# The largest number of trials of a search along a line.
_TRIALS = 100
# The least share of a diagonal that is left beside the part that rows have in common.
_REST = 1e-3


@dataclass(frozen=True)
class Point:
    """The state of a method.

    Attributes
    ----------
    theta : ndarray
    evaluation : Evaluation
    value : float
        The objective at the point.
    gradient : ndarray
        The gradient of the loss and of the smooth part of the penalty.
    decrement : float
        The expected decrease of the objective by the last step.
    status : str or None
        The reason why the method can do no more.
    """

    theta: np.ndarray
    evaluation: Evaluation
    value: float
    gradient: np.ndarray
    decrement: float = np.inf
    status: str | None = None

    @property
    def scores(self) -> Any:
        return self.evaluation.scores

    @classmethod
    def at(cls, problem: Any, theta: np.ndarray, scores: Any = None, **more: Any) -> Self:
        """The state at a point, whose ``scores`` may be at hand."""
        found = problem.evaluate(theta, scores)
        value = problem.penalty_value(theta) + found.loss
        gradient = problem.penalty_gradient(theta) + found.adjoint
        return cls(theta, found, value, gradient, **more)


def penalty_diagonal(problem: Any) -> np.ndarray:
    """The second derivatives of the penalty, one for each entry of a point that lies flat."""
    return np.broadcast_to(problem._penalty_curvature(), problem.shape).ravel()


def gap_of_gradient(problem: Any, theta: np.ndarray, gradient: np.ndarray) -> float:
    """The part of the gap that is due to a gradient, for half the squared norm of the weights."""
    w = problem.weights_of(gradient)
    unbalanced = abs(float(gradient[-1])) if problem.fit_intercept else 0.0
    return 0.5 * inner(w, w) + unbalanced * abs(float(problem.intercept_of(theta)))


@dataclass(frozen=True)
class Common:
    """A stand-in for a Hessian: a diagonal, and beside it the part that rows have in common.

    The mean of the rows and the intercept are the longest direction of a Hessian as a rule.
    """

    diagonal: np.ndarray
    along: np.ndarray
    # The quotient of the formula of Sherman and Morrison (1950).
    share: float

    @classmethod
    def of(cls, problem: Any, curvature: np.ndarray, diagonal: np.ndarray | None = None) -> Self:
        """The stand-in with a diagonal; by default that of penalty and common part alone."""
        root = math.sqrt(float(np.add.reduce(curvature)))
        common = problem.adjoint(curvature).ravel() / (root if root > 0.0 else 1.0)
        square = common * common
        if diagonal is None:
            diagonal = penalty_diagonal(problem) + square
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        # An intercept, and a column that is constant, have no remainder.
        rest = np.maximum(diagonal - square, _REST * diagonal)
        along = common / rest
        return cls(rest, along, 1.0 / (1.0 + inner(along, common)))

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        return np.asarray(rhs / self.diagonal - self.share * inner(self.along, rhs) * self.along)


AnyPoint = TypeVar("AnyPoint", bound=Point)


class Descent(Solver):
    """A method whose states are points with an objective and a gradient."""

    # The relative gap that a fit goes to; 0 where it is not known.
    tol = 0.0

    def aimed(self, tol: float) -> Self:
        twin = copy(self)
        twin.tol = tol
        return twin

    def candidate(self, problem: Any, state: Any) -> Candidate:
        return Candidate(state.theta, scores=state.scores, evaluation=state.evaluation)

    def objective_at(self, state: Any) -> float:
        return float(state.value)

    def gap(self, problem: Any, state: Any) -> float:
        """Return the gap with the slopes as dual point: half the squared gradient, unbalanced."""
        return float(problem.penalty.gap_of_gradient(problem.weights_of(state.gradient)))

    def should_check(self, problem: Any, state: Any, tol: float) -> bool:
        # Balancing the slopes for an intercept can lessen their part of the gap.
        slack = 2.0 if problem.fit_intercept else 1.0
        return self.gap(problem, state) <= slack * tol * abs(state.value)

    def stopped(self, problem: Any, state: Any) -> str | None:
        status: str | None = state.status
        return status


class GapDescent(Descent):
    """A method whose states have a ``relative_gap``, as floats give it."""

    def should_check(self, problem: Any, state: Any, tol: float) -> bool:
        return bool(state.relative_gap <= tol)


def norm(x: np.ndarray) -> float:
    return math.sqrt(inner(x, x))


def bfgs_update(hessian: np.ndarray, s: np.ndarray, y: np.ndarray) -> None:
    """Make ``hessian s = y`` (Broyden, Fletcher, Goldfarb and Shanno, 1970).

    Where ``y`` shows no curvature along ``s``, the Hessian stays as it is.
    """
    bent, product = hessian @ s, inner(s, y)
    if product > 1e-12 * norm(s) * norm(y) and inner(s, bent) > 0.0:
        hessian += np.outer(y / product, y)
        hessian -= np.outer(bent / inner(s, bent), bent)


def descent_direction(state: Point, direction: np.ndarray) -> tuple[np.ndarray, float]:
    """The direction and the slope along it; minus the gradient where rounding has spoilt it.

    The slope is 0 where no direction descends.
    """
    slope = inner(state.gradient, direction)
    if not (np.isfinite(slope) and slope < 0.0):
        direction = -state.gradient
        slope = inner(state.gradient, direction)
    return direction, slope if np.isfinite(slope) else 0.0


def line_step(
    problem: Any,
    state: AnyPoint,
    direction: np.ndarray,
    slope: float,
    check_interrupt: Callable[[], None],
    *,
    steepest: float = -math.inf,
    left: float = 0.9,
    whole: bool = True,
) -> tuple[AnyPoint, float]:
    """The state after a step along a direction, and the length of the step.

    The length is 0 where rounding lets the objective fall no further, which the state then notes.

    Parameters
    ----------
    problem : Objective
    state : Point
    direction : ndarray
    slope : float
        The slope of the objective along the direction, below zero.
    check_interrupt : callable
    steepest : float
        The whole direction is also taken where the objective falls, and no slope is left that is
        steeper than this part of ``slope``; the search, which takes it at half of that, costs more
        than a step that is not quite the best.
    left : float
        A step along which the objective does not fall ends the method, if it leaves this part of
        the gradient's length.
    whole : bool
        Whether the whole direction is tried by an evaluation, which the next step begins with.
    """
    t, bracket, new, taken = 1.0, begin(slope), None, 0.0
    if slope < 0.0 and whole:
        check_interrupt()
        # Fresh scores: sums of updates would drift away from X w + b.
        new = Point.at(problem, problem.canonical(state.theta + direction))
        here = inner(new.gradient, direction)
        t, bracket = next_trial(1.0, new.value, here, state.value, slope, bracket)
        if bracket[0] == 1.0 and (t == 0.0 or here >= steepest * slope):
            t, taken = 0.0, 1.0
    if slope < 0.0 and t > 0.0:
        along = problem.linear(direction)
        for _ in range(_TRIALS):
            check_interrupt()
            theta = state.theta + t * direction
            loss, here = problem.along_line(state.scores, along, t)
            value = problem.penalty_value(theta) + loss
            here += inner(problem.penalty_gradient(theta), direction)
            t, bracket = next_trial(t, value, here, state.value, slope, bracket)
            if t == 0.0:
                break
        taken = bracket[0]
    if taken == 0.0:
        return replace(state, status="precision_limit"), 0.0
    if new is None or taken != 1.0:
        new = Point.at(problem, problem.canonical(state.theta + taken * direction))
    status = None
    if not new.value < state.value and norm(new.gradient) >= left * norm(state.gradient):
        status = "precision_limit"
        if new.value > state.value:
            return replace(state, status=status), 0.0
    moved = replace(
        state,
        theta=new.theta,
        evaluation=new.evaluation,
        value=new.value,
        gradient=new.gradient,
        decrement=-0.5 * slope,
        status=status,
    )
    return moved, taken


def optimum_of_sample(
    solver: Solver,
    part: Any,
    state: Any,
    steps: int,
    enough: float,
    check_interrupt: Callable[[], None],
) -> Any:
    """An approximate optimum on a sample of the rows, as exact as the sample itself.

    Steps end after one that lessens the objective by at most the share ``enough`` of it.
    """
    for _ in range(steps):
        check_interrupt()
        before, state = state, solver.step(part, state, check_interrupt)
        if state.status or before.value - state.value <= enough * abs(state.value):
            break
    return state


def column_scale(part: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of columns with which the Hessian of a sample has the diagonal of that of all rows.

    A sample has none of the rows of a rare column, or too many of them.

    Parameters
    ----------
    part, whole : ndarray
        The diagonals of the sample and of all rows.

    Returns
    -------
    scale, there : ndarray
        The factors, 1 where the sample has nothing, and whether it has anything.
    """
    there = part > 1e-12 * whole
    return np.sqrt(np.divide(whole, part, out=np.ones_like(part), where=there)), there
