"""The linear support vector machine."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from helpers import minimum_hinge, minimum_smooth, pad, primal_margin
from separatrix import LinearSVC

NAMES = {"hinge": "hinge", "squared_hinge": "squared hinge"}
each_loss = pytest.mark.parametrize("loss", NAMES)


def data(classes: int = 2, n: int = 100):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X @ rng.normal(size=(3, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


@each_loss
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum(loss: str, C: float) -> None:
    X, y = data()
    signs = 2.0 * y - 1
    batch = pad(
        [{"X": X, "y": signs, "upper": np.full(100, C), "intercept": True, "penalised": True}],
        100,
        3,
    )
    solve = minimum_hinge if loss == "hinge" else lambda b: minimum_smooth("squared hinge", b)
    optimum = float(solve(batch)[1][0])
    model = LinearSVC(loss=loss, C=C, tol=1e-10).fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-10)
    assert model.certificate_.primal == pytest.approx(
        primal_margin(NAMES[loss], X, signs, model.coef_, model.intercept_[0], C=C), rel=1e-13
    )


@each_loss
def test_one_versus_rest_is_its_parts(loss: str) -> None:
    X, y = data(4)
    model = LinearSVC(loss=loss, tol=1e-9).fit(X, y)
    assert len(model.certificate_.parts) == 4
    for k in range(4):
        alone = LinearSVC(loss=loss, tol=1e-9).fit(X, y == k)
        part = model.certificate_.parts[k]
        assert part.primal == pytest.approx(alone.certificate_.primal, rel=2e-9)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-3)


@each_loss
def test_the_printed_formula(loss: str) -> None:
    X, y = data()
    model = LinearSVC(loss=loss, C=0.5).fit(X, y)
    tail = {"hinge": "max(0, 1 - y (w.x + b))", "squared_hinge": "max(0, 1 - y (w.x + b))^2"}
    assert model.objective_formula_ == f"minimise 1/2 |w|^2 + 0.5 * sum {tail[loss]}"


@each_loss
@pytest.mark.parametrize("solver", ["auto", "dual", "augmented-lagrangian"])
def test_solvers_agree_on_real_data(loss: str, solver: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVC(loss=loss, solver=solver, C=0.1, random_state=0).fit(scale(X), y)
    assert model.certificate_.ok
    reference = LinearSVC(loss=loss, C=0.1, tol=1e-10).fit(scale(X), y)
    assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, rel=1.1e-6)
    assert model.certificate_.dual <= reference.certificate_.primal * (1 + 1e-12)


@each_loss
def test_raw_data_are_certified(loss: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert LinearSVC(loss=loss).fit(X, y).certificate_.ok


def test_large_C_tends_to_the_hard_margin() -> None:
    # The two nearest points of the classes are (0, 0) and (2, 0): margin 1, w = (1, 0), b = -1.
    X = np.array([[0.0, 0.0], [-1.0, 2.0], [2.0, 0.0], [4.0, -1.0]])
    y = np.array([0, 0, 1, 1])
    model = LinearSVC(loss="hinge", C=1e6, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-4)
    assert model.certificate_.primal == pytest.approx(0.5, rel=1e-6)


# --- L1 and elastic net ------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_l1_is_that_of_liblinear(C: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    ours = LinearSVC(penalty="l1", C=C, tol=1e-12, fit_intercept=False).fit(X, y)
    peer = sklearn.svm.LinearSVC(
        penalty="l1", dual=False, C=C, tol=1e-10, max_iter=100_000, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ == 0.0, peer.coef_ == 0.0)
    assert ours.objective_formula_.startswith("minimise |w|_1 + ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "loss='hinge' goes with the L2 penalty only"),
        ({"l1_ratio": 0.5, "loss": "hinge"}, "loss='hinge' goes with the L2 penalty only"),
        ({"penalty": "l1", "C": np.inf}, "The hard margin, C=inf or lam=0, is defined for the L2"),
        ({"penalty": "l1", "l1_ratio": 0.5}, "penalty='l1' and l1_ratio=0.5 contradict"),
        ({"penalty": None}, "penalty=None is not known"),
    ],
    ids=repr,
)
def test_penalties_that_are_refused(options: dict, words: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        LinearSVC(**options).fit(X, y)
