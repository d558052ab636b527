"""How people write single numbers: signs, currencies, units, groups of digits, brackets.

``$1,063``, ``1.063,50 €``, ``(250)``, ``$(250)``, ``5,300*``, ``<0.5`` among numbers (as 0.5),
``39.6%``, ``1 234,5 kg``, ``1'000``, ``12k``, ``3.5M``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "CURRENCIES",
    "FOOTNOTES",
    "LIMITS",
    "MAGNITUDES",
    "MINUS",
    "NUMBER",
    "SAME_CURRENCY",
    "Written",
    "split_magnitude",
    "taken_apart",
    "unsigned",
]

_SIGNS = "$€£¥￥₹₩₽₺₫₪฿₴₦₱¢₿"
_CODES = (
    "USD EUR GBP CHF JPY CNY RMB INR AUD CAD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR KRW RUB TRY "
    "SGD HKD ILS THB kr zł Kč Ft Rs Fr R$ US$ A$ C$"
)
_CURRENCY = "|".join(
    re.escape(code) + r"\.?" * code[-1].isalpha()
    for code in sorted([*_CODES.split(), *_SIGNS], key=len)[::-1]
)
MINUS = "−–-"
NUMBER = re.compile(
    rf"""(?P<limit>[<>]=?|[≤≥])?\s*(?P<open>\()?\s*
    (?P<sign>[+{MINUS}])?\s*
    (?P<before>{_CURRENCY})?\s*
    (?P<within>\()?\s*
    (?P<inner>[+{MINUS}])?\s*
    (?P<body>[0-9][0-9.,'’\u00a0\u202f\u2009 ]*|[.,][0-9]+)
    (?P<exponent>[eE][+-]?[0-9]{{1,3}})?
    \s*(?P<after>%|‰|°(?:\ ?[CFK])?|{_CURRENCY}|[^\W\d_]{{1,7}}[²³]?(?:/[^\W\d_]{{1,5}}[²³]?)?)?
    \s*(?P<trailing>[{MINUS}])?\s*(?P<close>\))?\s*(?P<outer>%)?
    \s*(?P<footnote>[*†‡]{{1,3}})?""",
    re.VERBOSE,
)
LIMITS, FOOTNOTES = "<>≤≥", "*†‡"
MAGNITUDES = {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9}
# As most numbers with groups of digits have them, by the decimal mark.
_GROUPED = {
    ".": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+"),
    ",": re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+"),
}
# Marks between groups of digits, by the decimal mark.
_GROUPS = {".": ",'’\u00a0\u202f\u2009 ", ",": ".'’\u00a0\u202f\u2009 "}


class Written(NamedTuple):
    """What a text that looks like a number is made of."""

    sign: float
    body: str
    exponent: str
    unit: str


def taken_apart(text: str) -> Written | None:
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    _, opening, sign, before, within, inner, body, exponent, after, trailing, closing, outer, _ = (
        found.groups()
    )
    brackets = bool(opening) + bool(within)  # ($3) and $(3) are both -3
    if not (brackets or sign or inner or trailing or closing or outer or (before and after)):
        unit = before or after or ""  # as in most texts
        return Written(1.0, body.strip(), exponent or "", unit.rstrip("."))
    signs = [mark for mark in (sign, inner, trailing) if mark]
    if brackets != bool(closing) or len(signs) + brackets > 1:
        return None
    units = [unit.rstrip(".") for unit in (before, after, outer) if unit]
    if len(units) > 1:
        # $1.2M has a currency and a magnitude; two units are none.
        if len(units) > 2 or units[1] not in MAGNITUDES:
            return None
        units = ["".join(units)]
    negative = bool(brackets) or any(sign in MINUS for sign in signs)
    return Written(
        -1.0 if negative else 1.0,
        body.strip(),
        exponent or "",
        units[0] if units else "",
    )


def split_magnitude(unit: str) -> tuple[str, str]:
    """A unit without its magnitude, and the magnitude."""
    if not unit or unit[-1] not in "onkKMB":
        return unit, ""
    for magnitude in ("Mio", "mn", "bn", "k", "K", "M", "B"):
        if unit == magnitude:
            return "", magnitude
        if unit.endswith(magnitude) and unit[: -len(magnitude)].rstrip() in CURRENCIES:
            return unit[: -len(magnitude)], magnitude
    return unit, ""


CURRENCIES = frozenset([*_CODES.split(), *_SIGNS])
# Codes and signs of one currency.
SAME_CURRENCY = {
    "EUR": "€",
    "USD": "$",
    "US$": "$",
    "GBP": "£",
    "JPY": "¥",
    "￥": "¥",
    "INR": "₹",
    "KRW": "₩",
}


def unsigned(body: str, decimal: str, exponent: str = "") -> float | None:
    """The number that digits and marks spell under a decimal mark, or None."""
    whole, point, fraction = body.partition(decimal)
    plain = fraction.isascii() and fraction.isdigit()
    if whole.isdigit() and (whole[0] != "0" or len(whole) == 1):  # as in most texts
        if not point:
            return float(whole + exponent)
        if plain:
            return float(f"{whole}.{fraction}{exponent}")
    elif (plain or not fraction) and _GROUPED[decimal].fullmatch(whole):
        return float(f"{whole.replace(_GROUPS[decimal][0], '')}.{fraction}{exponent}")
    if (point and not fraction.isascii()) or (fraction and not fraction.isdigit()):
        return None
    marks = set() if whole.isdigit() else {mark for mark in whole if not mark.isdigit()}
    if len(marks) > 1 or not marks <= set(_GROUPS[decimal]):
        return None
    digits = whole
    if marks:
        mark = marks.pop()
        first, *others = whole.split(mark)
        *middle, last = others
        # Numbers of India have groups of two digits, but for the last one.
        sizes = (2, 3) if mark == "," else (3,)
        if (
            not 1 <= len(first) <= 3
            or first.startswith("0")
            or len(last) != 3
            or any(len(group) not in sizes for group in middle)
        ):
            return None
        digits = "".join([first, *others])
    if len(digits) > 1 and digits.startswith("0"):
        return None
    if not digits and not fraction:
        return None
    return float(f"{digits or '0'}.{fraction or '0'}{exponent}")
