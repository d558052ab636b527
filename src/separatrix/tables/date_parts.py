"""The parts of a date beside its number of days: its year, month, weekday and hour.

A straight line through the days knows no season and no weekend, so each column of dates has columns
of its own for them: ``signup (year)`` and ``signup (hour)``, numbers, and ``signup (month)`` and
``signup (weekday)``, categories.  Those that never vary are left out of an encoding without a word.
So is the year, which the days and the months determine but for the day of the month: it has a
feature only where its kind is requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.tables.table import Table, masked, missing_mask, number_column

PARTS = ("year", "month", "weekday", "hour")
"""The parts of a date that have a column."""

_NAMED = re.compile(rf"(?P<date>.*) \((?P<part>{'|'.join(PARTS)})\)", re.DOTALL)
_MONTHS = np.array(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    dtype=object,
)
_WEEKDAYS = np.array(
    ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"], dtype=object
)  # day 0 was a Thursday
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The years from 1 to 9999, as days since 1970-01-01: dates beyond them have no parts."""


def part_of(name: str) -> tuple[str, str] | None:
    """The column of dates and the part that the name of such a column states, or None."""
    found = _NAMED.fullmatch(name)
    return None if found is None else (found["date"], found["part"])


def level_numbers(part: str) -> dict[str, int]:
    """The numbers of months, and of weekdays from Monday on, by their names; empty for others.

    Examples
    --------
    >>> from separatrix.tables.date_parts import level_numbers
    >>> level_numbers("weekday")["Mon"], level_numbers("month")["Feb"], level_numbers("year")
    (1, 2, {})
    """
    named: Any = {"month": _MONTHS, "weekday": np.roll(_WEEKDAYS, -4)}.get(part, [])
    return {str(level): number for number, level in enumerate(named, start=1)}


def repeats_its_date(name: str) -> bool:
    """Whether a part of a date adds nothing to the date and its other parts.

    Examples
    --------
    >>> from separatrix.tables.date_parts import repeats_its_date
    >>> repeats_its_date("signup (year)"), repeats_its_date("signup (month)")
    (True, False)
    """
    found = part_of(name)
    return found is not None and found[1] == "year"


def with_date_parts(table: Table, wanted: Iterable[str] | None = None) -> Table:
    """The table with the parts of its dates as columns behind its own.

    Parameters
    ----------
    table : Table
    wanted : iterable of str, optional
        The names of the parts; by default those of all dates. Parts that the table has stay.

    Returns
    -------
    Table
    """
    if wanted is None:
        wanted = [
            f"{name} ({part})" for name in table.names if name in table.dates for part in PARTS
        ]
    columns, kinds, derived = dict(table.columns), dict(table.kinds), dict(table.derived)
    for name in wanted:
        named = part_of(name)
        if name in columns or named is None or named[0] not in columns:
            continue
        source, part = named
        column = columns[source]
        gone = missing_mask(column)
        # Where all are missing a reader does not know of dates.
        if source not in table.dates and not gone.all():
            continue
        days = np.zeros(len(gone)) if gone.all() else np.ma.getdata(column).astype(np.float64)
        columns[name] = _part(days, gone, part)
        kinds[name] = "category" if part in ("month", "weekday") else "number"
        derived[name] = source
    return replace(table, names=tuple(columns), columns=columns, kinds=kinds, derived=derived)


def without_parts_of(table: Table, placeholders: Mapping[str, tuple[float, ...]]) -> Table:
    """The table in which dates that are read as missing have no parts.

    Parameters
    ----------
    table : Table
    placeholders : mapping of str to tuple of float
        The values that are read as missing, by column; columns that are not dates are skipped.

    Returns
    -------
    Table
    """
    columns = dict(table.columns)
    for name, source in table.derived.items():
        values = placeholders.get(source) if source in table.dates else None
        if values:
            away = np.isin(np.ma.getdata(columns[source]), values)
            if away.any():
                column = columns[name]
                columns[name] = masked(np.ma.getdata(column), away | missing_mask(column))
    return replace(table, columns=columns)


def _part(days: Any, gone: Any, part: str) -> Any:
    gone = gone | ~((days >= FIRST_DAY) & (days <= LAST_DAY))
    days = np.where(gone, 0.0, days)
    whole = np.floor(days).astype(np.int64)
    if part == "weekday":
        return masked(_WEEKDAYS[whole % 7], gone)
    if part == "hour":
        return number_column(np.floor((days - whole) * 24.0 + 1e-9), gone)
    dates = whole.astype("datetime64[D]")
    if part == "year":
        return number_column(dates.astype("datetime64[Y]").astype(np.int64) + 1970.0, gone)
    return masked(_MONTHS[dates.astype("datetime64[M]").astype(np.int64) % 12], gone)
