r"""Coordinate descent for squared residuals under a penalty with kinks, column by column.

Where the loss is a square, so is the model of it, and nothing has to be approximated: a column's
best weight follows from the product of the column with the residuals, which then move by what the
weight did (Friedman, Hastie, Höfling and Tibshirani, 2007).  The columns lie in one piece each, as
those of a data frame do, and are read where they lie: their means are subtracted on the way.

Only columns that may have a weight are visited: those that have one, and those whose slope is
beyond the threshold (Massias, Gramfort and Salmon, 2018).  A product of all columns with the
residuals finds those, and the gap.

While columns depend on one another, passes close the gap slowly.  The Gram matrix of the columns
that are visited is formed as soon as passes have cost as much as it does, so that together they
cost at most twice what the better of the two would have; the model is then minimised exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from separatrix._compiled import compilation, pool
from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import inner
from separatrix.data.design import DenseDesign
from separatrix.objectives.penalties import Kinks, prox
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.descent import GapDescent
from separatrix.solvers.protocol import Candidate
from separatrix.solvers.proximal_newton import ProximalNewton, level_of, minimise_model

# A column whose squared length about its mean is below the first share of that about zero may be
# constant, for the mean is rounded; below the second share it is, once the mean has all its digits.
_DOUBTFUL, _CONSTANT = 1e-12, 1e-29
# Beyond these bounds the products of squares underflow or overflow.
_LEAST, _MOST = 1e-150, 1e150
# The cost of a copy of an entry, and that of the systems that are solved with a Gram matrix, for
# the cube of its size, in multiplications.
_COPY, _SYSTEMS = 8.0, 2.0


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True)
def _survey(columns, weights, centred, target, mean, square, pull, start, stop):
    """The means of some columns, their squares about these, and products with a centred target."""
    n = columns.shape[1]
    for j in range(start, stop):
        column = columns[j]
        total, whole = 0.0, 0.0
        if centred:
            if len(weights):
                for i in range(n):
                    total += weights[i] * np.float64(column[i])
                    whole += weights[i]
            else:
                for i in range(n):
                    total += np.float64(column[i])
                whole = n
            total /= whole
        for _ in range(2):
            about, zero, product, rest = 0.0, 0.0, 0.0, 0.0
            if len(weights):
                for i in range(n):
                    value = np.float64(column[i]) - total
                    rest += weights[i] * value
                    about += weights[i] * value * value
                    zero += weights[i] * np.float64(column[i]) * np.float64(column[i])
                    product += weights[i] * value * target[i]
            else:
                for i in range(n):
                    value = np.float64(column[i]) - total
                    rest += value
                    about += value * value
                    product += value * target[i]
                zero = about + n * total * total
            if not (centred and about <= _DOUBTFUL * zero and zero < _MOST):
                break
            total += rest / whole
        mean[j], square[j], pull[j] = total, about, product
        if about <= _CONSTANT * zero and zero < _MOST:
            # A column of length zero has no slope: its weight stays zero.
            square[j], pull[j] = 0.0, 0.0


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True)
def _slopes(columns, mean, square, v, out, start, stop):
    """The products of some columns, centred, with a vector."""
    k, n = start, len(v)
    # Four columns at a time, for one reading of the vector.
    while k + 4 <= stop:
        a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        p, q, r, s = mean[k], mean[k + 1], mean[k + 2], mean[k + 3]
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            first += (np.float64(a[i]) - p) * v[i]
            second += (np.float64(b[i]) - q) * v[i]
            third += (np.float64(c[i]) - r) * v[i]
            fourth += (np.float64(d[i]) - s) * v[i]
        out[k], out[k + 1], out[k + 2], out[k + 3] = first, second, third, fourth
        k += 4
    while k < stop:
        total = 0.0
        for i in range(n):
            total += (np.float64(columns[k, i]) - mean[k]) * v[i]
        out[k] = total
        k += 1
    for k in range(start, stop):
        if not square[k] > 0.0:
            out[k] = 0.0


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True)
def _move(columns, mean, chosen, change, r):
    """Subtract the change of some weights, times their centred columns, from the residuals."""
    for k in range(len(chosen)):
        column, level, step = columns[chosen[k]], mean[chosen[k]], change[k]
        if step != 0.0:
            for i in range(len(r)):
                r[i] -= step * (np.float64(column[i]) - level)


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True)
def _sweep(
    columns, weights, factor, mean, square, own, l1, lower, upper, x, r, u, active, count
):  # fmt: skip
    """Make a pass over the first ``count`` of ``active``.

    ``u`` is ``weights * r`` where rows have weights of their own, else ``r`` itself, and ``factor``
    is then the weight of every row.  A column whose weight is zero leaves ``active``.  Returns the
    number of columns that are left, and the decrease of the objective.
    """
    fall, left = 0.0, 0
    n, apart = len(r), len(weights) > 0
    for k in range(count):
        j = active[k]
        bend = factor * square[j]
        if not bend > 0.0:
            continue
        column, level, total = columns[j], mean[j], 0.0
        for i in range(n):
            total += (np.float64(column[i]) - level) * u[i]
        slope = factor * total
        whole = bend + own[j]
        new = prox(slope + bend * x[j], whole, l1[j], lower[j], upper[j])
        change = new - x[j]
        if change != 0.0:
            kink = l1[j] * (abs(x[j]) - abs(new))
            fall += change * (slope - own[j] * x[j] - 0.5 * whole * change) + kink
            x[j] = new
            if apart:
                for i in range(n):
                    step = change * (np.float64(column[i]) - level)
                    r[i] -= step
                    u[i] -= weights[i] * step
            else:
                for i in range(n):
                    r[i] -= change * (np.float64(column[i]) - level)
        if new != 0.0:
            active[left] = j
            left += 1
    return left, fall


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of coordinate descent by columns, which affect its speed only.

    Parameters
    ----------
    speed : float
        The factor by which a multiplication for a Gram matrix is faster than one of a visit to a
        column.
    enough : float
        Passes end after one that lessens the objective by at most this part of the gap.
    exact : float
        The model of the Gram matrix is minimised until its slopes are off by this part of the
        relative gap, times the threshold.
    fast : float
        No Gram matrix is formed where passes leave at most this part of the gap.
    patience : float
        The number of multiplications for each entry after which :class:`ProximalNewton` takes over:
        columns then depend on one another so much that passes make no progress.
    """

    speed: float = 5.0
    enough: float = 1e-3
    exact: float = 1e-3
    fast: float = 1e-2
    patience: float = 400.0


