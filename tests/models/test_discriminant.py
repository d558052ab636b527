"""Linear and quadratic discriminant analysis: against scikit-learn, copies, and their samples."""

from __future__ import annotations

import inspect
import pickle
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from scipy.stats import chi2
from sklearn.covariance import (
    EmpiricalCovariance,
    ShrunkCovariance,
    empirical_covariance,
    ledoit_wolf,
    shrunk_covariance,
)
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    verify,
)
from separatrix.data.moments import Moments

# Before version 1.8 scikit-learn's quadratic analysis divided by n_k - 1, and had no solvers.
SOLVERS = "solver" in inspect.signature(SklearnQDA).parameters
CONVENTION = "mle" if SOLVERS else "unbiased"
KINDS = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_shrinkage = pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: scaled(load_breast_cancer),
    "digits": lambda: (lambda X, y: (X[:, X.var(axis=0) > 1.0], y))(*load_digits(return_X_y=True)),
}


def assert_close(left, right, tol=1e-8) -> None:
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    assert np.abs(left - right).max() <= tol * np.abs(right).max()


def blobs(n=600, d=4, k=3, seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    means = spread * rng.normal(size=(k, d))
    shapes = rng.normal(size=(k, d, d)) + 2 * np.eye(d)
    return means[y] + np.einsum("ij,ijk->ik", rng.normal(size=(n, d)), shapes[y]), y


# --- against scikit-learn ----------------------------------------------------------------------


@each_shrinkage
@pytest.mark.parametrize("data", DATA)
def test_the_linear_one_equals_lsqr(data, shrinkage) -> None:
    X, y = DATA[data]()
    model = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y)
    peer = SklearnLDA(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    for name in ("means_", "covariance_", "priors_", "coef_", "intercept_"):
        assert_close(getattr(model, name), getattr(peer, name))
    assert_close(model.decision_function(X), peer.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert model.certificate_.ok and model.certificate_.relative_residual < 1e-14
    assert model.n_iter_ == 1 and model.condition_number_ == model.certificate_.condition


@each_shrinkage
@pytest.mark.parametrize("data", [d for d in DATA if d != "digits"])
def test_the_quadratic_one_equals_scikit_learns(data, shrinkage) -> None:
    X, y = DATA[data]()
    model = QuadraticDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y)
    assert model.certificate_.ok and len(model.certificate_.parts) == len(model.classes_)
    for k in model.classes_:
        rows = X[y == k]
        assert_close(model.means_[k], rows.mean(axis=0), 1e-13)
        if shrinkage == "auto":
            scaler = StandardScaler()
            expected = ledoit_wolf(scaler.fit_transform(rows))[0]
            expected = scaler.scale_[:, None] * expected * scaler.scale_
        else:
            expected = shrunk_covariance(empirical_covariance(rows), shrinkage or 0.0)
        assert_close(model.covariance_[k], expected)
    peers = []
    if SOLVERS:
        peers = [SklearnQDA(solver="eigen", shrinkage=shrinkage, tol=0)]
    if shrinkage is None:
        model = QuadraticDiscriminantAnalysis(covariance=CONVENTION).fit(X, y)
        peers.append(SklearnQDA(tol=0))
    for peer in peers:
        peer.fit(X, y)
        assert_close(model.priors_, peer.priors_, 1e-13)
        assert_close(model.decision_function(X), peer.decision_function(X))
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
        np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("data", ["iris", "wine"])
def test_directions_are_those_of_scikit_learn(data) -> None:
    X, y = DATA[data]()
    model = LinearDiscriminantAnalysis().fit(X, y)
    peer = SklearnLDA(solver="eigen").fit(X, y)
    assert_close(model.explained_variance_ratio_, peer.explained_variance_ratio_)
    assert_close(np.abs(model.scalings_), np.abs(peer.scalings_[:, :2]))
    own, theirs = model.transform(X), peer.transform(X)
    theirs = theirs - theirs.mean(axis=0)
    assert_close(np.abs(own), np.abs(theirs), 1e-7)
    one = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    np.testing.assert_allclose(one.transform(X), own[:, :1], atol=1e-10)
    # The covariance within the classes is the identity there, and between them diagonal.
    S = model.scalings_.T @ model.covariance_ @ model.scalings_
    np.testing.assert_allclose(S, np.eye(2), atol=1e-10)
    between = (model.means_ - model.xbar_) @ model.scalings_
    B = (between * model.priors_[:, None]).T @ between
    np.testing.assert_allclose(B, np.diag(np.diag(B)), atol=1e-9 * B.max())
    assert B[0, 0] > B[1, 1]
    names = model.set_output(transform="pandas").transform(X).columns.tolist()
    assert names == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


def test_priors_enter_the_discriminant_alone() -> None:
    X, y = load_wine(return_X_y=True)
    priors = [0.7, 0.2, 0.1]
    for kind in KINDS:
        plain, model = kind().fit(X, y), kind(priors=priors).fit(X, y)
        np.testing.assert_array_equal(plain.covariance_, model.covariance_)
        np.testing.assert_allclose(model.priors_, priors)
        step = model.predict_log_proba(X) - plain.predict_log_proba(X)
        expected = np.log(priors) - np.log(plain.priors_)
        # The posterior is proportional to the prior.
        step -= step[:, :1]
        np.testing.assert_allclose(step, np.tile(expected - expected[0], (178, 1)), atol=1e-9)


@each_kind
@each_shrinkage
def test_without_bias(kind, shrinkage) -> None:
    X, y = load_iris(return_X_y=True)
    # Two more of one class, so that the sizes differ.
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])
    mle = kind(shrinkage=shrinkage).fit(X, y)
    model = kind(covariance="unbiased", shrinkage=shrinkage).fit(X, y)
    n = np.bincount(y)
    ratio = n / (n - 1) if mle.covariance_.ndim == 3 else np.array(152 / 149)
    assert_close(model.covariance_, ratio[..., None, None] * mle.covariance_, 1e-13)
    if shrinkage is None and kind is QuadraticDiscriminantAnalysis:
        assert_close(model.covariance_, [np.cov(X[y == k].T) for k in range(3)], 1e-13)


