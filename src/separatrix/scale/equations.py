r"""Closed forms over row blocks: moments and factors that are merged, and the normal equations.

What a closed form asks of the rows are their moments, or a triangular factor, which are made of
each block and merged in the order of the blocks, and what is left of the normal equations at the
returned numbers, which is a sum over them: one pass to solve, and one that certifies, or refines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled.double_double import sum_parts
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.least_squares import (
    equations_of_moments,
    moments_of,
    solve_gathered,
)
from separatrix.closed_form.normal_equations import (
    LeastSquaresProblem,
    NormalEquations,
)
from separatrix.closed_form.projection import Columns
from separatrix.closed_form.triangular import LeastSquaresSolution, units_of
from separatrix.data.labels import one_hot
from separatrix.data.moments import Moments
from separatrix.data.validation import require_some_weight
from separatrix.scale.blocks import Rows, Shape
from separatrix.scale.passes import Passes

__all__ = ["BlockedEquations", "Targets", "certify_in_passes", "class_moments", "solve_in_passes"]

# Columns up to which residuals that rounding explains are projected on them.
_MOST_PROJECTED = 256


# --- moments of classes ---------------------------------------------------------------------------


def _moments(rows: Rows, shared: tuple[int, bool, bool], own: Any) -> Moments:
    """The moments of a block, by class."""
    n_classes, pooled, fourth = shared
    return Moments.of(
        rows.design,
        codes=rows.target.astype(np.int64),
        n_classes=n_classes,
        weights=rows.weights,
        pooled=pooled,
        fourth=fourth,
    )


def class_moments(passes: Passes, *, pooled: bool, fourth: bool = False) -> Moments:
    """The moments of all rows by class, in one pass.

    Parameters
    ----------
    passes : Passes
        Over data of classes.
    pooled, fourth : bool
        As for :meth:`separatrix.data.moments.Moments.of`.

    Returns
    -------
    Moments
        The same bits for any number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.equations import class_moments
    >>> from separatrix.scale.passes import Passes
    >>> data = scan([[0.0], [2.0], [1.0], [5.0]], ["a", "a", "b", "b"], block_rows=2)
    >>> moments = class_moments(Passes(data, Local()), pooled=True)
    >>> moments.mean.tolist(), moments.scatter.tolist()
    ([[1.0], [3.0]], [[10.0]])
    """
    return _merged(passes, _moments, (len(passes.data.class_totals), pooled, fourth))


def _merged(passes: Passes, task: Any, shared: Any) -> Any:
    """What a function makes of every block, merged in their order."""
    found: Any = None
    for part in passes.each(task, shared):
        found = part if found is None else found.merge(part)
    return found


# --- least squares --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Targets:
    """What least squares fits to the rows: a quantity, or numbers that stand for classes.

    Attributes
    ----------
    n_classes : int
        Zero for a quantity.  Of two classes the target is -1 or +1, of more it is one of as many
        for the row's own and ``other`` for the others.
    other : float
    factors : ndarray of shape (n_classes,) or None
        Weights of the classes.
    unit : ndarray of shape (1,) or None
        What a quantity is multiplied by.
    """

    n_classes: int = 0
    other: float = 0.0
    factors: np.ndarray | None = None
    unit: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Targets of a row."""
        return self.n_classes if self.n_classes > 2 else 1

    def of(self, rows: Rows) -> tuple[np.ndarray, np.ndarray | None]:
        """The targets of the rows of a block, (n, count), and the weights."""
        weights = rows.weights
        if self.factors is not None and np.any(self.factors != 1.0):
            own = self.factors[rows.target]
            weights = own if weights is None else own * weights
        if self.n_classes == 0:
            numbers = rows.target[:, None].astype(np.float64, copy=False)
            return (numbers if self.unit is None else numbers * self.unit), weights
        if self.n_classes == 2:
            return np.where(rows.target == 1, 1.0, -1.0)[:, None], weights
        present = one_hot(rows.target.astype(np.int64), self.n_classes)
        if self.other != 0.0:
            present = self.other + (1.0 - self.other) * present
        return np.ascontiguousarray(present), weights


def _made(rows: Rows, shared: tuple[Targets, Callable[..., Any]], own: Any) -> Any:
    """What a function makes of the rows of a block, their targets and weights."""
    targets, of = shared
    # What overflows is looked at when all is there.
    with np.errstate(all="ignore"):
        return of(rows.design, *targets.of(rows))


@dataclass(frozen=True, eq=False)
class _At:
    """The equations of all rows at a point, for the rows of a block to add to."""

    targets: Targets
    ridge: float
    fit_intercept: bool
    mean: np.ndarray
    lengths: np.ndarray
    weight: float
    high: np.ndarray
    low: np.ndarray

    def equations(self, rows: Rows) -> NormalEquations:
        problem = LeastSquaresProblem(
            rows.design, *self.targets.of(rows), self.ridge, self.fit_intercept
        )
        return NormalEquations(problem, self.mean, self.lengths, self.weight)


