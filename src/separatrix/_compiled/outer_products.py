"""Sums of outer products of short rows, in the processor's vector registers.

``dsyrk`` is made for long rows, and wants them shifted, weighted and put beside the targets in a
pass of its own.  Here a few dozen rows are shifted into a buffer that the first-level cache holds,
and added up by tiles: on 500,000 rows of 100 columns 1.8 to 2 times as fast as blocks of rows
through ``dsyrk``, measured with one thread and AVX-512.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled.compilation import njit
from separatrix._compiled.register_tiles import HEIGHT, KNOWN, LANES, add_tile, prefetch

__all__ = ["KNOWN", "add_products"]


@njit(nogil=True, cache=True)
def add_products(
    x: np.ndarray, out: np.ndarray, source: np.ndarray, order: np.ndarray, first: int, count: int
) -> None:
    """Add ``x' x`` to the upper triangle of ``out``; the rest of it is left undefined.

    ``x`` (k, p) and ``out`` (p, p) are C-contiguous, ``p`` is a multiple of 8, and ``k`` rows fit
    the first-level cache.

    Meanwhile ``count`` rows of ``source``, C-contiguous, are fetched from memory, which has nothing
    else to do: those of ``order`` from place ``first`` on, or where that is empty, as they lie.
    """
    k, p = x.shape
    d = source.shape[1]
    line = 64 // source.itemsize
    # The number of cache lines to fetch with each tile; there are a few more tiles than this.
    tiles = max(1, (p // HEIGHT) * (p // LANES) // 6)
    share = count * (d // line + 1) // tiles + 1
    row, column = 0, 0
    for left in range(0, p, HEIGHT):
        right = left
        while right < p:
            for _ in range(share):
                if row < count:
                    r = order[first + row] if len(order) else first + row
                    prefetch(source, r * d + column)
                    column += line
                    if column >= d:
                        row, column = row + 1, 0
            right = add_tile(x, left, p, 1, k, x, 0, right, out, left)