# --- weights, portions, storage ----------------------------------------------------------------


def fitted(model) -> dict:
    names = ["means_", "priors_", "covariance_", "shrinkage_", "independent_columns_"]
    if hasattr(model, "coef_"):
        names += ["coef_", "intercept_", "xbar_", "scalings_", "explained_variance_ratio_"]
    return {name: getattr(model, name) for name in names}


def assert_same(model, other, tol=1e-10) -> None:
    left, right = fitted(model), fitted(other)
    for name in left:
        size = np.abs(right[name]).max()
        assert np.abs(left[name] - right[name]).max() <= tol * size, name


@each_kind
@each_shrinkage
@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
def test_a_weight_is_so_many_copies(kind, shrinkage, covariance) -> None:
    X, y = blobs()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    options = {"shrinkage": shrinkage, "covariance": covariance}
    one = kind(**options).fit(X, y, sample_weight=weights)
    copies = kind(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same(one, copies)
    np.testing.assert_allclose(one.predict_proba(X), copies.predict_proba(X), atol=1e-10)


@each_kind
def test_a_class_of_weight_zero_is_not_there(kind) -> None:
    X, y = blobs()
    model = kind().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert_same(model, kind().fit(X[y != 1], y[y != 1]))


@pytest.mark.crossed
@each_kind
@each_shrinkage
@pytest.mark.parametrize("chunk", [1, 7, 250, 599])
@pytest.mark.parametrize("order", ["mixed", "by class"])
def test_any_portions_give_the_same_model(kind, shrinkage, chunk, order) -> None:
    X, y = blobs(150 if chunk == 1 else 600)
    X[:, 0] = 1e3 * X[:, 0] + 1e5
    weights = np.random.default_rng(2).random(len(y)) * 3
    if order == "by class":
        rows = np.argsort(-y, kind="stable")
        X, y, weights = X[rows], y[rows], weights[rows]
    whole = kind(shrinkage=shrinkage).fit(X, y, sample_weight=weights)
    model = kind(shrinkage=shrinkage)
    with warnings.catch_warnings():
        # With so few rows, some columns depend on others at first.
        warnings.simplefilter("ignore", LinAlgWarning)
        for a in range(0, len(y), chunk):
            part = slice(a, a + chunk)
            model.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=weights[part])
    assert_same(model, whole)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert model.moments_.n_rows == len(y)
    # And on, after fit.
    half = len(y) // 2
    rest = np.random.default_rng(3).permutation(len(y))
    X, y, weights = X[rest], y[rest], weights[rest]
    model = kind(shrinkage=shrinkage).fit(X[:half], y[:half], sample_weight=weights[:half])
    model.partial_fit(X[half:], y[half:], sample_weight=weights[half:])
    assert_same(model, whole)


@each_kind
def test_too_few_rows_are_told_when_asked(kind) -> None:
    X, y = blobs()
    model = kind()
    model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1, 2])
    for method in ("predict", "predict_proba", "decision_function", "score_samples"):
        with pytest.raises(ValueError, match="Class 1 has no rows yet"):
            getattr(model, method)(X)
    with pytest.raises(ValueError, match="no rows yet"):
        model.sample(3)
    model.partial_fit(X[y != 0], y[y != 0])
    assert_same(model, kind().fit(X, y))


