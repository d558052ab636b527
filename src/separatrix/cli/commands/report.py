"""``separatrix report``: a page about a model and a table, and its numbers."""

from __future__ import annotations

from pathlib import PurePath

import click

from separatrix.cli import options
from separatrix.cli.output import Output
from separatrix.cli.overwriting import check_report

_EXAMPLES = """
separatrix report income.separatrix table.csv -o income.html
separatrix report income.separatrix newer.csv -o newer.html
separatrix report income.separatrix table.csv --json | jq .alerts.counts
"""


@options.command(
    "report",
    summary="Write a page about a model, and its numbers.",
    examples=_EXAMPLES,
)
@click.argument("model")
@click.argument("data")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The page; its numbers are written beside it, as .json. [default: MODEL's name with "
    ".html, in this folder]",
)
@click.option("--target", metavar="COL", help="The column with the labels. [default: the model's]")
@click.option(
    "--time-limit",
    type=options.POSITIVE,
    default=5.0,
    show_default=True,
    help="Seconds for asking whether the classes are separable.",
)
@options.missing
@options.common
def report(
    model: str,
    data: str,
    output: str | None,
    target: str | None,
    time_limit: float,
    missing: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Write a report of the model file MODEL on the labelled rows of DATA.

    One HTML page that needs no network and no script: what to beware of, the certificate, figures
    with 95 % intervals, pictures, weights, the rows predicted worst, the data, and how to do the
    same again. Where DATA is the table of the fit, figures are of its held-out rows and of those
    that were fitted; of another table they are of all its rows. Every number of the page is in a
    JSON document beside it. An existing FILE is replaced only if it is a report.
    """
    if output is None:
        output = f"{PurePath(model).stem or 'model'}.html"
    check_report(output, data=data, model=model, option="--output")
    out = Output("report", as_json=as_json, quiet=quiet)

    # After the checks, because this takes a second to import.
    from separatrix.cli.commands.report_work import report_file

    with out.telling_warnings():
        return report_file(
            out, model, data, output, missing=missing, target=target, time_limit=time_limit
        )
