"""The margin: boundary, the lines beside it, support vectors and slack."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.patheffects as patheffects
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.validation import check_choice
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.losses import key_of
from separatrix.models.registry import stated
from separatrix.plots.boundaries import (
    difference,
    extent_of,
    level_lines,
    nearest_point,
    points_of,
)
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import as_model, last_step, positive_numbers, take_rows
from separatrix.plots.planar import Extent, span_of
from separatrix.plots.points import (
    MANY,
    Panels,
    axes_row,
    draw_arrow,
    draw_lines,
    one_axes,
    place_text,
    ring_points,
    scatter_classes,
    set_limits,
    write_legend,
    write_note,
)
from separatrix.plots.style import ink, muted, paper
from separatrix.plots.view import View

# A row whose score is this little beyond its margin line counts as on it: fits have a tolerance.
_ON = 1e-3
# Axes whose ranges differ by a larger factor are not drawn to one scale.
_RATIO = 4.0
# Shares of the arrow across the margin at which its width may be written, in order of preference.
_SHARES = (0.5, 0.25, 0.75, 0.125, 0.875, 0.375, 0.625, 0.0, 1.0)
# The largest factor by which the lines beside the boundary enlarge a picture by default.
_LARGER = 2.0
# The shorter side of a picture is at least this share of the longer.
_NARROW = 0.62


@dataclass(kw_only=True, eq=False, repr=False)
class MarginDisplay(Display):
    r"""Boundary, the lines where the score is -1 and +1, support vectors, slack, and the width.

    For a linear model the lines are :math:`1/|w|` from the boundary, and the picture has one scale
    across and up, if the features allow, so that right angles look right.  A stem goes from each
    row with slack :math:`\xi = \max(0, 1 - y f(x))` to the margin line of its class, whose
    distance is :math:`\xi/|w|`.  For a kernel machine the lines are level sets, and distances in
    the picture are not those of the kernel's space: instead of stems, the rings grow with the
    slack.

    Parameters
    ----------
    view : View
    extent : (float, float, float, float)
        Left, right, bottom and top.
    boundary : list of ndarray of shape (k, 2)
    margins : dict of float to list of ndarray of shape (k, 2)
        The lines where the score is -1 and +1.
    points : ndarray of shape (n, 2)
    codes : ndarray of int, shape (n,)
    support : ndarray of bool, shape (n,)
        The rows that are ringed: the support vectors, of a model that has any.
    slack : ndarray of shape (n,)
        The slack of each row; zero for a model without slack.
    stems : ndarray of shape (m, 2, 2)
        Segments from rows with slack to their margin line.
    arrow : ndarray of shape (2, 2), optional
        The ends of the double arrow across the margin.
    width : float, optional
        ``2/|w|``, in the space in which the model draws its plane.
    mistakes : int
        The number of rows on the wrong side.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    boundary_, margins_ : LineCollection
    points_ : list of PathCollection
    support_ : PathCollection or None
    stems_ : LineCollection or None
    width_ : list of artists
        The arrow and its text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> from separatrix.plots import MarginDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X, y = X.iloc[:100, 2:], y[:100]
    >>> display = MarginDisplay.from_estimator(LinearSVC(C=float("inf")).fit(X, y), X, y)
    >>> round(display.width, 4), int(display.support.sum()), len(display.stems)
    (1.3038, 2, 0)
    """

    view: View
    extent: Extent
    boundary: list[np.ndarray]
    margins: dict[float, list[np.ndarray]]
    points: np.ndarray
    codes: np.ndarray
    support: np.ndarray
    slack: np.ndarray
    stems: np.ndarray
    arrow: np.ndarray | None = None
    width: float | None = None
    mistakes: int = 0

    @property
    def note(self) -> str:
        """The note on what the picture does not show as it is: features, scale, and lines."""
        named = {"boundary": self.boundary}
        named |= {f"score {level:+g}": lines for level, lines in self.margins.items()}
        outside = [name for name, lines in named.items() if not lines]
        text = ""
        if outside and self.view.planes() is not None:
            verb = "is" if len(outside) == 1 else "are"
            text = f"{' and '.join(outside)} {verb} outside of the picture"
        return "; ".join(filter(None, (self._distortion(), text)))

    def _distortion(self) -> str:
        """The part of the note that panels on the same axes have in common."""
        crossed = self.arrow is not None or len(self.stems)
        if self._to_scale() or not crossed or self.view.kind == "distance":
            # Where the boundary is upright right angles look right to any scale.
            return self.view.note
        scales = "different scales on the axes: right angles look skew"
        return "; ".join(filter(None, (self.view.note, scales)))

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[Any] | None = None,
        at: Any = None,
        classes: Sequence[Any] | None = None,
        slack: bool = True,
        extent: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> MarginDisplay:
        """Draw the margin of a fitted model of two classes.

        Parameters
        ----------
        model : object
            A fitted model of any library: ``LinearSVC``, ``SVC``, or any other with scores.  Only
            support vector machines have support vectors and slack; for logistic regression, whose
            rows all count, and for the perceptron the lines where the score is -1 and +1 are drawn.
            Or a :class:`~separatrix.Hyperplane` or a pair ``(w, b)``, with the slack that the hinge
            charges at it.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        features : two names or positions of columns, optional
            The columns of the slice to show.  By default the view that shows most without
            distortion: for a linear model of more than two columns, the distance from the
            hyperplane across.
        at : array-like of shape (n_features,), or dict of names or positions to values, optional
            The point that the slice goes through; columns not given are held at their medians.
        classes : two labels, optional
            The two classes to show, of a model of more.
        slack : bool, default=True
            Whether to draw the stems, or let the rings grow.
        extent : {"points", "margins"}, optional
            The part of the plane to show: that of the points alone, or also that of the lines where
            the score of a linear model is -1 and +1, however far away these are.  By default the
            lines are shown unless the picture would become more than twice as large.
        ax : Axes, optional
        **kwargs
            Passed to ``plot``.

        Returns
        -------
        MarginDisplay

        Raises
        ------
        TypeError
            For a model that is not a fitted classifier, or has no scores (``decision_function``).
        ValueError
            For more than two classes, or data, labels or columns that do not fit.
        """
        chosen = {"features": features, "at": at, "classes": classes}
        display = cls._of(model, X, y, slack=slack, extent=extent, **chosen)
        display._trace(display.extent)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        C: Sequence[float] | None = None,
        lam: Sequence[float] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Panels[MarginDisplay]:
        """Margins as the strength of the penalty changes: a row of panels on the same axes.

        Parameters
        ----------
        estimator : object
            An estimator with a parameter ``C`` or ``lam``, or a pipeline that ends in one; copies
            of it are fitted, and it stays as it is.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        C, lam : sequence of positive float
            The strengths, as one of the two; for an estimator that has only ``C``, a value of
            ``lam`` stands for ``C = 1/(lam n)``.
        ax : array-like of Axes, optional
            One for each value.
        **kwargs
            The parameters ``features``, ``at``, ``slack`` and ``extent`` of :meth:`from_estimator`.

        Returns
        -------
        sequence of MarginDisplay
            One for each value; ``model_`` is its model.  The sequence has ``axes_`` and
            ``figure_``.

        Raises
        ------
        TypeError
            If ``estimator`` is not an estimator.
        ValueError
            If both or none of ``C`` and ``lam`` are given, or a value is not positive.
        """
        if (C is None) == (lam is None):
            raise ValueError("Give the strengths either as C=[...] or as lam=[...].")
        name, symbol = ("C", "C") if C is not None else ("lam", "λ")
        values = positive_numbers(name, C if C is not None else lam, infinite=name == "C")
        displays = []
        for model in _models(estimator, X, name, values):
            _fit(model, X, y)
            displays.append(cls._of(model, X, y, **kwargs))
            displays[-1].model_ = model  # type: ignore[attr-defined]
        # The extent that includes those of all of them.
        ends = np.array([display.extent for display in displays])
        low, high = ends.min(axis=0).tolist(), ends.max(axis=0).tolist()
        for display in displays:
            display._trace((low[0], high[1], low[2], high[3]))
        # Room for titles and labels, and a share of the legend's.
        columns = min(4, len(values))
        size = 3.2 + 1.6 / columns, 1.4 + (3.2 - 0.7 / columns) * displays[0]._shape()
        axes = axes_row(ax, len(values), panel=size)
        for i, (display, value) in enumerate(zip(displays, values, strict=True)):
            display._draw(axes[i])
            strength = "∞" if value == np.inf else f"{value:g}"
            axes[i].set_title(f"{symbol} = {strength}\n{display._summary()}", fontsize="small")
            if i % columns:
                axes[i].set_ylabel("")
                axes[i].tick_params(labelleft=False)
        handles = {str(h.get_label()): h for d in displays for h in d._handles()}
        write_legend(axes[columns - 1], list(handles.values()))
        note = displays[0]._distortion()
        if note:
            displays[0].figure_.supxlabel(note, fontsize="x-small", color=muted())
        _place_widths(displays)
        return Panels(displays, axes)

    # --- what is computed -----------------------------------------------------------------------

    @classmethod
    def _of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        slack: bool = True,
        extent: str | None = None,
        **chosen: Any,
    ) -> MarginDisplay:
        """The display of rows and the model's scores of them; the lines come with the extent."""
        check_choice("extent", extent, [None, "points", "margins"])
        model = as_model(model, y)
        labels = _require_two_classes(model, y, chosen.get("classes"))
        view = View.of(model, X, **chosen)
        model = getattr(model, "best_estimator_", model)
        if not hasattr(model, "decision_function"):
            raise TypeError(
                f"{type(model).__name__} has no scores (decision_function), so there are no margin "
                "lines at -1 and +1; draw its boundary with DecisionDisplay."
            )
        points, codes = points_of(view, X, y)
        assert codes is not None
        own = np.isin(np.asarray(y), view.classes)
        rows = X if own.all() else take_rows(X, np.flatnonzero(own))
        signs = np.where(codes == 1, 1.0, -1.0)
        scores = view.scores_of(rows)
        margins, last = signs * scores, last_step(model)
        support, xi = np.zeros(len(points), dtype=bool), np.zeros(len(points))
        if labels is not None and len(labels) == 2 and _is_machine(last):
            support = _support(last, rows, margins)
            xi = np.maximum(0.0, 1.0 - margins)
            # A remainder within the tolerance of a fit is not slack.
            xi[xi <= _ON] = 0.0
        display = cls(
            view=view,
            extent=_extent(view, points, extent),
            boundary=[],
            margins={},
            points=points,
            codes=codes,
            support=support,
            slack=xi if slack else np.zeros_like(xi),
            stems=np.empty((0, 2, 2)),
            width=_width(view, last),
            mistakes=int((np.where(scores > 0.0, 1.0, -1.0) != signs).sum()),
        )
        w = display._weights()
        if w is not None and slack:
            late, norm = np.flatnonzero(xi > 0.0), float(np.hypot(*w))
            step = (xi[late] * signs[late])[:, None] / norm * (w / norm)
            display.stems = np.stack([points[late], points[late] + step], axis=1)
        return display

    def _weights(self) -> np.ndarray | None:
        """Return the weights of a plane where the picture shows distances to it to scale."""
        planes = self.view.planes()
        if planes is None or self.width is None or not (self.view.exact and self.view.isometric):
            return None
        w = planes[0][1] - planes[0][0]
        return w if w.any() else None

    def _trace(self, extent: Extent) -> None:
        """Find the lines within an extent, widened so that the picture is not a strip."""
        self.extent = extent
        if self._to_scale():
            left, right, bottom, top = extent
            x = max(0.0, _NARROW * (top - bottom) - (right - left)) / 2
            y = max(0.0, _NARROW * (right - left) - (top - bottom)) / 2
            self.extent = (left - x, right + x, bottom - y, top + y)
        self.boundary, *beside = level_lines(self.view, (0.0, -1.0, 1.0), self.extent)
        self.margins = dict(zip((-1.0, 1.0), beside, strict=True))
        self.arrow = self._arrow()

    def _to_scale(self) -> bool:
        left, right, bottom, top = self.extent
        ratio = (right - left) / (top - bottom)
        linear = self.view.planes() is not None
        return self.view.isometric and linear and 1.0 / _RATIO <= ratio <= _RATIO

    def _arrow(self) -> np.ndarray | None:
        """Ends on the two margin lines, at a right angle to them, where few points are."""
        w = self._weights()
        if w is None or not self.boundary:
            return None
        norm = float(np.hypot(*w))
        half = w / norm / norm
        start, stop = self.boundary[0]
        middle = start + np.linspace(0.06, 0.94, 45)[:, None] * (stop - start)
        ends = np.stack([middle - half, middle + half], axis=1)
        low, high = np.array(self.extent).reshape(2, 2).T
        size = high - low
        ends = ends[np.all((ends > low) & (ends < high), axis=(1, 2))]
        if not len(ends):
            return None
        some = self.points[:: max(1, len(self.points) // 500)]
        share = np.linspace(-0.4, 1.4, 10)[:, None]
        gaps = [
            np.linalg.norm((a + share * (b - a))[:, None] / size - some / size, axis=2).min()
            for a, b in ends
        ]
        # Not at the rim, where the text has no room.
        rim = (np.minimum(ends - low, high - ends) / size).min(axis=(1, 2))
        left, right = ends[..., 0].min(axis=1) - low[0], high[0] - ends[..., 0].max(axis=1)
        side = np.maximum(left, right) / size[0]
        worth = np.minimum(gaps, 0.12) + (np.minimum(rim, 0.08) + 0.5 * np.minimum(side, 0.3))
        return np.asarray(ends[int(np.argmax(worth))])

    def _summary(self) -> str:
        parts, model = [], last_step(self.view.model)
        if self.width is not None:
            parts.append(f"width {self.width:.3g}")
        if _is_machine(model):
            parts.append(f"{int(self.support.sum()):,} support vectors")
        text = f"{self.mistakes:,} mistake{'' if self.mistakes == 1 else 's'}"
        certificate = getattr(model, "certificate_", None)
        if certificate is not None:
            text += f", {str(certificate.status).replace('_', ' ')}"
        return f"{', '.join(parts)}\n{text}" if parts else text

    def _shape(self) -> float:
        """The ratio of the height of the axes to their width."""
        if not self._to_scale():
            return 0.8
        left, right, bottom, top = self.extent
        return float(np.clip((top - bottom) / (right - left), 0.4, 1.4))

    # --- drawing --------------------------------------------------------------------------------

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, note: bool = True
    ) -> MarginDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        legend : bool, default=True
            Whether to draw a legend beside the axes.
        note : bool, default=True
            Whether to write above the axes what is shown, where it is not two features as they are.

        Returns
        -------
        self
        """
        shape = self._shape()
        high = min(4.0, 4.6 * shape)
        # A little high: where the height decides, the layout of equal scales cuts off labels.
        size = high / shape + 2.2 + 0.4 * self._grow(), high + 0.95 + 0.6 * bool(self.note)
        self._draw(one_axes(ax, size))
        if legend:
            write_legend(self.ax_, self._handles())
        if note:
            write_note(self.ax_, self.note)
        _place_widths([self])
        return self

    def _draw(self, ax: Axes) -> None:
        self._begin(ax)
        left, right, bottom, top = self.extent
        set_limits(ax, (left, bottom), (right, top), equal=self._to_scale())
        lines = itertools.chain(*self.margins.values())
        self.boundary_ = draw_lines(ax, self.boundary, 1.8, zorder=2.6)
        self.margins_ = draw_lines(ax, lines, 1.1, zorder=2.5, linestyles="--")
        self.points_ = scatter_classes(ax, self.points, self.codes, self.view.classes.tolist())
        self.stems_: LineCollection | None = None
        if len(self.stems):
            # Many would be a thicket.
            few = min(1.0, (25.0 / len(self.stems)) ** 0.5)
            looks: Looks = {"colors": muted(), "alpha": max(few, 0.15), "zorder": 2.2}
            looks["rasterized"] = len(self.points) > MANY
            self.stems_ = draw_lines(ax, self.stems, max(0.9 * few, 0.3), **looks)
        self.support_: Any = None
        if self.support.any():
            own, n = self.points[self.support], len(self.points)
            self.support_ = ring_points(ax, own, n, zorder=3.2, label="support vector")
            if self._grow():
                # The ring around a support vector of a kernel machine shows its slack.
                across = np.sqrt(self.support_.get_sizes()[0])
                more = 0.35 * across * np.minimum(self.slack[self.support], 2.0)
                self.support_.set_sizes((across + more) ** 2)
        self.width_: list[Any] = []
        if self.arrow is not None and self.width is not None:
            tips = {"arrowstyle": "<|-|>", "mutation_scale": 8.0}
            self.width_ = [draw_arrow(ax, *self.arrow, zorder=4.0, lw=1.0, **tips)]
        ax.set(xlabel=self.view.xlabel, ylabel=self.view.ylabel)

    def _grow(self) -> bool:
        return bool(self.slack.any()) and not len(self.stems) and self.view.kind != "line"

    def _write_width(self) -> None:
        """Write the width beside or beyond the arrow."""
        assert self.arrow is not None
        halo = [patheffects.withStroke(linewidth=3.0, foreground=paper())]
        places = self.arrow[0] + np.outer(_SHARES, self.arrow[1] - self.arrow[0])
        text, looks = f"2/|w| = {self.width:.3g}", Looks(path_effects=halo, zorder=4.0)
        self.width_.append(place_text(self.ax_, text, places, **looks))

    def _handles(self) -> list[Any]:
        handles: list[Any] = [drawn for drawn in self.points_ if len(drawn.get_offsets())]
        if self.boundary:
            handles.append(Line2D([], [], color=ink(), lw=1.8, label="boundary"))
        if any(self.margins.values()):
            handles.append(Line2D([], [], color=ink(), lw=1.1, ls="--", label="score -1 and +1"))
        if self.support_ is not None:
            label = "support vector" + (",\nlarger with slack" if self._grow() else "")
            ring: Looks = {"marker": "o", "markersize": 8.0, "markerfacecolor": "none"}
            handles.append(Line2D([], [], ls="none", markeredgecolor=ink(), label=label, **ring))
        if self.stems_ is not None:
            handles.append(Line2D([], [], color=muted(), lw=0.9, label="slack"))
        return handles


def _extent(view: View, points: np.ndarray, wanted: str | None) -> Extent:
    """The extent of the points, and, if they are to be shown, of the lines of a linear score."""
    zero, planes = view.kind == "distance", view.planes()
    small = extent_of(points, through_zero=zero)
    plane = None if planes is None else difference(planes)
    if wanted == "points" or plane is None or not plane.w.any():
        return small
    low, high, size = span_of(points)
    lines = (*plane.margin_boundaries, plane)
    nearest = [nearest_point(line, 0.5 * (low + high), size) for line in lines]
    large = extent_of(np.concatenate([points, nearest]), through_zero=zero)
    grown = np.diff(np.reshape(large, (2, 2))) / np.diff(np.reshape(small, (2, 2)))
    return large if wanted == "margins" or grown.max() <= _LARGER else small


def _place_widths(displays: Sequence[MarginDisplay]) -> None:
    """Write the widths of displays of one figure, once its layout is known in pixels."""
    displays = [d for d in displays if d.width_]
    if displays:
        displays[0].figure_.draw_without_rendering()
    for display in displays:
        display._write_width()


def _models(estimator: Any, X: Any, name: str, values: list[float]) -> Iterator[Any]:
    """Copies of an estimator, or of a pipeline that ends in one, with the strengths given."""
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator must be an estimator, not {type(estimator).__name__}.")
    last, prefix = last_step(estimator), ""
    if last is not estimator:
        prefix = f"{estimator.steps[-1][0]}__"
    known = last.get_params(deep=False)
    if "C" not in known and name not in known:
        raise ValueError(
            f"{type(last).__name__} has no parameter {name}, which a path has to change."
        )
    n, other = X.shape[0] if hasattr(X, "shape") else len(X), "lam" if name == "C" else "C"
    defaults = inspect.signature(type(last)).parameters
    for value in values:
        changed = {name: value} if name in known else {"C": 1.0 / (value * n)}
        if name in known and other in known:
            # Only one of the two is given: the other has its default.
            changed = {other: defaults[other].default, **changed}
        yield clone(estimator).set_params(**{prefix + key: v for key, v in changed.items()})


def _fit(model: Any, X: Any, y: Any) -> None:
    """Fit, without a warning that the panel gives in its own words."""
    with warnings.catch_warnings():
        if type(last_step(model)).__module__.startswith("separatrix."):
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)


def _require_two_classes(model: Any, y: Any, classes: Any) -> Any:
    """The labels of a model that has a margin between two of them; None if it has none."""
    if y is None:
        raise ValueError("A margin is between two classes, so it needs the labels y.")
    labels = getattr(model, "classes_", None)
    if labels is not None and len(labels) > 2:
        if classes is None:
            raise ValueError(
                f"A margin is between two classes, and {type(model).__name__} has "
                f"{len(labels)}; choose two of them with classes=, or fit a model of two."
            )
        if hasattr(model, "dual_coef_"):
            raise ValueError(
                f"{type(model).__name__} of {len(labels)} classes votes by pairs, and has no "
                "score of one class against another; fit it to the rows of two classes."
            )
    return labels


def _width(view: View, model: Any) -> float | None:
    """The width ``2/|w|``; None where the length of the weights has no meaning."""
    planes = view.planes()
    if planes is None or stated(model, "_any_length"):
        return None
    w = (planes if view.linear is None else view.linear)[0]
    whole = Hyperplane(w[1] - w[0])
    return whole.gap_width if whole.norm > 0.0 else None


def _is_machine(model: Any) -> bool:
    """Whether rows have slack in what the model minimises."""
    if hasattr(model, "support_") or hasattr(model, "dual_coef_"):
        return True
    loss = getattr(model, "loss", None)
    return key_of(loss) in ("hinge", "squared_hinge")


def _support(model: Any, X: Any, margins: np.ndarray) -> np.ndarray:
    """The support vectors: those that the model names, if the rows are those of its fit."""
    near = margins <= 1.0 + _ON
    support = getattr(model, "support_", None)
    if support is None or int(np.max(support, initial=-1)) >= len(margins):
        return near
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and not sp.issparse(X) and not sp.issparse(vectors) and len(vectors):
        rows = np.asarray(take_rows(X, support))
        if rows.shape != vectors.shape or not np.array_equal(rows, vectors):
            return near
    elif float(margins[support].max(initial=-np.inf)) > 1.0 + 1e2 * _ON:
        return near
    out = np.zeros(len(margins), dtype=bool)
    out[support] = True
    return out
