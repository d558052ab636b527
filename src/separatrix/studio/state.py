"""The state of a page: points, model, parameters; checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.losses import key_of

# The most letters of a name of an axis or of a class.
LONGEST_NAME = 200
LIMITS = {"points": 2000, "exact": 300}
"""The most points of a state, and the most for which exact statements are made."""

FAR = 1e9
"""The largest absolute value of coordinates and of other numbers of a state."""
_MOST_CLASSES = 4
HELD_OUT = (0, 20, 30, 50)
"""The shares of the points that a page can hold out, in percent."""
FEATURES = {
    "x2": "x\u00b2",
    "xy": "x\u00b7y",
    "y2": "y\u00b2",
    "sinx": "sin x",
    "poly": "all of the kernel (x\u00b7z + 1)\u00b2",
}
"""The features that points can be lifted by: x is the horizontal coordinate, y the vertical one."""
LIFTED = ("perceptron", "logistic", "linear_svm", "lda", "least_squares", "sgd")
"""The linear models, whose boundary in a plane of features is a curve in that of the points."""


class StateError(ValueError):
    """An invalid state or message; the text is a sentence for people."""


def named(given: Any) -> str:
    """A value that a page sent, for a sentence: never more of it than a line holds."""
    if isinstance(given, str):
        return repr(given[:40])
    if given is None or isinstance(given, (bool, float)):
        return str(given)
    if isinstance(given, int):
        # Python writes out no number of thousands of digits.
        return str(given) if abs(given) < 10**12 else "a number of many digits"
    return "an object" if isinstance(given, dict) else "a list"


def number_of(given: Any, what: str, low: float = -FAR, high: float = FAR) -> float:
    """A number that a page sent.

    Raises
    ------
    StateError
        Where it is not a number, or outside of its range.
    """
    good = isinstance(given, (int, float)) and not isinstance(given, bool)
    # Whole numbers of any length are compared exactly, and NaN is in no range.
    if not good or not low <= given <= high:
        reach = "at most a billion" if high == FAR else f"at least {low:g} and at most {high:,.12g}"
        raise StateError(f"{what[:1].upper()}{what[1:]} must be a number of {reach}.")
    return float(given)


# A row for each model: its name, its label and its description, the estimator, its panels,
# and what its picture can show.
_ROWS = [
    ("perceptron", "Perceptron", "Corrects its line mistake by mistake.",
     "Perceptron", "mistakes theorem weights lift", "field theta"),
    ("logistic", "Logistic regression", "Gives each class a probability.",
     "LogisticRegression", "loss objective weights C lift", "field theta"),
    ("linear_svm", "Linear SVM", "The widest street between the classes.",
     "LinearSVC", "loss objective weights C lift", "field margin slack support theta"),
    ("kernel_svm", "Kernel SVM", "A street in a space of features.",
     "SVC", "loss objective C gamma degree lift", "field margin slack support"),
    ("lda", "LDA", "A Gaussian for each class, all of one covariance.",
     "LinearDiscriminantAnalysis", "lift shrinkage", "field ellipses theta"),
    ("qda", "QDA", "A Gaussian with its own covariance for each class.",
     "QuadraticDiscriminantAnalysis", "lift reg_param", "field ellipses"),
    ("least_squares", "Least squares", "Fits the targets \u22121 and +1.",
     "LeastSquaresClassifier", "lift lam", "field margin residuals theta"),
    ("regression", "Regression to y", "Fits a polynomial in x to y.",
     "PolynomialRegression", "degree lam", "residuals"),
    ("sgd", "Stochastic gradient", "A gradient step for each point.",
     "SGDClassifier", "loss objective weights rates alpha lift", "field margin slack theta"),
]  # fmt: skip
_LABELS = {
    "C": "error by C",
    "alpha": "error by alpha",
    "degree": "error by degree",
    "gamma": "error by gamma",
    "lam": "error by lambda",
    "lift": "lift in 3D",
    "loss": "loss over margin",
    "mistakes": "mistakes by point",
    "objective": "objective and bound",
    "rates": "learning rates",
    "reg_param": "error by regularisation",
    "shrinkage": "error by shrinkage",
    "theorem": "why it stops",
    "weights": "weights",
}

MODELS = [{"name": name, "label": label, "help": does} for name, label, does, *_ in _ROWS]
ESTIMATORS = {name: estimator for name, _, _, estimator, _, _ in _ROWS}
PANELS = {
    name: [{"kind": kind, "label": _LABELS[kind]} for kind in panels.split()]
    for name, _, _, _, panels, _ in _ROWS
}
SHOWN = {name: shown.split() for name, *_, shown in _ROWS}


def _parameter(model: str, name: str, label: str, kind: str, default: Any, **more: Any) -> Any:
    return {"model": model, "name": name, "label": label, "kind": kind, "default": default,
            "help": "", **more}  # fmt: skip


def _choice(model: str, name: str, label: str, *choices: str) -> Any:
    """A choice, the first of which is the default."""
    return _parameter(model, name, label, "choice", choices[0], choices=[*choices])


def _number(
    model: str, name: str, label: str, kind: str, default: Any, low: float, high: float, **more: Any
) -> Any:
    """A number, or a vector of them; ``when`` names the values of others for which it is used."""
    return _parameter(model, name, label, kind, default, low=low, high=high, **more)


def _strength(model: str, **more: Any) -> Any:
    text = "How much the losses weigh beside the penalty: a small C widens the street."
    return _number(model, "C", "C", "log", 1.0, 1e-4, 1e4, help=text, **more)


_POLY, _LIFTED = {"kernel": ["poly"]}, {"kernel": ["rbf", "poly"]}
_SOFT, _RATED = {"loss": ["hinge", "squared_hinge"]}, {"learning_rate": ["invscaling", "constant"]}

PARAMETERS = [
    _choice("perceptron", "order", "order", "cyclic", "random", "restart"),
    _number("perceptron", "learning_rate", "rate", "log", 1.0, 1e-3, 1e3),
    _number("perceptron", "margin", "margin", "linear", 0.0, 0.0, 5.0),
    _parameter("perceptron", "fit_intercept", "intercept", "bool", True),
    _number("perceptron", "start", "start", "vector", [0.0, 0.0, 0.0], -10.0, 10.0),
    _strength("logistic"),
    _choice("logistic", "penalty", "penalty", "l2", "l1"),
    _number("logistic", "steepness", "steepness", "log", 1.0, 0.1, 10.0),
    _choice("linear_svm", "loss", "loss", "hinge", "squared_hinge", "hard margin"),
    _strength("linear_svm", when=_SOFT),
    _choice("kernel_svm", "kernel", "kernel", "rbf", "poly", "linear"),
    _number("kernel_svm", "gamma", "gamma", "log", 0.5, 1e-3, 1e2, when=_LIFTED),
    _number("kernel_svm", "degree", "degree", "int", 3, 1, 8, when=_POLY),
    _number("kernel_svm", "coef0", "coef0", "linear", 1.0, 0.0, 10.0, when=_POLY),
    _strength("kernel_svm"),
    _number("lda", "shrinkage", "shrinkage", "linear", 0.0, 0.0, 1.0),
    _number("qda", "reg_param", "regularisation", "linear", 0.0, 0.0, 1.0),
    _number("least_squares", "lam", "lambda", "linear", 0.0, 0.0, 100.0),
    _number("regression", "degree", "degree", "int", 1, 1, 12),
    _number("regression", "lam", "lambda", "linear", 0.0, 0.0, 10.0),
    _choice("sgd", "loss", "loss", "hinge", "log_loss", "squared_hinge"),
    _number("sgd", "alpha", "alpha", "log", 0.01, 1e-5, 1.0),
    _choice("sgd", "learning_rate", "schedule", "optimal", "invscaling", "constant"),
    _number("sgd", "eta0", "first rate", "log", 0.1, 1e-4, 10.0, when=_RATED),
    _number("sgd", "batch_size", "batch", "int", 1, 1, 64),
    _number("sgd", "max_iter", "passes", "int", 20, 1, 200),
    _number("sgd", "random_state", "seed", "int", 0, 0, 999),
]


@dataclass(frozen=True, eq=False)
class State:
    """A valid state.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    codes : ndarray of int of shape (n,)
        The class of each point.
    classes : tuple of str
    names : tuple of str
        The names of the axes.
    view : tuple of float
        The least and largest x, the least and largest y.
    model, panel : str
    parameters : dict
        All parameters of the model.
    hold_out : int
        The percentage of the points that are held out.
    fresh : bool
        Whether the model is tested on new points of ``source`` instead.
    seed : int
        The seed by which points are held out, or drawn anew.
    source : dict or None
        The built-in shape that the points were drawn from: ``name`` and ``noise``.
    lift : tuple of str
        The features that a linear model has besides the two coordinates.
    line : tuple of float or None
        A line of one's own, w1 x + w2 y + b = 0.
    """

    points: np.ndarray
    codes: np.ndarray
    classes: tuple[str, ...]
    names: tuple[str, str]
    view: tuple[float, float, float, float]
    model: str
    panel: str
    parameters: dict[str, Any]
    hold_out: int = 0
    fresh: bool = False
    seed: int = 0
    source: dict[str, Any] | None = None
    lift: tuple[str, ...] = ()
    line: tuple[float, float, float] | None = None


def parse(given: Any) -> State:
    """The state that a page sent.

    Raises
    ------
    StateError
        Where something is missing, is of another type, or is out of its range.
    """
    state = _mapping(given, "the state")
    if state.get("version") != 1:
        raise StateError("The state belongs to another version of the studio; reload the page.")
    names = _mapping(state.get("names"), "names")
    classes = tuple(_text(one, "a class") for one in _list(names.get("classes"), "classes"))
    if not 2 <= len(classes) <= _MOST_CLASSES:
        raise StateError(f"There are {len(classes)} classes; the studio takes 2 to 4.")
    points, codes = _points(state.get("points"), len(classes))
    view = _mapping(state.get("view"), "view")
    box = (*_interval(view.get("x"), "x"), *_interval(view.get("y"), "y"))
    model = state.get("model")
    if not isinstance(model, str) or model not in PANELS:
        raise StateError(f"There is no model {named(model)}.")
    panel = state.get("panel", "none")
    return State(
        points=points,
        codes=codes,
        classes=classes,
        names=(_text(names.get("x"), "a name"), _text(names.get("y"), "a name")),
        view=box,
        model=model,
        panel=panel if isinstance(panel, str) else "none",
        parameters=_parameters(model, _mapping(state.get("parameters", {}), "parameters")),
        **_test(_mapping(state.get("test", {}), "test")),
        source=_source(state.get("source")),
        lift=_lift(model, _list(state.get("lift", []), "lift")),
        line=_line(state.get("line")),
    )


def _test(given: Mapping[str, Any]) -> dict[str, Any]:
    share, fresh = given.get("hold_out", 0), given.get("fresh", False)
    if isinstance(share, bool) or share not in HELD_OUT or not isinstance(fresh, bool):
        shares = ", ".join(map(str, HELD_OUT[:-1]))
        raise StateError(f"The share held out must be {shares} or {HELD_OUT[-1]} percent.")
    seed = number_of(given.get("seed", 0), "the seed", 0, 2**32)
    if seed != int(seed):
        raise StateError("The seed must be a whole number.")
    return {"hold_out": int(share), "fresh": fresh, "seed": int(seed)}


def _source(given: Any) -> dict[str, Any] | None:
    if given is None:
        return None
    source = _mapping(given, "the source")
    name = _text(source.get("name"), "a shape")
    return {"name": name, "noise": number_of(source.get("noise"), "the noise", 0, 10)}


def _lift(model: str, given: Sequence[Any]) -> tuple[str, ...]:
    for name in given:
        if not isinstance(name, str) or name not in FEATURES:
            raise StateError(f"There is no feature {named(name)}.")
    return tuple(name for name in FEATURES if name in given) if model in LIFTED else ()


def _line(given: Any) -> tuple[float, float, float] | None:
    if given is None:
        return None
    numbers = [number_of(number, "a line") for number in _list(given, "a line")]
    if len(numbers) != 3 or not any(numbers[:2]):
        raise StateError("A line must have three numbers, of which the first two are not both 0.")
    return numbers[0], numbers[1], numbers[2]


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise StateError(f"{what} must be an object.".capitalize())
    return given


def _list(given: Any, what: str) -> Sequence[Any]:
    if not isinstance(given, list):
        raise StateError(f"{what} must be a list.".capitalize())
    return given


def _text(given: Any, what: str) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_NAME:
        raise StateError(f"{what} must be a text of up to {LONGEST_NAME} letters.".capitalize())
    try:
        given.encode()
    except UnicodeEncodeError:
        # Half of a letter: no file and no notebook can hold it.
        raise StateError(f"{what} must be a text that UTF-8 can encode.".capitalize()) from None
    return given


def _interval(given: Any, what: str) -> tuple[float, float]:
    ends = _list(given, f"the view of {what}")
    if len(ends) != 2:
        raise StateError(f"The view of {what} must have two ends.")
    low, high = (number_of(end, f"the view of {what}") for end in ends)
    if not low < high:
        raise StateError(f"The view of {what} must go from a lower to a higher number.")
    return low, high


def _points(given: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rows = _list(given, "points")
    if len(rows) > LIMITS["points"]:
        raise StateError(f"There are {len(rows):,} points, and the limit is {LIMITS['points']:,}.")
    places, codes = [], []
    for k, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != 3:
            raise StateError(f"Point {k} must be [x, y, class].")
        x, y = number_of(row[0], f"point {k}"), number_of(row[1], f"point {k}")
        code = row[2]
        if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < n_classes:
            raise StateError(f"Point {k} has a class that does not exist.")
        places.append((x, y))
        codes.append(code)
    return np.array(places, dtype=float).reshape(-1, 2), np.array(codes, dtype=np.int64)


def _parameters(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {one["name"]: one for one in PARAMETERS if one["model"] == model}
    for name in given:
        if name not in known:
            raise StateError(f"{named(name)} is not a parameter of this model.")
    return {name: _value(one, given.get(name, one["default"])) for name, one in known.items()}


def _value(one: Mapping[str, Any], given: Any) -> Any:
    name, kind = one["label"], one["kind"]
    if kind == "bool":
        if not isinstance(given, bool):
            raise StateError(f"{name} must be true or false.")
        return given
    if kind == "choice":
        # A loss is known by several names.
        given = next((word for word in one["choices"] if key_of(word) == key_of(given)), given)
        if given not in one["choices"]:
            raise StateError(f"{name} must be one of {', '.join(one['choices'])}.")
        return given
    numbers = _list(given, name) if kind == "vector" else [given]
    if kind == "vector" and len(numbers) != len(one["default"]):
        raise StateError(f"{name} must have {len(one['default'])} numbers.")
    numbers = [number_of(number, name) for number in numbers]
    if not all(one["low"] <= number <= one["high"] for number in numbers):
        raise StateError(f"{name} must be from {one['low']:g} to {one['high']:g}.")
    if kind == "int":
        if numbers[0] != int(numbers[0]):
            raise StateError(f"{name} must be a whole number.")
        return int(numbers[0])
    return numbers if kind == "vector" else numbers[0]
