"""Typed columns to a matrix, and back to the same matrix later.

What a column becomes
    ``number``: one feature ``age``, ``(x - mean) / standard deviation`` over the fit rows, or with
    ``standardise=False`` the value itself, bit for bit. Where values were missing at fit, a second
    feature ``age=(missing)`` is 1 for those rows, and the first is 0 (standardised: the mean).
    ``category``: one feature for every level, ``sex=Male``, in the order of the levels' text;
    ``sex=(missing)`` last, where values were missing at fit. With ``min_frequency``, the levels of
    fewer rows share ``sex=(rare)``. With ``reference=True`` the level of the most rows has no
    feature.
    ``text``: one feature for every word, ``review:great``, TF-IDF: ``(1 + log count) * idf``, each
    row of unit length. A missing text has no words.

Features come numbers first, then categories, then text, each in the order of the table.

Dense or sparse
    The matrix is a row-major array where at least a quarter of its entries are expected to be
    nonzero, and a CSR matrix (int32 indices) otherwise; any text makes it CSR. At a quarter the two
    are about equally fast to go through, and CSR needs a third of the memory. The choice is made at
    fit and kept.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import Joined, Message, Setting
from separatrix.tables.table import (
    LevelMatch,
    Remarks,
    Table,
    listed,
    missing_mask,
    nearest,
    number_text,
    parse_number,
    shown,
)

__all__ = ["DENSE_FROM", "Encoder"]

DENSE_FROM = 0.25
"""The share of nonzero entries from which the matrix is a dense array."""

# Below this many rows a word that stands in one row only is still kept.
_TINY_TEXT = 100
_EPS = float(np.finfo(np.float64).eps)

_TEXT_DEFAULTS: dict[str, Any] = {
    "lowercase": True,
    "strip_accents": None,
    "stop_words": None,
    "token_pattern": r"(?u)\b\w\w+\b",
    "ngram_range": (1, 1),
    "sublinear_tf": True,
    "norm": "l2",
    "use_idf": True,
    "smooth_idf": True,
    "binary": False,
}
# These act on the choice of words only, not on how a text is turned into numbers later.
_TEXT_FIT_OPTIONS: dict[str, Any] = {"min_df": None, "max_df": 1.0, "max_features": None}


# --------------------------------------------------------------------------- one record a column


@dataclass
class _Number:
    name: str
    mean: float
    scale: float
    with_value: bool
    with_missing: bool
    date: bool

    @property
    def n_features(self) -> int:
        return int(self.with_value) + int(self.with_missing)

    @property
    def feature_names(self) -> list[str]:
        own = [self.name] if self.with_value else []
        return own + ([f"{self.name}=(missing)"] if self.with_missing else [])


@dataclass
class _Category:
    name: str
    levels: list[str]
    rare: list[str]
    with_missing: bool
    reference: str | None = None  # the level without a feature; not among the others

    def __post_init__(self) -> None:
        # Rare levels are found like the others and point at one feature.
        known = [*self.levels, *self.rare]
        self._reference = len(known)
        self._match = LevelMatch(known if self.reference is None else [*known, self.reference])

    @property
    def n_features(self) -> int:
        return len(self.levels) + bool(self.rare) + int(self.with_missing)

    @property
    def others(self) -> str:
        """What a level that was not seen at fit, or is missing, is read as."""
        return "no level" if self.reference is None else f"the reference {shown(self.reference)}"

    @property
    def feature_names(self) -> list[str]:
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name}=(rare)"] if self.rare else []
        return names + ([f"{self.name}=(missing)"] if self.with_missing else [])

    def codes(self, column: Any) -> tuple[Any, dict[str, int], int]:
        """The feature of each row (-1: none), unseen levels with their counts, rows missing."""
        gone = missing_mask(column)
        values = np.ma.getdata(column).tolist()
        n_known = len(self.levels)
        table: dict[Any, int] = {}
        unseen: dict[str, int] = {}
        codes = np.empty(len(values), dtype=np.int64)
        for value in set(values):
            found = self._match.find(value)
            table[value] = min(found, n_known) if found >= 0 else (n_known if self.rare else -1)
            if found == self._reference:
                table[value] = -1
            if found < 0:
                unseen[value] = 0
        codes[:] = [table[value] for value in values]
        codes[gone] = self.n_features - 1 if self.with_missing else -1
        if unseen:
            counts = dict.fromkeys(unseen, 0)
            for value, lost in zip(values, gone, strict=True):
                if not lost and value in counts:
                    counts[value] += 1
            unseen = {
                value if isinstance(value, str) else number_text(value): count
                for value, count in counts.items()
                if count
            }
        return codes, unseen, int(gone.sum())


@dataclass
class _Text:
    name: str
    words: list[str]
    idf: Any
    options: dict[str, Any]
    _vectorizer: Any = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        return len(self.words)

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}:{word}" for word in self.words]

    def matrix(self, documents: list[str]) -> Any:
        """TF-IDF rows; the same code after a fit and after loading, hence the same bits."""
        if not documents:  # scikit-learn refuses none at all
            from scipy import sparse

            return sparse.csr_matrix((0, len(self.words)), dtype=np.float64)
        if self._vectorizer is None:
            from sklearn.feature_extraction.text import TfidfVectorizer

            vocabulary = {word: i for i, word in enumerate(self.words)}
            # Without idf the stored weights are all 1, which is the same thing.
            options = {**self.options, "use_idf": True}
            vectorizer = TfidfVectorizer(vocabulary=vocabulary, dtype=np.float64, **options)
            vectorizer.idf_ = self.idf
            self._vectorizer = vectorizer
        return self._vectorizer.transform(documents)


# -------------------------------------------------------------------------------------- encoder


class Encoder:
    """Turns a table into a matrix and remembers how.

    Parameters
    ----------
    text : mapping, optional
        Options for text columns, named as in scikit-learn's ``TfidfVectorizer``: ``ngram_range``,
        ``min_df``, ``max_df``, ``max_features``, ``lowercase``, ``strip_accents``, ``stop_words``
        (``None``, ``"english"`` or a list), ``token_pattern``, ``sublinear_tf``, ``norm``,
        ``use_idf``, ``smooth_idf``, ``binary``. Words must stand in 2 rows at least
        (``min_df=2``), or in 1 where there are fewer than 100 rows or no word stands in two.
    min_frequency : int, optional
        Levels of fewer rows than this share one feature, ``column=(rare)``, and so do levels seen
        only later. By default every level has its own feature.
    standardise : bool, default=True
        Whether numbers are standardised. False leaves them exactly as the table has them, which
        statements about the very numbers of a file need: standardising rounds, and rounding can
        part what touches. Then constant columns stay in too, and a missing number is 0.
    reference : bool, default=False
        Whether every category leaves out the level of the most rows, with which its other levels
        are then compared, so that no sum of features is constant. Coefficients without a penalty
        are determined then, and what they mean is told by ``references_``. Constant columns are
        left out, and a missing number is the mean, in the units of the column.

    Attributes
    ----------
    feature_names_ : list of str
        A name for each column of the matrix, no name twice.
    summary_ : str
        Such as ``"6 numbers, 8 categories"``.
    alerts_ : list of str
        What looked wrong at fit: a feature that gives the target away, columns left out because
        they are constant or identify the row, columns that repeat others.
    alerted_ : list of tuple
        Of every alert of a fit ``(sort, columns, sentence)``: what sort it is in a few words, the
        columns it is about, and the sentence.
    columns_ : list of str or None
        For each feature the column of the table that it encodes; None for an svmlight file.
    scales_ : ndarray of shape (n_features,)
        How many units of its column make one unit of a feature: the standard deviation of a number
        that was standardised, and 1 otherwise.
    notes_ : list of str
        What the last ``transform`` met: unseen levels, missing values, extra columns.
    left_out_ : list of str
        Columns of the fit table that give no feature; they may be absent later.
    kinds_ : dict of str to str
        The kind of each column in use, to read later files with.
    references_ : dict of str to str
        Of every category its level without a feature; empty without ``reference=True``.
    dependent_ : list of str
        Features that :meth:`leave_out` took away.

    Examples
    --------
    >>> from separatrix.tables import Encoder, Table
    >>> table = Table.from_columns({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "b", None]})
    >>> encoder = Encoder().fit(table)
    >>> encoder.feature_names_
    ['x', 'c=a', 'c=b', 'c=(missing)']
    >>> encoder.transform(table).shape
    (4, 4)
    """

    def __init__(
        self,
        *,
        text: Mapping[str, Any] | None = None,
        min_frequency: int | None = None,
        standardise: bool = True,
        reference: bool = False,
    ):
        self.text = _checked_text_options(text)
        self.standardise = bool(standardise)
        self.reference = bool(reference)
        if min_frequency is not None and (
            isinstance(min_frequency, bool)
            or int(min_frequency) != min_frequency
            or min_frequency < 1
        ):
            raise DataError(f"min_frequency must be a whole number from 1, not {min_frequency!r}")
        self.min_frequency = min_frequency
        self.alerts_: list[str] = []
        self.alerted_: list[tuple[str, tuple[str, ...], str]] = []
        self.notes_: list[str] = []
        self.left_out_: list[str] = []
        self.dependent_: list[str] = []
        self._fitted = False

    # ------------------------------------------------------------------------------------- fit

    def fit(self, table: Table, y: Any = None) -> Encoder:
        """Learn the encoding of a table of features.

        Parameters
        ----------
        table : Table
            Without the target column.
        y : array-like of shape (n_rows,), optional
            The labels, only to warn of features that give them away.

        Returns
        -------
        Encoder
            Itself.

        Raises
        ------
        DataError
            If a number is infinite, or no column can be used.
        """
        if table.n_rows == 0:
            raise DataError(f"{table.source} has no rows to fit the encoding on")
        self.alerts_, self.alerted_, self.notes_, self.left_out_ = [], [], [], []
        self.dependent_ = []
        self._alerts = Remarks()
        self._numbers: list[_Number] = []
        self._categories: list[_Category] = []
        self._texts: list[_Text] = []
        self._matrix_columns: tuple[int, int] | None = None
        for name in table.names:
            column, kind = table.columns[name], table.kinds[name]
            if missing_mask(column).all():
                self._leave_out(name, "without values", "holds no values")
            elif kind == "number":
                self._fit_number(name, column, table)
            elif kind == "category":
                self._fit_category(name, column, name in table.overridden)
            else:
                self._fit_text(name, column)
        n_matrix = 0
        if table.matrix is not None:
            first = 0 if (table.matrix.indices == 0).any() else 1
            self._matrix_columns = (first, int(table.matrix.shape[1]))
            n_matrix = max(0, self._matrix_columns[1] - first)
        if not (self._numbers or self._categories or self._texts or n_matrix):
            self.alerts_ = self._alerts.lines()
            why = Joined(tuple(self.alerts_), before=": ", separator="; ") if self.alerts_ else ""
            raise DataError(Message("no_usable_column", source=table.source, why=why))
        self._dense = not self._texts and table.matrix is None and self._density() >= DENSE_FROM
        self.summary_ = self._summarise(n_matrix)
        self._settle()
        self._look_for_repeats(table, y)
        self.alerts_ = self._alerts.lines()
        return self

    def leave_out(self, features: Sequence[str]) -> Encoder:
        """Take features away that follow from the others.

        Parameters
        ----------
        features : sequence of str
            Names among ``feature_names_``.

        Returns
        -------
        Encoder
            Itself; its matrices lack these columns from now on.

        Raises
        ------
        DataError
            If there is no such feature, or none would be left.

        Examples
        --------
        >>> from separatrix.tables import Encoder, Table
        >>> table = Table.from_columns({"cm": [1.0, 2.0, 4.0], "mm": [10.0, 20.0, 40.0]})
        >>> Encoder().fit(table).leave_out(["mm"]).transform(table).shape
        (3, 1)
        """
        for name in features:
            if name not in self.feature_names_:
                raise DataError(f"the encoding has no feature {shown(name)}")
        if len(set(features)) == self.n_features_:
            raise DataError("without these features the encoding would have none")
        self.dependent_ = [*self.dependent_, *dict.fromkeys(features)]
        self._settle()
        return self

    def fit_transform(self, table: Table, y: Any = None) -> Any:
        """``fit(table, y)``, then ``transform(table)``."""
        return self.fit(table, y).transform(table)

    def _alert(self, sort: str, sentence: str, *columns: str) -> None:
        self._alerts.add(sort, sentence)
        self.alerted_.append((sort, columns, sentence))

    def _leave_out(self, name: str, sort: str, why: str) -> None:
        self.left_out_.append(name)
        self._alert(f"{sort}, left out", f"column {shown(name)} {why}; it is left out", name)

    def _fit_number(self, name: str, column: Any, table: Table) -> None:
        date = name in table.dates
        gone = missing_mask(column)
        values = np.ma.getdata(column).astype(np.float64)
        _check_finite(values, gone, name, table)
        if not self.standardise and not self.reference:
            self._numbers.append(_Number(name, 0.0, 1.0, True, bool(gone.any()), date))
            return
        mean, scale = _mean_and_scale(values[~gone])
        constant = scale == 0.0
        if constant and not gone.any():
            self._leave_out(name, "of one value", f"is constant ({number_text(mean)})")
            return
        if constant:
            self._alert(
                "of one value or none, of which only whether there is one is used",
                f"column {shown(name)} is constant ({number_text(mean)}) where it has a value; "
                "only whether it has one is used",
                name,
            )
        scale = scale if self.standardise else 1.0
        self._numbers.append(_Number(name, mean, scale, not constant, bool(gone.any()), date))

    def _fit_category(self, name: str, column: Any, insisted: bool) -> None:
        gone = missing_mask(column)
        counts: dict[str, int] = {}
        for value in np.ma.getdata(column)[~gone].tolist():
            counts[value] = counts.get(value, 0) + 1
        n_values = int((~gone).sum())
        if not insisted and n_values >= 20 and len(counts) >= 0.9 * n_values:
            self._leave_out(
                name,
                "that identify rows",
                f"has {len(counts):,} levels in {n_values:,} rows, so it identifies rows rather "
                "than describes them",
            )
            return
        if len(counts) == 1 and not gone.any():
            self._leave_out(name, "of one value", f"is constant ({shown(next(iter(counts)))})")
            return
        least = self.min_frequency or 1
        levels = sorted(level for level, count in counts.items() if count >= least)
        rare = sorted(level for level, count in counts.items() if count < least)
        reference = None
        if self.reference and levels:
            reference = max(levels, key=lambda level: counts[level])
            levels.remove(reference)
        self._categories.append(_Category(name, levels, rare, bool(gone.any()), reference))

    def _fit_text(self, name: str, column: Any) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        documents = _documents(column)
        choose = {key: self.text[key] for key in _TEXT_FIT_OPTIONS}
        options = {key: self.text[key] for key in _TEXT_DEFAULTS}
        tries = [choose["min_df"]]
        if choose["min_df"] is None:
            tries = [1] if len(documents) < _TINY_TEXT else [2, 1]
        for min_df in tries:
            vectorizer = TfidfVectorizer(**options, **{**choose, "min_df": min_df})
            try:
                vectorizer.fit(documents)
            except ValueError as error:
                text = str(error)
                if "empty vocabulary" in text or "no terms remain" in text or min_df != tries[-1]:
                    continue
                raise DataError(f"column {shown(name)}: the options for text: {text}") from None
            words = [str(word) for word in vectorizer.get_feature_names_out()]
            has_idf = self.text["use_idf"]
            idf = np.array(vectorizer.idf_, dtype=np.float64) if has_idf else np.ones(len(words))
            self._texts.append(_Text(name, words, idf, options))
            return
        self._leave_out(
            name, "of text without words", "holds text without words that could be used"
        )

    def _density(self) -> float:
        filled = sum(spec.n_features for spec in self._numbers) + len(self._categories)
        return filled / sum(spec.n_features for spec in self._specs)

    @property
    def _specs(self) -> Sequence[_Number | _Category | _Text]:
        return [*self._numbers, *self._categories, *self._texts]

    def _summarise(self, n_matrix: int) -> str:
        parts = [
            _counted(len(self._numbers), "number", "numbers"),
            _counted(len(self._categories), "category", "categories"),
            _counted(len(self._texts), "text", "texts"),
            _counted(n_matrix, "sparse number", "sparse numbers"),
        ]
        if self.left_out_:
            parts.append(f"{len(self.left_out_):,} left out")
        return ", ".join(part for part in parts if part)

    def _settle(self) -> None:
        """What follows from the records: names, kinds, places."""
        names = [name for spec in self._specs for name in spec.feature_names]
        self.columns_: list[str | None] = [
            spec.name for spec in self._specs for _ in range(spec.n_features)
        ]
        if self._matrix_columns is not None:
            names += [f"f{j}" for j in range(*self._matrix_columns)]
            self.columns_ += [None] * (len(names) - len(self.columns_))
        names = _unique(names)
        gone = set(self.dependent_)
        scales = np.ones(len(names))
        j = 0
        for spec in self._numbers:
            if spec.with_value:
                scales[j] = spec.scale
            j += spec.n_features
        self._width = len(names)
        self._kept = [j for j, name in enumerate(names) if name not in gone]
        self.feature_names_ = [names[j] for j in self._kept]
        self.columns_ = [self.columns_[j] for j in self._kept]
        self.scales_ = scales[self._kept]
        self.n_features_ = len(self._kept)
        self.references_ = {
            spec.name: spec.reference for spec in self._categories if spec.reference is not None
        }
        self.kinds_ = {spec.name: "number" for spec in self._numbers}
        self.kinds_.update({spec.name: "category" for spec in self._categories})
        self.kinds_.update({spec.name: "text" for spec in self._texts})
        self._fitted = True

    # ---------------------------------------------------------------------------------- alerts

    def _look_for_repeats(self, table: Table, y: Any) -> None:
        """Warn of columns that give the target away and of columns that repeat others.

        Two columns are one-to-one exactly where their codes by first appearance are equal, so one
        pass over each column finds every pair.
        """
        target = None if y is None else _first_appearance(np.asarray(y).tolist())
        if target is not None and len(target) != table.n_rows:
            raise DataError(f"there are {len(target):,} labels for {table.n_rows:,} rows")
        n_classes = 0 if target is None else int(target.max()) + 1
        most_levels = max(200, n_classes)
        seen: dict[bytes, str] = {}
        drawn = np.random.default_rng(0).standard_normal(table.n_rows)
        sketches: list[tuple[float, str, Any]] = []
        plain: list[_Number | _Category] = [*self._numbers, *self._categories]
        for spec in plain:
            column = table.columns[spec.name]
            gone = missing_mask(column)
            if isinstance(spec, _Number) and spec.with_value:
                self._look_for_rescaled(spec, column, gone, drawn, sketches)
            values = _with_none(column, gone)
            if len(set(values[:2000])) > most_levels:
                continue
            codes = _first_appearance(values)
            n_levels = int(codes.max()) + 1
            if target is not None and table.n_rows > n_levels:
                if np.array_equal(codes, target):
                    self._alert(
                        "one-to-one with the target",
                        f"column {shown(spec.name)} equals the target or is one-to-one with it: if "
                        "it is not known before the target is, leave it out",
                        spec.name,
                    )
                    continue
                # With ten rows a level or more, agreement on every row is no accident.
                if (
                    n_levels * 10 <= table.n_rows
                    and n_classes > 1
                    and _determines(codes, target, n_levels)
                ):
                    self._alert(
                        "whose value determines the target",
                        f"column {shown(spec.name)} determines the target: each of its "
                        f"{n_levels:,} values goes with one class only; if it is not known "
                        "before the target is, leave it out",
                        spec.name,
                    )
            # A constant column is there where numbers are left as they are; it says nothing.
            if n_levels > most_levels or n_levels == table.n_rows or n_levels == 1:
                continue
            key = hashlib.sha256(codes.tobytes()).digest()
            if key in seen:
                self._alert(
                    "one-to-one with an earlier one",
                    f"columns {shown(seen[key])} and {shown(spec.name)} are one-to-one: each says "
                    "what the other says",
                    seen[key],
                    spec.name,
                )
            else:
                seen[key] = spec.name

    def _look_for_rescaled(
        self,
        spec: _Number,
        column: Any,
        gone: Any,
        drawn: Any,
        sketches: list[tuple[float, str, Any]],
    ) -> None:
        values = np.ma.getdata(column).astype(np.float64)
        mean, scale = spec.mean, spec.scale
        if not self.standardise:
            mean, scale = _mean_and_scale(values[~gone])
            if scale == 0.0:
                return
        with np.errstate(over="ignore"):  # of the farthest values; they are only compared
            z = np.where(gone, 0.0, (values - mean) / scale)
        steps = np.diff(np.ma.getdata(column).astype(np.float64)) if len(z) >= 20 else None
        if steps is not None and not gone.any() and (steps == 1.0).all():
            told = _counts_rows(spec.name, number_text(values[0]), number_text(values[1]))
            self._alert(_ROW_NUMBERS, told, spec.name)
        # Columns of few values are compared by their codes.
        if len(set(values[:2000].tolist())) <= 200:
            return
        sketch = float(drawn @ z)
        for other_sketch, other, other_z in sketches:
            if abs(abs(sketch) - abs(other_sketch)) <= 1e-6 * max(1.0, abs(sketch)):
                sign = 1.0 if sketch * other_sketch >= 0 else -1.0
                if np.allclose(z, sign * other_z, rtol=0.0, atol=1e-9):
                    self._alert(
                        "that repeat an earlier one on another scale",
                        f"column {shown(spec.name)} is column {shown(other)} on another scale",
                        other,
                        spec.name,
                    )
                    return
        if len(sketches) < 200:  # the columns compared with are kept in memory
            sketches.append((sketch, spec.name, z))

    # ------------------------------------------------------------------------------- transform

    def transform(self, table: Table) -> Any:
        """Encode a table by the names of its columns.

        Parameters
        ----------
        table : Table
            Must have every column in use, in any order; others are ignored, with a note.

        Returns
        -------
        ndarray or scipy.sparse.csr_matrix of shape (n_rows, n_features), float64
            Always the sort chosen at fit.

        Raises
        ------
        DataError
            If a column is absent, or holds text or infinity where numbers were.
        """
        if not self._fitted:
            raise DataError("the encoder has not been fitted: call fit(table) first")
        self.notes_ = []
        self._notes = Remarks()
        matrix = self._encode(table)
        if self.n_features_ < self._width:
            matrix = matrix[:, self._kept]
            matrix = np.ascontiguousarray(matrix) if self._dense else _csr(matrix)
        self.notes_ = self._notes.lines()
        return matrix

    def _encode(self, table: Table) -> Any:
        self._check_columns(table)
        n_rows = table.n_rows
        numbers = self._transform_numbers(table)
        codes = self._transform_categories(table)
        n_numbers = numbers.shape[1]
        starts = n_numbers + np.cumsum([0, *(spec.n_features for spec in self._categories)])
        if self._dense:
            matrix = np.zeros((n_rows, self._width), dtype=np.float64)
            matrix[:, :n_numbers] = numbers
            for j in range(codes.shape[1]):
                rows = np.flatnonzero(codes[:, j] >= 0)
                matrix[rows, starts[j] + codes[rows, j]] = 1.0
            return matrix

        from scipy import sparse

        blocks = [sparse.csr_matrix(numbers)] if n_numbers else []
        if self._categories:
            filled = codes >= 0
            indices = (codes + (starts[:-1] - n_numbers))[filled]
            indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
            blocks.append(
                sparse.csr_matrix(
                    (np.ones(len(indices)), indices, indptr),
                    shape=(n_rows, int(starts[-1]) - n_numbers),
                )
            )
        for spec in self._texts:
            column = table.columns[spec.name]
            lost = int(missing_mask(column).sum())
            if lost:
                self._notes.add(
                    "of text with missing values, read as no words",
                    f"column {shown(spec.name)}: {lost:,} missing, read as no words",
                )
            blocks.append(spec.matrix(_documents(column)))
        if self._matrix_columns is not None:
            blocks.append(self._fitted_matrix(table))
        stacked = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")
        return _csr(stacked)

    def _check_columns(self, table: Table) -> None:
        if self._matrix_columns is not None and table.matrix is None:
            raise DataError(
                f"{table.source} has named columns, but the encoding was fitted on an svmlight file"
            )
        if self._matrix_columns is None and table.matrix is not None:
            raise DataError(
                f"{table.source} is an svmlight file, but the encoding was fitted on named columns"
            )
        known = {*self.kinds_, *self.left_out_}
        lacking = [name for name in self.kinds_ if name not in table.columns]
        if lacking:
            noun = "column" if len(lacking) == 1 else "columns"
            # Only a column that nothing else claims can be this one under another name.
            free = [name for name in table.names if name not in known]
            hint = nearest(lacking[0], free, 0.7) if len(lacking) == 1 else ""
            raise DataError(
                f"{table.source} lacks the {noun} {listed(lacking)}, which the encoding needs; it "
                f"has {listed(table.names)}{hint}"
            )
        extra = [name for name in table.names if name not in known]
        if extra:
            noun = "column" if len(extra) == 1 else "columns"
            self._notes.add("", f"{len(extra):,} {noun} ignored, not known at fit: {listed(extra)}")

    def _transform_numbers(self, table: Table) -> Any:
        width = sum(spec.n_features for spec in self._numbers)
        out = np.zeros((table.n_rows, width), dtype=np.float64)
        j = 0
        for spec in self._numbers:
            values, gone = _numbers_of(table, spec)
            lost = int(gone.sum())
            if lost and not spec.with_missing:
                exact = not (self.standardise or self.reference)
                fill, value = ("0", "") if exact else ("the mean", f" ({spec.mean:.6g})")
                where = f"column {shown(spec.name)}: {lost:,} missing, none at fit"
                self._notes.add(
                    f"with missing values, none at fit, read as {fill}",
                    f"{where}; read as {fill}{value}",
                )
            if spec.with_value and not self.standardise:
                values[gone] = spec.mean
                out[:, j] = values
                j += 1
            elif spec.with_value:
                with np.errstate(over="ignore", invalid="ignore"):
                    z = (values - spec.mean) / spec.scale
                    if not np.isfinite(z).all():  # the difference alone may be out of range
                        z = values / spec.scale - spec.mean / spec.scale
                z[gone] = 0.0
                if not np.isfinite(z).all():
                    row = int(np.argmin(np.isfinite(z)))
                    raise DataError(
                        f"column {shown(spec.name)}, row {table.row_number(row)}: {values[row]} is "
                        "so far from the values of the fit that it cannot be standardised; "
                        "correct it, or leave it empty to count as missing"
                    )
                out[:, j] = z
                j += 1
            if spec.with_missing:
                out[:, j] = gone
                j += 1
        return out

    def _transform_categories(self, table: Table) -> Any:
        codes = np.empty((table.n_rows, len(self._categories)), dtype=np.int64)
        for j, spec in enumerate(self._categories):
            column = table.columns[spec.name]
            codes[:, j], unseen, lost = spec.codes(column)
            if lost and not spec.with_missing:
                self._notes.add(
                    "with missing values, none at fit, read as "
                    + ("no level" if spec.reference is None else "the reference"),
                    f"column {shown(spec.name)}: {lost:,} missing, none at fit; read as "
                    f"{spec.others}",
                )
            if unseen:
                n_rows = sum(unseen.values())
                most = sorted(unseen, key=lambda level: (-unseen[level], level))
                noun = "level" if len(unseen) == 1 else "levels"
                row_noun = "row" if n_rows == 1 else "rows"
                self._notes.add(
                    "with levels not seen at fit",
                    f"column {shown(spec.name)}: {len(unseen):,} {noun} not seen at fit in "
                    f"{n_rows:,} {row_noun} ({listed(most, 5)}), read as "
                    + ("rare" if spec.rare else spec.others),
                )
        return codes

    def _fitted_matrix(self, table: Table) -> Any:
        from scipy import sparse

        assert self._matrix_columns is not None
        first, stop = self._matrix_columns
        matrix = table.matrix
        width = int(matrix.shape[1])
        if width > stop:
            beyond = int((matrix.indices >= stop).sum())
            self._notes.add(
                "",
                f"features above {stop - 1} were not known at fit; their {beyond:,} values are "
                "ignored",
            )
        elif width < stop:
            matrix = sparse.csr_matrix(
                (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], stop)
            )
        if first and (matrix.indices == 0).any():
            self._notes.add("", "feature 0 was not known at fit; its values are ignored")
        return matrix[:, first:stop]

    # ----------------------------------------------------------------------------------- state

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All there is to know, as a JSON-able dictionary and arrays.

        Returns
        -------
        meta : dict
            Names, kinds, options.
        arrays : dict of str to ndarray
            Means, scales, idf (float64); levels and words as UTF-8 (uint8) with the offsets of
            their ends (int64).
        """
        if not self._fitted:
            raise DataError("the encoder has not been fitted: call fit(table) first")
        arrays: dict[str, Any] = {
            "numbers.mean": np.array([spec.mean for spec in self._numbers], dtype=np.float64),
            "numbers.scale": np.array([spec.scale for spec in self._numbers], dtype=np.float64),
        }
        # Together, because each array has an entry in the header of a model file.
        for part in ("levels", "rare"):
            each = [getattr(category, part) for category in self._categories]
            _pack(arrays, f"categories.{part}", list(itertools.chain.from_iterable(each)))
            arrays[f"categories.{part}.counts"] = np.array([*map(len, each)], dtype=np.int64)
        for j, text in enumerate(self._texts):
            _pack(arrays, f"text{j}.words", text.words)
            arrays[f"text{j}.idf"] = np.array(text.idf, dtype=np.float64)
        # What the sentences about row numbers are made of.
        row_numbers = {
            columns[0]: [told.values["first"], told.values["second"]]
            for _, columns, told in self.alerted_
            if isinstance(told, Message) and told.code == "counts_rows"
        }
        meta: dict[str, Any] = {
            # Who does not know of references must not read an encoding that has them.
            "version": 2 if self.reference or self.dependent_ else 1,
            "numbers": [
                {
                    "name": spec.name,
                    "value": spec.with_value,
                    "missing": spec.with_missing,
                    "date": spec.date,
                }
                for spec in self._numbers
            ],
            "categories": [
                {"name": spec.name, "missing": spec.with_missing}
                | ({"reference": spec.reference} if self.reference else {})
                for spec in self._categories
            ],
            "texts": [
                {"name": spec.name, "options": _jsonable(spec.options)} for spec in self._texts
            ],
            "matrix_columns": list(self._matrix_columns) if self._matrix_columns else None,
            "dense": self._dense,
            "text": _jsonable(self.text),
            "min_frequency": self.min_frequency,
            "standardise": self.standardise,
            "left_out": list(self.left_out_),
            **({"reference": self.reference} if self.reference else {}),
            **({"dependent": list(self.dependent_)} if self.dependent_ else {}),
            "alerts": list(self.alerts_),
            **(
                {"alerted": [[sort, list(columns), told] for sort, columns, told in self.alerted_]}
                if self.alerted_
                else {}
            ),
            **({"row_numbers": row_numbers} if row_numbers else {}),
            "summary": self.summary_,
        }
        return meta, arrays

    @classmethod
    def from_state(
        cls,
        meta: Mapping[str, Any],
        arrays: Mapping[str, Any],
        *,
        n_features: int | None = None,
    ) -> Encoder:
        """The encoder whose :meth:`state` this was; its matrices are equal bit for bit.

        With ``n_features`` one that makes another number of features is refused before anything
        of that size is made.

        Raises
        ------
        ModelFileError
            If something is absent or does not fit together.
        """
        try:
            if meta["version"] not in (1, 2):
                raise ModelFileError(
                    f"the encoding has version {meta['version']!r}, and this library reads "
                    "versions 1 and 2; update the library"
                )
            made = cls(
                text=_from_json(meta["text"]),
                min_frequency=meta["min_frequency"],
                # Files of version 0.1.0 do not say; they standardise.
                standardise=meta.get("standardise", True),
                reference=meta.get("reference", False),
            )
            means, scales = arrays["numbers.mean"], arrays["numbers.scale"]
            made._numbers = [
                _Number(
                    name=entry["name"],
                    mean=float(mean),
                    scale=float(scale),
                    with_value=bool(entry["value"]),
                    with_missing=bool(entry["missing"]),
                    date=bool(entry["date"]),
                )
                for entry, mean, scale in zip(meta["numbers"], means, scales, strict=True)
            ]
            made._categories = [
                _Category(
                    entry["name"], levels, rare, bool(entry["missing"]), entry.get("reference")
                )
                for entry, levels, rare in zip(
                    meta["categories"],
                    _unpack_each(arrays, "categories.levels"),
                    _unpack_each(arrays, "categories.rare"),
                    strict=True,
                )
            ]
            made._texts = []
            for j, entry in enumerate(meta["texts"]):
                words = _unpack(arrays, f"text{j}.words")
                idf = np.array(arrays[f"text{j}.idf"], dtype=np.float64)
                if idf.shape != (len(words),):
                    raise ModelFileError(
                        f"the encoding has {len(words):,} words and {idf.size:,} weights for them"
                    )
                made._texts.append(_Text(entry["name"], words, idf, _from_json(entry["options"])))
            place = meta["matrix_columns"]
            made._matrix_columns = None if place is None else (int(place[0]), int(place[1]))
            made._dense = bool(meta["dense"])
            made.left_out_ = list(meta["left_out"])
            made.dependent_ = list(meta.get("dependent", ()))
            made.alerts_ = list(meta["alerts"])
            # Files of version 0.1.0 have the sentences alone.
            made.alerted_ = [
                (str(sort), tuple(map(str, columns)), str(told))
                for sort, columns, told in meta.get("alerted", ())
            ]
            counted = meta.get("row_numbers", {})
            made.alerted_ = [
                (sort, columns, _counts_rows(columns[0], *map(str, counted[columns[0]])))
                if sort == _ROW_NUMBERS and columns[0] in counted
                else (sort, columns, told)
                for sort, columns, told in made.alerted_
            ]
            made.summary_ = str(meta["summary"])
            made._require_sound(n_features)
            made._settle()
        except (ArithmeticError, KeyError, TypeError, IndexError, ValueError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"the stored encoding is damaged: {error}") from None
        return made

    def _require_sound(self, n_features: int | None) -> None:
        """Raise ModelFileError unless what was stored can have been fitted."""
        names = [spec.name for spec in self._specs]
        told: list[Any] = [*names, *self.left_out_, *self.dependent_, *self.alerts_]
        for category in self._categories:
            told += [] if category.reference is None else [category.reference]
        if not all(isinstance(text, str) for text in told):
            raise ModelFileError("the stored encoding is damaged: a name of it is no text")
        if len(set(names)) < len(names) or set(names) & set(self.left_out_):
            raise ModelFileError("the stored encoding is damaged: a column is there twice")
        for spec in self._numbers:
            if not (np.isfinite(spec.mean) and 0.0 <= spec.scale < np.inf) or (
                spec.with_value and spec.scale == 0.0
            ):
                raise ModelFileError(
                    f"the stored encoding is damaged: column {shown(spec.name)} has the mean "
                    f"{spec.mean} and the scale {spec.scale}"
                )
        _require_text_options(self.text)
        for text in self._texts:
            _require_text_options(text.options)
            if not np.isfinite(text.idf).all() or len(set(text.words)) < len(text.words):
                raise ModelFileError(
                    f"the stored encoding is damaged: the words of column {shown(text.name)}"
                )
        first, stop = self._matrix_columns or (0, 0)
        if not 0 <= first <= stop or (self._matrix_columns and self._specs):
            raise ModelFileError("the stored encoding is damaged: its columns do not add up")
        made = sum(spec.n_features for spec in self._specs) + stop - first
        # Whether all of these are features is known when they have their names.
        made -= len(set(self.dependent_))
        if n_features is not None and made != n_features:
            raise ModelFileError(
                f"the encoding makes {made:,} columns, and its model takes {n_features:,}"
            )

    def __repr__(self) -> str:
        if not self._fitted:
            return "Encoder(not fitted)"
        return f"Encoder({self.summary_} -> {self.n_features_:,} features)"


