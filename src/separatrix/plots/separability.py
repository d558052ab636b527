"""Separability as a picture: the widest strip, or the point that both classes share."""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from separatrix.data.validation import check_number
from separatrix.geometry.directions import main_direction, mean_row
from separatrix.geometry.exact.products import combination
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud, LabelledPoints, labelled_points
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.separability import Separability, SeparabilityTable, decide
from separatrix.geometry.separation.witness import HyperplaneWitness, MultiplierWitness, Sides
from separatrix.plots.boundaries import plot_plane
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import column_names, dense, two_labels
from separatrix.plots.planar import box, cone, convex_hull, half_plane, intersection, span_of
from separatrix.plots.points import (
    SPARSE,
    WAYS,
    axes_row,
    draw_arrow,
    drawn,
    fill,
    one_axes,
    place_text,
    ring_points,
    scatter_classes,
    set_limits,
    write_beside,
    write_legend,
    write_title,
)
from separatrix.plots.style import class_colours, class_looks, ink, muted, paper, plain, plain_all

# Points whose margin differs from the strip's by no more than this share touch it.
_TOUCH = 1e-9
# The most columns of a parallel plot, weights in a list, and labels of weights in a plane.
_MOST_COLUMNS, _MOST_WEIGHTS, _MOST_LABELS = 12, 16, 12
# Letters of a name along an axis, and inches that a cell of a table needs for words.
_LETTERS, _CELL = 28, 1.1
# Axes whose ranges differ by a larger factor are not drawn to one scale.
_SLENDER = 5.0

_WORDS = {
    "separable": "separable",
    "quasi_separable": "quasi-separable",
    "not_separable": "not separable",
    "undecided": "undecided",
}


# The meaning of the numbers in small cells.
_SHORT = {
    "separable": "numbers: margins",
    "quasi_separable": "with a plus sign: separated rows",
    "not_separable": "in brackets: rows that prove it",
}


