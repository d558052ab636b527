"""Columns of numbers of Parquet files as pyarrow decodes them, in a third of DuckDB's time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from separatrix.tables.lake import RemoteFile, path_of

__all__ = ["arrow_columns"]

# Bytes of a file above which decoding takes longer than to import pyarrow.
LEAST = 32_000_000


def arrow_columns(
    path: str, version: tuple[int, int], places: Sequence[int], start: int, stop: int
) -> list[np.ndarray] | None:
    """The numbers of some columns in rows ``start`` to ``stop`` of a file.

    Parameters
    ----------
    path : str
    version : tuple of int
        The size and the time of the file.
    places : sequence of int
        Of the columns.
    start, stop : int

    Returns
    -------
    list of ndarray
        None where pyarrow is not installed or cannot read the file, where the file is small, a
        value is missing, or a column is a record or a list: DuckDB reads them.
    """
    if version[0] < LEAST:
        return None
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        return None
    order = sorted(set(places))
    try:
        footer = _footer(path, version)
        numbers = range(footer.num_row_groups)
        ends = [0, *itertools.accumulate(footer.row_group(g).num_rows for g in numbers)]
        groups = [g for g in numbers if ends[g] < stop and ends[g + 1] > start]
        if len(footer.schema.names) != len(footer.schema.to_arrow_schema()) or any(
            _lacks(footer.row_group(g).column(j)) for g in groups for j in order
        ):
            return None
        with _source(path) as source, ParquetFile(source, metadata=footer) as file:
            table = file.reader.read_row_groups(groups, column_indices=order, use_threads=False)
    except (ArrowException, OSError):
        return None
    table = table.slice(start - ends[groups[0]], stop - start)
    if any(column.null_count for column in table.columns):
        return None
    found = dict(zip(order, (column.to_numpy() for column in table.columns), strict=True))
    return [found[place] for place in places]


def _lacks(column: Any) -> bool:
    """Whether the footer states that values of a column are missing in a row group."""
    return bool(column.is_stats_set and column.statistics.null_count)


def _source(path: str) -> contextlib.AbstractContextManager[Any]:
    """What pyarrow reads a file from."""
    where = path_of(path)
    return where.open() if isinstance(where, RemoteFile) else contextlib.nullcontext(path)


@lru_cache(maxsize=8)
def _footer(path: str, version: tuple[int, int]) -> Any:
    from pyarrow.parquet import read_metadata

    with _source(path) as source:
        return read_metadata(source)
