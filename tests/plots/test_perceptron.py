"""The pictures of a perceptron's updates have the numbers of the updates."""

from __future__ import annotations

import subprocess
import warnings
from copy import copy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.animation import FFMpegWriter
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Perceptron as Other
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from pictures import bare, compared
from separatrix import (
    LinearSVC,
    LogisticRegression,
    Perceptron,
    SGDClassifier,
    perceptron_bound,
)
from separatrix.plots import PerceptronDisplay, theme

FOUR = np.array([[-1.0, 3.0], [-1.0, -1.0], [3.0, -1.0], [0.0, 1.5]]), np.array([-1, -1, 1, 1])
THREE = np.array([[-1.0, -1.0], [1.0, 0.0], [-1.0, 1.5]]), np.array([1, -1, 1])

# From zero, with a trailing 1: the published run.
PUBLISHED = [
    (0, 0, 0),
    (1, -3, -1),
    (2, -2, -2),
    (2, -0.5, -1),
    (2, 1, 0),
    (3, -2, -1),
    (3, -0.5, 0),
    (3, 1, 1),
    (4, -2, 0),
    (4, -0.5, 1),
]


def sign_free(text):
    return text.replace("−", "-")


def tips(arrow):
    """Where an arrow starts and ends, in the units of the axes."""
    return np.array(arrow._posA_posB, dtype=float)


@pytest.fixture(scope="module")
def four():
    return Perceptron(record=True).fit(*FOUR)


@pytest.fixture(scope="module")
def nine(four):
    """All updates of the published run, a panel each."""
    with theme("light"):
        return PerceptronDisplay.from_estimator(four, *FOUR)


@pytest.fixture(scope="module")
def three():
    """The first pass, which has three updates."""
    with pytest.warns(match="not_separated"):
        model = Perceptron(record=True, max_passes=1).fit(*FOUR)
    with theme("light"):
        return PerceptronDisplay.from_estimator(model, *FOUR, updates=[1])


def test_rows_are_called_by_their_numbers(nine):
    display = copy(nine)
    display.row_numbers = [21, 22, 23, 24]
    assert "row 21 (" in display.title(1) and "row 24 (" in display.title(9)
    display.plot_update(1)
    assert {"21", "22", "23", "24"} <= {text.get_text() for text in display.ax_.texts}


def test_published_run_to_the_digit(nine):
    display = nine
    assert len(display.updates) == len(display.axes_) == 9
    rows = [0, 1, 3, 3, 0, 3, 3, 0, 3]
    for k in range(1, 10):
        old, new = PUBLISHED[k - 1], PUBLISHED[k]
        first, second = sign_free(display.title(k)).split("\n")
        texts = ["(" + ", ".join(f"{v:g}" for v in w) + ")" for w in (old, new)]
        assert second == f"(w, b) = {texts[0]} → {texts[1]}"
        row = rows[k - 1]
        assert first.startswith(f"update {k}") and first.endswith(
            f"row {row} (class {FOUR[1][row]})"
        )
        assert display.axes_[k - 1].get_title(loc="left") == display.title(k)


@pytest.mark.parametrize("k", range(1, 10))
def test_arrows_add_up_and_the_boundary_is_the_zero_set(nine, k):
    display = copy(nine).plot_update(k)
    update = display.updates[k - 1]
    X, y = FOUR
    # Tip to tail: w_old, then y x, to w_new.
    step, after = tips(display.arrows_["step"]), tips(display.arrows_["after"])
    np.testing.assert_allclose(after, [[0, 0], PUBLISHED[k][:2]])
    np.testing.assert_allclose(step, [PUBLISHED[k - 1][:2], PUBLISHED[k][:2]])
    np.testing.assert_allclose(step[1] - step[0], y[update.sample] * X[update.sample])
    assert ("before" in display.arrows_) == (k > 1)
    if k > 1:
        np.testing.assert_allclose(tips(display.arrows_["before"])[1], PUBLISHED[k - 1][:2])
    # Within a pixel of where the score is zero.
    ax = display.ax_
    display.figure_.draw_without_rendering()
    pixel = 1.0 / np.abs(ax.transData.transform([[1, 0]]) - ax.transData.transform([[0, 0]]))[0, 0]
    for key, weights in (("before", PUBLISHED[k - 1]), ("after", PUBLISHED[k])):
        if not any(weights[:2]):
            assert key not in display.boundaries_
            continue
        points = np.column_stack(display.boundaries_[key].get_data())
        distance = (points @ weights[:2] + weights[2]) / np.hypot(*weights[:2])
        assert np.abs(distance).max() < 0.01 * pixel
        # From edge to edge.
        low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
        assert np.isclose(points, low).any(axis=1).sum() + np.isclose(points, high).any(
            axis=1
        ).sum() == len(points)
        # The line is at right angles to the weights, on the screen.
        along = np.diff(ax.transData.transform(points), axis=0)[0]
        arrow = ax.transData.transform([[0, 0], weights[:2]])
        assert abs(along @ (arrow[1] - arrow[0])) < 1e-6 * np.abs(along).max() ** 2
    np.testing.assert_array_equal(np.ravel(display.mistake_.get_data()), X[update.sample])