class _Columns:
    """Means and lengths of the columns, and the Gram matrix of those in use."""

    def __init__(self, problem: PointwiseObjective) -> None:
        design = problem.design.turned
        (self.columns,) = design.rows
        d, n = self.columns.shape
        upper = problem.upper
        even = bool((upper == upper[0]).all())
        self.weights = np.empty(0) if even else upper
        self.factor = float(upper[0]) if even else 1.0
        self.centred = problem.fit_intercept
        target = problem.centres
        assert target is not None
        self.level = (
            float(np.average(target, weights=None if even else upper)) if self.centred else 0.0
        )
        self.target = target - self.level
        self.mean, self.square, self.pull = np.zeros(d), np.empty(d), np.empty(d)
        own = (self.mean, self.square, self.pull)
        fixed = (self.columns, self.weights, self.centred, self.target, *own)
        parts = pool.ranges(d, float(self.columns.size))
        pool.run([partial(_survey, *fixed, *part) for part in parts])
        self.pull *= self.factor
        self.kinks: Kinks = problem.penalty.kinks((d,), d)
        self.own = problem.penalty.curvature((d,), d)
        # The columns of the Gram matrix, centred and weighted, and their places in it.
        self.held = np.empty((0, n))
        self.gram = np.empty((0, 0))
        self.place = np.full(d, -1)

    @property
    def tame(self) -> bool:
        """Whether no sum of squares is so large or so small that its products might be lost."""
        u = self.weighted(self.target)
        lengths = np.append(self.factor * self.square, self.factor * inner(u, self.target))
        lengths = lengths[lengths != 0.0]
        return bool(((lengths > _LEAST) & (lengths < _MOST)).all())

    def residuals(self, w: np.ndarray) -> np.ndarray:
        """Targets less scores, both about their means."""
        r = self.target.copy()
        chosen = np.flatnonzero(w)
        if len(chosen):
            _move(self.columns, self.mean, chosen, w[chosen], r)
        return r

    def weighted(self, r: np.ndarray) -> np.ndarray:
        """The residuals times the weights of the rows, but for a factor that all rows have."""
        return self.weights * r if len(self.weights) else r

    def slopes(self, r: np.ndarray) -> np.ndarray:
        """The products of the columns with the weighted residuals."""
        found = np.empty(len(self.mean))
        fixed = (self.columns, self.mean, self.square, self.weighted(r), found)
        parts = pool.ranges(len(found), float(self.columns.size))
        pool.run([partial(_slopes, *fixed, *part) for part in parts])
        found *= self.factor
        return found

    def slopes_of(self, chosen: np.ndarray, r: np.ndarray) -> np.ndarray:
        """The same products for some of the columns, of which there are copies in ``held``."""
        root = np.sqrt(self.weights) if len(self.weights) else np.sqrt(self.factor)
        out: np.ndarray = (self.held @ (root * r))[self.place[chosen]]
        return out

    def price(self, chosen: np.ndarray) -> float:
        """The number of multiplications to form the new part of a Gram matrix, and to use it."""
        new, k = int(np.count_nonzero(self.place[chosen] < 0)), float(len(chosen))
        formed = new * (_COPY + len(self.held) + 0.5 * new) * self.columns.shape[1]
        # A later system costs as much, but each is expected to be the last.
        return formed if len(self.held) else formed + _SYSTEMS * k**3

    def gram_of(self, chosen: np.ndarray) -> np.ndarray:
        """The Gram matrix of some columns, from that of all so far."""
        new = chosen[self.place[chosen] < 0]
        if len(new):
            first = len(self.held)
            more = self.columns[new] - self.mean[new, None]
            more *= np.sqrt(self.weights) if len(self.weights) else np.sqrt(self.factor)
            self.held = np.concatenate([self.held, more]) if first else more
            gram = np.empty((len(self.held), len(self.held)))
            gram[:first, :first] = self.gram
            gram[first:] = more @ self.held.T
            gram[:first, first:] = gram[first:, :first].T
            self.gram = gram
            self.place[new] = np.arange(first, len(self.held))
        places = self.place[chosen]
        return self.gram[np.ix_(places, places)]


