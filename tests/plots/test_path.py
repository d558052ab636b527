"""Pictures of paths: the curve, its band and the choices are the path's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from pictures import bare, compared
from separatrix import LinearRegression, LogisticRegression, QuadraticDiscriminantAnalysis
from separatrix.plots import PathDisplay


@pytest.fixture(scope="module")
def path():
    X, y = load_breast_cancer(return_X_y=True)
    return LogisticRegression(tol=1e-4).path(scale(X), y, np.geomspace(1e-4, 100, 9), cv=5)


def test_the_curve_its_band_and_the_choices(path):
    display = PathDisplay.from_path(path)
    values, means = display.lines_[0].get_data()
    np.testing.assert_allclose(values, path.values)
    np.testing.assert_allclose(means, path.mean_scores)
    edges = display.band_.get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((path.mean_scores + path.standard_errors).max())
    at = [line.get_xdata()[0] for line in display.choices_]
    expected = {path.best_index, path.one_standard_error_index}
    assert set(at) == {path.values[i] for i in expected}
    assert display.ax_.get_xscale() == "log" and not display.ax_.xaxis_inverted()


def test_weights_have_the_names_of_the_largest(path):
    names = [f"column ${j}$" for j in range(30)]
    display = PathDisplay.from_path(path, show="weights", feature_names=names)
    largest = np.argsort(-np.abs(path[8].coef_[0]))[:8]
    assert [line.get_label() for line in display.lines_] == [rf"column \${j}\$" for j in largest]
    np.testing.assert_allclose(display.lines_[0].get_ydata(), path.coefs[:, 0, largest[0]])


def test_a_weaker_penalty_is_to_the_right():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    display = PathDisplay.from_path(LinearRegression().path(X, y, 4))
    assert display.ax_.xaxis_inverted() and display.ax_.get_xscale() == "log"
    shrunk = QuadraticDiscriminantAnalysis().path(X, y, [1.0, 0.5, 0.1], cv=3)
    display = PathDisplay.from_path(shrunk)
    assert display.ax_.xaxis_inverted() and display.ax_.get_xscale() == "linear"
    with pytest.raises(ValueError, match="no weights of columns"):
        PathDisplay.from_path(shrunk, show="weights")


def test_bad_input_is_told(path):
    with pytest.raises(TypeError, match="list is not a path"):
        PathDisplay.from_path([])
    with pytest.raises(ValueError, match="show='best' is not known"):
        PathDisplay.from_path(path, show="best")
    with pytest.raises(ValueError, match="3 names for 30 columns"):
        PathDisplay.from_path(path, show="weights", feature_names=list("abc"))
    with pytest.raises(ValueError, match="class_index=1 is not one"):
        PathDisplay.from_path(path, show="weights", class_index=1)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="no scores"):
        PathDisplay.from_path(LinearRegression().path(X, y, 3), show="scores")


@compared()
def test_path_picture(path):
    return bare(PathDisplay.from_path(path).figure_)


@compared()
def test_path_weights_picture(path):
    return bare(PathDisplay.from_path(path, show="weights").figure_)
