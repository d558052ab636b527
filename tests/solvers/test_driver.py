"""The driver: limits, interrupts, the trace, progress, and the best of what was seen."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearSVC, LogisticRegression
from separatrix.data.design import as_design
from separatrix.data.random_state import generator_of
from separatrix.losses import Hinge, LogLoss, SquaredHinge
from separatrix.objectives import base
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.solvers import AugmentedLagrangian, DualDescent, Newton
from separatrix.solvers.driver import Progress, minimise, watch
from separatrix.solvers.protocol import Candidate, Solver


def problem(loss=None, n: int = 60, seed: int = 0, **options) -> MarginObjective:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return MarginObjective(as_design(X), y, LogLoss() if loss is None else loss, **options)


class Walk(Solver):
    """A solver that offers given points, one a step."""

    def __init__(self, points, stop=None, dual=None):
        self.points, self.stop, self.dual = points, stop, dual

    def requires(self, problem):
        pass

    def init(self, problem, theta, rng):
        return -1

    def step(self, problem, state, check_interrupt):
        check_interrupt()
        return state + 1

    def candidate(self, problem, state):
        return Candidate(problem.zero() if state < 0 else self.points[state % len(self.points)])

    def should_check(self, problem, state, tol):
        return True

    def stopped(self, problem, state):
        return self.stop


def test_the_best_point_is_returned_not_the_last() -> None:
    objective = problem()
    good = minimise(objective, Newton()).theta
    far = good + 10.0
    solution = minimise(objective, Walk([far, 0.9 * good, far, far]), max_iter=4, tol=1e-12)
    np.testing.assert_array_equal(solution.theta, 0.9 * good)
    # Rounded up, by what float64 can have lost.
    value = objective.value(0.9 * good)
    assert value <= solution.certificate.primal <= value * (1.0 + 1e-12)
    assert solution.certificate.n_iter == 4


@pytest.mark.parametrize("solver", [Newton, object(), 5])
def test_what_is_no_solver_is_refused(solver) -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=r"^solver=.* one of 'auto'"):
        LogisticRegression(solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", [Newton, object(), "newton", None])
def test_the_driver_names_what_is_no_solver(solver) -> None:
    X = np.arange(4.0)[:, None]
    problem = MarginObjective(as_design(X), np.array([-1.0, 1.0, -1.0, 1.0]), LogLoss(), C=1.0)
    with pytest.raises(TypeError, match=r"^solver is .*, and must be an instance of a subclass of"):
        minimise(problem, solver)


def test_the_best_bound_is_kept_with_its_proof() -> None:
    objective = problem()
    good = minimise(objective, Newton(), tol=1e-9).theta
    solution = minimise(objective, Walk([good, good + 1.0]), max_iter=2, tol=1e-15)
    # The proof is a dual point: the bound follows from it anywhere.
    again = objective.bound(objective.zero(), solution.residual)
    assert again.dual == pytest.approx(solution.certificate.dual, rel=1e-12)


@pytest.mark.parametrize("solver", [DualDescent(), AugmentedLagrangian()])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_dual_start_saves_the_way(solver, loss, intercept) -> None:
    objective = problem(loss, C=3.0, fit_intercept=intercept)
    first = minimise(objective, solver, tol=1e-7, max_iter=10_000, seed=0)
    again = minimise(
        objective,
        solver,
        tol=1e-6,
        max_iter=10_000,
        seed=0,
        theta=first.theta,
        residual=first.residual,
    )
    assert again.certificate.ok
    assert 2 * again.certificate.n_iter < first.certificate.n_iter


def test_a_dual_start_may_be_infeasible() -> None:
    objective = problem(Hinge(), C=0.5)
    wild = 100.0 * np.random.default_rng(1).normal(size=60)
    for solver in (DualDescent(), AugmentedLagrangian()):
        solution = minimise(objective, solver, residual=wild, max_iter=10_000, seed=0)
        assert solution.certificate.ok
        assert solution.certificate.dual <= solution.certificate.primal


def test_iteration_limit() -> None:
    solution = minimise(problem(), Newton(), max_iter=1, tol=1e-12)
    assert solution.certificate.status == "max_iter"
    assert solution.certificate.n_iter == 1
    assert np.isfinite(solution.certificate.gap)
    zero = minimise(problem(), Newton(), max_iter=0)
    assert zero.certificate.n_iter == 0
    np.testing.assert_array_equal(zero.theta, 0.0)


def test_a_good_start_needs_no_step() -> None:
    objective = problem()
    theta = minimise(objective, Newton(), tol=1e-9).theta
    again = minimise(objective, Newton(), theta=theta, tol=1e-8)
    assert (again.certificate.status, again.certificate.n_iter) == ("optimal", 0)


@pytest.mark.parametrize("solver", [Newton(), DualDescent(), AugmentedLagrangian()])
def test_time_limit(solver) -> None:
    # A limit that has passed before the first step.
    solution = minimise(problem(), solver, time_limit=1e-9, tol=1e-12)
    assert solution.certificate.status == "time_limit"
    assert solution.certificate.n_iter <= 1
    assert np.isfinite(solution.certificate.primal)


def test_time_limit_inside_a_long_step() -> None:
    class Long(Walk):
        def step(self, problem, state, check_interrupt):
            while True:
                time.sleep(0.001)
                check_interrupt()

    solution = minimise(problem(), Long([None]), time_limit=0.02)
    assert solution.certificate.status == "time_limit"
    assert solution.certificate.n_iter == 0


def test_a_solver_that_gives_up_has_the_last_word_unless_certified() -> None:
    objective = problem()
    good = minimise(objective, Newton(), tol=1e-9).theta
    stopped = minimise(objective, Walk([0.5 * good], stop="precision_limit"), tol=1e-9)
    assert stopped.certificate.status == "precision_limit"
    certified = minimise(objective, Walk([good], stop="precision_limit"), tol=1e-8)
    assert certified.certificate.status == "optimal"


def test_overflow_ends_with_the_last_finite_point() -> None:
    objective = problem()
    solution = minimise(objective, Walk([np.full(5, 0.1), np.full(5, np.nan)]), tol=1e-12)
    assert solution.certificate.status == "non_finite"
    assert np.all(np.isfinite(solution.theta))
    assert np.isfinite(solution.certificate.primal)


def test_a_point_whose_objective_overflows_is_not_the_best() -> None:
    solution = minimise(problem(), Walk([np.full(5, 1e200)]), max_iter=3)
    assert np.isfinite(solution.certificate.primal)
    np.testing.assert_array_equal(solution.theta, 0.0)


# --- the trace and progress --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "loss"),
    [(Newton(), LogLoss()), (DualDescent(), Hinge()), (AugmentedLagrangian(), Hinge())],
    ids=lambda v: type(v).__name__,
)
def test_trace(solver, loss) -> None:
    objective = problem(loss, C=0.1)
    solution = minimise(objective, solver, record=True, seed=0, part="x")
    trace, certificate = solution.trace, solution.certificate
    assert trace.part == "x"
    # One entry for the start and one a step.
    assert len(trace) == certificate.n_iter + 1
    assert trace.iterations == list(range(certificate.n_iter + 1))
    lengths = {len(v) for v in (trace.seconds, trace.primal, trace.dual, trace.coef)}
    assert lengths == {len(trace)} == {len(trace.intercept)}
    assert np.all(np.diff(trace.seconds) >= 0.0)
    assert np.all(np.diff(trace.dual) >= 0.0)
    assert min(trace.primal) == certificate.primal
    assert max(trace.dual) == certificate.dual
    assert max(trace.dual) <= min(trace.primal) * (1 + 1e-12)
    np.testing.assert_allclose(trace.gap, np.subtract(trace.primal, trace.dual))
    for k in (0, len(trace) - 1):
        theta = np.append(trace.coef[k], trace.intercept[k])
        assert objective.value(theta) == pytest.approx(trace.primal[k], rel=1e-12)
    # What was recorded is not overwritten by later steps.
    assert not np.array_equal(trace.coef[0], trace.coef[-1])


def test_no_trace_unless_asked() -> None:
    assert minimise(problem(), Newton()).trace is None


@pytest.mark.parametrize(
    ("solver", "loss"),
    [(Newton(), LogLoss()), (DualDescent(), Hinge()), (AugmentedLagrangian(), SquaredHinge())],
    ids=lambda v: type(v).__name__,
)
def test_watch(solver, loss) -> None:
    seen: list[Progress] = []
    with watch(seen.append):
        solution = minimise(problem(loss), solver, seed=0, part="p")
    certificate = solution.certificate
    assert len(seen) == certificate.n_iter + 1
    assert {p.part for p in seen} == {"p"}
    assert [p.iteration for p in seen] == list(range(len(seen)))
    # The best so far: the objective falls, the bound rises, the gap closes.
    assert np.all(np.diff([p.primal for p in seen[:-1]]) <= 0.0)
    assert np.all(np.diff([p.dual for p in seen[:-1]]) >= 0.0)
    # The last one is charged for its rounding.
    assert seen[-1].primal <= seen[-2].primal * (1.0 + 1e-9)
    assert seen[-1].dual >= seen[-2].dual - 1e-9 * seen[-2].primal
    assert np.all(np.diff([p.seconds for p in seen]) >= 0.0)
    assert seen[-1].primal == certificate.primal
    assert seen[-1].dual == certificate.dual
    assert seen[-1].relative_gap == certificate.relative_gap
    assert seen[-1].tol == certificate.tol


def test_watchers_nest_and_end() -> None:
    outer, inner = [], []
    with watch(outer.append):
        with watch(inner.append):
            minimise(problem(), Newton())
        count = len(inner)
        minimise(problem(), Newton())
    minimise(problem(), Newton())
    assert len(inner) == count > 0
    assert len(outer) == 2 * count


def test_an_error_in_a_watcher_reaches_the_caller_and_leaves_ctrl_c_alone() -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("stop here")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="stop here"), watch(fail):
        minimise(problem(), Newton())
    assert signal.getsignal(signal.SIGINT) is before


def test_verbose_prints_to_stderr_only(capsys) -> None:
    minimise(problem(), Newton(), verbose=1, part="setosa")
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert all("setosa" in line for line in lines)
    assert "relative gap" in lines[0]
    assert "optimal: objective" in lines[-1]
    minimise(problem(), Newton())
    assert capsys.readouterr().err == ""


# --- Ctrl-C ------------------------------------------------------------------------------------


def interrupt_now() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_once(when):
    """A watcher that presses Ctrl-C the first time that ``when`` holds."""
    pressed = []

    def watcher(progress: Progress) -> None:
        if not pressed and when(progress):
            pressed.append(True)
            interrupt_now()

    return watcher


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.parametrize("solver", [Newton(), DualDescent(), AugmentedLagrangian()])
@pytest.mark.signals
def test_ctrl_c_returns_the_best_so_far(solver) -> None:
    with watch(interrupt_once(lambda p: p.iteration == 2)):
        solution = minimise(problem(), solver, tol=1e-14, max_iter=100_000, seed=0)
    assert solution.certificate.status == "interrupted"
    assert solution.certificate.n_iter <= 3
    assert np.isfinite(solution.certificate.gap)
    # Ctrl-C is what it was before.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.signals
def test_ctrl_c_in_the_last_iteration_is_not_lost() -> None:
    with watch(interrupt_once(lambda p: p.relative_gap <= p.tol)):
        solution = minimise(problem(), Newton())
    # A point within tol is optimal, and the interruption is reported as well.
    assert solution.interrupted and solution.certificate.status == "optimal"


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.signals
def test_a_second_ctrl_c_acts_at_once_but_its_echo_does_not(monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr("separatrix.solvers.driver.time.monotonic", lambda: now[0])
    reached = []

    class Deaf(Walk):
        def step(self, problem, state, check_interrupt):
            interrupt_now()
            now[0] += 0.5
            interrupt_now()
            reached.append("after the echo")
            now[0] += 1.0
            interrupt_now()
            raise AssertionError("the second Ctrl-C was swallowed")

    with pytest.raises(KeyboardInterrupt):
        minimise(problem(), Deaf([None]))
    assert reached == ["after the echo"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.signals
def test_a_program_that_handles_ctrl_c_keeps_its_rules() -> None:
    heard = []
    previous = signal.signal(signal.SIGINT, lambda *a: heard.append(a))
    try:
        with watch(interrupt_once(lambda p: p.iteration == 1)):
            solution = minimise(problem(), Newton())
    finally:
        signal.signal(signal.SIGINT, previous)
    assert len(heard) == 1
    assert solution.certificate.ok


def test_outside_the_main_thread() -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(minimise(problem(), Newton())))
    thread.start()
    thread.join()
    assert results[0].certificate.ok


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        separatrix.SGDClassifier(random_state=0, max_iter=60),
        separatrix.SGDClassifier("log_loss", random_state=0, max_iter=60, average=False),
        separatrix.LinearSVC(loss="hinge", solver="dual", random_state=0),
        separatrix.LogisticRegression(C=100.0),
        separatrix.Perceptron(max_passes=30, order="random", random_state=0),
        separatrix.SVC(),
    ],
    ids=repr,
)
def test_watching_changes_nothing(model) -> None:
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    alone = clone(model).fit(X, y)
    seen = []
    with watch(seen.append):
        watched = clone(model).fit(X, y)
    assert np.array_equal(watched.n_iter_, alone.n_iter_)
    np.testing.assert_array_equal(watched.decision_function(X), alone.decision_function(X))
    # The watcher sees every step; those of small kernel machines are in one compiled loop.
    batched = isinstance(model, separatrix.SVC)
    assert len(seen) >= (len(watched.classes_) if batched else watched.certificate_.n_iter)


def test_a_warm_start_is_kept_where_the_first_step_leads_nowhere() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    problem = MarginObjective(as_design(X), y, LogLoss())
    near = minimise(problem, DualDescent(), tol=1e-3, seed=0)

    class Lost(DualDescent):
        def candidate(self, problem, state):
            found = super().candidate(problem, state)
            return replace(found, theta=np.full_like(found.theta, np.nan))

    start = {"theta": near.theta, "residual": near.residual}
    found = minimise(problem, Lost(), tol=1e-12, max_iter=3, **start)
    assert found.certificate.status == "non_finite"
    assert np.array_equal(found.theta, near.theta)
    assert found.certificate.primal == pytest.approx(near.certificate.primal)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("hint", [False, True])
def test_a_start_that_a_dual_method_leaves_aside_is_not_forgotten(record, hint) -> None:
    objective = problem(C=1e3)
    start = minimise(objective, Newton(), tol=1e-3).theta
    value = objective.value(start)
    # Far from the optimum, the weights that belong to it are far worse than the start.
    residual = -1e3 * objective.y if hint else None
    found = minimise(
        objective, DualDescent(), theta=start, residual=residual, max_iter=0, record=record
    )
    np.testing.assert_array_equal(found.theta, start)
    assert value <= found.certificate.primal <= value * (1.0 + 1e-12)
    assert not record or len(found.trace.iterations) == 1


@pytest.mark.crossed
@pytest.mark.parametrize("shape", [(300, 8), (800, 40)])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (LogisticRegression, {"C": 10.0}),
        (LogisticRegression, {"l1_ratio": 1.0}),
        (LinearSVC, {}),
        (LinearSVC, {"loss": "hinge"}),
        (LinearSVC, {"loss": "hinge", "C": 100.0}),
        (LinearSVC, {"loss": "hinge", "fit_intercept": False}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_bound_does_not_fall_as_more_steps_are_allowed(kind, options, shape):
    X, y = make_classification(*shape, flip_y=0.2, random_state=0)
    dual = 0.0
    for steps in range(1, 25):
        certificate = kind(**options, random_state=0, max_iter=steps).fit(X, y).certificate_
        assert certificate.dual >= dual * (1.0 - 1e-9)
        dual = certificate.dual
        if certificate.ok:
            # More steps are not taken.
            break


def test_no_bound_takes_long_once_the_time_is_up(monkeypatch):
    """Many columns without a penalty: the dual point is projected by conjugate gradients."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = np.where(X[:, 0] + 3.0 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    product, made = base.Objective.hessian_product, []

    def counted(self, *arguments):
        made.append(1)
        return product(self, *arguments)

    monkeypatch.setattr(base.Objective, "hessian_product", counted)
    # A clock that goes by products with the Hessian.
    monkeypatch.setattr("time.perf_counter", lambda: float(len(made)))
    for limit in (1.0, 10.0, 40.0, 200.0):
        made.clear()
        problem = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
        problem.dense_hessian = 0
        found = minimise(problem, Newton(dense=False), tol=1e-9, time_limit=limit)
        assert found.certificate.status == "time_limit"
        assert len(made) <= 1.1 * limit + 1.0


def test_a_generator_that_is_made_late_draws_the_same() -> None:
    for seed in (None, 0, 7, [3, 4]):
        drawn = generator_of(seed)
        expected = np.random.default_rng(0 if seed is None else seed)
        assert drawn.integers(2**62) == expected.integers(2**62)
        np.testing.assert_array_equal(drawn.permutation(9), expected.permutation(9))
        again = pickle.loads(pickle.dumps(drawn))
        assert again.random() == copy.copy(drawn).random() == expected.random()
    for given in (np.random.default_rng(1), generator_of(1)):
        assert generator_of(given) is given
