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

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import FASTMATH, njit, specialise
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.row_access import row_add, row_dot
from separatrix.losses.hinge import _hinge_slope as dual_slope
from separatrix.objectives.margin import MarginObjective

# Displacements that are kept, beside that of the last pass; a third gains nothing.
_KEPT = 2
# The share of the rows that may stop on the way: each costs what it costs in a pass.
_STOPS = 0.2
# Where at most this share of the rows stops, the displacement counts as one that no edge has cut.
_CUT = 0.002
# A path that ends before this share of it was not worth its price; the next ones would not be
# either, and this many passes go without.
_WORTHWHILE = 0.1
_REST = 2
# The largest multiple of a displacement, and the smallest squared size relative to the weights'.
_FARTHEST = 1e3
_REAL = 1e-16
# The gain of the dual along the last pass is distinguished from rounding where it is more than
# this part of the squared size of the weights, times the root of the number of rows.
_SEEN = 1e-16
# A multiplier stays this share of its range away from an edge where its slope is infinite.
_INSIDE = 0.1


def _bend(rows, y, squares, rho, index, stops, when, direction, slopes, curvature, w, v, scalars):
    """Follow the bent path over the rows ``stops``, in the order in which they stop.

    The multipliers are ``a + t * direction``, the weights ``w + t v``, and the gain of the dual per
    unit of ``t`` is ``gain - t * bend``.  A row that stops leaves ``v`` and takes its share into
    ``w``.  ``scalars`` holds gain, bend, the intercept and the sum of ``direction * y``.
    Returns the number of rows that have stopped.
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


def _measure(index, alpha, before, first, second, y, upper, curvature, steps, slopes, out):
    """Compute the displacements of the rows, and the sums over them that the model needs.

    ``out``: products of the three with each other, weighted by ``curvature``; their sums times
    the labels; their sums times the slopes of the multipliers' own terms; the number of them at
    an edge of infinite slope, to floating-point accuracy, where a multiplier stays.
    """
    out[:] = 0.0
    for k in range(index.shape[0]):
        i = index[k]
        a = alpha[i]
        p, q, r = a - before[i], first[i], second[i]
        steps[0, k], steps[1, k], steps[2, k] = p, q, r
        h, c = dual_slope(a, 0.0, upper[i]), curvature[k]
        if not (abs(h) < np.inf and c < np.inf):
            h = c = curvature[k] = 0.0
            if p != 0.0 or q != 0.0 or r != 0.0:
                out[12] += 1.0
        slopes[k] = h
        out[0] += c * p * p
        out[1] += c * p * q
        out[2] += c * p * r
        out[3] += c * q * q
        out[4] += c * q * r
        out[5] += c * r * r
        out[6] += p * y[i]
        out[7] += q * y[i]
        out[8] += r * y[i]
        out[9] += p * h
        out[10] += q * h
        out[11] += r * h


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _edges(index, alpha, upper, range_, inside, steps, shares, direction, edge, when):
    """Find the direction, its edges and the steps to reach them; return how many are below 1."""
    near = 0
    for k in range(index.shape[0]):
        a, u = alpha[index[k]], upper[index[k]]
        x = shares[0] * steps[0, k] + shares[1] * steps[1, k] + shares[2] * steps[2, k]
        direction[k] = x
        when[k] = np.inf
        edge[k] = a
        if x != 0.0:
            side = 0 if x < 0.0 else 1
            edge[k] = range_[side] * u
            if inside[side] > 0.0:
                edge[k] += inside[side] * (a - edge[k])
            when[k] = max((edge[k] - a) / x, 0.0)
            if when[k] < 1.0:
                near += 1
    return near


def _force(index, alpha, upper, change, share):
    """The slope of the multipliers' own terms along a change, at a share of it."""
    total = 0.0
    for k in range(index.shape[0]):
        if change[k] != 0.0:
            i = index[k]
            total += change[k] * dual_slope(alpha[i] + share * change[k], 0.0, upper[i])
    return total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _products(w, mark, first, second, start, stop, out):
    """Products of ``w - mark``, ``first`` and ``second`` with each other and ``w``; and ``w.w``."""
    a = b = c = d = e = f = g = h = i = k = 0.0
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
        k += w[j] * w[j]
    out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, d, e, f
    out[6], out[7], out[8], out[9] = g, h, i, k


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _combine(w, mark, first, second, shares, v, start, stop):
    """Write the combination into ``v``; ``second``, no longer needed, becomes a copy of ``w``."""
    for j in range(start, stop):
        v[j] = shares[0] * (w[j] - mark[j]) + shares[1] * first[j] + shares[2] * second[j]
        second[j] = w[j]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _advance(w, moved, v, t, start, stop, out):
    """Add ``t v`` to ``moved``; find the products of ``moved - w`` with ``w`` and with itself."""
    a = b = 0.0
    for j in range(start, stop):
        moved[j] += t * v[j]
        change = moved[j] - w[j]
        a += change * w[j]
        b += change * change
    out[0], out[1] = a, b


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _commit(w, mark, moved, share, start, stop):
    """Go a share of the way to ``moved``, which becomes the displacement since ``mark``."""
    for j in range(start, stop):
        w[j] += share * (moved[j] - w[j])
        moved[j] = w[j] - mark[j]
        mark[j] = w[j]


