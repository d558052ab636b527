r"""Methods that go from row to row, over blocks: the steps of rows in memory, block by block.

Where a step depends on the one before it there is nothing to add up: blocks are loaded ahead by
the engine and visited here, in their order, so that the weights have the same bits whoever loads
them.  A pass over the blocks is one pass over the rows of each, as ``partial_fit`` makes it, that
goes on from the block before; what the weights are worth is found out by passes like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.rounding import UNIT
from separatrix.losses import PerceptronLoss
from separatrix.objectives.base import Bound
from separatrix.objectives.enclosure import Level, gamma
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.scale.blocks import Rows, Shape
from separatrix.scale.objectives import BlockedLoss
from separatrix.scale.passes import Passes
from separatrix.solvers import select_solver
from separatrix.solvers.perceptron import MistakeDriven, MistakeDrivenState
from separatrix.solvers.protocol import Candidate, Solver
from separatrix.solvers.screening import Screening, ScreeningState
from separatrix.solvers.stochastic import (
    ResumeState,
    StochasticDescent,
    StochasticObjective,
    Visits,
)

# Points whose mistakes are remembered.
_KEPT = 4


def _loaded(rows: Rows, shared: Any, own: Any) -> Rows:
    """The rows themselves, to be visited where the weights are."""
    return rows


def _nothing() -> None:
    """Interrupts wait for the end of a block."""


# --- the perceptron -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rule:
    """The perceptron's rule on the rows of a block."""

    positive: int
    factors: np.ndarray
    margin: float
    rate: float
    fit_intercept: bool

    def objective(self, rows: Rows) -> MistakeObjective:
        weights = rows.weights
        if np.any(self.factors != 1.0):
            own = self.factors[rows.target]
            weights = own if weights is None else own * weights
        return MistakeObjective(
            rows.design,
            np.where(rows.target == self.positive, 1.0, -1.0),
            PerceptronLoss(),
            margin=self.margin,
            rate=self.rate,
            weights=weights,
            fit_intercept=self.fit_intercept,
        )


def _count(rows: Rows, shared: tuple[_Rule, np.ndarray], own: Any) -> dict[str, np.ndarray]:
    """The mistakes at a point, as floats have it, and as many as there can be."""
    rule, theta = shared
    block = rule.objective(rows)
    with np.errstate(all="ignore"):
        found = block.bound(theta)
        certain = block.certify(theta, found, 0.0, found).primal
    return {"mistakes": np.array(found.primal), "certain": np.array(certain)}


