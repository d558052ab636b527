"""Decomposition of the dual: its steps, its states, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_svm_reference import kernel_matrix, solve_soft
from separatrix.data.design import as_design
from separatrix.kernels import CallableKernel, LinearKernel, PolynomialKernel, RBFKernel
from separatrix.kernels.gram import Gram
from separatrix.kernels.objective import KernelHardMarginObjective, KernelObjective
from separatrix.kernels.running_error import RunningError
from separatrix.losses import Hinge, LogLoss, SquaredHinge
from separatrix.objectives.enclosure import Level
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L2
from separatrix.solvers import select_solver
from separatrix.solvers.decomposition import Decomposition
from separatrix.solvers.driver import minimise, watch

KERNELS = {
    "linear": (LinearKernel(), {}),
    "rbf": (RBFKernel(0.5), {"gamma": 0.5}),
    "poly": (PolynomialKernel(2, 0.5, 1.0), {"degree": 2, "gamma": 0.5, "coef0": 1.0}),
}


def data(n: int = 60, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 0.8 + 0.6 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def problem_of(name: str, C: float, n: int = 60, cache_mb: float = 1.0, weights=None, seed=0):
    X, y = data(n, seed)
    gram = Gram(KERNELS[name][0], as_design(X), cache_mb=cache_mb)
    if np.isinf(C):
        return KernelHardMarginObjective(gram, y, weights=weights)
    return KernelObjective(gram, y, Hinge(), C=C, weights=weights)


@pytest.mark.crossed
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("working_set", [2, 3, 7, 64, 1024])
def test_every_working_set_reaches_the_optimum(name: str, C: float, working_set: int) -> None:
    X, y = data(30)
    gram = Gram(KERNELS[name][0], as_design(X), cache_mb=1.0)
    problem = KernelObjective(gram, y, Hinge(), C=C)
    tol = 1e-6 if working_set < 10 else 1e-9
    solution = minimise(problem, Decomposition(working_set), tol=tol, max_iter=200_000)
    K = kernel_matrix(name, X, **KERNELS[name][1])
    best = solve_soft(K[None], y[None], np.full((1, 30), C))
    certificate = solution.certificate
    assert certificate.ok
    assert certificate.dual <= float(best.upper[0]) * (1 + 1e-14)
    assert certificate.primal >= float(best.lower[0]) * (1 - 1e-12)
    assert certificate.primal == pytest.approx(float(best.upper[0]), rel=2 * tol)


def test_a_check_right_after_the_gradient_was_computed_anew_takes_no_product(monkeypatch) -> None:
    problem = problem_of("rbf", 10.0)
    solver = Decomposition(8)
    state = solver.init(problem, problem.zero(), np.random.default_rng(0))
    for _ in range(20):
        state = solver.step(problem, state, lambda: None)
    # What the roundings of many steps leave in the sum.
    state.c[np.flatnonzero((state.c > state.low) & (state.c < state.high))[0]] *= 1.0 + 1e-13
    assert state.c.sum() != 0.0
    products = []
    product = Gram.product
    monkeypatch.setattr(Gram, "product", lambda *args: products.append(1) or product(*args))
    solver._refresh(problem, state)
    assert len(products) == 1
    candidate = solver.candidate(problem, state)
    assert len(products) == 1
    exact = kernel_matrix("rbf", data()[0], gamma=0.5) @ problem.weights_of(candidate.theta)
    b = problem.intercept_of(candidate.theta)
    np.testing.assert_allclose(candidate.scores, exact + b, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", [*KERNELS])
def test_every_step_stays_feasible_and_improves_the_dual(name: str, C: float) -> None:
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=60)
    weights[:4] = 1.0
    problem = problem_of(name, C, weights=weights, cache_mb=0.005)
    X = data()[0]
    # The linear kernel's matrix is that of the points less their mean.
    K = KERNELS[name][0](X - X.mean(axis=0) if name == "linear" else X)
    solver = Decomposition(8)
    state = solver.init(problem, problem.zero(), rng)
    upper = C * weights
    last = 0.0
    for _ in range(60):
        state = solver.step(problem, state, lambda: None)
        alpha = problem.y * state.c
        assert np.all(alpha >= 0.0)
        assert np.all(alpha <= upper)
        assert abs(state.c.sum()) <= 1e-12 * (1 + np.abs(state.c).sum())
        dual = alpha.sum() - 0.5 * state.c @ K @ state.c
        assert dual >= last - 1e-6 * max(1.0, abs(last))
        last = dual
        # The gradient at hand is that of the coefficients, to the rounding of float32 rows.
        np.testing.assert_allclose(
            state.gradient,
            K @ state.c - problem.y,
            atol=1e-5 * max(1.0, np.abs(K).max() * np.abs(state.c).sum()),
        )
        if state.still:
            break
    assert last > 0.0
    candidate = solver.candidate(problem, state)
    np.testing.assert_allclose(candidate.scores, problem.linear(candidate.theta), atol=1e-9)
    np.testing.assert_allclose(state.gradient, K @ state.c - problem.y, atol=1e-9)


def test_an_optimal_start_is_left_where_it_is() -> None:
    problem = problem_of("rbf", 1.0)
    first = minimise(problem, Decomposition(), tol=1e-10, max_iter=1000)
    again = minimise(problem, Decomposition(), tol=1e-6, theta=first.theta)
    assert again.certificate.n_iter == 0
    assert again.certificate.ok
    np.testing.assert_array_equal(again.theta[:-1], first.theta[:-1])
    assert again.theta[-1] == pytest.approx(first.theta[-1], abs=1e-6)


def test_a_warm_start_is_sooner() -> None:
    near = minimise(problem_of("rbf", 1.0, n=300), Decomposition(32), tol=1e-8, max_iter=10_000)
    cold = minimise(problem_of("rbf", 1.05, n=300), Decomposition(32), tol=1e-6, max_iter=10_000)
    warm = minimise(
        problem_of("rbf", 1.05, n=300),
        Decomposition(32),
        tol=1e-6,
        max_iter=10_000,
        theta=near.theta,
    )
    assert warm.certificate.ok
    assert warm.certificate.n_iter <= cold.certificate.n_iter


@pytest.mark.parametrize("name", [*KERNELS])
def test_beyond_the_precision_of_float32(name: str) -> None:
    problem = problem_of(name, 10.0)
    certificate = minimise(problem, Decomposition(), tol=1e-11, max_iter=5000).certificate
    assert certificate.ok
    # A tolerance out of reach ends with a status of its own.
    problem = problem_of(name, 10.0)
    certificate = minimise(problem, Decomposition(), tol=1e-18, max_iter=5000).certificate
    assert certificate.status == "precision_limit"
    assert certificate.relative_gap < 1e-11


def test_the_estimate_is_the_gap() -> None:
    problem = problem_of("rbf", 1.0)
    solver = Decomposition(8)
    state = solver.init(problem, problem.zero(), np.random.default_rng(0))
    for _ in range(6):
        state = solver.step(problem, state, lambda: None)
        candidate = solver.candidate(problem, state)
        bound = problem.bound(candidate.theta, candidate.residual, candidate.scores)
        # The estimate puts the intercept halfway; the candidate's is the best.
        assert bound.gap <= state.estimate * bound.primal * 2 + 1e-9
        assert state.estimate >= 0.0


def test_a_stop_in_the_middle_of_a_step_leaves_the_state_whole() -> None:
    class Stop(Exception):
        pass

    problem = problem_of("rbf", 1.0, n=200, cache_mb=0.01)
    solver = Decomposition(16)
    state = solver.init(problem, problem.zero(), np.random.default_rng(0))
    for _ in range(3):
        state = solver.step(problem, state, lambda: None)
    for count in (1, 2):
        c, interrupt_checks = state.c.copy(), []

        def check_interrupt(count=count, interrupt_checks=interrupt_checks) -> None:
            interrupt_checks.append(1)
            if len(interrupt_checks) == count:
                raise Stop

        with pytest.raises(Stop):
            solver.step(problem, state, check_interrupt)
        np.testing.assert_array_equal(state.c, c)
    K = KERNELS["rbf"][0](data(200)[0])
    np.testing.assert_allclose(state.gradient, K @ state.c - problem.y, atol=1e-4)
    solution = minimise(problem, solver, theta=np.append(state.c, 0.0), max_iter=10_000)
    assert solution.certificate.ok


@pytest.mark.parametrize("seed", range(6))
def test_the_hard_margin(seed: int) -> None:
    X, y = data(30, seed)
    gram = Gram(RBFKernel(2.0), as_design(X), cache_mb=1.0)
    problem = KernelHardMarginObjective(gram, y)
    solution = minimise(problem, Decomposition(), tol=1e-8, max_iter=10_000)
    K = kernel_matrix("rbf", X, gamma=2.0)
    best = solve_soft(K[None], y[None], np.full((1, 30), 1e9))
    assert solution.certificate.ok
    assert solution.certificate.primal == pytest.approx(float(best.upper[0]), rel=2e-8)
    assert solution.certificate.dual <= float(best.upper[0]) * (1 + 1e-12)
    theta = problem.canonical(solution.theta)
    assert np.min(y * problem.linear(theta)) == pytest.approx(1.0, rel=1e-9)


def test_classes_that_touch_have_no_margin() -> None:
    X, y = data(20)
    X, y = np.vstack([X, X[3:4]]), np.append(y, -y[3])
    for kernel in (RBFKernel(2.0), LinearKernel(), PolynomialKernel(3, 1.0, 1.0)):
        problem = KernelHardMarginObjective(Gram(kernel, as_design(X), cache_mb=1.0), y)
        certificate = minimise(problem, Decomposition(), max_iter=10_000).certificate
        assert certificate.status == "not_separable"
        assert certificate.primal == np.inf


def test_an_indefinite_matrix_ends_where_nothing_moves() -> None:
    X, y = data()
    for function in (
        lambda A, B: np.tanh(0.5 * (A @ B.T) - 1.0),
        lambda A, B: -(A @ B.T),
        lambda A, B: (A @ B.T - 1.0) ** 2,
    ):
        gram = Gram(CallableKernel(function), as_design(X), cache_mb=1.0)
        problem = KernelObjective(gram, y, Hinge(), C=2.0)
        solution = minimise(problem, Decomposition(), max_iter=10_000)
        assert solution.certificate.status == "indefinite"
        assert solution.certificate.gap == np.inf
        # The returned point is stationary: every coefficient is where its slope pushes it.
        c, b = problem.weights_of(solution.theta), problem.intercept_of(solution.theta)
        z = y * (function(X, X) @ c + b)
        alpha = y * c
        assert np.all(alpha[z > 1 + 1e-2] == 0.0)
        assert np.all(alpha[z < 1 - 1e-2] == 2.0)


def test_what_it_cannot_solve_is_refused() -> None:
    X, y = data()
    design = as_design(X)
    gram = Gram(RBFKernel(1.0), design, cache_mb=1.0)
    linear = MarginObjective(design, y, Hinge(), L2(), C=1.0, fit_intercept=True)
    with pytest.raises(TypeError, match="Gram"):
        minimise(linear, Decomposition())
    for loss in (SquaredHinge(), LogLoss()):
        with pytest.raises(TypeError, match="curvature"):
            minimise(KernelObjective(gram, y, loss, C=1.0), Decomposition())
    assert isinstance(select_solver(KernelObjective(gram, y, Hinge(), C=1.0)), Decomposition)
    assert isinstance(select_solver(KernelHardMarginObjective(gram, y)), Decomposition)


def test_whoever_watches_hears_of_the_sample_that_is_fitted_first():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5_200, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    # A cache of a few rows, or there would be nothing to begin from.
    matrix = Gram(RBFKernel(0.5), as_design(X), cache_mb=20.0)
    seen = []
    with watch(seen.append):
        found = minimise(KernelObjective(matrix, y, Hinge(), C=1.0), Decomposition(), tol=1e-3)
    there = [k for k, record in enumerate(seen) if not np.isnan(record.sample_gap)]
    assert found.certificate.status == "optimal"
    assert there and max(there) < len(seen) - 1
    assert 0.0 <= seen[there[-1]].sample_gap <= 1e-2
    assert all(seen[k].iteration == 0 for k in there)


@pytest.fixture
def of_many() -> KernelObjective:
    """A machine with rows that are in no product in float64."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1_600, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    return KernelObjective(Gram(RBFKernel(0.5), as_design(X), cache_mb=4.0), y, Hinge(), C=2.0)


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8])
def test_rows_beyond_their_margin_are_enclosed_by_the_running_gradient(of_many, tol) -> None:
    problem = of_many
    solution = minimise(problem, Decomposition(), tol=tol, max_iter=10_000)
    certificate, theta = solution.certificate, solution.theta
    assert certificate.status == "optimal"
    c, b = problem.weights_of(theta), float(problem.intercept_of(theta))
    radius = problem.matrix.off_by(c)
    loose = radius > 0.0
    assert np.count_nonzero(loose) > 400 and not np.any(loose & (c != 0.0))
    product = problem.matrix.dot(c)
    enclosed = problem.enclosed_at(theta, Level.NORMS)
    problem.matrix.forget()
    exact = problem.matrix.dot(c)
    # Every entry is within its radius, and no row that is not known exactly has a loss.
    assert np.all(np.abs(product - exact)[loose] <= radius[loose])
    np.testing.assert_allclose(product[~loose], exact[~loose], atol=1e-10)
    assert np.all(np.abs(enclosed[0].middle - exact - b) <= enclosed[0].radius + 1e-10)
    assert np.all((problem.y * (product + b) - radius)[loose] > 1.0)
    # Both sides of the certificate hold of the exact product.
    primal = 0.5 * c @ exact + problem.loss_value(exact + b)
    dual = float(np.abs(c).sum() - 0.5 * c @ exact)
    assert certificate.primal >= primal * (1.0 - 1e-12)
    assert certificate.dual <= dual * (1.0 + 1e-12)
    assert certificate.primal <= primal * (1.0 + 1e-9)


