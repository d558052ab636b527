"""Kernel machines against scikit-learn's, against brute force, and against themselves.

Objectives are evaluated in extended precision, from kernels written out again in
``kernel_svm_reference``; nothing of the library's arithmetic judges the library.
"""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from kernel_svm_reference import hard_primal, kernel_matrix, primal
from separatrix import SVC, LinearSVC, NotSeparableError, share_gram, threads
from separatrix._compiled import pool
from separatrix.kernels import PolynomialKernel, RBFKernel, objective
from separatrix.kernels.gram import Gram
from separatrix.solvers.driver import watch

early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KERNELS: dict[str, dict] = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.3, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
}
SIGMOID = {"kernel": "sigmoid", "gamma": 0.2, "coef0": -0.5}


def data(classes: int = 2, n: int = 80, d: int = 3, seed: int = 0):
    """Classes that overlap, on a curved border."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    value = X[:, 0] + X[:, 1] ** 2 - 0.8 + 0.6 * rng.normal(size=n)
    return X, np.digitize(value, [0.0, 1.5, 3.0][: classes - 1])


def weighting(name: str, y: np.ndarray) -> tuple[dict, np.ndarray | None]:
    """Parameters and sample weights of each kind of weighting."""
    rng = np.random.default_rng(7)
    n = len(y)
    if name == "sample":
        return {}, rng.uniform(0.2, 3.0, size=n)
    if name == "class":
        return {"class_weight": {int(k): 1.0 + 2.0 * k for k in np.unique(y)}}, None
    if name == "balanced":
        return {"class_weight": "balanced"}, None
    if name == "zeros":
        return {}, rng.choice([0.0, 1.0, 2.0], size=n)
    return {}, None


def own_matrix(model, X, Z=None) -> np.ndarray:
    """The fitted kernel of a model, written out again."""
    kernel = getattr(model, "kernel_", None)
    if kernel is None:
        numbers = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
        return kernel_matrix(model.kernel, X, Z, **numbers)
    name = {"RBF": "rbf", "Linear": "linear", "Polynomial": "poly", "Sigmoid": "sigmoid"}[
        type(kernel).__name__.removesuffix("Kernel")
    ]
    numbers = {k: getattr(kernel, k) for k in ("gamma", "coef0", "degree") if hasattr(kernel, k)}
    return kernel_matrix(name, X, Z, **numbers)


def pairs_of(model, n: int, y: np.ndarray):
    """The rows, signs, coefficients of all rows and intercept of each pair of classes.

    They are found from the layout of ``dual_coef_`` alone, which is LIBSVM's.
    """
    K, dual = len(model.classes_), model.dual_coef_
    dual = dual.toarray() if sp.issparse(dual) else dual
    codes = np.searchsorted(model.classes_, y)
    if K == 2:
        c = np.zeros(n)
        c[model.support_] = dual[0]
        yield np.arange(n), np.where(codes == 1, 1.0, -1.0), c, float(model.intercept_[0])
        return
    for pair, (i, j) in enumerate(itertools.combinations(range(K), 2)):
        c = np.zeros(n)
        for column, row in enumerate(model.support_):
            if codes[row] == i:
                c[row] = dual[j - 1, column]
            elif codes[row] == j:
                c[row] = dual[i, column]
        rows = np.flatnonzero((codes == i) | (codes == j))
        yield rows, np.where(codes[rows] == i, 1.0, -1.0), c[rows], float(model.intercept_[pair])


def factors(model, y, sample_weight) -> np.ndarray:
    """The factor of the loss of each row."""
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if model.class_weight == "balanced":
        used = s > 0
        _, codes = np.unique(y, return_inverse=True)
        return s * (used.sum() / (len(set(codes)) * np.bincount(codes[used])))[codes]
    if model.class_weight:
        return s * np.array([model.class_weight[int(k)] for k in y])
    return s


def objectives(model, X, y, sample_weight=None, matrix=None) -> list[float]:
    """The objective of each pair at the model's coefficients, in extended precision."""
    K = own_matrix(model, X) if matrix is None else matrix
    U = model.C * factors(model, y, sample_weight)
    return [
        float(primal(K[np.ix_(rows, rows)], signs, U[rows], c, b))
        for rows, signs, c, b in pairs_of(model, len(y), y)
    ]


def parts(model) -> tuple:
    return model.certificate_.parts or (model.certificate_,)


def same_function(left, right, grid, *, atol: float = 1e-4, other=None) -> None:
    """Check that two models have the same values, and the same predictions."""
    f, g = left.decision_function(grid), right.decision_function(grid if other is None else other)
    np.testing.assert_allclose(f, g, atol=atol, rtol=atol)


