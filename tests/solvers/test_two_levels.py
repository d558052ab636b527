"""Two levels of columns: their stand-in for a Hessian, and fits of wide sparse data in passes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.losses import LogLoss, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, L2
from separatrix.scale import Local, scan
from separatrix.scale.objectives import BlockedPointwise
from separatrix.solvers import Newton, Switching, TwoLevels, forecast, select_solver
from separatrix.solvers import two_level_preconditioner as levels_file
from separatrix.solvers.driver import minimise
from separatrix.solvers.two_level_preconditioner import Tuning, TwoLevelPreconditioner

LEVELS = (5, 60, 900, 3000)
NUMBERS = 2


def clicks(n: int = 2500, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Two numbers, and four categories of up to 3,000 levels, few of which are frequent."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, NUMBERS))
    score, columns, first = numbers @ [0.5, -0.5] - 1.5, [], NUMBERS
    for k, levels in enumerate(LEVELS):
        level = np.minimum((levels ** rng.random(n)).astype(int), levels) - 1
        score += np.sin(level * (1.0 + k))
        columns.append(first + rng.permutation(levels)[level])
        first += levels
    indices = np.hstack([np.tile(np.arange(NUMBERS), (n, 1)), np.array(columns).T])
    data = np.hstack([numbers, np.ones((n, len(LEVELS)))])
    ends = np.arange(n + 1) * indices.shape[1]
    X = sp.csr_matrix((data.ravel(), indices.ravel(), ends), shape=(n, first))
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)


X, Y = clicks()


def blocked(loss=None, *, rows: int = 700, workers: int | None = None, weight=None, **options):
    data = scan(options.pop("matrix", X), Y, weight=weight, block_rows=rows)
    penalty = options.pop("penalty", L2())
    return BlockedPointwise(data, Local(workers), loss or LogLoss(), penalty, **options)


# --- the stand-in ---------------------------------------------------------------------------------


def small(fit_intercept: bool) -> tuple[MarginObjective, np.ndarray, np.ndarray]:
    keep = np.r_[0 : NUMBERS + 65]
    part = MarginObjective(
        as_design(sp.csr_matrix(X[:2000, keep])), Y[:2000], LogLoss(), fit_intercept=fit_intercept
    )
    theta = np.random.default_rng(1).normal(size=part.shape) / 4
    return part, theta, part.hessian(part.curvature(part.linear(theta)))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_where_all_columns_are_frequent_it_is_the_hessian(fit_intercept):
    part, theta, hessian = small(fit_intercept)
    rng = np.random.default_rng(0)
    all_rows = Tuning(rows=1000)
    stand_in = TwoLevelPreconditioner.of(part, theta, np.diagonal(hessian).copy(), rng, all_rows)
    rhs = rng.normal(size=part.shape)
    np.testing.assert_allclose(stand_in.solve(rhs), np.linalg.solve(hessian, rhs), rtol=1e-8)


def test_long_rows_are_summed_before_they_are_multiplied():
    rng = np.random.default_rng(0)
    weight, curvature, place = rng.random(90), rng.random(700), rng.integers(0, 9, 90)
    # Long rows, and rows that are nearly all empty.
    for share in (0.5, 0.002):
        rows = sp.csr_matrix(rng.random((700, 90)) * (rng.random((700, 90)) < share))
        sums = np.zeros((700, 10))
        np.add.at(sums.T, place, (rows.toarray() * weight).T)
        sums[:, -1] = 1.0
        found = levels_file._coarse(rows, curvature, place, weight, 10)
        np.testing.assert_allclose(found, sums.T @ (curvature[:, None] * sums), rtol=1e-11)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("runs", [500, 2])
def test_it_is_the_formula_and_positive_definite(fit_intercept, runs):
    part, theta, hessian = small(fit_intercept)
    diagonal = np.diagonal(hessian).copy()
    tuning = Tuning(frequent=6, runs=runs, rows=1000)
    stand_in = TwoLevelPreconditioner.of(part, theta, diagonal, np.random.default_rng(0), tuning)
    size, d = len(hessian), part.design.n_features
    found = np.array([stand_in.solve(unit) for unit in np.eye(size)]).T
    # The coarse columns, written down: the frequent ones, the sums of the others, the intercept.
    frequent = np.argsort(-diagonal[:d], kind="stable")[:6]
    rest = np.setdiff1d(np.arange(d), frequent)
    ends = [NUMBERS, NUMBERS + 5, NUMBERS + 65] if runs == 500 else [NUMBERS + 65]
    groups = [
        [j for j in rest if first <= j < last]
        for first, last in zip([0, *ends[:-1]], ends, strict=True)
    ]
    coarse = [np.eye(size)[j] for j in frequent]
    for group in groups:
        column = np.zeros(size)
        column[group] = 1.0 - 1.0 / diagonal[group]
        coarse.append(column)
    P = np.array(coarse + ([np.eye(size)[-1]] if fit_intercept else [])).T
    P = P[:, P.any(axis=0)]
    S, D = P[:, len(frequent) :][rest], np.diag(diagonal[rest])
    S = S[:, S.any(axis=0)]
    away = np.eye(len(rest)) - S @ np.linalg.solve(S.T @ D @ S, S.T @ D)
    expected = P @ np.linalg.solve(P.T @ hessian @ P, P.T)
    expected[np.ix_(rest, rest)] += away @ np.linalg.inv(D) @ away.T
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0.0


def test_runs_are_of_columns_that_exclude_each_other():
    starts = levels_file._runs(X.indices, X.indptr, X.shape[1])
    assert starts[0] and np.count_nonzero(starts) == NUMBERS + len(LEVELS)
    runs = np.cumsum(starts) - 1
    for k in range(len(X.indptr) - 1):
        own = runs[X.indices[X.indptr[k] : X.indptr[k + 1]]]
        assert len(set(own.tolist())) == len(own)


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
def test_it_finds_what_newton_finds(loss, fit_intercept):
    problem = blocked(loss, fit_intercept=fit_intercept)
    assert isinstance(select_solver(problem), TwoLevels)
    found = minimise(problem, TwoLevels(), tol=1e-8, seed=0).certificate
    whole = MarginObjective(as_design(X), Y, loss, fit_intercept=fit_intercept)
    exact = minimise(whole, Newton(dense=False), tol=1e-8).certificate
    assert found.ok and exact.ok, str(found)
    # Each bound holds for the other's point.
    assert found.dual <= exact.primal * (1 + 1e-12) and exact.dual <= found.primal * (1 + 1e-12)


# The last is nearly separable, and takes the quasi-Newton method a thousand.
@pytest.mark.parametrize("C, passes", [(1e-4, 4), (1.0, 16), (100.0, 100)])
def test_passes_are_few(C, passes):
    problem = blocked(C=C)
    assert minimise(problem, TwoLevels(Tuning(frequent=50)), tol=1e-6, seed=0).certificate.ok
    assert problem.n_passes <= passes


def test_the_same_bits_for_any_number_of_workers():
    thetas = [
        minimise(blocked(workers=workers, rows=400), TwoLevels(), tol=1e-6, seed=0).theta
        for workers in (1, 3)
    ]
    assert thetas[0].tobytes() == thetas[1].tobytes()


def test_weights_absent_columns_and_a_start():
    wide = sp.csr_matrix(sp.hstack([X, sp.csr_matrix((X.shape[0], 7))]))
    weight = np.random.default_rng(2).integers(0, 3, len(Y)).astype(float)
    problem = blocked(matrix=wide, weight=weight)
    first = minimise(problem, TwoLevels(), tol=1e-6, seed=0)
    assert first.certificate.ok and not first.theta[X.shape[1] : -1].any()
    again = blocked(matrix=wide, weight=weight)
    assert minimise(again, TwoLevels(), theta=first.theta, tol=1e-6, seed=0).certificate.ok
    assert again.n_passes <= 2


def test_one_pass_finds_the_diagonal_as_well():
    problem, other = blocked(), blocked()
    theta = np.random.default_rng(3).normal(size=problem.shape) / 9
    problem.look_twice(theta, diagonal=True)
    found = problem.hessian_diagonal(problem.curvature(problem.linear(theta)))
    assert problem.n_passes == 1
    expected = other.hessian_diagonal(other.curvature(other.linear(theta)))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        problem.account(theta)["gradient"], other.account(theta)["gradient"]
    )


# --- in memory ------------------------------------------------------------------------------------


def counted(C: float, levels: bool) -> tuple[float, int]:
    """The objective that Newton's method reaches, and how many products it takes."""

    class Counted(MarginObjective):
        products = 0

        def hessian_product(self, curvature, x):
            self.products += 1
            return super().hessian_product(curvature, x)

    problem = Counted(as_design(X), Y, LogLoss(), C=C)
    solution = minimise(problem, Newton(dense=False, levels=levels), tol=1e-8, max_iter=100)
    assert solution.certificate.ok, str(solution.certificate)
    return solution.certificate.primal, problem.products


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_products_are_fewer_with_two_levels(C):
    (primal, products), (other, many) = counted(C, levels=True), counted(C, levels=False)
    assert primal == pytest.approx(other, rel=2e-8)
    assert products < many / 2


