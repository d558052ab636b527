"""Regions and boundaries of any classifier."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from scipy.special import expit, logit

from separatrix.data.validation import check_choice
from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.points import (
    Panels,
    axes_row,
    figure_of,
    marker_size,
    one_axes,
    scatter_classes,
    write_legend,
    write_note,
)
from separatrix.plots.style import class_colours, class_markers, ink, muted, paper, plain, plain_all
from separatrix.plots.view import View
from separatrix.plots.zero_set import Field, half_plane_cells

__all__ = ["DecisionDisplay", "extent_of", "level_lines", "points_of"]

# Contours of the probability of two classes.
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
# Pixels of a shading, a side; and of a surface.
_PIXELS = 200
_MESH = 48
# Of the axes: contours nearer to another one get no label, which could belong to either.
_APART = 0.03
# How much of a class's colour is in its region, and at most in a shading, so that points stand out.
_TINT = 0.17
_FULL = 0.36
# A probability that within this share of the extent changes by more, or not at all, is one of
# steps, which have no lines of a value.
_JUMP, _STEP = 0.02, 1e-5

_WAYS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])

Extent = tuple[float, float, float, float]


class DecisionDisplay:
    """Regions, boundary, scores and probabilities of a classifier, in two dimensions.

    Lines and conics are exact; other boundaries are level sets, solved for on a grid that is fine
    where they are.  Points with more than two features are shown by a view that says what it
    shows (see ``note``).

    Parameters
    ----------
    view : View
        How features become the two coordinates, and the model's scores on the plane.
    extent : (float, float, float, float)
        Left, right, bottom and top.
    boundary : list of ndarray of shape (k, 2)
        Polylines on which two classes win equally.
    regions : list of K lists of lists of ndarray of shape (k, 2)
        Of every class its polygons, each an outline and its holes.
    contours : dict of float to list of ndarray of shape (k, 2)
        Where the probability of the second class has these values.
    image : ndarray of shape (m, m), or (m, m, K), optional
        What shades, rows from bottom to top: of two classes the second one's probability or
        score, of more those of each.
    points : ndarray of shape (n, 2), optional
    codes : ndarray of int, shape (n,), optional
        Positions in ``view.classes``.
    shade : {"class", "score", "probability"} or None
    surface : bool
        Draw the image in three dimensions.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    regions_ : list of PathPatch
    boundary_ : LineCollection
    contours_ : LineCollection or None
    image_ : list of AxesImage, or Poly3DCollection
    points_ : list of PathCollection

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import DecisionDisplay
    >>> iris = load_iris(as_frame=True)
    >>> X, y = iris.data.iloc[:, 2:], iris.target_names[iris.target]
    >>> display = DecisionDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> display.ax_.get_xlabel(), [len(line) for line in display.boundary]
    ('petal length (cm)', [2, 2])
    """

    def __init__(
        self,
        *,
        view: View,
        extent: Extent,
        boundary: list[np.ndarray],
        regions: list[list[list[np.ndarray]]],
        contours: dict[float, list[np.ndarray]] | None = None,
        image: np.ndarray | None = None,
        points: np.ndarray | None = None,
        codes: np.ndarray | None = None,
        shade: str | None = "class",
        surface: bool = False,
    ) -> None:
        self.view = view
        self.extent = extent
        self.boundary = boundary
        self.regions = regions
        self.contours = {} if contours is None else contours
        self.image = image
        self.points = points
        self.codes = codes
        self.shade = shade
        self.surface = surface

    @property
    def note(self) -> str:
        """What is shown, where it is not two features as they are."""
        return self.view.note

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Any] | None = None,
        at: Any = None,
        classes: Sequence[Any] | None = None,
        shade: str | None = "class",
        surface: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> DecisionDisplay:
        """Draw the regions of a fitted model.

        Parameters
        ----------
        model : object
            A fitted classifier, of any library, also a pipeline.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Sets what part of the plane is shown.
        y : array-like of shape (n_samples,), optional
            Labels; the points are drawn if there are any.
        features : two names or positions of columns, optional
            Show the slice along them.  By default what shows most without distortion: of a linear
            model of more than two columns, the distance from the hyperplane across.
        at : array-like of shape (n_features,), or dict of names or positions to values, optional
            Where the slice is; other columns are held at their medians.
        classes : two labels, optional
            Only these, of a model of more.
        shade : {"class", "score", "probability"} or None, default="class"
            One tint a region; or stronger with the score, half as strong as can be at the score's
            median; or with the probability, of which two classes get contours at 0.1, 0.25, 0.5,
            0.75 and 0.9, if it does not jump.
        surface : bool, default=False
            The probability of the second class as a surface over the plane, with the points at
            heights 0 and 1 and the line where it is 1/2.
        ax : Axes, optional
        **kwargs
            To ``plot``.

        Returns
        -------
        DecisionDisplay

        Raises
        ------
        TypeError
            For what is no fitted classifier, or probabilities of a model without.
        ValueError
            For data, labels, columns or choices that do not fit.
        """
        check_choice("shade", shade, ["class", "score", "probability", None])
        view = View.of(model, X, features=features, at=at, classes=classes)
        if surface:
            shade = "probability"
            if len(view.classes) != 2 or view.kind == "line":
                raise ValueError(
                    "surface=True needs two classes (choose them with classes=) and two features "
                    "or more."
                )
            if not hasattr(view.model, "predict_proba"):
                raise TypeError(
                    f"surface=True draws probabilities, and {type(model).__name__} gives none "
                    "(predict_proba)."
                )
        points, codes = points_of(view, X, y)
        extent = extent_of(points, through_zero=view.kind == "distance")
        made = cls._line if view.kind == "line" else cls._plane
        display = made(view, extent, shade)
        display.points, display.codes = (points, codes) if codes is not None else (None, None)
        display.surface = surface
        return display.plot(ax=ax, **kwargs)

    # --- what is computed -----------------------------------------------------------------------

    @classmethod
    def _plane(cls, view: View, extent: Extent, shade: str | None) -> DecisionDisplay:
        planes, k = view.planes(), len(view.classes)
        field: Field | None = None
        if planes is not None:
            regions = [[[cell]] if len(cell) else [] for cell in half_plane_cells(*planes, extent)]
            boundary = _borders(planes, extent)
        else:
            field = Field(view.scores, extent, halvings=2 if k == 2 else 3)
            if k == 2:
                regions = [field.regions(-np.inf, 0.0), field.regions(0.0, np.inf)]
            else:
                regions = [field.regions(k=i) for i in range(k)]
            exact = _conics(view, extent)
            if exact is not None:
                boundary = exact
            elif k == 2:
                boundary = field.lines()
            else:
                boundary = [line for i in range(k - 1) for line in field.lines(k=i)]
        contours: dict[float, list[np.ndarray]] = {}
        image = None
        if shade == "probability":
            image, contours = _probabilities(view, extent)
        elif shade == "score":
            if planes is not None:
                image = _grid(extent) @ planes[0].T + planes[1]
                image = image.reshape(_PIXELS, _PIXELS, k)
                image = image[..., 1] - image[..., 0] if k == 2 else image
            else:
                assert field is not None
                image = field.values
        return cls(
            view=view, extent=extent, boundary=boundary, regions=regions, contours=contours,
            image=image, shade=shade,
        )  # fmt: skip

    @classmethod
    def _line(cls, view: View, extent: Extent, shade: str | None) -> DecisionDisplay:
        """Of a single feature: stretches of it, and the curve of the score or probability."""
        left, right = extent[:2]
        flat = (left, right, 0.0, 1.0)
        k = len(view.classes)
        field = Field(view.scores, flat, halvings=3)
        cuts: list[float] = []
        for i in range(k) if k > 2 else [None]:
            cuts += [float(line[0, 0]) for line in field.lines(k=i)]
        planes = view.planes()
        if planes is not None and k == 2:
            w, b = planes[0][1, 0] - planes[0][0, 0], planes[1][1] - planes[1][0]
            cuts = [float(-b / w)] if w != 0.0 and left < -b / w < right else []
        cuts = _distinct(sorted(cuts), 1e-4 * (right - left))
        edges = [left, *cuts, right]
        middles = np.array([[0.5 * (a + b), 0.0] for a, b in itertools.pairwise(edges)])
        winners = view.codes(view.scores(middles))
        x = np.linspace(left, right, 400)
        places = np.stack([x, np.zeros_like(x)], axis=1)
        image = view.probabilities(places) if shade == "probability" else view.scores(places)
        if image.ndim == 2 and k == 2:
            image = image[:, 1]
        low, high = (0.0, 1.0) if shade == "probability" else (image.min(), image.max())
        pad = 0.06 * (high - low) if high > low else 1.0
        extent = (left, right, float(low - pad), float(high + pad))
        box = np.array([[0.0, extent[2]], [1.0, extent[2]], [1.0, extent[3]], [0.0, extent[3]]])
        regions: list[list[list[np.ndarray]]] = [[] for _ in range(k)]
        for (a, b), code in zip(itertools.pairwise(edges), winners, strict=True):
            regions[code].append([box * [b - a, 1.0] + [a, 0.0]])
        boundary = [np.array([[c, extent[2]], [c, extent[3]]]) for c in cuts]
        return cls(
            view=view, extent=extent, boundary=boundary, regions=regions, image=image, shade=shade
        )

    # --- drawing --------------------------------------------------------------------------------

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, note: bool = True
    ) -> DecisionDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            For a surface one of ``projection="3d"``.
        legend : bool, default=True
            Beside the axes.
        note : bool, default=True
            What is shown, above the axes, where it is not two features as they are.

        Returns
        -------
        self
        """
        if self.surface:
            return self._plot_surface(ax, legend)
        ax = one_axes(ax, (6.4, 4.4))
        self.ax_, self.figure_ = ax, figure_of(ax)
        colours = class_colours(len(self.view.classes))
        self.regions_: list[PathPatch] = []
        self.image_: Any = []
        self.contours_: LineCollection | None = None
        if self.view.kind == "line":
            self._plot_curve(ax, colours)
        elif self.shade == "class":
            self._plot_regions(ax, colours)
        elif self.image is not None:
            self._plot_image(ax, colours)
        self.boundary_: Any = LineCollection(
            self.boundary, colors=ink(), linewidths=1.8, zorder=2.6, capstyle="butt"
        )
        ax.add_collection(self.boundary_, autolim=False)
        if self.contours:
            self._plot_contours(ax)
        self.points_ = []
        if self.points is not None and self.codes is not None:
            self.points_ = scatter_classes(
                ax, self._placed(), self.codes, self.view.classes.tolist()
            )
        ax.set_xlim(self.extent[:2])
        ax.set_ylim(self._bottom(), self.extent[3])
        ax.set_xlabel(self.view.xlabel)
        if self.view.kind != "line":
            ax.set_ylabel(self.view.ylabel)
        if legend:
            handles: list[Any] = list(self.points_)
            if not handles and (self.shade is not None):
                names = plain_all(self.view.classes.tolist())
                handles = [
                    Patch(color=colour, alpha=0.5, lw=0, label=name)
                    for colour, name in zip(colours, names, strict=True)
                ]
            if handles:
                write_legend(ax, handles)
        if note:
            write_note(ax, self.note)
        return self

    def _bottom(self) -> float:
        """Below the curve of a single feature, there is room for the points."""
        low, high = self.extent[2:]
        if self.view.kind != "line" or self._on_curve() or self.points is None:
            return low
        return low - 0.07 * (high - low) * len(self.view.classes)

    def _on_curve(self) -> bool:
        """Whether points of a single feature are at the heights 0 and 1 of the probability."""
        return self.shade == "probability" and len(self.view.classes) == 2

    def _placed(self) -> np.ndarray:
        assert self.points is not None and self.codes is not None
        if self.view.kind != "line":
            return self.points
        low, high = self.extent[2:]
        if self._on_curve():
            heights = np.array([0.0, 1.0])
        else:
            heights = low - 0.07 * (high - low) * (np.arange(len(self.view.classes)) + 0.3)
        return np.stack([self.points[:, 0], heights[self.codes]], axis=1)

    def _plot_regions(self, ax: Axes, colours: list[str]) -> None:
        for polygons, colour in zip(self.regions, colours, strict=True):
            patch = PathPatch(
                _compound(polygons), facecolor=colour, alpha=_TINT, linewidth=0.0, zorder=1.0
            )
            ax.add_patch(patch)
            self.regions_.append(patch)

    def _plot_image(self, ax: Axes, colours: list[str]) -> None:
        assert self.image is not None
        options: Any = {
            "extent": self.extent, "origin": "lower", "interpolation": "bilinear",
            "aspect": "auto", "zorder": 0.9,
        }  # fmt: skip
        if self.image.ndim == 2:
            strength = _strength(self.image, self.shade)
            shown = np.where(
                strength[..., None] < 0.0,
                np.array(to_rgb(colours[0])),
                np.array(to_rgb(colours[1])),
            )
            shown = np.concatenate([shown, _FULL * np.abs(strength)[..., None]], axis=2)
            self.image_ = [ax.imshow(shown, **options)]
            return
        first, second = -np.sort(-self.image, axis=2)[..., :2].transpose(2, 0, 1)
        if self.shade == "probability":
            k = self.image.shape[2]
            strength = (first - 1.0 / k) / (1.0 - 1.0 / k)
        else:
            strength = _strength(first - second, "score")
        for polygons, colour in zip(self.regions, colours, strict=True):
            if not polygons:
                continue
            shown = np.empty((*strength.shape, 4))
            shown[..., :3] = to_rgb(colour)
            shown[..., 3] = _FULL * np.clip(strength, 0.0, 1.0)
            image = ax.imshow(shown, **options)
            image.set_clip_path(_compound(polygons), transform=ax.transData)
            self.image_.append(image)

    def _plot_contours(self, ax: Axes) -> None:
        lines = [line for level in self.contours for line in self.contours[level]]
        self.contours_ = LineCollection(lines, colors=ink(), linewidths=0.8, zorder=2.4, alpha=0.75)
        ax.add_collection(self.contours_, autolim=False)
        left, right, bottom, top = self.extent
        size = np.array([right - left, top - bottom])
        self.labels_ = []
        taken: list[np.ndarray] = []
        middle = self.contours.get(0.5, self.boundary if 0.5 in _LEVELS else [])
        every = [*self.contours.items(), *([(0.5, middle)] if 0.5 not in self.contours else [])]
        for level, drawn in every:
            place = _label_place(drawn, np.array([left, bottom]), size, taken)
            others = [x for other, group in every if other != level for x in group]
            if place is None or _nearest(place, others, size) < _APART:
                continue
            taken.append((place - [left, bottom]) / size)
            self.labels_.append(
                ax.text(
                    float(place[0]),
                    float(place[1]),
                    f"{level:g}",
                    fontsize="x-small",
                    color=ink(),
                    ha="center",
                    va="center",
                    zorder=4.0,
                    bbox={"facecolor": paper(), "alpha": 0.8, "linewidth": 0.0, "pad": 1.0},
                )
            )

    def _plot_curve(self, ax: Axes, colours: list[str]) -> None:
        if self.shade is not None:
            self._plot_regions(ax, colours)
        assert self.image is not None
        x = np.linspace(*self.extent[:2], len(self.image))
        if self.image.ndim == 1:
            self.curve_ = ax.plot(x, self.image, color=ink(), lw=1.4, zorder=2.7)
            if self.shade != "probability":
                ax.axhline(0.0, color=muted(), lw=0.8, zorder=1.5)
        else:
            self.curve_ = [
                ax.plot(x, self.image[:, i], color=colour, lw=1.6, zorder=2.7)[0]
                for i, colour in enumerate(colours)
            ]
        label = "probability" if self.shade == "probability" else "score"
        label += " of each class"
        if len(self.view.classes) == 2:
            label = self.view.ylabel
            if self.shade == "probability":
                label = f"probability of {plain(self.view.classes[1])}"
        ax.set_ylabel(label)

    def _plot_surface(self, ax: Any, legend: bool) -> DecisionDisplay:
        if ax is None:
            _, ax = plt.subplots(
                figsize=(6.4, 5.0), layout="constrained", subplot_kw={"projection": "3d"}
            )
        elif not hasattr(ax, "plot_surface"):
            raise ValueError('A surface needs axes made with projection="3d".')
        self.ax_, self.figure_ = ax, figure_of(ax)
        left, right, bottom, top = self.extent
        x, y = np.linspace(left, right, _MESH), np.linspace(bottom, top, _MESH)
        grid = np.stack([a.ravel() for a in np.meshgrid(x, y)], axis=1)
        p = self.view.probabilities(grid)[:, 1].reshape(_MESH, _MESH)
        colours = class_colours(2)
        ends = [np.array(to_rgb(colour)) for colour in colours]
        sheet = np.array(to_rgb(paper()))
        share = np.abs(2.0 * p - 1.0)[..., None]
        shown = sheet + (np.where(p[..., None] < 0.5, ends[0], ends[1]) - sheet) * (
            0.1 + 0.5 * share
        )
        self.image_ = ax.plot_surface(
            *np.meshgrid(x, y), p, facecolors=shown, rstride=1, cstride=1, linewidth=0.0,
            antialiased=False, shade=False, alpha=0.6,
        )  # fmt: skip
        # The sheet would hide the points below it.
        ax.computed_zorder = False
        self.boundary_ = []
        for line in self.boundary:
            for height, style in ((0.5, "-"), (0.0, ":")):
                self.boundary_ += ax.plot(
                    line[:, 0], line[:, 1], height, color=ink(), lw=1.8 if height else 1.2,
                    linestyle=style, zorder=10,
                )  # fmt: skip
        self.points_ = []
        if self.points is not None and self.codes is not None:
            markers, size = class_markers(2), 20.0 if len(self.points) < 500 else 8.0
            for code in (0, 1):
                mine = self.points[self.codes == code]
                self.points_.append(
                    ax.scatter(
                        mine[:, 0],
                        mine[:, 1],
                        float(code),
                        c=colours[code],
                        marker=markers[code],
                        s=size,
                        edgecolors=paper(),
                        linewidths=0.4,
                        depthshade=False,
                        zorder=12,
                        label=plain(self.view.classes[code]),
                        rasterized=len(self.points) > 2_000,
                    )
                )
        ax.set(xlim=(left, right), ylim=(bottom, top), zlim=(0.0, 1.0))
        # The layout makes no room for labels in three dimensions.
        ax.set_box_aspect(None, zoom=0.9)
        for write, label in ((ax.set_xlabel, self.view.xlabel), (ax.set_ylabel, self.view.ylabel)):
            label = textwrap.fill(label, 20)
            write(label, labelpad=4.0 + 8.0 * label.count("\n"))
        ax.set_zlabel(f"probability of {plain(self.view.classes[1], 24)}")
        ax.view_init(elev=24.0, azim=-62.0)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
            axis.line.set_color(muted())
        ax.set_zticks([0.0, 0.25, 0.5, 0.75, 1.0])
        ax.tick_params(labelsize="small")
        if legend and self.points_:
            ax.legend(handles=self.points_, loc="upper left", frameon=False)
        write_note(ax, self.note)
        return self

    # --- how steep ------------------------------------------------------------------------------

    @classmethod
    def steepness(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        scales: Sequence[float] = (0.5, 1, 2, 5),
        ax: Any = None,
    ) -> Panels[DecisionDisplay]:
        r"""The same boundary with longer and longer weights: how steep the sigmoid is across it.

        Multiplying ``w`` and ``b`` by a number leaves the boundary where it is; the probability
        :math:`1 / (1 + \exp(-s |w| t))` at the distance t from it rises with the slope
        :math:`s |w| / 4`.  Above the plane, below the sigmoid with the points at heights 0 and 1.

        Parameters
        ----------
        model : object
            Linear, of two classes.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        scales : sequence of positive float, default=(0.5, 1, 2, 5)
        ax : array-like of twice as many Axes as scales, optional
            The planes first, then the sigmoids.

        Returns
        -------
        sequence of DecisionDisplay
            One a scale; ``curve_`` is its sigmoid.  The sequence has ``axes_`` and ``figure_``.

        Raises
        ------
        TypeError
            If the model is not linear, or has more classes.
        ValueError
            If a scale is not positive.
        """
        view = View.of(model, X)
        planes = view.planes()
        if planes is None or len(view.classes) != 2 or view.kind == "line":
            raise TypeError(
                "steepness needs a linear model of two classes, with two features or more; for "
                f"others use {cls.__name__}.from_estimator with shade='probability'."
            )
        factors = positive_numbers("scales", scales)
        points, codes = points_of(view, X, y)
        if codes is None:
            raise ValueError("steepness shows the points at heights 0 and 1, so it needs y.")
        extent = extent_of(points, through_zero=view.kind == "distance")
        # A steepness multiplies what the sigmoid is of.
        base = float(getattr(view.model, "steepness", 1.0))
        w = base * (planes[0][1] - planes[0][0])
        b = base * float(planes[1][1] - planes[1][0])
        norm = float(np.hypot(*w))
        if norm == 0.0:
            raise ValueError("The weights are all zero, so there is no boundary to be steep at.")
        count = len(factors)
        axes = axes_row(ax, 2 * count, columns=count, panel=(2.5, 2.4))
        score = (_grid(extent) @ w + b).reshape(_PIXELS, _PIXELS)
        distances = (points @ w + b) / norm
        reach = float(np.abs(distances).max()) or 1.0
        t = np.linspace(-reach, reach, 401)
        out = []
        for i, factor in enumerate(factors):
            plane = Hyperplane(w * factor, b * factor)
            contours = {
                level: _shifted(plane, logit(level), extent) for level in _LEVELS if level != 0.5
            }
            display = cls(
                view=view, extent=extent, boundary=_borders((planes[0], planes[1]), extent),
                regions=[], contours=contours, image=expit(factor * score), points=points,
                codes=codes, shade="probability",
            ).plot(ax=axes[i], legend=False, note=False)  # fmt: skip
            upper, lower = axes[i], axes[count + i]
            upper.set_title(f"{factor:g} × w,  |w| = {factor * norm:.3g}")
            lower.axvline(0.0, color=ink(), lw=1.2, zorder=1.5)
            lower.axhline(0.5, color=muted(), lw=0.6, zorder=1.4)
            display.curve_ = lower.plot(
                t, expit(factor * norm * t), color=ink(), lw=1.6, zorder=2.5
            )
            size = 0.5 * marker_size(len(points))
            for drawn in display.points_:
                drawn.set_sizes([size])
            scatter_classes(
                lower,
                np.stack([distances, codes.astype(float)], axis=1),
                codes,
                view.classes.tolist(),
                size=size,
            )
            # The tangent at the boundary, as far as it goes from 0 to 1.
            half = min(2.0 / (factor * norm), reach)
            lower.plot(
                [-half, half], 0.5 + 0.25 * factor * norm * np.array([-half, half]),
                color=muted(), lw=1.0, ls="--", zorder=2.0,
            )  # fmt: skip
            lower.set(xlim=(-1.04 * reach, 1.04 * reach), ylim=(-0.08, 1.08))
            lower.set_yticks([0.0, 0.5, 1.0])
            lower.set_xlabel("distance from\nthe boundary")
            upper.set_xlabel(textwrap.fill(view.xlabel, 24))
            upper.set_ylabel(textwrap.fill(view.ylabel, 24))
            if i == 0:
                known = hasattr(view.model, "predict_proba")
                what = f"probability of\n{plain(view.classes[1], 24)}"
                lower.set_ylabel(what if known else "sigmoid of the score")
            else:
                upper.set_ylabel("")
                upper.tick_params(labelleft=False)
                lower.tick_params(labelleft=False)
            out.append(display)
        write_legend(axes[count - 1], out[-1].points_)
        return Panels(out, axes)


