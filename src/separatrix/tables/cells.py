"""The columns of an encoding as functions of the cells of a row that a caller gives.

A caller gives numbers, texts and dates. How the texts of a file were read as numbers is known here
as far as other languages can do it: levels in their order, truth words and levels that are spelled
in several ways are compared as texts; numbers with marks, signs and one unit are read by regular
expressions, where the language has them; durations, shares, amounts with magnitudes, lists and
coordinates are given as the numbers that they were read as.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.tables.column_parts import source_of
from separatrix.tables.date_parts import FIRST_DAY, LAST_DAY, level_numbers, part_of
from separatrix.tables.features import (
    Arithmetic,
    Cell,
    Compare,
    Condition,
    Constant,
    DatePart,
    IsLevel,
    IsMissing,
    Number,
    Parsed,
    Where,
)
from separatrix.tables.level_spellings import unaccented
from separatrix.tables.table import LevelMatch, number_text, quote, spelled_number
from separatrix.tables.value_format import ValueFormat, truth_words

ZERO, ONE = Constant(0.0), Constant(1.0)


@dataclass(frozen=True)
class Column:
    """A column of an encoding.

    Attributes
    ----------
    value : Number
        Its number, or its cell of text.
    guards : tuple of (Condition, bool)
        Conditions in the order of their evaluation, each with the outcome that it has to have: the
        column has a value where all of them do.
    spelling : ValueFormat, optional
        The spelling by which its texts are read as levels.
    levels : mapping of str to int
        The numbers of levels that are parts of dates; empty for texts.
    """

    value: Number
    guards: tuple[tuple[Condition, bool], ...]
    spelling: ValueFormat | None = None
    levels: Mapping[str, int] = field(default_factory=dict)

    def filled(self, number: Number, otherwise: Number) -> Number:
        """A number where the column has a value, and another elsewhere."""
        for condition, there in reversed(self.guards):
            first, second = (number, otherwise) if there else (otherwise, number)
            number = Where(condition, first, second)
        return number

    def indicator(
        self, levels: Sequence[str], match: LevelMatch, then: Number = ONE, other: Number = ZERO
    ) -> Number:
        """A number where the column has one of some levels, and another where it has none."""
        if self.levels:
            number = other
            for level in reversed(levels):
                equal = Compare("==", self.value, Constant(float(self.levels[level])))
                number = Where(equal, then, number)
            return self.filled(number, other)
        assert isinstance(self.value, Cell)
        texts = dict.fromkeys(text for level in levels for text in self._texts(level, match))
        return Where(IsLevel(self.value, tuple(texts)), then, other) if texts else other

    def without_marks(self, match: LevelMatch) -> Column:
        """A column of texts in which those that files write for a missing value are missing."""
        if self.levels:
            return self
        assert isinstance(self.value, Cell)
        marks = IsLevel(self.value, match.missing_marks())
        return Column(self.value, (*self.guards, (marks, False)))

    def _texts(self, level: str, match: LevelMatch) -> list[str]:
        """The texts that are compared: a level, and others that are read as it."""
        others: list[str] = []
        number = spelled_number(level)
        if number is not None and not math.isnan(number):
            others += [number_text(number), repr(number)]
            if number in (0.0, 1.0):
                others += _cased("true" if number else "false")
        if self.spelling is not None:
            truth = self.spelling.kind == "truth"
            bare = level.rstrip(".")
            words = truth_words(level) if truth else (bare, unaccented(bare))
            written = (text for word in words for text in (_mixed if truth else _cased)(word))
            others += [text + end for text in written for end in ("", ".")]
        read = self.spelling.word if self.spelling is not None else str
        own = match.find(level)
        return [level, *(text for text in others if match.find(read(text)) == own)]


def _cased(word: str) -> list[str]:
    """A word as it is, and in the three usual cases."""
    return [word, word.lower(), word.upper(), word.capitalize()]


def _mixed(word: str) -> list[str]:
    """A word of ASCII letters in all mixtures of lower and upper case."""
    letters = ({letter.lower(), letter.upper()} for letter in word)
    return ["".join(text) for text in itertools.product(*map(sorted, letters))]


def less(number: Number, value: float) -> Number:
    """A number less a constant."""
    return Arithmetic("-", number, Constant(value)) if value else number


def divided(number: Number, value: float) -> Number:
    """A number divided by a constant."""
    return number if value == 1.0 else Arithmetic("/", number, Constant(value))


def column_of(
    name: str, kind: str, *, dates: Mapping[str, bool], encoder: Any, parsed: bool = False
) -> tuple[Column, tuple[str, ...]]:
    """A column of a fitted encoder, and sentences about how its cells are to be given.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "text"}
    dates : mapping of str to bool
        The columns that can be dates, and whether one is known to be.
    encoder : Encoder
    parsed : bool
        Whether the language reads numbers that are written as texts.
    """
    spellings, codes = encoder.spellings_, encoder.placeholders_
    spelling = spellings.get(name)
    source = source_of(name, spellings)
    part = part_of(name)
    numbers = {} if part is None else level_numbers(part[1])
    # Months and weekdays are levels, years and hours numbers.
    is_part = bool(numbers) == (kind == "category")
    if source is not None and source in spellings and spellings[source].parts:
        return _apart(name, source, spellings[source], codes.get(name, ()))
    if part is not None and part[0] in dates and is_part:
        date = Cell(part[0], "date")
        guards: list[tuple[Condition, bool]] = [
            (IsMissing(date, codes.get(part[0], ())), False),
            (Compare("<", date, Constant(FIRST_DAY)), False),
            (Compare("<=", date, Constant(LAST_DAY)), True),
        ]
        value = DatePart(date, part[1])
        remarks = _of_numbers(part[0], spellings.get(part[0]))
        return _coded(value, guards, codes.get(name, ()), numbers), remarks
    if kind != "number":
        cell = Cell(name, "text")
        own = spelling if spelling is not None and spelling.kind in ("truth", "levels") else None
        return Column(cell, ((IsMissing(cell), False),), own), _of_levels(name, kind, own)
    if spelling is not None and spelling.kind == "ordered":
        cell = Cell(name, "text")
        number: Number = Constant(float(len(spelling.words) - 1))
        for place, word in reversed([*enumerate(spelling.words[:-1])]):
            number = Where(IsLevel(cell, (word,)), Constant(float(place)), number)
        return _coded(number, [(IsLevel(cell, spelling.words), True)], codes.get(name, ())), ()
    cell = Cell(name, "date" if dates.get(name) else "number")
    remarks = _of_numbers(name, spelling)
    if parsed and spelling is not None and (patterns := spelling.patterns) is not None:
        whole, never, negative = patterns
        cell = Parsed(name, whole=whole, never=never, negative=negative, decimal=spelling.decimal)
        remarks = _of_texts(name, spelling)
    gone = IsMissing(cell, codes.get(name, ()))
    return Column(cell, ((gone, False),)), remarks


def _coded(
    value: Number,
    guards: list[tuple[Condition, bool]],
    codes: Sequence[float],
    levels: Mapping[str, int] | None = None,
) -> Column:
    """A column of which some numbers stand for missing ones."""
    guards += [(Compare("==", value, Constant(code)), False) for code in codes]
    return Column(value, tuple(guards), levels=levels or {})


def _apart(
    name: str, source: str, spelling: ValueFormat, codes: Sequence[float]
) -> tuple[Column, tuple[str, ...]]:
    """A column that is a part of another one, and is given by itself."""
    cell = Cell(name)
    remark = f"Column {quote(source)} holds {spelling.contents}: give {quote(name)} by itself"
    how = "1 where the list has the value and else 0" if spelling.kind == "list" else "as a number"
    return Column(cell, ((IsMissing(cell, tuple(codes)), False),)), (f"{remark}, {how}.",)


def _of_levels(name: str, kind: str, spelling: ValueFormat | None) -> tuple[str, ...]:
    """Sentences about the texts of a column, which may have several spellings of its levels."""
    blanks = "Give levels without blanks at their ends, which reading a file takes off."
    if spelling is None or spelling.kind == "truth":
        return (blanks,) if kind == "category" else ()
    return (
        blanks,
        f"Column {quote(name)} was read with several spellings of its levels: the usual ones are "
        "listed, and a text that is not is a level that was not seen in the fit.",
    )


def _of_texts(name: str, spelling: ValueFormat) -> tuple[str, ...]:
    """A sentence about a column of numbers, or of texts that are read as numbers."""
    unit = f" in {spelling.unit}" if spelling.unit else ""
    mark = "comma" if spelling.decimal == "," else "point"
    return (
        f"Column {quote(name)} is read as in the fit, from numbers or from texts of numbers{unit} "
        f"with a decimal {mark}; a text that is none counts as missing.",
    )


def _of_numbers(name: str, spelling: ValueFormat | None) -> tuple[str, ...]:
    """A sentence about a column whose numbers were read from texts."""
    if spelling is None:
        return ()
    if spelling.kind == "date":
        return (
            f"Column {quote(name)} was read from texts, as dates: give dates (in SQL also texts "
            "such as 2024-12-31).",
        )
    what = spelling.contents or "numbers" + (f" in {spelling.unit}" if spelling.unit else "")
    number = ValueFormat("number", spelling.decimal)
    example = "1.234,5" if spelling.decimal == "," else "1,234.5"
    written = f" (1234.5 for {quote(example)})" if number.number(example) == 1234.5 else ""
    return (
        f"Column {quote(name)} was read from texts, as {what}: give the number alone"
        + (written if not spelling.contents else "")
        + ".",
    )
