"""Data larger than memory: row blocks, engines that go over them, and fits made of their sums.

:func:`scan` makes :class:`BlockedData` of files, arrays or collections; the estimators take it in
place of ``X`` and ``y``, with the same objectives and certificates.
"""

from __future__ import annotations

from separatrix.scale.blocks import Block, BlockedData, Rows
from separatrix.scale.engines import Engine, Local
from separatrix.scale.scanning import scan

__all__ = ["Block", "BlockedData", "Engine", "Local", "Rows", "scan"]
