"""Design matrices: one face for every way of storing the rows.

A design gives products with the matrix and its transpose, weighted Gram matrices and row
access, always in float64 arithmetic, whatever the storage.  Products do not copy the data:
storage that BLAS cannot take as it is (float32, odd strides) is converted a block of rows at
a time, in a buffer that fits the cache.  Only what visits single rows of a matrix whose rows do
not lie in one piece (a data frame's lie column by column) has them from a copy by rows, of the same
type, which is made once.

A solver that is written against products runs on any design; one that needs rows reads
``design.rows`` and documents it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import blas, narrow_products, pool, pulse, row_access
from separatrix._compiled.compilation import njit

# The number of entries up to which the work around a product takes longer than the product.
_FEW = 20_000
# Up to this many columns each part of the rows has a Gram matrix of its own; with more there is
# one, in so many runs of columns.
_SMALL = 1000
# Rows of a sparse Gram matrix between two looks at a limit.
_BEAT = 4096
# Rows at a time that are copied from columns: whole lines of the cache of each column.
_COPIED = 64
# The number of entries from which on products with a few columns are worth kernels of their own.
_LARGE = 20_000
# Rows that are compared with one another to estimate how collinear the columns are.
_COMPARED = 64


@dataclass(frozen=True)
class Tuning:
    """The sizes that each way to make a product is for.

    Parameters
    ----------
    block_bytes : int
        The bytes of a block of rows as float64: few enough for the second-level cache.
    own_products : int
        The number of entries from which on products with one vector are made here: their rows come
        from memory, as fast as that gives them to all threads, float32 without a copy.
    """

    block_bytes: int = 1 << 20
    own_products: int = 1_000_000


_TUNING = Tuning()

# Arrays, and the functions that read and add blocks of their rows.
Pieces = tuple[tuple[np.ndarray, ...], Callable[..., Any], Callable[..., Any]]
# Rows, two kernels, and a multiple of which the number of columns of their matrices is.
Products = tuple[Any, Callable[..., Any], Callable[..., Any], int]


class Design(ABC):
    """The face of a design matrix of shape (n_samples, n_features).

    Attributes
    ----------
    shape : tuple of int
    rows : tuple of ndarray
        The raw arrays, read-only, that kernels take, with the numbers of a row side by side.
    row_dot, row_add, row_length, row_entry, row_prefetch : compiled functions
        The functions by which a kernel reads a row of ``rows``, and announces the next one.
    pieces : tuple
        The arrays, ``block_dot`` and ``block_add`` with which a pass over all rows reads blocks
        of them as they lie; None where they lie in no order that has such functions.
    block_dot, block_add : compiled functions
        Products with a few rows that lie side by side.
    by_rows : bool
        Whether the numbers of a row lie side by side, as kernels want them.
    matrix : ndarray or CSR matrix
        The matrix that the design was made of, as it lies.
    tuning : Tuning
        Sizes that decide about speed.
    """

    _squares: np.ndarray | None = None
    _repeats: bool = False
    tuning: Tuning = _TUNING
    shape: tuple[int, int]
    rows: tuple[np.ndarray, ...]
    row_dot: Callable[..., Any]
    row_prefetch: Callable[..., Any]
    row_add: Callable[..., Any]
    row_length: Callable[..., Any]
    row_entry: Callable[..., Any]
    block_dot: Callable[..., Any]
    block_add: Callable[..., Any]
    _x: Any

    @property
    def matrix(self) -> Any:
        return self._x

    @property
    def by_rows(self) -> bool:
        return True

    @property
    def pieces(self) -> Pieces | None:
        # A design from elsewhere may lack them.
        if not (self.by_rows and hasattr(self, "block_dot")):
            return None
        return self.rows, self.block_dot, self.block_add

    @property
    def products(self) -> Products | None:
        """Rows as kernels read them, and the functions that add ``X W`` and ``X' A`` of some."""
        return None

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    @abstractmethod
    def n_stored(self) -> int:
        """Stored entries: the multiplications in one product."""

    @abstractmethod
    def dot(self, w: np.ndarray) -> np.ndarray:
        """``X w`` for ``w`` of shape (n_features,) or (n_features, K)."""

    def scores(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        """``X W' + b``, of shape (n_samples, K), and the sum of all: finite only if all are."""
        scores = self.dot(coef.T)
        scores += intercept
        return scores, float(np.add.reduce(scores, axis=None))

    @abstractmethod
    def absolute_dot(self, t: np.ndarray) -> np.ndarray:
        """``sum_j |x_ij t_j|``: the scale of the rounding in :meth:`dot`, for ``t`` 1-D."""

    @abstractmethod
    def absolute_t_dot(self, a: np.ndarray) -> np.ndarray:
        """``sum_i |x_ij a_i|``: the scale of the rounding in :meth:`t_dot`, for ``a`` 1-D."""

    @abstractmethod
    def t_dot(self, a: np.ndarray) -> np.ndarray:
        """``X' a`` for ``a`` of shape (n_samples,) or (n_samples, K)."""

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``X' diag(weights) X`` for weights >= 0; shape (n_features, n_features)."""

    def rough_gram(self, weights: np.ndarray) -> np.ndarray:
        """As :meth:`gram`, rounded to single precision where that takes half the time."""
        return self.gram(weights)

    @property
    def has_rough_gram(self) -> bool:
        """Whether :meth:`rough_gram` is faster than :meth:`gram`, and less exact."""
        return False

    @property
    @abstractmethod
    def gram_cost(self) -> float:
        """Multiplications that :meth:`gram` takes."""

    @abstractmethod
    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """``sum_i weights_i x_ij^2`` for each column j; weights 1-D, or (n_samples, K)."""

    @abstractmethod
    def row_squares(self) -> np.ndarray:
        """Squared norm of every row."""

    def merged(self) -> Design:
        """The design with every entry in one part; a sparse matrix may have some in several."""
        return self

    def known_finite(self) -> bool:
        """Whether norms of the rows, which every fit of many rows needs, show all to be finite.

        False where they overflow, and for few rows, which are looked at faster than this.
        """
        if self.n_stored < self.tuning.own_products:
            return False
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return bool(np.isfinite(self.row_squares().sum()))

    def bounded(self, weights: np.ndarray | None) -> Design:
        """The design with zeros for the rows without weight whose squares overflow.

        They are as good as absent, and a product of zero and infinity is not zero.  It is the
        design itself where there is none.
        """
        if weights is None or weights.all():
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.flatnonzero((weights == 0.0) & np.isinf(self.row_squares()))
        sparse = sp.issparse(self.matrix)
        some = self.matrix[lost].data if sparse else self.matrix[lost]
        # Infinity is refused elsewhere.
        if not len(lost) or not np.isfinite(some).all():
            return self
        matrix = self.matrix.copy()
        if sparse:
            for i in lost.tolist():
                matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]] = 0.0
        else:
            matrix[lost] = 0.0
        return as_design(matrix, self.tuning)

    @abstractmethod
    def take(self, index: np.ndarray) -> Design:
        """The design of the given rows: a copy of those rows alone."""

    def columns(self, index: np.ndarray) -> Design:
        """The design of the given columns: a copy of those alone; itself, if they are all."""
        raise TypeError(f"A {type(self).__name__} does not give its columns.")

    @property
    def column_counts(self) -> np.ndarray:
        """Stored entries of every column."""
        return np.full(self.n_features, self.n_samples)

    @property
    def turned(self) -> Design:
        """The design whose rows are the columns: a copy that is kept, every entry in one part."""
        raise TypeError(f"A {type(self).__name__} does not give its columns.")

    @functools.cached_property
    def collinearity(self) -> float:
        """An estimate of how unequal the eigenvalues of ``X'X`` are: ``d sum l^2 / (sum l)^2``.

        It is 1 where columns are independent and of the same length, and ``d`` where one of them
        is all that there is.  The products of a few rows with one another estimate it.
        """
        n, d = self.shape
        part = self.take(np.unique(np.linspace(0, n - 1, _COMPARED).astype(np.intp)))
        with np.errstate(over="ignore", invalid="ignore"):
            products, count = part._row_products(), part.n_samples
            length = float(np.trace(products)) / count
            if length == 0.0:
                return 1.0
            # In units of the mean length, whose square may be out of range.
            squares = np.square(products / length)
        ratio = d * float(squares.sum() - np.trace(squares)) / max(count * (count - 1), 1)
        return float(np.clip(ratio, 1.0, d)) if np.isfinite(ratio) else float(d)

    def _row_products(self) -> np.ndarray:
        """The products of all rows with one another, where there are few rows."""
        return self.dot(self.t_dot(np.eye(self.n_samples)))

    @abstractmethod
    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        owned: bool = False,
        size: int | None = None,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows from ``start`` to ``stop``, a dense float64 block of them at a time.

        A block is valid until the next one is requested.

        Parameters
        ----------
        start, stop : int, optional
            All rows by default.
        owned : bool, default=False
            Whether blocks are C-contiguous and may be overwritten by the caller; otherwise a block
            may be a view of the data, of any strides.
        size : int, optional
            Rows in a block; by default as many as a core's cache holds.

        Yields
        ------
        rows : slice
            The rows of the design that the block has.
        block : ndarray of float64, shape (n_rows, n_features)
        """

    def _ranges(self, width: int = 1) -> list[tuple[int, int]]:
        """The rows of each thread, for a product with a matrix of ``width`` columns."""
        return pool.ranges(self.n_samples, float(self.n_stored) * width)

    def _reduce(
        self,
        kernel: Any,
        argument: np.ndarray,
        shape: tuple[int, ...],
        work: float | None = None,
    ) -> np.ndarray:
        """Sum over the rows, a buffer a thread, added up in a fixed order."""
        self._require(argument, 0)
        argument = np.ascontiguousarray(argument, dtype=np.float64)
        width = argument.shape[1] if argument.ndim > 1 else 1
        work = float(self.n_stored) * width if work is None else work
        # The parts' sums are to cost less than the parts.
        ranges = pool.ranges(self.n_samples, work, 0.25 * work / max(int(np.prod(shape)), 1))
        add = partial(kernel, *self.rows, argument)
        (out,) = pool.run_and_add(add, ranges, lambda: (np.zeros(shape),))
        return out

    def _require(self, factor: np.ndarray, axis: int) -> None:
        """Raise ValueError unless there is a number for every row (axis 0) or column (axis 1).

        Compiled loops follow the shape of the data, and would read beyond the end of a factor that
        is too short.
        """
        if factor.ndim < 1 or factor.shape[0] != self.shape[axis]:
            what = ("rows", "columns")[axis]
            found = f"{factor.shape[0]:,}" if factor.ndim else "no"
            raise ValueError(
                f"The matrix has {self.shape[axis]:,} {what}, and the vector that multiplies them "
                f"has {found} entries: these data do not belong to the fit."
            )

    def _slices(self, start: int, stop: int | None, size: int | None) -> list[slice]:
        stop = self.n_samples if stop is None else min(stop, self.n_samples)
        size = size or max(1, self.tuning.block_bytes // (8 * max(1, self.n_features)))
        return [slice(a, min(a + size, stop)) for a in range(start, stop, size)]


def _is_all(index: np.ndarray, n: int) -> bool:
    """Whether an index without repetitions names everything in order."""
    return len(index) == n and bool(np.all(index == np.arange(n)))


def _blasable(x: np.ndarray) -> bool:
    # What numpy hands to BLAS without a copy: unit stride along one axis.
    if x.dtype != np.float64 or not x.flags.aligned:
        return False
    item = x.itemsize
    rows, columns = x.strides
    return (columns == item and rows >= item * x.shape[1]) or (
        rows == item and columns >= item * x.shape[0]
    )


class DenseDesign(Design):
    """A matrix held as a two-dimensional array of float32 or float64, of any strides."""

    row_dot = staticmethod(row_access.dense_dot)
    row_prefetch = staticmethod(row_access.dense_prefetch)
    row_add = staticmethod(row_access.dense_add)
    block_dot = staticmethod(row_access.dense_block_dot)
    block_add = staticmethod(row_access.dense_block_add)
    row_length = staticmethod(row_access.dense_length)
    row_entry = staticmethod(row_access.dense_entry)

    def __init__(self, x: np.ndarray, tuning: Tuning = _TUNING) -> None:
        self._x, self.tuning = row_access.read_only(x), tuning
        self._direct = _blasable(self._x)
        self._converted: np.ndarray | None = None
        self.shape = (x.shape[0], x.shape[1])

    @functools.cached_property
    def rows(self) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        side_by_side = self._x.strides[1] == self._x.itemsize
        if self.by_rows or (side_by_side and self.n_stored > _FEW):
            return (self._x,)
        # Few entries in any other order are copied, too: to compile a loop for it takes seconds.
        out = np.empty(self.shape, dtype=self._x.dtype)

        def copy(start: int, stop: int) -> None:
            for part in self._slices(start, stop, _COPIED):
                self._copy(part, out[part])

        pool.run([partial(copy, *r) for r in self._ranges()])
        return (row_access.read_only(out),)

    @property
    def by_rows(self) -> bool:
        return bool(self._x.flags.c_contiguous and self._x.flags.aligned)

    @property
    def _by_columns(self) -> bool:
        """Whether the columns lie in one piece each, and are many enough to be read as such."""
        flags = self._x.flags
        return bool(flags.f_contiguous and flags.aligned and not flags.c_contiguous)

    @property
    def pieces(self) -> Pieces | None:
        if self._by_columns:
            turned = (self._x.T,)
            return turned, row_access.turned_block_dot, row_access.turned_block_add
        return super().pieces

    @property
    def products(self) -> Products | None:
        if not (narrow_products.KNOWN and self.by_rows):
            return None
        kernels = narrow_products.add_dot, narrow_products.add_t_dot
        return self.rows[0], *kernels, narrow_products.LANES

    @property
    def _nearest(self) -> np.ndarray:
        """The matrix, from the copy by rows where there is one: blocks of rows lie in one piece.

        It is for code that copies entry by entry, so that no bit depends on whether there is a
        copy.
        """
        copied: tuple[np.ndarray, ...] = self.__dict__.get("rows", (self._x,))
        return copied[0]

    @property
    def n_stored(self) -> int:
        return self.shape[0] * self.shape[1]

    def _whole(self) -> np.ndarray | None:
        """The matrix as BLAS takes it: as it lies, or converted where that is little."""
        if self._direct:
            return self._x
        if self.n_stored > _FEW:
            return None
        if self._converted is None:
            self._converted = self._x.astype(np.float64, order="C")
        return self._converted

    def dot(self, w: np.ndarray) -> np.ndarray:
        self._require(w, 1)
        if self.n_stored <= _FEW:
            # Column by column, as below.
            few: np.ndarray = np.matmul(w.T, self._whole().T).T  # type: ignore[union-attr]
            return few
        if self._narrow(w):
            return narrow_products.dot(self._x, w)
        if w.ndim == 2 and w.shape[1] == 1:
            return self.dot(w[:, 0])[:, None]
        if w.ndim == 1 and self.n_stored >= self.tuning.own_products and self.by_rows:
            return self._scores(w, 0.0)[0]
        if self._direct:
            # Column by column: sums over K scores of a row then run along whole columns, several
            # times as fast as along short rows.
            return np.matmul(w.T, self._x.T).T
        out = np.empty((self.n_samples, *w.shape[1:]), order="F")

        def by_blocks(start: int, stop: int) -> None:
            for part, block in self.blocks(start, stop):
                np.matmul(w.T, block.T, out=out.T[..., part])

        # The time goes into converting the rows, which BLAS leaves to one thread.
        with pool.one_blas_thread():
            pool.run([partial(by_blocks, *r) for r in self._ranges()])
        return out

    def scores(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        if len(coef) > 1 or self.n_stored < self.tuning.own_products or not self.by_rows:
            return super().scores(coef, intercept)
        self._require(coef.T, 1)
        scores, total = self._scores(coef[0], float(np.ravel(intercept)[0]))
        return scores[:, None], total

    def _scores(self, w: np.ndarray, offset: float) -> tuple[np.ndarray, float]:
        """``X w + offset`` and its sum, at one reading."""
        w, out = np.ascontiguousarray(w, dtype=np.float64), np.empty(self.n_samples)
        ranges = self._ranges()
        sums = [0.0] * len(ranges)

        def part(k: int, start: int, stop: int) -> None:
            sums[k] = row_access.dense_matvec(self._x, w, offset, out, start, stop)

        pool.run([partial(part, k, *r) for k, r in enumerate(ranges)])
        return out, sum(sums)

    def _narrow(self, factor: np.ndarray) -> bool:
        """Whether a product with so few columns has a faster way than BLAS."""
        few = factor.ndim == 2 and 1 < factor.shape[1] <= 64
        return few and narrow_products.KNOWN and self.by_rows and self.n_stored >= _LARGE

    def _mapped(
        self, function: np.ufunc, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """The results of a function for the entries, a few rows at a time, in one buffer."""
        parts, d = self._slices(start, stop, None), self.n_features
        longest = max((part.stop - part.start for part in parts), default=0)
        # In the order of the matrix, in which entries are read one after another.
        buffer = np.empty((d, longest)).T if self._by_columns else np.empty((longest, d))
        for part in parts:
            block = buffer[: part.stop - part.start]
            function(self._x[part], out=block, dtype=np.float64)
            yield part, block

    def absolute_dot(self, t: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_samples)
        t = np.abs(t)
        for part, block in self._mapped(np.abs):
            np.matmul(block, t, out=out[part])
        return out

    def absolute_t_dot(self, a: np.ndarray) -> np.ndarray:
        out = np.zeros(self.n_features)
        a = np.abs(a)
        for part, block in self._mapped(np.abs):
            out += block.T @ a[part]
        return out

    def t_dot(self, a: np.ndarray) -> np.ndarray:
        self._require(a, 0)
        if self._narrow(a):
            return narrow_products.t_dot(self._x, a)
        if a.ndim == 1 and self.n_stored >= self.tuning.own_products and self.by_rows:
            return self._reduce(row_access.dense_rmatvec, a, (self.n_features,))
        whole = self._whole()
        if whole is not None:
            product: np.ndarray = whole.T @ a
            return product
        out = np.zeros((self.n_features, *a.shape[1:]))
        for part, block in self.blocks():
            out += block.T @ a[part]
        return out

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self._gram(weights, np.dtype(np.float64))

    def rough_gram(self, weights: np.ndarray) -> np.ndarray:
        return self._gram(weights, self._x.dtype)

    @property
    def has_rough_gram(self) -> bool:
        return self._x.dtype == np.float32 and self.n_stored > _FEW

    def _gram(self, weights: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
        root = np.sqrt(weights).astype(kind, copy=False)
        if self.n_stored <= _FEW:
            scaled = self._x * root[:, None]
            few: np.ndarray = scaled.T @ scaled
            return few
        # Rows of weight zero (a squared hinge has many) are skipped, not multiplied.
        active: np.ndarray | None = np.flatnonzero(root)
        if 2 * np.count_nonzero(root) >= self.n_samples:
            active = None
        count = self.n_samples if active is None else len(active)
        d = self.n_features
        size = max(1, self.tuning.block_bytes // (kind.itemsize * max(1, d)))

        # One triangle: half the work. With many columns a matrix for each part would be too large,
        # so that columns are shared instead of rows.
        add_gram = blas.add_gram_by_columns if d > _SMALL else blas.add_gram
        by_columns, beat = self._by_columns, pulse.current()

        def add(out: np.ndarray, first: int, last: int) -> None:
            longest = min(size, last - first)
            # In the order of the matrix, in which entries are read one after another.
            buffer = np.empty((d, longest), kind).T if by_columns else np.empty((longest, d), kind)
            for start in range(first, last, size):
                beat()
                part: Any = slice(start, min(start + size, last))
                block = buffer[: part.stop - start]
                if active is not None:
                    part = active[part]
                np.multiply(self._x[part], root[part, None], out=block)
                add_gram(block, out)

        if d > _SMALL:
            out = np.zeros((d, d))
            add(out, 0, count)
        else:
            # A matrix for each part is little work beside its rows, where there are as many.
            most = 2.0 * max(1, count // (2 * d))
            ranges = pool.ranges(count, 0.5 * count * d * d, most)
            with pool.one_blas_thread():
                (out,) = pool.run_and_add(add, ranges, lambda: (np.zeros((d, d)),))
        for j in range(1, d):
            out[j, :j] = out[:j, j]
        return out

    @property
    def gram_cost(self) -> float:
        return 0.5 * self.n_stored * self.n_features

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        shape = (self.n_features, *weights.shape[1:])

        def add(out: np.ndarray, start: int, stop: int) -> None:
            if weights.ndim == 1 and self.n_stored > _FEW and self.by_rows:
                row_access.dense_column_squares(self._x, weights, out, start, stop)
                return
            if weights.ndim == 1 and self.n_stored > _FEW and self._by_columns:
                row_access.turned_column_squares(self._x.T, weights, out, start, stop)
                return
            for part, block in self._mapped(np.square, start, stop):
                out += block.T @ weights[part]

        # The time goes into copying the rows, which BLAS leaves to one thread.
        with pool.one_blas_thread():
            (out,) = pool.run_and_add(add, self._ranges(), lambda: (np.zeros(shape),))
        return out

    def row_squares(self) -> np.ndarray:
        if self._squares is not None:
            return self._squares
        if self.n_stored <= _FEW and self._x.dtype == np.float64:
            # Nothing is compiled for so few.
            self._squares = row_access.read_only(np.einsum("ij,ij->i", self._x, self._x))
            return self._squares
        out = np.empty(self.n_samples)

        def sum_up(start: int, stop: int) -> None:
            if self.by_rows:
                row_access.dense_row_squares(self._x, out, start, stop)
                return
            for part, block in self.blocks(start, stop):
                np.einsum("ij,ij->i", block, block, out=out[part])

        pool.run([partial(sum_up, *r) for r in self._ranges()])
        self._squares = row_access.read_only(out)
        return self._squares

    def take(self, index: np.ndarray) -> DenseDesign:
        # By rows whatever the order here: products with them then take the same way.
        return DenseDesign(np.ascontiguousarray(self._nearest[index]), self.tuning)

    def columns(self, index: np.ndarray) -> DenseDesign:
        if _is_all(index, self.n_features):
            return self
        # In the order of the whole, which products are fastest with; an index of columns turns it.
        if self.by_rows:
            return DenseDesign(np.take(self._x, index, axis=1), self.tuning)
        return DenseDesign(self._x.T[index].T, self.tuning)

    @functools.cached_property
    def turned(self) -> DenseDesign:
        return DenseDesign(np.ascontiguousarray(self._x.T), self.tuning)

    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        owned: bool = False,
        size: int | None = None,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        parts = self._slices(start, stop, size)
        if self._direct and not owned:
            for part in parts:
                yield part, self._x[part]
            return
        longest = max((part.stop - part.start for part in parts), default=0)
        buffer = np.empty((longest, self.n_features))
        for part in parts:
            block = buffer[: part.stop - part.start]
            self._copy(part, block)
            yield part, block

    def _copy(self, part: slice, out: np.ndarray) -> None:
        """Copy a few rows, from where they lie in one piece if they do anywhere."""
        x = self._nearest
        if x is self._x and self._by_columns and self.n_stored > _FEW:
            # NumPy reads a number of each column in turn.
            row_access.turned_copy(x.T, part.start, out)
        else:
            np.copyto(out, x[part])


class CSRDesign(Design):
    """A matrix held in compressed sparse rows, indices of 32 or 64 bits, in any order."""

    row_dot = staticmethod(row_access.csr_dot)
    row_prefetch = staticmethod(row_access.csr_prefetch)
    row_add = staticmethod(row_access.csr_add)
    block_dot = staticmethod(row_access.csr_block_dot)
    block_add = staticmethod(row_access.csr_block_add)
    row_length = staticmethod(row_access.csr_length)
    row_entry = staticmethod(row_access.csr_entry)

    def __init__(self, x: sp.csr_matrix | sp.csr_array, tuning: Tuning = _TUNING) -> None:
        self._x, self.tuning = x, tuning
        self.shape = (x.shape[0], x.shape[1])
        self.rows = tuple(row_access.read_only(a) for a in (x.data, x.indices, x.indptr))

    @property
    def n_stored(self) -> int:
        return int(self.rows[2][-1])

    @property
    def products(self) -> Products | None:
        return self.rows, row_access.csr_add_dot, row_access.csr_add_t_dot, 1

    def dot(self, w: np.ndarray) -> np.ndarray:
        self._require(w, 1)
        if w.ndim == 2 and w.shape[1] == 1:
            return self.dot(w[:, 0])[:, None]
        kernel = row_access.csr_matvec if w.ndim == 1 else row_access.csr_matmat
        w = np.ascontiguousarray(w, dtype=np.float64)
        out = np.empty((self.n_samples, *w.shape[1:]))
        ranges = self._ranges(w.shape[1] if w.ndim > 1 else 1)
        pool.run([partial(kernel, *self.rows, w, out, a, b) for a, b in ranges])
        return out

    def scores(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        if self.n_stored * len(coef) > _FEW:
            return super().scores(coef, intercept)
        # A process that predicts a few rows is done before a compiled loop is loaded.
        self._require(coef.T, 1)
        scores = self._x @ coef.T + intercept
        return scores, float(np.add.reduce(scores, axis=None))

    def absolute_dot(self, t: np.ndarray) -> np.ndarray:
        self._require(t, 1)
        out = np.empty(self.n_samples)
        row_access.csr_absolute_dot(*self.rows, t, out, 0, self.n_samples)
        return out

    def absolute_t_dot(self, a: np.ndarray) -> np.ndarray:
        return self._reduce(row_access.csr_absolute_rmatvec, a, (self.n_features,))

    def t_dot(self, a: np.ndarray) -> np.ndarray:
        kernel = row_access.csr_rmatvec if a.ndim == 1 else row_access.csr_rmatmat
        return self._reduce(kernel, a, (self.n_features, *a.shape[1:]))

    def gram(self, weights: np.ndarray) -> np.ndarray:
        shape = (self.n_features, self.n_features)
        work = self.gram_cost if self.n_features <= _SMALL else None
        beat = pulse.current()

        def add(*given: Any) -> None:
            *others, start, stop = given
            # Row by row whatever the size of the blocks, so that no bit depends on it.
            for first in range(start, stop, _BEAT):
                beat()
                row_access.csr_half_gram(*others, first, min(first + _BEAT, stop))

        half = self._reduce(add, weights, shape, work)
        return half + half.T

    def _row_products(self) -> np.ndarray:
        # A few columns of as many features as there are words may not fit in memory.
        x = self._x.astype(np.float64)
        found: np.ndarray = (x @ x.T).toarray()
        return found

    @functools.cached_property
    def gram_cost(self) -> float:
        lengths = np.diff(self.rows[2]).astype(np.float64)
        return float(np.sum(lengths * lengths))

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        columns = weights.reshape(len(weights), -1)
        shape = (self.n_features, columns.shape[1])
        out = self._reduce(row_access.csr_column_squares, columns, shape)
        return out.reshape(self.n_features, *weights.shape[1:])

    @property
    def repeats(self) -> bool:
        """Whether an entry of the matrix is there in several parts, which add up."""
        if self._x.has_canonical_format:
            return False
        self.row_squares()
        return self._repeats

    def merged(self) -> CSRDesign:
        """The design whose entries are in one part each, added up; itself if they are."""
        if not self.repeats:
            return self
        whole = self._x.copy()
        whole.sum_duplicates()
        return CSRDesign(whole, self.tuning)

    def row_squares(self) -> np.ndarray:
        if self._squares is not None:
            return self._squares
        out = np.empty(self.n_samples)

        def part(start: int, stop: int) -> None:
            if self._x.has_canonical_format:
                row_access.csr_plain_row_squares(self.rows[0], self.rows[2], out, start, stop)
                return
            # Rows of 32 bits where they do: what is met stays in the cache.
            kind = np.int32 if self.n_samples < 2**31 else np.int64
            met, scratch = np.full(self.n_features, -1, dtype=kind), np.zeros(self.n_features)
            if row_access.csr_row_squares(*self.rows, met, scratch, out, start, stop):
                repeats.append(start)

        repeats: list[int] = []
        pool.run([partial(part, a, b) for a, b in self._ranges()])
        self._repeats = bool(repeats)
        self._squares = row_access.read_only(out)
        return self._squares

    def take(self, index: np.ndarray) -> CSRDesign:
        return CSRDesign(self._x[index], self.tuning)

    def columns(self, index: np.ndarray) -> CSRDesign:
        if _is_all(index, self.n_features):
            return self
        data, indices, indptr = self.rows
        # SciPy's own selection writes beyond its arrays where there is more than ``indptr`` names.
        place = np.full(self.n_features, -1, dtype=np.int32)
        place[index] = np.arange(len(index))
        ends = np.zeros(self.n_samples + 1, dtype=np.int64)
        ranges = self._ranges()
        pool.run(
            [partial(row_access.csr_count, indices, indptr, place, ends, a, b) for a, b in ranges]
        )
        np.cumsum(ends, out=ends)
        # One entry more than there are: where the last row writes what it then leaves out.
        part = np.empty(int(ends[-1]) + 1, dtype=data.dtype), np.empty(int(ends[-1]) + 1, np.int32)
        pool.run(
            [partial(row_access.csr_pick, *self.rows, place, ends, *part, a, b) for a, b in ranges]
        )
        kept = (part[0][:-1], part[1][:-1], ends)
        shape = (self.n_samples, len(index))
        return CSRDesign(sp.csr_matrix(kept, shape=shape, copy=False), self.tuning)

    @functools.cached_property
    def column_counts(self) -> np.ndarray:
        return np.bincount(self.rows[1][: self.n_stored], minlength=self.n_features)

    @functools.cached_property
    def turned(self) -> CSRDesign:
        turned = self.merged()._x.tocsc().T
        turned.has_canonical_format = True
        return CSRDesign(turned, self.tuning)

    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        owned: bool = False,
        size: int | None = None,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        parts = self._slices(start, stop, size)
        longest = max((part.stop - part.start for part in parts), default=0)
        buffer = np.empty((longest, self.n_features))
        for part in parts:
            block = buffer[: part.stop - part.start]
            _fill(*self.rows, block, part.start)
            yield part, block


@njit(nogil=True, cache=True)
def _fill(data: Any, indices: Any, indptr: Any, out: Any, start: int) -> None:
    """The rows from ``start`` on, dense; repeated indices add up."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for p in range(indptr[start + i], indptr[start + i + 1]):
            out[i, indices[p]] += data[p]


