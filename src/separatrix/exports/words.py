"""The weights of words in texts, as encodings of texts count them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.expressions.features import Words
from separatrix.tables.table import Remarks, Table
from separatrix.tables.word_encoding import Text


def word_weights(words: Words, texts: Sequence[Any]) -> np.ndarray:
    """The weights of words in texts, as an encoding of texts counts them."""
    kind = Text("text", [*words.words], np.array(words.weights), dict(words.options))
    column = np.ma.masked_array(
        np.array(["" if text is None else text for text in texts], dtype=object),
        [text is None for text in texts],
    )
    table = Table(("text",), {"text": column}, {"text": "text"}, len(column))
    return np.asarray(kind.encode(table, None, Remarks()).toarray())  # type: ignore[arg-type]
