"""Approximate lifts: what they promise about the kernel that they approximate."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from grids import share
from separatrix import LinearSVC
from separatrix.kernels import (
    CallableKernel,
    DeltaKernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
    functions,
)
from separatrix.lifts import FourierLift, NystroemLift

EPS = float(np.finfo(np.float64).eps)
SEMIDEFINITE = [
    LinearKernel(),
    PolynomialKernel(3, 0.5, 1.0),
    PolynomialKernel(2),
    RBFKernel(0.1),
    RBFKernel(30.0),
    SquaresKernel(),
    DeltaKernel(),
    CallableKernel(lambda X, Z: LinearKernel()(X, Z) ** 2),
]
every_kernel = pytest.mark.parametrize("kernel", SEMIDEFINITE, ids=lambda k: k.formula)


def points(n=120, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@parametrize_with_checks([NystroemLift(), FourierLift()])
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(
    [NystroemLift(PolynomialKernel(2, 1.0, 1.0), n_components=20, random_state=0)]
)
def test_check_another_configuration(estimator, check):
    check(estimator)


# --- landmarks --------------------------------------------------------------------------------


@pytest.mark.crossed
@every_kernel
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("m", [1, 7, 40, 1000])
def test_never_more_than_the_kernel(kernel, form, m):
    X = points()
    lift = NystroemLift(kernel, m, random_state=1)
    L = lift.fit_transform(form(X))
    K = kernel(X)
    size = np.abs(K).max()
    assert L.dtype == np.float64 and L.shape == (120, lift.n_components_)
    # The lift is a projection of the true one: K less its approximation is semidefinite.
    assert np.linalg.eigvalsh(K - L @ L.T)[0] >= -1e-12 * size
    rest = lift.unexplained(form(X))
    assert np.allclose(rest, np.diagonal(K) - (L**2).sum(axis=1), atol=1e-12 * size)
    assert np.isclose(lift.unexplained_, rest.sum() / np.trace(K), atol=1e-12)
    assert np.all(np.abs(K - L @ L.T) <= np.sqrt(np.outer(rest, rest)) + 1e-6 * size)
    # Exact at the landmarks, against all points.
    at = lift.landmarks_
    assert len(set(at)) == len(at)
    assert np.abs(K[at] - L[at] @ L.T).max() <= 1e-9 * size
    assert np.array_equal(kernel(lift.landmark_points_), kernel(form(X)[at]))
    assert np.allclose(lift.factor_ @ lift.factor_.T, K[np.ix_(at, at)], atol=1e-12 * size)
    assert np.array_equal(lift.factor_, np.tril(lift.factor_))
    # One answer: for the rows that were fitted, and for others.
    assert np.abs(lift.transform(form(X)) - L).max() <= 1e-7 * np.sqrt(size)
    Z = points(30, seed=9)
    lifted, both = lift.transform(form(Z)), np.vstack([X, Z])
    whole = kernel(both)
    stacked = np.vstack([L, lifted])
    assert np.linalg.eigvalsh(whole - stacked @ stacked.T)[0] >= -1e-8 * np.abs(whole).max()


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("kernel", "rank"),
    [
        (LinearKernel(), 3),
        (PolynomialKernel(3, 0.5, 1.0), 20),
        (PolynomialKernel(2), 6),
        (SquaresKernel(), 3),
        (DeltaKernel(), 120),
        (RBFKernel(1e4), 120),
        (RBFKernel(0.0), 1),
        (CallableKernel(lambda X, Z: (X @ Z.T + 1) ** 2), 10),
    ],
    ids=lambda p: getattr(p, "formula", p),
)
@pytest.mark.parametrize("seed", range(5))
def test_exact_at_the_rank(kernel, rank, seed):
    # Every point twice adds nothing to the rank.
    X = np.vstack([points(), points()])
    lift = NystroemLift(kernel, 200, random_state=seed)
    L, K = lift.fit_transform(X), kernel(X)
    assert lift.n_components_ == rank == L.shape[1]
    assert lift.unexplained_ == 0.0
    assert np.abs(L @ L.T - K).max() <= 1e-12 * np.abs(K).max()
    exactly = NystroemLift(kernel, rank, random_state=seed).fit(X)
    assert exactly.unexplained_ == 0.0


def test_any_scale():
    X = points()
    for scale in (1e-100, 1e100):
        lift = NystroemLift(LinearKernel(), random_state=0)
        L = lift.fit_transform(X * scale)
        assert lift.n_components_ == 3
        assert np.allclose(L @ L.T, LinearKernel()(X * scale), rtol=1e-9, atol=1e-13 * scale**2)


def test_a_kernel_that_is_zero():
    lift = NystroemLift(LinearKernel(), random_state=0)
    assert lift.fit_transform(np.zeros((4, 2))).shape == (4, 0)
    assert lift.n_components_ == 0 and lift.unexplained_ == 0.0
    assert lift.transform(np.ones((3, 2))).shape == (3, 0)
    assert lift.coefficients(np.zeros(0)).shape == (0,)
    assert lift.unexplained(np.ones((3, 2))).tolist() == [2.0, 2.0, 2.0]


@every_kernel
def test_the_same_seed_the_same_landmarks(kernel):
    X = points()
    first = NystroemLift(kernel, 5, random_state=3).fit(X)
    again = NystroemLift(kernel, 5, random_state=np.random.RandomState(3)).fit(X)
    assert np.array_equal(first.landmarks_, again.landmarks_)
    assert np.array_equal(first.factor_, again.factor_)
    chosen = {tuple(NystroemLift(kernel, 5, random_state=s).fit(X).landmarks_) for s in range(6)}
    # A kernel of rank 3 has three landmarks, and others with another seed.
    assert len(chosen) > 1


def test_dense_equals_sparse():
    X = np.random.default_rng(0).integers(-2, 3, size=(200, 5)).astype(float)
    for kernel in (LinearKernel(), PolynomialKernel(2, 1.0, 1.0), DeltaKernel()):
        dense, sparse = (NystroemLift(kernel, 30, 0).fit(f(X)) for f in (np.array, sp.csr_matrix))
        assert np.array_equal(dense.landmarks_, sparse.landmarks_)
        assert sp.issparse(sparse.landmark_points_)
        assert np.allclose(dense.transform(X), sparse.transform(sp.csr_matrix(X)), atol=1e-10)
        # Fitted to dense rows, and evaluated on sparse ones.
        assert np.allclose(dense.transform(X), dense.transform(sp.csr_array(X)), atol=1e-10)


def test_in_many_blocks():
    X = points()
    whole = NystroemLift(RBFKernel(0.2), 50, 0)
    expected = whole.fit_transform(X)
    waves = FourierLift(0.2, 50, 0).fit(X).transform(X)
    with functions.tuned(functions.Tuning(block=4000)):
        again = NystroemLift(RBFKernel(0.2), 50, 0)
        assert np.allclose(again.fit_transform(X), expected, atol=1e-9)
        assert np.array_equal(again.landmarks_, whole.landmarks_)
        assert np.allclose(again.unexplained(X), whole.unexplained(X), atol=1e-12)
        assert np.allclose(FourierLift(0.2, 50, 0).fit(X).transform(X), waves, atol=1e-13)


@pytest.mark.sampled
def test_landmarks_are_drawn_by_what_is_unexplained():
    # The first with probability k(x, x) / trace, the second likewise of what the first leaves;
    # candidates by the hundred, thinned by rejection, must follow the same distribution.
    X = np.array([[3.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.5, 0.0, 2.0], [0, 0, 0]])
    K = X @ X.T
    expected = np.zeros((5, 5))
    for i in range(4):
        rest = np.diagonal(K) - K[:, i] ** 2 / K[i, i]
        expected[i] = K[i, i] / np.trace(K) * rest / rest.sum()
    runs = share(1500)
    seen = np.zeros((5, 5))
    for seed in range(runs):
        seen[tuple(NystroemLift(LinearKernel(), 2, seed).fit(X).landmarks_)] += 1
    assert np.all(seen[expected < 1e-15] == 0)
    likely = expected > 1e-15
    chi = ((seen - runs * expected)[likely] ** 2 / (runs * expected[likely])).sum()
    # Degrees of freedom 11: the mean and four standard deviations.
    assert np.count_nonzero(likely) == 12 and chi < 11 + 4 * np.sqrt(22)


@pytest.mark.parametrize("r", [2, 5, 10])
def test_error_within_the_published_bound(r):
    # Chen et al. (2023), theorem 5.1: the mean unexplained trace is at most (1 + epsilon) times
    # that of the best matrix of rank r, with r / epsilon + r log(1 / (epsilon eta)) landmarks,
    # eta being the latter relative to the trace.
    X = points(300, 4)
    kernel = RBFKernel(0.1)
    spectrum = np.linalg.eigvalsh(kernel(X))[::-1]
    eta = spectrum[r:].sum() / spectrum.sum()
    m = int(np.ceil(r + r * max(0.0, np.log(1 / eta))))
    assert m < 100
    found = [NystroemLift(kernel, m, seed).fit(X).unexplained_ for seed in range(20)]
    assert np.mean(found) <= 2 * eta
    # Nothing of that rank explains more.
    assert min(found) >= spectrum[m:].sum() / spectrum.sum() - 1e-12


def test_fewer_landmarks_are_the_first_of_more():
    X = points(400, 4)
    more = NystroemLift(RBFKernel(0.1), 250, random_state=0)
    L = more.fit_transform(X)
    for m in (1, 60, 128, 200):
        fewer = NystroemLift(RBFKernel(0.1), m, random_state=0)
        assert np.allclose(fewer.fit_transform(X), L[:, :m], rtol=0, atol=1e-7)
        assert np.array_equal(fewer.landmarks_, more.landmarks_[:m])


def test_more_landmarks_leave_less():
    X = points(300, 4)
    left = [NystroemLift(RBFKernel(0.1), m, 0).fit(X).unexplained_ for m in (1, 10, 50, 150, 300)]
    assert left == sorted(left, reverse=True) and left[-1] <= 1e-10 < left[-3]


@every_kernel
def test_a_function_belongs_to_the_true_space(kernel):
    X, Z = points(), points(20, seed=5)
    lift = NystroemLift(kernel, 30, random_state=0).fit(X)
    rng = np.random.default_rng(1)
    W = rng.normal(size=(3, lift.n_components_))
    B = lift.coefficients(W)
    assert B.shape == W.shape
    landmarks = lift.landmark_points_
    for w, beta in zip(W, B, strict=True):
        assert np.allclose(lift.coefficients(w), beta, rtol=1e-9, atol=1e-12 * np.abs(B).max())
        # Its norm in the space of the kernel is its norm among the coordinates.
        assert np.isclose(beta @ kernel(landmarks) @ beta, w @ w, rtol=1e-6)
        values = kernel(Z, landmarks) @ beta
        assert np.allclose(lift.transform(Z) @ w, values, atol=1e-6 * np.abs(values).max())


def test_a_machine_on_the_lift_is_one_of_the_kernel():
    X = points(200, 2)
    y = np.sign(X[:, 0] * X[:, 1])
    lift = NystroemLift(PolynomialKernel(2, 1.0, 1.0), random_state=0)
    exact = PolynomialKernel(2, 1.0, 1.0).lift(X)
    nystroem = LinearSVC(loss="hinge", tol=1e-8).fit(lift.fit_transform(X), y)
    lifted = LinearSVC(loss="hinge", tol=1e-8).fit(exact, y)
    # At the rank nothing is approximate: the same problem, turned.
    assert np.isclose(nystroem.certificate_.primal, lifted.certificate_.primal, rtol=1e-7)
    assert nystroem.score(lift.transform(X), y) == lifted.score(exact, y) > 0.95


def test_the_matrix_is_never_formed():
    X = points(20_000, 4)
    for lift in (NystroemLift(RBFKernel(0.1), 20, 0), FourierLift(0.1, 20, 0)):
        tracemalloc.start()
        try:
            L = lift.fit_transform(X)
            lift.transform(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # The matrix would have 3.2 GB.
        assert peak < 40 * L.nbytes < 0.05 * 8 * 20_000**2


# --- waves ------------------------------------------------------------------------------------


def wave_variance(X, gamma):
    """The variance of the cosine of one random wave, of each pair of points."""
    return (1 + RBFKernel(4 * gamma)(X)) / 2 - RBFKernel(2 * gamma)(X)


@pytest.mark.sampled
@pytest.mark.parametrize("gamma", [0.02, 0.3, 2.0])
def test_waves_err_as_they_should(gamma):
    X = points(25, 3)
    K, n_seeds = RBFKernel(gamma)(X), share(600)
    pairs = np.triu_indices(25, 1)
    for m in (20, 320):
        errors = []
        for seed in range(n_seeds):
            L = FourierLift(gamma, m, random_state=seed).fit_transform(X)
            assert np.allclose((L**2).sum(axis=1), 1.0, rtol=0, atol=64 * EPS)
            errors.append((L @ L.T - K)[pairs])
        errors = np.array(errors)
        variance = wave_variance(X, gamma)[pairs] / (m / 2)
        # Unbiased: the mean over the seeds is within five of its standard deviations.
        assert np.all(np.abs(errors.mean(axis=0)) <= 5 * np.sqrt(variance / n_seeds))
        # And the error falls as the root of m, with the constant of the theory.
        assert np.isclose((errors**2).mean(), variance.mean(), rtol=0.2)


def test_waves_of_an_odd_number():
    lift = FourierLift(1.0, 7, 0)
    assert lift.fit_transform(points()).shape == (120, 8)
    assert lift.n_components_ == 8 and lift.frequencies_.shape == (4, 3)
    assert lift.get_feature_names_out()[-1] == "fourierlift7"


def test_waves_of_no_frequency():
    L = FourierLift(0.0, 4, 0).fit_transform(points())
    assert np.allclose(L @ L.T, 1.0)


def test_waves_dense_equal_sparse_and_float32():
    X = points().round(1).astype(np.float32)
    X[np.abs(X) < 0.5] = 0
    dense = FourierLift(0.5, 40, 0).fit(X)
    sparse = FourierLift(0.5, 40, 0).fit(sp.csr_matrix(X))
    for form in (X, X.astype(float), sp.csr_matrix(X), sp.csr_array(X)):
        assert dense.transform(form).dtype == np.float64
        assert np.allclose(dense.transform(form), sparse.transform(X), rtol=0, atol=1e-13)


def test_waves_far_from_the_origin():
    X = np.random.default_rng(0).integers(-40, 40, (50, 3)) / 16.0
    near = FourierLift(0.1, 100, 0).fit_transform(X)
    far = FourierLift(0.1, 100, 0).fit_transform(X + 1e9)
    # The mean is rounded there, and nothing else.
    assert np.abs(near @ near.T - far @ far.T).max() <= 1e-13


def test_waves_are_seeded():
    X = points()
    first, again, other = (FourierLift(1.0, 10, s).fit_transform(X) for s in (0, 0, 1))
    assert np.array_equal(first, again) and not np.allclose(first, other)


# --- both -------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("lift", [NystroemLift(n_components=10), FourierLift(1.0, 10)],
                               ids=lambda v: type(v).__name__)  # fmt: skip


@BOTH
def test_names_and_frames(lift):
    import pandas as pd

    frame = pd.DataFrame(points(), columns=["a", "b", "c"])
    lift = clone(lift).set_output(transform="pandas")
    out = lift.fit_transform(frame)
    assert list(out.columns) == [f"{type(lift).__name__.lower()}{j}" for j in range(10)]
    assert list(lift.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        lift.transform(frame[["c", "b", "a"]])


@BOTH
def test_every_attribute_is_documented(lift):
    lift = clone(lift).fit(points())
    described = {
        word.strip()
        for line in lift.__doc__.splitlines()
        if " : " in line
        for word in line.split(" : ")[0].split(",")
    }
    assert set(lift.get_params()) <= described
    assert {a for a in vars(lift) if a.endswith("_")} <= described


@BOTH
@pytest.mark.parametrize("bad", [0, -1, 1.5, np.nan, "10", None, True])
def test_bad_number_of_components(lift, bad):
    with pytest.raises(ValueError, match=r"n_components=.* must be a finite whole number of at"):
        clone(lift).set_params(n_components=bad).fit(points())


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan, "scale", None])
def test_bad_gamma(bad):
    with pytest.raises(ValueError, match="gamma=.* must be a finite number of at least 0"):
        FourierLift(gamma=bad).fit(points())


@BOTH
def test_bad_points(lift):
    X = points()
    X[3, 1] = np.nan
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="NaN at row 3, column 1"):
            clone(lift).fit(form(X))
        with pytest.raises(ValueError, match="NaN at row 3, column 1"):
            clone(lift).fit(points()).transform(form(X))


@pytest.mark.parametrize(
    ("kernel", "error", "why"),
    [
        ("rbf", TypeError, "must be a kernel of separatrix.kernels"),
        (max, TypeError, "pass a function as CallableKernel"),
        (PrecomputedKernel(), TypeError, "has no points from which"),
        (SigmoidKernel(), ValueError, "not positive semidefinite in general"),
        (PolynomialKernel(coef0=-1), ValueError, "not positive semidefinite in general"),
        (CallableKernel(lambda X, Z: -X @ Z.T), ValueError, "a negative squared norm"),
        (
            CallableKernel(lambda X, Z: np.tanh(X @ Z.T)),
            ValueError,
            r"is not positive semidefinite \(row \d+ would have a negative squared norm\)",
        ),
    ],
)
def test_bad_kernel(kernel, error, why):
    with pytest.raises(error, match=why):
        NystroemLift(kernel, random_state=0).fit(points())


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 2, 6)])
def test_bad_coefficients(shape):
    lift = NystroemLift(PolynomialKernel(2), random_state=0).fit(points())
    assert lift.n_components_ == 6
    if shape == (2, 2, 6):
        assert lift.coefficients(np.ones((2, 6))).shape == (2, 6)
    with pytest.raises(ValueError, match="but must have 6 coefficients"):
        lift.coefficients(np.ones(shape))


def test_points_of_no_length_are_no_landmarks():
    X = points(40)
    X[::2] = 0.0
    for seed, m in itertools.product(range(10), (1, 3)):
        assert np.all(NystroemLift(LinearKernel(), m, seed).fit(X).landmarks_ % 2 == 1)
