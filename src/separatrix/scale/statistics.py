"""What the rows of files add up to, found by DuckDB in passes that hold none of them.

Every fact is found for one part of one file at a time, by one thread of its reader, and
merged: see :mod:`~separatrix.scale.facts`.  Sums of numbers are taken about a centre that a few
rows suggest: the same bits every time, and the digits of two passes over rows in memory.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.scale.encoding import (
    PLAIN,
    RowRange,
    SourceColumn,
    SourceFile,
    text_hash,
)
from separatrix.scale.facts import (
    SKETCH,
    LevelFacts,
    WordFacts,
    merged_columns,
    merged_levels,
    merged_values,
    merged_words,
)
from separatrix.scale.reading import Readers, Session, cursor, opened
from separatrix.tables import Encoder, Table
from separatrix.tables import source_files as files
from separatrix.tables.column_encodings import is_called_identifier
from separatrix.tables.date_parts import with_date_parts
from separatrix.tables.lake import path_of
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

__all__ = ["Statistics", "described"]

# And a word.
_WORD_BYTES = 300
# Rows that suggest where the middle of a column is, and how many texts in it are different.
_GLANCE = 4096
# Rows of the parts whose levels are counted, where row groups are no larger.
_PART_ROWS = 524_288
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


class Statistics:
    """Statistics of the columns of Parquet files.

    Parameters
    ----------
    readers : Readers
        Who reads the files.
    session : Session
        Of their connections.
    layout : Layout
        Of the files, whose parts are the sources.
    described : sequence of Described
        The sources.
    memory : int
        Bytes that all of it may take.
    converted : bool
        Whether the sources were written by this library, their columns in the order of the layout.
    on_progress : callable
        Told how many rows were looked at.
    """

    def __init__(
        self,
        readers: Readers,
        session: Session,
        layout: Layout,
        described: Sequence[Described],
        memory: int,
        *,
        converted: bool,
        on_progress: Callable[[int], None],
    ) -> None:
        self.readers, self.session, self.layout = readers, session, layout
        self.sources = [one.source for one in described]
        self._types = [one.types for one in described]
        self._stated_ends = [one.ends for one in described]
        self.row_ranges: Sequence[RowRange] = ()
        self.memory, self.converted, self.on_progress = memory, converted, on_progress
        self.n_rows = sum(source.n_rows for source in self.sources)
        self.spellings: dict[str, ValueFormat] = {}
        self.notes: list[str] = []
        self.alerts: list[str] = []
        self._found: dict[str, list[Placeholders]] = {}
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

    def results(self, queries: Iterable[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        """The results of queries of sources, in their order."""
        every = [(self.sources[k], sql) for k, sql in queries]
        return self.readers.map(_answered, self.session, every)

    def _parts(self) -> list[_Part]:
        """All rows in the parts of which levels are counted."""
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
            group = self.layout.groups[one.name]
            clean = None
            if one.way == "levels" and group in ("string", "json") and not self.converted:
                clean = self.layout.parts[0].values(self.layout.options.marks).cast("c", "string")
            hashed = "hash(c)" if one.way == "number" else text_hash("c")
            queries.append(_Levels(one.sql, hashed, clean, most))
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

    def count_numbers(self, column: SourceColumn) -> int:
        """How many values of a column are numbers."""
        v = "CAST({v} AS DOUBLE)"
        return int(self._totals(column, f"count(*) FILTER ({v} IS NOT NULL AND {is_number(v)})")[0])

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
        marks = self.layout.options.marks
        if mark_numbers(marks):
            texts = [None if text is None or is_marked(text, marks) else text for text in texts]
        return found, texts

    def too_many(self, name: str, about: int) -> DataError:
        """Return the error of a column of more levels than fit in memory."""
        ignored = Setting("kinds", (name, "ignore"))
        return DataError(
            Message("too_many_levels", column=quote(name), about=about, ignored=ignored)
        )

    def read_levels(self, name: str, levels: LevelFacts, texts: Sequence[str | None]) -> Table:
        """The levels as a table of their own, a row each, read by what they mean."""
        counts: dict[str, int] = {}
        for text, n in zip(texts, levels.counts.tolist(), strict=True):
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
        for one in self._texts_among([*columns.values()], encoder):
            columns[one.name] = self._as_text(one)
        self.count_levels([one for one in columns.values() if one.way == "levels"])
        facts: dict[str, Facts] = {}
        derived: list[Facts] = []
        plain = [one for one in columns.values() if one.way in ("number", "date")]
        for one, found in zip(plain, self.of_numbers(plain, read), strict=True):
            facts[one.name] = found
            columns[one.name] = replace(one, whole=found.n_missing == 0)
            if one.way == "date":
                derived += self._parts_of_dates(one)
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
            (there,) = self._totals(one, "count({v})")
            share = levels.about / max(there, 1)
            if share >= 0.5 or (words >= 8 and share >= 0.1):
                found.append(one)
        return found

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
        most = int(self.memory / 4 / _WORD_BYTES)
        if encoder.fitted:
            return WordCounts(column.name, encoder, most=most).facts(self.n_rows, 0)
        shared = (self.session, column, encoder.text, most)
        pieces = [(k, self.sources[k], start, stop) for k, start, stop, _, _ in self._pieces()]
        found: WordFacts = self.readers.merged(_words_of, shared, pieces, merged_words)
        words = WordCounts(column.name, encoder, most=most)
        words.rows, words.uses = found.rows, found.uses
        words.require_few()
        return words.facts(self.n_rows, found.n_missing)

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
            where = f"r >= {start} AND r < {stop}"
            queries.append((k, f"SELECT {chosen} FROM {self.sources[k].relation()} WHERE {where}"))
        for found in self.results(queries):
            for values, one in zip(out, columns, strict=True):
                gone = missing_mask(found[one.key]).tolist()
                data = np.ma.getdata(found[one.key]).tolist()
                values += [None if lost else x for x, lost in zip(data, gone, strict=True)]
        return out

    def of_levels(self, column: SourceColumn) -> tuple[SourceColumn, Facts, list[Facts]]:
        """A column of levels with what these mean, what it adds up to, and so for its parts."""
        name, layout = column.name, self.layout
        levels, given = self.levels(column)
        table = self.read_levels(name, levels, given)
        self.notes += table.notes
        self.alerts += table.alerts
        overridden = name in layout.wanted
        there = {text: k for k, text in enumerate(_first(given))}
        own = [-1 if text is None else there[text] for text in given]
        read, lost = table.columns[name], missing_mask(table.columns[name])
        counts = np.bincount(
            np.array([k for k in own if k >= 0], dtype=np.int64),
            weights=levels.counts[[k >= 0 for k in own]],
            minlength=len(there),
        ).astype(np.int64)
        n_missing = self.n_rows - int(counts[~lost].sum())
        if name in table.spellings:
            self.spellings[name] = table.spellings[name]
        column = with_levels(column, levels)
        if table.kinds[name] == "number":
            values = np.where(lost, np.nan, np.ma.getdata(read).astype(np.float64))
            numbers = np.array([np.nan if k < 0 else values[k] for k in own] + [np.nan])
            coded = replace(column, numbers=numbers)
            date = name in table.dates
            facts = self._weighted(name, values, counts, overridden=overridden, date=date)
            parts = []
            for part, source in table.derived.items():
                if source == name:
                    parts.append(self._counted(part, table, counts))
            return coded, facts, parts
        texts = np.ma.getdata(read).tolist()
        final = [None if k < 0 or lost[k] else texts[k] for k in own]
        coded = replace(column, texts=tuple(final))
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
        whole = "floor(({v}) * 24.0 + 1e-9)"
        hours: Counter[float] = Counter()
        for found in self._grouped(column, whole):
            hours.update(dict(zip(found["v"].tolist(), found["n"].tolist(), strict=True)))
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
        key = "CAST({v} AS DOUBLE)"

        def bound(x: float) -> str:
            return f"'{x!r}'::DOUBLE"

        def within(below: float, above: float) -> tuple[float, float, int, int]:
            where = f"{key} > {bound(below)} AND {key} < {bound(above)} AND {is_number(key)}"
            lows, highs, below_, above_ = zip(
                *self._over_parts(
                    column,
                    f"min({key}) FILTER ({where})",
                    f"max({key}) FILTER ({where})",
                    f"count(*) FILTER ({key} = {bound(below)})",
                    f"count(*) FILTER ({key} = {bound(above)})",
                ),
                strict=True,
            )
            ends = (
                min((x for x in lows if x is not None), default=math.inf),
                max((x for x in highs if x is not None), default=-math.inf),
            )
            return *ends, int(sum(below_)), int(sum(above_))

        if math.isnan(low) or math.isnan(high):
            low, high, _, _ = within(-math.inf, math.inf)
        ends = ends_of(low, high, n, within)
        if ends is None or not any(candidates(ends)):
            return []
        away = ", ".join(bound(v) for side in candidates(ends) for v in side)
        others = f"FILTER ({key} NOT IN ({away}) AND {is_number(key)})"
        # From an end on, so that a long sum of large numbers does not lose their differences.
        n_others, beyond, nines = self._totals(
            column,
            f"count(*) {others}",
            f"sum({key} - {bound(ends.low)}) {others}",
            f"count(*) FILTER ({key} NOT IN ({away}) AND {is_number(key)} "
            f"AND floor(abs({key})) % 10 = 9)",
        )
        return judged(ends, Rest(ends.low + beyond / n_others, nines / n_others))

    def _over_parts(self, column: SourceColumn, *terms: str) -> Iterator[list[Any]]:
        """Terms of a column's values ``{v}`` in each range of rows; None where one has no value."""

        def query(k: int) -> str:
            own = (term.format(v=column.sql[k]) for term in terms)
            return ", ".join(f"CAST({term} AS DOUBLE) AS s{i}" for i, term in enumerate(own))

        for found in self.each(query):
            yield [_values(value)[0] for value in found.values()]

    def _totals(self, column: SourceColumn, *terms: str) -> list[float]:
        """The sums of terms over all ranges of rows."""
        every = zip(*self._over_parts(column, *terms), strict=True)
        return [total_of(np.array([x for x in of if x is not None])) for of in every]

    def _grouped(self, column: SourceColumn, term: str) -> Iterator[dict[str, np.ndarray]]:
        """How often each value of a term is there, in each range of rows."""
        queries = []
        for k, start, stop, _, _ in self._pieces():
            value = column.sql[k]
            queries.append(
                (
                    k,
                    f"SELECT {term.format(v=value)} AS v, count(*) AS n "
                    f"FROM {self.sources[k].relation()} "
                    f"WHERE r >= {start} AND r < {stop} AND {value} IS NOT NULL GROUP BY 1",
                )
            )
        for found in self.results(queries):
            yield {name: np.ma.getdata(values) for name, values in found.items()}

    def _identifies(self, column: SourceColumn, there: int) -> bool:
        if there < max(20, self.n_rows) or not is_called_identifier(column.name):
            return False
        v = "CAST({v} AS DOUBLE)"
        parts = [*self._over_parts(column, f"count(*) FILTER ({v} <> floor({v}))", f"min({v})",
                                   f"max({v})", f"count(DISTINCT {v})")]  # fmt: skip
        parts = [part for part in parts if part[1] is not None]
        if any(part[0] for part in parts) or sum(part[3] for part in parts) < there:
            return False
        parts.sort(key=lambda part: part[1])
        if all(one[2] < other[1] for one, other in itertools.pairwise(parts)):
            return True
        # Where ranges overlap, their values are compared, a share of all of them at a time.
        shares = max(1, -(-8 * there // int(self.memory / 8)))
        return all(self._is_distinct(column, share, shares) for share in range(shares))

    def _is_distinct(self, column: SourceColumn, share: int, shares: int) -> bool:
        """Whether no two rows have the same value, of a share of all values."""
        queries = []
        for k, start, stop, _, _ in self._pieces():
            v = f"CAST({column.sql[k]} AS DOUBLE)"
            where = f"r >= {start} AND r < {stop} AND hash({v}) % {shares} = {share}"
            queries.append((k, f"SELECT {v} AS v FROM {self.sources[k].relation()} WHERE {where}"))
        every = [(self.sources[k], sql) for k, sql in queries]
        values = self.readers.merged(_distinct_values, self.session, every, merged_values)
        return values is not None

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
        queries = {k: query(k) for k in {piece[0] for piece in self._pieces()}}
        every = [
            (k, f"SELECT {queries[k]} FROM {self.sources[k].relation()} "
                f"WHERE r >= {start} AND r < {stop}")
            for k, start, stop, _, _ in self._pieces()
        ]  # fmt: skip
        done = 0
        for piece, found in zip(self._pieces(), self.results(every), strict=True):
            done += piece[2] - piece[1]
            if reports:
                self.on_progress(done)
            yield found

    def _pieces(self) -> list[tuple[int, int, int, int, int]]:
        return [piece for row_range in self.row_ranges for piece in row_range.pieces]

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
        place = self._first_row(column, "isinf(CAST({v} AS DOUBLE))")
        return DataError(
            f"{place}: column {quote(column.name)} is infinite; correct it, or leave it empty to "
            "count as missing"
        )

    def _first_row(self, column: SourceColumn, where: str) -> str:
        """Where the first row is for whose value something holds."""
        queries = [
            (k, f"SELECT min(r) AS r FROM {one.relation()} WHERE {where.format(v=column.sql[k])}")
            for k, one in enumerate(self.sources)
        ]
        for source, found in zip(self.sources, self.results(queries), strict=True):
            if not missing_mask(found["r"])[0]:
                return f"{source.label}, row {int(found['r'][0]) + 1:,}"
        raise AssertionError(column.name)

    def lacks(self, column: SourceColumn) -> bool:
        """Whether a row has no value."""
        return self._totals(column, "count(*) FILTER ({v} IS NULL)")[0] > 0

    def cut_of_highest(self, column: SourceColumn, n_rows: int) -> float | None:
        """The number from which on at least so many rows have theirs, of numbers above the least.

        None where all rows have the same number.
        """
        least = math.inf
        values: np.ndarray = np.empty(0)
        counts: np.ndarray = np.empty(0)
        for found in self._grouped(column, "{v}"):
            least = min(least, float(found["v"].min(initial=math.inf)))
            values, at = np.unique(np.concatenate([values, found["v"]]), return_inverse=True)
            counts = np.bincount(at, weights=np.concatenate([counts, found["n"]]))
            # Where as many rows have higher numbers, a number is not the cut, whatever follows.
            higher = np.cumsum(counts[::-1])[::-1] - counts
            values, counts = values[higher < n_rows], counts[higher < n_rows]
        above = values[values > least]
        return float(above[0]) if len(above) else None

    def first_missing(self, column: SourceColumn) -> str:
        """Where the first row without a value is."""
        lost = "{v} IS NULL"
        if column.way != "levels":
            lost += f" OR NOT {is_number('{v}')}"
        return self._first_row(column, lost)


# --- on the readers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Described:
    """A source, the types of its columns, and the ends of those of numbers as its footer has them.

    Footers need not state any, and state none of a part of a column that holds NaN.
    """

    source: SourceFile
    types: list[str]
    ends: dict[int, tuple[float, float]]


def described(session: Session, given: tuple[str, str, int, bool]) -> Described:
    """Describe a Parquet file, by its path, its label and the number of its columns.

    The last argument is whether names of folders are columns of it.
    """
    path, label, n_columns, hive = given
    where = files.where(path_of(path))
    low, high = (f"TRY_CAST(stats_{end}_value AS DOUBLE)" for end in ("min", "max"))
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
    types = [str(entry[1]) for entry in found.description]
    stated = source.run(
        own,
        f"SELECT column_id AS place, min({low}) AS low, max({high}) AS high, "
        f"bool_and(coalesce(isfinite({low}) AND isfinite({high}), false) "
        "OR coalesce(stats_null_count = num_values, false)) AS stated "
        f"FROM parquet_metadata({where}) GROUP BY 1 ORDER BY 1",
    )
    # A column that is a record or a list has others inside, which would be counted.
    flat = len(stated["place"]) == n_columns - (source.hive or 0)
    ends = {
        int(place): (float(least), float(most))
        for place, least, most, known in zip(*map(_values, stated.values()), strict=True)
        if flat and known and least is not None and _NUMERIC.fullmatch(types[place])
    }
    return Described(source, types, ends)


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
    """How the levels of a column are counted."""

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
        sql = (
            f"WITH found AS (SELECT {one.sql[part.k]} AS c, count(*) AS n, min(r) AS row "
            f"FROM {source.relation()} WHERE r >= {part.start} AND r < {part.stop} "
            f"GROUP BY 1) SELECT c, n, row, {one.hashed} AS h{clean} "
            "FROM found WHERE c IS NOT NULL ORDER BY 1"
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
    sql = (
        f"SELECT DISTINCT {text_hash(column.sql[part.k])} AS h FROM {part.source.relation()} "
        f"WHERE r >= {part.start} AND r < {part.stop} AND {column.sql[part.k]} IS NOT NULL "
        f"ORDER BY 1 LIMIT {SKETCH}"
    )
    return LevelFacts.of_hashes(np.ma.getdata(_answered(session, (part.source, sql))["h"]))


def _words_of(
    shared: tuple[Session, SourceColumn, Mapping[str, Any], int],
    piece: tuple[int, SourceFile, int, int],
) -> WordFacts:
    """The words of a column in some rows."""
    (session, column, text, most), (k, source, start, stop) = shared, piece
    sql = f"SELECT {column.chosen(k)} FROM {source.relation()} WHERE r >= {start} AND r < {stop}"
    texts = _answered(session, (source, sql))[column.key]
    words = WordCounts(column.name, Encoder(text=text), most=most)
    words.add(texts)
    return WordFacts(words.rows, words.uses, int(missing_mask(texts).sum()))


def _distinct_values(session: Session, query: tuple[SourceFile, str]) -> np.ndarray | None:
    """The values that a query gives, in ascending order; None where one is there twice."""
    return merged_values([np.ma.getdata(_answered(session, query)["v"])])


def with_levels(column: SourceColumn, levels: LevelFacts) -> SourceColumn:
    """A column of which the levels are known."""
    return replace(column, hashes=levels.hashes, stored=tuple(levels.values.tolist()))


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
