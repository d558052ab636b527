r"""Least squares with weights between bounds.

Minimised is, under :math:`l \le w_k \le u` for the weights of every target,

.. math::
    \tfrac12 \sum_i s_i \|y_i - W x_i - b\|^2 + \tfrac{\rho}{2} \|W\|^2 .

A point is optimal if and only if what is left of the normal equations is zero where a weight is
between its bounds, and pushes no weight inwards that is at one of them (Karush, 1939; Kuhn and
Tucker, 1951).  Which weights are at their bounds is found on the triangular factor of the rows, by
block pivoting (Portugal, Judice and Vicente, 1994), and where the bounds are zero and infinity by
the active set method of Lawson and Hanson (1974), as SciPy has it; then the columns that are free
are solved for as always, to all digits that the rows determine, and what is left at all columns is
the certificate.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from separatrix._compiled import pool
from separatrix._compiled.linear_algebra import lengths_of
from separatrix._compiled.rounding import EPS
from separatrix.closed_form import least_squares
from separatrix.closed_form.normal_equations import (
    LeastSquaresProblem,
    NormalEquations,
)
from separatrix.closed_form.triangular import LeastSquaresSolution, TriangularFactor

# Columns whose triangular factor still fits into memory.
_MOST_COLUMNS = 8192
# Times that the free columns may change after the first choice, for each of them.
_CHANGES = 3
# Exchanges of blocks that may leave as many columns wrong as before, until single ones are made.
_PATIENCE = 10


def solve(problem: LeastSquaresProblem) -> LeastSquaresSolution:
    """Minimise ``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2`` between bounds of ``W``.

    Parameters
    ----------
    problem : LeastSquaresProblem
        A problem of rows in memory, with bounds if there are any; the intercept has none.

    Returns
    -------
    LeastSquaresSolution
        With bounds its rank and condition number are those of the free columns, the worst over the
        targets.

    Raises
    ------
    ValueError
        For NaN or infinity in the design, named by row and column, or more than 8,192 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.closed_form.bounded import solve
    >>> from separatrix.closed_form.normal_equations import LeastSquaresProblem, for_all_targets
    >>> from separatrix.data.design import as_design
    >>> X, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [1.0], [-1.0]])
    >>> bounds = for_all_targets((np.array([0.0, -np.inf]), np.array([1.25, np.inf])))
    >>> problem = LeastSquaresProblem(as_design(X), y, bounds=bounds, fit_intercept=False)
    >>> solve(problem).coef.round(12).tolist()
    [[1.25, -0.625]]
    """
    if problem.bounds is None:
        return least_squares.solve(problem)
    d = problem.design.n_features
    if d > _MOST_COLUMNS:
        raise ValueError(
            "Weights between bounds need a square matrix over all columns, which is too large for "
            f"{d:,} columns; keep at most {_MOST_COLUMNS:,}."
        )
    scaled, unit = problem.in_units()
    with pool.one_blas_thread(), np.errstate(all="ignore"):
        factor = TriangularFactor.of(
            scaled.design, scaled.targets, scaled.weights, scaled.fit_intercept
        )
        if not np.isfinite(factor.r).all():
            scaled.refuse()
        lengths = lengths_of(factor.r)
        parts = [_one_target(scaled, factor, lengths, k) for k in range(scaled.targets.shape[1])]
        equations = NormalEquations(scaled, factor.mean, lengths, factor.weight)
        found = LeastSquaresSolution.of(
            equations.at(np.stack([part.coef for part in parts])),
            method="bounded",
            steps=sum(part.steps for part in parts),
            rank=min(part.rank for part in parts),
            condition=max(part.condition for part in parts),
            unfinished="above_tol",
        ).in_units(unit, lambda: equations)
    return least_squares.narrowed(problem, found) if problem.single else found


class _Found(NamedTuple):
    """The weights of one target, and of the free columns their rank and condition number."""

    coef: np.ndarray
    rank: int
    condition: float
    steps: int


def _one_target(
    problem: LeastSquaresProblem, factor: TriangularFactor, lengths: np.ndarray, k: int
) -> _Found:
    d = problem.design.n_features
    columns = [*range(d), d + k]
    assert problem.bounds is not None
    lower, upper = (np.broadcast_to(end, (d, problem.targets.shape[1])) for end in problem.bounds)
    own = replace(
        problem,
        targets=np.ascontiguousarray(problem.targets[:, k : k + 1]),
        bounds=(lower[:, k : k + 1], upper[:, k : k + 1]),
    )
    low, high = lower[:, k], upper[:, k]
    equations = NormalEquations(own, factor.mean[columns], lengths[columns], factor.weight)
    held = _chosen(factor, d + k, own, equations)
    seen: set[bytes] = set()
    best, least, steps = _Found(np.zeros(d), 0, 1.0, 0), np.inf, 0
    while held.tobytes() not in seen and steps <= _CHANGES * d:
        seen.add(held.tobytes())
        steps += 1
        point, rank, condition = _solved(own, held)
        at_end = np.where(point <= low, low, np.where(point >= high, high, np.nan))
        # At an end but for rounding, or of columns that depend on one another.
        point = np.clip(point, low, high)
        left = equations.at(point[None, :])
        measure = left.measure()
        if measure < least:
            best, least = _Found(point, rank, condition, steps), measure
        kept = np.where(np.isnan(held), at_end, held)
        if np.array_equal(kept, held, equal_nan=True):
            pushed = np.where(np.isnan(held) | (low == high), 0.0, np.abs(left.inward()[:, 0]))
            pushed[~equations.alive] = 0.0
            j = int(np.argmax(pushed / np.where(equations.penalised > 0.0, lengths[:d], 1.0)))
            if least <= problem.tol or not pushed[j] > 0.0:
                break
            kept[j] = np.nan
        held = kept
    return best._replace(steps=steps)


def _chosen(
    factor: TriangularFactor, column: int, problem: LeastSquaresProblem, equations: NormalEquations
) -> np.ndarray:
    """The values at which the factor holds the columns; NaN for those that are free."""
    d = factor.n_features
    assert problem.bounds is not None
    low, high = (end[:, 0] for end in problem.bounds)
    held = np.zeros(d)
    if not math.isfinite(problem.ridge):
        # The certificate of weights of zero says that the penalty has overflowed.
        return held
    alive = np.flatnonzero(equations.alive & (equations.penalised > 0.0) & (low < high))
    rows, right = factor.r[:, alive], factor.r[:, column]
    if problem.ridge > 0.0:
        rows = np.vstack([rows, np.sqrt(problem.ridge) * np.eye(len(alive))])
        right = np.concatenate([right, np.zeros(len(alive))])
    size = float(np.linalg.norm(right))
    if not (len(alive) and len(rows) and size > 0.0):
        # Weights that no bound holds are solved for as always.
        held[alive[(low[alive] < 0.0) & (high[alive] > 0.0)]] = np.nan
        return held
    scale = equations.penalised[alive]
    if not problem.nonnegative:
        ends = low[alive] * scale / size, high[alive] * scale / size
        place = _pivoted(rows / scale, right / size, *ends)
        held[alive] = np.choose(place, [low[alive], np.nan, high[alive]])
        return held
    try:
        # Compiled, and so for the most common bounds much sooner there.
        found = scipy.optimize.nnls(rows / scale, right / size, maxiter=10 * d + 300)[0]
    except RuntimeError:
        # It went in circles: the changes that follow begin with all columns.
        found = np.ones(len(alive))
    held[alive[found > 0.0]] = np.nan
    return held


def _pivoted(rows: np.ndarray, right: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The place of each weight of bounded least squares: 0 at the low end, 1 free, 2 at the high.

    All columns that are on the wrong side change it at once; where that no longer leaves fewer of
    them, the last one alone does, which ends (Murty, 1974).
    """
    place = np.ones(len(low), dtype=np.intp)
    fewest, patience = len(low) + 1, _PATIENCE
    for _ in range(_CHANGES * len(low) + _PATIENCE):
        free = place == 1
        point = np.where(free, 0.0, np.where(place == 0, low, high))
        if free.any():
            point[free] = np.linalg.lstsq(rows[:, free], right - rows @ point, rcond=None)[0]
        slope = rows.T @ (right - rows @ point)
        # Slopes that are only rounding count as zero.
        slope[np.abs(slope) <= 4.0 * EPS] = 0.0
        ahead = np.where(free, np.where(point < low, 0, np.where(point > high, 2, 1)), place)
        ahead[((place == 0) & (slope > 0.0)) | ((place == 2) & (slope < 0.0))] = 1
        wrong = np.flatnonzero(ahead != place)
        if not len(wrong):
            break
        if len(wrong) < fewest:
            fewest, patience = len(wrong), _PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        place[wrong] = ahead[wrong]
    return place


def _solved(problem: LeastSquaresProblem, held: np.ndarray) -> tuple[np.ndarray, int, float]:
    """The weights of least squares on the free columns, the others held where they are."""
    free = np.flatnonzero(np.isnan(held))
    point = np.where(np.isnan(held), 0.0, held)
    if not len(free):
        return point, 0, 1.0
    targets = problem.targets
    if point.any():
        targets = targets - problem.design.dot(point)[:, None]
    design, own = problem.design.columns(free), replace(problem, targets=targets, bounds=None)
    found = least_squares.solve(replace(own, design=design, names=None, single=False))
    point[free] = found.coef[0]
    return point, found.rank, found.condition
