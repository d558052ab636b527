"""Files to typed columns.

What is read
    ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.json`` (an array of records, or one record a
    line, also ``.jsonl`` and ``.ndjson``) by DuckDB; ``.svm``, ``.svmlight``, ``.libsvm`` by
    scikit-learn; these packed as ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip``; workbooks,
    ``.arrow`` and ``.feather``, databases of DuckDB and SQLite, with the name of a table in them as
    in ``shop.sqlite::orders``; any of them behind an address such as ``s3://``; Delta and Iceberg
    tables; a pattern such as ``"part-*.csv"``; ``"-"`` (CSV on standard input);
    a built-in name.

Where the table lies
    Lines above the header and below the last row, lines of units or sums and pages of a report are
    found by :mod:`~separatrix.tables.structure`, and noted.

How a column gets its kind
    ``number``: numeric and boolean columns; CSV columns in which every value is a number, or every
    value is ``true`` or ``false``; columns of strings of which at least 95 % mean numbers or dates,
    see :mod:`~separatrix.tables.value_format`; dates and timestamps, which become days since
    1970-01-01 in UTC, and have columns of their parts behind the others, see
    :mod:`~separatrix.tables.date_parts`; times of day, which become hours.
    ``text``: strings of a median of at least 3 words of which at least half are distinct, or of at
    least 8 words of which at least a tenth are distinct.
    ``category``: all other strings. Parquet and JSON columns that are stored as strings stay
    strings even where all of them look like numbers.
    ``kinds={"column": "category"}`` overrides; then the values are taken as they are written.

What counts as missing
    NULL, NaN, nothing but blanks, and the marks in :data:`DEFAULT_MISSING`, in every format.
    Blanks around a value are not part of it. A mark that is a number is compared as one.
"""

from __future__ import annotations

import contextlib
import glob as globbing
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables import containers, wide
from separatrix.tables import source_files as files
from separatrix.tables.builtin import BUILTIN_NAMES, load_builtin
from separatrix.tables.categorical import Categorical
from separatrix.tables.column_parts import source_of
from separatrix.tables.date_parts import with_date_parts
from separatrix.tables.lake import (
    FilePath,
    RemoteFile,
    files_of_log,
    is_address,
    is_iceberg,
    remote_files,
)
from separatrix.tables.limits import Limit
from separatrix.tables.progress import watched
from separatrix.tables.respelling import Reading, respelled
from separatrix.tables.sheets import columns_of_book
from separatrix.tables.structure import Given
from separatrix.tables.svmlight import SVMLIGHT_SUFFIXES, read_svmlight
from separatrix.tables.table import (
    BLANKS,
    DEFAULT_MISSING,
    OPTIONS,
    Faults,
    NoSuchColumn,
    Remarks,
    Table,
    as_strings,
    checked_kinds,
    date_note,
    given_marks,
    is_marked,
    joined,
    label_text,
    mark_numbers,
    masked,
    met_marks,
    missing_marks,
    missing_mask,
    nearest,
    number_column,
    quote,
    string_kind,
    unmet_marks,
    with_kinds,
    without_marked,
)
from separatrix.tables.text_encodings import encoding_of
from separatrix.tables.value_format import ValueFormat, checked_order

__all__ = ["OPTIONS", "SUFFIXES", "Layout", "find_files", "open_files", "read_table", "split_name"]

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_PLAIN = (*files.CSV_SUFFIXES, ".parquet", *_JSON_SUFFIXES, *SVMLIGHT_SUFFIXES)
_OTHERS = (*containers.BOOKS, *containers.ARROW, *containers.DATABASES)
SUFFIXES = (*_PLAIN, *_OTHERS, *containers.PACKED)

_T = TypeVar("_T")

# With many columns the sample has fewer rows: a hundred of them, or this many cells.
_SAMPLE_CELLS, _LEAST_SAMPLE = 200_000, 100
# Notes of one sort about lines of files that are given in full.
_NOTES_IN_FULL = 3
# The number of files that have rows in the sample, where there are several.
_SAMPLE_FILES = 5

# -------------------------------------------------------------------------------------- reading


