"""Moments: one stable pass gives what exact arithmetic gives, in any portions and any storage."""

from __future__ import annotations

import functools
import itertools
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from grids import grid
from separatrix import threads
from separatrix._compiled import blas, outer_products, pool
from separatrix.data.design import CSRDesign, DenseDesign, as_design
from separatrix.data.moments import Moments, Tuning, mirror

N, D, K = 900, 6, 3


# The sums are not taken as for few entries, however few there are.
MANY = Tuning(few=0)


@pytest.fixture(params=[Tuning(), MANY], ids=["few", "many"])
def of(request):
    """Moments by both ways to take the sums."""
    return partial(Moments.of, tuning=request.param)


def data(seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    # Exactly what float32 can hold, so that every storage holds the same numbers.
    X = X.astype(np.float32).astype(np.float64)
    codes = rng.integers(0, K, N)
    weights = rng.integers(0, 4, N).astype(np.float64)
    targets = rng.normal(size=(N, 2))
    return X, codes, weights, targets


def reference(X, codes, weights, n_classes=K, most=4):
    """Means, scatter, and third and fourth moments by class, in extended precision.

    ``most``: the highest moment that is computed, because each takes a product as long.
    """
    X, s = X.astype(np.longdouble), weights.astype(np.longdouble)
    out = []
    for k in range(n_classes):
        x, w = X[codes == k], s[codes == k][:, None]
        mean = (w * x).sum(axis=0) / w.sum()
        e = x - mean
        powers = (w * e, e), (w * e**2, e), (w * e**2, e**2)
        out.append((mean, *(one.T @ other for one, other in powers[: most - 1])))
    return [np.array([part[i] for part in out]) for i in range(most)]


def assert_close(left, right, tol=1e-12) -> None:
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    assert np.abs(left - right).max() <= tol * max(1e-300, float(np.abs(right).max()))


STORAGES = {
    "C": lambda X: X.copy(),
    "fortran": np.asfortranarray,
    "columns": lambda X: np.hstack([X, X])[:, :D],
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "csr": sp.csr_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64": lambda X: sp.csr_array(
        (lambda a: (a.data, a.indices.astype(np.int64), a.indptr.astype(np.int64)))(
            sp.csr_array(X)
        ),
        shape=X.shape,
    ),
}


@pytest.mark.parametrize("storage", STORAGES)
@grid("kind", ["pooled", "each", "fourth"])
@grid("weighted", [False, True])
def test_every_storage_gives_the_moments(of, storage, kind, weighted) -> None:
    X, codes, weights, targets = data()
    design = as_design(STORAGES[storage](X))
    options = {"pooled": kind == "pooled", "fourth": kind == "fourth"}
    if weighted:
        options["weights"] = weights
    found = of(design, codes=codes, n_classes=K, targets=targets, **options)
    s = weights if weighted else np.ones(N)
    mean, scatter, third, fourth = reference(np.hstack([X, targets]), codes, s)
    assert found.finite and found.n_rows == N and found.n_classes == K and found.n_columns == D + 2
    assert_close(found.weight, np.bincount(codes, s))
    assert_close(found.mean, mean)
    assert_close(found.scatter, scatter.sum(axis=0) if kind == "pooled" else scatter)
    assert np.array_equal(found.scatter, np.swapaxes(found.scatter, -1, -2))
    if kind == "fourth":
        square = found.unit**2
        assert_close(found.third * square[:, None] * found.unit, third)
        assert_close(found.fourth * square[:, None] * square, fourth)
        assert np.all(np.frexp(found.unit)[0] == 0.5)
    else:
        assert found.third is None and found.fourth is None


def test_one_class_without_codes(of) -> None:
    X, _, weights, _ = data()
    found = of(as_design(X), weights=weights)
    mean, scatter = reference(X, np.zeros(N, dtype=int), weights, 1, most=2)
    assert found.total == weights.sum() and found.pooled
    assert_close(found.mean, mean)
    assert_close(found.scatter, scatter[0])


