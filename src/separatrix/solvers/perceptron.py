"""Mistake-driven passes: the perceptron and its kin.

Visit the rows in an order; wherever the loss has a slope at the margin, take a step along it
(Rosenblatt, 1958; Novikoff, 1962).  A clean pass ends the search.  A row of weight ``k`` is
visited ``k`` times in a row, so that weights are the same as copies; a fraction left over is a
visit with a step of that fraction.

Where no pass is clean, the best weights seen are what counts (the pocket of Gallant, 1990).
Every pass puts up two: those at its end, and those that stood for the most visits in it.  The
rows decide between them and the best so far: all rows, or of large data a fixed sample, because a
count over all would cost as much as the pass itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._compiled.compilation import scalar, specialise
from separatrix._compiled.row_access import (
    dense_prefetch,
    read_only,
    row_add,
    row_dot,
    row_prefetch,
)
from separatrix.certificate import Certificate
from separatrix.data.random_state import generator_of
from separatrix.losses.perceptron import _perceptron_derivative as slope_at
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import Candidate, Solution
from separatrix.trace import Trace, Update

__all__ = [
    "ORDERS",
    "MistakeDriven",
    "MistakeDrivenState",
    "finalize",
    "one_pass",
    "starting_points",
]

ORDERS = ("cyclic", "restart", "random")

# Stored entries that are read between two looks at the clock.
_STRETCH = 1 << 23
# Up to so many stored entries weights are judged by all rows, beyond by a sample of them: a
# sixteenth, and at least so many entries.
_SMALL = 1 << 18
# Up to so many a step makes several passes.
_FEW = 20_000
_SHARE = 16


def _visit(
    rows,
    y,
    visits,
    shares,
    rate,
    level,
    offset,
    restart,
    theta,
    lag,
    longest,
    scores,
    mistakes,
    position,
    budget,
    limit,
    elapsed,
    stood,
    most,
):
    """Visit rows from ``position`` on: to the end, ``budget`` visits or ``limit`` updates.

    ``theta`` holds the weights and, when ``offset`` is 1, the intercept as its last entry, which
    is a constant feature of 1.  ``lag``, unless it is empty, gathers what the sum of the weights
    over all visits lacks; ``longest``, unless it is empty, keeps the weights that stood for the
    ``most`` visits.

    Returns the next position, the visits and the updates made, the row of the last update, and
    the new ``elapsed``, ``stood`` and ``most``.
    """
    d = theta.shape[0] - offset
    end = visits.shape[0]
    made = 0
    updates = 0
    latest = -1
    while position < end and made < budget and updates < limit:
        i = visits[position]
        if position + 1 < end:
            row_prefetch(rows, visits[position + 1])
        share = shares[position]
        score = row_dot(rows, i, theta) + (theta[d] if offset == 1 else 0.0)
        scores[i] = score
        slope = slope_at(y[i] * score - level)
        position += 1
        made += 1
        if slope == 0.0:
            stood += 1
        else:
            if stood > most and longest.shape[0] > 0:
                most = stood
                for j in range(theta.shape[0]):
                    longest[j] = theta[j]
            step = -slope * y[i] * rate * share
            row_add(rows, i, step, theta)
            if offset == 1:
                theta[d] += step
            if lag.shape[0] > 0:
                # The visits so far went without this step.
                row_add(rows, i, elapsed * step, lag)
                if offset == 1:
                    lag[d] += elapsed * step
            mistakes[i] += 1
            updates += 1
            latest = i
            stood = 0
            if restart:
                position = 0
        elapsed += share
    return position, made, updates, latest, elapsed, stood, most


def _count(rows, y, sample, weights, level, offset, theta, scores, enough):
    """The weight of the mistakes among some rows; gives up once it is above ``enough``.

    Unless it gives up, ``scores`` hold those of these rows.
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
            if total > enough:
                break
        elif not abs(score) < np.inf:
            # An overflow: nothing is known.
            return np.inf
    return total