_ROW_NUMBERS = "of row numbers"


def _counts_rows(name: str, first: str, second: str) -> Message:
    """What is said of a column that counts the rows."""
    ignored = Setting("kinds", (name, "ignore"))
    return Message("counts_rows", column=shown(name), first=first, second=second, ignored=ignored)


# -------------------------------------------------------------------------------------- details


def _checked_text_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    known = {**_TEXT_DEFAULTS, **_TEXT_FIT_OPTIONS}
    for key in text or {}:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DataError(f"{key!r} is not an option for text ({', '.join(known)}){hint}")
    options = {**known, **(text or {})}
    options["ngram_range"] = tuple(options["ngram_range"])
    return options


def _require_text_options(options: Mapping[str, Any]) -> None:
    """Raise ModelFileError for options with which no text was ever turned into numbers."""
    stop_words, norm, ngrams = options["stop_words"], options["norm"], options["ngram_range"]
    pattern = options["token_pattern"]
    flags = ("lowercase", "sublinear_tf", "use_idf", "smooth_idf", "binary")
    good = (
        all(isinstance(options[name], bool) for name in flags)
        and options["strip_accents"] in (None, "ascii", "unicode")
        and norm in (None, "l1", "l2")
        and (
            stop_words in (None, "english")
            or (isinstance(stop_words, list) and all(isinstance(w, str) for w in stop_words))
        )
        and len(ngrams) == 2
        and all(isinstance(n, int) and not isinstance(n, bool) for n in ngrams)
        and 1 <= ngrams[0] <= ngrams[1]
        and set(options) <= {*_TEXT_DEFAULTS, *_TEXT_FIT_OPTIONS}
    )
    try:
        good = good and re.compile(pattern).groups <= 1
    except (re.error, OverflowError, RecursionError, TypeError):
        good = False
    if not good:
        raise ModelFileError("the stored encoding is damaged: it has no such options for text")


