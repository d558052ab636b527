"""Curves are the model's, limits are the data's, and nothing leaves a panel unsaid."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from pictures import bare, compared
from separatrix import LogisticRegression, PolynomialRegression
from separatrix.plots import PolynomialDisplay


def waves(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 1, n))
    return x[:, None], np.sin(2 * np.pi * x) + 0.2 * rng.standard_normal(n)


class Counting(PolynomialRegression):
    rows = 0

    def predict(self, X: object) -> np.ndarray:
        type(self).rows += len(X)
        return super().predict(X)


def test_the_curve_is_the_models_within_a_pixel() -> None:
    X, y = waves()
    model = PolynomialRegression(7).fit(X, y)
    display = PolynomialDisplay.from_estimator(model, X, y)
    display.figure_.draw_without_rendering()
    line = display.curves_[0].get_xydata()
    fine = np.linspace(X.min(), X.max(), 20_001)
    exact = display.ax_.transData.transform(np.column_stack([fine, model.predict(fine[:, None])]))
    drawn = display.ax_.transData.transform(line)
    assert np.abs(np.interp(exact[:, 0], drawn[:, 0], drawn[:, 1]) - exact[:, 1]).max() < 1.0
    # No further than the data.
    assert line[0, 0] == X.min() and line[-1, 0] == X.max()


def test_residuals_are_below_their_points() -> None:
    X, y = waves()
    model = PolynomialRegression(3).fit(X, y)
    display = PolynomialDisplay.from_estimator(model, X, y)
    points = np.asarray(display.points_[0].get_offsets())
    residuals = np.asarray(display.residuals_[0].get_offsets())
    assert np.allclose(points[:, 0], residuals[:, 0])
    assert np.allclose(residuals[:, 1], model.residuals(X, y))
    assert "degree 3" in display.ax_.get_title("left")


def test_any_regressor_and_few_evaluations() -> None:
    X, y = waves()
    pipe = make_pipeline(PolynomialFeatures(3), LinearRegression()).fit(X, y)
    own = PolynomialRegression(3).fit(X, y)
    curves = [PolynomialDisplay.from_estimator(m, X, y).curves_[0].get_ydata() for m in (pipe, own)]
    assert np.allclose(*curves)
    X, y = waves(10_000)
    model = Counting(3).fit(X, y)
    Counting.rows = 0
    display = PolynomialDisplay.from_estimator(model, X, y)
    assert Counting.rows <= 2 * 10_000 + 1_000
    assert display.points_[0].get_rasterized()


def test_degrees_side_by_side_agree_with_the_curve_of_errors() -> None:
    X, y = waves()
    display = PolynomialDisplay.from_degrees(X, y, [1, 3, 7])
    expected = PolynomialRegression.degree_curve(X, y, range(1, 8))
    assert display.errors.best_degree == expected.best_degree
    assert np.allclose(display.training_line_.get_ydata(), expected.training_mse)
    assert np.allclose(display.validation_line_.get_ydata(), expected.validation_mse)
    assert float(display.best_.get_xdata()[0]) == expected.best_degree
    own = ~display.held_out
    for curve, degree in zip(display.curves, (1, 3, 7), strict=True):
        training = float((curve.residuals[own] ** 2).mean())
        held_out = float((curve.residuals[~own] ** 2).mean())
        at = expected.degrees.index(degree)
        assert training == pytest.approx(expected.training_mse[at])
        assert held_out == pytest.approx(expected.validation_mse[at])


def test_wild_curves_do_not_flatten_the_data() -> None:
    X, y = waves()
    display = PolynomialDisplay.from_degrees(X, y, [1, 15])
    spread = np.ptp(y)
    for ax in display.axes_[:2]:
        low, high = ax.get_ylim()
        assert high - low < 1.3 * spread
        assert low < y.min() and high > y.max()
    # The wild one does leave the panel, and its residuals are marked at the edge.
    wild = display.curves_[1].get_ydata()
    assert np.abs(wild).max() > 2 * spread
    low, high = display.axes_[3].get_ylim()
    beyond = np.abs(display.curves[1].residuals) > high
    assert beyond.any()
    marks = [np.asarray(c.get_offsets()) for c in display.axes_[3].collections]
    on_edge = sum(int((np.abs(m[:, 1]) > 0.9 * high).sum()) for m in marks if m.ndim == 2)
    assert on_edge >= beyond.sum()


def test_the_axes_are_shared() -> None:
    X, y = waves()
    display = PolynomialDisplay.from_degrees(X, y, [1, 3, 7])
    assert len({ax.get_ylim() for ax in display.axes_[:3]}) == 1
    assert len({ax.get_ylim() for ax in display.axes_[3:6]}) == 1
    assert len({ax.get_xlim() for ax in display.axes_[:6]}) == 1


def test_several_columns_and_sparse_ones() -> None:
    data = load_diabetes(as_frame=True)
    X = data.data[["bmi", "bp"]]
    display = PolynomialDisplay.from_degrees(X, data.target, [1, 2])
    assert display.axes_[2].get_xlabel() == "fitted from 2 columns"
    line = display.curves_[0].get_xydata()
    assert np.allclose(line[:, 0], line[:, 1])
    X, y = waves()
    for matrix in (sp.csr_array(X), X.astype(np.float32), pd.DataFrame(X, columns=["when $t$"])):
        model = PolynomialRegression(2).fit(matrix, y)
        display = PolynomialDisplay.from_estimator(model, matrix, y)
    assert display.axes_[1].get_xlabel() == r"when \$t\$"


def test_axes_can_be_given() -> None:
    X, y = waves()
    _, axes = plt.subplots(2)
    model = PolynomialRegression(2).fit(X, y)
    assert PolynomialDisplay.from_estimator(model, X, y, ax=axes).axes_[1] is axes[1]
    with pytest.raises(ValueError, match="ax must be 5 axes"):
        PolynomialDisplay.from_degrees(X, y, [1, 2], ax=axes)


def test_bad_input_gets_a_sentence() -> None:
    X, y = waves()
    with pytest.raises(ValueError, match="degrees is empty"):
        PolynomialDisplay.from_degrees(X, y, [])
    with pytest.raises(ValueError, match="a degree=-1 must be"):
        PolynomialDisplay.from_degrees(X, y, [-1])
    with pytest.raises(ValueError, match="leaves no rows to fit or none to validate"):
        PolynomialDisplay.from_degrees(X, y, [1], validation=1.0)
    both = np.column_stack([y, y])
    with pytest.raises(ValueError, match="y has 2 targets"):
        PolynomialDisplay.from_estimator(PolynomialRegression(2).fit(X, both), X, both)


def test_rounding_is_no_structure_and_no_share() -> None:
    X = np.linspace(0, 1, 20)[:, None]
    y = X[:, 0] ** 3
    display = PolynomialDisplay.from_estimator(PolynomialRegression(3).fit(X, y), X, y)
    low, high = display.axes_[1].get_ylim()
    assert high > 0.01 > -0.01 > low
    display = PolynomialDisplay.from_estimator(PolynomialRegression(0).fit(X, y), X, y)
    assert display.ax_.get_title("left").endswith("$R^2$ = 0")
    flat = np.ones(20)
    display = PolynomialDisplay.from_estimator(PolynomialRegression(1).fit(X, flat), X, flat)
    assert display.ax_.get_title("left") == "degree 1"


def test_the_smallest_error_is_within_its_panel() -> None:
    X = np.linspace(0, 1, 30)[:, None]
    display = PolynomialDisplay.from_degrees(X, X[:, 0] ** 2, [1, 2, 3])
    low, high = display.axes_[-1].get_ylim()
    assert low < display.best_.get_ydata()[0] < high


def test_other_things_than_curves_get_a_sentence() -> None:
    X = np.linspace(0, 1, 20)[:, None]
    y = np.where(X[:, 0] > 0.5, "a", "b")
    with pytest.raises(TypeError, match="is a classifier"):
        PolynomialDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match="degrees=3 must be a list of degrees"):
        PolynomialDisplay.from_degrees(X, X[:, 0], 3)
    with pytest.raises(TypeError, match="it is a tuple"):
        PolynomialDisplay.from_degrees(X, X[:, 0], [1], validation=(X, y))


@compared()
def test_polynomial_picture() -> Figure:
    X, y = waves()
    return bare(PolynomialDisplay.from_degrees(X, y, [1, 12]).figure_)
