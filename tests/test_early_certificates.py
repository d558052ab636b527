"""A fit that a limit ends early: what it certifies never falls as the limit grows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler

from separatrix import (
    SVC,
    HuberRegressor,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    SGDClassifier,
)
from separatrix.solvers.driver import watch


def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X, y == 3


def words():
    X = sp.random(300, 1500, 0.01, random_state=0, format="csr")
    return X, X @ np.random.default_rng(0).normal(size=1500) > 0


def quantities():
    return load_diabetes(return_X_y=True)


CASES = [
    (LinearSVC(loss="hinge", C=0.1), tumours),
    (LinearSVC(loss="hinge", solver="dual"), tumours),
    (LinearSVC(loss="hinge", solver="dual", C=100.0), digits),
    (LinearSVC(loss="hinge", C=10.0), words),
    (LinearSVC(), tumours),
    (LinearSVC(loss="squared_hinge", penalty="l1"), tumours),
    (LogisticRegression(C=100.0), words),
    (LogisticRegression(penalty="l1"), tumours),
    (SGDClassifier(alpha=1e-3), tumours),
    (SVC(C=100.0), tumours),
    (Lasso(alpha=0.1), quantities),
    (LinearSVR(C=10.0), quantities),
    (HuberRegressor(), quantities),
]


@pytest.mark.parametrize(("model", "rows"), CASES, ids=range(len(CASES)))
def test_the_bound_never_falls_and_the_objective_never_rises(model, rows) -> None:
    X, y = rows()
    dual, primal = -np.inf, np.inf
    for limit in (*range(1, 12), 16, 24, 40):
        one = clone(model).set_params(max_iter=limit)
        if "random_state" in one.get_params():
            one.set_params(random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.fit(X, y)
        certificate = one.certificate_
        # What rounding was charged with can differ in the last digits.
        assert certificate.dual >= dual - 1e-9 * abs(dual)
        assert certificate.primal <= primal * (1 + 1e-9)
        dual, primal = certificate.dual, certificate.primal
        if certificate.ok:
            break
    assert dual > 0.0


def test_who_watches_hears_of_the_gap_between_the_checks() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = X[:, 0] + rng.normal(size=1500) > 0
    seen = []
    with watch(seen.append):
        LinearSVC(loss="hinge", solver="dual", C=10.0).fit(X, y)
    between = [one for one in seen if np.isfinite(one.outlook)]
    assert len(between) > 1
    # It falls, while the certified one stands where the last check left it.
    assert between[-1].likely_gap < 0.1 < between[0].likely_gap
    assert between[-1].likely_gap <= between[-1].relative_gap
