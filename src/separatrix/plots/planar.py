"""Polygons and polylines of the plane: cuts by half-planes, intersections, and hulls of points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.path import Path

from separatrix.plots.zero_set import roots

# Left, right, bottom and top.
Extent = tuple[float, float, float, float]


def box(low: Any, high: Any) -> np.ndarray:
    """The corners of a rectangle, counterclockwise."""
    return np.array([(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])])


def span_of(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lowest and highest coordinates, and their differences, which are never zero."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = high - low
    return low, high, np.where(span > 0.0, span, span.max() or 1.0)


def framed(
    low: np.ndarray, high: np.ndarray, *, pad: float, alike: float, narrow: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The corners of a picture of points between two corners, and whether it is drawn to one scale.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
    pad : float
        The share of their range that is added on either side.
    alike : float
        Axes are drawn to one scale if no range is larger than another by more than this factor.
    narrow : float
        No axis drawn to one scale is shorter than this share of the longest, so that none is a
        strip.
    """
    middle, half = 0.5 * (low + high), (0.5 + pad) * (high - low)
    span = np.where(half > 0.0, half, half.max() or 0.5 + pad)
    if span.max() <= alike * span.min():
        half = np.maximum(half, narrow * span.max())
        return middle - half, middle + half, True
    return middle - span, middle + span, False


def along(line: np.ndarray, shares: Any, size: Any = 1.0) -> np.ndarray:
    """Points of a polyline at shares of its length, measured in units of ``size``."""
    steps = np.linalg.norm(np.diff(line, axis=0) / size, axis=1)
    reached = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.asarray(shares) * reached[-1]
    return np.stack([np.interp(at, reached, line[:, c]) for c in (0, 1)], axis=1)


def ellipse_of(covariance: np.ndarray, mass: float) -> tuple[np.ndarray, float]:
    """Half axes, the longer first, and the angle of the ellipse that holds a Gaussian's mass."""
    sizes, axes = np.linalg.eigh(covariance)
    # In two dimensions the squared distance is exponential.
    reach = math.sqrt(-2.0 * math.log1p(-mass))
    angle = math.atan2(axes[1, 1], axes[0, 1])
    return reach * np.sqrt(np.maximum(sizes[::-1], 0.0)), angle


def pixel_middles(extent: Extent, across: int, up: int) -> np.ndarray:
    """The middles of the pixels of an image, row by row from the bottom."""
    left, right, bottom, top = extent
    x = left + (np.arange(across) + 0.5) / across * (right - left)
    y = bottom + (np.arange(up) + 0.5) / up * (top - bottom)
    return np.stack([a.ravel() for a in np.meshgrid(x, y)], axis=1)


