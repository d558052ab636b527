"""The program, and the command, that make the fit on the page."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from separatrix.models.registry import OFFERS
from separatrix.studio.fitting import KERNEL_TOL, MOST_PASSES, Fitted, tuned
from separatrix.studio.lifting import lifting_code
from separatrix.studio.state import ESTIMATORS, PARAMETERS, State
from separatrix.tables.table import DEFAULT_MISSING

# The page's names of the file of the points, and of the column of their classes in it.
_FILE, _TARGET = "points.csv", "class"
# The command line's names of the estimators.
_MODELS = {one: name for name, o in OFFERS.items() for one in (o.estimator, o.of_classes) if one}
# The parameters that the command line's perceptron always has.
_PLAIN = {
    one["name"]: one["default"]
    for one in PARAMETERS
    if one["model"] == "perceptron" and one["name"] != "fit_intercept"
}


def python_of(fit: Fitted) -> str:
    """Python that fits the same model to the same points."""
    name = type(fit.model).__name__
    plain = dict(fit.options)
    # To record a fit changes nothing of it.
    plain.pop("record", None)
    certificate = getattr(fit.model, "certificate_", None)
    if getattr(certificate, "status", None) != "time_limit":
        plain.pop("time_limit", None)
    options = ", ".join(f"{key}={_literal(value)}" for key, value in plain.items())
    state = fit.state
    # All points of these classes, in their order, so that those held out are named by their rows.
    rows = np.sort(np.concatenate([fit.rows, fit.held]))
    lines = ["import numpy as np", f"from separatrix import {name}", ""]
    lines += _points(fit, state.points[rows], state.codes[rows])
    train = ""
    if len(fit.held):
        held = np.searchsorted(rows, fit.held).tolist()
        lines += ["", f"test = {held}  # these rows are held out",
                  "train = np.setdiff1d(np.arange(len(X)), test)"]  # fmt: skip
        train = "[train]"
    lines += [""]
    extra = ""
    if fit.state.model == "perceptron":
        *coef, intercept = fit.state.parameters["start"]
        intercept = intercept if fit.options["fit_intercept"] else 0.0
        coef += [0.0] * (fit.X.shape[1] - 2)
        extra = f", coef_init={coef}, intercept_init={intercept}"
    lines += [f"model = {name}({options})", f"model.fit(X{train}, y{train}{extra})"]
    lines += ["print(model.certificate_)"]
    if fit.state.fresh:
        lines += ["", *_points(fit, *fit.test_points())]
    if fit.state.fresh or len(fit.held):
        tested = "[test]" if len(fit.held) else ""
        predicted, true = f"model.predict(X{tested})", f"y{tested}"
        wrong = f"({predicted} - {true}) ** 2" if fit.regression else f"{predicted} != {true}"
        lines += [f'print("test error:", np.mean({wrong}))']
    return "\n".join(lines) + "\n"


def _points(fit: Fitted, places: np.ndarray, codes: np.ndarray) -> list[str]:
    """Lines that define ``X``, with its features, and ``y``."""
    if fit.regression:
        x, y = places.T.tolist()
        return [f"X = np.array({x}).reshape(-1, 1)", f"y = np.array({y})"]
    y = codes if fit.several else np.where(codes == fit.classes[1], 1, -1)
    own = fit.classes if fit.several else (-1, 1)
    names = [
        f"{code} is {fit.state.classes[one]!r}" for code, one in zip(own, fit.classes, strict=True)
    ]
    return [
        f"X = np.array({places.tolist()})",
        *lifting_code(fit.state.lift),
        f"# {', '.join(names)}",
        f"y = np.array({y.tolist()})",
    ]


def _literal(value: Any) -> str:
    return 'float("inf")' if value == float("inf") else repr(value)


def command_of(fit: Fitted) -> str:
    """The command that fits the same model to the points that the page saves as CSV.

    Where no command does, a comment that states why.
    """
    state = fit.state
    why = _unlike_command(fit) or _unlike_file(state)
    if why is not None:
        return f"# No command makes this fit: {why}."
    target = state.names[1] if fit.regression else _TARGET
    words = ["separatrix", "fit", _FILE, "--target", target, *_options(state)]
    return shlex.join([*words, "--test-size", "0", "-o", "model.separatrix"])


def _options(state: State) -> list[str]:
    """The model, in the words of the command line."""
    given, model = state.parameters, state.model
    words = ["--model", _MODELS[ESTIMATORS[model]]]
    if model in ("lda", "qda"):
        shrinkage = given.get("shrinkage", 0.0)
        return [*words, "--shrinkage", repr(shrinkage) if shrinkage else "none"]
    if model == "kernel_svm":
        words += ["--kernel", given["kernel"], *_of_kernel(given)]
        words += ["--tol", repr(KERNEL_TOL), "--max-iter", str(tuned.now.most_iterations)]
    if model == "perceptron":
        words += ["--max-iter", str(MOST_PASSES)]
        words += [] if given["fit_intercept"] else ["--no-intercept"]
    if model == "linear_svm":
        hard = given["loss"] == "hard margin"
        words += ["--loss", "hinge" if hard else given["loss"]]
        words += ["-C", "inf" if hard else repr(given["C"])]
    elif "C" in given:
        words += ["-C", repr(given["C"])]
    if given.get("penalty") == "l1":
        words += ["--penalty", "l1"]
    if model == "regression":
        words += ["--degree", str(given["degree"])]
    if given.get("lam"):
        words += ["--lam", repr(given["lam"])]
    closed = model in ("regression", "least_squares")
    # Without a penalty these see the units of the table in any case.
    return words if closed and not given["lam"] else [*words, "--no-standardise"]


def _of_kernel(given: dict[str, Any]) -> list[str]:
    words = [] if given["kernel"] == "linear" else ["--gamma", repr(given["gamma"])]
    if given["kernel"] == "poly":
        words += ["--degree", str(given["degree"]), "--coef0", repr(given["coef0"])]
    return words


def _unlike_command(fit: Fitted) -> str | None:
    """The reason why the command line cannot make this fit; None where it can."""
    model, given = fit.state.model, fit.state.parameters
    if model == "sgd":
        return "the command line continues with another method after these passes"
    if model == "perceptron" and any(given[name] != one for name, one in _PLAIN.items()):
        return (
            "the command line has no options for the start, order, rate or margin of a perceptron"
        )
    if len(fit.held):
        return "the command line would hold out other points"
    if fit.state.lift:
        return "the command line has no option for these features"
    if given.get("steepness", 1.0) != 1.0:
        return "the command line has no option for the steepness"
    if given.get("reg_param"):
        return "the command line has no option for this regularisation; set it to 0"
    if len(np.unique(fit.state.codes)) > len(fit.classes) and not fit.regression:
        return "the file has points of other classes, which the command line would fit, too"
    if (fit.X.min(axis=0) == fit.X.max(axis=0)).any():
        return "the command line leaves out columns with one value only"
    if fit.regression and fit.y.min() == fit.y.max():
        return "all values are the same, so the command line has nothing to predict"
    return None


def _unlike_file(state: State) -> str | None:
    """The reason why a file cannot hold these points; None where it can."""
    flat = state.model == "regression"
    columns = [*state.names] if flat else [*state.names, _TARGET]
    if len({name.strip() for name in columns}) < len(columns) or not all(map(str.strip, columns)):
        return f"the columns of {_FILE} would not have different names"
    if flat:
        return None
    names = [state.classes[code].strip() for code in np.unique(state.codes).tolist()]
    for name in names:
        if name in DEFAULT_MISSING:
            return f"the class {name!r} would be read from {_FILE} as a missing value"
    if len({_value(name) for name in names}) < len(names):
        return f"two classes would have the same name in {_FILE}"
    return None


def _value(name: str) -> str | float:
    """A name as a table has it: numbers are equal however they are written."""
    try:
        return float(name)
    except ValueError:
        return name