def test_tint_is_on_the_side_of_its_class(four):
    display = PerceptronDisplay.from_estimator(four, *FOUR, updates=[9])
    negative, positive = display.axes_[-1].patches[:2]
    for patch, sign in ((negative, -1), (positive, 1)):
        centre = patch.get_xy()[:-1].mean(axis=0)
        assert np.sign(centre @ [4, -0.5] + 1) == sign
    # Together they are the whole picture.
    area = sum(_area(patch.get_xy()[:-1]) for patch in (negative, positive))
    assert area == pytest.approx(np.prod(display.upper - display.lower))


def _area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_without_an_offset_the_boundary_goes_through_the_origin():
    model = Perceptron(fit_intercept=False, record=True).fit(*THREE)
    display = PerceptronDisplay.from_estimator(model, *THREE)
    assert sign_free(display.title(1)).endswith("w = (0, 0) → (-1, -1)")
    assert sign_free(display.title(2)).endswith("w = (-1, -1) → (-2, 0.5)")
    display.plot_update(2)
    ends = np.column_stack(display.boundaries_["after"].get_data())
    assert abs(np.linalg.det(ends)) < 1e-9
    # Ends on either side of the origin.
    assert ends[0] @ ends[1] < 0


def test_the_same_limits_in_every_panel_hold_points_and_arrows(nine):
    display = nine
    boxes = {(ax.get_xlim(), ax.get_ylim()) for ax in display.axes_}
    assert len(boxes) == 1
    shown = np.vstack([FOUR[0], [w[:2] for w in PUBLISHED]])
    assert np.all(shown > display.lower) and np.all(shown < display.upper)
    assert display.scale_ == 1.0
    assert all(ax.get_aspect() == 1.0 for ax in display.axes_)


def test_long_weights_are_shortened_all_alike_and_it_is_said():
    X, y = FOUR
    model = Perceptron(margin=200.0, record=True).fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[5, len(model.trace_.updates)])
    assert 0 < display.scale_ < 0.2
    update = display.updates[-1]
    np.testing.assert_allclose(tips(display.arrows_["after"])[1], display.scale_ * update.coef)
    np.testing.assert_allclose(
        np.diff(tips(display.arrows_["step"]), axis=0)[0],
        display.scale_ * y[update.sample] * X[update.sample],
    )
    for ax in display.axes_:
        assert any(f"arrows × {display.scale_:g}" == text.get_text() for text in ax.texts)


def test_short_weights_are_lengthened_all_alike_and_it_is_said():
    X, y = FOUR
    model = Perceptron(learning_rate=0.01, record=True).fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[9])
    assert display.scale_ > 10
    np.testing.assert_allclose(tips(display.arrows_["after"])[1], display.scale_ * model.coef_[0])
    assert any(f"arrows × {display.scale_:g}" == t.get_text() for t in display.axes_[0].texts)


def test_without_weights_the_intercept_decides():
    X, y = np.zeros((2, 2)), [0, 1]
    model = Perceptron(record=True, max_passes=2)
    with pytest.warns(match="not_separated"):
        model.fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y)
    classes = {update.intercept: 0 for update in display.updates}
    assert set(classes) == {-1.0, 0.0}
    for axes, update in zip(display.axes_, display.updates, strict=True):
        assert len(axes.patches) == (update.intercept != 0.0)


def test_numbers_with_many_digits_stay_within_the_figure():
    X, y = FOUR
    model = Perceptron(record=True).fit(X * 1.23456e150, y)
    # A row of panels is as narrow as three rows of them.
    display = PerceptronDisplay.from_estimator(model, X * 1.23456e150, y, updates=[1, 5, 9])
    display.figure_.draw_without_rendering()
    for axes in display.axes_:
        assert axes._left_title.get_window_extent().x1 <= display.figure_.bbox.width


