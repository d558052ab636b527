"""The matrix of a kernel over the rows of a design, of which a stated budget is in memory.

Entry ``(i, j)`` of a :class:`Gram` is ``k(x_i, x_j)``.  It is used in two ways.  A solver reads
whole rows, many at once and many times over: these are computed in blocks, by products of matrices,
in float32, and kept in a cache.  A certificate needs one product with a vector, exactly: that is
computed in float64 from the data, block by block, and never kept.

The positions of a Gram matrix may be another order of the rows than the design's, so that the rows
of a class lie side by side; a part of it (:meth:`Gram.take`) shares the cache of the whole.
"""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from separatrix._compiled import double_double, pool
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import EPS, EPS32, UNIT
from separatrix.data.design import CSRDesign, Design, as_design
from separatrix.kernels.functions import (
    CallableKernel,
    DeltaKernel,
    InnerProductKernel,
    Kernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
)
from separatrix.kernels.matrix_rows import add_mirrored_tile, add_tile
from separatrix.kernels.points import (
    DENSE_BYTES,
    HELD_BYTES,
    ROUGHEST,
    TILE_COLUMNS,
    TILE_ROWS,
    Points,
    column_means,
    fill_tile,
    growth_of,
    points_of,
    slices,
    values_of,
)
from separatrix.messages import Message
from separatrix.objectives.enclosure import gamma, total_above

# Rows of the whole matrix that are computed at a time, from the diagonal on; and the columns that
# are mirrored at a time.
_SQUARE = 512
_MIRRORED = 128
# The largest error that float32 rows may have, relative to the largest entry.  They only steer the
# solver, whose end is judged in float64; but far wrong they would steer it in circles.
_COARSEST = 1e-4
# A rounding of float32.
_UNIT32 = 0.5 * EPS32
# Up to this many rows there is next to nothing to compute.
FEW = 200
# Up to this many the cache is in float64 from the start, if it holds them all.
_EXACT_FROM_THE_START = 1000
# Numbers up to which a copy of all is nothing.
_FEW_ENTRIES = 1 << 16
# Operations that a product in twice float64's digits may take: some seconds.
_AFFORDABLE = 4e9


