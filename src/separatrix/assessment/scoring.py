"""How well a model predicts labelled rows, as numbers and as words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.data.labels import scores_by_class

# The 97.5 % point of the normal distribution: intervals of 95 %.
Z = 1.959963984540054


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
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


def score_rows(model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Measure a model on labelled rows.

    Parameters
    ----------
    model : estimator
        Fitted, a classifier or a regressor.
    X : array-like of shape (n_rows, n_features)
        The rows, encoded.
    y : ndarray of shape (n_rows,)
        Labels, each one of ``model.classes_``; for a regressor numbers.

    Returns
    -------
    dict
        Of a regressor ``n``, ``mse``, ``rmse``, ``mae`` and ``r2`` (see :func:`score_numbers`).
        Of a classifier ``n``, ``accuracy``, ``accuracy_interval`` (95 %, Wilson), ``roc_auc``
        (the mean over classes of one against the rest when there are more than two; None where a
        class is absent), ``log_loss`` (None for a model without probabilities),
        ``confusion_matrix`` (rows are true classes) and ``per_class``.
    """
    return score_predictions(model, predictions(model, X), y)


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


def predictions(model: Any, X: Any) -> Predictions:
    """All that a model says of rows, asked once."""
    if is_regressor(model):
        return Predictions(model.predict(X))
    probabilities = model.predict_proba(X) if gives_probabilities(model) else None
    return Predictions(model.predict(X), class_scores(model, X), probabilities)


def score_predictions(model: Any, predicted: Predictions, y: np.ndarray) -> dict[str, Any]:
    """:func:`score_rows` of predictions that are made already."""
    if is_regressor(model):
        return score_numbers(y, predicted.labels)
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        log_loss,
        precision_recall_fscore_support,
    )

    classes, probabilities = model.classes_, predicted.probabilities
    hits = int(accuracy_score(y, predicted.labels, normalize=False))
    precision, recall, f1, support = precision_recall_fscore_support(
        y, predicted.labels, labels=classes, zero_division=np.nan
    )
    return {
        "n": len(y),
        "accuracy": hits / len(y),
        "accuracy_interval": list(wilson_interval(hits, len(y))),
        "roc_auc": _roc_auc(classes, predicted, y),
        "log_loss": None
        if probabilities is None
        else float(log_loss(y, probabilities, labels=classes)),
        "confusion_matrix": confusion_matrix(y, predicted.labels, labels=classes).tolist(),
        "per_class": [
            {
                "class": label,
                "precision": float(precision[k]),
                "recall": float(recall[k]),
                "f1": float(f1[k]),
                "n": int(support[k]),
            }
            for k, label in enumerate(classes.tolist())
        ],
    }


def score_numbers(y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
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
    mse = float(np.mean(errors**2))
    variance = float(np.mean((unit_y - unit_y.mean()) ** 2))
    constant = bool((y == y[0]).all())
    with np.errstate(over="ignore"):  # of a square alone; its root may be in range
        square = float(np.ldexp(mse, 2 * exponent))
    return {
        "n": len(y),
        "mse": square,
        "rmse": float(np.ldexp(math.sqrt(mse), exponent)),
        "mae": float(np.ldexp(np.mean(np.abs(errors)), exponent)),
        "r2": None if constant else (1.0 - mse / variance if variance else -math.inf),
    }


def ranking_scores(predicted: Predictions, classes: np.ndarray) -> np.ndarray:
    """What rows are ranked by for a ROC curve: one score, or one a class for several classes."""
    assert predicted.scores is not None
    if len(classes) == 2 or predicted.probabilities is None:
        return predicted.scores
    # A softmax score alone does not say how sure a class is; its probability does.
    return predicted.probabilities


def _roc_auc(classes: np.ndarray, predicted: Predictions, y: np.ndarray) -> float | None:
    if len(set(y.tolist())) < len(classes):
        return None
    from sklearn.metrics import roc_auc_score

    scores = ranking_scores(predicted, classes)
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], scores))
    return float(np.mean([roc_auc_score(y == c, scores[:, k]) for k, c in enumerate(classes)]))


def headline(scores: dict[str, Any]) -> str:
    """``accuracy 0.847 [0.838, 0.856]   ROC AUC 0.903   log loss 0.320``, or of a quantity
    ``R^2 0.452   RMSE 53.9   MAE 43.8   MSE 2,900``."""
    if "mse" in scores:
        r2 = scores["r2"]
        parts = [] if r2 is None else [f"R^2 {r2:.3f}" if r2 > -1000.0 else f"R^2 {r2:.3g}"]
        parts += [f"{name} {scores[name.lower()]:,.4g}" for name in ("RMSE", "MAE", "MSE")]
        return "   ".join(parts)
    low, high = scores["accuracy_interval"]
    parts = [f"accuracy {scores['accuracy']:.3f} [{low:.3f}, {high:.3f}]"]
    if scores["roc_auc"] is not None:
        parts.append(f"ROC AUC {scores['roc_auc']:.3f}")
    if scores["log_loss"] is not None:
        parts.append(f"log loss {scores['log_loss']:.3f}")
    return "   ".join(parts)
