"""The only loop.  Every solver is run by :func:`minimise`.

Call order::

    state = solver.init(problem, theta, rng)            # and a dual point, if there is one
    repeat
        state = solver.step(problem, state, check_interrupt)      # one iteration
        if a check is due:                              # solver.should_check, or a limit
            candidate = solver.candidate(problem, state)
            problem.bound(...)                          # fresh, in float64
            if it is good enough:
                problem.certify(...)                    # charged for its own rounding
    until certified, a limit, an interrupt, or solver.stopped(state)

The driver alone owns iteration and time limits, Ctrl-C, checks for overflow, certificates, the
trace and progress; it returns the best point that was checked, with the best bound.  Checks on the
way are evaluated in floating point; the certificate that is returned, and those that a trace keeps,
are charged for their rounding.

Recording, printing or watching a fit changes nothing that it returns: where no check is due, trace
and callbacks get the point of a copy of the state, which affects neither the method nor the best
point.
"""

from __future__ import annotations

# The module that `signal` wraps: the functions of `signal` look each handler up in an enumeration,
# which for one that is no member takes as long as a step of a small fit.
import _signal  # type: ignore[import-not-found]
import contextlib
import copy
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled import compilation, pulse
from separatrix._compiled.pool import one_blas_thread
from separatrix.certificate import Certificate, relative_to
from separatrix.data.random_state import generator_of
from separatrix.objectives.base import VANISHED, Bound, LinearProblem
from separatrix.solvers.protocol import Candidate, Solver
from separatrix.solvers.trace import Trace


@dataclass(frozen=True)
class Progress:
    """The report of :func:`watch` at each step: the best that the checks so far have found.

    Attributes
    ----------
    part : str
        The name of the binary problem, where there are several; else empty.
    iteration : int
    seconds : float
    primal, dual, relative_gap, tol : float
    trace : Trace or None
        The record so far, where the fit records.
    outlook : float
        The relative gap as the method itself estimates it at present, which nothing certifies; NaN
        where it has no estimate.
    sample_gap : float
        The relative gap on a sample of the rows, while a method begins on such a sample; NaN
        otherwise.
    """

    part: str
    iteration: int
    seconds: float
    primal: float
    dual: float
    relative_gap: float
    tol: float
    trace: Trace | None = None
    outlook: float = np.nan
    sample_gap: float = np.nan

    @property
    def likely_gap(self) -> float:
        """The smaller of the gap that was last found and the gap that the method expects."""
        return float(np.fmin(self.relative_gap, self.outlook))


@dataclass(frozen=True)
class Solution:
    """The result of a fit.

    Attributes
    ----------
    theta : ndarray
        The best point seen.
    residual : ndarray or None
        The dual point that proves the bound.
    certificate : Certificate
    trace : Trace or None
    state : object
        The solver's last state.
    interrupted : bool
        Whether Ctrl-C was pressed, which the caller raises even where the point is optimal.
    """

    theta: np.ndarray
    residual: np.ndarray | None
    certificate: Certificate
    trace: Trace | None
    state: Any
    interrupted: bool = False


# The number of steps before the limit from which every one is checked: bounds go up and down on the
# way, and a fit of more steps should not report less than one of fewer.
_LAST = 32

# The share of a time limit after which a fit rehearses its end, to measure how long that takes.
_REHEARSED = 0.2
# The largest share of a time limit that is held back for the end.
_HELD_BACK = 0.5

# A relative gap from which a bound is of no use.
_USELESS = 0.1

# Fewer steps than these seldom let an objective vanish; a check costs the loss of every row.
_FEW_STEPS = 8

# The bounds before there is a lower bound.
_NO_PROOF = Bound(np.inf, -np.inf, np.inf)

Watcher = Callable[[Progress], bool | None]

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())
# The limits of the fit that others are steps of.
_enclosing: ContextVar[Callable[[], None] | None] = ContextVar("enclosing", default=None)


@contextlib.contextmanager
def watch(callback: Watcher) -> Iterator[None]:
    """Call ``callback`` with a :class:`Progress` at every step of the fits inside the block.

    A fit of one problem ends where the callback returns True.

    Small kernel machines take many steps in one compiled loop, and call it whenever that returns.
    Watching changes no fit: certificates are checked when they would be anyway.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> from separatrix.solvers.driver import watch
    >>> seen = []
    >>> with watch(seen.append):
    ...     _ = LogisticRegression().fit(*load_iris(return_X_y=True))
    >>> seen[-1].relative_gap <= seen[-1].tol
    True
    """
    token = _watchers.set((*_watchers.get(), callback))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextlib.contextmanager
def within(check_interrupt: Callable[[], None]) -> Iterator[None]:
    """Let fits inside the block be steps of another, without callbacks; it may end them.

    Parameters
    ----------
    check_interrupt : callable
        Called wherever a fit checks its own limits; an exception that it raises ends the fit.
    """
    token = _watchers.set(())
    try:
        with ended_by(check_interrupt):
            yield
    finally:
        _watchers.reset(token)


@contextlib.contextmanager
def ended_by(check_interrupt: Callable[[], None]) -> Iterator[None]:
    """Let a function end the fits inside the block, which call it at every check of their limits.

    Parameters
    ----------
    check_interrupt : callable
        An exception that it raises ends the fit, which then has no result.
    """
    token = _enclosing.set(check_interrupt)
    try:
        yield
    finally:
        _enclosing.reset(token)


