"""The table: typed columns in memory and their kinds.

Rows in messages are counted from 1, without the header.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Joined, Message, Setting, counted, message_of, plural, quoted
from separatrix.tables.categorical import Categorical

DEFAULT_MISSING: tuple[str, ...] = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN", "<NA>",
    "NULL", "Null", "null",
)  # fmt: skip
"""Texts that mean a missing value. "None" and "-" are left out: they are real levels too often."""

KINDS: tuple[str, ...] = ("number", "date", "category", "text", "ignore")

STRUCTURE = ("header", "skip_rows", "footer", "sheet")
"""The :data:`OPTIONS` that state where a table lies in one file, and so apply to no other file."""

FLAGS = ("keep_levels",)
"""The :data:`OPTIONS` that are true or false; the others are texts or None."""

OPTIONS = (
    *("decimal", "date_format", "delimiter", "encoding", "sql", "unpacked_limit"),
    *FLAGS,
    *STRUCTURE,
)
"""The parameters of :func:`read_table` that state how a source is written."""

# Beyond what str.strip takes off: a byte order mark that ended up inside the file.
BLANKS = " \t\r\n\f\v\u00a0\ufeff"
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.I | re.A)
_NUMBERS = (bool, int, float, np.number, np.bool_)
_MAX_NAMED = 20
# Rows whose texts are put together for a digest.
_AT_A_TIME = 1 << 16


# ------------------------------------------------------------------------------------ the table


@dataclass(frozen=True, eq=False)
class Table:
    """Typed columns of equal length, in row order.

    Attributes
    ----------
    names : tuple of str
        The columns, in the order of the file.
    columns : dict of str to ndarray
        ``number`` columns are float64 or bool; ``category`` and ``text`` columns are object arrays
        of ``str``. A column with missing values is a masked array.
    kinds : dict of str to str
        ``"number"``, ``"category"`` or ``"text"`` for each column.
    n_rows : int
    source : str
        Where the rows came from, for messages.
    overridden : frozenset of str
        Columns whose kind was given by the user rather than found.
    dates : frozenset of str
        Number columns that hold dates (days since 1970-01-01).
    notes : tuple of str
        Notes on what reading changed, one sentence each.
    alerts : tuple of str
        Alerts about what looks wrong in the file, one sentence each.
    derived : dict of str to str
        Columns made of the dates in another one, and that one.
    spellings : dict of str to ValueFormat
        The spellings of columns that were read from more than plain numbers.
    rows : ndarray of int, or None
        The places of rows that were selected from another table in that table, from 0.
    matrix : scipy.sparse.csr_matrix or None
        The features of an svmlight file; its column numbers are those of the file.
    """

    names: tuple[str, ...]
    columns: dict[str, Any] = field(repr=False)
    kinds: dict[str, str]
    n_rows: int
    source: str = "memory"
    overridden: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    matrix: Any = field(default=None, repr=False)
    alerts: tuple[str, ...] = ()
    rows: Any = field(default=None, repr=False)
    derived: dict[str, str] = field(default_factory=dict, repr=False)
    spellings: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        *,
        kinds: Mapping[str, str] | None = None,
        missing: Iterable[str] = DEFAULT_MISSING,
        source: str = "memory",
    ) -> Table:
        """Make a table from sequences in memory.

        Strings are levels or text as they are; :func:`read_table` finds numbers and dates written
        in other ways among those of a file.

        Parameters
        ----------
        columns : mapping of str to sequence
            Numbers, booleans, ``datetime64`` or strings; ``None`` and NaN are missing.
        kinds : mapping of str to str, optional
            The kinds of columns, as for :func:`read_table`.
        missing : iterable of str
            The marks for missing values, as for :func:`read_table`.
        source : str
            A name for messages.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            If the columns differ in length, or a kind does not suit its column.

        Examples
        --------
        >>> from separatrix.tables import Table
        >>> table = Table.from_columns({"age": [31, None], "job": ["clerk", "?"]})
        >>> table.kinds, table.n_missing
        ({'age': 'number', 'job': 'category'}, 2)
        """
        marks = missing_marks(missing)
        kept: dict[str, Any] = {}
        found: dict[str, str] = {}
        dates: set[str] = set()
        notes = Remarks()
        lengths = {str(name): len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"the columns differ in length: {joined(lengths.items())}")
        if len(lengths) != len(columns):
            raise DataError("two columns have the same name when written as text")
        for key, values in columns.items():
            name = str(key)
            column, is_date = _column_from_memory(values, marks, name)
            if is_date:
                dates.add(name)
                notes.add("holding dates", date_note(name))
            kept[name] = column
            found[name] = "number" if column.dtype != object else string_kind(column)
        table = cls(
            names=tuple(kept),
            columns=kept,
            kinds=found,
            n_rows=next(iter(lengths.values()), 0),
            source=source,
            dates=frozenset(dates),
            notes=tuple(notes.lines()),
        )
        return with_kinds(without_marked(table, marks), kinds)

    @cached_property
    def n_missing(self) -> int:
        """The number of missing values, over all columns."""
        own = (column for name, column in self.columns.items() if name not in self.derived)
        return sum(int(missing_mask(column).sum()) for column in own)

    def select(self, rows: Any) -> Table:
        """The same columns for some rows: row numbers from 0, or a boolean mask."""
        rows = np.asarray(rows)
        if rows.size == 0:
            rows = rows.astype(np.int64)
        columns = {name: column[rows] for name, column in self.columns.items()}
        n_rows = int(rows.sum()) if rows.dtype == bool else len(rows)
        matrix = None if self.matrix is None else self.matrix[rows]
        chosen = np.arange(self.n_rows)[rows] if self.rows is None else self.rows[rows]
        return replace(self, columns=columns, n_rows=n_rows, matrix=matrix, rows=chosen)

    def drop_missing(self, name: str) -> Table:
        """The rows that have a value in a column, with a note of how many have none."""
        if name not in self.columns:
            raise DataError(no_such_column(name, self.names, self.source))
        gone = missing_mask(self.columns[name])
        if not gone.any():
            return self
        if gone.all():
            raise no_value(name, self.source)
        lacking = int(gone.sum())
        note = f"{counted(lacking, 'row')} without {quote(name)} left out"
        return replace(self.select(~gone), notes=(*self.notes, note))

    def row_number(self, i: int) -> int:
        """The number of row ``i`` in messages: its place in the file, from 1."""
        return int(i if self.rows is None else self.rows[i]) + 1

    def place(self, name: str, i: int) -> str:
        """The name of the value of a column in row ``i``, for messages."""
        return f"column {quote(name)}, row {self.row_number(i)}"

    def drop(self, names: str | Iterable[str]) -> Table:
        """The same rows without some columns; an unknown name is a :class:`DataError`."""
        gone = {names} if isinstance(names, str) else set(names)
        for name in gone:
            if name not in self.columns:
                raise DataError(no_such_column(name, self.names, self.source))
        gone |= {name for name, source in self.derived.items() if source in gone}
        kept = tuple(name for name in self.names if name not in gone)
        return replace(
            self,
            names=kept,
            columns={name: self.columns[name] for name in kept},
            kinds={name: self.kinds[name] for name in kept},
            overridden=self.overridden - gone,
            dates=self.dates - gone,
            derived={name: source for name, source in self.derived.items() if name not in gone},
            spellings={name: one for name, one in self.spellings.items() if name not in gone},
        )

    def fingerprint(self) -> str:
        """SHA-256 over names, kinds and values, as 64 hexadecimal digits.

        The same for the same values whatever file format they came from; numbers are compared as
        float64 (``True`` is 1, ``-0.0`` is 0).
        """
        digest = hashlib.sha256(b"separatrix table 1\0")
        _feed(digest, str(self.n_rows))
        for name in self.names:
            if name in self.derived:
                continue
            _feed(digest, name)
            _feed(digest, self.kinds[name])
            column = self.columns[name]
            if isinstance(column, Categorical):
                encoded = [str(level).encode("utf-8", "surrogatepass") for level in column.levels]
                sizes = np.array([len(text) for text in encoded], dtype="<i8")
                sizes = np.append(sizes, np.int64(-1)).astype("<i8")
                texts = np.array([*encoded, b""], dtype=object)
                for rows in _in_turn(column.codes):
                    digest.update(sizes[rows])
                for rows in _in_turn(column.codes):
                    digest.update(b"".join(texts[rows].tolist()))
                continue
            gone = missing_mask(column)
            values = np.ma.getdata(column)
            if values.dtype == object:
                parts = [
                    b"" if lost else str(value).encode("utf-8", "surrogatepass")
                    for value, lost in zip(values, gone, strict=True)
                ]
                lengths = np.fromiter((len(part) for part in parts), dtype="<i8", count=len(parts))
                lengths[gone] = -1
                digest.update(lengths.tobytes())
                digest.update(b"".join(parts))
            else:
                for part, lost in zip(_in_turn(values), _in_turn(gone), strict=True):
                    numbers = part.astype("<f8") + 0.0  # turns -0.0 into 0.0
                    numbers[lost] = np.nan  # one bit pattern for every missing value
                    digest.update(numbers)
        if self.matrix is not None:
            matrix = self.matrix.tocsr()
            _feed(digest, repr(tuple(map(int, matrix.shape))))
            digest.update(matrix.indptr.astype("<i8").tobytes())
            digest.update(matrix.indices.astype("<i8").tobytes())
            digest.update((matrix.data.astype("<f8") + 0.0).tobytes())
        return digest.hexdigest()


def _in_turn(values: Any) -> Iterator[Any]:
    """Yield blocks of rows, so that what is made of them takes no memory."""
    for start in range(0, len(values), _AT_A_TIME):
        yield values[start : start + _AT_A_TIME]


def missing_mask(column: Any) -> Any:
    """A boolean array of the places where a column has no value."""
    if type(column) is np.ndarray:  # NumPy's way takes ten times as long
        return np.zeros(column.shape, dtype=bool)
    mask: Any = np.ma.getmaskarray(column)
    return mask


def present(column: Any) -> Any:
    """The values of a column that are not missing, without a copy where none is."""
    values = np.ma.getdata(column)
    if type(column) is np.ndarray:
        return values
    gone = missing_mask(column)
    return values[~gone] if gone.any() else values


def text_counts(column: Any) -> Mapping[str, int]:
    """The number of rows of each text of a column, in order of first appearance."""
    if isinstance(column, Categorical):
        return column.counts()
    return Counter(present(column).tolist())


def number_text(value: Any) -> str:
    """The text of a number as a level: ``"1"`` for ``1.0``, ``"0.5"`` for ``0.5``."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return repr(number)


