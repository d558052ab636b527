"""Scores as discriminants: the regions in which a linear model decides for each class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SGDClassifier,
)

# All with one linear discriminant y_k(x) a class.
LINEAR = [
    LogisticRegression(),
    LogisticRegression(multiclass="ovr"),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    Perceptron(order="random", random_state=0),
    SGDClassifier(random_state=0),
    LeastSquaresClassifier(),
    LinearDiscriminantAnalysis(shrinkage=0.1),
]
DATA = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
pytestmark = [
    # The warnings are about the number of passes, and about pixels that are never on.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning"),
]


def _fitted(estimator, name):
    X, y = DATA[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return estimator.fit(X, y), X


@pytest.mark.crossed
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
def test_scores_are_discriminants(estimator, name) -> None:
    model, X = _fitted(estimator, name)
    scores = model.decision_function(X)
    assert scores.shape == (len(X), len(model.classes_))
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    # Affine in x: y_k((x + x') / 2) is the mean of y_k(x) and y_k(x').
    other = X[::-1]
    middle = model.decision_function(0.5 * (X + other))
    np.testing.assert_allclose(
        middle, 0.5 * (scores + scores[::-1]), rtol=1e-9, atol=1e-9 * np.abs(scores).max()
    )


@pytest.mark.crossed
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
def test_decision_regions_are_convex_and_connected(estimator, name) -> None:
    model, X = _fitted(estimator, name)
    rng = np.random.default_rng(0)
    # Far beyond the data too, where regions that are not convex would show.
    points = np.concatenate([X, rng.standard_normal((2000, X.shape[1])) * 10.0])
    answers = model.predict(points)
    checked = 0
    for label in model.classes_:
        own = points[answers == label]
        if len(own) < 2:
            continue
        a, b = own[rng.integers(len(own), size=(2, 400))]
        # Every point of the segment between two points of a region is in the region: it is
        # convex, and therefore connected.
        for t in (0.1, 0.3, 0.5, 0.77):
            assert np.all(model.predict((1.0 - t) * a + t * b) == label)
        checked += 1
    assert checked >= len(model.classes_) - 1


def test_the_check_tells_a_region_that_is_not_convex() -> None:
    # A wide class around a narrow one: its region is the plane without an ellipse.
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.standard_normal((200, 2)), 6.0 * rng.standard_normal((200, 2))])
    model = QuadraticDiscriminantAnalysis().fit(X, np.repeat([0, 1], 200))
    left, right = np.array([[-15.0, 0.0]]), np.array([[15.0, 0.0]])
    assert model.predict(left) == model.predict(right) == 1
    assert model.predict(0.5 * (left + right)) == 0
