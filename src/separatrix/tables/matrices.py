"""Features of numbers, and places of the ones of categories, to the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool

# Rows that are put together at a time, so that what is noted of them stays in the caches.
_BLOCK = 1 << 15
# The same for a dense matrix, whose rows are written a column at a time.
_TILE = 1 << 11


def dense_rows(
    features: list[Any], places: list[Any], rows: slice, width: int, dtype: Any
) -> np.ndarray:
    """Features of numbers, and ones at the places of categories, in rows of all features."""
    first, n_rows = rows.start, rows.stop - rows.start
    # Memory that is zero from the start is not touched where nothing is written.
    make = np.empty if len(features) == width else np.zeros
    matrix = make((n_rows, width), dtype=dtype)

    def fill(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):  # what is infinite then is refused with its row
            for j, feature in enumerate(features):
                matrix[start:stop, j] = feature[first + start : first + stop]
        for column in places:
            own = column[first + start : first + stop]
            there = np.flatnonzero(own >= 0)
            matrix[start + there, own[there]] = 1.0

    _in_blocks(fill, n_rows, len(features) + len(places), _TILE)
    return matrix


def sparse_rows(features: list[Any], places: list[Any], rows: slice, width: int, dtype: Any) -> Any:
    """Features of numbers, and ones at the places of categories, as rows without their zeros."""
    from scipy import sparse

    n_rows = rows.stop - rows.start
    columns = [one[rows] for one in (*features, *places)]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)

    def cells(j: int, start: int, stop: int) -> tuple[Any, Any]:
        """The cells of a column in some rows, and which of them are there."""
        own = columns[j][start:stop]
        if j >= len(features):
            return own, own >= 0
        with np.errstate(over="ignore"):  # what is infinite then is refused with its row
            own = own.astype(dtype, copy=False)
        return own, own != 0.0

    def count(start: int, stop: int) -> None:
        for j in range(len(columns)):
            indptr[start + 1 : stop + 1] += cells(j, start, stop)[1]

    def fill(start: int, stop: int) -> None:
        # Where the next entry of each row goes; columns come in their order.
        at = indptr[start:stop].copy()
        for j in range(len(columns)):
            values, own = cells(j, start, stop)
            # Most columns are there in every row.
            whole = bool(own.all())
            to, values = (at, values) if whole else (at[own], values[own])
            if j < len(features):
                data[to] = values
                indices[to] = j
            else:
                indices[to] = values
            at += 1 if whole else own

    _in_blocks(count, n_rows, len(columns))
    np.cumsum(indptr, out=indptr)
    data = np.ones(int(indptr[-1]), dtype=dtype)
    indices = np.empty(len(data), dtype=np.int32)
    _in_blocks(fill, n_rows, len(columns))
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return sparse.csr_matrix((data, indices, indptr), shape=(n_rows, width))


def _in_blocks(
    task: Callable[[int, int], None], n_rows: int, n_columns: int, block: int = _BLOCK
) -> None:
    """Apply a task to all rows, one stretch of them after the other, on all cores."""

    def part(first: int, last: int) -> None:
        for start in range(first, last, block):
            task(start, min(start + block, last))

    pool.run([partial(part, *bounds) for bounds in pool.ranges(n_rows, n_rows * n_columns)])


def as_csr(matrix: Any) -> Any:
    """The matrix as rows without their zeros, with the smallest indices that hold it."""
    from scipy import sparse

    matrix = sparse.csr_matrix(matrix, copy=False)
    # Made of its parts, it takes the smallest indices that hold it.
    matrix = sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix.sort_indices()
    return matrix