def read_table(
    source: str | os.PathLike[str],
    *,
    missing: Iterable[str] = DEFAULT_MISSING,
    kinds: Mapping[str, str] | None = None,
    skip_absent: bool = False,
    decimal: str | None = None,
    date_format: str | None = None,
    target: str | None = None,
    spellings: Mapping[str, ValueFormat] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sql: str | None = None,
    ignore_unusable: bool = False,
    ordered: Mapping[str, Sequence[str]] | None = None,
    most_rows: int | None = None,
    together: str | None = None,
    unpacked_limit: str | int | None = None,
    needed: Sequence[str] = (),
    header: int | str | None = None,
    skip_rows: int | str | None = None,
    footer: int | str | None = None,
    sheet: str | None = None,
    keep_levels: bool | None = None,
) -> Table:
    """Read a table and find what its columns are.

    Parameters
    ----------
    source : str or path
        A file (``.csv .tsv .txt .parquet .arrow .json .xlsx .sqlite .duckdb .svm``, or one of
        text with ``.gz .bz2 .xz .zst .zip`` behind), an address (``https://``, ``s3://``,
        ``gs://``, ``az://``, ``hdfs://``), a pattern (``"part-*.parquet"``: the files in the order
        of their names, with the same columns), a folder (all files in it; for Parquet files, names
        of folders in it such as ``year=2024`` are a column of text; for a Delta or Iceberg table,
        the files that its log lists), ``"-"`` for CSV on standard input, or a built-in name
        (``iris``, ``breast-cancer``, ``wine``, ``digits``, ``diabetes``).
    missing : iterable of str
        The marks for missing values, besides empty cells; see :data:`DEFAULT_MISSING`. A
        number stands for all ways to write it: ``"-999"`` also for ``-999.0``. Words take the place
        of the usual marks, and numbers alone are added to them. ``"weight=0"`` is a mark of the
        column ``weight`` alone. A mark that no cell is gives an alert. A frozenset holds the
        complete marks of an earlier table, which are neither added to nor looked for.
    kinds : mapping of str to {"number", "date", "category", "text", "ignore"}, optional
        Overrides for single columns.
    skip_absent : bool
        Whether ``kinds`` may name columns that the source does not have, which are then passed
        over, as when another file is read with the kinds of an earlier one.
    decimal : {".", ","}, optional
        The decimal mark of numbers; by default it is found, a column at a time.
    date_format : str, optional
        ``"day-first"``, ``"month-first"``, ``"year-first"``, or a format of ``strptime``, for all
        dates; by default it is found, a column at a time.
    target : str, optional
        The column to predict: it is read as numbers only where that loses none of its cells.
    spellings : mapping of str to ValueFormat, optional
        The spellings of columns, as ``Table.spellings`` of another table has them.
    delimiter : str, optional
        The delimiter of a CSV file, one character, or ``"tab"``; by default it is found.
    encoding : str, optional
        The encoding of a text file, such as ``"latin-1"``; by default UTF-8, UTF-16 where a file
        begins with its mark or has its zeros, and for other CSV files the encoding in which their
        words read as a language, where there is one.
    sql : str, optional
        A query of DuckDB over the files, which are called ``data`` in it; its answer is read.
    ignore_unusable : bool
        Whether columns of lists, records and the like are left out, with an alert, rather than
        refused.
    ordered : mapping of str to sequence of str, optional
        The levels of columns whose levels have an order, from the lowest to the highest: they are
        read as the numbers 0, 1, 2, ...; a level that is not listed is an error.
    most_rows : int, optional
        The most rows that are read, equally many of each file. A hash of the contents of the rows
        draws them and orders them, so that they are the same ones each time.
    together : str, optional
        A column by whose hash `most_rows` draws rows, so that those of one value come together.
    needed : sequence of str
        Columns without which the table is refused before its rows are read.
    header : int or str, optional
        The number of the line with the names of the columns in a CSV file or a sheet, from 1,
        ``"4,5"`` for a header in two lines, or ``"none"`` where no line has names. By default it is
        found: the line above the first row, in which columns of numbers have words.
    skip_rows : int, optional
        The number of lines at the beginning of a CSV file or a sheet that are left out before the
        header is found.
    footer : int, optional
        The number of lines at the end of a CSV file or a sheet that are not rows, not counting
        blank lines. By default sums, sources and remarks below the last row are found; 0 keeps
        them.
    sheet : str, optional
        The sheet of a workbook, or the table of a database, as behind two colons. By default the
        only sheet that holds a table, or the only one of them with the columns `needed`.
    keep_levels : bool, optional
        Whether levels stay apart that differ only in case, accents, blanks or a full stop, and
        words for true and false that are spelled in several ways. By default they are one level,
        with a note.

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
    options = _read_options(
        missing=missing,
        kinds=kinds,
        skip_absent=skip_absent,
        decimal=decimal,
        date_format=date_format,
        target=target,
        spellings=spellings,
        delimiter=delimiter,
        encoding=encoding,
        sql=sql,
        ignore_unusable=ignore_unusable,
        ordered=ordered,
        most_rows=most_rows,
        together=together,
        unpacked_limit=unpacked_limit,
        needed=needed,
        header=header,
        skip_rows=skip_rows,
        footer=footer,
        sheet=sheet,
        keep_levels=keep_levels,
    )
    name = os.fspath(source)
    if name == "-":
        return _read_stdin(options)
    if isinstance(source, str) and name in BUILTIN_NAMES:
        return options.apply(options.marked(load_builtin(name)))
    name, inner = split_name(name)
    with contextlib.ExitStack() as stack:
        parts = []
        for found in _found_files(name):
            path = options.here(found, stack)
            if (table := _in_memory(path, str(found), inner, options)) is not None:
                return options.apply(table)
            parts.append(options.opened(path, inner, stack, str(found)))
        _mark_partitions(parts, [name])
        if any(part.suffix in SVMLIGHT_SUFFIXES for part in parts):
            return options.apply(replace(read_svmlight(Path(str(parts[0].path))), source=name))
        return _read_parts(parts, name, options, stack)


def open_files(
    sources: Sequence[str | os.PathLike[str]],
    read: Callable[[Any, Layout], _T],
    stack: contextlib.ExitStack,
    **options: Any,
) -> _T | None:
    """Apply a function to files without reading all of their rows.

    Parameters
    ----------
    sources : sequence of str or path
        Files, or patterns.
    read : callable
        ``read(connection, layout)``, with DuckDB's connection and a :class:`Layout`; it may be
        called again where a file of CSV had to be rewritten.
    stack : ExitStack
        The stack that removes files made on the way.
    options
        The options of :func:`read_table`, without ``most_rows`` and ``together``.

    Returns
    -------
    object or None
        The result of `read`; None for what can be read into memory only: built-in tables,
        standard input, workbooks, SQLite and svmlight files.

    Raises
    ------
    DataError
        As :func:`read_table` does.
    """
    chosen = _read_options(**options)
    names = [os.fspath(source) for source in sources]
    source = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
    if source == "-" or source in BUILTIN_NAMES:
        return None
    found: list[tuple[FilePath, str | None]] = []
    for given in names:
        name, inner = split_name(given)
        found += [(path, inner) for path in _found_files(name)]
    if any(_read_in_python(path) for path, _ in found):
        return None
    parts = [
        chosen.opened(chosen.here(path, stack), inner, stack, str(path)) for path, inner in found
    ]
    _mark_partitions(parts, names)
    if any(part.suffix in SVMLIGHT_SUFFIXES for part in parts):
        return None
    connection = stack.enter_context(contextlib.closing(files.connect()))

    def checked(connection: Any, layout: Layout) -> _T:
        layout.require_one_header(connection)
        return read(connection, layout)

    return _through(checked, connection, parts, source, chosen, stack)


def _read_options(
    *,
    missing: Iterable[str] = DEFAULT_MISSING,
    kinds: Mapping[str, str] | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    target: str | None = None,
    spellings: Mapping[str, ValueFormat] | None = None,
    delimiter: str | None = None,
    ordered: Mapping[str, Sequence[str]] | None = None,
    unpacked_limit: str | int | None = None,
    needed: Sequence[str] = (),
    header: int | str | None = None,
    skip_rows: int | str | None = None,
    footer: int | str | None = None,
    sheet: str | None = None,
    keep_levels: bool | None = None,
    **others: Any,
) -> _ReadOptions:
    missing = given_marks(missing)
    # The marks of an earlier table need not be in this one.
    of_earlier = isinstance(missing, frozenset)
    marks = missing_marks(missing)
    given = () if of_earlier or missing == DEFAULT_MISSING else tuple(dict.fromkeys(missing))
    if decimal not in (None, ".", ","):
        raise DataError(f"{decimal!r} is not a decimal mark; give '.' or ','")
    spellings = {**(spellings or {}), **_in_order(ordered or {}, kinds or {}, target)}
    reading = Reading(
        decimal,
        checked_order(date_format),
        spellings,
        target,
        ordered=frozenset(ordered or {}),
        missing=mark_numbers(marks),
        keep_levels=bool(keep_levels),
    )
    return _ReadOptions(
        marks,
        kinds,
        reading,
        _checked_delimiter(delimiter),
        needed=tuple(needed),
        given=tuple(mark for text in given if (mark := str(text).strip(BLANKS))),
        own=frozenset(mark for mark in marks if "=" in mark),
        limit=Limit.of(unpacked_limit),
        structure=Given.of(header, skip_rows, footer, sheet),
        **others,
    )


def _found_files(name: str) -> Sequence[FilePath]:
    """The files of a name, pattern or address, each of which can be read."""
    paths = find_files(name)
    suffixes = {path.suffix.lower() for path in paths}
    for path in paths:
        _check_file(path)
    alone = suffixes & {*SVMLIGHT_SUFFIXES, *containers.BOOKS, *containers.DATABASES}
    if alone and len(paths) > 1:
        raise DataError(f"{name} matches {len(paths)} {alone.pop()} files; give one at a time")
    if not suffixes & set(SVMLIGHT_SUFFIXES):
        for path in paths:
            _check_path(path)
    return paths


def split_name(name: str) -> tuple[str, str | None]:
    """A file, and the name of the table in it behind two colons."""
    path, colons, inner = name.rpartition("::")
    if not colons or Path(name).exists():
        return name, None
    if not inner or suffix_of(path) not in (*containers.BOOKS, *containers.DATABASES):
        raise DataError(
            f"{name} names a table in {path}, and only workbooks and databases have several "
            f"({' '.join((*containers.BOOKS, *containers.DATABASES))})"
        )
    return path, inner


def suffix_of(name: str) -> str:
    return Path(name).suffix.lower()


def _in_memory(
    path: FilePath, label: str, inner: str | None, options: _ReadOptions
) -> Table | None:
    """The table of a file that is read in Python; None for others."""
    if isinstance(path, RemoteFile) or not _read_in_python(path):
        return None
    suffix = path.suffix.lower()
    if suffix in SVMLIGHT_SUFFIXES:
        return replace(read_svmlight(path), source=label)
    inner = options.inner(label, inner)
    if suffix not in containers.BOOKS:
        return options.of_memory(containers.columns_of_sqlite(path, inner, options.limit), label)
    # Columns that an earlier table had are those to look for.
    known = [*(options.kinds or {}), *options.reading.spellings] if options.skip_absent else []
    needed = [name for name in options.needed or known if options.source_of(name) is None]
    columns, notes = columns_of_book(path, inner, options.limit, options.structure, needed)
    table = options.of_memory(columns, label)
    return replace(table, notes=(*notes, *table.notes))


def _read_in_python(path: FilePath) -> bool:
    """Whether a file is one that Python reads into memory, and not DuckDB."""
    suffix = path.suffix.lower()
    if suffix not in containers.DATABASES:
        return suffix in (*SVMLIGHT_SUFFIXES, *containers.BOOKS)
    if suffix == ".duckdb":
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] != b"DUCK"


@dataclass(frozen=True)
class _ReadOptions:
    """The options of :func:`read_table`, resolved."""

    marks: frozenset[str]
    kinds: Mapping[str, str] | None
    reading: Reading
    delimiter: str = ""
    skip_absent: bool = False
    encoding: str | None = None
    sql: str | None = None
    ignore_unusable: bool = False
    most_rows: int | None = None
    together: str | None = None
    needed: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    limit: Limit = field(default_factory=lambda: Limit.of(None))
    structure: Given = field(default_factory=Given)

    def here(self, path: FilePath, stack: contextlib.ExitStack) -> FilePath:
        """The file on this machine's disks; a remote Parquet file is read where it is."""
        if isinstance(path, Path) or path.suffix.lower() == ".parquet":
            return path
        return path.copied(files.temporary_file(stack).parent, self.limit)

    def opened(
        self, path: FilePath, inner: str | None, stack: contextlib.ExitStack, label: str
    ) -> files.Part:
        """A file that DuckDB can read, made of another where it is one of those."""
        if isinstance(path, RemoteFile):
            return files.Part(path, label, ".parquet")
        suffix, packing = containers.suffixes_of(path)
        if packing:
            path, suffix = containers.unpacked(path, stack, _PLAIN, self.limit)
            if suffix not in _PLAIN:
                raise DataError(
                    f"the name {label} does not say which kind of file is packed in it; rename it, "
                    f"for instance to {Path(label).stem}.csv{packing}"
                )
        if self.structure.sheet is not None and suffix not in containers.DATABASES:
            option = Setting("sheet", self.structure.sheet)
            raise DataError(Message("no_sheets", source=label, option=option))
        if suffix in containers.ARROW:
            path = containers.parquet_of_arrow(path, stack, self.limit)
            suffix = ".parquet"
        elif suffix in containers.DATABASES:
            inner = self.inner(label, inner)
            path = containers.parquet_of_database(path, inner, stack, self.limit)
            suffix = ".parquet"
        part = files.Part(path, label, suffix, self.delimiter)
        if suffix in (*files.CSV_SUFFIXES, *_JSON_SUFFIXES):
            encoding = self.encoding or encoding_of(path)
            if encoding is not None:
                part.path = files.written_as_utf8(path, encoding, label, stack)
        if suffix in files.CSV_SUFFIXES:
            if encoding is None:
                part.decode(stack)
            part.path = containers.without_comments(Path(str(part.path)), stack)
            part.look(self.structure, stack)
        return part

    def inner(self, label: str, inner: str | None) -> str | None:
        """The sheet or table that was named, behind the file's name or by itself."""
        sheet = self.structure.sheet
        if inner is not None and sheet not in (None, inner):
            option = Setting("sheet", sheet)
            noun = "sheet" if suffix_of(label) in containers.BOOKS else "table"
            raise DataError(
                Message("sheet_twice", source=label, inner=inner, option=option, noun=noun)
            )
        return inner if sheet is None else sheet

    def marked(self, table: Table) -> Table:
        """A table whose marks for missing values were given."""
        unmet = unmet_marks(self.given, met_marks(table.columns, self.given))
        table = without_marked(table, self.marks)
        return replace(table, alerts=(*table.alerts, *unmet))

    def of_memory(self, columns: Mapping[str, Any], source: str) -> Table:
        """A table of columns that are in memory."""
        table = Table.from_columns(columns, missing=self.marks, source=source)
        unmet = unmet_marks(self.given, met_marks(columns, self.given))
        return replace(table, alerts=(*table.alerts, *unmet))

    def wanted(self, names: Sequence[str], source: str) -> dict[str, str]:
        there = set(names)
        for name in self.needed:
            if name not in there and self.source_of(name) not in there:
                raise NoSuchColumn(name, names, source)
        # Columns that are made of dates are there once the others have been read.
        ordered = [n for n in self._ordered if n in there or n in self.reading.ordered]
        kinds = {**(self.kinds or {}), **dict.fromkeys(ordered, "category")}
        own = {
            name: kind
            for name, kind in kinds.items()
            if name in there or self.source_of(name) not in there
        }
        return checked_kinds(own, names, source, skip_absent=self.skip_absent)

    def source_of(self, name: str) -> str | None:
        """The column that a column with this name is a part of, or None."""
        return source_of(name, self.reading.spellings)

    @property
    def _ordered(self) -> set[str]:
        """Columns that are read as levels before these are put in order."""
        return {n for n, one in self.reading.spellings.items() if one.kind == "ordered"}

    def apply(self, table: Table) -> Table:
        """A table that is in memory, as the options have it."""
        wanted = self.wanted(table.names, table.source)
        table = with_kinds(table, {n: k for n, k in wanted.items() if k not in ("number", "date")})
        read = self.finish(table)
        still = {n: k for n, k in wanted.items() if n in read.columns and n not in self._ordered}
        return with_kinds(read, still)

    def finish(self, table: Table) -> Table:
        """Read strings by what they mean, and take dates apart."""
        # Which are columns of the file was checked before those to be ignored were left out.
        wanted = {n: kind for n, kind in (self.kinds or {}).items() if n in table.columns}
        table = with_date_parts(without_marked(respelled(table, wanted, self.reading), self.own))
        derived = {n: kind for n, kind in (self.kinds or {}).items() if n in table.derived}
        return with_kinds(table, derived)


