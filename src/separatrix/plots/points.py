"""Axes and labelled points, as every display draws them."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Polygon, Rectangle
from matplotlib.text import Annotation, Text

from separatrix.plots.planar import along, compound
from separatrix.plots.style import class_colours, class_looks, ink, muted, paper, plain

DisplayT = TypeVar("DisplayT")

# More points than this are drawn into one bitmap within a vector file, which stays small.
MANY = 2_000
# Points, lines and corners of boxes, in pixels.
Drawn = tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]
# The directions from a point to the middle of words beside it.
WAYS = np.array([*[(s, v) for v in (0, 0.5, -0.5, 1, -1) for s in (1, -1)], (0, 1), (0, -1)])
# More points than this would hide lines that are drawn below them.
SPARSE = 200


def figure_of(ax: Axes) -> Figure:
    """The figure that axes are in, also where they are in a part of it."""
    # The canvas is that of the whole; get_figure(root=True) came with matplotlib 3.10.
    return ax.figure.canvas.figure


def one_axes(ax: Any, figsize: tuple[float, float] = (6.0, 4.5)) -> Axes:
    """``ax``, or new axes in a figure of their own.

    Raises
    ------
    TypeError
        If ``ax`` is no axes.
    ValueError
        If there are several.
    """
    return axes_row(ax, 1, panel=figsize)[0]


def _given(axes: Any, n_panels: int) -> np.ndarray:
    given = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    for one in given:
        if not isinstance(one, Axes):
            raise TypeError(f"ax must hold Axes of matplotlib, not {type(one).__name__}.")
    if len(given) != n_panels:
        wanted = "one Axes" if n_panels == 1 else f"{n_panels} axes, one for each panel"
        raise ValueError(f"ax must be {wanted}; there are {len(given)}.")
    return given


def axes_row(
    axes: Any,
    n_panels: int,
    *,
    columns: int = 4,
    panel: tuple[float, float] = (3.4, 3.2),
    **kwargs: Any,
) -> np.ndarray:
    """``n_panels`` axes: those given, or those of a new figure in rows of ``columns``.

    Parameters
    ----------
    axes : None, Axes, or array-like of Axes
    n_panels : int
    columns : int, default=4
        The most panels in a row.
    panel : (float, float)
        The width and the height of one panel, in inches.
    **kwargs
        Passed to ``matplotlib.pyplot.subplots``, such as ``sharex``.

    Raises
    ------
    ValueError
        If the axes given are not ``n_panels``.
    TypeError
        If other objects than axes are given.
    """
    if axes is not None:
        return _given(axes, n_panels)
    columns = min(columns, n_panels)
    rows = -(-n_panels // columns)
    size = (panel[0] * columns, panel[1] * rows)
    _, grid = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, **kwargs
    )
    for spare in grid.ravel()[n_panels:]:
        spare.remove()
    return np.asarray(grid.ravel()[:n_panels], dtype=object)


def set_limits(ax: Axes, low: Any, high: Any, *, equal: bool = False) -> None:
    """Show a box; with one scale across and up where they are ``equal``."""
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if equal:
        ax.set_aspect("equal", adjustable="box")


def padded(low: Any, high: Any, share: float, least: float = 1.0) -> tuple[float, float]:
    """An interval with a share of its length added on either side, or ``least`` if it has none."""
    pad = share * (high - low) or least
    return float(low - pad), float(high + pad)


class Panels(list[DisplayT]):
    """Displays that were drawn together: ``len``, indexing and iteration go over them.

    Parameters
    ----------
    displays : sequence
    axes : sequence of Axes
        All axes that they are drawn in.

    Attributes
    ----------
    axes_ : ndarray of Axes
    figure_ : Figure
    """

    def __init__(self, displays: Sequence[DisplayT], axes: Any) -> None:
        super().__init__(displays)
        self.axes_ = np.asarray(axes, dtype=object)
        self.figure_ = figure_of(self.axes_[0])


def marker_size(n: int) -> float:
    """The area of a point among ``n``, in square points of print."""
    return float(np.clip(36.0 * (200.0 / max(n, 1)) ** 0.5, 5.0, 36.0))


def _crowd(count: int, most: float, n: int = 0) -> dict[str, Any]:
    """The looks of ``count`` points in a picture of ``n``."""
    return {
        "s": marker_size(count),
        "alpha": float(np.clip((1_500.0 / max(count, 1)) ** 0.5, 0.25, most)),
        "linewidths": 0.5 if count <= MANY else 0.0,
        "edgecolors": paper(),
        "rasterized": max(n, count) > MANY,
    }


def scatter_classes(
    ax: Any, points: np.ndarray, codes: np.ndarray, classes: Sequence[Any], **kwargs: Any
) -> list[Any]:
    """Points in the colour and with the marker of their class, one collection a class.

    Smaller and fainter the more there are, by default.  A rare class lies on top of the others, and
    its points are as large as if all classes were as rare: they would be lost otherwise.

    Parameters
    ----------
    ax : Axes
    points : ndarray of shape (n, 2), or (n, 3) in three dimensions
    codes : ndarray of int, shape (n,)
        The classes of the points, as positions in ``classes``.
    classes : sequence
        Labels; they become the legend's, by ``PathCollection.get_label``.
    **kwargs
        Passed to ``Axes.scatter``.
    """
    n = len(points)

    def style(k: int) -> dict[str, Any]:
        alike = len(classes) * int(np.count_nonzero(codes == k))
        rare = 2 * alike < n
        return _crowd(alike if rare else n, 0.95, n) | {"zorder": 3.1 if rare else 3.0}

    looks = [{**style(k), **look, **kwargs} for k, look in enumerate(class_looks(len(classes)))]
    return [
        ax.scatter(*points[codes == k].T, label=plain(label), **looks[k])
        for k, label in enumerate(classes)
    ]


def scatter_one(ax: Axes, points: np.ndarray, n: int | None = None, **kwargs: Any) -> Any:
    """Points of no class; smaller and fainter the more there are.

    Parameters
    ----------
    ax : Axes
    points : ndarray of shape (m, 2)
    n : int, optional
        The number of points in all, if these are a part of them.
    **kwargs
        Passed to ``Axes.scatter``.
    """
    n = len(points) if n is None else n
    style = _crowd(n, 1.0) | {"color": class_colours(2)[0], "zorder": 3}
    style["s"] = 0.7 * style["s"]
    if "facecolors" in kwargs:
        del style["color"]
    return ax.scatter(points[:, 0], points[:, 1], **{**style, **kwargs})


def ring_points(ax: Axes, points: np.ndarray, n: int, **kwargs: Any) -> PathCollection:
    """Rings just outside the markers of some of ``n`` points, finer the more rings there are."""
    # Many rings would be one black band.
    few = min(1.0, (60.0 / max(len(points), 1)) ** 0.5)
    return ax.scatter(
        points[:, 0],
        points[:, 1],
        s=1.6 * marker_size(n) + 10.0,
        facecolors="none",
        edgecolors=to_rgba(ink(), max(few, 0.3)),
        linewidths=max(1.1 * few, 0.3),
        rasterized=len(points) > MANY,
        **{"zorder": 4.0, **kwargs},
    )


def draw_lines(ax: Axes, lines: Iterable[Any], width: float, **looks: Any) -> LineCollection:
    """Polylines as one collection, which leaves the limits as they are."""
    drawn = LineCollection(list(lines), linewidths=width, **{"colors": ink(), **looks})
    ax.add_collection(drawn, autolim=False)
    return drawn


def fill(ax: Axes, outline: np.ndarray, **looks: Any) -> Polygon | None:
    """A polygon without an outline; None where there is nothing to fill."""
    if len(outline) < 3:
        return None
    polygon = Polygon(outline, **{"edgecolor": "none", "linewidth": 0.0, **looks})
    ax.add_patch(polygon)
    return polygon


def fill_regions(
    ax: Axes, regions: Sequence[list[list[np.ndarray]]], colours: Sequence[str], **looks: Any
) -> list[PathPatch]:
    """The polygons of each class, which may have holes, in its colour; a patch a class."""
    patches = [
        PathPatch(compound(polygons), facecolor=colour, linewidth=0.0, **looks)
        for polygons, colour in zip(regions, colours, strict=True)
    ]
    for patch in patches:
        ax.add_patch(patch)
    return patches


def draw_arrow(ax: Axes, start: Any, end: Any, *, zorder: float = 3.0, **looks: Any) -> Annotation:
    """An arrow from one point to another, whose ends are exactly there.

    Parameters
    ----------
    ax : Axes
    start, end : pair of float
    zorder : float, default=3
    **looks
        Passed to the patch of the arrow.
    """
    plain_arrow = {"arrowstyle": "-|>", "color": ink(), "shrinkA": 0, "shrinkB": 0}
    return ax.annotate(
        "", end, start, arrowprops={**plain_arrow, **looks}, annotation_clip=False, zorder=zorder
    )


def write_beside(
    ax: Axes, text: str, at: Any, offset: tuple[float, float], **looks: Any
) -> Annotation:
    """Small words beside a point, offset to the right and upwards, in points of print."""
    given = {"fontsize": "small", "color": ink(), **looks}
    return ax.annotate(text, at, xytext=offset, textcoords="offset points", **given)


def place_text(
    ax: Axes,
    text: str,
    anchors: Any,
    *,
    ways: Any = WAYS,
    gap: float = 3.0,
    most: float = math.inf,
    seen: Drawn | None = None,
    **looks: Any,
) -> Annotation | None:
    """Small words beside one of some points, within the axes, where they cover least.

    Points that are covered count, and lines and other words more than these.

    Parameters
    ----------
    ax : Axes
        Axes whose limits are set; their layout is taken as it is at the time.
    text : str
    anchors : array-like of shape (k, 2)
        Points in units of the data, or of ``xycoords="axes fraction"``; among equals the first is
        taken.
    ways : array-like of shape (m, 2), optional
        Directions from a point to the middle of the words, in halves of their size; (0, 0) is on
        the point.
    gap : float, default=3
        The distance of the words from the point, in points of print.
    most : float, optional
        The most lines and words that may be covered; beyond that nothing is written, and None
        returned.
    seen : tuple, optional
        The result of :func:`drawn`, where several words are written; these are added to it.
    **looks
        Passed to the text.
    """
    points, lines, boxes = drawn(ax) if seen is None else seen
    anchors, size = np.asarray(anchors, dtype=np.float64), figure_of(ax).dpi / 72.0
    written = write_beside(ax, text, anchors[0], (0.0, 0.0), ha="center", va="center", **looks)
    box, fraction = Text.get_window_extent(written), looks.get("xycoords") == "axes fraction"
    half = 0.5 * np.array([box.width, box.height])
    moves = np.asarray(ways, dtype=np.float64) * (half + size * gap)
    starts = (ax.transAxes if fraction else ax.transData).transform(anchors)
    places = (starts[:, None] + moves).reshape(-1, 2)

    def covered(what: np.ndarray, pad: Any) -> np.ndarray:
        across, up = (np.abs(places[:, [c]] - what[:, c]) for c in (0, 1))
        wide, high = np.transpose(half + pad)
        return np.asarray((across < wide) & (up < high))

    over = np.zeros(len(places))
    for line in lines:
        over += covered(line, 0.0).any(axis=1)
    if boxes:
        corners = np.array(boxes)
        over += covered(corners.mean(axis=1), 0.5 * np.ptp(corners, axis=1) + 2.0).sum(axis=1)
    low, high = ax.bbox.min + half + 2.0, ax.bbox.max - half - 2.0
    outside = np.maximum(np.maximum(low - places, places - high), 0.0).sum(axis=1)
    cost = 50.0 * outside + 3.0 * over + 2.0 * covered(points, 5.0).sum(axis=1)
    best = int(np.argmin(cost))
    if over[best] > most:
        written.remove()
        return None
    anchor, way = divmod(best, len(moves))
    written.xy = tuple(anchors[anchor])
    written.set_position(tuple(moves[way] / size))
    boxes.append(places[best] + np.array([-half, half]))
    return written


def _steps(line: np.ndarray) -> np.ndarray:
    """Points of a line so near to each other that no word falls between them."""
    length = float(np.abs(np.diff(line, axis=0)).sum())
    return along(line, np.linspace(0.0, 1.0, 2 + int(min(length, 1e4) / 4.0)))


def drawn(ax: Axes) -> Drawn:
    """Points, lines and arrows, and the corners of words and bars that are in axes, in pixels."""
    points, lines = [np.empty((0, 2))], []
    for artist in [*ax.lines, *ax.collections]:
        if isinstance(artist, PathCollection):
            places = artist.get_offset_transform().transform(artist.get_offsets())
            points.append(places[:: max(1, len(places) // 500)])
        elif isinstance(artist, LineCollection | Line2D):
            paths = [artist.get_path()] if isinstance(artist, Line2D) else artist.get_paths()
            ends = [artist.get_transform().transform(path.vertices) for path in paths]
            # Across a gap of missing values, too.
            known = [line[np.isfinite(line).all(axis=1)] for line in ends]
            lines += [_steps(line) for line in known if len(line)]
    bars = [one for one in ax.patches if isinstance(one, Rectangle) and one.get_height()]
    # An arrow is words that are empty.
    arrows = [text for text in ax.texts if isinstance(text, Annotation) and not text.get_text()]
    lines += [_steps(ax.transData.transform([arrow.xyann, arrow.xy])) for arrow in arrows]
    words = [one for one in [*ax.texts, ax.get_legend()] if one is not None and one not in arrows]
    boxes = [one.get_window_extent().get_points() for one in [*words, *bars]]
    return np.concatenate(points), lines, boxes


def write_title(ax: Axes, text: str, **kwargs: Any) -> Text:
    """The title of axes, broken into lines that fit their width; formulas hold no spaces."""
    title = ax.set_title(text, **kwargs)
    if not text:
        return title
    ratio = 0.97 * ax.get_window_extent().width / title.get_window_extent().width
    # The markup of a formula takes no width.
    visible = re.sub(r"\\[a-z]+|[${}^]", "", text)
    letters = max(16, int(ratio * max(map(len, visible.split("\n")))))
    title.set_text("\n".join(textwrap.fill(line, letters) for line in text.split("\n")))
    return title


def write_note(ax: Any, note: str, title: str = "") -> None:
    """Write a note in small letters above the axes and below their title, as wide as these."""
    if title:
        write_title(ax, title)
    if not note:
        return
    width = ax.get_position().width * figure_of(ax).get_figwidth()
    lines = textwrap.wrap(note, max(30, int(16.0 * width)))
    looks = {"fontsize": "x-small", "color": muted()}
    if not title:
        ax.set_title("\n".join(lines), loc="left", **looks)
        return
    place: dict[str, Any] = {"xycoords": "axes fraction", "va": "bottom", "annotation_clip": False}
    write_beside(ax, "\n".join(lines), (0.0, 1.0), (0, 5), **place, **looks)
    small = FontProperties(size="x-small").get_size_in_points()
    write_title(ax, title, pad=8.0 + 1.25 * small * len(lines))


def write_legend(
    ax: Axes, handles: Sequence[Any], *, below: bool = False, inside: bool = False
) -> Legend:
    """A legend that covers no points: beside the axes, or below the figure if it is too wide.

    In a figure without a layout that makes room for it, or with ``inside``, it is within the axes,
    where there is most room.
    """
    # Long names leave the axes their room.
    labels = [str(h.get_label()) for h in handles]
    labels = [
        name if isinstance(h, Line2D) else plain(name.replace(r"\$", "$"), 26)
        for h, name in zip(handles, labels, strict=True)
    ]
    given: dict[str, Any] = {"handles": list(handles), "labels": labels, "handletextpad": 0.4}
    layout = figure_of(ax).get_layout_engine()
    if layout is None or inside:
        font = "x-small" if inside else None
        return readable(ax.legend(loc="best", fontsize=font, **given))
    legend = ax.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0.0, **given
    )
    size, box = legend.get_window_extent(), ax.figure.bbox
    wide = below or size.width > 0.35 * box.width or size.height > 0.8 * box.height
    # The only layout that makes room for legends outside axes.
    if wide and isinstance(layout, ConstrainedLayoutEngine):
        legend.remove()
        font = "small" if below else "x-small"
        given |= {"loc": "outside lower center", "frameon": False, "fontsize": font}
        columns = max(1, int(box.width / (0.85 * size.width + 12.0)))
        # The last row has as many as the others, as far as possible.
        columns = -(-len(labels) // -(-len(labels) // columns))
        legend = ax.figure.legend(ncols=columns, columnspacing=1.2, **given)
    return readable(legend)


def readable(legend: Legend) -> Legend:
    """A legend whose points are seen, however small and faint those of the picture are."""
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_alpha(0.95)
            handle.set_sizes([36.0])
    return legend
