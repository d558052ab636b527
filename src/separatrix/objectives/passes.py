"""One pass over the rows: scores, loss and gradient, while a few rows at a time are in the cache.

Products with the data that are requested one by one read the data once each, and leave vectors as
long as the data set in between.  Where the data do not fit the cache, reading is what takes the
time; so everything that a first-order method needs at a point is computed here at one reading.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import compilation, pool
from separatrix._compiled.compilation import FASTMATH, inlined, njit, scalar
from separatrix._compiled.elementary import exp_negative, larger, smaller
from separatrix._compiled.narrow_products import ROWS, add_dot, add_t_dot
from separatrix._compiled.rounding import TINY, UNIT
from separatrix._compiled.row_access import block_add, block_dot, read_only
from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.losses.log import _log_derivative as slope_at
from separatrix.losses.log import _log_value as value_at
from separatrix.losses.squared_residual import _squared_cost as cost_at
from separatrix.losses.squared_residual import _squared_dual_cost as dual_cost_at

# The rows of a block: with their slopes they stay in the second-level cache.  A matrix by columns
# has longer blocks, since a block is one piece of each column; with more columns than the last
# number it has the longest, since these fit no cache, and longer pieces are read faster.
_BLOCK, _LONG_BLOCK, _LONGEST_BLOCK, _WIDE = 64, 128, 1024, 1500


@dataclass(frozen=True)
class Evaluation:
    """The results of one pass at a point.

    Attributes
    ----------
    scores : ndarray
        ``X w + b``.
    loss : float
        ``sum U_i l_i(s_i)``.
    paired : float
        ``sum r_i s_i`` with the slopes ``r_i = U_i l_i'(s_i)``.
    adjoint : ndarray
        ``X' r`` and, below it, ``sum r_i`` where there is an intercept; the shape of a point.
    """

    scores: np.ndarray
    loss: float
    paired: float
    adjoint: np.ndarray


def run_in_blocks(
    kernel: Callable[..., Any],
    before: tuple[Any, ...],
    n: int,
    size: int,
    work: float,
    make: Callable[[], tuple[np.ndarray, ...]] = tuple,
    most: float = math.inf,
) -> tuple[np.ndarray, ...]:
    """Run a kernel over rows, and add up what its parts leave.

    A part consists of whole blocks, so that the sums of a block do not depend on the number of
    threads.

    Parameters
    ----------
    kernel : callable
        The function that is called with ``before``, the arrays of its part, and the first and the
        last row.
    before : tuple
    n, size : int
        The numbers of all rows, and of the rows of a block.
    work : float
        The operations that all rows take.
    make : callable
        The function that gives the arrays of a part, of zeros; by default there are none.
    most : float
        The most parts.

    Returns
    -------
    tuple of ndarray
        The sums of the arrays of all parts, one part after another.
    """
    rows = [(a * size, min(z * size, n)) for a, z in pool.ranges(-(-n // size), work, most)]
    return pool.run_and_add(partial(kernel, *before), rows, make)


def _pass(rows, y, upper, w, b, scores, sums, size, adjoint, first, last):
    """The rows from ``first`` to ``last``, with the sums of loss, ``r s`` and ``r`` by block."""
    slopes, losses, pairs = np.empty(size), np.empty(size), np.empty(size)
    for start in range(first, last, size):
        stop = min(start + size, last)
        block_dot(rows, start, stop, w, slopes)
        for i in range(start, stop):
            s = slopes[i - start] + b
            z = y[i] * s
            r = upper[i] * y[i] * slope_at(z)
            losses[i - start] = upper[i] * value_at(z)
            pairs[i - start] = r * s
            scores[i] = s
            slopes[i - start] = r
        # Apart from what is stored: a loop that does both is compiled twice, for arrays that may
        # overlap and for others, and where they lie in memory would decide on the order of a sum.
        loss, paired, total = 0.0, 0.0, 0.0
        for k in range(stop - start):
            loss += losses[k]
            paired += pairs[k]
            total += slopes[k]
        block_add(rows, start, stop, slopes, adjoint)
        k = start // size
        sums[0, k], sums[1, k], sums[2, k] = loss, paired, total


def _reading(design: Design) -> tuple[Any, dict[str, Any]]:
    """The rows of a design, and the compiled functions that read and add up blocks of them."""
    pieces = design.pieces
    assert pieces is not None
    rows, block_dot, block_add = pieces
    return rows, {"block_dot": block_dot, "block_add": block_add}


def _block(design: Design) -> int:
    """The number of rows that are read at a time."""
    if design.by_rows:
        return _BLOCK
    return _LONG_BLOCK if design.n_features <= _WIDE else _LONGEST_BLOCK


def margin_pass(
    design: Design, loss: Loss, y: np.ndarray, upper: np.ndarray, w: np.ndarray, b: float
) -> tuple[np.ndarray, float, float, np.ndarray, float]:
    """Scores, ``sum U l``, ``sum r s``, ``X' r`` and ``sum r`` for a loss of the margin."""
    rows, reading = _reading(design)
    kernel = compilation.specialise(
        _pass, **reading, value_at=loss.value_at, slope_at=loss.slope_at
    )
    n, d = design.shape
    scores, size = np.empty(n), _block(design)
    sums = np.empty((3, -(-n // size)))
    w = np.ascontiguousarray(w, dtype=np.float64)
    before = (rows, y, upper, w, b, scores, sums, size)
    work = 2.0 * design.n_stored + 20.0 * n
    (adjoint,) = run_in_blocks(kernel, before, n, size, work, lambda: (np.zeros(d),))
    total, paired, slope = (float(v) for v in sums.sum(axis=1))
    return scores, total, paired, adjoint, slope


def _product(rows, curvature, w, b, sums, size, adjoint, first, last):
    """The rows from ``first`` to ``last``, with the sum of the slopes by block."""
    slopes = np.empty(size)
    for start in range(first, last, size):
        stop = min(start + size, last)
        block_dot(rows, start, stop, w, slopes)
        for i in range(start, stop):
            slopes[i - start] = curvature[i] * (slopes[i - start] + b)
        total = 0.0
        for k in range(stop - start):
            total += slopes[k]
        block_add(rows, start, stop, slopes, adjoint)
        sums[start // size] = total


def curved_product(
    design: Design, curvature: np.ndarray, w: np.ndarray, b: float
) -> tuple[np.ndarray, float]:
    """``X' D (X w + b)`` and ``sum D (X w + b)``, where ``D`` has the curvatures of the rows."""
    rows, reading = _reading(design)
    kernel = compilation.specialise(_product, **reading)
    n, d = design.shape
    size = _block(design)
    sums = np.empty(-(-n // size))
    w = np.ascontiguousarray(w, dtype=np.float64)
    before = (rows, read_only(curvature), w, b, sums, size)
    work = 2.0 * design.n_stored + 2.0 * n
    (adjoint,) = run_in_blocks(kernel, before, n, size, work, lambda: (np.zeros(d),))
    return adjoint, float(sums.sum())


def _slopes(y, upper, scores, out, first, last):
    for i in range(first, last):
        out[i] = upper[i] * y[i] * slope_at(y[i] * scores[i])


def margin_slopes(loss: Loss, y: np.ndarray, upper: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """``U_i l_i'(s_i)`` for a loss of the margin."""
    kernel = compilation.specialise(_slopes, slope_at=loss.slope_at)
    out = np.empty(len(scores))
    ranges = pool.ranges(len(out), 20.0 * len(out))
    pool.run([partial(kernel, y, upper, scores, out, a, b) for a, b in ranges])
    return out


def _line(y, upper, scores, along, t, sums, first, last):
    """Compute for each block of rows the sums of the losses and of their slopes in ``t``."""
    for start in range(first, last, SUMMED):
        loss, slope = 0.0, 0.0
        for i in range(np.uint64(start), np.uint64(min(start + SUMMED, last))):
            z = y[i] * (scores[i] + t * along[i])
            loss += upper[i] * value_at(z)
            slope += upper[i] * y[i] * slope_at(z) * along[i]
        sums[0, start // SUMMED], sums[1, start // SUMMED] = loss, slope


def margin_line(
    loss: Loss, y: np.ndarray, upper: np.ndarray, scores: np.ndarray, along: np.ndarray, t: float
) -> tuple[float, float]:
    """``sum U_i l_i(s_i + t a_i)`` for a loss of the margin, and its slope in ``t``."""
    kernel = compilation.specialise(_line, value_at=loss.value_at, slope_at=loss.slope_at)
    n = len(scores)
    sums = np.empty((2, -(-n // SUMMED)))
    run_in_blocks(kernel, (y, upper, scores, along, t, sums), n, SUMMED, 30.0 * n)
    value, slope = (float(v) for v in sums.sum(axis=1))
    return value, slope


# Rows whose sums are added up by themselves, so that their rounding does not grow with all rows.
SUMMED = 4096


@functools.cache
def _without_parameter(value_at: Any, conjugate_at: Any) -> tuple[Any, Any]:
    """The compiled functions of a loss that has no parameter, with one that they ignore."""

    @inlined
    def value(z, parameter):
        return value_at(z)

    @inlined
    def conjugate(a, upper, parameter):
        return conjugate_at(a, upper)

    return value, conjugate


def scalars_of(loss: Loss) -> dict[str, Any] | None:
    """The compiled loss and its conjugate, both with a parameter; None where there are none."""
    if hasattr(loss, "cost_at") and hasattr(loss, "dual_cost_at"):
        return {"cost_at": loss.cost_at, "dual_cost_at": loss.dual_cost_at}
    if not (hasattr(loss, "value_at") and hasattr(loss, "conjugate_at")):
        return None
    value, conjugate = _without_parameter(loss.value_at, loss.conjugate_at)
    return {"cost_at": value, "dual_cost_at": conjugate}


def _charges(y, upper, scores, residual, squares, centres, numbers, sums, first, last):
    """Compute for each block of rows the sums of a charged bound; see :func:`charges`."""
    wide, shift, share, spread, middle, unit, cancels, low, high, parameter = numbers
    centred = centres.shape[0] > 0
    for start in range(first, last, SUMMED):
        loss, conjugate, sizes, lengths = 0.0, 0.0, 0.0, 0.0
        up, down, slope, outside, mass = 0.0, 0.0, 0.0, 0.0, 0.0
        paired, pairs, reached, reach = 0.0, 0.0, 0.0, 0.0
        for i in range(np.uint64(start), np.uint64(min(start + SUMMED, last))):
            u = upper[i]
            z, a = y[i] * scores[i], -y[i] * residual[i]
            size, length, off = abs(a), np.sqrt(squares[i]), 0.0
            if centred:
                z = y[i] * (scores[i] - centres[i])
                off = unit * abs(centres[i])
                centre = centres[i] - middle
                paired += residual[i] * centre
                pairs += size * abs(centre)
                reached += u * abs(centre)
            off += wide * length + shift + 8.8e-16 * abs(z)
            above = cost_at(z - off, parameter)
            if low < 0.0:
                above = max(above, cost_at(z + off, parameter))
            loss += u * above
            # No branches: the loop runs in vector registers.
            if spread > 0.0:
                move = share * size + spread * u + TINY
                value = max(
                    dual_cost_at(min(max(a - move, low * u), high * u), u, parameter),
                    dual_cost_at(min(max(a + move, low * u), high * u), u, parameter),
                )
                reach += u * length
            else:
                value = dual_cost_at(a, u, parameter)
            value = value if u > 0.0 else 0.0
            conjugate += value
            sizes += abs(value) + cancels * size
            inside = (u > 0.0) & (a >= low * u) & (a <= high * u)
            outside += 0.0 if inside | (a == 0.0) else 1.0
            lengths += size * length
            slope += residual[i]
            mass += size
            side = 0.5 + 0.5 * y[i]
            up += side * a
            down += (1.0 - side) * a
        k = start // SUMMED
        sums[0, k], sums[1, k], sums[2, k], sums[3, k] = loss, conjugate, sizes, lengths
        sums[4, k], sums[5, k], sums[6, k], sums[7, k] = up, down, slope, outside
        sums[8, k], sums[9, k], sums[10, k], sums[11, k] = mass, paired, pairs, reached
        sums[12, k] = reach


_NOTHING, _NO_ENDS = read_only(np.empty(0)), np.empty((2, 0))


def charges(
    loss: Loss,
    scalars: dict[str, Any],
    y: np.ndarray,
    upper: np.ndarray,
    scores: np.ndarray,
    residual: np.ndarray,
    squares: np.ndarray,
    centres: np.ndarray | None,
    rounding: tuple[float, float],
    moves: tuple[float, float],
    middle: float,
) -> np.ndarray:
    """Sums over all rows at one look at vectors of their length, each with its blocks as a row.

    They are in the order of :class:`~separatrix.objectives.pointwise.Charges`.  With ``rounding =
    (wide, shift)`` the score of row ``i`` is off by at most ``wide sqrt(squares_i) + shift``.
    """
    kernel = compilation.specialise(_charges, **scalars)
    sums = np.empty((13, -(-len(y) // SUMMED)))
    share, spread = moves
    unit, ends = loss.centre_units * UNIT, (float(loss.dual_lower), float(loss.dual_upper))
    # The quotients of multipliers and weights are rounded.
    share += 4.0 * UNIT
    numbers = (*rounding, share, spread, middle, unit, float(loss.cancels), *ends, loss.parameter)
    fixed = read_only(squares), _NOTHING if centres is None else read_only(centres)
    before = (y, upper, scores, residual, *fixed, numbers, sums)
    run_in_blocks(kernel, before, len(y), SUMMED, 60.0 * len(y))
    return sums


def _dual_terms(y, upper, scores, residual, centres, low, high, parameter, sums):
    """Compute for each block of rows the gap between loss and conjugate, and the conjugate."""
    n = len(y)
    centred = centres.shape[0] > 0
    for start in range(0, n, SUMMED):
        gaps, conjugates, outside = 0.0, 0.0, 0.0
        for i in range(np.uint64(start), np.uint64(min(start + SUMMED, n))):
            u, a = upper[i], -y[i] * residual[i]
            z = y[i] * scores[i]
            if centred:
                z = y[i] * (scores[i] - centres[i])
            # A multiplier that is beyond the edge by an ulp stands for the edge.
            least, most = low * u, high * u
            inside = (a >= least - 1e-15 * abs(least)) & (a <= most + 1e-15 * abs(most))
            outside += 0.0 if ((u > 0.0) & inside) | (a == 0.0) else 1.0
            # No branches, as above.
            conjugate = dual_cost_at(smaller(larger(a, least), most), u, parameter)
            conjugate = conjugate if u > 0.0 else 0.0
            conjugates += conjugate
            gaps += larger(u * cost_at(z, parameter) + conjugate + a * z, 0.0)
        k = start // SUMMED
        sums[0, k] = gaps if outside == 0.0 else np.inf
        sums[1, k] = conjugates if outside == 0.0 else np.inf


def dual_terms(
    loss: Loss,
    scalars: dict[str, Any],
    y: np.ndarray,
    upper: np.ndarray,
    scores: np.ndarray,
    residual: np.ndarray,
    centres: np.ndarray | None,
) -> tuple[float, float]:
    """``sum U l(z) + U l*(-a/U) + a z``, each term at least 0, and ``sum U l*(-a/U)``."""
    kernel = compilation.specialise(_dual_terms, **scalars)
    sums = np.empty((2, -(-len(y) // SUMMED)))
    centres = _NOTHING if centres is None else read_only(centres)
    ends = float(loss.dual_lower), float(loss.dual_upper)
    kernel(y, upper, scores, residual, centres, *ends, loss.parameter, sums)
    gap, conjugate = np.add.reduce(sums, axis=1).tolist()
    return gap, conjugate


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _balanced(y, residual, upper, ends, low, high, out):
    """The kernel of :func:`balanced`."""
    n = len(y)
    given = ends.shape[1] > 0
    excess, total, up, down = 0.0, 0.0, 0.0, 0.0
    for turn in range(2):
        share = excess / total if excess != 0.0 else 0.0
        # Otherwise scale the heavier side down: the box survives.  With labels the sides are the
        # classes; multipliers of numbers have both signs.
        scaled = turn > 0 and not abs(excess) <= 0.5 * total
        if scaled and not (up > 0.0 and down > 0.0):
            out[:] = 0.0
            return
        shrink_up = min(1.0, down / up) if scaled else 1.0
        shrink_down = min(1.0, up / down) if scaled else 1.0
        for start in range(0, n, SUMMED):
            block, free, positive, negative = 0.0, 0.0, 0.0, 0.0
            for i in range(start, min(start + SUMMED, n)):
                u = upper[i]
                if given:
                    least, most = ends[0, i], ends[1, i]
                else:
                    least, most = (low * u, high * u) if u > 0.0 else (0.0, 0.0)
                a = min(max(-y[i] * residual[i], least), most)
                # Multipliers inside their range move, where the dual is flat to first order, by at
                # most their slack.
                slack = max(min(min(a - least, most - a), max(u, abs(a))), 0.0)
                if turn > 0:
                    if scaled:
                        a *= shrink_up if a * y[i] > 0.0 else shrink_down
                    else:
                        a -= y[i] * slack * share
                    out[i] = -y[i] * min(max(a, least), most)
                else:
                    pull = a * y[i]
                    block += pull
                    free += slack
                    positive += max(pull, 0.0)
                    negative += max(-pull, 0.0)
            excess += block
            total += free
            up += positive
            down += negative


def balanced(
    y: np.ndarray,
    residual: np.ndarray,
    upper: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray] | None,
    low: float,
    high: float,
) -> np.ndarray:
    """A residual near another whose sum is zero, of multipliers ``a = -y r`` within their ranges.

    The excess is shared out among the multipliers that lie inside of their range, or the heavier
    side is scaled down.

    Parameters
    ----------
    y, residual, upper : ndarray of shape (n_samples,)
    ends : tuple of ndarray of shape (n_samples,), optional
        The ranges of the multipliers; by default ``low`` to ``high`` times ``upper``.
    low, high : float
    """
    out = np.empty(len(y))
    both = _NO_ENDS if ends is None else np.stack(ends)
    _balanced(y, residual, upper, both, low, high, out)
    return out


# --- several scores a row -------------------------------------------------------------------


@scalar
def _any_positive(values, first, last):
    """Whether one of some numbers is; NumPy's maximum would take half a second to compile."""
    found = False
    for i in range(first, last):
        found = found or values[i] > 0.0
    return found


def _softmax_pass(x, codes, upper, w, b, scores, sums, slopes_sum, adjoint, first, last):
    """The rows from ``first`` to ``last``; ``w`` and what comes out of it in whole vectors.

    ``scores`` has a row for each class.
    """
    classes = b.shape[0]
    block = np.empty((ROWS, w.shape[1]))
    for start in range(first, last, ROWS):
        stop = min(start + ROWS, last)
        block[:] = 0.0
        add_dot(x, start, stop, w, block, 0)
        loss, paired = 0.0, 0.0
        for i in range(start, stop):
            s = block[i - start]
            own = codes[i]
            largest = -np.inf
            for k in range(classes):
                s[k] += b[k]
                scores[k, i] = s[k]
                largest = max(largest, s[k])
            # Relative to the label's own score: the loss of a row far on its side keeps its digits.
            rest = 0.0
            u = upper[i]
            shift = largest - s[own]
            product = -u * s[own]
            total = 0.0
            for k in range(classes):
                e = exp_negative(s[k] - largest)
                total += e
                rest += e if k != own else 0.0
                block[i - start, k] = e
            # sum_{k != own} exp(s_k - s_own) where nothing is above the label, else total.
            loss += u * (np.log1p(rest) if shift == 0.0 else shift + np.log(total))
            factor = u / total
            for k in range(classes):
                r = factor * block[i - start, k]
                product += r * scores[k, i]
                block[i - start, k] = r
            # The label's slope without cancellation: minus what the others have.
            block[i - start, own] = -factor * rest
            for k in range(classes):
                slopes_sum[k] += block[i - start, k]
            for k in range(classes, w.shape[1]):
                block[i - start, k] = 0.0
            paired += product
        # Scores are needed for all rows, slopes for those that have weight.
        if _any_positive(upper, start, stop):
            add_t_dot(x, start, stop, block, 0, adjoint)
        k = start // ROWS
        sums[0, k], sums[1, k] = loss, paired


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _softmax_line(codes, upper, scores, along, t, sums, first, last):
    """Compute for each block of rows the sums of the losses and of their slopes in ``t``."""
    classes = scores.shape[1]
    s = np.empty(classes)
    for start in range(first, last, ROWS):
        loss, slope = 0.0, 0.0
        for i in range(start, min(start + ROWS, last)):
            u, own = upper[i], codes[i]
            if not u > 0.0:
                continue
            largest = -np.inf
            for k in range(classes):
                s[k] = scores[i, k] + t * along[i, k]
                largest = max(largest, s[k])
            rest, turned = 0.0, 0.0
            for k in range(classes):
                e = exp_negative(s[k] - largest)
                if k != own:
                    rest += e
                    turned += e * (along[i, k] - along[i, own])
            shift = largest - s[own]
            total = rest + exp_negative(-shift)
            # As in a pass: relative to the label's own score.
            loss += u * (np.log1p(rest) if shift == 0.0 else shift + np.log(total))
            slope += u * turned / total
        sums[0, start // ROWS], sums[1, start // ROWS] = loss, slope


def _softmax_product(x, p, upper, w, b, slopes_sum, adjoint, first, last):
    """``X' (D X w)`` over some rows, ``D`` the Hessian of each row's loss in its scores."""
    classes = b.shape[0]
    block = np.empty((ROWS, w.shape[1]))
    for start in range(first, last, ROWS):
        stop = min(start + ROWS, last)
        # The rows that a fold leaves out often lie together.
        if not _any_positive(upper, start, stop):
            continue
        block[:] = 0.0
        add_dot(x, start, stop, w, block, 0)
        for i in range(start, stop):
            mean = 0.0
            for k in range(classes):
                block[i - start, k] += b[k]
                mean += p[i, k] * block[i - start, k]
            for k in range(classes):
                r = upper[i] * p[i, k] * (block[i - start, k] - mean)
                block[i - start, k] = r
                slopes_sum[k] += r
        add_t_dot(x, start, stop, block, 0, adjoint)


def _by_blocks(
    template: Any,
    design: Design,
    before: tuple[Any, ...],
    w: np.ndarray,
    b: np.ndarray,
    *found: Any,
) -> np.ndarray:
    """The sums of ``X' r`` and of ``r`` over all rows, as they leave a kernel: (d + 1, K)."""
    assert design.products is not None
    rows, add_dot, add_t_dot, lanes = design.products
    kernel = compilation.specialise(template, add_dot=add_dot, add_t_dot=add_t_dot)
    (n, d), classes = design.shape, w.shape[1]
    wide = np.zeros((d, -(-classes // lanes) * lanes))
    wide[:, :classes] = w
    work = 2.0 * design.n_stored * classes
    sums, adjoint = run_in_blocks(
        kernel,
        (rows, *before, wide, b, *found),
        n,
        ROWS,
        work,
        lambda: (np.zeros(classes), np.zeros_like(wide)),
        # The parts' sums are to cost less than the parts.
        0.02 * work / wide.size,
    )
    out = np.empty((d + 1, classes))
    out[:d], out[d] = adjoint[:, :classes], sums
    return out


def softmax_pass(
    design: Design, codes: np.ndarray, upper: np.ndarray, w: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, float, float, np.ndarray]:
    """Scores, ``sum U l``, ``sum r s`` and ``X' r`` with ``sum r`` below it, K scores a row."""
    n = design.n_samples
    scores = np.empty((w.shape[1], n))
    sums = np.empty((2, -(-n // ROWS)))
    adjoint = _by_blocks(_softmax_pass, design, (codes, upper), w, b, scores, sums)
    loss, paired = (float(v) for v in sums.sum(axis=1))
    return scores.T, loss, paired, adjoint


def softmax_line(
    codes: np.ndarray, upper: np.ndarray, scores: np.ndarray, along: np.ndarray, t: float
) -> tuple[float, float]:
    """``sum U_i l_i(s_i + t a_i)``, and its slope in ``t``, K scores a row."""
    n = len(scores)
    sums = np.empty((2, -(-n // ROWS)))
    before = (codes, upper, scores, along, t, sums)
    run_in_blocks(_softmax_line, before, n, ROWS, 30.0 * scores.size)
    value, slope = (float(v) for v in sums.sum(axis=1))
    return value, slope


def softmax_product(
    design: Design, p: np.ndarray, upper: np.ndarray, w: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The Hessian of the loss times a direction ``(w, b)``, at probabilities ``p``."""
    return _by_blocks(_softmax_product, design, (p, upper), w, b)
