r"""Weights, means and scatter of rows: one stable pass, merged exactly.

With weights :math:`s_i`, the moments of the rows of a class are

.. math::
    w = \sum_i s_i, \qquad m = \frac{1}{w} \sum_i s_i x_i, \qquad
    S = \sum_i s_i (x_i - m)(x_i - m)'.

Rows are shifted by a provisional centre :math:`c` of their class, the mean of a sample of them,
and the sums are corrected at the end, :math:`S = \sum s_i (x_i - c)(x_i - c)' - w (m - c)(m - c)'`:
an offset that is large against the spread costs no digits, and the rows are read once.  Two sets of
moments are merged by

.. math::
    S = S_a + S_b + \frac{w_a w_b}{w_a + w_b} (m_a - m_b)(m_a - m_b)'

(Chan, Golub and LeVeque, 1983), so that the rows of a data set may come in any portions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from separatrix._compiled import compilation, outer_products, pool, row_access
from separatrix._compiled.blas import add_gram, add_gram_by_columns
from separatrix._compiled.compilation import njit
from separatrix._compiled.double_double import sum_parts
from separatrix._compiled.outer_products import add_products
from separatrix.data.design import CSRDesign, DenseDesign, Design
from separatrix.data.packing import pack, pack_triangle, unpack, unpack_triangle

__all__ = ["Moments", "Tuning", "add_gram", "mirror"]

# Columns that registers take at a time, and rows that the first-level cache holds.
_UNIT = 8
_SHORT_ROWS = 40
# Products of means that are added to a scatter at a time: they stay in the cache.
_PRODUCTS = 1 << 16
# The factor by which the rounding of a scatter may grow without a shift; beyond it the rows are
# shifted.
_HARMLESS = 100.0


@dataclass(frozen=True)
class Tuning:
    """The sizes that affect the speed of a pass, and the moments only by their rounding.

    Parameters
    ----------
    few : int
        The number of entries up to which the work around the sums takes longer than the sums.
    buffer_bytes : int
        The bytes of shifted rows that a product is made of: half the second-level cache of a core.
    buffer_rows : int
        The least number of rows that a product is made of, however long they are.
    short : int
        The most columns whose products are added up in registers.
    worth : float
        The number of multiplications from which on sums in registers are worth their compilation.
    parallel_work : float
        The number of multiplications below which a second thread costs more than it saves.
    sorted : int
        The number of rows that are sorted by class at a time: their pages are at hand.
    turned : int
        The number of rows for which targets that lie column by column (one-hot) are copied at a
        time.
    most_parts : float
        The most parts of the rows.
    own_bytes : float
        The bytes that the second and further parts may take for sums of their own.
    sample_bytes : int
        The most bytes of the rows whose means are the provisional centres.
    sample : int
        The most rows whose means these are, for all classes together.
    sample_of_class : int
        The least number of rows whose means these are, for each class.
    dense_gain : float
        The number of multiplications that BLAS makes in the time of one of sparse rows by sparse
        rows.
    """

    few: int = 20_000
    buffer_bytes: int = 1 << 20
    buffer_rows: int = 256
    short: int = 256
    worth: float = 1e9
    parallel_work: float = 300_000
    sorted: int = 1 << 13
    turned: int = 1 << 12
    most_parts: float = 4
    own_bytes: float = 8 << 20
    sample_bytes: int = 1 << 20
    sample: int = 1024
    sample_of_class: int = 8
    dense_gain: float = 8.0


@njit(nogil=True, cache=True)
def _subtract(row: Any, roots: Any, i: int) -> None:
    for k in range(roots.shape[0]):
        other, root = roots[k, i:], roots[k, i]
        for j in range(len(row)):
            row[j] -= root * other[j]


@njit(nogil=True, cache=True)
def mirror(out: Any, roots: Any) -> None:
    """Copy the upper triangle to the lower one, less ``roots' roots``, square by square."""
    p = out.shape[0]
    size = 32
    for a in range(0, p, size):
        end = min(a + size, p)
        for i in range(a, end):
            _subtract(out[i, i:], roots, i)
        for b in range(a, p, size):
            square, turned = out[a:end, b : b + size], out[b : b + size, a:end]
            for i in range(square.shape[0]):
                for j in range(i + 1 if a == b else 0, square.shape[1]):
                    turned[j, i] = square[i, j]


