"""Samples of the rows of all blocks, which stand for them in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.scale.blocks import Rows

# The share of the memory that the sample may take.
_SHARE = 0.1


def sample_size(n_rows: int, width: float, memory: int) -> int:
    """The number of rows to draw of ``n_rows``, where a row of the matrix takes ``width`` bytes."""
    return min(max(n_rows // 4, 2000), int(_SHARE * memory / (width + 32.0)))


def sample_of(blocks: Any, n_rows: int, seed: int = 0) -> Rows | None:
    """About ``n_rows`` rows, in proportion from every block, in the order of the blocks."""
    total = sum(block.n_rows for block in blocks)
    if total == 0 or n_rows <= 0:
        return None
    parts = []
    for k, block in enumerate(blocks):
        index = drawn(block.n_rows, min(1.0, n_rows / total), seed, k)
        if len(index):
            parts.append(block.load()[index])
    return joined(parts)


def drawn(n: int, share: float, seed: int, k: int) -> np.ndarray:
    """The rows of block ``k`` that are drawn: one from each stretch of equal length."""
    count = int(np.ceil(n * share))
    rng = np.random.default_rng([seed, k])
    edges = np.linspace(0, n, count + 1)
    index = (edges[:-1] + rng.random(count) * np.diff(edges)).astype(np.int64)
    index = np.minimum(index, n - 1)
    return index[np.diff(index, prepend=-1) > 0]


def joined(parts: list[Rows]) -> Rows | None:
    """Rows of several blocks as those of one."""
    if not parts:
        return None
    matrices = [part.matrix for part in parts]
    if sp.issparse(matrices[0]):
        matrix = sp.csr_matrix(sp.vstack(matrices, format="csr"))
    else:
        matrix = np.concatenate(matrices)

    def all_of(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        return None if columns[0] is None else np.concatenate(columns)

    return Rows(matrix, all_of("target"), all_of("weights"), all_of("squares")).bounded()