def day_text(days: float) -> str:
    """The date of a moment, which is as many days after 1970-01-01: ``"1970-01-02"`` for 1.5."""
    return str(np.datetime64(math.floor(days), "D"))


def parse_number(text: str) -> float | None:
    """The number a string spells, or None; stricter than ``float``: no ``1_000``."""
    text = text.strip(BLANKS)
    return float(text) if NUMBER.fullmatch(text) else None


def spelled_number(text: str) -> float | None:
    """The number that a text stands for as a value or a level: ``true`` is 1, ``false`` is 0."""
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    return parse_number(text)


def string_kind(column: Any) -> str:
    """``"text"`` or ``"category"`` for a column of strings, by the rule that ``reader`` states."""
    if isinstance(column, Categorical) and all(len(text.split()) < 3 for text in column.levels):
        return "category"
    values = present(column)
    if len(values) == 0:
        return "category"
    # Words are counted on at most 5,000 values spread over the column: a median needs no more.
    step = max(1, len(values) // 5000)
    words = float(np.median([len(value.split()) for value in values[::step]]))
    if words < 3:
        return "category"
    distinct = len(set(values)) / len(values)
    return "text" if distinct >= 0.5 or (words >= 8 and distinct >= 0.1) else "category"


def _feed(digest: Any, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    digest.update(len(data).to_bytes(8, "little"))
    digest.update(data)


def masked(values: Any, gone: Any) -> Any:
    """A masked array where something is missing, a plain one otherwise."""
    if not gone.any():
        return values
    values = values.copy() if not values.flags.owndata or not values.flags.writeable else values
    values[gone] = "" if values.dtype == object else 0
    return np.ma.MaskedArray(values, mask=gone)


def number_column(values: Any, gone: Any) -> Any:
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    return masked(numbers, gone | np.isnan(numbers))


def is_nothing(value: Any) -> bool:
    """Whether a value of a column of objects is None or one of the two that pandas has for none."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _column_from_memory(values: Any, marks: frozenset[str], name: str) -> tuple[Any, bool]:
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=None)
    if array.ndim != 1:
        raise DataError(
            f"column {name!r} does not have one value for each row: its shape is {array.shape}"
        )
    gone = missing_mask(array).copy()
    data = np.ma.getdata(array)
    if data.dtype.kind == "b":
        return masked(data.copy(), gone), False
    if data.dtype.kind in "iuf":
        return number_column(data.astype(np.float64), gone), False
    if data.dtype.kind == "M":
        gone |= np.isnat(data)
        days = data.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return masked(days, gone), True
    if data.dtype.kind not in "OUS":
        raise DataError(f"column {name!r} holds {data.dtype}: give numbers, dates or strings")
    items = list(data)
    for i, item in enumerate(items):
        if isinstance(item, str):
            gone[i] |= is_marked(item.strip(BLANKS), marks)
        elif isinstance(item, float):
            gone[i] |= math.isnan(item)
        else:
            gone[i] |= is_nothing(item)
    kept = [item for item, lost in zip(items, gone, strict=True) if not lost]
    if kept and all(isinstance(item, (bool, np.bool_)) for item in kept):
        flags = [not lost and bool(item) for item, lost in zip(items, gone, strict=True)]
        return masked(np.array(flags), gone), False
    if all(isinstance(item, _NUMBERS) for item in kept):
        numbers = [0.0 if lost else float(item) for item, lost in zip(items, gone, strict=True)]
        return number_column(np.array(numbers, dtype=np.float64), gone), False
    for i, item in enumerate(items):
        if not gone[i] and not isinstance(item, (str, *_NUMBERS)):
            raise DataError(
                f"column {name!r}, row {i + 1}: a value of type {type(item).__name__} is neither a "
                "number nor a string"
            )
    strings = np.empty(len(items), dtype=object)
    strings[:] = [
        "" if lost else label_text(item).strip(BLANKS)
        for item, lost in zip(items, gone, strict=True)
    ]
    return masked(strings, gone), False


def as_strings(column: Any) -> Any:
    gone = missing_mask(column)
    strings = np.empty(len(column), dtype=object)
    strings[:] = [number_text(value) for value in np.ma.getdata(column)]
    return masked(strings, gone)


def as_numbers(
    column: Any,
    name: str,
    kind: str = "number",
    spelled: Callable[[str], float | None] | None = None,
    rows: Any = None,
) -> Any:
    """Numbers from strings; the first value that is none is a DataError with its row.

    ``rows``: those of a :class:`Table`.
    """

    def refuse(row: int, text: str) -> DataError:
        row = int(row if rows is None else rows[row]) + 1
        values = {"column": quote(name), "row": row, "value": quote(text), "kind": kind}
        category = Setting("kinds", (name, "category"))
        return DataError(Message("not_a_number", **values, category=category))

    return number_column(numbers_from_text(column, refuse, spelled), missing_mask(column))


def spelled_numbers(
    column: Any, spelled: Callable[[str], float | None] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that the texts of a column spell, and where one spells none.

    Where a text is missing or spells none the number is 0.  ``spelled`` is :func:`spelled_number`
    unless given; it is called once for each distinct text.
    """
    there = np.flatnonzero(~missing_mask(column))
    texts = np.ma.getdata(column)[there].tolist()
    known = {text: (spelled or spelled_number)(text) for text in set(texts)}
    numbers, strange = np.zeros(len(column)), np.zeros(len(column), dtype=bool)
    lost = {text for text, number in known.items() if number is None}
    if lost:
        known.update(dict.fromkeys(lost, 0.0))
        strange[there] = [text in lost for text in texts]
    numbers[there] = [*map(known.__getitem__, texts)]
    return numbers, strange


def numbers_from_text(
    column: Any,
    refuse: Callable[[int, str], DataError],
    spelled: Callable[[str], float | None] | None = None,
) -> np.ndarray:
    """The numbers that texts spell; the first that spells none raises the error of ``refuse``."""
    numbers, strange = spelled_numbers(column, spelled)
    if strange.any():
        row = int(np.argmax(strange))
        raise refuse(row, np.ma.getdata(column)[row])
    return numbers


def with_kinds(table: Table, kinds: Mapping[str, str] | None) -> Table:
    """Apply the user's kinds to a table that is already in memory."""
    wanted = checked_kinds(kinds, table.names, table.source)
    if not wanted:
        return table
    columns, found, dates = dict(table.columns), dict(table.kinds), set(table.dates)
    for name, kind in wanted.items():
        if kind == "ignore":
            continue
        column = columns[name]
        if kind == "date":
            if column.dtype == object:
                raise DataError(
                    f"column {quote(name)} holds strings; give datetime64, or read dates from a "
                    "file with read_table"
                )
            dates.add(name)
            kind = "number"
        if kind == "number" and column.dtype == object:
            columns[name] = as_numbers(column, name)
        elif kind != "number" and column.dtype != object:
            columns[name] = as_strings(column)
        found[name] = kind
    ignored = [name for name, kind in wanted.items() if kind == "ignore"]
    table = replace(
        table,
        columns=columns,
        kinds=found,
        overridden=table.overridden | set(wanted),
        dates=frozenset(n for n in dates if found.get(n) == "number"),
    )
    return table.drop(ignored) if ignored else table


def checked_kinds(
    kinds: Mapping[str, str] | None,
    names: Sequence[str],
    source: str,
    *,
    skip_absent: bool = False,
) -> dict[str, str]:
    wanted = dict(kinds or {})
    there = set(names)
    absent = [name for name in wanted if name not in there]
    for name, kind in wanted.items():
        if kind not in KINDS:
            raise DataError(f"kind {kind!r} for column {name!r} is not one of {', '.join(KINDS)}")
    if absent and not skip_absent:
        raise DataError(no_such_column(absent, names, source))
    return {name: kind for name, kind in wanted.items() if name in there}


def given_marks(missing: Iterable[str]) -> tuple[str, ...] | frozenset[str]:
    """Marks as they were given: a string is one, and a frozenset is complete."""
    if isinstance(missing, str):
        return (missing,)
    return missing if isinstance(missing, frozenset) else tuple(missing)


def missing_marks(missing: Iterable[str]) -> frozenset[str]:
    """The marks for missing values; numbers alone go with the usual marks, as they are no words.

    ``COLUMN=VALUE`` is a mark of one column (:func:`column_marks`).  A frozenset is complete, as
    this function returned it or a model file holds it.
    """
    missing = given_marks(missing)
    if isinstance(missing, frozenset):
        return missing | {""}
    marks = frozenset(str(mark).strip(BLANKS) for mark in missing)
    if marks and all(mark_numbers(frozenset({mark.rpartition("=")[2]})) for mark in marks):
        marks |= frozenset(DEFAULT_MISSING)
    # An empty field is missing whatever the marks: CSV has no way to write anything else.
    return marks | {""}


def column_marks(marks: frozenset[str], name: str) -> frozenset[str]:
    """The marks of one column alone, such as 0 of ``weight=0``.

    Examples
    --------
    >>> from separatrix.tables.table import column_marks
    >>> column_marks(frozenset({"weight=0", "-999"}), "weight")
    frozenset({'0'})
    """
    return _marks_by_column(marks).get(name, frozenset())


@lru_cache(maxsize=64)
def _marks_by_column(marks: frozenset[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for mark in marks:
        column, equals, value = (part.strip(BLANKS) for part in mark.rpartition("="))
        if equals and column:
            found[column] = found.get(column, frozenset()) | {value}
    return found


@lru_cache(maxsize=64)
def mark_numbers(marks: frozenset[str]) -> tuple[float, ...]:
    """The numbers among marks, which stand for missing values however they are written."""
    found = {parse_number(mark) for mark in marks if not _padded(mark)}
    return tuple(sorted(x for x in found if x is not None and not math.isnan(x)))


def is_marked(text: str, marks: frozenset[str]) -> bool:
    """Whether a text stands for a missing value: one of the marks, or the number of one."""
    if text in marks:
        return True
    numbers = mark_numbers(marks)
    return bool(numbers) and not _padded(text) and parse_number(text) in numbers


def without_marked(table: Table, marks: frozenset[str]) -> Table:
    """A table whose numbers that are marks for missing values are missing."""
    numbers = mark_numbers(marks)
    columns = dict(table.columns)
    for name, column in columns.items():
        own = column_marks(marks, name)
        away = (*numbers, *mark_numbers(own)) if own else numbers
        if not away or name in table.dates:
            continue
        if column.dtype == np.float64:
            found = np.isin(np.ma.getdata(column), away)
        elif own and column.dtype == object:
            texts = text_counts(column)
            found = np.isin(np.ma.getdata(column), [t for t in texts if is_marked(t, own)])
        else:
            continue
        found &= ~missing_mask(column)
        if found.any():
            columns[name] = masked(np.ma.getdata(column), found | missing_mask(column))
    return replace(table, columns=columns)


def met_marks(columns: Mapping[str, Any], marks: Iterable[str]) -> set[str]:
    """The marks that are a cell of columns in memory."""
    met: set[str] = set()
    for name, values in columns.items():
        cells = np.ma.getdata(values).tolist() if isinstance(values, np.ndarray) else values
        texts = {label_text(cell).strip(BLANKS) for cell in set(cells) if cell is not None}
        for mark in marks:
            one = frozenset({mark})
            own = one | column_marks(one, str(name))
            met |= {mark} if any(is_marked(text, own) for text in texts) else set()
    return met


def unmet_marks(marks: Iterable[str], met: Iterable[str]) -> list[str]:
    """A sentence about every mark that was given and is no cell."""
    return [
        Message("unmet_mark", mark=quote(mark), missing=Setting("missing", mark))
        for mark in marks
        if mark not in met
    ]


# ----------------------------------------------------------------------------------- sentences


def quote(value: Any, limit: int = 60) -> str:
    return quoted(str(value), limit)


def joined(items: Iterable[Any], limit: int = _MAX_NAMED) -> str:
    items = list(items)
    more = len(items) - limit
    return ", ".join(map(quote, items[:limit])) + (f" and {more:,} more" if more > 0 else "")


class Remarks:
    """Sentences, of which only the first few of a sort are given in full.

    A table of 100,000 columns can deserve the same remark 100,000 times.
    """

    _IN_FULL = 5

    def __init__(self) -> None:
        self._entries: list[tuple[str, str]] = []
        self._counts: dict[str, int] = {}

    def add(self, sort: str, sentence: str) -> None:
        """Add a sentence about a column; ``sort`` is its sort in a few words."""
        self._counts[sort] = self._counts.get(sort, 0) + 1
        if self._counts[sort] <= self._IN_FULL:
            self._entries.append((sort, sentence))

    def entries(self) -> list[tuple[str, str]]:
        """The sorts and sentences, and at the end the number of further ones of each sort."""
        more = {sort: count - self._IN_FULL for sort, count in self._counts.items()}
        return self._entries + [
            (sort, f"{count:,} more {plural('column', count)} {sort}")
            for sort, count in more.items()
            if count > 0
        ]

    def lines(self) -> list[str]:
        """The sentences of :meth:`entries`."""
        return [sentence for _, sentence in self.entries()]


class Faults:
    """The faults of columns, reported all at once rather than one column a run."""

    _IN_FULL = 20

    def __init__(self) -> None:
        self._found: list[DataError] = []

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the error of one column, and go on with the next."""
        try:
            yield
        except DataError as error:
            self._found.append(error)

    def settle(self) -> None:
        """Raise what was gathered, if anything was."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            texts = [message_of(error) for error in self._found[: self._IN_FULL]]
            more = len(self._found) - len(texts)
            faults = Joined((*texts, *([f"and {more:,} more"] if more else [])), separator="; ")
            raise DataError(Message("several_columns", count=len(self._found), faults=faults))


def nearest(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    lower: dict[str, str] = {}
    for other in names:
        lower.setdefault(other.lower(), other)
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)
    return f"; did you mean {quote(lower[near[0]])}?" if near else ""


def no_such_column(absent: str | Sequence[str], names: Sequence[str], source: str) -> str:
    absent = [absent] if isinstance(absent, str) else absent
    hint = nearest(absent[0], names) if len(absent) == 1 else ""
    noun = plural("column", len(absent))
    return f"{source} has no {noun} {joined(absent)}; its columns are {joined(names)}{hint}"


def no_value(name: str, source: str) -> DataError:
    """Return the error of a column to predict that is empty."""
    return DataError(
        f"column {quote(name)} has no value in any row of {source}; name another column to predict"
    )


def fault_of_role(role: str, name: str, fault: str) -> Message:
    """A fault of a column, after the role that the column was given."""
    return Message("of_role", role=Setting(role, name), fault=fault)


class NoSuchColumn(DataError):
    """A column is needed that is not there; ``role``: what it is to be, beside features."""

    def __init__(self, absent: str, names: Sequence[str], source: str, role: str | None = None):
        fault: Any = no_such_column(absent, names, source)
        if role is not None:
            fault = fault_of_role(role, absent, fault)
        super().__init__(fault)
        self.absent, self.names, self.source, self.role = absent, names, source, role

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.absent, self.names, self.source, self.role)


def not_finite(table: Table, name: str, row: int, value: float, remedy: str) -> DataError:
    return DataError(
        f"{table.place(name, row)}: {value} is not a finite number; correct it, or {remedy}"
    )


def unknown_columns(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'column')} ignored, not known at fit: {joined(names)}"


def date_note(name: str, how: str = "") -> str:
    return (
        f"column {quote(name)} holds dates{how}: encoded as a trend in time (UTC), months, "
        "weekdays and hours, as far as these vary"
    )


# ------------------------------------------------------------------------------------- labels


def label_text(value: Any) -> str:
    return number_text(value) if isinstance(value, _NUMBERS) else str(value)


class LevelMatch:
    """Finds the level a value means, by its text; failing that, by the number it spells.

    ``1.0`` and ``"1.0"`` find ``"1"``. A number finds ``"01"`` too, since a reader that saw only
    digits has dropped the zeros; a string does not: ``"1"`` and ``"01"`` are two codes.
    """

    def __init__(self, levels: Sequence[str]):
        self._exact = {level: i for i, level in enumerate(levels)}

    # Made at first use: most texts are levels, and for many levels this takes long.
    @cached_property
    def _by_number(self) -> dict[float, int]:
        return self._numbered(self._exact)

    @cached_property
    def _by_plain_number(self) -> dict[float, int]:
        return self._numbered(level for level in self._exact if not _padded(level))

    def _numbered(self, levels: Iterable[str]) -> dict[float, int]:
        """The levels that spell numbers; -1 where two of them spell the same one."""
        found: dict[float, int] = {}
        for level in levels:
            number = _canonical(level)
            if number is not None:
                found[number] = -1 if number in found else self._exact[level]
        return found

    def missing_marks(self) -> tuple[str, ...]:
        """The usual marks for missing values that are not levels."""
        return tuple(mark for mark in DEFAULT_MISSING if self.find(mark) < 0)

    def find(self, value: Any) -> int:
        """The index of the level, or -1."""
        text = label_text(value)
        index = self._exact.get(text)
        if index is not None:
            return index
        number = _canonical(text)
        if number is None or (isinstance(value, str) and _padded(value)):
            return -1
        by_number = self._by_plain_number if isinstance(value, str) else self._by_number
        return by_number.get(number, -1)

    def find_all(self, values: Sequence[Any]) -> Any:
        """The indices of the levels, -1 for none; every distinct value is looked for once."""
        exact = map(self._exact.get, values, itertools.repeat(-1))
        found = np.fromiter(exact, dtype=np.int64, count=len(values))
        others = [values[k] for k in np.flatnonzero(found < 0).tolist()]
        known = {value: self.find(value) for value in set(others)}
        found[found < 0] = [known[value] for value in others]
        return found


def _canonical(text: str) -> float | None:
    number = spelled_number(text)
    return None if number is None or math.isnan(number) else number


def _padded(text: str) -> bool:
    return re.match(r"[+-]?0\d", text) is not None