def test_axes_given_have_no_legend_on_the_points(nine):
    _, ax = plt.subplots(figsize=(3, 3))
    display = copy(nine).plot_update(3, ax=ax)
    assert display.ax_ is ax and ax.get_legend() is None
    assert len(display.legend_handles()) == 8


def test_margin_lines_are_where_the_score_is_the_margin():
    X, y = FOUR
    model = SGDClassifier.margin_perceptron(2.0, record=True).fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[3])
    update = display.updates[2]
    dotted = [
        line
        for line in display.axes_[0].get_lines()
        if line.get_linewidth() == 0.9 and len(line.get_xdata()) == 2
    ]
    levels = [
        np.column_stack(line.get_data()) @ update.coef_before + update.intercept_before
        for line in dotted
    ]
    np.testing.assert_allclose(sorted(levels, key=np.min), [[-2, -2], [2, 2]], atol=1e-9)


def test_stochastic_perceptron_is_the_same_picture(four):
    sgd = SGDClassifier.perceptron(record=True).fit(*FOUR)
    displays = [PerceptronDisplay.from_estimator(m, *FOUR, updates=[9]) for m in (four, sgd)]
    assert [displays[0].title(k) for k in range(1, 10)] == [
        displays[1].title(k) for k in range(1, 10)
    ]


def test_more_features_are_scores_and_no_projection():
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = Perceptron(record=True, max_passes=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, part="virginica", updates=[1, 7])
    assert not display.in_plane
    update = display.updates[6]
    before = X.to_numpy() @ update.coef_before + update.intercept_before
    after = X.to_numpy() @ update.coef + update.intercept
    drawn = display.axes_[1].collections
    offsets = [
        np.asarray(c.get_offsets())[:, 0] for c in drawn if len(c.get_offsets()) in (50, 100)
    ]
    rest = y != "virginica"
    for found, expected in zip(
        offsets, [before[rest], before[~rest], after[rest], after[~rest]], strict=True
    ):
        np.testing.assert_allclose(found, expected)
    # The row moves by its squared length and one, to its own side.
    row = X.to_numpy()[update.sample]
    sign = 1 if y[update.sample] == "virginica" else -1
    moved = display.mistake_.get_xdata()[0] - before[update.sample]
    assert moved == pytest.approx(sign * (row @ row + 1))
    assert "score" in display.axes_[1].get_xlabel()


def test_default_choice_of_many_updates():
    display = _tumours()
    n = len(display.updates)
    assert n > 100
    assert display.shown[:3] == [1, 2, 3] and display.shown[-1] == n
    assert len(display.shown) <= 9 and sorted(set(display.shown)) == display.shown


def _tumours(**options):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = Perceptron(record=True, max_passes=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return PerceptronDisplay.from_estimator(model, X, y, **options)


def test_mistakes_by_row_and_by_pass(four, nine):
    display = copy(nine)
    display.plot_mistakes()
    assert display.mistakes_.tolist() == four.mistakes_.tolist() == [3, 1, 0, 5]
    assert [bar.get_height() for bar in display.bars_] == [3, 1, 0, 5]
    # The sixth pass is the clean one.
    assert display.n_passes == four.n_iter_ == perceptron_bound(*FOUR).passes == 6
    assert display.by_pass_.tolist() == [0, 3, 1, 2, 1, 2, 0]
    np.testing.assert_array_equal(display.sum_.get_ydata(), [0, 3, 4, 6, 7, 9, 9])
    # The theorem's bound for these four points.
    assert display.bound_.bound == pytest.approx(55.0)
    assert display.bound_line_.get_ydata()[0] == display.bound_.bound
    assert "= 55" in display.axes_[1].texts[0].get_text()
    display.plot_mistakes(bound=False)
    assert display.bound_ is None and not display.axes_[1].texts


def test_an_absurd_bound_is_words_and_overlap_has_none():
    display = _tumours(updates=[1])
    display.plot_mistakes()
    (text,) = display.axes_[1].texts
    assert "no order makes more than" in text.get_text()
    assert display.axes_[1].get_ylim()[1] < 2 * len(display.updates)
    assert len(display.bars_) == 30
    heights = [bar.get_height() for bar in display.bars_]
    assert heights == sorted(heights, reverse=True)
    X, y = np.vstack([FOUR[0], FOUR[0][:1]]), np.append(FOUR[1], 1)
    model = Perceptron(record=True, max_passes=5)
    with pytest.warns(match="not_separated"):
        model.fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[1]).plot_mistakes()
    assert display.axes_[1].texts[0].get_text() == "no bound: the classes are not separable"
    assert "mistakes are left" in display.axes_[1].get_title(loc="left")


