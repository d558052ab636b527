"""Regions and boundaries of any classifier."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, PathPatch
from scipy.special import expit, logit

from separatrix.data.validation import check_choice
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.boundaries import (
    borders,
    difference,
    extent_of,
    points_of,
    regions_of,
    surfaces_of,
)
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import as_model, positive_numbers
from separatrix.plots.planar import Extent, along, box, compound, pixel_middles
from separatrix.plots.points import (
    Panels,
    axes_row,
    draw_lines,
    drawn,
    fill_regions,
    marker_size,
    one_axes,
    padded,
    place_text,
    scatter_classes,
    write_legend,
    write_note,
)
from separatrix.plots.space import axes_in_space
from separatrix.plots.style import class_colours, ink, muted, paper, plain, plain_all
from separatrix.plots.view import View
from separatrix.plots.zero_set import Field, curves_in

# Contours of the probability of two classes.
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
# Pixels along a side of a shading, and points along a side of a surface.
_PIXELS = 200
_MESH = 48
# Contours that are shorter than this share of the axes get no label.
_SHORT = 0.05
# The opacity of a region, and the largest of a shading, so that points stand out.
_TINT = 0.17
_FULL = 0.36
# A probability that changes by more than _JUMP within the share _STEP of the extent, or not at all,
# is a step function, which has no contours.
_JUMP, _STEP = 0.02, 1e-5

_WAYS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionDisplay(Display):
    """Regions, boundary, scores and probabilities of a classifier, in two dimensions.

    Lines and conics are exact; other boundaries are level sets, solved for on a grid that is fine
    where they are.  Points with more than two features are shown by a view that states what it
    shows (see ``note``).

    Parameters
    ----------
    view : View
        The map from features to the two coordinates, with the model's scores on the plane.
    extent : (float, float, float, float)
        Left, right, bottom and top.
    boundary : list of ndarray of shape (k, 2)
        Polylines on which two classes win equally.
    regions : list of K lists of lists of ndarray of shape (k, 2)
        The polygons of every class, each an outline and its holes.
    contours : dict of float to list of ndarray of shape (k, 2)
        The lines on which the probability of the second class has these values.
    image : ndarray of shape (m, m), or (m, m, K), optional
        The values that are shaded, rows from bottom to top: the probability or score of the second
        of two classes, or those of each of more.
    points : ndarray of shape (n, 2), optional
    codes : ndarray of int, shape (n,), optional
        The classes of the points, as positions in ``view.classes``.
    shade : {"class", "score", "probability"} or None
    surface : bool
        Whether to draw the image in three dimensions.

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

    view: View
    extent: Extent
    boundary: list[np.ndarray]
    regions: list[list[list[np.ndarray]]]
    contours: dict[float, list[np.ndarray]] = field(default_factory=dict)
    image: np.ndarray | None = None
    points: np.ndarray | None = None
    codes: np.ndarray | None = None
    shade: str | None = "class"
    surface: bool = False

    @property
    def note(self) -> str:
        """The note below a picture that does not show two features as they are."""
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
            A fitted classifier, of any library, also a pipeline; or a
            :class:`~separatrix.Hyperplane` or a pair ``(w, b)``.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows that determine the part of the plane that is shown.
        y : array-like of shape (n_samples,), optional
            Labels; the points are drawn if there are any.
        features : two names or positions of columns, optional
            The columns of the slice to show.  By default the view that shows most without
            distortion: for a linear model of more than two columns, the distance from the
            hyperplane across.
        at : array-like of shape (n_features,), or dict of names or positions to values, optional
            The point that the slice goes through; columns not given are held at their medians.
        classes : two labels, optional
            The two classes to show, of a model of more.
        shade : {"class", "score", "probability"} or None, default="class"
            One tint a region; or a tint that grows with the size of the score, half as strong as
            can be at the median of the sizes; or one that grows with the probability, with contours
            at 0.1, 0.25, 0.5, 0.75 and 0.9 for two classes, if the probability does not jump.
        surface : bool, default=False
            Whether to draw the probability of the second class as a surface over the plane, with
            the points at heights 0 and 1 and the line where it is 1/2.
        ax : Axes, optional
        **kwargs
            Passed to ``plot``.

        Returns
        -------
        DecisionDisplay

        Raises
        ------
        TypeError
            For a model that is not a fitted classifier, or for probabilities that it lacks.
        ValueError
            For data, labels, columns or choices that do not fit.
        """
        check_choice("shade", shade, ["class", "score", "probability", None])
        model = as_model(model, y)
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
                    f"surface=True draws probabilities, and {type(model).__name__} has no "
                    "predict_proba."
                )
        points, codes = points_of(view, X, y)
        extent = extent_of(points, through_zero=view.kind == "distance")
        draw = cls._line if view.kind == "line" else cls._plane
        display = draw(view, extent, shade)
        if codes is not None:
            display.points, display.codes = points, codes
        display.surface = surface
        return display.plot(ax=ax, **kwargs)

    # --- what is computed -----------------------------------------------------------------------

    @classmethod
    def _plane(cls, view: View, extent: Extent, shade: str | None) -> DecisionDisplay:
        planes, k = view.planes(), len(view.classes)
        image: np.ndarray | None = None
        contours: dict[float, list[np.ndarray]] = {}
        grid: Any
        regions, grid = regions_of(view.scores, planes, extent)
        exact = surfaces_of(view)
        if exact is not None:
            scores = view.scores if planes is None else partial(_linear, *planes)
            boundary = list(itertools.chain(*borders(scores, exact, extent).values()))
        else:
            boundary = grid.borders()
        if shade == "score":
            image = grid.values if planes is None else _linear_image(*planes, extent)
            image = image[..., 1] - image[..., 0] if planes is not None and k == 2 else image
        if shade == "probability":
            image, contours = _probabilities(view, extent)
        return cls(
            view=view,
            extent=extent,
            boundary=boundary,
            regions=regions,
            contours=contours,
            image=image,
            shade=shade,
        )

    @classmethod
    def _line(cls, view: View, extent: Extent, shade: str | None) -> DecisionDisplay:
        """Draw a single feature: intervals by class, and the curve of the score or probability."""
        left, right = extent[:2]
        k, planes, flat = len(view.classes), view.planes(), (left, right, 0.0, 1.0)
        if planes is not None and k == 2:
            lines = curves_in(difference(planes), flat)
        else:
            lines = Field(view.scores, flat, halvings=3).borders()
        cuts: list[float] = []
        for place in sorted(float(line[0, 0]) for line in lines):
            # Two classes' outlines have the same end.
            if not cuts or place - cuts[-1] > 1e-4 * (right - left):
                cuts.append(place)
        stretches = list(itertools.pairwise([left, *cuts, right]))
        winners = view.codes(view.scores(np.array([[0.5 * (a + b), 0.0] for a, b in stretches])))
        places = np.stack([np.linspace(left, right, 400), np.zeros(400)], axis=1)
        image = view.probabilities(places) if shade == "probability" else view.scores(places)
        if image.ndim == 2 and k == 2:
            image = image[:, 1]
        low, high = (0.0, 1.0) if shade == "probability" else (image.min(), image.max())
        extent = (left, right, *padded(low, high, 0.06))
        regions: list[list[list[np.ndarray]]] = [[] for _ in range(k)]
        for (a, b), code in zip(stretches, winners, strict=True):
            regions[code].append([box((a, extent[2]), (b, extent[3]))])
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
            Axes with ``projection="3d"`` for a surface.
        legend : bool, default=True
            Whether to draw a legend beside the axes.
        note : bool, default=True
            Whether to write above the axes what is shown, where it is not two features as they are.

        Returns
        -------
        self
        """
        if self.surface:
            return self._plot_surface(ax, legend)
        self._begin(one_axes(ax, (6.4, 4.4)))
        ax, labels = self.ax_, self.view.classes.tolist()
        colours = class_colours(len(labels))
        self.regions_: list[PathPatch] = []
        self.image_: Any = []
        self.contours_: LineCollection | None = None
        if self.view.kind == "line":
            self._plot_curve(ax, colours)
        elif self.shade == "class":
            self.regions_ = fill_regions(ax, self.regions, colours, alpha=_TINT, zorder=1.0)
        elif self.image is not None:
            self._plot_image(ax, colours, self.image)
        self.boundary_: Any = draw_lines(ax, self.boundary, 1.8, zorder=2.6, capstyle="butt")
        if self.contours:
            lines = itertools.chain(*self.contours.values())
            self.contours_ = draw_lines(ax, lines, 0.8, zorder=2.4, alpha=0.75)
        self.points_ = []
        if self.points is not None and self.codes is not None:
            placed = self._placed(self.points, self.codes)
            self.points_ = scatter_classes(ax, placed, self.codes, labels)
        ax.set(xlim=self.extent[:2], ylim=(self._bottom(), self.extent[3]))
        ax.set_xlabel(self.view.xlabel)
        if self.view.kind != "line":
            ax.set_ylabel(self.view.ylabel)
        if self.contours:
            self._label_contours(ax)
        handles: list[Any] = list(self.points_)
        if not handles and self.shade is not None:
            looks: Looks = {"alpha": 0.5, "lw": 0}
            named = zip(colours, plain_all(labels), strict=True)
            handles = [Patch(color=colour, label=name, **looks) for colour, name in named]
        if legend and handles:
            write_legend(ax, handles)
        if note:
            write_note(ax, self.note)
        return self

    def _bottom(self) -> float:
        """The lower limit of the axes; the points of a single feature are below its curve."""
        low, high = self.extent[2:]
        if self.view.kind != "line" or self._on_curve() or self.points is None:
            return low
        return low - 0.07 * (high - low) * len(self.view.classes)

    def _on_curve(self) -> bool:
        """Whether points of a single feature are at the heights 0 and 1 of the probability."""
        return self.shade == "probability" and len(self.view.classes) == 2

    def _placed(self, points: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The places of the points; those of a single feature are in a row for each class."""
        if self.view.kind != "line":
            return points
        low, high = self.extent[2:]
        heights = low - 0.07 * (high - low) * (np.arange(len(self.view.classes)) + 0.3)
        if self._on_curve():
            heights = np.array([0.0, 1.0])
        return np.stack([points[:, 0], heights[codes]], axis=1)

    def _plot_image(self, ax: Axes, colours: list[str], image: np.ndarray) -> None:
        options: Any = {"origin": "lower", "interpolation": "bilinear", "aspect": "auto"}
        options |= {"extent": self.extent, "zorder": 0.9}
        tints = np.array([to_rgb(colour) for colour in colours])
        if image.ndim == 2:
            strength = _strength(image, self.shade)
            tint = np.where(strength[..., None] < 0.0, *tints)
            tint = np.concatenate([tint, _FULL * np.abs(strength)[..., None]], axis=2)
            self.image_ = [ax.imshow(tint, **options)]
            return
        first, second = -np.sort(-image, axis=2)[..., :2].transpose(2, 0, 1)
        if self.shade == "probability":
            k = image.shape[2]
            strength = (first - 1.0 / k) / (1.0 - 1.0 / k)
        else:
            strength = _strength(first - second, "score")
        alpha = _FULL * np.clip(strength, 0.0, 1.0)[..., None]
        for polygons, colour in zip(self.regions, tints, strict=True):
            if polygons:
                flat = np.broadcast_to(colour, (*alpha.shape[:2], 3))
                drawn = ax.imshow(np.concatenate([flat, alpha], axis=2), **options)
                drawn.set_clip_path(compound(polygons), transform=ax.transData)
                self.image_.append(drawn)

    def _label_contours(self, ax: Axes) -> None:
        left, right, bottom, top = self.extent
        size = np.array([right - left, top - bottom])
        sheet = {"facecolor": paper(), "alpha": 0.8, "linewidth": 0.0, "pad": 1.0}
        looks: Looks = {"fontsize": "x-small", "zorder": 4.0, "bbox": sheet, "seen": drawn(ax)}
        for level, lines in {0.5: self.boundary, **self.contours}.items():
            longest = max(lines, key=len, default=np.zeros((1, 2)))
            if np.ptp(longest / size, axis=0).max() < _SHORT:
                continue
            places = along(longest, np.linspace(0.06, 0.94, 30), size)
            # Among equals the one nearest to the bottom, where the eye looks for a scale.
            places = places[np.argsort(places[:, 1], kind="stable")]
            # It is on its own line, and could belong to any other that it covers.
            place_text(ax, f"{level:g}", places, ways=[(0, 0)], gap=0.0, most=1, **looks)

    def _plot_curve(self, ax: Axes, colours: list[str]) -> None:
        if self.shade is not None:
            self.regions_ = fill_regions(ax, self.regions, colours, alpha=_TINT, zorder=1.0)
        assert self.image is not None
        x = np.linspace(*self.extent[:2], len(self.image))
        what = "probability" if self.shade == "probability" else "score"
        if self.image.ndim == 1:
            self.curve_ = ax.plot(x, self.image, color=ink(), lw=1.4, zorder=2.7)
            if what == "score":
                ax.axhline(0.0, color=muted(), lw=0.8, zorder=1.5)
        else:
            self.curve_ = ax.plot(x, self.image, lw=1.6, zorder=2.7)
            for line, colour in zip(self.curve_, colours, strict=True):
                line.set_color(colour)
        label = f"{what} of each class"
        if len(self.view.classes) == 2:
            of = f"probability of {plain(self.view.classes[1])}"
            label = self.view.ylabel if what == "score" else of
        ax.set_ylabel(label)

    def _plot_surface(self, ax: Any, legend: bool) -> DecisionDisplay:
        of = f"probability of {plain(self.view.classes[1], 24)}"
        ax = axes_in_space(ax, (self.view.xlabel, self.view.ylabel, of))
        self._begin(ax)
        left, right, bottom, top = self.extent
        x, y = np.meshgrid(np.linspace(left, right, _MESH), np.linspace(bottom, top, _MESH))
        p = self.view.probabilities(np.stack([x.ravel(), y.ravel()], axis=1))[:, 1]
        p = p.reshape(_MESH, _MESH)
        sheet, ends = np.array(to_rgb(paper())), [np.array(to_rgb(c)) for c in class_colours(2)]
        share = 0.1 + 0.5 * np.abs(2.0 * p - 1.0)[..., None]
        tint = sheet + (np.where(p[..., None] < 0.5, *ends) - sheet) * share
        looks = {"facecolors": tint, "shade": False, "antialiased": False, "alpha": 0.6}
        self.image_ = ax.plot_surface(x, y, p, rstride=1, cstride=1, linewidth=0.0, **looks)
        self.boundary_ = []
        for line in self.boundary:
            for height, dashes, width in ((0.5, "-", 1.8), (0.0, ":", 1.2)):
                looks = {"color": ink(), "lw": width, "ls": dashes, "zorder": 10}
                self.boundary_ += ax.plot(*line.T, height, **looks)
        self.points_ = []
        if self.points is not None and self.codes is not None:
            # At heights 0 and 1, in full strength: the sheet is pale.
            own = np.column_stack([self.points, self.codes])
            looks = {"s": 20.0 if len(own) < 500 else 8.0, "alpha": None, "linewidths": 0.4}
            looks |= {"depthshade": False, "zorder": 12}
            self.points_ = scatter_classes(ax, own, self.codes, self.view.classes.tolist(), **looks)
        ax.set(xlim=(left, right), ylim=(bottom, top), zlim=(0.0, 1.0))
        ax.set_zticks([0.0, 0.25, 0.5, 0.75, 1.0])
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
        r"""Draw the same boundary with longer and longer weights, and the sigmoid across it.

        Multiplying ``w`` and ``b`` by a number leaves the boundary where it is; the probability
        :math:`1 / (1 + \exp(-s |w| t))` at the distance t from it rises with the slope
        :math:`s |w| / 4`.  Above the plane, below the sigmoid with the points at heights 0 and 1.

        Parameters
        ----------
        model : object
            A linear model of two classes, or a hyperplane.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        scales : sequence of positive float, default=(0.5, 1, 2, 5)
        ax : array-like of twice as many Axes as scales, optional
            The planes first, then the sigmoids.

        Returns
        -------
        sequence of DecisionDisplay
            One display a scale; ``curve_`` is its sigmoid.  The sequence has ``axes_`` and
            ``figure_``.

        Raises
        ------
        TypeError
            If the model is not linear, or has more classes.
        ValueError
            If a scale is not positive.
        """
        view = View.of(as_model(model, y), X)
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
        # A steepness multiplies the argument of the sigmoid.
        base, plane = float(getattr(view.model, "steepness", 1.0)), difference(planes)
        w, b = base * plane.w, base * plane.b
        norm = float(np.hypot(*w))
        if norm == 0.0:
            raise ValueError("The weights are all zero, so there is no boundary and no steepness.")
        axes = axes_row(ax, 2 * len(factors), columns=len(factors), panel=(2.5, 2.4))
        boundary, score = curves_in(difference(planes), extent), _linear_image(w, b, extent)
        out = []
        for i, (factor, upper, lower) in enumerate(zip(factors, *np.split(axes, 2), strict=True)):
            display = cls(
                view=view,
                extent=extent,
                boundary=boundary,
                regions=[],
                contours=_parallels(Hyperplane(w * factor, b * factor), 1.0, extent),
                image=expit(factor * score),
                points=points,
                codes=codes,
                shade="probability",
            )
            display.plot(ax=upper, legend=False, note=False)
            display._plot_sigmoid(lower, (points @ w + b) / norm, factor * norm)
            upper.set_title(f"{factor:g} × w,  |w| = {factor * norm:.3g}")
            upper.set_xlabel(textwrap.fill(view.xlabel, 24))
            upper.set_ylabel("" if i else textwrap.fill(view.ylabel, 24))
            if i:
                lower.set_ylabel("")
                upper.tick_params(labelleft=False)
                lower.tick_params(labelleft=False)
            out.append(display)
        write_legend(axes[len(factors) - 1], out[-1].points_)
        return Panels(out, axes)

    def _plot_sigmoid(self, ax: Axes, distances: np.ndarray, norm: float) -> None:
        """The sigmoid across the boundary, its tangent there, and the points at 0 and 1."""
        assert self.codes is not None
        reach = float(np.abs(distances).max()) or 1.0
        t = np.linspace(-reach, reach, 401)
        ax.axvline(0.0, color=ink(), lw=1.2, zorder=1.5)
        ax.axhline(0.5, color=muted(), lw=0.6, zorder=1.4)
        self.curve_ = ax.plot(t, expit(norm * t), color=ink(), lw=1.6, zorder=2.5)
        size, labels = 0.5 * marker_size(len(distances)), self.view.classes.tolist()
        for points in self.points_:
            points.set_sizes([size])
        places = np.stack([distances, self.codes.astype(float)], axis=1)
        scatter_classes(ax, places, self.codes, labels, s=size)
        # The tangent at the boundary, as far as it goes from 0 to 1.
        ends = min(2.0 / norm, reach) * np.array([-1.0, 1.0])
        ax.plot(ends, 0.5 + 0.25 * norm * ends, color=muted(), lw=1.0, ls="--", zorder=2.0)
        known = hasattr(self.view.model, "predict_proba")
        what = f"probability of\n{plain(labels[1], 24)}" if known else "sigmoid of the score"
        ax.set(xlim=(-1.04 * reach, 1.04 * reach), ylim=(-0.08, 1.08), ylabel=what)
        ax.set_yticks([0.0, 0.5, 1.0])
        ax.set_xlabel("distance from\nthe boundary")


# --- parts of it ---------------------------------------------------------------------------------


def _linear(coef: np.ndarray, intercept: Any, points: np.ndarray) -> np.ndarray:
    return np.asarray(points @ coef.T + intercept)


def _linear_image(coef: np.ndarray, intercept: Any, extent: Extent) -> np.ndarray:
    """One linear score, or several, in every pixel of a shading."""
    scores = _linear(coef, intercept, pixel_middles(extent, _PIXELS, _PIXELS))
    return scores.reshape(_PIXELS, _PIXELS, *scores.shape[1:])


def _parallels(plane: Hyperplane, factor: float, extent: Extent) -> dict[float, list[np.ndarray]]:
    """Contours of the sigmoid of a score, without 1/2: the boundary, which is drawn anyway."""
    return {p: curves_in(plane, extent, logit(p) / factor) for p in _LEVELS if p != 0.5}


def _probabilities(view: View, extent: Extent) -> tuple[np.ndarray, dict[float, list[np.ndarray]]]:
    """A shading by probabilities, and for two classes contours."""
    planes = view.planes()
    if len(view.classes) > 2:
        return Field(view.probabilities, extent).values, {}

    def second(points: np.ndarray) -> np.ndarray:
        return np.asarray(view.probabilities(points)[:, 1])

    if planes is not None:
        plane, factor = difference(planes), float(getattr(view.model, "steepness", 1.0))
        places = pixel_middles(extent, 3, 3)
        if np.allclose(second(places), expit(factor * (places @ plane.w + plane.b)), atol=1e-9):
            # A sigmoid of the score: contours are lines, and nothing else is to be evaluated.
            image = expit(factor * _linear_image(plane.w, plane.b, extent))
            return image, _parallels(plane, factor, extent)
    grid = Field(second, extent, levels=_LEVELS)
    contours = {p: grid.lines(p) for p in _LEVELS}
    some = np.concatenate([np.empty((0, 2)), *itertools.chain(*contours.values())])
    some = some[:: max(1, len(some) // 100)]
    step = _STEP * np.array([extent[1] - extent[0], extent[3] - extent[2]])
    if len(some):
        change = np.ptp([second(some + step * way) for way in _WAYS], axis=0)
        if np.median((change == 0.0) | (change > _JUMP)):
            return grid.values, {}
    # Where probabilities never contradict scores, 1/2 is on the boundary.
    places = pixel_middles(extent, 16, 16)
    if np.all((second(places) - 0.5) * view.scores(places) >= 0.0):
        del contours[0.5]
    return grid.values, contours


def _strength(values: np.ndarray, shade: str | None) -> np.ndarray:
    """The strength of a shading, from -1 to 1, and 0 on the boundary."""
    if shade == "probability":
        return 2.0 * values - 1.0
    # Scores have no largest value; a few in a corner would leave the rest pale.
    size = float(np.median(np.abs(values))) or 1.0
    return np.asarray(values / (size + np.abs(values)))