# --- what displays share -------------------------------------------------------------------------


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


def positive_numbers(name: str, values: Any, *, infinite: bool = False) -> list[float]:
    """A sequence of positive numbers, finite if not said otherwise."""
    try:
        found = [float(v) for v in values]
    except (TypeError, ValueError):
        found = []
    if not found or not all(v > 0.0 and (infinite or np.isfinite(v)) for v in found):
        raise ValueError(f"{name} must be positive numbers, in a list; it is {values!r}.")
    return found


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
    planes = view.planes()
    if planes is not None:
        w, b = planes[0][1] - planes[0][0], float(planes[1][1] - planes[1][0])
        return _shifted(Hyperplane(w, b), level, extent)
    conic = _conic(view)
    if conic is not None:
        shifted = Quadric(conic.A, conic.b, conic.c - level, conic.origin)
        return shifted.clip([extent[0], extent[2]], [extent[1], extent[3]])
    return Field(view.scores, extent, levels=(level,)).lines(level)


# --- parts of it ---------------------------------------------------------------------------------


def _grid(extent: Extent, n: int = _PIXELS) -> np.ndarray:
    """The middles of pixels, row by row from the bottom."""
    left, right, bottom, top = extent
    share = (np.arange(n) + 0.5) / n
    x, y = left + share * (right - left), bottom + share * (top - bottom)
    return np.stack([a.ravel() for a in np.meshgrid(x, y)], axis=1)