def _in_order(
    ordered: Mapping[str, Sequence[str]], kinds: Mapping[str, str], target: str | None
) -> dict[str, ValueFormat]:
    """The formats of the columns whose levels the caller has put in order."""
    formats = {}
    for name, levels in ordered.items():
        words = tuple(label_text(level).strip(BLANKS) for level in levels)
        if len(set(words)) < max(2, len(words)):
            raise DataError(
                f"the order of column {quote(name)} needs at least two different levels; it is "
                f"{joined(words)}"
            )
        if name in kinds or name == target:
            why = "it is the target" if name == target else f"its kind is {kinds[name]}"
            raise DataError(f"column {quote(name)} cannot be put in order, because {why}")
        formats[name] = ValueFormat("ordered", words=words)
    return formats


def find_files(name: str) -> Sequence[FilePath]:
    """The files of a name, pattern, folder or address, of which none is opened."""
    if not name:
        raise DataError(
            "the name of the table is empty; give the name of a file, a pattern, or - for stdin"
        )
    path = Path(name)
    paths: Sequence[FilePath]
    if is_address(name):
        paths, is_folder = remote_files(name)
        paths = _tables_in(paths, name) if is_folder else paths
    elif path.is_dir():
        paths = _files_in(path)
    elif path.exists():
        paths = [path]
    elif globbing.has_magic(name):
        every = map(Path, sorted(globbing.glob(name, recursive=True)))
        paths = [found for found in every if found.is_file()]
        if not paths:
            raise DataError(f"no file matches the pattern {name}")
    elif path.suffix == "" and path.name == name:
        raise DataError(
            f"{name!r} is neither a file nor a built-in name ({', '.join(BUILTIN_NAMES)})"
            f"{nearest(name, BUILTIN_NAMES)}"
        )
    else:
        raise DataError(f"{name} does not exist{_nearby_file(path)}")
    for found in paths:
        inner, packing = containers.suffixes_of(found)
        if (packing or inner) not in SUFFIXES or (
            packing not in ("", ".zip") and inner not in _PLAIN
        ):
            raise DataError(
                f"{found} has the suffix {(inner + packing)!r}, which is not one of "
                f"{' '.join(SUFFIXES)}; convert the file, or rename it if it is one of these"
                f"{_folder_hint(found)}"
            )
    return paths


