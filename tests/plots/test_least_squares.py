"""Squares that are square, sides that are lengths, and angles that are right."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model as sk
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_iris

from pictures import bare, compared
from separatrix import LeastSquaresClassifier, LinearRegression
from separatrix.plots import LeastSquaresDisplay


def line_data(n: int = 14, slope: float = -0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, n)
    return x[:, None], 3 + slope * x + rng.normal(size=n)


def pixels(ax: plt.Axes, points: np.ndarray) -> np.ndarray:
    return ax.transData.transform(points)


def drawn_squares(display: LeastSquaresDisplay) -> list[np.ndarray]:
    display.figure_.draw_without_rendering()
    return [path.vertices[:4] for path in display.squares_.get_paths()]


@pytest.mark.crossed
@pytest.mark.parametrize("slope", [-0.8, 0.8])
@pytest.mark.parametrize("size", [(6.0, 4.5), (3.0, 6.0)])
def test_squares_are_square_on_the_screen_and_their_sides_are_residuals(
    slope: float, size: tuple[float, float]
) -> None:
    X, y = line_data(slope=slope)
    model = LinearRegression().fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y)
    display.figure_.set_size_inches(size)
    r = model.residuals(X, y)
    squares = drawn_squares(display)
    area = 0.0
    for square, residual in zip(squares, r, strict=True):
        width, height = np.ptp(pixels(display.ax_, square), axis=0)
        assert width == pytest.approx(height, rel=1e-9)
        assert np.ptp(square[:, 1]) == pytest.approx(abs(residual), rel=1e-9)
        area += np.ptp(square[:, 1]) ** 2
    assert area == pytest.approx(float(r @ r))
    assert f"sum {float(r @ r):.4g}" in display.ax_.get_title("left")


@pytest.mark.parametrize("slope", [-0.8, 0.8])
def test_no_square_crosses_the_line_and_all_are_within_the_axes(slope: float) -> None:
    X, y = line_data(slope=slope)
    model = LinearRegression().fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y)
    (left, right), (low, high) = display.ax_.get_xlim(), display.ax_.get_ylim()
    for square, residual in zip(drawn_squares(display), model.residuals(X, y), strict=True):
        above = np.sign(residual) * (square[:, 1] - model.predict(square[:, :1]))
        assert above.min() > -1e-9
        assert left <= square[:, 0].min() and square[:, 0].max() <= right
        assert low <= square[:, 1].min() and square[:, 1].max() <= high


@pytest.mark.parametrize("model", [LinearRegression(), sk.LinearRegression()])
def test_the_line_is_the_fit(model: object) -> None:
    X, y = line_data()
    model.fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y)
    drawn = display.line_.get_xydata()
    assert np.allclose(model.predict(drawn[:, :1]), drawn[:, 1])
    assert display.r2 == pytest.approx(model.score(X, y))


@pytest.mark.crossed
@pytest.mark.parametrize("model", [LinearRegression(), sk.LinearRegression()])
@pytest.mark.parametrize("columns", [["bmi"], ["age", "bmi", "bp"]])
def test_the_triangle_has_the_lengths_and_the_right_angle(
    model: object, columns: list[str]
) -> None:
    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data[columns], data.target
    model.fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    fitted = model.predict(X)
    t = display.triangle
    assert t.total == pytest.approx(np.linalg.norm(y - y.mean()))
    assert t.fitted == pytest.approx(np.linalg.norm(fitted - y.mean()))
    assert t.residual == pytest.approx(np.linalg.norm(y - fitted))
    assert t.total**2 == pytest.approx(t.fitted**2 + t.residual**2)
    assert t.r2 == pytest.approx(model.score(X, y))
    assert "orthogonal" in t.words
    # The triangle as it is drawn: lengths in the right proportions, and a right angle, in pixels.
    display.figure_.draw_without_rendering()
    a, b, c = display.triangle_.get_transform().transform(display.triangle_.get_xy()[:3])
    assert np.linalg.norm(c - b) / np.linalg.norm(b - a) == pytest.approx(t.residual / t.fitted)
    assert (b - a) @ (c - b) == pytest.approx(0.0, abs=1e-6)
    cosine = (b - a) @ (c - a) / np.linalg.norm(b - a) / np.linalg.norm(c - a)
    assert cosine**2 == pytest.approx(t.r2)
    frame = display.axes_[1].bbox
    for point in (a, b, c):
        assert frame.contains(*point)


def test_without_an_intercept_lengths_are_about_zero() -> None:
    X, y = line_data()
    model = LinearRegression(fit_intercept=False).fit(X, y)
    t = LeastSquaresDisplay.from_estimator(model, X, y, projection=True).triangle
    assert not t.centred
    assert t.total == pytest.approx(np.linalg.norm(y))
    assert t.total**2 == pytest.approx(t.fitted**2 + t.residual**2)


def test_no_right_angle_is_drawn_where_there_is_none() -> None:
    X, y = line_data()
    with pytest.raises(ValueError, match="not orthogonal to the fit"):
        model = LinearRegression(lam=5.0).fit(X, y)
        LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="the rows that the model was fitted to"):
        LeastSquaresDisplay.from_estimator(model, X[:7], y[:7], projection=True)
    with pytest.raises(ValueError, match="y is constant"):
        flat = np.ones(len(y))
        LeastSquaresDisplay.from_estimator(LinearRegression().fit(X, flat), X, flat,
                                           projection=True)  # fmt: skip


def test_an_exact_fit_says_so() -> None:
    X = np.arange(5.0)[:, None]
    y = 2.0 * X[:, 0] + 1.0
    model = LinearRegression().fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    assert "exact" in display.triangle.words


def test_several_features_are_observed_against_fitted() -> None:
    data = load_diabetes(as_frame=True)
    model = LinearRegression().fit(data.data, data.target)
    display = LeastSquaresDisplay.from_estimator(model, data.data, data.target)
    assert display.ax_.get_xlabel() == "fitted from 10 columns"
    assert display.ax_.get_ylabel() == "observed target"
    drawn = np.asarray(display.points_.get_offsets())
    assert np.allclose(drawn[:, 0], model.predict(data.data))
    assert np.allclose(drawn[:, 1], data.target)
    line = display.line_.get_xydata()
    assert np.allclose(line[:, 0], line[:, 1])
    display.figure_.draw_without_rendering()
    # A diagonal of 45 degrees.
    across, up = np.ptp(pixels(display.ax_, line), axis=0)
    assert across == pytest.approx(up)
    assert display.squares_ is None and display.stems_ is not None


@pytest.mark.parametrize(
    "columns", [["petal width (cm)"], ["sepal width (cm)", "petal width (cm)"]]
)
def test_a_classifier_crosses_zero_at_the_boundary(columns: list[str]) -> None:
    iris = load_iris(as_frame=True)
    two = iris.target > 0
    X, y = iris.data.loc[two, columns], iris.target_names[iris.target[two]]
    model = LeastSquaresClassifier().fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    at = float(display.boundary_.get_xdata()[0])
    if len(columns) == 1:
        assert model.decision_function(pd.DataFrame({columns[0]: [at]}))[0] == pytest.approx(0.0)
    else:
        assert at == 0.0
    slope, level = display.line
    assert slope * at + level == pytest.approx(0.0, abs=1e-12)
    assert sorted(set(display.y)) == [-1.0, 1.0]
    for points, label in zip(display.points_, model.classes_, strict=True):
        target = {"versicolor": -1.0, "virginica": 1.0}[label]
        assert np.all(np.asarray(points.get_offsets())[:, 1] == target)
        assert len(points.get_offsets()) == np.sum(y == label)


def test_names_of_the_table_are_no_markup() -> None:
    X, y = line_data()
    frame = pd.DataFrame({"price $x$": X[:, 0]})
    model = LinearRegression().fit(frame, pd.Series(y, name="a_{$b$}"))
    display = LeastSquaresDisplay.from_estimator(model, frame, pd.Series(y, name="a_{$b$}"))
    assert display.ax_.get_xlabel() == r"price \$x\$"
    display.figure_.draw_without_rendering()


def test_sparse_float32_and_many_rows() -> None:
    X, y = line_data(10_000)
    for matrix in (sp.csr_array(X), X.astype(np.float32)):
        model = LinearRegression().fit(matrix, y)
        display = LeastSquaresDisplay.from_estimator(model, matrix, y)
        assert display.points_.get_rasterized()
        assert display.squares_ is None and display.stems_ is None


def test_squares_can_be_left_out_and_axes_given() -> None:
    X, y = line_data()
    model = LinearRegression().fit(X, y)
    _, ax = plt.subplots()
    display = LeastSquaresDisplay.from_estimator(model, X, y, squares=False, ax=ax)
    assert display.ax_ is ax and display.squares_ is None
    stems = display.stems_.get_segments()
    assert np.allclose([np.ptp(s[:, 1]) for s in stems], np.abs(model.residuals(X, y)))
    with pytest.raises(ValueError, match="ax must be 2 axes"):
        LeastSquaresDisplay.from_estimator(model, X, y, projection=True, ax=ax)


def test_bad_input_gets_a_sentence() -> None:
    X, y = line_data()
    both = np.column_stack([y, y])
    with pytest.raises(ValueError, match="y has 2 targets; draw one at a time"):
        LeastSquaresDisplay.from_estimator(LinearRegression().fit(X, both), X, both)
    iris = load_iris()
    with pytest.raises(ValueError, match="the model has 3 classes"):
        model = LeastSquaresClassifier().fit(iris.data, iris.target)
        LeastSquaresDisplay.from_estimator(model, iris.data, iris.target)
    model = LeastSquaresClassifier().fit(X, np.arange(len(X)) % 2)
    with pytest.raises(ValueError, match="Row 1 has the label 2"):
        LeastSquaresDisplay.from_estimator(model, X, 1 + np.arange(len(X)) % 2)
    from separatrix import PolynomialRegression

    with pytest.raises(TypeError, match="PolynomialDisplay draws curves"):
        LeastSquaresDisplay.from_estimator(PolynomialRegression(3).fit(X, y), X, y)


def test_a_share_reads_one_only_where_the_fit_is_exact() -> None:
    X = np.arange(6.0)[:, None]
    y = 2.0 * X[:, 0]
    near = y + 1e-3 * np.array([1, -1, 1, -1, 1, -1])
    display = LeastSquaresDisplay.from_estimator(LinearRegression().fit(X, near), X, near)
    assert "$R^2$ = 1 −" in display.ax_.get_title("left")
    display = LeastSquaresDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    assert "$R^2$ = 1\n" in display.ax_.get_title("left")
    assert display.ax_.get_title("left").endswith("sum 0")


def test_classes_of_any_length_are_named_at_their_targets() -> None:
    X, _ = line_data()
    labels = np.where(X[:, 0] > 5, "very long $label$ " * 12, "another " * 25)
    model = LeastSquaresClassifier().fit(X, labels)
    display = LeastSquaresDisplay.from_estimator(model, X, labels)
    display.figure_.draw_without_rendering()
    named = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert named[0].endswith("−1") and named[2].endswith("+1")
    assert display.ax_.bbox.width > 0.6 * display.figure_.bbox.width


def test_squares_about_the_diagonal_are_within_the_axes() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), 1000 * rng.normal(size=40)
    display = LeastSquaresDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    left, right = display.ax_.get_xlim()
    corners = np.concatenate(drawn_squares(display))
    assert left <= corners[:, 0].min() and corners[:, 0].max() <= right


def test_axes_that_are_none_or_too_many_get_a_sentence() -> None:
    X, y = line_data()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="ax must be one Axes; there are 2"):
        LeastSquaresDisplay.from_estimator(model, X, y, ax=plt.subplots(1, 2)[1])
    with pytest.raises(TypeError, match="ax must hold Axes of matplotlib, not Figure"):
        LeastSquaresDisplay.from_estimator(model, X, y, ax=plt.figure())


@compared()
def test_least_squares_picture() -> Figure:
    X, y = line_data()
    model = LinearRegression().fit(X, y)
    display = LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    return bare(display.figure_)


def test_the_equation_in_the_title_has_the_name_of_the_column():
    frame = pd.DataFrame({"h": [1.0, 2.0, 3.0, 4.0]})
    t = [2.1, 3.9, 6.2, 7.7]
    display = LeastSquaresDisplay.from_estimator(LinearRegression().fit(frame, t), frame, t)
    assert "= 1.91 h + 0.2" in display.ax_.get_title("left") + display.ax_.get_title()
