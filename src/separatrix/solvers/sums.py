"""Means and scatter of features and targets of dense rows, in one pass at the speed of the cores.

What :class:`separatrix.moments.Moments` does for rows of several classes, for those of one: a
column of ones beside the shifted features and targets brings their sums with the products.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np

from separatrix import _kernels, _outer
from separatrix._outer import add_products
from separatrix.design import DenseDesign, Design
from separatrix.moments import Moments

__all__ = ["moments"]

# Columns, with the targets, up to which this is faster than BLAS.
_MOST_COLUMNS = 256
# Rows that are shifted at a time: with the sums they are to stay in the first-level cache.
_ROWS = 64
# Rows that the provisional centres are the means of.
_SAMPLE = 1024
# Rows whose targets are copied at a time.
_TURNED = 4096
# All widths are multiples of this; it is what the tiles divide.
_UNIT = 8


@numba.njit(nogil=True, cache=True, fastmath=_kernels.FASTMATH)
def _shift(x: Any, y: Any, s: Any, first: int, centre: Any, rows: Any) -> None:
    """``sqrt(s) [x - c | y - c | 1]`` of the rows from ``first`` on."""
    d, m = x.shape[1], y.shape[1]
    for i in range(rows.shape[0]):
        r = first + i
        if len(s):
            root = np.sqrt(s[r])
            for j in range(d):
                rows[i, j] = root * (x[r, j] - centre[j])
            for j in range(m):
                rows[i, d + j] = root * (y[r, j] - centre[d + j])
            rows[i, d + m] = root
        else:
            for j in range(d):
                rows[i, j] = x[r, j] - centre[j]
            for j in range(m):
                rows[i, d + j] = y[r, j] - centre[d + j]
            rows[i, d + m] = 1.0


@numba.njit(nogil=True, cache=True)
def _accumulate(
    x: Any, y: Any, s: Any, start: int, stop: int, centre: Any, out: Any, buffer: Any
) -> None:
    """Add the products of rows, shifted by ``centre`` and weighted, and with a last column of ones.

    ``s`` is empty where there are no weights; ``buffer`` is zero beyond the columns.
    """
    for first in range(start, stop, buffer.shape[0]):
        rows = buffer[: min(buffer.shape[0], stop - first)]
        _shift(x, y, s, first, centre, rows)
        add_products(rows, out)


def moments(
    design: Design, targets: np.ndarray, weights: np.ndarray | None = None
) -> Moments:
    """Weight, means and scatter of ``[X | Y]``, as :meth:`Moments.of` gives them.

    Parameters
    ----------
    design : Design
    targets : ndarray of float64, shape (n_samples, m)
    weights : ndarray of float64, shape (n_samples,), optional
    """
    n, d = design.shape
    p = d + targets.shape[1]
    used = n if weights is None else int(np.count_nonzero(weights))
    if not (_outer._KNOWN and isinstance(design, DenseDesign) and p <= _MOST_COLUMNS and used):
        return Moments.of(design, weights=weights, targets=targets)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _moments(design, targets, weights)


def _moments(design: DenseDesign, targets: np.ndarray, weights: np.ndarray | None) -> Moments:
    n, d = design.shape
    p = d + targets.shape[1]
    centre = _centre(design, targets, weights)
    # Read-only, as memory-mapped input is: one type, compiled once.
    s = _kernels.read_only(np.empty(0) if weights is None else weights)
    # The column of ones brings the sums.
    padded = -(-(p + 1) // _UNIT) * _UNIT
    ranges = _kernels.ranges(n, 0.5 * float(n) * p * p)
    parts = [np.zeros((padded, padded)) for _ in ranges]
    x = design.rows[0]
    direct = x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative

    def work(start: int, stop: int, out: np.ndarray) -> None:
        buffer = np.zeros((min(_ROWS, n), padded))
        if direct:
            # Targets that lie column by column (one-hot) are turned, some rows at a time.
            size = stop - start if targets.flags.c_contiguous else _TURNED
            for a in range(start, stop, size):
                b = min(a + size, stop)
                y = _kernels.read_only(np.ascontiguousarray(targets[a:b]))
                _accumulate(x[a:b], y, s[a:b], 0, b - a, centre, out, buffer)
            return
        for part, block in design.blocks(start, stop, owned=True):
            y = _kernels.read_only(np.ascontiguousarray(targets[part]))
            tile = _kernels.read_only(block)
            _accumulate(tile, y, s[part], 0, len(block), centre, out, buffer)

    _kernels.run([partial(work, a, b, out) for (a, b), out in zip(ranges, parts, strict=True)])
    products = np.sum(parts, axis=0)
    scatter, sums = products[:p, :p], products[:p, p]
    scatter = np.triu(scatter) + np.triu(scatter, 1).T
    weight = float(n if weights is None else weights.sum())
    step = sums / weight
    # What is left of the shift by a provisional centre.
    scatter -= weight * np.outer(step, step)
    np.fill_diagonal(scatter, np.maximum(np.diagonal(scatter), 0.0))
    return Moments(np.array([weight]), (centre + step)[None, :], scatter, n)


def _centre(
    design: DenseDesign, targets: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Means of a sample of the rows."""
    n, d = design.shape
    rows = np.arange(n) if n <= _SAMPLE else np.linspace(0, n - 1, _SAMPLE).astype(np.int64)
    if weights is not None:
        some = rows[weights[rows] > 0.0]
        rows = some if len(some) else np.flatnonzero(weights)[:1]
    centre = np.empty(d + targets.shape[1])
    # The mean of columns near the largest floats would overflow; these are left to QR.
    centre[:d] = design.rows[0][rows].mean(axis=0, dtype=np.float64)
    centre[d:] = targets[rows].mean(axis=0)
    centre[~np.isfinite(centre)] = 0.0
    return centre
