"""Rows of files, a stretch at a time, to rows of a matrix.

DuckDB reads stretches of Parquet files (row groups where these are of a sensible size) on one
thread each.  Columns of numbers come as they are stored, and are standardised a tile at a time;
columns of strings come as the numbers of their levels, which are looked up in a table of what each
level means: the place of a feature, or a number.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import njit
from separatrix.data.design import as_design
from separatrix.data.digests import sha256_of
from separatrix.data.row_hashing import row_keys
from separatrix.data.splitting import hashed_hold_out
from separatrix.exceptions import DataError
from separatrix.scale.blocks import Block, Rows, in_pieces
from separatrix.scale.facts import RowDigest
from separatrix.scale.reading import Session, cursor, opened
from separatrix.scale.storage import (
    bytes_in,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)
from separatrix.tables import Encoder, Table
from separatrix.tables import source_files as files
from separatrix.tables.categorical import Categorical
from separatrix.tables.column_parts import source_of
from separatrix.tables.lake import path_of
from separatrix.tables.number_encoding import Number
from separatrix.tables.row_names import is_called_identifier, may_count_rows
from separatrix.tables.statistics import Numbers
from separatrix.tables.table import masked, quote

# The form in which rows are put aside: what another version left is read again.
_STAGED_FORM = 2
# Rows that are standardised at a time: what they are made of stays in the cache.
_TILE = 512
# DuckDB's types that NumPy takes as they are.
PLAIN = {
    *("FLOAT", "DOUBLE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}


@dataclass(frozen=True)
class SourceFile:
    """A Parquet file.

    Attributes
    ----------
    path : str
    label : str
        The name of the file in messages.
    n_columns : int
    groups : tuple of int
        The numbers of rows of its row groups.
    size, time : int
        The size in bytes, and the time of the last change in nanoseconds.
    largest : int
        The bytes of its largest row group, unpacked.
    hive : int or None
        The number of columns, the last ones, that are names of folders such as ``year=2024``; None
        where such names are no columns. A column of the file that has the name of such a folder
        takes its value from there, where it stands in the file.
    """

    path: str
    label: str
    n_columns: int
    groups: tuple[int, ...]
    size: int
    time: int
    largest: int
    hive: int | None = None

    @property
    def n_rows(self) -> int:
        return sum(self.groups)

    def relation(self) -> str:
        """SQL for all rows: columns ``c0, c1, ...``, and ``r``, the number of the row."""
        places = [f"c{j}" for j in range(self.n_columns)]
        places.insert(self.n_columns - (self.hive or 0), "r")
        where = files.where(path_of(self.path))
        named = files.partitioning(self.hive is not None)
        return f"read_parquet({where}, {named}, file_row_number = true) AS t({', '.join(places)})"

    def rows(self, chosen: str, start: float, stop: float) -> str:
        """SQL for some columns of some rows."""
        return f"SELECT {chosen} FROM {self.relation()} WHERE r >= {start} AND r < {stop}"

    def run(self, connection: Any, sql: str, *, fetch: bool = True) -> Any:
        """The columns of a query, or one sentence about this file."""
        part = files.Part(path_of(self.path), self.label, ".parquet")
        return part.run(connection, sql, fetch=fetch)

    def require_same(self) -> None:
        """Raise DataError if the file is another than when it was scanned."""
        try:
            status = path_of(self.path).stat()
        except OSError as error:
            raise DataError(
                f"{self.label} cannot be read any more: {error.strerror or error}"
            ) from None
        if (status.st_size, status.st_mtime_ns) != (self.size, self.time):
            raise DataError(f"{self.label} was changed after it was scanned; scan the data again")


@dataclass(frozen=True)
class RowRange:
    """Rows of one file or of several: ``(file, from, to, first group, last group)`` each."""

    pieces: tuple[tuple[int, int, int, int, int], ...]
    start: int

    @property
    def n_rows(self) -> int:
        return sum(stop - start for _, start, stop, _, _ in self.pieces)

    def joined(self, other: RowRange) -> RowRange:
        """These rows and those of the range that follows."""
        (k, start, stop, _, last), *rest = other.pieces
        file, begin, end, first, _ = self.pieces[-1]
        if (file, end) != (k, start):
            return RowRange(self.pieces + other.pieces, self.start)
        # Rows that are read by one query.
        one = (file, begin, stop, first, last)
        return RowRange((*self.pieces[:-1], one, *rest), self.start)

    def groups(self) -> set[tuple[int, int]]:
        """The row groups that have rows of the range, each with the number of its file."""
        return {(k, g) for k, _, _, first, last in self.pieces for g in range(first, last + 1)}

    def place(self, sources: Sequence[SourceFile], first: int, last: int) -> str:
        """The name in messages of rows ``first`` to ``last`` of the range, from 0 and exclusive."""
        ranges, at = [], 0
        for k, start, stop, group, other in self.pieces:
            low, high = max(first, at), min(last, at + stop - start)
            if low < high:
                groups = f"row group {group + 1}"
                if other > group:
                    groups = f"row groups {group + 1} to {other + 1}"
                rows = f"rows {start + low - at + 1:,} to {start + high - at:,}"
                ranges.append(f"{sources[k].label}, {rows} ({groups})")
            at += stop - start
        return ranges[0] if len(ranges) == 1 else f"{ranges[0]} and on to {ranges[-1]}"

    def row(self, sources: Sequence[SourceFile], i: int) -> str:
        """The name of row ``i`` of the range, from 0, in messages."""
        for k, start, stop, _, _ in self.pieces:
            if i < stop - start:
                return f"{sources[k].label}, row {start + i + 1:,}"
            i -= stop - start
        raise IndexError(i)


def row_ranges(sources: Sequence[SourceFile], most: int) -> list[RowRange]:
    """All rows in stretches of about ``most``: several small row groups, parts of large ones.

    A row group of up to twice as many rows is read whole, because each of its parts would take as
    long to unpack as the whole group.
    """
    out: list[RowRange] = []
    waiting: list[tuple[int, int, int, int, int]] = []
    at = 0

    def close() -> None:
        nonlocal at
        if waiting:
            out.append(RowRange(tuple(waiting), at))
            at += out[-1].n_rows
            waiting.clear()

    for k, source in enumerate(sources):
        start = 0
        for g, rows in enumerate(source.groups):
            if sum(stop - begin for _, begin, stop, _, _ in waiting) + rows > most:
                close()
            if rows > 2 * most:
                for piece in in_pieces(rows, most):
                    waiting.append((k, start + piece.start, start + piece.stop, g, g))
                    close()
            elif rows and waiting and waiting[-1][0] == k and waiting[-1][2] == start:
                _, begin, _, first, _ = waiting.pop()
                waiting.append((k, begin, start + rows, first, g))
            elif rows:
                waiting.append((k, start, start + rows, g, g))
            start += rows
    close()
    return out


def at_least(row_ranges: Sequence[RowRange], least: int) -> list[RowRange]:
    """Ranges of at least ``least`` rows each, joined from consecutive ones; or one of all rows."""
    out: list[RowRange] = []
    for one in row_ranges:
        if out and out[-1].n_rows < least:
            out[-1] = out[-1].joined(one)
        else:
            out.append(one)
    if len(out) > 1 and out[-1].n_rows < least:
        last = out.pop()
        out[-1] = out[-1].joined(last)
    return out


@dataclass(frozen=True)
class SourceColumn:
    """A column of the files, and how it comes from them.

    Attributes
    ----------
    name : str
    key : str
        The name of the column in queries.
    places : tuple of int
        The place of the column in each file.
    sql : tuple of str
        The SQL for its values in each file.
    way : {"number", "levels", "date", "text"}
    hashes : ndarray of uint64 or None
        The hashes of the levels of a column of levels, 64 bits each.
    stored : tuple of str
        The levels as they are stored.
    numbers : ndarray of float64 or None
        The numbers that levels mean, NaN where a level means none; one more for missing values.
    texts : tuple of str
        The texts that levels are read as, None where a level stands for a missing value.
    """

    name: str
    key: str
    places: tuple[int, ...]
    sql: tuple[str, ...]
    way: str
    hashes: np.ndarray | None = None
    stored: tuple[str, ...] = ()
    numbers: np.ndarray | None = None
    texts: tuple[str | None, ...] = ()

    def chosen(self, file: int, hashed: bool = True) -> str:
        """SQL for the values in a file; for levels, their hashes or, if not ``hashed``, codes."""
        value = self.sql[file]
        if self.way == "levels":
            value = text_hash(value) if hashed else f"enum_code(CAST({value} AS e{self.key}))"
        return f"{value} AS {self.key}"


@dataclass(frozen=True, eq=False)
class _Block(Table):
    """Rows of files; ``row`` names one of them."""

    row: Callable[[int], str] = str

    def place(self, name: str, i: int) -> str:
        return f"{self.row(i)}: column {quote(name)}"


@dataclass(frozen=True)
class Columns:
    """The columns that were fetched for a stretch of rows, and the number of these rows."""

    arrays: dict[str, Any]
    n_rows: int


@dataclass(eq=False)
class EncodingPlan:
    """The plan by which rows of files become rows of a matrix; it can be sent to another process.

    Attributes
    ----------
    sources : tuple of SourceFile
    columns : tuple of SourceColumn
        The columns that are features.
    encoder : Encoder
    target : SourceColumn or None
    classes : ndarray or None
        Values of a target of numbers that are classes, sorted.
    codes : ndarray of int32 or None
        The class of each of these values, or of every level of a target of strings.
    weight : SourceColumn or None
    n_classes : int
        The number of classes; 0 for a quantity.
    single : bool
    test_size, seed
        The share of rows that are held out, and the seed of their choice.
    session : Session
        The session of the connections by which rows are read.
    stage : Stage or None
        The rows that were put aside when they were read.
    split : SourceColumn or None
        The column that decides whether a row is held out, where no hash of the row does.
    beside : SourceColumn or None
        The number of the group or the time of a row, where rows are to have it beside them.
    """

    sources: tuple[SourceFile, ...]
    columns: tuple[SourceColumn, ...]
    encoder: Encoder
    target: SourceColumn | None
    classes: np.ndarray | None
    codes: np.ndarray | None
    weight: SourceColumn | None
    n_classes: int
    single: bool
    test_size: float
    seed: int
    session: Session
    stage: Stage | None = None
    split: SourceColumn | None = None
    beside: SourceColumn | None = None
    # The levels of columns by their keys, and where each of them is missing.
    _levels: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_levels": {}}

    def fetched(self) -> list[SourceColumn]:
        """Every column that is read."""
        known = {one.key: one for one in self.columns}
        for one in (self.target, self.weight):
            if one is not None:
                known.setdefault(one.key, one)
        return list(known.values())

    def rows(self, row_range: RowRange) -> tuple[Rows, Rows | None]:
        """The rows of a stretch to fit, and those that are held out."""
        with pool.alone():
            every = self._rows(row_range)
            if self.test_size == 0.0:
                return every, None
            if self.split is not None:
                held = self._numbers_of(self.split, row_range) != 0.0
            else:
                held = hashed_hold_out(row_keys(as_design(every.matrix)), self.test_size, self.seed)
            return every[~held], every[held]

    def _rows(self, row_range: RowRange) -> Rows:
        if self.stage is not None and self.stage.has(row_range):
            raw, target, weights = self.stage.rows(row_range)
            matrix = self._of_raw(raw, [one.name for one in self.stage.columns])
        else:
            fetched = self._fetch(row_range)
            matrix = self._matrix(fetched, row_range)
            target = self._target(fetched, row_range)
            weights = self._weights(fetched, row_range)
        squares = np.array(as_design(matrix).row_squares())
        if not np.isfinite(squares).all():
            raise self._not_finite(matrix, row_range)
        beside = None
        if self.beside is not None:
            beside = self._numbers_of(self.beside, row_range)
        return Rows(matrix, target, weights, squares, beside=beside)

    def unlabelled(self, row_range: RowRange) -> Rows:
        """The rows of a range that are predicted: nothing of them counts but their matrix."""
        with pool.alone():
            matrix = self._matrix(self._fetch(row_range), row_range)
        return Rows(matrix, np.zeros(row_range.n_rows))

    def _matrix(self, fetched: Columns, row_range: RowRange) -> Any:
        table = self._table(fetched, row_range)
        return self.encoder.encode_block(table, np.float32 if self.single else np.float64)

    def _numbers_of(self, column: SourceColumn, row_range: RowRange) -> np.ndarray:
        """The numbers of a column that is no feature."""
        return numbers_of(column, self._fetch(row_range, [column]).arrays[column.key])[0]

    def _table(self, fetched: Columns, row_range: RowRange) -> Table:
        """The features as they were fetched, as a table."""
        encodings = self.encoder.column_encodings
        known = self.encoder.spellings_
        found = (source_of(one.name or "", known) for one in encodings)
        parts = {source for source in found if source is not None}
        parts -= {name for name, spelling in known.items() if spelling.parts}
        days = parts | {one.name for one in encodings if isinstance(one, Number) and one.date}
        columns: dict[str, Any] = {}
        for one in self.columns:
            found = fetched.arrays[one.key]
            if one.way == "text":
                columns[one.name] = found
            elif one.way == "levels" and one.numbers is None:
                columns[one.name] = self._categorical(one, found)
            else:
                values, gone = numbers_of(one, found)
                columns[one.name] = values if gone is None else masked(values, gone)
        return _Block(
            names=tuple(columns),
            columns=columns,
            kinds=dict.fromkeys(columns, "number"),
            n_rows=fetched.n_rows,
            dates=frozenset(days & set(columns)),
            row=partial(row_range.row, self.sources),
        )

    def _categorical(self, column: SourceColumn, fetched: Any) -> Categorical:
        if column.key not in self._levels:
            lost = np.array([text is None for text in (*column.texts, None)])
            levels = np.empty(len(column.texts), dtype=object)
            levels[:] = ["" if text is None else text for text in column.texts]
            self._levels[column.key] = levels, lost
        levels, lost = self._levels[column.key]
        # A missing value has the code behind those of the levels.
        codes = np.ma.filled(fetched, len(levels)) if np.ma.is_masked(fetched) else fetched
        codes = np.ma.getdata(codes).astype(np.int32, copy=False)
        return Categorical(np.where(lost[codes], np.int32(-1), codes), levels)

    def _of_raw(self, raw: np.ndarray, names: list[str]) -> np.ndarray:
        """The matrix of columns of numbers, a row each, none of which is missing."""
        own = [one for one in self.encoder.encodings if isinstance(one, Number)]
        places = [names.index(one.name) for one in own]
        means, scales = np.array([[one.mean, one.scale] for one in own]).T
        out = np.empty((raw.shape[1], len(own)), dtype=raw.dtype)
        _standardise(raw, np.array(places), means, scales, out)
        return out

    def staged(self, row_range: RowRange, stage: Stage) -> list[Numbers] | None:
        """Put the rows of a range aside as they are, in float32; return what columns add up to.

        None where a value is missing, or is no number.
        """
        mark = sha256_of(repr((_STAGED_FORM, row_range, self.sources, stage.columns)))
        known = stage.numbers(row_range, mark)
        if known is not None:
            return known
        fetched = self._fetch(row_range)
        raw = np.empty((len(stage.columns), fetched.n_rows), dtype=np.float32)
        found = []
        for row, one in zip(raw, stage.columns, strict=True):
            own = numbers_in(one, fetched.arrays[one.key], partial(row_range.row, self.sources))
            if own.n_missing:
                return None
            row[:] = np.ma.getdata(fetched.arrays[one.key])
            found.append(own)
        target, weights = self._target(fetched, row_range), self._weights(fetched, row_range)
        stage.put(row_range, raw, target, weights, mark, found)
        return found

    def _fetch(self, row_range: RowRange, wanted: list[SourceColumn] | None = None) -> Columns:
        """The values of some columns in a range of rows; by default of all that are encoded."""
        parts = []
        cursor, tables, gate = _readied(self)
        wanted = self.fetched() if wanted is None else wanted
        for k, start, stop, _, _ in row_range.pieces:
            source = self.sources[k]
            columns = (one.chosen(k, tables.get(one.key) is not None) for one in wanted)
            sql = source.rows(", ".join(["true AS row_seen", *columns]), start, stop)
            with gate:
                found = source.run(cursor, sql)
            source.require_same()
            if len(found["row_seen"]) != stop - start:
                raise DataError(
                    f"{source.label} has fewer rows than when it was scanned; scan the data again"
                )
            for key, table in tables.items():
                if table is None or key not in found:
                    continue
                codes = table.codes(np.ma.getdata(found[key]))
                if codes is None:
                    raise DataError(
                        f"{source.label} has a text that it did not have when it was scanned; "
                        "scan the data again"
                    )
                found[key] = codes
            parts.append(found)
        if len(parts) == 1:
            return Columns(parts[0], row_range.n_rows)
        joined = {one.key: np.ma.concatenate([part[one.key] for part in parts]) for one in wanted}
        plain = {
            key: column if np.ma.is_masked(column) else np.ma.getdata(column)
            for key, column in joined.items()
        }
        return Columns(plain, row_range.n_rows)

    def _target(self, fetched: Columns, row_range: RowRange) -> np.ndarray:
        if self.target is None:
            return np.zeros(fetched.n_rows)
        values, gone = numbers_of(self.target, fetched.arrays[self.target.key], self.codes)
        if gone is not None and gone.any():
            row = row_range.row(self.sources, int(np.argmax(gone)))
            raise DataError(f"column {quote(self.target.name)} has no value in {row}")
        if self.codes is None:
            return values.astype(np.float64)
        if self.classes is None:
            return values.astype(np.int32)
        places = np.searchsorted(self.classes, values)
        places[places == len(self.classes)] = 0
        off = self.classes[places] != values
        if off.any():
            row = row_range.row(self.sources, int(np.argmax(off)))
            raise DataError(
                f"{row}: column {quote(self.target.name)} has a value that it did not have "
                "when it was scanned; scan the data again"
            )
        return self.codes[places]

    def _weights(self, fetched: Columns, row_range: RowRange) -> np.ndarray | None:
        if self.weight is None:
            return None
        values, gone = numbers_of(self.weight, fetched.arrays[self.weight.key])
        bad = ~(np.isfinite(values) & (values >= 0.0))
        if gone is not None:
            bad |= gone
        if bad.any():
            i = int(np.argmax(bad))
            what = "no value" if gone is not None and gone[i] else f"{values[i]}"
            raise DataError(
                f"{row_range.row(self.sources, i)}: the weight {quote(self.weight.name)} is "
                f"{what}; weights are finite and not negative"
            )
        return values

    def _not_finite(self, matrix: Any, row_range: RowRange) -> DataError:
        dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
        bad = ~np.isfinite(dense)
        if not bad.any():
            i = int(np.argmax(~np.isfinite(np.einsum("ij,ij->i", dense, dense, dtype=np.float64))))
            return DataError(
                f"{row_range.row(self.sources, i)}: its numbers are too large, because "
                "their squares overflow"
            )
        i, j = (int(k[0]) for k in np.nonzero(bad))
        name = self.encoder.feature_names_[j]
        hint = "; give single=False" if self.single else ""
        return DataError(
            f"{row_range.row(self.sources, i)}: feature {quote(name)} is too large for the type in "
            f"which it is stored{hint}"
        )


def numbers_of(
    column: SourceColumn, fetched: Any, table: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The numbers of a column as it was fetched, and where there are none."""
    data = np.ma.getdata(fetched)
    gone = np.ma.getmaskarray(fetched) if np.ma.is_masked(fetched) else None
    if column.way != "levels":
        values = data.astype(np.float64, copy=False)
        lost = np.isnan(values)
        if lost.any():
            gone = lost if gone is None else gone | lost
        return values, gone
    table = column.numbers if table is None else table
    assert table is not None
    if gone is not None:
        data = np.where(gone, len(table) - 1, data.astype(np.int64))
    values = table[data]
    lost = np.isnan(values) if values.dtype == np.float64 else values < 0
    return values, lost if lost.any() else None


