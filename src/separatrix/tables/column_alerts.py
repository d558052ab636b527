"""Columns that look wrong at fit: that give the target away, count the rows, or repeat others.

Two columns are one-to-one exactly where their codes by first appearance are equal, so one pass over
each column finds every pair, and most are distinguished by their first rows. Columns of many
values are compared on one scale, by their products with one random vector first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.categorical import Categorical, first_appearance
from separatrix.tables.category_encoding import Category
from separatrix.tables.column_encoding import Alert, Encoding
from separatrix.tables.column_moments import mean_and_scale
from separatrix.tables.number_encoding import Number
from separatrix.tables.table import Table, missing_mask, number_text, quote

ROW_NUMBERS = "of row numbers"
"""The sort of the alert whose sentence :func:`counts_rows` gives."""

# Columns with at most this many levels, or as many as classes, are compared by their codes.
MOST_LEVELS = 200
_SAMPLE_ROWS = 2000
# The most columns of many values that are kept in memory for comparison with others.
_MOST_KEPT = 200


def alert_about_columns(
    encodings: Sequence[Encoding], table: Table, y: Any, standardise: bool, alert: Alert
) -> None:
    """Alert of columns that give the target away and of columns that repeat others."""
    target = None if y is None else first_appearance(np.asarray(y))
    if target is not None and len(target) != table.n_rows:
        raise DataError(f"there are {len(target):,} labels for {table.n_rows:,} rows")
    n_classes = 0 if target is None else int(target.max()) + 1
    most_levels = max(MOST_LEVELS, n_classes)
    rescaled = _Rescaled(table, standardise, alert)
    repeated = _Repeated(table, most_levels)
    seen: set[str] = set()
    for one in encodings:
        # Parts of a date get no alert: their writer could change nothing in them. A column that is
        # in several terms is looked at once.
        if not isinstance(one, (Number, Category)) or one.name in table.derived or one.name in seen:
            continue
        seen.add(one.name)
        column = table.columns[one.name]
        first_rows = column[:_SAMPLE_ROWS]
        # Missing cells count as one value of their own.
        n_values = n_distinct(first_rows, most_levels + 1)
        if isinstance(one, Number) and one.with_value:
            rescaled.look_at(one, n_values)
        if n_values > most_levels + 1:
            continue
        whole = table.n_rows <= _SAMPLE_ROWS and not np.ma.is_masked(column)
        if whole and not repeats(n_values, table.n_rows) and n_values != n_classes:
            continue  # this many values agree with others by accident
        # All codes begin with those of the first rows: columns that differ there differ for good.
        start = first_appearance(first_rows)
        if target is not None and _determines(start, target[:_SAMPLE_ROWS]):
            codes = first_appearance(column)
            n_levels = int(codes.max()) + 1
            if table.n_rows > n_levels and np.array_equal(codes, target):
                alert(*one_to_one_with_target(one.name), one.name)
                continue
            # With ten rows a level or more, agreement on every row is no accident.
            if n_levels * 10 <= table.n_rows and n_classes > 1 and _determines(codes, target):
                alert(*determines_target(one.name, n_levels), one.name)
        first = repeated.earlier(one.name, start)
        if first is not None:
            alert(*one_to_one(first, one.name), first, one.name)


# --- the sorts of alerts, and their sentences -----------------------------------------------------


def one_to_one_with_target(name: str) -> tuple[str, str]:
    return (
        "one-to-one with the target",
        f"column {quote(name)} equals the target or is one-to-one with it: if it is not known "
        "before the target, leave it out",
    )


def determines_target(name: str, n_levels: int) -> tuple[str, str]:
    return (
        "whose value determines the target",
        f"column {quote(name)} determines the target: each of its {n_levels:,} values occurs with "
        "only one class; if it is not known before the target, leave it out",
    )


def one_to_one(first: str, name: str) -> tuple[str, str]:
    return (
        "one-to-one with an earlier one",
        f"columns {quote(first)} and {quote(name)} are one-to-one: each determines the other",
    )


def on_another_scale(first: str, name: str) -> tuple[str, str]:
    return (
        "that repeat an earlier one on another scale",
        f"column {quote(name)} is column {quote(first)} on another scale",
    )


# --- rows in memory -------------------------------------------------------------------------------


class _Repeated:
    """Columns of levels that are one-to-one with earlier ones."""

    def __init__(self, table: Table, most_levels: int):
        self.table, self.most_levels = table, most_levels
        # The only column whose first rows have these codes, or None where there were more.
        self.alone: dict[str, str | None] = {}
        self.first: dict[str, str] = {}

    def earlier(self, name: str, start: Any) -> str | None:
        """The first column one-to-one with this one, or None; ``start``: its first codes."""
        key = sha256_of(start)
        if key not in self.alone:
            self.alone[key] = name
            return None
        if (other := self.alone[key]) is not None:
            self._first_like(other)
            self.alone[key] = None
        first = self._first_like(name)
        return None if first == name else first

    def _first_like(self, name: str) -> str:
        codes = first_appearance(self.table.columns[name])
        n_levels = int(codes.max()) + 1
        # Constant columns occur only where numbers are left as they are; they match nothing.
        if n_levels > self.most_levels or n_levels == 1 or not repeats(n_levels, len(codes)):
            return name
        return self.first.setdefault(sha256_of(codes), name)


class _Rescaled:
    """Columns of numbers that count the rows, or are earlier ones on another scale."""

    def __init__(self, table: Table, standardise: bool, alert: Alert):
        self.table, self.standardise, self.alert = table, standardise, alert
        self.drawn = np.random.default_rng(0).standard_normal(table.n_rows)
        self.space = np.empty((2, table.n_rows))
        self.kept: list[tuple[str, np.ndarray, np.ndarray, Any, Any]] = []
        self.sketches = np.full(_MOST_KEPT, np.inf)

    def look_at(self, number: Number, n_values: int) -> None:
        """Look at a column, given the number of distinct values in its first rows."""
        column = self.table.columns[number.name]
        gone = missing_mask(column)
        values = np.asarray(np.ma.getdata(column), dtype=np.float64)
        mean, scale = number.mean, number.scale
        if not self.standardise:
            mean, scale = mean_and_scale(values[~gone])
            if scale == 0.0:
                return
        if self._counts_rows(values, gone):
            message = counts_rows(number.name, number_text(values[0]), number_text(values[1]))
            self.alert(ROW_NUMBERS, message, number.name)
        # Columns of few values are compared by their codes.
        if n_values <= MOST_LEVELS and repeats(n_values, min(len(values), _SAMPLE_ROWS)):
            return
        z = _scaled(values, gone, mean, scale, self.space[0])
        # Not by BLAS, whose threads wait for one another longer than this takes.
        sketch = float(np.einsum("i,i", self.drawn, z))
        near = np.abs(np.abs(sketch) - np.abs(self.sketches)) <= 1e-6 * max(1.0, abs(sketch))
        for k in np.flatnonzero(near):
            other, other_gone, other_values, other_mean, other_scale = self.kept[k]
            other_z = _scaled(other_values, other_gone, other_mean, other_scale, self.space[1])
            sign = 1.0 if sketch * self.sketches[k] >= 0 else -1.0
            if np.allclose(z, sign * other_z, rtol=0.0, atol=1e-9):
                self.alert(*on_another_scale(other, number.name), other, number.name)
                return
        if len(self.kept) < _MOST_KEPT:
            self.sketches[len(self.kept)] = sketch
            self.kept.append((number.name, gone, values, mean, scale))

    def _counts_rows(self, values: np.ndarray, gone: np.ndarray) -> bool:
        """Whether each value is the one before it plus the number of rows between them."""
        if len(values) < 20:
            return False
        # Rows that were taken out of a table count by their places there.
        rows = self.table.rows
        if values[1] - values[0] != (1 if rows is None else rows[1] - rows[0]):
            return False  # as for nearly all columns
        if not (np.diff(values) == (1 if rows is None else np.diff(rows))).all():
            return False
        return not gone.any()


def _scaled(
    values: np.ndarray, gone: np.ndarray, mean: float, scale: float, out: np.ndarray
) -> np.ndarray:
    """Deviations from the mean on a scale; 0 where a value is missing."""
    with np.errstate(over="ignore", invalid="ignore"):  # for the farthest; they are only compared
        np.subtract(values, mean, out=out)
        np.divide(out, scale, out=out)
    out[gone] = 0.0
    return out


def counts_rows(name: str, first: str, second: str) -> Message:
    """Return the message about a column that counts the rows."""
    ignored = Setting("kinds", (name, "ignore"))
    return Message("counts_rows", column=quote(name), first=first, second=second, ignored=ignored)


def n_distinct(column: Any, most: int) -> int:
    """The number of distinct values of a column, or any number above ``most`` if it is above."""
    if isinstance(column, Categorical):
        return len(np.unique(column.codes))
    values = np.ma.getdata(column)
    few = len(set(values[: most + 50].tolist()))
    return few if few > most else len(set(values.tolist()))


def repeats(n_values: int, n_rows: int) -> bool:
    """Whether values repeat often enough for it to be evidence if two columns agree.

    Any two columns whose values hardly ever repeat agree on which rows are equal.
    """
    return 2 * n_values <= n_rows


def _determines(codes: Any, target: Any) -> bool:
    label = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    label[codes] = target
    return bool((label[codes] == target).all())
