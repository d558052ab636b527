r"""Extrapolation of a dual ascent along the displacements of its last passes.

A pass of coordinate descent is a good preconditioner and a poor method: directions in which
single rows are held by others, like two rows that are nearly the same, it follows in equal small
steps.  The dual is a quadratic of the weights, :math:`\tfrac12\|w\|^2` with
:math:`w = \sum_i a_i y_i x_i`, plus a term for each multiplier, so that its maximum over the span
of a few displacements costs a few products of vectors and none with the data.  From the point
after a pass the method moves towards that maximum over the displacement of this pass and those
of the two steps before: with exact arithmetic, no edges and one and the same symmetric pass these
are the preconditioned conjugate gradients (Hestenes and Stiefel, 1952), with passes in random
order their flexible variant (Notay, 2000).

Multipliers that reach an edge of their range on the way stop there, and the search goes on with
the others along the bent path for as long as the dual rises (Conn, Gould and Toint, 1988; Moré and
Toraldo, 1991); each such row is read once.  The dual never falls.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np

from separatrix import _kernels
from separatrix._kernels import FASTMATH, row_add, row_dot, specialise
from separatrix._linalg import inner
from separatrix.losses import _hinge_slope as dual_slope
from separatrix.objective import MarginObjective

__all__ = ["Extrapolation"]

# Displacements that are kept, beside that of the last pass; a third gains nothing.
_KEPT = 2
# The share of the rows that may stop on the way: each costs what it costs in a pass.
_STOPS = 0.05
# Up to this share, the displacement is as good as free.
_CUT = 0.002
# A multiplier stays this share of its room away from an edge where its slope is infinite.
_INSIDE = 0.1


def _bend(rows, y, squares, rho, index, stops, when, direction, slopes, curvature, w, v, scalars):
    """Follow the bent path over the rows ``stops``, in the order in which they stop.

    The multipliers are ``a + t * direction``, the weights ``w + t v``, and what the dual gains a
    unit of ``t`` is ``gain - t * bend``.  A row that stops leaves ``v`` and takes its share into
    ``w``.  ``scalars`` holds gain, bend, the intercept and the sum of ``direction * y``.
    Returns how many rows have stopped.
    """
    gain, bend, b, total = scalars[0], scalars[1], scalars[2], scalars[3]
    stopped = 0
    for j in range(stops.shape[0]):
        k = stops[j]
        t = when[k]
        if gain - t * bend <= 0.0:
            break
        i = index[k]
        e = direction[k] * y[i]
        along = row_dot(rows, i, v) + rho * total
        gain += direction[k] * slopes[k] + e * (row_dot(rows, i, w) + b)
        gain -= t * e * (along - e * squares[i])
        bend -= e * (2.0 * along - e * squares[i]) + curvature[k] * direction[k] * direction[k]
        row_add(rows, i, -e, v)
        row_add(rows, i, t * e, w)
        total -= e
        b += t * rho * e
        stopped += 1
    scalars[0], scalars[1], scalars[2], scalars[3] = gain, bend, b, total
    return stopped


def _own_slopes(a, upper, out):
    """The slopes of the multipliers' own terms."""
    for k in range(out.shape[0]):
        out[k] = dual_slope(a[k], 0.0, upper[k])


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True)
def _products(w, mark, first, second, start, stop, out):
    """Products of ``w - mark``, ``first`` and ``second`` with each other and with ``w``."""
    a = b = c = d = e = f = g = h = i = 0.0
    for j in range(start, stop):
        p, q, r = w[j] - mark[j], first[j], second[j]
        a += p * p
        b += p * q
        c += p * r
        d += q * q
        e += q * r
        f += r * r
        g += p * w[j]
        h += q * w[j]
        i += r * w[j]
    out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, d, e, f
    out[6], out[7], out[8] = g, h, i


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True)
def _combine(w, mark, first, second, shares, v, start, stop):
    """The combination into ``v``; ``second`` is free then and becomes a copy of ``w``."""
    for j in range(start, stop):
        v[j] = shares[0] * (w[j] - mark[j]) + shares[1] * first[j] + shares[2] * second[j]
        second[j] = w[j]


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True)
def _advance(w, moved, v, t, start, stop, out):
    """``moved += t v``; and the products of what that is beyond ``w`` with ``w`` and itself."""
    a = b = 0.0
    for j in range(start, stop):
        moved[j] += t * v[j]
        change = moved[j] - w[j]
        a += change * w[j]
        b += change * change
    out[0], out[1] = a, b


