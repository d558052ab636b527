"""Data larger than memory: row blocks, engines that go over them, and fits made of their sums.

:func:`scan` makes :class:`BlockedData` of files, arrays or collections; the estimators take it in
place of ``X`` and ``y``, with the same objectives and certificates.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from separatrix.scale.blocks import Block, BlockedData, Rows
from separatrix.scale.engines import Engine, Local

if TYPE_CHECKING:
    from separatrix.scale.dask_engine import Dask
    from separatrix.scale.scanning import scan

__all__ = ["Block", "BlockedData", "Dask", "Engine", "Local", "Rows", "scan"]


# What is there for clusters, and for files, is loaded by those who have some: every estimator
# knows row blocks.
_LATER = {"Dask": "dask_engine", "scan": "scanning"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"separatrix.scale.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
