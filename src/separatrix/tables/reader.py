"""Files to typed columns.

What is read
    ``.csv``, ``.tsv``, ``.parquet``, ``.json`` (an array of records, or one record a line, also
    ``.jsonl`` and ``.ndjson``) by DuckDB; ``.svm``, ``.svmlight``, ``.libsvm`` by scikit-learn; a
    pattern such as ``"part-*.csv"``; ``"-"`` (CSV on standard input); a built-in name.

How a column gets its kind
    ``number``: numeric and boolean columns; CSV columns in which every value is a number, or every
    value is ``true`` or ``false``; dates and timestamps (ISO form, in CSV), which become days since
    1970-01-01 in UTC; times of day, which become hours.
    ``text``: strings of a median of at least 3 words of which at least half are distinct, or of at
    least 8 words of which at least a tenth are distinct.
    ``category``: all other strings. Parquet and JSON columns that are stored as strings stay
    strings even where all of them look like numbers.
    ``kinds={"column": "category"}`` overrides; then the values are taken as they are written.

What counts as missing
    NULL, NaN, nothing but blanks, and the marks in :data:`DEFAULT_MISSING`, in every format.
    Blanks around a value are not part of it.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import glob as globbing
import io
import itertools
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._compiled.memory import is_tight
from separatrix.exceptions import DataError
from separatrix.tables import wide
from separatrix.tables.builtin import BUILTIN_NAMES, load_builtin
from separatrix.tables.table import (
    BLANKS,
    DEFAULT_MISSING,
    NUMBER,
    Remarks,
    Table,
    as_numbers,
    as_strings,
    checked_kinds,
    date_note,
    listed,
    masked,
    missing_marks,
    missing_mask,
    nearest,
    number_column,
    parse_number,
    shown,
    string_kind,
    with_kinds,
)
from separatrix.tables.wide import Cells, write_cells

__all__ = ["SUFFIXES", "read_table"]

SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
SUFFIXES = (".csv", ".tsv", ".parquet", *_JSON_SUFFIXES, *SVMLIGHT_SUFFIXES)

_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:$|[T ])", re.A)
_SAMPLE_ROWS = 2000
# Tables with more columns than this are not looked through for the one whose name is at fault.
_MOST_RENAMED = 100_000

# -------------------------------------------------------------------------------------- reading


def read_table(
    source: str | os.PathLike[str],
    *,
    missing: Iterable[str] = DEFAULT_MISSING,
    kinds: Mapping[str, str] | None = None,
    skip_absent: bool = False,
) -> Table:
    """Read a table and find what its columns are.

    Parameters
    ----------
    source : str or path
        A file (``.csv .tsv .parquet .json .svm``), a pattern (``"part-*.parquet"``: the files in
        the order of their names, with the same columns), ``"-"`` for CSV on standard input, or a
        built-in name (``iris``, ``breast-cancer``, ``wine``, ``digits``, ``diabetes``).
    missing : iterable of str
        What stands for a missing value, next to nothing at all; see :data:`DEFAULT_MISSING`.
    kinds : mapping of str to {"number", "category", "text", "ignore"}, optional
        Overrides for single columns.
    skip_absent : bool
        Whether ``kinds`` may name columns that the source does not have, which are then passed
        over, as when another file is read with the kinds of an earlier one.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the source cannot be found or read; the message says what is wrong, where, and what to
        do.
    ImportError
        If DuckDB is not installed.

    Examples
    --------
    >>> from separatrix.tables import read_table
    >>> table = read_table("iris")
    >>> table.n_rows, table.kinds["target"]
    (150, 'category')
    """
    marks = missing_marks(missing)
    asked = _Asked(marks, kinds, skip_absent)
    name = os.fspath(source)
    if name == "-":
        return _read_stdin(asked)
    if isinstance(source, str) and name in BUILTIN_NAMES:
        return asked.apply(load_builtin(name))
    paths = _find_files(name)
    suffixes = {path.suffix.lower() for path in paths}
    for path in paths:
        _check_file(path)
    if suffixes & set(SVMLIGHT_SUFFIXES):
        if len(paths) > 1:
            raise DataError(f"{name} matches {len(paths)} svmlight files; give one at a time")
        return asked.apply(_read_svmlight(paths[0]))
    for path in paths:
        _check_path(path)
    with contextlib.ExitStack() as stack:
        parts = [_Part(path, str(path), path.suffix.lower()) for path in paths]
        return _read_parts(parts, name, asked, stack)


@dataclass(frozen=True)
class _Asked:
    """What the caller of :func:`read_table` asked for."""

    marks: frozenset[str]
    kinds: Mapping[str, str] | None
    skip_absent: bool

    def wanted(self, names: Sequence[str], source: str) -> dict[str, str]:
        return checked_kinds(self.kinds, names, source, skip_absent=self.skip_absent)

    def apply(self, table: Table) -> Table:
        return with_kinds(table, self.wanted(table.names, table.source))


def _find_files(name: str) -> list[Path]:
    if not name:
        raise DataError("the name of the table is empty; give a file, a pattern, or - for stdin")
    path = Path(name)
    if path.is_dir():
        raise DataError(f"{name} is a folder; give a file, or a pattern such as {name}/*.csv")
    if path.exists():
        paths = [path]
    elif globbing.has_magic(name):
        paths = [Path(found) for found in sorted(globbing.glob(name, recursive=True))]
        paths = [found for found in paths if found.is_file()]
        if not paths:
            raise DataError(f"no file matches the pattern {name}")
    elif path.suffix == "" and path.name == name:
        near = difflib.get_close_matches(name.lower(), BUILTIN_NAMES, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"{name!r} is neither a file nor a built-in name ({', '.join(BUILTIN_NAMES)}){hint}"
        )
    else:
        raise DataError(f"{name} does not exist{_nearby_file(path)}")
    for found in paths:
        if found.suffix.lower() not in SUFFIXES:
            raise DataError(
                f"{found} has the suffix {found.suffix.lower()!r}, which is not one of "
                f"{' '.join(SUFFIXES)}; convert the file, or rename it if it is one of these"
            )
    return paths


def _nearby_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    try:
        there = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in SUFFIXES)
    except OSError:
        return ""
    return nearest(path.name, there)


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"{path} is empty")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_path(path: Path) -> None:
    """Refuse a name that is not UTF-8, as DuckDB does with an error of its own bindings."""
    try:
        str(path.absolute()).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(
            f"{path}: the name of the file, or of a folder that it is in, is not UTF-8; rename it, "
            "or give a CSV file on standard input"
        ) from None


def _read_stdin(asked: _Asked) -> Table:
    stream = getattr(sys.stdin, "buffer", None)
    data = stream.read() if stream is not None else sys.stdin.read().encode()
    if not data:
        raise DataError("standard input is empty")
    _duckdb()  # before there is a file that an interrupted import would leave behind
    with contextlib.ExitStack() as stack:
        path = _temporary_file(stack)
        path.write_bytes(data)
        part = _Part(path, "standard input", ".csv")
        return _read_parts([part], "standard input", asked, stack)


def _temporary_file(stack: contextlib.ExitStack) -> Path:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="separatrix-"))
    return Path(folder) / "table.csv"


# ------------------------------------------------------------------------------------- svmlight


# Columns that an svmlight file may have however few entries it has, and for each entry.
_FREE_COLUMNS = 1_000_000
_COLUMNS_PER_ENTRY = 100


def _read_svmlight(path: Path) -> Table:
    from scipy import sparse
    from sklearn.datasets import load_svmlight_file

    try:
        # Column j of the matrix is index j of the file, so that files counted from 0 and from 1
        # keep their columns apart without guessing; an unused column 0 costs nothing.
        matrix, target = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        fault = _svmlight_fault(path)
        what = f", {fault}" if fault else f" is not svmlight: {error}"
        raise DataError(f"{path}{what}") from None
    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    if matrix.shape[0] == 0:
        raise DataError(f"{path} holds no rows")
    if matrix.shape[1] > max(_FREE_COLUMNS, _COLUMNS_PER_ENTRY * matrix.nnz):
        # Names, weights and scales are as many as columns, whatever the file holds.
        row = int(np.searchsorted(matrix.indptr, int(matrix.indices.argmax()), side="right"))
        raise DataError(
            f"{path}, row {row}: feature {matrix.shape[1] - 1:,} makes as many columns, of which "
            f"{matrix.nnz:,} entries can use few; number the features from 1 on"
        )
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
        raise DataError(
            f"{path}, row {row}: feature {int(matrix.indices[bad[0]])} is "
            f"{matrix.data[bad[0]]}, which is not a finite number"
        )
    target = np.asarray(target, dtype=np.float64)
    return Table(
        names=("target",),
        columns={"target": number_column(target, np.isnan(target))},
        kinds={"target": "number"},
        n_rows=int(matrix.shape[0]),
        source=str(path),
        matrix=matrix,
    )


def _svmlight_fault(path: Path) -> str | None:
    """What is wrong with the first faulty line of an svmlight file."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            fields = raw.split(b"#", 1)[0].split()
            if not fields:
                continue
            label, *pairs = (field_.decode("utf-8", "replace") for field_ in fields)
            if parse_number(label) is None:
                return f"line {number}: the label {shown(label)} is not a number"
            last = -1
            for pair in pairs:
                index, colon, value = pair.partition(":")
                if index == "qid":
                    continue
                if not colon or not index.isdigit() or parse_number(value) is None:
                    return f"line {number}: {shown(pair)} is not index:value"
                if int(index) <= last:
                    return f"line {number}: index {index} comes after {last}; they must increase"
                last = int(index)
    return None


