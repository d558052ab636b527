"""The strip touches its points, the weights reproduce the common point, hulls hold their class."""

from __future__ import annotations

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from matplotlib.path import Path
from sklearn.datasets import load_digits, load_iris

from pictures import bare, compared
from separatrix import LinearSVC, separability
from separatrix.plots import SeparabilityDisplay

FOUR = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
CORNERS = [[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1]
QUASI = (
    [[0, 0], [1, 0], [2, 0], [0, 1], [1, 2], [1, 0], [2, -1], [0.5, 0], [3, -2]],
    [1, 1, 1, 1, 1, 0, 0, 0, 0],
)
CONES = [[1, 0.2], [2, 1.5], [0.6, 1.8], [1, 1], [2, 2.2], [1.5, 0.7]], [0, 0, 0, 1, 1, 1]


def iris() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


def title(display: SeparabilityDisplay) -> str:
    return display.ax_.get_title("left")


def combined(display: SeparabilityDisplay, side: int) -> list[Fraction]:
    """The exact weighted sum of a side's rows, from what the display holds."""
    proof = display.proof
    own = [i for i, s in enumerate(proof["sides"]) if s == side]
    columns = range(proof["values"].shape[1])
    return [
        sum((proof["weights"][i] * Fraction(float(proof["values"][i, j])) for i in own),
            Fraction(0))
        for j in columns
    ]  # fmt: skip


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_strip_touches_its_points_and_no_point_is_within(fit_intercept: bool) -> None:
    X, y = np.array(FOUR[0], dtype=float), np.array(FOUR[1])
    display = SeparabilityDisplay.from_data(X, y, fit_intercept=fit_intercept)
    display.figure_.draw_without_rendering()
    # In pixels: the axes are drawn with equal units, so distances are proportional.
    to = display.ax_.transData.transform
    scale = np.linalg.norm(to([1.0, 0.0]) - to([0.0, 0.0]))
    assert np.linalg.norm(to([0.0, 1.0]) - to([0.0, 0.0])) == pytest.approx(scale)
    line = to(display.boundary_.get_xydata())
    along = (line[1] - line[0]) / np.linalg.norm(line[1] - line[0])
    across = np.array([-along[1], along[0]])
    distances = np.abs((to(X) - line[0]) @ across)
    margin = separability(X, y, fit_intercept=fit_intercept).margin.lower
    assert display.margin == pytest.approx(margin)
    assert distances.min() == pytest.approx(margin * scale, rel=1e-6)
    for edge in display.margin_lines_:
        ends = np.abs((to(edge.get_xydata()) - line[0]) @ across)
        assert ends == pytest.approx(margin * scale, rel=1e-6)
    ringed = np.flatnonzero(distances < distances.min() * (1 + 1e-6))
    assert display.ringed.tolist() == ringed.tolist()
    assert f"{2 * margin:.4g} wide" in title(display)
    inside = Path(display.strip_.get_xy()).contains_points(X, radius=-1e-6)
    assert not inside.any()


def test_the_hard_margin_machine_has_the_same_strip() -> None:
    X, y = np.array(FOUR[0], dtype=float), np.array(FOUR[1])
    display = SeparabilityDisplay.from_data(X, y)
    assert display.margin == pytest.approx(LinearSVC(C=float("inf")).fit(X, y).margin_[0])


def test_many_columns_show_the_distance_itself() -> None:
    X, y = iris()
    display = SeparabilityDisplay.from_data(X, y, classes=("versicolor", "setosa"))
    two = (y == "setosa") | (y == "versicolor")
    plane = display.verdict.hyperplane
    assert np.allclose(display.points[:, 0], plane.signed_distance(X[two]))
    assert np.allclose(display.boundary_.get_xdata(), 0.0)
    edges = sorted(float(e.get_xdata()[0]) for e in display.margin_lines_)
    assert edges == pytest.approx([-display.margin, display.margin])
    touching = np.abs(display.points[display.ringed, 0])
    assert touching == pytest.approx(display.margin)
    assert "distance" in display.ax_.get_xlabel()
    # The two coordinates are orthonormal: no length in the picture is more than the true one.
    drawn = np.linalg.norm(display.points[:1] - display.points, axis=1)
    true = np.linalg.norm(X[two].to_numpy()[:1] - X[two].to_numpy(), axis=1)
    assert np.all(drawn <= true + 1e-9)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_weights_reproduce_the_common_point(columns: int) -> None:
    X, y = iris()
    X = X.iloc[:, -columns:]
    display = SeparabilityDisplay.from_data(X, y, classes=("versicolor", "virginica"))
    assert display.verdict.status == "not_separable"
    first, second = combined(display, 0), combined(display, 1)
    assert first == second
    assert np.allclose(display.proof["shared"], [float(v) for v in first], rtol=0, atol=1e-15)
    for side in (0, 1):
        own = [w for w, s in zip(display.proof["weights"], display.proof["sides"], strict=True)
               if s == side]  # fmt: skip
        assert sum(own) == 1
    # The rows are rows of the table.
    names = {0: "versicolor", 1: "virginica"}
    for row, values, side in zip(
        display.proof["rows"], display.proof["values"], display.proof["sides"], strict=True
    ):
        assert np.array_equal(X.to_numpy()[row], values)
        assert y[row] == names[side]


def test_hulls_hold_their_class_and_the_star_is_in_both() -> None:
    X, y = iris()
    X = X.iloc[:, :2]
    display = SeparabilityDisplay.from_data(X, y, classes=("versicolor", "virginica"))
    star = display.shared_.get_xydata()[0]
    for hull, label in zip(display.hulls_, ("versicolor", "virginica"), strict=True):
        outline = Path(hull.get_xy())
        assert outline.contains_points(X[y == label], radius=1e-6).all() or (
            outline.contains_points(X[y == label], radius=-1e-6).all()
        )
        assert outline.contains_point(star, radius=1e-6) or (
            outline.contains_point(star, radius=-1e-6)
        )
        corners = {tuple(v) for v in hull.get_xy()}
        assert corners <= {tuple(v) for v in X[y == label].to_numpy()}
    for stem in display.stems_:
        assert np.allclose(stem.get_xydata()[1], star)


def test_weights_are_written_as_fractions_where_they_are_short() -> None:
    display = SeparabilityDisplay.from_data(*CORNERS)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["1/2"] * 4
    assert display.shared_.get_xydata().tolist() == [[0.5, 0.5]]


def test_cones_share_a_direction() -> None:
    X = np.array(CONES[0])
    display = SeparabilityDisplay.from_data(X, CONES[1], fit_intercept=False)
    assert combined(display, 0) == combined(display, 1)
    end = display.shared_.get_xydata()[1]
    shared = display.proof["shared"]
    assert np.cross(np.append(end, 0), np.append(shared, 0))[2] == pytest.approx(0, abs=1e-12)
    assert end @ shared > 0
    for cone, code in zip(display.hulls_, (0, 1), strict=True):
        outline = Path(cone.get_xy())
        own = X[np.array(CONES[1]) == code]
        assert outline.contains_points(0.99 * own, radius=1e-6).all() or (
            outline.contains_points(0.99 * own, radius=-1e-6).all()
        )
    assert "through the origin" in title(display)


def test_one_class_around_the_origin() -> None:
    X = [[1, 0], [-1, 1], [-1, -1], [3, 3]]
    display = SeparabilityDisplay.from_data(X, [1, 1, 1, 0], fit_intercept=False)
    assert display.verdict.status == "not_separable"
    assert np.allclose(display.proof["shared"], 0.0)
    assert display.shared_.get_xydata().tolist() == [[0.0, 0.0]]


def test_quasi_separable_points_are_on_the_line_or_ringed() -> None:
    X = np.array(QUASI[0], dtype=float)
    display = SeparabilityDisplay.from_data(X, QUASI[1])
    assert display.verdict.status == "quasi_separable"
    scores = display.plane.decision(X)
    assert np.flatnonzero(scores != 0).tolist() == sorted(display.ringed.tolist())
    line = display.boundary_.get_xydata()
    assert np.allclose(display.plane.decision(line), 0.0)
    assert display.plane.decision(display.shared_.get_xydata())[0] == pytest.approx(0.0)
    assert "4 of 9" in title(display)


def test_one_column_has_the_classes_side_by_side() -> None:
    X, y = iris()
    display = SeparabilityDisplay.from_data(X[["petal width (cm)"]], y,
                                            classes=("setosa", "versicolor"))  # fmt: skip
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["setosa", "versicolor"]
    assert float(display.boundary_.get_xdata()[0]) == pytest.approx(0.8)
    assert display.margin == pytest.approx(0.2)


def test_rows_of_the_proof_where_there_are_many_columns() -> None:
    X, y = iris()
    display = SeparabilityDisplay.from_data(X, y, classes=("versicolor", "virginica"))
    assert len(display.axes_) == 2
    widths = [bar.get_width() for bar in display.weights_]
    order = sorted(
        zip(display.proof["sides"], display.proof["weights"], strict=True),
        key=lambda pair: (pair[0], -pair[1]),
    )
    assert widths == pytest.approx([float(w) for _, w in order])
    low, high = X[y != "setosa"].min().to_numpy(), X[y != "setosa"].max().to_numpy()
    expected = (display.proof["shared"] - low) / (high - low)
    assert np.allclose(display.shared_.get_ydata(), expected)


def test_many_columns_of_a_proof_are_counted() -> None:
    digits = load_digits()
    two = np.flatnonzero(np.isin(digits.target, [3, 8]))[:60]
    X, y = digits.data[two], np.random.default_rng(0).integers(0, 2, len(two))
    X[1] = X[0]
    y[:2] = 0, 1
    display = SeparabilityDisplay.from_data(sp.csr_array(X), y)
    assert display.verdict.status in ("not_separable", "quasi_separable")


def test_the_table_has_every_verdict() -> None:
    X, y = iris()
    table = separability(X, y)
    display = SeparabilityDisplay.from_verdict(table, X, y)
    assert sorted(display.cells_) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    texts = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text()
             for t in display.ax_.texts}  # fmt: skip
    assert texts[1, 0] == f"separable\nmargin {table['setosa', 'versicolor'].margin.lower:.3g}"
    assert texts[2, 1].startswith("not separable\n6 rows")
    assert texts[0, 0].startswith("separable")
    same = {cell.get_facecolor() for (i, j), cell in display.cells_.items() if j == 0}
    assert len(same) == 1
    pair = SeparabilityDisplay.from_verdict(table, X, y, classes=("setosa", "virginica"))
    assert pair.verdict is table["setosa", "virginica"]


