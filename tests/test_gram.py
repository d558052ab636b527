"""The matrix of a kernel: its rows, its cache, its products, its parts, and what is shared."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from kernel_svm_reference import kernel_matrix
from separatrix.data.design import as_design
from separatrix.kernels import (
    CallableKernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
)
from separatrix.kernels.gram import Gram, PartialGram, entry_variance, gram_of, share_gram
from separatrix.kernels.prediction import kernel_scores
from separatrix.kernels.running_error import RunningError

KERNELS: dict[str, tuple[Any, dict]] = {
    "linear": (LinearKernel(), {}),
    "rbf": (RBFKernel(0.3), {"gamma": 0.3}),
    "poly": (PolynomialKernel(3, 0.5, 1.0), {"degree": 3, "gamma": 0.5, "coef0": 1.0}),
    "sigmoid": (SigmoidKernel(0.2, -0.5), {"gamma": 0.2, "coef0": -0.5}),
}
STORAGES: dict[str, Callable] = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "csr": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
}
each_kernel = pytest.mark.parametrize("name", [*KERNELS])


def points(n: int = 300, d: int = 5, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[np.abs(X) < 0.3] = 0.0
    return X.astype(np.float32).astype(np.float64)


def source_of(name: str, X: np.ndarray, storage: str = "dense"):
    """A kernel, a design and the true matrix, also for given and called kernels."""
    kernel, numbers = KERNELS[name.split()[-1]]
    truth = kernel_matrix(name.split()[-1], X, **numbers).astype(float)
    if name.startswith("called"):
        return CallableKernel(kernel.__call__), as_design(X), truth
    if name.startswith("given"):
        values = kernel(X)
        return PrecomputedKernel(), as_design(STORAGES[storage](values)), truth
    return kernel, as_design(STORAGES[storage](X)), truth


@pytest.mark.parametrize("storage", [*STORAGES])
@each_kernel
def test_rows_products_and_diagonal(name: str, storage: str) -> None:
    X = points()
    kernel, design, truth = source_of(name, X, storage)
    order = np.random.default_rng(1).permutation(300)
    c = np.random.default_rng(2).normal(size=300)
    for chosen in (None, order):
        K = truth if chosen is None else truth[np.ix_(chosen, chosen)]
        gram = Gram(kernel, design, cache_mb=1.0, order=chosen)
        if name == "linear" and not storage.startswith("csr"):
            # Dense points are taken less their mean.
            K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        largest = np.abs(K).max()
        np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=1e-11)
        index = np.array([7, 3, 250, 99])
        slots = gram.rows(index)
        np.testing.assert_allclose(gram.cache[slots], K[index], atol=2e-6 * largest)
        np.testing.assert_allclose(gram.dot(c), K @ c, atol=1e-12 * largest * 300)
        np.testing.assert_allclose(gram.entries(index), K[np.ix_(index, index)], atol=1e-12)
        some = np.where(np.arange(300) % 3 == 0, c, 0.0)
        np.testing.assert_allclose(gram.dot(some), K @ some, atol=1e-12 * largest * 100)
        np.testing.assert_allclose(
            gram.between(index, order[:50], c[:50]),
            K[np.ix_(index, order[:50])] @ c[:50],
            atol=1e-12 * largest * 50,
        )
        assert gram.fill() is True
        np.testing.assert_allclose(gram.cache, K, atol=2e-6 * largest)
        # Entries of the diagonal blocks are computed in both orders, (i, j) and (j, i).
        np.testing.assert_allclose(gram.cache, gram.cache.T, atol=1e-15 * largest)
        gram.to_float64()
        assert gram.exact
        slots = gram.rows(index)
        np.testing.assert_allclose(gram.cache[slots], K[index], atol=1e-13 * largest)
        assert gram.largest == pytest.approx(np.abs(np.diag(K)).max(), rel=1e-12)


@pytest.mark.parametrize("storage", ["dense", "csr", "float32"])
@pytest.mark.parametrize("name", ["given rbf", "given poly", "called rbf", "called poly"])
def test_values_that_are_given_or_called(name: str, storage: str) -> None:
    X = points(200)
    kernel, design, K = source_of(name, X, storage)
    rounded = 1e-6 if storage == "float32" and name.startswith("given") else 1e-12
    gram = Gram(kernel, design, cache_mb=1.0, order=np.arange(200)[::-1].copy())
    K = K[::-1, ::-1]
    c = np.random.default_rng(2).normal(size=200)
    largest = np.abs(K).max()
    np.testing.assert_allclose(gram.dot(c), K @ c, atol=rounded * 200 * largest)
    np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=rounded)
    slots = gram.rows(np.array([3, 150]))
    np.testing.assert_allclose(gram.cache[slots], K[[3, 150]], atol=2e-6 * largest)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 1023, 1025, 2100])
@pytest.mark.parametrize("dense", [True, False])
def test_products_across_the_edges_of_blocks(n: int, dense: bool) -> None:
    X = points(n, 2)
    rng = np.random.default_rng(n)
    K = RBFKernel(0.3)(X)
    gram = Gram(RBFKernel(0.3), as_design(X if dense else sp.csr_array(X)), cache_mb=0.01)
    for share in (1.0, 0.5, 0.01, 0.0):
        c = np.where(rng.random(n) < share, rng.normal(size=n), 0.0)
        np.testing.assert_allclose(gram.dot(c), K @ c, atol=1e-11)
        index = rng.permutation(n)[: n // 2 + 1]
        np.testing.assert_allclose(
            gram.product(index, c[index]), K[np.ix_(index, index)] @ c[index], atol=1e-11
        )


# --- the cache ---------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [2, 3, 10, 64, 100])
def test_the_cache_always_holds_what_it_says(slots: int) -> None:
    X = points(100)
    K = RBFKernel(0.3)(X)
    gram = Gram(RBFKernel(0.3), as_design(X), cache_mb=slots * 400 / 1e6)
    assert gram.n_slots == slots
    assert gram.cache.nbytes <= slots * 400
    rng = np.random.default_rng(slots)
    for _ in range(200):
        index = rng.permutation(100)[: rng.integers(1, slots + 1)]
        got = gram.rows(index)
        assert len(set(got.tolist())) == len(index)
        np.testing.assert_allclose(gram.cache[got], K[index], atol=1e-6)
    if slots == 100:
        assert gram.computed == 100
    assert gram.fill() == (slots == 100)


def test_rows_in_use_are_not_computed_again() -> None:
    gram = Gram(RBFKernel(0.3), as_design(points(100)), cache_mb=10 * 400 / 1e6)
    hot = np.arange(5)
    for k in range(10, 60, 5):
        gram.rows(hot)
        gram.rows(np.arange(k, k + 5))
    # The five that are requested each time stay; the others replace one another.
    assert gram.computed == 5 + 50


def test_an_error_in_the_middle_leaves_no_half_row() -> None:
    X, calls = points(50), []

    def function(A, B):
        calls.append(len(A))
        if len(calls) == 2 + first:
            raise KeyboardInterrupt
        return A @ B.T

    first = 10**6
    gram = Gram(CallableKernel(function), as_design(X), cache_mb=1.0)
    first = len(calls) - 1
    with pytest.raises(KeyboardInterrupt):
        gram.rows(np.arange(10))
    slots = gram.rows(np.arange(20))
    np.testing.assert_allclose(gram.cache[slots], X[:20] @ X.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cache_mb", [1e-9, 0.1, 1.0, 4.0])
def test_the_budget_counts_bytes(cache_mb: float) -> None:
    n = 1000
    gram = Gram(RBFKernel(0.3), as_design(points(n)), cache_mb=cache_mb)
    least = 2 * 4 * n
    assert gram.cache.nbytes <= max(cache_mb * 1e6, least)
    assert gram.n_slots <= n
    gram.to_float64()
    assert gram.cache.nbytes <= max(cache_mb * 1e6, 2 * least)


def test_no_product_makes_a_copy_of_wide_data() -> None:
    X = np.random.default_rng(0).normal(size=(1500, 2000))
    c = np.random.default_rng(1).normal(size=1500)
    for kernel in (LinearKernel(), RBFKernel(1e-3)):
        tracemalloc.start()
        gram = Gram(kernel, as_design(X), cache_mb=1.0)
        gram.dot(c)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Blocks of a few megabytes, beside 24 megabytes of data.
        assert peak < 0.75 * X.nbytes


# --- parts -------------------------------------------------------------------------------------


def test_parts_share_the_cache_and_see_their_own() -> None:
    X = points(120)
    K = RBFKernel(0.3)(X)
    gram = Gram(RBFKernel(0.3), as_design(X), cache_mb=1.0)
    rng = np.random.default_rng(0)
    chosen = [np.arange(30, 80), rng.permutation(120)[:60], np.array([5]), np.arange(0, 120, 7)]
    for index in chosen:
        part = gram.take(index)
        c = rng.normal(size=len(index))
        own = K[np.ix_(index, index)]
        assert part.shape == own.shape
        np.testing.assert_array_equal(part.samples, index)
        np.testing.assert_allclose(part.dot(c), own @ c, atol=1e-11)
        np.testing.assert_allclose(part.diagonal, np.diag(own))
        slots = part.rows(np.array([0]))
        np.testing.assert_allclose(part.cache[slots][:, part.columns], own[:1], atol=1e-6)
        # The pieces put together are the columns.
        pieces = [np.arange(start, start + length) for start, length in part.runs]
        np.testing.assert_array_equal(np.concatenate(pieces), part.columns)
        again = part.take(np.arange(len(index))[::-1])
        np.testing.assert_array_equal(again.samples, index[::-1])
        np.testing.assert_allclose(again.entries(np.arange(len(index))), own[::-1, ::-1])
    assert gram.computed <= 120


def test_a_remembered_product_cannot_be_spoiled() -> None:
    X = points(60)
    for gram in (
        Gram(RBFKernel(0.3), as_design(X), cache_mb=1.0),
        Gram(RBFKernel(0.3), as_design(X), cache_mb=1.0).take(np.arange(60)),
    ):
        c = np.ones(60)
        first = gram.dot(c)
        kept = first.copy()
        first[:] = 0.0
        np.testing.assert_array_equal(gram.dot(c), kept)
        c[:] = 2.0
        np.testing.assert_allclose(gram.dot(c), 2 * kept)


# --- sharing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [*STORAGES])
def test_a_shared_matrix_finds_rows_by_their_values(storage: str) -> None:
    X = STORAGES[storage](points(80))
    K = RBFKernel(0.3)(X)
    take = np.random.default_rng(0).permutation(80)[:50]
    with share_gram(X):
        part = gram_of(RBFKernel(0.3), as_design(X[take]), cache_mb=1.0)
        again = gram_of(RBFKernel(0.3), as_design(X[take[:9]]), cache_mb=1.0)
        assert isinstance(part, PartialGram)
        assert isinstance(again, PartialGram)
        assert part.whole is again.whole
        assert part.whole.computed == 80
        np.testing.assert_allclose(part.entries(np.arange(50)), K[np.ix_(take, take)], atol=1e-6)
        # Rows that are not there, or not so often, are computed alone.
        twice = as_design(X[np.append(take, take)])
        assert isinstance(gram_of(RBFKernel(0.3), twice, cache_mb=1.0), Gram)
        with share_gram(X[:40]):
            inner = gram_of(RBFKernel(0.3), as_design(X[take]), cache_mb=1.0)
            assert isinstance(inner, Gram)
        other = gram_of(RBFKernel(0.4), as_design(X[take]), cache_mb=1.0)
        assert isinstance(other, PartialGram)
        assert other.whole is not part.whole
    assert isinstance(gram_of(RBFKernel(0.3), as_design(X[take]), cache_mb=1.0), Gram)


def test_a_shared_matrix_knows_its_budget() -> None:
    X = points(400)
    with share_gram(X, cache_mb=0.1):
        part = gram_of(RBFKernel(0.3), as_design(X[:50]), cache_mb=100.0)
        assert isinstance(part, PartialGram)
        assert part.cache.nbytes <= 0.1e6
        np.testing.assert_allclose(
            part.cache[part.rows(np.arange(9))][:, part.columns],
            RBFKernel(0.3)(X[:9], X[:50]),
            atol=1e-6,
        )


# --- the rest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [*STORAGES])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e6])
def test_the_variance_of_all_entries(storage: str, offset: float) -> None:
    X = points(50) + offset
    held = STORAGES[storage](X)
    truth = (held.toarray() if sp.issparse(held) else held).astype(np.longdouble).var()
    assert entry_variance(as_design(held)) == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("left", ["dense", "csr", "float32"])
@pytest.mark.parametrize("right", ["dense", "csr"])
@each_kernel
def test_an_expansion(name: str, left: str, right: str) -> None:
    kernel, numbers = KERNELS[name]
    X, Z = points(150), points(40, seed=1)
    c = np.random.default_rng(0).normal(size=(40, 3))
    truth = kernel_matrix(name, X, Z, **numbers).astype(float) @ c
    found = kernel_scores(kernel, as_design(STORAGES[left](X)), as_design(STORAGES[right](Z)), c)
    np.testing.assert_allclose(found, truth, atol=1e-10)
    empty = kernel_scores(kernel, as_design(STORAGES[left](X)), as_design(Z[:0]), c[:0])
    np.testing.assert_array_equal(empty, np.zeros((150, 3)))


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_distances_survive_an_offset(offset: float) -> None:
    X = np.round(points(100) * 2**10) / 2**10
    K = kernel_matrix("rbf", X, gamma=0.3).astype(float)
    gram = Gram(RBFKernel(0.3), as_design(X + offset), cache_mb=1.0)
    np.testing.assert_allclose(gram.entries(np.arange(100)), K, atol=1e-11)
    gram.fill()
    np.testing.assert_allclose(gram.cache, K, atol=1e-4)
    c = np.eye(100)
    far = kernel_scores(RBFKernel(0.3), as_design(X + offset), as_design(X + offset), c)
    np.testing.assert_allclose(far, K, atol=1e-11)


def drawn_points(kind: str, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(300, 40))
    if kind == "long and short":
        X *= np.exp(rng.normal(0.0, 2.0, size=(300, 1)))
    elif kind == "far away":
        X += 50.0
    elif kind == "counts":
        X = rng.integers(0, 2, size=(300, 40)).astype(float)
    elif kind == "one sign":
        # All roundings of a scalar product go the same way more often.
        X = np.abs(X) * 3.0
    return X


@pytest.mark.parametrize("kind", ["plain", "long and short", "far away", "counts", "one sign"])
@pytest.mark.parametrize("gamma", [1e-4, 0.02, 0.5])
def test_coarse_values_are_within_their_bound(kind: str, gamma: float) -> None:
    X = drawn_points(kind, np.random.default_rng(0))
    gram = Gram(RBFKernel(gamma), as_design(X), cache_mb=0.01)
    assert not gram.exact
    index = np.arange(len(X))
    entry, by_square, squares = gram.cached_errors()
    if not gram.bounded:
        # Made of differences, as scalar products would lose too many digits.
        assert entry == np.inf and (kind, gamma) == ("long and short", 0.5)
        return
    off = np.abs(gram.block(index).astype(float) - gram.entries(index))
    allowed = entry + by_square * (squares[:, None] + squares)
    exact, more, of_exact = gram.entry_errors()
    slack = exact + more * (of_exact[:, None] + of_exact)
    assert np.all(off <= allowed + slack)
    # It is a bound of roundings, and no more than some hundred of them.
    assert np.all(allowed <= 1.1e-6 + 1e-5 * gamma * (squares[:, None] + squares))


def test_values_of_other_kernels_have_no_coarse_bound() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    gram = Gram(PolynomialKernel(2, 1.0, 1.0), as_design(X), cache_mb=0.001)
    assert not gram.exact and gram.cached_errors()[0] == np.inf


@pytest.mark.parametrize("part", [False, True])
def test_a_running_error_bounds_what_rows_have_left(part: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 10)) * np.exp(rng.normal(size=(400, 1)))
    whole = Gram(RBFKernel(0.05), as_design(X), cache_mb=0.05)
    matrix = whole.take(np.sort(rng.permutation(400)[:250])) if part else whole
    n = matrix.n_samples
    c = np.zeros(n)
    c[rng.permutation(n)[:60]] = rng.normal(0.0, 30.0, size=60)
    running = matrix.coarse_dot(c)
    error = RunningError(matrix)
    assert error.is_rounding and error.radius().max() < 1e-12
    error.add(np.arange(n), c)
    for _ in range(40):
        index = np.sort(rng.permutation(n)[:5])
        changes = rng.normal(0.0, 30.0, size=5)
        rows = whole.cache[matrix.rows(index)].astype(float)
        running += changes @ rows[:, matrix.columns]
        c[index] += changes
        error.add(index, changes)
    assert not error.is_rounding
    off = np.abs(running - matrix.dot(c))
    assert np.all(off <= error.radius()) and off.max() > 1e-9
    moved = np.zeros(n)
    moved[3] = 1e-3
    error.miss(moved)
    assert np.all(np.abs(running - matrix.dot(c + moved)) <= error.radius())
    # Whatever is known of an entry, the exact one takes its place where it counts or is wanted.
    wanted = rng.random(n) < 0.3
    wanted[c != 0.0] = False
    c[~wanted & (rng.random(n) < 0.5)] = 0.0
    exact, radius = matrix.dot(c), np.full(n, 0.5)
    beside = matrix.dot_beside(c, exact + 0.25, radius, wanted)
    there = wanted | (c != 0.0)
    np.testing.assert_allclose(beside[there], exact[there], atol=1e-10)
    np.testing.assert_allclose(beside[~there], exact[~there] + 0.25, atol=1e-10)
    np.testing.assert_array_equal(matrix.off_by(c), np.where(there, 0.0, 0.5))
    np.testing.assert_array_equal(matrix.dot(c), beside)
    assert matrix.off_by(c + 1.0) == 0.0
    matrix.forget()
    np.testing.assert_allclose(matrix.dot(c), exact, atol=1e-10)