@scalar
def _is_finite(theta):
    """Whether all weights are; an array of answers would cost as much as a few rows."""
    finite = True
    for j in range(theta.shape[0]):
        finite = finite and np.isfinite(theta[j])
    return finite


# What the template is written against.
visit, count = _visit, _count


def _passes(
    rows,
    y,
    visits,
    shares,
    rate,
    level,
    offset,
    theta,
    lag,
    longest,
    scores,
    mistakes,
    sample,
    weights,
    trial,
    best,
    best_scores,
    fewest,
    elapsed,
    fresh,
    limit,
):
    """Up to ``limit`` passes, each as :meth:`MistakeDriven.step` makes it, until there is news.

    News are the first weights without a mistake, a clean pass, and an overflow: nothing else can
    end a fit that nobody follows, and a look at weights costs as much as dozens of passes over a
    few rows.  ``fresh``: whether the
    weights now have been put up.  Returns the passes made, the updates of the last of them, the
    fewest mistakes, and the new ``elapsed``.
    """
    made, updates, stood, most, before = 0, 0, 0, 0, fewest
    keeps = longest.shape[0] > 0
    while made < limit:
        for again in range(2):
            # Those that the last pass ended with, and those that stood the longest in this one.
            put_up = not fresh if again == 0 else most > max(stood, 0)
            if keeps and put_up:
                point = theta if again == 0 else longest
                if _is_finite(point):
                    found = count(rows, y, sample, weights, level, offset, point, trial, fewest)
                    if found <= fewest:
                        fewest = found
                        best[:] = point
                        best_scores[:] = trial
            if again == 0:
                fresh = False
                _, _, updates, _, elapsed, stood, most = visit(
                    rows,
                    y,
                    visits,
                    shares,
                    rate,
                    level,
                    offset,
                    False,
                    theta,
                    lag,
                    longest,
                    scores,
                    mistakes,
                    0,
                    visits.shape[0],
                    visits.shape[0],
                    elapsed,
                    -visits.shape[0] - 1,
                    0,
                )
                made += 1
        if updates == 0 or fewest == 0.0 < before or not _is_finite(theta):
            break
    return made, updates, fewest, elapsed


