"""Data that someone chose to break the certificate, and once did.

What each is judged by shares no code with the library: exact fractions, or mpmath.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import SVC, LinearSVC, LogisticRegression

mpmath.mp.dps = 60


def fit(model, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments, **options)


def noisy_iris():
    """Two species of iris, a tenth of the labels flipped."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100].copy(), y[:100].copy()
    flipped = np.random.default_rng(0).choice(100, 10, replace=False)
    y[flipped] = 1 - y[flipped]
    return X, y


def kernel_objective(model, X, y, kernel):
    """The exact objective of a machine of two classes at its dual coefficients, hinge loss."""
    signs = [1 if label == model.classes_[1] else -1 for label in y]
    rows = [[mpmath.mpf(v) for v in row] for row in np.asarray(X, dtype=float).tolist()]
    c = [mpmath.mpf(v) for v in model.dual_coef_[0].tolist()]
    b = mpmath.mpf(float(model.intercept_[0]))
    support = [rows[i] for i in model.support_]
    pairs = list(zip(c, support, strict=True))
    scores = [mpmath.fsum(cj * kernel(x, z) for cj, z in pairs) for x in rows]
    square = mpmath.fsum(cj * scores[i] for cj, i in zip(c, model.support_, strict=True))
    if np.isinf(model.C):
        margin = min(s * (f + b) for s, f in zip(signs, scores, strict=True))
        return square / 2 / margin**2
    slack = [max(0, 1 - s * (f + b)) for s, f in zip(signs, scores, strict=True)]
    return square / 2 + mpmath.mpf(model.C) * mpmath.fsum(slack)


def gaussian(gamma):
    def kernel(x, z):
        distance = mpmath.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))
        return mpmath.exp(-mpmath.mpf(gamma) * distance)

    return kernel


@pytest.mark.parametrize("outlier", [1e8, 1e10, 1e12])
def test_an_outlier_under_a_gaussian_is_certified(outlier):
    # Its squared distances cancelled, and the mean that it drags rounded all other points.
    X, y = noisy_iris()
    X[0, 0] = outlier
    model = fit(SVC(gamma=0.5, C=10.0, tol=1e-10), X, y)
    certificate, value = model.certificate_, kernel_objective(model, X, y, gaussian(0.5))
    assert certificate.ok
    assert value <= certificate.primal
    assert certificate.primal - value <= 1e-10 * value
    # No outlier changes the optimum: so far away it is nobody's neighbour.
    near = X.copy()
    near[0, 0] = 1e6
    other = fit(SVC(gamma=0.5, C=10.0, tol=1e-10), near, y).certificate_
    assert certificate.dual <= other.primal and other.dual <= certificate.primal


def test_a_hard_margin_among_distances_of_a_hundred_thousand():
    X = np.array([[110026.9], [0.8157], [-0.3255], [-0.7768], [-1.8714]])
    y = [0, 0, 0, 1, 1]
    model = fit(SVC(kernel="rbf", gamma=0.0471263, C=np.inf), X, y)
    value = kernel_objective(model, X, y, gaussian(0.0471263))
    assert model.certificate_.dual <= value <= model.certificate_.primal
    assert model.certificate_.primal - value <= 1e-6 * value


def test_rows_of_1e12_that_differ_by_one():
    X = np.array(
        [
            [-38831618.63208706, -3194587050013.4785, -241.041776986477],
            [-38831619.36610813, -3194587050012.224, -241.67216539327114],
        ]
    )
    y, C = [1, 0], Fraction(0.76217)
    model = fit(LinearSVC(loss="hinge", C=float(C), tol=1e-4), X, y)
    rows = [[Fraction(v) for v in row] for row in X.tolist()]

    def objective(w, b):
        scores = [sum(a * v for a, v in zip(w, row, strict=True)) + b for row in rows]
        slack = max(0, 1 - scores[0]) + max(0, 1 + scores[1])
        return sum(a * a for a in w) / 2 + C * slack

    w = [Fraction(v) for v in model.coef_[0].tolist()]
    assert objective(w, Fraction(float(model.intercept_[0]))) <= Fraction(model.certificate_.primal)
    # Of two rows the optimum is known: along their difference, with multipliers up to C.
    difference = [a - b for a, b in zip(*rows, strict=True)]
    alpha = min(C, 2 / sum(a * a for a in difference))
    best = [alpha * a for a in difference]
    scores = [sum(a * v for a, v in zip(best, row, strict=True)) for row in rows]
    value = min(objective(best, b) for b in (1 - scores[0], -1 - scores[1]))
    assert Fraction(model.certificate_.dual) <= value
    assert model.certificate_.ok or model.certificate_.status == "precision_limit"


