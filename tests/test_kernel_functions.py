"""Kernels: their values against loops, their lifts against exact arithmetic."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from grids import grid
from separatrix.kernels import (
    CallableKernel,
    DeltaKernel,
    InnerProductKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
    functions,
)

EPS = float(np.finfo(np.float64).eps)


def dot(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


# Each kernel, written out again for two points.
KERNELS = [
    (LinearKernel(), dot),
    *[
        (
            PolynomialKernel(degree=d, gamma=g, coef0=c),
            lambda x, z, d=d, g=g, c=c: (g * dot(x, z) + c) ** d,
        )
        for d, g, c in itertools.product([1, 2, 3, 4, 5], [0.0, 0.3, 1.0], [0.0, 1.0, 2.5])
    ],
    (PolynomialKernel(degree=3, coef0=-0.5), lambda x, z: (dot(x, z) - 0.5) ** 3),
    *[
        (
            RBFKernel(gamma=g),
            lambda x, z, g=g: math.exp(
                -g * math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))
            ),
        )
        for g in [0.0, 0.05, 1.0, 30.0]
    ],
    (SigmoidKernel(gamma=0.3, coef0=-0.2), lambda x, z: math.tanh(0.3 * dot(x, z) - 0.2)),
    (SquaresKernel(), lambda x, z: math.fsum((a * b) ** 2 for a, b in zip(x, z, strict=True))),
    (DeltaKernel(), lambda x, z: float(list(x) == list(z))),
]
every_kernel = grid(
    ("kernel", "value"),
    KERNELS,
    ids=[f"{type(k).__name__}: {k.formula}" for k, _ in KERNELS],
    kind=lambda case: type(case[0]).__name__,
)
LIFTED = [k for k, _ in KERNELS if k.semidefinite and not isinstance(k, RBFKernel)]


def brute(value, X, Z):
    return np.array([[value(x, z) for z in Z.tolist()] for x in X.tolist()])


def points(n=9, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)).round(2)
    # Zeros for the sparse forms, a point twice, and the origin.
    X[np.abs(X) < 0.5] = 0.0
    X[-1] = X[0]
    X[1] = 0.0
    return X


# --- values ----------------------------------------------------------------------------------


@every_kernel
def test_values_against_loops(kernel, value):
    X, Z = points(), np.vstack([points(7, seed=1), points()[:2]])
    expected = brute(value, X, Z)
    tolerance = 64 * EPS * (1 + np.abs(expected).max())
    for left, right in itertools.product([X, sp.csr_array(X), sp.coo_matrix(X), X.tolist()], [Z]):
        for other in (right, sp.csr_matrix(right), np.asfortranarray(right)):
            K = kernel(left, other)
            assert K.dtype == np.float64 and K.shape == expected.shape
            assert np.abs(K - expected).max() <= tolerance


@every_kernel
@grid("form", [np.asarray, sp.csr_array])
def test_of_one_set_of_points(kernel, value, form):
    X = points()
    K = kernel(form(X))
    assert np.array_equal(K, K.T)
    assert np.abs(K - brute(value, X, X)).max() <= 64 * EPS * (1 + np.abs(K).max())
    assert np.allclose(kernel.diagonal(form(X)), np.diagonal(K), rtol=1e-13, atol=1e-14)


@every_kernel
def test_float32_points_are_worked_on_in_float64(kernel, value):
    X = points().astype(np.float32)
    assert np.array_equal(kernel(X), kernel(X.astype(np.float64)))


@every_kernel
def test_no_points(kernel, value):
    X = points()
    assert kernel(X[:0], X).shape == (0, 9) and kernel(X, X[:0]).shape == (9, 0)
    assert kernel(X[:0]).shape == (0, 0) and kernel.diagonal(X[:0]).shape == (0,)


@grid("dtype", [np.float32, np.float64])
@every_kernel
@functions.tuned(functions.Tuning(cached=512))
def test_of_products_in_place(kernel, value, dtype):
    if not isinstance(kernel, InnerProductKernel):
        assert not hasattr(kernel, "of_products")
        return
    X, Z = points(17), points(20, seed=1)
    left, right = (np.sum(a * a, axis=1).astype(dtype) for a in (X, Z))
    products = (X @ Z.T).astype(dtype)
    assert kernel.of_products(products, left, right) is None
    expected = brute(value, X, Z)
    tolerance = 200 * float(np.finfo(dtype).eps) * max(1.0, np.abs(expected).max())
    assert products.dtype == dtype
    # The formula multiplies the rounding of the products by as much as it says.
    square = float(max(left.max(), right.max()))
    assert np.abs(products - expected).max() <= tolerance * max(1.0, kernel.sensitivity(square))
    assert np.allclose(kernel.of_norms(left), [value(x, x) for x in X.tolist()], rtol=1e-4)
    assert kernel.of_norms(left).dtype == dtype


@grid("dtype", [np.float32, np.float64])
@grid("gamma", [1e10, 1e30, 1e300])
def test_huge_gamma_in_place(dtype, gamma):
    X = points() * 100
    left = np.sum(X * X, axis=1).astype(dtype)
    products = (X @ X.T).astype(dtype)
    RBFKernel(gamma).of_products(products, left, left)
    # No infinity less infinity.
    assert np.all((products >= 0) & (products <= 1))
    apart = ((X[:, None] - X) ** 2).sum(axis=2) > 1
    assert np.all(products[apart] == 0)


@grid("form", [np.asarray, sp.csr_array])
@grid("offset", [0.0, 1e3, 1e7, 1e10])
@grid("gamma", [0.01, 1.0, 1e4, 1e100])
def test_rbf_far_from_the_origin(form, offset, gamma):
    rng = np.random.default_rng(3)
    # Sixteenths: exact at every offset.
    X = rng.integers(-40, 40, (30, 4)) / 16.0 + offset
    Z = rng.integers(-40, 40, (20, 4)) / 16.0 + offset
    X[0] = Z[0]
    expected = np.exp(-gamma * ((X[:, None] - Z) ** 2).sum(axis=2))
    assert np.abs(RBFKernel(gamma)(form(X), form(Z)) - expected).max() <= 2e-13
    assert np.all(np.diagonal(RBFKernel(gamma)(form(X))) == 1.0)


def test_rbf_clusters_far_apart():
    # Centring alone would leave every distance within a cluster to cancellation.
    rng = np.random.default_rng(4)
    X = rng.integers(-40, 40, (60, 3)) / 16.0 + np.where(np.arange(60) < 30, 1e9, -1e9)[:, None]
    expected = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    assert expected[:30, :30].min() < 1e-3 < expected[0, 1:30].max()
    for Y in (X, sp.csr_array(X)):
        assert np.abs(RBFKernel(0.5)(Y) - expected).max() <= 1e-13


def test_rbf_at_the_end_of_the_range_of_floats():
    X = np.array([[1e308, 1e308], [1e308, -1e308], [1e308, 1e308]])
    expected = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    assert RBFKernel(1.0)(X).tolist() == expected
    assert RBFKernel(1.0)(sp.csr_array(X)).tolist() == expected
    assert np.all(RBFKernel(0.0)(X) == 1.0)


def test_beyond_the_range_of_floats():
    X = [[1e200, 0.0], [1.0, 1.0]]
    for kernel in (LinearKernel(), PolynomialKernel(2), SquaresKernel()):
        with pytest.raises(ValueError, match=r"beyond the range of floats \(first at 0 and 0\)"):
            kernel(X)
        with pytest.raises(ValueError, match=r"beyond the range of floats \(first at 0\)"):
            kernel.diagonal(X)
    for kernel in (PolynomialKernel(2), SquaresKernel()):
        with pytest.raises(ValueError, match="scale the features first"):
            kernel.lift(X)


def test_rbf_tends_to_delta():
    X = points()
    gaps = [np.abs(RBFKernel(g)(X) - DeltaKernel()(X)).max() for g in (1.0, 10.0, 100.0, 1e4)]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] == 0.0


def test_delta_knows_equal_points():
    X = np.array([[0.0, -0.0, 1.0], [-0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    expected = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    stored = sp.csr_array(X)
    # Zeros that are stored, entries that come twice, indices of 64 bits.
    odd = sp.csr_array(
        (
            np.array([0.0, 1.0, 0.5, 0.5, 1.0, 1.0]),
            np.array([0, 2, 2, 2, 2, 1], dtype=np.int64),
            np.array([0, 2, 4, 6], dtype=np.int64),
        ),
        shape=(3, 3),
    )
    for left in (X, stored, odd):
        assert DeltaKernel()(left).tolist() == expected
        for right in (X, stored, odd):
            assert DeltaKernel()(left, right).tolist() == expected
        assert DeltaKernel().lift(left).tolist() == [[1, 0], [1, 0], [0, 1]]


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    odd = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    for kernel in (LinearKernel(), PolynomialKernel(2), RBFKernel(), SquaresKernel()):
        assert np.array_equal(kernel(odd, [[2.0]]), kernel([[3.0]], [[2.0]]))
        assert np.array_equal(kernel.diagonal(odd), kernel.diagonal([[3.0]]))
    assert odd.nnz == 2  # the user's matrix is as it was


# --- semidefinite, or not ----------------------------------------------------------------------


@every_kernel
def test_semidefinite_as_claimed(kernel, value):
    if not kernel.semidefinite:
        assert isinstance(kernel, SigmoidKernel) or kernel.coef0 < 0
        return
    for seed, n, d in itertools.product(range(3), [2, 20, 60], [1, 3]):
        K = kernel(points(n, d, seed))
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -n * 16 * EPS * max(eigenvalues[-1], 1.0)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (SigmoidKernel(), [[1.0], [2.0]]),
        (SigmoidKernel(gamma=0.1, coef0=-1.0), [[0.0], [1.0]]),
        (SigmoidKernel(gamma=2.0, coef0=1.0), [[1.0], [3.0]]),
        (PolynomialKernel(degree=2, coef0=-1.0), [[1.0], [2.0], [0.0]]),
        (PolynomialKernel(degree=3, coef0=-1.0), [[0.0]]),
    ],
)
def test_what_is_no_scalar_product(kernel, X):
    assert not kernel.semidefinite
    assert np.linalg.eigvalsh(kernel(X))[0] < -1e-3


# --- lifts ------------------------------------------------------------------------------------


def parsed(name: str, width: int) -> tuple[Fraction, tuple[int, ...]]:
    """The square of the weight, and the exponents, that a column's name says."""
    square, exponents = Fraction(1), [0] * width
    for part in name.split(" "):
        if part.startswith("sqrt("):
            square *= Fraction(part[5:-1])
        elif part.startswith("x"):
            feature, _, power = part[1:].partition("^")
            exponents[int(feature)] += int(power or 1)
        else:
            square *= Fraction(part) ** 2
    return square, tuple(exponents)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
