"""``separatrix fit``: a table in, a model file with its certificate out."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import Output
from separatrix.cli.overwriting import refuse_to_overwrite_inputs, refuse_to_overwrite_others

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix fit reviews.parquet --target label --model svm --loss hinge -C 10
separatrix fit table.csv --target income --model kernel-svm --kernel rbf --gamma scale -C 10
separatrix fit table.csv --target churned --kind zip=category --ignore customer_id
separatrix fit iris --json > run.json
"""

_LOSSES = ("log", "squared_hinge", "hinge")
_KERNELS = ("rbf", "linear", "poly", "sigmoid")
# Options of the kernel machine alone, and the numbers that its kernels have.
_OF_KERNELS = (
    "kernel", "gamma", "degree", "coef0", "cache_mb", "approximation", "components",
)  # fmt: skip
_NUMBERS = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}


@options.command(
    "fit",
    summary="Fit a classifier to a table and save it, certified.",
    examples=_EXAMPLES,
)
@click.argument("data")
@click.option("--target", metavar="COL", help="The column to predict. [default: target]")
@click.option(
    "--model",
    type=click.Choice(["logistic", "svm", "kernel-svm", "perceptron"]),
    default="logistic",
    show_default=True,
    help="What to fit.",
)
@click.option(
    "--loss",
    type=click.Choice(_LOSSES),
    help="Of each row's margin. [default: log for logistic, hinge for svm]",
)
@click.option(
    "-C",
    "--C",
    "C",
    type=options.POSITIVE,
    help="Weight of the losses; inf for the hard margin of svm and kernel-svm. [default: 1]",
)
@click.option(
    "--lam", type=options.FINITE_POSITIVE, help="Weight of the penalty; C = 1 / (lam * rows)."
)
@click.option("--penalty", type=click.Choice(["l2", "none"]), help="On the weights. [default: l2]")
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Give every class the same total weight.",
)
@click.option("--no-intercept", is_flag=True, help="A boundary through the origin.")
@click.option(
    "--multiclass",
    type=click.Choice(["multinomial", "ovr"]),
    help="Three or more classes as one problem, or one against the rest.",
)
@click.option("--kernel", type=click.Choice(_KERNELS), help="Of kernel-svm. [default: rbf]")
@click.option(
    "--gamma",
    type=options.GAMMA,
    metavar="scale|auto|NUMBER",
    help="Of the kernels rbf, poly and sigmoid. [default: scale, 1 / (features * variance)]",
)
@click.option("--degree", type=options.COUNT, help="Of the kernel poly. [default: 3]")
@click.option("--coef0", type=options.FINITE, help="Of the kernels poly and sigmoid. [default: 0]")
@click.option(
    "--cache-mb",
    type=options.FINITE_POSITIVE,
    help="Memory for the kernel's matrix, in megabytes. [default: 1000]",
)
@click.option(
    "--approximation",
    type=click.Choice(["nystroem", "fourier"]),
    help="Of the kernel, for many rows: by landmarks, or for rbf by random waves.",
)
@click.option("--components", type=options.COUNT, help="Of the approximation. [default: 1000]")
@click.option(
    "--calibrate",
    type=click.Choice(["sigmoid", "isotonic"]),
    help="Fit probabilities to the scores of svm, kernel-svm or perceptron, by cross-fitting.",
)
@click.option(
    "--tol", type=options.FINITE_POSITIVE, help="Certified relative gap to reach. [default: 1e-6]"
)
@click.option("--max-iter", type=options.COUNT, help="Stop after this many iterations.")
@click.option("--time-limit", type=options.POSITIVE, help="Stop after this many seconds.")
@click.option(
    "--seed", type=options.SEED, default=0, show_default=True, help="Of the split and the fit."
)
@click.option(
    "--test-size",
    type=options.FRACTION,
    default=0.2,
    show_default=True,
    help="Share of the rows to hold out; 0 fits them all.",
)
@click.option("--ignore", multiple=True, metavar="COL", help="Leave a column out; can be repeated.")
@options.kinds
@options.missing
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The model file. [default: DATA's name with .separatrix, in this folder]",
)
@options.json_and_quiet
def fit(as_json: bool, quiet: bool, **config: Any) -> int:
    """Fit a classifier to the table DATA and save it with its certificate.

    Columns are typed by themselves (number, category, text) and encoded; part of the rows is held
    out to measure the accuracy; the fit stops when it is proved to be within --tol of the best
    possible. Ctrl-C saves the best model so far.

    The exit code is 4 when the fit stopped above --tol, or when a perceptron found no pass without
    a mistake; the model is saved all the same. An existing FILE is replaced only if it is a model.
    """
    _check_usage(config)
    refuse_to_overwrite_inputs(config["output"], data=config["data"])
    refuse_to_overwrite_others(config["output"], models=True)
    out = Output("fit", as_json=as_json, quiet=quiet)

    # After the checks, because these take a second to import.
    from separatrix.cli.fitting import fit_table

    with out.telling_warnings():
        return fit_table(out, config)


