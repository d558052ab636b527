"""Newton's method: what it does beyond reaching the tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.losses import LogLoss, SquaredError, SquaredHinge
from separatrix.objectives.base import Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import Newton
from separatrix.solvers.driver import minimise
from separatrix.solvers.newton import Tuning


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


def test_several_outputs_are_solved_by_what_the_forecast_favours() -> None:
    # A matrix for each of 78 pairs takes longer than a few products; where columns are collinear,
    # or nothing penalises them, there are so many products that it is the shorter.
    rng = np.random.default_rng(0)

    def problem(
        n: int, d: int, classes: int, density: float = 1.0, apart: float = 1.0, **options
    ) -> SoftmaxObjective:
        X = apart * rng.normal(size=(n, d)) + (1.0 - apart) * rng.normal(size=(n, 1))
        if density < 1.0:
            X = sp.csr_array(X * (rng.random((n, d)) < density))
        y = rng.integers(classes, size=n)
        return SoftmaxObjective(as_design(X), y, classes, **options)

    assert not Newton().is_dense(problem(1355, 7, 12))
    assert not Newton().is_dense(problem(991, 36, 9))
    assert not Newton().is_dense(problem(5000, 96, 6, density=0.03))
    assert not Newton().is_dense(problem(5000, 18, 3))
    assert Newton().is_dense(problem(5000, 18, 3, apart=0.1))
    assert Newton().is_dense(problem(991, 36, 5, penalty=NoPenalty()))
    # The levels of every category add up to the same column.
    levels = np.repeat(np.arange(0, 24, 6), 3600).reshape(4, 3600) + rng.integers(6, size=(4, 3600))
    columns = (np.ones(4 * 3600), levels.T.ravel(), np.arange(0, 4 * 3600 + 1, 4))
    rows, codes = as_design(sp.csr_array(columns, shape=(3600, 24))), rng.integers(5, size=3600)
    assert Newton().is_dense(SoftmaxObjective(rows, codes, 5, C=24.0))
    assert not Newton().is_dense(SoftmaxObjective(rows, codes, 5, C=1e-3))


def test_columns_of_wild_scale_and_margins_that_grow() -> None:
    # Separable rows and a weak penalty: the curvature of the columns falls by orders of magnitude
    # on the way, and a preconditioner from its beginning is of no use at its end.
    rng = np.random.default_rng(0)
    X = sp.random(400, 4000, 0.01, random_state=0, format="csr")
    X.data = rng.normal(size=X.nnz)
    X = sp.csr_array(X @ sp.diags(10.0 ** rng.uniform(-2, 2, 4000)))
    objective = MarginObjective(as_design(X), rng.choice([-1.0, 1.0], size=400), LogLoss(), C=1e5)
    certificate = minimise(objective, Newton(), max_iter=60).certificate
    assert certificate.status == "optimal"


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
    # The first column separates in part: where it is not 0 it determines the class.
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


# --- several outputs, preconditioned by blocks ---------------------------------------------------


def correlated(n: int = 600, d: int = 20, classes: int = 4):
    """Correlated columns, whose Hessian a diagonal approximates badly."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) @ (0.3 * np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d))
    X += 3.0 * rng.normal(size=(n, 1))
    scores = X @ rng.normal(size=(d, classes)) + 3.0 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


# Blocks once every few products.
BLOCKS_ALWAYS = Tuning(patience=0.0)


def products_of(
    objective, tol: float = 1e-10, tuning: Tuning = BLOCKS_ALWAYS
) -> tuple[int, object]:
    calls = 0
    product = objective.hessian_product

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return product(*arguments)

    objective.hessian_product = counted
    solution = minimise(objective, Newton(dense=False, tuning=tuning), tol=tol)
    assert solution.certificate.ok, str(solution.certificate)
    return calls, solution


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rows", [2, 1000])
def test_blocks_save_products_and_keep_the_optimum(intercept: bool, rows: int) -> None:
    X, codes = correlated()
    objective = SoftmaxObjective(as_design(X), codes, 4, C=10.0, fit_intercept=intercept)
    few, solution = products_of(objective, tuning=replace(BLOCKS_ALWAYS, rows=rows))
    other = SoftmaxObjective(as_design(X), codes, 4, C=10.0, fit_intercept=intercept)
    many, _ = products_of(other, tuning=Tuning())
    assert few < 0.6 * many
    exact = minimise(objective, Newton(dense=True), tol=1e-12).theta
    np.testing.assert_allclose(solution.theta, exact, atol=1e-3 * np.abs(exact).max())


def test_some_thousand_rows_are_enough_for_blocks() -> None:
    X, codes = correlated(n=2000, d=30)
    few, many = (
        products_of(SoftmaxObjective(as_design(X), codes, 4, C=10.0), 1e-6, tuning)[0]
        for tuning in (Tuning(), Tuning(patience=np.inf))
    )
    assert few < 0.7 * many


