"""The decision stump against trying every column, threshold and pair of classes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from separatrix import DecisionStump, Hyperplane, LinearSVC, training_error


def least(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """The least weight of mistakes: for every cut the largest class on each side."""

    def side(rows: np.ndarray) -> float:
        sums = [weights[rows & (y == c)].sum() for c in np.unique(y)]
        return float(sum(sums) - max(sums))

    cuts = [side(np.ones(len(y), dtype=bool))]
    for column in X.T:
        for value in np.unique(column):
            cuts.append(side(column < value) + side(column >= value))
    return min(cuts)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_stump_makes_fewer_mistakes(classes: int) -> None:
    rng = np.random.default_rng(classes)
    for trial in range(60):
        n, d = int(rng.integers(classes, 15)), int(rng.integers(1, 4))
        X = rng.integers(-2, 3, (n, d)).astype(float)
        y = rng.integers(0, classes, n)
        y[:classes] = np.arange(classes)
        weights = rng.integers(0, 4, n).astype(float) if trial % 2 else np.ones(n)
        if len(np.unique(y[weights > 0])) < classes:
            continue
        stump = DecisionStump().fit(X, y, sample_weight=weights)
        assert stump.risk_ == pytest.approx(least(X, y, weights)), (X, y, weights)
        assert weights[stump.predict(X) != y].sum() == pytest.approx(stump.risk_)
        assert stump.certificate_.status == "optimal"
        assert stump.certificate_.gap == 0.0
        again = DecisionStump().fit(sp.csr_matrix(X), y, sample_weight=weights)
        assert (again.feature_, again.threshold_) == (stump.feature_, stump.threshold_)


def test_a_weight_is_as_many_copies() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 2, 30)
    weights = rng.integers(0, 4, 30)
    one = DecisionStump().fit(X, y, sample_weight=weights)
    other = DecisionStump().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (one.feature_, one.threshold_, one.risk_) == (
        other.feature_,
        other.threshold_,
        other.risk_,
    )


def test_no_worse_than_a_tree_of_depth_one() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    stump = DecisionStump().fit(X, y)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    assert stump.risk_ == np.sum(stump.predict(X) != y) <= np.sum(tree.predict(X) != y)


def test_two_classes_are_a_half_space() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    stump = DecisionStump().fit(X, y)
    plane = Hyperplane.from_model(stump)
    assert np.flatnonzero(plane.w).tolist() == [stump.feature_]
    assert np.array_equal(np.where(plane.side(X) > 0, 1, 0), stump.predict(X))
    assert training_error(plane, X, y).count == stump.risk_


def test_the_usual_baseline_beside_another_model() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert LinearSVC().fit(X, y).score(X, y) > DecisionStump().fit(X, y).score(X, y) > 0.9


def test_neighbouring_floats_are_told_apart() -> None:
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2.0)]])
    assert DecisionStump().fit(X, [0, 1]).predict(X).tolist() == [0, 1]
    assert DecisionStump().fit(X, [1, 0]).predict(X).tolist() == [1, 0]


def test_constant_columns_give_the_largest_class() -> None:
    stump = DecisionStump().fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert stump.predict(np.ones((2, 2))).tolist() == [1, 1]
    assert stump.risk_ == 2.0
