"""Single dates as people write them, with or without a time of day, in one order or another.

``05/09/2025``, ``2025-09-05``, ``05.09.25``, ``5-Sep-2025``, ``September 5, 2025``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

DATE_ORDERS = ("year-first", "day-first", "month-first")
"""The orders of day, month and year."""

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FULL = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join([*_FULL, "sept", *_MONTHS])
_DAY_NAMES = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_TIME = (
    r"(?:(?:[T\s]|,\s*)\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
DATES = tuple(
    re.compile(_DAY_NAMES + pattern + _TIME, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"(?P<a>\d{1,4})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{2,4})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s/.-]*(?P<month>{_MONTH})\.?[\s/.,-]*(?P<year>\d{{4}}|\d{{2}})",
        rf"(?P<month>{_MONTH})\.?\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})",
        rf"(?P<year>\d{{4}})[\s/.-](?P<month>{_MONTH})\.?[\s/.-](?P<day>\d{{1,2}})",
        r"(?P<year>\d{4})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]\s*(?P<day>\d{1,2})\s*[日일]",
    )
)
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def days_since_epoch(text: str, order: str) -> float | None:
    """Days since 1970-01-01 of a date that is written in an order, or None."""
    if order not in DATE_ORDERS:
        try:
            moment = datetime.datetime.strptime(text, order)
        except ValueError:
            return None
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    for pattern in DATES:
        found = pattern.fullmatch(text)
        if found is not None:
            break
    else:
        return None
    part = found.groupdict()
    if "a" in part:
        a, b, c = part["a"], part["b"], part["c"]
        year, month, day = {
            "year-first": (a, b, c),
            "day-first": (c, b, a),
            "month-first": (c, a, b),
        }[order]
        if len(year) == 3 or len(day) > 2 or len(month) > 2:
            return None
        if order == "year-first" and len(year) != 4:
            return None
        month_number = int(month)
    else:
        year, day = part["year"], part["day"]
        month = part["month"]
        month_number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    number = int(year)
    if len(year) <= 2:
        # As POSIX defines it.
        number += 1900 if number >= 69 else 2000
    try:
        days = datetime.date(number, month_number, int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    return None if (time := _time_of_day(part)) is None else days + time


def _time_of_day(part: Mapping[str, str | None]) -> float | None:
    """A share of a day, or None where there is no such time."""
    if part["hour"] is None:
        return 0.0
    hour, minute = int(part["hour"]), int(part["minute"] or 0)
    second = float((part["second"] or "0").replace(",", "."))
    if half := part["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    if hour > 23 or minute > 59 or second >= 61.0:
        return None
    seconds = 3600.0 * hour + 60.0 * minute + second
    zone = part["zone"] or ""
    if zone[:1] in ("+", "-"):
        ahead = 3600.0 * int(zone[1:3]) + 60.0 * int(zone[-2:])
        seconds -= ahead if zone[0] == "+" else -ahead
    return seconds / 86_400.0