def _folder_hint(path: FilePath) -> str:
    """A hint where an address may be that of a folder, which web servers do not reveal."""
    web = isinstance(path, RemoteFile) and not path.suffix
    return "; the address of a folder ends with /" if web else ""


def _files_in(folder: Path) -> Sequence[FilePath]:
    """The files of a table that is a folder, in the order of their names."""
    if (listed := files_of_log(folder)) is not None:
        return listed
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return _tables_in(found, str(folder))


def _tables_in(found: Sequence[FilePath], folder: str) -> Sequence[FilePath]:
    """The tables among the files of a folder, but for hidden ones.

    Raises
    ------
    DataError
        If there is none, or they are of several kinds.
    """
    known = [
        path
        for path in found
        if containers.suffixes_of(path)[0] in SUFFIXES
        and not any(part[0] in "._" for part in (*_folders_of(path, Path(folder)), path.name))
    ]
    suffixes = sorted({path.suffix.lower() for path in known})
    if not known:
        raise DataError(f"{folder} is a folder without a file of a table ({' '.join(SUFFIXES)})")
    if len(suffixes) > 1:
        raise DataError(
            f"{folder} is a folder with files of several kinds ({' '.join(suffixes)}); give a "
            f"pattern such as {folder}/*{suffixes[0]}"
        )
    return known