# --- against scikit-learn's, which is LIBSVM ---------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("weights", ["none", "sample", "class", "balanced", "zeros"])
@pytest.mark.parametrize(
    # LIBSVM takes long with a large C.
    "C",
    [1e-3, 0.1, 10.0, pytest.param(1e3, marks=pytest.mark.exhaustive)],
)
@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_optimum_as_libsvm(name: str, C: float, weights: str, classes: int) -> None:
    X, y = data(classes)
    options, sample_weight = weighting(weights, y)
    if weights == "balanced" and classes == 3:
        options = {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}
    settings = {**KERNELS[name], **options, "C": C}
    model = SVC(**settings, tol=1e-8).fit(X, y, sample_weight)
    used = np.ones(len(y), bool) if sample_weight is None else sample_weight > 0
    # LIBSVM's rows are in float32, which holds it up where coefficients are large; and the rows
    # that it calls support vectors are others where weights of zero are among them.
    other = LibSVC(**settings, tol=1e-7)
    other.fit(X[used], y[used], None if sample_weight is None else sample_weight[used])
    other.support_ = np.flatnonzero(used)[other.support_].astype(np.int32)
    close = {1e-3: 1e-6, 0.1: 1e-6, 10.0: 1e-4, 1e3: 2e-3}[C]
    assert model.certificate_.ok
    ours, theirs = (objectives(m, X, y, sample_weight) for m in (model, other))
    for own, peer, part in zip(ours, theirs, parts(model), strict=True):
        assert own == pytest.approx(part.primal, rel=1e-10)
        assert own == pytest.approx(peer, rel=close)
        # Never above by more than is certified, and no point is below the bound.
        assert own - part.gap <= peer * (1 + 1e-12)
        assert part.dual <= peer
    # Attributes are laid out alike.
    assert model.dual_coef_.shape == (classes - 1, len(model.support_))
    assert model.n_support_.sum() == len(model.support_)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    codes = np.searchsorted(model.classes_, y[model.support_])
    assert np.all(np.diff(codes) >= 0)
    np.testing.assert_array_equal(np.bincount(codes, minlength=classes), model.n_support_)
    for k in range(classes):
        assert np.all(np.diff(model.support_[codes == k]) > 0)
    if C > 100:
        # The slack of LIBSVM's point moves its function.
        return
    # The same support away from the margin, and the same functions.
    K = own_matrix(model, X)
    U = C * factors(model, y, sample_weight)
    grid = np.random.default_rng(1).normal(size=(500, 3)) * 1.5
    unique = True
    for (rows, signs, c, _), (_, _, c2, b2) in zip(
        pairs_of(model, len(y), y), pairs_of(other, len(y), y), strict=True
    ):
        own_K, upper = K[np.ix_(rows, rows)], U[rows]
        free = (np.abs(c2) > 1e-6 * upper) & (np.abs(c2) < (1 - 1e-6) * upper)
        unique &= bool(free.any())
        if not free.any():
            continue
        z = (signs * (own_K @ c2 + b2)).astype(float)
        used = upper > 0
        far = used & (np.abs(z - 1) > 1e-3)
        assert np.all(c[far & (z > 1)] == 0)
        np.testing.assert_allclose(np.abs(c[far & (z < 1)]), upper[far & (z < 1)], rtol=1e-12)
        assert np.all(c[~used] == 0)
        assert np.all(c * signs >= 0)
        assert np.all(np.abs(c) <= upper * (1 + 1e-15))
        assert abs(c.sum()) <= 1e-9 * np.abs(c).sum()
    if not unique:
        # Without a sample on the margin the intercept may be anything in an interval.
        return
    for shape in ("ovr", "ovo"):
        f = model.set_params(decision_function_shape=shape).decision_function(grid)
        g = other.set_params(decision_function_shape=shape).decision_function(grid)
        assert f.shape == g.shape
        if shape == "ovo" or classes == 2:
            clear = np.abs(g) > 1e-3 * np.maximum(1, np.abs(g).max())
            np.testing.assert_allclose(f, g, atol=1e-3 * max(1, np.abs(g).max()))
            clear = clear if clear.ndim == 1 else clear.all(axis=1)
    f = model.set_params(decision_function_shape="ovr").decision_function(grid)
    g = other.set_params(decision_function_shape="ovr", break_ties=True).decision_function(grid)
    np.testing.assert_allclose(f[clear], g[clear], atol=2e-3 * max(1, np.abs(g).max()))
    if classes > 2:
        top = np.sort(g, axis=1)
        clear &= top[:, -1] - top[:, -2] > 1e-3
    np.testing.assert_array_equal(model.predict(grid)[clear], other.predict(grid)[clear])
    assert clear.mean() > 0.7


@pytest.mark.parametrize("classes", [4, 5])
def test_many_classes(classes: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    y = np.array(["ab", "b", "c", "dd", "e"])[rng.integers(classes, size=100)]
    model = SVC(gamma=1.0, C=5.0, tol=1e-9).fit(X, y)
    other = LibSVC(gamma=1.0, C=5.0, tol=1e-10).fit(X, y)
    pairs = classes * (classes - 1) // 2
    assert len(model.certificate_.parts) == pairs
    assert model.certificate_.primal == pytest.approx(sum(objectives(model, X, y)), rel=1e-10)
    assert model.certificate_.primal == pytest.approx(sum(objectives(other, X, y)), rel=1e-6)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-4)
    for shape, width in (("ovo", pairs), ("ovr", classes)):
        for m in (model, other):
            m.set_params(decision_function_shape=shape)
        grid = rng.normal(size=(300, 2))
        assert model.decision_function(grid).shape == (300, width)
        if shape == "ovo":
            same_function(model, other, grid)
    # Predictions do not depend on the shape of the scores.
    by_ovr = model.predict(grid)
    np.testing.assert_array_equal(
        by_ovr, model.classes_[model.decision_function(grid).argmax(axis=1)]
    )
    np.testing.assert_array_equal(
        by_ovr, model.set_params(decision_function_shape="ovo").predict(grid)
    )


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_gamma_by_name(gamma, storage: str) -> None:
    X, y = data()
    X = X + 1.5
    X[X < 0.5] = 0.0
    held = sp.csr_array(X) if storage == "csr" else X
    model = SVC(gamma=gamma, tol=1e-10).fit(held, y)
    other = LibSVC(gamma=gamma, tol=1e-10).fit(X, y)
    assert model.kernel_.gamma == pytest.approx(other._gamma, rel=1e-12)
    same_function(model, other, X)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_linear_kernel_is_the_linear_machine(C: float, seed: int) -> None:
    X, y = data(seed=seed)
    kernel = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    linear = LinearSVC(loss="hinge", C=C, tol=1e-9).fit(X, y)
    one, two = kernel.certificate_, linear.certificate_
    assert max(one.dual, two.dual) <= min(one.primal, two.primal)
    assert one.primal == pytest.approx(two.primal, rel=2e-9)
    np.testing.assert_allclose(kernel.coef_, linear.coef_, atol=1e-4)
    np.testing.assert_allclose(
        kernel.coef_, kernel.dual_coef_ @ kernel.support_vectors_, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        kernel.decision_function(X), X @ kernel.coef_[0] + kernel.intercept_[0], atol=1e-12
    )
    by_lam = SVC(kernel="linear", lam=1 / (C * len(y)), tol=1e-9).fit(X, y)
    assert by_lam.certificate_.primal == pytest.approx(one.primal, rel=1e-8)


# --- the same data in other forms --------------------------------------------------------------


def int64_indices(X) -> sp.csr_array:
    out = sp.csr_array(X)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def read_only(X) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


STORAGES = {
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "int64 indices": int64_indices,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
    "fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "frame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.crossed
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("storage", [*STORAGES])
def test_storage_makes_no_difference(storage: str, name: str, classes: int) -> None:
    X, y = data(classes, n=60)
    X = X.astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.3] = 0.0
    dense = SVC(**KERNELS[name], C=3.0, tol=1e-10).fit(X, y)
    held = STORAGES[storage](X)
    model = SVC(**KERNELS[name], C=3.0, tol=1e-10).fit(held, y)
    same_function(dense, model, X, other=held)
    np.testing.assert_array_equal(dense.predict(X), model.predict(held))
    assert model.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(
        objectives(model, X, y), [p.primal for p in parts(model)], rtol=1e-10
    )


def test_a_memory_map(tmp_path) -> None:
    X, y = data()
    np.save(tmp_path / "x.npy", X)
    held = np.load(tmp_path / "x.npy", mmap_mode="r")
    same_function(SVC(tol=1e-10).fit(held, y), SVC(tol=1e-10).fit(X, y), held, atol=1e-12)