def categories(n: int, d: int, each: int) -> MarginObjective:
    """Rows that have one level each of so many categories, few of whose levels are frequent."""
    rng = np.random.default_rng(0)
    levels = d // each
    columns = np.floor(levels ** rng.random((n, each))).astype(int) - 1 + levels * np.arange(each)
    matrix = sp.csr_matrix((np.ones(n * each), columns.ravel(), each * np.arange(n + 1)), (n, d))
    return MarginObjective(as_design(matrix), np.resize([-1.0, 1.0], n), LogLoss(), C=100.0)


def test_the_forecast_counts_the_products_of_long_rows():
    long, many = categories(300, 3000, 300), categories(100_000, 50_000, 10)
    # The levels save many products where rows have few entries, and are costly where rows are long.
    assert forecast.two_levels(long) > 3.0 * forecast.conjugate_gradients(long)
    assert forecast.two_levels(many) < forecast.conjugate_gradients(many)


def test_rows_that_never_settle_are_handed_over():
    hard = MarginObjective(as_design(X), Y, LogLoss(), C=1e4)
    cost = 0.7 * forecast.passes(hard, 1e-6)
    switching = Switching(Newton(dense=False, levels=True), cost)
    solution = minimise(hard, switching, tol=1e-6, max_iter=300, seed=0)
    assert solution.certificate.ok and solution.state.handed_over
    # It goes on from where dual descent ended, and no worse.
    left = hard.value(solution.state.left.theta)
    assert solution.certificate.primal <= left
    dense = MarginObjective(as_design(X[:, :9].toarray()), Y, LogLoss())
    with pytest.raises(TypeError, match="sparse rows"):
        Newton(levels=True).requires(dense)


def test_what_it_is_not_for():
    dense = blocked(matrix=X[:, : NUMBERS + 65].toarray())
    assert not isinstance(select_solver(dense), TwoLevels)
    assert not isinstance(select_solver(blocked(penalty=L1())), TwoLevels)
    with pytest.raises(TypeError, match="sparse sample"):
        TwoLevels().requires(dense)
    with pytest.raises(TypeError, match="smooth penalty of positive curvature"):
        TwoLevels().requires(blocked(penalty=L1()))
