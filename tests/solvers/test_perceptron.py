"""Mistake-driven passes: published sequences, weights as copies, bounds on the updates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.design import as_design
from separatrix.losses import PerceptronLoss
from separatrix.objective import MistakeObjective
from separatrix.solvers.driver import minimise
from separatrix.solvers.perceptron import MistakeDriven


def problem(X, y, kind=np.asarray, **options) -> MistakeObjective:
    return MistakeObjective(
        as_design(kind(np.asarray(X, dtype=float))),
        np.asarray(y, dtype=float),
        PerceptronLoss(),
        **options,
    )


LIFTED = ([[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1])
ORIGIN = ([[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1])
FAR = ([[-1, -1], [1, 0], [-1, 10]], [1, -1, 1])


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
def test_published_start_other_than_zero(kind) -> None:
    # Through the origin from (-1, -1): one mistake; with the far third point, five.
    start = np.array([-1.0, -1.0])
    for (X, y), mistakes, last in ((ORIGIN, 1, [-2.0, 0.5]), (FAR, 5, [-6.0, 5.0])):
        solution = minimise(
            problem(X, y, kind, fit_intercept=False), MistakeDriven(record=True), theta=start
        )
        assert solution.state.mistakes.sum() == mistakes
        assert solution.theta.tolist() == last
        assert len(solution.state.updates) == mistakes
    assert start.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
def test_dense_and_sparse_make_the_same_updates(kind) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(60, 4)).astype(float)
    y = np.where(X @ [1, -2, 0.5, 0] > 0.3, 1.0, -1.0)
    first = minimise(problem(X, y), MistakeDriven(record=True), max_iter=200)
    other = minimise(problem(X, y, kind), MistakeDriven(record=True), max_iter=200)
    assert [u.sample for u in first.state.updates] == [u.sample for u in other.state.updates]
    assert np.array_equal(first.theta, other.theta)


def test_a_weight_is_that_many_visits_in_a_row() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=30) > 0, 1.0, -1.0)
    weights = rng.integers(0, 4, size=30)
    weighted = minimise(problem(X, y, weights=weights.astype(float)), MistakeDriven(), max_iter=50)
    copied = minimise(
        problem(np.repeat(X, weights, axis=0), np.repeat(y, weights)), MistakeDriven(), max_iter=50
    )
    np.testing.assert_allclose(weighted.theta, copied.theta, rtol=1e-12, atol=1e-12)
    assert weighted.state.mistakes.sum() == copied.state.mistakes.sum()
    assert weighted.certificate.primal == copied.certificate.primal


def test_a_fraction_is_a_step_of_that_fraction() -> None:
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]
    solution = minimise(
        problem(X, y, weights=np.array([0.5, 1.0]), fit_intercept=False),
        MistakeDriven(record=True),
        max_iter=1,
    )
    assert [u.coef.tolist() for u in solution.state.updates] == [[0.5, 0.0], [0.5, -1.0]]


def test_novikoff() -> None:
    # At most (R / gamma)^2 updates, here for a known separating direction.
    rng = np.random.default_rng(2)
    u = rng.normal(size=4)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(400, 4))
    X = X[np.abs(X @ u) > 0.15]
    y = np.sign(X @ u)
    gamma, radius = np.abs(X @ u).min(), np.linalg.norm(X, axis=1).max()
    for order in ("cyclic", "random"):
        solution = minimise(
            problem(X, y, fit_intercept=False), MistakeDriven(order), max_iter=10_000, seed=0
        )
        assert solution.certificate.ok
        assert solution.state.mistakes.sum() <= (radius / gamma) ** 2


def test_the_learning_rate_scales_the_weights_and_nothing_else() -> None:
    X, y = LIFTED
    one = minimise(problem(X, y), MistakeDriven(rate=1.0))
    other = minimise(problem(X, y), MistakeDriven(rate=0.25))
    np.testing.assert_array_equal(other.theta, 0.25 * one.theta)
    np.testing.assert_array_equal(one.state.mistakes, other.state.mistakes)


def test_every_recorded_update_is_one_step() -> None:
    X, y = np.array(LIFTED[0], dtype=float), np.array(LIFTED[1], dtype=float)
    updates = minimise(problem(X, y), MistakeDriven(record=True)).state.updates
    theta = np.zeros(3)
    for update in updates:
        i = update.sample
        row = np.append(X[i], 1.0)
        # It was a mistake, and the step is y x.
        assert y[i] * (row @ theta) <= 0.0
        theta = theta + y[i] * row
        np.testing.assert_array_equal(np.append(update.coef, update.intercept), theta)
    assert [u.epoch for u in updates] == sorted(u.epoch for u in updates)
    # What is recorded does not change when later updates happen.
    assert len({tuple(u.coef) for u in updates}) > 1


def test_overlapping_classes_end_with_the_fewest_mistakes_seen() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    y = rng.choice([-1.0, 1.0], 50)
    solution = minimise(
        problem(X, y), MistakeDriven(), max_iter=40, record=True, exhausted="not_separated"
    )
    assert solution.certificate.status == "not_separated"
    assert solution.certificate.primal == min(solution.trace.primal)
    scores = X @ solution.theta[:2] + solution.theta[2]
    assert np.sum(y * scores <= 0) == solution.certificate.primal


def test_a_clean_pass_is_optimal_whatever_the_summation_order() -> None:
    # Points that lie on the plane only up to rounding: the pass and the certificate must agree
    # on who is right, or the fit would go on for ever.
    rng = np.random.default_rng(4)
    for trial in range(50):
        X = rng.normal(size=(12, 7)) * 10.0 ** rng.integers(-8, 9, size=7)
        y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
        solution = minimise(problem(X, y), MistakeDriven(), max_iter=3000)
        assert solution.certificate.ok or not solution.state.clean, trial
