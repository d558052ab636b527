"""Data larger than memory: row blocks, engines that go over them, and fits made of their sums.

:func:`scan` makes :class:`BlockedData` of files, arrays or collections; the estimators take it in
place of ``X`` and ``y``, with the same objectives and certificates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from separatrix.scale.blocks import Block, BlockedData, Rows
from separatrix.scale.engines import Engine, Local
from separatrix.scale.scanning import scan

if TYPE_CHECKING:
    from separatrix.scale.dask_engine import Dask

__all__ = ["Block", "BlockedData", "Dask", "Engine", "Local", "Rows", "scan"]


def __getattr__(name: str) -> Any:
    # What is there for clusters is loaded by those who have one.
    if name == "Dask":
        from separatrix.scale.dask_engine import Dask

        return Dask
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
