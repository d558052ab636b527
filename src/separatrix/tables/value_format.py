"""Formats of numbers, dates and truth values as people write them, and of columns of them.

A column of strings holds numbers where at least 95 % of its values are numbers (or 90 %, where the
others are one or two words) once currency signs, ``%``, a unit, signs, brackets for negative
numbers and the marks between groups of three digits are taken off, all by one *spelling*: the same
decimal mark, the same unit.  The same holds for dates, by one order of day, month and year.  Values
that do not fit count as missing, and are reported.  A spelling that was found at fit is kept, and
later tables are read by it.

``$1,063``, ``1.063,50 €``, ``(250)``, ``39.6%``, ``1 234,5 kg``, ``1'000``, ``12k``, ``3.5M``;
``05/09/2025``, ``2025-09-05``, ``05.09.25``, ``5-Sep-2025``, ``September 5, 2025``, with or without
a time of day.  A number that begins with a zero, such as ``00731``, is a code and no number.

Single numbers are read in :mod:`~separatrix.tables.written_numbers`, and dates in
:mod:`~separatrix.tables.written_dates`.  Durations, quantities in several units, shares and angles
are numbers, too (:mod:`~separatrix.tables.quantities`); lists, coordinates and amounts in several
currencies are taken apart (:mod:`~separatrix.tables.cell_parts`), and levels that are spelled in
several ways are one (:mod:`~separatrix.tables.level_spellings`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from heapq import nlargest
from typing import Any

from separatrix.exceptions import DataError
from separatrix.messages import Message
from separatrix.tables import cell_parts as parts
from separatrix.tables import quantities
from separatrix.tables.level_spellings import Spellings, merged_levels
from separatrix.tables.written_dates import DATE_ORDERS, DATES, days_since_epoch
from separatrix.tables.written_numbers import (
    CURRENCIES,
    FOOTNOTES,
    LIMITS,
    MAGNITUDES,
    NUMBER,
    SAME_CURRENCY,
    Written,
    patterns_of,
    split_magnitude,
    taken_apart,
    unsigned,
)

__all__ = [
    "DATE_ORDERS",
    "Found",
    "ValueFormat",
    "find_spelling",
    "is_code",
    "is_in_digits",
    "is_placeholder_word",
    "truth_words",
]

#: A column is of a kind where at least this share of its values is.
MEANT = 0.95
# This share of numbers is enough where all other values are the same one or two words.
_MEANT_BUT_FOR_WORDS, _FEW_WORDS = 0.9, 2
#: Where there are fewer values than this, all must be numbers.
_FEWEST = 20
# Amounts of a currency that fewer rows have are slips.
_FEWEST_AMOUNTS = 5

# Texts that stand for no value.  In a column of words some of these are levels.
_NO_VALUE = frozenset(
    [
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "n.a.",
        "n.a",
        "n/a",
        "na",
        "n/d",
        "nd",
        "none",
        "null",
        "nil",
        "nan",
        "missing",
        "unknown",
        "unk",
        "tbd",
        "tba",
        "undefined",
        "unavailable",
        "#value!",
        "#ref!",
        "#div/0!",
        "#num!",
        "#name?",
        "#n/a",
        "nc",
        "n.c.",
        "n/c",
        "nr",
        "n.r.",
        "s/d",
        "k.a.",
        "blank",
        "(blank)",
        "empty",
        "(empty)",
        "not reported",
        "not recorded",
        "not measured",
        "not done",
        "pending",
        "s.o.",
        "o.a.",
        "o. a.",
        "k. a.",
        "keine angabe",
        "ohne angabe",
        "unbekannt",
        "nicht gemessen",
        "nicht bekannt",
        "entfällt",
        "non renseigné",
        "non disponible",
        "inconnu",
        "sans objet",
        "不明",
        "未記入",
        "なし",
    ]
) | {"not available", "not applicable", "no data"}
# Those that may be classes: severity none, a negative culture ("nd": not detected), a dash.
_CLASSES = frozenset(["none", "nil", "nd", "n/d", "nr", "nc", "na", "-", ".", "なし", "pending"])


def is_placeholder_word(text: str) -> bool:
    """Whether a label is a word that stands for a missing one, and hardly names a class."""
    return text.lower() in _NO_VALUE - _CLASSES


# ------------------------------------------------------------------------------- truth values

_TRUTH = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("1", "0"))
_SIDES = {word: side for pair in _TRUTH for side, word in enumerate(pair)}


def truth_words(text: str) -> tuple[str, ...]:
    """All words that mean the truth value that a word means, in lower case.

    Examples
    --------
    >>> from separatrix.tables.value_format import truth_words
    >>> truth_words("Yes")
    ('true', 'yes', 'y', 't', 'on', '1')
    """
    side = _SIDES.get(text.lower())
    return tuple(word for word, own in _SIDES.items() if own == side)


# ----------------------------------------------------------------------------------- spellings


PARTED = ("list", "coordinates", "amounts")
"""The kinds of columns that are split into several."""
NEW_KINDS = ("measure", "share", "angle", "levels", *PARTED)
"""The kinds that model files have from version 7 of an encoding on."""
_KINDS = ("number", "date", "truth", "ordered", *NEW_KINDS)
# The contents of cells, by the kind of their format.
_CONTENTS = {
    "share": "shares",
    "angle": "angles, in degrees",
    "list": "lists, of which each value has a column",
    "coordinates": "pairs of coordinates, of which each has a column",
    "amounts": "amounts in several currencies, of which each has a column",
}


@dataclass(frozen=True)
class ValueFormat:
    """The format of the values of one column.

    Attributes
    ----------
    kind : str
        ``"number"``, ``"date"``, ``"truth"`` or ``"ordered"``; ``"measure"``, ``"share"`` or
        ``"angle"``, as :mod:`~separatrix.tables.quantities` reads them; ``"levels"``, of which some
        are spelled in several ways; ``"list"``, ``"coordinates"`` or ``"amounts"``, which have
        several columns, as :mod:`~separatrix.tables.cell_parts` takes them apart.
    decimal : {".", ","}
        The mark before the fraction of numbers.
    unit : str
        For numbers, the text beside them, such as ``"$"``, ``"%"`` or ``"kg"``; for measures, the
        unit into which all are converted, ``"s"`` for durations; for lists, the separator.
    magnitudes : bool
        Whether ``k``, ``M`` and ``B`` multiply numbers.
    order : str
        For dates, one of :data:`DATE_ORDERS`, or a format of ``strptime``; for measures, one of
        :data:`~separatrix.tables.quantities.CLOCKS`.
    words : tuple of str
        For truth values, the words for true and for false; for ordered levels, these from the
        lowest to the highest; for levels, the name of each; for columns that are taken apart, the
        parts.
    """

    kind: str
    decimal: str = "."
    unit: str = ""
    magnitudes: bool = False
    order: str = ""
    words: tuple[str, ...] = ()

    def number(self, text: str) -> float | None:
        """The number, or days since 1970-01-01, that a text means; None where it means none.

        Parameters
        ----------
        text : str
            Without blanks around it.

        Returns
        -------
        float or None

        Examples
        --------
        >>> from separatrix.tables.value_format import ValueFormat
        >>> ValueFormat("number", unit="$").number("($1,063.50)")
        -1063.5
        >>> ValueFormat("date", order="day-first").number("05/09/2025")
        20336.0
        """
        if self.kind == "date":
            return days_since_epoch(text, self.order)
        if self.kind == "ordered":
            return float(self.words.index(text)) if text in self.words else None
        if self.kind == "measure":
            return quantities.measure(text, self.unit, self._numeral, self.order)
        if self.kind == "share":
            return quantities.share(text, self._numeral)
        if self.kind == "angle":
            return quantities.angle(text)
        unit, value = self.amount(text) or ("", None)
        if value is None or unit in ("", SAME_CURRENCY.get(self.unit, self.unit)):
            return value
        # Later tables may have other units than that of the fit.
        by = quantities.conversion(unit, self.unit)
        return None if by is None else quantities.converted(value, by)

    @property
    def patterns(self) -> tuple[str, str, str] | None:
        """Regular expressions of its numbers; None where a text needs more than these.

        As :func:`~separatrix.tables.written_numbers.patterns_of` states them. Numbers of a unit
        that others are converted into, and those with magnitudes, need more.
        """
        if self.kind != "number" or self.magnitudes:
            return None
        if quantities.conversion(self.unit, self.unit) is not None:
            return None
        return patterns_of(self.unit, self.decimal)

    def amount(self, text: str) -> tuple[str, float] | None:
        """The unit and the number that a text is made of; None where it is none.

        Currencies that have a sign are called by it.
        """
        written = taken_apart(text)
        return None if written is None else self._amount(written)

    def _amount(self, written: Written) -> tuple[str, float] | None:
        value = unsigned(written.body, self.decimal, written.exponent)
        if value is None:
            return None
        if not written.unit:
            return "", written.sign * value
        unit, magnitude = split_magnitude(written.unit) if self.magnitudes else (written.unit, "")
        return SAME_CURRENCY.get(unit, unit), written.sign * value * MAGNITUDES.get(magnitude, 1.0)

    def _numeral(self, body: str) -> float | None:
        return unsigned(body, self.decimal)

    def reads(self, text: str) -> bool:
        """Whether a text is one of those that are written so."""
        if self.kind in ("truth", "levels"):
            return True
        if self.kind == "list":
            return set(parts.items(text, self.unit)) <= set(self.words)
        if self.parts:
            return self.apart(text) is not None
        return self.number(text) is not None

    def word(self, text: str) -> str:
        """A level or a truth word in its usual spelling; other texts as they are."""
        if self.kind == "levels":
            return self._spellings.name(text)
        side = _SIDES.get(text.lower())
        return text if side is None else self.words[side]

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.words)

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns that a column is taken apart into; none for most."""
        return self.words if self.kind in PARTED else ()

    @property
    def contents(self) -> str:
        """The contents of cells that hold more than a number, a date or a word; else empty."""
        if self.kind == "measure":
            return "durations, in seconds" if self.unit == "s" else f"quantities, in {self.unit}"
        return _CONTENTS.get(self.kind, "")

    @property
    def nothing(self) -> float:
        """The value of the parts of an empty cell: 0 for a list, which has no value; else NaN."""
        return 0.0 if self.kind == "list" else math.nan

    def apart(self, text: str) -> tuple[float, ...] | None:
        """The number that a text has for each of the parts, NaN for none; None for other texts."""
        if self.kind == "list":
            own = parts.items(text, self.unit)
            return tuple(float(word in own) for word in self.words)
        if self.kind == "coordinates":
            return parts.coordinates(text)
        return self.spread(self.amount(text))

    def spread(self, amount: tuple[str, float] | None) -> tuple[float, ...] | None:
        """The number of an amount in the column of its currency, NaN in others."""
        if amount is None or amount[0] not in self.words:
            return None
        own = [math.nan] * len(self.words)
        own[self.words.index(amount[0])] = amount[1]
        return tuple(own)

    def state(self) -> dict[str, Any]:
        """The attributes that differ from the usual, for a file."""
        return {
            "kind": self.kind,
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name in ("decimal", "unit", "magnitudes", "order", "words")
                if (value := getattr(self, name)) != getattr(ValueFormat, name)
            },
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ValueFormat:
        """The spelling that a file holds; ValueError where it is none."""
        form = cls(**{**state, "words": tuple(state.get("words", ()))})
        texts = (form.kind, form.decimal, form.unit, form.order, *form.words)
        if not all(isinstance(text, str) for text in texts) or form.magnitudes not in (True, False):
            raise ValueError("a part of a spelling is not a text")
        if form.kind not in _KINDS or form.decimal not in (".", ","):
            raise ValueError(f"there is no spelling {form.kind!r} with the mark {form.decimal!r}")
        different = len(set(form.words)) == len(form.words)
        fits = {
            "truth": len(form.words) == 2,
            "ordered": len(set(form.words)) > 1,
            "levels": bool(form.words) and different,
            "list": bool(form.words) and different and form.unit in parts.SEPARATORS,
            "coordinates": sorted(form.words) == sorted(parts.COORDINATES),
            "amounts": len(form.words) > 1 and different,
            "measure": bool(form.unit) and not form.words,
        }
        orders = {"date": bool(form.order), "measure": form.order in quantities.CLOCKS}
        if not (fits.get(form.kind, not form.words) and orders.get(form.kind, not form.order)):
            raise ValueError(f"the parts of the spelling {form.kind!r} do not match")
        return form


