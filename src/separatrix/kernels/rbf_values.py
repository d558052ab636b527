"""The Gaussian of distances in one pass over scalar products, in vector instructions.

``exp(-gamma (left_i + right_j - 2 p_ij))`` is a power of two, ``2^k 2^f`` with ``k`` whole and
``|f| <= 1/2``.  The first factor is written into the exponent's bits, the second is a polynomial:
the series of ``2^f``, as long as the type has digits.  NumPy's steps, one after another, take
twice as long (measured on tiles of float32 and of float64).
"""

from __future__ import annotations

import math

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit

# Besides reordering, that nothing is NaN, which lets minima and maxima use vectors.
_FLAGS = FASTMATH | {"nnan"}
_LOG2E = math.log2(math.e)
# ln(2)^k / k!; at |f| = 1/2 the first term left out is below half a unit in the last place.
_SERIES = [math.log(2.0) ** k / math.factorial(k) for k in range(14)]
_A0, _A1, _A2, _A3, _A4, _A5, _A6, _A7 = (np.float32(a) for a in _SERIES[:8])
_B0, _B1, _B2, _B3, _B4, _B5, _B6, _B7, _B8, _B9, _B10, _B11, _B12, _B13 = _SERIES
_HALF32, _ZERO32, _LEAST32 = np.float32(0.5), np.float32(0.0), np.float32(-127.0)


@njit(fastmath=_FLAGS, nogil=True, cache=True, error_model="numpy")
def _gaussian32(values, stride, width, left, right, factor):
    for i in range(left.shape[0]):
        row = values[i * stride : i * stride + width]
        own = left[i]
        for j in range(width):
            # Below the least exponent the result is zero.
            x = min(factor * row[j] - (own + right[j]), _ZERO32)
            x = max(x, _LEAST32)
            k = np.floor(x + _HALF32)
            f = x - k
            y = _A6 + f * _A7
            y = _A4 + f * (_A5 + f * y)
            y = _A2 + f * (_A3 + f * y)
            y = _A0 + f * (_A1 + f * y)
            bits = (np.int32(k) + np.int32(127)) << np.int32(23)
            row[j] = y * np.int32(bits).view(np.float32)


@njit(fastmath=_FLAGS, nogil=True, cache=True, error_model="numpy")
def _gaussian64(values, stride, width, left, right, factor):
    for i in range(left.shape[0]):
        row = values[i * stride : i * stride + width]
        own = left[i]
        for j in range(width):
            x = min(factor * row[j] - (own + right[j]), 0.0)
            x = max(x, -1023.0)
            k = np.floor(x + 0.5)
            f = x - k
            y = _B12 + f * _B13
            y = _B10 + f * (_B11 + f * y)
            y = _B8 + f * (_B9 + f * y)
            y = _B6 + f * (_B7 + f * y)
            y = _B4 + f * (_B5 + f * y)
            y = _B2 + f * (_B3 + f * y)
            y = _B0 + f * (_B1 + f * y)
            bits = (np.int64(k) + np.int64(1023)) << np.int64(52)
            row[j] = y * np.int64(bits).view(np.float64)


def gaussian(products: np.ndarray, left: np.ndarray, right: np.ndarray, gamma: float) -> bool:
    """Overwrite scalar products by ``exp(-gamma |x_i - z_j|^2)``; False where nothing was done.

    Parameters
    ----------
    products : ndarray of shape (n, m), float32 or float64
        Scalar products, in contiguous rows at any stride; other arrays are left alone.
    left, right : ndarray of shape (n,) and (m,)
        Squared norms, of the same type.
    gamma : float
        A value such that ``gamma`` times a square does not overflow.
    """
    n, width = products.shape
    item = products.itemsize
    if products.dtype not in (np.float32, np.float64) or products.strides[1] != item:
        return False
    if products.strides[0] % item or products.strides[0] < width * item or not products.size:
        return False
    stride = products.strides[0] // item
    flat = np.lib.stride_tricks.as_strided(products, ((n - 1) * stride + width,), (item,))
    kind = products.dtype.type
    factor = gamma * _LOG2E
    kernel = _gaussian32 if kind is np.float32 else _gaussian64
    scaled = (np.ascontiguousarray(a * kind(factor)) for a in (left, right))
    kernel(flat, stride, width, *scaled, kind(2.0 * factor))
    return True