def watched() -> bool:
    """Whether a callback of :func:`watch` follows the fits of this context."""
    return bool(_watchers.get())


def _note(
    trace: Trace,
    problem: Any,
    iteration: int,
    seconds: float,
    theta: np.ndarray,
    residual: np.ndarray | None,
    noted: Bound,
) -> None:
    """Add a point to a trace, with its charged bound and the best of those so far."""
    trace.iterations.append(iteration)
    trace.seconds.append(seconds)
    trace.primal.append(noted.primal)
    trace.dual.append(max([noted.dual, *trace.dual[-1:]]))
    trace.coef.append(np.array(theta[: problem.design.n_features].T))
    trace.intercept.append(np.array(problem.intercept_of(problem.from_internal(theta))))
    counts = problem.support_counts(residual)
    if counts is not None:
        trace.n_support.append(counts[0])
        trace.n_bounded.append(counts[1])


def _apart(value: Any) -> Any:
    """A copy of a solver's state, arrays and states within it included; it shares all else."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if is_dataclass(value) and not isinstance(value, type):
        twin = copy.copy(value)
        for field in fields(value):
            object.__setattr__(twin, field.name, _apart(getattr(value, field.name)))
        return twin
    return copy.copy(value) if getattr(value, "stateful", False) else value


def _in_single(theta: np.ndarray) -> np.ndarray:
    return theta.astype(np.float32).astype(np.float64)


@dataclass(frozen=True)
class _Rehearsal:
    """A point that was checked to measure how long that takes, and its number of iterations."""

    iteration: int
    candidate: Candidate
    bound: Bound


class _Stop(Exception):
    """Raised where a fit is to end at once, in the middle of any operation.

    Attributes
    ----------
    fit : object
        The fit that ends; a fit that is a step of another passes on an exception of the other.
    """

    def __init__(self, fit: Any) -> None:
        super().__init__()
        self.fit = fit


class Interrupt:
    """Turns the first Ctrl-C into a flag, so that no state is left half-updated.

    A second one acts at once, unless it follows within a second: it is then taken for the echo of
    the first.  Outside the main thread signals cannot be caught, and the flag stays down.
    """

    # The outermost of those in force: the others share its flag.
    _outermost: Interrupt | None = None

    def __init__(self) -> None:
        self._flag = False
        self._shared: Interrupt = self
        self._since = 0.0
        self._previous: Any = None
        self._installed = False

    @property
    def requested(self) -> bool:
        return self._shared._flag

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            if Interrupt._outermost is not None:
                self._shared = Interrupt._outermost
                return self
            previous = _signal.getsignal(signal.SIGINT)
            # A program that ignores or replaces Ctrl-C keeps its own rules, unless it wants fits to
            # have theirs.
            if previous is signal.default_int_handler or getattr(previous, "gives_way", False):
                self._previous = previous
                Interrupt._outermost = self
                self._installed = True
                _signal.signal(signal.SIGINT, self._handle)
        elif (lent := _lent.get()) is not None:
            self._shared = lent
        return self

    def _handle(self, signum: int, frame: Any) -> None:
        outermost = self._shared
        if not outermost._flag:
            outermost._flag, outermost._since = True, time.monotonic()
        elif time.monotonic() - outermost._since > 1.0:
            signal.signal(signal.SIGINT, outermost._previous)
            raise KeyboardInterrupt

    def __exit__(self, *exc: object) -> None:
        if self._installed:
            _signal.signal(signal.SIGINT, self._previous)
            Interrupt._outermost = None


_lent: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


@contextlib.contextmanager
def lent_interrupt() -> Iterator[None]:
    """Let Ctrl-C end fits on other threads, which copy this context, as it ends this thread's."""
    ours = threading.current_thread() is threading.main_thread()
    token = _lent.set(Interrupt._outermost if ours else _lent.get())
    try:
        yield
    finally:
        _lent.reset(token)


