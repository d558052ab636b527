"""``separatrix path``: fits over a range of strengths, and the choice among them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.commands.fit import models
from separatrix.cli.commands.fit.models import ModelOptions

_EXAMPLES = """
separatrix path table.csv --target income --cv 5
separatrix path table.csv --target income --cv 5 -o income.separatrix --plot path.png
separatrix path reviews.parquet --target label --model svm --values 0.01,0.1,1,10 --cv 5
separatrix path table.csv --target income --penalty l1 --cv 5
separatrix path table.csv --target income --cv 10 --scoring roc_auc --json > path.json
"""

# The models that have a strength.
_MODELS = ("logistic", "svm", "kernel-svm", "sgd", "lda", "qda", "lstsq", "poly")
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
# How the help groups the options.
_BASIC = "What to predict, and how"
_MODEL = "The model"
_STOP = "When to stop"
_LARGE = "Larger than memory"
_basic = partial(options.option, group=_BASIC)
_of_model = partial(options.option, group=_MODEL)


def _parse_values(text: str) -> int | list[float]:
    """How many values, or the values themselves, separated by commas."""
    found = []
    with contextlib.suppress(ValueError):
        if text.strip().lstrip("+").isdecimal() and int(text) > 0:
            return int(text)
        found = [float(word) for word in text.split(",") if word.strip()]
    # One alone is a value where it could be no count: 0.5, or 1, with a comma behind it.
    if not found or ("," not in text and not ("." in text or "e" in text.lower())):
        raise ValueError(
            f"{text!r} is neither a number of values, from 1, nor a list of values separated by "
            "commas"
        )
    return found


@dataclass(frozen=True, kw_only=True)
class PathOptions(ModelOptions):
    """The options of ``separatrix path``."""

    target: str | None = options.target("The column to predict. [default: target]", group=_BASIC)
    model: str | None = _basic(
        "The model to fit. [default: logistic for classes, lstsq for a quantity]", _MODELS
    )
    values: int | Sequence[float] | None = _basic(
        "The number of values, or the values separated by commas. They are values of C; for sgd of "
        "alpha, for lda and qda of shrinkage, for lstsq and poly of lam. [default: 20 values over "
        "six powers of ten, from where the penalty dominates; for l1 over three powers, from where "
        "the first weight is not zero]",
        options.Parsed("values", _parse_values),
        flags=("--values", "--Cs"),
        metavar="N|LIST",
    )
    cv: int | None = _basic(
        "The number of folds of the cross-validation that chooses the best value. [default: no "
        "cross-validation]",
        options.FOLDS,
    )
    scoring: str | None = _basic(
        "The score to choose by, one of scikit-learn's scorers. [default: accuracy, or R^2]",
        metavar="NAME",
    )
    output: str | None = options.output(
        "Save the model at the best value, fitted to all rows.", group=_BASIC
    )
    plot: str | None = _basic(
        "Draw the scores or, without --cv, the weights, and save the picture.", metavar="FILE"
    )
    loss: str | None = models.loss(group=_MODEL)
    penalty: str | None = _of_model(
        "The penalty on the weights of logistic and svm; l1 and elasticnet make many weights "
        "exactly zero. [default: l2]",
        ("l2", "l1", "elasticnet"),
    )
    l1_ratio: float | None = models.l1_ratio(group=_MODEL)
    class_weight: str | None = models.class_weight(group=_MODEL)
    no_intercept: bool = _of_model("Fit without an intercept: a boundary through the origin.", bool)
    multiclass: str | None = models.multiclass(group=_MODEL)
    kernel: str | None = _of_model("The kernel of kernel-svm. [default: rbf]", models.KERNELS)
    gamma: str | float | None = models.gamma(group=_MODEL)
    degree: int | None = _of_model(
        "The degree of --model poly or of the kernel poly.", options.DEGREE
    )
    tol: float | None = options.option(
        "The certified relative gap to reach at every value and in every fold; closed forms do "
        "not use it. [default: 1e-4]",
        options.FINITE_POSITIVE,
        group=_STOP,
    )
    max_iter: int | None = models.max_iter(group=_STOP)
    time_limit: float | None = options.option(
        "Stop after this many seconds, and print the values that were reached.",
        options.POSITIVE,
        group=_STOP,
    )
    memory: str | None = options.memory_limit(group=_LARGE)
    cache: str | None = options.option(
        "The folder of the encoded rows. [default: a temporary folder of the system]",
        group=_LARGE,
        metavar="DIR",
    )
    group: str | None = models.group(group=ModelOptions.last_group)
    weight: str | None = models.weight(group=ModelOptions.last_group)
    seed: int = options.option(
        "The seed of the folds and of the fits.",
        options.SEED,
        group=ModelOptions.last_group,
        default=0,
        show_default=True,
    )

    def record(self) -> dict[str, Any]:
        """The options by name, for the model file, without what is no part of what is fitted."""
        return {name: value for name, value in super().record().items() if name != "cache"}


@options.command(
    "path",
    PathOptions,
    summary="Fit over a range of penalties, certified, and choose one.",
    examples=_EXAMPLES,
)
def path(given: PathOptions) -> PathOptions:
    """Fit a model to the table DATA over a range of strengths of its penalty.

    Each fit is warm-started by extrapolation from those before it, and is proved to be within --tol
    of the best possible. With --cv the fits to the folds are, too; the table then has the mean
    score on held-out rows and its standard error, and marks the best value and the strongest
    penalty within one standard error of it. All rows take part; equal rows are held out together.
    Where the best value is at the end of the default range, the range is extended once, by seven
    values that reach a hundred times further.

    The kinds of the columns and their encoding (means and spreads of numbers, levels, words of
    text) are determined once, from all rows but without the labels, so that held-out rows
    contribute to them.

    logistic and svm read a table that would take more than --memory in passes; all values and folds
    share the passes, and the folds are those of rows in memory.

    The exit code is 4 when a fit stopped above --tol, or when the time limit came before the last
    value.
    """
    if given.output is not None:
        if given.cv is None:
            raise click.UsageError(
                "--output saves the best model, and --cv decides which one is best: give --cv"
            )
        options.refuse_to_overwrite_inputs(given.output, data=given.data)
        options.refuse_to_overwrite_others(given.output)
    if given.plot is not None:
        options.refuse_to_overwrite_inputs(given.plot, data=given.data, option="--plot")
        if PurePath(given.plot).suffix.lower() not in _PICTURES:
            raise click.UsageError(f"--plot {given.plot} must end in one of {', '.join(_PICTURES)}")
        if given.plot == given.output:
            raise click.UsageError("--plot and --output name the same file")
    if given.scoring is not None and given.cv is None:
        raise click.UsageError("--scoring judges held-out rows: give --cv")
    given.check_columns()
    return given
