"""Coordinate descent by columns, beside the proximal Newton method."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from separatrix.data.design import as_design
from separatrix.losses import Huber, SquaredResidual
from separatrix.objectives.penalties import penalty_of
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers import ColumnDescent, ProximalNewton, column_descent, select_solver
from separatrix.solvers.column_descent import Tuning
from separatrix.solvers.driver import minimise


def _problem(
    n: int = 80,
    d: int = 30,
    ratio: float = 1.0,
    storage: str = "F",
    weighted: bool = False,
    nonnegative: bool = False,
    centred: bool = True,
    C: float = 1.0,
) -> ResidualObjective:
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1)) + 3.0
    X[:, 1], X[:, 2] = 7.0, X[:, 0]
    y = X[:, 5:9].sum(axis=1) + rng.normal(size=n) + 10.0
    X = np.asfortranarray(X) if storage == "F" else X
    X = X.astype(np.float32) if storage == "float32" else X
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    penalty = penalty_of(ratio, nonnegative=nonnegative)
    return ResidualObjective(
        as_design(X), y, SquaredResidual(), penalty, C=C, weights=weights, fit_intercept=centred
    )


@functools.cache
def _by_proximal_newton(*shape, **options):
    return minimise(_problem(*shape, **options), ProximalNewton(), tol=1e-9).certificate


GRAMS = {"as it pays": Tuning(), "never": Tuning(speed=0.0), "always": Tuning(speed=1e9, fast=0.0)}


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("shape", [(80, 30), (30, 90)])
def test_the_optimum_is_that_of_the_proximal_newton_method(shape, gram) -> None:
    choices = itertools.product(("F", "C", "float32"), (False, True), (False, True))
    for k, (storage, weighted, nonnegative) in enumerate(choices):
        options = {
            "ratio": (1.0, 0.4)[k % 2],
            "storage": storage,
            "weighted": weighted,
            "nonnegative": nonnegative,
            "centred": k % 3 > 0,
            "C": 0.3,
        }
        problem = _problem(*shape, **options)
        found = minimise(problem, ColumnDescent(GRAMS[gram]), tol=1e-9)
        other = _by_proximal_newton(*shape, **options)
        assert found.certificate.status == other.status == "optimal", options
        assert found.certificate.primal == pytest.approx(other.primal, rel=3e-9)
        assert found.certificate.dual <= other.primal, options
        assert not nonnegative or (problem.weights_of(found.theta) >= 0.0).all(), options


def test_where_passes_get_nowhere_the_proximal_newton_method_takes_over() -> None:
    problem = _problem(60, 200, ratio=0.01, C=3.0)
    found = minimise(problem, ColumnDescent(Tuning(speed=0.0)), tol=1e-8)
    other = minimise(problem, ProximalNewton(), tol=1e-8)
    assert found.certificate.ok
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-8)


def test_a_start_is_continued_from_and_may_be_beyond_the_bounds() -> None:
    problem = _problem(nonnegative=True)
    cold = minimise(problem, ColumnDescent(), tol=1e-8)
    warm = minimise(problem, ColumnDescent(), tol=1e-8, theta=cold.theta)
    assert warm.certificate.n_iter <= 1 < cold.certificate.n_iter
    beyond = minimise(problem, ColumnDescent(), tol=1e-8, theta=-cold.theta)
    assert beyond.certificate.ok
    assert (problem.weights_of(beyond.theta) >= 0.0).all()


def test_columns_far_from_zero_have_weights_and_constant_ones_have_none() -> None:
    problem = _problem(d=8)
    X = np.array(problem.design.matrix)
    known = minimise(problem, ColumnDescent(), tol=1e-9).certificate
    for offset, size in ((1e7, 1.0), (1e8, 1.0), (0.1, 1e-10)):
        far = np.asfortranarray(np.round(X * 1024.0) / 1024.0 * size + offset)
        assert (far[:, 1] == far[0, 1]).all()
        other = ResidualObjective(
            as_design(far), problem.targets, SquaredResidual(), penalty_of(1.0), C=1.0 / size
        )
        found = minimise(other, ColumnDescent(), tol=1e-6)
        assert found.certificate.ok, offset
        assert other.weights_of(found.theta)[1] == 0.0
        assert found.certificate.primal * size == pytest.approx(known.primal, rel=1e-2)


def test_squares_that_floats_do_not_hold_are_left_to_the_proximal_newton_method() -> None:
    for size in (1e-160, 1e160):
        problem = _problem()
        problem = ResidualObjective(
            as_design(np.array(problem.design.matrix) * size), problem.targets, SquaredResidual(),
            penalty_of(1.0), C=1.0,
        )  # fmt: skip
        method = ColumnDescent()
        state = method.init(problem, problem.zero(), np.random.default_rng(0))
        assert not isinstance(state, column_descent.ColumnDescentState), size


def test_it_is_chosen_for_squares_of_dense_rows_and_refuses_what_it_cannot_minimise() -> None:
    problem = _problem()
    assert isinstance(select_solver(problem), ColumnDescent)
    other = ResidualObjective(problem.design, problem.targets, Huber(1.0), penalty_of(1.0), C=1.0)
    assert not isinstance(select_solver(other), ColumnDescent)
    with pytest.raises(TypeError, match="needs a squared loss, dense rows and a penalty"):
        minimise(other, ColumnDescent())
    assert minimise(problem, ColumnDescent(), tol=1e-12, max_iter=1).certificate.n_iter == 1
