"""Closed forms over row blocks: the same as in memory, the same bits whoever goes over them."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning

from separatrix import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    PolynomialRegression,
    QuadraticDiscriminantAnalysis,
    Ridge,
    RidgeClassifier,
    verify,
)
from separatrix.closed_form.polynomial import DegreeWarning
from separatrix.scale import Local, scan
from separatrix.scale.passes import watch_passes


def classes_of(rng, n=1500, d=5, k=3):
    """Rows about different means, far from the origin, with labels and weights."""
    y = rng.integers(k, size=n)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 50.0, d) + 3.0 * y[:, None] + 1e3
    return X, np.array(list("abcdef"))[y], rng.uniform(0.5, 2.0, size=n)


def quantity_of(rng, n=1500, d=5):
    X = rng.normal(size=(n, d)) + 10.0
    return X, X @ rng.normal(size=d) + rng.normal(size=n) - 4.0, rng.uniform(0.5, 2.0, size=n)


def bits(model):
    names = ("coef_", "intercept_", "means_", "covariance_", "mse_")
    return [np.asarray(getattr(model, name)).tobytes() for name in names if hasattr(model, name)]


def in_blocks(model, *data, **options):
    """The model fitted to blocks, for every number of workers with the same bits."""
    found = []
    blocks = scan(*data[:2], weight=data[2], block_rows=190, **options)
    for workers in (1, 2, 3):
        found.append(type(model)(**model.get_params()).fit(blocks, engine=Local(workers)))
    assert bits(found[0]) == bits(found[1]) == bits(found[2])
    return found[0]


def agree(one, other, names, rtol=1e-9):
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(), err_msg=name)
    assert one.certificate_.ok and other.certificate_.ok
    assert one.certificate_.equations == other.certificate_.equations
    assert one.objective_formula_ == other.objective_formula_


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(shrinkage="auto", priors=[0.5, 0.2, 0.3]),
        QuadraticDiscriminantAnalysis(covariance="unbiased"),
        QuadraticDiscriminantAnalysis(shrinkage="auto"),
    ],
    ids=str,
)
def test_gaussian_classes_take_one_pass(model):
    X, y, s = classes_of(np.random.default_rng(1))
    blocked = in_blocks(model, X, y, s)
    whole = model.fit(X, y, s)
    agree(blocked, whole, ["means_", "covariance_", "priors_", "shrinkage_"])
    assert blocked.n_passes_ == 1
    assert blocked.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(blocked.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PolynomialRegression(),
        PolynomialRegression(5),
        PolynomialRegression(3, interactions=False, lam=0.01),
        PolynomialRegression(0),
    ],
    ids=str,
)
def test_polynomials_take_a_pass_for_each_degree(model):
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=900) + 1e3, rng.integers(0, 3, 900), np.full(900, 2.0)])
    y = np.sin(X[:, 0]) + X[:, 0] * X[:, 1] + rng.normal(size=900)
    s = np.where(np.arange(900) % 4 == 1, 0.0, rng.uniform(0.5, 2.0, size=900))
    with pytest.warns(DegreeWarning) if model.degree else nullcontext() as ours:
        blocked = in_blocks(model, X, y, s, quantity=True)
    with pytest.warns(DegreeWarning) if model.degree else nullcontext() as theirs:
        whole = model.fit(X, y, s)
    if model.degree:
        assert str(ours[0].message) == str(theirs[0].message)
    names = ["coef_", "basis_coef_"] if model.degree else []
    agree(blocked, whole, [*names, "intercept_", "mse_"])
    assert blocked.terms_ == whole.terms_ and blocked.rank_ == whole.rank_
    assert blocked.n_passes_ <= 10 + model.degree
    data = scan(X, y, weight=s, quantity=True, block_rows=190)
    assert verify(blocked, data).ok
    assert blocked.score(data) == pytest.approx(whole.score(X, y, s), rel=1e-12)
    if model.degree and not model.lam:
        np.testing.assert_allclose(
            blocked.summary().standard_error, whole.summary().standard_error, rtol=1e-9
        )
    blocked.coef_ = blocked.coef_ + 1e-3
    assert not model.degree or not verify(blocked, data).ok


def test_blocks_and_further_rows_are_one_fit():
    """What was read in blocks is gone on from, as what was read from memory."""
    X, y, _ = classes_of(np.random.default_rng(2))
    model = LinearDiscriminantAnalysis().fit(scan(X[:900], y[:900], block_rows=200))
    model.partial_fit(X[900:], y[900:])
    agree(model, LinearDiscriminantAnalysis().fit(X, y), ["means_", "covariance_", "coef_"])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [LeastSquaresClassifier, RidgeClassifier])
def test_classes_by_least_squares(kind, k):
    X, y, s = classes_of(np.random.default_rng(3), k=k)
    model = kind(class_weight="balanced")
    blocked = in_blocks(model, X, y, s)
    whole = model.fit(X, y, s)
    agree(blocked, whole, ["coef_", "intercept_", "rank_", "condition_number_"])
    assert blocked.coef_.shape == whole.coef_.shape
    assert blocked.predict(X).tolist() == whole.predict(X).tolist()


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(lam=0.1, fit_intercept=False),
        Ridge(alpha=20.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [np.float64, np.float32, "sparse"])
def test_quantities(model, kind):
    X, y, s = quantity_of(np.random.default_rng(4))
    X = sp.csr_array(np.where(X > 10.5, X, 0.0)) if kind == "sparse" else X.astype(kind)
    blocked = in_blocks(model, X, y, s, quantity=True)
    whole = model.fit(X, y, s)
    rtol = 1e-6 if whole.coef_.dtype == np.float32 else 1e-9
    agree(blocked, whole, ["coef_", "intercept_", "mse_", "rank_", "n_samples_seen_"], rtol)
    assert blocked.coef_.dtype == whole.coef_.dtype
    assert blocked.n_passes_ <= 4


def test_standard_errors_need_no_rows():
    X, y, _ = quantity_of(np.random.default_rng(5))
    blocked = LinearRegression().fit(scan(X, y, quantity=True, block_rows=190)).summary()
    whole = LinearRegression().fit(X, y).summary()
    np.testing.assert_allclose(blocked.standard_error, whole.standard_error, rtol=1e-9)
    np.testing.assert_allclose(blocked.p_value, whole.p_value, rtol=1e-6, atol=1e-300)


def test_few_rows_that_are_ill_conditioned():
    """Sums of products would lose all digits of powers; the factor of the rows keeps them."""
    t = np.linspace(0.0, 1.0, 60)
    X = t[:, None] ** np.arange(1, 9)
    y = X @ np.arange(1.0, 9.0) + np.sin(40 * t)
    blocked = in_blocks(LinearRegression(), X, y, None, quantity=True)
    agree(blocked, LinearRegression().fit(X, y), ["coef_", "intercept_"], rtol=1e-6)
    assert blocked.condition_number_ > 1e4


def test_columns_that_depend_on_others_have_the_solution_of_least_norm():
    X, y, _ = quantity_of(np.random.default_rng(6), n=600)
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    with pytest.warns(LinAlgWarning, match="depend"):
        blocked = LinearRegression().fit(scan(X, y, quantity=True, block_rows=190))
    with pytest.warns(LinAlgWarning):
        whole = LinearRegression().fit(X, y)
    agree(blocked, whole, ["coef_", "intercept_", "rank_"])


def test_targets_near_the_ends_of_the_range():
    X, y, _ = quantity_of(np.random.default_rng(7), n=600)
    model = LinearRegression().fit(scan(X, 1e-200 * y, quantity=True, block_rows=190))
    agree(model, LinearRegression().fit(X, 1e-200 * y), ["coef_", "intercept_"])
    model = LinearRegression().fit(scan(1e200 * X, y, quantity=True, block_rows=190))
    agree(model, LinearRegression().fit(1e200 * X, y), ["coef_", "intercept_"])
    with pytest.raises(ValueError, match="out of the range of float64"):
        QuadraticDiscriminantAnalysis().fit(scan(1e200 * X, y > y.mean(), block_rows=190))


def test_passes_are_watched():
    X, y, _ = quantity_of(np.random.default_rng(8))
    heard = []
    with watch_passes(heard.append):
        model = LinearRegression().fit(scan(X, y, quantity=True, block_rows=500))
    assert [p.rows for p in heard] == [500, 1000, 1500] * model.n_passes_


def test_what_does_not_go_together():
    X, y, s = quantity_of(np.random.default_rng(9), n=60)
    labels = y > np.median(y)
    with pytest.raises(ValueError, match="quantity=True"):
        LinearRegression().fit(scan(X, labels))
    with pytest.raises(ValueError, match="at least two classes"):
        LinearDiscriminantAnalysis().fit(scan(X, y, quantity=True))
    with pytest.raises(ValueError, match="sample_weight is given"):
        Ridge().fit(scan(X, y, quantity=True), sample_weight=s)
    with pytest.raises(ValueError, match="leave it out"):
        Ridge().fit(scan(X, y, quantity=True), checkpoint="x")
    with pytest.raises(ValueError, match="engine is for data in row blocks"):
        Ridge().fit(X, y, engine=Local(1))
    with pytest.raises(TypeError, match="positive=True"):
        LinearRegression(positive=True).fit(scan(X, y, quantity=True))
    with pytest.raises(TypeError, match="alpha has one value for each target"):
        Ridge(alpha=[1.0, 2.0]).fit(scan(X, y, quantity=True))
    with pytest.raises(TypeError, match="MB"):
        Ridge().fit(scan(X, y, quantity=True, memory="1KB"))
    with pytest.raises(TypeError, match="covariance_estimator needs all rows"):
        LinearDiscriminantAnalysis(covariance_estimator=Ridge()).fit(scan(X, labels))
    with pytest.raises(ValueError, match="Input y contains NaN at row 3"):
        scan(X, np.where(np.arange(60) == 3, np.nan, y), quantity=True)
