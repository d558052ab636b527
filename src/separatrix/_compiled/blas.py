"""Routines that numpy does not have without a copy, nor scipy without holding up other threads.

They are called through the addresses that scipy publishes for compiled code
(``scipy.linalg.cython_blas`` and ``cython_lapack``); where these are not as expected, numpy and
scipy do the same.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

__all__ = ["add_gram", "cholesky", "inverse_condition", "square_triangle"]

_DATA, _TEXT, _NUMBER = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)
# Of each routine the module and the kinds of its arguments.
_ROUTINES: dict[str, tuple[str, tuple[Any, ...]]] = {
    # C = alpha A'A + beta C
    "dsyrk": (
        "cython_blas",
        (_TEXT, _TEXT, _NUMBER, _NUMBER, _DATA, _DATA, _NUMBER, _DATA, _DATA, _NUMBER),
    ),
    # The factor of Cholesky, in place.
    "dpotrf": ("cython_lapack", (_TEXT, _NUMBER, _DATA, _NUMBER, _NUMBER)),
    # A triangle by its transpose, in place.
    "dlauum": ("cython_lapack", (_TEXT, _NUMBER, _DATA, _NUMBER, _NUMBER)),
    # An estimate of a condition number.
    "dpocon": (
        "cython_lapack",
        (_TEXT, _NUMBER, _DATA, _NUMBER, _DATA, _DATA, _DATA, _DATA, _NUMBER),
    ),
}


@functools.cache
def _routine(name: str) -> Callable[..., Any] | None:
    """A routine that lets other threads of Python run meanwhile; None where there is none."""
    module, kinds = _ROUTINES[name]
    try:
        capsule = importlib.import_module(f"scipy.linalg.{module}").__pyx_capi__[name]
        python = ctypes.pythonapi
        name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
            ("PyCapsule_GetName", python)
        )
        pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", python)
        )
        signature = name_of(capsule)
        # Sizes of 64 bits would read beyond ours.
        numbers = sum(kind is _NUMBER for kind in kinds) + (name == "dpocon")
        if signature.replace(b" ", b"").count(b"int*") != numbers:
            return None
        address = pointer_of(capsule, signature)
    except (ImportError, AttributeError, KeyError):
        return None
    return ctypes.CFUNCTYPE(None, *kinds)(address)


def add_gram(block: np.ndarray, out: np.ndarray) -> None:
    """``out += block' block`` in the upper triangle; the lower one is left undefined.

    Parameters
    ----------
    block : ndarray of float64, shape (k, p), C-contiguous
    out : ndarray of float64, shape (p, p), C-contiguous
    """
    k, p = block.shape
    if not k or not p:
        return
    syrk = _routine("dsyrk")
    if syrk is None:
        out += block.T @ block
        return
    columns, one = ctypes.c_int(p), ctypes.c_double(1.0)
    unit = ctypes.addressof(one)
    # Rows in C are columns in Fortran, where the upper triangle is the lower one.
    syrk(
        *(b"L", b"N", columns, ctypes.c_int(k)),
        *(unit, block.ctypes.data, columns, unit, out.ctypes.data, columns),
    )


def cholesky(matrix: np.ndarray) -> bool:
    """Overwrite the upper triangle of ``A`` by ``R`` with ``R'R = A``; whether there is one.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, p), C-contiguous
        What is below the diagonal is neither read nor written.
    """
    return _in_place("dpotrf", b"L", matrix) == 0


def square_triangle(matrix: np.ndarray) -> None:
    """Overwrite the lower triangle ``T`` by that of ``T' T``.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, p), C-contiguous
        What is above the diagonal is neither read nor written.
    """
    _in_place("dlauum", b"U", matrix)


def _in_place(name: str, triangle: bytes, matrix: np.ndarray) -> int:
    """One of Fortran's upper triangle (lower in C) or lower one (upper in C)."""
    p = len(matrix)
    if not p:
        return 0
    routine = _routine(name)
    if routine is None:
        plain = getattr(scipy.linalg.lapack, name)
        options = {"clean": 0, "overwrite_a": 1} if name == "dpotrf" else {"overwrite_c": 1}
        # By columns as it lies: overwritten, not copied.
        result, failed = plain(matrix.T, lower=triangle == b"L", **options)
        if not np.shares_memory(result, matrix):
            matrix[:] = result.T
        return int(failed)
    size, info = ctypes.c_int(p), ctypes.c_int(0)
    routine(triangle, size, matrix.ctypes.data, size, info)
    return int(info.value)


def inverse_condition(upper: np.ndarray, norm: float) -> float:
    """One by the condition number of ``R'R``, whose 1-norm is ``norm``, estimated (Higham, 1988).

    Parameters
    ----------
    upper : ndarray of float64, shape (p, p), C-contiguous
    norm : float
    """
    p = len(upper)
    routine = _routine("dpocon")
    if routine is None:
        return float(scipy.linalg.lapack.dpocon(upper.T, norm, uplo="L")[0])
    size, info = ctypes.c_int(p), ctypes.c_int(0)
    given, found = ctypes.c_double(norm), ctypes.c_double(0.0)
    work, numbers = np.empty(3 * p), np.empty(p, dtype=np.intc)
    routine(
        *(b"L", size, upper.ctypes.data, size),
        *(ctypes.addressof(given), ctypes.addressof(found)),
        *(work.ctypes.data, numbers.ctypes.data, info),
    )
    return float(found.value)