def minimise(
    problem: LinearProblem,
    solver: Solver,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    time_limit: float | None = None,
    theta: np.ndarray | None = None,
    residual: np.ndarray | None = None,
    start: Candidate | None = None,
    seed: int | np.random.Generator | None = None,
    record: bool = False,
    verbose: int = 0,
    part: str = "",
    exhausted: str = "max_iter",
    single: bool = False,
    spent: int = 0,
    way: Sequence[tuple[int, np.ndarray]] = (),
) -> Solution:
    """Minimise ``problem`` until its certified relative gap is at most ``tol``.

    Parameters
    ----------
    problem : LinearProblem
    solver : Solver
    tol : float
        Target for the certified relative gap.
    max_iter : int
        Limit on steps.
    time_limit : float, optional
        Limit in seconds.
    theta : ndarray, optional
        Starting point; default zero.
    residual : ndarray, optional
        Dual starting point, as :attr:`Solution.residual`; it need not be feasible.
    start : Candidate, optional
        The starting point with all that is known about it, instead of ``theta``.  It is certified
        before the solver starts, and returned where it is good enough.
    seed : int or Generator, optional
        For methods that visit rows at random.
    record : bool
        Keep a :class:`Trace` with the bounds after every step, which changes nothing else.
    verbose : int
        1 or more prints checks at doubling intervals to stderr.
    part : str
        Name of this problem where it is one of several.
    exhausted : str
        The status at the iteration limit.
    single : bool
        Return a point of float32's numbers, with the certificate of that point, unless they
        would cost more than ``tol``.
    spent : int
        The number of iterations of another method that led to the start: they count, and
        ``max_iter`` limits those that follow.
    way : sequence of (int, ndarray)
        Points of that method with their numbers of iterations, for the trace.

    Returns
    -------
    Solution
        The best point seen; after Ctrl-C it is marked as interrupted, and the status of a
        certificate above ``tol`` is ``"interrupted"``.
    """
    if not isinstance(solver, Solver):
        raise TypeError(
            f"solver is {solver!r}, and must be an instance of a subclass of "
            "separatrix.solvers.protocol.Solver."
        )
    solver.requires(problem)
    solver = solver.suited(problem).aimed(tol)
    with (
        Interrupt() as interrupt,
        one_blas_thread(),
        np.errstate(over="ignore", under="ignore", invalid="ignore"),
    ):
        fit = _Fit(
            problem, tol, time_limit, interrupt, Trace(part) if record else None, part, verbose
        )
        fit.single, fit.spent = single, spent
        known = start is not None
        if start is None:
            start = Candidate(problem.zero() if theta is None else theta, residual)
        # From here on a limit or Ctrl-C may end any long operation, a step as well as a check.
        before = problem.listen(fit.check_interrupt)
        try:
            with pulse.beating(fit.beat):
                if record:
                    fit.note(way)
                fit.run(
                    solver,
                    start,
                    seed,
                    max_iter,
                    exhausted,
                    look=theta is not None
                    and residual is None
                    and not solver.judges_start(problem),
                    known=known,
                )
        except _Stop as stop:
            if stop.fit is not fit:
                raise
            fit.cut_short(solver, start)
        finally:
            problem.listen(before)
            vars(problem).pop("until", None)
    return fit.solution()


def minimise_batch(
    batch: Any,
    solver: Any,
    alone: Callable[[Any], Solver],
    *,
    parts: Sequence[str],
    tol: float,
    max_iter: int,
    time_limit: float | None = None,
    seed: int = 0,
    record: bool = False,
    verbose: int = 0,
) -> list[Solution]:
    """Minimise several problems at once, each until its certified relative gap is at most ``tol``.

    Parts that the solver cannot certify go on one by one, from its last point.

    Parameters
    ----------
    batch : BatchedObjective
        The problems.
    solver : BatchedDecomposition
    alone : callable
        A function that gives the solver of one problem.
    parts : sequence of str
        The names of the problems.
    tol : float
    max_iter : int
        Limit on the steps of each part.
    time_limit : float, optional
        Limit in seconds for all parts.
    seed : int
        The seed of the first part, if it goes on alone; the other parts have the numbers after it.
    record : bool
        Keep a :class:`Trace` of every part, with the bounds after every working set.
    verbose : int

    Returns
    -------
    list of Solution
    """
    fit = _BatchFit(batch, solver, tol, time_limit, parts, record)
    with (
        Interrupt() as interrupt,
        one_blas_thread(),
        np.errstate(over="ignore", under="ignore", invalid="ignore"),
    ):
        state = solver.init(batch)
        if record:
            fit.note(state)
        while fit.active.any() and not (solver.stopped(state) or fit.late):
            solver.step(batch, state, fit.active, tol, max_iter, fit.note if record else None)
            due = solver.promises(state, fit.active, tol)
            if due.any() and not interrupt.requested:
                fit.check(state, due)
            fit.report(state)
            spent = state.used >= max_iter
            if interrupt.requested or np.all(spent[fit.active]):
                break
        for k in np.flatnonzero(fit.active).tolist():
            limits: dict[str, Any] = {"max_iter": max(max_iter - int(state.used[k]), 0)}
            if interrupt.requested:
                limits["max_iter"] = 0
            if time_limit is not None:
                left = max(fit.deadline - time.perf_counter(), 0.0)
                limits["time_limit"] = left / int(fit.active[k:].sum())
            found = fit.alone(k, state, alone(batch.problems[k]), seed=seed + k, **limits)
            fit.solutions[k] = found
    solutions = [s for s in fit.solutions if s is not None]
    if verbose:
        for part, solution in zip(parts, solutions, strict=True):
            print(f"{part + ': ' if part else ''}{solution.certificate}", file=sys.stderr)
    return solutions


