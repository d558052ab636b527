r"""Both sides of weak duality in exact arithmetic: the proofs of ``verify(..., rigorous=True)``.

Data, weights and coefficients are float64 numbers, and these are fractions with a power of two
as denominator: scores :math:`Xw + b` and sums :math:`X^\top r` are computed without any rounding,
in Python's integers.  A dual point, which float64 suggests, is moved until every constraint of the
dual holds exactly, by factors that are fractions.  Exponentials and logarithms, which are no
fractions, and quotients are enclosed in balls (Arb; Johansson, 2017), at a precision that is
doubled until the balls are small beside the tolerance.

Nothing here calls the float64 code of losses, penalties or certificates.  Float64 provides only
suggestions: the dual point, and the rows in which to correct it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg

from separatrix._compiled.rounding import EPS
from separatrix.data.design import Design, as_design, dense
from separatrix.geometry.exact.deadline import Deadline, OutOfTime
from separatrix.kernels.functions import (
    DeltaKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
)
from separatrix.kernels.points import values_of
from separatrix.losses import (
    Hinge,
    LogLoss,
    MarginPerceptronLoss,
    PerceptronLoss,
    SquaredError,
    SquaredHinge,
)
from separatrix.messages import Message
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.objectives.penalties import L1, L2, ElasticNet, NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.verification.exact_numbers import (
    BLOCK,
    Exact,
    Number,
    Pulse,
    ball,
    ends,
    objects,
    precision,
    quotient,
    require_balls,
    rows_of,
    same,
    sum_of,
)

# The first and the largest number of bits of the balls.
_FEWEST_BITS = 64
_MOST_BITS = 8192
# The radius of a ball, relative to the tolerance, that is small enough.
_FINE = Fraction(1, 1 << 20)
# The largest number of unknowns in a system that is solved in fractions: its numbers have as many
# digits, and more.
_MOST_UNKNOWNS = 400
# The largest numbers of rows of a kernel's matrix that is proved to be semidefinite: by its
# characteristic polynomial, which decides, and by a factorisation with a bound on its error, which
# proves.
_MOST_DECIDED = 150
_MOST_PROVED = 600
# The kernels whose formula is evaluated here; for others the values are those of float64.
_FORMULAS = (PolynomialKernel, RBFKernel, SigmoidKernel, SquaresKernel, DeltaKernel)
# 2^61 - 1, a prime.
_PRIME = 2305843009213693951


class NotOffered(ValueError):
    """A claim that cannot be proved in exact arithmetic; the message gives the reason."""


@dataclass(frozen=True)
class ProvedBounds:
    """Proved bounds of one problem, in multiples of its scale.

    Attributes
    ----------
    lower : Fraction or None
        A lower bound of the exact optimum; None for minus infinity.
    upper : Fraction or None
        An upper bound of the exact objective at the given point; None for infinity.
    bits : int
        The precision of the balls.
    reason : str
        The reason why they are no tighter, as a status; empty where there is none.
    """

    lower: Fraction | None
    upper: Fraction | None
    bits: int = _FEWEST_BITS
    reason: str = ""


class _Evaluator:
    """Evaluates numbers at the precision that they need."""

    def __init__(self, tol: float) -> None:
        self._fine = Fraction(tol) * _FINE
        self.bits = _FEWEST_BITS

    def __call__(
        self, number: Number, beside: Fraction | None = None
    ) -> tuple[Fraction | None, Fraction | None]:
        """Fractions below and above a number, close together relative to it or to another."""
        size = Fraction(0) if beside is None else abs(beside)
        while True:
            with precision(self.bits):
                low, high = ends(number())
            known = low is not None and high is not None
            if self.bits >= _MOST_BITS:
                return low, high
            if known:
                assert low is not None and high is not None
                if high - low <= self._fine * max(abs(low), abs(high), size):
                    return low, high
            self.bits *= 2


# --- the statements -------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """A statement to prove: a problem, its numbers without rounding, and a point.

    Attributes
    ----------
    problem : LinearProblem
        The problem, which determines the loss, penalty and labels; only those of its numbers that
        float64 holds exactly are used.
    theta : ndarray
        The point, in the coordinates of the data as they are.
    design : Design
        The data; for a kernel machine its points (for a precomputed kernel the matrix).
    C : Fraction
    weights : ndarray
        The sample weights, one for each row of the problem.
    tau : Fraction
        The factor of the squared intercept in the penalty.
    scale : Fraction
        The factor of objective and bound.
    last : Fraction or None
        The last weight, where it is not a float64 number.
    """

    problem: LinearProblem
    theta: np.ndarray
    design: Design
    C: Fraction
    weights: np.ndarray
    tau: Fraction = Fraction(0)
    scale: Fraction = Fraction(1)
    last: Fraction | None = None


def enclose(
    statement: Statement,
    dual_points: Iterator[tuple[np.ndarray, bool]],
    tol: float,
    deadline: Deadline,
) -> ProvedBounds:
    """Enclose the objective at a point and the optimum.

    Parameters
    ----------
    statement : Statement
    dual_points : iterator of (ndarray, bool)
        Suggestions for the dual point, each nearer to the best one, and whether it is expected to
        be near enough to be worth an exact evaluation before the next is requested.  The last one
        is evaluated in any case.
    tol : float
        The relative gap at which to stop.
    deadline : Deadline

    Returns
    -------
    ProvedBounds
    """
    evaluate, check_interrupt = _Evaluator(tol), Pulse(deadline)
    lower: Fraction | None = None
    upper: Fraction | None = None
    scale = statement.scale
    reason, known = "", False
    try:
        judge = _judge_of(statement, check_interrupt)
        lower = judge.trivial
        known = True
        upper = evaluate(judge.primal)[1] if judge.finite else None
        waiting: np.ndarray | None = None

        def bound(point: np.ndarray) -> bool:
            """Use the bound of a dual point; return whether that is enough."""
            nonlocal lower
            number = judge.dual(Exact.of(np.where(np.isfinite(point), point, 0.0)))
            found = None if number is None else evaluate(number, upper)[0]
            if found is not None and (lower is None or found > lower):
                lower = found
            if lower is None or upper is None:
                return False
            return upper - lower <= Fraction(tol) * upper

        enough = not judge.has_bound or (lower is not None and lower == upper)
        while not enough:
            suggestion = next(dual_points, None)
            if suggestion is None:
                break
            point, good = suggestion
            waiting = None if good else point
            enough = good and bound(point)
        if waiting is not None and not enough:
            bound(waiting)
        reason = judge.reason
    except OutOfTime:
        reason = "time_limit"
        if not known:
            lower = Fraction(0)
    return ProvedBounds(
        None if lower is None else scale * lower,
        None if upper is None else scale * upper,
        evaluate.bits,
        reason,
    )


def _judge_of(statement: Statement, check_interrupt: Pulse) -> _Judge:
    problem = statement.problem
    kernel = getattr(getattr(problem, "matrix", None), "kernel", None)
    if isinstance(kernel, Kernel) and type(kernel) is not LinearKernel:
        return _KernelMachine(statement, kernel, check_interrupt)
    if isinstance(problem, MistakeObjective):
        return _Mistakes(statement, check_interrupt)
    if isinstance(problem, HardMarginObjective):
        return _HardMargin(statement, check_interrupt)
    if isinstance(problem, SoftmaxObjective):
        return _SoftmaxLoss(statement, check_interrupt)
    if isinstance(problem, MarginObjective) and not problem.loss.of_residual:
        return _MarginLoss(statement, check_interrupt)
    raise NotOffered(Message("exact_objective", problem=type(problem).__name__))


class _Judge(ABC):
    """The two sides of one statement.

    Attributes
    ----------
    trivial : Fraction or None
        A bound that needs no dual point: all losses and penalties are >= 0.
    finite : bool
        Whether the objective is finite at the point.
    has_bound : bool
        Whether a dual point gives a bound.
    reason : str
    """

    trivial: Fraction | None = Fraction(0)
    finite: bool = True
    has_bound: bool = True
    reason: str = ""

    @abstractmethod
    def primal(self) -> Any:
        """The objective, as a ball at the precision that is set."""

    @abstractmethod
    def dual(self, residual: Exact) -> Number | None:
        """The dual objective at an exactly feasible point near a residual."""


def _signs(y: np.ndarray) -> np.ndarray:
    return np.asarray(y).astype(np.int64).astype(object)


class _Linear(_Judge):
    """The common parts of statements over weights and an intercept."""

    def __init__(self, statement: Statement, check_interrupt: Pulse) -> None:
        self.check_interrupt = check_interrupt
        problem = self.problem = statement.problem
        self.rows = rows_of(statement.design)
        n, d = self.rows.shape
        theta = np.asarray(statement.theta, dtype=np.float64)
        check_interrupt.begin("exact scores")
        matrix = getattr(problem, "matrix", None)
        if type(getattr(matrix, "kernel", None)) is LinearKernel:
            # The weights are a combination of the points, and exactly so.
            self.w = self.rows.t_dot(Exact.of(theta[:n]), check_interrupt)
            self.b = Exact.of(theta[n:].reshape(-1)[:1])
        else:
            self.w, self.b = Exact.of(theta[:d]), Exact.of(theta[d:])
        if statement.last is not None:
            parts = [Fraction(float(value)) for value in theta[: d - 1]]
            self.w = Exact.of_fractions([*parts, statement.last])
        self.scores = self.rows.dot(self.w, check_interrupt)
        if problem.fit_intercept:
            b = self.b if theta.ndim > 1 else self.b[:1]
            scores, b = same(self.scores, b)
            self.scores = Exact(scores.ints + (b.ints if theta.ndim > 1 else b.ints[0]), b.den)
        self.tau = statement.tau if problem.fit_intercept else Fraction(0)
        self.balances = problem.fit_intercept and self.tau == 0
        weights = Exact.of(statement.weights)
        self.upper = weights.times(statement.C)
        self.used = weights.ints != 0
        self.where = np.flatnonzero(self.used)
        penalty = getattr(problem, "penalty", None)
        if type(penalty) not in (type(None), L1, L2, ElasticNet, NoPenalty):
            raise NotOffered(Message("exact_penalty", penalty=repr(penalty)))
        self.threshold = Fraction(0 if penalty is None else penalty.l1)
        # The L2 share of an elastic net is one minus its L1 share, here without rounding.
        coercive = penalty is None or penalty.coercive
        self.curvature = 1 - self.threshold if coercive else Fraction(0)
        if not coercive and d + int(self.balances) > _MOST_UNKNOWNS:
            unknowns = d + int(self.balances)
            raise NotOffered(Message("exact_unknowns", unknowns=unknowns, most=_MOST_UNKNOWNS))

    def penalty_value(self) -> Fraction:
        size = Fraction(sum_of(np.abs(self.w.ints).ravel()), self.w.den)
        value = self.threshold * size + self.curvature / 2 * self.w.square()
        return value + self.tau / 2 * self.b.square() if self.tau else value

    def dual_scale(self, v: Exact) -> Fraction:
        """The largest factor, at most 1, that brings ``v`` into the conjugate's domain."""
        if self.curvature > 0 or self.threshold == 0:
            return Fraction(1)
        largest = Fraction(int(max(np.abs(v.ints).ravel(), default=0)), v.den)
        return Fraction(1) if largest <= self.threshold else self.threshold / largest

    def penalty_conjugate(self, v: Exact) -> Fraction:
        if self.curvature == 0:
            return Fraction(0)
        threshold = self.threshold
        beyond = np.abs(v.ints) * threshold.denominator - threshold.numerator * v.den
        beyond = np.maximum(beyond, 0)
        return Exact(beyond, v.den * threshold.denominator).square() / (2 * self.curvature)

    def intercept_conjugate(self, r: Exact) -> Fraction:
        """The conjugate of the intercepts' penalty; without one the sums are exactly 0."""
        sums = Exact(np.atleast_1d(r.sum(axis=0).ints), r.den)
        if self.tau:
            return sums.square() / (2 * self.tau)
        if sums.ints.any() and self.problem.fit_intercept:
            raise ArithmeticError("The multipliers of the dual point do not add up to zero.")
        return Fraction(0)

    def correction(self, r: Exact, interior: np.ndarray) -> tuple[np.ndarray, Exact] | None:
        """Rows, and the residuals with which ``X' r = 0`` holds exactly.

        The residuals of as few rows as there are independent columns take up the remainder of
        ``X' r``, by the solution of a system of that size in fractions.  ``interior`` is the
        distance of each row from the edge of its domain; the rows with the most of it are chosen,
        as float64 sees it, and those among them that are independent, which is decided modulo a
        prime.  Whatever was chosen, all columns are checked.
        """
        flint = require_balls()
        self.check_interrupt.begin("orthogonality")
        flat = r.ints.reshape(len(r.ints), -1)
        left = self.rows.columns(flat, self.check_interrupt)
        if self.balances:
            left = np.vstack([left, np.add.reduce(flat, axis=0)[None]])
        if not left.any():
            return np.empty(0, dtype=np.intp), Exact(flat[:0], r.den)
        for rows in self._candidates(interior):
            entries = self.rows.take(rows)
            if self.balances:
                entries = np.hstack([entries, np.full((len(rows), 1), 1, dtype=object)])
            residues = [int(value) for value in (entries % _PRIME).ravel()]
            modular = flint.nmod_mat(*entries.shape, residues, _PRIME)
            columns = _pivots(*modular.rref())
            picked = _pivots(*_nmod_columns(flint, entries, columns).rref())
            self.check_interrupt(0.5)
            chosen = rows[picked]
            square = entries[np.ix_(picked, columns)].T
            system = flint.fmpz_mat(*square.shape, [int(value) for value in square.ravel()])
            wanted = -left[columns]
            known = flint.fmpz_mat(*wanted.shape, [int(value) for value in wanted.ravel()])
            over, under = system.solve(known).numer_denom()
            step = objects([int(value) for value in over.entries()]).reshape(wanted.shape)
            den = int(under)
            self.check_interrupt(1.0)
            if not np.any(entries[picked].T @ step + left * den):
                return chosen, Exact(flat[chosen] * den + step, r.den * den)
        return None

    def _candidates(self, interior: np.ndarray) -> Iterator[np.ndarray]:
        inside = np.flatnonzero(interior > 0.0)
        if not len(inside):
            return
        order = inside[np.argsort(-interior[inside], kind="stable")]
        few = order[: 2000 + 10 * self.rows.shape[1]]
        x = self.rows.floats(few)
        if self.balances:
            x = np.column_stack([x, np.ones(len(x))])
        with np.errstate(all="ignore"):
            x = x / np.abs(x).max(axis=0)
            x = np.where(np.isfinite(x), x, 0.0) * interior[few][:, None]
        # Pivots are the rows that span most: corrections in them are small.
        first = scipy.linalg.qr(x.T, mode="r", pivoting=True)[1]
        yield few[first]
        if len(few) < len(order):
            yield np.concatenate([few[first], order[len(few) :]])


