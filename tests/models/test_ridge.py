"""Ridge regression under scikit-learn's names: the same numbers, and what leaves rows out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.model_selection import GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from separatrix import (
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    load_model,
    save_model,
    verify,
)
from separatrix.closed_form.leave_one_out import leave_one_out_residuals
from separatrix.data.design import as_design

ALPHAS = [1e-3, 1e-2, 0.1, 1.0]


@parametrize_with_checks([Ridge(), RidgeClassifier(), RidgeCV(), RidgeClassifierCV()])
def test_check_estimator(estimator, check) -> None:
    check(estimator)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y)).round(1)
    return X, y, weights


def saved(model, tmp_path):
    save_model(tmp_path / "m.separatrix", model)
    return load_model(tmp_path / "m.separatrix").model


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
def test_the_numbers_of_scikit_learn(alpha, fit_intercept, weighted, tmp_path) -> None:
    X, y, weights = diabetes()
    weights = weights if weighted else None
    peer = theirs.Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, weights)
    for rows in (X, sp.csr_matrix(X), np.asfortranarray(X)):
        model = Ridge(alpha, fit_intercept=fit_intercept).fit(rows, y, weights)
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
        assert model.intercept_ == pytest.approx(peer.intercept_)
        assert model.certificate_.ok and verify(model, rows, y, sample_weight=weights).ok
    again = saved(model, tmp_path)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert (model.n_iter_ >= 1, model.solver_) == (True, "cholesky")
    # The model takes no further rows, so that nothing is kept for them.
    assert not hasattr(model, "factor_")
    for other in (
        Ridge([alpha, 2.0 * alpha]).fit(X, np.c_[y, y]),
        RidgeClassifier().fit(X, y > 150),
    ):
        assert other.solver_ == "cholesky" and not hasattr(other, "factor_")


def test_a_strength_for_each_target(tmp_path) -> None:
    X, y, _ = diabetes()
    Y = np.stack([y, X[:, 0] - 2.0 * y], axis=1)
    model, peer = Ridge([0.5, 2.0]).fit(X, Y), theirs.Ridge([0.5, 2.0]).fit(X, Y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    assert verify(saved(model, tmp_path), X, Y).ok
    with pytest.raises(ValueError, match="alpha has 3 values, and there are 2 targets"):
        Ridge([1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(ValueError, match="alpha"):
        Ridge(-1.0).fit(X, y)


def test_its_path_is_of_alphas() -> None:
    X, y, _ = diabetes()
    path = Ridge().path(X, y, ALPHAS, cv=4)
    for value, model in zip(path.values, path.models, strict=True):
        np.testing.assert_allclose(model.coef_, Ridge(value).fit(X, y).coef_, rtol=1e-9)
    assert path.parameter == "alpha"
    assert len(Ridge().path(X, y, 5)) == 5


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_residuals_of_rows_left_out_are_those_of_fits_without_them(fit_intercept) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 4)), rng.normal(size=(12, 2))
    X[:, 3] = X[:, 0] - X[:, 1]
    weights = rng.uniform(0.5, 2.0, 12)
    alphas = np.array([0.1, 3.0])
    found = leave_one_out_residuals(as_design(X), y, alphas, weights, fit_intercept)
    for k, alpha in enumerate(alphas):
        for i in range(12):
            rest = np.arange(12) != i
            alone = Ridge(alpha, fit_intercept=fit_intercept).fit(X[rest], y[rest], weights[rest])
            np.testing.assert_allclose(
                found[k, i], y[i] - alone.predict(X[i : i + 1])[0], rtol=1e-7
            )


@pytest.mark.parametrize(
    "options",
    [{}, {"cv": 3}, {"scoring": "neg_mean_absolute_error"}, {"store_cv_results": True}],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_choice_of_scikit_learn(options, weighted, tmp_path) -> None:
    X, y, weights = diabetes()
    weights = np.maximum(weights, 0.1) if weighted else None
    model = RidgeCV(ALPHAS, **options).fit(X, y, weights)
    peer = theirs.RidgeCV(ALPHAS, **options).fit(X, y, weights)
    assert model.alpha_ == peer.alpha_
    assert model.best_score_ == pytest.approx(peer.best_score_)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-8)
    if "store_cv_results" in options:
        np.testing.assert_allclose(model.cv_results_, peer.cv_results_, rtol=1e-7)
    assert verify(saved(model, tmp_path), X, y, sample_weight=weights).ok


def test_a_choice_for_each_target(tmp_path) -> None:
    X, y, _ = diabetes()
    Y = np.stack([y, np.random.default_rng(2).normal(size=len(y))], axis=1)
    model = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
    peer = theirs.RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
    assert model.alpha_.tolist() == peer.alpha_.tolist() == [0.01, 1.0]
    np.testing.assert_allclose(model.best_score_, peer.best_score_)
    saved(model, tmp_path)
    with pytest.raises(ValueError, match="store_cv_results=True needs leave-one-out errors"):
        RidgeCV(cv=3, store_cv_results=True).fit(X, y)
    for cv in (None, 3):
        with pytest.raises(ValueError, match="scoring='nice' is not known"):
            RidgeCV(scoring="nice", cv=cv).fit(np.arange(12.0).reshape(6, 2), np.arange(6.0))
    with pytest.raises(ValueError, match="alphas is empty"):
        RidgeCV([]).fit(X, y)


def test_a_strength_whose_score_is_not_a_number_is_not_chosen() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)

    def scored(model, X, y):
        return np.nan if model.alpha > 5.0 else 1.0 / model.alpha

    assert RidgeCV([10.0, 1.0, 2.0], scoring=scored, cv=3).fit(X, y).alpha_ == 1.0
    with pytest.raises(ValueError, match="no value was scored on all folds"):
        RidgeCV([10.0], scoring=scored, cv=3).fit(X, y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classification(k, class_weight, tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[: 20 + 50 * (k - 1)], np.array(["a", "b", "c"])[y[: 20 + 50 * (k - 1)]]
    model = RidgeClassifier(class_weight=class_weight).fit(X, y)
    peer = theirs.RidgeClassifier(class_weight=class_weight).fit(X, y)
    assert model.coef_.shape == ((4,) if k == 2 else (3, 4))
    np.testing.assert_allclose(np.atleast_2d(model.coef_), np.atleast_2d(peer.coef_), rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=1e-9)
    assert model.predict(X).tolist() == peer.predict(X).tolist()
    assert verify(saved(model, tmp_path), X, y).ok
    for options in ({}, {"cv": 3}, {"scoring": "accuracy"}, {"store_cv_results": True}):
        model = RidgeClassifierCV(class_weight=class_weight, **options).fit(X, y)
        peer = theirs.RidgeClassifierCV(class_weight=class_weight, **options).fit(X, y)
        assert model.alpha_ == peer.alpha_
        assert model.best_score_ == pytest.approx(peer.best_score_)
    assert model.cv_results_.shape == ((len(y), 1, 3) if k == 2 else (len(y), 3, 3))
    assert verify(saved(model, tmp_path), X, y).ok


@pytest.mark.parametrize("name", ["Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"])
def test_wide_and_dependent_rows(name) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 40))
    X[:, 7] = X[:, 3]
    y = rng.normal(size=20) if "Classifier" not in name else rng.integers(0, 2, 20)
    model, peer = getattr(separatrix, name)().fit(X, y), getattr(theirs, name)().fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(peer.coef_), atol=1e-9)
    assert model.certificate_.ok


@pytest.mark.parametrize("shape", [(100, 50), (50, 50), (50, 100)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_left_out_under_next_to_no_penalty(shape, fit_intercept) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    model = RidgeCV(alphas=[1e-9], fit_intercept=fit_intercept, store_cv_results=True).fit(X, y)
    for i in range(3):
        rest = np.arange(shape[0]) != i
        one = Ridge(1e-9, fit_intercept=fit_intercept).fit(X[rest], y[rest])
        left = float(y[i] - one.predict(X[i : i + 1])[0]) ** 2
        assert model.cv_results_[i, 0] == pytest.approx(left, rel=1e-4)


def test_steps_end_where_the_certificate_is_small_enough() -> None:
    rng = np.random.default_rng(0)
    X = sp.random(3000, 1200, 0.02, "csr", random_state=rng)
    y = X @ rng.standard_normal(1200) + rng.standard_normal(3000)
    exact = Ridge(alpha=10.0).fit(X, y)
    loose = Ridge(alpha=10.0, tol=1e-3).fit(X, y)
    assert exact.factor_ is None and loose.n_iter_ < exact.n_iter_
    assert exact.certificate_.relative_residual <= 1e-12
    assert exact.certificate_.relative_residual < loose.certificate_.relative_residual <= 1e-3
    assert loose.certificate_.tol == 1e-3 and loose.certificate_.ok
    assert verify(loose, X, y).ok

    def value(model):
        return np.sum((y - model.predict(X)) ** 2) + 10.0 * model.coef_ @ model.coef_

    assert value(exact) < value(loose) <= (1.0 + 1e-4) * value(exact)
    with pytest.raises(ValueError, match="tol=-1"):
        Ridge(tol=-1).fit(X, y)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_weights_have_the_precision_of_the_rows(positive, several, tmp_path) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X.astype(np.float32), np.stack([y, -y], axis=1) if several else y
    model = Ridge(alpha=0.5, positive=positive).fit(X, y)
    assert model.coef_.dtype == np.float32 and model.predict(X).dtype == np.float32
    # The certificate is that of the rounded weights.
    certificate = model.certificate_
    assert certificate.ok and 1e-12 < certificate.relative_residual <= certificate.tol == 1e-6
    wide = Ridge(alpha=0.5, positive=positive).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(model.coef_, wide.coef_, rtol=1e-5, atol=1e-5)
    save_model(tmp_path / "r.separatrix", model)
    stored = load_model(tmp_path / "r.separatrix").model
    assert np.array_equal(stored.predict(X), model.predict(X))
    assert verify(stored, X, y, tol=1e-6).ok
    # Where float32 would lose information of the rows, weights are float64.
    far = Ridge(alpha=0.5).fit(X, 1e7 + y)
    assert far.coef_.dtype == np.float64 and far.certificate_.relative_residual < 1e-9


@pytest.mark.parametrize("name", ["RidgeClassifier", "RidgeClassifierCV"])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced", "fit_intercept": False}])
def test_several_labels_a_row(name, options, tmp_path) -> None:
    X, y = make_multilabel_classification(n_classes=3, n_labels=1, random_state=0)
    mine = getattr(separatrix, name)(**options).fit(X, y)
    other = getattr(theirs, name)(**options).fit(X, y)
    assert np.allclose(mine.coef_, other.coef_, atol=1e-10) and mine.classes_.tolist() == [0, 1, 2]
    assert mine.multilabel_ and np.array_equal(mine.predict(X), other.predict(X))
    assert mine.score(X, y) == other.score(X, y)
    assert mine.certificate_.ok and separatrix.verify(mine, X, y).ok
    assert np.array_equal(saved(mine, tmp_path).predict(X), mine.predict(X))
    same = getattr(separatrix, name)(**options).fit(X, sp.csr_array(y))
    assert np.array_equal(same.coef_, mine.coef_)
    with pytest.raises(ValueError, match=r"y has 2 in row 1, column 2; .* 1 for each"):
        mine.fit(X, 2 * y)


def test_columns_of_zeros_and_constants_change_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 3.0
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=60)
    labels = (y > y.mean()).astype(int)
    for idle in (np.zeros(60), np.full(60, 7.0)):
        wide = np.column_stack([idle, X[:, :2], idle, X[:, 2:]])
        for alpha in (1e-6, 1.0, 100.0):
            plain, model = Ridge(alpha).fit(X, y), Ridge(alpha).fit(wide, y)
            assert model.certificate_.status == "optimal", alpha
            np.testing.assert_allclose(model.coef_[[1, 2, 4, 5]], plain.coef_, rtol=1e-12)
            np.testing.assert_allclose(model.coef_[[0, 3]], 0.0, atol=1e-18 * idle[0])
            assert separatrix.verify(model, wide, y).ok
            assert RidgeClassifier(alpha).fit(wide, labels).certificate_.ok


@pytest.mark.parametrize("chosen", [RidgeCV, RidgeClassifierCV])
def test_groups_reach_the_splitter_and_other_arguments_are_refused(chosen):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.arange(60) % 7
    y = (X[:, 0] + rng.normal(size=60) > 0.0).astype(int)
    splitter = GroupKFold(3)
    found = chosen(cv=splitter).fit(X, y, groups=groups)
    expected = chosen(cv=list(splitter.split(X, y, groups))).fit(X, y)
    assert (found.alpha_, found.best_score_) == (expected.alpha_, expected.best_score_)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weights'"):
        chosen().fit(X, y, sample_weights=np.ones(60))
    with pytest.raises(ValueError, match=r"^groups are for the splitter of cv"):
        chosen().fit(X, y, groups=groups)


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        (["r2"], r"^scoring=\['r2'\] must be the name of one scorer"),
        (5, "^scoring=5 must be the name of one scorer"),
        (lambda *_: "a", "^scoring returned 'a'; it must return a number"),
        (lambda *_: np.zeros(2), "^scoring returned array.*; it must return a number"),
    ],
)
@pytest.mark.parametrize("chosen", [RidgeCV, LogisticRegressionCV])
def test_a_scoring_that_is_none_is_refused_in_one_sentence(chosen, scoring, said):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=said):
        chosen(cv=3, scoring=scoring).fit(X, (X[:, 0] > 0.0).astype(int))


def test_a_scoring_that_does_not_suit_the_targets_is_refused_in_one_sentence():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="^this scoring does not suit the model: continuous"):
        RidgeCV(cv=3, scoring="accuracy").fit(X, X[:, 0])
