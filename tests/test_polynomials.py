"""The orthogonal basis, its design matrix and its exact conversion."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures

from rational_least_squares import exact_fit, exact_solution
from separatrix.closed_form.normal_equations import LeastSquaresProblem
from separatrix.closed_form.polynomial import (
    PolynomialBasis,
    PolynomialDesign,
    count_terms,
    degree_errors,
    solve,
)
from separatrix.data.design import as_design


def points(n: int = 30, d: int = 2, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) + np.arange(d), rng


def fit(design, targets, basis, **options):
    problem = LeastSquaresProblem(PolynomialDesign(design, basis), targets, **options)
    return solve(problem, basis)


def exact_terms(basis: PolynomialBasis, row: np.ndarray) -> list[Fraction]:
    """The terms at a point by their recurrence, in rational arithmetic."""
    single = []
    for j, value in enumerate(row):
        t = (Fraction(float(value)) - Fraction(float(basis.centre[j]))) * Fraction(
            float(basis.scale[j])
        )
        before, here = Fraction(0), Fraction(1)
        polynomials = [here]
        for a, b, s in basis.recurrence[j]:
            after = ((t - Fraction(float(a))) * here - Fraction(float(b)) * before) * Fraction(
                float(s)
            )
            before, here = here, after
            polynomials.append(here)
        single.append(polynomials)
    return [math.prod(single[j][p] for j, p in enumerate(powers)) for powers in basis.powers]


@pytest.mark.parametrize("top", [[3], [2, 2], [3, 1, 3], [0, 2, 5], [1, 1, 1, 1], [0, 0]])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
def test_terms_are_those_that_can_be_counted(top, degree) -> None:
    every = [
        e
        for e in itertools.product(*(range(min(t, degree) + 1) for t in top))
        if 0 < sum(e) <= degree
    ]
    assert count_terms(top, degree, True) == len(every)
    alone = [e for e in every if np.count_nonzero(e) == 1]
    assert count_terms(top, degree, False) == len(alone)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_order_is_that_of_scikit_learn(degree) -> None:
    X, _ = points(200, 3)
    basis = PolynomialBasis.of(as_design(X), degree)
    theirs = PolynomialFeatures(degree, include_bias=False).fit(X)
    assert basis.powers.tolist() == theirs.powers_.tolist()
    assert basis.names(["a", "b", "c"]) == theirs.get_feature_names_out(["a", "b", "c"]).tolist()
    for lower in range(degree + 1):
        assert basis.leading(lower) == count_terms([degree] * 3, lower, True)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_s_polynomials_are_orthonormal_over_the_rows(weighted) -> None:
    X, rng = points(300, 3)
    s = rng.integers(0, 3, size=300).astype(float) if weighted else None
    basis = PolynomialBasis.of(as_design(X), 8, interactions=False, weights=s)
    terms = PolynomialDesign(as_design(X), basis).matrix
    s = np.ones(300) if s is None else s
    for j in range(3):
        own = np.column_stack([np.ones(300), terms[:, basis.powers[:, j] > 0]])
        np.testing.assert_allclose((own * s[:, None]).T @ own / s.sum(), np.eye(9), atol=1e-11)
    t = (X - basis.centre) * basis.scale
    used = t[s > 0]
    assert used.max() == pytest.approx(1.0) and used.min() == pytest.approx(-1.0)


def test_rows_of_weight_zero_are_not_there() -> None:
    X, rng = points(50, 2)
    s = np.ones(50)
    s[40:] = 0.0
    X[40:] = 1e6 * rng.normal(size=(10, 2))
    with_them = PolynomialBasis.of(as_design(X), 3, weights=s)
    without = PolynomialBasis.of(as_design(X[:40]), 3)
    np.testing.assert_allclose(with_them.recurrence, without.recurrence, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(with_them.centre, without.centre)


def test_a_column_bears_the_powers_below_its_distinct_values() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, q, size=400).astype(float) for q in (1, 2, 3, 5)]
    X = np.column_stack([*columns, rng.normal(size=400)])
    basis = PolynomialBasis.of(as_design(X), 4)
    assert basis.top.tolist() == [0, 1, 2, 4, 4]
    # What is left has full rank, with the constant: nothing more could be borne.
    lone = PolynomialBasis.of(as_design(X), 4, interactions=False)
    terms = PolynomialDesign(as_design(X), lone).matrix
    whole = np.column_stack([np.ones(400), terms])
    assert np.linalg.matrix_rank(whole) == whole.shape[1]


def test_values_too_close_to_tell_powers_apart() -> None:
    # Thirty distinct numbers, but to rounding two places.
    ulps = np.arange(15) * np.spacing(1.0)
    x = np.concatenate([1.0 + ulps, 2.0 + 2 * ulps])[:, None]
    basis = PolynomialBasis.of(as_design(x), 6)
    assert basis.top.tolist() == [1]


@pytest.mark.parametrize("kind", ["C", "F", "float32", "csr", "strided"])
def test_the_design_matrix_against_exact_terms(kind) -> None:
    X, _ = points(12, 3)
    X = np.round(X * 8) / 8
    stored = {
        "C": X,
        "F": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "csr": sp.csr_matrix(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
    }[kind]
    basis = PolynomialBasis.of(as_design(stored), 3)
    expected = np.array([[float(v) for v in exact_terms(basis, row)] for row in X])
    design = PolynomialDesign(as_design(stored), basis)
    np.testing.assert_allclose(design.matrix, expected, rtol=1e-12, atol=1e-13)


def test_products_with_the_design_are_those_with_its_matrix() -> None:
    X, rng = points(5000, 3)
    basis = PolynomialBasis.of(as_design(X), 3)
    design = PolynomialDesign(as_design(X), basis)
    matrix = design.matrix
    n, k = design.shape
    assert (n, k) == (5000, 19) and design.n_stored == n * k
    w, a, s = rng.normal(size=k), rng.normal(size=n), rng.uniform(size=n)
    W, A = rng.normal(size=(k, 3)), rng.normal(size=(n, 2))
    for found, expected in [
        (design.dot(w), matrix @ w),
        (design.dot(W), matrix @ W),
        (design.t_dot(a), matrix.T @ a),
        (design.t_dot(A), matrix.T @ A),
        (design.absolute_dot(w), np.abs(matrix) @ np.abs(w)),
        (design.absolute_t_dot(a), np.abs(matrix).T @ np.abs(a)),
        (design.gram(s), (matrix * s[:, None]).T @ matrix),
        (design.column_squares(s), s @ matrix**2),
        (design.column_squares(A**2), (matrix**2).T @ A**2),
        (design.row_squares(), (matrix**2).sum(axis=1)),
        (design.take(np.array([7, 3])).matrix, matrix[[7, 3]]),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    part = np.vstack([block.copy() for _, block in design.blocks(17, 4321, size=100)])
    np.testing.assert_array_equal(part, matrix[17:4321])


def test_conversion_to_plain_powers_is_exact() -> None:
    X, rng = points(40, 3)
    basis = PolynomialBasis.of(as_design(X), 3)
    high = rng.normal(size=(2, basis.n_terms + 1))
    low = high * 1e-17 * rng.normal(size=high.shape)
    coef, intercept = basis.to_powers(high, low)
    matrix, constant = basis.conversion()
    np.testing.assert_allclose(matrix @ high[0, 1:], coef[0], rtol=1e-9, atol=1e-9)
    assert high[0, 0] + constant @ high[0, 1:] == pytest.approx(intercept[0], abs=1e-9)
    # Twenty points decide a cubic of three columns; the same values, exactly, up to one rounding
    # of each coefficient.
    for row in X[:5]:
        terms = exact_terms(basis, row)
        for c in range(2):
            exact = Fraction(high[c, 0]) + Fraction(low[c, 0])
            for term, value in enumerate(terms):
                exact += (Fraction(high[c, term + 1]) + Fraction(low[c, term + 1])) * value
            plain = Fraction(intercept[c])
            size = abs(plain)
            for powers, value in zip(basis.powers, coef[c], strict=True):
                monomial = math.prod(
                    Fraction(float(v)) ** int(p) for v, p in zip(row, powers, strict=True)
                )
                plain += Fraction(value) * monomial
                size += abs(Fraction(value) * monomial)
            assert abs(plain - exact) <= Fraction(1, 2**53) * size


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("x", "degree"),
    [
        (np.linspace(0.0, 1.0, 20), 19),
        (np.linspace(1950.0, 2020.0, 15), 9),
        (np.geomspace(1e-3, 1e3, 25), 8),
        (np.array([0.1, 0.1, 0.3, 0.3, 0.7, 0.9]), 3),
    ],
)
def test_coefficients_are_those_of_rational_arithmetic(x, degree, weighted) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=len(x))
    s = rng.integers(1, 4, size=len(x)).astype(float) if weighted else None
    design = as_design(x[:, None])
    basis = PolynomialBasis.of(design, degree, weights=s)
    found = fit(design, y[:, None], basis, weights=s)
    expected = np.array([float(v) for v in exact_fit(x, y, degree, s)])
    # To the last digit or the one before, whatever the condition number of the powers.
    got = np.concatenate([found.plain_intercept, found.plain_coef[0]])
    np.testing.assert_allclose(got, expected, rtol=4e-16)


def test_refinement_with_a_penalty() -> None:
    x = np.linspace(-1.0, 2.0, 9)
    y = np.cos(3 * x)
    design = as_design(x[:, None])
    basis = PolynomialBasis.of(design, 4)
    ridge = 0.75
    found = fit(design, y[:, None], basis, ridge=ridge)
    terms = [[Fraction(1), *exact_terms(basis, [v])] for v in x]
    expected = [float(v) for v in exact_solution(terms, y, ridge=ridge)]
    np.testing.assert_allclose([*found.intercept, *found.coef[0]], expected, rtol=1e-15)


@pytest.mark.parametrize("seed", range(24))
def test_coefficients_of_several_columns_are_those_of_rational_arithmetic(seed) -> None:
    rng = np.random.default_rng(seed)
    d, degree, n = rng.integers(1, 4), rng.integers(1, 4), rng.integers(8, 25)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-5, 6, size=d)
    X += 10.0 ** rng.integers(-3, 6, size=d)
    if seed % 3 == 0:
        X[:, 0] = rng.integers(0, 2, size=n)
    if seed % 3 == 1 and d > 1:
        # Nearly the same column twice.
        X[:, 1] = X[:, 0] * (1.0 + 1e-4 * rng.normal(size=n))
    y = rng.normal(size=n) * 10.0 ** rng.integers(-5, 6)
    s = None if seed % 2 else rng.integers(0, 3, size=n).astype(float)
    design = as_design(X)
    basis = PolynomialBasis.of(design, int(degree), weights=s)
    found = fit(design, y[:, None], basis, weights=s)
    terms = [
        [Fraction(1)]
        + [
            math.prod(Fraction(float(v)) ** int(p) for v, p in zip(row, powers, strict=True))
            for powers in basis.powers
        ]
        for row in X
    ]
    exact = exact_solution(terms, y, s)
    if found.rank < basis.n_terms:
        # Fewer rows of positive weight than terms, as a rule.
        assert exact is None or found.certificate.condition > 1e6
        return
    expected = [float(v) for v in exact]
    np.testing.assert_allclose([*found.plain_intercept, *found.plain_coef[0]], expected, rtol=1e-15)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_errors_of_all_degrees_from_one_factor(ridge) -> None:
    X, rng = points(60, 2)
    y = rng.normal(size=(60, 2)) + X[:, :1] ** 2
    s = rng.integers(1, 4, size=40).astype(float)
    train, held = as_design(X[:40]), as_design(X[40:])
    basis = PolynomialBasis.of(train, 4, weights=s)
    degrees = [0, 1, 2, 4]
    training, validation = degree_errors(
        train, y[:40], basis, degrees, validation=(held, y[40:]), weights=s, ridge=ridge
    )
    for i, degree in enumerate(degrees):
        own = PolynomialBasis.of(train, degree, weights=s)
        found = fit(train, y[:40], own, weights=s, ridge=ridge)
        assert training[i] == pytest.approx(found.mse.mean(), rel=1e-9)
        predicted = PolynomialDesign(held, own).dot(found.coef.T) + found.intercept
        assert validation[i] == pytest.approx(np.square(y[40:] - predicted).mean(), rel=1e-8)


def test_too_many_terms() -> None:
    X, _ = points(10, 300)
    with pytest.raises(ValueError, match="makes 45,450 terms, .* 17 GB .* interactions=False"):
        PolynomialBasis.of(as_design(X), 2)
    assert PolynomialBasis.of(as_design(X), 2, interactions=False).n_terms == 600


@pytest.mark.parametrize(
    ("recurrence", "powers", "kind"),
    [
        ((2, 1, 3), [[2, 0]], np.int16),
        ((2, 2, 3), [[-1, 0]], np.int16),
        ((1, 2, 3), [[1, 0]], np.int16),
        ((2, 2, 2), [[1, 0]], np.int16),
        ((2, 2, 3), [[1, 0, 0]], np.int16),
        ((2, 2, 3), [[1.0, 0.0]], np.float64),
    ],
)
def test_a_basis_whose_parts_do_not_fit_is_refused(recurrence, powers, kind):
    with pytest.raises(ValueError, match="The shapes of the polynomials do not agree: "):
        PolynomialBasis(np.zeros(2), np.ones(2), np.ones(recurrence), np.array(powers, dtype=kind))


def test_terms_need_their_divisors():
    def basis(*powers):
        table = np.array(powers, dtype=np.int16).reshape(-1, 2)
        return PolynomialBasis(np.zeros(2), np.ones(2), np.ones((2, 2, 3)), table)

    basis([1, 0], [0, 1], [2, 0], [1, 1], [0, 2]).require_closed()
    basis().require_closed()
    for powers in ([[2, 0]], [[1, 0], [1, 1]], [[2, 0], [1, 0]]):
        with pytest.raises(ValueError, match="lacks its divisors"):
            basis(*powers).require_closed()
    with pytest.raises(ValueError, match="twice"):
        basis([1, 0], [1, 0]).require_closed()


def test_data_of_other_columns_are_refused():
    basis = PolynomialBasis(np.zeros(2), np.ones(2), np.ones((2, 2, 3)), np.eye(2, dtype=np.int16))
    with pytest.raises(ValueError, match="The data have 3 columns, and the polynomials have 2"):
        PolynomialDesign(as_design(np.zeros((4, 3))), basis)


def test_a_constant_is_solved_for_like_any_polynomial(capfd) -> None:
    X, y = np.ones((9, 2)), np.arange(9.0)[:, None] ** 2 + 1e6
    weights = np.arange(9.0) % 3
    found = fit(
        as_design(X), y, PolynomialBasis.of(as_design(X), 3, weights=weights), weights=weights
    )
    assert found.intercept[0] == pytest.approx(np.average(y[:, 0], weights=weights), rel=1e-15)
    assert found.certificate.ok and found.certificate.orthogonality < 1e-12
    # LAPACK calls an empty matrix an illegal argument, aloud.
    assert capfd.readouterr() == ("", "")
