r"""A quasi-Newton method for smooth losses with few parameters and many rows.

The Hessian of a sample of the rows is factorised once, a few times as many rows as there are
parameters, and stands in for that of all of them (sub-sampled Newton methods; Byrd, Chin, Neveitt
and Nocedal, 2011; Erdogdu and Montanari, 2015).  Its errors are corrected from the gradients: it
is the first matrix of the limited-memory BFGS formula (Nocedal, 1980).  An iteration then costs
one pass over the data, which gives the value, the gradient and the certificate alike.

It starts from the optimum on the sample, found in the same way on a sample of the sample.  Where
there are too few rows to leave any out, and a Hessian costs as much as many passes, the first
steps take its diagonal instead, beside the part that rows have in common, scaled by the curvature
that the last step has found (Liu and Nocedal, 1989):  where columns are nearly independent, or the
loss is weak beside the penalty, they reach the optimum before a Hessian would be formed.  Where the
rate at which they close the gap promises less, it is formed at the point reached.  The search for
the optimum on a sample is such a case, too, and all rows go on with its scaled diagonal; the
Hessian that they may then need is that of a sample again.

Where the steps stop paying, the Hessian is formed anew at the point reached, on four times the
rows; on all of them the method is Newton's.  Where that costs no more than a pass or two, and the
steps close the gap slowly, it becomes Newton's at once.

Without a penalty the gap is not known from the gradient's length, but from the expected gain of a
step by the matrix at hand, and the bound needs the Hessian of all rows.  That is formed once, where
the steps come to their end: it gives the remaining gain, and shows whether the loss falls for ever
along the next step; and the bound uses it.  It is formed before, too, where the passes so
far have cost as much as it does.

Along a path of strengths the loss at the end of one fit is known with its gradient, and so is that
gradient at every other ``C``: the next fit begins with a step of Newton's method from there, by the
Hessian of the fit before.  That is brought up to date by the steps since it was formed, and by the
way that the path has gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from separatrix._compiled.linear_algebra import Factor, conjugate_gradients, factorise, inner
from separatrix._compiled.pool import with_one_blas_thread
from separatrix.certificate import NO_OPTIMUM
from separatrix.objectives.base import DENSE_HESSIAN, Objective
from separatrix.solvers import forecast
from separatrix.solvers.descent import (
    Common,
    Descent,
    Point,
    bfgs_update,
    column_scale,
    descent_direction,
    line_step,
    norm,
    optimum_of_sample,
    penalty_diagonal,
)
from separatrix.solvers.newton import receding
from separatrix.solvers.protocol import require_smooth

# For a Hessian too large to factorise: the tolerance of systems with it, and their largest number
# of products.
_TIGHT, _PRODUCTS = 1e-4, 100
# The number of last steps whose rate is expected to be that of further steps with a diagonal.
_TRIED = 4


@dataclass(frozen=True)
class QuasiNewtonState(Point):
    """The state of the method."""

    factor: Factor | _Iterated | _Diagonal | None = None
    # The factorised matrix, where it is small enough to be kept for a fit at another strength.
    hessian: np.ndarray | None = None
    # The sum of the curvatures of the rows there, at ``C = 1``.
    curvature: float = 0.0
    # The number of rows from which the factor was formed.
    rows: int = 0
    rng: Any = None
    pairs: tuple[tuple[np.ndarray, np.ndarray, float], ...] = ()
    # The number of steps since the factor that did little; and the number of all steps.
    slow: int = 0
    steps: int = 0
    # Whether steps are Newton's.
    exact: bool = False


@dataclass(frozen=True)
class _Kept:
    """The loss and its derivatives at the end of a fit, at ``C = 1``, for a fit at another ``C``.

    ``curvature`` is the sum of the curvatures of the rows, and ``rows`` the number of rows from
    which the Hessian was formed.
    """

    theta: np.ndarray
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray
    curvature: float
    rows: int

    def matrix(self, problem: Objective) -> np.ndarray:
        """The Hessian of the problem, penalty included."""
        out = problem.C * self.hessian
        out.flat[:: len(out) + 1] += penalty_diagonal(problem)
        return out


@dataclass(frozen=True)
class _Iterated:
    """A Hessian too large to factorise: systems are solved by conjugate gradients.

    It is that of a sample, with its columns scaled so that its diagonal is that of all rows: a
    sample has none of the rows of a rare column, or too many of them.
    """

    problem: Objective
    curvature: np.ndarray
    diagonal: np.ndarray
    scale: np.ndarray
    lacking: np.ndarray

    @classmethod
    def of(
        cls, part: Objective, curvature: np.ndarray, exact: np.ndarray | None = None
    ) -> _Iterated:
        """The Hessian of a part, with the diagonal of the whole where that is known."""
        own = part.hessian_diagonal(curvature)
        diagonal = own if exact is None else exact
        penalty = np.broadcast_to(part._penalty_curvature(), own.shape)
        of_part, of_all = own - penalty, np.maximum(diagonal - penalty, 0.0)
        scale, there = column_scale(of_part, of_all)
        lacking = np.where(there, 0.0, of_all)
        return cls(part, curvature, np.where(diagonal > 0.0, diagonal, 1.0), scale, lacking)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """The solution ``x`` of ``hessian x = rhs``, to a tight tolerance.

        The formula needs it, since it takes the matrix to be the same each time.
        """
        shape, part = self.problem.shape, self.problem
        penalty = part._penalty_curvature()

        def product(x: np.ndarray) -> np.ndarray:
            x = x.reshape(shape)
            scaled = self.scale * x
            loss = part.hessian_product(self.curvature, scaled) - penalty * scaled
            out = self.scale * loss + (self.lacking + penalty) * x
            return np.asarray(out.ravel())

        diagonal = self.diagonal.ravel()
        return conjugate_gradients(product, rhs, diagonal, tol=_TIGHT, max_iter=_PRODUCTS)


@dataclass(frozen=True)
class _Diagonal:
    """The diagonal of a Hessian, times the curvature that the last step has found beside it.

    ``gaps``: the gaps of the points so far, from the first one on.
    """

    diagonal: Common
    scale: float
    gaps: tuple[float, ...]

    @classmethod
    def of(cls, problem: Objective, state: QuasiNewtonState, gap: float) -> _Diagonal:
        curvature = problem.curvature(state.scores)
        diagonal = problem.hessian_diagonal(curvature).ravel()
        return cls(Common.of(problem, curvature, diagonal), 1.0, (gap,))

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        return self.diagonal.solve(rhs) / self.scale

    def after(self, pairs: tuple[tuple[np.ndarray, np.ndarray, float], ...], gap: float) -> Self:
        """The diagonal after another step."""
        scale = self.scale
        if pairs:
            _, y, product = pairs[-1]
            flat = y.ravel()
            scale = inner(flat, self.diagonal.solve(flat)) / product
        return replace(self, scale=scale, gaps=(*self.gaps, gap))

    def left(self, goal: float) -> float:
        """The expected number of steps until the gap is at the goal."""
        gap, count = self.gaps[-1], min(_TRIED, len(self.gaps) - 1)
        if not gap > goal:
            return 0.0
        rate = math.log(self.gaps[-1 - count] / gap) / count
        return math.log(gap / goal) / rate if rate > 0.0 else math.inf


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of the quasi-Newton method, which affect its speed only.

    Parameters
    ----------
    rows : int
        The number of rows in a sample for each parameter: the Hessian is then right to a third or
        so.
    cheap : float
        The number of multiplications for each stored entry up to which a Hessian counts as no more
        than a pass or two.
    blocks : float
        The factor by which the multiplications of a factorisation are faster.
    near : float
        The optimum is near once the expected decrease is less than this part of the objective.
    closer : float
        Near the optimum, passes are the shorter way if a step leaves less of the gap than this;
        where this and `far` are infinite, steps never become Newton's.
    far : float
        Far from the optimum, passes are the shorter way if a step leaves less of the gap than this.
    memory : int
        The number of pairs of steps and differences of gradients that are remembered.
    large : float
        The number of stored entries from which a sample is worth its overhead.
    settling : float
        The factor of `large` where rows without curvature lessen the steps of Newton's method.
    dear : float
        The number of passes that a Hessian has to cost to wait for steps with its diagonal;
        infinite for none that does.
    left : float
        The number of passes that are left once there is a Hessian.
    goal : float
        The relative gap to which passes are counted.
    sure : float
        Without a penalty, the Hessian of all rows is formed once the expected gain by the matrix of
        a sample is at most this part of the tolerance.
    fewest : float
        Without a penalty, the least number of passes that a Hessian has to cost for a sample to be
        worth the risk that it misleads.
    gone : float
        A curvature below this part of the usual one is as good as none.
    most_kept : int
        The largest number of parameters whose Hessian is kept for a fit at another strength: 8 MB.
    """

    rows: int = 12
    cheap: float = 20.0
    blocks: float = 40.0
    near: float = 0.01
    closer: float = 0.02
    far: float = 0.3
    memory: int = 12
    large: float = 100_000
    settling: float = 4.0
    dear: float = forecast.DEAR
    left: float = 6.0
    goal: float = 1e-6
    sure: float = 0.3
    fewest: float = 2.0
    gone: float = 0.3
    most_kept: int = 1000


