"""Regions and boundaries: where they are, in pixels, and that few rows are evaluated."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pictures import bare, compared
from separatrix import (
    SVC,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.plots import DecisionDisplay, theme

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]
PETALS = IRIS.data.iloc[:, 2:]
TWO = SPECIES != "setosa"
MOONS = make_moons(150, noise=0.2, random_state=0)


def polylines(collection: Any) -> list[np.ndarray]:
    return [np.asarray(path.vertices) for path in collection.get_paths()]


def dense(lines: list[np.ndarray]) -> np.ndarray:
    """Points all along polylines, not only their vertices."""
    out = []
    for line in lines:
        share = np.linspace(0.0, 1.0, max(7, 400 // len(line)))[:, None]
        out += [a + share * (b - a) for a, b in itertools.pairwise(line)]
    return np.concatenate(out)


def off_in_pixels(ax: Any, points: np.ndarray, function: Any) -> float:
    """How far points are from a function's zero, to first order, in pixels of the screen."""
    there, back = ax.transData.transform(points), ax.transData.inverted().transform
    pixel = back(there + np.array([1.0, 0.0])) - points
    up = back(there + np.array([0.0, 1.0])) - points
    value = function(points)
    slope = np.hypot(function(points + pixel) - value, function(points + up) - value)
    return float((np.abs(value) / np.maximum(slope, 1e-300)).max())


@pytest.mark.parametrize("model", [SVC(C=10.0), QuadraticDiscriminantAnalysis(), LinearSVC()])
def test_the_boundary_is_within_a_pixel_of_the_zero_set(model) -> None:
    X, y = MOONS
    display = DecisionDisplay.from_estimator(model.fit(X, y), X, y)
    lines = polylines(display.boundary_)
    assert lines
    assert off_in_pixels(display.ax_, dense(lines), model.decision_function) < 0.25


def test_no_part_of_the_boundary_is_missing() -> None:
    X, y = MOONS
    for model in (SVC(C=10.0), QuadraticDiscriminantAnalysis(), LogisticRegression()):
        display = DecisionDisplay.from_estimator(model.fit(X, y), X)
        ax = display.ax_
        left, right, bottom, top = display.extent
        grid = np.stack(np.meshgrid(np.linspace(left, right, 300), np.linspace(bottom, top, 300)))
        side = model.predict(grid.reshape(2, -1).T).reshape(300, 300)
        crossed = np.argwhere(side[:, 1:] != side[:, :-1])
        places = np.stack([grid[0, 0, crossed[:, 1]], grid[1, crossed[:, 0], 0]], axis=1)
        drawn = ax.transData.transform(dense(polylines(display.boundary_)))
        for place in ax.transData.transform(places):
            assert np.hypot(*(drawn - place).T).min() < 6.0


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()]
)
def test_boundaries_of_three_classes_are_where_the_two_largest_are_equal(model) -> None:
    display = DecisionDisplay.from_estimator(model.fit(PETALS, SPECIES), PETALS, SPECIES)

    def lead(points: np.ndarray) -> np.ndarray:
        scores = np.sort(model.decision_function(pd.DataFrame(points, columns=PETALS.columns)))
        return scores[:, -1] - scores[:, -2]

    points = dense(polylines(display.boundary_))
    assert np.abs(lead(points)).max() < 0.05
    step = np.diff(np.array(display.extent).reshape(2, 2)).ravel() / 1000
    assert np.all(lead(points) <= np.maximum(lead(points + step), lead(points - step)) + 1e-12)
    # And regions are those of predict.
    for patch, label in zip(display.regions_, model.classes_, strict=True):
        box = np.random.default_rng(0).uniform(
            [display.extent[0], display.extent[2]], [display.extent[1], display.extent[3]], (400, 2)
        )
        sure = lead(box) > 0.3
        inside = patch.get_path().contains_points(box)
        predicted = model.predict(pd.DataFrame(box, columns=PETALS.columns)) == label
        np.testing.assert_array_equal(inside[sure], predicted[sure])


