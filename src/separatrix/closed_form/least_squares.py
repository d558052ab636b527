r"""Least squares, by one pass over the rows where the condition number allows it.

Minimised is, for the rows :math:`x_i` with weights :math:`s_i` and targets :math:`y_i`,

.. math::
    \tfrac12 \sum_i s_i \|y_i - W x_i - b\|^2 + \tfrac{\rho}{2} \|W\|^2 .

==============================  ===================================================================
where                           how
==============================  ===================================================================
more rows than columns          sums of products in one pass, Cholesky's factor in columns of unit
                                length; its condition number is measured (LAPACK's ``pocon``)
condition too large for that    ``R`` of a QR factorisation of the rows, a block at a time
columns that depend on others   the same with column pivoting: the coefficients of least norm
fewer rows than columns, many   sums of products of rows with rows; ``R`` of the transposed rows
neither fits into memory        conjugate gradients (Hestenes and Stiefel, 1952) on products with
                                the rows
sparse, with many columns       the same, where no more than a few columns depend on others
==============================  ===================================================================

Whatever was done, a pass over the rows evaluates the residuals at the returned numbers and what is
left of the normal equations: that is the certificate, and where something is left it is the right
side of a step of refinement (Bjorck, 1987).  Small and ill-conditioned problems are refined with
residuals in twice the working precision, to all the digits that the data determine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.linalg

from separatrix._compiled import pool
from separatrix._compiled.blas import add_gram_by_columns
from separatrix._compiled.linear_algebra import Factor, lengths_of, solve_upper
from separatrix._compiled.rounding import EPS
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.cgls import cgls, null_space
from separatrix.closed_form.normal_equations import (
    MOST_STEPS,
    LeastSquaresProblem,
    NormalEquations,
    NormalInverse,
    NormalResidual,
    refine,
)
from separatrix.closed_form.triangular import LeastSquaresSolution, TriangularFactor
from separatrix.data.design import CSRDesign, DenseDesign, Design
from separatrix.data.moments import Moments

# Condition number of the scaled sums of products up to which Cholesky's factor is refined.
_CHOLESKY_LIMIT = 1e12
# Entries of a factor of fewer rows than columns that is kept.
_FACTOR_ENTRIES = 1 << 22
# Condition number, times the relative rounding of columns with large means, beyond which it is
# looked at whether they are independent of one another at all.
_DOUBTFUL = 1.0 / 64.0
# Sums of products square the condition number, and round the means: what is kept of the rows for
# those that follow and for standard errors is made of the sums only where the condition number,
# the means over the spread, and the spread over the residuals are no larger than this.
_KEPT, _KEPT_OFFSET, _KEPT_FIT = 300.0, 1e5, 300.0
# Sums of squares below this may have lost digits to underflow.
_FAINT = 1e-250
# The condition number up to which steps leave the coefficients digits enough.
_MOST_SOLVED = 1e6
# The tolerance at or below which all digits that can be had are computed.
_ALL = 1e-10
# The tolerance of the equations at weights that have been rounded to float32.
_SINGLE = 1e-6
# Vectors that are multiplied with one at a time.
_FEW = 4


def solve(problem: LeastSquaresProblem) -> LeastSquaresSolution:
    """Minimise ``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2``.

    Where there are several solutions, the result is the one of least ``|W|``.

    Parameters
    ----------
    problem : LeastSquaresProblem
        A problem without bounds, of rows in memory or in blocks.

    Returns
    -------
    LeastSquaresSolution

    Raises
    ------
    ValueError
        For NaN or infinity in the design, named by row and column, and where squares or
        coefficients are out of the range of float64.
    """
    scaled, unit = problem.in_units()
    with pool.one_blas_thread(), np.errstate(all="ignore"):
        found = _dispatched(scaled).in_units(unit, partial(_equations_of, scaled))
    return narrowed(problem, found) if problem.single else found


def narrowed(problem: LeastSquaresProblem, found: LeastSquaresSolution) -> LeastSquaresSolution:
    """The solution with weights in float32, where it is one to what float32 accounts for."""
    if not found.certificate.ok:
        return found
    coef, intercept = found.coef.astype(np.float32), found.intercept.astype(np.float32)
    looser = replace(problem, tol=max(problem.tol, _SINGLE))
    own = certify(looser, coef, intercept, condition=found.condition, rank=found.rank)
    if not own.ok:
        return found
    own = replace(own, n_iter=found.certificate.n_iter)
    return replace(found, coef=coef, intercept=intercept, certificate=own)


def _dispatched(problem: LeastSquaresProblem) -> LeastSquaresSolution:
    n, d = problem.design.shape
    p = d + problem.targets.shape[1]
    found = None
    if (
        problem.tuning.many < p <= problem.tuning.most_square
        and n > d
        and isinstance(problem.design, CSRDesign)
    ):
        found = _by_iteration(problem, _steps_of_rows(problem))
    if found is None and n > d and p <= problem.tuning.most_square:
        found = _by_cholesky(problem)
    most = problem.tuning.most_square if n > d else problem.tuning.most_wide
    # The other ways ask for products with all rows again and again.
    if found is None and (p <= most or problem.in_passes):
        found = _by_factor(problem)
    if found is None and n <= min(d, problem.tuning.most_square):
        found = _by_rows(problem)
        # Rows that depend on one another need a copy of them.
        if found is None and n * p <= problem.tuning.most_copied and problem.ridge == 0.0:
            found = _by_factor(problem)
    if found is None:
        found = _by_iteration(problem)
        assert found is not None
    return found


def _equations_of_moments(problem: LeastSquaresProblem) -> NormalEquations:
    """The equations of a problem, from the moments of its rows."""
    moments = problem.moments()
    mean, scatter = _about(problem, moments)
    squares = np.diagonal(scatter)
    if _is_out_of_range(problem, squares):
        return _equations_of_factor(problem)
    return problem.equations(mean, np.sqrt(squares), float(moments.weight[0]))


def _equations_of_factor(problem: LeastSquaresProblem) -> NormalEquations:
    """The equations of a problem; a factorisation does without squares."""
    factor = _factor_of(problem)
    return problem.equations(factor.mean, lengths_of(factor.r), factor.weight)


@dataclass(frozen=True)
class _Ranges:
    """The least and the largest number of each column."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, design: Design, targets: np.ndarray, weights: np.ndarray | None = None) -> _Ranges:
        if isinstance(design, CSRDesign):
            x = design.merged().matrix
            return cls(x.min(axis=0).toarray().ravel(), x.max(axis=0).toarray().ravel())
        parts = [(block.min(axis=0), block.max(axis=0)) for _, block in design.blocks()]
        low, high = zip(*parts, strict=True)
        return cls(np.min(low, axis=0), np.max(high, axis=0))

    def merge(self, other: _Ranges) -> _Ranges:
        return _Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _is_out_of_range(problem: LeastSquaresProblem, squares: np.ndarray) -> bool:
    """Whether the squares of a column that is not constant have lost digits to underflow."""
    faint = squares[: problem.design.n_features] < _FAINT
    if not faint.any() or len(squares) > problem.tuning.most_square:
        return False
    ranges = problem.gathered(_Ranges.of)
    low = ranges.low if problem.fit_intercept else np.minimum(ranges.low, 0.0)
    high = ranges.high if problem.fit_intercept else np.maximum(ranges.high, 0.0)
    return bool(np.any(faint & (low < high)))


