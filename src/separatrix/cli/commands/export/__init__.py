"""``separatrix export``: a model in another language, run there and held to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix export income.separatrix --to sql > income.sql
separatrix export income.separatrix --to sql --dialect postgres --table people --keep id
separatrix export income.separatrix --to c -o income.h --check new.csv
separatrix export income.separatrix --to js -o income.mjs
"""


@dataclass(frozen=True, kw_only=True)
class ExportOptions(options.LineOptions):
    """The options of ``separatrix export``."""

    model: str = options.argument()
    to: str = options.option("The language.", ("sql", "c", "js", "onnx", "python"), required=True)
    dialect: str | None = options.option(
        "The dialect of SQL. [default: duckdb]",
        ("duckdb", "postgres", "bigquery", "snowflake", "sqlserver", "sqlite"),
    )
    output: str | None = options.output("The file to write. [default: stdout]")
    check: str | None = options.option(
        "A table on whose rows it is run as well, to be held to the model's answers.",
        metavar="DATA",
    )
    name: str | None = options.option(
        "What its functions are called. [default: the name of the file that is written]",
        metavar="NAME",
    )
    table: str | None = options.option(
        "The table that SQL reads: a name, a query, or a call such as read_csv('new.csv').",
        metavar="TABLE",
    )
    keep: Sequence[str] = options.option(
        "The columns that SQL returns beside the answers: names separated by commas, or all. "
        "[default: all]",
        multiple=True,
        metavar="COLS",
        callback=lambda context, param, given: list(given),
    )
    float32: bool = options.option("Compute in float32, in C for small controllers.", bool)

    @property
    def data(self) -> str | None:
        """The table that is read, by the name that reading knows."""
        return self.check


@options.command(
    "export",
    ExportOptions,
    summary="Print a model as SQL, C, JavaScript, ONNX or Python.",
    examples=_EXAMPLES,
)
def export(given: ExportOptions) -> ExportOptions:
    """Print the model file MODEL, with how it reads a table, in another language.

    What is printed is run, where an engine of the language is installed, on the rows of --check
    and on rows that are made to be hard: every score must be as near to the model's as rounding
    allows, and every class the same where the score is beyond that. It carries some fifty rows
    with their answers, so that whoever receives it can prove it again in their own engine.

    The exit code is 1 where an engine contradicts the model; nothing is written then.
    """
    if given.dialect is not None and given.to != "sql":
        raise click.UsageError(f"--dialect is of SQL, and --to is {given.to}")
    for name in ("table", "keep"):
        if getattr(given, name) and given.to != "sql":
            raise click.UsageError(f"--{name} is for --to sql")
    if given.float32 and given.to != "c":
        raise click.UsageError("--float32 is for --to c; other languages compute in float64")
    if given.to == "onnx" and given.output is None:
        raise click.UsageError("--to onnx writes bytes: name a file with --output")
    if given.as_json and given.output is None:
        raise click.UsageError("--json prints the proof on stdout: name a file with --output")
    if given.output is not None:
        options.refuse_to_overwrite_inputs(given.output, data=given.check or "", model=given.model)
    return given