@dataclass(frozen=True)
class Found:
    """The format that was found for a column, and its cells that do not fit.

    Attributes
    ----------
    spelling : ValueFormat
    example : str
        A text that is written so.
    ambiguous : str
        A text that another decimal mark or order would give another meaning, where no text
        decides; empty otherwise.
    strays : tuple of str
        Texts that are not of the kind, most frequent first; they are in ``n_strays`` rows.
    marks : mapping of str to int
        Texts that stand for a missing value, and the number of rows with each.
    plain : bool
        Whether all that are numbers are plain ones.
    known : bool
        Whether the spelling was known before.
    merged : mapping of str to str
        Other spellings of levels, and the levels.
    numbers : mapping of str to float, or to tuple of float
        The values that texts were read as, where known; every part for columns that are taken
        apart.
    """

    spelling: ValueFormat
    example: str = ""
    ambiguous: str = ""
    strays: tuple[str, ...] = ()
    n_strays: int = 0
    marks: Mapping[str, int] = field(default_factory=dict)
    plain: bool = False
    known: bool = False
    merged: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)


def find_spelling(
    texts: Iterable[str],
    *,
    decimal: str | None = None,
    order: str | None = None,
    comma: bool = False,
    insisted: str | None = None,
    keep_levels: bool = False,
) -> Found | None:
    """The format of a column of strings that mean more than words.

    Parameters
    ----------
    texts : iterable of str
        The values that are there, without blanks around them.
    decimal : {".", ","}, optional
        The decimal mark, where it is known.
    order : str, optional
        The order of dates, or a format of ``strptime``, where it is known.
    comma : bool
        Whether a decimal comma is the likelier of two readings.
    insisted : {"number", "date"}, optional
        A kind that the column is to have, whatever the share of its values.
    keep_levels : bool
        Whether levels that are spelled in several ways stay apart.

    Returns
    -------
    Found or None
        None where the values are words, or all plain numbers.

    Examples
    --------
    >>> from separatrix.tables.value_format import find_spelling
    >>> found = find_spelling(["$1,063", "$12.50", "($3)"])
    >>> found.spelling.unit, found.spelling.decimal
    ('$', '.')
    >>> find_spelling(["red", "green"]) is None
    True
    """
    counts = texts if isinstance(texts, Mapping) else Counter(texts)
    marks = {text: n for text, n in counts.items() if text.lower() in _NO_VALUE}
    values = {text: n for text, n in counts.items() if text not in marks}
    if not values:
        return None
    total = sum(values.values())
    # Most columns of words show in a few values that they are no numbers.
    some = quantities.sample_texts(values)
    words = partial(_of_words, values, some, marks, total, decimal, comma, keep_levels)
    if insisted is None and not quantities.half_are(some, partial(_looks_countable, order=order)):
        return words()
    found = [
        one
        for one in _kinds_of(values, some, decimal, order, comma, insisted)
        if one is not None and insisted in (None, "date" if one[0].kind == "date" else "number")
    ]
    if not found:
        return words()
    spelling, meant, ambiguous, known = max(found, key=lambda one: one[1])
    numbers = {text: known[text] if text in known else spelling.number(text) for text in values}
    strays = sorted(
        (text for text, number in numbers.items() if number is None), key=lambda t: -values[t]
    )
    few_words = spelling.kind != "date" and len(strays) <= _FEW_WORDS
    least = (_MEANT_BUT_FOR_WORDS if few_words else MEANT) * total
    if insisted is None and not (meant == total or (meant >= least and total >= _FEWEST)):
        return words()
    if insisted is None and spelling.kind == "number" and any(map(is_code, values)):
        return None
    lost = set(strays)
    written = [t for t in values if t not in lost and not _is_plain(t, spelling)]
    example = next(
        (t for t in written if spelling.kind == "measure" and _is_converted(t, spelling)), ""
    )
    # A text that loses something when it is read is the better example.
    marked = (t for t in written if t[0] in LIMITS or t[-1] in FOOTNOTES)
    example = example or next(marked, "") or next(iter(written), "")
    if not example and not strays and not marks:
        return None
    n_strays = sum(values[text] for text in strays)
    return Found(
        spelling, example, ambiguous, tuple(strays), n_strays, marks, not example, numbers=numbers
    )


