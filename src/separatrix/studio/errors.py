"""Training error and test error of a fit, and of the fits at other values of a parameter."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.studio.fitting import Fitted, fitted
from separatrix.studio.state import PANELS, PARAMETERS, State, StateError

# A polynomial of a higher degree follows rounding.
_MOST_DEGREE = 10
# Values of a parameter for each power of ten, and across a linear range.
_PER_POWER, _ACROSS = 2, 11
# Seconds for all fits of a curve; values farthest from the model's own are left out.
_PATIENCE = 2.0
# The height of curves that is drawn, in units of the smallest test error: a polynomial of high
# degree can be millions of times as far from new points.
_TALL = 3.0


def error(fit: Fitted, places: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """The share of points on the wrong side, or the mean squared error, and how many there are."""
    if not len(places):
        return {"error": None, "mistakes": None, "points": 0}
    if fit.regression:
        residual = places[:, 1] - fit.model.predict(fit.design(places))
        return {"error": float(np.mean(residual**2)), "mistakes": None, "points": len(places)}
    wrong = fit.missed(places, codes)
    return {"error": float(wrong.mean()), "mistakes": int(wrong.sum()), "points": len(places)}


def errors_of(fit: Fitted) -> dict[str, Any] | None:
    """Both errors, and the drawing of the points to test on; None where there are none."""
    state = fit.state
    if not state.fresh and not state.hold_out:
        return None
    places, codes = fit.test_points()
    missed = np.zeros(len(places), dtype=bool) if fit.regression else fit.missed(places, codes)
    drawn = [[*place, code] for place, code in zip(places.tolist(), codes.tolist(), strict=True)]
    return {
        "kind": "mean squared error" if fit.regression else "error",
        "training": error(fit, state.points[fit.rows], state.codes[fit.rows]),
        "test": error(fit, places, codes),
        "rows": [] if state.fresh else fit.held,
        "points": drawn if state.fresh else [],
        "missed": missed,
    }


def _values(parameter: dict[str, Any], n: int) -> np.ndarray:
    """The values at which the errors are computed, the model's own among them or not."""
    low, high = parameter["low"], parameter["high"]
    if parameter["kind"] == "int":
        return np.arange(low, min(high, _MOST_DEGREE, max(n - 1, 1)) + 1)
    if parameter["kind"] == "log":
        return np.geomspace(low, high, round(_PER_POWER * np.log10(high / low)) + 1)
    return np.linspace(low, high, _ACROSS)


class ErrorCurves:
    """Both errors over a parameter of a model, computed when no drag is going on.

    While a point is dragged the curves before it stay: a dozen fits take longer than a frame. While
    the parameter itself is moved nothing but the marks on the curves changes.
    """

    def __init__(self) -> None:
        self._key: Any = None
        self._curves: tuple[np.ndarray, np.ndarray] | None = None

    def panel(self, fit: Fitted, *, drags: bool) -> dict[str, Any] | None:
        """The picture of a state whose panel is a parameter; None for another panel."""
        name, state = fit.state.panel, fit.state
        own = (state.model, name)
        found = [one for one in PARAMETERS if (one["model"], one["name"]) == own and "low" in one]
        if not found or name not in [one["kind"] for one in PANELS[state.model]]:
            return None
        parameter = found[0]
        title = f"Error by {parameter['label']}"
        empty = {"kind": name, "title": title, "x": {"label": ""}, "y": {"label": ""}, "series": []}
        for other, values in parameter.get("when", {}).items():
            if state.parameters[other] not in values:
                allowed = " or ".join(values)
                note = f"Choose the {other} {allowed} to see this picture: without it, "
                return {**empty, "note": f"{note}{parameter['label']} changes nothing."}
        others = {key: one for key, one in state.parameters.items() if key != name}
        kind = (state.model, name, state.lift, state.hold_out, state.fresh, state.seed)
        rest = others, state.points.tobytes(), state.codes.tobytes(), state.source
        changed = self._key != (kind, rest)
        stale = drags and changed and self._key is not None and self._key[0] == kind
        if changed and not stale:
            self._key = kind, rest
            self._curves = self._computed(state, parameter, len(fit.rows))
        return {**self._drawn(fit, parameter, empty), "stale": stale}

    def _computed(
        self, state: State, parameter: dict[str, Any], n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        name, values = parameter["name"], _values(parameter, n)
        errors = np.full((len(values), 2), np.nan)
        now = values.searchsorted(state.parameters[name])
        start = time.perf_counter()
        for k in sorted(range(len(values)), key=lambda k: abs(k - now)):
            if time.perf_counter() - start > _PATIENCE:
                break
            value = int(values[k]) if parameter["kind"] == "int" else float(values[k])
            parameters = {**state.parameters, name: value}
            try:
                errors[k] = _both(fitted(replace(state, parameters=parameters)))
            except StateError:
                continue
        return values.astype(float), errors

    def _drawn(self, fit: Fitted, parameter: dict[str, Any], empty: dict[str, Any]) -> Any:
        assert self._curves is not None
        values, errors = self._curves
        now, own = float(fit.state.parameters[parameter["name"]]), _both(fit)
        tested = np.isfinite(own[1])
        series = [
            {"name": name, "kind": "line", "x": values, "y": errors[:, k]}
            for k, name in enumerate(["training", "test"][: 1 + tested])
        ]
        marks = own[: 1 + tested]
        series.append({"name": "now", "kind": "points", "x": [now] * len(marks), "y": marks})
        what = "mean squared error" if fit.regression else "share of points missed"
        y: dict[str, Any] = {"label": what}
        if fit.regression and tested:
            y["range"] = [0.0, max(1.1 * np.nanmax(errors[:, 0]), _TALL * np.nanmin(errors[:, 1]))]
        note = "Hold points out, or draw fresh ones, to see the test error beside it."
        if tested and np.isfinite(errors[:, 1]).any():
            best = values[int(np.nanargmin(errors[:, 1]))]
            note = f"The test error is smallest near {parameter['label']} = {best:.3g}."
        x = {"label": parameter["label"], "log": parameter["kind"] == "log"}
        return {**empty, "x": x, "y": y, "series": series, "note": note}


def _both(fit: Fitted) -> tuple[float, float]:
    """Training error and test error, NaN where there is nothing to test on."""
    training = error(fit, fit.state.points[fit.rows], fit.state.codes[fit.rows])["error"]
    test = error(fit, *fit.test_points())["error"]
    return float(training), float("nan" if test is None else test)