def _jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    # Sets, arrays and tuples of words become lists, in an order that does not vary.
    made = dict(options)
    made["ngram_range"] = [int(n) for n in made["ngram_range"]]
    if made["stop_words"] is not None and not isinstance(made["stop_words"], str):
        made["stop_words"] = sorted(str(word) for word in made["stop_words"])
    return {key: value.item() if isinstance(value, np.generic) else value
            for key, value in made.items()}  # fmt: skip


def _from_json(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "ngram_range": tuple(options["ngram_range"])}


def _mean_and_scale(values: Any) -> tuple[float, float]:
    """Mean and standard deviation; scale 0 where the values differ by rounding at most.

    Two passes over values brought to the size of 1, so that neither 1e-200 nor 1e200 leaves the
    range of float64 when squared.
    """
    low, high = float(values.min()), float(values.max())
    largest = max(abs(low), abs(high))
    if low == high or high / largest - low / largest <= 4 * _EPS:
        return low if low == high else float(np.median(values)), 0.0
    exponent = int(np.frexp(largest)[1])
    unit = np.ldexp(values, -exponent)  # a power of two: exact
    mean = float(unit.mean())
    centred = unit - mean
    mean += float(centred.mean())  # takes out the rounding of the first sum
    scale = float(np.sqrt(np.mean((unit - mean) ** 2)))
    return float(np.ldexp(mean, exponent)), float(np.ldexp(scale, exponent))


