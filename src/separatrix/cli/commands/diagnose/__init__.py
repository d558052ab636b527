"""``separatrix diagnose``: what a table holds, and what in it will hurt a linear model."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.cli import options
from separatrix.cli.commands.report import check_report

_EXAMPLES = """
separatrix diagnose table.csv
separatrix diagnose table.csv --target income --report profile.html
separatrix diagnose table.csv --target income --time-limit 60
separatrix diagnose table.csv --target income --json | jq '.findings[].what'
"""


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(options.TableOptions):
    """The options of ``separatrix diagnose``."""

    target: str | None = options.target(
        "The column to predict: classes or a quantity. [default: target, where there is one]"
    )
    report: str | None = options.option(
        "Write the profile as one HTML page that needs no network, and its numbers as JSON.",
        metavar="FILE",
    )
    no_intercept: bool = options.option("Diagnose for a boundary through the origin.", bool)
    time_limit: float | None = options.option(
        "The time limit, in seconds, of the decision whether the classes are separable. [default: "
        "decided only where that is quick]",
        options.FINITE_POSITIVE,
    )
    memory: str | None = options.option(
        "The memory limit, such as 1GB. Of a larger table columns are described by all rows, a few "
        "at a time, and the rest by a sample. [default: half of the machine's memory]",
        options.SIZE,
        metavar="SIZE",
    )


@options.command(
    "diagnose",
    DiagnoseOptions,
    summary="Describe a table, and find what hurts a linear model.",
    examples=_EXAMPLES,
)
def diagnose(given: DiagnoseOptions) -> DiagnoseOptions:
    """Describe the columns of the table DATA, and find what in them hurts a linear model.

    Each column has a line with its kind, its numbers of missing cells and of distinct values, and
    its range; --report draws the distributions of the columns, by the target where one is named,
    the cells that are missing together, repeated rows, correlations, and how columns change with
    the dates of the table.

    With classes to predict it looks for classes of few rows; columns that are constant, equal, or
    combinations of others; columns that leak the class; equal rows of different classes; columns
    whose scales differ by orders of magnitude; and separable classes, for which a fit without a
    penalty has no finite optimum. With a quantity to predict, or without a target, it makes the
    checks that need no classes. Numbers are examined as they are in the table, before they are
    standardised.

    Findings are problems, warnings and notes, the gravest first. The exit code is 0 whatever is
    found.
    """
    given.check_columns()
    if given.report is not None:
        check_report(given.report, data=given.data, model="", option="--report")
    return given
