"""A line of one's own: its measures are those of plain NumPy, and its gap never lies."""

from __future__ import annotations

import re

import numpy as np
import pytest

from browser import drawn
from separatrix.studio import StateError, StudioModel
from separatrix.studio.shapes import shape
from separatrix.studio.share import from_fragment, to_fragment
from separatrix.studio.state import parse


@pytest.fixture(scope="module")
def studio():
    return StudioModel()


def _asked(studio, model, line, points="moons", **parameters):
    state = {**studio.traits["state"], **shape(points, n=40, noise=0.8), "line": line}
    state |= {"model": model, "parameters": parameters}
    found = studio.reply({"type": "line", "seq": 1, "state": state})
    assert found["type"] == "line", found
    return found, np.array(state["points"])


def test_a_line_between_classes_is_measured_as_by_hand(studio):
    w, b = np.array([0.5, -1.25]), 0.3
    for model, parameters in (
        ("linear_svm", {"C": 2.0}),
        ("kernel_svm", {"kernel": "linear", "C": 2.0}),
        ("logistic", {"C": 2.0, "steepness": 1.0}),
        ("least_squares", {"lam": 0.5}),
        ("perceptron", {}),
    ):
        found, points = _asked(studio, model, [*w, b], **parameters)
        y = np.where(points[:, 2] == 1, 1.0, -1.0)
        s = points[:, :2] @ w + b
        z = y * s
        rows = {name.split(" C(")[0]: own for name, own, _ in found["rows"]}
        hinge, log = np.maximum(0.0, 1.0 - z), np.log1p(np.exp(-z))
        assert rows["mistakes"] == found["mistakes"] == np.sum(z < 0.0)
        assert rows["mean hinge loss"] == pytest.approx(hinge.mean(), rel=1e-12)
        assert rows["mean log loss"] == pytest.approx(log.mean(), rel=1e-12)
        assert rows["mean squared error"] == pytest.approx(np.mean((y - s) ** 2), rel=1e-12)
        assert rows["geometric margin"] == pytest.approx(z.min() / np.hypot(*w), rel=1e-12)
        objective = {
            "linear_svm": w @ w / 2 + 2 * hinge.sum(),
            "kernel_svm": w @ w / 2 + 2 * hinge.sum(),
            "logistic": w @ w / 2 + 2 * log.sum(),
            "least_squares": np.mean((y - s) ** 2) / 2 + 0.25 * w @ w,
            "perceptron": None,
        }[model]
        if objective is not None:
            assert rows["objective"] == pytest.approx(objective, rel=1e-12)
        assert found["points"]["mistake"] == (z < 0.0).tolist()


def test_a_line_is_tested_on_the_points_that_are_held_out(studio):
    begun = {**studio.traits["state"], **shape("moons", n=40, noise=0.8)}
    for model, line in (("linear_svm", [0.5, -1.25, 0.3]), ("regression", [0.5, -2.0, 1.0])):
        state = {**begun, "model": model, "line": line, "test": {"hold_out": 30}, "lift": ["x2"]}
        found = studio.reply({"type": "line", "seq": 1, "state": state})
        x, y, code = np.array(state["points"]).T
        score = line[0] * x + line[1] * y + line[2]
        wrong = (score >= 0) != (code == 1)
        values = wrong if model == "linear_svm" else (score / line[1]) ** 2
        held = np.isin(np.arange(40), found["test"]["rows"])
        assert 10 < held.sum() < 14
        for part, rows in (("test", held), ("training", ~held)):
            assert found["test"][part]["error"] == pytest.approx(values[rows].mean(), rel=1e-12)
            assert found["test"][part]["points"] == rows.sum()


def test_the_gap_is_to_a_bound_and_the_models_own_line_has_none(studio):
    for model in ("linear_svm", "logistic", "least_squares"):
        found, _ = _asked(studio, model, [1.0, 1.0, 0.0])
        own, least = map(float, re.findall(r"is (?:at least )?([\d.]+\d)", found["sentence"]))
        state = {**studio.traits["state"], **shape("moons", n=40, noise=0.8), "model": model}
        answer = studio.reply({"type": "ask", "seq": 1, "state": state})
        theta = answer["theta"]
        best, _ = _asked(studio, model, [*theta["coef"], theta["intercept"]])
        assert least <= best["objective"] < own == pytest.approx(found["objective"], rel=1e-3)
        assert "nothing to go" in best["sentence"] and "nothing" not in found["sentence"]
    hard, _ = _asked(studio, "linear_svm", [1.0, 1.0, 9.0], "strip", loss="hard margin")
    assert hard["objective"] is None and "wrong side" in hard["sentence"]


