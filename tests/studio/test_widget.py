"""The studio in a notebook: its state is that of Python, and its page may be taken along."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from separatrix import LinearSVC, PolynomialRegression
from separatrix.cli import main
from separatrix.cli.commands.studio import run as run_module
from separatrix.studio import Studio
from separatrix.studio import serving as serving_module
from separatrix.studio.export import page_of, recording_of
from separatrix.studio.state import StateError


@pytest.fixture
def said(monkeypatch):
    """What widgets send to their pages."""
    sent = []
    monkeypatch.setattr(Studio, "send", lambda self, content, buffers=None: sent.append(content))
    return sent


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data[50:, 2:], data.target_names[data.target[50:]]


def test_the_fit_is_that_of_the_points_as_they_are(iris):
    X, y = iris
    studio = Studio(X, y, model="linear_svm", options={"C": 3.0})
    np.testing.assert_array_equal(studio.X, X)
    np.testing.assert_array_equal(studio.y, y)
    # The state is set as by the page.
    moved = [*studio.points[:-1], [3.0, 1.0, 1]]
    studio.state = {**studio.state, "points": moved}
    own = LinearSVC(loss="hinge", C=3.0, random_state=0).fit([p[:2] for p in moved], studio.y)
    np.testing.assert_allclose(studio.estimator.coef_, own.coef_, rtol=1e-12)
    assert studio.certificate.primal == pytest.approx(own.certificate_.primal, rel=1e-12)
    assert studio.options == {"C": 3.0, "loss": "hinge"}
    studio.model = "qda"
    assert (studio.panel, studio.options) == ("lift", {"reg_param": 0.0})


def test_what_is_set_in_python_is_checked_and_reaches_the_page(iris):
    studio = Studio(*iris)
    seen = []
    studio.observe(lambda change: seen.append(change["new"]), "state")
    studio.points = [[0, 0, 0], [1, 2, 1]]
    assert seen[-1]["points"] == [[0.0, 0.0, 0], [1.0, 2.0, 1]]
    with pytest.raises(StateError, match="class that does not exist"):
        studio.points = [[0, 0, 5]]
    with pytest.raises(StateError, match="not a parameter"):
        studio.options = {"D": 1}
    with pytest.raises(StateError, match="no model"):
        studio.model = "oracle"
    assert len(studio.points) == 2


def test_questions_of_the_page_are_answered(iris, said):
    studio = Studio(*iris)
    studio._handle_custom_msg({"type": "ask", "seq": 2**40, "state": studio.state}, [])
    assert (said[-1]["type"], said[-1]["seq"]) == ("answer", 2**40)
    count = said[-1]["steps"]["count"]
    # Another page asks, and the first one goes on with its own steps.
    other = {**studio.state, "model": "lda", "parameters": {}}
    studio._handle_custom_msg({"type": "ask", "seq": 3, "state": other}, [])
    frame = {"type": "frame", "seq": 4, "of": 2**40, "step": count - 1}
    studio._handle_custom_msg(frame, [])
    assert said[-1]["type"] == "frame"
    margins = studio.estimator.decision_function(studio.X)
    np.testing.assert_allclose(
        said[-1]["points"]["margin"], np.where(studio.y == "virginica", margins, -margins)
    )
    studio._handle_custom_msg(
        {"type": "prove", "seq": 5, "state": studio.state, "what": "separability"}, []
    )
    assert [one["type"] for one in said[-2:]] == ["thinking", "proof"]
    assert "'virginica'" in said[-1]["sentence"]


def test_frames_and_one_column():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "text": list("wxyz"), "b": [0.0, 1, 0, 1]})
    y = pd.Series(["no", "yes", "no", "yes"], name="said")
    studio = Studio(frame, y, features=("b", "a"))
    assert studio.names == {"x": "b", "y": "a", "classes": ["no", "yes"]}
    assert studio.seed_tables["columns"] == ["a", "b"]
    assert studio.seed_tables["target"] == "said"
    curve = Studio(frame[["a"]], frame["b"], options={"degree": 2})
    own = PolynomialRegression(degree=2).fit(frame[["a"]].to_numpy(), frame["b"])
    assert curve.model == "regression"
    np.testing.assert_allclose(curve.estimator.predict([[2.5]]), own.predict([[2.5]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, [1, 2]), "pass X"),
        (([1.0, 2.0], [0, 1]), "table of rows and columns"),
        ((np.eye(3), [0, 1]), "one entry for each of the 3 rows"),
        ((np.ones((3, 1)), list("abc")), "two columns of numbers"),
        ((np.eye(3), [0, 1, 0], (0, 7)), "no column 7"),
        ((np.eye(3), [0, 1, 0], ("x1", "z")), "no column 'z'"),
        ((np.eye(3), [0, 1, 0], "x1"), "two names"),
    ],
)
def test_what_is_no_picture_gets_a_sentence(arguments, message):
    X, y, *features = arguments
    with pytest.raises(ValueError, match=message):
        Studio(X, y, features=features[0] if features else None)


def test_a_recording_replays_what_was_fitted(iris):
    studio = Studio(*iris, model="perceptron")
    locked = {**studio.state, "view": {**studio.state["view"], "lock": True}}
    recording = recording_of(studio._kernel, locked, ["perceptron", "kernel_svm"])
    assert [one["name"] for one in recording["traits"]["models"]] == ["perceptron", "kernel_svm"]
    for take in recording["takes"]:
        # A phone's picture, and a wide one, with one scale for both axes, are shaded in whole.
        ends = [np.array(take["state"]["view"][axis]) for axis in "xy"]
        (width, height), seen = map(np.ptp, ends), take["view"]
        for shape in (0.9, 1.3):
            high = max(height, width / shape)
            for axis, end, span in zip("xy", ends, (shape * high, high), strict=True):
                assert np.ptp(seen[axis]) >= span and np.isclose(np.mean(seen[axis]), end.mean())
        state = take["state"]
        answer = studio._kernel.reply({"type": "ask", "seq": 1, "state": state})
        # Numbers that are computed with are exact; others have as many digits as are seen.
        for key in ("theta", "steps", "mistakes"):
            assert take["answer"][key] == answer[key]
        assert take["answer"]["certificate"]["bound"] == answer["certificate"]["bound"]
        assert answer["panel"]["kind"] in take["panels"]
        step = len(take["frames"]) - 1
        frame = studio._kernel.reply({"type": "frame", "seq": 1, "of": 1, "step": step})
        assert take["frames"][step]["theta"] == frame["theta"]
        margins = [one["points"]["margin"] for one in (take["frames"][step], frame)]
        np.testing.assert_allclose(*margins, rtol=1e-4)
    assert recording["takes"][0]["proofs"]["fewest"]["fewest"]["mistakes"] == 3
    with pytest.raises(StateError, match="no model 'oracle'"):
        recording_of(studio._kernel, studio.state, ["oracle"])


def test_names_cannot_end_the_data_of_a_page():
    studio = Studio()
    hostile = "</script><script>alert(1)</script>"
    studio.names = {**studio.names, "x": hostile, "classes": [hostile, "<!--"]}
    page = page_of(recording_of(studio._kernel, studio.state), title=hostile)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == page.count("</script>") == 2
    data = page.split('id="recording">')[1].split("</script>")[0]
    assert json.loads(data)["takes"][0]["state"]["names"]["x"] == hostile
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_command_writes_a_page_and_no_other_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run_module, "PANELS", ["logistic", "lda", "regression"])
    page = tmp_path / "iris.html"
    small = tmp_path / "small.csv"
    small.write_text("when,a,b,target\n1e12,0,0,no\n2e12,1,1,yes\n3e12,0,1,yes\n")
    # The second time it replaces its own page.
    for _ in range(2):
        assert main(["studio", str(small), "--export", str(page)]) == 0
    assert "saved" in capsys.readouterr().out
    # The first two columns that a picture can hold.
    assert '"names":{"x":"a","y":"b","classes":["no","yes"]}' in page.read_text("utf-8")
    assert page.read_bytes().startswith(b"<!doctype html>")
    other = tmp_path / "other.html"
    other.write_text("<!doctype html>mine")
    for arguments in (["iris", "--export", str(other)], ["--export", str(page), "--keep"]):
        assert main(["studio", *arguments]) == 2
    assert other.read_text() == "<!doctype html>mine"
    assert {path.name for path in tmp_path.iterdir()} == {"iris.html", "other.html", "small.csv"}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("a,b,target\n1,,x\n,4,y\n2,,x\n", "no row with two numbers"),
        ("a,b,target\n1e10,2,x\n1,4,y\n", "'a' has 1e+10, which is beyond a billion"),
        ("a,b,target\n1,2,x\n3,no,y\n", "one column of numbers, 'a', and the picture needs two"),
    ],
)
def test_a_table_that_makes_no_picture_gets_a_sentence(tmp_path, capsys, rows, sentence):
    table = tmp_path / "table.csv"
    table.write_text(rows)
    assert main(["studio", str(table)]) == 3
    assert sentence in capsys.readouterr().err


def test_the_command_says_how_many_rows_of_a_table_it_shows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run_module, "load", lambda wanted: None)
    monkeypatch.setattr(run_module.gc, "freeze", lambda: None)
    monkeypatch.setattr(serving_module, "serve", lambda make, opened, **more: opened("address"))
    table = tmp_path / "table.csv"
    for rows, note in ((400, "shows 300 of the table's 400 rows, chosen at random"), (40, None)):
        lines = [f"{k},{k % 7},{'xy'[k % 2]}" for k in range(rows)]
        table.write_text("\n".join(["a,b,target", *lines]))
        assert main(["studio", str(table)]) == 0
        err = capsys.readouterr().err
        assert (note or "compiled loops") in err and (note is None) == ("picture shows" not in err)
