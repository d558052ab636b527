"""Statistics of the rows of files, computed by DuckDB in passes that hold none of them.

Every fact is found for one part of one file at a time, by one thread of its reader, and
merged: see :mod:`~separatrix.scale.facts`.  Sums of numbers are taken about a centre that a few
rows suggest: the same bits every time, and the digits of two passes over rows in memory.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.scale.encoding import (
    PLAIN,
    RowRange,
    SourceColumn,
    SourceFile,
    numbers_in,
    numbers_of,
    text_hash,
)
from separatrix.scale.facts import (
    SKETCH,
    LevelFacts,
    merged_columns,
    merged_levels,
)
from separatrix.scale.reading import Readers, Session, cursor, opened
from separatrix.tables import Encoder, Table
from separatrix.tables import source_files as files
from separatrix.tables.curves import Points
from separatrix.tables.date_parts import with_date_parts, without_parts_of
from separatrix.tables.lake import path_of
from separatrix.tables.placeholders import read_as_missing
from separatrix.tables.reader import Layout
from separatrix.tables.row_names import is_called_identifier, may_count_rows
from separatrix.tables.statistics import (
    CategoryFacts,
    Counted,
    Facts,
    NumberFacts,
    Numbers,
    TextFacts,
)
from separatrix.tables.table import (
    column_marks,
    is_marked,
    mark_numbers,
    missing_mask,
    number_text,
    quote,
)
from separatrix.tables.value_format import ValueFormat

# Bytes that a word of a column of free text takes.
_WORD_BYTES = 300
# Rows that suggest where the middle of a column is, and how many texts in it are different.
_GLANCE = 4096
# Rows of the parts whose levels are counted, where row groups are no larger.
_PART_ROWS = 524_288
# Bytes that a level takes while it is looked at.
_LEVEL_BYTES = 400
# Parts that are merged at once.
_TOGETHER = 64
_WIDTHS = {"FLOAT": 4, "INTEGER": 4, "UINTEGER": 4, "SMALLINT": 2, "TINYINT": 1, "UTINYINT": 1}
_NARROW = {"FLOAT", "TINYINT", "UTINYINT", "SMALLINT", "USMALLINT"}

_Piece = tuple[int, SourceFile, int, int]
"""The index of a file, the file, and the first row and the end of a range of its rows."""


@dataclass(frozen=True)
class ReadLevels:
    """The different values of a column, read by what they mean.

    Attributes
    ----------
    column : SourceColumn
        The column, with its levels as they are stored.
    table : Table
        A row for each different text that stands for a value.
    own : ndarray of int64
        The row of each stored level; -1 where it stands for a missing value.
    counts, first : ndarray of int64
        The number of rows of the files that have each of the texts, and the first of these rows.
    """

    column: SourceColumn
    table: Table
    own: np.ndarray
    counts: np.ndarray
    first: np.ndarray


class Statistics:
    """Statistics of the columns of Parquet files.

    Parameters
    ----------
    readers : Readers
        The threads or workers that read the files.
    session : Session
        The session of their connections.
    layout : Layout
        The layout of the files, whose parts are the sources.
    sources : sequence of (SourceFile, list of str)
        The sources, and the types of their columns.
    memory : int
        Bytes that all of it may take.
    converted : bool
        Whether the sources were written by this library, their columns in the order of the layout.
    on_progress : callable
        Called with the number of rows that were looked at.
    """

    def __init__(
        self,
        readers: Readers,
        session: Session,
        layout: Layout,
        sources: Sequence[tuple[SourceFile, list[str]]],
        memory: int,
        *,
        converted: bool,
        on_progress: Callable[[int], None],
    ) -> None:
        self.readers, self.session, self.layout = readers, session, layout
        self.sources = [source for source, _ in sources]
        self._types = [types for _, types in sources]
        self.row_ranges: Sequence[RowRange] = ()
        self.memory, self.converted, self.on_progress = memory, converted, on_progress
        self.n_rows = sum(source.n_rows for source in self.sources)
        self.spellings: dict[str, ValueFormat] = {}
        self.notes: list[str] = []
        self.alerts: list[str] = []
        self.looks_for_placeholders = True
        self.exact = False
        self._keys = {name: f"f{k}" for k, name in enumerate(layout.groups)}
        self._levels: dict[str, LevelFacts] = {}

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
        """The source of a column, before anything is known of its values."""
        places, sql = [], []
        group, kind = self.layout.groups[name], self.layout.wanted.get(name)
        as_text = group in ("string", "json") or kind in ("category", "text")
        own = column_marks(self.layout.options.marks, name)
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
            if own and group in ("integer", "number") and not as_text:
                value = part.values(own).unmarked(value)
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

    def results(self, queries: Iterable[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        """The results of queries of sources, in their order."""
        every = [(self.sources[k], sql) for k, sql in queries]
        return self.readers.map(_answered, self.session, every)

    def _parts(self) -> list[_Part]:
        """All rows of the sources, divided into the parts in which levels are counted."""
        parts, at = [], 0
        rows = min(_PART_ROWS, max(self._most_levels, 65_536))
        for k, source in enumerate(self.sources):
            starts = [0, *np.cumsum(source.groups).tolist()]
            start = 0
            for stop, after in itertools.pairwise([*starts[1:], math.inf]):
                if stop > start and after - start > rows:
                    parts.append(_Part(k, source, start, stop, at))
                    start = stop
            at += source.n_rows
        return parts

    # --- levels ---------------------------------------------------------------------------------

    def _counted_levels(self, columns: Sequence[SourceColumn], most: int) -> list[LevelFacts]:
        queries = []
        for one in columns:
            clean = self._clean(one) if one.way == "levels" else None
            hashed = "hash(c)" if one.way == "number" else text_hash("c")
            queries.append(_Levels(one.sql, hashed, clean and clean("c"), most))
        found: list[LevelFacts] = self.readers.merged(
            _levels_of, (self.session, queries), self._parts(), merged_columns
        )
        return found

    def count_levels(self, columns: Sequence[SourceColumn]) -> None:
        """Count the different values of some columns of texts together."""
        if columns:
            counted = self._counted_levels(columns, self._most_levels)
            self._levels.update(zip([one.name for one in columns], counted, strict=True))

    @property
    def _most_levels(self) -> int:
        return max(int(self.memory / 4 / _LEVEL_BYTES), 1000)

    def numbers(self, column: SourceColumn, most: int) -> LevelFacts:
        """The different numbers of a column, where there are no more than so many."""
        as_double = tuple(f"CAST({value} AS DOUBLE)" for value in column.sql)
        return self._counted_levels([replace(column, sql=as_double)], most)[0]

    def levels(self, column: SourceColumn) -> tuple[LevelFacts, list[str | None]]:
        """The different values of a column, and what they are without blanks; None for missing."""
        if column.name not in self._levels:
            self.count_levels([column])
        found = self._levels[column.name]
        if found.too_many:
            raise self.too_many(column.name, found.about)
        stored: list[str] = found.values.tolist()
        texts: list[str | None] = [*stored]
        if found.cleaned:
            texts = [found.cleaned.get(text, text) for text in stored]
        if self.layout.groups[column.name] == "number":
            numbers = [float(text) for text in stored]
            texts = [None if math.isnan(x) else number_text(x) for x in numbers]
        marks = self.layout.options.marks | column_marks(self.layout.options.marks, column.name)
        if mark_numbers(marks):
            texts = [None if text is None or is_marked(text, marks) else text for text in texts]
        return found, texts

    def too_many(self, name: str, about: int) -> DataError:
        """Return the error of a column of more levels than fit in memory."""
        ignored = Setting("kinds", (name, "ignore"))
        return DataError(
            Message("too_many_levels", column=quote(name), about=about, ignored=ignored)
        )

    def read_levels(self, column: SourceColumn) -> ReadLevels:
        """The levels of a column as a table of their own, a row each, read by what they mean."""
        levels, given = self.levels(column)
        rows: dict[str, int] = {}
        own = np.full(len(given), -1, dtype=np.int64)
        # In the order of the rows, as in a table in memory: its first value is shown.
        for k in np.argsort(levels.first, kind="stable").tolist():
            text = given[k]
            if text is not None:
                own[k] = rows.setdefault(text, len(rows))
        there = own >= 0
        counts, first = np.zeros(len(rows), np.int64), np.full(len(rows), self.n_rows)
        np.add.at(counts, own[there], levels.counts[there])
        np.minimum.at(first, own[there], levels.first[there])
        table = self.layout.table(
            {column.name: Counted([*rows], counts.tolist())}, len(rows), first
        )
        return ReadLevels(with_levels(column, levels), table, own, counts, first)

    def read_numbers(self, column: SourceColumn, numbers: LevelFacts) -> ReadLevels:
        """The different numbers of a column, like levels."""
        name, values = column.name, numbers.values.astype(np.float64)
        stored = values.astype(bool) if self.layout.groups[name] == "bool" else values
        table = Table((name,), {name: stored}, {name: "number"}, len(values), self.layout.source)
        table = replace(table, overridden=frozenset({name} & set(self.layout.wanted)))
        return ReadLevels(column, table, np.arange(len(values)), numbers.counts, numbers.first)

    # --- facts ----------------------------------------------------------------------------------

    def of_columns(
        self, names: Sequence[str], encoder: Encoder, read: Sequence[Numbers] | None = None
    ) -> tuple[list[SourceColumn], list[Facts]]:
        """Columns of features, and what they add up to, in the order of a table's."""
        self.look_for(encoder)
        columns = {name: self.column(name) for name in names}
        for one in self._texts_among([*columns.values()], encoder):
            columns[one.name] = self._as_text(one)
        self.count_levels([one for one in columns.values() if one.way == "levels"])
        facts: dict[str, Facts] = {}
        derived: list[Facts] = []
        plain = [one for one in columns.values() if one.way in ("number", "date")]
        for one, found in zip(plain, self.of_numbers(plain, read), strict=True):
            facts[one.name] = found
            if one.way == "date":
                derived += self._parts_of_dates(one, self._read_as_missing(found))
        curved = set() if encoder.terms is None or encoder.fitted else encoder.terms.curved
        known_by_rows = [one for one in plain if one.name in curved]
        for one, points in zip(known_by_rows, self._points_of(known_by_rows), strict=True):
            pair = points.values, points.counts
            own = facts[one.name]
            assert isinstance(own, NumberFacts)
            facts[one.name] = replace(own, points=partial(_the_same, pair))
        for one in [one for one in columns.values() if one.way == "levels"]:
            columns[one.name], facts[one.name], parts = self.of_levels(one)
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

    def _texts_among(self, columns: Sequence[SourceColumn], encoder: Encoder) -> list[SourceColumn]:
        """The columns of free text, by the rule of :mod:`separatrix.tables.reader`."""
        kinds = encoder.kinds_ if encoder.fitted else self.layout.wanted
        found, open_ = [], []
        for one in columns:
            if one.way != "levels":
                continue
            wanted = kinds.get(one.name)
            if wanted == "text":
                found.append(one)
            elif wanted is None and self.layout.groups[one.name] in ("string", "json"):
                open_.append(one)
        for one, glanced in zip(open_, self._glance(open_), strict=True):
            texts = [text for text in glanced if text is not None]
            words = float(np.median([len(text.split()) for text in texts])) if texts else 0.0
            if words < 3:
                continue
            levels = self.readers.merged(
                _sketch_of, (self.session, one), self._parts(), merged_levels
            )
            counts = self.results(
                (k, f"SELECT count({one.sql[k]}) AS n FROM {source.relation()}")
                for k, source in enumerate(self.sources)
            )
            there = sum(int(found["n"][0]) for found in counts)
            share = levels.about / max(there, 1)
            if share >= 0.5 or (words >= 8 and share >= 0.1):
                found.append(one)
        return found

    def _as_text(self, column: SourceColumn) -> SourceColumn:
        """The same column, its texts without blanks and marks for what is missing."""
        clean = self._clean(column)
        sql = column.sql if clean is None else tuple(map(clean, column.sql))
        return replace(column, way="text", sql=sql)

    def _clean(self, column: SourceColumn) -> Callable[[str], str] | None:
        """SQL for a text of a column as it is read; None where it is read as it is stored."""
        if self.converted or self.layout.groups[column.name] not in ("string", "json"):
            return None
        return partial(self.layout.parts[0].values(self.layout.options.marks).cast, kind="string")

    def _of_text(self, column: SourceColumn, encoder: Encoder) -> Facts:
        """The number of rows that have each word, a stretch at a time."""
        if encoder.fitted:
            return TextFacts(column.name, self.n_rows, 0, {}, {})
        shared = self.session, column, encoder.text
        merge = partial(TextFacts.merged, most=int(self.memory / 4 / _WORD_BYTES))
        # Merged alone, too, for a single part may have too many words.
        found: TextFacts = merge([self.readers.merged(_words_of, shared, self._pieces(), merge)])
        return found

    def _glance(self, columns: Sequence[SourceColumn]) -> list[list[Any]]:
        """Read sample values of columns, spread over all rows; None where one is missing."""
        out: list[list[Any]] = [[] for _ in columns]
        if not columns:
            return out
        some = self.row_ranges[:: max(1, len(self.row_ranges) // 8)]
        rows = max(_GLANCE // len(some), 64)
        queries = []
        for row_range in some:
            k, start, stop, _, _ = row_range.pieces[0]
            stop = min(stop, start + rows)
            chosen = ", ".join(f"{one.sql[k]} AS {one.key}" for one in columns)
            queries.append((k, self.sources[k].rows(chosen, start, stop)))
        for found in self.results(queries):
            for values, one in zip(out, columns, strict=True):
                values += _texts(found[one.key], missing_mask(found[one.key]))
        return out

    def of_levels(self, column: SourceColumn) -> tuple[SourceColumn, Facts, list[Facts]]:
        """A column of levels with what these mean, what it adds up to, and so for its parts."""
        name, overridden = column.name, column.name in self.layout.wanted
        found = self.read_levels(column)
        table, own, counts = found.table, found.own, found.counts
        self.notes += table.notes
        self.alerts += table.alerts
        read, lost = table.columns[name], missing_mask(table.columns[name])
        if name in table.spellings:
            self.spellings[name] = table.spellings[name]
        if table.kinds[name] == "number":
            values = np.where(lost, np.nan, np.ma.getdata(read).astype(np.float64))
            # Those that mean nothing have the last place, and so have missing values.
            numbers = np.append(np.append(values, np.nan)[own], np.nan)
            coded = replace(found.column, numbers=numbers)
            date = name in table.dates
            facts = self._weighted(name, values, counts, overridden=overridden, date=date)
            table = without_parts_of(table, {name: self._read_as_missing(facts)})
            parts = [self._counted(part, table, counts) for part in table.derived]
            return coded, facts, parts
        texts = _texts(read, lost)
        coded = replace(found.column, texts=tuple(map([*texts, None].__getitem__, own.tolist())))
        nothing = table.spellings[name].nothing if name in table.spellings else math.nan
        parts = [self._counted(part, table, counts, nothing) for part in table.derived]
        return coded, self._category(name, texts, counts, overridden=overridden), parts

    def _category(
        self, name: str, texts: Sequence[str | None], counts: np.ndarray, **known: Any
    ) -> CategoryFacts:
        totals: dict[str, int] = {}
        for text, n in zip(texts, counts.tolist(), strict=True):
            if text is not None:
                totals[text] = totals.get(text, 0) + n
        return CategoryFacts(name, self.n_rows, self.n_rows - sum(totals.values()), totals, **known)

    def _weighted(
        self, name: str, values: np.ndarray, counts: np.ndarray, **known: Any
    ) -> NumberFacts:
        there = ~np.isnan(values) & (counts > 0)
        values, counts = values[there], counts[there]
        n_missing, named = self.n_rows - int(counts.sum()), is_called_identifier(name)
        date = bool(known.get("date"))
        numbers = Numbers.of(values, n_missing, counts, named=named, alone=True, date=date)
        known["points"] = partial(_the_same, (values, counts))
        usual = self.looks_for_placeholders and not known.get("derived")
        return numbers.facts(name, exact=self.exact, usual=usual, **known)

    def _counted(
        self, name: str, table: Table, counts: np.ndarray, nothing: float = math.nan
    ) -> Facts:
        """The facts about a part of a column, from a table with a row for each of its values.

        ``nothing``: the value of the part where the column has no value.
        """
        column, gone = table.columns[name], missing_mask(table.columns[name])
        if table.kinds[name] == "number":
            values = np.where(gone, np.nan, np.ma.getdata(column).astype(np.float64))
            values = np.append(values, nothing)
            counts = np.append(counts, self.n_rows - int(counts.sum()))
            return self._weighted(name, values, counts, derived=True)
        return self._category(name, _texts(column, gone), counts, derived=True)

    def _read_as_missing(self, facts: NumberFacts) -> tuple[float, ...]:
        return () if self.exact else read_as_missing(facts.placeholders)

    def _parts_of_dates(self, column: SourceColumn, away: Sequence[float]) -> list[Facts]:
        whole = "floor(({v}) * 24.0 + 1e-9)"
        hours: Counter[float] = Counter()
        for found in self._grouped(column, whole):
            hours.update(dict(zip(found["v"].tolist(), found["n"].tolist(), strict=True)))
        for day in away:
            hours.pop(24.0 * day, None)
        days = np.array(sorted(hours)) / 24.0
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
        counts = np.array([hours[hour] for hour in sorted(hours)], dtype=np.int64)
        return [self._counted(name, table, counts) for name in table.derived]

    # --- numbers --------------------------------------------------------------------------------

    def of_numbers(
        self, columns: Sequence[SourceColumn], read: Sequence[Numbers] | None = None
    ) -> list[NumberFacts]:
        """The facts about columns of numbers; ``read``: their statistics, if known already."""
        if not columns:
            self.on_progress(self.n_rows)
            return []
        read = self.numbers_in(columns, reports=True) if read is None else read
        return [
            numbers.facts(
                one.name,
                exact=self.exact,
                usual=self.looks_for_placeholders and self.layout.groups[one.name] != "bool",
                date=one.way == "date",
                counter=self._counts_rows(one, numbers),
                overridden=one.name in self.layout.wanted,
            )
            for one, numbers in zip(columns, read, strict=True)
        ]

    def _points_of(self, columns: Sequence[SourceColumn]) -> list[Points]:
        """The different numbers of columns, summed up where they are many."""
        if not columns:
            return []
        found: list[Points] = self.readers.merged(
            _points_in, (self.session, columns), self._pieces(), _merged_points
        )
        return found

    def _counts_rows(self, column: SourceColumn, numbers: Numbers) -> bool:
        """Whether the first of several columns holds the numbers of the rows, from 1."""
        return (
            not any(column.places)
            and len(self.layout.groups) > 2
            and may_count_rows(column.name)
            and numbers.names is not None
            and (numbers.low, numbers.high) == (1.0, self.n_rows)
        )

    def numbers_in(
        self, columns: Sequence[SourceColumn], *, reports: bool = False
    ) -> list[Numbers]:
        """The statistics of columns of numbers in the parts of the files that are read together."""
        pieces = self._pieces()
        merged: list[list[Numbers]] = []
        rows = 0
        read = self.readers.map(_numbers_of, (self.session, columns), pieces)
        for (_, _, start, stop), found in zip(pieces, read, strict=True):
            merged.append(found)
            if len(merged) >= _TOGETHER:
                merged = [merged_numbers(merged)]
            rows += stop - start
            if reports:
                self.on_progress(rows)
        return merged_numbers(merged)

    def _grouped(self, column: SourceColumn, term: str) -> Iterator[dict[str, np.ndarray]]:
        """The counts of the values of a term, in each range of rows."""
        queries = []
        for k, source, start, stop in self._pieces():
            value = column.sql[k]
            rows = source.rows(f"{term.format(v=value)} AS v, count(*) AS n", start, stop)
            queries.append((k, f"{rows} AND {value} IS NOT NULL GROUP BY 1"))
        for found in self.results(queries):
            yield {name: np.ma.getdata(values) for name, values in found.items()}

    def _pieces(self) -> list[_Piece]:
        every = (piece for row_range in self.row_ranges for piece in row_range.pieces)
        return [(k, self.sources[k], start, stop) for k, start, stop, _, _ in every]

    def first_missing(self, column: SourceColumn) -> str | None:
        """The place of the first row without a value; None where all have one."""
        where = "{v} IS NULL"
        if column.way != "levels":
            where += f" OR NOT {is_number('{v}')}"
        queries = [
            (k, f"SELECT min(r) AS r FROM {one.relation()} WHERE {where.format(v=column.sql[k])}")
            for k, one in enumerate(self.sources)
        ]
        for source, found in zip(self.sources, self.results(queries), strict=True):
            if not missing_mask(found["r"])[0]:
                return f"{source.label}, row {int(found['r'][0]) + 1:,}"
        return None

    def place(self, row: int) -> str:
        """The name of a row of all files in messages."""
        for source in self.sources:
            if row < source.n_rows:
                return f"{source.label}, row {row + 1:,}"
            row -= source.n_rows
        raise IndexError(row)

    def cut_of_highest(self, column: SourceColumn, n_rows: int) -> float | None:
        """The cut of a column of numbers; see :func:`cut_of_highest`."""
        least = math.inf
        values: np.ndarray = np.empty(0)
        counts: np.ndarray = np.empty(0)
        for found in self._grouped(column, "{v}"):
            least = min(least, float(found["v"].min(initial=math.inf)))
            values = np.concatenate([values, found["v"]])
            values, counts = _highest(values, np.concatenate([counts, found["n"]]), n_rows)
        above = values[values > least]
        return float(above[0]) if len(above) else None


def cut_of_highest(values: np.ndarray, counts: np.ndarray, n_rows: int) -> float | None:
    """The number from which on at least so many rows have theirs, of numbers above the least.

    None where all rows have the same number.
    """
    highest, _ = _highest(values, counts, n_rows)
    above = highest[highest > values.min(initial=math.inf)]
    return float(above[0]) if len(above) else None


def _highest(values: np.ndarray, counts: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers that may be the cut, and how many rows have each."""
    values, at = np.unique(values, return_inverse=True)
    counts = np.bincount(at, weights=counts)
    # Where as many rows have higher numbers, a number is not the cut, whatever follows.
    higher = np.cumsum(counts[::-1])[::-1] - counts
    return values[higher < n_rows], counts[higher < n_rows]


# --- on the readers -------------------------------------------------------------------------------


def described(session: Session, given: tuple[str, str, int, bool]) -> tuple[SourceFile, list[str]]:
    """Describe a Parquet file, by its path, its label and the number of its columns.

    The last argument is whether names of folders are columns of it.  The types of its columns come
    with it.
    """
    path, label, n_columns, hive = given
    where = files.where(path_of(path))
    part, own = files.Part(path_of(path), label, ".parquet"), cursor(session)
    groups = part.run(
        own,
        "SELECT row_group_id AS g, any_value(row_group_num_rows) AS n, "
        "sum(total_uncompressed_size)::BIGINT AS size "
        f"FROM parquet_metadata({where}) GROUP BY 1 ORDER BY 1",
    )
    sizes = np.ma.getdata(groups["size"])
    status = path_of(path).stat()
    source = SourceFile(
        path,
        label,
        n_columns,
        tuple(np.ma.getdata(groups["n"]).astype(int).tolist()),
        status.st_size,
        status.st_mtime_ns,
        int(sizes.max(initial=0)),
    )
    if hive:
        stored = f"SELECT * FROM read_parquet({where}, {files.partitioning(False)}) LIMIT 0"
        within = len(source.run(own, stored, fetch=False).description)
        source = replace(source, hive=n_columns - within)
    chosen = ", ".join(f"c{j}" for j in range(n_columns))
    found = source.run(own, f"SELECT {chosen} FROM {source.relation()} LIMIT 0", fetch=False)
    return source, [str(entry[1]) for entry in found.description]


def _answered(session: Session, query: tuple[SourceFile, str]) -> dict[str, Any]:
    """The columns of a query of one file."""
    source, sql = query
    # The memory of the connection is that of so many readers.
    with opened(session).gate:
        found: dict[str, Any] = source.run(cursor(session), sql)
    return found


@dataclass(frozen=True)
class _Part:
    """Rows of a file, and how many rows there are before those of the file."""

    k: int
    source: SourceFile
    start: int
    stop: int
    before: int


@dataclass(frozen=True)
class _Levels:
    """The query by which the levels of a column are counted."""

    sql: tuple[str, ...]
    hashed: str
    clean: str | None
    most: int


def _levels_of(shared: tuple[Session, Sequence[_Levels]], part: _Part) -> list[LevelFacts]:
    """The levels of some columns in some rows."""
    session, columns = shared
    source, out = part.source, []
    for one in columns:
        clean = ""
        if one.clean is not None:
            differs = f"{one.clean} IS DISTINCT FROM c"
            clean = f", {differs} AS other, CASE WHEN {differs} THEN {one.clean} END AS t"
        counted = f"{one.sql[part.k]} AS c, count(*) AS n, min(r) AS row"
        sql = (
            f"WITH found AS ({source.rows(counted, part.start, part.stop)} GROUP BY 1) "
            f"SELECT c, n, row, {one.hashed} AS h{clean} FROM found WHERE c IS NOT NULL ORDER BY 1"
        )
        found = _answered(session, (source, sql))
        plain = {name: np.ma.getdata(values) for name, values in found.items()}
        cleaned: dict[str, str | None] = {}
        if one.clean is not None and plain["other"].any():
            other = plain["other"].astype(bool)
            gone = missing_mask(found["t"])[other].tolist()
            pairs = zip(plain["c"][other].tolist(), plain["t"][other].tolist(), gone, strict=True)
            cleaned = {text: None if lost else clean for text, clean, lost in pairs}
        out.append(
            LevelFacts(
                plain["c"],
                plain["n"].astype(np.int64),
                plain["row"].astype(np.int64) + part.before,
                plain["h"].astype(np.uint64),
                one.most,
                cleaned,
            ).limited()
        )
    return out


def _sketch_of(shared: tuple[Session, SourceColumn], part: _Part) -> LevelFacts:
    """The smallest hashes of the values of a column in some rows."""
    session, column = shared
    value = column.sql[part.k]
    rows = part.source.rows(f"DISTINCT {text_hash(value)} AS h", part.start, part.stop)
    sql = f"{rows} AND {value} IS NOT NULL ORDER BY 1 LIMIT {SKETCH}"
    return LevelFacts.of_hashes(np.ma.getdata(_answered(session, (part.source, sql))["h"]))


def _words_of(shared: tuple[Session, SourceColumn, Mapping[str, Any]], piece: _Piece) -> TextFacts:
    """The words of a column in some rows."""
    session, column, options = shared
    texts = _fetched((session, [column]), piece)[column.key]
    with pool.alone():  # of several readers
        return TextFacts.of(column.name, texts, options)


def _fetched(shared: tuple[Session, Sequence[SourceColumn]], piece: _Piece) -> dict[str, Any]:
    """Columns in some rows, by their keys."""
    (session, columns), (k, source, start, stop) = shared, piece
    sql = source.rows(", ".join(one.chosen(k) for one in columns), start, stop)
    return _answered(session, (source, sql))


def _numbers_of(shared: tuple[Session, Sequence[SourceColumn]], piece: _Piece) -> list[Numbers]:
    """The statistics of columns of numbers in some rows."""
    columns, (_, source, start, _) = shared[1], piece
    fetched = _fetched(shared, piece)

    def place(row: int) -> str:
        return f"{source.label}, row {start + row + 1:,}"

    return [numbers_in(one, fetched.pop(one.key), place) for one in columns]


def _points_in(shared: tuple[Session, Sequence[SourceColumn]], piece: _Piece) -> list[Points]:
    """The different numbers of columns in some rows."""
    fetched, out = _fetched(shared, piece), []
    for one in shared[1]:
        values, gone = numbers_of(one, fetched.pop(one.key))
        out.append(Points.of(values if gone is None else values[~gone]).limited())
    return out


def _merged_points(parts: Sequence[Sequence[Points]]) -> list[Points]:
    return [Points.merged(column) for column in zip(*parts, strict=True)]


def _the_same(value: Any) -> Any:
    return value


def with_levels(column: SourceColumn, levels: LevelFacts) -> SourceColumn:
    """A column of which the levels are known."""
    return replace(column, hashes=levels.hashes, stored=tuple(levels.values.tolist()))


def merged_numbers(parts: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    return [Numbers.merged(column) for column in zip(*parts, strict=True)]


def _texts(column: Any, gone: np.ndarray) -> list[str | None]:
    """The texts of a column; None where one is missing."""
    texts: list[str | None] = np.ma.getdata(column).tolist()
    if gone.any():
        texts = [None if lost else text for text, lost in zip(texts, gone.tolist(), strict=True)]
    return texts


def is_number(value: str) -> str:
    """SQL for whether a value is no NaN.

    Not by isnan: footers state ends without NaN, and DuckDB concludes that there is none.
    """
    number = f"CAST({value} AS DOUBLE)"
    return f"(isfinite({number}) OR isinf({number}))"
