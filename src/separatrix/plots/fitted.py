"""The classes, targets, names and R squared of a fitted model and its rows, for pictures.

A hyperplane is drawn like the model that it is the hyperplane of, see :func:`as_model`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from separatrix.data.design import as_design
from separatrix.data.labels import codes_of, encode_as, is_pipeline
from separatrix.data.validation import validate
from separatrix.geometry.hyperplane import Hyperplane, plane_of, sides_of
from separatrix.models.regressor import rows_of_fit
from separatrix.objectives.base import Objective
from separatrix.plots.style import plain
from separatrix.solvers.trace import Trace

# Letters of a name along an axis.
_LETTERS = 28


class PlaneClassifier(ClassifierMixin, BaseEstimator):
    """A hyperplane as a classifier, with what displays need of a fitted model.

    Its rows have the slack that the hinge charges.  None are support vectors, for no fit chose the
    plane.
    """

    loss = "hinge"

    def __init__(self, plane: Hyperplane, classes: np.ndarray) -> None:
        self.plane, self.classes_ = plane, classes
        self.coef_, self.intercept_ = plane.w[None], np.array([plane.b])
        self.n_features_in_ = plane.n_features
        self.support_ = np.empty(0, dtype=np.int64)

    def fit(self, X: Any, y: Any = None) -> PlaneClassifier:
        """Leave the hyperplane as it is."""
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.plane.decision(X)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[(self.decision_function(X) > 0.0).astype(int)])


# Its name in messages.
PlaneClassifier.__name__ = "Hyperplane"


def as_model(model: Any, y: Any, *, numbers: bool = False) -> Any:
    """A model as it is; a hyperplane or a pair ``(w, b)`` as a model that has been fitted.

    Parameters
    ----------
    model : object
    y : array-like or None
        The labels that the sides of a hyperplane have; without any, -1 and +1.
    numbers : bool, default=False
        Whether a hyperplane predicts `y`, where these are numbers other than -1 and +1.
    """
    plane = plane_of(model)
    if plane is None:
        return model
    targets = np.asarray(y)
    if numbers and targets.dtype.kind in "biuf" and not np.all(np.abs(targets) == 1):
        # Imported here: most pictures do not need it.
        from sklearn.linear_model import LinearRegression

        regressor = LinearRegression()
        regressor.coef_, regressor.intercept_ = plane.w, plane.b
        regressor.n_features_in_ = plane.n_features
        return regressor
    return PlaneClassifier(plane, np.array([-1, 1]) if y is None else sides_of(y))


def last_step(model: Any) -> Any:
    """The last step of a pipeline; any other model itself."""
    return model.steps[-1][1] if is_pipeline(model) else model


def last_rows(model: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and the rows that it sees; any other model and the rows."""
    last = last_step(model)
    alone = last is model or len(model.steps) == 1
    return last, X if alone else model[:-1].transform(X)


def traces_of(model: Any, what: str) -> tuple[Trace, ...]:
    """The records of a fit, one a binary problem.

    Raises
    ------
    ValueError
        If nothing was recorded.
    """
    trace = getattr(model, "trace_", None)
    if trace is None:
        name = type(model).__name__
        raise ValueError(f"This {name} has no record of its {what}; fit it with record=True.")
    return trace if isinstance(trace, tuple) else (trace,)


def claimed_problem(model: Any, X: Any, y: Any) -> Any:
    """The problem that a fitted linear model claims to have solved, set up from training data.

    Raises
    ------
    TypeError
        For a model that claims none, or whose points are no weights of columns.
    ValueError
        For bad data, or a model of several problems.
    """
    name = type(model).__name__
    own = hasattr(model, "_claims") and hasattr(model, "coef_")
    if not own or getattr(model, "_in_closed_form", False):
        raise TypeError(f"{name} is not a linear model of this library that was fitted in steps.")
    design = as_design(validate(model, X))
    if hasattr(model, "classes_"):
        weights = getattr(model, "class_weight", None)
        target: Any = encode_as(model.classes_, y, design.n_samples, None, weights)
    else:
        target = rows_of_fit(model, X, y, None)
    claims = model._claims(design, target)
    problem = claims[0][1]
    if not isinstance(problem, Objective):
        raise TypeError(f"{name} minimises no sum of losses and a penalty.")
    if len(claims) > 1 or problem.output_shape:
        raise ValueError(f"This {name} has weights for several classes or targets; fit one pair.")
    return problem


def recorded_iterates(model: Any, X: Any, y: Any) -> tuple[Any, Any, Trace, np.ndarray]:
    """A linear fit, its problem, its record, and the weights of every iterate that it holds.

    The intercept is the last of the weights, if there is one.

    Raises
    ------
    TypeError, ValueError
        As :func:`claimed_problem`, and if no iterates were recorded.
    """
    fit, rows = last_rows(model, X)
    problem, trace = claimed_problem(fit, rows, y), traces_of(fit, "iterates")[0]
    if not len(trace.coef):
        raise ValueError(f"The record of this {type(fit).__name__} has no iterates.")
    iterates = zip(trace.coef, trace.intercept, strict=True)
    weights = [problem.join(np.ravel(w), np.ravel(b)[0]) for w, b in iterates]
    return fit, problem, trace, np.array(weights)


