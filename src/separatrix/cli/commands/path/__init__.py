"""``separatrix path``: fits over a range of strengths, and the choice among them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import click

from separatrix.cli import options
from separatrix.cli.commands.fit.models import KERNELS, ModelOptions, model_option
from separatrix.cli.commands.fit.terms import with_terms
from separatrix.cli.options import option

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


def _parse_values(text: str) -> int | list[float]:
    """The number of values, or the values themselves, separated by commas."""
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

    sections: ClassVar[Mapping[str, str]] = {
        "What to predict, and how": "target model values cv scoring output plot",
        "The model": "loss penalty l1_ratio class_weight no_intercept multiclass kernel gamma "
        "degree",
        "When to stop": "tol max_iter time_limit",
        "Larger than memory": "memory cache",
        ModelOptions.last_group: "group time weight seed",
    }

    model: str | None = model_option(_MODELS)
    values: int | Sequence[float] | None = option(
        "The number of values, or the values separated by commas. They are values of C; for sgd of "
        "alpha, for lda and qda of shrinkage, for lstsq and poly of lam. [default: 20 values over "
        "six powers of ten, from where the penalty dominates; for l1 over three powers, from where "
        "the first weight is not zero]",
        options.Parsed("values", _parse_values),
        flags=("--values", "--Cs"),
        metavar="N|LIST",
    )
    cv: int | None = option(
        "The number of folds of the cross-validation that chooses the best value. [default: no "
        "cross-validation]",
        options.FOLDS,
    )
    scoring: str | None = option(
        "The score to choose by, one of scikit-learn's scorers. [default: accuracy, or R^2]",
        metavar="NAME",
    )
    output: str | None = options.output("Save the model at the best value, fitted to all rows.")
    plot: str | None = option(
        "Draw the scores or, without --cv, the weights, and save the picture.", metavar="FILE"
    )
    penalty: str | None = option(
        "The penalty on the weights of logistic and svm; l1 and elasticnet make many weights "
        "exactly zero. [default: l2]",
        ("l2", "l1", "elasticnet"),
    )
    no_intercept: bool = option(
        "Fit without an intercept: a boundary through the origin.",
        bool,
        flags=("--no-intercept", "--through-origin"),
    )
    kernel: str | None = option("The kernel of kernel-svm. [default: rbf]", KERNELS)
    degree: int | None = option("The degree of --model poly or of the kernel poly.", options.DEGREE)
    tol: float | None = option(
        "The certified relative gap to reach at every value and in every fold; closed forms do "
        "not use it. [default: 1e-4]",
        options.FINITE_POSITIVE,
    )
    time_limit: float | None = option(
        "Stop after this many seconds, and print the values that were reached.", options.POSITIVE
    )

    def to_dict(self) -> dict[str, Any]:
        """The options by name, for the model file, without those that are not part of the fit."""
        return {name: value for name, value in super().to_dict().items() if name != "cache"}


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
    penalty within one standard error of it. All rows take part; equal rows are held out together,
    with --group those of a group. With --time the rows are cut into parts in that order, and each
    part is scored by fits to all parts before it.
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
        options.check_picture(given.plot, _PICTURES, data=[given.data], others=[given.output])
    if given.scoring is not None and given.cv is None:
        raise click.UsageError("--scoring judges held-out rows: give --cv")
    given = with_terms(given)
    given.check_columns()
    given.require_one_split()
    if given.time is not None and given.cv is None:
        raise click.UsageError("--time orders the folds of a cross-validation: give --cv")
    return given
