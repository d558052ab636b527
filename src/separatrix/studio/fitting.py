"""The real estimators behind the page: one for each name, with the parameters of a state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix
from separatrix._compiled.tuning import Tuned
from separatrix.data.design import as_design
from separatrix.data.labels import encode_as
from separatrix.exceptions import NotSeparableError
from separatrix.studio.heldout import fresh_points, held_out
from separatrix.studio.lifting import lifted
from separatrix.studio.state import ESTIMATORS, State, StateError

# The models that separate all classes at once; the others take the first two.
_OF_SEVERAL = ("logistic", "kernel_svm", "lda", "qda", "least_squares")
# The limit of a perceptron on points that are not separable.
MOST_PASSES = 30
# The tolerance of a kernel machine: nobody sees more while dragging. The last digit of the
# certificate otherwise takes most of the time.
KERNEL_TOL = 1e-5
LOADED: set[str] = set()
"""The models that have been fitted once, so that their loops are compiled."""
# The most attempts at a first fit, which may have run out of time because it compiled.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Tuning:
    """The limits of a fit while somebody draws.

    Parameters
    ----------
    patience : float
        Seconds for a fit, which with thousands of points and steep kernels could take minutes.
    most_iterations : int
        The most iterations of a kernel machine; with steep kernels more would take seconds.
    """

    patience: float = 5.0
    most_iterations: int = 100


tuned = Tuned(Tuning())


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and the points that it was fitted to.

    Attributes
    ----------
    state : State
    model : estimator
    rows : ndarray of int
        The points that were fitted, among those of the state.
    held : ndarray of int
        The points of these classes that were held out.
    X : ndarray of shape (m, n_features)
        The two coordinates and the features that they are lifted by; for a regression x alone.
    y : ndarray of shape (m,)
        -1 and +1 for two classes, codes for more, or the numbers of a regression.
    classes : tuple of int
        The classes that were fitted, in their order; the negative one of two is first.
    options : dict
        The parameters of the estimator.
    """

    state: State
    model: Any
    rows: np.ndarray
    held: np.ndarray
    X: np.ndarray
    y: np.ndarray
    classes: tuple[int, ...]
    options: dict[str, Any]

    @property
    def regression(self) -> bool:
        return self.state.model == "regression"

    @property
    def several(self) -> bool:
        """Whether more than two classes were fitted."""
        return len(self.classes) > 2

    @property
    def pair(self) -> tuple[int, int]:
        """The first two classes."""
        return self.classes[0], self.classes[1]

    @property
    def weights(self) -> tuple[np.ndarray, float] | None:
        """Weights of the features, and the intercept, where two classes have them."""
        coef = getattr(self.model, "coef_", None)
        if self.regression or coef is None or self.several:
            return None
        if self.state.model in ("qda", "kernel_svm"):
            return None
        return np.ravel(coef).astype(float), float(np.ravel(self.model.intercept_)[0])

    @property
    def plane(self) -> tuple[np.ndarray, float] | None:
        """Weights and intercept, where the boundary is a line."""
        return None if self.state.lift else self.weights

    def design(self, places: np.ndarray) -> np.ndarray:
        """The columns that the model takes: x alone, or both coordinates and their features."""
        return places[:, :1] if self.regression else lifted(places, self.state.lift)

    def scores(self, places: np.ndarray) -> np.ndarray:
        """The scores: positive for the second class, or a column for each of several classes."""
        found = np.asarray(self.model.decision_function(self.design(places)), dtype=float)
        return found if self.several else found.ravel()

    def predicted(self, places: np.ndarray) -> np.ndarray:
        """The codes of the classes that the estimator gives."""
        found = np.asarray(self.model.predict(self.design(places)))
        return found if self.several else np.where(found > 0, self.classes[1], self.classes[0])

    def missed(self, places: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """A mask of the places on the wrong side; those on the boundary are of the second class."""
        if self.several:
            return self.predicted(places) != codes
        return (self.scores(places) >= 0.0) != (codes == self.classes[1])

    def test_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and classes of the points held out, or of the fresh ones."""
        places, codes = fresh_points(self.state)
        if not self.state.fresh:
            places, codes = self.state.points[self.held], self.state.codes[self.held]
        known = np.isin(codes, self.classes) | self.regression
        return places[known], codes[known]


def _options(state: State) -> dict[str, Any]:
    given = {name: value for name, value in state.parameters.items() if name != "start"}
    if given.get("loss") == "hard margin":
        given |= {"loss": "hinge", "C": float("inf")}
    if state.model == "lda":
        given["shrinkage"] = given["shrinkage"] or None
    recorded: dict[str, Any] = {"record": True, "random_state": 0}
    timed = {**recorded, "time_limit": tuned.now.patience}
    beside: dict[str, dict[str, Any]] = {
        "perceptron": {"max_iter": MOST_PASSES, **recorded, "record": "visits"},
        "logistic": timed,
        "linear_svm": timed,
        "kernel_svm": {**timed, "tol": KERNEL_TOL, "max_iter": tuned.now.most_iterations},
        "sgd": {"record": True, "average": False, "tol": None, "time_limit": tuned.now.patience},
    }
    return given | beside.get(state.model, {})


def fitted(state: State) -> Fitted:
    """Fit the model of a state to its points.

    Raises
    ------
    StateError
        Where there are too few points, or the model cannot be fitted to them.
    """
    options = _options(state)
    held = held_out(state)
    if state.model == "regression":
        if np.sum(~held) < 2:
            raise StateError("Draw two points or more to see a curve fitted to them.")
        classes = [0, 1]
        rows, held = np.flatnonzero(~held), np.flatnonzero(held)
        X, y = state.points[rows, :1], state.points[rows, 1]
    else:
        classes = np.unique(state.codes).tolist()
        if len(classes) < 2:
            raise StateError("Draw points of two classes to see them separated.")
        if state.model not in _OF_SEVERAL:
            classes = classes[:2]
        fits = np.isin(state.codes, classes)
        rows, held = np.flatnonzero(fits & ~held), np.flatnonzero(fits & held)
        X, y = lifted(state.points[rows], state.lift), state.codes[rows]
        if len(classes) == 2:
            y = np.where(y == classes[1], 1, -1)
    extra: dict[str, Any] = {}
    if state.model == "perceptron":
        *coef, intercept = state.parameters["start"]
        coef += [0.0] * (X.shape[1] - 2)
        extra = {"coef_init": coef, "intercept_init": intercept}
        if not options["fit_intercept"]:
            extra["intercept_init"] = 0.0
    try:
        with warnings.catch_warnings():
            # How far a fit got stands in its certificate.
            warnings.simplefilter("ignore")
            for _ in range(1 if state.model in LOADED else _ATTEMPTS):
                model = getattr(separatrix, ESTIMATORS[state.model])(**options)
                model.fit(X, y, **extra)
                if getattr(model.certificate_, "status", None) != "time_limit":
                    break
    except NotSeparableError as error:
        raise StateError(
            f"No line separates {state.classes[classes[0]]} from {state.classes[classes[1]]}, so "
            "there is no hard margin: choose the loss hinge, which allows for overlap."
        ) from error
    except (TypeError, ValueError) as error:
        raise StateError(" ".join(str(error).split())[:400]) from error
    LOADED.add(state.model)
    return Fitted(state, model, rows, held, X, y, tuple(classes), options)


def objective_at(fit: Fitted) -> Callable[[np.ndarray, Any], float]:
    """The objective that the model minimises, as a function of weights and an intercept."""
    labels = encode_as(fit.model.classes_, fit.y, len(fit.y))
    _, problem, *_ = fit.model._claims(as_design(fit.X), labels)[0]

    def value(weights: np.ndarray, intercept: Any) -> float:
        theta = problem.join(weights, np.asarray(intercept))
        return float(problem.value(problem.to_internal(theta)))

    return value


def spread(fit: Fitted, values: np.ndarray) -> list[Any]:
    """Spread values over all points of the state; None for those that were not fitted."""
    whole: list[Any] = [None] * len(fit.state.points)
    for row, value in zip(fit.rows.tolist(), values.tolist(), strict=True):
        whole[row] = value
    return whole
