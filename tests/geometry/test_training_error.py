"""Mistakes, and the fewest that any hyperplane makes, against trying every dichotomy."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import zero_one_loss as other_zero_one_loss
from tests.census import Clock

from geometry import reference
from separatrix import Hyperplane, LinearSVC, min_training_error, training_error, zero_one_loss


def least(X: np.ndarray, y: np.ndarray, intercept: bool, weights: np.ndarray) -> float:
    """The least weight of rows without which the others are separable: every subset is tried."""
    n = len(X)
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(n), k) for k in range(n + 1)
    )
    for gone in sorted(subsets, key=lambda rows: (weights[list(rows)].sum(), len(rows))):
        kept = [i for i in range(n) if i not in gone]
        s = reference.signs(y[kept], 1)
        if not kept or reference.status(X[kept], s, intercept) == "separable":
            return float(weights[list(gone)].sum())
    raise AssertionError("the empty set is separable")


def problem(rng: np.random.Generator, n: int, d: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.integers(-size, size + 1, (n, d)).astype(float)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_fewest_mistakes_are_those_of_trying_every_dichotomy(d: int, intercept: bool) -> None:
    rng = np.random.default_rng(10 * d + intercept)
    for trial in range(7):
        X, y = problem(rng, int(rng.integers(3, 9)), d, int(rng.integers(1, 4)))
        found = min_training_error(X, y, fit_intercept=intercept)
        assert found.exact, (X, y)
        assert found.upper == least(X, y, intercept, np.ones(len(y))), (X, y)
        # The hyperplane that is returned makes so many mistakes and no more, counted exactly.
        s = reference.signs(y, 1)
        wrong = [
            sum((v * w for v, w in zip(row, reference.exact([found.hyperplane.w])[0], strict=True)))
            + reference.exact([[found.hyperplane.b]])[0][0]
            for row in reference.exact(X)
        ]
        assert sum(sign * v <= 0 for sign, v in zip(s, wrong, strict=True)) == found.upper
        assert all(w.check(X, y) for w in found.witnesses)
        if trial % 5 == 0:
            sparse = min_training_error(sp.csr_matrix(X), y, fit_intercept=intercept)
            assert sparse.upper == found.upper


@pytest.mark.parametrize("n", [12, 14])
def test_with_as_many_points_as_can_still_be_tried(n: int) -> None:
    rng = np.random.default_rng(n)
    X, y = problem(rng, n, 3, 3)
    # Few mistakes are soon found by trying: labels of a plane, and one of them wrong.
    y = (X @ [1, -2, 1] + 0.5 > 0).astype(int)
    y[0] = 1 - y[0]
    found = min_training_error(X, y)
    assert found.exact
    assert found.upper == least(X, y, True, np.ones(n))


def test_weights() -> None:
    rng = np.random.default_rng(5)
    for d in (1, 2, 3):
        for _ in range(4):
            X, y = problem(rng, 7, d, 2)
            weights = rng.integers(0, 4, 7).astype(float)
            if not (weights[y == 0].any() and weights[y == 1].any()):
                continue
            found = min_training_error(X, y, sample_weight=weights)
            assert found.exact
            assert found.upper == least(X, y, True, weights)


def test_the_same_point_with_both_labels() -> None:
    found = min_training_error([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], [0, 1, 0])
    assert found.upper == found.lower == 1


def test_separable_points_take_no_mistake() -> None:
    found = min_training_error(np.eye(5), ["a", "b", "a", "b", "a"])
    assert (found.lower, found.upper, found.method) == (0, 0, "separable")


def test_bounds_hold_when_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
    # After 400 looks at the clock nothing is proved yet, and after 2,000 a part of it.
    for looks, proved in ((400, False), (2000, True)):
        with monkeypatch.context() as patched:
            patched.setattr(time, "perf_counter", Clock())
            found = min_training_error(X, y, time_limit=float(looks))
        assert not found.exact and (found.lower > 0) == proved
        assert 0 <= found.lower <= found.upper
        assert training_error(found.hyperplane, X, y).count == found.upper


def test_iris_and_a_model() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    found = min_training_error(X, y)
    assert (found.lower, found.upper) == (1, 1)
    assert str(found) == "no hyperplane makes fewer than 1 mistake in 100 rows (1 %)"
    model = LinearSVC().fit(X, y)
    wrong = training_error(model, X, y)
    assert wrong.count == np.sum(model.predict(X) != y) >= found.lower
    assert wrong.rows.tolist() == np.flatnonzero(model.predict(X) != y).tolist()


def test_zero_one_loss_counts_and_is_a_fraction() -> None:
    rng = np.random.default_rng(1)
    true, predicted = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    weights = rng.random(50)
    found = zero_one_loss(true, predicted, sample_weight=weights)
    assert found.count == np.sum(true != predicted)
    assert float(found) == pytest.approx(
        other_zero_one_loss(true, predicted, sample_weight=weights), abs=1e-12
    )
    assert found.by_class == {k: int(np.sum((true == k) & (predicted != k))) for k in range(3)}


def test_a_point_on_the_plane_is_a_mistake_in_training() -> None:
    plane = Hyperplane([1.0], 0.0)
    assert plane.side([[0.0]]).tolist() == [1]
    found = training_error(plane, [[0.0], [1.0], [-1.0]], [1, 1, 0])
    assert (found.count, found.on_plane, found.rows.tolist()) == (1, 1, [0])


@pytest.mark.parametrize("limit", [0, -1, "soon"])
def test_a_bad_time_limit(limit) -> None:
    with pytest.raises(ValueError, match="time_limit"):
        min_training_error([[0.0], [1.0]], [0, 1], time_limit=limit)


@pytest.mark.parametrize("labels", [[None, None, 1, 1], [np.nan, 1, 1, 0], [0.5, 0.5, 1.7, 1.7]])
def test_what_are_no_labels(labels) -> None:
    with pytest.raises(ValueError):
        training_error(Hyperplane([1.0], 0.0), np.arange(4.0)[:, None], labels)
