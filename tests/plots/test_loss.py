"""The picture of the losses says what the losses say, and counts the margins that there are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import LinearSVC as OtherSVC

from pictures import bare, compared
from separatrix import (
    SVC,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    SGDClassifier,
)
from separatrix.losses import LOSSES, Hinge, SquaredHinge
from separatrix.plots import LossDisplay, theme


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer()
    return scale(data.data), data.target_names[data.target]


@pytest.fixture(scope="module")
def machine(tumours):
    return LinearSVC(loss="hinge", C=0.01).fit(*tumours)


def test_curves_are_the_losses():
    display = LossDisplay.from_losses()
    assert len(display.curves_) == len(LOSSES)
    for kind in LOSSES.values():
        loss = kind()
        z, values = display.curves_[loss.name].get_data()
        if loss.name == "zero-one":
            # No upright line at the step, and the point on the boundary is a mistake.
            np.testing.assert_array_equal(z, [-3, 0, np.nan, 0, 3])
            np.testing.assert_array_equal(values, [1, 1, np.nan, 0, 0])
            continue
        assert z[0] == -3.0 and z[-1] == 3.0
        np.testing.assert_array_equal(values, loss.value(z))


def test_curves_differ_without_colour():
    display = LossDisplay.from_losses()
    dashes = [
        str(line.get_linestyle()) + str(line._dash_pattern) for line in display.curves_.values()
    ]
    assert len(set(dashes)) == len(LOSSES)


def test_legend_has_every_formula_in_the_margin():
    display = LossDisplay.from_losses(["hinge", SquaredHinge()])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["hinge:  max(0, 1 − z)", "squared hinge:  max(0, 1 − z)²"]


def test_bars_of_many_classes_are_not_split():
    X, y = load_digits(return_X_y=True)
    display = LossDisplay.from_estimator(LogisticRegression(tol=1e-2).fit(X, y), X, y)
    assert display.counts_.shape[0] == 10
    (bars,) = display.bars_
    np.testing.assert_array_equal([b.get_height() for b in bars], display.counts_.sum(axis=0))


def test_histogram_counts_every_margin_once(tumours, machine):
    X, y = tumours
    display = LossDisplay.from_estimator(machine, X, y)
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    np.testing.assert_array_equal(display.margins, margins)
    assert display.counts_.sum() == len(y)
    np.testing.assert_array_equal(display.counts_.sum(axis=1), [357, 212])
    edges = display.edges_
    assert 0.0 in edges and 1.0 in edges
    # A bar holds its right end; the outer ones hold what is beyond.
    for i in range(1, len(edges) - 2):
        inside = (margins > edges[i]) & (margins <= edges[i + 1])
        assert display.counts_[:, i].sum() == inside.sum()
    assert display.beyond_ == ((margins <= edges[0]).sum(), (margins > edges[-1]).sum())
    heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_])
    np.testing.assert_array_equal(heights, display.counts_)
    # The bars of the classes are stacked.
    np.testing.assert_array_equal(
        [bar.get_y() for bar in display.bars_[1]], display.counts_[0].astype(float)
    )


def test_mistakes_and_rows_within_the_margin_are_written_on_it(tumours, machine):
    X, y = tumours
    display = LossDisplay.from_estimator(machine, X, y)
    assert display.n_mistakes_ == (machine.predict(X) != y).sum() == 14
    assert display.n_within_ == (display.margins < 1).sum()
    texts = " ".join(display.notes_[0].get_text().split())
    assert f"{display.n_mistakes_} of 569" in texts
    assert f"{display.n_within_} are within the margin (z < 1)" in texts
    assert display.ax_.get_xlim() == display.histogram_ax_.get_xlim()


def test_the_margin_is_that_of_the_loss(tumours, machine):
    X, y = tumours
    assert LossDisplay.from_estimator(machine, X, y).level_ == 1.0
    wide = Perceptron(margin=2.0, max_passes=500).fit(X[:40], y[:40])
    display = LossDisplay.from_estimator(wide, X[:40], y[:40])
    assert display.n_within_ == (display.margins < 2.0).sum()
    assert display.histogram_ax_.get_lines()[-1].get_xdata()[0] == 2.0
    # The log loss is never 0, and of three classes this is the margin of no problem.
    several = LinearSVC().fit(*load_iris(return_X_y=True)), *load_iris(return_X_y=True)
    for model, *data in ((LogisticRegression().fit(X, y), X, y), several):
        display = LossDisplay.from_estimator(model, *data)
        assert display.n_within_ is None and len(display.histogram_ax_.get_lines()) == 1
        assert "within" not in display.notes_[0].get_text()


def test_what_is_beyond_does_not_dwarf_the_rest(tumours, machine):
    X, y = tumours
    display = LossDisplay.from_estimator(machine, 4 * X, y)
    inner = display.counts_.sum(axis=0)[1:-1].max()
    assert display.counts_[:, -1].sum() > 4 * inner
    assert display.histogram_ax_.get_ylim()[1] < 4 * inner
    assert display.notes_[-1].get_text() == f"{display.beyond_[1]} beyond, bar cut →"


def test_words_are_beside_the_legend_and_within_narrow_axes(tumours, machine):
    import matplotlib.pyplot as plt

    X, y = tumours
    names = np.where(y == "benign", "b" * 200, "m" * 200)
    model = LinearSVC(loss="hinge", C=0.01).fit(X, names)
    for width in (3, 6.4):
        figure, axes = plt.subplots(2, 1, figsize=(width, 5), layout="constrained")
        display = LossDisplay.from_estimator(model, X, names, ax=axes)
        figure.draw_without_rendering()
        legend = display.histogram_ax_.get_legend().get_window_extent()
        for text in (display.notes_[0], axes[0]._left_title):
            box = text.get_window_extent()
            assert not box.overlaps(legend) and box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_a_margin_of_zero_is_a_mistake():
    class Flat:
        classes_ = np.array([0, 1])

        def decision_function(self, X):
            return np.zeros(len(X))

    display = LossDisplay.from_estimator(Flat(), np.zeros((3, 1)), [0, 1, 1])
    assert display.n_mistakes_ == 3
    below = display.edges_[:-1] < 0
    assert display.counts_[:, below].sum() == 3


def test_several_classes_have_the_margin_to_the_best_other():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = LossDisplay.from_estimator(model, X, y)
    scores = model.decision_function(X)
    for i in (0, 70, 106, 149):
        others = [scores[i, k] for k in range(3) if k != y[i]]
        assert display.margins[i] == scores[i, y[i]] - max(others)
    assert display.n_mistakes_ == (model.predict(X) != y).sum()
    assert "best other score" in display.histogram_ax_.get_xlabel()
    assert display.ax_.get_title(loc="left") == "LinearDiscriminantAnalysis: another loss"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LogisticRegression(), "log loss"),
        (LinearSVC(), "squared hinge"),
        (LinearSVC(loss="hinge"), "hinge"),
        (SVC(), "hinge"),
        (LeastSquaresClassifier(), "squared error"),
        (Perceptron(max_passes=2), "perceptron"),
        (Perceptron(max_passes=2, margin=1.0), "margin perceptron"),
        (SGDClassifier("log_loss", alpha=0.01), "log loss"),
        (RidgeClassifier(), "squared error"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "log loss"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_model_s_own_loss_stands_out(tumours, model, expected):
    X, y = tumours
    display = LossDisplay.from_estimator(model.fit(X[:200], y[:200]), X[:200], y[:200])
    widths = {name: line.get_linewidth() for name, line in display.curves_.items()}
    assert max(widths, key=widths.__getitem__) == expected == display.emphasised.name
    assert expected in display.ax_.get_title(loc="left")


def test_only_the_losses_asked_for_stand_beside_the_models_own(tumours):
    X, y = tumours
    model = LinearSVC(loss="hinge").fit(X, y)
    display = LossDisplay.from_estimator(model, X, y, losses="zero_one")
    assert set(display.curves_) == {"zero-one", "hinge"}
    assert display.emphasised.name == "hinge"
    with pytest.raises(ValueError, match="loss='zero' is not known"):
        LossDisplay.from_estimator(model, X, y, losses="zero")


def test_multinomial_is_said():
    X, y = load_iris(return_X_y=True)
    both = LogisticRegression().fit(X, y), LogisticRegression(multiclass="ovr").fit(X, y)
    titles = [LossDisplay.from_estimator(m, X, y).ax_.get_title(loc="left") for m in both]
    assert "multinomial log loss" in titles[0]
    assert "log loss, summed over two-class problems" in titles[1]


def test_a_loss_of_all_classes_at_once_is_none_of_these():
    X, y = load_iris(return_X_y=True)
    model = OtherSVC(multi_class="crammer_singer", max_iter=100_000).fit(X, y)
    assert LossDisplay.from_estimator(model, X, y).emphasised is None


def test_given_axes_are_used():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1)
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y == 0)
    display = LossDisplay.from_estimator(model, X, y == 0, ax=axes)
    assert display.ax_ is axes[0] and display.histogram_ax_ is axes[1]
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="2 axes, one for each panel; there are 1"):
        LossDisplay.from_estimator(model, X, y == 0, ax=axes[0])


def test_names_of_classes_are_text():
    X, y = load_iris(return_X_y=True)
    names = np.array(["$x^2$", "<b>b</b>\n", "a" * 90])[y]
    display = LossDisplay.from_estimator(LinearSVC().fit(X, names), X, names)
    shown = [t.get_text() for t in display.histogram_ax_.get_legend().get_texts()]
    assert all(len(text) <= 42 and "\n" not in text for text in shown)
    assert r"\$x^2\$" in shown


def test_bad_input_is_told(tumours, machine):
    X, y = tumours
    with pytest.raises(ValueError, match="loss='huber' is not known; choose one of"):
        LossDisplay.from_losses(["hinge", "huber"])
    with pytest.raises(ValueError, match="losses is empty"):
        LossDisplay.from_losses([])
    with pytest.raises(TypeError, match="KNeighborsClassifier has no decision_function"):
        LossDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="Row 0 has the label 'other'"):
        LossDisplay.from_estimator(machine, X, np.full(len(y), "other"))
    with pytest.raises(ValueError, match=r"one label for each of the 569 rows"):
        LossDisplay.from_estimator(machine, X, y[:5])
    X, y = np.vstack([X[:30], X[:30] + 3, X[:30] - 3, X[:30] + 6]), np.repeat(range(4), 30)
    pairs = SVC(decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="6 columns for 4 classes"):
        LossDisplay.from_estimator(pairs, X, y)


def test_ink_follows_the_theme(tumours, machine):
    colours = set()
    for name in ("light", "dark"):
        with theme(name):
            display = LossDisplay.from_estimator(machine, *tumours)
        colours.add(display.curves_[Hinge.name].get_color())
    assert colours == {"#1f2328", "#f0f6fc"}


@compared()
def test_loss_picture(tumours, machine):
    return bare(LossDisplay.from_estimator(machine, *tumours).figure_)