@pytest.mark.crossed
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("way", ["precomputed", "precomputed csr", "callable", "kernel object"])
def test_precomputed_and_called_equal_computed(way: str, name: str, classes: int) -> None:
    X, y = data(classes, n=60)
    grid = np.random.default_rng(5).normal(size=(70, 3))
    model = SVC(**KERNELS[name], C=3.0, tol=1e-10).fit(X, y)
    kernel = model.kernel_
    if way == "kernel object":
        other, held, new = SVC(kernel=kernel, C=3.0, tol=1e-10), X, grid
    elif way == "callable":
        other, held, new = SVC(kernel=lambda A, B: kernel(A, B), C=3.0, tol=1e-10), X, grid
    else:
        other, held, new = SVC(kernel="precomputed", C=3.0, tol=1e-10), kernel(X), kernel(grid, X)
        if way.endswith("csr"):
            held, new = sp.csr_array(held), sp.csr_array(new)
    other.fit(held, y)
    same_function(model, other, grid, other=new)
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(model.slack_, other.slack_, atol=1e-4)
    np.testing.assert_allclose(model.margin_, other.margin_, rtol=1e-4)
    if way.startswith("precomputed"):
        assert other.support_vectors_.shape == (len(other.support_), 0)


# --- weights, copies, order --------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", [*KERNELS])
def test_weights_are_copies_and_zero_is_absence(name: str, classes: int) -> None:
    X, y = data(classes, n=50)
    s = np.random.default_rng(2).integers(0, 4, size=50)
    grid = np.random.default_rng(3).normal(size=(100, 3))
    model = SVC(**KERNELS[name], tol=1e-10)
    weighted = clone(model).fit(X, y, s)
    copied = clone(model).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    removed = clone(model).fit(X[s > 0], y[s > 0], s[s > 0])
    for other in (copied, removed):
        assert other.certificate_.primal == pytest.approx(weighted.certificate_.primal, rel=1e-9)
        same_function(weighted, other, grid)
    assert not np.isin(weighted.support_, np.flatnonzero(s == 0)).any()
    assert np.isnan(np.asarray(weighted.slack_)[s == 0]).all()
    # A weight of zero may even stand for another class.
    extra = clone(model).fit(np.vstack([X, X[:3]]), [*y, *(y[:3] + 1) % 2], [*s, 0, 0, 0])
    same_function(weighted, extra, grid)


@pytest.mark.parametrize("classes", [2, 3])
def test_order_of_rows_and_of_classes(classes: int) -> None:
    X, y = data(classes)
    order = np.random.default_rng(0).permutation(len(y))
    grid = np.random.default_rng(3).normal(size=(100, 3))
    model = SVC(C=5.0, tol=1e-10, decision_function_shape="ovo").fit(X, y)
    shuffled = SVC(C=5.0, tol=1e-10, decision_function_shape="ovo").fit(X[order], y[order])
    same_function(model, shuffled, grid)
    np.testing.assert_allclose(
        np.asarray(model.slack_)[order], shuffled.slack_, atol=1e-4, equal_nan=True
    )
    turned = SVC(C=5.0, tol=1e-10, decision_function_shape="ovo").fit(X, -y)
    assert turned.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    f, g = model.decision_function(grid), turned.decision_function(grid)
    if classes == 2:
        np.testing.assert_allclose(f, -g, atol=1e-4)
    else:
        # Pairs (0, 1), (0, 2), (1, 2) become (-2, -1), (-2, 0), (-1, 0).
        np.testing.assert_allclose(f, -g[:, [2, 1, 0]], atol=1e-4)


# --- data at the edge --------------------------------------------------------------------------


def edge(name: str):
    X, y = data(n=30)
    if name == "duplicated rows":
        return np.repeat(X[:10], 3, axis=0), np.repeat(y[:10], 3)
    if name == "constant features":
        X[:, 1:] = [3.0, 0.0]
        return X, y
    if name == "all zeros":
        return np.zeros_like(X), y
    if name == "opposite labels":
        return np.vstack([X, X]), np.concatenate([y, 1 - y])
    if name == "some opposite labels":
        return np.vstack([X, X[:5]]), np.concatenate([y, 1 - y[:5]])
    if name == "one in a class":
        return X, (np.arange(30) == 4).astype(int)
    if name == "two rows":
        return X[:2], np.array([0, 1])
    if name == "one column":
        return X[:, :1], y
    if name == "offset":
        return X + 1e6, y
    if name == "an outlier":
        X[3] *= 1e3
        return X, y
    if name == "separable":
        return X, (X[:, 0] > 0).astype(int)
    raise KeyError(name)


EDGES = [
    "duplicated rows",
    "constant features",
    "all zeros",
    "opposite labels",
    "some opposite labels",
    "one in a class",
    "two rows",
    "one column",
    "an outlier",
    "separable",
]
NUMBERS = {
    "linear": {"kernel": "linear"},
    "rbf": {"gamma": 0.5},
    "gamma 0": {"gamma": 0},
    "gamma 1e-300": {"gamma": 1e-300},
    "gamma 1e6": {"gamma": 1e6},
    "gamma 1e300": {"gamma": 1e300},
    "poly, gamma 0": {"kernel": "poly", "gamma": 0.0, "coef0": 2.0},
    "cubic": {"kernel": "poly", "gamma": 0.5},
    "degree 10": {"kernel": "poly", "degree": 10, "gamma": 0.2, "coef0": 1.0},
}


@pytest.mark.crossed
@pytest.mark.parametrize("settings", [*NUMBERS])
@pytest.mark.parametrize("name", EDGES)
def test_data_and_numbers_at_the_edge(name: str, settings: str) -> None:
    X, y = edge(name)
    if name == "an outlier" and settings in ("degree 10", "cubic"):
        X = X / 1e3
    model = SVC(**NUMBERS[settings]).fit(X, y)
    other = LibSVC(**NUMBERS[settings], tol=1e-9).fit(X, y)
    certificate = model.certificate_
    assert certificate.ok
    assert certificate.dual <= objectives(other, X, y)[0] * (1 + 1e-12)
    assert objectives(model, X, y)[0] == pytest.approx(certificate.primal, rel=1e-9)
    assert set(model.predict(X)) <= set(y)
    assert model.kkt_violations().worst <= 0.2


