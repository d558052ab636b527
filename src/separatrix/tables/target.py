"""The column to predict: classes, or a quantity.

A column of numbers is taken for a quantity where its values are no plausible classes:

- numbers with fractions, of more than 10 distinct values;
- more than 10 distinct values, more than half as many as there are rows;
- more than 50 distinct values, the rarest of them in fewer than 10 rows (letters and digits make
  tens of classes, but hardly any of a handful of rows each).

The kind that the user gives a column (``kinds={"age": "number"}`` or ``"category"``) overrules the
rule.

A label such as ``TBD`` that may stand for a missing one is refused until the user decides what it
is, and so is a column that has one label (``x``) or none: with the kind ``"category"`` no label is
the class :data:`BLANK`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.categorical import Categorical
from separatrix.tables.placeholders import of_values, sentence
from separatrix.tables.table import (
    LevelMatch,
    NoSuchColumn,
    Table,
    joined,
    label_text,
    missing_mask,
    not_finite,
    number_text,
    parse_number,
    present,
    quote,
    spelled_numbers,
    text_counts,
)
from separatrix.tables.value_format import is_placeholder_word

BLANK = "(blank)"
"""The class of rows without a label, in a column that has only one other label."""

_FEW = 10
_MANY = 50
_RARE = 10


def looks_like_quantity(table: Table, name: str) -> bool:
    """Whether a column is a quantity to predict rather than classes.

    Parameters
    ----------
    table : Table
    name : str
        The column.

    Returns
    -------
    bool
        The result of the rule at the top of this module; where the user gave the kind of the
        column, whether that is ``"number"``.

    Raises
    ------
    DataError
        If there is no such column.

    Examples
    --------
    >>> from separatrix.tables import looks_like_quantity, read_table
    >>> [looks_like_quantity(read_table(name), "target") for name in ("diabetes", "digits")]
    [True, False]
    """
    column = _column(table, name)
    if name in table.overridden:
        return table.kinds[name] == "number"
    if column.dtype != np.float64:
        return False
    return is_quantity(present(column))


def take_quantity(
    table: Table, name: str, *, fitted: bool = False, least: float = -math.inf
) -> tuple[Table, Any]:
    """Split a table into its features and a quantity to predict.

    Parameters
    ----------
    table : Table
    name : str
        The column that holds the quantity.
    fitted : bool, default=False
        Whether the values are for a model that is already fitted. Then they may all be the same.
    least : float, default=-inf
        The least value that the model can predict.

    Returns
    -------
    features : Table
        The table without the target, with an alert where values of the target may stand for
        missing ones; none of these is changed.
    y : ndarray of shape (n_rows,), float64

    Raises
    ------
    DataError
        If there is no such column, it holds words, values are missing, infinite or below
        ``least``, or all are the same.

    Examples
    --------
    >>> from separatrix.tables import read_table, take_quantity
    >>> features, y = take_quantity(read_table("diabetes"), "target")
    >>> len(features.names), y[:3].tolist()
    (10, [151.0, 75.0, 141.0])
    """
    column = _column(table, name)
    features = table.drop(name)
    _require_all(column, table, name, "values")
    values = np.ma.getdata(column)
    if values.dtype == object:
        values = _numbers(values, table, name, fitted=fitted)
    elif values.dtype == bool and not fitted and name not in table.overridden:
        raise _no_quantity(table, name, values)
    y = values.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise not_finite(table, name, row, y[row], "leave the row out")
    if len(y) and y.min() < least:
        row = int(np.argmax(y < least))
        raise DataError(
            f"{table.place(name, row)}: {number_text(y[row])} is less than {number_text(least)}, "
            "the least number that the model can predict; correct it, or leave the row out"
        )
    if not fitted and len(y) == 1:
        raise DataError(f"{table.source} has 1 row, from which there is nothing to learn")
    if not fitted and len(y) and y.min() == y.max():
        raise DataError(
            f"column {quote(name)} is {number_text(y[0])} in every row, so there is nothing to "
            "predict"
        )
    if not fitted and name not in table.overridden:
        alerts = [sentence(name, one, target=True) for one in of_values(y)]
        features = replace(features, alerts=(*features.alerts, *alerts))
    return features, y


def take_target(
    table: Table, name: str, *, classes: Sequence[Any] | None = None
) -> tuple[Table, Any]:
    """Split a table into its features and the labels.

    Parameters
    ----------
    table : Table
    name : str
        The column that holds the labels.
    classes : sequence, optional
        The classes of a model that is already fitted. Then the labels are matched to them (the
        label ``"1"`` is the class 1), a label that is none of them is an error, and a single class
        is allowed.

    Returns
    -------
    features : Table
        The table without the target.
    y : ndarray of shape (n_rows,)
        Labels: integers where all are whole numbers, booleans, or strings.

    Raises
    ------
    DataError
        If there is no such column, labels are missing, there is one class only, the column looks
        like a quantity or free text, or a label is not among ``classes``.

    Examples
    --------
    >>> from separatrix.tables import read_table, take_target
    >>> features, y = take_target(read_table("wine"), "target")
    >>> len(features.names), sorted(set(y.tolist()))
    (13, ['class_0', 'class_1', 'class_2'])
    """
    column = _with_blanks(_column(table, name), table, name, classes)
    features = table.drop(name)
    _require_all(column, table, name, "labels")
    if isinstance(column, Categorical) and classes is None and _are_words(column):
        _require_labels(column, table, name)
        return features, column.levels.astype(np.str_)[column.codes]
    values = np.ma.getdata(column)
    if classes is not None:
        return features, _match_classes(values, list(classes), name)
    if values.dtype == np.float64 and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise DataError(f"column {quote(name)}, row {row + 1}: {values[row]} is not a label")
    distinct = len(set(values.tolist()))
    if distinct < 2:
        only = f" ({quote(label_text(values[0]))})" if len(values) else ""
        raise DataError(
            f"column {quote(name)} has one class only{only}; a classifier needs at least two"
        )
    _require_classes(table, name, values, distinct)
    _require_labels(column, table, name)
    return features, _labels(values)


# -------------------------------------------------------------------------------------- details


def is_quantity(values: Any) -> bool:
    """Whether numbers are a quantity by the rule at the top, rather than classes."""
    values = values[np.isfinite(values)]
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _FEW:
        return False
    fractions = bool((distinct != np.floor(distinct)).any())
    mostly_single = 2 * len(distinct) > len(values)
    return fractions or mostly_single or (len(distinct) > _MANY and bool(counts.min() < _RARE))


def one_label_or_none(name: str, label: Any) -> DataError:
    """Return the error of a column in which rows have one label or none."""
    category = Setting("kinds", (name, "category"))
    text = quote(label_text(label))
    return DataError(
        Message("one_label_or_none", column=quote(name), label=text, blank=BLANK, category=category)
    )


def _with_blanks(column: Any, table: Table, name: str, classes: Sequence[Any] | None) -> Any:
    """A column with :data:`BLANK` for no label, if its kind or a model's classes require that."""
    gone = missing_mask(column)
    if not gone.any() or gone.all():
        return column
    if classes is None:
        labels = set(present(column).tolist())
        if len(labels) > 1:
            return column
        if not (name in table.overridden and table.kinds[name] == "category"):
            raise one_label_or_none(name, labels.pop())
    elif BLANK not in classes:
        return column
    texts = [
        BLANK if lost else label_text(value)
        for value, lost in zip(np.ma.getdata(column).tolist(), gone.tolist(), strict=True)
    ]
    return np.array(texts, dtype=object)