def _check_finite(values: Any, gone: Any, name: str, table: Table) -> None:
    bad = np.isinf(values) & ~gone
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"column {shown(name)}, row {table.row_number(row)}: {values[row]} is not a finite "
            "number; correct it, or leave it empty to count as missing"
        )


def _numbers_of(table: Table, spec: _Number) -> tuple[Any, Any]:
    """A column's values as numbers, whatever it was read as, and where there are none."""
    column = table.columns[spec.name]
    gone = missing_mask(column)
    data = np.ma.getdata(column)
    if data.dtype != object:
        if not gone.all() and spec.date != (spec.name in table.dates):
            was, now = ("dates", "numbers") if spec.date else ("numbers", "dates")
            raise DataError(f"column {shown(spec.name)} holds {now} where {was} were at fit")
        values = data.astype(np.float64)
    else:
        values = np.zeros(len(data))
        seen: dict[str, float] = {}
        for i, text in enumerate(data.tolist()):
            if gone[i]:
                continue
            if text not in seen:
                number = parse_number(text)
                if number is None and text.lower() in ("true", "false"):
                    number = float(text.lower() == "true")
                if number is None or spec.date:
                    what = "a date" if spec.date else "a number"
                    raise DataError(
                        f"column {shown(spec.name)}, row {table.row_number(i)}: {shown(text)} is "
                        f"not {what}, and the column held nothing else at fit; correct it, or "
                        "leave it empty to count as missing"
                    )
                seen[text] = number
            values[i] = seen[text]
        gone = gone | np.isnan(values)
    _check_finite(values, gone, spec.name, table)
    values[gone] = 0.0
    return values, gone


