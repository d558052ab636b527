"""``separatrix fit``: a table in, a model file with its certificate out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.commands.fit import models
from separatrix.cli.commands.fit.models import MODELS, ModelOptions
from separatrix.cli.commands.report import check_report

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix fit reviews.parquet --target label --model svm --loss hinge -C 10
separatrix fit table.csv --target income --model kernel-svm --kernel rbf --gamma scale -C 10
separatrix fit table.csv --target income --report income.html
separatrix fit table.csv --target price --model poly --degree 3
separatrix fit table.csv --target churned --kind zip=category --ignore customer_id
separatrix fit iris --json > run.json
separatrix fit 'clicks/*.parquet' --target click --memory 1GB -o clicks.separatrix
"""

# How the help groups the options.
_BASIC = "What to predict, and how"
_DECIDE = "Which of two classes matters"
_SEVERAL = "Options of several models"
_STOP = "When to stop"
_LARGE = "Larger than memory"
_basic = partial(options.option, group=_BASIC)
_decide = partial(options.option, group=_DECIDE)
_several = partial(options.option, group=_SEVERAL)
_of_kernels = partial(options.option, group="Options of kernel-svm")
_of_gaussians = partial(options.option, group="Options of lda and qda")
_of_curves = partial(options.option, group="Options of poly")
_of_sgd = partial(options.option, group="Options of sgd")
_stop = partial(options.option, group=_STOP)
_large = partial(options.option, group=_LARGE)
_table = partial(options.option, group=ModelOptions.last_group)


def _check_goal(context: click.Context, param: click.Parameter, given: str | None) -> str | None:
    if given is not None:
        from separatrix.assessment.decision import goal_of

        try:
            goal_of(given)
        except ValueError as error:
            raise click.BadParameter(str(error), context, param) from error
    return given


