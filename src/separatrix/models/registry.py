"""The estimators by their names, each loaded at its first use, and the models of commands.

Imports nothing that takes long, so that a mistyped option answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import separatrix

__all__ = ["ESTIMATORS", "OFFERS", "Offer", "compared", "estimator", "stated"]

#: The closed list of what a model file can name.
ESTIMATORS = separatrix._ESTIMATORS


def estimator(name: str) -> Any:
    """The class of a name on the list."""
    if name not in ESTIMATORS:
        raise KeyError(name)
    return getattr(separatrix, name)


def stated(model: Any, fact: str, otherwise: Any = None) -> Any:
    """What the class of the model's name states of itself; scikit-learn's classes have ours.

    Parameters
    ----------
    model : estimator
        Of this library or of scikit-learn.
    fact : str
        The name of an attribute of the class; what a parent class states does not hold for its
        children.
    otherwise : object
        The value where the class states nothing.
    """
    name = type(model).__name__
    return vars(estimator(name)).get(fact, otherwise) if name in ESTIMATORS else otherwise


# --- the models that commands and comparisons name ---------------------------------------------

_NONE: Mapping[str, Any] = MappingProxyType({})


class Offer(NamedTuple):
    """A model under a short name: its estimator, and the options that are not for every model.

    Attributes
    ----------
    estimator : str
    takes : tuple of str
        The options of the command line that the model takes.
    losses : tuple of str
        The losses to choose among.
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
    """

    estimator: str
    takes: tuple[str, ...]
    losses: tuple[str, ...] = ()
    quantity: bool = False
    least: float = -math.inf
    of_classes: str = ""
    called: Mapping[str, str] = _NONE
    defaults: Mapping[str, Any] = _NONE
    compared: Mapping[str, Any] | None = _NONE


_ITERATED = ("tol", "max_iter", "time_limit")
_PENALISED = ("C", "lam", "loss", "penalty", "class_weight", *_ITERATED)
_GAUSSIAN = ("priors", "covariance", "shrinkage")

#: The models; the first one is the default for classes.
OFFERS = {
    "logistic": Offer(
        "LogisticRegression",
        (*_PENALISED, "l1_ratio", "no_intercept", "multiclass"),
        ("log",),
    ),
    "svm": Offer(
        "LinearSVC",
        (*_PENALISED, "l1_ratio", "no_intercept", "multiclass", "calibrate"),
        ("squared_hinge", "hinge"),
        defaults={"loss": "hinge"},
    ),
    "kernel-svm": Offer(
        "SVC",
        (
            *(*_PENALISED, "calibrate", "kernel", "gamma", "degree", "coef0", "cache_mb"),
            *("approximation", "components"),
        ),
        ("hinge",),
        called={"components": "n_components"},
    ),
    "lda": Offer("LinearDiscriminantAnalysis", _GAUSSIAN, defaults={"shrinkage": "auto"}),
    "qda": Offer("QuadraticDiscriminantAnalysis", _GAUSSIAN, defaults={"shrinkage": "auto"}),
    "lstsq": Offer(
        "LinearRegression",
        ("lam", "no_intercept", "class_weight"),
        of_classes="LeastSquaresClassifier",
    ),
    "perceptron": Offer(
        "Perceptron",
        ("class_weight", "no_intercept", "calibrate", "max_iter", "time_limit"),
        called={"max_iter": "max_passes"},
        compared={"max_iter": 100},
    ),
    "huber": Offer("HuberRegressor", ("lam", "no_intercept", *_ITERATED), quantity=True),
    "poisson": Offer(
        "PoissonRegressor",
        ("lam", "no_intercept", *_ITERATED),
        quantity=True,
        least=0.0,
        called={"lam": "alpha"},
    ),
    "poly": Offer("PolynomialRegression", ("lam", "degree", "interactions"), quantity=True),
    "stump": Offer("DecisionStump", ("class_weight",)),
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
