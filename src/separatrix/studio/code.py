"""The program that makes what is on the page."""

from __future__ import annotations

from typing import Any

from separatrix.studio.fitting import Fitted

__all__ = ["python_of"]


def python_of(fit: Fitted) -> str:
    """Python that fits the same model to the same points."""
    name = type(fit.model).__name__
    plain = {key: value for key, value in fit.options.items() if key != "record"}
    certificate = getattr(fit.model, "certificate_", None)
    if getattr(certificate, "status", None) != "time_limit":
        plain.pop("time_limit", None)
    options = ", ".join(f"{key}={_literal(value)}" for key, value in plain.items())
    points = fit.X.tolist() if not fit.regression else fit.X[:, 0].tolist()
    lines = ["import numpy as np", f"from separatrix import {name}", ""]
    lines += [f"X = np.array({points})" + (".reshape(-1, 1)" if fit.regression else "")]
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