def _require_labels(column: Any, table: Table, name: str) -> None:
    """Refuse a label that may stand for a missing one."""
    if column.dtype != object or name in table.overridden:
        return
    counts = text_counts(column)
    odd = [text for text in counts if is_placeholder_word(text)]
    if odd and len(odd) < len(counts):
        raise DataError(
            Message(
                "placeholder_label",
                column=quote(name),
                label=quote(odd[0]),
                row=table.row_number(int(np.argmax(np.ma.getdata(column) == odd[0]))),
                missing=Setting("missing", odd[0]),
                category=Setting("kinds", (name, "category")),
            )
        )


def _column(table: Table, name: str) -> Any:
    if name not in table.columns:
        raise NoSuchColumn(name, table.names, table.source)
    return table.columns[name]


def _require_all(column: Any, table: Table, name: str, noun: str) -> None:
    gone = missing_mask(column)
    if gone.any():
        raise DataError(
            Message(
                "missing_target",
                column=quote(name),
                count=int(gone.sum()),
                rows=table.n_rows,
                what=noun,
                row=table.row_number(int(np.argmax(gone))),
            )
        )


def _require_classes(table: Table, name: str, values: Any, distinct: int) -> None:
    """Refuse a column that plainly holds no classes."""
    if name in table.overridden and table.kinds[name] != "number":
        return
    category = Setting("kinds", (name, "category"))
    has = f"column {quote(name)} has {distinct:,} distinct values in {table.n_rows:,} rows"
    if values.dtype == object:
        spelled = spelled_numbers(values, parse_number)
        odd = _odd_word(*spelled)
        if odd is not None:
            raise DataError(
                Message(
                    "almost_a_quantity",
                    column=quote(name),
                    value=quote(values[odd]),
                    row=table.row_number(odd),
                    missing=Setting("missing", str(values[odd])),
                    category=category,
                )
            )
        if _quantity_in_words(*spelled):
            raise DataError(
                Message(
                    "quantity_as_text",
                    column=quote(name),
                    value=quote(values[0]),
                    row=table.row_number(0),
                    number=Setting("kinds", (name, "number")),
                    category=category,
                )
            )
        # Letters and digits have tens of classes; hundreds with a few rows each are no classes.
        if distinct > _MANY and distinct * 10 > table.n_rows:
            if all(map(_has_commas, values.tolist())):
                raise DataError(
                    Message(
                        "commas_in_quantity",
                        column=quote(name),
                        value=quote(values[0]),
                        row=table.row_number(0),
                        category=category,
                    )
                )
            raise DataError(Message("free_text_as_classes", distinct=has, category=category))
    elif values.dtype == np.float64 and is_quantity(values):
        raise DataError(Message("quantity_as_classes", distinct=has, category=category))


