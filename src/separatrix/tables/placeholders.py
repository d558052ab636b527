"""Numbers that stand for missing values: -999, 9999, -1e30, 99.

Whether a column holds any is decided here from its lowest and highest values, for tables in
memory, files that are read in passes, and partitions on a cluster alike.

A value is a *placeholder* where

- it is written like one: nines (99, -999, 9999.9) or a run of sevens or eights, 96 to 98 and
  their like at the end of nines, -9, an end of the range of a type, or 1e15 and beyond; or, of
  dates, it is where a calendar of some system begins or ends (1900-01-01, 9999-12-31);
- it is there twice at least, it and its like on the same side together;
- the others, ten rows and two different values at least, are all on one side of it, and it is
  farther from them than they are from one another (97, 98, 99 are three values of one scale); or it
  is negative, and no other is.

It is *read as missing* where nothing else is plausible: that far from the others, on the side where
these end soon (they reach from their mean at most three times as far there as on the other side),
or ten times as far; but not above others of which many end with a nine, as prices do.  Any other is
*named*: what ends a long tail may be a limit that stands for "this and more".

A *zero* is named, and never read as missing, where it is the least or the greatest value of a
column and no part of the others, as a weight of 0 is: they lie two and a half of their standard
deviations from it in the mean, half of one at least, and three times as far as the nearest two of
them are apart, so that it is no next step of a scale.  Where more than a third of the rows have it,
it is a value like any other, such as an amount that is seldom paid.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.messages import Message, Setting, counted
from separatrix.tables.table import Table, day_text, missing_mask, number_text, present, quote

# The most distinct values that are looked at, at each end.
_MOST = 4
_FEWEST, _FEWEST_OTHERS = 2, 10
# About the number of rows of a part in which values that end with a nine are counted.
_MANY = 1 << 14
_HUGE = 1e15
# The ends of the ranges of integer types, and the lowest value but one of those with a sign.
_LIMITS = frozenset(
    float(x)
    for bits in (16, 32)
    for x in (2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2**bits - 1, -(2 ** (bits - 1)) + 1)
)
# The other values have a tail on a side where they reach more than this many times as far from
# their mean as on the other side.
_TAIL = 3.0
# The least distance, in widths of the others, at which placeholders behind such a tail are read as
# missing; elsewhere it is 1.
_FAR = 10.0
# The share of values that may end with a nine, as prices do.
_NINES = 0.25
# The least distances of zeros from the others: from their mean and from the nearest of them, both
# in standard deviations, and from the nearest in gaps between the nearest two; then the largest
# share of rows with a zero.
_FROM_MEAN, _FROM_NEAREST, _STEPS, _MOST_ZEROS = 2.5, 0.5, 3.0, 1 / 3


# The days on which calendars of systems begin and end, as days since 1970-01-01.
_CALENDARS = (
    "0001-01-01 0001-12-30 1111-11-11 1582-10-15 1600-01-01 1601-01-01 1700-01-01 1753-01-01 "
    "1800-01-01 1899-12-30 1899-12-31 1900-01-01 1900-01-02 1901-01-01 1901-12-13 1904-01-01 "
    "1970-01-01 2038-01-19 2078-12-31 2079-06-06 2099-12-31 2100-01-01 2199-12-31 2500-12-31 "
    "2999-12-31 3000-01-01 3999-12-31 4000-01-01 5999-12-31 8888-12-31 9999-01-01 9999-09-09 "
    "9999-12-31"
)
_DATES = frozenset(np.array(_CALENDARS.split(), dtype="datetime64[D]").astype(np.float64).tolist())


def is_date_code(days: float) -> bool:
    """Whether a date is one that stands for a missing one."""
    return days in _DATES


def is_code(value: float) -> bool:
    """Whether a number is written like a placeholder of a missing value."""
    if not math.isfinite(value):
        return False
    if abs(value) >= _HUGE or value in _LIMITS or value == -9.0:
        return True
    # The nearest float32 counts, too: -999.9 is -999.9000244140625 then.
    text = f"{abs(value):.7g}"
    if text[0] not in "789":
        return False
    short = float(text)
    digits = number_text(short).replace(".", "")
    if not digits.isdigit() or len(digits) < 2 or "." in number_text(abs(value))[:2]:
        return False
    if len(set(digits)) == 1 and digits[0] in "789":
        return digits[0] == "9" or len(digits) > 2
    whole = float(value).is_integer()
    return whole and set(digits[:-1]) == {"9"} and digits[-1] in "678"


@dataclass(frozen=True)
class Placeholders:
    """Values of a column that may stand for missing ones.

    Attributes
    ----------
    values : tuple of float
    n : int
        The number of rows with one of them.
    low, high : float
        The range of all other values.
    missing : bool
        Whether they are read as missing.
    """

    values: tuple[float, ...]
    n: int
    low: float
    high: float
    missing: bool


def of_values(
    values: np.ndarray, counts: np.ndarray | None = None, *, date: bool = False
) -> list[Placeholders]:
    """The placeholders among the values of a column, none of which is missing.

    Parameters
    ----------
    values : ndarray of float64
    counts : ndarray of int, optional
        The number of rows with each of them; one by default.
    date : bool
        Whether they are days.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables.placeholders import of_values
    >>> found = of_values(np.array([-999.0] * 3 + list(range(20))))
    >>> found[0].values, found[0].n, found[0].missing
    ((-999.0,), 3, True)
    """

    def spread_without(away: set[float]) -> tuple[float, float]:
        others = ~np.isin(values, list(away))
        weights = None if counts is None else counts[others]
        left = values[others]
        mean, unit = float(np.average(left, weights=weights)), float(np.abs(left).max()) or 1.0
        squares = np.average(np.square(left / unit - mean / unit), weights=weights)
        return mean, unit * math.sqrt(float(squares))

    return of_parts([ColumnEnds.of(values, counts, alone=True, date=date)], spread_without)


def of_column(table: Table, name: str) -> list[Placeholders]:
    """The placeholders of a column of a table.

    There are none in a column of True and False, or of a kind that was given.
    """
    column = table.columns[name]
    if column.dtype != np.float64 or name in table.overridden:
        return []
    found = of_values(present(column), date=name in table.dates)
    return of_part(found) if name in table.derived else found


def of_part(found: Sequence[Placeholders]) -> list[Placeholders]:
    """The placeholders of a part of a column, without zeros: the zeros of hours are midnights."""
    return [one for one in found if one.missing or one.values != (0.0,)]


def missing_cells(table: Table, name: str) -> tuple[np.ndarray, list[Placeholders]]:
    """The mask of cells that are missing or read as missing, and all placeholders of the column.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Table
    >>> from separatrix.tables.placeholders import missing_cells
    >>> table = Table.from_columns({"x": np.array([np.nan, -999.0, -999.0, *range(20)])})
    >>> gone, found = missing_cells(table, "x")
    >>> np.flatnonzero(gone).tolist(), found[0].values
    ([0, 1, 2], (-999.0,))
    """
    column, found = table.columns[name], of_column(table, name)
    gone: np.ndarray = missing_mask(column)
    if away := read_as_missing(found):
        gone = gone | np.isin(np.ma.getdata(column), away)
    return gone, found


def ends_with_nine(values: np.ndarray) -> np.ndarray:
    """Whether the whole part of each value ends with a nine."""
    whole = np.floor(np.abs(values))
    with np.errstate(invalid="ignore"):  # for an infinite one, which is refused
        # NumPy's remainder takes ten times as long.
        ending: np.ndarray = whole - 10.0 * np.floor(whole / 10.0) == 9.0
    return ending


@dataclass(frozen=True)
class ColumnEnds:
    """The ends of a column in some of its rows.

    Attributes
    ----------
    lows, highs : tuple of pairs
        The outermost values that are written like placeholders, each with its number of rows.
    low, high : float
        The lowest and the highest of the other values; infinities where there are none.
    n : int
        The number of rows with a value.
    nines : int
        The number of rows in which the whole part of one of the others ends with a nine.
    zeros : int
        The number of rows with a zero, where none of the others is negative or none is positive.
    nearest : tuple of float
        The distances from 0 of the nearest two values that are not 0, in that case.
    """

    lows: tuple[tuple[float, int], ...]
    highs: tuple[tuple[float, int], ...]
    low: float
    high: float
    n: int
    nines: int
    zeros: int = 0
    nearest: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        counts: np.ndarray | None = None,
        *,
        alone: bool = False,
        date: bool = False,
    ) -> ColumnEnds:
        """The ends of some values with their counts of rows, by default one each.

        ``alone``: there are no other rows, so that nothing is counted that cannot matter.
        ``date``: the values are days.
        """
        is_one = is_date_code if date else is_code
        left, weights = values, counts
        sides: list[tuple[tuple[float, int], ...]] = []
        ends: list[float] = []
        for end, nothing in ((np.min, math.inf), (np.max, -math.inf)):
            codes: list[tuple[float, int]] = []
            ends.append(float(end(left)) if len(left) else nothing)
            while len(codes) < _MOST and is_one(ends[-1]):
                other = left != ends[-1]
                at = len(left) - int(other.sum()) if weights is None else weights[~other].sum()
                codes.append((ends[-1], int(at)))
                left = left[other]
                weights = None if weights is None else weights[other]
                ends[-1] = float(end(left)) if len(left) else nothing
            sides.append(tuple(codes))
        low, high = ends if len(left) else (math.inf, -math.inf)
        nines = 0
        if any(sides) or not alone:
            # With many rows, a sample of them estimates the share well enough.
            step = 1 if alone else max(1, len(left) // _MANY)
            nine = ends_with_nine(left[::step])
            nines = step * int(nine.sum() if weights is None else weights[::step][nine].sum())
        lows, highs = sides
        n = len(values) if counts is None else int(counts.sum())
        zeros: tuple[int, tuple[float, ...]] = 0, ()
        on_one_side = low >= 0.0 if len(left) and high > 0.0 else high <= 0.0
        if len(left) and on_one_side and not date and (0.0 in (low, high) or not alone):
            zeros = _about_zero(left if low >= 0.0 else -left, weights)
        return cls(lows, highs, low, high, n, nines, *zeros)

    @property
    def codes(self) -> tuple[tuple[float, int], ...]:
        """The codes of both ends."""
        return (*self.lows, *self.highs)


def _about_zero(sizes: np.ndarray, counts: np.ndarray | None) -> tuple[int, tuple[float, ...]]:
    """The number of zeros among numbers that are not negative, and the least two others."""
    zero = sizes == 0.0
    zeros = np.count_nonzero(zero) if counts is None else counts[zero].sum()
    left = np.where(zero, math.inf, sizes) if zeros else sizes
    first = float(left.min())
    second = float(np.min(left, where=left > first, initial=math.inf))
    return int(zeros), tuple(size for size in (first, second) if size < math.inf)


def of_parts(
    parts: Sequence[ColumnEnds], spread_without: Callable[[set[float]], tuple[float, float]]
) -> list[Placeholders]:
    """The placeholders of a column that lies in parts.

    Parameters
    ----------
    parts : sequence of ColumnEnds
    spread_without : callable
        Returns the mean and the standard deviation of all values without some.
    """
    counts: Counter[float] = Counter()
    for part in parts:
        counts.update(dict(part.codes))
    found = _codes(parts, counts, spread_without) if counts else []
    if any(part.zeros for part in parts):
        found += _zeros(parts, counts, {v for one in found for v in one.values}, spread_without)
    return found


def _zeros(
    parts: Sequence[ColumnEnds],
    counts: Mapping[float, int],
    away: set[float],
    spread_without: Callable[[set[float]], tuple[float, float]],
) -> list[Placeholders]:
    """The zeros of a column that are far from all other values, but for those that are ``away``."""
    ends = [v for part in parts for v in (part.low, part.high) if math.isfinite(v)]
    known = sorted({*ends, *(v for v in counts if v not in away)})
    if 0.0 not in (known[0], known[-1]):
        return []
    zeros = sum(part.zeros for part in parts)
    n = sum(part.n for part in parts) - sum(counts[v] for v in away)
    if zeros < _FEWEST or n - zeros < _FEWEST_OTHERS or zeros > _MOST_ZEROS * n:
        return []
    nearest = {size for part in parts for size in part.nearest}
    near, *others = sorted(nearest | {abs(v) for v in counts if v not in away})
    if not others or near <= _STEPS * (others[0] - near):
        return []
    # The mean and the deviation of the others: zeros add nothing to any sum.
    unit = max(-known[0], known[-1])
    mean, scale = (abs(value) / unit for value in spread_without(away))
    ratio = n / (n - zeros)
    square, mean = ratio * (mean * mean + scale * scale), ratio * mean
    scale = math.sqrt(max(square - mean * mean, 0.0))
    if mean < _FROM_MEAN * scale or near / unit < _FROM_NEAREST * scale:
        return []
    low, high = (near, known[-1]) if known[0] == 0.0 else (known[0], -near)
    return [Placeholders((0.0,), zeros, low, high, missing=False)]


def _codes(
    parts: Sequence[ColumnEnds],
    counts: Mapping[float, int],
    spread_without: Callable[[set[float]], tuple[float, float]],
) -> list[Placeholders]:
    """The values that are written like placeholders and are far from all others."""
    known = sorted({*counts, *(v for part in parts for v in (part.low, part.high))})
    known = [v for v in known if math.isfinite(v)]
    n = sum(part.n for part in parts)
    lows, highs = _candidates(known, counts, n)
    away = {*lows, *highs}
    if not away:
        return []
    low, high, mean = known[len(lows)], known[-1 - len(highs)], spread_without(away)[0]
    nines = sum(part.nines for part in parts)
    nines += sum(k for v, k in counts.items() if v not in away and ends_with_nine(np.array(v)))
    priced = nines / (n - sum(counts[v] for v in away)) > _NINES
    found = []
    for values, ahead, behind, above in (
        (lows, mean - low, high - mean, False),
        (highs, high - mean, mean - low, True),
    ):
        if values:
            distance = min(v - high if above else low - v for v in values)
            # A long tail on this side may end with a limit.
            least = (high - low) * (1.0 if ahead <= _TAIL * behind else _FAR)
            missing = distance >= least and not (above and priced)
            found.append(Placeholders(values, sum(counts[v] for v in values), low, high, missing))
    return found


def _candidates(
    known: Sequence[float], counts: Mapping[float, int], n: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The values below and above all others that are far from these, and repeat.

    Parameters
    ----------
    known : sequence of float
        The outermost values of a column, in ascending order.
    counts : mapping of float to int
        The number of rows with each value that is written like a placeholder.
    n : int
        The number of rows with a value.
    """
    first, last = 0, len(known) - 1
    while first < last:
        down = first < _MOST and known[first] in counts
        up = len(known) - 1 - last < _MOST and known[last] in counts
        if not (down or up):
            break
        first, last = first + down, last - up
        if first > last:
            return (), ()  # nothing but codes
    best: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    for i in range(first + 1):
        for j in range(len(known) - last):
            low, high = known[i], known[-1 - j]
            width = high - low
            lows, highs = tuple(known[:i]), tuple(known[::-1][:j])
            n_lows, n_highs = (sum(counts[v] for v in side) for side in (lows, highs))
            apart = all(v - high > width for v in highs) and all(
                low - v > width or v < 0.0 <= low for v in lows
            )
            often = (not i or n_lows >= _FEWEST) and (not j or n_highs >= _FEWEST)
            enough = n - n_lows - n_highs >= _FEWEST_OTHERS
            if width > 0.0 and apart and often and enough and i + j > sum(map(len, best)):
                best = (lows, highs)
    return best


def sentence(
    name: str, found: Placeholders, *, target: bool = False, date: bool = False
) -> Message:
    """Return the messages about a column's placeholders."""
    written = day_text if date else number_text
    values, zero = " or ".join(map(written, found.values)), found.values == (0.0,)
    words = {
        "column": quote(name),
        "cells": counted(found.n, "cell"),
        "values": values,
        "are": "is" if found.n == 1 else "are",
        "low": written(found.low) if date else _short(found.low),
        "high": written(found.high) if date else _short(found.high),
        "number": Setting("kinds", (name, "date" if date else "number")),
        # A zero is marked in its own column alone.
        "missing": Setting("missing", f"{name}=0" if zero else written(found.values[0])),
    }
    if target:
        return Message("placeholder_in_target", **words)
    if found.missing:
        return Message("placeholder_read", **words)
    if zero:
        return Message("zero_named", **words)
    return Message("placeholder_named", **words)


def _short(value: float) -> str:
    return number_text(float(f"{value:.6g}"))


def read_as_missing(found: Sequence[Placeholders]) -> tuple[float, ...]:
    """The values that are read as missing."""
    return tuple(sorted(v for one in found if one.missing for v in one.values))
