r"""Closed forms over row blocks: moments and factors that are merged, and the normal equations.

A closed form needs the moments of the rows, or a triangular factor, which are computed of each
block and merged in the order of the blocks, and the residual of the normal equations at the
returned numbers, which is a sum over them: one pass to solve, and one that certifies, or refines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from separatrix._compiled.double_double import sum_parts
from separatrix.closed_form.normal_equations import (
    LeastSquaresProblem,
    NormalEquations,
    moments_of,
    units_of,
)
from separatrix.closed_form.projection import Columns
from separatrix.data.labels import targets_of
from separatrix.data.moments import Moments
from separatrix.data.validation import require_some_weight
from separatrix.scale.blocks import Rows, Shape
from separatrix.scale.passes import Passes

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
        The passes over data of classes.
    pooled, fourth : bool
        As for :meth:`separatrix.data.moments.Moments.of`.

    Returns
    -------
    Moments
        The moments, which have the same bits for any number of workers.

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


def _rows_made(rows: Rows, of: Callable[..., Any], own: Any) -> Any:
    return of(rows.design, rows.weights)


def gathered(passes: Passes, of: Callable[..., Any]) -> Any:
    """The merged results of a function of the design and the weights of all rows, in one pass."""
    return _merged(passes, _rows_made, of)


def _merged(passes: Passes, task: Any, shared: Any) -> Any:
    """The results of a function for all blocks, merged in their order."""
    found: Any = None
    for part in passes.each(task, shared):
        found = part if found is None else found.merge(part)
    return found


# --- least squares --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of least squares: a quantity, or numbers that stand for classes.

    Attributes
    ----------
    n_classes : int
        The number of classes, zero for a quantity.  With two classes the target is -1 or +1; with
        more there is a target for each class, 1 for the row's own and ``other`` for the others.
    other : float
    factors : ndarray of shape (n_classes,) or None
        Weights of the classes.
    unit : ndarray of shape (1,) or None
        The factor by which a quantity is multiplied.
    """

    n_classes: int = 0
    other: float = 0.0
    factors: np.ndarray | None = None
    unit: np.ndarray | None = None

    @property
    def count(self) -> int:
        """The number of targets of a row."""
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
        targets = targets_of(rows.target.astype(np.int64), self.n_classes, self.other)
        return np.ascontiguousarray(targets), weights


def _made(rows: Rows, shared: tuple[Targets, Callable[..., Any]], own: Any) -> Any:
    """The result of a function of the rows of a block, their targets and weights."""
    targets, of = shared
    # Overflow is found in the merged result.
    with np.errstate(all="ignore"):
        return of(rows.design, *targets.of(rows))


@dataclass(frozen=True, eq=False)
class _Shared:
    """The parts of the equations of all rows that each block needs to add its own."""

    targets: Targets
    ridge: float
    fit_intercept: bool
    mean: np.ndarray
    lengths: np.ndarray
    weight: float
    kind: type[NormalEquations]


def _part(rows: Rows, shared: tuple[_Shared, str, tuple[Any, ...]], own: Any) -> Any:
    """The answer of a method of the equations, by its name, for the rows of a block."""
    whole, method, args = shared
    with np.errstate(all="ignore"):
        problem = LeastSquaresProblem(
            rows.design, *whole.targets.of(rows), whole.ridge, whole.fit_intercept
        )
        equations = whole.kind(problem, whole.mean, whole.lengths, whole.weight)
        return getattr(equations, method)(*args)


def _sums(rows: Rows, shared: tuple[_Shared, str, tuple[Any, ...]], own: Any) -> dict[str, Any]:
    gradient, sums = _part(rows, shared, own)
    return {"gradient": gradient, "sums": sums}


@dataclass(frozen=True, eq=False)
class BlockedProblem(LeastSquaresProblem):
    """Least squares over blocks of rows.

    Examples
    --------
    >>> from separatrix.closed_form.least_squares import solve
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.equations import BlockedProblem, Targets
    >>> from separatrix.scale.passes import Passes
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> passes = Passes(scan(X, y, quantity=True, block_rows=2), Local())
    >>> problem = BlockedProblem.of(passes, Targets(), fit_intercept=True, tol=1e-10)
    >>> solution = solve(problem)
    >>> solution.coef.round(10).tolist(), solution.certificate.ok, problem.total
    ([[2.2]], True, 4.0)
    """

    answers: Targets = Targets()
    passes: Any = None
    known: Moments | None = None

    in_passes: ClassVar[bool] = True

    @classmethod
    def of(
        cls, passes: Passes, answers: Targets, *, fit_intercept: bool, tol: float, **options: Any
    ) -> BlockedProblem:
        """The problem without a penalty, after a pass for the moments of the rows."""
        sample = passes.data.sample
        if answers.n_classes == 0 and sample is not None:
            answers = replace(answers, unit=units_of(sample.target[:, None], sample.weights))
        n, d = passes.data.shape
        stand_in = np.broadcast_to(np.float64(0.0), (n, answers.count))
        shape: Any = Shape((n, d))
        options |= {"fit_intercept": fit_intercept, "tol": tol}
        problem = cls(shape, stand_in, answers=answers, passes=passes, **options)
        moments = problem.gathered(moments_of)
        require_some_weight(float(moments.weight[0]))
        return replace(problem, known=moments)

    @property
    def total(self) -> float:
        """The sum of the sample weights, without those of the classes."""
        if self.answers.n_classes:
            return float(self.passes.data.class_totals.sum())
        return float(self.moments().weight[0])

    def moments(self) -> Moments:
        assert self.known is not None
        return self.known

    def in_units(self) -> tuple[LeastSquaresProblem, np.ndarray | None]:
        return self, self.answers.unit

    def gathered(self, of: Callable[..., Any]) -> Any:
        return _merged(self.passes, _made, (self.answers, of))

    def equations(
        self,
        mean: np.ndarray,
        lengths: np.ndarray,
        weight: float,
        kind: type[NormalEquations] | None = None,
    ) -> NormalEquations:
        return BlockedEquations(self, mean, lengths, weight, kind or NormalEquations)

    def require_finite(self) -> None:
        """Blocks are finite, or they are refused where they are made."""


