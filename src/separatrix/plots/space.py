"""Pictures in three dimensions: their axes, and points about a plane."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import (  # type: ignore[import-untyped]
    Line3DCollection,
    Poly3DCollection,
)

from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.points import marker_size, scatter_classes
from separatrix.plots.style import ink, muted

# The most letters in a line of a label.
_LETTERS = 20


def axes_in_space(ax: Any, labels: Sequence[str]) -> Any:
    """``ax``, or new axes in a figure of their own, of three dimensions, with labels.

    Raises
    ------
    ValueError
        If ``ax`` has two dimensions.
    """
    if ax is None:
        kind = {"projection": "3d"}
        _, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained", subplot_kw=kind)
    elif not hasattr(ax, "plot_surface"):
        raise ValueError('Three dimensions need axes made with projection="3d".')
    # A sheet would hide the points below it.
    ax.computed_zorder = False
    # The layout makes no room for labels in three dimensions.
    ax.set_box_aspect(None, zoom=0.9)
    ax.view_init(elev=24.0, azim=-62.0)
    for axis, label in zip((ax.xaxis, ax.yaxis, ax.zaxis), labels, strict=True):
        lines = textwrap.wrap(label, _LETTERS)
        axis.set_label_text("\n".join(lines))
        axis.labelpad = 4.0 + 8.0 * (len(lines) - 1)
        axis.set_major_locator(MaxNLocator(5))
        axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
        axis.line.set_color(muted())
    ax.tick_params(labelsize="small")
    return ax


def eye_of(elevation: float, azimuth: float) -> np.ndarray:
    """The direction to the eye, of length one, in units of the box."""
    e, a = math.radians(elevation), math.radians(azimuth)
    return np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])


def draw_plane(ax: Any, plane: Hyperplane, low: np.ndarray, high: np.ndarray) -> Any:
    """The part of a plane within a box, as a sheet that one sees through."""
    outline = plane.clip(low, high)
    face, edge = to_rgba(ink(), 0.14), to_rgba(ink(), 0.75)
    looks = {"facecolors": face, "edgecolors": edge, "linewidths": 1.0, "zorder": 4}
    drawn = Poly3DCollection([outline] if len(outline) > 2 else [], **looks)
    ax.add_collection3d(drawn)
    return drawn


def draw_stems(ax: Any, stems: np.ndarray, **looks: Any) -> Any:
    """Segments, an array of shape (m, 2, 3)."""
    drawn = Line3DCollection(
        stems, **{"colors": muted(), "linewidths": 0.9, "zorder": 4.5, **looks}
    )
    ax.add_collection3d(drawn)
    return drawn


def scatter_about(
    ax: Any,
    plane: Hyperplane,
    points: np.ndarray,
    codes: np.ndarray,
    classes: Sequence[Any],
    size: np.ndarray,
) -> list[Any]:
    """The points behind a plane, and then those in front of it: a collection a class for either.

    ``size`` is that of the box that is shown.
    """
    toward = eye_of(ax.elev, ax.azim) * size
    front = (points @ plane.w + plane.b) * float(plane.w @ toward) >= 0.0
    looks = {"s": 0.7 * marker_size(len(points)), "depthshade": False, "linewidths": 0.3}
    drawn = []
    for near, zorder in ((False, 3), (True, 5)):
        own = front == near
        drawn += scatter_classes(ax, points[own], codes[own], classes, zorder=zorder, **looks)
    return drawn