def test_sparse_rows_are_multiplied_as_they_are_stored(of) -> None:
    X = sp.random_array((1000, 60), density=0.01, random_state=3, format="csr")
    rng = np.random.default_rng(0)
    codes, weights, y = rng.integers(0, K, 1000), rng.random(1000), rng.normal(size=(1000, 2))
    whole = np.hstack([X.toarray(), y])
    mean, scatter = reference(whole, codes, weights, most=2)
    for pooled in (True, False):
        found = of(
            as_design(X), codes=codes, n_classes=K, weights=weights, targets=y, pooled=pooled
        )
        assert_close(found.mean, mean)
        assert_close(found.scatter, scatter.sum(axis=0) if pooled else scatter)
        assert np.array_equal(found.scatter, np.swapaxes(found.scatter, -1, -2))


def test_sparse_rows_with_an_offset_lose_no_digits(of) -> None:
    X = sp.random_array((1000, 60), density=0.01, random_state=3).toarray()
    X[:, 0] = 1e8 + np.arange(1000) % 7
    found = of(as_design(sp.csr_array(X)))
    _, scatter = reference(X, np.zeros(1000, dtype=int), np.ones(1000), 1, most=2)
    assert_close(found.scatter[0, 0], scatter[0, 0, 0], 1e-14)
    assert_close(found.scatter, scatter[0])


@pytest.mark.parametrize("kind", [DenseDesign, CSRDesign])
def test_a_design_with_columns_of_its_own(of, kind) -> None:
    class Squares(kind):
        """The columns and their squares."""

        def __init__(self, x) -> None:
            super().__init__(x)
            self.shape = (x.shape[0], 2 * x.shape[1])

        def take(self, index):
            return Squares(self._x[index])

        def blocks(self, start=0, stop=None, *, owned=False, size=None):
            for rows in self._slices(start, stop, size):
                part = self._x[rows]
                block = part.toarray() if sp.issparse(part) else part
                yield rows, np.hstack([block, block**2])

    X, codes, weights, _ = data()
    design = Squares(sp.csr_array(X) if kind is CSRDesign else X)
    mean, scatter = reference(np.hstack([X, X**2]), codes, weights, most=2)
    for pooled in (True, False):
        found = of(design, codes=codes, n_classes=K, weights=weights, pooled=pooled)
        assert_close(found.mean, mean)
        assert_close(found.scatter, scatter.sum(axis=0) if pooled else scatter)


# --- accuracy ----------------------------------------------------------------------------------


def exact(X, weights):
    """Mean and scatter of the stored floats, by whole fractions, rounded once."""
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    s = [Fraction(w) for w in weights.tolist()]
    total, d = sum(s), len(rows[0])
    mean = [sum(w * r[j] for w, r in zip(s, rows, strict=True)) / total for j in range(d)]
    steps = [[v - m for v, m in zip(row, mean, strict=True)] for row in rows]

    def product(i, j):
        return float(sum(w * e[i] * e[j] for w, e in zip(s, steps, strict=True)))

    scatter = [[product(i, j) for j in range(d)] for i in range(d)]
    return np.array([float(m) for m in mean]), np.array(scatter)


@functools.cache
def far_from_zero(weighted: bool):
    """Rows with an offset, their weights, and their mean and scatter."""
    rng = np.random.default_rng(5)
    X = 1e8 + rng.normal(size=(150, 3))
    weights = rng.random(150) if weighted else np.ones(150)
    return X, weights, *exact(X, weights)


@grid("chunk", [150, 37, 1])
@grid("weighted", [False, True])
@grid("worth", [0.0, np.inf])
def test_an_offset_of_1e8_costs_no_digits(chunk: int, weighted: bool, worth) -> None:
    of = partial(Moments.of, tuning=replace(MANY, worth=worth))
    X, weights, mean, scatter = far_from_zero(weighted)
    found = None
    for a in range(0, 150, chunk):
        rows = slice(a, a + chunk)
        part = of(as_design(X[rows]), weights=weights[rows] if weighted else None)
        found = part if found is None else found.merge(part)
    assert_close(found.mean[0], mean, 2e-16)
    assert_close(found.scatter, scatter, 1e-13)
    naive = (X * weights[:, None]).T @ X - np.outer(X.T @ weights, X.T @ weights) / weights.sum()
    assert np.abs(naive - scatter).max() > 0.1 * np.abs(scatter).max()


