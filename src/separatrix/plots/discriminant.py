"""Gaussian discriminants as pictures: ellipses of stated mass, and the borders they imply."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, PathPatch
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import AutoLocator
from scipy.stats import chi2, norm

from separatrix.data.validation import check_number
from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.boundaries import borders, regions_of
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import (
    class_codes,
    column_names,
    dense,
    labelled_rows,
    quietly,
    two_columns,
    two_labels,
)
from separatrix.plots.planar import Extent, ellipse_of, span_of
from separatrix.plots.points import (
    fill_regions,
    one_axes,
    scatter_classes,
    set_limits,
    write_legend,
    write_note,
)
from separatrix.plots.style import class_colours, class_looks, ink, muted, paper, plain

# Cells along a side of the coarse grid on which regions, some of them slender, are sought.
_CELLS = 64
# The largest number of classes whose boundaries are drawn whole, faint where a third class wins.
_WHOLE = 3


@dataclass(kw_only=True, eq=False, repr=False)
class DiscriminantDisplay(Display):
    r"""Gaussian classes: ellipses of stated mass, means, regions and their exact borders.

    The ellipse of mass m holds the share m of the class's Gaussian: its Mahalanobis radius is
    :math:`r^2 = F^{-1}_{\chi^2_2}(m)`.  The border of two regions is the conic, or the line, on
    which the discriminants of their classes are equal and no third one is larger; where a third
    class wins it is faint, or left out.

    For models with more than two features the picture shows

    - for a linear analysis, the discriminant coordinates of ``transform``: with three classes the
      first two, which decide everything; with two the first, as densities; with more the first
      two, whose borders are those of the reduced-rank analysis, as a note says;
    - for a quadratic analysis, or with ``features``, two columns with the marginal Gaussians in
      them; the borders are those of the marginal Gaussians, as a note says.

    One column, or one coordinate, is drawn as densities times priors.

    Parameters
    ----------
    discriminant : Discriminant
        The discriminant in the one or two coordinates of the picture.
    means : ndarray of shape (K, p)
        The means of the classes; ``p`` is 1 or 2.
    covariances : ndarray of shape (K, p, p)
    priors : ndarray of shape (K,)
    classes : sequence of K labels
    axis_names : sequence of str
        The names of the axes, ready to draw.
    mass : sequence of float, default=(0.5, 0.9)
        The shares of each Gaussian that its ellipses hold, between 0 and 1.
    pairs : sequence of pairs of labels, optional
        The pairs of classes whose boundaries are drawn whole.
    points : ndarray of shape (n, p), optional
    codes : ndarray of int of shape (n,), optional
    note : str, default=""
        A note on what the picture leaves out.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    ellipses_ : list of K lists of Ellipse
        One for each mass; for one coordinate, K lists of (low, high).
    means_ : list of PathCollection
    borders_ : dict of (label, label) to list of Line2D
        The borders between regions.
    faint_ : dict of (label, label) to list of Line2D
        The parts of boundaries where a third class wins.
    points_ : list of PathCollection
    regions_ : list of PathPatch
        One for each class; none for one coordinate.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems.  Hastie, Tibshirani and
    Friedman, *The Elements of Statistical Learning* (2009), section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import QuadraticDiscriminantAnalysis
    >>> from separatrix.plots import DiscriminantDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X[:, 2:], y)
    >>> display = DiscriminantDisplay.from_estimator(model, X[:, 2:], y)
    >>> sorted(display.borders_)
    [(0, 1), (0, 2), (1, 2)]
    >>> small, large = display.ellipses_[0]  # of the first class, for half and for 0.9
    >>> round(large.width / small.width, 4)
    1.8226
    """

    discriminant: Discriminant
    means: np.ndarray
    covariances: np.ndarray
    priors: np.ndarray
    classes: Sequence[Any]
    axis_names: Sequence[str]
    mass: Sequence[float] = (0.5, 0.9)
    pairs: Any = None
    points: np.ndarray | None = None
    codes: np.ndarray | None = None
    note: str = ""

    def __post_init__(self) -> None:
        self.classes = list(self.classes)
        if self.pairs is None:
            every = itertools.combinations(self.classes, 2)
            self.pairs = set(every) if len(self.classes) <= _WHOLE else set()
        else:
            self.pairs = {two_labels("a pair", pair, self.classes) for pair in self.pairs}

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        mass: Sequence[float] | float = (0.5, 0.9),
        pairs: Iterable[tuple[Any, Any]] | None = None,
        features: tuple[Any, Any] | None = None,
        ax: Axes | None = None,
        note: bool = True,
    ) -> DiscriminantDisplay:
        """Draw a fitted analysis.

        Parameters
        ----------
        model : estimator
            :class:`~separatrix.LinearDiscriminantAnalysis` or
            :class:`~separatrix.QuadraticDiscriminantAnalysis`, or scikit-learn's (the linear one
            with ``store_covariance=True`` where two of more columns are drawn).
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            Points to draw; of a sparse matrix only the columns shown are read.
        y : array-like of shape (n_samples,), optional
            The labels of the points.
        mass : sequence of float, default=(0.5, 0.9)
            Shares of each Gaussian that its ellipses hold.
        pairs : sequence of pairs of labels, optional
            The pairs of classes whose boundaries are drawn whole, faint where a third class wins;
            by default all pairs of up to three classes, and none of more.
        features : pair of int or str, optional
            Two columns to draw, with the marginal Gaussians in them.
        ax : Axes, optional
        note : bool, default=True
            Whether to write above the axes what is shown, where it is not two columns as they are;
            False where a caption does.

        Returns
        -------
        DiscriminantDisplay

        Raises
        ------
        TypeError
            If the model has no means, covariances and priors.
        ValueError
            For a mass outside (0, 1), labels or columns that are not the model's, or only one of
            ``X`` and ``y``.
        """
        masses = _masses(mass)
        if (X is None) != (y is None):
            raise ValueError("give both X and y, or neither.")
        found = Discriminant.from_model(model)
        if not hasattr(model, "means_") or not hasattr(model, "priors_"):
            raise TypeError(
                f"{type(model).__name__} has no Gaussians (means_ and priors_) to draw; "
                "DecisionDisplay draws its regions."
            )
        known = found.classes.tolist()
        if not isinstance(pairs, Iterable | None):
            raise TypeError(f"pairs={pairs!r} must be a list of pairs of labels.")
        gaussians, read = _gaussians(model, found, features)
        if X is not None:
            gaussians["points"], gaussians["codes"] = _points(model, found, X, y, read)
        display = cls(classes=known, mass=tuple(sorted(masses)), pairs=pairs, **gaussians)
        return display.plot(ax, note=note)

    def plot(self, ax: Axes | None = None, *, note: bool = True) -> DiscriminantDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        note : bool, default=True
            Whether to write above the axes what is shown.

        Returns
        -------
        DiscriminantDisplay
        """
        in_plane = self.means.shape[1] == 2
        self._begin(one_axes(ax, (6.4, 4.8) if in_plane else (6.4, 4.0)))
        self.ellipses_: list[list[Any]] = []
        self.borders_: dict[tuple[Any, Any], list[Line2D]] = {}
        self.faint_: dict[tuple[Any, Any], list[Line2D]] = {}
        self.points_: list[Any] = []
        self.means_: list[Any] = []
        self.regions_: list[PathPatch] = []
        k = len(self.classes)
        draw = self._plot_plane if in_plane else self._plot_densities
        draw(self.ax_, class_colours(k))
        shares = [f"{100 * m:.4g} %" for m in self.mass]
        mass = " and ".join(filter(None, [", ".join(shares[:-1]), shares[-1]]))
        what = "ellipses hold" if in_plane else "ellipses contain"
        point: Looks = {"ls": "", "mec": paper(), "mew": 0.5, "ms": 7}
        handles = [
            Line2D([], [], label=plain(label, 24), **look, **point)
            for label, look in zip(self.classes, class_looks(k), strict=True)
        ]
        write_legend(self.ax_, handles)
        write_note(self.ax_, self.note if note else "", f"{what} {mass} of each Gaussian")
        return self

    # --- two coordinates ----------------------------------------------------------------------

    def _plot_plane(self, ax: Axes, colours: list[str]) -> None:
        low, high = self._extent()
        extent = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
        planes = self.discriminant._planes  # type: ignore[attr-defined]
        regions, _ = regions_of(self.discriminant.decision, planes, extent, cells=_CELLS)
        self.regions_ = fill_regions(ax, regions, colours, alpha=0.13, zorder=0.5)
        if self.points is not None and self.codes is not None:
            crowd: Looks = {}
            if len(colours) > 4:
                # Means and ellipses are the message, points the background.
                n = len(self.points)
                crowd["s"] = float(np.clip(14.0 * (400.0 / n) ** 0.5, 3.0, 14.0))
                crowd["alpha"] = float(np.clip((300.0 / n) ** 0.5, 0.15, 0.6))
            own = ax, self.points, self.codes, self.classes
            self.points_ = scatter_classes(*own, zorder=1.5, **crowd)
        for j, colour in enumerate(colours):
            self.ellipses_.append([ax.add_patch(self._ellipse(j, m, colour)) for m in self.mass])
        self._plot_borders(ax, extent)
        edge: Looks = {"edgecolors": ink(), "linewidths": 1.5, "zorder": 5}
        for (x, y), look in zip(self.means, class_looks(len(colours)), strict=True):
            self.means_.append(ax.scatter(x, y, s=95, **{**look, **edge}))
        span = high - low
        set_limits(ax, low, high, equal=self.spherical and 0.4 < span[1] / span[0] < 1.5)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])

    @property
    def spherical(self) -> bool:
        """Whether all ellipses are circles of one size."""
        return bool(np.all(self.covariances == np.eye(self.means.shape[1])))

    def _ellipse(self, j: int, mass: float, colour: str) -> Ellipse:
        """The ellipse about the mean of a class that holds the stated mass of its Gaussian."""
        half, angle = ellipse_of(self.covariances[j], mass)
        innermost = mass == self.mass[0]
        # Fills of many classes would add up to mud.
        tint = 0.16 if innermost and len(self.classes) <= 4 else 0.0
        # Or points of the same colour would hide it.
        halo = [_Halo(linewidth=3.2, foreground=to_rgba(paper(), 0.7)), Normal()]
        looks: Looks = {"facecolor": to_rgba(colour, tint), "edgecolor": to_rgba(colour, 1.0)}
        looks |= {"lw": 1.5 if innermost else 1.2, "zorder": 2.0, "path_effects": halo}
        centre = (float(self.means[j, 0]), float(self.means[j, 1]))
        return Ellipse(centre, *(2.0 * half).tolist(), angle=math.degrees(angle), **looks)

    def _extent(self) -> tuple[np.ndarray, np.ndarray]:
        """The limits of the points and the largest ellipses, a little enlarged."""
        radius = math.sqrt(chi2.ppf(max(self.mass), 2))
        reach = radius * np.sqrt(np.einsum("kjj->kj", self.covariances))
        points = self.means[:0] if self.points is None else self.points
        low, high, span = span_of(np.vstack([self.means - reach, self.means + reach, points]))
        return low - 0.05 * span, high + 0.05 * span

    def _plot_borders(self, ax: Axes, extent: Extent) -> None:
        """Draw the lines on which two classes are equal, faint where a third class wins."""
        known, scores = self.classes, self.discriminant.decision
        surfaces = {
            (i, j): self.discriminant.boundary(known[i], known[j])
            for i, j in itertools.combinations(range(len(known)), 2)
        }
        border: Looks = {"color": ink(), "lw": 1.8, "zorder": 3}
        faint: Looks = {"color": muted(), "lw": 0.9, "ls": (0, (5, 3)), "alpha": 0.8, "zorder": 1.8}
        whole = {
            key: v for key, v in surfaces.items() if tuple(known[i] for i in key) in self.pairs
        }
        parts = borders(scores, surfaces, extent), borders(scores, whole, extent, hidden=True)
        for kept, lines, looks in zip(
            (self.borders_, self.faint_), parts, (border, faint), strict=True
        ):
            for (i, j), pieces in lines.items():
                if pieces:
                    kept[known[i], known[j]] = [
                        line for piece in pieces for line in ax.plot(*piece.T, **looks)
                    ]

    # --- one coordinate -----------------------------------------------------------------------

    def _plot_densities(self, ax: Axes, colours: list[str]) -> None:
        means, sigmas = self.means[:, 0], np.sqrt(self.covariances[:, 0, 0])
        points = means[:0] if self.points is None else self.points[:, 0]
        values = np.concatenate([means - 3.6 * sigmas, means + 3.6 * sigmas, points])
        low, high = float(values.min()), float(values.max())
        grid = np.linspace(low, high, 801)
        tallest = 0.0
        for mean, sigma, prior, colour in zip(means, sigmas, self.priors, colours, strict=True):
            density = prior * norm.pdf(grid, mean, sigma)
            tallest = max(tallest, float(density.max()))
            near = np.abs(grid - mean) < 4.0 * sigma
            ax.plot(grid[near], density[near], color=colour, lw=1.8, zorder=3)
            reaches = [math.sqrt(chi2.ppf(m, 1)) * sigma for m in self.mass]
            parts = [(float(mean - reach), float(mean + reach)) for reach in reaches]
            for part in parts:
                inside = np.linspace(*part, 201)
                height = prior * norm.pdf(inside, mean, sigma)
                ax.fill_between(inside, 0.0, height, color=colour, alpha=0.16, lw=0, zorder=1)
            self.ellipses_.append(parts)
        # A row of marks for each class, below the axis.
        row, depth = 0.05 * tallest, 0.0
        if self.points is not None and self.codes is not None:
            depth = -row * (len(colours) + 0.8)
            marks = np.column_stack([self.points[:, 0], -row * (1.0 + self.codes)])
            own = ax, marks, self.codes, self.classes
            self.points_ = scatter_classes(*own, s=12.0, linewidths=0.0)
        ax.set(xlim=(low, high), ylim=(depth, 1.12 * tallest))
        ax.set(xlabel=self.axis_names[0], ylabel="prior × density")
        ax.axhline(0.0, color=muted(), lw=0.8)
        # Below zero are points, and no densities.
        ax.yaxis.set_major_locator(_FromZero())
        for first, second in itertools.combinations(self.classes, 2):
            i, j = self.classes.index(first), self.classes.index(second)
            for root in _roots(self.discriminant.boundary(first, second)):
                scores = self.discriminant.decision(np.array([[root]]))[0]
                third = np.delete(scores, [i, j])
                if low < root < high and not np.any(third > max(scores[i], scores[j])):
                    line = ax.axvline(root, color=ink(), lw=1.6, zorder=4)
                    self.borders_.setdefault((first, second), []).append(line)


