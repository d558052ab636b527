"""The quasi-Newton method: what it does beyond reaching the tolerance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import select_solver
from separatrix.data.design import DenseDesign, as_design
from separatrix.losses import LogLoss, SquaredError, SquaredHinge
from separatrix.objectives.base import Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import Newton, QuasiNewton
from separatrix.solvers.driver import minimise
from separatrix.solvers.quasi_newton import Tuning

N, D = 6000, 20
SMOOTH = [LogLoss(), SquaredHinge(), SquaredError()]


def data(seed: int = 0, n: int = N, d: int = D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    y = np.where(X @ rng.normal(size=d) + 2 * rng.normal(size=n) > 0.5, 1.0, -1.0)
    return X, y


def problem(loss=None, form=np.ascontiguousarray, **options) -> MarginObjective:
    X, y = data()
    return MarginObjective(as_design(form(X)), y, loss or LogLoss(), **options)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_it_finds_what_newton_finds(loss, intercept: bool, form) -> None:
    objective = problem(loss, form, fit_intercept=intercept)
    exact = minimise(objective, Newton(), tol=1e-12)
    found = minimise(objective, QuasiNewton(), tol=1e-9, seed=0).certificate
    assert found.ok, str(found)
    # Each bound holds for the other's point.
    assert found.dual <= exact.certificate.primal * (1 + 1e-12)
    assert exact.certificate.dual <= found.primal * (1 + 1e-12)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_from_weak_to_strong_penalties(loss, C: float) -> None:
    certificate = minimise(problem(loss, C=C), QuasiNewton(), tol=1e-6, seed=0).certificate
    assert certificate.ok, str(certificate)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_columns_of_wild_scales(scale: float, C: float) -> None:
    X, y = data()
    X[:, ::2] *= scale
    # A level so rare that most samples miss it.
    X[:, 1] = 0.0
    X[:5, 1] = 30.0
    objective = MarginObjective(as_design(X), y, LogLoss(), C=C)
    certificate = minimise(objective, QuasiNewton(), tol=1e-6, seed=0).certificate
    assert certificate.ok, str(certificate)


def test_separable_rows_under_a_weak_penalty() -> None:
    X, y = data()
    y = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    objective = MarginObjective(as_design(X), y, LogLoss(), C=1e6)
    certificate = minimise(objective, QuasiNewton(), tol=1e-6, seed=0).certificate
    assert certificate.ok, str(certificate)


def test_weights_that_are_mostly_zero() -> None:
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(N) < 0.99, 0.0, rng.exponential(size=N))
    objective = problem(weights=weights)
    solution = minimise(objective, QuasiNewton(), tol=1e-9, seed=0)
    assert solution.certificate.ok, str(solution.certificate)
    rows = np.flatnonzero(weights)
    X, y = data()
    few = MarginObjective(as_design(X[rows]), y[rows], LogLoss(), weights=weights[rows])
    exact = minimise(few, Newton(), tol=1e-12).certificate.primal
    assert solution.certificate.primal == pytest.approx(exact, rel=1e-8)


def test_the_objective_never_rises() -> None:
    for loss in SMOOTH:
        trace = minimise(problem(loss), QuasiNewton(), tol=1e-10, record=True, seed=0).trace
        primal = np.array(trace.primal)
        assert np.all(np.diff(primal) <= 1e-13 * primal[:-1])


def test_it_goes_on_from_a_given_point() -> None:
    objective = problem()
    good = minimise(objective, Newton(), tol=1e-9).theta
    again = minimise(objective, QuasiNewton(), theta=good, tol=1e-8, seed=0)
    assert again.certificate.n_iter == 0
    far = 30.0 * np.random.default_rng(0).normal(size=good.shape)
    assert minimise(objective, QuasiNewton(), theta=far, tol=1e-8, seed=0).certificate.ok


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = (minimise(problem(), QuasiNewton(), seed=3).theta for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_it_needs_a_penalty_or_few_parameters() -> None:
    wide = as_design(sp.eye_array(3000, format="csr"))
    y = np.where(np.arange(3000) % 2, 1.0, -1.0)
    with pytest.raises(TypeError, match="penalty"):
        minimise(MarginObjective(wide, y, LogLoss(), penalty=NoPenalty()), QuasiNewton())


def many_columns() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 120))
    return X, np.where(X @ rng.normal(size=120) + 12 * rng.normal(size=6000) > 0.0, 1.0, -1.0)


def unpenalised(X: np.ndarray, y: np.ndarray) -> MarginObjective:
    return MarginObjective(as_design(X), y, LogLoss(), penalty=NoPenalty())


def test_without_a_penalty_the_hessian_of_all_rows_is_formed_near_the_end(monkeypatch) -> None:
    X, y = many_columns()
    formed: list[int] = []
    gram = DenseDesign.gram
    monkeypatch.setattr(
        DenseDesign, "gram", lambda *of: formed.append(of[0].n_samples) or gram(*of)
    )
    objective = unpenalised(X, y)
    solver = select_solver(objective)
    assert isinstance(solver, QuasiNewton)
    found = minimise(objective, solver, tol=1e-6, seed=0).certificate
    assert found.ok, str(found)
    assert formed.count(len(X)) <= 2
    exact = minimise(objective, Newton(), tol=1e-9).certificate
    assert found.dual <= exact.primal * (1 + 1e-12)
    assert exact.dual <= found.primal * (1 + 1e-12)


def test_without_a_penalty_a_sample_that_lacks_rows_is_not_believed() -> None:
    X, y = many_columns()
    # Six rows of a level, of both classes: most samples have those of one.
    X[:, 0] = 0.0
    X[[0, 1000, 2000, 3000, 4000, 5000], 0] = 1.0
    y[[0, 1000, 2000, 3000, 4000, 5000]] = [1.0, 1.0, 1.0, -1.0, 1.0, 1.0]
    found = minimise(unpenalised(X, y), QuasiNewton(), tol=1e-6, seed=0).certificate
    assert found.ok, str(found)
    assert found.n_iter <= 12


@pytest.mark.parametrize("flips", [0, 300])
def test_without_a_penalty_it_finds_that_the_loss_falls_for_ever(flips: int) -> None:
    X, _ = many_columns()
    y = np.where(X[:, 1] > 0.0, 1.0, -1.0)
    y[:flips] = -y[:flips]
    X[:, 0] = 0.0
    X[np.flatnonzero(y > 0.0)[:500], 0] = 1.0
    found = minimise(unpenalised(X, y), QuasiNewton(), tol=1e-6, seed=0).certificate
    assert found.status == ("quasi_separable" if flips else "separable")


def test_no_sample_is_taken_where_factorisations_take_longer_than_gram_matrices() -> None:
    # Ten entries in each of 40,000 rows: the Gram matrix of 500 columns takes as long as its
    # factorisation, which a fifth of the rows would not make cheaper.
    rng = np.random.default_rng(0)
    n, d, entries = 40_000, 500, 10
    columns = np.sort(rng.integers(d // entries, size=(n, entries)), axis=1)
    columns += np.arange(entries) * (d // entries)
    indptr = np.arange(0, n * entries + 1, entries)
    X = sp.csr_array((np.ones(n * entries), columns.ravel(), indptr), shape=(n, d))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    assert not QuasiNewton().pays(MarginObjective(as_design(X), y, LogLoss()))
    # A hundred entries in each: the Gram matrix takes forty times as long.
    dense = rng.normal(size=(n // 4, 100))
    assert QuasiNewton().pays(MarginObjective(as_design(dense), y[: n // 4], LogLoss()))


def test_it_is_chosen_where_a_sample_leaves_rows_out() -> None:
    X, y = data(n=20_000, d=40)
    for loss in SMOOTH:
        assert isinstance(select_solver(MarginObjective(as_design(X), y, loss)), QuasiNewton)
    # Compiled steps are shorter, where they hold the rows.
    assert isinstance(select_solver(problem()), Newton)
    assert isinstance(select_solver(problem(penalty=NoPenalty())), Newton)
    X, y = data(n=500)
    assert isinstance(select_solver(MarginObjective(as_design(X), y, LogLoss())), Newton)
    X, y = data(n=1000, d=200)
    few = MarginObjective(as_design(X), y, LogLoss(), C=1e3)
    # Without rows to leave out the forecast decides.
    assert "quasi-newton" in select_solver(few).forecast


def test_it_is_chosen_for_several_outputs_where_columns_are_collinear() -> None:
    # Newton's Hessians and products are dear there, and a sample is not.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 40)) + rng.normal(size=(12_000, 1))
    design, codes = as_design(X), np.argmax(X[:, :5] + rng.normal(size=(12_000, 5)), axis=1)
    primal = []
    apart = as_design(rng.normal(size=(12_000, 40)))
    for rows, method in ((design, QuasiNewton), (apart, Newton)):
        assert isinstance(select_solver(SoftmaxObjective(rows, codes, 5)), method)
    for solver in (QuasiNewton(), Newton()):
        found = minimise(SoftmaxObjective(design, codes, 5), solver, tol=1e-8, max_iter=100)
        assert found.certificate.ok
        primal.append(found.certificate.primal)
    assert primal[0] == pytest.approx(primal[1], rel=2e-8)
    assert isinstance(select_solver(SoftmaxObjective(design, codes, 5, NoPenalty())), Newton)
    few = SoftmaxObjective(as_design(X[:3000, :4]), codes[:3000], 5, C=10.0)
    assert isinstance(select_solver(few), Newton)


# --- one pass ------------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("form", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 63, 130, 5001])
def test_one_pass_tells_what_products_tell(loss, form, kind, n: int) -> None:
    X, y = data(n=n, d=7)
    rng = np.random.default_rng(2)
    objective = MarginObjective(
        as_design(form(X.astype(kind))), y, loss, C=0.3, weights=rng.integers(0, 3, n) + 0.5
    )
    theta = 3.0 * rng.normal(size=8)
    found, plain = objective.evaluate(theta), Objective.evaluate(objective, theta)
    assert found.loss == pytest.approx(plain.loss, rel=1e-14)
    assert found.paired == pytest.approx(plain.paired, rel=1e-11)
    np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.adjoint, plain.adjoint, rtol=1e-11, atol=1e-11 * n)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "classes"), [(1, 3, 2), (203, 37, 3), (700, 16, 25)])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_pass_over_several_scores(kind, n: int, d: int, classes: int, intercept: bool) -> None:
    rng = np.random.default_rng(n)
    X, codes = rng.normal(size=(n, d)).astype(kind), rng.integers(0, classes, n)
    objective = SoftmaxObjective(
        *(as_design(X), codes, classes),
        weights=rng.integers(0, 3, n).astype(float),
        fit_intercept=intercept,
    )
    theta, direction = 2.0 * rng.normal(size=(2, *objective.shape))
    found, plain = objective.evaluate(theta), Objective.evaluate(objective, theta)
    assert found.loss == pytest.approx(plain.loss, rel=1e-13)
    assert found.paired == pytest.approx(plain.paired, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(found.adjoint, plain.adjoint, rtol=1e-10, atol=1e-11)
    curvature = objective.curvature(found.scores)
    np.testing.assert_allclose(
        objective.hessian_product(curvature, direction),
        Objective.hessian_product(objective, curvature, direction),
        rtol=1e-10,
        atol=1e-11,
    )


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.parametrize("t", [0.0, 0.3, -2.0])
def test_a_line_is_that_of_the_loss_and_its_slopes(loss, weights, t: float) -> None:
    rng = np.random.default_rng(0)
    if weights is not None:
        weights = rng.choice([0.0, 1.0, 5.0], N)
    objective = problem(loss, weights=weights)
    scores, along = rng.normal(size=(2, N))
    for size in (1.0, 1e160):  # the square of which overflows
        with np.errstate(over="ignore", invalid="ignore"):
            found = objective.along_line(size * scores, size * along, t)
            plain = Objective.along_line(objective, size * scores, size * along, t)
        np.testing.assert_allclose(found, plain, rtol=1e-11)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_steps_become_newtons_where_a_hessian_is_cheap(loss, intercept: bool) -> None:
    # Columns of which some hardly move the scores: along these the gradient is long for long.
    X, y = data()
    X *= (1.0 + np.arange(D)) ** -2.0
    objective = MarginObjective(as_design(X), y, loss, C=100.0, fit_intercept=intercept)
    optimum = minimise(objective, Newton(), tol=1e-12).certificate.primal
    solution = minimise(objective, QuasiNewton(), tol=1e-6, seed=0)
    certificate = solution.certificate
    assert certificate.ok and solution.state.exact, str(certificate)
    assert certificate.dual <= optimum * (1.0 + 1e-12)
    never_newton = QuasiNewton(Tuning(closer=np.inf, far=np.inf))
    plain = minimise(objective, never_newton, tol=1e-6, seed=0)
    assert plain.certificate.ok and not plain.state.exact
    assert certificate.n_iter <= plain.certificate.n_iter


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_the_bound_from_a_pass_is_that_from_products(loss) -> None:
    objective = problem(loss, fit_intercept=False)
    for size in (0.0, 0.01, 1.0):
        theta = size * np.random.default_rng(0).normal(size=D)
        known, plain = (
            objective.bound_of(theta, objective.evaluate(theta)),
            objective.bound(theta),
        )
        assert known.primal == pytest.approx(plain.primal, rel=1e-14)
        assert known.dual == pytest.approx(plain.dual, rel=1e-10, abs=1e-9 * plain.primal)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_product_with_the_hessian_in_one_pass_is_that_of_two(fit_intercept) -> None:
    X, y = data(n=12_000)
    v = np.random.default_rng(0).normal(size=D + fit_intercept)
    for rows in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_matrix(X)):
        objective = MarginObjective(as_design(rows), y, LogLoss(), fit_intercept=fit_intercept)
        assert objective.in_one_pass
        curvature = objective.curvature(objective.linear(0.1 * v))
        plain = Objective.hessian_product(objective, curvature, v)
        np.testing.assert_allclose(objective.hessian_product(curvature, v), plain, rtol=1e-12)


def test_scores_that_overflow_are_not_taken_for_a_loss_of_zero() -> None:
    X, y = data(n=200)
    objective = MarginObjective(as_design(1e200 * X), y, LogLoss())
    with np.errstate(all="ignore"):
        found = objective.evaluate(np.full(D + 1, 1e200))
    assert not found.loss < 1e100


def test_no_hessian_is_formed_where_its_diagonal_suffices(monkeypatch) -> None:
    """A Hessian of 250 columns costs more than the dozen passes that independent columns take."""
    formed: list[int] = []
    hessian = MarginObjective.hessian
    monkeypatch.setattr(MarginObjective, "hessian", lambda *of: formed.append(1) or hessian(*of))
    rng = np.random.default_rng(3)
    n, d = 1500, 250
    X = rng.normal(size=(n, d))
    near = np.linalg.cholesky(0.95 ** np.abs(np.subtract.outer(range(d), range(d))))
    counts = []
    for rows in (X, X @ near.T):
        y = np.where(rows @ rng.normal(size=d) + 8 * rng.normal(size=n) > 0, 1.0, -1.0)
        objective = MarginObjective(as_design(rows), y, LogLoss(), C=0.1)
        formed.clear()
        certificate = minimise(objective, QuasiNewton(), tol=1e-6, seed=0).certificate
        assert certificate.ok, str(certificate)
        counts.append(len(formed))
    # Columns that go together are worth one, which is formed once their rate is seen.
    assert counts == [0, 1]


def test_after_a_sample_no_hessian_is_formed_of_all_rows(monkeypatch) -> None:
    """With weak losses of rows that have a mean, steps without a Hessian are few."""
    formed: list[int] = []
    hessian = MarginObjective.hessian

    def noted(self, *of):
        formed.append(self.design.n_samples)
        return hessian(self, *of)

    monkeypatch.setattr(MarginObjective, "hessian", noted)
    rng = np.random.default_rng(0)
    n, d = 20_000, 300
    X = (1.0 + np.arange(d)) ** -0.5 * rng.normal(size=(n, d)) + 0.2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ rng.normal(size=d)
    scores = (scores - scores.mean()) / scores.std()
    y = np.where(scores + rng.normal(size=n) > 0.0, 1.0, -1.0)
    steps = []
    for C, intercept in itertools.product((0.01, 1.0), (False, True)):
        objective = MarginObjective(as_design(X), y, LogLoss(), C=C, fit_intercept=intercept)
        certificate = minimise(objective, QuasiNewton(), tol=1e-4, seed=0).certificate
        assert certificate.ok, str(certificate)
        steps.append(certificate.n_iter)
    assert n not in formed
    # Without what the rows have in common they are 4, 6, 7 and 5.
    assert max(steps) <= 3, steps
