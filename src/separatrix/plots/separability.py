"""Separability as a picture: the widest strip, or the point that both classes share."""

from __future__ import annotations

import math
import textwrap
import time
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from scipy.spatial import ConvexHull, QhullError

from separatrix.data.validation import check_number
from separatrix.geometry.directions import main_direction, mean_row
from separatrix.geometry.exact.products import combination
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud, LabelledPoints, labelled_points
from separatrix.geometry.separation.separability import (
    Separability,
    SeparabilityTable,
    decide,
    separability,
)
from separatrix.geometry.separation.witness import HyperplaneWitness, MultiplierWitness, Sides
from separatrix.plots.points import (
    SPARSE,
    axes_row,
    figure_of,
    one_axes,
    ring_points,
    scatter_classes,
    write_legend,
    write_title,
)
from separatrix.plots.style import class_colours, ink, muted, paper, plain, plain_all

__all__ = ["SeparabilityDisplay"]

# Of margins, relative: points that touch the strip but for rounding.
_TOUCH = 1e-9
# Columns of a parallel plot, weights in a list, labels of weights in a plane.
_MOST_COLUMNS, _MOST_WEIGHTS, _MOST_LABELS = 12, 16, 12
# Letters of a name along an axis, and inches that a cell of a table needs for words.
_LETTERS, _CELL = 28, 1.1
# From this shape on a unit across is no longer drawn as long as one up.
_SLENDER = 5.0

_WORDS = {
    "separable": "separable",
    "quasi_separable": "quasi-separable",
    "not_separable": "not separable",
    "undecided": "undecided",
}


# What the numbers in small cells are.
_SHORT = {
    "separable": "plain numbers: margins",
    "quasi_separable": "with a plus: rows that are separated",
    "not_separable": "in brackets: rows that prove it",
}


