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
    no_intercept: bool = options.option("With a boundary through the origin in mind.", bool)
    time_limit: float | None = options.option(
        "Seconds for whether the classes are separable. [default: asked only where it is quick]",
        options.FINITE_POSITIVE,
    )


@options.command(
    "diagnose",
    DiagnoseOptions,
    summary="Say what in a table will hurt a linear classifier.",
    examples=_EXAMPLES,
)
def diagnose(given: DiagnoseOptions) -> DiagnoseOptions:
    """Say what in the table DATA will hurt a linear classifier, by name, and what to do about it.

    Looks for classes of few rows; columns that are constant, equal, or combinations of others;
    columns that give the class away; equal rows of different classes; scales that differ by
    orders of magnitude; and whether the classes are separable, so that a fit without a penalty
    has no end. Numbers are looked at as they are in the table, before they are standardised.

    From the gravest, each finding is a problem, a warning or a note. The exit code is 0 whatever
    is found.
    """
    given.check_columns()
    return given
