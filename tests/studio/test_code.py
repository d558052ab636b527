"""The code and the command that the studio shows make the fit that is on the page."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import separatrix
from separatrix.cli import main
from separatrix.persistence.model_file import load_model
from separatrix.studio import StudioModel, fitting
from separatrix.studio.state import PANELS

_AWKWARD = {"x": 'in "cm", about', "y": "-b", "classes": ["o'clock", "a, b"]}
_FLAT = {"x": "x1", "y": "x2", "classes": ["-1", "+1"]}


@pytest.fixture(scope="module")
def studio():
    # A fit that ran out of time, as where loops are compiled on a busy machine, is not the
    # command's, which has no limit.
    with fitting.tuned(fitting.Tuning(patience=600.0)):
        yield StudioModel()


def asked(studio, shape="blobs", **changes):
    made = studio.reply({"type": "shape", "seq": 1, "name": shape, "n": 40})
    shaped = {key: made[key] for key in ("points", "names", "view")}
    state = {**studio.traits["state"], **shaped, **changes}
    answer = studio.reply({"type": "ask", "seq": 1, "state": state})
    assert answer["type"] == "answer", answer
    return state, answer


def fit_of(studio):
    return studio._last


@pytest.mark.crossed
@pytest.mark.parametrize("shape", ["moons", "species"])
@pytest.mark.parametrize("model", PANELS)
def test_the_program_makes_the_same_fit(studio, shape, model, capsys):
    names = {**_FLAT, "classes": ["a\nimport nothing", "b'\"", "c"]}
    _, answer = asked(studio, shape, model=model, names=names)
    made: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(answer["code"]["python"], made)
    assert capsys.readouterr().out
    fit, model_made = fit_of(studio), made["model"]
    for name in ("coef_", "intercept_", "dual_coef_", "means_", "covariance_"):
        if hasattr(fit.model, name):
            assert np.array_equal(getattr(model_made, name), getattr(fit.model, name))
    if answer["theta"] is not None:
        assert np.ravel(model_made.coef_).tolist() == answer["theta"]["coef"]
    objective = answer["certificate"]["objective"]
    assert objective is None or model_made.certificate_.primal == objective
    X = np.random.default_rng(0).standard_normal((50, fit.X.shape[1]))
    assert np.array_equal(model_made.predict(X), fit.model.predict(X))


@pytest.fixture(scope="module")
def saved_by_the_page():
    """What the page's own script writes of a state, by one process for all states."""
    if shutil.which("node") is None:
        pytest.skip("there is no node on this machine")
    page = Path(separatrix.__file__).parent / "studio" / "page"
    script = (page / "data.js").read_text(encoding="utf-8")
    found = re.search(r"^export (function toCsv\(.*?^\})$", script, re.MULTILINE | re.DOTALL)
    program = (
        f'{found[1]}\nrequire("readline").createInterface({{ input: process.stdin }})'
        '.on("line", (state) => console.log(JSON.stringify(toCsv(JSON.parse(state)))));'
    )
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(["node", "-e", program], **piped) as process:

        def saved(state):
            print(json.dumps(state), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield saved


@pytest.mark.parametrize(
    ("model", "shape", "parameters", "names"),
    [
        ("lda", "species", {}, None),
        ("lda", "moons", {"shrinkage": 0.3}, _AWKWARD),
        ("qda", "moons", {}, None),
        ("least_squares", "moons", {}, _AWKWARD),
        ("least_squares", "sepals", {}, None),
        ("least_squares", "moons", {"lam": 2.0}, None),
        ("regression", "moons", {"degree": 3}, _AWKWARD),
        ("regression", "moons", {"degree": 3, "lam": 0.5}, None),
        ("logistic", "moons", {"C": 0.1}, _AWKWARD),
        ("logistic", "species", {"penalty": "l1"}, None),
        ("linear_svm", "moons", {"loss": "squared_hinge", "C": 3.0}, None),
        ("linear_svm", "strip", {"loss": "hard margin"}, None),
        ("kernel_svm", "moons", {"gamma": 2.0}, None),
        ("kernel_svm", "moons", {"kernel": "poly", "degree": 2}, None),
        ("kernel_svm", "species", {"kernel": "linear", "C": 0.1}, None),
        ("perceptron", "strip", {"fit_intercept": False}, _AWKWARD),
    ],
)
def test_the_command_makes_the_same_fit(
    studio, model, shape, parameters, names, saved_by_the_page, tmp_path, monkeypatch, capsys
):
    changes = {} if names is None else {"names": names}
    state, answer = asked(studio, shape, model=model, parameters=parameters, **changes)
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text(saved_by_the_page(state), encoding="utf-8")
    words = shlex.split(answer["code"]["command"])
    assert words[0] == "separatrix"
    assert main(words[1:]) == 0, capsys.readouterr().err
    capsys.readouterr()
    made, own = load_model("model.separatrix").model, fit_of(studio).model
    # The command line sorts classes by their names.
    turned = names is not None and model != "regression"
    for name in ("coef_", "intercept_"):
        # The coefficients of kernel machines are compared below.
        if hasattr(own, name) and model != "kernel_svm":
            sign = -1.0 if turned else 1.0
            expected = sign * np.asarray(getattr(own, name))
            np.testing.assert_allclose(getattr(made, name), expected, rtol=1e-9, atol=1e-12)
    if model == "kernel_svm":
        # What is recorded stops a kernel machine earlier or later, within what is certified.
        answers = made.certificate_.primal, answer["certificate"]["objective"]
        assert abs(answers[0] - answers[1]) <= 1e-5 * max(answers)
        X = fit_of(studio).X
        np.testing.assert_allclose(
            made.decision_function(X), own.decision_function(X), rtol=0.0, atol=0.01
        )
    if hasattr(own, "means_"):
        there = np.asarray(own.means_)[:: -1 if turned else 1]
        np.testing.assert_allclose(made.means_, there, rtol=1e-12)
        covariance = np.asarray(own.covariance_)
        if model == "qda" and turned:
            covariance = covariance[::-1]
        np.testing.assert_allclose(made.covariance_, covariance, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "logistic", "parameters": {"steepness": 2.0}}, "no option for the steepness"),
        ({"model": "linear_svm", "shape": "species"}, "points of other classes"),
        (
            {"model": "perceptron", "parameters": {"order": "random"}},
            "no options for the start, order, rate",
        ),
        (
            {"model": "perceptron", "parameters": {"start": [1, 0, 0]}},
            "no options for the start, order, rate",
        ),
        ({"model": "sgd"}, "continues with another method"),
        ({"model": "qda", "parameters": {"reg_param": 0.5}}, "set it to 0"),
        ({"model": "lda", "names": {**_FLAT, "x": "class"}}, "would not have different names"),
        ({"model": "lda", "names": {**_FLAT, "classes": ["NA", "b"]}}, "a missing value"),
        ({"model": "lda", "names": {**_FLAT, "classes": ["1", "1.0"]}}, "the same name in"),
        (
            {"model": "lda", "points": [[1, 0, 0], [1, 2, 1], [1, 3, 0]]},
            "columns with one value only",
        ),
        ({"model": "regression", "points": [[0, 1, 0], [1, 1, 0]]}, "nothing to predict"),
    ],
)
def test_why_there_is_no_command(studio, changes, why):
    command = asked(studio, **changes)[1]["code"]["command"]
    assert command.startswith("# No command makes this fit: ") and command.endswith(".")
    assert why in command and "\n" not in command