@each_kind
def test_bad_portions(kind) -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        kind().partial_fit(X, y)
    with pytest.raises(ValueError, match="at least two labels"):
        kind().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match=r"Row \d+ has the label 2, which is not in"):
        kind().partial_fit(X, y, classes=[0, 1])
    model = kind().fit(X, y)
    with pytest.raises(ValueError, match="differ from those of earlier calls"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    before = fitted(model)
    bad = X.copy()
    bad[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 5, column 2"):
        model.partial_fit(bad, y)
    for name, value in fitted(model).items():
        np.testing.assert_array_equal(value, before[name])
    with pytest.raises(ValueError, match="needs sums that the earlier calls did not keep"):
        model.set_params(shrinkage="auto").partial_fit(X, y)


STORAGES = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64": lambda X: (
        lambda a: sp.csr_array((a.data, a.indices.astype(np.int64), a.indptr.astype(np.int64)))
    )(sp.csr_array(X)),
}


@pytest.mark.crossed
@each_kind
@each_shrinkage
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same(kind, shrinkage, storage) -> None:
    X, y = blobs()
    X[np.abs(X) < 0.5] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    plain, model = kind(shrinkage=shrinkage).fit(X, y), kind(shrinkage=shrinkage)
    other = STORAGES[storage](X)
    model.fit(other, y)
    assert_same(model, plain)
    for method in ("decision_function", "predict_proba", "log_likelihood", "score_samples"):
        np.testing.assert_allclose(
            getattr(model, method)(other), getattr(plain, method)(X), rtol=1e-9, atol=1e-9
        )
    if kind is LinearDiscriminantAnalysis:
        np.testing.assert_allclose(model.transform(other), plain.transform(X), atol=1e-9)


