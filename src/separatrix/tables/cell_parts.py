"""Cells that hold several values: lists, pairs of coordinates.

``email, phone`` is a *list* where the cells of a column hold now one and now several of a few
values, in whatever order.  ``52.5200, 13.4050``, ``52°31'N 13°24'E`` and ``POINT(13.4 52.5)`` are
*coordinates*.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from separatrix.tables.quantities import angle

SEPARATORS = (";", "|", ",")
"""The separators that may stand between the values of a list."""

COORDINATES = ("latitude", "longitude")
"""The parts of coordinates, in one order or the other."""

# ---------------------------------------------------------------------------------------- lists

_MOST_ITEMS, _LONGEST, _MOST_WORDS = 50, 40, 4
# Where there are fewer rows, or where a smaller share has several values, there is no list.
_FEWEST_ROWS, _LEAST_SHARE = 20, 0.1


def items(text: str, separator: str) -> list[str]:
    """The values in a cell.

    Examples
    --------
    >>> from separatrix.tables.cell_parts import items
    >>> items("email, phone,", ",")
    ['email', 'phone']
    """
    return [item for part in text.split(separator) if (item := part.strip())]


def find_list(counts: Mapping[str, int]) -> tuple[str, tuple[str, ...]] | None:
    """The separator of a column of lists, and its values in order; None for other columns.

    Parameters
    ----------
    counts : mapping of str to int
        The number of rows with each text.

    Examples
    --------
    >>> from separatrix.tables.cell_parts import find_list
    >>> find_list({"web": 20, "web, phone": 8, "phone": 9, "phone, mail": 4, "mail, web": 6})
    (',', ('mail', 'phone', 'web'))
    """
    total = sum(counts.values())
    if total < _FEWEST_ROWS:
        return None
    for separator in SEPARATORS:
        several = sum(n for text, n in counts.items() if separator in text.rstrip(separator))
        if several >= _LEAST_SHARE * total and (words := _values(counts, separator)):
            return separator, words
    return None


def _values(counts: Mapping[str, int], separator: str) -> tuple[str, ...]:
    """The values of lists; empty where cells are no lists."""
    cells: Counter[str] = Counter()
    first, later = set(), set()
    sizes = set()
    for text in counts:
        own = items(text, separator)
        if len(set(own)) < len(own):
            return ()
        cells.update(own)
        sizes.add(len(own))
        first.update(own[:1])
        later.update(own[1:])
        if len(cells) > _MOST_ITEMS:
            return ()
    if any(len(item) > _LONGEST or len(item.split()) > _MOST_WORDS for item in cells):
        return ()
    # A place with its country has always two parts, in one order, and a sentence few parts twice.
    varied = len(sizes - {0}) > 1 and len(cells) < len(counts)
    again = sum(n > 1 for n in cells.values()) >= 0.8 * len(cells)
    moving = 2 * len(first & later) >= len(cells)
    return tuple(sorted(cells)) if varied and again and moving else ()


# ---------------------------------------------------------------------------------- coordinates

_NUMBER = r"[+-]?\d{1,3}\.\d{2,}"
_PAIR = re.compile(rf"[(\[]?\s*(?P<one>{_NUMBER})\s*[,;\s]\s*(?P<two>{_NUMBER})\s*[)\]]?")
_POINT = re.compile(r"POINT\s*\(\s*(?P<one>\S+)\s+(?P<two>\S+?)\s*\)", re.IGNORECASE)
_ANGLES = re.compile(r"(?P<one>.*?[NS])\s*[,;]?\s*(?P<two>[^NS]*)")


def coordinates(text: str) -> tuple[float, float] | None:
    """Both numbers of a pair of coordinates, in the order of the text; None for other texts.

    Examples
    --------
    >>> from separatrix.tables.cell_parts import coordinates
    >>> coordinates("52.5200, 13.4050"), coordinates("52.5")
    ((52.52, 13.405), None)
    """
    found = _PAIR.fullmatch(text) or _POINT.fullmatch(text)
    if found is None:
        if (angles := _ANGLES.fullmatch(text)) is None:
            return None
        first, second = angle(angles["one"]), angle(angles["two"])
        return None if first is None or second is None else (first, second)
    try:
        one, two = float(found["one"]), float(found["two"])
    except ValueError:
        return None
    small, large = sorted((abs(one), abs(two)))
    return (one, two) if small <= 90.0 and large <= 180.0 else None


def has_longitude_first(pairs: Mapping[str, tuple[float, float] | None]) -> bool:
    """Whether the longitude comes first in the coordinates that texts were read as.

    It does in well-known text (``POINT``), in the brackets of GeoJSON, and where it is too large
    for a latitude.
    """
    first = False
    for text, found in pairs.items():
        if text[:1] == "[" or text[:5].upper() == "POINT":
            return True
        if found is not None:
            if abs(found[1]) > 90.0:
                return False
            first |= abs(found[0]) > 90.0
    return first