def test_bound_of_one_s_own_and_of_weighted_rows(four):
    display = PerceptronDisplay.from_estimator(four, *FOUR, updates=[1])
    own = perceptron_bound(*FOUR)
    assert display.plot_mistakes(bound=own).bound_ is own
    with pytest.raises(TypeError, match="bound=55 is not a PerceptronBound"):
        display.plot_mistakes(bound=55)
    weighted = Perceptron(record=True, class_weight={-1: 2, 1: 1}).fit(*FOUR)
    display = PerceptronDisplay.from_estimator(weighted, *FOUR, updates=[1])
    # The theorem is about steps of one length.
    assert display.plot_mistakes().bound_ is None


def test_gifs_hold_every_step_repeat_and_hold_the_last(three, tmp_path):
    kept = three.arrows_
    path = three.save_gif(tmp_path / "steps.gif", fps=1, dpi=30)
    assert three.arrows_ is kept
    with Image.open(path) as image:
        assert image.n_frames == three.n_frames == 3 and image.info["loop"] == 0
        durations = []
        for frame in range(image.n_frames):
            image.seek(frame)
            durations.append(image.info["duration"])
    assert durations == [1000, 1000, 3000]
    with pytest.raises(ValueError, match=r"'steps.png' must end in .gif\.$"):
        three.save_gif(tmp_path / "steps.png")
    assert [p.name for p in tmp_path.iterdir()] == ["steps.gif"]


def test_frames_are_numbered(nine, tmp_path):
    display = copy(nine)
    paths = display.save(str(tmp_path / "frames.png"), dpi=40, updates=[2, 9])
    assert [p.name for p in paths] == ["frames-001.png", "frames-002.png"]
    assert sorted(paths) == sorted(tmp_path.iterdir())
    with Image.open(paths[0]) as one, Image.open(paths[1]) as other:
        assert one.size == other.size
        assert one.tobytes() != other.tobytes()


def test_what_fails_leaves_nothing_behind(nine, tmp_path, monkeypatch):
    display = copy(nine)
    target = tmp_path / "run.gif"
    target.write_bytes(b"old")
    drawn = []

    def broken(ax, update):
        drawn.append(update)
        if len(drawn) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(display, "_draw", broken)
    with pytest.raises(KeyboardInterrupt):
        display.save(target, dpi=40)
    assert [p.name for p in tmp_path.iterdir()] == ["run.gif"]
    assert target.read_bytes() == b"old"
    drawn.clear()
    with pytest.raises(KeyboardInterrupt):
        display.save(tmp_path / "frames.png", dpi=40)
    assert [p.name for p in tmp_path.iterdir()] == ["run.gif"]


def test_video_where_there_is_an_encoder(nine, tmp_path, monkeypatch):
    display = copy(nine)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(ValueError, match=r"\.mp4 file needs ffmpeg.*name of a \.gif"):
        display.save(tmp_path / "run.mp4")
    # An encoder that only counts what it is given.
    encoder = tmp_path / "encoder"
    encoder.write_text('#!/bin/sh\nfor last; do :; done\nwc -c > "$last"\n')
    encoder.chmod(0o755)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: True))
    with plt.rc_context({"animation.ffmpeg_path": str(encoder)}):
        (path,) = display.save(tmp_path / "run.mp4", fps=0.5, dpi=40, updates=[2, 9])
    width, height = (2 * round(v * 40 / 2) for v in display.frame_size)
    # Two updates, and the last once more.
    assert int(path.read_text()) == 3 * width * height * 4


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="there is no ffmpeg here")
def test_a_video_plays(nine, tmp_path):
    display = copy(nine)
    (path,) = display.save(tmp_path / "run.mp4", dpi=40)
    # Decoded again by the same program, frame by frame.
    told = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-f", "framemd5", "-"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert told.stderr == ""
    frames = [line.split()[-1] for line in told.stdout.splitlines() if not line.startswith("#")]
    assert len(frames) >= 9
    assert len(set(frames)) >= 9


@pytest.mark.parametrize("kind", ["frame", "sparse", "single"])
def test_kinds_of_data(kind):
    X, y = FOUR
    given = {
        "frame": pd.DataFrame(X, columns=["height $cm$", "weight"]),
        "sparse": sp.csr_array(X),
        "single": X.astype(np.float32),
    }[kind]
    names = np.array(["no", "yes"])[(y + 1) // 2]
    model = Perceptron(record=True).fit(given, names)
    display = PerceptronDisplay.from_estimator(model, given, names, updates=[1])
    assert "(class no)" in display.title(1)
    np.testing.assert_allclose(display.points, X)
    if kind == "frame":
        assert display.axes_[-1].get_xlabel() == r"height \$cm\$"


def test_a_pipeline_shows_what_its_last_step_sees():
    X, y = FOUR
    model = make_pipeline(StandardScaler(), Perceptron(record=True)).fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[1])
    np.testing.assert_allclose(display.points, scale(X))


