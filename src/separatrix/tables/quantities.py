"""Cells that hold a number in more than digits: durations, units, shares, angles and ranges.

A *measure* is a number with a unit, or several in a row: ``3 kg``, ``500 g``, ``3d 4h``, ``5'6"``.
Units of one dimension are converted into the unit of the column, which is the second for durations;
a clock (``1:02:33``, ``2 days, 3:04:05``) and a duration of ISO 8601 (``PT5M``) are measures of
time.  A *share* is ``7/10``, ``7 of 10`` or ``7 von 10``; an *angle* is ``52°31'N``.  A *range* is
``20k-50k``, ``<18`` or ``65+``: levels that are ordered by where they begin.

Each reader takes the reader of plain numbers, which knows the decimal mark of the column.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from separatrix.tables.written_numbers import MINUS

#: A reader of plain numbers: of the digits and marks in a text, or None.
Numeral = Callable[[str], float | None]
#: ``(factor, offset)``: a value in one unit, times the factor and plus the offset, is in another.
Conversion = tuple[float, float]

# --------------------------------------------------------------------------------------- units

_DAY = 86_400.0
_TIME = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sek", "sekunde", "sekunden"), 1.0),
    **dict.fromkeys(("seconde", "secondes", "秒"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten", "分"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden"), 3600.0),
    **dict.fromkeys(("heure", "heures", "時間"), 3600.0),
    **dict.fromkeys(("d", "day", "days", "tag", "tage", "tagen", "jour", "jours", "日"), _DAY),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks", "woche", "wochen", "semaine"), 7 * _DAY),
    "semaines": 7 * _DAY,
    # The mean of the Gregorian calendar.
    **dict.fromkeys(("mo", "mos", "month", "months", "monat", "monate", "mois"), 30.436875 * _DAY),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years", "jahr", "jahre", "an", "ans"),
                    365.2425 * _DAY),
}  # fmt: skip
_MASS = {
    **dict.fromkeys(("µg", "μg", "ug", "mcg"), 1e-9),
    "mg": 1e-6,
    **dict.fromkeys(("g", "gr", "gram", "grams", "gramm"), 1e-3),
    **dict.fromkeys(("kg", "kgs", "kilo", "kilos"), 1.0),
    **dict.fromkeys(("t", "tonne", "tonnes"), 1e3),
    **dict.fromkeys(("oz", "ounce", "ounces"), 0.028349523125),
    **dict.fromkeys(("lb", "lbs", "pound", "pounds"), 0.45359237),
    **dict.fromkeys(("st", "stone"), 6.35029318),
}
_INCH = 0.0254
_LENGTH = {
    **dict.fromkeys(("µm", "μm", "um"), 1e-6),
    "nm": 1e-9,
    "mm": 1e-3,
    "cm": 1e-2,
    "dm": 1e-1,
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
    "km": 1e3,
    **dict.fromkeys(("in", "inch", "inches", '"', "″", "”", "''"), _INCH),
    **dict.fromkeys(("ft", "foot", "feet", "'", "′", "’"), 12 * _INCH),
    **dict.fromkeys(("yd", "yard", "yards"), 36 * _INCH),
    **dict.fromkeys(("mi", "mile", "miles"), 63_360 * _INCH),
}
_VOLUME = {
    **dict.fromkeys(("µl", "μl", "ul"), 1e-6),
    "ml": 1e-3,
    "cl": 1e-2,
    "dl": 1e-1,
    **dict.fromkeys(("l", "liter", "liters", "litre", "litres"), 1.0),
    "hl": 1e2,
}
_DATA = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12} | {
    name: 1024.0 ** (k + 1) for k, name in enumerate(("kib", "mib", "gib", "tib"))
}
_ENERGY = {"kj": 1e3, "mj": 1e6, "cal": 4.184, "kcal": 4184.0, "wh": 3600.0, "kwh": 3.6e6}
_ENERGY |= {"mwh": 3.6e9}
_DIMENSIONS: dict[str, Mapping[str, float]] = {
    "time": _TIME,
    "mass": _MASS,
    "length": _LENGTH,
    "volume": _VOLUME,
    "data": _DATA,
    "energy": _ENERGY,
}
_SECOND = "s"
# The zero of one scale of temperature is not the zero of another.
_CELSIUS: dict[str, Conversion] = {"°c": (1.0, 0.0), "°f": (5.0 / 9.0, -160.0 / 9.0)}


@lru_cache(maxsize=4096)
def _sizes(unit: str) -> Mapping[str, float]:
    """The dimensions that a unit may be of, and its size in each."""
    small = unit.lower()
    found = {name: units[small] for name, units in _DIMENSIONS.items() if small in units}
    if not found and small.count("/") == 1:
        above, below = small.split("/")
        found = {
            f"{one}/{other}": size / by
            for one, size in _sizes(above).items()
            for other, by in _sizes(below).items()
        }
    return found


@lru_cache(maxsize=4096)
def conversion(unit: str, other: str) -> Conversion | None:
    """The conversion of a value in one unit to another; None where no dimension has both.

    Examples
    --------
    >>> from separatrix.tables.quantities import conversion
    >>> conversion("g", "kg"), conversion("kg", "km")
    ((0.001, 0.0), None)
    """
    one, two = unit.lower().replace(" ", ""), other.lower().replace(" ", "")
    if one in _CELSIUS and two in _CELSIUS:
        (factor, offset), (to, start) = _CELSIUS[one], _CELSIUS[two]
        return factor / to, (offset - start) / to
    sizes, others = _sizes(one), _sizes(two)
    shared = [name for name in sizes if name in others]
    return (_exact(sizes[shared[0]] / others[shared[0]]), 0.0) if shared else None


def _exact(ratio: float) -> float:
    """A ratio of sizes without the rounding of these, where it is a whole number or one over it."""
    whole = round(ratio) if ratio >= 1.0 else round(1.0 / ratio)
    exact = float(whole) if ratio >= 1.0 else 1.0 / whole
    return exact if abs(ratio - exact) <= 1e-14 * exact else ratio


def converted(value: float, by: Conversion) -> float:
    """A value in another unit."""
    return _scaled(value, by[0]) + by[1]


def _scaled(value: float, factor: float) -> float:
    """A product; the quotient by a whole number where the factor is one over that."""
    inverse = round(1.0 / factor)
    return value / inverse if factor < 1.0 and factor * inverse == 1.0 else value * factor


# ------------------------------------------------------------------------------------ measures

_PART = r"(?:\d[\d.,\u00a0\u202f]*|[.,]\d+)"
_UNIT = r"(?:[^\W\d_]{1,12}\.?|''|[\"'″′”’])"
_ONE = re.compile(rf"\s*(?:,|and\b|und\b|et\b)?\s*(?P<number>{_PART})\s*(?P<unit>{_UNIT})")
_RATIO = re.compile(rf"(?P<number>{_PART})\s*(?P<unit>[^\W\d_]{{1,12}}/[^\W\d_]{{1,5}}|°\ ?[CF])")
_CLOCK = re.compile(
    rf"(?P<sign>[+{MINUS}])?(?:(?P<days>\d+)(?:\s*days?,?\s+|\.))?"
    r"(?P<first>\d+):(?P<second>[0-5]\d)(?::(?P<third>[0-5]\d(?:[.,]\d+)?))?"
)
_ISO = re.compile(
    r"(?P<sign>[+-])?P(?!$)(?:(?P<y>\d+(?:[.,]\d+)?)Y)?(?:(?P<mo>\d+(?:[.,]\d+)?)M)?"
    r"(?:(?P<w>\d+(?:[.,]\d+)?)W)?(?:(?P<d>\d+(?:[.,]\d+)?)D)?"
    r"(?:T(?!$)(?:(?P<h>\d+(?:[.,]\d+)?)H)?(?:(?P<m>\d+(?:[.,]\d+)?)M)?(?:(?P<s>\d+(?:[.,]\d+)?)S)?)?"
)

CLOCKS = ("", "h:mm", "m:ss")
"""The readings of a clock with two parts; empty where neither applies."""


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _clock(text: str, pair: str) -> float | None:
    """The seconds of a clock; ``pair`` names the parts of a clock that has two."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    first, second = int(found["first"]), int(found["second"])
    if found["third"] is not None:
        seconds = 3600.0 * first + 60.0 * second + _decimal(found["third"])
    elif found["days"] is not None or pair == "h:mm":
        seconds = 3600.0 * first + 60.0 * second
    elif pair == "m:ss":
        seconds = 60.0 * first + second
    else:
        return None
    if found["days"] is not None and first > 23:
        return None
    seconds += _DAY * int(found["days"] or 0)
    return -seconds if (found["sign"] or "+") in MINUS else seconds