# --------------------------------------------------------------------------- DuckDB: the plumbing


def _duckdb() -> Any:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ImportError(
            'reading table files needs DuckDB: pip install "separatrix[app]"'
        ) from None
    return duckdb


def _connect() -> Any:
    # Where it cannot start a thread, or a thread cannot reserve memory, DuckDB ends the process.
    threads = {"threads": "1"} if is_tight() else {}
    connection = _duckdb().connect(
        ":memory:",
        config={
            **threads,
            # A table must not make the reader fetch code, or look into the caller's variables.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    # It turns IN (...) into a join, and a join does not keep the rows in their order.
    connection.execute("SET disabled_optimizers = 'in_clause'")
    return connection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class _Part:
    """One file: where it is, what its columns are called, and their groups of types.

    No name from a file reaches SQL: columns are ``c0, c1, ...`` by position.
    """

    path: Path
    label: str
    suffix: str
    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    delimiter: str = ","
    skip: int = 0
    longest_line: int = 0
    unnamed: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    cells: Cells | None = None

    @property
    def is_csv(self) -> bool:
        return self.suffix in (".csv", ".tsv")

    def relation(self) -> str:
        if self.cells is not None:
            return self.cells.relation(_literal(globbing.escape(str(self.cells.path.absolute()))))
        where = _literal(globbing.escape(str(self.path.absolute())))
        aliases = ", ".join(f"c{j}" for j in range(len(self.names)))
        alias = f" AS t({aliases})" if self.names else ""
        if self.is_csv:
            columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(self.names)))
            longest = f", max_line_size = {self.longest_line}" if self.longest_line else ""
            return (
                f"read_csv({where}, auto_detect = false, delim = {_literal(self.delimiter)}, "
                "quote = '\"', escape = '\"', header = true, strict_mode = true, "
                f"hive_partitioning = false{longest}, columns = {{{columns}}}){alias}"
            )
        if self.suffix == ".parquet":
            return f"read_parquet({where}, hive_partitioning = false){alias}"
        size = max(16_777_216, self.path.stat().st_size + 1)
        return (
            f"read_json({where}, records = 'true', sample_size = -1, map_inference_threshold = -1, "
            f"hive_partitioning = false, maximum_object_size = {min(size, 4_000_000_000)}){alias}"
        )

    def describe(self, connection: Any) -> None:
        """Find the names and types of the columns."""
        if self.is_csv:
            self.names = self._csv_header()
            self.types = ["string"] * len(self.names)
            self.places = {name: j for j, name in enumerate(self.names)}
            return
        described = self._description(connection, self.relation())
        if described is None:
            raise DataError(self._unreadable_name(connection))
        names = [name for name, _ in described]
        self.types = [_type_group(kind) for _, kind in described]
        self.names = names
        _check_names(names, self.label)
        self.places = {name: j for j, name in enumerate(names)}

    def _description(self, connection: Any, relation: str) -> list[tuple[str, str]] | None:
        """Names and types of a relation's columns; None where one of the names is not UTF-8."""
        cursor = self.run(connection, f"SELECT * FROM {relation} LIMIT 0", fetch=False)
        try:
            return [(str(entry[0]), str(entry[1])) for entry in cursor.description]
        except (UnicodeDecodeError, RuntimeError) as error:
            # A column's own name is converted by C++ code with an error of its own, the name of
            # a field inside a column by Python.
            if isinstance(error, RuntimeError) and "conversion error" not in str(error):
                raise
            return None

    def _unreadable_name(self, connection: Any) -> str:
        """One sentence about the last column whose name is not UTF-8."""

        def readable(renamed: int) -> bool:
            # Names given by us replace the first ones of the file; more than it has do no harm.
            aliases = ", ".join(f"c{j}" for j in range(renamed))
            alias = f" AS t({aliases})" if renamed else ""
            return self._description(connection, self.relation() + alias) is not None

        below, above = 0, 1
        while not readable(above):
            below, above = above, 2 * above
            if above > _MOST_RENAMED:
                # No new name for a column helps: a name inside of one is at fault.
                return (
                    f"{self.label} has a column of records in which a field's name is not UTF-8; "
                    "rename the field, or leave the column out of the file"
                )
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if readable(middle) else (middle, above)
        return (
            f"{self.label}: the name of column {above} is not UTF-8; write the file again with "
            "another name for it"
        )

    def run(self, connection: Any, sql: str, *, fetch: bool = True) -> Any:
        """Columns of a query, with DuckDB's errors turned into one sentence about this file."""
        if self.skip:
            # DuckDB can skip lines, but then loses every row where line ends are of two sorts.
            raise _CsvTrouble(self, "there are blank lines before the header")
        try:
            cursor = connection.execute(sql)
            return cursor.fetchnumpy() if fetch else cursor
        except _duckdb().InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:
            # DuckDB waits for Ctrl-C by itself and then raises this in its place.
            if "interrupted" not in str(error):
                raise
            raise KeyboardInterrupt from None
        except _duckdb().OutOfMemoryException as error:
            raise MemoryError(f"while {self.label} was read") from error
        except _duckdb().Error as error:
            if self.cells is not None:  # Python has read it already, so this is no fault of it
                raise _unreadable_csv(self.label, str(error)) from None
            if self.is_csv:
                raise _CsvTrouble(self, str(error)) from None
            raise DataError(self._fault(str(error))) from None

    def _fault(self, message: str) -> str:
        first = message.strip().splitlines()[0]
        first = re.sub(r"^[A-Z][\w ]*Error: ", "", first)
        # DuckDB names the file by its whole path; this sentence has named it already.
        first = re.sub(r' in (?:Parquet )?file ".*?"|File \'.*?\' ', "", first).rstrip(" .")
        if self.suffix == ".parquet":
            return f"{self.label} is not a readable Parquet file: {first}"
        position = _utf8_fault(self.path)
        if position is not None:
            return f"{self.label} {position}"
        with self.path.open("rb") as file:
            start = file.read(4096)
        if not start.strip(b" \t\r\n[]{}"):
            return f"{self.label} holds no rows"
        if "expected records" in message:
            return (
                f"{self.label} holds JSON that is not records; write an array of objects, or one "
                "object a line"
            )
        return f"{self.label} is not readable JSON: {first}"

    def _csv_header(self) -> list[str]:
        try:
            with _csv_text(self.path) as file, _large_fields():
                first = ""
                for first in file:
                    if first.strip(BLANKS):
                        break
                    self.skip += 1
                self.delimiter = "\t" if self.suffix == ".tsv" else _delimiter(first)
                lines = itertools.chain([first], file)
                row = next(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True), [])
        except UnicodeDecodeError:
            raise DataError(f"{self.label} {_utf8_fault(self.path)}") from None
        except csv.Error as error:
            raise DataError(f"{self.label}, line 1: {error}") from None
        names = [name.strip(BLANKS) for name in row]
        if not any(names):
            raise DataError(f"{self.label} is empty")
        self.unnamed = [f"unnamed_{j + 1}" for j, name in enumerate(names) if not name]
        names = [name or f"unnamed_{j + 1}" for j, name in enumerate(names)]
        _check_names(names, self.label)
        return names


