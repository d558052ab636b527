"""Solvers, and the documented choice between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.kernels.nu import KernelNuObjective
from separatrix.kernels.objective import KernelHardMarginObjective, KernelObjective
from separatrix.objectives.base import DENSE_HESSIAN, LinearProblem, Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers import forecast, small_newton, small_softmax_newton
from separatrix.solvers.augmented_lagrangian import AugmentedLagrangian
from separatrix.solvers.column_descent import ColumnDescent
from separatrix.solvers.decomposition import Decomposition
from separatrix.solvers.dual_descent import DualDescent
from separatrix.solvers.hard_margin import HardMargin
from separatrix.solvers.interior_point import InteriorPoint
from separatrix.solvers.newton import Newton
from separatrix.solvers.protocol import Solver
from separatrix.solvers.proximal_newton import ProximalNewton
from separatrix.solvers.proximal_quasi_newton import ProximalQuasiNewton
from separatrix.solvers.quasi_newton import QuasiNewton
from separatrix.solvers.scale_continuation import ScaleContinuation
from separatrix.solvers.screening import Screening
from separatrix.solvers.smoothing import Smoothing
from separatrix.solvers.switching import Switching
from separatrix.solvers.two_level_preconditioner import TwoLevelPreconditioner
from separatrix.solvers.two_levels import TwoLevels

__all__ = [
    "SOLVERS",
    "AugmentedLagrangian",
    "ColumnDescent",
    "Decomposition",
    "DualDescent",
    "HardMargin",
    "InteriorPoint",
    "Newton",
    "ProximalNewton",
    "ProximalQuasiNewton",
    "QuasiNewton",
    "ScaleContinuation",
    "Screening",
    "Smoothing",
    "Switching",
    "TwoLevels",
    "select_solver",
]

# The names that a user may give, turned into objects at the models' edge.  The hard margin and
# the kernel machines have one solver each, which needs no name.
SOLVERS: dict[str, type] = {
    method.name: method
    for method in (
        Newton,
        QuasiNewton,
        DualDescent,
        AugmentedLagrangian,
        InteriorPoint,
        ProximalNewton,
    )
}


def select_solver(problem: LinearProblem) -> Solver:
    """The solver for a problem, by its capabilities and its size.

    ================  ==================  ==================================================
    problem           Hessian             solver
    ================  ==================  ==================================================
    smooth loss       cheap on a sample   :class:`QuasiNewton`
    smooth loss, L2   up to 2,500         the least forecast of :class:`QuasiNewton` and
                      parameters          :class:`Newton` with a Hessian or with products
    smooth loss, L2   larger              :class:`Newton` with products, of sparse rows with two
                                          levels of columns where that is forecast to be less
    kinked loss, L2   up to 2,500         the least forecast of :class:`InteriorPoint` and, where
                      parameters          many rows are left out, :class:`AugmentedLagrangian`
    kinked loss, L2   larger              :class:`DualDescent`
    the last four     not as cheap as 20  :class:`Switching`: :class:`DualDescent`, and that method
    above             passes              as soon as its passes fall behind the forecast
    other smooth      cheap or dear       :class:`Newton`
    loss
    none, but         cheap or dear       :class:`HardMargin`
    constraints
    squared loss of   cheap or dear       :class:`ColumnDescent`
    dense rows,
    penalty with L1
    other smooth      cheap or dear       :class:`ProximalNewton`
    loss, penalty
    with L1
    with a kink,      cheap or dear       :class:`InteriorPoint` where the Hessian is cheap, for
    without a step                        at most 20,000 rows a column, and otherwise
    in the dual                           :class:`Smoothing`: the method for smooth losses, on
                                          smooth ones that come ever closer
    with a kink,      cheap or dear       :class:`Smoothing`
    penalty with L1
    with a scale      cheap or dear       :class:`ScaleContinuation`: the method for smooth losses,
    of its own                            and where the scale falls to nothing in stages of it
    any, of a         a Gram matrix       :class:`Decomposition`
    kernel machine
    the hinge, of     a sum over blocks   :class:`Screening`: the rows near the kink in memory, by
    data in passes                        one of the above
    smooth loss of    cheap on frequent   :class:`TwoLevels`
    wide sparse       columns
    data in passes
    ================  ==================  ==================================================

    A sample is used from 100,000 stored entries on, 400,000 with a loss whose rows can lose all
    curvature, as those of a squared hinge do; where it leaves out two thirds of the rows or more,
    where forming its Hessian costs little compared with the passes over all rows, and where the
    factorisation, which no sample makes cheaper, takes less than forming it from all
    (:meth:`QuasiNewton.pays`); without a penalty
    where the Hessian costs two passes or more; for several outputs under an L2 penalty where that
    is forecast to be less; for data that are read in passes always.  Where no rows can be left out,
    and a Hessian costs as much as ten passes, :class:`QuasiNewton` begins with its diagonal, under
    a penalty.

    :class:`ProximalNewton` begins at the optimum of such a sample from 20,000 rows on, for one
    output.

    The forecasts (:mod:`separatrix.solvers.forecast`) count the multiplications of passes, of
    Hessians and of their factors, at speeds that are constants of the library, so that the same
    data lead to the same method at all times.  How many passes dual descent takes depends on the
    data: where even the least number for a loss of such a curvature on rows of such a length is too
    many, it is left out (with a kink, where the other method costs less than 20 passes); otherwise
    the rate at which its first passes close the gap predicts how many are left.  It hands over its
    point and its multipliers, once and for all.  ``verbose=1`` prints the forecast and the methods
    that begin and take over, and ``record=True`` keeps both in ``trace_``.
    Where fewer rows than columns keep a curvature, as with a squared hinge on separable rows, the
    forecast of the steps of second order grows as the penalty becomes weaker, until the multipliers
    of the first passes show that most rows keep one.  Small problems have
    compiled Newton steps, which are taken without a forecast or a sample: up to 120,000 entries and
    80 parameters of a smooth loss, 500,000 and 160 of one with a kink, and 20,000 and 64 of sparse
    rows; for losses of the residual as well as of the margin, and for several classes up to 64
    parameters together.  Without a penalty, or for several outputs at once, there is no dual
    descent; for several outputs :class:`Newton` otherwise takes a Hessian or products, whichever is
    forecast to be less.  The forecast of products, for one output and for several, grows with the
    collinearity of the columns (:attr:`Design.collinearity`, which compares a few rows with one
    another).

    Parameters
    ----------
    problem : LinearProblem

    Returns
    -------
    Solver

    Raises
    ------
    TypeError
        For a loss with a kink and no penalty, or one with a kink of its own (L1).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.losses import Hinge
    >>> from separatrix.objectives.margin import MarginObjective
    >>> from separatrix.solvers import select_solver
    >>> problem = MarginObjective(as_design(np.eye(2)), np.array([-1.0, 1.0]), Hinge())
    >>> type(select_solver(problem)).__name__
    'AugmentedLagrangian'
    """
    if isinstance(problem, KernelObjective | KernelHardMarginObjective | KernelNuObjective):
        return Decomposition()
    if problem.constrained:
        return HardMargin()
    if problem.in_passes and not problem.smooth:
        return Screening(select_solver)
    if problem.in_passes:
        if TwoLevels().pays(problem):
            return TwoLevels()
        if problem.penalty.kinked:  # type: ignore[attr-defined]
            return ProximalQuasiNewton()
        scaled = hasattr(problem, "with_least_scale")
        return ScaleContinuation(QuasiNewton()) if scaled else QuasiNewton()
    if isinstance(problem, ResidualObjective) and small_newton.fits(problem):
        # No sample, and no envelopes of a loss that has compiled ones, is worth it.
        return Newton() if problem.smooth else AugmentedLagrangian()
    if isinstance(problem, PointwiseObjective) and problem.loss.smoothable:
        stepping = hasattr(problem.loss, "dual_step") and problem.penalty.ridge
        # A slope that is flat where the weights are zero is as bad as a kink.
        if problem.penalty.kinked:
            return Smoothing(select_solver)
        if not (problem.smooth or stepping):
            few = problem.design.n_samples <= _TALL * problem.design.n_features
            inside = few and InteriorPoint.suits(problem) and Newton().is_dense(problem)
            return InteriorPoint() if inside else Smoothing(select_solver)
    if isinstance(problem, Objective) and problem.penalty.kinked:
        return ColumnDescent() if ColumnDescent.suits(problem) else ProximalNewton()
    if isinstance(problem, Objective) and hasattr(problem, "with_least_scale"):
        return ScaleContinuation(QuasiNewton() if QuasiNewton().pays(problem) else Newton())
    small = isinstance(problem, Objective) and (
        (problem.smooth and small_newton.fits(problem)) or small_softmax_newton.fits(problem)
    )
    if not small and isinstance(problem, Objective) and QuasiNewton().pays(problem):
        return QuasiNewton()
    ridge = isinstance(problem, Objective) and problem.penalty.ridge
    if ridge and isinstance(problem, MarginObjective) and hasattr(problem.loss, "dual_step"):
        return _chosen(problem)
    if problem.smooth:
        return Newton()
    if ridge and Newton().is_dense(problem):
        return AugmentedLagrangian()
    raise TypeError(
        "No solver takes a loss with a kink without a penalty; a small penalty makes it solvable."
    )


# The number of rows for each column above which a loss with a kink takes less time as a sequence of
# smooth losses, which begin on a sample, than by the interior-point method.
_TALL = 20_000
# The least cost of another method, in passes of dual descent, for a few of these to be worth it.
_WORTH = 20.0


def _chosen(problem: MarginObjective) -> Solver:
    """The method of the least forecast; unless its cost is small, dual descent begins."""
    if small_newton.fits(problem):
        # A few dozen of their steps take less time than a trial of another method.
        return Newton() if problem.smooth else AugmentedLagrangian()
    expected: list[tuple[float, Any]] = []
    if problem.smooth:
        expected.append((forecast.conjugate_gradients(problem), Newton(dense=False)))
        if TwoLevelPreconditioner.suit(problem) and problem.loss.unattained:
            expected.append((forecast.two_levels(problem), Newton(dense=False, levels=True)))
    if int(np.prod(problem.shape)) <= DENSE_HESSIAN:
        if problem.smooth:
            expected.append((forecast.newton(problem), Newton(dense=True)))
            expected.append((forecast.quasi_newton(problem), QuasiNewton()))
        else:
            expected.append((forecast.augmented_lagrangian(problem), AugmentedLagrangian()))
            if InteriorPoint.suits(problem):
                expected.append((forecast.interior_point(problem), InteriorPoint()))
    if not expected:
        return DualDescent()
    cost, solver = min(expected, key=lambda pair: pair[0])
    a_pass = forecast.visits(problem)
    # Dual descent is tried in any case where its passes are expected to cost less.
    if cost >= a_pass * _WORTH or 0.0 < forecast.passes(problem, 1e-6) * a_pass < cost:
        dense = isinstance(solver, Newton) and solver.dense
        calm = forecast.newton(problem, changing=False) / a_pass if dense else None
        solver = Switching(solver, cost / a_pass, calm=calm)
    known = {method.name: cost / a_pass for cost, method in sorted(expected, key=lambda p: -p[0])}
    solver.forecast = {DualDescent.name: math.nan, **known}
    chosen: Solver = solver
    return chosen
