"""Regression with the losses and penalties of stochastic gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import Ridge, SGDClassifier, SGDRegressor, verify
from separatrix.losses import Hinge, Huber

LOSSES = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
PENALTIES = ["l2", "l1", "elasticnet"]


def data(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.r_[2.0, -1.0, np.zeros(d - 2)] + 3.0 + 0.3 * rng.standard_t(3, size=n)
    return X, y


def objective(model, X, y, s=None):
    """Written out again, from the formulas of scikit-learn's user guide."""
    r = y - X @ model.coef_ - model.intercept_[0]
    size, e = np.abs(r), model.epsilon
    loss = {
        "squared_error": 0.5 * r**2,
        "huber": np.where(size <= e, 0.5 * r**2, e * size - 0.5 * e**2),
        "epsilon_insensitive": np.maximum(0.0, size - e),
        "squared_epsilon_insensitive": np.maximum(0.0, size - e) ** 2,
    }[model.loss]
    w = model.coef_
    share = {"l2": 0.0, "l1": 1.0, "elasticnet": model.l1_ratio}[model.penalty]
    penalty = share * np.abs(w).sum() + (1.0 - share) * 0.5 * (w @ w)
    weights = np.ones(len(y)) if s is None else s
    return (weights @ loss) / weights.sum() + model.alpha * penalty


@parametrize_with_checks([SGDRegressor()])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_certified_optimum_that_no_step_from_it_betters(loss, penalty):
    X, y = data()
    model = SGDRegressor(loss, penalty=penalty, alpha=0.05, tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    best = objective(model, X, y)
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(15):
            other = SGDRegressor(loss, penalty=penalty, alpha=0.05)
            other.coef_ = model.coef_ + size * rng.standard_normal(6)
            other.intercept_ = model.intercept_ + size * rng.standard_normal(1)
            assert objective(other, X, y) >= best * (1.0 - 1e-8)
    passes = linear_model.SGDRegressor(
        loss=loss, penalty=penalty, alpha=0.05, tol=None, eta0=0.1, max_iter=300, random_state=0
    ).fit(X, y)
    found = objective(passes, X, y)
    judged = verify(passes, X, y)
    assert judged.primal == pytest.approx(found, rel=1e-9)
    assert judged.dual <= best * (1.0 + 1e-8)
    assert best <= found * (1.0 + 1e-8) and best == pytest.approx(found, rel=0.02)


def test_weights_of_rows_are_copies_of_them():
    X, y = data(40)
    s = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    one = SGDRegressor("huber", tol=1e-9).fit(X, y, sample_weight=s)
    other = SGDRegressor("huber", tol=1e-9).fit(
        np.repeat(X, s.astype(int), axis=0), np.repeat(y, s.astype(int))
    )
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-5)
    assert verify(one, X, y, sample_weight=s).ok


def test_sparse_rows_and_starts_and_sparse_weights():
    X, y = data()
    model = SGDRegressor(penalty="l1", alpha=0.1).fit(sp.csr_matrix(X), y)
    assert model.intercept_.shape == (1,) and np.any(model.coef_ == 0.0)
    again = SGDRegressor(penalty="l1", alpha=0.1).fit(
        X, y, coef_init=model.coef_, intercept_init=model.intercept_
    )
    assert again.certificate_.ok and again.n_iter_ <= model.n_iter_
    told = model.predict(X)
    assert sp.issparse(model.sparsify().coef_) and model.predict(X) == pytest.approx(told)
    assert model.densify().coef_.ndim in (1, 2) and model.predict(X) == pytest.approx(told)
    assert SGDRegressor(tol=None).fit(X, y).certificate_.relative_gap <= 1e-9


# --- passes ---------------------------------------------------------------------------------------


def slope(loss, r, e):
    return {
        "squared_error": r,
        "huber": np.clip(r, -e, e),
        "epsilon_insensitive": float(np.sign(r) * (abs(r) > e)),
        "squared_epsilon_insensitive": 2.0 * np.sign(r) * max(abs(r) - e, 0.0),
    }[loss]


