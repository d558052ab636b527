r"""The sums of rows on their sides of a loss's kinks, at one reading of the rows.

Where a loss is straight a row's multiplier is at an end of a range, and many rows count as one: by
Jensen's inequality

.. math:: \sum_{i \in G} U_i\, \ell(\sigma (w \cdot x_i + b - c_i))
    \;\ge\; U_G\, \ell(\sigma (w \cdot \bar x_G + b - \bar c_G)),

for rows :math:`G` of one sign, their weight :math:`U_G` together and their means
:math:`\bar x_G, \bar c_G`, with equality where all of them are on one line of the loss.  So the
objective on the rows near the kinks, and on the means of the others, is never above the objective
on all rows; it is the same where no other row has changed sides; and a multiplier of a mean is that
of each of its rows, in proportion to their weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._compiled import compilation
from separatrix._compiled.row_access import block_dot, row_add
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.objectives.passes import SUMMED, run_in_blocks

# Rows at a time: with their scores they stay in the second-level cache.
_BLOCK = 64

#: The terms of every row that are added up, in the order of :attr:`Partition.sums`.
PARTITIONED = (
    "loss",  # U l(z)
    "loss_above",  # the same at the end of the score's enclosure where it is larger
    "upper",  # U
    "lengths",  # U |x| of the rows that are not near
    "near_lengths",  # and of those that are
    "sizes",  # U |c| of the rows that are not near
    "near_sizes",  # and of those that are
)


@dataclass(frozen=True)
class Partition:
    """Sums of some rows, and which of them are near a kink.

    A loss of ``p`` pieces has ``2 p`` groups: the rows of the negative sign on each of its lines,
    and those of the positive sign.

    Attributes
    ----------
    sums : ndarray of shape (len(PARTITIONED),)
    weights : ndarray of shape (2 p, 1 + n_bands)
        The sums of ``U`` over the rows of each group, for the near ones and for each band.
    totals : ndarray of shape (2 p, 1 + n_bands, n_features)
        The sums of ``U x`` over the same rows.
    centres : ndarray of shape (2 p, 1 + n_bands)
        The sums of ``U c`` over the same rows.
    near : ndarray of shape (n_samples,)
        Whether a row is near.
    """

    sums: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    centres: np.ndarray
    near: np.ndarray


def _partitioned_sums(
    rows, y, c, upper, squares, w, b, wide, shift, pieces, kinks, edges, sums, near,
    weights, centres, totals, first, last,
):  # fmt: skip
    """The rows from ``first`` to ``last``; see :data:`PARTITIONED`."""
    scores, losses, aboves = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    groups = np.empty(_BLOCK, dtype=np.int64)
    bands, lines = edges.shape[0], pieces.shape[0]
    cells = bands + 1
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        block_dot(rows, start, stop, w, scores)
        for i in range(start, stop):
            k = i - start
            z = y[i] * (scores[k] + b - c[i])
            u = upper[i]
            off = wide * np.sqrt(squares[i]) + shift + 8.8e-16 * (abs(z) + abs(c[i]))
            value, above = -np.inf, -np.inf
            for line in range(lines):
                slope, level = pieces[line, 0], pieces[line, 1]
                value = max(value, slope * z + level)
                above = max(above, slope * z + abs(slope) * off + level)
            losses[k] = u * value
            # Not where the length of a row overflows, which a maximum may not show.
            aboves[k] = u * (above if off < np.inf else np.inf) if u > 0.0 else 0.0
            distance, side = np.inf, lines if y[i] > 0.0 else 0
            for kink in kinks:
                distance = min(distance, abs(kink - z))
                side += z > kink
            band = 0
            for e in range(bands):
                band += distance > edges[e]
            near[i] = (u > 0.0) & (band == 0)
            groups[k] = side * cells + band
        loss, above, weight, length, near_length = 0.0, 0.0, 0.0, 0.0, 0.0
        size, near_size = 0.0, 0.0
        for k in range(stop - start):
            i = start + k
            u, group = upper[i], groups[k]
            loss += losses[k]
            above += aboves[k]
            weight += u
            if u > 0.0:
                weights[group] += u
                centres[group] += u * c[i]
                row_add(rows, i, u, totals[group])
            if near[i]:
                near_length += u * np.sqrt(squares[i])
                near_size += u * abs(c[i])
            else:
                length += u * np.sqrt(squares[i])
                size += u * abs(c[i])
        cell = start // SUMMED
        sums[0, cell] += loss
        sums[1, cell] += above
        sums[2, cell] += weight
        sums[3, cell] += length
        sums[4, cell] += near_length
        sums[5, cell] += size
        sums[6, cell] += near_size


def partitioned_sums(
    design: Design,
    loss: Loss,
    targets: np.ndarray,
    upper: np.ndarray,
    squares: np.ndarray,
    w: np.ndarray,
    b: float,
    edges: np.ndarray,
    *,
    wide: float = 0.0,
    shift: float = 0.0,
) -> Partition:
    """The sums of some rows at a point, and which rows are near a kink there.

    Parameters
    ----------
    design : Design
        The design, whose rows lie side by side.
    loss : Loss
        A loss that has ``pieces``.
    targets : ndarray of shape (n_samples,)
    upper : ndarray of shape (n_samples,)
        ``C`` times the weights.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    w : ndarray of shape (n_features,)
    b : float
    edges : ndarray of shape (n_bands,)
        Distances from the nearest kink, in the loss's argument, increasing.  Rows up to the first
        are near; there are bands from one to the next and beyond the last.
    wide, shift : float
        A score is off by at most ``wide |x| + shift`` and what its margin's own rounding adds.

    Returns
    -------
    Partition
        Sums are rounded as those of 4,096 numbers and of as many numbers as there are such sums;
        weights and totals as those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.losses import Hinge
    >>> from separatrix.objectives.partition import partitioned_sums
    >>> X = np.array([[0.0], [0.9], [2.0], [4.0]])
    >>> ones = np.ones(4)
    >>> squares, edges = X[:, 0] ** 2, np.array([0.5])
    >>> found = partitioned_sums(as_design(X), Hinge(), ones, ones, squares, ones[:1], 0.0, edges)
    >>> found.near, found.weights[2:].tolist(), found.totals[2:, :, 0].tolist()
    (array([False,  True, False, False]), [[1.0, 1.0], [0.0, 2.0]], [[0.9, 0.0], [0.0, 6.0]])
    """
    kernel = compilation.specialise(
        _partitioned_sums, block_dot=design.block_dot, row_add=design.row_add
    )
    n, d = design.shape
    pieces, kinks = np.array(loss.pieces), loss.kinks
    groups = 2 * len(pieces) * (len(edges) + 1)
    y, centre = np.array(loss.sign(targets)), loss.centre(targets)
    c = np.zeros(n) if centre is None else np.asarray(centre, dtype=np.float64)
    sums, near = np.zeros((len(PARTITIONED), -(-n // SUMMED))), np.zeros(n, dtype=np.bool_)
    w = np.ascontiguousarray(w, dtype=np.float64)
    before = (
        *(design.rows, y, c, upper, squares, w, float(b), wide, shift),
        *(pieces, kinks, edges, sums, near),
    )
    work = 2.0 * design.n_stored + 30.0 * n
    weights, centres, totals = run_in_blocks(
        kernel,
        before,
        n,
        SUMMED,
        work,
        lambda: (np.zeros(groups), np.zeros(groups), np.zeros((groups, d))),
    )
    cut = 2 * len(pieces), len(edges) + 1
    return Partition(
        sums.sum(axis=1), weights.reshape(cut), totals.reshape(*cut, d), centres.reshape(cut), near
    )
