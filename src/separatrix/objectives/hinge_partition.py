r"""Rows of a hinge on their sides of the kink, at one reading of them, as sums.

Where the hinge is straight a row's multiplier is at an end of its range, 0 or :math:`U_i`, and
many rows count as one: by Jensen's inequality

.. math:: \sum_{i \in G} U_i \max(0, 1 - y (w \cdot x_i + b))
    \;\ge\; U_G \max(0, 1 - y (w \cdot \bar x_G + b)),

for rows :math:`G` of one class, their weight :math:`U_G` together and their mean
:math:`\bar x_G`, with equality where all of them are on one side.  So the objective on the rows
near the kink, and on the means of the others, is never above the objective on all rows; it is the
same where no other row has changed sides; and a multiplier of a mean is that of each of its rows,
in proportion to their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import compilation, pool
from separatrix._compiled.row_access import block_dot, row_add
from separatrix.data.design import Design
from separatrix.losses.hinge import _hinge_value as value_at
from separatrix.objectives.row_sums import SUMMED

__all__ = ["PARTITIONED", "HingePartition", "partitioned_sums"]

# Rows at a time: with their scores they stay in the second-level cache.
_BLOCK = 64

#: What is added up of every row, in the order of :attr:`HingePartition.sums`.
PARTITIONED = (
    "loss",  # U l(z)
    "loss_above",  # the same at the end of the score's enclosure where it is larger
    "upper",  # U
    "lengths",  # U |x| of the rows that are not near
    "near_lengths",  # and of those that are
)


@dataclass(frozen=True)
class HingePartition:
    """Sums of some rows, and which of them are near the kink.

    Attributes
    ----------
    sums : ndarray of shape (len(PARTITIONED),)
    weights : ndarray of shape (4, 1 + n_bands)
        ``U`` of the rows in each group: of the negative class on either side of the kink and of
        the positive one, and there of the near rows and of each band.
    totals : ndarray of shape (4, 1 + n_bands, n_features)
        ``U x`` of the same.
    near : ndarray of shape (n_samples,)
        Whether a row is near.
    """

    sums: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    near: np.ndarray


def _partitioned_sums(
    rows, y, upper, squares, w, b, wide, shift, edges, sums, weights, totals, near, first, last
):
    """The rows from ``first`` to ``last``; see :data:`PARTITIONED`."""
    scores, losses, aboves = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    groups = np.empty(_BLOCK, dtype=np.int64)
    bands = edges.shape[0]
    cells = bands + 1
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        block_dot(rows, start, stop, w, scores)
        for i in range(start, stop):
            k = i - start
            z = y[i] * (scores[k] + b)
            u = upper[i]
            off = wide * np.sqrt(squares[i]) + shift + 8.8e-16 * abs(z)
            losses[k] = u * value_at(z)
            aboves[k] = u * value_at(z - off)
            distance = abs(1.0 - z)
            band = 0
            for e in range(bands):
                band += distance > edges[e]
            close = (u > 0.0) & (band == 0)
            near[i] = close
            side = (2 if y[i] > 0.0 else 0) + (1 if z > 1.0 else 0)
            groups[k] = side * cells + band
        loss, above, weight, length, near_length = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(stop - start):
            i = start + k
            u, group = upper[i], groups[k]
            loss += losses[k]
            above += aboves[k]
            weight += u
            if u > 0.0:
                weights[group] += u
                row_add(rows, i, u, totals[group])
            if near[i]:
                near_length += u * np.sqrt(squares[i])
            else:
                length += u * np.sqrt(squares[i])
        c = start // SUMMED
        sums[0, c] += loss
        sums[1, c] += above
        sums[2, c] += weight
        sums[3, c] += length
        sums[4, c] += near_length


def partitioned_sums(
    design: Design,
    y: np.ndarray,
    upper: np.ndarray,
    squares: np.ndarray,
    w: np.ndarray,
    b: float,
    edges: np.ndarray,
    *,
    wide: float = 0.0,
    shift: float = 0.0,
) -> HingePartition:
    """The sums of some rows at a point, and which rows are near the kink there.

    Parameters
    ----------
    design : Design
        Whose rows lie side by side.
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    upper : ndarray of shape (n_samples,)
        ``C`` times the weights.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    w : ndarray of shape (n_features,)
    b : float
    edges : ndarray of shape (n_bands,)
        Distances from the kink, in the margin, increasing.  Rows up to the first are near; there
        are bands from one to the next and beyond the last.
    wide, shift : float
        A score is off by at most ``wide |x| + shift`` and what its margin's own rounding adds.

    Returns
    -------
    HingePartition
        Sums are rounded as those of 4,096 numbers and of as many as there are of these; weights
        and totals as those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.objectives.hinge_partition import partitioned_sums
    >>> X = np.array([[0.0], [0.9], [2.0], [4.0]])
    >>> ones = np.ones(4)
    >>> squares, edges = X[:, 0] ** 2, np.array([0.5])
    >>> found = partitioned_sums(as_design(X), ones, ones, squares, ones[:1], 0.0, edges)
    >>> found.near, found.weights[2:].tolist(), found.totals[2:, :, 0].tolist()
    (array([False,  True, False, False]), [[1.0, 1.0], [0.0, 2.0]], [[0.9, 0.0], [0.0, 6.0]])
    """
    kernel = compilation.specialise(
        _partitioned_sums, block_dot=design.block_dot, row_add=design.row_add, value_at=value_at
    )
    n, d = design.shape
    groups = 4 * (len(edges) + 1)
    cells = -(-n // SUMMED)
    sums, near = np.zeros((len(PARTITIONED), cells)), np.zeros(n, dtype=np.bool_)
    w = np.ascontiguousarray(w, dtype=np.float64)
    ranges = pool.ranges(cells, 2.0 * design.n_stored + 30.0 * n)
    parts: list[Any] = [(np.zeros(groups), np.zeros((groups, d))) for _ in ranges]
    before = (design.rows, y, upper, squares, w, float(b), wide, shift, edges, sums)
    pool.run(
        [
            partial(kernel, *before, *out, near, a * SUMMED, min(z * SUMMED, n))
            for (a, z), out in zip(ranges, parts, strict=True)
        ]
    )
    weights, totals = parts[0]
    for one, other in parts[1:]:
        weights += one
        totals += other
    cut = 4, len(edges) + 1
    return HingePartition(sums.sum(axis=1), weights.reshape(cut), totals.reshape(*cut, d), near)
