"""A hyperplane of one's own in pictures: as the model that it came from, and by itself."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.proj3d import proj_transform
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from pictures import bare, compared
from separatrix import Hyperplane, LinearRegression, LinearSVC
from separatrix.plots import (
    DecisionDisplay,
    HyperplaneDisplay,
    LeastSquaresDisplay,
    MarginDisplay,
)

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


@pytest.mark.crossed
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


def require_outline(display: Any, plane: Hyperplane, low: Any, high: Any) -> None:
    """The sheet is the part of the plane within the box."""
    display.figure_.draw_without_rendering()
    expected = proj_transform(*plane.clip(low, high).T, display.ax_.get_proj())[:2]
    (path,) = display.plane_.get_paths()
    np.testing.assert_allclose(path.vertices[: len(expected[0])], np.transpose(expected))


def on_screen(ax: Any, points: Any) -> np.ndarray:
    ax.figure.draw_without_rendering()
    return np.asarray(ax.transData.transform(points))


@pytest.mark.parametrize("b", [-10.0, 0.0, 2.0])
def test_a_line_has_its_normal_vector_at_its_foot(b: float) -> None:
    w, X, y = np.array([3.0, 4.0]), np.array([[0.0, 0.0], [4.0, 2.0], [1.0, 3.0]]), ["a", "b", "b"]
    plane = Hyperplane(w, b)
    for display in (plane.plot(), plane.plot(X, y, distances=True)):
        foot = -b * w / 25
        np.testing.assert_allclose(display.arrow, [foot, foot + display.scale * w])
        assert display.label_.get_text() in ("w", f"{display.scale:g} w")
        assert 0.05 < display.scale * 5 / (display.high - display.low).max() < 0.8
        assert np.all(display.arrow > display.low) and np.all(display.arrow < display.high)
        (line,) = display.plane_
        ends = np.transpose(line.get_data())
        np.testing.assert_allclose(ends @ w + b, 0, atol=1e-12)
        # Both scales are the same, so that the right angle is one.
        start, stop, first, second = on_screen(display.ax_, np.concatenate([ends, display.arrow]))
        across, along = (stop - start) / 1000, (second - first) / 1000
        assert abs(across @ along) < 1e-6 * np.linalg.norm(across) * np.linalg.norm(along)
    np.testing.assert_allclose(display.distances, (X @ w + b) / 5)
    stems = np.array([path.vertices for path in display.stems_.get_paths()])
    np.testing.assert_array_equal(stems[:, 0], X)
    np.testing.assert_allclose(stems[:, 1] @ w + b, 0, atol=1e-12)
    lengths = np.linalg.norm(stems[:, 1] - stems[:, 0], axis=1)
    np.testing.assert_allclose(lengths, np.abs(display.distances), atol=1e-12)
    assert [t.get_text() for t in display.numbers_] == [
        f"{d:.3g}".replace("-", "−") for d in (X @ w + b) / 5
    ]
    for points, own in zip(display.points_, (X[:1], X[1:]), strict=True):
        np.testing.assert_array_equal(points.get_offsets(), own)


def test_a_foot_that_is_far_away_leaves_the_points_their_room() -> None:
    X = np.column_stack([np.arange(2000.0, 2020.0), np.arange(20.0)])
    plane = Hyperplane([1.0, 1.0], -2019.0)
    display = plane.plot(X)
    assert np.all(display.high - display.low < 40) and "far away" in display.note
    np.testing.assert_allclose(display.arrow[0] @ plane.w + plane.b, 0, atol=1e-9)
    # Where the scales of the axes differ widely, the note states what happens to right angles.
    display = plane.plot(X * [1.0, 100.0])
    assert "right angles look skew" in display.note and "far away" in display.note
    assert np.all(display.high - display.low < [40, 4000])


def test_a_plane_in_space() -> None:
    X, y = IRIS.data.loc[TWO].iloc[:, 1:], SPECIES
    plane = Hyperplane.from_model(LinearSVC(loss="hinge").fit(X, y))
    display = plane.plot(X, y, distances=True)
    np.testing.assert_allclose(display.arrow[0], plane.point)
    np.testing.assert_allclose(display.arrow[1] - display.arrow[0], display.scale * plane.w)
    require_outline(display, plane, display.low, display.high)
    assert sum(len(points.get_offsets()) for points in display.points_) == len(X)
    np.testing.assert_allclose(display.stems[:, 1] @ plane.w + plane.b, 0, atol=1e-12)
    # Lengths are alike along the three axes.
    size = display.high - display.low
    shape = display.ax_._box_aspect
    np.testing.assert_allclose(shape / shape[0], size / size[0])


def test_the_plane_of_least_squares_above_two_features() -> None:
    X, t = load_diabetes(return_X_y=True, as_frame=True)
    X, t = X[["bmi", "bp"]].iloc[::9], t[::9]
    model = LinearRegression().fit(X, t)
    for given in (model, (model.coef_, model.intercept_), Hyperplane([500.0, 1.0], 150.0)):
        display = LeastSquaresDisplay.from_estimator(given, X, t, surface=True)
        own = isinstance(given, Hyperplane)
        w, b = (given.w, given.b) if own else (model.coef_, model.intercept_)
        fitted = X.to_numpy() @ w + b
        ax = display.ax_
        box = np.transpose([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
        require_outline(display, Hyperplane([*w, -1.0], b), *box)
        stems = np.array(display.stems_._segments3d)
        np.testing.assert_allclose(stems[:, 0], np.column_stack([X, t]))
        np.testing.assert_allclose(stems[:, 1], np.column_stack([X, fitted]))
        rest = ((t - fitted) ** 2).sum()
        assert display.r2 == pytest.approx(1 - rest / ((t - t.mean()) ** 2).sum())
        # Points above the plane are drawn after it, for the eye is above it, too.
        behind, front = (points.get_offsets() for points in display.points_)
        assert len(front) == np.sum(t > fitted) and len(behind) == np.sum(t < fitted)
    plane = Hyperplane([1.0, 1.0], -6.4)
    classes = LeastSquaresDisplay.from_estimator(plane, PETALS, SPECIES, surface=True)
    x, y, z = classes.boundary_.get_data_3d()
    np.testing.assert_allclose(x + y, 6.4)
    assert list(z) == [0.0, 0.0]
    for columns, options in ((["bmi"], {}), (["bmi", "bp"], {"projection": True})):
        with pytest.raises(ValueError, match="surface=True draws a plane above two features"):
            LeastSquaresDisplay.from_estimator(
                LinearRegression().fit(X[columns], t), X[columns], t, surface=True, **options
            )
    with pytest.raises(ValueError, match='projection="3d"'):
        LeastSquaresDisplay.from_estimator(model, X, t, surface=True, ax=plt.subplots()[1])


def test_what_has_no_picture() -> None:
    for w in ([1.0], [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(ValueError, match=f"in {len(w)} dimensions"):
            Hyperplane(w).plot()
    with pytest.raises(TypeError, match="a pair"):
        HyperplaneDisplay.from_plane(LinearSVC())
    with pytest.raises(ValueError, match="all zero"):
        Hyperplane([0.0, 0.0], 1.0).plot()
    with pytest.raises(ValueError, match="X has 3 columns"):
        Hyperplane([1.0, 0.0]).plot([[1.0, 2.0, 3.0]])


@compared()
def test_hyperplane_picture() -> Figure:
    figure = plt.figure(figsize=(6.0, 2.4))
    X = np.array([[0.0, 0.0, 1.0], [4.0, 2.0, 0.0], [1.0, 3.0, 2.0]])
    y = [-1, 1, 1]
    plane = Hyperplane([3.0, 4.0], -10.0)
    plane.plot(X[:, :2], y, distances=True, ax=figure.add_subplot(131))
    space = [figure.add_subplot(k, projection="3d") for k in (132, 133)]
    Hyperplane([1.0, 1.0, 1.0], -4.0).plot(X, y, distances=True, ax=space[0])
    LeastSquaresDisplay.from_estimator(plane, X[:, :2], [0.0, 3.0, 9.0], surface=True, ax=space[1])
    return bare(figure)