def _iso(text: str) -> float | None:
    """The seconds of a duration as ISO 8601 has it."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    parts = ((name, found[name]) for name in ("y", "mo", "w", "d", "h", "m", "s"))
    seconds = math.fsum(_TIME[name] * _decimal(part) for name, part in parts if part)
    return -seconds if found["sign"] == "-" else seconds


def _pairs(text: str) -> _Pairs | None:
    """The sign, and the numbers and units that a text is made of, as they are written."""
    sign, at = (-1.0, 1) if text[:1] and text[0] in MINUS else (1.0, int(text[:1] == "+"))
    text = text[at:].strip()
    ratio = "/" in text or "°" in text
    if ratio and (found := _RATIO.fullmatch(text)) is not None:
        return sign, [(found["number"], found["unit"])]
    pairs, at = [], 0
    while at < len(text):
        found = _ONE.match(text, at)
        if found is None:
            return None
        pairs.append((found["number"], found["unit"].rstrip(".")))
        at = found.end()
    return (sign, pairs) if pairs else None


def measure(text: str, unit: str, numeral: Numeral, pair: str = "") -> float | None:
    """A measure in a unit, or None where a text is none of this dimension.

    Parameters
    ----------
    text : str
    unit : str
        The unit of the number that is returned; ``"s"`` for durations.
    numeral : callable
    pair : str
        The parts of a clock that has two; see :data:`CLOCKS`.

    Examples
    --------
    >>> from separatrix.tables.quantities import measure
    >>> [measure(text, "s", float) for text in ("1:02:33", "3d 4h", "PT5M", "90 min")]
    [3753.0, 273600.0, 300.0, 5400.0]
    >>> measure("500 g", "kg", float), measure("5'6\\"", "in", float)
    (0.5, 66.0)
    """
    if unit == _SECOND:
        special = _clock(text, pair) if ":" in text else _iso(text) if "P" in text[:2] else None
        if special is not None:
            return special
    return _sum(_pairs(text), unit, numeral)


_Pairs = tuple[float, list[tuple[str, str]]]


def _sum(found: _Pairs | None, unit: str, numeral: Numeral) -> float | None:
    """The sum of the numbers of a text in one unit; None where it is no measure in that unit."""
    if found is None:
        return None
    sign, pairs = found
    total, last, offset = 0.0, math.inf, 0.0
    for body, own in pairs:
        value, by = numeral(body), conversion(own, unit)
        if value is None or by is None or not 0.0 < by[0] < last:
            return None
        factor, offset = by
        # From the largest unit to the smallest, each of them once.
        last = factor if len(pairs) > 1 else last
        total += _scaled(value, factor)
    return sign * total + offset


def units_of(text: str) -> list[str]:
    """The units in a text, as they are written; empty where it is no measure."""
    found = _pairs(text)
    return [] if found is None else [unit for _, unit in found[1]]


def find_measure(
    values: Mapping[str, int], numeral: Numeral, *, insisted: bool = False
) -> tuple[str, str, int, dict[str, float | None]] | None:
    """The unit of a column of measures, the parts of its clocks, its rows, and what texts mean.

    None where all have one unit or none, so that they are plain numbers with a unit.
    """
    units: Counter[str] = Counter()
    apart: dict[str, _Pairs | None] = {}
    clocks = pairs_of_clock = several = 0
    for text, n in values.items():
        clock = _CLOCK.fullmatch(text) if ":" in text else None
        if clock is not None and clock["third"] is None and clock["days"] is None:
            pairs_of_clock += n
        elif clock is not None or ("P" in text[:2] and _iso(text) is not None):
            clocks += n
        else:
            apart[text] = found = _pairs(text)
            if found is not None:
                several += n * (len(found[1]) > 1)
                for unit in {unit for _, unit in found[1]}:
                    units[unit] += n
    pair = "m:ss" if clocks and pairs_of_clock else "h:mm" if insisted and pairs_of_clock else ""
    if clocks or pair:
        base = _SECOND
    elif several or len(units) > 1:
        base = _base(units)
    else:
        return None
    known = {
        text: _sum(apart[text], base, numeral)
        if text in apart
        else measure(text, base, numeral, pair)
        for text in values
    }
    meant = sum(n for text, n in values.items() if known[text] is not None)
    return (base, pair, meant, known) if meant else None


def _base(units: Counter[str]) -> str:
    """The unit into which others are converted: the most frequent one, and seconds of durations."""
    if all("time" in _sizes(unit) for unit in units) and any(
        len(_sizes(unit)) == 1 for unit in units
    ):
        return _SECOND
    most = max(units, key=lambda unit: (units[unit], unit))
    return {"'": "in", "′": "in", "’": "in", "''": "in"}.get(most, "in" if most in '"″”' else most)


def sample_texts(texts: Collection[str]) -> list[str]:
    """A few texts of a column, by which most columns show what they do not hold."""
    return [*texts][:: max(1, len(texts) // 200)]


def half_are(some: Sequence[str], looks: Callable[[str], Any]) -> bool:
    """Whether a predicate holds for at least half of some texts."""
    return 2 * sum(bool(looks(text)) for text in some) >= len(some)


def units_question(values: Mapping[str, int]) -> list[str]:
    """The units of a column of numbers that have several of no one dimension; empty for others."""
    units: Counter[str] = Counter()
    if not half_are(sample_texts(values), lambda text: len(units_of(text)) == 1):
        return []
    for text, n in values.items():
        own = units_of(text)
        if len(own) == 1:
            units[own[0]] += n
    most = [unit for unit, _ in units.most_common()]
    whole = sum(units.values()) >= 0.95 * sum(values.values())
    # The letters of codes such as 5a and 7b are no units.
    known = sum(n for unit, n in units.items() if _sizes(unit))
    if not whole or 2 * known < sum(units.values()):
        return []
    return most if any(conversion(unit, most[0]) is None for unit in most) else []


def clock_question(values: Mapping[str, int]) -> str:
    """A text of a column of clocks of two parts, which may be hours or minutes; empty for others.

    Times of day, from 00:00 to 23:59 with two digits each, are as much a question: minutes of a
    film are written so, too.
    """
    if not half_are(sample_texts(values), _CLOCK.fullmatch):
        return ""
    clocks = sum(n for t, n in values.items() if (f := _CLOCK.fullmatch(t)) and f["third"] is None)
    return next(iter(values)) if clocks >= 0.95 * sum(values.values()) else ""


def is_quantity_text(text: str) -> bool:
    """Whether a text is a measure of several parts, a clock, a share or an angle."""
    forms = (_CLOCK, _ISO, _SHARE, _ANGLE)
    return any(form.fullmatch(text) for form in forms) or len(units_of(text)) > 0


# -------------------------------------------------------------------------------------- shares

_SHARE = re.compile(
    rf"(?P<part>{_PART})\s*(?P<of>/|of|out\ of|von|sur|de)\s*(?P<whole>{_PART})"
    r"(?:\s*(?:stars?|points?|sternen?|punkten?|étoiles))?",
    re.IGNORECASE,
)


def share(text: str, numeral: Numeral) -> float | None:
    """The share that ``7/10`` or ``7 of 10`` is; None for other texts, and for wholes of zero."""
    found = _SHARE.fullmatch(text)
    if found is None:
        return None
    part, whole = numeral(found["part"]), numeral(found["whole"])
    return part / whole if part is not None and whole else None


def _wholes(values: Mapping[str, int]) -> tuple[int, set[str], bool, bool]:
    """Rows with a share, their different wholes, whether a word says so, and whether all fit."""
    rows, wholes, word, within = 0, set(), True, True
    for text, n in values.items():
        if (found := _SHARE.fullmatch(text)) is not None:
            rows += n
            wholes.add(found["whole"])
            word &= found["of"] != "/"
            within &= (share(text, _decimal) or 0.0) <= 1.0
    return rows, wholes, word, within


def is_share(values: Mapping[str, int]) -> bool:
    """Whether shares are plainly meant: by a word, or because all are of the same whole."""
    if not half_are(sample_texts(values), _SHARE.fullmatch):
        return False
    rows, wholes, word, within = _wholes(values)
    return bool(rows) and within and (word or len(wholes) == 1)


def share_question(values: Mapping[str, int]) -> str:
    """A text of a column of shares that may be pairs (``120/80``) or days; empty for others."""
    if not half_are(sample_texts(values), _SHARE.fullmatch):
        return ""
    rows, wholes, _, _ = _wholes(values)
    total = sum(values.values())
    return next(iter(values)) if rows >= 0.95 * total and len(wholes) > 1 else ""


# -------------------------------------------------------------------------------------- angles

_ANGLE = re.compile(
    rf"(?P<before>[NSEWO])?\s*(?P<sign>[+{MINUS}])?(?P<degrees>\d{{1,3}}(?:[.,]\d+)?)\s*°\s*"
    r"(?:(?P<minutes>\d{1,2}(?:[.,]\d+)?)\s*['′’]\s*)?"
    r"(?:(?P<seconds>\d{1,2}(?:[.,]\d+)?)\s*(?:[\"″”]|'')\s*)?(?P<after>[NSEWO])?"
)


def angle(text: str) -> float | None:
    """The degrees of ``52°31'N``, negative in the south and the west; None for other texts."""
    found = _ANGLE.fullmatch(text)
    if found is None:
        return None
    ends = [mark for mark in (found["before"], found["after"]) if mark]
    if len(ends) != 1 or found["sign"]:
        return None
    minutes, seconds = (_decimal(found[name] or "0") for name in ("minutes", "seconds"))
    degrees = _decimal(found["degrees"]) + minutes / 60.0 + seconds / 3600.0
    if minutes >= 60.0 or seconds >= 60.0 or degrees > (90.0 if ends[0] in "NS" else 180.0):
        return None
    # O is the east of Germans; the west of others (oeste, ouest) is not written beside N and E.
    return -degrees if ends[0] in "SW" else degrees


# -------------------------------------------------------------------------------------- ranges

_EDGE = rf"(?:[$€£¥]\s?)?{_PART}\s?(?:[kKM]\b|[kKM](?=\W|$))?(?:\s?[$€£¥])?"
_TAIL = r"(?:\s*(?:years?|yrs?|Jahren?|ans|€|\$|%|kg|cm|USD|EUR|歳))?(?:\s*old)?"
_RANGES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"[\[(]?\s*(?P<low>{_EDGE}){_TAIL}\s*(?:-|–|—|~|\.\.+|to|bis|à|through)\s*"
        rf"(?P<high>{_EDGE}){_TAIL}\s*[\])]?",
        rf"[\[(]\s*(?P<low>{_EDGE})\s*[,;]\s*(?P<high>{_EDGE})\s*[\])]",
        rf"(?:<|<=|≤|under|below|less\ than|up\ to|unter|bis|bis\ zu|moins\ de|jusqu'à)\s*"
        rf"(?P<high>{_EDGE}){_TAIL}",
        rf"(?P<high>{_EDGE}){_TAIL}\s*(?:or\ less|and\ under|or\ under|und\ weniger|et\ moins|"
        rf"未満|以下)",
        rf"(?:>|>=|≥|over|above|more\ than|from|über|ab|mehr\ als|plus\ de)\s*"
        rf"(?P<low>{_EDGE}){_TAIL}",
        rf"(?P<low>{_EDGE}){_TAIL}\s*(?:\+|or\ more|and\ over|and\ above|or\ over|or\ older|"
        rf"und\ mehr|und\ älter|et\ plus|以上){_TAIL}",
    )
)
_FEWEST_RANGES, _MOST_RANGES = 3, 60
_MAGNITUDE = {"k": 1e3, "m": 1e6}


