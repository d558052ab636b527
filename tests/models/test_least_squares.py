"""LinearRegression and LeastSquaresClassifier."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression as Other
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from grids import share
from separatrix import LeastSquaresClassifier, LinearRegression, load_model, save_model, verify
from separatrix.models import least_squares

FIRST = [LinearRegression(), LeastSquaresClassifier()]
OTHERS = [
    LinearRegression(lam=0.1),
    LinearRegression(fit_intercept=False),
    LeastSquaresClassifier(lam=0.1),
]
both = pytest.mark.parametrize("kind", [LinearRegression, LeastSquaresClassifier])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# Some of the checks fit to fewer rows than columns, or to columns that are equal.
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@parametrize_with_checks(FIRST)
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@parametrize_with_checks(OTHERS)
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


# --- regression -----------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_the_same_numbers_and_shapes_as_scikit_learn(rng, fit_intercept, shape) -> None:
    X, s = rng.normal(size=(80, 4)) + 1.0, rng.random(80)
    y = X @ rng.normal(size=(4, *shape)) + rng.normal(size=(80, *shape))
    ours = LinearRegression(fit_intercept=fit_intercept).fit(X, y, s)
    theirs = Other(fit_intercept=fit_intercept).fit(X, y, s)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-11)
    assert isinstance(ours.intercept_, float) == (shape == ())
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-11)
    assert ours.score(X, y, s) == pytest.approx(theirs.score(X, y, s), rel=1e-12)
    assert ours.r2(X, y, s) == ours.score(X, y, s)
    assert ours.rank_ == theirs.rank_
    r = ours.residuals(X, y)
    assert r.shape == y.shape
    np.testing.assert_allclose(ours.projection(X) + r, y, rtol=1e-14)
    np.testing.assert_allclose(ours.mse_, s @ r**2 / s.sum(), rtol=1e-12)
    assert np.shape(ours.mse_) == shape


@pytest.mark.parametrize("lam", [1e-6, 0.1, 100.0])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_penalty_is_that_of_ridge(rng, lam, weighted, fit_intercept) -> None:
    X, Y = rng.normal(size=(90, 5)) + 2.0, rng.normal(size=(90, 2))
    s = rng.random(90) if weighted else None
    total = 90.0 if s is None else s.sum()
    ours = LinearRegression(lam=lam, fit_intercept=fit_intercept).fit(X, Y, s)
    theirs = Ridge(alpha=lam * total, fit_intercept=fit_intercept, solver="svd").fit(X, Y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    # The formula, by its gradient at the answer.
    weights = np.ones(90) if s is None else s
    r = Y - X @ ours.coef_.T - ours.intercept_
    gradient = -(weights[:, None] * r).T @ X / total + lam * ours.coef_
    np.testing.assert_allclose(gradient, 0.0, atol=1e-13)
    assert ours.objective_formula_ == (
        f"minimise 1/(2 * {total:.10g}) sum s_i |y_i - W x_i{' - b' * fit_intercept}|^2"
        f" + {lam / 2:g} |W|^2"
    )


@both
def test_a_weight_is_so_many_copies(rng, kind) -> None:
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50).astype(float)
    s = rng.integers(0, 4, 50)
    weighted = kind(lam=0.1).fit(X, y, s)
    copies = kind(lam=0.1).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-13)
    np.testing.assert_allclose(weighted.intercept_, copies.intercept_, rtol=1e-13)
    assert weighted.n_samples_seen_ == copies.n_samples_seen_ == s.sum()


def test_residuals_are_orthogonal_to_every_column() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    A = np.c_[np.ones(len(X)), X]
    r = model.residuals(X, y)
    cosines = A.T @ r / np.linalg.norm(A, axis=0) / np.linalg.norm(r)
    assert np.abs(cosines).max() < 1e-14
    assert model.certificate_.orthogonality < 1e-14
    assert model.certificate_.equations == "normal equations A'r = 0"
    expected = np.linalg.cond(np.asarray(X - X.mean(axis=0)) / np.linalg.norm(X, axis=0))
    assert model.condition_number_ == pytest.approx(expected, rel=1e-6)


@both
@pytest.mark.parametrize("storage", ["float32", "csr", "csr32", "fortran", "strided", "frame"])
def test_storage_makes_no_difference(rng, kind, storage) -> None:
    X = (rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.5)).astype(np.float32)
    X = X.astype(np.float64)
    y = rng.integers(0, 2, 300)
    other = {
        "float32": X.astype(np.float32),
        "csr": sp.csr_array(X),
        "csr32": sp.csr_matrix(X.astype(np.float32)),
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "frame": pd.DataFrame(X, columns=list("abcdef")),
    }[storage]
    plain, found = kind().fit(X, y), kind().fit(other, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-12)
    np.testing.assert_allclose(found.predict(other), plain.predict(X), rtol=1e-12)
    assert hasattr(found, "feature_names_in_") == (storage == "frame")


def test_the_data_are_not_copied(rng) -> None:
    X, y = rng.normal(size=(60_000, 40)), rng.normal(size=60_000)
    for data in (X, X.astype(np.float32), np.asfortranarray(X)):
        # What is compiled for these data takes memory, too.
        LinearRegression().fit(data, y)
        tracemalloc.start()
        LinearRegression().fit(data, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * X.nbytes, data.dtype
    # Blocks and sums take little beside the memory of a large input.
    assert peak < 6e6


# --- columns that depend on one another -----------------------------------------------------


@pytest.mark.parametrize("sparse", [True, False])
def test_what_depends_on_what_is_said(rng, sparse) -> None:
    X = rng.normal(size=(40, 3))
    X = np.c_[X, X[:, 0] + 2 * X[:, 1] - 3, np.full(40, 0.1)]
    data = sp.csr_array(X) if sparse else pd.DataFrame(X, columns=["a", "b", "c", "sum", "one"])
    a, b, d, one = ("x0", "x1", "x3", "x4") if sparse else ("a", "b", "sum", "one")
    with pytest.warns(LinAlgWarning) as caught:
        model = LinearRegression().fit(data, rng.normal(size=40))
    assert [str(w.message) for w in caught] == [
        f"columns depend on one another: column '{one}' is constant; '{d}' = '{a}' + 2 * '{b}' "
        "- 3; of all solutions that fit equally well, this is the one of smallest norm. Leave out "
        "a column, or set lam > 0."
    ]
    assert caught[0].filename == __file__
    assert model.rank_ == 3
    assert "3 of 5 columns independent" in str(model.certificate_)
    LinearRegression(lam=1e-3).fit(data, rng.normal(size=40))  # no warning


def test_fewer_rows_than_columns(rng) -> None:
    X, y = rng.normal(size=(7, 9)), rng.normal(size=7)
    with pytest.warns(LinAlgWarning, match="^7 rows cannot determine 9 columns; .* lam > 0"):
        model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-13)
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-11)
    assert model.rank_ == 6 and model.certificate_.ok and model.mse_ < 1e-28


@least_squares.tuned(least_squares.Tuning(most_columns=3))
def test_of_too_many_columns_only_the_dependent_ones_are_named(rng) -> None:
    X = rng.normal(size=(30, 3))
    with pytest.warns(LinAlgWarning, match=r"'x\d' depends on the other columns, up to"):
        LinearRegression().fit(np.c_[X, X[:, 2] - X[:, 1]], rng.normal(size=30))
    with pytest.warns(LinAlgWarning, match="and 2 more depend on the other columns"):
        LinearRegression().fit(np.c_[X, X, X[:, :2]], rng.normal(size=30))


def test_many_relations_are_shortened(rng) -> None:
    X = rng.normal(size=(30, 9))
    wide = np.c_[X, X.sum(axis=1), -X[:, :1] - X[:, 1:2], X[:, :3] * 2]
    with pytest.warns(LinAlgWarning) as caught:
        LinearRegression().fit(wide, rng.normal(size=30))
    message = str(caught[0].message)
    assert "more such relations" in message and len(message) < 500


# --- in portions ----------------------------------------------------------------------------


@pytest.mark.sampled
@settings(max_examples=share(80), deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(0, 1000), st.booleans())
def test_any_portions_are_one_fit(sizes, seed, weighted) -> None:
    own = np.random.default_rng(seed)
    n = sum(sizes) + 8
    X, y = own.normal(size=(n, 3)), own.normal(size=(n, 2))
    s = own.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    labels = np.r_[0, 1, 2, own.integers(0, 3, n - 3)]
    regression, classifier = LinearRegression(lam=0.01), LeastSquaresClassifier(lam=0.01)
    start = 0
    for size in [*sizes, 8]:
        part = slice(start, start + size)
        regression.partial_fit(X[part], y[part], sample_weight=s[part])
        classifier.partial_fit(X[part], labels[part], classes=[0, 1, 2], sample_weight=s[part])
        start += size
    for found, whole in (
        (regression, LinearRegression(lam=0.01).fit(X, y, s)),
        (classifier, LeastSquaresClassifier(lam=0.01).fit(X, labels, s)),
    ):
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(found.intercept_, whole.intercept_, rtol=1e-10, atol=1e-13)
        assert found.n_samples_seen_ == whole.n_samples_seen_ == s.sum()
        assert found.rank_ == whole.rank_
        assert found.condition_number_ == pytest.approx(whole.condition_number_, rel=1e-9)
        assert found.certificate_.ok
        assert "of the triangular factor of all rows" in found.certificate_.equations
    np.testing.assert_allclose(
        regression.mse_, LinearRegression(lam=0.01).fit(X, y, s).mse_, rtol=1e-10
    )


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_row_by_row(rng, offset) -> None:
    X, y = rng.normal(size=(40, 4)) + offset, rng.normal(size=40)
    model = LinearRegression()
    for x, v in zip(X, y, strict=True):
        model.partial_fit([x], [v])
    whole = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert model.coef_.shape == (4,) and isinstance(model.intercept_, float)
    assert model.mse_ == pytest.approx(whole.mse_, rel=1e-10)


def test_partial_fit_goes_on_after_fit(rng) -> None:
    X, y = rng.normal(size=(2000, 5)) + 3.0, rng.normal(size=2000)
    model = LinearRegression().fit(X[:1500], y[:1500]).partial_fit(X[1500:], y[1500:])
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-11)
    assert model.n_samples_seen_ == 2000
    # And fit starts over.
    again = model.fit(X[:10], y[:10])
    np.testing.assert_array_equal(again.coef_, LinearRegression().fit(X[:10], y[:10]).coef_)


def test_partial_fit_refuses_what_does_not_go_together(rng) -> None:
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="two dimensions and 2 targets, .* it had one dimension"):
        model.partial_fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="fit_intercept=False differs from the earlier calls"):
        model.set_params(fit_intercept=False).partial_fit(X, y)
    classifier = LeastSquaresClassifier().fit(X, y > 0)
    with pytest.raises(ValueError, match="the label 2, which is not in"):
        classifier.partial_fit(X, np.full(30, 2))
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        LeastSquaresClassifier().partial_fit(X, y > 0)
    with pytest.raises(ValueError, match="needs all rows"):
        LeastSquaresClassifier(class_weight="balanced").partial_fit(X, y > 0, [False, True])
    with (
        least_squares.tuned(least_squares.Tuning(most_factor=4)),
        pytest.raises(ValueError, match="keeps a square matrix over all columns, which for 4"),
    ):
        LinearRegression().partial_fit(X, y)
    X = rng.normal(size=(1200, 4000))
    wide = LinearRegression(lam=1.0).fit(X, np.arange(1200.0))
    assert wide.factor_ is None
    with pytest.raises(ValueError, match="the sums were not kept"):
        wide.partial_fit(X[:1], [0.0])
    with pytest.raises(ValueError, match="a penalty draws the estimates"):
        wide.summary()


# --- classification -------------------------------------------------------------------------


def test_two_classes_have_fishers_direction() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = LeastSquaresClassifier().fit(X, y)
    fisher = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    assert model.coef_.shape == (1, 4) and model.decision_function(X).shape == (100,)
    ratio = model.coef_ / fisher.coef_
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)
    # Classes of the same size: the same plane, too.
    np.testing.assert_array_equal(model.predict(X), fisher.predict(X))
    t = np.where(y == 2, 1.0, -1.0)
    expected = np.linalg.lstsq(np.c_[np.ones(100), X], t, rcond=None)[0]
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_[0]], expected, rtol=1e-10)


def test_many_classes_are_one_hot() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    model = LeastSquaresClassifier().fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    hot = (names[:, None] == model.classes_).astype(float)
    expected = np.linalg.lstsq(np.c_[np.ones(150), X], hot, rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected[1:].T, rtol=1e-10, atol=1e-13)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    ridge = RidgeClassifier(alpha=15.0).fit(X, names)
    ours = LeastSquaresClassifier(lam=0.1).fit(X, names)
    # There the targets are -1 and 1.
    np.testing.assert_allclose(2 * ours.coef_, ridge.coef_, rtol=1e-9, atol=1e-12)


def test_class_weights(rng) -> None:
    X, y = rng.normal(size=(60, 2)), np.r_[np.zeros(45, int), np.ones(15, int)]
    s = rng.random(60)
    by_name = LeastSquaresClassifier(class_weight={0: 2.0, 1: 5.0}, lam=0.1).fit(X, y, s)
    weights = s * np.where(y == 1, 5.0, 2.0)
    t = np.where(y == 1, 1.0, -1.0)
    total = s.sum()  # of the sample weights alone
    theirs = Ridge(alpha=0.1 * total).fit(X, t, weights)
    np.testing.assert_allclose(by_name.coef_[0], theirs.coef_, rtol=1e-9)
    balanced = LeastSquaresClassifier(class_weight="balanced").fit(X, y)
    fisher = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.5, 0.5]).fit(X, y)
    assert balanced.score(X, y) >= 0.4 and fisher.score(X, y) >= 0.4
    assert np.sign(balanced.coef_ @ fisher.coef_.T) > 0


# --- around it ------------------------------------------------------------------------------


def test_inside_pipelines_and_searches() -> None:
    X, y = load_diabetes(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    search = GridSearchCV(pipeline, {"linearregression__lam": [0.0, 0.01, 0.1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.45
    assert clone(LinearRegression(lam=2.0)).lam == 2.0


@both
def test_a_stored_model_goes_on(rng, kind, tmp_path) -> None:
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = kind().fit(X[:30], y[:30])
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model").model
    assert again.certificate_ == model.certificate_
    again.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(again.coef_, model.partial_fit(X[30:], y[30:]).coef_)
    assert verify(again, X, y).ok
    assert not verify(again, X[:30], y[:30]).ok


def test_the_summary(rng) -> None:
    X, Y, s = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.integers(1, 4, 50)
    single = LinearRegression().fit(X, Y[:, 0], s).summary()
    A = np.c_[np.ones(50), X]
    covariance = np.linalg.inv(A.T @ (s[:, None] * A))
    r = Y - A @ covariance @ A.T @ (s[:, None] * Y)
    variance = s @ r**2 / (s.sum() - 4)
    expected = np.sqrt(variance * np.diagonal(covariance)[:, None])
    np.testing.assert_allclose(single.standard_error, expected[:, 0], rtol=1e-11)
    pair = LinearRegression().fit(X, Y, s)
    for k, summary in enumerate(pair.summary()):
        np.testing.assert_allclose(summary.standard_error, expected[:, k], rtol=1e-11)
    for k, summary in enumerate(pair.summary(X, Y, s, robust="HC0")):
        meat = A.T @ (A * (s * r[:, k] ** 2)[:, None])
        robust = np.sqrt(np.diagonal(covariance @ meat @ covariance))
        np.testing.assert_allclose(summary.standard_error, robust, rtol=1e-10)
    portions = LinearRegression().partial_fit(X[:20], Y[:20], s[:20])
    for k, summary in enumerate(portions.partial_fit(X[20:], Y[20:], s[20:]).summary()):
        np.testing.assert_allclose(summary.standard_error, expected[:, k], rtol=1e-10)
    with pytest.raises(ValueError, match="give both X and y, or neither"):
        pair.summary(X)
    with pytest.raises(ValueError, match="one dimension, and the model was fitted to two"):
        pair.summary(X, Y[:, 0])
    with pytest.warns(LinAlgWarning):
        dependent = LinearRegression().fit(np.c_[X, X[:, 0]], Y)
    with pytest.raises(ValueError, match="only 3 of 4 columns are independent"):
        dependent.summary()


# --- bad input ------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_bad_numbers_are_named(rng, kind, bad, call) -> None:
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
    options = {"classes": [0, 1]} if (kind, call) == (LeastSquaresClassifier, "partial_fit") else {}
    run = getattr(kind(), call)
    what = "NaN" if np.isnan(bad) else r"infinity \(inf\)"
    X[3, 1] = bad
    with pytest.raises(ValueError, match=f"Input X contains {what} at row 3, column 1;"):
        run(X, y, **options)
    with pytest.raises(ValueError, match=f"Input X contains {what} at row 3, column 1 .'b'.;"):
        run(pd.DataFrame(X, columns=["a", "b"]), y, **options)
    X[3, 1] = 0.0
    s = np.ones(9)
    s[4] = bad
    with pytest.raises(ValueError, match="sample_weight must be finite; row 4"):
        run(X, y, sample_weight=s, **options)
    s[4] = -1.0
    with pytest.raises(ValueError, match="sample_weight must not be negative; row 4 has -1"):
        run(X, y, sample_weight=s, **options)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        run(X, y, sample_weight=np.zeros(9), **options)
    if kind is LinearRegression:
        with pytest.raises(ValueError, match=f"Input y contains {what} at row 2;"):
            run(X, np.where(np.arange(9) == 2, bad, 1.0))


@both
def test_bad_parameters(rng, kind) -> None:
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
    for lam in (-1.0, np.nan, np.inf, "much", None):
        with pytest.raises(ValueError, match="^lam=.* must be a finite number of at least 0"):
            kind(lam=lam).fit(X, y)
    with pytest.raises(ValueError, match="fit_intercept='no' is not known"):
        kind(fit_intercept="no").fit(X, y)


def test_bad_targets(rng) -> None:
    X, y = rng.normal(size=(9, 2)), np.arange(9.0)
    with pytest.raises(ValueError, match="y must hold numbers .* entry 0 is 'a'"):
        LinearRegression().fit(X, list("abcdefghi"))
    with pytest.raises(ValueError, match="one class only"):
        LeastSquaresClassifier().fit(X, np.ones(9))
    with pytest.raises(ValueError, match="one dimension, and the model was fitted to two"):
        LinearRegression().fit(X, np.c_[y, y]).residuals(X, y)


@pytest.mark.parametrize("kind", [LinearRegression, LeastSquaresClassifier])
def test_every_parameter_and_attribute_is_documented(kind) -> None:
    model = kind().fit(pd.DataFrame({"a": [0.0, 1.0, 3.0]}), [0, 1, 1])
    described = {
        word.strip()
        for line in kind.__doc__.splitlines()
        if " : " in line
        for word in line.split(" : ")[0].split(",")
    }
    assert set(kind().get_params()) <= described
    assert {a for a in vars(model) if a.endswith("_")} <= described