def test_blocks_of_rows_without_weight_add_nothing_to_a_product_or_a_gradient() -> None:
    X, codes = correlated()
    kept = np.r_[:100, 300:520]
    weights = np.zeros(600)
    weights[kept] = 1.0
    whole = SoftmaxObjective(as_design(X), codes, 4, weights=weights)
    part = SoftmaxObjective(as_design(X[kept]), codes[kept], 4)
    theta, direction = np.random.default_rng(0).normal(size=(2, *whole.shape))
    at, there = whole.evaluate(theta), part.evaluate(theta)
    np.testing.assert_allclose(at.adjoint, there.adjoint, rtol=1e-9)
    # Scores are computed for all rows.
    np.testing.assert_allclose(at.scores, whole.linear(theta), rtol=1e-9)
    np.testing.assert_allclose(
        whole.hessian_product(whole.curvature(at.scores), direction),
        part.hessian_product(part.curvature(there.scores), direction),
        rtol=1e-9,
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e3])
def test_the_loss_of_several_classes_along_a_line_is_that_of_the_scores_there(scale) -> None:
    X, codes = correlated()
    weights = np.arange(600.0) % 3
    objective = SoftmaxObjective(as_design(X), codes, 4, weights=weights)
    scores, along = scale * np.random.default_rng(0).normal(size=(2, 600, 4))
    found = objective.along_line(scores, along, 0.5)
    assert found == pytest.approx(Objective.along_line(objective, scores, along, 0.5), rel=1e-12)
    # Where scores overflow, so do both.
    far = np.full_like(scores, 1e308)
    far[:, 0] = -1e308
    with np.errstate(all="ignore"):
        both = objective.along_line(far, far, 1.0), Objective.along_line(objective, far, far, 1.0)
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("intercept", [True, False])
def test_blocks_are_symmetric_and_positive_definite(intercept: bool) -> None:
    X, codes = correlated()
    objective = SoftmaxObjective(as_design(X), codes, 4, fit_intercept=intercept)
    curvature = objective.curvature(objective.linear(objective.zero()))
    blocks = Newton(tuning=BLOCKS_ALWAYS)._blocks(objective, curvature, lambda: None)
    size = int(np.prod(objective.shape))
    inverse = np.stack(
        [blocks.solve(e.reshape(objective.shape)).ravel() for e in np.eye(size)], axis=1
    )
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)
    assert np.linalg.eigvalsh(0.5 * (inverse + inverse.T)).min() > 0.0


def test_a_block_of_all_rows_is_that_of_the_hessian() -> None:
    X, codes = correlated(n=60, d=3)
    weights = np.where(np.arange(60) % 5, 1.0, 0.0)
    objective = SoftmaxObjective(as_design(X), codes, 4, weights=weights)
    theta = np.random.default_rng(0).normal(size=objective.shape)
    curvature = objective.curvature(objective.linear(theta))
    full = objective.hessian(curvature).reshape(4, 4, 4, 4)
    for k in range(4):
        np.testing.assert_allclose(objective.hessian_block(curvature, k, 60), full[:, k, :, k])


def test_a_block_of_a_sample_takes_the_rows_that_matter() -> None:
    # Any sample of equal rows gives the block, and a row far above the others is always in it.
    X = np.ones((100, 1))
    X[7] = 3.0
    weights = np.ones(100)
    weights[7] = 1000.0
    objective = SoftmaxObjective(
        as_design(X), np.arange(100) % 3, 3, weights=weights, fit_intercept=False
    )
    curvature = objective.curvature(objective.linear(objective.zero()))
    for rows in (2, 10, 50):
        block = objective.hessian_block(curvature, 0, rows)
        np.testing.assert_allclose(block, objective.hessian_block(curvature, 0, 100), rtol=1e-9)


def test_blocks_with_zero_weights_and_a_class_without_rows() -> None:
    X, codes = correlated()
    weights = np.where(codes == 3, 0.0, np.arange(600) % 3)
    # Without an intercept, which would run to minus infinity for a class that no row is of.
    options = {"fit_intercept": False}
    _, zero = products_of(SoftmaxObjective(as_design(X), codes, 4, weights=weights, **options))
    repeated = np.repeat(np.arange(600), weights.astype(int))
    _, copies = products_of(SoftmaxObjective(as_design(X[repeated]), codes[repeated], 4, **options))
    assert zero.certificate.primal == pytest.approx(copies.certificate.primal, rel=1e-9)


def test_columns_of_wild_scale_leave_the_diagonal() -> None:
    X, codes = correlated(d=5)
    X = X * np.array([1e-9, 1e-3, 1.0, 1e3, 1e6])
    objective = SoftmaxObjective(as_design(X), codes, 4)
    curvature = objective.curvature(objective.linear(objective.zero()))
    assert Newton(tuning=BLOCKS_ALWAYS)._blocks(objective, curvature, lambda: None) is None
    certificate = minimise(objective, Newton(dense=False), tol=1e-6).certificate
    assert certificate.ok, str(certificate)


def test_a_block_that_overflows_leaves_the_diagonal() -> None:
    X, codes = correlated(d=3)
    objective = SoftmaxObjective(as_design(X), codes, 4)
    curvature = objective.curvature(objective.linear(objective.zero()))
    objective.hessian_block = lambda *_: np.full((4, 4), np.nan)
    assert Newton(tuning=BLOCKS_ALWAYS)._blocks(objective, curvature, lambda: None) is None
