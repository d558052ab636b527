"""Routines of BLAS and LAPACK in place, without a copy and without holding up other threads.

scipy's own wrappers keep Python's lock while they compute.  Here the routines are called through
the addresses that scipy publishes for compiled code (``scipy.linalg.cython_blas`` and
``cython_lapack``); where these are not as expected, numpy and scipy do the same.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement, pairwise, starmap
from typing import Any

import numpy as np
import scipy.linalg
from numba.extending import get_cython_function_address

from separatrix._compiled import pool

# The number of ranges of columns into which a Gram matrix is divided among threads.
_TILES = 6
# The number of columns up to which holding Python's lock costs less than releasing it.
_FEW = 32

_MODULES = {"dsyrk": "cython_blas", "ssyrk": "cython_blas", "dpotrf": "cython_lapack"}


@functools.cache
def _routine(name: str) -> Callable[..., Any] | None:
    """A routine that lets other threads of Python run meanwhile; None where there is none."""
    module = f"scipy.linalg.{_MODULES[name]}"
    try:
        signature = repr(importlib.import_module(module).__pyx_capi__[name])
        address = get_cython_function_address(module, name)
    except (ImportError, AttributeError, KeyError, ValueError):
        return None
    # A routine with sizes of 64 bits would read beyond ours.
    return ctypes.CFUNCTYPE(None)(address) if "int *" in signature else None


def _number(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _data(array: np.ndarray) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def add_gram(block: np.ndarray, out: np.ndarray) -> None:
    """Add ``block' block`` to the upper triangle of ``out``; the lower one is left undefined.

    Parameters
    ----------
    block : ndarray of float64 or float32, shape (k, p)
        The rows whose products are added: part of a C-contiguous array, or of the transpose of one.
    out : ndarray of float64, shape (p, p)
        Part of a C-contiguous array.  A block of float32 is summed in float32 first.
    """
    k, p = block.shape
    if not k or not p:
        return
    single = block.dtype == np.float32
    syrk = _routine("ssyrk" if single else "dsyrk")
    if syrk is None:
        out += block.T @ block
        return
    # Rows in C are columns in Fortran, where the upper triangle is the lower one.
    sums = np.zeros((p, p), dtype=block.dtype) if single else out
    size = block.itemsize
    one = ctypes.byref((ctypes.c_float if single else ctypes.c_double)(1.0))
    added = _data(sums), _number(max(p, sums.strides[0] // size))
    turned = k > 1 and block.strides[0] == size and block.strides[1] >= size * k
    apart = max(k, block.strides[1] // size) if turned else max(p, block.strides[0] // size)
    given = _data(block), _number(apart)
    syrk(b"L", b"T" if turned else b"N", _number(p), _number(k), one, *given, one, *added)
    if single:
        out += sums


def add_gram_by_columns(block: np.ndarray, out: np.ndarray) -> None:
    """Add a Gram matrix as :func:`add_gram`, with ranges of columns shared by the threads.

    The ranges are the same for any number of threads, and so is every bit: unlike the threads of
    BLAS, which cut a product by their number.
    """
    ends = [len(out) * k // _TILES for k in range(_TILES + 1)]
    ranges = list(starmap(slice, pairwise(ends)))

    def add(one: slice, other: slice) -> None:
        if one is other:
            add_gram(block[:, one], out[one, one])
        else:
            out[one, other] += block[:, one].T @ block[:, other]

    pairs = combinations_with_replacement(ranges, 2)
    with pool.one_blas_thread():
        pool.run([partial(add, one, other) for one, other in pairs])


def cholesky(matrix: np.ndarray) -> bool:
    """Overwrite the upper triangle of ``A`` by ``R`` with ``R'R = A``; return whether it exists.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, p), C-contiguous
        The matrix ``A``, of which the entries below the diagonal are neither read nor written.
    """
    if not len(matrix):
        # LAPACK would print an error on standard output: an illegal leading dimension.
        return True
    # For a few columns the wrapper is faster, and holds Python's lock only briefly.
    potrf = _routine("dpotrf") if len(matrix) > _FEW else None
    if potrf is None:
        # The transpose lies by columns, so that it is overwritten and not copied.
        factor, failed = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        matrix[:] = factor.T
        return int(failed) == 0
    size, info = _number(len(matrix)), ctypes.c_int(0)
    potrf(b"L", size, _data(matrix), size, ctypes.byref(info))
    return info.value == 0
