"""A line of one's own: its measures, beside those of the model's fit and the best possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.geometry.hyperplane import Hyperplane
from separatrix.losses import SquaredResidual
from separatrix.messages import counted
from separatrix.studio.errors import errors_of
from separatrix.studio.fitting import Fitted, objective_at, spread
from separatrix.studio.wording import below

# A share of the objective that nobody drags a line for.
_NEAR = 1e-3
_DIGITS = 4
# The plane by which scores are measured: the score is the only coordinate.
_OF_SCORES = Hyperplane(np.ones(1), 0.0)


@dataclass(frozen=True, eq=False)
class _Line:
    """A line in the place of a fitted model, so that its errors are counted as those are."""

    weights: np.ndarray
    intercept: float

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return Hyperplane(self.weights, self.intercept).decision(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        values: np.ndarray = X @ self.weights + self.intercept
        return values


def line_of(fit: Fitted, line: tuple[float, float, float] | None, view: Any) -> dict[str, Any]:
    """The measures of a line w1 x + w2 y + b = 0 for a page; without one, a line to begin with.

    Parameters
    ----------
    fit : Fitted
        The model that the line is compared with.
    line : tuple of float or None
        ``w1``, ``w2`` and ``b``.
    view : tuple of float
        The least and largest x, the least and largest y.
    """
    if line is None:
        return {"line": _begun(fit, view)}
    if fit.several:
        return {"sentence": "A line of your own is for points of two classes: erase the others."}
    if not fit.regression:
        return _between_classes(fit, np.array(line[:2]), line[2])
    if line[1] == 0.0:
        return {"sentence": "A vertical line has no y for a point: turn it."}
    return _to_y(fit, -line[0] / line[1], -line[2] / line[1])


def _begun(fit: Fitted, view: Any) -> list[float]:
    """A line through the middle of the view: flat for a regression, else upright."""
    low, high, bottom, top = view
    if fit.regression:
        return [0.0, -1.0, (bottom + top) / 2.0]
    w = 8.0 / (high - low)
    return [w, 0.0, -w * (low + high) / 2.0]


def _between_classes(fit: Fitted, w: np.ndarray, b: float) -> dict[str, Any]:
    plane, places, y = Hyperplane(w, b), fit.state.points[fit.rows], fit.y
    # A line uses none of the features that a model may have besides the coordinates.
    drawn = replace(fit, model=_Line(np.append(w, np.zeros(fit.X.shape[1] - 2)), b))
    own, its = plane.decision(places), fit.scores(places)
    margin = y * own
    wrong = drawn.missed(places, fit.state.codes[fit.rows])
    measures: dict[str, Callable[[np.ndarray], float]] = {
        "mistakes": lambda s: int(np.sum(np.where(y > 0, s < 0.0, s >= 0.0))),
        "mean hinge loss": lambda s: _OF_SCORES.objective(s[:, None], y, "hinge", lam=0.0),
        "mean log loss": lambda s: _OF_SCORES.objective(s[:, None], y, "log_loss", lam=0.0),
        "mean squared error": lambda s: _OF_SCORES.mse(s[:, None], y),
    }
    rows: list[list[Any]] = [[name, of(own), of(its)] for name, of in measures.items()]
    its_margin = None
    if fit.plane is not None and fit.plane[0].any():
        its_margin = Hyperplane(*fit.plane).geometric_margin(places, y)
    rows.append(["geometric margin", plane.geometric_margin(places, y), its_margin])
    objective = _objective(fit, drawn.model)
    if objective is not None:
        rows.insert(1, ["objective C(\u03b8, \u03b8\u2080)", *objective[:2]])
    soft = fit.state.model in ("linear_svm", "kernel_svm", "sgd")
    return {
        **_distance_to_best(objective, rows[0]),
        "rows": rows,
        "mistakes": int(wrong.sum()),
        "test": errors_of(drawn),
        "width": plane.gap_width if fit.state.model in ("linear_svm", "sgd") else None,
        "points": {
            "margin": spread(fit, margin),
            "slack": spread(fit, np.maximum(0.0, 1.0 - margin)) if soft else None,
            "mistake": spread(fit, wrong),
        },
    }


def _to_y(fit: Fitted, slope: float, intercept: float) -> dict[str, Any]:
    places = fit.state.points[fit.rows]
    residual = places[:, 1] - (slope * places[:, 0] + intercept)
    its = places[:, 1] - fit.model.predict(places[:, :1])
    measures: dict[str, Callable[[np.ndarray], float]] = {
        "mean squared error": lambda r: float(np.mean(r**2)),
        "mean absolute error": lambda r: float(np.mean(np.abs(r))),
        "largest residual": lambda r: float(np.max(np.abs(r))),
    }
    rows: list[list[Any]] = [[name, of(residual), of(its)] for name, of in measures.items()]
    error, least = rows[0][1:]
    straight = fit.options["degree"] == 1 and fit.options["lam"] == 0.0
    return {
        **_distance_to_best((error, least, least) if straight else None, rows[0]),
        "rows": rows,
        "test": errors_of(replace(fit, model=_Line(np.array([slope]), intercept))),
        "slope": slope,
        "intercept": intercept,
        "points": {
            "residual": spread(fit, residual),
            "mistake": spread(fit, np.zeros(len(residual), dtype=bool)),
        },
    }


def _objective(fit: Fitted, line: _Line) -> tuple[float, float, float] | None:
    """The model's objective at the line and at the fit, and its lower bound; None without one."""
    found, model, options = fit.model.certificate_, fit.state.model, fit.options
    w, b = line.weights, line.intercept
    if model in ("logistic", "linear_svm", "sgd"):
        return objective_at(fit)(w, b), found.primal, found.dual
    if model == "kernel_svm" and options["kernel"] == "linear":
        own = Hyperplane(w, b).objective(fit.X, fit.y, "hinge", C=options["C"])
        return own, found.primal, found.dual
    if model == "least_squares" and fit.weights is not None:
        own, its = (
            Hyperplane(*plane).objective(fit.X, fit.y, SquaredResidual(), lam=options["lam"])
            for plane in ((w, b), fit.weights)
        )
        return own, its, its
    return None


