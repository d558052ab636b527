"""Dual coordinate descent: feasibility, shrinking, and equality of its compiled twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.losses import Hinge, LogLoss, SquaredError, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import DualDescent
from separatrix.solvers.driver import minimise

LOSSES = [Hinge(), SquaredHinge(), LogLoss(), SquaredError()]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def data(n: int = 100, d: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


@each_loss
@pytest.mark.parametrize("intercept", [True, False])
def test_multipliers_stay_in_their_range(loss, intercept: bool) -> None:
    X, y = data()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=100)
    objective = MarginObjective(
        as_design(X), y, loss, C=3.0, weights=weights, fit_intercept=intercept
    )
    solution = minimise(objective, DualDescent(), max_iter=30, tol=1e-15, seed=0)
    alpha = solution.state.alpha
    used = weights > 0.0
    assert np.all(alpha[used] >= loss.dual_lower * objective.upper[used])
    assert np.all(alpha[used] <= loss.dual_upper * objective.upper[used])
    assert np.all(alpha[weights == 0.0] == 0.0)
    # The weights are what the multipliers say, up to the drift of a running sum.
    np.testing.assert_allclose(solution.state.w, X.T @ (alpha * y), atol=1e-11)


@each_loss
def test_dense_and_sparse_take_the_same_steps(loss) -> None:
    # Explicit zeros included: then even the order of the sums is the same.
    X, y = data()
    full = sp.csr_array(np.where(X == 0.0, 1.0, X))
    full.data[X.ravel() == 0.0] = 0.0
    states = []
    for design in (as_design(X), as_design(full)):
        objective = MarginObjective(design, y, loss)
        solution = minimise(objective, DualDescent(), max_iter=7, tol=1e-15, seed=3)
        states.append(solution.state)
    np.testing.assert_allclose(states[0].alpha, states[1].alpha, rtol=1e-9, atol=1e-12)
    assert states[0].n_active == states[1].n_active


@each_loss
def test_the_seed_decides_the_order_and_nothing_else(loss) -> None:
    X, y = data()
    objective = MarginObjective(as_design(X), y, loss)
    one, same, other = (
        minimise(objective, DualDescent(), tol=1e-9, max_iter=20_000, seed=s) for s in (1, 1, 2)
    )
    assert np.array_equal(one.theta, same.theta)
    assert not np.array_equal(one.theta, other.theta)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-9)


@each_loss
def test_zero_rows_and_duplicates(loss) -> None:
    X, y = data()
    X[::3] = 0.0
    X[1::3] = X[1]
    certificate = minimise(
        MarginObjective(as_design(X), y, loss), DualDescent(), max_iter=20_000, seed=0
    ).certificate
    assert certificate.ok, str(certificate)


def test_all_rows_zero() -> None:
    y = np.array([1.0, -1.0, 1.0])
    for loss in LOSSES:
        for intercept in (True, False):
            objective = MarginObjective(
                as_design(np.zeros((3, 2))), y, loss, fit_intercept=intercept
            )
            certificate = minimise(objective, DualDescent(), max_iter=2000, seed=0).certificate
            assert certificate.ok, f"{loss} {intercept}: {certificate}"


def test_log_loss_with_rows_far_on_the_wrong_side() -> None:
    # Their multipliers reach the end of the range in floating point.
    X, y = data()
    X[:5] *= -1e4
    for C in (1.0, 100.0):
        objective = MarginObjective(as_design(X), y, LogLoss(), C=C)
        certificate = minimise(objective, DualDescent(), max_iter=300, seed=0).certificate
        assert np.isfinite(certificate.gap)
    without = MarginObjective(as_design(X), y, LogLoss(), fit_intercept=False)
    certificate = minimise(without, DualDescent(), max_iter=20_000, seed=0).certificate
    assert certificate.ok, str(certificate)


def test_a_penalised_intercept_is_one_more_feature() -> None:
    X, y = data()
    extended = np.hstack([X, np.full((100, 1), 2.0)])
    for loss in LOSSES:
        # 1/2 tau b^2 with b = c v and tau = 1 / c^2 is 1/2 v^2.
        one = minimise(
            MarginObjective(as_design(X), y, loss, intercept_penalty=0.25),
            DualDescent(),
            tol=1e-9,
            max_iter=20_000,
            seed=0,
        )
        two = minimise(
            MarginObjective(as_design(extended), y, loss, fit_intercept=False),
            DualDescent(),
            tol=1e-9,
            max_iter=20_000,
            seed=0,
        )
        assert one.certificate.ok
        assert two.certificate.ok
        assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=2e-9)


def test_a_row_with_a_repeated_index_has_its_true_norm() -> None:
    matrix = sp.csr_matrix(
        (np.array([3.0, 1.0, 2.0, -5.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])),
        shape=(3, 3),
    )
    np.testing.assert_array_equal(as_design(matrix).row_squares(), [26.0, 0.0, 25.0])


def test_an_intercept_costs_few_passes_on_rows_that_are_nearly_orthogonal() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3000))
    y = np.where(rng.normal(size=300) > 0.0, 1.0, -1.0)
    for loss in (LogLoss(), SquaredHinge()):
        passes = [
            minimise(
                MarginObjective(as_design(X), y, loss, fit_intercept=intercept),
                DualDescent(),
                tol=1e-6,
                seed=0,
            ).certificate.n_iter
            for intercept in (False, True)
        ]
        assert passes[1] <= 3 * passes[0], (loss, passes)


def test_to_ask_whether_it_is_able_copies_no_rows() -> None:
    X, y = data(3000, 40)
    design = as_design(np.asfortranarray(X))
    DualDescent().requires(MarginObjective(design, y, LogLoss()))
    assert "rows" not in vars(design)
    assert design.rows[0].flags.c_contiguous
    assert "rows" in vars(design)


def test_certificates_wait_until_the_intercept_has_come_to_its_end(monkeypatch) -> None:
    # Under a strong penalty all multipliers are at their ends, and only the sum is left to mend.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20_000, 5))
    y = np.sign(X @ rng.normal(size=5)) * np.where(rng.random(len(X)) < 0.2, -1.0, 1.0)
    problem = MarginObjective(as_design(X), y, Hinge(), C=1e-3)
    offered: list[int] = []
    candidate = DualDescent.candidate

    def counted(self, problem, state):
        offered.append(state.passes)
        return candidate(self, problem, state)

    monkeypatch.setattr(DualDescent, "candidate", counted)
    solution = minimise(problem, DualDescent(), tol=1e-4, seed=0)
    assert solution.certificate.ok
    assert len(offered) <= 2
