r"""The sums over some rows that a certificate needs, at one reading of them.

Rows that do not fit memory come a block at a time and go again, so that nothing as long as the data
can be kept: neither scores nor multipliers.  What remains of a block are the sums here: of the
loss, of the conjugate at the slopes :math:`r_i = U_i \ell'(s_i)`, their products with the data, and
what bounds the rounding of each.  Sums of blocks add up to those of all rows.

An intercept without a penalty requires :math:`\sum r_i = 0`, which holds at its optimum alone.
Whatever the sum is, is known after the last block, when the slopes are gone; so every block also
adds up a second direction :math:`\kappa_i \ge 0` in which the slopes can be moved,

.. math:: r_i' = r_i - \varepsilon \kappa_i, \qquad \varepsilon = \sum r_i \big/ \sum \kappa_i,

and the cost of the move.  The loss supplies both (:attr:`~separatrix.losses.base.Loss.shift_at`):
where a term's share of the gap is at most
:math:`\tfrac12 \varepsilon^2 m_i / (1 - |\varepsilon|)^2`, the bound at the moved slopes differs
from that at the slopes themselves by the square of :math:`\sum r_i`, and nothing has to be read
twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._compiled import compilation
from separatrix._compiled.row_access import block_add, block_dot, read_only
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.losses.log import _log_conjugate as conjugate_at
from separatrix.losses.log import _log_derivative as slope_at
from separatrix.losses.log import _log_shift as shift_at
from separatrix.losses.log import _log_shift_cost as shift_cost_at
from separatrix.losses.log import _log_value as value_at
from separatrix.objectives.passes import SUMMED, run_in_blocks

# Rows at a time: with their slopes they stay in the second-level cache.
_BLOCK = 64

#: The terms of every row that are added up, in the order of :attr:`RowSums.sums`.
SUMS = (
    "loss",  # U l(z)
    "loss_above",  # the same at the end of the score's enclosure where it is larger
    "conjugate",  # U l*(-a / U)
    "sizes",  # |U l*(-a / U)| + |a|, the terms that the former was computed from
    "lengths",  # |a| |x|
    "slope",  # r
    "slope_size",  # |r|
    "outside",  # rows whose multiplier is out of its range
    "shift",  # kappa
    "shift_score",  # kappa s
    "shift_size",  # kappa |s|
    "shift_cost",  # m
    "shift_lengths",  # kappa |x|
    "upper",  # U
    "right",  # U where the row is on its own side
    "slips",  # bounds kappa times the error of s, in units of 64 times the rounding of one
)
_N_SUMS = len(SUMS)


@dataclass(frozen=True)
class RowSums:
    """The sums of some rows at a point.

    Attributes
    ----------
    sums : ndarray of shape (len(SUMS),)
    adjoint : ndarray of shape (n_features,)
        ``X' r``.
    shifted : ndarray of shape (n_features,) or (0,)
        ``X' kappa``; empty where there is nothing to balance.
    """

    sums: np.ndarray
    adjoint: np.ndarray
    shifted: np.ndarray


def _account(
    rows, y, upper, squares, w, b, wide, shift, low, high, sums, adjoint, shifted, first, last
):
    """The rows from ``first`` to ``last``; see :data:`SUMS`."""
    # A loop that reads and stores is compiled twice, for arrays that may overlap and for others;
    # those that lie close behind one another are taken for the former. These always lie alike, so
    # that where memory was free does not decide on the last digit of a slope.
    scratch = np.empty((11, _BLOCK))
    slopes, moves, losses, aboves = scratch[0], scratch[1], scratch[2], scratch[3]
    conjugates, scores, costs, outsides = scratch[4], scratch[5], scratch[6], scratch[7]
    signs, weights, lengths_squared = scratch[8], scratch[9], scratch[10]
    balance = shifted.shape[0] > 0
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        block_dot(rows, start, stop, w, scores)
        for k in range(stop - start):
            signs[k], weights[k] = y[start + k], upper[start + k]
            lengths_squared[k] = squares[start + k]
        for k in range(stop - start):
            s = scores[k] + b
            z = signs[k] * s
            u = weights[k]
            slope = slope_at(z)
            a = -u * slope
            off = wide * np.sqrt(lengths_squared[k]) + shift + 8.8e-16 * abs(z)
            above = value_at(z - off)
            if low < 0.0:
                above = max(above, value_at(z + off))
            losses[k] = u * value_at(z)
            aboves[k] = u * above
            conjugates[k] = conjugate_at(a, u) if u > 0.0 else 0.0
            inside = (u > 0.0) & (a >= low * u) & (a <= high * u)
            outsides[k] = 0.0 if inside | (a == 0.0) else 1.0
            # No further than the ends of its range, of which floats may hold the slope to be one.
            move = min(u * shift_at(z), a - low * u)
            moves[k] = max(min(move, high * u - a), 0.0) if u > 0.0 else 0.0
            costs[k] = u * shift_cost_at(z)
            scores[k] = s
            slopes[k] = -signs[k] * a
        # Apart from what is stored: a loop that does both is compiled twice, for arrays that may
        # overlap and for others, and where they lie in memory would decide on the order of a sum.
        loss, loss_above, conjugate, sizes, lengths = 0.0, 0.0, 0.0, 0.0, 0.0
        total, size, outside = 0.0, 0.0, 0.0
        shift_sum, shift_score, shift_size, cost, shift_lengths = 0.0, 0.0, 0.0, 0.0, 0.0
        weight, right = 0.0, 0.0
        for k in range(stop - start):
            r, move, s = slopes[k], moves[k], scores[k]
            length = np.sqrt(lengths_squared[k])
            loss += losses[k]
            loss_above += aboves[k]
            conjugate += conjugates[k]
            sizes += abs(conjugates[k]) + abs(r)
            lengths += abs(r) * length
            total += r
            size += abs(r)
            outside += outsides[k]
            shift_sum += move
            shift_score += move * s
            shift_size += move * abs(s)
            cost += costs[k]
            shift_lengths += move * length
            weight += weights[k]
            right += weights[k] if signs[k] * s > 0.0 else 0.0
        block_add(rows, start, stop, slopes, adjoint)
        if balance:
            block_add(rows, start, stop, moves, shifted)
        c = start // SUMMED
        sums[0, c] += loss
        sums[1, c] += loss_above
        sums[2, c] += conjugate
        sums[3, c] += sizes
        sums[4, c] += lengths
        sums[5, c] += total
        sums[6, c] += size
        sums[7, c] += outside
        sums[8, c] += shift_sum
        sums[9, c] += shift_score
        sums[10, c] += shift_size
        sums[11, c] += cost
        sums[12, c] += shift_lengths
        sums[13, c] += weight
        sums[14, c] += right


def _apart(d: int) -> np.ndarray:
    """Zeros that lie some rows away from any other array: see the kernel's scratch."""
    # The space around them is never touched, and takes no memory.
    return np.zeros(17 * d)[8 * d : 9 * d]


