"""The augmented Lagrangian of the dual, solved by a semismooth Newton method.

For losses with a kink and few features (Li, Sun and Toh, 2018, for the lasso).  Each outer step
replaces the loss by its Moreau envelope around the current multipliers,

    e_i(z) = max_a  -a z - U l*(-a/U) - (a - a_i)^2 / (2 sigma),

which is smooth, and whose maximiser ``a`` is the next multiplier.  The envelope is minimised by
Newton's method; only the rows whose multiplier lies inside its range enter the Hessian.  Unlike
a smoothing, it need not become sharper to become exact: the multipliers converge.

Most rows of a large table are far from the kink, and nothing that a fit still does moves them past
it.  Their multipliers are held at the ends of their ranges, where their losses are straight, and
add up to one vector: Newton's method reads the rows in play alone (as decomposition does for
kernels; Joachims, 1999).  Now and then a look at all rows shows what gap the held ones hide, and
chooses anew.  The first choice is made at the optimum on a sample of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled.compilation import specialise
from separatrix._compiled.linear_algebra import inner
from separatrix.losses.hinge import _hinge_slope as dual_slope
from separatrix.losses.hinge import _hinge_step as dual_step
from separatrix.objectives.base import Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import small_newton
from separatrix.solvers.descent import gap_of_gradient
from separatrix.solvers.newton import Newton, NewtonState
from separatrix.solvers.protocol import Candidate, Solver


def _steps(centre, z, q, upper, out):
    """The proximal step of every multiplier."""
    for i in range(out.shape[0]):
        out[i] = dual_step(centre[i], z[i], q[i], upper[i]) if upper[i] > 0.0 else 0.0


def _holds(alpha, y, scores, upper, low, high, out):
    """The slopes that hold multipliers at an end of their range; not above zero: not held."""
    for i in range(out.shape[0]):
        u = upper[i]
        slope = dual_slope(alpha[i], y[i] * scores[i], u)
        if u <= 0.0:
            out[i] = np.inf
        elif alpha[i] <= low * u:
            out[i] = slope
        elif alpha[i] >= high * u:
            out[i] = -slope
        else:
            out[i] = 0.0


class _Envelope(MarginObjective):
    """The objective with its loss replaced by the envelope around ``centre``.

    ``held`` are the rows whose loss is straight, as a constant and a gradient.
    """

    def __init__(
        self,
        problem: MarginObjective,
        centre: np.ndarray,
        sharpness: float,
        held: tuple[float, np.ndarray] | None = None,
    ) -> None:
        # Shares everything with the problem it smooths; nothing is copied.
        self.__dict__.update(problem.__dict__)
        self._held = held
        self.centre = centre
        used = problem.upper > 0.0
        whole = bool(used.all())
        self._used: Any = slice(None) if whole else used
        self._weights = problem.upper if whole else np.where(used, problem.upper, 1.0)
        # A width of the kink of 1 / sharpness in the margin, whatever the sample's weight.
        self._sigma = sharpness * self._weights
        # Finite where a weight is nearly zero: rows that do not move must not cost 0 times inf.
        with np.errstate(divide="ignore", over="ignore"):
            self._width = np.minimum(1.0 / self._sigma, 1e300)
        self._kernel = specialise(_steps, dual_step=problem.loss.dual_step)
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def smooth(self) -> bool:
        return True

    def penalty_value(self, theta: np.ndarray) -> float:
        value = super().penalty_value(theta)
        return value if self._held is None else value + self._held[0] + inner(self._held[1], theta)

    def penalty_gradient(self, theta: np.ndarray) -> np.ndarray:
        gradient = super().penalty_gradient(theta)
        return gradient if self._held is None else gradient + self._held[1]

    def multipliers(self, scores: np.ndarray) -> np.ndarray:
        if self._last is None or self._last[0] is not scores:
            out = np.empty_like(scores)
            self._kernel(self.centre, self.y * scores, self._width, self.upper, out)
            self._last = (scores, out)
        return self._last[1]

    # Evaluated by products with the data: the envelope has no compiled value of its own.
    evaluate = Objective.evaluate
    along_line = Objective.along_line

    def loss_value(self, scores: np.ndarray) -> float:
        a, used = self.multipliers(scores), self._used
        u, t, c = self.upper[used], a[used], self.centre[used]
        terms = t * (self.y * scores)[used]
        terms += u * self.loss.conjugate(-t / u)
        terms += np.square(t - c) * (0.5 * self._width[used])
        return -float(np.add.reduce(terms))

    def residual(self, scores: np.ndarray) -> np.ndarray:
        return -self.y * self.multipliers(scores)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        a = self.multipliers(scores)
        low, high = self.loss.dual_lower, self.loss.dual_upper
        used = self._weights
        inside = (a > low * used) & (a < high * used) & (self.upper > 0.0)
        second = self.loss.dual_curvature(np.where(inside, a, 0.5 * used), used)
        return np.where(inside, 1.0 / (self._width + second), 0.0)


@dataclass(frozen=True)
class _Look:
    """The rows in play: all, or those that a look at all rows has chosen.

    ``held`` are the others, as a constant and a gradient.  ``alpha``, ``scores`` and ``gap`` are
    those of all rows at the look; no held row comes to its kink before its score has moved by
    ``reach``.
    """

    part: MarginObjective
    rows: np.ndarray | None = None
    held: tuple[float, np.ndarray] | None = None
    alpha: np.ndarray | None = None
    scores: np.ndarray | None = None
    gap: float = np.inf
    reach: float = np.inf

    def is_left(self, scores: np.ndarray) -> bool:
        """Whether scores of the rows in play have moved so far that others may come to a kink."""
        if self.rows is None or self.scores is None:
            return False
        return _move(scores - self.scores[self.rows]) > self.reach

    def multipliers(self, alpha: np.ndarray) -> np.ndarray:
        """The multipliers of all rows, from those of the rows in play."""
        if self.rows is None or self.alpha is None:
            return alpha
        whole = self.alpha.copy()
        whole[self.rows] = alpha
        return whole


@dataclass(frozen=True)
class AugmentedLagrangianState:
    """The envelope in use, and the state of Newton's method on it.

    ``gap`` is that of the rows in play at the last envelope that was ``fresh``, and ``looked``
    whether it is that of all rows.  ``nearest`` is the point with the least gap so far of the rows
    in play, ``least``: on the way to the next envelope gaps grow.
    """

    envelope: _Envelope
    newton: NewtonState
    sharpness: float
    look: _Look
    fresh: bool = False
    looked: bool = False
    stalled: int = 0
    gap: float = np.inf
    nearest: Candidate | None = None
    least: float = np.inf

    def multipliers(self) -> np.ndarray:
        """The multipliers of all rows that belong to the point."""
        # On a fresh envelope the multipliers that belong to this point are its centre.
        e = self.envelope
        return self.look.multipliers(e.centre if self.fresh else e.multipliers(self.newton.scores))


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of the augmented Lagrangian, which affect its speed, not its optimum.

    Parameters
    ----------
    small : bool
        Whether small problems have compiled steps.
    growth : float
        The factor of the sharpness from one envelope to the next.
    large : float
        The number of stored entries from which a look at fewer rows is worth its overhead;
        infinite for never.
    part : int
        The largest ratio of all rows to those of a sample.
    rows : int
        The least number of rows for each parameter, in a sample as well as in play.
    first : float
        The first limit on the move of the scores beyond which all rows are looked at, as a multiple
        of the error of a sample's scores.
    further : float
        The next limit, as a multiple of the last move, where that went beyond its limit.
    shorter : float
        The next limit, as a multiple of the last move, where that stayed within its limit.
    patience : int
        The largest number of steps on a sample.
    closer : float
        All rows are looked at once the gap of those in play has fallen to this part of the gap at
        the last look.
    """

    small: bool = True
    growth: float = 3.0
    large: float = 100_000
    part: int = 16
    rows: int = 4
    first: float = 8.0
    further: float = 2.0
    shorter: float = 0.5
    patience: int = 300
    closer: float = 0.05


