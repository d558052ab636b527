"""The counts of words in texts, as ``CountVectorizer`` counts them, but compiled.

A word is a run of two or more letters, digits or underscores, in lower case, as scikit-learn's
``token_pattern`` has it by default; pairs are of neighbouring words.  Texts become arrays of code
points, a few of them at a time, and every run is looked up in a table of hashes and compared
letter by letter.  Python's own way, a regular expression and a dictionary, takes ten times as long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix._compiled.pool import ranges, run

# Letters that are looked at together: four bytes each, and the tables of their words.
_LETTERS = 1 << 18
_NONE = np.int32(-1)


@njit(nogil=True, cache=True)
def _hash(codes, start, stop):
    """FNV-1a (Fowler, Noll and Vo), a code point at a time, with its bits mixed at the end."""
    h = np.uint64(14695981039346656037)
    for k in range(start, stop):
        h = (h ^ np.uint64(codes[k])) * np.uint64(1099511628211)
    h ^= h >> np.uint64(32)
    return h


@njit(nogil=True, cache=True)
def _place(slots, hashes, ends, pool, codes, start, stop, h):
    """The slot of a word: where it is, or where it would go."""
    mask = np.uint64(slots.shape[0] - 1)
    at = h & mask
    while True:
        word = slots[at]
        if word < 0:
            return at
        if hashes[word] == h:
            first, last = ends[word], ends[word + 1]
            if last - first == stop - start:
                same = True
                for k in range(stop - start):
                    if pool[first + k] != codes[start + k]:
                        same = False
                        break
                if same:
                    return at
        at = (at + np.uint64(1)) & mask


@njit(nogil=True, cache=True)
def _refill(slots, hashes, count):
    """Put words into slots that are empty."""
    mask = np.uint64(slots.shape[0] - 1)
    for word in range(count):
        at = hashes[word] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = word


@njit(nogil=True, cache=True)
def _read(codes, starts, letter, slots, hashes, ends, pool, count, learn, found, bounds):
    """The words of some texts in their order, by number; -1 for one that is not to be learned.

    Returns the number of words in the table, and the number of words found.
    """
    n_found = 0
    for d in range(starts.shape[0] - 1):
        k, stop = starts[d], starts[d + 1]
        while k < stop:
            if not letter[codes[k]]:
                k += 1
                continue
            first = k
            while k < stop and letter[codes[k]]:
                k += 1
            if k - first < 2:
                continue
            h = _hash(codes, first, k)
            at = _place(slots, hashes, ends, pool, codes, first, k, h)
            word = slots[at]
            if word < 0 and learn:
                word = count
                slots[at] = word
                hashes[word] = h
                last = ends[word]
                for m in range(k - first):
                    pool[last + m] = codes[first + m]
                ends[word + 1] = last + k - first
                count += 1
            found[n_found] = word
            n_found += 1
        bounds[d + 1] = n_found
    return count, n_found


@njit(nogil=True, cache=True)
def _tally(words, bounds, place, columns, counts, indptr, rows):
    """Rows of counts from words in their order; ``rows`` counts the texts with each word."""
    n = 0
    for d in range(bounds.shape[0] - 1):
        first = n
        for k in range(bounds[d], bounds[d + 1]):
            word = words[k]
            if word < 0:
                continue
            at = place[word]
            if at >= first:
                counts[at] += 1.0
            else:
                place[word] = n
                columns[n] = word
                counts[n] = 1.0
                rows[word] += 1
                n += 1
        indptr[d + 1] = n
    return n


class WordTable:
    """Words by number, in the order in which they were met.

    Examples
    --------
    >>> from separatrix.tables.words import WordTable
    >>> table = WordTable()
    >>> found, bounds = table.read(["To be or not to be"])
    >>> found.tolist(), table.words()
    ([0, 1, 2, 3, 0, 1], ['to', 'be', 'or', 'not'])
    """

    def __init__(self) -> None:
        self.count = 0
        # Enough for most tables of texts: to fill others in is a function more to load.
        self._slots = np.full(1 << 19, _NONE)
        self._hashes = np.empty(1 << 9, dtype=np.uint64)
        self._ends = np.zeros((1 << 9) + 1, dtype=np.int64)
        self._pool = np.empty(1 << 12, dtype=np.uint32)

    def read(self, texts: Sequence[str], *, learn: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The words of texts.

        Parameters
        ----------
        texts : sequence of str
        learn : bool
            Whether words that are new are put into the table; otherwise they are -1.

        Returns
        -------
        found : ndarray of int32
            The number of every word, text after text.
        bounds : ndarray of int64 of shape (n_texts + 1,)
            The bounds of the words of each text in `found`.
        """
        parts, bounds = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        done = 0
        for chunk in _chunks(texts):
            found, own = self._read(chunk, learn)
            parts.append(found)
            bounds.append(own[1:] + done)
            done += len(found)
        return np.concatenate(parts), np.concatenate(bounds)

    def _read(self, chunk: list[str], learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """The words of texts in lower case, each ended by what is in no word."""
        lengths = np.fromiter(map(len, chunk), dtype=np.int64, count=len(chunk))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        codes = np.frombuffer("".join(chunk).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        # A word has two letters at least, and one character ends it.
        found = np.empty(len(codes) // 3 + 1, dtype=np.int32)
        bounds = np.zeros(len(chunk) + 1, dtype=np.int64)
        if learn:
            self._grow(len(codes))
        count, n_found = _read(
            codes,
            starts,
            _letters(codes),
            self._slots,
            self._hashes,
            self._ends,
            self._pool,
            self.count,
            learn,
            found,
            bounds,
        )
        if learn:  # Others may be reading at the same time.
            self.count = count
        return found[:n_found].copy(), bounds

    def take(self, other: WordTable) -> np.ndarray:
        """Learn the words of another table, and return the number of each of them here."""
        return self._read(["\n".join(other.words()) + "\n"], True)[0]

    def words(self) -> list[str]:
        """The words by their numbers."""
        text = self._pool[: self._ends[self.count]].tobytes().decode("utf-32-le", "surrogatepass")
        ends = self._ends[: self.count + 1].tolist()
        return [text[start:stop] for start, stop in itertools.pairwise(ends)]

    def _grow(self, letters: int) -> None:
        """Make the arrays long enough for all words that ``letters`` letters can hold."""
        most, size = self.count + letters // 3 + 1, len(self._slots)
        self._hashes = _longer(self._hashes, most)
        self._ends = _longer(self._ends, most + 1)
        self._pool = _longer(self._pool, int(self._ends[self.count]) + letters)
        while size < 2 * most:
            size *= 2
        if size > len(self._slots):
            self._slots = np.full(size, _NONE)
            _refill(self._slots, self._hashes, self.count)


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    if size <= len(array):
        return array
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    """A few texts at a time, in lower case, each ended by what is in no word."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        # Alone, because what is at the end of a text can have another lower case (a final sigma).
        chunk.append(text.lower() + "\n")
        size += len(chunk[-1])
        if size >= _LETTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


_ASCII = np.array([chr(code).isalnum() or chr(code) == "_" for code in range(128)])


def _letters(codes: np.ndarray) -> np.ndarray:
    """A mask of the code points of words, up to the largest of some code points."""
    letter = np.zeros(int(codes.max(initial=127)) + 1, dtype=np.bool_)
    letter[:128] = _ASCII
    # The characters that \\w matches in regular expressions.
    others = np.unique(codes[codes > 127]).tolist()
    letter[[code for code in others if chr(code).isalnum()]] = True
    return letter


def count_words(
    texts: Sequence[str],
    *,
    pairs: bool = False,
    least: int = 1,
    vocabulary: Sequence[str] | None = None,
) -> tuple[list[str], Any]:
    """The number of times that each word is in each text.

    Parameters
    ----------
    texts : sequence of str
    pairs : bool
        Whether to count pairs of neighbouring words, such as ``"not good"``, too.
    least : int
        The least number of texts that a word must be in to be counted.
    vocabulary : sequence of str, optional
        The only words that count, each in a column of its own; by default all that there are, in
        alphabetical order.

    Returns
    -------
    words : list of str
        The words of the columns.
    counts : scipy.sparse.csr_matrix of shape (n_texts, n_words), float64
        The counts, with sorted indices.

    Examples
    --------
    >>> from separatrix.tables.words import count_words
    >>> words, counts = count_words(["good, very good", "not good"], pairs=True)
    >>> words
    ['good', 'good very', 'not', 'not good', 'very', 'very good']
    >>> counts.toarray().astype(int).tolist()
    [[2, 1, 0, 0, 1, 1], [1, 0, 1, 1, 0, 0]]
    """
    from scipy import sparse

    table, found, bounds = _read_all(texts, vocabulary)
    n_single = table.count
    first = second = np.empty(0, dtype=np.int64)
    if pairs:
        found, bounds, first, second = _with_pairs(found, bounds, n_single, vocabulary, table)
    n_words = n_single + len(first)
    columns = np.empty(len(found), dtype=np.int32)
    counts = np.empty(len(found))
    indptr = np.zeros(len(texts) + 1, dtype=np.int64)
    rows = np.zeros(n_words, dtype=np.int64)
    place = np.full(n_words, -1, dtype=np.int64)
    n = _tally(found, bounds, place, columns, counts, indptr, rows)
    columns, counts = columns[:n], counts[:n]
    del found

    single = table.words()
    if vocabulary is not None:
        names = list(vocabulary)
        number = {word: k for k, word in enumerate(names)}
        kept = np.array([number.get(word, -1) for word in single], dtype=np.int64)
        if pairs:
            joined = (f"{single[a]} {single[b]}" for a, b in zip(first, second, strict=True))
            both = np.array([number.get(word, -1) for word in joined], dtype=np.int64)
            kept = np.concatenate([kept, both])
    else:
        common = np.flatnonzero(rows >= least).tolist()
        named = {
            k: single[k]
            if k < n_single
            else f"{single[first[k - n_single]]} {single[second[k - n_single]]}"
            for k in common
        }
        order = sorted(common, key=named.__getitem__)
        names = [named[k] for k in order]
        kept = np.full(n_words, -1, dtype=np.int64)
        kept[order] = np.arange(len(order))
    columns = kept[columns].astype(np.int32)
    there = columns >= 0
    if not there.all():
        indptr = np.concatenate([[0], np.cumsum(there)])[indptr]
        columns, counts = columns[there], counts[there]
    matrix = sparse.csr_matrix((counts, columns, indptr), shape=(len(texts), len(names)))
    matrix.sort_indices()
    return names, matrix


@njit(nogil=True, cache=True)
def _norms(values, indptr, squared, out):
    """The length of every row, by its squares or by its absolute values."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * values[k] if squared else abs(values[k])
        out[i] = np.sqrt(total) if squared else total


def inverse_frequency(rows: np.ndarray, n: int, *, smooth: bool = True) -> np.ndarray:
    """``1 + log(n / df)`` of every word, which df of n texts have; each one more if smooth.

    Parameters
    ----------
    rows : ndarray of shape (n_words,)
        The number of texts with each word.
    n : int
    smooth : bool
        Whether to count one more text that has every word.
    """
    more = int(smooth)
    return np.asarray(np.log((n + more) / (np.asarray(rows, dtype=np.float64) + more)) + 1.0)


def weighed(
    counts: Any, idf: np.ndarray, *, sublinear: bool = True, norm: str | None = "l2"
) -> Any:
    """Counts times how rare each word is, and every row brought to length 1.

    Parameters
    ----------
    counts : scipy.sparse.csr_matrix of shape (n_texts, n_words), float64
        The counts; overwritten.
    idf : ndarray of shape (n_words,)
    sublinear : bool
        Whether ``1 + log(count)`` stands for a count.
    norm : {"l2", "l1"} or None

    Returns
    -------
    scipy.sparse.csr_matrix

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables.words import count_words, weighed
    >>> _, counts = count_words(["ab ab cd", "cd"])
    >>> weighed(counts, np.array([2.0, 1.0]), sublinear=False).toarray().round(3).tolist()
    [[0.97, 0.243], [0.0, 1.0]]
    """
    values = counts.data
    if sublinear:
        np.log(values, values)
        values += 1.0
    values *= idf[counts.indices]
    if norm is not None:
        lengths = np.empty(counts.shape[0])
        _norms(values, counts.indptr, norm == "l2", lengths)
        lengths[lengths == 0.0] = 1.0
        values /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _read_all(
    texts: Sequence[str], vocabulary: Sequence[str] | None
) -> tuple[WordTable, np.ndarray, np.ndarray]:
    """The words of a vocabulary or of texts, and which of them are in each text.

    Each thread reads a share of the texts, and where they learn, their words are put together; the
    order does not matter, since columns are ordered by the words themselves.
    """
    table = WordTable()
    if vocabulary is not None:
        table.read(list(dict.fromkeys(part for word in vocabulary for part in word.split(" "))))
    shares = ranges(len(texts), float(sum(map(len, texts))))
    tables = [
        table if k == 0 or vocabulary is not None else WordTable() for k in range(len(shares))
    ]
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * len(shares)

    def read(k: int) -> None:
        start, stop = shares[k]
        found[k] = tables[k].read(texts[start:stop], learn=vocabulary is None)

    run([partial(read, k) for k in range(len(shares))])
    words, bounds = [found[0][0]], [found[0][1]]
    for other, (own, ends) in zip(tables[1:], found[1:], strict=True):
        words.append(own if other is table else table.take(other).astype(np.int32)[own])
        bounds.append(ends[1:] + bounds[-1][-1])
    return table, np.concatenate(words), np.concatenate(bounds)


def _with_pairs(
    found: np.ndarray,
    bounds: np.ndarray,
    n_single: int,
    vocabulary: Sequence[str] | None,
    table: WordTable,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Words and pairs of neighbours, and the two words of each pair."""
    ahead = np.empty(len(found), dtype=np.int64)
    ahead[:-1] = found[1:]
    # The last of a text has no neighbour.
    ahead[bounds[1:][np.diff(bounds) > 0] - 1] = -1
    keys = np.where((found >= 0) & (ahead >= 0), found.astype(np.int64) * n_single + ahead, -1)
    if vocabulary is None:
        known = np.unique(keys[keys >= 0])
    else:
        number = {word: k for k, word in enumerate(table.words())}
        parts = (word.split(" ") for word in vocabulary if word.count(" ") == 1)
        # A vocabulary from elsewhere may have parts that are no words that could be found.
        pairs = [(a, b) for a, b in parts if a in number and b in number]
        known = np.array(sorted(number[a] * n_single + number[b] for a, b in pairs), dtype=np.int64)
    at = np.searchsorted(known, keys)
    at[at == len(known)] = 0
    real = (keys >= 0) & (known[at] == keys) if len(known) else np.zeros(len(keys), dtype=bool)
    both = np.empty((len(found), 2), dtype=np.int32)
    both[:, 0] = found
    both[:, 1] = np.where(real, at + n_single, -1)
    return both.ravel(), 2 * bounds, known // n_single, known % n_single