@each_kind
@pytest.mark.parametrize("storage", ["float32", "csr", "fortran"])
def test_nothing_is_copied(kind, storage) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60_000)
    X = rng.normal(size=(60_000, 20)) + y[:, None]
    X = STORAGES[storage](X)
    model = kind().fit(X, y)
    model.predict(X)
    for method, arguments in (("fit", (X, y)), ("predict", (X,))):
        tracemalloc.start()
        getattr(model, method)(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The data take 9.6 MB in float64; labels, codes and scores up to 3 MB, buffers 4 MB.
        assert peak < 7e6, method


# --- accuracy ----------------------------------------------------------------------------------


@each_kind
def test_an_offset_costs_no_digits(kind) -> None:
    # Numbers that stay exact with 2^26 added to them; only the means are rounded, to 1e-8.
    X, y = blobs()
    X = np.round(X * 2**20) / 2**20
    near, far = kind().fit(X, y), kind().fit(X + 2.0**26, y)
    assert_close(far.covariance_, near.covariance_, 1e-13)
    assert_close(far.log_likelihood(X + 2.0**26), near.log_likelihood(X), 1e-8)
    np.testing.assert_allclose(far.predict_proba(X + 2.0**26), near.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(far.predict(X + 2.0**26), near.predict(X))
    # Scores of the textbook are of the order of 1e16 there; they still agree with the prediction.
    scores = far.decision_function(X + 2.0**26)
    np.testing.assert_array_equal(scores.argmax(axis=1), near.predict(X))


@each_kind
@each_shrinkage
def test_columns_of_any_scale(kind, shrinkage) -> None:
    X, y = blobs()
    unit = np.array([1e150, 1.0, 1e-150, 1e3])
    if shrinkage == 0.3:
        # A shrinkage that is one number for all columns needs columns of one size.
        unit = np.full(4, 1e150)
    plain, model = kind(shrinkage=shrinkage).fit(X, y), kind(shrinkage=shrinkage).fit(X * unit, y)
    np.testing.assert_allclose(model.predict_proba(X * unit), plain.predict_proba(X), atol=1e-9)
    step = plain.log_likelihood(X) - model.log_likelihood(X * unit)
    np.testing.assert_allclose(step, np.log(unit).sum(), atol=1e-9)
    assert model.condition_number_ == pytest.approx(plain.condition_number_)
    if kind is LinearDiscriminantAnalysis:
        np.testing.assert_allclose(model.transform(X * unit), plain.transform(X), atol=1e-9)


@each_kind
@pytest.mark.parametrize("k", range(2, 11))
@pytest.mark.parametrize("d", [1, 3])
def test_any_number_of_classes_and_columns(kind, k, d) -> None:
    X, y = blobs(40 * k, d, k, seed=k)
    model = kind().fit(X, y)
    if kind is LinearDiscriminantAnalysis:
        peer = SklearnLDA(solver="lsqr").fit(X, y)
        assert model.transform(X).shape == (40 * k, min(k - 1, d))
        assert_close(model.decision_function(X), peer.decision_function(X))
    else:
        same = kind(covariance=CONVENTION).fit(X, y)
        assert_close(same.decision_function(X), SklearnQDA().fit(X, y).decision_function(X))
    assert_agreement(model, X)
    assert len(model.discriminant().boundaries()) == k * (k - 1) // 2


def assert_agreement(model, X) -> None:
    predicted = model.predict(X)
    scores, proba = model.decision_function(X), model.predict_proba(X)
    log_proba = model.predict_log_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(np.exp(log_proba), proba, rtol=1e-9, atol=1e-300)
    best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    for winner in (best, proba.argmax(axis=1), log_proba.argmax(axis=1)):
        np.testing.assert_array_equal(model.classes_[winner], predicted)
    if scores.ndim == 1:
        np.testing.assert_allclose(log_proba[:, 1] - log_proba[:, 0], scores, atol=1e-9)
    else:
        step = (scores - scores[:, :1]) - (log_proba - log_proba[:, :1])
        assert np.abs(step).max() <= 1e-9 * max(1.0, np.abs(scores).max())


@each_kind
@pytest.mark.parametrize("k", [2, 3])
def test_answers_agree_far_away_and_on_boundaries(kind, k) -> None:
    X, y = blobs(k=k)
    model = kind().fit(X, y)
    far = np.concatenate([X * 1e5, X * 1e30, -X * 1e5])
    assert_agreement(model, far)
    # Symmetric classes: the origin, and all of a line, are on the boundary.
    Z = np.array([[-1.0, 0.0], [-2.0, 1.0], [-2.0, -1.0], [-3.0, 0.5], [-3.0, -0.5]])
    Z = np.vstack([Z, -Z])
    model = kind().fit(Z, np.repeat([0, 1], 5))
    assert model.predict([[0.0, 0.0]]).tolist() == [0]
    assert_agreement(model, np.array([[0.0, 0.0], [0.0, 7.0], [0.0, -3.0]]))


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_variances_that_underflow_are_refused(model) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0.0
    right = model().fit(X, y).score(X, y)
    for scale, refused in ((1e-140, False), (1e-158, True), (1e-165, True), (1e-300, True)):
        Z = X * [1.0, scale, 1.0]
        if refused:
            with pytest.raises(ValueError, match=r"The variance of column 1 underflows; multiply"):
                model().fit(Z, y)
        else:
            assert model().fit(Z, y).score(Z, y) == right
    # A column of zeros is no such case, because nothing of it is lost.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model().fit(X * [1.0, 0.0, 1.0], y).score(X * [1.0, 0.0, 1.0], y) > 0.7


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("offset", [1e3, 1e9, 1e11])
def test_means_keep_the_digits_that_an_offset_rounds_off(offset: float, classes: int) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % classes
    X = rng.normal(size=(60, 2)) + y[:, None] * np.array([1.0, -0.5]) + offset
    # The same rows about another origin, to the last digit.
    near = X - offset
    far, wanted = LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(near, y)
    np.testing.assert_allclose(far.centred_coef_, wanted.centred_coef_, rtol=1e-9)
    verified = verify(far, X, y)
    if classes == 2:
        np.testing.assert_allclose(far.coef_, wanted.coef_, rtol=1e-9)
        assert far.certificate_.ok and verified.ok
    else:
        # The common part of coef_ rounds off the classes' differences, as both certificates show.
        assert far.certificate_.ok is verified.ok is (offset < 1e9)
    quadratic = QuadraticDiscriminantAnalysis()
    proba = quadratic.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba, quadratic.fit(near, y).predict_proba(near), atol=1e-12)


def test_beyond_the_range_of_floats_the_nearer_class_wins() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), 5 * rng.normal(size=(50, 2))])
    model = QuadraticDiscriminantAnalysis().fit(X, np.repeat([0, 1], 50))
    huge = np.array([[1e200, 1e200], [-1e300, 1e10], [3e3, 1e307]])
    # The wider class reaches further.
    assert model.predict(huge).tolist() == [1, 1, 1]
    assert model.predict_proba(huge).tolist() == [[0.0, 1.0]] * 3
    three = QuadraticDiscriminantAnalysis().fit(
        np.concatenate([X, 2 * X[:50]]), np.repeat([0, 1, 2], 50)
    )
    assert three.predict(huge).tolist() == [1, 1, 1]
    assert np.isfinite(three.decision_function(huge)).all()