class _BatchFit:
    """Several fits under way at once, and which of them are certified."""

    def __init__(
        self,
        batch: Any,
        solver: Any,
        tol: float,
        time_limit: float | None,
        parts: Sequence[str],
        record: bool,
    ) -> None:
        self.batch, self.solver, self.tol, self.parts = batch, solver, tol, parts
        self.traces = [Trace(part) if record else None for part in parts]
        self.start = time.perf_counter()
        self.deadline = np.inf if time_limit is None else self.start + time_limit
        self.watchers = _watchers.get()
        self.solutions: list[Solution | None] = [None] * len(parts)
        self.active = np.ones(len(parts), dtype=bool)
        self.bounds: dict[int, Bound] = {}

    @property
    def late(self) -> bool:
        return time.perf_counter() > self.deadline

    def note(self, state: Any) -> None:
        """Add the present points of the active parts to their traces, where they are new."""
        c, b = state.c.copy(), np.where(np.isfinite(state.level), state.level, 0.0)
        for k in np.flatnonzero(self.active).tolist():
            trace, count = self.traces[k], int(state.used[k])
            if trace is None or trace.iterations[-1:] == [count]:
                continue
            bound = self.batch.certify_part(k, c, b, self.tol)
            seconds = time.perf_counter() - self.start
            theta = self.batch.theta(k, c, b)
            _note(trace, self.batch.problems[k], count, seconds, theta, bound.residual, bound)

    def check(self, state: Any, due: np.ndarray) -> None:
        """Certify the parts that are due, and settle those that are good enough."""
        c, b, product = self.solver.candidates(self.batch, state, due)
        index = np.flatnonzero(due)
        seconds = (time.perf_counter() - self.start) / len(self.parts)
        for k, bound in zip(
            index.tolist(), self.batch.certify(c, b, product, self.tol, index), strict=True
        ):
            self.bounds[k] = bound
            if not relative_to(bound.gap, bound.primal) <= self.tol:
                continue
            certificate = Certificate.of(
                primal=bound.primal,
                dual=bound.dual,
                gap=bound.gap,
                tol=self.tol,
                status="optimal",
                n_iter=int(state.used[k]),
                seconds=seconds,
            )
            theta = self.batch.theta(k, c, b, product)
            self.solutions[k] = Solution(theta, bound.residual, certificate, self.traces[k], None)
            self.active[k] = False

    def alone(self, k: int, state: Any, solver: Solver, **limits: Any) -> Solution:
        """The result of :func:`minimise` for a part, from its present point."""
        theta = self.batch.theta(k, state.c, state.level)
        found = minimise(
            self.batch.problems[k],
            solver,
            tol=self.tol,
            theta=theta,
            part=self.parts[k],
            record=self.traces[k] is not None,
            **limits,
        )
        trace, used = self.traces[k], int(state.used[k])
        if trace is not None and found.trace is not None:
            trace.extend(
                found.trace, used, time.perf_counter() - self.start - found.certificate.seconds
            )
            found = replace(found, trace=trace)
        n_iter = found.certificate.n_iter + used
        return replace(found, certificate=replace(found.certificate, n_iter=n_iter))

    def report(self, state: Any) -> None:
        """Call the callbacks for this step."""
        seconds = time.perf_counter() - self.start if self.watchers else 0.0
        for callback in self.watchers:
            for k, part in enumerate(self.parts):
                bound = self.bounds.get(k, _NO_PROOF)
                gap = relative_to(bound.gap, bound.primal)
                count = int(state.used[k])
                now = (part, count, seconds, bound.primal, bound.dual, gap, self.tol)
                callback(Progress(*now, self.traces[k]))


