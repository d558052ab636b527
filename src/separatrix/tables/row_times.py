"""The column of dates on which the rows of a table came about, such as visits or sales."""

from __future__ import annotations

import re

import numpy as np

from separatrix.tables.placeholders import missing_cells
from separatrix.tables.table import Table

_BIRTH = re.compile(r"birth|born|dob$|geburt|geb$|naissance|né|nacimiento|nascita")
_BIRTH_SIGNS = ("生年", "誕生")
# Fewer rows, or fewer distinct dates among a sample of them, are no evidence.
_LEAST_ROWS, _LEAST_DATES, _LOOKED_AT = 40, 10, 2_000
# Days: dates of rows lie in a shorter time than those of births.
_LONGEST = 25 * 366


def is_named(name: str, words: re.Pattern[str], signs: tuple[str, ...]) -> bool:
    """Whether a part of a column's name begins with one of these words."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    return any(words.match(part.lower()) for part in parts) or any(sign in name for sign in signs)


def names_birth(name: str) -> bool:
    """Whether a column is named like a date of birth."""
    return is_named(name, _BIRTH, _BIRTH_SIGNS)


def likely_time(table: Table, *, complete: bool = True) -> str | None:
    """The column of dates on which rows came about, or None.

    It is one by which the rows are in order, or else the first that is no date of birth.

    Parameters
    ----------
    table : Table
    complete : bool
        Whether each row has to have a date, so that rows can be split by it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Table
    >>> from separatrix.tables.row_times import likely_time
    >>> days = np.datetime64("2024-01-01") + np.arange(60)
    >>> likely_time(Table.from_columns({"sold": days, "price": np.arange(60.0)}))
    'sold'
    """
    found = None
    for name in table.names:
        if name not in table.dates or name in table.derived:
            continue
        gone, _ = missing_cells(table, name)
        if complete and gone.any():
            continue
        days = np.asarray(np.ma.getdata(table.columns[name]), dtype=np.float64)[~gone]
        some = days[:: max(1, len(days) // _LOOKED_AT)]
        if len(days) < _LEAST_ROWS or len(np.unique(some)) < _LEAST_DATES:
            continue
        steps = np.diff(days)
        if (steps >= 0.0).all() or (steps <= 0.0).all():
            return name
        short = days.max() - days.min() <= _LONGEST
        if found is None and short and not names_birth(name):
            found = name
    return found
