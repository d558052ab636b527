"""Data that someone chose to break the certificate, and once did.

What each is judged by shares no code with the library: exact fractions, or mpmath.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import SVC, LinearSVC, LogisticRegression
from separatrix.data.design import as_design
from separatrix.kernels.functions import CallableKernel, PrecomputedKernel
from separatrix.kernels.gram import Gram
from separatrix.kernels.objective import KernelHardMarginObjective, KernelObjective
from separatrix.losses import Hinge, PerceptronLoss, SquaredError
from separatrix.objectives.base import Bound
from separatrix.objectives.enclosure import Level
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import select_solver
from separatrix.solvers.driver import minimise

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


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize(("scale", "gamma", "d"), [(1.2e-162, 1e307, 50), (1.2e-150, 1e283, 1)])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_products_that_underflow_under_a_large_gamma(kernel, scale, gamma, d, storage):
    # Squares are lost to underflow, and what is lost counts for as much as gamma times that.
    X, C = np.array([[scale] * d, [-scale] * d]), 1e12
    options = {"degree": 1, "coef0": 1.0} if kernel == "poly" else {}
    model = fit(SVC(kernel=kernel, gamma=gamma, C=C, **options), storage(X), [0, 1])
    square = d * mpmath.mpf(scale) ** 2 * mpmath.mpf(gamma)
    # Half of the squared distance of the lifted points.
    away = 1 - mpmath.exp(-4 * square) if kernel == "rbf" else 2 * square
    a = min(mpmath.mpf(C), 1 / away)
    best = a**2 * away + 2 * C * max(0, 1 - a * away)
    assert model.certificate_.dual <= best <= model.certificate_.primal


@pytest.mark.parametrize("gamma", [1e-310, 1e-308])
def test_distances_whose_squares_overflow_under_a_small_gamma(gamma):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.3, 0.4], [0.9, 0.1]]) * 1e155
    y = [0, 1, 0, 1]
    model = fit(SVC(gamma=gamma, C=10.0), X, y)
    value = kernel_objective(model, X, y, gaussian(gamma))
    certificate = model.certificate_
    assert certificate.ok
    assert certificate.dual <= value <= certificate.primal
    assert certificate.primal - value <= 1e-6 * value
    kernel = model.kernel_(X[:1], X[1:])
    right = [
        float(gaussian(gamma)(*(list(map(mpmath.mpf, row)) for row in (X[0], z)))) for z in X[1:]
    ]
    np.testing.assert_allclose(kernel[0], right, rtol=1e-12)
    assert model.predict(X).tolist() == y


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
    # The optimum for two rows is known: along their difference, with multipliers up to C.
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


# --- kernels that are no scalar products ----------------------------------------------------------


def sigmoid(x, z):
    product = mpmath.fsum(a * b for a, b in zip(x, z, strict=True))
    return mpmath.tanh(mpmath.mpf(0.5) * product - 1)


INDEFINITE = np.random.default_rng(5).normal(size=(12, 12))
INDEFINITE = INDEFINITE + INDEFINITE.T


@pytest.mark.parametrize("tol", [1e-6, 1e-15])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kind", ["precomputed", "negative", "called", "sigmoid"])
def test_an_indefinite_kernel_has_an_objective_from_above_and_no_bound(kind, C, tol):
    rng = np.random.default_rng(6)
    y = np.arange(12) % 2
    if kind == "sigmoid":
        X = rng.normal(size=(12, 2))
        model, kernel = SVC(kernel="sigmoid", gamma=0.5, coef0=-1.0, C=C, tol=tol), sigmoid
    else:
        # The objective of the negative matrix may be below zero, as factors round the other way.
        K = -np.abs(INDEFINITE) - 5.0 * np.eye(12) if kind == "negative" else INDEFINITE
        exact = [[mpmath.mpf(v) for v in row] for row in K.tolist()]
        X = np.arange(12.0)[:, None]

        def values(A, B):
            return K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

        def kernel(i, j):
            return exact[int(i[0])][int(j[0])]

        model = SVC(kernel=values if kind == "called" else "precomputed", C=C, tol=tol)
    model = fit(model, K if kind in ("precomputed", "negative") else X, y)
    certificate = model.certificate_
    assert not certificate.ok
    assert certificate.dual == -np.inf and certificate.gap == np.inf
    value = kernel_objective(model, X, y, kernel)
    assert value <= certificate.primal
    assert certificate.primal - value <= 1e-9 * abs(value)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e-3])
def test_an_objective_below_zero_is_rounded_towards_zero(size):
    rng = np.random.default_rng(7)
    for _ in range(20):
        # Nearly -|c|^2, and in either direction of rounding.
        K = -size * np.eye(3) * rng.uniform(1.0, 2.0, size=3)
        y = np.array([1.0, -1.0, 1.0])
        gram = Gram(PrecomputedKernel(), as_design(K), cache_mb=1.0)
        problem = KernelObjective(gram, y, Hinge(), C=1e-3, fit_intercept=False)
        c = rng.normal(size=3)
        exact = [Fraction(v) for v in c.tolist()]
        scores = [Fraction(K[i, i]) * exact[i] for i in range(3)]
        value = sum(a * s for a, s in zip(exact, scores, strict=True)) / 2
        slack = [max(0, 1 - int(t) * s) for t, s in zip(y, scores, strict=True)]
        value += Fraction(1e-3) * sum(slack)
        found = problem.certify(c, problem.bound(c), 1e-16)
        assert Fraction(found.primal) >= value
        assert found.dual == -np.inf


def test_a_hard_margin_of_an_indefinite_kernel_has_no_bound():
    rng = np.random.default_rng(8)
    gram = Gram(PrecomputedKernel(), as_design(INDEFINITE), cache_mb=1.0)
    exact = [[Fraction(v) for v in row] for row in INDEFINITE.tolist()]
    for _ in range(10):
        y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
        problem = KernelHardMarginObjective(gram, y)
        # Any margins can be had of a matrix that has an inverse.
        c = np.linalg.solve(INDEFINITE, y * rng.uniform(0.5, 2.0, size=12))
        theta = np.append(c, 0.1)
        parts = [Fraction(v) for v in c.tolist()]
        scores = [sum(k * p for k, p in zip(row, parts, strict=True)) for row in exact]
        margin = min(int(t) * (s + Fraction(0.1)) for t, s in zip(y.tolist(), scores, strict=True))
        square = sum(p * s for p, s in zip(parts, scores, strict=True))
        found = problem.certify(theta, problem.bound(theta), 1e-9)
        assert margin > 0
        assert Fraction(found.primal) >= square / margin**2 / 2
        assert found.dual == -np.inf and found.gap == np.inf


# --- what underflows ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e160, 1e162, 1e170, 1e200])
def test_a_hard_margin_whose_square_underflows(size):
    X, y = np.array([[size, 0.3 * size], [-size, 0.1 * size]]), np.array([1.0, -1.0])
    problem = HardMarginObjective(as_design(X), y)
    theta = np.array([1.0 / size, 0.1 / size, 0.0])
    with np.errstate(over="ignore", invalid="ignore"):
        found = problem.certify(theta, problem.bound(theta, -y), 1e-6)
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    w = [Fraction(v) for v in theta[:2].tolist()]
    margin = min(
        int(s) * sum(a * v for a, v in zip(w, row, strict=True))
        for s, row in zip(y, rows, strict=True)
    )
    value = sum(a * a for a in w) / margin**2 / 2
    # The widest band of two points is between them: its half is half their distance.
    distance = sum((a - b) ** 2 for a, b in zip(*rows, strict=True))
    assert Fraction(found.primal) >= value > 0
    assert Fraction(found.dual) <= 2 / distance


@pytest.mark.parametrize("size", [600.0, 740.0, 800.0])
@pytest.mark.parametrize("C", [1.0, 1e-20, 1e-300])
def test_losses_of_three_classes_that_underflow(size, C):
    X, codes = np.array([[1.0], [-1.0], [0.5]]), np.array([0, 1, 0])
    problem = SoftmaxObjective(
        as_design(X), codes, 3, penalty=NoPenalty(), C=C, fit_intercept=False
    )
    theta = np.array([[size, -size, 0.0]])
    found = problem.certify(theta, problem.bound(theta), 1e-6)
    value = mpmath.mpf(0)
    for (x,), code in zip(X.tolist(), codes, strict=True):
        scores = [mpmath.mpf(x) * mpmath.mpf(t) for t in theta[0].tolist()]
        others = [mpmath.exp(s - scores[code]) for k, s in enumerate(scores) if k != code]
        value += mpmath.mpf(C) * mpmath.log1p(mpmath.fsum(others))
    assert found.primal >= value > 0
    # Larger weights are better without end.
    assert found.dual <= value


def test_zero_weights_are_the_perceptrons_best_and_exactly_so():
    X, y = noisy_iris()
    signs = np.where(y == 1, 1.0, -1.0)
    for weights in (None, np.full(100, 1e-200), np.full(100, 1e200)):
        problem = MarginObjective(as_design(X), signs, PerceptronLoss(), weights=weights)
        zero = np.zeros(X.shape[1] + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            found = problem.certify(zero, problem.bound(zero), 1e-6)
        assert (found.primal, found.dual, found.gap) == (0.0, 0.0, 0.0)
        certificate = minimise(problem, select_solver(problem), tol=1e-6).certificate
        assert (certificate.status, certificate.gap) == ("optimal", 0.0)


# --- assumptions that fail ------------------------------------------------------------------------


class Boasting(CallableKernel):
    """A kernel that says that it is a scalar product."""

    semidefinite = True


def test_a_bound_above_the_objective_is_no_bound():
    # The scalar product of each row with itself is zero, and with the other row it is one.
    K = np.array([[0.0, 1.0], [1.0, 0.0]])
    kernel = Boasting(lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))])
    y = np.array([1.0, -1.0])
    gram = Gram(kernel, as_design(np.array([[0.0], [1.0]])), cache_mb=1.0)
    problem = KernelObjective(gram, y, Hinge(), fit_intercept=False)
    theta, alpha = np.array([-1.0, 1.0]), np.array([1.0, 1.0])
    # Both rows are on their margins, with c' K c = -2; the multipliers are worth 2.
    proof = Bound(0.0, 2.0, 0.0, -y * alpha)
    one = problem.charged(theta, Level.NORMS, proof)
    assert one.dual > one.primal
    found = problem.certify(theta, proof, 1e-6)
    assert found.gap == np.inf and not found.dual > 0.0


class Generous(Hinge):
    """A hinge loss that states a conjugate less than its own."""

    def conjugate(self, u):
        return super().conjugate(u) - 1.0


def test_a_loss_whose_conjugate_is_wrong_certifies_nothing():
    X, y = noisy_iris()
    signs = np.where(y == 1, 1.0, -1.0)
    problem = MarginObjective(as_design(1e-3 * X), signs, Generous())
    theta = np.zeros(X.shape[1] + 1)
    residual = -0.5 * signs
    proof = Bound(0.0, 0.0, 0.0, residual - residual.mean())
    one = problem.charged(theta, Level.NORMS, proof)
    assert one.dual > one.primal
    found = problem.certify(theta, proof, 1e-6)
    assert found.gap == np.inf and not found.dual > 0.0


# --- losses that also rise ------------------------------------------------------------------------


# Not subclasses of the base itself: those enrol in the tests of all losses.
class Absolute(SquaredError):
    """|1 - z|: its slopes are from -1 to 1."""

    name, formula = "absolute error", "|1 - y (w.x + b)|"
    smooth, edged = False, True
    dual_lower, dual_upper = -1.0, 1.0

    def value(self, z):
        return np.abs(1.0 - z)

    def derivative(self, z):
        return np.where(z < 1.0, -1.0, 1.0)

    def conjugate(self, u):
        return np.where(np.abs(u) <= 1.0, u, np.inf)


class Huber(SquaredError):
    """1/2 (1 - z)^2 near one, and linear beyond a half."""

    name, formula = "Huber's", "huber(1 - y (w.x + b))"
    edged = True
    dual_lower, dual_upper = -0.5, 0.5

    def value(self, z):
        t = np.abs(1.0 - z)
        return np.where(t <= 0.5, 0.5 * t * t, 0.5 * t - 0.125)

    def derivative(self, z):
        return np.clip(z - 1.0, -0.5, 0.5)

    def conjugate(self, u):
        return np.where(np.abs(u) <= 0.5, u + 0.5 * u * u, np.inf)


def exact_loss(loss, z):
    t = abs(1 - z)
    if isinstance(loss, Absolute):
        return t
    return t * t / 2 if t <= Fraction(1, 2) else t / 2 - Fraction(1, 8)


@pytest.mark.parametrize("loss", [Absolute(), Huber()], ids=["absolute", "huber"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_loss_that_also_rises_is_bounded_beside_an_intercept(loss, offset):
    rng = np.random.default_rng(11)
    sharp = 0.0
    for _ in range(6):
        n, C = int(rng.integers(4, 15)), float(10.0 ** rng.integers(-2, 2))
        X = rng.normal(size=(n, 2)) + offset
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        s = rng.uniform(0.1, 3.0, size=n)
        problem = MarginObjective(as_design(X), y, loss, C=C, weights=s)
        rows = [[Fraction(v) for v in row] for row in X.tolist()]
        # What the library multiplies is rounded; it is its own problem that is judged here.
        upper = [Fraction(v) for v in problem.upper.tolist()]

        def objective(theta, rows=rows, upper=upper, y=y):
            *w, b = (Fraction(v) for v in theta.tolist())
            value = sum(a * a for a in w) / 2
            for row, label, u in zip(rows, y.tolist(), upper, strict=True):
                score = sum(a * v for a, v in zip(w, row, strict=True)) + b
                value += u * exact_loss(loss, int(label) * score)
            return value

        def centred(point, problem=problem):
            w, b = point[:2], point[2]
            return problem.join(w, b - offset * w.sum())

        found = minimize(
            lambda p, problem=problem, centred=centred: float(problem.value(centred(p))),
            np.zeros(3),
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 200},
        )
        best = centred(found.x)
        value = objective(best)
        slopes = problem.residual(problem.linear(best))
        for residual in (slopes, 0.98 * problem.balanced(slopes), rng.normal(size=n) * C):
            bound = problem.certify(best, Bound(0.0, 0.0, 0.0, residual), 1e-9)
            assert Fraction(bound.dual) <= value <= Fraction(bound.primal)
            sharp = max(sharp, bound.dual / bound.primal)
    assert sharp > 0.9


# --- a pull at hand -------------------------------------------------------------------------------


def test_a_pull_of_slopes_that_differ_in_their_last_digits():
    rng = np.random.default_rng(12)
    apart = 1e-9
    false_without = 0
    for _ in range(20):
        X, y = rng.normal(size=(5, 2)), np.array([1.0, -1.0, 1.0, 1.0, -1.0])
        problem = MarginObjective(as_design(X), y, Hinge(), fit_intercept=False)
        alpha = rng.uniform(0.2, 0.8, size=5)
        rows = [[Fraction(v) for v in row] for row in X.tolist()]
        terms = [Fraction(a) * int(t) for a, t in zip(alpha.tolist(), y, strict=True)]
        pull = [sum(r * row[j] for r, row in zip(terms, rows, strict=True)) for j in range(2)]
        worth = sum(Fraction(a) for a in alpha.tolist()) - sum(p * p for p in pull) / 2
        if worth <= 0:
            continue
        # Summed from slopes that are all a little shorter, and rounded.
        summed = np.array([float(-p * (1 - Fraction(apart))) for p in pull])
        theta = np.array([float(p) for p in pull])
        known = replace(problem.bound(theta), scores=problem.linear(theta))
        proof = Bound(0.0, 0.0, 0.0, -y * alpha, None, summed, apart)
        found = problem._charged_at_once(theta, proof, known)
        assert 0 < Fraction(found.dual) <= worth
        careless = problem._charged_at_once(theta, replace(proof, apart=0.0), known)
        false_without += Fraction(careless.dual) > worth
    # The charge is not there for nothing.
    assert false_without > 0
