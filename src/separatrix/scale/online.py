r"""Methods that go from row to row, over blocks: the state is carried from block to block.

Where a step depends on the one before it there is nothing to add up: blocks are loaded ahead by
the engine and visited here, in their order, so that the weights have the same bits whoever loads
them.  Nothing is as long as the data.  What a pass finds out beside its steps comes from the same
reading: the mistakes of weights of the pass before, and the multipliers' sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import UNIT
from separatrix.losses import PerceptronLoss
from separatrix.objectives.base import Bound, charged_bound
from separatrix.objectives.enclosure import Level, gamma, length_above, score_rounding
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.scale.blocks import Rows, Shape
from separatrix.scale.objectives import BlockedPointwise
from separatrix.scale.passes import Passes
from separatrix.solvers.perceptron import MistakeDriven, is_hopeless, reach_of
from separatrix.solvers.protocol import Candidate, Solver
from separatrix.solvers.stochastic import (
    StochasticDescent,
    StochasticObjective,
    StochasticState,
    Visits,
    fresh_counters,
)

__all__ = [
    "BlockedKink",
    "BlockedMistakes",
    "BlockedSteps",
    "DualSums",
    "MistakePasses",
    "MistakePassesState",
]

_SPARE = 1.0 + 1e-9


def _loaded(rows: Rows, shared: Any, own: Any) -> Rows:
    """The rows themselves, to be visited where the weights are."""
    return rows


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


def _judged(block: MistakeObjective, theta: np.ndarray) -> dict[str, np.ndarray]:
    """The mistakes at a point, as floats have it, and as many as there can be."""
    with np.errstate(all="ignore"):
        found = block.bound(theta)
        certain = block.certify(theta, found, 0.0, found).primal
    return {"mistakes": np.array(found.primal), "certain": np.array(certain)}


def _count(rows: Rows, shared: tuple[_Rule, Sequence[np.ndarray]], own: Any) -> dict[str, Any]:
    rule, points = shared
    block = rule.objective(rows)
    found = [_judged(block, theta) for theta in points]
    return {name: np.array([part[name] for part in found]) for name in ("mistakes", "certain")}


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
        self.resumed: tuple[np.ndarray, dict[str, np.ndarray]] | None = None
        self._known: dict[bytes, tuple[float, float]] = {}

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(np.dot(self.rule.factors, self.data.class_totals))

    def recall(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Go on from what another process has kept."""
        self.resumed = theta, account

    def note(self, theta: np.ndarray, mistakes: float, certain: float) -> None:
        """Remember the mistakes of a point, counted in passing."""
        if len(self._known) > 16:
            self._known.pop(next(iter(self._known)))
        self._known[theta.tobytes()] = mistakes, certain

    def counted(self, points: Sequence[np.ndarray]) -> list[tuple[float, float]]:
        """The mistakes of points, by one pass for all that are not known."""
        # At zero every score is zero, and that is a mistake.
        for theta in points:
            if not theta.any():
                self.note(theta, self.total, self.total)
        unknown = [theta for theta in points if theta.tobytes() not in self._known]
        if unknown:
            found = self.passes.sums(_count, (self.rule, unknown), self._check)
            for k, theta in enumerate(unknown):
                self.note(theta, float(found["mistakes"][k]), float(found["certain"][k]))
        return [self._known[theta.tobytes()] for theta in points]

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        mistakes, _ = self.counted([theta])[0]
        return Bound(mistakes, 0.0, mistakes)

    def levels(self) -> Sequence[Level]:
        # Every block is looked at as closely as it takes.
        return (Level.NORMS,)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        mistakes, certain = self.counted([theta])[0]
        if certain != round(certain):
            # Sums of weights are rounded.
            certain *= 1.0 + 2.0 * UNIT * (len(self.data.blocks) + 2.0)
        return Bound(certain, 0.0, certain, charge=max(certain - mistakes, 0.0))

    def points(self) -> None:
        return None