@dataclass(frozen=True, kw_only=True)
class FitOptions(ModelOptions):
    """The options of ``separatrix fit``."""

    target: str | None = options.target("The column to predict. [default: target]", group=_BASIC)
    model: str | None = _basic(
        "The model to fit. [default: logistic for classes, lstsq for a quantity]", MODELS
    )
    output: str = options.output(
        "The model file. [default: DATA's name with .separatrix, in this folder]", group=_BASIC
    )
    report: str | None = _basic(
        "Also write a report: one HTML page that needs no network, and its numbers as JSON.",
        metavar="FILE",
    )
    positive: str | None = _decide(
        "The positive class of precision, thresholds and curves. [default: the rarer class]",
        metavar="CLASS",
    )
    threshold: float | None = options.threshold(group=_DECIDE)
    optimise: str | None = _decide(
        "Choose the threshold on the held-out rows, for the best F1, the best balanced accuracy "
        "or the lowest cost; with cost=5:1 a miss costs five times as much as a false alarm.",
        metavar="f1|balanced|cost=MISS:ALARM",
        callback=_check_goal,
    )
    loss: str | None = models.loss(group=_SEVERAL)
    C: float | None = _several(
        "The weight of the losses; inf is the hard margin of svm and kernel-svm. [default: 1]",
        options.POSITIVE,
        flags=("-C", "--C"),
    )
    lam: float | None = _several(
        "The weight of the penalty; C = 1 / (lam * rows). [default: from C; lstsq and poly have "
        "no penalty]",
        options.FINITE_POSITIVE,
    )
    penalty: str | None = _several(
        "The penalty on the weights of logistic, svm and sgd; l1 and elasticnet (logistic and svm "
        "only) make many weights exactly zero. [default: l2]",
        ("l2", "l1", "elasticnet", "none"),
    )
    l1_ratio: float | None = models.l1_ratio(group=_SEVERAL)
    class_weight: str | None = models.class_weight(group=_SEVERAL)
    no_intercept: bool = _several(
        "Fit without an intercept: a boundary or plane through the origin.", bool
    )
    no_standardise: bool = _several(
        "Do not standardise numbers; the effect of a penalty, and the distances that a kernel "
        "sees, then depend on the units of the columns.",
        bool,
    )
    degree: int | None = _several(
        "The degree of --model poly (default: 2) or of the kernel poly (default: 3).",
        options.DEGREE,
    )
    multiclass: str | None = models.multiclass(group=_SEVERAL)
    calibrate: str | None = _several(
        "Fit probabilities to the scores of svm, kernel-svm or perceptron, by cross-fitting.",
        ("sigmoid", "isotonic"),
    )
    kernel: str | None = _of_kernels("The kernel. [default: rbf]", models.KERNELS)
    gamma: str | float | None = models.gamma(group="Options of kernel-svm")
    coef0: float | None = _of_kernels(
        "The constant term of the kernels poly and sigmoid. [default: 0]", options.FINITE
    )
    cache_mb: float | None = _of_kernels(
        "The cache of the kernel matrix, in megabytes. [default: 1000]", options.FINITE_POSITIVE
    )
    approximation: str | None = _of_kernels(
        "Approximate the kernel, for many rows: by landmarks (nystroem), or for rbf by random "
        "Fourier features.",
        ("nystroem", "fourier"),
    )
    components: int | None = _of_kernels(
        "The number of features of the approximation. [default: 1000]", options.COUNT
    )
    shrinkage: str | float | None = _of_gaussians(
        "The shrinkage of the covariances towards uncorrelated columns, from 0 to 1; auto "
        "estimates it (Ledoit and Wolf). Without shrinkage, a category that does not occur in "
        "some class makes the covariance of that class singular, and a floor is added. [default: "
        "auto]",
        options.SHRINKAGE,
        metavar="auto|none|NUMBER",
    )
    covariance: str | None = _of_gaussians(
        "The estimate of the covariances: maximum likelihood, or divided by the degrees of "
        "freedom. [default: mle]",
        ("mle", "unbiased"),
    )
    priors: str | None = _of_gaussians(
        "The prior probabilities of the classes: their shares of the rows, or all equal. "
        "[default: empirical]",
        ("empirical", "equal"),
    )
    interactions: bool = _of_curves(
        "Include products of columns. [default: powers of each column alone]", bool
    )
    schedule: str | None = _of_sgd(
        "The learning rate at steps k = 1, 2, ...: 1 / (lam (t0 + k)), eta0 / k, eta0 / k^kappa, "
        "or eta0. [default: optimal; without a penalty power; for the loss perceptron constant]",
        models.SCHEDULES,
    )
    eta0: float | None = _of_sgd(
        "The initial learning rate. [default: the best of a range, on a sample]",
        options.FINITE_POSITIVE,
    )
    kappa: float | None = _of_sgd(
        "The exponent of --schedule power. [default: 0.75]", options.KAPPA
    )
    batch_size: int | None = _of_sgd("The number of rows in each step. [default: 1]", options.COUNT)
    average: bool | None = _of_sgd(
        "Return the average of the weights over the steps, or the last weights. [default: the "
        "average; for the loss perceptron the last]",
        flags=("--average/--no-average",),
        default=None,
    )
    early_stopping: bool = _of_sgd("Stop when the score on held-out rows no longer improves.", bool)
    step_tol: float | None = _of_sgd(
        "Stop when a pass changes the weights by less than this fraction of their norm.",
        options.FINITE_POSITIVE,
    )
    tol: float | None = _stop(
        "The certified relative gap to reach. [default: 1e-6; sgd: 1e-3]", options.FINITE_POSITIVE
    )
    max_iter: int | None = models.max_iter(group=_STOP)
    time_limit: float | None = _stop("Stop after this many seconds.", options.POSITIVE)
    memory: str | None = options.memory_limit(group=_LARGE)
    cache: str | None = _large(
        "The folder of the encoded rows. [default: a temporary folder of the system]",
        metavar="DIR",
    )
    cache_limit: str | None = _large(
        "The limit of the size of --cache; rows beyond it are encoded again in every pass (0: all "
        "rows). [default: half of the free space on its disk]",
        options.LIMIT,
        metavar="SIZE",
    )
    resume: bool = _large(
        "Continue a fit that ended early, from its last complete pass. A fit that ended while rows "
        "were encoded encodes the others.",
        bool,
    )
    engine: str | None = options.engine(group=_LARGE)
    scheduler: str | None = options.scheduler(group=_LARGE)
    seed: int = _table(
        "The seed of the split and of the fit.", options.SEED, default=0, show_default=True
    )
    test_size: float = _table(
        "The fraction of the rows to hold out; 0 fits all rows.",
        options.FRACTION,
        default=0.2,
        show_default=True,
    )

    test: str | None = _table(
        "A table to measure on; all rows of DATA are then fitted.", metavar="FILE"
    )
    group: str | None = models.group(group=ModelOptions.last_group)
    time: str | None = _table(
        "A column of dates or numbers by which the latest rows are held out.", metavar="COL"
    )
    weight: str | None = models.weight(group=ModelOptions.last_group)

    def record(self) -> dict[str, Any]:
        """The options by name, for the model file, without what is no part of what is fitted."""
        apart = ("report", "cache", "cache_limit", "resume", "engine", "scheduler")
        return {name: value for name, value in super().record().items() if name not in apart}


