"""Linear support vector regression: certified, and scikit-learn's answer without an intercept."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVR as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import LinearSVR, load_model, save_model, verify

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.exceptions.ConventionWarning")


@parametrize_with_checks([LinearSVR()])
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks([LinearSVR(loss=LOSSES[1], epsilon=0.1)])
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 30.0])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_the_answers_of_scikit_learn(loss, epsilon, C, tmp_path) -> None:
    X, y = diabetes()
    y = y - y.mean()
    options = {"loss": loss, "epsilon": epsilon, "C": C, "fit_intercept": False}
    model = LinearSVR(**options, tol=1e-9).fit(X, y)
    peer = Peer(**options, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=0.02 * np.abs(peer.coef_).max())

    def value(w):
        loss = np.maximum(np.abs(y - X @ w) - epsilon, 0.0)
        return 0.5 * w @ w + C * np.sum(loss if options["loss"] == LOSSES[0] else loss**2)

    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-9
    assert value(model.coef_) == pytest.approx(certificate.primal, rel=1e-9)
    assert certificate.dual <= value(peer.coef_) * (1 + 1e-12)
    save_model(tmp_path / "m.separatrix", model)
    again = load_model(tmp_path / "m.separatrix").model
    assert verify(again, X, y, tol=1e-6).primal == pytest.approx(certificate.primal)
    rows = LinearSVR(**options, tol=1e-9).fit(sp.csr_array(X), y)
    assert rows.certificate_.primal == pytest.approx(certificate.primal)


def test_a_large_C_is_the_least_absolute_deviation() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + rng.standard_t(1.5, size=40)
    model = LinearSVR(C=1e6, tol=1e-8).fit(X, y)
    # The same as a linear programme.
    A = np.c_[X, np.ones(40)]
    found = linprog(
        np.r_[np.zeros(4), np.ones(40)],
        A_ub=np.block([[A, -np.eye(40)], [-A, -np.eye(40)]]),
        b_ub=np.r_[y, -y],
        bounds=[(None, None)] * 4 + [(0, None)] * 40,
    )
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], found.x[:4], atol=1e-4)


def test_weights_are_copies() -> None:
    X, y = diabetes()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = LinearSVR(epsilon=5.0, tol=1e-9).fit(X, y, weights)
    repeated = LinearSVR(epsilon=5.0, tol=1e-9).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_a_limit_in_time_holds() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3000, 800)), rng.standard_t(1.0, size=3000)
    model = LinearSVR(C=1e4, tol=1e-12, time_limit=0.3)
    start = time.process_time()
    with pytest.warns(match="the time limit came before"):
        model.fit(X, y)
    assert model.certificate_.status == "time_limit"
    # The clock is the processor's, which does not run while other programs do.
    assert time.process_time() - start < 5.0


def test_targets_far_from_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=40)
    for factor in (1e-3, 1e59, 1e61, 1e150):
        for loss in LOSSES:
            model = LinearSVR(loss=loss, epsilon=0.0, C=10.0).fit(X, factor * y)
            assert model.certificate_.ok, (loss, factor)
    # Beside them a slope of the loss is large; no rounding of it reaches the conjugate.
    for factor in (1e-10, 1e-50, 1e-140):
        for loss in LOSSES if factor > 1e-11 else LOSSES[1:]:
            model = LinearSVR(loss=loss, epsilon=0.1 * factor).fit(X, factor * y)
            assert model.certificate_.ok, (loss, factor)
