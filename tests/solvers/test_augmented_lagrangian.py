"""The augmented Lagrangian: exact where a smoothing would not be."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.data.design import as_design
from separatrix.losses import Hinge
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import AugmentedLagrangian
from separatrix.solvers.augmented_lagrangian import Tuning
from separatrix.solvers.driver import minimise


def data(n: int = 150, d: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("growth", [1.5, 3.0, 10.0])
def test_any_growth_reaches_the_tolerance(growth: float) -> None:
    X, y = data()
    objective = MarginObjective(as_design(X), y, Hinge())
    certificate = minimise(
        objective, AugmentedLagrangian(Tuning(growth=growth)), tol=1e-10
    ).certificate
    assert certificate.ok, str(certificate)


def test_support_vectors_lie_on_or_inside_the_margin() -> None:
    X, y = data()
    objective = MarginObjective(as_design(X), y, Hinge())
    solution = minimise(objective, AugmentedLagrangian(), tol=1e-11)
    z = y * objective.linear(solution.theta)
    alpha = -y * solution.residual
    # Complementary slackness, the textbook statement of the optimum.
    assert np.all(alpha[z > 1 + 1e-4] <= 1e-5)
    assert np.all(alpha[z < 1 - 1e-4] >= 1 - 1e-5)
    inside = (alpha > 1e-3) & (alpha < 1 - 1e-3)
    np.testing.assert_allclose(z[inside], 1.0, atol=1e-5)
    np.testing.assert_allclose(solution.theta[:5], X.T @ (alpha * y), atol=1e-4)
    assert abs(alpha @ y) <= 1e-9


def test_the_problem_is_left_as_it_was() -> None:
    X, y = data()
    objective = MarginObjective(as_design(X), y, Hinge())
    before = dict(objective.__dict__)
    minimise(objective, AugmentedLagrangian())
    assert objective.__dict__ == before


def test_two_points_have_a_closed_form() -> None:
    # Points at -1 and +1 on a line: w = 1, b = 0, and the objective is 1/2.
    objective = MarginObjective(
        as_design(np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0]), Hinge(), C=10.0
    )
    solution = minimise(objective, AugmentedLagrangian(), tol=1e-12)
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.theta, [1.0, 0.0], atol=1e-6)
    assert solution.certificate.primal == pytest.approx(0.5, rel=1e-11)


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e8])
def test_extreme_C(C: float) -> None:
    X, y = data()
    certificate = minimise(
        MarginObjective(as_design(X), y, Hinge(), C=C), AugmentedLagrangian()
    ).certificate
    assert certificate.ok, str(certificate)


def hostile(kind: str):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 10))
    z = X[:, 0] + 0.5 * rng.normal(size=2000)
    weights = None
    if kind == "outliers":
        X[::50] *= 300.0
    elif kind == "separable":
        z = X[:, 0]
    elif kind == "weights":
        weights = rng.choice([0.0, 1.0, 30.0], 2000)
    elif kind == "lopsided":
        z = z - 2.0
    elif kind == "copies":
        X, z = np.repeat(X[:50], 40, axis=0), np.repeat(z[:50], 40)
    return X, np.where(z > 0, 1.0, -1.0), weights


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "kind", ["plain", "outliers", "separable", "weights", "lopsided", "copies"]
)
def test_rows_that_are_held_change_no_optimum(kind, fit_intercept, monkeypatch) -> None:
    X, y, weights = hostile(kind)
    options = {"C": 3.0, "weights": weights, "fit_intercept": fit_intercept}
    objective = MarginObjective(as_design(X), y, Hinge(), **options)
    sizes = []
    step = AugmentedLagrangian.step

    def spied(self, problem, state, check_interrupt):
        if problem is objective:
            sizes.append(len(state.envelope.y))
        return step(self, problem, state, check_interrupt)

    monkeypatch.setattr(AugmentedLagrangian, "step", spied)
    fewer = Tuning(small=False, large=10_000)
    some = minimise(objective, AugmentedLagrangian(fewer), tol=1e-9, seed=0)
    assert some.certificate.ok, str(some.certificate)
    if kind == "plain":
        assert np.median(sizes) < len(y) / 4
        again = minimise(objective, AugmentedLagrangian(fewer), tol=1e-9, seed=0)
        assert np.array_equal(again.theta, some.theta)
    sizes.clear()
    every = minimise(
        objective, AugmentedLagrangian(Tuning(small=False, large=np.inf)), tol=1e-9, seed=0
    )
    assert set(sizes) == {len(y)}
    assert some.certificate.primal == pytest.approx(every.certificate.primal, rel=2e-9)
