"""The program, and the command, that make what is on the page."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from separatrix.studio.fitting import Fitted
from separatrix.studio.state import State
from separatrix.tables.table import DEFAULT_MISSING

__all__ = ["command_of", "python_of"]

# What the page calls the file of the points, and the column of their classes in it.
_FILE, _TARGET = "points.csv", "class"


def python_of(fit: Fitted) -> str:
    """Python that fits the same model to the same points."""
    name = type(fit.model).__name__
    plain = dict(fit.options)
    if fit.state.model != "kernel_svm":
        # What is recorded changes no digit, but of kernel machines, which stop to be looked at.
        plain.pop("record", None)
    certificate = getattr(fit.model, "certificate_", None)
    if getattr(certificate, "status", None) != "time_limit":
        plain.pop("time_limit", None)
    options = ", ".join(f"{key}={_literal(value)}" for key, value in plain.items())
    points = fit.X.tolist() if not fit.regression else fit.X[:, 0].tolist()
    lines = ["import numpy as np", f"from separatrix import {name}", ""]
    lines += [f"X = np.array({points})" + (".reshape(-1, 1)" if fit.regression else "")]
    if not fit.regression:
        said = fit.classes if fit.several else (-1, 1)
        names = [
            f"{code} is {fit.state.classes[one]!r}"
            for code, one in zip(said, fit.classes, strict=True)
        ]
        lines += [f"# {', '.join(names)}"]
    lines += [f"y = np.array({fit.y.tolist()})", ""]
    extra = ""
    if fit.state.model == "perceptron":
        *coef, intercept = fit.state.parameters["start"]
        intercept = intercept if fit.options["fit_intercept"] else 0.0
        extra = f", coef_init={coef}, intercept_init={intercept}"
    lines += [f"model = {name}({options})", f"model.fit(X, y{extra})"]
    lines += ["print(model.certificate_)"]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    return 'float("inf")' if value == float("inf") else repr(value)


def command_of(fit: Fitted) -> str:
    """The command that fits the same model to the points that the page saves as CSV.

    Where no command does, a comment that says why.
    """
    state = fit.state
    why = _unsaid(fit) or _unwritten(state)
    if why is not None:
        return f"# No command makes this fit: {why}."
    target = state.names[1] if fit.regression else _TARGET
    words = ["separatrix", "fit", _FILE, "--target", target, *_options(state)]
    return shlex.join([*words, "--test-size", "0", "-o", "model.separatrix"])


def _options(state: State) -> list[str]:
    if state.model == "regression":
        return ["--model", "poly", "--degree", str(state.parameters["degree"])]
    if state.model == "least_squares":
        return ["--model", "lstsq"]
    shrinkage = state.parameters.get("shrinkage", 0.0)
    return ["--model", state.model, "--shrinkage", repr(shrinkage) if shrinkage else "none"]


def _unsaid(fit: Fitted) -> str | None:
    """What the command line does otherwise than this fit."""
    model, given = fit.state.model, fit.state.parameters
    if model == "perceptron":
        return "the command line standardises columns, and has no start, order, rate or margin"
    if model == "sgd":
        return "the command line standardises columns, and takes the rows in another order"
    if model == "qda" and given["reg_param"] > 0.0:
        return "the command line has no regularisation of this kind; set it to 0"
    penalised = model in ("logistic", "linear_svm", "kernel_svm") or given.get("lam", 0.0) > 0.0
    if penalised:
        return "the command line standardises columns before it penalises weights"
    if (fit.X.min(axis=0) == fit.X.max(axis=0)).any():
        return "the command line leaves out columns with one value only"
    if fit.regression and fit.y.min() == fit.y.max():
        return "where all values are the same the command line has nothing to predict"
    return None


def _unwritten(state: State) -> str | None:
    """What a file of these points cannot say."""
    flat = state.model == "regression"
    columns = [*state.names] if flat else [*state.names, _TARGET]
    if len({name.strip() for name in columns}) < len(columns) or not all(map(str.strip, columns)):
        return f"the columns of {_FILE} would not have names of their own"
    if flat:
        return None
    names = [state.classes[code].strip() for code in np.unique(state.codes).tolist()]
    for name in names:
        if name in DEFAULT_MISSING:
            return f"in {_FILE} the class {name!r} would be a missing value"
    if len({_value(name) for name in names}) < len(names):
        return f"in {_FILE} two classes would be one"
    return None


def _value(name: str) -> str | float:
    """A name as a table has it: numbers are equal however they are written."""
    try:
        return float(name)
    except ValueError:
        return name
