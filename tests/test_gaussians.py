"""Gaussians: factors, densities, shrinkage and certificates against independent computations."""

from __future__ import annotations

import re
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import kstest, multivariate_normal
from sklearn.covariance import ledoit_wolf as sklearn_ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA
from sklearn.preprocessing import StandardScaler

from separatrix._compiled import blas
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form import gaussian
from separatrix.closed_form.gaussian import (
    Cholesky,
    Gaussians,
    Names,
    certify_gaussian,
    estimate,
    ledoit_wolf,
    require_memory,
)
from separatrix.data.design import as_design
from separatrix.data.moments import Moments
from separatrix.exceptions import DataError


def positive(d: int, seed: int = 0) -> np.ndarray:
    Z = np.random.default_rng(seed).normal(size=(d + 3, d))
    return Z.T @ Z / d


# --- factors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7, 64, 65, 150])
def test_factor(d: int) -> None:
    S = positive(d)
    factor = Cholesky.of(S, certify=True)
    L = factor.lower / factor.scale[:, None]
    np.testing.assert_allclose(L @ L.T, S, rtol=1e-11, atol=1e-12)
    assert not np.triu(factor.lower, 1).any()
    np.testing.assert_allclose(factor.log_determinant, np.linalg.slogdet(S)[1], rtol=1e-11)
    right = np.random.default_rng(1).normal(size=(d, 3))
    np.testing.assert_allclose(S @ factor.solve(right), right, atol=1e-8)
    np.testing.assert_allclose(factor.inverse() @ S, np.eye(d), atol=1e-8)
    R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    exact = np.linalg.cond(R, 1)
    assert 0.3 * exact <= factor.condition <= 1.0000001 * exact
    assert factor.residual <= 1e-15
    rows = right.T * factor.scale
    np.testing.assert_allclose(factor.whiten(rows.copy()) @ L.T, right.T, atol=1e-8)


def test_the_residual_of_a_wrong_factor_shows() -> None:
    S = positive(300)
    R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    factor = Cholesky.of(S)
    norm = np.abs(R).sum(axis=0).max()
    for i, j in [(0, 0), (299, 3), (299, 299), (280, 260), (10, 2)]:
        wrong = factor.lower.copy()
        wrong[i, j] += 1e-6
        true = np.abs(wrong @ wrong.T - R).sum(axis=1).max() / norm
        found = gaussian._product_residual(replace(factor, lower=wrong), S)
        assert found == pytest.approx(true, rel=1e-6)
    assert np.isnan(factor.residual)


@pytest.mark.parametrize("d", [1, 3, 70])
def test_a_factor_without_the_routines_of_scipy(d: int, monkeypatch) -> None:
    S = positive(d)
    plain = Cholesky.of(S, certify=True)
    assert blas._routine("dpotrf") is not None
    monkeypatch.setattr(blas, "_routine", lambda name: None)
    other = Cholesky.of(S, certify=True)
    np.testing.assert_allclose(other.lower, plain.lower, rtol=1e-13, atol=1e-15)
    assert other.condition == pytest.approx(plain.condition, rel=1e-9)
    assert other.residual <= 1e-15
    singular = np.ones((d + 1, d + 1))
    assert Cholesky.of(singular) is None


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_a_factor_of_numbers_near_the_ends_of_the_range(size: float) -> None:
    S = positive(9)
    units = np.where(np.arange(9) % 2, size, 1.0)
    plain, other = (
        Cholesky.of(S, certify=True),
        Cholesky.of(S * units[:, None] * units, certify=True),
    )
    np.testing.assert_allclose(other.lower, plain.lower, rtol=1e-13, atol=1e-15)
    assert other.residual <= 1e-15


def test_determinants_of_any_scale() -> None:
    S = positive(200)
    for scale in (1e-150, 1e150):
        factor = Cholesky.of(S * scale * scale)
        expected = np.linalg.slogdet(S)[1] + 400 * np.log(scale)
        np.testing.assert_allclose(factor.log_determinant, expected, rtol=1e-12)
    mixed = np.logspace(-150, 150, 200)
    factor = Cholesky.of(S * mixed[:, None] * mixed)
    np.testing.assert_allclose(factor.log_determinant, np.linalg.slogdet(S)[1], atol=1e-6)


