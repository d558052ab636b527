"""``separatrix separable``: whether a plane separates the classes of a table, with a proof."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.commands.fit import settle_columns
from separatrix.cli.output import Output
from separatrix.cli.overwriting import (
    refuse_to_overwrite_all_but_certificates,
    refuse_to_overwrite_inputs,
)

_EXAMPLES = """
separatrix separable table.csv --target income
separatrix separable table.csv --target income --certificate proof.json
separatrix check-certificate proof.json table.csv
"""


@options.command(
    "separable",
    summary="Decide, with proof, if a plane separates the classes.",
    examples=_EXAMPLES,
)
@click.argument("data")
@click.option("--target", metavar="COL", help="The column with the classes. [default: target]")
@click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
@click.option(
    "--certificate",
    metavar="FILE",
    help="Save the proof, for separatrix check-certificate.",
)
@click.option("--time-limit", type=options.FINITE_POSITIVE, help="Stop after this many seconds.")
@options.ignore
@options.kinds
@options.missing
@options.common
def separable(as_json: bool, quiet: bool, **config: Any) -> int:
    """Say whether a plane has every row of one class of DATA strictly on one side and every row
    of the other class strictly on the other.

    Either answer comes with a proof: a plane with all rows on their sides, and how wide the gap
    is; or a few rows such that a weighted mean of those of one class is exactly a weighted mean
    of those of the other. Proofs are checked in exact integer arithmetic, of the numbers of the
    table as float64 holds them: they are not standardised. Categories are one-hot columns of 0
    and 1, text is TF-IDF words, and a missing number is 0, marked in a column of its own.

    Of three and more classes each pair is decided, and each class against the rest.

    The exit code is 0 when the classes are separable (of three and more: every pair), 1 when
    they are not, and 4 when the time limit came first.
    """
    settle_columns(config)
    if config["certificate"] is not None:
        refuse_to_overwrite_inputs(
            config["certificate"], data=config["data"], option="--certificate"
        )
        refuse_to_overwrite_all_but_certificates(config["certificate"])
    out = Output("separable", as_json=as_json, quiet=quiet)

    # After the checks, because these take a second to import.
    from separatrix.cli.commands.separable_work import decide_table

    with out.telling_warnings():
        return decide_table(out, config)