def _distance_to_best(
    objective: tuple[float, float, float] | None, first: list[Any]
) -> dict[str, Any]:
    """The distance of the line from the best possible, in a sentence and in short."""
    name, own, its = first
    if objective is None:
        value = counted(own, "mistake") if name == "mistakes" else _short(own)
        text = f"Your line makes {value}, and the model's {its}."
        if name != "mistakes":
            text = f"Your {name} is {value}, and that of the model's curve {_short(its)}."
        return {"sentence": text, "objective": own, "brief": value}
    own, _, bound = objective
    if not math.isfinite(own):
        text = "Your line leaves points on the wrong side, and a hard margin allows none there."
        return {"sentence": text, "objective": None, "brief": ""}
    name = "objective" if name == "mistakes" else name
    text = f"Your {name} is {_short(own)}"
    if not math.isfinite(bound):
        text = f"{text}; nothing is proved of the best possible."
        return {"sentence": text, "objective": own, "brief": _short(own)}
    gap = max(own - bound, 0.0)
    left = f"{_short(gap, 3)} to go"
    if gap <= _NEAR * abs(own):
        left = "nothing to go that anybody could see"
    text = f"{text}, the best possible is at least {_grouped(below(bound, _DIGITS))}: {left}."
    return {"sentence": text, "objective": own, "brief": f"{_short(own)}, {left}"}


def _short(value: float, digits: int = _DIGITS) -> str:
    return _grouped(f"{value:.{digits}g}")


def _grouped(number: str) -> str:
    """A number without an exponent, as long as it has fewer than seven digits."""
    return f"{float(number):,g}"
