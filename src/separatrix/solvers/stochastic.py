r"""Stochastic gradients: a step along the slope of one row, or of a few, at a time.

The objective is divided by the sum :math:`\sum U_i` of its weights, so that it is a mean over
visits (a row of weight ``k`` is visited ``k`` times; a fraction left over is a visit with a step
of that fraction):

.. math:: \frac{P(w, b)}{\sum_i U_i} = \frac{\alpha}2 \|w\|^2
    + \operatorname*{mean}_{\text{visits}} \ell(y (w \cdot x + b)),
    \qquad \alpha = \frac1{\sum_i U_i},

or without a penalty :math:`\alpha = 0`.  Step ``k``, at the rows ``B`` of one batch, is

.. math:: w \leftarrow (1 - \eta_k \alpha) w - \frac{\eta_k}{|B|} \sum_{i \in B} \ell'(z_i) y_i x_i,
    \qquad b \leftarrow b - \frac{\eta_k}{|B|} \sum_{i \in B} \ell'(z_i) y_i

(Robbins and Monro, 1951), with rates from :mod:`separatrix.schedules`.  A batch that the end of
the data cuts short takes a step that is as much shorter.

The weights are kept as ``scale`` times a vector (Shalev-Shwartz, Singer and Srebro, 2007), so that
the penalty costs one multiplication and a sparse row only its entries; the average of the weights
(Polyak and Juditsky, 1992) is kept as the excess of a multiple of the vector over it, which changes
only where the vector does (Xu, 2011).

Every pass stores the slopes of the loss at the visits of each row.  The averages of these over
the passes are multipliers of the dual, near the best ones when the weights are, and with them the
objective gives its own bound.  Where the passes end, one Newton step or a few from the weights
predict the slopes at the optimum, which are nearer still; the weights themselves are left alone.

All passes of a fit are made in one compiled loop, which ends where the mean objective over the
visits of a pass has not fallen any further for some passes, as scikit-learn's do; the
objective and its bound are evaluated at that point, once.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled.compilation import njit, scalar, specialise
from separatrix._compiled.linear_algebra import conjugate_gradients, inner, solve_positive
from separatrix._compiled.row_access import (
    _prefetch,
    dense_prefetch,
    read_only,
    row_add,
    row_dot,
    row_prefetch,
)
from separatrix._compiled.splitmix import GOLDEN, mixed_word
from separatrix.certificate import Certificate
from separatrix.data.random_state import generator_of
from separatrix.losses import PerceptronLoss
from separatrix.losses.perceptron import _perceptron_derivative as slope_at
from separatrix.losses.perceptron import _perceptron_value as value_at
from separatrix.objectives.base import Bound, LinearProblem
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Candidate, Solver, require_parts
from separatrix.solvers.schedules import Schedule
from separatrix.solvers.trace import Trace, Update

# The largest number of visits in a pass; more are taken for a mistake in the weights.
_MOST_VISITS = 1 << 28
# The vector is brought up to scale when the scale falls below these: the first keeps the digits of
# an average, the second prevents overflow.
_FLOOR_AVERAGED = 1e-3
_FLOOR = 1e-100
# The sample on which a learning rate is tried: its largest numbers of visits and of stored entries,
# and the visits that it may have whatever their entries; the visits of a trial up to which a
# smaller sample is visited again, and the most passes over it.  Rates that are best for a few steps
# are too large for many, so that the trial should not be much shorter than the fit that it stands
# for.
_TRIAL_VISITS = 100_000
_TRIAL_ENTRIES = 1 << 23
_LEAST_SAMPLE = 1_000
_LEAST_TRIAL = 20_000
_MOST_PASSES = 30


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Visits:
    """The rows that a pass visits, in order.

    Attributes
    ----------
    rows : ndarray of shape (n_visits,)
    shares : ndarray of shape (n_visits,) or (0,)
        The weight of each visit, where it is not one everywhere.
    factor : float
        The factor by which the weights were multiplied.
    """

    rows: np.ndarray
    shares: np.ndarray
    factor: float = 1.0

    @classmethod
    def of(
        cls,
        n_samples: int,
        weights: np.ndarray | None = None,
        order: np.ndarray | None = None,
        *,
        relative: bool = False,
    ) -> Visits:
        """Each row as often as its weight says; a fraction left over is a visit of that share.

        Parameters
        ----------
        n_samples : int
        weights : ndarray of shape (n_samples,), optional
        order : ndarray of shape (n_samples,), optional
            The rows in the order of the visits; as they lie by default.
        relative : bool
            Whether to scale weights that are all below one to a largest of one, which leaves the
            objective as it is and keeps the weights of the visits from being tiny.

        Raises
        ------
        ValueError
            For weights that require more visits than a pass can have.
        """
        kind = np.int32 if n_samples < 2**31 else np.int64
        order = np.arange(n_samples, dtype=kind) if order is None else order.astype(kind)
        if weights is None:
            return cls(order, np.empty(0))
        heavy = weights[order].astype(np.float64)
        factor = 1.0
        if relative and 0.0 < heavy.max() < 1.0:
            factor = 1.0 / float(heavy.max())
            heavy /= heavy.max()
        counts = np.ceil(heavy)
        if counts.sum() > _MOST_VISITS:
            raise ValueError(
                f"The sum of the row weights is {heavy.sum():.4g}, and a row of weight k is "
                "visited k times in every pass; divide all weights by about "
                f"{counts.sum() / n_samples:.4g}."
            )
        repeats = counts.astype(np.int64)
        rows = np.repeat(order, repeats)
        if np.array_equal(heavy, counts):
            return cls(rows, np.empty(0), factor)
        shares = np.ones(len(rows))
        last = np.cumsum(repeats)[repeats > 0] - 1
        shares[last] = (heavy - counts + 1.0)[repeats > 0]
        return cls(rows, shares, factor)

    def first(self, count: int, rng: np.random.Generator) -> Visits:
        """The first ``count`` of the visits in a random order; all of them if there are no more."""
        drawn = rng.permutation(len(self.rows))[:count]
        shares = self.shares[drawn] if len(self.shares) else self.shares
        return Visits(self.rows[drawn], shares, self.factor)


@dataclass(frozen=True)
class Holdout:
    """Rows that are held out of the objective, to be scored after every pass.

    Attributes
    ----------
    rows, weights : ndarray
    """

    rows: np.ndarray
    weights: np.ndarray


class Visited(PointwiseObjective):
    """An objective together with the order in which its rows are visited.

    Parameters
    ----------
    *arguments, **options
        The arguments of the objective.
    visits : callable
        A function that makes the :class:`Visits`; called when they are first needed.
    start : ndarray, optional
        The weights at which the steps begin; zero by default.
    holdout : Holdout, optional
    """

    def __init__(
        self,
        *arguments: Any,
        visits: Callable[[], Visits] | None = None,
        start: np.ndarray | None = None,
        holdout: Holdout | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        weights = options.get("weights")
        # Not the sum of the weights times C, which is rounded: copies of a row must give the same.
        self.weight = float(self.design.n_samples if weights is None else weights.sum())
        self._visits = visits
        self.start = start
        self.holdout = holdout

    @functools.cached_property
    def visits(self) -> Visits:
        if self._visits is not None:
            return self._visits()
        return Visits.of(self.design.n_samples, self.upper / self.C)

    @property
    def offsets(self) -> np.ndarray:
        """The offset, of each row or of all, that margins lose before the slope is taken."""
        raise NotImplementedError

    @property
    def slope(self) -> tuple[Callable[..., Any], float, float]:
        """The loss's slope for kernels, and the factors of its argument and of its value."""
        raise NotImplementedError

    @property
    def value_in_kernels(self) -> Callable[..., Any] | None:
        """The loss for kernels, of the argument of :attr:`slope`; None where there is none."""
        return None

    def argument(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The argument of the loss for some rows with these scores."""
        return self.y[rows] * scores

    @functools.cached_property
    def ends(self) -> bool:
        """Whether weights can be such that no row corrects them: a pass is then clean."""
        return False

    @functools.cached_property
    def shrinkage(self) -> float:
        """The shrinkage by the penalty in a visit: ``alpha`` of the module's formula."""
        return self.penalty.strong_convexity / (self.C * self.weight)

    def zero(self) -> np.ndarray:
        return super().zero() if self.start is None else np.array(self.start, dtype=np.float64)


class StochasticObjective(Visited, MarginObjective):
    """A margin objective together with the order in which its rows are visited.

    Parameters
    ----------
    design, y, loss, penalty, C, weights, fit_intercept
        See :class:`~separatrix.objectives.margin.MarginObjective`.
    visits, start, holdout
        The order of the visits, the starting weights, and the rows that are held out.
    """

    @property
    def level(self) -> float:
        """The offset that is subtracted from a margin before the slope of the loss is taken."""
        margin = getattr(self.loss, "margin", 0.0)
        # "Below the margin" means at most the next number below it: one rule for both.
        return float(np.nextafter(margin, -np.inf)) if margin > 0.0 else 0.0

    @property
    def offsets(self) -> np.ndarray:
        return np.array([self.level])

    @property
    def slope(self) -> tuple[Callable[..., Any], float, float]:
        # The slope is without its margin: one compiled loop for all margins.
        margin = getattr(self.loss, "margin", 0.0)
        return (PerceptronLoss.slope_at if margin > 0.0 else self.loss.slope_at), 1.0, 1.0

    @property
    def value_in_kernels(self) -> Callable[..., Any] | None:
        margin = getattr(self.loss, "margin", 0.0)
        return PerceptronLoss.value_at if margin > 0.0 else getattr(self.loss, "value_at", None)

    @functools.cached_property
    def ends(self) -> bool:
        """Whether weights can be such that no row corrects them: a pass is then clean."""
        flat = float(self.loss.derivative(np.array([100.0 + self.level]))[0]) == 0.0
        return flat and self.penalty.strong_convexity == 0.0

    @functools.cached_property
    def kink(self) -> float:
        """The point at which the slope of a loss that is not smooth jumps, if it does so once."""
        low, high = -1e3, 1e3
        ends = self.loss.derivative(np.array([low, high]))
        for _ in range(60):
            middle = 0.5 * (low + high)
            if self.loss.derivative(np.array([middle]))[0] < 0.5 * (ends[0] + ends[1]):
                low = middle
            else:
                high = middle
        return high

    def bound(
        self,
        theta: np.ndarray,
        residual: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        adjoint: np.ndarray | None = None,
    ) -> Bound:
        """Weak duality at ``theta``; see :meth:`separatrix.objectives.base.Objective.bound`.

        Weights that put every row on the plane minimise the perceptron loss and do not distinguish
        the classes: mistakes by the rule.  They are not accepted as an answer.
        """
        scores = self.linear(theta) if scores is None else scores
        if self.penalty.strong_convexity == 0.0 and self.loss_value(scores) == 0.0:
            r = self.residual(scores)
            if np.any(r):
                return Bound(np.inf, 0.0, np.inf)
            return Bound(0.0, 0.0, 0.0, r)
        return super().bound(theta, residual, scores, adjoint)

    def objective_at(
        self, theta: np.ndarray, scores: np.ndarray | None
    ) -> tuple[float, np.ndarray] | None:
        # Where it may be one of these weights, only the bound can decide.
        flat = self.penalty.strong_convexity == 0.0
        return None if flat else super().objective_at(theta, scores)


class StochasticResidual(Visited, ResidualObjective):
    """A loss of the residual together with the order in which its rows are visited.

    Single passes go over it: it has no predicted multipliers.

    Parameters
    ----------
    design, targets, loss, penalty, C, weights, fit_intercept
        See :class:`~separatrix.objectives.residual.ResidualObjective`.
    visits, start, holdout
        As in :class:`StochasticObjective`.
    """

    @property
    def offsets(self) -> np.ndarray:
        # The residual is the margin of the label -1 less minus the target.
        return -self.targets

    @property
    def slope(self) -> tuple[Callable[..., Any], float, float]:
        return self.loss.unit_slope

    def argument(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.targets[rows] - scores


@scalar
def dense_announce(rows, i):
    """Prefetch row ``i`` of a dense matrix, which is read next: rows in random order miss."""
    row = rows[0][i]
    # One access for each cache line of 64 bytes.
    for j in range(0, row.shape[0], 64 // row.itemsize):
        _prefetch(row, j)


# --- the order ----------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _hashed(seed, k):
    """The ``k``-th of a series of 32 random bits each (Steele, Lea and Flood, 2014)."""
    return mixed_word(seed + np.uint64(k) * GOLDEN) >> np.uint64(32)


@njit(nogil=True, cache=True)
def _mixed(seed, k):
    """64 random bits for the ``k``-th pass of a fit."""
    high = _hashed(seed, 2 * k) << np.uint64(32)
    return high | _hashed(seed, 2 * k + 1)


@njit(nogil=True, cache=True)
def _shuffle(visits, shares, seed):
    """Shuffle the visits in place (Durstenfeld, 1964)."""
    half = np.uint64(32)
    for p in range(visits.shape[0] - 1, 0, -1):
        q = np.int64((_hashed(seed, p) * np.uint64(p + 1)) >> half)
        visits[p], visits[q] = visits[q], visits[p]
        if shares.shape[0] > 0:
            shares[p], shares[q] = shares[q], shares[p]


# --- the loop -----------------------------------------------------------------------------------

# The entries of ``now``: the results of a pass, and its running sums.
_SCALE, _GATHERED, _STOOD, _ELAPSED, _STEPS, _LOSSES, _CORRECTED, _MOVED, _LEAST, _STALE = range(10)
# The reasons for which passes ended early.
_GOES_ON, _CLEAN, _BROKEN, _SMALL, _STALLED = range(5)


def fresh_counters() -> np.ndarray:
    """The array ``now`` before the first pass."""
    now = np.zeros(10)
    now[_SCALE], now[_MOVED], now[_LEAST] = 1.0, np.inf, np.inf
    return now


@scalar
def _no_value(z):
    """Return zero: the loss is not followed."""
    return 0.0


@scalar
def _settle(theta, lag, summed, offset, now):
    """Bring the vector up to scale, and add the pending part to the sum of the weights."""
    d = theta.shape[0] - offset
    scale = now[0]
    if lag.shape[0] > 0:
        for j in range(d):
            summed[j] += now[1] * theta[j] - lag[j]
            lag[j] = 0.0
        if offset == 1:
            summed[d] += now[2] * theta[d] - lag[d]
            lag[d] = 0.0
        now[3] += now[2]
        now[1] = 0.0
        now[2] = 0.0
    if scale != 1.0:
        for j in range(d):
            theta[j] *= scale
    now[0] = 1.0


class _Rule(NamedTuple):
    """The rule of a step on ``batch`` rows.

    ``offsets`` has one entry, or one for each row; the slope is ``steep`` times ``slope_at`` of
    ``narrow`` times the margin less the level.  ``offset`` is 1 where the last weight is the
    intercept, else 0.  From step ``first`` on the weights are averaged, if ``linear`` is 1 by the
    number of the step.  ``floor`` is the smallest scale.  With ``random`` the rows are in random
    order, so that each is announced before it is read.
    """

    rate: float
    tau: float
    kappa: float
    shrinkage: float
    offsets: np.ndarray
    narrow: float
    steep: float
    offset: int
    batch: int
    first: int
    linear: int
    floor: float
    random: bool


class _Gathered(NamedTuple):
    """The arrays that visits of rows change; see :class:`StochasticState`.

    ``pending`` are the slopes of the rows of a batch, and ``theta`` the weights divided by
    ``now[0]``.  ``lag`` and ``summed``, unless they are empty, collect the sum of the weights after
    each step; ``scores`` and ``mistakes``, unless they are empty, keep the last score of every row
    and count its corrections.
    """

    theta: np.ndarray
    lag: np.ndarray
    summed: np.ndarray
    slopes: np.ndarray
    scores: np.ndarray
    mistakes: np.ndarray
    pending: np.ndarray
    now: np.ndarray


class _Ends(NamedTuple):
    """The data for the end of a pass.

    ``worth``: the sum of the weights of the visits of a pass; ``seed``: the seed of the orders of
    the passes, if they are ``shuffled``.  ``before`` keeps the last finite weights at the end of a
    pass, ``kept`` these or their average; ``multipliers`` the averages of the slopes over the
    passes, divided by ``masses``.  ``clean``: whether a pass without a correction is the last one.
    With a ``step_tol`` above zero passes end where ``kept`` changes by less, and with a finite
    ``tol`` where the mean objective has not fallen by more than that below the least before for
    ``patience`` passes.
    """

    worth: float
    seed: Any
    shuffled: bool
    before: np.ndarray
    kept: np.ndarray
    multipliers: np.ndarray
    masses: np.ndarray
    clean: bool
    step_tol: float
    tol: float
    patience: float


@scalar
def _rate(rule, k):
    """The rate of step ``k``."""
    if rule.kappa == 0.0:
        return rule.rate
    if rule.kappa == 1.0:
        return rule.rate / (rule.tau + k)
    return rule.rate * (rule.tau + k) ** -rule.kappa


@scalar
def _shrink(rule, gathered, share):
    """Shrink the weights by a share, and bring them up to scale where the scale is too small."""
    now = gathered.now
    now[0] *= 1.0 - share
    if abs(now[0]) < rule.floor:
        _settle(gathered.theta, gathered.lag, gathered.summed, rule.offset, now)
    return now[0]


def _descend(rows, y, visits, shares, rule, gathered, position, budget, limit):
    """Take steps from ``position`` on: to the end, ``budget`` visits or ``limit`` corrections.

    Returns the next position, the corrections made, and the row of the last one.
    """
    theta, lag, now = gathered.theta, gathered.lag, gathered.now
    scores, pending = gathered.scores, gathered.pending
    offset, batch = rule.offset, rule.batch
    d = theta.shape[0] - offset
    end = visits.shape[0]
    until = min(end, position + budget)
    announced = end if rule.random else 0
    portion = 1.0 / batch
    each = 1 if rule.offsets.shape[0] > 1 else 0
    made = 0
    latest = -1
    losses = 0.0
    while position < until and made < limit:
        now[4] += 1.0
        k = now[4]
        eta = _rate(rule, k)
        stop = min(position + batch, end)
        scale = now[0]
        mass = 0.0
        for p in range(position, stop):
            i = visits[p]
            if p + 1 < announced:
                row_prefetch(rows, visits[p + 1])
            share = shares[p] if shares.shape[0] > 0 else 1.0
            score = scale * row_dot(rows, i, theta) + (theta[d] if offset == 1 else 0.0)
            at = rule.narrow * (y[i] * score - rule.offsets[i * each])
            slope = rule.steep * slope_at(at)
            losses += share * value_at(at)
            gathered.slopes[i] += share * slope
            pending[p - position] = -slope * y[i] * share
            mass += share
            if scores.shape[0] > 0:
                scores[i] = score
        mass *= portion
        if rule.shrinkage > 0.0:
            scale = _shrink(rule, gathered, eta * rule.shrinkage * mass)
        for p in range(position, stop):
            if pending[p - position] != 0.0:
                i = visits[p]
                step = pending[p - position] * eta * portion
                change = step / scale
                row_add(rows, i, change, theta)
                if offset == 1:
                    theta[d] += step
                if now[2] > 0.0:
                    # The pending part of the sum lacks this step.
                    row_add(rows, i, now[1] * change, lag)
                    if offset == 1:
                        lag[d] += now[2] * step
                if gathered.mistakes.shape[0] > 0:
                    gathered.mistakes[i] += 1
                made += 1
                latest = i
        if lag.shape[0] > 0 and k >= rule.first:
            if rule.linear == 1:
                mass *= k
            now[1] += mass * scale
            now[2] += mass
        position = stop
    now[5] += losses
    return position, made, latest


# The function that the template is written against.
descend = _descend


@scalar
def _answer(rule, gathered, ends):
    """Keep the weights, or their average, at the end of a pass; return their squared length.

    The result is NaN where one of them is not finite: nothing is kept then.
    """
    theta, summed, now, kept = gathered.theta, gathered.summed, gathered.now, ends.kept
    for j in range(theta.shape[0]):
        if not (np.isfinite(theta[j]) and (summed.shape[0] == 0 or np.isfinite(summed[j]))):
            return np.nan
    averaged = summed.shape[0] > 0 and now[3] > 0.0
    change, length, square = 0.0, 0.0, 0.0
    for j in range(theta.shape[0]):
        value = summed[j] / now[3] if averaged else theta[j]
        if j < theta.shape[0] - rule.offset:
            change += (value - kept[j]) * (value - kept[j])
            length += value * value
            square += theta[j] * theta[j]
        kept[j] = value
        ends.before[j] = theta[j]
    if length > 0.0:
        now[7] = np.sqrt(change / length)
    else:
        now[7] = np.inf if change > 0.0 else 0.0
    return square


@scalar
def _average_slopes(slopes, multipliers, masses, passes):
    """Add the slopes of a pass to their averages; the later a pass, the more it counts."""
    share = 1.0 / passes
    share = 2.0 * share / (1.0 + share)
    for i in range(multipliers.shape[0]):
        slope = slopes[i]
        slope = slope / masses[i] if masses[i] > 0.0 else slope
        multipliers[i] += share * (slope - multipliers[i])


@scalar
def _end(rule, gathered, ends, passes):
    """Process the end of a pass; return the reason to make no further one, or 0."""
    now = gathered.now
    _settle(gathered.theta, gathered.lag, gathered.summed, rule.offset, now)
    square = _answer(rule, gathered, ends)
    if np.isnan(square):
        return 2
    _average_slopes(gathered.slopes, ends.multipliers, ends.masses, passes)
    if ends.clean and now[6] == 0.0:
        return 1
    if now[7] < ends.step_tol:
        return 3
    objective = now[5] / ends.worth + 0.5 * rule.shrinkage * square
    now[9] = now[9] + 1.0 if objective > now[8] - ends.tol else 0.0
    now[8] = min(now[8], objective)
    return 4 if now[9] >= ends.patience else 0


def _epochs(rows, y, visits, shares, rule, gathered, ends, position, passes, until, budget, limit):
    """Make passes from ``position`` on, until a limit or a reason to end.

    The limits are ``until`` passes, ``budget`` visits and ``limit`` corrections.
    Returns the next position, the passes begun, the corrections, the row of the last one, and the
    reason for which the passes ended.
    """
    now, end = gathered.now, visits.shape[0]
    corrections, latest, reason, begun = 0, -1, 0, passes
    while True:
        if position >= end:
            # A pass is begun if there is time for all of it, or if it is the first of a call.
            if passes >= until or (passes > begun and budget < end):
                break
            if ends.shuffled:
                _shuffle(visits, shares, _mixed(ends.seed, passes))
            passes += 1
            position = 0
            gathered.slopes[:] = 0.0
            now[5] = 0.0
            now[6] = 0.0
        start = position
        position, made, last = descend(
            rows, y, visits, shares, rule, gathered, position, budget, limit
        )
        budget -= position - start
        corrections += made
        now[6] += made
        if made > 0:
            latest = last
        if position < end:
            break
        reason = _end(rule, gathered, ends, passes)
        if reason != 0 or corrections >= limit:
            break
    return position, passes, corrections, latest, reason


def _score(rows, some, offset, theta, out):
    """Compute the scores of some rows."""
    d = theta.shape[0] - offset
    for p in range(some.shape[0]):
        if p + 1 < some.shape[0]:
            row_prefetch(rows, some[p + 1])
        out[p] = row_dot(rows, some[p], theta) + (theta[d] if offset == 1 else 0.0)


@dataclass
class ResumeState:
    """The results of earlier calls for the next one.

    Attributes
    ----------
    steps : int
        The number of steps taken.
    elapsed : float
        The sum of the weights in the average: the number of visits that it is over, or with
        "linear" the sum of the numbers of the steps.
    average : ndarray or None
    """

    steps: int = 0
    elapsed: float = 0.0
    average: np.ndarray | None = None


@dataclass
class StochasticState:
    """The weights and the data that the passes collect; updated in place.

    Attributes
    ----------
    theta : ndarray
        The present weights; within a pass, divided by the scale.
    before : ndarray
        The last finite weights at the end of a pass.
    kept : ndarray
        The answer at the end of the last pass: the weights, or their average.
    now : ndarray
        The scale; the pending sum of scales and the pending visits since it was one, the visits in
        the average before, and the number of steps; for the last pass the sum of the losses, the
        corrections and the move of the answer; the least mean objective of a pass, and the number
        of passes since it fell by more than the tolerance.
    lag, summed : ndarray
        The sum of the weights after each step: ``summed + now[1] theta - lag``.
    visits, shares : ndarray
        The rows of a pass in order, and the weight of each visit.
    slopes, multipliers : ndarray of shape (n_samples,)
        The slopes at the visits of the rows in this pass, and their average over the passes.
    mass : ndarray of shape (n_samples,)
        The sum of the weights of the visits of each row in a pass.
    scores : ndarray
        The score of every row at its last visit, where a pass can be clean.
    mistakes, updates, recorded : ndarray, list of Update, ndarray
        The numbers of corrections, the recorded corrections, and the weights after the last one.
    best, best_score, stale : ndarray or None, tuple, int
        The weights that were best on the rows held out, how good they were (the share of them
        that is right, and minus their loss), and the number of passes without better ones.
    held : list of float
        The share of the rows held out that is right after each pass.
    seed : numpy.uint64
        The seed of the orders of the passes.
    position, passes : int
        The next visit, beyond the last where no pass is under way; and the number of passes begun.
    reason : int
        The reason for which the passes ended, where they did.
    """

    theta: np.ndarray
    before: np.ndarray
    kept: np.ndarray
    now: np.ndarray
    lag: np.ndarray
    summed: np.ndarray
    visits: np.ndarray
    shares: np.ndarray
    slopes: np.ndarray
    multipliers: np.ndarray
    mass: np.ndarray
    scores: np.ndarray
    mistakes: np.ndarray
    recorded: np.ndarray
    rng: np.random.Generator
    updates: list[Update] = field(default_factory=list)
    best: np.ndarray | None = None
    best_score: tuple[float, float] = (-np.inf, -np.inf)
    stale: int = 0
    held: list[float] = field(default_factory=list)
    seed: Any = field(default_factory=lambda: np.uint64(0))
    position: int = 0
    passes: int = 0
    reason: int = _GOES_ON

    @property
    def clean(self) -> bool:
        """Whether the last pass made no correction where one might have been the last."""
        return self.reason == _CLEAN

    @property
    def broken(self) -> bool:
        """Whether the arithmetic overflowed."""
        return self.reason == _BROKEN

    @property
    def moved(self) -> float:
        """The change of the answer by the last pass, relative to its length."""
        return float(self.now[_MOVED])

    @property
    def steps(self) -> int:
        return int(self.now[_STEPS])

    @property
    def elapsed(self) -> float:
        """The sum of the weights in the average."""
        return float(self.now[_ELAPSED] + self.now[_STOOD])


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of passes, which affect their speed.

    Parameters
    ----------
    stretch : int
        The number of stored entries that are read between two checks of the time.
    """

    stretch: int = 1 << 23


class StochasticDescent(Solver):
    """Steps along the slope of one row, or of a few, at a time.  Needs rows.

    Parameters
    ----------
    schedule : Schedule
        The learning rates.
    batch_size : int
        The number of rows in a step.
    shuffle : bool
        Whether every pass has another order; otherwise the rows come as they lie.
    average : "linear", bool or int
        The visit from which on the weights after each step are averaged, counted from 1, or True
        for the first; False or 0 for none.  "linear" weighs each by its number (Lacoste-Julien,
        Schmidt and Bach, 2012), which forgets the start sooner.
    step_tol : float, optional
        Passes end when one changes the weights by less than this, relative to their length.
    patience : int
        The number of passes without a better score on the rows held out, or with ``tol`` without a
        better objective, after which a fit ends.
    tol : float, optional
        A fit ends after ``patience`` passes in which the mean objective over the visits was not
        below the least before by more than this.  It needs a loss whose value kernels can compute.
    record : bool
        Whether to keep every correction.  It needs rows one at a time, and no penalty.
    most : int, optional
        The largest number of passes of a fit.  Where it is known, a step makes as many of them as
        there is time for between two checks of the time; otherwise it makes one.
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    # The answer is the point that the passes end with: points on the way are not checked for it.
    checks_end_alone = True
    # The status of a single pass that is not enough.
    unfinished = "above_tol"

    def __init__(
        self,
        schedule: Schedule,
        *,
        batch_size: int = 1,
        shuffle: bool = True,
        average: Any = False,
        step_tol: float | None = None,
        patience: int = 5,
        tol: float | None = None,
        record: bool = False,
        most: int | None = None,
        tuning: Tuning = Tuning(),
    ) -> None:
        self.tuning = tuning
        self.schedule = schedule
        self.batch_size = int(batch_size)
        self.shuffle = shuffle
        self.average = average
        self.step_tol = step_tol
        self.patience = patience
        self.tol = tol
        self.record = record
        self.most = most

    def requires(self, problem: Visited) -> None:
        slope = "unit_slope" if problem.loss.of_residual else "slope_at"
        parts = (problem.loss, slope), (problem.design, "rows"), (problem, "visits")
        require_parts("Stochastic gradient descent", *parts)

    def init(
        self,
        problem: Visited,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> StochasticState:
        n = problem.design.n_samples
        visits = problem.visits
        none = np.empty(0)
        return StochasticState(
            theta=theta.copy(),
            before=theta.copy(),
            kept=theta.copy(),
            now=fresh_counters(),
            lag=np.zeros_like(theta) if self.average else none,
            summed=np.zeros_like(theta) if self.average else none,
            # The visits are shuffled in place, so that every problem needs its own.
            visits=visits.rows.copy() if self.shuffle else visits.rows,
            shares=visits.shares.copy() if self.shuffle else visits.shares,
            slopes=np.zeros(n),
            multipliers=np.zeros(n),
            mass=problem.upper * (visits.factor / problem.C),
            scores=np.zeros(n) if problem.ends else none,
            mistakes=np.zeros(n if self.record else 0, dtype=np.int64),
            recorded=read_only(theta.copy()),
            rng=rng,
            seed=rng.integers(2**64, dtype=np.uint64),
            position=len(visits.rows),
        )

    def resumed(
        self, problem: Visited, carried: ResumeState, rng: np.random.Generator
    ) -> StochasticState:
        """The state of a pass from ``problem.zero()`` on that continues from earlier ones."""
        state = self.init(problem, problem.zero(), rng)
        state.now[_STEPS] = carried.steps
        if self.average and carried.average is not None:
            state.now[_ELAPSED] = carried.elapsed
            state.summed[:] = carried.elapsed * carried.average
            state.kept = carried.average.copy() if carried.elapsed > 0.0 else state.kept
        return state

    def ended(
        self, problem: Visited, state: StochasticState, carried: ResumeState
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The answer of a single pass and its scores, where these are known."""
        if state.broken:
            state.theta = problem.zero()
            state.now[_STEPS], state.now[_ELAPSED] = carried.steps, carried.elapsed
        return state.kept, state.scores if state.clean and not self.average else None

    def step(
        self,
        problem: Visited,
        state: StochasticState,
        check_interrupt: Callable[[], None],
    ) -> StochasticState:
        until = state.passes + 1
        if self.most is not None and problem.holdout is None and not self.record:
            until = self.most
        self.advance(problem, state, check_interrupt, until=until)
        if problem.holdout is not None and not state.broken:
            self._score_held_out(problem, state)
        return state

    def advance(
        self,
        problem: Visited,
        state: StochasticState,
        check_interrupt: Callable[[], None],
        *,
        until: int,
    ) -> None:
        """Make passes: up to ``until`` of them in all, and as many as there is time for.

        Parameters
        ----------
        problem : Visited
        state : StochasticState
        check_interrupt : callable
            A function that is called within passes that take long.
        until : int
        """
        kernel = self._kernel(problem)
        fixed = self._arguments(problem, state)
        n, stored, total = problem.design.n_samples, problem.design.n_stored, len(state.visits)
        stretch = self.batch_size * max(
            1, int(self.tuning.stretch * (n / max(stored, 1))) // self.batch_size
        )
        limit = 1 if self.record else 1 << 62
        while True:
            state.position, state.passes, corrections, latest, state.reason = kernel(
                *fixed, state.position, state.passes, until, stretch, limit
            )
            if self.record and corrections:
                remember(problem, state, latest)
            if state.reason != _GOES_ON or state.position >= total:
                return
            check_interrupt()

    def _kernel(self, problem: Visited) -> Callable[..., tuple[int, int, int, int, int]]:
        """The loop over passes for this loss and this storage."""
        value = problem.value_in_kernels
        return specialise(
            _epochs,
            descend=specialise(
                _descend,
                row_dot=problem.design.row_dot,
                row_add=problem.design.row_add,
                row_prefetch=announcing(problem),
                slope_at=problem.slope[0],
                value_at=value if value else _no_value,
            ),
        )

    def _arguments(self, problem: Visited, state: StochasticState) -> tuple[Any, ...]:
        """The arguments of the loop that stay the same until the passes end."""
        _, narrow, steep = problem.slope
        value = problem.value_in_kernels
        ruled = self.tol is not None and not problem.ends and problem.holdout is None
        # The step that the first visit of the average belongs to.
        begins = 1 if self.average == "linear" else int(self.average)
        worth = float(state.shares.sum()) if len(state.shares) else float(len(state.visits))
        rule = _Rule(
            *self.schedule.numbers,
            problem.shrinkage,
            problem.offsets,
            narrow,
            steep,
            int(problem.fit_intercept),
            self.batch_size,
            first=max(1, -(-begins // self.batch_size)),
            linear=int(self.average == "linear"),
            floor=_FLOOR_AVERAGED if self.average else _FLOOR,
            # Rows in their order in memory need no announcement.
            random=self.shuffle,
        )
        gathered = _Gathered(
            state.theta,
            state.lag,
            state.summed,
            state.slopes,
            state.scores,
            state.mistakes,
            pending=np.zeros(self.batch_size),
            now=state.now,
        )
        ends = _Ends(
            worth,
            state.seed,
            self.shuffle,
            state.before,
            state.kept,
            state.multipliers,
            state.mass,
            clean=problem.ends,
            step_tol=0.0 if self.step_tol is None else float(self.step_tol),
            tol=float(self.tol or 0.0) if ruled and value else -np.inf,
            patience=float(self.patience) if ruled and value else np.inf,
        )
        y = np.ascontiguousarray(problem.y)
        return problem.design.rows, y, state.visits, state.shares, rule, gathered, ends

    def _answer(self, state: StochasticState) -> np.ndarray:
        """The weights, or their average, of a settled state."""
        if self.average and state.elapsed > 0.0:
            return state.summed / state.elapsed
        return state.theta.copy()

    def _score_held_out(self, problem: Visited, state: StochasticState) -> None:
        held = problem.holdout
        assert held is not None
        z = problem.y[held.rows] * scores_of(problem, held.rows, state.kept)
        total = held.weights.sum()
        # A point on the plane is on the positive side in prediction.
        right = np.where(problem.y[held.rows] > 0.0, z >= 0.0, z > 0.0)
        score = inner(held.weights, right) / total
        loss = inner(held.weights, problem.loss.value(z)) / total
        state.held.append(score)
        if (score, -loss) > state.best_score:
            state.best, state.best_score, state.stale = state.kept.copy(), (score, -loss), 0
        else:
            state.stale += 1

    def candidate(self, problem: StochasticObjective, state: StochasticState) -> Candidate:
        if state.broken:
            return Candidate(state.kept.copy())
        if state.clean:
            # All rows were visited at these weights: their scores are known, and none is wrong.
            return Candidate(state.before, scores=state.scores)
        if state.best is not None:
            return Candidate(state.best)
        if state.position < len(state.visits):
            # The fit has stopped in the middle of a pass.
            settle(problem, state)
            theta = state.theta.copy() if problem.ends else self._answer(state)
            return Candidate(theta if np.all(np.isfinite(theta)) else state.kept.copy())
        if state.passes == 0:
            return Candidate(state.kept.copy())
        if problem.ends:
            # A pass is clean by the weights themselves, and not by their average.
            return Candidate(state.before.copy())
        if problem.penalty.strong_convexity == 0.0:
            return Candidate(state.kept.copy())
        return Candidate(state.kept.copy(), problem.upper * problem.y * state.multipliers)

    def iterations(self, state: StochasticState, before: int) -> int:
        return state.passes

    def should_check(
        self, problem: StochasticObjective, state: StochasticState, tol: float
    ) -> bool:
        return state.clean

    def stopped(self, problem: StochasticObjective, state: StochasticState) -> str | None:
        if state.broken:
            return "non_finite"
        if problem.holdout is not None and state.stale >= self.patience:
            return "early_stopped"
        return {_SMALL: "small_step", _STALLED: "stalled"}.get(state.reason)


def remember(problem: LinearProblem, state: Any, sample: int) -> None:
    """Add the last correction, caused by row ``sample``, to the ``updates`` of a state."""
    # The weights before an update are those after the one before it: one copy serves both.
    before, after = state.recorded, read_only(state.theta.copy())
    state.recorded = after
    state.updates.append(
        Update(
            sample=int(sample),
            epoch=state.passes,
            coef_before=problem.weights_of(before),
            intercept_before=float(problem.intercept_of(before)),
            coef=problem.weights_of(after),
            intercept=float(problem.intercept_of(after)),
            mistakes=int(state.mistakes[sample]),
        )
    )


def announcing(problem: Visited) -> Callable[..., Any]:
    """The function that announces rows in random order."""
    announce = problem.design.row_prefetch
    # Short and long rows alike: the processor does not guess where the next one lies.
    return dense_announce if announce is dense_prefetch else announce


def settle(problem: Visited, state: StochasticState) -> None:
    """Bring the weights up to scale."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        _settle(state.theta, state.lag, state.summed, int(problem.fit_intercept), state.now)


def scores_of(problem: Visited, some: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The scores of some rows, without a copy of them."""
    kernel = specialise(
        _score, row_dot=problem.design.row_dot, row_prefetch=problem.design.row_prefetch
    )
    out = np.empty(len(some))
    kernel(problem.design.rows, some, int(problem.fit_intercept), theta, out)
    return out


# --- bounds ---------------------------------------------------------------------------------------

# The shares of the rows for which a kink is rounded off, one step each.
_BANDS = (0.3, 0.1, 0.05, 0.02, 0.01, 0.005)
# The largest number of weights for which a Hessian is formed, and its largest cost in products.
_DENSE, _DENSE_COST = 1000, 60.0
# The number of steps of conjugate gradients otherwise, once so many passes have been made.
_STEPS_OF_CG, _LATE = 25, 32


def factorises(problem: Visited) -> bool:
    """Whether a Hessian costs no more than some passes do."""
    design = problem.design
    return problem.shape[0] <= _DENSE and design.gram_cost <= _DENSE_COST * design.n_stored


@np.errstate(all="ignore")
def closer(
    problem: StochasticObjective, theta: np.ndarray, scores: np.ndarray, residual: np.ndarray
) -> np.ndarray:
    """A dual point with a better bound at ``theta`` than ``residual`` has, or ``residual``.

    It has the slopes of the loss at the optimum, as one Newton step from ``theta`` predicts them;
    for a loss with a kink, as a few steps do, those of its means over windows that become ever
    narrower.  Their bound is computed by :meth:`StochasticObjective.bound`.
    """
    y, loss = problem.y, problem.loss
    best = problem.bound(theta, residual, scores).dual
    with np.errstate(invalid="ignore"):
        low = np.where(problem.upper > 0.0, loss.dual_lower * problem.upper, 0.0)
        high = np.where(problem.upper > 0.0, loss.dual_upper * problem.upper, 0.0)
    point, z = theta, y * scores
    for share in (1.0,) if problem.smooth else _BANDS:
        if problem.smooth:
            slopes, curvature = loss.derivative(z), loss.curvature(z)
        else:
            width = _nearest(np.abs(z - problem.kink), problem.upper, share)
            if not width > 0.0:
                break
            slopes = (loss.value(z + width) - loss.value(z - width)) / (2.0 * width)
            curvature = (loss.derivative(z + width) - loss.derivative(z - width)) / (2.0 * width)
        curvature = problem.upper * curvature
        trial = problem.upper * y * slopes
        step = _newton(problem, curvature, problem.penalty_gradient(point) + problem.adjoint(trial))
        along = problem.linear(step)
        trial += curvature * along
        trial = -y * np.clip(-y * trial, low, high)
        if not np.all(np.isfinite(trial)):
            break
        found = problem.bound(theta, trial, scores).dual
        if found > best:
            best, residual = found, trial
        point, z = point + step, z + y * along
    return residual


def _nearest(distance: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The distance within which a share of the weight lies."""
    order = np.argsort(distance)
    within = np.cumsum(weights[order])
    place = min(int(np.searchsorted(within, share * within[-1])), len(order) - 1)
    return float(distance[order[place]])


def _newton(
    problem: StochasticObjective, curvature: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """The Newton step; NaN where there is none."""
    if factorises(problem):
        try:
            return solve_positive(problem.hessian(curvature), -gradient)
        except np.linalg.LinAlgError:
            return np.full_like(gradient, np.nan)
    diagonal = problem.hessian_diagonal(curvature)
    # Where no row has any curvature, an intercept has none either.
    ridge = np.where(diagonal > 0.0, 0.0, 1e-8 * diagonal.max())
    return conjugate_gradients(
        lambda p: problem.hessian_product(curvature, p) + ridge * p,
        -gradient,
        diagonal + ridge,
        tol=1e-6,
        max_iter=_STEPS_OF_CG,
    )


def finalize(
    problem: StochasticObjective, solver: StochasticDescent, solution: Solution, max_passes: int
) -> Solution:
    """The solution of a run at the weights that are its answer, with their certificate.

    With rows held out these are the weights that were best on them, unless a certified optimum
    came first; with an average, where passes end when nothing is left to correct, the average.
    """
    start = time.perf_counter()
    state, run = solution.state, solution.certificate
    n_iter, theta = run.n_iter, solution.theta
    if problem.ends and run.status == "optimal" and not state.clean and n_iter < max_passes:
        # A check found the optimum before the pass that would have been clean.
        state = solver.step(problem, state, lambda: None)
        n_iter += 1
    if state.best is not None and run.status != "optimal":
        theta = state.best
    elif problem.ends and solver.average:
        theta = state.kept
    late = solution.interrupted or run.status in ("time_limit", "non_finite")
    worth = factorises(problem) or run.n_iter >= _LATE
    penalised = problem.penalty.strong_convexity > 0.0
    tighten = penalised and run.status != "optimal" and worth and not late
    if theta is solution.theta and not tighten:
        return replace(solution, certificate=replace(run, n_iter=n_iter))
    residual = scores = None
    if tighten:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scores = problem.linear(theta)
            residual = problem.upper * problem.y * state.multipliers
            residual = closer(problem, theta, scores, residual)
    found = moved_to(problem, solution, theta, n_iter, residual, scores)
    seconds = run.seconds + time.perf_counter() - start
    return replace(found, certificate=replace(found.certificate, seconds=seconds))


def moved_to(
    problem: LinearProblem,
    solution: Solution,
    theta: np.ndarray,
    n_iter: int,
    residual: np.ndarray | None = None,
    scores: np.ndarray | None = None,
) -> Solution:
    """A solution at other weights, with their certificate; the same where they overflow."""
    run = solution.certificate
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bound = problem.bound(theta, residual, scores)
        if not np.isfinite(bound.primal):
            return solution
        bound = problem.certify(theta, bound, run.tol, bound)
    dual = max(run.dual, bound.dual)
    certificate = Certificate.of(
        primal=bound.primal,
        dual=dual,
        tol=run.tol,
        status=run.status,
        n_iter=n_iter,
        seconds=run.seconds,
    )
    if certificate.relative_gap <= run.tol:
        certificate = replace(certificate, status="optimal")
    elif run.status == "optimal":
        # The last weights correct nothing; their average still would.
        certificate = replace(certificate, status="averaged")
    proof = solution.residual if dual == run.dual else bound.residual
    return replace(solution, theta=theta, residual=proof, certificate=certificate)


def one_pass(
    problem: LinearProblem,
    solver: Any,
    *,
    carried: ResumeState,
    tol: float,
    part: str = "",
    seed: Any = None,
) -> Solution:
    """A single pass over the rows, from ``problem.zero()``, that continues earlier ones.

    The answer is at its end, and not the best point on the way: other rows than these may have
    determined the weights.

    Parameters
    ----------
    problem : LinearProblem
    solver : Solver
        A method that visits single rows, with ``resumed`` and ``ended``.
    carried : ResumeState
        The results of the earlier calls.
    tol : float
        The relative gap for the certificate.
    part : str
        The name of this problem where it is one of several.
    seed : optional
        Anything that :func:`numpy.random.default_rng` takes; None is a fixed stream.

    Returns
    -------
    Solution
        The weights at the end of the pass, or their average, and the certificate on these rows.
        Where the arithmetic overflows, the weights from before the pass.
    """
    start = time.perf_counter()
    solver.requires(problem)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        state = solver.resumed(problem, carried, generator_of(seed))
        state = solver.step(problem, state, lambda: None)
        theta, scores = solver.ended(problem, state, carried)
        # Multipliers from one pass over rows that are partly new to the weights are of little use:
        # the slopes at the end are better.
        bound = problem.bound(theta, None, scores)
        if np.isfinite(bound.primal):
            bound = problem.certify(theta, bound, tol, bound)
    certificate = Certificate.of(
        primal=bound.primal,
        dual=bound.dual,
        gap=bound.gap,
        tol=tol,
        status="non_finite" if state.broken else solver.unfinished,
        n_iter=1,
        seconds=time.perf_counter() - start,
    )
    if certificate.relative_gap <= tol and not state.broken:
        certificate = replace(certificate, status="optimal")
    trace = Trace(part) if solver.record else None
    return Solution(theta, bound.residual, certificate, trace, state)


def natural_rate(problem: Visited, some: np.ndarray) -> float:
    """One over the mean squared length of some rows, with the constant of the intercept.

    A step of this rate moves the score of a row by about the slope of its loss.
    """
    squares = 0.0
    # A few rows at a time, because taking them copies them.
    height = max(1, (1 << 17) // max(1, problem.design.n_features))
    for start in range(0, len(some), height):
        squares += float(problem.design.take(some[start : start + height]).row_squares().sum())
    size = squares / len(some) + float(problem.fit_intercept) + problem.shrinkage
    return 1.0 / size if size > 0.0 else 1.0


def try_rates(
    problems: Sequence[Visited],
    schedule: Callable[[float], Schedule],
    rates: np.ndarray | None,
    *,
    batch_size: int = 1,
    average: Any = False,
    seed: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The objective of each learning rate on a sample of the visits (Bottou, 2012).

    Parameters
    ----------
    problems : sequence of StochasticObjective
        The problems, on the same design, one for each part.
    schedule : callable
        A function that gives the schedule for a rate.
    rates : ndarray or None
        The rates to try; by default eleven powers of four around one over the mean squared length
        of a row.
    batch_size, average
        As in :class:`StochasticDescent`.
    seed : optional
        Anything that :func:`numpy.random.default_rng` takes; None is a fixed stream.

    Returns
    -------
    rates, objective : ndarray of shape (n_rates,)
        The rates, and the objective of each: a mean over the visits of the sample, summed over the
        parts; ``inf`` where the steps diverged.
    """
    first = problems[0]
    rng = generator_of(seed)
    total = len(first.visits.rows)
    entries = first.design.n_stored / max(first.design.n_samples, 1)
    most = max(_LEAST_SAMPLE, int(_TRIAL_ENTRIES / max(entries, 1.0)))
    count = min(_TRIAL_VISITS, most, total)
    sample = first.visits.first(count, rng)
    passes = max(1, min(_MOST_PASSES, min(_LEAST_TRIAL, most) // count))
    if rates is None:
        with np.errstate(over="ignore"):
            rates = natural_rate(first, sample.rows) * 4.0 ** np.arange(-6.0, 5.0)
        rates = rates[np.isfinite(rates) & (rates > 0.0)]
    objective = np.zeros(len(rates))
    seed = int(rng.integers(2**31))
    shares = sample.shares if len(sample.shares) else np.ones(len(sample.rows))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for k, rate in enumerate(rates):
            solver = StochasticDescent(
                schedule(float(rate)), batch_size=batch_size, average=average
            )
            for problem in problems:
                # The generator of every rate is the same, so that all see the same rows.
                state = solver.init(problem, problem.zero(), generator_of(seed))
                state.visits, state.shares = sample.rows.copy(), sample.shares.copy()
                state.position = count
                while state.passes < passes and not state.broken:
                    solver.advance(problem, state, lambda: None, until=passes)
                if state.broken:
                    objective[k] = np.inf
                    break
                z = problem.argument(sample.rows, scores_of(problem, sample.rows, state.kept))
                w = problem.weights_of(state.kept)
                value = inner(shares, problem.loss.value(z)) / shares.sum()
                value += 0.5 * problem.shrinkage * inner(w, w)
                objective[k] += value if np.isfinite(value) else np.inf
    return rates, objective