@grid("gamma", [Fraction(1), Fraction(1, 4), Fraction(3), Fraction(0)])
@grid("coef0", [Fraction(0), Fraction(1), Fraction(5, 2)])
@grid("width", [1, 2, 4])
def test_the_polynomial_lift_in_rationals(degree, gamma, coef0, width):
    kernel = PolynomialKernel(degree=degree, gamma=float(gamma), coef0=float(coef0))
    columns = [parsed(name, width) for name in kernel.lift_names(width)]
    # The multinomial theorem with one more term, the constant.
    for square, a in columns:
        p = sum(a)
        count = math.factorial(degree) // math.prod(map(math.factorial, (*a, degree - p)))
        assert square == count * coef0 ** (degree - p) * gamma**p
    assert len({a for _, a in columns}) == len(columns)
    # Small integers: the identity holds exactly.
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, size=(4, width))
    values = kernel(X)
    monomials = [[math.prod(int(v) ** e for v, e in zip(x, a, strict=True)) for _, a in columns]
                 for x in X]  # fmt: skip
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        exact = (gamma * sum(int(a) * int(b) for a, b in zip(X[i], X[j], strict=True)) + coef0) ** (
            degree
        )
        lifted = sum(
            square * a * b
            for (square, _), a, b in zip(columns, monomials[i], monomials[j], strict=True)
        )
        assert lifted == exact
        if gamma.denominator == coef0.denominator == 1:
            assert values[i, j] == values[j, i] == exact
    # The columns are these monomials, each times the root of that square.
    weights = np.sqrt([float(square) for square, _ in columns])
    expected = np.array(monomials, dtype=float).reshape(4, len(columns)) * weights
    assert np.allclose(kernel.lift(X), expected, rtol=4 * EPS, atol=0)


