"""One column: what it was read as, what it holds, and how its values are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from separatrix.messages import counted, join, percent
from separatrix.tables.categorical import first_appearance
from separatrix.tables.placeholders import Placeholders, missing_cells
from separatrix.tables.profiles.records import Bin, ColumnProfile
from separatrix.tables.profiles.values import value_text
from separatrix.tables.table import Table, missing_mask, number_text, quote

# Levels that have a bar of their own, and bars of numbers.
LEVELS, BINS = 8, 20
# The most distinct numbers that have a bar each.
_FEW = 12
# Targets of more classes are not drawn in the bars of other columns.
MOST_CLASSES = 6
# Numbers beyond the outermost hundredths of the rows share a bar where they reach this many times
# as far as the others.
_TAIL, _FAR = 0.01, 4.0
# Shares of the rows from which a column gets an alert.
_MOSTLY, _MANY_MISSING = 0.98, 0.5
_SKEWED = 3.0
# Whole numbers that are all different may be names if there are at least this many.
_NAMING = 50


@dataclass(frozen=True, eq=False)
class Column:
    """A column as numbers or as codes of levels.

    Attributes
    ----------
    name : str
    kind : str
        The kind, as in :class:`ColumnProfile`.
    values : ndarray of float64
        The numbers, NaN where one is missing; empty for other columns.
    codes : ndarray of int64
        The number of each row's level, -1 where it is missing; empty for numbers.
    levels : list of str
        The levels, the most frequent first.
    placeholders : list of Placeholders
    """

    name: str
    kind: str
    values: np.ndarray
    codes: np.ndarray
    levels: list[str]
    placeholders: list[Placeholders]

    @property
    def numeric(self) -> bool:
        return self.kind in ("number", "truth", "date")

    @cached_property
    def gone(self) -> np.ndarray:
        """A mask of the missing values."""
        out: np.ndarray = np.isnan(self.values) if self.numeric else self.codes < 0
        return out

    @cached_property
    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct numbers in ascending order, and the number of rows with each."""
        values, counts = np.unique(self.values[~self.gone], return_counts=True)
        return values, counts

    @property
    def number_codes(self) -> np.ndarray:
        """The place of each number that is there among the distinct ones."""
        return np.searchsorted(self.counted[0], self.values[~self.gone])

    @cached_property
    def level_counts(self) -> np.ndarray:
        """The number of rows with each level."""
        return np.bincount(self.codes[~self.gone], minlength=len(self.levels))

    @property
    def n_distinct(self) -> int:
        return len(self.counted[0]) if self.numeric else len(self.levels)

    def take(self, rows: np.ndarray) -> Column:
        """The column in some rows."""
        values, codes = (one[rows] if len(one) else one for one in (self.values, self.codes))
        return Column(self.name, self.kind, values, codes, self.levels, [])