class QuasiNewton(Descent):
    """L-BFGS from the factorised Hessian of a sample.

    Needs curvature, and a quadratic penalty or few parameters of rows in memory.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    name = "quasi-newton"

    # The results of a fit at another strength.
    _kept: _Kept | None = None

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning

    @with_one_blas_thread
    def kept(self, problem: Objective, state: QuasiNewtonState) -> _Kept | None:
        """The loss and its derivatives at the end of a fit.

        The Hessian is updated by the steps since it was formed, the first of which is the way from
        the end of the fit before.
        """
        if state.hessian is None or not problem.penalty.coercive:
            return None
        C, penalty = problem.C, penalty_diagonal(problem)
        curvature = float(problem.curvature(state.scores).sum()) / C
        if not (curvature > 0.0 and state.curvature > 0.0):
            return None
        hessian = state.hessian / C
        hessian.flat[:: len(hessian) + 1] -= penalty / C
        # Where margins have grown, all curvatures have decreased.
        hessian *= curvature / state.curvature
        theta = state.theta.ravel()
        gradient = (state.gradient.ravel() - penalty * theta) / C
        before = self._kept
        if before is not None:
            bfgs_update(hessian, theta - before.theta, gradient - before.gradient)
        for s, y, _ in state.pairs:
            bfgs_update(hessian, s.ravel(), (y.ravel() - penalty * s.ravel()) / C)
        loss = float(state.evaluation.loss) / C
        return _Kept(theta, loss, gradient, hessian, curvature, state.rows)

    def continued(self, kept: _Kept) -> Self:
        twin = copy(self)
        twin._kept = kept
        return twin

    def _resumed(self, problem: Objective, rng: Any) -> QuasiNewtonState | None:
        """The state after a Newton step from the end of the fit before, with its gradient."""
        kept = self._kept
        if kept is None or len(kept.theta) != math.prod(problem.shape):
            return None
        hessian = kept.matrix(problem)
        factor = factorise(hessian)
        gradient = problem.C * kept.gradient + penalty_diagonal(problem) * kept.theta
        theta = (kept.theta - factor.solve(gradient)).reshape(problem.shape)
        state = QuasiNewtonState.at(problem, theta, rng=rng, factor=factor, rows=kept.rows)
        there = problem.penalty_value(kept.theta.reshape(problem.shape))
        if not state.value <= problem.C * kept.loss + there:
            return None
        return replace(state, hessian=hessian, curvature=kept.curvature)

    def requires(self, problem: Objective) -> None:
        require_smooth(problem, "The quasi-Newton method")
        if problem.penalty.quadratic:
            return
        few = not problem.output_shape and int(np.prod(problem.shape)) <= DENSE_HESSIAN
        if problem.penalty.coercive or problem.penalty.kinked or not few:
            raise TypeError(
                "The quasi-Newton method needs a smooth penalty of positive curvature, or none for "
                f"up to {DENSE_HESSIAN:,} parameters."
            )

    def pays(self, problem: Objective) -> bool:
        """Whether there are rows to leave out, and parameters few enough to factorise."""
        try:
            self.requires(problem)
        except TypeError:
            return False
        n, rows = problem.design.n_samples, self._sample_size(problem)
        if problem.output_shape:
            few = problem.penalty.ridge and int(np.prod(problem.shape)) <= DENSE_HESSIAN
            return few and rows < n and forecast.sample_serves_outputs(problem, rows / n)
        large = self.tuning.large * (1.0 if problem.loss.unattained else self.tuning.settling)
        if problem.design.n_stored < large:
            return False
        if (
            not problem.penalty.coercive
            and forecast.hessian_in_passes(problem) < self.tuning.fewest
        ):
            return False
        # The sample's Gram matrix may cost some dozens of passes, in the blocks of BLAS.
        return rows < n and rows * problem.design.gram_cost <= (600.0 * n * problem.design.n_stored)

    # BLAS is used for small systems only; its threads would go on waiting on the cores that
    # the passes need.
    @with_one_blas_thread
    def init(
        self,
        problem: Objective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> QuasiNewtonState:
        rows = self._sample_size(problem)
        start = partial(QuasiNewtonState.at, problem, theta, rng=rng)
        resumed = self._resumed(problem, rng)
        if resumed is not None:
            return resumed
        # For data in passes all rows may be such a part, which is then in memory.
        part = problem if theta.any() else problem.some(rows, rng)
        if part is problem:
            # The factor comes with the first step.
            return start()
        small = self.init(part, theta, rng)
        # The optimum of a sample is found once steps gain no more than it varies by.
        enough = 0.05 * math.prod(problem.shape) / rows
        small = optimum_of_sample(self, part, small, 20, enough, problem.check_interrupt)
        if not problem.penalty.coercive and self._misleads(part, theta, small):
            return start(exact=True)
        # A Hessian at the sample's optimum, where it costs no more than a pass or two.
        n = problem.design.n_samples
        cheap = rows * problem.design.gram_cost <= 20.0 * n * problem.design.n_stored
        if problem.in_passes or cheap:
            small = self._with_factor(part, small, rows)
        # The sample's rows are not needed beside vectors of the length of the data.
        del part
        fitted = {"rng": rng, "factor": small.factor, "rows": small.rows}
        state = QuasiNewtonState.at(problem, small.theta, **fitted)
        return state if state.value < problem.null_loss() else start()

    def _misleads(self, part: Objective, start: np.ndarray, state: QuasiNewtonState) -> bool:
        """Whether a sample's optimum is far off for lack of rows, where no penalty holds it.

        The curvature along some column is then gone, and along the others is not: its rows in the
        sample are of one class.
        """
        if state.status in NO_OPTIMUM:
            return True
        first = part.hessian_diagonal(part.curvature(part.linear(start)))
        last = part.hessian_diagonal(part.curvature(state.scores))
        if not np.all(first > 0.0):
            return True
        return bool(np.min(last / first) < self.tuning.gone * np.median(last / first))

    def _sample_size(self, problem: Objective) -> int:
        n = problem.design.n_samples
        # Where a Gram matrix costs little more than a pass, more of them pay.
        cheap = int(2.0 * n * problem.design.n_stored / max(problem.design.gram_cost, 1.0))
        rows = max(self.tuning.rows * problem.shape[0], n // 16, cheap)
        if not problem.in_passes and int(np.prod(problem.shape)) <= DENSE_HESSIAN:
            # The factorisation takes as long for few rows as for all: as many rows as make a Gram
            # matrix of the same cost lengthen an iteration little, and save further ones.
            level = forecast.factorisation(problem) / max(forecast.gram(problem), 1.0)
            rows = max(rows, int(n * min(level, 1.0)))
        return n if 3 * rows > n else rows

    def _begins_with_diagonal(self, problem: Objective) -> bool:
        """Whether a Hessian, which would be of all rows, costs as much as many passes."""
        if int(np.prod(problem.shape)) > DENSE_HESSIAN or problem.output_shape:
            return False
        if problem.in_passes or self._sample_size(problem) < problem.design.n_samples:
            return False
        if not problem.penalty.coercive:
            return False
        return forecast.hessian_in_passes(problem) >= self.tuning.dear

    def _with_factor(
        self, problem: Objective, state: QuasiNewtonState, rows: int
    ) -> QuasiNewtonState:
        """The state with a new factor, from ``rows`` rows, and nothing remembered."""
        n = problem.design.n_samples
        part = problem.some(min(rows, n), state.rng)
        scores = state.scores if part is problem else part.linear(state.theta)
        curvature = part.curvature(scores)
        factor: Factor | _Iterated
        hessian = None
        if int(np.prod(part.shape)) <= DENSE_HESSIAN:
            hessian = part.step_hessian(curvature)
            factor = factorise(hessian)
            # In passes a fit has no curvatures at hand to rescale it by.
            if problem.in_passes or len(hessian) > self.tuning.most_kept:
                hessian = None
        else:
            exact = None
            if part is not problem:
                exact = problem.hessian_diagonal(problem.curvature(state.scores))
            factor = _Iterated.of(part, curvature, exact)
        rows = n if part is problem else rows
        total = 0.0 if hessian is None else float(curvature.sum()) / problem.C
        state = replace(state, factor=factor, rows=rows, pairs=(), slow=0)
        return replace(state, hessian=hessian, curvature=total)

    @staticmethod
    def _direction(state: QuasiNewtonState) -> np.ndarray:
        """Minus the inverse of the remembered Hessian times the gradient, in two loops."""
        assert state.factor is not None
        q = -state.gradient
        shares = []
        for s, y, product in reversed(state.pairs):
            share = inner(s, q) / product
            shares.append(share)
            q = q - share * y
        q = state.factor.solve(q.ravel()).reshape(q.shape)
        for (s, y, product), share in zip(state.pairs, reversed(shares), strict=True):
            q = q + (share - inner(y, q) / product) * s
        return q

    def _renewed(self, problem: Objective, state: QuasiNewtonState) -> QuasiNewtonState:
        """The state with a factor of the Hessian that the next step can use."""
        n = problem.design.n_samples
        if state.exact:
            # It may have been formed at the end of the last step.
            current = not state.pairs and state.factor is not None and state.rows >= n
            return state if current else self._with_factor(problem, state, n)
        if state.factor is None:
            if self._begins_with_diagonal(problem):
                diagonal = _Diagonal.of(problem, state, self.gap(problem, state))
                return replace(state, factor=diagonal)
            return self._with_factor(problem, state, self._sample_size(problem))
        if isinstance(state.factor, _Diagonal):
            if len(state.factor.gaps) > _TRIED:
                left = state.factor.left(self.tuning.goal * abs(state.value))
                rows = self._sample_size(problem)
                if left > forecast.hessian_in_passes(problem, rows / n) + self.tuning.left:
                    # Its first slow step is not counted.
                    return replace(self._with_factor(problem, state, rows), slow=-1)
        elif state.slow >= 2:
            rows = 4 * state.rows if problem.penalty.coercive else n
            return self._with_factor(problem, state, rows)
        return state

    @with_one_blas_thread
    def step(
        self, problem: Objective, state: QuasiNewtonState, check_interrupt: Callable[[], None]
    ) -> QuasiNewtonState:
        state = self._renewed(problem, state)
        check_interrupt()
        direction, slope = descent_direction(state, self._direction(state))
        # The diagonal gives no length for its first step.
        whole = not isinstance(state.factor, _Diagonal) or bool(state.pairs)
        new, t = line_step(
            problem, state, direction, slope, check_interrupt, steepest=0.9, whole=whole
        )
        if t == 0.0:
            return new
        s, y = new.theta - state.theta, new.gradient - state.gradient
        product = inner(s, y)
        pairs = state.pairs
        if product > 1e-12 * norm(s) * norm(y):
            pairs = (*pairs, (s, y, product))[-self.tuning.memory :]
        if isinstance(state.factor, _Diagonal):
            factor = state.factor.after(pairs, self.gap(problem, new))
            return replace(new, factor=factor, pairs=pairs)
        # Expected decreases that do not halve, or a step cut short: the Hessian at hand is wrong.
        slow = state.slow + int(-slope > state.decrement or t < 0.1)
        new = replace(new, pairs=pairs, slow=slow, steps=state.steps + 1)
        if not problem.penalty.coercive:
            return self._looked_ahead(problem, new)
        if state.exact or not self._is_cheap(problem):
            return new
        near = t == 1.0 and -slope <= self.tuning.near * abs(new.value)
        share = self.tuning.closer if near else self.tuning.far
        return replace(new, exact=not self.gap(problem, new) < share * self.gap(problem, state))

    def _looked_ahead(self, problem: Objective, state: QuasiNewtonState) -> QuasiNewtonState:
        """The state with the Hessian of all rows, where that is due without a penalty.

        It then has the expected gain, and a status where the loss falls for ever.
        """
        status = state.status or receding(problem, state.scores, state.value)
        near = self.gap(problem, state) <= self.tuning.sure * self.tol * abs(state.value)
        due = state.exact or near or state.steps >= forecast.hessian_in_passes(problem)
        if not due or status in NO_OPTIMUM:
            return replace(state, status=status)
        state = self._with_factor(problem, state, problem.design.n_samples)
        direction = self._direction(state)
        slope = inner(state.gradient, direction)
        status = status or receding(problem, state.scores, state.value, direction, slope)
        return replace(state, exact=True, status=status)

    def _is_cheap(self, problem: Objective) -> bool:
        """Whether the Hessian of all rows costs no more than a pass or two."""
        cost = problem.design.gram_cost + problem.shape[0] ** 3 / self.tuning.blocks
        return cost <= self.tuning.cheap * problem.design.n_stored

    def gap(self, problem: Objective, state: QuasiNewtonState) -> float:
        """Return the gap with the slopes as dual point.

        Without a penalty, it is the gain of a step that the matrix at hand predicts.
        """
        if problem.penalty.coercive:
            return super().gap(problem, state)
        if state.factor is None:
            return math.inf
        return -0.5 * inner(state.gradient, self._direction(state))

    def should_check(self, problem: Objective, state: QuasiNewtonState, tol: float) -> bool:
        if not problem.penalty.coercive:
            return state.exact and self.gap(problem, state) <= tol * abs(state.value)
        return super().should_check(problem, state, tol)
