"""A column of texts of which many are the same: the distinct ones, and one number a row.

A million rows of ten words take four bytes a row, and what is computed of every text is computed of
ten.  To NumPy it is a masked array of objects: :func:`numpy.ma.getdata` and
:func:`numpy.ma.getmaskarray` make one of it, so that code which is not in a hurry need not know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

# Texts that are looked for one by one.
_FEW = 20
_FIRST_ROWS = 1 << 15


class Categorical:
    """Texts as the numbers of their levels.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The place of each row's text among the levels; -1 where it is missing.
    levels : ndarray of object of shape (n_levels,)
        The distinct texts.
    """

    dtype = np.dtype(object)
    ndim = 1

    def __init__(self, codes: np.ndarray, levels: np.ndarray) -> None:
        self.codes = codes
        self.levels = levels

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.codes),)

    @property
    def _data(self) -> np.ndarray:
        """The texts; empty where one is missing."""
        return np.append(self.levels, [""]).astype(object)[self.codes]

    @property
    def _mask(self) -> np.ndarray:
        return self.codes < 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._data if dtype is None else self._data.astype(dtype)

    def __getitem__(self, rows: Any) -> Any:
        chosen = self.codes[rows]
        if np.ndim(chosen):
            return Categorical(chosen, self.levels)
        return np.ma.masked if chosen < 0 else self.levels[chosen]

    @cached_property
    def _first_rows(self) -> np.ndarray:
        """Return the first row of each level; the number of rows where no row has it."""
        n = len(self.codes)
        first = np.full(len(self.levels) + 1, n)
        # Most levels are among the first rows, where all of them may be.
        for stop in (min(n, _FIRST_ROWS), n):
            # The last that is written stays; code -1 is the last place.
            first[self.codes[:stop][::-1]] = np.arange(stop - 1, -1, -1)
            if (first[:-1] < n).all():
                break
        return first[:-1]

    def first_row(self, level: int) -> int:
        """The first row that has a level."""
        return int(self._first_rows[level])

    def counts(self) -> dict[str, int]:
        """The number of rows of each text that occurs, in order of first appearance."""
        counts = np.bincount(self.codes + 1, minlength=len(self.levels) + 1)[1:]
        there = np.flatnonzero(counts)
        there = there[np.argsort(self._first_rows[there], kind="stable")]
        return dict(zip(self.levels[there].tolist(), counts[there].tolist(), strict=True))

    def mapped(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """A value for each row, of those for each level and one for missing texts."""
        return np.append(values, [missing]).astype(values.dtype)[self.codes]


def as_read(column: Any, read: Callable[[str], str | None], most: int) -> Any:
    """Texts as they are read: coded where few are distinct, an array of objects otherwise.

    Parameters
    ----------
    column : array of object of shape (n_rows,)
        Texts; masked where one is missing.
    read : callable
        Returns what a text is read as, or None where it stands for a missing value.
    most : int
        Columns of more distinct texts are not coded.

    Returns
    -------
    Categorical or masked array
        The levels of the former are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables.categorical import as_read
    >>> made = as_read(np.array(["b ", "a", "b"], dtype=object), str.strip, 3)
    >>> made.levels.tolist(), made.codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    texts = np.ma.getdata(column).tolist()
    if np.ma.is_masked(column):
        gone = np.ma.getmaskarray(column).tolist()
        texts = [None if lost else text for text, lost in zip(texts, gone, strict=True)]
    found = {text: None if text is None else read(text) for text in dict.fromkeys(texts)}
    levels = sorted({level for level in found.values() if level is not None})
    if len(found) > most:
        own = [found[text] for text in texts]
        lost = np.array([text is None for text in own], dtype=bool)
        return np.ma.MaskedArray(np.array(own, dtype=object), mask=lost)
    place = {level: k for k, level in enumerate(levels)}
    codes = {text: -1 if level is None else place[level] for text, level in found.items()}
    size = np.min_scalar_type(-1 - len(levels))
    return Categorical(
        np.fromiter(map(codes.__getitem__, texts), dtype=size, count=len(texts)),
        np.array(levels, dtype=object),
    )


def first_appearance(column: Any) -> np.ndarray:
    """Numbers 0, 1, 2, ... for the values of a column, in the order in which they first appear.

    Missing values count as one value of their own.

    Parameters
    ----------
    column : Categorical or array of shape (n_rows,)
        Masked where something is missing.

    Returns
    -------
    ndarray of int64 of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables.categorical import first_appearance
    >>> first_appearance(np.array([3.0, 1.0, 3.0])).tolist()
    [0, 1, 0]
    """
    if isinstance(column, Categorical):
        codes = np.where(column.codes < 0, len(column.levels), column.codes).astype(np.int64)
        return _by_first_row(codes, len(column.levels) + 1)
    values, gone = np.ma.getdata(column), np.ma.getmaskarray(column)
    if values.dtype == object:
        listed = [None if lost else value for value, lost in zip(values, gone, strict=True)]
        known = {value: k for k, value in enumerate(dict.fromkeys(listed))}
        return np.fromiter(map(known.__getitem__, listed), dtype=np.int64, count=len(listed))
    distinct, codes = _numbered(values)
    codes[gone] = len(distinct)
    return _by_first_row(codes, len(distinct) + 1)


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values and for each value its number among them."""
    if values.dtype.kind == "U":
        # To look for a few texts takes less than to sort many.
        distinct = np.unique(values)
        if len(distinct) <= _FEW:
            codes = np.zeros(len(values), dtype=np.int64)
            for k, text in enumerate(distinct[1:], start=1):
                codes[values == text] = k
            return distinct, codes
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct, codes.reshape(-1).astype(np.int64)


def _by_first_row(codes: np.ndarray, n_codes: int) -> np.ndarray:
    n = len(codes)
    first = np.full(n_codes, n)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    rank = np.empty(n_codes, dtype=np.int64)
    rank[order] = np.arange(n_codes)
    return rank[codes]
