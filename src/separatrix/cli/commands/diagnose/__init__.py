"""``separatrix diagnose``: what in a table will hurt a linear classifier."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.cli import options

_EXAMPLES = """
separatrix diagnose table.csv --target income
separatrix diagnose table.csv --target income --time-limit 60
separatrix diagnose table.csv --target income --json | jq '.findings[].what'
"""


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(options.TableOptions):
    """The options of ``separatrix diagnose``."""

    target: str | None = options.target("The column with the classes. [default: target]")
    no_intercept: bool = options.option("Diagnose for a boundary through the origin.", bool)
    time_limit: float | None = options.option(
        "The time limit, in seconds, of the decision whether the classes are separable. [default: "
        "decided only where that is quick]",
        options.FINITE_POSITIVE,
    )


@options.command(
    "diagnose",
    DiagnoseOptions,
    summary="Find problems of a table that hurt a linear classifier.",
    examples=_EXAMPLES,
)
def diagnose(given: DiagnoseOptions) -> DiagnoseOptions:
    """Find the problems of the table DATA that hurt a linear classifier, and say what to do.

    It looks for classes of few rows; columns that are constant, equal, or combinations of others;
    columns that leak the class; equal rows of different classes; columns whose scales differ by
    orders of magnitude; and separable classes, for which a fit without a penalty has no finite
    optimum. Numbers are examined as they are in the table, before they are standardised.

    Findings are problems, warnings and notes, the gravest first. The exit code is 0 whatever is
    found.
    """
    given.check_columns()
    return given