def _nmod_columns(flint: Any, entries: np.ndarray, columns: np.ndarray) -> Any:
    part = (entries[:, columns] % _PRIME).T
    return flint.nmod_mat(*part.shape, [int(value) for value in part.ravel()], _PRIME)


def _pivots(reduced: Any, rank: int) -> np.ndarray:
    """The columns of the pivots of a matrix in reduced row echelon form."""
    out, column = [], 0
    for row in range(rank):
        while int(reduced[row, column]) == 0:
            column += 1
        out.append(column)
        column += 1
    return np.array(out, dtype=np.intp)


class _Summed(_Linear):
    """A sum of losses over rows and a penalty: all but the losses is the same for all of them."""

    @abstractmethod
    def feasible(self, residual: Exact) -> Exact:
        """A residual in the domain of the conjugate of every loss, near another one."""

    @abstractmethod
    def balanced(self, r: Exact) -> Exact:
        """A residual in the domain, near a feasible one, with sums of zero over the rows."""

    @abstractmethod
    def interior(self, r: Exact) -> np.ndarray:
        """The distance of each row from the edge of its domain."""

    @abstractmethod
    def holds(self, r: Exact, rows: np.ndarray) -> bool:
        """Whether the residuals of some rows are in their domains."""

    @abstractmethod
    def conjugate(self, r: Exact, rows: np.ndarray) -> Any:
        """The sum of the conjugates of the losses of some rows."""

    def dual(self, residual: Exact) -> Number | None:
        r = self.feasible(residual)
        if self.curvature == 0 and self.threshold == 0:
            return self._without_penalty(r)
        if self.balances:
            r = self.balanced(r)
        self.check_interrupt.begin("exact bound")
        v = self.rows.t_dot(Exact(-r.ints, r.den), self.check_interrupt)
        factor = self.dual_scale(v)
        r, v = r.times(factor), v.times(factor)
        fixed = -self.penalty_conjugate(v) - self.intercept_conjugate(r)
        return lambda: ball(fixed) - self.conjugate(r[self.where], self.where)

    def _without_penalty(self, r: Exact) -> Number | None:
        found = self.correction(r, self.interior(r))
        if found is None:
            return None
        rows, flat = found
        mine = Exact(flat.ints.reshape(len(rows), *r.ints.shape[1:]), flat.den)
        if not self.holds(mine, rows):
            return None
        rest = np.setdiff1d(self.where, rows)
        kept, corrected = same(r[rest], mine)
        together = Exact(np.concatenate([kept.ints, corrected.ints]), kept.den)
        fixed = -self.intercept_conjugate(together)
        return lambda: ball(fixed) - self.conjugate(r[rest], rest) - self.conjugate(mine, rows)


