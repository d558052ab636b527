"""The losses of the margin, and where a model's data lie on them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from separatrix.losses import LOSSES, MarginLoss, MarginPerceptronLoss, key_of, loss_of
from separatrix.models.registry import stated
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import class_codes, last_step, one_a_class
from separatrix.plots.points import axes_row, figure_of, one_axes, place_text, write_title
from separatrix.plots.style import class_colours, ink, muted, plain

# Distinguishable in grey too; zero-one, which the others stand in for, is the solid one.
_DASHES: dict[str, Any] = {
    "zero_one": "-",
    "perceptron": (0, (1, 1.2)),
    "hinge": (0, (6, 1.5)),
    "squared_hinge": (0, (6, 1.5, 1, 1.5)),
    "log": (0, (3, 1.2)),
    "squared_error": (0, (3, 1.2, 1, 1.2, 1, 1.2)),
    "modified_huber": (0, (10, 1.5, 1, 1.5)),
}
_OTHER_DASHES: tuple[Any, ...] = ((0, (8, 2, 2, 2)), (0, (5, 4)), (0, (1, 3)))
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||")
_RANGE = (-3.0, 3.0)
# The top of the axis: curves are shown at the margins that matter, and no square dwarfs them.
_TOP = 4.2
# The largest number of classes that have colours of their own in the histogram.
_NAMED = 6
# The width of axes, in inches, below which a legend is kept short.
_NARROW = 4.0


def _loss_of_model(model: Any) -> MarginLoss | None:
    """The loss of the margin that a model minimises, from its class and parameters."""
    step = last_step(model)
    margin = getattr(step, "margin", 0.0)
    named = getattr(step, "loss", None)
    if isinstance(named, MarginLoss):
        return named
    key = stated(step, "_margin_loss")
    if key is None and isinstance(named, str):
        key = key_of(named) if key_of(named) in LOSSES else None
    # In scikit-learn "crammer_singer" is one problem of all classes at once.
    if key is None or getattr(step, "multi_class", None) == "crammer_singer":
        return None
    if key == "perceptron" and isinstance(margin, float | int) and margin > 0:
        return MarginPerceptronLoss(float(margin))
    return LOSSES[key]()


def _is_multinomial(model: Any, n_classes: int) -> bool:
    """Whether the log loss is that of all classes at once, and no sum over problems of two."""
    step = last_step(model)
    if n_classes == 2 or stated(step, "_margin_loss") != "log":
        return False
    one_vs_rest = "ovr" in (getattr(step, "multiclass", None), getattr(step, "multi_class", None))
    return not one_vs_rest and getattr(step, "solver", None) != "liblinear"


def _resolved(losses: Any) -> list[MarginLoss]:
    if losses is None:
        return [kind() for kind in LOSSES.values()]
    given = [losses] if isinstance(losses, str | MarginLoss) else list(losses)
    if not given:
        raise ValueError("losses is empty; name at least one loss, or leave it out for all.")
    return [x if isinstance(x, MarginLoss) else loss_of(x, convex=False) for x in given]


def _key(loss: MarginLoss) -> str | None:
    return loss.key if LOSSES.get(loss.key) is type(loss) else None


def _formula(loss: MarginLoss) -> str:
    # The printed objective has the margin in full; here it is the axis.
    text = loss.expression.format(z="z")
    for ascii_sign, sign in (("<=", "≤"), (">=", "≥"), ("^2", "²"), ("-", "−")):
        text = text.replace(ascii_sign, sign)
    return text


def _called(loss: MarginLoss) -> str:
    return loss.name if loss.name.split()[-1] in ("loss", "error") else f"{loss.name} loss"


def _curve(
    ax: Axes, loss: MarginLoss, ends: tuple[float, float], step: bool, style: dict[str, Any]
) -> Line2D:
    """Draw a loss over the margin; a step gets a mark for the end that belongs to each side."""
    low, high = ends
    if not step:
        z = np.linspace(low, high, 601)
        return ax.plot(z, loss.value(z), **style)[0]
    # A step has no upright part; the point on the boundary is a mistake.
    (line,) = ax.plot([low, 0, np.nan, 0, high], [1, 1, np.nan, 0, 0], **style)
    marks: Looks = {"color": style["color"], "markersize": 5, "zorder": 4}
    ax.plot(0, 1, "o", **marks)
    ax.plot(0, 0, "o", markerfacecolor="none", **marks)
    return line


@dataclass(kw_only=True, eq=False, repr=False)
class LossDisplay(Display):
    r"""The losses over the margin :math:`z = y\,(w \cdot x + b)`, and the margins of data below.

    Predictions are judged by the zero-one loss: 1 for a mistake, else 0.  Models minimise a loss
    that has a slope; the picture shows how they differ: what a correct point far from the boundary
    costs, where a point begins to cost anything, and how fast the cost of a mistake grows.

    Parameters
    ----------
    losses : sequence of MarginLoss
    emphasised : MarginLoss, optional
        The loss that stands out; it is drawn also if it is not among ``losses``.
    margins : ndarray of shape (n_samples,), optional
        Margins of data, for the histogram.
    codes : ndarray of int of shape (n_samples,), optional
        Position of every row's class in ``classes``.
    classes : sequence, optional
    name : str, default=""
        The name of the model, for the title.
    multinomial : bool, default=False
        Whether the model minimises the multinomial form of the log loss.

    Attributes
    ----------
    level_ : float or None
        With two classes and a loss that is 0 from some margin on, such as 1 for the hinge: that
        margin.
    n_mistakes_, n_within_ : int, int or None
        The numbers of margins that are not above 0, and that are below ``level_``, if there are
        margins.
    ax_ : Axes
        The axes of the curves.
    histogram_ax_ : Axes or None
    figure_ : Figure
    curves_ : dict of Line2D
        The curves, by the names of the losses.
    bars_ : list
        One container of bars a class; for more than six classes one for all of them.
    counts_ : ndarray of shape (n_classes, n_bins)
        The rows of each class in each bar.
    edges_ : ndarray of shape (n_bins + 1,)
        The edges of the bars; the first and the last bar also hold the margins beyond them.
    beyond_ : tuple of int
        The numbers of margins beyond the first and beyond the last edge.

    Examples
    --------
    >>> from separatrix.plots import LossDisplay
    >>> display = LossDisplay.from_losses(["zero_one", "hinge", "log"])
    >>> sorted(display.curves_)
    ['hinge', 'log loss', 'zero-one']
    """

    losses: Sequence[MarginLoss]
    emphasised: MarginLoss | None = None
    margins: np.ndarray | None = None
    codes: np.ndarray | None = None
    classes: Sequence[Any] | None = None
    name: str = ""
    multinomial: bool = False

    def __post_init__(self) -> None:
        # With more than two classes these are no margins of the objective.
        binary = self.classes is not None and len(self.classes) == 2
        level = self.level_ = self.emphasised.flat_from if self.emphasised and binary else None
        if self.margins is not None:
            self.n_mistakes_ = int((self.margins <= 0.0).sum())
            self.n_within_ = None if level is None else int((self.margins < level).sum())

    @classmethod
    def from_losses(cls, losses: Any = None, *, ax: Axes | None = None) -> LossDisplay:
        """Draw losses over the margin, from -3 to 3.

        Parameters
        ----------
        losses : sequence of str or MarginLoss, optional
            Names of losses of :data:`separatrix.losses.LOSSES`, or objects; all of them by default.
        ax : Axes, optional

        Returns
        -------
        LossDisplay

        Raises
        ------
        ValueError
            For a loss that is not known, or none.
        """
        return cls(losses=_resolved(losses)).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, losses: Any = None, ax: Any = None
    ) -> LossDisplay:
        """Draw the loss that a model minimises among the others, and its margins on data below.

        With two classes the margin is the label, -1 or +1, times the score.  With more it is the
        score of the row's own class less the best other score, as the axis says; a model that takes
        one class against the rest minimises a sum of losses of *its* margins, one a class.

        Parameters
        ----------
        model : estimator
            A fitted model with ``decision_function``, of this library or of scikit-learn, or a
            pipeline that ends in one.  Where it does not minimise a loss of the margin, no curve
            stands out, and the title says so.
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        losses : str, MarginLoss or sequence of them, optional
            The losses beside the model's own, as in :meth:`from_losses`; by default all.
        ax : sequence of two Axes, optional
            Axes for the curves and for the histogram.

        Returns
        -------
        LossDisplay

        Raises
        ------
        TypeError
            If the model has no scores.
        ValueError
            For labels that do not fit the model, scores that are not one a class, or a loss that is
            not known.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from separatrix import LinearSVC
        >>> from separatrix.plots import LossDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LinearSVC(loss="hinge").fit(scale(X), y)
        >>> display = LossDisplay.from_estimator(model, scale(X), y)
        >>> display.n_mistakes_ == int((model.predict(scale(X)) != y).sum())
        True
        """
        if not hasattr(model, "decision_function"):
            raise TypeError(
                f"{type(model).__name__} has no decision_function, and a margin is computed from "
                "scores; pass a classifier with scores."
            )
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        codes = class_codes(model, y, len(scores))
        classes = np.asarray(model.classes_).tolist()
        if one_a_class(scores, len(classes), "margin").ndim == 1:
            margins = np.where(codes == 1, scores, -scores)
        else:
            own = np.eye(len(classes), dtype=bool)[codes]
            margins = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
        display = cls(
            losses=_resolved(losses),
            emphasised=_loss_of_model(model),
            margins=margins,
            codes=codes,
            classes=classes,
            name=type(last_step(model)).__name__,
            multinomial=_is_multinomial(model, len(classes)),
        )
        return display.plot(ax=ax)

    # --- drawing ----------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> LossDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, or sequence of two Axes with margins, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For another number of axes.
        """
        self.histogram_ax_: Axes | None = None
        if self.margins is None:
            self._begin(one_axes(ax, figsize=(6.4, 4.4)))
            self._draw_curves(self.ax_, *_RANGE)
            self.ax_.set_xlabel("margin $z = y\\,(w \\cdot x + b)$")
        else:
            self._begin(axes_row(ax, 2, columns=1, panel=(6.4, 3.1), sharex=True))
            first, self.histogram_ax_ = self.axes_
            low, high = self._range(self.margins)
            self._draw_curves(first, low, high)
            self._draw_histogram(self.histogram_ax_, self.margins, low, high)
            first.tick_params(labelbottom=ax is not None)
        return self

    @staticmethod
    def _range(margins: np.ndarray) -> tuple[float, float]:
        """The range of the axis: three units to either side, and more where many margins are."""
        low, high = np.quantile(margins, [0.01, 0.98])
        # Beyond that the curves could no longer be distinguished.
        low, high = np.clip(low, -6.0, _RANGE[0]), np.clip(high, _RANGE[1], 9.0)
        return float(np.floor(2.0 * low) / 2.0), float(np.ceil(2.0 * high) / 2.0)

    def _draw_curves(self, ax: Axes, low: float, high: float) -> None:
        chosen, drawn = self.emphasised, list(self.losses)
        if chosen is not None:
            # Its own kind gives way: the same curve twice would be one of each width.
            drawn = [loss for loss in drawn if loss.name != chosen.name] + [chosen]
        # The colours of the histogram are the classes', and no loss must seem to be one.
        coloured = self.margins is None
        palette = class_colours(max(len(drawn) - 1, 1))
        colours = itertools.cycle(palette if coloured else [muted()])
        other = itertools.cycle(_OTHER_DASHES)
        self.curves_: dict[str, Line2D] = {}
        for loss in drawn:
            key = _key(loss)
            judge = key == "zero_one"
            colour = ink() if judge else next(colours)
            dashes = _DASHES[key] if key is not None else next(other)
            style: Looks = {"color": colour, "lw": 1.8 if coloured else 1.2, "ls": dashes}
            if loss is chosen:
                style |= {"color": ink(), "lw": 2.8, "ls": dashes if judge else "-", "zorder": 3.0}
            style["label"] = f"{plain(loss.name)}:  {plain(_formula(loss), 60)}"
            self.curves_[loss.name] = _curve(ax, loss, (low, high), judge, style)
        ax.axvline(0.0, color=muted(), linewidth=0.8, alpha=0.6, zorder=1)
        ax.set(xlim=(low, high), ylim=(-0.12, _TOP), ylabel="loss")
        handles = list(self.curves_.values())
        if chosen is not None:
            handles = handles[-1:] + handles[:-1]
        narrow = _inches(ax) < _NARROW
        size, length = ("x-small", 2.6) if narrow else (None, 3.2)
        where: Looks = {"loc": "upper right", "frameon": True}
        legend = ax.legend(handles=handles, fontsize=size, handlelength=length, **where)
        if narrow:
            # The names alone: formulas would cover the curves.
            for text in legend.get_texts():
                text.set_text(text.get_text().split(":")[0])
        write_title(ax, self._title())

    def _title(self) -> str:
        if self.margins is None:
            return "Losses of the margin"
        if self.emphasised is None:
            return f"{plain(self.name)}: another loss"
        if self.multinomial:
            return f"{plain(self.name)}: multinomial log loss"
        several = self.classes is not None and len(self.classes) > 2
        over = ", summed over two-class problems" if several else ""
        return f"{plain(self.name)}: {plain(_called(self.emphasised))}{over}"

    def _draw_histogram(self, ax: Axes, margins: np.ndarray, low: float, high: float) -> None:
        assert self.codes is not None and self.classes is not None
        # One bar ends at 0 and another at 1, where the meaning of a margin changes.
        width = 0.25 if high - low <= 8 else 0.5
        edges = self.edges_ = np.arange(low / width, high / width + 0.5) * width
        # A margin of exactly 0 is a mistake, so a bar holds its right end.
        inside = np.searchsorted(edges, margins, side="left") - 1
        n_classes, n_bars = len(self.classes), len(edges) - 1
        self.counts_ = np.zeros((n_classes, n_bars), dtype=np.int64)
        np.add.at(self.counts_, (self.codes, np.clip(inside, 0, n_bars - 1)), 1)
        self.beyond_ = int((margins <= edges[0]).sum()), int((margins > edges[-1]).sum())
        bottom = self._draw_bars(ax, width)
        named = n_classes <= _NAMED
        # Without room for the legend bars would be behind it.
        headroom = 1.05 if not named else 1.25 if n_classes == 2 else 1.4
        if named and _inches(ax) < _NARROW:
            headroom += 0.35
        top = headroom * self._highest(float(bottom.max(initial=1.0)))
        ax.set(xlim=(low, high), ylim=(0, top), ylabel="rows")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        guide: Looks = {"color": muted(), "lw": 0.8, "zorder": 1}
        ax.axvline(0.0, alpha=0.6, **guide)
        if self.level_ is not None:
            ax.axvline(self.level_, ls=(0, (3, 3)), alpha=0.8, **guide)
        self._annotate(ax)
        own = "$z$: score of the true class minus the best other score"
        ax.set_xlabel("margin $z = y\\,(w \\cdot x + b)$ of every row" if n_classes == 2 else own)
        if named:
            handles = [bars.patches[0] for bars in self.bars_]
            labels = [str(bars.get_label()) for bars in self.bars_]
            columns = 1 + (n_classes > 3)
            ax.legend(handles, labels, loc="best", ncols=columns, fontsize="small")

    def _draw_bars(self, ax: Axes, width: float) -> np.ndarray:
        """Draw the bars of each class on those of the one before; return where the last end."""
        assert self.classes is not None
        named = len(self.classes) <= _NAMED
        # Slices of many classes cannot be distinguished.
        stacked = self.counts_ if named else self.counts_.sum(axis=0, keepdims=True)
        labels = [plain(label, 20) for label in self.classes] if named else ["all classes"]
        colours = class_colours(len(labels)) if named else [muted()]
        # The hatch has the edge's colour: classes can be distinguished in grey too.
        looks: Looks = {"edgecolor": ink(), "linewidth": 0.3, "alpha": 0.75}
        bottom = np.zeros(stacked.shape[1])
        self.bars_ = []
        for counts, label, colour, hatch in zip(stacked, labels, colours, _HATCHES, strict=False):
            looks |= {"bottom": bottom, "facecolor": colour, "hatch": hatch, "label": label}
            self.bars_.append(ax.bar(self.edges_[:-1], counts, width, align="edge", **looks))
            bottom = bottom + counts
        return bottom

    def _highest(self, top: float) -> float:
        """The height of the axis: that of all bars, or less where outer ones dwarf the others."""
        inner = float(self.counts_.sum(axis=0)[1:-1].max(initial=0))
        return min(top, 2.5 * inner) if inner else top

    def _annotate(self, ax: Axes) -> None:
        heights, highest = self.counts_.sum(axis=0), ax.get_ylim()[1]
        text = f"{self.n_mistakes_:,} of {int(heights.sum()):,} rows are mistakes (z ≤ 0)"
        if self.n_within_ is not None:
            text += f", {self.n_within_:,} are within the margin (z < {self.level_:g})"
        self.notes_: list[Any] = [write_title(ax, text, fontsize="small")]
        for count, bar, sign in ((self.beyond_[0], 0, 1), (self.beyond_[1], -1, -1)):
            if count:
                cut = heights[bar] > highest
                text = f"{count:,} beyond" + (", bar cut" if cut else "")
                text = f"← {text}" if sign > 0 else f"{text} →"
                # The lowest place above the bars; beside one that reaches the top.
                x = self.edges_[bar + sign * bool(cut)]
                places = [(x, y) for y in np.linspace(0.0, highest, 40)]
                self.notes_.append(place_text(ax, text, places, ways=[(sign, 1)], color=muted()))


def _inches(ax: Axes) -> float:
    return float(ax.get_window_extent().width / figure_of(ax).dpi)
