"""Summary statistics of a column: enough to encode it, found in one pass over the rows."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._compiled.splitmix import mixed
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.categorical import Categorical
from separatrix.tables.category_encoding import Category
from separatrix.tables.column_encoding import Alert, Settings, Unusable
from separatrix.tables.column_moments import is_constant, moments
from separatrix.tables.number_encoding import Number
from separatrix.tables.placeholders import (
    ColumnEnds,
    Placeholders,
    of_part,
    of_parts,
    read_as_missing,
)
from separatrix.tables.row_names import is_called_identifier, may_count_rows
from separatrix.tables.table import Table, missing_mask, not_finite, present, quote, text_counts
from separatrix.tables.word_encoding import Text, all_words, documents_of


class Counted(Categorical):
    """The different texts of a column, in the place of all of its rows.

    Parameters
    ----------
    levels : sequence of str
        The distinct texts.
    counts : sequence of int
        The number of times that each of them occurs.

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


# More names of rows than these are judged by a sample of them.
_MOST_NAMES = 1 << 22


@dataclass(frozen=True)
class NameSample:
    """Distinct whole numbers that may be names of rows, or a sample of them.

    Where there are more than are kept, those with the smallest hashes stay: a number that occurs
    twice is there twice among them, or not at all.

    Attributes
    ----------
    values : ndarray of float64
        The numbers in ascending order.
    level : int
        The number of times that every second value was left out.
    """

    values: np.ndarray
    level: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> NameSample | None:
        """The names in some rows; None where a number is not whole, or is there twice."""
        if not (values == np.floor(values)).all():
            return None
        return cls.merged([cls(values)])

    @classmethod
    def merged(
        cls, parts: Sequence[NameSample | None], *, most: int = _MOST_NAMES
    ) -> NameSample | None:
        """At most ``most`` names in the rows of all parts; None where one is there twice."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or not known:
            return None
        level = max(part.level for part in known)
        values = np.sort(np.concatenate([part._at(level) for part in known]))
        if (values[1:] == values[:-1]).any():
            return None
        found = cls(values, level)
        while len(found.values) > most:
            found = cls(found._at(found.level + 1), found.level + 1)
        return found

    def _at(self, level: int) -> np.ndarray:
        if level == self.level:
            return self.values
        # Without the sign of a zero.
        hashes = mixed((self.values + 0.0).view(np.uint64))
        return self.values[hashes >> np.uint64(64 - level) == 0]


@dataclass(frozen=True)
class Spread:
    """The location and the scale of numbers in some rows.

    Attributes
    ----------
    n : int
    mean, scale : float
        The mean and the standard deviation, which is 0 where all values are the same.
    low, high : float
    rest : float
        The rounding error of the mean.
    """

    n: int
    mean: float = 0.0
    scale: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    rest: float = 0.0

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        counts: np.ndarray | None = None,
        ends: tuple[float, float] | None = None,
    ) -> Spread:
        """The spread of some numbers with their counts of rows, by default one each.

        ``ends``: the lowest and the highest of them, where known.
        """
        if not len(values):
            return cls(0)
        low, high = (float(values.min()), float(values.max())) if ends is None else ends
        mean, scale, rest = moments(values, low, high, counts)
        n = len(values) if counts is None else int(counts.sum())
        return cls(n, mean, scale, low, high, rest)

    @classmethod
    def merged(cls, parts: Sequence[Spread]) -> Spread:
        """The spread of the numbers of all parts."""
        some = [one for one in parts if one.n]
        if len(some) < 2:
            return some[0] if some else cls(0)
        n, low, high = (
            sum(one.n for one in some),
            min(o.low for o in some),
            max(o.high for o in some),
        )
        largest = max(abs(low), abs(high))
        if is_constant(low, high):
            return cls(n, low, 0.0, low, high)
        # Brought to the size of one, so that squares stay in range, and about one of the means, so
        # that nothing is lost of small differences between large numbers.
        exponent = int(np.frexp(largest)[1])
        n_of = [one.n for one in some]
        means, rests, scales = (
            [math.ldexp(getattr(one, of), -exponent) for one in some]
            for of in ("mean", "rest", "scale")
        )
        base = means[0]
        off = [m - base + rest for m, rest in zip(means, rests, strict=True)]
        # The mean about that one, which has digits that the mean itself has no place for.
        centre = math.fsum(map(operator.mul, n_of, off)) / n
        mean = base + centre
        squares = math.fsum(
            k * (s * s + (m - centre) * (m - centre))
            for k, m, s in zip(n_of, off, scales, strict=True)
        )
        scale = math.ldexp(math.sqrt(squares / n), exponent)
        rest = math.ldexp(base - mean + centre, exponent)
        return cls(n, math.ldexp(mean, exponent), scale, low, high, rest)


class _Part:
    """Numbers in rows that lie together, apart from codes at their ends."""

    def __init__(
        self, values: np.ndarray, counts: np.ndarray | None, alone: bool, date: bool = False
    ) -> None:
        self.ends = ColumnEnds.of(values, counts, alone=alone, date=date)
        self._values: np.ndarray | None = values
        self._counts = counts
        self._spreads: dict[tuple[int, int], Spread] = {}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> _Part:
        """The settled part of a record."""
        part = cls.__new__(cls)
        lows, highs = (tuple((value, n) for value, n in side) for side in record["ends"][:2])
        part.ends = ColumnEnds(lows, highs, *record["ends"][2:])
        part._values = part._counts = None
        part._spreads = {(i, j): Spread(*own) for i, j, *own in record["spreads"]}
        return part

    def record(self) -> dict[str, Any]:
        """A settled part as JSON can hold it."""
        assert self._values is None
        # Not by astuple, which copies every number by itself.
        spreads = [[*cut, *vars(one).values()] for cut, one in self._spreads.items()]
        return {"ends": [*vars(self.ends).values()], "spreads": spreads}

    def without(self, away: Container[float]) -> Spread:
        """The spread of the values without some codes, the outermost ones at either end."""
        lows = [value for value, _ in self.ends.lows if value in away]
        highs = [value for value, _ in self.ends.highs if value in away]
        cut = len(lows), len(highs)
        if cut not in self._spreads:
            assert self._values is not None
            left, counts, ends = self._values, self._counts, None
            if lows or highs:
                others = ~np.isin(left, [*lows, *highs])
                left, counts = left[others], None if counts is None else counts[others]
            if cut == (len(self.ends.lows), len(self.ends.highs)):
                ends = self.ends.low, self.ends.high
            self._spreads[cut] = Spread.of(left, counts, ends)
        return self._spreads[cut]

    def settle(self) -> None:
        """Keep what is left for every choice of codes in place of the values."""
        lows, highs = ([value for value, _ in side] for side in (self.ends.lows, self.ends.highs))
        for i in range(len(lows) + 1):
            for j in range(len(highs) + 1):
                self.without({*lows[:i], *highs[:j]})
        self._values = self._counts = None


@dataclass(frozen=True)
class Numbers:
    """Summary statistics of a column of numbers in some rows, in a form that merges.

    Rows that lie together stay a part of their own, so that the order in which parts are merged
    changes no bit.

    Attributes
    ----------
    parts : tuple
    n_missing : int
    names : NameSample or None
        The numbers, where they may be names of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables.statistics import Numbers
    >>> parts = [Numbers.of(np.array(part)) for part in ([0.0, 2.0], [4.0])]
    >>> Numbers.merged(parts).facts("x", exact=False).mean
    2.0
    """

    parts: tuple[_Part, ...]
    n_missing: int
    names: NameSample | None

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        n_missing: int = 0,
        counts: np.ndarray | None = None,
        *,
        named: bool = False,
        alone: bool = False,
        date: bool = False,
    ) -> Numbers:
        """The numbers of some rows.

        Parameters
        ----------
        values : ndarray of float64
            Without missing ones.
        n_missing : int
        counts : ndarray of int, optional
            The number of rows with each value; one by default.
        named : bool
            Whether the column is called like names of rows.
        alone : bool
            Whether there are no other rows; then the values are kept until it is known which of
            them are read as missing.
        date : bool
            Whether the values are days.
        """
        part = _Part(values, counts, alone, date)
        once = counts is None or bool((counts == 1).all())
        names = NameSample.of(values) if named and once and not n_missing else None
        found = cls((part,), n_missing, names)
        if not alone and not found.infinite:
            part.settle()
        return found

    @classmethod
    def merged(cls, many: Sequence[Numbers]) -> Numbers:
        """The numbers of the rows of all."""
        parts = tuple(part for one in many for part in one.parts)
        names = NameSample.merged([one.names for one in many])
        return cls(parts, sum(one.n_missing for one in many), names)

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Numbers:
        """The numbers of a record, with the same bits."""
        names = record["names"]
        return cls(
            tuple(map(_Part.of_record, record["parts"])),
            record["n_missing"],
            None if names is None else NameSample(np.array(names[0], dtype=np.float64), names[1]),
        )

    def record(self) -> dict[str, Any]:
        """The numbers as JSON can hold them, once their values are not needed any more."""
        names = None if self.names is None else [self.names.values.tolist(), self.names.level]
        parts = [part.record() for part in self.parts]
        return {"n_missing": self.n_missing, "names": names, "parts": parts}

    @property
    def low(self) -> float:
        """The lowest number."""
        return min(one.ends.low for one in self.parts)

    @property
    def high(self) -> float:
        """The highest number."""
        return max(one.ends.high for one in self.parts)

    @property
    def infinite(self) -> bool:
        """Whether a number is infinite."""
        return any(one.ends.low == -math.inf or one.ends.high == math.inf for one in self.parts)

    def facts(
        self,
        name: str,
        *,
        exact: bool,
        usual: bool = True,
        date: bool = False,
        counter: bool = False,
        **known: Any,
    ) -> NumberFacts:
        """Facts about the column.

        Parameters
        ----------
        name : str
        exact : bool
            Whether numbers are left exactly as they are, so that none is read as missing.
        usual : bool
            Whether to look for placeholders: a column whose kind was requested has none.
        date : bool
        counter : bool
            Whether it is the first column and counts the rows.
        known
            Further facts.
        """

        def spread(away: Container[float]) -> Spread:
            return Spread.merged([part.without(away) for part in self.parts])

        found = []
        if usual and not known.get("overridden"):
            ends = [part.ends for part in self.parts]
            found = of_parts(ends, lambda away: (spread(away).mean, spread(away).scale))
            found = of_part(found) if known.get("derived") else found
        away = () if exact else read_as_missing(found)
        n_rows = self.n_missing + sum(part.ends.n for part in self.parts)
        codes = (code for part in self.parts for code in part.ends.codes)
        n_missing = self.n_missing + sum(n for value, n in codes if value in away)
        own = Spread(0, 0.0, 1.0) if exact else spread(away)
        called = counter or is_called_identifier(name)
        identifies = called and self.names is not None and n_rows >= 20 and not n_missing
        return NumberFacts(
            name, n_rows, n_missing, own.mean, own.scale, date, identifies, found, **known
        )


@dataclass(frozen=True)
class Facts:
    """Facts about any column.

    Attributes
    ----------
    name : str
    n_rows, n_missing : int
        The number of rows, and that of rows without a value.
    """

    name: str
    n_rows: int
    n_missing: int

    derived: bool = field(default=False, kw_only=True)
    """Whether the column is a part of a date."""
    overridden: bool = field(default=False, kw_only=True)
    """Whether the kind of the column was requested."""

    def learned(self, settings: Settings, alert: Alert) -> Number | Category | Text:
        """The encoding of the column; raises Unusable where it gives no feature."""
        if self.n_missing == self.n_rows:
            raise Unusable("without values", "holds no values")
        return self._learned(settings, alert)

    def _learned(self, settings: Settings, alert: Alert) -> Number | Category | Text:
        raise NotImplementedError


@dataclass(frozen=True)
class NumberFacts(Facts):
    """Facts about a column of numbers.

    Attributes
    ----------
    mean, scale : float
        The mean and the standard deviation, which is 0 where all values are the same.
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
    points: Callable[[], tuple[Any, Any]] = field(
        default=lambda: (np.empty(0), None), kw_only=True, repr=False, compare=False
    )
    """A function that gives the values, placeholders included, and the number of rows of each."""

    def _learned(self, settings: Settings, alert: Alert) -> Number:
        return Number.learn(self, settings, alert)


