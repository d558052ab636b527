"""Compilation, with a cache on disk that damaged files cannot spoil.

Numba's own raises where a file of its cache was cut off, as on a disk that was full, and runs
whatever machine code it finds in one that was garbled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["njit"]

_DIGEST = hashlib.sha256
_SIZE = _DIGEST().digest_size


class _Damaged(Exception):
    """A file of the cache does not hold what was written."""


class _CheckedFile(IndexDataCacheFile):
    """The files of one function: machine code counts only with its digest and its key.

    The key, because two processes that compile for different types at the same moment may both
    write to the same file.
    """

    def load(self, key: Any) -> Any:
        try:
            found = super().load(key)
        except _Damaged:
            return None
        return found[1] if found is not None and found[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:
            raise
        except Exception:
            # A damaged pickle can raise anything. Without the index its files are overwritten.
            with contextlib.suppress(OSError):
                os.unlink(self._index_path)
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_DIGEST(content).digest())
            file.write(content)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            digest, content = file.read(_SIZE), file.read()
        if _DIGEST(content).digest() != digest:
            raise _Damaged(name)
        return pickle.loads(content)


class _CheckedCache(FunctionCache):
    """The cache of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def save_overload(self, signature: Any, data: Any) -> None:
        # A disk that is full takes the speed of the next start, not the result of this one.
        with contextlib.suppress(OSError):
            super().save_overload(signature, data)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` whose cache recompiles what it cannot read.

    Parameters
    ----------
    cache : bool
        Whether to keep machine code on disk.
    **options
        Those of ``numba.njit``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        # With NUMBA_DISABLE_JIT it is the function itself.
        if cache and hasattr(compiled, "enable_caching"):
            compiled._cache = _CheckedCache(compiled.py_func)
        return compiled

    return decorate
