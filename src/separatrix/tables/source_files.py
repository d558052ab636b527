"""One file of a table, as DuckDB reads it, and CSV files as Python reads them.

Python's reader is slow and lenient; it is the second opinion on CSV that DuckDB cannot read.
"""

from __future__ import annotations

import bisect
import codecs
import contextlib
import csv
import glob as globbing
import io
import itertools
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._compiled.memory import is_tight
from separatrix._compiled.tuning import Tuned
from separatrix.exceptions import DataError, imported
from separatrix.messages import Message
from separatrix.tables.categorical import Categorical, as_read
from separatrix.tables.csv_structure import Repair, delimiter_of, large_fields, look_at
from separatrix.tables.lake import FilePath, RemoteFile, unreadable
from separatrix.tables.limits import Limit
from separatrix.tables.structure import Given, Shape
from separatrix.tables.table import (
    BLANKS,
    NUMBER,
    column_marks,
    is_marked,
    joined,
    mark_numbers,
    missing_mask,
    quote,
)
from separatrix.tables.text_encodings import guessed_encoding
from separatrix.tables.wide import Cells, is_wide, write_cells

CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".dat")
# Below this many columns, all cells of a small file come as strings.
_MANY_COLUMNS, _FEW_CAST = 100, 50
_BLOCK = 1 << 17
_GROUPED = re.compile(rb"[0-9]_[0-9]")
# The error that the file system of an address raised while DuckDB read.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?: .*\n)*[\w.]+: ?(.*)")
# Bytes at the beginning of a file that show what kind of file it is.
_START = 4096
# Columns of more distinct strings are no categories.
_MOST_LEVELS = 50_000
# Tables with more columns than this are not looked through for the one whose name is at fault.
_MOST_RENAMED = 100_000


def import_duckdb() -> Any:
    return imported("duckdb", "reading table files", package="DuckDB")


@dataclass(frozen=True)
class Limits:
    """The memory and the folder that reading may use."""

    memory: int
    folder: Path


@dataclass(frozen=True)
class Tuning:
    """The sizes of files for which each way to fetch cells is used.

    Parameters
    ----------
    worth_coding : int
        The most bytes of a file whose strings are fetched as they are.
    worth_parsing : int
        The most bytes of a file all of whose cells come as strings; a larger one is searched for
        what a parser of numbers would misread, a block at a time.
    first_rows : int
        The number of first rows that are searched for levels; those of a column in which they
        recur are known in advance.
    few_rows : int
        The most rows for which strings are fetched as they are: the statements about every column
        that find its levels in SQL take as long as some 20,000 strings.
    most_rows : int
        The most rows for which they are as well where few columns are strings, because SQL finds
        levels in a copy of all columns.
    sample_rows : int
        The number of rows by which the types of the columns are proposed.
    few_bytes : int
        The most bytes of files, taken together, that are read by one thread in a database that
        stays open: opening one takes as long as reading some megabytes.
    """

    worth_coding: int = 200_000
    worth_parsing: int = 1_000_000
    first_rows: int = 10_000
    few_rows: int = 20_000
    most_rows: int = 1_000_000
    sample_rows: int = 2000
    few_bytes: int = 4_000_000


tuned = Tuned(Tuning())
_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextlib.contextmanager
def limited(memory: int, folder: Path) -> Iterator[None]:
    """Limit DuckDB to a number of bytes and to a folder inside the ``with`` statement.

    Parameters
    ----------
    memory : int
        Bytes; what a query needs beyond them goes to the folder.
    folder : path
    """
    token = _limits.set(Limits(memory, folder))
    try:
        yield
    finally:
        _limits.reset(token)


def connect() -> Any:
    """A connection to a database of its own."""
    # Where it cannot start a thread, or a thread cannot reserve memory, DuckDB ends the process.
    connection = _opened({"threads": "1"} if is_tight() else {})
    limits = _limits.get()
    if limits is not None:
        limit(connection, limits.memory)
        connection.execute(f"SET temp_directory = {literal(str(limits.folder))}")
    return connection


def connect_to_read(paths: Sequence[FilePath]) -> Any:
    """A connection that reads some files, and neither changes settings nor makes lasting tables."""
    local = [path for path in paths if isinstance(path, Path)]
    try:
        few = sum(path.stat().st_size for path in local) <= tuned.now.few_bytes
    except OSError:
        few = False
    # A limit of memory is one of the whole database, and so is a reader of addresses.
    if not few or len(local) < len(paths) or _limits.get() is not None:
        return connect()
    try:
        return _cursor()
    except import_duckdb().Error:  # it was found broken, and none of its connections works now
        _for_small_files.cache_clear()
        return _cursor()


def _cursor() -> Any:
    cursor = _for_small_files(import_duckdb()).cursor()
    cursor.execute("SET enable_progress_bar = false")
    return cursor


def kept_open(opening: Callable[..., Any]) -> Any:
    """A function that opens a database once in a process, and anew in one that was forked."""
    found = lru_cache(maxsize=1)(opening)
    if hasattr(os, "register_at_fork"):
        # A process that was forked cannot use, nor even close, a database that was open before.
        os.register_at_fork(before=found.cache_clear)
    return found


@kept_open
def _for_small_files(duckdb: Any) -> Any:
    """The database for small files."""
    return _opened({"threads": "1"})


def _opened(config: Mapping[str, str]) -> Any:
    connection = import_duckdb().connect(
        ":memory:",
        config={
            **config,
            # A table must not make the reader fetch code, or look into the caller's variables.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    # The first turns IN (...) into a join, and a join does not keep the rows in their order; the
    # second compares all expressions with each other, seconds of a thousand columns.
    connection.execute("SET disabled_optimizers = 'in_clause,common_subexpressions'")
    return connection


def limit(connection: Any, memory: int) -> None:
    """Limit the memory of a connection's database, but not below what DuckDB needs."""
    connection.execute(f"SET memory_limit = '{max(memory >> 20, 32)}MiB'")


def temporary_file(stack: contextlib.ExitStack) -> Path:
    limits = _limits.get()
    where = None if limits is None else limits.folder
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="separatrix-", dir=where))
    return Path(folder) / "table.csv"