def test_many_rows_are_looked_at_once_a_panel():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 5))
    y = X[:, 0] > 0.5
    model = Perceptron(record=True, max_passes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y, updates=[1, 2])
    evaluated = []
    counted = display.X.dot

    class Counting:
        def __getattr__(self, name):
            return getattr(inner, name)

        def dot(self, weights):
            evaluated.append(inner.n_samples * weights.shape[1])
            return counted(weights)

    inner = display.X
    display.X = Counting()
    display.plot()
    assert sum(evaluated) == 2 * 2 * 10_000
    assert all(c.get_rasterized() for c in display.axes_[0].collections if len(c.get_offsets()) > 9)


def test_bad_input_is_told(four, tmp_path):
    X, y = FOUR
    with pytest.raises(ValueError, match="no record of its updates; fit it with record=True"):
        PerceptronDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    with pytest.raises(TypeError, match="LinearSVC has no record of single corrections"):
        PerceptronDisplay.from_estimator(LinearSVC(record=True).fit(X, y), X, y)
    with pytest.raises(TypeError, match="LogisticRegression has no record of single corrections"):
        PerceptronDisplay.from_estimator(LogisticRegression(record=True).fit(X, y), X, y)
    with pytest.raises(TypeError, match="This Perceptron has no record of single corrections"):
        PerceptronDisplay.from_estimator(Other().fit(X, y), X, y)
    with pytest.raises(TypeError, match="Perceptron is not a fitted perceptron"):
        PerceptronDisplay.from_estimator(Perceptron(), X, y)
    with pytest.raises(ValueError, match="updates has 10, and the last of this run is 9"):
        PerceptronDisplay.from_estimator(four, X, y, updates=[1, 10])
    with pytest.raises(ValueError, match="updates=0 must be a"):
        PerceptronDisplay.from_estimator(four, X, y, updates=[0])
    with pytest.raises(ValueError, match="updates is empty"):
        PerceptronDisplay.from_estimator(four, X, y, updates=[])
    with pytest.raises(ValueError, match="X has 2 rows, and row 3 was updated"):
        PerceptronDisplay.from_estimator(four, X[:2], y[:2])
    with pytest.raises(ValueError, match="not what this Perceptron was trained on"):
        PerceptronDisplay.from_estimator(four, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="not what this Perceptron was trained on"):
        PerceptronDisplay.from_estimator(four, X, -y)
    with pytest.raises(ValueError, match="part='x' is for more than two classes"):
        PerceptronDisplay.from_estimator(four, X, y, part="x")
    done = Perceptron(record=True).fit(X, y, coef_init=[[4, -0.5]], intercept_init=[1])
    with pytest.raises(ValueError, match="made no update"):
        PerceptronDisplay.from_estimator(done, X, y)
    display = PerceptronDisplay.from_estimator(four, X, y, updates=[1])
    with pytest.raises(ValueError, match="k=10 is beyond the last update, 9"):
        display.plot_update(10)
    with pytest.raises(ValueError, match=r"'run.webm' must end in .gif, .mp4 or .png"):
        display.save(tmp_path / "run.webm")
    with pytest.raises(ValueError, match="There is no folder"):
        display.save(tmp_path / "nowhere" / "run.gif")
    with pytest.raises(ValueError, match="fps=0 must be"):
        display.save(tmp_path / "run.gif", fps=0)
    iris = load_iris(return_X_y=True)
    model = Perceptron(record=True, max_passes=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*iris)
    with pytest.raises(
        ValueError, match="each of the 3 classes has its own updates.*with part: 0, 1, 2"
    ):
        PerceptronDisplay.from_estimator(model, *iris)
    with pytest.raises(ValueError, match="part=7 is not one of the classes"):
        PerceptronDisplay.from_estimator(model, *iris, part=7)


@compared()
def test_perceptron_picture(four):
    return bare(PerceptronDisplay.from_estimator(four, *FOUR, updates=[2, 5, 9]).figure_)


@compared()
def test_mistakes_picture(nine):
    display = copy(nine)
    return bare(display.plot_mistakes().figure_)