@numba.njit(fastmath=FASTMATH, nogil=True, cache=True)
def _commit(w, mark, moved, share, start, stop):
    """Go that share of the way to ``moved``, which becomes the displacement since ``mark``."""
    for j in range(start, stop):
        w[j] += share * (moved[j] - w[j])
        moved[j] = w[j] - mark[j]
        mark[j] = w[j]


class Extrapolation:
    """The displacements of the last passes, and the way to more from them.

    Call :meth:`extrapolate` before every pass; the first call only takes note of the point.

    Parameters
    ----------
    problem : MarginObjective
        With rows, and a loss that has a dual slope.

    Notes
    -----
    Keeps four vectors of the weights' length and three of the multipliers'.
    """

    def __init__(self, problem: MarginObjective) -> None:
        n, d = problem.design.shape
        self._mark = np.zeros(d)
        self._combined = np.zeros(d)
        self._weights = [np.zeros(d) for _ in range(_KEPT)]
        self._before = np.zeros(n)
        self._multipliers = [np.zeros(n) for _ in range(_KEPT)]
        self._kept = 0
        # The rows outside of which all that is kept here is zero, and the last pass moved nothing.
        self._index: np.ndarray | None = None
        edges = np.array([problem.loss.dual_lower, problem.loss.dual_upper])
        with np.errstate(divide="ignore", invalid="ignore"):
            open_ended = ~np.isfinite(problem.loss.dual_curvature(edges, np.ones(2)))
        self._open = open_ended & np.isfinite(edges)

    def extrapolate(
        self,
        problem: MarginObjective,
        alpha: np.ndarray,
        w: np.ndarray,
        b: np.ndarray,
        *,
        squares: np.ndarray,
        rho: float,
        coming: np.ndarray,
    ) -> None:
        """Move multipliers, weights and intercept, in place, to where the dual is no lower.

        Parameters
        ----------
        problem : MarginObjective
        alpha : ndarray of shape (n_samples,)
        w : ndarray of shape (n_features,)
            ``X' (alpha y)``.
        b : ndarray of shape (1,)
            The intercept, which moves by ``rho`` times the change of ``sum(alpha y)``.
        squares : ndarray of shape (n_samples,)
            Squared norms of the rows, plus ``rho``.
        rho : float
            Squared size of the constant feature that stands for an intercept; 0 without one.
        coming : ndarray of int
            The rows that the next pass may move.
        """
        touched = np.zeros(len(alpha), dtype=bool)
        touched[coming] = True
        if self._index is not None:
            self._move(problem, alpha, w, b, squares, rho, self._index)
            for kept in self._multipliers[: self._kept]:
                touched[self._index[kept[self._index] != 0.0]] = True
        self._index = np.flatnonzero(touched)
        self._before[self._index] = alpha[self._index]
        self._mark[:] = w

    def _over_columns(self, kernel: Any, *arguments: Any, sums: int = 0) -> np.ndarray:
        """A kernel over ranges of the columns, side by side; its sums in a fixed order."""
        ranges = _kernels.ranges(len(self._mark), 4.0 * len(self._mark))
        out = np.zeros((len(ranges), sums))
        _kernels.run(
            [
                partial(kernel, *arguments, start, stop, *([row] if sums else []))
                for (start, stop), row in zip(ranges, out, strict=True)
            ]
        )
        return out.sum(axis=0)

    def _move(
        self,
        problem: MarginObjective,
        alpha: np.ndarray,
        w: np.ndarray,
        b: np.ndarray,
        squares: np.ndarray,
        rho: float,
        index: np.ndarray,
    ) -> None:
        loss, size = problem.loss, self._kept + 1
        own_slopes = specialise(_own_slopes, dual_slope=loss.dual_slope)
        a, u, y = alpha[index], problem.upper[index], problem.y[index]
        steps = np.stack([a - self._before[index], *(k[index] for k in self._multipliers)])[:size]
        totals = np.array([inner(step, y) for step in steps])
        slopes = np.empty_like(a)
        own_slopes(a, u, slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = loss.dual_curvature(a, u)
        # At an edge of infinite slope, as near as floating point comes, a multiplier stays.
        fixed = ~(np.isfinite(slopes) & np.isfinite(curvature))
        blocked = bool(np.any(fixed & (steps != 0.0).any(axis=0)))
        slopes[fixed] = curvature[fixed] = 0.0

        first, second = self._weights
        p = self._over_columns(_products, w, self._mark, first, second, sums=9)
        gram = np.array([[p[0], p[1], p[2]], [p[1], p[3], p[4]], [p[2], p[4], p[5]]])[:size, :size]
        gram += rho * np.outer(totals, totals)
        gram += [[inner(curvature * s, t) for s in steps] for t in steps]
        gains = -(p[6 : 6 + size] + b[0] * totals) - [inner(slopes, s) for s in steps]
        shares = np.zeros(_KEPT + 1)
        if not blocked:
            shares[:size] = _maximum(gram, gains)
        self._over_columns(_combine, w, self._mark, first, second, shares, self._combined)
        direction = shares[:size] @ steps

        # The bent path.
        low, high = loss.dual_lower * u, loss.dual_upper * u
        if self._open[0]:
            low = low + _INSIDE * (a - low)
        if self._open[1]:
            high = high - _INSIDE * (high - a)
        edge = np.where(direction < 0.0, low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            when = np.where(direction != 0.0, (edge - a) / direction, np.inf)
        when = np.maximum(when, 0.0)
        stops = np.flatnonzero(when < 1.0)
        limit = int(_STOPS * len(index)) + 1
        farthest = 1.0
        if len(stops) > limit:
            chosen = np.argpartition(when[stops], limit)
            farthest = float(when[stops[chosen[limit]]])
            stops = stops[chosen[:limit]]
        stops = stops[np.lexsort((stops, when[stops]))]
        total = float(shares[:size] @ totals)
        scalars = np.array([shares[:size] @ gains, shares[:size] @ gram @ shares[:size], 0.0, total])
        scalars[2] = b[0]
        bend = specialise(_bend, row_dot=problem.design.row_dot, row_add=problem.design.row_add)
        stopped = bend(
            problem.design.rows,
            problem.y,
            squares,
            rho,
            index,
            stops,
            when,
            direction,
            slopes,
            curvature,
            second,
            self._combined,
            scalars,
        )
        if stopped < len(stops):
            farthest = float(when[stops[stopped]])
        nearest = float(when[stops[stopped - 1]]) if stopped else 0.0
        gain, bent = scalars[0], scalars[1]
        t = float(np.clip(gain / bent, nearest, farthest)) if bent > 0.0 else farthest
        new = a + t * direction
        new[stops[:stopped]] = edge[stops[:stopped]]
        new = np.clip(new, np.minimum(low, a), np.maximum(high, a))

        # Straight towards the end of that path for as long as the dual rises: where the terms of
        # the multipliers are not quadratic, the path was only that of a model.
        along, square = self._over_columns(_advance, w, second, self._combined, t, sums=2)
        change = new - a
        total = inner(change, y)

        def slope(share: float) -> float:
            own_slopes(a + share * change, u, slopes)
            slopes[fixed] = 0.0
            force = along + share * square + total * (b[0] + share * rho * total)
            return -float(force) - inner(change, slopes)

        share, start = 1.0, slope(0.0)
        end = slope(share)
        for _ in range(5):
            if end >= -1e-9 * start:
                break
            share *= start / (start - end) if start > 0.0 else 0.0
            end = slope(share)
        else:
            share = 0.0
        alpha[index] = a + share * change if share < 1.0 else new
        b[0] += rho * share * total
        self._over_columns(_commit, w, self._mark, second, share)
        self._multipliers[1].fill(0.0)
        self._multipliers[1][index] = alpha[index] - self._before[index]
        self._weights.reverse()
        self._multipliers.reverse()
        # Displacements that an edge has cut say little about one another.
        smooth = share * t == 1.0 and stopped <= _CUT * len(index)
        self._kept = min(self._kept + 1, _KEPT) if smooth else 1


def _maximum(gram: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """The maximum of ``gains . t - t' gram t / 2``, of least norm in steps of unit length."""
    scale = np.sqrt(np.diagonal(gram))
    if not (np.all(np.isfinite(gram)) and scale.max() > 0.0):
        return np.zeros_like(gains)
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    used = values > 1e-10 * values[-1]
    vectors = vectors[:, used]
    out: np.ndarray = vectors @ ((vectors.T @ (gains / scale)) / values[used]) / scale
    return out