_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def _is_plain(text: str, spelling: ValueFormat) -> bool:
    """Whether Python reads a text as the spelling does."""
    if spelling.kind == "date" or _PLAIN.fullmatch(text) is None:
        return False
    return spelling.decimal == "." or "." not in text


def _is_converted(text: str, spelling: ValueFormat) -> bool:
    return quantities.units_of(text) not in ([], [spelling.unit])


def is_code(text: str) -> bool:
    """Whether a text is digits that begin with a zero: ``007``, but not ``0`` or ``0.5``."""
    return len(text) > 1 and text[0] == "0" and text.isascii() and text.isdigit()


def _looks_countable(text: str, order: str | None) -> bool:
    return any(c.isdigit() for c in text) and (
        NUMBER.fullmatch(text) is not None
        or _looks_like_date(text, order)
        or quantities.is_quantity_text(text)
    )


def is_in_digits(texts: Collection[str], order: str | None) -> bool:
    """Whether half of some texts look like a number or a date, or have no more letters than digits.

    Examples
    --------
    >>> from separatrix.tables.value_format import is_in_digits
    >>> is_in_digits(["01/02/2021 04:00 AM"], None), is_in_digits(["4 of us came"], None)
    (True, False)
    """

    def in_digits(text: str) -> bool:
        if _looks_countable(text, order):
            return True
        digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
        return 0 < digits >= letters

    return quantities.half_are(quantities.sample_texts(texts), in_digits)


