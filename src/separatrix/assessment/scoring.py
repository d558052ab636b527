"""How well a model predicts labelled rows, as numbers and as words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.data.class_scores import ClassScores, Ranked, unit_of_weights
from separatrix.data.labels import codes_of, scores_by_class
from separatrix.messages import quoted

# The 97.5 % point of the normal distribution: intervals of 95 %.
Z = 1.959963984540054


def wilson_interval(hits: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson, 1927); it stays within 0 and 1."""
    share, shrink = hits / n, Z**2 / n
    centre = (share + shrink / 2) / (1 + shrink)
    half = Z * math.sqrt(share * (1 - share) / n + shrink / (4 * n)) / (1 + shrink)
    return max(0.0, centre - half), min(1.0, centre + half)


def gives_probabilities(model: Any) -> bool:
    """Whether a fitted model has probabilities; one interrupted before its calibration has none."""
    if getattr(model, "calibrate", None) is not None and not hasattr(model, "calibration_"):
        return False
    return hasattr(model, "predict_proba")


def class_scores(model: Any, X: Any) -> np.ndarray:
    """Scores by class, whatever shape of them the model was set to give."""
    return scores_by_class(model, model.decision_function(X))


def score_rows(
    model: Any,
    X: Any,
    y: np.ndarray,
    *,
    positive: Any = None,
    decision: Any = None,
    weights: np.ndarray | None = None,
) -> dict[str, Any]:
    """Measure a model on labelled rows.

    Parameters
    ----------
    model : estimator
        The fitted classifier or regressor.
    X : array-like of shape (n_rows, n_features)
        The rows, encoded.
    y : ndarray of shape (n_rows,)
        Labels, each one of ``model.classes_``; for a regressor numbers.
    positive : label, optional
        The one of two classes that matters; by default the rarer in `y`.
    decision : Decision, optional
        The score from which a row is predicted to be of that class.
    weights : ndarray of shape (n_rows,), optional
        The weights of the rows; the interval is that of their effective number, the number of rows
        of one weight that are as informative (Kish, 1965).

    Returns
    -------
    dict
        For a regressor ``n``, ``mse``, ``rmse``, ``mae`` and ``r2`` (see :func:`score_numbers`).
        For a classifier ``n``, ``accuracy``, ``accuracy_interval`` (95 %, Wilson), ``roc_auc``
        and ``average_precision`` (the mean over classes of one against the rest when there are
        more than two; None where a class is absent), ``balanced_accuracy`` (the mean recall of
        the classes that are there), ``mcc`` (Matthews' correlation, 1975; Gorodkin, 2004),
        ``log_loss`` and ``brier`` (None for a model without probabilities), ``positive`` (None
        for more than two classes), ``majority`` (``class`` and ``share`` of the most frequent
        one: the score of a constant), ``confusion_matrix`` (rows are true classes) and
        ``per_class``.
    """
    return score_predictions(model, predictions(model, X, decision), y, positive, weights)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a model for rows.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Classes, or numbers.
    scores : ndarray of shape (n,) or (n, K), or None
        The scores of the classes; None for a regressor.
    probabilities : ndarray of shape (n, K), or None
        The probabilities of the classes, where the model has them.
    """

    labels: np.ndarray
    scores: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """The predictions of all rows, from those of parts of the rows in their order."""
        columns = {one.name: [getattr(part, one.name) for part in parts] for one in fields(cls)}
        return cls(**{n: np.concatenate(c) for n, c in columns.items() if c[0] is not None})


def predictions(model: Any, X: Any, decision: Any = None) -> Predictions:
    """All predictions of a model for rows, evaluated once; a decision sets the labels."""
    if is_regressor(model):
        return Predictions(model.predict(X))
    probabilities = model.predict_proba(X) if gives_probabilities(model) else None
    found = Predictions(model.predict(X), class_scores(model, X), probabilities)
    if decision is None:
        return found
    return replace(found, labels=decision.labels(found, model.classes_))


def rarer_class(classes: np.ndarray, counts: np.ndarray) -> Any:
    """The class with fewer rows; the second where both have equally many."""
    return classes[0 if counts[0] < counts[1] else 1].item()


def ranked_for(found: ClassScores, classes: np.ndarray, positive: Any) -> tuple[Ranked, ...]:
    """The ranks of the rows of the positive class of two, or of each class."""
    if len(classes) == 2 and positive == classes[0]:
        # The same rows from the other side.
        return tuple(one.reversed for one in found.ranked)
    return found.ranked


def score_predictions(
    model: Any,
    predicted: Predictions,
    y: np.ndarray,
    positive: Any = None,
    weights: np.ndarray | None = None,
) -> dict[str, Any]:
    """:func:`score_rows` of predictions that are made already."""
    if weights is not None and not weights.any():
        weights = None
    if is_regressor(model):
        return score_numbers(y, predicted.labels, weights)
    classes = model.classes_
    found = ClassScores.of(
        codes_of(y, classes),
        codes_of(predicted.labels, classes),
        len(classes),
        scores=ranking_scores(predicted, classes),
        probabilities=predicted.probabilities,
        weights=weights,
    )
    return class_figures(found, classes, positive, counted=weights is None)


def class_figures(
    found: ClassScores, classes: np.ndarray, positive: Any, *, counted: bool
) -> dict[str, Any]:
    """The record of :func:`score_rows`, from sums over the rows.

    Parameters
    ----------
    found : ClassScores
    classes : ndarray of shape (K,)
    positive : label or None
        The one of two classes that matters; the rarer where it is None.
    counted : bool
        Whether the table of classes holds numbers of rows.
    """
    confusion = found.confusion.astype(np.int64) if counted else found.confusion
    # The effective number of rows (Kish, 1965): that many of equal weights are as informative.
    known = found.weight**2 / found.squares
    if len(classes) == 2 and positive is None:
        positive = rarer_class(classes, found.counts)
    ranked = ranked_for(found, classes, positive)
    areas = [one.area for one in ranked]
    whole = bool(areas) and None not in areas
    precise = whole and all(one.exact for one in ranked)
    support, predicted, hits = confusion.sum(axis=1), confusion.sum(axis=0), np.diag(confusion)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall, f1 = hits / predicted, hits / support, 2.0 * hits / (support + predicted)
    accuracy = float(hits.sum() / support.sum())
    most = int(np.argmax(support))
    return {
        "n": int(found.counts.sum()),
        "accuracy": accuracy,
        "accuracy_interval": list(wilson_interval(accuracy * known, known)),
        "balanced_accuracy": float(np.mean(recall[support > 0])),
        "mcc": _matthews(confusion),
        "roc_auc": float(np.mean(np.array(areas, dtype=float))) if whole else None,
        "average_precision": (
            float(np.mean([one.average_precision for one in ranked])) if precise else None
        ),
        "log_loss": found.log_loss,
        "brier": found.brier,
        "positive": positive,
        "majority": {
            "class": classes[most].item(),
            "share": float(support[most] / support.sum()),
        },
        "confusion_matrix": (confusion if counted else confusion * found.unit).tolist(),
        "per_class": [
            {
                "class": label,
                "precision": float(precision[k]),
                "recall": float(recall[k]),
                "f1": float(f1[k]),
                "n": int(found.counts[k]),
            }
            for k, label in enumerate(classes.tolist())
        ],
    }


def score_numbers(
    y: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Measure predictions of a quantity.

    Returns
    -------
    dict
        ``n``; ``mse``, the mean squared error; ``rmse``, its root, and ``mae``, the mean absolute
        error, in the units of `y`; ``r2``, ``1 - mse / variance``, which is 1 where every
        prediction is right and 0 where the mean would do as well; None where `y` is constant.
    """
    # Brought to the size of 1, so that squares neither overflow nor vanish.
    if weights is not None:
        weights = weights / unit_of_weights(float(weights.max(initial=0.0)))
    largest = float(np.abs(y).max(initial=0.0))
    exponent = math.frexp(max(largest, float(np.abs(predicted).max(initial=0.0))))[1]
    unit_y = np.ldexp(y, -exponent)
    errors = unit_y - np.ldexp(predicted, -exponent)
    mse = float(np.average(errors**2, weights=weights))
    centre = np.average(unit_y, weights=weights)
    variance = float(np.average((unit_y - centre) ** 2, weights=weights))
    constant = bool((y == y[0]).all())
    with np.errstate(over="ignore"):  # only a square overflows; its root may be in range
        square = float(np.ldexp(mse, 2 * exponent))
    return {
        "n": len(y),
        "mse": square,
        "rmse": float(np.ldexp(math.sqrt(mse), exponent)),
        "mae": float(np.ldexp(np.average(np.abs(errors), weights=weights), exponent)),
        "r2": None if constant else (1.0 - mse / variance if variance else -math.inf),
    }


