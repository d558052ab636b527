"""Numbers for rows that depend on nothing but what is in them.

An order of the rows by these numbers is the same however the rows lie, and however they are
stored: what is drawn by it treats a row of weight ``k`` as ``k`` copies, wherever they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled.compilation import specialise
from separatrix._compiled.row_access import row_entry, row_length
from separatrix._compiled.splitmix import GOLDEN, mixed, mixed_word
from separatrix.data.design import Design


def _keys(rows: Any, columns: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        total = np.uint64(0)
        for k in range(row_length(rows, i)):
            j, value = row_entry(rows, i, k)
            # Entries that are not stored are zero, and zero has two signs.
            if value != 0.0:
                total += mixed_word(np.float64(value).view(np.uint64) ^ columns[j])
        out[i] = total


def row_keys(design: Design) -> np.ndarray:
    """A 64-bit number for every row that depends on its values alone, however it is stored.

    Parameters
    ----------
    design : Design

    Returns
    -------
    ndarray of shape (n_samples,), uint64
        Different rows share a number with a chance of one in 2^64 a pair.
    """
    kernel = specialise(_keys, row_length=design.row_length, row_entry=design.row_entry)
    columns = mixed(np.arange(1, design.n_features + 1, dtype=np.uint64) * GOLDEN)
    out = np.zeros(design.n_samples, dtype=np.uint64)
    kernel(design.rows, columns, out)
    return out


def canonical_order(design: Design, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows in an order that depends on their values and labels alone.

    Parameters
    ----------
    design : Design
    codes : ndarray of shape (n_samples,)
        The classes of the rows.

    Returns
    -------
    order : ndarray of shape (n_samples,)
    group : ndarray of shape (n_samples,)
        Along ``order``, a number that copies of a row share.
    """
    keys = row_keys(design)
    order = np.lexsort((codes, keys))
    keys, codes = keys[order], codes[order]
    new = np.zeros(len(order), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (codes[1:] != codes[:-1])
    return order, np.cumsum(new)