def _looks_like_date(text: str, order: str | None) -> bool:
    return (order is not None and days_since_epoch(text, order) is not None) or any(
        pattern.fullmatch(text) is not None for pattern in DATES
    )


_Read = tuple[ValueFormat, float, str, Mapping[str, Any]]
"""A spelling, the number of its rows, an ambiguous text, and the values of the texts it reads."""

# The number of texts of a column that are looked at first: the most frequent ones, and others.
_FREQUENT_FIRST, _OTHERS_FIRST = 20, 200
# The least share of these texts that a reading has to fit before it is tried on all.
_LIKELY = 0.8


def _some_of(values: Mapping[str, int]) -> Mapping[str, float]:
    """A sample of the texts of a column, and the number of rows that each stands for."""
    if len(values) <= _FREQUENT_FIRST + _OTHERS_FIRST:
        return values
    frequent = nlargest(_FREQUENT_FIRST, values, key=values.__getitem__)
    few: dict[str, float] = {text: values[text] for text in frequent}
    others = [text for text in values if text not in few]
    some = others[:: len(others) // _OTHERS_FIRST]
    rows = sum(values.values()) - sum(few.values())
    each = rows / sum(values[text] for text in some)
    few.update((text, each * values[text]) for text in some)
    return few


def _numbers(values: Mapping[str, float], marks: Sequence[str], comma: bool) -> _Read | None:
    """The best spelling of numbers with one of some decimal marks."""
    written = {text: one for text in values if (one := taken_apart(text)) is not None}
    # Among numbers <0.5 is a limit of detection, which is read as 0.5; alone it is a class.
    limits = sum(values[text] for text in written if text[0] in LIMITS)
    if not written or 2 * limits > sum(values.values()):
        return None
    whole: dict[str, float] = {}
    for text, one in written.items():
        whole[one.unit] = whole.get(one.unit, 0) + values[text]
    units = whole
    # One magnitude on every value is a unit like others.
    magnitudes = {split_magnitude(unit)[1] for unit in whole}
    multiply = len(magnitudes) > 1
    if multiply:
        units = {}
        for unit, n in whole.items():
            bare = split_magnitude(unit)[0]
            units[bare] = units.get(bare, 0) + n
    for unit in [unit for unit in units if SAME_CURRENCY.get(unit) in units]:
        units[SAME_CURRENCY[unit]] += units.pop(unit)
    # Letters beside a few of the numbers are slips (12O) and no unit.
    known = sum(units.values())
    named = [
        unit
        for unit, n in sorted(units.items(), key=lambda one: -one[1])
        if unit and (unit in CURRENCIES or not unit[0].isalpha() or 2 * n >= known)
    ]
    base = ValueFormat("number", unit=named[0] if named else "", magnitudes=multiply)
    candidates = [replace(base, decimal=mark) for mark in marks]
    # Without those in other units, which are converted if all of the column's can be.
    own = {"", base.unit, SAME_CURRENCY.get(base.unit, base.unit)}
    each = [
        {text: value for text, parted in written.items()
         for unit, value in [one._amount(parted) or ("", None)] if unit in own}
        for one in candidates
    ]  # fmt: skip
    meant = [
        sum(values[text] for text, value in known.items() if value is not None) for known in each
    ]
    best = max(
        range(len(candidates)), key=lambda k: (meant[k], comma == (candidates[k].decimal == ","))
    )
    ambiguous = ""
    if len(candidates) == 2 and meant[0] == meant[1]:
        by_point, by_comma = each
        ambiguous = next((text for text in written if by_point.get(text) != by_comma.get(text)), "")
    return candidates[best], meant[best], ambiguous, each[best]


def _kinds_of(
    values: Mapping[str, int],
    some: Sequence[str],
    decimal: str | None,
    order: str | None,
    comma: bool,
    insisted: str | None,
) -> Iterator[_Read | None]:
    """Yield the readings of a column that at least half of ``some`` texts look like."""

    def likely(looks: Callable[[str], Any]) -> bool:
        return insisted is not None or quantities.half_are(some, looks)

    few = _some_of(values)
    least = _LIKELY * sum(few.values())
    # The mark of the fraction matters where there is one.
    tried = (decimal,) if decimal is not None else (",", ".") if comma else (".", ",")
    if not any("," in text or "." in text for text in values):
        tried = tried[:1]

    def plausible(names: Sequence[str], read: Callable[[str], _Read | None]) -> Sequence[str]:
        """The names by which enough of a few texts are read; this rules out most for all texts."""
        if insisted is not None:
            return names
        return [name for name in names if (found := read(name)) and found[1] >= least]

    if likely(NUMBER.fullmatch):
        marks = plausible(tried, lambda mark: _numbers(few, [mark], comma))
        if marks:
            yield _numbers(values, marks, comma)
    if insisted != "number" and likely(lambda text: _looks_like_date(text, order)):
        orders = plausible(
            DATE_ORDERS if order is None else (order,), lambda one: _dates(few, [one])
        )
        if orders:
            yield _dates(values, orders)
    if insisted == "date" or not likely(quantities.is_quantity_text):
        return
    kinds = ["share"] if insisted or quantities.is_share(values) else []
    kinds += ["angle"] if likely(quantities.angle) else []
    for mark in tried:
        numeral = partial(unsigned, decimal=mark)
        measured = quantities.find_measure(values, numeral, insisted=insisted is not None)
        if measured is not None:
            unit, pair, meant, known = measured
            yield ValueFormat("measure", mark, unit, order=pair), meant, "", known
        for kind in kinds:
            one = ValueFormat(kind, mark)
            known = {text: one.number(text) for text in values}
            meant = sum(n for text, n in values.items() if known[text] is not None)
            yield (one, meant, "", known) if meant else None


def _of_words(
    values: Mapping[str, int],
    some: Sequence[str],
    marks: Mapping[str, int],
    total: int,
    decimal: str | None,
    comma: bool,
    keep_levels: bool,
) -> Found | None:
    """The format of a column that holds no numbers, or None."""
    if not keep_levels and (truth := _truth(values, marks, total)) is not None:
        return truth
    candidates: list[tuple[ValueFormat, Mapping[str, Any]]] = []
    if quantities.half_are(some, lambda text: any(map(str.isdigit, text))):
        mark = decimal or ("," if comma else ".")
        candidates += _in_digits(values, some, mark)
    separated = any(mark in text for mark in parts.SEPARATORS for text in some)
    if separated and not candidates and (listed := parts.find_list(values)) is not None:
        one = ValueFormat("list", unit=listed[0], words=listed[1])
        candidates.append((one, {text: one.apart(text) for text in values}))
    for one, read in candidates:
        strays = sorted((t for t in values if read[t] is None), key=lambda t: (-values[t], t))
        n_strays = sum(values[text] for text in strays)
        if total >= _FEWEST and total - n_strays >= MEANT * total:
            there = [text for text in values if read[text] is not None]
            # For lists, a text with several values.
            example = next((text for text in there if one.unit in text), there[0])
            return Found(one, example, "", tuple(strays), n_strays, marks, numbers=read)
    if keep_levels or not (names := merged_levels({**values, **marks} if marks else values)):
        return None
    merged = {text: name for text, name in names.items() if text != name}
    return Found(
        ValueFormat("levels", words=tuple(sorted(set(names.values())))), next(iter(merged)),
        merged=merged,
    )  # fmt: skip


def _in_digits(
    values: Mapping[str, int], some: Sequence[str], mark: str
) -> Iterator[tuple[ValueFormat, Mapping[str, Any]]]:
    """Yield the readings of texts with digits that are no numbers: ranges, coordinates, amounts."""
    levels = [*values] if 2 * len(values) <= sum(values.values()) else []
    ranges = quantities.ordered_ranges(levels, partial(unsigned, decimal=mark))
    if ranges:
        one = ValueFormat("ordered", words=ranges)
        yield one, {text: one.number(text) for text in values}
    if sum(parts.coordinates(text) is not None for text in some) >= MEANT * len(some):
        pairs = {text: parts.coordinates(text) for text in values}
        first = parts.has_longitude_first(pairs)
        yield ValueFormat("coordinates", words=parts.COORDINATES[:: -1 if first else 1]), pairs
    if (currencies := _currencies(values, some, mark)) is not None:
        yield currencies


def _currencies(
    values: Mapping[str, int], some: Sequence[str], mark: str
) -> tuple[ValueFormat, Mapping[str, Any]] | None:
    """The format of amounts in several currencies, and what they are read as; None for others."""
    written = [one for text in some if (one := taken_apart(text)) is not None]
    if len(written) < MEANT * len(some) or len({one.unit for one in written}) < 2:
        return None
    amounts = ValueFormat("amounts", mark, magnitudes=True)
    read = {text: amounts.amount(text) for text in values}
    rows: Counter[str] = Counter()
    for text, amount in read.items():
        if amount is not None:
            rows[amount[0]] += values[text]
    known = sorted(unit for unit, n in rows.items() if unit in CURRENCIES and n >= _FEWEST_AMOUNTS)
    if len(known) < 2:
        return None
    amounts = replace(amounts, words=tuple(known))
    return amounts, {text: amounts.spread(amount) for text, amount in read.items()}


def _dates(values: Mapping[str, float], orders: Sequence[str]) -> _Read | None:
    """The best of some orders of dates."""
    each = {one: {text: days_since_epoch(text, one) for text in values} for one in orders}
    meant = {
        one: sum(values[text] for text, value in known.items() if value is not None)
        for one, known in each.items()
    }
    best = max(orders, key=lambda one: (meant[one], _preference(one, values)))
    if meant[best] == 0:
        return None
    ambiguous = ""
    other = {"day-first": "month-first", "month-first": "day-first"}.get(best)
    # Where points part them the day comes first.
    if other in each and meant[other] == meant[best] and not any("." in text for text in values):
        known, also = each[best], each[other]
        ambiguous = next((text for text in values if known[text] != also[text]), "")
    return ValueFormat("date", order=best), meant[best], ambiguous, each[best]


def _preference(order: str, values: Iterable[str]) -> int:
    """The rank of an order among undecided ones: points put the day first, strokes the month."""
    dotted = any("." in text for text in values)
    return {"day-first": 1 + dotted, "month-first": 1 + (not dotted)}.get(order, 3)


def _truth(values: Mapping[str, int], marks: Mapping[str, int], total: int) -> Found | None:
    """Truth values that are spelled in more than one way."""
    if not set(map(str.lower, values)) <= set(_SIDES) or len(values) <= 2:
        return None
    names = []
    for side in (0, 1):
        own = {text: n for text, n in values.items() if _SIDES[text.lower()] == side}
        if not own:
            return None
        names.append(max(own, key=lambda text: own[text]))
    return Found(ValueFormat("truth", words=tuple(names)), next(iter(values)), marks=dict(marks))


def checked_order(order: str | None) -> str | None:
    """An order of dates; DataError where it is neither a name nor a format."""
    if order is None or order in DATE_ORDERS or "%" in order:
        return order
    known = ", ".join(DATE_ORDERS)
    raise DataError(Message("no_order_of_dates", order=repr(order), known=known))