def _edge(text: str, numeral: Numeral) -> float | None:
    bare = text.strip(" $€£¥\u00a0")
    by = _MAGNITUDE.get(bare[-1:].lower(), 1.0)
    value = numeral(bare[:-1].strip() if by > 1.0 else bare)
    return None if value is None else value * by


def _ends(text: str, numeral: Numeral) -> tuple[float, float] | None:
    """The two ends of a range; None for other texts."""
    for pattern in _RANGES:
        if (found := pattern.fullmatch(text)) is not None:
            part = {"low": None, "high": None, **found.groupdict()}
            low = -math.inf if part["low"] is None else _edge(part["low"], numeral)
            high = math.inf if part["high"] is None else _edge(part["high"], numeral)
            if low is None or high is None or low > high:
                return None
            # "20-50k" begins at 20,000.
            if part["low"] and part["high"] and part["high"].strip(" $€£¥")[-1:] in "kKM":
                by = _MAGNITUDE[part["high"].strip(" $€£¥")[-1:].lower()]
                if low < high / by:
                    low *= by if part["low"].strip(" $€£¥")[-1:] not in "kKM" else 1.0
            return low, high
    return None


# The least share of ranges, and of numbers or open ranges, in a column of both, and the largest
# share of other cells.
_MIXED = 0.05


