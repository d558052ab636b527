"""Numbers that are made of the cells of a row: what an encoding computes, one feature at a time.

A cell is a number (NaN where there is none), a text (None where there is none) or a date, in days
since 1970-01-01. Conditions are true or false and never unknown: a comparison with a missing cell
is false. The branch of a :class:`Where` that a row does not take may be undefined for it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Number:
    """A number that a row has."""

    @property
    def n_columns(self) -> int:
        """The number of columns of the matrix that it takes."""
        return 1


class Condition:
    """A statement that is true or false for a row."""


@dataclass(frozen=True)
class Cell(Number):
    """The cell of a column.

    Attributes
    ----------
    column : str
        The name of the column, whatever characters it has.
    kind : {"number", "text", "date"}
        The type of the cell. A text occurs only in conditions and words; :class:`Parsed` has a
        kind of its own.
    """

    column: str
    kind: str = "number"


@dataclass(frozen=True)
class Parsed(Cell):
    """The cell of a column of numbers, or of texts that spell numbers; NaN where one spells none.

    Attributes
    ----------
    column : str
    kind : {"number or text"}
    whole : str
        A regular expression that the whole of a text has to match. Its first group has the digits,
        marks between them, and an exponent.
    never : str
        A regular expression that must not be found in a text.
    negative : str
        A regular expression that is found in a text where its number is negative.
    decimal : {".", ","}
    """

    kind: str = "number or text"
    whole: str = ""
    never: str = ""
    negative: str = ""
    decimal: str = "."

    @property
    def marks(self) -> str:
        """A regular expression of each mark between digits."""
        return f"[^0-9eE+{self.decimal}-]"

    def number(self, cell: float | str | None) -> float:
        """The number of a cell.

        Examples
        --------
        >>> from separatrix.tables.features import Parsed
        >>> price = Parsed("price", whole=r"^[$]?([0-9.]+(?:,[0-9]+)?)$", never="[$]0", decimal=",")
        >>> [price.number(cell) for cell in ("$1.063,5", "$0", 2.5, None)]
        [1063.5, nan, 2.5, nan]
        """
        if not isinstance(cell, str):
            return math.nan if cell is None else float(cell)
        found = re.fullmatch(self.whole, cell)
        if found is None or re.search(self.never, cell):
            return math.nan
        number = float(re.sub(self.marks, "", found[1]).replace(self.decimal, "."))
        return -number if self.negative and re.search(self.negative, cell) else number

    def spelled(self, cell: float | str | None) -> str | None:
        """The cell as a text; None where it is missing."""
        if cell is None or isinstance(cell, str) or math.isnan(cell):
            return cell if isinstance(cell, str) else None
        if math.isinf(cell):
            return "-1e999" if cell < 0.0 else "1e999"
        return repr(float(cell)).replace(".", self.decimal)


@dataclass(frozen=True)
class Constant(Number):
    """A finite number; or NaN, where there is none and the row is to have no answer."""

    value: float


@dataclass(frozen=True)
class Arithmetic(Number):
    """``left + right`` and the like, rounded once.

    Attributes
    ----------
    operator : {"+", "-", "*", "/"}
    left, right : Number
    """

    operator: str
    left: Number
    right: Number


@dataclass(frozen=True)
class Power(Number):
    """A number to a whole power from 2, by repeated products."""

    base: Number
    exponent: int


@dataclass(frozen=True)
class Function(Number):
    """A function of one number.

    Attributes
    ----------
    name : {"log", "log1p", "floor", "absolute"}
    of : Number
    """

    name: str
    of: Number


@dataclass(frozen=True)
class DatePart(Number):
    """The year, month (1 to 12), weekday (1 Monday to 7 Sunday) or hour of a date.

    Attributes
    ----------
    cell : Cell
        A cell of kind ``"date"``, between the years 1 and 9999.
    part : {"year", "month", "weekday", "hour"}
    """

    cell: Cell
    part: str


@dataclass(frozen=True)
class Where(Number):
    """One number where a condition is true, and another elsewhere."""

    condition: Condition
    then: Number
    otherwise: Number


@dataclass(frozen=True)
class IsMissing(Condition):
    """Whether there is nothing in a cell, or a number that stands for nothing.

    Attributes
    ----------
    cell : Cell
    placeholders : tuple of float
        Numbers (days of dates) that are read as missing.
    """

    cell: Cell
    placeholders: tuple[float, ...] = ()


@dataclass(frozen=True)
class IsLevel(Condition):
    """Whether the text of a cell is one of some texts, character by character.

    Attributes
    ----------
    cell : Cell
        A cell of kind ``"text"``.
    levels : tuple of str
    """

    cell: Cell
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Compare(Condition):
    """A comparison of two numbers; false where either is missing.

    Attributes
    ----------
    operator : {"<", "<=", "=="}
    left, right : Number
    """

    operator: str
    left: Number
    right: Number


@dataclass(frozen=True)
class Words:
    """The weights of words in the text of a cell, one number for each word.

    Attributes
    ----------
    cell : Cell
        A cell of kind ``"text"``; a missing one has no words.
    words : tuple of str
    weights : tuple of float
        The inverse document frequency of each.
    options : dict
        The options as an encoder keeps them: ``lowercase``, ``token_pattern``, ``ngram_range``,
        ``sublinear_tf``, ``norm``, ``binary``, ``strip_accents``, ``stop_words``.
    """

    cell: Cell
    words: tuple[str, ...]
    weights: tuple[float, ...]
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def n_columns(self) -> int:
        """The number of columns of the matrix that they take."""
        return len(self.words)


Feature = Number | Words
"""A feature, which is a column of the matrix, or for words several columns."""


def nodes_of(node: Feature | Condition) -> Iterator[Feature | Condition]:
    """Yield a number, a condition or words, and all that it is made of, as often as it is used."""
    yield node
    for each in dataclasses.fields(node):  # type: ignore[arg-type]
        own = getattr(node, each.name)
        if isinstance(own, (Number, Condition)):
            yield from nodes_of(own)


def cells_of(node: Feature | Condition) -> Iterator[Cell]:
    """Yield the cells that a number, a condition or words are made of, each as often as it is used.

    Examples
    --------
    >>> from separatrix.tables.features import Cell, Compare, Constant, Where, cells_of
    >>> age = Cell("age")
    >>> adult = Where(Compare("<", age, Constant(18.0)), Constant(0.0), Constant(1.0))
    >>> [cell.column for cell in cells_of(adult)]
    ['age']
    """
    return (one for one in nodes_of(node) if isinstance(one, Cell))
