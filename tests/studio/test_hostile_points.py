"""Points that nobody would draw on purpose: a sentence or a picture, and never anything else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from separatrix.studio import StudioModel
from separatrix.studio import fitting as fitting_module
from separatrix.studio.state import PANELS

_RNG = np.random.default_rng(0)
_CLOUD = _RNG.standard_normal((16, 2))
_ONES = np.ones((8, 2))
_PAIR = np.arange(16) % 2
_SETS = {
    "none": (np.zeros((0, 2)), []),
    "one": ([[0.5, 0.5]], [0]),
    "one class": (_CLOUD, np.ones(16, int)),
    "all the same": (_ONES, _PAIR[:8]),
    "all the same, four classes": (_ONES, np.arange(8) % 4),
    "one of a class": (_CLOUD, np.arange(16) == 15),
    "on a line": (np.column_stack([np.ones(16), np.arange(16.0)]), _PAIR),
    "huge": (1e8 * _CLOUD, _PAIR),
    "far away": (1e8 + _CLOUD, _PAIR),
    "tiny": (1e-8 * _CLOUD, _PAIR),
    "huge by tiny": (_CLOUD * [1e8, 1e-8], _PAIR),
    "huge, three classes": (1e8 * _CLOUD, np.arange(16) % 3),
}


@pytest.fixture(scope="module")
def studio():
    return StudioModel()


def state_of(studio, X, codes, **changes):
    X = np.asarray(X, dtype=float)
    view = dict(studio.traits["state"]["view"])
    if len(X):
        low, high = X.min(axis=0), X.max(axis=0)
        room = np.where(high > low, 0.1 * (high - low), 0.5)
        ends = np.stack([low - room, high + room], axis=1).tolist()
        view |= {"x": ends[0], "y": ends[1]}
    points = [[x, y, int(c)] for (x, y), c in zip(X.tolist(), codes, strict=True)]
    names = {"x": "x1", "y": "x2", "classes": ["a", "b", "c", "d"]}
    return {**studio.traits["state"], "points": points, "view": view, "names": names, **changes}


def told(studio, state, walked=True):
    """The answer, with three of its steps if they are ``walked``, or None for a sentence."""
    answer = studio.reply({"type": "ask", "seq": 1, "state": state})
    json.dumps(answer, allow_nan=False)
    if answer["type"] == "error":
        assert "\n" not in answer["text"] and answer["text"].endswith(".")
        assert answer["text"].count(". ") == 0
        return None
    numbers = [] if answer["theta"] is None else [*answer["theta"]["coef"]]
    numbers += [] if answer["field"] is None else answer["field"]["values"]
    numbers += [v for line in answer["lines"] for part in line["parts"] for at in part for v in at]
    assert None not in numbers
    seen = any(line["parts"] for line in answer["lines"] if line["level"] == 0)
    assert seen or "This view shows no boundary" in " ".join(answer["summary"])
    steps = answer["steps"] if walked else None
    for step in () if steps is None else (0, steps["count"] // 2, steps["count"] - 1):
        frame = studio.reply({"type": "frame", "seq": 1, "step": step})
        json.dumps(frame, allow_nan=False)
        assert frame["type"] == "frame"
    return answer


@pytest.mark.crossed
@pytest.mark.parametrize("name", _SETS)
@pytest.mark.parametrize("model", PANELS)
@fitting_module.tuned(fitting_module.Tuning(patience=0.2))
def test_every_model_and_panel_has_a_picture_or_a_sentence(studio, model, name):
    X, codes = _SETS[name]
    for k, panel in enumerate(PANELS[model] or [{"kind": "none"}]):
        state = state_of(studio, X, codes, model=model, panel=panel["kind"])
        # Steps are those of the model, whatever the panel is.
        answer = told(studio, state, walked=k == 0)
        enough = len(X) > 1 if model == "regression" else len(set(codes)) > 1
        # One point has no covariance.
        enough = enough and not (model == "qda" and name == "one of a class")
        assert (answer is not None) == enough, panel


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("perceptron", {"order": "random", "margin": 5.0, "learning_rate": 1e3}),
        ("logistic", {"penalty": "l1", "C": 1e4}),
        ("logistic", {"C": 1e-4, "steepness": 10.0}),
        ("linear_svm", {"loss": "hard margin"}),
        ("kernel_svm", {"kernel": "poly", "degree": 8, "gamma": 1e-3, "coef0": 0.0}),
        ("kernel_svm", {"gamma": 100.0, "C": 1e4}),
        ("qda", {"reg_param": 1.0}),
        ("regression", {"degree": 12}),
        ("sgd", {"loss": "squared_hinge", "learning_rate": "constant", "eta0": 10.0}),
    ],
)
@fitting_module.tuned(fitting_module.Tuning(patience=0.1))
def test_the_ends_of_the_controls(studio, model, parameters):
    for name in ("all the same, four classes", "on a line", "huge by tiny", "tiny"):
        X, codes = _SETS[name]
        told(studio, state_of(studio, X, codes, model=model, parameters=parameters))


@pytest.mark.parametrize("model", ["lda", "qda", "least_squares"])
def test_the_unit_does_not_matter_where_it_need_not(studio, model):
    made = [
        told(studio, state_of(studio, scale * _CLOUD, _PAIR, model=model))
        for scale in (1.0, 1e8, 1e-8)
    ]
    assert made[0]["mistakes"] == made[1]["mistakes"] == made[2]["mistakes"]
    for other in made[1:]:
        np.testing.assert_allclose(
            other["field"]["values"], made[0]["field"]["values"], rtol=1e-6, atol=1e-6
        )


@fitting_module.tuned(fitting_module.Tuning(patience=0.2))
def test_two_thousand_points(studio):
    X = np.random.default_rng(2).standard_normal((2000, 2)) + 1.5 * (np.arange(2000) % 2)[:, None]
    for model in PANELS:
        kinds = [one["kind"] for one in PANELS[model]]
        panel = "mistakes" if "mistakes" in kinds else "none"
        answer = told(studio, state_of(studio, X, np.arange(2000) % 2, model=model, panel=panel))
        assert len(answer["points"]["mistake"]) == 2000


def test_nobody_waits_for_minutes(studio):
    X = np.random.default_rng(1).standard_normal((100, 2))
    parameters = {"kernel": "linear", "C": 1e4}
    state = state_of(studio, X, np.arange(100) % 2, model="kernel_svm", parameters=parameters)
    with fitting_module.tuned(fitting_module.Tuning(most_iterations=2)):
        answer = told(studio, state)
    assert answer["certificate"]["status"] == "max_iter" and answer["steps"]["count"] <= 4
    assert answer["certificate"]["sentence"].startswith("Stopped after 2 iterations: ")
    assert "max_iter=2" in answer["code"]["python"]
    with fitting_module.tuned(fitting_module.Tuning(patience=1e-9)):
        answer = told(studio, state)
    assert answer["certificate"]["status"] == "time_limit"
    assert "Fewer points take less time." in answer["certificate"]["sentence"]
    assert "time_limit=1e-09" in answer["code"]["python"]


def test_a_hard_margin_that_there_is_not(studio):
    parameters = {"loss": "hard margin"}
    state = state_of(studio, _ONES, _PAIR[:8], model="linear_svm", parameters=parameters)
    said = studio.reply({"type": "ask", "seq": 1, "state": state})["text"]
    assert said == (
        "No line separates a from b, so there is no hard margin: "
        "choose the loss hinge, which allows for overlap."
    )