def test_columns_that_differ_by_their_last_digits_without_a_penalty():
    X = [
        [1.9024484186270143, 1.9024484186270105],
        [0.49980193702049786, 0.49980193702049863],
        [-0.5614592863377843, -0.5614592863377847],
        [0.1991752610640707, 0.19917526106407002],
    ]
    y, s = [0, 0, 0, 1], [0, 3, 3, 3]
    model = fit(LogisticRegression(penalty=None, fit_intercept=False), X, y, sample_weight=s)
    certificate = model.certificate_
    assert certificate.status in ("precision_limit", "separable", "quasi_separable")

    def objective(w):
        total = mpmath.mpf(0)
        for row, label, weight in zip(X, y, s, strict=True):
            z = mpmath.fsum(mpmath.mpf(a) * v for a, v in zip(w, row, strict=True))
            total += weight * mpmath.log1p(mpmath.exp(-z if label else z))
        return total

    # Weights of 1e17 see what distinguishes the columns, and the objective falls below every
    # bound that takes them for one.
    first, second = (mpmath.mpf(X[1][j]) - mpmath.mpf(X[2][j]) for j in (0, 1))
    scale = mpmath.mpf(10) ** 17
    better = min(objective([k * scale * second, -k * scale * first]) for k in (-1, 1))
    assert certificate.dual <= better
    assert objective(model.coef_[0].tolist()) <= certificate.primal


def test_raw_years_under_a_polynomial_are_certified():
    years = np.arange(1900.0, 2021.0)[:, None]
    y = (years[:, 0] > 1960).astype(int)
    model = fit(SVC(kernel="poly", degree=3, gamma=45.0), years, y)

    def kernel(x, z):
        return (45 * x[0] * z[0]) ** 3

    value = kernel_objective(model, years, y, kernel)
    certificate = model.certificate_
    assert certificate.ok
    assert certificate.dual <= value <= certificate.primal
    assert certificate.primal - value <= 1e-6 * value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize("case", ["weights", "rows"])
def test_weights_of_1e52_and_rows_of_1e45(loss, case):
    X, y = noisy_iris()
    s = np.ones(100)
    if case == "weights":
        s[1::2] = 1e52
    else:
        X *= 1e45
    model = LogisticRegression() if loss == "log" else LinearSVC(loss=loss)
    model = fit(model, X, y, sample_weight=s)
    w = [mpmath.mpf(v) for v in model.coef_[0].tolist()]
    value = mpmath.fsum(v * v for v in w) / 2
    for row, label, weight in zip(X.tolist(), y, s.tolist(), strict=True):
        z = mpmath.fsum(a * mpmath.mpf(v) for a, v in zip(w, row, strict=True))
        z = (z + mpmath.mpf(float(model.intercept_[0]))) * (1 if label else -1)
        slack = max(0, 1 - z)
        term = mpmath.log1p(mpmath.exp(-z)) if loss == "log" else slack
        value += mpmath.mpf(weight) * (term * term if loss == "squared_hinge" else term)
    certificate = model.certificate_
    assert certificate.dual <= value <= certificate.primal
    assert certificate.ok or certificate.status == "precision_limit"
    if certificate.ok:
        assert certificate.primal - value <= 1e-6 * value


def test_weights_near_the_smallest_numbers():
    model = fit(
        LogisticRegression(solver="quasi-newton"),
        [[0.0], [1.0], [2.0]],
        [0, 1, 0],
        sample_weight=[1e-187] * 3,
    )
    assert model.certificate_.ok


def test_numbers_that_overflow_are_told_in_a_sentence():
    X, y = noisy_iris()
    for model in (SVC(C=1e308), LinearSVC(C=1e308), LogisticRegression(C=1e308)):
        try:
            certificate = fit(model, X * 1e150, y).certificate_
        except ValueError as error:
            assert "fsum" not in str(error) and "nan" not in str(error)
        else:
            assert certificate.dual <= certificate.primal


def test_a_precision_limit_names_the_column_and_what_to_subtract():
    X, y = noisy_iris()
    X = np.column_stack([X, 1.7e9 + 86400.0 * np.arange(100)])
    certificate = fit(LinearSVC(loss="hinge", tol=1e-15), X, y).certificate_
    assert certificate.status == "precision_limit"
    assert (certificate.column, certificate.offset) == (4, 1.7e9)
    assert "subtract about 1.7e+09 from column 4" in str(certificate)
    again = type(certificate).from_dict(certificate.to_dict())
    assert again == certificate


@pytest.mark.parametrize("tol", [1e-6, 1e-12])
def test_a_float32_matrix_of_a_kernel_is_summed_in_float64(tol):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.5 * squares).astype(np.float32)
    model = fit(SVC(kernel="precomputed", C=100.0, tol=tol), K, y)
    exact = [[mpmath.mpf(float(v)) for v in row] for row in K]

    def kernel(i, j):
        return exact[int(i[0])][int(j[0])]

    value = kernel_objective(model, np.arange(40.0)[:, None], y, kernel)
    certificate = model.certificate_
    assert certificate.dual <= value <= certificate.primal
    assert certificate.primal - value <= 1e-9 * value


def test_entries_of_a_sparse_matrix_in_parts_are_those_of_their_sums():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    y = np.arange(12) % 2
    # A large part, the entry, and the large part taken back: what is left is rounded.
    data = np.array([[1e8, v, -1e8] for v in X.ravel()]).ravel()
    columns = np.repeat(np.tile([0, 1], 12), 3)
    parts = sp.csr_matrix((data, columns, np.arange(0, 73, 6)), shape=(12, 2))
    for model in (LogisticRegression(), LinearSVC(), SVC(kernel="linear"), SVC(gamma=0.5)):
        sparse = fit(clone(model), parts, y).certificate_
        dense = fit(clone(model), parts.toarray(), y).certificate_
        assert sparse.dual <= dense.primal and dense.dual <= sparse.primal
        assert sparse.ok and dense.ok
