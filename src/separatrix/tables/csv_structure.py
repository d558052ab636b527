"""The position of the table in a CSV file, found from its first and last lines.

A file that is nothing but a header and rows stays as it is. Any other file is copied with the
header in its first line: the bytes of the rows, where all lines between header and footer are rows,
and otherwise the rows one by one, as :class:`Repair` reads them.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from separatrix.exceptions import DataError
from separatrix.messages import Message, Parameter, Setting, counted
from separatrix.tables.structure import (
    Given,
    Remark,
    Shape,
    Structure,
    footer_of,
    found_structure,
    is_blank,
    is_number_like,
    joined_cells,
    lines_of_footer,
    unique_names,
)
from separatrix.tables.table import quote

# Bytes of a file that are looked at, from its beginning and at its end.
_HEAD, _LARGER_HEAD, _TAIL = 1 << 16, 1 << 18, 1 << 15
# The characters of lines that hold no values.
_BLANK = b'\t\r ,;|"'
# Fewer lines are not evidence enough.
_FEW_LINES = 12
_MOST_COLUMNS = 1000
_DELIMITERS = (",", ";", "\t", "|")
_DIRECTIVE = re.compile(r'\ufeff?"?sep=(.)"?[\r\n]*', re.IGNORECASE)


@contextlib.contextmanager
def large_fields() -> Iterator[None]:
    """A context in which cells of a CSV file may be of any size."""
    old = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(old)


def delimiter_of(line: str) -> str:
    """The delimiter of a line: the one of the usual delimiters that occurs most often."""
    bare = re.sub(r'"[^"]*"', "", line)
    best = max(_DELIMITERS, key=bare.count)
    return best if bare.count(best) else ","


@dataclass(frozen=True)
class _Lines:
    """Records of a stretch of a file: their cells, the line each begins in, and its byte."""

    cells: list[list[str]]
    numbers: list[int]
    offsets: list[int]
    end: str

    @classmethod
    def of(cls, text: str, start: int, delimiter: str, *, cut: bool = False) -> _Lines | None:
        """The records of a text that begins at a byte; without the last, where it may be cut."""
        lines = [*io.StringIO(text, newline="")]
        ends = [start]
        for line in lines:
            ends.append(ends[-1] + len(line.encode("utf-8")))
        bare = [line.removeprefix("\ufeff") for line in lines[:1]] + lines[1:]
        cells, numbers = [], []
        number = 0
        reader = csv.reader(bare, delimiter=delimiter, skipinitialspace=True)
        try:
            with large_fields():
                for row in reader:
                    cells.append(row)
                    numbers.append(number)
                    number = reader.line_num
        except csv.Error:
            return None
        if cut and cells:
            cells.pop()
            numbers.pop()
        end = "\r\n" if any(line.endswith("\r\n") for line in lines[-2:]) else "\n"
        if end == "\n" and any(line.endswith("\r") for line in lines):
            end = "\r"
        return cls(cells, [k + 1 for k in numbers], [ends[k] for k in numbers], end)


@dataclass(frozen=True)
class Look:
    """The findings of a look at a CSV file.

    Attributes
    ----------
    delimiter : str
        Empty where nothing was found.
    shape : Shape or None
        The shape of the rows.
    plain : bool
        Whether all lines below the header that were looked at are rows.
    notes : list of Message
    header : str
        The first line of a copy; empty where none is needed.
    start, stop : int
        The bytes of the rows; a negative `stop` is the end of the file.
    before : int
        The number of lines by which the first row comes later in the file than in the copy.
    """

    delimiter: str = ""
    shape: Shape | None = None
    plain: bool = True
    notes: list[Message] = field(default_factory=list)
    header: str = ""
    start: int = 0
    stop: int = -1
    before: int = 0

    def write(self, path: Path, target: Path) -> None:
        """Copy the rows below the header."""
        with path.open("rb") as source, target.open("wb") as out:
            out.write(self.header.encode("utf-8"))
            below = out.tell()
            source.seek(self.start)
            shutil.copyfileobj(source, out, 1 << 20)
            if self.stop >= 0:
                out.truncate(below + self.stop - self.start)


def _head_of(path: Path, size: int) -> tuple[str, bool] | None:
    """The first lines of a file, and whether there are no others; None if they are not text."""
    with path.open("rb") as file:
        data = file.read(_HEAD)
        if len(data) < size and data.count(b"\n") + data.count(b"\r") < _FEW_LINES:
            data += file.read(_LARGER_HEAD - _HEAD)
    if len(data) < size:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
    try:
        return data.decode("utf-8"), len(data) == size
    except UnicodeDecodeError:
        return None


def _tail_of(path: Path, size: int, count: int) -> tuple[str, int] | None:
    """The last lines of a file, and the byte at which they begin; None if they are not text.

    More than `count` of them are not blank, if the file has that many.
    """
    span = _TAIL
    while True:
        with path.open("rb") as file:
            start = max(0, size - span)
            file.seek(start)
            data = file.read()
        if not start or sum(bool(line.strip(_BLANK)) for line in data.split(b"\n")) > count + 1:
            break
        span *= 2
    begin = data.find(b"\n") + 1
    try:
        return data[begin:].decode("utf-8"), start + begin
    except UnicodeDecodeError:
        return None


def look_at(path: Path, label: str, delimiter: str, given: Given) -> Look:
    """Look at the first and the last lines of a CSV file in UTF-8.

    Parameters
    ----------
    path : Path
    label : str
        The name of the file in messages.
    delimiter : str
        Empty to detect it.
    given : Given

    Raises
    ------
    DataError
        If the header that was given is not there.
    """
    size = path.stat().st_size
    head = _head_of(path, size)
    if head is None or not head[0].strip():
        return Look()
    text, complete = head
    first = text.lstrip().split("\n", 1)[0]
    if max(map(first.count, _DELIMITERS)) > _MOST_COLUMNS and given == Given():
        return Look()  # a look would take longer than the reading, and no office has such a table
    directive = _DIRECTIVE.match(text.split("\n", 1)[0])
    if directive and not given.skip_rows:
        delimiter = delimiter or directive[1]
        given = replace(given, skip_rows=1)
    found = _best(text, delimiter, given, complete)
    if found is None:
        if given.skip_rows and not directive:
            option = Setting("skip_rows", given.skip_rows)
            raise DataError(Message("nothing_below", source=label, option=option))
        return Look()
    mark, lines, structure = found
    footer, stop = structure.footer, -1
    if not complete:
        tail = _tail_of(path, size, given.footer or 0)
        last = None if tail is None else _Lines.of(tail[0], tail[1], mark)
        if last is not None and last.cells:
            footer = footer_of(last.cells, structure.shape) if given.footer is None else footer
            stop = _end_of_rows(last, footer)
            lost = last
        else:
            footer, lost = 0, lines
    else:
        stop, lost = _end_of_rows(lines, footer), lines
    names, changed = unique_names(structure.names)
    notes = notes_on_structure(
        label,
        structure,
        lines.cells,
        lines.numbers,
        changed,
        [cells for cells in lost.cells if not is_blank(cells)][-footer:] if footer else [],
        given,
    )
    own = structure.header
    _require_names(label, structure, changed)
    at_top = own == (0,) and lines.numbers[0] == 1 and structure.first == 1
    as_it_is = at_top and not changed and len(lines.cells[0]) == len(names)
    shape, plain = structure.shape, structure.plain
    if as_it_is and stop < 0:
        return Look(mark, shape, plain, notes)
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=mark, lineterminator=lines.end)
    writer.writerow(names)
    header = written.getvalue()
    if structure.first < len(lines.cells):
        start, number = lines.offsets[structure.first], lines.numbers[structure.first]
    else:
        start, number = size, lines.numbers[-1] + 1
    stop = max(stop, start) if stop >= 0 else stop
    before = number - 1 - len([*io.StringIO(header, newline="")])
    return Look(mark, shape, plain, notes, header, start, stop, before)


def _require_names(
    label: str, structure: Structure, changed: Sequence[tuple[str, int, int, str]]
) -> None:
    """Refuse a header of numbers two of which are equal: a row of values rather than names."""
    if structure.header and changed and all(map(is_number_like, filter(None, structure.names))):
        shown = quote(joined_cells(structure.names))
        option = Setting("header", "none")
        raise DataError(Message("header_of_numbers", source=label, shown=shown, option=option))


def _best(
    text: str, delimiter: str, given: Given, complete: bool
) -> tuple[str, _Lines, Structure] | None:
    """The delimiter by which most lines are rows, the records and their structure."""
    first = next((line for line in text.splitlines()[given.skip_rows :] if line.strip()), "")
    usual = delimiter or delimiter_of(first)
    found: list[tuple[int, tuple[str, _Lines, Structure]]] = []
    for mark in dict.fromkeys([usual, *(() if delimiter else _DELIMITERS)]):
        lines = _Lines.of(text, 0, mark, cut=not complete)
        if lines is None or not lines.cells:
            continue
        structure = found_structure(lines.cells, given, numbers=lines.numbers, complete=complete)
        if structure is None:
            continue
        width, named = len(structure.names), sum(map(bool, structure.names))
        sound = structure.plain and (structure.header == (0,) or delimiter)
        if mark == usual and sound and (width > 1 or delimiter):
            return mark, lines, structure
        # Lines with at least as many cells as the header has names.
        rows = sum(len(cells) >= width for cells in lines.cells[structure.first :])
        if width > 1 or mark == usual:
            found.append((rows * named * (width > 1), (mark, lines, structure)))
    return max(found, key=itemgetter(0))[1] if found else None


def _end_of_rows(lines: _Lines, footer: int) -> int:
    """The byte behind the last row, above a footer and blank lines; -1 where there are none."""
    behind = len(lines.cells) - lines_of_footer(lines.cells, footer)
    if not behind:
        return lines.offsets[0] if footer else -1
    return lines.offsets[behind] if any(lines.cells[behind:]) else -1


# ----------------------------------------------------------------------------------- sentences


def notes_on_structure(
    label: str,
    structure: Structure,
    cells: Sequence[Sequence[Any]],
    numbers: Sequence[int],
    changed: Sequence[tuple[str, int, int, str]],
    footer: Sequence[Sequence[str]],
    given: Given,
    line: str = "line",
) -> list[Message]:
    """Messages about lines that are not read, and about names that are not those of the file.

    ``line``: the word for a line of the file in messages.
    """
    notes = (
        []
        if given.header is not None
        else _notes_on_header(label, structure, cells, numbers, given, line)
    )
    for name, first, other, new in changed[:3]:
        notes.append(
            Message(
                "name_repeated",
                source=label,
                first=first + 1,
                other=other + 1,
                name=quote(name),
                new=quote(new),
            )
        )
    if changed[3:]:
        notes.append(Message("names_repeated", source=label, count=len(changed) - 3))
    if footer and given.footer is None:
        count = len(footer)
        notes.append(
            Message(
                "lines_below",
                source=label,
                lines=f"last {line}" if count == 1 else f"last {count:,} {line}s",
                are="is" if count == 1 else "are",
                shown=quote(joined_cells(footer[0])),
                option=Setting("footer", 0),
            )
        )
    return notes


def _notes_on_header(
    label: str,
    structure: Structure,
    cells: Sequence[Sequence[Any]],
    numbers: Sequence[int],
    given: Given,
    line: str,
) -> list[Message]:
    """Messages about the lines of a header that was found, and those around them."""
    notes = []
    header = [numbers[k] for k in structure.header]
    start = sum(number <= given.skip_rows for number in numbers)
    top = structure.header[0] if header else start
    above = [k for k in range(start, top) if not is_blank(cells[k])]
    if above:
        notes.append(
            Message(
                "lines_above",
                source=label,
                line=line,
                header=header[0],
                lines=counted(len(above), line),
                are="is" if len(above) == 1 else "are",
                shown=quote(joined_cells(cells[above[0]])),
                option=Setting("header", numbers[above[0]]),
            )
        )
    decimal = [n for n in structure.names if is_number_like(n) and not n.isdigit()]
    if header and 2 * len(decimal) > len(structure.names):
        values = {"source": label, "line": line, "header": header[0]}
        option = Setting("header", "none")
        notes.append(Message("names_of_numbers", **values, shown=quote(decimal[0]), option=option))
    if len(header) > 1:
        combined = next((name for name in structure.names if " " in name), structure.names[0])
        notes.append(
            Message(
                "header_of_lines",
                source=label,
                line=line,
                first=header[0],
                last=header[-1],
                name=quote(combined),
                option=Setting("header", header[-1]),
            )
        )
    if structure.below:
        shown = quote(joined_cells(cells[structure.below[0]]))
        values = {"source": label, "line": line, "number": numbers[structure.below[0]]}
        option = Setting("header", header[0])
        notes.append(Message("line_of_units", **values, shown=shown, option=option))
    return notes


# ------------------------------------------------------------------------------ lines, one by one


# The messages about lines of a sort.
_SENTENCES: dict[str, Callable[..., Message]] = {
    "header": lambda **values: Message("lines_header", **values),
    "title": lambda **values: Message("lines_title", **values),
    "total": lambda **values: Message("lines_total", **values),
    "remark": lambda **values: Message("lines_remark", **values),
    "short": lambda **values: Message("lines_short", **values),
    "long": lambda **values: Message("lines_long", **values),
}


class Repair:
    """Reads lines of a CSV file that do not have the cells of its header.

    Parameters
    ----------
    shape : Shape
    delimiter : str
    label : str
        The name of the file in messages.
    """

    def __init__(self, shape: Shape, delimiter: str, label: str, line: str = "line") -> None:
        self.shape, self.delimiter, self.label, self.line = shape, delimiter, label, line
        self.remarks: dict[str, Remark] = {}
        self.column = ""
        self._short: tuple[int, int] | None = None

    def row(
        self, number: int, cells: list[str], written: Callable[[], Sequence[str]] | None = None
    ) -> list[str] | None:
        """A line as a row; None where it is none.

        ``written``: gives the cells with the blanks before them.

        Raises
        ------
        DataError
            If the cells of the line cannot be assigned to columns.
        """
        shape = self.shape
        sort = shape.judge(cells)
        short, self._short = self._short, None
        if sort == "row" or (sort == "blank" and len(cells) >= shape.width):
            return cells[: shape.width]
        if sort == "blank":
            return None
        # A line break within a text makes two such lines of one row.
        broken = short is not None and short[1] + len(cells) - 1 == shape.width
        if sort == "short" and shape.whole and shape.fills(cells) and not broken:
            self._short = number, len(cells)
            self._add("short", number, cells)
            return [*cells, *[""] * (shape.width - len(cells))]
        if sort == "long":
            found = shape.rejoined(cells if written is None else written(), self.delimiter)
            if found is not None:
                self.column = self.column or shape.header[found[1]]
                self._add("long", number, [found[0][found[1]]])
                return found[0]
        if sort in ("short", "long"):
            raise self.refused(number, cells)
        self._add(sort, number, cells)
        return None

    def _add(self, sort: str, number: int, cells: Sequence[str]) -> None:
        self.remarks.setdefault(sort, Remark()).add(number, cells)

    def refused(self, number: int, cells: Sequence[str]) -> DataError:
        """Return the error of a line that cannot be read."""
        return DataError(
            Message(
                "ragged",
                source=self.label,
                line=self.line,
                number=number,
                fields=counted(len(cells), "field"),
                width=self.shape.width,
                header=Parameter("header"),
                footer=Parameter("footer"),
            )
        )

    def end(self, ended: bool) -> None:
        """Refuse a file whose last line, without a line end, has too few cells: it may be cut."""
        if self._short is not None and not ended:
            number, width = self._short
            raise DataError(
                Message(
                    "cut_short",
                    source=self.label,
                    number=number,
                    fields=counted(width, "field"),
                    width=self.shape.width,
                    option=Setting("footer", 1),
                )
            )

    def notes(self) -> list[Message]:
        """Messages about all lines that were no rows, one for each sort."""
        notes = []
        for sort, remark in self.remarks.items():
            first, cells = remark.first
            notes.append(
                _SENTENCES[sort](
                    source=self.label,
                    lines=counted(remark.count, self.line),
                    has="has" if remark.count == 1 else "have",
                    is_="is" if remark.count == 1 else "are",
                    line=self.line,
                    first=first,
                    shown=quote(joined_cells(cells)),
                    column=quote(self.column),
                )
            )
        return notes
