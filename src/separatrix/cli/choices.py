"""The models that ``fit`` offers: which options each takes, and what it predicts.

Imports nothing but click, so that a mistyped option answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import click

_ITERATED = ("tol", "max_iter", "time_limit")
_PENALISED = ("C", "lam", "loss", "penalty", "class_weight", *_ITERATED)
# The penalties whose weights may be exactly zero.
_SPARSE = ("l1", "elasticnet")
_GAUSSIAN = ("priors", "covariance", "shrinkage")

# The options that are not for every model. The first model is the default for classes.
TAKES: dict[str, tuple[str, ...]] = {
    "logistic": (*_PENALISED, "l1_ratio", "no_intercept", "multiclass"),
    "svm": (*_PENALISED, "l1_ratio", "no_intercept", "multiclass", "calibrate"),
    "kernel-svm": (
        *_PENALISED, "calibrate", "kernel", "gamma", "degree", "coef0", "cache_mb",
        "approximation", "components",
    ),
    "perceptron": ("class_weight", "no_intercept", "calibrate", "max_iter", "time_limit"),
    "lda": _GAUSSIAN,
    "qda": _GAUSSIAN,
    "lstsq": ("lam", "no_intercept", "class_weight"),
    "poly": ("lam", "degree", "interactions"),
    "sgd": (
        *_PENALISED, "no_intercept", "schedule", "eta0", "kappa", "batch_size", "average",
        "early_stopping", "step_tol",
    ),
}  # fmt: skip
MODELS = tuple(TAKES)
_LIMITED = tuple(dict.fromkeys(name for names in TAKES.values() for name in names))

# False when they are not given.
_FLAGS = ("no_intercept", "interactions", "early_stopping")

# Of the loss ``fit`` may be told, where there is a choice at all.
_LOSSES = {
    "logistic": ("log",),
    "svm": ("squared_hinge", "hinge"),
    "kernel-svm": ("hinge",),
    "sgd": ("log", "hinge", "squared_hinge", "perceptron"),
}
LOSSES = _LOSSES["sgd"]
SCHEDULES = ("optimal", "inverse", "power", "constant")

# The numbers that the kernels have.
_NUMBERS = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
KERNELS = ("rbf", "linear", "poly", "sigmoid")


def penalised(config: dict[str, Any]) -> bool:
    """Whether the weights of the model that the options describe have a penalty."""
    model = config["model"]
    if model in ("lstsq", "poly"):
        return config["lam"] is not None
    if model in ("lda", "qda", "perceptron"):
        return False
    if model == "sgd" and config["loss"] == "perceptron":
        return False
    return config["penalty"] != "none" and config["C"] != math.inf


def own_units(config: dict[str, Any]) -> bool:
    """Whether a model sees numbers in the units of their columns.

    A penalty means something only once numbers are standardised, and iterations go faster then. A
    closed form does not care, nor does an unpenalised optimum: their coefficients are of use to
    those who read them in the units of the table, and are determined once every category has a
    level that the others are compared with.
    """
    if config["model"] in ("lda", "qda"):
        return True
    return config["model"] in ("lstsq", "poly", "logistic") and not penalised(config)


def check_model_options(config: dict[str, Any]) -> None:
    """Refuse options that the model does not have, and those that contradict each other."""
    model = config["model"] or MODELS[0]
    if config["C"] is not None and config["lam"] is not None:
        raise click.UsageError("--C and --lam set the same thing: give one of them")
    _check_kernel(model, config)
    if model == "logistic" and config["calibrate"] is not None:
        raise click.UsageError("--model logistic has probabilities without --calibrate")
    for name in _LIMITED:
        given = config[name] if name in _FLAGS else config[name] is not None
        if given and name not in TAKES[model]:
            raise click.UsageError(_not_for(name, config["model"]))
    losses = _LOSSES.get(model, ())
    if config["loss"] is not None and config["loss"] not in losses:
        raise click.UsageError(
            f"--model {model} has the loss {_either(losses)}, not {config['loss']}"
        )
    if model == "svm" and config["multiclass"] == "multinomial":
        raise click.UsageError("--multiclass multinomial is for --model logistic")
    if model in ("svm", "kernel-svm") and config["penalty"] == "none":
        raise click.UsageError("the support vector machine has a penalty: --penalty l2")
    if config["penalty"] in _SPARSE and "l1_ratio" not in TAKES[model]:
        raise click.UsageError(f"--penalty {config['penalty']} is for --model logistic or svm")
    if (config["penalty"] == "elasticnet") != (config["l1_ratio"] is not None):
        raise click.UsageError("--penalty elasticnet and --l1-ratio go together")
    if sparse(config) and config["C"] == math.inf:
        raise click.UsageError(
            f"--penalty {config['penalty']} and --C inf, which is no penalty, contradict each other"
        )
    if sparse(config) and model == "svm" and config["loss"] == "hinge":
        raise click.UsageError(
            f"--penalty {config['penalty']} is for --loss squared_hinge, not for hinge"
        )
    if model == "sgd":
        _check_sgd(config)


def sparse(config: dict[str, Any]) -> bool:
    """Whether the penalty is one that sets weights to exactly zero."""
    return config["penalty"] in _SPARSE


def default_schedule(config: dict[str, Any]) -> str:
    """The rates of stochastic gradients where the options name none."""
    if penalised(config):
        return "optimal"
    # The perceptron's updates are of one size.
    return "constant" if config["loss"] == "perceptron" else "power"


def _check_sgd(config: dict[str, Any]) -> None:
    strength = next((f"--{name}" for name in ("C", "lam") if config[name] is not None), None)
    if config["loss"] == "perceptron" and (strength or config["penalty"] == "l2"):
        raise click.UsageError(
            f"--loss perceptron has no penalty, whose best weights would be zero: leave "
            f"{strength or '--penalty l2'} out"
        )
    if config["schedule"] == "optimal" and not penalised(config):
        raise click.UsageError(
            "--schedule optimal follows from the penalty, and there is none: choose "
            f"{_either(SCHEDULES[1:])}"
        )
    if config["kappa"] is not None and (config["schedule"] or default_schedule(config)) != "power":
        raise click.UsageError("--kappa is for --schedule power")


def _not_for(name: str, model: str | None) -> str:
    """The sentence about an option that a model does not have."""
    takers = [other for other, names in TAKES.items() if name in names]
    told = f"--{name.replace('_', '-')} is for --model {_either(takers)}"
    return told if model is None else f"{told}, not {model}"


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _check_kernel(model: str, config: dict[str, Any]) -> None:
    """Refuse options of another kernel, and what a kernel machine always does."""
    if model != "kernel-svm":
        return
    if config["no_intercept"]:
        raise click.UsageError("--model kernel-svm always has an intercept")
    if config["multiclass"] is not None:
        raise click.UsageError("--model kernel-svm takes three or more classes in pairs")
    kernel = config["kernel"] or KERNELS[0]
    for name in ("gamma", "degree", "coef0"):
        if config[name] is not None and name not in _NUMBERS[kernel]:
            raise click.UsageError(f"--kernel {kernel} has no --{name}")
    approximation = config["approximation"]
    if approximation is None:
        if config["components"] is not None:
            raise click.UsageError("--components is for --approximation")
        return
    if config["cache_mb"] is not None:
        raise click.UsageError("--approximation computes no matrix that --cache-mb could be for")
    if approximation == "fourier" and kernel != "rbf":
        raise click.UsageError(f"--approximation fourier is for --kernel rbf, not {kernel}")
    if kernel == "sigmoid" or (kernel == "poly" and (config["coef0"] or 0.0) < 0.0):
        raise click.UsageError(
            "--approximation is for kernels that are scalar products, and --kernel "
            + ("sigmoid is none" if kernel == "sigmoid" else "poly with --coef0 below 0 is none")
        )