def test_rows_in_order_and_outliers_cost_few_digits(of) -> None:
    rng = np.random.default_rng(6)
    for X in (
        np.sort(rng.normal(size=(5000, 2)), axis=0),
        np.linspace(1e6, 1e6 + 1, 5000)[:, None] + 1e-6 * rng.normal(size=(5000, 2)),
        np.concatenate([[[1e7, -1e7]], rng.normal(size=(4999, 2))]),
        np.concatenate([rng.normal(size=(4999, 2)), [[1e7, -1e7]]]),
    ):
        found = of(as_design(X))
        _, scatter = reference(X, np.zeros(5000, dtype=int), np.ones(5000), 1, most=2)
        assert_close(found.scatter, scatter[0], 1e-13)


def test_columns_of_any_scale(of) -> None:
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(500, 3))
    scale = np.array([1e150, 1.0, 1e-150])
    plain = of(as_design(Z), fourth=True)
    found = of(as_design(Z * scale), fourth=True)
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(
            found.scatter[0] / scale / scale[:, None], plain.scatter[0], rtol=1e-12, atol=1e-9
        )
    assert found.finite
    # In standard deviations, so that nothing is out of range.
    sd = np.sqrt(np.diagonal(found.scatter[0]) / 500) / found.unit
    sd0 = np.sqrt(np.diagonal(plain.scatter[0]) / 500) / plain.unit
    np.testing.assert_allclose(
        found.fourth[0] / np.outer(sd**2, sd**2), plain.fourth[0] / np.outer(sd0**2, sd0**2)
    )


def test_a_rare_large_value_that_a_sample_misses(of) -> None:
    X = np.zeros((20_000, 2))
    X[7777] = [1e120, 1e-120]
    found = of(as_design(X), fourth=True)
    assert found.finite
    e = 1.0 - 1.0 / 20_000
    square = (found.unit / [1e120, 1e-120]) ** 2
    np.testing.assert_allclose(
        found.fourth[0] * square * square[:, None], e**4 + e * (1 - e) ** 3, rtol=1e-10
    )


@pytest.mark.parametrize("worth", [0.0, np.inf])
def test_equal_values_have_no_scatter_at_all(worth) -> None:
    of = partial(Moments.of, tuning=replace(MANY, worth=worth))
    X = np.stack([np.full(3000, 0.1), np.full(3000, 1e9 + 0.3), np.full(3000, -7.7e-9)], axis=1)
    codes = np.arange(3000) % 2
    for X_ in (X, sp.csr_array(X), np.asfortranarray(X)):
        found = of(as_design(X_), codes=codes, n_classes=2, pooled=False)
        assert not found.scatter.any()
        assert np.array_equal(found.mean, X[:2])
        parts = [of(as_design(X_[a : a + 100])) for a in range(0, 3000, 100)]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.merge(part)
        assert not whole.scatter.any() and np.array_equal(whole.mean, X[:1])


# --- weights, classes, merging -----------------------------------------------------------------


@pytest.mark.parametrize("fourth", [False, True])
def test_a_weight_is_so_many_copies(of, fourth: bool) -> None:
    X, codes, weights, _ = data()
    times = weights.astype(int)
    one = of(as_design(X), codes=codes, n_classes=K, weights=weights, fourth=fourth)
    copies = of(
        as_design(np.repeat(X, times, axis=0)),
        codes=np.repeat(codes, times),
        n_classes=K,
        fourth=fourth,
    )
    for name in ("weight", "mean", "scatter"):
        assert_close(getattr(one, name), getattr(copies, name))
    if fourth:
        assert_close(
            one.fourth * (one.unit**2)[:, None] * one.unit**2,
            copies.fourth * (copies.unit**2)[:, None] * copies.unit**2,
        )
        assert_close(
            one.third * (one.unit**2)[:, None] * one.unit,
            copies.third * (copies.unit**2)[:, None] * copies.unit,
        )