class BlockedEquations(NormalEquations):
    """The normal equations of rows in blocks: their residual is a sum, taken in one pass."""

    problem: BlockedProblem

    def __init__(
        self,
        problem: BlockedProblem,
        mean: np.ndarray,
        lengths: np.ndarray,
        weight: float,
        kind: type[NormalEquations],
    ) -> None:
        super().__init__(problem, mean, lengths, weight)
        self.kind = kind

    def _shared(self, method: str, *args: Any) -> tuple[_Shared, str, tuple[Any, ...]]:
        problem = self.problem
        whole = _Shared(
            *(problem.answers, problem.ridge, problem.fit_intercept),
            np.concatenate([self.mean, self.target_mean]),
            np.concatenate([self.lengths, self.spread]),
            self.weight,
            self.kind,
        )
        own = (np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in args)
        return whole, method, tuple(own)

    def _each(self, method: str, *args: Any) -> Iterator[Any]:
        return self.problem.passes.each(_part, self._shared(method, *args))

    def sums_at(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.problem.passes.sums(_sums, self._shared("sums_at", coef, intercept))
        return found["gradient"], found["sums"]

    def explained_shares(
        self, coef: np.ndarray, intercept: np.ndarray, free: np.ndarray | None = None
    ) -> np.ndarray:
        if self.design.n_features + len(coef) > _MOST_PROJECTED:
            return np.zeros(len(coef))
        parts = self._each("reduced_columns", coef, intercept, self.looks_closely(len(coef)))
        return self._explained(Columns.joined(list(parts)), coef, free)

    def largest_misfit(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        out = np.zeros(len(coef))
        for own in self._each("largest_misfit", coef, intercept):
            np.maximum(out, own, out=out)
        return out

    def sums_in_parts(
        self, high: np.ndarray, low: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, d = len(high), self.design.n_features
        gradient, rest, sums = np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, 4))
        for own, low_own, own_sums in self._each("sums_in_parts", high, low):
            gradient, carry = sum_parts(gradient, own)
            rest = rest + (carry + low_own)
            # The sums of the residuals and of their squares are pairs, too.
            for k in (0, 2):
                sums[:, k], carry = sum_parts(sums[:, k], own_sums[:, k])
                sums[:, k + 1] += carry + own_sums[:, k + 1]
        return gradient, rest, sums


# --- leaving out one row --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Turned:
    """The fits to all rows in the coordinates of the eigenvectors of their Gram matrix.

    ``total`` is the weight of all rows, infinite where there is no intercept.
    """

    answers: Targets
    alphas: np.ndarray
    level: np.ndarray
    vectors: np.ndarray
    values: np.ndarray
    pulls: np.ndarray
    total: float


def _left_out(rows: Rows, of: _Turned, own: Any) -> dict[str, np.ndarray]:
    """Sums of the weighted squares of the residuals that rows have in a fit without them."""
    targets, weights = of.answers.of(rows)
    s = np.ones(len(rows)) if weights is None else weights
    d = len(of.values)
    z = rows.design.dot(of.vectors) - of.level[:d] @ of.vectors
    numbers, squares = targets - of.level[d:], s[:, None] * np.square(z)
    out = np.empty((len(of.alphas), targets.shape[1]))
    for k, alpha in enumerate(of.alphas):
        shrunk = 1.0 / (of.values + alpha)
        rest = 1.0 - s / of.total - squares @ shrunk
        # A row that alone determines a coefficient has no residual without it.
        rest[rest <= 1e-12] = np.nan
        residuals = (numbers - z @ (shrunk[:, None] * of.pulls)) / rest[:, None]
        out[k] = s @ np.square(residuals)
    return {"squares": out}


def left_out_errors(
    passes: Passes, answers: Targets, alphas: np.ndarray, *, fit_intercept: bool
) -> np.ndarray:
    """Mean squared leave-one-out errors of ridge regressions, (n_alphas, n_targets).

    A first pass computes the moments of the rows and a second one the errors, each of which counts
    with the weight of its row.  The mean is NaN for a strength at which a row has no such error.

    Parameters
    ----------
    passes : Passes
    answers : Targets
    alphas : ndarray of shape (n_alphas,)
        Factors of the squared norm of the weights, above 0.
    fit_intercept : bool
    """
    moments = _merged(passes, _made, (answers, moments_of))
    d, mean, total = moments.n_columns - answers.count, moments.mean[0], float(moments.total)
    require_some_weight(total)
    sums, level = moments.scatter, mean
    if not fit_intercept:
        sums, level, total = sums + total * np.outer(mean, mean), np.zeros_like(mean), np.inf
    values, vectors = np.linalg.eigh(sums[:d, :d])
    shared = _Turned(
        *(answers, alphas, level, np.ascontiguousarray(vectors), np.maximum(values, 0.0)),
        *(vectors.T @ sums[:d, d:], total),
    )
    out: np.ndarray = passes.sums(_left_out, shared)["squares"] / passes.data.n_rows
    return out