@each_kind
def test_likelihoods(kind) -> None:
    from scipy.stats import multivariate_normal

    X, y = load_iris(return_X_y=True)
    model = kind().fit(X, y)
    likelihood = model.log_likelihood(X)
    for k in range(3):
        matrix = model.covariance_ if model.covariance_.ndim == 2 else model.covariance_[k]
        expected = multivariate_normal(model.means_[k], matrix).logpdf(X)
        np.testing.assert_allclose(likelihood[:, k], expected, rtol=1e-10, atol=1e-10)
    joint = likelihood + np.log(model.priors_)
    np.testing.assert_allclose(
        model.predict_log_proba(X), joint - model.score_samples(X)[:, None], atol=1e-9
    )
    # Maximum likelihood: no other parameters are likelier.
    own = likelihood[np.arange(150), y].sum()
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = kind().fit(X + 0.01 * rng.normal(size=X.shape), y)
        assert other.log_likelihood(X)[np.arange(150), y].sum() < own


# --- sampling ----------------------------------------------------------------------------------


@each_kind
def test_samples_recover_the_model_within_standard_errors(kind) -> None:
    X, y = load_iris(return_X_y=True)
    model = kind(priors=[0.2, 0.3, 0.5]).fit(X, np.array(["a", "b", "c"])[y])
    n = 30_000
    drawn, labels = model.sample(n, random_state=3)
    assert drawn.shape == (n, 4) and set(labels) == {"a", "b", "c"}
    again = kind().fit(drawn, labels)
    counts = np.array([np.sum(labels == c) for c in "abc"])
    z = [(again.priors_ - model.priors_) / np.sqrt(model.priors_ * (1 - model.priors_) / n)]
    quadratic = 0.0
    for k in range(3):
        S = model.covariance_ if model.covariance_.ndim == 2 else model.covariance_[k]
        step = again.means_[k] - model.means_[k]
        z.append(step / np.sqrt(np.diag(S) / counts[k]))
        # All means at once: a sum of squares of twelve standard normals.
        quadratic += counts[k] * step @ np.linalg.solve(S, step)
    assert 1e-3 < chi2(12).sf(quadratic) < 1 - 1e-3
    pairs = [(again.covariance_, model.covariance_, n)]
    if model.covariance_.ndim == 3:
        pairs = list(zip(again.covariance_, model.covariance_, counts, strict=True))
    for found, S, rows in pairs:
        # Var(s_ij) = (s_ii s_jj + s_ij^2) / n.
        error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / rows)
        z.append(((found - S) / error)[np.triu_indices(4)])
    z = np.concatenate(z)
    # Every single one of them, and all of them together: their squares average one.
    assert np.abs(z).max() < 4.0
    assert 0.4 < np.mean(z**2) < 2.0


@each_kind
def test_samples_are_reproducible(kind) -> None:
    model = kind().fit(*load_iris(return_X_y=True))
    one, two = model.sample(7, random_state=1), model.sample(7, random_state=1)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    assert not np.array_equal(one[0], model.sample(7, random_state=2)[0])
    assert model.sample()[0].shape == (1, 4)
    for n in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="n="):
            model.sample(n)


# --- singular covariances ----------------------------------------------------------------------


def one_hot_frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(rng.normal(size=(n, 2)) + y[:, None], columns=["height", "width"])
    colours = rng.integers(0, 3, n)
    for j, name in enumerate(["red", "green", "blue"]):
        frame[name] = (colours == j).astype(float)
    frame["one"] = 1.0
    return frame, np.array(["x", "y", "z"])[y]


def test_redundant_columns_are_left_out_and_named() -> None:
    frame, y = one_hot_frame()
    message = "'one' is constant, 'blue' is a combination of 'red' and 'green'.*4 of 6 columns"
    for kind in KINDS:
        with pytest.warns(LinAlgWarning, match=message):
            model = kind().fit(frame, y)
        assert model.certificate_.ok and model.certificate_.rank == 4
        assert model.certificate_.n_columns == 6
        assert model.independent_columns_.tolist() == [0, 1, 2, 3]
        # Nothing is lost.
        small = kind().fit(frame.iloc[:, :4], y)
        np.testing.assert_allclose(
            model.predict_proba(frame), small.predict_proba(frame.iloc[:, :4]), atol=1e-10
        )
        np.testing.assert_allclose(
            model.score_samples(frame), small.score_samples(frame.iloc[:, :4]), atol=1e-9
        )
        drawn, _ = model.sample(50, random_state=0)
        np.testing.assert_allclose(drawn[:, 2:5].sum(axis=1), 1.0, atol=1e-12)
    with pytest.warns(LinAlgWarning):
        model = LinearDiscriminantAnalysis().fit(frame, y)
    peer = SklearnLDA(solver="lsqr").fit(frame, y)
    # The solution of least norm.
    assert_close(model.coef_, peer.coef_)
    assert_close(model.intercept_, peer.intercept_)


