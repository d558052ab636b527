"""The pictures of a report, drawn for its page.

A picture of many rows shows some of them, drawn at random but the same ones every time; figures
are always those of all rows.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.messages import clause
from separatrix.models.registry import stated
from separatrix.plots.fitted import take_rows
from separatrix.plots.style import plain
from separatrix.report.svg import drawing, to_svg

MOST_POINTS = 2_000
# The most rows of curves, where every row counts for little.
_MOST_RANKED = 50_000
_SIZE = (4.5, 3.5)
# The largest number of classes whose names fit within a picture of curves.
_FEW_CLASSES = 4


@dataclass(frozen=True)
class Picture:
    """A picture of the page, or the reason why there is none.

    Attributes
    ----------
    key : str
        The name of the picture on the page.
    section : str
        The section of the page in which the picture stands.
    title, caption, alt : str
    rows, drawn : int
        The number of rows that the picture is about, and of those that are drawn.
    svg : str
    why : str or None
    """

    key: str
    section: str
    title: str
    caption: str
    alt: str
    rows: int
    drawn: int
    svg: str = ""
    why: str | None = None
    wide: bool = False

    def to_dict(self) -> dict[str, Any]:
        """All fields but the drawing."""
        return {k: v for k, v in asdict(self).items() if k not in ("svg", "wide")}


# Makes a display from rows and their labels; the display holds the data that it draws.
_Draw = Callable[[Any, np.ndarray], Any]


@dataclass(frozen=True)
class _Plan:
    key: str
    section: str
    part: Part
    draw: _Draw
    title: str
    caption: str
    alt: str
    most: int = MOST_POINTS
    wide: bool = False


def pictures_of(evaluation: EvaluationData, diagnostics: dict[str, Any]) -> list[Picture]:
    """Draw the pictures that suit the model; one that cannot be drawn states why.

    ``diagnostics`` is a result of
    :func:`separatrix.assessment.regression_diagnostics.diagnostics_record`.
    """
    import matplotlib.pyplot as plt

    found = []
    for plan in _plans(evaluation, diagnostics):
        before = set(plt.get_fignums())
        words = {
            name: getattr(plan, name) for name in ("key", "section", "title", "caption", "alt")
        }
        picture = Picture(**words, rows=len(plan.part), drawn=0, wide=plan.wide)
        try:
            with drawing(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                display, caption, drawn = _drawn(evaluation, plan)
                svg = to_svg(display.figure_, plan.key, plan.alt)
                found.append(replace(picture, caption=caption, svg=svg, drawn=drawn))
        except (TypeError, ValueError) as error:
            # A display refuses in one sentence what it has no picture of.
            found.append(replace(picture, why=" ".join(str(error).split())))
        finally:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
    return found


def first_display(evaluation: EvaluationData) -> tuple[Any, str]:
    """The display that comes first among the pictures of a model's rows, drawn, and its caption.

    Raises
    ------
    TypeError, ValueError
        If there is no such picture; the message is one sentence.
    """
    refused: Exception | None = None
    for plan in _of_data(evaluation):
        try:
            display, caption, drawn = _drawn(evaluation, plan)
        except (TypeError, ValueError) as error:
            # The report has this sentence in the place of the picture, and the others below it.
            refused = refused or error
            continue
        if drawn < len(plan.part):
            caption += f" Drawn: {drawn:,} of {len(plan.part):,} rows."
        return display, caption
    assert refused is not None
    raise refused


def _drawn(evaluation: EvaluationData, plan: _Plan) -> tuple[Any, str, int]:
    """The display of a plan, its caption, and how many rows are drawn."""
    rows = _some(evaluation, plan.part, plan.most)
    display = plan.draw(take_rows(plan.part.X, rows), plan.part.y[rows])
    # The display's note on how points of many columns are shown.
    note = _sentence(str(getattr(display, "note", "") or ""))
    caption = " ".join(filter(None, (plan.caption, note)))
    return display, caption, len(rows) if plan.most > 1 else len(plan.part)


def _some(evaluation: EvaluationData, part: Part, most: int) -> np.ndarray:
    """The positions of at most ``most`` rows, with a proportional share of every class."""
    n = len(part)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    if evaluation.quantity:
        return np.sort(rng.choice(n, most, replace=False))
    labels, codes, counts = np.unique(part.y, return_inverse=True, return_counts=True)
    exact = most * counts / n
    wanted = np.maximum(1, np.floor(exact)).astype(int)
    # The rows that rounding down has left go to the classes that lost most by it.
    spare = max(0, most - int(wanted.sum()))
    wanted[np.argsort(wanted - exact, kind="stable")[:spare]] += 1
    return np.sort(
        np.concatenate(
            [
                rng.choice(np.flatnonzero(codes == k), wanted[k], replace=False)
                for k in range(len(labels))
            ]
        )
    )


def _by(make: Callable[..., Any], model: Any, axes: Any = None, **options: Any) -> _Draw:
    """A function that makes a display of rows, in axes that are made when it is called."""
    return lambda X, y: make(model, X, y, ax=(axes or _axes)(), **options)


def _plans(evaluation: EvaluationData, diagnostics: dict[str, Any]) -> Iterator[_Plan]:
    from separatrix import plots

    model = evaluation.model
    certificate = getattr(model, "certificate_", None)
    if getattr(model, "trace_", None) is not None and certificate is not None:
        yield _Plan(
            "convergence",
            "certificate",
            evaluation.shown,
            lambda X, y: plots.CertificateDisplay.from_estimator(model, ax=_axes(2)),
            "Convergence of the fit",
            "The objective and the lower bound at every check. The optimum is between the two.",
            "Curves of the objective and of its lower bound against iterations, meeting.",
            most=1,
        )
    yield from _of_data(evaluation)
    yield from _of_partial_residuals(evaluation, diagnostics)


def _of_data(evaluation: EvaluationData) -> Iterator[_Plan]:
    """The pictures of rows and of the model's predictions, the most informative one first."""
    return _of_quantity(evaluation) if evaluation.quantity else _of_classes(evaluation)


