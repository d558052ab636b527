"""Ellipses hold the stated mass, and borders are where the posterior probabilities cross."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.discriminant_analysis as sk
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from pictures import bare, compared
from separatrix import (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.plots import DiscriminantDisplay, theme


def seven(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    means = rng.normal(size=(7, 2)) * 1.6
    rows = []
    for mean in means:
        root = rng.normal(size=(2, 2)) * 0.7
        rows.append(rng.multivariate_normal(mean, root @ root.T + 0.15 * np.eye(2), size=n))
    return np.concatenate(rows), np.repeat(list("ABCDEFG"), n)


SEVEN = seven()
MODELS = [
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    sk.LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True),
    sk.QuadraticDiscriminantAnalysis(),
]


@pytest.fixture(scope="module", params=MODELS, ids=["model0", "model1", "model2", "model3"])
def drawn(request: Any) -> tuple[Any, DiscriminantDisplay]:
    """A model of seven classes, and its picture."""
    model = clone(request.param).fit(*SEVEN)
    with theme("light"):
        return model, DiscriminantDisplay.from_estimator(model, *SEVEN)


def test_borders_are_where_the_top_two_cross_within_a_pixel(drawn: Any) -> None:
    model, display = drawn
    display.figure_.draw_without_rendering()
    to = display.ax_.transData
    classes = model.classes_.tolist()
    assert len(display.borders_) >= 7
    for (first, second), lines in display.borders_.items():
        i, j = classes.index(first), classes.index(second)
        for line in lines:
            places = line.get_xydata()
            # A pixel to either side the model's winner is one or the other of the two.
            at = to.transform(places)
            step = np.gradient(at, axis=0)
            step /= np.linalg.norm(step, axis=1, keepdims=True)
            across = np.column_stack([-step[:, 1], step[:, 0]])
            # Not at the ends, where a third class begins.
            inner = slice(2, -2)
            sides = [
                model.decision_function(to.inverted().transform(at + s * across))
                for s in (-1.0, 1.0)
            ]
            signs = [np.sign(s[:, i] - s[:, j])[inner] for s in sides]
            assert np.all(signs[0] * signs[1] < 0)
            scores = model.decision_function(places)
            ahead = np.delete(scores, [i, j], axis=1).max(axis=1)
            gap = np.maximum(scores[:, i], scores[:, j]) - ahead
            assert gap.min() > -0.02 * np.ptp(scores)


def test_the_tint_is_the_models_class(drawn: Any) -> None:
    model, display = drawn
    left, right, bottom, top = display.ax_.axis()
    points = np.random.default_rng(0).uniform((left, bottom), (right, top), (300, 2))
    expected = np.searchsorted(model.classes_, model.predict(points))
    inside = np.array([p.get_path().contains_points(points) for p in display.regions_])
    assert np.all(inside.sum(axis=0) == 1)
    np.testing.assert_array_equal(inside.argmax(axis=0), expected)


@pytest.mark.parametrize("model", MODELS[:2])
def test_ellipses_hold_the_stated_mass(model: Any) -> None:
    X, y = (values[:180] for values in SEVEN)
    model = clone(model).fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y, mass=(0.5, 0.9, 0.99))
    rng = np.random.default_rng(1)
    n = 40_000
    covariance = model.covariance_
    for k in range(3):
        own = covariance if covariance.ndim == 2 else covariance[k]
        sample = rng.multivariate_normal(model.means_[k], own, size=n)
        for mass, ellipse in zip((0.5, 0.9, 0.99), display.ellipses_[k], strict=True):
            # The patch's own geometry, as it will be drawn.
            inside = ellipse.get_patch_transform().inverted().transform(sample)
            share = float((np.linalg.norm(inside, axis=1) <= 1.0).mean())
            assert share == pytest.approx(mass, abs=4.5 * (mass * (1 - mass) / n) ** 0.5)
            # And exactly: every point of the outline is as far as chi-squared says.
            turn = np.linspace(0, 2 * np.pi, 50)
            outline = ellipse.get_patch_transform().transform(
                np.column_stack([np.cos(turn), np.sin(turn)])
            )
            away = outline - model.means_[k]
            square = np.einsum("ij,ij->i", away @ np.linalg.inv(own), away)
            assert square == pytest.approx(-2.0 * np.log(1.0 - mass))


def test_faint_parts_complete_the_boundary() -> None:
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y)
    assert set(display.faint_) == {(0, 1), (0, 2), (1, 2)}
    for (first, second), lines in display.faint_.items():
        for line in lines:
            scores = model.decision_function(line.get_xydata())[5:-5]
            third = ({0, 1, 2} - {first, second}).pop()
            assert np.all(scores[:, third] > scores[:, [first, second]].min(axis=1))
            assert scores[:, first] == pytest.approx(scores[:, second], abs=0.02)
    alone = DiscriminantDisplay.from_estimator(model, X, y, pairs=[(2, 0)])
    assert set(alone.faint_) == {(0, 2)}


def test_many_classes_have_no_faint_parts_and_every_row(drawn: Any) -> None:
    (X, y), (model, display) = SEVEN, drawn
    assert display.faint_ == {}
    for points, label in zip(display.points_, model.classes_, strict=True):
        assert np.array_equal(np.asarray(points.get_offsets()), X[y == label])
    (left, right), (low, high) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert left < X[:, 0].min() and right > X[:, 0].max()
    assert low < X[:, 1].min() and high > X[:, 1].max()


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), sk.LinearDiscriminantAnalysis()])
def test_discriminant_coordinates_decide_as_the_model(model: object) -> None:
    wine = load_wine(as_frame=True)
    model.fit(wine.data, wine.target)
    display = DiscriminantDisplay.from_estimator(model, wine.data, wine.target)
    decided = display.discriminant.predict(display.points)
    assert np.array_equal(decided, model.predict(wine.data))
    assert display.ax_.get_xlabel() == "discriminant coordinate 1"
    assert display.note == ""
    for lines in display.borders_.values():
        for line in lines:
            scores = np.sort(display.discriminant.decision(line.get_xydata()), axis=1)
            assert scores[:, -1] == pytest.approx(scores[:, -2], abs=1e-6)


def test_the_reduced_rank_is_told() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(6, 5)) * 2
    y = np.repeat(np.arange(6), 40)
    X = means[y] + rng.normal(size=(240, 5))
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y)
    assert display.note.startswith("first 2 of 5 coordinates (")
    (told,) = (text for text in display.ax_.texts if text.get_text().startswith("first 2"))
    assert told.get_text().split() == display.note.split()


def test_marginal_gaussians_are_told_and_are_the_marginal_ones() -> None:
    wine = load_wine(as_frame=True)
    model = QuadraticDiscriminantAnalysis().fit(wine.data, wine.target)
    display = DiscriminantDisplay.from_estimator(
        model, wine.data, wine.target, features=("proline", 6)
    )
    assert display.axis_names == ("proline", "flavanoids")
    assert "2 of 13 columns: marginal Gaussians" in display.note
    told = [text.get_text() for text in display.ax_.texts]
    silent = [text.get_text() for text in display.plot(note=False).ax_.texts]
    assert any("marginal" in text for text in told)
    assert not any("marginal" in text for text in silent)
    own = QuadraticDiscriminantAnalysis().fit(wine.data[["proline", "flavanoids"]], wine.target)
    assert np.allclose(display.covariances, own.covariance_)
    for (first, second), lines in display.borders_.items():
        boundary = own.discriminant().boundary(first, second)
        for line in lines:
            drawn = line.get_xydata()
            scale = np.abs(boundary.decision(drawn + np.ptp(drawn, axis=0))).max()
            assert np.abs(boundary.decision(drawn)).max() < 1e-3 * scale
    # Left to itself: the two columns whose means differ most.
    chosen = DiscriminantDisplay.from_estimator(model)
    assert chosen.axis_names == ("flavanoids", "proline")
    assert chosen.points_ == []


@pytest.mark.parametrize("name", ["linear", "quadratic"])
def test_one_coordinate_is_drawn_as_densities(name: str) -> None:
    iris = load_iris(as_frame=True)
    X, y = iris.data[["petal width (cm)"]], iris.target
    kind = {"linear": LinearDiscriminantAnalysis, "quadratic": QuadraticDiscriminantAnalysis}
    model = kind[name]().fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y)
    for lines in display.borders_.values():
        for line in lines:
            at = float(line.get_xdata()[0])
            scores = np.sort(model.decision_function(pd.DataFrame({X.columns[0]: [at]})))[0]
            assert scores[-1] == pytest.approx(scores[-2], abs=1e-9)
    for k, intervals in enumerate(display.ellipses_):
        sigma = np.sqrt(np.broadcast_to(model.covariance_, (3, 1, 1))[k, 0, 0])
        for mass, (low, high) in zip((0.5, 0.9), intervals, strict=True):
            held = norm.cdf([low, high], model.means_[k, 0], sigma)
            assert held[1] - held[0] == pytest.approx(mass)
    assert set(display.borders_) == {(0, 1), (1, 2)}


def test_two_classes_of_many_columns_are_one_coordinate() -> None:
    iris = load_iris(as_frame=True)
    two = iris.target > 0
    X, y = iris.data[two], iris.target_names[iris.target[two]]
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y)
    (line,) = display.borders_["versicolor", "virginica"]
    at = float(line.get_xdata()[0])
    right = (model.transform(X)[:, 0] > at) == (model.predict(X) == "virginica")
    assert right.all() or not right.any()


def test_names_frames_sparse_and_given_axes() -> None:
    X, y = (values[:120] for values in SEVEN)
    frame = pd.DataFrame(X, columns=["a $b$", "c"])
    model = QuadraticDiscriminantAnalysis().fit(frame, y)
    _, ax = plt.subplots()
    display = DiscriminantDisplay.from_estimator(model, frame, y, ax=ax)
    assert display.ax_ is ax
    assert display.ax_.get_xlabel() == r"a \$b\$"
    display.figure_.draw_without_rendering()
    own = QuadraticDiscriminantAnalysis().fit(X, y)
    for matrix in (sp.csr_array(X), X.astype(np.float32)):
        drawn = DiscriminantDisplay.from_estimator(own, matrix, y)
        assert np.allclose(drawn.points, X, atol=1e-5)


def test_bad_input_gets_a_sentence() -> None:
    X, y = SEVEN
    model = LinearDiscriminantAnalysis().fit(X, y)
    for mass, words in ((1.0, "must be below 1"), (0.0, "greater than 0")):
        with pytest.raises(ValueError, match=words):
            DiscriminantDisplay.from_estimator(model, mass=mass)
    with pytest.raises(ValueError, match="give both X and y, or neither"):
        DiscriminantDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="'Z' is not one of 'A', 'B'"):
        DiscriminantDisplay.from_estimator(model, pairs=[("A", "Z")])
    with pytest.raises(ValueError, match="must be two different labels"):
        DiscriminantDisplay.from_estimator(model, pairs=["AB"])
    with pytest.raises(ValueError, match="features names 'age', which is not a column;"):
        DiscriminantDisplay.from_estimator(model, features=("age", 0))
    with pytest.raises(ValueError, match="two different columns"):
        DiscriminantDisplay.from_estimator(model, features=(1, 1))
    with pytest.raises(ValueError, match="Row 1 has the label 'Q'"):
        DiscriminantDisplay.from_estimator(model, X[:2], ["A", "Q"])
    with pytest.raises(TypeError, match="has no Gaussians"):
        DiscriminantDisplay.from_estimator(LogisticRegression().fit(X, y))
    svd = sk.LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(TypeError, match="store_covariance=True"):
        DiscriminantDisplay.from_estimator(svd)


def test_all_pairs_of_three_meet_in_a_point() -> None:
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = DiscriminantDisplay.from_estimator(model, X, y)
    ends = {
        pair: np.concatenate([line.get_xydata()[[0, -1]] for line in lines])
        for pair, lines in display.borders_.items()
    }
    span = np.ptp(X, axis=0)
    for a, b in itertools.combinations(ends.values(), 2):
        apart = np.linalg.norm((a[:, None] - b[None]) / span, axis=2)
        assert apart.min() < 1e-6


def test_rows_of_other_columns_are_not_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis().fit(X[:, 2:], y)
    with pytest.raises(ValueError, match="X has 4 columns, but Quad.* was fitted to 2"):
        DiscriminantDisplay.from_estimator(model, X, y)


def test_no_density_is_negative_on_its_axis() -> None:
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis().fit(X[:, 2:3], y)
    display = DiscriminantDisplay.from_estimator(model, X[:, 2:3], y)
    assert min(display.ax_.get_yticks()) >= 0.0


def test_arguments_of_wrong_kinds_get_a_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    for options, error, words in (
        ({"mass": ()}, ValueError, "mass is empty"),
        ({"mass": "a"}, ValueError, "mass='a' must be a finite number"),
        ({"pairs": 3}, TypeError, "pairs=3 must be a list"),
        ({"features": 3}, ValueError, "features must be two different columns"),
        ({"features": (0, 1.5)}, ValueError, "features names 1.5, which is not a column"),
    ):
        with pytest.raises(error, match=words):
            DiscriminantDisplay.from_estimator(model, X, y, **options)


@compared()
def test_discriminant_picture() -> Figure:
    iris = load_iris(as_frame=True)
    X = iris.data.iloc[:, :2]
    model = QuadraticDiscriminantAnalysis().fit(X, iris.target)
    # Without points, and small: the geometry is what is compared.
    _, ax = plt.subplots(figsize=(5.0, 3.8), layout="constrained")
    return bare(DiscriminantDisplay.from_estimator(model, ax=ax).figure_)
