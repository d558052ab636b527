"""``separatrix compare``: several models on the same folds of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from separatrix.cli import options
from separatrix.cli.commands.fit.models import ModelOptions
from separatrix.cli.commands.fit.terms import with_terms
from separatrix.cli.commands.report import check_report
from separatrix.cli.options import option
from separatrix.models.registry import compared

_EXAMPLES = """
separatrix compare table.csv --target income
separatrix compare table.csv --target income --models logistic,lda,constant --cv 10
separatrix compare table.csv --target churned --scoring roc_auc --report churned.html
separatrix compare table.csv --target churned --yardstick --budget 20
"""

# The models for classes; those for a quantity are fewer.
CLASSIFIERS = (*compared(quantity=False), "constant")
REGRESSORS = (*compared(quantity=True), "constant")
_KNOWN = tuple(dict.fromkeys((*CLASSIFIERS, *REGRESSORS)))


def _parse_models(text: str) -> tuple[str, ...] | None:
    """Names with commas between them; None for all."""
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if names == ("all",):
        return None
    for name in names:
        if name not in _KNOWN:
            raise ValueError(f"{name!r} is not one of {', '.join(_KNOWN)}")
    if not names:
        raise ValueError("no model is named")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ModelOptions):
    """The options of ``separatrix compare``."""

    sections: ClassVar[Mapping[str, str]] = {
        "What to predict, and with what": "target models cv scoring yardstick report",
        "The fits": "C class_weight budget time_limit",
        ModelOptions.last_group: "group time weight seed",
    }

    models: Sequence[str] | None = option(
        f"The models, separated by commas: {', '.join(CLASSIFIERS)}; for a quantity "
        f"{', '.join(REGRESSORS)}. [default: all]",
        options.Parsed("models", _parse_models),
        metavar="LIST",
    )
    cv: int = option("The number of folds.", options.FOLDS, default=5, show_default=True)
    scoring: str | None = option(
        "The score to compare by, one of scikit-learn's scorers. [default: accuracy, or R^2]",
        metavar="NAME",
    )
    yardstick: bool = option(
        "Fit scikit-learn's HistGradientBoosting as well, at its defaults and after all others: "
        "neither linear nor certified, it shows what linearity costs.",
        bool,
    )
    report: str | None = option(
        "Write the comparison as one HTML page that needs no network, and its numbers as JSON.",
        metavar="FILE",
    )
    C: float | None = option(
        "The weight of the losses of logistic, svm and kernel-svm. [default: 1]",
        options.FINITE_POSITIVE,
        flags=("-C", "--C"),
    )
    budget: float = option(
        "The seconds that all models together may take; a model that the end of them interrupts "
        "keeps the scores of the folds before.",
        options.FINITE_POSITIVE,
        default=60.0,
        show_default=True,
    )
    time_limit: float | None = option(
        "Stop each fit of an iterative model after this many seconds.", options.POSITIVE
    )


@options.command(
    "compare",
    CompareOptions,
    summary="Fit several models to the same folds, certified.",
    examples=_EXAMPLES,
)
def compare(given: CompareOptions) -> CompareOptions:
    """Fit several models to the same folds of the table DATA, and say which differences could be
    due to chance.

    The table is read and encoded once. Each model is fitted to every fold and scored on the rows
    that it has not seen; equal rows stay in one fold, and with --group the rows of a group. With
    --time the rows are cut into parts in that order, and each part is scored by a fit to all parts
    before it. The list has the mean score of each model,
    how far it is behind the best with the 95 % interval of that difference (Nadeau and Bengio,
    2003, which allows for the rows that folds share), the seconds of all its fits, and their
    largest certified gap (for closed forms, residual). ~ marks a difference that could be due to
    chance, and ! a fit that stopped above its tolerance, 1e-4. The commands that fit each model
    follow.

    Models are fitted in the order of their forecast costs until the budget ends; the list has the
    number of folds of a model that was interrupted. Above 2,000 rows, kernel-svm is approximated by
    300 landmarks, and perceptron has 100 passes. Models without probabilities are calibrated where
    the scoring needs them.

    The exit code is 1 when no model could be scored.
    """
    given = with_terms(given)
    given.check_columns()
    given.require_one_split()
    if given.report is not None:
        check_report(given.report, data=given.data, model="", option="--report")
    return given
