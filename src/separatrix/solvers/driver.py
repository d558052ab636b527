"""The only loop.  Every solver is run by :func:`minimise`.

Call order::

    state = solver.init(problem, theta, rng)            # and a dual point, if there is one
    repeat
        state = solver.step(problem, state, check_interrupt)      # one iteration
        if a check is due:                              # solver.should_check, a limit, record
            candidate = solver.candidate(problem, state)
            problem.bound(...)                          # fresh, in float64
            if it is good enough:
                problem.certify(...)                    # charged for its own rounding
    until certified, a limit, an interrupt, or solver.stopped(state)

The driver alone owns iteration and time limits, Ctrl-C, checks for overflow, certificates, the
trace and progress; it returns the best point that was seen, with the best bound.  Checks on the way
are as floats give them; what is returned, and what a trace keeps, is charged for its rounding.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from separatrix._compiled.pool import bounded_blas
from separatrix.certificate import Certificate, relative_to
from separatrix.objectives.base import Bound, LinearProblem
from separatrix.objectives.passes import Evaluation
from separatrix.trace import Trace

__all__ = ["Candidate", "Interrupt", "Progress", "Solution", "Solver", "minimise", "watch"]


@dataclass(frozen=True)
class Candidate:
    """A point that a solver offers for certification.

    Attributes
    ----------
    theta : ndarray
    residual : ndarray or None
        Its dual point, where the solver has one.
    scores : ndarray or None
        ``problem.linear(theta)``, where the solver has it exactly.
    adjoint : ndarray or None
        ``X' residual``, likewise.
    evaluation : Evaluation or None
        ``problem.evaluate(theta)``, likewise.
    """

    theta: np.ndarray
    residual: np.ndarray | None = None
    scores: np.ndarray | None = None
    adjoint: np.ndarray | None = None
    evaluation: Evaluation | None = None


class Solver(Protocol):
    """One method: ``init / step / candidate / should_check / stopped`` on a state of its own."""

    def requires(self, problem: Any) -> None:
        """Raise TypeError, naming the capability that ``problem`` lacks."""

    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> Any:
        """The state at the starting point ``theta``, and at the dual point ``residual``.

        A dual point, feasible or not, is a hint: a method without use for one ignores it.
        """

    def step(self, problem: Any, state: Any, check_interrupt: Callable[[], None]) -> Any:
        """The next state; long steps call ``check_interrupt()``, which raises when it is time."""

    def candidate(self, problem: Any, state: Any) -> Candidate:
        """The point to certify."""

    def should_check(self, problem: Any, state: Any, tol: float) -> bool:
        """Whether a certificate is worth its price now."""

    def stopped(self, problem: Any, state: Any) -> str | None:
        """A status when the method can do no more, else None."""


@dataclass(frozen=True)
class Progress:
    """What :func:`watch` reports, once a step: the best that the checks so far have seen.

    Attributes
    ----------
    part : str
        Which binary problem, where there are several; else empty.
    iteration : int
    seconds : float
    primal, dual, relative_gap, tol : float
    """

    part: str
    iteration: int
    seconds: float
    primal: float
    dual: float
    relative_gap: float
    tol: float


@dataclass(frozen=True)
class Solution:
    """What a fit returns.

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
    """

    theta: np.ndarray
    residual: np.ndarray | None
    certificate: Certificate
    trace: Trace | None
    state: Any


# Before there is a lower bound.
_NO_PROOF = Bound(np.inf, -np.inf, np.inf)

_watchers: ContextVar[tuple[Callable[[Progress], None], ...]] = ContextVar("watchers", default=())


@contextlib.contextmanager
def watch(callback: Callable[[Progress], None]) -> Iterator[None]:
    """Call ``callback`` with a :class:`Progress` at every step of the fits inside the block.

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


class _Stop(Exception):
    """Raised by a check_interrupt inside a step that should end now."""


class Interrupt:
    """Turns the first Ctrl-C into a flag, so that no state is left half-updated.

    A second one acts at once, unless it is the echo of the first: within a second it is taken
    for the same.  Outside the main thread signals cannot be caught, and the
    flag simply stays down.
    """

    # The outermost of those that are at work: the others share its flag.
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
            previous = signal.getsignal(signal.SIGINT)
            # A program that ignores or replaces Ctrl-C keeps its own rules.
            if previous is signal.default_int_handler:
                self._previous = previous
                Interrupt._outermost = self
                self._installed = True
                signal.signal(signal.SIGINT, self._handle)
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
            signal.signal(signal.SIGINT, self._previous)
            Interrupt._outermost = None