# --- kernels ------------------------------------------------------------------------------------


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _shift(
    x: Any,
    y: Any,
    order: Any,
    first: int,
    codes: Any,
    weights: Any,
    centres: Any,
    out: Any,
    sums: Any,
) -> None:
    """Rows minus the centres of their classes, by the roots of their weights, and their sums.

    Rows are those of ``order`` from place ``first`` on, or where that is empty, as they come.
    ``codes`` and ``weights`` may be empty: one class, no weights.  Where ``out`` is wider than
    the rows of one class, a column of ones there brings the sums with the products.
    """
    d, m = x.shape[1], y.shape[1]
    ones = out.shape[1] > d + m and not len(codes)
    for i in range(out.shape[0]):
        r = order[first + i] if len(order) else first + i
        k = codes[r] if len(codes) else 0
        root = np.sqrt(weights[r]) if len(weights) else 1.0
        for j in range(d):
            out[i, j] = root * (x[r, j] - centres[k, j])
        for j in range(m):
            out[i, d + j] = root * (y[r, j] - centres[k, d + j])
        if ones:
            out[i, d + m] = root
        else:
            # In a loop of its own: one that writes to two places is slower.
            for j in range(d + m):
                sums[k, j] += root * out[i, j]


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _add_short_rows(
    x: Any,
    y: Any,
    order: Any,
    edges: Any,
    classes: Any,
    codes: Any,
    weights: Any,
    centres: Any,
    buffer: Any,
    out: Any,
    sums: Any,
) -> None:
    """Shift rows into a buffer that the first-level cache holds, and add their products up.

    Which rows and where to is as in :meth:`_Sums.add`.
    """
    size = buffer.shape[0]
    last = len(order) if len(order) else x.shape[0]
    for k in classes:
        own = slice(0, len(centres)) if len(codes) else slice(k, k + 1)
        for a in range(edges[k], edges[k + 1], size):
            b = min(a + size, edges[k + 1])
            rows = buffer[: b - a]
            _shift(x, y, order, a, codes, weights, centres[own], rows, sums[own])
            add_products(rows, out[k], x, order, b, min(size, last - b))


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _square(block: Any, order: Any, weights: Any, inverse: Any, out: Any) -> None:
    """``root (e / u)^2`` for rows ``root e``."""
    for i in range(block.shape[0]):
        inverse_root = 1.0
        if len(weights):
            s = weights[order[i]]
            inverse_root = 1.0 / np.sqrt(s) if s > 0.0 else 0.0
        for j in range(block.shape[1]):
            t = block[i, j] * inverse[j]
            out[i, j] = t * t * inverse_root


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True)
def _sums_of_classes(
    data: Any, indices: Any, indptr: Any, y: Any, codes: Any, weights: Any, out: Any
) -> None:
    """Sums of the rows of each class, and of the targets beside them."""
    d = out.shape[1] - y.shape[1]
    for i in range(len(indptr) - 1):
        k = codes[i] if len(codes) else 0
        s = weights[i] if len(weights) else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            out[k, indices[p]] += s * data[p]
        for j in range(y.shape[1]):
            out[k, d + j] += s * y[i, j]


@njit(nogil=True, cache=True)
def _sort(codes: Any, start: int, order: Any, ends: Any) -> None:
    """Positions from ``start`` on by class, stably; ``ends[k]`` is where class ``k`` ends."""
    for k in range(len(ends)):
        ends[k] = 0
    for i in range(len(order)):
        ends[codes[start + i]] += 1
    total = 0
    for k in range(len(ends)):
        count = ends[k]
        ends[k] = total
        total += count
    for i in range(len(order)):
        k = codes[start + i]
        order[ends[k]] = start + i
        ends[k] += 1


