"""A column of numbers or dates: a feature for the value, and one for whether it is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.tables.cells import ONE, ZERO, Column, divided, less
from separatrix.tables.column_encoding import (
    Alert,
    Arrays,
    ColumnOf,
    Encoding,
    Entries,
    Settings,
    Unusable,
    damaged,
)
from separatrix.tables.features import Constant
from separatrix.tables.features import Number as Formula
from separatrix.tables.placeholders import read_as_missing, sentence
from separatrix.tables.table import (
    Remarks,
    Table,
    missing_mask,
    not_finite,
    number_text,
    numbers_from_text,
    quote,
    spelled_number,
)

YEAR = 365.2425
"""The mean number of days in a year, over 400 years."""

PLACEHOLDERS = ("with values far from all others", "with placeholders read as missing")
"""The sorts of alerts about placeholders: those that are named, and those read as missing."""


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
    # For dates, the day from which years are counted; None where days are used as they are.
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
        """The unit of each feature in units of the column, or in years for a date."""
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
        """The features of a value, and the value of each where there is none."""
        if not self.with_value:
            return []
        if settings.standardise:
            return [(divided(less(value, self.mean), self.scale), 0.0)]
        if self.origin is None:
            return [(value, self.mean)]
        years = divided(less(value, self.origin), self.scale)
        return [(years, (self.mean - self.origin) / self.scale)]

    def _numbers(self, table: Table, notes: Remarks) -> tuple[Any, Any]:
        """The column's values as numbers, whatever it was read as, and a mask of missing ones.

        Missing values are 0, and where there are none there is no mask.
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
            # Features grow with values, so that those between finite ones are finite.
            ends = np.array([values.min(), values.max()]) if len(values) else values
            if np.isfinite((ends - self.mean) / self.scale).all():
                return _Standardised(values, gone, self.mean, self.scale)
            _require_finite(values, self.name, table)
            # The difference alone may be out of range.
            z = values / self.scale - self.mean / self.scale
        if gone is not None:
            z[gone] = 0.0
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


@dataclass(frozen=True, eq=False)
class _Standardised:
    """Values that are standardised where they are used, a few rows at a time."""

    values: np.ndarray
    gone: np.ndarray | None
    mean: float
    scale: float

    def __getitem__(self, rows: slice) -> np.ndarray:
        z = self.values[rows] - self.mean
        z /= self.scale
        if self.gone is not None:
            z[self.gone[rows]] = 0.0
        return z

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:].astype(dtype, copy=False)


def _require_finite(values: Any, name: str, table: Table) -> None:
    bad = np.isinf(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise not_finite(table, name, row, values[row], "leave it empty to count as missing")


def _no_date(text: str) -> float | None:
    return None