def test_contours_are_where_the_probability_is_what_they_say() -> None:
    X, y = MOONS
    for model in (
        LogisticRegression(),
        SklearnLogistic(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        SVC(calibrate="sigmoid"),
    ):
        display = DecisionDisplay.from_estimator(model.fit(X, y), X, y, shade="probability")
        assert {0.1, 0.25, 0.75, 0.9} <= set(display.contours)
        for level, lines in display.contours.items():
            assert lines
            found = model.predict_proba(np.concatenate(lines))[:, 1]
            np.testing.assert_allclose(found, level, atol=2e-3)
            assert (
                off_in_pixels(
                    display.ax_,
                    dense(lines),
                    lambda p, m=model, at=level: m.predict_proba(p)[:, 1] - at,
                )
                < 0.5
            )


@pytest.mark.parametrize("kind", ["two", "three"])
def test_equal_votes_belong_to_a_region(kind) -> None:
    X, y = MOONS if kind == "two" else (PETALS.to_numpy(), SPECIES)
    model = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y)
    left, right, bottom, top = display.extent
    grid = np.stack(
        np.meshgrid(np.linspace(left, right, 83)[1:-1], np.linspace(bottom, top, 83)[1:-1])
    )
    places = grid.reshape(2, -1).T
    votes = np.sort(model.predict_proba(places), axis=1)
    assert (votes[:, -1] == votes[:, -2]).sum() > 50
    inside = np.array([p.get_path().contains_points(places) for p in display.regions_])
    predicted = model.predict(places) == model.classes_[:, None]
    # All but a few places on the steps themselves.
    assert (inside == predicted).all(axis=0).mean() > 0.95


def test_steps_have_no_contours() -> None:
    X, y = MOONS
    for model in (RandomForestClassifier(3, random_state=0), KNeighborsClassifier()):
        display = DecisionDisplay.from_estimator(model.fit(X, y), X, y, shade="probability")
        assert display.contours == {} and display.image is not None


@pytest.mark.parametrize("shade", ["score", "probability"])
def test_shading_leaves_points_to_be_seen(shade) -> None:
    X, y = MOONS
    two = DecisionDisplay.from_estimator(LogisticRegression(C=1e4).fit(X, y), X, y, shade=shade)
    model = QuadraticDiscriminantAnalysis().fit(PETALS, SPECIES)
    three = DecisionDisplay.from_estimator(model, PETALS, SPECIES, shade=shade)
    for display in (two, three):
        alphas = np.concatenate([np.asarray(i.get_array())[..., 3].ravel() for i in display.image_])
        assert 0.2 < alphas.max() <= 0.4


def test_few_rows_are_evaluated() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (5_000, 2)), rng.normal(2, 1, (5_000, 2))])
    y = np.repeat([0, 1], 5_000)

    class Counted(SVC):
        rows = 0

        def decision_function(self, X: Any) -> np.ndarray:
            Counted.rows += len(X)
            return super().decision_function(X)

    model = Counted().fit(X[::50], y[::50])
    display = DecisionDisplay.from_estimator(model, X, y, shade="score")
    assert Counted.rows < 6_000
    assert all(points.get_rasterized() for points in display.points_)


def test_more_features_are_shown_by_a_view() -> None:
    cancer = load_breast_cancer(as_frame=True)
    X = cancer.data / cancer.data.std()
    model = LogisticRegression().fit(X, cancer.target)
    display = DecisionDisplay.from_estimator(model, X, cancer.target)
    (line,) = polylines(display.boundary_)
    np.testing.assert_allclose(line[:, 0], 0.0, atol=1e-12)
    offsets = np.concatenate([p.get_offsets() for p in display.points_])
    norm = np.linalg.norm(model.coef_)
    expected = np.concatenate(
        [model.decision_function(X[cancer.target == k]) / norm for k in (0, 1)]
    )
    np.testing.assert_allclose(offsets[:, 0], expected, rtol=1e-9, atol=1e-9)
    assert display.ax_.get_title(loc="left").replace("\n", " ") == display.note
    assert "30 features" in display.note


def test_a_single_feature() -> None:
    X = PETALS.iloc[:, :1]
    two = LogisticRegression().fit(X[TWO], SPECIES[TWO])
    display = DecisionDisplay.from_estimator(two, X[TWO], SPECIES[TWO], shade="probability")
    (line,) = display.boundary
    assert line[0, 0] == pytest.approx(-two.intercept_[0] / two.coef_[0, 0], rel=1e-12)
    curve = display.curve_[0].get_xydata()
    expected = expit(curve[:, 0] * two.coef_[0, 0] + two.intercept_[0])
    np.testing.assert_allclose(curve[:, 1], expected, atol=1e-12)
    three = SVC().fit(X, SPECIES)
    display = DecisionDisplay.from_estimator(three, X, SPECIES)
    cuts = [line[0, 0] for line in display.boundary]
    assert len(cuts) == 2 and cuts == sorted(cuts)
    for cut in cuts:
        around = pd.DataFrame({X.columns[0]: [cut - 1e-3, cut + 1e-3]})
        assert len(set(three.predict(around))) == 2


