"""The memory that a table would take, estimated from its files alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from separatrix.exceptions import DataError
from separatrix.tables.lake import FilePath, status_of

# Bytes of a cell while a table is read, encoded and fitted in memory: its value as it is read, as
# float64, and in the matrix.
CELL = 24.0
# The least that is worth a closer look.
_SMALL = 100_000_000
_SAMPLE = 1 << 20


def bytes_in_memory(source: Any, *, sql: str | None = None) -> int:
    """The approximate number of bytes it would take to fit a table in memory.

    Parameters
    ----------
    source : str or path
        A file, pattern, folder or address; 0 is the answer for anything else, such as a name or
        standard input.
    sql : str, optional
        A query over the files, whose answer is taken to be as large as they are.

    Examples
    --------
    >>> from separatrix.tables.estimating import bytes_in_memory
    >>> bytes_in_memory("iris")
    0
    """
    from separatrix.tables.reader import find_files, split_name

    try:
        paths = find_files(split_name(os.fspath(source))[0])
        size = sum(status_of(path).st_size for path in paths)
    except (TypeError, DataError, ImportError):
        # Faults are reported by the code that reads the files.
        return 0
    suffixes = {path.suffix.lower() for path in paths}
    if suffixes == {".parquet"}:
        # A small file may hold many rows that are alike.
        return int(CELL * _cells(paths))
    if size * CELL < _SMALL:
        return int(size * CELL)
    if suffixes <= {".csv", ".tsv", ".txt"}:
        with paths[0].open("rb") as file:
            head = file.read(_SAMPLE)
        mark = max(b",\t;|", key=head.count)
        cells = head.count(mark) + head.count(b"\n")
        return int(CELL * cells * (size / max(len(head), 1)))
    # Packed or with the names in every record: about as many bytes as numbers of a few digits.
    return int(size * 8.0)


def _cells(paths: Sequence[FilePath]) -> float:
    from separatrix.tables.source_files import Part, connect_to_read, where

    named = ", ".join(map(where, paths))
    part = Part(paths[0], str(paths[0]), ".parquet")
    with contextlib.closing(connect_to_read(paths)) as connection:
        try:
            sql = f"SELECT sum(num_values)::DOUBLE AS n FROM parquet_metadata([{named}])"
            return float(part.run(connection, sql)["n"][0])
        except DataError:
            return 0.0
