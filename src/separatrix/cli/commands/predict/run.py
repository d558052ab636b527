"""What ``separatrix predict`` does."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import click
import numpy as np

from separatrix.assessment.decision import Decision
from separatrix.assessment.rows import predicts_numbers
from separatrix.assessment.scoring import class_scores, gives_probabilities, predictions
from separatrix.cli.commands.predict import PredictOptions
from separatrix.cli.output import Exit, Output, printable, write
from separatrix.cli.reading import (
    blocks_like_training,
    decision_of,
    encode,
    exceeds_memory,
    load_for_tables,
    read_like_training,
)
from separatrix.exceptions import DataError
from separatrix.messages import counted
from separatrix.persistence.model_file import StoredModel, check_writable, write_atomically
from separatrix.tables import Table, read_table
from separatrix.tables.table import missing_mask, no_such_column, parse_number
from separatrix.tables.writing import to_json_lines, to_parquet


def run(out: Output, options: PredictOptions) -> Exit:
    """Read a model and a table, predict and print."""
    stored = load_for_tables(options.model)
    _check_answers(options, stored)
    decision = decision_of(stored, options.threshold)
    if options.output is not None:
        check_writable(options.output)
    if not options.keep and exceeds_memory(options.data, options.memory):
        matrices = _blocks(out, options, stored)
        kept: dict[str, Any] = {}
    else:
        table = read_like_training(stored, options)
        kept = _kept(options, table)
        # A labelled table is no surprise: the labels are what is predicted.
        target = stored.provenance.get("target")
        table = table.drop(target) if target in table.columns else table
        matrices = iter([encode(out, stored, table)])
    parts = _parts(out, options, stored, decision, matrices, kept)
    if not options.as_json:
        _write(out, options, parts)
        return Exit.DONE
    out.document(
        Exit.DONE,
        {
            "model": options.model,
            "data": options.data,
            "classes": None if predicts_numbers(stored) else stored.model.classes_.tolist(),
            "columns": _joined(parts),
        },
    )
    return Exit.DONE


def _blocks(out: Output, options: PredictOptions, stored: StoredModel) -> Iterator[Any]:
    """The rows of a table that does not fit the memory, a block at a time."""
    data = blocks_like_training(out, stored, options)
    # Behind how the rows lie.
    for note in data.notes[1:]:
        out.warn(note)
    return (block.load().matrix for block in data.blocks)


def _parts(
    out: Output,
    options: PredictOptions,
    stored: StoredModel,
    decision: Decision | None,
    matrices: Iterator[Any],
    kept: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """The columns of the answer, for some rows at a time."""
    n_before = 0
    for X in matrices:
        columns = {**kept, **_predictions(options, stored, decision, X)}
        if predicts_numbers(stored):
            _warn_of_overflow(out, columns["prediction"], n_before)
        n_before += len(columns["prediction"])
        yield columns


def _joined(parts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Columns of all rows, of those of some rows at a time."""
    first, *others = parts
    if not others:
        return first
    return {name: np.concatenate([first[name], *(o[name] for o in others)]) for name in first}


def _kept(options: PredictOptions, table: Table) -> dict[str, Any]:
    """The columns to write beside the predictions, as the table has them written."""
    there = [name for name in table.names if name not in table.derived]
    wanted: list[str] = []
    for given in options.keep:
        if given == "all" and given not in there:
            wanted += there
        elif given in there:
            wanted.append(given)
        else:
            wanted += [name.strip() for name in given.split(",")]
    for name in wanted:
        if name not in there:
            raise DataError(no_such_column(name, there, table.source))
    if not wanted:
        return {}
    kinds = {name: "category" if name in wanted else "ignore" for name in there}
    written = read_table(
        options.data,
        missing=("",),
        kinds=kinds,
        delimiter=options.delimiter,
        encoding=options.encoding,
        unpacked_limit=options.unpacked_limit,
    )
    return {
        name: np.where(missing_mask(column), "", np.ma.getdata(column)).astype(object)
        for name in dict.fromkeys(wanted)
        for column in [written.columns[name]]
    }


def _check_answers(options: PredictOptions, stored: StoredModel) -> None:
    """Refuse to predict what the model does not."""
    model = stored.model
    name = type(model).__name__
    if (options.proba or options.scores) and predicts_numbers(stored):
        raise click.UsageError(
            f"{name} predicts a quantity, so there are no classes and no "
            f"{'probabilities' if options.proba else 'scores'} of classes"
        )
    if options.proba and not gives_probabilities(model):
        without = "" if not hasattr(model, "loss") else " without --loss log in fit"
        if hasattr(model, "calibrate"):
            without = " without --calibrate in fit"
        if getattr(model, "calibrate", None) is not None:
            without = ", because its fit was interrupted before they were calibrated"
        raise click.UsageError(
            f"{name} gives no probabilities{without}: --scores prints its scores"
        )