def test_doubled_digits_where_they_decide(monkeypatch) -> None:
    asked = []
    plain = Gram.doubled_product

    def counted(self, *args):
        asked.append(len(args[0]))
        return plain(self, *args)

    monkeypatch.setattr(Gram, "doubled_product", counted)
    X, y = data(n=400)
    for tol, looks in ((1e-8, False), (1e-12, True)):
        asked.clear()
        model = SVC(C=10.0, gamma=0.5, tol=tol).fit(X, y)
        certificate = model.certificate_
        assert bool(asked) == looks
        assert certificate.ok
        # Whatever rounding is charged, the objective lies between the two bounds.
        (own,) = objectives(model, X, y)
        assert certificate.dual <= own <= certificate.primal
        assert certificate.primal <= own * (1.0 + tol)


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_an_offset_loses_nothing(name: str) -> None:
    # The problem with an unpenalised intercept does not change under a translation.
    X, y = data(n=60)
    X = np.round(X * 2**20) / 2**20
    near = SVC(**KERNELS[name]).fit(X, y)
    far = SVC(**KERNELS[name]).fit(X + 2.0**20, y)
    assert far.certificate_.ok
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    assert far.certificate_.dual <= near.certificate_.primal
    assert near.certificate_.dual <= far.certificate_.primal * (1 + 1e-9)
    same_function(near, far, X, other=X + 2.0**20, atol=0.02)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-10, 1e10, 1e100, 1e150])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_scales(name: str, scale: float) -> None:
    X, y = data(n=40)
    if name == "rbf":
        # gamma="scale" undoes the scale.
        one, two = SVC().fit(X, y), SVC().fit(X * scale, y)
    else:
        # A C that goes with it does too.
        one = SVC(kernel="linear").fit(X, y)
        C = np.divide(1.0, scale * scale)
        two = SVC(kernel="linear", C=C).fit(X * scale, y)
        assert two.certificate_.primal * scale**2 == pytest.approx(
            one.certificate_.primal, rel=1e-5
        )
    assert two.certificate_.ok
    np.testing.assert_array_equal(one.predict(X), two.predict(X * scale))


@early
@pytest.mark.parametrize("C", [1e10, 1e100])
@pytest.mark.parametrize("settings", [{"kernel": "linear"}, {"gamma": 0.4}], ids=str)
def test_a_huge_C_ends_soon_and_says_how_far_it_came(C: float, settings: dict) -> None:
    X, y = data(n=30)
    model = SVC(**settings, C=C, max_iter=500).fit(X, y)
    certificate = model.certificate_
    assert certificate.dual <= certificate.primal
    assert np.isfinite(certificate.primal)
    # Rows that cannot all be right bound the objective from below.
    if settings.get("kernel") == "linear":
        assert certificate.dual <= LinearSVC(loss="hinge", C=C).fit(X, y).certificate_.primal


TOO_LARGE = {
    "poly, large gamma": ({"kernel": "poly", "gamma": 1e300}, 1.0),
    "poly, larger gamma": ({"kernel": "poly", "gamma": 1e308}, 1.0),
    "degree 10": ({"kernel": "poly", "degree": 10, "gamma": 1.0}, 1e40),
    "cubic": ({"kernel": "poly", "gamma": 1.0}, 1e150),
    "squares": ({"kernel": "linear"}, 1e200),
}


@pytest.mark.parametrize("name", [*TOO_LARGE])
def test_what_is_beyond_floats_is_said_in_one_sentence(name: str) -> None:
    settings, scale = TOO_LARGE[name]
    X, y = data(n=20)
    with pytest.raises(ValueError, match="beyond the range of floats"):
        SVC(**settings).fit(X * scale, y)


# --- the hard margin ---------------------------------------------------------------------------


def test_the_hard_margin_of_the_linear_kernel() -> None:
    X, _ = data(n=60)
    y = (X @ [1.0, -0.5, 0.2] > 0).astype(int)
    kernel = SVC(kernel="linear", C=np.inf).fit(X, y)
    linear = LinearSVC(C=np.inf).fit(X, y)
    one, two = kernel.certificate_, linear.certificate_
    assert one.ok
    assert max(one.dual, two.dual) <= min(one.primal, two.primal)
    np.testing.assert_allclose(kernel.coef_, linear.coef_, rtol=1e-2, atol=1e-2)
    assert kernel.margin_[0] == pytest.approx(1 / np.linalg.norm(kernel.coef_), rel=1e-9)
    assert np.all(kernel.slack_ <= 1e-9)
    assert kernel.score(X, y) == 1.0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_the_hard_margin_is_the_limit_of_large_C(name: str, classes: int) -> None:
    X, y = data(classes, n=40)
    settings = KERNELS[name] if name == "rbf" else {**KERNELS["poly"], "degree": 8}
    hard = SVC(**settings, C=np.inf, tol=1e-7).fit(X, y)
    most = max(float(np.abs(c).max()) for _, _, c, _ in pairs_of(hard, len(y), y))
    soft = SVC(**settings, C=10 * most, tol=1e-7).fit(X, y)
    assert hard.certificate_.ok
    for one, two in zip(parts(hard), parts(soft), strict=True):
        assert max(one.dual, two.dual) <= min(one.primal, two.primal) * (1 + 1e-12)
    assert hard.certificate_.primal == pytest.approx(soft.certificate_.primal, rel=1e-6)
    K = own_matrix(hard, X)
    for k, (rows, signs, c, b) in enumerate(pairs_of(hard, len(y), y)):
        value = hard_primal(K[np.ix_(rows, rows)], signs, np.ones(len(rows), dtype=bool), c, b)
        assert float(value) == pytest.approx(parts(hard)[k].primal, rel=1e-6)
        assert hard.margin_[k] == pytest.approx(float(1 / np.sqrt(2 * value)), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ({"kernel": "linear"}, "overlap"),
        ({"gamma": 0.5}, "contradiction"),
        ({"kernel": "poly", "degree": 2}, "contradiction"),
        ({"gamma": 0.0}, "overlap"),
        ({"kernel": "precomputed"}, "contradiction"),
    ],
    ids=str,
)
def test_what_cannot_be_separated_is_refused(settings: dict, rows: str) -> None:
    X, y = data(n=30)
    if rows == "contradiction":
        X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    held = (
        X @ X.T if settings["kernel" if "kernel" in settings else "gamma"] == "precomputed" else X
    )
    with pytest.raises(NotSeparableError, match="give a finite C") as caught:
        SVC(**settings, C=np.inf).fit(held, y)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    if settings.get("kernel") == "linear":
        assert caught.value.witness is not None
    with pytest.raises(NotSeparableError):
        SVC(**settings, lam=0).fit(held, y)