def class_codes(model: Any, y: Any, n_samples: int) -> np.ndarray:
    """The position of every label among the classes of a fitted model.

    Raises
    ------
    TypeError
        If the model has no ``classes_``.
    ValueError
        If ``y`` is not one label for each row, or has a label that the model does not know.
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(
            f"{type(model).__name__} has no classes_; pass a classifier that has been fitted."
        )
    classes, labels = np.asarray(classes), np.asarray(y)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"y must hold one label for each of the {n_samples:,} rows; its shape is "
            f"{labels.shape}."
        )
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f"Row {row} has the label {labels[row : row + 1].tolist()[0]!r}, which the model was "
            f"not trained on; its classes are {', '.join(map(repr, classes.tolist()[:6]))}"
            f"{', ...' if len(classes) > 6 else ''}."
        )
    return codes_of(labels, classes)


def two_labels(name: str, pair: Any, known: list[Any]) -> tuple[Any, Any]:
    """Two different labels of those that are known, in their order.

    Raises
    ------
    ValueError
        For something that is not a pair, or a label that is not known.
    """
    if isinstance(pair, str) or np.size(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"{name}={pair!r} must be two different labels.")
    for label in pair:
        if label not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"{name}={pair!r}: {label!r} is not one of {listed}.")
    first, second = sorted(pair, key=known.index)
    return first, second


def two_classes(model: Any) -> list[Any]:
    """The labels of a fitted classifier of two classes.

    Raises
    ------
    ValueError
        For another number of classes.
    """
    known: list[Any] = np.asarray(model.classes_).tolist()
    if len(known) != 2:
        raise ValueError(
            f"the model has {len(known)} classes; this picture needs two. Fit it to two of them, "
            "or use DecisionDisplay."
        )
    return known


def two_columns(
    features: Any, names: list[str], called: str = "features", kind: str = "column"
) -> tuple[int, int]:
    """The positions of two columns, or of two weights, which are given by name or position.

    ``called`` is the parameter that holds them.

    Raises
    ------
    ValueError
        For a column that is not there, or other than two.
    """
    single = isinstance(features, str) or not hasattr(features, "__iter__")
    requested = [features] if single else list(features)
    out = []
    for column in requested:
        number = isinstance(column, int | np.integer) and not isinstance(column, bool)
        if isinstance(column, str) and column in names:
            out.append(names.index(column))
        elif number and -len(names) <= column < len(names):
            out.append(int(column) % len(names))
        else:
            raise ValueError(
                f"{called} names {column!r}, which is not a {kind}; there are {len(names)}: "
                f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
            )
    if len(out) != 2 or out[0] == out[1]:
        raise ValueError(f"{called} must be two different {kind}s; they are {requested!r}.")
    return out[0], out[1]


def one_a_class(scores: np.ndarray, n_classes: int, what: str) -> np.ndarray:
    """Scores of shape (n,) for two classes, else (n, K).

    Raises
    ------
    ValueError
        For scores of pairs of classes.
    """
    if scores.ndim == 2 and scores.shape[1] != n_classes:
        raise ValueError(
            f"The scores have {scores.shape[1]} columns for {n_classes} classes, and a {what} "
            "needs one for each class; with SVC, set decision_function_shape='ovr'."
        )
    return scores


def labelled_rows(
    model: Any, X: Any, y: Any, *, regression: bool = False
) -> tuple[Any, np.ndarray, Any]:
    """The validated matrix, a label or a target for each row, and the columns' names or None.

    Raises
    ------
    ValueError
        For bad data, or more than one target.
    """
    holder = BaseEstimator()
    matrix, given = validate(holder, X, y, regression=regression)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(
            f"y has {given.shape[1]} targets; draw one at a time, with a model of this target."
        )
    names = getattr(model, "feature_names_in_", None)
    return matrix, given, getattr(holder, "feature_names_in_", names)


def dense(matrix: Any) -> np.ndarray:
    """A small matrix, dense or sparse, as an array of float64."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, a frame or a sparse matrix, in the same type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sp.issparse(X):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def column_names(names: Any, n_features: int) -> list[str]:
    """The columns' names, or x0, x1 and so on where they have none."""
    return [f"x{j}" for j in range(n_features)] if names is None else [str(v) for v in names]


def quietly(function: Any, rows: Any) -> Any:
    """A prediction without scikit-learn's warning about arrays for models that know names.

    Points of a picture are of the model's own columns, whatever these are called.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names")
        return function(rows)


def positive_numbers(name: str, values: Any, *, infinite: bool = False) -> list[float]:
    """A sequence of positive numbers, finite unless stated otherwise."""
    try:
        found = [float(v) for v in values]
    except (TypeError, ValueError):
        found = []
    if not found or not all(v > 0.0 and (infinite or np.isfinite(v)) for v in found):
        raise ValueError(f"{name} must be positive numbers, in a list; it is {values!r}.")
    return found


def axis_label(matrix: Any, names: Any) -> str:
    """Label the horizontal axis: the only column, or the fit from several."""
    if matrix.shape[1] > 1:
        return f"fitted from {matrix.shape[1]:,} columns"
    return "x" if names is None else plain(names[0], _LETTERS)


def target_label(y: Any) -> str:
    """The name of the targets, ready to draw."""
    name = getattr(y, "name", None)
    return "y" if name is None else plain(name, _LETTERS)


def r_squared(y: np.ndarray, fitted: np.ndarray) -> float:
    """The share of the targets' variation that a fit explains; NaN where there is none."""
    r = y - fitted
    spread = float(((y - y.mean()) ** 2).sum())
    if spread == 0.0:
        return math.nan
    value = 1.0 - float(r @ r) / spread
    # Rounding leaves the R² of a constant a little above or below zero.
    return 0.0 if abs(value) < 1e-13 else value


def r2_text(value: float, kind: str = "") -> str:
    """``$R^2$ = ...``, which reads 1 for an exact fit alone; empty for NaN."""
    if math.isnan(value):
        return ""
    text = f"{value:.4g}"
    if text == "1" and 1.0 - value > 1e-13:
        text = f"1 - {1.0 - value:.2g}"
    return f"$R^2${kind} = {text}".replace("-", "−")