class _Fit:
    """One fit under way: the best point and the best bound so far, and the status."""

    def __init__(
        self,
        problem: LinearProblem,
        tol: float,
        time_limit: float | None,
        interrupt: Interrupt,
        trace: Trace | None,
        part: str,
        verbose: int,
    ) -> None:
        self.problem, self.tol, self.interrupt = problem, tol, interrupt
        self.trace, self.part, self.verbose = trace, part, verbose
        self.start = time.perf_counter()
        self.deadline = np.inf if time_limit is None else self.start + time_limit
        # The time at which the fit has to begin its end, which takes a while, too.
        self.ends = self.deadline
        # The time at which the end is rehearsed, and the point and bounds of the rehearsal.
        self.rehearsed_at = np.inf
        if time_limit is not None and not problem.in_passes:
            self.rehearsed_at = self.start + _REHEARSED * time_limit
        self.rehearsal: _Rehearsal | None = None
        # Points, the best bounds known when they were certified, and both charged for rounding.
        self.charged: list[tuple[Candidate, Bound, Bound]] = []
        # The number of iterations at the last check of a point of the method; -1 before any.
        self.checked = -1
        self.watchers, self.enclosing = _watchers.get(), _enclosing.get()
        # Whether there are callbacks, a trace or printing from the start on.
        self.followed = bool(self.watchers) or trace is not None or verbose > 0
        # The bounds that were reported before anything was checked.
        self.shown = _NO_PROOF
        self.iteration, self.printed, self.spent = 0, 0, 0
        self.status: str | None = None
        # The best point, as the solver gave it, its own bound, and the gap that it came with.
        self.best: tuple[float, Candidate, Bound] | None = None
        self.best_gap = np.inf
        # The best dual point.
        self.proof, self.best_dual = _NO_PROOF, -np.inf
        self.relative_gap = np.inf
        # A start that has not been checked yet.
        self.unseen: Candidate | None = None
        # The relative gap at which a point is certified, with a charge for rounding.
        self.goal = tol
        self.settled: Bound | None = None
        # Whether a callback wants no further step.
        self.ended = False
        # Whether the numbers of the point are to be in float32.
        self.single = False
        # The method, and its state after the last step that was completed.
        self.solver: Any = None
        self.state: Any = None
        # The name of the method at work, where one was chosen by its cost.
        self.method = ""
        # The loss at zero, once it was needed.
        self.null: float | None = None

    # --- the loop -----------------------------------------------------------------------------

    def run(
        self,
        solver: Solver,
        start: Candidate,
        seed: int | np.random.Generator | None,
        max_iter: int,
        exhausted: str,
        *,
        look: bool,
        known: bool = False,
    ) -> None:
        """Step and check until the status is settled.

        ``look``: whether the start is to be checked, although the method would not; ``known``:
        whether it is to be certified before the method begins.
        """
        problem = self.problem
        self.solver = solver
        if known:
            self.check(start)
            self.judge(exhausted if max_iter <= 0 else None)
            if self.status == "precision_limit":
                # The method's own dual point may have less rounding error, and is checked once.
                self.status, self.goal, look = None, self.tol, True
                self.best, self.best_gap = None, np.inf
                self.proof, self.best_dual = _NO_PROOF, -np.inf
            if self.status is not None:
                return
            start = Candidate(start.theta)
        residual = () if start.residual is None else (start.residual,)
        state = self.state = solver.init(problem, start.theta, generator_of(seed), *residual)
        self.follow(solver, state)
        self.heed_enclosing()
        if self.why_now():
            # This happens where the folds of a cross-validation share a limit that is used up.
            raise _Stop(self)
        self._look_at_start(start, exhausted if max_iter <= 0 else None, look)
        while self.status is None:
            if self.ended:
                self.judge("callback")
                break
            self.heed_enclosing()
            self.rehearse()
            state = self.state = solver.step(problem, state, self.check_interrupt)
            self.iteration = solver.iterations(state, self.iteration)
            self.follow(solver, state)
            now = self.why_now() or solver.stopped(problem, state)
            if now is None and problem.smooth and self.vanished(state):
                now = "vanishing"
            now = now or (exhausted if self.iteration >= max_iter else None)
            near = max_iter - self.iteration <= _LAST and not solver.checks_end_alone
            if now in ("interrupted", "time_limit"):
                self._hurry()
            if now is not None or near or solver.should_check(problem, state, self.tol):
                candidate = solver.candidate(problem, state)
                if not np.isfinite(candidate.theta).all():
                    now = "non_finite"
                else:
                    self.check(candidate)
                    self.checked = self.iteration
                if now is not None:
                    self.look_back(solver, state)
                self.judge(now)
                continue
            if self.trace is not None:
                self.show(solver)
            if self.watchers:
                self.report(solver.outlook(problem, state))

    def cut_short(self, solver: Solver, start: Candidate) -> None:
        """Settle the status where a limit or Ctrl-C has ended something on its way.

        This itself is not cut short: for data in passes it takes one pass at most, to evaluate the
        last point where nothing is known of it.
        """
        self.problem.listen(None)
        self._hurry()
        trace = self.trace
        if trace is not None and self.spent + self.iteration in trace.iterations[-1:]:
            # The trace has this step already.
            self.trace = None
        self._look_last(solver, start)
        self.trace = trace
        self.judge("interrupted" if self.interrupt.requested else "time_limit")

    def _hurry(self) -> None:
        """Limit the time of bounds to what is left of it; after Ctrl-C, to none."""
        self.problem.until = -np.inf if self.interrupt.requested else self.deadline

    def _look_last(self, solver: Solver, start: Candidate) -> None:
        """Compare the last point, or the start where there is none, with the best so far."""
        rehearsal, problem = self.rehearsal, self.problem
        # A point of a kernel machine gets its threshold from the method, and the result of a pass
        # over row blocks is at hand.
        begun = self.iteration > 0 or problem.in_passes or problem.coupled
        if rehearsal is not None and rehearsal.iteration == self.iteration:
            # No step has been completed since: its point is the last one.
            self._learn(rehearsal.candidate, rehearsal.bound)
        elif self.state is None or not begun:
            # A start that was to be certified first may have been checked already.
            if self.best is None and not problem.in_passes and not problem.affords(0.0):
                self._consider_alone(start, np.inf)
            elif self.best is None:
                self.check(start)
        elif self.checked < self.iteration or self.best is None:
            candidate = solver.candidate(self.problem, self.state)
            if np.isfinite(candidate.theta).all():
                self.check(candidate)
        if self.state is not None:
            self.look_back(solver, self.state)

    # --- reasons to stop ----------------------------------------------------------------------

    def why_now(self, now: float | None = None) -> str | None:
        """The reason to end, if there is one; ``now`` is the time, if it is at hand."""
        if self.interrupt.requested:
            return "interrupted"
        if not self.deadline < np.inf:
            return None
        return "time_limit" if (now or time.perf_counter()) > self.ends else None

    def vanished(self, state: Any) -> bool:
        """Whether the objective has vanished, so that a relative gap has no meaning."""
        value = self.solver.objective_at(state)
        if value == np.inf:
            return False
        if self.null is None:
            if self.iteration < _FEW_STEPS:
                return False
            self.null = self.problem.null_loss()
        # The charge for rounding at the end is larger.
        if not value <= 0.1 * VANISHED * self.null < np.inf:
            return False
        # A check of the rounding takes longer than many a step.
        look = self.iteration.bit_count() == 1
        return self.problem.has_vanished(state.theta, value, self.tol, look=look)

    def _reason_of(self, reason: str | None) -> str | None:
        """The reason to end; for a limit of precision it may be that the objective has vanished."""
        assert self.best is not None and self.settled is not None
        if reason in ("precision_limit", "vanishing") and self.relative_gap > _USELESS:
            gone = self.problem.has_vanished(self.best[1].theta, self.settled.primal, self.tol)
            reason = "vanishing" if gone else "precision_limit"
        if reason == "vanishing" and not self.problem.in_passes:
            # Targets that are all the same are fitted by weights of zero without any rounding.
            theta = self.problem.null_point()
            simplest = Candidate(_in_single(theta) if self.single else theta)
            found = self.problem.certify(simplest.theta, _NO_PROOF, self.tol)
            if found.primal < self.settled.primal:
                self.settled, self.best = found, (found.primal, simplest, found)
                self.relative_gap = relative_to(found.gap, found.primal)
        return reason

    def _look_at_start(self, start: Candidate, ends: str | None, look: bool) -> None:
        """Check the point at which the method begins, if that may be the answer.

        ``ends``: the reason to end there, if any; ``look``: whether to check it in any case.
        """
        problem, solver, state = self.problem, self.solver, self.state
        # The start is a point like any other, and the answer where it is already good enough.  Zero
        # seldom is, and its check takes as long as all steps of a small fit; and a method that was
        # given a dual point knows whether that is likely.
        if look or ends is not None or solver.should_check(problem, state, self.tol):
            candidate = solver.candidate(problem, state)
            if not np.array_equal(candidate.theta, start.theta):
                # A method of the dual begins at a point of its own.
                self.unseen = start
            self.check(candidate)
            self.judge(ends)
            return
        self.unseen = start
        if self.followed:
            self.show(solver)
        self.report()

    def heed_enclosing(self) -> None:
        """Let the fit of which this one is a part end it."""
        if self.enclosing is not None:
            self.enclosing()

    def check_interrupt(self) -> None:
        """Raise where a long step should end now; solvers call it between parts of a step."""
        self.heed_enclosing()
        if self.why_now(self.rehearse()):
            raise _Stop(self)
        if self.watchers and self.state is not None:
            gap = self.solver.sample_gap(self.state)
            if not np.isnan(gap):
                self.report(sample_gap=float(gap))

    def beat(self) -> None:
        """Raise where the fit should end now, from within a long operation on any thread."""
        if self.why_now():
            raise _Stop(self)

    def rehearse(self) -> float | None:
        """Measure, early in a fit with a time limit, how long its end takes, and hold that back.

        Returns the time, where it was read.

        The method and the best point are not affected, so that a fit that ends before its limit has
        the same bits whenever this happened.
        """
        if not self.rehearsed_at < np.inf:
            return None
        begun = time.perf_counter()
        if begun <= self.rehearsed_at or begun > self.deadline or self.state is None:
            return begun
        self.rehearsed_at = np.inf
        problem, state = self.problem, self.state
        limit = self.deadline - self.start
        compiled, once_more = compilation.seconds(), 0.0
        listening = problem.listen(None)
        # Computations that take longer than this are not made at the end either.
        problem.until = begun + _REHEARSED * limit
        try:
            with pulse.beating(None):
                candidate = self.solver.candidate(problem, _apart(state))
                if problem.coupled:
                    # Another point is compared at the end, and takes as long.
                    once_more = time.perf_counter() - begun
                if not np.isfinite(candidate.theta).all():
                    return None
                bound = self._bound(candidate)
                if np.isfinite(bound.primal):
                    # A dual point of an earlier check gives the better bound for a while.
                    proof = bound if bound.dual > self.best_dual else self.proof
                    charged = problem.certify(candidate.theta, proof, np.inf, bound)
                    self.rehearsal = _Rehearsal(self.iteration, candidate, bound)
                    self.charged.append((candidate, proof, charged))
        finally:
            problem.listen(listening)
            vars(problem).pop("until", None)
        now = time.perf_counter()
        taken = once_more + now - begun - (compilation.seconds() - compiled)
        self.ends = self.deadline - min(max(taken, 0.0), _HELD_BACK * limit)
        return now

    def judge(self, reason: str | None) -> None:
        """Settle the status where the point is certified, or where there is a reason to end."""
        certain = self.relative_gap <= self.goal
        # A pass for a start that is seldom any good would delay an end at a limit or by Ctrl-C.
        hurried = reason in ("interrupted", "time_limit")
        if hurried:
            self._hurry()
        dear = self.problem.in_passes and hurried and self.best is not None
        if reason is not None and not certain and not dear:
            unseen = [] if self.unseen is None else [self.unseen]
            self.unseen = None
            if self.problem.coupled:
                # A point of the dual can be far worse as one of the primal than no weights at all.
                unseen.append(Candidate(self.problem.zero()))
            for candidate in unseen:
                # At a limit or after Ctrl-C, a point that is no better gets no bound.
                if hurried and self.best is not None and not self.problem.coupled:
                    self._consider_alone(candidate, self.best[0])
                else:
                    self._consider(candidate)
        nothing_left = self.relative_gap == 0.0
        if self.best is None or (reason is None and not self.relative_gap <= self.goal):
            self.status = reason
        else:
            self.settled = self._settle()
            if not self.relative_gap <= self.tol:
                # The charge for rounding can be more than further steps could gain.
                charge = 0.5 * self.tol * abs(self.settled.primal)
                limited = nothing_left or self.settled.charge > charge
                reason = self._reason_of(reason or ("precision_limit" if limited else None))
            self.status = "optimal" if self.relative_gap <= self.tol else reason
        self.report()

    # --- points and bounds --------------------------------------------------------------------

    def _consider(self, unseen: Candidate) -> None:
        """Compare the best point, at the end, with one that is no step of the method."""
        before = self.best, self.best_gap, self.relative_gap
        # It comes too late for the trace, unless there is no other.
        trace = self.trace
        self.trace = None if self.best is not None else trace
        self.check(unseen)
        self.trace = trace
        # It is not the last point, which counts where there are no bounds.
        if before[0] is not None and self.best is not None:
            unbounded = self.problem.coupled and before[1] == np.inf
            if unbounded or before[0][0] <= self.best[0]:
                self.best, self.best_gap, self.relative_gap = before

    def _consider_alone(self, unseen: Candidate, primal: float) -> None:
        """Compare with a point by its objective alone, which saves the time of its bound."""
        found = self.problem.objective_at(unseen.theta, unseen.scores)
        if found is None:
            self._consider(unseen)
        elif found[0] < primal:
            self._learn(unseen, Bound(found[0], -np.inf, np.inf, None, found[1]))

    def check(self, candidate: Candidate) -> None:
        """Compare a point and its bound with the best so far."""
        self._learn(candidate, self._bound(candidate))

    def _learn(self, candidate: Candidate, bound: Bound) -> None:
        problem = self.problem
        if not (np.isfinite(bound.primal) or problem.constrained):
            return
        if self.best is None or self._is_better(bound, self.best[0]):
            self.best, self.best_gap = (bound.primal, candidate, bound), bound.gap
        primal = self.best[0]
        if bound.dual > self.best_dual:
            self.best_dual, self.proof = bound.dual, bound
        if self.best_dual > primal + 1e-12 * abs(primal):
            # A bound above the objective is none: the arithmetic has lost the constraints of
            # the dual.  Zero is what remains.
            self.best_dual, self.proof = min(0.0, primal), _NO_PROOF
        # The bound's own gap is exact to its last digit; a difference across iterates is not,
        # so it is used only where it is the smaller by more than rounding.
        gap = max(primal - self.best_dual, 0.0) if primal < np.inf else np.inf
        same = bound.primal == primal and bound.dual == self.best_dual
        self.relative_gap = relative_to(bound.gap if same else gap, primal)
        if self.trace is not None:
            self._record(self.trace, candidate, bound)
        self._print(primal, self.best_dual, self.relative_gap)

    def show(self, solver: Solver) -> None:
        """Report the present point where no check is due, which changes no fit.

        The point is that of a copy of the state, because computing it may change the state.
        """
        candidate = solver.candidate(self.problem, _apart(self.state))
        if not np.isfinite(candidate.theta).all():
            return
        bound = self._bound(candidate)
        if not (np.isfinite(bound.primal) or self.problem.constrained):
            return
        if self.trace is not None:
            self._record(self.trace, candidate, bound)
        if self.best is None:
            self.shown = bound
            self._print(bound.primal, bound.dual, relative_to(bound.gap, bound.primal))

    def _bound(self, candidate: Candidate) -> Bound:
        theta, problem = candidate.theta, self.problem
        if candidate.evaluation is not None:
            return problem.bound_of(theta, candidate.evaluation)
        return problem.bound(theta, candidate.residual, candidate.scores, candidate.adjoint)

    def look_back(self, solver: Solver, state: Any) -> None:
        """Compare with an earlier point of the method, where it ends before its goal.

        A method that began anew may have a worse point than before for some steps.
        """
        if self.relative_gap <= self.goal:
            return
        candidate = solver.earlier(self.problem, state)
        if candidate is not None:
            trace, self.trace = self.trace, None
            self.check(candidate)
            self.trace = trace

    def _is_better(self, bound: Bound, primal: float) -> bool:
        # Among points that break the constraints the last is as good as any.
        if primal == np.inf:
            return True
        near = abs(bound.primal - primal) <= self.tol * abs(primal)
        if self.problem.coupled and (bound.gap == np.inf or near):
            # The point is its own dual point, so that of points equally good that with the better
            # bound is nearer to the optimum; where there are no bounds, the last is nearest.
            return bound.gap <= self.best_gap
        return bound.primal < primal

    def _settle(self) -> Bound:
        """The objective and the bound at the best points, charged for their rounding."""
        assert self.best is not None
        problem, proof = self.problem, self.proof
        primal, candidate, bound = self.best
        # After Ctrl-C the sharpest charge is not computed; nor is it once the time is up, unless it
        # would show that the goal is reached.
        ending = self.problem.hurried or self.why_now() is not None
        late = self.relative_gap > self.goal and ending
        tol = np.inf if late or self.interrupt.requested else self.tol
        if problem.constrained:
            # The multiple that is returned; at the next check it is a point like any other.
            theta = problem.canonical(candidate.theta)
            if not np.array_equal(theta, candidate.theta):
                candidate, bound = Candidate(theta), _NO_PROOF
        found = self._settled_in_single(tol)
        known = [b for c, p, b in self.charged if c is candidate and p is proof]
        if found is not None:
            candidate, bound = Candidate(_in_single(candidate.theta)), found
        elif tol == np.inf and known:
            found = known[-1]
        else:
            found = problem.certify(candidate.theta, proof, tol, bound)
            if self.deadline < np.inf:
                self.charged[1:] = [(candidate, proof, found)]
        if found.gap > tol * found.primal and found.primal - primal > 0.1 * tol * primal:
            # The point is not as good as it seemed; one nearby may be.
            for theta in problem.polished(candidate.theta):
                other = problem.certify(theta, proof, tol)
                if other.primal < found.primal:
                    found, primal, candidate, bound = other, other.primal, Candidate(theta), other
        self.best = (primal, candidate, bound)
        self.goal = min(self.goal, self.relative_gap) / 4.0
        self.relative_gap = relative_to(found.gap, found.primal)
        return found

    def _settled_in_single(self, tol: float) -> Bound | None:
        """The bounds of the best point in float32's numbers; None where it is not to be used."""
        if not self.single or self.problem.constrained:
            return None
        assert self.best is not None
        primal, candidate, _ = self.best
        theta = _in_single(candidate.theta)
        at = self.problem.objective_at(theta, None)
        known = None if at is None else Bound(at[0], -np.inf, np.inf, None, at[1])
        found = self.problem.certify(theta, self.proof, tol, known)
        # Beyond a bound of the weights the objective is infinite, and so is its tolerance.
        good = found.gap <= tol * found.primal < np.inf
        good = good or found.primal - primal <= 1e-6 * abs(primal)
        return found if good else None

    # --- records and reports ------------------------------------------------------------------

    def follow(self, solver: Solver, state: Any) -> None:
        """Record and print the method that begins or takes over, and the forecasts of all."""
        forecast = solver.forecast
        if not forecast or (self.trace is None and not self.verbose):
            return
        method = solver.method(state)
        if method == self.method:
            return
        count = self.spent + self.iteration
        if self.trace is not None:
            self.trace.forecast = dict(forecast)
            self.trace.methods.append((count, method))
        if self.verbose:
            expected = ", ".join(f"{name} {cost:.3g}" for name, cost in forecast.items())
            what = "begins" if not self.method else "takes over"
            print(
                f"{self.part:>12s} {count:8d}  {method} {what}; forecast in passes over the rows: "
                f"{expected}",
                file=sys.stderr,
            )
        self.method = method

    def report(self, outlook: float = np.nan, sample_gap: float = np.nan) -> None:
        """Call the callbacks for this step, which changes nothing.

        A closer check than the method's own could choose another point, or stop earlier.
        """
        if not self.watchers:
            return
        shown, relative_gap = self.shown, self.relative_gap
        if self.best is None:
            primal, dual = shown.primal, shown.dual
            relative_gap = relative_to(shown.gap, primal)
        else:
            primal, dual = self.best[0], self.best_dual
        if self.status is not None and self.settled is not None:
            primal, dual = self.settled.primal, self.settled.dual
        seconds = time.perf_counter() - self.start
        count = self.spent + self.iteration
        now = (self.part, count, seconds, primal, dual, relative_gap, self.tol)
        for callback in self.watchers:
            if callback(Progress(*now, self.trace, outlook, sample_gap)):
                self.ended = True

    def _record(self, trace: Trace, candidate: Candidate, bound: Bound) -> None:
        problem = self.problem
        noted = problem.certify(candidate.theta, bound, self.tol, bound)
        count, seconds = self.spent + self.iteration, time.perf_counter() - self.start
        _note(trace, problem, count, seconds, candidate.theta, candidate.residual, noted)

    def note(self, way: Sequence[tuple[int, np.ndarray]]) -> None:
        """Add the points that led to the start to the trace."""
        assert self.trace is not None
        for count, theta in way:
            noted = self.problem.certify(theta, self.problem.bound(theta), self.tol)
            seconds = time.perf_counter() - self.start
            _note(self.trace, self.problem, count, seconds, theta, noted.residual, noted)

    def _print(self, primal: float, dual: float, relative_gap: float) -> None:
        if not self.verbose or self.iteration < 2 * self.printed:
            return
        self.printed = max(self.iteration, 1)
        print(
            f"{self.part:>12s} {self.iteration:8d} {time.perf_counter() - self.start:9.2f} s  "
            f"objective {primal:14.8g}  bound {dual:14.8g}  "
            f"relative gap {relative_gap:8.1e}",
            file=sys.stderr,
        )

    def solution(self) -> Solution:
        """The best point, and its certificate."""
        status, settled = self.status, self.settled
        assert status is not None
        if self.best is None or settled is None:
            theta, status = self.problem.zero(), "non_finite"
            settled = Bound(np.inf, self.best_dual, np.inf)
        else:
            theta = self.best[1].theta
        interrupted = self.interrupt.requested
        if interrupted and status != "optimal":
            status = "interrupted"
        hardest = self.problem.hardest_column() if status == "precision_limit" else None
        if self.relative_gap > _USELESS and status in ("precision_limit", "max_iter", "time_limit"):
            widest = self.problem.widest_column()
            hardest = hardest if widest is None else (widest, 0.0)
        if status == "unattained":
            hardest = self.problem.receding_column(theta), 0.0
        certificate = Certificate.of(
            primal=settled.primal,
            dual=settled.dual,
            gap=settled.gap,
            tol=self.tol,
            status=status,
            n_iter=self.spent + self.iteration,
            seconds=time.perf_counter() - self.start,
        )
        if hardest is not None:
            certificate = replace(certificate, column=hardest[0], offset=hardest[1])
        if self.verbose:
            print(f"{self.part + ': ' if self.part else ''}{certificate}", file=sys.stderr)
        return Solution(
            theta, self.proof.residual, certificate, self.trace, self.state, interrupted
        )
