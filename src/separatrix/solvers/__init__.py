"""Solvers, and the documented choice between them."""

from __future__ import annotations

import numpy as np

from separatrix.objective import DENSE_HESSIAN, LinearProblem
from separatrix.solvers.augmented_lagrangian import AugmentedLagrangian
from separatrix.solvers.driver import Solver
from separatrix.solvers.dual_descent import DualDescent
from separatrix.solvers.newton import Newton

__all__ = ["SOLVERS", "AugmentedLagrangian", "DualDescent", "Newton", "select_solver"]

# The names that a user may give, turned into objects at the models' edge.
SOLVERS: dict[str, type] = {
    "newton": Newton,
    "dual": DualDescent,
    "augmented-lagrangian": AugmentedLagrangian,
}


def select_solver(problem: LinearProblem) -> Solver:
    """The solver for a problem, by what it is capable of and by its size.

    ==========================  =====================  ======================================
    loss                        parameters             solver
    ==========================  =====================  ======================================
    with curvature              any                    :class:`Newton`: factorised where the
                                                       Hessian pays off, else by conjugate
                                                       gradients
    with a kink                 up to 2,500            :class:`AugmentedLagrangian`
    with a kink                 more                   :class:`DualDescent`
    ==========================  =====================  ======================================

    Parameters
    ----------
    problem : LinearProblem

    Returns
    -------
    Solver

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.design import as_design
    >>> from separatrix.losses import Hinge
    >>> from separatrix.objective import MarginObjective
    >>> from separatrix.solvers import select_solver
    >>> problem = MarginObjective(as_design(np.eye(2)), np.array([-1.0, 1.0]), Hinge())
    >>> type(select_solver(problem)).__name__
    'AugmentedLagrangian'
    """
    if getattr(problem, "smooth", False):
        return Newton()
    if int(np.prod(problem.shape)) <= DENSE_HESSIAN:
        return AugmentedLagrangian()
    return DualDescent()
