"""The methods of classifiers that predict, each of which their classes name in their bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from separatrix.models.blocked import accuracy_over, is_blocked
from separatrix.models.scores import fitted_scores
from separatrix.probabilities.ties import winners

__all__ = ["decision_function", "predict", "score"]


def decision_function(self: Any, X: Any) -> np.ndarray:
    """Scores ``w.x + b``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
        Positive for ``classes_[1]``.
    """
    scores = fitted_scores(self, X)
    return scores[:, 0] if scores.shape[1] == 1 else scores


def predict(self: Any, X: Any) -> np.ndarray:
    """The class of the largest score.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,)
        The first class wins ties; for two classes, a point on the plane (score 0) belongs to
        ``classes_[0]``.
    """
    scores = self.decision_function(X)
    return self.classes_[winners(scores)]


def score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """The accuracy: the share of the rows that are predicted correctly.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        Row blocks contain their labels and weights.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float
    """
    if is_blocked(X):
        return accuracy_over(self, X, y, sample_weight)
    plain = sample_weight is None and type(y) is np.ndarray and y.ndim == 1 and len(y) > 0
    if plain and "classes_" in vars(self) and y.dtype.kind in "biuU":
        predicted = self.predict(X)
        if predicted.dtype.kind == y.dtype.kind and predicted.shape == y.shape:
            # What scikit-learn checks besides takes it ten times as long.
            return float(np.count_nonzero(predicted == y) / len(y))
    return float(ClassifierMixin.score(self, X, y, sample_weight))
