"""The augmented Lagrangian of the dual, solved by a semismooth Newton method.

For losses with a kink and few features (Li, Sun and Toh, 2018, for the lasso).  Each outer step
replaces the loss by its Moreau envelope around the current multipliers,

    e_i(z) = max_a  -a z - U l*(-a/U) - (a - a_i)^2 / (2 sigma),

which is smooth, and whose maximiser ``a`` is the next multiplier.  The envelope is minimised by
Newton's method; only the rows whose multiplier lies inside its range enter the Hessian.  Unlike
a smoothing, it need not become sharper to become exact: the multipliers converge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.compilation import specialise
from separatrix._compiled.linear_algebra import inner
from separatrix.losses.hinge import _hinge_step as dual_step
from separatrix.objectives.base import Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.passes import Evaluation
from separatrix.solvers import compact
from separatrix.solvers.driver import Candidate
from separatrix.solvers.newton import Newton, NewtonState

__all__ = ["AugmentedLagrangian", "AugmentedLagrangianState"]


def _steps(centre, z, q, upper, out):
    """The proximal step of every multiplier."""
    for i in range(out.shape[0]):
        out[i] = dual_step(centre[i], z[i], q[i], upper[i]) if upper[i] > 0.0 else 0.0


class _Envelope(MarginObjective):
    """The objective with its loss replaced by the envelope around ``centre``."""

    def __init__(self, problem: MarginObjective, centre: np.ndarray, sharpness: float) -> None:
        # Shares everything with the problem it smooths; nothing is copied.
        self.__dict__.update(problem.__dict__)
        self.centre = centre
        used = problem.upper > 0.0
        whole = bool(used.all())
        self._used: Any = slice(None) if whole else used
        self._weights = problem.upper if whole else np.where(used, problem.upper, 1.0)
        # A width of the kink of 1 / sharpness in the margin, whatever the sample's weight.
        self._sigma = sharpness * self._weights
        self._width = 1.0 / self._sigma
        self._kernel = specialise(_steps, dual_step=problem.loss.dual_step)
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def smooth(self) -> bool:
        return True

    def multipliers(self, scores: np.ndarray) -> np.ndarray:
        if self._last is None or self._last[0] is not scores:
            out = np.empty_like(scores)
            self._kernel(self.centre, self.y * scores, self._width, self.upper, out)
            self._last = (scores, out)
        return self._last[1]

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        # By the products: the envelope has no compiled value of its own.
        return Objective.evaluate(self, theta, scores)

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
class AugmentedLagrangianState:
    """The envelope in use, and where Newton's method stands on it."""

    envelope: _Envelope
    newton: NewtonState
    sharpness: float
    fresh: bool = False
    stalled: int = 0


class AugmentedLagrangian:
    """Semismooth Newton on a sequence of envelopes.  Needs a dual step and an L2 penalty.

    Parameters
    ----------
    growth : float
        Factor on the sharpness from one envelope to the next.
    """

    def __init__(self, growth: float = 3.0) -> None:
        self.growth = growth
        self._newton = Newton()

    def requires(self, problem: MarginObjective) -> None:
        if not hasattr(problem.loss, "dual_step"):
            raise TypeError(
                f"The augmented Lagrangian needs 'dual_step', which {problem.loss!r} does not have."
            )
        if problem.penalty.curvature != 1.0:
            raise TypeError("The augmented Lagrangian needs a penalty of curvature 1 (L2).")

    def init(
        self,
        problem: MarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> Any:
        if not problem.loss.smooth and compact.fits(problem):
            return compact.start(problem, theta, residual, self.growth)
        # A kink as wide as the margin itself.
        centre = np.zeros_like(problem.upper)
        if residual is not None:
            centre = problem.multipliers(residual)
        envelope = _Envelope(problem, centre, 1.0)
        newton = Newton.at(envelope, theta)
        return AugmentedLagrangianState(envelope, newton, 1.0)

    def step(
        self,
        problem: MarginObjective,
        state: Any,
        check_interrupt: Callable[[], None],
    ) -> Any:
        if isinstance(state, compact.CompactState):
            return compact.step(problem, state)
        newton = self._newton.step(state.envelope, state.newton, check_interrupt)
        w = problem.weights_of(newton.gradient)
        residual = state.envelope.residual(newton.scores)
        slack = problem.fenchel_young(newton.scores, residual)
        # The gap is the sum of two parts: half the squared gradient, which Newton's method
        # lowers, and the slack, which only new multipliers lower.  Work on the larger.
        unbalanced = abs(float(newton.gradient[-1])) if problem.fit_intercept else 0.0
        distance = 0.5 * inner(w, w) + unbalanced * abs(float(problem.intercept_of(newton.theta)))
        if distance > 0.5 * slack and newton.status is None:
            return AugmentedLagrangianState(state.envelope, newton, state.sharpness)
        stalled = state.stalled + 1 if newton.status is not None else 0
        sharpness = state.sharpness * self.growth
        centre = state.envelope.multipliers(newton.scores)
        envelope = _Envelope(problem, centre, sharpness)
        moved = Newton.at(envelope, newton.theta, newton.scores)
        return AugmentedLagrangianState(envelope, moved, sharpness, True, stalled)

    def candidate(self, problem: MarginObjective, state: Any) -> Candidate:
        if isinstance(state, compact.CompactState):
            return compact.candidate(problem, state)
        # On a fresh envelope the multipliers that belong to this point are its centre.
        e = state.envelope
        residual = -e.y * (e.centre if state.fresh else e.multipliers(state.newton.scores))
        return Candidate(state.newton.theta, residual, state.newton.scores)

    def should_check(self, problem: MarginObjective, state: Any, tol: float) -> bool:
        if isinstance(state, compact.CompactState):
            return compact.should_check(state, tol)
        return state.fresh

    def stopped(self, problem: MarginObjective, state: Any) -> str | None:
        if isinstance(state, compact.CompactState):
            return state.status
        return "precision_limit" if state.stalled >= 4 or state.sharpness > 1e14 else None
