"""A hyperplane with its normal vector, in two and in three dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import dense
from separatrix.geometry.hyperplane import Hyperplane, design_of, plane_of, sides_of, signs_of
from separatrix.plots.boundaries import nearest_point, plot_plane
from separatrix.plots.display import Display
from separatrix.plots.fitted import column_names
from separatrix.plots.planar import framed, span_of
from separatrix.plots.points import (
    draw_arrow,
    draw_lines,
    one_axes,
    scatter_classes,
    set_limits,
    write_beside,
    write_legend,
    write_note,
)
from separatrix.plots.space import axes_in_space, draw_plane, draw_stems, scatter_about
from separatrix.plots.style import ink, muted, number, plain_all

# The foot of the plane is shown unless it would make the picture more than this many times larger.
_FAR = 3.0
# Axes whose ranges differ by a larger factor are not drawn to one scale.
_RATIO = 4.0
# The arrow is the normal vector itself where its length is within these shares of the picture.
_SHORT, _GOOD, _LONG = 0.12, 0.3, 0.7
# The shortest side of the box is at least this share of the longest.
_NARROW = 0.62
# The angle between the eye and the arrow, in degrees of azimuth.
_ASIDE = 55.0
# The largest number of points whose distances are written.
_WRITTEN = 12


@dataclass(kw_only=True, eq=False, repr=False)
class HyperplaneDisplay(Display):
    r"""A line in the plane, or a plane in space, with its normal vector as an arrow.

    The arrow stands at the foot, the point of the hyperplane that is nearest to 0,
    :math:`-b\,w/\|w\|^2`, and points to the positive side.

    Parameters
    ----------
    plane : Hyperplane
    low, high : ndarray of shape (d,)
        Corners of the box that is shown.
    arrow : ndarray of shape (2, d)
        The start and the end of the arrow.
    scale : float
        The length of the arrow, in units of that of ``w``.
    names : list of str
        The names of the axes, ready to draw.
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
    classes : list
        The labels; None where the points have none.
    stems : ndarray of shape (n, 2, d)
        Segments from each point to the nearest one of the hyperplane, where they are drawn.
    distances : ndarray of shape (n,)
        Signed distances, the lengths of the stems.
    far : bool
        Whether the foot is so far from the points that the arrow stands beside them.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    plane_ : list of Line2D, or Poly3DCollection
    arrow_ : Annotation, or Line3DCollection
    label_ : Text
    points_ : list of PathCollection
    stems_ : LineCollection, Line3DCollection or None
    numbers_ : list of Annotation
        The distances in words, of up to twelve points in two dimensions.

    Examples
    --------
    >>> from separatrix import Hyperplane
    >>> display = Hyperplane([3, 4], -10).plot([[0, 0], [4, 2]], [-1, 1], distances=True)
    >>> display.arrow.round(6).tolist(), display.distances.tolist()
    ([[1.2, 1.6], [1.8, 2.4]], [-2.0, 2.0])
    >>> display.label_.get_text(), display.ax_.get_title()
    ('0.2 w', '3 x0 + 4 x1 - 10 = 0')
    """

    plane: Hyperplane
    low: np.ndarray
    high: np.ndarray
    arrow: np.ndarray
    scale: float
    names: list[str]
    points: np.ndarray
    codes: np.ndarray
    classes: list[Any] | None
    stems: np.ndarray
    distances: np.ndarray
    far: bool = False

    @classmethod
    def from_plane(
        cls, plane: Any, X: Any = None, y: Any = None, *, distances: bool = False, ax: Any = None
    ) -> HyperplaneDisplay:
        """Draw a hyperplane, and points where there are any.

        Parameters
        ----------
        plane : Hyperplane or pair (w, b)
            A hyperplane of two or three features.
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
        y : array-like of shape (n_samples,), optional
            The labels: -1 and +1, or any two.
        distances : bool, default=False
            Whether to draw the shortest segment from each point to the hyperplane.
        ax : Axes, optional
            Axes with ``projection="3d"`` for three features.

        Returns
        -------
        HyperplaneDisplay

        Raises
        ------
        TypeError
            If ``plane`` is not a hyperplane.
        ValueError
            If it has other than two or three dimensions, or weights of zero only, or for points
            that do not fit.
        """
        found = plane_of(plane)
        if found is None:
            raise TypeError(
                f"plane must be a Hyperplane or a pair (w, b), not {type(plane).__name__}; "
                "Hyperplane.from_model(model) is that of a fitted model."
            )
        d = found.n_features
        if d not in (2, 3):
            raise ValueError(
                f"A hyperplane in {d} dimensions is no line and no plane in space; DecisionDisplay "
                "and MarginDisplay draw it with points, by their distances from it."
            )
        points, names = np.empty((0, d)), column_names(None, d)
        if X is not None:
            points = dense(design_of(X, d).matrix).astype(np.float64)
            names = column_names(getattr(X, "columns", None), d)
        codes, classes = np.zeros(len(points), dtype=int), None
        if y is not None:
            codes = (signs_of(y, len(points)) > 0.0).astype(int)
            classes = sides_of(y).tolist()
        stems, lengths = np.empty((0, 2, d)), np.empty(0)
        if distances and len(points):
            stems = np.stack([points, found.project(points)], axis=1)
            lengths = found.signed_distance(points)
        foot, far = _foot(found, points)
        shown = np.concatenate([points, stems[:, 1], foot])
        scale = _arrow_scale(found.w, np.ptp(shown, axis=0))
        arrow = np.stack([foot[-1], foot[-1] + scale * found.w])
        corners = np.concatenate([shown, arrow])
        ends = corners.min(axis=0), corners.max(axis=0)
        low, high, _ = framed(*ends, pad=0.08, alike=_RATIO, narrow=_NARROW)
        display = cls(
            plane=found,
            low=low,
            high=high,
            arrow=arrow,
            scale=scale,
            names=plain_all(names),
            points=points,
            codes=codes,
            classes=classes,
            stems=stems,
            distances=lengths,
            far=far,
        )
        return display.plot(ax)

    @property
    def note(self) -> str:
        """The note below a picture whose arrow is not at the foot, or looks skew."""
        far = "the arrow is not at the point nearest to 0, which is far away"
        skew = "different scales on the axes: right angles look skew"
        given = {far: self.far, skew: not _alike(self.high - self.low)}
        return "; ".join(text for text, true in given.items() if true)

    def plot(self, ax: Any = None) -> HyperplaneDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes with ``projection="3d"`` for three features.

        Returns
        -------
        HyperplaneDisplay
        """
        draw = self._plot_line if len(self.names) == 2 else self._plot_plane
        self.numbers_: list[Any] = []
        draw(ax, self.classes or ["points"], f"{self.scale:g} w" if self.scale != 1.0 else "w")
        if self.classes is not None:
            write_legend(self.ax_, self.points_[-2:])
        write_note(self.ax_, self.note, self.plane.equation(self.names))
        return self

    def _plot_line(self, ax: Any, classes: list[Any], label: str) -> None:
        self._begin(one_axes(ax, (6.0, 4.5)))
        ax = self.ax_
        set_limits(ax, self.low, self.high, equal=_alike(self.high - self.low))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.plane_: Any = plot_plane(ax, self.plane, self.low, self.high, color=ink(), lw=1.8)
        self.stems_: Any = draw_lines(ax, self.stems, 0.9, colors=muted(), zorder=2.2)
        self.points_ = scatter_classes(ax, self.points, self.codes, classes)
        self.arrow_: Any = draw_arrow(ax, *self.arrow, lw=1.6, mutation_scale=13.0, zorder=4.0)
        self.label_: Any = write_beside(ax, label, self.arrow[1], (5, 2))
        if len(self.stems) <= _WRITTEN:
            middles = self.stems.mean(axis=1)
            texts = [number(distance, 3) for distance in self.distances]
            self.numbers_ = [
                write_beside(ax, text, middle, (3, 2), fontsize="x-small")
                for text, middle in zip(texts, middles, strict=True)
            ]

    def _plot_plane(self, ax: Any, classes: list[Any], label: str) -> None:
        ax, size = axes_in_space(ax, self.names), self.high - self.low
        self._begin(ax)
        xlim, ylim, zlim = zip(self.low, self.high, strict=True)
        ax.set(xlim=xlim, ylim=ylim, zlim=zlim)
        if _alike(size):
            ax.set_box_aspect(size, zoom=0.9)
        across, deep, _ = self.plane.w * size
        if across or deep:
            # Neither from its edge nor along the arrow.
            ax.view_init(elev=20.0, azim=math.degrees(math.atan2(deep, across)) - _ASIDE)
        self.plane_ = draw_plane(ax, self.plane, self.low, self.high)
        self.stems_ = draw_stems(ax, self.stems) if len(self.stems) else None
        self.points_ = scatter_about(ax, self.plane, self.points, self.codes, classes, size)
        start, end = self.arrow
        self.arrow_ = ax.quiver(*start, *(end - start), color=ink(), lw=1.6, zorder=6)
        self.label_ = ax.text(*end, f" {label}", color=ink(), fontsize="small", zorder=6)


