"""Predictions: the trees that models state, and the methods that evaluate them.

Estimators name the methods in their bodies.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data.design import as_design, dense
from separatrix.data.validation import require_finite, validate
from separatrix.expressions import (
    Affine,
    Evaluation,
    Expression,
    Features,
    FirstWins,
    Prediction,
    Threshold,
)
from separatrix.models.blocked import accuracy_over, is_blocked, r2_over


class Predicting:
    """A model that states its scores, classes and probabilities as trees."""

    # Whether it predicts several numbers a row where it was fitted to several.
    _several: ClassVar[Any] = False

    def _scores(self: Any) -> Expression:
        """The numbers that are predicted, or that decide about the class."""
        return affine(self, self.coef_, self.intercept_)

    @property
    def _predicted_classes(self: Any) -> np.ndarray | None:
        """The classes, in the order of their places; None of a regression."""
        return vars(self).get("classes_")

    def _winner(self: Any, scores: Expression) -> Expression:
        """The place of the predicted class."""
        return Threshold(scores) if scores.n_columns == 1 else FirstWins(scores)

    def _probabilities(self: Any, scores: Expression, winner: Expression) -> Expression | None:
        """The probabilities of the classes; None where there are none."""
        return None

    def _reported(self: Any, scores: Expression) -> Expression:
        """The expression that ``decision_function`` returns."""
        return scores

    def _prediction(self: Any) -> Prediction:
        """All trees of the fitted model.

        Raises
        ------
        sklearn.exceptions.NotFittedError
        """
        check_is_fitted(self)
        scores, classes = self._scores(), self._predicted_classes
        if classes is None:
            return Prediction(scores)
        winner, reported = self._winner(scores), self._reported(scores)
        return Prediction(
            scores,
            winner,
            tuple(classes.tolist()),
            self._probabilities(scores, winner),
            None if reported is scores else reported,
        )


def affine(model: Any, coef: Any, intercept: Any) -> Affine:
    """``W x + b`` of the columns of a model.

    Parameters
    ----------
    coef : ndarray or sparse matrix of shape (K, n_features) or (n_features,)
    intercept : ndarray of shape (K,) or float

    Raises
    ------
    ValueError
        For weights that were set by hand and do not match the columns.
    """
    if coef.ndim == 1:
        coef = coef[None, :]
    columns = vars(model).get("n_features_in_")
    if coef.ndim != 2 or columns not in (None, coef.shape[1]):
        # Attributes can be set by hand, and compiled loops follow the shape of the data.
        raise ValueError(
            f"The coef_ of this {type(model).__name__} has the shape {coef.shape}, which does "
            f"not match data of {columns:,} columns (n_features_in_ is "
            f"{columns!r}); fit it again."
        )
    single = coef.dtype == np.float32
    if single or type(coef) is not np.ndarray:
        # Products and sums are taken in float64 whatever the data are.
        coef = dense(coef).astype(np.float64)
        intercept = np.asarray(intercept, dtype=np.float64)
    if type(intercept) is not np.ndarray or intercept.shape != (len(coef),):
        intercept = np.full(len(coef), intercept)
    return Affine(Features(coef.shape[1]), coef, intercept, single)


def _stated(model: Any) -> Expression:
    """The scores of a model that may not be fitted."""
    try:
        scores: Expression = model._scores()
    except AttributeError:
        # To raise: for one row it would take longer than all the rest.
        check_is_fitted(model)
        raise
    return scores


def _stated_probabilities(model: Any) -> Expression:
    """The probabilities of a model that may not be fitted."""
    scores = _stated(model)
    probabilities: Expression = model._probabilities(scores, model._winner(scores))
    return probabilities


class Rows(Evaluation):
    """The evaluation for rows that a model predicts, which are read once.

    NaN and infinities need not have been looked for: the nodes do so that would hide them.
    """

    __slots__ = ("model",)

    def __init__(self, model: Any, matrix: Any) -> None:
        super().__init__(as_design(matrix))
        self.model = model

    def require_finite(self) -> None:
        require_finite(self.design.matrix, getattr(self.model, "feature_names_in_", None))


def _of_rows(model: Any, X: Any) -> Rows:
    return Rows(model, validate(model, X, finite=False))


def class_scores(model: Any, X: Any) -> np.ndarray:
    """The scores whose winner is predicted: (n_samples,) for two classes, else (n_samples, K)."""
    scores = _stated(model)
    return _alone(scores.evaluate(_of_rows(model, X)))


def _alone(values: np.ndarray) -> np.ndarray:
    """The only column, or all."""
    return values[:, 0] if values.shape[1] == 1 else values


def decided(model: Any, scores: np.ndarray) -> np.ndarray:
    """The predictions of a model for rows of these scores, of shape (n_samples, K)."""
    known = Features(scores.shape[1])
    return _decided(model, known, Evaluation(None).given(known, scores))


def _decided(model: Any, scores: Expression, values: Evaluation) -> np.ndarray:
    places = model._winner(scores).evaluate(values)
    # Several labels a row are zeros and ones.
    return places if places.ndim == 2 else model._predicted_classes[places]


# --- methods of estimators ------------------------------------------------------------------------


class OfClasses:
    """Methods of classifiers."""

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
        reported = self._reported(_stated(self))
        return _alone(reported.evaluate(_of_rows(self, X)))

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
        scores = _stated(self)
        return _decided(self, scores, _of_rows(self, X))

    def predict_proba(self: Any, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
            Rows sum to one. The largest entry always belongs to the predicted class, without ties:
            where two would round to the same number, that class has the next larger number.
        """
        return _stated_probabilities(self).evaluate(_of_rows(self, X))

    def predict_log_proba(self: Any, X: Any) -> np.ndarray:
        """Logarithms of ``predict_proba``, exact where those underflow.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
        """
        return _stated_probabilities(self).logarithms(_of_rows(self, X))

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
                # The further checks of scikit-learn take ten times as long.
                return float(np.count_nonzero(predicted == y) / len(y))
        return float(ClassifierMixin.score(self, X, y, sample_weight))


class OfNumbers:
    """Methods of regressions."""

    def predict(self: Any, X: Any) -> np.ndarray:
        """The fitted values ``W x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        scores = _stated(self)
        values = scores.evaluate(_of_rows(self, X))
        return values if self._several and self.coef_.ndim == 2 else values[:, 0]

    def score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        r"""The coefficient of determination :math:`R^2`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Row blocks contain their targets and weights.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if is_blocked(X):
            return r2_over(self, X, y, sample_weight)
        return float(RegressorMixin.score(self, X, y, sample_weight))
