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
from separatrix.scale.sampling import sample_of, sample_size

__all__ = ["bytes_of", "sample_of", "scan"]

# Rows of a block: its sums then cost more than what is done around them.
BLOCK_ROWS = 65_536


def scan(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    memory: str | int = "1GB",
    block_rows: int = BLOCK_ROWS,
    engine: Any = None,
) -> BlockedData:
    """Look through data that need not fit memory, and make row blocks of them.

    Parameters
    ----------
    source : array-like, sparse matrix or Dask array of shape (n_samples, n_features), or Dask frame
        Partitions of a frame and chunks of an array are the blocks, and stay on the cluster.
    target : array-like of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,), optional
        Weights >= 0; a weight of k is the same as k copies of the row.
    memory : str or int
        What fits to the data may use, in bytes or as ``"1GB"``.
    block_rows : int
        Rows of a block, at most.
    engine : Dask, optional
        Of the cluster that a Dask collection lies on; by default that of the current client.

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
    first = source[0] if isinstance(source, tuple) and len(source) == 2 else source
    if hasattr(first, "__dask_graph__"):
        from separatrix.scale.collections import of_collections

        return of_collections(source, target, weight, memory=bytes_of(memory), engine=engine)
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
    return BlockedData(
        blocks,
        design.n_features,
        labels.classes,
        counts,
        totals,
        fingerprint=digest.hexdigest(),
        sample=sample_of(blocks, sample_size(len(y), design.n_stored, memory)),
        single=matrix.dtype == np.float32,
        memory=memory,
    )
