"""``separatrix diagnose``: what in a table will hurt a linear classifier."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.commands.fit import settle_columns
from separatrix.cli.output import Output

_EXAMPLES = """
separatrix diagnose table.csv --target income
separatrix diagnose table.csv --target income --time-limit 60
separatrix diagnose table.csv --target income --json | jq '.findings[].what'
"""


@options.command(
    "diagnose",
    summary="Say what in a table will hurt a linear classifier.",
    examples=_EXAMPLES,
)
@click.argument("data")
@click.option("--target", metavar="COL", help="The column with the classes. [default: target]")
@click.option("--no-intercept", is_flag=True, help="With a boundary through the origin in mind.")
@click.option(
    "--time-limit",
    type=options.FINITE_POSITIVE,
    help="Seconds for whether the classes are separable. [default: asked only where it is quick]",
)
@options.ignore
@options.kinds
@options.missing
@options.common
def diagnose(as_json: bool, quiet: bool, **config: Any) -> int:
    """Say what in the table DATA will hurt a linear classifier, by name, and what to do about it.

    Looks for classes of few rows; columns that are constant, equal, or combinations of others;
    columns that give the class away; equal rows of different classes; scales that differ by
    orders of magnitude; and whether the classes are separable, so that a fit without a penalty
    has no end. Numbers are looked at as they are in the table, before they are standardised.

    From the gravest, each finding is a problem, a warning or a note. The exit code is 0 whatever
    is found.
    """
    settle_columns(config)
    out = Output("diagnose", as_json=as_json, quiet=quiet)

    from separatrix.cli.commands.diagnose_work import diagnose_table

    with out.telling_warnings():
        return diagnose_table(out, config)