@dataclass(kw_only=True, eq=False, repr=False)
class SeparabilityDisplay(Display):
    r"""A verdict on separability with what proves it.

    *Separable*: the strip of the largest margin, and the points that touch it.  *Not separable*:
    the convex hulls of the two classes and a point that they share, as a weighted mean of the
    ringed points of either class; areas of the rings are the weights.  For hyperplanes through
    the origin the hulls are cones, and what they share is a direction.  *Quasi-separable*: the
    hyperplane, the points strictly on their own side of it (ringed), and a shared point on it.

    With more than two features the picture shows, where there is a hyperplane, the signed distance
    from it against the first principal component within it, so that nothing is distorted across
    it.  Where there is none, no plane shows the common point of two hulls honestly: the rows of the
    proof are drawn instead, column by column, with the point that they share, and their weights.

    With more than two classes it is a table of verdicts, by pairs, and of each class against the
    rest on the diagonal; ``classes`` picks a pair.

    Parameters
    ----------
    verdict : Separability or SeparabilityTable
    points : ndarray of shape (n, 2), optional
        The places at which the rows of the verdict are drawn; None where they are not.
    codes : ndarray of int of shape (n,)
        The side of each row: 0 for the negative side, 1 for the positive one.
    names : sequence of two str
        The names of the two sides, as the labels are.
    axis_names : sequence of two str
        The names of the axes, ready to draw.
    proof : dict, optional
        The proof by multipliers: ``rows``, ``positions`` (of the rows among the points),
        ``values`` (the rows themselves, shape (k, n_features)), ``weights`` (exact, of each class
        with sum 1; through the origin of all together), ``shared`` (the point or the vector, shape
        (n_features,)), ``sides`` (0 or 1 a row).
    plane : Hyperplane, optional
        The hyperplane, in the coordinates of the picture.
    margin : float, optional
        Half the width of the strip.
    ringed : ndarray of int
        Positions of points that touch the strip, or are separated.
    ranges : ndarray of shape (2, n_features), optional
        Smallest and largest values of the columns.
    column_names : sequence of str, optional
        The names of the columns, as in the data.

    Attributes
    ----------
    ax_ : Axes
    axes_ : ndarray of Axes
    figure_ : Figure
    points_ : list of PathCollection
    boundary_ : Line2D or None
    margin_lines_ : list of Line2D
    strip_ : Polygon or None
    ringed_ : PathCollection or None
    hulls_ : list of Polygon
        The convex hulls of the classes, or their cones.
    shared_ : Line2D or None
        The common point, or the vector that both cones share.
    stems_ : list of Line2D
        The lines from the points of the proof to the common point.
    weights_ : BarContainer or None
    cells_ : dict of (int, int) to Rectangle
        The cells of a table of verdicts.

    References
    ----------
    Gordan (1873), Ueber die Aufloesung linearer Gleichungen mit reellen Coefficienten.

    Examples
    --------
    >>> from separatrix.plots import SeparabilityDisplay
    >>> X = [[0, 0], [1, 1], [1, 0], [0, 1]]
    >>> display = SeparabilityDisplay.from_data(X, [0, 0, 1, 1])
    >>> display.proof["shared"].tolist(), [str(w) for w in display.proof["weights"]]
    ([0.5, 0.5], ['1/2', '1/2', '1/2', '1/2'])
    >>> SeparabilityDisplay.from_data(X[:3], [0, 0, 1]).ax_.get_title()
    'separable: a strip 0.7071 wide'
    """

    verdict: Separability | SeparabilityTable
    points: np.ndarray | None = None
    codes: np.ndarray | None = None
    names: tuple[str, str] = ("", "")
    axis_names: tuple[str, str] = ("", "")
    proof: dict[str, Any] | None = None
    plane: Hyperplane | None = None
    margin: float | None = None
    ringed: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    ranges: np.ndarray | None = None
    column_names: Any = None

    # --- from data and verdicts ---------------------------------------------------------------

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        classes: tuple[Any, Any] | None = None,
        fit_intercept: bool = True,
        time_limit: float | None = None,
        ax: Any = None,
        legend: bool = True,
    ) -> SeparabilityDisplay:
        """Decide, by :func:`separatrix.separability`, and draw.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : pair of labels, optional
            The two classes to draw, where there are more.
        fit_intercept : bool, default=True
            Whether the hyperplanes have an offset; without one they go through the origin.
        time_limit : float, optional
            The time limit in seconds.
        ax : Axes, optional
        legend : bool, default=True
            Whether to draw a legend; a figure of several panels may do with one.

        Returns
        -------
        SeparabilityDisplay

        Raises
        ------
        ValueError
            For bad data, or labels that are no classes.
        """
        if classes is None:
            verdict = separability(X, y, fit_intercept=fit_intercept, time_limit=time_limit)
            return cls.from_verdict(verdict, X, y, ax=ax, legend=legend)
        if time_limit is not None:
            check_number("time_limit", time_limit, above=0)
        points = labelled_points(X, y)
        first, second = two_labels("classes", classes, points.labels.classes.tolist())
        limit = np.inf if time_limit is None else time.perf_counter() + time_limit
        one = decide(points, Sides(first, second), fit_intercept=fit_intercept, deadline=limit)
        return cls.from_verdict(one, X, y, ax=ax, legend=legend)

    @classmethod
    def from_verdict(
        cls,
        verdict: Separability | SeparabilityTable,
        X: Any,
        y: Any,
        *,
        classes: tuple[Any, Any] | None = None,
        ax: Any = None,
        legend: bool = True,
    ) -> SeparabilityDisplay:
        """Draw a verdict on the data that it is about.

        Parameters
        ----------
        verdict : Separability or SeparabilityTable
            A result of :func:`separatrix.separability`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : pair of labels, optional
            The two classes of a table whose verdict is drawn; by default the whole table.
        ax : Axes, optional
            Two axes for rows of more than two features that are not separable.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        SeparabilityDisplay

        Raises
        ------
        TypeError
            If ``verdict`` is not such a result.
        ValueError
            If the verdict is about other data, or ``classes`` is not a pair of its classes.
        """
        if not isinstance(verdict, Separability | SeparabilityTable):
            raise TypeError(
                f"verdict must be a result of separability, not {type(verdict).__name__}."
            )
        if isinstance(verdict, SeparabilityTable):
            if classes is None:
                return cls(verdict=verdict).plot(ax, legend=legend)
            verdict = verdict[two_labels("classes", classes, list(verdict.classes))]
        elif classes is not None:
            # A verdict on two classes is about these.
            known = [c for c in verdict.classes if c is not None]
            if not all(c in known for c in classes):
                raise ValueError(f"the verdict is about {verdict.sides}, not {classes!r}.")
        given = labelled_points(X, y)
        cloud, rows = verdict.sides.cloud(given, lifted=verdict.fit_intercept)
        if (cloud.n, cloud.design.n_features) != (verdict.n_samples, verdict.n_features):
            raise ValueError(
                f"the verdict is about {verdict.n_samples:,} rows of {verdict.n_features} columns, "
                f"and the data have {cloud.n:,} rows of {cloud.design.n_features}."
            )
        return cls._of(verdict, given, cloud, rows).plot(ax, legend=legend)

    @classmethod
    def _of(
        cls, verdict: Separability, given: LabelledPoints, cloud: Cloud, rows: np.ndarray | None
    ) -> SeparabilityDisplay:
        d, sides, witness = cloud.design.n_features, verdict.sides, verdict.witness
        columns = column_names(given.names, d)
        codes = (cloud.y > 0).astype(np.int64)
        weights = verdict.common if isinstance(witness, HyperplaneWitness) else witness
        proof = None if weights is None else _proof(weights, given, rows)
        plane = verdict.hyperplane
        if plane is not None and plane.norm == 0.0:
            plane = None
        ringed, margin = np.empty(0, dtype=np.int64), None
        if plane is not None and verdict.status == "separable":
            z = np.where(codes == 1, 1.0, -1.0) * plane.decision(cloud.design)
            ringed = np.flatnonzero(z <= z.min() * (1.0 + _TOUCH))
            margin = float(z.min()) / plane.norm
        elif isinstance(witness, HyperplaneWitness):
            ringed = np.array(witness.separated)
            ringed = ringed if rows is None else np.searchsorted(rows, ringed)
        points, ranges, axis_names = None, None, ("", "")
        if d <= 2:
            points = dense(cloud.design.matrix)
            axis_names = plain(columns[0], _LETTERS), plain(columns[-1], _LETTERS)
            if d == 1:
                # One axis for the values, the other for the classes.
                points, axis_names = np.column_stack([points, codes]), (axis_names[0], "")
                if plane is not None:
                    plane = Hyperplane(np.array([plane.w[0], 0.0]), plane.b)
        elif plane is not None:
            points, axis_names = _beside(plane, cloud)
            plane, proof = Hyperplane(np.array([1.0, 0.0]), 0.0), None
        elif proof is not None:
            ranges = _ranges(cloud)
        return cls(
            verdict=verdict,
            points=points,
            codes=codes,
            names=("the rest" if sides.against_rest else str(sides.negative), str(sides.positive)),
            axis_names=axis_names,
            proof=proof,
            plane=plane,
            margin=margin,
            ringed=ringed,
            ranges=ranges,
            column_names=columns,
        )

    # --- drawing ------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, legend: bool = True) -> SeparabilityDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Two axes for rows of more than two features that are not separable.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        SeparabilityDisplay
        """
        self.points_: list[Any] = []
        self.boundary_: Line2D | None = None
        self.margin_lines_: list[Line2D] = []
        self.strip_: Polygon | None = None
        self.ringed_: Any = None
        self.hulls_: list[Any] = []
        self.shared_: Line2D | None = None
        self.stems_: list[Line2D] = []
        self.weights_: Any = None
        self.cells_: dict[tuple[int, int], Rectangle] = {}
        self._legend = legend
        if isinstance(self.verdict, SeparabilityTable):
            self._begin(one_axes(ax, _table_size(self.verdict.classes)))
            self._plot_table(self.ax_, self.verdict, own=ax is None)
        elif self.points is not None and self.codes is not None:
            self._begin(self._framed(ax, self.points, self.verdict))
            # Many points would hide the lines below them.
            self._above = 2.0 if len(self.points) <= SPARSE else 3.5
            self._plot_points(self.ax_, self.points, self.codes, self.verdict)
        elif self.proof is not None:
            self._begin(axes_row(ax, 2, panel=(4.6, 3.9)))
            self._plot_columns(self.axes_[0], self.proof, self.verdict)
            self._plot_weights(self.axes_[1], self.proof, self.verdict)
        else:
            self._begin(one_axes(ax))
            self.ax_.set_axis_off()
            write_title(self.ax_, str(self.verdict))
        return self

    def _framed(self, ax: Axes | None, points: np.ndarray, verdict: Separability) -> Axes:
        """Axes whose limits include the points, the strip, and the origin if it matters."""
        d = verdict.n_features
        if not verdict.fit_intercept and d <= 2:
            points = np.vstack([points, np.zeros((1, 2))])
        low, high, span = span_of(points)
        # Weights are written outside the points of a proof.
        pad = (0.09 if self.proof is None else 0.2) * span
        equal = d == 2 and bool(span.max() <= _SLENDER * span.min())
        pad = pad.max() if equal else pad
        low, high = low - pad, high + pad
        if d == 1:
            low[1], high[1] = -0.6, 1.6
        if self.margin is not None and d > 2:
            low[0], high[0] = min(low[0], -1.4 * self.margin), max(high[0], 1.4 * self.margin)
        slope = float((high - low)[1] / (high - low)[0])
        shape = slope if equal else 0.4 if d == 1 else 0.72
        width = float(np.clip(4.2 / shape, 4.4, 6.0))
        # Beside the axes is the legend.
        ax = one_axes(ax, (width + 2.0, float(np.clip(width * shape, 2.4, 5.2)) + 0.5))
        set_limits(ax, low, high, equal=equal)
        self._low, self._high = low, high
        return ax

    # --- in a plane ---------------------------------------------------------------------------

    def _plot_points(
        self, ax: Axes, points: np.ndarray, codes: np.ndarray, verdict: Separability
    ) -> None:
        separable, d = verdict.status == "separable", verdict.n_features
        if self.plane is not None:
            if separable and self.margin is not None:
                self._plot_strip(ax, self.plane.normalised(), self.margin)
            self.boundary_ = next(iter(self._line(ax, self.plane, lw=1.8)), None)
        if self.proof is not None and d <= 2:
            if verdict.status == "not_separable":
                self._plot_hulls(ax, [points[codes == side] for side in (0, 1)], verdict)
            at = points[self.proof["positions"]]
            goal = self._plot_shared(ax, at, self.proof, verdict)
        self.points_ = scatter_classes(ax, points, codes, self.names)
        if len(self.ringed) and (separable or len(self.ringed) <= 500):
            on = "touches the strip" if separable else "off the boundary"
            self.ringed_ = ring_points(ax, points[self.ringed], len(points), label=on)
        if not verdict.fit_intercept and d == 2:
            ax.plot(0, 0, "+", color=ink(), ms=11, mew=1.8, zorder=5)
        if self.proof is not None and d <= 2 and len(at) <= _MOST_LABELS:
            self._write_weights(ax, at, self.proof["weights"], goal)
        ax.set_xlabel(self.axis_names[0])
        if d == 1:
            ax.set_yticks([0, 1], plain_all(self.names, 18))
        else:
            ax.set_ylabel(self.axis_names[1])
        write_title(ax, self._title(verdict))
        handles = ax.get_legend_handles_labels()[0]
        if d == 1:
            # The axis names the classes.
            handles = [handle for handle in handles if handle not in self.points_]
        if handles and self._legend:
            write_legend(ax, handles)

    def _title(self, verdict: Separability) -> str:
        offset = "" if verdict.fit_intercept else " through the origin"
        text = f"{_WORDS[verdict.status]}{offset}"
        if verdict.status == "separable":
            if self.margin is None:
                return text
            return f"{text}: a strip {2 * self.margin:.4g} wide"
        if verdict.status == "quasi_separable":
            n, own = verdict.n_samples, len(self.ringed)
            return f"{text}\n{own:,} of {n:,} rows off the boundary, none on the wrong side"
        if verdict.status == "not_separable" and self.proof is not None:
            count = len(self.proof["rows"])
            what = "the hulls share a point" if verdict.fit_intercept else "the cones meet"
            return f"{text}\n{count} rows prove it: {what}"
        return f"{text}: raise time_limit"

    def _plot_strip(self, ax: Axes, unit: Hyperplane, margin: float) -> None:
        inside = box(self._low, self._high)
        for side in (1.0, -1.0):
            inside = half_plane(inside, -side * unit.w, margin - side * unit.b)
        self.strip_ = fill(ax, inside, facecolor=muted(), alpha=0.18, zorder=0.5)
        for level in (margin, -margin):
            edge = Hyperplane(unit.w, unit.b - level)
            self.margin_lines_ += self._line(ax, edge, lw=1.1, ls="--")

    def _line(self, ax: Axes, plane: Hyperplane, **looks: Any) -> list[Line2D]:
        looks = {"color": ink(), "zorder": self._above, **looks}
        return plot_plane(ax, plane, self._low, self._high, **looks)

    def _plot_hulls(self, ax: Axes, groups: list[np.ndarray], verdict: Separability) -> None:
        outlines = []
        for side, (own, colour) in enumerate(zip(groups, class_colours(2), strict=True)):
            if verdict.n_features == 1:
                ends = np.array([own[:, 0].min(), own[:, 0].max()])
                if not verdict.fit_intercept:
                    # The cone of numbers: all of the half-lines on which there are some.
                    reach = [self._low[0], self._high[0]]
                    ends = np.where(np.sign(ends) == [-1.0, 1.0], reach, 0.0)
                bar: Looks = {"lw": 6, "alpha": 0.3, "solid_capstyle": "round", "zorder": 1}
                self.hulls_ += ax.plot(ends, [side, side], color=colour, **bar)
                continue
            hull = verdict.fit_intercept
            outline = convex_hull(own) if hull else cone(own, self._low, self._high)
            outlines.append(outline)
            fill(ax, outline, facecolor=to_rgba(colour, 0.07), zorder=1)
            edge: Looks = {"edgecolor": to_rgba(colour, 0.9), "lw": 1.3, "zorder": self._above}
            self.hulls_.append(ax.add_patch(Polygon(outline, facecolor="none", **edge)))
        if len(outlines) == 2 and all(len(outline) > 2 for outline in outlines):
            fill(ax, intersection(*outlines), facecolor=muted(), alpha=0.15, zorder=1.1)

    def _plot_shared(
        self, ax: Axes, at: np.ndarray, proof: dict[str, Any], verdict: Separability
    ) -> np.ndarray:
        """Draw the rows of the proof, ringed by their weights, and return the shared point."""
        colours, sides = class_colours(2), np.array(proof["sides"])
        cones, d = not verdict.fit_intercept, verdict.n_features
        goal = np.zeros(2) if d == 2 else np.array([0.0, 0.5])
        if not cones or d == 1:
            goal[:d] = proof["shared"]
        for point, side in zip(at, sides, strict=True):
            stem = np.stack([point, goal])
            self.stems_ += ax.plot(*stem.T, color=colours[side], lw=1.2, zorder=self._above)
        shares = np.array([float(w) for w in proof["weights"]])
        sizes = 60 + 420 * shares / max(shares.max(), 1e-300)
        for side, dashes in ((0, "-"), (1, (0, (3, 2)))):
            # Dashed, so that a ring of the same row of the other class is seen below.
            ring: Looks = {"edgecolors": colours[side], "linestyles": [dashes], "linewidths": 1.6}
            own = sides == side
            x, y = at[own].T
            ax.scatter(x, y, s=sizes[own], facecolors="none", zorder=4, **ring)
        if cones and d == 2:
            self._plot_direction(ax, proof["shared"])
        else:
            self._plot_star(ax, goal, "in both cones" if cones else "common point")
        return goal

    def _write_weights(self, ax: Axes, at: np.ndarray, weights: list[Fraction], goal: Any) -> None:
        sheet = {"facecolor": paper(), "alpha": 0.7, "pad": 0.8, "edgecolor": "none"}
        looks: Looks = {"bbox": sheet, "zorder": 6, "seen": drawn(ax)}
        for point, weight in zip(at, weights, strict=True):
            # Away from the shared point, where possible.
            ways = sorted(WAYS.tolist(), key=((goal - point) / (self._high - self._low)).dot)
            place_text(ax, _fraction(weight), [point], ways=ways, gap=9.0, **looks)

    def _plot_star(self, ax: Axes, place: np.ndarray, label: str) -> None:
        star: Looks = {"marker": "*", "ms": 15, "color": ink(), "mec": paper(), "mew": 0.8}
        (self.shared_,) = ax.plot(place[0], place[1], ls="", zorder=5, label=label, **star)

    def _plot_direction(self, ax: Axes, v: np.ndarray) -> None:
        """Draw the vector that both cones share, almost to the edge of the picture."""
        if not np.any(v):
            # A class has the origin among the means of its own points.
            self._plot_star(ax, np.zeros(2), "0, a weighted mean")
            return
        moves = v != 0.0
        far = np.where(v > 0.0, self._high, self._low)
        end = 0.94 * float((far[moves] / v[moves]).min()) * v
        line: Looks = {"color": ink(), "lw": 1.8, "zorder": 2.5}
        (self.shared_,) = ax.plot([0.0, end[0]], [0.0, end[1]], label="in both cones", **line)
        draw_arrow(ax, 0.9 * end, end, lw=1.8)

    # --- the proof, where no plane shows it ---------------------------------------------------

    def _plot_columns(self, ax: Axes, proof: dict[str, Any], verdict: Separability) -> None:
        assert self.ranges is not None
        low, high = self.ranges
        spread = np.where(high > low, high - low, 1.0)
        values = (proof["values"] - low) / spread
        used = np.flatnonzero((proof["values"] != 0.0).any(axis=0) & (high > low))
        if not len(used):
            used = np.arange(len(low))
        left_out = ""
        if len(used) > _MOST_COLUMNS:
            # Those in which the rows of the proof differ most.
            reach = np.ptp(values[:, used], axis=0)
            left_out = f"{_MOST_COLUMNS} of {len(used):,} columns; "
            used = np.sort(used[np.argsort(-reach, kind="stable")[:_MOST_COLUMNS]])
        places = np.arange(len(used))
        shares = np.array([float(w) for w in proof["weights"]])
        widths, faint = 0.8 + 2.6 * shares / shares.max(), min(0.85, 4.0 / len(shares) + 0.2)
        labels = {side: plain(name, 26) for side, name in enumerate(self.names)}
        looks = [
            {"ls": dashes, "ms": 3.5, "alpha": faint, **look}
            for dashes, look in zip(("-", "--"), class_looks(2), strict=True)
        ]
        for row, side, width in zip(values, proof["sides"], widths, strict=True):
            # The first row of a class names it.
            label = labels.pop(side, None)
            self.stems_ += ax.plot(places, row[used], lw=width, label=label, **looks[side])
        if verdict.fit_intercept:
            heights = ((proof["shared"] - low) / spread)[used]
            star: Looks = {"marker": "*", "ms": 11, "mec": paper(), "mew": 0.6}
            star |= {"color": ink(), "lw": 2.4, "zorder": 5}
            (self.shared_,) = ax.plot(places, heights, label="common point", **star)
        names = [plain(self.column_names[j], 22) for j in used]
        ax.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticks([0.0, 1.0], ["least", "largest"])
        ax.set(ylim=(-0.06, 1.06), ylabel=f"{left_out}value in the data")
        write_title(ax, self._title(verdict))

    def _plot_weights(self, ax: Axes, proof: dict[str, Any], verdict: Separability) -> None:
        sides, weights = proof["sides"], list(proof["weights"])
        largest = sorted(range(len(weights)), key=lambda i: -weights[i])
        left_out = len(largest) - _MOST_WEIGHTS if len(largest) > _MOST_WEIGHTS + 1 else 0
        if left_out:
            largest = largest[:_MOST_WEIGHTS]
        order = sorted(sorted(largest), key=lambda i: (sides[i], -weights[i]))
        places, values = np.arange(len(order)), [float(weights[i]) for i in order]
        colours = [class_colours(2)[sides[i]] for i in order]
        self.weights_ = ax.barh(places, values, color=colours, height=0.62)
        ax.set_yticks(places, [f"row {proof['rows'][i]}" for i in order])
        for place, i in zip(places, order, strict=True):
            at = float(weights[i]), place
            write_beside(ax, _fraction(weights[i]), at, (4, 0), va="center")
        of_class = "weight; those of a class have sum 1" if verdict.fit_intercept else "weight"
        ax.set(xlim=(0.0, 1.22 * max(values)), ylim=(len(order) - 0.4, -0.6), xlabel=of_class)
        more = f" (and {left_out:,} smaller)" if left_out else ""
        write_title(ax, f"weights of the rows{more}")
        # For both panels; a legend does not fit into the first.
        handles = self.axes_[0].get_legend_handles_labels()[0]
        if self._legend:
            write_legend(ax, handles)

    # --- many classes -------------------------------------------------------------------------

    def _plot_table(self, ax: Axes, table: SeparabilityTable, *, own: bool) -> None:
        k, names = len(table.classes), plain_all(list(table.classes), 18)
        tinted: dict[str, Looks] = {
            status: {"facecolor": to_rgba(tint, 0.2), "edgecolor": to_rgba(tint, 0.9)}
            for status, tint in zip(_WORDS, [*class_colours(3), muted()], strict=True)
        }
        inches = ax.get_window_extent().width / self.figure_.dpi
        # A new figure is not laid out yet; it is large enough.
        short = k > 6 or (not own and inches < _CELL * k)
        words: Looks = {"ha": "center", "va": "center", "color": ink()}
        words["fontsize"] = "x-small" if short else "small"
        for i, j in np.transpose(np.tril_indices(k)).tolist():
            one, other = table.classes[j], table.classes[i]
            verdict = table.one_vs_rest[other] if i == j else table[one, other]
            frame: Looks = {"lw": 1.6 if i == j else 0.0, **tinted[verdict.status]}
            cell = Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, **frame)
            self.cells_[i, j] = cell
            ax.add_patch(cell)
            if k <= 12:
                ax.text(j, i, _cell(verdict, short=short), **words)
        ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
        turned = max(len(name) for name in names) * k > 60
        tilt: Looks = {"rotation": 30, "ha": "right"} if turned else {"ha": "center"}
        ax.set_xticks(range(k), names, rotation_mode="anchor", **tilt)
        ax.set_yticks(range(k), names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        write_title(ax, "separable? by pairs; framed: the class against the rest")
        decided = {v.status for v in table} - {"undecided"}
        handles = [
            Rectangle((0, 0), 1, 1, label=words, **tinted[status])
            for status, words in _WORDS.items()
            if status in decided
        ]
        if self._legend:
            write_legend(ax, handles)
        if short and k <= 12:
            text = "; ".join(dict.fromkeys(_SHORT[v.status] for v in table if v.status in _SHORT))
            lines = textwrap.fill(text, int(13.5 * inches))
            ax.set_xlabel(lines, fontsize="x-small", color=muted(), loc="left")


# --- from witnesses to what is drawn ----------------------------------------------------------


def _proof(
    witness: MultiplierWitness, given: LabelledPoints, rows: np.ndarray | None
) -> dict[str, Any]:
    """The rows of a witness, their weights, and the point or vector that both sides share."""
    index = np.array(witness.rows, dtype=np.int64)
    labels = given.labels.classes[given.labels.codes[index]].tolist()
    sides = [int(label == witness.sides.positive) for label in labels]
    weights = list(witness.multipliers)
    if witness.fit_intercept:
        sums = [Fraction(0), Fraction(0)]
        for w, s in zip(weights, sides, strict=True):
            sums[s] += w
        weights = [w / sums[s] for w, s in zip(weights, sides, strict=True)]
    # Either side gives the same; one that has rows, through the origin.
    own = [i for i, s in enumerate(sides) if s == max(sides)]
    shared = combination(given.design, index[own], [weights[i] for i in own])
    if not witness.fit_intercept and len(own) == len(sides):
        shared = [Fraction(0)] * len(shared)
    return {
        "rows": tuple(witness.rows),
        "positions": index if rows is None else np.searchsorted(rows, index),
        "values": dense(given.design.take(index).matrix),
        "weights": weights,
        "shared": np.array([float(v) for v in shared]),
        "sides": sides,
    }


def _beside(plane: Hyperplane, cloud: Cloud) -> tuple[np.ndarray, tuple[str, str]]:
    """The distance from a plane, and the main direction within it, as everywhere in pictures."""
    design = cloud.design
    mean, unit = mean_row(design), plane.unit
    second, _ = main_direction(design, mean, unit[None])
    along = design.dot(second) - float(second @ mean)
    labels = "signed distance from the boundary", "main direction along the boundary"
    return np.column_stack([plane.signed_distance(design), along]), labels


def _ranges(cloud: Cloud) -> np.ndarray:
    x = cloud.design.matrix
    return np.stack([dense(end).ravel() for end in (x.min(axis=0), x.max(axis=0))])


def _fraction(value: Fraction) -> str:
    """The exact fraction where it is short, else three digits."""
    text = str(value)
    return text if len(text) <= 7 else f"{float(value):.3g}"


def _cell(verdict: Separability, *, short: bool) -> str:
    brief, more = "?", ""
    if verdict.status == "separable":
        brief = "" if verdict.margin is None else f"{verdict.margin.lower:.3g}"
        more = f"margin {brief}" if brief else ""
    elif isinstance(verdict.witness, MultiplierWitness):
        count = len(verdict.witness.rows)
        brief, more = f"({count})", f"{count} rows prove it"
    elif isinstance(verdict.witness, HyperplaneWitness):
        count = len(verdict.witness.separated)
        brief, more = f"+{count}", f"{count} rows separated"
    return brief if short else f"{_WORDS[verdict.status]}\n{more}".rstrip()


def _table_size(classes: Any) -> tuple[float, float]:
    k = len(classes)
    side = float(np.clip(1.45 * k if k <= 6 else 0.75 * k, 4.4, 10.0))
    # Names on the left, the legend on the right.
    letters = min(18, max(len(str(label)) for label in classes))
    return side + 1.3 + 0.08 * letters, 0.8 * side + 0.5
