"""What is drawn of a fitted model: its lines, its field, and what it says of each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from contourpy import contour_generator

from separatrix.studio.fitting import Fitted
from separatrix.studio.multipliers import multipliers_of

__all__ = ["ellipses_of", "field_of", "lines_of", "numbers", "points_of"]

# Of the grid that a curve is followed on, and of the field.
_FINE, _COARSE = 101, 48
# What counts as no multiplier, of the largest.
_NONE = 1e-9


def numbers(values: Any) -> Any:
    """Arrays as lists that JSON can hold: what is no number is None."""
    if isinstance(values, dict):
        return {key: numbers(value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [numbers(value) for value in values]
    if isinstance(values, np.ndarray):
        return numbers(values.tolist())
    if isinstance(values, np.generic):
        return numbers(values.item())
    if isinstance(values, float) and not math.isfinite(values):
        return None
    return values


def _grid(fit: Fitted, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high, bottom, top = fit.state.view
    x, y = np.linspace(low, high, size), np.linspace(bottom, top, size)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _level_sets(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, levels: list[int]
) -> list[dict[str, Any]]:
    made = []
    found = contour_generator(x, y, values)
    for level in levels:
        parts = [np.asarray(part).tolist() for part in found.lines(float(level))]
        kind = "boundary" if level == 0 else "margin"
        made.append({"level": level, "kind": kind, "parts": parts})
    return made


def lines_of(fit: Fitted) -> list[dict[str, Any]]:
    """The boundary, the lines at the margin, or the curve of a regression."""
    if fit.regression:
        low, high = fit.state.view[:2]
        x = np.linspace(low, high, _FINE)
        curve = np.stack([x, fit.model.predict(x[:, None])], axis=1)
        return [{"level": 0, "kind": "curve", "parts": [curve.tolist()]}]
    levels = [-1, 0, 1] if fit.state.model in ("linear_svm", "kernel_svm", "sgd") else [0]
    # A plane is what it is at four corners.
    size = 2 if fit.plane is not None else _FINE
    if fit.state.model == "least_squares":
        # Its targets.
        levels = [-1, 0, 1]
    x, y, grid = _grid(fit, size)
    values = fit.scores(grid).reshape(size, size)
    return _level_sets(x, y, values, levels)


def field_of(fit: Fitted) -> dict[str, Any] | None:
    """Probabilities of the second class over the view, or scores."""
    if fit.regression:
        return None
    _, _, grid = _grid(fit, _COARSE)
    probable = fit.state.model in ("logistic", "lda", "qda")
    values = fit.model.predict_proba(grid)[:, 1] if probable else fit.scores(grid)
    kind = "probability" if probable else "score"
    return {"columns": _COARSE, "rows": _COARSE, "values": values.tolist(), "kind": kind}


def _spread(fit: Fitted, values: np.ndarray) -> list[Any]:
    """Of all points of the state; None of those that were not fitted."""
    whole: list[Any] = [None] * len(fit.state.points)
    for row, value in zip(fit.rows.tolist(), values.tolist(), strict=True):
        whole[row] = value
    return whole


def points_of(fit: Fitted) -> dict[str, Any]:
    """Margin, slack, multiplier and mistake of each point."""
    empty = dict.fromkeys(("margin", "slack", "alpha", "kind", "mistake", "residual"))
    if fit.regression:
        residual = fit.y - fit.model.predict(fit.X)
        return {**empty, "residual": residual.tolist(), "mistake": [False] * len(fit.y)}
    scores = fit.scores(fit.X)
    margin = fit.y * scores
    made = {
        **empty,
        "margin": _spread(fit, margin),
        **{name: _spread(fit, values) for name, values in multipliers_of(fit, margin).items()},
        # A point on the plane is said to be of the second class.
        "mistake": _spread(fit, np.where(fit.y > 0, scores < 0.0, scores >= 0.0)),
    }
    if fit.state.model in ("linear_svm", "kernel_svm", "sgd"):
        made["slack"] = _spread(fit, np.maximum(0.0, 1.0 - margin))
    if fit.state.model == "kernel_svm":
        alpha = np.zeros(len(fit.y))
        alpha[fit.model.support_] = np.abs(np.ravel(fit.model.dual_coef_))
        most = float(fit.state.parameters["C"])
        kinds = np.where(alpha >= most * (1.0 - 1e-6), "bound", "free")
        kinds[alpha <= _NONE * max(float(alpha.max(initial=0.0)), 1e-300)] = "none"
        made |= {"alpha": _spread(fit, alpha), "kind": _spread(fit, kinds)}
    return made


def ellipses_of(fit: Fitted) -> list[dict[str, Any]]:
    """Where half and nine tenths of each Gaussian are."""
    if fit.state.model not in ("lda", "qda"):
        return []
    found = []
    for k, code in enumerate(fit.pair):
        covariance = np.asarray(fit.model.covariance_)
        own = covariance[k] if fit.state.model == "qda" else covariance
        sizes, axes = np.linalg.eigh(own)
        for share in (0.5, 0.9):
            # In two dimensions the squared distance is exponential.
            reach = math.sqrt(-2.0 * math.log(1.0 - share))
            half = reach * np.sqrt(np.maximum(sizes, 0.0))
            found.append(
                {
                    "class": code,
                    "center": np.asarray(fit.model.means_[k]).tolist(),
                    "axes": [float(half[1]), float(half[0])],
                    "angle": float(math.atan2(axes[1, 1], axes[0, 1])),
                }
            )
    return found
