"""A table as a diagnosis takes it: the target apart, the other columns as a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.messages import message_of, quoted
from separatrix.tables import Encoder, Table, looks_like_quantity, take_quantity, take_target
from separatrix.tables.date_parts import with_date_parts, without_parts_of
from separatrix.tables.placeholders import missing_cells, of_column, read_as_missing, sentence
from separatrix.tables.table import masked, present


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table whose columns are encoded with their numbers as they are.

    Attributes
    ----------
    table : Table
        The table with the target.
    target : str or None
        The column to predict.
    quantity : bool
        Whether it holds a quantity, and not classes.
    features : Table
        The other columns; values that stand for missing ones are missing.
    y : ndarray or None
    encoder : Encoder
    X : matrix or None
        None where no column can be used.
    placeholders : tuple of Finding
        The findings about values that are read as missing.
    """

    table: Table
    target: str | None
    quantity: bool
    features: Table
    y: np.ndarray | None
    encoder: Encoder
    X: Any
    placeholders: tuple[Finding, ...]


def prepared_table(table: Table, target: str | None = None) -> PreparedTable:
    """Take the target out of a table, and encode the rest.

    Raises
    ------
    DataError
        If there is no such column, it lacks values, or a number is infinite.
    """
    features, y, quantity = table, None, False
    if target is not None:
        quantity = looks_like_quantity(table, target)
        features, y = (take_quantity if quantity else take_target)(table, target)
    features, found = _without_placeholders(with_date_parts(features))
    encoder, X = Encoder(standardise=False), None
    try:
        encoder.fit(features, None if quantity else y)
        # A constant part of a date needs no alert: it is derived, not in the data.
        parts = {name for name in features.derived if _is_constant(features.columns[name])}
        own = zip(encoder.feature_names_, encoder.columns_, strict=True)
        constant = [feature for feature, name in own if name in parts]
        if len(constant) < encoder.n_features_:
            encoder.leave_out(constant)
        X = encoder.transform(features)
    except DataError as error:
        # A table of which nothing can be used is described all the same.
        if getattr(message_of(error), "code", "") != "no_usable_column":
            raise
    return PreparedTable(table, target, quantity, features, y, encoder, X, tuple(found))


def table_of(X: Any, y: Any, names: list[str] | None) -> tuple[Table, str | None]:
    """A table of an array or a data frame and its target, and the name of this one."""
    if isinstance(X, Table):
        columns: dict[str, Any] = {}
    elif hasattr(X, "columns") or isinstance(X, dict):
        columns = {str(name): X[name] for name in getattr(X, "columns", X)}
    else:
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(
                "a profile is of an array of two dimensions, a data frame or a Table; make a "
                "sparse matrix dense first"
            )
        names = [f"column {j}" for j in range(array.shape[1])] if names is None else names
        columns = {name: array[:, j] for j, name in enumerate(names)}
    if y is None:
        return (X if isinstance(X, Table) else Table.from_columns(columns)), None
    known = X.names if isinstance(X, Table) else [*columns]
    name = str(getattr(y, "name", None) or "target")
    while name in known:
        name += " (target)"
    if not isinstance(X, Table):
        return Table.from_columns({**columns, name: y}), name
    own = Table.from_columns({name: y})
    if own.n_rows != X.n_rows:
        raise ValueError(f"there are {own.n_rows:,} labels for {X.n_rows:,} rows")
    return replace(
        X,
        names=(*X.names, name),
        columns={**X.columns, **own.columns},
        kinds={**X.kinds, **own.kinds},
    ), name


# The words on the card of a column, by the sort of the encoder's alert.
_SHORT = {
    "of one value, left out": "constant",
    "of text without words, left out": "no words",
    "that identify rows, left out": "identifies rows",
    "without values, left out": "holds no values",
    "one-to-one with the target": "equals the target",
    "whose value determines the target": "determines the target",
    "one-to-one with an earlier one": "one-to-one with {first}",
    "that repeat an earlier one on another scale": "{first} on another scale",
    "of row numbers": "counts the rows",
}


def short_alerts(encoder: Encoder) -> dict[str, list[str]]:
    """The encoder's alerts about each column, in a few words."""
    found: dict[str, list[str]] = {}
    for sort, columns, _ in encoder.alerted_:
        if sort in _SHORT and columns:
            words = _SHORT[sort].format(first=quoted(columns[0], 30))
            found.setdefault(columns[-1], []).append(words)
    return found


def _is_constant(column: Any) -> bool:
    return len(set(present(column).tolist())) < 2


def _without_placeholders(table: Table) -> tuple[Table, list[Finding]]:
    """The table as a fit reads it, without the values that stand for missing ones."""
    away = {name: read_as_missing(of_column(table, name)) for name in table.dates}
    parted = without_parts_of(table, away)
    columns, findings = dict(parted.columns), []
    for name in table.names:
        gone, found = missing_cells(parted, name)
        if read_as_missing(found):
            columns[name] = masked(np.ma.getdata(columns[name]).copy(), gone)
        for one in found:
            if one.missing:
                what = sentence(name, one, date=name in table.dates)
                findings.append(
                    Finding("placeholder", "warning", what, "", "", {"columns": [name]})
                )
    return (replace(table, columns=columns) if findings else table), findings