class _Halo(Stroke):
    """An outline below a path, which leaves the tint within as it is."""

    def draw_path(
        self, renderer: Any, gc: Any, tpath: Any, affine: Any, rgbFace: Any = None
    ) -> None:
        nothing: Any = None
        super().draw_path(renderer, gc, tpath, affine, nothing)


class _FromZero(AutoLocator):
    """Ticks that are not negative."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        return [tick for tick in super().tick_values(max(vmin, 0.0), vmax) if tick >= 0.0]


# --- from models to what is drawn -------------------------------------------------------------


def _masses(mass: Any) -> tuple[float, ...]:
    values: list[Any] = [mass] if np.ndim(mass) == 0 else list(mass)
    if not values:
        raise ValueError("mass is empty; give at least one share, such as 0.9.")
    for value in values:
        check_number("mass", value, above=0.0)
        if value >= 1.0:
            raise ValueError(f"mass={value!r} must be below 1; no ellipse contains everything.")
    return tuple(float(value) for value in values)


def _gaussians(model: Any, found: Discriminant, features: Any) -> tuple[dict[str, Any], Any]:
    """The Gaussians in the coordinates of the picture, and the columns or the map for rows."""
    d, columns = found.n_features, column_names(found.names, found.n_features)
    priors = np.asarray(model.priors_, dtype=np.float64)
    means = np.asarray(model.means_, dtype=np.float64)
    if features is None and d > 2 and found.linear and hasattr(model, "transform"):
        own, means, note = _coordinates(model, found, means, priors)
        p = own.n_features
        names = tuple(f"discriminant coordinate {j + 1}" for j in range(p))
        covariances = np.repeat(np.eye(p)[None], found.n_classes, axis=0)
        read: Any = partial(_transformed, model, p)
    else:
        covariances, read = _covariances(model, found), tuple(range(d))
        if features is not None:
            read = two_columns(features, columns)
        elif d > 2:
            read = _most_apart(covariances, means, priors)
        covariances, means, own = covariances[:, read][:, :, read], means[:, read], found
        if read != tuple(range(d)):
            shared = np.all(covariances == covariances[0])
            covariance = covariances[0] if shared else covariances
            own = Discriminant(means, covariance, priors, found.classes)
        names = tuple(plain(columns[j]) for j in read)
        note = f"2 of {d} columns: marginal Gaussians, with their own borders" if d > 2 else ""
    gaussians = {
        "discriminant": own,
        "means": means,
        "covariances": covariances,
        "priors": priors,
        "axis_names": names,
        "note": note,
    }
    return gaussians, read


def _coordinates(
    model: Any, found: Discriminant, centres: np.ndarray, priors: np.ndarray
) -> tuple[Discriminant, np.ndarray, str]:
    """Discriminant coordinates, in which all classes have the identity for a covariance."""
    k, note = found.n_classes, ""
    p = min(2, k - 1)
    try:
        means = _transformed(model, p, centres)
    except (NotImplementedError, AttributeError) as error:
        raise TypeError(
            f"{type(model).__name__} has no discriminant coordinates ({error}); name two columns "
            "with features=."
        ) from error
    if means.shape[1] < p:
        raise ValueError(
            f"transform gives {means.shape[1]} coordinate, and {k} classes need {p}; fit without "
            "n_components."
        )
    own = Discriminant(means, np.eye(p), priors, found.classes)
    if k - 1 == p:
        _require_same(found, own, centres, means)
    else:
        shares = np.asarray(getattr(model, "explained_variance_ratio_", []))
        percent = f" ({100 * shares[:p].sum():.3g} % of the variance between classes)"
        percent = percent if len(shares) >= p else ""
        note = f"first 2 of {k - 1} coordinates{percent}: borders of the reduced rank"
    return own, means, note


def _transformed(model: Any, p: int, X: Any) -> np.ndarray:
    return np.asarray(quietly(model.transform, X), dtype=np.float64)[:, :p]


def _require_same(
    whole: Discriminant, own: Discriminant, rows: np.ndarray, places: np.ndarray
) -> None:
    """Raise unless the coordinates decide as the model does; scores differ by a constant a row."""
    # Affine functions that agree on the means agree on all that the means span.
    known, drawn = whole.decision(rows), own.decision(places)
    known, drawn = (v - v.mean(axis=1, keepdims=True) for v in (known, drawn))
    if np.abs(known - drawn).max() > 1e-6 * max(1.0, np.abs(known).max()):
        raise TypeError(
            "the coordinates of transform do not give the decisions of the model; name two columns "
            "with features=."
        )


def _covariances(model: Any, found: Discriminant) -> np.ndarray:
    covariance = getattr(model, "covariance_", found.covariance)
    if covariance is None:
        raise TypeError(
            f"{type(model).__name__} did not store the covariance, which ellipses need; fit it "
            "with store_covariance=True."
        )
    out = np.asarray(covariance, dtype=np.float64)
    return np.repeat(out[None], found.n_classes, axis=0) if out.ndim == 2 else out


def _most_apart(covariances: np.ndarray, means: np.ndarray, priors: np.ndarray) -> tuple[int, ...]:
    """The two columns whose means differ most, in units of the spread within the classes."""
    within = np.einsum("k,kjj->j", priors, covariances)
    between = priors @ (means - priors @ means) ** 2
    ratio = between / np.where(within > 0.0, within, np.inf)
    return tuple(sorted(np.argsort(-ratio, kind="stable")[:2].tolist()))


def _points(
    model: Any, found: Discriminant, X: Any, y: Any, read: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rows in the coordinates of the picture, and the positions of their labels."""
    matrix, labels, _ = labelled_rows(model, X, y)
    if matrix.shape[1] != found.n_features:
        raise ValueError(
            f"X has {matrix.shape[1]} columns, but {type(model).__name__} was fitted to "
            f"{found.n_features}."
        )
    places = class_codes(model, labels, len(labels))
    return read(X) if callable(read) else dense(matrix[:, list(read)]), places


def _roots(boundary: Hyperplane | Quadric) -> list[float]:
    """The points of one coordinate at which the discriminants of two classes are equal."""
    if isinstance(boundary, Hyperplane):
        return [float(boundary.point[0])] if boundary.w[0] != 0.0 else []
    assert boundary.origin is not None
    found = np.roots([boundary.A[0, 0], boundary.b[0], boundary.c])
    real = found[np.abs(found.imag) <= 1e-12 * np.abs(found)].real
    return sorted(float(v + boundary.origin[0]) for v in real)