@pytest.mark.parametrize("power", [2, 5])
def test_an_ill_conditioned_factor_in_extended_precision(power: int) -> None:
    d = 8
    S = np.array([[1.0 / (i + j + 1) for j in range(d)] for i in range(d)])
    S += np.eye(d) * 10.0**-power
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.det(mpmath.matrix(S.tolist())))
    np.testing.assert_allclose(Cholesky.of(S).log_determinant, float(exact), rtol=1e-10)


def test_singular_matrices_have_no_factor() -> None:
    Z = np.random.default_rng(0).normal(size=(5, 7))
    assert Cholesky.of(Z.T @ Z) is None
    assert Cholesky.of(np.diag([1.0, 0.0])) is None
    assert Cholesky.of(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    # 1e-9 of a standard deviation apart is apart, in 16 digits; in a covariance it is not.
    assert Cholesky.of(np.array([[1.0, 1.0 - 1e-10], [1.0 - 1e-10, 1.0]])) is not None


# --- densities ---------------------------------------------------------------------------------


def three(pooled: bool, d: int = 5) -> Gaussians:
    rng = np.random.default_rng(3)
    means = rng.normal(size=(3, d))
    matrices = np.stack([positive(d, k) for k in range(3)])
    return Gaussians.of(means, matrices[0] if pooled else matrices, np.array([0.2, 0.3, 0.5]))


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
def test_densities_are_those_of_scipy(pooled: bool, kind) -> None:
    own = three(pooled)
    X = np.random.default_rng(4).normal(size=(500, 5)) * 3
    likelihood = own.log_likelihood(as_design(kind(X)))
    for k in range(3):
        matrix = own.covariance if pooled else own.covariance[k]
        expected = multivariate_normal(own.means[k], matrix).logpdf(X)
        np.testing.assert_allclose(likelihood[:, k], expected, rtol=1e-11, atol=1e-11)
    density = np.log(np.exp(likelihood) @ own.priors)
    np.testing.assert_allclose(own.log_density(as_design(X)), density, rtol=1e-11)
    scores = own.discriminants(as_design(X))
    step = scores - likelihood - np.log(own.priors)
    np.testing.assert_allclose(step, 2.5 * np.log(2 * np.pi), rtol=1e-11)


def test_threads_change_no_density(monkeypatch) -> None:
    own = three(False)
    # There are so many rows that threads share them, in blocks.
    X = as_design(np.random.default_rng(4).normal(size=(50_000, 5)))
    one = own.log_likelihood(X)
    monkeypatch.setattr(gaussian.pool, "n_threads", lambda: 3)
    np.testing.assert_allclose(own.log_likelihood(X), one, rtol=1e-13)


@pytest.mark.parametrize("pooled", [True, False])
def test_linear_discriminants_are_the_textbook_ones(pooled: bool) -> None:
    own = three(True)
    coef, intercept, centred, height = own.linear
    inverse = np.linalg.inv(own.covariance)
    np.testing.assert_allclose(coef, own.means @ inverse, rtol=1e-11)
    expected = np.log(own.priors) - 0.5 * np.einsum("ki,ij,kj->k", own.means, inverse, own.means)
    np.testing.assert_allclose(intercept, expected, rtol=1e-11)
    X = np.random.default_rng(0).normal(size=(50, 5))
    step = (X @ coef.T + intercept) - (X @ centred.T + height)
    np.testing.assert_allclose(step, step[:, :1] * np.ones(3), rtol=1e-9)


# --- Ledoit and Wolf ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 10, 200])
@pytest.mark.parametrize("d", [1, 2, 6, 30])
def test_shrinkage_is_that_of_scikit_learn(n: int, d: int) -> None:
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * np.logspace(-3, 3, d) + 5
    scaler = StandardScaler()
    expected, intensity = sklearn_ledoit_wolf(scaler.fit_transform(X))
    found, own = ledoit_wolf(Moments.of(as_design(X), fourth=True), 0)
    # Where next to nothing is left, both are rounding.
    np.testing.assert_allclose(found, intensity, rtol=1e-9, atol=1e-12)
    expected = scaler.scale_[:, None] * np.atleast_2d(expected) * scaler.scale_
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(own / size, expected / size, atol=1e-11)


def test_shrinkage_by_its_definition() -> None:
    X = load_wine().data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n, d = Z.shape
    R = Z.T @ Z / n
    spread = sum(np.sum((np.outer(z, z) - R) ** 2) for z in Z) / n**2
    expected = spread / np.sum((R - np.trace(R) / d * np.eye(d)) ** 2)
    found, _ = ledoit_wolf(Moments.of(as_design(X), fourth=True), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    huge, _ = ledoit_wolf(Moments.of(as_design(X * np.logspace(-140, 140, d)), fourth=True), 0)
    np.testing.assert_allclose(huge, expected, rtol=1e-11)


def test_shrinkage_with_columns_without_variance() -> None:
    X = np.hstack([load_wine().data[:, :3], np.full((178, 2), 4.0)])
    scaler = StandardScaler()
    expected, intensity = sklearn_ledoit_wolf(scaler.fit_transform(X))
    found, own = ledoit_wolf(Moments.of(as_design(X), fourth=True), 0)
    assert found == pytest.approx(intensity, rel=1e-10)
    np.testing.assert_allclose(own, scaler.scale_[:, None] * expected * scaler.scale_, rtol=1e-10)
    nothing, own = ledoit_wolf(Moments.of(as_design(np.ones((4, 3))), fourth=True), 0)
    assert nothing == 0.0 and not own.any()


# --- dependent columns -------------------------------------------------------------------------


def test_names() -> None:
    assert str(Names().of_columns([3])) == "column 3"
    assert str(Names().of_columns([3, 5])) == "columns 3 and 5"
    assert str(Names().of_columns([0, 1, 2, 3])) == "columns 0, 1, 2 and 3"
    assert str(Names().of_columns(list(range(9)))) == "columns 0, 1, 2 and 6 more"
    named = Names(["a", "b"], np.array(["x", "y"]))
    assert str(named.of_columns([0, 1])) == "'a' and 'b'" and named.label(1) == "'y'"
    assert Names(None, np.array([4, 7])).label(0) == "4" and Names().label(2) == "2"


def redundant(n: int = 400, offset: float = 0.0):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, n)
    Z = offset + rng.normal(size=(n, 2)) + y[:, None]
    groups = np.eye(3)[rng.integers(0, 3, n)]
    X = np.hstack([Z, groups, np.full((n, 1), 7.0), (Z[:, :1] - 2 * Z[:, 1:])])
    return X, y


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_answer_of_least_norm(offset: float) -> None:
    X, y = redundant(offset=offset)
    found = estimate(Moments.of(as_design(X), codes=y, n_classes=3), pooled=True)
    own = found.gaussians
    assert own.kept.tolist() == [0, 1, 2, 3] and found.certificate.rank == 4
    assert found.certificate.n_columns == 7 and found.certificate.ok
    assert found.warning.startswith("Column 5 is constant, column 4 is a combination of columns 2")
    steps, solved = own.centred()
    inverse = np.linalg.pinv(own.covariance, rcond=1e-11, hermitian=True)
    np.testing.assert_allclose(solved, steps @ inverse, atol=1e-7)
    directions, share = own.directions(2)
    np.testing.assert_allclose(directions.T @ own.covariance @ directions, np.eye(2), atol=1e-8)
    assert share.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("pooled", [True, False])
def test_what_follows_from_other_columns_is_sampled_so(pooled: bool) -> None:
    X, y = redundant()
    moments = Moments.of(as_design(X), codes=y, n_classes=3, pooled=pooled)
    own = estimate(moments, pooled=pooled).gaussians
    drawn, _ = own.sample(300, np.random.RandomState(0))
    np.testing.assert_allclose(drawn[:, 2:5].sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(drawn[:, 5], 7.0)
    np.testing.assert_allclose(drawn[:, 6], drawn[:, 0] - 2 * drawn[:, 1], atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_the_rank_is_that_of_the_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    r = int(rng.integers(1, d + 1))
    # Whole numbers, whose rank numpy finds from the rows themselves.
    X = rng.integers(-3, 4, (60, r)) @ rng.integers(-2, 3, (r, d)) * np.logspace(-6, 6, d)
    X = X + rng.integers(0, 9, d) * np.logspace(-6, 6, d)
    S = Moments.of(as_design(X)).scatter / 60
    support = gaussian._Support.of(S)
    Z = (X - X.mean(axis=0)) / np.logspace(-6, 6, d)
    assert len(support.kept) == np.linalg.matrix_rank(Z, tol=1e-9)
    scale = np.sqrt(np.diag(S))
    used, other = support.kept, support.dropped
    expected = (X - X.mean(axis=0))[:, used] / scale[used] @ support.slopes.T * scale[other]
    np.testing.assert_allclose(
        (X - X.mean(axis=0))[:, other] / np.logspace(-6, 6, d)[other],
        expected / np.logspace(-6, 6, d)[other],
        atol=1e-8,
    )
    # Each follows from those before it, or is kept.
    for q, slopes in zip(other, support.slopes, strict=True):
        assert not np.abs(slopes[used > q] > 1e-8).any()


def test_a_column_that_is_nearly_another_is_kept() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 2)) + y[:, None]
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    found = estimate(Moments.of(as_design(X), codes=y, n_classes=2), pooled=True)
    assert found.warning is None and found.certificate.rank == 2
    assert 1e9 < found.certificate.condition < 1e11 and found.certificate.ok
    # The same classes in columns that are not alike.
    apart = np.stack([X[:, 0], (X[:, 1] - X[:, 0]) * 1e5], axis=1)
    other = estimate(Moments.of(as_design(apart), codes=y, n_classes=2), pooled=True).gaussians
    left = found.gaussians.log_likelihood(as_design(X))
    right = other.log_likelihood(as_design(apart))
    np.testing.assert_allclose(left[:, 1] - left[:, 0], right[:, 1] - right[:, 0], atol=1e-4)


def test_classes_that_are_apart_where_nothing_varies() -> None:
    X, y = redundant()
    names = Names(list("abcdefg"), np.array(["u", "v", "w"]))
    codes = {"codes": y, "n_classes": 3}
    leak = X.copy()
    leak[:, 5] = y == 2
    moments = Moments.of(as_design(leak), **codes)
    found = estimate(moments, pooled=True, names=names)
    assert re.search(r"'f' is constant within every class, but .*1 in 'w'", found.warning)
    assert found.floored.any() and found.certificate.ok
    leak = X.copy()
    leak[:, 6] += y == 2
    moments = Moments.of(as_design(leak), **codes)
    found = estimate(moments, pooled=True, names=names)
    assert re.search(r"within the classes 'g' is a combination of 'a' and 'b'", found.warning)
    assert found.floored.any() and found.certificate.ok
    each = Moments.of(as_design(leak), pooled=False, **codes)
    found = estimate(each, pooled=False)
    assert re.search(r"within the classes column 6 is a combination", found.warning)
    assert found.floored.any() and found.certificate.ok
    assert estimate(moments, pooled=True, shrinkage=0.1).certificate.ok


def test_a_class_of_its_own_dependence() -> None:
    rng = np.random.default_rng(9)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3))
    X[y == 1, 2] = 3 * X[y == 1, 0]
    names = Names(["a", "b", "c"], np.array(["no", "yes"]))
    moments = Moments.of(as_design(X), codes=y, n_classes=2, pooled=False)
    found = estimate(moments, pooled=False, names=names)
    assert re.search("class 'yes' is singular: 'c' is a combination of 'a' the", found.warning)
    assert found.floored.any() and found.certificate.ok
    X[y == 1, 2] = 1.0
    moments = Moments.of(as_design(X), codes=y, n_classes=2, pooled=False)
    found = estimate(moments, pooled=False, names=names)
    assert re.search(r"class 'yes' is singular: 'c' is constant there\.", found.warning)
    assert found.floored.any() and found.certificate.ok
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]])
    X = rng.normal(size=(200, 3))
    moments = Moments.of(as_design(X[few]), codes=y[few], n_classes=2, pooled=False)
    found = estimate(moments, pooled=False, names=names)
    assert re.search("class 'yes' is singular: it has 3 rows, too few for 3", found.warning)
    assert found.floored.any() and found.certificate.ok


