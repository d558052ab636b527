"""Designs: every way of storing the rows gives the products of the float64 matrix, uncopied."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from grids import grid
from separatrix import LogisticRegression
from separatrix._compiled import pool
from separatrix._compiled.compilation import specialise
from separatrix.data.design import CSRDesign, DenseDesign, Tuning, as_design
from separatrix.losses import LogLoss
from separatrix.objectives.margin import MarginObjective

N, D = 700, 23


def base() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    X[::7] = 0.0
    X[:, 3] *= 1e6
    X[:, 4] *= 1e-6
    # Exactly what float32 can hold, so that every storage holds the same numbers.
    return X.astype(np.float32).astype(np.float64)


def strided(X: np.ndarray, dtype: type) -> np.ndarray:
    wide = np.full((2 * N, 3 * D), np.nan, dtype=dtype)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def frozen(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X: np.ndarray) -> np.ndarray:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(X.shape)
    view[...] = X
    return view


DENSE = {
    "C": lambda X: X.copy(),
    "fortran": np.asfortranarray,
    "column slice": lambda X: np.hstack([X, X])[:, D:],
    "row slice": lambda X: np.repeat(X, 2, axis=0)[::2],
    "both strides": lambda X: strided(X, np.float64),
    "reversed rows": lambda X: X[::-1].copy()[::-1],
    "reversed columns": lambda X: X[:, ::-1].copy()[:, ::-1],
    "fortran slice": lambda X: np.asfortranarray(np.vstack([X, X]))[N:],
    "transposed": lambda X: X.T.copy().T,
    "read-only": frozen,
    "unaligned": unaligned,
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "float32 strided": lambda X: strided(X, np.float32),
    "float32 reversed": lambda X: X[::-1, ::-1].astype(np.float32)[::-1, ::-1],
}


def csr(X: np.ndarray, index: type = np.int32, dtype: type = np.float64) -> sp.csr_array:
    out = sp.csr_array(X.astype(dtype))
    out.indices, out.indptr = out.indices.astype(index), out.indptr.astype(index)
    return out


def unsorted(X: np.ndarray) -> sp.csr_array:
    out = csr(X)
    for i in range(N):
        part = slice(out.indptr[i], out.indptr[i + 1])
        out.indices[part], out.data[part] = out.indices[part][::-1], out.data[part][::-1]
    out.has_sorted_indices = False
    return out


def duplicated(X: np.ndarray, dtype: type = np.float64) -> sp.csr_array:
    # Every entry in two parts: 1.5 x and -0.5 x, which cancel in part.
    half = csr(X)
    indptr = 2 * half.indptr
    indices = np.repeat(half.indices, 2)
    data = np.repeat(half.data, 2) * np.tile([1.5, -0.5], len(half.data))
    return sp.csr_array((data.astype(dtype), indices, indptr), shape=X.shape)


def explicit_zeros(X: np.ndarray) -> sp.csr_array:
    out = sp.csr_array(np.where(X == 0.0, 1.0, X))
    rows = np.repeat(np.arange(N), np.diff(out.indptr))
    out.data[X[rows, out.indices] == 0.0] = 0.0
    return out


def with_slack(X: np.ndarray) -> sp.csr_array:
    # Arrays longer than what is stored, as scipy leaves them after some edits.
    out = csr(X)
    out.data = np.concatenate([out.data, [np.nan] * 5])
    out.indices = np.concatenate([out.indices, np.zeros(5, dtype=out.indices.dtype)])
    return out


SPARSE = {
    "csr": csr,
    "int64": lambda X: csr(X, np.int64),
    "csr float32": lambda X: csr(X, dtype=np.float32),
    "int64 float32": lambda X: csr(X, np.int64, np.float32),
    "unsorted": unsorted,
    "duplicates": duplicated,
    "explicit zeros": explicit_zeros,
    "slack": with_slack,
    "csr_matrix": sp.csr_matrix,
}

STORAGES = {**DENSE, **SPARSE}
each_storage = pytest.mark.parametrize("storage", STORAGES)


@each_storage
@grid("columns", [None, 1, 4])
@grid("large", [False, True])
def test_products(storage: str, columns: int | None, large: bool) -> None:
    X = base()
    tuning = Tuning(own_products=0) if large else Tuning()
    design = as_design(STORAGES[storage](X), tuning)
    rng = np.random.default_rng(1)
    tail = () if columns is None else (columns,)
    w, a = rng.normal(size=(D, *tail)), rng.normal(size=(N, *tail))
    assert design.shape == (N, D)
    with pool.tuned(pool.Tuning(parallel_work=0) if large else pool.Tuning()):
        product, transposed = design.dot(w), design.t_dot(a)
    size = np.abs(X) @ np.abs(w)
    np.testing.assert_array_less(np.abs(product - X @ w), 1e-14 * size + 1e-300)
    size = np.abs(X).T @ np.abs(a)
    np.testing.assert_array_less(np.abs(transposed - X.T @ a), 1e-13 * size + 1e-300)


@each_storage
def test_products_with_strided_vectors(storage: str) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    rng = np.random.default_rng(2)
    w = np.asfortranarray(rng.normal(size=(2 * D, 3)))[::2]
    np.testing.assert_allclose(design.dot(w), X @ w, rtol=1e-9, atol=1e-8)
    a = rng.normal(size=(N, 6))[:, ::2]
    np.testing.assert_allclose(design.t_dot(a), X.T @ a, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(design.dot(w[::-1, 1]), X @ w[::-1, 1], rtol=1e-9, atol=1e-8)


@each_storage
@grid("zeros", [0.0, 0.3, 0.9, 1.0])
def test_gram(storage: str, zeros: float) -> None:
    X = base()
    rng = np.random.default_rng(3)
    weights = rng.random(N) * (rng.random(N) >= zeros)
    gram = as_design(STORAGES[storage](X)).gram(weights)
    expected = (X * weights[:, None]).T @ X
    size = (np.abs(X) * weights[:, None]).T @ np.abs(X)
    np.testing.assert_array_less(np.abs(gram - expected), 1e-13 * size + 1e-300)
    np.testing.assert_array_less(np.abs(gram - gram.T), 1e-13 * size + 1e-300)


@pytest.mark.parametrize("zeros", [0.0, 0.9])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_rough_gram_has_the_digits_of_single_precision(order, zeros) -> None:
    X, rng = np.tile(base(), (4, 1)), np.random.default_rng(3)
    weights = rng.random(len(X)) * (rng.random(len(X)) >= zeros)
    exact = as_design(X).gram(weights)
    # Rows that are stored in float64 have no other.
    assert not as_design(X).has_rough_gram
    np.testing.assert_array_equal(as_design(X).rough_gram(weights), exact)
    single = as_design(np.asarray(X, dtype=np.float32, order=order))
    assert single.has_rough_gram
    rough, size = single.rough_gram(weights), (np.abs(X) * weights[:, None]).T @ np.abs(X)
    np.testing.assert_array_less(np.abs(rough - exact), 1e-5 * size + 1e-300)
    np.testing.assert_array_equal(rough, rough.T)
    assert np.abs(rough - exact).max() > 0.0


@each_storage
def test_squares(storage: str) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    weights = np.random.default_rng(4).random(N)
    np.testing.assert_allclose(design.row_squares(), (X * X).sum(axis=1), rtol=1e-13)
    expected = weights @ (X * X)
    found = design.column_squares(weights)
    if storage == "duplicates":
        # Documented: repeated entries count as the squares of their parts, an upper bound up to
        # a constant, because only a preconditioner uses them.
        assert np.all(found >= 0.5 * expected)
        assert np.all(found <= 4.0 * expected + 1e-300)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@each_storage
def test_columns_as_rows(storage: str) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    rng = np.random.default_rng(6)
    turned = design.turned
    assert turned is design.turned
    assert turned.shape == (D, N)
    v, w = rng.normal(size=N), rng.normal(size=D)
    np.testing.assert_allclose(turned.dot(v), X.T @ v, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(turned.t_dot(w), X @ w, rtol=1e-9, atol=1e-8)
    # Here entries in several parts count once: the curvature must not be too small.
    np.testing.assert_allclose(turned.row_squares(), (X * X).sum(axis=0), rtol=1e-12)


@each_storage
def test_column_counts(storage: str) -> None:
    design = as_design(STORAGES[storage](base()))
    counts = design.column_counts
    assert counts.shape == (D,)
    assert counts.sum() == design.n_stored


@each_storage
def test_collinearity(storage: str) -> None:
    rng = np.random.default_rng(1)
    apart = rng.choice([-1.0, 1.0], size=(N, D))
    store = STORAGES[storage]
    assert as_design(store(apart)).collinearity < 1.5
    # One column, stored many times, is all that there is.
    assert as_design(store(np.tile(apart[:, :1], D))).collinearity == pytest.approx(D)
    some = apart + apart[:, :1]
    known = as_design(store(some)).collinearity
    assert 1.5 < known < D
    if "float32" not in storage:
        # Squares of products of such rows are out of range; then products are, too.
        for size in (1e-140, 1e140):
            assert as_design(store(size * some)).collinearity == pytest.approx(known)
        assert as_design(store(1e200 * some)).collinearity == D
    assert as_design(store(np.zeros((N, D)))).collinearity == 1.0


@each_storage
def test_take(storage: str) -> None:
    X = base()
    index = np.array([5, 0, 699, 5, 7])
    taken = as_design(STORAGES[storage](X)).take(index)
    w = np.random.default_rng(5).normal(size=D)
    assert taken.shape == (5, D)
    np.testing.assert_allclose(taken.dot(w), X[index] @ w, rtol=1e-9, atol=1e-8)


@each_storage
def test_columns(storage: str) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    for index in (np.array([2]), np.array([0, 3, D - 1]), np.arange(D), np.zeros(0, dtype=int)):
        taken = design.columns(index)
        w = np.random.default_rng(5).normal(size=len(index))
        assert taken.shape == (N, len(index))
        np.testing.assert_allclose(taken.dot(w), X[:, index] @ w, rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(
            taken.t_dot(np.ones(N)), X[:, index].sum(axis=0), rtol=1e-9, atol=1e-8
        )
        assert (taken is design) is (len(index) == D)
        # Products with rows that lie in one piece are the fastest.
        assert taken.by_rows or not design.by_rows


# The functions that a design replaces by those of its storage.
row_dot = row_add = None


def _of_row(rows, i, w, factor, out):
    row_add(rows, i, factor, out)
    return row_dot(rows, i, w)


@each_storage
def test_rows_for_kernels(storage: str) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    w = np.random.default_rng(6).normal(size=D)
    loop = specialise(_of_row, row_dot=design.row_dot, row_add=design.row_add)
    for i in (0, 1, 348, N - 1):
        out = w.copy()
        dot = loop(design.rows, i, w, -0.5, out)
        assert dot == pytest.approx(X[i] @ w, rel=1e-9, abs=1e-8)
        np.testing.assert_allclose(out, w - 0.5 * X[i], rtol=1e-12)
    assert not any(array.flags.writeable for array in design.rows)


@pytest.mark.parametrize("storage", DENSE)
def test_dense_storage_is_not_copied(storage: str) -> None:
    X = STORAGES[storage](base())
    assert np.shares_memory(as_design(X).matrix, X)


def test_rows_that_lie_by_columns_are_copied_by_rows_once() -> None:
    X = np.random.default_rng(0).normal(size=(1501, 40)).astype(np.float32)
    for given in (np.asfortranarray(X), np.asfortranarray(np.vstack([X, X]))[1501:]):
        design = as_design(given)
        (rows,) = design.rows
        assert design.matrix is not rows
        assert rows is design.rows[0]
        assert rows.flags.c_contiguous
        assert not rows.flags.writeable
        assert rows.dtype == X.dtype
        np.testing.assert_array_equal(rows, X)
    # Rows in one piece are used where they lie, whatever is between them.
    for given in (X, X[::2], np.hstack([X, X])[:, 40:]):
        assert np.shares_memory(as_design(given).rows[0], given)


@pytest.mark.parametrize("storage", SPARSE)
def test_sparse_storage_is_not_copied(storage: str) -> None:
    X = STORAGES[storage](base())
    for ours, theirs in zip(as_design(X).rows, (X.data, X.indices, X.indptr), strict=True):
        assert np.shares_memory(ours, theirs)


def test_memory_map(tmp_path) -> None:
    X = base()
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    design = as_design(mapped)
    assert np.shares_memory(design.rows[0], mapped)
    w = np.ones(D)
    np.testing.assert_allclose(design.dot(w), X @ w, rtol=1e-9, atol=1e-8)
    assert design.row_dot(design.rows, 1, w) == pytest.approx(X[1].sum())


def test_as_design_passes_a_design_through() -> None:
    design = as_design(np.eye(2))
    assert as_design(design) is design
    assert isinstance(design, DenseDesign)
    assert isinstance(as_design(sp.csr_array(np.eye(2))), CSRDesign)


@pytest.mark.parametrize("bad", [sp.csc_array(np.eye(2)), sp.coo_array(np.eye(2))])
def test_other_sparse_formats_are_refused(bad) -> None:
    with pytest.raises(TypeError, match=f"CSR format, got '{bad.format}'"):
        as_design(bad)


@pytest.mark.parametrize("bad", [np.zeros(3), [[1.0]], np.zeros((1, 1, 1)), None])
def test_what_is_no_matrix_is_refused(bad) -> None:
    with pytest.raises(TypeError, match="pass a 2-D array or a CSR matrix"):
        as_design(bad)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 0)])
def test_degenerate_shapes(shape: tuple[int, int]) -> None:
    X = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for design in (as_design(X), as_design(np.asfortranarray(X)), as_design(sp.csr_array(X))):
        np.testing.assert_array_equal(design.dot(np.ones(shape[1])), X.sum(axis=1))
        np.testing.assert_array_equal(design.t_dot(np.ones(shape[0])), X.sum(axis=0))
        np.testing.assert_allclose(design.gram(np.ones(shape[0])), X.T @ X)


def test_broadcast_rows_have_stride_zero() -> None:
    X = np.broadcast_to(np.arange(4.0), (6, 4))
    design = as_design(X)
    np.testing.assert_array_equal(design.dot(np.ones(4)), np.full(6, 6.0))
    np.testing.assert_array_equal(design.t_dot(np.ones(6)), 6.0 * np.arange(4))


def test_large_sparse_products_use_threads_and_agree() -> None:
    # More work than one thread takes: the reduction has a fixed order.
    X = sp.random_array((4000, 300), density=0.3, rng=np.random.default_rng(0), format="csr")
    design = as_design(X)
    a = np.random.default_rng(1).normal(size=4000)
    first = design.t_dot(a)
    np.testing.assert_allclose(first, X.T @ a, rtol=1e-10, atol=1e-10)
    for _ in range(3):
        assert np.array_equal(design.t_dot(a), first)


def peak_of(function) -> int:
    """Bytes at the peak of what ``function`` allocates."""
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_float32_products_copy_a_block_not_the_matrix() -> None:
    n, d = 40_000, 60
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    w, a, weights = np.ones(d), np.ones(n), np.ones(n)
    for storage in (X, np.asfortranarray(X), X[::-1]):
        design = as_design(storage)
        vectors = 4 * 8 * n
        for function in (
            lambda design=design: design.dot(w),
            lambda design=design: design.t_dot(a),
            lambda design=design: design.gram(weights),
            lambda design=design: design.column_squares(weights),
            lambda design=design: design.row_squares(),
        ):
            # A float64 copy would be 19 MB; a block is one, the vectors another.
            assert peak_of(function) < vectors + 3 * 2**20 < X.nbytes


def test_gram_with_few_active_rows_copies_only_those() -> None:
    n, d = 40_000, 60
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    weights = np.zeros(n)
    weights[: n // 3] = 1.0
    assert peak_of(lambda: as_design(X).gram(weights)) < 3 * 8 * n + 4 * 2**20


def test_csr_float32_products_do_not_convert_the_data() -> None:
    X = sp.random_array(
        (30_000, 400), density=0.05, rng=np.random.default_rng(0), format="csr", dtype=np.float32
    )
    design = as_design(X)
    w, a = np.ones(400), np.ones(30_000)
    for function in (lambda: design.dot(w), lambda: design.t_dot(a)):
        assert peak_of(function) < 4 * 8 * 30_000 < X.data.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_fit_on_float32_does_not_copy_the_matrix(order: str) -> None:
    n, d = 60_000, 64
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(n, d)), dtype=np.float32, order=order)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    peak = peak_of(lambda: LogisticRegression().fit(X, y))
    # The matrix is 15 MB, a float64 copy 31 MB; what remains are vectors of n and blocks.
    assert peak < 12 * 8 * n + 4 * 2**20 < X.nbytes


def test_prediction_on_float32_does_not_copy_the_matrix() -> None:
    n, d = 60_000, 64
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    model = LogisticRegression().fit(X[:500], X[:500, 0] > 0)
    for given in (X, np.asfortranarray(X)):
        peak = peak_of(lambda given=given: model.decision_function(given))
        assert peak < 4 * 8 * n + 3 * 2**20 < X.nbytes


# --- blocks ------------------------------------------------------------------------------------


@each_storage
@grid("owned", [False, True])
@grid("size", [None, 1, 64, 10_000])
def test_blocks_are_the_rows(storage: str, owned: bool, size: int | None) -> None:
    X = base()
    design = as_design(STORAGES[storage](X))
    for start, stop in [(0, None), (13, 612), (N - 1, N), (5, 5), (600, N + 99)]:
        seen, found = [], [np.empty((0, D))]
        for rows, block in design.blocks(start, stop, owned=owned, size=size):
            assert block.dtype == np.float64 and block.shape == (rows.stop - rows.start, D)
            assert size is None or len(block) <= size
            found.append(block.copy())
            if owned:
                assert block.flags.c_contiguous and block.flags.writeable
                block[:] = np.nan
            seen.append(np.arange(rows.start, rows.stop))
        seen = np.concatenate([np.empty(0, dtype=int), *seen])
        np.testing.assert_array_equal(seen, np.arange(start, min(N, stop or N)))
        np.testing.assert_allclose(np.concatenate(found), X[seen], rtol=1e-15, atol=1e-300)
    # Overwriting what is owned has left the data alone.
    np.testing.assert_allclose(design.dot(np.ones(D)), X.sum(axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("storage", ["C", "fortran", "read-only"])
def test_blocks_of_what_blas_takes_are_views(storage: str) -> None:
    x = STORAGES[storage](base())
    for _, block in as_design(x).blocks(size=50):
        assert np.shares_memory(block, x)


@pytest.mark.parametrize("storage", ["float32", "csr", "csr float32", "float32 strided"])
def test_blocks_reuse_one_buffer(storage: str) -> None:
    X = np.tile(base(), (20, 1))
    design = as_design(X.astype(np.float32) if "float32" in storage else csr(X))
    next(iter(design.blocks(size=50)))
    tracemalloc.start()
    for _ in design.blocks(size=50):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 50 * D * 8 + 60_000


# ------------------------------------------------------------------------- what does not fit


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix, sp.csr_array, np.asfortranarray])
@grid("n", [5, 30_000])
def test_factors_of_another_length_are_refused(kind, n):
    design = as_design(kind(np.ones((n, 40))))
    for w in (np.ones(39), np.ones(41), np.ones((39, 3)), np.ones((41, 1)), np.array(1.0)):
        with pytest.raises(ValueError, match="The matrix has 40 columns, and the vector"):
            design.dot(w)
    for a in (np.ones(n - 1), np.ones((n + 1, 2))):
        with pytest.raises(ValueError, match=r"The matrix has [0-9,]+ rows, and the vector"):
            design.t_dot(a)


@grid("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indices", [0, 1, 3]),
        ("indices", [0, -1, 2]),
        ("indices", [0, 1]),
        ("indptr", [0, 3, 1]),
        ("indptr", [0, 2, 4]),
        ("indptr", [-1, 2, 3]),
        ("indptr", [0, 3]),
        ("data", [1.0, 2.0]),
    ],
)
def test_csr_matrices_that_point_outside_are_refused(index, name, value):
    x = sp.csr_array((np.ones(3), [0, 1, 2], [0, 2, 3]), shape=(2, 3))
    x.indices, x.indptr = x.indices.astype(index), x.indptr.astype(index)
    assert as_design(x).dot(np.ones(3)).tolist() == [2.0, 1.0]
    setattr(x, name, np.asarray(value, dtype=getattr(x, name).dtype))
    with pytest.raises(ValueError, match="The CSR matrix of shape 2 by 3 is damaged: "):
        as_design(x)


def test_index_arrays_may_have_room_to_spare():
    x = sp.csr_array((np.ones(3), [0, 1, 2], [0, 2, 3]), shape=(2, 3))
    x.indices = np.array([0, 1, 2, 99], dtype=x.indices.dtype)
    x.data = np.ones(4)
    assert as_design(x).dot(np.ones(3)).tolist() == [2.0, 1.0]
    assert as_design(sp.csr_array((0, 3))).dot(np.ones(3)).tolist() == []
    assert as_design(sp.csr_array((2, 0))).dot(np.ones(0)).tolist() == [0.0, 0.0]


def test_gram_matrices_and_passes_read_columns_as_they_lie() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 90))
    weights = rng.random(2500)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    weights[rng.random(2500) < 0.1] = 0.0
    for kind, close in ((np.float64, 1e-12), (np.float32, 1e-6)):
        by_rows, by_columns = X.astype(kind), np.asfortranarray(X, dtype=kind)
        for few in (weights, np.where(np.arange(2500) % 3 == 0, weights, 0.0)):
            grams = [as_design(form).gram(few) for form in (by_rows, by_columns)]
            np.testing.assert_allclose(grams[1], grams[0], rtol=close, atol=close * few.sum())
        point, found = 0.1 * rng.normal(size=91), []
        for form in (by_rows, by_columns):
            design = as_design(form)
            found.append(MarginObjective(design, y, LogLoss(), fit_intercept=True).evaluate(point))
            assert "rows" not in vars(design) or form is by_rows
        for name in ("scores", "loss", "paired", "adjoint"):
            one, other = (getattr(each, name) for each in found)
            np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


def test_column_major_rows_give_what_row_major_rows_give() -> None:
    """Sums of squares, copies and samples, of sizes that fill no tile or block."""
    rng = np.random.default_rng(5)
    for shape, dtype in ((((1500, 7)), np.float64), ((333, 70), np.float32), ((1, 9000), float)):
        X = rng.normal(size=shape).astype(dtype)
        rows, columns = as_design(X), as_design(np.asfortranarray(X))
        weights = rng.random(shape[0])
        index = rng.integers(0, shape[0], size=37)
        for found, wanted in (
            (columns.column_squares(weights), weights @ np.square(X, dtype=np.float64)),
            (rows.column_squares(weights), weights @ np.square(X, dtype=np.float64)),
            (columns.row_squares(), rows.row_squares()),
            (columns.absolute_dot(X[0]), np.abs(X) @ np.abs(X[0].astype(np.float64))),
            (columns.absolute_t_dot(weights), weights @ np.abs(X)),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == np.float32 else 1e-12)
        np.testing.assert_array_equal(columns.take(index).matrix, X[index])
        for part, block in columns.blocks(owned=True, size=100):
            np.testing.assert_array_equal(block, X[part])
        np.testing.assert_array_equal(columns.rows[0], X)


def test_kernels_meet_one_order_of_few_entries_and_no_copy_of_many_side_by_side() -> None:
    whole = np.random.default_rng(0).normal(size=(3000, 20))
    few = whole[:500]
    for x in (np.asfortranarray(few), few[:, :7], few[:, ::2], few[::2], few[:, ::-1]):
        (rows,) = as_design(x).rows
        assert rows.flags.c_contiguous and not rows.flags.writeable
        np.testing.assert_array_equal(rows, x)
    for x in (few, whole[:, :15]):
        assert np.shares_memory(as_design(x).rows[0], x)
