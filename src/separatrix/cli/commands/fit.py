"""``separatrix fit``: a table in, a model file with its certificate out."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.choices import KERNELS, MODELS, SCHEDULES, check_model_options
from separatrix.cli.output import Output
from separatrix.cli.overwriting import (
    check_report,
    refuse_to_overwrite_inputs,
    refuse_to_overwrite_others,
)

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix fit reviews.parquet --target label --model svm --loss hinge -C 10
separatrix fit table.csv --target income --model kernel-svm --kernel rbf --gamma scale -C 10
separatrix fit table.csv --target income --report income.html
separatrix fit table.csv --target price --model poly --degree 3
separatrix fit table.csv --target churned --kind zip=category --ignore customer_id
separatrix fit iris --json > run.json
"""

# How the help groups the options.
_BASIC = "What to predict, and how"
_SEVERAL = "Options of several models"
_KERNELS = "Options of kernel-svm"
_GAUSSIAN = "Options of lda and qda"
_CURVES = "Options of poly"
_SGD = "Options of sgd"
_STOP = "When to stop"
_TABLE = "The table and its rows"


@options.command(
    "fit",
    summary="Fit a model to a table and save it, certified.",
    examples=_EXAMPLES,
)
@click.argument("data")
@options.option(
    "--target", group=_BASIC, metavar="COL", help="The column to predict. [default: target]"
)
@options.option(
    "--model",
    group=_BASIC,
    type=click.Choice(MODELS),
    help="What to fit. [default: logistic for classes, lstsq for a quantity]",
)
@options.option(
    "-o",
    "--output",
    group=_BASIC,
    metavar="FILE",
    help="The model file. [default: DATA's name with .separatrix, in this folder]",
)
@options.option(
    "--report",
    group=_BASIC,
    metavar="FILE",
    help="Write a report too: one HTML page that needs no network, and its numbers as JSON.",
)
@partial(options.loss, group=_SEVERAL)
@options.option(
    "-C",
    "--C",
    "C",
    group=_SEVERAL,
    type=options.POSITIVE,
    help="Weight of the losses; inf for the hard margin of svm and kernel-svm. [default: 1]",
)
@options.option(
    "--lam",
    group=_SEVERAL,
    type=options.FINITE_POSITIVE,
    help="Weight of the penalty; C = 1 / (lam * rows). lstsq and poly have none by default. "
    "[default: from C]",
)
@options.option(
    "--penalty",
    group=_SEVERAL,
    type=click.Choice(["l2", "l1", "elasticnet", "none"]),
    help="On the weights of logistic, svm and sgd; l1 and elasticnet, for logistic and svm, make "
    "many of them exactly zero. [default: l2]",
)
@partial(options.l1_ratio, group=_SEVERAL)
@partial(options.class_weight, group=_SEVERAL)
@options.option(
    "--no-intercept", group=_SEVERAL, is_flag=True, help="A boundary or plane through the origin."
)
@options.option(
    "--degree",
    group=_SEVERAL,
    type=options.DEGREE,
    help="Of the powers of --model poly (default: 2), or of the kernel poly (default: 3).",
)
@partial(options.multiclass, group=_SEVERAL)
@options.option(
    "--calibrate",
    group=_SEVERAL,
    type=click.Choice(["sigmoid", "isotonic"]),
    help="Fit probabilities to the scores of svm, kernel-svm or perceptron, by cross-fitting.",
)
@options.option(
    "--kernel", group=_KERNELS, type=click.Choice(KERNELS), help="The kernel. [default: rbf]"
)
@partial(options.gamma, group=_KERNELS)
@options.option(
    "--coef0",
    group=_KERNELS,
    type=options.FINITE,
    help="Of the kernels poly and sigmoid. [default: 0]",
)
@options.option(
    "--cache-mb",
    group=_KERNELS,
    type=options.FINITE_POSITIVE,
    help="Memory for the kernel's matrix, in megabytes. [default: 1000]",
)
@options.option(
    "--approximation",
    group=_KERNELS,
    type=click.Choice(["nystroem", "fourier"]),
    help="Of the kernel, for many rows: by landmarks, or for rbf by random waves.",
)
@options.option(
    "--components",
    group=_KERNELS,
    type=options.COUNT,
    help="Of the approximation. [default: 1000]",
)
@options.option(
    "--shrinkage",
    group=_GAUSSIAN,
    type=options.SHRINKAGE,
    metavar="auto|none|NUMBER",
    help="How far covariances are drawn towards uncorrelated columns, from 0 to 1; auto estimates "
    "it (Ledoit and Wolf). A rare category may not occur in some class, and without shrinkage "
    "the covariance of that class is singular and gets a floor. [default: auto]",
)
@options.option(
    "--covariance",
    group=_GAUSSIAN,
    type=click.Choice(["mle", "unbiased"]),
    help="Maximum likelihood, or divided by the degrees of freedom. [default: mle]",
)
@options.option(
    "--priors",
    group=_GAUSSIAN,
    type=click.Choice(["empirical", "equal"]),
    help="Of the classes: their shares of the rows, or all the same. [default: empirical]",
)
@options.option(
    "--interactions",
    group=_CURVES,
    is_flag=True,
    help="Products of columns too. [default: powers of each column alone]",
)
@options.option(
    "--schedule",
    group=_SGD,
    type=click.Choice(SCHEDULES),
    help="Of the rates of the steps k = 1, 2, ...: 1 / (lam (t0 + k)), eta0 / k, eta0 / k^kappa, "
    "or eta0. [default: optimal; without a penalty power, for the loss perceptron constant]",
)
@options.option(
    "--eta0",
    group=_SGD,
    type=options.FINITE_POSITIVE,
    help="The first rate, about. [default: the best of a range, on a sample]",
)
@options.option(
    "--kappa",
    group=_SGD,
    type=options.KAPPA,
    help="The exponent of --schedule power. [default: 0.75]",
)
@options.option("--batch-size", group=_SGD, type=options.COUNT, help="Rows of a step. [default: 1]")
@options.option(
    "--average/--no-average",
    group=_SGD,
    default=None,
    help="Keep the average of the weights after every step, or the last. [default: the average, "
    "but for the loss perceptron]",
)
@options.option(
    "--early-stopping",
    group=_SGD,
    is_flag=True,
    help="Stop when the score on rows kept back gets no better.",
)
@options.option(
    "--step-tol",
    group=_SGD,
    type=options.FINITE_POSITIVE,
    help="Stop when a pass changes the weights by less than this share of their length.",
)
@options.option(
    "--tol",
    group=_STOP,
    type=options.FINITE_POSITIVE,
    help="Certified relative gap to reach. [default: 1e-6; sgd: 1e-3]",
)
@partial(options.max_iter, group=_STOP)
@options.option(
    "--time-limit", group=_STOP, type=options.POSITIVE, help="Stop after this many seconds."
)
@options.option(
    "--seed",
    group=_TABLE,
    type=options.SEED,
    default=0,
    show_default=True,
    help="Of the split and the fit.",
)
@options.option(
    "--test-size",
    group=_TABLE,
    type=options.FRACTION,
    default=0.2,
    show_default=True,
    help="Share of the rows to hold out; 0 fits them all.",
)
@partial(options.ignore, group=_TABLE)
@partial(options.kinds, group=_TABLE)
@partial(options.missing, group=_TABLE)
@options.common
def fit(as_json: bool, quiet: bool, **config: Any) -> int:
    """Fit a model to the table DATA and save it with its certificate.

    Columns are typed by themselves (number, category, text) and encoded; part of the rows is held
    out to measure how well it predicts; the fit stops when it is proved to be within --tol of the
    best possible, and closed forms (lda, qda, lstsq, poly) prove that their equations hold. Ctrl-C
    saves the best model so far; a closed form has none before it is done.

    A column of more than 10 distinct numbers is a quantity to predict where they have fractions,
    or hardly any comes twice, or there are more than 50 and the rarest is in fewer than 10 rows;
    other columns are classes. --kind COL=number and --kind COL=category overrule that.

    With a penalty numbers are standardised. lda, qda, and fits without a penalty whose
    coefficients are to be read (separatrix summary) see them in the units of the table, and
    compare the levels of a category with its most frequent one.

    The exit code is 4 when the fit stopped above --tol, or when a perceptron found no pass without
    a mistake; the model is saved all the same. An existing FILE is replaced only if it is a model.
    """
    check_model_options(config)
    settle_columns(config)
    if config["output"] is None:
        config["output"] = _default_output(config["data"])
    refuse_to_overwrite_inputs(config["output"], data=config["data"])
    refuse_to_overwrite_others(config["output"], models=True)
    # No part of what is fitted, so the model file does not know of it.
    report = config.pop("report")
    if report is not None:
        check_report(report, data=config["data"], model=config["output"], option="--report")
    out = Output("fit", as_json=as_json, quiet=quiet)

    # After the checks, because these take a second to import.
    from separatrix.cli.commands.fit_work import fit_table

    with out.telling_warnings():
        return fit_table(out, config, report)


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
