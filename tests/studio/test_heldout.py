"""Points to test on, noise, features and lambda, against fits that are made outside the studio."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest

import separatrix
from separatrix.studio import Studio, StudioModel
from separatrix.studio.export import recording_of
from separatrix.studio.heldout import fresh_points, held_out
from separatrix.studio.shapes import shape
from separatrix.studio.share import from_fragment, to_fragment
from separatrix.studio.state import LIFTED, StateError, parse

_HELD = {"hold_out": 30, "fresh": False, "seed": 3}


@pytest.fixture(scope="module")
def studio():
    return StudioModel()


def state_of(studio, name="moons", **changes):
    return {**studio.traits["state"], **shape(name, n=40, noise=0.8), "panel": "none", **changes}


def asked(studio, state, **more):
    answer = studio.reply({"type": "ask", "seq": 1, "state": state, **more})
    assert answer["type"] == "answer", answer
    return answer


def by_hand(state, model):
    """Training and test error of a model of scikit-learn's interface, from the state alone."""
    points = np.array(state["points"])
    X, y = points[:, :2], np.where(points[:, 2] == 1, 1, -1)
    held = held_out(parse(state))
    fit = model.fit(X[~held], y[~held])
    return [np.sum(fit.predict(X[part]) != y[part]) for part in (~held, held)]


def test_a_share_of_each_class_is_held_out_and_stays_so_when_points_are_added(studio):
    state = state_of(studio, test=_HELD)
    codes = np.array(state["points"])[:, 2]
    held = held_out(parse(state))
    assert [int(held[codes == c].sum()) for c in (0, 1)] == [6, 6]
    more = held_out(parse({**state, "points": [*state["points"], [9.0, 9.0, 0]]}))
    np.testing.assert_array_equal(more[:-1], held)
    # Dragged points keep their sides; another seed has others; no class is held out as a whole.
    dragged = [[-x, y, c] for x, y, c in state["points"]]
    np.testing.assert_array_equal(held_out(parse({**state, "points": dragged})), held)
    assert (held_out(parse({**state, "test": {**_HELD, "seed": 4}})) != held).any()
    two = {**state, "points": [[0.0, 0.0, 0], [1.0, 1.0, 1]], "test": {"hold_out": 50}}
    assert not held_out(parse(two)).any()
    # What is held out depends on nothing that a shape was drawn by: seed 0 drew these moons.
    angle = np.random.default_rng(0).random(40)
    zero = held_out(parse({**state, "test": {"hold_out": 50}}))
    assert 5 <= np.sum(zero[angle < np.median(angle)]) <= 15


def test_both_errors_are_those_of_a_fit_to_the_training_points_alone(studio):
    state = state_of(studio, test=_HELD, model="kernel_svm", parameters={"gamma": 30.0})
    test = asked(studio, state)["test"]
    own = separatrix.SVC(gamma=30.0, C=1.0, tol=1e-5, max_iter=100, random_state=0)
    assert [test[part]["mistakes"] for part in ("training", "test")] == by_hand(state, own)
    assert (test["training"]["points"], test["test"]["points"]) == (28, 12)
    assert 0 < test["test"]["mistakes"] == sum(test["missed"]) and test["training"]["error"] == 0.0
    # Fresh points are of the shape, and of a seed that the points are not of.
    fresh = state_of(studio, test={"fresh": True}, model="logistic")
    places, codes = fresh_points(parse(fresh))
    drawn = shape("moons", n=100, noise=0.8, seed=1_000_000)["points"]
    np.testing.assert_array_equal(np.column_stack([places, codes]), drawn)
    points = np.array(fresh["points"])
    own = separatrix.LogisticRegression().fit(points[:, :2], points[:, 2])
    expected = np.mean(own.predict(places) != codes)
    assert asked(studio, fresh)["test"]["test"]["error"] == expected > 0.0
    pasted = studio.reply({"type": "ask", "seq": 1, "state": {**fresh, "source": None}})
    assert pasted["type"] == "error" and "built-in shape" in pasted["text"]