@grid("kernel", LIFTED, ids=lambda k: k.formula)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_the_kernel_is_the_scalar_product_of_the_lift(kernel, form):
    X = points(12, 3)
    L, K = kernel.lift(form(X)), kernel(form(X))
    assert isinstance(L, np.ndarray) and L.dtype == np.float64
    assert np.abs(L @ L.T - K).max() <= 200 * EPS * max(1.0, np.abs(K).max())
    if not isinstance(kernel, DeltaKernel):
        assert L.shape[1] == len(kernel.lift_names(3)) == len(kernel.lift_names(list("abc")))
        # Row by row the same: blocks change nothing.
        assert np.array_equal(kernel.lift(form(X[:1])), L[:1])


def test_the_order_of_the_monomials():
    kernel = PolynomialKernel(degree=3, coef0=1)
    assert kernel.lift_names(2) == [
        "1",
        "sqrt(3) x0", "sqrt(3) x1",
        "sqrt(3) x0^2", "sqrt(6) x0 x1", "sqrt(3) x1^2",
        "x0^3", "sqrt(3) x0^2 x1", "sqrt(3) x0 x1^2", "x1^3",
    ]  # fmt: skip
    assert PolynomialKernel(degree=2).lift_names(["height", "mass"]) == [
        "height^2", "sqrt(2) height mass", "mass^2",
    ]  # fmt: skip
    assert PolynomialKernel(degree=2, gamma=0.25, coef0=4).lift_names(1) == [
        "4", "sqrt(2) x0", "1/4 x0^2",
    ]  # fmt: skip
    assert PolynomialKernel(degree=2, gamma=0.1, coef0=1).lift_names(1)[1] == "0.447214 x0"
    assert PolynomialKernel(degree=2, gamma=0).lift_names(3) == []
    assert PolynomialKernel(degree=2, gamma=0, coef0=3).lift_names(3) == ["3"]
    assert LinearKernel().lift_names(2) == ["x0", "x1"]
    assert LinearKernel().lift_names(np.array(["a", "b"])) == ["a", "b"]
    assert SquaresKernel().lift_names(["a", "b"]) == ["a^2", "b^2"]


