"""``separatrix evaluate``: how well a model predicts labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.cli import options

_EXAMPLES = """
separatrix evaluate income.separatrix labelled.csv
separatrix evaluate readmitted.separatrix visits.csv --group patient
separatrix evaluate income.separatrix labelled.csv --json | jq .scores.accuracy
"""


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(options.LineOptions):
    """The options of ``separatrix evaluate``."""

    model: str = options.argument()
    data: str = options.argument()
    target: str | None = options.target("The column with the labels. [default: the model's]")
    threshold: float | None = options.threshold()
    group: str | None = options.option(
        "A column of groups: the interval of the accuracy, or of the mean absolute error, is then "
        "that of rows that are right or wrong together.",
        metavar="COL",
    )
    time: str | None = options.option(
        "A column of dates or numbers: the scores of five parts of the rows are printed in this "
        "order, too.",
        metavar="COL",
    )
    drop_missing_target: bool = options.drop_missing_target()
    missing: Sequence[str] | None = options.missing()
    delimiter: str | None = options.delimiter()
    encoding: str | None = options.encoding()
    unpacked_limit: str | None = options.unpacked_limit()
    memory: str | None = options.memory_limit()


@options.command(
    "evaluate", EvaluateOptions, summary="Measure a model on labelled rows.", examples=_EXAMPLES
)
def evaluate(given: EvaluateOptions) -> EvaluateOptions:
    """Measure the model file MODEL on the labelled rows of DATA.

    Prints the accuracy with its 95 % interval (Wilson), the area under the ROC curve (for more
    than two classes the mean over the classes, each against the rest), balanced accuracy, Matthews'
    correlation and average precision; where there are probabilities, the log loss and Brier's
    score; the score of always predicting one class; and precision and recall by class with the
    confusion matrix. For a quantity it prints R^2, the root mean squared error, the mean absolute
    error and the mean squared error.
    """
    return given
