"""What is found out about data before they are fitted, and where their row blocks come from."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from separatrix._compiled.memory import bytes_of
from separatrix.data.design import as_design
from separatrix.data.labels import encode, require_weights
from separatrix.data.validation import require_finite
from separatrix.exceptions import DataError
from separatrix.scale.blocks import ArrayBlock, BlockedData, Rows, in_pieces, total_weights

__all__ = ["bytes_of", "sample_of", "scan"]

# Rows of a block: its sums then cost more than what is done around them.
BLOCK_ROWS = 65_536
# Of the memory that may be used, what the sample may take.
_SAMPLE_SHARE = 0.1


def sample_of(blocks: Any, n_rows: int, seed: int = 0) -> Rows | None:
    """About so many rows, in proportion from every block, in the order of the blocks."""
    total = sum(block.n_rows for block in blocks)
    if total == 0 or n_rows <= 0:
        return None
    parts = []
    for k, block in enumerate(blocks):
        index = drawn(block.n_rows, min(1.0, n_rows / total), seed, k)
        if len(index):
            parts.append(taken(block.load(), index))
    return joined(parts)


def drawn(n: int, share: float, seed: int, k: int) -> np.ndarray:
    """The rows of block ``k`` that are drawn: one from each stretch of equal length."""
    count = int(np.ceil(n * share))
    rng = np.random.default_rng([seed, k])
    edges = np.linspace(0, n, count + 1)
    index = (edges[:-1] + rng.random(count) * np.diff(edges)).astype(np.int64)
    return np.unique(np.minimum(index, n - 1))


def taken(rows: Rows, index: np.ndarray) -> Rows:
    """Some of the rows of a block, copied."""
    return Rows(
        rows.matrix[index],
        rows.target[index],
        None if rows.weights is None else rows.weights[index],
        None if rows.squares is None else rows.squares[index],
    )


def joined(parts: list[Rows]) -> Rows | None:
    """Rows of several blocks as those of one."""
    import scipy.sparse as sp

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

    return Rows(matrix, all_of("target"), all_of("weights"), all_of("squares"))


def scan(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    memory: str | int = "1GB",
    block_rows: int = BLOCK_ROWS,
) -> BlockedData:
    """Look through data that need not fit memory, and make row blocks of them.

    Parameters
    ----------
    source : array-like or sparse matrix of shape (n_samples, n_features)
    target : array-like of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,), optional
        Weights >= 0; a weight of k is the same as k copies of the row.
    memory : str or int
        What fits to the data may use, in bytes or as ``"1GB"``.
    block_rows : int
        Rows of a block, at most.

    Returns
    -------
    BlockedData

    Raises
    ------
    DataError
        For data that cannot be used; the message says what is wrong, where, and what to do.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression
    >>> from separatrix.scale import scan
    >>> data = scan(*load_breast_cancer(return_X_y=True), block_rows=100)
    >>> LogisticRegression().fit(data).certificate_.status
    'optimal'
    """
    if target is None:
        raise DataError("scan(X, y) of arrays needs the labels as well")
    return _of_arrays(source, target, weight, bytes_of(memory), block_rows)


def _of_arrays(X: Any, y: Any, weights: Any, memory: int, block_rows: int) -> BlockedData:
    from sklearn.utils import check_array, check_consistent_length, column_or_1d

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    require_finite(X)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        require_weights(weights)
    labels = encode(y, weights, None)
    design = as_design(X).merged()
    matrix, squares = design.matrix, design.row_squares()
    blocks = tuple(
        ArrayBlock(
            Rows(
                matrix[piece],
                labels.codes[piece].astype(np.int32),
                None if weights is None else weights[piece],
                squares[piece],
            ),
            f"rows {piece.start + 1:,} to {piece.stop:,}",
        )
        for piece in in_pieces(len(y), block_rows)
    )
    counts, totals = total_weights(blocks, len(labels.classes))
    digest = hashlib.sha256(repr((X.shape, str(X.dtype), labels.classes.tolist())).encode())
    for block in blocks:
        digest.update(np.ascontiguousarray(block.rows.squares).tobytes())
        digest.update(block.rows.target.tobytes())
    row_bytes = 8.0 * design.n_stored / max(len(y), 1) + 32.0
    return BlockedData(
        blocks,
        design.n_features,
        labels.classes,
        counts,
        totals,
        fingerprint=digest.hexdigest(),
        sample=sample_of(
            blocks, min(max(len(y) // 16, 2000), int(_SAMPLE_SHARE * memory / row_bytes))
        ),
        single=matrix.dtype == np.float32,
        memory=memory,
    )