def ranges_question(values: Mapping[str, int], numeral: Numeral) -> str:
    """A range in a column of ranges, numbers and open ranges; empty for others.

    A number with a dash, as those of telephones are, is no range where all of a column have one.
    """

    def is_one(text: str) -> bool:
        if not any(map(str.isdigit, text)):
            return False
        return _ends(text, numeral) is not None or _edge(text, numeral) is not None

    if not half_are(sample_texts(values), is_one):
        return ""
    total, closed, others, example = sum(values.values()), 0, 0, ""
    for text, n in values.items():
        own = _ends(text, numeral)
        if own is not None and math.isfinite(own[1] - own[0]):
            closed, example = closed + n, example or text
        elif own is not None or _edge(text, numeral) is not None:
            others += n
    both = min(closed, others) >= _MIXED * total and closed + others >= (1.0 - _MIXED) * total
    return example if both else ""


def ordered_ranges(texts: Sequence[str], numeral: Numeral) -> tuple[str, ...]:
    """Levels that are ranges, from the lowest to the highest; empty where they are none.

    They do not overlap, and most of them have two ends or one that is open; single numbers may be
    among them.
    """
    if not _FEWEST_RANGES <= len(texts) <= _MOST_RANGES:
        return ()
    ends: dict[str, tuple[float, float]] = {}
    ranges = 0
    for text in texts:
        own = _ends(text, numeral)
        ranges += own is not None
        if own is None and (value := _edge(text, numeral)) is not None:
            own = value, value
        if own is None:
            continue
        ends[text] = own
    order = sorted(ends, key=lambda text: (ends[text], text))
    apart = all(
        ends[one][1] <= ends[other][0] and ends[one] != ends[other]
        for one, other in itertools.pairwise(order)
    )
    return tuple(order) if apart and 2 * ranges > len(ends) and ranges > 1 else ()