@grid("chunk", [1, 7, 100, 899])
@pytest.mark.parametrize("kind", ["pooled", "each", "fourth"])
def test_any_portions_merge_to_the_whole(of, chunk: int, kind: str) -> None:
    X, codes, weights, _ = data()
    n = {1: 150, 7: 300}.get(chunk, N)
    # The rows are sorted by class, so that most portions lack classes.
    order = np.argsort(codes, kind="stable")[:: N // n][:n]
    X, codes, weights = X[order], codes[order], weights[order]
    X[:, 1] *= 1e3
    options = {"n_classes": K, "pooled": kind == "pooled", "fourth": kind == "fourth"}
    whole = of(as_design(X), codes=codes, weights=weights, **options)
    found = None
    for a in range(0, n, chunk):
        rows = slice(a, a + chunk)
        part = of(as_design(X[rows]), codes=codes[rows], weights=weights[rows], **options)
        found = part if found is None else found.merge(part)
    assert found.n_rows == whole.n_rows == n
    for name in ("weight", "mean", "scatter"):
        assert_close(getattr(found, name), getattr(whole, name))
    if kind == "fourth":
        np.testing.assert_array_equal(found.unit, whole.unit)
        assert_close(found.third, whole.third)
        assert_close(found.fourth, whole.fourth)


def test_merging_is_associative_and_commutative(of) -> None:
    X, codes, weights, _ = data()
    cuts = [0, 5, 300, 901]
    options = {"n_classes": K, "fourth": True}
    parts = [
        of(as_design(X[a:b]), codes=codes[a:b], weights=weights[a:b], **options)
        for a, b in itertools.pairwise(cuts)
    ]
    a, b, c = parts
    results = [a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)]
    for other in results[1:]:
        for name in ("weight", "mean", "scatter", "third", "fourth", "unit"):
            assert_close(getattr(other, name), getattr(results[0], name))


def test_a_class_without_rows(of) -> None:
    X, codes, _, _ = data()
    codes = codes % 2
    found = of(as_design(X), codes=codes, n_classes=3, pooled=False)
    assert found.weight[2] == 0 and not found.mean[2].any() and not found.scatter[2].any()
    other = of(as_design(X), codes=np.full(N, 2), n_classes=3, pooled=False)
    both = found.merge(other)
    # Nothing was added to, so nothing is rounded.
    np.testing.assert_array_equal(both.mean[:2], found.mean[:2])
    np.testing.assert_array_equal(both.mean[2], other.mean[2])
    np.testing.assert_array_equal(both.scatter, found.scatter + other.scatter)


def test_a_class_that_the_sample_misses(of) -> None:
    X = 1e8 + np.random.default_rng(0).normal(size=(50_000, 2))
    codes = np.zeros(50_000, dtype=int)
    rare = [11, 12_345, 49_998]
    codes[rare] = 1
    X[rare] -= 2e8
    found = of(as_design(X), codes=codes, n_classes=2, pooled=False)
    mean, scatter = exact(X[rare], np.ones(3))
    assert_close(found.mean[1], mean, 1e-15)
    assert_close(found.scatter[1], scatter, 1e-13)


def test_what_is_not_finite_shows(of) -> None:
    X, codes, _, _ = data()
    for value in (np.nan, np.inf, -np.inf, 1e200):
        for kind in (np.asarray, sp.csr_array):
            bad = X.copy()
            bad[N - 1, D - 1] = value
            design = as_design(kind(bad))
            assert not of(design).finite
            assert not of(design, codes=codes, n_classes=K, fourth=True).finite
    zero = np.ones(N)
    zero[3] = 0.0
    bad = X.copy()
    bad[3, 0] = np.nan
    assert not of(as_design(bad), weights=zero).finite


def test_moments_of_other_things_do_not_merge(of) -> None:
    X, codes, _, _ = data()
    own = of(as_design(X))
    for other in (
        of(as_design(X[:, :2])),
        of(as_design(X), codes=codes, n_classes=K),
        of(as_design(X), pooled=False),
        of(as_design(X), fourth=True),
    ):
        with pytest.raises(ValueError, match="cannot be merged"):
            own.merge(other)


# --- threads, routes, memory -------------------------------------------------------------------


