"""The recorded trace of a fit, a step at a time, and the formula with its numbers filled in."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.studio.fitting import Fitted
from separatrix.studio.pictures import picture_of

# The most steps: more than anyone walks through.
_MOST = 1000


def steps_of(fit: Fitted) -> dict[str, Any] | None:
    """The frames from the start to the answer itself; None for a fit without iterates."""
    trace = getattr(fit.model, "trace_", None)
    # With several classes in pairs, each pair has its own trace.
    if trace is None or isinstance(trace, tuple):
        return None
    return _updates(fit, trace) if fit.state.model == "perceptron" else _iterates(fit, trace)


def _signed(value: float) -> str:
    return f"{value:.3g}".replace("-", "\u2212")


def _vector(values: Any) -> str:
    return f"({', '.join(_signed(float(value)) for value in values)})"


def _visits(trace: Any) -> list[tuple[int, int]]:
    """Every row that was visited, and the update that it caused (from 1; 0 for none).

    The updates alone where there are too many visits for anyone to walk through.
    """
    if sum(len(stretch.samples) for stretch in trace.stretches) > _MOST:
        return [(one.sample, k) for k, one in enumerate(trace.updates[:_MOST], start=1)]
    found: list[tuple[int, int]] = []
    made = 0
    for stretch in trace.stretches:
        *others, last = stretch.samples.tolist()
        made += stretch.corrected
        found += [*((row, 0) for row in others), (last, made if stretch.corrected else 0)]
    return found


def _updates(fit: Fitted, trace: Any) -> dict[str, Any]:
    updates = trace.updates[:_MOST]
    *start, intercept = fit.state.parameters["start"]
    lifted = 1.0 if fit.options["fit_intercept"] else 0.0
    features = [0.0] * (fit.X.shape[1] - 2)
    theta = [[*map(float, start), *features, float(intercept) * lifted]]
    formula = [f"\u03b8 = {_vector(theta[0])}"]
    visit: list[int | None] = [None]
    mistake = [False]
    rate, margin = float(fit.options["learning_rate"]), float(fit.options["margin"])
    step = "" if rate == 1.0 else f"{rate:g} \u00b7 "
    visits = _visits(trace)
    # A point is visited in every pass, and a drag writes all of this anew.
    points = {row: [*fit.X[row].tolist(), lifted] for row, _ in visits}
    written = {row: _vector(point) for row, point in points.items()}
    current, least = _vector(theta[0]), _signed(margin)
    for row, k in visits:
        before, point = theta[-1], points[row]
        if k:
            one = updates[k - 1]
            after = [*map(float, one.coef), float(one.intercept)]
            sign = "+" if fit.y[row] > 0 else "\u2212"
            earlier, current = current, _vector(after)
            formula.append(
                f"\u03b8 \u2190 \u03b8 + y x = {earlier} {sign} {step}{written[row]} = {current}"
            )
        else:
            after = before
            z = float(fit.y[row]) * float(np.dot(point, before))
            formula.append(
                f"y \u03b8\u00b7x = {_signed(z)} > {least}: "
                f"point {fit.rows[row] + 1} is on its side, so \u03b8 stays"
            )
        theta.append(after)
        visit.append(int(fit.rows[row]))
        mistake.append(bool(k))
    final = fit.weights
    assert final is not None
    last = [*final[0].tolist(), final[1]]
    if not np.allclose(last, theta[-1], rtol=0.0, atol=0.0):
        theta.append(last)
        formula.append(f"The best weights of the run are \u03b8 = {_vector(last)}")
        visit.append(None)
        mistake.append(False)
    nothing = [None] * len(theta)
    return {"count": len(theta), "theta": theta, "objective": nothing, "bound": nothing,
            "visit": visit, "mistake": mistake, "formula": formula,
            "label": "update" if len(visits) == len(updates) else "visit"}  # fmt: skip


def _iterates(fit: Fitted, trace: Any) -> dict[str, Any] | None:
    count = min(len(trace.primal), _MOST)
    if not count:
        return None
    theta = None
    if fit.weights is not None and len(trace.coef) == len(trace.primal):
        theta = [
            [*np.ravel(coef).astype(float).tolist(), float(np.ravel(intercept)[0])]
            for coef, intercept in zip(trace.coef, trace.intercept, strict=True)
        ][:count]
        weights, intercept = fit.weights
        theta[-1] = [*weights.tolist(), intercept]
    # The last frame is the answer, which may be another than the last iterate: the best, or a mean.
    certificate = fit.model.certificate_
    objective = [*map(float, trace.primal[: count - 1]), float(certificate.primal)]
    bound = [*map(float, trace.dual[: count - 1]), float(certificate.dual)]
    other = objective[-1] < float(trace.primal[-1]) * (1.0 - 1e-6)
    formula = []
    for step, (primal, dual) in enumerate(zip(objective, bound, strict=True)):
        if theta is not None:
            where = f"\u03b8 = {_vector(theta[step])}"
        elif fit.several:
            where = f"iterate {step}"
        else:
            where = f"{trace.n_support[step]} support vectors, {trace.n_bounded[step]} at C"
        if other and step == count - 1:
            where = f"The best of the run: {where}"
        gap = float(f"{primal - dual:.2g}")
        formula.append(f"{where}: objective {primal:.5g} \u2212 bound {dual:.5g} = gap {gap:g}")
    return {"count": count, "theta": theta, "objective": objective, "bound": bound,
            "visit": None, "mistake": None, "formula": formula,
            "label": "epoch" if fit.state.model == "sgd" else "iterate"}  # fmt: skip


def frame_of(fit: Fitted, steps: dict[str, Any], step: int) -> dict[str, Any]:
    """The picture at a step: the estimator's own answers with the weights of that step.

    Parameters
    ----------
    fit : Fitted
    steps : dict
        A result of :func:`steps_of`.
    step : int
        The number of the step, from 0 to ``count - 1``.
    """
    model = copy.copy(fit.model)
    if fit.several:
        trace = fit.model.trace_
        model.coef_, model.intercept_ = trace.coef[step], trace.intercept[step]
    elif steps["theta"] is None:
        coef = fit.model.trace_.coef[step]
        rows = np.flatnonzero(coef)
        model.support_, model.support_vectors_ = rows, fit.X[rows]
        model.n_support_ = np.array([np.sum(fit.y[rows] == sign) for sign in (-1, 1)])
        model.dual_coef_ = coef[rows][None]
        if hasattr(model, "coef_"):
            # The linear kernel's scores are those of its plane.
            model.coef_ = (coef @ fit.X)[None]
        model.intercept_ = np.atleast_1d(fit.model.trace_.intercept[step])
    else:
        *weights, intercept = steps["theta"][step]
        model.coef_, model.intercept_ = np.array([weights]), np.array([intercept])
    then = replace(fit, model=model)
    picture = picture_of(then)
    if fit.state.model == "linear_svm":
        # Multipliers follow from a plane that is optimal.
        picture["points"] |= {"alpha": None, "kind": None}
    return picture
