"""No worse than scikit-learn's best, on real data, to 1e-8."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from helpers import primal_margin, primal_softmax
from separatrix import LinearSVC, LogisticRegression


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    # Small products on a machine that is shared wait for one another's threads, ten times as
    # long as the work takes.
    with threadpool_limits(1):
        yield


LOADERS = {
    "breast-cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
    "iris": load_iris,
}


def load(name: str, standardised: bool):
    X, y = LOADERS[name](return_X_y=True)
    return (StandardScaler().fit_transform(X) if standardised else X), y


def objective(X, y, coef, intercept, C: float = 1.0) -> float:
    if len(coef) == 1:
        return primal_margin("log loss", X, 2.0 * y - 1, coef[0], intercept[0], C=C)
    return primal_softmax(X, y, coef, intercept, C=C)


@pytest.mark.crossed
@pytest.mark.parametrize("standardised", [True, False], ids=["standardised", "raw"])
@pytest.mark.parametrize("name", LOADERS)
def test_logistic_regression(name: str, standardised: bool) -> None:
    X, y = load(name, standardised)
    # On raw data all but one take long to the same objective or a worse one.
    solvers = ["newton-cholesky"]
    if standardised and name != "digits":
        solvers += ["lbfgs", "newton-cg"]
    best = np.inf
    for solver in solvers:
        with warnings.catch_warnings():
            # Theirs may stop at a limit or at the end of precision; the best of them counts.
            warnings.simplefilter("ignore")
            model = linear_model.LogisticRegression(
                C=1.0, solver=solver, tol=1e-10, max_iter=2000
            ).fit(X, y)
        best = min(best, objective(X, y, model.coef_, model.intercept_))
    ours = LogisticRegression(C=1.0, tol=1e-9).fit(X, y)
    found = objective(X, y, ours.coef_, ours.intercept_)
    assert found <= best * (1 + 1e-8)
    # And theirs is no better than our bound allows.
    assert ours.certificate_.dual <= best * (1 + 1e-12)


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("name", ["breast-cancer", "wine", "iris"])
def test_logistic_regression_across_C(name: str, C: float) -> None:
    X, y = load(name, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the reference may hit its limit
        model = linear_model.LogisticRegression(
            C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000
        ).fit(X, y)
    best = objective(X, y, model.coef_, model.intercept_, C)
    ours = LogisticRegression(C=C, tol=1e-9).fit(X, y)
    assert objective(X, y, ours.coef_, ours.intercept_, C) <= best * (1 + 1e-8)
    assert ours.certificate_.dual <= best * (1 + 1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), model.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", LOADERS)
def test_linear_svc(name: str, loss: str) -> None:
    # LIBLINEAR penalises the intercept; a huge scaling makes that negligible, and any point of
    # it is a point of our problem too.
    X, y = load(name, True)
    signs = np.where(y == 1, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the reference may hit its limit
        model = svm.LinearSVC(
            C=0.1, loss=loss, tol=1e-10, intercept_scaling=30.0, max_iter=20_000, random_state=0
        ).fit(X, signs)
    kind = loss.replace("_", " ")
    best = primal_margin(kind, X, signs, model.coef_[0], model.intercept_[0], C=0.1)
    ours = LinearSVC(C=0.1, loss=loss, tol=1e-9).fit(X, signs)
    found = primal_margin(kind, X, signs, ours.coef_[0], ours.intercept_[0], C=0.1)
    assert found <= best * (1 + 1e-8)
    assert ours.certificate_.dual <= best * (1 + 1e-12)


@pytest.mark.parametrize("name", ["breast-cancer", "digits"])
def test_sparse_and_float32_reach_the_same_objective(name: str) -> None:
    X, y = load(name, True)
    X = X.astype(np.float32)
    reference = LogisticRegression(tol=1e-9).fit(X.astype(np.float64), y).certificate_.primal
    forms = [X, np.asfortranarray(X)] + ([sp.csr_array(X)] if name != "digits" else [])
    for form in forms:
        model = LogisticRegression(tol=1e-9).fit(form, y)
        assert model.certificate_.primal == pytest.approx(reference, rel=2e-9)


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
@pytest.mark.parametrize("name", LOADERS)
def test_defaults_on_raw_data_are_certified(name: str, multiclass: str) -> None:
    X, y = load(name, False)
    model = LogisticRegression(multiclass=multiclass).fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.relative_gap <= 1e-6