class _CsvTrouble(Exception):
    """DuckDB could not read a CSV file; ``part`` says which."""

    def __init__(self, part: _Part, message: str):
        super().__init__(message)
        self.part = part


def _csv_text(path: Path) -> io.TextIOWrapper:
    return open(path, encoding="utf-8-sig", newline="")


@contextlib.contextmanager
def _large_fields() -> Iterator[None]:
    old = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(old)


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {mark: bare.count(mark) for mark in (",", ";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _check_names(names: Sequence[str], label: str) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in seen:
            raise DataError(
                f"{label} has two columns named {shown(name)} (columns {seen[name] + 1} and "
                f"{j + 1}); rename one"
            )
        seen[name] = j


def _utf8_fault(path: Path) -> str | None:
    """Where a file stops being UTF-8."""
    with path.open("rb") as file:
        start = file.read(4)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "is UTF-16, not UTF-8; save it as UTF-8"
        file.seek(0)
        offset = 0
        for number, raw in enumerate(file, start=1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"is not UTF-8: line {number}, byte {offset + error.start + 1} of the file is "
                    f"0x{raw[error.start]:02x}; save it as UTF-8"
                )
            offset += len(raw)
    return None


def _checked_rows(part: _Part) -> Iterator[list[str]]:
    """The header and the rows of a CSV file as Python reads them, or what is wrong with it."""
    position = _utf8_fault(part.path)
    if position is not None:
        raise DataError(f"{part.label} {position}")
    width = len(part.names)
    with _large_fields(), _csv_text(part.path) as file:
        reader = csv.reader(file, delimiter=part.delimiter, skipinitialspace=True, strict=True)
        line = 1
        seen_header = False
        try:
            for row in reader:
                trailing = len(row) == width + 1 and row[-1] == ""  # DuckDB allows it too
                if seen_header and row and len(row) != width and not trailing:
                    fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                    raise DataError(
                        f"{part.label}, line {line}: {fields}, where the header has {width}; "
                        'correct the line (a value that holds the delimiter needs "quotes")'
                    )
                seen_header = seen_header or any(value.strip(BLANKS) for value in row)
                # An empty line is a missing value where there is one column, and nothing else.
                row = row or [""] * (width == 1)
                if row and seen_header:
                    yield row[:width]
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{part.label}, line {line}: "
                + (
                    "a quote is opened and never closed"
                    if "unexpected end" in str(error)
                    else f"the quotes are wrong ({error})"
                )
            ) from None


def _diagnose_csv(part: _Part, message: str, stack: contextlib.ExitStack) -> None:
    """Say what is wrong with a CSV file, or make a plain copy of it that DuckDB can read.

    Python's reader is slow and lenient; it is the second opinion. What it finds sound (line ends
    of two sorts in one file, very long lines) is rewritten in the plainest form.
    """
    copy = _temporary_file(stack)
    longest = 0
    with copy.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=part.delimiter, lineterminator="\n")
        for row in _checked_rows(part):
            writer.writerow(row)
            longest = max(longest, sum(4 * len(value) + 3 for value in row))
    if part.path.parent.name.startswith("separatrix-") and part.longest_line:
        raise _unreadable_csv(part.label, message)
    part.path = copy
    part.skip = 0
    part.longest_line = longest + 1024


