"""Interior points of losses that are the largest of a few lines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, milp

from separatrix import select_solver
from separatrix.data.design import as_design
from separatrix.losses import EpsilonInsensitive, Hinge, LogLoss
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers import DualDescent, InteriorPoint, Smoothing
from separatrix.solvers.driver import minimise


def table(n: int = 120, d: int = 15, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    return X, X @ rng.normal(size=d) + 3.0 * rng.normal(size=n)


def classes(loss=None, **options) -> MarginObjective:
    X, t = table()
    return MarginObjective(as_design(X), np.sign(t), loss or Hinge(), **options)


def numbers(epsilon: float, **options) -> ResidualObjective:
    X, t = table()
    return ResidualObjective(as_design(X), t, EpsilonInsensitive(epsilon), **options)


@pytest.mark.crossed
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "C"), list(itertools.product([None, 0.0, 0.5], [1e-3, 1.0, 1e3]))
)
def test_it_takes_few_steps_to_any_accuracy(epsilon, C: float, intercept: bool) -> None:
    options = {"C": C, "fit_intercept": intercept}
    problem = classes(**options) if epsilon is None else numbers(epsilon, **options)
    for tol in (1e-3, 1e-6, 1e-11):
        found = minimise(problem, InteriorPoint(), tol=tol).certificate
        assert found.ok, str(found)
        assert found.n_iter <= 30
    if epsilon is not None:
        other = minimise(problem, Smoothing(select_solver), tol=1e-9).certificate
        assert found.primal == pytest.approx(other.primal, rel=2e-9)


def test_a_weak_penalty_finds_the_least_absolute_errors_of_a_linear_program() -> None:
    X, t = table(n=60, d=4)
    found = minimise(
        ResidualObjective(as_design(X), t, EpsilonInsensitive(0.0), C=1e8, fit_intercept=False),
        InteriorPoint(),
        tol=1e-9,
    )
    # min sum u with -u <= t - X w <= u, without a penalty.
    n, d = X.shape
    costs, eye = np.append(np.zeros(d), np.ones(n)), np.eye(n)
    rows = np.block([[X, eye], [-X, eye]])
    bounds = (np.full(d + n, -np.inf), np.full(d + n, np.inf))
    program = milp(costs, constraints=LinearConstraint(rows, np.append(t, -t)), bounds=bounds)
    assert program.fun == pytest.approx(np.abs(t - X @ found.theta).sum(), rel=1e-6)


def test_weights_of_rows_stand_for_copies_and_none_for_no_row() -> None:
    X, t = table(n=120)
    y, copies = np.sign(t), np.arange(120) % 3
    weighted = MarginObjective(as_design(X), y, Hinge(), weights=copies.astype(float))
    rows = np.repeat(np.arange(120), copies)
    copied = MarginObjective(as_design(X[rows]), y[rows], Hinge())
    found = [minimise(p, InteriorPoint(), tol=1e-11) for p in (weighted, copied)]
    np.testing.assert_allclose(found[0].theta, found[1].theta, rtol=1e-5, atol=1e-6)


def test_a_dual_point_shortens_the_way() -> None:
    X, t = table(n=1000, d=100)
    problem = MarginObjective(as_design(X), np.sign(t), Hinge())
    passes = minimise(problem, DualDescent(), tol=1e-2, max_iter=1000, seed=0)
    begun = minimise(
        problem, InteriorPoint(), tol=1e-8, theta=passes.theta, residual=passes.residual
    )
    alone = minimise(problem, InteriorPoint(), tol=1e-8)
    assert begun.certificate.ok
    assert begun.certificate.n_iter < alone.certificate.n_iter


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_an_answer_of_an_intercept_alone_is_exact(epsilon: float) -> None:
    X, _ = table(n=100)
    problem = ResidualObjective(as_design(X), np.full(100, 5.0), EpsilonInsensitive(epsilon))
    found = minimise(problem, InteriorPoint())
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == 0.0


def test_a_fit_that_is_cut_short_keeps_its_lowest_point() -> None:
    X, t = table(n=300, d=40)
    problem = MarginObjective(as_design(X), np.sign(t), Hinge(), C=10.0)
    for steps in range(1, 8):
        found = minimise(problem, InteriorPoint(), tol=1e-9, max_iter=steps).certificate
        assert found.status == "max_iter"
        assert found.primal <= problem.value(problem.zero())


def test_rows_that_are_separated_lie_on_the_margin_or_beyond() -> None:
    X, _ = table(n=200, d=10)
    problem = MarginObjective(as_design(X), np.sign(X @ np.arange(1.0, 11.0)), Hinge(), C=1e6)
    found = minimise(problem, InteriorPoint(), tol=1e-9)
    assert found.certificate.ok, str(found.certificate)
    assert (problem.y * problem.linear(found.theta)).min() > 1.0 - 1e-6


def test_it_is_chosen_for_regressions_with_few_columns() -> None:
    X, t = table(n=3000, d=170)
    few = ResidualObjective(as_design(X), t, EpsilonInsensitive(0.5))
    assert isinstance(select_solver(few), InteriorPoint)
    wide = sp.random_array((200, 4000), density=0.05, rng=np.random.default_rng(0), format="csr")
    many = ResidualObjective(as_design(wide), t[:200], EpsilonInsensitive(0.5))
    assert isinstance(select_solver(many), Smoothing)


def test_it_names_what_is_missing() -> None:
    with pytest.raises(TypeError, match="needs 'pieces'"):
        minimise(classes(LogLoss()), InteriorPoint())
    with pytest.raises(TypeError, match="needs an L2 penalty"):
        minimise(classes(penalty=NoPenalty()), InteriorPoint())
