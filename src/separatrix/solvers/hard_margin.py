r"""The largest margin between two classes, on as few rows as it takes.

Few rows touch the widest band between two classes.  A pool of rows is kept; its own largest
margin is found exactly (:mod:`separatrix.solvers.active_set_qp`), which bounds that of all rows;
then the margins of all rows are evaluated, the worst offenders join the pool, and so on until there
are none.

Where there are many features the rows that matter are many too, and are found first by dual
coordinate descent, whose multipliers show which they are long before it has converged.
Where they are too many even to factorise, descent goes on to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.compilation import scalar
from separatrix._compiled.rounding import EPS
from separatrix.data.design import Design
from separatrix.losses import Hinge
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import dual_descent
from separatrix.solvers.active_set_qp import Pool
from separatrix.solvers.driver import Solution, minimise
from separatrix.solvers.dual_descent import DualDescent, DualDescentState
from separatrix.solvers.protocol import Candidate, Solver, require_parts

# --- the dual of the constraints, as dual coordinate descent takes it ------------------------


@scalar
def _step(a, z, q, upper):
    return max(a + (1.0 - z) / q, 0.0)


@scalar
def _gap(a, z, upper):
    return a * abs(z - 1.0)


class _Constraint(Hinge):
    """A hinge that is infinitely steep: 0 from margin 1 on.  Multipliers have no upper end."""

    dual_upper = np.inf
    dual_step = staticmethod(_step)
    gap_at = staticmethod(_gap)


def _dual_of(problem: HardMarginObjective) -> MarginObjective:
    return MarginObjective(
        problem.design,
        problem.y,
        _Constraint(),
        weights=problem.upper,
        fit_intercept=problem.fit_intercept,
        intercept_penalty=problem.intercept_penalty,
    )


# --- rows in play --------------------------------------------------------------------------------


class _RowPool(Pool):
    """A pool that knows which rows of a problem are in it.

    Parameters
    ----------
    problem : HardMarginObjective
    numbers : ndarray of int
        The first rows.
    alone : bool
        Whether no other rows will join.
    """

    def __init__(
        self, problem: HardMarginObjective, numbers: np.ndarray, alone: bool = False
    ) -> None:
        self.problem = problem
        d = problem.design.n_features
        self._columns: np.ndarray | None = None
        if sp.issparse(problem.design.matrix):
            # Columns without an entry have no weight: they need not be written out.
            part = problem.design.take(numbers if alone else problem.used)
            self._columns = np.unique(part.matrix.indices)
            d = len(self._columns)
        self._width = d
        self.origin = np.zeros(d)
        self.entry = 0.0
        if problem.balances:
            # The origin is free: in the middle of the rows, differences lose the fewest digits.
            rows = self._read(numbers)
            self.origin = rows.mean(axis=0, dtype=np.float64)
            squares = np.square(rows - self.origin).sum(axis=1)
            self.entry = float(np.sqrt(squares.mean())) or 1.0
        elif problem.fit_intercept:
            self.entry = 1.0 / float(np.sqrt(problem.intercept_penalty))
        super().__init__(d + int(problem.fit_intercept), self.entry if problem.balances else 0.0)
        self.numbers = np.zeros(0, dtype=np.intp)
        self.take(numbers)

    def _read(self, numbers: np.ndarray) -> np.ndarray:
        matrix = self.problem.design.take(numbers).matrix
        if self._columns is not None:
            return matrix[:, self._columns].toarray()
        return matrix

    def take(self, numbers: np.ndarray) -> None:
        """Add more rows."""
        y = self.problem.y[numbers]
        rows = np.empty((len(numbers), self.rows.shape[1]))
        rows[:, : self._width] = self._read(numbers)
        rows[:, : self._width] -= self.origin
        rows[:, self._width :] = self.entry
        rows *= y[:, None]
        self.numbers = np.concatenate([self.numbers, numbers])
        self.join(rows, y)

    def keep(self, size: int) -> np.ndarray:
        kept = super().keep(size)
        self.numbers = self.numbers[kept]
        return kept

    def all_multipliers(self) -> np.ndarray:
        """The multipliers of all rows of the problem."""
        out = np.zeros(self.problem.design.n_samples)
        out[self.numbers] = self.multipliers()
        return out

    @property
    def weights(self) -> np.ndarray:
        if self._columns is None:
            return self.u[: self._width]
        out = np.zeros(self.problem.design.n_features)
        out[self._columns] = self.u[: self._width]
        return out

    @property
    def penalised_intercept(self) -> float:
        return float(self.u[-1]) * self.entry if self.problem.intercept_penalty > 0.0 else 0.0


# --- the solver --------------------------------------------------------------------------------


@dataclass
class HardMarginState:
    """The point with its multipliers, and the method that finds the next; updated in place.

    There is a ``descent`` until a ``pool`` takes over.
    """

    theta: np.ndarray
    scores: np.ndarray
    margin: float
    alpha: np.ndarray
    descent: DualDescentState | None = None
    passes: int = 0
    support: int = 0
    shortfalls: list[float] = field(default_factory=list)
    pool: _RowPool | None = None
    status: str | None = None


@dataclass(frozen=True)
class Tuning:
    """The tuning parameters of the hard margin, which affect its speed but not its optimum.

    Parameters
    ----------
    batch : int
        The least number of rows that join the pool at a time.
    batch_share : int
        The number of further rows that join for each parameter.
    few : int
        The largest number of rows at margin 1 with which the active-set method begins by itself.
    passes : float
        The largest cost, in passes over the data, for which it begins by itself with more rows.
    face_entries : float
        The largest number of entries of a face with which it takes over from dual descent.
    face_work : float
        The largest number of multiplications of such a face's factorisation.
    suspects : int
        The number of rows that are searched for a contradiction among themselves.
    patience : int
        The number of passes after which descent ends if it has found no plane, or comes no nearer
        to a margin.
    descent : dual_descent.Tuning
        The tuning parameters of the passes of dual descent.
    """

    batch: int = 64
    batch_share: int = 2
    few: int = 200
    passes: float = 50
    face_entries: float = 1e7
    face_work: float = 1e10
    suspects: int = 50
    patience: int = 3000
    descent: dual_descent.Tuning = dual_descent.Tuning()


class HardMargin(Solver):
    """An active-set method on a pool of rows, with a start by dual descent where rows are many.

    Needs constraints on margins (:class:`HardMarginObjective`) and rows to take.

    Parameters
    ----------
    tuning : Tuning
        The tuning parameters, which affect the speed.
    """

    def __init__(self, tuning: Tuning = Tuning()) -> None:
        self.tuning = tuning
        self._descent = DualDescent(tuning.descent)

    def requires(self, problem: HardMarginObjective) -> None:
        require_parts("The hard margin", (problem, "margin"), (problem.design, "take"))

    def init(
        self,
        problem: HardMarginObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> HardMarginState:
        scores = problem.linear(theta)
        state = HardMarginState(
            theta, scores, problem.margin(scores), np.zeros(problem.design.n_samples)
        )
        most = min(len(problem.used), problem.shape[0])
        alone = 40.0 * most**2 * problem.shape[0] <= self.tuning.passes * problem.design.n_stored
        if most > self.tuning.few and not alone:
            # A row of zeros has no margin without an intercept, and its multiplier no end.
            squares = problem.design.row_squares()
            if problem.fit_intercept or squares[problem.used].all():
                state.descent = self._descent.init(_dual_of(problem), theta, rng)
                return state
        state.pool = _RowPool(problem, self._first_rows(problem))
        return state

    def step(
        self,
        problem: HardMarginObjective,
        state: HardMarginState,
        check_interrupt: Callable[[], None],
    ) -> HardMarginState:
        if state.pool is not None:
            self._solve_pool(problem, state, state.pool, check_interrupt)
        else:
            assert state.descent is not None
            self._descend(problem, state, state.descent, check_interrupt)
        return state

    # --- few rows at the margin ----------------------------------------------------------------

    def _batch(self, problem: HardMarginObjective) -> int:
        return self.tuning.batch + self.tuning.batch_share * problem.shape[0]

    def _first_rows(self, problem: HardMarginObjective) -> np.ndarray:
        """Choose the rows of each class nearest to the other class along the line of the means."""
        used, y = problem.used, problem.y
        classes = [used[y[used] == sign] for sign in (1.0, -1.0)]
        share = np.zeros_like(y)
        for part in classes:
            share[part] = y[part] / max(len(part), 1)
        z = y * problem.design.dot(problem.design.t_dot(share))
        batch = self._batch(problem)
        return np.concatenate([_smallest(z[part], batch, part) for part in classes])

    def _solve_pool(
        self,
        problem: HardMarginObjective,
        state: HardMarginState,
        pool: _RowPool,
        check_interrupt: Callable[[], None],
    ) -> None:
        try:
            pool.solve(check_interrupt)
        finally:
            # Also where the time is up in the middle: the multipliers give a bound at any moment.
            state.alpha = pool.all_multipliers()
        if pool.ray is not None:
            # Where a separating plane is known nevertheless, the limit is that of the arithmetic.
            state.status = "precision_limit" if state.margin > 0.0 else "not_separable"
            return
        check_interrupt()
        self._look(problem, state, pool.weights, pool.penalised_intercept)
        z = problem.y * state.scores
        rows = problem.used[z[problem.used] < 1.0]
        rows = np.setdiff1d(rows, pool.numbers, assume_unique=True)
        if pool.stalled or not len(rows):
            state.status = "precision_limit"
            return
        batch = self._batch(problem)
        if len(pool) > 8 * batch:
            pool.keep(2 * batch)
        pool.take(_smallest(z[rows], batch, rows))

    def _look(
        self, problem: HardMarginObjective, state: HardMarginState, w: np.ndarray, b: float
    ) -> None:
        """Make weights the point, and evaluate the margins of all rows."""
        scores = problem.design.dot(w)
        if problem.balances:
            b = problem.best_intercept(scores)
        theta = problem.join(w, b)
        if problem.fit_intercept:
            scores += b
        state.theta, state.scores, state.margin = theta, scores, problem.margin(scores)

    # --- many rows at the margin -----------------------------------------------------------------

    def _descend(
        self,
        problem: HardMarginObjective,
        state: HardMarginState,
        descent: DualDescentState,
        check_interrupt: Callable[[], None],
    ) -> None:
        """Run passes of dual descent, half as many again each time, and evaluate all margins."""
        dual = _dual_of(problem)
        before = descent.alpha.copy()
        for _ in range(max(20, state.passes // 2)):
            self._descent.step(dual, descent, check_interrupt)
            state.passes += 1
            check_interrupt()
        ray = None if state.margin > 0.0 else self._endless(problem, descent.alpha - before)
        if ray is not None:
            state.alpha, state.status = ray, "not_separable"
            return
        support = np.flatnonzero(descent.alpha)
        width = problem.shape[0]
        entries = len(support) * width
        work = entries * min(len(support), width)
        settled = abs(len(support) - state.support) <= 0.02 * len(support) <= 0.02 * width
        state.support = len(support)
        ready = settled or state.passes > 1000
        if ready and entries <= self.tuning.face_entries and work <= self.tuning.face_work:
            # The rows in use are the pool, and the largest multipliers' its first face.
            order = np.argsort(-descent.alpha[support], kind="stable")
            state.pool = _RowPool(problem, support[order])
            state.pool.seed(np.arange(len(support)))
            state.descent = None
            return
        state.alpha = self._balanced(problem, descent.alpha)
        w = problem.design.t_dot(problem.y * state.alpha)
        self._look(problem, state, w, float(descent.b[0]))
        self._give_up(state)

    def _give_up(self, state: HardMarginState) -> None:
        """End a descent without success: no plane at all, or a point that gets no better."""
        shortfall = 1.0 - state.margin
        state.shortfalls.append(shortfall)
        if state.passes < self.tuning.patience:
            return
        if not state.margin > 0.0:
            state.status = "not_separable"
        elif len(state.shortfalls) > 4 and not min(state.shortfalls[-3:]) < 0.7 * min(
            state.shortfalls[:-3]
        ):
            state.status = "precision_limit"

    def _endless(self, problem: HardMarginObjective, growth: np.ndarray) -> np.ndarray | None:
        """The combination of rows that vanishes, if multipliers seem to grow along one."""
        # The others grow less and less; the few rows that keep growing are soon among those taken.
        numbers = _smallest(-growth[problem.used], self.tuning.suspects, problem.used)
        pool = _RowPool(problem, numbers, alone=True)
        pool.solve(lambda: None)
        return None if pool.ray is None else pool.all_multipliers()

    @staticmethod
    def _balanced(problem: HardMarginObjective, alpha: np.ndarray) -> np.ndarray:
        return -problem.y * problem.balanced(-problem.y * alpha)

    # --- for the driver ------------------------------------------------------------------------

    def candidate(self, problem: HardMarginObjective, state: HardMarginState) -> Candidate:
        theta = state.theta / state.margin if state.margin > 0.0 else state.theta
        return Candidate(theta, -problem.y * state.alpha)

    def should_check(
        self, problem: HardMarginObjective, state: HardMarginState, tol: float
    ) -> bool:
        # The dual value is one half of sum alpha at its best scale, near the optimum.
        if not state.margin > 0.0:
            return False
        primal = problem.value(state.theta, state.scores)
        return primal - 0.5 * float(state.alpha.sum()) <= (2.0 * tol + 64.0 * EPS) * primal

    def stopped(self, problem: HardMarginObjective, state: HardMarginState) -> str | None:
        return state.status


def _smallest(values: np.ndarray, count: int, numbers: np.ndarray) -> np.ndarray:
    """The entries of ``numbers`` at the smallest values."""
    if count >= len(values):
        return numbers
    return numbers[np.sort(np.argpartition(values, count)[:count])]


def maximum_margin(
    design: Design,
    signs: np.ndarray,
    *,
    fit_intercept: bool = True,
    intercept_penalty: float = 0.0,
    tol: float = 1e-10,
    time_limit: float | None = None,
    tuning: Tuning = Tuning(),
) -> Solution:
    """The hyperplane of the largest margin, between two bounds.

    Parameters
    ----------
    design : Design
    signs : ndarray of shape (n_samples,)
        -1.0 or +1.0.
    fit_intercept : bool
        Whether there is an offset; without one the plane is through the origin.
    intercept_penalty : float
        The factor of half the squared offset in the objective; 1 makes the offset the
        weight of a constant feature 1.
    tol : float
        Target for the certified relative gap.
    time_limit : float, optional
        The limit in seconds.
    tuning : Tuning
        The tuning parameters, which affect the speed.

    Returns
    -------
    Solution
        ``theta`` is scaled so that the smallest margin ``y (w.x + b)`` is 1, to rounding.
        ``residual`` is ``-alpha y`` of the multipliers.  The largest margin, a distance, lies
        between ``1 / sqrt(2 primal)`` and ``1 / sqrt(2 dual)`` of the certificate.  Status
        ``"not_separable"``: in floating point, multipliers were found whose combination of the
        rows vanishes; they are the residual, and the objective is infinite.

    Raises
    ------
    ValueError
        For an offset that costs nothing and one sign only.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.solvers.hard_margin import maximum_margin
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    >>> solution = maximum_margin(as_design(X), np.array([-1.0, 1.0, 1.0]))
    >>> solution.theta.round(9).tolist()
    [1.0, 0.333333333, -1.0]
    """
    problem = HardMarginObjective(
        design, signs, fit_intercept=fit_intercept, intercept_penalty=intercept_penalty
    )
    if problem.balances and np.all(signs == signs[0]):
        raise ValueError("signs contains one sign only; a margin between two sides needs both.")
    return minimise(
        problem, HardMargin(tuning), tol=tol, max_iter=100_000, time_limit=time_limit, seed=0
    )