class AugmentedLagrangian(Solver):
    """Semismooth Newton on a sequence of envelopes.  Needs a dual step and an L2 penalty.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "augmented-lagrangian"

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning
        self._newton = Newton()

    def requires(self, problem: MarginObjective) -> None:
        if not (hasattr(problem.loss, "dual_step") or small_newton.fits(problem)):
            raise TypeError(
                f"The augmented Lagrangian needs 'dual_step', which {problem.loss!r} does not have."
            )
        if not problem.penalty.ridge:
            raise TypeError("The augmented Lagrangian needs an L2 penalty.")

    def suited(self, problem: MarginObjective) -> Solver:
        """The method for a problem: compiled steps for a small one."""
        if self.tuning.small and not problem.loss.smooth and small_newton.fits(problem):
            start = partial(small_newton.start, growth=self.tuning.growth)
            return small_newton.SmallNewton(self.name, start)
        return self

    def init(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> AugmentedLagrangianState:
        rows = self._sample_size(problem)
        if rows < len(problem.y) and residual is None and not theta.any():
            index = np.sort(rng.choice(len(problem.y), rows, replace=False))
            if problem.upper[index].any():
                return self._from_sample(problem, theta, rng, index)
        # A kink as wide as the margin itself.
        centre = np.zeros_like(problem.upper)
        if residual is not None:
            centre = problem.multipliers(residual)
        envelope = _Envelope(problem, centre, 1.0)
        newton = Newton.at(envelope, theta)
        return AugmentedLagrangianState(envelope, newton, 1.0, _Look(problem))

    def _sample_size(self, problem: MarginObjective) -> int:
        n = len(problem.y)
        rows = max(n // self.tuning.part, self.tuning.rows * problem.shape[0])
        return rows if problem.design.n_stored >= self.tuning.large and 3 * rows <= n else n

    def _from_sample(
        self, problem: MarginObjective, theta: np.ndarray, rng: np.random.Generator, index: Any
    ) -> AugmentedLagrangianState:
        """The rows near the kink at the optimum of a sample."""
        part = problem.sample(index)
        small = self.init(part, theta, rng)
        # The error of a sample's scores; its optimum is found once the gap is small beside that.
        off = math.sqrt(len(theta) / len(index))
        for _ in range(self.tuning.patience):
            small = self.step(part, small, lambda: None)
            enough = 0.05 * off**2 * abs(small.newton.value)
            if small.gap <= enough or self.stopped(part, small):
                break
        return self.near(problem, small.newton.theta, off, small.sharpness)

    def near(
        self, problem: MarginObjective, theta: np.ndarray, off: float, sharpness: float = math.inf
    ) -> AugmentedLagrangianState:
        """The state at a point whose scores are off by about ``off``."""
        scores = problem.linear(theta)
        sharpness = min(sharpness, 1.0 / off)
        # Multipliers in the middle of their ranges on both sides of the kink.
        below, above = (problem.residual(scores + side / sharpness) for side in (-0.5, 0.5))
        centre = problem.multipliers(0.5 * (below + above))
        alpha = _Envelope(problem, centre, sharpness).multipliers(scores)
        return self._chosen(problem, theta, alpha, scores, self.tuning.first * off, sharpness)

    def _chosen(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        alpha: np.ndarray,
        scores: np.ndarray,
        reach: float,
        sharpness: float,
        gap: float | None = None,
    ) -> AugmentedLagrangianState:
        """An envelope of the rows that a move of the scores by ``reach`` can set free."""
        loss, n = problem.loss, len(alpha)
        hold = np.empty(n)
        specialise(_holds, dual_slope=loss.dual_slope)(
            alpha, problem.y, scores, problem.upper, loss.dual_lower, loss.dual_upper, hold
        )
        least = min(self.tuning.rows * len(theta), n)
        if np.count_nonzero(hold <= reach) < least:
            reach = float(np.partition(hold, least - 1)[least - 1])
        near = hold <= reach
        part, rows, held = problem, None, None
        if 3 * np.count_nonzero(near) <= 2 * n:
            rows = np.flatnonzero(near)
            residual = -problem.y * alpha
            residual[rows] = 0.0
            held = (-problem.conjugate_value(residual), problem.adjoint(residual))
            part = problem.of_rows(rows)
        chosen: Any = slice(None) if rows is None else rows
        envelope = _Envelope(part, alpha[chosen], sharpness, held)
        newton = Newton.at(envelope, theta, scores[chosen])
        if gap is None:
            gap = gap_of_gradient(problem, newton.theta, newton.gradient)
            gap += problem.fenchel_young(scores, -problem.y * alpha)
        look = _Look(part, rows, held, alpha, scores, gap, reach)
        return AugmentedLagrangianState(envelope, newton, sharpness, look, True, True, 0, gap)

    def step(
        self,
        problem: MarginObjective,
        state: AugmentedLagrangianState,
        check_interrupt: Callable[[], None],
    ) -> AugmentedLagrangianState:
        look = state.look
        newton = self._newton.step(state.envelope, state.newton, check_interrupt)
        state = replace(state, newton=newton, fresh=False, looked=False)
        if look.is_left(newton.scores):
            return self._look(problem, state, self.tuning.further, state.sharpness)
        # The gap is the sum of two parts: half the squared gradient, which Newton's method
        # lowers, and the slack, which only new multipliers lower.  Work on the larger.
        distance = gap_of_gradient(problem, newton.theta, newton.gradient)
        slack = look.part.fenchel_young(newton.scores, state.envelope.residual(newton.scores))
        if distance + slack < state.least:
            nearest = self.candidate(problem, state)
            state = replace(state, nearest=nearest, least=distance + slack)
        if distance > 0.5 * slack and newton.status is None:
            return state
        state = replace(state, stalled=state.stalled + 1 if newton.status is not None else 0)
        sharpness, gap = state.sharpness * self.tuning.growth, distance + slack
        whole = look.rows is None
        if self._sample_size(problem) < len(problem.y) and (
            whole or gap <= self.tuning.closer * look.gap
        ):
            return self._look(problem, state, self.tuning.shorter, sharpness)
        envelope = _Envelope(
            look.part, state.envelope.multipliers(newton.scores), sharpness, look.held
        )
        return replace(
            state,
            envelope=envelope,
            newton=Newton.at(envelope, newton.theta, newton.scores),
            sharpness=sharpness,
            fresh=True,
            looked=whole,
            gap=gap,
        )

    def _look(
        self,
        problem: MarginObjective,
        state: AugmentedLagrangianState,
        further: float,
        sharpness: float,
    ) -> AugmentedLagrangianState:
        """Look at all rows: find their gap, and choose the rows to go on with.

        The next move of the scores is taken to be ``further`` times the move since the last look.
        """
        theta, alpha, before = state.newton.theta, state.multipliers(), state.look.scores
        scores = state.newton.scores if state.look.rows is None else problem.linear(theta)
        gap = gap_of_gradient(problem, theta, state.newton.gradient)
        gap += problem.fenchel_young(scores, -problem.y * alpha)
        reach = np.inf if before is None else further * _move(scores - before)
        new = self._chosen(problem, theta, alpha, scores, reach, sharpness, gap)
        return replace(new, stalled=state.stalled, nearest=state.nearest, least=state.least)

    def candidate(self, problem: MarginObjective, state: AugmentedLagrangianState) -> Candidate:
        theta, scores = state.newton.theta, state.newton.scores
        if state.look.rows is not None:
            scores = state.look.scores if state.looked else None
        return Candidate(theta, -problem.y * state.multipliers(), scores)

    def earlier(
        self, problem: MarginObjective, state: AugmentedLagrangianState
    ) -> Candidate | None:
        """The point of the least gap so far; between two envelopes, gaps are larger."""
        return state.nearest

    def should_check(
        self, problem: MarginObjective, state: AugmentedLagrangianState, tol: float
    ) -> bool:
        return state.looked

    def stopped(self, problem: MarginObjective, state: AugmentedLagrangianState) -> str | None:
        return "precision_limit" if state.stalled >= 4 or state.sharpness > 1e14 else None


def _move(by: np.ndarray) -> float:
    """The largest move of the scores, but for a hundredth of them: outliers always move far."""
    last = len(by) - 1 - len(by) // 100
    return float(np.partition(np.abs(by), last)[last])