@pytest.mark.crossed
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", [False, True])
def test_a_pass_is_the_steps_of_the_formula(loss, average, epsilon):
    X, y = data(30, 3)
    if loss == "huber" and epsilon == 0.0:
        epsilon = 1.5
    model = SGDRegressor(
        loss, alpha=0.02, epsilon=epsilon, shuffle=False, average=average, eta0=0.05
    )
    w, b, k, points = np.zeros(3), 0.0, 0, []
    for half in (slice(0, 10), slice(10, 30)):
        model.partial_fit(X[half], y[half])
        for x, t in zip(X[half], y[half], strict=True):
            k += 1
            eta = 0.05 / k**0.25
            step = eta * slope(loss, t - x @ w - b, epsilon)
            w, b = (1.0 - eta * 0.02) * w + step * x, b + step
            points.append(np.r_[w, b])
    expected = np.mean(points, axis=0) if average else points[-1]
    found = np.r_[model.coef_, model.intercept_]
    assert found == pytest.approx(expected, rel=1e-9)
    assert model.n_steps_ == 30 and model.t_ == 31 and model.certificate_.status == "above_tol"


def test_passes_over_sparse_rows_are_the_same():
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (
        SGDRegressor(random_state=3, average=True).partial_fit(rows, y)
        for rows in (X, sp.csr_matrix(X))
    )
    assert dense.coef_ == pytest.approx(sparse.coef_, rel=1e-12)


def test_passes_come_close_to_the_optimum():
    X, y = data(2000)
    model = SGDRegressor(alpha=1e-3, average=True, random_state=0)
    for _ in range(20):
        model.partial_fit(X, y)
    best = SGDRegressor(alpha=1e-3).fit(X, y)
    assert objective(model, X, y) <= 1.01 * objective(best, X, y)
    assert best.coef_ == pytest.approx(Ridge(alpha=1e-3 * 2000).fit(X, y).coef_, abs=1e-3)


def test_rates_that_are_too_large_are_told():
    X, y = data()
    model = SGDRegressor(eta0=1e-3).partial_fit(X, y)
    kept = model.coef_.copy()
    model.set_params(learning_rate="constant", eta0=1e9)
    with pytest.warns(ConvergenceWarning, match="non_finite"):
        model.partial_fit(X, y)
    assert np.array_equal(model.coef_, kept)


def test_classes_by_a_loss_of_regression_in_passes():
    X, y = data(400)
    side = y > 3.0
    model = SGDClassifier("huber", random_state=0)
    for _ in range(5):
        model.partial_fit(X, side, classes=[False, True])
    assert model.score(X, side) > 0.9
    assert SGDClassifier("squared_epsilon_insensitive", alpha=0.1).fit(X, side).score(X, side) > 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, "loss='hinge' is not known; choose one of 'squared_error', 'huber'"),
        ({"loss": Hinge()}, "is a loss for classes; give a regression loss"),
        ({"penalty": "l3"}, "penalty='l3' is not known"),
        ({"alpha": -1}, "alpha=-1 must be a finite number of at least 0."),
        ({"l1_ratio": 2}, "l1_ratio=2 must be a number from 0 to 1."),
        ({"loss": "huber", "epsilon": 0.0}, "epsilon=0.0 must be a finite number greater than 0."),
        ({"early_stopping": True}, "early_stopping=True is not supported: a fit ends at"),
        ({"learning_rate": "pa1"}, "learning_rate='pa1' is the passive-aggressive algorithm"),
        ({"eta0": 0}, "eta0=0 must be a finite number greater than 0."),
        ({"average": -1}, "average=-1 must be a finite whole number of at least 0."),
        ({"tol": -1}, "tol=-1 must be a finite number of at least 0."),
        ({"max_iter": 0}, "max_iter=0 must be a finite whole number of at least 1."),
    ],
)
def test_bad_parameters_in_one_sentence(options, words):
    with pytest.raises(ValueError) as caught:
        SGDRegressor(**options).fit(*data())
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_what_passes_do_not_take():
    X, y = data()
    with pytest.raises(ValueError, match="do not make weights exactly zero"):
        SGDRegressor(penalty="l1").partial_fit(X, y)
    assert SGDRegressor(Huber(0.5)).fit(X, y).certificate_.ok