@dataclass
class MistakePassesState:
    """Weights, the best of them so far, and what is to be counted; updated in place.

    Attributes
    ----------
    theta : ndarray
        The weights now.
    best, fewest : ndarray, float
        The best weights that have been counted, and the weight of their mistakes.
    waiting : list of ndarray
        Weights that the next pass counts the mistakes of, the earlier ones first.
    elapsed, lag : float, ndarray
        Visits so far, and ``elapsed`` times what the weights exceed their average by.
    updates, passes : int
    taken : float
        The weight of all updates.
    improved, begun, reach
        As of :class:`separatrix.solvers.perceptron.MistakeDrivenState`.
    clean, broken, halted, hopeless : bool
        Whether the last pass was without a mistake; whether the arithmetic overflowed; whether the
        first pass was ended on its way; whether nothing is left to hope for.
    """

    theta: np.ndarray
    best: np.ndarray
    fewest: float
    lag: np.ndarray
    waiting: list[np.ndarray] = field(default_factory=list)
    elapsed: float = 0.0
    updates: int = 0
    passes: int = 0
    taken: float = 0.0
    improved: int = 0
    begun: float = 0.0
    reach: float = 0.0
    clean: bool = False
    broken: bool = False
    halted: bool = False
    hopeless: bool = False
    # What only rows in memory have: see :func:`separatrix.solvers.perceptron.finalize`.
    position: int = 0
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def average(self) -> np.ndarray:
        """The average of the weights after each visit (Freund and Schapire, 1999)."""
        if self.elapsed == 0.0:
            return self.theta.copy()
        return self.theta - self.lag / self.elapsed


