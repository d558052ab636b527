"""Axes and labelled points, as every display draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from separatrix.plots.style import class_colours, class_markers, paper, plain

__all__ = ["axes_row", "figure_of", "one_axes", "readable", "scatter_classes"]

# From here on points are drawn into one bitmap within a vector file, which stays small.
_MANY = 2_000


def figure_of(ax: Axes) -> Figure:
    """The figure that axes are in, also where they are in a part of it."""
    # The canvas is that of the whole; get_figure(root=True) came with matplotlib 3.10.
    return ax.figure.canvas.figure


def one_axes(ax: Axes | None, figsize: tuple[float, float] = (6.0, 4.5)) -> Axes:
    """``ax``, or new axes in a figure of their own."""
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax


def axes_row(
    axes: Any,
    n_panels: int,
    *,
    columns: int = 4,
    panel: tuple[float, float] = (3.4, 3.2),
    **kwargs: Any,
) -> np.ndarray:
    """``n_panels`` axes: those given, or a new figure with so many in rows of ``columns``.

    Parameters
    ----------
    axes : None, Axes, or array-like of Axes
    n_panels : int
    columns : int, default=4
        In a row at most.
    panel : (float, float)
        Inches of one panel.
    **kwargs
        To ``matplotlib.pyplot.subplots``, ``sharex`` say.

    Raises
    ------
    ValueError
        If the axes given are not ``n_panels``.
    """
    if axes is not None:
        given = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
        if len(given) != n_panels:
            raise ValueError(f"ax must be {n_panels} axes, one a panel; there are {len(given)}.")
        return given
    columns = min(columns, n_panels)
    rows = -(-n_panels // columns)
    size = (panel[0] * columns, panel[1] * rows)
    _, grid = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, **kwargs
    )
    for spare in grid.ravel()[n_panels:]:
        spare.remove()
    return np.asarray(grid.ravel()[:n_panels], dtype=object)


def scatter_classes(
    ax: Axes,
    points: np.ndarray,
    codes: np.ndarray,
    classes: Sequence[Any],
    *,
    size: float | None = None,
    alpha: float | None = None,
    zorder: float = 3.0,
    **kwargs: Any,
) -> list[PathCollection]:
    """Points in the colour and with the marker of their class, one collection a class.

    Parameters
    ----------
    ax : Axes
    points : ndarray of shape (n, 2)
    codes : ndarray of int, shape (n,)
        Positions in ``classes``.
    classes : sequence
        Labels; they become the legend's, by ``PathCollection.get_label``.
    size, alpha : float, optional
        By default smaller and fainter the more points there are.
    zorder : float, default=3
    **kwargs
        To ``Axes.scatter``.
    """
    n = len(points)
    if size is None:
        size = float(np.clip(36.0 * (200.0 / max(n, 1)) ** 0.5, 5.0, 36.0))
    if alpha is None:
        alpha = float(np.clip((2_000.0 / max(n, 1)) ** 0.5, 0.25, 0.95))
    style = {"linewidths": 0.5 if n <= _MANY else 0.0, "edgecolors": paper(), **kwargs}
    colours, markers = class_colours(len(classes)), class_markers(len(classes))
    return [
        ax.scatter(
            points[codes == k, 0],
            points[codes == k, 1],
            s=size,
            c=colours[k],
            marker=markers[k],
            alpha=alpha,
            label=plain(label),
            rasterized=n > _MANY,
            zorder=zorder,
            **style,
        )
        for k, label in enumerate(classes)
    ]


def readable(legend: Legend) -> Legend:
    """A legend whose points are seen, however small and faint those of the picture are."""
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([36.0])
            handle.set_alpha(1.0)
    return legend