@dataclass(frozen=True)
class ColumnDescentState:
    """The state of the method.

    Attributes
    ----------
    data : _Columns
    theta : ndarray
    value, dual : float
        The objective, and the best lower bound.
    slopes : ndarray
        The products of the columns with the weighted residuals.
    r : ndarray
        The residuals.
    spent : float
        The number of multiplications of all passes so far.
    rate : float
        The part of the gap that the last step left.
    stuck : bool
        Whether the last step made no progress: the proximal Newton method then takes over.
    """

    data: _Columns
    theta: np.ndarray
    value: float
    dual: float
    slopes: np.ndarray
    r: np.ndarray
    spent: float = 0.0
    rate: float = 1.0
    stuck: bool = False
    # Where it can do no more, another method takes over.
    status: ClassVar[str | None] = None

    @property
    def relative_gap(self) -> float:
        return max(self.value - self.dual, 0.0) / max(abs(self.value), 1e-300)


class ColumnDescent(GapDescent):
    """Coordinate descent by columns.  Needs a squared loss, a kink, and dense columns.

    Its memory holds, beside vectors, a copy of the columns that are in use, with their Gram matrix;
    and where the matrix lies by rows, a copy of all columns, which the design keeps.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "column-descent"

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning
        # The method for numbers whose squares no float holds, and for passes without progress.
        self._other = ProximalNewton()

    @staticmethod
    def suits(problem: Any) -> bool:
        """Whether the method can minimise a problem."""
        return (
            isinstance(problem, PointwiseObjective)
            and isinstance(problem.design, DenseDesign)
            and problem.loss.quadratic
            and problem.penalty.kinked
            and problem.penalty.coercive
            and (problem.balances or not problem.fit_intercept)
        )

    def requires(self, problem: Any) -> None:
        if not self.suits(problem):
            raise TypeError(
                "Coordinate descent by columns needs a squared loss, dense rows and a penalty with "
                "a kink."
            )

    def init(
        self,
        problem: PointwiseObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> Any:
        with np.errstate(all="ignore"):
            data = _Columns(problem)
        if not data.tame:
            return self._other.init(problem, theta, rng, residual)
        # A hint may be beyond the bounds, along a path for instance.
        w = data.kinks.within(np.array(problem.weights_of(theta), dtype=np.float64))
        r = data.residuals(w)
        slopes = data.slopes(r) if w.any() else data.pull
        state = ColumnDescentState(data, theta, np.inf, 0.0, slopes, r)
        return self._judged(problem, state, w, r, slopes)

    def _judged(
        self,
        problem: PointwiseObjective,
        state: ColumnDescentState,
        w: np.ndarray,
        r: np.ndarray,
        slopes: np.ndarray,
        **more: Any,
    ) -> ColumnDescentState:
        """The state at other weights, with the objective and a lower bound of it."""
        data, penalty = state.data, problem.penalty
        u = data.weighted(r)
        square, along = data.factor * inner(u, r), data.factor * inner(u, data.target)
        value = 0.5 * square + penalty.value(w)
        scale = penalty.dual_scale(slopes)
        if not penalty.supercoercive and square > 0.0:
            scale = min(scale, max(along / square, 0.0))
        dual = scale * along - 0.5 * scale * scale * square - penalty.conjugate(scale * slopes)
        theta = problem.join(w, data.level - inner(w, data.mean))
        dual = max(state.dual, dual)
        return replace(state, theta=theta, value=value, dual=dual, slopes=slopes, r=r, **more)

    def step(self, problem: Any, state: Any, check_interrupt: Callable[[], None]) -> Any:
        if not isinstance(state, ColumnDescentState):
            return self._other.step(problem, state, check_interrupt)
        data, kinks = state.data, state.data.kinks
        if state.stuck or state.spent > self.tuning.patience * data.columns.size:
            return self._other.init(problem, state.theta, np.random.default_rng(0))
        x, r = problem.weights_of(state.theta).copy(), state.r.copy()
        away = kinks.violation(x, data.own * x - state.slopes)
        active = np.flatnonzero((x != 0.0) | (away > 0.0))
        spent = state.spent
        check_interrupt()
        slow = state.rate > self.tuning.fast
        if slow and len(active) and data.price(active) <= self.tuning.speed * spent:
            self._solve(problem, state, active, x, r, check_interrupt)
        else:
            spent = self._passes(problem, state, active, x, r, check_interrupt)
        check_interrupt()
        new = self._judged(problem, state, x, r, data.slopes(r), spent=spent)
        new = replace(new, rate=new.relative_gap / max(state.relative_gap, 1e-300))
        still = state.value - new.value <= 1e-15 * abs(new.value)
        if still and new.dual - state.dual <= 0.01 * max(new.value - new.dual, 0.0):
            new = replace(new, stuck=True)
        return new

    def _solve(
        self,
        problem: PointwiseObjective,
        state: ColumnDescentState,
        chosen: np.ndarray,
        x: np.ndarray,
        r: np.ndarray,
        check_interrupt: Callable[[], None],
    ) -> None:
        """Minimise over some columns by their Gram matrix, which moves ``x`` and ``r``."""
        data = state.data
        hessian = data.gram_of(chosen)
        np.einsum("ii->i", hessian)[...] += data.own[chosen]
        old = x[chosen]
        new, slope = old.copy(), data.own[chosen] * old - data.slopes_of(chosen, r)
        level = level_of(problem, state.theta, state.value)
        tol = self.tuning.exact * min(state.relative_gap, 1.0) * level
        minimise_model(hessian, slope, new, data.kinks.of(chosen), 1, tol, check_interrupt)
        x[chosen] = new
        _move(data.columns, data.mean, chosen, new - old, r)

    def _passes(
        self,
        problem: PointwiseObjective,
        state: ColumnDescentState,
        active: np.ndarray,
        x: np.ndarray,
        r: np.ndarray,
        check_interrupt: Callable[[], None],
    ) -> float:
        """Make passes over some columns, which move ``x`` and ``r``.

        Returns the multiplications that were spent, those before included.
        """
        data, kinks, tuning = state.data, state.data.kinks, self.tuning
        u = data.weighted(r)
        fixed = data.mean, data.square, data.own, kinks.l1, kinks.lower, kinks.upper
        weighing = data.columns, data.weights, data.factor
        enough = tuning.enough * (state.value - state.dual)
        first, count, spent = True, len(active), state.spent
        look = float(data.columns.size)
        while count:
            check_interrupt()
            spent += 2.0 * count * len(r)
            count, fall = _sweep(*weighing, *fixed, x, r, u, active, count)
            # A product with all columns costs half as much as visits to them.
            if fall <= enough and (spent - state.spent >= look or fall <= 1e-9 * state.value):
                break
            if first and data.price(active[:count]) <= 2.0 * look:
                # A Gram matrix of so few columns costs no more than a product with all columns.
                self._solve(problem, state, active[:count], x, r, check_interrupt)
                return spent
            first = False
        return spent

    def candidate(self, problem: Any, state: Any) -> Candidate:
        if not isinstance(state, ColumnDescentState):
            return self._other.candidate(problem, state)
        return Candidate(state.theta)