def _unreadable_csv(label: str, message: str) -> DataError:
    return DataError(f"{label} is not readable CSV: {message.strip().splitlines()[0]}")


def _take_apart(part: _Part, stack: contextlib.ExitStack) -> None:
    """Rewrite a CSV file of many columns, one cell a line."""
    rows = _checked_rows(part)
    next(rows)  # the header
    part.cells = write_cells(rows, len(part.names), _temporary_file(stack))
    part.skip = 0


def _type_group(name: str) -> str:
    """What a DuckDB type is to a table."""
    base = re.sub(r"\(.*", "", name).upper().strip('"')
    if name.endswith("]"):
        return "list"
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM", base):
        return "integer"
    if base in ("FLOAT", "DOUBLE", "DECIMAL"):
        return "number"
    if base == "BOOLEAN":
        return "bool"
    if base.startswith("TIMESTAMP") or base == "DATE":
        return "date"
    if base.startswith("TIME"):
        return "time"
    if base in ("VARCHAR", "UUID", "ENUM"):
        return "string"
    if base == "JSON":
        return "json"
    if base == "NULL":
        return "null"
    return base.lower()


_NUMERIC_GROUPS = {"integer", "number", "bool"}


def _merged_group(groups: list[str], labels: list[str], name: str) -> str:
    """One group for a column over several files."""
    known = [(group, label) for group, label in zip(groups, labels, strict=True) if group != "null"]
    if not known:
        return "null"
    kinds = {group for group, _ in known}
    if len(kinds) == 1:
        return known[0][0]
    if kinds <= _NUMERIC_GROUPS:
        return "number"
    if kinds <= {"string", "json"}:
        return "json" if kinds == {"json"} else "string"
    other = next(entry for entry in known if entry[0] != known[0][0])
    raise DataError(
        f"column {shown(name)} holds {known[0][0]} values in {known[0][1]} and {other[0]} values "
        f"in {other[1]}; make them one type"
    )


