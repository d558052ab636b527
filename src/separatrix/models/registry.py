"""The estimators by their names, each loaded at its first use, and the models of commands.

Imports nothing that takes long, so that a mistyped option answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import separatrix

#: The closed list of what a model file can name.
ESTIMATORS = separatrix._ESTIMATORS


def estimator(name: str) -> Any:
    """The class of a name on the list."""
    if name not in ESTIMATORS:
        raise KeyError(name)
    return getattr(separatrix, name)


def stated(model: Any, fact: str, otherwise: Any = None) -> Any:
    """A fact that the class of the model's name states; scikit-learn's classes have ours.

    Parameters
    ----------
    model : estimator
        An estimator of this library or of scikit-learn.
    fact : str
        The name of an attribute of the class; a fact of a parent class does not hold for its
        children.
    otherwise : object
        The value where the class states nothing.
    """
    name = type(model).__name__
    return vars(estimator(name)).get(fact, otherwise) if name in ESTIMATORS else otherwise


# --- the models that commands and comparisons name ---------------------------------------------

_NONE: Mapping[str, Any] = MappingProxyType({})


class Size(NamedTuple):
    """The facts that the cost of a fit depends on.

    Attributes
    ----------
    rows, columns, entries : int
        The size of the matrix; the entries of a sparse one are those that it stores.
    outputs : int
        The number of fitted functions: one a class, a single one for two classes or a quantity.
    given : mapping of str to object
        The parameters of the estimator.
    """

    rows: int
    columns: int
    entries: int
    outputs: int
    given: Mapping[str, Any]

    @property
    def scatter(self) -> float:
        """Operations that the products of all columns take, and a factor of their matrix."""
        return self.entries * self.columns + self.columns**3 / 3.0


def _kernel_work(size: Size) -> float:
    """The work of landmarks' products with the rows, or else of a kernel's matrix and passes."""
    if size.given.get("approximation") is None:
        return float(size.rows) ** 2 * (size.entries / max(size.rows, 1) + 200.0) * size.outputs
    landmarks = min(int(size.given["n_components"]), size.rows)
    return float(size.rows) * landmarks * (landmarks + size.columns + 300.0 * size.outputs)


def _polynomial_work(size: Size) -> float:
    # Beyond the sixth degree it is the last model in any case.
    degree = min(int(size.given["degree"]), 6)
    columns = float(size.columns) ** degree if size.given["interactions"] else size.columns * degree
    return size.rows * columns**2 + columns**3 / 3.0


class Offer(NamedTuple):
    """A model under a short name: its estimator, and the options that are not for every model.

    Attributes
    ----------
    estimator : str
    takes : tuple of str
        The options of the command line that the model takes.
    losses, orders : tuple of str
        The losses, and the orders of the rows, to choose among.
    quantity : bool
        Whether the target is a quantity whatever it looks like.
    least : float
        The least target that the model can predict.
    of_classes : str
        The estimator of a target of classes, where that is another one.
    called : mapping of str to str
        The parameters of the estimator, by the options that set them under another name.
    defaults : mapping of str to object
        The values of options that are not given.
    compared : mapping of str to object or None
        The values of options in a comparison of models; None for a model that takes part in none.
    work : callable
        The operations of a fit, roughly, by its :class:`Size`: in a comparison cheap models come
        first.
    """

    estimator: str
    takes: tuple[str, ...]
    losses: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    quantity: bool = False
    least: float = -math.inf
    of_classes: str = ""
    called: Mapping[str, str] = _NONE
    defaults: Mapping[str, Any] = _NONE
    compared: Mapping[str, Any] | None = _NONE
    work: Callable[[Size], float] = lambda size: math.inf


_ITERATED = ("tol", "max_iter", "time_limit", "record")
_PENALISED = ("C", "lam", "loss", "penalty", "class_weight", *_ITERATED)
_GAUSSIAN = ("priors", "covariance", "shrinkage")

#: The models; the first one is the default for classes.
OFFERS = {
    "logistic": Offer(
        "LogisticRegression",
        (*_PENALISED, "l1_ratio", "no_intercept", "multiclass"),
        ("log",),
        work=lambda size: 60.0 * size.entries * size.outputs,
    ),
    "svm": Offer(
        "LinearSVC",
        (*_PENALISED, "l1_ratio", "no_intercept", "multiclass", "calibrate"),
        ("squared_hinge", "hinge"),
        defaults={"loss": "hinge"},
        work=lambda size: 120.0 * size.entries * size.outputs,
    ),
    "kernel-svm": Offer(
        "SVC",
        (
            *(*_PENALISED, "no_intercept", "calibrate", "kernel", "gamma", "degree", "coef0"),
            *("cache_mb", "approximation", "components"),
        ),
        ("hinge",),
        called={"components": "n_components"},
        work=_kernel_work,
    ),
    "lda": Offer(
        "LinearDiscriminantAnalysis",
        _GAUSSIAN,
        defaults={"shrinkage": "auto"},
        work=lambda size: size.scatter,
    ),
    "qda": Offer(
        "QuadraticDiscriminantAnalysis",
        _GAUSSIAN,
        defaults={"shrinkage": "auto"},
        work=lambda size: size.scatter + (1 + size.outputs) * size.columns**3,
    ),
    "lstsq": Offer(
        "LinearRegression",
        ("lam", "no_intercept", "class_weight"),
        of_classes="LeastSquaresClassifier",
        work=lambda size: size.scatter,
    ),
    "perceptron": Offer(
        "Perceptron",
        (
            *("class_weight", "no_intercept", "calibrate", "max_iter", "time_limit", "record"),
            *("order", "learning_rate", "margin", "start"),
        ),
        orders=("cyclic", "restart", "random", "replacement", "margin"),
        called={"max_iter": "max_passes"},
        compared={"max_iter": 100},
        work=lambda size: 400.0 * size.entries * size.outputs,
    ),
    "huber": Offer(
        "HuberRegressor",
        ("lam", "no_intercept", *_ITERATED),
        quantity=True,
        work=lambda size: 10.0 * size.scatter,
    ),
    "poisson": Offer(
        "PoissonRegressor",
        ("lam", "no_intercept", *_ITERATED),
        quantity=True,
        least=0.0,
        called={"lam": "alpha"},
        work=lambda size: 8.0 * size.scatter,
    ),
    "poly": Offer(
        "PolynomialRegression",
        ("lam", "degree", "interactions"),
        quantity=True,
        work=_polynomial_work,
    ),
    "stump": Offer(
        "DecisionStump",
        ("class_weight",),
        work=lambda size: size.entries * math.log2(2 + size.rows),
    ),
    "sgd": Offer(
        "SGDClassifier",
        (
            *(*_PENALISED, "no_intercept", "schedule", "eta0", "kappa", "batch_size", "average"),
            *("early_stopping", "step_tol"),
        ),
        ("log", "hinge", "squared_hinge", "perceptron"),
        compared=None,
    ),
}


def compared(*, quantity: bool) -> tuple[str, ...]:
    """The models that take part in a comparison where none are named."""
    return tuple(
        name
        for name, offer in OFFERS.items()
        if offer.compared is not None and (offer.of_classes or offer.quantity == quantity)
    )