def test_redundant_columns_are_told_once_by_partial_fit() -> None:
    frame, y = one_hot_frame()
    model = LinearDiscriminantAnalysis()
    with pytest.warns(LinAlgWarning, match="tell nothing"):
        model.partial_fit(frame[:200], y[:200], classes=["x", "y", "z"])
    model.partial_fit(frame[200:], y[200:])
    with pytest.warns(LinAlgWarning, match="tell nothing"):
        whole = LinearDiscriminantAnalysis().fit(frame, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)


def test_a_column_that_gives_the_class_away() -> None:
    frame, y = one_hot_frame()
    frame["one"] = (y == "z").astype(float)
    for kind in KINDS:
        with pytest.warns(LinAlgWarning, match="'one' is constant within every class, but not the"):
            model = kind().fit(frame, y)
        assert model.floored_.all() and model.certificate_.ok
        assert "1e-6 of the variances over all rows" in model.objective_formula_
        # The column does give the class away.
        np.testing.assert_array_equal(model.predict(frame) == "z", y == "z")
        assert model.predict_proba(frame)[y == "z", 2].min() > 0.999
        assert verify(model, frame, y).ok
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(again.decision_function(frame), model.decision_function(frame))
    assert LinearDiscriminantAnalysis(shrinkage="auto").fit(frame, y).score(frame, y) > 0.8
    frame["one"] = frame["height"] + (y == "z")
    with pytest.warns(LinAlgWarning, match="within the classes 'one' is a combination of 'height'"):
        model = LinearDiscriminantAnalysis().fit(frame.drop(columns="blue"), y)
    np.testing.assert_array_equal(model.predict(frame.drop(columns="blue")) == "z", y == "z")


@each_kind
def test_a_floor_is_a_millionth_of_the_variance(kind) -> None:
    X = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 3.0], [9.0, 3.0]])
    with pytest.warns(LinAlgWarning, match=r"singular.* floor, 1e-06 of the variance"):
        model = kind().fit(X, [0, 0, 1, 1])
    floor = 1e-6 * X.var(axis=0)
    each = np.array([np.diag([1.0, 0.0]), np.diag([4.0, 0.0])])
    expected = each.mean(axis=0) if kind is LinearDiscriminantAnalysis else each
    expected = expected + np.diag(floor)
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-12)
    assert model.predict([[1.0, 1.1], [1.0, 2.9]]).tolist() == [0, 1]
    # The sums of partial_fit are those of the rows, and the floor is gone when it is not needed.
    model.partial_fit([[1.0, 0.0], [1.0, 2.0], [7.0, 2.0], [7.0, 4.0]], [0, 0, 1, 1])
    assert not model.floored_.any()
    whole = kind().fit(
        np.vstack([X, [[1.0, 0.0], [1.0, 2.0], [7.0, 2.0], [7.0, 4.0]]]), [0, 0, 1, 1] * 2
    )
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-12)


@each_kind
def test_a_floor_does_not_depend_on_units(kind) -> None:
    frame, y = one_hot_frame()
    frame["one"] = (y == "z").astype(float)
    units = np.array([1.0, 1e3, 1e-4, 1.0, 1e6, 1e-8])
    with pytest.warns(LinAlgWarning):
        model, other = kind().fit(frame, y), kind().fit(frame * units, y)
    np.testing.assert_allclose(
        model.predict_proba(frame), other.predict_proba(frame * units), atol=1e-7
    )


def test_the_singular_class_is_named() -> None:
    frame, y = one_hot_frame()
    frame = frame[["height", "width"]].copy()
    frame["area"] = np.where(y == "y", 3 * frame["width"], frame["width"] ** 2)
    with pytest.warns(LinAlgWarning, match="class 'y' is singular: 'area' is a combination of 'wi"):
        model = QuadraticDiscriminantAnalysis().fit(frame, y)
    assert model.floored_.tolist() == [False, True, False]
    # On its plane there is no doubt about the class.
    assert np.all(model.predict(frame)[y == "y"] == "y")
    for shrinkage in (0.1, "auto"):
        QuadraticDiscriminantAnalysis(shrinkage=shrinkage).fit(frame, y)
    X, y = load_digits(return_X_y=True)
    with pytest.warns(LinAlgWarning, match="class 0 is singular: columns 7, 8, 15 and 10 more"):
        model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert model.score(X, y) > 0.9
    few = np.concatenate([np.arange(40), np.arange(1797)[y == 3][:5]])
    with pytest.warns(LinAlgWarning, match="rows in 10 classes are too few for 64 columns"):
        model = LinearDiscriminantAnalysis().fit(X[few], y[few])
    assert model.score(X[few], y[few]) == 1.0