# ----------------------------------------------------------------------------- DuckDB: the columns


def _clean(expression: str) -> str:
    return f"trim({expression}, {_literal(BLANKS)})"


def _clean_cell(expression: str) -> str:
    return f"CASE WHEN b THEN {_clean(expression)} ELSE {expression} END"


class _Marked:
    """SQL for what is missing."""

    _DATE = r"'^[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}($|[T ])'"

    def __init__(self, marks: frozenset[str], clean: Callable[[str], str] = _clean):
        self.clean = clean
        self.listed = ", ".join(_literal(mark) for mark in sorted(marks))
        # A mark such as -999 reads as a number, so numbers must be compared with the marks first.
        self.has_numbers = any(
            (number := parse_number(mark)) is not None and not math.isnan(number) for mark in marks
        )

    def string(self, c: str) -> str:
        return f"CASE WHEN {self.clean(c)} IN ({self.listed}) THEN NULL ELSE {self.clean(c)} END"

    def as_number(self, c: str) -> str:
        # DuckDB takes 1_000 for a number; a code that holds an underscore is none.
        value = f"CASE WHEN contains({c}, '_') THEN NULL ELSE TRY_CAST({c} AS DOUBLE) END"
        if self.has_numbers:
            return f"CASE WHEN {self.clean(c)} IN ({self.listed}) THEN NULL ELSE {value} END"
        return value

    def as_bool(self, c: str) -> str:
        text = f"lower({self.clean(c)})"
        return f"CASE WHEN {text} = 'true' THEN true WHEN {text} = 'false' THEN false END"

    def as_date(self, c: str) -> str:
        # The pattern keeps out words DuckDB takes for dates ("epoch", "infinity").
        stamp = f"epoch(TRY_CAST({self.clean(c)} AS TIMESTAMPTZ)) / 86400.0"
        return f"CASE WHEN regexp_matches({self.clean(c)}, {self._DATE}) THEN {stamp} END"

    def cast(self, c: str, kind: str) -> str:
        return {"number": self.as_number, "bool": self.as_bool, "date": self.as_date}[kind](c)

    def unlike(self, c: str, kind: str) -> str:
        """What :func:`_guess` asks of a value: neither missing nor written like this kind."""
        text = self.clean(c)
        like = {
            "number": f"regexp_full_match({text}, {_literal(NUMBER.pattern)}, 'i')",
            "bool": f"lower({text}) IN ('true', 'false')",
            "date": f"regexp_matches({text}, {self._DATE})",
        }[kind]
        return f"{text} NOT IN ({self.listed}) AND NOT {like}"

    def count_unfit(self, c: str, kind: str) -> str:
        """How many values are not of a kind, marks for missing values included."""
        return f"count({c}) - count({self.cast(c, kind)})"

    def count_other(self, c: str, kind: str) -> str:
        """How many values are neither missing nor of a kind."""
        return (
            f"count(*) FILTER (WHERE {c} IS NOT NULL AND ({self.cast(c, kind)}) IS NULL "
            f"AND {self.clean(c)} NOT IN ({self.listed}))"
        )


