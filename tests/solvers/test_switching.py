"""Dual descent, and the method that takes over where it is slow."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import select_solver
from separatrix.data.design import as_design
from separatrix.losses import Hinge, LogLoss, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import (
    AugmentedLagrangian,
    DualDescent,
    InteriorPoint,
    Newton,
    QuasiNewton,
    Switching,
    forecast,
)
from separatrix.solvers.driver import minimise


def problem(loss, C=1.0, n=400, d=30, decay=0.0, fit_intercept=True) -> MarginObjective:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (1.0 + np.arange(d)) ** -decay
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return MarginObjective(as_design(X), y, loss, C=C, fit_intercept=fit_intercept)


def second_for(loss):
    return Newton() if loss.smooth else InteriorPoint()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
def test_the_second_takes_over_where_passes_are_slow(loss, fit_intercept) -> None:
    # Columns of shrinking size under a weak penalty: thousands of passes, or a few Hessians.
    slow = problem(loss, C=1e4, decay=1.5, fit_intercept=fit_intercept)
    switching = Switching(second_for(loss), 50.0)
    solution = minimise(slow, switching, tol=1e-8, max_iter=2000, seed=0)
    assert solution.certificate.ok, str(solution.certificate)
    assert solution.state.handed_over
    assert solution.certificate.n_iter < 500
    alone = minimise(slow, second_for(loss), tol=1e-8, max_iter=2000, seed=0)
    assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
def test_passes_that_settle_soon_are_left_alone(loss) -> None:
    quick = problem(loss, C=0.01, fit_intercept=False)
    relayed = minimise(quick, Switching(second_for(loss), 200.0), tol=1e-6, max_iter=1000, seed=0)
    alone = minimise(quick, DualDescent(), tol=1e-6, max_iter=1000, seed=0)
    assert not relayed.state.handed_over
    assert np.array_equal(relayed.theta, alone.theta)


def test_it_is_chosen_where_hessians_are_dear_but_affordable() -> None:
    for loss in (Hinge(), LogLoss()):
        wide = problem(loss, n=600, d=500)
        chosen = select_solver(wide)
        assert isinstance(chosen, Switching)
        assert isinstance(chosen.second, type(second_for(loss)))
        narrow = problem(loss, n=600, d=5)
        assert isinstance(select_solver(narrow), Newton if loss.smooth else AugmentedLagrangian)


def test_dense_rows_with_many_columns_do_not_make_thousands_of_passes() -> None:
    # The rows are so long beside the curvature of their losses that no pass is worth a try.
    dense = problem(LogLoss(), n=1700, d=820)
    found = minimise(dense, select_solver(dense), tol=1e-6, max_iter=300, seed=0)
    assert found.certificate.ok
    assert found.state.left is None


def test_the_forecast_and_the_methods_are_recorded_and_printed(capsys) -> None:
    slow = problem(Hinge(), C=100.0, n=2500, d=260)
    chosen = select_solver(slow)
    found = minimise(slow, chosen, tol=1e-6, max_iter=1000, seed=0, record=True, verbose=1)
    trace = found.trace
    assert list(trace.forecast) == ["dual", "augmented-lagrangian", "interior-point"]
    assert trace.forecast["interior-point"] == chosen.cost
    (start, first), (later, second) = trace.methods
    assert (start, first, second) == (0, "dual", "interior-point")
    # Dual descent is left as soon as a few passes show that it is behind.
    assert 5 <= later < 0.3 * chosen.cost
    printed = capsys.readouterr().err
    assert "dual begins; forecast in passes over the rows" in printed
    assert "interior-point takes over" in printed
    plain = minimise(slow, select_solver(slow), tol=1e-6, max_iter=1000, seed=0)
    np.testing.assert_array_equal(plain.theta, found.theta)


def test_the_tolerance_decides_how_far_there_is_to_go() -> None:
    medium = problem(LogLoss(), C=1.0, n=600, d=100, fit_intercept=False)
    for tol, handed_over in ((0.5, False), (1e-12, True)):
        found = minimise(medium, Switching(Newton(), 60.0), tol=tol, max_iter=1000, seed=0)
        assert found.state.handed_over is handed_over, tol


def test_a_time_limit_holds_in_both_halves() -> None:
    slow = problem(Hinge(), C=1e6, decay=3.0)
    for limit in (0.0, 0.05):
        certificate = minimise(
            slow, Switching(AugmentedLagrangian(), 50.0), tol=0.0, time_limit=limit
        )
        assert certificate.certificate.status in ("time_limit", "precision_limit")


def test_second_order_steps_are_not_underrated_where_few_rows_stay_in_play() -> None:
    # Fewer rows than columns have a curvature at the optimum: Newton's steps change which, and
    # there are the more of them the weaker the penalty; passes settle after two hundred.
    costs = []
    for C in (100.0, 1e4):
        few = problem(SquaredHinge(), C=C, n=320, d=200)
        chosen = select_solver(few)
        costs.append(chosen.cost)
        found = minimise(few, chosen, tol=1e-6, max_iter=400, seed=0)
        assert found.certificate.ok and not found.state.handed_over, C
    assert costs[1] > 2.0 * costs[0]


def test_passes_tell_whether_the_rows_in_play_change() -> None:
    # There are three and a half rows a column.  With noisy labels they keep a curvature: a few
    # Hessians do where thousands of passes would be needed.  With clean labels they leave one after
    # another.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 200))
    scores = X @ rng.normal(size=200) / np.sqrt(200.0)
    took_over = []
    for noise in (1.0, 0.02):
        y = np.where(scores + noise * rng.logistic(size=700) > 0, 1.0, -1.0)
        rows = MarginObjective(as_design(X), y, SquaredHinge(), C=1e3)
        chosen = select_solver(rows)
        assert chosen.calm < 0.5 * chosen.cost
        found = minimise(rows, chosen, tol=1e-6, max_iter=1000, seed=0, record=True)
        assert found.certificate.ok, noise
        took_over.append(found.trace.methods[-1][0])
    # With clean labels dual descent goes all the way.
    assert 0 < took_over[0] < 20 and took_over[1] == 0, took_over


def test_forecasts_stand_where_squares_overflow() -> None:
    rng = np.random.default_rng(0)
    X = 1e160 * rng.normal(size=(300, 20))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    none = np.r_[0.0, np.ones(299)]
    with np.errstate(over="ignore"):
        for loss in (LogLoss(), SquaredHinge()):
            assert forecast.passes(MarginObjective(as_design(X), y, loss), 1e-6) == np.inf
        # A row without weight says nothing, however long it is.
        X[1:] = rng.normal(size=(299, 20))
        one = MarginObjective(as_design(X), y, LogLoss(), weights=none)
        other = MarginObjective(as_design(X[1:]), y[1:], LogLoss())
        assert forecast.passes(one, 1e-6) == pytest.approx(forecast.passes(other, 1e-6), rel=0.01)


def test_products_are_forecast_where_curvature_falls_as_margins_grow() -> None:
    # Sparse rows that are nearly orthogonal: products to a gap of 1e-6, at every strength.
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 900), density=0.02, rng=rng, format="csr")
    X /= np.sqrt(X.multiply(X).sum(axis=1))[:, None]
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    for C in (1.0, 1e2, 1e4, 1e8):
        rows = MarginObjective(as_design(X.tocsr()), y, LogLoss(), C=C, fit_intercept=False)
        counted = copy(rows)
        products = 0

        def product(curvature, p, of=rows):
            nonlocal products
            products += 1
            return of.hessian_product(curvature, p)

        counted.hessian_product = product
        found = minimise(counted, Newton(dense=False), tol=1e-6, max_iter=100)
        assert found.certificate.ok and found.certificate.n_iter < 25, C
        evaluations = products + found.certificate.n_iter + 1
        expected = forecast.conjugate_gradients(rows) / (6e4 + 30.0 * 300 + 1.9 * X.nnz)
        assert evaluations / 3.0 <= expected <= 3.0 * evaluations, (C, expected, evaluations)


def test_products_of_frequent_and_rare_words_are_forecast() -> None:
    # The common words are one direction in which all rows are long; it is the longer the more rows.
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1.0, 4001.0)
    for n, C in ((500, 1.0), (4000, 1.0), (4000, 30.0)):
        at = np.repeat(np.arange(n), 40), rng.choice(4000, 40 * n, p=share / share.sum())
        X = sp.csr_array((rng.exponential(size=40 * n), at), shape=(n, 4000))
        X = (X / np.sqrt(X.multiply(X).sum(axis=1))[:, None]).tocsr()
        scores = X @ rng.normal(size=4000)
        y = np.where(scores + scores.std() * rng.normal(size=n) > 0, 1.0, -1.0)
        rows = MarginObjective(as_design(X), y, LogLoss(), C=C, fit_intercept=False)
        products = products_of(rows)
        expected = forecast._products(rows)
        assert expected / 2.0 <= products <= 2.0 * expected, (n, C, expected, products)


def products_of(rows: MarginObjective) -> int:
    """The products that Newton's method takes to a gap of 1e-6."""
    counted, products = copy(rows), []

    def product(curvature, p):
        products.append(1)
        return rows.hessian_product(curvature, p)

    counted.hessian_product = product
    assert minimise(counted, Newton(dense=False), tol=1e-6, max_iter=100).certificate.ok
    return len(products)


