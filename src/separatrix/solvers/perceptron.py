r"""Mistake-driven passes: the perceptron and its kin.

Visit the rows in an order; wherever the loss has a slope at the margin, take a step along it
(Rosenblatt, 1958; Novikoff, 1962).  A clean pass ends the search.  A row of weight ``k`` is
visited ``k`` times in a row, so that weights are the same as copies; a fraction left over is a
visit with a step of that fraction.

Where no pass is clean, the best weights seen are the answer (the pocket of Gallant, 1990).
Every pass has two candidates: the weights at its end, and those that stood for the most visits in
it.  Both are compared with the best so far by a count of mistakes: on all rows, or for large data
on a fixed sample.  A count gives up as soon as there are more mistakes than the best weights make,
and every row that is a mistake moves towards the front of the order of the count, so that weights
that are no better are rejected at the cost of some multiple of those mistakes, and not of a pass.

Novikoff's theorem says more than that passes over separable rows end.  After updates of total
weight :math:`T` from :math:`w_0` to :math:`w`, no plane separates the rows by a margin above
:math:`\gamma = (|w| + |w_0|) / (\text{rate}\; T)`, because every update moves :math:`w` by that
much along the normal of such a plane; and for a margin of :math:`\gamma` the theorem allows for
:math:`(R^2 + 2\,\text{margin} / \text{rate}) / \gamma^2` updates.  Where these are more than the
largest number of passes would make, at the mean number a pass so far (or at one a visit, where
almost no mistakes are left), the theorem promises nothing any more, and passes end once half of
them have brought no better weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled.compilation import scalar, specialise
from separatrix._compiled.linear_algebra import copy_numbers, inner
from separatrix._compiled.row_access import read_only, row_add, row_dot, row_prefetch
from separatrix.losses.perceptron import _perceptron_derivative as slope_at
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Candidate, Solver, require_parts
from separatrix.solvers.stochastic import ResumeState, Visits, moved_to, remember
from separatrix.solvers.trace import Stretch, Update

ORDERS = ("cyclic", "restart", "random", "replacement", "margin")
# Orders that stay the same from pass to pass.
_FIXED = ("cyclic", "restart")


class _Rule(NamedTuple):
    """The rule of the updates; ``offset`` is 1 where the last weight is the intercept, else 0.

    With ``scattered`` the rows are not in their order, so that each is announced before it is read.
    """

    rate: float
    level: float
    offset: int
    restart: bool
    scattered: bool


class _Visited(NamedTuple):
    """The arrays that visits of rows change; see :class:`MistakeDrivenState`.

    ``tally`` holds the number of visits that the average is over, the weight of all updates, and
    the numbers of visits that the weights, and ``longest``, have stood for.
    """

    theta: np.ndarray
    lag: np.ndarray
    longest: np.ndarray
    scores: np.ndarray
    mistakes: np.ndarray
    tally: np.ndarray


class _Judge(NamedTuple):
    """The rows on which mistakes are counted, and the best weights so far.

    See :class:`MistakeDrivenState`.
    """

    sample: np.ndarray
    upper: np.ndarray
    trial: np.ndarray
    best: np.ndarray
    best_scores: np.ndarray


class _Promise(NamedTuple):
    """The numbers in the theorem; see :class:`MistakeDrivenState` and :class:`MistakeDriven`."""

    begun: float
    reach: float
    most: int
    patience: int


def _visit(rows, y, visits, shares, rule, seen, position, budget, limit):
    """Visit rows from ``position`` on: to the end, ``budget`` visits or ``limit`` updates.

    The weights end in the intercept where ``rule.offset`` is 1, a constant feature of 1.
    ``seen.lag``, unless it is empty, is ``elapsed`` times the weights less their sum over visits;
    ``seen.longest``, unless it is empty, keeps the weights that stood for the most visits.

    Returns the next position, the visits and the updates made, and the row of the last update.
    """
    theta, lag, longest, offset = seen.theta, seen.lag, seen.longest, rule.offset
    elapsed, taken, stood, most = seen.tally[0], seen.tally[1], seen.tally[2], seen.tally[3]
    d = theta.shape[0] - offset
    end = visits.shape[0]
    announced = end if rule.scattered else 0
    made = 0
    updates = 0
    latest = -1
    while position < end and made < budget and updates < limit:
        i = visits[position]
        if position + 1 < announced:
            row_prefetch(rows, visits[position + 1])
        share = shares[position]
        score = row_dot(rows, i, theta) + (theta[d] if offset == 1 else 0.0)
        seen.scores[i] = score
        slope = slope_at(y[i] * score - rule.level)
        position += 1
        made += 1
        if slope == 0.0:
            stood += 1.0
        else:
            if stood > most and longest.shape[0] > 0:
                most = stood
                copy_numbers(theta, longest)
            step = -slope * y[i] * rule.rate * share
            row_add(rows, i, step, theta)
            if offset == 1:
                theta[d] += step
            if lag.shape[0] > 0:
                # The sum over the visits so far lacks this step.
                row_add(rows, i, elapsed * step, lag)
                if offset == 1:
                    lag[d] += elapsed * step
            seen.mistakes[i] += 1
            updates += 1
            taken += share
            latest = i
            stood = 0.0
            if rule.restart:
                position = 0
        elapsed += share
    seen.tally[0], seen.tally[1], seen.tally[2], seen.tally[3] = elapsed, taken, stood, most
    return position, made, updates, latest


def _count(rows, y, sample, weights, level, offset, theta, scores, enough):
    """The weight of the mistakes among some rows; gives up once it is above ``enough``.

    Unless it gives up, ``scores`` hold the scores of these rows.  Rows that are mistakes move
    halfway to the front of ``sample``, so that later counts give up sooner.
    """
    d = theta.shape[0] - offset
    total = 0.0
    for k in range(sample.shape[0]):
        i = sample[k]
        if k + 1 < sample.shape[0]:
            row_prefetch(rows, sample[k + 1])
        score = row_dot(rows, i, theta) + (theta[d] if offset == 1 else 0.0)
        scores[i] = score
        if slope_at(y[i] * score - level) != 0.0:
            total += weights[i]
            sample[k], sample[k // 2] = sample[k // 2], i
            if total > enough:
                break
        elif not abs(score) < np.inf:
            # An overflow: the count is unknown.
            return np.inf
    return total


@scalar
def _is_finite(theta):
    """Whether all weights are finite; an array of answers would cost as much as a few rows."""
    finite = True
    for j in range(theta.shape[0]):
        finite = finite and np.isfinite(theta[j])
    return finite


@scalar
def _is_hopeless(theta, rate, tally, promise, fewest, passes, improved):
    """Whether the theorem promises nothing any more: see the docstring of this module.

    ``improved``: the number of the pass that found the best weights.
    """
    if promise.patience == 0 or passes - improved < max(promise.patience, improved):
        return False
    square = 0.0
    for j in range(theta.shape[0]):
        square += theta[j] * theta[j]
    elapsed, taken = tally[0], tally[1]
    margin = (np.sqrt(square) + promise.begun) / (rate * taken)
    # Where almost no mistakes are left, any visit may be an update: narrow margins take long.
    few = fewest <= max(2.0, 0.005 * elapsed / passes)
    ahead = (elapsed if few else taken) * (promise.most / passes)
    return promise.reach > ahead * margin * margin


# The functions that the template is written against.
visit, count = _visit, _count


def _passes(
    rows, y, visits, shares, rule, seen, judge, promise, fewest, fresh, passes, improved, limit
):  # fmt: skip
    """Make passes, as :meth:`MistakeDriven.step` does, until pass ``limit`` or an event.

    Events are the first weights without a mistake, a clean pass, an overflow, and that nothing is
    left to hope for: nothing else can end a fit without callbacks, and a check costs as much as
    dozens of passes over a few rows.  ``fresh``: whether the mistakes of the present weights have
    been counted.  Returns the number of the last pass, its updates, the fewest mistakes, the new
    ``improved``, and whether nothing is left to hope for.
    """
    updates, before, n = 0, fewest, visits.shape[0]
    theta, tally, keeps = seen.theta, seen.tally, seen.longest.shape[0] > 0
    hopeless = False
    tally[2], tally[3] = 0.0, 0.0
    while passes < limit:
        for again in range(2):
            # The weights at the end of the last pass, and those that stood the longest in this one.
            put_up = not fresh if again == 0 else tally[3] > max(tally[2], 0.0)
            if keeps and put_up:
                point = theta if again == 0 else seen.longest
                if _is_finite(point):
                    found = count(
                        rows, y, judge.sample, judge.upper, rule.level, rule.offset, point,
                        judge.trial, fewest,
                    )  # fmt: skip
                    if found < fewest:
                        improved = passes
                    if found <= fewest:
                        fewest = found
                        copy_numbers(point, judge.best)
                        if judge.best_scores.shape[0] > 0:
                            copy_numbers(judge.trial, judge.best_scores)
            if again == 0:
                fresh = False
                tally[2], tally[3] = -n - 1.0, 0.0
                _, _, updates, _ = visit(rows, y, visits, shares, rule, seen, 0, n, n)
                passes += 1
                # The counts are those from before this pass, as in passes over blocks.
                hopeless = updates > 0 and _is_hopeless(
                    theta, rule.rate, tally, promise, fewest, passes, improved
                )
        if hopeless or updates == 0 or fewest == 0.0 < before or not _is_finite(theta):
            break
    return passes, updates, fewest, improved, hopeless


@dataclass
class MistakeDrivenState:
    """Weights, the best of them so far, and running mistakes; updated in place.

    Attributes
    ----------
    theta : ndarray
        The present weights.
    scores : ndarray of shape (n_samples,)
        The score of every row at its last visit.
    mistakes : ndarray of shape (n_samples,)
        The number of updates made on every row.
    best, best_scores, fewest : ndarray, ndarray or None, float
        The best weights among those counted, their scores where all are known, and the weight of
        their mistakes on the sample.
    sample, trial : ndarray
        The rows on which mistakes are counted, and an array for their scores.
    longest : ndarray
        The weights of the last pass that stood for the most visits and are gone.
    visits, shares : ndarray
        The rows in order, and the part of a step that a visit is worth.
    position : int
        The position of the next visit.
    elapsed, lag : float, ndarray
        The number of visits so far, and ``elapsed`` times the excess of the weights over their
        average.
    updates, recorded : list of Update, ndarray
        The recorded updates, and the weights after the last of them.
    stretches : list of Stretch
        The recorded visits.
    passes, improved : int
        The number of passes, and the number of the pass that found the best weights.
    taken, corrected : float, int
        The weight of all updates, and their number where every step is a pass.
    begun, reach : float
        The length of the weights at the start; the numerator over the squared margin in the
        theorem.
    hopeless : bool
        Whether nothing is left to hope for.
    clean : bool
        Whether the last pass was without a mistake.
    broken : bool
        Whether the arithmetic overflowed.
    settled : bool
        Whether the present weights have been counted.
    faultless : bool
        Whether the best weights are new, and no row at all is a mistake.
    """

    theta: np.ndarray
    scores: np.ndarray
    mistakes: np.ndarray
    best: np.ndarray
    best_scores: np.ndarray | None
    fewest: float
    sample: np.ndarray
    trial: np.ndarray
    lag: np.ndarray
    longest: np.ndarray
    recorded: np.ndarray
    rng: np.random.Generator
    visits: np.ndarray
    shares: np.ndarray
    updates: list[Update] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    position: int = 0
    elapsed: float = 0.0
    taken: float = 0.0
    corrected: int = 0
    passes: int = 0
    improved: int = 0
    begun: float = 0.0
    reach: float = 0.0
    hopeless: bool = False
    clean: bool = False
    broken: bool = False
    settled: bool = True
    faultless: bool = False

    @property
    def average(self) -> np.ndarray:
        """The average of the weights after each visit (Freund and Schapire, 1999)."""
        if self.elapsed == 0.0:
            return self.theta.copy()
        return self.theta - self.lag / self.elapsed


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of passes: their speed, and the count of mistakes on the way.

    Parameters
    ----------
    stretch : int
        The number of stored entries that are read between two checks of the time.
    small : int
        The largest number of stored entries with which mistakes are counted on all rows; with more
        they are counted on a sample, which has at least as many rows as hold this number.
    share : int
        The number of rows for each row of a sample.
    """

    stretch: int = 1 << 23
    small: int = 1 << 18
    share: int = 16