def _of_partial_residuals(
    evaluation: EvaluationData, diagnostics: dict[str, Any]
) -> Iterator[_Plan]:
    curves = diagnostics["partial_residuals"].get("curves")
    if not curves:
        return
    names = ", ".join(_label(curve["column"]) for curve in curves)
    yield _Plan(
        "partial-residuals",
        "diagnostics",
        evaluation.shown,
        lambda X, y: _partial(curves),
        "Partial residuals",
        "The line is what the model says of the column. Points are means of the line plus the "
        "residual, over groups of equally many rows, with 95 % intervals: points that leave the "
        "line together show a bend that the model misses.",
        f"Means of partial residuals against {names}, and the fitted lines.",
        most=1,
        wide=True,
    )


def _partial(curves: list[dict[str, Any]]) -> Any:
    """Means of partial residuals against the columns, and the lines of the model."""
    import matplotlib.pyplot as plt
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    from separatrix.plots.display import Display
    from separatrix.plots.style import class_colours, ink

    size = (_SIZE[0] * 0.68 * len(curves), _SIZE[1] * 0.85)
    axes = plt.subplots(1, len(curves), figsize=size, layout="constrained", squeeze=False)[1][0]
    display = Display()
    display._begin(axes[0])
    for ax, curve in zip(axes, curves, strict=True):
        groups = curve["groups"]
        x, mean, line = (
            np.array([one[key] for one in groups]) for key in ("value", "residual", "line")
        )
        ax.plot(x, line, color=class_colours(2)[0], linewidth=1.6)
        ends = [one["interval"] or (one["residual"], one["residual"]) for one in groups]
        low, high = np.array(ends).T
        ax.errorbar(x, mean, [mean - low, high - mean], fmt="o", color=ink(), ms=3.2, lw=1.0)
        ax.set_xlabel(plain(curve["column"], 28))
        if curve["date"]:
            # Days since 1970-01-01, as Matplotlib counts them.
            dates = AutoDateLocator(minticks=2, maxticks=4)
            ax.xaxis.set_major_locator(dates)
            ax.xaxis.set_major_formatter(ConciseDateFormatter(dates))
        else:
            ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.yaxis.set_major_locator(MaxNLocator(5))
    axes[0].set_ylabel("partial residual")
    return display