def _about(problem: LeastSquaresProblem, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Means, and scatter about them; without an intercept zero, and about zero."""
    weight, mean, scatter = float(moments.weight[0]), moments.mean[0], moments.scatter
    if problem.fit_intercept:
        return mean, scatter
    return np.zeros_like(mean), scatter + weight * np.outer(mean, mean)


def _by_cholesky(problem: LeastSquaresProblem) -> LeastSquaresSolution | None:
    """The solution from sums of products; None where they do not determine it well enough."""
    d, moments = problem.design.n_features, problem.moments()
    if not moments.finite:
        problem.require_finite()
        return None
    weight = float(moments.weight[0])
    mean, scatter = _about(problem, moments)
    noise = EPS * np.sqrt(weight) * np.abs(mean[:d])
    squares = np.diagonal(scatter)[:d]
    # Constant columns, and squares near the ends of the range, are left to the rows; but a penalty
    # holds the weight of a column of zeros at zero.
    varying = (squares > (1e4 * noise) ** 2) & (squares > _FAINT)
    if not varying.all():
        empty = (squares == 0.0) & (moments.mean[0, :d] == 0.0)
        if not (problem.ridge > 0.0 and (varying | empty).all()):
            return None
    root = _cholesky(scatter[:d, :d], problem.ridge)
    if root is None:
        return None
    across = solve_upper(root, scatter[:d, d:], transposed=True)
    inverse = NormalInverse(np.concatenate([root, across], axis=1), d, trusted=True)
    # Columns that may depend on one another but for the rounding of their entries.
    shares = (noise / np.sqrt(squares))[varying]
    if inverse.condition * float(shares.max(initial=0.0)) > _DOUBTFUL:
        return None
    equations = problem.equations(mean, np.sqrt(np.diagonal(scatter)), weight)
    found, steps, good = refine(equations, inverse, np.ascontiguousarray(inverse.solve().T))
    if not good:
        return None
    factor = None
    if problem.keep_factor and _keeps(found, inverse.condition):
        if problem.ridge > 0.0:
            root = _cholesky(scatter[:d, :d], 0.0) if varying.all() else None
        factor = TriangularFactor.from_scatter(
            weight, mean, scatter, root, moments.n_rows, d, problem.fit_intercept
        )
    elif problem.keep_factor:
        factor = _factor_of(problem)
    return LeastSquaresSolution.of(
        found, method="cholesky", steps=steps, rank=d, condition=inverse.condition, factor=factor
    )


def _keeps(found: NormalResidual, condition: float) -> bool:
    """Whether a factor that is made of sums of products keeps all digits of the rows."""
    of = found.equations
    alive, varying = of.alive & (of.lengths > 0.0), of.spread > 0.0
    offset = np.max(of.offset[alive] / of.lengths[alive], initial=0.0)
    # Targets that the columns explain to the last digits leave a residual that a difference of
    # sums would lose.
    fit = np.min(np.sqrt(found.rss)[varying] / of.spread[varying], initial=1.0)
    return bool(condition <= _KEPT and offset <= _KEPT_OFFSET and fit * _KEPT_FIT >= 1.0)


def _cholesky(inner: np.ndarray, ridge: float) -> np.ndarray | None:
    """The upper factor of ``inner + ridge I``, if its condition number leaves digits."""
    if ridge > 0.0:
        inner = inner.copy()
        inner.flat[:: len(inner) + 1] += ridge
    factor = Factor.of(inner)
    if factor is None or not factor.condition <= _CHOLESKY_LIMIT:
        return None
    return np.ascontiguousarray(factor.lower.T / factor.scale)


def _factor_of(problem: LeastSquaresProblem) -> TriangularFactor:
    factor: TriangularFactor = problem.gathered(
        partial(TriangularFactor.of, fit_intercept=problem.fit_intercept)
    )
    return factor


def _by_factor(problem: LeastSquaresProblem) -> LeastSquaresSolution:
    """The solution from the triangular factor, which loses nothing that float64 can hold."""
    factor = _factor_of(problem)
    if not np.isfinite(factor.r).all():
        problem.refuse()
    equations = problem.equations(factor.mean, lengths_of(factor.r), factor.weight)
    solution = factor.solve_for(equations)
    keep = factor.r.size <= max(_FACTOR_ENTRIES, problem.design.n_features**2)
    keep = keep and problem.keep_factor
    return solution if keep else replace(solution, factor=None)


def _by_rows(problem: LeastSquaresProblem) -> LeastSquaresSolution | None:
    """Far more columns than rows: from the products of rows with rows, ``w = A' v``."""
    design, d, n = problem.design, problem.design.n_features, problem.design.n_samples
    equations = _equations_of(problem)
    if not equations.finite:
        problem.require_finite()
        return None
    root, weight = problem.roots, equations.weight
    used = root > 0.0
    gram = _row_products(design, equations.mean) * root[:, None] * root
    gram[np.diag_indices(n)] += problem.ridge
    # Rows without weight, and the direction that centring takes away, are given something
    # harmless: no residual has a part in them.
    typical = float(np.trace(gram)) / n or 1.0
    gram[~used, ~used] = typical
    if problem.fit_intercept:
        gram += np.outer(root, root) * (typical / max(weight, 1.0))
    # As they are: in other units the rows would have another condition number.
    factor = Factor.of(gram, np.ones(n))
    if factor is None or not factor.condition <= _CHOLESKY_LIMIT:
        return None
    right = root[:, None] * (problem.targets - equations.target_mean)
    v = np.zeros_like(right)
    best: NormalResidual | None = None
    for steps in range(MOST_STEPS):  # noqa: B007
        trial = v + factor.solve(right)
        weighted = root[:, None] * trial
        coef = design.t_dot(weighted) - np.outer(equations.mean, weighted.sum(axis=0))
        found = equations.at(np.ascontiguousarray(coef.T))
        if best is not None and not found.measure() < 0.5 * best.measure():
            break
        v, best = trial, found
        if found.measure() <= 0.5 * EPS:
            break
        right = root[:, None] * _residuals(problem, found) - problem.ridge * v
    assert best is not None
    return LeastSquaresSolution.of(
        best,
        method="rows",
        steps=steps,
        rank=d if problem.ridge > 0.0 else min(d, int(used.sum()) - int(problem.fit_intercept)),
        condition=float(np.sqrt(factor.condition)),
    )


def _residuals(problem: LeastSquaresProblem, found: NormalResidual) -> np.ndarray:
    fitted = problem.design.dot(np.ascontiguousarray(found.coef.T))
    return problem.targets - (fitted + found.intercept)


def _row_products(design: Design, mean: np.ndarray) -> np.ndarray:
    """``(X - mean)(X - mean)'``, some columns, or rows, at a time."""
    n, d = design.shape
    if isinstance(design, CSRDesign):
        x = design.matrix.astype(np.float64, copy=False)
        across = design.dot(mean)
        return (x @ x.T).toarray() - (across[:, None] + across) + float(mean @ mean)
    out = np.zeros((n, n))
    if isinstance(design, DenseDesign):
        size = max(1, _FACTOR_ENTRIES // n)
        for start in range(0, d, size):
            part = slice(start, start + size)
            block = design.matrix[:, part] - mean[part]
            add_gram_by_columns(block.T, out)
        return np.triu(out) + np.triu(out, 1).T
    size = max(1, _FACTOR_ENTRIES // d)
    for part, block in design.blocks(owned=True, size=size):
        mine = block - mean
        for others, other in design.blocks(0, part.stop, owned=True, size=size):
            out[part, others] = mine @ (other - mean).T
            out[others, part] = out[part, others].T
    return out


def _by_iteration(
    problem: LeastSquaresProblem, most: int | None = None
) -> LeastSquaresSolution | None:
    """Conjugate gradients on the centred and weighted rows, until the equations hold.

    With a limit of steps ``most``, None where they do not suffice, and where it does not become
    clear which columns depend on others: there are methods that say so.
    """
    design, d = problem.design, problem.design.n_features
    equations = _equations_of(problem)
    if not equations.finite:
        problem.require_finite() if most else problem.refuse()
        return None
    n, ridge, root = design.n_samples, problem.ridge, problem.roots
    damp = float(np.sqrt(ridge))
    # In equal units the answer is found sooner.  Where it is not unique they decide which has the
    # least norm, unless it is known what makes the difference.
    equal = most is not None or ridge > 0.0
    alive = equations.alive | (ridge > 0.0)
    scale = np.ones(d)
    if equal:
        scale = np.where(alive, 1.0 / np.where(alive, equations.penalised, 1.0), 0.0)
    lengths = equations.penalised * scale
    forward, backward = _operators(problem, equations.mean, scale)
    # To all digits, unless the tolerance is above ``_ALL``.
    precise = problem.tol <= _ALL
    share, enough = (1e-3, 1e-2) if precise else (0.1, 1.0)
    goal, limit = share * problem.tol, most or problem.tuning.iterations
    null, condition = np.empty((d, 0)), 1.0
    if most is not None and ridge == 0.0:
        found = null_space(forward, backward, lengths, most, np.random.default_rng(0))
        if found is None or found[1] > _MOST_SOLVED:
            return None
        null, condition = np.linalg.qr(found[0] * scale[:, None])[0], found[1]
    m = problem.targets.shape[1]
    best: NormalResidual | None = None
    steps = 0
    for _ in range(MOST_STEPS):
        if best is None:
            coef, residual = np.zeros((d, m)), problem.targets - equations.target_mean
        elif best.reached() <= enough * problem.tol or steps >= limit:
            break
        else:
            coef, residual = best.coef.T, _residuals(problem, best)
        right = root[:, None] * residual
        if damp:
            right = np.vstack([right, -damp * coef])
        answer, taken, estimate = cgls(
            forward, backward, right, lengths, np.full(m, goal), limit - steps
        )
        steps, condition = steps + taken, max(condition, estimate)
        coef = coef + scale[:, None] * answer
        coef = np.ascontiguousarray((coef - null @ (null.T @ coef)).T)
        trial = equations.at(coef, None if precise else equations.intercept_of(coef))
        if best is not None and not trial.measure() < best.measure():
            break
        best = trial
    assert best is not None
    if most is not None and not best.reached() <= problem.tol:
        return None
    dependent = np.flatnonzero(~alive).tolist() + _carrying(null) if equal else []
    return LeastSquaresSolution.of(
        best,
        method="cgls",
        steps=steps,
        rank=d - len(dependent) if equal else min(d, n - int(problem.fit_intercept)),
        condition=condition,
        dependent=tuple(sorted(dependent)),
        unfinished="above_tol",
    )


def _operators(
    problem: LeastSquaresProblem, mean: np.ndarray, scale: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Products with the centred, weighted and scaled rows, below which the ridge stands."""
    design, root, n = problem.design, problem.roots, problem.design.n_samples
    damp = float(np.sqrt(problem.ridge))

    def forward(z: np.ndarray) -> np.ndarray:
        w = z * scale[:, None]
        head = _product(design.dot, w) - mean @ w
        head *= root[:, None]
        return np.concatenate([head, damp * w]) if damp else head

    def backward(u: np.ndarray) -> np.ndarray:
        head = root[:, None] * u[:n]
        out = _product(design.t_dot, head) - mean[:, None] * head.sum(axis=0)
        if damp:
            out += damp * u[n:]
        out *= scale[:, None]
        return out

    return forward, backward


def _carrying(null: np.ndarray) -> list[int]:
    """Columns that carry the combinations of a null space: the others are independent."""
    if not null.shape[1]:
        return []
    order = scipy.linalg.qr(null.T, mode="r", pivoting=True)[1]
    return [int(j) for j in order[: null.shape[1]]]


def _product(product: Callable[[np.ndarray], np.ndarray], a: np.ndarray) -> np.ndarray:
    """Multiply few columns one by one, which is faster."""
    if a.shape[1] > _FEW:
        return product(a)
    return np.stack([product(np.ascontiguousarray(column)) for column in a.T], axis=1)


def _steps_of_rows(problem: LeastSquaresProblem) -> int:
    """Steps of conjugate gradients that take no longer than products of columns with columns."""
    design, d = problem.design, float(problem.design.n_features)
    one = 4.0 * design.n_stored * problem.targets.shape[1]
    return int(min(max(100.0, (design.gram_cost + d**3 / 30.0) / one), problem.tuning.iterations))


def _equations_of(problem: LeastSquaresProblem) -> NormalEquations:
    """The equations of a problem, by a pass over the rows for means and lengths."""
    if problem.in_passes:
        return _equations_of_moments(problem)
    design, targets = problem.design.merged(), problem.targets
    n, d = design.shape
    s = np.ones(n) if problem.weights is None else problem.weights
    weight = float(s.sum())
    mean, squares = np.zeros(d + targets.shape[1]), np.zeros(d + targets.shape[1])
    if weight > 0.0 and isinstance(design, CSRDesign):
        x = design.matrix
        if problem.fit_intercept:
            mean[:d] = design.t_dot(s) / weight
            mean[d:] = s @ targets / weight
        squares[:d] = design.column_squares(s)
        means = weight * mean[:d] ** 2
        if np.all(means <= 0.5 * squares[:d]):
            squares[:d] -= means
        else:
            # The stored entries, and those that are not stored.
            owners = s[np.repeat(np.arange(n), np.diff(x.indptr))]
            stored = np.bincount(x.indices, owners, minlength=d)
            parts = owners * np.square(x.data - mean[x.indices])
            squares[:d] = np.bincount(x.indices, parts, minlength=d)
            squares[:d] += (weight - stored) * mean[:d] ** 2
        squares[d:] = s @ np.square(targets - mean[d:])
    elif weight > 0.0:
        shift: np.ndarray | None = None
        first = np.zeros_like(mean)
        for part, block in design.blocks():
            rows = np.hstack([block, targets[part]])
            if shift is None:
                shift = rows.mean(axis=0) if problem.fit_intercept else np.zeros_like(mean)
            rows -= shift
            first += s[part] @ rows
            squares += s[part] @ np.square(rows, out=rows)
        if problem.fit_intercept and shift is not None:
            mean = shift + first / weight
            squares = squares - first**2 / weight
    overflow = not np.isfinite(squares).all() and len(mean) <= problem.tuning.most_square
    if overflow or _is_out_of_range(problem, squares):
        return _equations_of_factor(problem)
    return NormalEquations(problem, mean, np.sqrt(np.maximum(squares, 0.0)), weight)


def certify(
    problem: LeastSquaresProblem,
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    condition: float = np.nan,
    rank: int | None = None,
) -> ResidualCertificate:
    """Certify coefficients by the residual of the normal equations, computed from the rows.

    Parameters
    ----------
    problem : LeastSquaresProblem
        A problem of rows in memory, or in blocks.  With bounds, the residual of the equations may
        push a weight that is at a bound outwards.
    coef : ndarray of shape (m, n_features)
    intercept : ndarray of shape (m,)
    condition : float, optional
        The condition number to report in the certificate.
    rank : int, optional
        The rank to report in the certificate; all columns by default.

    Returns
    -------
    ResidualCertificate
        ``orthogonality`` is the largest, over columns and targets, of ``|a_j' r| / (|a_j| |r|)``,
        with weights, the columns about their means and that of ones beside them where there is an
        intercept, and with ``sqrt(ridge) I`` below the rows. ``relative_residual`` is the same,
        but where what is left is no more than rounding explains (8 eps, or 2 eps times the root
        of the number of columns, of the sum of the lengths of the terms of ``y - A x``), and no
        other coefficients (with bounds: those of columns that these do not hold) lower the
        objective by more than a millionth, relative to those terms;
        or, where a fit is exact to ``tol`` in every row, relative to the targets about their
        means, or to all terms about theirs where rounding of these explains it.
    """
    columns, m = problem.design.n_features, problem.targets.shape[1]
    coef = np.asarray(coef, dtype=np.float64).reshape(m, -1)
    intercept = np.broadcast_to(np.asarray(intercept, dtype=np.float64), m)
    with np.errstate(all="ignore"):
        problem, unit = problem.in_units()
        if unit is not None:
            coef, intercept = coef * unit[:, None], intercept * unit
        found = _equations_of(problem).at(np.ascontiguousarray(coef), np.array(intercept))
        return found.certificate(columns if rank is None else rank, condition, "above_tol")