def numbers_in(column: SourceColumn, fetched: Any, place: Callable[[int], str]) -> Numbers:
    """The statistics of a column of numbers in rows that were fetched.

    ``place``: the name of a row of them in messages.
    """
    values, gone = numbers_of(column, fetched)
    there = values if gone is None else values[~gone]
    n_missing, named = len(values) - len(there), is_called_identifier(column.name)
    # The first column may count the rows; two rows are mostly enough to show that it does not.
    if not named and not n_missing and not any(column.places) and may_count_rows(column.name):
        named = bool(np.all(there[1:2] - there[:1] == 1.0) and np.all(np.diff(there) == 1.0))
    found = Numbers.of(there, n_missing, named=named, date=column.way == "date")
    if found.infinite:
        infinite = np.isinf(values) if gone is None else np.isinf(values) & ~gone
        raise DataError(
            f"{place(int(np.argmax(infinite)))}: column {quote(column.name)} is infinite; correct "
            "it, or leave it empty to count as missing"
        )
    return found


@dataclass(frozen=True)
class Stage:
    """Rows that were put aside until it is known what their columns add up to.

    Columns of nothing but numbers that float32 holds need to be read once only: they lie here, a
    file a stretch, as they are, and are standardised when all of them have been seen.  A process
    that was killed leaves them, with what they add up to, to the next one.

    Attributes
    ----------
    folder : str
        The folder of the blocks.
    columns : tuple of SourceColumn
    """

    folder: str
    columns: tuple[SourceColumn, ...]

    def _path(self, row_range: RowRange, suffix: str) -> Path:
        return Path(self.folder, f"{row_range.start}.{suffix}")

    def put(
        self,
        row_range: RowRange,
        raw: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        mark: str,
        numbers: Sequence[Numbers],
    ) -> None:
        """Keep rows, and then what they add up to, under the mark of what was read."""
        arrays = {"raw": raw, "target": target}
        if weights is not None:
            arrays["weights"] = weights
        write_arrays(self._path(row_range, "raw"), arrays)
        record = {"mark": mark, "numbers": [one.record() for one in numbers]}
        write_record(self._path(row_range, "sums"), record)

    def numbers(self, row_range: RowRange, mark: str) -> list[Numbers] | None:
        """The statistics of columns in the rows of a range, where they were read already."""
        record = read_record(self._path(row_range, "sums"), mark=mark)
        return None if record is None else [*map(Numbers.of_record, record["numbers"])]

    def has(self, row_range: RowRange) -> bool:
        """Whether the rows of a stretch lie here; encoded ones are no more."""
        return self._path(row_range, "raw").exists()

    def rows(self, row_range: RowRange) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The rows of a stretch, with their targets and weights."""
        arrays = read_arrays(self._path(row_range, "raw"))
        return arrays["raw"], arrays["target"], arrays.get("weights")

    def forget(self, row_range: RowRange) -> None:
        """Remove rows that are encoded."""
        self._path(row_range, "raw").unlink(missing_ok=True)


@njit(cache=True, nogil=True, error_model="numpy")
def _standardise(columns: Any, places: Any, means: Any, scales: Any, out: Any) -> None:
    """Standardise columns in float64, and write them as those of a matrix of rows."""
    n_rows, tile = columns.shape[1], np.empty(_TILE, out.dtype)
    for first in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - first)
        for j in range(len(places)):
            own, mean, scale = columns[places[j], first : first + size], means[j], scales[j]
            for i in range(size):
                tile[i] = (np.float64(own[i]) - mean) / scale
            for i in range(size):
                out[first + i, j] = tile[i]


# --- tables of levels, one for every column in a process ------------------------------------------


def _readied(plan: EncodingPlan) -> tuple[Any, dict[str, _Table | None], threading.Semaphore]:
    """This thread's cursor, the tables of the plan's levels and the gate of the readers."""
    own = cursor(plan.session)
    known = opened(plan.session)
    every = [*plan.fetched(), plan.split, plan.beside]
    levels = [one for one in every if one is not None and one.way == "levels"]
    with known.lock:
        for one in levels:
            if one.key not in known.tables:
                known.tables[one.key] = _table_of(one, known.connection)
    tables = {one.key: known.tables[one.key] for one in levels}
    return own, tables, known.gate


def _table_of(column: SourceColumn, connection: Any) -> _Table | None:
    none = connection.execute(f"SELECT {text_hash('NULL')} AS h").fetchnumpy()["h"]
    missing = np.ma.getdata(none).astype(np.uint64)
    assert column.hashes is not None
    table = _Table.of(np.concatenate([column.hashes, missing]))
    if table is None:
        # Slower, and exact whatever the texts are.
        levels = ", ".join(map(files.literal, column.stored))
        connection.execute(f"CREATE TYPE e{column.key} AS ENUM ({levels})")
    return table


def text_hash(value: str) -> str:
    """SQL for 64 bits of a text."""
    return f"hash(CAST({value} AS VARCHAR))"


@dataclass(frozen=True)
class _Table:
    """Numbers of texts by the 64 bits that DuckDB makes of each: an open hash table.

    It is checked first that no two levels, nor a level and a missing value, have the same bits.
    Other texts than the levels are not in the files, as long as these are the files that were
    scanned: then bits are as good as texts.
    """

    keys: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, hashes: np.ndarray) -> _Table | None:
        """The table in which each of some hashes has its place as its number.

        None where two of them are equal.
        """
        if len(np.unique(hashes)) < len(hashes):
            return None
        size = 1 << int(2 * len(hashes)).bit_length()
        table = cls(np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int32))
        _insert(hashes, table.keys, table.values)
        return table

    def codes(self, hashes: np.ndarray) -> np.ndarray | None:
        """The numbers of some texts; None where one is not known."""
        out = np.empty(len(hashes), dtype=np.int32)
        return out if _look_up(hashes, self.keys, self.values, out) else None


@njit(cache=True, nogil=True)
def _insert(hashes: Any, keys: Any, values: Any) -> None:
    mask = np.uint64(len(keys) - 1)
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while values[at] >= 0:
            at = (at + np.uint64(1)) & mask
        keys[at], values[at] = hashes[i], i


@njit(cache=True, nogil=True)
def _look_up(hashes: Any, keys: Any, values: Any, out: Any) -> bool:
    mask = np.uint64(len(keys) - 1)
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while values[at] >= 0 and keys[at] != hashes[i]:
            at = (at + np.uint64(1)) & mask
        if values[at] < 0:
            return False
        out[i] = values[at]
    return True


# --- blocks that are not stored -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SourceBlock(Block):
    """Rows that are decoded from their files at every use.

    Attributes
    ----------
    plan : EncodingPlan
    row_range : RowRange
    held : bool
        Whether these are the rows that are held out.
    checksum : str
        The checksum of the rows as they were scanned; empty where they were not.
    """

    plan: EncodingPlan
    row_range: RowRange
    held: bool
    checksum: str
    n_rows: int
    n_stored: int
    nbytes: int
    place: str

    def load(self) -> Rows:
        for k in {piece[0] for piece in self.row_range.pieces}:
            self.plan.sources[k].require_same()
        if not self.checksum:
            return self.plan.unlabelled(self.row_range)
        fit, held = self.plan.rows(self.row_range)
        rows = held if self.held and held is not None else fit
        if digest_of(rows) != self.checksum:
            raise DataError(f"{self.place}: the rows have changed; scan the data again")
        return rows


def contents_of(rows: Rows) -> RowDigest:
    """A digest of the content of rows, however they are cut into blocks and stored."""
    columns = [row_keys(rows.design), rows.target.astype("<f8").view("<u8")]
    if rows.weights is not None:
        columns.append(rows.weights.astype("<f8").view("<u8"))
    return RowDigest.of(np.column_stack(columns))


def digest_of(rows: Rows) -> str:
    """A digest of rows as they are encoded."""
    value = 0
    for array in rows.arrays:
        value = zlib.crc32(bytes_in(array), value)
    return f"{value:08x}"
