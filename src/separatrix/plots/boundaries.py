"""Where classes meet in a picture: exactly, where that is a line or a conic, and what is shown."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.planar import Extent, where_positive
from separatrix.plots.view import View
from separatrix.plots.zero_set import Field

__all__ = ["borders", "conics", "difference", "extent_of", "level_lines", "line_in", "points_of"]

Planes = tuple[np.ndarray, np.ndarray]


def points_of(view: View, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Points of the picture and their classes' positions; only those of the view's classes."""
    points = view.transform(X)
    lost = ~np.isfinite(points).all(axis=1)
    if lost.any():
        raise ValueError(
            f"Row {int(np.flatnonzero(lost)[0])} of X has no place in the picture, since values "
            "are missing (NaN) or infinite; fill them in or drop the row."
        )
    if y is None:
        return points, None
    labels = np.asarray(y)
    if labels.shape != (len(points),):
        raise ValueError(
            f"y must have one label for each of the {len(points):,} rows of X; its shape is "
            f"{labels.shape}."
        )
    places = {label: i for i, label in enumerate(view.classes.tolist())}
    codes = np.array([places.get(label, -1) for label in labels.tolist()], dtype=int)
    unknown = set(labels[codes < 0].tolist()) - set(view.model.classes_.tolist())
    if unknown:
        raise ValueError(
            f"y holds {sorted(map(repr, unknown))[0]}, which is no label of the model; its labels "
            f"are {view.model.classes_.tolist()!r}."
        )
    return (points[codes >= 0], codes[codes >= 0]) if (codes < 0).any() else (points, codes)


def extent_of(points: np.ndarray, pad: float = 0.08, *, through_zero: bool = False) -> Extent:
    """What part of the plane points take, and a little more; ``through_zero`` shows x = 0 too."""
    if not len(points):
        raise ValueError("There are no points to show.")
    low, high = points.min(axis=0), points.max(axis=0)
    if through_zero:
        low[0], high[0] = min(low[0], 0.0), max(high[0], 0.0)
    size = high - low
    # Identical points: a window about them whose ends float64 can tell apart.
    least = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    other = np.where(size[::-1] > least[::-1], size[::-1], 1.0)
    size = np.where(size > least, size, np.maximum(other, 1e3 * least))
    middle = low + 0.5 * (high - low)
    half = (0.5 + pad) * size
    return (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])


def difference(planes: Planes, first: int = 1, second: int = 0) -> Hyperplane:
    """Where two of some linear scores are equal; on its positive side the ``first`` is larger."""
    coef, intercept = planes
    return Hyperplane(coef[first] - coef[second], float(intercept[first] - intercept[second]))


def line_in(plane: Hyperplane, level: float, extent: Extent) -> list[np.ndarray]:
    """Where the score of a hyperplane has a value: one segment, or none."""
    if not plane.w.any():
        return []
    lower, upper = [extent[0], extent[2]], [extent[1], extent[3]]
    ends = Hyperplane(plane.w, plane.b - level).clip(lower, upper)
    return [ends] if len(ends) == 2 else []


def level_lines(view: View, extent: Extent, level: float) -> list[np.ndarray]:
    """Where the score of two classes has a value: exactly, for lines and conics.

    Parameters
    ----------
    view : View
    extent : (float, float, float, float)
    level : float

    Returns
    -------
    list of ndarray of shape (k, 2)
    """
    planes, found = view.planes(), _discriminant(view)
    if planes is not None:
        return line_in(difference(planes), level, extent)
    if found is not None and len(view.classes) == 2:
        conic = view.restrict(found.boundary(view.classes[1], view.classes[0]))
        if isinstance(conic, Quadric):
            moved = Quadric(conic.A, conic.b, conic.c - level, conic.origin)
            return moved.clip([extent[0], extent[2]], [extent[1], extent[3]])
    return Field(view.scores, extent, levels=(level,)).lines(level)


def borders(planes: Planes, extent: Extent) -> list[np.ndarray]:
    """Segments on which two linear scores are equal and no third is larger."""
    n = len(planes[0])
    out = []
    for i, j in itertools.combinations(range(n), 2):
        for ends in line_in(difference(planes, i, j), 0.0, extent):
            first, last = 0.0, 1.0
            for k in set(range(n)) - {i, j}:
                plane = difference(planes, i, k)
                lead = ends @ plane.w + plane.b
                if lead.max() <= 0.0:
                    last = -1.0
                elif lead.min() < 0.0:
                    at = float(lead[0] / (lead[0] - lead[1]))
                    if lead[0] < 0.0:
                        first = max(first, at)
                    else:
                        last = min(last, at)
            if first < last:
                out.append(ends[0] + np.outer([first, last], ends[1] - ends[0]))
    return out


def conics(view: View, extent: Extent) -> list[np.ndarray] | None:
    """Exact boundaries of quadratic discriminants, each where no third class is larger."""
    found = _discriminant(view)
    if found is None:
        return None
    lower, upper = [extent[0], extent[2]], [extent[1], extent[3]]
    out: list[np.ndarray] = []
    for i, j in itertools.combinations(range(len(view.classes)), 2):

        def lead(points: np.ndarray, i: int = i, j: int = j) -> np.ndarray:
            scores = view.scores(points)
            others = np.delete(scores, [i, j], axis=1).max(axis=1)
            return np.asarray(np.maximum(scores[:, i], scores[:, j]) - others)

        conic = view.restrict(found.boundary(view.classes[i], view.classes[j]))
        if isinstance(conic, Quadric):
            lines = conic.clip(lower, upper)
        else:
            lines = line_in(conic, 0.0, extent)
        for line in lines:
            out += [line] if len(view.classes) == 2 else where_positive(line, lead)
    return out


def _discriminant(view: View) -> Discriminant | None:
    """Of a model whose boundaries are conics in the picture."""
    if hasattr(view.model, "steps") or not hasattr(view.model, "means_"):
        return None
    try:
        found = Discriminant.from_model(view.model)
    except (TypeError, ValueError):
        return None
    return None if found.linear else found