def minimise(
    problem: LinearProblem,
    solver: Solver,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    time_limit: float | None = None,
    theta: np.ndarray | None = None,
    residual: np.ndarray | None = None,
    seed: int | np.random.Generator | None = None,
    record: bool = False,
    verbose: int = 0,
    part: str = "",
    exhausted: str = "max_iter",
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
    seed : int or Generator, optional
        For methods that visit rows at random.
    record : bool
        Keep a :class:`Trace` with a check after every step.
    verbose : int
        1 or more prints checks at doubling intervals to stderr.
    part : str
        Name of this problem where it is one of several.
    exhausted : str
        The status that the iteration limit gives.

    Returns
    -------
    Solution
        The best point seen; on Ctrl-C its certificate's status is ``"interrupted"``.
    """
    solver.requires(problem)
    start = time.perf_counter()
    deadline = np.inf if time_limit is None else start + time_limit
    rng = np.random.default_rng(seed)
    trace = Trace(part) if record else None
    watchers = _watchers.get()
    best: tuple[float, Candidate, Bound] | None = None
    best_dual, best_gap, proof = -np.inf, np.inf, _NO_PROOF
    noted_dual = -np.inf
    # What the gap has to fall to before it is charged for rounding.
    goal = tol
    gap, relative_gap = np.inf, np.inf
    iteration, printed = 0, 0
    status: str | None = None
    settled: Bound | None = None

    def why_now() -> str | None:
        if interrupt.requested:
            return "interrupted"
        if time.perf_counter() > deadline:
            return "time_limit"
        return None

    def check_interrupt() -> None:
        if why_now():
            raise _Stop

    def tell() -> None:
        primal, dual = np.inf if best is None else best[0], best_dual
        if status is not None and settled is not None:
            primal, dual = settled.primal, settled.dual
        for callback in watchers:
            seconds = time.perf_counter() - start
            callback(Progress(part, iteration, seconds, primal, dual, relative_gap, tol))

    def check(candidate: Candidate) -> None:
        nonlocal best, best_gap, best_dual, noted_dual, proof, gap, relative_gap, printed
        if candidate.evaluation is not None:
            bound = problem.bound_of(candidate.theta, candidate.evaluation)
        else:
            bound = problem.bound(
                candidate.theta, candidate.residual, candidate.scores, candidate.adjoint
            )
        if not (np.isfinite(bound.primal) or problem.constrained):
            return
        # Of points that break the constraints the last is as good as any.
        if best is None or best[0] == np.inf:
            better = True
        elif problem.coupled and (
            bound.gap == np.inf or abs(bound.primal - best[0]) <= tol * abs(best[0])
        ):
            # The point is its own dual point, so that of points equally good that with the better
            # bound is nearer to the optimum; where there are no bounds, the last is nearest.
            better = bound.gap <= best_gap
        else:
            better = bound.primal < best[0]
        if best is None or better:
            best, best_gap = (bound.primal, candidate, bound), bound.gap
        if bound.dual > best_dual:
            best_dual, proof = bound.dual, bound
        if best_dual > best[0] + 1e-12 * abs(best[0]):
            # A bound above the objective is none: the arithmetic has lost the constraints of
            # the dual.  Zero is what remains.
            best_dual, proof = min(0.0, best[0]), _NO_PROOF
        # The bound's own gap is exact to its last digit; a difference across iterates is not,
        # so it is used only where it is the smaller by more than rounding.
        gap = max(best[0] - best_dual, 0.0) if best[0] < np.inf else np.inf
        if bound.primal == best[0] and bound.dual == best_dual:
            gap = bound.gap
        relative_gap = relative_to(gap, best[0])
        seconds = time.perf_counter() - start
        if trace is not None:
            noted = problem.certify(candidate.theta, bound, tol, bound)
            noted_dual = max(noted_dual, noted.dual)
            trace.iterations.append(iteration)
            trace.seconds.append(seconds)
            trace.primal.append(noted.primal)
            trace.dual.append(noted_dual)
            d = problem.design.n_features
            trace.coef.append(np.array(candidate.theta[:d].T))
            theta_out = problem.from_internal(candidate.theta)
            trace.intercept.append(np.array(problem.intercept_of(theta_out)))
            support_counts = problem.support_counts(candidate.residual)
            if support_counts is not None:
                trace.n_support.append(support_counts[0])
                trace.n_bounded.append(support_counts[1])
        if verbose and iteration >= 2 * printed:
            printed = max(iteration, 1)
            _print(part, iteration, seconds, best[0], best_dual, relative_gap)

    def settle() -> Bound:
        """Both sides at the best points, charged for what rounding can have done to them."""
        nonlocal best, gap, relative_gap, goal
        assert best is not None
        # Whoever has pressed Ctrl-C does not wait for the sharpest one.
        wanted = np.inf if interrupt.requested else tol
        if problem.constrained:
            # The multiple that is returned; at the next check it is a point like any other.
            theta = problem.canonical(best[1].theta)
            if not np.array_equal(theta, best[1].theta):
                best = (best[0], Candidate(theta), _NO_PROOF)
        found = problem.certify(best[1].theta, proof, wanted, best[2])
        if found.gap > wanted * found.primal and found.primal - best[0] > 0.1 * wanted * best[0]:
            # The point is not as good as it seemed; one beside it may be.
            for theta in problem.polished(best[1].theta):
                other = problem.certify(theta, proof, wanted)
                if other.primal < found.primal:
                    found, best = other, (other.primal, Candidate(theta), other)
        goal = min(goal, relative_gap) / 4.0
        if noted_dual > found.dual:
            # One of the bounds on the way, each of which has been charged.
            found = replace(found, dual=noted_dual, gap=max(found.primal - noted_dual, 0.0))
        gap = found.gap
        relative_gap = relative_to(gap, found.primal)
        return found

    def judge(reason: str | None) -> str | None:
        """The status, where this is the end: because it is certified, or for some reason."""
        nonlocal settled
        nothing_left = relative_gap == 0.0
        if best is None or (reason is None and not relative_gap <= goal):
            return reason
        settled = settle()
        if relative_gap <= tol:
            return "optimal"
        # What rounding may have done can be more than what steps could still gain.
        limited = nothing_left or settled.charge > 0.5 * tol * abs(settled.primal)
        return reason or ("precision_limit" if limited else None)

    with (
        Interrupt() as interrupt,
        bounded_blas(),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        start_at = (problem.zero() if theta is None else theta, rng)
        state = solver.init(problem, *start_at, *(() if residual is None else (residual,)))
        # The start is a point like any other, and the answer where it is already good enough.
        check(solver.candidate(problem, state))
        status = judge(exhausted if max_iter <= 0 else None)
        tell()
        while status is None:
            try:
                new = solver.step(problem, state, check_interrupt)
            except _Stop:
                check(solver.candidate(problem, state))
                status = judge(why_now())
                tell()
                break
            iteration += 1
            state = new
            now = why_now() or solver.stopped(problem, state)
            now = now or (exhausted if iteration >= max_iter else None)
            if record or now is not None or solver.should_check(problem, state, tol):
                candidate = solver.candidate(problem, state)
                if not np.all(np.isfinite(candidate.theta)):
                    status = judge("non_finite")
                    break
                check(candidate)
                status = judge(now)
            # Who watches is told of every step, and changes nothing by it: to look closer than the
            # method does could choose another point, or stop earlier.
            tell()
    assert status is not None
    if best is None or settled is None:
        chosen, status = Candidate(problem.zero()), "non_finite"
        settled = Bound(np.inf, best_dual, np.inf)
    else:
        chosen = best[1]
    if interrupt.requested:
        # Also one that came too late to stop anything: the caller must hear of it.
        status = "interrupted"
    column, offset = None, 0.0
    if status == "precision_limit" and (hardest := problem.hardest_column()) is not None:
        column, offset = hardest
    certificate = Certificate.of(
        primal=settled.primal,
        dual=settled.dual,
        gap=settled.gap,
        tol=tol,
        status=status,
        n_iter=iteration,
        seconds=time.perf_counter() - start,
    )
    certificate = replace(certificate, column=column, offset=offset)
    if verbose:
        print(f"{part + ': ' if part else ''}{certificate}", file=sys.stderr)
    return Solution(chosen.theta, proof.residual, certificate, trace, state)


def _print(
    part: str, iteration: int, seconds: float, primal: float, dual: float, relative_gap: float
) -> None:
    print(
        f"{part:>12s} {iteration:8d} {seconds:9.2f} s  objective {primal:14.8g}  "
        f"bound {dual:14.8g}  relative gap {relative_gap:8.1e}",
        file=sys.stderr,
    )