# --- moments ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moments:
    """Weights, means and scatter of rows, by class or of all; merged exactly.

    Attributes
    ----------
    weight : ndarray of shape (K,)
        Sums of the weights of the rows of each class; one class where there are none.
    mean : ndarray of shape (K, p)
        The means of the classes; zero for a class without weight.
    scatter : ndarray of shape (p, p) or (K, p, p)
        Sums of ``s (x - m)(x - m)'`` about the means of the classes, pooled or each.
    n_rows : int
        The number of rows that went in, of any weight.
    third, fourth : ndarray of shape (K, p, p) or None
        Sums of ``s e_j^2 e_l`` and ``s e_j^2 e_l^2`` of ``e = (x - m) / unit``, for the
        shrinkage of Ledoit and Wolf.
    rest : ndarray of shape (K, p) or None
        The rounding errors of the means: where the offset is large, a mean that is merged many
        times would otherwise lose the digits of the spread.
    unit : ndarray of shape (p,) or None
        Powers of two near the spread of each column, so that fourth powers stay within range.

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.data.moments import Moments
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 7.0]])
    >>> m = Moments.of(as_design(X))
    >>> m.weight.tolist(), m.mean.tolist(), m.scatter.tolist()
    ([3.0], [[2.0, 3.0]], [[8.0, 12.0], [12.0, 24.0]])
    >>> parts = Moments.of(as_design(X[:1])).merge(Moments.of(as_design(X[1:])))
    >>> parts.scatter.tolist()
    [[8.0, 12.0], [12.0, 24.0]]
    """

    weight: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    n_rows: int
    rest: np.ndarray | None = None
    third: np.ndarray | None = None
    fourth: np.ndarray | None = None
    unit: np.ndarray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        squares = [self.scatter, self.fourth]
        scatter, fourth = (
            None if one is None else pack_triangle(one, symmetric=True) for one in squares
        )
        rest = None if self.rest is None else pack(self.rest)
        return _unpickled, (
            *(self.weight, self.mean, scatter, self.n_rows, rest),
            *(self.third, fourth, self.unit),
        )

    @property
    def n_classes(self) -> int:
        return len(self.weight)

    @property
    def n_columns(self) -> int:
        return self.mean.shape[1]

    @property
    def pooled(self) -> bool:
        """Whether the scatter is that of all classes together."""
        return self.scatter.ndim == 2

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.weight.sum())

    @property
    def steps(self) -> np.ndarray:
        """The means less that of the first class, with the rounding error of each mean."""
        steps: np.ndarray = self.mean - self.mean[0]
        return steps if self.rest is None else steps + (self.rest - self.rest[0])

    @property
    def finite(self) -> bool:
        """Whether no entry that went in was NaN or infinite, and nothing overflowed."""
        arrays = [self.weight, self.mean]
        # A fault of a column is a fault of its square.
        for squares in (self.scatter, self.fourth):
            if squares is not None:
                arrays.append(np.diagonal(squares, axis1=-2, axis2=-1))
        return all(bool(np.isfinite(a).all()) for a in arrays)

    @classmethod
    def of(
        cls,
        design: Design,
        *,
        codes: np.ndarray | None = None,
        n_classes: int = 1,
        weights: np.ndarray | None = None,
        targets: np.ndarray | None = None,
        pooled: bool = True,
        fourth: bool = False,
        tuning: Tuning = Tuning(),
    ) -> Moments:
        """The moments of the rows of a design, in one pass over them.

        Parameters
        ----------
        design : Design
        codes : ndarray of int, shape (n_samples,), optional
            The class of each row, from 0 to ``n_classes - 1``; none: one class.
        n_classes : int, default=1
        weights : ndarray of float64, shape (n_samples,), optional
            The weights of the rows, not negative; a weight of k is the same as k copies.
        targets : ndarray of float64, shape (n_samples, m), optional
            Further columns, after those of the design.
        pooled : bool, default=True
            Whether to add the scatter of the classes up.
        fourth : bool, default=False
            Whether to sum the third and fourth moments as well, by class; the scatter is then by
            class too.
        tuning : Tuning
            The sizes that the speed depends on.

        Returns
        -------
        Moments
            The moments, not finite where an entry is NaN or infinite, or where a square overflows.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rows = _Rows.of(design, codes, n_classes, weights, targets, tuning)
            return _of(rows, pooled and not fourth, fourth)

    @classmethod
    def of_folds(
        cls,
        design: Design,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        *,
        weights: np.ndarray | None = None,
        targets: np.ndarray | None = None,
    ) -> list[Moments]:
        """The moments of all rows and, after them, of the training rows of every fold.

        Where every row is held out once, the rows are read once: the moments of the held-out rows
        are merged.  Nothing is subtracted, which would leave the digits of outliers behind.

        Parameters
        ----------
        design : Design
        folds : sequence of (train, test)
            Indices of rows, as scikit-learn's splitters give them.
        weights, targets
            See :meth:`of`.

        Returns
        -------
        list of Moments
            The moments, one more than there are folds.
        """

        def of_rows(index: np.ndarray) -> Moments:
            own = None if weights is None else weights[index]
            numbers = None if targets is None else targets[index]
            return cls.of(design.take(index), weights=own, targets=numbers)

        n = design.n_samples
        held = np.sort(np.concatenate([test for _, test in folds]))
        once = np.array_equal(held, np.arange(n)) and all(len(a) + len(b) == n for a, b in folds)
        if not once:
            whole = cls.of(design, weights=weights, targets=targets)
            return [whole, *(of_rows(train) for train, _ in folds)]
        return cls.without_each([of_rows(test) for _, test in folds])

    @classmethod
    def without_each(cls, parts: Sequence[Moments]) -> list[Moments]:
        """The moments of all parts together and, after them, of all but each one."""
        # The moments of the parts before and of those after every part.
        after = list(accumulate(reversed(parts), cls.merge))[::-1]
        out, before = [after[0]], None
        for k in range(len(parts)):
            if k > 0:
                before = parts[0] if before is None else before.merge(parts[k - 1])
            rest = [m for m in (before, *after[k + 1 : k + 2]) if m is not None]
            out.append(rest[0].merge(rest[1]) if len(rest) == 2 else rest[0])
        return out

    def merge(self, other: Moments) -> Moments:
        """The moments of the rows of both.

        Raises
        ------
        ValueError
            If the two have not the same classes, columns and kinds of moments.
        """
        same = self.mean.shape == other.mean.shape and self.scatter.shape == other.scatter.shape
        if not same or (self.fourth is None) != (other.fourth is None):
            raise ValueError(
                f"Moments of {self.n_classes} classes and {self.n_columns} columns cannot be "
                f"merged with moments of {other.n_classes} classes and {other.n_columns} columns, "
                "or with moments of another kind."
            )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return self._merge(other)

    def _merge(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        left = 0.0 if self.rest is None else self.rest
        right = 0.0 if other.rest is None else other.rest
        step = (other.mean - self.mean) + (right - left)
        mean, rest = _two_sum(self.mean, left + share[:, None] * step)
        # Where only one of the two has rows, its mean to the last digit.
        for alone, only in ((self.weight == 0, other), (other.weight == 0, self)):
            mean[alone] = only.mean[alone]
            rest[alone] = 0.0 if only.rest is None else only.rest[alone]
        scatter = self.scatter + other.scatter
        factor = share * self.weight
        # The factor comes last, so that the sums stay symmetric to the last bit.
        height = max(1, _PRODUCTS // max(1, self.n_columns))
        for first in range(0, self.n_columns, height):
            rows = slice(first, first + height)
            for k in np.flatnonzero((factor != 0.0) & step.any(axis=1)):
                whole = scatter if self.pooled else scatter[k]
                whole[rows] += factor[k] * (step[k, rows, None] * step[k])
        merged = Moments(weight, mean, scatter, self.n_rows + other.n_rows, rest)
        if self.fourth is None:
            return merged
        unit = _units(merged)
        parts = [part._about(mean, rest, unit) for part in (self, other)]
        return replace(
            merged,
            third=parts[0][0] + parts[1][0],
            fourth=parts[0][1] + parts[1][1],
            unit=unit,
        )

    def _about(
        self, centre: np.ndarray, rest: np.ndarray, unit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The third and fourth moments about other centres, in other units."""
        assert self.third is not None and self.fourth is not None and self.unit is not None
        ratio = self.unit / unit
        square = ratio * ratio
        third = self.third * square[:, None] * ratio
        fourth = self.fourth * square[:, None] * square
        scatter = self.scatter / unit[:, None] / unit
        # e + h for e about the mean, whose first moments are zero.
        own = 0.0 if self.rest is None else self.rest
        h = ((self.mean - centre) + (own - rest)) / unit
        h[self.weight == 0] = 0.0
        for k in range(self.n_classes):
            if h[k].any():
                none = np.zeros(len(unit))
                _move(self.weight[k], none, scatter[k], third[k], fourth[k], h[k])
        return third, fourth