class _MarginLoss(_Summed):
    """A loss of the margin, whose residual is a multiplier with the label's sign turned."""

    def __init__(self, statement: Statement, check_interrupt: Pulse) -> None:
        super().__init__(statement, check_interrupt)
        problem: Any = self.problem
        self.y, self.z = _margins(problem, self.scores)
        self.loss = _loss_of(problem.loss)

    def primal(self) -> Any:
        return ball(self.penalty_value()) + self.loss.value(
            self.z[self.used], self.upper[self.used], self.check_interrupt
        )

    def turned(self, r: Exact, rows: Any = slice(None)) -> Exact:
        """The multipliers of residuals, and the other way round."""
        return Exact(-self.y[rows] * r.ints, r.den)

    def feasible(self, residual: Exact) -> Exact:
        return self.turned(self.loss.feasible(self.turned(residual), self.upper))

    def balanced(self, r: Exact) -> Exact:
        return self.turned(self.loss.balanced(self.turned(r), self.y, self.upper))

    def interior(self, r: Exact) -> np.ndarray:
        over, limit = same(self.turned(r), self.upper)
        with np.errstate(over="ignore"):
            return np.array(
                [
                    quotient(self.loss.interior(s, u), over.den) if used else 0.0
                    for s, u, used in zip(over.ints, limit.ints, self.used, strict=True)
                ]
            )

    def holds(self, r: Exact, rows: np.ndarray) -> bool:
        return self.loss.holds(self.turned(r, rows), self.upper[rows])

    def conjugate(self, r: Exact, rows: np.ndarray) -> Any:
        return self.loss.conjugate(self.turned(r, rows), self.upper[rows], self.check_interrupt)


