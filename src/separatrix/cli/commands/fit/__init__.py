"""``separatrix fit``: a table in, a model file with its certificate out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, ClassVar

import click

from separatrix.cli import options
from separatrix.cli.commands.fit.models import ModelOptions
from separatrix.cli.commands.fit.terms import with_terms
from separatrix.cli.commands.report import check_report
from separatrix.cli.options import option

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix fit reviews.parquet --target label --model svm --loss hinge -C 10
separatrix fit table.csv --target income --model kernel-svm --kernel rbf --gamma scale -C 10
separatrix fit table.csv --target income --report income.html
separatrix fit table.csv --target price --model poly --degree 3 --plot price.png
separatrix fit table.csv --target churned --kind zip=category --ignore customer_id
separatrix fit table.csv --target churned --log amount --spline age:4 --interact age:sex
separatrix fit table.csv --formula 'churned ~ log(amount) + spline(age, 4) + age:sex'
separatrix fit points.csv --target y --model perceptron --no-standardise --plot steps.gif
separatrix fit iris --json > run.json
separatrix fit 'clicks/*.parquet' --target click --memory 1GB -o clicks.separatrix
"""

_PICTURES = (".png", ".svg", ".pdf")
# The ending of a picture that moves.
_STEPS = ".gif"


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

    sections: ClassVar[Mapping[str, str]] = {
        "What to predict, and how": "target model output report plot record",
        "Which of two classes matters": "positive threshold optimise",
        "Options of several models": "loss C lam penalty l1_ratio class_weight no_intercept "
        "no_standardise degree multiclass calibrate",
        "Options of kernel-svm": "kernel gamma coef0 cache_mb approximation components",
        "Options of lda and qda": "shrinkage covariance priors",
        "Options of perceptron": "order learning_rate margin start",
        "Options of poly": "interactions",
        "Options of sgd": "schedule eta0 kappa batch_size average early_stopping step_tol",
        "When to stop": "tol max_iter time_limit",
        "Larger than memory": "memory cache cache_limit resume engine scheduler",
        ModelOptions.last_group: "seed test_size test group time weight",
    }

    output: str = options.output(
        "The model file. [default: DATA's name with .separatrix, in this folder]"
    )
    report: str | None = option(
        "Also write a report: one HTML page that needs no network, and its numbers as JSON.",
        metavar="FILE",
    )
    plot: str | None = option(
        "Also draw the rows and what the model says of them, as .png, .svg or .pdf; or the "
        "corrections of a perceptron one after another, as .gif.",
        metavar="FILE",
    )
    positive: str | None = option(
        "The positive class of precision, thresholds and curves. [default: the rarer class]",
        metavar="CLASS",
    )
    threshold: float | None = options.threshold()
    optimise: str | None = option(
        "Choose the threshold on the held-out rows, for the best F1, the best balanced accuracy "
        "or the lowest cost; with cost=5:1 a miss costs five times as much as a false alarm.",
        metavar="f1|balanced|cost=MISS:ALARM",
        callback=_check_goal,
    )
    resume: bool = option(
        "Continue a fit that ended early, from its last complete pass. A fit that ended while rows "
        "were encoded encodes the others.",
        bool,
    )
    engine: str | None = options.engine()
    scheduler: str | None = options.scheduler()
    seed: int = option(
        "The seed of the split and of the fit.", options.SEED, default=0, show_default=True
    )
    test_size: float = option(
        "The fraction of the rows to hold out; 0 fits all rows.",
        options.FRACTION,
        default=0.2,
        show_default=True,
    )

    def to_dict(self) -> dict[str, Any]:
        """The options by name, for the model file, without those that are not part of the fit."""
        apart = ("report", "plot", "cache", "cache_limit", "resume", "engine", "scheduler")
        return {name: value for name, value in super().to_dict().items() if name not in apart}


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
    given = with_terms(given)
    given.check_model()
    given.check_columns()
    if given.test is not None and (given.time or given.group):
        other = "--time" if given.time else "--group"
        raise click.UsageError(
            f"--test and {other} both choose the rows to measure on: give one of them"
        )
    given.require_one_split()
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
    if given.plot is not None:
        given = _with_picture(given, output)
    if given.test is not None:
        given = replace(given, test_size=0.0)
    return replace(given, output=output)


def _with_picture(given: FitOptions, output: str) -> FitOptions:
    """Refuse a picture that cannot be drawn; one of steps needs a record of them."""
    plot = str(given.plot)
    tables = [data for data in (given.data, given.test) if data is not None]
    options.check_picture(plot, (*_PICTURES, _STEPS), data=tables, others=[output, given.report])
    if options.ending_of(plot) != _STEPS:
        return given
    if given.model != "perceptron":
        raise click.UsageError(
            f"--plot {plot} shows the corrections of --model perceptron, and other models have "
            f"none: end the name in {', '.join(_PICTURES[:-1])} or {_PICTURES[-1]}"
        )
    return replace(given, record=True)


def _default_output(data: str) -> str:
    if data in ("", "-") or any(c in data for c in "*?["):
        return "model.separatrix"
    return f"{PurePath(data).stem}.separatrix"