def test_nothing_but_constants_leaves_the_priors() -> None:
    with pytest.warns(LinAlgWarning, match="0 of 2 columns"):
        model = LinearDiscriminantAnalysis().fit(np.ones((10, 2)), [0] * 3 + [1] * 7)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[0.3, 0.7]])


# --- bad input ---------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "other"}, "covariance='other' is not known"),
        ({"shrinkage": "much"}, "shrinkage='much' is not known"),
        ({"shrinkage": 1.5}, "shrinkage=1.5 must be a number from 0 to 1"),
        ({"shrinkage": -0.5}, "shrinkage=-0.5 must be"),
        ({"shrinkage": True}, "shrinkage=True must be"),
        ({"priors": [0.5, 0.5]}, "one number for each of the 3 classes"),
        ({"priors": [0.5, 0.5, 0.5]}, "must be positive and sum to 1"),
        ({"priors": [0.0, 0.5, 0.5]}, "must be positive and sum to 1"),
    ],
)
def test_bad_parameters(kind, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**options).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("n", [0, 3, 1.5])
def test_bad_numbers_of_components(n) -> None:
    with pytest.raises(ValueError, match="n_components="):
        LinearDiscriminantAnalysis(n_components=n).fit(*load_iris(return_X_y=True))


@each_kind
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.asfortranarray])
def test_what_is_missing_is_named(kind, make) -> None:
    X, y = blobs()
    for value, what in ((np.nan, "NaN"), (-np.inf, "infinity")):
        bad = X.copy()
        bad[123, 2] = value
        with pytest.raises(ValueError, match=f"{what}.* at row 123, column 2"):
            kind().fit(make(bad), y)
        model = kind().fit(X, y)
        with pytest.raises(ValueError, match=f"{what}.* at row 123, column 2"):
            model.predict(make(bad))
        # A row that counts for nothing must still be a row of numbers.
        weights = np.ones(len(y))
        weights[123] = 0.0
        with pytest.raises(ValueError, match="row 123, column 2"):
            kind().fit(make(bad), y, sample_weight=weights)


@each_kind
def test_other_bad_input(kind) -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match="one class only"):
        kind().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="row 4 has -1"):
        kind().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 4, -1.0, 1.0))
    with pytest.raises(ValueError, match="variance of column 0 overflows"):
        kind().fit(X * [1e200, 1, 1, 1], y)
    wide = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 5])), shape=(4, 3_000_000))
    with pytest.raises(ValueError, match="do not fit in memory"):
        kind().fit(wide, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        kind().fit(X, X[:, 0])


# --- as an estimator ---------------------------------------------------------------------------


@each_kind
def test_pickles_and_copies(kind) -> None:
    X, y = load_iris(return_X_y=True)
    model = kind().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert {"_gaussians", "covariance_"}.isdisjoint(model.__getstate__())
    np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-12)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.partial_fit(X, y)
    np.testing.assert_allclose(again.covariance_, model.covariance_, rtol=1e-12)


@each_kind
def test_formulas(kind) -> None:
    X, y = load_iris(return_X_y=True)
    text = kind().fit(X, y).objective_formula_
    if kind is LinearDiscriminantAnalysis:
        expected = "mu_k' S^-1 x - 1/2 mu_k' S^-1 mu_k + log pi_k, S = sum_k n_k S_k / N"
    else:
        expected = "-1/2 log |S_k| - 1/2 (x - mu_k)' S_k^-1 (x - mu_k) + log pi_k, S_k = sum_i"
    assert text.startswith(f"delta_k(x) = {expected}")
    assert "Ledoit" in kind(shrinkage="auto").fit(X, y).objective_formula_
    assert "0.9 C + 0.1 tr(C)/d I" in kind(shrinkage=0.1).fit(X, y).objective_formula_
    assert " - " in kind(covariance="unbiased").fit(X, y).objective_formula_.split("/ (")[1]


@each_kind
def test_in_a_pipeline(kind) -> None:
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), kind()), X, y, cv=5).mean() > 0.95
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(13)])
    model = kind().fit(frame, y)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="order"):
        model.predict(frame[frame.columns[::-1]])


