"""How much memory a table would take, from a look at its files alone."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

__all__ = ["bytes_in_memory"]

# Bytes of a cell while a table is read, encoded and fitted in memory: its value as it is read, as
# float64, and in the matrix.
_CELL = 24.0
# The least that is worth a closer look.
_SMALL = 100_000_000
_SAMPLE = 1 << 20


def bytes_in_memory(source: Any, *, sql: str | None = None) -> int:
    """About how many bytes it would take to fit a table in memory.

    Parameters
    ----------
    source : str or path
        A file or a pattern; 0 is the answer for anything else, such as a name or standard input.
    sql : str, optional
        A query over the files, whose answer is taken to be as large as they are.

    Examples
    --------
    >>> from separatrix.tables.estimating import bytes_in_memory
    >>> bytes_in_memory("iris")
    0
    """
    try:
        name = os.fspath(source)
    except TypeError:
        return 0
    # As it stands first: a name may hold what patterns are written with.
    paths = [name] if os.path.isfile(name) else sorted(glob.glob(name, recursive=True))
    paths = [path for path in paths if os.path.isfile(path)]
    size = sum(os.path.getsize(path) for path in paths)
    if paths and all(path.endswith(".parquet") for path in paths):
        # A small file may hold many rows that are alike.
        return int(_CELL * _cells(paths))
    if size * _CELL < _SMALL:
        return int(size * _CELL)
    if all(Path(path).suffix.lower() in (".csv", ".tsv", ".txt") for path in paths):
        with open(paths[0], "rb") as file:
            head = file.read(_SAMPLE)
        mark = max(b",\t;|", key=head.count)
        cells = head.count(mark) + head.count(b"\n")
        return int(_CELL * cells * (size / max(len(head), 1)))
    # Packed or with the names in every record: about as many bytes as numbers of a few digits.
    return int(size * 8.0)


def _cells(paths: list[str]) -> float:
    from separatrix.tables.source_files import connect

    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    connection = connect()
    try:
        rows = connection.execute(
            f"SELECT sum(num_values) FROM parquet_metadata([{quoted}])"
        ).fetchone()
    except Exception:
        # Faults of the files are reported by the code that reads them.
        return 0.0
    finally:
        connection.close()
    return float(rows[0] or 0.0)