class MistakeDriven(Solver):
    """Passes over the rows that step on the slope of the loss.  Needs rows.

    Parameters
    ----------
    order : {"cyclic", "restart", "random", "replacement", "margin"}
        The order of the rows: as they come; as they come, and from the first again after every
        update, where as many visits as there are rows are a pass; shuffled anew for every pass; as
        many as there are, each drawn from all of them; or by their margins at the beginning of the
        pass, the lowest first.
    record : bool or "visits"
        Whether to keep every update, and with "visits" every visit as well.
    keep : {"best", "average", "last"}
        The answer: the best weights seen, the average of the weights after each visit, or the
        weights at the end.
    most : int, optional
        The largest number of passes of a fit.
    patience : int, optional
        The number of passes without better weights after which a fit ends, if half of all passes
        have brought none either and the theorem promises no clean pass within ``most`` passes.
    at_once : bool
        Whether a step makes as many passes as there is time for between two checks of the time,
        until one of them could end the fit; otherwise it makes one.
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    # The answer is the best weights that were counted: a check on the way costs a product.
    checks_end_alone = True
    # The status of a single pass that makes mistakes.
    unfinished = "not_separated"

    def __init__(
        self,
        order: str = "cyclic",
        record: bool | str = False,
        keep: str = "best",
        most: int | None = None,
        patience: int | None = None,
        at_once: bool = False,
        tuning: Tuning = Tuning(),
    ) -> None:
        self.tuning = tuning
        self.order = order
        self.record = record
        self.keep = keep
        self.most = most
        self.patience = patience if keep == "best" and most is not None else None
        self.at_once = at_once

    def requires(self, problem: MistakeObjective) -> None:
        require_parts("A mistake-driven pass", (problem.loss, "slope_at"), (problem.design, "rows"))

    def _arranged(self, problem: MistakeObjective, state: MistakeDrivenState) -> np.ndarray:
        """The rows in the order of the next pass."""
        n = problem.design.n_samples
        if self.order == "random":
            return state.rng.permutation(n)
        if self.order == "replacement":
            return state.rng.integers(n, size=n)
        if self.order == "margin":
            return np.argsort(problem.y * problem.linear(state.theta), kind="stable")
        return np.arange(n)

    @staticmethod
    def _schedule(weights: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows in order, each as often as its weight says, and each visit's share."""
        if np.all(weights == 1.0):
            return order, weights
        visits = Visits.of(len(order), weights, order)
        rows = visits.rows.astype(np.int64)
        return rows, visits.shares if len(visits.shares) else np.ones(len(rows))

    def init(
        self,
        problem: MistakeObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> MistakeDrivenState:
        n, stored = problem.design.n_samples, problem.design.n_stored
        # From zero weights every score is zero, without a product.
        scores = problem.linear(theta) if theta.any() else np.zeros(n)
        sample = np.arange(n)
        if stored > self.tuning.small:
            size = int(max(n / self.tuning.share, self.tuning.small * (n / stored)))
            # It is not drawn from the passes' own generator, which would then shuffle otherwise.
            own = np.random.default_rng(0)
            sample = np.sort(own.choice(n, size, replace=False, shuffle=False))
        none = np.empty(0)
        empty = np.empty(0, dtype=np.int64)
        begun, reach = 0.0, 0.0
        if self.patience is not None:
            begun = float(np.sqrt(inner(theta, theta)))
            reach = reach_of(problem, float(problem.design.row_squares().max(initial=0.0)))
        return MistakeDrivenState(
            theta=theta.copy(),
            scores=np.zeros(n),
            mistakes=np.zeros(n, dtype=np.int64),
            best=theta.copy(),
            best_scores=scores,
            fewest=problem.value(scores, sample),
            sample=sample,
            trial=np.zeros(n),
            lag=np.zeros_like(theta) if self.keep == "average" else none,
            longest=np.empty_like(theta) if self.keep == "best" else none,
            recorded=read_only(theta.copy()),
            rng=rng,
            visits=empty,
            shares=none,
            begun=begun,
            reach=reach,
        )

    def resumed(
        self, problem: MistakeObjective, carried: ResumeState, rng: np.random.Generator
    ) -> MistakeDrivenState:
        """The state of a pass from ``problem.zero()`` on that continues from earlier ones."""
        state = self.init(problem, problem.zero(), rng)
        if self.keep == "average":
            self._carry(problem, state, carried)
        return state

    def ended(
        self, problem: MistakeObjective, state: MistakeDrivenState, carried: ResumeState
    ) -> tuple[np.ndarray, None]:
        """The answer of a single pass."""
        if state.broken:
            state.theta = problem.zero()
            self._carry(problem, state, carried)
        return (state.average if self.keep == "average" else state.theta), None

    @staticmethod
    def _carry(problem: MistakeObjective, state: MistakeDrivenState, carried: ResumeState) -> None:
        average = problem.zero() if carried.average is None else carried.average
        state.elapsed = carried.elapsed
        state.lag = carried.elapsed * (problem.zero() - average)

    def step(
        self,
        problem: MistakeObjective,
        state: MistakeDrivenState,
        check_interrupt: Callable[[], None],
    ) -> MistakeDrivenState:
        if self._at_once(problem, state) > 1:
            return self._several(problem, state)
        if self.keep == "best" and not state.settled:
            self._put_up(problem, state, state.theta)
        state.settled = False
        if not problem.in_passes and (state.passes == 0 or self.order not in _FIXED):
            order = self._arranged(problem, state)
            state.visits, state.shares = self._schedule(problem.upper, order)
        if self.order != "restart":
            state.position = 0
        state.passes += 1
        # The weights at the end of the last pass have been counted: they are no candidate again.
        corrected, stood, most = self._visited(problem, state, check_interrupt, -np.inf)
        state.corrected += corrected
        if corrected:
            state.hopeless = is_hopeless(problem, state, self.most, self.patience)
        if most > max(stood, 0):
            self._put_up(problem, state, state.longest)
        self._end(problem, state, corrected)
        return state

    def _visited(
        self,
        problem: MistakeObjective,
        state: MistakeDrivenState,
        check_interrupt: Callable[[], None],
        stood: float,
        most: float = 0.0,
    ) -> tuple[int, float, float]:
        """Visit the rows of a pass; return the corrections, and ``stood`` and ``most`` at its end.

        ``stood`` is the number of visits since the last correction, ``most`` that of
        ``state.longest``.
        """
        kernel, rule = self._visiting(problem), self._rule(problem)
        seen = _seen(state, stood, most)
        n, stored = problem.design.n_samples, problem.design.n_stored
        stretch = max(1, int(self.tuning.stretch * (n / max(stored, 1))))
        left = total = len(state.visits)
        limit = 1 if self.record else total
        corrected = 0
        rows = problem.design.rows, problem.y, state.visits, state.shares
        while left > 0 and state.position < total:
            if left < total:
                check_interrupt()
            begun = state.position
            state.position, made, updates, latest = kernel(
                *rows, rule, seen, begun, min(left, stretch), limit
            )
            # The tallies are stored now, and not at the end, because a limit may end the pass.
            state.elapsed, state.taken, stood, most = seen.tally.tolist()
            left -= made
            corrected += updates
            if self.record and updates:
                remember(problem, state, latest)
            if self.record == "visits":
                visited = state.visits[begun : begun + made]
                scores = state.scores[visited]
                state.stretches.append(Stretch(state.passes, visited, scores, updates == 1))
        return corrected, stood, most

    def _rule(self, problem: MistakeObjective) -> _Rule:
        offset = int(problem.fit_intercept)
        restart, scattered = self.order == "restart", self.order not in _FIXED
        return _Rule(problem.rate, problem.level, offset, restart, scattered)

    def _visiting(self, problem: MistakeObjective) -> Any:
        return specialise(
            _visit,
            row_dot=problem.design.row_dot,
            row_add=problem.design.row_add,
            row_prefetch=problem.design.row_prefetch,
            slope_at=problem.loss.slope_at,
        )

    @staticmethod
    def _counting(problem: MistakeObjective) -> Any:
        return specialise(
            _count,
            row_dot=problem.design.row_dot,
            row_prefetch=problem.design.row_prefetch,
            slope_at=problem.loss.slope_at,
        )

    def _at_once(self, problem: MistakeObjective, state: MistakeDrivenState) -> int:
        """The number of passes that the next step makes."""
        if not self.at_once or self.most is None or self.record or self.order != "cyclic":
            return 1
        stored = max(problem.design.n_stored, problem.design.n_samples)
        return min(self.most - state.passes, self.tuning.stretch // stored)

    def _several(self, problem: MistakeObjective, state: MistakeDrivenState) -> MistakeDrivenState:
        """Make a step of several passes."""
        kernel = specialise(_passes, visit=self._visiting(problem), count=self._counting(problem))
        if state.passes == 0:
            order = self._arranged(problem, state)
            state.visits, state.shares = self._schedule(problem.upper, order)
        whole = len(state.sample) == len(state.trial)
        scores = np.zeros(0) if state.best_scores is None else state.best_scores.copy()
        before, last, state.best = state.fewest, state.best, state.best.copy()
        seen, known = _seen(state), scores if whole else np.empty(0)
        state.passes, updates, state.fewest, state.improved, state.hopeless = kernel(
            problem.design.rows,
            problem.y,
            state.visits,
            state.shares,
            self._rule(problem),
            seen,
            _Judge(state.sample, problem.upper, state.trial, state.best, known),
            _promise(state, self.most, self.patience),
            state.fewest,
            state.settled,
            state.passes,
            state.improved,
            state.passes + self._at_once(problem, state),
        )
        state.elapsed, state.taken = seen.tally[:2].tolist()
        if whole:
            state.best_scores = scores
        elif not np.array_equal(state.best, last):
            state.best_scores = None
        state.position = len(state.visits)
        state.settled = False
        state.faultless = state.fewest == 0.0 < before and state.best_scores is not None
        self._end(problem, state, updates)
        return state

    def _end(self, problem: MistakeObjective, state: MistakeDrivenState, corrected: int) -> None:
        """Store how a pass with ``corrected`` corrections ended."""
        state.broken = not np.all(np.isfinite(state.theta))
        # With restarts, too, as many visits without a mistake as there are rows reach the end.
        state.clean = corrected == 0 and not state.broken
        if state.clean and self.order == "replacement":
            # Rows that were not drawn may be mistakes.
            every = np.arange(problem.design.n_samples)
            state.clean = self._counted(problem, state.theta, every, state.scores, 0.0) == 0.0
        if state.clean:
            # All rows were visited at these weights: their scores are known.
            state.best, state.best_scores = state.theta.copy(), state.scores.copy()
            state.fewest = 0.0 if problem.in_passes else problem.value(state.scores)
            state.broken = not np.isfinite(state.fewest)
            state.settled = True

    def candidate(self, problem: MistakeObjective, state: MistakeDrivenState) -> Candidate:
        if not state.settled:
            self._put_up(problem, state, state.theta)
            state.settled = True
        state.faultless = False
        return Candidate(state.best, scores=state.best_scores)

    def _counted(
        self,
        problem: MistakeObjective,
        theta: np.ndarray,
        sample: np.ndarray,
        scores: np.ndarray,
        enough: float,
    ) -> float:
        """The weight of the mistakes among some rows, or more than ``enough``; see the kernel."""
        offset = int(problem.fit_intercept)
        rows = problem.design.rows, problem.y, sample, problem.upper
        found = self._counting(problem)(*rows, problem.level, offset, theta, scores, enough)
        return float(found)

    def _put_up(
        self, problem: MistakeObjective, state: MistakeDrivenState, theta: np.ndarray
    ) -> None:
        """Keep weights that make no more mistakes on the sample than the best so far."""
        if not np.all(np.isfinite(theta)):
            return
        mistakes = self._counted(problem.judge, theta, state.sample, state.trial, state.fewest)
        # The latest of equal ones is kept: as long as passes make progress it is the better one.
        if mistakes <= state.fewest:
            whole = len(state.sample) == len(state.trial)
            state.best, state.best_scores = theta.copy(), state.trial.copy() if whole else None
            if mistakes < state.fewest:
                state.improved = state.passes
                state.faultless = whole and mistakes == 0.0
            state.fewest = mistakes

    def iterations(self, state: MistakeDrivenState, before: int) -> int:
        return state.passes

    def should_check(
        self, problem: MistakeObjective, state: MistakeDrivenState, tol: float
    ) -> bool:
        # A start without a mistake, a clean pass, and weights that were counted on all rows prove
        # themselves.
        if state.passes == 0 and state.fewest == 0.0:
            return True
        return state.clean or state.faultless

    def stopped(self, problem: MistakeObjective, state: MistakeDrivenState) -> str | None:
        if state.broken:
            return "non_finite"
        return "not_separated" if state.hopeless and not state.clean else None


def reach_of(problem: MistakeObjective, longest: float) -> float:
    """The numerator over the squared margin in the theorem, for rows up to this squared length.

    It bounds the number of updates.
    """
    return longest + float(problem.fit_intercept) + 2.0 * problem.margin / problem.rate


def is_hopeless(
    problem: MistakeObjective, state: Any, most: int | None, patience: int | None
) -> bool:
    """Whether the theorem promises nothing any more for passes over the rows."""
    tally, promise = np.array([state.elapsed, state.taken]), _promise(state, most, patience)
    known = state.fewest, state.passes, state.improved
    return bool(_is_hopeless(state.theta, problem.rate, tally, promise, *known))


def _promise(state: MistakeDrivenState, most: int | None, patience: int | None) -> _Promise:
    return _Promise(state.begun, state.reach, most or 0, patience or 0)


def _seen(state: MistakeDrivenState, stood: float = 0.0, most: float = 0.0) -> _Visited:
    tally = np.array([state.elapsed, state.taken, stood, most])
    return _Visited(state.theta, state.lag, state.longest, state.scores, state.mistakes, tally)


def finalize(
    problem: MistakeObjective, solver: MistakeDriven, solution: Solution, max_passes: int
) -> Solution:
    """The solution of a run at the weights that are its answer, with their certificate.

    The answer is the best weights by the solver's own rule, or the average, and does not depend
    on the number of checks.
    """
    state, run = solution.state, solution.certificate
    n_iter = run.n_iter
    if run.primal == 0.0 and not state.clean and 0 < state.passes < max_passes:
        # A check found the weights before the pass that would have been clean.
        n_iter += 1
        ahead = state.position if solver.order == "restart" else 0
        if solver.record == "visits":
            state = solver.step(problem, state, lambda: None)
        else:
            state.elapsed += float(state.shares[ahead:].sum())
    theta = state.average if solver.keep == "average" else state.best
    if theta is solution.theta:
        return replace(solution, certificate=replace(run, n_iter=n_iter))
    # The last weights may make no mistake where their average still does.
    return moved_to(problem, solution, theta, n_iter)


def starting_points(
    coef: Any, intercept: Any, *, n_features: int, parts: int, fit_intercept: bool
) -> np.ndarray:
    """The points to start from, a row for each problem.

    They are what a user gave as ``coef_init`` and ``intercept_init``; zero for None.

    Raises
    ------
    ValueError
        For a wrong shape, NaN or infinity, or an intercept where there is to be none.
    """
    shape = (parts, n_features)
    out = []
    for name, value, wanted, also in (
        ("coef_init", coef, shape, (n_features,)),
        ("intercept_init", intercept, (parts,), ()),
    ):
        if value is None:
            out.append(np.zeros(wanted))
            continue
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must hold numbers; pass an array of shape {wanted}."
            ) from error
        if array.shape != wanted and not (parts == 1 and array.shape == also):
            raise ValueError(f"{name} has the shape {array.shape}; pass one of shape {wanted}.")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} holds NaN or infinity; start from finite numbers.")
        out.append(array.reshape(wanted))
    if np.any(out[1]) and not fit_intercept:
        raise ValueError(
            "intercept_init is given with fit_intercept=False, which keeps the plane at the "
            "origin; leave one of them out."
        )
    return np.column_stack(out) if fit_intercept else out[0]
