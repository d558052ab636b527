r"""Least squares with weights that are not negative.

Minimised is, under :math:`W \ge 0`,

.. math::
    \tfrac12 \sum_i s_i \|y_i - W x_i - b\|^2 + \tfrac{\rho}{2} \|W\|^2 .

A point is optimal if and only if what is left of the normal equations is zero where a weight is
above zero, and does not push a weight up where it is zero (Karush, 1939; Kuhn and Tucker, 1951).
Which weights are above zero is found on the triangular factor of the rows by the active set method
of Lawson and Hanson (1974), as SciPy has it; then the columns in use are solved for as always, to
all digits that the rows determine, and what is left at all columns is the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from separatrix._compiled.linear_algebra import lengths_of
from separatrix.closed_form.least_squares import solve_least_squares
from separatrix.closed_form.normal_equations import (
    LeastSquaresProblem,
    NormalEquations,
)
from separatrix.closed_form.triangular import LeastSquaresSolution, TriangularFactor, units_of
from separatrix.data.design import Design

__all__ = ["solve_nonnegative"]

# Columns whose triangular factor still fits into memory.
_MOST_COLUMNS = 8192
# Times that the columns in use may change after the first choice, for each of them.
_CHANGES = 3


def solve_nonnegative(
    design: Design,
    targets: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-10,
    names: Sequence[str] | None = None,
) -> LeastSquaresSolution:
    """Minimise ``1/2 sum_i s_i |y_i - W x_i - b|^2 + ridge/2 |W|^2`` where ``W >= 0``.

    Parameters
    ----------
    design : Design
    targets : ndarray of float64, shape (n_samples, m)
    weights : ndarray of float64, shape (n_samples,), optional
    ridge : float, default=0.0
    fit_intercept : bool, default=True
        The intercept may have either sign.
    tol : float, default=1e-10
        Of the certificate.
    names : sequence of str, optional
        Names of the columns, for messages.

    Returns
    -------
    LeastSquaresSolution
        Its rank and condition number are those of the columns in use, the worst over the targets.

    Raises
    ------
    ValueError
        For NaN or infinity in the design, named by row and column, or more than 8,192 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.closed_form.nonnegative import solve_nonnegative
    >>> from separatrix.data.design import as_design
    >>> X, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [1.0], [-1.0]])
    >>> solve_nonnegative(as_design(X), y, fit_intercept=False).coef.round(12).tolist()
    [[1.5, 0.0]]
    """
    d = design.n_features
    if d > _MOST_COLUMNS:
        raise ValueError(
            "Nonnegative weights need a square matrix over all columns, which is too large for "
            f"{d:,} columns; keep at most {_MOST_COLUMNS:,}."
        )
    targets = np.asarray(targets, dtype=np.float64)
    unit = units_of(targets, weights)
    scaled = targets if unit is None else targets * unit
    problem = LeastSquaresProblem(
        design, scaled, weights, float(ridge), bool(fit_intercept), tol, names, nonnegative=True
    )
    with np.errstate(all="ignore"):
        factor = TriangularFactor.of(design, scaled, weights, bool(fit_intercept))
        if not np.isfinite(factor.r).all():
            problem.refuse()
        lengths = lengths_of(factor.r)
        parts = [_one_target(problem, factor, lengths, k) for k in range(targets.shape[1])]
        equations = NormalEquations(problem, factor.mean, lengths, factor.weight)
        solution = LeastSquaresSolution.of(
            equations.at(np.stack([part.coef for part in parts])),
            method="nnls",
            steps=sum(part.steps for part in parts),
            rank=min(part.rank for part in parts),
            condition=max(part.condition for part in parts),
            unfinished="above_tol",
        )
    return solution.in_units(unit)


class _Found(NamedTuple):
    """The weights of one target, and of the columns in use their rank and condition number."""

    coef: np.ndarray
    rank: int
    condition: float
    steps: int


def _one_target(
    problem: LeastSquaresProblem, factor: TriangularFactor, lengths: np.ndarray, k: int
) -> _Found:
    d = problem.design.n_features
    columns = [*range(d), d + k]
    own = replace(problem, targets=np.ascontiguousarray(problem.targets[:, k : k + 1]))
    equations = NormalEquations(own, factor.mean[columns], lengths[columns], factor.weight)
    used = _chosen(factor, d + k, problem.ridge, equations)
    seen: set[bytes] = set()
    best, least, steps = _Found(np.zeros(d), 0, 1.0, 0), np.inf, 0
    while used.tobytes() not in seen and steps <= _CHANGES * d:
        seen.add(used.tobytes())
        steps += 1
        point, rank, condition = _solved(own, used)
        kept = used[point[used] > 0.0]
        # Zero but for rounding, or of columns that depend on one another.
        point = np.maximum(point, 0.0)
        left = equations.at(point[None, :])
        measure = left.measure()
        if measure < least:
            best, least = _Found(point, rank, condition, steps), measure
        if len(kept) == len(used):
            pushed = np.where(point > 0.0, 0.0, left.gradient[:, 0])
            pushed[~equations.alive] = 0.0
            j = int(np.argmax(pushed / np.where(equations.penalised > 0.0, lengths[:d], 1.0)))
            if least <= problem.tol or not pushed[j] > 0.0:
                break
            kept = np.sort(np.append(used, j))
        used = kept
    return best._replace(steps=steps)


def _chosen(
    factor: TriangularFactor, column: int, ridge: float, equations: NormalEquations
) -> np.ndarray:
    """The columns with weights above zero, by the factor."""
    d = factor.n_features
    alive = np.flatnonzero(equations.alive & (equations.penalised > 0.0))
    rows, right = factor.r[:, alive], factor.r[:, column]
    if ridge > 0.0:
        rows = np.vstack([rows, np.sqrt(ridge) * np.eye(len(alive))])
        right = np.concatenate([right, np.zeros(len(alive))])
    size = float(np.linalg.norm(right))
    if not (len(alive) and len(rows) and size > 0.0):
        return np.empty(0, dtype=np.intp)
    try:
        found = scipy.optimize.nnls(
            rows / equations.penalised[alive], right / size, maxiter=10 * d + 300
        )[0]
    except RuntimeError:
        # It went in circles: the changes below begin with all columns.
        return alive
    return alive[found > 0.0]


def _solved(problem: LeastSquaresProblem, used: np.ndarray) -> tuple[np.ndarray, int, float]:
    """The weights of least squares on some columns, of either sign; zero for the others."""
    point = np.zeros(problem.design.n_features)
    if not len(used):
        return point, 0, 1.0
    found = solve_least_squares(
        problem.design.columns(used),
        problem.targets,
        weights=problem.weights,
        ridge=problem.ridge,
        fit_intercept=problem.fit_intercept,
        tol=problem.tol,
    )
    point[used] = found.coef[0]
    return point, found.rank, found.condition
