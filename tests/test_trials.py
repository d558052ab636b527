"""Many random splits: what is fitted, what is tested, and what is counted."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LogisticRegression, Perceptron, evaluate_trials

N = 40
NUMBERS = np.arange(float(N))
CLASSES = np.arange(N) % 2
MISSED = (3, 8)


class Known(ClassifierMixin, BaseEstimator):
    """Is right for all rows but two, which it knows by the number in their first column."""

    seen: ClassVar[list[tuple[str, np.ndarray]]] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Known.seen.append(("fit", X))
        return self

    def predict(self, X):
        Known.seen.append(("predict", X))
        row = np.rint(X[:, 0]).astype(int)
        return np.where(np.isin(row, MISSED), 1 - CLASSES[row], CLASSES[row])


class First(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_errors_and_missed_rows_are_those_of_the_splits():
    Known.seen.clear()
    X = np.column_stack([NUMBERS, np.zeros(N)])
    trials = evaluate_trials(Known(), X, CLASSES, n_trials=30, train_size=30, jitter=0.01)
    fitted = [rows for what, rows in Known.seen if what == "fit"]
    held = [rows for what, rows in Known.seen if what == "predict"][1::2]
    assert (trials.n_train, trials.n_test) == (30, 10)
    # Noise is on the rows that are fitted alone, and another one each time.
    noise = np.array([rows[:, 1] for rows in fitted])
    assert len(np.unique(noise)) == noise.size and 0.008 < noise.std() < 0.012
    assert all(np.array_equal(rows, X[rows[:, 0].astype(int)]) for rows in held)
    numbers = [set(rows[:, 0].astype(int)) for rows in held]
    for k, (rows, tested) in enumerate(zip(fitted, numbers, strict=True)):
        assert set(np.rint(rows[:, 0]).astype(int)) == set(range(N)) - tested
        assert sum(i % 2 for i in tested) == 5
        assert trials.errors[k] == len(tested.intersection(MISSED)) / 10
        assert trials.training_errors[k] == (2 - len(tested.intersection(MISSED))) / 30
    # Noise leaves the splits as they are.
    plain = evaluate_trials(Known(), X, CLASSES, n_trials=30, train_size=30)
    assert np.array_equal(plain.tested, trials.tested)
    assert np.array_equal(plain.errors, trials.errors)
    counts = {i: sum(i in tested for tested in numbers) for i in range(N)}
    assert trials.tested.tolist() == list(counts.values())
    assert sorted(trials.most_missed()) == [(i, counts[i], counts[i]) for i in MISSED]
    assert trials.worst == max(trials.errors) and trials.histogram(4)[0].sum() == 30
    assert trials.spread == pytest.approx(np.std(trials.errors, ddof=1))
    assert not any(trials.certificates) and "certified" not in str(trials)
    assert f"row 3 ({counts[3]} of {counts[3]} tests)" in str(trials)


def test_a_regression_has_root_mean_squared_errors():
    y = NUMBERS + np.where(np.arange(N) == 5, 6.0, 0.5)
    trials = evaluate_trials(First(), NUMBERS[:, None], y, n_trials=20, train_size=0.75)
    five = np.sqrt((36.0 + 9 * 0.25) / 10)
    assert set(trials.errors.round(12)) == {0.5, round(five, 12)}
    assert trials.most_missed(1) == [(5, 6.0, int(trials.tested[5]))]


def test_fits_that_are_not_certified_are_named():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), Perceptron(max_passes=2))
    trials = evaluate_trials(model, X, y, n_trials=8, random_state=1)
    expected = [k for k, one in enumerate(trials.certificates) if not one.ok]
    assert trials.uncertified == expected and 0 < len(expected) < 8
    assert f"{len(expected)} of 8 trials have no fit within its tolerance: " in str(trials)
    again = evaluate_trials(model, X, y, n_trials=8, random_state=1)
    np.testing.assert_array_equal(again.errors, trials.errors)
    other = evaluate_trials(model, X, y, n_trials=8, random_state=2)
    assert other.errors.tolist() != trials.errors.tolist()


def test_what_cannot_be_tried_is_refused_in_a_sentence():
    X, y = NUMBERS[:, None], CLASSES
    for size in (N, 0.001, 2.5):
        with pytest.raises(ValueError, match="leaves none to fit or none to test"):
            evaluate_trials(LogisticRegression(), X, y, train_size=size)
    with pytest.raises(TypeError, match="KMeans is neither a classifier nor a regression"):
        evaluate_trials(KMeans(), X, y)
    with pytest.raises(TypeError, match="dense"):
        evaluate_trials(LogisticRegression(), sp.csr_matrix(X), y, train_size=20, jitter=0.1)