def test_logistic_regression_of_samples_finds_the_same_boundary() -> None:
    # Two Gaussians with one covariance have a logistic posterior.
    model = LinearDiscriminantAnalysis().fit(*blobs(k=2))
    drawn, labels = model.sample(40_000, random_state=0)
    logistic = LogisticRegression(penalty=None).fit(drawn, labels)
    proba = model.predict_proba(drawn)[:, 1]
    X = np.hstack([drawn, np.ones((len(drawn), 1))])
    information = (X * (proba * (1 - proba))[:, None]).T @ X
    step = np.append(logistic.coef_[0] - model.coef_[0], logistic.intercept_ - model.intercept_)
    assert chi2(5).sf(step @ information @ step) > 1e-3


# Some of the checks fit singular covariances: of fewer rows than columns, or of a class in which
# nothing varies.
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@parametrize_with_checks([LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()])
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@parametrize_with_checks(
    [
        QuadraticDiscriminantAnalysis(shrinkage=0.1),
        LinearDiscriminantAnalysis(covariance="unbiased", n_components=1),
    ]
)
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


# --- covariances by an estimator ----------------------------------------------------------------


@each_kind
def test_covariances_by_an_estimator(kind) -> None:
    X, y = blobs(k=3)
    same = kind(covariance_estimator=EmpiricalCovariance()).fit(X, y)
    np.testing.assert_allclose(same.covariance_, kind().fit(X, y).covariance_, rtol=1e-10)
    plain = SimpleNamespace(fit=lambda rows: EmpiricalCovariance().fit(rows))
    np.testing.assert_array_equal(
        kind(covariance_estimator=plain).fit(X, y).predict(X), same.predict(X)
    )

    class Silent:
        def fit(self, rows):
            self.covariance_ = EmpiricalCovariance().fit(rows).covariance_

    np.testing.assert_array_equal(
        kind(covariance_estimator=Silent()).fit(X, y).predict(X), same.predict(X)
    )
    model = kind(covariance_estimator=ShrunkCovariance(shrinkage=0.3)).fit(X, y)
    np.testing.assert_allclose(model.covariance_, kind(shrinkage=0.3).fit(X, y).covariance_)
    assert model.certificate_.ok and verify(model, X, y).ok
    assert "ShrunkCovariance" in model.objective_formula_
    with pytest.raises(ValueError, match="needs all rows of a class at once"):
        kind(covariance_estimator=ShrunkCovariance()).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="does not use weights"):
        model.fit(X, y, sample_weight=np.arange(len(y)) % 2 + 1.0)
    with pytest.raises(ValueError, match="has no fit"):
        kind(covariance_estimator="oas").fit(X, y)
    with pytest.raises(ValueError, match="does not have a covariance_ attribute"):
        kind(covariance_estimator=StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="both set the covariances"):
        kind(covariance_estimator=ShrunkCovariance(), shrinkage=0.5).fit(X, y)


def test_axes_of_quadratic_classes() -> None:
    X, y = blobs(k=3)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    for axes, variances, covariance in zip(
        model.rotations_, model.scalings_, model.covariance_, strict=True
    ):
        np.testing.assert_allclose((axes * variances) @ axes.T, covariance, atol=1e-12)
        assert np.all(np.diff(variances) <= 0.0)


def test_verification_reads_the_rows_once(monkeypatch) -> None:
    X, y = load_iris(return_X_y=True)
    models = LinearDiscriminantAnalysis().fit(X, y), SklearnLDA().fit(X, y)
    of, seen = Moments.of, []
    monkeypatch.setattr(Moments, "of", lambda *rows, **how: seen.append(rows) or of(*rows, **how))
    # The one has two sets of planes to verify, and the other two divisors.
    assert all(verify(model, X, y).ok for model in models) and len(seen) == len(models)


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_columns_that_are_all_constant_leave_the_priors(kind) -> None:
    X, y = np.full((6, 2), 3.0), np.array([0, 0, 0, 0, 1, 1])
    with pytest.warns(LinAlgWarning, match="constant|same|single"):
        model = kind().fit(X, y)
    assert model.certificate_.ok, str(model.certificate_)
    assert model.predict_proba(X)[0] == pytest.approx([2 / 3, 1 / 3])


class Given:
    """An estimator of one covariance, whatever the rows."""

    def __init__(self, covariance: np.ndarray) -> None:
        self.covariance_ = covariance

    def fit(self, X: np.ndarray) -> Given:
        return self


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize(
    ("across", "back", "why"),
    [(0.5, 0.0, "of class 0 that is not symmetric"), (np.nan, np.nan, "NaN or infinity in its")],
)
def test_estimators_give_covariances_that_are_symmetric_and_finite(kind, across, back, why) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    estimator = Given(np.array([[1.0, across], [back, 1.0]]))
    with pytest.raises(ValueError, match=why):
        kind(covariance_estimator=estimator).fit(X, y)
