"""Row blocks: a data set as a list of pieces, each of which fits memory many times over.

A fit to blocks needs nothing but sums over rows.  A block is a description, small
enough to be sent to another process; :meth:`Block.load` gives its rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from separatrix.data.design import Design, as_design
from separatrix.data.targets import bounded_numbers

#: Rows of a block, unless it would send too much: enough that what a task costs is small beside
#: the work on them, and few enough that there are blocks for every thread.
BLOCK_ROWS = 65_536
#: Floats that a block sends for every column: the gradient, and the direction in which slopes are
#: balanced for an intercept.
FLOATS_SENT = 2.0
#: The bytes that a block sends at most, as a share of the bytes of its rows, if memory allows that.
SENT = 0.25
#: The largest size of a block that has more rows because of the bytes that it sends, as a share of
#: the memory: each thread holds one.
MOST_MEMORY = 1.0 / 32.0


@dataclass(frozen=True, eq=False)
class Shape:
    """The shape of a matrix that is nowhere as a whole, with what is needed beside products."""

    shape: tuple[int, int]
    n_stored: int = 0
    matrix: Any = None
    # Infinite, so that no method decides by it that Hessians of all rows are worth their price.
    gram_cost: float = math.inf

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a block while they are worked on.

    Attributes
    ----------
    matrix : ndarray or CSR matrix of shape (n_rows, n_features)
        Float32 or float64.
    target : ndarray of shape (n_rows,)
        Numbers of classes, or float64 values of a quantity.
    weights : ndarray of shape (n_rows,) or None
    squares : ndarray of shape (n_rows,) or None
        Squared norms of the rows, where they are at hand.
    folds : ndarray of shape (n_rows,) or None
        The folds that the rows are in, where a fit has some.
    beside : ndarray of shape (n_rows,) or None
        The group or the time of each row, as a number, where the scan was to keep it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import Rows
    >>> rows = Rows(np.array([[3.0, 4.0]]), np.array([1], dtype=np.int32))
    >>> len(rows), rows.row_squares(rows.design).tolist()
    (1, [25.0])
    >>> rows[:0].totals(2)[0].tolist(), rows.totals(2)[0].tolist()
    ([0, 0], [0, 1])
    """

    matrix: Any
    target: np.ndarray
    weights: np.ndarray | None = None
    squares: np.ndarray | None = None
    folds: np.ndarray | None = None
    beside: np.ndarray | None = None

    @property
    def design(self) -> Design:
        """Their matrix with one face, whatever it is stored in."""
        return as_design(self.matrix)

    def row_squares(self, design: Design) -> np.ndarray:
        """Squared norms of the rows, from the matrix where they are not at hand."""
        return design.row_squares() if self.squares is None else self.squares

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, index: Any) -> Rows:
        """Select rows; those of a slice without a step are views."""
        parts = (self.target, self.weights, self.squares, self.folds, self.beside)
        matrix = self.matrix
        together = isinstance(index, slice) and index.step in (None, 1)
        matrix = _sliced(matrix, index) if together and sp.issparse(matrix) else matrix[index]
        own: list[Any] = [None if part is None else part[index] for part in parts]
        return Rows(matrix, *own)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that the rows consist of, but for their folds."""
        matrix = self.matrix
        parts = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
        rest = (self.target, self.weights, self.squares)
        return [*parts, *(part for part in rest if part is not None)]

    @property
    def n_stored(self) -> int:
        """Numbers that are stored of the matrix."""
        return int(self.matrix.nnz if sp.issparse(self.matrix) else self.matrix.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(array.nbytes) for array in self.arrays)

    def totals(self, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """The number of rows of each class, and the sums of their weights."""
        counts = np.bincount(self.target, minlength=n_classes)
        totals = np.bincount(self.target, weights=self.weights, minlength=n_classes)
        return counts, totals.astype(np.float64)

    def bounded(self) -> Rows:
        """The rows with zeros where squares of what has no weight overflow."""
        if self.weights is None or self.weights.all():
            return self
        target, design = self.target, self.design
        if target.dtype.kind == "f":
            target = bounded_numbers(target, self.weights)
        known = self.squares is not None and bool(np.isfinite(self.squares).all())
        rows = design if known else design.bounded(self.weights)
        if rows is design:
            return self if target is self.target else replace(self, target=target)
        squares = None if self.squares is None else rows.row_squares()
        return replace(self, matrix=rows.matrix, target=target, squares=squares)


def _sliced(matrix: Any, index: slice) -> Any:
    """Rows of a CSR matrix that lie together, as views of its arrays."""
    first, last, _ = index.indices(matrix.shape[0])
    last = max(first, last)
    start, stop = int(matrix.indptr[first]), int(matrix.indptr[last])
    ends = matrix.indptr[first : last + 1] - matrix.indptr[first]
    parts = matrix.data[start:stop], matrix.indices[start:stop], ends
    return type(matrix)(parts, shape=(last - first, matrix.shape[1]), copy=False)


class Block(ABC):
    """A piece of a data set: the number of its rows, their memory, their origin, and the rows.

    Attributes
    ----------
    n_rows : int
    n_stored : int
        Numbers that are stored of the matrix.
    nbytes : int
        Memory that the rows take.
    place : str
        The origin of the rows, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import scan
    >>> block = scan(np.eye(4), [0, 1, 0, 1], block_rows=2).blocks[1]
    >>> block.place, block.load().matrix.tolist()
    ('rows 3 to 4', [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    """

    n_rows: int
    n_stored: int
    nbytes: int
    place: str

    @abstractmethod
    def load(self) -> Rows:
        """The rows; what they lie in is let go with them.

        Raises
        ------
        DataError
            If the rows cannot be read, or differ from those that were read before.
        """


@dataclass(frozen=True, eq=False)
class ArrayBlock(Block):
    """Rows that are in memory already: parts of arrays, without a copy."""

    rows: Rows
    place: str = "memory"

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.rows)

    @property
    def n_stored(self) -> int:  # type: ignore[override]
        return self.rows.n_stored

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return 8 * self.n_stored

    def load(self) -> Rows:
        return self.rows


@dataclass(frozen=True, eq=False)
class BlockedData:
    """A data set in row blocks, and what was found out about it on the way.

    Made by :func:`separatrix.scale.scan`; estimators take it in place of ``X`` and ``y``.

    Attributes
    ----------
    blocks : tuple of Block
        The rows to fit, in their order.
    n_features : int
    classes : ndarray or None
        The sorted labels; None where the target is a quantity.
    class_rows : ndarray of shape (n_classes,)
        The number of rows of each class; empty for a quantity.
    class_totals : ndarray of shape (n_classes,)
        The sums of the weights of these rows.
    held : tuple of Block
        Rows that are held out, to measure on.
    feature_names : tuple of str or None
    encoder : Encoder or None
        Turns tables into the matrix of the blocks.
    source : str
        The origin of the rows, for messages.
    fingerprint : str
        Digest of all rows, as they are encoded.
    sample : Rows or None
        A sample of the rows, spread over all blocks.
    single : bool
        Whether the matrix is float32.
    memory : int
        Bytes that may be used while fitting.
    notes : tuple of str
        Notes on what was done, one sentence each.
    engine : Engine or None
        The engine that goes over the blocks where the fit names none: the cluster that holds them.
    dates_beside : bool
        Whether the numbers beside the rows are dates, in days since 1970-01-01.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import scan
    >>> data = scan(np.eye(4), ["a", "b", "a", "a"], block_rows=2)
    >>> data
    BlockedData(4 rows, 4 features, 2 blocks, from memory)
    >>> data.classes.tolist(), data.class_rows.tolist()
    (['a', 'b'], [3, 1])
    """

    # Modules that know nothing of blocks distinguish these data from a matrix by it.
    in_row_blocks: ClassVar[bool] = True

    blocks: tuple[Block, ...]
    n_features: int
    classes: np.ndarray | None = None
    class_rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    class_totals: np.ndarray = field(default_factory=lambda: np.empty(0))
    held: tuple[Block, ...] = ()
    feature_names: tuple[str, ...] | None = None
    encoder: Any = None
    source: str = "memory"
    fingerprint: str = ""
    sample: Rows | None = None
    single: bool = False
    memory: int = 1 << 30
    notes: tuple[str, ...] = ()
    engine: Any = None
    dates_beside: bool = False

    @property
    def n_rows(self) -> int:
        """Rows to fit."""
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_stored(self) -> int:
        """Numbers that are stored of their matrix."""
        return sum(block.n_stored for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Memory that one pass goes through."""
        return sum(block.nbytes for block in self.blocks)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows to fit, and features."""
        return self.n_rows, self.n_features

    def __repr__(self) -> str:
        return (
            f"BlockedData({self.n_rows:,} rows, {self.n_features:,} features, "
            f"{len(self.blocks):,} blocks, from {self.source})"
        )


def rows_of_a_block(row_bytes: float, n_columns: int, memory: float) -> int:
    """Rows of a block, by the bytes of its rows and by what it sends.

    What a block sends does not grow with its rows, and is read, sent and added up for every block.
    So a block has :data:`BLOCK_ROWS` rows, or as many more as it takes to send :data:`SENT` of its
    bytes at most; then it takes :data:`MOST_MEMORY` of the memory at most.

    Parameters
    ----------
    row_bytes : float
        The bytes that a row takes.
    n_columns : int
        The number of columns of the matrix.
    memory : float
        The memory in bytes.

    Examples
    --------
    >>> from separatrix.scale.blocks import rows_of_a_block
    >>> rows_of_a_block(4 * 28, 28, 1e9)
    65536
    >>> rows_of_a_block(40 * 8, 1_000_000, 4e9)
    200000
    """
    row_bytes = max(row_bytes, 1.0)
    rows = min(FLOATS_SENT * 8.0 * n_columns / (SENT * row_bytes), MOST_MEMORY * memory / row_bytes)
    return max(BLOCK_ROWS, math.ceil(rows))


def in_pieces(n: int, size: int) -> Iterator[slice]:
    """Slices of ``n`` rows of about equal length, none longer than ``size``."""
    pieces = max(1, -(-n // size))
    for k in range(pieces):
        first, last = n * k // pieces, n * (k + 1) // pieces
        if last > first:
            yield slice(first, last)


def total_weights(blocks: Sequence[Block], n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of rows of each class in some blocks, and the sums of their weights."""
    counts, totals = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
    for block in blocks:
        own = block.load().totals(n_classes)
        counts += own[0]
        totals += own[1]
    return counts, totals