def test_a_line_to_y_is_measured_as_by_hand(studio):
    found, points = _asked(studio, "regression", [0.5, -2.0, 1.0])
    residual = points[:, 1] - (0.25 * points[:, 0] + 0.5)
    assert (found["slope"], found["intercept"]) == (0.25, 0.5)
    assert found["objective"] == pytest.approx(np.mean(residual**2), rel=1e-12)
    np.testing.assert_allclose(found["points"]["residual"], residual, rtol=1e-12)
    assert "to go" in found["sentence"]
    upright, _ = _asked(studio, "regression", [1.0, 0.0, 1.0])
    assert "vertical" in upright["sentence"] and "points" not in upright


def test_a_line_is_part_of_a_state_and_of_its_link(studio):
    state = {**studio.traits["state"], "line": [1.0, -2.0, 0.5]}
    assert from_fragment(to_fragment(state))["line"] == state["line"]
    assert parse(state).line == (1.0, -2.0, 0.5)
    for wrong in ([0, 0, 1], [1, 2], [1, 2, "x"], [1, 2, 1e10], "line", {}):
        with pytest.raises(StateError):
            parse({**state, "line": wrong})
    begun = studio.reply({"type": "line", "seq": 1, "state": {**state, "line": None}})["line"]
    low, high = state["view"]["x"]
    assert parse({**state, "line": begun}).line[1] == 0.0 and low < -begun[2] / begun[0] < high


def test_a_line_is_dragged_turned_typed_and_compared(server, port, new_page):
    page = new_page()
    state = {**StudioModel().traits["state"], **shape("moons", n=40), "model": "linear_svm"}
    page.goto(f"http://127.0.0.1:{port}/token/{to_fragment(state)}")
    page.locator(".separatrix-studio[aria-busy=false]").wait_for()
    page.keyboard.press("l")
    gap = page.locator(".gap")
    gap.filter(has_text="to go").wait_for()
    assert page.evaluate("document.activeElement.dataset.part") == "tip"
    # The model's line is not seen, and what is marked are the mistakes of this one.
    drawn(page)
    assert page.locator(".level.boundary").count() == 0
    mistakes = page.locator(".point.mistaken").count()
    assert page.locator(".measures tbody tr").first.inner_text().split()[1] == str(mistakes)

    def after(act):
        before = gap.inner_text()
        act()
        page.wait_for_function("t => document.querySelector('.gap').innerText !== t", arg=before)
        drawn(page)

    fields = page.locator(".fields input")

    def theta():
        return [float(field.input_value()) for field in fields.all()]

    foot = page.locator(".handle.foot .grip").bounding_box()
    x, y = foot["x"] + foot["width"] / 2, foot["y"] + foot["height"] / 2
    w1, w2, b = theta()
    page.mouse.move(x, y)
    page.mouse.down()
    after(lambda: page.mouse.move(x + 60, y + 20, steps=3))
    page.mouse.up()
    assert theta()[:2] == [w1, w2] and theta()[2] < b
    moved = page.locator(".handle.foot .grip").bounding_box()
    assert moved["x"] - foot["x"] == pytest.approx(60, abs=1.5)
    tip = page.locator(".handle.tip")
    tip.focus()
    after(lambda: tip.press("Shift+ArrowLeft"))
    turned = theta()
    angle = np.arctan2(turned[1], turned[0]) - np.arctan2(w2, w1)
    assert np.degrees(angle) == pytest.approx(15.0, abs=0.1)
    assert np.hypot(*turned[:2]) == pytest.approx(np.hypot(w1, w2), rel=1e-3)
    page.keyboard.press("Control+z")
    page.wait_for_function(
        "v => Number(document.querySelectorAll('.fields input')[1].value) === v", arg=w2
    )
    fields.nth(2).fill("0")
    after(lambda: fields.nth(2).press("Enter"))
    fields.nth(2).fill("900")
    after(lambda: fields.nth(2).press("Enter"))
    page.get_by_role("button", name="Bring it back").click()
    page.locator(".handle.tip").wait_for()
    page.get_by_role("button", name="Show the best").click()
    page.locator(".level.boundary").wait_for(state="attached")
    page.get_by_role("button", name="Remove your line").click()
    page.locator(".handle").first.wait_for(state="detached")
    assert page.locator(".your-line:empty").count() == 1