@pytest.mark.parametrize("model", ["perceptron", "kernel_svm", "regression", "lda"])
@pytest.mark.parametrize("test", [_HELD, {"fresh": True}], ids=["held", "fresh"])
def test_the_program_and_the_link_hold_out_the_same_points(studio, model, test):
    state = state_of(studio, "species" if model == "lda" and test is _HELD else "moons")
    state |= {"model": model, "test": test, "lift": ["x2", "xy"]}
    answer = asked(studio, state)
    out = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        exec(answer["code"]["python"], {})
    printed = float(out.getvalue().rsplit(" ", 1)[1])
    assert printed == pytest.approx(answer["test"]["test"]["error"], rel=1e-12)
    if test is _HELD:
        assert answer["code"]["command"].startswith("# No command")
    linked = from_fragment(to_fragment(state))
    assert held_out(parse(linked)).tolist() == held_out(parse(state)).tolist()
    assert (linked["test"], linked["source"]) == (test, state["source"])
    # Links of pages that had no test points open as they did.
    older = {key: value for key, value in state.items() if key not in ("test", "source", "lift")}
    assert asked(studio, from_fragment(to_fragment(older)))["test"] is None


def test_curves_have_the_errors_of_fits_and_wait_while_a_point_is_dragged():
    studio = StudioModel()
    state = state_of(studio, "wave", model="regression", panel="degree", test=_HELD)
    panel = asked(studio, state)["panel"]
    training, test, now = panel["series"]
    points, held = np.array(state["points"]), held_out(parse(state))
    for degree in (1, 5, 9):
        own = separatrix.PolynomialRegression(degree=degree).fit(
            points[~held, :1], points[~held, 1]
        )
        for series, part in ((training, ~held), (test, held)):
            error = np.mean((own.predict(points[part, :1]) - points[part, 1]) ** 2)
            assert series["y"][degree - 1] == pytest.approx(error, rel=1e-9)
    assert now["x"] == [1.0, 1.0] and now["y"] == [training["y"][0], test["y"][0]]
    moved = {**state, "points": [*state["points"]]}
    moved["points"][int(np.argmin(held))] = [-3.0, 3.0, 0]
    dragged = asked(studio, moved, drags=True)["panel"]
    assert dragged["stale"] and dragged["series"][0]["y"] == training["y"]
    assert dragged["series"][2]["y"] != now["y"]
    rested = asked(studio, moved)["panel"]
    assert not rested["stale"] and rested["series"][0]["y"] != training["y"]
    # A curve that has to be drawn for the first time is, also in a drag.
    by_lam = asked(studio, {**moved, "panel": "lam"}, drags=True)["panel"]
    assert by_lam["title"] == "Error by lambda" and not by_lam["stale"]


def test_the_tour_of_overfitting_shows_what_it_says(studio):
    tour = studio.reply({"type": "tour", "seq": 1, "name": "degree"})
    training, test, _ = asked(studio, tour["state"])["panel"]["series"]
    assert np.all(np.diff(training["y"]) <= 1e-9) and test["y"][-1] > 10 * min(test["y"])
    assert 3 <= training["x"][int(np.argmin(test["y"]))] < training["x"][-1]


def test_a_wide_street_misses_fewer_of_the_points_that_noise_has_moved():
    studio = StudioModel()
    state = state_of(studio, "strip", model="perceptron")
    message = {"type": "jitter", "seq": 1, "noise": 0.4, "draws": 25}
    for model in ("perceptron", "linear_svm"):
        found = studio.reply({**message, "state": {**state, "model": model}})
    perceptron, svm = found["runs"]
    assert perceptron["draws"] == svm["draws"] == 25
    assert svm["mean"] < perceptron["mean"]
    # What is counted, counted by hand: the misses of a fit to the moved points where they were.
    points, missed = np.array(state["points"]), np.zeros(40, dtype=int)
    wild = {**message, "state": {**state, "model": "linear_svm"}, "noise": 1.0, "draws": 1}
    for _ in range(4):
        last = studio.reply(wild)
        y = np.where(points[:, 2] == 1, 1, -1)
        own = separatrix.LinearSVC(loss="hinge", random_state=0).fit(last["moved"], y)
        missed += own.predict(points[:, :2]) != y
    np.testing.assert_array_equal(last["missed"], missed)
    assert missed.max() == last["most"]["times"] > 0
    assert 0.7 < np.std(np.array(last["moved"]) - points[:, :2]) < 1.3
    # Points held out stay where they are, and are what is judged by.
    held = {**state, "test": _HELD}
    found = studio.reply({**message, "state": held, "draws": 1})
    stayed = (np.array(found["moved"]) == points[:, :2]).all(axis=1)
    np.testing.assert_array_equal(stayed, held_out(parse(held)))
    assert found["on"] == "test points" and len(found["runs"]) == 1


