"""Least squares with weights that are not negative, against enumeration and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn import linear_model

from separatrix import LinearRegression, Ridge, RidgeClassifier, verify
from separatrix.closed_form.least_squares import certify_least_squares
from separatrix.closed_form.nonnegative import solve_nonnegative
from separatrix.data.design import as_design


def data(n=60, d=5, m=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return X, X @ rng.standard_normal((d, m)) + 0.5 * rng.standard_normal((n, m)) + 2.0


def by_enumeration(X, y, s, ridge, intercept):
    """The best over all sets of columns whose least squares have no negative weight."""
    n, d = X.shape
    best = np.inf
    for size in range(d + 1):
        for used in itertools.combinations(range(d), size):
            rows = X[:, used]
            if intercept:
                rows = np.column_stack([rows, np.ones(n)])
            root = np.sqrt(s)[:, None]
            penalty = np.sqrt(ridge) * np.eye(rows.shape[1])[:size]
            left = np.vstack([root * rows, penalty])
            right = np.concatenate([root[:, 0] * y, np.zeros(size)])
            w = np.linalg.lstsq(left, right, rcond=None)[0]
            if np.all(w[:size] >= 0.0):
                best = min(best, float(np.sum((left @ w - right) ** 2)))
    return best


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_as_good_as_the_best_of_all_sets(seed, intercept, ridge):
    X, y = data(seed=seed)
    s = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    found = solve_nonnegative(as_design(X), y, weights=s, ridge=ridge, fit_intercept=intercept)
    w, b = found.coef[0], found.intercept[0]
    value = s @ (y[:, 0] - X @ w - b) ** 2 + ridge * w @ w
    assert np.all(w >= 0.0) and found.certificate.ok
    assert value == pytest.approx(by_enumeration(X, y[:, 0], s, ridge, intercept), rel=1e-10)


def test_hostile_columns():
    X, y = data(40, 4, 3)
    hostile = np.column_stack([X, X[:, 0], -X[:, 1], np.ones(40), np.zeros(40), 1e9 * X[:, 2]])
    for intercept in (False, True):
        model = LinearRegression(positive=True, fit_intercept=intercept).fit(hostile, y)
        assert model.certificate_.ok and np.all(model.coef_ >= 0.0), str(model.certificate_)
        centred, targets = hostile, y
        if intercept:
            centred, targets = hostile - hostile.mean(axis=0), y - y.mean(axis=0)
        for k in range(3):
            rest = nnls(centred, targets[:, k])[1]
            own = np.linalg.norm(y[:, k] - model.predict(hostile)[:, k])
            assert own <= rest * (1.0 + 1e-9)


def test_more_columns_than_rows_and_nothing_to_explain():
    X, y = data(20, 50)
    model = LinearRegression(positive=True).fit(X, y[:, 0])
    assert model.certificate_.ok and np.all(model.coef_ >= 0.0)
    assert not np.any(LinearRegression(positive=True).fit(X, np.ones(20)).coef_)
    none = LinearRegression(positive=True, fit_intercept=False)
    assert not np.any(none.fit(np.abs(X), -np.abs(X).sum(axis=1)).coef_)


@pytest.mark.parametrize("make", [LinearRegression, Ridge])
def test_the_same_as_scikit_learns_and_both_verified(make):
    X, y = data(80, 6, 2)
    theirs = getattr(linear_model, make.__name__)(
        positive=True, **({} if make is LinearRegression else {"tol": 1e-12})
    )
    ours, theirs = make(positive=True).fit(X, y), theirs.fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert verify(ours, X, y).ok
    assert verify(theirs, X, y, tol=1e-4).ok
    sparse = make(positive=True).fit(sp.csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(ours.coef_, rel=1e-9, abs=1e-12)
    assert "w >= 0" in ours.certificate_.equations


def test_what_is_no_optimum_is_not_taken_for_one():
    X, y = data()
    best = LinearRegression(positive=True).fit(X, y[:, 0])
    free = LinearRegression().fit(X, y[:, 0])
    assert np.any(free.coef_ < 0.0)

    def judged(coef, intercept):
        return certify_least_squares(
            as_design(X), y, coef[None, :], np.array([intercept]), nonnegative=True
        )

    assert judged(best.coef_, best.intercept_).ok
    assert not judged(free.coef_, free.intercept_).ok
    assert not judged(np.maximum(free.coef_, 0.0), free.intercept_).ok
    assert not judged(np.zeros(5), float(y.mean())).ok


def test_classes_and_strengths_by_target():
    X, y = data(80, 6, 2)
    model = RidgeClassifier(positive=True, alpha=2.0).fit(X, y[:, 0] > 0)
    assert model.certificate_.ok and np.all(model.coef_ >= 0.0)
    each = Ridge(alpha=[0.1, 50.0], positive=True).fit(X, y)
    for k, alpha in enumerate([0.1, 50.0]):
        one = Ridge(alpha=alpha, positive=True).fit(X, y[:, k])
        assert each.coef_[k] == pytest.approx(one.coef_, rel=1e-9)
    assert verify(each, X, y).ok


def test_what_does_not_go_with_it():
    X, y = data()
    with pytest.raises(ValueError, match="positive=True needs all rows in one call; use fit"):
        LinearRegression(positive=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="constrained to be nonnegative have no standard errors"):
        LinearRegression(positive=True).fit(X, y[:, 0]).summary()
    with pytest.raises(
        ValueError, match="square matrix over all columns, which is too large for 9,000"
    ):
        LinearRegression(positive=True).fit(sp.csr_matrix((3, 9000)), np.ones(3))
    path = LinearRegression(positive=True).path(X, y[:, 0], [1.0, 0.1], cv=3)
    assert np.all(path.coefs >= 0.0) if hasattr(path, "coefs") else path.best in (1.0, 0.1)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        LinearRegression(positive=True).fit(X, y)
