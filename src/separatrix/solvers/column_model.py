r"""The quadratic model of an objective with a kink, minimised by columns, without its Hessian.

For the weights :math:`x` of some columns the model is

.. math:: \tfrac12 (x - x_0)^\top X^\top H X (x - x_0) + r^\top X (x - x_0)
    + \sum_j \tfrac12 q_j x_j^2 + l_j x_j + \lambda_j |x_j|

with a diagonal :math:`H \ge 0`, the curvature of the loss in the scores.  Its slope in the scores,
:math:`u = r + H X (x - x_0)`, is all that is kept of it.

Coordinate descent with shrinking (newGLMNET; Yuan, Ho and Lin, 2012) soon finds which weights are
zero and the signs of the rest, and is slow from there on.  Conjugate gradients on those that are
not zero are not: a *leap* goes their way, either to the minimum on the line, through all the
kinks that it meets, or with every weight that would change its sign left at zero.  The slope
at its end, before any kink is taken into account, gives a dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import scalar, specialise
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.row_access import row_dot, row_entry, row_length
from separatrix.data.design import Design
from separatrix.objectives.penalties import Kinks, prox, violation

# The largest number of products of a leap: what a few flat directions lack after these is found
# sooner by a pass of coordinate descent and the next leap than by more products.
_PRODUCTS = 120
# A leap that has lessened the slopes to the first share ends where more than the second share of
# the weights would change their signs.
_COARSE, _CROWD = 0.05, 0.01
# The number of passes of coordinate descent between two checks of the time.
_CHUNK = 8


@scalar
def common_move(slope, x, bend, l1, lower, upper):
    """The length of a move of some weights together to the minimum of a model along this line.

    ``slope`` are the slopes of the model's smooth part, whose sum rises by ``bend`` a unit.
    Several classes need it: moving the weights of a column together changes no probability, so
    that this line is nearly flat but for the kinks, and weights that move one by one make almost no
    progress along it.
    """
    above, under = 0.0, 0.0
    for k in range(len(x)):
        above += slope[k] + (l1[k] if x[k] >= 0.0 else -l1[k]) if x[k] < upper[k] else np.inf
        under += slope[k] + (l1[k] if x[k] > 0.0 else -l1[k]) if x[k] > lower[k] else -np.inf
    if above < 0.0:
        sign, steep = 1.0, above
    elif under > 0.0:
        sign, steep = -1.0, -under
    else:
        return 0.0
    at = 0.0
    while True:
        # The next kink on the way, of which several may be at one place.
        kink, jump = np.inf, 0.0
        for k in range(len(x)):
            when = -sign * x[k]
            end = (upper[k] if sign > 0.0 else -lower[k]) + when
            if at < when < kink:
                kink, jump = when, 0.0
            if when == kink:
                jump += 2.0 * l1[k]
            if at < end < kink:
                kink, jump = end, 0.0
            if end == kink:
                jump = np.inf
        rise = bend * (kink - at) if bend > 0.0 else 0.0
        if kink == np.inf or steep + rise >= 0.0:
            break
        at = kink
        steep += rise + jump
        if steep >= 0.0:
            return sign * at
    return sign * (at - steep / bend) if bend > 0.0 else sign * at


def _squares(rows, weights, chosen, out, start, stop):
    """The weighted squared lengths of some of the columns, each a row of ``rows``."""
    for k in range(start, stop):
        j = chosen[k]
        total = 0.0
        for p in range(row_length(rows, j)):
            i, value = row_entry(rows, j, p)
            total += weights[np.uint64(i)] * (np.float64(value) * value)
        out[j] = total


def _descend(
    rows, curvature, u, x, bend, own, shift, l1, lower, upper, active, count, last, tol, passes
):
    """Run coordinate descent over the first ``count`` of ``active``, each a row of ``rows``.

    ``bend`` is the diagonal of the Hessian, ``own`` and ``shift`` the penalty's share of the
    model, ``last`` the place of an intercept, or -1.  A column whose weight is at a kink and whose
    slope is within it by more than the worst slope of the pass before leaves
    ``active``.  Returns the largest violation of a slope in the last pass, the sum of all
    violations, the number of columns that are left and the number of passes; ends after a pass
    where that sum is at most ``tol``.
    """
    worst, limit = 0.0, np.inf
    total = 0.0
    made = 0
    while made < passes:
        made += 1
        worst = 0.0
        total = 0.0
        left = 0
        if last >= 0:
            slope = own[last] * x[last] + shift[last]
            for i in range(len(u)):
                slope += u[i]
            worst = abs(slope)
            total = worst
            if bend[last] > 0.0:
                x[last] -= slope / bend[last]
                for i in range(len(u)):
                    u[i] -= slope / bend[last] * curvature[i]
        for k in range(count):
            j = active[k]
            slope = row_dot(rows, j, u) + own[j] * x[j] + shift[j]
            away = violation(x[j], slope, l1[j], lower[j], upper[j])
            if away < -limit:
                continue
            away = max(away, 0.0)
            active[left] = j
            left += 1
            worst = max(worst, away)
            total += away
            if away > 0.0:
                h = bend[j]
                # Without curvature no row that matters has an entry in this column.
                new = 0.0
                if h > 0.0:
                    new = prox(x[j] * h - slope, h, l1[j], lower[j], upper[j])
                change = new - x[j]
                if change != 0.0:
                    x[j] = new
                    for p in range(row_length(rows, j)):
                        i, value = row_entry(rows, j, p)
                        u[np.uint64(i)] += change * value * curvature[np.uint64(i)]
        count = left
        if total <= tol:
            break
        limit = worst
    return worst, total, count, made


def reach(
    x: np.ndarray, step: np.ndarray, kinks: Kinks, steep: float, bend: float
) -> tuple[float, int, float]:
    """The distance along a line to the minimum of a model that is quadratic between kinks.

    A weight ``x`` that moves by ``step`` passes zero at ``-x / step``, where the slope, ``steep``
    at the start and rising by ``bend`` a unit, jumps by twice the kink's ``l1`` a unit, and ends at
    a bound.  Returns the length, 0 where there is no way down; the place of the weight with which
    the line ends at a kink, or -1; and the kink.
    """
    if not steep < 0.0:
        return 0.0, -1, 0.0
    place = np.flatnonzero((x * step < 0.0) & (kinks.l1 > 0.0))
    kink, jump = np.zeros(len(place)), 2.0 * kinks.l1[place] * np.abs(step[place])
    if kinks.bounded:
        bound = np.where(step < 0.0, kinks.lower, kinks.upper)
        held = np.flatnonzero(np.isfinite(bound) & (step != 0.0))
        place, kink = np.append(place, held), np.append(kink, bound[held])
        jump = np.append(jump, np.full(len(held), np.inf))
    when = (kink - x[place]) / step[place]
    at = 0.0
    for k in np.argsort(when, kind="stable"):
        rise = bend * (float(when[k]) - at)
        if steep + rise >= 0.0:
            break
        at = float(when[k])
        steep += rise + float(jump[k])
        if steep >= 0.0:
            return at, int(place[k]), float(kink[k])
    return (at - steep / bend if bend > 0.0 else at), -1, 0.0


class ColumnModel:
    """The model, and the search for its minimum.

    Parameters
    ----------
    design : Design
        The matrix.
    active : ndarray of int
        The columns that may move.
    curvature, residual : ndarray of shape (n_samples,)
        The diagonal ``H`` and the slopes ``r`` of the model.
    x, own : ndarray of shape (n_columns,), or one more
        The point at which the search starts, which is copied, and the ``q`` of the model; with an
        intercept, one more entry at the end.
    kinks : Kinks
        The kinks of the penalty in ``x``.
    ridge : float
        The ridge, as a share of the Hessian's diagonal: a penalty on the squared distance from the
        starting ``x``.
    more : ndarray, optional
        Slopes at ``x`` in addition to those of ``residual`` and ``own``; by default none.

    Attributes
    ----------
    x : ndarray
        The weights at present.
    u : ndarray of shape (n_samples,)
        The slope in the scores.
    crowd : float
        The share of the weights that would have changed their signs in the last leap.
    """

    def __init__(
        self,
        design: Design,
        active: np.ndarray,
        curvature: np.ndarray,
        residual: np.ndarray,
        x: np.ndarray,
        kinks: Kinks,
        own: np.ndarray,
        ridge: float,
        more: np.ndarray | None = None,
    ) -> None:
        self.x, self.u = x.copy(), residual.copy()
        self.crowd = 0.0
        self._design, self._curvature, self._kinks = design, curvature, kinks
        self._width = design.n_features
        # Columns that lie side by side are often alike: frequent words, levels of one factor.
        self._active = np.random.default_rng(0).permutation(active)
        self._kernel = self._compile(design.turned)
        diagonal = self._diagonal()
        rise = ridge * (diagonal + own)
        self._own, self._shift = own + rise, -rise * x
        if more is not None:
            self._shift = self._shift + more
        self._bend = diagonal + self._own

    # --- methods that differ where a row has several scores ---

    def _compile(self, columns: Design) -> Callable[..., Any]:
        """The kernel of coordinate descent for the transposed matrix."""
        names = ("row_dot", "row_length", "row_entry")
        return specialise(_descend, **{name: getattr(columns, name) for name in names})

    def _diagonal(self) -> np.ndarray:
        """The diagonal of the Hessian, where weights may move."""
        columns, weights = self._design.turned, self._curvature
        names = ("row_length", "row_entry")
        kernel = specialise(_squares, **{name: getattr(columns, name) for name in names})
        out = np.zeros_like(self.x)
        # In the order in which they lie, which caches like better than any other.
        fixed = columns.rows, weights, np.sort(self._active), out
        parts = pool.ranges(len(self._active), float(columns.n_stored))
        pool.run([partial(kernel, *fixed, *part) for part in parts])
        out[self._width :] = weights.sum()
        return out

    def _passes(self, *arguments: Any) -> tuple[float, float, int, int]:
        """Run passes of coordinate descent in the compiled kernel."""
        rows, u = self._design.turned.rows, self.u
        found: tuple[float, float, int, int] = self._kernel(rows, self._curvature, u, *arguments)
        return found

    def _bent(self, along: np.ndarray) -> np.ndarray:
        """Return the change of the slopes along a change of the scores."""
        out: np.ndarray = self._curvature * along
        return out

    # --- the search ---

    def scores(self, p: np.ndarray) -> np.ndarray:
        """The scores of weights."""
        return _scores(self._design, p)

    def descend(
        self, tol: float, passes: int, check_interrupt: Callable[[], None]
    ) -> tuple[float, int]:
        """Run passes of coordinate descent until the sum of the violations is at most ``tol``.

        Returns the largest violation of a slope in the last pass, and the number of passes, at most
        ``passes``.
        """
        last = self._width if len(self.x) > self._width else -1
        kinks = self._kinks
        fixed = (self._bend, self._own, self._shift, kinks.l1, kinks.lower, kinks.upper)
        worst, made, full = np.inf, 0, False
        while made < passes and not full:
            # Columns that were left out are visited once more before it ends.
            active = self._active.copy()
            count, first, total = len(active), True, np.inf
            while made < passes and total > tol:
                check_interrupt()
                worst, total, count, more = self._passes(
                    self.x, *fixed, active, count, last, tol, min(_CHUNK, passes - made)
                )
                made += more
                full = count == len(active) or (first and more == 1)
                first = False
            full = full and total <= tol
        return float(worst), made

    def leap(self, goal: float, check_interrupt: Callable[[], None]) -> np.ndarray:
        """Leap until the slopes of the weights at no kink are off by ``goal`` at most.

        It ends earlier where many of them would change their signs.  Returns the slope in the
        scores at the point where it would have ended without kinks.
        """
        free = self._kinks.free(self.x)
        chosen = np.flatnonzero(np.any(free[: self._width].reshape(self._width, -1), axis=1))
        # Products with a copy of these columns are several times as fast as with all of them.
        part = self._design.columns(chosen)
        rows = np.append(chosen, np.arange(self._width, len(self.x)))
        x, kinks, own, free = self.x[rows], self._kinks.of(rows), self._own[rows], free[rows]
        slopes = _adjoint(part, self.u, len(x)) + own * x + self._shift[rows]
        steep = np.where(free, slopes + kinks.l1 * np.sign(x), 0.0)
        bend = np.where(free & (self._bend[rows] > 0.0), self._bend[rows], np.inf)
        step, along, product = self._newton(part, x, steep, own, bend, goal, check_interrupt)
        ahead: np.ndarray = self.u + self._bent(along)
        crossed, stop = kinks.met(x, step)
        move, way = step, along
        if np.any(crossed):
            other = np.where(crossed, stop - x, step)
            turned = along + _scores(part, other - step)
            steepness, product_along = inner(steep, step), inner(product, step)
            flat = x.ravel(), step.ravel(), kinks.ravel()
            length, last, kink = reach(*flat, steepness, product_along)
            move, way = length * step, length * along
            if last >= 0:
                # The weight is set to the kink exactly, whatever rounding gives.
                move.flat[last] = kink - x.flat[last]

            def gain(move: np.ndarray, way: np.ndarray) -> float:
                """The change of the model by a move whose scores are ``way``."""
                bent = inner(kinks.l1, np.abs(x + move) - np.abs(x) - np.sign(x) * move)
                square = inner(own, np.square(move)) + inner(self._bent(way), way)
                return inner(steep, move) + 0.5 * square + bent

            if gain(other, turned) < gain(move, way):
                move, way = other, turned
        # Weights that rounding has put beyond a bound are moved back to it.
        self.x[rows] = kinks.within(x + move)
        self.u = self.u + self._bent(way)
        self.crowd = float(np.count_nonzero(crossed)) / max(int(np.count_nonzero(free)), 1)
        return ahead

    def _newton(
        self,
        part: Design,
        x: np.ndarray,
        steep: np.ndarray,
        own: np.ndarray,
        bend: np.ndarray,
        goal: float,
        check_interrupt: Callable[[], None],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A step that lessens the slopes of free weights, its scores and its Hessian product.

        It runs conjugate gradients (Hestenes and Stiefel, 1952) with the diagonal ``bend`` as a
        preconditioner; ``bend`` is infinite where a weight is to stay.
        """
        many, stay = int(np.count_nonzero(bend < np.inf)), bend == np.inf
        step, product, along = np.zeros_like(x), np.zeros_like(x), np.zeros_like(self.u)
        r = -steep
        coarse = _COARSE * float(np.abs(r).max(initial=0.0))
        y = r / bend
        p = y.copy()
        rho = inner(r, y)
        for _ in range(_PRODUCTS):
            check_interrupt()
            s = _scores(part, p)
            q = _adjoint(part, self._bent(s), len(x)) + own * p
            q[stay] = 0.0
            curvature = inner(p, q)
            if not (curvature > 0.0 and np.isfinite(curvature)):
                break
            t = rho / curvature
            step += t * p
            along += t * s
            product += t * q
            r -= t * q
            left = float(np.abs(r).max())
            if left <= coarse:
                coarse = 0.0
                if np.count_nonzero((x + step) * x < 0.0) > _CROWD * many:
                    # A more exact step is of no use.
                    break
            if left <= goal:
                break
            y = r / bend
            rho, before = inner(r, y), rho
            p *= rho / before
            p += y
        return step, along, product


def _scores(design: Design, w: np.ndarray) -> np.ndarray:
    """The scores of weights; with one more weight than columns, the last is an intercept."""
    out = design.dot(w[: design.n_features])
    if len(w) > design.n_features:
        out += w[-1]
    return out


def _adjoint(design: Design, v: np.ndarray, size: int) -> np.ndarray:
    """The slopes of ``size`` weights where the slopes of the scores are ``v``."""
    out = np.empty((size, *v.shape[1:]))
    out[: design.n_features] = design.t_dot(v)
    out[design.n_features :] = v.sum(axis=0)
    return out