def test_names_of_the_table_are_no_markup() -> None:
    X = pd.DataFrame(FOUR[0], columns=["a $b$", "c $d$"])
    display = SeparabilityDisplay.from_data(X, ["$0$", "$0$", "$1$", "$1$"])
    assert display.ax_.get_xlabel() == r"a \$b\$"
    assert display.names == ("$0$", "$1$")
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown[:2] == [r"\$0\$", r"\$1\$"]
    display.figure_.draw_without_rendering()


def test_axes_can_be_given_and_sparse_rows() -> None:
    _, ax = plt.subplots()
    X, y = np.array(FOUR[0], dtype=np.float32), FOUR[1]
    display = SeparabilityDisplay.from_data(sp.csr_array(X), y, ax=ax)
    assert display.ax_ is ax
    assert display.points.dtype == np.float64


def test_a_figure_of_several_panels_may_do_with_one_legend() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for y in ([0, 0, 1, 1], [0, 1, 1, 0]):
        shown = SeparabilityDisplay.from_data(X, y)
        assert shown.ax_.get_legend() is not None
        assert SeparabilityDisplay.from_data(X, y, legend=False).ax_.get_legend() is None
        assert shown.plot(legend=False).ax_.get_legend() is None


def test_undecided_is_said() -> None:
    from dataclasses import replace

    verdict = replace(separability(*FOUR), status="undecided", witness=None, margin=None)
    display = SeparabilityDisplay.from_verdict(verdict, *FOUR)
    assert title(display) == "undecided: raise time_limit"
    assert display.boundary_ is None