class Extrapolation:
    """The displacements of the last passes, and the extrapolation along them.

    Call :meth:`extrapolate` before every pass; the first call only stores the point.

    Parameters
    ----------
    problem : MarginObjective
        A problem with rows, and a loss that has a dual slope.

    Notes
    -----
    Keeps four vectors of the weights' length and three of the multipliers'.
    """

    # A part of the state of a method, of which the driver makes copies.
    stateful = True

    def __init__(self, problem: MarginObjective) -> None:
        n, d = problem.design.shape
        self._mark = np.zeros(d)
        self._combined = np.zeros(d)
        self._weights = [np.zeros(d) for _ in range(_KEPT)]
        self._before = np.zeros(n)
        self._multipliers = [np.zeros(n) for _ in range(_KEPT)]
        self._columns = pool.ranges(d, 4.0 * d)
        self._kept = 0
        # The number of passes that are left without an extrapolation.
        self._rest = 0
        # The rows outside of which all vectors here are zero and the last pass moved nothing.
        self._index: np.ndarray | None = None
        edges = np.array([problem.loss.dual_lower, problem.loss.dual_upper])
        with np.errstate(divide="ignore", invalid="ignore"):
            open_ended = ~np.isfinite(problem.loss.dual_curvature(edges, np.ones(2)))
        self._range = edges
        self._inside = np.where(open_ended & np.isfinite(edges), _INSIDE, 0.0)

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
        if self._rest > 0:
            self._rest -= 1
            self._index = None
            if self._rest > 0:
                return
        touched = np.zeros(len(alpha), dtype=bool)
        touched[coming] = True
        if self._index is not None:
            self._move(problem, alpha, w, b, squares, rho, self._index)
            if self._rest > 0:
                return
            for kept in self._multipliers[: self._kept]:
                touched[self._index[kept[self._index] != 0.0]] = True
        else:
            self._kept = 0
            for kept in self._multipliers:
                kept.fill(0.0)
        self._index = np.flatnonzero(touched)
        self._before[self._index] = alpha[self._index]
        self._mark[:] = w

    def forget(self) -> None:
        """Begin anew, because the point was moved by something else than a pass."""
        self._index = None

    def _over_columns(self, kernel: Any, *arguments: Any, sums: int = 0) -> np.ndarray:
        """Run a kernel over ranges of the columns, side by side; its sums in a fixed order."""
        out = np.zeros((len(self._columns), sums))
        pool.run(
            [
                partial(kernel, *arguments, start, stop, *([row] if sums else []))
                for (start, stop), row in zip(self._columns, out, strict=True)
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
        loss, size, m = problem.loss, self._kept + 1, len(index)
        y, upper = problem.y, problem.upper
        a = alpha[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = loss.dual_curvature(a, upper[index])
        steps, slopes, sums = np.empty((_KEPT + 1, m)), np.empty(m), np.empty(13)
        measure = specialise(_measure, dual_slope=loss.dual_slope)
        measure(
            index,
            alpha,
            self._before,
            *self._multipliers,
            y,
            upper,
            curvature,
            steps,
            slopes,
            sums,
        )
        first, second = self._weights
        p = self._over_columns(_products, w, self._mark, first, second, sums=10)
        q = p[:6] + sums[:6]
        totals = sums[6 : 6 + size]
        gram = np.array([[q[0], q[1], q[2]], [q[1], q[3], q[4]], [q[2], q[4], q[5]]])[:size, :size]
        gram += rho * np.outer(totals, totals)
        gains = -(p[6 : 6 + size] + b[0] * totals) - sums[9 : 9 + size]
        # The rounding of the weights must not count as a displacement: the multipliers have no part
        # in it, and a multiple of it would separate the weights from the multipliers.
        real = (p[[0, 3, 5]] > _REAL * p[9]) & (sums[12] == 0.0)
        # The rounding errors in the weights are a random walk over the rows of a pass.
        real &= abs(gains[0]) > _SEEN * math.sqrt(m) * p[9]
        shares = _shares(gram, gains, real)
        self._over_columns(_combine, w, self._mark, first, second, shares, self._combined)

        new, t, smooth = self._follow(
            problem,
            alpha,
            b,
            squares,
            rho,
            index,
            (steps, slopes, curvature),
            (gains, gram, totals),
            shares,
        )
        change = new - a

        # Straight towards the end of that path for as long as the dual rises: where the terms of
        # the multipliers are not quadratic, the path was only that of a model.
        along, square = self._over_columns(_advance, w, second, self._combined, t, sums=2)
        total = inner(change, y[index])
        force = specialise(_force, dual_slope=loss.dual_slope)

        def slope(share: float) -> float:
            slope = along + share * square + total * (b[0] + share * rho * total)
            return -float(slope) - float(force(index, alpha, upper, change, share))

        share = _rising(slope)
        alpha[index] = a + share * change if share < 1.0 else new
        b[0] += rho * share * total
        self._over_columns(_commit, w, self._mark, second, share)
        self._multipliers[1].fill(0.0)
        self._multipliers[1][index] = alpha[index] - self._before[index]
        self._weights.reverse()
        self._multipliers.reverse()
        smooth = smooth and share * t >= 1.0 - 1e-6
        self._kept = min(self._kept + 1, _KEPT) if smooth else 1
        if share * t < _WORTHWHILE:
            self._rest = _REST

    def _follow(
        self,
        problem: MarginObjective,
        alpha: np.ndarray,
        b: np.ndarray,
        squares: np.ndarray,
        rho: float,
        index: np.ndarray,
        measured: tuple[np.ndarray, np.ndarray, np.ndarray],
        model: tuple[np.ndarray, np.ndarray, np.ndarray],
        shares: np.ndarray,
    ) -> tuple[np.ndarray, float, bool]:
        """The multipliers at the best point of the bent path, its ``t``, and whether few edges cut.

        ``measured``: the displacements, slopes and curvatures of the multipliers; ``model``: the
        gains of the displacements, their products, and their sums over the rows.
        """
        steps, slopes, curvature = measured
        gains, gram, totals = model
        size, m, upper = len(gains), len(index), problem.upper
        direction, edge, when = np.empty(m), np.empty(m), np.empty(m)
        near = _edges(
            index, alpha, upper, self._range, self._inside, steps, shares, direction, edge, when
        )
        stops, farthest = _first_stops(when, near)
        total = float(shares[:size] @ totals)
        scalars = np.array([0.0, 0.0, b[0], total])
        scalars[0], scalars[1] = shares[:size] @ gains, shares[:size] @ gram @ shares[:size]
        y, second = problem.y, self._weights[1]
        bend = specialise(_bend, row_dot=problem.design.row_dot, row_add=problem.design.row_add)
        stopped = bend(
            problem.design.rows,
            y,
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
        new = alpha[index] + t * direction
        new[stops[:stopped]] = edge[stops[:stopped]]
        new = np.where(direction < 0.0, np.maximum(new, edge), np.minimum(new, edge))
        # Displacements that an edge has cut contain little information about one another.
        return new, t, stopped <= _CUT * m


def _shares(gram: np.ndarray, gains: np.ndarray, real: np.ndarray) -> np.ndarray:
    """The best combination of the displacements if all are real, or else of the newest alone."""
    shares = np.zeros(_KEPT + 1)
    for used in (len(gains), 1):
        if not real[:used].all():
            continue
        found = _maximum(gram[:used, :used], gains[:used])
        # A larger multiple of a displacement would be mostly rounding.
        if np.abs(found).max() <= _FARTHEST:
            shares[:used] = found
            break
    return shares


def _first_stops(when: np.ndarray, near: int) -> tuple[np.ndarray, float]:
    """The first multipliers to reach an edge, in their order, and the end of the path then."""
    stops = np.flatnonzero(when < 1.0) if near else np.empty(0, dtype=np.int64)
    limit = int(_STOPS * len(when)) + 1
    farthest = 1.0
    if near > limit:
        chosen = np.argpartition(when[stops], limit)
        farthest = float(when[stops[chosen[limit]]])
        stops = stops[chosen[:limit]]
    return stops[np.lexsort((stops, when[stops]))], farthest


def _rising(slope: Callable[[float], float]) -> float:
    """The largest share of a step, of those that are tried, up to which a function rises."""
    share, start = 1.0, slope(0.0)
    end = slope(share)
    for _ in range(5):
        if end >= -1e-9 * start:
            return share
        share *= start / (start - end) if start > 0.0 else 0.0
        end = slope(share)
    return 0.0


def _maximum(gram: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """The maximiser of ``gains . t - t' gram t / 2``, of least norm in steps of unit length."""
    scale = np.sqrt(np.diagonal(gram))
    if not (np.all(np.isfinite(gram)) and scale.max() > 0.0):
        return np.zeros_like(gains)
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    used = values > 1e-10 * values[-1]
    vectors = vectors[:, used]
    out: np.ndarray = vectors @ ((vectors.T @ (gains / scale)) / values[used]) / scale
    return out
