"""Starts along a path are near the optimum, feasible where they must be, and save passes."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.data.design import as_design
from separatrix.kernels import RBFKernel
from separatrix.kernels.gram import Gram
from separatrix.kernels.objective import KernelObjective
from separatrix.losses import Hinge, LogLoss, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import Decomposition, DualDescent, QuasiNewton
from separatrix.solvers.driver import minimise
from separatrix.solvers.quasi_newton import Tuning
from separatrix.solvers.warm_starts import Continuation, mean_square

STRENGTHS = np.geomspace(1e-3, 0.3, 12)


def data(n: int = 200, d: int = 30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def steps(loss, *, followed: bool, tol: float = 1e-4) -> list[int]:
    X, y = data()
    design, chain, out = as_design(X), Continuation(), []
    for C in STRENGTHS:
        problem = MarginObjective(design, y, loss, C=C)
        start = chain.start(0, problem) if followed else {}
        solution = minimise(problem, DualDescent(), tol=tol, max_iter=10_000, seed=0, **start)
        assert solution.certificate.ok
        chain.add(0, problem, solution)
        out.append(solution.certificate.n_iter)
    return out


@pytest.mark.parametrize("loss", [LogLoss(), Hinge(), SquaredHinge()], ids=repr)
def test_a_path_takes_fewer_passes_than_its_fits_alone(loss) -> None:
    assert sum(steps(loss, followed=True)) < 0.95 * sum(steps(loss, followed=False))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_hessian_serves_the_fits_that_follow(intercept: bool, classes: int) -> None:
    X, y = data(1000, 8)
    codes = np.argmax(X[:, :classes] + np.random.default_rng(1).gumbel(size=(1000, classes)), 1)
    formed = []

    class Counted(QuasiNewton):
        def _with_factor(self, problem, state, rows):
            formed.append(self.tuning.most_kept)
            return super()._with_factor(problem, state, rows)

    for most in (1000, 0):
        solver, chain = Counted(Tuning(most_kept=most)), Continuation()
        for C in np.geomspace(0.01, 100.0, 12):
            options = {"C": C, "fit_intercept": intercept}
            if classes == 2:
                problem = MarginObjective(as_design(X), y, LogLoss(), **options)
            else:
                problem = SoftmaxObjective(as_design(X), codes, classes, **options)
            own = chain.method(0, solver)
            start = chain.start(0, problem)
            solution = minimise(problem, own, tol=1e-6, seed=0, **start)
            assert solution.certificate.ok
            chain.add(0, problem, solution, own)
    assert formed.count(1000) < 0.7 * formed.count(0)


def test_the_first_fit_and_unpenalised_ones_have_no_start() -> None:
    X, y = data()
    chain = Continuation()
    problem = MarginObjective(as_design(X), y, LogLoss(), C=1.0)
    assert chain.start(0, problem) == {}
    chain.add(0, problem, minimise(problem, DualDescent(), max_iter=1000, seed=0))
    assert set(chain.start(0, problem)) == {"theta", "residual"}
    assert chain.start(1, problem) == {}
    unpenalised = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
    assert chain.start(0, unpenalised) == {}


def test_multipliers_at_the_end_of_their_range_stay_there() -> None:
    X, y = data()
    chain = Continuation()
    for C in (0.01, 0.02):
        problem = MarginObjective(as_design(X), y, Hinge(), C=C)
        solution = minimise(problem, DualDescent(), tol=1e-8, max_iter=10_000, seed=0)
        chain.add(0, problem, solution)
    bounded = problem.multipliers(solution.residual) == 0.02
    assert bounded.sum() > 50
    ahead = MarginObjective(as_design(X), y, Hinge(), C=0.04)
    predicted = ahead.multipliers(chain.start(0, ahead)["residual"])
    always = bounded & (predicted > 0.039)
    assert always.sum() > 0.8 * bounded.sum()


def test_a_kernel_machine_s_start_is_feasible() -> None:
    X, y = data(80, 3)
    gram, chain = Gram(RBFKernel(0.5), as_design(X), cache_mb=10.0), Continuation()
    for C in (0.1, 0.3, 1.0, 3.0):
        problem = KernelObjective(gram, y, Hinge(), C=C)
        start = chain.start(0, problem)
        if start:
            c = problem.weights_of(start["theta"])
            assert abs(c.sum()) < 1e-12 * np.abs(c).sum()
            assert np.all(y * c >= 0.0) and np.all(y * c <= C)
        solution = minimise(problem, Decomposition(), tol=1e-6, **start)
        assert solution.certificate.ok
        chain.add(0, problem, solution)


def test_the_scale_of_a_path() -> None:
    X, _ = data()
    design = as_design(X + 5.0)
    centred = np.sum((X - X.mean(axis=0)) ** 2) / len(X)
    assert mean_square(design, centred=True) == pytest.approx(centred)
    weights = np.arange(200.0)
    expected = np.average(np.sum((X + 5.0) ** 2, axis=1), weights=weights)
    assert mean_square(design, weights, centred=False) == pytest.approx(expected)
    # Rows that are all the same, or zero, have a scale nevertheless.
    assert mean_square(as_design(np.zeros((5, 2))), centred=True) == 1.0
    assert mean_square(as_design(np.full((5, 2), 3.0)), centred=True) == pytest.approx(18.0)