def _are_words(column: Categorical) -> bool:
    """Whether texts are several words, none of which spells a number.

    There are too few for the rows to be anything but classes.
    """
    there = len(column.counts())
    return there == len(column.levels) > 1 and not any(
        parse_number(level) is not None or _has_commas(level) for level in column.levels
    )


# Both take what :func:`spelled_numbers` returns for a column.


def _quantity_in_words(numbers: np.ndarray, strange: np.ndarray) -> bool:
    """Whether texts are all numbers, and those of a quantity."""
    return not strange.any() and is_quantity(numbers)


def _has_commas(value: Any) -> bool:
    """Whether a text would be a number but for its commas, of decimals or of thousands."""
    text = str(value)
    return "," in text and parse_number(text.replace(",", "")) is not None


def _odd_word(numbers: np.ndarray, strange: np.ndarray) -> int | None:
    """The first word of a column that would be a quantity without its words; None for others."""
    words = strange | np.isnan(numbers)
    if not 0 < 2 * words.sum() < len(words) or not is_quantity(numbers[~words]):
        return None
    return int(np.argmax(words))


def _numbers(values: Any, table: Table, name: str, *, fitted: bool) -> Any:
    """A quantity from words; the first that spells no number is an error."""
    numbers, strange = spelled_numbers(values, parse_number)
    odd = int(np.argmax(strange)) if strange.any() else None
    if odd is not None and _has_commas(values[odd]):
        raise DataError(
            f"{table.place(name, odd)}: {quote(values[odd])} has a comma; write numbers with a "
            "decimal point and without a thousands separator"
        )
    if odd is None and (fitted or table.kinds[name] == "number"):
        return numbers
    if odd is not None and (fitted or _odd_word(numbers, strange) is not None):
        raise DataError(
            f"{table.place(name, odd)}: {quote(values[odd])} is not a "
            "number, and the column is to be predicted as a quantity; correct it, or leave the "
            "row out"
        )
    raise _no_quantity(table, name, values, in_words=_quantity_in_words(numbers, strange))


def _no_quantity(table: Table, name: str, values: Any, *, in_words: bool = False) -> DataError:
    first = quote(label_text(values[0]))
    remedy: str = Message("read_as_number", number=Setting("kinds", (name, "number")))
    if not in_words:
        remedy = "fit a classifier to it"
    return DataError(
        Message(
            "classes_as_quantity",
            column=quote(name),
            value=first,
            row=table.row_number(0),
            remedy=remedy,
        )
    )


def _labels(values: Any) -> Any:
    if values.dtype == bool:
        return np.array(values)
    if values.dtype == np.float64:
        if (values == np.floor(values)).all() and np.abs(values).max(initial=0.0) < 2**53:
            return values.astype(np.int64)
        # Fractions as labels are names: scikit-learn takes float labels for a regression target.
        values = [number_text(value) for value in values]
    return np.array(list(values), dtype=np.str_)


def _match_classes(values: Any, classes: list[Any], name: str) -> Any:
    codes = LevelMatch([label_text(label) for label in classes]).find_all(values.tolist())
    if (codes < 0).any():
        row = int(np.argmin(codes))
        raise DataError(
            f"column {quote(name)}, row {row + 1}: {quote(label_text(values[row]))} is not a "
            f"class of the model; its classes are {joined(map(label_text, classes))}"
        )
    return np.asarray(classes)[codes]