def test_collinear_columns_take_more_products_and_no_more_hessians() -> None:
    # Twenty factors and a little noise take several times as many products as independent columns;
    # a Hessian serves either for many steps.
    rng = np.random.default_rng(0)
    free = rng.normal(size=(2000, 500))
    factors = rng.normal(size=(2000, 20)) @ rng.normal(size=(20, 500)) + 0.5 * free
    for X in (free, factors):
        scores = X[:, :5].sum(axis=1)
        y = np.where(scores + scores.std() * rng.normal(size=2000) > 0, 1.0, -1.0)
        rows = MarginObjective(as_design(X), y, LogLoss())
        assert forecast.quasi_newton(rows) < forecast.conjugate_gradients(rows)
        products, expected = products_of(rows), forecast._products(rows)
        assert expected / 3.0 <= products <= 3.0 * expected, (expected, products)


def test_extrapolations_count_as_work() -> None:
    # Eight passes are made without; each of the others is preceded by one.
    medium = problem(LogLoss(), n=300, d=60, fit_intercept=False)
    found = minimise(medium, Switching(Newton(), 1e6), tol=0.0, max_iter=20, seed=0)
    each = forecast.extrapolation(medium) / forecast.visits(medium)
    assert found.state.work == pytest.approx(20 + 12 * each)


