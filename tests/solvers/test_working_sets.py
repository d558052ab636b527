"""Compiled steps of working sets: who is chosen, how far the optimum is, and Newton steps."""

from __future__ import annotations

import numpy as np

from separatrix.solvers.working_sets import _nth, choose, ends, gap, leaps


def test_the_nth_smallest() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        values = rng.integers(0, 5, size=n).astype(float)
        for k in range(n):
            assert _nth(values.copy(), n, k) == np.sort(values)[k]


def test_a_set_has_the_worst_violators_and_then_those_on_the_move() -> None:
    rng = np.random.default_rng(1)
    for n, violators, most in ((40, 3, 12), (40, 3, 30), (40, 3, 6), (40, 19, 38), (5, 3, 5)):
        # Gradients of few values, so that many are equal.
        g = rng.integers(-9, 9, size=n).astype(float)
        c = rng.choice([-1.0, 0.25, 1.0], size=n)
        low, high = np.full(n, -1.0), np.ones(n)
        kept = rng.random(n) < 0.3
        chosen = np.empty(n, dtype=np.intp)
        lowest, highest = ends(g, c, low, high)
        rises, falls, inside = c < high, c > low, np.abs(c) < 1.0
        assert (lowest, highest) == (g[rises].min(), g[falls].max())
        found = chosen[: choose(g, c, low, high, lowest, highest, violators, kept, most, chosen)]
        assert np.all(np.diff(found) > 0)
        if n <= 2 * violators:
            assert len(found) == n
            continue
        np.testing.assert_array_equal(
            np.sort(g[found][rises[found]])[:violators], np.sort(g[rises])[:violators]
        )
        np.testing.assert_array_equal(
            np.sort(-g[found][falls[found]])[:violators], np.sort(-g[falls])[:violators]
        )
        assert len(found) <= max(most, 2 * violators)
        out = np.setdiff1d(np.arange(n), found)
        if np.any(inside[out]):
            # All places were used, and none went to a kept coefficient at an end.
            assert len(found) >= most
        if np.any((inside & kept)[out]):
            at = found[inside[found] & ~kept[found]]
            edge = np.sort(g[rises])[violators - 1], np.sort(g[falls])[-violators]
            assert np.all((g[at] <= edge[0]) | (g[at] >= edge[1]))


def test_the_gap_is_the_most_that_going_to_an_end_gains() -> None:
    rng = np.random.default_rng(2)
    g, c = rng.normal(size=30), rng.uniform(size=30)
    low, high = np.zeros(30), np.ones(30)
    for at in (-0.3, 0.0, 0.7):
        best = np.maximum((at - g) * (high - c), (at - g) * (low - c)).sum()
        assert abs(gap(g, c, low, high, at) - best) <= 1e-12 * best


def test_newton_steps_find_the_minimum_under_the_equality() -> None:
    rng = np.random.default_rng(3)
    n = 12
    factor = rng.normal(size=(n, n))
    matrix, linear = factor @ factor.T, rng.normal(size=n)
    c, every, runs = np.zeros(n), np.arange(n), np.array([[0, n]], dtype=np.intp)
    for end in (1e6, 0.05):
        low, high = np.full(n, -end), np.full(n, end)
        c, g = np.zeros(n), linear.copy()
        leaps(matrix, every, every, runs, 1e-12, n, 50, g, c, low, high, 0, n)
        assert abs(c.sum()) <= 1e-12 * np.abs(c).sum()
        assert np.all((low <= c) & (c <= high))
        np.testing.assert_allclose(g, matrix @ c + linear, atol=1e-9 * np.abs(matrix).max())
        inside = (low < c) & (c < high)
        # Coefficients that met their end stayed there, and the slopes of the others are equal.
        assert np.ptp(g[inside]) <= 1e-9 * np.abs(g).max()
        assert 0.5 * c @ matrix @ c + linear @ c < 0.0
    assert not np.all(inside)


def test_more_coefficients_than_may_leap_stay_where_they_are() -> None:
    matrix, every = np.eye(4), np.arange(4)
    c, g, ones = np.zeros(4), np.arange(4.0), np.ones(4)
    runs = np.array([[0, 4]], dtype=np.intp)
    assert leaps(matrix, every, every, runs, 1e-12, 3, 5, g, c, -ones, ones, 0, 4) == 0
    assert not c.any()
