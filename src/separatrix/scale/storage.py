"""Row blocks on disk: one file a block, mapped into memory while it is worked on.

A file begins with 64 bytes that name the format, the length of the header and a checksum (CRC-32)
of all that follows; then come the header, in JSON, and the arrays, each at a multiple of 64 bytes.
It is written aside and renamed, so that there is never a part of one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import load, save

from separatrix.data.atomic_files import whole_file
from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError
from separatrix.scale.blocks import Block, Rows

_MAGIC = b"SEPBLK1\n"
_START = 64
_ALIGN = 64
# Linux 5.14 and later can map pages that are in memory at once, rather than at first use.
_POPULATE_READ = 22
# The size and time of each block when this process read it through.
_verified: dict[str, tuple[int, int]] = {}


@dataclass(frozen=True, eq=False)
class StoredBlock(Block):
    """A block in a file of its own.

    Attributes
    ----------
    path : str
    checksum : int
        The checksum of the file as it was written.
    size : int
        The size of the file in bytes.
    """

    path: str
    checksum: int
    size: int
    n_rows: int
    n_stored: int
    nbytes: int
    place: str

    def load(self) -> Rows:
        """The rows, mapped: the file is let go when no array of it is in use any more.

        Raises
        ------
        DataError
            If the file is not there, was cut off or changed.
        """
        try:
            return self._load()
        except FileNotFoundError:
            raise self._fault("is missing") from None
        except OSError as error:
            raise self._fault(f"cannot be read ({error.strerror or error})") from None

    def _load(self) -> Rows:
        with open(self.path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size != self.size:
                raise self._fault(f"has {status.st_size:,} bytes where {self.size:,} were written")
            # A copy on write, so that nothing that is done to the arrays gets into the file.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            mapped.madvise(_POPULATE_READ)
        seen = (status.st_size, status.st_mtime_ns)
        if _verified.get(self.path) != seen:
            if checksum_of(mapped) != self.checksum:
                raise self._fault("was changed")
            _verified[self.path] = seen
        try:
            return rows_in(mapped)
        except (ValueError, KeyError, TypeError):
            raise self._fault("is damaged") from None

    def _fault(self, what: str) -> DataError:
        return DataError(
            f"the block of {self.place} in the cache, {self.path}, {what}; scan the data again to "
            "write it again"
        )


def checksum_of(data: Any) -> int:
    """The checksum of what a block's file holds; -1 where it does not begin like one."""
    view = memoryview(data)
    try:
        if bytes(view[: len(_MAGIC)]) != _MAGIC:
            return -1
        value = zlib.crc32(view[12:])
        return value if value == int.from_bytes(view[8:12], "little") else -1
    finally:
        view.release()


def rows_in(data: Any) -> Rows:
    """The arrays of a block's file as views of it."""
    header, arrays = _parts_in(data)
    matrix = arrays.get("matrix")
    if matrix is None:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        matrix = sp.csr_matrix(parts, shape=tuple(header["shape"]), copy=False)
        # They were written in order; to look would be to read them.
        matrix.has_sorted_indices = matrix.has_canonical_format = True
    return Rows(matrix, arrays["target"], arrays.get("weights"), arrays.get("squares"))


def _parts_in(data: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header of a file, and its arrays as views of what was read."""
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(bytes(data[_START : _START + length]))
    arrays = {
        name: np.frombuffer(data, dtype=kind, count=int(np.prod(shape)), offset=at).reshape(shape)
        for name, (kind, shape, at) in header["arrays"].items()
    }
    return header, arrays


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as a file of the cache, in the form of a block."""
    pieces = {name: (one.dtype, one.shape, [one]) for name, one in arrays.items()}
    with cache_file(path) as file:
        _write(file, _header_of(pieces, None), pieces)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays that `write_arrays` wrote.

    ``numpy.load`` is no way to read them: it parses a header with `ast`, which fails when two
    threads do it at once (CPython before 3.11.8).
    """
    return _parts_in(np.fromfile(path, dtype=np.uint8))[1]


def write_block(path: Path, parts: Sequence[Rows], place: str) -> StoredBlock:
    """Write the rows of some parts, one after another, as one block.

    Parameters
    ----------
    path : path
    parts : sequence of Rows
        The parts, at least one.
    place : str
        The origin of the rows, for messages.

    Returns
    -------
    StoredBlock

    Raises
    ------
    DataError
        If there is no room, or the file cannot be written; nothing of it is left then.
    """
    pieces, shape = _pieces_of(parts)
    header = _header_of(pieces, shape)
    with cache_file(path) as file:
        checksum = _write(file, header, pieces)
        size = file.tell()
    status = path.stat()
    _verified[str(path)] = (status.st_size, status.st_mtime_ns)
    stored = sum(part.n_stored for part in parts)
    n_rows = sum(map(len, parts))
    return StoredBlock(str(path), checksum, size, n_rows, stored, size, place)


@contextlib.contextmanager
def cache_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file of the cache that is there whole or not at all."""
    try:
        with whole_file(path, durable=False) as file:
            yield file
    except OSError as error:
        raise unwritable(path, error) from None


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a file of the cache in JSON."""
    with cache_file(path) as file:
        file.write(json.dumps(record).encode())


def read_record(path: Path, **marks: Any) -> dict[str, Any] | None:
    """The record in a file of the cache; None where there is none with these marks."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(record, dict) and marks.items() <= record.items()
    return record if known else None


def checked_bytes(tensors: Mapping[str, np.ndarray], note: Mapping[str, str]) -> bytes:
    """Arrays and texts as the bytes of a file that begins with a digest of all that follows."""
    data = save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, metadata=dict(note))
    return bytes.fromhex(sha256_of(data)) + data


