"""Containers of tables beside plain files: compressed files, workbooks, databases, encodings.

Each becomes a file that DuckDB reads, or columns in memory.  A table inside a file with several is
named behind two colons: ``sales.xlsx::2024``, ``shop.sqlite::orders``.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import datetime
import gzip
import lzma
import re
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.exceptions import DataError, imported
from separatrix.messages import Message, Setting
from separatrix.tables import source_files as files
from separatrix.tables.lake import FilePath
from separatrix.tables.limits import Limit
from separatrix.tables.table import joined, nearest, quote

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
BOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
ARROW = (".arrow", ".feather")
DATABASES = (".duckdb", ".sqlite", ".sqlite3", ".db")
# Rows of a database that are fetched at a time.
_ROWS = 1_000
# Bytes of the longest text in one.
_LONGEST = 1_000_000_000


def suffixes_of(path: FilePath) -> tuple[str, str]:
    """The suffix of a file and that of its packing: ``(".csv", ".gz")``, or ``(".csv", "")``."""
    suffix = path.suffix.lower()
    if suffix not in PACKED:
        return suffix, ""
    inner = Path(path.stem).suffix.lower()
    return inner, suffix


# ------------------------------------------------------------------------------ compressed files


def unpacked(
    path: Path, stack: contextlib.ExitStack, known: Sequence[str], limit: Limit
) -> tuple[Path, str]:
    """The unpacked copy of a compressed file, and its suffix.

    Raises
    ------
    DataError
        If the file is damaged or takes more than the limit, or an archive holds no table or
        several.
    ImportError
        If the package that reads it is missing.
    """
    inner, packing = suffixes_of(path)
    target = files.temporary_file(stack)
    opened, damaged = _opener(packing)
    try:
        with opened(path) as source:
            if packing == ".zip":
                inner = _unzip(source, path, target, known, limit)
            else:
                _unpack(source, target, path, limit)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, damaged) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{path} cannot be unpacked: {error.strerror}") from None
        raise DataError(
            f"{path} cannot be unpacked, because it is damaged or not a {packing} file"
        ) from None
    if target.stat().st_size == 0:
        raise DataError(f"{path} contains an empty file")
    return target, inner


def _unpack(source: Any, target: Path, path: Path, limit: Limit) -> None:
    """Copy what a packed file holds, up to the limit."""
    size = 0
    with target.open("wb") as out:
        while part := source.read(1 << 20):
            size += len(part)
            if size > limit.bytes:
                raise limit.exceeded(f"{path}, unpacked,")
            out.write(part)


def _opener(packing: str) -> tuple[Callable[[Path], Any], type[Exception]]:
    """The function that opens a packed file, and the error that a damaged one raises."""
    if packing == ".zst":
        zstandard = imported("zstandard", "reading .zst files")
        return zstandard.open, zstandard.ZstdError
    known: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
        ".zip": (zipfile.ZipFile, zipfile.BadZipFile),
        ".gz": (gzip.open, zlib.error),
        ".bz2": (bz2.open, EOFError),
        ".xz": (lzma.open, lzma.LZMAError),
    }
    return known[packing]


def _unzip(archive: Any, path: Path, target: Path, known: Sequence[str], limit: Limit) -> str:
    entries = [
        entry
        for entry in archive.infolist()
        if Path(entry.filename).suffix.lower() in known
        and not entry.filename.startswith("__MACOSX/")
    ]
    if len(entries) != 1:
        what = "holds no table" if not entries else f"holds {len(entries)} tables"
        names = joined([entry.filename for entry in entries or archive.infolist()], 5)
        raise DataError(f"{path} {what} ({names}); unpack it, and give the file")
    if entries[0].flag_bits & 1:
        raise DataError(f"{path} is encrypted; unpack it, and give the file")
    with archive.open(entries[0]) as source:
        _unpack(source, target, path, limit)
    return Path(entries[0].filename).suffix.lower()


# -------------------------------------------------------------------------------- text files


def without_comments(path: Path, stack: contextlib.ExitStack) -> Path:
    """A copy of a CSV file without lines that begin with ``#``, where its first line does.

    A line of names that begins with ``#``, above a line of as many cells, is the header.
    """
    # Byte by byte, with lines that end as they do on any system.
    mark = codecs.BOM_UTF8.decode("latin-1")
    with path.open(encoding="latin-1", newline="") as file:
        if not file.read(4).removeprefix(mark).startswith("#"):
            return path
        file.seek(0)
        above = ""
        for line in file:
            if not line.removeprefix(mark).startswith("#"):
                break
            above = line.removeprefix(mark)
        else:
            line = ""
        names = above.lstrip("# \t")
        # A counter of rows may be called so.
        names = f"#{names}" if names[:1] in (",", ";", "|") else names
        file.seek(0)
        target = files.temporary_file(stack)
        with target.open("w", encoding="latin-1", newline="") as out:
            out.write(names if _heads(_as_text(names), _as_text(line)) else "")
            out.writelines(line for line in file if line.removeprefix(mark)[:1] != "#")
    return target


def _as_text(line: str) -> str:
    return line.encode("latin-1").decode(errors="replace")


def _heads(names: str, row: str) -> bool:
    """Whether one line may be the names of the cells of another."""
    mark = max(",;\t|", key=row.count)
    cells = [cell.strip() for cell in names.split(mark)]
    return (
        mark in row
        and len(cells) == len(row.split(mark))
        and all(re.search(r"[^\W\d]|^#$", cell) for cell in cells)
        and re.search(r"\d", row) is not None
    )


# ------------------------------------------------------------------- tables among several in a file


def chosen_table(wanted: str | None, there: Sequence[str], path: Path, noun: str) -> str:
    if wanted is not None:
        if wanted not in there:
            raise DataError(
                f"{path} has no {noun} {quote(wanted)}; it has {joined(there)}"
                f"{nearest(wanted, there)}"
            )
        return wanted
    if not there:
        raise DataError(f"{path} holds no {noun}")
    if len(there) > 1:
        values = {"source": path, "count": len(there), "noun": noun, "names": joined(there, 10)}
        option = Setting("sheet", there[0])
        raise DataError(Message("several_sheets", **values, first=there[0], option=option))
    return there[0]


def columns_of_sqlite(path: Path, table: str | None, limit: Limit) -> dict[str, list[Any]]:
    """The columns of a table or view of an SQLite database."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            # Ctrl-C is handled between two calls of this.
            connection.set_progress_handler(lambda: 0, 1_000_000)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limit.bytes, _LONGEST))
            there = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            name = chosen_table(table, [str(row[0]) for row in there], path, "table")
            cursor = connection.execute(f"SELECT * FROM {files.identifier(name)}")
            header = [column[0] for column in cursor.description]
            rows: list[Sequence[Any]] = []
            size = 0
            while some := cursor.fetchmany(_ROWS):
                rows += some
                # The size of all rows is estimated from a tenth of them.
                size += 10 * sum(sum(map(sys.getsizeof, row)) for row in some[::10])
                if size > limit.bytes:
                    raise limit.exceeded(f"{path}, table {quote(name)}, after {len(rows):,} rows")
    except (sqlite3.Error, OverflowError) as error:
        raise DataError(f"{path} is not a readable SQLite database: {error}") from None
    if not rows:
        raise DataError(f"{path}, table {quote(name)}: there are no rows")
    return columns_by_name(header, rows, f"{path}, table {quote(name)}")


