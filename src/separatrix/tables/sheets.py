"""Sheets of workbooks to columns: which sheet holds the table, and where it lies there."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from separatrix.exceptions import DataError, imported
from separatrix.messages import Message, Setting, counted
from separatrix.tables import containers, workbooks
from separatrix.tables import source_files as files
from separatrix.tables.csv_structure import Repair, notes_on_structure
from separatrix.tables.limits import Limit
from separatrix.tables.structure import Given, Structure, footer_of, found_structure, unique_names
from separatrix.tables.table import joined, label_text, quote

# The rows at the beginning and at the end of a sheet by which its table is located.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class _Sheet:
    """The cells of a sheet, as they are and as texts; `structure` locates the table in them."""

    cells: list[list[Any]]
    texts: list[list[str]]
    numbers: list[int]
    structure: Structure | None
    # The first and the last place of cells that are merged, in the sheet.
    merged: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    start: tuple[int, int] | None

    def holds(self, names: Sequence[str]) -> bool:
        there = () if self.structure is None else self.structure.names
        return bool(names) and set(names) <= set(there)

    def is_table(self) -> bool:
        """Whether there are at least two rows, and more than two columns or one of numbers."""
        found = self.structure
        if found is None or sum(map(bool, found.names)) < 2:
            return False
        rows = sum(map(any, self.texts[found.first :])) - found.footer
        return rows >= 2 and (len(found.names) > 2 or any(found.shape.numeric))


def columns_of_book(
    path: Path, sheet: str | None, limit: Limit, given: Given, needed: Sequence[str]
) -> tuple[dict[str, Any], list[Message]]:
    """The columns of a sheet by their names, and messages about lines that are no rows.

    Parameters
    ----------
    path : Path
    sheet : str or None
        The sheet to read; by default the only one that holds a table, or a table with the columns
        `needed`.
    limit : Limit
    given : Given
    needed : sequence of str

    Raises
    ------
    DataError
    """
    calamine = imported("python_calamine", "reading workbooks", package="python-calamine")
    extents = workbooks.extents_of(path, limit)
    filled = [name for name, one in extents.items() if one.filled]
    notes: list[Message] = []
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except Exception as error:  # its errors share no class across versions
        raise _unreadable(path, error) from None
    if sheet is not None or len(filled) < 2:
        there = list(extents) if sheet is not None else filled
        name = containers.chosen_table(sheet, there, path, "sheet")
        found = _read(book, name, path, given)
    else:
        shown = _visible(book, filled)
        sheets = {}
        for name in shown:
            # A sheet that lacks the line of the header that was given is not meant.
            with contextlib.suppress(DataError):
                sheets[name] = _read(book, name, path, given)
        shown = [*sheets]
        able = [name for name in shown if sheets[name].holds(needed)]
        able = able or [name for name in shown if sheets[name].is_table()]
        name = containers.chosen_table(None, able or filled, path, "sheet")
        found = sheets[name]
        rest = [one for one in filled if one != name]
        others = joined(rest, 5)
        wanted = f" with the columns {joined(needed, 5)}" if found.holds(needed) else ""
        values = {"source": path, "sheet": quote(name), "others": others, "wanted": wanted}
        notes.append(Message("sheet_found", **values, option=Setting("sheet", rest[0])))
    label = f"{path}, sheet {quote(name)}"
    _fill_merged(found, label, notes)
    return _columns_of(found, label, given, notes), notes


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is not a readable workbook: {files.first_line(error)}")


def _visible(book: Any, names: Sequence[str]) -> list[str]:
    """The sheets that are not hidden, or all where each of them is."""
    hidden = {
        one.name
        for one in getattr(book, "sheets_metadata", ())
        if "Hidden" in str(getattr(one, "visible", ""))
    }
    return [name for name in names if name not in hidden] or list(names)


def _read(book: Any, name: str, path: Path, given: Given) -> _Sheet:
    try:
        sheet = book.get_sheet_by_name(name)
        cells = sheet.to_python()
        start, merged = sheet.start, sheet.merged_cell_ranges or ()
    except Exception as error:  # its errors share no class across versions
        raise _unreadable(path, error) from None
    first = 1 + (start[0] if start else 0)
    numbers = [first + i for i in range(len(cells))]
    texts = [[*map(_text_of, row)] for row in cells]
    head = texts[:_LOOKED_AT]
    complete = len(head) == len(texts)
    found = found_structure(head, given, numbers=numbers[: len(head)], complete=complete)
    return _Sheet(cells, texts, numbers, found, merged, start)


def _text_of(cell: Any) -> str:
    if cell is None or cell == "":
        return ""
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else label_text(cell).strip()


def _fill_merged(sheet: _Sheet, label: str, notes: list[Message]) -> None:
    """Give cells that are merged with one above them, below the header, its value."""
    start = sheet.start
    if sheet.structure is None or not start:
        return
    count = 0
    for (top, left), (bottom, right) in sheet.merged:
        row, column = top - start[0], left - start[1]
        if left != right or bottom == top or row < sheet.structure.first or column < 0:
            continue
        count += 1
        for below in range(row + 1, min(bottom - start[0] + 1, len(sheet.cells))):
            sheet.cells[below][column] = sheet.cells[row][column]
            sheet.texts[below][column] = sheet.texts[row][column]
    if count:
        are = "is" if count == 1 else "are"
        cells = counted(count, "merged cell")
        notes.append(Message("merged_cells", source=label, cells=cells, are=are))


def _columns_of(
    sheet: _Sheet, label: str, given: Given, notes: list[Message]
) -> dict[str, list[Any]]:
    found = sheet.structure
    if found is None:
        raise DataError(f"{label}: there are no rows below the header")
    shape = found.shape
    filled = [k for k in range(found.first, len(sheet.texts)) if any(sheet.texts[k])]
    footer = found.footer
    if given.footer is None and len(sheet.texts) > _LOOKED_AT:
        footer = footer_of(sheet.texts[found.first :], shape)
    body, below = (filled[:-footer], filled[-footer:]) if footer else (filled, [])
    names = list(found.names)
    if len(found.header) == 1:
        # A name that is a number is called as it was.
        for j, cell in enumerate(sheet.cells[found.header[0]][: len(names)]):
            names[j] = str(cell).strip() if cell is not None else ""
    unique, changed = unique_names(names)
    notes += notes_on_structure(
        label,
        found,
        sheet.texts,
        sheet.numbers,
        changed,
        [sheet.texts[k] for k in below],
        given,
        "row",
    )
    repair = Repair(shape, "", label, "row")
    rows = []
    for k in body:
        texts = sheet.texts[k][: shape.width]
        if repair.row(sheet.numbers[k], texts) is not None:
            rows.append(sheet.cells[k])
    notes += repair.notes()
    if not rows:
        raise DataError(f"{label}: there are no rows below the header")
    return containers.columns_by_name(unique, rows, label)
