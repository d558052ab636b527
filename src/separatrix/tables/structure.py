"""The extent of a table in a file that holds more: titles, two-line headers, totals, pages.

Spreadsheets and reports put lines around a table and between its rows. Rows in the middle of a
file show what a row of the table looks like: which of its cells are numbers, and which are never
blank. A line above them that has words where they have numbers is the header; a line that is unlike
them, and whose first cell is the name of a sum or a remark, is no row. A line that no rule explains
is a row, and is refused by the code that reads it where it does not fit. Nothing here knows files:
lines are lists of texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.table import BLANKS, DEFAULT_MISSING, quote

# Lines that may be above the first row, and below the last.
_MOST_ABOVE, _MOST_BELOW = 60, 40
# Up to this many lines, all of them show how many cells a row has.
_FEW = 12
# The rows that show which columns are of numbers, and those that show where the header is.
_SAMPLE, _GLANCE = 48, 24
# A line of units has no cell that recurs in its column in this many lines below it.
_RECURS = 500
# A column is of numbers where at least this share of its cells looks like one.
_NUMBERS = 0.7
# It is never blank where at least this share of its cells is not.
_FULL = 0.95
# Texts of a column recur where at most this many are distinct, in at least this many rows.
_MOST_KNOWN, _ROWS_KNOWN = 30, 20

_PLAIN = re.compile(r"-?\d[\d.,:/-]*")
_NUMBER_LIKE = re.compile(r"[\s(\[+\-−–~<>=≤≥$€£¥#%.,]*(?:[A-Z]{3}\s)?\s*\d")
_YEAR = re.compile(r"(?:19|20)\d\d(?:[/-](?:\d\d){1,2})?|\d{1,3}|[QHTWK]\d{1,2}(?:[ /-]?\d{2,4})?")
_UNIT = re.compile(
    r"[(\[].*[)\]]|[%‰€$£¥°#]|°[CFK]|[a-zµμ]{1,4}(?:[/·^][a-zA-Z0-9²³µμ]{1,6})?[²³]?|"
    r"(?:mm)?Hg|mmHg|[kMGm]?(?:Hz|Pa|W|Wh|V|A|J|N|EUR|USD)|EUR|USD|GBP|CHF|JPY|"
    r"years?|months?|days?|hours?|minutes?|Jahre|Tage|Stunden|ans|jours|Stk\.?|St\.",
)
_TOTALS = (
    "total|totals|grand total|sub-?\\s?total|sub-?\\s?totals|sum|sums|summe|zwischensumme|endsumme|"
    "gesamt|gesamtsumme|insgesamt|übertrag|saldovortrag|somme|sous-total|total général|totale|"
    "subtotale|totaal|totalt|suma|razem|ogółem|celkem|összesen|итого|всего|average|averages|mean|"
    "median|mittelwert|durchschnitt|moyenne|promedio|media|合計|総計|小計|計|平均|总计|Σ|∑|Ø"
)
_TOTAL = re.compile(rf"\W{{0,3}}(?:{_TOTALS})(?:\s*[:=.]|\W|$)", re.IGNORECASE)
_TOTAL_ALONE = re.compile(rf"\W{{0,3}}(?:{_TOTALS})\W*", re.IGNORECASE)
_REMARK = re.compile(
    r"\W*(?:sources?|quellen?|fuentes?|fonte|notes?|hinweise?|anmerkung(?:en)?|bemerkung(?:en)?|"
    r"remarques?|nota|legend|legende|stand|as of|end of|ende|fin de|fin del|page|seite|página|"
    r"pagina|blatt|report|bericht|rapport|printed|gedruckt|exported|export(?:iert)?|created|erstellt|"
    r"generated|generiert|édité|créé|date|datum|user|benutzer|copyright|confidential|vertraulich|"
    r"records?|rows?|datensätze|zeilen|anzahl|count|lignes|filas)\b|"
    r"(?:\*{2,}|-{2,}|={2,}|_{3,}|#{2,}|©|※|出典|注|備考|作成|以上|ページ)|"
    r".*\b(?:rows?|records?|row\(s\)|zeilen|datensätze|lignes|filas)\b(?: affected| selected)?\W*$",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LETTER = re.compile(r"[^\W_]")
_NOTHING = frozenset(DEFAULT_MISSING)


# ------------------------------------------------------------------------------- what is given


@dataclass(frozen=True)
class Given:
    """The structure of a file as the caller gives it.

    Attributes
    ----------
    header : tuple of int, or None
        The numbers of the lines of the header, from 1; empty where no line has names.
    skip_rows : int
        The number of lines at the beginning that are not part of the table.
    footer : int, or None
        The number of lines at the end that are not part of the table.
    sheet : str, or None
        The sheet of a workbook, or the table of a database.
    """

    header: tuple[int, ...] | None = None
    skip_rows: int = 0
    footer: int | None = None
    sheet: str | None = None

    @classmethod
    def of(
        cls,
        header: int | str | None = None,
        skip_rows: int | str | None = None,
        footer: int | str | None = None,
        sheet: str | None = None,
    ) -> Given:
        """The options as they are written, checked.

        Raises
        ------
        DataError
        """
        lines = None if header is None else lines_of_header(str(header))
        counts = []
        for name, count in (("skip_rows", skip_rows), ("footer", footer)):
            text = str(count).strip()
            if count is not None and not (text.isascii() and text.isdigit()):
                raise DataError(Message("no_count_of_lines", option=Setting(name, count)))
            counts.append(None if count is None else int(text))
        if lines and lines[0] <= (counts[0] or 0):
            raise DataError(
                Message("header_skipped", header=Setting("header", header), skip=counts[0])
            )
        return cls(lines, counts[0] or 0, counts[1], sheet)


def lines_of_header(text: str) -> tuple[int, ...]:
    """The lines of a header: ``"5"``, ``"4,5"`` of one in two rows, or ``"none"``."""
    if text == "none":
        return ()
    parts = [part.strip() for part in text.split(",")]
    if all(part.isascii() and part.isdigit() and int(part) >= 1 for part in parts):
        lines = [int(part) for part in parts]
        if lines == list(range(lines[0], lines[0] + len(lines))):
            return tuple(lines)
    raise DataError(Message("no_header_line", value=quote(text)))


# ------------------------------------------------------------------------------- what is found


class Remark:
    """The lines of one sort that were noticed: their number, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.first: tuple[int, Sequence[str]] = (0, ())

    def add(self, line: int, cells: Sequence[str]) -> None:
        if not self.count:
            self.first = (line, cells)
        self.count += 1


