"""Least squares: against numpy, exact rationals and itself in other portions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grids import share
from separatrix._compiled import register_tiles
from separatrix.closed_form.least_squares import certify, solve
from separatrix.closed_form.normal_equations import LeastSquaresProblem, NormalInverse, Tuning
from separatrix.closed_form.triangular import TriangularFactor
from separatrix.data import moments
from separatrix.data.design import as_design
from separatrix.data.moments import Moments

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Whatever ran before, every test draws the same."""
    global rng
    rng = np.random.default_rng(0)


def reference(X, Y, s=None, fit_intercept=True, ridge=0.0):
    """numpy.linalg.lstsq on centred and weighted rows, with the penalty as further rows."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    s = np.ones(len(X)) if s is None else s
    mean, level = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    if fit_intercept:
        mean, level = np.average(X, axis=0, weights=s), np.average(Y, axis=0, weights=s)
    root = np.sqrt(s)[:, None]
    A, B = root * (X - mean), root * (Y - level)
    if fit_intercept:
        # Once more, for what rounding of the means has left.
        A -= root * (root.T @ A) / s.sum()
    if ridge and len(X) < X.shape[1]:
        coef = np.linalg.solve(A @ A.T + ridge * np.eye(len(A)), B).T @ A
    else:
        if ridge:
            A = np.vstack([A, np.sqrt(ridge) * np.eye(X.shape[1])])
            B = np.vstack([B, np.zeros((X.shape[1], Y.shape[1]))])
        coef = np.linalg.lstsq(A, B, rcond=None)[0].T
    return coef, level - coef @ mean if fit_intercept else level


def exact(X, y, *, ridge=0, fit_intercept=True, s=None):
    """Coefficients, the intercept first, from the normal equations in rational numbers."""
    rows = [[Fraction(1)] * fit_intercept + [Fraction(v) for v in row] for row in X.tolist()]
    s = [Fraction(1)] * len(rows) if s is None else [Fraction(v) for v in s.tolist()]
    y = [Fraction(v) for v in y.tolist()]
    p = len(rows[0])
    table = []
    for i in range(p):
        line = [sum(w * r[i] * r[j] for w, r in zip(s, rows, strict=True)) for j in range(p)]
        line[i] += Fraction(ridge) if i >= fit_intercept else 0
        table.append([*line, sum(w * r[i] * v for w, r, v in zip(s, rows, y, strict=True))])
    for i in range(p):
        for k in range(p):
            if k != i and table[k][i]:
                f = table[k][i] / table[i][i]
                table[k] = [a - f * b for a, b in zip(table[k], table[i], strict=True)]
    return np.array([float(table[i][p] / table[i][i]) for i in range(p)])


def problem(X, Y, **options):
    return LeastSquaresProblem(as_design(X), np.asarray(Y, dtype=np.float64), **options)


def solved(X, Y, **options):
    return solve(problem(X, Y, **options))


def assert_equals(solution, X, Y, rtol=1e-11, **options):
    coef, intercept = reference(X, Y, **options)
    np.testing.assert_allclose(solution.coef, coef, rtol=rtol, atol=rtol * np.abs(coef).max())
    np.testing.assert_allclose(
        solution.intercept, intercept, rtol=rtol, atol=rtol * (1 + np.abs(Y).max())
    )
    assert solution.certificate.ok
    assert solution.certificate.relative_residual < 1e-14


# --- the answer -----------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 7.5])
@pytest.mark.parametrize(("n", "d", "m"), [(60, 4, 1), (3000, 12, 3), (4000, 40, 11), (9, 20, 2)])
def test_equals_lstsq(n, d, m, ridge, weighted, fit_intercept) -> None:
    X, Y = rng.normal(size=(n, d)) + 3.0, rng.normal(size=(n, m))
    options = {"ridge": ridge, "fit_intercept": fit_intercept}
    weights = rng.integers(0, 4, size=n) + 0.25 if weighted else None
    solution = solved(X, Y, weights=weights, **options)
    assert_equals(solution, X, Y, s=weights, **options)
    assert solution.rank == (d if ridge else min(d, n - fit_intercept))
    s = np.ones(n) if weights is None else weights
    r = Y - X @ solution.coef.T - solution.intercept
    np.testing.assert_allclose(solution.rss, s @ r**2, rtol=1e-10, atol=1e-20)


@pytest.mark.parametrize("n", [200, 40_000])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_dependent_columns_get_the_least_norm(n, fit_intercept) -> None:
    X = rng.normal(size=(n, 4))
    X = np.c_[X, X[:, 0] - 2 * X[:, 3], np.full(n, 0.1), X[:, 1]]
    Y = rng.normal(size=(n, 2))
    solution = solved(X, Y, fit_intercept=fit_intercept)
    assert_equals(solution, X, Y, fit_intercept=fit_intercept)
    assert solution.rank == 4 + (not fit_intercept)
    assert len(solution.dependent) == 7 - solution.rank
    assert (5 in solution.dependent) == fit_intercept
    assert solution.method == "svd"


def test_many_rows_hide_no_dependence() -> None:
    # Rounding adds up over two hundred blocks of rows.
    X = rng.normal(size=(200_000, 40))
    X[:, 1] = X[:, 0]
    X[:, 39] = X[:, 5:30].sum(axis=1)
    y = rng.normal(size=(200_000, 1))
    solution = solved(X, y)
    assert solution.rank == 38 and solution.condition < 100
    assert solution.coef[0, 0] == pytest.approx(solution.coef[0, 1], rel=1e-9)
    assert solution.certificate.relative_residual < 1e-14


def test_a_penalty_makes_dependent_columns_share() -> None:
    X, Y = rng.normal(size=(500, 2)), rng.normal(size=(500, 1))
    solution = solved(np.c_[X, X[:, 0]], Y, ridge=1e-3)
    assert_equals(solution, np.c_[X, X[:, 0]], Y, ridge=1e-3, rtol=1e-9)
    assert solution.coef[0, 0] == pytest.approx(solution.coef[0, 2], rel=1e-9)


def test_dependent_columns_in_unequal_units() -> None:
    # a = 2 b in units 24 orders of magnitude apart, beside an independent column.
    b, c = rng.normal(size=(2, 50)).round(6)
    y = (3 * b + 2 * c + rng.normal(size=50)).round(6)
    X = np.stack([2.0**40 * b, c * 2.0**-40, 2.0**-40 * b], axis=1)
    solution = solved(X, y[:, None])
    on_b, on_c = exact(np.stack([b, c], axis=1), y)[1:]
    # The shortest of all (u, v) with u 2^40 + v 2^-40 = on_b.
    u, v = Fraction(2) ** 40, Fraction(1, 2**40)
    share = Fraction(on_b) / (u * u + v * v)
    expected = [float(share * u), on_c * 2.0**40, float(share * v)]
    np.testing.assert_allclose(solution.coef[0], expected, rtol=1e-12, atol=1e-24)
    assert solution.rank == 2


@pytest.mark.parametrize("power", [0, 3, 8])
def test_any_offset(power) -> None:
    # Multiples of 2^-20, so that every offset keeps them exactly.
    Z = np.round(rng.normal(size=(4000, 3)) * 2**10) / 2**10
    y = np.round(rng.normal(size=4000) * 2**10) / 2**10
    offset = 10.0**power
    small, large = solved(Z[:200], y[:200, None]), solved(Z[:200] + offset, y[:200, None] + offset)
    np.testing.assert_array_equal(small.coef, large.coef)
    plain = exact(Z[:200], y[:200])
    np.testing.assert_allclose(small.coef[0], plain[1:], rtol=1e-15)
    assert large.certificate.ok
    # And where there are too many rows for twice the precision.
    small, large = solved(Z, y[:, None]), solved(Z + offset, y[:, None] + offset)
    monstrous = solved(np.tile(Z, (5, 1)) + offset, np.tile(y[:, None], (5, 1)) + offset)
    np.testing.assert_allclose(large.coef, small.coef, rtol=1e-12)
    np.testing.assert_allclose(monstrous.coef, small.coef, rtol=1e-12)
    np.testing.assert_allclose(monstrous.rss, 5 * small.rss, rtol=1e-9)
    assert monstrous.certificate.ok


@pytest.mark.parametrize("n", [300, 30_000])
def test_any_units(n) -> None:
    Z, y = rng.normal(size=(n, 13)), rng.normal(size=(n, 1))
    units = 2.0 ** np.arange(-42, 43, 7)
    plain, scaled = solved(Z, y), solved(Z * units, y)
    np.testing.assert_allclose(scaled.coef * units, plain.coef, rtol=1e-13, atol=1e-15)
    assert scaled.condition == pytest.approx(plain.condition, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_whose_squares_leave_the_range(unit) -> None:
    Z, y = rng.normal(size=(80, 3)), rng.normal(size=(80, 1))
    solution = solved(Z * unit, y)
    np.testing.assert_allclose(solution.coef * unit, solved(Z, y).coef, rtol=1e-12)
    assert solution.certificate.ok


def test_small_problems_are_rounded_from_the_exact_answer() -> None:
    # Integers, so that the rational answer is that of the very same data.
    for trial in range(20):
        n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        X = rng.integers(-9, 10, size=(n, d)).astype(float)
        X[:d, :d] += 40 * np.eye(d)
        y = rng.integers(-9, 10, size=n).astype(float)
        s = rng.integers(1, 5, size=n).astype(float)
        ridge, fit_intercept = [0, 3][trial % 2], bool(trial % 3)
        solution = solved(X, y[:, None], weights=s, ridge=float(ridge), fit_intercept=fit_intercept)
        ours = np.r_[[solution.intercept[0]] * fit_intercept, solution.coef[0]]
        expected = exact(X, y, ridge=ridge, fit_intercept=fit_intercept, s=s)
        np.testing.assert_allclose(ours, expected, rtol=3e-16, atol=1e-30)


def test_an_ill_conditioned_problem_is_solved_to_the_last_digit() -> None:
    X = np.vander(np.arange(1.0, 41.0), 8)[:, :-1]
    y = rng.integers(-1000, 1000, size=40).astype(float)
    solution = solved(X, y[:, None])
    assert solution.condition > 1e4
    ours = np.r_[solution.intercept, solution.coef[0]]
    np.testing.assert_allclose(ours, exact(X, y), rtol=3e-16)


def test_a_large_ill_conditioned_problem_is_better_than_lstsq() -> None:
    # The same rows over and over: too many to be refined in twice the precision, same answer.
    X = np.vander(np.arange(1.0, 41.0), 8)[:, :-1]
    y = rng.integers(-1000, 1000, size=40).astype(float)
    many = solved(np.tile(X, (20_000, 1)), np.tile(y[:, None], (20_000, 1)))
    assert many.method == "cholesky" or many.method == "qr"
    expected = exact(X, y)
    ours = np.abs(np.r_[many.intercept, many.coef[0]] / expected - 1).max()
    A = np.tile(np.c_[np.ones(40), X], (20_000, 1))
    theirs = np.linalg.lstsq(A, np.tile(y, 20_000), rcond=None)[0]
    theirs = np.abs(theirs / expected - 1).max()
    assert ours < theirs
    assert many.certificate.ok


def test_an_exact_fit() -> None:
    X = rng.normal(size=(20_000, 5))
    W = np.round(rng.normal(size=(2, 5)), 3)
    solution = solved(X, X @ W.T + 1e6)
    np.testing.assert_allclose(solution.coef, W, atol=1e-9)
    # The residual is rounding, which points anywhere.
    assert solution.certificate.orthogonality > 1e-10
    assert solution.certificate.ok


def test_degenerate_shapes() -> None:
    one = solved(np.array([[2.0]]), np.array([[5.0]]))
    assert (one.coef.tolist(), one.intercept.tolist(), one.rank) == ([[0.0]], [5.0], 0)
    through = solved(np.array([[2.0]]), np.array([[5.0]]), fit_intercept=False)
    assert (through.coef.tolist(), through.rank) == ([[2.5]], 1)
    two = solved(np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]]))
    assert (two.coef.tolist(), two.intercept.tolist()) == ([[0.5]], [1.0])
    level = solved(rng.normal(size=(50, 3)), np.full((50, 1), 0.1))
    assert np.abs(level.coef).max() < 1e-16 and level.intercept[0] == pytest.approx(0.1, rel=1e-15)
    empty = solved(np.zeros((9, 2)), np.arange(9.0)[:, None])
    assert (empty.coef.tolist(), empty.intercept.tolist(), empty.rank) == ([[0.0, 0.0]], [4.0], 0)
    for solution in (one, through, two, level, empty):
        assert solution.certificate.ok


# --- storage --------------------------------------------------------------------------------


def layouts(X):
    big = np.zeros((len(X), 2 * X.shape[1]))
    big[:, ::2] = X
    return {
        "fortran": np.asfortranarray(X),
        "strided": big[:, ::2],
        "reversed": X[::-1][::-1],
        "csr": sp.csr_array(X),
        "csr64": sp.csr_array(
            (sp.csr_array(X).data, *(a.astype(np.int64) for a in (
                sp.csr_array(X).indices, sp.csr_array(X).indptr))), shape=X.shape),
    }  # fmt: skip


@pytest.mark.parametrize("n", [100, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_makes_no_difference(n, dtype) -> None:
    X = (rng.normal(size=(n, 9)) * (rng.random((n, 9)) < 0.4)).astype(dtype)
    Y, s = np.asfortranarray(rng.normal(size=(n, 2))), rng.random(n)
    plain = solved(X.astype(np.float64), Y, weights=s)
    for name, other in layouts(X).items():
        found = solved(other, Y, weights=s)
        np.testing.assert_allclose(found.coef, plain.coef, rtol=1e-12, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(found.rss, plain.rss, rtol=1e-12, err_msg=name)


def test_many_targets_of_sparse_rows() -> None:
    X = sp.random_array((3000, 30), density=0.2, format="csr", rng=1)
    Y = rng.normal(size=(3000, 12))
    assert_equals(solved(X, Y), X, Y)


def test_repeated_entries_of_a_sparse_matrix_add_up() -> None:
    data = np.array([1.0, 2.0, 5.0, -1.0, 4.0, 0.5, 3.0])
    messy = sp.csr_array((data, [1, 1, 0, 0, 1, 0, 1], [0, 2, 4, 5, 6, 7]), shape=(5, 2))
    y = rng.normal(size=(5, 1))
    found, plain = solved(messy, y), solved(messy.toarray(), y)
    np.testing.assert_allclose(found.coef, plain.coef, rtol=1e-14)
    certificate = certify(problem(messy, y), found.coef, found.intercept)
    assert certificate.ok


@pytest.mark.parametrize("lanes_and_height", [(8, 8), (4, 4), (2, 8)])
def test_products_in_registers(lanes_and_height) -> None:
    import numba

    lanes, height = lanes_and_height
    first, second, third = (register_tiles.tile_of(width, height, lanes) for width in (1, 2, 3))

    @numba.njit
    def add(x, left, right, out):
        first(x, left, x.shape[1], 1, len(x), x, 0, right, out[0], left)
        second(x, left, x.shape[1], 1, len(x), x, 0, right, out[1], left)
        third(x, left, x.shape[1], 1, len(x), x, 0, right, out[2], left)

    x, found = rng.normal(size=(37, 32)), np.ones((3, 32, 32))
    add(x, 8, 8, found)
    for width, out in enumerate(found, start=1):
        expected = np.ones((32, 32))
        rows, columns = slice(8, 8 + height), slice(8, 8 + width * lanes)
        expected[rows, columns] += x[:, rows].T @ x[:, columns]
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 1), (1000, 103, 3), (130, 200, 2), (65, 7, 1)])
def test_moments_are_those_of_the_other_way(shape) -> None:
    n, d, m = shape
    X, Y = rng.normal(size=(n, d)) + 1e4, np.asfortranarray(rng.normal(size=(n, m)))
    for s in (None, rng.integers(0, 3, size=n) + (n == 1) + 0.5):
        other = Moments.of(as_design(X), weights=s, targets=Y, tuning=moments.Tuning(worth=np.inf))
        found = Moments.of(as_design(X), weights=s, targets=Y, tuning=moments.Tuning(worth=0.0))
        assert found.weight == other.weight and found.n_rows == n
        np.testing.assert_allclose(found.mean, other.mean, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(found.scatter, other.scatter, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found.scatter, found.scatter.T)


# --- more columns than fit ------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 5.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "offset", "weights", "repeated"])
def test_far_more_columns_than_rows(kind, ridge) -> None:
    X, Y = rng.normal(size=(40, 1100)), rng.normal(size=(40, 2))
    s = None
    if kind == "offset":
        X += 30.0
    elif kind == "weights":
        s = np.where(rng.random(40) < 0.5, 0.0, rng.random(40))
    elif kind == "repeated":
        X[30:] = X[:10]
    elif kind == "sparse":
        X = sp.random_array((40, 1100), density=0.05, format="csr", rng=1)
    for fit_intercept in (True, False):
        solution = solved(X, Y, weights=s, ridge=ridge, fit_intercept=fit_intercept)
        assert_equals(solution, X, Y, s=s, ridge=ridge, fit_intercept=fit_intercept, rtol=1e-9)
        assert solution.method == ("svd" if kind == "repeated" and not ridge else "rows")


# Neither the columns nor the rows are few enough here for a matrix of all pairs.
TINY = Tuning(most_square=10, most_wide=10, most_copied=10)


@pytest.mark.parametrize("ridge", [0.0, 20.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_neither_rows_nor_columns_fit(ridge, fit_intercept) -> None:
    for n, d in ((300, 80), (80, 300)):
        X = sp.random_array((n, d), density=0.2, format="csr", rng=1)
        Y, s = rng.normal(size=(n, 2)), rng.random(n)
        options = {"weights": s, "ridge": ridge, "fit_intercept": fit_intercept}
        solution = solved(X, Y, **options, tuning=TINY)
        assert solution.method == "cgls"
        coef, intercept = reference(X, Y, s, fit_intercept, ridge)
        np.testing.assert_allclose(solution.coef, coef, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(solution.intercept, intercept, atol=1e-8)
        assert solution.certificate.ok and solution.factor is None


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_sparse_rows_with_many_columns(fit_intercept, ridge) -> None:
    """Also where columns are empty, scaled, or those of two variables, which add up to the same."""
    X = rng.random((400, 90)) * (rng.random((400, 90)) < 0.2)
    X[:, :20] = np.eye(20)[rng.integers(0, 20, 400)]
    X[:, 20:45] = np.eye(25)[rng.integers(0, 25, 400)]
    X[:, 50] = 0.0
    X[:, 60:70] *= np.logspace(-6, 6, 10)
    Y, s = rng.normal(size=(400, 2)), rng.random(400)
    options = {"weights": s, "fit_intercept": fit_intercept, "ridge": ridge}
    found = solved(sp.csr_matrix(X), Y, **options, tuning=Tuning(many=10))
    assert found.method == "cgls" and found.certificate.ok and found.factor is None
    assert found.rank == (90 if ridge else 88 - fit_intercept)
    if not ridge:
        others = np.delete(X, found.dependent, axis=1)
        others /= np.sqrt(np.sum(others**2, axis=0))
        assert np.linalg.matrix_rank(others - fit_intercept * others.mean(axis=0)) == found.rank
    other = solved(X, Y, **options)
    np.testing.assert_allclose(found.coef, other.coef, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.intercept, other.intercept, rtol=1e-8)


def test_sparse_rows_that_steps_say_too_little_of_are_factorised() -> None:
    X = sp.random_array((400, 60), density=0.2, format="csr", rng=1)
    Y = rng.normal(size=(400, 1))
    # More combinations than are looked for, and one that is zero but for a ten millionth.
    nearly = X[:, [0]] + 1e-7 * sp.random_array((400, 1), density=0.2, format="csr", rng=2)
    for more, rank in ((X[:, :30], 60), (nearly, 61)):
        both = sp.csr_matrix(sp.hstack([X, more]))
        found = solved(both, Y, tuning=Tuning(many=10))
        assert found.method != "cgls" and found.rank == rank


def test_an_iterative_method_that_stops_early_says_so() -> None:
    X, Y = rng.normal(size=(300, 80)), rng.normal(size=(300, 1))
    certificate = solved(X, Y, tuning=replace(TINY, iterations=3)).certificate
    assert certificate.status == "above_tol" and not certificate.ok
    assert certificate.relative_residual > certificate.tol


# --- the certificate ------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 30.0])
@pytest.mark.parametrize("sparse", [True, False])
def test_the_certificate_by_hand(ridge, sparse) -> None:
    X, Y = rng.normal(size=(70, 4)) + 2.0, rng.normal(size=(70, 2))
    X *= rng.random((70, 4)) < 0.5
    s = rng.random(70)
    coef, intercept = rng.normal(size=(2, 4)), rng.normal(size=2)
    found = certify(
        problem(sp.csr_array(X) if sparse else X, Y, weights=s, ridge=ridge), coef, intercept
    )
    root = np.sqrt(s)[:, None]
    A = np.vstack([root * (X - np.average(X, axis=0, weights=s)), np.sqrt(ridge) * np.eye(4)])
    A = np.c_[A, np.r_[root[:, 0], np.zeros(4)]]
    r = np.vstack([root * (Y - X @ coef.T - intercept), -np.sqrt(ridge) * coef.T])
    cosines = np.abs(A.T @ r) / np.linalg.norm(A, axis=0)[:, None] / np.linalg.norm(r, axis=0)
    assert found.orthogonality == pytest.approx(cosines.max(), rel=1e-12)
    # Relative to the targets: a fit may be exact.
    by_size = np.linalg.norm(r, axis=0)
    by_size /= np.linalg.norm(root * (Y - np.average(Y, axis=0, weights=s)), axis=0)
    assert found.relative_residual == pytest.approx(np.minimum(cosines, by_size).max(), rel=1e-12)
    assert found.status == "above_tol"
    best = solved(X, Y, weights=s, ridge=ridge)
    assert certify(
        problem(X, Y, weights=s, ridge=ridge), best.coef, best.intercept
    ).relative_residual < 1e-15  # fmt: skip


@pytest.mark.parametrize("error", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_a_wrong_coefficient_is_found(error, offset) -> None:
    X, Y = rng.normal(size=(500, 3)) + offset, rng.normal(size=(500, 1))
    best = solved(X, Y)
    wrong = best.coef + np.array([0.0, error, 0.0])
    level = best.intercept - error * X[:, 1].mean()
    found = certify(problem(X, Y), wrong, level)
    # At an offset of 1e8 the intercept itself is rounded to 1e-8.
    assert found.ok == (offset > 0 and error < 1e-7)
    assert found.orthogonality > 0.1 * error


def test_a_constant_column_has_no_say() -> None:
    X = np.c_[rng.normal(size=30), np.full(30, 0.1)]
    y = rng.normal(size=(30, 1))
    best = solved(X, y)
    other = best.coef + np.array([0.0, 3.0])
    found = certify(problem(X, y), other, best.intercept - 0.3)
    assert found.ok


# --- factors --------------------------------------------------------------------------------


def portions(X, Y, s, sizes):
    factor, start = None, 0
    for size in [*sizes, len(X)]:
        part = slice(start, start + size)
        if len(X[part]):
            own = None if s is None else s[part]
            more = TriangularFactor.of(as_design(X[part]), Y[part], own)
            factor = more if factor is None else factor.merge(more)
        start += size
    return factor


@pytest.mark.sampled
@settings(max_examples=share(100), deadline=None)
@given(
    st.lists(st.integers(1, 9), max_size=30),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e3, 1e8]),
    st.booleans(),
)
def test_any_portions_are_one_fit(sizes, seed, offset, weighted) -> None:
    own = np.random.default_rng(seed)
    X = own.normal(size=(60, 3)) + offset
    X = np.c_[X, np.full(60, 7.0)]
    Y = own.normal(size=(60, 2)) + offset
    s = own.integers(0, 3, size=60).astype(float) if weighted else None
    parts = portions(X, Y, s, sizes)
    whole = TriangularFactor.of(as_design(X), Y, s)
    assert parts.weight == pytest.approx(whole.weight, rel=1e-15)
    assert parts.n_rows == 60
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(
        parts.r[:3, :3], whole.r[:3, :3], rtol=1e-12, atol=1e-12 * np.abs(whole.r).max()
    )
    for ridge in (0.0, 2.0):
        found, fit = parts.solve(ridge), solved(X, Y, weights=s, ridge=ridge)
        np.testing.assert_allclose(found.coef, fit.coef, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(found.intercept, fit.intercept, rtol=1e-13, atol=1e-11)
        np.testing.assert_allclose(found.rss, fit.rss, rtol=1e-10)
        assert found.rank == fit.rank
        assert "of the triangular factor" in found.certificate.equations
        assert found.certificate.ok


def test_the_factor_of_a_fit_goes_on() -> None:
    X, Y = rng.normal(size=(600, 5)) + 4.0, rng.normal(size=(600, 3))
    fit = solved(X[:400], Y[:400])
    assert fit.method == "cholesky" and fit.factor is not None
    direct = TriangularFactor.of(as_design(X[:400]), Y[:400])
    np.testing.assert_allclose(fit.factor.r, direct.r, atol=1e-12)
    both = fit.factor.merge(TriangularFactor.of(as_design(X[400:]), Y[400:]))
    np.testing.assert_allclose(both.solve().coef, solved(X, Y).coef, rtol=1e-11, atol=1e-13)
    assert not np.tril(both.r, -1).any()
    np.testing.assert_allclose(
        both.r.T @ both.r,
        (len(X) - 1) * np.cov(np.c_[X, Y].T),
        rtol=1e-11,
        atol=1e-9,
    )


def test_targets_that_depend_on_one_another() -> None:
    X = rng.normal(size=(50, 2))
    hot = np.eye(3)[rng.integers(0, 3, 50)]
    solution = solved(X, hot)
    np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-15)
    assert solution.intercept.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(solution.factor.solve().coef, solution.coef, atol=1e-14)


def test_a_factor_without_rows() -> None:
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(10, 1))
    nothing = TriangularFactor.of(as_design(X), Y, np.zeros(10))
    some = TriangularFactor.of(as_design(X), Y)
    for both in (nothing.merge(some), some.merge(nothing)):
        assert both.n_rows == 20 and both.weight == 10.0
        np.testing.assert_array_equal(both.r, some.r)


def test_factors_of_different_problems_do_not_merge() -> None:
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(10, 1))
    factor = TriangularFactor.of(as_design(X), Y)
    with pytest.raises(ValueError, match="2 features and 1 targets .* 1 features and 1 targets"):
        factor.merge(TriangularFactor.of(as_design(X[:, :1]), Y))
    with pytest.raises(ValueError, match="with another fit_intercept"):
        factor.merge(TriangularFactor.of(as_design(X), Y, None, False))


def test_the_inverse_of_the_normal_equations() -> None:
    A = rng.normal(size=(30, 5))
    r = np.linalg.qr(A)[1]
    g = rng.normal(size=(5, 2))
    np.testing.assert_allclose(NormalInverse(r, 5).step(g), np.linalg.solve(A.T @ A, g), rtol=1e-10)
    A[:, 4] = A[:, 0] + A[:, 1]
    inverse = NormalInverse(np.linalg.qr(A)[1], 5)
    assert inverse.rank == 4
    g = A.T @ rng.normal(size=(30, 2))
    np.testing.assert_allclose(inverse.step(g), np.linalg.pinv(A.T @ A) @ g, atol=1e-12)


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("n", "d"), [(50, 3), (3, 5), (20, 2000)])
@pytest.mark.parametrize("sparse", [True, False])
def test_what_is_not_finite_is_named(bad, n, d, sparse) -> None:
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, 1))
    X[2, 1] = bad
    with pytest.raises(ValueError, match=r"(NaN|infinity \(inf\)) at row 2, column 1 \('b'\)"):
        solved(sp.csr_array(X) if sparse else X, Y, names=["a", "b", *map(str, range(2, d))])
