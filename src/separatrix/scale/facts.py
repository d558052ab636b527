"""Facts about the columns of some rows, which merge into those of more rows.

What is merged is exact, so the order of merging and the number of readers change no bit: counts,
extremes and levels are integers, ends and texts, and sums stay apart, one for each range of rows,
until :func:`math.fsum` rounds their sum once.  Where a column has more levels than are kept, the
smallest of the 64-bit hashes of its texts stay; they merge exactly, too, and estimate how many
levels there are (Bar-Yossef et al., 2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix._compiled.splitmix import GOLDEN, mixed_word

# The number of smallest hashes that are kept, which estimate the number of levels to about
# 1.6 per cent.
SKETCH = 4096


@dataclass(frozen=True)
class LevelFacts:
    """The different values of a column in some rows.

    Attributes
    ----------
    values : ndarray
        Texts as they are stored, or numbers, in ascending order; empty where there are too many.
    counts : ndarray of int64
    first : ndarray of int64
        The first row of each value.
    hashes : ndarray of uint64
        The hash of each text; the smallest hashes of all texts where there are too many.
    most : int
        The largest number of values that are kept.
    cleaned : mapping of str to str or None
        Texts whose value differs from them, each with this value: without blanks around it, and
        None for a text that stands for a missing value.
    too_many : bool
    """

    values: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    hashes: np.ndarray
    most: int
    cleaned: Mapping[str, str | None] = field(default_factory=dict)
    too_many: bool = False

    @property
    def about(self) -> int:
        """About how many different values there are; exactly, where they are kept."""
        if not self.too_many:
            return len(self.values)
        if len(self.hashes) < SKETCH:
            return len(self.hashes)
        return int((SKETCH - 1) * 2.0**64 / (float(self.hashes[-1]) + 1.0))

    @classmethod
    def of_hashes(cls, hashes: np.ndarray) -> LevelFacts:
        """Facts of which the smallest hashes are all that is known."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, hashes.astype(np.uint64), 0, too_many=True)

    def limited(self) -> LevelFacts:
        """The same facts, with a sketch in place of values where there are too many."""
        if self.too_many or len(self.values) <= self.most:
            return self
        return _sketch([self])


def _sketch(parts: Sequence[LevelFacts]) -> LevelFacts:
    return LevelFacts.of_hashes(np.unique(np.concatenate([part.hashes for part in parts]))[:SKETCH])


def merged_levels(parts: Sequence[LevelFacts]) -> LevelFacts:
    """The levels of all rows of some parts.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale.facts import LevelFacts, merged_levels
    >>> def of(texts, counts, first):
    ...     hashes = np.array([hash(text) % 2**32 for text in texts], dtype=np.uint64)
    ...     return LevelFacts(np.array(texts, object), np.array(counts), np.array(first), hashes, 9)
    >>> found = merged_levels([of(["a", "b"], [2, 1], [0, 2]), of(["a"], [3], [3])])
    >>> found.values.tolist(), found.counts.tolist(), found.first.tolist()
    (['a', 'b'], [5, 1], [0, 2])
    """
    if len(parts) == 1:
        return parts[0]
    if any(part.too_many for part in parts):
        return _sketch(parts)
    values = np.concatenate([part.values for part in parts])
    counts, first, hashes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("counts", "first", "hashes")
    )
    order = _sorted(values)
    values = values[order]
    new = np.empty(len(values), dtype=bool)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    cleaned: dict[str, str | None] = {}
    for part in parts:
        cleaned.update(part.cleaned)
    return LevelFacts(
        values[starts],
        np.add.reduceat(counts[order], starts) if len(starts) else counts,
        np.minimum.reduceat(first[order], starts) if len(starts) else first,
        hashes[order][starts],
        parts[0].most,
        cleaned,
    ).limited()


def _sorted(values: np.ndarray) -> np.ndarray:
    """The order of some values that lie in ascending runs."""
    if values.dtype != object:
        return np.argsort(values, kind="stable")
    # Python merges runs, and compares texts by their code points, as DuckDB does by their bytes.
    given = values.tolist()
    return np.array(sorted(range(len(given)), key=given.__getitem__), dtype=np.int64)


def merged_columns(parts: Sequence[Sequence[LevelFacts]]) -> list[LevelFacts]:
    """The levels of several columns, of which each part has as many."""
    return [merged_levels(column) for column in zip(*parts, strict=True)]


# Odd, so that they have powers in every number of rows, and different from one another.
_BASES = (np.uint64(0xD1342543DE82EF95), np.uint64(0xAEF17502108EF2D9))


@dataclass(frozen=True)
class RowDigest:
    """128 bits of what is in some rows and of their order, however they are cut into parts.

    Two polynomials modulo 2^64 in the keys of the rows (Karp and Rabin, 1987): that of two parts,
    one after the other, follows from those of each.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale.facts import RowDigest
    >>> words = np.arange(12, dtype=np.uint64).reshape(6, 2)
    >>> RowDigest.of(words[:2]).then(RowDigest.of(words[2:])) == RowDigest.of(words)
    True
    >>> RowDigest.of(words[2:]).then(RowDigest.of(words[:2])) == RowDigest.of(words)
    False
    """

    n: int = 0
    first: int = 0
    second: int = 0

    @classmethod
    def of(cls, words: np.ndarray) -> RowDigest:
        """The digest of rows of 64-bit words."""
        first, second = _digested(np.ascontiguousarray(words, dtype=np.uint64), *_BASES)
        return cls(len(words), int(first), int(second))

    def then(self, other: RowDigest) -> RowDigest:
        """The digest of these rows and of others behind them."""
        moved = (
            (mine * pow(int(base), other.n, 1 << 64) + its) % (1 << 64)
            for mine, its, base in zip(
                (self.first, self.second), (other.first, other.second), _BASES, strict=True
            )
        )
        return RowDigest(self.n + other.n, *moved)


@njit(cache=True, nogil=True)
def _digested(words: Any, one: Any, other: Any) -> Any:
    first, second = np.uint64(0), np.uint64(0)
    for i in range(words.shape[0]):
        key = GOLDEN
        for j in range(words.shape[1]):
            key = mixed_word(key ^ words[i, j]) + GOLDEN
        first = first * one + key
        second = second * other + mixed_word(key)
    return first, second