@options.command(
    "fit", FitOptions, summary="Fit a model to a table and save it, certified.", examples=_EXAMPLES
)
def fit(given: FitOptions) -> FitOptions:
    """Fit a model to the table DATA and save it with its certificate.

    Each column is recognised as numbers, categories or text, and encoded. Some rows are held out to
    measure how well the model predicts. The fit stops when it is proved to be within --tol of the
    best possible; closed forms (lda, qda, lstsq, poly) prove that their equations hold. Ctrl-C
    saves the best model so far; a closed form has no model before it is done.

    A target of more than 10 distinct numbers is a quantity if the numbers have fractions, if hardly
    any of them occurs twice, or if there are more than 50 and the rarest is in fewer than 10 rows;
    any other target is classes. --kind COL=number and --kind COL=category override that.

    With a penalty, numbers are standardised unless --no-standardise is given. lda, qda and
    unpenalised fits (whose coefficients separatrix summary reads) see numbers in the units of the
    table, and compare the levels of a category with its most frequent one.

    A table that would take more than --memory is read in passes over row blocks, which are encoded
    once and kept in --cache; objective and certificate are the same. --resume continues a fit from
    its last complete pass, whatever ended it, and encoding from the row groups that are encoded.

    The exit code is 4 when the fit stopped above --tol, or when a perceptron had mistakes left in
    every pass; the model is saved all the same. An existing FILE is replaced only if it is a model.
    """
    given.check_model()
    given.check_columns()
    if given.test is not None and (given.time or given.group):
        other = "--time" if given.time else "--group"
        raise click.UsageError(
            f"--test and {other} both choose the rows to measure on: give one of them"
        )
    if given.time is not None and given.group is not None:
        raise click.UsageError("--time and --group choose the rows to hold out: give one of them")
    if given.threshold is not None and given.optimise is not None:
        raise click.UsageError(
            "--threshold and --optimise both set the threshold: give one of them"
        )
    if given.optimise is not None and given.test_size == 0 and given.test is None:
        raise click.UsageError("--optimise needs held-out rows, and --test-size 0 holds out none")
    options.require_scheduler(given.engine, given.scheduler)
    output = _default_output(given.data) if given.output is None else given.output
    for data in filter(None, (given.data, given.test)):
        options.refuse_to_overwrite_inputs(output, data=data)
    options.refuse_to_overwrite_others(output)
    if given.report is not None:
        check_report(given.report, data=given.data, model=output, option="--report")
    if given.test is not None:
        given = replace(given, test_size=0.0)
    return replace(given, output=output)


def _default_output(data: str) -> str:
    if data in ("", "-") or any(c in data for c in "*?["):
        return "model.separatrix"
    return f"{PurePath(data).stem}.separatrix"
