"""A product that numpy does not have without a copy, nor scipy without holding up other threads.

It is called through the address that scipy publishes for compiled code
(``scipy.linalg.cython_blas``); where that is not as expected, numpy does the same.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["add_gram"]

_DATA, _TEXT, _NUMBER = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)


@functools.cache
def _syrk() -> Callable[..., Any] | None:
    """The symmetric update ``C = alpha A'A + beta C``."""
    try:
        import scipy.linalg.cython_blas as blas

        capsule = blas.__pyx_capi__["dsyrk"]
        python = ctypes.pythonapi
        name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
            ("PyCapsule_GetName", python)
        )
        pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", python)
        )
        signature = name_of(capsule)
        # Sizes of 64 bits would read beyond ours.
        if signature.replace(b" ", b"").count(b"int*") != 4:
            return None
        address = pointer_of(capsule, signature)
    except (ImportError, AttributeError, KeyError):
        return None
    # A foreign function lets other threads of Python run meanwhile.
    kind = ctypes.CFUNCTYPE(
        *(None, _TEXT, _TEXT, _NUMBER, _NUMBER),
        *(_DATA, _DATA, _NUMBER, _DATA, _DATA, _NUMBER),
    )
    return kind(address)


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
    syrk = _syrk()
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
