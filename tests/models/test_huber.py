"""Huber regression: an estimator on a loss of the residual."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor as Peer

from census import objective
from separatrix import (
    HuberRegressor,
    LinearSVR,
    LogisticRegression,
    load_model,
    save_model,
    verify,
)


@pytest.fixture(scope="module")
def patients():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    y = y.copy()
    y[:10] = 5000.0
    return X, y


@pytest.mark.crossed
@pytest.mark.parametrize("alpha", [0.0, 1e-4, 10.0])
@pytest.mark.parametrize("epsilon", [1.1, 1.35, 5.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_is_the_peers(patients, alpha, epsilon, fit_intercept):
    X, y = patients
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"alpha": alpha, "epsilon": epsilon, "fit_intercept": fit_intercept}
    peer = Peer(max_iter=20_000, tol=1e-8, **options).fit(X, y)
    model = HuberRegressor(tol=1e-10, **options).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert_allclose(model.coef_, peer.coef_, rtol=1e-2, atol=0.05)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-3)
    assert_allclose(model.scale_, peer.scale_, rtol=1e-3)
    assert np.count_nonzero(model.outliers_ != peer.outliers_) <= 2
    found = verify(peer, X, y, tol=1e-4)
    assert found.ok
    assert_allclose(found.primal, _objective(peer, X, y), rtol=1e-9)


def _objective(model, X, y):
    """The objective as in scikit-learn's documentation."""
    z = np.abs(y - X @ model.coef_ - model.intercept_) / model.scale_
    e = model.epsilon
    H = np.where(z < e, z**2, 2 * e * z - e**2)
    return np.sum(model.scale_ * (1 + H)) + model.alpha * model.coef_ @ model.coef_


def test_columns_of_wild_scales_make_no_difference(patients):
    X, y = patients
    scales = 10.0 ** np.arange(-5, 5)
    plain = HuberRegressor(alpha=0.0).fit(X, y)
    scaled = HuberRegressor(alpha=0.0).fit(X * scales, y)
    assert plain.certificate_.ok
    assert scaled.certificate_.ok
    assert_allclose(scaled.coef_ * scales, plain.coef_, rtol=1e-4)


def test_another_unit_of_the_targets_is_another_unit_of_all(patients):
    X, y = patients
    model = HuberRegressor(alpha=0.0, tol=1e-10).fit(X, y)
    other = HuberRegressor(alpha=0.0, tol=1e-10).fit(X, 1e6 * y)
    assert_allclose(other.coef_, 1e6 * model.coef_, rtol=1e-6)
    assert_allclose(other.scale_, 1e6 * model.scale_, rtol=1e-6)


def test_targets_whose_squares_are_out_of_range_are_fitted(patients):
    X, y = patients
    model = HuberRegressor(alpha=0.0).fit(X, y)
    for size in (2.0**-700, 2.0**520, 2.0**900):
        found = HuberRegressor(alpha=0.0).fit(X, size * y)
        assert found.certificate_.ok, size
        assert_allclose(found.coef_ / size, model.coef_, rtol=1e-3)
        assert found.scale_ / size == pytest.approx(model.scale_, rel=1e-4)


def test_a_weight_is_as_many_rows(patients):
    X, y = patients
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = HuberRegressor(tol=1e-10).fit(X, y, weights)
    repeated = HuberRegressor(tol=1e-10).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert_allclose(weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-9)


def test_sparse_rows_and_files(patients, tmp_path):
    X, y = patients
    model = HuberRegressor().fit(sp.csr_array(X), y)
    assert_allclose(model.coef_, HuberRegressor().fit(X, y).coef_, rtol=1e-4, atol=1e-6)
    save_model(tmp_path / "m", model)
    again = load_model(tmp_path / "m").model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.outliers_, model.outliers_)
    assert verify(again, X, y).ok
    again.coef_ = again.coef_ + 1.0
    assert verify(again, X, y).status == "above_tol"


def test_a_start_from_the_fit_before_takes_fewer_steps(patients):
    X, y = patients
    model = HuberRegressor(warm_start=True).fit(X, y)
    steps = model.n_iter_
    assert model.fit(X, y).n_iter_ < steps


def _least_deviations(X, y):
    """Weights and an intercept of least absolute deviations, by linear programming."""
    n, d = X.shape
    A = np.hstack([X, np.ones((n, 1)), -np.eye(n), np.eye(n)])
    cost = np.r_[np.zeros(d + 1), np.ones(2 * n)]
    found = linprog(cost, A_eq=A, b_eq=y, bounds=[(None, None)] * (d + 1) + [(0, None)] * 2 * n)
    return found.x[:d], found.x[d]


