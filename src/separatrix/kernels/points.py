"""Sets of points as kernels see them: scalar products and squared norms, block by block.

What is computed lies in tiles that fit a cache; float32 and sparse data are never copied whole to
float64, and sparse data are dense only a few rows at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import pool
from separatrix.data.design import CSRDesign, Design
from separatrix.kernels.functions import CallableKernel, InnerProductKernel, Kernel

# Numbers in a tile of the matrix while it is computed: what two cores' second-level caches hold.
TILE_ROWS = 512
TILE_COLUMNS = 2048
_TILE = TILE_ROWS * TILE_COLUMNS
# Bytes of rows that are made dense at a time, where the data are sparse.
DENSE_BYTES = 16 << 20
# Features up to which sparse rows are multiplied as dense ones, a tile at a time.
MOST_DENSE = 1000
# Bytes of float64 points that a tile's columns are made of.
HELD_BYTES = 4 << 20
# Entries of a tile that a thread computes at a time: a call takes what ten thousand entries take.
_PART = 1 << 18
# The largest relative rounding of values that are made of scalar products; where they would lose
# more digits (the distances of a sharp kernel), they are made of differences.
ROUGHEST = 1e-9


class Points(ABC):
    """A set of points as a kernel sees it: scalar products, and squared norms."""

    n: int
    squares: np.ndarray
    # The type of the blocks, and whether products with them skip zeros.
    kind: type = np.float64
    sparse = False

    @abstractmethod
    def block(self, index: np.ndarray | slice) -> np.ndarray:
        """Return a block of the points as a dense float64 matrix."""

    @abstractmethod
    def against(
        self, columns: np.ndarray | slice, kind: type | None = None
    ) -> Callable[..., np.ndarray]:
        """A function that gives ``block_i . x_j`` for the points ``x_j`` of ``columns``.

        Its second argument, if any, is where the result goes, and its third one a slice of these
        points.  Dense points can be taken in another type than their own.
        """

    @abstractmethod
    def working(self) -> Points:
        """The points in float32, if that takes no more memory than a copy in float32."""


def _products_with(held: np.ndarray) -> Callable[..., np.ndarray]:
    """The function that :meth:`Points.against` returns, for points that are columns of a matrix."""

    def multiply(
        block: np.ndarray, out: np.ndarray | None = None, some: slice = slice(None)
    ) -> np.ndarray:
        return np.matmul(block, held[:, some], out=out)

    return multiply


class DensePoints(Points):
    def __init__(self, x: np.ndarray, mean: np.ndarray | None, order: np.ndarray | None) -> None:
        self._x, self._mean, self._order = x, mean, order
        self.n = x.shape[0]
        self.squares = np.empty(self.n)
        for part in slices(0, self.n, max(1, _TILE // max(1, x.shape[1]))):
            block = self.block(part)
            np.einsum("ij,ij->i", block, block, out=self.squares[part])

    def block(self, index: np.ndarray | slice) -> np.ndarray:
        rows = self._x[index if self._order is None else self._order[index]]
        if self._mean is not None:
            return np.subtract(rows, self._mean, dtype=np.float64)
        return rows.astype(np.float64, copy=False)

    def against(
        self, columns: np.ndarray | slice, kind: type | None = None
    ) -> Callable[..., np.ndarray]:
        held: np.ndarray = self.block(columns).astype(kind or self.kind, copy=False).T
        return _products_with(held)

    def working(self) -> Points:
        return _WorkingPoints(self, self._x.shape[1])


class _WorkingPoints(Points):
    """A float32 copy of dense points, in their order."""

    kind = np.float32

    def __init__(self, source: DensePoints, n_features: int) -> None:
        self.n = source.n
        self._x = np.empty((self.n, n_features), dtype=np.float32)
        for part in slices(0, self.n, max(1, _TILE // max(1, n_features))):
            self._x[part] = source.block(part)
        self.squares = source.squares.astype(np.float32)

    def block(self, index: np.ndarray | slice) -> np.ndarray:
        return self._x[index]

    def against(
        self, columns: np.ndarray | slice, kind: type | None = None
    ) -> Callable[..., np.ndarray]:
        held = self._x[columns].T
        return _products_with(held)

    def working(self) -> Points:
        return self


class SparsePoints(Points):
    """Rows in CSR; only blocks of them are ever dense.

    With few features a block of columns is dense as well, and the product one of BLAS, which is
    many times as fast as one that skips the zeros; with many features the zeros are skipped.
    """

    def __init__(self, design: CSRDesign, kind: type = np.float64) -> None:
        self._design = design
        self.n, d = design.shape
        self.kind = kind
        self.sparse = d > MOST_DENSE
        squares = design.row_squares()
        self.squares = squares.astype(kind, copy=False)

    def block(self, index: np.ndarray | slice) -> np.ndarray:
        if isinstance(index, slice):
            index = np.arange(self.n)[index]
        rows = self._design.take(index).matrix
        return np.asarray(rows.toarray(), dtype=self.kind)

    def against(
        self, columns: np.ndarray | slice, kind: type | None = None
    ) -> Callable[..., np.ndarray]:
        if not self.sparse:
            held: np.ndarray = self.block(columns).astype(kind or self.kind, copy=False).T
            return _products_with(held)
        design: Design = self._design
        if isinstance(columns, slice):
            columns = np.arange(self.n)[columns]
        if len(columns) < self.n:
            design = design.take(columns)

        def multiply(
            block: np.ndarray, out: np.ndarray | None = None, some: slice = slice(None)
        ) -> np.ndarray:
            # All of its columns: products with sparse rows have threads of their own.
            products = design.dot(np.ascontiguousarray(block.T)).T
            if out is None:
                return np.ascontiguousarray(products)
            out[...] = products
            return out

        multiply.threaded = True  # type: ignore[attr-defined]
        return multiply

    def working(self) -> Points:
        return self if self.sparse else SparsePoints(self._design, np.float32)


def slices(start: int, stop: int, size: int) -> Iterator[slice]:
    for a in range(start, stop, size):
        yield slice(a, min(a + size, stop))


def fill_tile(
    kernel: InnerProductKernel,
    points: Points,
    rows: np.ndarray | slice,
    multiply: Callable[..., np.ndarray],
    left: np.ndarray,
    right: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the kernel of some points with those of a function of :meth:`Points.against`.

    On all cores; to be called within :func:`separatrix._compiled.pool.one_blas_thread`.

    Parameters
    ----------
    rows : ndarray or slice
        The rows of ``points``; a slice has a step of one.
    multiply : callable
    left, right : ndarray
        Squared norms of ``rows``, and of the other points.
    out : ndarray of shape (n_rows, n_others)
    """
    kind = out.dtype

    def part(a: int, b: int, columns: slice) -> None:
        some = slice(rows.start + a, rows.start + b) if isinstance(rows, slice) else rows[a:b]
        block, place = points.block(some).astype(kind, copy=False), out[a:b, columns]
        multiply(block, place, columns)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            kernel.of_products(place, left[a:b], right[columns])

    if points.sparse or getattr(multiply, "threaded", False):
        part(0, len(out), slice(None))
        return
    n, m = out.shape
    count = len(pool.ranges(out.size, 4.0 * out.size, out.size / _PART))
    # BLAS copies what it multiplies: ``down * m + across * n`` points in all.
    splits = [(k, count // k) for k in range(1, count + 1) if count % k == 0]
    down, across = min(splits, key=lambda split: split[0] * m + split[1] * n)
    pool.run(
        [
            partial(part, n * i // down, n * (i + 1) // down, columns)
            for i in range(down)
            for columns in (slice(m * j // across, m * (j + 1) // across) for j in range(across))
        ]
    )


def column_means(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.mean(axis=0, dtype=np.float64))


def values_of(kernel: Kernel, left: Any, right: Any) -> np.ndarray:
    """The values of a kernel; those of a user's function are checked."""
    if not isinstance(kernel, CallableKernel):
        return kernel(left, right)
    values: Any = kernel.function(left, right)
    out = np.asarray(values.toarray() if sp.issparse(values) else values)
    if out.dtype.kind not in "biuf":
        raise ValueError(
            f"The kernel {kernel.formula} must return real numbers; it returned {out.dtype.name}."
        )
    out = out.astype(np.float64, copy=False)
    wanted = (left.shape[0], right.shape[0])
    if out.shape != wanted:
        raise ValueError(
            f"The kernel {kernel.formula} must return one value for each pair of rows, shape "
            f"{wanted}; it returned shape {out.shape}."
        )
    if not np.all(np.isfinite(out)):
        i, j = (int(v) for v in np.argwhere(~np.isfinite(out))[0])
        raise ValueError(
            f"The kernel {kernel.formula} returned {out[i, j]} for rows {i} and {j} of its "
            "arguments; kernels must be finite."
        )
    return out


def growth_of(kernel: InnerProductKernel, square: float, n_features: int) -> float:
    """The units in the last place by which a value may be off, for squared norms up to a number.

    Sums of products have errors of random sign (Higham and Mary, 2019), hence the root.
    """
    return (1.0 + kernel.sensitivity(square)) * float(np.sqrt(n_features + 2.0))


def points_of(design: Design, mean: np.ndarray | None, order: np.ndarray | None = None) -> Points:
    """The points of a design, less a mean if they are dense, in an order."""
    if isinstance(design, CSRDesign):
        return SparsePoints(design if order is None else design.take(order))
    return DensePoints(design.matrix, mean, order)
