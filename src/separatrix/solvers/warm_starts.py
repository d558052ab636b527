r"""Starting points along a path of strengths: each fit goes on from the fits before it.

Along a path the problem keeps its data and its penalty, and :math:`C` grows.  The optimal
multipliers :math:`\alpha_i(C)` are followed in logarithms: with the rate of growth of a multiplier
in the last two fits,

.. math:: \kappa_i = \frac{\log \alpha_i(C_1) - \log \alpha_i(C_0)}{\log C_1 - \log C_0},
    \qquad \alpha_i(C) \approx \alpha_i(C_1)\, (C / C_1)^{\kappa_i},

held between -1 and 1.  A multiplier at the upper end of its range has the rate one, and stays
there; one inside has a rate near zero where the weights have settled, and keeps its value.  This
needs no distinction between losses.  Weights follow the straight line in :math:`\log C`.

Chu, Ho, Tsai, Lin and Lin (2015), Warm start for parameter selection of linear classifiers, compare
starts from the multipliers as they are and scaled by :math:`C/C_1`; both are limits of this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import Design
from separatrix.objectives.base import LinearProblem, Objective
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Solver

#: The part of the tolerance of a fit of a path that rounding may have before it is bounded more
#: closely, which takes longer than such a fit.
ROUNDING_SHARE = 0.5


@dataclass(frozen=True)
class _Point:
    """The state at the end of a fit: the point, and for a loss of the margin the multipliers."""

    C: float
    theta: np.ndarray
    alpha: np.ndarray | None
    # The name of the method, and the results that it has kept for the next fit.
    kept: tuple[str, Any] | None


class Continuation:
    """The fits along one path, for every part of a model; gives the next one its start.

    Two points are kept for each part: two vectors of parameters, and where the loss is one of the
    margin two of the rows, in float32, since they are no more than a hint.
    """

    def __init__(self) -> None:
        self._points: dict[int, tuple[_Point, _Point | None]] = {}

    def start(self, part: int, problem: LinearProblem) -> dict[str, Any]:
        """``theta`` and ``residual`` for :func:`~separatrix.solvers.driver.minimise`.

        Parameters
        ----------
        part : int
            The number of the problem among those of the model.
        problem : LinearProblem

        Returns
        -------
        dict
            The two arguments; empty at the first fit, and where the fits before are of no use.
        """
        if part not in self._points or not _followed(problem):
            return {}
        last, before = self._points[part]
        if last.theta.shape != problem.shape:
            return {}
        ahead = np.log(problem.C / last.C)
        theta = last.theta
        if before is not None:
            theta = theta + ahead / np.log(last.C / before.C) * (theta - before.theta)
        if last.alpha is None or not isinstance(problem, PointwiseObjective):
            return {"theta": theta}
        residual = -problem.y * _predicted(last, before, ahead)
        if problem.coupled:
            # The point is its own dual point, and has to be feasible.
            residual = -problem.y * problem.multipliers(residual)
            residual = problem.balanced(residual) if problem.balances else residual
            return {"theta": problem.join(-residual, theta[-1]), "residual": residual}
        return {"theta": theta, "residual": residual}

    def method(self, part: int, solver: Solver) -> Solver:
        """The method of the next fit, with the results that it kept from the fit before."""
        last = self._points[part][0].kept if part in self._points else None
        if last is None or last[1] is None or last[0] != solver.name:
            return solver
        return solver.continued(last[1])

    def add(
        self, part: int, problem: LinearProblem, solution: Solution, solver: Solver | None = None
    ) -> None:
        """Add the fit that followed; fits of equal strength replace one another."""
        if not _followed(problem) or not np.all(np.isfinite(solution.theta)):
            self._points.pop(part, None)
            return
        alpha = None
        if isinstance(problem, PointwiseObjective) and solution.residual is not None:
            alpha = problem.multipliers(solution.residual).astype(np.float32)
        kept = None if solver is None else (solver.name, solver.kept(problem, solution.state))
        point = _Point(problem.C, solution.theta, alpha, kept)
        earlier = self._points.get(part)
        before = None if earlier is None else earlier[0]
        if before is not None and before.C == point.C:
            before = earlier[1] if earlier is not None else None
        self._points[part] = (point, before)


def _followed(problem: LinearProblem) -> bool:
    """Whether strengths of this problem make a path: without a penalty there is none."""
    return isinstance(problem, Objective) and problem.penalty.shrinks


def _predicted(last: _Point, before: _Point | None, ahead: float) -> np.ndarray:
    assert last.alpha is not None
    alpha = last.alpha.astype(np.float64)
    if before is None or before.alpha is None:
        return alpha * np.exp(ahead)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.log(alpha / before.alpha) / np.log(last.C / before.C)
    rate = np.where(np.isfinite(rate), np.clip(rate, -1.0, 1.0), 0.0)
    return alpha * np.exp(ahead * rate)


def mean_square(design: Design, weights: np.ndarray | None = None, *, centred: bool) -> float:
    r"""The weighted mean of the squared lengths of the rows, from their mean where ``centred``.

    It is a path's scale: since :math:`w = \sum_i \alpha_i y_i x_i` with :math:`\alpha_i \le C s_i`
    where the loss has slopes of at most one, rows of this length score about one at most at
    ``lam`` equal to it, and all still weigh about the same.
    """
    weights = np.ones(design.n_samples) if weights is None else weights
    total = float(weights.sum())
    square = float(np.sum(weights * design.row_squares()))
    return mean_square_of(total, square, design.t_dot(weights) if centred else None)


def mean_square_of(total: float, squares: float, rows: np.ndarray | None) -> float:
    """The mean square from the weighted sums of one, of the squared lengths, and of the rows.

    ``rows`` is None for lengths that are not taken from the mean.
    """
    square = squares / total
    if rows is not None:
        spread = square - float(np.sum(np.square(rows / total)))
        # A spread that is the rounding error of a mean far from zero is no scale.
        square = spread if spread > 1e-12 * square else square
    return square if 0.0 < square < np.inf else 1.0