def test_a_class_without_rows_is_named() -> None:
    moments = Moments.of(as_design(np.eye(3)), codes=np.array([0, 0, 0]), n_classes=2)
    with pytest.raises(DataError, match="Class 'b' has no rows yet"):
        estimate(moments, pooled=True, names=Names(None, ["a", "b"]))


def test_divisors_without_bias_need_rows() -> None:
    two = Moments.of(as_design(np.eye(2)), codes=np.array([0, 1]), n_classes=2)
    with pytest.raises(DataError, match="unbiased"):
        estimate(two, pooled=True, covariance="unbiased")
    two = Moments.of(as_design(np.eye(2)), codes=np.array([0, 1]), n_classes=2, pooled=False)
    with pytest.raises(DataError, match="0 for class 0"):
        estimate(two, pooled=False, covariance="unbiased")


def test_matrices_that_do_not_fit(monkeypatch) -> None:
    require_memory(1000, 10)
    monkeypatch.setattr(gaussian.memory, "installed", lambda: 8 * 10**9)
    with pytest.raises(ValueError, match=r"50,000 x 50,000 numbers \(20 GB\)"):
        require_memory(50_000, 1)


def test_what_overflows_is_named() -> None:
    X = np.array([[1.0, 1e200], [2.0, -1e200], [3.0, 1e200], [5.0, 3e200]])
    moments = Moments.of(as_design(X), codes=np.array([0, 0, 1, 1]), n_classes=2)
    with pytest.raises(DataError, match="variance of column 1 overflows"):
        estimate(moments, pooled=True)


