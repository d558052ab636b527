"""Databases that run queries here: DuckDB, SQLite, and PostgreSQL without a server."""

from __future__ import annotations

import csv
import functools
import itertools
import math
import os
import shutil
import sqlite3
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from separatrix.exports.artefacts import Answers
from separatrix.exports.dialects import DIALECTS, Dialect
from separatrix.exports.sql import literal, statements
from separatrix.expressions.features import Cell, Program
from separatrix.tables.source_files import kept_open

_NOTHING = "\\N"
# The user and the group that own nothing.
_NOBODY = 65534, 65534
# Each query of DuckDB has a schema with a number of its own.
_calls = itertools.count()


class Database(ABC):
    """A database that answers queries.

    Attributes
    ----------
    name, dialect : str
    """

    name: ClassVar[str]
    dialect: ClassVar[str]

    @abstractmethod
    def version(self) -> str | None:
        """The version; None where it is not installed."""

    @abstractmethod
    def _rows(self, query: str, setup: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query returns, after some statements."""

    def run(self, text: str, program: Program, rows: Mapping[str, Sequence[object]]) -> Answers:
        """The answers of the query of a text for rows of a table with the name ``data``."""
        found = self._rows(statements(text)[0], self._table(program, rows))
        if DIALECTS[self.dialect].whole_row:
            # Joins keep no order; the others answer row by row.
            found.sort(key=lambda row: int(row[len(program.cells)]))
        prediction = program.prediction
        n_labels = 0 if prediction.label is None else prediction.label.n_columns
        n_scores = prediction.scores.n_columns
        tree = prediction.probabilities
        n_probabilities = 0 if tree is None else tree.n_columns
        width = n_labels + n_scores + n_probabilities
        own = [row[len(row) - width :] for row in found]
        numbers = np.array(
            [[_number(cell) for cell in row[n_labels:]] for row in own], dtype=np.float64
        ).reshape(len(own), n_scores + n_probabilities)
        labels = None
        if n_labels == 1:
            labels = np.array([_place(row[0], prediction.classes) for row in own], dtype=int)
        elif n_labels:
            several = [
                [-1 if cell is None else int(cell) for cell in row[:n_labels]] for row in own
            ]
            labels = np.array(several, dtype=int)
        return Answers(
            numbers[:, :n_scores], labels, numbers[:, n_scores:] if n_probabilities else None
        )

    def own_proof(self, text: str) -> float:
        """The worst difference that the proof of a text finds; infinite for a wrong label."""
        ((share, _, wrong),) = self._rows(statements(text)[1])
        return math.inf if float(wrong) else float(share)

    def _table(self, program: Program, rows: Mapping[str, Sequence[object]]) -> list[str]:
        own = DIALECTS[self.dialect]
        kinds = {"number": own.double, "date": own.timestamp}
        names = [cell.column for cell in program.cells]
        place = "place_of_the_row"
        while place in names:
            place += "_"
        columns = [
            f"{own.identifier(c.column)} {kinds.get(c.kind, own.texts)}" for c in program.cells
        ]
        columns.append(f"{own.identifier(place)} INTEGER")
        lines = []
        for i in range(len(next(iter(rows.values()), ()))):
            cells = [_stored(own, cell, rows[cell.column][i]) for cell in program.cells]
            lines.append(f"({', '.join([*cells, str(i)])})")
        parts = (lines[k : k + 500] for k in range(0, len(lines), 500))
        return [
            f"CREATE TABLE data ({', '.join(columns)})",
            *(f"INSERT INTO data VALUES {', '.join(part)}" for part in parts),
        ]


def _stored(dialect: Dialect, cell: Cell, value: Any) -> str:
    # A database may store no number for one that is not one.
    if cell.kind == "number" and math.isnan(value) and dialect.name != "sqlite":
        return f"CAST('NaN' AS {dialect.double})"
    return literal(dialect, cell, value)


def _number(cell: Any) -> float:
    return math.nan if cell is None else float(cell)


def _place(cell: Any, classes: Iterable[object]) -> int:
    """The place of a class that a database answers, perhaps as a text, or a truth as 0 or 1."""
    if cell is None:
        return -1
    for k, own in enumerate(classes):
        if isinstance(own, bool):
            same = str(cell).lower()[:1] in (("t", "1") if own else ("f", "0"))
        elif isinstance(own, int | float):
            same = float(cell) == float(own)
        else:
            same = str(cell) == str(own)
        if same:
            return k
    return -2


def _fetched(database: Any, queries: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows that the last of some queries finds, on a connection that is closed then."""
    with closing(database):
        for query in queries:
            found = database.execute(query)
        rows: list[tuple[Any, ...]] = found.fetchall()
        return rows


class DuckDB(Database):
    """DuckDB, in this process."""

    name, dialect = "DuckDB", "duckdb"

    def version(self) -> str | None:
        try:
            import duckdb
        except ImportError:
            return None
        return str(duckdb.__version__)

    def _rows(self, query: str, setup: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        # In a transaction that is never committed, each call has a schema without tables.
        own = f"own{next(_calls)}"
        begun = ["BEGIN", f"CREATE SCHEMA {own}", f"USE {own}"]
        return _fetched(_duckdb().cursor(), [*begun, *setup, query])


@kept_open
def _duckdb() -> Any:
    """A database that stays open: to open one takes longer than most queries."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


class SQLite(Database):
    """SQLite, in this process."""

    name, dialect = "SQLite", "sqlite"

    def version(self) -> str | None:
        with sqlite3.connect(":memory:") as database:
            try:
                database.execute("SELECT exp(1.0)")
            except sqlite3.OperationalError:  # built without its mathematical functions
                return None
        return sqlite3.sqlite_version

    def _rows(self, query: str, setup: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        return _fetched(sqlite3.connect(":memory:"), [*setup, query])


class PostgreSQL(Database):
    """PostgreSQL in single-user mode, on a cluster that this process makes and deletes."""

    name, dialect = "PostgreSQL", "postgres"

    def version(self) -> str | None:
        if _postgres("postgres") is None or _postgres("initdb") is None or _unprivileged() is None:
            return None
        return _called("postgres", "--version").stdout.split()[2]

    def _rows(self, query: str, setup: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        folder = _cluster().name
        answers = Path(folder) / "answers.csv"
        answers.unlink(missing_ok=True)
        # The transaction is never committed, so that each call finds no table.
        copied = f"COPY ({query}\n) TO '{answers}' (FORMAT csv, NULL '{_NOTHING}')"
        # The end of a statement is a semicolon before an empty line.
        text = "".join(f"{own};\n\n" for own in ("BEGIN", *setup, copied))
        options = ["--single", "-j", "-F", "-D", f"{folder}/cluster", "postgres"]
        found = _called("postgres", *options, cwd=folder, input=text)
        if found.returncode or "ERROR:" in found.stderr or not answers.exists():
            lines = [line for line in found.stderr.splitlines() if "ERROR:" in line]
            raise RuntimeError(f"PostgreSQL refused the query: {lines or found.stderr[-2000:]}")
        with answers.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            return [tuple(None if cell == _NOTHING else cell for cell in row) for row in rows]


@functools.cache
def _cluster() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="separatrix-")
    if os.getuid() == 0:
        shutil.chown(folder.name, *_NOBODY)
    options = ["-U", "postgres", "--no-sync", "--locale=C", "--encoding=UTF8", "--auth=trust"]
    made = _called("initdb", "-D", f"{folder.name}/cluster", *options, cwd=folder.name)
    if made.returncode:
        raise RuntimeError(f"PostgreSQL's initdb failed: {made.stderr[-2000:]}")
    return folder


def _called(name: str, *options: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [*(_unprivileged() or ()), str(_postgres(name)), *options]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, **how
    )


def _unprivileged() -> list[str] | None:
    """The beginning of a command that runs without privileges, which PostgreSQL insists on."""
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return None
    return [setpriv, f"--reuid={_NOBODY[0]}", f"--regid={_NOBODY[1]}", "--clear-groups"]


@functools.cache
def _postgres(name: str) -> str | None:
    """The path of a program of PostgreSQL, the newest where a distribution has several."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda own: float(own.parent.name)
    )
    found = [str(folder / name) for folder in folders if (folder / name).exists()]
    return found[-1] if found else shutil.which(name)


ENGINES = (DuckDB, PostgreSQL, SQLite)
"""The database engines that can run on this machine."""