def _left(rows: Rows, at: _At, own: Any) -> dict[str, np.ndarray]:
    """What the rows of a block leave of the normal equations; ``high`` are coefficients."""
    with np.errstate(all="ignore"):
        gradient, sums = at.equations(rows).sums_at(at.high, at.low)
    return {"gradient": gradient, "sums": sums}


def _left_in_parts(rows: Rows, at: _At, own: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same in twice the precision."""
    with np.errstate(all="ignore"):
        return at.equations(rows).sums_in_parts(at.high, at.low)


def _misfit(rows: Rows, at: _At, own: Any) -> np.ndarray:
    """The largest misfit of the rows of a block."""
    with np.errstate(all="ignore"):
        return at.equations(rows).largest_misfit(at.high, at.low)


def _reduced(rows: Rows, shared: tuple[_At, bool], own: Any) -> Columns:
    """Few rows that stand for the columns and residuals of the rows of a block."""
    at, closely = shared
    with np.errstate(all="ignore"):
        return at.equations(rows).columns(at.high, at.low, closely).reduced()


@dataclass(frozen=True, eq=False)
class _BlockedProblem(LeastSquaresProblem):
    """Least squares over blocks: the rows are where the passes go."""

    answers: Targets = Targets()
    passes: Any = None

    def gathered(self, of: Callable[..., Any]) -> Any:
        return _merged(self.passes, _made, (self.answers, of))

    def equations(self, mean: np.ndarray, lengths: np.ndarray, weight: float) -> NormalEquations:
        return BlockedEquations(self, mean, lengths, weight)

    def require_finite(self) -> None:
        """Blocks are finite, or they are refused where they are made."""


class BlockedEquations(NormalEquations):
    """The normal equations of rows in blocks: what is left of them is a sum, taken in one pass."""

    problem: _BlockedProblem

    def _at(self, high: np.ndarray, low: np.ndarray) -> _At:
        problem = self.problem
        return _At(
            problem.answers,
            problem.ridge,
            problem.fit_intercept,
            np.concatenate([self.mean, self.target_mean]),
            np.concatenate([self.lengths, self.spread]),
            self.weight,
            np.ascontiguousarray(high),
            np.ascontiguousarray(low),
        )

    def sums_at(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.problem.passes.sums(_left, self._at(coef, intercept))
        return found["gradient"], found["sums"]

    def explained_shares(
        self, coef: np.ndarray, intercept: np.ndarray, free: np.ndarray | None = None
    ) -> np.ndarray:
        if self.design.n_features + len(coef) > _MOST_PROJECTED:
            return np.zeros(len(coef))
        shared = self._at(coef, intercept), self.looks_closely(len(coef))
        parts = self.problem.passes.each(_reduced, shared)
        return self._explained(Columns.joined(list(parts)), coef, free)

    def largest_misfit(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        out = np.zeros(len(coef))
        for own in self.problem.passes.each(_misfit, self._at(coef, intercept)):
            np.maximum(out, own, out=out)
        return out

    def sums_in_parts(
        self, high: np.ndarray, low: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, d = len(high), self.design.n_features
        gradient, rest, sums = np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, 4))
        for own, low_own, own_sums in self.problem.passes.each(_left_in_parts, self._at(high, low)):
            gradient, carry = sum_parts(gradient, own)
            rest = rest + (carry + low_own)
            # The sums of the residuals and of their squares are pairs, too.
            for k in (0, 2):
                sums[:, k], carry = sum_parts(sums[:, k], own_sums[:, k])
                sums[:, k + 1] += carry + own_sums[:, k + 1]
        return gradient, rest, sums


def _problem(
    passes: Passes, targets: Targets, fit_intercept: bool, tol: float
) -> tuple[_BlockedProblem, Moments, float]:
    """Least squares over blocks, still without a penalty, the moments, the sum of the weights.

    A quantity is in units in which its squares are in the range of float64.
    """
    sample = passes.data.sample
    if targets.n_classes == 0 and sample is not None:
        targets = replace(targets, unit=units_of(sample.target[:, None], sample.weights))
    n, d = passes.data.shape
    stand_in = np.broadcast_to(np.float64(0.0), (n, targets.count))
    problem = _BlockedProblem(
        Shape((n, d)),  # type: ignore[arg-type]
        stand_in,
        None,
        0.0,
        fit_intercept,
        tol,
        answers=targets,
        passes=passes,
    )
    moments = problem.gathered(moments_of)
    total = float(moments.weight[0])
    require_some_weight(total)
    if targets.n_classes:
        # Without the weights of the classes.
        total = float(passes.data.class_totals.sum())
    return problem, moments, total


def solve_in_passes(
    passes: Passes,
    targets: Targets,
    ridge: Callable[[float], float],
    *,
    fit_intercept: bool = True,
    tol: float = 1e-10,
    single: bool = False,
) -> tuple[LeastSquaresSolution, float]:
    """Minimise ``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2`` over blocks.

    Parameters
    ----------
    passes : Passes
    targets : Targets
    ridge : callable
        The strength of the penalty, of the sum of the sample weights.
    fit_intercept : bool, default=True
    tol : float, default=1e-10
        Of the certificate.
    single : bool, default=False
        Round the weights to float32, and certify them as they are then to 1e-6; where that does
        not hold, they stay as they were.

    Returns
    -------
    solution : LeastSquaresSolution
        As :func:`separatrix.closed_form.least_squares.solve_least_squares` finds it in memory: of
        all solutions, where there are several, the one of least ``|W|``.
    total : float
        The sum of the sample weights.

    Raises
    ------
    ValueError
        Where squares or coefficients are out of the range of float64.

    Examples
    --------
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.equations import Targets, solve_in_passes
    >>> from separatrix.scale.passes import Passes
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> passes = Passes(scan(X, y, quantity=True, block_rows=2), Local())
    >>> solution, total = solve_in_passes(passes, Targets(), lambda total: 0.0)
    >>> solution.coef.round(10).tolist(), solution.certificate.ok, total
    ([[2.2]], True, 4.0)
    """
    problem, moments, total = _problem(passes, targets, fit_intercept, tol)
    problem = replace(problem, ridge=float(ridge(total)))
    solution = solve_gathered(problem, moments)
    unit = problem.answers.unit
    if single and unit is None and solution.certificate.ok:
        solution = _narrowed(problem, moments, solution)
    with np.errstate(all="ignore"):
        return solution.in_units(unit, partial(equations_of_moments, problem, moments)), total


def _narrowed(
    problem: _BlockedProblem, moments: Moments, solution: LeastSquaresSolution
) -> LeastSquaresSolution:
    """The weights in float32, where a certificate for float32 holds."""
    coef, intercept = solution.coef.astype(np.float32), solution.intercept.astype(np.float32)
    if problem.answers.n_classes == 0:
        # One number is a float64 of those digits.
        intercept = intercept.astype(np.float64)
    judged = replace(problem, tol=max(problem.tol, 1e-6))
    found = _certified(judged, moments, coef, intercept, solution.rank, solution.condition)
    if not found.ok:
        return solution
    before = solution.certificate
    found = replace(found, n_iter=before.n_iter)
    return replace(solution, coef=coef, intercept=intercept, certificate=found)


def _certified(
    problem: _BlockedProblem,
    moments: Moments,
    coef: np.ndarray,
    intercept: np.ndarray,
    rank: int | None,
    condition: float,
) -> ResidualCertificate:
    with np.errstate(all="ignore"):
        equations = equations_of_moments(problem, moments)
        left = equations.at(
            np.ascontiguousarray(coef, dtype=np.float64), np.array(intercept, dtype=np.float64)
        )
        columns = problem.design.n_features
        return left.certificate(columns if rank is None else rank, condition, "above_tol")


def certify_in_passes(
    passes: Passes,
    targets: Targets,
    coef: np.ndarray,
    intercept: np.ndarray,
    ridge: Callable[[float], float],
    *,
    fit_intercept: bool = True,
    condition: float = np.nan,
    rank: int | None = None,
    tol: float = 1e-10,
) -> ResidualCertificate:
    """Certify coefficients by the residual of the normal equations, in two passes.

    Parameters
    ----------
    passes : Passes
    targets : Targets
    coef : ndarray of shape (m, n_features)
    intercept : ndarray of shape (m,)
    ridge, fit_intercept, tol
        As for :func:`solve_in_passes`.
    condition, rank
        To be repeated in the certificate.

    Returns
    -------
    ResidualCertificate
        See :func:`separatrix.closed_form.least_squares.certify_least_squares`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.equations import Targets, certify_in_passes
    >>> from separatrix.scale.passes import Passes
    >>> passes = Passes(scan([[0.0], [1.0], [2.0]], [1.0, 3.0, 6.0], quantity=True), Local())
    >>> for slope in (2.5, 2.0):
    ...     at = np.array([[slope]]), np.array([10 / 3 - slope])
    ...     print(certify_in_passes(passes, Targets(), *at, lambda total: 0.0).ok)
    True
    False
    """
    problem, moments, total = _problem(passes, targets, fit_intercept, tol)
    problem = replace(problem, ridge=float(ridge(total)))
    intercept, unit = np.atleast_1d(intercept), problem.answers.unit
    if unit is not None:
        with np.errstate(all="ignore"):
            coef, intercept = coef * unit[:, None], intercept * unit
    return _certified(problem, moments, coef, intercept, rank, condition)