def prepared(table: Table, name: str) -> Column:
    """A column of a table, without the values that are read as missing."""
    column, gone = table.columns[name], missing_mask(table.columns[name])
    if gone.all():
        return Column(name, "empty", np.empty(0), np.full(len(gone), -1), [], [])
    if column.dtype != object:
        kind = "truth" if column.dtype == bool else "date" if name in table.dates else "number"
        values = np.array(np.ma.getdata(column), dtype=np.float64)
        gone, found = missing_cells(table, name)
        values[gone | ~np.isfinite(values)] = np.nan
        return Column(name, kind, values, np.empty(0, np.int64), [], found)
    kind = "text" if table.kinds[name] == "text" else "category"
    codes = np.where(gone, -1, first_appearance(column)).astype(np.int64)
    counts = np.bincount(codes[~gone], minlength=int(codes.max(initial=-1)) + 1)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    place = np.full(len(counts) + 1, -1)
    place[order] = np.arange(len(order))
    # The first row of every level has its text.
    first = np.zeros(len(counts) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    texts = column[first[order]]
    levels = [str(text) for text in np.ma.getdata(texts).tolist()]
    return Column(name, kind, np.empty(0), place[codes], levels, [])


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict, as classes or as a quantity.

    Attributes
    ----------
    name : str
    codes : ndarray of int64
        The class of each row, -1 where it is missing; empty for a quantity.
    classes : list of str
        The classes, the most frequent first.
    values : ndarray of float64
        The values of a quantity; empty for classes.
    """

    name: str
    codes: np.ndarray
    classes: list[str]
    values: np.ndarray

    @classmethod
    def of(cls, column: Column, *, quantity: bool) -> Target:
        """The target of a column."""
        if quantity:
            return cls(column.name, np.empty(0, np.int64), [], column.values)
        if not column.numeric:
            return cls(column.name, column.codes, column.levels, np.empty(0))
        values, counts = column.counted
        order = np.argsort(-counts, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        codes = np.full(len(column.values), -1)
        codes[~column.gone] = place[column.number_codes]
        spelled = ["false", "true"] if column.kind == "truth" else None
        names = [spelled[int(v)] if spelled else number_text(v) for v in values[order]]
        return cls(column.name, codes, names, np.empty(0))

    def by_group(self, group: np.ndarray, n: int) -> list[dict[str, Any]]:
        """Rows by class, or the mean, of each group of rows."""
        if len(self.values):
            there = ~np.isnan(self.values)
            rows = np.bincount(group[there], minlength=n)
            with np.errstate(over="ignore"):
                total = np.bincount(group[there], weights=self.values[there], minlength=n)
            return [
                {"mean": float(s / k)} if k and np.isfinite(s) else {}
                for s, k in zip(total, rows, strict=True)
            ]
        k, there = len(self.classes), self.codes >= 0
        counts = np.bincount(group[there] * k + self.codes[there], minlength=n * k).reshape(n, k)
        return [{"by_class": tuple(row)} for row in counts.tolist()]


def column_profile(
    table: Table,
    column: Column,
    target: Target | None,
    *,
    alerts: Sequence[str] = (),
    remarks: Sequence[str] = (),
) -> ColumnProfile:
    """The profile of a column.

    Parameters
    ----------
    table : Table
    column : Column
    target : Target or None
    alerts, remarks : sequence of str
        Alerts and remarks that are known already, in the form of the profile.
    """
    n, lost = len(column.gone), int(column.gone.sum())
    found: dict[str, Any] = {}
    own = [*alerts]
    if column.numeric:
        found["numbers"] = _numbers(column)
    elif column.kind != "empty":
        counts = column.level_counts
        found["levels"] = tuple(
            (level, int(count))
            for level, count in zip(column.levels[:LEVELS], counts, strict=False)
        )
    if n > lost:
        if column.kind != "text":
            found["bins"] = _bins(column, target)
        own += _alerts(column, n, lost, found.get("numbers", {}))
    elif not alerts:
        own.append("holds no values")
    return ColumnProfile(
        column.name,
        column.kind,
        _read_as(table, column),
        lost,
        column.n_distinct,
        placeholders=tuple(
            {"values": one.values, "n": one.n, "missing": one.missing}
            for one in column.placeholders
        ),
        alerts=tuple(dict.fromkeys(own)),
        remarks=tuple(remarks),
        **found,
    )


def _numbers(column: Column) -> dict[str, Any]:
    """Moments and quartiles of the numbers that are there."""
    values, counts = column.counted
    if not len(values):
        return {}
    n, weights = int(counts.sum()), counts.astype(np.float64)
    largest = float(max(abs(values[0]), abs(values[-1])))
    # Squares stay within range.
    scale = 1.0 if 1e-100 < largest < 1e100 else largest or 1.0
    unit = values / scale
    mean = float(unit @ weights) / n
    deviation = float(np.sqrt(((unit - mean) ** 2) @ weights / n))
    skew = float((((unit - mean) / deviation) ** 3) @ weights / n) if deviation > 0.0 else 0.0
    return {
        "least": float(values[0]),
        "most": float(values[-1]),
        "mean": mean * scale,
        "deviation": deviation * scale,
        "quartiles": _quantiles(values, counts, (0.25, 0.5, 0.75)),
        "zeros": int(counts[values == 0.0].sum()),
        "skewness": skew,
    }


def _quantiles(values: np.ndarray, counts: np.ndarray, shares: tuple[float, ...]) -> list[float]:
    """The quantiles of numbers: the least of them that shares of the rows do not exceed."""
    last = np.cumsum(counts)
    found: list[float] = values[np.searchsorted(last, np.array(shares) * last[-1])].tolist()
    return found


def _alerts(column: Column, n: int, lost: int, numbers: dict[str, Any]) -> list[str]:
    found = []
    own_text = partial(value_text, "date") if column.kind == "date" else number_text
    if lost >= _MANY_MISSING * n:
        found.append(f"{percent(lost / n)} missing")
    for one in column.placeholders:
        values = " or ".join(map(own_text, one.values))
        verb = "read as missing" if one.missing else "perhaps missing"
        found.append(f"{values} {verb} ({counted(one.n, 'cell')})")
    counts = column.counted[1] if column.numeric else column.level_counts
    top = int(counts.max(initial=0))
    if column.n_distinct == 1:
        found.append("constant")
    elif top >= _MOSTLY * (n - lost):
        found.append(f"one value in {percent(top / (n - lost))} of the rows")
    if column.kind == "category" and n - lost >= 20 and 2 * column.n_distinct > n - lost:
        found.append("mostly different levels")
    different = column.kind == "number" and column.n_distinct == n - lost >= _NAMING
    if different and not (column.counted[0] % 1.0).any():
        found.append("another whole number in every row")
    if column.kind == "number" and abs(numbers.get("skewness", 0.0)) >= _SKEWED:
        found.append("long tail " + ("above" if numbers["skewness"] > 0 else "below"))
    return found


# ------------------------------------------------------------------------------------ distribution


def _bins(column: Column, target: Target | None) -> tuple[Bin, ...]:
    group, entries = _number_groups(column) if column.numeric else _level_groups(column)
    if column.gone.any():
        group = np.where(column.gone, len(entries), group)
        entries.append({"missing": True})
    counts = np.bincount(group, minlength=len(entries)).tolist()
    by: list[dict[str, Any]] = [{} for _ in entries]
    drawn = target is not None and len(target.classes) <= MOST_CLASSES
    # The mean of a quantity among rows of the same quantity says nothing.
    if target is not None and drawn and (target.classes or target.name != column.name):
        by = target.by_group(group, len(entries))
    return tuple(
        Bin(n, **entry, **more) for n, entry, more in zip(counts, entries, by, strict=True)
    )


def _number_groups(column: Column) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Groups of rows: one for each of few different numbers, and of equal width for many."""
    values, counts = column.counted
    group = np.zeros(len(column.values), dtype=np.int64)
    there = ~column.gone
    if len(values) <= _FEW:
        group[there] = column.number_codes
        return group, [{"least": v, "most": v} for v in values.tolist()]
    edges = _edges(values, counts)
    group[there] = np.searchsorted(edges, column.values[there], side="right")
    place = np.searchsorted(edges, values, side="right")
    entries: list[dict[str, Any]] = []
    for k in range(len(edges) + 1):
        own = values[place == k]
        ends = (own[0], own[-1]) if len(own) else (edges[max(k - 1, 0)],) * 2
        entries.append({"least": float(ends[0]), "most": float(ends[1])})
    return group, entries


def _edges(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The edges between bars, without the outermost ends."""
    low, high = _quantiles(values, counts, (_TAIL, 1.0 - _TAIL))
    first, final = float(values[0]), float(values[-1])
    half = high / 2 - low / 2
    if half > 0.0 and (final / 2 - first / 2) / _FAR > half:
        # Values that lie far out share a bar.
        first, final = max(first, low - half), min(final, high + half)
    edges: np.ndarray = np.linspace(first / 2, final / 2, BINS + 1)[1:-1] * 2
    return edges


def _level_groups(column: Column) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The most frequent levels, and all others together."""
    shown = column.levels if len(column.levels) <= LEVELS + 1 else column.levels[:LEVELS]
    entries: list[dict[str, Any]] = [{"level": level} for level in shown]
    group = np.minimum(column.codes, len(shown))
    if len(shown) < len(column.levels):
        entries.append({"others": len(column.levels) - len(shown)})
    return group, entries


# ------------------------------------------------------------------------- what it was read as


def _read_as(table: Table, column: Column) -> str:
    name = column.name
    if column.kind == "empty":
        return "nothing: no cell has a value"
    if name in table.overridden:
        return f"{_NOUNS[column.kind]}, as requested"
    spelling = table.spellings.get(name)
    if spelling is not None:
        return spelling.contents or f"{_NOUNS[column.kind]}, {_spelled(spelling, column)}"
    return _AS_THEY_ARE[column.kind]


# The readings of columns whose cells had no spelling to be learned.
_AS_THEY_ARE = {
    "number": "numbers: every cell is one",
    "truth": "truth values, 1 for true and 0 for false",
    "date": "dates, as days since 1970-01-01",
    "category": "levels: words that are not numbers",
    "text": "text: several words a cell, most cells different",
}
_NOUNS = {
    "number": "numbers",
    "truth": "truth values",
    "date": "dates",
    "category": "levels",
    "text": "text",
}


def _spelled(spelling: Any, column: Column) -> str:
    """The spelling of the values of a column, in words."""
    if spelling.kind == "date":
        return f"written {spelling.order}"
    if spelling.kind == "truth":
        return f"{' and '.join(map(quote, spelling.words))}, however they are written"
    if spelling.kind == "ordered":
        return f"in the order of the levels from {quote(spelling.words[0])} to " + quote(
            spelling.words[-1]
        )
    if spelling.kind == "levels":
        return "of which some are spelled in several ways"
    parts = [f"with {quote(spelling.unit)}"] if spelling.unit else []
    broken = bool((column.values[~column.gone] % 1.0).any())
    parts += ["with a decimal comma"] if spelling.decimal == "," and broken else []
    parts += ["with magnitudes such as k and M"] if spelling.magnitudes else []
    return f"written {join(parts)}" if parts else "written with marks between digits"
