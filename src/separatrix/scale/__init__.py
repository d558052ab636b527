"""Data larger than memory: row blocks, engines that go over them, and fits made of their sums.

:func:`scan` makes :class:`BlockedData` of files, arrays or collections; the estimators take it in
place of ``X`` and ``y``, with the same objectives and certificates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names
from separatrix.scale.blocks import Block, BlockedData, Rows
from separatrix.scale.engines import Engine, Local

# What is there for clusters, and for files, is loaded by those who have some: every estimator
# knows row blocks.
_HOMES = {"Dask": "separatrix.scale.dask_engine", "scan": "separatrix.scale.scanning"}

__all__ = ["Block", "BlockedData", "Dask", "Engine", "Local", "Rows", "scan"]

if TYPE_CHECKING:
    from separatrix.scale.dask_engine import Dask
    from separatrix.scale.scanning import scan

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
