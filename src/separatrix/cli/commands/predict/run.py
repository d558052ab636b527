"""The work of ``separatrix predict``."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

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
    encoded_blocks,
    engine_of,
    exceeds_memory,
    load_for_tables,
    read_like_training,
    within_memory,
)
from separatrix.data.labels import codes_of
from separatrix.exceptions import DataError
from separatrix.messages import counted
from separatrix.persistence.model_file import StoredModel, check_writable, write_atomically
from separatrix.tables import Table, read_table
from separatrix.tables.categorical import Categorical
from separatrix.tables.table import STRUCTURE, missing_mask, no_such_column, parse_number
from separatrix.tables.writing import to_json_lines, to_parquet

# Commands import row blocks where a table is read in passes.
if TYPE_CHECKING:
    from separatrix.scale.blocks import Rows
    from separatrix.scale.engines import Engine


def run(out: Output, options: PredictOptions) -> Exit:
    """Read a model and a table, predict and print."""
    stored = load_for_tables(options.model)
    _check_answers(options, stored)
    answers = _Answers.of(options, stored)
    if options.output is not None:
        check_writable(options.output)
    with engine_of(options) as engine:
        if engine is not None or (
            not options.keep and exceeds_memory(options.data, options.memory)
        ):
            parts = _in_passes(out, options, stored, answers, engine)
        else:
            table = read_like_training(stored, options)
            kept = _kept(options, table)
            # A labelled table is no surprise: the labels are what is predicted.
            target = stored.provenance.get("target")
            table = table.drop(target) if target in table.columns else table
            parts = (
                answers.part(X, {name: column[rows] for name, column in kept.items()})
                for rows, X in encoded_blocks(out, stored, table)
            )
        parts = _warned(out, parts)
        if not options.as_json:
            _write(out, options, answers, parts)
            return Exit.DONE
        columns = _joined(parts)
    out.document(
        Exit.DONE,
        {
            "model": options.model,
            "data": options.data,
            "classes": None if predicts_numbers(stored) else stored.model.classes_.tolist(),
            "columns": columns,
        },
    )
    return Exit.DONE


@dataclass(frozen=True, eq=False)
class _Part:
    """The answers for some rows: as columns, or as the lines that are written.

    Attributes
    ----------
    n_rows : int
    names : tuple of str
        The names of the columns.
    columns : dict of str to ndarray, or None
    lines : bytes
    changed : int
        The number of cells of the lines that were changed.
    beyond : ndarray of int
        Rows whose predicted number is beyond the range of numbers.
    """

    n_rows: int
    names: tuple[str, ...]
    columns: dict[str, Any] | None
    lines: bytes
    changed: int
    beyond: np.ndarray


@dataclass(frozen=True, eq=False)
class _Answers:
    """The model and the form of its answers, which can be sent to a worker."""

    model: Any
    decision: Decision | None
    proba: bool
    scores: bool
    raw: bool
    suffix: str
    as_columns: bool

    @classmethod
    def of(cls, options: PredictOptions, stored: StoredModel) -> _Answers:
        suffix = "" if options.output is None else PurePath(options.output).suffix.lower()
        return cls(
            stored.model,
            decision_of(stored, options.threshold),
            options.proba,
            options.scores,
            options.raw,
            suffix,
            options.as_json or suffix == ".parquet",
        )

    @property
    def in_json(self) -> bool:
        """Whether rows are written as lines of JSON, rather than of CSV."""
        return self.suffix in (".jsonl", ".ndjson")

    @property
    def csv(self) -> _Csv:
        return _Csv(raw=self.raw, mark="\t" if self.suffix == ".tsv" else ",")

    def part(self, X: Any, kept: Mapping[str, Any] = {}) -> _Part:
        """The answers for the rows of a matrix, beside columns that are kept."""
        columns = {**kept, **_predictions(self, X)}
        predicted = columns["prediction"]
        beyond = np.empty(0, dtype=np.intp)
        if not hasattr(self.model, "classes_"):
            beyond = np.flatnonzero(~np.isfinite(predicted))
        names = tuple(columns)
        if self.as_columns:
            return _Part(len(predicted), names, columns, b"", 0, beyond)
        if self.in_json:
            return _Part(len(predicted), names, None, to_json_lines(columns), 0, beyond)
        table = self.csv
        return _Part(len(predicted), names, None, table.lines(columns), table.changed, beyond)


def _answered(rows: Rows, answers: _Answers, own: Any) -> _Part:
    """The answers for the rows of a block."""
    return answers.part(rows.matrix)


def _in_passes(
    out: Output,
    options: PredictOptions,
    stored: StoredModel,
    answers: _Answers,
    engine: Engine | None,
) -> Iterator[_Part]:
    """The answers for a table that does not fit in memory, by the workers of an engine."""
    from separatrix.scale import Local
    from separatrix.scale.passes import Passes

    data = blocks_like_training(out, stored, options)
    # The first note is about where the rows lie.
    for note in data.notes[1:]:
        out.warn(note)
    return Passes(data, engine or Local()).each(_answered, answers)


def _warned(out: Output, parts: Iterator[_Part]) -> Iterator[_Part]:
    """The parts, with a warning of predictions that are no numbers."""
    n_before = 0
    for part in parts:
        if len(part.beyond):
            out.warn(
                f"{counted(len(part.beyond), 'prediction')} beyond the range of numbers, the first "
                f"in row {n_before + part.beyond[0] + 1:,}: its values are far from those of the "
                "fit"
            )
        n_before += part.n_rows
        yield part


def _joined(parts: Iterator[_Part]) -> dict[str, Any]:
    """The columns of all rows, joined from those of some rows at a time."""
    first, *others = (part.columns for part in parts if part.columns is not None)
    return {
        name: np.concatenate([np.asarray(part[name]) for part in (first, *others)])
        for name in first
    }


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
        needed=tuple(wanted),
        **{name: getattr(options, name) for name in STRUCTURE},
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


def _predictions(answers: _Answers, X: Any) -> dict[str, Any]:
    """The columns of the answer, by name."""
    model = answers.model
    if answers.decision is None:
        predicted = model.predict(X)
    else:
        predicted = predictions(model, X, answers.decision).labels
    if hasattr(model, "classes_") and isinstance(model.classes_[0], str):
        # There is one text for each class, whatever the number of rows.
        codes = codes_of(predicted, model.classes_)
        predicted = Categorical(codes.astype(np.int32), model.classes_.astype(object))
    columns = {"prediction": predicted}
    if not (answers.proba or answers.scores):
        return columns
    labels = [str(label) for label in model.classes_.tolist()]
    if answers.proba:
        columns |= zip((f"probability_{c}" for c in labels), model.predict_proba(X).T, strict=True)
    if answers.scores:
        values = class_scores(model, X)
        # Two classes have one score, that of the second.
        scored, values = (labels[1:], values[:, None]) if values.ndim == 1 else (labels, values)
        columns |= zip((f"score_{c}" for c in scored), values.T, strict=True)
    return columns


def _write(out: Output, options: PredictOptions, answers: _Answers, parts: Iterator[_Part]) -> None:
    """Write the answers for all rows, that come for some rows at a time."""
    count = changed = 0
    # Parquet and JSON have the names of columns in them.
    header = None if answers.as_columns or answers.in_json else answers.csv

    def counted_parts() -> Iterator[_Part]:
        nonlocal count, changed, header
        for part in parts:
            if header is not None:
                part = replace(part, lines=header.line(part.names) + part.lines)
                changed += header.changed
                header = None
            count += part.n_rows
            changed += part.changed
            yield part

    if answers.as_columns:
        columns = (part.columns for part in counted_parts() if part.columns is not None)
        with within_memory(options.memory):
            write_atomically(options.output or "", to_parquet(columns))
    elif options.output is not None:
        write_atomically(options.output, (part.lines for part in counted_parts()))
    else:
        for part in counted_parts():
            # Written as they are: click has nothing to take out of them.
            write(part.lines.decode("utf-8", "surrogatepass"), color=True)
    if options.output is not None:
        out.note(f"{count:,} predictions in {options.output}")
    if changed:
        out.note(
            f"{counted(changed, 'cell')} changed, so that no spreadsheet or terminal "
            "executes a class name: they differ from the labels in the data, and --raw writes the "
            "labels as they are"
        )


# The signs that begin a formula in a spreadsheet (OWASP, "CSV Injection"), in both widths.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Control characters, and marks that turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _harmless(text: str) -> str:
    """A class name that no spreadsheet runs and no terminal obeys."""
    text = _CONTROLS.sub(lambda found: printable(found[0]), text)
    return f"'{text}" if text.startswith(_FORMULA) and parse_number(text) is None else text


class _Csv:
    """Lines of CSV.

    Attributes
    ----------
    changed : int
        The number of cells that were changed.
    """

    def __init__(self, *, raw: bool, mark: str) -> None:
        self.raw, self.mark = raw, mark
        self.changed = 0

    def line(self, cells: Iterable[str]) -> bytes:
        """A line of its own."""
        return self.lines({str(k): np.array([cell], dtype=object) for k, cell in enumerate(cells)})

    def lines(self, columns: dict[str, Any]) -> bytes:
        """The lines of some rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n", delimiter=self.mark)
        # Python's floats, unlike numpy's, print as the shortest text that reads back the same.
        writer.writerows(zip(*map(self._cells, columns.values()), strict=True))
        return text.getvalue().encode("utf-8", "surrogatepass")

    def _cells(self, column: Any) -> list[Any]:
        """The cells of a column as they are written; each text that occurs is looked at once."""
        coded = isinstance(column, Categorical)
        cells: list[Any] = [] if coded and not self.raw else np.asarray(column).tolist()
        if self.raw or not (coded or (cells and isinstance(cells[0], str))):
            return cells
        counts = column.counts() if coded else Counter(cells)
        safe = {cell: _harmless(cell) if isinstance(cell, str) else cell for cell in counts}
        changed = {cell for cell, text in safe.items() if text != cell}
        self.changed += sum(counts[cell] for cell in changed)
        if coded:
            levels = [safe.get(text, text) for text in column.levels]
            return column.mapped(np.array(levels, dtype=object), "").tolist()
        return [safe[cell] for cell in cells] if changed else cells