def ranking_scores(predicted: Predictions, classes: np.ndarray) -> np.ndarray:
    """The scores that rank rows for a ROC curve: one, or one a class for several classes."""
    assert predicted.scores is not None
    if len(classes) == 2 or predicted.probabilities is None:
        return predicted.scores
    # A softmax score alone does not show how probable a class is; its probability does.
    return predicted.probabilities


def _matthews(confusion: np.ndarray) -> float:
    """The correlation of true and predicted labels; 0 where either is always the same."""
    counts = confusion.astype(np.float64)
    n, right = counts.sum(), np.trace(counts)
    true, predicted = counts.sum(axis=1), counts.sum(axis=0)
    spread = math.sqrt((n * n - predicted @ predicted) * (n * n - true @ true))
    return float((right * n - true @ predicted) / spread) if spread > 0.0 else 0.0


def further(scores: dict[str, Any]) -> str:
    """``balanced accuracy 0.766   MCC 0.571   average precision 0.76 ('>50K')   Brier 0.105``."""
    parts = [
        f"balanced accuracy {scores['balanced_accuracy']:.3f}",
        f"MCC {scores['mcc']:.3f}",
    ]
    if scores["average_precision"] is not None:
        of = "" if scores["positive"] is None else f" of {quoted(scores['positive'])}"
        parts.append(f"average precision{of} {scores['average_precision']:.3f}")
    if scores["brier"] is not None:
        parts.append(f"Brier {scores['brier']:.3f}")
    return "   ".join(parts)


def constant(scores: dict[str, Any]) -> str:
    """The score of a constant: ``accuracy 0.759 for always '<=50K'``."""
    most = scores["majority"]
    return f"accuracy {most['share']:.3f} for always {quoted(most['class'])}"
