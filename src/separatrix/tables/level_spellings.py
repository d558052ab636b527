"""Levels that are spelled in several ways: ``Pro``, ``PRO``, ``pro `` and ``Pro.`` are one.

Two spellings are one level where they differ only in case, in blanks, in a full stop at the end, or
in how Unicode composes their letters; and in accents where one of the two has none at all, as an
export that loses accents leaves it (``Zürich`` and ``Zurich``, but not ``pêche`` and ``péché``).
Single letters differ in case for a reason where both are frequent, and so do genotypes (``Aa``).

A spelling that is one slip away from a frequent level (``Femal``) may be that level or none: it is
named and stays.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Where there are more levels than these, slips are not looked for among them.
_MOST_LEVELS = 1000
# A level of at least this many rows is frequent, and one of at most this share of its rows is rare.
_FREQUENT, _RARE = 20, 0.05
# Shorter words are often one letter from another word.
_LONG = 5
# Other spellings of a single letter have at most this share of the rows of the most frequent one.
_FEW = 0.2
# Names of rows are not merged: nearly all of them differ.
_NAMES, _FEWEST = 0.9, 20


def _key(text: str) -> str:
    """A text without what does not distinguish levels."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.rstrip(".").rstrip() or folded


def unaccented(text: str) -> str:
    """A text, its letters decomposed, without accents."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c))


def _bare(key: str) -> str:
    """A key without accents."""
    return unicodedata.normalize("NFKC", unaccented(key))


class Spellings:
    """Finds the level that a text is a spelling of.

    Parameters
    ----------
    words : iterable of str
        The levels as they are called.

    Examples
    --------
    >>> from separatrix.tables.level_spellings import Spellings
    >>> [Spellings(["Pro", "Zürich"]).name(text) for text in ("PRO.", "zurich", "Basic")]
    ['Pro', 'Zürich', 'Basic']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._by_key: dict[str, str | None] = {}
        self._by_bare: dict[str, str | None] = {}
        for word in sorted(self._words):
            key = _key(word)
            # Two levels with one key are distinguished by how they are written.
            self._by_key[key] = None if key in self._by_key else word
        for key, known in self._by_key.items():
            bare = _bare(key)
            if bare != key:
                self._by_bare[bare] = None if bare in self._by_bare else known

    def name(self, text: str) -> str:
        """The level that a text is a spelling of; the text itself where it is that of none."""
        if text in self._words:
            return text
        key = _key(text)
        if key in self._by_key:
            return self._by_key[key] or text
        bare = _bare(key)
        # One of the two has no accent.
        found = self._by_bare.get(key) if bare == key else self._by_key.get(bare)
        return found or text


def merged_levels(counts: Mapping[str, int]) -> dict[str, str]:
    """The name of every level of a column in which some levels are spelled in several ways.

    Parameters
    ----------
    counts : mapping of str to int
        The number of rows with each text.

    Returns
    -------
    dict of str to str
        The most frequent spelling of the level of each text; empty where all levels have one
        spelling.

    Examples
    --------
    >>> from separatrix.tables.level_spellings import merged_levels
    >>> merged_levels({"Pro": 5, "PRO": 2, "Free": 3})
    {'Pro': 'Pro', 'PRO': 'Pro', 'Free': 'Free'}
    """
    total = sum(counts.values())
    names = total >= _FEWEST and len(counts) >= _NAMES * total
    if names or len(counts) < 2 or not _any_alike(counts):
        return {}
    groups: dict[str, list[str]] = {}
    for text in counts:
        groups.setdefault(_key(text), []).append(text)
    accented: dict[str, list[str]] = {}
    for key in groups:
        if (bare := _bare(key)) != key and bare in groups:
            accented.setdefault(bare, []).append(key)
    for bare, keys in accented.items():
        if len(keys) == 1:
            groups[bare] += groups.pop(keys[0])
    found: dict[str, str] = {}
    for key, texts in groups.items():
        most = max(texts, key=lambda text: (counts[text], text))
        one = len(texts) > 1 and _is_one(key, texts, counts, most)
        found.update((text, most if one else text) for text in texts)
    return found if len(set(found.values())) < len(found) else {}


def _any_alike(texts: Iterable[str]) -> bool:
    """Whether some texts may have one key: a quick look at all of them together."""
    listed = [*texts]
    joined = unaccented("\n".join(listed)).casefold() + "\n"
    while ".\n" in joined or " \n" in joined:
        joined = joined.replace(".\n", "\n").replace(" \n", "\n")
    while "  " in joined:
        joined = joined.replace("  ", " ")
    return len(set(joined[:-1].split("\n"))) < len(listed)


def _is_one(key: str, texts: Sequence[str], counts: Mapping[str, int], most: str) -> bool:
    """Whether texts of one key are one level."""
    if not any(map(str.isalpha, key)):
        return False
    if len(key) == 1:
        return sum(counts[text] for text in texts) - counts[most] <= _FEW * counts[most]
    return not (len(key) == 2 and key[0] == key[1])


@dataclass(frozen=True)
class Misspelling:
    """A rare level that may be a frequent one.

    Attributes
    ----------
    text, frequent : str
    n, of : int
        The number of rows with each of the two.
    """

    text: str
    n: int
    frequent: str
    of: int


def misspellings(counts: Mapping[str, int]) -> list[Misspelling]:
    """The rare levels that one slip makes of a frequent one.

    A slip is a letter that is left out, put in, replaced, or swapped with its neighbour, in a word
    of five letters or more, without digits.

    Examples
    --------
    >>> from separatrix.tables.level_spellings import misspellings
    >>> [one.text for one in misspellings({"Female": 310, "Femal": 4, "Male": 280})]
    ['Femal']
    """
    if not 2 < len(counts) <= _MOST_LEVELS:
        return []
    frequent = {text: n for text, n in counts.items() if n >= _FREQUENT and len(text) >= _LONG}
    if not frequent:
        return []
    by_count = sorted(frequent.items(), key=lambda one: (-one[1], one[0]))
    least = _RARE * by_count[0][1]
    # Digits are codes: any of them may be one slip away from another.
    rare = [t for t, n in counts.items() if n <= least and not any(map(str.isdigit, t))]
    found = []
    for text in sorted(rare):
        for level, n in by_count:
            if counts[text] <= _RARE * n and _is_slip(text, level):
                found.append(Misspelling(text, counts[text], level, n))
                break
    return found


def _is_slip(text: str, level: str) -> bool:
    """Whether one slip makes one text of the other."""
    if abs(len(text) - len(level)) > 1:
        return False
    start = 0
    while start < min(len(text), len(level)) and text[start] == level[start]:
        start += 1
    one, other = text[start:], level[start:]
    slip = (
        one[1:] == other
        or one == other[1:]
        or one[1:] == other[1:]
        or (one[:2] == other[:2][::-1] and one[2:] == other[2:])
    )
    # Among several words, the one with the slip counts.
    word = level[: start + 1].split(" ")[-1] + level[start + 1 :].split(" ")[0]
    return slip and len(word) >= _LONG