_PROPOSED = ("number", "bool", "date")  # what a CSV column of strings may be, in this order


def _guess(values: Iterable[Any], marks: frozenset[str]) -> str:
    """The kind a sample of strings suggests: number, bool, date or string."""
    candidates = list(_PROPOSED)
    for value in values:
        text = "" if value is None else str(value).strip(BLANKS)
        if text in marks:
            continue
        if "number" in candidates and not NUMBER.fullmatch(text):
            candidates.remove("number")
        if "bool" in candidates and text.lower() not in ("true", "false"):
            candidates.remove("bool")
        if "date" in candidates and not _DATE.match(text):
            candidates.remove("date")
        if not candidates:
            return "string"
    return candidates[0]


def _read_parts(
    parts: list[_Part], source: str, asked: _Asked, stack: contextlib.ExitStack
) -> Table:
    connection = stack.enter_context(contextlib.closing(_connect()))
    for part in parts:
        part.describe(connection)
    _check_same_columns(parts)
    if all(part.is_csv for part in parts):
        size = sum(part.path.stat().st_size for part in parts)
        if wide.is_wide(len(parts[0].names), size):
            for part in parts:
                _take_apart(part, stack)
    for _ in range(2 * len(parts) + 1):
        try:
            return _read_columns(connection, parts, source, asked)
        except _CsvTrouble as trouble:
            _diagnose_csv(trouble.part, str(trouble), stack)
    raise AssertionError("a CSV file was repaired twice")  # pragma: no cover


