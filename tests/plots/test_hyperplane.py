"""A hyperplane of one's own in pictures: as the model that it came from, and by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from separatrix import Hyperplane, LinearRegression, LinearSVC
from separatrix.plots import DecisionDisplay, LeastSquaresDisplay, MarginDisplay

IRIS = load_iris(as_frame=True)
TWO = IRIS.target > 0
PETALS, SPECIES = IRIS.data.loc[TWO].iloc[:, 2:], IRIS.target_names[IRIS.target[TWO]]
CANCER = load_breast_cancer(as_frame=True)
# What a picture is drawn from, but for the rings around support vectors.
DATA = {
    DecisionDisplay: ("extent", "boundary", "regions", "points", "codes", "note"),
    MarginDisplay: ("extent", "boundary", "points", "codes", "slack", "stems", "width", "mistakes"),
    LeastSquaresDisplay: ("x", "y", "fitted", "line", "r2", "codes", "boundary", "y_label"),
}


def same(first: Any, second: Any) -> None:
    for name in DATA[type(first)]:
        np.testing.assert_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("many", [False, True])
def test_a_hyperplane_is_drawn_like_the_model_that_it_came_from(kind: Any, many: bool) -> None:
    X, y = (CANCER.data, CANCER.target_names[CANCER.target]) if many else (PETALS, SPECIES)
    model = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    plane = Hyperplane.from_model(model)
    expected = kind.from_estimator(model, X, y)
    same(expected, kind.from_estimator(plane, X, y))
    signs = np.where(y == model.classes_[1], 1, -1)
    given = kind.from_estimator((plane.w, plane.b), X, signs)
    if kind is not LeastSquaresDisplay:
        assert given.view.classes.tolist() == [-1, 1] and given.view.kind == expected.view.kind
    same(expected, given)


def test_a_line_of_ones_own_has_slack_and_no_support_vectors() -> None:
    plane = Hyperplane([1.0, 0.5], -6.0)
    display = MarginDisplay.from_estimator(plane, PETALS, SPECIES)
    z = np.where(SPECIES == "virginica", 1, -1) * (PETALS.to_numpy() @ plane.w + plane.b)
    np.testing.assert_allclose(display.slack, np.maximum(0, 1 - z), atol=1e-12)
    assert display.slack.sum() == pytest.approx(len(z) * plane.objective(PETALS, SPECIES, lam=0))
    assert display.support_ is None and not display.support.any() and len(display.stems) > 50
    steep = DecisionDisplay.steepness(plane, PETALS, SPECIES, scales=[1.0])
    assert steep[0].ax_.get_title("left") == f"1 × w,  |w| = {plane.norm:.3g}"


def test_a_hyperplane_predicts_numbers() -> None:
    diabetes = load_diabetes(as_frame=True)
    X, t = diabetes.data[["bmi"]], diabetes.target
    model = LinearRegression().fit(X, t)
    expected = LeastSquaresDisplay.from_estimator(model, X, t, projection=True)
    same(expected, LeastSquaresDisplay.from_estimator((model.coef_, model.intercept_), X, t))
    # The best line has a right angle, and any other has none.
    pair = model.coef_, model.intercept_
    best = LeastSquaresDisplay.from_estimator(pair, X, t, projection=True)
    assert best.triangle.total == pytest.approx(expected.triangle.total)
    own = Hyperplane([900.0], 150.0)
    display = LeastSquaresDisplay.from_estimator(own, X, t)
    squares = (t - 900 * X["bmi"] - 150) ** 2
    assert display.line == (900.0, 150.0)
    assert ((display.y - display.fitted) ** 2).mean() == pytest.approx(squares.mean())
    assert own.mse(X, t) == pytest.approx(squares.mean())
    with pytest.raises(ValueError, match="residual is not orthogonal"):
        LeastSquaresDisplay.from_estimator(own, X, t, projection=True)


def test_what_a_hyperplane_cannot_be_drawn_for() -> None:
    plane = Hyperplane([1.0, 1.0], -6.0)
    with pytest.raises(ValueError, match="X has 30 columns, but Hyperplane takes 2"):
        DecisionDisplay.from_estimator(plane, CANCER.data)
    with pytest.raises(TypeError, match="Hyperplane has no predict_proba"):
        DecisionDisplay.from_estimator(plane, PETALS, shade="probability")
    with pytest.raises(ValueError, match="3 different labels"):
        MarginDisplay.from_estimator(plane, IRIS.data.iloc[:, 2:], IRIS.target)
