"""One kind of column a class: what is learned of it, its features, and how it is stored.

Numbers are standardised here rather than by scikit-learn's ``StandardScaler``, whose squares leave
the range of float64 at 1e200 and at 1e-200; and levels are coded here rather than by its
``OneHotEncoder``, which knows neither a level by the number it spells nor a feature for rare and
later levels together. Words of the usual sort are counted in :mod:`~separatrix.tables.words`, in a
third of the time that its ``CountVectorizer`` takes, and others by it.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import counted
from separatrix.tables.categorical import Categorical
from separatrix.tables.cells import ONE, ZERO, Column, divided, less
from separatrix.tables.features import Cell, Constant, Feature, Words
from separatrix.tables.features import Number as Formula
from separatrix.tables.placeholders import (
    read_as_missing,
    sentence,
)
from separatrix.tables.table import (
    LevelMatch,
    Remarks,
    Table,
    joined,
    label_text,
    missing_mask,
    not_finite,
    number_text,
    numbers_from_text,
    quote,
    spelled_number,
)
from separatrix.tables.words import count_words, inverse_frequency, weighed

YEAR = 365.2425
"""The days of a year, in the mean over 400 of them."""

# Below this many rows a word that stands in one row only is still kept.
_TINY_TEXT = 100

PLACEHOLDERS = ("with values far from all others", "with placeholders read as missing")
"""What sorts of alerts those of placeholders are: of values that are named, and of those read."""

ColumnOf = Callable[[str], Column]
"""What a column of an encoding is of the cells of a row, by its name."""

Alert = Callable[..., None]
"""Called with what sort of alert it is in a few words, the sentence, and the columns."""

# How columns are stored: a plain dictionary each, and arrays by name.
Entries = list[dict[str, Any]]
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The parameters of an :class:`Encoder`."""

    text: dict[str, Any]
    min_frequency: int | None
    standardise: bool
    reference: bool

    @property
    def exact(self) -> bool:
        """Whether numbers are left exactly as the table has them."""
        return not self.standardise and not self.reference


class Unusable(Exception):
    """A column gives no feature: what sort of column it is, and why."""

    def __init__(self, sort: str, why: str):
        super().__init__(why)
        self.sort, self.why = sort, why


