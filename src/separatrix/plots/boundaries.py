"""The boundaries of classes in a picture, exact where they are lines or conics, and its extent."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from separatrix.data.labels import is_pipeline
from separatrix.geometry.discriminant import Discriminant
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.fitted import class_codes
from separatrix.plots.planar import Extent, half_plane_cells, where_positive
from separatrix.plots.view import View
from separatrix.plots.zero_set import Field, Function, Surface, curves_in, level_sets

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
    """The extent of points, a little enlarged; ``through_zero`` includes x = 0."""
    if not len(points):
        raise ValueError("There are no points to show.")
    low, high = points.min(axis=0), points.max(axis=0)
    if through_zero:
        low[0], high[0] = min(low[0], 0.0), max(high[0], 0.0)
    size = high - low
    # Identical points: a window about them whose ends are distinct in float64.
    least = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    other = np.where(size[::-1] > least[::-1], size[::-1], 1.0)
    size = np.where(size > least, size, np.maximum(other, 1e3 * least))
    middle = low + 0.5 * (high - low)
    half = (0.5 + pad) * size
    return (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])


def difference(planes: Planes, first: int = 1, second: int = 0) -> Hyperplane:
    """The line on which two linear scores are equal; ``first`` is larger on its positive side."""
    coef, intercept = planes
    return Hyperplane(coef[first] - coef[second], float(intercept[first] - intercept[second]))


def nearest_point(plane: Hyperplane, place: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The point of a hyperplane nearest to a place, each coordinate measured in units of its own.

    In a picture whose axes have different scales it is the nearest for the eye.
    """
    w = plane.w * size
    step = (float(plane.w @ place) + plane.b) / float(w @ w)
    return np.asarray(place - step * w * size)


def plot_plane(ax: Axes, plane: Hyperplane, low: Any, high: Any, **looks: Any) -> list[Line2D]:
    """Draw the part of a line within a box; the list is empty where there is none."""
    return [
        line
        for ends in curves_in(plane, (low[0], high[0], low[1], high[1]))
        for line in ax.plot(*ends.T, **looks)
    ]


def surfaces_of(view: View) -> dict[tuple[int, int], Surface] | None:
    """The exact surfaces between each two classes in the picture, positive for the second one.

    None where they are neither lines nor conics.
    """
    planes, found, labels = view.planes(), _discriminant(view), view.classes
    pairs = itertools.combinations(range(len(labels)), 2)
    if planes is not None:
        return {(i, j): difference(planes, j, i) for i, j in pairs}
    if found is None:
        return None
    return {(i, j): view.restrict(found.boundary(labels[j], labels[i])) for i, j in pairs}


def level_lines(view: View, levels: Sequence[float], extent: Extent) -> list[list[np.ndarray]]:
    """The level sets of the score of two classes: exact for lines and conics.

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
    surfaces = surfaces_of(view) if len(view.classes) == 2 else None
    return level_sets(view.scores, levels, extent, (surfaces or {}).get((0, 1)))


def borders(
    scores: Function,
    surfaces: Mapping[tuple[int, int], Surface],
    extent: Extent,
    *,
    hidden: bool = False,
) -> dict[tuple[int, int], list[np.ndarray]]:
    """The borders of pairs of classes: equal scores, and no third class with a larger one.

    Parameters
    ----------
    scores : callable
        A function from points of shape (n, 2) to scores of shape (n, K), or (n,) for two classes.
    surfaces : dict
        The surfaces on which the scores of two classes are equal, by the classes' positions.
    extent : (float, float, float, float)
    hidden : bool, default=False
        Whether to return the parts on which a third class has a larger score, instead.
    """
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for (i, j), surface in surfaces.items():

        def lead(points: np.ndarray, i: int = i, j: int = j) -> np.ndarray:
            values = scores(points)
            if values.ndim == 1:
                return np.full(len(points), -np.inf if hidden else np.inf)
            third = np.delete(values, [i, j], axis=1).max(axis=1, initial=-np.inf)
            ahead = np.maximum(values[:, i], values[:, j]) - third
            return -ahead if hidden else ahead

        curves = curves_in(surface, extent)
        found[i, j] = [part for curve in curves for part in where_positive(curve, lead)]
    return found


def regions_of(
    scores: Function, planes: Planes | None, extent: Extent, **grid: Any
) -> tuple[list[list[list[np.ndarray]]], Field | None]:
    """The regions of classes, and the field that they were found on.

    Parameters
    ----------
    scores : callable
        A function from points of shape (n, 2) to scores of shape (n,), positive for the second
        class, or (n, K).
    planes : pair of ndarray, optional
        The weights and intercepts of the scores, where these are linear: no field is needed then.
    extent : (float, float, float, float)
    **grid
        Passed to :class:`Field`, where scores are not linear.

    Returns
    -------
    regions : list of K lists of lists of ndarray of shape (k, 2)
        The polygons of every class, each an outline and its holes.
    field : Field or None
    """
    if planes is not None:
        return [[[cell]] if len(cell) else [] for cell in half_plane_cells(*planes, extent)], None
    several = scores(np.array([[extent[0], extent[2]]])).ndim == 2
    field = Field(scores, extent, halvings=3 if several else 2, **grid)
    if several:
        return [field.regions(k=k) for k in range(field.values.shape[2])], field
    return [field.regions(-np.inf, 0.0), field.regions(0.0, np.inf)], field


def _discriminant(view: View) -> Discriminant | None:
    """Return the discriminant of a model whose boundaries are conics in the picture."""
    if is_pipeline(view.model) or not hasattr(view.model, "means_"):
        return None
    try:
        found = Discriminant.from_model(view.model)
    except (TypeError, ValueError):
        return None
    return None if found.linear else found