def _folders_of(path: FilePath, folder: Path) -> Sequence[str]:
    """The folders between a folder and a file below it."""
    return path.below if isinstance(path, RemoteFile) else path.relative_to(folder).parts[:-1]


def _mark_partitions(parts: Sequence[files.Part], names: Sequence[str]) -> None:
    """Have names of folders such as ``year=2024`` be columns of the files below a given folder."""
    folders = [one for one in map(Path, names) if one.is_dir() and not is_iceberg(one)]
    for part in parts:
        # A remote file knows the folder that was given.
        below = [one for one in folders if one in part.path.parents] or [Path()]
        inner = isinstance(part.path, RemoteFile) or below != [Path()]
        part.hive = part.suffix == ".parquet" and any(
            "=" in name for one in below if inner for name in _folders_of(part.path, one)
        )


def _nearby_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    try:
        there = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in SUFFIXES)
    except OSError:
        return ""
    return nearest(path.name, there)


def _check_file(path: FilePath) -> None:
    if isinstance(path, RemoteFile):
        return
    try:
        # A pipe waits for ever for somebody to write to it, and some devices never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError(
                f"{path} is a pipe or a device, not a file; read it from standard input, with - in "
                "place of its name"
            )
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"{path} is empty")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_path(path: FilePath) -> None:
    """Refuse a name that is not UTF-8, as DuckDB does with an error of its own bindings."""
    try:
        str(path.absolute()).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(
            f"{path}: the name of the file or of one of its folders is not UTF-8; rename it, or "
            "pass a CSV file on standard input"
        ) from None


def _checked_delimiter(delimiter: str | None) -> str:
    mark = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter or "", delimiter or "")
    if len(mark) > 1 or mark in ('"', "\n", "\r"):
        raise DataError(f"{delimiter!r} is not a delimiter; give one character, or tab")
    return mark