# --- sampling ----------------------------------------------------------------------------------


def test_samples_have_the_distribution() -> None:
    own = three(False)
    drawn, codes = own.sample(6000, np.random.RandomState(1))
    for k in range(3):
        factor = own.factor(k)
        white = factor.whiten((drawn[codes == k] - own.means[k]) * factor.scale)
        # Independent standard normals, by their own distribution and by that of their lengths.
        assert kstest(white.ravel(), "norm").pvalue > 1e-3
        assert kstest((white**2).sum(axis=1), "chi2", args=(5,)).pvalue > 1e-3
        share = np.mean(codes == k)
        assert abs(share - own.priors[k]) < 4 * np.sqrt(own.priors[k] * (1 - own.priors[k]) / 6000)


# --- certificates ------------------------------------------------------------------------------


def certified(
    X, y, k, *, coef=None, intercept=None, weights=None, shrinkage=None, **given
) -> ResidualCertificate:
    pooled = given.get("pooled", True)
    options = {"weights": weights, "pooled": pooled, "fourth": shrinkage == "auto"}
    moments = Moments.of(as_design(X), codes=y, n_classes=k, **options)
    planes = [] if coef is None else [(coef, intercept)]
    return certify_gaussian(moments, planes=planes, shrinkage=shrinkage, **given)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