def checked_parts(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]] | None:
    """The arrays and texts in such bytes; None where they are damaged."""
    if sha256_of(data[32:]) != data[:32].hex():
        return None
    try:
        tensors = load(data[32:])
    except SafetensorError:
        return None
    length = int.from_bytes(data[32:40], "little")
    return tensors, json.loads(data[40 : 40 + length])["__metadata__"]


def unwritable(path: Path, error: OSError) -> DataError:
    """Return the error of a cache file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataError(
            f"the disk is full: another block does not fit in {path.parent}; give another folder "
            "for the cache, or a limit of 0 to decode the data in every pass"
        )
    return DataError(f"{path} cannot be written: {error.strerror or error}")


_Pieces = dict[str, tuple[np.dtype[Any], tuple[int, ...], list[np.ndarray]]]


def _pieces_of(parts: Sequence[Rows]) -> tuple[_Pieces, tuple[int, int] | None]:
    """The arrays of a block by name, in parts; the shape of a sparse matrix."""
    out: _Pieces = {}

    def add(name: str, arrays: list[np.ndarray]) -> None:
        rest = arrays[0].shape[1:]
        out[name] = (arrays[0].dtype, (sum(map(len, arrays)), *rest), arrays)

    first, shape = parts[0].matrix, None
    if sp.issparse(first):
        ends = np.cumsum([0, *(part.matrix.nnz for part in parts)])
        wide = np.int64 if ends[-1] >= 2**31 else np.int32
        shape = (sum(map(len, parts)), int(first.shape[1]))
        add("data", [part.matrix.data for part in parts])
        add("indices", [part.matrix.indices.astype(wide, copy=False) for part in parts])
        starts = [np.zeros(1, dtype=wide)]
        for part, end in zip(parts, ends.tolist(), strict=False):
            starts.append((part.matrix.indptr[1:].astype(np.int64) + end).astype(wide))
        add("indptr", starts)
    else:
        add("matrix", [part.matrix for part in parts])
    for name in ("target", "weights", "squares"):
        arrays = [getattr(part, name) for part in parts]
        if arrays[0] is not None:
            add(name, arrays)
    return out, shape


def _header_of(pieces: _Pieces, shape: tuple[int, int] | None) -> bytes:
    """The header, filled up with blanks."""
    size = 0
    for _ in range(3):  # its own length changes the offsets in it
        at, arrays = _aligned(_START + size), {}
        for name, (kind, dims, _parts) in pieces.items():
            arrays[name] = [kind.str, list(dims), at]
            at = _aligned(at + kind.itemsize * int(np.prod(dims)))
        header = json.dumps({"shape": shape, "arrays": arrays}).encode()
        if len(header) <= size:
            break
        size = len(header) + 32
    return header.ljust(size)


def bytes_in(array: np.ndarray) -> memoryview:
    """The bytes of an array, without a copy where they lie together."""
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)


def _aligned(at: int) -> int:
    return -(-at // _ALIGN) * _ALIGN


def _write(file: Any, header: bytes, pieces: _Pieces) -> int:
    begin = len(header).to_bytes(4, "little").ljust(_START - 12, b"\0")
    file.write(_MAGIC + bytes(4))
    checksum = at = 0
    for data in _stream(begin, header, pieces):
        file.write(data)
        checksum = zlib.crc32(data, checksum)
        at += data.nbytes
    file.seek(8)
    file.write(checksum.to_bytes(4, "little"))
    file.seek(0, os.SEEK_END)
    return checksum


def _stream(begin: bytes, header: bytes, pieces: _Pieces) -> Iterator[memoryview]:
    at = 12

    def padded() -> memoryview:
        return memoryview(bytes(_aligned(at) - at))

    yield memoryview(begin)
    at += len(begin)
    yield memoryview(header)
    at += len(header)
    for _, _, parts in pieces.values():
        yield padded()
        at = _aligned(at)
        for part in parts:
            data = bytes_in(part)
            yield data
            at += data.nbytes
    yield padded()