def _is_certified(X, y, **options):
    """Whether a fit ends certified, and no better point is known where it may not be."""
    model = HuberRegressor(**options).fit(X, y)
    certificate = model.certificate_
    stated = objective(model, X, y)
    assert stated == pytest.approx(certificate.primal, rel=1e-9)
    other = copy(model)
    other.coef_, other.intercept_ = _least_deviations(X, y)
    for scale in (model.scale_, 1e-12, 1e-6, 1e-3):
        other.scale_ = scale
        assert certificate.dual <= objective(other, X, y)
        assert stated <= objective(other, X, y) * (1.0 + certificate.tol)
    return certificate.ok


def test_a_plane_that_fits_most_rows_exactly_is_certified():
    # The best scale is the least one there is.
    X = np.array([[0.369], [-0.165], [-0.256], [-0.31]])
    y = np.array([0.581, 3.854, 2.328, 1.247])
    assert _is_certified(X, y)
    assert _is_certified(X, y, tol=1e-9)
    rng = np.random.default_rng(0)
    for share, counts in ((0.05, (2, 4, 7)), (0.2, (3, 5)), (0.35, (2, 4, 7)), (0.5, (2,))):
        n = int(rng.integers(30, 50))
        X = np.hstack([np.eye(k)[rng.integers(k, size=n)] for k in counts])
        y = np.where(rng.random(n) < share, 1.0, -1.0)
        assert _is_certified(X, y), (share, counts)
        assert _is_certified(X, y, epsilon=1.0, alpha=0.1), (share, counts)
        sparse = HuberRegressor().fit(sp.csr_array(X), y)
        assert sparse.certificate_.ok, (share, counts)


def test_slopes_that_all_are_at_their_ends_are_balanced():
    X = np.linspace(-1.0, 1.0, 34)[:, None]
    y = np.where(np.arange(34) % 2 == 0, 1.0, -1.0) + 1e-3 * X[:, 0]
    assert HuberRegressor(epsilon=1.0, alpha=100.0).fit(X, y).certificate_.ok


def test_income_of_categories_is_certified(real_data):
    table = np.genfromtxt(real_data / "adult.csv", delimiter=",", dtype=str, max_rows=4000)[1:]
    levels = [np.unique(table[:, j], return_inverse=True)[1] for j in (1, 3, 5, 6, 7, 8, 9)]
    X = np.hstack([np.eye(codes.max() + 1)[codes] for codes in levels])
    y = np.where(np.char.find(table[:, -1], ">") >= 0, 1.0, -1.0)
    model = HuberRegressor().fit(X, y)
    assert model.certificate_.ok
    assert model.scale_ < 1e-4


def test_refusals(patients):
    X, y = patients
    for options, words in (
        ({"epsilon": 0.9}, "epsilon=0.9 must be a finite number of at least 1"),
        ({"alpha": -1.0}, "alpha=-1.0 must be a finite number of at least 0"),
        ({"max_iter": 0}, "max_iter=0 must be"),
    ):
        with pytest.raises(ValueError, match=words):
            HuberRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match="1d array"):
        HuberRegressor().fit(X, np.stack([y, y], axis=1))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        HuberRegressor(max_iter=1).fit(X, y)


def test_an_exact_fit_is_certified():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    for targets in (np.full(50, 3.0), rows @ [1.0, 2.0, 3.0]):
        for alpha in (0.0, 1e-4):
            model = HuberRegressor(alpha=alpha).fit(rows, targets)
            assert model.certificate_.status == "optimal", (targets[0], alpha)
            assert model.scale_ >= 4.5e-13 * np.abs(targets).max()
            assert alpha > 0.0 or not model.outliers_.any()


@pytest.mark.filterwarnings(
    "ignore:overflow encountered", "ignore:.*the intercept is not penalised"
)
def test_losses_that_weigh_more_than_float64_holds_are_refused(patients):
    X, y = patients
    for model, weight in (
        (HuberRegressor(), 1e307),
        (HuberRegressor(), 1e304),
        (HuberRegressor(alpha=0.0), 1e307),
        (HuberRegressor(alpha=1e-310), 1.0),
        (LinearSVR(), 1e307),
        (LogisticRegression(), 1e307),
    ):
        with pytest.raises(ValueError, match="weigh more than float64 can hold"):
            model.fit(X, y > 100.0, np.full(len(y), weight))
