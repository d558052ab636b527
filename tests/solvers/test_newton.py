"""Newton's method: what it does beyond reaching the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.design import as_design
from separatrix.losses import LogLoss, SquaredError, SquaredHinge
from separatrix.objective import MarginObjective, SoftmaxObjective
from separatrix.penalties import NoPenalty
from separatrix.solvers import Newton
from separatrix.solvers.driver import minimise


def data(n: int = 200, d: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def test_a_quadratic_takes_one_step() -> None:
    X, y = data()
    certificate = minimise(MarginObjective(as_design(X), y, SquaredError()), Newton()).certificate
    assert (certificate.status, certificate.n_iter) == ("optimal", 1)


def test_convergence_is_quadratic_at_the_end() -> None:
    X, y = data()
    objective = MarginObjective(as_design(X), y, LogLoss())
    few = minimise(objective, Newton(), tol=1e-4).certificate.n_iter
    many = minimise(objective, Newton(), tol=1e-12).certificate.n_iter
    assert many <= few + 3


@pytest.mark.parametrize("start", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
def test_from_far_away(loss, start: float) -> None:
    # An undamped Newton step diverges from here.
    X, y = data()
    objective = MarginObjective(as_design(X), y, loss)
    theta = start * np.random.default_rng(1).normal(size=6)
    solution = minimise(objective, Newton(), theta=theta, tol=1e-9)
    assert solution.certificate.ok, str(solution.certificate)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_the_objective_never_rises(C: float) -> None:
    X, y = data()
    for objective in (
        MarginObjective(as_design(X), y, LogLoss(), C=C),
        MarginObjective(as_design(X), y, SquaredHinge(), C=C),
        SoftmaxObjective(as_design(X), np.arange(200) % 3, 3, C=C),
    ):
        trace = minimise(objective, Newton(), tol=1e-12, record=True).trace
        primal = np.array(trace.primal)
        assert np.all(np.diff(primal) <= 1e-13 * primal[:-1])


def test_dense_and_product_forms_agree() -> None:
    X, y = data(d=30)
    objective = MarginObjective(as_design(X), y, LogLoss())
    dense = minimise(objective, Newton(dense=True), tol=1e-12).theta
    products = minimise(objective, Newton(dense=False), tol=1e-12).theta
    np.testing.assert_allclose(dense, products, atol=1e-6)


def test_the_choice_of_form_follows_the_cost() -> None:
    X, y = data()
    assert Newton().is_dense(MarginObjective(as_design(X), y, LogLoss()))
    wide = as_design(
        sp.random_array((50, 5000), density=0.01, format="csr", rng=np.random.default_rng(0))
    )
    assert not Newton().is_dense(
        MarginObjective(wide, np.where(np.arange(50) % 2, 1.0, -1.0), LogLoss())
    )


def test_dependent_columns_are_no_obstacle() -> None:
    X, y = data()
    twice = np.hstack([X, X, np.ones((len(X), 2)), np.zeros((len(X), 1))])
    for penalty in (None, NoPenalty()):
        solution = minimise(
            MarginObjective(as_design(twice), y, LogLoss(), penalty), Newton(), tol=1e-10
        )
        assert solution.certificate.ok, str(solution.certificate)
        if penalty is None:
            # The penalty shares a weight between copies evenly.
            np.testing.assert_allclose(solution.theta[:5], solution.theta[5:10], atol=1e-8)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_without_a_penalty_the_scale_of_a_column_does_not_matter(scale: float) -> None:
    X, y = data()
    plain = minimise(MarginObjective(as_design(X), y, LogLoss(), NoPenalty()), Newton())
    scaled = minimise(
        MarginObjective(as_design(X * [1, scale, 1, 1 / scale, 1]), y, LogLoss(), NoPenalty()),
        Newton(),
    )
    assert scaled.certificate.ok, str(scaled.certificate)
    assert scaled.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-6)


# --- no finite optimum -------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_separable_data_are_recognised(intercept: bool, scale: float) -> None:
    X, _ = data()
    y = np.where(X[:, 0] - 0.5 * X[:, 1] > 0, 1.0, -1.0)
    objective = MarginObjective(
        as_design(scale * X), y, LogLoss(), NoPenalty(), fit_intercept=intercept
    )
    solution = minimise(objective, Newton())
    assert solution.certificate.status == "separable"
    assert np.all(np.isfinite(solution.theta))
    assert solution.certificate.dual <= 1e-12


def quasi():
    # The first column separates in part: where it is not 0 it tells the class.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 1] + rng.normal(size=60) > 0, 1.0, -1.0)
    X[:, 0] = 0.0
    X[:10, 0] = y[:10]
    return X, y


@pytest.mark.parametrize("solver", [Newton(dense=True), Newton(dense=False)])
def test_quasi_separable_data_are_recognised(solver) -> None:
    X, y = quasi()
    objective = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
    solution = minimise(objective, solver)
    assert solution.certificate.status == "quasi_separable"
    assert np.all(np.isfinite(solution.theta))


def test_quasi_separable_multinomial_data_are_recognised() -> None:
    X, y = quasi()
    codes = np.where(y > 0, 1, 0)
    codes[X[:, 0] > 0] = 2
    # Class 2 is exactly the rows where the first column is 1; the others overlap.
    objective = SoftmaxObjective(as_design(X), codes, 3, NoPenalty())
    assert minimise(objective, Newton()).certificate.status in ("quasi_separable", "separable")


OUTLIERS = [1e3, 1e6, 1e7, 1e8, 1e9, 1e12]


@pytest.mark.parametrize("outlier", OUTLIERS)
def test_an_outlier_does_not_make_data_quasi_separable(outlier: float) -> None:
    # The optimum is finite whatever the outlier: rows 2 and 3 contradict each other.
    x = np.array([outlier, 1, -1, 2, -3, 1.5, -0.5, 0.7])
    y = np.array([1, 1, 1, -1, -1, 1, -1, -1.0])
    objective = MarginObjective(as_design(x[:, None]), y, LogLoss(), NoPenalty())
    certificate = minimise(objective, Newton()).certificate
    assert certificate.status not in ("separable", "quasi_separable"), str(certificate)


@pytest.mark.parametrize("outlier", OUTLIERS)
def test_an_outlier_does_not_make_multinomial_data_quasi_separable(outlier: float) -> None:
    x = np.array([outlier, 1, -1, 2, -3, 1.5, -0.5, 0.7, 0.1, -0.2, 2.5])
    codes = np.array([1, 1, 1, 0, 0, 1, 0, 0, 2, 2, 2])
    objective = SoftmaxObjective(as_design(x[:, None]), codes, 3, NoPenalty())
    certificate = minimise(objective, Newton()).certificate
    assert certificate.status not in ("separable", "quasi_separable"), str(certificate)


def test_nearly_separable_data_have_an_optimum() -> None:
    # One contradiction of tiny weight among many rows that a plane would separate.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X = np.vstack([X, X[:1]])
    y = np.append(y, -y[0])
    weights = np.append(np.ones(100), 1e-3)
    objective = MarginObjective(as_design(X), y, LogLoss(), NoPenalty(), weights=weights)
    certificate = minimise(objective, Newton()).certificate
    assert certificate.status not in ("separable", "quasi_separable"), str(certificate)


def test_wide_data_without_a_penalty_are_separable() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    certificate = minimise(
        MarginObjective(as_design(X), y, LogLoss(), NoPenalty()), Newton()
    ).certificate
    assert certificate.status == "separable"