def test_the_refused_pair_is_named() -> None:
    X, y = data(3, n=24)
    X[np.flatnonzero(y == 0)[0]] = X[np.flatnonzero(y == 1)[0]]
    with pytest.raises(NotSeparableError, match="separates 0 from 1"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    # The error names the classes themselves, whatever they are called.
    named = np.array(["home vs away", "none", "other"])[y]
    with pytest.raises(NotSeparableError, match="separates home vs away from none"):
        SVC(kernel="linear", C=np.inf).fit(X, named)


# --- kernels that are no scalar products -------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("way", ["sigmoid", "callable", "precomputed", "negative coef0"])
def test_an_indefinite_kernel_is_told_and_ends_stationary(way: str, classes: int, C: float) -> None:
    X, y = data(classes)
    settings: dict = dict(SIGMOID)
    held = X
    if way == "callable":
        settings = {"kernel": lambda A, B: np.tanh(0.2 * (A @ B.T) - 0.5)}
    elif way == "precomputed":
        settings, held = {"kernel": "precomputed"}, np.tanh(0.2 * (X @ X.T) - 0.5)
    elif way == "negative coef0":
        settings = {"kernel": "poly", "degree": 2, "coef0": -1.0, "gamma": 0.5}
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = SVC(**settings, C=C).fit(held, y)
    certificate = model.certificate_
    assert certificate.status == "indefinite"
    assert not certificate.ok
    assert certificate.dual == -np.inf
    assert certificate.relative_gap == np.inf
    assert "no lower bound" in str(certificate)
    found = model.kkt_violations()
    for conditions in [found] if classes == 2 else found:
        assert conditions.worst <= 1e-2
    # LIBSVM's point is stationary as well; another one may be as good.
    if way == "sigmoid":
        other = LibSVC(**SIGMOID, C=C, tol=1e-10).fit(X, y)
        assert model.score(X, y) == pytest.approx(other.score(X, y), abs=0.15)


def test_a_sigmoid_that_is_a_scalar_product_has_a_bound() -> None:
    X, y = data()
    model = SVC(kernel="sigmoid", gamma=1e-9, C=1e9).fit(X, y)
    assert model.certificate_.ok
    linear = SVC(kernel="linear").fit(X, y)
    assert model.certificate_.primal / 1e9 == pytest.approx(linear.certificate_.primal, rel=1e-5)
    # A called kernel and a matrix have a bound as well.
    for kernel, held in ((lambda A, B: A @ B.T, X), ("precomputed", X @ X.T)):
        assert SVC(kernel=kernel).fit(held, y).certificate_.ok


# --- interruption, limits ----------------------------------------------------------------------


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [10.0, np.inf])
@pytest.mark.signals
def test_interrupted(C: float, classes: int) -> None:
    X, y = data(classes, n=300)
    pressed: list[str] = []

    def press(progress) -> None:
        if progress.iteration >= 1 and not pressed:
            pressed.append(progress.part)
            timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            timer.join()

    # A small budget for rows makes for small steps.
    model = SVC(C=C, gamma=10.0, tol=1e-12, cache_mb=0.01)
    with watch(press), pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert pressed
    check_is_fitted(model)
    certificate = model.certificate_
    assert certificate.status == "interrupted"
    assert str(caught.value) == str(certificate)
    assert certificate.dual <= certificate.primal
    assert certificate.gap > 0
    assert set(model.predict(X)) <= set(range(classes))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if np.isfinite(C):
        np.testing.assert_allclose(
            objectives(model, X, y), [p.primal for p in parts(model)], rtol=1e-9
        )