def test_points_of_a_single_feature_and_three_classes_are_in_the_picture() -> None:
    X = PETALS.iloc[:, :1]
    model = LogisticRegression().fit(X, SPECIES)
    for shade in ("class", "probability"):
        display = DecisionDisplay.from_estimator(model, X, SPECIES, shade=shade)
        low, high = display.ax_.get_ylim()
        heights = np.concatenate([p.get_offsets()[:, 1] for p in display.points_])
        assert len(heights) == 150 and low < heights.min() and heights.max() < high
        what = "score" if shade == "class" else "probability"
        assert display.ax_.get_ylabel() == f"{what} of each class"


def test_two_classes_out_of_more() -> None:
    model = LogisticRegression().fit(PETALS, SPECIES)
    display = DecisionDisplay.from_estimator(
        model, PETALS, SPECIES, classes=("setosa", "virginica")
    )
    (line,) = display.boundary
    scores = model.decision_function(pd.DataFrame(line, columns=PETALS.columns))
    np.testing.assert_allclose(scores[:, 0], scores[:, 2], atol=1e-11)
    assert [len(p.get_offsets()) for p in display.points_] == [50, 50]


def test_surface() -> None:
    model = LogisticRegression().fit(PETALS[TWO], SPECIES[TWO])
    display = DecisionDisplay.from_estimator(model, PETALS[TWO], SPECIES[TWO], surface=True)
    assert display.ax_.name == "3d"
    x, y, z = display.boundary_[0].get_data_3d()
    np.testing.assert_array_equal(z, 0.5)
    half = model.predict_proba(pd.DataFrame(np.stack([x, y], 1), columns=PETALS.columns))
    np.testing.assert_allclose(half, 0.5, atol=1e-12)
    heights = [np.unique(p._offsets3d[2]).tolist() for p in display.points_]
    assert heights == [[0.0], [1.0]]
    # What is below the sheet is drawn over it.
    assert not display.ax_.computed_zorder
    assert min(p.get_zorder() for p in display.points_) > display.image_.get_zorder()
    with pytest.raises(TypeError, match="draws probabilities, and LinearSVC has no"):
        DecisionDisplay.from_estimator(
            LinearSVC().fit(PETALS[TWO], SPECIES[TWO]), PETALS[TWO], surface=True
        )
    with pytest.raises(ValueError, match="projection"):
        display.plot(ax=plt.figure().add_subplot())


def test_steepness_keeps_the_boundary() -> None:
    model = LogisticRegression().fit(PETALS[TWO], SPECIES[TWO])
    displays = DecisionDisplay.steepness(model, PETALS[TWO], SPECIES[TWO], scales=(0.5, 1, 4))
    norm = float(np.linalg.norm(model.coef_))
    first = displays[0].boundary[0]
    for display, scale in zip(displays, (0.5, 1.0, 4.0), strict=True):
        np.testing.assert_array_equal(display.boundary[0], first)
        t, p = display.curve_[0].get_data()
        np.testing.assert_allclose(p, expit(scale * norm * t), atol=1e-12)
        line = display.contours[0.9][0]
        frame = pd.DataFrame(line, columns=PETALS.columns)
        np.testing.assert_allclose(scale * model.decision_function(frame), np.log(9.0), rtol=1e-9)
    assert list(displays.axes_[:3]) == [d.ax_ for d in displays] and len(displays.axes_) == 6
    assert displays.figure_ is displays[0].figure_
    steep = LogisticRegression(steepness=3.0).fit(PETALS[TWO], SPECIES[TWO])
    (display,) = DecisionDisplay.steepness(steep, PETALS[TWO], SPECIES[TWO], scales=[1])
    line = pd.DataFrame(display.contours[0.9][0], columns=PETALS.columns)
    np.testing.assert_allclose(steep.predict_proba(line)[:, 1], 0.9, atol=1e-9)
    # A score that is no logarithm of odds gives no probability.
    machine = LinearSVC().fit(PETALS[TWO], SPECIES[TWO])
    panels = DecisionDisplay.steepness(machine, PETALS[TWO], SPECIES[TWO], scales=[1])
    assert panels.axes_[1].get_ylabel() == "sigmoid of the score"
    for bad in ((0.0, 1), (), (np.inf,), 2, ["a"], None):
        with pytest.raises(ValueError, match="scales must be positive"):
            DecisionDisplay.steepness(model, PETALS[TWO], SPECIES[TWO], scales=bad)
    with pytest.raises(TypeError, match="linear model of two classes"):
        DecisionDisplay.steepness(SVC().fit(*MOONS), *MOONS)


