"""What the rows of files add up to, found by DuckDB in passes that hold none of them.

Sums of numbers are taken about a centre that a few rows suggest, a stretch of rows at a time on
one thread each, and added up in the order of the ranges: the same bits every time, and the
digits of two passes over rows in memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.scale.encoding import PLAIN, RowRange, SourceColumn, SourceFile, escaped
from separatrix.tables import Encoder, Table
from separatrix.tables import source_files as files
from separatrix.tables.column_encodings import is_called_identifier
from separatrix.tables.date_parts import with_date_parts
from separatrix.tables.placeholders import (
    Placeholders,
    Rest,
    candidates,
    ends_of,
    is_code,
    judged,
    of_values,
    read_as_missing,
)
from separatrix.tables.reader import Layout
from separatrix.tables.statistics import (
    CategoryFacts,
    Counted,
    Facts,
    NumberFacts,
    WordCounts,
    weighted_moments,
)
from separatrix.tables.table import is_marked, mark_numbers, missing_mask, number_text, quote
from separatrix.tables.value_format import ValueFormat

__all__ = ["Categories", "Statistics"]

# And a word.
_WORD_BYTES = 300
# Rows that suggest where the middle of a column is, and how many texts in it are different.
_GLANCE = 4096
# Bytes that a level takes while it is looked at.
_LEVEL_BYTES = 400
_WIDTHS = {"FLOAT": 4, "INTEGER": 4, "UINTEGER": 4, "SMALLINT": 2, "TINYINT": 1, "UTINYINT": 1}
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*")
_NARROW = {"FLOAT", "TINYINT", "UTINYINT", "SMALLINT", "USMALLINT"}
# Differences from the centre are squared; of those it may be off by this share of a deviation.
_OFF = 1.0


@dataclass(frozen=True)
class Sums:
    """What columns of numbers add up to, an array of a number for each of them.

    Attributes
    ----------
    centres, counts : ndarray
        About where the middle is, and how many values there are.
    first, second : ndarray
        Sums of differences from the centres, and of their squares.
    ends : dict of str to (float, float)
        The lowest and the highest value of each column that may hold placeholders, by its name.
    """

    centres: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    second: np.ndarray
    ends: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Categories:
    """The different values of a column, as text.

    Attributes
    ----------
    path : str
        A Parquet file of them as they are stored, ``c``.
    texts : list of str or None
        What they are without blanks; None for what stands for a missing value.
    counts : ndarray of int64
    first : ndarray of int64 or None
        The first row of each.
    """

    path: str
    texts: list[str | None]
    counts: np.ndarray
    first: np.ndarray | None = None


class Statistics:
    """Statistics of the columns of Parquet files.

    Parameters
    ----------
    connection
        DuckDB's, with its limits.
    layout : Layout
        Of the files, whose parts are the sources.
    sources : sequence of SourceFile
    folder : path
        Where levels are written.
    memory : int
        Bytes that all of it may take.
    converted : bool
        Whether the sources were written by this library, their columns in the order of the layout.
    readers : int
        How many may read at once.
    on_progress : callable
        Told how many rows were looked at.
    """

    def __init__(
        self,
        connection: Any,
        layout: Layout,
        sources: Sequence[SourceFile],
        folder: Path,
        memory: int,
        *,
        converted: bool,
        readers: int,
        on_progress: Callable[[int], None],
    ) -> None:
        self.connection, self.layout, self.sources = connection, layout, sources
        self.row_ranges: Sequence[RowRange] = ()
        self.folder, self.memory = folder, memory
        self.converted, self.readers, self.on_progress = converted, readers, on_progress
        self.n_rows = sum(source.n_rows for source in sources)
        self.spellings: dict[str, ValueFormat] = {}
        self.notes: list[str] = []
        self.alerts: list[str] = []
        self._found: dict[str, list[Placeholders]] = {}
        self.looks_for_placeholders = True
        self.exact = False
        self._types = [self._described(source) for source in sources]
        self._keys = {name: f"f{k}" for k, name in enumerate(layout.groups)}

    def _described(self, source: SourceFile) -> list[str]:
        cursor = source.run(
            self.connection, f"SELECT * FROM {source.relation()} LIMIT 0", fetch=False
        )
        return [str(entry[1]) for entry in cursor.description]

    def row_bytes(self) -> float:
        """About what a row takes while it is fetched."""
        total = 9.0
        for name in self.layout.groups:
            column = self.column(name)
            stored = self._types[0][column.places[0]]
            plain = column.way == "number" and column.sql[0] == f"c{column.places[0]}"
            total += 1.0 + (_WIDTHS.get(stored, 8) if plain else 8.0)
        return total

    def is_narrow(self, column: SourceColumn) -> bool:
        """Whether a column holds numbers in every file that float32 holds as they are."""
        return column.way == "number" and all(
            column.sql[k] == f"c{place}" and self._types[k][place] in _NARROW
            for k, place in enumerate(column.places)
        )

    # --- columns --------------------------------------------------------------------------------

    def column(self, name: str) -> SourceColumn:
        """Where a column comes from, before anything is known of its values."""
        places, sql = [], []
        group, kind = self.layout.groups[name], self.layout.wanted.get(name)
        as_text = group in ("string", "json") or kind in ("category", "text")
        for k, part in enumerate(self.layout.parts):
            place = list(self.layout.groups).index(name) if self.converted else part.places[name]
            places.append(place)
            stored, c = self._types[k][place], f"c{place}"
            if self.converted and not as_text:
                value = c
            elif as_text:
                value = self._text_sql(part, name, c, stored, group)
            elif stored in PLAIN and not mark_numbers(self.layout.options.marks):
                value = c
            else:
                value = self.layout.select(part, name, c)
            sql.append(value)
        way = "levels" if as_text else "date" if group == "date" else "number"
        if way == "number" and len({self._types[k][places[k]] for k in range(len(places))}) > 1:
            sql = [f"CAST({value} AS DOUBLE)" for value in sql]
        if group == "bool" and way == "number":
            sql = [f"CAST({value} AS UTINYINT)" for value in sql]
        return SourceColumn(name, self._keys[name], tuple(places), tuple(sql), way)

    def _text_sql(self, part: files.Part, name: str, c: str, stored: str, group: str) -> str:
        own = part.types[part.places[name]] if not self.converted else group
        if stored == "VARCHAR" and (self.converted or own != "json"):
            return c
        if own == "json":
            return f"({c} ->> '$')"
        if group == "number":
            return f"CAST(CAST({c} AS DOUBLE) AS VARCHAR)"
        return f"CAST({c} AS VARCHAR)"

    def relation(self, columns: Sequence[SourceColumn], rows: bool = False) -> str:
        """SQL for all rows of some columns, by their keys; ``row``: their numbers."""
        parts, at = [], 0
        for k, source in enumerate(self.sources):
            chosen = [f"{one.sql[k]} AS {one.key}" for one in columns]
            if rows:
                chosen.append(f"r + {at} AS row")
            if source.n_rows:
                parts.append(f"SELECT {', '.join(chosen)} FROM {source.relation()}")
            at += source.n_rows
        return f"({' UNION ALL '.join(parts)})"

    def _run(self, sql: str, *, fetch: bool = True) -> Any:
        label = self.layout.source
        return files.Part(Path(label), label, ".parquet").run(self.connection, sql, fetch=fetch)

    # --- levels ---------------------------------------------------------------------------------

    def levels(self, column: SourceColumn, *, first: bool = False) -> Categories:
        """The different values of a column, and how often each is there."""
        key, path = column.key, self.folder / f"levels-{column.key}.parquet"
        most = max(int(self.memory / 4 / _LEVEL_BYTES), 1000)
        about = int(
            self._run(f"SELECT approx_count_distinct({key}) AS n FROM {self.relation([column])}")[
                "n"
            ][0]
        )
        if about > 1.2 * most:
            raise self.too_many(column.name, about)
        first_row = ", min(row) AS row" if first else ""
        clean = "c"
        group = self.layout.groups[column.name]
        if group in ("string", "json") and not self.converted:
            clean = self.layout.parts[0].values(self.layout.options.marks).cast("c", "string")
        sql = (
            f"SELECT {key} AS c, count(*) AS n{first_row} FROM {self.relation([column], first)} "
            f"WHERE {key} IS NOT NULL GROUP BY 1 ORDER BY 1"
        )
        self._run(f"COPY ({sql}) TO {files.literal(str(path))} (FORMAT parquet)", fetch=False)
        where = files.literal(escaped(str(path)))
        wanted = f"n, {clean} AS t" + (", row" if first else "")
        found = self._run(
            f"SELECT {wanted} FROM read_parquet({where}, file_row_number = true) "
            "ORDER BY file_row_number"
        )
        texts = np.ma.getdata(found["t"]).tolist()
        if np.ma.is_masked(found["t"]):
            gone = np.ma.getmaskarray(found["t"]).tolist()
            texts = [None if lost else text for text, lost in zip(texts, gone, strict=True)]
        if group == "number":
            numbers = [float(text) for text in texts]
            texts = [None if math.isnan(x) else number_text(x) for x in numbers]
        marks = self.layout.options.marks
        if mark_numbers(marks):
            texts = [None if text is None or is_marked(text, marks) else text for text in texts]
        rows = np.ma.getdata(found["row"]).astype(np.int64) if first else None
        return Categories(str(path), texts, np.ma.getdata(found["n"]).astype(np.int64), rows)

    def too_many(self, name: str, about: int) -> DataError:
        """Return the error of a column of more levels than fit in memory."""
        ignored = Setting("kinds", (name, "ignore"))
        return DataError(
            Message("too_many_levels", column=quote(name), about=about, ignored=ignored)
        )

    def read_levels(self, name: str, levels: Categories) -> Table:
        """The levels as a table of their own, a row each, read by what they mean."""
        counts: dict[str, int] = {}
        for text, n in zip(levels.texts, levels.counts.tolist(), strict=True):
            if text is not None:
                counts[text] = counts.get(text, 0) + n
        return self.layout.table({name: Counted(list(counts), list(counts.values()))}, len(counts))

    # --- facts ----------------------------------------------------------------------------------

    def of_columns(
        self, names: Sequence[str], encoder: Encoder, read: Sums | None = None
    ) -> tuple[list[SourceColumn], list[Facts]]:
        """Columns of features, and what they add up to, in the order of a table's."""
        self.look_for(encoder)
        columns = {name: self.column(name) for name in names}
        for name, column in columns.items():
            if column.way == "levels" and self._is_text(column, encoder):
                columns[name] = self._as_text(column)
        facts: dict[str, Facts] = {}
        derived: list[Facts] = []
        plain = [one for one in columns.values() if one.way in ("number", "date")]
        for one, found in zip(plain, self.of_numbers(plain, read), strict=True):
            facts[one.name] = found
            columns[one.name] = replace(one, whole=found.n_missing == 0)
            if one.way == "date":
                derived += self._parts_of_dates(one)
        for one in [one for one in columns.values() if one.way == "levels"]:
            columns[one.name], facts[one.name], parts = self._of_levels(one)
            derived += parts
        for one in [one for one in columns.values() if one.way == "text"]:
            facts[one.name] = self._of_text(one, encoder)
        chosen = [facts[name] for name in names]
        known = set(names)
        return list(columns.values()), chosen + [one for one in derived if one.name not in known]

    def look_for(self, encoder: Encoder) -> None:
        """Look for placeholders where an encoding is to be learned."""
        self.looks_for_placeholders = not encoder.fitted
        self.exact = not (encoder.standardise or encoder.reference)

    def _is_text(self, column: SourceColumn, encoder: Encoder) -> bool:
        """Whether strings are free text, by the rule of :mod:`separatrix.tables.reader`."""
        name = column.name
        wanted = encoder.kinds_.get(name) if encoder.fitted else self.layout.wanted.get(name)
        if wanted is not None or self.layout.groups[name] not in ("string", "json"):
            return wanted == "text"
        texts = [text for text in self._glance([column])[0] if text is not None]
        if not texts:
            return False
        words = float(np.median([len(text.split()) for text in texts]))
        if words < 3:
            return False
        key = column.key
        found = self._run(
            f"SELECT approx_count_distinct({key}) AS d, count({key}) AS n "
            f"FROM {self.relation([column])}"
        )
        share = int(found["d"][0]) / max(int(found["n"][0]), 1)
        return share >= 0.5 or (words >= 8 and share >= 0.1)

    def _as_text(self, column: SourceColumn) -> SourceColumn:
        """The same column, its texts without blanks and marks for what is missing."""
        if self.converted:
            return replace(column, way="text")
        values = self.layout.parts[0].values(self.layout.options.marks)
        if self.layout.groups[column.name] not in ("string", "json"):
            return replace(column, way="text")
        return replace(
            column, way="text", sql=tuple(values.cast(value, "string") for value in column.sql)
        )

    def _of_text(self, column: SourceColumn, encoder: Encoder) -> Facts:
        """How many rows have each word, a stretch at a time."""
        words = WordCounts(column.name, encoder, most=int(self.memory / 4 / _WORD_BYTES))
        if encoder.fitted:
            return words.facts(self.n_rows, 0)
        missing = 0
        for found in self.each(lambda k: column.chosen(k)):
            texts = found[column.key]
            missing += int(missing_mask(texts).sum())
            words.add(texts)
        return words.facts(self.n_rows, missing)

    def _glance(self, columns: Sequence[SourceColumn]) -> list[list[Any]]:
        """Read sample values of columns, spread over all rows; None where one is missing."""
        out: list[list[Any]] = [[] for _ in columns]
        some = self.row_ranges[:: max(1, len(self.row_ranges) // 8)]
        rows = max(_GLANCE // len(some), 64)
        for row_range in some:
            k, start, stop, _, _ = row_range.pieces[0]
            stop = min(stop, start + rows)
            chosen = ", ".join(f"{one.sql[k]} AS {one.key}" for one in columns)
            found = self.sources[k].run(
                self.connection,
                f"SELECT {chosen} FROM {self.sources[k].relation()} "
                f"WHERE r >= {start} AND r < {stop}",
            )
            for values, one in zip(out, columns, strict=True):
                gone = missing_mask(found[one.key]).tolist()
                data = np.ma.getdata(found[one.key]).tolist()
                values += [None if lost else x for x, lost in zip(data, gone, strict=True)]
        return out

    def _of_levels(self, column: SourceColumn) -> tuple[SourceColumn, Facts, list[Facts]]:
        name, layout = column.name, self.layout
        levels = self.levels(column)
        table = self.read_levels(name, levels)
        self.notes += table.notes
        self.alerts += table.alerts
        overridden = name in layout.wanted
        there = {text: k for k, text in enumerate(_first(levels.texts))}
        own = [-1 if text is None else there[text] for text in levels.texts]
        read, lost = table.columns[name], missing_mask(table.columns[name])
        counts = np.bincount(
            np.array([k for k in own if k >= 0], dtype=np.int64),
            weights=levels.counts[[k >= 0 for k in own]],
            minlength=len(there),
        ).astype(np.int64)
        n_missing = self.n_rows - int(counts[~lost].sum())
        if name in table.spellings:
            self.spellings[name] = table.spellings[name]
        if table.kinds[name] == "number":
            values = np.where(lost, np.nan, np.ma.getdata(read).astype(np.float64))
            numbers = np.array([np.nan if k < 0 else values[k] for k in own] + [np.nan])
            coded = replace(column, levels=levels.path, numbers=numbers)
            date = name in table.dates
            facts = self._weighted(name, values, counts, overridden=overridden, date=date)
            parts = []
            for part, source in table.derived.items():
                if source == name:
                    parts.append(self._counted(part, table, counts))
            return coded, facts, parts
        texts = np.ma.getdata(read).tolist()
        final = [None if k < 0 or lost[k] else texts[k] for k in own]
        coded = replace(column, levels=levels.path, texts=tuple(final))
        totals: dict[str, int] = {}
        for text, gone, n in zip(texts, lost.tolist(), counts.tolist(), strict=True):
            if not gone:
                totals[text] = totals.get(text, 0) + n
        return (
            coded,
            CategoryFacts(name, self.n_rows, n_missing, totals, overridden=overridden),
            [],
        )

    def _weighted(
        self, name: str, values: np.ndarray, counts: np.ndarray, **known: Any
    ) -> NumberFacts:
        there = ~np.isnan(values) & (counts > 0)
        placeholders: list[Placeholders] = []
        usual = not (known.get("overridden") or known.get("date") or known.get("derived"))
        if usual and self.looks_for_placeholders:
            placeholders = of_values(values[there], counts[there])
            if not self.exact:
                there &= ~np.isin(values, read_as_missing(placeholders))
        n = int(counts[there].sum())
        mean, scale = weighted_moments(values[there], counts[there]) if n else (0.0, 0.0)
        distinct = int(there.sum()) == n and len(set(values[there].tolist())) == n
        identifies = (
            n == self.n_rows >= 20
            and distinct
            and is_called_identifier(name)
            and bool((values[there] == np.floor(values[there])).all())
        )
        return NumberFacts(
            name,
            self.n_rows,
            self.n_rows - n,
            mean,
            scale,
            identifies=identifies,
            placeholders=placeholders,
            **known,
        )

    def _counted(self, name: str, table: Table, counts: np.ndarray) -> Facts:
        """What a part of a date adds up to, of a table with a row for each moment."""
        column, gone = table.columns[name], missing_mask(table.columns[name])
        data = np.ma.getdata(column)
        if table.kinds[name] == "number":
            values = np.where(gone, np.nan, data.astype(np.float64))
            return self._weighted(name, values, counts, derived=True)
        totals: dict[str, int] = {}
        for text, lost, n in zip(data.tolist(), gone.tolist(), counts.tolist(), strict=True):
            if not lost:
                totals[text] = totals.get(text, 0) + n
        n_missing = self.n_rows - sum(totals.values())
        return CategoryFacts(name, self.n_rows, n_missing, totals, derived=True)

    def _parts_of_dates(self, column: SourceColumn) -> list[Facts]:
        key = column.key
        found = self._run(
            f"SELECT floor({key} * 24.0 + 1e-9) AS h, count(*) AS n "
            f"FROM {self.relation([column])} WHERE {key} IS NOT NULL GROUP BY 1 ORDER BY 1"
        )
        days = np.ma.getdata(found["h"]).astype(np.float64) / 24.0
        table = with_date_parts(
            Table(
                (column.name,),
                {column.name: days},
                {column.name: "number"},
                len(days),
                "the dates",
                dates=frozenset({column.name}),
            )
        )
        counts = np.ma.getdata(found["n"]).astype(np.int64)
        return [self._counted(name, table, counts) for name in table.derived]

    # --- numbers --------------------------------------------------------------------------------

    def of_numbers(
        self, columns: Sequence[SourceColumn], read: Sums | None = None
    ) -> list[NumberFacts]:
        """What columns of numbers add up to; ``read``: centres, counts and sums, if known."""
        if not columns:
            self.on_progress(self.n_rows)
            return []
        if read is None:
            looked_at = self.may_hold_placeholders(columns)
            read = self._sums(columns, self.centres(columns), looked_at, reports=True)
            columns = list(columns)
            found = self.placeholders(columns, read)
            for j, one in enumerate(columns):
                away = read_as_missing(found.get(one.name, ()))
                if away and not self.exact:
                    columns[j] = without(one, away)
                    again = self._sums([columns[j]], self.centres([columns[j]]))
                    for part in ("centres", "counts", "first", "second"):
                        getattr(read, part)[j] = getattr(again, part)[0]
        found = self._found
        centres, counts, first, second = read.centres, read.counts, read.first, read.second
        n = np.maximum(counts, 1)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            shift = first / n
            variance = second / n - shift**2
            means = centres + shift
            # About a centre within a deviation of the mean nothing is lost by the difference.
            good = (variance > 0.0) & (shift**2 <= _OFF * variance) & np.isfinite(variance)
            good &= (variance > 1e-14 * means**2) & (np.abs(means) < 1e100) & (variance > 1e-200)
        facts = []
        for j, one in enumerate(columns):
            if good[j]:
                known = (int(counts[j]), float(means[j]), math.sqrt(variance[j]))
            else:
                known = self._carefully(one)
            there, mean, scale = known
            facts.append(
                NumberFacts(
                    one.name,
                    self.n_rows,
                    self.n_rows - there,
                    mean,
                    scale,
                    date=one.way == "date",
                    identifies=self._identifies(one, there),
                    overridden=one.name in self.layout.wanted,
                    placeholders=found.get(one.name, ()),
                )
            )
        return facts

    def may_hold_placeholders(self, columns: Sequence[SourceColumn]) -> list[int]:
        """The places of the columns whose lowest and highest values have to be found.

        Not of those whose files state values that are not written like placeholders.
        """
        if not self.looks_for_placeholders:
            return []
        return [
            j
            for j, one in enumerate(columns)
            if one.way == "number"
            and self.layout.groups[one.name] != "bool"
            and one.name not in self.layout.wanted
            and one.name not in self._found
            and not self._ends_plainly(one)
        ]

    def _ends_plainly(self, column: SourceColumn) -> bool:
        """Whether the files state ends of a column neither of which is a placeholder."""
        low, high = math.inf, -math.inf
        for k, source in enumerate(self.sources):
            if not source.n_rows:
                continue
            c = f"c{column.places[k]}"
            ends = self._stated_ends[k].get(column.places[k])
            # Where cells are left out, the ends are others than those of all cells.
            if ends is None or column.sql[k] not in (c, f"CAST({c} AS DOUBLE)"):
                return False
            low, high = min(low, ends[0]), max(high, ends[1])
        return not (is_code(low) or is_code(high))

    @cached_property
    def _stated_ends(self) -> list[dict[int, tuple[float, float]]]:
        """The ends of columns of numbers by their places, as the footer of each file states them.

        Footers need not state any, and state none of a part of a column that holds NaN.
        """
        ends_by_place = []
        low, high = (f"TRY_CAST(stats_{end}_value AS DOUBLE)" for end in ("min", "max"))
        for source, types in zip(self.sources, self._types, strict=True):
            where = files.literal(escaped(source.path))
            found = source.run(
                self.connection,
                f"SELECT column_id AS place, min({low}) AS low, max({high}) AS high, "
                f"bool_and(coalesce(isfinite({low}) AND isfinite({high}), false) "
                "OR coalesce(stats_null_count = num_values, false)) AS stated "
                f"FROM parquet_metadata({where}) GROUP BY 1 ORDER BY 1",
            )
            # A column that is a record or a list has others inside, which would be counted.
            flat = len(found["place"]) == source.n_columns
            ends_by_place.append(
                {
                    int(place): (float(least), float(most))
                    for place, least, most, stated in zip(
                        *map(_values, found.values()), strict=True
                    )
                    if flat and stated and least is not None and _NUMERIC.fullmatch(types[place])
                }
            )
        return ends_by_place

    def placeholders(
        self, columns: Sequence[SourceColumn], read: Sums
    ) -> dict[str, list[Placeholders]]:
        """The values of columns of numbers that may stand for missing ones, by their names."""
        for one, n in zip(columns, read.counts.tolist(), strict=True):
            if one.name in read.ends and (
                found := self._placeholders(one, *read.ends[one.name], n)
            ):
                self._found[one.name] = found
        return self._found

    def placeholders_of_target(self, column: SourceColumn) -> list[Placeholders]:
        """The values of a quantity to predict that may stand for missing ones."""
        if self._ends_plainly(column):
            return []
        return self._placeholders(column, math.nan, math.nan, self.n_rows)

    def _placeholders(
        self, column: SourceColumn, low: float, high: float, n: int
    ) -> list[Placeholders]:
        key = f"CAST({column.key} AS DOUBLE)"
        relation = self.relation([column])

        def bound(x: float) -> str:
            return f"'{x!r}'::DOUBLE"

        def within(below: float, above: float) -> tuple[float, float, int, int]:
            where = f"{key} > {bound(below)} AND {key} < {bound(above)} AND {is_number(key)}"
            found = self._run(
                f"SELECT min({key}) FILTER ({where}) AS low, max({key}) FILTER ({where}) AS high, "
                f"count(*) FILTER ({key} = {bound(below)}) AS below, "
                f"count(*) FILTER ({key} = {bound(above)}) AS above FROM {relation}"
            )
            ends = (math.inf, -math.inf)
            if not missing_mask(found["low"])[0]:
                ends = float(found["low"][0]), float(found["high"][0])
            return *ends, int(found["below"][0]), int(found["above"][0])

        if math.isnan(low) or math.isnan(high):
            low, high, _, _ = within(-math.inf, math.inf)
        ends = ends_of(low, high, n, within)
        if ends is None or not any(candidates(ends)):
            return []
        away = ", ".join(bound(v) for side in candidates(ends) for v in side)
        others = f"FILTER ({key} NOT IN ({away}) AND {is_number(key)})"
        found = self._run(
            f"SELECT avg({key} - {bound(ends.low)}) {others} AS mean, "
            f"avg((floor(abs({key})) % 10 = 9)::INTEGER) {others} AS nines FROM {relation}"
        )
        # From an end on, so that a long sum of large numbers does not lose their differences.
        mean = ends.low + float(found["mean"][0])
        return judged(ends, Rest(mean, float(found["nines"][0])))

    def _identifies(self, column: SourceColumn, there: int) -> bool:
        if there < max(20, self.n_rows) or not is_called_identifier(column.name):
            return False
        v = f"CAST({column.key} AS DOUBLE)"
        found = self._run(
            f"SELECT bool_and({v} = floor({v})) AS whole, count(DISTINCT {v}) AS n "
            f"FROM {self.relation([column])}"
        )
        return bool(found["whole"][0]) and int(found["n"][0]) == there

    def centres(self, columns: Sequence[SourceColumn]) -> np.ndarray:
        """About where the middle of each column is, by a few rows spread over all."""
        centres = []
        for listed in self._glance(columns):
            values = np.array([x for x in listed if x is not None], dtype=np.float64)
            values = values[np.isfinite(values)]
            with np.errstate(over="ignore"):
                centre = float(values.mean()) if len(values) else 0.0
            centres.append(centre if math.isfinite(centre) else 0.0)
        return np.array(centres)

    def _sums(
        self,
        columns: Sequence[SourceColumn],
        centres: np.ndarray,
        looked_at: Sequence[int] = (),
        reports: bool = False,
    ) -> Sums:
        """What columns add up to, and the ends of those that are looked at for placeholders."""

        def query(k: int) -> str:
            values = [one.sql[k] for one in columns]
            parts = []
            for value, centre in zip(values, centres.tolist(), strict=True):
                z = f"({value} - {centre!r}::DOUBLE)"
                parts += [f"count({value})", f"sum({z})", f"sum({z} * {z})"]
            for j in looked_at:
                parts += [f"min({values[j]})", f"max({values[j]})"]
            return ", ".join(f"{part} AS s{i}" for i, part in enumerate(parts))

        every = np.array(
            [
                [np.ma.filled(value.astype(np.float64), np.nan)[0] for value in found.values()]
                for found in self.each(query, reports=reports)
            ]
        )
        summed = every[:, : 3 * len(columns)].reshape(len(every), -1, 3)
        with np.errstate(invalid="ignore", over="ignore"):
            # A stretch of rows without a value has no sums.
            summed = np.where(summed[:, :, :1] == 0.0, 0.0, summed)
            sums = [[total_of(summed[:, j, i]) for j in range(len(columns))] for i in range(3)]
        ends = {}
        for j, (low, high) in zip(
            looked_at, every[:, 3 * len(columns) :].T.reshape(-1, 2, len(every)), strict=True
        ):
            # NaN is the highest of all numbers to DuckDB, and stays here; a stretch may be empty.
            there = summed[:, j, 0] > 0.0
            lowest = np.fmin.reduce(low, initial=math.nan)
            ends[columns[j].name] = float(lowest), float(high[there].max(initial=-math.inf))
        counts, first, second = map(np.array, sums)
        return Sums(centres, counts.astype(np.int64), first, second, ends)

    def each(self, query: Callable[[int], str], reports: bool = False) -> Iterator[dict[str, Any]]:
        """What a query gives for the rows of every piece of every range, in their order."""
        pieces = [piece for row_range in self.row_ranges for piece in row_range.pieces]
        queries = {k: query(k) for k in {piece[0] for piece in pieces}}

        def work(piece: tuple[int, int, int, int, int]) -> dict[str, Any]:
            k, start, stop, _, _ = piece
            source = self.sources[k]
            sql = f"SELECT {queries[k]} FROM {source.relation()} WHERE r >= {start} AND r < {stop}"
            found: dict[str, Any] = source.run(self.connection.cursor(), sql)
            return found

        self.connection.execute("SET threads = 1")
        try:
            with ThreadPoolExecutor(self.readers, "separatrix-scan") as threads:
                done = 0
                for piece, found in zip(pieces, threads.map(work, pieces), strict=True):
                    done += piece[2] - piece[1]
                    if reports:
                        self.on_progress(done)
                    yield found
        finally:
            self.connection.execute("RESET threads")

    def _carefully(self, column: SourceColumn) -> tuple[int, float, float]:
        """Count, mean and deviation of a column with NaN, or of no ordinary size or spread."""

        def over(terms: Mapping[str, str]) -> list[dict[str, Any]]:
            def query(k: int) -> str:
                value = column.sql[k]
                v = f"CAST({value} AS DOUBLE)"
                there = f"FILTER (WHERE {value} IS NOT NULL AND {is_number(v)})"
                return ", ".join(
                    f"{term.format(v=v)} {there} AS {name}" for name, term in terms.items()
                )

            return [
                {name: None if missing_mask(x)[0] else float(x[0]) for name, x in found.items()}
                for found in self.each(query)
            ]

        found = over({"n": "count(*)", "low": "min({v})", "high": "max({v})"})
        count = int(sum(part["n"] for part in found))
        if count == 0:
            return 0, 0.0, 0.0
        low = min(part["low"] for part in found if part["low"] is not None)
        high = max(part["high"] for part in found if part["high"] is not None)
        largest = max(abs(low), abs(high))
        if not math.isfinite(largest):
            raise self._infinite(column)
        if low == high or high / largest - low / largest <= 4 * EPS:
            return count, low, 0.0
        exponent = math.frexp(largest)[1]
        unit = _scaled(exponent)
        centre = 0.0
        for _ in range(2):
            sums = over({"s": f"sum({unit} - {centre!r}::DOUBLE)"})
            centre += math.fsum(part["s"] for part in sums if part["s"] is not None) / count
        z = f"({unit} - {centre!r}::DOUBLE)"
        squares = over({"s": f"sum({z} * {z})"})
        spread = math.fsum(part["s"] for part in squares if part["s"] is not None) / count
        return count, math.ldexp(centre, exponent), math.ldexp(math.sqrt(spread), exponent)

    def _infinite(self, column: SourceColumn) -> DataError:
        for k, source in enumerate(self.sources):
            value = column.sql[k]
            found = source.run(
                self.connection,
                f"SELECT min(r) AS r FROM {source.relation()} WHERE isinf(CAST({value} AS DOUBLE))",
            )["r"]
            if not missing_mask(found)[0]:
                return DataError(
                    f"{source.label}, row {int(found[0]) + 1:,}: column {quote(column.name)} is "
                    "infinite; correct it, or leave it empty to count as missing"
                )
        raise AssertionError(column.name)

    def first_missing(self, column: SourceColumn) -> str:
        """Where the first row without a value is."""
        for k, source in enumerate(self.sources):
            value = column.sql[k]
            lost = f"{value} IS NULL"
            if column.way != "levels":
                lost += f" OR NOT {is_number(value)}"
            found = source.run(
                self.connection, f"SELECT min(r) AS r FROM {source.relation()} WHERE {lost}"
            )["r"]
            if not missing_mask(found)[0]:
                return f"{source.label}, row {int(found[0]) + 1:,}"
        raise AssertionError(column.name)


def _values(column: Any) -> list[Any]:
    """The values of a column of an answer, None where there is none."""
    values: list[Any] = np.ma.asarray(column).tolist()
    return values


def _first(texts: Sequence[str | None]) -> list[str]:
    """The different texts, in the order of their first appearance."""
    return list(dict.fromkeys(text for text in texts if text is not None))


def _scaled(exponent: int) -> str:
    """SQL for a value times a power of two: exact, and in two steps where one is out of range."""
    half = -exponent // 2
    one, other = math.ldexp(1.0, half), math.ldexp(1.0, -exponent - half)
    return f"({{v}} * {one!r}::DOUBLE * {other!r}::DOUBLE)"


def is_number(value: str) -> str:
    """SQL for whether a value is no NaN.

    Not by isnan: footers state ends without NaN, and DuckDB concludes that there is none.
    """
    number = f"CAST({value} AS DOUBLE)"
    return f"(isfinite({number}) OR isinf({number}))"


def without(column: SourceColumn, values: Sequence[float]) -> SourceColumn:
    """A column of numbers in which some of them are missing."""
    away = ", ".join(f"'{x!r}'::DOUBLE" for x in values)
    sql = tuple(
        f"CASE WHEN CAST({one} AS DOUBLE) IN ({away}) THEN NULL ELSE {one} END"
        for one in column.sql
    )
    return replace(column, sql=sql)


def total_of(parts: np.ndarray) -> float:
    try:
        return math.fsum(parts.tolist())
    except (OverflowError, ValueError):  # of infinities
        return math.nan
