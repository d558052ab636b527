r"""Interior points of a loss that is the largest of a few lines, for few columns.

The loss of a row is the least height :math:`t` above its lines,
:math:`s_k = t - (m_k z + c_k) \ge 0`, and its multiplier a mean of their slopes with the weights
:math:`p_k \ge 0` that sum to one.  At the optimum :math:`p_k s_k = 0`; here all of these products
are about the same :math:`\mu > 0`, which falls by a factor with every step.  A step solves one
linear system, twice: towards zero, which shows how far :math:`\mu` may fall, and towards that value
with the error of the first (Mehrotra, 1992).  The system has the size of the columns, for each row
moves along its own lines alone (Ferris and Munson, 2002): it is the Hessian of losses with the
curvature :math:`\sum_k (p_k / s_k) (m_k - \bar m)^2`.

The number of steps hardly depends on the data: neither collinear columns nor rows that come to
their kinks late make them more.

References
----------
Mehrotra (1992), On the implementation of a primal-dual interior point method.  Ferris and Munson
(2002), Interior-point methods for massive support vector machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled import compilation
from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import factorise, inner
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.descent import gap_of_gradient, penalty_diagonal
from separatrix.solvers.protocol import Candidate, Solver

# The share of the way to the nearest end of a range that a step goes.
_SHORT = 0.995
# The share by which the weights of the lines of a given dual point are moved towards equal ones,
# and the factor by which the products at the start exceed those of its gap: from the very ends of
# their ranges steps would be short.
_EVEN, _WIDER = 0.3, 10.0
_LEAST = 1e-300
# The share of the objective down to which a fall of the products is a gain; the part of the last
# products, or of the least gap so far, that a step with a gain leaves at most; and the number of
# steps without a gain after which rounding has ended the method: at first, far from a dual point,
# several steps may gain nothing.
_FINEST, _GAINED, _STILL = 1e-14, 0.999, 10
# Once the products are at most this share of the objective, the slope is computed from the rows,
# because the slope that is carried from step to step gathers their rounding.
_EXACT = 1e-5


_loop = njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")


@_loop
def _curvatures(slopes, above, shares, upper, bend, mean):
    """Find the curvature of every row, and the mean slope of its lines, weighted by ``p / s``."""
    for i in range(len(upper)):
        total, first = 0.0, 0.0
        for k in range(len(slopes)):
            stiff = shares[k, i] / above[k, i]
            total += stiff
            first += stiff * slopes[k]
        mean[i] = first / total
        second = 0.0
        for k in range(len(slopes)):
            second += shares[k, i] / above[k, i] * (slopes[k] - mean[i]) ** 2
        bend[i] = upper[i] * second


@_loop
def _pushes(slopes, change, mean, weight, push):
    """Find how the residual changes with the weights of the lines where no score moves."""
    for i in range(len(push)):
        total = 0.0
        for k in range(len(slopes)):
            total += (slopes[k] - mean[i]) * change[k, i]
        push[i] = weight[i] * total


@_loop
def _moves(slopes, above, shares, mean, change, z, upper, rises, turns):
    """Find the moves of the heights and of the weights, the longest steps, and three sums.

    The sums are of ``U p ds``, of ``U s dp`` and of ``U ds dp``.
    """
    far, wide = 1.0, 1.0
    lifted, turned, both = 0.0, 0.0, 0.0
    for i in range(len(z)):
        total, left = 0.0, 0.0
        for k in range(len(slopes)):
            total += shares[k, i] / above[k, i]
            left += change[k, i]
        for k in range(len(slopes)):
            s, p = above[k, i], shares[k, i]
            rise = left / total + (mean[i] - slopes[k]) * z[i]
            turn = change[k, i] - p / s * rise
            rises[k, i], turns[k, i] = rise, turn
            if s + far * rise < 0.0:
                far = -s / rise
            if p + wide * turn < 0.0:
                wide = -p / turn
            lifted += upper[i] * p * rise
            turned += upper[i] * s * turn
            both += upper[i] * rise * turn
    return far, wide, lifted, turned, both


@dataclass(frozen=True)
class InteriorPointState:
    """The state of the method.

    Attributes
    ----------
    theta, scores : ndarray
    value : float
        The objective at the point.
    above : ndarray of shape (n_lines, n_samples)
        The heights ``s`` of every row above its lines.
    shares : ndarray of shape (n_lines, n_samples)
        The weights ``p`` of the lines.
    slope : ndarray
        The slope of the Lagrangian in ``theta``, which is zero at a dual point.
    products : float
        The sum of the products ``U p s``.
    gap : float
        An upper bound of the gap of the point and the multipliers, in floating point.
    least : float
        The least gap so far.
    lowest : ndarray
        The point of the least objective so far, since the objective rises at times.
    lowest_value : float
        The objective at ``lowest``.
    still : int
        The number of steps since the last one that gained something.
    """

    theta: np.ndarray
    scores: np.ndarray
    value: float
    above: np.ndarray
    shares: np.ndarray
    slope: np.ndarray
    products: float
    gap: float
    least: float
    lowest: np.ndarray
    lowest_value: float
    still: int = 0


class InteriorPoint(Solver):
    """Mehrotra's predictor and corrector.  Needs a loss of lines, and an L2 penalty."""

    name = "interior-point"

    @staticmethod
    def suits(problem: Any) -> bool:
        """Whether the loss has lines, and the penalty is half the squared norm."""
        lines = isinstance(problem, PointwiseObjective) and bool(problem.loss.pieces)
        return lines and bool(problem.penalty.ridge)

    def requires(self, problem: PointwiseObjective) -> None:
        if not getattr(problem.loss, "pieces", ()):
            raise TypeError(
                f"The interior-point method needs 'pieces', which {problem.loss!r} does not have."
            )
        if not problem.penalty.ridge:
            raise TypeError("The interior-point method needs an L2 penalty.")

    def init(
        self,
        problem: PointwiseObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> InteriorPointState:
        theta = np.array(theta, dtype=np.float64)
        if residual is None and problem.balances:
            # Where the intercept is the whole answer, interior points come near but never reach it.
            of_weights = problem.linear(problem.join(problem.weights_of(theta), 0.0))
            theta[-1] = problem.best_intercept(of_weights)
        scores = problem.linear(theta)
        slopes, levels = problem.loss.lines
        heights = slopes[:, None] * problem._argument(scores) + levels[:, None]
        short = heights.max(axis=0) - heights
        total = max(float(problem.upper.sum()), _LEAST)
        if residual is None:
            # At first the mean loss, or the mean distance of the lines if that is larger.
            level = max(problem.loss_value(scores) / total, float(short.mean())) or 1.0
            above = short + _margin(short, level)
            return self._at(problem, theta, scores, above, level / above)
        residual = problem.clipped(residual)
        slack = problem.fenchel_young(scores, residual) / total
        above = short + _margin(short, max(_WIDER * slack / len(short), _LEAST))
        slope = np.zeros_like(scores)
        np.divide(problem.y * residual, problem.upper, out=slope, where=problem.upper > 0.0)
        lines = np.eye(len(short))
        shares = np.array([np.interp(slope, slopes, line) for line in lines])
        shares += _EVEN * (1.0 / len(short) - shares)
        return self._at(problem, theta, scores, above, shares)

    @staticmethod
    def _at(
        problem: PointwiseObjective,
        theta: np.ndarray,
        scores: np.ndarray,
        above: np.ndarray,
        shares: np.ndarray,
        slope: np.ndarray | None = None,
        before: InteriorPointState | None = None,
    ) -> InteriorPointState:
        value = problem.value(theta, scores)
        products = sum(inner(problem.upper, s * p) for s, p in zip(above, shares, strict=True))
        if slope is None or products <= _EXACT * abs(value):
            slope = problem.penalty_gradient(theta) + problem.adjoint(_residual(problem, shares))
        gap = products + gap_of_gradient(problem, theta, slope)
        still, least, lowest, lowest_value = 0, gap, theta, value
        if before is not None:
            fell = products <= _GAINED * before.products and products > _FINEST * abs(value)
            still = 0 if fell or gap <= _GAINED * before.least else before.still + 1
            least = min(gap, before.least)
            if before.lowest_value < value:
                lowest, lowest_value = before.lowest, before.lowest_value
        return InteriorPointState(
            theta, scores, value, above, shares, slope,
            products, gap, least, lowest, lowest_value, still,
        )  # fmt: skip

    def step(
        self,
        problem: PointwiseObjective,
        state: InteriorPointState,
        check_interrupt: Callable[[], None],
    ) -> InteriorPointState:
        above, shares, upper = state.above, state.shares, problem.upper
        slopes = problem.loss.lines[0]
        weight, mean, push = upper * problem.y, np.empty_like(upper), np.empty_like(upper)
        _curvatures(slopes, above, shares, upper, push, mean)
        try:
            factor = factorise(problem.hessian(push))
        except np.linalg.LinAlgError:
            return replace(state, still=_STILL)
        check_interrupt()
        rises, turns = np.empty_like(above), np.empty_like(shares)

        def move(change: np.ndarray) -> tuple[np.ndarray, tuple[float, ...]]:
            """The move of ``theta``, and the result of :func:`_moves`.

            ``change``: the change of the weights where no height moves.
            """
            _pushes(slopes, change, mean, weight, push)
            by = -factor.solve(state.slope + problem.adjoint(push))
            z = problem.y * problem.linear(by)
            return by, _moves(slopes, above, shares, mean, change, z, upper, rises, turns)

        # The products that are left after the step towards zero show how far they may fall at once.
        _, (t, u, lifted, turned, both) = move(-shares)
        left = max(
            1.0 + (t * lifted + u * turned + t * u * both) / max(state.products, _LEAST), 0.0
        )
        level = state.products / max(len(shares) * float(upper.sum()), _LEAST)
        check_interrupt()
        by, (t, u, *_) = move((left**3 * level - rises * turns) / above - shares)
        t, u = min(1.0, _SHORT * t), min(1.0, _SHORT * u)
        theta = state.theta + t * by
        rises *= t
        rises += above
        turns *= u
        turns += shares
        # The product of the data with the move of the residual is known from the system.
        bent = penalty_diagonal(problem) * by
        slope = (1.0 - u) * state.slope + (t - u) * bent
        new = self._at(problem, theta, problem.linear(theta), rises, turns, slope, state)
        return new if math.isfinite(new.gap) else replace(state, still=_STILL)

    def candidate(self, problem: PointwiseObjective, state: InteriorPointState) -> Candidate:
        return Candidate(state.theta, _residual(problem, state.shares), state.scores)

    def earlier(self, problem: PointwiseObjective, state: InteriorPointState) -> Candidate | None:
        return Candidate(state.lowest) if state.lowest_value < state.value else None

    def objective_at(self, state: InteriorPointState) -> float:
        return state.value

    def outlook(self, problem: PointwiseObjective, state: InteriorPointState) -> float:
        return state.gap / max(abs(state.value), _LEAST)

    def should_check(
        self, problem: PointwiseObjective, state: InteriorPointState, tol: float
    ) -> bool:
        # The gap itself is smaller than this bound of it.
        near = self.outlook(problem, state) <= 3.0 * tol or state.value == 0.0
        return near or (state.still > 0 and state.gap <= abs(state.value))

    def stopped(self, problem: PointwiseObjective, state: InteriorPointState) -> str | None:
        return "precision_limit" if state.still >= _STILL else None


def _margin(short: np.ndarray, level: float) -> np.ndarray:
    """The height ``h`` above the largest line with which ``sum level / (short + h)`` is one."""
    # The sum falls and is convex: from below, Newton's method does not pass the root.
    height = np.full(short.shape[1], level)
    for _ in range(20):
        each = level / (short + height)
        off = each.sum(axis=0) - 1.0
        height += off / (np.square(each).sum(axis=0) / level)
        if off.max(initial=0.0) < 1e-3:
            break
    return height


def _residual(problem: PointwiseObjective, shares: np.ndarray) -> np.ndarray:
    # Weights add up to one but for their rounding.
    return problem.clipped(
        problem.upper * problem.y * np.einsum("ki,k->i", shares, problem.loss.lines[0])
    )