class MistakePasses(Solver):
    """The perceptron's passes over blocks, rows as they come.

    As :class:`separatrix.solvers.perceptron.MistakeDriven` makes them in memory, where all rows
    decide between the weights at the end of a pass, those that stood for the most visits in it and
    the best so far: here they are counted while the next pass visits the same rows.

    Parameters
    ----------
    keep : {"best", "average"}
    most : int
        The most passes of a fit.
    patience : int, optional
        As of :class:`separatrix.solvers.perceptron.MistakeDriven`.
    """

    order = "cyclic"
    record = False

    def __init__(self, keep: str, most: int, patience: int | None = None) -> None:
        self.keep, self.most = keep, most
        self.patience = patience if keep == "best" else None
        self._visits = MistakeDriven("cyclic", keep=keep)

    def requires(self, problem: BlockedMistakes) -> None:
        if not problem.in_passes:
            raise TypeError(f"Passes over blocks need blocks; {problem!r} has none.")

    def init(
        self,
        problem: BlockedMistakes,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> MistakePassesState:
        lag = np.zeros_like(theta) if self.keep == "average" else np.empty(0)
        state = MistakePassesState(theta.copy(), theta.copy(), np.inf, lag, [theta.copy()])
        state.begun = float(np.sqrt(inner(theta, theta)))
        if problem.resumed is not None:
            state.theta, kept = problem.resumed[0].copy(), problem.resumed[1]
            state.best, state.lag, state.waiting = kept["best"], kept["lag"], [*kept["waiting"]]
            fewest, certain, state.elapsed, updates, passes, *promise = kept["numbers"].tolist()
            state.fewest, state.updates, state.passes = fewest, int(updates), int(passes)
            if promise:
                state.taken, improved, state.begun, state.reach = promise
                state.improved = int(improved)
            problem.note(state.best, fewest, certain)
        if not theta.any():
            state.fewest = problem.counted([theta])[0][0]
        return state

    def step(
        self,
        problem: BlockedMistakes,
        state: MistakePassesState,
        check_interrupt: Callable[[], None],
    ) -> MistakePassesState:
        if state.passes >= self.most:
            # A checkpoint of the last pass.
            return state
        points, before = list(state.waiting), state.updates
        found = np.zeros((2, len(points)))
        # The weights that a pass begins with have been put up: they do not stand again.
        stood, most, lengths = -(2**62), 0, 0.0
        longest = np.empty_like(state.theta) if self.keep == "best" else np.empty(0)
        start = state.theta.copy()
        try:
            for rows in problem.passes.each(_loaded, None, check_interrupt):
                block = problem.rule.objective(rows)
                for k, theta in enumerate(points):
                    own = _judged(block, theta)
                    found[:, k] += own["mistakes"], own["certain"]
                stood, most = self._visit(block, state, longest, stood, most)
                if state.passes == 0 and self.patience is not None:
                    squares = rows.row_squares(block.design)
                    lengths = max(lengths, float(squares.max(initial=0.0)))
        except BaseException:
            if state.passes == 0 and np.all(np.isfinite(state.theta)):
                # Nothing is known of any weights but those of the start.
                state.waiting, state.halted = [*points, state.theta.copy()], True
            raise
        if state.passes == 0 and self.patience is not None:
            state.reach = reach_of(problem, lengths)
        for k, theta in enumerate(points):
            problem.note(theta, *found[:, k])
            # They are of the pass before.
            self._put_up(state, theta, found[0, k])
        state.passes += 1
        state.waiting = []
        state.broken = not np.all(np.isfinite(state.theta))
        state.clean = state.updates == before and not state.broken
        if state.clean:
            state.waiting = [start]
        elif not state.broken and self.keep == "best":
            state.waiting = [state.theta.copy()]
            if most > max(stood, 0) and np.all(np.isfinite(longest)):
                state.waiting.insert(0, longest)
            state.hopeless = is_hopeless(problem, state, self.most, self.patience)
        self._keep(problem, state)
        return state

    def _visit(
        self,
        block: MistakeObjective,
        state: MistakePassesState,
        longest: np.ndarray,
        stood: int,
        most: int,
    ) -> tuple[int, int]:
        """Visit the rows of a block; how long the weights have stood, and the longest."""
        n = block.design.n_samples
        visits, shares = self._visits._schedule(block.upper, np.random.default_rng(0))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            _, _, updates, _, state.elapsed, state.taken, stood, most = self._visits._visiting(
                block
            )(
                block.design.rows,
                block.y,
                visits,
                shares,
                block.rate,
                block.level,
                int(block.fit_intercept),
                False,
                state.theta,
                state.lag,
                longest,
                np.zeros(n),
                np.zeros(n, dtype=np.int64),
                0,
                len(visits),
                len(visits),
                state.elapsed,
                state.taken,
                stood,
                most,
            )
        state.updates += updates
        return stood, most

    @staticmethod
    def _put_up(state: MistakePassesState, theta: np.ndarray, mistakes: float) -> None:
        # The latest of equals is kept: as long as the passes make headway it is the better one.
        if mistakes < state.fewest:
            state.improved = state.passes
        if mistakes <= state.fewest:
            state.best, state.fewest = theta, mistakes

    @staticmethod
    def _keep(problem: BlockedMistakes, state: MistakePassesState) -> None:
        certain = problem._known.get(state.best.tobytes(), (np.nan, np.inf))[1]
        numbers = [state.fewest, certain, state.elapsed, state.updates, state.passes]
        numbers += [state.taken, state.improved, state.begun, state.reach]
        waiting = np.array(state.waiting).reshape(len(state.waiting), len(state.theta))
        problem.passes.keep(
            state.theta,
            {
                "best": state.best,
                "lag": state.lag,
                "waiting": waiting,
                "numbers": np.array(numbers, dtype=np.float64),
            },
        )

    def candidate(self, problem: BlockedMistakes, state: MistakePassesState) -> Candidate:
        ended = state.clean or state.halted or state.hopeless or state.passes >= self.most
        if state.waiting and ended:
            # Nothing visits the rows again.
            for theta, (mistakes, _) in zip(
                state.waiting, problem.counted(state.waiting), strict=True
            ):
                self._put_up(state, theta, mistakes)
            state.waiting = []
        return Candidate(state.best)

    def iterations(self, state: MistakePassesState, before: int) -> int:
        return state.passes

    def should_check(self, problem: BlockedMistakes, state: MistakePassesState, tol: float) -> bool:
        return state.clean or state.fewest == 0.0

    def stopped(self, problem: BlockedMistakes, state: MistakePassesState) -> str | None:
        if state.broken:
            return "non_finite"
        ended = state.hopeless or state.passes >= self.most
        return "not_separated" if ended and not state.clean else None


# --- stochastic gradients -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DualSums:
    r"""A dual point of the hinge as sums: :math:`\sum \alpha_i x_i` by class, and what bounds them.

    Where the conjugate of a loss is linear, its dual objective depends on nothing else, and sums of
    multipliers of several passes are averaged like the multipliers themselves.

    Attributes
    ----------
    pull : ndarray of shape (n_features, 2)
        Of the rows with the label -1 and +1.
    mass : ndarray of shape (2,)
        The sums of the multipliers.
    size : ndarray of shape (2,)
        The most that a pass had of the sums of ``alpha |x|``.
    passes : int
    """

    pull: np.ndarray
    mass: np.ndarray
    size: np.ndarray
    passes: int

    def toward(self, other: DualSums, share: float) -> DualSums:
        """The average with those of a further pass."""
        return DualSums(
            self.pull + share * (other.pull - self.pull),
            self.mass + share * (other.mass - self.mass),
            np.maximum(self.size, other.size),
            self.passes + 1,
        )


def _kinked(rows: Rows, shared: tuple[Any, np.ndarray], own: Any) -> dict[str, np.ndarray]:
    """The loss at a point, and at the ends of the scores' enclosures."""
    of, theta = shared
    design = rows.design
    w, b = of.split(theta)
    wide, shift = score_rounding(design, w, b)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        z = of.targets(rows) * (design.dot(np.ascontiguousarray(w)) + b)
        off = wide * np.sqrt(rows.row_squares(design)) + shift + 8.0 * UNIT * np.abs(z)
        upper = of.upper(rows)
        value = upper * of.loss.value(z)
        # The loss falls.
        above = upper * of.loss.value(z - off)
    return {"loss": value.sum(), "loss_above": above.sum(), "upper": upper.sum()}


class BlockedKink(BlockedPointwise):
    """A loss of the margin that is linear but for a kink, over blocks: the hinge.

    The dual point comes from the steps, as :class:`DualSums`.

    Parameters
    ----------
    data, engine, loss, penalty, positive, **options
        See :class:`~separatrix.scale.objectives.BlockedPointwise`; the penalty is L2.
    """

    @property
    def margin(self) -> float:
        """Minus the slope of the conjugate: where the kink is."""
        return float(getattr(self.loss, "margin", 1.0))

    def _account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        if not theta.any():
            # Every score is zero.
            nothing, total = np.array(self.null_loss()), np.array(self.total_upper)
            return {"loss": nothing, "loss_above": nothing, "upper": total}
        return self._sums(_kinked, (self._shared(), theta))

    def bound(
        self,
        theta: np.ndarray,
        residual: Any = None,
        scores: Any = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        primal = self.penalty_value(theta) + float(self.account(theta)["loss"])
        dual = max(self._dual(residual)[0], 0.0)
        return Bound(primal, dual, max(primal - dual, 0.0), residual)

    def charged(
        self, theta: np.ndarray, level: Level, proof: Bound, known: Bound | None = None
    ) -> Bound:
        here: Any = self.account(theta)
        primal = self._primal_above(theta, here, gamma(float(self.data.n_rows)))
        middle = self.penalty_value(theta) + float(here["loss"])
        near, dual = self._dual(proof.residual)
        found = charged_bound((middle, max(near, 0.0)), primal, dual, None)
        return replace(found, residual=proof.residual if found.dual > 0.0 else None)

    def _dual(self, point: Any) -> tuple[float, float]:
        """The dual objective at a point of sums, and a lower bound of it."""
        if not isinstance(point, DualSums) or not np.all(np.isfinite(point.pull)):
            return 0.0, 0.0
        rounding, products = self.rounding({})
        averaged = 4.0 * UNIT * (point.passes + 2.0)
        masses = (2.0 * rounding + averaged) * _SPARE
        share, off = np.ones(2), np.zeros(2)
        if self.balances:
            # The heavier class is scaled down to the weight of the other: by a factor that is
            # known to the rounding of both sums.
            low, high = float(point.mass.min()), float(point.mass.max())
            if not low > 0.0:
                return 0.0, 0.0
            heavy = int(np.argmax(point.mass))
            share[heavy] = low / high
            off[heavy] = 2.0 * masses + 4.0 * UNIT
        mass = float(share @ point.mass)
        pull = point.pull @ (share * np.array([-1.0, 1.0]))
        near = self.margin * mass - 0.5 * float(pull @ pull)
        sizes = share * point.size * (1.0 + 2.0 * masses)
        wrong = float(np.sum((products + averaged + off) * sizes)) * _SPARE
        length = length_above(pull) * (1.0 + 8.0 * UNIT) + wrong
        lost = float(np.sum((masses + off) * share * point.mass)) * _SPARE
        below = self.margin * (mass - lost) - 0.5 * length * length
        return near, below - 8.0 * UNIT * (self.margin * mass + length * length)


@dataclass
class BlockedStepsState:
    """The weights of :class:`BlockedSteps`; updated in place.

    Attributes
    ----------
    inner : StochasticState
        The weights, their average and the count of the steps; of the rows of the last block.
    seed : int
    passes : int
    kept, shown : ndarray
        What the last pass ended with, and what was looked at last.
    pulled : DualSums or None
    due : int
        The passes after which a bound is due.
    moved : float
    """

    inner: StochasticState
    seed: int
    kept: np.ndarray
    shown: np.ndarray
    pulled: DualSums | None = None
    passes: int = 0
    due: int = 1
    moved: float = np.inf
    halted: bool = False

    @property
    def steps(self) -> int:
        return self.inner.steps

    @property
    def elapsed(self) -> float:
        return self.inner.elapsed

    @property
    def theta(self) -> np.ndarray:
        return self.inner.theta


class BlockedSteps(Solver):
    """Stochastic gradients over blocks: these as they come, the rows of each shuffled, or not.

    Parameters
    ----------
    descent : StochasticDescent
        How the rows of a block are visited.
    most : int
        The most passes of a fit.
    """

    def __init__(self, descent: StochasticDescent, most: int) -> None:
        self.descent, self.most = descent, most

    def requires(self, problem: BlockedPointwise) -> None:
        if not problem.in_passes:
            raise TypeError(f"Passes over blocks need blocks; {problem!r} has none.")

    def init(
        self,
        problem: BlockedPointwise,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: Any = None,
    ) -> BlockedStepsState:
        average, none = bool(self.descent.average), np.empty(0)
        inner = StochasticState(
            theta=theta.copy(),
            before=theta.copy(),
            kept=theta.copy(),
            now=fresh_counters(),
            lag=np.zeros_like(theta) if average else none,
            summed=np.zeros_like(theta) if average else none,
            visits=np.empty(0, dtype=np.int64),
            shares=none,
            slopes=none,
            multipliers=none,
            mass=none,
            scores=none,
            mistakes=np.empty(0, dtype=np.int64),
            recorded=none,
            rng=rng,
        )
        return BlockedStepsState(inner, int(rng.integers(2**63)), theta.copy(), theta.copy())

    def step(
        self,
        problem: BlockedPointwise,
        state: BlockedStepsState,
        check_interrupt: Callable[[], None],
    ) -> BlockedStepsState:
        d = problem.data.n_features
        kinked = isinstance(problem, BlockedKink)
        found = DualSums(np.zeros((d, 2)), np.zeros(2), np.zeros(2), 1)
        of, before = problem._shared(), state.kept
        try:
            for k, rows in enumerate(problem.passes.each(_loaded, None, check_interrupt)):
                block, weights = self._block(problem, of, rows)
                visits = block.visits
                state.inner = replace(
                    state.inner,
                    visits=visits.rows,
                    shares=visits.shares,
                    slopes=np.zeros(len(rows)),
                    position=len(visits.rows),
                    rng=np.random.default_rng([state.seed, state.passes, k]),
                )
                if self.descent.shuffle:
                    state.inner.visits = state.inner.visits.copy()
                    self.descent._shuffle(state.inner)
                passes = state.inner.passes + 1
                self.descent.advance(block, state.inner, _nothing, until=passes)
                if state.inner.broken:
                    break
                if kinked:
                    _pull(block, rows, weights, state.inner.slopes, found)
        except BaseException:
            state.halted = True
            raise
        state.passes += 1
        if state.inner.broken:
            return state
        state.kept = state.inner.kept.copy()
        length = float(np.linalg.norm(state.kept[:d]))
        change = float(np.linalg.norm(state.kept[:d] - before[:d]))
        state.moved = change / length if length > 0.0 else (np.inf if change else 0.0)
        if kinked:
            share = 1.0 / state.passes
            old = state.pulled
            state.pulled = found if old is None else old.toward(found, 2.0 * share / (1.0 + share))
        return state

    @staticmethod
    def _block(
        problem: BlockedPointwise, of: Any, rows: Rows
    ) -> tuple[StochasticObjective, np.ndarray]:
        """The objective on the rows of a block, with the penalty's share of all rows."""
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
        )
        block.weight = problem.total_upper / problem.C
        return block, weights

    def candidate(self, problem: BlockedPointwise, state: BlockedStepsState) -> Candidate:
        if state.halted:
            # What there is gets its certificate.
            theta = state.inner.kept.copy()
            state.shown = theta if np.all(np.isfinite(theta)) else state.kept
        elif state.passes >= self.most or self.due(state):
            state.shown = state.kept
        if state.halted or state.passes >= self.most:
            loss = float(problem.account(state.shown)["loss"])
            if not problem.penalty_value(state.shown) + loss <= problem.null_loss():
                # Steps that were too long: zero weights are better.
                state.shown = np.zeros_like(state.shown)
        return Candidate(state.shown, state.pulled)  # type: ignore[arg-type]

    @staticmethod
    def due(state: BlockedStepsState) -> bool:
        """Whether a bound, which costs a pass, is due; ever more seldom."""
        if state.passes < state.due:
            return False
        state.due = max(state.passes + 1, state.passes * 6 // 5)
        return True

    def iterations(self, state: BlockedStepsState, before: int) -> int:
        return state.passes

    def should_check(self, problem: BlockedPointwise, state: BlockedStepsState, tol: float) -> bool:
        return state.passes >= state.due

    def stopped(self, problem: BlockedPointwise, state: BlockedStepsState) -> str | None:
        if state.inner.broken:
            return "non_finite"
        if self.descent.step_tol is not None and state.moved < self.descent.step_tol:
            return "small_step"
        return "max_iter" if state.passes >= self.most else None


def _nothing() -> None:
    """No one breaks it off."""


def _pull(
    block: StochasticObjective,
    rows: Rows,
    weights: np.ndarray,
    slopes: np.ndarray,
    out: DualSums,
) -> None:
    """Add the multipliers that the rows of a block were visited with."""
    # The mean slope of a row over its visits; of a loss with a kink at most one.
    met = np.zeros_like(slopes)
    np.divide(-slopes, weights, out=met, where=weights > 0.0)
    alpha = block.upper * np.clip(met, 0.0, 1.0)
    by_class = np.zeros((len(rows), 2))
    by_class[np.arange(len(rows)), (block.y > 0.0).astype(int)] = alpha
    out.pull[:] += block.design.t_dot(by_class)
    out.mass[:] += by_class.sum(axis=0)
    out.size[:] += np.sqrt(rows.row_squares(block.design)) @ by_class
