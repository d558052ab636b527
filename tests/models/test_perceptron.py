"""The perceptron: the published sequences, to the digit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from separatrix import Perceptron

LIFTED_X = np.array([[-1, 3], [-1, -1], [3, -1], [0, 1.5]])
LIFTED_Y = np.array([-1, -1, 1, 1])


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, np.float32])
def test_the_lifted_example(kind) -> None:
    # From zero, cyclic, with a trailing constant 1: 9 updates, (1, -3, -1) to (4, -0.5, 1).
    model = Perceptron(record=True).fit(kind(LIFTED_X), LIFTED_Y)
    W = [(*u.coef.tolist(), u.intercept) for u in model.trace_.updates]
    assert W[0] == (1.0, -3.0, -1.0)
    assert W[1] == (2.0, -2.0, -2.0)
    assert W[-1] == (4.0, -0.5, 1.0)
    assert len(W) == 9 == model.n_updates_ == model.mistakes_.sum()
    # The whole sequence, by hand: W += y (x, 1) at every mistake.
    expected, theta = [], np.zeros(3)
    rows = np.hstack([LIFTED_X, np.ones((4, 1))])
    while True:
        before = len(expected)
        for row, sign in zip(rows, LIFTED_Y, strict=True):
            if sign * (row @ theta) <= 0:
                theta = theta + sign * row
                expected.append(tuple(theta))
        if len(expected) == before:
            break
    assert expected == W
    assert model.coef_.tolist() == [[4.0, -0.5]]
    assert model.intercept_.tolist() == [1.0]
    assert model.certificate_.ok
    assert model.certificate_.primal == 0.0


@pytest.mark.parametrize(
    ("third", "first", "mistakes", "last"),
    [
        ([-1, 1.5], 0, [1, 0, 1], (-2.0, 0.5)),
        ([-1, 10], 0, None, (-6.0, 5.0)),
    ],
)
def test_the_example_through_the_origin(third, first, mistakes, last) -> None:
    X, y = np.array([[-1, -1], [1, 0], third]), np.array([1, -1, 1])
    model = Perceptron(fit_intercept=False, record=True).fit(X, y)
    assert model.coef_.tolist() == [list(last)]
    assert model.intercept_.tolist() == [0.0]
    assert model.n_updates_ == (2 if mistakes else 6)
    if mistakes:
        assert model.mistakes_.tolist() == mistakes


@pytest.mark.parametrize("third", [[-1, 1.5], [-1, 10]])
def test_the_example_from_the_second_point_takes_one_mistake(third) -> None:
    X, y = np.array([[1, 0], third, [-1, -1]]), np.array([-1, 1, 1])
    model = Perceptron(fit_intercept=False).fit(X, y)
    assert model.n_updates_ == 1
    assert model.mistakes_.tolist() == [1, 0, 0]


def test_iris_setosa_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    setosa = y == 0
    assert Perceptron().fit(X, setosa).certificate_.ok
    updates, right = [], []
    for seed in range(100):
        rows = np.random.default_rng(seed).permutation(150)[:60]
        model = Perceptron().fit(X[rows], setosa[rows])
        updates.append(model.n_updates_)
        right.append(model.score(X, setosa))
        assert model.certificate_.ok
    # A single-digit number of updates, and nearly always all 150 right.
    assert np.median(updates) <= 9
    assert np.mean(np.array(updates) <= 9) >= 0.9
    assert np.mean(np.array(right) == 1.0) >= 0.9


def test_overlapping_classes_are_said_to_be() -> None:
    X, y = load_iris(return_X_y=True)
    model = Perceptron(max_passes=30)
    with pytest.warns(ConvergenceWarning, match="not_separated: .*LinearSVC or LogisticRegression"):
        model.fit(X[50:], y[50:])
    assert model.n_iter_ == 30
    scores = model.decision_function(X[50:])
    assert np.sum(np.where(y[50:] == 2, scores, -scores) <= 0) == model.certificate_.primal
    assert model.certificate_.dual == 0.0


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(20, 2)) + 20 * np.array(c) for c in ((0, 1), (1, -1), (-1, -1))]
    )
    y = np.repeat(["a", "b", "c"], 20)
    model = Perceptron(record=True).fit(X, y)
    assert model.certificate_.ok
    assert model.mistakes_.shape == (3, 60)
    assert model.n_updates_ == model.mistakes_.sum()
    assert [t.part for t in model.trace_] == ["a", "b", "c"]
    assert [len(t.updates) for t in model.trace_] == model.mistakes_.sum(axis=1).tolist()
    assert model.score(X, y) == 1.0


def test_random_order_follows_the_seed() -> None:
    X, y = load_iris(return_X_y=True)
    one, same, other = (
        Perceptron(order="random", random_state=s).fit(X, y == 0) for s in (0, 0, 1)
    )
    assert np.array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)


def test_record_does_not_change_the_fit() -> None:
    X, y = load_iris(return_X_y=True)
    for order in ("cyclic", "random"):
        with_trace, without = (
            Perceptron(order=order, random_state=0, record=r).fit(X, y == 0) for r in (True, False)
        )
        assert np.array_equal(with_trace.coef_, without.coef_)
        assert np.array_equal(with_trace.mistakes_, without.mistakes_)
        assert len(with_trace.trace_.updates) == without.n_updates_


def test_class_weight_is_a_number_of_visits() -> None:
    X, y = load_iris(return_X_y=True)
    y = y == 0
    weighted = Perceptron(class_weight={True: 2, False: 1}).fit(X, y)
    copied = Perceptron().fit(np.repeat(X, 1 + y, axis=0), np.repeat(y, 1 + y))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-12)


def test_the_learning_rate_changes_no_decision() -> None:
    X, y = load_iris(return_X_y=True)
    fast, slow = (Perceptron(learning_rate=r).fit(X, y == 0) for r in (1.0, 2.0**-20))
    np.testing.assert_array_equal(fast.coef_ * 2.0**-20, slow.coef_)


def test_there_is_no_sample_weight() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="sample_weight"):
        Perceptron().fit(X, y, sample_weight=np.ones(150))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"order": "backwards"},
            "order='backwards' is not known; choose one of 'cyclic', 'random'",
        ),
        ({"learning_rate": 0}, "learning_rate=0 must be a finite number greater than 0"),
        ({"learning_rate": np.inf}, "learning_rate=inf must be a finite number greater than 0"),
        ({"max_passes": 0}, "max_passes=0 must be a finite whole number of at least 1"),
        ({"max_passes": 2.5}, "max_passes=2.5 must be a finite whole number of at least 1"),
    ],
)
def test_bad_parameters(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Perceptron(**options).fit(LIFTED_X, LIFTED_Y)
