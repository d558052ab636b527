"""Where classes meet in a picture: exactly, where that is a line or a conic, and what is shown."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from separatrix.data.labels import is_pipeline
from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.fitted import class_codes
from separatrix.plots.planar import Extent, half_plane_cells, where_positive
from separatrix.plots.view import View
from separatrix.plots.zero_set import Field, Function, curves_in, level_sets

Planes = tuple[np.ndarray, np.ndarray]


def points_of(view: View, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Points of the picture and their classes' positions; only those of the view's classes."""
    points = view.transform(X)
    lost = ~np.isfinite(points).all(axis=1)
    if lost.any():
        raise ValueError(
            f"Row {int(np.flatnonzero(lost)[0])} of X cannot be drawn, because it has missing "
            "(NaN) or infinite values; fill them in or drop the row."
        )
    if y is None:
        return points, None
    codes, chosen = class_codes(view.model, y, len(points)), view.chosen()
    if chosen is None:
        return points, codes
    own = np.isin(codes, chosen)
    return points[own], np.where(codes[own] == chosen[1], 1, 0)


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


def plot_plane(ax: Axes, plane: Hyperplane, low: Any, high: Any, **looks: Any) -> list[Line2D]:
    """The line of a hyperplane, where it is in the box; none where it is none."""
    return [
        line
        for ends in curves_in(plane, (low[0], high[0], low[1], high[1]))
        for line in ax.plot(*ends.T, **looks)
    ]


def level_lines(view: View, levels: Sequence[float], extent: Extent) -> list[list[np.ndarray]]:
    """Where the score of two classes has some values: exactly, for lines and conics.

    Parameters
    ----------
    view : View
    levels : sequence of float
    extent : (float, float, float, float)

    Returns
    -------
    list of list of ndarray of shape (k, 2)
        Polylines, by level.
    """
    planes, found = view.planes(), _discriminant(view)
    surface: Hyperplane | Quadric | None = None
    if planes is not None:
        surface = difference(planes)
    elif found is not None and len(view.classes) == 2:
        surface = view.restrict(found.boundary(view.classes[1], view.classes[0]))
    return level_sets(view.scores, levels, extent, surface)


def borders(planes: Planes, extent: Extent) -> list[np.ndarray]:
    """Segments on which two linear scores are equal and no third is larger."""
    coef, intercept = planes
    out = []
    for i, j in itertools.combinations(range(len(coef)), 2):
        for ends in curves_in(difference(planes, i, j), extent):
            # How far ahead of every third score the two are at either end.
            lead = ends @ (coef[i] - np.delete(coef, [i, j], axis=0)).T
            start, stop = lead + intercept[i] - np.delete(intercept, [i, j])
            crossed = (start < 0.0) != (stop < 0.0)
            at = start[crossed] / (start - stop)[crossed]
            late = start[crossed] < 0.0
            first, last = at[late].max(initial=0.0), at[~late].min(initial=1.0)
            if first < last and np.all(np.maximum(start, stop) > 0.0):
                out.append(ends[0] + np.outer([first, last], ends[1] - ends[0]))
    return out


def regions_of(
    scores: Function, planes: Planes | None, extent: Extent, **grid: Any
) -> tuple[list[list[list[np.ndarray]]], Field | None]:
    """The regions of classes, and the field that they were found on.

    Parameters
    ----------
    scores : callable
        Of points of shape (n, 2) to scores of shape (n,), positive for the second class, or (n, K).
    planes : pair of ndarray, optional
        The weights and intercepts of the scores, where these are linear: no field is needed then.
    extent : (float, float, float, float)
    **grid
        To :class:`Field`, where scores are not linear.

    Returns
    -------
    regions : list of K lists of lists of ndarray of shape (k, 2)
        Of every class its polygons, each an outline and its holes.
    field : Field or None
    """
    if planes is not None:
        return [[[cell]] if len(cell) else [] for cell in half_plane_cells(*planes, extent)], None
    several = scores(np.array([[extent[0], extent[2]]])).ndim == 2
    field = Field(scores, extent, halvings=3 if several else 2, **grid)
    if several:
        return [field.regions(k=k) for k in range(field.values.shape[2])], field
    return [field.regions(-np.inf, 0.0), field.regions(0.0, np.inf)], field


def lead_of(scores: Function, i: int, j: int) -> Function:
    """Return the lead of the better one of two scores over every other one."""

    def lead(points: np.ndarray) -> np.ndarray:
        found = scores(points)
        third = np.delete(found, [i, j], axis=1).max(axis=1, initial=-np.inf)
        return np.asarray(np.maximum(found[:, i], found[:, j]) - third)

    return lead


def conics(view: View, extent: Extent) -> list[np.ndarray] | None:
    """Exact boundaries of quadratic discriminants, each where no third class is larger."""
    found, out = _discriminant(view), []
    if found is None:
        return None
    for i, j in itertools.combinations(range(len(view.classes)), 2):
        surface = view.restrict(found.boundary(view.classes[i], view.classes[j]))
        for line in curves_in(surface, extent):
            several = len(view.classes) > 2
            out += where_positive(line, lead_of(view.scores, i, j)) if several else [line]
    return out


def _discriminant(view: View) -> Discriminant | None:
    """Return the discriminant of a model whose boundaries are conics in the picture."""
    if is_pipeline(view.model) or not hasattr(view.model, "means_"):
        return None
    try:
        found = Discriminant.from_model(view.model)
    except (TypeError, ValueError):
        return None
    return None if found.linear else found
