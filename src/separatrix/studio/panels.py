"""The second picture: loss over margin, objective and bound, weights, mistakes, degrees."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix import PolynomialRegression
from separatrix.geometry import perceptron_bound
from separatrix.losses import Hinge, LogLoss, SquaredHinge
from separatrix.studio.fitting import Fitted

__all__ = ["panel_of"]

_LOSSES: dict[str, Any] = {
    "hinge": Hinge,
    "hard margin": Hinge,
    "squared_hinge": SquaredHinge,
    "log_loss": LogLoss,
}
_MOST_DEGREE = 10


def panel_of(fit: Fitted, steps: dict[str, Any] | None, points: dict[str, Any]) -> Any:
    """The panel that a state asks for; None where the model has none of its kind."""
    makers = {
        "loss": _loss,
        "objective": _objective,
        "weights": _weights,
        "mistakes": _mistakes,
        "degree": _degree,
    }
    maker = makers.get(fit.state.panel)
    return None if maker is None else maker(fit, steps, points)


def _panel(kind: str, title: str, x: str, y: str, series: list[Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "title": title, "x": {"label": x}, "y": {"label": y}, "series": series,
            "note": "", **more}  # fmt: skip


def _loss(fit: Fitted, steps: Any, points: dict[str, Any]) -> Any:
    name = fit.state.parameters.get("loss", "hinge")
    name = {"logistic": "log_loss", "kernel_svm": "hinge"}.get(fit.state.model, name)
    if points["margin"] is None or name not in _LOSSES:
        return None
    loss = _LOSSES[name]()
    margin = np.array([points["margin"][row] for row in fit.rows], dtype=float)
    reach = float(np.clip(np.abs(margin).max(initial=2.0), 2.0, 8.0))
    z = np.linspace(-reach, reach, 161)
    series: list[Any] = [{"name": "loss", "kind": "line", "x": z, "y": loss.value(z)}]
    for code, sign in zip(fit.pair, (-1, 1), strict=True):
        own = fit.y == sign
        series.append(
            {
                "name": fit.state.classes[code],
                "kind": "points",
                "class": code,
                "x": np.clip(margin[own], -reach, reach),
                "y": loss.value(np.clip(margin[own], -reach, reach)),
                "index": fit.rows[own],
            }
        )
    return _panel("loss", "What each point costs", "margin z = y (w·x + b)", "loss", series)


def _objective(fit: Fitted, steps: Any, points: Any) -> Any:
    if steps is None or steps["objective"][-1] is None:
        return None
    x = np.arange(steps["count"], dtype=float)
    primal, dual = (np.array(steps[key], dtype=float) for key in ("objective", "bound"))
    dual[~np.isfinite(dual)] = np.nan
    series = [
        {"name": "gap", "kind": "area", "x": x, "y": dual, "y2": primal},
        {"name": "objective", "kind": "line", "x": x, "y": primal},
        {"name": "lower bound", "kind": "line", "x": x, "y": dual},
    ]
    follow = [[float(k), float(value)] for k, value in enumerate(primal)]
    note = "The optimum is between the two curves, and they meet there."
    title = "Objective and lower bound"
    return _panel("objective", title, steps["label"], "value", series, follow=follow, note=note)


def _weights(fit: Fitted, steps: Any, points: Any) -> Any:
    if steps is None or steps["theta"] is None:
        return None
    theta = np.array(steps["theta"], dtype=float)
    series = [{"name": "path", "kind": "line", "x": theta[:, 0], "y": theta[:, 1]}]
    return _panel(
        "weights",
        "The way of the weights",
        "w\u2081",
        "w\u2082",
        series,
        follow=theta[:, :2].tolist(),
        equal=True,
    )


def _mistakes(fit: Fitted, steps: Any, points: Any) -> Any:
    visits = [row for row in (steps or {}).get("visit") or [] if row is not None]
    counts = np.bincount(np.array(visits, dtype=np.int64), minlength=len(fit.state.points))
    series = [
        {
            "name": "mistakes",
            "kind": "bars",
            "x": np.arange(1, len(counts) + 1, dtype=float),
            "y": counts,
        }
    ]
    bound = perceptron_bound(fit.X, fit.y)
    note = f"{len(visits):,} corrections in all: {bound}."
    return _panel("mistakes", "Mistakes by point", "point", "mistakes", series, note=note)


def _degree(fit: Fitted, steps: Any, points: Any) -> Any:
    degrees = np.arange(1, min(_MOST_DEGREE, max(len(fit.y) - 1, 1)) + 1)
    errors = []
    for degree in degrees.tolist():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PolynomialRegression(degree=degree, lam=fit.options["lam"])
            residual = fit.y - model.fit(fit.X, fit.y).predict(fit.X)
        errors.append(float(np.sqrt(np.mean(residual**2))))
    series = [{"name": "error", "kind": "line", "x": degrees.astype(float), "y": errors}]
    note = "On the points that were fitted a higher degree is never worse; on others it may be."
    return _panel("degree", "Error by degree", "degree", "root mean square", series, note=note)
