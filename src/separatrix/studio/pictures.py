"""Pictures of a fitted model: its lines, its field, and its values at each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from contourpy import contour_generator

from separatrix.studio.fitting import Fitted
from separatrix.studio.multipliers import multipliers_of

__all__ = ["ellipses_of", "field_of", "lines_of", "numbers", "points_of", "width_of"]

# Of the grid that a curve is followed on, and of the field.
_FINE, _COARSE = 101, 48
# What counts as no multiplier, of the largest.
_NONE = 1e-9
# Of an edge of the grid, until the place on it is well below a pixel.
_HALVINGS = 6


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
    contours = []
    found = contour_generator(x, y, values)
    for level in levels:
        parts = [np.asarray(part).tolist() for part in found.lines(float(level))]
        kind = "boundary" if level == 0 else "margin"
        contours.append({"level": level, "kind": kind, "parts": parts})
    return contours


def lines_of(fit: Fitted) -> list[dict[str, Any]]:
    """The boundary, the lines at the margin, or the curve of a regression."""
    if fit.regression:
        low, high = fit.state.view[:2]
        x = np.linspace(low, high, _FINE)
        curve = np.stack([x, fit.model.predict(x[:, None])], axis=1)
        return [{"level": 0, "kind": "curve", "parts": [curve.tolist()]}]
    if fit.several:
        return _borders(fit)
    levels = [-1, 0, 1] if fit.state.model in ("linear_svm", "kernel_svm", "sgd") else [0]
    # A plane is what it is at four corners.
    size = 2 if fit.plane is not None else _FINE
    if fit.state.model == "least_squares":
        # Its targets.
        levels = [-1, 0, 1]
    x, y, grid = _grid(fit, size)
    values = fit.scores(grid).reshape(size, size)
    return _level_sets(x, y, values, levels)


def _borders(fit: Fitted) -> list[dict[str, Any]]:
    """Where the two best of several classes are equally good."""
    x, y, grid = _grid(fit, _FINE)
    scores = fit.scores(grid).reshape(_FINE, _FINE, -1)
    parts = []
    # Every border is one of all classes but the last.
    for k in range(len(fit.classes) - 1):
        for part in contour_generator(x, y, _ahead(scores, k)).lines(0.0):
            # The votes of pairs jump, and where three classes meet is a kink: what is between two
            # corners of the grid is not told by the values there.
            parts.append(_sharpened(fit, k, np.asarray(part), x, y).tolist())
    return [{"level": 0, "kind": "boundary", "parts": parts}]


def _ahead(scores: np.ndarray, k: int) -> np.ndarray:
    """How far a class is ahead of the best other one."""
    ahead: np.ndarray = scores[..., k] - np.delete(scores, k, axis=-1).max(axis=-1)
    return ahead


def _sharpened(fit: Fitted, k: int, line: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A line whose corners are on edges of a grid, with each where the class changes there."""
    corner = np.array([x[0], y[0]])
    step = np.array([x[1] - x[0], y[1] - y[0]])
    at = (line - corner) / step
    # Of a corner one coordinate is that of a line of the grid.
    along = np.abs(at - np.rint(at)) > 1e-9
    low, high = np.where(along, np.floor(at), at), np.where(along, np.ceil(at), at)
    own = _ahead(fit.scores(corner + step * low), k) > 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        same = (_ahead(fit.scores(corner + step * middle), k) > 0.0) == own
        low = np.where(same[:, None], middle, low)
        high = np.where(same[:, None], high, middle)
    return corner + step * (low + high) / 2.0


def field_of(fit: Fitted) -> dict[str, Any] | None:
    """Probabilities of the second class over the view, or scores; of several, the classes."""
    if fit.regression:
        return None
    _, _, grid = _grid(fit, _COARSE)
    if fit.several:
        classes = fit.predicted(grid).tolist()
        return {"columns": _COARSE, "rows": _COARSE, "values": classes, "kind": "class"}
    probable = fit.state.model in ("logistic", "lda", "qda")
    values = fit.model.predict_proba(grid)[:, 1] if probable else fit.scores(grid)
    kind = "probability" if probable else "score"
    return {"columns": _COARSE, "rows": _COARSE, "values": values.tolist(), "kind": kind}


def _spread(fit: Fitted, values: np.ndarray) -> list[Any]:
    """Spread values over all points of the state; None for those that were not fitted."""
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
    if fit.several:
        points = {**empty, "mistake": _spread(fit, fit.predicted(fit.X) != fit.y)}
        return {**points, **_multipliers(fit)} if fit.state.model == "kernel_svm" else points
    margin = fit.y * scores
    points = {
        **empty,
        "margin": _spread(fit, margin),
        **{name: _spread(fit, values) for name, values in multipliers_of(fit, margin).items()},
        # A point on the plane is predicted to be of the second class.
        "mistake": _spread(fit, np.where(fit.y > 0, scores < 0.0, scores >= 0.0)),
    }
    if fit.state.model in ("linear_svm", "kernel_svm", "sgd"):
        points["slack"] = _spread(fit, np.maximum(0.0, 1.0 - margin))
    return {**points, **_multipliers(fit)} if fit.state.model == "kernel_svm" else points


def _multipliers(fit: Fitted) -> dict[str, Any]:
    """Return the multiplier of each point, the largest of all pairs, and its kind of support."""
    alpha = np.zeros(len(fit.y))
    alpha[fit.model.support_] = np.abs(fit.model.dual_coef_).max(axis=0, initial=0.0)
    most = float(fit.state.parameters["C"])
    kinds = np.where(alpha >= most * (1.0 - 1e-6), "bound", "free")
    kinds[alpha <= _NONE * max(float(alpha.max(initial=0.0)), 1e-300)] = "none"
    return {"alpha": _spread(fit, alpha), "kind": _spread(fit, kinds)}


def width_of(fit: Fitted) -> float | None:
    """How wide the street between the margin lines is."""
    if fit.state.model != "linear_svm" or fit.plane is None or not fit.plane[0].any():
        return None
    return 2.0 / float(np.linalg.norm(fit.plane[0]))


def ellipses_of(fit: Fitted) -> list[dict[str, Any]]:
    """Where half and nine tenths of each Gaussian are."""
    if fit.state.model not in ("lda", "qda"):
        return []
    found = []
    for k, code in enumerate(fit.classes):
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