def _shifted(plane: Hyperplane, level: float, extent: Extent) -> list[np.ndarray]:
    """Where the score of a hyperplane has a value."""
    if not plane.w.any():
        return []
    lower, upper = [extent[0], extent[2]], [extent[1], extent[3]]
    ends = Hyperplane(plane.w, plane.b - level).clip(lower, upper)
    return [ends] if len(ends) == 2 else []


def _borders(planes: tuple[np.ndarray, np.ndarray], extent: Extent) -> list[np.ndarray]:
    """Segments on which two linear scores are equal and no third is larger."""
    coef, intercept = planes
    out = []
    for i, j in itertools.combinations(range(len(coef)), 2):
        plane = Hyperplane(coef[i] - coef[j], float(intercept[i] - intercept[j]))
        for ends in _shifted(plane, 0.0, extent):
            first, last = 0.0, 1.0
            for k in range(len(coef)):
                if k in (i, j):
                    continue
                lead = ends @ (coef[i] - coef[k]) + (intercept[i] - intercept[k])
                if lead.max() <= 0.0:
                    last = -1.0
                elif lead.min() < 0.0:
                    at = float(lead[0] / (lead[0] - lead[1]))
                    first, last = (
                        (max(first, at), last) if lead[0] < 0.0 else (first, min(last, at))
                    )
            if first < last:
                out.append(ends[0] + np.outer([first, last], ends[1] - ends[0]))
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


