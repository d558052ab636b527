"""Columns of strings that mean numbers, dates or truth values, read as what they mean.

:mod:`~separatrix.tables.value_format` finds the format of a column; here the columns of a table are
read by it, and notes state what is read as what, which of two readings was taken where nothing
decides, and which cells count as missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting, counted
from separatrix.tables.categorical import Categorical
from separatrix.tables.cell_parts import items
from separatrix.tables.column_parts import part_names, with_parts
from separatrix.tables.level_spellings import misspellings
from separatrix.tables.quantities import (
    clock_question,
    ranges_question,
    share_question,
    units_question,
)
from separatrix.tables.table import (
    Faults,
    Remarks,
    Table,
    as_numbers,
    date_note,
    joined,
    masked,
    missing_mask,
    number_column,
    number_text,
    numbers_from_text,
    quote,
    spelled_number,
    spelled_numbers,
    text_counts,
)
from separatrix.tables.value_format import (
    DATE_ORDERS,
    PARTED,
    Found,
    ValueFormat,
    find_spelling,
    is_code,
    is_in_digits,
)
from separatrix.tables.written_numbers import unsigned

# With fewer distinct numbers beside words, a column has levels that are called by numbers.
_FEW_NUMBERS = 10

_MONTH_NAME = re.compile(r"[^\W\d_]{3}|[年년]")
_NOUNS = {
    "date": "date",
    "ordered": "known level",
    "measure": "quantity in a unit that can be converted",
    "share": "share",
    "angle": "angle",
    "coordinates": "pair of coordinates",
    "amounts": "amount in one of the currencies",
}


@dataclass(frozen=True)
class Reading:
    """The options for reading strings.

    Attributes
    ----------
    decimal : {".", ","} or None
        The decimal mark of all columns, where it is known.
    order : str or None
        The order of all dates, where it is known.
    spellings : mapping of str to ValueFormat
        The spellings of columns that were found before.
    target : str or None
        The column to predict, no cell of which may be lost.
    comma : bool
        Whether a decimal comma is the likelier of two readings.
    plain : bool
        Whether strings that are plain numbers but for some may become numbers.
    only_known : bool
        Whether to read the columns of ``spellings`` alone.
    ordered : frozenset of str
        Columns whose levels the caller has put in order, none of whose cells may be lost.
    missing : tuple of float
        Numbers that stand for missing values.
    keep_levels : bool
        Whether levels that are spelled in several ways stay apart.
    """

    decimal: str | None = None
    order: str | None = None
    spellings: Mapping[str, ValueFormat] = field(default_factory=dict)
    target: str | None = None
    comma: bool = False
    plain: bool = True
    only_known: bool = False
    ordered: frozenset[str] = frozenset()
    missing: tuple[float, ...] = ()
    keep_levels: bool = False


def respelled(table: Table, wanted: Mapping[str, str], reading: Reading) -> Table:
    """The table with its columns of strings read as what they mean.

    Parameters
    ----------
    table : Table
    wanted : mapping of str to str
        Kinds that the caller requested.
    reading : Reading

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If a column that is to hold numbers or dates has a cell that is none.
    """
    columns, faults = _Columns(table, reading.missing), Faults()
    for name in table.names:
        column = table.columns[name]
        kind = wanted.get(name)
        if column.dtype != object or kind in ("category", "text", "ignore"):
            continue
        gone = missing_mask(column)
        if gone.all():
            continue
        known = reading.spellings.get(name)
        if known is not None and table.spellings.get(name) == known:
            continue  # it was read so
        if known is not None and name in reading.ordered:
            with faults.gathered():
                columns.put_in_order(name, column, known)
        elif known is not None:
            texts = text_counts(column)
            strays = tuple(sorted(text for text in texts if not known.reads(text)))
            n = sum(texts[text] for text in strays)
            columns.take(name, column, Found(known, strays=strays, n_strays=n, known=True))
        if known is not None or reading.only_known:
            continue
        counts = text_counts(column)
        prose = kind is None and table.kinds[name] == "text" and _is_prose(counts)
        if prose and not is_in_digits(counts, reading.order):
            continue
        found = find_spelling(
            counts,
            decimal=reading.decimal,
            order=reading.order,
            comma=reading.comma,
            insisted=kind,
            keep_levels=reading.keep_levels,
        )
        if prose and found is not None and found.spelling.kind in ("levels", "list"):
            continue
        if found is None:
            if kind is not None:
                with faults.gathered():
                    columns.insist(name, column, kind, None)
            else:
                columns.look_for_questions(name, counts, reading)
                if reading.plain:
                    columns.look_for_codes(name, counts)
            continue
        if kind is not None and found.strays:
            with faults.gathered():
                columns.insist(name, column, kind, found.spelling)
        elif kind is not None or _is_meant(name, found, reading):
            columns.take(name, column, found)
    faults.settle()
    return columns.table()


def _is_prose(counts: Mapping[str, int]) -> bool:
    """Whether texts of several words are hardly ever the same, as no levels are."""
    return 2 * len(counts) >= sum(counts.values())


def _is_meant(name: str, found: Found, reading: Reading) -> bool:
    """Whether a column that was not requested is read as what was found."""
    kind = found.spelling.kind
    if kind in (*PARTED, "ordered") and name == reading.target:
        return False
    if kind != "number":
        return not (found.strays and name == reading.target)
    written = not found.plain
    if not written and not reading.plain:
        return False
    if name != reading.target and not found.strays and not (found.marks and found.plain):
        return True
    if found.plain and len({*found.numbers.values()} - {None}) <= _FEW_NUMBERS:
        return name != reading.target and not found.strays
    return not (name == reading.target and (found.strays or found.marks))


def _plural(noun: str, one: bool) -> str:
    """A noun in the singular or the plural, whose ending goes before ``in`` or ``of``."""
    head, of, rest = next(
        (noun.partition(word) for word in (" in ", " of ") if word in noun), (noun, "", "")
    )
    if one:
        return noun
    return f"{head[:-1]}ies{of}{rest}" if head.endswith("ty") else f"{head}s{of}{rest}"


def _in_order(words: Sequence[str]) -> str:
    """The first of some ordered levels."""
    return " < ".join(words[:6]) + (" < ..." if len(words) > 6 else "")


def _all_in_brackets(found: Found) -> bool:
    """Whether brackets, which mean a negative number, are around all numbers of a column but 0."""
    written = [text for text, number in found.numbers.items() if number]
    return bool(written) and all("(" in text for text in written)


def _renamed(column: Any, spelling: ValueFormat) -> Any:
    """Levels by their most usual spellings."""
    if isinstance(column, Categorical):
        names = [spelling.word(level) for level in column.levels.tolist()]
        levels = sorted(set(names))
        place = {level: k for k, level in enumerate(levels)}
        codes = np.array([*map(place.__getitem__, names)], dtype=column.codes.dtype)
        return Categorical(column.mapped(codes, -1), np.array(levels, dtype=object))
    gone, texts = missing_mask(column), np.ma.getdata(column).tolist()
    known = {text: spelling.word(text) for text in set(texts)}
    return masked(np.array([known[text] for text in texts], dtype=object), gone)


class _Columns:
    """The columns that were read, and the notes about them."""

    def __init__(self, table: Table, missing: tuple[float, ...] = ()):
        self.old, self.missing = table, missing
        self.columns, self.kinds = dict(table.columns), dict(table.kinds)
        self.dates, self.spellings = set(table.dates), dict(table.spellings)
        self.notes, self.alerts = Remarks(), Remarks()
        self.apart: dict[str, Mapping[str, Any]] = {}

    def table(self) -> Table:
        made = replace(
            self.old,
            columns=self.columns,
            kinds=self.kinds,
            dates=frozenset(self.dates),
            spellings=self.spellings,
            notes=(*self.old.notes, *self.notes.lines()),
            alerts=(*self.old.alerts, *self.alerts.lines()),
        )
        made = with_parts(replace(made, spellings=self.old.spellings), self.spellings, self.apart)
        return replace(made, spellings=self.spellings)

    def insist(self, name: str, column: Any, kind: str, spelling: ValueFormat | None) -> None:
        """Read numbers or dates that were requested, or refuse the first cell that is none."""

        def spelled(text: str) -> float | None:
            known = None if spelling is None else spelling.number(text)
            return spelled_number(text) if known is None and kind == "number" else known

        numbers = as_numbers(column, name, kind, spelled, self.old.rows)
        self._keep_numbers(name, np.ma.getdata(numbers), missing_mask(numbers), kind)

    def _keep_numbers(self, name: str, numbers: Any, lost: Any, kind: str) -> None:
        """Keep numbers in the place of texts; those that stand for missing values are missing."""
        if kind == "number" and self.missing:
            lost = lost | np.isin(numbers, self.missing)
        self.columns[name], self.kinds[name] = number_column(numbers, lost), "number"

    def put_in_order(self, name: str, column: Any, spelling: ValueFormat) -> None:
        """Read levels as their places in a list, or refuse the first that is not in it."""
        listed = joined(spelling.words)

        def refuse(row: int, text: str) -> DataError:
            return DataError(
                Message(
                    "not_in_order",
                    column=quote(name),
                    row=self.old.row_number(row),
                    value=quote(text),
                    listed=listed,
                )
            )

        numbers = numbers_from_text(column, refuse, spelling.number)
        self.columns[name] = number_column(numbers, missing_mask(column))
        self.kinds[name], self.spellings[name] = "number", spelling
        self.notes.add(
            "read in the order of their levels",
            f"column {quote(name)} is read in the order {_in_order(spelling.words)}, as 0 to "
            f"{len(spelling.words) - 1}",
        )

    def take(self, name: str, column: Any, found: Found) -> None:
        spelling = found.spelling
        self.spellings[name] = spelling
        gone, values = missing_mask(column), np.ma.getdata(column)
        if spelling.kind == "levels":
            self.columns[name] = _renamed(column, spelling)
            if found.merged:
                self._note_merged(name, found)
                self.look_for_slips(name, text_counts(self.columns[name]))
            return
        if spelling.parts:
            self.apart[name] = found.numbers
            self._note(name, values, gone, found)
            return
        if spelling.kind == "truth":
            words = {text: spelling.word(text) for text in set(values[~gone].tolist())}
            lost = gone | np.isin(values, list(found.marks))
            self.columns[name] = masked(
                np.array([words.get(text, "") for text in values.tolist()], dtype=object), lost
            )
            if found.known:
                return
            self.notes.add(
                "whose truth values are spelled in several ways",
                f"column {quote(name)} spells its values in several ways: read as "
                f"{quote(spelling.words[0])} and {quote(spelling.words[1])}",
            )
            return
        known = found.numbers
        numbers, strange = spelled_numbers(
            column, lambda text: known[text] if text in known else spelling.number(text)
        )
        self._keep_numbers(name, numbers, strange | gone, spelling.kind)
        if spelling.kind == "date":
            self.dates.add(name)
        self._note(name, values, gone, found)

    def _note(self, name: str, values: Any, gone: Any, found: Found) -> None:
        """Note how a column is read, and the cells that are not read so."""
        if found.example:
            self._note_reading(name, found)
        if found.ambiguous:
            self.alerts.add("that can be read in two ways", self._two_ways(name, found))
        if found.marks:
            self._note_marks(name, found)
        if found.strays:
            self._note_strays(name, values, gone, found)

    def _note_reading(self, name: str, found: Found) -> None:
        """Note what the cells of a column are read as."""
        spelling, column = found.spelling, quote(name)
        if spelling.kind == "date":
            how = f" written like {quote(found.example)}"
            # The AM of a time of day is no name of a month.
            if spelling.order in DATE_ORDERS and not _MONTH_NAME.search(found.example):
                how += f", read {spelling.order}"
            self.notes.add("holding dates", date_note(name, how))
        elif spelling.parts:
            self._note_parts(name, found)
        elif spelling.kind == "ordered":
            self.notes.add(
                "of ranges, read in their order",
                Message(
                    "ranges_read",
                    column=column,
                    levels=_in_order(spelling.words),
                    last=len(spelling.words) - 1,
                    category=Setting("kinds", (name, "category")),
                ),
            )
        elif spelling.kind != "number" and not found.plain:
            self.notes.add(
                "holding quantities",
                Message(
                    "quantity_read",
                    column=column,
                    what=spelling.contents,
                    example=quote(found.example),
                    number=number_text(spelling.number(found.example)),
                    category=Setting("kinds", (name, "category")),
                ),
            )
        elif not found.plain and _all_in_brackets(found):
            self.alerts.add(
                "with all numbers in brackets, read as negative",
                Message(
                    "all_in_brackets",
                    column=column,
                    example=quote(found.example),
                    number=number_text(spelling.number(found.example)),
                ),
            )
        elif not found.plain:
            number = number_text(spelling.number(found.example))
            self.notes.add(
                "holding numbers with signs, units or marks",
                f"column {column} holds numbers written like {quote(found.example)}, which is read "
                f"as {number}",
            )

    def _note_marks(self, name: str, found: Found) -> None:
        """Note the texts that count as missing."""
        marks = sorted(found.marks, key=lambda text: -found.marks[text])
        cells = counted(sum(found.marks.values()), "cell")
        shown = ", ".join(quote(text, 20) for text in marks[:4])
        self.notes.add(
            "with marks for missing values",
            Message(
                "marks_read",
                column=quote(name),
                cells=cells,
                shown=shown,
                category=Setting("kinds", (name, "category")),
            ),
        )

    def _note_strays(self, name: str, values: Any, gone: Any, found: Found) -> None:
        """Note the cells that are not of the form of the others, and count as missing."""
        spelling, column = found.spelling, quote(name)
        if spelling.kind == "list":
            known = set(spelling.words)
            new = {i for text in found.strays for i in items(text, spelling.unit)} - known
            self.alerts.add(
                "with values not seen at fit",
                Message("list_values_later", column=column, values=joined(sorted(new), 5)),
            )
            return
        # As an object, for NumPy's strings lose NUL bytes at their end.
        stray = np.array(found.strays[0], dtype=object)
        row = int(np.flatnonzero((values == stray) & ~gone)[0])
        others = ", ".join(quote(text, 30) for text in found.strays[1:3])
        one = found.n_strays == 1
        stated = {
            "column": column,
            "cells": counted(found.n_strays, "cell"),
            "are": "is" if one else "are",
            "noun": _plural(_NOUNS.get(spelling.kind, "number"), one),
            "where": f"{quote(found.strays[0], 30)} in row {self.old.row_number(row)}"
            + (f", {others}" if others else ""),
            "count": "counts" if one else "count",
        }
        category = Setting("kinds", (name, "category"))
        self.alerts.add(
            "in which a few cells count as missing",
            # How a column is read was settled at fit.
            Message("stray_cells_later", **stated)
            if found.known
            else Message("stray_cells", **stated, category=category),
        )

    def _note_merged(self, name: str, found: Found) -> None:
        """Note which spellings are read as one level."""
        others: dict[str, list[str]] = {}
        for text, level in found.merged.items():
            others.setdefault(level, []).append(text)
        shown = [
            f"{', '.join(quote(text, 30) for text in texts[:4])}"
            f"{f' and {len(texts) - 4:,} more' if len(texts) > 4 else ''} as {quote(level, 30)}"
            for level, texts in sorted(others.items())
        ]
        self.notes.add(
            "with levels that are spelled in several ways",
            Message(
                "levels_merged",
                column=quote(name),
                shown="; ".join(shown[:3]) + (f"; {len(shown) - 3:,} more" if shown[3:] else ""),
                category=Setting("kinds", (name, "category")),
                kept=Setting("keep_levels", True),
            ),
        )

    def _note_parts(self, name: str, found: Found) -> None:
        """Note which columns one is taken apart into."""
        spelling = found.spelling
        self.notes.add(
            "taken apart",
            Message(
                f"{spelling.kind}_read",
                column=quote(name),
                example=quote(found.example),
                parts=joined(part_names(name, spelling), 4),
                category=Setting("kinds", (name, "category")),
            ),
        )

    def look_for_slips(self, name: str, counts: Mapping[str, int]) -> None:
        """Name the rare levels that are spelled like frequent ones."""
        found = misspellings(counts)
        if found:
            shown = [
                f"{quote(one.text, 30)} ({counted(one.n, 'row')}) for {quote(one.frequent, 30)} "
                f"({one.of:,})"
                for one in found[:3]
            ]
            more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
            shown_text = ", ".join(shown) + more
            self.alerts.add(
                "with levels that may be misspelled",
                Message("levels_misspelled", column=quote(name), shown=shown_text),
            )

    def look_for_questions(self, name: str, counts: Mapping[str, int], reading: Reading) -> None:
        """Name levels that may be slips, and columns that can be read in two ways."""
        self.look_for_slips(name, counts)
        if name == reading.target:
            return
        number = Setting("kinds", (name, "number"))
        for code, question in (("clock", clock_question), ("share", share_question)):
            if text := question(counts):
                stated = {"column": quote(name), "text": quote(text), "number": number}
                self.alerts.add(
                    "that can be read in two ways", Message(f"question.{code}", **stated)
                )
                return
        mark = reading.decimal or ("," if reading.comma else ".")
        if text := ranges_question(counts, partial(unsigned, decimal=mark)):
            self.alerts.add(
                "of numbers and ranges",
                Message("question.ranges", column=quote(name), text=quote(text)),
            )
        if units := units_question(counts):
            self.alerts.add(
                "in units that differ",
                Message("question.units", column=quote(name), units=joined(units, 4)),
            )

    def _two_ways(self, name: str, found: Found) -> Message:
        spelling, text = found.spelling, found.ambiguous
        if spelling.kind == "number":
            other = replace(spelling, decimal="," if spelling.decimal == "." else ".")
            return Message(
                "two_decimals",
                column=quote(name),
                text=quote(text),
                read=number_text(spelling.number(text)),
                else_read=number_text(other.number(text)),
                option=Setting("decimal", other.decimal),
            )
        order = "day-first" if spelling.order == "month-first" else "month-first"
        return Message(
            "two_orders",
            column=quote(name),
            text=quote(text),
            order=spelling.order,
            option=Setting("date_format", order),
        )

    def look_for_codes(self, name: str, texts: Mapping[str, int]) -> None:
        """Note that digits which begin with a zero stay as they are."""
        if not all(text.isascii() and text.isdigit() for text in texts):
            return
        code = next(filter(is_code, texts), None)
        if code is not None:
            self.notes.add(
                "of codes",
                Message(
                    "codes",
                    column=quote(name),
                    code=quote(code),
                    number=Setting("kinds", (name, "number")),
                ),
            )
