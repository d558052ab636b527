"""Three and four classes in the studio: what is drawn is what the estimators say everywhere."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import separatrix
from separatrix.studio import StudioModel
from separatrix.studio.fitting import fitted
from separatrix.studio.state import PANELS, parse

_ESTIMATORS = {
    "logistic": lambda: separatrix.LogisticRegression(random_state=0),
    "kernel_svm": lambda: separatrix.SVC(gamma=0.5, tol=1e-5, random_state=0),
    "lda": lambda: separatrix.LinearDiscriminantAnalysis(),
    "qda": lambda: separatrix.QuadraticDiscriminantAnalysis(),
    "least_squares": lambda: separatrix.LeastSquaresClassifier(),
}
_NAMES = ["setosa", "versicolor", "virginica"]


@pytest.fixture(scope="module")
def studio():
    return StudioModel()


@pytest.fixture(scope="module")
def flowers(studio):
    made = studio.reply({"type": "shape", "seq": 1, "name": "species"})
    assert made["names"]["classes"] == _NAMES and len(made["points"]) == 150
    return {**studio.traits["state"], **{key: made[key] for key in ("points", "names", "view")}}


def asked(studio, state, **changes):
    answer = studio.reply({"type": "ask", "seq": 1, "state": {**state, **changes}})
    assert answer["type"] == "answer", answer
    json.dumps(answer, allow_nan=False)
    return answer


def by_itself(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _ESTIMATORS[model]().fit(X, y)


def grid_of(state, size):
    x, y = (np.linspace(*state["view"][axis], size) for axis in ("x", "y"))
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("model", _ESTIMATORS)
def test_field_and_borders_are_those_of_the_estimator(studio, flowers, model):
    answer = asked(studio, flowers, model=model)
    points = np.array(flowers["points"])
    X, codes = points[:, :2], points[:, 2].astype(int)
    direct = by_itself(model, X, np.array(_NAMES)[codes])
    said = np.searchsorted(_NAMES, direct.predict(X))
    assert answer["points"]["mistake"] == (said != codes).tolist()
    assert answer["mistakes"] == np.sum(said != codes) > 0
    assert answer["theta"] is None and answer["width"] is None
    size = answer["field"]["columns"]
    assert answer["field"]["kind"] == "class"
    expected = np.searchsorted(_NAMES, direct.predict(grid_of(flowers, size)[2]))
    assert np.array_equal(answer["field"]["values"], expected)
    # Each corner of a border has another class within a fraction of a cell ...
    border = np.concatenate([np.array(part) for part in answer["lines"][0]["parts"]])
    x, y, grid = grid_of(flowers, 101)
    cell = np.array([x[1] - x[0], y[1] - y[0]])
    near = 0.05 * cell
    around = [[dx, dy] for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    classes = np.array([direct.predict(border + near * step) for step in around])
    assert np.all((classes != classes[0]).any(axis=0))
    # ... and where the class changes from one place to the next there is a border.
    there = direct.predict(grid).reshape(101, 101)
    changes = np.argwhere(there[:, 1:] != there[:, :-1])
    places = np.column_stack([x[changes[:, 1]] + cell[0] / 2.0, y[changes[:, 0]]])
    away = np.abs((places[:, None] - border) / cell).max(axis=2).min(axis=1)
    assert away.max() <= 1.0


def test_each_class_has_its_gaussian(studio, flowers):
    points = np.array(flowers["points"])
    for model, own in (("qda", True), ("lda", False)):
        ellipses = asked(studio, flowers, model=model)["ellipses"]
        assert [one["class"] for one in ellipses] == [0, 0, 1, 1, 2, 2]
        within = [points[points[:, 2] == c, :2] for c in range(3)]
        shared = np.mean([np.cov(part.T, bias=True) for part in within], axis=0)
        for one in ellipses:
            part = within[one["class"]]
            np.testing.assert_allclose(one["center"], part.mean(axis=0))
            covariance = np.cov(part.T, bias=True) if own else shared
            angle = one["angle"]
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            half = turn @ np.diag(np.square(one["axes"])) @ turn.T
            ratio = half / covariance
            # Half of a Gaussian is within -2 log(1/2), nine tenths within -2 log(1/10).
            share = 1.0 - np.exp(-ratio[0, 0] / 2.0)
            assert min(abs(share - 0.5), abs(share - 0.9)) < 1e-9
            np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)


def test_the_steps_and_scores_of_three_classes(studio, flowers):
    answer = asked(studio, flowers, model="logistic", panel="objective")
    steps = answer["steps"]
    assert steps["theta"] is None and steps["count"] > 3
    assert answer["panel"]["series"]
    last = studio.reply({"type": "frame", "seq": 1, "step": steps["count"] - 1})
    assert last["field"] == answer["field"] and last["lines"] == answer["lines"]
    first = studio.reply({"type": "frame", "seq": 1, "step": 0})
    # All scores are equal in the beginning, and the first class is the answer.
    assert set(first["field"]["values"]) == {0}
    points = np.array(flowers["points"])
    direct = by_itself("logistic", points[:, :2], points[:, 2].astype(int))
    at = [5.0, 1.7]
    said = studio.reply({"type": "score", "seq": 1, "at": at})
    assert said["class"] == direct.predict([at])[0]
    assert said["probability"] == pytest.approx(direct.predict_proba([at]).max())
    assert _NAMES[said["class"]] in said["sentence"]
    for model in ("logistic", "kernel_svm"):
        for panel in PANELS[model]:
            shown = asked(studio, flowers, model=model, panel=panel["kind"])["panel"]
            assert shown["series"] or "to see this picture" in shown["note"]


@pytest.mark.parametrize("model", ["perceptron", "linear_svm", "sgd"])
def test_a_model_of_two_classes_says_whom_it_left_out(studio, flowers, model):
    answer = asked(studio, flowers, model=model)
    assert (
        "This model separates two classes, setosa and versicolor; points of virginica are left out."
        in answer["summary"]
    )
    fewer = [point for point in flowers["points"] if point[2] < 2]
    alone = asked(studio, flowers, model=model, points=fewer)
    assert alone["theta"] == answer["theta"] and alone["summary"] == []
    assert answer["points"]["mistake"][100:] == [None] * 50


def test_codes_of_classes_may_have_gaps(studio, flowers):
    names = {**flowers["names"], "classes": ["none of them", *_NAMES]}
    points = [[x, y, c + 1] for x, y, c in flowers["points"]]
    shifted = asked(studio, flowers, model="lda", points=points, names=names)
    plain = asked(studio, flowers, model="lda")
    assert [v - 1 for v in shifted["field"]["values"]] == plain["field"]["values"]
    assert shifted["mistakes"] == plain["mistakes"]
    state = {**flowers, "points": points, "names": names, "model": "lda"}
    assert fitted(parse(state)).classes == (1, 2, 3)
