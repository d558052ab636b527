"""Small systems: scaling, dependence, and conjugate gradients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from separatrix._compiled.double_double import take_offsets
from separatrix._compiled.linear_algebra import (
    Factor,
    conjugate_gradients,
    factorise,
    largest_of_rows,
    solve_positive,
    sums_of_rows,
)
from separatrix._compiled.row_access import read_only


def positive(n: int, seed: int = 0) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(n + 3, n))
    return a.T @ a


def test_solution() -> None:
    matrix, rhs = positive(7), np.arange(7.0)
    np.testing.assert_allclose(matrix @ solve_positive(matrix, rhs), rhs, atol=1e-10)


def test_scales_of_the_unknowns_do_not_matter() -> None:
    matrix, rhs = positive(5), np.ones(5)
    scale = 10.0 ** np.array([-12, -6, 0, 6, 12])
    plain = solve_positive(matrix, rhs)
    scaled = solve_positive(matrix * np.outer(scale, scale), rhs * scale)
    np.testing.assert_allclose(scaled * scale, plain, rtol=1e-9)


def test_a_singular_system_that_has_solutions() -> None:
    basis = np.random.default_rng(1).normal(size=(6, 3))
    matrix = basis @ basis.T
    rhs = matrix @ np.ones(6)
    x = solve_positive(matrix, rhs)
    np.testing.assert_allclose(matrix @ x, rhs, atol=1e-8)
    assert np.linalg.norm(x) < 100.0


@pytest.mark.parametrize("n", [0, 1, 9, 200])
def test_a_factor_and_its_condition_number(n: int, capfd) -> None:
    units = np.logspace(-100, 100, n)
    matrix = positive(n) * units[:, None] * units
    factor, rhs = Factor.of(matrix), np.ones((n, 2)) * units[:, None]
    assert factor is not None and not np.triu(factor.lower, 1).any()
    scaled = factor.lower @ factor.lower.T
    np.testing.assert_allclose(matrix * factor.scale[:, None] * factor.scale, scaled, atol=1e-13)
    np.testing.assert_allclose(matrix @ factor.solve(rhs) / units[:, None], 1.0, rtol=1e-7)
    np.testing.assert_allclose(factor.solve(rhs), factorise(matrix).solve(rhs), rtol=1e-9)
    exact = np.linalg.cond(scaled, 1) if n else 1.0
    assert 0.3 * exact <= factor.condition <= 1.0000001 * exact
    # LAPACK calls an empty matrix an illegal argument, aloud.
    assert capfd.readouterr() == ("", "")


def test_what_has_no_factor() -> None:
    assert Factor.of(np.ones((3, 3))) is None
    assert Factor.of(np.diag([1.0, 0.0])) is None
    assert Factor.of(np.diag([1.0, -1.0])) is None
    assert Factor.of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert Factor.of(np.array([[1.0, np.nan], [np.nan, 1.0]])) is None


def test_zero_rows() -> None:
    matrix = np.diag([2.0, 0.0, 4.0])
    np.testing.assert_allclose(solve_positive(matrix, np.array([2.0, 0.0, 4.0])), [1, 0, 1])


def test_an_indefinite_matrix_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        solve_positive(np.array([[1.0, 3.0], [3.0, 1.0]]) * 1e10 - 1e12 * np.eye(2), np.ones(2))


def test_arguments_are_left_as_they_were() -> None:
    matrix, rhs = positive(4), np.ones(4)
    before = matrix.copy(), rhs.copy()
    solve_positive(matrix, rhs)
    conjugate_gradients(lambda p: matrix @ p, rhs, np.diagonal(matrix), tol=1e-10, max_iter=9)
    np.testing.assert_array_equal(matrix, before[0])
    np.testing.assert_array_equal(rhs, before[1])


@pytest.mark.parametrize("shape", [(8,), (4, 2)])
def test_conjugate_gradients(shape) -> None:
    matrix = positive(8)
    rhs = np.random.default_rng(2).normal(size=shape)

    def product(p):
        return (matrix @ p.ravel()).reshape(shape)

    x = conjugate_gradients(
        product, rhs, np.diagonal(matrix).reshape(shape), tol=1e-12, max_iter=100
    )
    np.testing.assert_allclose(product(x), rhs, atol=1e-8)


def test_conjugate_gradients_stop_at_their_limit_with_descent() -> None:
    matrix, rhs = positive(30), np.ones(30)
    calls = []

    def product(p):
        calls.append(1)
        return matrix @ p

    x = conjugate_gradients(product, rhs, np.ones(30), tol=1e-15, max_iter=4)
    assert len(calls) == 4
    # Below zero, the value at the start: a descent direction.
    assert 0.5 * x @ matrix @ x - rhs @ x < 0.0


def test_conjugate_gradients_without_curvature() -> None:
    zero = conjugate_gradients(lambda p: 0.0 * p, np.ones(3), np.ones(3), tol=1e-6, max_iter=5)
    np.testing.assert_array_equal(zero, 0.0)
    none = conjugate_gradients(lambda p: p, np.zeros(3), np.ones(3), tol=1e-6, max_iter=5)
    np.testing.assert_array_equal(none, 0.0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_rows_have_the_bits_of_numpy(order) -> None:
    rng = np.random.default_rng(4)
    for columns in (0, 1, 2, 3, 5, 7, 8, 9, 20):
        a = np.asarray(rng.normal(size=(50, columns)) * 10.0 ** rng.integers(-9, 9, (50, 1)))
        a = np.asarray(a, order=order)
        assert sums_of_rows(a).tobytes() == a.sum(axis=1).tobytes()
        if columns:
            a[0, -1], a[1, 0], a[2, 0] = np.nan, np.inf, -np.inf
            np.testing.assert_array_equal(largest_of_rows(a), a.max(axis=1))


def test_offsets_are_taken_off_normal_equations_in_twice_the_precision() -> None:
    rng = np.random.default_rng(5)
    gradient, rest = 1e8 * rng.normal(size=(2, 3)), rng.normal(size=(2, 3)) * 1e-9
    sums, mean = rng.normal(size=(2, 4)), 1e8 * np.array([0.0, 1.0, -3.0]) / 7.0
    sums[:, 1] *= 1e-17
    w, low, ridge = rng.normal(size=(2, 4)), 1e-17 * rng.normal(size=(2, 4)), 1e8 / 3.0
    high, under = gradient.copy(), rest.copy()
    take_offsets(high, under, sums, read_only(mean), w, low, ridge)
    for k, j in np.ndindex(gradient.shape):
        terms = (
            (Fraction(gradient[k, j]) + Fraction(rest[k, j])),
            -(Fraction(sums[k, 0]) + Fraction(sums[k, 1])) * Fraction(mean[j]),
            -(Fraction(w[k, j + 1]) + Fraction(low[k, j + 1])) * Fraction(ridge),
        )
        off = abs(Fraction(high[k, j]) + Fraction(under[k, j]) - sum(terms))
        assert off <= 1e-29 * sum(map(abs, terms))