@dataclass(frozen=True)
class CategoryFacts(Facts):
    """Facts about a column of levels.

    Attributes
    ----------
    counts : mapping of str to int
        The number of rows with each level.
    """

    counts: Mapping[str, int]

    @classmethod
    def merged(cls, name: str, parts: Sequence[CategoryFacts]) -> CategoryFacts:
        """Facts about a column that lies in parts."""
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        n_rows, n_missing = (sum(getattr(p, of) for p in parts) for of in ("n_rows", "n_missing"))
        return cls(name, n_rows, n_missing, counts)

    def _learned(self, settings: Settings, alert: Alert) -> Category:
        return Category.learn(self, settings)


@dataclass(frozen=True)
class TextFacts(Facts):
    """Facts about a column of free text.

    Attributes
    ----------
    rows : mapping of str to int
        The number of rows with each word.
    uses : mapping of str to int
        The number of times that each word occurs.
    """

    rows: Mapping[str, int]
    uses: Mapping[str, int]

    @classmethod
    def of(cls, name: str, column: Any, options: Mapping[str, Any]) -> TextFacts:
        """The words of a column in some rows.

        Parameters
        ----------
        name : str
        column : array of object
        options : mapping of str to object
            The options for text of an encoder, which define what a word is.

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix.tables import Encoder
        >>> from separatrix.tables.statistics import TextFacts
        >>> column = np.array(["good, good film", "bad film"], dtype=object)
        >>> TextFacts.of("review", column, Encoder().text).uses
        {'bad': 1, 'film': 2, 'good': 2}
        """
        n_missing = int(missing_mask(column).sum())
        words, counts = all_words(documents_of(column), options)
        n = len(words)
        uses = np.bincount(counts.indices, weights=counts.data, minlength=n).astype(np.int64)
        rows = np.bincount(counts.indices, minlength=n)
        each = (dict(zip(words, of.tolist(), strict=True)) for of in (rows, uses))
        return cls(name, len(column), n_missing, *each)

    @classmethod
    def merged(cls, parts: Sequence[TextFacts], *, most: int) -> TextFacts:
        """The words of the rows of all parts; DataError for more than ``most`` of them."""
        rows: Counter[str] = Counter()
        uses: Counter[str] = Counter()
        for part in parts:
            rows.update(part.rows)
            uses.update(part.uses)
        name = parts[0].name
        if len(rows) > most:
            ignored = Setting("kinds", (name, "ignore"))
            words = {"column": quote(name), "about": len(rows), "ignored": ignored}
            raise DataError(Message("too_many_words", **words))
        n_rows, n_missing = (sum(getattr(p, of) for p in parts) for of in ("n_rows", "n_missing"))
        return cls(name, n_rows, n_missing, rows, uses)

    def _learned(self, settings: Settings, alert: Alert) -> Text:
        return Text.of_facts(self, settings)