def _documents(column: Any) -> list[str]:
    gone = missing_mask(column)
    data = np.ma.getdata(column)
    if data.dtype != object:
        return ["" if lost else number_text(value) for value, lost in zip(data, gone, strict=True)]
    return ["" if lost else str(value) for value, lost in zip(data, gone, strict=True)]


def _with_none(column: Any, gone: Any) -> list[Any]:
    values: list[Any] = np.ma.getdata(column).tolist()
    for i in np.flatnonzero(gone):
        values[i] = None
    return values


def _first_appearance(values: list[Any]) -> Any:
    """Codes 0, 1, 2, ... in the order in which the values first appear."""
    codes: dict[Any, int] = {}
    return np.fromiter(
        (codes.setdefault(value, len(codes)) for value in values),
        dtype=np.int64,
        count=len(values),
    )


def _determines(codes: Any, target: Any, n_levels: int) -> bool:
    label = np.zeros(n_levels, dtype=np.int64)
    label[codes] = target
    return bool((label[codes] == target).all())


def _counted(count: int, one: str, many: str) -> str:
    return "" if count == 0 else f"{count:,} {one if count == 1 else many}"


def _unique(names: list[str]) -> list[str]:
    """The same names, the later of equal ones marked ``#2``, ``#3``."""
    taken = set(names)
    if len(taken) == len(names):
        return names
    seen: set[str] = set()
    made = []
    for name in names:
        own, k = name, 1
        while own in seen or (k > 1 and own in taken):
            k += 1
            own = f"{name} #{k}"
        seen.add(own)
        made.append(own)
    return made