def is_number_like(text: str) -> bool:
    """Whether a text may be an amount, a date or a code of digits, rather than words."""
    if _PLAIN.fullmatch(text):
        return True
    return bool(_NUMBER_LIKE.match(text)) and len(_LETTERS.findall(text)) < 3


def _is_nothing(text: str) -> bool:
    return text in _NOTHING or not (text.isalnum() or _LETTER.search(text))


@dataclass(frozen=True)
class Shape:
    """The shape of the rows of a table.

    Attributes
    ----------
    header : tuple of str
        The cells of the line above them.
    numeric : tuple of bool
        Whether each column is of numbers.
    full : tuple of bool
        Whether each column is never blank.
    known : tuple of frozenset of str, or None
        The texts of each column, where they recur.
    texts : tuple of bool
        Whether each column holds texts of several words, or many of one word.
    seen : frozenset of str
        Texts that recur in the first column.
    titles : frozenset of str
        Lines above the first row, which pages of a report repeat.
    whole : bool
        Whether most rows have as many cells as the header.
    """

    header: tuple[str, ...]
    numeric: tuple[bool, ...]
    full: tuple[bool, ...]
    known: tuple[frozenset[str] | None, ...]
    texts: tuple[bool, ...]
    seen: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    whole: bool = True

    @property
    def width(self) -> int:
        return len(self.header)

    @classmethod
    def of(cls, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Shape:
        """The shape of rows below a header."""
        columns = [[row[j] for row in rows if j < len(row)] for j in range(len(header))]
        numeric, full, texts = [], [], []
        known: list[frozenset[str] | None] = []
        for cells in columns:
            plain = sum(_PLAIN.fullmatch(cell) is not None for cell in cells)
            if plain == len(rows) > 0:  # as of most columns
                numeric.append(True)
                full.append(True)
                known.append(None)
                texts.append(False)
                continue
            there = [cell for cell in cells if cell and not _is_nothing(cell)]
            numbers = sum(map(is_number_like, there))
            numeric.append(bool(there) and numbers >= _NUMBERS * len(there))
            full.append(bool(cells) and sum(map(bool, cells)) >= _FULL * len(rows))
            counts = Counter(there)
            recurs = len(there) >= _ROWS_KNOWN and len(counts) <= _MOST_KNOWN
            known.append(frozenset(counts) if recurs and not numeric[-1] else None)
            several = any(" " in text for text in counts)
            many = len(there) >= _ROWS_KNOWN and not recurs
            texts.append(not numeric[-1] and (several or many))
        own = Counter(columns[0]) if columns else Counter()
        seen = frozenset(text for text, count in own.items() if count > 1)
        kinds = tuple(numeric), tuple(full), tuple(known), tuple(texts)
        return cls(tuple(header), *kinds, seen)

    # ------------------------------------------------------------------------------ single lines

    def judge(self, row: Sequence[str]) -> str:
        """The sort of a line with some cells; a line of blank cells in the table is a row.

        Returns
        -------
        str
            ``"row"``, ``"blank"``, ``"header"`` (once more), ``"title"`` (once more), ``"total"``,
            ``"remark"``, ``"short"`` or ``"long"``.
        """
        width = self.width
        if len(row) == width and all(row):
            # Most lines are full rows; the first cell of others is that of the header or of a sum.
            first = row[0].strip(BLANKS)
            if first != self.header[0] and not _TOTAL.match(first):
                return "row"
        cells = [cell.strip(BLANKS) for cell in row]
        while len(cells) > width and not cells[-1]:
            cells.pop()
        filled = [j for j, cell in enumerate(cells) if cell]
        if not filled:
            return "blank"
        if tuple(cells) == self.header and not all(map(is_number_like, cells)):
            return "header"
        if joined_cells(cells) in self.titles:
            return "title"
        if width > 1 and self._is_total(cells, filled):
            return "total"
        if width > 1 and self._is_remark(cells, filled):
            return "remark"
        if len(cells) == width:
            return "row"
        return "short" if len(cells) < width else "long"

    def _is_total(self, cells: Sequence[str], filled: Sequence[int]) -> bool:
        first = cells[filled[0]]
        if not _TOTAL.match(first) or len(cells) > self.width or first in self.seen:
            return False
        if self.numeric[filled[0]] or len(cells) < self.width:
            return True
        gaps = any(full and not cell for full, cell in zip(self.full, cells, strict=True))
        return gaps or (_TOTAL_ALONE.fullmatch(first) is not None and len(first) < 24)

    def _is_remark(self, cells: Sequence[str], filled: Sequence[int]) -> bool:
        first = cells[filled[0]]
        named = _REMARK.match(first) is not None
        if filled[0] != 0 or first in self.seen or (is_number_like(first) and not named):
            return False
        if len(filled) == 1:
            alone = self.numeric[0] or len(cells) == 1 < self.width - 2
            return named or (not is_number_like(first) and (alone or self.width >= 4))
        # Remarks may hold the delimiter.
        return named and 2 * len(filled) <= self.width + 1 and len(cells) != self.width

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether cells stand where columns of numbers and of few texts expect such cells."""
        for j, cell in enumerate(cells):
            cell = cell.strip(BLANKS)
            if _is_nothing(cell):
                continue
            if self.numeric[j] and not is_number_like(cell):
                return False
            known = self.known[j]
            if known is not None and cell not in known:
                return False
        return True

    def fills(self, cells: Sequence[str]) -> bool:
        """Whether a line that ends too soon may be a row without its last cells."""
        kept = zip((cell.strip(BLANKS) for cell in cells), self.numeric, strict=False)
        return all(is_number_like(cell) or _is_nothing(cell) for cell, numeric in kept if numeric)

    def rejoined(self, row: Sequence[str], delimiter: str) -> tuple[list[str], int] | None:
        """A line of too many cells as a row, and the column that holds the delimiter.

        None where no column can hold it, or more than one can.
        """
        row = [*row]
        while len(row) > self.width and not row[-1].strip(BLANKS):
            row.pop()
        excess = len(row) - self.width
        found = []
        for j in range(self.width):
            if not self.texts[j] or is_number_like(row[j]):
                continue
            inside, behind = row[j : j + excess + 1], row[j + excess + 1 :]
            others = [*row[:j], "", *behind]
            # A blank behind the delimiter is within a text.
            if self.fits(others) and not any(
                cell[:1] == " " for cell in (*row[1 : j + 1], *behind)
            ):
                found.append(([*row[:j], delimiter.join(inside), *behind], j))
        for chosen in (
            [one for one in found if all(c[:1] == " " for c in row[one[1] + 1 :][:excess])],
            [one for one in found if self.known[one[1]] is None],
        ):
            found = chosen if len(found) > 1 and chosen else found
        return found[0] if len(found) == 1 else None


def is_blank(cells: Iterable[str]) -> bool:
    """Whether no cell of a line holds anything but blanks."""
    return not any(cell.strip(BLANKS) for cell in cells)


def joined_cells(cells: Iterable[str]) -> str:
    """The cells of a line in one text, for comparison and for sentences."""
    return "; ".join(cell for cell in (cell.strip(BLANKS) for cell in cells) if cell)


@dataclass(frozen=True)
class Structure:
    """The place of the table in a file.

    Attributes
    ----------
    names : tuple of str
        The names of the columns, blank where a column has none.
    header : tuple of int
        Places of the lines that hold them, from 0; empty where the names are in no line.
    first : int
        The place of the first row.
    below : tuple of int
        Places of lines between the header and the first row that hold neither names nor values.
    footer : int
        The number of lines at the end that are not rows.
    shape : Shape
    plain : bool
        Whether all other lines that were looked at are rows.
    """

    names: tuple[str, ...]
    header: tuple[int, ...]
    first: int
    below: tuple[int, ...]
    footer: int
    shape: Shape
    plain: bool


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, int, int, str]]]:
    """Names with numbers added to the later of equal ones, and what was changed.

    Examples
    --------
    >>> from separatrix.tables.structure import unique_names
    >>> unique_names(["day", "amount", "amount"])
    (('day', 'amount', 'amount_2'), [('amount', 1, 2, 'amount_2')])
    """
    taken, out, changed = set(names), [], []
    first: dict[str, int] = {}
    for j, name in enumerate(names):
        if name not in first or not name:
            first.setdefault(name, j)
            out.append(name)
            continue
        k = 2
        while f"{name}_{k}" in taken:
            k += 1
        taken.add(f"{name}_{k}")
        out.append(f"{name}_{k}")
        changed.append((name, first[name], j, out[-1]))
    return tuple(out), changed


# ------------------------------------------------------------------------------------ finding


def found_structure(
    lines: Sequence[Sequence[str]],
    given: Given,
    *,
    numbers: Sequence[int] | None = None,
    complete: bool = True,
) -> Structure | None:
    """The structure of a file by its first lines; None where they hold no table.

    Parameters
    ----------
    lines : sequence of sequence of str
        The cells of each line.
    given : Given
    numbers : sequence of int, optional
        The number of each line in the file; by default they are counted from 1.
    complete : bool
        Whether there are no other lines.
    """
    cells = [[cell.strip(BLANKS) for cell in line] for line in lines]
    numbers = range(1, len(cells) + 1) if numbers is None else numbers
    start = sum(number <= given.skip_rows for number in numbers)
    width, rows = _usual_rows(cells, start)
    if not rows:
        return None
    if given.header is not None:
        places = _given_places(given.header, numbers)
        first = places[-1] + 1 if places else start
        below: tuple[int, ...] = ()
    else:
        places, first, below = _header_of(cells, start, width, rows)
    own = [cells[k] for k in places]
    reach = max((_reach(line) for line in own), default=0)
    # A column without a name has at least a blank one.
    most = max(map(len, own), default=width)
    reach = max(reach, *(_reach(cells[k][:most]) for k in rows if k >= first), 0)
    # The header of R's files has no name for the names of the rows.
    shifted = (
        len(own) == 1 < len(own[0]) == width - 1 == reach
        and all(len(line) == width for line in cells[first:] if line)
        and _names_rows(cells, rows)
    )
    reach += shifted
    if given.header == ():
        names = tuple(f"column_{j + 1}" for j in range(reach))
    else:
        names = _names_of([["", *own[0]]] if shifted else own, reach)
    if not any(names):
        return None
    below_header = [k for k in rows if k >= first]
    sample = [cells[k][:reach] for k in below_header[:: 1 + len(below_header) // _SAMPLE]]
    shape = Shape.of(names, sample)
    titles = frozenset(joined_cells(line) for line in cells[start:first] if any(line))
    shape = replace(shape, titles=titles, whole=width >= reach)
    footer = given.footer or 0
    if given.footer is None and complete:
        footer = footer_of(cells[first:], shape)
    body = cells[first : len(cells) - lines_of_footer(cells, footer)]
    # The reader passes over lines without any cell, and a delimiter at the end of a line.
    trailing = any(len(line) > shape.width + 1 for line in body)
    filled = [line for line in body if line and not _is_blank_row(line, shape)]
    odd = any(shape.judge(line) != "row" for line in filled)
    return Structure(names, places, first, below, footer, shape, not odd and not trailing)


def _is_blank_row(line: Sequence[str], shape: Shape) -> bool:
    """Whether a line is a row of blank cells."""
    return len(line) >= shape.width and is_blank(line)


def lines_of_footer(lines: Sequence[Sequence[str]], count: int) -> int:
    """The number of lines at the end that hold ``count`` filled ones, blank lines included."""
    taken, seen = 0, 0
    for line in reversed(lines):
        filled = not is_blank(line)
        if seen == count and filled:
            break
        seen += filled
        taken += 1
    return taken


def _reach(cells: Sequence[str]) -> int:
    """The place behind the last cell that is not blank."""
    return next((j + 1 for j in range(len(cells) - 1, -1, -1) if cells[j]), 0)


def _usual_rows(cells: Sequence[Sequence[str]], start: int) -> tuple[int, list[int]]:
    """The number of cells of most lines, and the places of lines that are like most others."""
    there = [k for k in range(start, len(cells)) if any(cells[k])]
    if not there:
        return 0, []
    several = [k for k in there if len(cells[k]) > 1] or there
    # With many lines only the lower half counts, where no title is.
    half = len(several) // 2 if len(several) > _FEW else 0
    counts = Counter(len(cells[k]) for k in several[half:])
    most = max(counts.values())
    often = [size for size, count in counts.items() if count == most]
    first = len(cells[there[0]])
    width = first if first in often else max(often)
    fit = [k for k in several if len(cells[k]) == width]
    lower = fit[len(fit) // 2 :] or fit
    filled = sorted(sum(map(bool, cells[k])) for k in lower)
    usual = filled[len(filled) // 2]
    return width, [k for k in lower if 2 * sum(map(bool, cells[k])) >= usual]


def _given_places(header: tuple[int, ...], numbers: Sequence[int]) -> tuple[int, ...]:
    """The places of the lines of a header that was given."""
    found = []
    if not header:
        return ()
    for line in header:
        # A record may take several lines.
        places = [k for k, number in enumerate(numbers) if number <= line]
        if not places or line > numbers[-1]:
            raise DataError(Message("no_such_line", header=Setting("header", line)))
        found.append(places[-1])
    return tuple(dict.fromkeys(found))


def _header_of(
    cells: Sequence[Sequence[str]], start: int, width: int, rows: Sequence[int]
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The places of the header's lines, of the first row, and of lines between them."""
    shape = Shape.of([""] * width, [cells[k] for k in rows[:: 1 + len(rows) // _GLANCE]])
    numeric = [j for j, number in enumerate(shape.numeric) if number]

    def completes(k: int) -> bool:
        """Whether a line has names, such as years, under those of the line above it."""
        if k == start or not cells[k - 1] or not len(cells[k]) == len(cells[k - 1]) == width:
            return False
        above, line = cells[k - 1], cells[k]
        lacks = any(shape.full[j] and not cell for j, cell in enumerate(line))
        spans = [cell for name, cell in zip(above, line, strict=True) if not name]
        named = all(cell and (_YEAR.fullmatch(cell) or not is_number_like(cell)) for cell in spans)
        return lacks and named and bool(spans) and not any(map(is_number_like, above))

    def is_row(k: int) -> bool:
        line = cells[k]
        own = [line[j] for j in numeric if j < len(line) and line[j] and not _is_nothing(line[j])]
        some = sum(map(is_number_like, own))
        enough = len(line) == width or 2 * sum(map(bool, line)) >= width
        return enough and 2 * some > len(own) and not completes(k)

    def is_heading(k: int) -> bool:
        line = cells[k]
        own = [line[j] for j in numeric if j < len(line) and line[j]]
        words = [one for one in own if not is_number_like(one)]
        plain = all(_YEAR.fullmatch(one) for one in own if is_number_like(one))
        return completes(k) or (len(line) <= width and bool(words) and plain)

    def has_names(k: int) -> bool:
        line = cells[k]
        filled = sum(map(bool, line))
        indexed = not line[0] and all(line[1:])
        return len(line) == width and (5 * filled >= 4 * width or indexed)

    there = [k for k in range(start, min(len(cells), start + _MOST_ABOVE)) if any(cells[k])]
    first = there[0]
    body = next((k for k in there if is_row(k)), None) if numeric else None
    above = [k for k in there if body is not None and k < body and is_heading(k)]
    # A line of names begins the table, unless a blank line sets others apart from it.
    apart = [k for k in above if k > first and not all(map(any, cells[first:k]))]
    if has_names(first) and not apart:
        block = [first]
        for k in range(first + 1, body or first):
            if not (completes(k) or (is_heading(k) and _describes(cells, k, shape))):
                break
            block.append(k)
        return _of_block(cells, block, width)
    if above:
        block = [above[-1]]
        while block[0] - 1 in above:
            block.insert(0, block[0] - 1)
        while len(block) > 1 and _is_title(cells[block[0]], cells[block[1]], width):
            block = block[1:]
        return _of_block(cells, block, width)
    if body is not None:
        # Names may be numbers, such as years.
        years = [cell for cell in cells[body] if is_number_like(cell)]
        named = all(map(_YEAR.fullmatch, years)) and len(years) < sum(map(bool, cells[body]))
        place = body if named else first
        return (place,), place + 1, ()
    # Words alone: the header is the first line of as many cells as the others.
    place = next((k for k in there if has_names(k)), first) if not numeric else first
    return (place,), place + 1, ()


def _of_block(
    cells: Sequence[Sequence[str]], block: Sequence[int], width: int
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The places of the header's lines in a block, of the first row and of descriptive lines."""
    top = cells[block[0]]
    if sum(map(bool, top)) == width == len(set(top)):
        return (block[0],), block[-1] + 1, tuple(block[1:])
    return tuple(block), block[-1] + 1, ()


def _is_title(line: Sequence[str], below: Sequence[str], width: int) -> bool:
    """Whether a line right above a header is a title and no part of it."""
    filled = [j for j, cell in enumerate(line) if cell]
    if len(filled) == 1 or len(line) < width - 1 or any(line[j].endswith(":") for j in filled):
        return True
    # A heading above columns has gaps among its cells, or reaches over the right half.
    gaps = filled[-1] - filled[0] + 1 > len(filled)
    return not gaps and 2 * (filled[-1] + 1) <= width and all(below)


def _describes(cells: Sequence[Sequence[str]], k: int, shape: Shape) -> bool:
    """Whether a line below the names has units or labels in place of values."""
    pairs = [(j, cell) for j, cell in enumerate(cells[k][: shape.width]) if cell]
    below = cells[k + 1 : k + 1 + _RECURS]
    if any(line[j : j + 1] == [cell] for line in below for j, cell in pairs):
        return False
    words = [cell for j, cell in pairs if shape.numeric[j] and not is_number_like(cell)]
    words = [cell for cell in words if not _is_nothing(cell)]
    units = sum(_UNIT.fullmatch(cell) is not None for cell in words)
    return units == len(words) > 0 or (len(words) > 1 and len(words) == sum(shape.numeric))


def _names_rows(cells: Sequence[Sequence[str]], rows: Sequence[int]) -> bool:
    """Whether the first cells of rows are distinct names."""
    first = [cells[k][0] for k in rows]
    return all(first) and len(set(first)) == len(first)


def _names_of(lines: Sequence[Sequence[str]], width: int) -> tuple[str, ...]:
    """The names of columns in one line or several, of which the upper ones span columns."""
    padded = [[*line[:width], *[""] * (width - len(line))] for line in lines]
    last = padded[-1]
    parts: list[list[str]] = [[] for _ in range(width)]
    for line in padded[:-1]:
        group = ""
        for j, cell in enumerate(line):
            group = cell or (group if last[j] else "")
            if group:
                parts[j].append(group)
    for j, cell in enumerate(last):
        if cell:
            parts[j].append(cell)
    return tuple(" ".join(dict.fromkeys(own)) for own in parts)


def footer_of(lines: Sequence[Sequence[str]], shape: Shape) -> int:
    """The number of lines at the end of a table that are not rows, not counting blank ones."""
    count = found = 0
    for line in reversed(lines):
        sort = shape.judge(line)
        if sort == "blank":
            # Lines that a blank line sets apart, and lines unlike the rows, are below the table.
            found = count
            continue
        if (sort == "row" and not _lacks_most(line, shape)) or count == _MOST_BELOW:
            break
        count += 1
        if sort in ("total", "remark", "title", "header"):
            found = count
    return found


def _lacks_most(line: Sequence[str], shape: Shape) -> bool:
    """Whether a line of numbers lacks most columns that are never blank, as sums of some do."""
    full = [j for j, always in enumerate(shape.full) if always]
    lacking = sum(not line[j].strip(BLANKS) for j in full)
    cells = [cell.strip(BLANKS) for cell in line]
    return 2 * lacking > len(full) > 2 and all(is_number_like(cell) for cell in cells if cell)