@pytest.mark.parametrize("settings", [{"time_limit": 1e-9}, {"max_iter": 1}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_limit_returns_the_best_so_far(classes: int, settings: dict) -> None:
    X, y = data(classes, n=300)
    status = next(iter(settings))
    with pytest.warns(ConvergenceWarning, match=status):
        model = SVC(C=100.0, tol=1e-12, cache_mb=0.01, **settings).fit(X, y)
    certificate = model.certificate_
    assert certificate.status == status
    assert 0 < certificate.gap < np.inf
    np.testing.assert_allclose(objectives(model, X, y), [p.primal for p in parts(model)], rtol=1e-9)
    optimum = SVC(C=100.0).fit(X, y).certificate_
    assert certificate.dual <= optimum.primal
    assert certificate.primal >= optimum.dual
    assert model.predict(X).shape == y.shape


@early
@pytest.mark.parametrize("tol", [1e-12, 1e-15, 1e-300])
@pytest.mark.parametrize("name", [*KERNELS])
def test_a_tolerance_beyond_reach_ends_all_the_same(name: str, tol: float) -> None:
    X, y = data(n=50)
    model = SVC(**KERNELS[name], tol=tol).fit(X, y)
    assert model.certificate_.status in ("optimal", "precision_limit")
    assert model.certificate_.relative_gap < 1e-10


# --- what is recorded, and what is reported of it ----------------------------------------------


@early
@pytest.mark.parametrize("settings", [{}, {"C": np.inf, "gamma": 5.0}, SIGMOID], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_trace(classes: int, settings: dict) -> None:
    X, y = data(classes, n=120)
    model = SVC(**settings, record=True, cache_mb=0.02).fit(X, y)
    traces = (model.trace_,) if classes == 2 else model.trace_
    assert len(traces) == len(parts(model))
    pairs = pairs_of(model, len(y), y)
    for trace, part, (_, _, c, _) in zip(traces, parts(model), pairs, strict=True):
        assert len(trace) > 1
        for column in (trace.seconds, trace.primal, trace.dual, trace.n_support, trace.n_bounded):
            assert len(column) == len(trace)
        assert np.all(np.array(trace.dual[1:]) >= np.array(trace.dual[:-1]))
        assert np.all(np.diff(trace.seconds) >= 0)
        assert np.all(np.diff(trace.iterations) > 0)
        # With a hard margin the returned point is a multiple of the one on the way.
        assert min(trace.primal) == pytest.approx(part.primal, rel=1e-12)
        assert max(trace.dual) == pytest.approx(part.dual, rel=1e-12)
        assert all(p >= part.dual for p in trace.primal)
        assert trace.n_support[0] == 0
        if trace.primal[-1] == part.primal:
            assert trace.n_support[-1] == np.count_nonzero(c)
            if np.isfinite(model.C):
                assert trace.n_bounded[-1] == np.sum(np.abs(c) == model.C)
        if not np.isfinite(model.C):
            assert not any(trace.n_bounded)
    assert not hasattr(SVC().fit(X, y), "trace_")
    # A second fit without a record leaves none behind.
    assert not hasattr(model.set_params(record=False).fit(X, y), "trace_")


@early
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("settings", [{"C": 3.0}, {"C": np.inf, "gamma": 5.0}, SIGMOID], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_complementary_slackness_by_brute_force(classes: int, settings: dict, weights: str) -> None:
    X, y = data(classes)
    options, s = weighting(weights, y)
    model = SVC(**settings, **options, tol=1e-9).fit(X, y, s)
    found = model.kkt_violations()
    again = model.kkt_violations(X, y, s)
    if classes == 2:
        found, again = (found,), (again,)
    K = own_matrix(model, X).astype(float)
    s = np.ones(len(y)) if s is None else s
    slack = np.asarray(model.slack_).reshape(len(y), -1)
    names = ("margin", "multiplier", "upper", "side", "violation", "gap")
    for k, (rows, signs, c, b) in enumerate(pairs_of(model, len(y), y)):
        conditions = found[k]
        used = s[rows] > 0
        z = signs * (K[np.ix_(rows, rows)] @ c + b)
        outside = np.ones(len(y), dtype=bool)
        outside[rows[used]] = False
        assert np.isnan(conditions.margin[outside]).all()
        assert np.isnan(slack[outside, k]).all()
        assert set(conditions.side[outside]) <= {""}
        rows, z, c, signs = rows[used], z[used], c[used], signs[used]
        np.testing.assert_allclose(conditions.margin[rows], z, atol=1e-7)
        np.testing.assert_allclose(slack[rows, k], np.maximum(0, 1 - z), atol=1e-7)
        np.testing.assert_allclose(conditions.multiplier[rows], c * signs, rtol=1e-9)
        for row, margin, alpha in zip(rows, z, c * signs, strict=True):
            side = conditions.side[row]
            top = model.C * s[row]
            if abs(margin - 1) < 0.9e-3:
                assert side == "on"
            elif abs(margin - 1) > 1.1e-3 and abs(margin) > 1e-7:
                assert side == ("outside" if margin > 1 else "inside" if margin > 0 else "wrong")
                assert alpha == (0 if margin > 1 else top)
            if alpha == 0:
                wrong = max(0, 1 - margin)
            elif alpha >= top:
                wrong = max(0, margin - 1)
            else:
                wrong = abs(1 - margin)
            assert conditions.violation[row] == pytest.approx(wrong, abs=1e-7)
        assert conditions.worst <= 1e-3
        assert sum(conditions.counts().values()) == len(rows)
        if np.isfinite(model.C):
            assert np.nansum(conditions.gap) == pytest.approx(
                parts(model)[k].gap, abs=1e-8 * parts(model)[k].primal
            ) or not np.isfinite(parts(model)[k].gap)
        w = np.sqrt(c @ K[np.ix_(rows, rows)] @ c)
        assert model.margin_[k] == pytest.approx(1 / w, rel=1e-7)
        for name in names[:3]:
            np.testing.assert_allclose(
                getattr(again[k], name), getattr(conditions, name), atol=1e-7, equal_nan=True
            )
        np.testing.assert_array_equal(again[k].side, conditions.side)
        assert "complementary slackness" in str(conditions)


# --- the budget, measured ----------------------------------------------------------------------

MEASURED = """
import os, sys
import numpy as np
from separatrix import SVC

def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
for case in sys.argv[1:]:
    kernel, n, d, cache_mb, storage = case.split()
    n, d, cache_mb = int(n), int(d), float(cache_mb)
    small = rng.normal(size=(50, d))
    labels = (small[:, 0] > 0).astype(int)
    SVC(kernel=kernel, cache_mb=0.1).fit(small, labels).predict(small)
    X = rng.normal(size=(n, d))
    # Classes that are easily told apart: what is measured does not depend on the steps.
    X[:, 0] *= 3.0 * np.sqrt(d)
    if storage == "float32":
        X = X.astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    before = peak()
    model = SVC(kernel=kernel, cache_mb=cache_mb, tol=1e-2).fit(X, y)
    print(peak() - before, model.certificate_.ok)
"""


def measured(*cases: str) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *cases],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the peak from /proc")
@pytest.mark.parametrize(
    "cases",
    [
        # The rows of the second case take more than what the first one leaves of the peak.
        ["rbf 4000 20 5.0 float64", "rbf 2000 2000 2.0 float32"],
        pytest.param(["rbf 6000 20 40.0 float64"], marks=pytest.mark.exhaustive),
        pytest.param(["linear 1000 2000 1.0 float64"], marks=pytest.mark.exhaustive),
    ],
    ids="+".join,
)
def test_peak_memory(cases: list[str]) -> None:
    for case, (grown, ok) in zip(cases, measured(*cases), strict=True):
        _, n, d, cache_mb, _ = case.split()
        assert ok == "True", case
        # The cache, a copy of X in float32, the vectors, and blocks of a few megabytes.
        stated = float(cache_mb) * 1e6 + 4 * int(n) * int(d) + 400 * int(n)
        assert int(grown) <= stated + 32e6, case


@pytest.mark.parametrize("cache_mb", [1e-9, 1e-3, 0.02])
@pytest.mark.parametrize("name", [*KERNELS])
def test_a_budget_for_next_to_nothing_still_solves(name: str, cache_mb: float) -> None:
    X, y = data(3, n=100)
    model = SVC(**KERNELS[name], cache_mb=cache_mb).fit(X, y)
    roomy = SVC(**KERNELS[name]).fit(X, y)
    assert model.certificate_.ok
    for one, two in zip(parts(model), parts(roomy), strict=True):
        assert max(one.dual, two.dual) <= min(one.primal, two.primal)


# --- one matrix for many fits ------------------------------------------------------------------


def test_a_shared_matrix_gives_the_same_models_and_is_computed_once(monkeypatch) -> None:
    X, y = data(3, n=120)
    grams: list[Gram] = []
    build = Gram.__init__

    def spied(self, *args, **kwargs):
        build(self, *args, **kwargs)
        grams.append(self)

    monkeypatch.setattr(Gram, "__init__", spied)
    search = GridSearchCV(
        SVC(gamma=0.5, decision_function_shape="ovo"), {"C": [0.1, 1.0, 10.0]}, cv=4
    )
    alone = clone(search).fit(X, y)
    assert len(grams) == 13
    grams.clear()
    with share_gram(X):
        shared = clone(search).fit(X, y)
        # The same rows in another order, in another kernel, and rows that are not there.
        other = SVC(kernel="linear").fit(X[::-1], y[::-1])
        SVC(gamma=0.5).fit(X + 1.0, y)
    assert len(grams) == 3
    assert [g.computed for g in grams[:2]] == [120, 120]
    np.testing.assert_allclose(
        alone.cv_results_["mean_test_score"], shared.cv_results_["mean_test_score"]
    )
    same_function(alone.best_estimator_, shared.best_estimator_, X, atol=0.02)
    np.testing.assert_array_equal(alone.best_estimator_.support_, shared.best_estimator_.support_)
    assert other.certificate_.primal == pytest.approx(
        SVC(kernel="linear").fit(X, y).certificate_.primal, rel=2e-6
    )
    # Outside the block nothing is shared.
    grams.clear()
    SVC(gamma=0.5).fit(X, y)
    assert len(grams) == 1


@pytest.mark.parametrize("storage", [sp.csr_array, np.asfortranarray, np.float32])
def test_sharing_other_storage(storage) -> None:
    X, y = data(n=60)
    held = storage(X)
    with share_gram(held):
        model = SVC(gamma=0.5, tol=1e-9).fit(held[:40], y[:40])
    same_function(model, SVC(gamma=0.5, tol=1e-9).fit(held[:40], y[:40]), held)


def test_sharing_rows_that_repeat() -> None:
    X, y = data(n=40)
    X, y = np.repeat(X, 2, axis=0), np.concatenate([y, 1 - y])
    with share_gram(X[:60]):
        model = SVC(gamma=0.5, tol=1e-9).fit(X[10:50], y[10:50])
    same_function(model, SVC(gamma=0.5, tol=1e-9).fit(X[10:50], y[10:50]), X)


# --- the same every time -----------------------------------------------------------------------


def test_threads_change_nothing_beyond_the_certificate() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    bounds = []
    for number in (1, 2):
        with (
            threadpool_limits(number, user_api="blas"),
            threads(number),
            pool.tuned(pool.Tuning(parallel_work=0)),
        ):
            certificate = SVC(C=10.0, gamma=0.02, tol=1e-9).fit(X, y).certificate_
            bounds.append((certificate.primal, certificate.dual))
    (p1, d1), (p2, d2) = bounds
    assert max(d1, d2) <= min(p1, p2)
    assert p1 == pytest.approx(p2, rel=1e-9)


@pytest.mark.parametrize("settings", [{}, {"C": np.inf, "gamma": 5.0}, {"kernel": "linear"}])
def test_two_fits_are_the_same(settings: dict) -> None:
    X, y = data(2, n=300)
    if settings.get("kernel") == "linear":
        settings = {**settings, "C": 0.1}
    one, two = SVC(**settings).fit(X, y), SVC(**settings).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert one.certificate_.dual == two.certificate_.dual


# --- approximations ----------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("classes", [2, 3])
def test_nystroem_with_all_rows_is_the_exact_problem(classes: int, name: str) -> None:
    X, y = data(classes)
    exact = SVC(**KERNELS[name], tol=1e-9).fit(X, y)
    model = SVC(**KERNELS[name], tol=1e-9, approximation="nystroem", n_components=500).fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-6)
    assert model.exact_primal_ == pytest.approx(exact.certificate_.primal, rel=1e-6)
    assert model.exact_primal_ >= exact.certificate_.dual
    assert model.exact_dual_ == pytest.approx(exact.certificate_.dual, rel=1e-6)
    same_function(exact, model, X, atol=1e-3)
    assert not hasattr(model, "support_")
    # A later exact fit leaves nothing of the approximation behind.
    model.set_params(approximation=None).fit(X, y)
    assert not hasattr(model, "exact_primal_")
    assert not hasattr(model, "lift_")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", ["none", "zeros"])
def test_what_an_approximation_costs(classes: int, weights: str) -> None:
    X, y = data(classes, n=150)
    _, s = weighting(weights, y)
    exact = SVC(gamma=0.8).fit(X, y, s)
    model = SVC(gamma=0.8, approximation="nystroem", n_components=15, random_state=0).fit(X, y, s)
    assert model.exact_primal_ >= exact.certificate_.dual
    # A bound of the true problem, and not only of the approximate one, which is no bound of it.
    assert 0.0 < model.exact_dual_ <= exact.certificate_.primal
    assert model.certificate_.dual > exact.certificate_.primal
    # With many rows the bound is looser, from what the landmarks leave unexplained.
    with objective.tuned(objective.Tuning(affordable=0.0)):
        loose = clone(model).fit(X, y, s).exact_dual_
    assert loose <= model.exact_dual_ * (1 + 1e-12)
    assert "about" in model.objective_formula_
    # The function is one of the kernel's space: f = sum_j beta_j k(l_j, .) + b.
    landmarks = np.asarray(model.lift_.landmark_points_)
    L = kernel_matrix("rbf", landmarks, gamma=0.8).astype(float)
    total = 0.0
    codes = np.searchsorted(model.classes_, y)
    s = np.ones(len(y)) if s is None else s
    ovo = model.set_params(decision_function_shape="ovo").decision_function(X)
    for k, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        f = ovo if classes == 2 else ovo[:, k]
        positive, negative = (j, i) if classes == 2 else (i, j)
        rows = (codes == i) | (codes == j)
        signs = np.where(codes[rows] == positive, 1.0, -1.0)
        assert negative in codes
        # beta from the values at the landmarks themselves.
        values = model.decision_function(landmarks)
        values = (values if classes == 2 else values[:, k]) - model.intercept_[k]
        beta = np.linalg.lstsq(L, values, rcond=1e-12)[0]
        total += 0.5 * beta @ L @ beta
        total += s[rows] @ np.maximum(0, 1 - signs * f[rows])
    assert model.exact_primal_ == pytest.approx(total, rel=1e-6)
    # The lift reproduces the kernel between the landmarks, so the norm is the same.
    assert model.certificate_.primal == pytest.approx(model.exact_primal_, rel=1e-6)


def test_more_landmarks_cost_less_and_the_seed_decides() -> None:
    X, y = data(n=200)
    costs = []
    for m in (2, 10, 50, 200):
        model = SVC(gamma=1.0, approximation="nystroem", n_components=m, random_state=3).fit(X, y)
        again = SVC(gamma=1.0, approximation="nystroem", n_components=m, random_state=3).fit(X, y)
        np.testing.assert_array_equal(model.coef_, again.coef_)
        costs.append(model.exact_primal_)
    assert costs[0] > costs[-1]
    assert costs[-1] == pytest.approx(SVC(gamma=1.0).fit(X, y).certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_fourier(classes: int) -> None:
    X, y = data(classes, n=200)
    settings = {"gamma": 0.3, "approximation": "fourier", "n_components": 600}
    model = SVC(**settings, random_state=0).fit(X, y)
    again = SVC(**settings, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    exact = SVC(gamma=0.3).fit(X, y)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=0.1)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.93
    assert not hasattr(model, "exact_primal_")
    sparse = SVC(**settings, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(X), model.decision_function(X), atol=1e-2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"approximation": "fourier", "kernel": "poly"}, "kernel='rbf'"),
        ({"approximation": "nystroem", "kernel": "precomputed"}, "no points"),
        ({"approximation": "nystroem", "C": np.inf}, "finite C"),
        ({"approximation": "other"}, "approximation"),
        ({"n_components": 0}, "n_components"),
        ({"kernel": "other"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "other"}, "gamma"),
        ({"gamma": np.nan}, "gamma"),
        ({"gamma": np.inf}, "gamma"),
        ({"coef0": np.inf}, "coef0"),
        ({"degree": 0}, "degree"),
        ({"degree": 2.5}, "degree"),
        ({"C": 0.0}, "C"),
        ({"C": -1.0}, "C"),
        ({"C": 2.0, "lam": 0.1}, "not both"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": -2}, "max_iter"),
        ({"cache_mb": 0.0}, "cache_mb"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"calibrate": "other"}, "calibrate"),
        ({"decision_function_shape": "other"}, "decision_function_shape"),
    ],
    ids=str,
)
def test_bad_parameters(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVC(**settings).fit(np.eye(4), [0, 1, 0, 1])


RETURNED = {
    "a vector": lambda A, B: np.ones(len(A)),
    "another shape": lambda A, B: np.ones((len(A) + 1, len(B))),
    "NaN": lambda A, B: np.full((len(A), len(B)), np.nan),
    "infinity": lambda A, B: np.full((len(A), len(B)), np.inf),
    "None": lambda A, B: None,
    "text": lambda A, B: np.full((len(A), len(B)), "a"),
    "complex": lambda A, B: np.full((len(A), len(B)), 1j),
}


@pytest.mark.parametrize("name", [*RETURNED])
def test_what_a_called_kernel_may_not_return(name: str) -> None:
    X, y = data(n=20)
    with pytest.raises(ValueError, match="The kernel .* (returned|must return)"):
        SVC(kernel=RETURNED[name]).fit(X, y)


def test_precomputed_must_be_square_and_symmetric() -> None:
    X, y = data(n=20)
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X @ X[:5].T)