def _read_stdin(options: _ReadOptions) -> Table:
    stream = getattr(sys.stdin, "buffer", None)
    data = stream.read() if stream is not None else sys.stdin.read().encode()
    if not data:
        raise DataError("standard input is empty")
    files.import_duckdb()  # before there is a file that an interrupted import would leave behind
    with contextlib.ExitStack() as stack:
        path = files.temporary_file(stack)
        path.write_bytes(data)
        part = options.opened(path, None, stack, "standard input")
        return _read_parts([part], "standard input", options, stack)


# ------------------------------------------------------------------------------------- columns


@dataclass
class Layout:
    """Files of a table whose rows have not been read, and what is known of their columns.

    Attributes
    ----------
    parts : list of Part
        The files, with the same columns.
    groups : dict of str to str
        The group of the type of every column that is read.
    wanted : dict of str to str
        Kinds that the caller requested.
    source : str
    options : _ReadOptions
    unusable : dict of str to str
    supposed : tuple of str
        Columns of which the first rows alone have been seen.
    """

    parts: list[files.Part]
    groups: dict[str, str]
    wanted: dict[str, str]
    source: str
    options: _ReadOptions
    unusable: dict[str, str]
    supposed: tuple[str, ...] = ()

    @property
    def named(self) -> list[str]:
        """Columns whose name would be a string in a row that repeats the header."""
        first, marks = self.parts[0], self.options.marks
        return [n for n in self.groups if n not in first.unnamed and not is_marked(n, marks)]

    @property
    def notes(self) -> list[str]:
        """The messages about lines of the files that are not read as rows."""
        notes: list[str] = []
        counts: dict[str, int] = {}
        for note in (note for part in self.parts for note in part.notes):
            counts[note.code] = counts.get(note.code, 0) + 1
            if counts[note.code] <= _NOTES_IN_FULL:
                notes.append(note)
        more = sum(max(count - _NOTES_IN_FULL, 0) for count in counts.values())
        if more:
            notes.append(Message("more_lines", count=f"{more:,}", source=self.source))
        return notes

    def require_one_header(self, connection: Any) -> None:
        """Have a CSV file rewritten without rows that are its header once more.

        Joined files have them. They would make every number a text, and the name of the target one
        of its classes.
        """
        named = self.named
        strings = all(self.groups[name] == "string" for name in named)
        if not self.parts[0].is_csv or len(named) < 2 or not strings:
            return
        for part in self.parts:
            if not part.longest_line and part.repeats_header(connection, named):
                raise files.CsvTrouble(part, "the header is repeated")

    def select(self, part: files.Part, name: str, c: str) -> str:
        """SQL for the values of a column of a file, which is called ``c`` in it."""
        values = part.values(self.options.marks)
        own, group = part.types[part.places[name]], self.groups[name]
        wanted, strings = self.wanted.get(name), group in ("string", "json")
        as_is = wanted in ("category", "text") or (wanted in ("number", "date") and strings)
        if group == "null":
            return f"CAST(NULL AS {'VARCHAR' if as_is else 'DOUBLE'})"
        if part.is_csv:
            return values.cast(c, group)
        text = f"({c} ->> '$')" if own == "json" else f"CAST({c} AS VARCHAR)"
        if strings:
            return values.cast(text, "string")
        if as_is and own == group != "number":
            return values.cast(text, "string") if values.numbers else text
        converted = {"bool": c, "date": f"epoch({c}) / 86400.0", "time": f"epoch({c}) / 3600.0"}
        return converted.get(group) or values.unmarked(f"CAST({c} AS DOUBLE)")

    def unmet(self, connection: Any) -> list[str]:
        """Return the message about marks for missing values that no cell has."""
        given = self.options.given
        if not given:
            return []
        met = set().union(*(part.met(connection, given) for part in self.parts))
        return unmet_marks(given, met)

    def table(self, columns: dict[str, Any], n_rows: int, rows: Any = None) -> Table:
        """Columns, as SQL selected them, with their kinds, read by what they mean.

        ``rows``: where each row stands in the files, from 0; by default they are all rows.
        """
        first, wanted = self.parts[0], self.wanted
        found: dict[str, str] = {}
        dates, notes, alerts = set(), Remarks(), Remarks()
        for name, column in columns.items():
            kind = "number" if wanted.get(name) == "date" else wanted.get(name)
            found[name] = kind or ("number" if column.dtype != object else string_kind(column))
            if name in first.unnamed:
                notes.add(
                    "without a name in the header",
                    f"column {first.places[name] + 1} has no name in the header; its name is "
                    f"{quote(name)}",
                )
            if first.is_csv and column.dtype == object:
                _look_for_damage(alerts, name, column, rows)
            if found[name] == "number":
                _note_reading(notes, name, self.groups[name])
                if self.groups[name] == "date":
                    dates.add(name)
        left_out = []
        if self.unusable:
            what = f"columns {joined(self.unusable)} hold no numbers, dates or strings"
            left_out = [f"{what}; they are left out"]
        table = Table(
            names=tuple(columns),
            columns=columns,
            kinds=found,
            n_rows=n_rows,
            source=self.source,
            overridden=frozenset(columns) & frozenset(wanted),
            dates=frozenset(dates),
            notes=(*self.notes, *notes.lines()),
            alerts=(*alerts.lines(), *left_out),
            rows=rows,
        )
        # Where semicolons part the cells, commas are free for numbers.
        plain, comma = first.is_csv, first.delimiter == ";"
        reading = replace(self.options.reading, plain=plain, comma=comma)
        return replace(self.options, reading=reading).finish(table)