def test_identical_points_large_numbers_and_names_with_markup() -> None:
    model = LogisticRegression().fit([[0.0, 0.0], [2.0, 2.0]], ["a$b$", "<i>"])
    display = DecisionDisplay.from_estimator(model, np.ones((4, 2)), ["a$b$"] * 4)
    assert np.all(np.isfinite(display.extent))
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == ["<i>", r"a\$b\$"]
    X, y = MOONS
    for scale, offset in ((1e12, 0.0), (1e-12, 0.0), (1.0, 1e6)):
        for kind in (LogisticRegression, QuadraticDiscriminantAnalysis):
            moved = X * scale + offset
            model = kind().fit(moved, y)
            display = DecisionDisplay.from_estimator(model, moved, y)
            if kind is LogisticRegression and not display.boundary:
                # The penalty keeps the weights so small that one class has the whole picture.
                assert len(set(model.predict(moved))) == 1
                continue
            lines = dense(display.boundary)
            assert off_in_pixels(display.ax_, lines, model.decision_function) < 0.5


def test_long_names_leave_the_axes_their_room() -> None:
    X, y = MOONS
    names = np.where(y == 1, "the second of the classes", "the first of the classes")
    model = LogisticRegression().fit(X, names)
    _, narrow = plt.subplots(figsize=(3.0, 2.6), layout="constrained")
    display = DecisionDisplay.from_estimator(model, X, names, ax=narrow)
    display.figure_.draw_without_rendering()
    (legend,) = display.figure_.legends
    assert display.ax_.get_legend() is None
    box, room = legend.get_window_extent(), display.figure_.bbox
    assert room.x0 <= box.x0 and box.x1 <= room.x1 and box.y1 < narrow.get_window_extent().y0
    assert narrow.get_window_extent().width > 0.6 * room.width
    # Without a layout nothing makes space for the legend, which is then within the axes.
    _, (plain, _) = plt.subplots(1, 2)
    DecisionDisplay.from_estimator(model, X, names, ax=plain).figure_.draw_without_rendering()
    box, room = plain.get_legend().get_window_extent(), plain.get_window_extent()
    assert room.x0 <= box.x0 and box.x1 <= room.x1


def test_bad_input() -> None:
    X, y = MOONS
    model = KNeighborsClassifier().fit(X, y)
    DecisionDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="shade='rainbow' is not known"):
        DecisionDisplay.from_estimator(model, X, y, shade="rainbow")
    with pytest.raises(ValueError, match="one label for each of the 150 rows"):
        DecisionDisplay.from_estimator(model, X, y[:3])
    with pytest.raises(ValueError, match=r"its shape is \(150, 1\)"):
        DecisionDisplay.from_estimator(model, X, y[:, None])
    lost = np.array(X)
    for value in (np.nan, np.inf):
        lost[7, 1] = value
        with pytest.raises(ValueError, match="Row 7 of X cannot be drawn"):
            DecisionDisplay.from_estimator(model, lost, y)
    with pytest.raises(ValueError, match="Row 0 has the label 'b'"):
        DecisionDisplay.from_estimator(model, X, ["b"] * 150)
    with pytest.raises(TypeError, match="has no predict_proba"):
        DecisionDisplay.from_estimator(LinearSVC().fit(X, y), X, y, shade="probability")
    three = LogisticRegression().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match="surface=True needs two classes"):
        DecisionDisplay.from_estimator(three, PETALS, SPECIES, surface=True)


@compared()
def test_regions_picture():
    model = QuadraticDiscriminantAnalysis().fit(PETALS, SPECIES)
    figure, ax = plt.subplots(figsize=(4.0, 2.6))
    DecisionDisplay.from_estimator(model, PETALS, SPECIES, ax=ax)
    return bare(figure)


# Versions of matplotlib differ in the pixel at which an image ends.
@compared(tolerance=4)
def test_probability_picture():
    X, y = PETALS[TWO], SPECIES[TWO]
    with theme("dark"):
        figure, ax = plt.subplots(figsize=(4.0, 2.6))
        DecisionDisplay.from_estimator(
            LogisticRegression().fit(X, y), X, y, shade="probability", ax=ax
        )
    return bare(figure)


@compared()
def test_score_picture():
    X, y = MOONS
    figure, ax = plt.subplots(figsize=(4.0, 2.6))
    DecisionDisplay.from_estimator(SVC(C=10.0).fit(X, y), X, y, shade="score", ax=ax)
    return bare(figure)