# --- probabilities -----------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("way", ["rbf", "precomputed", "nystroem", "hard", "csr", "callable"])
def test_probabilities_keep_their_promises(method: str, classes: int, way: str) -> None:
    X, y = data(classes, n=60)
    settings: dict = {"gamma": 0.5, "calibrate": method}
    held = X
    if way == "precomputed":
        settings["kernel"], held = "precomputed", RBFKernel(0.5)(X)
    elif way == "nystroem":
        settings.update(approximation="nystroem", n_components=20, random_state=0)
    elif way == "hard":
        settings.update(C=np.inf, gamma=5.0)
    elif way == "csr":
        held = sp.csr_array(X)
    elif way == "callable":
        settings["kernel"] = RBFKernel(0.5).__call__
    model = SVC(**settings).fit(held, y)
    proba = model.predict_proba(held)
    assert proba.shape == (60, classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(held))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(held)), proba)
    again = clone(model).fit(held, y)
    np.testing.assert_array_equal(again.predict_proba(held), proba)
    assert model.calibration_["folds"] == 5
    ovo = clone(model).set_params(decision_function_shape="ovo").fit(held, y)
    np.testing.assert_array_equal(ovo.predict_proba(held), proba)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_folds_share_the_matrix(classes: int, monkeypatch) -> None:
    X, y = data(classes, n=90)
    grams: list[Gram] = []
    build = Gram.__init__

    def spied(self, *args, **kwargs):
        build(self, *args, **kwargs)
        grams.append(self)

    monkeypatch.setattr(Gram, "__init__", spied)
    model = SVC(gamma=0.5, C=2.0, calibrate="sigmoid", tol=1e-10).fit(X, y)
    assert len(grams) == 1
    assert grams[0].computed <= 90 or grams[0].exact
    # The result is as if each fold had been fitted alone.
    monkeypatch.undo()
    by_hand = SVC(gamma=0.5, C=2.0, calibrate="sigmoid", tol=1e-10)
    monkeypatch.setattr(
        SVC, "_cross_fitted_scores", super(SVC, by_hand)._cross_fitted_scores.__func__
    )
    by_hand.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X), atol=1e-4)


