"""What scikit-learn's classes accept, their namesakes accept as well."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

import separatrix
from separatrix.exceptions import ConventionWarning
from separatrix.migration.installing import originals
from separatrix.migration.parameters import parameter_table
from separatrix.migration.precision import precision_table
from separatrix.models import sklearn_compat
from separatrix.models.parameters import CompatParameter

NAMES = sorted(originals())
X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_there_and_its_default_is_taken(name: str) -> None:
    ours, theirs = getattr(separatrix, name), originals()[name]
    defaults = {k: p.default for k, p in inspect.signature(theirs).parameters.items()}
    known = inspect.signature(ours).parameters
    assert set(defaults) <= set(known)
    positional = [k for k, p in inspect.signature(theirs).parameters.items() if p.kind == 1]
    assert positional == [k for k, p in known.items() if p.kind == 1][: len(positional)]
    model = ours(**defaults)
    assert clone(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        # A warning states that 100 iterations or 1,000 passes are not enough for a gap of tol.
        warnings.simplefilter("ignore")
        model.fit(X[:200], y[:200])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_inherited_is_documented(name: str) -> None:
    kind = getattr(separatrix, name)
    for parameter, one in kind._parameters.items():
        if not isinstance(one, CompatParameter):
            continue
        assert f"\n{parameter} : default={one.default!r}\n    {one.meaning}." in kind.__doc__


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dula'; did you mean 'dual'"):
        separatrix.LinearSVC(dula=True)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (separatrix.LinearSVC(multi_class="crammer_singer"), "one problem for all classes"),
        (separatrix.Perceptron(penalty="l3"), "give one of 'l2', 'l1', 'elasticnet', None"),
        (separatrix.Perceptron(early_stopping="yes"), "give True or False"),
        (separatrix.LinearRegression(positive="yes"), "give True or False"),
        (separatrix.QuadraticDiscriminantAnalysis(reg_param=1.5), "from 0 to 1"),
    ],
    ids=repr,
)
def test_what_asks_for_something_else_is_refused(model, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)


@pytest.mark.parametrize(
    "solver", ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"]
)
def test_names_of_solvers_stand_for_the_choice(solver: str) -> None:
    model = separatrix.LogisticRegression(solver=solver).fit(X, y)
    np.testing.assert_array_equal(model.coef_, separatrix.LogisticRegression().fit(X, y).coef_)


@pytest.mark.filterwarnings("ignore")
def test_a_score_of_zero_is_the_first_class_as_in_scikit_learn() -> None:
    rows, sides = sp.csr_matrix([[-2.0], [-1.0], [1.0], [2.0]]), ["a", "a", "b", "b"]
    for name in ("LogisticRegression", "LinearSVC", "Perceptron", "SGDClassifier"):
        models = [
            kind(fit_intercept=False).fit(rows, sides)
            for kind in (getattr(separatrix, name), originals()[name])
        ]
        for model in models:
            assert model.predict(sp.csr_matrix((1, 1))).tolist() == ["a"]


def test_a_warm_start_goes_on_from_the_fit_before() -> None:
    cold = separatrix.LogisticRegression(C=1.1, tol=1e-9).fit(X, y)
    warm = separatrix.LogisticRegression(warm_start=True, tol=1e-9).fit(X, y)
    warm.set_params(C=1.1).fit(X, y)
    assert warm.n_iter_[0] < cold.n_iter_[0]
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-3, atol=1e-5)
    # Nothing to go on from: other columns, other classes.
    assert warm.fit(X[:, :5], y).certificate_.ok
    assert warm.fit(X, np.arange(len(y)) % 3).certificate_.ok
    passes = separatrix.SGDClassifier("log_loss", alpha=0.01, warm_start=True, random_state=0)
    first = passes.fit(X, y).n_iter_
    assert passes.fit(X, y).n_iter_ <= first
    perceptron = separatrix.Perceptron(warm_start=True, max_iter=50)
    rows, sides = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    assert perceptron.fit(rows, sides).n_iter_ > 0
    assert perceptron.fit(rows, sides).n_iter_ == 0


def test_stochastic_gradients_start_where_they_are_told() -> None:
    optimum = separatrix.LinearSVC(loss="hinge", lam=0.01).fit(X, y)
    model = separatrix.SGDClassifier(alpha=0.01, eta0=1e-6, max_iter=1, random_state=0)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model.fit(X, y, coef_init=optimum.coef_, intercept_init=optimum.intercept_)
    np.testing.assert_allclose(model.coef_, optimum.coef_, atol=0.01)
    with pytest.raises(ValueError, match="coef_init has the shape"):
        model.fit(X, y, coef_init=np.zeros(3))


def test_no_tolerance_is_all_passes_and_no_warning() -> None:
    model = separatrix.SGDClassifier(tol=None, max_iter=7, eta0=0.01, random_state=0).fit(X, y)
    assert model.n_iter_ == 7
    schedule = separatrix.SGDClassifier(
        learning_rate="invscaling", power_t=0.5, eta0=0.1, tol=None, max_iter=5
    ).fit(X, y)
    assert "squared rates is infinite" in schedule.learning_rate_condition_


@pytest.mark.parametrize("r", [0.0, 0.1, 1.0])
def test_reg_param_is_scikit_learns(r: float) -> None:
    rows, cultivar = load_wine(return_X_y=True)
    ours = separatrix.QuadraticDiscriminantAnalysis(reg_param=r).fit(rows, cultivar)
    theirs = sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=r)
    scores = ours.decision_function(rows) - theirs.fit(rows, cultivar).decision_function(rows)
    if "covariance_estimator" in theirs.get_params():
        # From 1.9 on it divides by n, as this library does.
        np.testing.assert_allclose(scores - scores[:, :1], 0.0, atol=1e-8)
    assert separatrix.verify(ours, rows, cultivar).ok


def test_a_search_is_scored_by_what_it_chose_by() -> None:
    model = separatrix.LogisticRegressionCV(Cs=[1.0], cv=3, scoring="neg_log_loss").fit(X, y)
    assert -0.1 < model.score(X, y) < 0.0
    assert separatrix.LogisticRegressionCV(Cs=[1.0], cv=3).fit(X, y).score(X, y) > 0.9


def test_attributes_have_scikit_learns_types() -> None:
    logistic = separatrix.LogisticRegression().fit(X, y)
    assert logistic.n_iter_.shape == (1,)
    machine = separatrix.SVC().fit(sp.csr_matrix(X), np.arange(len(y)) % 3)
    assert sp.issparse(machine.dual_coef_) and sp.issparse(machine.support_vectors_)
    assert machine.n_iter_.shape == (3,)
    linear = separatrix.SVC(kernel="linear").fit(sp.csr_matrix(X), y)
    assert sp.issparse(linear.coef_) and linear.shape_fit_ == X.shape
    assert linear.score(X, y) == linear.score(sp.csr_matrix(X), y)
    assert separatrix.verify(machine, sp.csr_matrix(X), np.arange(len(y)) % 3).ok
    proba = separatrix.SVC(probability=True, max_iter=-1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    few = separatrix.SVC(probability=True).fit(X[[0, 1, -1]], y[[0, 1, -1]])
    np.testing.assert_allclose(few.predict_proba(X).sum(axis=1), 1.0)


def test_a_convention_is_told_once(monkeypatch) -> None:
    monkeypatch.setattr(sklearn_compat, "_warned", set())
    with pytest.warns(ConventionWarning, match="intercept is not penalised"):
        separatrix.LinearSVC().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        separatrix.LinearSVC().fit(X, y)
    monkeypatch.setattr(sklearn_compat, "_warned", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        separatrix.LinearSVC(fit_intercept=False).fit(X, y)


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9"), reason="the tables are of scikit-learn 1.9"
)
def test_the_tables_in_the_docs_are_what_their_modules_print() -> None:
    page = (Path(__file__).parents[2] / "docs" / "from_scikit_learn.md").read_text("utf-8")
    for name, table in (("parameters", parameter_table()), ("precision", precision_table())):
        marked = rf"<!-- {name}: begin -->\n(.*?)<!-- {name}: end -->"
        found = re.search(marked, page, re.DOTALL)
        assert found is not None and found.group(1) == table, name


@pytest.mark.filterwarnings("ignore:stalled")
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_weights_are_float32_where_the_data_are(container, tmp_path) -> None:
    rows = container(X.astype(np.float32))
    stochastic = separatrix.SGDClassifier("log_loss")
    for model in (separatrix.LogisticRegression(), stochastic):
        model.fit(rows, y)
        assert model.coef_.dtype == model.intercept_.dtype == np.float32
        assert model.decision_function(rows).dtype == model.predict_proba(rows).dtype == np.float32
        assert model.decision_function(rows.astype(np.float64)).dtype == np.float64
        # The certificate is of the weights as they are.
        again = separatrix.verify(model, rows, y)
        assert again.ok and again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
        separatrix.save_model(tmp_path / "model.separatrix", model)
        loaded = separatrix.load_model(tmp_path / "model.separatrix").model
        assert loaded.coef_.dtype == np.float32
        assert model.fit(X, y).coef_.dtype == np.float64
    # The weights after steps that were requested are not rounded.
    assert stochastic.partial_fit(rows, y).coef_.dtype == np.float64
    stochastic.set_params(learning_rate="invscaling", eta0=0.01)
    assert stochastic.fit(rows, y).coef_.dtype == np.float64


def test_weights_stay_float64_where_float32_has_too_few_digits() -> None:
    far = (X + 2.0**15).astype(np.float32)
    model = separatrix.LogisticRegression(C=100.0).fit(far, y)
    assert model.certificate_.ok and model.coef_.dtype == np.float64


@pytest.mark.parametrize("kind", [separatrix.LogisticRegression, separatrix.LinearSVC])
def test_weights_can_be_made_sparse_and_dense_again(kind, tmp_path) -> None:
    model = kind().fit(X, y)
    scores = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    for rows in (X, sp.coo_matrix(X)):
        np.testing.assert_allclose(model.decision_function(rows), scores)
    assert separatrix.verify(model, X, y).ok == model.certificate_.ok
    separatrix.save_model(tmp_path / "model.json", model)
    again = separatrix.load_model(tmp_path / "model.json").model
    np.testing.assert_allclose(again.decision_function(X), scores)
    assert isinstance(model.densify().coef_, np.ndarray)
