"""Texts in arrays of a model file: bytes of UTF-8, and where each text ends."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from separatrix.tables.column_encoding import Arrays, damaged


def pack(arrays: Arrays, key: str, strings: Sequence[str]) -> None:
    # Offsets rather than a separator: a level may hold any character, a line end included.
    parts = [text.encode("utf-8", "surrogatepass") for text in strings]
    arrays[key] = np.frombuffer(b"".join(parts), dtype=np.uint8).copy()
    arrays[key + ".ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)


def unpack(arrays: Arrays, key: str) -> list[str]:
    data = np.asarray(arrays[key], dtype=np.uint8).tobytes()
    ends = np.asarray(arrays[key + ".ends"], dtype=np.int64)
    if len(ends) and (ends[-1] != len(data) or (np.diff(ends, prepend=0) < 0).any()):
        raise damaged(f"{key} does not add up")
    return [
        data[start:end].decode("utf-8", "surrogatepass")
        for start, end in itertools.pairwise([0, *ends.tolist()])
    ]


def unpack_each(arrays: Arrays, key: str) -> list[list[str]]:
    """The lists of strings that stand one after the other under a key."""
    strings = unpack(arrays, key)
    counts = np.asarray(arrays[key + ".counts"], dtype=np.int64)
    if (counts < 0).any() or int(counts.sum()) != len(strings):
        raise damaged(f"{key} does not add up")
    stops = itertools.pairwise([0, *np.cumsum(counts).tolist()])
    return [strings[start:stop] for start, stop in stops]