# --- where the arrow is, and how long ------------------------------------------------------------


def _foot(plane: Hyperplane, points: np.ndarray) -> tuple[np.ndarray, bool]:
    """Points to show besides the data, the arrow's start last, and whether the foot is far."""
    foot = plane.point[None]
    if not len(points):
        reach = float(np.linalg.norm(foot)) or 1.0
        return np.concatenate([foot - reach, foot + reach, foot]), False
    low, high, size = span_of(points)
    if np.all(np.maximum(high, foot) - np.minimum(low, foot) <= _FAR * size):
        return foot, False
    return nearest_point(plane, 0.5 * (low + high), size)[None], True


def _alike(size: np.ndarray) -> bool:
    """Whether axes of these lengths are drawn to one scale."""
    return bool(size.max() <= _RATIO * size.min() or not size.min())


def _arrow_scale(w: np.ndarray, size: np.ndarray) -> float:
    """The factor that makes ``w`` a good part of a picture: 1, or 1, 2, 5 times a power of 10."""
    share = float(np.linalg.norm(w / (size.max() if _alike(size) else size)))
    if _SHORT <= share <= _LONG:
        return 1.0
    exponent = math.floor(math.log10(_GOOD / share))
    lead = _GOOD / share / 10.0**exponent
    return float(f"{5 if lead >= 5.0 else 2 if lead >= 2.0 else 1}e{exponent}")
