"""Pictures of a fitted model: its lines, its field, and its values at each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.geometry.discriminant import Discriminant
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.planar import ellipse_of
from separatrix.plots.zero_set import Field, Surface, level_sets
from separatrix.studio.errors import errors_of
from separatrix.studio.fitting import Fitted, spread
from separatrix.studio.multipliers import multipliers_of

# Points of a curve and of the field, across; and steps until a place is well below a pixel.
_FINE, _COARSE, _STEPS = 101, 48, 6
# The types that JSON holds as they are.
_PLAIN = frozenset({str, int, bool, type(None)})
# A multiplier up to this share of the largest counts as none.
_NONE = 1e-9


def numbers(values: Any) -> Any:
    """Arrays as lists that JSON can hold, with None for what is not a finite number."""
    if isinstance(values, dict):
        return {key: numbers(value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        # Most of an answer are numbers and texts, for which a call each would take long.
        return [
            value
            if type(value) in _PLAIN or (type(value) is float and math.isfinite(value))
            else numbers(value)
            for value in values
        ]
    if isinstance(values, np.ndarray):
        return numbers(values.tolist())
    if isinstance(values, np.generic):
        return numbers(values.item())
    if isinstance(values, float) and not math.isfinite(values):
        return None
    return values


def lines_of(fit: Fitted) -> list[dict[str, Any]]:
    """The boundary, the lines at the margin, or the curve of a regression."""
    if fit.regression:
        x = np.linspace(*fit.state.view[:2], _FINE)
        curve = np.stack([x, fit.model.predict(x[:, None])], axis=1)
        return [{"level": 0, "kind": "curve", "parts": [curve.tolist()]}]
    # For least squares the levels are its targets.
    beside = fit.state.model in ("linear_svm", "kernel_svm", "sgd", "least_squares")
    levels = [-1, 0, 1] if beside and not fit.several else [0]
    view = fit.state.view
    grid: dict[str, Any] = {"cells": _FINE - 1, "halvings": 0}
    if fit.several:
        # The votes of pairs jump, and where three classes meet is a kink: the scores at two corners
        # of the grid do not determine what is between them.
        found = [Field(fit.scores, view, steps=_STEPS, **grid).borders()]
    else:
        found = level_sets(fit.scores, levels, view, surface_of(fit), steps=0, **grid)
    return [
        {
            "level": level,
            "kind": "boundary" if level == 0 else "margin",
            "parts": [line.tolist() for line in lines],
        }
        for level, lines in zip(levels, found, strict=True)
    ]


def surface_of(fit: Fitted) -> Surface | None:
    """The line or the conic between two classes; None where the boundary is neither."""
    if fit.state.model == "qda":
        second, first = fit.model.classes_[::-1]
        return Discriminant.from_model(fit.model).boundary(second, first)
    return None if fit.plane is None else Hyperplane(*fit.plane)


def field_of(fit: Fitted) -> dict[str, Any] | None:
    """Probabilities or scores of the second class over the view; with several, the classes."""
    if fit.regression:
        return None
    low, high, bottom, top = fit.state.view
    axes = np.linspace(low, high, _COARSE), np.linspace(bottom, top, _COARSE)
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    if fit.several:
        classes = fit.predicted(grid).tolist()
        return {"columns": _COARSE, "rows": _COARSE, "values": classes, "kind": "class"}
    probable = fit.state.model in ("logistic", "lda", "qda")
    values = fit.model.predict_proba(fit.design(grid))[:, 1] if probable else fit.scores(grid)
    kind = "probability" if probable else "score"
    return {"columns": _COARSE, "rows": _COARSE, "values": values.tolist(), "kind": kind}


def picture_of(fit: Fitted) -> dict[str, Any]:
    """The picture that a page draws of a fit, and its counts."""
    plane, points = fit.plane, points_of(fit)
    return {
        "lines": lines_of(fit),
        "field": field_of(fit),
        "theta": None if plane is None else {"coef": plane[0], "intercept": plane[1]},
        "ellipses": ellipses_of(fit),
        "points": points,
        "mistakes": sum(map(bool, points["mistake"])),
        "width": width_of(fit),
        "test": errors_of(fit),
    }


def points_of(fit: Fitted) -> dict[str, Any]:
    """Margin, slack, multiplier and mistake of each point."""
    empty = dict.fromkeys(("margin", "slack", "alpha", "kind", "mistake", "residual"))
    if fit.regression:
        residual = fit.y - fit.model.predict(fit.X)
        none = np.zeros(len(fit.y), dtype=bool)
        return {**empty, "residual": spread(fit, residual), "mistake": spread(fit, none)}
    places = fit.state.points[fit.rows]
    missed = fit.missed(places, fit.state.codes[fit.rows])
    if fit.several:
        points = {**empty, "mistake": spread(fit, missed)}
        return {**points, **_multipliers(fit)} if fit.state.model == "kernel_svm" else points
    margin = fit.y * fit.scores(places)
    points = {
        **empty,
        "margin": spread(fit, margin),
        **{name: spread(fit, values) for name, values in multipliers_of(fit, margin).items()},
        "mistake": spread(fit, missed),
    }
    if fit.state.model in ("linear_svm", "kernel_svm", "sgd"):
        points["slack"] = spread(fit, np.maximum(0.0, 1.0 - margin))
    return {**points, **_multipliers(fit)} if fit.state.model == "kernel_svm" else points


def _multipliers(fit: Fitted) -> dict[str, Any]:
    """Return the multiplier of each point, the largest of all pairs, and its kind of support."""
    alpha = np.zeros(len(fit.y))
    alpha[fit.model.support_] = np.abs(fit.model.dual_coef_).max(axis=0, initial=0.0)
    most = float(fit.state.parameters["C"])
    kinds = np.where(alpha >= most * (1.0 - 1e-6), "bound", "free")
    kinds[alpha <= _NONE * max(float(alpha.max(initial=0.0)), 1e-300)] = "none"
    return {"alpha": spread(fit, alpha), "kind": spread(fit, kinds)}


def width_of(fit: Fitted) -> float | None:
    """The width of the street between the margin lines."""
    has_street = fit.state.model in ("linear_svm", "sgd")
    if not has_street or fit.plane is None or not fit.plane[0].any():
        return None
    return Hyperplane(*fit.plane).gap_width


def ellipses_of(fit: Fitted) -> list[dict[str, Any]]:
    """The ellipses that hold half and nine tenths of each Gaussian."""
    if fit.state.model not in ("lda", "qda") or fit.state.lift:
        return []
    found = []
    for k, code in enumerate(fit.classes):
        covariance = np.asarray(fit.model.covariance_)
        own = covariance[k] if fit.state.model == "qda" else covariance
        for share in (0.5, 0.9):
            half, angle = ellipse_of(own, share)
            place = {"class": code, "center": np.asarray(fit.model.means_[k]).tolist()}
            found.append({**place, "axes": half.tolist(), "angle": angle})
    return found
