"""Several models fitted to the same folds, the cheap ones first, within a budget of seconds."""

from __future__ import annotations

import contextlib
import contextvars
import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from threadpoolctl import ThreadpoolController

from separatrix._compiled import pool
from separatrix.assessment.comparison import Comparison, Contender
from separatrix.data.splitting import Fold
from separatrix.data.validation import check_number
from separatrix.messages import clause, message_of
from separatrix.models.registry import OFFERS, Size
from separatrix.models.search import Judge, scorer_of
from separatrix.solvers.driver import Interrupt, lent_interrupt

# A fit without a time limit may outlast a budget: it is tried first on one row in every _TRIED,
# where the matrix has _LARGE entries or more.
_TRIED, _LARGE = 16, 2_000_000
# The fits of a calibration: those to its folds, and the one to all rows.
_CALIBRATED = 6.0
# The most bytes of rows that are made dense for the yardstick.
_DENSE_BYTES = 2 << 30


@dataclass(frozen=True, eq=False)
class Entry:
    """A model that takes part, and the matrix that it sees."""

    estimator: Any
    X: Any


def forecast(entry: Entry, outputs: int) -> float:
    """The operations that a fit of a model takes, roughly; infinite for one that is not known.

    Only the order counts, in which models are fitted where the time is limited. ``outputs``: the
    number of functions that are fitted, as in :class:`Size`.
    """
    name, given = type(entry.estimator).__name__, entry.estimator.get_params(deep=False)
    if name.startswith("Dummy"):
        return 0.0
    offer = next((one for one in OFFERS.values() if name in (one.estimator, one.of_classes)), None)
    if offer is None:
        return math.inf
    rows, columns = entry.X.shape
    entries = entry.X.nnz if sp.issparse(entry.X) else rows * columns
    size = Size(rows, columns, entries, outputs, given)
    return offer.work(size) * (_CALIBRATED if given.get("calibrate") else 1.0)