def half_plane(polygon: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    """The part of a convex polygon where ``w . x + b >= 0`` (Sutherland and Hodgman, 1974)."""
    out = []
    score = polygon @ w + b
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if score[i] >= 0.0:
            out.append(polygon[i])
        if min(score[i], score[j]) < 0.0 < max(score[i], score[j]):
            share = score[i] / (score[i] - score[j])
            out.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(out).reshape(-1, 2)


def half_plane_cells(
    coef: np.ndarray, intercept: np.ndarray, extent: Sequence[float]
) -> list[np.ndarray]:
    """The regions of linear scores, as convex polygons: where each of K scores is the largest.

    Class k's region is the part of the extent where none of ``(coef[k] - coef[j]) . x +
    intercept[k] - intercept[j]`` is negative: the box, cut by K - 1 lines one after the other.

    Parameters
    ----------
    coef : ndarray of shape (K, 2)
    intercept : ndarray of shape (K,)
    extent : (float, float, float, float)
        Left, right, bottom and top.

    Returns
    -------
    list of K ndarray of shape (k, 2)
        The polygons, without vertices for a class that wins nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.plots.planar import half_plane_cells
    >>> coef = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> half_plane_cells(coef, np.zeros(2), (-1, 1, -1, 1))[0].tolist()
    [[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]]
    """
    left, right, bottom, top = (float(v) for v in extent)
    low, high = np.array([left, bottom]), np.array([right, top])
    # About the middle of the extent, and in its units: no digits are lost far from zero.
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    out = []
    for k in range(len(coef)):
        cell = box((-1.0, -1.0), (1.0, 1.0))
        for j in range(len(coef)):
            if j == k or not len(cell):
                continue
            w = coef[k] - coef[j]
            height = float(w @ centre) + float(intercept[k] - intercept[j])
            if np.all(cell @ (w * half) + height == 0.0):
                # Equal everywhere: the first of the classes wins.
                cell = cell if k < j else cell[:0]
                continue
            cell = half_plane(cell, w * half, height)
            cell = cell if len(cell) > 2 else cell[:0]
        out.append(np.clip(centre + half * cell, low, high) if len(cell) else np.empty((0, 2)))
    return out


def intersection(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The intersection of two convex polygons, whose vertices are counterclockwise."""
    out = first
    for a, b in zip(second, np.roll(second, -1, axis=0), strict=True):
        if len(out):
            w = np.array([a[1] - b[1], b[0] - a[0]])
            out = half_plane(out, w, -float(w @ a))
    return out


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Vertices of the convex hull, counterclockwise; two where the points are on a line."""
    # Imported here, because it takes long, and most pictures do not need it.
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        order = np.lexsort((points[:, 1], points[:, 0]))
        return points[order[[0, -1]]]


def cone(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The cone of points within a box, counterclockwise; the box if no half-plane holds it."""
    whole = box(low, high)
    moved = points[np.any(points != 0.0, axis=1)]
    if not len(moved):
        return np.zeros((1, 2))
    angles = np.sort(np.arctan2(moved[:, 1], moved[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2.0 * math.pi))
    widest = int(np.argmax(gaps))
    if gaps[widest] < math.pi:
        return whole
    start = angles[(widest + 1) % len(angles)]
    end = start + 2.0 * math.pi - gaps[widest]
    for angle, sign in ((start, 1.0), (end, -1.0)):
        whole = half_plane(whole, sign * np.array([-math.sin(angle), math.cos(angle)]), 0.0)
    return whole


def compound(polygons: list[list[np.ndarray]]) -> Path:
    """Polygons with holes as one path."""
    rings = [ring for polygon in polygons for ring in polygon]
    if not rings:
        return Path(np.empty((0, 2)))
    closed = [
        ring if np.array_equal(ring[0], ring[-1]) else np.concatenate([ring, ring[:1]])
        for ring in rings
    ]
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in closed]
    return Path(np.concatenate(closed), list(itertools.chain.from_iterable(codes)))


def where_positive(
    line: np.ndarray, function: Callable[[np.ndarray], np.ndarray], pieces: int = 200
) -> list[np.ndarray]:
    """The parts of a polyline on which a function is not negative, cut where it is zero.

    Parameters
    ----------
    line : ndarray of shape (m, 2)
    function : callable
        A function from points of shape (k, 2) to values of shape (k,).
    pieces : int, default=200
        The least number of pieces into which the line is cut, in each of which the function changes
        its sign at most once.

    Returns
    -------
    list of ndarray of shape (k, 2)
    """
    # Between vertices far apart, as of a straight line, the sign may change twice.
    steps = np.linspace(0.0, 1.0, max(2, -(-pieces // max(len(line) - 1, 1)) + 1))[:-1]
    dense = np.concatenate(
        [(a + np.outer(steps, b - a)) for a, b in itertools.pairwise(line)] + [line[-1:]]
    )
    values = function(dense)
    keep = values >= 0.0
    if keep.all():
        return [line]
    cuts = np.flatnonzero(keep[1:] != keep[:-1])
    step = dense[cuts + 1] - dense[cuts]

    def value(t: np.ndarray, i: np.ndarray) -> np.ndarray:
        return function(dense[cuts[i]] + t[:, None] * step[i])

    t = roots(value, np.stack([values[cuts], values[cuts + 1]]), 1e-12, 60)
    at = dense[cuts] + t[:, None] * step
    edges = [0, *(cuts + 1).tolist(), len(dense)]
    parts = []
    for n, (start, stop) in enumerate(itertools.pairwise(edges)):
        if keep[start]:
            ends = at[n - 1 : n] if n else at[:0], at[n : n + 1]
            parts.append(np.concatenate([ends[0], dense[start:stop], ends[1]]))
    return parts