@pytest.mark.parametrize("model", LIFTED)
def test_features_bend_the_boundary_and_the_lift_shows_the_plane(studio, model):
    state = state_of(studio, "circles", model=model, panel="lift", lift=["x2", "y2"])
    answer = asked(studio, state)
    flat = asked(studio, {**state, "lift": []})
    assert answer["mistakes"] < flat["mistakes"] and answer["theta"] is None
    # On the boundary the plane of the lift and the surface of the feature meet.
    lift = answer["panel"]["lift"]
    assert lift["height"] == "x\u00b2"
    boundary = np.vstack(lift["boundary"])
    np.testing.assert_allclose(boundary[:, 2], boundary[:, 0] ** 2, atol=1e-12)
    asked(studio, state)
    fit = studio._last
    features = np.column_stack([boundary[:, :2], boundary[:, :2] ** 2])
    scores = np.ravel(fit.model.decision_function(features))
    assert np.abs(scores).max() < 1e-2 * np.abs(fit.scores(fit.state.points)).max()
    x, y = (np.linspace(*lift[axis], lift["across"]) for axis in ("x", "y"))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    on_sheet = np.column_stack([grid, lift["sheet"], grid[:, 1] ** 2])
    scale = np.abs(fit.model.coef_).max() * np.abs(on_sheet).max()
    assert np.abs(fit.model.decision_function(on_sheet)).max() < 1e-9 * scale
    for step in range(0, (answer["steps"] or {"count": 0})["count"], 40):
        frame = studio.reply({"type": "frame", "seq": 2, "step": step})
        assert frame["type"] == "frame" and frame["theta"] is None


def test_the_lift_of_the_kernel_gives_the_machine_of_the_kernel(studio):
    state = state_of(studio, "circles", model="linear_svm", lift=["poly"])
    lifted = asked(studio, state)
    kernel = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    machine = asked(studio, {**state, "model": "kernel_svm", "parameters": kernel})
    # Without a penalty on the constant both minimise the same.
    assert lifted["certificate"]["objective"] == pytest.approx(
        machine["certificate"]["objective"], rel=1e-4
    )


def test_lambda_is_the_strength_of_the_same_fit(studio):
    for model, made in (
        ("logistic", separatrix.LogisticRegression()),
        ("linear_svm", separatrix.LinearSVC(loss="hinge", random_state=0)),
        ("kernel_svm", separatrix.SVC(gamma=0.5, tol=1e-5, max_iter=100, random_state=0)),
    ):
        state = state_of(studio, model=model, test=_HELD, parameters={"C": 0.25})
        strength = asked(studio, state)["strength"]
        assert strength == {"lam": pytest.approx(1 / (28 * 0.25)), "n": 28}
        fit = studio._last
        made.set_params(lam=strength["lam"]).fit(fit.X, fit.y)
        np.testing.assert_allclose(made.decision_function(fit.X), fit.scores(fit.X), atol=1e-3)
        back = studio.reply({"type": "strength", "seq": 1, "state": state, "lam": strength["lam"]})
        assert back["C"] == pytest.approx(0.25)


def test_the_widget_and_the_exported_page_have_the_test_points(studio):
    widget = Studio()
    widget.test = {"hold_out": 20}
    assert widget.test == {"hold_out": 20, "fresh": False, "seed": 0}
    assert widget.errors["test"]["points"] == widget.held_out.sum() == 12
    widget.lift = ["y2"]
    assert widget.estimator.coef_.shape == (1, 3) and widget.lift == ["y2"]
    with pytest.raises(StateError, match="0, 20, 30 or 50 percent"):
        widget.test = {"hold_out": 35}
    with pytest.raises(StateError, match="no feature 'z'"):
        widget.lift = ["z"]
    # Fresh points are of a shape; those that Python sets are of none.
    widget.test = {"fresh": True}
    assert widget.errors["test"]["points"] == 100
    widget.points = [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(StateError, match="built-in shape"):
        widget.errors  # noqa: B018
    (take,) = recording_of(studio, state_of(studio, test=_HELD))["takes"]
    assert take["answer"]["test"]["test"]["points"] == 12
