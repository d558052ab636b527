"""Columns that are taken apart: a column for each value of a list, coordinate or currency.

``channels`` of ``email, phone`` has ``channels (email)`` and ``channels (phone)``, 1 where a cell
has the value and 0 where it has not, as an empty cell has none of them; ``position`` has
``position (latitude)`` and ``position (longitude)``; and amounts in several currencies, which
nothing converts, have a column each, empty where a row has another currency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.tables.categorical import Categorical
from separatrix.tables.date_parts import part_of
from separatrix.tables.table import Table, as_strings, missing_mask, number_column
from separatrix.tables.value_format import ValueFormat


def part_names(name: str, spelling: ValueFormat) -> list[str]:
    """The names of the columns that a column is taken apart into.

    Examples
    --------
    >>> from separatrix.tables.column_parts import part_names
    >>> from separatrix.tables.value_format import ValueFormat
    >>> part_names("paid", ValueFormat("list", unit=",", words=("card", "cash")))
    ['paid (card)', 'paid (cash)']
    """
    return [f"{name} ({part})" for part in spelling.parts]


def source_of(name: str, spellings: Mapping[str, ValueFormat]) -> str | None:
    """The column that a column with this name is a part of, or None."""
    for column, spelling in spellings.items():
        if name.startswith(f"{column} (") and name in part_names(column, spelling):
            return column
    found = part_of(name)
    return None if found is None else found[0]


def with_parts(
    table: Table,
    spellings: Mapping[str, ValueFormat],
    known: Mapping[str, Mapping[str, Any]] | None = None,
) -> Table:
    """A table with the parts of columns that are taken apart added behind its own columns.

    Parameters
    ----------
    table : Table
    spellings : mapping of str to ValueFormat
        The spellings of columns; columns that are not in the table are skipped.
    known : mapping of str to mapping, optional
        The values that the texts of a column were read as, by column.

    Returns
    -------
    Table
    """
    columns, kinds, derived = dict(table.columns), dict(table.kinds), dict(table.derived)
    for name, spelling in spellings.items():
        if not spelling.parts or name not in columns:
            continue
        names = part_names(name, spelling)
        if table.spellings.get(name) == spelling and all(derived.get(n) == name for n in names):
            continue
        # Cells without several values, or without any, may have been read as numbers.
        texts = columns[name] if columns[name].dtype == object else as_strings(columns[name])
        # The parts that the table was read with may be others.
        for own in [part for part, source in derived.items() if source == name]:
            del columns[own], kinds[own], derived[own]
        each = _parts(texts, spelling, (known or {}).get(name, {}))
        for own, values in zip(names, each, strict=True):
            if own in table.columns and own not in table.derived:
                continue
            columns[own] = number_column(values, np.isnan(values))
            kinds[own], derived[own] = "number", name
    return replace(table, names=tuple(columns), columns=columns, kinds=kinds, derived=derived)


def _parts(column: Any, spelling: ValueFormat, known: Mapping[str, Any]) -> np.ndarray:
    """The parts of every row; NaN for none."""
    if isinstance(column, Categorical):
        texts, codes = column.levels.tolist(), column.codes
    else:
        listed = np.ma.getdata(column).tolist()
        place = {text: k for k, text in enumerate(dict.fromkeys(listed))}
        texts = [*place]
        codes = np.fromiter(map(place.__getitem__, listed), dtype=np.int64, count=len(listed))
        codes[missing_mask(column)] = -1
    table = np.full((len(texts) + 1, len(spelling.parts)), np.nan)
    for row, text in zip(table, texts, strict=False):
        found = known[text] if text in known else spelling.apart(text)
        if found is not None:
            row[:] = found
    table[-1] = spelling.nothing
    return table[codes].T
