"""How well a model predicts labelled rows, as numbers and as words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)

from separatrix.labels import one_vs_one_scores

# The 97.5 % point of the normal distribution: intervals of 95 %.
_Z = 1.959963984540054


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson, 1927); it stays within 0 and 1."""
    share, shrink = hits / n, _Z**2 / n
    centre = (share + shrink / 2) / (1 + shrink)
    half = _Z * math.sqrt(share * (1 - share) / n + shrink / (4 * n)) / (1 + shrink)
    return max(0.0, centre - half), min(1.0, centre + half)


def gives_probabilities(model: Any) -> bool:
    """Whether a fitted model has probabilities; one interrupted before its calibration has none."""
    if getattr(model, "calibrate", None) is not None and not hasattr(model, "calibration_"):
        return False
    return hasattr(model, "predict_proba")


def class_scores(model: Any, X: Any) -> np.ndarray:
    """Scores by class, whatever shape of them the model was set to give."""
    scores: np.ndarray = model.decision_function(X)
    if scores.ndim == 2 and getattr(model, "decision_function_shape", "ovr") == "ovo":
        return one_vs_one_scores(scores, len(model.classes_))
    return scores


def score_rows(model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Measure a classifier on labelled rows.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X : array-like of shape (n_rows, n_features)
        The rows, encoded.
    y : ndarray of shape (n_rows,)
        Labels, each one of ``model.classes_``.

    Returns
    -------
    dict
        ``n``, ``accuracy``, ``accuracy_interval`` (95 %, Wilson), ``roc_auc`` (the mean over
        classes of one against the rest when there are more than two; None where a class is
        absent), ``log_loss`` (None for a model without probabilities), ``confusion_matrix``
        (rows are true classes) and ``per_class``.
    """
    classes = model.classes_
    predicted = model.predict(X)
    hits = int(accuracy_score(y, predicted, normalize=False))
    probabilities = model.predict_proba(X) if gives_probabilities(model) else None
    precision, recall, f1, support = precision_recall_fscore_support(
        y, predicted, labels=classes, zero_division=np.nan
    )
    return {
        "n": len(y),
        "accuracy": hits / len(y),
        "accuracy_interval": list(wilson_interval(hits, len(y))),
        "roc_auc": _roc_auc(model, X, probabilities, y),
        "log_loss": None
        if probabilities is None
        else float(log_loss(y, probabilities, labels=classes)),
        "confusion_matrix": confusion_matrix(y, predicted, labels=classes).tolist(),
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


def _roc_auc(model: Any, X: Any, probabilities: np.ndarray | None, y: np.ndarray) -> float | None:
    classes = model.classes_
    if len(set(y.tolist())) < len(classes):
        return None
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], model.decision_function(X)))
    # A softmax score alone does not say how sure a class is; its probability does.
    scores = class_scores(model, X) if probabilities is None else probabilities
    return float(np.mean([roc_auc_score(y == c, scores[:, k]) for k, c in enumerate(classes)]))


def headline(scores: dict[str, Any]) -> str:
    """``accuracy 0.847 [0.838, 0.856]   ROC AUC 0.903   log loss 0.320``."""
    low, high = scores["accuracy_interval"]
    parts = [f"accuracy {scores['accuracy']:.3f} [{low:.3f}, {high:.3f}]"]
    if scores["roc_auc"] is not None:
        parts.append(f"ROC AUC {scores['roc_auc']:.3f}")
    if scores["log_loss"] is not None:
        parts.append(f"log loss {scores['log_loss']:.3f}")
    return "   ".join(parts)
