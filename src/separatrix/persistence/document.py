"""The contents of a model file, read and checked but not made into anything.

It needs nothing of what a model is made of, so that a command that only reports what a file holds
need not import it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as _load_tensors

from separatrix.data.digests import sha256_of
from separatrix.exceptions import ModelFileError
from separatrix.messages import clause

FORMAT = "separatrix-model"
FORMAT_VERSION = 4
# The first version that has a digest of what was fitted.
_DIGEST_SINCE = 4
#: The largest model file that is read or written, in bytes: 16 GiB.
MAX_BYTES = 16 << 30
# The limit of safetensors for the names, shapes and metadata in front of the tensors.
_MAX_HEADER = 100_000_000
# Lists in lists, and the like: deeper than anything that is stored, and far from the depth at which
# Python gives up.
_DEEPEST = 100
METADATA_KEY = "separatrix"
NO_DIGEST = "0" * 64


@dataclass(frozen=True)
class Document:
    """The contents of a model file.

    Attributes
    ----------
    content : dict
        The document in its header.
    tensors : dict of str to ndarray
    """

    content: dict[str, Any]
    tensors: dict[str, np.ndarray]


def read_document(path: Path) -> Document:
    """Read a model file that is whole, of a known version, and as it was written.

    Raises
    ------
    ModelFileError
        If it is not all of this, or no model file at all.
    """
    data = read_whole(path, what="a model file", most=MAX_BYTES, error=ModelFileError)
    header, header_end = _parse_header(path, data)
    document = _parse_document(path, header)
    _check_version(path, document)
    _check_complete(path, data, header, header_end)
    _check_digest(path, data, header_end, document)
    return Document(document, _load_tensors(data))


def require_unchanged(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> str | None:
    """Raise ModelFileError unless what was fitted is what its digest is of, and return that."""
    _require_shallow(document)
    if document["format_version"] < _DIGEST_SINCE:
        return None
    digest = digest_of(document, tensors)
    if document["model"].get("digest") != digest:
        raise ModelFileError(
            "was changed after it was saved: the fitted numbers do not match its digest, so that "
            "its certificate is void; fit again"
        )
    return digest


def _require_shallow(document: Any) -> None:
    """Raise ModelFileError for lists in lists so deep that they exhaust the stack of a reader."""
    level = [document]
    for _ in range(_DEEPEST):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    raise ModelFileError(f"nests lists more than {_DEEPEST} deep")


def digest_of(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 of what was fitted: class, parameters, attributes with the certificate, encoder."""
    model = document["model"]
    parts = [model["class"], model["params"], model["fitted"], document["encoder"]]
    digested: list[str | np.ndarray] = [
        json.dumps(parts, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    ]
    for name in sorted(tensors):
        # Those of the provenance are about the fit, and no part of it.
        if not name.startswith("provenance"):
            value = tensors[name]
            digested += [json.dumps([name, value.dtype.str, list(value.shape)]), value]
    return sha256_of(*digested)


def placeholder(digest: str) -> bytes:
    """The form of the digest in the file: a JSON document inside a JSON string."""
    return rf"\"sha256\":\"{digest}\"".encode("ascii")


# --------------------------------------------------------------------------------------------
# Bytes


def read_whole(
    path: str | os.PathLike[str], *, what: str, most: int, error: type[ValueError]
) -> bytes:
    """The bytes of a regular file that is not empty.

    Parameters
    ----------
    path : path
    what : str
        The sort of file that it should be, with its article, for the sentence of the error.
    most : int
        The limit of its size in bytes.
    error : type
        The exception to raise.

    Raises
    ------
    ValueError
        An error of the type ``error``, if the file cannot be read, is empty or is larger.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            # A file that grows meanwhile is cut off where it ended, and its checksum shows it.
            data: bytes = file.read(size) if size <= most else b""
    except FileNotFoundError as cause:
        raise error(f"there is no file '{path}'") from cause
    except IsADirectoryError as cause:
        raise error(f"'{path}' is a folder, not {what}") from cause
    except NotRegularError as cause:
        raise error(f"'{path}' is not a regular file, so it cannot be {what}") from cause
    except OSError as cause:
        raise error(f"'{path}' cannot be read: {reason(cause)}") from cause
    except ValueError as cause:
        raise error(f"'{path}' cannot be read: {one_line(cause)}") from cause
    if size > most:
        raise error(f"'{path}' has {size:,} bytes, and the limit of {what} is {most:,}")
    if not data:
        raise error(f"'{path}' is empty, so it is not {what}")
    return data


class NotRegularError(OSError):
    """A device, a pipe or a socket, which can go on for ever or never begin."""


def open_regular(path: str | os.PathLike[str]) -> Any:
    """Open a regular file to read, and nothing else: a pipe would wait for somebody to write."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(mode):
        raise NotRegularError("not a regular file")
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    file = open(os.open(path, flags), "rb")  # noqa: SIM115
    # It may be another by now.
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegularError("not a regular file")
    return file


def _parse_header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file and where it ends."""
    if data[8:9] != b"{":
        # Protocol 2 and later of pickle announce themselves.
        if data[0] == 0x80 and data[1:2] and 2 <= data[1] <= 5:
            raise ModelFileError(
                f"'{path}' is a pickle, which can execute code when it is read, so it is not "
                "opened: save the model with separatrix.save_model"
            )
        if len(data) <= 8:
            raise ModelFileError(
                f"'{path}' is cut short: {len(data)} bytes are too few for a model"
            )
        raise ModelFileError(f"'{path}' is not a separatrix model file")
    end = 8 + int.from_bytes(data[:8], "little")
    if end > len(data):
        # The header states where the tensors end, and is incomplete.
        raise _cut_short(path, len(data), end, at_least=True)
    if end > _MAX_HEADER:
        raise ModelFileError(
            f"'{path}' is not a separatrix model file: its header has {end:,} bytes, and the limit "
            f"is {_MAX_HEADER:,}"
        )
    try:
        header = json.loads(data[8:end])
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(header, dict):
        raise _damaged(path)
    return header, end


def _parse_document(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(METADATA_KEY), str):
        raise ModelFileError(f"'{path}' is a safetensors file, but not a separatrix model")
    try:
        document = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _damaged(path)
    return document


def _check_version(path: Path, document: dict[str, Any]) -> None:
    """Refuse a later version; before the digest, which it may compute in another way."""
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise _damaged(path)
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"'{path}' has format version {version}, and this version of separatrix reads up to "
            f"{FORMAT_VERSION}: upgrade separatrix to read it"
        )


def _check_complete(path: Path, data: bytes, header: dict[str, Any], header_end: int) -> None:
    """Distinguish a file that was cut short from one that was altered; both fail the digest."""
    try:
        ends = [
            entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"
        ]
        expected = header_end + max(ends, default=0)
    except (IndexError, KeyError, TypeError) as error:
        raise _damaged(path) from error
    if len(data) < expected:
        raise _cut_short(path, len(data), expected)


def _check_digest(path: Path, data: bytes, header_end: int, document: dict[str, Any]) -> None:
    stored = document.get("sha256")
    if not isinstance(stored, str) or not re.fullmatch(r"[0-9a-f]{64}", stored):
        raise _damaged(path)
    start = data.find(placeholder(stored), 0, header_end)
    if start < 0:
        raise _damaged(path)
    blank, length = placeholder(NO_DIGEST), len(placeholder(stored))
    view = memoryview(data)
    if sha256_of(view[:start], blank, view[start + length :]) != stored:
        raise _damaged(path)


def one_line(error: BaseException) -> str:
    """The message of an error, in one line of a length that can be read."""
    text = clause(str(error))
    return text if len(text) <= 500 else f"{text[:500]}..."


def _cut_short(
    path: Path, present: int, expected: int, *, at_least: bool = False
) -> ModelFileError:
    # A damaged length can announce anything, so only believable sizes are repeated.
    size = f"at least {expected:,}" if at_least else f"{expected:,}"
    total = f"of {size} bytes" if expected < 2**40 else "of the bytes it announces"
    return ModelFileError(
        f"'{path}' is cut short: it has {present:,} {total}; copy the file again or fit again"
    )


def _damaged(path: Path) -> ModelFileError:
    return ModelFileError(
        f"'{path}' is damaged: its content does not match its checksum; copy the file again or "
        "fit again"
    )


_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)