class SeparabilityDisplay:
    r"""A verdict on separability with what proves it.

    *Separable*: the strip of the largest margin, and the points that touch it.  *Not separable*:
    the convex hulls of the two classes and a point that they share, as a weighted mean of the
    ringed points of either class; areas of the rings are the weights.  For hyperplanes through
    the origin the hulls are cones, and what they share is a direction.  *Quasi-separable*: the
    hyperplane, the points strictly on their own side of it (ringed), and a shared point on it.

    With more than two features: where there is a hyperplane, the signed distance from it against
    the first principal component within it, so that nothing is distorted across it.  Where there
    is none, no plane shows the common point of two hulls honestly: drawn are the rows of the
    proof, column by column, with the point that they share, and their weights.

    More than two classes: a table of verdicts, by pairs, and of each class against the rest on
    the diagonal; ``classes`` picks a pair.

    Parameters
    ----------
    verdict : Separability or SeparabilityTable
    points : ndarray of shape (n, 2), optional
        Where the rows of the verdict are drawn; None where they are not.
    codes : ndarray of int of shape (n,)
        0 for the negative side, 1 for the positive one.
    names : sequence of two str
        Of the sides, as the labels are.
    axis_names : sequence of two str
        Ready to draw.
    proof : dict, optional
        For multipliers: ``rows``, ``positions`` (of the rows among the points), ``values`` (the
        rows themselves, shape (k, n_features)), ``weights`` (exact, of each class with sum 1;
        through the origin of all together), ``shared`` (the point or the vector, shape
        (n_features,)), ``sides`` (0 or 1 a row).
    plane : Hyperplane, optional
        In the coordinates of the picture.
    margin : float, optional
        Half the width of the strip.
    ringed : ndarray of int
        Positions of points that touch the strip, or are separated.
    ranges : ndarray of shape (2, n_features), optional
        Smallest and largest values of the columns.
    column_names : sequence of str, optional
        As in the data.

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
        Or cones.
    shared_ : Line2D or None
        The common point, or the vector that both cones share.
    stems_ : list of Line2D
        From the points of the proof to the common point.
    weights_ : BarContainer or None
    cells_ : dict of (int, int) to Rectangle
        Of a table.

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

    def __init__(
        self,
        *,
        verdict: Separability | SeparabilityTable,
        points: np.ndarray | None = None,
        codes: np.ndarray | None = None,
        names: tuple[str, str] = ("", ""),
        axis_names: tuple[str, str] = ("", ""),
        proof: dict[str, Any] | None = None,
        plane: Hyperplane | None = None,
        margin: float | None = None,
        ringed: np.ndarray | None = None,
        ranges: np.ndarray | None = None,
        column_names: Any = None,
    ) -> None:
        self.verdict = verdict
        self.points = points
        self.codes = codes
        self.names = names
        self.axis_names = axis_names
        self.proof = proof
        self.plane = plane
        self.margin = margin
        self.ringed = np.empty(0, dtype=np.int64) if ringed is None else ringed
        self.ranges = ranges
        self.column_names = column_names

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
            Of more than two classes, the two to draw.
        fit_intercept : bool, default=True
            Hyperplanes with an offset; False: through the origin.
        time_limit : float, optional
            Seconds.
        ax : Axes, optional
        legend : bool, default=True
            Whether to say what is what; a figure of several panels may do with one.

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
        first, second = _pair(classes, points.labels.classes.tolist())
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
            Of :func:`separatrix.separability`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : pair of labels, optional
            Of a table, the verdict to draw; without it the table.
        ax : Axes, optional
            Two of them for rows of more than two features that are not separable.
        legend : bool, default=True
            Whether to say what is what.

        Returns
        -------
        SeparabilityDisplay

        Raises
        ------
        TypeError
            If it is no verdict.
        ValueError
            If the verdict is about other data, or ``classes`` is no pair of it.
        """
        if not isinstance(verdict, Separability | SeparabilityTable):
            raise TypeError(
                f"verdict must be what separability returns, not {type(verdict).__name__}."
            )
        if isinstance(verdict, SeparabilityTable):
            if classes is None:
                return cls(verdict=verdict).plot(ax, legend=legend)
            verdict = verdict[_pair(classes, list(verdict.classes))]
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
        cls,
        verdict: Separability,
        given: LabelledPoints,
        cloud: Cloud,
        rows: np.ndarray | None,
    ) -> SeparabilityDisplay:
        d = cloud.design.n_features
        names = (
            "the rest" if verdict.sides.against_rest else str(verdict.sides.negative),
            str(verdict.sides.positive),
        )
        columns = (
            [f"x{j}" for j in range(d)] if given.names is None else [str(n) for n in given.names]
        )
        codes = (cloud.y > 0).astype(np.int64)
        witness = verdict.witness
        weights = verdict.common if isinstance(witness, HyperplaneWitness) else witness
        proof = None
        if weights is not None:
            proof = _proof(weights, given, rows)
        plane = verdict.hyperplane
        if plane is not None and plane.norm == 0.0:
            plane = None
        ringed, margin = np.empty(0, dtype=np.int64), None
        if plane is not None and verdict.status == "separable":
            z = codes_sign(codes) * plane.decision(cloud.design)
            ringed = np.flatnonzero(z <= z.min() * (1.0 + _TOUCH))
            margin = float(z.min()) / plane.norm
        elif isinstance(witness, HyperplaneWitness):
            place = np.arange(cloud.n) if rows is None else np.searchsorted(rows, witness.separated)
            ringed = np.array(witness.separated) if rows is None else place
        made: dict[str, Any] = {
            "verdict": verdict,
            "codes": codes,
            "names": names,
            "proof": proof,
            "margin": margin,
            "ringed": ringed,
            "column_names": columns,
        }
        if d <= 2:
            flat = cloud.design.matrix
            flat = flat.toarray() if sp.issparse(flat) else np.asarray(flat)
            flat = flat.astype(np.float64)
            axis_names = plain(columns[0], _LETTERS), plain(columns[-1], _LETTERS)
            if d == 1:
                # One axis for the values, the other for the classes.
                flat = np.column_stack([flat, codes])
                axis_names = (axis_names[0], "")
                if plane is not None:
                    plane = Hyperplane(np.array([plane.w[0], 0.0]), plane.b)
            return cls(points=flat, plane=plane, axis_names=axis_names, **made)
        if plane is not None:
            shown, axis_names = _beside(plane, cloud)
            made["proof"] = None
            return cls(
                points=shown,
                plane=Hyperplane(np.array([1.0, 0.0]), 0.0),
                axis_names=axis_names,
                **made,
            )
        ranges = None
        if proof is not None:
            ranges = _ranges(cloud)
        return cls(ranges=ranges, **made)

    # --- drawing ------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, legend: bool = True) -> SeparabilityDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Two of them for rows of more than two features that are not separable.
        legend : bool, default=True
            Whether to say what is what.

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
        self._own, self._legend = ax is None, legend
        if isinstance(self.verdict, SeparabilityTable):
            self._begin([one_axes(ax, _table_size(self.verdict.classes))])
            self._plot_table(self.ax_, self.verdict)
        elif self.points is not None:
            self._begin([self._framed(ax)])
            self._plot_points(self.ax_, self.verdict)
        elif self.proof is not None:
            self._begin(list(axes_row(ax, 2, panel=(4.6, 3.9))))
            self._plot_columns(self.axes_[0], self.verdict)
            self._plot_weights(self.axes_[1])
        else:
            self._begin([one_axes(ax)])
            self.ax_.set_axis_off()
            write_title(self.ax_, str(self.verdict))
        return self

    def _begin(self, axes: list[Axes]) -> None:
        self.axes_ = np.array(axes, dtype=object)
        self.ax_ = axes[0]
        self.figure_ = figure_of(axes[0])

    def _framed(self, ax: Axes | None) -> Axes:
        """Axes whose limits leave room for the points, the strip, and the origin if it matters."""
        assert self.points is not None and isinstance(self.verdict, Separability)
        through = not self.verdict.fit_intercept and self.verdict.n_features <= 2
        corners = self.points
        if through:
            corners = np.vstack([corners, np.zeros((1, 2))])
        low, high = corners.min(axis=0), corners.max(axis=0)
        span = high - low
        span[span == 0.0] = span.max() or 1.0
        # Weights are written outside the points of a proof.
        share = 0.09 if self.proof is None else 0.2
        pad = share * span
        equal = self.verdict.n_features == 2 and span.max() <= _SLENDER * span.min()
        if equal:
            pad[:] = share * span.max()
        low, high = low - pad, high + pad
        if self.verdict.n_features == 1:
            low[1], high[1] = -0.6, 1.6
        if self.margin is not None and self.verdict.n_features > 2:
            low[0] = min(low[0], -1.4 * self.margin)
            high[0] = max(high[0], 1.4 * self.margin)
        if ax is None:
            shape = float((high - low)[1] / (high - low)[0]) if equal else 0.72
            if self.verdict.n_features == 1:
                shape = 0.4
            width = float(np.clip(4.2 / shape, 4.4, 6.0))
            # Beside the axes is the legend.
            ax = one_axes(None, (width + 2.0, float(np.clip(width * shape, 2.4, 5.2)) + 0.5))
        ax = one_axes(ax)
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        if equal:
            ax.set_aspect("equal", adjustable="box")
        self._low, self._high = low, high
        return ax

    # --- in a plane ---------------------------------------------------------------------------

    def _plot_points(self, ax: Axes, verdict: Separability) -> None:
        assert self.points is not None and self.codes is not None
        # Many points would hide the lines below them.
        self._above = 2.0 if len(self.points) <= SPARSE else 3.5
        if verdict.status == "separable" and self.plane is not None:
            self._plot_strip(ax)
        elif self.plane is not None:
            self._line(ax, self.plane, color=ink(), lw=1.8, boundary=True)
        if self.proof is not None and verdict.n_features <= 2:
            if verdict.status == "not_separable":
                self._plot_hulls(ax, verdict)
            self._plot_shared(ax, verdict)
        self.points_ = scatter_classes(ax, self.points, self.codes, self.names)
        if len(self.ringed) and not (verdict.status != "separable" and len(self.ringed) > 500):
            on = "touches the strip" if verdict.status == "separable" else "off the boundary"
            self.ringed_ = ring_points(ax, self.points[self.ringed], len(self.points), label=on)
        if not verdict.fit_intercept and verdict.n_features == 2:
            ax.plot(0, 0, "+", color=ink(), ms=11, mew=1.8, zorder=5)
        ax.set_xlabel(self.axis_names[0])
        if verdict.n_features == 1:
            ax.set_yticks([0, 1], plain_all(self.names, 18))
        else:
            ax.set_ylabel(self.axis_names[1])
        write_title(ax, self._title(verdict))
        handles = ax.get_legend_handles_labels()[0]
        if verdict.n_features == 1:
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

    def _plot_strip(self, ax: Axes) -> None:
        assert self.plane is not None
        plane = self.plane
        if self.margin is not None:
            unit = plane.normalised()
            edges = [Hyperplane(unit.w, unit.b - s * self.margin) for s in (1.0, -1.0)]
            box = _box(self._low, self._high)
            inside = _half_plane(box, edges[0].w, edges[0].b, keep=-1.0)
            inside = _half_plane(inside, edges[1].w, edges[1].b, keep=1.0)
            if len(inside) > 2:
                self.strip_ = Polygon(
                    inside, closed=True, facecolor=muted(), alpha=0.18, edgecolor="none", zorder=0.5
                )
                ax.add_patch(self.strip_)
            for edge in edges:
                self._line(ax, edge, color=ink(), lw=1.1, ls="--")
        self._line(ax, plane, color=ink(), lw=1.8, boundary=True)

    def _line(self, ax: Axes, plane: Hyperplane, *, boundary: bool = False, **looks: Any) -> None:
        ends = plane.clip(self._low, self._high)
        if len(ends) < 2:
            return
        (line,) = ax.plot(ends[:, 0], ends[:, 1], zorder=self._above, **looks)
        if boundary:
            self.boundary_ = line
        else:
            self.margin_lines_.append(line)

    def _plot_hulls(self, ax: Axes, verdict: Separability) -> None:
        assert self.points is not None and self.codes is not None
        colours = class_colours(2)
        outlines = []
        for side in (0, 1):
            own = self.points[self.codes == side]
            if verdict.n_features == 1:
                ends = np.array([own[:, 0].min(), own[:, 0].max()])
                if not verdict.fit_intercept:
                    # The cone of numbers: all of the half-lines on which there are some.
                    ends = np.where(
                        np.sign(ends) == [-1.0, 1.0], [self._low[0], self._high[0]], 0.0
                    )
                self.hulls_ += ax.plot(
                    ends, [side, side], color=colours[side], lw=6, alpha=0.3,
                    solid_capstyle="round", zorder=1,
                )  # fmt: skip
                continue
            outline = _hull(own) if verdict.fit_intercept else _cone(own, self._low, self._high)
            outlines.append(outline)
            ax.add_patch(
                Polygon(
                    outline, closed=True, facecolor=to_rgba(colours[side], 0.07), lw=0, zorder=1
                )
            )
            patch = Polygon(
                outline, closed=True, facecolor="none", edgecolor=to_rgba(colours[side], 0.9),
                lw=1.3, zorder=self._above,
            )  # fmt: skip
            self.hulls_.append(ax.add_patch(patch))
        if len(outlines) == 2 and all(len(o) > 2 for o in outlines):
            both = _intersection(*outlines)
            if len(both) > 2:
                ax.add_patch(
                    Polygon(both, closed=True, facecolor=muted(), alpha=0.15, lw=0, zorder=1.1)
                )

    def _plot_shared(self, ax: Axes, verdict: Separability) -> None:
        assert self.points is not None and self.proof is not None
        proof, colours = self.proof, class_colours(2)
        at = self.points[proof["positions"]]
        shares = np.array([float(w) for w in proof["weights"]])
        cones = not verdict.fit_intercept
        goal = np.zeros(2) if verdict.n_features == 2 else np.array([0.0, 0.5])
        if not cones or verdict.n_features == 1:
            goal[: verdict.n_features] = proof["shared"]
        for point, side in zip(at, proof["sides"], strict=True):
            self.stems_ += ax.plot(
                [point[0], goal[0]],
                [point[1], goal[1]],
                color=colours[side],
                lw=1.2,
                zorder=self._above,
            )
        sides, sizes = np.array(proof["sides"]), 60 + 420 * shares / max(shares.max(), 1e-300)
        for side, dashes in ((0, "-"), (1, (0, (3, 2)))):
            # Dashed, so that a ring of the same row of the other class is seen below.
            own = sides == side
            ax.scatter(
                at[own, 0], at[own, 1], s=sizes[own], facecolors="none",
                edgecolors=colours[side], linewidths=1.6, linestyles=[dashes], zorder=4,
            )  # fmt: skip
        if cones and verdict.n_features == 2:
            self._plot_direction(ax)
        else:
            (self.shared_,) = ax.plot(
                goal[0], goal[1], marker="*", ms=15, color=ink(), mec=paper(), mew=0.8, ls="",
                zorder=5, label="in both cones" if cones else "common point",
            )  # fmt: skip
        if len(at) > _MOST_LABELS:
            return
        for point, weight in zip(at, proof["weights"], strict=True):
            away = point - goal
            size = np.linalg.norm(away / (self._high - self._low))
            step = away / (self._high - self._low) / size if size > 0 else np.array([0.0, 1.0])
            ax.annotate(
                _fraction(weight), point, xytext=(14.0 * step[0], 14.0 * step[1]),
                textcoords="offset points",
                ha="left" if step[0] > 0.3 else "right" if step[0] < -0.3 else "center",
                va="bottom" if step[1] > 0.3 else "top" if step[1] < -0.3 else "center",
                fontsize="small", color=ink(), zorder=6,
                bbox={"facecolor": paper(), "alpha": 0.7, "pad": 0.8, "edgecolor": "none"},
            )  # fmt: skip

    def _plot_direction(self, ax: Axes) -> None:
        """The vector that both cones share, as long as the picture has room for."""
        assert self.proof is not None
        v = np.asarray(self.proof["shared"], dtype=np.float64)
        if not np.any(v):
            # A class has the origin among the means of its own points.
            (self.shared_,) = ax.plot(
                0.0, 0.0, marker="*", ms=15, color=ink(), mec=paper(), mew=0.8, ls="", zorder=5,
                label="0, a weighted mean",
            )  # fmt: skip
            return
        far = [h if s > 0 else lo for s, h, lo in zip(v, self._high, self._low, strict=True)]
        room = [f / s for f, s in zip(far, v, strict=True) if s]
        end = 0.94 * min(room) * v
        (self.shared_,) = ax.plot(
            [0.0, end[0]], [0.0, end[1]], color=ink(), lw=1.8, zorder=2.5, label="in both cones"
        )
        ax.annotate(
            "", xy=end, xytext=0.9 * end,
            arrowprops={"arrowstyle": "-|>", "color": ink(), "lw": 1.8, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip

    # --- the proof, where no plane shows it ---------------------------------------------------

    def _plot_columns(self, ax: Axes, verdict: Separability) -> None:
        assert self.proof is not None and self.ranges is not None
        low, high = self.ranges
        spread = np.where(high > low, high - low, 1.0)
        values = np.asarray(self.proof["values"], dtype=np.float64)
        used = np.flatnonzero((values != 0.0).any(axis=0) & (high > low))
        if not len(used):
            used = np.arange(len(low))
        left_out = ""
        if len(used) > _MOST_COLUMNS:
            # Those in which the rows of the proof differ most.
            reach = np.ptp((values[:, used] - low[used]) / spread[used], axis=0)
            left_out = f"{_MOST_COLUMNS} of {len(used):,} columns; "
            used = np.sort(used[np.argsort(-reach, kind="stable")[:_MOST_COLUMNS]])
        places = np.arange(len(used))
        colours = class_colours(2)
        shares = np.array([float(w) for w in self.proof["weights"]])
        named: set[int] = set()
        for row, side, share in zip(values, self.proof["sides"], shares, strict=True):
            label = None if side in named else plain(self.names[side], 26)
            named.add(side)
            self.stems_ += ax.plot(
                places, (row[used] - low[used]) / spread[used], color=colours[side],
                ls=("-", "--")[side], marker=("o", "s")[side], ms=3.5, label=label,
                lw=0.8 + 2.6 * share / shares.max(), alpha=min(0.85, 4.0 / len(shares) + 0.2),
            )  # fmt: skip
        shared = np.asarray(self.proof["shared"], dtype=np.float64)
        if verdict.fit_intercept:
            (self.shared_,) = ax.plot(
                places, (shared[used] - low[used]) / spread[used], color=ink(), lw=2.4,
                marker="*", ms=11, mec=paper(), mew=0.6, label="common point", zorder=5,
            )  # fmt: skip
        names = [plain(self.column_names[j], 22) for j in used]
        ax.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticks([0.0, 1.0], ["least", "largest"])
        ax.set_ylim(-0.06, 1.06)
        ax.set_ylabel(f"{left_out}value in the data")
        write_title(ax, self._title(verdict))

    def _plot_weights(self, ax: Axes) -> None:
        assert self.proof is not None
        colours = class_colours(2)
        sides, weights = np.array(self.proof["sides"]), list(self.proof["weights"])
        order = sorted(range(len(weights)), key=lambda i: (sides[i], -weights[i]))
        left_out = len(order) - _MOST_WEIGHTS if len(order) > _MOST_WEIGHTS + 1 else 0
        if left_out:
            largest = sorted(range(len(weights)), key=lambda i: -weights[i])[:_MOST_WEIGHTS]
            order = [i for i in order if i in set(largest)]
        places = np.arange(len(order))
        values = [float(weights[i]) for i in order]
        self.weights_ = ax.barh(
            places, values, color=[colours[sides[i]] for i in order], height=0.62
        )
        rows = [f"row {self.proof['rows'][i]}" for i in order]
        ax.set_yticks(places, rows)
        for place, i in zip(places, order, strict=True):
            ax.annotate(
                _fraction(weights[i]), (float(weights[i]), place), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize="small", color=ink(),
            )  # fmt: skip
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(0.0, 1.22 * max(values))
        assert isinstance(self.verdict, Separability)
        more = f" (and {left_out:,} smaller)" if left_out else ""
        ax.set_xlabel(
            "weight; those of a class have sum 1" if self.verdict.fit_intercept else "weight"
        )
        write_title(ax, f"weights of the rows{more}")
        # For both panels; there is no room within the first.
        handles = self.axes_[0].get_legend_handles_labels()[0]
        if self._legend:
            write_legend(ax, handles)

    # --- many classes -------------------------------------------------------------------------

    def _plot_table(self, ax: Axes, table: SeparabilityTable) -> None:
        k = len(table.classes)
        names = plain_all(list(table.classes), 18)
        blue, orange, red = class_colours(3)
        tints = {"separable": blue, "quasi_separable": orange, "not_separable": red}
        inches = ax.get_window_extent().width / self.figure_.dpi
        # The layout of a new figure is yet to come; it has the room.
        short = k > 6 or (not self._own and inches < _CELL * k)
        for i in range(k):
            for j in range(i + 1):
                pair = (table.classes[j], table.classes[i])
                verdict = table.one_vs_rest[table.classes[i]] if i == j else table[pair]
                tint = tints.get(verdict.status, muted())
                cell = Rectangle(
                    (j - 0.48, i - 0.48), 0.96, 0.96, facecolor=to_rgba(tint, 0.2),
                    edgecolor=to_rgba(tint, 0.9), lw=1.6 if i == j else 0.0,
                )  # fmt: skip
                self.cells_[i, j] = cell
                ax.add_patch(cell)
                if k <= 12:
                    ax.text(
                        j, i, _cell(verdict, short=short), ha="center", va="center",
                        fontsize="x-small" if short else "small", color=ink(),
                    )  # fmt: skip
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        turned = max(len(name) for name in names) * k > 60
        ax.set_xticks(range(k), names, rotation=30 if turned else 0,
                      ha="right" if turned else "center", rotation_mode="anchor")  # fmt: skip
        ax.set_yticks(range(k), names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        write_title(ax, "separable? by pairs; framed: the class against the rest")
        shown = {v.status for v in table}
        handles = [
            Rectangle((0, 0), 1, 1, facecolor=to_rgba(tint, 0.2), edgecolor=to_rgba(tint, 0.9),
                      label=_WORDS[status])
            for status, tint in tints.items()
            if status in shown
        ]  # fmt: skip
        if self._legend:
            write_legend(ax, handles)
        told = [_SHORT[v.status] for v in table if v.status in _SHORT] if short and k <= 12 else []
        if told:
            text = "; ".join(dict.fromkeys(told))
            ax.set_xlabel(textwrap.fill(text, int(13.5 * inches)), fontsize="x-small",
                          color=muted(), loc="left")  # fmt: skip


# --- from witnesses to what is drawn ----------------------------------------------------------


def codes_sign(codes: np.ndarray) -> np.ndarray:
    """-1 and +1 for 0 and 1."""
    return np.where(codes == 1, 1.0, -1.0)


def _pair(classes: Any, known: list[Any]) -> tuple[Any, Any]:
    if isinstance(classes, str) or np.size(classes) != 2 or classes[0] == classes[1]:
        raise ValueError(f"classes={classes!r} must be two different labels.")
    for label in classes:
        if label not in known:
            raise ValueError(
                f"classes={classes!r}: {label!r} is none of {', '.join(repr(c) for c in known)}."
            )
    first, second = sorted(classes, key=known.index)
    return first, second


def _proof(
    witness: MultiplierWitness, given: LabelledPoints, rows: np.ndarray | None
) -> dict[str, Any]:
    """The rows of a witness, their weights, and what these add up to on either side."""
    index = np.array(witness.rows, dtype=np.int64)
    labels = given.labels.classes[given.labels.codes[index]].tolist()
    sides = [int(label == witness.sides.positive) for label in labels]
    weights = list(witness.multipliers)
    if witness.fit_intercept:
        sums = [sum((w for w, s in zip(weights, sides, strict=True) if s == k), Fraction(0))
                for k in (0, 1)]  # fmt: skip
        weights = [w / sums[s] for w, s in zip(weights, sides, strict=True)]
    # Either side gives the same; one that has rows, through the origin.
    side = 1 if 1 in sides else 0
    own = [i for i, s in enumerate(sides) if s == side]
    shared = combination(given.design, index[own], [weights[i] for i in own])
    if not witness.fit_intercept and len(own) == len(sides):
        shared = [Fraction(0)] * len(shared)
    block = given.design.take(index).matrix
    block = block.toarray() if sp.issparse(block) else np.asarray(block)
    return {
        "rows": tuple(witness.rows),
        "positions": index if rows is None else np.searchsorted(rows, index),
        "values": block.astype(np.float64),
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
    low, high = x.min(axis=0), x.max(axis=0)
    if sp.issparse(x):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.array([low, high], dtype=np.float64)


def _fraction(value: Fraction) -> str:
    """Exact where that is short, else three digits."""
    text = str(value)
    return text if len(text) <= 7 else f"{float(value):.3g}"


def _cell(verdict: Separability, *, short: bool) -> str:
    if verdict.status == "separable":
        margin = "" if verdict.margin is None else f"{verdict.margin.lower:.3g}"
        return margin if short else f"separable\nmargin {margin}" if margin else "separable"
    if verdict.status == "not_separable":
        assert isinstance(verdict.witness, MultiplierWitness)
        count = len(verdict.witness.rows)
        return f"({count})" if short else f"not separable\n{count} rows prove it"
    if verdict.status == "quasi_separable":
        assert isinstance(verdict.witness, HyperplaneWitness)
        count = len(verdict.witness.separated)
        return f"+{count}" if short else f"quasi-separable\n{count} rows separated"
    return "?" if short else "undecided"


def _table_size(classes: Any) -> tuple[float, float]:
    k = len(classes)
    side = float(np.clip(1.45 * k if k <= 6 else 0.75 * k, 4.4, 10.0))
    # Names on the left, the legend on the right.
    letters = min(18, max(len(str(label)) for label in classes))
    return side + 1.3 + 0.08 * letters, 0.8 * side + 0.5


# --- planar geometry --------------------------------------------------------------------------


def _box(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.array([(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])])


def _half_plane(polygon: np.ndarray, w: np.ndarray, b: float, *, keep: float) -> np.ndarray:
    """The part of a convex polygon where ``keep (w.x + b) >= 0`` (Sutherland and Hodgman, 1974)."""
    out = []
    score = keep * (polygon @ w + b)
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if score[i] >= 0.0:
            out.append(polygon[i])
        if min(score[i], score[j]) < 0.0 < max(score[i], score[j]):
            share = score[i] / (score[i] - score[j])
            out.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(out).reshape(-1, 2)


def _intersection(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of two convex polygons with vertices counterclockwise."""
    out = first
    for i in range(len(second)):
        if not len(out):
            break
        a, edge = second[i], second[(i + 1) % len(second)] - second[i]
        w = np.array([-edge[1], edge[0]])
        out = _half_plane(out, w, -float(w @ a), keep=1.0)
    return out


def _hull(points: np.ndarray) -> np.ndarray:
    """Vertices of the convex hull, counterclockwise; two where the points are on a line."""
    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        order = np.lexsort((points[:, 1], points[:, 0]))
        return points[order[[0, -1]]]


def _cone(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The cone of points within a box, counterclockwise: all of it where no half-plane holds it."""
    box = _box(low, high)
    moved = points[np.any(points != 0.0, axis=1)]
    if not len(moved):
        return np.zeros((1, 2))
    angles = np.sort(np.arctan2(moved[:, 1], moved[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2.0 * math.pi))
    widest = int(np.argmax(gaps))
    if gaps[widest] < math.pi:
        return box
    start = angles[(widest + 1) % len(angles)]
    end = start + 2.0 * math.pi - gaps[widest]
    for angle, keep in ((start, 1.0), (end, -1.0)):
        box = _half_plane(box, np.array([-math.sin(angle), math.cos(angle)]), 0.0, keep=keep)
    return box