@grid("worth", [0.0, 1e9])
@grid("own_bytes", [0, 1 << 30])
@grid("kind", ["pooled", "each", "fourth"])
@pytest.mark.parametrize("storage", ["C", "fortran", "csr"])
def test_threads_change_no_more_than_rounding(worth, own_bytes, kind, storage) -> None:
    X, codes, weights, _ = data()
    design = as_design(STORAGES[storage](X))
    options = {"codes": codes, "n_classes": K, "weights": weights}
    options |= {"pooled": kind == "pooled", "fourth": kind == "fourth"}
    one = Moments.of(design, **options, tuning=MANY)
    small = Tuning(
        few=0,
        worth=worth,
        parallel_work=0,
        own_bytes=own_bytes,
        buffer_bytes=1000,
        buffer_rows=17,
        sorted=211,
    )
    with threads(3), pool.tuned(pool.Tuning(parallel_work=0)):
        three = Moments.of(design, **options, tuning=small)
        again = Moments.of(design, **options, tuning=small)
    for name in ("weight", "mean", "scatter", "third", "fourth"):
        left, right = getattr(one, name), getattr(three, name)
        if left is not None:
            assert_close(left, right)
            # The same threads give the same digits.
            np.testing.assert_array_equal(right, getattr(again, name))


@functools.cache
def of_many_columns(d: int):
    """Rows with classes, weights and targets, and their moments without the weights and with."""
    rng = np.random.default_rng(d)
    n = 333
    X = (3.0 + rng.normal(size=(n, d))).astype(np.float32).astype(np.float64)
    X[rng.random((n, d)) < 0.3] = 0.0
    codes, weights = rng.integers(0, K, n), rng.integers(0, 3, n).astype(np.float64)
    targets = rng.normal(size=(n, 2))
    whole = np.hstack([X, targets])
    known = [reference(whole, codes, s, most=2) for s in (np.ones(n), weights)]
    return X, codes, weights, targets, known


@grid("d", [1, 5, 8, 23, 31, 40, 97, 250])
@grid("pooled", [True, False])
@pytest.mark.parametrize("kind", ["C", "float32", "fortran", "csr"])
def test_products_in_registers(d, pooled, kind) -> None:
    X, codes, weights, targets, known = of_many_columns(d)
    design = as_design(STORAGES[kind](X))
    options = {"codes": codes, "n_classes": K, "targets": targets, "pooled": pooled}
    for weighted, (mean, scatter) in zip(({}, {"weights": weights}), known, strict=True):
        plain = Moments.of(design, **options, **weighted, tuning=MANY)
        registers = replace(MANY, worth=0.0, dense_gain=1e9)
        found = Moments.of(design, **options, **weighted, tuning=registers)
        for own in (plain, found):
            assert_close(own.mean, mean)
            assert_close(own.scatter, scatter.sum(axis=0) if pooled else scatter)
            assert own.scatter.flags.c_contiguous
            assert np.array_equal(own.scatter, np.swapaxes(own.scatter, -1, -2))


@functools.cache
def of_one_class(d: int):
    """Rows with targets, and two kinds of weights with the moments that they make."""
    rng = np.random.default_rng(d)
    n = 1101
    X = (1e3 + rng.normal(size=(n, d))).astype(np.float32).astype(np.float64)
    weights = rng.integers(0, 3, n) + 0.25
    # One-hot, column by column, as least squares for classes has them.
    targets = np.asfortranarray(np.eye(3)[rng.integers(0, 3, n)])
    whole, all_of_one = np.hstack([X, targets]), np.zeros(n, dtype=int)
    plain, known = (reference(whole, all_of_one, s, 1, most=2) for s in (np.ones(n), weights))
    return X, targets, [(None, *plain), (weights, *known)]


@grid("d", [1, 7, 13, 62, 100])
@pytest.mark.parametrize("kind", ["C", "float32", "fortran"])
def test_one_class_in_registers(d, kind) -> None:
    X, targets, known = of_one_class(d)
    of = partial(Moments.of, tuning=replace(MANY, worth=0.0, turned=512))
    for s, mean, scatter in known:
        found = of(as_design(STORAGES[kind](X)), targets=targets, weights=s)
        np.testing.assert_allclose(found.mean[0], mean[0], rtol=1e-14)
        np.testing.assert_allclose(found.scatter, scatter[0], rtol=1e-10, atol=1e-8)