def test_only_a_soft_margin_of_the_whole_matrix_leaves_rows_out(of_many) -> None:
    assert of_many.flat
    assert not of_many.sample(np.arange(0, 1_600, 2)).flat
    problem = KernelObjective(of_many.matrix, of_many.y, Hinge(), C=2.0, fit_intercept=False)
    assert not problem.flat
    assert not KernelHardMarginObjective(of_many.matrix, of_many.y).flat


def test_where_too_many_rows_are_in_doubt_all_are_computed(of_many, monkeypatch) -> None:
    radius = RunningError.radius
    monkeypatch.setattr(RunningError, "radius", lambda self: radius(self) + 10.0)
    solution = minimise(of_many, Decomposition(), tol=1e-5, max_iter=10_000)
    assert solution.certificate.ok
    assert np.all(of_many.matrix.off_by(of_many.weights_of(solution.theta)) == 0.0)


def test_a_row_that_an_intercept_puts_in_doubt_is_computed(of_many, monkeypatch) -> None:
    # The first look takes every row for one beyond its margin; the second one knows better.
    losing, looks = of_many.losing, []

    def credulous(product, radius, b):
        looks.append(1)
        found = losing(product, radius, b)
        return np.zeros_like(found) if len(looks) % 2 else found

    monkeypatch.setattr(of_many, "losing", credulous)
    state = Decomposition().init(of_many, of_many.zero(), np.random.default_rng(0))
    for _ in range(3):
        state = Decomposition().step(of_many, state, lambda: None)
    candidate = Decomposition().candidate(of_many, state)
    assert len(looks) == 2
    c = of_many.weights_of(candidate.theta)
    assert np.all(of_many.matrix.off_by(c) == 0.0)
    K = KERNELS["rbf"][0](of_many.matrix.design.matrix)
    np.testing.assert_allclose(
        candidate.scores, K @ c + of_many.intercept_of(candidate.theta), atol=1e-9
    )