@pytest.mark.parametrize("loss", [SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
def test_nobody_goes_on_where_nothing_is_left_for_the_second(loss) -> None:
    # Weights of nearly zero separate classes in huge columns, and the objective vanishes.
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 30)
    X = 1e20 * (rng.normal(size=(60, 3)) + 4.0 * y[:, None])
    far = MarginObjective(as_design(X), y, loss, C=1.0)
    for second in (Newton(), QuasiNewton()):
        found = minimise(far, Switching(second, 0.0), max_iter=100, seed=0)
        alone = minimise(far, second, max_iter=100, seed=0)
        assert found.state.handed_over
        assert found.certificate.status == alone.certificate.status
        assert found.certificate.dual <= alone.certificate.primal


def test_the_method_follows_the_strength_of_the_losses() -> None:
    # Under a strong penalty a few products do; Hessians and passes of the dual would be dear.
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 1500), density=0.02, rng=rng, format="csr").tocsr()
    y = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    weak = MarginObjective(as_design(X), y, LogLoss(), C=1e-3)
    assert forecast.conjugate_gradients(weak) < 0.1 * forecast.newton(weak)
    chosen = select_solver(weak)
    assert not isinstance(chosen, Switching)
    # Rows whose multipliers are at an end lessen the steps of Newton's method: of many rows with
    # few columns, whose Hessian costs less than a pass, it takes the least.
    X = rng.normal(size=(20_000, 12))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=20_000) > 0, 1.0, -1.0)
    assert type(select_solver(MarginObjective(as_design(X), y, LogLoss()))) is QuasiNewton
    tall = select_solver(MarginObjective(as_design(X), y, SquaredHinge()))
    assert type(tall) is Newton


def test_a_hinge_on_many_rows_begins_as_its_strength_favours() -> None:
    # Under a strong penalty most multipliers go to an end of their range in a few passes; under a
    # weak one there are hundreds of passes, and most rows are out of play from a sample on.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 10))
    y = np.where(X[:, 0] + rng.normal(size=60_000) > 0, 1.0, -1.0)
    strong, weak = (
        MarginObjective(as_design(X), y, Hinge(), C=C, fit_intercept=False) for C in (1e-4, 1.0)
    )
    assert forecast.passes(strong, 1e-6) < 10.0 < 50.0 < forecast.passes(weak, 1e-6)
    # With an intercept the multipliers have to balance besides.
    other = MarginObjective(as_design(X), y, Hinge(), C=1e-4)
    assert forecast.passes(other, 1e-6) > forecast.passes(strong, 1e-6)
    assert isinstance(select_solver(strong), Switching)
    assert type(select_solver(weak)) is AugmentedLagrangian


def test_passes_do_where_rows_are_few_and_losses_have_a_kink() -> None:
    # Where there are as many rows as columns, nearly all rows can reach their margins: dual descent
    # takes some hundred passes at any strength, and the augmented Lagrangian ever more steps.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 400))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, 1.0, -1.0)
    for C in (0.01, 1.0, 100.0):
        rows = MarginObjective(as_design(X), y, Hinge(), C=C)
        found = minimise(rows, DualDescent(), tol=1e-6, max_iter=2000, seed=0)
        assert found.certificate.ok and found.certificate.n_iter < 300
        expected = forecast.passes(rows, 1e-6)
        assert found.certificate.n_iter / 4.0 <= expected <= 4.0 * found.certificate.n_iter
        assert expected * forecast.visits(rows) < forecast.augmented_lagrangian(rows)
