"""Columns and rows of a matrix, looked at in one way however they are stored.

Everything goes through the matrix a block of rows at a time: nothing here makes a sparse matrix
dense or copies a dense one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.splitmix import mixed
from separatrix._compiled.tuning import Tuned
from separatrix.data.design import Design


@dataclass(frozen=True)
class Tuning:
    """The sizes of the parts in which columns are looked at.

    Parameters
    ----------
    block : int
        Bytes of a float64 row block: small enough for the second-level cache.
    part : int
        Entries of a sparse matrix that are looked at together.
    """

    block: int = 1 << 20
    part: int = 1 << 20


tuned = Tuned(Tuning())

# Values up to 2**400 in size can be squared and summed as they are.
_TAME = 400


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Moments of every column.

    Attributes
    ----------
    low, high, mean, deviation : ndarray of shape (n_features,)
        The deviation is the standard deviation, 0 exactly where a column is constant.
    nonzero : ndarray of int of shape (n_features,)
        Rows where the column is not 0.
    binary : ndarray of bool of shape (n_features,)
        Whether it holds nothing but 0 and 1.
    """

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    nonzero: np.ndarray
    binary: np.ndarray

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest absolute value."""
        out: np.ndarray = np.maximum(np.abs(self.low), np.abs(self.high))
        return out

    @cached_property
    def constant(self) -> np.ndarray:
        """Whether the column has one value."""
        out: np.ndarray = self.low == self.high
        return out


class Columns(ABC):
    """The queries of a diagnosis to a matrix of shape (n_samples, n_features)."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.n, self.d = x.shape

    @cached_property
    def eps(self) -> float:
        """The rounding of the storage."""
        return float(np.finfo(self.x.dtype).eps)

    @cached_property
    @abstractmethod
    def moments(self) -> ColumnMoments:
        """Range, mean and deviation of every column."""

    @cached_property
    @abstractmethod
    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """64 bits for every row and for every column; equal ones have equal bits.

        ``sum_j c_j mix(x_ij)`` modulo 2^64 with odd constants, where ``mix(0) = 0``: the same for
        a dense and a sparse row.
        """

    @abstractmethod
    def equal_rows(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether rows ``a[k]`` and ``b[k]`` are equal, for every k."""

    @abstractmethod
    def equal_columns(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether columns ``a[k]`` and ``b[k]`` are equal, for every k."""

    @abstractmethod
    def each(self, columns: Sequence[int] | np.ndarray) -> Iterator[np.ndarray]:
        """The columns one after the other, in float64."""

    @abstractmethod
    def block(self, rows: np.ndarray | slice, columns: np.ndarray) -> np.ndarray:
        """Return rows of some columns, dense in float64; the caller may overwrite it."""

    @cached_property
    @abstractmethod
    def odd_rows(self) -> np.ndarray:
        """The number of rows in which each column differs from the value of nearly all rows.

        It is right where it is one or two of at least 50 rows, and above two anywhere else.
        """

    @abstractmethod
    def row_sizes(self, rows: np.ndarray) -> np.ndarray:
        """The number of entries that are not 0, in each of some rows."""

    @abstractmethod
    def could_tell(
        self, columns: np.ndarray, codes: np.ndarray, n_classes: int, share: float
    ) -> np.ndarray:
        """Select columns on which one interval a class could be right for a share of the rows.

        The share is that of the rows of every class, in the mean over classes.
        """

    def block_rows(self) -> int:
        """The number of rows of this matrix that make a block."""
        return max(1, tuned.now.block // (8 * max(1, self.d)))

    def _spans(self) -> Iterator[slice]:
        size = self.block_rows()
        for start in range(0, self.n, size):
            yield slice(start, min(start + size, self.n))

    def _constants(self) -> tuple[np.ndarray, np.ndarray]:
        drawn = np.random.default_rng(0).integers(0, 2**63, self.n + self.d, dtype=np.uint64)
        odd = drawn * np.uint64(2) + np.uint64(1)
        return odd[: self.n], odd[self.n :]


def columns_of(design: Design) -> Columns:
    """The columns of a design; entries of a sparse one that name the same place are added up."""
    x = design.matrix
    if not sp.issparse(x):
        return _Dense(np.asarray(x))
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return _Sparse(x)


def _mixed_bits(values: np.ndarray) -> np.ndarray:
    """Scrambled bits of numbers; both zeros give 0."""
    numbers = values.astype(np.float64, copy=False)
    words: np.ndarray = mixed((numbers + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    return words


def _exponents(largest: np.ndarray) -> np.ndarray:
    """Return the power of two that keeps the squares of each column within range."""
    exponents = np.frexp(largest)[1].astype(np.int64)
    exponents[np.abs(exponents) <= _TAME] = 0
    return exponents


class _Dense(Columns):
    @cached_property
    def moments(self) -> ColumnMoments:
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        nonzero = np.zeros(self.d, dtype=np.int64)
        ones = np.zeros(self.d, dtype=np.int64)
        for span in self._spans():
            block = self.x[span]
            np.minimum(low, block.min(axis=0), out=low)
            np.maximum(high, block.max(axis=0), out=high)
            nonzero += np.count_nonzero(block, axis=0)
            ones += np.count_nonzero(block == 1.0, axis=0)
        exponents = _exponents(np.maximum(np.abs(low), np.abs(high)))
        mean = np.zeros(self.d)
        for span in self._spans():
            mean += self._unit(span, exponents).sum(axis=0)
        mean /= self.n
        drift, square = np.zeros(self.d), np.zeros(self.d)
        for span in self._spans():
            centred = self._unit(span, exponents) - mean
            drift += centred.sum(axis=0)
            square += np.einsum("ij,ij->j", centred, centred)
        drift /= self.n  # the rounding of the first sum
        deviation = np.sqrt(np.maximum(square / self.n - drift * drift, 0.0))
        mean += drift
        return _moments(low, high, mean, deviation, exponents, nonzero, ones)

    def _unit(self, span: slice, exponents: np.ndarray) -> np.ndarray:
        block = self.x[span].astype(np.float64, copy=False)
        return np.ldexp(block, -exponents) if exponents.any() else block

    @cached_property
    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        by_row, by_column = self._constants()
        rows = np.empty(self.n, dtype=np.uint64)
        columns = np.zeros(self.d, dtype=np.uint64)
        for span in self._spans():
            words = _mixed_bits(np.ascontiguousarray(self.x[span]))
            rows[span] = words @ by_column
            columns += by_row[span] @ words
        return rows, columns

    def equal_rows(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty(len(a), dtype=bool)
        size = self.block_rows()
        for start in range(0, len(a), size):
            part = slice(start, start + size)
            out[part] = (self.x[a[part]] == self.x[b[part]]).all(axis=1)
        return out

    def equal_columns(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        pairs = zip(a, b, strict=True)
        return np.array([np.array_equal(self.x[:, j], self.x[:, k]) for j, k in pairs], dtype=bool)

    @cached_property
    def odd_rows(self) -> np.ndarray:
        # Two rows at most are odd, so of five the middle value is that of the others.
        usual = np.sort(self.x[:5], axis=0)[min(2, (self.n - 1) // 2)]
        odd = np.zeros(self.d, dtype=np.int64)
        for span in self._spans():
            odd += np.count_nonzero(self.x[span] != usual, axis=0)
        return odd

    def row_sizes(self, rows: np.ndarray) -> np.ndarray:
        return np.count_nonzero(self.x[rows], axis=1)

    def could_tell(
        self, columns: np.ndarray, codes: np.ndarray, n_classes: int, share: float
    ) -> np.ndarray:
        return columns

    def each(self, columns: Sequence[int] | np.ndarray) -> Iterator[np.ndarray]:
        for j in columns:
            yield self.x[:, j].astype(np.float64)

    def block(self, rows: np.ndarray | slice, columns: np.ndarray) -> np.ndarray:
        part = self.x[rows]
        every = len(columns) == self.d
        out: np.ndarray = np.array(part if every else part[:, columns], dtype=np.float64)
        return out


class _Sparse(Columns):
    @cached_property
    def moments(self) -> ColumnMoments:
        x = self.x
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        stored = np.zeros(self.d, dtype=np.int64)
        nonzero, ones = stored.copy(), stored.copy()
        for part in self._entries():
            data, places = x.data[part].astype(np.float64, copy=False), x.indices[part]
            np.minimum.at(low, places, data)
            np.maximum.at(high, places, data)
            stored += self._count(places)
            nonzero += self._count(places[data != 0.0])
            ones += self._count(places[data == 1.0])
        gaps = stored < self.n
        low[gaps], high[gaps] = np.minimum(low[gaps], 0.0), np.maximum(high[gaps], 0.0)
        exponents = _exponents(np.maximum(np.abs(low), np.abs(high)))
        mean = np.zeros(self.d)
        for part in self._entries():
            mean += self._count(x.indices[part], self._unit(part, exponents))
        mean /= self.n
        square = (self.n - stored) * mean * mean
        for part in self._entries():
            centred = self._unit(part, exponents) - mean[x.indices[part]]
            square += self._count(x.indices[part], centred * centred)
        deviation = np.sqrt(square / self.n)
        return _moments(low, high, mean, deviation, exponents, nonzero, ones)

    def _entries(self) -> Iterator[slice]:
        """The stored entries, some at a time."""
        for _, entries in self._parts():
            yield entries

    def _parts(self) -> Iterator[tuple[slice, slice]]:
        """Rows of about a million entries at a time, and where those entries are."""
        ends = self.x.indptr
        start = 0
        while start < self.n:
            stop = int(np.searchsorted(ends, ends[start] + tuned.now.part, side="right")) - 1
            stop = min(max(stop, start + 1), self.n)
            yield slice(start, stop), slice(int(ends[start]), int(ends[stop]))
            start = stop

    def _count(self, places: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(places, weights, minlength=self.d)

    def _unit(self, part: slice, exponents: np.ndarray) -> np.ndarray:
        data = self.x.data[part].astype(np.float64, copy=False)
        return np.ldexp(data, -exponents[self.x.indices[part]]) if exponents.any() else data

    @cached_property
    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        by_row, by_column = self._constants()
        x = self.x
        rows = np.empty(self.n, dtype=np.uint64)
        columns = np.zeros(self.d, dtype=np.uint64)
        for span, part in self._parts():
            ends = x.indptr[span.start : span.stop + 1] - x.indptr[span.start]
            words = sp.csr_array(
                (_mixed_bits(x.data[part]), x.indices[part], ends), shape=(len(ends) - 1, self.d)
            )
            rows[span] = words @ by_column
            columns += words.T @ by_row[span]
        return rows, columns

    def equal_rows(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return _equal_rows(self.x, a, b)

    def equal_columns(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        chosen, place = np.unique(np.r_[a, b], return_inverse=True)
        return _equal_rows(self.x[:, chosen].tocsc().T, place[: len(a)], place[len(a) :])

    @cached_property
    def odd_rows(self) -> np.ndarray:
        return self.moments.nonzero  # the usual value of a sparse column is 0

    def row_sizes(self, rows: np.ndarray) -> np.ndarray:
        return np.array([np.count_nonzero(self.x.data[a:b]) for a, b in
                         zip(self.x.indptr[rows], self.x.indptr[rows + 1], strict=True)],
                        dtype=np.int64)  # fmt: skip

    def could_tell(
        self, columns: np.ndarray, codes: np.ndarray, n_classes: int, share: float
    ) -> np.ndarray:
        # All rows with 0 lie in one interval, so all classes but one lose theirs.
        filled = np.zeros(self.d * n_classes, dtype=np.int64)
        for span, part in self._parts():
            ends = self.x.indptr[span.start : span.stop + 1]
            places = self.x.indices[part].astype(np.int64) * n_classes
            places += np.repeat(codes[span], np.diff(ends))
            places = places[self.x.data[part] != 0.0]
            filled += np.bincount(places, minlength=len(filled))
        per_class = filled.reshape(self.d, n_classes) / np.bincount(codes, minlength=n_classes)
        zeros = 1.0 - per_class
        right = 1.0 - (zeros.sum(axis=1) - zeros.max(axis=1)) / n_classes
        out: np.ndarray = columns[right[columns] >= share]
        return out

    def each(self, columns: Sequence[int] | np.ndarray) -> Iterator[np.ndarray]:
        chosen = self.x[:, list(columns)].tocsc()
        for k in range(len(columns)):
            part = slice(chosen.indptr[k], chosen.indptr[k + 1])
            out = np.zeros(self.n)
            out[chosen.indices[part]] = chosen.data[part]
            yield out

    def block(self, rows: np.ndarray | slice, columns: np.ndarray) -> np.ndarray:
        part = self.x[rows]
        part = part if len(columns) == self.d else part[:, columns]
        out: np.ndarray = part.toarray().astype(np.float64, copy=False)
        return out


def _equal_rows(x: sp.csr_array, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether rows are equal, pair by pair; differences of some pairs at a time are held."""
    out = np.empty(len(a), dtype=bool)
    size = 4096
    for start in range(0, len(a), size):
        part = slice(start, start + size)
        with np.errstate(over="ignore"):
            difference = x[a[part]] - x[b[part]]
        difference.eliminate_zeros()
        out[part] = np.diff(difference.indptr) == 0
    return out


def _moments(
    low: np.ndarray,
    high: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    exponents: np.ndarray,
    nonzero: np.ndarray,
    ones: np.ndarray,
) -> ColumnMoments:
    same = low == high
    return ColumnMoments(
        low=low,
        high=high,
        mean=np.where(same, low, np.ldexp(mean, exponents)),
        deviation=np.where(same, 0.0, np.ldexp(deviation, exponents)),
        nonzero=nonzero,
        binary=(nonzero == ones),
    )
