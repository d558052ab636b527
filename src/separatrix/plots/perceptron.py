"""The updates of a perceptron, one by one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.ticker import MaxNLocator

from separatrix.data.validation import check_number
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.separation.convergence import order_runs
from separatrix.geometry.separation.perceptron_bound import PerceptronBound
from separatrix.messages import counted
from separatrix.plots.boundaries import plot_plane
from separatrix.plots.display import Animated, Display, Looks, spread_steps
from separatrix.plots.fitted import dense
from separatrix.plots.orders import OrdersDisplay
from separatrix.plots.planar import box, framed, half_plane
from separatrix.plots.points import (
    axes_row,
    draw_arrow,
    fill,
    one_axes,
    scatter_classes,
    set_limits,
    write_beside,
    write_legend,
    write_title,
)
from separatrix.plots.style import class_colours, class_looks, ink, muted, number, paper, plain
from separatrix.plots.updates import Run, bound_of, recorded
from separatrix.solvers.trace import Update

# The most panels, by default.
_PANELS = 9
# The number of letters of a small title that are as wide as a panel.
_TITLE = 42
# The most rows that are numbered in the picture.
_NUMBERED = 12
# The most rows that have bars of their own.
_BARS = 30
# The most passes by which bars are split.
_CUTS = 12
# The tint of the two sides, from which points of their own class stand out.
_TINT = 0.09
# The diameter of a ring, in points: a little more than that of the largest marker.
_RING = 10.5
# Arrows in the units of the points, as long as they are no longer than this many times the points
# and no shorter than half of them.
_REACH = 2.0
# Stored entries up to which the bound on the mistakes is computed by default.
_SMALL = 200_000
# Features up to which it is computed by default: it takes a linear program in them.
_WIDE = 2_000


def _tuples(*pair: Sequence[float]) -> str:
    """``(1, −3) → (2, −2)``, with fewer digits where that would be too long for a panel."""
    for digits in (4, 3, 2):
        texts = [", ".join(number(v, digits) for v in values) for values in pair]
        if sum(map(len, texts)) <= 36:
            break
    else:
        # Or below one another.
        return "\n→ ".join(f"({text})" for text in texts)
    return " → ".join(f"({text})" if "," in text else text for text in texts)


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronDisplay(Run, Animated, Display):
    r"""The updates of a perceptron: the mistake, and what it does to the weights.

    With two features every picture is the plane of the points.  The row that was on the wrong
    side is ringed.  The weights are arrows from the origin, so that the sum
    :math:`w_{new} = w_{old} + \eta\,y\,x` is there to be seen, tip to tail, and as the diagonal of
    the parallelogram; with an offset that is the sum of their first two coordinates, and the
    third, :math:`b_{new} = b_{old} + \eta\,y`, moves the boundary off the origin and stands in the
    title, ``(w, b) = (1, -3, -1) -> (2, -2, -2)``.  Where the weights outgrow the points, or are
    small beside them, all arrows of all panels are shortened or lengthened by the same factor,
    which the picture names: sums and right angles stay.

    With any other number of features there is no such plane, and nothing is projected: each
    picture shows the *score* :math:`w \cdot x + b` of every row before and after the update, the
    two classes apart.  What is right of 0 is on the positive side.

    Updates are counted from 1, rows from 0 as in the trace.

    Parameters
    ----------
    X : design
        The rows, see :mod:`separatrix.data.design`.
    codes : ndarray of int of shape (n_samples,)
        Position of every row's class in ``classes``.
    classes : sequence of two
        The negative side and the positive one.
    updates : sequence of Update
        All updates that were recorded.
    shown : sequence of int
        The numbers of the updates that :meth:`plot` draws, from 1.
    names : sequence of str
        The names of the features.
    margin : float, default=0.0
        The value that ``y (w.x + b)`` had to reach for a row not to be a mistake.
    fit_intercept : bool, default=True
    n_passes : int, default=0
        The number of passes made, including the clean one.
    finished : bool, default=True
        Whether the last pass was clean.
    plain_rule : bool, default=True
        Whether the bound of the convergence theorem is about this run: a constant rate and rows
        of equal weight.
    rate : float, default=1.0
    row_numbers : sequence of int, optional
        The numbers of the rows in titles; by default their positions, from 0.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One for each update, after :meth:`plot`.
    ax_ : Axes
        The axes that were drawn into last.
    figure_ : Figure
    arrows_ : dict of FancyArrowPatch
        The arrows of the last update drawn in the plane: ``"before"`` (unless it is zero),
        ``"step"``, ``"after"`` (unless it is zero).
    boundaries_ : dict of Line2D
        The boundaries of the last update drawn in the plane: ``"before"`` and ``"after"``, each
        unless its weights are zero.
    mistake_ : Line2D
        The ring around the row of the mistake.
    scale_ : float
        The factor by which the arrows' lengths are multiplied.

    References
    ----------
    Rosenblatt (1958), The perceptron.  Novikoff (1962), On convergence proofs for perceptrons.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> from separatrix.plots import PerceptronDisplay
    >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    >>> model = Perceptron(record=True).fit(X, y)
    >>> display = PerceptronDisplay.from_estimator(model, X, y)
    >>> len(display.updates), len(display.axes_)
    (9, 9)
    >>> print(display.title(9))
    update 9 (last), pass 5: row 3 (class 1)
    (w, b) = (4, −2, 0) → (4, −0.5, 1)
    """

    shown: Sequence[int]

    def __post_init__(self) -> None:
        self.in_plane = self.X.n_features == 2
        self.frame_size = (5.6, 6.2 if self.in_plane else 4.2)
        self.scale_ = 1.0
        if self.in_plane:
            self.points = dense(self.X.take(np.arange(self.X.n_samples)).matrix)
            self._settle_limits()

    @property
    def n_frames(self) -> int:
        """The frames of an animation: one for every update."""
        return len(self.updates)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        updates: Sequence[int] | None = None,
        part: Any = None,
        ax: Any = None,
    ) -> PerceptronDisplay:
        """Draw the updates of a fitted perceptron, a panel each.

        Parameters
        ----------
        model : Perceptron or SGDClassifier
            Fitted with ``record=True``: a perceptron, with margin or without, or
            ``SGDClassifier.perceptron(record=True)``.  Or a pipeline that ends in one, whose
            picture is of the rows as the last step sees them.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,)
        updates : sequence of int, optional
            The numbers of the updates to draw, from 1.  By default all, or, if there are more than
            nine, the first few, the last, and some between them, ever farther apart.
        part : object, optional
            The class whose problem, against the rest, is shown, for more than two classes.
        ax : sequence of Axes, optional
            One for each update.

        Returns
        -------
        PerceptronDisplay

        Raises
        ------
        TypeError
            For a model that makes no such updates.
        ValueError
            If the updates were not recorded, there were none, ``updates`` names one that is not
            there, ``X`` or ``y`` are not the training data, or no class of several is chosen.
        """
        display = cls(**vars(recorded(model, X, y, part)), shown=())
        display.shown = display._chosen(updates)
        return display.plot(ax=ax)

    @staticmethod
    def compare_orders(
        X: Any,
        y: Any,
        orders: Sequence[str] = ("cyclic", "random", "replacement"),
        *,
        starts: Sequence[Any] | None = None,
        n_trials: int = 30,
        ax: Any = None,
        **options: Any,
    ) -> OrdersDisplay:
        """Draw the corrections and passes of perceptrons that visit the rows in several orders.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes, which some plane separates.
        orders : sequence of str, default=("cyclic", "random", "replacement")
            Orders of :class:`separatrix.Perceptron`.
        starts : sequence of array-like, optional
            Weights to start from, with the intercept last if there is one; zero by default.
        n_trials : int, default=30
            The number of runs of each order in which rows are drawn at random; the others are run
            once.
        ax : sequence of two Axes, optional
        **options
            ``fit_intercept``, ``learning_rate``, ``margin``, ``max_passes`` and ``random_state``,
            as of :func:`separatrix.perceptron_bound`.

        Returns
        -------
        OrdersDisplay

        Raises
        ------
        ValueError
            For bad parameters or data, and for classes that are not separable.

        Examples
        --------
        >>> from separatrix.plots import PerceptronDisplay
        >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
        >>> display = PerceptronDisplay.compare_orders(X, y, n_trials=10)
        >>> for runs in display.runs:
        ...     print(runs.order, len(runs.corrections), runs.corrections.max() <= 55)
        cyclic 1 True
        random 10 True
        replacement 10 True
        """
        runs = order_runs(X, y, orders=orders, starts=starts, n_trials=n_trials, **options)
        return OrdersDisplay(runs=runs).plot(ax=ax)

    # --- the captions -----------------------------------------------------------------------

    def _row(self, sample: int) -> int:
        """The number of a row: its position, unless rows have numbers of their own."""
        return sample if self.row_numbers is None else self.row_numbers[sample]

    def title(self, k: int) -> str:
        """Two lines on update ``k``, from 1: the row, and the weights or its score."""
        update = self._update(k)
        label = plain(self.classes[self.codes[update.sample]], 12)
        last = " (last)" if k == len(self.updates) else ""
        row = f"row {self._row(update.sample):,} (class {label})"
        first = f"update {k:,}{last}, pass {update.epoch:,}: {row}"
        if not self.in_plane:
            before, after = self._scores(update, np.array([update.sample])).ravel()
            return f"{first}\nits score: {number(float(before))} → {number(float(after))}"
        old, new = list(update.coef_before), list(update.coef)
        if not self.fit_intercept:
            return f"{first}\nw = {_tuples(old, new)}"
        both = _tuples([*old, update.intercept_before], [*new, update.intercept])
        return f"{first}\n(w, b) = {both}"

    def _chosen(self, updates: Sequence[int] | None) -> list[int]:
        """The numbers of the updates to show, from 1."""
        if updates is None:
            return spread_steps(self.n_frames, _PANELS)
        chosen = list(np.atleast_1d(np.asarray(updates, dtype=object)))
        if not chosen:
            raise ValueError("updates is empty; name at least one, from 1.")
        for k in chosen:
            check_number("updates", k, minimum=1, integer=True)
            if k > self.n_frames:
                raise ValueError(f"updates has {k}, and the last of this run is {self.n_frames}.")
        return [int(k) for k in chosen]

    def _update(self, k: int) -> Update:
        check_number("k", k, minimum=1, integer=True)
        if k > len(self.updates):
            raise ValueError(f"k={k} is beyond the last update, {len(self.updates)}.")
        return self.updates[k - 1]

    def _scores(self, update: Update, rows: np.ndarray | None = None) -> np.ndarray:
        """Scores before and after an update, of all rows or of some: shape (2, n)."""
        design = self.X if rows is None else self.X.take(rows)
        weights = np.column_stack([update.coef_before, update.coef])
        scores = design.dot(np.ascontiguousarray(weights))
        return np.asarray(scores + np.array([update.intercept_before, update.intercept])).T

    # --- drawing ----------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Self:
        """Draw the updates in ``shown``, a panel each.

        Parameters
        ----------
        ax : sequence of Axes, optional
            One for each update; by default those of a new figure, whose panels have the same
            limits, with a legend; see also :meth:`legend_handles`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For another number of axes.
        """
        n = len(self.shown)
        columns = n if n <= 3 else 2 if n == 4 else 3
        # A row of three is as wide as a page, and its text as large as the page's.
        # With room for the legend below.
        below = (0.6 if self.in_plane else 0.3) / -(-n // columns)
        panel = (3.3, (3.2 if self.in_plane else 2.4) + below)
        self._begin(axes_row(ax, n, columns=columns, panel=panel), main=-1)
        titles = [self.title(k) for k in self.shown]
        longest = max(len(line) for title in titles for line in title.splitlines())
        for axes, k, title in zip(self.axes_, self.shown, titles, strict=True):
            self._draw(axes, self._update(k))
            axes.set_title(title, fontsize="small" if longest <= _TITLE else "x-small")
        if ax is None:
            for position, axes in enumerate(self.axes_):
                # The limits are the same in the plane, and are labelled at the edges.
                if self.in_plane and position % columns:
                    axes.set_ylabel("")
                    axes.tick_params(labelleft=False)
                if position + columns < n:
                    axes.set_xlabel("")
                    axes.tick_params(labelbottom=not self.in_plane)
            write_legend(self.ax_, self.legend_handles(), below=True)
        return self

    def plot_update(self, k: int, ax: Axes | None = None) -> PerceptronDisplay:
        """Draw one update.

        Parameters
        ----------
        k : int
            The number of the update, from 1.
        ax : Axes, optional
            By default those of a new figure, with a legend; see also :meth:`legend_handles`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a number that is not there.
        """
        self._update(k)
        self._begin(one_axes(ax, figsize=(5.6, 5.9) if self.in_plane else (6.0, 4.0)))
        self._draw_step(k - 1, self.ax_)
        if ax is None:
            write_legend(self.ax_, self.legend_handles(), below=True)
        return self

    def _draw_step(self, k: int, ax: Axes) -> None:
        """Draw the update after ``k`` others, with its title."""
        self._draw(ax, self.updates[k])
        ax.set_title(self.title(k + 1))

    def legend_handles(self) -> list[Any]:
        """The handles of a legend of the picture's signs, which axes that are given do not get."""
        what = "mistake" if self.margin == 0 else "row within the margin"
        keys: list[Looks] = [
            {"label": f"class {plain(label, 20)}, y = {sign}1", **look}
            for label, sign, look in zip(self.classes, "−+", class_looks(2), strict=True)
        ]
        ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "color": ink()}
        keys.append({**ring, "label": f"the {what}"})
        handles = [Line2D([], [], ls="none", **key) for key in keys]
        if not self.in_plane:
            return handles
        step = "+ y x" if self.rate == 1.0 else "+ rate · y x"
        arrows = ((muted(), "w before"), (_step_colour(), step), (ink(), "= w after"))
        arrow: Looks = {"lw": 2.0, "marker": ">", "markevery": [1]}
        return [
            *handles,
            Line2D([], [], color=muted(), lw=1.3, ls="--", label="boundary before"),
            Line2D([], [], color=ink(), lw=1.8, label="boundary after"),
            *(Line2D([], [], color=colour, label=label, **arrow) for colour, label in arrows),
        ]

    def _draw(self, ax: Axes, update: Update) -> None:
        draw = self._draw_plane if self.in_plane else self._draw_scores
        draw(ax, update)

    # In the plane.

    def _settle_limits(self) -> None:
        """The same limits for all updates: the points, the origin, and the arrows' tips."""
        size = float(np.abs(self.points).max(initial=0.0)) or 1.0
        # Every update starts where the one before it ended.
        first = self.updates[0].coef_before
        weights = np.array([np.zeros(2), first, *(update.coef for update in self.updates)])
        # The step of a row is as long as the row, and starts where an arrow ends.
        longest = float(np.abs(weights).max(initial=0.0))
        if longest and not size / 2.0 <= longest <= _REACH * size:
            # One digit: a factor that can be named.
            reach = _REACH if longest > size else 1.0
            self.scale_ = float(f"{reach * size / longest:.0e}")
        corners = np.concatenate([self.points, self.scale_ * weights])
        ends = corners.min(axis=0), corners.max(axis=0)
        # Arrows at right angles look so where the scales are the same.
        self.lower, self.upper, self.equal = framed(*ends, pad=0.1, alike=8.0, narrow=1.0)

    def _draw_plane(self, ax: Axes, update: Update) -> None:
        self._prepare_plane(ax)
        self.boundaries_: dict[str, Line2D] = {}
        self._shade(ax, update.coef, update.intercept)
        before = Hyperplane(update.coef_before, update.intercept_before)
        after, frame = Hyperplane(update.coef, update.intercept), (self.lower, self.upper)
        old: Looks = {"color": muted(), "lw": 1.3, "ls": (0, (5, 3)), "zorder": 2.0}
        new: Looks = {"color": ink(), "lw": 1.8, "zorder": 2.2}
        for key, plane, looks in (("before", before, old), ("after", after, new)):
            for line in plot_plane(ax, plane, *frame, **looks):
                self.boundaries_[key] = line
        # Rows between these two were to be corrected as well.
        for level in (-self.margin, self.margin) if self.margin > 0 else ():
            looks = {"color": muted(), "lw": 0.9, "ls": (0, (1, 2)), "zorder": 1.9}
            plot_plane(ax, Hyperplane(before.w, before.b - level), *frame, **looks)
        scatter_classes(ax, self.points, self.codes, self.classes)
        self._ring(ax, *self.points[update.sample], markeredgewidth=1.6)
        self._draw_arrows(ax, update)
        for i, point in enumerate(self.points if len(self.points) <= _NUMBERED else ()):
            write_beside(ax, str(self._row(i)), point, (9, 6), color=muted(), zorder=5)

    def _prepare_plane(self, ax: Axes) -> None:
        set_limits(ax, self.lower, self.upper)
        if self.equal:
            # From the top: a layout that makes room for the title knows where it is.
            ax.set_aspect("equal", adjustable="box", anchor="N")
        ax.set(xlabel=plain(self.names[0]), ylabel=plain(self.names[1]))
        ax.plot(0, 0, "+", color=muted(), markersize=7, zorder=1.8)
        notes = [f"arrows × {self.scale_:g}"] if self.scale_ != 1.0 else []
        if not self.equal:
            notes.append("unequal scales: right angles look skew")
        looks: Looks = {"fontsize": "x-small", "color": muted(), "zorder": 6}
        if notes:
            corner: Looks = {"ha": "right", "va": "bottom", "transform": ax.transAxes}
            ax.text(0.99, 0.01, "; ".join(notes), **corner, **looks)

    def _shade(self, ax: Axes, coef: np.ndarray, intercept: float) -> None:
        """A tint of its class on either side of the boundary."""
        whole = box(self.lower, self.upper)
        for sign, colour in zip((-1.0, 1.0), class_colours(2), strict=True):
            # Without weights the intercept decides everywhere alike; at 0 nothing does.
            if np.any(coef) or sign * intercept > 0.0:
                side = half_plane(whole, sign * coef, sign * intercept)
                fill(ax, side, facecolor=colour, alpha=_TINT, zorder=0.5)

    def _ring(self, ax: Axes, x: float, y: float, **looks: Any) -> None:
        ring = {"markersize": _RING, "markerfacecolor": "none", "markeredgecolor": ink(), **looks}
        (self.mistake_,) = ax.plot([x], [y], "o", zorder=4.5, **ring)

    def _draw_arrows(self, ax: Axes, update: Update) -> None:
        before, after = self.scale_ * update.coef_before, self.scale_ * update.coef
        zero, step, colour = np.zeros(2), after - before, _step_colour()
        # The other two sides of the parallelogram.
        for start, end in ((zero, step), (step, after)):
            ax.plot(*np.transpose([start, end]), color=colour, lw=1.2, ls=(0, (1, 2)), zorder=3.6)
        arrows: list[tuple[str, Any, Any, str, float]] = [
            ("before", zero, before, muted(), 1.6),
            # From zero it is the new weights: broader, so that it is seen beneath them.
            ("step", before, after, colour, 2.0 if np.any(before) else 6.0),
            ("after", zero, after, ink(), 2.2),
        ]
        head: Looks = {"arrowstyle": "-|>", "mutation_scale": 11, "joinstyle": "miter"}
        head |= {"shrinkA": 0, "shrinkB": 0}
        self.arrows_: dict[str, FancyArrowPatch] = {}
        for key, start, end, shade, width in arrows:
            if np.any(end - start):
                arrow = FancyArrowPatch(start, end, color=shade, lw=width, zorder=4.0, **head)
                self.arrows_[key] = arrow
                ax.add_patch(arrow)

    # Scores.

    def _draw_scores(self, ax: Axes, update: Update) -> None:
        scores = self._scores(update)
        # The same place in every picture: drawn by the row's number.
        height = (np.arange(len(self.codes)) * 0.6180339887498949 % 1.0 - 0.5) * 0.26
        height += np.where(self.codes == 1, 0.17, -0.17)
        rings = []
        for level, values in zip((1.0, 0.0), scores, strict=True):
            points = np.column_stack([values, level + height])
            scatter_classes(ax, points, self.codes, self.classes)
            rings.append(points[update.sample])
        self._ring(ax, *rings[0])
        self._ring(ax, *rings[1], markeredgewidth=1.6)
        draw_arrow(ax, *rings, lw=1.4, shrinkA=7, shrinkB=7, zorder=4.6)
        ax.axvline(0.0, color=ink(), lw=1.8, zorder=2.0)
        if self.margin > 0:
            for level in (-self.margin, self.margin):
                ax.axvline(level, color=muted(), lw=1.1, ls="--", zorder=1.9)
        low, high = float(scores.min()), float(scores.max())
        pad = 0.06 * ((high - low) or 1.0)
        low, high = min(low, 0.0) - pad, max(high, 0.0) + pad
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
        ax.set_yticks([1, 0], ["before", "after"])
        ax.tick_params(axis="y", length=0)
        ax.axhline(0.5, color=muted(), lw=0.6, alpha=0.6)
        for ends, colour in zip(((low, 0.0), (0.0, high)), class_colours(2), strict=True):
            ax.axvspan(*ends, facecolor=colour, alpha=_TINT, zorder=0.5, lw=0)
        score = "$w \\cdot x + b$" if self.fit_intercept else "$w \\cdot x$"
        ax.set(xlim=(low, high), ylim=(-0.5, 1.5), xlabel=f"score {score}")

    # --- mistakes ---------------------------------------------------------------------------

    def plot_mistakes(self, ax: Any = None, *, bound: Any = None) -> PerceptronDisplay:
        r"""Draw which rows caused the updates, and how the updates add up over the passes.

        On the right is the bound of the convergence theorem, :math:`(R/\gamma)^2` from zero and
        with the plain rule, as a line where the axis can hold it, else in words.

        Parameters
        ----------
        ax : sequence of two Axes, optional
            Axes for the bars and for the sum.
        bound : PerceptronBound or False, optional
            The result of :func:`separatrix.perceptron_bound` for the data.  By default it is
            computed, unless the data have more than 200,000 entries or 2,000 features, the rate
            changes or rows have weights; with False it is not.

        Returns
        -------
        self
            The display, with ``bars_``, ``bound_`` (None where there is none), ``mistakes_`` (by
            row) and ``by_pass_``.

        Raises
        ------
        ValueError
            For another number of axes.
        TypeError
            If ``bound`` is not a bound.
        """
        if bound is not None and bound is not False and not isinstance(bound, PerceptronBound):
            raise TypeError(
                f"bound={bound!r} is not a PerceptronBound; see perceptron_bound(X, y)."
            )
        self._begin(axes_row(ax, 2, panel=(4.8, 3.6)), main=1)
        epochs = np.array([update.epoch for update in self.updates], dtype=np.intp)
        self._draw_bars(self.axes_[0], epochs)
        self.bound_ = self._bound() if bound is None else bound or None
        self._draw_sum(self.axes_[1], epochs)
        return self

    def _bound(self) -> PerceptronBound | None:
        if not self.plain_rule or self.X.n_stored > _SMALL or self.X.n_features > _WIDE:
            return None
        return bound_of(self)

    def _draw_bars(self, ax: Axes, epochs: np.ndarray) -> None:
        samples = np.array([update.sample for update in self.updates], dtype=np.intp)
        n, passes = len(self.codes), int(epochs.max(initial=0))
        mistakes = self.mistakes_ = np.bincount(samples, minlength=n)
        rows, caused = np.arange(n), int((mistakes > 0).sum())
        if n > _BARS:
            # The rows that caused the most mistakes.
            wrong = np.flatnonzero(mistakes)
            rows = wrong[np.argsort(-mistakes[wrong], kind="stable")[:_BARS]]
        colours, hatches = np.array(class_colours(2)), np.array(["", "///"])
        side = self.codes[rows]
        own = {"color": colours[side].tolist(), "hatch": hatches[side].tolist()}
        places = np.arange(len(rows))
        self.bars_ = ax.bar(places, mistakes[rows], edgecolor=paper(), width=0.85, **own)
        cut = 1 < passes <= _CUTS
        for epoch in range(1, passes if cut else 0):
            # A bar is cut where one pass ends and the next begins.
            bottom = np.bincount(samples[epochs <= epoch], minlength=n)[rows]
            x = np.flatnonzero((bottom > 0) & (bottom < mistakes[rows]))
            ax.hlines(bottom[x], x - 0.42, x + 0.42, color=paper(), lw=1.6)
        ax.set_xticks(places, [str(i) for i in rows])
        if len(rows) > 12:
            ax.tick_params(axis="x", labelrotation=90, labelsize="x-small")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        some = f": {_BARS} of these {caused:,}, the most mistakes first"
        ax.set(
            xlabel=f"row{some if caused > _BARS else ''}",
            ylabel="mistakes, split by pass" if cut else "mistakes",
            ylim=(0, 1.25 * max(int(mistakes.max(initial=1)), 1)),
        )
        total = len(self.updates)
        write_title(ax, f"{counted(total, 'mistake')}, by {caused:,} of {n:,} rows")
        keys = [
            Patch(facecolor=colour, edgecolor=paper(), hatch=hatch, label=plain(label, 24))
            for colour, hatch, label in zip(colours, hatches, self.classes, strict=True)
        ]
        # In one row, for which there is room above the longest bar.
        ax.legend(handles=keys, loc="upper right", ncols=2, fontsize="small")

    def _draw_sum(self, ax: Axes, epochs: np.ndarray) -> None:
        passes = max(self.n_passes, int(epochs.max(initial=1)))
        self.by_pass_ = np.bincount(epochs, minlength=passes + 1)
        total = np.cumsum(self.by_pass_)
        marks: Looks = {"marker": "o" if passes <= 30 else "", "markersize": 4}
        (self.sum_,) = ax.plot(np.arange(passes + 1), total, color=ink(), lw=1.8, **marks)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        end = "every row is right" if self.finished else "mistakes are left"
        if self.margin > 0:
            end = "every row has the margin" if self.finished else "rows are within the margin"
        write_title(ax, f"after {counted(passes, 'pass')}, {end}")
        top, found = 1.12 * int(total[-1]), self.bound_
        looks: Looks = {"va": "top", "fontsize": "small", "color": ink()}
        if found is not None and found.separable and found.bound <= 25 * total[-1]:
            top = 1.15 * found.bound
            self.bound_line_ = ax.axhline(found.bound, color=muted(), ls="--", lw=1.3)
            looks["xycoords"] = ax.get_yaxis_transform()
            write_beside(ax, _bound_text(found), (0.0, found.bound), (4, -4), **looks)
        elif found is not None:
            top = 1.35 * int(total[-1])
            ax.text(0.02, 0.98, _bound_text(found), transform=ax.transAxes, **looks)
        ax.set(xlim=(0, passes), ylim=(0, max(top, 1.0)))
        ax.set(xlabel="passes", ylabel="mistakes so far")

    # --- files ------------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = 2.0,
        dpi: float = 120.0,
        updates: Sequence[int] | None = None,
    ) -> list[Path]:
        """Write the updates as an animation, or as numbered pictures.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.gif`` for an animation that repeats and holds its last picture;
            in ``.mp4``, where ffmpeg is installed; or in ``.png`` for a picture an update:
            ``frames.png`` stands for ``frames-001.png`` and so on.
        fps : float, default=2.0
            Updates a second.
        dpi : float, default=120.0
            Dots an inch; a picture is 5.6 inches wide.
        updates : sequence of int, optional
            The numbers of the updates to write, from 1; by default all, or, if there are more than
            120, the first, the last, and some between them.

        Returns
        -------
        list of Path
            The files, which are complete, or not written at all.

        Raises
        ------
        ValueError
            For another ending of the name, a folder that is not there, ``.mp4`` without ffmpeg,
            an update that is not there, or a number out of its range.
        """
        frames = None if updates is None else [k - 1 for k in self._chosen(updates)]
        return self._save_frames(path, frames, fps, dpi)


def _step_colour() -> str:
    # No class has it: there are two.
    return class_colours(6)[2]


def _bound_text(found: PerceptronBound) -> str:
    if not found.separable:
        return "no bound: the classes are not separable"
    if not np.isfinite(found.bound):
        return "separable, with a margin too small for a bound"
    value = f"{found.bound:,.0f}" if found.bound < 1e6 else f"{found.bound:.2g}"
    plain_start = found.from_zero and found.update_margin == 0.0
    formula = "$(R/\\gamma)^2$ = " if plain_start else ""
    return f"no order makes more than {formula}{value}"
