"""SHA-256 of texts, bytes and arrays."""

from __future__ import annotations

import hashlib

import numpy as np


def sha256_of(*parts: str | bytes | memoryview | np.ndarray) -> str:
    """Return the digest of some parts one after another, in hexadecimal digits.

    Texts count as UTF-8, and arrays of numbers as their bytes in C order: marks that distinguish
    their types and lengths are for the caller to put between them.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            part = part.encode()
        elif isinstance(part, np.ndarray):
            part = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        digest.update(part)
    return digest.hexdigest()
