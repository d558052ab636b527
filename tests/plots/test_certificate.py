"""The drawn bounds are the recorded ones, and a gap on the picture is a gap that was certified."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Other
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from pictures import bare, compared
from separatrix import (
    SVC,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Perceptron,
)
from separatrix.plots import CertificateDisplay
from separatrix.plots.certificate import Curve
from separatrix.solvers.trace import Trace


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def logistic(tumours):
    return LogisticRegression(record=True).fit(*tumours)


def trace_of(primal, dual, part=""):
    n = len(primal)
    return Trace(
        part=part,
        iterations=list(range(n)),
        seconds=[0.5 * (k + 1) for k in range(n)],
        primal=list(primal),
        dual=list(dual),
    )


def display_of(primal, dual, tol=1e-6):
    curve = Curve.of(trace_of(primal, dual), "")
    return CertificateDisplay(curves=[curve], tol=tol).plot()


def test_lines_are_the_trace(logistic):
    display = CertificateDisplay.from_estimator(logistic, against="both")
    trace = logistic.trace_
    assert display.axes_.shape == (2, 2)
    for j, x in enumerate((trace.iterations, trace.seconds)):
        np.testing.assert_array_equal(display.primal_[j].get_data(), [x, trace.primal])
        np.testing.assert_array_equal(display.dual_[j].get_data(), [x, trace.dual])
        gap = np.minimum.accumulate(trace.primal) - trace.dual
        relative = gap / np.minimum.accumulate(trace.primal)
        np.testing.assert_array_equal(display.gap_[j].get_xdata(), x)
        np.testing.assert_allclose(display.gap_[j].get_ydata()[:-1], relative[:-1], rtol=1e-12)
        assert display.gap_[j].get_ydata()[-1] == logistic.certificate_.relative_gap
        assert display.tol_[j].get_ydata()[0] == logistic.tol
    assert display.ax_.get_yscale() == "log"
    assert [ax.get_xlabel() for ax in display.axes_[-1]] == ["iteration", "seconds"]
    low, high = display.ax_.get_ylim()
    assert low < logistic.certificate_.relative_gap < logistic.tol < high


def test_the_band_is_between_the_bounds(logistic):
    display = CertificateDisplay.from_estimator(logistic)
    trace = logistic.trace_
    corners = display.band_[0].get_paths()[0].vertices
    for k, (low, high) in enumerate(
        zip(trace.dual, np.minimum.accumulate(trace.primal), strict=True)
    ):
        values = corners[corners[:, 0] == k, 1]
        assert values.min() == low and values.max() == high


def test_a_gap_of_zero_is_at_the_floor():
    display = display_of([10.0, 4.0, 4.0], [0.0, 3.0, 4.0])
    np.testing.assert_allclose(display.gap_[0].get_ydata(), [1.0, 0.25, display.floor_])
    assert 0 < display.floor_ < 0.025
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    ticks = display.ax_.get_yticks()
    assert labels[0] == "0" and ticks[0] == display.floor_
    assert np.all(np.diff(ticks) > 0) and "10^{0}" in labels[-1]
    assert display.ax_.get_ylim()[0] < display.floor_


def test_only_zeros_can_be_drawn():
    display = display_of([4.0], [4.0])
    assert display.gap_[0].get_ydata()[0] == display.floor_
    display.figure_.draw_without_rendering()


def test_no_bound_at_the_start_is_said():
    display = display_of([9.0, 5.0, 4.0], [-np.inf, -np.inf, 3.9])
    assert np.isnan(display.gap_[0].get_ydata()[:2]).all()
    assert np.isnan(display.dual_[0].get_ydata()[:2]).all()
    texts = [text.get_text() for text in display.axes_[0, 0].texts]
    assert texts == ["no lower bound before iteration 2"]
    never = display_of([9.0, 5.0], [-np.inf, -np.inf])
    assert [
        text.get_text() for text in never.axes_[1, 0].texts if "tol" not in text.get_text()
    ] == ["no bound yet"]


def test_no_feasible_point_at_the_start_is_said(tumours):
    X, y = tumours
    model = LinearSVC(C=np.inf, record=True).fit(X, y)
    assert np.isinf(model.trace_.primal[0])
    display = CertificateDisplay.from_estimator(model)
    assert "no feasible point before iteration" in display.axes_[0, 0].texts[0].get_text()
    low, high = display.ax_.get_ylim()
    assert low < model.certificate_.relative_gap < high and low < model.tol < high


def test_a_start_far_off_is_cut():
    display = display_of([1e9, 5.0, 4.2, 4.1], [-1e9, 3.0, 4.0, 4.05])
    low, high = display.axes_[0, 0].get_ylim()
    assert low < 3.0 and high > 5.0
    far = display_of([10.0, 1e9, 4.2, 4.1], [-1e12, 3.0, 4.0, 4.05]).axes_[0, 0]
    assert far.get_ylim()[0] > -100 and far.get_ylim()[1] < 100
    assert far.texts[0].get_text() == "larger values are cut off"


def test_a_worse_iterate_does_not_widen_the_gap():
    curve = Curve.of(trace_of([4.0, 6.0, 5.0], [1.0, 2.0, 3.0]), "")
    np.testing.assert_array_equal(curve.gap, [3.0, 2.0, 1.0])
    np.testing.assert_allclose(curve.relative_gap, [0.75, 0.5, 0.25])


def test_several_problems_have_a_curve_each():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(record=True).fit(X, y)
    display = CertificateDisplay.from_estimator(model)
    assert display.axes_.shape == (2, 1) and len(display.gap_) == 3
    for lines, name in ((display.primal_, "primal"), (display.dual_, "dual")):
        for line, trace in zip(lines, model.trace_, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), getattr(trace, name))
    for line, trace, part in zip(display.gap_, model.trace_, model.certificate_.parts, strict=True):
        assert line.get_label() == trace.part
        np.testing.assert_array_equal(line.get_xdata(), trace.iterations)
        last = line.get_ydata()[-1]
        assert last in (part.relative_gap, display.floor_)
    assert "the sum of 3 problems" in display.axes_[0, 0].get_title(loc="left")


def test_support_vectors_of_a_kernel_machine(tumours):
    model = SVC(gamma=0.02, C=10, record=True).fit(*tumours)
    display = CertificateDisplay.from_estimator(model)
    assert display.axes_.shape == (3, 1)
    support, bounded = display.axes_[2, 0].get_lines()
    np.testing.assert_array_equal(support.get_ydata(), model.trace_.n_support)
    np.testing.assert_array_equal(bounded.get_ydata(), model.trace_.n_bounded)
    assert support.get_ydata()[-1] == len(model.support_)
    # Where there is no space for the counts, only the bounds and the gap are drawn.
    _, axes = plt.subplots(2, 1)
    assert CertificateDisplay.from_estimator(model, ax=axes).axes_.shape == (2, 1)


def test_solvers_are_compared_with_the_best_bound_of_all(tumours, logistic):
    X, y = tumours
    dual = LogisticRegression(solver="dual", record=True, tol=1e-4).fit(X, y)
    # The times are set by hand, so that a busy machine decides nothing.
    dual.trace_.seconds[:] = np.geomspace(1e-3, 0.2, len(dual.trace_)).tolist()
    other = Other(max_iter=2000, tol=1e-8).fit(X, y)
    z = (2 * y - 1) * other.decision_function(X)
    objective = 0.5 * (other.coef_**2).sum() + np.logaddexp(0, -z).sum()
    runs = {"newton": logistic, "dual": dual.trace_, "other": ([0.2, 0.1], [objective, 60.0])}
    display = CertificateDisplay.from_traces(runs)
    assert display.dual == max(logistic.trace_.dual[-1], dual.trace_.dual[-1])
    expected = (np.array(logistic.trace_.primal) - display.dual) / display.dual
    np.testing.assert_allclose(display.gap_[0].get_ydata(), expected, rtol=1e-9)
    np.testing.assert_array_equal(display.gap_[1].get_xdata(), dual.trace_.seconds)
    # The points are drawn in the order of time.
    np.testing.assert_array_equal(display.gap_[2].get_xdata(), [0.1, 0.2])
    assert display.gap_[2].get_ydata()[0] == pytest.approx((60 - display.dual) / display.dual)
    assert display.ax_.get_xscale() == "log"
    (legend,) = display.figure_.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["newton", "dual", "other"]


def test_comparison_over_iterations_with_a_known_optimum():
    runs = {"a": trace_of([9.0, 5.0, 4.0], [0.0, 1.0, 2.0]), "$b$": ([0, 1, 7], [6.0, 5.0, 4.5])}
    display = CertificateDisplay.from_traces(runs, against="iteration", dual=4.0)
    np.testing.assert_allclose(display.gap_[0].get_ydata(), [1.25, 0.25, display.floor_])
    np.testing.assert_allclose(display.gap_[1].get_ydata(), [0.5, 0.25, 0.125])
    np.testing.assert_array_equal(display.gap_[1].get_xdata(), [0, 1, 7])
    assert display.gap_[1].get_label() == r"\$b\$"
    # A best bound of 0 leaves nothing to divide by.
    mistakes = CertificateDisplay.from_traces({"p": trace_of([9.0, 2.0], [0.0, 0.0])})
    np.testing.assert_array_equal(mistakes.gap_[0].get_ydata(), [9.0, 2.0])


def test_axes_that_are_given(logistic):
    figure, axes = plt.subplots(2, 1)
    display = CertificateDisplay.from_estimator(logistic, ax=axes)
    assert display.axes_[1, 0] is axes[1] and display.figure_ is figure
    with pytest.raises(ValueError, match="must be 4 axes, one for each panel; there are 2"):
        CertificateDisplay.from_estimator(logistic, against="both", ax=axes)


def test_pipeline_and_perceptron(tumours):
    model = make_pipeline(StandardScaler(), LogisticRegression(record=True)).fit(*tumours)
    assert CertificateDisplay.from_estimator(model).gap_
    X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    display = CertificateDisplay.from_estimator(Perceptron(record=True).fit(X, y))
    # Mistakes, and none at the end.
    assert display.primal_[0].get_ydata()[-1] == 0
    assert display.gap_[0].get_ydata()[-1] == display.floor_


def test_bad_input_is_told(tumours, logistic):
    X, y = tumours
    with pytest.raises(ValueError, match=r"LinearDiscriminantAnalysis is fitted in closed form"):
        CertificateDisplay.from_estimator(LinearDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="no record of its fit; fit it with record=True"):
        CertificateDisplay.from_estimator(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="LogisticRegression has no certificate_"):
        CertificateDisplay.from_estimator(Other().fit(X, y))
    with pytest.raises(ValueError, match="against='time' is not known"):
        CertificateDisplay.from_estimator(logistic, against="time")
    compare = CertificateDisplay.from_traces
    with pytest.raises(TypeError, match="traces must be a dict of runs by name; it is a list"):
        compare([logistic])
    with pytest.raises(ValueError, match="dual='0' must be a finite number"):
        compare({"a": logistic}, dual="0")
    with pytest.raises(ValueError, match="traces is empty; name"):
        compare({})
    with pytest.raises(ValueError, match="The trace of 'a' is empty"):
        compare({"a": Trace()})
    with pytest.raises(ValueError, match="No run has a lower bound for the comparison; give dual="):
        compare({"a": ([1, 2], [3, 4])})
    with pytest.raises(ValueError, match="do not have the same objective"):
        compare({"a": logistic, "b": ([1, 2], [3, 4])})
    with pytest.raises(ValueError, match="has 2 and 3 numbers; both must have the same number"):
        compare({"a": ([1, 2], [3, 4, 5])}, dual=1.0)
    with pytest.raises(ValueError, match="numbers that are not finite"):
        compare({"a": ([1, np.nan], [3, 4])}, dual=1.0)
    with pytest.raises(TypeError, match="must be a fitted model, a Trace, or a pair"):
        compare({"a": 3}, dual=1.0)
    with pytest.raises(ValueError, match="dual=nan must be a finite number"):
        compare({"a": logistic}, dual=float("nan"))
    flowers = LinearSVC(record=True).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="The fit of 'a' solved 3 problems; compare one"):
        compare({"a": flowers})


@compared()
def test_certificate_picture():
    primal = [10.0, 6.0, 4.5, 4.2, 4.1, 4.1]
    return bare(display_of(primal, [-np.inf, 0.0, 3.0, 4.0, 4.099, 4.1]).figure_)
