"""Columns that describe the rows and are not features: weights, groups, times."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from separatrix._compiled.splitmix import GOLDEN, mixed
from separatrix.data.design import as_design
from separatrix.data.row_hashing import row_keys
from separatrix.data.splitting import split_rows
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting, message_of, quoted
from separatrix.tables.table import (
    NoSuchColumn,
    Table,
    fault_of_role,
    missing_mask,
    number_text,
    quote,
)


@dataclass(frozen=True, eq=False)
class Roles:
    """The weights, groups and times of rows, from columns that are not features.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,), or None
        The weight of each row.
    together : ndarray of int of shape (n_rows,), or None
        A number shared by rows that stay on one side of a split; None where each is alone.
    times : ndarray of shape (n_rows,), or None
        The times by which the latest rows are held out.
    """

    weights: np.ndarray | None = None
    together: np.ndarray | None = None
    times: np.ndarray | None = None
    grouped: bool = False

    def split(
        self, y: np.ndarray, *, test_size: float, seed: int | None, stratify: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit and those to hold out; see :func:`separatrix.tables.split_rows`."""
        return split_rows(
            y,
            test_size=test_size,
            seed=seed or 0,
            stratify=stratify,
            together=self.together,
            whole=self.grouped,
            times=self.times,
        )


def take_roles(
    features: Table,
    names: Mapping[str, str | None],
    *,
    equal: bool = True,
    absent: bool = False,
) -> tuple[Table, Roles]:
    """Split a table without its target into features and the roles of other columns.

    Parameters
    ----------
    features : Table
    names : mapping
        The columns of ``"weight"``, ``"group"`` and ``"time"``; that of the times stays a feature.
    equal : bool
        Whether equal rows stay together where there is no group: as copies of one another, unless
        fewer than half of the rows are distinct.
    absent : bool
        Whether these columns may be lacking, as in a table to be predicted.

    Raises
    ------
    DataError
        If a column is not there, lacks values, or holds no weights or times; by row.
    """
    given = {role: name for role, name in names.items() if name is not None}
    for role, name in list(given.items()):
        if name in features.columns:
            continue
        if not absent:
            raise NoSuchColumn(name, features.names, features.source, role)
        del given[role]
    for role, name in given.items():
        with _blaming(role, name):
            _require_all(features, name)
    times = None
    if "time" in given:
        with _blaming("time", given["time"]):
            times = _numbers(features, given["time"], "time")
    weights = None
    if "weight" in given:
        with _blaming("weight", given["weight"]):
            weights = _weights(features, given["weight"])
    together = None
    if "group" in given:
        values = np.ma.getdata(features.columns[given["group"]])
        together = np.unique(values.astype(str) if values.dtype == object else values,
                             return_inverse=True)[1].reshape(-1)  # fmt: skip
    kept = features.drop({given[role] for role in ("weight", "group") if role in given})
    if together is None and equal:
        together = equal_rows(kept)
    return kept, Roles(weights, together, times, "group" in given)


def equal_rows(table: Table) -> np.ndarray | None:
    """A number that equal rows share; None where no two rows are equal, or most of them are.

    Examples
    --------
    >>> from separatrix.tables.table import Table
    >>> from separatrix.tables.roles import equal_rows
    >>> equal_rows(Table.from_columns({"age": [31, 45, 31], "job": ["a", "b", "a"]})).tolist()
    [0, 1, 0]
    """
    together = repeated_rows(table)
    if together is None:
        return None
    # Where most rows are equal to others, of few categories, they are no copies of one another.
    n_different = int((together == np.arange(len(together))).sum())
    return None if 2 * n_different < len(together) else together


def repeated_rows(table: Table) -> np.ndarray | None:
    """The number of the first row that equals each row; None where no two are equal.

    Text is looked at only in rows whose numbers are those of another.
    """
    n = table.n_rows
    keys = np.zeros(n, dtype=np.uint64)
    if table.matrix is not None:
        keys += row_keys(as_design(table.matrix.astype(np.float64)))
    texts = []
    for place, name in enumerate(table.names, start=1):
        column = table.columns[name]
        if column.dtype == object:
            texts.append((place, column))
            continue
        values, gone = np.ma.getdata(column), missing_mask(column)
        # Both zeros are one number, and all that is missing is alike.
        numbers = np.where(gone, np.nan, values.astype(np.float64) + 0.0)
        keys += mixed(numbers.view(np.uint64) ^ np.uint64(place * int(GOLDEN) % 2**64))
    # To put the keys in order takes less than to know where they came from.
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return None
    some = np.flatnonzero(np.isin(keys, repeated))
    keys = keys[some]
    for place, column in texts:
        part = column[some]
        chosen, lost = np.ma.getdata(part).tolist(), missing_mask(part)
        known = {value: hash((place, value)) for value in set(chosen)}
        codes = np.array([known[value] for value in chosen], dtype=np.int64).view(np.uint64)
        codes[lost] = np.uint64(place)
        keys += mixed(codes)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(some):
        return None
    together = np.arange(n)
    together[some] = some[first[group.reshape(-1)]]
    return together


@contextlib.contextmanager
def _blaming(role: str, name: str) -> Iterator[None]:
    """Add the role that the column was given to a fault."""
    try:
        yield
    except DataError as error:
        raise DataError(fault_of_role(role, name, message_of(error))) from None


def _require_all(table: Table, name: str) -> None:
    gone = missing_mask(table.columns[name])
    if gone.any():
        raise DataError(
            f"{table.place(name, int(np.argmax(gone)))} is missing; fill it in, or leave the row "
            "out"
        )


def _numbers(table: Table, name: str, what: str) -> np.ndarray:
    values = np.ma.getdata(table.columns[name])
    if values.dtype == object:
        setting = Setting("kinds", (name, "date" if what == "time" else "number"))
        raise DataError(
            Message(
                "role_in_words",
                column=quote(name),
                value=quoted(values[0]),
                what=what,
                kind=setting,
            )
        )
    return np.asarray(values, dtype=np.float64)


def _weights(table: Table, name: str) -> np.ndarray:
    weights = _numbers(table, name, "weight")
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{table.place(name, row)}: {number_text(weights[row])} is not a weight; weights are "
            "finite numbers from 0"
        )
    if not weights.any():
        raise DataError(f"column {quote(name)} gives every row the weight 0")
    return weights
