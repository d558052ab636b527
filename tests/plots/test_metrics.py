"""Curves and matrices are scikit-learn's numbers, readable on light and on dark pages."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression as Other
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from pictures import bare, compared
from separatrix import DecisionStump, LinearSVC, LogisticRegression
from separatrix.plots import (
    calibration_display,
    confusion_matrix_display,
    precision_recall_display,
    roc_display,
    theme,
)
from separatrix.plots.points import Panels


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer()
    return scale(data.data), data.target_names[data.target]


@pytest.fixture(scope="module")
def logistic(tumours):
    X, y = tumours
    return LogisticRegression(C=0.001).fit(X[:300], y[:300])


@pytest.fixture(scope="module")
def flowers():
    data = load_iris()
    X, y = data.data, data.target_names[data.target]
    return LogisticRegression(C=0.02).fit(X, y), X, y


def luminance(colour):
    rgb = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """The contrast ratio, which web accessibility guidelines require to be 4.5 or more."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_roc_is_that_of_the_scores(tumours, logistic):
    X, y = tumours
    curves = roc_display(logistic, X, y)
    (display,) = curves
    assert isinstance(display, RocCurveDisplay)
    expected = roc_auc_score(y == "malignant", logistic.decision_function(X))
    assert display.roc_auc == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.fpr)
    assert display.figure_ is display.ax_.figure
    labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert labels == [f"malignant: AUC {expected:.3f}", "chance"]


def test_one_curve_a_class_against_the_rest(flowers):
    model, X, y = flowers
    proba = model.predict_proba(X)
    roc, precision = roc_display(model, X, y), precision_recall_display(model, X, y)
    assert len(roc) == len(precision) == 3
    for k, name in enumerate(model.classes_):
        assert roc[k].roc_auc == pytest.approx(roc_auc_score(y == name, proba[:, k]), abs=1e-12)
        assert isinstance(precision[k], PrecisionRecallDisplay)
        expected = average_precision_score(y == name, proba[:, k])
        assert precision[k].average_precision == pytest.approx(expected, abs=1e-12)
    # The lines are distinguishable in grey.
    assert len({str(d.line_._dash_pattern) for d in roc}) == 3
    # The level of chance is the share of the class.
    levels = [line.get_ydata()[0] for line in precision[0].ax_.get_lines()[1::2]]
    np.testing.assert_allclose(levels, 1 / 3)


@pytest.mark.parametrize("draw", [roc_display, precision_recall_display])
def test_scores_do_where_there_are_no_probabilities(tumours, draw):
    X, y = tumours
    model = LinearSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert len(draw(model, X, y)) == 1
    assert len(draw(make_pipeline(StandardScaler(), Other()).fit(X, y), X, y)) == 1
    assert len(draw(DecisionStump().fit(X, y), X, y)) == 1


def test_calibration_is_of_the_probabilities(tumours, logistic, flowers):
    X, y = tumours
    curves = calibration_display(logistic, X, y, n_bins=5)
    (display,) = curves
    assert isinstance(display, CalibrationDisplay)
    proba = logistic.predict_proba(X)[:, 1]
    order = np.array_split(np.sort(proba), 5)
    np.testing.assert_allclose(display.prob_pred, [part.mean() for part in order], atol=0.02)
    text = display.ax_.get_legend().get_texts()[0].get_text()
    assert text == f"malignant: Brier {brier_score_loss(y == 'malignant', proba):.3f}"
    assert len(calibration_display(*flowers, strategy="uniform")) == 3
    # The other class has one minus the probability, and occurs in the other rows.
    (other,) = calibration_display(logistic, X, y, n_bins=5, positive="benign")
    np.testing.assert_allclose(other.prob_pred, 1.0 - display.prob_pred[::-1], atol=0.02)
    np.testing.assert_allclose(other.prob_true, 1.0 - display.prob_true[::-1], atol=0.02)
    text = other.ax_.get_legend().get_texts()[0].get_text()
    assert text == f"benign: Brier {brier_score_loss(y == 'benign', 1.0 - proba):.3f}"
    with pytest.raises(ValueError, match="is not one of two classes of the model"):
        calibration_display(logistic, X, y, positive="other")


def test_many_classes_have_the_legend_beside_the_axes():
    X, y = load_digits(return_X_y=True)
    curves = roc_display(LinearSVC(C=0.01).fit(X[:600] / 16, y[:600]), X[600:] / 16, y[600:])
    assert len(curves) == 10 and len({display.ax_ for display in curves}) == 1
    ax, figure = curves[0].ax_, curves[0].figure_
    assert ax.get_legend() is None
    (legend,) = figure.legends
    figure.draw_without_rendering()
    assert not legend.get_window_extent().overlaps(ax.get_window_extent())


def test_confusion_matrix_is_counted(flowers):
    model, X, y = flowers
    display = confusion_matrix_display(model, X, y)
    assert isinstance(display, ConfusionMatrixDisplay)
    expected = confusion_matrix(y, model.predict(X))
    np.testing.assert_array_equal(display.confusion_matrix, expected)
    texts = np.vectorize(lambda text: int(text.get_text()))(display.text_)
    np.testing.assert_array_equal(texts, expected)
    assert display.ax_.get_title(loc="left") == f"{np.trace(expected)} of 150 right"


