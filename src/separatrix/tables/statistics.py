"""What a column adds up to: enough to encode it, found in one pass by whoever has the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.categorical import Categorical
from separatrix.tables.column_encodings import (
    Alert,
    Category,
    Number,
    Settings,
    Text,
    documents_of,
    mean_and_scale,
)
from separatrix.tables.placeholders import Placeholders
from separatrix.tables.table import quote

__all__ = [
    "CategoryFacts",
    "Counted",
    "Facts",
    "NumberFacts",
    "TextFacts",
    "WordCounts",
    "weighted_moments",
]


class Counted(Categorical):
    """The different texts of a column, in the place of all of its rows.

    Parameters
    ----------
    levels : sequence of str
        Each another.
    counts : sequence of int
        How often each of them is there.

    Examples
    --------
    >>> from separatrix.tables.statistics import Counted
    >>> Counted(["a", "b"], [7, 2]).counts()
    {'a': 7, 'b': 2}
    """

    def __init__(self, levels: Sequence[str], counts: Sequence[int]) -> None:
        texts = np.empty(len(levels), dtype=object)
        texts[:] = levels
        super().__init__(np.arange(len(levels), dtype=np.int32), texts)
        self.rows_of = np.asarray(counts, dtype=np.int64)

    def counts(self) -> dict[str, int]:
        return dict(zip(self.levels.tolist(), self.rows_of.tolist(), strict=True))


def weighted_moments(values: Any, counts: Any) -> tuple[float, float]:
    """Mean and standard deviation of values that are so often there.

    Parameters
    ----------
    values, counts : ndarray of shape (n,)

    Returns
    -------
    mean, scale : float
        The scale is 0 where the values differ by rounding at most.

    Examples
    --------
    >>> from separatrix.tables.statistics import weighted_moments
    >>> weighted_moments([0.0, 1.0], [1, 1])
    (0.5, 0.5)
    """
    values, counts = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    mean, scale = mean_and_scale(values)
    if scale == 0.0:
        return mean, scale
    exponent = int(np.frexp(np.abs(values).max())[1])
    unit, total = np.ldexp(values, -exponent), counts.sum()
    centre = float(counts @ unit / total)
    centre += float(counts @ (unit - centre) / total)
    spread = float(np.sqrt(counts @ (unit - centre) ** 2 / total))
    return float(np.ldexp(centre, exponent)), float(np.ldexp(spread, exponent))


@dataclass(frozen=True)
class Facts:
    """Facts about any column.

    Attributes
    ----------
    name : str
    n_rows, n_missing : int
        Rows, and how many of them have no value.
    """

    name: str
    n_rows: int
    n_missing: int

    derived: bool = field(default=False, kw_only=True)
    """Whether it is a part of a date."""
    overridden: bool = field(default=False, kw_only=True)
    """Whether its kind was requested."""

    def learned(self, settings: Settings, alert: Alert) -> Number | Category | Text:
        """The encoding of the column."""
        raise NotImplementedError


@dataclass(frozen=True)
class NumberFacts(Facts):
    """Facts about a column of numbers.

    Attributes
    ----------
    mean, scale : float
        The standard deviation is 0 where all values are the same.
    date : bool
        Whether the numbers are days.
    identifies : bool
        Whether they are names of rows.
    placeholders : sequence of Placeholders
        Values that may stand for missing ones; those that are read so count as missing.
    """

    mean: float
    scale: float
    date: bool = False
    identifies: bool = False
    placeholders: Sequence[Placeholders] = ()

    def learned(self, settings: Settings, alert: Alert) -> Number:
        return Number.of_moments(
            self.name,
            self.mean,
            self.scale,
            self.n_missing > 0,
            self.date,
            self.identifies and not self.overridden and not self.date,
            settings,
            alert,
            self.placeholders,
        )


@dataclass(frozen=True)
class CategoryFacts(Facts):
    """Facts about a column of levels.

    Attributes
    ----------
    counts : mapping of str to int
        How often each level is there.
    """

    counts: Mapping[str, int]

    def learned(self, settings: Settings, alert: Alert) -> Category:
        return Category.of_counts(
            self.name, self.counts, self.n_missing > 0, self.overridden, settings
        )


@dataclass(frozen=True)
class TextFacts(Facts):
    """Facts about a column of free text.

    Attributes
    ----------
    rows : mapping of str to int
        How many rows have each word.
    uses : mapping of str to int
        How often each word is there.
    """

    rows: Mapping[str, int]
    uses: Mapping[str, int]

    def learned(self, settings: Settings, alert: Alert) -> Text:
        return Text.of_counts(self.name, self.rows, self.uses, self.n_rows, settings)


class WordCounts:
    """Counts the words of a column, a stretch of rows at a time.

    Parameters
    ----------
    name : str
    encoder : Encoder
        Whose options for text say what a word is.
    most : int
        So many different words there may be.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Encoder
    >>> from separatrix.tables.statistics import WordCounts
    >>> words = WordCounts("review", Encoder(), most=1000)
    >>> words.add(np.array(["good, good film", "bad film"], dtype=object))
    >>> words.facts(2, 0).rows == {"good": 1, "film": 2, "bad": 1}
    True
    """

    def __init__(self, name: str, encoder: Any, most: int) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        weighing = ("norm", "use_idf", "smooth_idf", "sublinear_tf", "min_df")
        options = {key: own for key, own in encoder.text.items() if key not in weighing}
        self.name, self.most = name, most
        self.words_in = CountVectorizer(**options).build_analyzer()
        self.rows: Counter[str] = Counter()
        self.uses: Counter[str] = Counter()

    def add(self, column: Any) -> None:
        """Count the words of some rows.

        Raises
        ------
        DataError
            If there are too many different ones.
        """
        for document in documents_of(column):
            words = self.words_in(document)
            self.uses.update(words)
            self.rows.update(set(words))
        self.require_few()

    def require_few(self) -> None:
        """Raise DataError if there are too many different words."""
        if len(self.rows) > self.most:
            ignored = Setting("kinds", (self.name, "ignore"))
            about = len(self.rows)
            raise DataError(
                Message("too_many_words", column=quote(self.name), about=about, ignored=ignored)
            )

    def facts(self, n_rows: int, n_missing: int) -> TextFacts:
        """What the column adds up to."""
        return TextFacts(self.name, n_rows, n_missing, self.rows, self.uses)