class _Source(ABC):
    """A source of the values of a kernel."""

    n: int
    diagonal: np.ndarray
    # A bound on the relative rounding error of float64 values, against the largest of them.
    rounding: float = 4.0 * EPS
    # Whether float32's range holds the values.
    single: bool = True
    # Where the points were moved to their mean and the values changed by it, the scalar products of
    # the moved points with the mean.
    intercept_shifts: np.ndarray | None = None

    @property
    def typical(self) -> float:
        """The error of an ordinary entry, in units in the last place."""
        return 1.0

    # A bound on the error of every float64 value, proved and not typical.
    error: float = np.inf

    @abstractmethod
    def tiles(
        self,
        rows: np.ndarray,
        columns: np.ndarray | slice,
        coarse: bool,
        out: np.ndarray | None = None,
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Tiles of the matrix; the slices count among ``rows`` and among ``columns``.

        With ``out``, of the shape of the whole, the tiles are parts of it; without, a tile is
        overwritten by the next.
        """

    def largest(self) -> float:
        return float(np.abs(self.diagonal).max(initial=0.0))

    def errors(self) -> tuple[float, float, np.ndarray]:
        """Numbers ``a``, ``b`` and ``s``: a value is off by no more than ``a + b (s_i + s_j)``."""
        return self.error, 0.0, np.abs(self.diagonal)

    def coarse_errors(self) -> tuple[float, float, np.ndarray]:
        """The numbers of :meth:`errors` for values in float32."""
        return np.inf, 0.0, np.abs(self.diagonal)


def _add_tile(tile: np.ndarray, c: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """``out[rows] += tile @ c`` in float64, without a copy of the tile, which may be mirrored."""
    if tile.dtype == np.float64:
        out[rows] += tile @ c
    elif tile.flags.c_contiguous or tile.strides[1] == tile.itemsize:
        add_tile(tile, c, rows, out)
    else:
        add_mirrored_tile(tile.T, c, rows, out)


def _length(columns: np.ndarray | slice, n: int) -> int:
    return len(range(*columns.indices(n))) if isinstance(columns, slice) else len(columns)


def _part(columns: np.ndarray | slice, part: slice) -> np.ndarray | slice:
    if isinstance(columns, slice):
        first = columns.start or 0
        return slice(first + part.start, first + part.stop)
    return columns[part]


def _fits_single(size: float) -> bool:
    """Whether a size is within float32's range, with a margin for what is made of such numbers."""
    return size == 0.0 or 1e-30 < size < 1e30


def _product_error(kernel: InnerProductKernel, square: float, d: int, largest: float) -> float:
    """A bound on the error of values that are made of scalar products, whatever their order.

    The points have been moved by a vector and rounded, by ``u`` of their length; a scalar product
    is off by ``gamma_d`` of the product of the lengths; the kernel passes that on by its
    sensitivity, and has some roundings of its own.
    """
    units = 2.2 * (d + 12.0) * (1.0 + kernel.sensitivity(square)) + 48.0
    units += 2.0 * getattr(kernel, "degree", 1)
    share = units * UNIT
    lost = _lost(kernel, square, d)
    return share * largest + lost + 2.0**-1000 if share < 0.1 else np.inf


def _lost(kernel: Kernel, square: float, d: int) -> float:
    """A bound on what underflow takes from a value, of points of squared norms up to a number.

    Each of the products that squares and scalar products are made of loses half of the least number
    there is; the kernel multiplies what they lose together by its slope.
    """
    tiny = (d + 4.0) * 2.0**-1070
    if isinstance(kernel, RBFKernel | SigmoidKernel):
        return kernel.gamma * tiny
    if not isinstance(kernel, PolynomialKernel):
        return 0.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        most = np.float64(kernel.gamma) * (square + tiny) + abs(kernel.coef0)
        slope = kernel.degree * kernel.gamma * most ** (kernel.degree - 1)
        return float(slope * tiny)


def _distance_errors(kernel: RBFKernel, d: int) -> tuple[float, float]:
    """A bound on the error for two points of squared norms ``s``, as ``a + b (s_i + s_j)``.

    The squares are off by ``gamma_d s`` and the scalar product by ``gamma_d (s_i + s_j) / 2``, the
    points were rounded, and three operations follow: ``(d + 8) u`` of ``2 gamma (s_i + s_j)``, with
    some to spare.  The exponential passes on no more than that, and has roundings of its own.
    """
    return 48.0 * UNIT + _lost(kernel, 0.0, d), 2.2 * (d + 12.0) * UNIT * kernel.gamma


def _coarse_distance_errors(kernel: RBFKernel, d: int) -> tuple[float, float]:
    """The bound in float32, from squares that were computed in float64 and rounded.

    The points were rounded, ``2 u`` of the scalar product, which is off by ``gamma_d`` besides; and
    so were the squares and the factor.  With those of two additions that makes
    ``(d + 16) u gamma (s_i + s_j)``.  The power of two has fewer than sixteen roundings of a value
    up to one, its series included.
    """
    share = (d + 16.0) * _UNIT32
    lost = (1.0 + kernel.gamma) * (d + 16.0) * 2.0**-120
    return 16.0 * _UNIT32 + lost, 1.1 * share * kernel.gamma if share < 0.01 else np.inf


def _value_error(kernel: Kernel, d: int, largest: float) -> float:
    """A bound on the error of values that a kernel gives by itself."""
    if isinstance(kernel, RBFKernel):
        # From scalar products where that is good to 1e-13 for a few columns, else from differences.
        return (d + 12.0) / 8.0 * 1e-13 + (d + 48.0) * UNIT + _lost(kernel, 0.0, d)
    if isinstance(kernel, SquaresKernel):
        return (d + 12.0) * UNIT * largest
    # Values that are given, by a matrix or by somebody's function, are what they are.
    exact = isinstance(kernel, PrecomputedKernel | CallableKernel | DeltaKernel)
    return 0.0 if exact else np.inf


class _InnerProductSource(_Source):
    def __init__(
        self,
        kernel: InnerProductKernel,
        design: Design,
        order: np.ndarray | None,
        fit_intercept: bool,
    ) -> None:
        self._kernel = kernel
        # Without an intercept nothing makes up for another origin of the points.
        shifts = kernel.shifts and fit_intercept
        self.n, d = design.shape
        self._d = d
        if isinstance(design, CSRDesign):
            self._exact = points_of(design, None, order)
            self._rows = max(1, min(TILE_ROWS, DENSE_BYTES // (8 * max(1, d))))
            self._columns = self.n
            if not self._exact.sparse:
                self._columns = max(128, min(TILE_COLUMNS, HELD_BYTES // (8 * max(1, d))))
        else:
            self._rows = max(64, min(TILE_ROWS, HELD_BYTES // (16 * max(1, d))))
            moves = kernel.translates or shifts
            mean = column_means(design.matrix) if moves else None
            self._exact = points_of(design, mean, order)
            if shifts:
                assert mean is not None
                with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                    self.intercept_shifts = self._intercept_shifts(mean)
            self._columns = max(128, min(TILE_COLUMNS, HELD_BYTES // (8 * max(1, d))))
        squares = self._exact.squares
        with np.errstate(all="ignore"):
            self.diagonal = kernel.of_norms(squares)
            growth = growth_of(kernel, float(squares.max(initial=0.0)), d)
        if not np.all(np.isfinite(self.diagonal)):
            position = int(np.flatnonzero(~np.isfinite(self.diagonal))[0])
            row = position if order is None else int(order[position])
            raise ValueError(
                f"The kernel {kernel.formula} is beyond the range of floats for row {row}, whose "
                f"squared norm is {squares[position]:.3g}; scale the features down."
            )
        self.rounding = 4.0 * EPS * growth
        self.error = _product_error(kernel, float(squares.max(initial=0.0)), d, self.largest())
        # Float32 has less than a tenth of float64's range besides half of its digits.
        largest = self.largest()
        furthest = float(squares.max(initial=0.0))
        self.single = _fits_single(largest) and _fits_single(furthest)
        self._single = self.single and EPS32 * growth <= _COARSEST
        self._working: Points | None = None
        self._typical: float | None = None

    def errors(self) -> tuple[float, float, np.ndarray]:
        if isinstance(self._kernel, RBFKernel) and self.error < np.inf:
            return *_distance_errors(self._kernel, self._d), self._exact.squares
        return super().errors()

    def coarse_errors(self) -> tuple[float, float, np.ndarray]:
        if not self._single:
            # Computed in float64, and rounded.
            entry, by_square, squares = self.errors()
            return entry + 1.1 * _UNIT32 * self.largest() + 2.0**-140, by_square, squares
        if not isinstance(self._kernel, RBFKernel):
            return super().coarse_errors()
        return *_coarse_distance_errors(self._kernel, self._d), self._exact.squares

    @property
    def typical(self) -> float:
        if self._typical is None:
            middle = float(np.median(self._exact.squares))
            self._typical = 1.0 + self._kernel.sensitivity(middle)
        return self._typical

    def _intercept_shifts(self, mean: np.ndarray) -> np.ndarray:
        out = np.empty(self.n)
        for part in slices(0, self.n, self._rows):
            out[part] = self._exact.block(part) @ mean
        return out

    def tiles(
        self,
        rows: np.ndarray,
        columns: np.ndarray | slice,
        coarse: bool,
        out: np.ndarray | None = None,
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        points = self._exact
        if coarse and self._single:
            if self._working is None:
                self._working = self._exact.working()
            points = self._working
        width = _length(columns, self.n)
        kind = points.kind
        scratch: np.ndarray | None = None
        if out is None or out.dtype != kind:
            # One buffer for all tiles: new memory costs more than what is computed into it.
            shape = min(self._rows, len(rows)), min(self._columns, width)
            scratch = np.empty(shape, dtype=kind)
        for of_columns in slices(0, width, self._columns):
            there = _part(columns, of_columns)
            right, multiply = points.squares[there], points.against(there)
            for of_rows in slices(0, len(rows), self._rows):
                here = rows[of_rows]
                if scratch is None:
                    assert out is not None
                    place = out[of_rows, of_columns]
                else:
                    place = scratch[: len(here), : of_columns.stop - of_columns.start]
                left = points.squares[here]
                fill_tile(self._kernel, points, here, multiply, left, right, place)
                if out is not None and scratch is not None:
                    out[of_rows, of_columns] = place
                yield of_rows, of_columns, place


def entry_variance(design: Design, weights: np.ndarray | None = None) -> float:
    """The variance of the matrix's entries, all features together, without a copy of them.

    ``weights`` count rows: a weight of k is the same as k copies.
    """
    n, d = design.shape
    x = design.matrix
    if weights is None and isinstance(x, np.ndarray) and x.size <= _FEW_ENTRIES:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            variance = float(x.var(dtype=np.float64))
        if np.isfinite(variance):
            return variance
    rows = np.ones(n) if weights is None else weights
    # Divided first, so that neither a mean nor a square leaves the range of floats on the way.
    total = float(rows.sum()) * d
    mean = float(np.sum(design.t_dot(rows / total)))
    if isinstance(design, CSRDesign):
        values = np.asarray(design.matrix.data, dtype=np.float64)
        by_entry = np.repeat(rows / total, np.diff(design.matrix.indptr))
        stored = float(by_entry.sum())
        spread = float(np.sum(by_entry * np.square(values - mean)))
        # The entries that are not stored are zeros.
        return spread + max(0.0, 1.0 - stored) * mean * mean
    out = 0.0
    for part in slices(0, n, max(1, TILE_ROWS * TILE_COLUMNS // max(1, d))):
        block = np.subtract(design.matrix[part], mean, dtype=np.float64)
        out += float(np.sum(np.square(block, out=block).sum(axis=1) * (rows[part] / total)))
    return out


class _ValuesSource(_Source):
    """A matrix of values that is there already, or a user's function that gives it."""

    def __init__(
        self,
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
        n: int,
        error: Callable[[float], float],
    ) -> None:
        self.n = n
        self._values = values
        self.diagonal = np.empty(n)
        for part in slices(0, n, TILE_ROWS):
            index = np.arange(part.start, part.stop)
            self.diagonal[part] = np.diagonal(values(index, index))
        self.single = _fits_single(self.largest())
        self._all = np.arange(n)
        self.error = error(self.largest())

    def tiles(
        self,
        rows: np.ndarray,
        columns: np.ndarray | slice,
        coarse: bool,
        out: np.ndarray | None = None,
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        there = self._all[columns]
        for of_rows in slices(0, len(rows), TILE_ROWS):
            tile = self._values(rows[of_rows], there)
            if out is not None:
                out[of_rows] = tile
            yield of_rows, slice(0, len(there)), tile


def _source(
    kernel: Kernel, design: Design, order: np.ndarray | None, fit_intercept: bool
) -> _Source:
    if isinstance(kernel, InnerProductKernel):
        products = _InnerProductSource(kernel, design, order, fit_intercept)
        if not kernel.translates or products.rounding <= ROUGHEST:
            return products
    x = design.matrix
    error = partial(_value_error, kernel, design.n_features)

    def at(index: np.ndarray) -> np.ndarray:
        return index if order is None else order[index]

    if isinstance(kernel, PrecomputedKernel):
        # In float64 tile by tile, whatever the storage: what is charged is float64's rounding.
        if isinstance(design, CSRDesign):
            return _ValuesSource(
                lambda i, j: x[at(i)][:, at(j)].toarray().astype(np.float64, copy=False),
                design.n_samples,
                error,
            )
        return _ValuesSource(
            lambda i, j: x[np.ix_(at(i), at(j))].astype(np.float64, copy=False),
            design.n_samples,
            error,
        )

    def values(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        left, right = (x[at(k)].astype(np.float64, copy=False) for k in (i, j))
        return values_of(kernel, left, right)

    return _ValuesSource(values, design.n_samples, error)


class _Face(ABC):
    """A Gram matrix, whole or in part, as an objective and a solver use it.

    A point of the kernel's space is a combination ``w = sum_j c_j phi(x_j)`` of the data, and its
    coefficients stand for it: the product with the lifted data is that with the matrix, and the
    product with their transpose leaves the coefficients as they are.
    """

    shape: tuple[int, int]
    diagonal: np.ndarray
    samples: np.ndarray
    # The last product: its coefficients, itself, and how far entries are off besides rounding.
    _last: tuple[np.ndarray, np.ndarray, np.ndarray | None] | None = None

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]

    def t_dot(self, a: np.ndarray) -> np.ndarray:
        return a

    def dot_beside(
        self: Any, c: np.ndarray, near: np.ndarray, radius: np.ndarray, wanted: np.ndarray
    ) -> np.ndarray:
        """``K c`` in float64 where a coefficient is not zero or the entry is wanted.

        The other entries are ``near``, which are off by no more than ``radius``.
        """
        there = wanted | (c != 0.0)
        out: np.ndarray = self.whole.product(self.columns, c, wanted=wanted)
        out[~there] = near[~there]
        self.remember(c, out, np.where(there, 0.0, radius))
        return out

    @abstractmethod
    def _product(self, c: np.ndarray) -> np.ndarray: ...

    def dot(self, c: np.ndarray) -> np.ndarray:
        """``K c`` in float64, from the data; the last product is remembered."""
        if self._last is None or not np.array_equal(self._last[0], c):
            self._last = (c.copy(), self._product(c), None)
        return self._last[1].copy()

    def remember(
        self, c: np.ndarray, product: np.ndarray, radius: np.ndarray | None = None
    ) -> None:
        """Take in what :meth:`dot` gives from here on for some coefficients.

        ``radius``: by how much entries may be off, where that is more than rounding in float64.
        """
        self._last = c.copy(), product.copy(), radius

    def forget(self) -> None:
        """Let :meth:`dot` compute anew what was remembered."""
        self._last = None

    def off_by(self, c: np.ndarray) -> np.ndarray | float:
        """A bound on the error of :meth:`dot`, besides its rounding in float64."""
        if self._last is None or self._last[2] is None or not np.array_equal(self._last[0], c):
            return 0.0
        return self._last[2]

    def positions(self) -> np.ndarray:
        """The positions of the design's rows: the inverse of ``samples``, where all are there."""
        out = np.empty(len(self.samples), dtype=np.intp)
        out[self.samples] = np.arange(len(self.samples))
        return out

    def intercept_shift(self, c: np.ndarray) -> float:
        """Return the difference of intercepts that centring the points makes at these coefficients.

        The matrix of the linear kernel is that of the points less their mean.
        """
        return 0.0

    def fold(self, c: np.ndarray) -> np.ndarray:
        """The coefficients of the points, of those that a quadratic problem has."""
        return c

    def unfold(self, c: np.ndarray) -> np.ndarray:
        """The coefficients of a quadratic problem, of those that the points have."""
        return c.copy()

    def within(
        self: Any, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The entries between some of the positions, for a compiled loop.

        They are the slots of the rows in the cache, their columns there, a block of the entries,
        and which rows of it are filled; the loop copies the others when it first needs them.
        """
        q, columns = len(index), self.columns[index]
        if self.full:
            block = np.empty((q, q), dtype=self.cache.dtype)
            return self.rows(index), columns, block, np.zeros(q, dtype=np.bool_)
        # Whole rows only of those that will have moved.
        return np.zeros(q, dtype=np.intp), columns, self.block(index), np.ones(q, dtype=np.bool_)


class Gram(_Face):
    """The matrix of a kernel over the rows of a design.

    Parameters
    ----------
    kernel : Kernel
    design : Design
        The data; for a precomputed kernel, the matrix itself.
    cache_mb : float
        Megabytes (1e6 bytes) for the rows that are kept, at least two of them.
    order : ndarray of shape (n_samples,), optional
        The design's rows in the order of this matrix's positions.
    fit_intercept : bool, default=True
        Whether a machine has an intercept, which allows for another origin of the points.

    Attributes
    ----------
    cache : ndarray of shape (n_slots, n_samples)
        The rows that are kept, one a slot.
    samples : ndarray of shape (n_samples,)
        The design's row at each position.
    computed : int
        The number of rows that have been computed, counting twice those that did not fit at first.
    """

    def __init__(
        self,
        kernel: Kernel,
        design: Design,
        *,
        cache_mb: float,
        order: np.ndarray | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.kernel = kernel
        design = design.merged()
        self.design = design
        self._source = _source(kernel, design, order, fit_intercept)
        n = design.n_samples
        self.shape = (n, n)
        self.diagonal = self._source.diagonal
        self._budget = cache_mb * 1e6
        # Where each position begins and ends among the columns of the cache: as one piece.
        self.runs = np.array([[0, n]], dtype=np.intp)
        self.columns = np.arange(n)
        self.samples = self.columns if order is None else order
        self.computed = 0
        exact = n <= _EXACT_FROM_THE_START and 8 * n * n <= self._budget
        self._open(np.float32 if self._source.single and not exact else np.float64)

    def _open(self, kind: type) -> None:
        """An empty cache of rows of a type."""
        n = self.shape[0]
        item = np.dtype(kind).itemsize
        slots = int(min(n, max(2, self._budget // (item * max(1, n)))))
        # The old one goes before the new one comes.
        self.cache: np.ndarray = np.empty((0, n), dtype=kind)
        try:
            self.cache = np.empty((slots, n), dtype=kind)
        except MemoryError:
            raise MemoryError(
                Message("cache_too_large", size=slots * n * item / 1e6, budget=self._budget / 1e6)
            ) from None
        self._slot_of = np.full(n, -1, dtype=np.intp)
        self._holds = np.full(slots, -1, dtype=np.intp)
        self._used_at = np.zeros(slots, dtype=np.int64)
        self._clock = 0
        self._filled = 0

    @property
    def n_slots(self) -> int:
        """The number of rows that the cache can hold."""
        return len(self.cache)

    @property
    def rounding(self) -> float:
        """A bound on the error of a float64 entry, relative to the largest entry."""
        return self._source.rounding

    @property
    def largest(self) -> float:
        """The largest entry of the diagonal, in size."""
        return self._source.largest()

    @property
    def exact(self) -> bool:
        """Whether the rows of the cache are in float64."""
        return bool(self.cache.dtype == np.float64)

    @property
    def relative_error(self) -> float:
        """The typical error of an entry of the cache, relative to the largest entry."""
        return self._source.typical * (EPS if self.exact else EPS32)

    def to_float64(self) -> None:
        """Start the cache over in float64."""
        if not self.exact:
            self._open(np.float64)

    # --- rows, for a solver -----------------------------------------------------------------

    def rows(self, index: np.ndarray) -> np.ndarray:
        """The slots of the cache that hold the rows at these positions, computed if need be.

        Parameters
        ----------
        index : ndarray
            Distinct positions, at most as many as there are slots.
        """
        self._clock += 1
        slots = self._slot_of[index]
        self._used_at[slots[slots >= 0]] = self._clock
        missing = index[slots < 0]
        if len(missing):
            places = self._free_slots(len(missing))
            self._slot_of[missing] = places
            self._holds[places] = missing
            self._used_at[places] = self._clock
            try:
                self._compute(missing, places)
            except BaseException:
                # Half-computed rows must not be taken for rows.
                self._slot_of[missing] = -1
                self._holds[places] = -1
                self._used_at[places] = 0
                raise
        return self._slot_of[index]

    def _free_slots(self, wanted: int) -> np.ndarray:
        fresh = min(wanted, self.n_slots - self._filled)
        places = np.arange(self._filled, self._filled + fresh)
        self._filled += fresh
        if fresh < wanted:
            # The longest unused go; those of the present request are the latest of all.
            ages = self._used_at.copy()
            ages[places] = self._clock
            gone = np.sort(np.argpartition(ages, wanted - fresh - 1)[: wanted - fresh])
            held = self._holds[gone]
            self._slot_of[held[held >= 0]] = -1
            places = np.concatenate([gone, places])
        return places

    @pool.with_one_blas_thread
    def _compute(self, index: np.ndarray, places: np.ndarray) -> None:
        self.computed += len(index)
        every, coarse = slice(0, self.shape[0]), not self.exact
        if places[-1] - places[0] + 1 == len(places):
            # Neighbouring slots: computed where they belong.
            out = self.cache[places[0] : places[-1] + 1]
            for _ in self._source.tiles(index, every, coarse, out):
                pass
            return
        for of_rows, of_columns, tile in self._source.tiles(index, every, coarse):
            self.cache[places[of_rows], of_columns] = tile

    @property
    def full(self) -> bool:
        """Whether all rows are in the cache."""
        return self._filled == self.shape[0] and bool(np.all(self._slot_of >= 0))

    @pool.with_one_blas_thread
    def fill(self) -> bool:
        """Compute the whole matrix, half of it by symmetry; False where it does not fit."""
        n = self.shape[0]
        if self.n_slots < n:
            return False
        if self.full:
            return True
        for part in slices(0, n, _SQUARE):
            rest = slice(part.start, n)
            out = self.cache[part, rest]
            tiles = self._source.tiles(self.columns[part], rest, not self.exact, out)
            for of_rows, of_columns, _ in tiles:
                a, b = part.start + of_rows.start, part.start + of_columns.start
                stop = part.start + of_columns.stop
                height = of_rows.stop - of_rows.start
                # Mirrored piece by piece while the tile is at hand; what lies in this part's own
                # columns has been computed.
                for piece in slices(max(b, part.stop), stop, _MIRRORED):
                    self.cache[piece, a : a + height] = self.cache[a : a + height, piece].T
        self._slot_of[:] = self._holds[:] = self.columns
        self._filled = n
        self.computed += n
        return True

    # --- products, for a certificate --------------------------------------------------------

    def intercept_shift(self, c: np.ndarray) -> float:
        intercept_shifts = self._source.intercept_shifts
        return 0.0 if intercept_shifts is None else inner(c, intercept_shifts)

    def _product(self, c: np.ndarray) -> np.ndarray:
        return self.product(self.columns, c)

    @pool.with_one_blas_thread
    def product(
        self,
        index: np.ndarray,
        c: np.ndarray,
        coarse: bool = False,
        wanted: np.ndarray | None = None,
    ) -> np.ndarray:
        """``K c`` at the positions ``index``, for coefficients ``c`` there and zero elsewhere.

        ``coarse`` takes entries in float32, where the cache does, and sums them in float64.  Where
        a coefficient is zero and the entry not ``wanted``, the product is not computed.
        """
        coarse = coarse and not self.exact
        out = np.zeros(len(index))
        used = np.flatnonzero(c)
        if not len(used):
            return out
        # The coefficients' own rows and columns are a symmetric block: half of it is enough.
        rest = np.flatnonzero(c == 0.0 if wanted is None else (c == 0.0) & wanted)
        values = c[used]
        if len(rest):
            for i, j, tile in self._source.tiles(index[rest], index[used], coarse):
                _add_tile(tile, values[j], rest[i], out)
        for part in slices(0, len(used), TILE_ROWS):
            mine = index[used[part]]
            for i, j, tile in self._source.tiles(mine, index[used[part.start :]], coarse):
                rows, columns = used[part][i], used[part.start :][j]
                # Beyond the diagonal block the mirrored tile counts too.
                beyond = max(0, (part.stop - part.start) - j.start)
                _add_tile(tile, c[columns], rows, out)
                if beyond < tile.shape[1]:
                    _add_tile(tile[:, beyond:].T, c[rows], columns[beyond:], out)
        return out

    def points(self, index: np.ndarray | None = None) -> Design:
        """The data at some of the positions; all of them by default."""
        if index is None and self.samples is self.columns:
            return self.design
        return self.design.take(self.samples if index is None else self.samples[index])

    def enclosed_product(
        self, index: np.ndarray, c: np.ndarray, product: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """``K c`` as :meth:`product` gave it, and bounds of its errors."""
        size = total_above(np.abs(c))
        used = int(np.count_nonzero(c))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            largest = self.largest
            if isinstance(self._source, _ValuesSource):
                # Given values need not be those of a scalar product.
                largest = max(largest, self._largest_given(index, c))
            error = size * (self._source.error + gamma(used + 2) * (largest + self._source.error))
        return product, np.full(len(product), np.inf if np.isnan(error) else error + 2.0**-1000)

    def _largest_given(self, index: np.ndarray, c: np.ndarray) -> float:
        tiles = self._source.tiles(index, index[np.flatnonzero(c)], False)
        return max((float(np.abs(tile).max(initial=0.0)) for _, _, tile in tiles), default=0.0)

    def doubled_product(
        self, index: np.ndarray, c: np.ndarray, at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """``K c`` in twice float64's digits, in two parts, and bounds of their errors.

        The rows ``at`` of it, which count among ``index``.  None for a kernel that is not known in
        so many digits, and where it would take too long.
        """
        used = np.flatnonzero(c)
        values, m, n = np.ascontiguousarray(c[used]), len(used), len(at)
        d = self.design.n_features
        out, rest, size = np.zeros((3, n))
        if self.doubling_cost(n, m) > _AFFORDABLE:
            return None
        kernel, twice = self.kernel, 8.0 * UNIT * UNIT
        if isinstance(kernel, RBFKernel | PolynomialKernel):
            x = self._whole_points(index)
            if x is None:
                return None
            factor = kernel.gamma
            if isinstance(kernel, RBFKernel):
                x, factor = kernel.within_range(x)
            points = np.ascontiguousarray(x[at]), np.ascontiguousarray(x[used])
            arguments: tuple[Any, ...] = (*points, values, factor)
            if isinstance(kernel, RBFKernel):
                double_double.gaussian_dot_parts(*arguments, out, rest, size)
                radius = size * ((d + 4.0) * 2.0**-86 + (m + 4.0) * twice)
            else:
                more = kernel.coef0, kernel.degree
                double_double.polynomial_dot_parts(*arguments, *more, out, rest, size)
                radius = size * (2.0 * kernel.degree * (d + 8.0) + m + 4.0) * 2.0 * twice
            with np.errstate(over="ignore"):
                square = float(np.einsum("ij,ij->i", x, x).max(initial=0.0))
            radius = radius + _lost(kernel, square, d) * total_above(np.abs(values))
        elif isinstance(self._source, _ValuesSource):
            low = np.zeros(m)
            for rows, _, tile in self._source.tiles(index[at], index[used], False):
                block = np.ascontiguousarray(tile, dtype=np.float64)
                double_double.dense_dot_parts(block, values, low, 0.0, out, rest, size, rows.start)
            radius = size * (m + 4.0) * twice + self._source.error * total_above(np.abs(c))
        else:
            return None
        radius = radius + m * (1.0 + np.abs(values).max(initial=0.0)) * 2.0**-1040
        return out, rest, np.where(np.isfinite(out) & np.isfinite(radius), radius, np.inf)

    def doubling_cost(self, rows: int, columns: int) -> float:
        """The operations of a product of so many rows and columns in twice float64's digits."""
        return float(rows) * columns * (20.0 * self.design.n_features + 400.0)

    def _whole_points(self, index: np.ndarray) -> np.ndarray | None:
        """The points as one float64 matrix."""
        if isinstance(self.design, CSRDesign):
            rows = self.design.matrix[self.samples[index]].toarray()
        else:
            rows = self.design.matrix[self.samples[index]]
        return np.ascontiguousarray(rows, dtype=np.float64)

    def coarse_dot(self, c: np.ndarray) -> np.ndarray:
        """``K c`` as the rows of the cache would give it, without keeping any."""
        return self.product(self.columns, c, coarse=True)

    @pool.with_one_blas_thread
    def _values(self, rows: np.ndarray, columns: np.ndarray | slice, kind: Any) -> np.ndarray:
        """The entries of some rows and columns, in float32 or float64."""
        out = np.empty((len(rows), _length(columns, self.shape[0])), dtype=kind)
        for _ in self._source.tiles(rows, columns, kind == np.float32, out):
            pass
        return out

    def block(self, index: np.ndarray) -> np.ndarray:
        """The entries between some of the positions, as the rows of the cache have them."""
        return self._values(index, index, self.cache.dtype)

    def small(self, index: np.ndarray) -> SmallGram:
        """The matrix of a few of the positions, whole."""
        return SmallGram(self, self.block(index), self.diagonal[index])

    def cached_errors(self) -> tuple[float, float, np.ndarray]:
        """The bounds of :meth:`entry_errors`, for the rows of the cache and of coarse entries."""
        return self._source.errors() if self.exact else self._source.coarse_errors()

    @property
    def places(self) -> np.ndarray:
        """The slot of the cache that holds each position's row, or -1."""
        return self._slot_of

    @property
    def bounded(self) -> bool:
        """Whether no entry is larger than :attr:`largest`, up to :attr:`entry_error`."""
        return self.kernel.semidefinite and isinstance(self._source, _InnerProductSource)

    @property
    def entry_error(self) -> float:
        """A bound on the error of every entry in float64, proved and not typical."""
        return self._source.error

    def entry_errors(self) -> tuple[float, float, np.ndarray]:
        """Numbers ``a`` and ``b``, and ``s``, of a sharper one: ``a + b (s_i + s_j)``."""
        return self._source.errors()

    def exact_rows(self, index: np.ndarray) -> np.ndarray:
        """Whole rows in float64, which are not kept."""
        return self._values(index, slice(0, self.shape[0]), np.float64)

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The entries between some of the positions, in float64."""
        return self._values(index, index, np.float64)

    @pool.with_one_blas_thread
    def between(
        self, rows: np.ndarray, columns: np.ndarray, c: np.ndarray, coarse: bool = False
    ) -> np.ndarray:
        """``K c`` at the positions ``rows``, for coefficients ``c`` at those of ``columns``."""
        out = np.zeros(len(rows))
        used = np.flatnonzero(c)
        if len(used):
            for i, j, tile in self._source.tiles(rows, columns[used], coarse):
                out[i] += tile @ c[used[j]].astype(tile.dtype, copy=False)
        return out

    def take(self, index: np.ndarray) -> PartialGram:
        """The matrix of some of the positions, with the cache of the whole."""
        return PartialGram(self, index, self.samples[index])

    @property
    def whole(self) -> Gram:
        return self


class SmallGram(_Face):
    """A small part of a :class:`Gram` matrix, computed whole."""

    full = True

    def __init__(self, whole: Gram, matrix: np.ndarray, diagonal: np.ndarray) -> None:
        self.kernel = whole.kernel
        self.cache = matrix
        self.shape = matrix.shape
        self.diagonal = diagonal
        self.n_slots = len(matrix)
        self.columns = np.arange(len(matrix))
        self.runs = np.array([[0, len(matrix)]], dtype=np.intp)
        self.relative_error, self.largest = whole.relative_error, whole.largest
        # There is nothing to compute anew: what is found here is only where to start.
        self.exact = True

    def to_float64(self) -> None:
        pass

    def fill(self) -> bool:
        return True

    def entries(self, index: np.ndarray) -> np.ndarray:
        return self.cache[np.ix_(index, index)].astype(np.float64)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return index

    def _product(self, c: np.ndarray) -> np.ndarray:
        # As at every start; the product would convert the matrix.
        return self.cache @ c if c.any() else np.zeros(len(c))


class PartialGram(_Face):
    """A submatrix of a :class:`Gram` matrix, whose cache it shares."""

    def __init__(self, whole: Gram, index: np.ndarray, samples: np.ndarray) -> None:
        self.whole = whole
        self.kernel = whole.kernel
        self.columns = index
        self.samples = samples
        self.shape = (len(index), len(index))
        self.diagonal = whole.diagonal[index]
        self._runs: np.ndarray | None = None

    @property
    def runs(self) -> np.ndarray:
        if self._runs is None:
            self._runs, _ = runs_of(self.columns, np.array([0, len(self.columns)]))
        return self._runs

    @property
    def cache(self) -> np.ndarray:
        return self.whole.cache

    @property
    def n_slots(self) -> int:
        return self.whole.n_slots

    @property
    def rounding(self) -> float:
        return self.whole.rounding

    @property
    def largest(self) -> float:
        return float(np.abs(self.diagonal).max(initial=0.0))

    @property
    def exact(self) -> bool:
        return self.whole.exact

    @property
    def relative_error(self) -> float:
        return self.whole.relative_error

    @property
    def full(self) -> bool:
        return self.whole.full

    def fill(self) -> bool:
        return self.whole.fill()

    def to_float64(self) -> None:
        self.whole.to_float64()

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.whole.rows(self.columns[index])

    def intercept_shift(self, c: np.ndarray) -> float:
        intercept_shifts = self.whole._source.intercept_shifts
        return 0.0 if intercept_shifts is None else inner(c, intercept_shifts[self.columns])

    def _product(self, c: np.ndarray) -> np.ndarray:
        return self.whole.product(self.columns, c)

    def between(
        self, rows: np.ndarray, columns: np.ndarray, c: np.ndarray, coarse: bool = False
    ) -> np.ndarray:
        return self.whole.between(self.columns[rows], self.columns[columns], c, coarse)

    def coarse_dot(self, c: np.ndarray) -> np.ndarray:
        return self.whole.product(self.columns, c, coarse=True)

    def block(self, index: np.ndarray) -> np.ndarray:
        return self.whole.block(self.columns[index])

    def small(self, index: np.ndarray) -> SmallGram:
        return self.whole.small(self.columns[index])

    def entries(self, index: np.ndarray) -> np.ndarray:
        return self.whole.entries(self.columns[index])

    def take(self, index: np.ndarray) -> PartialGram:
        return PartialGram(self.whole, self.columns[index], self.samples[index])


class DoubledGram(PartialGram):
    """A matrix beside itself: a coefficient that may have either sign is two that have one.

    Parameters
    ----------
    half : Gram or PartialGram
    """

    def __init__(self, half: Gram | PartialGram) -> None:
        super().__init__(half.whole, np.tile(half.columns, 2), np.tile(half.samples, 2))
        self.half = half

    def fold(self, c: np.ndarray) -> np.ndarray:
        n = self.half.n_samples
        out: np.ndarray = c[:n] + c[n:]
        return out

    def unfold(self, c: np.ndarray) -> np.ndarray:
        return np.concatenate([np.maximum(c, 0.0), np.minimum(c, 0.0)])

    def rows(self, index: np.ndarray) -> np.ndarray:
        # A row of the matrix stands for both.
        once, where = np.unique(index % self.half.n_samples, return_inverse=True)
        return self.half.rows(once)[where]

    def _product(self, c: np.ndarray) -> np.ndarray:
        return np.tile(self.half.dot(self.fold(c)), 2)

    def coarse_dot(self, c: np.ndarray) -> np.ndarray:
        return np.tile(self.half.coarse_dot(self.fold(c)), 2)


class AnchoredGram:
    """A matrix with a further point at the origin of the kernel's space: a row of zeros.

    Its coefficient, which may be any number and costs nothing, gives all coefficients together a
    sum of zero.  So a machine without an intercept, whose dual has no such constraint, is solved by
    the steps of one that has it; a step of a coefficient with the anchor's is one of it alone.

    Parameters
    ----------
    of : Gram, PartialGram, SmallGram or DoubledGram
    """

    def __init__(self, of: Any) -> None:
        self.of = of
        self.n_samples = of.n_samples + 1
        self.diagonal = np.append(of.diagonal, 0.0)

    def __getattr__(self, name: str) -> Any:
        # The cache, its columns and its precision, of which the anchor has no part.
        return getattr(self.of, name)

    def fold(self, c: np.ndarray) -> np.ndarray:
        out: np.ndarray = self.of.fold(c[:-1])
        return out

    def unfold(self, c: np.ndarray) -> np.ndarray:
        own = self.of.unfold(c)
        return np.append(own, -own.sum())

    def dot(self, c: np.ndarray) -> np.ndarray:
        """``K c`` in float64."""
        return np.append(self.of.dot(c[:-1]), 0.0)

    def within(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The entries between some of the positions, which are in order: the anchor's is last."""
        own = index[index < len(self.columns)]
        slots, columns, block, ready = self.of.within(own)
        if len(own) < len(index):
            block = np.pad(block, (0, 1))
            slots, ready = np.append(slots, 0), np.append(ready, True)
        return slots, columns, block, ready

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The entries between some of the positions in float64, and a constant added to all.

        Moves whose sum is zero do not feel it, and it makes a definite matrix of one that is
        definite without the anchor.
        """
        own = index[index < len(self.columns)]
        out = np.pad(self.of.entries(own), (0, len(index) - len(own)))
        return out + float(out.diagonal().mean())


def runs_of(index: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of neighbouring columns: where each begins in the whole, and how long it is.

    The parts are one after another in ``index``; the second result is where the pieces of each
    part begin.
    """
    breaks = np.diff(index) != 1
    breaks[starts[1:-1] - 1] = True
    edges = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(index)]])
    runs = np.empty((len(edges) - 1, 2), dtype=np.intp)
    runs[:, 0], runs[:, 1] = index[edges[:-1]], np.diff(edges)
    return runs, np.searchsorted(edges, starts)


# --- one matrix for many fits ---------------------------------------------------------------


class _Shared:
    """The data of :func:`share_gram`, and a matrix for each kernel that has been requested."""

    def __init__(self, design: Design, cache_mb: float) -> None:
        self.design = design
        self._cache_mb = cache_mb
        self._grams: dict[Kernel, Gram] = {}
        self._places: dict[bytes, list[int]] = {}
        for i, key in enumerate(_row_keys(design)):
            self._places.setdefault(key, []).append(i)

    def part(self, kernel: Kernel, design: Design, order: np.ndarray | None) -> PartialGram | None:
        """The part of the matrix that a fit's rows have; None where they are not all there."""
        index = np.empty(design.n_samples, dtype=np.intp)
        seen: dict[bytes, int] = {}
        for i, key in enumerate(_row_keys(design)):
            copies, count = self._places.get(key, ()), seen.get(key, 0)
            if count >= len(copies):
                return None
            index[i] = copies[count]
            seen[key] = count + 1
        if kernel not in self._grams:
            gram = Gram(kernel, self.design, cache_mb=self._cache_mb / (1 + len(self._grams)))
            gram.fill()
            self._grams[kernel] = gram
        samples = np.arange(len(index)) if order is None else order
        return PartialGram(self._grams[kernel], index[samples], samples)


def _row_keys(design: Design) -> Iterator[bytes]:
    """The bytes of every row, which are equal where rows are."""
    x = design.matrix
    if isinstance(design, CSRDesign):
        for a, b in itertools.pairwise(x.indptr.tolist()):
            yield x.indices[a:b].tobytes() + x.data[a:b].tobytes()
    else:
        for row in x:
            yield row.tobytes()


_sharing: ContextVar[_Shared | None] = ContextVar("sharing", default=None)


@contextlib.contextmanager
def share_gram(X: Any, *, cache_mb: float = 1000.0) -> Iterator[None]:
    """Compute the matrix of a kernel once for all fits inside the block.

    Every :class:`separatrix.SVC` that is fitted inside the block, in this thread, to rows of ``X``
    (the folds of a cross-validation, for every value of ``C``) reads its kernel from one matrix,
    which is computed when it is first used; so is one for each other kernel.  Only a kernel of
    scalar products with fixed numbers can be shared: ``gamma="scale"`` is another number for every
    fold.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        All rows that the fits may see.
    cache_mb : float, default=1000
        Megabytes for the first kernel's matrix.  A whole matrix takes ``4e-6 n_samples**2``; for a
        larger one the rows in use are kept.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from separatrix import SVC, share_gram
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> search = GridSearchCV(SVC(gamma=0.02), {"C": [0.1, 1.0, 10.0]}, cv=5)
    >>> with share_gram(X):
    ...     search = search.fit(X, y)
    >>> search.best_params_
    {'C': 10.0}
    """
    x = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    token = _sharing.set(_Shared(as_design(x), cache_mb))
    try:
        yield
    finally:
        _sharing.reset(token)


def gram_of(
    kernel: Kernel,
    design: Design,
    *,
    cache_mb: float,
    order: np.ndarray | None = None,
    fit_intercept: bool = True,
) -> Gram | PartialGram:
    """The matrix of a kernel over a design: of its own, or a part of the one that is shared."""
    shared = _sharing.get()
    if shared is not None and isinstance(kernel, InnerProductKernel):
        part = shared.part(kernel, design, order) if fit_intercept or not kernel.shifts else None
        if part is not None:
            return part
    return Gram(kernel, design, cache_mb=cache_mb, order=order, fit_intercept=fit_intercept)
