"""Extrapolation of dual descent: the dual never falls, multipliers stay in their range."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.losses import Hinge, LogLoss, SquaredError, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import DualDescent
from separatrix.solvers.driver import minimise
from separatrix.solvers.dual_descent import Tuning
from separatrix.solvers.extrapolation import Extrapolation

LOSSES = [Hinge(), SquaredHinge(), LogLoss(), SquaredError()]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


# The problems here are done with before descent would begin to extrapolate.
FROM_THE_FIRST_PASS = Tuning(early=0)


def data(n: int = 150, d: int = 8, seed: int = 0):
    """Rows with repetitions, near repetitions and zeros, and labels that contradict them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[10:20] = X[:10]
    X[20:30] = X[:10] + 1e-4 * rng.normal(size=(10, d))
    X[30:33] = 0.0
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def dual(problem: MarginObjective, state) -> float:
    """What a pass raises: the dual, with the method of multipliers' terms for an intercept."""
    w = problem.design.t_dot(state.alpha * problem.y)
    total = float(state.alpha @ problem.y)
    value = -0.5 * float(w @ w) - problem.conjugate_value(-problem.y * state.alpha)
    # b has the share rho * total already; the term is that of the intercept before it.
    return value - total * float(state.b[0]) + 0.5 * state.rho * total * total


@pytest.mark.crossed
@each_loss
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_dual_never_falls_and_the_range_holds(loss, intercept: bool, C: float, store) -> None:
    X, y = data()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=len(y))
    problem = MarginObjective(
        as_design(store(X)), y, loss, C=C, weights=weights, fit_intercept=intercept
    )
    solver = DualDescent(FROM_THE_FIRST_PASS)
    state = solver.init(problem, problem.zero(), np.random.default_rng(0))
    upper, used = problem.upper, problem.upper > 0.0
    moved = 0
    for _ in range(25):
        solver.step(problem, state, lambda: None)
        before, alpha = dual(problem, state), state.alpha.copy()
        state.extrapolation.extrapolate(
            problem,
            state.alpha,
            state.w,
            state.b,
            squares=state.squares,
            rho=state.rho,
            coming=state.active[: state.n_active],
        )
        after = dual(problem, state)
        assert after >= before - 1e-12 * max(abs(before), abs(after))
        moved += not np.array_equal(alpha, state.alpha)
        assert np.all(state.alpha[used] >= loss.dual_lower * upper[used])
        assert np.all(state.alpha[used] <= loss.dual_upper * upper[used])
        assert np.all(state.alpha[~used] == 0.0)
        scale = 1.0 + np.abs(state.alpha).sum()
        np.testing.assert_allclose(state.w, X.T @ (state.alpha * y), atol=1e-12 * scale)
    # At the smallest C every multiplier of a hinge is at its edge after a pass, for good.
    assert moved or C < 1.0


def test_the_intercept_follows_the_multipliers() -> None:
    X, y = data()
    problem = MarginObjective(as_design(X), y, Hinge(), intercept_penalty=0.5)
    state = minimise(
        problem, DualDescent(FROM_THE_FIRST_PASS), tol=1e-15, max_iter=20, seed=0
    ).state
    assert state.b[0] == pytest.approx(2.0 * float(state.alpha @ y), abs=1e-11)


def test_two_displacements_of_a_quadratic_end_at_its_maximum() -> None:
    # Without edges, two rows and two displacements span everything.
    X = np.array([[1.0, 0.2], [0.9, 0.3]])
    y = np.ones(2)
    problem = MarginObjective(as_design(X), y, SquaredError(), C=3.0, fit_intercept=False)
    exact = np.linalg.solve(X @ X.T + np.eye(2) / 3.0, np.ones(2))
    extrapolation, squares = Extrapolation(problem), problem.design.row_squares()
    alpha, w, b = np.zeros(2), np.zeros(2), np.zeros(1)

    def extrapolate() -> None:
        extrapolation.extrapolate(
            problem, alpha, w, b, squares=squares, rho=0.0, coming=np.arange(2)
        )

    extrapolate()
    assert not alpha.any()
    for step in ([1.0, 0.0], [0.0, 1.0]):
        alpha += step
        w += X.T @ step
        extrapolate()
    np.testing.assert_allclose(alpha, exact, rtol=1e-12)
    np.testing.assert_allclose(w, X.T @ exact, rtol=1e-12)


@pytest.mark.parametrize("C", [1e-6, 0.1, 10.0])
def test_same_optimum_as_a_quadratic_program(C: float) -> None:
    X, y = data(n=60, d=4)
    problem = MarginObjective(as_design(X), y, Hinge(), C=C, fit_intercept=False)
    Q = (X * y[:, None]) @ (X * y[:, None]).T
    # In units of C, so that the solver's own tolerances mean the same everywhere.
    best = scipy.optimize.minimize(
        lambda a: 0.5 * C * a @ Q @ a - a.sum(),
        np.full(60, 0.5),
        jac=lambda a: C * (Q @ a) - 1.0,
        bounds=[(0.0, 1.0)] * 60,
        method="L-BFGS-B",
        options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    solution = minimise(
        problem, DualDescent(FROM_THE_FIRST_PASS), tol=1e-9, max_iter=50_000, seed=0
    )
    assert solution.certificate.ok, str(solution.certificate)
    assert solution.certificate.primal == pytest.approx(-C * best.fun, rel=1e-6)


def test_weights_stay_those_of_the_multipliers_for_thousands_of_passes() -> None:
    # Long after the last digit, when displacements are nothing but rounding.
    X, y = data(n=60, d=4)
    problem = MarginObjective(as_design(X), y, Hinge(), C=1000.0, fit_intercept=False)
    state = minimise(
        problem, DualDescent(FROM_THE_FIRST_PASS), tol=1e-15, max_iter=2000, seed=0
    ).state
    # Multipliers in the thousands cancel to weights of order one.
    np.testing.assert_allclose(state.w, X.T @ (state.alpha * y), atol=1e-6)


def test_same_seed_same_bits() -> None:
    X, y = data()
    problem = MarginObjective(as_design(sp.csr_array(X)), y, Hinge(), C=10.0)
    one, two = (
        minimise(problem, DualDescent(FROM_THE_FIRST_PASS), tol=1e-10, max_iter=500, seed=4).state
        for _ in range(2)
    )
    assert one.alpha.tobytes() == two.alpha.tobytes()
    assert one.w.tobytes() == two.w.tobytes()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_what_rounding_leaves_is_not_extrapolated(seed: int, fit_intercept: bool) -> None:
    # Most of the multipliers stay within their range. Near the optimum what a pass gains is less
    # than the rounding of the weights; to go on along that, descent went round in circles.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 400))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, 1.0, -1.0)
    problem = MarginObjective(as_design(X), y, Hinge(), fit_intercept=fit_intercept)
    found = minimise(problem, DualDescent(), tol=1e-6, max_iter=150, seed=0)
    assert found.certificate.ok, str(found.certificate)