def test_a_foreign_model_is_certified_from_the_rows(shrinkage) -> None:
    X, y = load_iris(return_X_y=True)
    model = SklearnLDA(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    options = {"shrinkage": shrinkage}
    given = {
        "means": model.means_,
        "covariance": model.covariance_,
        "priors": model.priors_,
        "coef": model.coef_,
        "intercept": model.intercept_,
    }
    certificate = certified(X, y, 3, **given, **options)
    assert certificate.ok and len(certificate.parts) == 4
    assert certificate.relative_residual < 1e-12
    # What is the same for all classes decides nothing.
    moved = {**given, "coef": model.coef_ + np.arange(1.0, 5.0)}
    assert certified(X, y, 3, **moved, **options).ok
    for name in ("means", "covariance", "coef", "intercept"):
        wrong = given[name].copy()
        wrong.flat[1] += 1e-4 * np.abs(wrong).max()
        bad = certified(X, y, 3, **{**given, name: wrong}, **options)
        assert not bad.ok, name
    assert certified(X, y, 3, **given, empirical=True, **options).ok
    wrong = {**given, "priors": np.array([0.3, 0.3, 0.4])}
    assert not certified(X, y, 3, **wrong, empirical=True, **options).ok
    other = certified(X[1:], y[1:], 3, **given, **options)
    assert not other.ok and other.relative_residual > 1e-5


def test_two_classes_and_weights_are_certified() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0] - 1
    times = np.arange(100) % 3 + 1
    model = SklearnLDA(solver="lsqr").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    given = {"means": model.means_, "coef": model.coef_, "intercept": model.intercept_}
    weights = times.astype(float)
    assert certified(X, y, 2, **given, weights=weights).ok
    assert not certified(X, y, 2, **given).ok
    svd = SklearnLDA(solver="svd").fit(X, y)
    given = {"means": svd.means_, "coef": svd.coef_, "intercept": svd.intercept_}
    # What it divides by changed from version to version.
    kinds = ("mle", "unbiased")
    fits = [certified(X, y, 2, **given, kind=kind).ok for kind in kinds]
    assert sorted(fits) == [False, True]


