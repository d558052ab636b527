"""Columns as the bytes of a file: Parquet, or one JSON object a line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.tables import source_files as files

__all__ = ["WRITTEN", "to_json_lines", "to_parquet"]

WRITTEN = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")
"""Suffixes of what can be written."""


def to_json_lines(columns: Mapping[str, Any]) -> bytes:
    """One object a row; what is no finite number is null, as JSON has no other word for it."""
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


def to_parquet(columns: Mapping[str, Any]) -> bytes:
    """A Parquet file; numbers, truth values and text keep their types."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    arrays = {
        name: array if array.dtype.kind in "iufb" else array.astype(object)
        for name, array in arrays.items()
    }
    with contextlib.ExitStack() as stack:
        target: Path = files.temporary_file(stack)
        connection = stack.enter_context(contextlib.closing(files.connect()))
        connection.register("answer", arrays)
        connection.execute(f"COPY answer TO {files.literal(str(target))} (FORMAT parquet)")
        return target.read_bytes()