def test_the_order_is_that_of_scikit_learn():
    from sklearn.preprocessing import PolynomialFeatures

    X = points(6, 4)
    theirs = PolynomialFeatures(4).fit_transform(X)
    weights = PolynomialKernel(4, 1.0, 1.0).lift(np.ones((1, 4)))
    assert np.allclose(PolynomialKernel(4, 1.0, 1.0).lift(X), theirs * weights, rtol=1e-14)


def test_a_lift_is_a_copy():
    X = np.ones((2, 2))
    lifted = LinearKernel().lift(X)
    lifted[:] = 7
    assert np.all(X == 1)


def test_the_lift_in_many_blocks():
    X = points(50, 4)
    kernel = PolynomialKernel(3, 1.0, 1.0)
    whole = [kernel.lift(X), kernel(X), RBFKernel(1e8)(X), RBFKernel(1.0)(sp.csr_array(X))]
    with functions.tuned(functions.Tuning(cached=1, block=1)):
        again = [kernel.lift(X), kernel(X), RBFKernel(1e8)(X), RBFKernel(1.0)(sp.csr_array(X))]
    assert all(np.allclose(a, b, rtol=1e-14) for a, b in zip(whole, again, strict=True))


def test_a_lift_that_does_not_fit():
    kernel = PolynomialKernel(degree=10, coef0=1)
    for call in (lambda: kernel.lift(np.ones((1, 1000))), lambda: kernel.lift_names(1000)):
        with pytest.raises(ValueError, match=f"has {math.comb(1010, 10):,} columns"):
            call()
    with pytest.raises(ValueError, match="has 1,000,000,000,000 columns"):
        LinearKernel().lift(sp.csr_array((1, 10**12)))
    with pytest.raises(ValueError, match="do not fit in memory"):
        SquaresKernel().lift(sp.csr_array((1000, 10**11)))
    with pytest.raises(ValueError, match="beyond the range of floats"):
        PolynomialKernel(degree=2000, coef0=1).lift([[0.5]])


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (RBFKernel(), "infinitely many coordinates; approximate it with .*NystroemLift"),
        (SigmoidKernel(), "not positive semidefinite in general"),
        (PolynomialKernel(coef0=-1), "with coef0 < 0 some monomials have a negative weight"),
        (PrecomputedKernel(), "has no points"),
        (CallableKernel(max), "No lift"),
    ],
)
def test_no_lift(kernel, why):
    with pytest.raises(TypeError, match=why):
        kernel.lift([[0.0]])
    with pytest.raises(TypeError, match=why):
        kernel.lift_names(1)


def test_delta_has_no_names_of_features():
    with pytest.raises(TypeError, match="one column for every distinct point"):
        DeltaKernel().lift_names(2)


# --- the records -------------------------------------------------------------------------------


@every_kernel
def test_a_kernel_is_a_frozen_record(kernel, value):
    assert dataclasses.replace(kernel) == kernel and hash(dataclasses.replace(kernel)) == hash(
        kernel
    )
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert type(kernel)(**json.loads(json.dumps(dataclasses.asdict(kernel)))) == kernel
    for field in dataclasses.fields(kernel):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(kernel, field.name, 1)
    assert isinstance(kernel, Kernel) and isinstance(kernel.formula, str)


