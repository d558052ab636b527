"""How well a model predicts labelled rows, as numbers and as words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

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
        Fitted, a classifier or a regressor.
    X : array-like of shape (n_rows, n_features)
        The rows, encoded.
    y : ndarray of shape (n_rows,)
        Labels, each one of ``model.classes_``; for a regressor numbers.
    positive : label, optional
        Of two classes the one that matters; by default the rarer in `y`.
    decision : Decision, optional
        The score from which a row is predicted to be of it.
    weights : ndarray of shape (n_rows,), optional
        How much each row counts; the interval is that of as many rows of one weight as would tell
        as much (Kish, 1965).

    Returns
    -------
    dict
        Of a regressor ``n``, ``mse``, ``rmse``, ``mae`` and ``r2`` (see :func:`score_numbers`).
        Of a classifier ``n``, ``accuracy``, ``accuracy_interval`` (95 %, Wilson), ``roc_auc``
        and ``average_precision`` (the mean over classes of one against the rest when there are
        more than two; None where a class is absent), ``balanced_accuracy`` (the mean recall of
        the classes that are there), ``mcc`` (Matthews' correlation, 1975; Gorodkin, 2004),
        ``log_loss`` and ``brier`` (None for a model without probabilities), ``positive`` (None
        of more than two classes), ``majority`` (``class`` and ``share`` of the most frequent
        one: what a constant would score), ``confusion_matrix`` (rows are true classes) and
        ``per_class``.
    """
    return score_predictions(model, predictions(model, X, decision), y, positive, weights)


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of rows.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Classes, or numbers.
    scores : ndarray of shape (n,) or (n, K), or None
        Those of the classes; of a regressor None.
    probabilities : ndarray of shape (n, K), or None
        Where the model has them.
    """

    labels: np.ndarray
    scores: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Those of all rows, of those of some rows at a time."""
        columns = {one.name: [getattr(part, one.name) for part in parts] for one in fields(cls)}
        return cls(**{n: np.concatenate(c) for n, c in columns.items() if c[0] is not None})


def predictions(model: Any, X: Any, decision: Any = None) -> Predictions:
    """All that a model says of rows, asked once; with a decision by its threshold."""
    if is_regressor(model):
        return Predictions(model.predict(X))
    probabilities = model.predict_proba(X) if gives_probabilities(model) else None
    found = Predictions(model.predict(X), class_scores(model, X), probabilities)
    if decision is None:
        return found
    return replace(found, labels=decision.labels(found, model.classes_))


def rarer_class(y: np.ndarray, classes: np.ndarray) -> Any:
    """The class with fewer rows; of equally many the second."""
    first, second = (int(np.sum(y == label)) for label in classes)
    return classes[0 if first < second else 1].item()


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
    classes, probabilities = model.classes_, predicted.probabilities
    own = codes_of(y, classes)
    counts = np.bincount(own, minlength=len(classes))
    confusion = confusion_of(own, codes_of(predicted.labels, classes), len(classes), weights)
    # The effective number of rows (Kish, 1965): that many of equal weights tell as much.
    known = len(y) if weights is None else float(weights.sum() ** 2 / (weights @ weights))
    if len(classes) == 2 and positive is None:
        positive = rarer_class(y, classes)
    ranked = {
        "roc_auc": _over_classes(area_under_roc, classes, predicted, y, positive, weights),
        "average_precision": _over_classes(
            average_precision, classes, predicted, y, positive, weights
        ),
        "log_loss": None if probabilities is None else _log_loss(probabilities, own, weights),
        "brier": None if probabilities is None else _brier(classes, probabilities, y, weights),
    }
    return class_figures(classes, counts, confusion, known, positive, ranked)


