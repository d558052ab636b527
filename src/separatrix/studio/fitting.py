"""The real estimators behind the page: one for each name, with the parameters of a state."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix
from separatrix.studio.state import State, StateError

__all__ = ["Fitted", "fitted"]

# Of a perceptron on points that cannot be told apart.
_MOST_PASSES = 30


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and the points that it was fitted to.

    Attributes
    ----------
    state : State
    model : estimator
    rows : ndarray of int
        The points that were fitted, among those of the state.
    X : ndarray of shape (m, 2), or (m, 1) for a regression
    y : ndarray of shape (m,)
        -1 and +1, or numbers.
    pair : tuple of int
        The two classes that were told apart, the negative one first.
    options : dict
        What the estimator was made with.
    """

    state: State
    model: Any
    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    pair: tuple[int, int]
    options: dict[str, Any]

    @property
    def regression(self) -> bool:
        return self.state.model == "regression"

    @property
    def plane(self) -> tuple[np.ndarray, float] | None:
        """Weights and intercept, where the boundary is a line."""
        coef = getattr(self.model, "coef_", None)
        if self.regression or coef is None or self.state.model in ("qda", "kernel_svm"):
            return None
        return np.ravel(coef).astype(float), float(np.ravel(self.model.intercept_)[0])

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Positive where the second class of the pair is said."""
        found = np.asarray(self.model.decision_function(X), dtype=float)
        return found.ravel()


_CLASSES = {
    "perceptron": "Perceptron",
    "logistic": "LogisticRegression",
    "linear_svm": "LinearSVC",
    "kernel_svm": "SVC",
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "least_squares": "LeastSquaresClassifier",
    "regression": "PolynomialRegression",
    "sgd": "SGDClassifier",
}


def _options(state: State) -> dict[str, Any]:
    given = dict(state.parameters)
    if state.model == "perceptron":
        given.pop("start")
        given |= {"max_iter": _MOST_PASSES, "record": True, "random_state": 0}
        if given["order"] != "cyclic":
            given["random_state"] = 0
    elif state.model == "linear_svm":
        if given["loss"] == "hard margin":
            given |= {"loss": "hinge", "C": float("inf")}
        given |= {"record": True, "random_state": 0}
    elif state.model in ("logistic", "kernel_svm"):
        given |= {"record": True, "random_state": 0}
    if state.model == "sgd":
        given |= {"record": True, "finish": None, "average": False}
    if state.model == "lda":
        given["shrinkage"] = given["shrinkage"] or None
    return given


def fitted(state: State) -> Fitted:
    """Fit the model of a state to its points.

    Raises
    ------
    StateError
        Where there are too few points, or the model cannot be fitted to them.
    """
    options = _options(state)
    model = getattr(separatrix, _CLASSES[state.model])(**options)
    if state.model == "regression":
        if len(state.points) < 2:
            raise StateError("Draw two points or more, and a curve goes through them.")
        rows, pair = np.arange(len(state.points)), (0, 1)
        X, y = state.points[:, :1], state.points[:, 1]
    else:
        there = np.unique(state.codes).tolist()
        if len(there) < 2:
            raise StateError("Draw points of two classes, and they are told apart.")
        pair = (there[0], there[1])
        rows = np.flatnonzero(np.isin(state.codes, pair))
        X, y = state.points[rows], np.where(state.codes[rows] == pair[1], 1, -1)
    extra: dict[str, Any] = {}
    if state.model == "perceptron":
        *coef, intercept = state.parameters["start"]
        extra = {"coef_init": coef, "intercept_init": intercept}
        if not options["fit_intercept"]:
            extra["intercept_init"] = 0.0
    try:
        with warnings.catch_warnings():
            # How far a fit got stands in its certificate.
            warnings.simplefilter("ignore")
            model.fit(X, y, **extra)
    except (TypeError, ValueError) as error:
        raise StateError(" ".join(str(error).split())[:400]) from error
    return Fitted(state, model, rows, X, y, pair, options)