# ----------------------------------------------------------------------------- values in SQL


PROPOSED = ("number", "bool", "date")
"""The kinds that a CSV column of strings may have, in this order."""

_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:$|[T ])", re.A)
_DATE_SQL = r"'^[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}($|[T ])'"


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name of a table or a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def first_line(error: BaseException) -> str:
    """The error that a reader raised, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def fault_of(error: BaseException) -> str:
    """The first line of an error of DuckDB, without its class."""
    return re.sub(r"^[A-Z][\w ]*Error: ", "", first_line(error))


def where(path: FilePath) -> str:
    """The name of one file in SQL, where patterns would be looked up."""
    if isinstance(path, RemoteFile):
        return literal(path.address)
    return literal(globbing.escape(os.path.abspath(path)))


def _trimmed(expression: str) -> str:
    """An expression without blanks at both ends; most texts have none, and to look is slow."""
    # Blanks are below "!" or above "~", and so is a first or a last sign that might be one.
    ends = f"{expression} > '!' AND {expression} <= '~'"
    ends += f" AND {expression}[-1] > '!' AND {expression}[-1] <= '~'"
    trimmed = f"trim({expression}, {literal(BLANKS)})"
    return f"CASE WHEN {ends} THEN {expression} ELSE {trimmed} END"


def _clean_cell(expression: str) -> str:
    """:func:`_trimmed` where a column ``b`` says whether there is anything to take off."""
    return f"CASE WHEN b THEN {_trimmed(expression)} ELSE {expression} END"


def partitioning(hive: bool) -> str:
    """The options of DuckDB's readers about names of folders such as ``year=2024``.

    Their values are texts: what they look like may differ from file to file.
    """
    types = ", hive_types_autocast = false" if hive else ""
    return f"hive_partitioning = {str(hive).lower()}{types}"


class NotAsSupposed(Exception):
    """A column holds something else than its first rows."""


class ValueSql:
    """Expressions over a column of strings.

    Parameters
    ----------
    marks : frozenset of str
        The marks for missing values.
    clean : callable
        Returns the expression without the blanks around its value.
    """

    def __init__(self, marks: frozenset[str], clean: Callable[[str], str] = _trimmed):
        self.clean = clean
        self.marks = ", ".join(literal(mark) for mark in sorted(marks))
        # A mark such as -999 stands for the number, however that is written.
        self.numbers = ", ".join(f"{literal(repr(x))}::DOUBLE" for x in mark_numbers(marks))

    def marked(self, text: str) -> str:
        """Whether a text without blanks stands for a missing value."""
        found = f"{text} IN ({self.marks})"
        if not self.numbers:
            return found
        number = f"coalesce(TRY_CAST({text} AS DOUBLE) IN ({self.numbers}), false)"
        code = f"regexp_matches({text}, '^[+-]?0[0-9]')"
        return f"({found} OR {number} AND NOT {code})"

    def unmarked(self, value: str) -> str:
        """A number, NULL where it stands for a missing value."""
        if not self.numbers:
            return value
        return f"CASE WHEN CAST({value} AS DOUBLE) IN ({self.numbers}) THEN NULL ELSE {value} END"

    def cast(self, c: str, kind: str) -> str:
        """The value as a kind, NULL where it is missing or of another."""
        text = self.clean(c)
        if kind == "bool":
            low = f"lower({text})"
            return f"CASE WHEN {low} = 'true' THEN true WHEN {low} = 'false' THEN false END"
        if kind == "date":
            # The pattern keeps out words DuckDB takes for dates ("epoch", "infinity").
            stamp = f"epoch(TRY_CAST({text} AS TIMESTAMPTZ)) / 86400.0"
            return f"CASE WHEN regexp_matches({text}, {_DATE_SQL}) THEN {stamp} END"
        value = text
        if kind == "number":
            # DuckDB takes 1_000 for a number; a code that holds an underscore is none.
            # Digits that begin with a zero are a code, too. Most values begin with no zero before a
            # digit, nor with a blank.
            sound = f"{c} >= '0:' AND {c} <= '~' OR {c} > '!' AND {c} < '00'"
            zero = f"regexp_full_match({text}, '0[0-9]+')"
            code = f"contains({c}, '_') OR CASE WHEN {sound} THEN false ELSE {zero} END"
            # DuckDB takes blanks of ASCII off by itself, and is faster at it.
            number = f"coalesce(TRY_CAST({c} AS DOUBLE), TRY_CAST({text} AS DOUBLE))"
            return self.unmarked(f"CASE WHEN {code} THEN NULL ELSE {number} END")
        return f"CASE WHEN {self.marked(text)} THEN NULL ELSE {value} END"

    def count_unfit(self, c: str, kind: str) -> str:
        """The number of values that are not of a kind, marks for missing values included."""
        return f"count({c}) - count({self.cast(c, kind)})"

    def count_other(self, c: str, kind: str) -> str:
        """The number of values that are neither missing nor of a kind."""
        return f"count(*) FILTER (WHERE {self.other(c, self.cast(c, kind))})"

    def other(self, c: str, cast: str) -> str:
        """Whether a value is neither missing nor what it was cast to."""
        # In this order, because the comparison with the marks is the slowest.
        return (
            f"CASE WHEN {c} IS NULL OR ({cast}) IS NOT NULL THEN false "
            f"ELSE NOT {self.marked(self.clean(c))} END"
        )


# It is computed for every column.
_values = lru_cache(maxsize=16)(ValueSql)

# Numbers, one a line.  What a line has matched is not gone back on: that could take for ever.
_NUMBERS = re.compile(rf"(?>(?>{NUMBER.pattern})\n)+", NUMBER.flags)
_LIKE: dict[str, Callable[[str], object]] = {
    "number": NUMBER.fullmatch,
    "bool": lambda text: text.lower() in ("true", "false"),
    "date": _DATE.match,
}


def _read_as(marks: frozenset[str], text: str) -> str | None:
    """The result of ``ValueSql.cast`` for a string."""
    text = text.strip(BLANKS)
    return None if is_marked(text, marks) else text


def _are_numbers(values: list[str]) -> bool:
    """Whether all strings are numbers; for most columns one match over all of them decides."""
    if not values:
        return False
    text = "\n".join([*values, ""])
    return text.count("\n") == len(values) and _NUMBERS.fullmatch(text) is not None


def _unlike_kinds(values: Iterable[str], marks: frozenset[str]) -> list[bool]:
    """Test for each of :data:`PROPOSED` whether a string is neither missing nor written like it."""
    values = list(values)
    if _are_numbers(values):
        other = any(not is_marked(value, marks) for value in values)
        return [False, other, other]
    left = dict(_LIKE)
    for value in values:
        text = value.strip(BLANKS)
        if not is_marked(text, marks):
            left = {kind: like for kind, like in left.items() if like(text)}
            if not left:
                break
    return [kind not in left for kind in PROPOSED]


# --------------------------------------------------------------------------------- one file


@dataclass
class Part:
    """One file: its path, the names of its columns, and their groups of types.

    No name from a file reaches SQL: columns are ``c0, c1, ...`` by position.
    """

    path: FilePath
    label: str
    suffix: str
    given_delimiter: str = ""
    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    delimiter: str = ","
    skip: int = 0
    header_lines: int = 1
    longest_line: int = 0
    unnamed: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    cells: Cells | None = None
    most_rows: int | None = None
    # The place of the column whose equal values are drawn together.
    together: int | None = None
    # Whether names of folders such as year=2024 are columns.
    hive: bool = False
    # The number of lines by which the first row comes later in the file than in the copy.
    before: int = 0
    # The shape of its rows, and whether all lines that were looked at are rows.
    shape: Shape | None = None
    plain: bool = True
    # Messages about lines that are not read as rows.
    notes: list[Message] = field(default_factory=list)

    @property
    def is_csv(self) -> bool:
        return self.suffix in CSV_SUFFIXES

    def look(self, given: Given, stack: contextlib.ExitStack) -> None:
        """Look where the table lies in a CSV file, and read a copy of it where there is more."""
        tab = "\t" if self.suffix == ".tsv" else ""
        found = look_at(Path(str(self.path)), self.label, self.given_delimiter or tab, given)
        self.given_delimiter = found.delimiter or self.given_delimiter
        self.shape, self.plain, self.before = found.shape, found.plain, found.before
        self.notes += found.notes
        if found.header:
            copy = temporary_file(stack)
            found.write(Path(str(self.path)), copy)
            self.path = copy

    def decode(self, stack: contextlib.ExitStack, *, damaged: bool = False) -> bool:
        """Read a copy in UTF-8 of a CSV file that is not, if its encoding can be found.

        ``damaged``: it is known that some line is not; else the ends of the file are looked at.

        Returns
        -------
        bool
            Whether there is such a copy.
        """
        found = guessed_encoding(Path(str(self.path)), damaged=damaged)
        if found is None:
            return False
        self.path = written_as_utf8(Path(str(self.path)), found.encoding, self.label, stack)
        self.notes.append(
            Message(
                "encoding_found",
                source=self.label,
                encoding=found.encoding,
                word=quote(found.word),
            )
        )
        return True

    def relation(self, numbers: Collection[int] = (), nulls: Iterable[str] = ()) -> str:
        """SQL for the rows that are read, as ``t`` with the columns ``c0, c1, ...``.

        Columns of a CSV file are strings, but for those at the places ``numbers``; cells that are
        one of ``nulls`` are NULL.
        """
        if self.cells is not None:
            return self.cells.relation(where(self.cells.path))
        if self.most_rows is None:
            return self._rows(numbers, nulls)
        order = "hash(t)" if self.together is None else f"hash(c{self.together}), hash(t)"
        drawn = f"SELECT * FROM {self._rows()} ORDER BY {order} LIMIT {self.most_rows}"
        return f"({drawn}) AS t"

    def _rows(self, numbers: Collection[int] = (), nulls: Iterable[str] = ()) -> str:
        name = where(self.path)
        aliases = ", ".join(f"c{j}" for j in range(len(self.names)))
        alias = f" AS t({aliases})" if self.names else ""
        if self.is_csv:
            types = ("DOUBLE" if j in numbers else "VARCHAR" for j in range(len(self.names)))
            columns = ", ".join(f"'c{j}': '{type_}'" for j, type_ in enumerate(types))
            longest = f", max_line_size = {self.longest_line}" if self.longest_line else ""
            if null := ", ".join(map(literal, nulls)):
                longest += f", nullstr = [{null}]"
            return (
                f"read_csv({name}, auto_detect = false, delim = {literal(self.delimiter)}, "
                "quote = '\"', escape = '\"', header = true, strict_mode = true, "
                f"hive_partitioning = false{longest}, columns = {{{columns}}}){alias}"
            )
        if self.suffix == ".parquet":
            return f"read_parquet({name}, {partitioning(self.hive)}){alias}"
        size = max(16_777_216, self.path.stat().st_size + 1)
        return (
            f"read_json({name}, records = 'true', sample_size = -1, map_inference_threshold = -1, "
            f"hive_partitioning = false, maximum_object_size = {min(size, 4_000_000_000)}){alias}"
        )

    def relation_by_name(self, names: Sequence[str]) -> str:
        """SQL for all rows, with the columns in the order of some names."""
        relation = self.relation()
        if self.is_csv:
            # For a query, DuckDB finds the types of columns over all rows.
            aliases = ", ".join(f"c{j}" for j in range(len(self.names)))
            relation = (
                f"read_csv({where(self.path)}, delim = {literal(self.delimiter)}, quote = '\"', "
                f"escape = '\"', header = true, sample_size = -1, hive_partitioning = false) "
                f"AS t({aliases})"
            )
        chosen = ", ".join(f"c{self.places[name]}" for name in names)
        return f"SELECT {chosen} FROM {relation}"

    def describe(self, connection: Any) -> None:
        """Find the names and types of the columns, unless they are known."""
        if self.names:
            # A copy that :meth:`rewrite` made has other names in its header.
            return
        if self.is_csv:
            self.names = self._csv_header()
            self.types = ["string"] * len(self.names)
        else:
            described = self._description(connection, self.relation())
            if described is None:
                raise DataError(self._unreadable_name(connection))
            self.types = [_type_group(kind) for _, kind in described]
            self.names = [name for name, _ in described]
        _check_names(self.names, self.label)
        self.places = {name: j for j, name in enumerate(self.names)}

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
        above = bisect.bisect_left(range(above), True, below + 1, key=readable)
        return (
            f"{self.label}: the name of column {above} is not UTF-8; write the file again with "
            "another name for it"
        )

    def values(self, marks: frozenset[str]) -> ValueSql:
        """Expressions over the columns of a CSV file."""
        return _values(marks, _trimmed if self.cells is None else _clean_cell)

    def unlike(self, names: Sequence[str], marks: frozenset[str], n_rows: int) -> Any:
        """Whether one of the first rows of some columns holds a string that is unlike a kind.

        An array of shape (len(PROPOSED), len(names)).
        """
        # A fault of a row is reported by the code that reads all of them.
        rows: list[list[str]] = []
        with contextlib.suppress(DataError, UnicodeDecodeError):
            width = len(self.names)
            for row in itertools.islice(self._rows_of_text(self._repair()), 1, n_rows + 1):
                rows.append(row)
                if len(row) != width:
                    break
        columns = list(zip(*rows, strict=True)) or [()] * len(self.names)
        strings = ([*filter(None, columns[self.places[name]])] for name in names)
        return np.array([_unlike_kinds(values, marks) for values in strings]).T

    def count(
        self,
        connection: Any,
        names: Sequence[str],
        marks: frozenset[str],
        counting: Callable[[ValueSql, str, str], str],
        kinds: Sequence[str],
    ) -> Any:
        """The counts in SQL for some columns and kinds, of shape (len(kinds), len(names))."""
        relation = self.relation()
        places = [self.places[name] for name in names]
        count = partial(counting, self.values(marks))
        if self.cells is not None:
            sql = self.cells.per_column([count("c", kind) for kind in kinds], relation)
            return self.cells.by_column(self.run(connection, sql))[:, places]
        sql = ", ".join(count(f"c{j}", kind) for kind in kinds for j in places)
        row = self.run(connection, f"SELECT {sql} FROM {relation}").values()
        return np.array([int(value[0]) for value in row]).reshape(len(kinds), len(names))

    def repeats_header(self, connection: Any, names: Sequence[str]) -> bool:
        """Whether a row holds the names of these columns, as joined files have it."""
        clean = self.values(frozenset()).clean
        if self.cells is not None:
            return self.cells.any_row_of(
                {self.places[n]: literal(n) for n in names},
                clean("c"),
                partial(self.run, connection),
                self.relation(),
            )
        own = " AND ".join(f"{clean(f'c{self.places[n]}')} = {literal(n)}" for n in names)
        found = self.run(connection, f"SELECT 1 AS n FROM {self.relation()} WHERE {own} LIMIT 1")
        return len(found["n"]) > 0

    def met(self, connection: Any, marks: Sequence[str]) -> set[str]:
        """The marks for missing values that are a cell of the file."""
        relation = self.relation()
        columns = [f"c{j}" for j, kind in enumerate(self.types) if kind in _MARKABLE]
        if self.cells is not None:
            columns = ["c"]
        chosen = []
        for k, mark in enumerate(marks):
            own = {self.places[n] for n in self.names if column_marks(frozenset({mark}), n)}
            value = mark.rpartition("=")[2].strip(BLANKS) if own else mark
            one = self.values(frozenset({value}))
            found = []
            # Cells of very many columns are looked at together.
            for c in columns if self.cells is not None or not own else [f"c{j}" for j in own]:
                text = one.clean(c if self.is_csv else f"CAST({c} AS VARCHAR)")
                found.append(f"coalesce({one.marked(text)}, false)")
                if one.numbers:
                    # With units, and by either decimal mark, as a column may be written.
                    bare = f"replace(regexp_replace({text}, '[^0-9.,eE+-]', '', 'g'), ',', '.')"
                    found.append(f"coalesce(TRY_CAST({bare} AS DOUBLE) IN ({one.numbers}), false)")
            chosen.append(f"coalesce(bool_or({' OR '.join(found) or 'false'}), false) AS m{k}")
        row = self.run(connection, f"SELECT {', '.join(chosen)} FROM {relation}")
        return {mark for k, mark in enumerate(marks) if row[f"m{k}"][0]}

    def require_memory(self, connection: Any, n_columns: int, limit: Limit) -> None:
        """Raise DataError if the columns of a Parquet file, unpacked, take more than a limit."""
        if self.suffix != ".parquet" or self.most_rows is not None:
            return
        rows = self._parquet_rows(connection)
        if 8 * rows * n_columns > limit.bytes:
            raise limit.exceeded(f"{self.label}, with {rows:,} rows of {n_columns:,} columns,")

    def fetch(
        self,
        connection: Any,
        groups: dict[str, str],
        select: Callable[[str, str], str],
        supposed: Iterable[str] = (),
        marks: frozenset[str] = frozenset(),
    ) -> tuple[int, dict[str, Any]]:
        """The number of rows, and the columns as SQL selects them by their name and place.

        Raises
        ------
        NotAsSupposed
            If one of the columns ``supposed`` holds what is neither missing nor of its type.
        """
        if self.cells is None:
            supposed = tuple(supposed)
            numbers = {name for name in supposed if groups[name] == "number"}
            wide = bool(supposed) and is_wide(len(self.names), self.path.stat().st_size)
            # Up to _FEW_CAST columns of a wide file are cast in SQL.
            few = not wide or len(supposed) - len(numbers) <= _FEW_CAST
            if numbers and few and self._parses_numbers():
                # A value that is no number ends this reading.
                with contextlib.suppress(CsvTrouble):
                    return self._fetch_rows(connection, groups, select, supposed, marks, numbers)
            if wide:
                # All rows are checked cell by cell sooner than the columns are cast.
                raise NotAsSupposed
            return self._fetch_rows(connection, groups, select, supposed, marks, set())
        columns: dict[str, Any] = {}
        for group in dict.fromkeys(groups.values()):
            names = sorted((n for n in groups if groups[n] == group), key=self.places.__getitem__)
            places = [self.places[name] for name in names]
            chosen_cells = self.cells.chosen(select(names[0], "c"), places, self.relation())
            values = self.run(connection, chosen_cells)["f"]
            columns.update(zip(names, self.cells.split(values, len(names)), strict=True))
        return self.cells.n_rows, columns

    def _parses_numbers(self) -> bool:
        """Whether DuckDB's parser takes no cell for a number that is a code."""
        if not self.is_csv or self.most_rows is not None:
            return False
        least = tuned.now.worth_parsing
        large = len(self.names) >= _MANY_COLUMNS or self.path.stat().st_size > least
        return large and not self._has_codes()

    def _has_codes(self) -> bool:
        """Whether a cell below the header may be digits that begin with a zero, or ``1_000``."""
        starts = np.zeros(256, dtype=np.bool_)
        starts[list(f'{BLANKS}"{self.delimiter}'.encode())] = True
        with self.path.open("rb") as file:
            if not file.readline(_BLOCK).endswith(b"\n"):
                return True
            last = b"\n\n"
            while block := file.read(_BLOCK):
                text = last + block
                signs = np.frombuffer(text, dtype=np.uint8)
                zeros = np.flatnonzero((signs[1:-1] == ord("0")) & (signs[2:] - ord("0") < 10))
                if starts[signs[zeros]].any() or (b"_" in block and _GROUPED.search(text)):
                    return True
                last = text[-2:]
        return False

    def _fetch_rows(
        self,
        connection: Any,
        groups: dict[str, str],
        select: Callable[[str, str], str],
        supposed: Iterable[str],
        marks: frozenset[str],
        parsed: set[str],
    ) -> tuple[int, dict[str, Any]]:
        """:meth:`fetch`, with columns of numbers that DuckDB parses as it reads them."""
        unmarked = self.values(marks).unmarked
        columns = {
            f"f{k}": (
                f"c{self.places[name]}",
                unmarked if name in parsed else partial(select, name),
            )
            for k, name in enumerate(groups)
        }
        strings = [f"f{k}" for k, group in enumerate(groups.values()) if group == "string"]
        names = list(groups)
        checked = [f"f{names.index(name)}" for name in supposed if name not in parsed]
        odd = self._odd([(columns[f][0], f) for f in checked], marks)
        # The parser takes no mark for a number; others than these it would take for something else.
        nulls = [m for m in sorted(marks) if not set(m) & {self.delimiter, *'"\\\r\n'}]
        relation = self.relation({self.places[name] for name in parsed}, nulls if parsed else ())
        sizes = tuned.now
        if not strings or self.path.stat().st_size <= sizes.worth_coding:
            fetched = self._fetch_whole(connection, columns, odd, relation)
        elif self._about_rows(connection) > (
            sizes.most_rows if 10 * len(strings) <= len(groups) else sizes.few_rows
        ):
            fetched = self._fetch_coded(connection, columns, strings, odd, relation)
        else:
            # Each distinct text is read once.
            own = {
                f: columns[f][0] for f in strings if self.types[int(columns[f][0][1:])] == "string"
            }
            raw = {f: (c, "CAST({} AS VARCHAR)".format) for f, c in own.items()}
            fetched = self._fetch_whole(connection, {**columns, **raw}, odd, relation)
            most = len(fetched["odd"]) // 10
            fetched |= {f: as_read(fetched[f], partial(_read_as, marks), most) for f in own}
        return len(fetched["odd"]), {n: fetched[f"f{k}"] for k, n in enumerate(groups)}

    def _fetch_whole(
        self,
        connection: Any,
        columns: Mapping[str, tuple[str, Callable[[str], str]]],
        odd: str,
        relation: str,
    ) -> dict[str, Any]:
        """Fetch columns by name, given each one's column of the file and what to select of it."""
        every = {f: (c, cast(c)) for f, (c, cast) in columns.items()}
        sql = self._query(every, {"odd": odd}, relation)
        if odd == "false":  # no column itself is checked, so that plans are shorter
            chosen = ", ".join(f"{cast} AS {f}" for f, (_, cast) in every.items())
            sql = f"SELECT false AS odd, {chosen} FROM {relation}"
        fetched = dict(self.run(connection, sql))
        if fetched["odd"].any():
            raise NotAsSupposed
        return fetched

    def _about_rows(self, connection: Any) -> float:
        """The approximate number of rows of the file that are read."""
        if self.most_rows is not None:
            return self.most_rows
        if self.suffix == ".parquet":
            return self._parquet_rows(connection)
        rows = about_rows([self])
        return math.inf if rows is None else rows

    def _parquet_rows(self, connection: Any) -> int:
        rows = f"SELECT num_rows AS n FROM parquet_file_metadata({where(self.path)})"
        found = self.run(connection, rows)
        return int(found["n"][0])

    def _odd(self, pairs: Sequence[tuple[str, str]], marks: frozenset[str]) -> str:
        """SQL that is true of a row in which a cell was lost that is not missing."""
        if not pairs:
            return "false"
        # Most rows have lost nothing, and are checked no further.
        lost = " OR ".join(f"({c} IS NOT NULL AND {f} IS NULL)" for c, f in pairs)
        other = " OR ".join(self.values(marks).other(c, f) for c, f in pairs)
        return f"CASE WHEN {lost} THEN {other} ELSE false END"

    def _query(
        self, columns: Mapping[str, tuple[str, str]], others: Mapping[str, str], relation: str
    ) -> str:
        """SQL for columns by name, given each one's column and expression, and for others."""
        # One below the other, so that what is selected is computed once.
        below = [*dict.fromkeys(c for c, _ in columns.values())]
        below += [f"{cast} AS {f}" for f, (_, cast) in columns.items()]
        above = [*(f"{sql} AS {name}" for name, sql in others.items()), *columns]
        inner = f"SELECT {', '.join(below)} FROM {relation}"
        return f"SELECT {', '.join(above)} FROM ({inner})"

    def _fetch_coded(
        self,
        connection: Any,
        columns: Mapping[str, tuple[str, Callable[[str], str]]],
        strings: Sequence[str],
        odd: str,
        relation: str,
    ) -> dict[str, Any]:
        """Fetch columns as :meth:`_fetch_whole` does, with one reading of the file.

        Strings many of which are equal come as numbers of their levels, and what is selected of
        them is computed for the levels alone.  Levels that the first rows have are known while the
        file is read, and take a byte or two a row; other strings are kept until all have been seen.
        """
        own = {f: columns[f][0] for f in strings}
        text = {f: f"CAST({c} AS VARCHAR)" for f, c in own.items()}
        known = self._known_levels(connection, text)
        raw = {f: (c, cast(c)) for f, (c, cast) in columns.items()}
        raw |= {f: (own[f], text[f]) for f in strings}
        raw |= {f: (own[f], f"TRY_CAST({text[f]} AS {kind})") for f, kind in known.items()}
        others = [f"CASE WHEN {f} IS NULL THEN {text[f]} END" for f in known]
        some = " OR ".join(["false", *(f"({f} IS NULL AND {own[f]} IS NOT NULL)" for f in known)])
        above = {"odd": odd, "others": f"CASE WHEN {some} THEN [{', '.join(others)}] END"}
        sql = f"CREATE OR REPLACE TEMP TABLE fetched AS {self._query(raw, above, relation)}"
        self.run(connection, sql, fetch=False)
        if self.run(connection, "SELECT count(*) AS n FROM fetched WHERE odd")["n"][0]:
            raise NotAsSupposed
        selected = [
            "count(*) AS n",
            *(f"count(others[{k}]) AS {f}" for k, f in enumerate(known, 1)),
        ]
        found = self.run(
            connection, f"SELECT {', '.join(selected)} FROM fetched WHERE others IS NOT NULL"
        )
        whole = {f for f in known if not found[f][0]}
        text = {f: f for f in strings} | {
            f: f"coalesce(CAST({f} AS VARCHAR), others[{k}])" for k, f in enumerate(known, 1)
        }
        selected = [f"approx_count_distinct({text[f]}) AS {f}" for f in strings if f not in whole]
        found = self.run(
            connection, f"SELECT {', '.join(['count(*) AS n', *selected])} FROM fetched"
        )
        most = min(_MOST_LEVELS, int(found["n"][0]) // 10)
        chosen = {f: cast(text[f]) if f in strings else f for f, (_, cast) in columns.items()}
        levels = {}
        for f in strings:
            if f in whole:
                kind, coded = known[f], f
            elif found[f][0] <= most:
                kind = self._enumerated(connection, f"all_{f}", text[f], "fetched")
                coded = f"CAST({text[f]} AS {kind})"
            else:
                continue
            levels[f] = self._levels(connection, kind, columns[f][1])
            chosen[f] = f"enum_code({coded})"
        sql = ", ".join(["odd", *(f"{cast} AS {f}" for f, cast in chosen.items())])
        fetched = dict(self.run(connection, f"SELECT {sql} FROM fetched"))
        self.run(connection, "DROP TABLE fetched", fetch=False)
        for f, (texts, places) in levels.items():
            codes = places[np.ma.getdata(fetched[f])]
            codes[missing_mask(fetched[f])] = -1
            fetched[f] = Categorical(codes, texts)
        return fetched

    def _known_levels(self, connection: Any, text: Mapping[str, str]) -> dict[str, str]:
        """Types of the levels of columns with few distinct strings in the first rows, by column."""
        # Tables with columns of such types are dropped before them.
        self.run(connection, "DROP TABLE IF EXISTS fetched", fetch=False)
        first = ", ".join(f"{sql} AS {f}" for f, sql in text.items())
        sql = f"SELECT {first} FROM {self.relation()} LIMIT {tuned.now.first_rows}"
        self.run(connection, f"CREATE OR REPLACE TEMP TABLE first_rows AS {sql}", fetch=False)
        selected = ", ".join(
            ["count(*) AS n", *(f"approx_count_distinct({f}) AS {f}" for f in text)]
        )
        found = self.run(connection, f"SELECT {selected} FROM first_rows")
        known = {
            f: self._enumerated(connection, f"first_{f}", f, "first_rows")
            for f in text
            if 10 * found[f][0] <= found["n"][0]
        }
        self.run(connection, "DROP TABLE first_rows", fetch=False)
        return known

    def _enumerated(self, connection: Any, kind: str, text: str, table: str) -> str:
        """A type of the strings of a table."""
        distinct = f"SELECT DISTINCT {text} AS c FROM {table} WHERE c IS NOT NULL ORDER BY 1"
        sql = f"CREATE OR REPLACE TEMP TYPE {kind} AS ENUM ({distinct})"
        self.run(connection, sql, fetch=False)
        return kind

    def _levels(self, connection: Any, kind: str, cast: Callable[[str], str]) -> tuple[Any, Any]:
        """The levels that the strings of a type are read as, and the place of each string."""
        raw = f"SELECT unnest(enum_range(NULL::{kind}))::VARCHAR AS c"
        own = self.run(connection, f"SELECT {cast('c')} AS level FROM ({raw})")["level"]
        gone, texts = missing_mask(own), np.ma.getdata(own).tolist()
        known = sorted({text for text, lost in zip(texts, gone, strict=True) if not lost})
        place = {text: k for k, text in enumerate(known)}
        places = [-1 if lost else place[text] for text, lost in zip(texts, gone, strict=True)]
        # One more, so that a column in which every cell is missing has a place to look at.
        size = np.min_scalar_type(-1 - len(places))
        return np.array(known, dtype=object), np.array([*places, -1], dtype=size)

    def reach(self, connection: Any) -> None:
        """Have a connection read a file behind an address."""
        if isinstance(self.path, RemoteFile):
            self.path.register(connection)

    def run(self, connection: Any, sql: str, *, fetch: bool = True) -> Any:
        """Columns of a query, with DuckDB's errors turned into one sentence about this file."""
        self.reach(connection)
        try:
            cursor = connection.execute(sql)
            return cursor.fetchnumpy() if fetch else cursor
        except import_duckdb().InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:
            # DuckDB waits for Ctrl-C by itself and then raises this in its place.
            if "interrupted" not in str(error):
                raise
            raise KeyboardInterrupt from None
        except import_duckdb().OutOfMemoryException as error:
            raise MemoryError(f"while {self.label} was read") from error
        except import_duckdb().Error as error:
            if self.cells is not None:  # Python has read it already, so this is no fault of it
                raise _unreadable_csv(self.label, str(error)) from None
            if self.is_csv:
                raise CsvTrouble(self, str(error)) from None
            raise DataError(self._fault(error)) from None

    def _fault(self, error: BaseException) -> str:
        message = str(error)
        if raised := _RAISED.search(message):
            text = raised[1].rstrip(" .")
            return text if text.startswith(self.label) else unreadable(self.label, text)
        # DuckDB names the file by its whole path; this sentence has named it already.
        named = r" in (?:Parquet )?file (?:\".*?\"|'.*?')|File '.*?' "
        first = re.sub(named, "", fault_of(error)).rstrip(" .")
        if self.suffix == ".parquet":
            return f"{self.label} is not a readable Parquet file: {first}"
        position = _utf8_fault(self.path)
        if position is not None:
            return self._not_utf8(position).args[0]
        with self.path.open("rb") as file:
            start = file.read(_START)
        if not start.strip(b" \t\r\n[]{}"):
            return f"{self.label} holds no rows"
        if "expected records" in message:
            return (
                f"{self.label} holds JSON that is not a list of records; write an array of "
                "objects, or one object on each line"
            )
        return f"{self.label} is not readable JSON: {first}"

    def _not_utf8(self, position: str | None) -> DataError:
        with self.path.open("rb") as file:
            start = file.read(_START)
        # A table in text has no such byte, unless it is UTF-16 or UTF-32.
        if start[:2] not in (b"\xff\xfe", b"\xfe\xff") and b"\0" in start:
            return DataError(Message("not_text", label=self.label, byte=start.index(b"\0") + 1))
        return DataError(Message("not_utf8", label=self.label, what=position))

    def _csv_header(self) -> list[str]:
        try:
            with _csv_text(self.path) as file, large_fields():
                first = ""
                for first in file:
                    if first.strip(BLANKS):
                        break
                    self.skip += 1
                found = "\t" if self.suffix == ".tsv" else delimiter_of(first)
                self.delimiter = self.given_delimiter or found
                lines = itertools.chain([first], file)
                reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
                row = next(reader, [])
                self.header_lines = reader.line_num
        except UnicodeDecodeError:
            raise self._not_utf8(_utf8_fault(self.path)) from None
        except csv.Error as error:
            raise DataError(f"{self.label}, line 1: {error}") from None
        names = [name.strip(BLANKS) for name in row]
        if not any(names):
            raise DataError(f"{self.label} is empty")
        self.unnamed = [f"unnamed_{j + 1}" for j, name in enumerate(names) if not name]
        return [name or f"unnamed_{j + 1}" for j, name in enumerate(names)]

    # ----------------------------------------------------------------------- as Python reads it

    def checked_rows(self, stack: contextlib.ExitStack) -> Iterator[list[str]]:
        """The header and the rows of a CSV file, or a DataError that says what is wrong with it."""
        position = _utf8_fault(self.path)
        if position is not None and not self.decode(stack, damaged=True):
            raise self._not_utf8(position)
        repair = self._repair()
        yield from self._rows_of_text(repair)
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            repair.end(file.read(1) in (b"\n", b"\r"))
        self.notes += repair.notes()

    def _repair(self) -> Repair:
        """The reader of its lines that do not have the cells of the header."""
        return Repair(self.shape or Shape.of(self.names, ()), self.delimiter, self.label)

    def _rows_of_text(self, repair: Repair) -> Iterator[list[str]]:
        """The header and the rows of a text that is taken to be UTF-8."""
        width = len(self.names)
        with large_fields(), _csv_text(self.path) as file:
            kept: list[str] = []
            reader = csv.reader(
                _kept(file, kept), delimiter=self.delimiter, skipinitialspace=True, strict=True
            )
            line = 1
            seen_header = False

            def written() -> list[str]:
                return next(csv.reader(kept, delimiter=self.delimiter), [])

            try:
                for row in reader:
                    # An empty line is a missing value where there is one column, and nothing else.
                    row = row or [""] * (width == 1)
                    if seen_header and row:
                        number = line + self.before
                        own = row if width == 1 == len(row) else repair.row(number, row, written)
                        if own is not None:
                            yield own
                    elif row and any(value.strip(BLANKS) for value in row):
                        seen_header = True
                        yield row[:width]
                    line = reader.line_num + 1
                    kept.clear()
            except csv.Error as error:
                raise DataError(
                    f"{self.label}, line {line + self.before}: "
                    + (
                        "a quotation mark is opened and not closed"
                        if "unexpected end" in str(error)
                        else f"its quotation marks are wrong ({error})"
                    )
                ) from None

    def rewrite(self, message: str, stack: contextlib.ExitStack) -> None:
        """Report what is wrong with a CSV file, or make a plain copy of it that DuckDB can read.

        What Python finds sound (line ends of two sorts in one file, blank lines before the header,
        line breaks within it, very long lines) is rewritten in the plainest form.
        """
        if self.longest_line:  # it is such a copy already
            raise _unreadable_csv(self.label, message)
        copy = temporary_file(stack)
        longest = 0
        with copy.open("w", encoding="utf-8", newline="") as out:
            # Python 3.11 leaves a cell without quotes in which only a carriage return is.
            writer = csv.writer(
                out, delimiter=self.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL
            )
            rows = self.checked_rows(stack)
            next(rows)
            # The names are known; a line break in one of them would be taken for the end of a line.
            writer.writerow([f"c{j}" for j in range(len(self.names))])
            for row in rows:
                writer.writerow(row)
                longest = max(longest, sum(4 * len(value) + 3 for value in row))
        self.path, self.skip, self.longest_line = copy, 0, longest + 1024
        self.header_lines, self.plain = 1, True

    def take_apart(self, stack: contextlib.ExitStack) -> None:
        """Rewrite a CSV file of many columns, one cell a line."""
        rows = self.checked_rows(stack)
        next(rows)  # the header
        self.cells = write_cells(rows, len(self.names), temporary_file(stack))
        self.skip = 0


def about_rows(parts: Sequence[Part]) -> int | None:
    """The number of rows of CSV files if they go on as they begin; None for other files."""
    rows = 0.0
    for part in parts:
        if not part.is_csv:
            return None
        with part.path.open("rb") as file:
            start = file.read(1 << 16)
        rows += part.path.stat().st_size * start.count(b"\n") / max(1, len(start))
    return round(rows)


class CsvTrouble(Exception):
    """An error of DuckDB in reading the CSV file ``part``."""

    def __init__(self, part: Part, message: str):
        super().__init__(message)
        self.part = part


def _unreadable_csv(label: str, message: str) -> DataError:
    return DataError(f"{label} is not readable CSV: {message.strip().splitlines()[0]}")


def _kept(lines: Iterable[str], kept: list[str]) -> Iterator[str]:
    """Lines that are also put into a list."""
    for line in lines:
        kept.append(line)
        yield line


def _csv_text(path: FilePath) -> io.TextIOWrapper:
    return io.TextIOWrapper(path.open("rb"), encoding="utf-8-sig", newline="")


def _check_names(names: Sequence[str], label: str) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in seen:
            raise DataError(
                f"{label} has two columns named {quote(name)} (columns {seen[name] + 1} and "
                f"{j + 1}); rename one"
            )
        seen[name] = j


def check_same_columns(parts: list[Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        lacking = [name for name in first.names if name not in part.places]
        extra = [name for name in part.names if name not in first.places]
        if lacking or extra:
            differences = [f"lacks {joined(lacking)}"] if lacking else []
            differences += [f"also has {joined(extra)}"] if extra else []
            raise DataError(
                f"the files have different columns: {part.label} {' and '.join(differences)}, "
                f"compared with {first.label}"
            )


def written_as_utf8(path: Path, encoding: str, label: str, stack: contextlib.ExitStack) -> Path:
    """A copy of a file of text in UTF-8; DataError where it is not in its encoding."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DataError(
            f"{encoding!r} is not a known encoding; give utf-8, utf-16, latin-1, cp1252 or another "
            "encoding of Python"
        ) from None
    target = temporary_file(stack)
    try:
        with (
            path.open(encoding=encoding, newline="") as source,
            target.open("w", encoding="utf-8", newline="") as out,
        ):
            first = source.read(4096)
            if "\0" in first:
                raise DataError(f"{label} is not {encoding}: it holds zeros, as UTF-16 does")
            out.write(first)
            shutil.copyfileobj(source, out, 1 << 20)
    except UnicodeError as error:
        raise DataError(f"{label} is not {encoding}: {error}") from None
    return target


def _utf8_fault(path: FilePath) -> str | None:
    """The fault of a file that is not UTF-8, with its place; None for others."""
    with path.open("rb") as file:
        start = file.read(4)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "is UTF-16, not UTF-8"
        file.seek(0)
        offset = 0
        for number, raw in enumerate(file, start=1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"is not UTF-8: line {number}, byte {offset + error.start + 1} of the file is "
                    f"0x{raw[error.start]:02x}"
                )
            offset += len(raw)
    return None


# The types of cells that may be marks for missing values.
_MARKABLE = ("string", "json", "integer", "number")
# The groups of DuckDB types; the others are called by their own names.
_TYPE_GROUPS = (
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM", "integer"),
    (r"FLOAT|DOUBLE|DECIMAL", "number"),
    (r"BOOLEAN", "bool"),
    (r"TIMESTAMP.*|DATE", "date"),
    (r"TIME.*", "time"),
    (r"VARCHAR|UUID|ENUM", "string"),
)


def _type_group(name: str) -> str:
    if name.endswith("]"):
        return "list"
    base = re.sub(r"\(.*", "", name).upper().strip('"')
    found = (group for pattern, group in _TYPE_GROUPS if re.fullmatch(pattern, base))
    return next(found, base.lower())
