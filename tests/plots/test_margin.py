"""The margin in numbers: lines at 1/|w|, stems that end on them, support vectors, paths."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC

from pictures import bare, compared
from separatrix import SVC, DecisionStump, LinearSVC, LogisticRegression, Perceptron
from separatrix.plots import MarginDisplay, theme

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]
ONE = SPECIES != "virginica"
PETALS = IRIS.data.iloc[:, 2:]
MOONS = make_moons(150, noise=0.2, random_state=0)
CANCER = load_breast_cancer(as_frame=True)


def clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(2.2, 1, (40, 2))])
    return X, np.repeat(["no", "yes"], 40)


def drawn(collection: Any) -> list[np.ndarray]:
    return [np.asarray(path.vertices) for path in collection.get_paths()]


@pytest.mark.parametrize(
    "model", [LinearSVC(loss="hinge"), SVC(kernel="linear"), LogisticRegression()]
)
def test_margin_lines_are_one_over_the_norm_away(model) -> None:
    X, y = clouds()
    display = MarginDisplay.from_estimator(model.fit(X, y), X, y)
    w, b = model.coef_[0], model.intercept_[0]
    norm = np.hypot(*w)
    assert display.width == pytest.approx(2.0 / norm, rel=1e-12)
    (line,) = drawn(display.boundary_)
    np.testing.assert_allclose(line @ w + b, 0.0, atol=1e-12)
    below, above = drawn(display.margins_)
    for side, sign in ((below, -1.0), (above, 1.0)):
        np.testing.assert_allclose((side @ w + b) / norm, sign / norm, atol=1e-12)
    # To one scale, so that the distances are seen: in pixels across the lines too.
    display.figure_.draw_without_rendering()
    to_pixels = display.ax_.transData.transform
    scale = np.diff(to_pixels([[0.0, 0.0], [1.0, 1.0]]), axis=0)[0]
    assert scale[0] == pytest.approx(scale[1], rel=1e-3)
    # The arrow goes from line to line, at a right angle.
    start, stop = display.arrow
    assert start @ w + b == pytest.approx(-1.0) and stop @ w + b == pytest.approx(1.0)
    np.testing.assert_allclose(stop - start, 2.0 * w / norm**2, atol=1e-9)
    text = display.width_[1]
    assert text.get_text() == f"2/|w| = {2.0 / norm:.3g}"
    # Within the axes, and not across the boundary.
    box, axes = text.get_window_extent(), display.ax_.get_window_extent()
    assert axes.x0 < box.x0 and box.x1 < axes.x1 and axes.y0 < box.y0 and box.y1 < axes.y1
    corners = display.ax_.transData.inverted().transform(box.corners())
    assert len(set(np.sign(corners @ w + b))) == 1


def test_the_width_is_told_within_narrow_axes() -> None:
    # Two points, so that the arrow spans the picture.
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 0, 1, 1]
    display = MarginDisplay.from_estimator(LinearSVC(C=np.inf).fit(X, y), X, y)
    display.figure_.draw_without_rendering()
    box, axes = display.width_[1].get_window_extent(), display.ax_.get_window_extent()
    assert axes.x0 < box.x0 and box.x1 < axes.x1 and axes.y0 < box.y0 and box.y1 < axes.y1


def test_the_legend_names_no_line_that_is_not_there() -> None:
    X, y = clouds()
    # Weights so small that the margin is far outside of the picture.
    display = MarginDisplay.from_estimator(LogisticRegression(C=1e-6).fit(X, y), X, y)
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert not any(display.margins.values()) and "score -1 and +1" not in shown
    assert ("boundary" in shown) == bool(display.boundary)


def test_stems_go_from_rows_with_slack_to_their_own_margin_line() -> None:
    X, y = clouds()
    model = LinearSVC(loss="hinge").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    signs = np.where(y == "yes", 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - signs * model.decision_function(X))
    late = np.flatnonzero(slack > 1e-3)
    stems = np.array(drawn(display.stems_))
    assert len(stems) == len(late) > 5
    np.testing.assert_array_equal(stems[:, 0], X[late])
    np.testing.assert_allclose(model.decision_function(stems[:, 1]), signs[late], atol=1e-9)
    norm = np.linalg.norm(model.coef_)
    lengths = np.linalg.norm(stems[:, 1] - stems[:, 0], axis=1)
    np.testing.assert_allclose(lengths, slack[late] / norm, rtol=1e-9)
    across = np.array([-model.coef_[0, 1], model.coef_[0, 0]])
    np.testing.assert_allclose((stems[:, 1] - stems[:, 0]) @ across, 0.0, atol=1e-9)
    assert MarginDisplay.from_estimator(model, X, y, slack=False).stems_ is None


def test_support_vectors_are_the_models() -> None:
    X, y = PETALS[ONE], SPECIES[ONE]
    hard = LinearSVC(C=float("inf")).fit(X, y)
    display = MarginDisplay.from_estimator(hard, X, y)
    np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(hard.support_))
    assert display.width == pytest.approx(2.0 * hard.margin_[0])
    assert display.mistakes == 0 and display.stems_ is None
    for model in (SVC(), SklearnSVC()):
        model.fit(*MOONS)
        display = MarginDisplay.from_estimator(model, *MOONS)
        np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(model.support_))
        # With other rows, those within the margin are marked.
        X, y = make_moons(80, noise=0.2, random_state=1)
        display = MarginDisplay.from_estimator(model, X, y)
        z = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
        np.testing.assert_array_equal(display.support, z <= 1.0 + 1e-3)


def test_margins_of_kernels_are_level_sets() -> None:
    model = SVC(C=1.0, gamma=2.0).fit(*MOONS)
    display = MarginDisplay.from_estimator(model, *MOONS)
    assert display.width is None and display.arrow is None and display.stems_ is None
    for level, lines in display.margins.items():
        assert lines
        np.testing.assert_allclose(model.decision_function(np.concatenate(lines)), level, atol=1e-3)
    sizes = display.support_.get_sizes()
    slack = display.slack[display.support]
    assert np.all(np.diff(sizes[np.argsort(slack)]) >= 0.0) and sizes.max() > 1.5 * sizes.min()
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert "support vector,\nlarger with slack" in texts


@pytest.mark.parametrize("kind", [Perceptron, SklearnPerceptron, DecisionStump])
def test_weights_whose_length_says_nothing_have_no_width_and_no_support_vectors(kind) -> None:
    X, y = PETALS[ONE], SPECIES[ONE]
    display = MarginDisplay.from_estimator(kind().fit(X, y), X, y)
    assert display.width is None and display.arrow is None and display.support_ is None
    assert len(drawn(display.margins_)) == 2


def test_many_features_by_distance() -> None:
    X, y = CANCER.data, CANCER.target
    model = make_pipeline(StandardScaler(), LinearSVC(loss="hinge")).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    norm = np.linalg.norm(model[-1].coef_)
    assert display.width == pytest.approx(2.0 / norm)
    below, above = drawn(display.margins_)
    np.testing.assert_allclose(below[:, 0], -1.0 / norm, rtol=1e-9)
    np.testing.assert_allclose(above[:, 0], 1.0 / norm, rtol=1e-9)
    z = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert display.stems_ is not None and len(display.stems) == int((1.0 - z > 1e-3).sum())
    ends = display.stems[:, 1]
    np.testing.assert_allclose(np.abs(ends[:, 0]), 1.0 / norm, rtol=1e-9)
    assert "StandardScaler" in display.note


def test_a_single_feature_and_features_of_different_scales() -> None:
    X, y = CANCER.data.iloc[:, :1], CANCER.target
    model = LinearSVC(loss="hinge").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    w, b = model.coef_[0, 0], model.intercept_[0]
    (line,) = display.boundary
    np.testing.assert_allclose(line[:, 0], -b / w, rtol=1e-12)
    for level, (side,) in display.margins.items():
        np.testing.assert_allclose(side[:, 0], (level - b) / w, rtol=1e-12)
    X, y = clouds()
    X = X * [1.0, 1e4]
    display = MarginDisplay.from_estimator(LinearSVC(loss="hinge").fit(X, y), X, y)
    assert display.ax_.get_aspect() == "auto" and "different scales" in display.note


def test_a_path_shares_axes_and_says_what_was_reached() -> None:
    X, y = clouds()
    strengths = [1.0, 0.1, 0.001]
    displays = MarginDisplay.from_path(LinearSVC(loss="hinge", C=5.0), X, y, lam=strengths)
    widths = [d.width for d in displays]
    assert widths == sorted(widths, reverse=True)
    for display, lam in zip(displays, strengths, strict=True):
        own = LinearSVC(loss="hinge", lam=lam).fit(X, y)
        np.testing.assert_allclose(display.model_.coef_, own.coef_)
        assert display.extent == displays[0].extent
        text = display.ax_.get_title(loc="left")
        assert text.startswith(f"λ = {lam:g}\nwidth {display.width:.3g}, ")
        wrong = int((own.predict(X) != y).sum())
        assert f"{int(display.support.sum())} support vectors" in text
        assert f"{wrong} mistake" in text and text.endswith("optimal")
    # scikit-learn's have no lam: C = 1/(lam n), and no certificate.
    theirs = MarginDisplay.from_path(SklearnSVC(kernel="linear"), X, y, lam=[0.1])
    assert pytest.approx(1.0 / (0.1 * len(X))) == theirs[0].model_.C
    by_C = MarginDisplay.from_path(LinearSVC(loss="hinge", lam=3.0), X, y, C=[1.0, 2.0])
    assert [d.model_.C for d in by_C] == [1.0, 2.0]
    _, axes = plt.subplots(1, 2)
    MarginDisplay.from_path(SVC(), *MOONS, C=[0.1, 10.0], ax=axes)
    with pytest.raises(ValueError, match="ax must be 2 axes"):
        MarginDisplay.from_path(SVC(), *MOONS, C=[0.1, 10.0], ax=axes[:1])


def test_paths_of_pipelines_and_without_slack() -> None:
    X, y = PETALS[ONE], SPECIES[ONE]
    steps = make_pipeline(StandardScaler(), LinearSVC(loss="hinge"))
    soft, hard = displays = MarginDisplay.from_path(steps, X, y, C=[0.1, np.inf])
    assert [d.model_[-1].C for d in displays] == [0.1, np.inf] and steps[-1].C != 0.1
    assert soft.width > hard.width and hard.ax_.get_title(loc="left").startswith("C = ∞\n")
    assert displays.figure_ is soft.figure_ and list(displays.axes_) == [soft.ax_, hard.ax_]
    assert isinstance(displays[:1], list) and len(displays) == 2
    # What only one of the panels has is in the legend too.
    legend = displays.axes_[-1].get_legend()
    assert "slack" in [t.get_text() for t in legend.get_texts()] and not len(hard.stems)


def test_a_search_has_the_support_vectors_of_what_it_found() -> None:
    X, y = clouds()
    search = GridSearchCV(LinearSVC(loss="hinge"), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    display = MarginDisplay.from_estimator(search, X, y)
    own = MarginDisplay.from_estimator(search.best_estimator_, X, y)
    np.testing.assert_array_equal(display.support, own.support)
    assert display.support.any() and display.width == own.width


def test_many_rings_and_stems_are_finer() -> None:
    X, y = clouds()
    looks = []
    for C in (1e-3, 100.0):
        display = MarginDisplay.from_estimator(LinearSVC(loss="hinge", C=C).fit(X, y), X, y)
        looks.append((display.stems_.get_linewidths()[0], display.support_.get_linewidths()[0]))
        # Rings are just larger than the markers.
        ring, marker = display.support_.get_sizes()[0], display.points_[0].get_sizes()[0]
        assert 1.2 * marker < ring < 4.0 * marker
    assert looks[0][0] < looks[1][0] and looks[0][1] <= looks[1][1]


def test_the_figure_has_the_shape_of_the_data() -> None:
    X, y = clouds()
    model = LinearSVC(loss="hinge")
    square = MarginDisplay.from_path(model, X, y, C=[1.0, 2.0]).figure_.get_size_inches()
    flat = MarginDisplay.from_path(model, X * [1.9, 1.0], y, C=[1.0, 2.0]).figure_.get_size_inches()
    assert flat[0] == square[0] and flat[1] < square[1] - 0.3


def test_an_unfinished_fit_says_so_in_its_panel() -> None:
    X, y = clouds()
    (display,) = MarginDisplay.from_path(LogisticRegression(max_iter=1, tol=1e-12), X, y, C=[1.0])
    assert display.ax_.get_title(loc="left").endswith("max iter")


def entries(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("lam", [10.0, 1000.0])
def test_the_course_sees_its_margins(lam: float) -> None:
    X = CANCER.data[["worst perimeter", "worst texture"]].iloc[::5]
    y = CANCER.target_names[CANCER.target][::5]
    display = MarginDisplay.from_estimator(LinearSVC(loss="hinge", lam=lam).fit(X, y), X, y)
    left, right, bottom, top = display.extent
    for lines in (display.boundary, *display.margins.values()):
        assert lines and all(left <= x <= right and bottom <= y <= top for x, y in lines[0])
    names = ["boundary", "score -1 and +1", "support vector", "slack"]
    assert entries(display) == ["benign", "malignant", *names]
    # Beside the axes, so that no point is below it.
    display.figure_.draw_without_rendering()
    assert display.ax_.get_legend().get_window_extent().x0 > display.ax_.bbox.x1


def test_margins_far_away_are_shown_by_request() -> None:
    X = StandardScaler().fit_transform(CANCER.data[["worst perimeter", "worst texture"]].iloc[::5])
    y = CANCER.target_names[CANCER.target][::5]
    model = LinearSVC(loss="hinge", lam=10).fit(X, y)
    by_default = MarginDisplay.from_estimator(model, X, y)
    assert by_default.extent == MarginDisplay.from_estimator(model, X, y, extent="points").extent
    assert by_default.note == "boundary and score +1 are outside of the picture"
    assert "boundary" not in entries(by_default) and "score -1 and +1" in entries(by_default)
    asked = MarginDisplay.from_estimator(model, X, y, extent="margins")
    left, right, bottom, top = asked.extent
    assert right - left > 30 and "boundary" in entries(asked) and asked.note == ""
    for level, lines in {0.0: asked.boundary, **asked.margins}.items():
        np.testing.assert_allclose(model.decision_function(lines[0]), level, atol=1e-12)
        # Not only a corner of the picture: the lines cross it.
        assert np.ptp(lines[0][:, 1]) > 0.5 * (top - bottom)
    # Lines that are near are shown by default, and points alone where this is requested.
    near = [0.35, 0.05], 0.0
    wide, narrow = (MarginDisplay.from_estimator(near, X, y, extent=e) for e in (None, "points"))
    assert all(wide.margins.values()) and not all(narrow.margins.values())
    # One feature, many features, and panels on the same axes.
    many = CANCER.data.iloc[::5]
    for Z in (X[:, :1], many):
        flat = LinearSVC(loss="hinge", lam=1e3).fit(Z, y)
        assert all(MarginDisplay.from_estimator(flat, Z, y, extent="margins").margins.values())
    panels = MarginDisplay.from_path(LinearSVC(loss="hinge"), X, y, lam=[1, 10], extent="margins")
    assert all(all(panel.margins.values()) for panel in panels)
    with pytest.raises(ValueError, match="extent='all'"):
        MarginDisplay.from_estimator(model, X, y, extent="all")


def test_bad_input() -> None:
    X, y = clouds()
    with pytest.raises(ValueError, match="Give the strengths either"):
        MarginDisplay.from_path(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="Give the strengths either"):
        MarginDisplay.from_path(LinearSVC(), X, y, C=[1], lam=[1])
    with pytest.raises(ValueError, match="lam must be positive"):
        MarginDisplay.from_path(LinearSVC(), X, y, lam=[0.0])
    with pytest.raises(ValueError, match="has no parameter C"):
        MarginDisplay.from_path(Perceptron(), X, y, C=[1.0])
    for bad in (1.0, ["a"], []):
        with pytest.raises(ValueError, match="C must be positive numbers, in a list"):
            MarginDisplay.from_path(LinearSVC(), X, y, C=bad)
    with pytest.raises(TypeError, match="estimator must be an estimator, not str"):
        MarginDisplay.from_path("svm", X, y, C=[1.0])
    with pytest.raises(TypeError, match="GaussianNB has no scores"):
        MarginDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    with pytest.raises(ValueError, match="needs the labels"):
        MarginDisplay.from_estimator(LinearSVC().fit(X, y), X, None)
    three = LinearSVC().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match="has 3; choose two of them"):
        MarginDisplay.from_estimator(three, PETALS, SPECIES)
    display = MarginDisplay.from_estimator(three, PETALS, SPECIES, classes=("setosa", "virginica"))
    assert len(display.points) == 100 and not display.support.any()
    with pytest.raises(ValueError, match="votes by pairs"):
        MarginDisplay.from_estimator(
            SVC().fit(PETALS, SPECIES), PETALS, SPECIES, classes=("setosa", "virginica")
        )


@compared()
def test_margin_picture():
    X, y = clouds()
    figure, ax = plt.subplots(figsize=(4.4, 3.0))
    MarginDisplay.from_estimator(LinearSVC(loss="hinge").fit(X, y), X, y, ax=ax)
    return bare(figure)


@compared()
def test_margin_path_picture():
    with theme("dark"):
        figure, axes = plt.subplots(1, 2, figsize=(4.4, 2.2))
        MarginDisplay.from_path(SVC(gamma=2.0), *MOONS, C=[0.1, 100.0], ax=axes)
    return bare(figure)
