"""Columns as the bytes of a file: Parquet, or one JSON object a line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.tables import source_files as files
from separatrix.tables.categorical import Categorical

WRITTEN = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")
"""The suffixes of files that can be written."""
# Bytes of a finished file that are passed on at a time.
_PIECE = 1 << 20


def to_json_lines(columns: Mapping[str, Any]) -> bytes:
    """One JSON object a row; numbers that are not finite are null, as JSON cannot write them."""
    lists = [_plain(np.asarray(column)) for column in columns.values()]
    names = list(columns)
    lines = (
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        for row in zip(*lists, strict=True)
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _plain(column: Any) -> list[Any]:
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [value if np.isfinite(value) else None for value in values]
    return values


def to_parquet(parts: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The bytes of a Parquet file; numbers, truth values and text keep their types.

    Parameters
    ----------
    parts : iterable of dict of str to array
        The columns of some rows at a time, which are the same in every part.  A
        :class:`~separatrix.tables.categorical.Categorical` has the same levels in each.
    """
    with contextlib.ExitStack() as stack:
        target: Path = files.temporary_file(stack)
        connection = stack.enter_context(contextlib.closing(files.connect()))
        chosen: list[str] = []
        for part in parts:
            connection.register("part", {f"c{k}": _stored(c) for k, c in enumerate(part.values())})
            if chosen:
                connection.execute("INSERT INTO answer FROM part")
            else:
                connection.execute("CREATE TABLE answer AS FROM part")
                chosen = [
                    f"{_text_of(connection, f'c{k}', column)} AS {files.identifier(name)}"
                    for k, (name, column) in enumerate(part.items())
                ]
            connection.unregister("part")
        rows = f"SELECT {', '.join(chosen)} FROM answer"
        connection.execute(f"COPY ({rows}) TO {files.literal(str(target))} (FORMAT parquet)")
        with target.open("rb") as file:
            while data := file.read(_PIECE):
                yield data


def _stored(column: Any) -> np.ndarray:
    """A column as DuckDB reads it from memory; the codes of a categorical one."""
    if isinstance(column, Categorical):
        return column.codes
    array = np.asarray(column)
    return array if array.dtype.kind in "iufb" else array.astype(object)


def _text_of(connection: Any, name: str, column: Any) -> str:
    """SQL for a stored column as it is written: codes become texts, and none where one is -1."""
    if not isinstance(column, Categorical):
        return name
    connection.register("levels", {"level": column.levels, "place": np.arange(len(column.levels))})
    ordered = "SELECT level FROM levels ORDER BY place"
    connection.execute(f"CREATE TYPE levels_of_{name} AS ENUM ({ordered})")
    connection.unregister("levels")
    return f"CAST(enum_range(NULL::levels_of_{name}) AS levels_of_{name}[])[{name} + 1]"
