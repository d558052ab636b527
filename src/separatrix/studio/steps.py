"""The recorded trace of a fit, a step at a time, and the formula with its numbers filled in."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.studio.fitting import Fitted

__all__ = ["steps_of"]

# More steps than anyone walks through.
_MOST = 2000


def steps_of(fit: Fitted) -> dict[str, Any] | None:
    """Frames from the start to the answer itself; None of a fit without iterates."""
    trace = getattr(fit.model, "trace_", None)
    if trace is None:
        return None
    return _updates(fit, trace) if fit.state.model == "perceptron" else _iterates(fit, trace)


def _signed(value: float) -> str:
    return f"{value:.3g}".replace("-", "\u2212")


def _vector(values: Any) -> str:
    return f"({', '.join(_signed(float(value)) for value in values)})"


def _updates(fit: Fitted, trace: Any) -> dict[str, Any]:
    made = trace.updates[:_MOST]
    *start, intercept = fit.state.parameters["start"]
    if not fit.options["fit_intercept"]:
        intercept = 0.0
    theta = [[*map(float, start), float(intercept)]]
    formula = [f"\u03b8 = {_vector(theta[0])}"]
    visit: list[int | None] = [None]
    rate = float(fit.options["learning_rate"])
    for one in made:
        before, after = [*one.coef_before, one.intercept_before], [*one.coef, one.intercept]
        sign = "+" if fit.y[one.sample] > 0 else "\u2212"
        point = [*fit.X[one.sample], 1.0 if fit.options["fit_intercept"] else 0.0]
        step = "" if rate == 1.0 else f"{rate:g} \u00b7 "
        theta.append([float(value) for value in after])
        formula.append(
            f"\u03b8 \u2190 \u03b8 + y x = {_vector(before)} {sign} {step}{_vector(point)} "
            f"= {_vector(after)}"
        )
        visit.append(int(fit.rows[one.sample]))
    final = fit.plane
    assert final is not None
    last = [*final[0].tolist(), final[1]]
    if not np.allclose(last, theta[-1], rtol=0.0, atol=0.0):
        theta.append(last)
        formula.append(f"The best of all that were seen: \u03b8 = {_vector(last)}")
        visit.append(None)
    count = len(theta)
    return {
        "count": count,
        "theta": theta,
        "objective": [None] * count,
        "bound": [None] * count,
        "visit": visit,
        "mistake": [row is not None for row in visit],
        "formula": formula,
        "label": "update",
    }


def _iterates(fit: Fitted, trace: Any) -> dict[str, Any] | None:
    count = min(len(trace.primal), _MOST)
    if not count:
        return None
    theta = None
    if fit.plane is not None and len(trace.coef) == len(trace.primal):
        theta = [
            [*np.ravel(coef).astype(float).tolist(), float(np.ravel(intercept)[0])]
            for coef, intercept in zip(trace.coef, trace.intercept, strict=True)
        ][:count]
        weights, intercept = fit.plane
        theta[-1] = [*weights.tolist(), intercept]
    formula = [
        f"objective {primal:.6g}, and no weights reach less than {dual:.6g}"
        for primal, dual in zip(trace.primal, trace.dual, strict=True)
    ][:count]
    return {
        "count": count,
        "theta": theta,
        "objective": [float(value) for value in trace.primal[:count]],
        "bound": [float(value) for value in trace.dual[:count]],
        "visit": None,
        "mistake": None,
        "formula": formula,
        "label": "epoch" if fit.state.model == "sgd" else "iterate",
    }