@dataclass
class MistakeDrivenState:
    """Weights, the best of them so far, and running mistakes; updated in place.

    Attributes
    ----------
    theta : ndarray
        The weights now.
    scores : ndarray of shape (n_samples,)
        What every row scored when it was last visited.
    mistakes : ndarray of shape (n_samples,)
        Updates made on every row.
    best, best_scores, fewest : ndarray, ndarray or None, float
        The best weights among those put up, their scores where all are known, and the weight of
        their mistakes on the sample.
    sample, trial : ndarray
        The rows that judge, and room for their scores.
    longest : ndarray
        The weights of the last pass that stood for the most visits and are gone.
    visits, shares : ndarray
        The rows in order, and the part of a step that a visit is worth.
    position : int
        The next visit.
    elapsed, lag : float, ndarray
        Visits so far, and ``elapsed`` times what the weights exceed their average by.
    updates, recorded : list of Update, ndarray
        What was recorded, and the weights that it ends with.
    passes : int
    clean : bool
        Whether the last pass was without a mistake.
    broken : bool
        Whether the arithmetic overflowed.
    settled : bool
        Whether the weights now have been put up.
    improved : bool
        Whether there are better weights since the last candidate.
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
    position: int = 0
    elapsed: float = 0.0
    passes: int = 0
    clean: bool = False
    broken: bool = False
    settled: bool = True
    improved: bool = False

    @property
    def n_iter(self) -> int:
        """Iterations so far."""
        return self.passes

    @property
    def average(self) -> np.ndarray:
        """The average of the weights after each visit (Freund and Schapire, 1999)."""
        if self.elapsed == 0.0:
            return self.theta.copy()
        return self.theta - self.lag / self.elapsed


class MistakeDriven:
    """Passes over the rows that step on the slope of the loss.  Needs rows.

    Parameters
    ----------
    order : {"cyclic", "restart", "random"}
        Rows as they come; as they come, and from the first again after every update, where as
        many visits as there are rows are a pass; or shuffled anew for every pass.
    record : bool
        Keep every update.
    keep : {"best", "average", "last"}
        What is the answer: the best weights seen, the average of the weights after each visit,
        or the weights at the end.
    most : int, optional
        The most passes of a fit.  Where it is known, a step makes several passes over few rows,
        until there is news.
    """

    def __init__(
        self,
        order: str = "cyclic",
        record: bool = False,
        keep: str = "best",
        most: int | None = None,
    ) -> None:
        self.order = order
        self.record = record
        self.keep = keep
        self.most = most

    def requires(self, problem: MistakeObjective) -> None:
        for owner, name in ((problem.loss, "slope_at"), (problem.design, "rows")):
            if not hasattr(owner, name):
                raise TypeError(f"Mistake-driven passes need {name!r}; {owner!r} has none.")

    def _schedule(
        self, weights: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows in order, each as often as its weight says, and each visit's share."""
        n = len(weights)
        order = rng.permutation(n) if self.order == "random" else np.arange(n)
        if np.all(weights == 1.0):
            return order, weights
        counts = np.ceil(weights[order]).astype(np.int64)
        shares = np.ones(counts.sum())
        last = np.cumsum(counts)[counts > 0] - 1
        shares[last] = (weights[order] - counts + 1.0)[counts > 0]
        return np.repeat(order, counts), shares

    def init(
        self,
        problem: MistakeObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> MistakeDrivenState:
        n, stored = problem.design.n_samples, problem.design.n_stored
        # From zero every score is zero: no product is needed to know it.
        scores = problem.linear(theta) if theta.any() else np.zeros(n)
        sample = np.arange(n)
        if stored > _SMALL:
            size = int(max(n / _SHARE, _SMALL * (n / stored)))
            # Not from the passes' own generator, which would then shuffle otherwise.
            own = np.random.default_rng(0)
            sample = np.sort(own.choice(n, size, replace=False, shuffle=False))
        none = np.empty(0)
        empty = np.empty(0, dtype=np.int64)
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
        )

    def step(
        self,
        problem: MistakeObjective,
        state: MistakeDrivenState,
        check_interrupt: Callable[[], None],
    ) -> MistakeDrivenState:
        if self._at_once(problem, state) > 1:
            return self._several(problem, state)
        kernel = self._visiting(problem)
        if self.keep == "best" and not state.settled:
            self._put_up(problem, state, state.theta)
        state.settled = False
        if state.passes == 0 or self.order == "random":
            state.visits, state.shares = self._schedule(problem.upper, state.rng)
        if self.order != "restart":
            state.position = 0
        state.passes += 1
        n, stored = problem.design.n_samples, problem.design.n_stored
        stretch = max(1, int(_STRETCH * (n / max(stored, 1))))
        left = total = len(state.visits)
        limit = 1 if self.record else total
        corrected = 0
        # The weights of the last pass's end have been put up already: they do not stand again.
        stood, most = -total - 1, 0
        while left > 0 and state.position < total:
            if left < total:
                check_interrupt()
            state.position, made, updates, latest, state.elapsed, stood, most = kernel(
                problem.design.rows,
                problem.y,
                state.visits,
                state.shares,
                problem.rate,
                problem.level,
                int(problem.fit_intercept),
                self.order == "restart",
                state.theta,
                state.lag,
                state.longest,
                state.scores,
                state.mistakes,
                state.position,
                min(left, stretch),
                limit,
                state.elapsed,
                stood,
                most,
            )
            left -= made
            corrected += updates
            if self.record and updates:
                self._remember(problem, state, latest)
        if most > max(stood, 0):
            self._put_up(problem, state, state.longest)
        self._end(problem, state, corrected)
        return state

    def _visiting(self, problem: MistakeObjective) -> Any:
        return specialise(
            _visit,
            row_dot=problem.design.row_dot,
            row_add=problem.design.row_add,
            # Rows that come as they lie announce themselves.
            row_prefetch=problem.design.row_prefetch if self.order == "random" else dense_prefetch,
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
        """How many passes the next step makes."""
        stored = max(problem.design.n_stored, problem.design.n_samples)
        if self.most is None or self.record or self.order != "cyclic" or stored > _FEW:
            return 1
        return min(self.most - state.passes, _STRETCH // stored)

    def _several(self, problem: MistakeObjective, state: MistakeDrivenState) -> MistakeDrivenState:
        """A step of several passes."""
        kernel = specialise(_passes, visit=self._visiting(problem), count=self._counting(problem))
        if state.passes == 0:
            state.visits, state.shares = self._schedule(problem.upper, state.rng)
        before = state.fewest
        state.best, state.best_scores = state.best.copy(), np.array(state.best_scores)
        made, updates, state.fewest, state.elapsed = kernel(
            problem.design.rows,
            problem.y,
            state.visits,
            state.shares,
            problem.rate,
            problem.level,
            int(problem.fit_intercept),
            state.theta,
            state.lag,
            state.longest,
            state.scores,
            state.mistakes,
            state.sample,
            problem.upper,
            state.trial,
            state.best,
            state.best_scores,
            state.fewest,
            state.elapsed,
            state.settled,
            self._at_once(problem, state),
        )
        state.passes += made
        state.position = len(state.visits)
        state.settled, state.improved = False, state.fewest < before
        self._end(problem, state, updates)
        return state

    def _end(self, problem: MistakeObjective, state: MistakeDrivenState, corrected: int) -> None:
        """Note how a pass with so many corrections ended."""
        state.broken = not np.all(np.isfinite(state.theta))
        # With restarts too: as many visits as there are rows, and none a mistake, reach the end.
        state.clean = corrected == 0 and not state.broken
        if state.clean:
            # All rows were visited at these weights: their scores are known.
            state.best, state.best_scores = state.theta.copy(), state.scores.copy()
            state.fewest = problem.value(state.scores)
            state.broken = not np.isfinite(state.fewest)
            state.settled = True

    def _remember(self, problem: MistakeObjective, state: MistakeDrivenState, sample: int) -> None:
        # The weights before an update are those after the one before it: one copy serves both.
        before, after = state.recorded, read_only(state.theta.copy())
        state.recorded = after
        state.updates.append(
            Update(
                sample=int(sample),
                epoch=state.passes,
                coef_before=problem.weights_of(before),
                intercept_before=float(problem.intercept_of(before)),
                coef=problem.weights_of(after),
                intercept=float(problem.intercept_of(after)),
                mistakes=int(state.mistakes[sample]),
            )
        )

    def candidate(self, problem: MistakeObjective, state: MistakeDrivenState) -> Candidate:
        if not state.settled:
            self._put_up(problem, state, state.theta)
            state.settled = True
        state.improved = False
        return Candidate(state.best, scores=state.best_scores)

    def _put_up(
        self, problem: MistakeObjective, state: MistakeDrivenState, theta: np.ndarray
    ) -> None:
        """Keep weights that make no more mistakes on the sample than the best so far."""
        if not np.all(np.isfinite(theta)):
            return
        mistakes = self._counting(problem)(
            problem.design.rows,
            problem.y,
            state.sample,
            problem.upper,
            problem.level,
            int(problem.fit_intercept),
            theta,
            state.trial,
            state.fewest,
        )
        # Of equals the latest: as long as the passes make headway it is the better one.
        if mistakes <= state.fewest:
            whole = len(state.sample) == len(state.trial)
            state.best, state.best_scores = theta.copy(), state.trial.copy() if whole else None
            state.fewest, state.improved = mistakes, True

    def should_check(
        self, problem: MistakeObjective, state: MistakeDrivenState, tol: float
    ) -> bool:
        # A start without a mistake, or a pass, is its own proof.  Better weights are news, unless
        # the news would cost a product with the data.
        if state.passes == 0 and state.fewest == 0.0:
            return True
        return state.clean or (state.improved and state.best_scores is not None)

    def stopped(self, problem: MistakeObjective, state: MistakeDrivenState) -> str | None:
        return "non_finite" if state.broken else None


def finalize(
    problem: MistakeObjective, solver: MistakeDriven, solution: Solution, max_passes: int
) -> Solution:
    """The solution of a run at the weights that are its answer, with their certificate.

    The answer is the best weights by the solver's own rule, or the average, and does not depend
    on how often anyone looked.
    """
    state, run = solution.state, solution.certificate
    n_iter = run.n_iter
    if run.primal == 0.0 and not state.clean and 0 < state.passes < max_passes:
        # A look found out before the pass that would have been clean.
        n_iter += 1
        ahead = state.position if solver.order == "restart" else 0
        state.elapsed += float(state.shares[ahead:].sum())
    theta = state.average if solver.keep == "average" else state.best
    status, primal = run.status, run.primal
    if theta is not solution.theta:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            primal = problem.certify(theta, problem.bound(theta), run.tol).primal
        if not np.isfinite(primal):
            return solution
        if primal == 0.0:
            status = "optimal"
        elif primal > 0.0 and status == "optimal":
            # The last weights make no mistake; their average still does.
            status = "averaged"
    certificate = Certificate.of(
        primal=primal, dual=0.0, tol=run.tol, status=status, n_iter=n_iter, seconds=run.seconds
    )
    return replace(solution, theta=theta, certificate=certificate)


def one_pass(
    problem: MistakeObjective,
    solver: MistakeDriven,
    *,
    average: np.ndarray,
    visits: float,
    tol: float,
    part: str = "",
    seed: Any = None,
) -> Solution:
    """A single pass over the rows, from ``problem.zero()``, that goes on from earlier ones.

    What it ends with counts, not the best that it saw: other rows than these may have had a say.

    Parameters
    ----------
    problem : MistakeObjective
    solver : MistakeDriven
    average : ndarray
        The average of the weights over the ``visits`` before.
    visits : float
    tol : float
        For the certificate.
    part : str
        Name of this problem where it is one of several.
    seed : optional
        Anything that :func:`numpy.random.default_rng` takes; None is a fixed stream.

    Returns
    -------
    Solution
        What the solver keeps, and its certificate on these rows.  Where the arithmetic
        overflows, the weights from before the pass.
    """
    start = time.perf_counter()
    solver.requires(problem)
    before = problem.zero()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        state = solver.init(problem, before, generator_of(seed))
        lag = visits * (before - average)
        if solver.keep == "average":
            state.elapsed, state.lag = visits, lag.copy()
        state = solver.step(problem, state, lambda: None)
        if state.broken:
            state.theta, state.elapsed, state.lag = before, visits, lag
        theta = state.average if solver.keep == "average" else state.theta
        primal = problem.certify(theta, problem.bound(theta), tol).primal
    status = "non_finite" if state.broken else "not_separated"
    certificate = Certificate.of(
        primal=primal,
        dual=0.0,
        tol=tol,
        status="optimal" if primal == 0.0 else status,
        n_iter=1,
        seconds=time.perf_counter() - start,
    )
    return Solution(theta, None, certificate, Trace(part) if solver.record else None, state)


def starting_points(
    coef: Any, intercept: Any, *, n_features: int, parts: int, fit_intercept: bool
) -> np.ndarray:
    """The points to start from, a row for each problem, from what a user gave as ``coef_init``
    and ``intercept_init``; zero for None.

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
