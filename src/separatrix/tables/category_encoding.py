"""A column of levels: a feature for each level.

Levels are coded here rather than by scikit-learn's ``OneHotEncoder``, which knows neither a level
by the number it spells nor a feature for rare and later levels together.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.messages import counted
from separatrix.tables.categorical import Categorical
from separatrix.tables.cells import ONE, ZERO
from separatrix.tables.column_encoding import (
    Arrays,
    ColumnOf,
    Encoding,
    Entries,
    Settings,
    Unusable,
    damaged,
)
from separatrix.tables.features import Number as Formula
from separatrix.tables.stored_strings import pack, unpack_each
from separatrix.tables.table import (
    LevelMatch,
    Remarks,
    Table,
    joined,
    label_text,
    missing_mask,
    quote,
)


@dataclass
class Category(Encoding):
    """One feature for every level, one for all rare ones, and one for missing values."""

    name: str
    levels: list[str]
    rare: list[str]
    with_missing: bool
    reference: str | None = None  # the level without a feature; not among the others
    # The levels that were looked up last, and their places.
    _last: Any = field(default=None, repr=False, compare=False)

    kind = "category"
    noun = ("category", "categories")

    # Made at first use: for a million levels they take more than the levels themselves.
    @cached_property
    def match(self) -> LevelMatch:
        # Rare levels are found like the others and point at one feature.
        reference = [] if self.reference is None else [self.reference]
        return LevelMatch([*self.levels, *self.rare, *reference])

    @cached_property
    def _features(self) -> np.ndarray:
        # The feature of each of these levels, and last that of a level not seen at fit; -1: none.
        n, references = len(self.levels), 0 if self.reference is None else 1
        own = [*range(n), *[n] * len(self.rare), *[-1] * references, n if self.rare else -1]
        return np.array(own, dtype=np.int64)

    @classmethod
    def learn(cls, facts: Any, settings: Settings) -> Category:
        """The encoding of a column of levels by its facts."""
        counts, some = facts.counts, facts.n_missing > 0
        n_values = sum(counts.values())
        if not facts.overridden and n_values >= 20 and len(counts) >= 0.9 * n_values:
            raise Unusable(
                "that identify rows",
                f"has {len(counts):,} levels in {n_values:,} rows, so it identifies rows and does "
                "not describe them",
            )
        if len(counts) == 1 and not some:
            raise Unusable("of one value", f"is constant ({quote(next(iter(counts)))})")
        least = settings.min_frequency or 1
        levels = sorted(level for level, count in counts.items() if count >= least)
        rare = sorted(level for level, count in counts.items() if count < least)
        reference = None
        if settings.reference and levels:
            reference = max(levels, key=lambda level: counts[level])
            levels.remove(reference)
        return cls(facts.name, levels, rare, some, reference)

    @property
    def feature_names(self) -> list[str]:
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name}=(rare)"] if self.rare else []
        return names + ([f"{self.name}=(missing)"] if self.with_missing else [])

    @property
    def n_features(self) -> int:
        # Computed for every block, without building the names of many levels.
        return len(self.levels) + bool(self.rare) + self.with_missing

    def encode(self, table: Table, settings: Settings, notes: Remarks, start: int = 0) -> Any:
        """Return for each row the place of the one feature that is 1, or -1 for none.

        Features are counted from ``start``.
        """
        column = table.columns[self.name]
        places = self._features.copy()
        places[places >= 0] += start
        missing = start + self.n_features - 1 if self.with_missing else -1
        unseen: Mapping[str, int] = {}
        if isinstance(column, Categorical):
            found = self._found(column.levels)
            gone = column.codes < 0
            codes = np.append(places[found], [missing]).astype(np.int32)[column.codes]
            if (found < 0).any():
                counts = np.bincount(column.codes[~gone], minlength=len(found))
                new = np.flatnonzero((found < 0) & (counts > 0))
                unseen = dict(zip(column.levels[new].tolist(), counts[new].tolist(), strict=True))
        else:
            gone = missing_mask(column)
            found = self.match.find_all(np.ma.getdata(column).tolist())
            codes = np.where(gone, missing, places[found]).astype(np.int32)
            new = (found < 0) & ~gone
            if new.any():
                unseen = Counter(map(label_text, np.ma.getdata(column[new]).tolist()))
        # How a level that was not seen at fit, or is missing, is read.
        other = "no level" if self.reference is None else f"the reference {quote(self.reference)}"
        if not (self.with_missing or self.with_date) and gone.any():
            notes.add(
                "with missing values, none at fit, read as "
                + ("no level" if self.reference is None else "the reference"),
                f"column {quote(self.name)}: {int(gone.sum()):,} missing, none at fit; read as "
                f"{other}",
            )
        if unseen:
            n_rows = sum(unseen.values())
            most = sorted(unseen, key=lambda level: (-unseen[level], level))
            notes.add(
                "with levels not seen at fit",
                f"column {quote(self.name)}: {counted(len(unseen), 'level')} not seen at fit in "
                f"{counted(n_rows, 'row')} ({joined(most, 5)}), read as "
                + ("rare" if self.rare else other),
            )
        return codes

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Formula]:
        column, match = column_of(self.name), self.match
        there = column.without_marks(match)
        own = [column.indicator([level], match) for level in self.levels]
        if self.rare:
            known = [*self.levels, *([] if self.reference is None else [self.reference])]
            own.append(there.filled(column.indicator(known, match, ZERO, ONE), ZERO))
        return own + ([there.filled(ZERO, ONE)] if self.with_missing else [])

    def _found(self, levels: np.ndarray) -> np.ndarray:
        """The places of levels among those of the fit, -1 if absent; blocks share one array."""
        if self._last is None or self._last[0] is not levels:
            self._last = (levels, self.match.find_all(levels.tolist()))
        found: np.ndarray = self._last[1]
        return found

    @staticmethod
    def store(encodings: Sequence[Category], arrays: Arrays, settings: Settings) -> Entries:
        # Together, because each array has an entry in the header of a model file.
        for part in ("levels", "rare"):
            each = [getattr(one, part) for one in encodings]
            pack(arrays, f"categories.{part}", list(itertools.chain.from_iterable(each)))
            arrays[f"categories.{part}.counts"] = np.array([*map(len, each)], dtype=np.int64)
        return [
            {"name": one.name, "missing": one.with_missing}
            | ({"reference": one.reference} if settings.reference else {})
            for one in encodings
        ]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Category]:
        parts = (unpack_each(arrays, f"categories.{part}") for part in ("levels", "rare"))
        return [
            cls(entry["name"], levels, rare, bool(entry["missing"]), entry.get("reference"))
            for entry, levels, rare in zip(entries, *parts, strict=True)
        ]

    def require_sound(self) -> None:
        if not (self.reference is None or isinstance(self.reference, str)):
            raise damaged("one of its names is not a text")
