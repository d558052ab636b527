"""Which pictures a report has, drawn for its page.

A picture of many rows shows some of them, drawn at random but the same ones every time; figures
are always those of all rows.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.models.registry import stated
from separatrix.plots.style import plain
from separatrix.report.svg import drawing, to_svg

__all__ = ["MOST_POINTS", "Picture", "pictures_of"]

MOST_POINTS = 2_000
# For curves, where every row counts for little.
_MOST_RANKED = 50_000
_SIZE = (4.5, 3.5)
# Beyond so many classes a picture of curves needs room beside it for their names.
_FEW_CLASSES = 4


@dataclass(frozen=True)
class Picture:
    """A picture of the page, or why there is none.

    Attributes
    ----------
    key : str
        Its name on the page.
    section : str
        Where it stands.
    title, caption, alt : str
    rows, drawn : int
        How many rows it is about, and how many of them are drawn.
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
        """All but the drawing."""
        return {k: v for k, v in asdict(self).items() if k not in ("svg", "wide")}


@dataclass(frozen=True)
class _Plan:
    key: str
    section: str
    title: str
    caption: str
    alt: str
    part: Part
    most: int
    draw: Callable[[Any, np.ndarray], Any]
    wide: bool = False


def pictures_of(evaluation: EvaluationData) -> list[Picture]:
    """Draw what suits the model; a picture that cannot be drawn says why."""
    import matplotlib.pyplot as plt

    found = []
    for plan in _plans(evaluation):
        rows = _some(evaluation, plan.part, plan.most)
        before = set(plt.get_fignums())
        picture = Picture(
            plan.key,
            plan.section,
            plan.title,
            plan.caption,
            plan.alt,
            rows=len(plan.part),
            drawn=len(rows) if plan.most > 1 else len(plan.part),
            wide=plan.wide,
        )
        try:
            with drawing(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                figure, note = plan.draw(_rows_of(plan.part.X, rows), plan.part.y[rows])
                caption = " ".join(filter(None, (plan.caption, _sentence(note))))
                svg = to_svg(figure, plan.key, plan.alt)
                found.append(replace(picture, caption=caption, svg=svg))
        except (TypeError, ValueError) as error:
            # A display refuses in one sentence what it has no picture of.
            found.append(replace(picture, drawn=0, why=" ".join(str(error).split())))
        finally:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
    return found


def _some(evaluation: EvaluationData, part: Part, most: int) -> np.ndarray:
    """At most so many rows, of every class its share."""
    n = len(part)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    if evaluation.quantity:
        return np.sort(rng.choice(n, most, replace=False))
    labels, codes, counts = np.unique(part.y, return_inverse=True, return_counts=True)
    exact = most * counts / n
    wanted = np.maximum(1, np.floor(exact)).astype(int)
    # What rounding down has left goes to those that lost most by it.
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


def _rows_of(X: Any, rows: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    if hasattr(X, "__getitem__") and hasattr(X, "schema"):  # a polars frame
        return X[rows.tolist()]
    return np.asarray(X)[rows]


def _plans(evaluation: EvaluationData) -> Iterator[_Plan]:
    model, part = evaluation.model, evaluation.shown
    certificate = getattr(model, "certificate_", None)
    if getattr(model, "trace_", None) is not None and certificate is not None:
        yield _Plan(
            "convergence",
            "certificate",
            "Convergence of the fit",
            "The objective and the lower bound at every check. The optimum is between the two.",
            "Curves of the objective and of its lower bound against iterations, meeting.",
            part,
            1,
            lambda X, y: _certificate(model),
        )
    yield from _of_quantity(evaluation) if evaluation.quantity else _of_classes(evaluation)


def _of_classes(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    model, part = evaluation.model, evaluation.shown
    names = ", ".join(map(_label, evaluation.classes[:6]))
    d = len(evaluation.feature_names)
    gaussian = hasattr(model, "moments_") and hasattr(model, "priors_")
    # The lines at a score of one are the margin only where the fit made it so.
    margins = stated(model, "_has_margin", False)
    two = len(evaluation.classes) == 2
    if margins and two:
        yield _Plan(
            "boundary",
            "pictures",
            "The boundary and its margin",
            f"The {part.name}, the boundary (solid) and the margin (dashed).",
            f"Points of the classes {names}, the boundary between them, and the margin lines.",
            part,
            MOST_POINTS,
            lambda X, y: _figure(
                plots.MarginDisplay.from_estimator(_named(evaluation), X, y, ax=_axes(), note=False)
            ),
        )
    else:
        yield _Plan(
            "boundary",
            "pictures",
            "The boundary",
            f"The {part.name} and the regions in which the model predicts each class.",
            f"Points of the classes {names} and the boundary between them.",
            part,
            MOST_POINTS,
            lambda X, y: _decision(evaluation, X, y),
        )
    if gaussian and d <= 8:
        yield _Plan(
            "gaussians",
            "pictures",
            "The classes as the model sees them",
            "Ellipses hold half and nine tenths of each fitted Gaussian.",
            f"Ellipses of the fitted Gaussians of {names} over the points.",
            part,
            MOST_POINTS,
            lambda X, y: _figure(
                plots.DiscriminantDisplay.from_estimator(
                    _named(evaluation), X, y, ax=_axes(), note=False
                )
            ),
        )
    if not gaussian:
        # What Gaussian classes maximise is no loss of the margin.
        yield from _margins(model, part)
    yield from _curves(evaluation)


def _curves(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    model, measured = evaluation.model, evaluation.measured
    if len(np.unique(measured.y)) == len(evaluation.classes):
        yield _Plan(
            "roc",
            "metrics",
            "ROC curve",
            "The true positive rate against the false positive rate for every threshold, on the "
            f"{measured.name}.",
            "ROC curve: true positive rate against false positive rate.",
            measured,
            _MOST_RANKED,
            lambda X, y: _figure(
                plots.roc_display(model, X, y, positive=measured.positive, ax=_curve_axes(model))
            ),
            wide=len(evaluation.classes) > _FEW_CLASSES,
        )
        yield _Plan(
            "precision-recall",
            "metrics",
            "Precision and recall",
            f"Precision against recall for every threshold, on the {measured.name}. Dotted: the "
            "precision of chance.",
            "Precision against recall.",
            measured,
            _MOST_RANKED,
            lambda X, y: _figure(
                plots.precision_recall_display(
                    model, X, y, positive=measured.positive, ax=_curve_axes(model)
                )
            ),
            wide=len(evaluation.classes) > _FEW_CLASSES,
        )
        if measured.predictions.probabilities is not None:
            yield _Plan(
                "calibration",
                "metrics",
                "Calibration",
                f"The observed share of the class among the {measured.name} with a given predicted "
                "probability. On the diagonal the two agree.",
                "Calibration curve: observed share against predicted probability.",
                measured,
                _MOST_RANKED,
                lambda X, y: _figure(
                    plots.calibration_display(
                        model, X, y, positive=measured.positive, ax=_curve_axes(model)
                    )
                ),
                wide=len(evaluation.classes) > _FEW_CLASSES,
            )


def _margins(model: Any, part: Part) -> Iterator[_Plan]:
    from separatrix import plots

    yield _Plan(
        "margins",
        "pictures",
        "Margins",
        "The margin of each row is its distance from the boundary in units of the score; it is "
        "negative on the wrong side. Above: the loss of a row with that margin.",
        "Curves of losses against the margin, and below them a histogram of the margins of the "
        f"{part.name}.",
        part,
        _MOST_RANKED,
        lambda X, y: _figure(plots.LossDisplay.from_estimator(model, X, y, ax=_axes(2))),
    )


def _of_quantity(evaluation: EvaluationData) -> Iterator[_Plan]:
    from separatrix import plots

    model, part, measured = evaluation.model, evaluation.shown, evaluation.measured
    target = _label(evaluation.target, 40)
    if len(evaluation.feature_names) == 1:
        display = plots.PolynomialDisplay if hasattr(model, "powers_") else None
        yield _Plan(
            "curve",
            "pictures",
            "The fitted curve" if display else "The fitted line",
            f"The {part.name} and what the model predicts.",
            f"Points and the fitted {'curve' if display else 'line'} of {target}.",
            part,
            MOST_POINTS,
            lambda X, y: _figure(
                display.from_estimator(model, X, y)
                if display
                else plots.LeastSquaresDisplay.from_estimator(model, X, y, ax=_axes())
            ),
        )
    for key, kind, title, caption in (
        (
            "fitted",
            "actual_vs_predicted",
            "Observed and predicted",
            "On the diagonal a prediction is right.",
        ),
        (
            "residuals",
            "residual_vs_predicted",
            "Residuals",
            "Residuals are observed minus predicted values. A pattern in them is structure that "
            "the model misses.",
        ),
    ):
        yield _Plan(
            key,
            "pictures",
            title,
            f"The {measured.name}. {caption}",
            f"{title} of {target}, one point for each row.",
            measured,
            MOST_POINTS,
            _errors(evaluation, kind),
        )


def _errors(evaluation: EvaluationData, kind: str) -> Callable[[Any, np.ndarray], Any]:
    def draw(X: Any, y: np.ndarray) -> Any:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter
        from sklearn.metrics import PredictionErrorDisplay

        from separatrix.plots.points import figure_of
        from separatrix.plots.style import class_colours, ink

        ax = _axes()
        PredictionErrorDisplay.from_predictions(
            y,
            evaluation.model.predict(X),
            kind=kind,
            subsample=None,
            ax=ax,
            scatter_kwargs={
                "s": float(np.clip(36.0 * (200.0 / max(len(y), 1)) ** 0.5, 6.0, 30.0)),
                "alpha": float(np.clip((400.0 / max(len(y), 1)) ** 0.5, 0.3, 0.85)),
                "color": class_colours(1)[0],
                "linewidths": 0.0,
            },
            line_kwargs={"color": ink(), "linestyle": "--", "linewidth": 1.1},
        )
        # Round numbers, where scikit-learn divides the range into equal parts.
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_major_locator(MaxNLocator(6))
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.yaxis.set_major_formatter(ScalarFormatter())
        target = plain(evaluation.target, 28)
        ax.set_xlabel(f"predicted {target}")
        ax.set_ylabel(
            f"observed {target}" if kind == "actual_vs_predicted" else "observed minus predicted"
        )
        return figure_of(ax), ""

    return draw


def _axes(count: int = 1) -> Any:
    import matplotlib.pyplot as plt

    if count == 1:
        return plt.subplots(figsize=_SIZE, layout="constrained")[1]
    figure = plt.figure(figsize=(_SIZE[0] * 1.1, _SIZE[1] * 1.4), layout="constrained")
    return figure.subplots(count, 1, sharex=True)


def _curve_axes(model: Any) -> Any:
    """Axes for a curve a class; None where the names of many want a figure made for them."""
    return _axes() if len(model.classes_) <= _FEW_CLASSES else None


def _decision(evaluation: EvaluationData, X: Any, y: np.ndarray) -> tuple[Any, str]:
    """The regions of all classes or, where no plane shows them, of two hard to tell apart."""
    from separatrix.plots import DecisionDisplay

    model = _named(evaluation)
    try:
        return _figure(DecisionDisplay.from_estimator(model, X, y, ax=_axes(), note=False))
    except ValueError:
        pair = _confused(evaluation)
        if pair is None:
            raise
        display = DecisionDisplay.from_estimator(model, X, y, classes=pair, ax=_axes(), note=False)
        figure, note = _figure(display)
        # What is shown of them all is a picture of one pair only.
        one, other = map(_label, pair)
        which = f"no plane shows all {len(evaluation.classes)} classes; these are {one!r} and "
        return figure, f"{which}{other!r}, which the model confuses most often. {note}"


def _confused(evaluation: EvaluationData) -> tuple[Any, Any] | None:
    """The two of three or more classes that are most often taken for one another."""
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


def _figure(display: Any) -> tuple[Any, str]:
    """What a display drew, and what it says of how points of many columns are shown."""
    return display.figure_, str(getattr(display, "note", "") or "")


def _label(value: Any, limit: int = 24) -> str:
    """A name in a sentence, where it is no text of matplotlib's."""
    return plain(value, limit).replace("\\$", "$")


def _sentence(note: str) -> str:
    """A note as the end of a caption, where it is no text of matplotlib's."""
    text = " ".join(note.replace("\\$", "$").split()).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _certificate(model: Any) -> Any:
    from separatrix import plots

    return _figure(plots.CertificateDisplay.from_estimator(model, against="iteration", ax=_axes(2)))


def _named(evaluation: EvaluationData) -> Any:
    """The model, with the names of an encoding's features, which matrices do not have."""
    if evaluation.encoder is None or hasattr(evaluation.model, "feature_names_in_"):
        return evaluation.model
    named = copy.copy(evaluation.model)
    named.feature_names_in_ = np.array(evaluation.feature_names, dtype=object)
    return named
