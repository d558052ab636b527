"""Estimators from the options that describe them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import separatrix
from separatrix.cli.choices import default_schedule, penalised, sparse


def build_model(
    config: dict[str, Any],
    *,
    quantity: bool = False,
    n_classes: int | None = None,
    n_rows: int = 1,
) -> Any:
    """The estimator that the options describe; what is not given is left to the estimator.

    Parameters
    ----------
    config : dict
        The options, with the model settled.
    quantity : bool
        Whether the target is a quantity.
    n_classes : int, optional
        Of the target, once it is known.
    n_rows : int
        Of the part to fit, once it is known.
    """
    build: Callable[..., Any] = _BUILDERS[config["model"]]
    if config["model"] == "lstsq":
        return build(config, quantity)
    if config["model"] in ("lda", "qda"):
        return build(config, n_classes)
    if config["model"] == "sgd":
        return build(config, n_rows)
    return build(config)


def _given(config: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options of these names that were given, and those that iterative fits share."""
    given = {
        "fit_intercept": not config["no_intercept"],
        "class_weight": config["class_weight"],
        "random_state": config["seed"],
        "time_limit": config["time_limit"],
    }
    given |= {name: config[name] for name in names if config[name] is not None}
    if given.get("penalty") == "none":
        given["penalty"] = None
    return given


def _logistic(config: dict[str, Any]) -> Any:
    given = _given(config, "C", "lam", "tol", "multiclass", "max_iter", "penalty", "l1_ratio")
    return separatrix.LogisticRegression(**given)


def _svm(config: dict[str, Any]) -> Any:
    # Always one against the rest, and always with a penalty.
    return separatrix.LinearSVC(**_svm_given(config))


def _svm_given(config: dict[str, Any]) -> dict[str, Any]:
    given = _given(config, "C", "lam", "tol", "loss", "max_iter", "calibrate")
    if sparse(config):
        given |= _given(config, "penalty", "l1_ratio")
    given.setdefault("loss", "squared_hinge" if sparse(config) else "hinge")
    return given


def _kernel_svm(config: dict[str, Any]) -> Any:
    names = ("C", "lam", "tol", "max_iter", "calibrate", "kernel", "gamma", "degree", "coef0")
    given = _given(config, *names, "cache_mb", "approximation")
    del given["fit_intercept"]
    if config["components"] is not None:
        given["n_components"] = config["components"]
    return separatrix.SVC(**given)


def _perceptron(config: dict[str, Any]) -> Any:
    given = _given(config, "calibrate")
    if config["max_iter"] is not None:
        given["max_passes"] = config["max_iter"]
    return separatrix.Perceptron(**given)


def _gaussian(name: str) -> Callable[[dict[str, Any], int | None], Any]:
    def build(config: dict[str, Any], n_classes: int | None) -> Any:
        shrinkage = config["shrinkage"]
        given: dict[str, Any] = {
            "shrinkage": {None: "auto", "none": None}.get(shrinkage, shrinkage),
            "covariance": config["covariance"] or "mle",
        }
        if config["priors"] == "equal" and n_classes is not None:
            given["priors"] = [1.0 / n_classes] * n_classes
        return getattr(separatrix, name)(**given)

    return build


def _least_squares(config: dict[str, Any], quantity: bool) -> Any:
    given: dict[str, Any] = {
        "lam": config["lam"] or 0.0,
        "fit_intercept": not config["no_intercept"],
    }
    if quantity:
        return separatrix.LinearRegression(**given)
    return separatrix.LeastSquaresClassifier(**given, class_weight=config["class_weight"])


def _polynomial(config: dict[str, Any]) -> Any:
    return separatrix.PolynomialRegression(
        config["degree"] or 2, interactions=config["interactions"], lam=config["lam"] or 0.0
    )


# The names of the schedules in the library, and the exponents that they stand for.
_SCHEDULES = {
    "optimal": ("optimal", None),
    "inverse": ("invscaling", 1.0),
    "power": ("invscaling", None),
    "constant": ("constant", None),
}


def _sgd(config: dict[str, Any], n_rows: int) -> Any:
    given = _given(config, "tol", "max_iter", "eta0", "batch_size", "step_tol")
    loss = config["loss"] or "log"
    given |= {
        "loss": "log_loss" if loss == "log" else loss,
        "early_stopping": config["early_stopping"],
    }
    # The perceptron's updates are of one size, and the last of them makes no mistake.
    plain = loss == "perceptron"
    if config["average"] is False or (plain and config["average"] is None):
        given["average"] = False
    if plain:
        given.setdefault("eta0", 1.0)
    if not penalised(config):
        given["penalty"] = None
    elif config["lam"] is not None:
        given["alpha"] = config["lam"]
    else:
        # The same objective as that of the other models.
        given["alpha"] = 1.0 / ((config["C"] or 1.0) * n_rows)
    schedule = config["schedule"] or default_schedule(config)
    given["learning_rate"], exponent = _SCHEDULES[schedule]
    if exponent is not None or config["kappa"] is not None:
        given["power_t"] = exponent or config["kappa"]
    return separatrix.SGDClassifier(**given)


_BUILDERS: dict[str, Callable[..., Any]] = {
    "logistic": _logistic,
    "svm": _svm,
    "kernel-svm": _kernel_svm,
    "perceptron": _perceptron,
    "lda": _gaussian("LinearDiscriminantAnalysis"),
    "qda": _gaussian("QuadraticDiscriminantAnalysis"),
    "lstsq": _least_squares,
    "poly": _polynomial,
    "sgd": _sgd,
}