def test_numbers_of_numpy_become_plain():
    kernel = PolynomialKernel(np.int64(2), np.float32(0.5), np.int8(1))
    assert repr(kernel) == "PolynomialKernel(degree=2, gamma=0.5, coef0=1.0)"
    assert json.dumps(dataclasses.asdict(kernel))


@pytest.mark.parametrize("kind", [PolynomialKernel, RBFKernel, SigmoidKernel])
@grid("bad", [-1, -1e-300, np.nan, np.inf, "scale", None, True])
def test_bad_gamma(kind, bad):
    with pytest.raises(ValueError, match=r"gamma=.* must be a finite number of at least 0\."):
        kind(gamma=bad)


@pytest.mark.parametrize("kind", [PolynomialKernel, SigmoidKernel])
@grid("bad", [np.nan, -np.inf, "0", None, False])
def test_bad_coef0(kind, bad):
    with pytest.raises(ValueError, match=r"coef0=.* must be a finite number\."):
        kind(coef0=bad)


@grid("bad", [0, -2, 2.0, 1.5, np.nan, "3", None, True])
def test_bad_degree(bad):
    with pytest.raises(ValueError, match=r"degree=.* must be a finite whole number of at least 1"):
        PolynomialKernel(degree=bad)


@every_kernel
def test_bad_points(kernel, value):
    good = [[0.0, 1.0]]
    for bad, why in [
        ([1.0, 2.0], r"must have two dimensions.* \(2,\)"),
        ([[0.0, np.nan]], "contains NaN at row 0, column 1"),
        ([[0.0, np.inf]], "contains infinity"),
        (sp.csr_array([[0.0, np.nan]]), "contains NaN at row 0, column 1"),
        ([["a", "b"]], "must hold real numbers"),
        (np.array([[None, "x"]], dtype=object), "must hold real numbers"),
        ([[1j, 0]], "must hold real numbers"),
    ]:
        with pytest.raises(ValueError, match="X .*" + why):
            kernel(bad)
        with pytest.raises(ValueError, match="X .*" + why):
            kernel.diagonal(bad)
        with pytest.raises(ValueError, match="Z .*" + why):
            kernel(good, bad)
    with pytest.raises(ValueError, match="X has 2 columns and Z has 1"):
        kernel(good, [[0.0]])


@grid("bad", ["ab", -1, 1.5, None, True])
def test_bad_features(bad):
    for kernel in (LinearKernel(), PolynomialKernel(2, 1, 1), SquaresKernel()):
        with pytest.raises(ValueError, match="features="):
            kernel.lift_names(bad)


# --- a user's function, and a user's values ------------------------------------------------------


def test_a_function():
    kernel = CallableKernel(lambda X, Z: (X @ Z.T) ** 2)
    X = points(70)
    assert kernel.formula == "<lambda>(x, z)"
    assert np.array_equal(kernel(X), PolynomialKernel(2)(X))
    assert np.allclose(kernel.diagonal(X), PolynomialKernel(2).diagonal(X), rtol=1e-14)
    # A sparse matrix comes as one, and may go as one.
    assert np.allclose(kernel(sp.csr_matrix(X)[:1], sp.csr_matrix(X)[:1]), kernel(X[:1]))
    assert not kernel.semidefinite
    with pytest.raises(TypeError, match="must be a function"):
        CallableKernel(3)
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(70, 70\)"):
        CallableKernel(lambda X, Z: X)(X)
    with pytest.raises(ValueError, match="must return real numbers"):
        CallableKernel(lambda X, Z: (X @ Z.T).astype(complex))(X)
    with pytest.raises(ValueError, match="beyond the range of floats"):
        CallableKernel(lambda X, Z: X @ Z.T + np.nan)(X)


def test_precomputed_values():
    K = RBFKernel()(points())
    again = PrecomputedKernel()(K)
    assert np.array_equal(again, K) and again is not K
    assert np.array_equal(PrecomputedKernel()(sp.csr_array(K)), K)
    assert np.array_equal(PrecomputedKernel().diagonal(K), np.ones(9))
    with pytest.raises(ValueError, match="takes one matrix"):
        PrecomputedKernel()(K, K)
    with pytest.raises(ValueError, match="needs a square matrix"):
        PrecomputedKernel().diagonal(K[:2])


def test_the_import_is_light():
    code = (
        "import sys, separatrix.kernels\n"
        "heavy = ('matplotlib', 'scipy.stats', 'scipy.optimize', 'numba', 'pandas')\n"
        "print([m for m in heavy if m in sys.modules and m not in base])"
    )
    # What scikit-learn's validation, which every estimator needs, brings along by itself.
    base = "import sklearn.utils.validation, sys\nbase = set(sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", base + code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