def _read_parts(
    parts: list[files.Part], source: str, options: _ReadOptions, stack: contextlib.ExitStack
) -> Table:
    opened = files.connect_to_read([part.path for part in parts])
    connection = stack.enter_context(contextlib.closing(opened))
    stack.enter_context(watched(connection, partial(files.about_rows, parts)))
    read = partial(
        _through, _read_columns, connection, parts, source, options, stack, by_cells=True
    )
    try:
        return read(supposing=True)
    except files.NotAsSupposed:
        return read()


def _through(
    read: Callable[[Any, Layout], _T],
    connection: Any,
    parts: list[files.Part],
    source: str,
    options: _ReadOptions,
    stack: contextlib.ExitStack,
    *,
    supposing: bool = False,
    by_cells: bool = False,
) -> _T:
    """Apply a function to files; CSV that DuckDB cannot read is rewritten on the way.

    ``supposing``: columns of CSV are taken to be what their first rows are, which saves a reading;
    where they are not, :class:`files.NotAsSupposed` is raised.  ``by_cells``: ``read`` can read
    files of one cell a line, which CSV of very many columns becomes.
    """
    for part in parts:
        part.describe(connection)
    files.check_same_columns(parts)
    apart = (
        by_cells
        and not supposing
        and all(part.is_csv for part in parts)
        and wide.is_wide(len(parts[0].names), sum(part.path.stat().st_size for part in parts))
    )
    for part in parts:
        if apart and options.sql is None:
            part.take_apart(stack)
        elif not part.plain:
            part.rewrite("some of its lines are no rows", stack)
        elif part.skip:
            # DuckDB can skip lines, but then loses every row where line ends are of two sorts.
            part.rewrite("there are blank lines before the header", stack)
        elif part.header_lines > 1:
            # DuckDB takes the first line break of a file for the one that ends its lines, and
            # finds no rows where those within quotes are of another sort.
            part.rewrite("there are line breaks in its header", stack)
    if options.sql is not None:
        answer = containers.parquet_of_query(options.sql, parts, stack, options.limit)
        part = files.Part(answer, f"the result of the query over {source}", ".parquet")
        part.notes = [note for one in parts for note in one.notes]
        part.describe(connection)
        parts = [part]
    if options.most_rows is not None:
        for part in parts:
            part.most_rows = -(-options.most_rows // len(parts))
            part.together = part.places.get(options.together or "")
    while True:  # every file is rewritten once at most
        try:
            return read(connection, _laid_out(connection, parts, source, options, supposing))
        except files.CsvTrouble as trouble:
            trouble.part.rewrite(str(trouble), stack)


def _laid_out(
    connection: Any, parts: list[files.Part], source: str, options: _ReadOptions, supposing: bool
) -> Layout:
    first = parts[0]
    supposed: tuple[str, ...] = ()
    wanted = options.wanted(first.names, source)
    kept = [name for name in first.names if wanted.get(name) != "ignore"]
    groups, faults = {}, Faults()
    for name in kept:
        with faults.gathered():
            groups[name] = _merged_group(parts, name, source)
    faults.settle()
    unusable = {n: group for n, group in groups.items() if group not in _USABLE}
    if unusable and not options.ignore_unusable:
        raise _no_plain_values(unusable, source)
    kept = [name for name in kept if name not in unusable]
    if not kept:
        raise DataError(Message("no_column_kept", source=source))
    groups = {name: groups[name] for name in kept}
    if first.is_csv:
        # Columns whose spelling is known come as they are written.
        undecided = [n for n in kept if n not in wanted and n not in options.reading.spellings]
        supposing = supposing and all(part.cells is None for part in parts)
        found = _found_groups(connection, parts, undecided, options.marks, supposing)
        if options.reading.decimal == ",":
            found = {n: "string" if group == "number" else group for n, group in found.items()}
        groups.update(found)
        if supposing:
            supposed = tuple(n for n, group in found.items() if group in files.PROPOSED)
    return Layout(parts, groups, wanted, source, options, unusable, supposed)


def _read_columns(connection: Any, layout: Layout) -> Table:
    parts, groups = layout.parts, layout.groups
    pieces: dict[str, list[Any]] = {name: [] for name in groups}
    counts = []
    for part in parts:
        part.require_memory(connection, len(groups), layout.options.limit)
        select = partial(layout.select, part)
        count, fetched = part.fetch(
            connection, groups, select, layout.supposed, layout.options.marks
        )
        counts.append(count)
        for name in groups:
            pieces[name].append(fetched[name])
    n_rows = sum(counts)
    if n_rows == 0:
        raise no_rows(layout.source, parts[0])
    columns = {name: _finish(pieces.pop(name), layout.wanted.get(name)) for name in groups}
    if all(_holds(columns[name], name) for name in layout.named):
        layout.require_one_header(connection)
    table = layout.table(columns, n_rows)
    return replace(table, alerts=(*table.alerts, *layout.unmet(connection)))


def column_notes(
    groups: Mapping[str, str], wanted: Mapping[str, str], names: Iterable[str]
) -> list[str]:
    """Return notes about columns that are read as numbers and stored as something else."""
    notes = Remarks()
    for name in names:
        if wanted.get(name, "date") in ("date", "number"):
            _note_reading(notes, name, groups[name])
    return notes.lines()


def _note_reading(notes: Remarks, name: str, group: str) -> None:
    if group == "date":
        notes.add("holding dates", date_note(name))
    if group == "time":
        notes.add(
            "holding times of day, read as hours",
            f"column {quote(name)} holds times of day: read as hours",
        )


def no_rows(source: str, first: files.Part) -> DataError:
    """Return the error of a table without rows."""
    return DataError(f"{source} holds {'a header but no rows' if first.is_csv else 'no rows'}")


def _holds(column: Any, text: str) -> bool:
    """Whether a cell of a column of strings is a text."""
    values = column.levels if isinstance(column, Categorical) else np.ma.getdata(column)
    return column.dtype == object and text in values.tolist()


def _look_for_damage(alerts: Remarks, name: str, column: Any, rows: Any) -> None:
    """Warn of NUL bytes in a CSV column."""
    if isinstance(column, Categorical) and not any("\0" in level for level in column.levels):
        return
    there = np.flatnonzero(~missing_mask(column))
    values = np.ma.getdata(column)[there].tolist()
    nul = next((i for i, value in enumerate(values) if "\0" in value), None)
    if nul is not None:
        row = int(there[nul] if rows is None else rows[there[nul]])
        alerts.add(
            "holding NUL bytes",
            f"column {quote(name)}, row {row + 1}: {quote(values[nul])} holds a NUL "
            "byte, so the file may be damaged or not UTF-8",
        )


_NUMERIC_GROUPS = {"integer", "number", "bool"}
_USABLE = {*_NUMERIC_GROUPS, "string", "json", "date", "time", "null"}


def _merged_group(parts: list[files.Part], name: str, source: str) -> str:
    """One group of types for a column over several files."""
    every = [(part.types[part.places[name]], part.label) for part in parts]
    known = [(group, label) for group, label in every if group != "null"] or [("null", source)]
    kinds = {group for group, _ in known}
    merged, label = known[0]
    if len(kinds) > 1:
        other = next(entry for entry in known if entry[0] != merged)
        if kinds <= _NUMERIC_GROUPS:
            merged = "number"
        elif kinds == {"string", "json"}:
            merged = "string"
        else:
            raise DataError(
                f"column {quote(name)} holds {merged} values in {label} and {other[0]} values in "
                f"{other[1]}; convert them to one type"
            )
    return merged


def _no_plain_values(unusable: dict[str, str], source: str) -> DataError:
    """One sentence about all columns of lists, records and the like."""
    (name, group), *others = unusable.items()
    if not others:
        ignored = Setting("kinds", (name, "ignore"))
        values = {"source": source, "column": quote(name), "group": group}
        return DataError(Message("no_plain_values", **values, ignored=ignored))
    named = [f"{quote(n)} ({group})" for n, group in unusable.items()]
    columns = ", ".join(named[:20]) + (f" and {len(named) - 20:,} more" if named[20:] else "")
    return DataError(Message("no_plain_columns", source=source, columns=columns))


def _found_groups(
    connection: Any,
    parts: list[files.Part],
    names: list[str],
    marks: frozenset[str],
    supposing: bool,
) -> dict[str, str]:
    """The groups of types of CSV columns over all rows of all files.

    A sample proposes numbers, booleans or dates; every row is then checked, so that a late
    surprise is never lost: here, or where ``supposing``, while the rows are read.
    """
    if not names:
        return {}
    unlike = np.zeros((len(files.PROPOSED), len(names)), dtype=bool)
    rows = min(files.tuned.now.sample_rows, max(_LEAST_SAMPLE, _SAMPLE_CELLS // len(names)))
    for part in parts[:_SAMPLE_FILES]:
        unlike |= part.unlike(names, marks, rows)
    order = [*files.PROPOSED, "string"]
    rank = np.argmin(np.vstack([unlike, np.zeros(len(names), dtype=bool)]), axis=0)
    for k, kind in enumerate(files.PROPOSED):
        doubtful = np.empty(0, dtype=int) if supposing else np.flatnonzero(rank == k)
        # Distinguishing values that do not fit from marks for missing values is slow to plan and
        # to do, so only the columns where something did not fit are checked for that.
        for counting in (files.ValueSql.count_unfit, files.ValueSql.count_other):
            questioned = [names[j] for j in doubtful]
            if questioned:
                odd = sum(
                    part.count(connection, questioned, marks, counting, [kind]) for part in parts
                )
                doubtful = doubtful[odd[0] > 0]
        rank[doubtful] += 1
    return {name: order[k] for name, k in zip(names, rank, strict=True)}


def _finish(pieces: list[Any], wanted: str | None) -> Any:
    """One column from the pieces of the files."""
    if len(pieces) == 1 and isinstance(pieces[0], Categorical):
        return pieces[0]
    gone = _one_below_another([missing_mask(piece) for piece in pieces])
    values = _one_below_another([np.ma.getdata(piece) for piece in pieces])
    if values.dtype.kind in "OUS":
        strings = values if values.dtype == object else values.astype(object)
        gone |= np.fromiter((value is None for value in strings), dtype=bool, count=len(strings))
        return masked(strings, gone)
    column = masked(values, gone) if values.dtype == bool else number_column(values, gone)
    return as_strings(column) if wanted in ("category", "text") else column


def _one_below_another(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
