"""scikit-learn's own displays of how good a classifier is, in this library's colours.

They are scikit-learn's objects, with its attributes; what is added is one curve a class where
there are several, scores from ``decision_function`` where there are no probabilities, names of
classes as text and never as markup, and colours that are readable on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.lines import Line2D
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay

from separatrix.data.validation import check_choice, check_number
from separatrix.plots.display import Looks
from separatrix.plots.fitted import class_codes, last_step, one_a_class
from separatrix.plots.points import Panels, figure_of, one_axes, write_title
from separatrix.plots.style import (
    class_colours,
    class_markers,
    ink,
    line_dashes,
    muted,
    plain,
    plain_all,
)

# The deepest tint of a cell: text in ink is readable on it, on light paper and on dark.
_TINT = 0.55
# The largest number of classes with numbers in the cells; among more they could not be read.
_NUMBERS = 25
# The names of the classes beside the cells are horizontal up to this number of letters.
_FLAT = 6
# Curves that a legend within the axes names.
_INSIDE = 4

# Title, labels of the axes, and what the dotted line is.
_WORDS = {
    RocCurveDisplay: (
        "ROC",
        "false positives / all negatives",
        "true positives / all positives",
        "chance",
    ),
    PrecisionRecallDisplay: ("Precision and recall", "recall", "precision", "chance"),
    CalibrationDisplay: (
        "Calibration",
        "mean predicted probability",
        "observed share of the class",
        "as predicted",
    ),
}

# The name of a curve, whether each row is of its class, and the rows' scores.
Target = tuple[str, np.ndarray, np.ndarray]


def roc_display(
    model: Any, X: Any, y: Any, *, positive: Any = None, ax: Axes | None = None
) -> Panels[RocCurveDisplay]:
    """Draw the ROC curve: the true positive rate of a class against its false positive rate.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library or of scikit-learn, or a pipeline, with
        ``decision_function`` or ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows that the model was not fitted to, if the curve is to show what to expect.
    y : array-like of shape (n_samples,)
    positive : label, optional
        The positive one of two classes; by default the second.
    ax : Axes, optional

    Returns
    -------
    sequence of RocCurveDisplay
        scikit-learn's displays, with ``figure_`` and ``axes_``: one for two classes, and for more
        one for each class against the rest, in the order of ``classes_``.

    Raises
    ------
    TypeError
        For a model that has no classes or no scores.
    ValueError
        For labels that the model does not know, or a class to which no row or every row belongs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import roc_display
    >>> X, y = load_iris(return_X_y=True)
    >>> curves = roc_display(LogisticRegression().fit(X, y), X, y)
    >>> len(curves), float(curves[0].roc_auc)
    (3, 1.0)
    """
    targets = _targets(model, X, y, positive)
    return _curves(RocCurveDisplay, targets, ax, lambda curve, _: f"AUC {curve.roc_auc:.3f}")


def precision_recall_display(
    model: Any, X: Any, y: Any, *, positive: Any = None, ax: Axes | None = None
) -> Panels[PrecisionRecallDisplay]:
    """Draw precision against recall.

    Precision is the share of the rows predicted to be of a class that are of it, and recall the
    share of the rows of the class that are predicted to be of it.  The dotted lines are the
    precision of chance: the share of the class among the rows.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library or of scikit-learn, or a pipeline, with
        ``decision_function`` or ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    positive : label, optional
        The positive one of two classes; by default the second.
    ax : Axes, optional

    Returns
    -------
    sequence of PrecisionRecallDisplay
        scikit-learn's displays, as for :func:`roc_display`.

    Raises
    ------
    TypeError
        For a model that has no classes or no scores.
    ValueError
        For labels that the model does not know, or a class to which no row or every row belongs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> from separatrix.plots import precision_recall_display
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curves = precision_recall_display(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> curves[0].average_precision > 0.99
    True
    """
    kind, targets = PrecisionRecallDisplay, _targets(model, X, y, positive)
    return _curves(kind, targets, ax, lambda curve, _: f"AP {curve.average_precision:.3f}")


def calibration_display(
    model: Any,
    X: Any,
    y: Any,
    *,
    n_bins: int = 10,
    strategy: str = "quantile",
    positive: Any = None,
    ax: Axes | None = None,
) -> Panels[CalibrationDisplay]:
    """Draw the observed share of a class against the probability that was predicted for it.

    Parameters
    ----------
    model : classifier
        A fitted classifier with ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows that the model was not fitted to; on its training data it looks better than it is.
    y : array-like of shape (n_samples,)
    n_bins : int, default=10
        The number of groups of rows of similar probability, each of which is a point.
    strategy : {"quantile", "uniform"}, default="quantile"
        Groups of equally many rows, or of equally wide ranges of probabilities.
    positive : label, optional
        The one of two classes whose probabilities are drawn; by default the second.
    ax : Axes, optional

    Returns
    -------
    sequence of CalibrationDisplay
        scikit-learn's displays, as for :func:`roc_display`.

    Raises
    ------
    TypeError
        For a model that has no probabilities.
    ValueError
        For labels that the model does not know, a bad number of groups, a class to which no row or
        every row belongs, or a ``positive`` that is not one of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import calibration_display
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curves = calibration_display(LogisticRegression().fit(X, y), X, y, n_bins=5)
    >>> len(curves[0].prob_true)
    5
    """
    check_number("n_bins", n_bins, minimum=1, integer=True)
    check_choice("strategy", strategy, ["quantile", "uniform"])
    if not hasattr(model, "predict_proba"):
        name = type(last_step(model)).__name__
        raise TypeError(
            f"This {name} has scores but no probabilities to compare with observed shares; "
            "LinearSVC, SVC and Perceptron have them with calibrate='sigmoid'."
        )
    targets = _targets(model, X, y, positive, probabilities=True)
    options = {"n_bins": n_bins, "strategy": strategy, "ref_line": False}

    def brier(_: Any, target: Target) -> str:
        return f"Brier {np.mean(np.square(target[1] - target[2])):.3f}"

    return _curves(CalibrationDisplay, targets, ax, brier, **options)


def confusion_matrix_display(
    model: Any, X: Any, y: Any, *, normalize: str | None = None, ax: Axes | None = None
) -> ConfusionMatrixDisplay:
    """Draw the confusion matrix: the rows of each class by the class that is predicted.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library or of scikit-learn, or a pipeline.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    normalize : {"true", "pred", "all"}, optional
        Shares of each row, of each column or of all, in percent, instead of counts.  Without, the
        tint is by the square root of the count, so that single mistakes are seen; with "true" it
        does not depend on how many rows a class has.
    ax : Axes, optional

    Returns
    -------
    ConfusionMatrixDisplay
        scikit-learn's display.  Above 25 classes there are no numbers in the cells.

    Raises
    ------
    TypeError
        For a model that has no classes.
    ValueError
        For labels that the model does not know, or another ``normalize``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> from separatrix.plots import confusion_matrix_display
    >>> X, y = load_iris(return_X_y=True)
    >>> display = confusion_matrix_display(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> display.confusion_matrix.tolist()
    [[50, 0, 0], [0, 48, 2], [0, 1, 49]]
    """
    check_choice("normalize", normalize, [None, "true", "pred", "all"])
    if not hasattr(model, "predict"):
        raise TypeError(
            f"{type(model).__name__} has no predict; pass a classifier that has been fitted."
        )
    predicted = np.asarray(model.predict(X))
    class_codes(model, y, len(predicted))
    classes = np.asarray(model.classes_)
    k = len(classes)
    size = float(np.clip(0.55 * k + 2.2, 4.2, 14.0))
    ax = one_axes(ax, figsize=(size, size))
    names = plain_all(classes.tolist(), 18)
    display = ConfusionMatrixDisplay.from_predictions(
        np.asarray(y),
        predicted,
        labels=classes,
        normalize=normalize,
        display_labels=names,
        include_values=k <= _NUMBERS,
        cmap=_tints(),
        colorbar=False,
        ax=ax,
        # A format that suits the values, though the texts are replaced below.
        values_format="d" if normalize is None else ".2f",
    )
    values = display.confusion_matrix
    # From nothing: the lightest cell must not be the smallest count.
    # And by the square root, so that the few mistakes are seen beside the many that are right.
    display.im_.set_norm(PowerNorm(0.5, 0.0, max(float(np.nanmax(values)), 1e-12)))
    if display.text_ is not None:
        font = float(np.clip(90.0 / k, 5.5, 11.0))
        for (i, j), text in np.ndenumerate(display.text_):
            value = values[i, j]
            label = f"{value:,}" if normalize is None else _percent(float(value))
            text.set_text("·" if value == 0 and k > 3 else label)
            text.set(color=ink() if value else muted(), fontsize=font)
            text.set_fontweight("bold" if i == j else "normal")
    if max(map(len, names)) > (_FLAT if k > 2 else 2 * _FLAT):
        ax.tick_params(axis="x", labelrotation=90 if k > 8 else 40)
        if k <= 8:
            plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    if k > 12:
        ax.tick_params(labelsize="small" if k <= 25 else "x-small")
    ax.tick_params(which="both", length=0)
    # A thread between the cells; alternatives to it are lost on dark paper.
    edges = np.arange(k + 1) - 0.5
    ax.set_xticks(edges, minor=True)
    ax.set_yticks(edges, minor=True)
    ax.grid(False, which="major")
    ax.grid(which="minor", color=muted(), lw=0.4, alpha=0.5)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="predicted class", ylabel="true class")
    right = int((predicted == np.asarray(y)).sum())
    what = {None: "", "true": ", % of each class", "pred": ", % of each prediction"}
    unit = what.get(normalize, ", % of all rows")
    write_title(ax, f"{right:,} of {len(predicted):,} right{unit}")
    return display


# --- shared -------------------------------------------------------------------------------------


def _targets(
    model: Any, X: Any, y: Any, positive: Any, *, probabilities: bool = False
) -> list[Target]:
    """One target a curve; for two classes, only that of the positive one."""
    scores = _scores(model, X, probabilities=probabilities)
    codes = class_codes(model, y, len(scores))
    classes = np.asarray(model.classes_).tolist()
    single = one_a_class(scores, len(classes), "curve").ndim == 1
    columns = {1: scores} if single else dict(enumerate(scores.T))
    for k in columns:
        count = int((codes == k).sum())
        if count in (0, len(codes)):
            held = "no row" if count == 0 else "every row"
            raise ValueError(
                f"In these data {held} belongs to class {classes[k]!r}, so it has no curve; pass "
                "rows of all classes."
            )
    if positive is not None and (positive not in classes or len(classes) != 2):
        raise ValueError(f"positive={positive!r} is not one of two classes of the model.")
    if positive is not None and positive == classes[0]:
        # The probability of the other class is 1 minus this one.
        columns = {0: float(probabilities) - scores}
    return [(plain(classes[k], 18), codes == k, column) for k, column in columns.items()]


def _scores(model: Any, X: Any, *, probabilities: bool) -> np.ndarray:
    """The scores: one column, for the second of two classes, or one a class."""
    # The scores of two classes keep the order of rows whose probabilities round to the same number;
    # among more classes only probabilities of different rows are on one scale.
    several = len(getattr(model, "classes_", ())) > 2
    ways = ["predict_proba"] if several or probabilities else ["decision_function"]
    ways += ["decision_function", "predict_proba"]
    name = next((way for way in ways if hasattr(model, way)), None)
    if name is None:
        raise TypeError(
            f"{type(last_step(model)).__name__} has neither decision_function nor predict_proba, "
            "and a curve needs scores."
        )
    values = np.asarray(getattr(model, name)(X), dtype=np.float64)
    return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values


def _curves(
    kind: Any,
    targets: list[Target],
    ax: Axes | None,
    value: Callable[[Any, Target], str],
    **options: Any,
) -> Panels[Any]:
    """scikit-learn's curve of every target, in this library's colours, dashes and words."""
    what, *labels, reference = _WORDS[kind]
    n = len(targets)
    # The names of many classes are beside the axes.
    axes, curves = one_axes(ax, figsize=(4.9 if n <= _INSIDE else 6.7, 4.9)), []
    dotted: Looks = {"color": muted(), "lw": 1.0, "ls": (0, (2, 2)), "zorder": 1}
    for k, target in enumerate(targets):
        name, positive, scores = target
        curve = kind.from_predictions(positive, scores, name=name, ax=axes, **options)
        colour = ink() if n == 1 else class_colours(n)[k]
        curve.line_.set(color=colour, linestyle=line_dashes(n)[k], linewidth=1.8, zorder=3)
        curve.line_.set_label(f"{name}: {value(curve, target)}")
        curves.append(curve)
        if kind is CalibrationDisplay:
            curve.line_.set(marker=class_markers(n)[k], markersize=5)
        if kind is PrecisionRecallDisplay:
            # The precision of chance is the share of the class.
            own = {**dotted, "color": colour if n > 1 else muted()}
            axes.axhline(float(positive.mean()), **own)
    if kind is not PrecisionRecallDisplay:
        axes.plot([0, 1], [0, 1], **dotted)
    # The best curves are on the edge of the picture.
    ends = -0.02, 1.02
    axes.set(xlim=ends, ylim=ends, xlabel=labels[0], ylabel=labels[1])
    axes.set_aspect("equal", adjustable="box")
    rest = f", {n} classes, each against the rest" if n > 1 else f", class {targets[0][0]}"
    write_title(axes, f"{what}{rest}")
    handles = [*(curve.line_ for curve in curves), Line2D([], [], label=reference, **dotted)]
    # The legend of few curves fits within the axes, that of many does not.
    beside = ax is None and n > _INSIDE
    size = "xx-small" if n > 20 else "small" if beside or n <= _INSIDE else "x-small"
    legend, holder = axes.get_legend(), figure_of(axes) if beside else axes
    if beside and legend is not None:
        legend.remove()
    where: Any = "outside right center" if beside else "best"
    holder.legend(handles=handles, loc=where, fontsize=size)
    return Panels(curves, [axes])


def _tints() -> LinearSegmentedColormap:
    """A colour map from transparent to a tint that lets some of the paper through."""
    red, green, blue = (int(class_colours(2)[0][i : i + 2], 16) / 255 for i in (1, 3, 5))
    return LinearSegmentedColormap.from_list(
        "tint", [(red, green, blue, 0.0), (red, green, blue, _TINT)]
    )


def _percent(share: float) -> str:
    if not np.isfinite(share) or share == 0.0:
        return "0" if share == 0.0 else ""
    percent = 100.0 * share
    # Neither 0 nor 100 unless it is.
    return f"{percent:.0f}" if 1.0 <= percent < 99.5 or share == 1.0 else f"{percent:.1f}"
