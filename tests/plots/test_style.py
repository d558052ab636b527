"""Colours, markers and text that every picture shares."""

from __future__ import annotations

import unicodedata

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import plots
from separatrix.plots import points, style

PUBLIC = [
    "CertificateDisplay",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "DecisionDisplay",
    "DescentDisplay",
    "DiscriminantDisplay",
    "HyperplaneDisplay",
    "KernelDisplay",
    "LeastSquaresDisplay",
    "LossDisplay",
    "MarginDisplay",
    "OrdersDisplay",
    "PathDisplay",
    "PerceptronDisplay",
    "PolynomialDisplay",
    "ScheduleDisplay",
    "SeparabilityDisplay",
    "StoppingDisplay",
    "calibration_display",
    "confusion_matrix_display",
    "precision_recall_display",
    "roc_display",
    "stopping_rules",
    "theme",
]


def luminance(colour):
    channels = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# What Machado, Oliveira and Fernandes (2009) give for the whole loss of one kind of cone.
BLIND = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    xyz = np.clip(rgb, 0, 1) @ np.array(
        [[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]]
    )
    t = xyz / (0.9505, 1.0, 1.089)
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def linear(colour):
    channels = np.array(mpl.colors.to_rgb(colour))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def test_the_names_are_these() -> None:
    assert sorted(plots.__all__) == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_documented(name) -> None:
    thing = getattr(plots, name)
    assert thing.__name__ == name
    assert ">>> " in thing.__doc__
    assert name in dir(plots)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"module 'separatrix\.plots' has no attribute 'Pie'"):
        plots.Pie  # noqa: B018


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_stands_out_from_the_paper(name) -> None:
    with plots.theme(name):
        assert contrast(style.ink(), style.paper()) >= 7.0
        assert contrast(style.muted(), style.paper()) >= 4.5


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("n_classes", [2, 3, 6, 8, 10])
def test_classes_differ_from_each_other_for_every_eye(name, n_classes) -> None:
    colours = [linear(c) for c in style.class_colours(n_classes)]
    assert len(set(style.class_markers(n_classes))) == n_classes
    with plots.theme(name):
        paper = lab(linear(style.paper()))
    least = np.inf
    for matrix in [np.eye(3), *map(np.array, BLIND.values())]:
        seen = [lab(matrix @ c) for c in colours]
        for i, one in enumerate(seen):
            assert np.linalg.norm(one - paper) > 15
            least = min([least, *(np.linalg.norm(one - other) for other in seen[:i])])
    # The markers do the rest where there are many.
    assert least > (25 if n_classes == 2 else 5)


def test_an_unknown_theme() -> None:
    with pytest.raises(ValueError, match="theme 'sepia' is not one of 'light', 'dark'"):
        plots.theme("sepia").__enter__()


def test_a_theme_leaves_no_trace() -> None:
    before = dict(mpl.rcParams)
    with plots.theme("dark"):
        assert dict(mpl.rcParams) != before
    assert dict(mpl.rcParams) == before


def test_more_classes_than_colours() -> None:
    assert len(set(style.class_colours(26))) == 26
    assert len(style.class_markers(26)) == 26


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age", "age"),
        (3.5, "3.5"),
        ("price in $ or US$", r"price in \$ or US\$"),
        ("a\u202eb\u2066c\x00d\x1b", "abcd"),
        ("two\nlines\tand\u00a0more", "two lines and more"),
        ("x" * 10_000, "x" * 26 + "…" + "x" * 13),
    ],
)
def test_plain_text(text, shown) -> None:
    assert style.plain(text) == shown


@given(st.text(max_size=60))
def test_plain_text_is_never_markup(text) -> None:
    shown = style.plain(text)
    assert len(shown.replace(r"\$", "$")) <= 40
    assert not any(unicodedata.category(c)[0] == "C" for c in shown)
    figure = mpl.figure.Figure()
    label = figure.text(0, 0, shown)
    # matplotlib's own judgement: no part of it is a formula.
    assert label._preprocess_math(label.get_text())[1] is False


def test_axes_that_are_given_are_used() -> None:
    _, given_axes = plt.subplots(1, 3)
    assert points.axes_row(given_axes, 3).tolist() == given_axes.tolist()
    with pytest.raises(ValueError, match=r"ax must be 4 axes, one for each panel; there are 3\."):
        points.axes_row(given_axes, 4)
    assert points.one_axes(given_axes[0]) is given_axes[0]


def test_rows_of_panels() -> None:
    axes = points.axes_row(None, 5, columns=3)
    figure = points.figure_of(axes[0])
    assert len(axes) == len(figure.axes) == 5
    assert figure.get_size_inches().tolist() == pytest.approx([10.2, 6.4])


def test_points_by_class() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(50, 2)), rng.integers(3, size=50)
    ax = points.one_axes(None)
    drawn = points.scatter_classes(ax, X, codes, ["a", "b", "$c$"])
    assert [d.get_label() for d in drawn] == ["a", "b", r"\$c\$"]
    for k, collection in enumerate(drawn):
        np.testing.assert_array_equal(collection.get_offsets(), X[codes == k])
        assert not collection.get_rasterized()
    many = points.scatter_classes(ax, np.zeros((3_000, 2)), np.zeros(3_000, int), ["a"])
    assert many[0].get_rasterized()
    assert many[0].get_sizes()[0] < drawn[0].get_sizes()[0]


def test_words_are_where_they_cover_nothing() -> None:
    figure, ax = plt.subplots(figsize=(4, 4))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    # There are points to the right, a line above and other words below; to the left there is space.
    ax.scatter([0.6, 0.7], [0.5, 0.5])
    ax.plot([0.3, 0.7], [0.56, 0.56])
    ax.text(0.5, 0.43, "other words", ha="center")
    seen = points.drawn(ax)
    one = points.place_text(ax, "word", [(0.5, 0.5)], seen=seen)
    two = points.place_text(ax, "word", [(0.5, 0.5)], seen=seen)
    figure.draw_without_rendering()
    at = ax.transData.transform((0.5, 0.5))
    assert one.get_window_extent().x1 < at[0]
    # The second knows of the first.
    assert not one.get_window_extent().overlaps(two.get_window_extent())
    # Within the axes, however near their corner, and nothing where all is covered.
    corner = points.place_text(ax, "corner", [(1.0, 1.0)])
    box, room = corner.get_window_extent(), ax.bbox
    assert room.x0 < box.x0 and box.x1 < room.x1 and box.y1 < room.y1
    before = len(ax.texts)
    assert points.place_text(ax, "long words", [(0.6, 0.56)], ways=[(0, 0)], most=0) is None
    assert len(ax.texts) == before
    plt.close(figure)