def _conic(view: View) -> Quadric | None:
    found = _discriminant(view)
    if found is None or len(view.classes) != 2:
        return None
    conic = view.restrict(found.boundary(view.classes[1], view.classes[0]))
    return conic if isinstance(conic, Quadric) else None


def _conics(view: View, extent: Extent) -> list[np.ndarray] | None:
    """Exact boundaries of quadratic discriminants, each where no third class is larger."""
    found = _discriminant(view)
    if found is None:
        return None
    lower, upper = [extent[0], extent[2]], [extent[1], extent[3]]
    out = []
    classes = view.classes.tolist()
    for i, j in itertools.combinations(range(len(classes)), 2):
        conic = view.restrict(found.boundary(classes[i], classes[j]))
        for line in conic.clip(lower, upper):
            if len(classes) == 2:
                out.append(line)
                continue

            def lead(points: np.ndarray, i: int = i, j: int = j) -> np.ndarray:
                scores = view.scores(points)
                others = np.delete(scores, [i, j], axis=1).max(axis=1)
                return np.asarray(np.maximum(scores[:, i], scores[:, j]) - others)

            out += _where_positive(line, lead)
    return out


def _where_positive(line: np.ndarray, lead: Any) -> list[np.ndarray]:
    """The parts of a polyline on which a function is positive, cut by bisection."""
    # Between vertices far apart, as of a straight line, the sign may change twice.
    steps = np.linspace(0.0, 1.0, max(2, -(-64 // max(len(line) - 1, 1)) + 1))[:-1]
    dense = np.concatenate(
        [(a + np.outer(steps, b - a)) for a, b in itertools.pairwise(line)] + [line[-1:]]
    )
    keep = lead(dense) >= 0.0
    cuts = np.flatnonzero(keep[1:] != keep[:-1])
    a, b = dense[cuts], dense[cuts + 1]
    at_a = keep[cuts]
    for _ in range(40 if len(cuts) else 0):
        middle = 0.5 * (a + b)
        same = (lead(middle) >= 0.0) == at_a
        a = np.where(same[:, None], middle, a)
        b = np.where(same[:, None], b, middle)
    edges = [0, *(cuts + 1).tolist(), len(dense)]
    pieces = []
    for n, (start, stop) in enumerate(itertools.pairwise(edges)):
        if not keep[start]:
            continue
        before = [a[n - 1][None]] if n > 0 else []
        after = [a[n][None]] if n < len(cuts) else []
        pieces.append(np.concatenate([*before, dense[start:stop], *after]))
    return pieces


def _probabilities(view: View, extent: Extent) -> tuple[np.ndarray, dict[float, list[np.ndarray]]]:
    """A shading by probabilities, and for two classes contours."""
    planes, k = view.planes(), len(view.classes)
    if k > 2:
        return Field(view.probabilities, extent).values, {}
    if planes is not None:
        w, b = planes[0][1] - planes[0][0], float(planes[1][1] - planes[1][0])
        factor = float(getattr(view.model, "steepness", 1.0))
        places = _grid(extent, 3)
        if np.allclose(
            view.probabilities(places)[:, 1], expit(factor * (places @ w + b)), atol=1e-9
        ):
            # A sigmoid of the score: contours are lines, and nothing else is to be evaluated.
            plane = Hyperplane(w, b)
            contours = {p: _shifted(plane, logit(p) / factor, extent) for p in _LEVELS if p != 0.5}
            shown = expit(factor * (_grid(extent) @ w + b)).reshape(_PIXELS, _PIXELS)
            return shown, contours
    field = Field(lambda points: view.probabilities(points)[:, 1], extent, levels=_LEVELS)
    contours = {p: field.lines(p) for p in _LEVELS}
    some = np.concatenate([np.empty((0, 2)), *itertools.chain(*contours.values())])
    some = some[:: max(1, len(some) // 100)]
    step = _STEP * np.array([extent[1] - extent[0], extent[3] - extent[2]])
    around = [view.probabilities(some + step * way)[:, 1] for way in _WAYS] if len(some) else []
    if around:
        change = np.ptp(around, axis=0)
        if np.median((change == 0.0) | (change > _JUMP)):
            return field.values, {}
    # Where probabilities never contradict scores, 1/2 is on the boundary, which is drawn anyway.
    places = _grid(extent, 16)
    if np.all((view.probabilities(places)[:, 1] - 0.5) * view.scores(places) >= 0.0):
        del contours[0.5]
    return field.values, contours


def _strength(values: np.ndarray, shade: str | None) -> np.ndarray:
    """From -1 to 1, 0 on the boundary."""
    if shade == "probability":
        return 2.0 * values - 1.0
    # Scores have no largest value; a few in a corner would leave the rest pale.
    size = float(np.median(np.abs(values))) or 1.0
    return np.asarray(values / (size + np.abs(values)))


def _compound(polygons: list[list[np.ndarray]]) -> Path:
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


def _distinct(values: list[float], least: float) -> list[float]:
    out: list[float] = []
    for value in values:
        if not out or value - out[-1] > least:
            out.append(value)
    return out


def _nearest(place: np.ndarray, lines: list[np.ndarray], size: np.ndarray) -> float:
    """How far the nearest polyline is, in shares of the axes."""
    least = np.inf
    for line in lines:
        a, step = line[:-1] / size, np.diff(line, axis=0) / size
        off = place / size - a
        length = np.maximum((step**2).sum(axis=1), 1e-300)
        t = np.clip((off * step).sum(axis=1) / length, 0.0, 1.0)
        least = min(
            least, float(np.linalg.norm(off - t[:, None] * step, axis=1).min(initial=np.inf))
        )
    return least


def _label_place(
    lines: list[np.ndarray], origin: np.ndarray, size: np.ndarray, taken: list[np.ndarray]
) -> np.ndarray | None:
    """A point of a contour well inside the axes, far from the labels that are there."""
    if not lines:
        return None
    line = max(lines, key=lambda v: float(np.hypot(*(np.diff(v, axis=0) / size).T).sum()))
    share = np.linspace(0.06, 0.94, 45)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*(np.diff(line, axis=0) / size).T))])
    if along[-1] < 0.05:
        return None
    t = share * along[-1]
    places = np.stack([np.interp(t, along, line[:, c]) for c in (0, 1)], axis=1)
    unit = (places - origin) / size
    room = np.minimum(unit, 1.0 - unit).min(axis=1)
    room = np.minimum(room, 0.06) * 4.0
    if taken:
        gaps = np.linalg.norm(unit[:, None] - np.array(taken), axis=2).min(axis=1)
        if gaps.max() < 0.05:
            return None
        room = room + np.minimum(gaps, 0.15)
    # Among equals the one nearest to the bottom, where the eye looks for a scale.
    return np.asarray(places[int(np.argmax(room - 0.05 * unit[:, 1]))])