class BlockedMistakes(MistakeObjective):
    """The weight of the training mistakes, over blocks.

    Parameters
    ----------
    passes : Passes
    positive : int
        The class whose label is +1.
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    margin, rate, start, fit_intercept
        See :class:`~separatrix.objectives.mistakes.MistakeObjective`.

    Attributes
    ----------
    judge : MistakeObjective
        The objective on the sample of the rows, by which weights are compared on the way.
    """

    in_passes = True

    def __init__(
        self,
        passes: Passes,
        *,
        positive: int = 1,
        factors: np.ndarray,
        margin: float = 0.0,
        rate: float = 1.0,
        start: np.ndarray | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.passes, self.data = passes, passes.data
        self.loss = PerceptronLoss()
        self.margin, self.rate, self.start = float(margin), float(rate), start
        self.fit_intercept = bool(fit_intercept)
        self.rule = _Rule(positive, factors, self.margin, self.rate, self.fit_intercept)
        stored = np.empty(0, dtype=np.float32 if self.data.single else np.float64)
        self.design = Shape(self.data.shape, self.data.n_stored, stored)  # type: ignore[assignment]
        # Where a checkpoint goes on from.
        self.resumed: dict[str, np.ndarray] | None = None
        self._known: dict[bytes, tuple[float, float]] = {}

    @functools.cached_property
    def judge(self) -> MistakeObjective:
        sample = self.data.sample
        few = sample is None or len(sample) == 0
        return self.rule.objective(self.data.blocks[0].load() if few else sample)  # type: ignore[arg-type]

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(np.dot(self.rule.factors, self.data.class_totals))

    def recall(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Go on from what another process has kept."""
        self.resumed = account

    def _counted(self, theta: np.ndarray) -> tuple[float, float]:
        """The mistakes at a point, and as many as there can be, by a pass unless they are known."""
        if not theta.any():
            # At zero every score is zero, and that is a mistake.
            most = self.total
            if most != round(most):
                # The weights of a class have been added up row by row.
                most *= 1.0 + gamma(self.data.n_rows + len(self.rule.factors))
            return self.total, most
        key = theta.tobytes()
        if key not in self._known:
            found = self.passes.sums(_count, (self.rule, theta), self._check)
            if len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = float(found["mistakes"]), float(found["certain"])
        return self._known[key]

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        mistakes, _ = self._counted(theta)
        return Bound(mistakes, 0.0, mistakes)

    def levels(self) -> tuple[Level, ...]:
        # Every block is looked at as closely as it takes.
        return (Level.NORMS,)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        mistakes, certain = self._counted(theta)
        if certain != round(certain):
            # Sums of weights are rounded.
            certain *= 1.0 + 2.0 * UNIT * (len(self.data.blocks) + 2.0)
        return Bound(certain, 0.0, certain, charge=max(certain - mistakes, 0.0))

    def points(self) -> None:
        return None


class MistakePasses(MistakeDriven):
    """The perceptron's passes over blocks, rows as they come.

    The passes are those of :class:`separatrix.solvers.perceptron.MistakeDriven`; the sample of the
    rows decides between weights, as a part of the rows does in memory.

    Parameters
    ----------
    keep : {"best", "average"}
    most : int
        The most passes of a fit.
    patience : int, optional
        As in :class:`separatrix.solvers.perceptron.MistakeDriven`.
    """

    # What a checkpoint keeps of the state, beside the arrays.
    _numbers = ("fewest", "elapsed", "taken", "corrected", "passes", "improved", "begun", "reach")

    def __init__(self, keep: str, most: int, patience: int | None = None) -> None:
        super().__init__(keep=keep, most=most, patience=patience)

    def requires(self, problem: Any) -> None:
        if not problem.in_passes:
            raise TypeError(f"Passes over blocks need blocks; {problem!r} has none.")

    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> MistakeDrivenState:
        state = super().init(problem.judge, theta, rng)
        kept = problem.resumed
        if kept is not None:
            state.best, state.lag, state.settled = kept["best"], kept["lag"], False
            for name, value in zip(self._numbers, kept["numbers"].tolist(), strict=True):
                setattr(state, name, type(getattr(state, name))(value))
        return state

    def step(
        self,
        problem: Any,
        state: MistakeDrivenState,
        check_interrupt: Callable[[], None],
    ) -> MistakeDrivenState:
        if self.most is not None and state.passes >= self.most:
            # A checkpoint of the last pass.
            return state
        super().step(problem, state, check_interrupt)
        numbers = np.array([getattr(state, name) for name in self._numbers], dtype=np.float64)
        kept = {"best": state.best, "lag": state.lag, "numbers": numbers}
        problem.passes.keep(state.theta, kept)
        return state

    def _visited(
        self,
        problem: Any,
        state: MistakeDrivenState,
        check_interrupt: Callable[[], None],
        stood: float,
        most: float = 0.0,
    ) -> tuple[int, float, float]:
        corrected = 0
        for rows in problem.passes.each(_loaded, None, check_interrupt):
            block = problem.rule.objective(rows)
            state.visits, state.shares = self._schedule(block.upper, self._arranged(block, state))
            state.position = 0
            state.scores, state.mistakes = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
            made, stood, most = super()._visited(block, state, _nothing, stood, most)
            corrected += made
        # The visits of all blocks together.
        state.shares = np.array([problem.total])
        return corrected, stood, most

    def candidate(self, problem: Any, state: MistakeDrivenState) -> Candidate:
        # The scores that are known are those of the sample.
        return Candidate(super().candidate(problem, state).theta)


# --- stochastic gradients -------------------------------------------------------------------------


@dataclass(kw_only=True)
class BlockedStepsState(ResumeState):
    """The state of the steps, with what they leave to the next block; updated in place.

    Attributes
    ----------
    theta, average : ndarray
        The weights now, and the answer: they, or their average.
    seed : int
    passes : int
    due : int
        The passes after which a bound, which costs a pass, is due.
    checks : bool
        Whether it is due now.
    moved : float
        The change of the answer by the last pass, relative to its length.
    broken : bool
        Whether the arithmetic overflowed.
    """

    theta: np.ndarray
    average: np.ndarray
    seed: int
    passes: int = 0
    due: int = 1
    checks: bool = False
    moved: float = np.inf
    broken: bool = False


class BlockedSteps(Solver):
    """Stochastic gradients over blocks: these as they come, the rows of each shuffled, or not.

    Parameters
    ----------
    descent : StochasticDescent
        The descent that visits the rows of a block.
    most : int
        The most passes of a fit.
    """

    # A look at a point on the way costs a pass.
    checks_end_alone = True

    def __init__(self, descent: StochasticDescent, most: int) -> None:
        self.descent, self.most = descent, most
        self._screening = Screening(select_solver)

    def requires(self, problem: BlockedLoss) -> None:
        if not problem.in_passes:
            raise TypeError(f"Passes over blocks need blocks; {problem!r} has none.")

    def init(
        self,
        problem: BlockedLoss,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: Any = None,
    ) -> BlockedStepsState:
        seed = int(rng.integers(2**63))
        return BlockedStepsState(average=theta.copy(), theta=theta.copy(), seed=seed)

    def step(
        self,
        problem: BlockedLoss,
        state: BlockedStepsState,
        check_interrupt: Callable[[], None],
    ) -> BlockedStepsState:
        before, d = state.average, problem.data.n_features
        for k, rows in enumerate(problem.passes.each(_loaded, None, check_interrupt)):
            block = _visited(problem, rows, state.theta)
            rng = np.random.default_rng([state.seed, state.passes, k])
            found = self.descent.resumed(block, state, rng)
            found = self.descent.step(block, found, _nothing)
            if found.broken:
                state.broken = True
                return state
            state.theta, state.average = found.theta, found.kept
            state.steps, state.elapsed = found.steps, found.elapsed
        state.passes += 1
        length = float(np.linalg.norm(state.average[:d]))
        change = float(np.linalg.norm(state.average[:d] - before[:d]))
        state.moved = change / length if length > 0.0 else (np.inf if change else 0.0)
        state.checks = state.passes >= min(state.due, self.most)
        if state.checks:
            # Ever more seldom.
            state.due = max(state.passes + 1, state.passes * 6 // 5)
        if state.checks and not problem.smooth:
            # The slopes at a kink are no multipliers; those of the rows near it are solved for.
            self._screening.step(problem, ScreeningState(state.average), check_interrupt)
        return state

    def candidate(self, problem: BlockedLoss, state: BlockedStepsState) -> Candidate:
        theta = state.average
        loss = float(problem.account(theta)["loss"])
        if not problem.penalty_value(theta) + loss <= problem.null_loss():
            # Steps that were too long: zero weights are better.
            theta = np.zeros_like(theta)
        return Candidate(theta)

    def iterations(self, state: BlockedStepsState, before: int) -> int:
        return state.passes

    def should_check(self, problem: BlockedLoss, state: BlockedStepsState, tol: float) -> bool:
        return state.checks

    def stopped(self, problem: BlockedLoss, state: BlockedStepsState) -> str | None:
        if state.broken:
            return "non_finite"
        if self.descent.step_tol is not None and state.moved < self.descent.step_tol:
            return "small_step"
        return "max_iter" if state.passes >= self.most else None


def _visited(problem: BlockedLoss, rows: Rows, theta: np.ndarray) -> StochasticObjective:
    """The objective on the rows of a block, with the penalty's share of all rows."""
    of = problem._shared()
    weights = of.factors[rows.target]
    if rows.weights is not None:
        weights = weights * rows.weights
    own = None if np.all(weights == 1.0) else weights
    block = StochasticObjective(
        rows.design,
        of.targets(rows),
        problem.loss,
        problem.penalty,
        C=problem.C,
        weights=own,
        fit_intercept=problem.fit_intercept,
        visits=lambda: Visits.of(len(rows), own),
        start=theta,
    )
    block.weight = problem.total_upper / problem.C
    return block