def test_calibration_within_a_time_limit_and_without_one() -> None:
    X, y = data(n=300)
    with pytest.warns(ConvergenceWarning) as caught:
        model = SVC(calibrate="sigmoid", time_limit=1e-9, tol=1e-12).fit(X, y)
    assert any("folds" in str(w.message) for w in caught)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    plain = SVC().fit(X, y)
    assert not hasattr(plain, "predict_proba")
    with pytest.raises(NotFittedError):
        plain.set_params(calibrate="sigmoid").predict_proba(X)


# --- in scikit-learn's company -----------------------------------------------------------------


def test_copies_of_a_model() -> None:
    X, y = data(3)
    model = SVC(C=2.0, calibrate="isotonic").fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(model, 2))):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.certificate_ == model.certificate_
    # The matrix of the fit is not carried along.
    assert len(pickle.dumps(SVC().fit(*data(n=1000)))) < 400_000
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "classes_")


def test_in_pipelines_and_searches() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [1e-3, 1.0], "svc__gamma": ["scale", 0.01]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.96
    assert search.best_params_["svc__C"] == 1.0
    assert cross_val_score(pipeline, X, y, cv=3, scoring="roc_auc").min() > 0.98
    # A precomputed kernel is cut along both its axes.
    K = RBFKernel(0.02)(StandardScaler().fit_transform(X))
    assert cross_val_score(SVC(kernel="precomputed"), K, y, cv=3).min() > 0.95


def test_names_of_columns() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SVC(kernel=PolynomialKernel(degree=2, gamma=0.1, coef0=1.0)).fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    assert "phi(x).phi(z) = (0.1 x.z + 1)^2" in model.objective_formula_


def test_a_refit_forgets_the_last_one() -> None:
    X, y = data(3)
    model = SVC(kernel="linear", calibrate="sigmoid", record=True).fit(X, y)
    assert hasattr(model, "coef_")
    model.set_params(kernel="rbf", calibrate=None, record=False).fit(X[:, :2], y)
    for name in ("coef_", "calibration_", "trace_"):
        assert not hasattr(model, name)
    assert model.n_features_in_ == 2
    assert model.kkt_violations()[0].margin.shape == (80,)


def test_a_verbose_fit_speaks_to_stderr_alone(capsys) -> None:
    X, y = data(3)
    SVC(verbose=1).fit(X, y)
    told = capsys.readouterr()
    assert told.out == ""
    assert "1 vs 2" in told.err


def test_X_is_left_alone() -> None:
    X, y = data(3)
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(calibrate="sigmoid").fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)


def test_true_and_false_of_numpy_choose_probabilities() -> None:
    for given in (True, False):
        assert hasattr(SVC(probability=np.bool_(given)), "predict_proba") is given