def margin_sums(
    design: Design,
    loss: Loss,
    y: np.ndarray,
    upper: np.ndarray,
    squares: np.ndarray,
    w: np.ndarray,
    b: float,
    *,
    wide: float = 0.0,
    shift: float = 0.0,
    balance: bool = True,
) -> RowSums:
    """The sums of some rows at a point, for a loss of the margin.

    Parameters
    ----------
    design : Design
        The design, whose rows lie side by side.
    loss : Loss
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0.
    upper : ndarray of shape (n_samples,)
        ``C`` times the weights.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    w : ndarray of shape (n_features,)
    b : float
    wide, shift : float
        A score is off by at most ``wide |x| + shift`` and what its margin's own rounding adds.
    balance : bool
        Whether the slopes are to be balanced, for an intercept without a penalty.

    Returns
    -------
    RowSums
        The sums are rounded as those of 4,096 numbers and of as many numbers as there are such
        sums.
    """
    kernel = compilation.specialise(
        _account,
        block_dot=design.block_dot,
        block_add=design.block_add,
        value_at=loss.value_at,
        slope_at=loss.slope_at,
        conjugate_at=loss.conjugate_at,
        shift_at=loss.shift_at,
        shift_cost_at=loss.shift_cost_at,
    )
    n, d = design.shape
    sums = np.zeros((_N_SUMS, -(-n // SUMMED)))
    w = np.ascontiguousarray(w, dtype=np.float64)
    ends = float(loss.dual_lower), float(loss.dual_upper)
    before = (design.rows, y, upper, read_only(squares), w, float(b), wide, shift, *ends, sums)
    work = 2.0 * design.n_stored + 60.0 * n
    adjoint, shifted = run_in_blocks(
        kernel, before, n, SUMMED, work, lambda: (_apart(d), _apart(d if balance else 0))
    )
    found = sums.sum(axis=1)
    # The derivative of the conjugate at a slope is the score, but for the rounding of the slope
    # itself, which counts as much as the row's weight at most.
    found[SUMS.index("slips")] = found[SUMS.index("upper")] + 2.0 * found[SUMS.index("loss_above")]
    return RowSums(found, adjoint, shifted)