def _margins(problem: Any, scores: Exact) -> tuple[np.ndarray, Exact]:
    """The signs of the labels, and the scores times these."""
    y = _signs(problem.y)
    return y, Exact(scores.ints * y, scores.den)


class _Loss(ABC):
    """A loss of the margin, in exact arithmetic; none of its numbers come from elsewhere.

    Attributes
    ----------
    bounded : bool
        Whether multipliers have an upper end, the weight of their row.
    signed : bool
        Whether multipliers may be negative.
    """

    bounded: bool = True
    signed: bool = False

    @abstractmethod
    def value(self, z: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        """``sum U l(z)``."""

    @abstractmethod
    def conjugate(self, a: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        """``sum U l*(-a / U)`` for multipliers in their ranges."""

    def interior(self, a: int, upper: int) -> int:
        """The distance of a multiplier from the ends of its range."""
        return min(a, upper - a)

    def holds(self, a: Exact, upper: Exact) -> bool:
        """Whether multipliers are in their ranges."""
        a, upper = same(a, upper)
        high = not self.bounded or bool(np.all(a.ints <= upper.ints))
        return high and (self.signed or bool(np.all(a.ints >= 0)))

    def feasible(self, a: Exact, upper: Exact) -> Exact:
        """The multipliers clipped to their ranges; zero for a row that has no weight."""
        a, upper = same(a, upper)
        ints = a.ints if self.signed else np.maximum(a.ints, 0)
        if self.bounded:
            ints = np.minimum(ints, upper.ints)
        return Exact(np.where(upper.ints != 0, ints, 0), a.den)

    def balanced(self, a: Exact, y: np.ndarray, upper: Exact) -> Exact:
        """Multipliers with ``sum a y = 0`` that stay in their ranges."""
        return _balanced(a, y)


def _balanced(a: Exact, y: np.ndarray) -> Exact:
    """Multipliers >= 0 with ``sum a y = 0``: those of the heavier class come down."""
    up, down = sum_of(a.ints[y > 0]), sum_of(a.ints[y < 0])
    if up == down:
        return a
    if min(up, down) == 0:
        return Exact(a.ints * 0, 1)
    common = math.gcd(up, down)
    up, down = up // common, down // common
    heavy = y > 0 if up > down else y < 0
    less, more = min(up, down), max(up, down)
    return Exact(np.where(heavy, a.ints * less, a.ints * more), a.den * more)


class _Kinked(_Loss):
    """``max(0, m - z)``: the hinge for ``m = 1``, the perceptron's for ``m = 0``."""

    def __init__(self, margin: Fraction, bounded: bool = True) -> None:
        self._margin, self.bounded = margin, bounded

    def value(self, z: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        m = self._margin
        slack = np.maximum(m.numerator * z.den - z.ints * m.denominator, 0)
        return ball(Fraction(sum_of(upper.ints * slack), upper.den * z.den * m.denominator))

    def conjugate(self, a: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        return ball(-self._margin * a.sum())


_HINGE = _Kinked(Fraction(1))
# The multipliers of a hard margin have no upper end.
_HARD = _Kinked(Fraction(1), bounded=False)


class _Squared(_Loss):
    """``(1 - z)^2`` over a divisor, for all margins or for those below 1 alone."""

    bounded = False

    def __init__(self, divisor: int, signed: bool) -> None:
        self._divisor = divisor
        self.signed = signed

    def interior(self, a: int, upper: int) -> int:
        return upper if self.signed else min(a, upper)

    def balanced(self, a: Exact, y: np.ndarray, upper: Exact) -> Exact:
        if not self.signed:
            return _balanced(a, y)
        # Multipliers without ends on either side all move, in proportion to their weights.
        excess, total = sum_of(a.ints * y), sum_of(upper.ints)
        if excess == 0:
            return a
        return Exact(a.ints * total - y * upper.ints * excess, a.den * total)

    def value(self, z: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        slack = z.den - z.ints
        if not self.signed:
            slack = np.maximum(slack, 0)
        squares = sum_of(upper.ints * slack * slack)
        return ball(Fraction(squares, self._divisor * upper.den * z.den * z.den))

    def conjugate(self, a: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        # With the divisor c, l*(u) = u + c u^2 / 4.
        arb = require_balls().arb
        a, upper = same(a, upper)
        total = arb(0)
        for s, u in check_interrupt.over("exact bound", _pairs(a, upper)):
            if s:
                total += arb(s) ** 2 / arb(u)
        return total * arb(self._divisor) / arb(4 * a.den) - ball(a.sum())


class _Logistic(_Loss):
    """``log(1 + exp(-z))``."""

    def value(self, z: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        arb = require_balls().arb
        total, den = arb(0), arb(z.den)
        for margin, weight in check_interrupt.over("objective", _pairs(z, upper)):
            size = arb(abs(margin)) / den
            value = (-size).exp().log1p()
            total += arb(weight) * (value if margin >= 0 else value + size)
        return total / arb(upper.den)

    def conjugate(self, a: Exact, upper: Exact, check_interrupt: Pulse) -> Any:
        a, upper = same(a, upper)
        pairs = [(s, u - s) for s, u in _pairs(a, upper)]
        return _negative_entropy(pairs, a.den, check_interrupt)


def _pairs(first: Exact, second: Exact) -> list[tuple[int, int]]:
    return list(zip(first.ints, second.ints, strict=True))


def _negative_entropy(rows: Sequence[Sequence[int]], den: int, check_interrupt: Pulse) -> Any:
    """``sum s log(s / sum of the row)`` over the entries of rows of integers >= 0, over ``den``."""
    arb = require_balls().arb
    total = arb(0)
    for shares in check_interrupt.over("exact bound", rows):
        whole = arb(sum(shares))
        for share in shares:
            if share:
                part = arb(share)
                total += part * (part / whole).log()
    return total / arb(den)


def _loss_of(loss: Any) -> _Loss:
    """The loss in exact arithmetic; a subclass may be another loss, so the type has to be it."""
    if type(loss) is MarginPerceptronLoss:
        return _Kinked(Fraction(loss.margin))
    known: dict[type, Callable[[], _Loss]] = {
        Hinge: lambda: _HINGE,
        PerceptronLoss: lambda: _Kinked(Fraction(0)),
        SquaredHinge: lambda: _Squared(1, signed=False),
        SquaredError: lambda: _Squared(2, signed=True),
        LogLoss: _Logistic,
    }
    if type(loss) not in known:
        raise NotOffered(Message("exact_loss", loss=repr(loss)))
    return known[type(loss)]()


class _SoftmaxLoss(_Summed):
    """The multinomial log loss; a row of the dual is a mixture of classes less the label."""

    def __init__(self, statement: Statement, check_interrupt: Pulse) -> None:
        super().__init__(statement, check_interrupt)
        problem: Any = self.problem
        self.codes = np.asarray(problem.codes)
        self.n_classes = int(problem.output_shape[0])

    def primal(self) -> Any:
        arb = require_balls().arb
        total, den = arb(0), arb(self.scores.den)
        for i in self.check_interrupt.over("objective", self.where.tolist()):
            row = self.scores.ints[i]
            largest = max(row)
            others = arb(0)
            seen = False
            for score in row:
                if score == largest and not seen:
                    seen = True
                    continue
                others += (arb(score - largest) / den).exp()
            value = others.log1p() + arb(largest - row[self.codes[i]]) / den
            total += arb(self.upper.ints[i]) * value
        return ball(self.penalty_value()) + total / arb(self.upper.den)

    def feasible(self, residual: Exact) -> Exact:
        """A residual whose every row is a weight times a probability vector less a label's."""
        r, upper = same(residual, self.upper)
        rows = np.arange(len(self.codes))
        ints = np.maximum(r.ints, 0)
        # A class without a row of weight takes no share: its own sum has to be zero.
        weighed = np.bincount(self.codes[self.where], minlength=self.n_classes) > 0
        ints = np.where(weighed[None, :] & self.used[:, None], ints, 0)
        ints[rows, self.codes] = 0
        total = np.add.reduce(ints, axis=1)
        den = r.den
        for i in np.flatnonzero(total > upper.ints):
            # A sum beyond its weight by rounding gets a factor with a short denominator.
            if den == r.den:
                den = r.den << 64
                ints = ints << 64
            factor = (int(upper.ints[i]) << 64) // int(total[i])
            ints[i] = (ints[i] >> 64) * factor
        ints[rows, self.codes] = -np.add.reduce(ints, axis=1)
        return Exact(ints, den)

    def balanced(self, r: Exact) -> Exact:
        """Every row mixed with one probability vector, so that the sums of all classes are zero."""
        r, upper = same(r, self.upper)
        excess = np.add.reduce(r.ints, axis=0)
        if not excess.any():
            return r
        sums = np.zeros(self.n_classes, dtype=object)
        for k in range(self.n_classes):
            sums[k] = sum_of(upper.ints[(self.codes == k) & self.used])
        total = int(sum_of(sums))
        shares: list[Fraction] = [
            Fraction(int(e), int(s) + int(e)) for e, s in zip(excess, sums, strict=True) if e > 0
        ]
        share = max(shares)
        # The share is rounded up to a short denominator.
        bits = 64 + max(0, -_exponent(share))
        share = min(Fraction(-((-share.numerator << bits) // share.denominator), 1 << bits),
                    Fraction(1))  # fmt: skip
        t, unit = share.numerator, share.denominator
        # The vector that is mixed in, times total and t: (t S - (1 - t) excess) over unit.
        mixed = t * sums - (unit - t) * excess
        ints = r.ints * ((unit - t) * total) + upper.ints[:, None] * mixed[None, :]
        label = np.zeros_like(r.ints)
        label[np.arange(len(self.codes)), self.codes] = upper.ints * (t * total)
        out = np.where(self.used[:, None], ints - label, 0)
        return Exact(out, r.den * unit * total)

    def interior(self, r: Exact) -> np.ndarray:
        over, upper = same(r, self.upper)
        out = np.zeros(len(self.codes))
        weighed = np.unique(self.codes[self.where]).tolist()
        for i in self.where:
            p = [int(value) for value in over.ints[i]]
            p[self.codes[i]] += int(upper.ints[i])
            out[i] = quotient(min(p[k] for k in weighed), over.den)
        return out

    def holds(self, r: Exact, rows: np.ndarray) -> bool:
        shares, sums = self._shares(r, rows)
        return not np.any(shares.ints < 0) and not np.any(
            np.add.reduce(shares.ints, axis=1) != sums.ints
        )

    def conjugate(self, r: Exact, rows: np.ndarray) -> Any:
        """``sum U sum_k p_k log p_k``."""
        shares, _ = self._shares(r, rows)
        return _negative_entropy(shares.ints.tolist(), shares.den, self.check_interrupt)

    def _shares(self, r: Exact, rows: np.ndarray) -> tuple[Exact, Exact]:
        """``U p`` of some rows, and ``U``, over one denominator."""
        r, upper = same(r, self.upper[rows])
        shares = r.ints.copy()
        shares[np.arange(len(rows)), self.codes[rows]] += upper.ints
        return Exact(shares, r.den), upper


def _exponent(value: Fraction) -> int:
    """The approximate binary logarithm."""
    return value.numerator.bit_length() - value.denominator.bit_length()


class _Mistakes(_Linear):
    """The weight of the mistakes, whose bound is zero."""

    has_bound = False

    def primal(self) -> Any:
        problem: Any = self.problem
        z, margin = same(_margins(problem, self.scores)[1], Exact.of(np.array([problem.margin])))
        least = margin.ints[0]
        wrong = z.ints < least if least > 0 else z.ints <= 0
        return ball(self.upper[wrong & self.used].sum())

    def dual(self, residual: Exact) -> Number | None:
        return None


class _HardMargin(_Linear):
    """The largest margin: every number is a fraction."""

    def __init__(self, statement: Statement, check_interrupt: Pulse) -> None:
        super().__init__(statement, check_interrupt)
        self.y, self.z = _margins(self.problem, self.scores)
        self.margin = Fraction(int(min(self.z.ints[self.used])), self.z.den)
        self.finite = self.margin > 0

    def primal(self) -> Any:
        square = self.w.square()
        if self.tau:
            square += self.tau * self.b.square()
        return ball(square / (2 * self.margin**2))

    def dual(self, residual: Exact) -> Number | None:
        a = _HARD.feasible(Exact(-self.y * residual.ints, residual.den), self.upper)
        if self.balances:
            a = _balanced(a, self.y)
        self.check_interrupt.begin("exact bound")
        signed = Exact(a.ints * self.y, a.den)
        square = self.rows.t_dot(signed, self.check_interrupt).square()
        square += 2 * self.intercept_conjugate(signed)
        total = a.sum()
        if total == 0:
            return None
        if square == 0:
            # A convex combination of one class is one of the other: no plane separates them.
            self.reason = "not_separable"
            return None
        value = total * total / (2 * square)
        return lambda: ball(value)


class _KernelMachine(_Judge):
    """The hinge loss, or the hard margin, in the space of a kernel that is not linear."""

    def __init__(self, statement: Statement, kernel: Kernel, check_interrupt: Pulse) -> None:
        problem: Any = statement.problem
        self.check_interrupt, self.kernel = check_interrupt, kernel
        self.hard = isinstance(problem, HardMarginObjective)
        self.balances = problem.balances
        self.y = _signs(problem.y)
        n = len(self.y)
        self.c, self.b = Exact.of(statement.theta[:n]), Exact.of(statement.theta[n:])
        weights = Exact.of(statement.weights)
        self.upper = weights.times(Fraction(1) if self.hard else statement.C)
        self.used = np.flatnonzero(weights.ints != 0)
        self.values = _kernel_values(kernel, statement.design)
        check_interrupt.begin("kernel")
        known = type(kernel) in _FORMULAS and kernel.semidefinite
        if not known and not self._semidefinite(n):
            self.trivial, self.has_bound, self.reason = None, False, "indefinite"
        self._known: dict[int, tuple[Any, list[Any]]] = {}
        if self.hard:
            with precision(_FEWEST_BITS):
                self.finite = bool(self._at_point()[1][0] > 0)

    def _product(self, coefficients: Exact, rows: np.ndarray) -> list[Any]:
        """``K c`` at some rows, in balls."""
        flint = require_balls()
        columns = np.flatnonzero(coefficients.ints != 0)
        if not len(columns):
            return [flint.arb(0)] * len(rows)
        vector = [flint.arb(int(value)) for value in coefficients.ints[columns]]
        right = flint.arb_mat(len(columns), 1, vector)
        out: list[Any] = []
        size = max(1, BLOCK // len(columns))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            left = flint.arb_mat(len(some), len(columns), self.values(some, columns))
            out += (left * right).entries()
            self.check_interrupt((start + len(some)) / len(rows))
        den = flint.arb(coefficients.den)
        return [value / den for value in out]

    def _at_point(self) -> tuple[Any, list[Any]]:
        """``|w|^2`` and, for a hard margin, the least margin; else all margins of rows in use."""
        flint = require_balls()
        bits = int(flint.ctx.prec)
        if bits not in self._known:
            support = np.flatnonzero(self.c.ints != 0)
            rows = np.union1d(self.used, support)
            self.check_interrupt.begin("exact scores")
            product = dict(zip(rows.tolist(), self._product(self.c, rows), strict=True))
            square = flint.arb(0)
            for i in support.tolist():
                square += product[i] * int(self.c.ints[i])
            square /= flint.arb(self.c.den)
            b = ball(Fraction(int(self.b.ints[0]), self.b.den)) if len(self.b.ints) else 0
            margins = [(product[i] + b) * int(self.y[i]) for i in self.used.tolist()]
            if self.hard:
                least = margins[0]
                for margin in margins[1:]:
                    least = least.min(margin)
                margins = [least]
            self._known = {bits: (square, margins)}
        return self._known[bits]

    def primal(self) -> Any:
        flint = require_balls()
        square, margins = self._at_point()
        if self.hard:
            return square / (2 * margins[0] ** 2)
        total, zero = flint.arb(0), flint.arb(0)
        for i, margin in zip(self.used.tolist(), margins, strict=True):
            total += int(self.upper.ints[i]) * (1 - margin).max(zero)
        return square / 2 + total / flint.arb(self.upper.den)

    def dual(self, residual: Exact) -> Number | None:
        loss = _HARD if self.hard else _HINGE
        a = loss.feasible(Exact(-self.y * residual.ints, residual.den), self.upper)
        if self.balances:
            a = _balanced(a, self.y)
        total = a.sum()
        if total == 0:
            return None
        c = Exact(a.ints * self.y, a.den)
        support = np.flatnonzero(c.ints != 0)

        def value() -> Any:
            flint = require_balls()
            self.check_interrupt.begin("exact bound")
            square = flint.arb(0)
            for i, entry in zip(support.tolist(), self._product(c, support), strict=True):
                square += entry * int(c.ints[i])
            square /= flint.arb(c.den)
            if self.hard:
                return ball(total * total / 2) / square
            return ball(total) - square / 2

        return value

    def _semidefinite(self, n: int) -> bool:
        """Whether the kernel's matrix is proved to be positive semidefinite.

        For a few rows, and entries that are fractions, the characteristic polynomial decides: all
        its roots are real, and none is negative exactly where its coefficients alternate
        (Descartes).  For more rows, a factorisation of the matrix less a small multiple of the
        identity proves it, where the residual of the factors is smaller than that (Rump, 2006).
        """
        flint = require_balls()
        everything = np.arange(n)
        if n > _MOST_PROVED:
            return False
        with precision(128):
            entries = self.values(everything, everything)
            matrix = flint.arb_mat(n, n, entries)
            exact = all(entry.is_exact() for entry in entries)
            if exact:
                # This is needed below, too: the factors are those of one triangle.
                transposed = matrix.transpose().entries()
                if any(a != b for a, b in zip(entries, transposed, strict=True)):
                    return False
            if exact and n <= _MOST_DECIDED:
                parts = [tuple(int(part) for part in entry.man_exp()) for entry in entries]
                base = min((e for m, e in parts if m), default=0)
                ints = [m << (e - base) if m else 0 for m, e in parts]
                coefficients = flint.fmpz_mat(n, n, ints).charpoly().coeffs()
                return all(
                    int(value) * (-1) ** (n - k) >= 0 for k, value in enumerate(coefficients)
                )
            floats = np.array([float(entry.mid()) for entry in entries]).reshape(n, n)
            shift = 8.0 * n * EPS * float(np.trace(np.abs(floats)))
            try:
                factor = np.linalg.cholesky(floats - shift * np.eye(n))
            except np.linalg.LinAlgError:
                return False
            self.check_interrupt(0.5)
            left = flint.arb_mat(n, n, [flint.arb(float(value)) for value in factor.ravel()])
            rest = (matrix - left * left.transpose()).entries()
            total = flint.arb(0)
            for place, entry in enumerate(rest):
                if place % (n + 1) == 0:
                    entry = entry - flint.arb(shift)
                total += entry * entry
            return bool(total.sqrt() <= flint.arb(shift))


def _kernel_values(kernel: Kernel, design: Design) -> Callable[..., list[Any]]:
    """A function that gives a kernel's values for some rows and columns, row by row, in balls."""
    flint = require_balls()
    arb = flint.arb
    if type(kernel) not in _FORMULAS:
        # The numbers of a matrix, or of a function, are taken as they are.
        if isinstance(kernel, PrecomputedKernel):
            matrix = design.matrix
        else:
            matrix = values_of(kernel, design.matrix, design.matrix)

        def given(rows: np.ndarray, columns: np.ndarray) -> list[Any]:
            return [arb(float(value)) for value in dense(matrix[rows][:, columns]).ravel()]

        return given
    points = rows_of(design)
    everything = np.arange(points.shape[0])
    # Integers over one denominator; a scalar product of two has its square as denominator.
    whole = np.empty(points.shape, dtype=object)
    size = max(1, BLOCK // max(1, points.shape[1]))
    den = 1
    for start in range(0, len(everything), size):
        part = everything[start : start + size]
        whole[part], den = points.common(part)
    if isinstance(kernel, SquaresKernel):
        whole, den = whole * whole, den * den
    squares = np.add.reduce(whole * whole, axis=1) if points.shape[1] else everything * 0
    unit = Fraction(1, den * den)

    def matrix_of(rows: np.ndarray) -> Any:
        entries = whole[rows]
        return flint.fmpz_mat(*entries.shape, [int(value) for value in entries.ravel()])

    def values(rows: np.ndarray, columns: np.ndarray) -> list[Any]:
        if isinstance(kernel, DeltaKernel):
            equal = (whole[rows][:, None, :] == whole[columns][None, :, :]).all(axis=2)
            return [arb(int(value)) for value in equal.ravel()]
        products = (matrix_of(rows) * matrix_of(columns).transpose()).entries()
        if isinstance(kernel, SquaresKernel):
            factor = ball(unit)
            return [arb(value) * factor for value in products]
        if isinstance(kernel, RBFKernel):
            factor = ball(-Fraction(kernel.gamma) * unit)
            sums = (squares[rows][:, None] + squares[columns][None, :]).ravel()
            return [(arb(s - 2 * p) * factor).exp() for s, p in zip(sums, products, strict=True)]
        formula: Any = kernel
        gamma, coef0 = Fraction(formula.gamma), arb(formula.coef0)
        factor = ball(gamma * unit)
        inner = [arb(value) * factor + coef0 for value in products]
        if isinstance(kernel, SigmoidKernel):
            return [value.tanh() for value in inner]
        return [value**formula.degree for value in inner]

    return values


def design_of(problem: Any, design: Design) -> Design:
    """The data of a problem; for a kernel machine those of its rows."""
    samples = getattr(problem, "samples", None)
    if samples is None or not hasattr(problem, "matrix"):
        out: Design = problem.design
        return out
    if not isinstance(problem.matrix.kernel, PrecomputedKernel):
        return design.take(samples)
    return as_design(np.ascontiguousarray(dense(design.matrix[samples][:, samples])))