def yardstick_of(X: Any, *, quantity: bool, random_state: int = 0) -> Entry:
    """Scikit-learn's histogram gradient boosting at its defaults, with the same features.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Sparse rows are made dense, which the model requires, up to 2 GiB.
    quantity : bool
        Whether a number is predicted rather than a class.
    random_state : int
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if quantity else HistGradientBoostingClassifier
    if sp.issparse(X) and 8 * math.prod(X.shape) <= _DENSE_BYTES:
        X = X.toarray()
    return Entry(kind(random_state=random_state), X)


def race(
    entries: Mapping[str, Entry],
    y: np.ndarray,
    folds: Sequence[Fold],
    *,
    scoring: Any = None,
    sample_weight: Any = None,
    budget: float | None = None,
    yardstick: Entry | None = None,
    on_progress: Callable[[str, int, float], None] | None = None,
) -> Comparison:
    """Fit and score every entry on every fold; Ctrl-C ends it with what is done.

    Parameters
    ----------
    entries : mapping of str to Entry
    y : ndarray of shape (n_samples,)
    folds : sequence of pairs of ndarray
    scoring, sample_weight, budget
        As for :func:`separatrix.compare`.
    yardstick : Entry, optional
        A model that is fitted after all others, and takes no part in their order.
    on_progress : callable, optional
        Called with the name of a model, the number of its folds that are done, and the share of
        the forecast work that is; from threads, one at a time.
    """
    if budget is not None:
        check_number("budget", budget, above=0)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    quantity = is_regressor(next(iter(entries.values())).estimator)
    n_classes = 1 if quantity else len(np.unique(y))
    outputs = n_classes if n_classes > 2 else 1
    work = {name: forecast(entry, outputs) for name, entry in entries.items()}
    order = sorted(entries, key=work.__getitem__)
    given = [(name, entries[name]) for name in order]
    if yardstick is not None:
        given.append(("boosting", yardstick))
    known = [one for one in work.values() if math.isfinite(one)]
    # A model that nothing is known of is forecast to take as long as the longest.
    longest = max([*known, 1.0])
    shares = [min(work.get(name, longest), longest) for name, _ in given]
    total, done = max(sum(shares), 1.0), 0.0
    clock = _Clock(budget)
    found: list[Contender] = []
    interrupted = False
    for (name, entry), share in zip(given, shares, strict=True):

        def on_fold(k: int, name: str = name, before: float = done, share: float = share) -> None:
            if on_progress is not None:
                on_progress(name, k, (before + share * k / len(folds)) / total)

        running = _Running(name, entry, y, folds, scoring, weights, clock, on_fold)
        running.run()
        interrupted = running.interrupted
        if not interrupted or running.scored:
            found.append(running.contender())
        if interrupted:
            break
        done += share
    beside = found.pop() if yardstick is not None and len(found) == len(given) else None
    if interrupted and not found:
        raise KeyboardInterrupt
    found.sort(key=_place)
    named = scoring if isinstance(scoring, str) else None
    default = "R^2" if quantity else "accuracy"
    return Comparison(
        tuple(found),
        named or (default if scoring is None else "score"),
        len(folds),
        len(y),
        float(np.mean([len(held) / len(fit) for fit, held in folds])),
        interrupted,
        budget,
        beside,
    )


def _place(one: Contender) -> tuple[int, float]:
    """Models by falling score; those with scores of some folds, and of none, after the others."""
    if one.why:
        return 2, 0.0
    return int(bool(one.stopped)), -one.score


class _Clock:
    """The time at which the budget of all models ends."""

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self.deadline = math.inf if budget is None else time.perf_counter() + budget

    @property
    def left(self) -> float:
        return self.deadline - time.perf_counter()

    def limit(self, model: Any) -> bool:
        """Let a fit end with the budget, where it can end early; return whether it can."""
        given = model.get_params(deep=False)
        if self.budget is None or "time_limit" not in given:
            return False
        own = given["time_limit"]
        left = max(self.left, 1e-9)
        model.set_params(time_limit=left if own is None else min(own, left))
        return True


class _Running:
    """One model on all folds, which are fitted side by side where the model is known to bear it."""

    def __init__(
        self,
        name: str,
        entry: Entry,
        y: np.ndarray,
        folds: Sequence[Fold],
        scoring: Any,
        weights: np.ndarray | None,
        clock: _Clock,
        on_fold: Callable[[int], None],
    ) -> None:
        self.name, self.entry, self.y, self.folds = name, entry, y, folds
        self.weights, self.clock, self.on_fold = weights, clock, on_fold
        self.scores = np.full(len(folds), math.nan)
        self.seconds = np.full(len(folds), math.nan)
        self.certificates: list[Any] = [None] * len(folds)
        self.why, self.stopped, self.interrupted = "", "", False
        self.progress = threading.Lock()
        # A scorer of one's own may have a memory, and a model as well.
        self.library = type(entry.estimator).__module__.partition(".")[0]
        self.side_by_side = self.library in ("separatrix", "sklearn") and not callable(scoring)
        self.limited = "time_limit" in entry.estimator.get_params(deep=False)
        if scoring is None and is_regressor(entry.estimator):
            # One measure for all, whatever the score of each is.
            scoring = "r2"
        metadata = {} if weights is None else {"sample_weight": weights}
        self.judge = Judge(scorer_of(entry.estimator, scoring), entry.X, y, metadata)

    @property
    def scored(self) -> int:
        """The number of folds that have a score."""
        return int(np.isfinite(self.scores).sum())

    def run(self) -> None:
        """Fit to every fold, and score, as far as the budget and Ctrl-C let it."""
        self.on_fold(0)
        tasks: list[Callable[[], Any]] = []
        with warnings.catch_warnings():
            # The table shows how far each fit came.
            warnings.simplefilter("ignore")
            expected = self._trial()
            if not self.side_by_side:
                with pool.one_blas_thread():
                    for k in range(len(self.folds)):
                        self._fold(k, None, expected)
                return
            with Interrupt() as interrupt, lent_interrupt():
                for k in range(len(self.folds)):
                    one = partial(self._alone, k, interrupt, expected)
                    tasks.append(partial(contextvars.copy_context().run, one))
                try:
                    pool.run(tasks)
                except KeyboardInterrupt:
                    self.interrupted = True
                self.interrupted = self.interrupted or interrupt.requested

    def _alone(self, k: int, interrupt: Interrupt, expected: float) -> None:
        # Sums do not depend on which thread a fold is on, or on how many there are.
        with pool.alone(), self._one_openmp_thread():
            self._fold(k, interrupt, expected)

    def _one_openmp_thread(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which OpenMP, whose threads wait busily, leaves the cores to other folds."""
        if self.library != "sklearn":
            return contextlib.nullcontext()
        # OpenMP alone: a wider limit would reset the threads of BLAS, which others have limited.
        return ThreadpoolController().select(user_api="openmp").limit(limits=1)

    def _trial(self) -> float:
        """The seconds that a fit may take that cannot be ended; 0 where it is not worth a trial."""
        size = self.entry.X.nnz if sp.issparse(self.entry.X) else self.entry.X.size
        if self.limited or self.clock.budget is None or size < _LARGE:
            return 0.0
        rows = self.folds[0][0][::_TRIED]
        begun = time.perf_counter()
        try:
            with pool.alone(), self._one_openmp_thread():
                clone(self.entry.estimator).fit(self.entry.X[rows], self.y[rows])
        except (ValueError, TypeError, AttributeError, MemoryError):
            # The fault shows in the fit to all rows, or was one of these few rows.
            return 0.0
        except KeyboardInterrupt:
            self.interrupted = True
            return 0.0
        return _TRIED * (time.perf_counter() - begun)

    def _fold(self, k: int, interrupt: Interrupt | None, expected: float) -> None:
        ended = interrupt is not None and interrupt.requested
        if ended or self.why or self.stopped or self.interrupted:
            return
        finished = self.seconds[np.isfinite(self.seconds)]
        if not self.limited:
            expected = float(finished.max(initial=0.0)) if len(finished) else expected
            if self.clock.left < expected:
                self._stop()
                return
        if self.clock.left <= 0.0:
            self._stop()
            return
        fit, held = self.folds[k]
        own = {} if self.weights is None else {"sample_weight": self.weights[fit]}
        try:
            model = clone(self.entry.estimator)
            limited = self.clock.limit(model)
            start = time.perf_counter()
            model.fit(self.entry.X[fit], self.y[fit], **own)
            self.seconds[k] = time.perf_counter() - start
            if limited and self.clock.left <= 0.0:
                # It may be anywhere on its way: such a score would be of another model.
                self._stop()
                return
            self.certificates[k] = getattr(model, "certificate_", None)
            self.scores[k] = self.judge.on(held)(model)
        except KeyboardInterrupt:
            self.interrupted = True
            return
        except (ValueError, TypeError, AttributeError, MemoryError) as error:
            self.why = clause(message_of(error)) or type(error).__name__
            return
        if not math.isfinite(self.scores[k]):
            self.why = "the scorer did not return a number"
        with self.progress:
            self.on_fold(self.scored)

    def _stop(self) -> None:
        self.stopped = f"the budget of {self.clock.budget:g} s ended before its last fold"

    def contender(self) -> Contender:
        """The results of the model."""
        stopped, why = self.stopped, self.why
        if not why and self.interrupted and self.scored < len(self.folds):
            stopped = "it was interrupted before its last fold"
        elif not why and stopped and not self.scored:
            why = f"the budget of {self.clock.budget:g} s ended before its first fold was scored"
        there = [one for one in self.certificates if one is not None]
        gaps = [
            getattr(one, "relative_gap", getattr(one, "relative_residual", None)) for one in there
        ]
        numbers = [gap for gap in gaps if gap is not None and math.isfinite(gap)]
        worst = next((one for one in there if not one.ok), there[0] if there else None)
        return Contender(
            self.name,
            self.entry.estimator,
            self.scores,
            float(np.nansum(self.seconds)),
            max(numbers) if numbers and len(numbers) == len(gaps) else None,
            all(one.ok for one in there),
            "" if worst is None else str(worst.status),
            why,
            stopped,
        )