def _of_classes(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    model, named, part = evaluation.model, _named(evaluation), evaluation.shown
    names = ", ".join(map(_label, evaluation.classes[:6]))
    gaussian = hasattr(model, "moments_") and hasattr(model, "priors_")
    # The lines at a score of one are the margin only where the fit made it so.
    margins = stated(model, "_has_margin", False) and len(evaluation.classes) == 2
    if margins:
        yield _Plan(
            "boundary",
            "pictures",
            part,
            _by(plots.MarginDisplay.from_estimator, named, note=False),
            "The boundary and its margin",
            f"The {part.name}, the boundary (solid) and the margin (dashed).",
            f"Points of the classes {names}, the boundary between them, and the margin lines.",
        )
    else:
        yield _Plan(
            "boundary",
            "pictures",
            part,
            lambda X, y: _decision(evaluation, X, y),
            "The boundary",
            f"The {part.name} and the regions in which the model predicts each class.",
            f"Points of the classes {names} and the boundary between them.",
        )
    if gaussian and len(evaluation.feature_names) <= 8:
        yield _Plan(
            "gaussians",
            "pictures",
            part,
            _by(plots.DiscriminantDisplay.from_estimator, named, note=False),
            "The classes as the model sees them",
            "Ellipses hold half and nine tenths of each fitted Gaussian.",
            f"Ellipses of the fitted Gaussians of {names} over the points.",
        )
    if not gaussian:
        # Gaussian classes do not minimise a loss of the margin.
        yield _Plan(
            "margins",
            "pictures",
            part,
            _by(plots.LossDisplay.from_estimator, model, lambda: _axes(2)),
            "Margins",
            "The margin of each row is its distance from the boundary in units of the score; it is "
            "negative on the wrong side. Above: the loss of a row with that margin.",
            "Curves of losses against the margin, and below them a histogram of the margins of the "
            f"{part.name}.",
            most=_MOST_RANKED,
        )
    if len(np.unique(evaluation.measured.y)) == len(evaluation.classes):
        yield from _curves(evaluation)


def _curves(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    part, many = evaluation.measured, len(evaluation.classes) > _FEW_CLASSES
    kinds: list[tuple[str, Any, str, str, str]] = [
        (
            "roc",
            plots.roc_display,
            "ROC curve",
            "The true positive rate against the false positive rate for every threshold, on the "
            f"{part.name}.",
            "ROC curve: true positive rate against false positive rate.",
        ),
        (
            "precision-recall",
            plots.precision_recall_display,
            "Precision and recall",
            f"Precision against recall for every threshold, on the {part.name}. Dotted: the "
            "precision of chance.",
            "Precision against recall.",
        ),
    ]
    if part.predictions.probabilities is not None:
        caption = (
            f"The observed share of the class among the {part.name} with a given predicted "
            "probability. On the diagonal the two agree."
        )
        alt = "Calibration curve: observed share against predicted probability."
        kinds.append(("calibration", plots.calibration_display, "Calibration", caption, alt))
    for key, make, title, caption, alt in kinds:
        # The names of many classes need a figure made for them.
        axes = (lambda: None) if many else _axes
        draw = _by(make, evaluation.model, axes, positive=part.positive)
        words = title, caption, alt
        yield _Plan(key, "metrics", part, draw, *words, most=_MOST_RANKED, wide=many)


def _of_quantity(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    model, part, measured = evaluation.model, evaluation.shown, evaluation.measured
    target = _label(evaluation.target, 40)
    count, curved = len(evaluation.feature_names), hasattr(model, "powers_")
    if count == 1 or (count == 2 and not curved):
        make: Any = plots.LeastSquaresDisplay.from_estimator
        axes: Any = _axes
        what, options = "line", {}
        if curved:
            make, axes, what = plots.PolynomialDisplay.from_estimator, lambda: None, "curve"
        elif count == 2:
            axes, what, options = lambda: None, "plane", {"surface": True}
        draw = _by(make, _named(evaluation), axes, **options)

        def curve(X: Any, y: np.ndarray) -> Any:
            display = draw(X, y)
            upward = display.ax_.set_zlabel if count == 2 else display.ax_.set_ylabel
            upward(plain(evaluation.target, 28))
            return display

        yield _Plan(
            "curve",
            "pictures",
            part,
            curve,
            f"The fitted {what}",
            f"The {part.name} and what the model predicts.",
            f"Points and the fitted {what} of {target}.",
        )
    each = "one point for each row."
    missed = (
        "Residuals are observed minus predicted values. A pattern in them is structure that the "
        "model misses."
    )
    for key, title, caption in (
        ("fitted", "Observed and predicted", "On the diagonal a prediction is right."),
        ("residuals", "Residuals", missed),
    ):
        errors = partial(_errors, model, plain(evaluation.target, 28), key)
        caption, alt = f"The {measured.name}. {caption}", f"{title} of {target}, {each}"
        yield _Plan(key, "pictures", measured, errors, title, caption, alt)


def _errors(model: Any, target: str, key: str, X: Any, y: np.ndarray) -> Any:
    """Observed values, or residuals, against the predicted values of a quantity."""
    from matplotlib.ticker import MaxNLocator

    from separatrix.plots.display import Display
    from separatrix.plots.points import scatter_one
    from separatrix.plots.style import ink

    display, predicted = Display(), model.predict(X)
    display._begin(_axes())
    ax, ends = display.ax_, np.array([predicted.min(), predicted.max()])
    if key == "fitted":
        ends = np.array([min(ends[0], y.min()), max(ends[1], y.max())])
        ax.set_aspect("equal", adjustable="datalim")
    heights, level = (y, ends) if key == "fitted" else (y - predicted, 0.0 * ends)
    ax.plot(ends, level, color=ink(), linestyle="--", linewidth=1.1, alpha=0.7, zorder=4.0)
    scatter_one(ax, np.column_stack([predicted, heights]))
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_locator(MaxNLocator(6))
    what = f"observed {target}" if key == "fitted" else "observed minus predicted"
    ax.set(xlabel=f"predicted {target}", ylabel=what)
    return display


def _axes(count: int = 1) -> Any:
    import matplotlib.pyplot as plt

    if count == 1:
        return plt.subplots(figsize=_SIZE, layout="constrained")[1]
    figure = plt.figure(figsize=(_SIZE[0] * 1.1, _SIZE[1] * 1.4), layout="constrained")
    return figure.subplots(count, 1, sharex=True)


def _decision(evaluation: EvaluationData, X: Any, y: np.ndarray) -> Any:
    """The regions of all classes or, where no plane shows them, of two hard to distinguish."""
    from separatrix.plots import DecisionDisplay

    make, model = DecisionDisplay.from_estimator, _named(evaluation)
    try:
        return make(model, X, y, ax=_axes(), note=False)
    except ValueError:
        pair = _confused(evaluation)
        if pair is None:
            raise
    display = make(model, X, y, classes=pair, ax=_axes(), note=False)
    # The picture shows one pair of the classes only.
    one, other = map(_label, pair)
    which = f"no plane shows all {len(evaluation.classes)} classes; these are {one!r} and {other!r}"
    note = f"{which}, which the model confuses most often. {display.note}"
    display.view = replace(display.view, note=note)
    return display


def _confused(evaluation: EvaluationData) -> tuple[Any, Any] | None:
    """The two of three or more classes that are most often confused with one another."""
    classes = np.asarray(evaluation.model.classes_)
    if len(classes) < 3:
        return None
    part = evaluation.measured
    own, predicted = (
        np.searchsorted(classes, labels) for labels in (part.y, part.predictions.labels)
    )
    counts = np.zeros((len(classes),) * 2, dtype=np.int64)
    np.add.at(counts, (own, predicted), 1)
    counts = np.triu(counts + counts.T, 1)
    if not counts.any():
        return None
    i, j = np.unravel_index(int(counts.argmax()), counts.shape)
    return classes[i].item(), classes[j].item()


def _label(value: Any, limit: int = 24) -> str:
    """A name in a sentence, where it is no text of matplotlib's."""
    return plain(value, limit).replace("\\$", "$")


def _sentence(note: str) -> str:
    """A note as the end of a caption, where it is no text of matplotlib's."""
    text = clause(note.replace("\\$", "$"))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _named(evaluation: EvaluationData) -> Any:
    """The model, with the names of an encoding's features, which matrices do not have."""
    return with_names(evaluation.model, evaluation.encoder)


def with_names(model: Any, encoder: Any) -> Any:
    """A model of encoded rows, with the names of their features."""
    if encoder is None or hasattr(model, "feature_names_in_"):
        return model
    named = copy.copy(model)
    named.feature_names_in_ = np.array(encoder.feature_names_, dtype=object)
    return named
