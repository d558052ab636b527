"""The perceptron at a terminal: its options, its steps, and pictures of every model."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from separatrix import Perceptron
from separatrix.models.registry import OFFERS

X = [[-1.0, 3.0], [-1.0, -1.0], [3.0, -1.0], [0.0, 1.5]]
Y = [-1, -1, 1, 1]


@pytest.fixture
def four(make_csv):
    rows = [[*x, label] for x, label in zip(X, Y, strict=True)]
    return make_csv("four.csv", ["x1", "x2", "y"], rows)


@pytest.fixture
def by_hand(four):
    return ("fit", four, "--target", "y", "--model", "perceptron", "--no-standardise",
            "--test-size", "0")  # fmt: skip


def test_the_orders_offered_are_those_of_the_estimator():
    for order in OFFERS["perceptron"].orders:
        Perceptron(order=order).fit(X, Y)
    with pytest.raises(ValueError) as refused:
        Perceptron(order="no such order").fit(X, Y)
    assert all(repr(order) in str(refused.value) for order in OFFERS["perceptron"].orders)


def test_a_run_by_hand_is_printed_step_by_step(run, by_hand):
    words = (*by_hand, "--start", "-1,2,0.5", "--learning-rate", "2", "--record")
    ran = run(*words)
    model = Perceptron(learning_rate=2.0, record=True).fit(
        X, Y, coef_init=[-1.0, 2.0], intercept_init=0.5
    )
    updates = model.trace_.updates
    (w1, w2), b = model.coef_[0], model.intercept_[0]
    assert ran.lines["theta"].startswith(f"({w1:g}, {w2:g}), theta_0 = {b:g}; boundary ")
    assert ran.lines["updates"] == (
        f"{len(updates)} corrections in {model.n_iter_} passes, 0 mistakes left"
    )
    document = run(*words, "--json").document
    (steps,) = document["steps"]
    assert steps["start"] == {"theta": [-1.0, 2.0], "theta_0": 0.5}
    assert [one["row"] for one in steps["corrections"]] == [one.sample + 1 for one in updates]
    assert [[*one["theta"], one["theta_0"]] for one in steps["corrections"]] == [
        [*one.coef, one.intercept] for one in updates
    ]
    # The command in the model file repeats the fit.
    again = document["command"]
    assert "--start=-1,2,0.5" in again and "--learning-rate=2.0" in again


def test_a_long_run_is_a_table_of_twenty_lines(run, by_hand):
    ran = run(*by_hand, "--start", "90,77,3", "--learning-rate", "0.1", "--record")
    count = int(ran.lines["updates"].split()[0])
    assert count > 30
    assert f"... {count - 20} more; --json has them" in ran.out
    table = ran.out.split("\nsteps ")[1].splitlines()
    assert len(table) == 23


def test_through_the_origin_there_is_no_offset(run, by_hand):
    document = run(*by_hand, "--through-origin", "--max-iter", "3", "--json").document
    assert document["plane"]["theta_0"] == 0.0
    assert document["model"]["parameters"]["fit_intercept"] is False


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--start", "1"), "--start has 1 number, and there are 2 features (x1, x2): give 2, or 3"),
        (("--start", "0,0,1", "--through-origin"), "(x1, x2): give 2 (see"),
        (("--start", "1,nan"), "'nan' in '1,nan' is not a finite number"),
        (("--start", "1,two"), "'two' in '1,two' is not a finite number"),
        (("--start", "0,0", "--model", "svm"), "--start is for --model perceptron, not svm"),
        (("--record", "--model", "lda"), "--record is for --model "),
        (("--plot", "p.jpeg"), "--plot p.jpeg must end in one of .png, .svg, .pdf, .gif"),
        (("--plot", "p.gif", "--model", "lda"), "shows the corrections of --model perceptron"),
        (("--plot", "nowhere/p.png"), "there is no folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(run, by_hand, tmp_path, words, why):
    ran = run(*by_hand, *words)
    assert ran.code in (2, 3)
    assert why in ran.err and ran.err.splitlines()[-1].startswith("error ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["four.csv"]


def test_a_wrong_start_is_refused_before_anything_else_is_read(run, by_hand, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("of,another,kind\n1,2,3\n")
    ran = run(*by_hand[:-2], "--test", other, "--start", "1")
    assert ran.code == 2
    assert "--start has 1 number, and there are 2 features (x1, x2)" in ran.err.splitlines()[-1]


def test_pictures_are_of_rows_or_of_steps(run, by_hand, tmp_path):
    ran = run(*by_hand, "--start", "3,2,0", "--plot", "steps.gif")
    assert ran.lines["drawn"] == "steps.gif: the 2 corrections"
    with Image.open(tmp_path / "steps.gif") as picture:
        assert picture.n_frames == 2
    words = ("--model", "lstsq", "--kind", "y=number", "--plot", "plane.png")
    ran = run(*by_hand, *words)
    assert ran.lines["drawn"].startswith("plane.png: The rows of the fit and what the model")
    with Image.open(tmp_path / "plane.png") as picture:
        assert np.ptp(np.asarray(picture.convert("L"))) > 200
