"""Digests of texts, bytes and arrays."""

from __future__ import annotations

import hashlib

import numpy as np

from separatrix.assessment.evaluation_data import _digest
from separatrix.data.digests import sha256_of


def test_a_digest_is_that_of_the_parts_in_a_row() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    plain = hashlib.sha256("ä".encode() + b"\0" + numbers.tobytes()).hexdigest()
    assert sha256_of("ä", b"\0", numbers) == plain
    # Their order is that of the matrix, however it lies.
    assert sha256_of("ä", memoryview(b"\0"), np.asfortranarray(numbers)) == plain


def test_texts_count_and_not_where_they_lie() -> None:
    strings = getattr(np.dtypes, "StringDType", None)
    labels = ["a text that is too long to be stored in place", "b"]
    X = np.eye(2)
    expected = _digest(X, np.array(labels, dtype=object))
    for kind in [object, *([] if strings is None else [strings()])]:
        given = np.array(["x" * 50, *labels], dtype=kind)[1:]
        assert _digest(X, given) == expected
