"""The second picture: loss over margin, objective and bound, weights, mistakes, the lift."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.geometry import perceptron_bound
from separatrix.geometry.separation.convergence import convergence
from separatrix.losses import loss_of
from separatrix.messages import counted
from separatrix.plots.objective_levels import objective_levels
from separatrix.schedules import schedule_of
from separatrix.studio.fitting import Fitted, objective_at
from separatrix.studio.space import lift_of
from separatrix.studio.state import PANELS

# A gap, as a share of the objective, that nobody sees between two curves.
_MET = 1e-3
_EMPTY: dict[str, Any] = {
    "title": "Nothing to draw",
    "x": {"label": ""},
    "y": {"label": ""},
    "series": [],
}
# Cells along a side of the grid on which the objective is evaluated.
_CELLS = 24
# The width of the picture over its height.
_WIDE = 1.65


def panel_of(fit: Fitted, steps: dict[str, Any] | None, points: dict[str, Any]) -> Any:
    """The panel that a state names; None where the model has none of its kind."""
    makers = {
        "loss": _loss,
        "objective": _objective,
        "weights": _weights,
        "mistakes": _mistakes,
        "theorem": _theorem,
        "rates": _rates,
        "lift": _lift,
    }
    maker = makers.get(fit.state.panel)
    if maker is None or fit.state.panel not in [one["kind"] for one in PANELS[fit.state.model]]:
        return None
    if fit.several and (fit.state.panel != "objective" or steps is None):
        pairs = fit.state.model == "kernel_svm"
        own = "each pair has its own machine" if pairs else "each class has its own weights"
        note = f"With more than two classes, {own}: keep points of two classes to see this picture."
        return {**_EMPTY, "kind": fit.state.panel, "note": note}
    return maker(fit, steps, points)


def _panel(kind: str, title: str, x: str, y: str, series: list[Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "title": title, "x": {"label": x}, "y": {"label": y}, "series": series,
            "note": "", **more}  # fmt: skip


def _series(kind: str, name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "x": x, "y": y, **more}


def _loss(fit: Fitted, steps: Any, points: dict[str, Any]) -> Any:
    name = fit.state.parameters.get("loss", "hinge")
    name = {"logistic": "log", "kernel_svm": "hinge"}.get(fit.state.model, name)
    if points["margin"] is None:
        return None
    loss = loss_of("hinge" if name == "hard margin" else name)
    margin = np.array([points["margin"][row] for row in fit.rows], dtype=float)
    reach = float(np.clip(np.abs(margin).max(initial=2.0), 2.0, 8.0))
    z = np.linspace(-reach, reach, 161)
    series = [_series("line", "loss", z, loss.value(z))]
    for code, sign in zip(fit.pair, (-1, 1), strict=True):
        own = fit.y == sign
        x, more = np.clip(margin[own], -reach, reach), {"class": code, "index": fit.rows[own]}
        series.append(_series("points", fit.state.classes[code], x, loss.value(x), **more))
    return _panel("loss", "The loss of each point", "margin z = y (w·x + b)", "loss", series)


def _objective(fit: Fitted, steps: Any, points: Any) -> Any:
    if steps is None or steps["objective"][-1] is None:
        return None
    x = np.arange(steps["count"], dtype=float)
    primal, dual = (np.array(steps[key], dtype=float) for key in ("objective", "bound"))
    dual[~np.isfinite(dual)] = np.nan
    series = [
        _series("area", "gap", x, dual, y2=primal),
        _series("line", "objective", x, primal),
        _series("line", "lower bound", x, dual),
    ]
    follow = [[float(k), float(value)] for k, value in enumerate(primal)]
    note = "The optimum is between the two curves"
    met = primal[-1] - dual[-1] <= _MET * abs(primal[-1])
    note += ", and they meet there." if met else ", which have not met yet."
    title = "Objective and lower bound"
    return _panel("objective", title, steps["label"], "value", series, follow=follow, note=note)


def _weights(fit: Fitted, steps: Any, points: Any) -> Any:
    if steps is None or steps["theta"] is None:
        return None
    theta = np.array(steps["theta"], dtype=float)
    series = [_series("line", "path", theta[:, 0], theta[:, 1])]
    contours: list[Any] = []
    ranges: tuple[dict[str, Any], ...] = ({}, {})
    note = ""
    if fit.state.model != "perceptron":
        extent, contours = _contours(fit, theta)
        features = " and the weights of the features" if fit.state.lift else ""
        note = f"Contours of the objective at the fitted intercept{features}" if contours else ""
        # What else is drawn would cut them off.
        ranges = {"range": extent[:2]}, {"range": extent[2:]}
    if contours and fit.model.certificate_.ok:
        w1, w2 = theta[-1, :2].tolist()
        series.append(_series("points", "minimum", [w1], [w2]))
        note += ", around the diamond at their minimum"
    more = {"follow": theta[:, :2].tolist(), "equal": True, "contours": contours}
    more["note"] = f"{note}." if note else ""
    panel = _panel("weights", "The path of the weights", "w\u2081", "w\u2082", series, **more)
    for axis, range_ in zip(("x", "y"), ranges, strict=True):
        panel[axis] |= range_
    return panel


def _contours(fit: Fitted, theta: np.ndarray) -> tuple[list[float], list[dict[str, Any]]]:
    """The extent of a picture around the answer, and the level sets of the objective in it."""
    measure = objective_at(fit)
    answer, rest, intercept = theta[-1:, :2], theta[-1, 2:-1], np.asarray(theta[-1, -1])
    reach = 1.15 * max(float(np.max(np.abs(theta[:, :2] - answer))), 1e-6)
    extent = [
        float(centre + side * wide * reach)
        for centre, wide in zip(answer[0], (_WIDE, 1.0), strict=True)
        for side in (-1.0, 1.0)
    ]

    def objective(points: np.ndarray) -> np.ndarray:
        thetas = (np.append(weights, rest) for weights in points)
        return np.nan_to_num([measure(theta, intercept) for theta in thetas], nan=np.inf)

    return extent, [
        {"level": level, "parts": [line.tolist() for line in lines]}
        for level, lines in objective_levels(objective, answer[0], extent, _CELLS)
    ]


def _bound_of(fit: Fitted) -> Any:
    """The bound of the convergence theorem for these points, this start, rate and margin."""
    *coef, intercept = fit.state.parameters["start"]
    coef += [0.0] * (fit.X.shape[1] - 2)
    lifted = bool(fit.options["fit_intercept"])
    return perceptron_bound(
        fit.X,
        fit.y,
        fit_intercept=lifted,
        coef_init=coef,
        intercept_init=intercept if lifted else None,
        learning_rate=fit.options["learning_rate"],
        margin=fit.options["margin"],
        # The run is known; only the bound is needed.
        max_passes=1,
    )


def _bound_sentence(bound: Any) -> str:
    if not bound.separable:
        return "No line separates these points, so nothing bounds the corrections."
    if not math.isfinite(bound.bound):
        return "The margin is too small for a bound in floating point."
    most = math.floor(bound.bound)
    return f"No order of visits makes more than {counted(most, 'correction')}."


def _mistakes(fit: Fitted, steps: Any, points: Any) -> Any:
    corrections = int(fit.model.mistakes_.sum())
    counts = np.zeros(len(fit.state.points), dtype=np.int64)
    counts[fit.rows] = fit.model.mistakes_
    series = [_series("bars", "mistakes", np.arange(1, len(counts) + 1, dtype=float), counts)]
    note = f"{counted(corrections, 'correction')} in all. {_bound_sentence(_bound_of(fit))}"
    return _panel("mistakes", "Mistakes by point", "point", "mistakes", series, note=note)


def _theorem(fit: Fitted, steps: Any, points: Any) -> Any:
    """k gamma <= theta.u <= |theta| <= sqrt(k) R for the run: the theorem's proof as a picture."""
    if steps is None:
        return None
    bound = _bound_of(fit)
    words = "theorem", "Why it stops", "corrections k", "length"
    if bound.margin is None or not bound.margin.lower > 0.0:
        return _panel(*words, [], note=_bound_sentence(bound))
    # The weights after each correction, and how many there were at each step.
    wrong = np.array(steps["mistake"], dtype=bool)
    theta = np.array(steps["theta"], dtype=float)[[0, *np.flatnonzero(wrong)]]
    weights = theta if fit.options["fit_intercept"] else theta[:, :-1]
    proof = convergence(bound, fit.X, fit.y, weights)
    k = np.arange(len(theta), dtype=float)
    lower, upper = proof.formulas
    series = [
        _series("line", upper, k, proof.upper(k)),
        _series("line", "\u2016\u03b8\u2016", k, proof.length),
        _series("line", "\u03b8\u00b7u", k, proof.projection),
        _series("line", lower, k, proof.lower(k)),
    ]
    follow = [[float(j), float(proof.length[j])] for j in np.cumsum(wrong).tolist()]
    note = (
        f"{lower} \u2264 \u03b8\u00b7u \u2264 \u2016\u03b8\u2016 \u2264 {upper}: a line "
        f"stays below a square root only for so long. {_bound_sentence(bound)}"
    )
    return _panel(*words, series, follow=follow, note=note)


def _rates(fit: Fitted, steps: Any, points: Any) -> Any:
    options = fit.options
    alpha, power = options["alpha"], fit.model.power_t
    schedule = schedule_of(options["learning_rate"], fit.model.eta0_, alpha=alpha, power_t=power)
    batches = math.ceil(len(fit.y) / options["batch_size"])
    last = max(2, batches * options["max_iter"])
    k = np.unique(np.geomspace(1, last, 80).round())
    series = [_series("line", "rate", k, schedule(k))]
    follow = None
    if steps is not None:
        follow = [
            None if step == 0 else [float(step * batches), float(schedule(step * batches))]
            for step in range(steps["count"])
        ]
    panel = _panel("rates", "Learning rates", "step k", "\u03b7", series, follow=follow or [])
    panel["x"]["log"] = panel["y"]["log"] = True
    formula = schedule.formula.replace("eta_k", "\u03b7")
    panel["note"] = f"{formula}: {schedule.condition}."
    return panel


def _lift(fit: Fitted, steps: Any, points: Any) -> Any:
    return _panel("lift", "", "", "", [], **lift_of(fit))
