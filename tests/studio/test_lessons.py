"""Each lesson of the course has a state in the studio, and what it says there is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from course import run_page
from separatrix import SVC
from separatrix.cli import main
from separatrix.studio import StudioModel, fitting
from separatrix.studio.lessons import LESSONS
from separatrix.studio.state import parse
from separatrix.studio.tours import TOURS

_OPEN = re.compile(r"^Open in the studio: ``separatrix studio --lesson (\w+)``$", re.MULTILINE)
_EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9][0-9]_*.py"))


class Opened:
    """A lesson on the page, and what the page finds when something is changed there."""

    def __init__(self, name):
        self.kernel = StudioModel()
        made = self.kernel.reply({"type": "tour", "seq": 1, "name": name})
        assert made["type"] == "tour", made
        json.dumps(made, allow_nan=False)
        self.state, self.claim, self.title = made["state"], made["claim"], made["title"]
        assert self.state["parameters"].keys() <= parse(self.state).parameters.keys()
        self.answer = self.ask()

    def ask(self, *, points=None, model=None, **parameters):
        state = dict(self.state)
        if points is not None:
            state["points"] = points
        if model is not None:
            state |= {"model": model, "parameters": {}}
        state["parameters"] = {**state["parameters"], **parameters}
        answer = self.kernel.reply({"type": "ask", "seq": 1, "state": state})
        assert answer["type"] == "answer", answer
        return answer

    def prove(self, what):
        return self.kernel.reply({"type": "prove", "seq": 1, "state": self.state, "what": what})

    @property
    def corrections(self):
        return sum(self.answer["steps"]["mistake"])


def test_lessons_and_examples_are_the_same():
    said = {}
    for path in _EXAMPLES:
        text = path.read_text(encoding="utf-8")
        found = _OPEN.findall(text)
        assert len(found) == 1, path.name
        said[found[0]] = text.splitlines()[1]
    assert said == {one["name"]: one["title"] for one in LESSONS}
    assert list(said) == [one["name"] for one in LESSONS]
    assert said.keys().isdisjoint(one["name"] for one in TOURS)


@pytest.mark.parametrize("name", [one["name"] for one in LESSONS])
@fitting.tuned(fitting.Tuning(patience=600.0))
def test_a_lesson_opens(name):
    lesson = Opened(name)
    assert lesson.state["points"] and lesson.answer["certificate"]["sentence"]
    assert lesson.answer["lines"][0]["parts"] and lesson.answer["summary"] == []
    assert (lesson.answer["panel"] is None) == (lesson.state["panel"] == "none")
    assert 1 <= len(re.findall(r"\.(?= |$)", lesson.claim)) <= 2
    assert _TRUE[name](lesson) is None
    # The claim states the numbers that were checked.
    for number in _SAID[name]:
        assert number in lesson.claim


def _hyperplanes(lesson):
    assert lesson.corrections == lesson.answer["mistakes"] == 0
    away = min(lesson.answer["points"]["margin"]) / np.linalg.norm(lesson.answer["theta"]["coef"])
    assert away == pytest.approx(0.495, abs=5e-4) and len(lesson.state["points"]) == 100


def _separable(lesson):
    assert lesson.prove("separability")["verdict"] == "not_separable"
    assert lesson.prove("fewest")["fewest"]["mistakes"] == 1


def _perceptron(lesson):
    assert lesson.corrections == 9
    visits = zip(lesson.answer["steps"]["visit"], lesson.answer["steps"]["mistake"], strict=True)
    assert sum(row == 3 and wrong for row, wrong in visits) == 5
    assert lesson.answer["theta"] == {"coef": [4.0, -0.5], "intercept": 1.0}


def _convergence(lesson):
    assert "No order of visits makes more than 55 corrections" in lesson.answer["panel"]["note"]
    assert lesson.corrections == 9


def _margins(lesson):
    wider = lesson.ask(C=10.0 / 1140.0)
    assert lesson.answer["width"] == pytest.approx(28.5, abs=0.05)
    assert wider["width"] == pytest.approx(13.3, abs=0.05)
    assert lesson.answer["mistakes"] == wider["mistakes"] == 9
    assert len(lesson.state["points"]) == 114


def _maximum_margin(lesson):
    assert lesson.answer["width"] == pytest.approx(2.0, abs=1e-9)
    # From one side of the street, the end of the other class to the point opposite.
    assert lesson.prove("separability")["strip"]["width"] == pytest.approx(2.0, abs=1e-9)


def _soft_margins(lesson):
    assert lesson.answer["width"] == pytest.approx(0.18, abs=0.005)
    without = [point for point in lesson.state["points"] if point != [4.9, 2.5, 1]]
    assert len(without) == len(lesson.state["points"]) - 1
    assert lesson.ask(points=without)["width"] == pytest.approx(0.52, abs=0.005)
    assert lesson.ask(loss="hinge")["mistakes"] > 0


def _kernels(lesson):
    assert lesson.answer["mistakes"] == 0 and len(lesson.state["points"]) == 120
    assert sum(kind != "none" for kind in lesson.answer["points"]["kind"]) == 4
    assert lesson.ask(kernel="linear", C=1.0)["mistakes"] > 20


def _logistic(lesson):
    probability = {}
    for steepness in (1.0, 2.0, 0.5, 5.0):
        assert lesson.ask(steepness=steepness)["mistakes"] == 22
        fit = lesson.kernel._last
        own = fit.model.predict_proba(fit.X)[np.arange(len(fit.y)), (fit.y > 0).astype(int)]
        probability[steepness] = -np.mean(np.log(own))
    assert probability[1.0] == min(probability.values()) == pytest.approx(0.188, abs=5e-4)
    assert probability[5.0] == pytest.approx(0.475, abs=5e-4)
    assert len(lesson.state["points"]) == 285


def _discriminants(lesson):
    assert (lesson.answer["mistakes"], lesson.ask(model="lda")["mistakes"]) == (37, 52)
    assert len(lesson.state["points"]) == 400


def _least_squares(lesson):
    x = np.linspace(0.0, 1.0, 401)
    away, truth = {}, {}
    for degree in (1, 3, 12):
        residual = lesson.ask(degree=degree)["points"]["residual"]
        away[degree] = np.sqrt(np.mean(np.square(residual)))
        curve = lesson.kernel._last.model.predict(x[:, None])
        truth[degree] = np.mean((curve - np.sin(2.0 * np.pi * x)) ** 2)
    assert [round(value, 2) for value in away.values()] == [0.46, 0.22, 0.18]
    assert min(truth, key=truth.get) == 3


def _stochastic(lesson):
    assert lesson.answer["certificate"]["relative_gap"] <= 1e-3
    assert lesson.answer["steps"]["count"] == 61
    constant = lesson.ask(learning_rate="constant")
    assert constant["certificate"]["relative_gap"] > 1e-3
    assert constant["steps"]["count"] == 61


def _generalisation(lesson):
    iris = load_iris()
    X, codes = iris.data[:, 2:], iris.target
    assert lesson.state["points"] == [[*x, y] for x, y in zip(X.tolist(), codes, strict=True)]
    held = np.isin(np.arange(150), lesson.answer["test"]["rows"])
    assert held.sum() == 75
    made = []
    for gamma in (100.0, 0.5):
        errors = lesson.ask(gamma=gamma)["test"]
        made.append((errors["training"]["mistakes"], errors["test"]["mistakes"]))
        missed = SVC(kernel="rbf", gamma=gamma).fit(X[~held], codes[~held]).predict(X) != codes
        assert made[-1] == (missed[~held].sum(), missed[held].sum())
    assert made == [(0, 14), (1, 5)]


def _dual(lesson):
    softer = lesson.ask(C=0.5)["points"]
    assert lesson.answer["points"]["alpha"] == pytest.approx([1.0, 1.0, 2.0], abs=1e-6)
    assert lesson.answer["width"] == pytest.approx(1.0, abs=1e-6)
    assert softer["alpha"] == pytest.approx([0.25, 0.25, 0.5], abs=1e-9)
    assert softer["slack"] == pytest.approx([0.0, 0.0, 1.5], abs=1e-9)


def _stopping(lesson):
    later = lesson.ask(max_iter=50)
    gaps = [100.0 * one["certificate"]["relative_gap"] for one in (lesson.answer, later)]
    assert gaps == pytest.approx([7.6, 0.88], abs=0.05)
    assert (lesson.answer["mistakes"], later["mistakes"]) == (9, 9)


def _stumps(lesson):
    X, codes = np.array(lesson.state["points"])[:, :2], np.array(lesson.state["points"])[:, 2]
    width = X[:, 1]
    tried = [np.sum((width > cut) != codes) for cut in np.unique(width)]
    assert min(tried) == lesson.answer["mistakes"] == 6 and len(X) == 100
    assert lesson.prove("fewest")["fewest"]["mistakes"] == 3


def _slips(lesson):
    length = np.linalg.norm(lesson.answer["theta"]["coef"])
    assert 2.0 * min(lesson.answer["points"]["margin"]) / length == pytest.approx(1.455, abs=5e-3)
    assert min(lesson.answer["points"]["margin"]) >= 1.0
    widest = lesson.ask(model="linear_svm", loss="hard margin")
    assert widest["width"] == pytest.approx(2.0, abs=1e-9)


def _one_hot(lesson):
    assert lesson.answer["mistakes"] == 6 and len(lesson.state["points"]) == 132
    assert lesson.ask(model="logistic")["mistakes"] == 1
    near = lesson.state["points"][:120]
    assert lesson.ask(points=near)["mistakes"] == 1
    assert lesson.ask(points=near, model="logistic")["mistakes"] == 1


def _several_classes(lesson):
    fit = lesson.kernel._last
    predicted, truth = fit.predicted(fit.X), np.array(lesson.state["points"])[:, 2]
    assert np.sum(predicted == 1) == 0 and np.sum(truth == 1) == lesson.answer["mistakes"] == 40
    assert lesson.ask(model="logistic")["mistakes"] == 1 and len(truth) == 160


def _text(lesson):
    assert lesson.answer["mistakes"] == 5 and len(lesson.state["points"]) == 60
    # The points are the messages of the lesson.
    names, (good, bad) = run_page("20_text").names, (lesson.state["names"][axis] for axis in "yx")
    counts = [
        [sum(word in listed.split(", ") for word in text.split()) for listed in (bad, good)]
        + [int(kind == "spam")]
        for text, kind in zip(names["texts"], names["kind"], strict=True)
    ]
    assert sorted(counts) == sorted(lesson.state["points"])
    row = lesson.state["points"].index([2.0, 0.0, 1])
    moved = [[2.0, 4.0, 1] if k == row else p for k, p in enumerate(lesson.state["points"])]
    assert lesson.answer["points"]["margin"][row] > 0.0
    assert lesson.ask(points=moved)["points"]["margin"][row] < 0.0


def _calibration(lesson):
    losses = {}
    for steepness in (1.0, 0.8, 1.25, 5.0):
        assert lesson.ask(steepness=steepness)["mistakes"] == 29
        fit = lesson.kernel._last
        p = fit.model.predict_proba(fit.X)
        losses[steepness] = -np.mean(np.log(p[np.arange(200), (fit.y > 0).astype(int)]))
        assert (abs(p[:, 1].mean() - 0.5) < 1e-6) == (steepness == 1.0)
    assert min(losses, key=losses.get) == 1.0
    assert [losses[1.0], losses[5.0]] == pytest.approx([0.339, 0.848], abs=5e-4)


_TRUE = {
    "hyperplanes": _hyperplanes,
    "separable": _separable,
    "perceptron": _perceptron,
    "convergence": _convergence,
    "margins": _margins,
    "maximum_margin": _maximum_margin,
    "soft_margins": _soft_margins,
    "kernels": _kernels,
    "logistic": _logistic,
    "discriminants": _discriminants,
    "least_squares": _least_squares,
    "stochastic": _stochastic,
    "generalisation": _generalisation,
    "dual": _dual,
    "stopping": _stopping,
    "stumps": _stumps,
    "slips": _slips,
    "one_hot": _one_hot,
    "several_classes": _several_classes,
    "text": _text,
    "calibration": _calibration,
}
_SAID = {
    "hyperplanes": ["3 cm", "100 flowers", "0.495 cm"],
    "separable": ["these five", "1 of them"],
    "perceptron": ["9 corrections", "5 of them", "(4, -0.5), b = 1"],
    "convergence": ["more than 55", "makes 9"],
    "margins": ["28.5 units", "9 of 114", "13.3 wide"],
    "maximum_margin": ["are 2 apart"],
    "soft_margins": ["(4.9, 2.5)", "0.18 cm", "0.52 cm"],
    "kernels": ["4 of the 120"],
    "logistic": ["22 of these 285", "0.188", "0.475", "five times"],
    "discriminants": ["37 of 400", "is 52"],
    "least_squares": ["30 points", "0.46 away at degree 1, 0.22 at 3, 0.18 at 12"],
    "stochastic": ["0.1 %", "after 60"],
    "generalisation": ["no mistake on the 75", "are 14 on the 75", "are 1 and 5"],
    "dual": ["1, 1 and 2", "is 1 wide", "C = 0.5", "1/4, 1/4 and 1/2"],
    "stopping": ["20 passes", "7.6 %", "50 it is 0.88 %", "9 mistakes both"],
    "stumps": ["fewer than 6 of these 100", "one with 3"],
    "slips": ["band of 1.46", "one of 2"],
    "one_hot": ["6 of the 132", "it is 1, and without", "it is 1 for both"],
    "several_classes": ["none of the 40", "1 of 160"],
    "text": ["5 of 60", "from (2, 0) to (2, 4)"],
    "calibration": ["share among", "29 of 200", "0.848", "0.339"],
}


def test_a_lesson_that_there_is_not(capsys):
    said = StudioModel().reply({"type": "tour", "seq": 1, "name": "origami"})
    assert said["type"] == "error"
    assert main(["studio", "--lesson", "origami"]) == 2
    error = capsys.readouterr().err
    assert "'origami'" in error
    assert all(one["name"] in error for one in LESSONS)


def test_a_lesson_brings_its_own_points(capsys):
    assert main(["studio", "iris", "--lesson", "kernels"]) == 2
    assert "brings its own points" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dual", "least_squares"])
def test_a_lesson_on_a_page_without_a_kernel(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["studio", "--lesson", name, "--export", "page.html"]) == 0
    capsys.readouterr()
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = re.search(r'id="recording">(.*?)</script>', text, re.S)
    takes = json.loads(found[1])["takes"]
    state = StudioModel(lesson=name).traits["state"]
    assert takes[0]["state"]["points"] == state["points"]
    assert takes[0]["state"]["parameters"] == state["parameters"]
