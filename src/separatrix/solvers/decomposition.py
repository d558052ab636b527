r"""Decomposition of the dual of a kernel machine, with second-order working sets.

With :math:`c_i = \alpha_i y_i` the dual of a loss whose conjugate is linear on its range (the
hinge) is a quadratic problem under a box and one equality,

.. math:: \min_c \tfrac12 c^\top K c + \ell_0 \sum_i y_i c_i \quad\text{subject to}\quad
    l_i \le c_i \le h_i, \ \sum_i c_i = 0 .

Without an intercept there is no equality: a further point at the origin has the coefficient that
makes up for the sum (:class:`separatrix.kernels.gram.AnchoredGram`).

Each step takes the coefficients that violate the conditions of optimality most, together with those
of the step before, and improves them two at a time (:mod:`separatrix.solvers.working_sets`).  Only
then is the gradient of the others brought up to date, by rows of the matrix that were computed all
at once.

The rows are in float32 and steer the steps.  A check computes the product :math:`Kc` anew in
float64, and the solver goes on from that exact gradient: what the rows are off by then weighs only
on the changes since, so that the gap falls below float32's precision all the same.  Should it not,
the rows are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.linear_algebra import inner
from separatrix.kernels.gram import FEW
from separatrix.kernels.matrix_rows import add_rows
from separatrix.kernels.objective import (
    KernelHardMarginObjective,
    KernelObjective,
    QuadraticDual,
)
from separatrix.kernels.running_error import RunningError
from separatrix.solvers.protocol import Candidate, Solver
from separatrix.solvers.working_sets import (
    CLOSER,
    FINEST,
    FLAT,
    PROMISE,
    SPARE,
    choose,
    ends,
    gap,
    improve,
    leaps,
)

# The number of coefficients in a working set: the more, the fewer steps, and the dearer each pair.
_WORKING_SET = 1024
_SMALLEST_SET, _LARGEST_SET = 64, 4096
# The part of the violation to which a working set of all coefficients is solved, since there are no
# others to be brought up to date.
_CLOSER_ALONE = 0.01
# The number of steps in which the estimated gap should halve; if not, a Newton step is tried.
_PATIENCE = 20
# The number of steps without any progress after which rounding is taken to be the cause; and the
# largest number of coefficients in a Newton step.
_FUTILE = 400
_LARGEST_LEAP = 500
# The number of pairs that a working set may take for each of its coefficients; and the number of
# ends that a Newton step may meet before it is taken as it is.
_PAIRS = 20
_ENDS = 100
# The number of rows from which a machine on a sample of them is fitted first; the number of rows
# for each row of the sample; and the gap and the largest number of steps of that fit.
_FORESEEN = 5_000
_COARSER = 8
_COARSE_GAP = 1e-2
_COARSE_STEPS = 200
# The number of rows from which those beyond their margin are left out of products in float64; the
# further move of the intercept that is allowed for; and the share of the rows with coefficients of
# zero that may be in doubt.
_LOOSE, _SHIFT, _MANY = 1500, 1e-3, 0.75
# The number of coefficients in the first working set, from which the sets double from step to step.
# The first are chosen blindly, and most of a large set's rows would be computed for nothing.
_FIRST = 128


@dataclass
class DecompositionState:
    """Coefficients and their gradient; updated in place, a working set at a time."""

    c: np.ndarray
    gradient: np.ndarray
    low: np.ndarray
    high: np.ndarray
    linear: np.ndarray
    rng: np.random.Generator
    dual: QuadraticDual
    # The coefficients of the sum with the largest violation, where there are several sums.
    group: np.ndarray | None = None
    working: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    # The relative gap by the gradient at hand, and by the last exact one.
    estimate: float = np.inf
    # The relative gap on a sample of the rows, while that is fitted first.
    sample_gap: float = np.nan
    exact: float = np.inf
    tol: float = 0.0
    violation: float = np.inf
    # The intercept, halfway between the steepest slopes up and down.
    level: float = np.inf
    pairs: int = 0
    # The number of coefficients inside their range.
    inside: int = 0
    steps: int = 0
    # The likely error of the gradient from the rounding of the rows since it was last exact; and a
    # bound of it, where rows beyond their margin count for nothing.
    drift: float = 0.0
    error: RunningError | None = None
    refreshed: int = -1000
    lost: int = 0
    # The estimate some steps ago, to see whether there is progress.
    mark: float = np.inf
    marked: int = 0
    # The least estimate so far, and when it last fell.
    least: float = np.inf
    lowered: int = 0
    # Whether the last check was expected to succeed; the steps with an estimate that promised it;
    # whether there was a check; and the number of such checks that found little progress.
    promised: bool = False
    spare: int = 0
    offered: bool = False
    stalls: int = 0
    hopeless: bool = False
    still: bool = False


class Decomposition(Solver):
    """Decomposition of the dual.  Needs rows of a Gram matrix and a conjugate without curvature.

    Parameters
    ----------
    working_set : int
        The number of coefficients that are improved between two updates of the whole gradient.
    """

    def __init__(self, working_set: int = _WORKING_SET) -> None:
        self.working_set = working_set

    def requires(self, problem: Any) -> None:
        if not hasattr(problem.design, "runs"):
            raise TypeError(f"Decomposition needs rows of a Gram matrix, not {problem.design!r}.")
        if problem.fit_intercept and not problem.balances:
            raise TypeError("Decomposition needs an unpenalised intercept, or none.")
        if problem.constrained or problem.loss is None:
            return
        loss = problem.loss
        probe = np.array([0.25, 0.5])
        signed = loss.dual_lower != (-loss.dual_upper if loss.of_residual else 0.0)
        if np.any(loss.dual_curvature(probe, np.ones(2)) != 0.0) or signed:
            raise TypeError(f"Decomposition needs a conjugate without curvature, not {loss!r}'s.")

    def init(
        self,
        problem: KernelObjective | KernelHardMarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> DecompositionState:
        if problem.matrix.cache.shape[1] <= 2 * self.working_set:
            problem.matrix.fill()
        dual = problem.quadratic()
        c = dual.begun(problem.weights_of(theta))
        gradient = dual.matrix.dot(c) + dual.linear
        flat = problem.flat and len(c) >= _LOOSE
        return DecompositionState(
            *(c, gradient, dual.low, dual.high, dual.linear, rng, dual),
            error=RunningError(problem.matrix) if flat else None,
        )

    def step(
        self, problem: Any, state: DecompositionState, check_interrupt: Callable[[], None]
    ) -> DecompositionState:
        gram = state.dual.matrix
        if state.steps == 0 and self._foresee(problem, state, check_interrupt):
            state.steps = 1
            return state
        working = self._choose(gram, state)
        if not len(working):
            state.still = True
            return state
        check_interrupt()
        q = len(working)
        slots, columns, block, ready = gram.within(working)
        check_interrupt()
        before = state.c[working]
        c, gradient = before.copy(), state.gradient[working]
        diagonal, most = gram.diagonal[working], _PAIRS * q
        done = improve(
            gram.cache,
            slots,
            columns,
            block,
            ready,
            gradient,
            c,
            state.low[working],
            state.high[working],
            diagonal,
            _flat(diagonal),
            (_CLOSER_ALONE if q == gram.n_samples else CLOSER) * state.violation,
            most,
            state.dual.of_first(working),
        )
        del block
        changed = np.flatnonzero(c != before)
        state.still = done == 0 or not len(changed)
        if len(changed):
            self._move(gram, state, working[changed], (c - before)[changed])
            state.c[working] = c
        state.pairs += int(done)
        state.steps += 1
        state.working = working
        self._survey(problem, state)
        if state.drift > state.violation:
            # The rows have been rounded so often that the gradient no longer steers.
            self._refresh(problem, state)
        self._hasten(problem, state, done == most, check_interrupt)
        return state

    def _hasten(
        self,
        problem: Any,
        state: DecompositionState,
        crawls: bool,
        check_interrupt: Callable[[], None],
    ) -> None:
        """Take a Newton step where pairs make little progress, and finer rows where there is none.

        ``crawls``: the last working set has used up its pairs.
        """
        gram = state.dual.matrix
        if state.estimate < 0.99 * state.least:
            state.least, state.lowered = state.estimate, state.steps
        elif state.steps - state.lowered >= _FUTILE:
            state.lowered = state.steps
            state.still = gram.exact
            gram.to_float64()
        late = state.steps - state.marked >= _PATIENCE
        leaps = False
        if crawls or (late and state.estimate > 0.5 * state.mark):
            leaps = self._leap(problem, state, check_interrupt)
        if late:
            state.mark = state.estimate
            # A Newton step that has helped may help again soon.
            state.marked = state.steps - (_PATIENCE - 2 if leaps else 0)

    def _move(
        self, gram: Any, state: DecompositionState, index: np.ndarray, changes: np.ndarray
    ) -> None:
        """Bring the gradient up to date with changes of some coefficients."""
        n = gram.n_samples
        # The row of an anchor is zero, so that its changes move no gradient.
        own = index < len(gram.columns)
        index, changes = index[own], changes[own]
        for start in range(0, len(index), gram.n_slots):
            part = slice(start, start + gram.n_slots)
            slots = gram.rows(index[part])
            args = (gram.cache, slots, changes[part], gram.runs, state.gradient)
            ranges = pool.ranges(n, float(len(slots)) * n)
            pool.run([partial(add_rows, *args, a, b) for a, b in ranges])
        if state.error is not None:
            state.error.add(index, changes)
        moved = gram.largest * changes
        state.drift += gram.relative_error * float(np.sqrt(inner(moved, moved)))

    def _refresh(self, problem: Any, state: DecompositionState) -> None:
        """Compute the gradient anew; rows are in float64 from then on if it was not long ago."""
        gram = state.dual.matrix
        if state.steps - state.refreshed <= _PATIENCE:
            state.lost = state.lost + 1 if gram.exact else 0
            gram.to_float64()
            if state.lost >= _PATIENCE:
                # The gradient does not steer in float64 either.
                state.still = True
        # The sum is balanced as in a check, which then needs no other product if nothing moves.
        state.dual.balance(state.c)
        self._renew(state)
        state.refreshed = state.steps
        self._survey(problem, state)

    @staticmethod
    def _renew(state: DecompositionState) -> np.ndarray:
        """Compute the gradient in float64; return the product of matrix and coefficients."""
        if state.error is not None:
            if np.any(state.dual.matrix.off_by(state.c) > 0.0):
                state.dual.matrix.forget()
            state.error.reset()
        product: np.ndarray = state.dual.matrix.dot(state.c)
        state.gradient, state.drift = product + state.linear, 0.0
        return product

    def _product(self, problem: Any, state: DecompositionState) -> np.ndarray:
        """The product in float64, except for rows that are surely beyond their margin.

        For these the product in the running gradient is near enough and costs nothing.
        """
        before, matrix = state.c.copy(), state.dual.matrix
        # Each pair of steps has left a rounding error in the sum.
        state.dual.balance(state.c)
        if state.error is not None:
            state.error.miss(np.abs(state.c - before))
        if state.error is None or state.error.is_rounding or not np.isfinite(state.level):
            return self._renew(state)
        near, radius = state.gradient - state.linear, state.error.radius()
        # The exact product may move the intercept by as much.
        shift = 0.5 * max(state.violation, 0.0) + _SHIFT
        wanted = problem.losing(near, 0.5 * (radius + shift), state.level)
        if np.count_nonzero(wanted & (state.c == 0.0)) > _MANY * np.count_nonzero(state.c == 0.0):
            return self._renew(state)
        product: np.ndarray = matrix.dot_beside(state.c, near, radius, wanted)
        state.gradient, state.drift = product + state.linear, 0.0
        return product

    def _leap(
        self, problem: Any, state: DecompositionState, check_interrupt: Callable[[], None]
    ) -> bool:
        """Minimise over all coefficients inside their range at once; return whether it helped.

        Two at a time they move slowly along valleys that are much longer than wide; a Newton step
        under the equality crosses them.  A coefficient that meets its end stays there, and the
        others go on.
        """
        gram = state.dual.matrix
        inside = (state.c < state.high) & (state.c > state.low)
        free = np.flatnonzero(inside if state.group is None else inside & state.group)
        if not 2 <= len(free) <= _LARGEST_LEAP:
            return False
        check_interrupt()
        m, matrix = len(free), gram.entries(free)
        at, before, start = np.arange(m), state.c[free], state.gradient[free]
        c, box = before.copy(), (state.low[free], state.high[free])
        runs = np.array([[0, m]], dtype=np.intp)
        flat = _flat(matrix.diagonal())
        leaps(matrix, at, at, runs, flat, m, _ENDS, start.copy(), c, *box, 0, m)
        changes = c - before
        if not inner(changes, start + 0.5 * (matrix @ changes)) < 0.0:
            return False
        self._move(gram, state, free, changes)
        state.c[free] = c
        self._survey(problem, state)
        return True

    def _foresee(
        self, problem: Any, state: DecompositionState, check_interrupt: Callable[[], None]
    ) -> bool:
        """Start from the coefficients that a machine on a sample of the rows predicts.

        A row that is short of its margin there starts at the upper end of its range, any other at
        zero.  Most of these are right, and need no working set.
        """
        gram, n = problem.matrix, problem.matrix.n_samples
        few = min(n // _COARSER, int(np.sqrt(0.5 * gram.n_slots * n)))
        if problem.constrained or gram.full or n < _FORESEEN or state.c.any() or few < 2:
            return False
        if state.dual.groups or problem.loss.of_residual or not problem.balances:
            # No row's loss is zero for the larger part of the rows.
            return False
        used = np.flatnonzero(problem.upper > 0.0)
        index = np.sort(state.rng.choice(used, size=min(few, len(used)), replace=False))
        if len(np.unique(problem.y[index])) < 2:
            return False
        part = problem.sample(index)
        coarse = self.init(part, part.zero(), state.rng)
        for _ in range(_COARSE_STEPS):
            self.step(part, coarse, check_interrupt)
            state.sample_gap = float(coarse.estimate)
            check_interrupt()
            if coarse.estimate <= _COARSE_GAP or coarse.still:
                break
        # These are already a point of the whole problem, in case there is no time for more.
        state.c[index] = np.clip(coarse.c, state.low[index], state.high[index])
        state.c[:] = _trimmed(state.c, problem.y * state.linear)
        check_interrupt()
        scores = gram.between(np.arange(n), index, coarse.c, coarse=True)
        check_interrupt()
        scores += problem.best_intercept(scores)
        c = _trimmed(-problem.residual(scores), problem.y * scores)
        state.c[:] = np.clip(c, state.low, state.high)
        state.gradient = gram.coarse_dot(state.c) + state.linear
        if state.error is not None:
            state.error.add(np.arange(n), state.c)
        self._survey(problem, state)
        state.sample_gap = np.nan
        return True

    def _working_set_size(self, gram: Any, state: DecompositionState) -> int:
        """The number of coefficients that the next working set may have."""
        # Coefficients inside their range move together: a set of only some of them goes in circles.
        wanted = min(max(self.working_set, 2 * state.inside), _LARGEST_SET)
        # The set's own block of the matrix takes no more than the cache does.
        fitting = int(np.sqrt(gram.n_slots * gram.cache.shape[1]))
        size: int = min(wanted, max(fitting, _SMALLEST_SET), gram.n_samples)
        if gram.full or size == gram.n_samples:
            return size
        return min(size, _FIRST << min(state.steps, 20))

    def _choose(self, gram: Any, state: DecompositionState) -> np.ndarray:
        """The worst violators at either end, half of them anew and half kept, in order.

        Where there are several sums, those of the first come first.
        """
        n, groups = len(state.c), state.dual.groups
        members: list[Any] = [np.flatnonzero(group) for group, _ in groups or ()] or [slice(0, n)]
        parts = [
            tuple(a[own] for a in (state.gradient, state.c, state.low, state.high))
            for own in members
        ]
        found = [ends(*part) for part in parts]
        worst = [highest - lowest for lowest, highest in found]
        state.violation = max(worst)
        if not state.violation > 0.0:
            return np.empty(0, dtype=np.intp)
        if groups:
            state.group = groups[int(np.argmax(worst))][0]
        size = self._working_set_size(gram, state)
        violators, kept = size, np.zeros(n, dtype=bool)
        size //= len(members)
        if violators < n:
            violators = max(1, (max(2, size // 2) if len(state.working) else size) // 2)
            kept[state.working] = True
        out = []
        for own, part, (lowest, highest) in zip(members, parts, found, strict=True):
            chosen = np.empty(len(part[0]), dtype=np.intp)
            if highest > lowest:
                m = choose(*part, lowest, highest, violators, kept[own], size, chosen)
                out.append(np.arange(n)[own][chosen[:m]])
        return np.concatenate(out)

    def _survey(self, problem: Any, state: DecompositionState) -> None:
        """Estimate the relative gap from the gradient at hand."""
        g, box, groups = state.gradient, (state.low, state.high), state.dual.groups
        state.inside = int(np.count_nonzero((state.low < state.c) & (state.c < state.high)))
        c = state.dual.matrix.fold(state.c)
        product = (g - state.linear)[: len(c)]
        if groups:
            found = [ends(*(a[group] for a in (g, state.c, *box))) for group, _ in groups]
            state.violation = max(*(highest - lowest for lowest, highest in found), 0.0)
            state.estimate, state.level = problem.survey(c, product)
            state.hopeless = problem.loss is None and problem.vanishes(c, product)
            return
        lowest, highest = ends(g, state.c, *box)
        if not (lowest < np.inf and highest > -np.inf):
            state.estimate, state.level = 0.0, np.inf
            return
        state.violation = highest - lowest
        state.level = -0.5 * (lowest + highest) if problem.balances else 0.0
        if problem.constrained:
            square = inner(c, product)
            margin, total = problem.margin(product + state.level), float(np.abs(c).sum())
            state.estimate = np.inf
            if margin > 0.0 and square > 0.0:
                primal, dual = 0.5 * square / margin**2, 0.5 * total * total / square
                state.estimate = max(primal - dual, 0.0) / primal
            state.hopeless = total > 0.0 and problem.vanishes(c, product)
            return
        # An anchor has no part in the gap.
        own = slice(0, len(g) - (not problem.balances))
        most = gap(g[own], state.c[own], box[0][own], box[1][own], -state.level)
        primal = most - 0.5 * inner(state.c, g + state.linear)
        state.estimate = most / primal if primal > 0.0 else (0.0 if most <= 0.0 else np.inf)

    def candidate(self, problem: Any, state: DecompositionState) -> Candidate:
        # The product makes the gradient exact again.
        product = self._product(problem, state)
        self._survey(problem, state)
        c = state.dual.matrix.fold(state.c)
        product = product[: len(c)]
        b = state.level if np.isfinite(state.level) else 0.0
        early = not state.promised and (state.offered or len(product) >= _FORESEEN)
        if early and not state.dual.groups and problem.balances:
            # Far from the optimum it pays to look for the best, though not at the very start of a
            # small problem, which is over before it could be stopped there.
            b = problem.best_intercept(product)
        if state.error is not None:
            loose = state.dual.matrix.off_by(state.c)
            if np.any(problem.losing(product, 0.5 * loose, b) & (loose > 0.0)):
                product = self._renew(state)
                b = problem.best_intercept(product)
        state.offered = True
        if state.promised:
            state.promised = False
            # A gap of half the last one is progress; a larger one is due to the rows' rounding.
            state.stalls = state.stalls + 1 if state.estimate >= 0.5 * state.exact else 0
            state.exact = state.estimate
            if state.stalls >= 2 and not problem.matrix.exact:
                problem.matrix.to_float64()
                state.stalls, state.exact = 0, np.inf
        theta = problem.join(c.copy(), b)
        return Candidate(theta, -c, product + b)

    def should_check(self, problem: Any, state: DecompositionState, tol: float) -> bool:
        state.tol = tol
        if state.estimate <= PROMISE * tol:
            state.spare += 1
        if problem.matrix.cache.shape[1] <= FEW and state.spare < SPARE:
            # At almost no cost, weighted and repeated rows agree to more digits than ``tol`` asks.
            tol *= 1e-6
        state.promised = (
            state.estimate <= max(PROMISE * tol, FINEST) or state.still or state.hopeless
        )
        return state.promised

    def sample_gap(self, state: DecompositionState) -> float:
        return state.sample_gap

    def outlook(self, problem: Any, state: DecompositionState) -> float:
        """The relative gap by the running gradient."""
        return float(state.estimate)

    def stopped(self, problem: Any, state: DecompositionState) -> str | None:
        if not problem.convex and state.estimate <= max(state.tol, 1e-12):
            return "indefinite"
        if state.hopeless:
            met: str = problem.met
            return met
        if problem.matrix.exact and (state.stalls >= 3 or state.still):
            return "precision_limit"
        if state.still:
            # Nothing moves with rows in float32.
            problem.matrix.to_float64()
            self._renew(state)
        return None


def _flat(diagonal: np.ndarray) -> float:
    """The least curvature that is not due to rounding."""
    return max(FLAT * float(np.abs(diagonal).max()), 1e-320)


def _trimmed(c: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Coefficients of sum zero: those of the heavier sign give way, from the margin inwards."""
    excess = float(c.sum())
    side = np.flatnonzero(c > 0.0 if excess > 0.0 else c < 0.0)
    side = side[np.argsort(-margins[side], kind="stable")]
    before = np.cumsum(np.abs(c[side])) - np.abs(c[side])
    c = c.copy()
    c[side] -= np.sign(excess) * np.clip(abs(excess) - before, 0.0, np.abs(c[side]))
    return c