def class_figures(
    classes: np.ndarray,
    counts: np.ndarray,
    confusion: np.ndarray,
    known: float,
    positive: Any,
    ranked: dict[str, float | None],
) -> dict[str, Any]:
    """The record of :func:`score_rows`, from the table of classes.

    Parameters
    ----------
    classes : ndarray of shape (K,)
    counts : ndarray of shape (K,)
        Rows of each class.
    confusion : ndarray of shape (K, K)
        The weight of the rows by true and by predicted class.
    known : float
        How many rows of one weight would tell as much.
    positive : label or None
    ranked : dict
        What the table does not say: ``roc_auc``, ``average_precision``, ``log_loss``, ``brier``.
    """
    support, predicted, hits = confusion.sum(axis=1), confusion.sum(axis=0), np.diag(confusion)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall, f1 = hits / predicted, hits / support, 2.0 * hits / (support + predicted)
    accuracy = float(hits.sum() / support.sum())
    most = int(np.argmax(support))
    return {
        "n": int(counts.sum()),
        "accuracy": accuracy,
        "accuracy_interval": list(wilson_interval(accuracy * known, known)),
        "balanced_accuracy": float(np.mean(recall[support > 0])),
        "mcc": _matthews(confusion),
        **ranked,
        "positive": positive,
        "majority": {
            "class": classes[most].item(),
            "share": float(support[most] / support.sum()),
        },
        "confusion_matrix": confusion.tolist(),
        "per_class": [
            {
                "class": label,
                "precision": float(precision[k]),
                "recall": float(recall[k]),
                "f1": float(f1[k]),
                "n": int(counts[k]),
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
    largest = float(np.abs(y).max(initial=0.0))
    exponent = math.frexp(max(largest, float(np.abs(predicted).max(initial=0.0))))[1]
    unit_y = np.ldexp(y, -exponent)
    errors = unit_y - np.ldexp(predicted, -exponent)
    mse = float(np.average(errors**2, weights=weights))
    centre = np.average(unit_y, weights=weights)
    variance = float(np.average((unit_y - centre) ** 2, weights=weights))
    constant = bool((y == y[0]).all())
    with np.errstate(over="ignore"):  # of a square alone; its root may be in range
        square = float(np.ldexp(mse, 2 * exponent))
    return {
        "n": len(y),
        "mse": square,
        "rmse": float(np.ldexp(math.sqrt(mse), exponent)),
        "mae": float(np.ldexp(np.average(np.abs(errors), weights=weights), exponent)),
        "r2": None if constant else (1.0 - mse / variance if variance else -math.inf),
    }


def ranking_scores(predicted: Predictions, classes: np.ndarray) -> np.ndarray:
    """What rows are ranked by for a ROC curve: one score, or one a class for several classes."""
    assert predicted.scores is not None
    if len(classes) == 2 or predicted.probabilities is None:
        return predicted.scores
    # A softmax score alone does not say how sure a class is; its probability does.
    return predicted.probabilities


def _all_there(classes: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> bool:
    """Whether every class has a row that counts."""
    return len(np.unique(y if weights is None else y[weights > 0.0])) == len(classes)


def _ranked(
    scores: np.ndarray, hit: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """How much weight of hits and of others has each score or a higher one, scores falling."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    weight = np.ones(len(scores)) if weights is None else weights[order]
    return np.cumsum(weight * hit[order])[last], np.cumsum(weight * ~hit[order])[last]


def area_under_roc(scores: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The share of pairs, a hit and another row, in the right order; equal scores are a half."""
    hits, others = _ranked(scores, hit, weights)
    steps = np.diff(others, prepend=0.0)
    before = np.concatenate([[0.0], hits[:-1]])
    return float(np.sum(steps * 0.5 * (hits + before)) / (hits[-1] * others[-1]))


def average_precision(
    scores: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None
) -> float:
    r"""The mean precision over the hits, :math:`\sum_n (R_n - R_{n-1}) P_n`."""
    hits, others = _ranked(scores, hit, weights)
    with np.errstate(invalid="ignore"):
        precision = np.nan_to_num(hits / (hits + others))
    return float(np.sum(np.diff(hits, prepend=0.0) * precision) / hits[-1])


def _over_classes(
    figure: Callable[..., float],
    classes: np.ndarray,
    predicted: Predictions,
    y: np.ndarray,
    positive: Any,
    weights: np.ndarray | None,
) -> float | None:
    """A figure of ranks, of the positive class or the mean over all, one against the rest."""
    if not _all_there(classes, y, weights):
        return None
    scores = ranking_scores(predicted, classes)
    if len(classes) == 2:
        side = 1.0 if positive == classes[1] else -1.0
        return figure(side * scores, y == positive, weights)
    return float(
        np.mean([figure(scores[:, k], y == label, weights) for k, label in enumerate(classes)])
    )


def confusion_of(
    true: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """The number of rows, or their weight, by true and by predicted class."""
    flat = np.bincount(true * n_classes + predicted, weights, n_classes * n_classes)
    return flat.reshape(n_classes, n_classes)


def _log_loss(probabilities: np.ndarray, own: np.ndarray, weights: np.ndarray | None) -> float:
    """The mean of minus the logarithm of the probability of each row's class."""
    least = float(np.finfo(probabilities.dtype).eps)
    chosen = np.clip(probabilities[np.arange(len(own)), own], least, 1.0 - least)
    return float(np.average(-np.log(chosen), weights=weights))


def _brier(
    classes: np.ndarray, probabilities: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> float:
    """The mean squared error of probabilities (Brier, 1950); of two classes that of one of them."""
    errors = probabilities - (y[:, None] == classes[None, :])
    total = float(np.average(np.sum(np.square(errors), axis=1), weights=weights))
    return 0.5 * total if len(classes) == 2 else total


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
    """What a constant would score: ``accuracy 0.759 for always '<=50K'``."""
    most = scores["majority"]
    return f"accuracy {most['share']:.3f} for always {quoted(most['class'])}"