def require_in_range(x: Any) -> None:
    """Raise ValueError unless the index arrays of a CSR matrix stay within it.

    Compiled loops follow them without looking.
    """
    n, d = x.shape
    indices, indptr = x.indices, x.indptr
    flaw = None
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        flaw = f"its index arrays are of {indices.dtype} and {indptr.dtype}, not of whole numbers"
    elif indices.ndim != 1 or indptr.shape != (n + 1,) or x.data.shape != indices.shape:
        flaw = (
            f"its arrays data, indices and indptr have the shapes {x.data.shape}, {indices.shape} "
            f"and {indptr.shape}"
        )
    elif indptr[0] != 0 or indptr[-1] > len(indices) or bool((indptr[1:] < indptr[:-1]).any()):
        flaw = f"its indptr must rise from 0 to at most {len(indices):,} entries"
    else:
        largest = _largest(indices[: indptr[-1]])
        if largest >= d:
            # A negative one is beyond every other, read without its sign.
            flaw = f"an entry is in a column beyond its {d:,}"
    if flaw:
        raise ValueError(
            f"The CSR matrix of shape {n:,} by {d:,} is damaged: {flaw}; X.check_format() of scipy "
            "finds such damage."
        )


def _largest(indices: np.ndarray) -> int:
    """The largest of some whole numbers, read without their signs; -1 where there are none."""
    plain = indices.view(np.dtype(f"u{indices.itemsize}"))
    ranges = pool.ranges(len(plain), 0.25 * len(plain))
    found = [-1] * len(ranges)

    def look(k: int, start: int, stop: int) -> None:
        if stop > start:
            found[k] = int(plain[start:stop].max())

    pool.run([partial(look, k, a, b) for k, (a, b) in enumerate(ranges)])
    return max(found, default=-1)


def dense(matrix: Any) -> np.ndarray:
    """An array of a matrix that may be sparse."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def as_design(x: Any, tuning: Tuning = _TUNING) -> Design:
    """The design for a validated matrix: a two-dimensional array or a CSR matrix.

    Parameters
    ----------
    x : ndarray or CSR matrix or array, of float32 or float64
    tuning : Tuning, optional
        Sizes that decide about speed.

    Raises
    ------
    TypeError
        For any other format.
    ValueError
        For a CSR matrix whose index arrays point outside of it, which scipy does not look for when
        it makes one.
    """
    if type(x) is np.ndarray and x.ndim == 2:
        # The first of all: for one row other checks would take longer than the rest.
        return DenseDesign(x, tuning)
    if isinstance(x, Design):
        return x
    if sp.issparse(x):
        if x.format != "csr":
            raise TypeError(f"A sparse design needs the CSR format, got {x.format!r}.")
        require_in_range(x)
        return CSRDesign(x, tuning)
    if isinstance(x, np.ndarray) and x.ndim == 2:
        return DenseDesign(x, tuning)
    raise TypeError(f"No design for {type(x).__name__}: pass a 2-D array or a CSR matrix.")
