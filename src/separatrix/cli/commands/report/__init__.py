"""``separatrix report``: a page about a model and a table, and its numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix report income.separatrix table.csv -o income.html
separatrix report income.separatrix newer.csv -o newer.html
separatrix report income.separatrix table.csv --json | jq .alerts.counts
"""


# The separators that the name of a folder may end with.
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


@dataclass(frozen=True, kw_only=True)
class ReportOptions(options.LineOptions):
    """The options of ``separatrix report``."""

    model: str = options.argument()
    data: str = options.argument()
    output: str = options.output(
        "The HTML page; its numbers are written beside it as .json. [default: MODEL's name with "
        ".html, in this folder]"
    )
    target: str | None = options.target("The column with the labels. [default: the model's]")
    time_limit: float = options.option(
        "The time limit, in seconds, of the decision whether the classes are separable.",
        options.POSITIVE,
        default=5.0,
        show_default=True,
    )
    drop_missing_target: bool = options.drop_missing_target()
    missing: Sequence[str] | None = options.missing()
    unpacked_limit: str | None = options.unpacked_limit()
    memory: str | None = options.memory_limit()


@options.command(
    "report",
    ReportOptions,
    summary="Write a page about a model, and its numbers.",
    examples=_EXAMPLES,
)
def report(given: ReportOptions) -> ReportOptions:
    """Write a report of the model file MODEL on the labelled rows of DATA.

    The report is one HTML page that needs no network and no script: alerts, the certificate, scores
    with 95 % intervals, pictures, weights, the worst predictions, the data, and how to reproduce
    it. If DATA is the table of the fit, the scores are those of its held-out rows and of its fitted
    rows; for another table they are those of all its rows. Every number of the page is also in a
    JSON document beside it. A table that takes more than --memory is read in passes: the scores are
    those of all its rows, the pictures those of a sample. An existing FILE is replaced only if it
    is a report.
    """
    page = f"{PurePath(given.model).stem or 'model'}.html"
    given = replace(given, output=page if given.output is None else given.output)
    check_report(given.output, data=given.data, model=given.model, option="--output")
    return given


def check_report(output: str, *, data: str, model: str, option: str) -> None:
    """Refuse what cannot become a report, or would overwrite something, before all else is done.

    Parameters
    ----------
    output : str
        The page; its document stands beside it.
    data : str
        The table as the user names it.
    model : str
        The model file that is read or written.
    option : str
        The option that names the page.

    Raises
    ------
    click.UsageError
        If a file would be lost, the page would have the name of its document, or something that
        reports need is not installed.
    """
    from separatrix.report.files import require_report_or_nothing, twin_of
    from separatrix.report.rendering import require_extras

    if not output:
        raise click.UsageError(f"{option} is empty: give the name of a file")
    if output == "-" or output.endswith(_SEPARATORS):
        raise click.UsageError(
            f"{option} {output} is not the name of a file: give the name of the page"
        )
    try:
        twin = twin_of(output)
        require_extras()
        for path in (output, twin):
            options.refuse_to_overwrite_inputs(path, data=data, model=model, option=option)
            if os.path.realpath(path) == os.path.realpath(model):
                raise ValueError(f"{path} is where the model is saved: write to another file")
            require_report_or_nothing(path)
    except (FileExistsError, ModuleNotFoundError, ValueError) as error:
        raise click.UsageError(f"{option}: {error}") from error