def test_bad_input_gets_a_sentence() -> None:
    X, y = iris()
    with pytest.raises(ValueError, match="'rose' is not one of 'setosa'"):
        SeparabilityDisplay.from_data(X, y, classes=("setosa", "rose"))
    with pytest.raises(ValueError, match="must be two different labels"):
        SeparabilityDisplay.from_data(X, y, classes=("setosa", "setosa"))
    verdict = separability(*FOUR)
    with pytest.raises(ValueError, match="the verdict is about 4 rows of 2 columns"):
        SeparabilityDisplay.from_verdict(verdict, FOUR[0][:3], FOUR[1][:3])
    with pytest.raises(ValueError, match="the verdict is about -1 and 1"):
        SeparabilityDisplay.from_verdict(verdict, *FOUR, classes=(2, 3))


def test_numbers_through_the_origin_have_cones_and_a_common_point() -> None:
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    display = SeparabilityDisplay.from_data(X, y, fit_intercept=False)
    assert display.verdict.status == "not_separable"
    left, right = display.ax_.get_xlim()
    assert left < 0.0
    for cone in display.hulls_:
        assert list(cone.get_xdata()) == [0.0, right]
    assert display.shared_.get_xdata()[0] == display.proof["shared"][0]


def test_equal_rows_of_many_columns_are_drawn() -> None:
    display = SeparabilityDisplay.from_data(np.ones((6, 4)), [0, 1] * 3)
    assert [len(line.get_xdata()) for line in display.stems_] == [4, 4]
    assert len(display.shared_.get_xdata()) == 4


def test_huge_numbers_do_not_overflow() -> None:
    X = 1e300 * np.array(FOUR[0])
    display = SeparabilityDisplay.from_data(X, FOUR[1])
    assert display.strip_ is not None


def test_columns_and_classes_are_escaped_once() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a $b$", "c", "d"])
    y = np.array(["$0$", "$1$"])[np.arange(40) % 2]
    display = SeparabilityDisplay.from_data(X, y)
    assert display.axes_[0].get_xticklabels()[0].get_text() == r"a \$b\$"
    shown = [text.get_text() for text in display.axes_[1].get_legend().get_texts()]
    assert {r"\$0\$", r"\$1\$"} <= set(shown)


def test_what_is_no_verdict_or_no_pair_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match="verdict must be a result of separability, not str"):
        SeparabilityDisplay.from_verdict("separable", *FOUR)
    with pytest.raises(ValueError, match="must be two different labels"):
        SeparabilityDisplay.from_data(*FOUR, classes=1)
    with pytest.raises(ValueError, match="ax must be one Axes; there are 2"):
        SeparabilityDisplay.from_data(*FOUR, ax=plt.subplots(1, 2)[1])


@compared()
def test_separable_picture() -> Figure:
    return bare(SeparabilityDisplay.from_data(*FOUR, fit_intercept=False).figure_)


@compared()
def test_not_separable_picture() -> Figure:
    X, y = iris()
    return bare(
        SeparabilityDisplay.from_data(X.iloc[:, :2], y, classes=("versicolor", "virginica")).figure_
    )
