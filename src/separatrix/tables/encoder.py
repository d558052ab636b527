"""Typed columns to a matrix, and back to the same matrix later.

What a column becomes
    ``number``: one feature ``age``, ``(x - mean) / standard deviation`` over the fit rows, or with
    ``standardise=False`` the value itself, bit for bit; with ``reference=True`` a date is in years
    since the middle of the dates. Where values were missing at fit, a second
    feature ``age=(missing)`` is 1 for those rows, and the first is 0 (standardised: the mean).
    Values that can only stand for missing ones (-999, 9999) are missing, as
    :mod:`~separatrix.tables.placeholders` decides at fit; later tables are read the same way.
    ``category``: one feature for every level, ``sex=Male``, in the order of the levels' text;
    ``sex=(missing)`` last, where values were missing at fit. With ``min_frequency``, the levels of
    fewer rows share ``sex=(rare)``. With ``reference=True`` the level of the most rows has no
    feature.
    ``text``: one feature for every word, ``review:great``, TF-IDF: ``(1 + log count) * idf``, each
    row of unit length. A missing text has no words.

Features come numbers first, then curves, categories and text, each in the order of the table, and
interactions last, in the order in which they were given.

Dense or sparse
    The matrix is a row-major array where at least a quarter of its entries are expected to be
    nonzero, and a CSR matrix (int32 indices) otherwise; any text makes it CSR. At a quarter the two
    are about equally fast to go through, and CSR needs a third of the memory. The choice is made at
    fit and kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Joined, Message, plural
from separatrix.tables.category_encoding import Category
from separatrix.tables.cells import column_of
from separatrix.tables.column_alerts import alert_about_columns
from separatrix.tables.column_encoding import Encoding, Settings, Unusable
from separatrix.tables.column_parts import source_of, with_parts
from separatrix.tables.date_parts import (
    part_of,
    repeats_its_date,
    with_date_parts,
    without_parts_of,
)
from separatrix.tables.encoder_state import COLUMN_KINDS, EncoderState
from separatrix.tables.features import Feature
from separatrix.tables.matrices import as_csr, dense_rows, sparse_rows
from separatrix.tables.number_encoding import Number
from separatrix.tables.placeholders import of_column, read_as_missing
from separatrix.tables.products import Product, learned
from separatrix.tables.respelling import Reading, respelled
from separatrix.tables.sparse_encoding import Sparse
from separatrix.tables.statistics import Facts, facts_of
from separatrix.tables.table import (
    Faults,
    Remarks,
    Table,
    joined,
    missing_mask,
    nearest,
    quote,
    unknown_columns,
)
from separatrix.tables.terms import Terms
from separatrix.tables.value_format import ValueFormat
from separatrix.tables.word_encoding import (
    Text,
)

# Entries of a block of rows.
_BLOCK = 1 << 21


class Encoder(EncoderState):
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
        are determined then, and ``references_`` states what they mean. Constant columns are
        left out, and a missing number is the mean, in the units of the column.
    terms : sequence of str, optional
        Functions of columns that take their places, and products of several columns:
        ``"log(amount)"``, ``"spline(age, 4)"`` (a natural cubic spline with that many degrees of
        freedom, 4 by default), ``"polynomial(dose, 2)"``, and products such as ``"age:sex"``. The
        logarithm is that of 1 + x where there are zeros at fit.
    formula : str, optional
        A formula of all features, as in ``"age + spline(bp) + sex:age"``; other columns are left
        out. It is read by formulaic: ``pip install "separatrix[formula]"``. Whether there is an
        intercept is for the estimator: ``fit_intercept=encoder.terms.intercept``.

    Attributes
    ----------
    feature_names_ : list of str
        The names of the columns of the matrix, all distinct.
    summary_ : str
        The numbers of columns by kind, such as ``"6 numbers, 8 categories"``.
    alerts_ : list of str
        Alerts about the fit: a feature that gives the target away, columns left out because
        they are constant or identify the row, columns that repeat others.
    alerted_ : list of tuple
        The alerts of a fit, each ``(sort, columns, sentence)``: the sort of alert in a few words,
        the columns it is about, and the sentence.
    columns_ : list of str or None
        The column of the table that each feature encodes; None for an svmlight file.
    scales_ : ndarray of shape (n_features,)
        The unit of each feature in units of its column: the standard deviation of a number that
        was standardised, and 1 otherwise.
    notes_ : list of str
        Remarks of the last ``transform``: unseen levels, missing values, extra columns.
    left_out_ : list of str
        Columns of the fit table that give no feature; they may be absent later.
    kinds_ : dict of str to str
        The kind of each column in use, to read later files with.
    references_ : dict of str to str
        The level without a feature of every category; empty without ``reference=True``.
    dependent_ : list of str
        Features that :meth:`leave_out` took away.
    spellings_ : dict of str to ValueFormat
        The spellings of columns that hold more than plain numbers and words, to read later files
        with.
    placeholders_ : dict of str to tuple of float
        The values that are read as missing, by column of numbers.
    formula_ : str or None
        The terms, where there are any; ``.`` stands for all other columns.
    origins_ : dict of str to str
        The day from which the years of a date are counted, by column of dates.

    Examples
    --------
    >>> from separatrix.tables import Encoder, Table
    >>> table = Table.from_columns({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "b", None]})
    >>> encoder = Encoder().fit(table)
    >>> encoder.feature_names_
    ['x', 'c=a', 'c=b', 'c=(missing)']
    >>> encoder.transform(table).shape
    (4, 4)
    >>> Encoder(terms=["log(x)", "x:c"]).fit(table).feature_names_
    ['log(x)', 'c=a', 'c=b', 'c=(missing)', 'log(x):c=a', 'log(x):c=b', 'log(x):c=(missing)']
    """

    # ------------------------------------------------------------------------------------- fit

    def fit(self, table: Table, y: Any = None) -> Encoder:
        """Learn the encoding of a table of features.

        Parameters
        ----------
        table : Table
            The table without the target column.
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
        table = with_date_parts(table)
        if not self._settings.exact:
            dates = table.dates.intersection(table.derived.values())
            table = without_parts_of(
                table, {n: read_as_missing(of_column(table, n)) for n in dates}
            )
        matrix = []
        if table.matrix is not None:
            first = 0 if (table.matrix.indices == 0).any() else 1
            matrix = [Sparse(first, int(table.matrix.shape[1]))]
        facts = partial(facts_of, table, exact=self._settings.exact)
        if matrix and self.terms is not None:
            raise DataError(f"{table.source} has no named columns, so there are no terms of them")
        self._learn(table.names, facts, table.source, table.spellings, matrix)
        alert_about_columns(self._encodings, table, y, self.standardise, self._alert)
        self.alerts_ = self._alerts.lines()
        return self

    def fit_statistics(
        self,
        facts: Sequence[Facts],
        *,
        source: str = "the table",
        spellings: Mapping[str, ValueFormat] | None = None,
        left_out: Sequence[str] = (),
    ) -> Encoder:
        """Learn the encoding of a table from the summary statistics of its columns alone.

        Parameters
        ----------
        facts : sequence of NumberFacts, CategoryFacts or TextFacts
            The facts about every column, in the order of the table; see
            :mod:`separatrix.tables.statistics`.
        source : str
            The name of the table in messages.
        spellings : mapping of str to ValueFormat, optional
            The spellings of columns that hold more than plain numbers and words.
        left_out : sequence of str
            Further columns of the table, which are in no term.

        Returns
        -------
        Encoder
            Itself: with the features that ``fit`` gives it, but without alerts of columns that
            repeat each other or give the target away.

        Raises
        ------
        DataError
            If no column can be used.

        Examples
        --------
        >>> from separatrix.tables import Encoder
        >>> from separatrix.tables.statistics import CategoryFacts, NumberFacts
        >>> facts = [CategoryFacts("c", 4, 1, {"a": 1, "b": 2}), NumberFacts("x", 4, 0, 2.5, 1.25)]
        >>> Encoder().fit_statistics(facts).feature_names_
        ['x', 'c=a', 'c=b', 'c=(missing)']
        """
        known = {one.name: one for one in facts}
        self._learn([*known], known.__getitem__, source, spellings or {}, left_out=left_out)
        return self

    def _learn(
        self,
        names: Sequence[str],
        facts_of: Callable[[str], Facts],
        source: str,
        spellings: Mapping[str, ValueFormat],
        matrix: Sequence[Sparse] = (),
        left_out: Sequence[str] = (),
    ) -> None:
        """Learn the encodings of columns, and which of them give none."""
        self._forget()
        self._sparse, self.left_out_ = [*matrix], [*left_out]
        self._parts_left_out = set()
        encodings: list[Encoding] = []
        faults, terms = Faults(), self.terms or Terms()
        terms.require_columns(names, source)
        # The number of missing cells of each date that has a feature for them.
        missing_dates: dict[str, int] = {}
        for name in names:
            if name in spellings and spellings[name].parts:
                continue  # its parts have features
            with faults.gathered():
                chosen = terms.of(name)
                if not chosen:
                    # A column in products alone is not left out, and may not be absent later.
                    self.left_out_ += [name] if name not in terms.columns else []
                    continue
                facts = facts_of(name)
                date = part_of(name) if facts.derived else None
                if date is not None and missing_dates.get(date[0]) == facts.n_missing:
                    # The date's own feature for missing cells covers its parts, too.
                    facts = replace(facts, n_missing=0)
                if (
                    facts.derived
                    and not facts.overridden
                    and terms.every
                    and repeats_its_date(name)
                ):
                    self.left_out_.append(name)
                    self._parts_left_out.add(name)
                    continue
                try:
                    for factor in chosen:
                        own = learned(factor, facts, self._settings, self._alert)
                        encodings.append(own)
                        if isinstance(own, Number) and own.date and own.with_missing:
                            missing_dates[name] = facts.n_missing
                except Unusable as fault:
                    self.left_out_.append(name)
                    # A derived part that never varies needs no alert, as nobody wrote it.
                    if facts.derived:
                        self._parts_left_out.add(name)
                    else:
                        sentence = f"column {quote(name)} {fault.why}; it is left out"
                        self._alert(f"{fault.sort}, left out", sentence, name)
        faults.settle()
        self._encodings = [
            one for kind in COLUMN_KINDS.values() for one in encodings if type(one) is kind
        ]
        self._products = [
            Product.of_term(terms, product, facts_of, self._settings, self._alert)
            for product in terms.interactions
        ]
        self._require_some(source)
        used = {one.name for one in self.column_encodings}
        used |= {source_of(name, spellings) for name in used}
        self.spellings_ = {n: one for n, one in spellings.items() if n in used}
        self._conclude()
        self.alerts_ = self._alerts.lines()

    def _require_some(self, source: str) -> None:
        if not any(one.n_features for one in self.encodings):
            self.alerts_ = self._alerts.lines()
            why = Joined(tuple(self.alerts_), before=": ", separator="; ") if self.alerts_ else ""
            raise DataError(Message("no_usable_column", source=source, why=why))

    def _conclude(self) -> None:
        self._dense = self._is_dense()
        self.summary_ = self._summarise()
        self._settle()

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
                raise DataError(f"there is no feature {quote(name)} in the encoding")
        if len(set(features)) == self.n_features_:
            raise DataError("without these features the encoding would have none")
        self.dependent_ = [*self.dependent_, *dict.fromkeys(features)]
        self._settle()
        return self

    def fit_transform(self, table: Table, y: Any = None) -> Any:
        """``fit(table, y)``, then ``transform(table)``."""
        return self.fit(table, y).transform(table)

    def add_alert(self, sort: str, sentence: str, *columns: str) -> None:
        """Add an alert about columns that was found after the fit.

        Parameters
        ----------
        sort : str
            The sort of alert in a few words, as in ``alerted_``.
        sentence : str
        *columns : str
        """
        self._alert(sort, sentence, *columns)
        self.alerts_ = self._alerts.lines()

    def _alert(self, sort: str, sentence: str, *columns: str) -> None:
        # A column that is in several terms is looked at for each of them.
        if (sort, columns, sentence) not in self.alerted_:
            self._alerts.add(sort, sentence)
            self.alerted_.append((sort, columns, sentence))

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
        return self._transformed(table)[0](slice(0, table.n_rows))

    def blocks(self, table: Table) -> Iterator[tuple[slice, Any]]:
        """The rows of :meth:`transform`, in blocks that stay in the caches.

        Parameters
        ----------
        table : Table

        Yields
        ------
        rows : slice
            The rows of the table that the next matrix holds; there is at least one block.
        matrix : ndarray or scipy.sparse.csr_matrix of shape (n, n_features), float64

        Raises
        ------
        DataError
            As :meth:`transform` does, before the first block.

        Examples
        --------
        >>> from separatrix.tables import Encoder, Table
        >>> table = Table.from_columns({"x": [1.0, 2.0, 4.0]})
        >>> [(rows.stop, X.shape) for rows, X in Encoder().fit(table).blocks(table)]
        [(3, (3, 1))]
        """
        matrix, size = self._transformed(table)
        # No block is so small that designs would multiply it differently from all rows at once.
        bounds = np.linspace(0, table.n_rows, max(1, size // _BLOCK) + 1).astype(int).tolist()
        for rows in itertools.starmap(slice, itertools.pairwise(bounds)):
            yield rows, matrix(rows)

    def _transformed(self, table: Table) -> tuple[Callable[[slice], Any], int]:
        """A function that makes the matrix of some rows, and about how many entries all have."""
        self._require_fitted()
        self.notes_ = []
        notes = Remarks()
        table = self._taken_apart(self._respelled(table))
        self._check_columns(table, notes)
        encoded = self._encoded(table, notes, np.float64)
        self.notes_ = notes.lines()
        return encoded

    def encode_block(self, table: Table, dtype: Any = np.float64) -> Any:
        """Encode some rows of the data of the fit, whose columns are read as they were there.

        Parameters
        ----------
        table : Table
        dtype : dtype
            The type of the matrix: float64 or float32.

        Returns
        -------
        ndarray or scipy.sparse.csr_matrix of shape (n_rows, n_features)
        """
        matrix, _ = self._encoded(self._taken_apart(table), Remarks(), dtype)
        return matrix(slice(0, table.n_rows))

    def _taken_apart(self, table: Table) -> Table:
        """The table with the parts of its dates, and of its columns with several values."""
        table = with_date_parts(with_parts(table, self.spellings_), self.kinds_)
        return without_parts_of(table, self.placeholders_)

    def value_text(self, feature: int, value: float) -> str:
        """A value of a feature in the units of its column, as a text; a day of a date.

        Parameters
        ----------
        feature : int
            Its place among ``feature_names_``.
        value : float
            As the matrix has it.

        Examples
        --------
        >>> from separatrix.tables import Encoder, Table
        >>> encoder = Encoder()
        >>> X = encoder.fit_transform(Table.from_columns({"cm": [150.0, 170.0, 190.0]}))
        >>> encoder.value_text(0, X[2, 0])
        '190'
        """
        place = self._kept[feature]
        for one in self.encodings:
            if place < one.n_features:
                return one.value_text(place, value, self._settings)
            place -= one.n_features
        raise IndexError(f"there is no feature {feature}")

    def missing_cells(self, table: Table, name: str) -> np.ndarray:
        """A boolean array: the cells of a column that count as missing, placeholders included."""
        column = table.columns[name]
        gone = missing_mask(column)
        values = self.placeholders_.get(name)
        return gone if values is None else gone | np.isin(np.ma.getdata(column), values)

    def missing_marks(self, name: str) -> frozenset[str]:
        """The usual marks for missing values that are not levels of a column of levels."""
        for one in self.column_encodings:
            if isinstance(one, Category) and one.name == name:
                return frozenset(one.match.missing_marks())
        return frozenset()

    def n_missing(self, table: Table) -> int:
        """The number of cells of a table that count as missing, placeholders included."""
        count = table.n_missing
        for name in self.placeholders_:
            if name in table.columns:
                unread = missing_mask(table.columns[name])
                count += int((self.missing_cells(table, name) & ~unread).sum())
        return count

    def _respelled(self, table: Table) -> Table:
        """The table with its strings read as those of the fit were."""
        for name, spelling in self.spellings_.items():
            other = table.spellings.get(name, spelling)
            # With other marks or words a text may be another number, or not a level.
            apart = spelling.parts and other.parts  # both leave the texts as they are
            if not apart and other != spelling and replace(other, words=spelling.words) != spelling:
                raise DataError(
                    f"column {quote(name)} was read with another spelling than in the fit ({other} "
                    f"instead of {spelling}); read the table with spellings=encoder.spellings_"
                )
        return respelled(table, {}, Reading(spellings=self.spellings_, only_known=True))

    def _encoded(
        self, table: Table, notes: Remarks, dtype: Any
    ) -> tuple[Callable[[slice], Any], int]:
        """A function that makes the matrix of some rows, and about how many entries all have.

        All cells have been looked at before.
        """
        arguments = (table, self._settings, notes)
        # Values of each feature of a number, and places of those of a category; -1 where none is 1.
        features, faults = [], Faults()
        for number in self._numeric:
            with faults.gathered():
                features += number.encode(*arguments)
        faults.settle()
        width, places = len(features), []
        for category in self._of(Category):
            places.append(category.encode(*arguments, start=width))
            width += category.n_features
        others = []
        if not self._dense:
            others += [one.encode(*arguments) for one in (*self._of(Text), *self._sparse)]
        others += self._multiply(*arguments)

        def matrix(rows: slice) -> Any:
            beside = [one[rows].astype(dtype, copy=False) for one in others]
            if self._dense:
                found = dense_rows(features, places, rows, width, dtype)
                if beside:
                    found = np.hstack([found, *(one.toarray() for one in beside)])
            else:
                from scipy import sparse

                own = [sparse_rows(features, places, rows, width, dtype)] if width else []
                every = [*own, *beside]
                found = every[0] if len(every) == 1 else sparse.hstack(every, format="csr")
            if self.n_features_ < self._width:
                found = found[:, self._kept]
            return np.ascontiguousarray(found) if self._dense else as_csr(found)

        a_row = width if self._dense else len(features) + len(places)
        return matrix, table.n_rows * a_row + sum(one.nnz for one in others)

    def _multiply(self, table: Table, settings: Settings, notes: Remarks) -> list[Any]:
        """The features of products, as CSR matrices."""
        noted = {one.name for one in self._encodings}
        return [one.encode(table, settings, notes, noted) for one in self._products]

    def _check_columns(self, table: Table, notes: Remarks) -> None:
        if self._sparse and table.matrix is None:
            raise DataError(
                f"{table.source} has named columns, but the encoding was fitted to an svmlight file"
            )
        if not self._sparse and table.matrix is not None:
            raise DataError(
                f"{table.source} is an svmlight file, but the encoding was fitted to named columns"
            )
        sources = {name: source_of(name, self.spellings_) for name in self.kinds_}
        apart = {name for name, one in self.spellings_.items() if one.parts}
        known = {*self.kinds_, *self.left_out_, *apart}
        # The parts of a column come with it; where a column is no date, its own name is reported.
        lacking = [
            name
            for name in dict.fromkeys(
                source if source in apart else own for own, source in sources.items()
            )
            if name is not None
            and name not in table.columns
            and sources.get(name) not in self.kinds_
        ]
        if lacking:
            # Only a column that nothing else claims can be this one under another name.
            free = [name for name in table.names if name not in known]
            hint = nearest(lacking[0], free, 0.7) if len(lacking) == 1 else ""
            raise DataError(
                f"{table.source} lacks the {plural('column', len(lacking))} {joined(lacking)}, "
                f"which the encoding needs; it has {joined(table.names)}{hint}"
            )
        extra = [name for name in table.names if name not in known]
        if extra:
            notes.add("", unknown_columns(extra))

    # -------------------------------------------------------------------------------- features

    def features(self, *, parsed: bool = False) -> tuple[list[Feature], tuple[str, ...]]:
        """The features that ``transform`` computes from the cells of a row, for other languages.

        Parameters
        ----------
        parsed : bool, default=False
            Whether the language reads numbers from texts as the fit did, where regular expressions
            state how; otherwise such columns are to be given as numbers.

        Returns
        -------
        features : list of Number or Words
            The features in the order of the matrix; words take several of its columns.
        remarks : tuple of str
            Sentences on how to give the cells that the fit read from texts.

        Raises
        ------
        DataError
            If words were left out of a text: the others depend on how many there are.

        Examples
        --------
        >>> from separatrix.tables import Encoder, Table
        >>> encoder = Encoder().fit(Table.from_columns({"x": [1.0, 3.0], "c": ["a", "b"]}))
        >>> features, remarks = encoder.features()
        >>> features[0].condition, features[1].condition.levels
        (IsMissing(cell=Cell(column='x', kind='number'), placeholders=()), ('a',))
        """
        self._require_fitted()
        kinds_of = {one.name: one.kind for one in self.column_encodings}
        # A date that has no feature of its own is among what was left out.
        dates = dict.fromkeys(self.left_out_, False) | {
            one.name: True for one in self.column_encodings if isinstance(one, Number) and one.date
        }
        columns = {
            name: column_of(name, kind, dates=dates, encoder=self, parsed=parsed)
            for name, kind in kinds_of.items()
        }
        every = [
            feature
            for one in self.encodings
            for feature in one.features(lambda name: columns[name][0], self._settings)
        ]
        own, place, kept = [], 0, set(self._kept)
        for feature in every:
            stop = place + feature.n_columns
            n_kept = len(kept.intersection(range(place, stop)))
            if 0 < n_kept < stop - place:
                raise DataError(
                    "some words of a text were left out, and its other features depend on all of "
                    "them; fit the encoding without leaving words out"
                )
            own += [feature] if n_kept else []
            place = stop
        return own, tuple(
            dict.fromkeys(text for _, remarks in columns.values() for text in remarks)
        )

    def __repr__(self) -> str:
        if not self._fitted:
            return "Encoder(not fitted)"
        return f"Encoder({self.summary_} -> {self.n_features_:,} features)"