class Encoding:
    """What every kind has: ``encode``, ``store``, ``load``, and names of features."""

    kind: str
    noun: tuple[str, str]
    name: Any
    with_date = False
    """Whether it is a part of a date that has features, which says where cells are missing."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str]: ...

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @abstractmethod
    def features(self, column_of: ColumnOf, settings: Settings) -> Sequence[Feature]:
        """What ``encode`` computes of the cells of a row, one feature after the other."""

    def value_text(self, feature: int, value: float, settings: Settings) -> str:
        """A value of one of the features in the units of the column."""
        return f"{value:.6g}"

    def require_sound(self) -> None:
        """Raise ModelFileError unless this can have been fitted."""


# -------------------------------------------------------------------------------------- numbers


def codes_of(facts: Any, settings: Settings, alert: Alert) -> tuple[float, ...]:
    """The values of a column of numbers that are read as missing; alerts name its placeholders."""
    for one in facts.placeholders:
        own = replace(one, missing=one.missing and not settings.exact)
        alert(PLACEHOLDERS[own.missing], sentence(facts.name, own, date=facts.date), facts.name)
    return () if settings.exact else read_as_missing(facts.placeholders)


@dataclass
class Number(Encoding):
    """One feature for the value, and one for whether it was missing."""

    name: str
    mean: float
    scale: float
    with_value: bool
    with_missing: bool
    date: bool
    placeholders: tuple[float, ...] = ()  # values that are read as missing
    # Of dates the day from which years are counted; None where days are used as they are.
    origin: float | None = None

    kind = "number"
    noun = ("number", "numbers")

    @classmethod
    def learn(cls, facts: Any, settings: Settings, alert: Alert) -> Number:
        """The encoding of a column of numbers by its facts."""
        name, mean, scale, some = facts.name, facts.mean, facts.scale, facts.n_missing > 0
        codes = codes_of(facts, settings, alert)
        if settings.exact:
            return cls(name, 0.0, 1.0, True, some, facts.date)
        if facts.identifies and not (facts.overridden or facts.date):
            raise Unusable(
                "that identify rows",
                "holds a different whole number in every row, so it identifies rows and does not "
                "describe them",
            )
        constant = scale == 0.0
        if constant and not some:
            raise Unusable("of one value", f"is constant ({number_text(mean)})")
        if constant:
            alert(
                "of one value or none, of which only whether there is one is used",
                f"column {quote(name)} is constant ({number_text(mean)}) where it is not missing; "
                "only whether it is missing is used",
                name,
            )
        # Years about the middle of the dates are of the size of one, as days since 1970 are not.
        origin = float(math.floor(mean)) if facts.date else None
        if not settings.standardise:
            scale = 1.0 if origin is None else YEAR
        return cls(name, mean, scale, not constant, some, facts.date, codes, origin)

    @property
    def unit_scales(self) -> list[float]:
        """How many units of the column, years of a date, make one unit of each feature."""
        own = self.scale if self.origin is None else self.scale / YEAR
        return [own] if self.with_value else []

    @property
    def feature_names(self) -> list[str]:
        own = [self.name] if self.with_value else []
        return own + ([f"{self.name}=(missing)"] if self.with_missing else [])

    def value_text(self, feature: int, value: float, settings: Settings) -> str:
        if feature >= self.with_value:
            return super().value_text(feature, value, settings)
        if settings.standardise:
            value = value * self.scale + self.mean
        elif self.origin is not None:
            value = value * self.scale + self.origin
        if not self.date:
            return super().value_text(feature, value, settings)
        # Rounding may have left a day just below its first minute.
        minute = np.datetime64(round(value * 1440.0), "m")
        whole = minute == minute.astype("datetime64[D]")
        return str(minute.astype("datetime64[D]") if whole else minute)

    def encode(self, table: Table, settings: Settings, notes: Remarks) -> Any:
        """The features, a sequence of arrays of shape (n_rows,)."""
        values, gone = self._numbers(table, notes)
        lost = 0 if gone is None else int(gone.sum())
        if lost and not (self.with_missing or self.with_date):
            fill, value = ("0", "") if settings.exact else ("the mean", f" ({self.mean:.6g})")
            where = f"column {quote(self.name)}: {lost:,} missing, none at fit"
            notes.add(
                f"with missing values, none at fit, read as {fill}",
                f"{where}; read as {fill}{value}",
            )
        columns = self._features(values, gone, table, settings)
        if self.with_missing:
            columns.append(np.zeros(len(values), dtype=bool) if gone is None else gone)
        return columns

    def _features(self, values: Any, gone: Any, table: Table, settings: Settings) -> list[Any]:
        """The features of values, but for whether one is missing."""
        if self.with_value and settings.standardise:
            return [self._standardised(values, gone, table)]
        _require_finite(values, self.name, table)
        if not self.with_value:
            return []
        own = values if gone is None else np.where(gone, self.mean, values)
        return [own if self.origin is None else (own - self.origin) / self.scale]

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Formula]:
        column = self._defined(column_of(self.name))
        own = [
            column.filled(formula, Constant(fill))
            for formula, fill in self._formulas(column.value, settings)
        ]
        return own + ([column.filled(ZERO, ONE)] if self.with_missing else [])

    def _defined(self, column: Column) -> Column:
        """The column, and where its numbers have features."""
        return column

    def _formulas(self, value: Formula, settings: Settings) -> list[tuple[Formula, float]]:
        """The features of a value, and what each is where there is none."""
        if not self.with_value:
            return []
        if settings.standardise:
            return [(divided(less(value, self.mean), self.scale), 0.0)]
        if self.origin is None:
            return [(value, self.mean)]
        years = divided(less(value, self.origin), self.scale)
        return [(years, (self.mean - self.origin) / self.scale)]

    def _numbers(self, table: Table, notes: Remarks) -> tuple[Any, Any]:
        """The column's values as numbers, whatever it was read as, and where there are none.

        Missing values are 0, and where none is there is no mask.
        """
        column = table.columns[self.name]
        gone = None if type(column) is np.ndarray else missing_mask(column)
        data = np.ma.getdata(column)
        if data.dtype == object:

            def refuse(row: int, text: str) -> DataError:
                return DataError(
                    f"{table.place(self.name, row)}: {quote(text)} is not "
                    f"{'a date' if self.date else 'a number'}, and the column held nothing else in "
                    "the fit; correct it, or leave it empty to count as missing"
                )

            values = numbers_from_text(column, refuse, _no_date if self.date else spelled_number)
            gone = missing_mask(column) | np.isnan(values)
        else:
            there = gone is None or not gone.all()
            if there and self.date != (self.name in table.dates):
                was, now = ("dates", "numbers") if self.date else ("numbers", "dates")
                raise DataError(f"column {quote(self.name)} holds {now}, but held {was} in the fit")
            values = data.astype(np.float64, copy=False)
        if self.placeholders:
            away = np.isin(values, self.placeholders)
            gone = away if gone is None else gone | away
        if gone is not None and gone.any():
            return np.where(gone, 0.0, values), gone
        return values, None

    def _standardised(self, values: Any, gone: Any, table: Table) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            z = values - self.mean
            z /= self.scale
            finite = np.isfinite(z).all()
            if not finite:  # the difference alone may be out of range
                _require_finite(values, self.name, table)
                z = values / self.scale - self.mean / self.scale
        if gone is not None:
            z[gone] = 0.0
        if not finite:
            self._require_near(values, np.isfinite(z), table)
        return z

    def _require_near(self, values: Any, finite: np.ndarray, table: Table) -> None:
        """Raise DataError for the first value whose feature is not finite."""
        if not finite.all():
            row = int(np.argmin(finite))
            raise DataError(
                f"{table.place(self.name, row)}: {values[row]} is so far from the values of the "
                "fit that it cannot be standardised; correct it, or leave it empty to count as "
                "missing"
            )

    @staticmethod
    def store(encodings: Sequence[Number], arrays: Arrays, settings: Settings) -> Entries:
        for part in ("mean", "scale"):
            values = [getattr(one, part) for one in encodings]
            arrays[f"numbers.{part}"] = np.array(values, dtype=np.float64)
        return [
            {
                "name": one.name,
                "value": one.with_value,
                "missing": one.with_missing,
                "date": one.date,
                **({"placeholders": list(one.placeholders)} if one.placeholders else {}),
                **({} if one.origin is None else {"origin": one.origin}),
            }
            for one in encodings
        ]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Number]:
        means, scales = arrays["numbers.mean"], arrays["numbers.scale"]
        return [
            cls(
                entry["name"],
                float(mean),
                float(scale),
                bool(entry["value"]),
                bool(entry["missing"]),
                bool(entry["date"]),
                tuple(map(float, entry.get("placeholders", ()))),
                None if entry.get("origin") is None else float(entry["origin"]),
            )
            for entry, mean, scale in zip(entries, means, scales, strict=True)
        ]

    def require_sound(self) -> None:
        if not np.isfinite(self.placeholders).all():
            raise damaged(f"column {quote(self.name)} has invalid placeholders")
        if self.origin is not None and not (self.date and np.isfinite(self.origin)):
            raise damaged(f"column {quote(self.name)} has the origin {self.origin}")
        if not (np.isfinite(self.mean) and 0.0 <= self.scale < np.inf) or (
            self.with_value and self.scale == 0.0
        ):
            raise damaged(
                f"column {quote(self.name)} has the mean {self.mean} and the scale {self.scale}"
            )


# What columns are called whose numbers are names: customerId, ORDER_ID, serial no.
_IDENTIFIER = re.compile(
    r"(?:^|.*[\s_.-]|.*[a-z](?=[A-Z]))(?:id|ids|key|uuid|guid|index|idx|rowid|row|nr|no|number|serial)"
    r"\.?",
    re.DOTALL,
)
# And what a counter of rows is called, or a column without a name, by R, pandas and offices.
_COUNTER = re.compile(
    r"unnamed(?:_|: )\d+|row[._ ]?(?:names?|num)|[#№]|lfd\.?|laufnummer|zeile(?:nnummer|nnr\.?)?|"
    r"n[°º]|s(?:l|er)?\.? ?no\.?|番号|連番|通番",
    re.IGNORECASE,
)
# What is called so may count the rows, and describe them all the same.
_SEQUENCE = re.compile(
    r"[xtn]|(?:year|month|week|day|hour|time|date|step|epoch|period|age|size|dose|level|trend|jahr|"
    r"monat|woche|tag|stunde|zeit|schritt|alter|année|mois|jour|temps|年|月|日).*",
    re.IGNORECASE | re.DOTALL,
)


def is_called_identifier(name: str) -> bool:
    """Whether a column is called like names of rows."""
    patterns = ((_IDENTIFIER, name), (_IDENTIFIER, name.lower()), (_COUNTER, name))
    return any(pattern.fullmatch(text) for pattern, text in patterns)


def may_count_rows(name: str) -> bool:
    """Whether a first column of the numbers 1, 2, 3, ... of that name says no more than its row."""
    return _SEQUENCE.fullmatch(name) is None


def is_constant(low: float, high: float) -> bool:
    """Whether values from the lowest to the highest differ by rounding at most."""
    largest = max(abs(low), abs(high))
    return low == high or high / largest - low / largest <= 4 * EPS


def mean_and_scale(values: Any) -> tuple[float, float]:
    """Mean and standard deviation; scale 0 where the values differ by rounding at most.

    Two passes over values brought to the size of 1, so that neither 1e-200 nor 1e200 leaves the
    range of float64 when squared.
    """
    mean, scale, _ = moments(values, float(values.min()), float(values.max()))
    return mean, scale


def moments(values: Any, low: float, high: float, counts: Any = None) -> tuple[float, float, float]:
    """Mean and standard deviation of values from ``low`` to ``high``, and the mean's rounding.

    ``counts``: in how many rows each value is; in one by default.
    """
    if low == high:
        return low, 0.0, 0.0
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    if is_constant(low, high):
        return float(np.ldexp(np.median(np.ldexp(values, -exponent)), exponent)), 0.0, 0.0
    # A power of two, so exact; a product is faster where the factor is a number.
    plain = abs(exponent) < 1000
    unit = values * 2.0**-exponent if plain else np.ldexp(values, -exponent)
    n = len(values) if counts is None else counts.sum()

    def average(of: Any) -> Any:
        # The sums of NumPy's means, without what surrounds them: there may be thousands of columns.
        return (np.add.reduce(of) if counts is None else counts @ of) / n

    mean = float(average(unit))
    mean += float(average(unit - mean))  # takes out the rounding of the first sum
    unit -= mean
    rest = float(average(unit))
    unit *= unit
    # The mean of the squares about the mean as it is rounded is larger than that about the mean.
    scale = math.sqrt(max(average(unit) - rest * rest, 0.0))
    return (
        float(np.ldexp(mean, exponent)),
        float(np.ldexp(scale, exponent)),
        float(np.ldexp(rest, exponent)),
    )


def _require_finite(values: Any, name: str, table: Table) -> None:
    bad = np.isinf(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise not_finite(table, name, row, values[row], "leave it empty to count as missing")


def _no_date(text: str) -> float | None:
    return None


# ----------------------------------------------------------------------------------- categories


@dataclass
class Category(Encoding):
    """One feature for every level, one for all rare ones, and one for missing values."""

    name: str
    levels: list[str]
    rare: list[str]
    with_missing: bool
    reference: str | None = None  # the level without a feature; not among the others
    # The levels that were last looked for, and what was found.
    _last: Any = field(default=None, repr=False, compare=False)

    kind = "category"
    noun = ("category", "categories")

    # Made at their first use: of a million levels they take more than the levels do.
    @cached_property
    def match(self) -> LevelMatch:
        # Rare levels are found like the others and point at one feature.
        reference = [] if self.reference is None else [self.reference]
        return LevelMatch([*self.levels, *self.rare, *reference])

    @cached_property
    def _features(self) -> np.ndarray:
        # The feature of each of these, and last of a level that was not seen at fit; -1: none.
        n, references = len(self.levels), 0 if self.reference is None else 1
        own = [*range(n), *[n] * len(self.rare), *[-1] * references, n if self.rare else -1]
        return np.array(own, dtype=np.int64)

    @classmethod
    def learn(cls, facts: Any, settings: Settings) -> Category:
        """The encoding of a column of levels by its facts."""
        counts, some = facts.counts, facts.n_missing > 0
        n_values = sum(counts.values())
        if not facts.overridden and n_values >= 20 and len(counts) >= 0.9 * n_values:
            raise Unusable(
                "that identify rows",
                f"has {len(counts):,} levels in {n_values:,} rows, so it identifies rows and does "
                "not describe them",
            )
        if len(counts) == 1 and not some:
            raise Unusable("of one value", f"is constant ({quote(next(iter(counts)))})")
        least = settings.min_frequency or 1
        levels = sorted(level for level, count in counts.items() if count >= least)
        rare = sorted(level for level, count in counts.items() if count < least)
        reference = None
        if settings.reference and levels:
            reference = max(levels, key=lambda level: counts[level])
            levels.remove(reference)
        return cls(facts.name, levels, rare, some, reference)

    @property
    def feature_names(self) -> list[str]:
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name}=(rare)"] if self.rare else []
        return names + ([f"{self.name}=(missing)"] if self.with_missing else [])

    @property
    def n_features(self) -> int:
        # Asked for with every block, without the names of many levels.
        return len(self.levels) + bool(self.rare) + self.with_missing

    def encode(self, table: Table, settings: Settings, notes: Remarks, start: int = 0) -> Any:
        """Return for each row the place of the one feature that is 1, or -1 for none.

        Features are counted from ``start``.
        """
        column = table.columns[self.name]
        places = self._features.copy()
        places[places >= 0] += start
        missing = start + self.n_features - 1 if self.with_missing else -1
        unseen: Mapping[str, int] = {}
        if isinstance(column, Categorical):
            found = self._found(column.levels)
            gone = column.codes < 0
            codes = np.append(places[found], [missing]).astype(np.int32)[column.codes]
            if (found < 0).any():
                counts = np.bincount(column.codes[~gone], minlength=len(found))
                new = np.flatnonzero((found < 0) & (counts > 0))
                unseen = dict(zip(column.levels[new].tolist(), counts[new].tolist(), strict=True))
        else:
            gone = missing_mask(column)
            found = self.match.find_all(np.ma.getdata(column).tolist())
            codes = np.where(gone, missing, places[found]).astype(np.int32)
            new = (found < 0) & ~gone
            if new.any():
                unseen = Counter(map(label_text, np.ma.getdata(column[new]).tolist()))
        # What a level that was not seen at fit, or is missing, is read as.
        other = "no level" if self.reference is None else f"the reference {quote(self.reference)}"
        if not (self.with_missing or self.with_date) and gone.any():
            notes.add(
                "with missing values, none at fit, read as "
                + ("no level" if self.reference is None else "the reference"),
                f"column {quote(self.name)}: {int(gone.sum()):,} missing, none at fit; read as "
                f"{other}",
            )
        if unseen:
            n_rows = sum(unseen.values())
            most = sorted(unseen, key=lambda level: (-unseen[level], level))
            notes.add(
                "with levels not seen at fit",
                f"column {quote(self.name)}: {counted(len(unseen), 'level')} not seen at fit in "
                f"{counted(n_rows, 'row')} ({joined(most, 5)}), read as "
                + ("rare" if self.rare else other),
            )
        return codes

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Formula]:
        column, match = column_of(self.name), self.match
        there = column.without_marks(match)
        own = [column.indicator([level], match) for level in self.levels]
        if self.rare:
            known = [*self.levels, *([] if self.reference is None else [self.reference])]
            own.append(there.filled(column.indicator(known, match, ZERO, ONE), ZERO))
        return own + ([there.filled(ZERO, ONE)] if self.with_missing else [])

    def _found(self, levels: np.ndarray) -> np.ndarray:
        """Which of the levels of the fit each of some is; those of blocks are the same objects."""
        if self._last is None or self._last[0] is not levels:
            self._last = (levels, self.match.find_all(levels.tolist()))
        found: np.ndarray = self._last[1]
        return found

    @staticmethod
    def store(encodings: Sequence[Category], arrays: Arrays, settings: Settings) -> Entries:
        # Together, because each array has an entry in the header of a model file.
        for part in ("levels", "rare"):
            each = [getattr(one, part) for one in encodings]
            _pack(arrays, f"categories.{part}", list(itertools.chain.from_iterable(each)))
            arrays[f"categories.{part}.counts"] = np.array([*map(len, each)], dtype=np.int64)
        return [
            {"name": one.name, "missing": one.with_missing}
            | ({"reference": one.reference} if settings.reference else {})
            for one in encodings
        ]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Category]:
        parts = (_unpack_each(arrays, f"categories.{part}") for part in ("levels", "rare"))
        return [
            cls(entry["name"], levels, rare, bool(entry["missing"]), entry.get("reference"))
            for entry, levels, rare in zip(entries, *parts, strict=True)
        ]

    def require_sound(self) -> None:
        if not (self.reference is None or isinstance(self.reference, str)):
            raise damaged("one of its names is not a text")


# ----------------------------------------------------------------------------------------- text


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_pattern(value: Any) -> bool:
    try:
        return re.compile(value).groups <= 1
    except (re.error, OverflowError, RecursionError, TypeError):
        return False


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value in (None, "english")


def _is_ngram_range(value: Any) -> bool:
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in value)
    return len(value) == 2 and whole and 1 <= value[0] <= value[1]


# The default of every option, and the test that its value in an undamaged file passes.
_WORD_OPTIONS: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "lowercase": (True, _is_flag),
    "strip_accents": (None, lambda value: value in (None, "ascii", "unicode")),
    "stop_words": (None, _are_stop_words),
    "token_pattern": (r"(?u)\b\w\w+\b", _is_pattern),
    "ngram_range": ((1, 1), _is_ngram_range),
    "sublinear_tf": (True, _is_flag),
    "norm": ("l2", lambda value: value in (None, "l1", "l2")),
    "use_idf": (True, _is_flag),
    "smooth_idf": (True, _is_flag),
    "binary": (False, _is_flag),
}
# These act on the choice of words only, not on how a text is turned into numbers later.
_FIT_OPTIONS: dict[str, Any] = {"min_df": None, "max_df": 1.0, "max_features": None}

TEXT_OPTIONS = {name: default for name, (default, _) in _WORD_OPTIONS.items()} | _FIT_OPTIONS
"""The options for text columns and their defaults."""


def require_text_options(options: Mapping[str, Any]) -> None:
    """Raise ModelFileError for options with which no text was ever turned into numbers."""
    good = all(is_good(options[name]) for name, (_, is_good) in _WORD_OPTIONS.items())
    if not good or not set(options) <= set(TEXT_OPTIONS):
        raise damaged("it has no such options for text")


def jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    # Sets, arrays and tuples of words become lists, in an order that does not vary.
    plain = dict(options)
    plain["ngram_range"] = [int(n) for n in plain["ngram_range"]]
    if plain["stop_words"] is not None and not isinstance(plain["stop_words"], str):
        plain["stop_words"] = sorted(str(word) for word in plain["stop_words"])
    return {key: value.item() if isinstance(value, np.generic) else value
            for key, value in plain.items()}  # fmt: skip


def from_json(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "ngram_range": tuple(options["ngram_range"])}


# Blocks are encoded in several threads.
_making = threading.Lock()
_NO_WORDS = "of text without words", "holds text without usable words"
# What weighs counted words rather than counts them.
_WEIGHTING = ("norm", "use_idf", "smooth_idf", "sublinear_tf")


@dataclass
class Text(Encoding):
    """One feature for every word."""

    name: str
    words: list[str]
    idf: Any
    options: dict[str, Any]
    _vectorizer: Any = field(default=None, repr=False)
    # The column that was learned and its rows, for whoever encodes it next.
    _fresh: Any = field(default=None, repr=False)

    kind = "text"
    noun = ("text", "texts")

    @classmethod
    def learn(cls, name: str, column: Any, settings: Settings) -> Text:
        documents = documents_of(column)
        tries = _fewest_rows(settings, len(documents))
        for min_df in tries:
            try:
                words, counts = _counted(documents, {**settings.text, "min_df": min_df})
            except ValueError as error:
                text = str(error)
                if "empty vocabulary" in text or "no terms remain" in text or min_df != tries[-1]:
                    continue
                raise DataError(f"column {quote(name)}: the options for text: {text}") from None
            rows = np.bincount(counts.indices, minlength=len(words))
            made = cls._of_words(name, words, rows, len(documents), settings)
            made._fresh = (column, _weighed(counts, made.idf, settings.text))
            return made
        raise Unusable(*_NO_WORDS)

    @classmethod
    def of_facts(cls, facts: Any, settings: Settings) -> Text:
        """The encoding of a column by the rows that have each word, and its uses in them."""
        rows, n_rows = facts.rows, facts.n_rows
        options = settings.text

        def least(share: Any) -> float:
            return float(share if isinstance(share, (int, np.integer)) else share * n_rows)

        most = least(options["max_df"])
        for low in map(least, _fewest_rows(settings, n_rows)):
            words = sorted(word for word, n in rows.items() if low <= n <= most)
            if options["max_features"] is not None and len(words) > options["max_features"]:
                # As scikit-learn breaks ties: words are those that come first in their order.
                order = np.argsort([-facts.uses[word] for word in words])[: options["max_features"]]
                words = [words[k] for k in sorted(order.tolist())]
            if words:
                own = np.array([rows[word] for word in words])
                return cls._of_words(facts.name, words, own, n_rows, settings)
        raise Unusable(*_NO_WORDS)

    @classmethod
    def _of_words(
        cls, name: str, words: list[str], rows: np.ndarray, n_rows: int, settings: Settings
    ) -> Text:
        """The encoding by words, each of which so many of all rows have."""
        text = settings.text
        idf = np.ones(len(words))
        if text["use_idf"]:
            idf = inverse_frequency(rows, n_rows, smooth=text["smooth_idf"])
        return cls(name, words, idf, {key: text[key] for key in _WORD_OPTIONS})

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}:{word}" for word in self.words]

    def encode(self, table: Table, settings: Settings, notes: Remarks) -> Any:
        """TF-IDF rows; the same code after a fit and after loading, hence the same bits."""
        column = table.columns[self.name]
        lost = int(missing_mask(column).sum())
        if lost:
            notes.add(
                "of text with missing values, read as no words",
                f"column {quote(self.name)}: {lost:,} missing, read as no words",
            )
        if not table.n_rows:  # scikit-learn refuses none at all
            from scipy import sparse

            return sparse.csr_matrix((0, len(self.words)), dtype=np.float64)
        fresh, self._fresh = self._fresh, None
        if fresh is not None and fresh[0] is column:
            return fresh[1]
        if not _is_plain(self.options):
            with _making:
                if self._vectorizer is None:
                    self._vectorizer = self._by_scikit_learn()
            counts = self._vectorizer.transform(documents_of(column))
            counts.sort_indices()
            return _weighed(counts, self.idf, self.options)
        pairs = self.options["ngram_range"] == (1, 2)
        _, counts = count_words(documents_of(column), pairs=pairs, vocabulary=self.words)
        return _weighed(counts, self.idf, self.options)

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Words]:
        weights = tuple(self.idf.tolist())
        return [Words(Cell(self.name, "text"), tuple(self.words), weights, dict(self.options))]

    def _by_scikit_learn(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        vocabulary = {word: i for i, word in enumerate(self.words)}
        counting = {key: own for key, own in self.options.items() if key not in _WEIGHTING}
        vectorizer = CountVectorizer(vocabulary=vocabulary, dtype=np.float64, **counting)
        vectorizer.transform([""])  # which settles its vocabulary
        return vectorizer

    @staticmethod
    def store(encodings: Sequence[Text], arrays: Arrays, settings: Settings) -> Entries:
        for j, one in enumerate(encodings):
            _pack(arrays, f"text{j}.words", one.words)
            arrays[f"text{j}.idf"] = np.array(one.idf, dtype=np.float64)
        return [{"name": one.name, "options": jsonable(one.options)} for one in encodings]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Text]:
        loaded = []
        for j, entry in enumerate(entries):
            words = _unpack(arrays, f"text{j}.words")
            idf = np.array(arrays[f"text{j}.idf"], dtype=np.float64)
            if idf.shape != (len(words),):
                raise ModelFileError(
                    f"the encoding has {len(words):,} words, but {idf.size:,} weights of words"
                )
            loaded.append(cls(entry["name"], words, idf, from_json(entry["options"])))
        return loaded

    def require_sound(self) -> None:
        require_text_options(self.options)
        if not np.isfinite(self.idf).all() or len(set(self.words)) < len(self.words):
            raise damaged(f"the words of column {quote(self.name)}")


def _fewest_rows(settings: Settings, n_rows: int) -> list[Any]:
    """In how many rows a word must be, and in how many where no word is."""
    given = settings.text["min_df"]
    if given is not None:
        return [given]
    return [1] if n_rows < _TINY_TEXT else [2, 1]


def _is_plain(options: Mapping[str, Any]) -> bool:
    """Whether words are what this library counts itself: by the usual rules, alone or in pairs."""
    return all(
        options[key] == default
        for key, (default, _) in _WORD_OPTIONS.items()
        if key not in (*_WEIGHTING, "ngram_range")
    ) and options["ngram_range"] in ((1, 1), (1, 2))


def _counted(documents: list[str], options: Mapping[str, Any]) -> tuple[list[str], Any]:
    """The words of documents and their counts, with sorted indices, as rows are encoded later."""
    least = options["min_df"]
    whole = isinstance(least, int) and least >= 1
    simple = whole and options["max_df"] == 1.0 and options["max_features"] is None
    if simple and _is_plain(options):
        words, counts = count_words(documents, pairs=options["ngram_range"] == (1, 2), least=least)
        if not words:
            raise ValueError("empty vocabulary")
        return words, counts
    from sklearn.feature_extraction.text import CountVectorizer

    counting = {key: own for key, own in options.items() if key not in _WEIGHTING}
    vectorizer = CountVectorizer(**counting, dtype=np.float64)
    counts = vectorizer.fit_transform(documents)
    counts.sort_indices()
    return [str(word) for word in vectorizer.get_feature_names_out()], counts


def all_words(documents: list[str], options: Mapping[str, Any]) -> tuple[list[str], Any]:
    """Every word of documents, however rare, and their counts; none where there is none."""
    try:
        return _counted(documents, {**options, **_FIT_OPTIONS, "min_df": 1})
    except ValueError:
        from scipy import sparse

        return [], sparse.csr_matrix((len(documents), 0))


def _weighed(counts: Any, idf: np.ndarray, options: Mapping[str, Any]) -> Any:
    # Without idf the weights are all 1, which is the same thing.
    return weighed(counts, idf, sublinear=options["sublinear_tf"], norm=options["norm"])


def documents_of(column: Any) -> list[str]:
    gone = missing_mask(column)
    values = np.ma.getdata(column)
    return ["" if lost else label_text(value) for value, lost in zip(values, gone, strict=True)]


# ------------------------------------------------------------------------------------- svmlight


@dataclass
class Sparse(Encoding):
    """The features of an svmlight file, as they are: its columns from ``first`` up to ``stop``."""

    first: int
    stop: int

    name = None
    noun = ("sparse number", "sparse numbers")

    @property
    def n_features(self) -> int:
        return max(0, self.stop - self.first)

    @property
    def feature_names(self) -> list[str]:
        return [f"f{j}" for j in range(self.first, self.stop)]

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Cell]:
        return [Cell(name) for name in self.feature_names]

    def encode(self, table: Table, settings: Settings, notes: Remarks) -> Any:
        from scipy import sparse

        matrix = table.matrix
        width = int(matrix.shape[1])
        if width > self.stop:
            beyond = int((matrix.indices >= self.stop).sum())
            notes.add(
                "",
                f"features above {self.stop - 1} were not known at fit; their {beyond:,} values "
                "are ignored",
            )
        elif width < self.stop:
            matrix = sparse.csr_matrix(
                (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], self.stop)
            )
        if self.first and (matrix.indices == 0).any():
            notes.add("", "feature 0 was not known at fit; its values are ignored")
        return matrix[:, self.first : self.stop]


# --------------------------------------------------------------------------------- stored strings


def damaged(what: object) -> ModelFileError:
    return ModelFileError(f"the stored encoding is damaged: {what}")


def _pack(arrays: Arrays, key: str, strings: Sequence[str]) -> None:
    # Offsets rather than a separator: a level may hold any character, a line end included.
    parts = [text.encode("utf-8", "surrogatepass") for text in strings]
    arrays[key] = np.frombuffer(b"".join(parts), dtype=np.uint8).copy()
    arrays[key + ".ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)


def _unpack(arrays: Arrays, key: str) -> list[str]:
    data = np.asarray(arrays[key], dtype=np.uint8).tobytes()
    ends = np.asarray(arrays[key + ".ends"], dtype=np.int64)
    if len(ends) and (ends[-1] != len(data) or (np.diff(ends, prepend=0) < 0).any()):
        raise damaged(f"{key} does not add up")
    return [
        data[start:end].decode("utf-8", "surrogatepass")
        for start, end in itertools.pairwise([0, *ends.tolist()])
    ]


def _unpack_each(arrays: Arrays, key: str) -> list[list[str]]:
    """The lists of strings that stand one after the other under a key."""
    strings = _unpack(arrays, key)
    counts = np.asarray(arrays[key + ".counts"], dtype=np.int64)
    if (counts < 0).any() or int(counts.sum()) != len(strings):
        raise damaged(f"{key} does not add up")
    stops = itertools.pairwise([0, *np.cumsum(counts).tolist()])
    return [strings[start:stop] for start, stop in stops]
