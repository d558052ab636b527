"""The file that ``separatrix separable --certificate`` writes: a versioned JSON document.

::

    {"format": "separatrix-separability", "format_version": 1, "library_version": "...",
     "created": "...",
     "data": {"source": ..., "rows": ..., "fingerprint": ..., "target": ...},
     "reading": {"kinds": {...}, "ignore": [...], "missing": [...] or null,
                 "decimal": "," or null, "date_format": "day-first" or null, ...},
     "encoding": {"standardise": false, "features": ..., "sha256": ...},
     "fit_intercept": true, "classes": [...],
     "verdicts": [...]}

Each verdict is what ``Separability.to_dict`` gives, with exact numbers as text. ``sha256`` is that
of the encoded matrix, so that another version of a library that encodes to other numbers can be
distinguished from a witness that is wrong.

There is no checksum over the file: nothing in it is trusted.
"""

from __future__ import annotations

import json
import os
from typing import Any

from separatrix.exceptions import DataError
from separatrix.persistence.document import open_regular, read_whole
from separatrix.persistence.model_file import looks_like_model

FORMAT = "separatrix-separability"
FORMAT_VERSION = 1
# The format is the first key.
_START = 256
# A gibibyte: more than a witness of any data that fit into memory.
_MAX_BYTES = 1 << 30


def looks_like_certificate(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like a certificate of any version; it may still be damaged."""
    try:
        with open_regular(path) as file:
            start: bytes = file.read(_START)
    except (OSError, ValueError):
        return False
    return start.lstrip().startswith(b"{") and f'"format": "{FORMAT}"'.encode() in start


def to_bytes(document: dict[str, Any]) -> bytes:
    """A certificate as a file; ASCII only, so that names of any kind survive."""
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    text = json.dumps({**head, **document}, indent=1, ensure_ascii=True, allow_nan=False)
    return (text + "\n").encode("ascii")


def read_document(path: str) -> dict[str, Any]:
    """The document of a certificate.

    Raises
    ------
    DataError
        If there is no such file, or it is no certificate, is damaged, or is of a later version.
        The message is one sentence.
    """
    document = _parsed(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _not_one(path)
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise damaged(path, f"its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise DataError(
            f"'{path}' has format version {version}, and this version of separatrix reads up to "
            f"{FORMAT_VERSION}: upgrade separatrix to read it"
        )
    return document


def _parsed(path: str) -> Any:
    if not path:
        raise DataError("the name of the certificate is empty")
    data = read_whole(path, what="a certificate", most=_MAX_BYTES, error=DataError)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        if looks_like_certificate(path):
            raise damaged(path, "it was cut short or altered") from error
        if looks_like_model(path):
            raise DataError(
                f"'{path}' is a model, not a certificate: separatrix verify checks a model"
            ) from error
        raise _not_one(path) from error


def _not_one(path: str) -> DataError:
    return DataError(
        f"'{path}' is not a certificate: separatrix separable --certificate writes one"
    )


def damaged(path: str, why: str) -> DataError:
    """The error for a certificate that does not hold what it should."""
    return DataError(
        f"'{path}' is damaged: {why}; copy the file again, or run separatrix separable again"
    )