def _two_sum(a: np.ndarray, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """``a + b`` and its rounding error, zero where it overflows."""
    total, rest = sum_parts(a, b)
    return total, np.where(np.isfinite(rest), rest, 0.0)


@njit(nogil=True, cache=True)
def _move(w: float, first: Any, second: Any, third: Any, fourth: Any, h: Any) -> None:
    """Turn sums of products of ``e`` into those of ``e + h``, in place.

    ``third`` are sums of ``s e_j^2 e_l``, ``fourth`` of ``s e_j^2 e_l^2``.
    """
    p = len(h)
    for j in range(p):
        a, a2, own = h[j], h[j] * h[j], second[j, j] + 2.0 * h[j] * first[j]
        for k in range(j, p):
            b, b2 = h[k], h[k] * h[k]
            total = fourth[j, k] + 2.0 * (third[j, k] * b + third[k, j] * a)
            total += own * b2 + (second[k, k] + 2.0 * b * first[k]) * a2
            total += 4.0 * a * second[j, k] * b + w * a2 * b2
            fourth[j, k] = total
            fourth[k, j] = total
    for j in range(p):
        a, a2, own = h[j], h[j] * h[j], second[j, j] + 2.0 * h[j] * first[j]
        for k in range(p):
            third[j, k] += 2.0 * a * second[j, k] + own * h[k] + a2 * first[k] + w * a2 * h[k]


def _units(moments: Moments) -> np.ndarray:
    """Powers of two near the spread of every column within its classes; 1 where there is none."""
    diagonal = np.diagonal(moments.scatter, axis1=-2, axis2=-1)
    if diagonal.ndim == 2:
        diagonal = diagonal.sum(axis=0)
    spread = np.sqrt(diagonal / max(moments.total, 1e-300))
    return _power_of_two(spread)


def _power_of_two(values: np.ndarray) -> np.ndarray:
    exponent = np.frexp(values)[1]
    out = np.ldexp(np.ones(len(values)), exponent)
    return np.where(np.isfinite(values) & (values > 0), out, 1.0)


# --- the pass -----------------------------------------------------------------------------------


_NONE = row_access.read_only(np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows, their targets, classes and weights, and the sum of the weights of each class.

    ``codes`` and ``weights`` are empty where there is one class, or no weights.  The arrays cannot
    be written to, so that the kernels meet one type whatever the caller's arrays are.
    """

    design: Design
    y: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    mass: np.ndarray
    tuning: Tuning

    @classmethod
    def of(
        cls,
        design: Design,
        codes: np.ndarray | None,
        n_classes: int,
        weights: np.ndarray | None,
        targets: np.ndarray | None,
        tuning: Tuning,
    ) -> _Rows:
        n = design.n_samples
        y = np.empty((n, 0)) if targets is None else np.asarray(targets, dtype=np.float64)
        if n_classes == 1 or codes is None:
            own = _NONE
            mass = np.zeros(n_classes)
            mass[0] = float(n) if weights is None else float(np.sum(weights, dtype=np.float64))
        else:
            own = np.ascontiguousarray(codes, dtype=np.int64)
            mass = np.bincount(own, weights, minlength=n_classes).astype(np.float64)
        s = np.empty(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        y, own, s = (row_access.read_only(a) for a in (y, own, s))
        return cls(design, y, own, s, mass, tuning)

    @property
    def n_entries(self) -> int:
        return len(self.y) * (self.design.n_features + self.y.shape[1])


@dataclass(eq=False)
class _Sums:
    """Sums of shifted rows, of one thread.

    Attributes
    ----------
    centres : ndarray of shape (K, p)
    matrices : list of ndarray of shape (1, width, width) or (K, width, width)
        The scatter; with ``inverse`` also the third and fourth moments, in units of one by it.
    inverse : ndarray of shape (p,) or None
    short : bool
        Whether products are added up in registers, in rows of ``width`` numbers.
    tuning : Tuning
    by_columns : bool
        Whether all threads share the columns of the scatter.
    """

    centres: np.ndarray
    matrices: list[np.ndarray]
    inverse: np.ndarray | None
    short: bool
    tuning: Tuning
    by_columns: bool = False
    sums: np.ndarray = field(init=False)
    # Shifted rows, for as long as rows are added.
    buffer: np.ndarray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.centres.shape)

    def _scratch(self) -> np.ndarray:
        if self.buffer is None:
            width = self.matrices[0].shape[-1]
            tuning = self.tuning
            rows = max(tuning.buffer_rows, tuning.buffer_bytes // (8 * max(1, width)))
            # Zero beyond the columns.
            self.buffer = np.zeros((_SHORT_ROWS if self.short else rows, width))
        return self.buffer

    def add(
        self, x: Any, y: Any, order: Any, edges: Any, classes: Any, codes: Any, weights: Any
    ) -> None:
        """Add the rows of each ``k`` of ``classes`` to the matrix of that number.

        They are those of ``order`` from place ``edges[k]`` to ``edges[k + 1]``, or where that is
        empty, as they lie.  With ``codes``, each row has the centre of its own class.
        """
        buffer = self._scratch()
        if self.short:
            before = (x, y, order, edges, classes, codes, weights, self.centres, buffer)
            _add_short_rows(*before, self.matrices[0], self.sums)
            return
        size = len(buffer)
        squares = buffer if self.inverse is None else np.empty_like(buffer)
        for k in classes.tolist():
            own = slice(None) if len(codes) else slice(k, k + 1)
            for a in range(int(edges[k]), int(edges[k + 1]), size):
                block = buffer[: min(size, int(edges[k + 1]) - a)]
                _shift(x, y, order, a, codes, weights, self.centres[own], block, self.sums[own])
                add = add_gram_by_columns if self.by_columns else add_gram
                add(block, self.matrices[0][k])
                if self.inverse is not None:
                    own_squares = squares[: len(block)]
                    _square(block, order[a : a + size], weights, self.inverse, own_squares)
                    self.matrices[1][k] += own_squares.T @ block
                    add_gram(own_squares, self.matrices[2][k])


def _of(rows: _Rows, pooled: bool, fourth: bool) -> Moments:
    design = rows.design
    # A design that makes columns of its own has blocks of its own.
    if isinstance(design, CSRDesign) and type(design).blocks is CSRDesign.blocks and not fourth:
        found = _of_sparse(design, rows, pooled)
        if found is not None:
            return found
    if not fourth and not len(rows.weights) and rows.n_entries <= rows.tuning.few:
        return _of_few(rows, pooled)
    centres, spread = _centres(rows, fourth)
    unit = _power_of_two(spread) if fourth else None
    out = _pass(rows, centres, pooled, unit)
    if unit is not None and np.isfinite(out.scatter).all():
        # The sample may have missed values that are rare and large, or small.
        better = _units(out)
        if np.any(np.abs(np.log2(better) - np.log2(unit)) > 200.0):
            out = _pass(rows, centres, pooled, better)
    return out


def _of_few(rows: _Rows, pooled: bool) -> Moments:
    """The moments, from the rows about the means of their classes, all of them at once."""
    design, codes, mass = rows.design, rows.codes, rows.mass
    (n, d), k = design.shape, len(mass)
    table = np.empty((n, d + rows.y.shape[1]))
    for part, block in design.blocks():
        table[part, :d] = block
    table[:, d:] = rows.y
    p = table.shape[1]
    mean, rest = np.zeros((k, p)), np.zeros((k, p))
    scatter = np.zeros((p, p) if pooled else (k, p, p))
    for j in np.flatnonzero(mass):
        own = table[codes == j] if len(codes) else table
        # From the first of them, so that the centre of equal values is that very value.
        shifted = own - own[0]
        centre = own[0] + np.add.reduce(shifted, axis=0) / len(own)
        np.subtract(own, centre, out=shifted)
        step = np.add.reduce(shifted, axis=0) / len(own)
        mean[j], rest[j] = _two_sum(centre, step)
        root = math.sqrt(len(own)) * step
        own = shifted.T @ shifted - root * root[:, None]
        squares = own.reshape(-1)[:: p + 1]
        np.maximum(squares, 0.0, out=squares)
        if pooled:
            scatter += own
        else:
            scatter[j] = own
    return Moments(mass, mean, scatter, n, rest)


def _centres(rows_of: _Rows, spreads: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means of a sample of the rows by class, and with ``spreads`` the spread about them."""
    design, y, codes, weights = rows_of.design, rows_of.y, rows_of.codes, rows_of.weights
    (n, d), n_classes, mass = design.shape, len(rows_of.mass), rows_of.mass
    size = min(rows_of.tuning.sample, rows_of.tuning.sample_bytes // (8 * max(1, d + y.shape[1])))
    size = max(size, rows_of.tuning.sample_of_class * n_classes)
    rows = np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.int64)
    if len(weights):
        rows = rows[weights[rows] > 0.0]
    own = codes[rows] if len(codes) else np.zeros(len(rows), dtype=np.int64)
    seen = np.bincount(own, minlength=n_classes)
    missed = (mass > 0) & (seen == 0)
    if missed.any():
        every = codes if len(codes) else np.zeros(n, dtype=np.int64)
        # The first row with a weight of each class that the sample missed.
        candidates = np.flatnonzero(missed[every])
        if len(weights):
            candidates = candidates[weights[candidates] > 0.0]
        firsts = np.unique(every[candidates], return_index=True)[1]
        rows = np.concatenate([rows, candidates[firsts]])
        own = every[rows]
        seen = np.bincount(own, minlength=n_classes)
    sample = np.empty((len(rows), d + y.shape[1]))
    every_row = len(rows) == n
    for part, block in (design if every_row else design.take(rows)).blocks():
        sample[part, :d] = block
    sample[:, d:] = y if every_row else y[rows]
    centres = np.zeros((n_classes, sample.shape[1]))
    for k in np.flatnonzero(seen):
        # From one of them, so that the centre is its very value where all values are equal, or
        # where it weighs far more than the others.
        some = sample[own == k] if len(codes) else sample
        if not len(weights):
            centres[k] = some[0] + np.add.reduce(some - some[0], axis=0) / len(some)
            continue
        share = weights[rows[own == k]]
        first = some[np.argmax(share)]
        centres[k] = first + np.average(some - first, axis=0, weights=share / share.max())
    centres[~np.isfinite(centres)] = 0.0
    if not (spreads and len(rows)):
        return centres, centres[0]
    return centres, np.sqrt(np.mean((sample - centres[own]) ** 2, axis=0))


def _pass(rows: _Rows, centres: np.ndarray, pooled: bool, unit: np.ndarray | None) -> Moments:
    tuning = rows.tuning
    n, (k, p) = rows.design.n_samples, centres.shape
    work = 0.5 * float(n) * p * p
    short = p <= tuning.short and unit is None and work >= tuning.worth and outer_products.KNOWN
    width = -(-p // _UNIT) * _UNIT if short else p
    shape = (1 if pooled else k, width, width)
    kinds = 1 if unit is None else 3
    inverse = None if unit is None else 1.0 / unit

    def matrices() -> list[np.ndarray]:
        return [np.zeros(shape) for _ in range(kinds)]

    # Each part has sums and scratch of its own.
    most = min(
        tuning.most_parts,
        1.0 + tuning.own_bytes / (8.0 * kinds * max(int(np.prod(shape)), 1)),
    )
    parts = pool.ranges(n, work, most) if most >= 2.0 else [(0, n)]
    by_class = not pooled and len(parts) == 1 and k > 1 and work >= tuning.parallel_work
    # Where a matrix for each part of the rows would be too large, the threads share the columns.
    by_columns = (
        len(parts) == 1 and not by_class and p > tuning.short and work >= tuning.parallel_work
    )
    with pool.one_blas_thread():
        if by_class:
            shared = matrices()
            group = [
                _Sums(centres, shared, inverse, short, tuning) for _ in range(pool.n_threads())
            ]
            _share_classes(rows, group)
        else:
            group = [_Sums(centres, matrices(), inverse, short, tuning, by_columns) for _ in parts]
            pool.run(
                [
                    partial(_add_rows, rows, own, pooled, *part)
                    for own, part in zip(group, parts, strict=True)
                ]
            )
    first = group[0]
    for other in group[1:]:
        first.sums += other.sums
        if not by_class:
            for own, more in zip(first.matrices, other.matrices, strict=True):
                own += more
    if width > p and not (pooled and len(rows.codes)):
        # The sums that a column of ones has brought.
        scatter = first.matrices[0]
        first.sums[: len(scatter)] += scatter[:, :p, p]
    return _corrected(centres, first.sums, first.matrices, rows, pooled, unit)


def _tiles(rows: _Rows, start: int, stop: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Row-major blocks of rows, the matrix itself where it is one, and what goes with them."""
    design, y, tuning = rows.design, rows.y, rows.tuning
    blocks: Any = None
    if isinstance(design, DenseDesign) and type(design).blocks is DenseDesign.blocks:
        x = design.matrix
        if x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative:
            step = max(1, stop - start if y.flags.c_contiguous else tuning.turned)
            parts = [slice(a, min(a + step, stop)) for a in range(start, stop, step)]
            blocks = ((part, x[part]) for part in parts)
    if blocks is None:
        size = max(
            tuning.buffer_rows,
            tuning.buffer_bytes // (8 * max(1, design.n_features + y.shape[1])),
        )
        blocks = design.blocks(start, stop, owned=True, size=size)
    for part, block in blocks:
        beside = row_access.read_only(np.ascontiguousarray(y[part]))
        # Empty arrays stay empty.
        yield row_access.read_only(block), beside, rows.codes[part], rows.weights[part]


def _sorted(
    codes: np.ndarray, n: int, k: int, size: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of some rows after the other by class, and where each class begins and ends."""
    for a in range(0, n, size):
        b, edges = min(a + size, n), np.zeros(k + 1, dtype=np.int64)
        if len(codes):
            order = np.empty(b - a, dtype=np.int64)
            _sort(codes, a, order, edges[1:])
        else:
            order = np.arange(a, b, dtype=np.int64)
            edges[1:] = len(order)
        yield row_access.read_only(order), edges


def _add_rows(rows: _Rows, sums: _Sums, pooled: bool, start: int, stop: int) -> None:
    k = len(sums.centres)
    for x, y, codes, weights in _tiles(rows, start, stop):
        if pooled:
            edges, classes = np.array([0, len(x)]), np.zeros(1, dtype=np.int64)
            sums.add(x, y, _NONE, edges, classes, codes, weights)
            continue
        for order, edges in _sorted(codes, len(x), k, rows.tuning.sorted):
            sums.add(x, y, order, edges, np.arange(k), _NONE, weights)
    # There are more parts than threads, and what no part needs any longer is free for the next.
    sums.buffer = None


def _share_classes(rows: _Rows, group: list[_Sums]) -> None:
    """The classes dealt out to the threads: no thread needs a scatter of its own."""
    k = len(rows.mass)
    for x, y, codes, weights in _tiles(rows, 0, rows.design.n_samples):
        for order, edges in _sorted(codes, len(x), k, rows.tuning.sorted):
            counts = np.diff(edges)
            loads = np.zeros(len(group))
            dealt: list[list[int]] = [[] for _ in group]
            for j in sorted(range(k), key=lambda j: -counts[j]):
                least = int(np.argmin(loads))
                dealt[least].append(j)
                loads[least] += counts[j]

            pool.run(
                [
                    partial(sums.add, x, y, order, edges, np.array(mine, np.int64), _NONE, weights)
                    for sums, mine in zip(group, dealt, strict=True)
                ]
            )


def _corrected(
    centres: np.ndarray,
    sums: np.ndarray,
    matrices: list[np.ndarray],
    rows: _Rows,
    pooled: bool,
    unit: np.ndarray | None,
) -> Moments:
    """The moments about the means, from sums about the provisional centres."""
    mass = rows.mass
    step = sums / np.where(mass > 0, mass, 1.0)[:, None]
    mean, rest = _two_sum(centres, step)
    mean[mass == 0], rest[mass == 0] = 0.0, 0.0
    p = mean.shape[1]
    scatter, *higher = matrices
    if scatter.shape[-1] > p:
        scatter = np.ascontiguousarray(scatter[..., :p, :p])
    none = np.empty((0, p))
    if unit is not None:
        for k, (cubes, squares) in enumerate(zip(*higher, strict=True)):
            mirror(squares, none)
            mirror(scatter[k], none)
            cubes /= unit
            second = scatter[k] / unit[:, None] / unit
            first, h = sums[k] / unit, -step[k] / unit
            _move(mass[k], first, second, cubes, squares, h)
    roots = np.sqrt(mass)[:, None] * step

    def finish(first: int, last: int) -> None:
        for k in range(first, last):
            mirror(scatter[k], roots if pooled else roots[k : k + 1])

    parts = pool.ranges(len(scatter), float(scatter.size))
    pool.run([partial(finish, *part) for part in parts])
    # Rounding may leave a column without variance a negative one.
    diagonal = np.einsum("...ii->...i", scatter)
    np.maximum(diagonal, 0.0, out=diagonal)
    if pooled:
        scatter = scatter[0]
    third, fourth = higher or (None, None)
    return Moments(mass, mean, scatter, rows.design.n_samples, rest, third, fourth, unit)


def _of_sparse(design: CSRDesign, rows: _Rows, pooled: bool) -> Moments | None:
    """Moments from stored entries alone; None where tiles are faster or more exact."""
    (n, d), k, mass = design.shape, len(rows.mass), rows.mass
    if design.gram_cost * rows.tuning.dense_gain > 0.5 * float(n) * d * d:
        return None
    y, codes = np.ascontiguousarray(rows.y), rows.codes
    s = rows.weights if len(rows.weights) else np.ones(n)
    p = d + y.shape[1]
    mean = np.zeros((k, p))
    _sums_of_classes(*design.rows, y, codes, rows.weights, mean)
    mean /= np.where(mass > 0, mass, 1.0)[:, None]
    scatter = np.empty((1 if pooled else k, p, p))
    for j in range(len(scatter)):
        own = s
        if not pooled and k > 1:
            own = np.where(codes == j, s, 0.0) if len(codes) else s * (j == 0)
        scatter[j, :d, :d] = design.gram(own)
        weighted = own[:, None] * y
        scatter[j, :d, d:] = design.t_dot(weighted) if y.shape[1] else 0.0
        scatter[j, d:, :d] = scatter[j, :d, d:].T
        scatter[j, d:, d:] = y.T @ weighted
    whole = np.einsum("...ii->...i", scatter).copy()
    roots = np.sqrt(mass)[:, None] * mean
    for j in range(len(scatter)):
        mirror(scatter[j], roots if pooled else roots[j : j + 1])
    diagonal = np.einsum("...ii->...i", scatter)
    # Where the squares of the means cancel most of it, digits are lost: the rows are shifted.
    if np.any(whole > _HARMLESS * diagonal):
        return None
    return Moments(mass, mean, scatter[0] if pooled else scatter, n)


def _unpickled(
    weight: Any, mean: Any, scatter: Any, n_rows: int, rest: Any, third: Any, fourth: Any, unit: Any
) -> Moments:
    rest = None if rest is None else unpack(rest)
    fourth = None if fourth is None else unpack_triangle(fourth)
    return Moments(weight, mean, unpack_triangle(scatter), n_rows, rest, third, fourth, unit)