def _check_usage(config: dict[str, Any]) -> None:
    """Refuse what cannot be meant, and fill in what follows from the rest."""
    model = config["model"]
    if config["C"] is not None and config["lam"] is not None:
        raise click.UsageError("--C and --lam set the same thing: give one of them")
    if model == "perceptron":
        names = ("loss", "C", "lam", "penalty", "multiclass", "tol")
        for name in names:
            if config[name] is not None:
                raise click.UsageError(f"the perceptron has no --{name}")
    _check_kernel(config)
    if model == "logistic" and config["calibrate"] is not None:
        raise click.UsageError("--model logistic has probabilities without --calibrate")
    if model == "kernel-svm" and config["loss"] not in (None, "hinge"):
        raise click.UsageError(f"--model kernel-svm has the loss hinge, not {config['loss']}")
    if config["loss"] is not None and (config["loss"] == "log") != (model == "logistic"):
        fitting = "log" if model == "logistic" else "squared_hinge or hinge"
        raise click.UsageError(f"--model {model} has the loss {fitting}, not {config['loss']}")
    if model == "svm" and config["loss"] is None:
        config["loss"] = "hinge"
    if model == "svm" and config["multiclass"] == "multinomial":
        raise click.UsageError("--multiclass multinomial is for --model logistic")
    if model in ("svm", "kernel-svm") and config["penalty"] == "none":
        raise click.UsageError("the support vector machine has a penalty: --penalty l2")
    settle_columns(config)
    if config["output"] is None:
        config["output"] = _default_output(config["data"])


def _check_kernel(config: dict[str, Any]) -> None:
    """Refuse options of kernels where there is none, or another."""
    if config["model"] != "kernel-svm":
        for name in _OF_KERNELS:
            if config[name] is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} is for --model kernel-svm")
        return
    if config["no_intercept"]:
        raise click.UsageError("--model kernel-svm always has an intercept")
    if config["multiclass"] is not None:
        raise click.UsageError("--model kernel-svm takes three or more classes in pairs")
    kernel = config["kernel"] or "rbf"
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


def settle_columns(config: dict[str, Any]) -> None:
    """Refuse options about columns that contradict each other; bring the others into one form."""
    if config["target"] in config["ignore"]:
        raise click.UsageError("--ignore leaves out the column that --target names")
    if config["target"] is None and "target" in config["ignore"]:
        raise click.UsageError(
            "--ignore leaves out the column 'target', which is predicted where --target names no "
            "other"
        )
    kinds: dict[str, str] = {}
    for column, kind in config["kinds"]:
        if kinds.setdefault(column, kind) != kind:
            raise click.UsageError(f"--kind gives two kinds to the column {column!r}")
    if kinds.get(config["target"] or "target") == "ignore":
        raise click.UsageError("--kind leaves out the column to predict")
    config["kinds"] = kinds
    config["ignore"] = list(config["ignore"])
    config["missing"] = list(config["missing"]) or None


def _default_output(data: str) -> str:
    if data in ("", "-") or any(c in data for c in "*?["):
        return "model.separatrix"
    return f"{PurePath(data).stem}.separatrix"
