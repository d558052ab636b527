r"""The quadratic model of an objective with a kink, minimised by columns, without its Hessian.

Of the weights :math:`x` of some columns the model is

.. math:: \tfrac12 (x - x_0)^\top X^\top H X (x - x_0) + r^\top X (x - x_0)
    + \sum_j \tfrac12 q_j x_j^2 + l_j x_j + \lambda_j |x_j|

with a diagonal :math:`H \ge 0`, the curvature of the loss in the scores.  Its slope in the scores,
:math:`u = r + H X (x - x_0)`, is all that is kept of it.

Coordinate descent with shrinking (newGLMNET; Yuan, Ho and Lin, 2012) soon finds which weights are
zero and the signs of the rest, and is slow from there on.  Conjugate gradients on those that are
not zero are not: a *leap* goes their way, either to the minimum on the line, through all the
kinks that it meets, or with every weight that would change its sign left at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import specialise
from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.row_access import row_dot, row_entry, row_length
from separatrix.data.design import Design
from separatrix.objectives.penalties import soft_threshold

__all__ = ["ColumnModel", "reach"]

# How many leaps a minimum may take, and how many products each.
_LEAPS = 20
_PRODUCTS = 100
# A leap lessens the slopes to this share; where the one before has met next to no kink, to this.
_COARSE, _FINE = 0.05, 1e-4
_NEXT_TO_NONE = 5
# Where more of the weights than this would change their signs, another leap is too early.
_CROWD = 0.1
# A value that has risen by less than this share of itself may not have risen.
_ROUNDING = 1e-13


def _descend(rows, curvature, u, x, bend, own, shift, threshold, active, last, tol, passes):
    """Coordinate descent over the columns ``active``, each a row of ``rows``, in random order.

    ``bend`` is the diagonal of the Hessian, ``own`` and ``shift`` the penalty's share of the
    model, ``last`` the place of an intercept, or -1.  A column whose weight is zero and whose
    slope is within the threshold by more than the worst slope of the pass before leaves
    ``active``.  Returns by how much, in the last pass, a slope was at most away from where it had
    to be; ends after a pass where that is at most ``tol``.
    """
    worst, limit = 0.0, np.inf
    count = len(active)
    seed = 1
    for _ in range(passes):
        worst = 0.0
        left = 0
        if last >= 0:
            slope = own[last] * x[last] + shift[last]
            for i in range(len(u)):
                slope += u[i]
            worst = abs(slope)
            if bend[last] > 0.0:
                x[last] -= slope / bend[last]
                for i in range(len(u)):
                    u[i] -= slope / bend[last] * curvature[i]
        for k in range(count):
            # Fisher and Yates, with the generator of ISO C's example.
            seed = (seed * 1103515245 + 12345) % 2147483648
            chosen = k + seed % (count - k)
            j = active[chosen]
            active[chosen] = active[k]
            slope = row_dot(rows, j, u) + own[j] * x[j] + shift[j]
            if x[j] == 0.0:
                away = abs(slope) - threshold[j]
                if away < -limit:
                    continue
                away = max(away, 0.0)
            elif x[j] > 0.0:
                away = abs(slope + threshold[j])
            else:
                away = abs(slope - threshold[j])
            # ``left`` is at most ``k``, whose column is already taken.
            active[left] = j
            left += 1
            worst = max(worst, away)
            if away > 0.0:
                h = bend[j]
                # Without curvature no row that matters has an entry in this column.
                new = soft_threshold(x[j] * h - slope, threshold[j]) / h if h > 0.0 else 0.0
                change = new - x[j]
                if change != 0.0:
                    x[j] = new
                    for p in range(row_length(rows, j)):
                        i, value = row_entry(rows, j, p)
                        u[np.uint64(i)] += change * value * curvature[np.uint64(i)]
        count = left
        if worst <= tol:
            break
        limit = worst
    return worst


def _products(rows, chosen, v, out):
    """The products of some rows with a vector, each into its place."""
    for k in range(len(chosen)):
        out[chosen[k]] = row_dot(rows, chosen[k], v)


def reach(
    x: np.ndarray, step: np.ndarray, threshold: np.ndarray, steep: float, bend: float
) -> tuple[float, int]:
    """How far to go along a line on which a model is quadratic between kinks, to its least.

    A weight ``x`` that moves by ``step`` passes zero at ``-x / step``, where the slope, ``steep``
    at the start and rising by ``bend`` a unit, jumps by twice its threshold.  Returns the length, 0
    where there is no way down, and the place of the weight that the line ends with at zero, or -1.
    """
    if not steep < 0.0:
        return 0.0, -1
    kinks = np.flatnonzero((x * step < 0.0) & (threshold > 0.0))
    when = -x[kinks] / step[kinks]
    at = 0.0
    for k in np.argsort(when, kind="stable"):
        rise = bend * (float(when[k]) - at)
        if steep + rise >= 0.0:
            break
        at = float(when[k])
        steep += rise + 2.0 * float(threshold[kinks[k]]) * abs(float(step[kinks[k]]))
        if steep >= 0.0:
            return at, int(kinks[k])
    return (at - steep / bend if bend > 0.0 else at), -1


class ColumnModel:
    """The model, and where its minimum is sought.

    Parameters
    ----------
    columns : Design
        The transposed matrix: every row is a column.
    active : ndarray of int
        The columns that may move.
    curvature, residual : ndarray of shape (n_samples,)
        ``H`` and ``r``.
    x, threshold, own : ndarray of shape (n_columns,), or one more
        Where the search starts, which it moves, the thresholds and ``q``.  One more for an
        intercept, the last.
    ridge : float
        By this share of the Hessian's diagonal the model rises with the distance from ``x``.

    Attributes
    ----------
    x : ndarray
    u : ndarray of shape (n_samples,)
        The slope in the scores.
    moving : ndarray of int
        ``active``, and the intercept.
    crowd : float
        The largest share of the weights that would have changed their signs in a leap.
    """

    def __init__(
        self,
        columns: Design,
        active: np.ndarray,
        curvature: np.ndarray,
        residual: np.ndarray,
        x: np.ndarray,
        threshold: np.ndarray,
        own: np.ndarray,
        ridge: float,
    ) -> None:
        self.active, self.x, self.u, self.crowd = active, x, residual.copy(), 0.0
        self._columns, self._curvature, self._threshold = columns, curvature, threshold
        self._width = columns.n_samples
        diagonal = columns.weighted_row_squares(curvature)
        self.moving = active
        if len(x) > self._width:
            self.moving = np.append(active, self._width)
            diagonal = np.append(diagonal, curvature.sum())
        more = ridge * (diagonal + own)
        self._own, self._shift = own + more, -more * x
        self._bend = diagonal + self._own
        self._start = x.copy()
        names = ("row_dot", "row_length", "row_entry")
        accessors = {name: getattr(columns, name) for name in names}
        self._descend = specialise(_descend, **accessors)
        self._products = specialise(_products, row_dot=columns.row_dot)

    def scores(self, p: np.ndarray) -> np.ndarray:
        """The scores of weights."""
        out = self._columns.t_dot(p[: self._width])
        if len(p) > self._width:
            out += p[-1]
        return out

    def _adjoint(self, v: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        out = np.zeros_like(self.x)
        self._products(self._columns.rows, chosen, v, out)
        if len(out) > self._width:
            out[-1] = v.sum()
        return out

    def slopes(self) -> np.ndarray:
        """The slopes of the smooth part; 0 for columns that may not move."""
        out = self._adjoint(self.u, self.active)
        out[self.moving] += (self._own * self.x + self._shift)[self.moving]
        return out

    def away(self, slopes: np.ndarray) -> float:
        """By how much a slope is at most away from where it has to be."""
        x, g, threshold = (v[self.moving] for v in (self.x, slopes, self._threshold))
        at_zero = np.maximum(np.abs(g) - threshold, 0.0)
        away = np.where(x == 0.0, at_zero, np.abs(g + threshold * np.sign(x)))
        return float(away.max(initial=0.0))

    def minimise(
        self,
        tol: float,
        passes: int,
        leaps: bool,
        value: Callable[[np.ndarray], float],
        check_interrupt: Callable[[], None],
    ) -> None:
        """Move to where no slope is further than ``tol`` from where it has to be, or towards it.

        Parameters
        ----------
        tol : float
        passes : int
            Of coordinate descent, before all else.
        leaps : bool
            Whether the model is good enough for more.
        value : callable
            What is modelled, for a displacement from the start: a leap after which that is more
            is taken back.
        check_interrupt : callable
        """
        share = _COARSE
        for _ in range(_LEAPS):
            if self._pass(tol, passes) <= tol or not leaps:
                break
            check_interrupt()
            x, u = self.x.copy(), self.u
            crossed = self._leap(tol, share, check_interrupt)
            crowd = crossed / max(int(np.count_nonzero(x)), 1)
            before, after = value(x - self._start), value(self.x - self._start)
            if not after <= before + _ROUNDING * abs(before):
                self.x[:], self.u, self.crowd = x, u, 1.0
                break
            self.crowd = max(self.crowd, crowd)
            if crowd > _CROWD:
                break
            share = _FINE if crossed <= _NEXT_TO_NONE else _COARSE
            passes = 1

    def _pass(self, tol: float, passes: int) -> float:
        """Coordinate descent over all active columns; returns how far off the worst slope was."""
        worst = self._descend(
            self._columns.rows,
            self._curvature,
            self.u,
            self.x,
            self._bend,
            self._own,
            self._shift,
            self._threshold,
            self.active.copy(),
            self._width if len(self.x) > self._width else -1,
            tol,
            passes,
        )
        return float(worst)

    def _leap(self, tol: float, share: float, check_interrupt: Callable[[], None]) -> int:
        """One leap; returns how many weights would have changed their signs at its end."""
        x, threshold = self.x, self._threshold
        free = (x != 0.0) | (threshold == 0.0)
        steep = np.where(free, self.slopes() + threshold * np.sign(x), 0.0)
        goal = max(0.3 * tol, share * float(np.abs(steep).max()))
        step, along, product = self._newton(steep, free, goal, check_interrupt)
        crossed = (threshold > 0.0) & (step != 0.0) & ((x + step) * x <= 0.0)
        move, way = step, along
        if np.any(crossed):
            other = np.where(crossed, -x, step)
            turned = along + self.scores(other - step)
            length, last = reach(x, step, threshold, inner(steep, step), inner(product, step))
            move, way = length * step, length * along
            if last >= 0:
                # Zero to the last digit, and not by chance.
                move[last] = -x[last]
            if self._gain(steep, other, turned) < self._gain(steep, move, way):
                move, way = other, turned
        x += move
        self.u = self.u + self._curvature * way
        return int(np.count_nonzero(crossed))

    def _gain(self, steep: np.ndarray, move: np.ndarray, way: np.ndarray) -> float:
        """What a move of the free weights, whose scores are ``way``, adds to the model."""
        x = self.x
        kink = inner(self._threshold, np.abs(x + move) - np.abs(x) - np.sign(x) * move)
        square = inner(self._own, np.square(move)) + inner(self._curvature, np.square(way))
        return inner(steep, move) + 0.5 * square + kink

    def _newton(
        self, steep: np.ndarray, free: np.ndarray, goal: float, check_interrupt: Callable[[], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A step of the free weights that lessens their slopes, its scores and Hessian product.

        Conjugate gradients (Hestenes and Stiefel, 1952) with the diagonal for a preconditioner.
        """
        chosen = np.flatnonzero(free[: self._width])
        bend: Any = np.where(free & (self._bend > 0.0), self._bend, np.inf)
        step, product, along = np.zeros_like(steep), np.zeros_like(steep), np.zeros_like(self.u)
        r = -steep
        y = r / bend
        p = y.copy()
        rho = inner(r, y)
        for _ in range(_PRODUCTS):
            check_interrupt()
            s = self.scores(p)
            q = self._adjoint(self._curvature * s, chosen) + self._own * p
            curvature = inner(p, q)
            if not (curvature > 0.0 and np.isfinite(curvature)):
                break
            t = rho / curvature
            step += t * p
            along += t * s
            product += t * q
            r -= t * q
            if float(np.abs(r).max()) <= goal:
                break
            y = r / bend
            rho, before = inner(r, y), rho
            p *= rho / before
            p += y
        return step, along, product