@grid("p", [1, 31, 32, 33, 100])
def test_mirror(p: int) -> None:
    rng = np.random.default_rng(p)
    out, roots = rng.normal(size=(p, p)), rng.normal(size=(3, p))
    expected = np.triu(out) + np.triu(out, 1).T - roots.T @ roots
    mirror(out, roots)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(out, out.T)


def test_a_processor_without_such_registers(monkeypatch) -> None:
    X, codes, weights, _ = data()
    options = {"codes": codes, "n_classes": K, "weights": weights}
    one = Moments.of(as_design(X), **options, tuning=MANY)
    monkeypatch.setattr(outer_products, "KNOWN", False)
    other = Moments.of(as_design(X), **options, tuning=replace(MANY, worth=0.0))
    np.testing.assert_array_equal(one.scatter, other.scatter)


def test_without_the_routine_of_scipy(of, monkeypatch) -> None:
    X, codes, weights, _ = data()
    one = of(as_design(X), codes=codes, n_classes=K, weights=weights)
    assert blas._routine("dsyrk") is not None
    monkeypatch.setattr(blas, "_routine", lambda name: None)
    other = of(as_design(X), codes=codes, n_classes=K, weights=weights)
    assert_close(one.scatter, other.scatter)


@pytest.mark.parametrize("kind", ["float32", "csr", "fortran", "C"])
def test_nothing_is_copied(of, kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(100_000, 20))
    codes = np.arange(100_000) % 4
    design = as_design(
        {"csr": sp.csr_array, "fortran": np.asfortranarray}.get(kind, lambda x: x)(
            X.astype(np.float32) if kind == "float32" else X
        )
    )
    for options in ({}, {"pooled": False}):
        # What is compiled, or started, is not counted.
        few = np.arange(20_000)
        of(design.take(few), codes=codes[few], n_classes=4, **options)
        tracemalloc.start()
        of(design, codes=codes, n_classes=4, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The data take 16 MB in float64, the buffers of two threads 4 MB.
        assert peak < 8e6


@grid("pooled", [True, False])
@grid("k", [1, 3])
def test_few_rows_have_the_moments_of_many(k, pooled) -> None:
    rng = np.random.default_rng(0)
    X = 1e6 + rng.normal(size=(60, 4))
    X[:, 3] = 7.1
    codes = rng.integers(0, k, size=60) if k > 1 else None
    options = {"codes": codes, "n_classes": k + 1, "targets": X[:, :1] * 2.0, "pooled": pooled}
    few = Moments.of(as_design(X), **options)
    other = Moments.of(as_design(X), **options, tuning=MANY)
    np.testing.assert_allclose(few.mean, other.mean, rtol=1e-15)
    np.testing.assert_allclose(few.scatter, other.scatter, rtol=1e-9, atol=1e-6)
    assert np.all(few.scatter[..., 3, 3] == 0.0)
    np.testing.assert_array_equal(few.scatter, np.swapaxes(few.scatter, -1, -2))


def test_the_scatter_of_a_class_that_one_row_outweighs(of):
    x = np.array([[1.4], [0.7], [2.1], [0.6]])
    weights = np.array([1e-96, 1e55, 1e-6, 1e-91])
    options = {"codes": np.array([0, 1, 0, 0]), "n_classes": 2, "pooled": False}
    found = of(as_design(x), weights=weights, **options)
    exact = [Fraction(float(v)) for v in x[[0, 2, 3], 0]]
    s = [Fraction(float(v)) for v in weights[[0, 2, 3]]]
    mean = sum(a * b for a, b in zip(s, exact, strict=True)) / sum(s)
    scatter = sum(a * (b - mean) ** 2 for a, b in zip(s, exact, strict=True))
    np.testing.assert_allclose(found.scatter[0, 0, 0], float(scatter), rtol=1e-9)
    assert found.scatter[1, 0, 0] == 0.0
