"""Arrays in the form in which models are pickled: without what follows from the rest.

``pack`` and ``unpack`` are exact inverses: the same shape, type and bits.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np


def pack(array: np.ndarray) -> tuple[Any, ...]:
    """An array of which most entries are zero or NaN, as the others and where they are.

    Parameters
    ----------
    array : ndarray
        The array, of numbers and of any shape.

    Returns
    -------
    tuple
        The parts for :func:`unpack`: type, shape, a bit for each entry, and the entries whose bit
        is set; and the bits of NaN, where there is any.
    """
    flat = np.ascontiguousarray(array).ravel()
    missing = np.isnan(flat) if flat.dtype.kind == "f" else np.zeros(0, dtype=bool)
    # By bits, so that a zero with a sign is kept.
    kept = flat.view(f"u{flat.dtype.itemsize}") != 0
    if missing.any():
        kept &= ~missing
    values = flat[kept]
    if values.dtype.kind in "iu" and len(values):
        ends = (np.min_scalar_type(end) for end in (values.min(), values.max()))
        values = values.astype(np.result_type(*ends))
    absent = zlib.compress(np.packbits(missing).tobytes()) if missing.any() else b""
    # The digits of floats are noise, which no compression makes smaller.
    content = values.tobytes()
    return (
        flat.dtype.str,
        array.shape,
        zlib.compress(np.packbits(kept).tobytes(), 9),
        values.dtype.str,
        content if values.dtype.kind == "f" else zlib.compress(content, 9),
        absent,
    )


def unpack(packed: tuple[Any, ...]) -> np.ndarray:
    """The array that :func:`pack` was given."""
    dtype, shape, kept, kind, values, absent = packed
    size = math.prod(shape)
    out = np.zeros(size, dtype=dtype)
    content = values if np.dtype(kind).kind == "f" else zlib.decompress(values)
    out[_bits(zlib.decompress(kept), size)] = np.frombuffer(content, dtype=kind)
    if absent:
        out[_bits(zlib.decompress(absent), size)] = np.nan
    return out.reshape(shape)


def pack_triangle(matrix: np.ndarray, symmetric: bool) -> Any:
    """The upper triangle of a matrix, or of each of several; the array where that is not all.

    Parameters
    ----------
    matrix : ndarray of shape (k, p) or (K, p, p)
    symmetric : bool
        Whether the entries below the diagonal mirror those above it, or are zero.

    Returns
    -------
    tuple, or ndarray
        The parts for :func:`unpack_triangle`, or the array itself.
    """
    k, p = matrix.shape[-2:]
    lower = np.tril(matrix, -1)
    whole = np.triu(matrix, 1)
    same = np.array_equal(lower, np.swapaxes(whole, -1, -2)) if symmetric else not lower.any()
    if (symmetric and k != p) or k > p or matrix.dtype != np.float64 or not same:
        return matrix
    rows, columns = np.triu_indices(k, 0, p)
    return matrix.shape, symmetric, matrix[..., rows, columns].tobytes()


def unpack_triangle(packed: Any) -> np.ndarray:
    """The matrix that :func:`pack_triangle` was given."""
    if isinstance(packed, np.ndarray):
        return packed
    shape, symmetric, values = packed
    k, p = shape[-2:]
    rows, columns = np.triu_indices(k, 0, p)
    out = np.zeros(shape)
    upper = np.frombuffer(values).reshape((*shape[:-2], len(rows)))
    out[..., rows, columns] = upper
    if symmetric:
        out[..., columns, rows] = upper
    return out


def _bits(packed: bytes, size: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=size).astype(bool)