def _check_same_columns(parts: list[_Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        lacking = [name for name in first.names if name not in part.places]
        extra = [name for name in part.names if name not in first.places]
        if lacking or extra:
            says = [f"lacks {listed(lacking)}"] if lacking else []
            says += [f"has {listed(extra)} besides"] if extra else []
            raise DataError(
                f"the files differ in their columns: {part.label} {' and '.join(says)}, compared "
                f"with {first.label}"
            )


def _read_columns(connection: Any, parts: list[_Part], source: str, asked: _Asked) -> Table:
    names, marks = parts[0].names, asked.marks
    wanted = asked.wanted(names, source)
    kept = [name for name in names if wanted.get(name) != "ignore"]
    groups: dict[str, str] = {}
    for name in kept:
        group = _merged_group(
            [part.types[part.places[name]] for part in parts],
            [part.label for part in parts],
            name,
        )
        if group not in {*_NUMERIC_GROUPS, "string", "json", "date", "time", "null"}:
            raise DataError(
                f"{source}: column {shown(name)} holds {group} values, not numbers, dates or "
                f'strings; take it apart, or leave it out with kinds={{"{name}": "ignore"}}'
            )
        groups[name] = group
    if parts[0].is_csv:
        undecided = [name for name in kept if name not in wanted]
        find = _found_groups if parts[0].cells is None else _found_groups_of_cells
        groups.update(find(connection, parts, undecided, marks))

    pieces: dict[str, list[Any]] = {name: [] for name in kept}
    n_rows = 0
    for part in parts:
        get = _values if part.cells is None else _values_of_cells
        count, fetched = get(connection, part, groups, wanted, marks)
        n_rows += count
        for name in kept:
            pieces[name].append(fetched[name])
    if n_rows == 0:
        what = "a header but no rows" if parts[0].is_csv else "no rows"
        raise DataError(f"{source} holds {what}")

    columns: dict[str, Any] = {}
    found: dict[str, str] = {}
    dates, notes, alerts = set(), Remarks(), Remarks()
    for name in kept:
        column = _finish(pieces.pop(name), groups[name], wanted.get(name), name)
        columns[name] = column
        found[name] = wanted.get(name) or (
            "number" if column.dtype != object else string_kind(column)
        )
        if name in parts[0].unnamed:
            notes.add(
                "without a name in the header",
                f"column {parts[0].places[name] + 1} has no name in the header: it is called "
                f"{shown(name)}",
            )
        if parts[0].is_csv and column.dtype == object:
            _look_for_slips(alerts, name, column, insisted=name in wanted)
        if found[name] == "number" and groups[name] == "date":
            dates.add(name)
            notes.add("holding dates, read as days", date_note(name))
        if found[name] == "number" and groups[name] == "time":
            notes.add(
                "holding times of day, read as hours",
                f"column {shown(name)} holds times of day: read as hours",
            )
    return Table(
        names=tuple(kept),
        columns=columns,
        kinds=found,
        n_rows=n_rows,
        source=source,
        overridden=frozenset(name for name in kept if name in wanted),
        dates=frozenset(dates),
        notes=tuple(notes.lines()),
        alerts=tuple(alerts.lines()),
    )


# A column of strings of which this share is numbers was probably meant to hold nothing else.
_MEANT_AS_NUMBERS = 0.95
_FEWEST_NUMBERS = 10


def _look_for_slips(alerts: Remarks, name: str, column: Any, *, insisted: bool) -> None:
    """Warn of a few stray cells in a CSV column: words among numbers, NUL bytes."""
    there = np.flatnonzero(~missing_mask(column))
    values = np.ma.getdata(column)[there].tolist()
    nul = next((i for i, value in enumerate(values) if "\0" in value), None)
    if nul is not None:
        alerts.add(
            "holding NUL bytes",
            f"column {shown(name)}, row {int(there[nul]) + 1}: {shown(values[nul])} holds a NUL "
            "byte, so the file may be damaged or not UTF-8",
        )
    # Most columns of words show in a few values that they are no numbers.
    sample = values[:: max(1, len(values) // 1000)]
    share = sum(parse_number(value) is not None for value in sample) / max(1, len(sample))
    if insisted or share < _MEANT_AS_NUMBERS - 0.05:
        return
    spells = {value: parse_number(value) is not None for value in set(values)}
    strays = [i for i, value in enumerate(values) if not spells[value]]
    n_numbers = len(values) - len(strays)
    if not strays or n_numbers < max(_FEWEST_NUMBERS, _MEANT_AS_NUMBERS * len(values)):
        return
    first = values[strays[0]]
    cells, them = ("1 cell", "it") if len(strays) == 1 else (f"{len(strays):,} cells", "them")
    where = f"{shown(first)} in row {int(there[strays[0]]) + 1}"
    mark = ""
    if len({values[i] for i in strays}) == 1 and len(first) <= 20 and first.isprintable():
        mark = f' (or read it as missing with missing=["{first}"])'
    alerts.add(
        "that would hold numbers but for a few cells",
        f"column {shown(name)} would hold numbers but for {cells}, "
        f"{'' if len(strays) == 1 else 'the first '}{where}, so it is read as a category: correct "
        f"{them} or leave {them} empty{mark}, or confirm with "
        f'kinds={{"{name}": "category"}}',
    )


def _found_groups(
    connection: Any, parts: list[_Part], names: list[str], marks: frozenset[str]
) -> dict[str, str]:
    """Which CSV columns are numbers, booleans or dates, over all rows of all files.

    A sample proposes; every row is then asked, so that a late surprise is never lost.
    """
    if not names:
        return {}
    marked = _Marked(marks)
    samples: dict[str, list[Any]] = {name: [] for name in names}
    for part in parts[:5]:
        places = [f"c{part.places[name]}" for name in names]
        rows = part.run(
            connection, f"SELECT {', '.join(places)} FROM {part.relation()} LIMIT {_SAMPLE_ROWS}"
        )
        for name, values in zip(names, rows.values(), strict=True):
            gone = missing_mask(values)
            samples[name] += np.ma.getdata(values)[~gone].tolist()
    groups = {name: _guess(values, marks) for name, values in samples.items()}
    order = [*_PROPOSED, "string"]
    doubtful = [name for name in names if groups[name] != "string"]
    while doubtful:
        others = dict.fromkeys(doubtful, 0)
        for part in parts:
            # Telling values that do not fit from marks for missing values is slow, so only the
            # columns where something did not fit are asked that.
            unfit = _counts(connection, part, doubtful, groups, marked.count_unfit)
            asked = [name for name in doubtful if unfit[name]]
            for name, count in _counts(connection, part, asked, groups, marked.count_other).items():
                others[name] += count
        doubtful = [name for name in doubtful if others[name]]
        for name in doubtful:
            groups[name] = order[order.index(groups[name]) + 1]
        doubtful = [name for name in doubtful if groups[name] != "string"]
    return groups


def _counts(
    connection: Any,
    part: _Part,
    names: list[str],
    groups: dict[str, str],
    count: Callable[[str, str], str],
) -> dict[str, int]:
    if not names:
        return {}
    sql = ", ".join(count(f"c{part.places[name]}", groups[name]) for name in names)
    row = part.run(connection, f"SELECT {sql} FROM {part.relation()}")
    return {name: int(value[0]) for name, value in zip(names, row.values(), strict=True)}


def _found_groups_of_cells(
    connection: Any, parts: list[_Part], names: list[str], marks: frozenset[str]
) -> dict[str, str]:
    """What :func:`_found_groups` finds, from files of one cell a line: all columns at once."""
    marked = _Marked(marks, _clean_cell)
    shape = (len(_PROPOSED), len(names))
    unlike, others = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for i, part in enumerate(parts):
        assert part.cells is not None
        sample = f"k < {_SAMPLE_ROWS * part.cells.width if i < 5 else 0}"
        counts = [f"count(*) FILTER (WHERE {sample} AND {marked.unlike('c', kind)})"
                  for kind in _PROPOSED]  # fmt: skip
        counts += [marked.count_other("c", kind) for kind in _PROPOSED]
        counted = part.run(connection, part.cells.per_column(counts, part.relation()))
        both = part.cells.by_column(counted)[:, [part.places[name] for name in names]]
        unlike += both[: len(_PROPOSED)]
        others += both[len(_PROPOSED) :]
    groups = {}
    for j, name in enumerate(names):
        k = next((k for k, kind in enumerate(_PROPOSED) if not unlike[k, j]), len(_PROPOSED))
        groups[name] = next(
            (kind for i, kind in enumerate(_PROPOSED) if i >= k and not others[i, j]), "string"
        )
    return groups


def _values(
    connection: Any,
    part: _Part,
    groups: dict[str, str],
    wanted: dict[str, str],
    marks: frozenset[str],
) -> tuple[int, dict[str, Any]]:
    """How many rows a file has, and its columns in the form :func:`_finish` expects."""
    marked = _Marked(marks)
    chosen = [
        f"{_fetch(f'c{part.places[name]}', group, wanted.get(name), part, marked)} AS f{k}"
        for k, (name, group) in enumerate(groups.items())
    ]
    sql = f"SELECT true AS row_seen{''.join(', ' + c for c in chosen)} FROM {part.relation()}"
    fetched = part.run(connection, sql)
    return len(fetched["row_seen"]), {name: fetched[f"f{k}"] for k, name in enumerate(groups)}


def _values_of_cells(
    connection: Any,
    part: _Part,
    groups: dict[str, str],
    _: dict[str, str],
    marks: frozenset[str],
) -> tuple[int, dict[str, Any]]:
    """What :func:`_values` gives, from a file of one cell a line."""
    assert part.cells is not None
    marked = _Marked(marks, _clean_cell)
    fetched: dict[str, Any] = {}
    for group in dict.fromkeys(groups.values()):
        names = sorted((n for n in groups if groups[n] == group), key=part.places.__getitem__)
        # A column whose kind is given was not asked what it looks like: its group is "string".
        value = marked.string("c") if group == "string" else marked.cast("c", group)
        chosen = part.cells.chosen(value, [part.places[name] for name in names], part.relation())
        values = part.run(connection, chosen)["f"]
        fetched.update(zip(names, part.cells.split(values, len(names)), strict=True))
    return part.cells.n_rows, fetched


def _fetch(c: str, group: str, wanted: str | None, part: _Part, marked: _Marked) -> str:
    """SQL that yields a column's values in the form :func:`_finish` expects."""
    own = part.types[int(c[1:])]
    as_is = wanted in ("category", "text") or (wanted == "number" and group in ("string", "json"))
    if group == "null":
        return f"CAST(NULL AS {'VARCHAR' if as_is else 'DOUBLE'})"
    if part.is_csv:
        return marked.string(c) if as_is or group == "string" else marked.cast(c, group)
    if group in ("string", "json"):
        text = f"({c} ->> '$')" if own == "json" else f"CAST({c} AS VARCHAR)"
        return marked.string(text)
    if as_is and group in ("integer", "bool", "date", "time") and own == group:
        return f"CAST({c} AS VARCHAR)"
    if group == "bool":
        return c
    if group == "date":
        return f"epoch({c}) / 86400.0"
    if group == "time":
        return f"epoch({c}) / 3600.0"
    return f"CAST({c} AS DOUBLE)"


def _finish(pieces: list[Any], group: str, wanted: str | None, name: str) -> Any:
    """One column from what the files gave."""
    gone = np.concatenate([missing_mask(piece) for piece in pieces])
    values = np.concatenate([np.ma.getdata(piece) for piece in pieces])
    if values.dtype.kind in "OUS":
        strings = values if values.dtype == object else values.astype(object)
        gone |= np.fromiter((value is None for value in strings), dtype=bool, count=len(strings))
        column = masked(strings, gone)
        return as_numbers(column, name) if wanted == "number" else column
    column = masked(values, gone) if values.dtype == bool else number_column(values, gone)
    return as_strings(column) if wanted in ("category", "text") else column
