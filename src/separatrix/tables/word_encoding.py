"""A column of free text: a feature for each word, weighted by TF-IDF.

Words of the usual sort are counted in :mod:`~separatrix.tables.words`, in a third of the time that
scikit-learn's ``CountVectorizer`` takes, and others by it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.exceptions import DataError, ModelFileError
from separatrix.tables.column_encoding import (
    Arrays,
    ColumnOf,
    Encoding,
    Entries,
    Settings,
    Unusable,
    damaged,
)
from separatrix.tables.features import Cell, Words
from separatrix.tables.stored_strings import pack, unpack
from separatrix.tables.table import Remarks, Table, label_text, missing_mask, nearest, quote
from separatrix.tables.words import count_words, inverse_frequency, weighed

# Below this many rows a word that stands in one row only is still kept.
_TINY_TEXT = 100


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_pattern(value: Any) -> bool:
    try:
        return re.compile(value).groups <= 1
    except (re.error, OverflowError, RecursionError, TypeError):
        return False


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value in (None, "english")


def _is_ngram_range(value: Any) -> bool:
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in value)
    return len(value) == 2 and whole and 1 <= value[0] <= value[1]


# The default of every option, and the test that its value in an undamaged file passes.
_WORD_OPTIONS: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "lowercase": (True, _is_flag),
    "strip_accents": (None, lambda value: value in (None, "ascii", "unicode")),
    "stop_words": (None, _are_stop_words),
    "token_pattern": (r"(?u)\b\w\w+\b", _is_pattern),
    "ngram_range": ((1, 1), _is_ngram_range),
    "sublinear_tf": (True, _is_flag),
    "norm": ("l2", lambda value: value in (None, "l1", "l2")),
    "use_idf": (True, _is_flag),
    "smooth_idf": (True, _is_flag),
    "binary": (False, _is_flag),
}
# These act on the choice of words only, not on how a text is turned into numbers later.
_FIT_OPTIONS: dict[str, Any] = {"min_df": None, "max_df": 1.0, "max_features": None}

TEXT_OPTIONS = {name: default for name, (default, _) in _WORD_OPTIONS.items()} | _FIT_OPTIONS
"""The options for text columns and their defaults."""


def checked_text_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """All options for text; DataError for an unknown one."""
    for key in text or {}:
        if key not in TEXT_OPTIONS:
            hint = nearest(str(key), TEXT_OPTIONS, 0.6)
            raise DataError(f"{key!r} is not an option for text ({', '.join(TEXT_OPTIONS)}){hint}")
    options = {**TEXT_OPTIONS, **(text or {})}
    options["ngram_range"] = tuple(options["ngram_range"])
    return options


def require_text_options(options: Mapping[str, Any]) -> None:
    """Raise ModelFileError for options with which no text was ever turned into numbers."""
    good = all(is_good(options[name]) for name, (_, is_good) in _WORD_OPTIONS.items())
    if not good or not set(options) <= set(TEXT_OPTIONS):
        raise damaged("it has no such options for text")


def jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    # Sets, arrays and tuples of words become lists, in an order that does not vary.
    plain = dict(options)
    plain["ngram_range"] = [int(n) for n in plain["ngram_range"]]
    if plain["stop_words"] is not None and not isinstance(plain["stop_words"], str):
        plain["stop_words"] = sorted(str(word) for word in plain["stop_words"])
    return {key: value.item() if isinstance(value, np.generic) else value
            for key, value in plain.items()}  # fmt: skip


def from_json(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "ngram_range": tuple(options["ngram_range"])}


# Blocks are encoded in several threads.
_making = threading.Lock()
_NO_WORDS = "of text without words", "holds text without usable words"
# The options that weight counted words rather than count them.
_WEIGHTING = ("norm", "use_idf", "smooth_idf", "sublinear_tf")


@dataclass
class Text(Encoding):
    """One feature for every word."""

    name: str
    words: list[str]
    idf: Any
    options: dict[str, Any]
    _vectorizer: Any = field(default=None, repr=False)
    # The column that was learned and its rows, for whoever encodes it next.
    _fresh: Any = field(default=None, repr=False)

    kind = "text"
    noun = ("text", "texts")

    @classmethod
    def learn(cls, name: str, column: Any, settings: Settings) -> Text:
        documents = documents_of(column)
        tries = _fewest_rows(settings, len(documents))
        for min_df in tries:
            try:
                words, counts = _counted(documents, {**settings.text, "min_df": min_df})
            except ValueError as error:
                text = str(error)
                if "empty vocabulary" in text or "no terms remain" in text or min_df != tries[-1]:
                    continue
                raise DataError(f"column {quote(name)}: the options for text: {text}") from None
            rows = np.bincount(counts.indices, minlength=len(words))
            made = cls._of_words(name, words, rows, len(documents), settings)
            made._fresh = (column, _weighed(counts, made.idf, settings.text))
            return made
        raise Unusable(*_NO_WORDS)

    @classmethod
    def of_facts(cls, facts: Any, settings: Settings) -> Text:
        """The encoding of a column by the rows that have each word, and its uses in them."""
        rows, n_rows = facts.rows, facts.n_rows
        options = settings.text

        def least(share: Any) -> float:
            return float(share if isinstance(share, (int, np.integer)) else share * n_rows)

        most = least(options["max_df"])
        for low in map(least, _fewest_rows(settings, n_rows)):
            words = sorted(word for word, n in rows.items() if low <= n <= most)
            if options["max_features"] is not None and len(words) > options["max_features"]:
                # Ties are broken as in scikit-learn, by the order of the words.
                order = np.argsort([-facts.uses[word] for word in words])[: options["max_features"]]
                words = [words[k] for k in sorted(order.tolist())]
            if words:
                own = np.array([rows[word] for word in words])
                return cls._of_words(facts.name, words, own, n_rows, settings)
        raise Unusable(*_NO_WORDS)

    @classmethod
    def _of_words(
        cls, name: str, words: list[str], rows: np.ndarray, n_rows: int, settings: Settings
    ) -> Text:
        """The encoding by words, given the number of rows with each."""
        text = settings.text
        idf = np.ones(len(words))
        if text["use_idf"]:
            idf = inverse_frequency(rows, n_rows, smooth=text["smooth_idf"])
        return cls(name, words, idf, {key: text[key] for key in _WORD_OPTIONS})

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}:{word}" for word in self.words]

    def encode(self, table: Table, settings: Settings, notes: Remarks) -> Any:
        """TF-IDF rows; the same code after a fit and after loading, hence the same bits."""
        column = table.columns[self.name]
        lost = int(missing_mask(column).sum())
        if lost:
            notes.add(
                "of text with missing values, read as no words",
                f"column {quote(self.name)}: {lost:,} missing, read as no words",
            )
        if not table.n_rows:  # scikit-learn refuses none at all
            from scipy import sparse

            return sparse.csr_matrix((0, len(self.words)), dtype=np.float64)
        fresh, self._fresh = self._fresh, None
        if fresh is not None and fresh[0] is column:
            return fresh[1]
        if not _is_plain(self.options):
            with _making:
                if self._vectorizer is None:
                    self._vectorizer = self._by_scikit_learn()
            counts = self._vectorizer.transform(documents_of(column))
            counts.sort_indices()
            return _weighed(counts, self.idf, self.options)
        pairs = self.options["ngram_range"] == (1, 2)
        _, counts = count_words(documents_of(column), pairs=pairs, vocabulary=self.words)
        return _weighed(counts, self.idf, self.options)

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Words]:
        weights = tuple(self.idf.tolist())
        return [Words(Cell(self.name, "text"), tuple(self.words), weights, dict(self.options))]

    def _by_scikit_learn(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        vocabulary = {word: i for i, word in enumerate(self.words)}
        counting = {key: own for key, own in self.options.items() if key not in _WEIGHTING}
        vectorizer = CountVectorizer(vocabulary=vocabulary, dtype=np.float64, **counting)
        vectorizer.transform([""])  # which settles its vocabulary
        return vectorizer

    @staticmethod
    def store(encodings: Sequence[Text], arrays: Arrays, settings: Settings) -> Entries:
        for j, one in enumerate(encodings):
            pack(arrays, f"text{j}.words", one.words)
            arrays[f"text{j}.idf"] = np.array(one.idf, dtype=np.float64)
        return [{"name": one.name, "options": jsonable(one.options)} for one in encodings]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Text]:
        loaded = []
        for j, entry in enumerate(entries):
            words = unpack(arrays, f"text{j}.words")
            idf = np.array(arrays[f"text{j}.idf"], dtype=np.float64)
            if idf.shape != (len(words),):
                raise ModelFileError(
                    f"the encoding has {len(words):,} words, but {idf.size:,} weights of words"
                )
            loaded.append(cls(entry["name"], words, idf, from_json(entry["options"])))
        return loaded

    def require_sound(self) -> None:
        require_text_options(self.options)
        if not np.isfinite(self.idf).all() or len(set(self.words)) < len(self.words):
            raise damaged(f"the words of column {quote(self.name)}")


def _fewest_rows(settings: Settings, n_rows: int) -> list[Any]:
    """The least number of rows with a word, and the one used where no word has as many."""
    given = settings.text["min_df"]
    if given is not None:
        return [given]
    return [1] if n_rows < _TINY_TEXT else [2, 1]


def _is_plain(options: Mapping[str, Any]) -> bool:
    """Whether words are what this library counts itself: by the usual rules, alone or in pairs."""
    return all(
        options[key] == default
        for key, (default, _) in _WORD_OPTIONS.items()
        if key not in (*_WEIGHTING, "ngram_range")
    ) and options["ngram_range"] in ((1, 1), (1, 2))


def _counted(documents: list[str], options: Mapping[str, Any]) -> tuple[list[str], Any]:
    """The words of documents and their counts, with sorted indices, as rows are encoded later."""
    least = options["min_df"]
    whole = isinstance(least, int) and least >= 1
    simple = whole and options["max_df"] == 1.0 and options["max_features"] is None
    if simple and _is_plain(options):
        words, counts = count_words(documents, pairs=options["ngram_range"] == (1, 2), least=least)
        if not words:
            raise ValueError("empty vocabulary")
        return words, counts
    from sklearn.feature_extraction.text import CountVectorizer

    counting = {key: own for key, own in options.items() if key not in _WEIGHTING}
    vectorizer = CountVectorizer(**counting, dtype=np.float64)
    counts = vectorizer.fit_transform(documents)
    counts.sort_indices()
    return [str(word) for word in vectorizer.get_feature_names_out()], counts


def all_words(documents: list[str], options: Mapping[str, Any]) -> tuple[list[str], Any]:
    """All words of documents, however rare, and their counts; empty where there are none."""
    try:
        return _counted(documents, {**options, **_FIT_OPTIONS, "min_df": 1})
    except ValueError:
        from scipy import sparse

        return [], sparse.csr_matrix((len(documents), 0))


def _weighed(counts: Any, idf: np.ndarray, options: Mapping[str, Any]) -> Any:
    # Without idf the weights are all 1, which is the same thing.
    return weighed(counts, idf, sublinear=options["sublinear_tf"], norm=options["norm"])


def documents_of(column: Any) -> list[str]:
    gone = missing_mask(column)
    values = np.ma.getdata(column)
    return ["" if lost else label_text(value) for value, lost in zip(values, gone, strict=True)]
