"""``separatrix predict``: a prediction for every row of a table, as CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import Exit, Output, printable, write
from separatrix.cli.overwriting import refuse_to_overwrite_inputs, refuse_to_overwrite_others
from separatrix.messages import counted

_EXAMPLES = """
separatrix predict income.separatrix new.csv > predictions.csv
separatrix predict income.separatrix new.csv --proba -o predictions.csv
cat new.csv | separatrix predict income.separatrix - | head
"""


@options.command(
    "predict",
    summary="Predict every row of a table.",
    examples=_EXAMPLES,
)
@click.argument("model")
@click.argument("data")
@click.option("--proba", is_flag=True, help="Add the probability of every class.")
@click.option("--scores", is_flag=True, help="Add the score of every class.")
@options.missing
@click.option(
    "--raw",
    is_flag=True,
    help="Write class names as they are, also such as a spreadsheet would run as a formula.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a file. [default: stdout]")
@options.common
def predict(
    model: str,
    data: str,
    proba: bool,
    scores: bool,
    missing: tuple[str, ...],
    raw: bool,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Predict the class of every row of DATA, or the quantity, with the model file MODEL.

    One line of CSV for each row, in the order of the rows, after a header. Columns are matched by
    name; what is missing or new is told on stderr.

    A class name that a spreadsheet would run as a formula (it starts with = + - or @ and is no
    number) gets an apostrophe in front, and control characters are written as escapes such as
    \\x1b. Such labels differ from those in the data; a note on stderr counts them, and --raw
    leaves them as they are. --json always gives the names themselves.
    """
    if output is not None and as_json:
        raise click.UsageError("--json prints on stdout, so --output has nothing to write")
    if output is not None:
        refuse_to_overwrite_inputs(output, data=data, model=model)
        refuse_to_overwrite_others(output, models=False)
    out = Output("predict", as_json=as_json, quiet=quiet)

    from separatrix.assessment.rows import predicts_numbers
    from separatrix.assessment.scoring import gives_probabilities
    from separatrix.cli.reading import (
        encode,
        load_for_tables,
        read_like_training,
    )
    from separatrix.persistence.model_file import check_writable, write_atomically

    with out.telling_warnings():
        stored = load_for_tables(model)
        if (proba or scores) and predicts_numbers(stored):
            raise click.UsageError(
                f"{type(stored.model).__name__} predicts a quantity, which has no classes and so "
                f"no {'probabilities' if proba else 'scores'} of them"
            )
        if proba and not gives_probabilities(stored.model):
            without = (
                "" if not hasattr(stored.model, "calibrate") else " without --calibrate in fit"
            )
            if type(stored.model).__name__ == "SGDClassifier":
                without = " without --loss log in fit"
            if getattr(stored.model, "calibrate", None) is not None:
                without = ", because its fit was interrupted before they were calibrated"
            raise click.UsageError(
                f"{type(stored.model).__name__} gives no probabilities{without}: --scores prints "
                "its scores"
            )
        if output is not None:
            check_writable(output)
        table = read_like_training(stored, data, missing)
        # A labelled table is no surprise: the labels are what is predicted.
        target = stored.provenance.get("target")
        table = table.drop(target) if target in table.columns else table
        X = encode(out, stored, table)
        columns = _predictions(stored.model, X, proba=proba, scores=scores)
        if predicts_numbers(stored):
            _warn_of_overflow(out, columns["prediction"])

    if as_json:
        out.document(
            Exit.DONE,
            {
                "model": model,
                "data": data,
                "classes": None if predicts_numbers(stored) else stored.model.classes_.tolist(),
                "columns": columns,
            },
        )
        return Exit.DONE
    text, changed = _to_csv(columns, raw=raw)
    if output is not None:
        write_atomically(output, text.encode("utf-8", "surrogatepass"))
        out.note(f"{X.shape[0]:,} predictions in {output}")
    else:
        write(text, color=True)  # as it is: nothing in it is for click to take out
    if changed:
        out.note(
            f"{counted(changed, 'cell')} changed, so that no spreadsheet runs a class name as a "
            "formula and no terminal obeys one: they differ from the labels in the data, and --raw "
            "writes them as they are"
        )
    return Exit.DONE


def _warn_of_overflow(out: Output, predicted: Any) -> None:
    import numpy as np

    beyond = np.flatnonzero(~np.isfinite(predicted))
    if len(beyond):
        out.warn(
            f"{counted(len(beyond), 'prediction')} beyond the range of numbers, the first in row "
            f"{beyond[0] + 1:,}: its columns are far from those of the fit"
        )


def _predictions(model: Any, X: Any, *, proba: bool, scores: bool) -> dict[str, Any]:
    """The columns of the answer, by name."""
    from separatrix.assessment.scoring import class_scores

    columns = {"prediction": model.predict(X)}
    if not (proba or scores):
        return columns
    labels = [str(label) for label in model.classes_.tolist()]
    if proba:
        columns |= zip((f"probability_{c}" for c in labels), model.predict_proba(X).T, strict=True)
    if scores:
        values = class_scores(model, X)
        # Of two classes there is one score; it is that of the second.
        by_class = (
            {labels[1]: values} if values.ndim == 1 else dict(zip(labels, values.T, strict=True))
        )
        columns |= {f"score_{c}": column for c, column in by_class.items()}
    return columns


# What spreadsheets take for the start of a formula (OWASP, "CSV Injection"), in both widths.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Control characters, and marks that turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _harmless(text: str) -> str:
    """A class name that no spreadsheet runs and no terminal obeys."""
    from separatrix.tables.table import parse_number

    text = _CONTROLS.sub(lambda found: printable(found[0]), text)
    return f"'{text}" if text.startswith(_FORMULA) and parse_number(text) is None else text


def _to_csv(columns: dict[str, Any], *, raw: bool) -> tuple[str, int]:
    """The text, and how many of its cells are not as they were."""
    changed = 0
    # Of few classes, so each is looked at once.
    known: dict[str, str] = {}

    def told(cell: Any) -> Any:
        nonlocal changed
        if raw or not isinstance(cell, str):
            return cell
        if cell not in known:
            known[cell] = _harmless(cell)
        changed += known[cell] != cell
        return known[cell]

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([told(name) for name in columns])
    # Python's floats, unlike numpy's, print as the shortest text that reads back the same.
    lists = [column.tolist() for column in columns.values()]
    lists = [list(map(told, cells)) if cells and isinstance(cells[0], str) else cells
             for cells in lists]  # fmt: skip
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue(), changed