def test_a_foreign_quadratic_model_is_certified() -> None:
    X, y = load_iris(return_X_y=True)
    model = SklearnQDA(store_covariance=True).fit(X, y)
    given = {"means": model.means_, "covariance": np.array(model.covariance_)}
    kinds = ("mle", "unbiased")

    def fits() -> list[bool]:
        options = {**given, "pooled": False}
        return [certified(X, y, 3, **options, kind=k).ok for k in kinds]

    assert sorted(fits()) == [False, True]
    given["covariance"][2, 0, 1] *= 1.001
    assert fits() == [False, False]
    # Alone, it certifies its own solution.
    assert certified(X, y, 3, pooled=False).parts[2].ok


def test_the_certificate_of_an_estimate() -> None:
    X, y = load_wine(return_X_y=True)
    moments = Moments.of(as_design(X), codes=y, n_classes=3, pooled=False)
    pooled = estimate(moments, pooled=True).certificate
    assert pooled.ok and pooled.relative_residual < 1e-15 and pooled.rank == 13
    each = estimate(moments, pooled=False, names=Names(None, ["a", "b", "c"])).certificate
    assert each.ok and [p.equations[-3:] for p in each.parts] == ["'a'", "'b'", "'c'"]
    S = moments.scatter.sum(axis=0)
    R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    assert pooled.condition == pytest.approx(np.linalg.cond(R, 1), rel=0.5)


def test_the_linear_residual_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    S, W, every = positive(6), rng.normal(size=(6, 2)), np.arange(6)
    M = S @ W
    assert gaussian._linear_residual(S, M, W, every) < 1e-15
    scale = np.array([1e150, 1e-150, 1.0, 1e3, 1e-3, 1.0])
    wrong = W.copy()
    wrong[2, 1] *= 1 + 1e-5
    plain = gaussian._linear_residual(S, M, wrong, every)
    assert 1e-8 < plain < 1e-5
    scaled = gaussian._linear_residual(
        S * scale[:, None] * scale, M * scale[:, None], wrong / scale[:, None], every
    )
    assert scaled == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize(
    ("means", "covariance", "priors", "kept"),
    [
        ((2, 3), (2, 2), (2,), None),
        ((2, 3), (3, 3, 3), (2,), None),
        ((2, 3), (3, 3), (3,), None),
        ((2, 3), (3, 3), (2,), [0, 3]),
        ((2, 3), (3, 3), (2,), [-1]),
    ],
)
def test_parameters_of_different_sizes_are_refused(means, covariance, priors, kept):
    with pytest.raises(ValueError, match="The shapes of the Gaussians do not agree: "):
        Gaussians.of(np.zeros(means), np.ones(covariance), np.full(priors, 0.5), kept)


def test_data_of_other_columns_are_refused():
    pair = Gaussians.of(np.array([[0.0], [2.0]]), np.array([[1.0]]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="The data have 2 columns, and the Gaussians have 1"):
        pair.log_likelihood(as_design(np.zeros((3, 2))))