def _predictions(
    options: PredictOptions, stored: StoredModel, decision: Decision | None, X: Any
) -> dict[str, Any]:
    """The columns of the answer, by name."""
    model = stored.model
    if decision is None:
        columns = {"prediction": model.predict(X)}
    else:
        columns = {"prediction": predictions(model, X, decision).labels}
    if not (options.proba or options.scores):
        return columns
    labels = [str(label) for label in model.classes_.tolist()]
    if options.proba:
        columns |= zip((f"probability_{c}" for c in labels), model.predict_proba(X).T, strict=True)
    if options.scores:
        values = class_scores(model, X)
        # Of two classes there is one score; it is that of the second.
        scored, values = (labels[1:], values[:, None]) if values.ndim == 1 else (labels, values)
        columns |= zip((f"score_{c}" for c in scored), values.T, strict=True)
    return columns


def _warn_of_overflow(out: Output, predicted: Any, n_before: int) -> None:
    beyond = np.flatnonzero(~np.isfinite(predicted))
    if len(beyond):
        out.warn(
            f"{counted(len(beyond), 'prediction')} beyond the range of numbers, the first in row "
            f"{n_before + beyond[0] + 1:,}: its values are far from those of the fit"
        )


def _write(out: Output, options: PredictOptions, parts: Iterator[dict[str, Any]]) -> None:
    """Write columns of all rows, that come for some rows at a time."""
    count = 0

    def counted_parts() -> Iterator[dict[str, Any]]:
        nonlocal count
        for columns in parts:
            count += len(columns["prediction"])
            yield columns

    suffix = "" if options.output is None else PurePath(options.output).suffix.lower()
    if suffix in (".parquet", ".jsonl", ".ndjson"):
        # Nothing runs what stands in these.
        if suffix == ".parquet":
            write_atomically(options.output or "", to_parquet(_joined(counted_parts())))
        else:
            write_atomically(options.output or "", map(to_json_lines, counted_parts()))
        out.note(f"{count:,} predictions in {options.output}")
        return
    table = _Csv(raw=options.raw, mark="\t" if suffix == ".tsv" else ",")
    texts = map(table.text, counted_parts())
    if options.output is not None:
        write_atomically(options.output, (text.encode("utf-8", "surrogatepass") for text in texts))
        out.note(f"{count:,} predictions in {options.output}")
    else:
        for text in texts:
            write(text, color=True)  # as it is: nothing in it is for click to take out
    if table.changed:
        out.note(
            f"{counted(table.changed, 'cell')} changed, so that no spreadsheet or terminal "
            "executes a class name: they differ from the labels in the data, and --raw writes the "
            "labels as they are"
        )


# What spreadsheets take for the start of a formula (OWASP, "CSV Injection"), in both widths.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Control characters, and marks that turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _harmless(text: str) -> str:
    """A class name that no spreadsheet runs and no terminal obeys."""
    text = _CONTROLS.sub(lambda found: printable(found[0]), text)
    return f"'{text}" if text.startswith(_FORMULA) and parse_number(text) is None else text


class _Csv:
    """Lines of CSV, after a header, of columns that come for some rows at a time.

    Attributes
    ----------
    changed : int
        How many cells are not as they were.
    """

    def __init__(self, *, raw: bool, mark: str) -> None:
        self.raw, self.mark = raw, mark
        self.changed = 0
        self._begun = False
        # Of few classes, so each is looked at once.
        self._known: dict[str, str] = {}

    def text(self, columns: dict[str, Any]) -> str:
        """The lines of some rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n", delimiter=self.mark)
        if not self._begun:
            writer.writerow([self._safe(name) for name in columns])
            self._begun = True
        # Python's floats, unlike numpy's, print as the shortest text that reads back the same.
        lists = [column.tolist() for column in columns.values()]
        lists = [list(map(self._safe, cells)) if cells and isinstance(cells[0], str) else cells
                 for cells in lists]  # fmt: skip
        writer.writerows(zip(*lists, strict=True))
        return text.getvalue()

    def _safe(self, cell: Any) -> Any:
        if self.raw or not isinstance(cell, str):
            return cell
        if cell not in self._known:
            self._known[cell] = _harmless(cell)
        self.changed += self._known[cell] != cell
        return self._known[cell]