@dataclass(frozen=True)
class TextColumn(Facts):
    """A column of free text whose rows are all at hand.

    Attributes
    ----------
    column : array of object
    """

    column: Any

    def _learned(self, settings: Settings, alert: Alert) -> Text:
        return Text.learn(self.name, self.column, settings)


def _counts_rows(table: Table, name: str) -> bool:
    """Whether the first of several columns holds the numbers of the rows, from 1."""
    column = table.columns[name]
    if name != table.names[0] or len(table.names) < 2 or not may_count_rows(name):
        return False
    if type(column) is not np.ndarray or column.dtype != np.float64 or not table.n_rows:
        return False
    rows = np.arange(table.n_rows) if table.rows is None else table.rows
    return bool(column[0] == rows[0] + 1 and np.array_equal(column, rows + 1.0))


def numbers_in(table: Table, name: str, *, alone: bool = False, counter: bool = False) -> Numbers:
    """Summary statistics of a column of numbers in the rows of a table.

    ``alone``: there are no other rows; ``counter``: it counts the rows.

    Raises
    ------
    DataError
        If a number is infinite; the message says where.
    """
    column = table.columns[name]
    values = present(column).astype(np.float64, copy=False)
    n_missing, named = table.n_rows - len(values), counter or is_called_identifier(name)
    found = Numbers.of(values, n_missing, named=named, alone=alone, date=name in table.dates)
    if found.infinite:
        infinite = np.isinf(np.ma.getdata(column)) & ~missing_mask(column)
        row = int(np.argmax(infinite))
        value = np.ma.getdata(column)[row]
        raise not_finite(table, name, row, value, "leave it empty to count as missing")
    return found


def category_facts(table: Table, name: str) -> CategoryFacts:
    """Facts about a column of levels in the rows of a table."""
    column = table.columns[name]
    n_missing = int(missing_mask(column).sum())
    return CategoryFacts(
        name,
        table.n_rows,
        n_missing,
        text_counts(column),
        derived=name in table.derived,
        overridden=name in table.overridden,
    )


def facts_of(table: Table, name: str, *, exact: bool) -> Facts:
    """Facts about a column of a table in memory.

    ``exact``: numbers are left exactly as they are.
    """
    known = {"derived": name in table.derived, "overridden": name in table.overridden}
    column = table.columns[name]
    if table.kinds[name] == "number":
        # True and False are no codes.
        usual, date = column.dtype == np.float64, name in table.dates
        counter = _counts_rows(table, name)
        numbers = numbers_in(table, name, alone=True, counter=counter)

        def points() -> tuple[Any, None]:
            return present(column).astype(np.float64), None

        own = {"usual": usual, "date": date, "counter": counter, "points": points}
        return numbers.facts(name, exact=exact, **own, **known)
    if table.kinds[name] == "category":
        return category_facts(table, name)
    n_missing = int(missing_mask(column).sum())
    return TextColumn(name, table.n_rows, n_missing, column, **known)