@pytest.mark.parametrize(("normalize", "axis"), [("true", 1), ("pred", 0), ("all", None)])
def test_normalised_cells_are_percentages(flowers, normalize, axis):
    model, X, y = flowers
    display = confusion_matrix_display(model, X, y, normalize=normalize)
    counts = confusion_matrix(y, model.predict(X))
    shares = 100 * counts / counts.sum(axis=axis, keepdims=axis is not None)
    texts = np.vectorize(lambda text: float(text.get_text()))(display.text_)
    np.testing.assert_allclose(texts, shares, atol=0.5)
    assert "%" in display.ax_.get_title(loc="left")


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_are_readable_on_every_cell(flowers, name):
    model, X, y = flowers
    with theme(name):
        display = confusion_matrix_display(model, X, y)
        paper = np.array(mpl.colors.to_rgb(mpl.rcParams["axes.facecolor"]))
    for place, text in np.ndenumerate(display.text_):
        *tint, alpha = display.im_.cmap(display.im_.norm(display.confusion_matrix[place]))
        cell = alpha * np.array(tint) + (1 - alpha) * paper
        assert contrast(text.get_color(), cell) >= 4.5
    # The cells are distinguishable from the paper: a quarter of the largest count.
    *tint, alpha = display.im_.cmap(display.im_.norm(display.confusion_matrix.max() / 4))
    assert alpha > 0.2


def test_thirty_classes_fit():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 6)
    names = np.array([f"$class$ number {k:02d} with a very long name" for k in range(30)])

    class Guesser:
        classes_ = names

        def predict(self, X):
            return names[np.where(rng.random(len(X)) < 0.8, y, 3)]

    display = confusion_matrix_display(Guesser(), np.zeros((180, 1)), names[y])
    assert display.text_ is None
    figure = display.figure_
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert all(box.y0 >= 0 for box in boxes)
    shown = display.ax_.get_yticklabels()[0].get_text()
    assert len(shown) <= 22 and r"\$" in shown


def test_given_axes_are_used(tumours, logistic):
    _, axes = plt.subplots(1, 4)
    for ax, draw in zip(
        axes,
        [roc_display, precision_recall_display, calibration_display, confusion_matrix_display],
        strict=True,
    ):
        drawn = draw(logistic, *tumours, ax=ax)
        assert (drawn[0] if isinstance(drawn, Panels) else drawn).ax_ is ax


def test_chance_is_named_where_it_is_drawn(tumours, logistic, flowers):
    for arguments in ((logistic, *tumours), flowers):
        for draw in (roc_display, precision_recall_display):
            legend = draw(*arguments)[0].ax_.get_legend()
            assert legend.get_texts()[-1].get_text() == "chance"


def test_a_legend_is_not_on_the_curve_where_there_is_room(tumours, logistic):
    display = calibration_display(
        logistic, *tumours, ax=plt.subplots(figsize=(5, 5), layout="constrained")[1]
    )[0]
    display.figure_.draw_without_rendering()
    box = display.ax_.get_legend().get_window_extent()
    points = display.ax_.transData.transform(display.line_.get_xydata())
    assert not any(box.contains(*point) for point in points)


def test_titles_are_as_wide_as_narrow_axes(tumours, logistic):
    display = precision_recall_display(
        logistic, *tumours, ax=plt.subplots(figsize=(3, 3), layout="constrained")[1]
    )[0]
    figure = display.figure_
    figure.draw_without_rendering()
    title = display.ax_._left_title.get_window_extent()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.width


def test_a_style_s_grid_is_not_across_the_cells(flowers):
    with plt.style.context("ggplot"):
        display = confusion_matrix_display(*flowers)
    axis = display.ax_.xaxis
    assert not any(tick.gridline.get_visible() for tick in axis.get_major_ticks())
    assert all(tick.gridline.get_visible() for tick in axis.get_minor_ticks())


def test_bad_input_is_told(tumours, logistic):
    X, y = tumours
    with pytest.raises(TypeError, match="str has no predict; pass a classifier"):
        confusion_matrix_display("model", X, y)
    with pytest.raises(TypeError, match=r"This LinearSVC has scores but no probabilities.*sigmoid"):
        calibration_display(LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="no row belongs to class 'malignant'"):
        roc_display(logistic, X[y == "benign"], y[y == "benign"])
    with pytest.raises(ValueError, match="Row 0 has the label 'x', which the model was not"):
        roc_display(logistic, X, np.full(len(X), "x"))
    with pytest.raises(ValueError, match="Row 0 has the label 'x'"):
        confusion_matrix_display(logistic, X, np.full(len(X), "x"))
    with pytest.raises(ValueError, match="normalize='rows' is not known"):
        confusion_matrix_display(logistic, X, y, normalize="rows")
    with pytest.raises(ValueError, match="n_bins=0 must be"):
        calibration_display(logistic, X, y, n_bins=0)
    with pytest.raises(ValueError, match="strategy='width' is not known"):
        calibration_display(logistic, X, y, strategy="width")


@compared()
def test_precision_recall_picture(flowers):
    return bare(precision_recall_display(*flowers)[0].figure_)


# Versions of matplotlib differ in the pixel at which an image ends.
@compared(tolerance=4)
def test_confusion_picture(flowers):
    display = confusion_matrix_display(*flowers)
    figure = bare(display.figure_)
    # Then the edges of the cells are those of pixels.
    display.ax_.set_position((0.0, 0.0, 1.0, 1.0))
    return figure