def columns_by_name(
    header: Sequence[Any], rows: Sequence[Sequence[Any]], label: str
) -> dict[str, list[Any]]:
    names = [str(name).strip() or f"unnamed_{j + 1}" for j, name in enumerate(header)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{label} has two columns named {quote(twice)}; rename one")
    columns: dict[str, list[Any]] = {}
    for j, name in enumerate(names):
        cells = [row[j] if j < len(row) else None for row in rows]
        for i, cell in enumerate(cells):
            if isinstance(cell, bytes):
                raise DataError(
                    f"{label}, column {quote(name)}, row {i + 1}: a cell holds binary data, which "
                    "is neither a number nor text; leave the column out"
                )
        columns[name] = _plain_cells(cells)
    return columns


def _plain_cells(cells: list[Any]) -> Any:
    """Cells of Python's types as numbers, strings, or an array of moments."""
    cells = [None if cell == "" else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        moments = [np.datetime64("NaT") if c is None else np.datetime64(c, "us") for c in cells]
        return np.array(moments, dtype="datetime64[us]")
    if kinds and kinds <= {datetime.time, datetime.timedelta}:
        return [None if cell is None else _hours(cell) for cell in cells]
    # A column of mixed types in a sheet is text, as it would be in a text file.
    return [str(c) if isinstance(c, datetime.date | datetime.time) else c for c in cells]


def _hours(cell: datetime.time | datetime.timedelta) -> float:
    if isinstance(cell, datetime.timedelta):
        return cell / datetime.timedelta(hours=1)
    return cell.hour + cell.minute / 60.0 + cell.second / 3600.0


# ---------------------------------------------------------------------- what becomes a Parquet file


def parquet_of_arrow(path: Path, stack: contextlib.ExitStack, limit: Limit) -> Path:
    """A copy of an Arrow IPC or Feather file as Parquet."""
    pa, parquet = (
        imported(name, f"reading {path.suffix} files", package="pyarrow", extra="arrow")
        for name in ("pyarrow", "pyarrow.parquet")
    )
    target = files.temporary_file(stack)
    size = 0
    try:
        with pa.memory_map(str(path)) as source:
            schema, batches = _batches(pa, path, source)
            with parquet.ParquetWriter(target, schema, compression="none") as out:
                for batch in batches:
                    size += batch.nbytes
                    if size > limit.bytes:
                        raise limit.exceeded(f"{path}, unpacked,")
                    out.write_batch(batch)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Arrow file: {files.first_line(error)}") from None
    return target


def _batches(pa: Any, path: Path, source: Any) -> tuple[Any, Iterable[Any]]:
    """The schema of an Arrow file, and its rows, some at a time."""
    from pyarrow import feather

    start = source.read(6)
    source.seek(0)
    if start == b"ARROW1":
        file = pa.ipc.open_file(source)
        return file.schema, map(file.get_batch, range(file.num_record_batches))
    if start[:4] == b"FEA1":
        table = feather.read_table(path)
        return table.schema, table.to_batches()
    stream = pa.ipc.open_stream(source)
    return stream.schema, stream


def parquet_of_database(
    path: Path, table: str | None, stack: contextlib.ExitStack, limit: Limit
) -> Path:
    """A table or view of a DuckDB database as Parquet."""
    with contextlib.closing(files.connect()) as connection:
        try:
            connection.execute(f"ATTACH {files.literal(str(path.absolute()))} AS given (READ_ONLY)")
            there = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'given' "
                "ORDER BY table_name"
            ).fetchall()
            name = chosen_table(table, [str(row[0]) for row in there], path, "table")
            query, what = f"FROM given.{files.identifier(name)}", f"{path}, table {quote(name)}"
            return _copied(connection, query, stack, limit, what)
        except files.import_duckdb().Error as error:
            raise DataError(
                f"{path} is not a readable DuckDB database: {files.fault_of(error)}"
            ) from None


def parquet_of_query(
    sql: str, parts: Sequence[files.Part], stack: contextlib.ExitStack, limit: Limit
) -> Path:
    """The answer to a query over ``data``, the rows of some files, as Parquet."""
    names = parts[0].names
    with contextlib.closing(files.connect()) as connection:
        try:
            every = " UNION ALL ".join(part.relation_by_name(names) for part in parts)
            columns = ", ".join(map(files.identifier, names))
            parts[0].reach(connection)
            connection.execute(f"CREATE VIEW data AS SELECT * FROM ({every}) AS t({columns})")
            query = sql.strip().rstrip(";")
            return _copied(connection, query, stack, limit, "the result of the query")
        except files.import_duckdb().Error as error:
            raise DataError(Message("query", fault=files.fault_of(error))) from None


def _copied(
    connection: Any, query: str, stack: contextlib.ExitStack, limit: Limit, what: str
) -> Path:
    target = files.temporary_file(stack)
    where = files.literal(str(target))
    duckdb = files.import_duckdb()
    connection.execute(f"SET max_temp_directory_size = '{max(limit.bytes >> 20, 1)}MiB'")
    try:
        with limit.watching(connection, target, what):
            connection.execute(
                f"COPY ({query}) TO {where} (FORMAT parquet, COMPRESSION uncompressed)"
            )
    except duckdb.OutOfMemoryException:
        raise limit.exceeded(what) from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    return target
