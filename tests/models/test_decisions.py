"""predict, decision_function and predict_proba agree on every row, ties included."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grids import share
from separatrix import LinearSVC, LogisticRegression, Perceptron

EXTREMES = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-300,
    -1e-300,
    1e-17,
    -1e-17,
    0.1,
    -0.1,
    1.0,
    -1.0,
    37.0,
    -37.0,
    700.0,
    -700.0,
    1e4,
    -1e4,
    1e10,
    -1e10,
    1e150,
    -1e150,
    1e300,
    -1e300,
]
STEEPNESSES = [1e-300, 1e-17, 1e-3, 1.0, 50.0, 1e10, 1e300]


@functools.cache
def _fitted(multiclass: str, classes: int) -> LogisticRegression:
    X = np.eye(classes) if classes > 2 else np.array([[-1.0], [1.0]])
    labels = np.arange(classes) * 10 if classes > 2 else [3, 5]
    return LogisticRegression(multiclass=multiclass).fit(X, labels)


def binary(steepness: float = 1.0) -> LogisticRegression:
    """A model whose score is the feature itself."""
    model = copy.copy(_fitted("multinomial", 2)).set_params(steepness=steepness)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    return model


def several(multiclass: str, classes: int = 3, steepness: float = 1.0) -> LogisticRegression:
    """A model whose scores are the features themselves."""
    model = copy.copy(_fitted(multiclass, classes)).set_params(steepness=steepness)
    model.coef_, model.intercept_ = np.eye(classes), np.zeros(classes)
    return model


def check_agreement(model, X: np.ndarray) -> None:
    scores, labels = model.decision_function(X), model.predict(X)
    proba = model.predict_proba(X)
    assert np.all(np.isfinite(proba))
    assert np.all(proba >= 0.0)
    assert np.all(proba <= 1.0 + 1e-15)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    expected = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(labels, model.classes_[expected])
    # The largest probability is that of the label, and the only largest.
    np.testing.assert_array_equal(proba.argmax(axis=1), expected)
    winner = proba[np.arange(len(X)), expected]
    assert np.all((proba == winner[:, None]).sum(axis=1) == 1)
    logs = model.predict_log_proba(X)
    assert not np.any(np.isnan(logs))
    # A logarithm may round an ulp away; nothing may overtake the label.
    np.testing.assert_array_equal(logs[np.arange(len(X)), expected], logs.max(axis=1))


@pytest.mark.parametrize("steepness", STEEPNESSES)
def test_two_classes(steepness: float) -> None:
    check_agreement(binary(steepness), np.array(EXTREMES)[:, None])


@pytest.mark.parametrize("steepness", STEEPNESSES)
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
def test_several_classes(multiclass: str, steepness: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.choice(EXTREMES, size=(2000, 3))
    check_agreement(several(multiclass, 3, steepness), X)


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
@given(
    scores=st.lists(
        st.tuples(*[st.floats(-1e300, 1e300, allow_nan=False)] * 4), min_size=1, max_size=8
    ),
    steepness=st.floats(1e-300, 1e300),
)
@pytest.mark.sampled
@settings(max_examples=share(150), deadline=None)
def test_several_classes_anywhere(multiclass: str, scores, steepness: float) -> None:
    check_agreement(several(multiclass, 4, steepness), np.array(scores))


def test_exact_ties() -> None:
    model = binary()
    # A score of zero gives the first class, as in scikit-learn.
    assert model.predict([[0.0]]).tolist() == [3]
    proba = model.predict_proba([[0.0]])[0]
    assert proba[0] > proba[1]
    np.testing.assert_allclose(proba, 0.5, rtol=1e-15)
    for multiclass in ("multinomial", "ovr"):
        model = several(multiclass)
        # The first of equal scores wins.
        assert model.predict([[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]]).tolist() == [0, 10]
        check_agreement(model, np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 2.0], [-1e9] * 3]))


def test_probabilities_are_the_sigmoid_of_the_steeper_score() -> None:
    z = np.linspace(-4, 4, 33)
    for k in (0.5, 1.0, 7.0):
        expected = 1 / (1 + np.exp(-k * z))
        np.testing.assert_allclose(binary(k).predict_proba(z[:, None])[:, 1], expected, rtol=1e-14)


def test_steepness_changes_no_decision_and_no_fit() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)), rng.integers(3, size=80)
    plain, steep = (LogisticRegression(steepness=k).fit(X, y) for k in (1.0, 9.0))
    np.testing.assert_array_equal(plain.coef_, steep.coef_)
    np.testing.assert_array_equal(plain.predict(X), steep.predict(X))


def test_multinomial_probabilities_are_the_softmax() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(50, 3)) * 5
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(several("multinomial").predict_proba(scores), expected, rtol=1e-13)
    sigmoid = 1 / (1 + np.exp(-scores))
    expected = sigmoid / sigmoid.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(several("ovr").predict_proba(scores), expected, rtol=1e-13)


def test_log_probabilities_are_the_logarithms() -> None:
    X = np.linspace(-30, 30, 61)[:, None]
    model = binary()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # random labels
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(multiclass="ovr"),
        LinearSVC(),
        Perceptron(max_passes=20),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_the_published_weights(model, classes: int) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % classes
    model.fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    rows = 1 if classes == 2 else classes
    assert model.coef_.shape == (rows, 3)
    assert model.intercept_.shape == (rows,)
    assert model.coef_.flags.owndata
    expected = scores[:, 0] if classes == 2 else scores
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-12)
    decided = (expected > 0).astype(int) if classes == 2 else expected.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decided])
    assert model.score(X, y) == np.mean(model.predict(X) == y)
