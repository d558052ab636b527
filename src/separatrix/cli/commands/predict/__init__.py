"""``separatrix predict``: a prediction for every row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix predict income.separatrix new.csv > predictions.csv
separatrix predict income.separatrix new.csv --proba -o predictions.csv
separatrix predict income.separatrix new.csv --keep id,name -o predictions.parquet
cat new.csv | separatrix predict income.separatrix - | head
"""


@dataclass(frozen=True, kw_only=True)
class PredictOptions(options.LineOptions):
    """The options of ``separatrix predict``."""

    model: str = options.argument()
    data: str = options.argument()
    proba: bool = options.option("Add the probability of every class.", bool)
    scores: bool = options.option("Add the score of every class.", bool)
    threshold: float | None = options.threshold()
    keep: Sequence[str] = options.option(
        "The columns of DATA to copy before the predictions: names separated by commas, or all.",
        multiple=True,
        metavar="COLS",
        callback=lambda context, param, given: list(given),
    )
    missing: Sequence[str] | None = options.missing()
    delimiter: str | None = options.delimiter()
    encoding: str | None = options.encoding()
    unpacked_limit: str | None = options.unpacked_limit()
    memory: str | None = options.memory_limit()
    engine: str | None = options.engine()
    scheduler: str | None = options.scheduler()
    raw: bool = options.option(
        "Write class names as they are, even if a spreadsheet would run them as formulas.", bool
    )
    output: str | None = options.output(
        "The file to write: CSV, or .parquet or .jsonl by its suffix. [default: stdout]"
    )


@options.command(
    "predict", PredictOptions, summary="Predict every row of a table.", examples=_EXAMPLES
)
def predict(given: PredictOptions) -> PredictOptions:
    """Predict the class of every row of DATA, or the quantity, with the model file MODEL.

    The output is CSV with a header and a line for each row, in the order of the rows. Columns are
    matched by name; missing and unknown columns are reported on stderr.

    A class name that a spreadsheet would run as a formula (it starts with = + - or @ and is not a
    number) gets an apostrophe in front, and control characters are written as escapes such as
    \\x1b. Such names differ from those in the data; a note on stderr counts them, and --raw
    leaves them as they are. --json always gives the names themselves.
    """
    if given.output is not None:
        if given.as_json:
            raise click.UsageError("--json prints on stdout, so --output has nothing to write")
        options.refuse_to_overwrite_inputs(given.output, data=given.data, model=given.model)
        _refuse_to_overwrite_models(given.output)
        _refuse_other_formats(given.output)
    options.require_scheduler(given.engine, given.scheduler)
    if given.keep and (given.memory is not None or given.engine == "dask"):
        other = "--engine dask" if given.memory is None else "--memory"
        raise click.UsageError(
            f"--keep reads all of DATA into memory, so it cannot be combined with {other}"
        )
    if given.engine == "dask" and given.data == "-":
        raise click.UsageError(
            "--engine dask reads DATA on the workers, so DATA cannot be standard input"
        )
    if given.keep and given.data == "-":
        raise click.UsageError("--keep reads DATA a second time, so DATA cannot be standard input")
    return given


def _refuse_other_formats(output: str) -> None:
    from separatrix.tables.reader import SUFFIXES
    from separatrix.tables.writing import WRITTEN

    suffix = PurePath(output).suffix.lower()
    if suffix in SUFFIXES and suffix not in WRITTEN:
        raise click.UsageError(
            f"predictions cannot be written as {suffix}: name a file that ends in one of "
            f"{' '.join(WRITTEN)}"
        )


def _refuse_to_overwrite_models(output: str) -> None:
    from separatrix.persistence.model_file import looks_like_model

    if options.holds_something(output) and looks_like_model(output):
        raise click.UsageError(
            f"--output {output} is a separatrix model, so it is not overwritten by predictions: "
            "write to another file"
        )
