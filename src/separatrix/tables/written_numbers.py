"""Single numbers as people write them: signs, currencies, units, groups of digits, brackets.

``$1,063``, ``1.063,50 €``, ``(250)``, ``$(250)``, ``5,300*``, ``<0.5`` among numbers (as 0.5),
``39.6%``, ``1 234,5 kg``, ``1'000``, ``12k``, ``3.5M``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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
# The form of most numbers with groups of digits, by the decimal mark.
_GROUPED = {
    ".": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+"),
    ",": re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+"),
}
# Marks between groups of digits, by the decimal mark.
_GROUPS = {".": ",'’\u00a0\u202f\u2009 ", ",": ".'’\u00a0\u202f\u2009 "}


class Written(NamedTuple):
    """The parts of a text that looks like a number."""

    sign: float
    body: str
    exponent: str
    unit: str


def taken_apart(text: str) -> Written | None:
    bare = text.replace(".", "", 1)
    if bare.isdigit() and bare.isascii():  # as most texts of long columns
        return Written(1.0, text, "", "")
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


# --- the same as regular expressions --------------------------------------------------------------

# White space, as Python has it, and marks, as all engines write them.
_SPACE = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK = r"\u0020\u00a0\u202f\u2009"
_MINUS = r"\u2212\u2013-"
_NEGATIVE = rf"^[^0-9]*[({_MINUS}]|[{_MINUS}][^0-9]*$"
# Two signs, or brackets that do not match. What looks like a number has no underscore.
_SIGNED_TWICE = (
    rf"^[^0-9]*[(+{_MINUS}][^0-9]*[(+{_MINUS}]",
    rf"^[^0-9]*[(+{_MINUS}][^_]*[{_MINUS}][^0-9]*$",
    rf"[{_MINUS}][^0-9]*[{_MINUS}][^0-9]*$",
    r"[(][^)]*$",
    r"^[^(]*[)]",
    r"[)][^_]*[)]",
)


def patterns_of(unit: str, decimal: str) -> tuple[str, str, str] | None:
    """Regular expressions of the numbers that are written with one unit or none.

    They have classes of characters, groups, alternatives and repetitions alone, so that all engines
    read them alike, and characters beyond ASCII as escapes.

    Parameters
    ----------
    unit : str
    decimal : {".", ","}

    Returns
    -------
    tuple of str or None
        A pattern that a text has to match from its beginning to its end, whose first group has the
        digits with their marks and the exponent; a pattern that must not be found in it; and one
        that is found in it where the number is negative. None where a unit has no such expressions.

    Examples
    --------
    >>> import re
    >>> from separatrix.tables.written_numbers import patterns_of
    >>> whole, never, negative = patterns_of("$", ".")
    >>> re.fullmatch(whole, "($1,063.50)")[1], bool(re.search(negative, "($1,063.50)"))
    ('1,063.50', True)
    """
    known = NUMBER.fullmatch(f"5{unit}")
    if known is None or (known["after"] or "") != unit or any(c > "\uffff" for c in unit):
        return None
    # Parts of the unit stand on both sides of a number.
    if unit not in CURRENCIES and split_magnitude(unit)[0] in CURRENCIES:
        return None
    name = SAME_CURRENCY.get(unit, unit)
    codes = sorted(one for one in CURRENCIES if SAME_CURRENCY.get(one, one) == name)
    before = "|".join(_escaped(code) + r"\.?" * code[-1].isalpha() for code in codes)
    after = before or _escaped(unit)
    first, last = rf"[{_SPACE}(+{_MINUS}]*", rf"[{_SPACE}){_MINUS}]*"
    end = rf"[{_SPACE}]*(?:{after})?{last}" if after else last
    # A percent sign may stand behind a bracket.
    end = f"{last}%?{last}" if unit == "%" else end
    point = rf"\{decimal}"
    groups = ["(?:,[0-9]{2,3})*,[0-9]{3}"] * (decimal == ".")
    groups += [f"(?:{_escaped(mark)}[0-9]{{3}})+" for mark in _GROUPS[decimal] if mark != ","]
    whole = f"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:{'|'.join(groups)}))"
    exponent = "[eE][+-]?[0-9]{1,3}"
    digits = rf"{whole}(?:{point}[0-9]*)?(?:[{_BLANK}]*{exponent})?|{point}[0-9]+(?:{exponent})?"
    excluded = _SIGNED_TWICE + ((f"(?:{after})[^_]*[0-9][^_]*(?:{after})",) if before else ())
    return (
        rf"^(?:[<>]=?|[\u2264\u2265])?{first}(?:{before})?{first if before else ''}"
        rf"({digits}){end}(?:[*\u2020\u2021]{{1,3}})?$",
        "|".join(excluded),
        _NEGATIVE,
    )


def _escaped(text: str) -> str:
    """A text as a regular expression in ASCII."""
    return "".join(
        c if c.isascii() and c.isalnum() else f"\\{c}" if c.isascii() else f"\\u{ord(c):04x}"
        for c in text
    )