def _csr(matrix: Any) -> Any:
    from scipy import sparse

    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    small = max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max
    if small and (matrix.indices.dtype != np.int32 or matrix.indptr.dtype != np.int32):
        matrix = sparse.csr_matrix(
            (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
            shape=matrix.shape,
        )
    matrix.sort_indices()
    return matrix


def _pack(arrays: dict[str, Any], key: str, strings: Sequence[str]) -> None:
    # Offsets rather than a separator: a level may hold any character, a line end included.
    parts = [text.encode("utf-8", "surrogatepass") for text in strings]
    arrays[key] = np.frombuffer(b"".join(parts), dtype=np.uint8).copy()
    arrays[key + ".ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)


def _unpack(arrays: Mapping[str, Any], key: str) -> list[str]:
    data = np.asarray(arrays[key], dtype=np.uint8).tobytes()
    ends = np.asarray(arrays[key + ".ends"], dtype=np.int64)
    if len(ends) and (ends[-1] != len(data) or (np.diff(ends, prepend=0) < 0).any()):
        raise ModelFileError(f"the stored encoding is damaged: {key} does not add up")
    starts = [0, *ends.tolist()[:-1]]
    return [
        data[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=False)
    ]


def _unpack_each(arrays: Mapping[str, Any], key: str) -> list[list[str]]:
    """The lists of strings that stand one after the other under a key."""
    strings = _unpack(arrays, key)
    counts = np.asarray(arrays[key + ".counts"], dtype=np.int64)
    if (counts < 0).any() or int(counts.sum()) != len(strings):
        raise ModelFileError(f"the stored encoding is damaged: {key} does not add up")
    ends = np.cumsum(counts).tolist()
    return [strings[end - n : end] for end, n in zip(ends, counts.tolist(), strict=True)]
