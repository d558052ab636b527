"""verify(rigorous=True), against optima of fifty digits and against data that are hostile.

The optima come from mpmath: Newton's method, or the linear equations of the optimum, from formulas
that are written out here; where they have inequalities beside them, these are checked.
"""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm

from separatrix import SVC as KernelSVC
from separatrix import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    RigorousCertificate,
    SGDClassifier,
    verify,
)
from separatrix.certificate import REMEDIES
from separatrix.losses import Hinge

pytest.importorskip("flint")

N, D = 24, 3
WEIGHTS = np.random.default_rng(9).choice([0.0, 0.3, 1.0, 3.7], size=N)
WEIGHTS[:4] = 1.0


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(55):
        yield


def data(classes: int = 2, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) + 0.3
    y = (X @ rng.normal(size=(D, classes)) + rng.normal(size=(N, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        # How tightly these models converge is what is under test.
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def exact(x):
    """Floats as numbers of mpmath, with no rounding."""
    return mp.matrix(np.asarray(x, dtype=object).tolist())


def fraction(x) -> Fraction:
    """A number of mpmath as it is."""
    sign, mantissa, exponent, _ = mp.mpf(x)._mpf_
    out = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -out if sign else out


def ends(certificate) -> tuple[Fraction, Fraction]:
    low, high = certificate.interval
    return Fraction(low), Fraction(high)


def check(certificate, primal, optimum, plain=None, tol=1e-6) -> None:
    """The truth of fifty digits lies in the interval, which is as tight as requested."""
    assert isinstance(certificate, RigorousCertificate)
    low, high = ends(certificate)
    primal, optimum = fraction(primal), fraction(optimum)
    room = Fraction(1, 10**45) * max(abs(primal), 1)
    assert Fraction(certificate.dual) <= optimum + room
    assert low <= optimum + room and optimum - room <= high
    assert Fraction(certificate.primal) >= primal - room and high >= primal - room
    # Not more than rounding above it: the objective itself is enclosed.
    assert Fraction(certificate.primal) <= primal * (1 + Fraction(1, 10**12)) + room
    assert certificate.dual >= float(optimum) * (1 - 2 * tol)
    assert float(low) >= certificate.dual * (1 - 1e-15) - certificate.gap / 50
    if plain is not None:
        # What float64 says allows for the same optimum.
        assert plain.dual <= certificate.primal * (1 + 1e-15)
        assert certificate.dual <= plain.primal * (1 + 1e-12)


# --- objectives and optima, written out ------------------------------------------------------


def loss_of(name, z):
    """A loss, its slope and its curvature at a margin."""
    if name == "log":
        p = 1 / (1 + mp.exp(z))
        return mp.log1p(mp.exp(-z)), -p, p * (1 - p)
    slack = 1 - z
    if name == "squared_error":
        return slack**2 / 2, -slack, mp.mpf(1)
    if name == "hinge":
        return max(slack, mp.mpf(0)), None, None
    slack = max(slack, mp.mpf(0))
    return slack**2, -2 * slack, mp.mpf(2 if slack > 0 else 0)


def objective(name, X, y, U, w, b, rho=0, kappa=1, tau=0):
    value = rho * sum(abs(v) for v in w) + mp.mpf(kappa) / 2 * sum(v * v for v in w)
    value += mp.mpf(tau) / 2 * b * b
    for i in range(len(y)):
        s = sum(X[i, j] * w[j] for j in range(len(w))) + b
        value += U[i] * loss_of(name, y[i] * s)[0]
    return value


def newton(name, X, y, U, w, b, rho=0, kappa=1, tau=0, intercept=True):
    """The optimum, from a point with its zeros and signs, by Newton's method on the others."""
    d, n = len(w), len(y)
    active = [j for j in range(d) if not (rho and w[j] == 0)] + ([d] if intercept else [])
    theta = [mp.mpf(float(v)) for v in w] + [mp.mpf(float(b))]
    columns = [[X[i, j] for j in range(d)] + [mp.mpf(1)] for i in range(n)]
    signs = [mp.sign(v) for v in theta]
    for _ in range(60):
        gradient = [kappa * theta[j] + rho * signs[j] for j in range(d)] + [tau * theta[d]]
        hessian = mp.zeros(d + 1)
        for j in range(d + 1):
            hessian[j, j] = kappa if j < d else tau
        for i in range(n):
            s = mp.fdot(columns[i], theta)
            _, slope, curvature = loss_of(name, y[i] * s)
            for j in active:
                gradient[j] += U[i] * slope * y[i] * columns[i][j]
                for k in active:
                    hessian[j, k] += U[i] * curvature * columns[i][j] * columns[i][k]
        g = mp.matrix([gradient[j] for j in active])
        if mp.norm(g, mp.inf) < mp.mpf(10) ** -48:
            break
        h = mp.matrix([[hessian[j, k] for k in active] for j in active])
        step = mp.lu_solve(h, g)
        for place, j in enumerate(active):
            theta[j] -= step[place]
    assert mp.norm(g, mp.inf) < mp.mpf(10) ** -46
    if rho:
        pull = [mp.mpf(0)] * d
        for i in range(n):
            slope = loss_of(name, y[i] * mp.fdot(columns[i], theta))[1]
            for j in range(d):
                pull[j] += U[i] * slope * y[i] * columns[i][j]
        for j in range(d):
            if j in active:
                assert mp.sign(theta[j]) == signs[j]
            else:
                assert abs(pull[j]) <= rho
    return objective(name, X, y, U, theta[:d], theta[d], rho, kappa, tau)


def hinge_optimum(K, y, U, alpha, hard=False):
    """The optimum of the dual, from the rows that are between the ends of their ranges.

    The linear equations of the optimum, and then all its inequalities.
    """
    n = len(y)
    top = [i for i in range(n) if not hard and alpha[i] > U[i] * (1 - 1e-7)]
    free = [i for i in range(n) if i not in top and alpha[i] > 1e-7 * float(max(alpha))]
    a = [U[i] if i in top else mp.mpf(0) for i in range(n)]
    m = len(free)
    system, right = mp.zeros(m + 1), mp.zeros(m + 1, 1)
    for p, i in enumerate(free):
        for q, j in enumerate(free):
            system[p, q] = y[i] * y[j] * K[i, j]
        system[p, m] = system[m, p] = y[i]
        right[p] = 1 - sum(y[i] * y[j] * K[i, j] * a[j] for j in top)
    right[m] = -sum(y[j] * a[j] for j in top)
    solution = mp.lu_solve(system, right)
    for p, i in enumerate(free):
        a[i] = solution[p]
        assert a[i] >= 0 and (hard or a[i] <= U[i])
    b = solution[m]
    for i in range(n):
        if not hard and U[i] == 0:
            continue
        z = y[i] * (sum(a[j] * y[j] * K[i, j] for j in range(n)) + b)
        if i in top:
            assert z <= 1
        elif i not in free:
            assert z >= 1
    square = sum(a[i] * a[j] * y[i] * y[j] * K[i, j] for i in range(n) for j in range(n))
    return sum(a) - square / 2


def softmax_value(X, codes, U, W, b, rho=0, kappa=1):
    value = sum(rho * abs(v) + mp.mpf(kappa) / 2 * v * v for row in W for v in row)
    for i in range(len(codes)):
        s = [sum(X[i, j] * row[j] for j in range(len(row))) + b[k] for k, row in enumerate(W)]
        value += U[i] * (mp.log(mp.fsum(mp.exp(v) for v in s)) - s[codes[i]])
    return value


def softmax_optimum(X, codes, U, W, b, kappa=1):
    """Newton's method; one class is held where adding one number to all changes nothing."""
    K, d, n = len(b), len(W[0]), len(codes)
    theta = [[mp.mpf(float(v)) for v in W[k]] + [mp.mpf(float(b[k]))] for k in range(K)]
    places = [(k, j) for k in range(K) for j in range(d + 1) if k or (kappa and j < d)]
    for _ in range(60):
        gradient = {(k, j): kappa * theta[k][j] if j < d else mp.mpf(0) for k, j in places}
        hessian = mp.zeros(len(places))
        for p, (_, j) in enumerate(places):
            hessian[p, p] = kappa if j < d else 0
        for i in range(n):
            x = [X[i, j] for j in range(d)] + [mp.mpf(1)]
            e = [mp.exp(mp.fdot(x, row)) for row in theta]
            share = [v / mp.fsum(e) for v in e]
            for p, (k, j) in enumerate(places):
                gradient[k, j] += U[i] * (share[k] - (k == codes[i])) * x[j]
                for q, (m, c) in enumerate(places):
                    curvature = share[k] * ((k == m) - share[m])
                    hessian[p, q] += U[i] * curvature * x[j] * x[c]
        g = mp.matrix([gradient[place] for place in places])
        if mp.norm(g, mp.inf) < mp.mpf(10) ** -48:
            break
        step = mp.lu_solve(hessian, g)
        for p, (k, j) in enumerate(places):
            theta[k][j] -= step[p]
    assert mp.norm(g, mp.inf) < mp.mpf(10) ** -45
    return softmax_value(
        X, codes, U, [row[:d] for row in theta], [row[d] for row in theta], 0, kappa
    )


# --- margin losses ---------------------------------------------------------------------------

PENALTIES = {
    "l2": ({}, 0.0, 1),
    "l1": ({"penalty": "l1"}, 1.0, 0),
    "elastic net": ({"l1_ratio": 0.3}, 0.3, 1 - mp.mpf(0.3)),
    "none": ({"penalty": None}, 0.0, 0),
}


@pytest.mark.crossed
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_log_loss(penalty, intercept, weighted, sparse):
    X, y = data()
    options, rho, kappa = PENALTIES[penalty]
    rho = mp.mpf(rho)
    kappa = 1 - rho if penalty == "elastic net" else kappa
    s = WEIGHTS if weighted else None
    C = 1.0 if penalty == "none" else 0.7
    if penalty != "none":
        options = {**options, "C": C}
    model = LogisticRegression(fit_intercept=intercept, tol=1e-9, **options)
    given = sp.csr_array(X) if sparse else X
    fit(model, given, y, sample_weight=s)
    found = verify(model, given, y, sample_weight=s, rigorous=True)
    U = [mp.mpf(C) * mp.mpf(float(v)) for v in (np.ones(N) if s is None else s)]
    signs, w, b = np.where(y == 1, 1, -1).tolist(), model.coef_[0], float(model.intercept_[0])
    primal = objective("log", exact(X), signs, U, [mp.mpf(float(v)) for v in w], b, rho, kappa)
    optimum = newton("log", exact(X), signs, U, w, b, rho, kappa, intercept=intercept)
    check(found, primal, optimum, verify(model, given, y, sample_weight=s), tol=1e-9)
    assert found.ok


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_squared_hinge(penalty):
    X, y = data()
    _, rho, kappa = PENALTIES[penalty]
    model = fit(LinearSVC(C=0.3, penalty=penalty, tol=1e-9), X, y, sample_weight=WEIGHTS)
    found = verify(model, X, y, sample_weight=WEIGHTS, rigorous=True)
    U = [mp.mpf(0.3) * mp.mpf(float(v)) for v in WEIGHTS]
    signs, w, b = np.where(y == 1, 1, -1).tolist(), model.coef_[0], float(model.intercept_[0])
    numbers = [mp.mpf(float(v)) for v in w]
    primal = objective("squared_hinge", exact(X), signs, U, numbers, b, rho, kappa)
    optimum = newton("squared_hinge", exact(X), signs, U, w, b, rho, kappa)
    check(found, primal, optimum, verify(model, X, y, sample_weight=WEIGHTS), tol=1e-9)
    assert found.ok


@pytest.mark.parametrize("alpha", [0.7, 0.0])
def test_the_squared_error(alpha):
    X, y = data()
    model = sklearn.linear_model.RidgeClassifier(alpha=alpha).fit(X, y)
    found = verify(model, X, y, rigorous=True)
    signs, w, b = (
        np.where(y == 1, 1, -1).tolist(),
        np.ravel(model.coef_),
        float(np.ravel(model.intercept_)[0]),
    )
    # sum (y - f)^2 + alpha |w|^2 is twice the sum of half the squares.
    U, kappa = [mp.mpf(2)] * N, 2 * mp.mpf(alpha)
    numbers = [mp.mpf(float(v)) for v in w]
    primal = objective("squared_error", exact(X), signs, U, numbers, b, 0, kappa)
    optimum = newton("squared_error", exact(X), signs, U, w, b, 0, kappa)
    check(found, primal, optimum, verify(model, X, y), tol=1e-9)


def test_a_penalised_intercept_of_another_library():
    X, y = data()
    signs = np.where(y == 1, 1, -1).tolist()
    model = fit(sklearn.svm.LinearSVC(C=0.4, intercept_scaling=3.0, tol=1e-10), X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    tau, U = 1 / mp.mpf(9), [mp.mpf(0.4)] * N
    numbers = [mp.mpf(float(v)) for v in w]
    primal = objective("squared_hinge", exact(X), signs, U, numbers, b, tau=tau)
    optimum = newton("squared_hinge", exact(X), signs, U, w, b, tau=tau)
    check(verify(model, X, y, rigorous=True), primal, optimum, verify(model, X, y))


def test_an_intercept_under_l1_whose_weight_is_a_quotient():
    X, y = data()
    signs = np.where(y == 1, 1, -1).tolist()
    model = fit(
        sklearn.linear_model.LogisticRegression(
            l1_ratio=1.0, solver="liblinear", intercept_scaling=3.0, tol=1e-10
        ),
        X,
        y,
    )
    w, b = [mp.mpf(float(v)) for v in model.coef_[0]], mp.mpf(float(model.intercept_[0]))
    U = [mp.mpf(1)] * N
    primal = objective("log", exact(X), signs, U, w, b, 1, 0) + abs(b) / 3
    found = verify(model, X, y, rigorous=True)
    assert Fraction(found.primal) >= fraction(primal) - Fraction(1, 10**45)
    assert found.primal == pytest.approx(float(primal), rel=1e-14)
    assert found.dual == pytest.approx(verify(model, X, y).dual, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_hinge(weighted):
    X, y = data()
    s = WEIGHTS if weighted else np.ones(N)
    model = fit(LinearSVC(C=0.3, loss="hinge", tol=1e-10), X, y, sample_weight=s)
    found = verify(model, X, y, sample_weight=s, rigorous=True)
    machine = fit(KernelSVC(kernel="linear", C=0.3, tol=1e-10), X, y, sample_weight=s)
    again = verify(machine, X, y, sample_weight=s, rigorous=True)
    signs = np.where(y == 1, 1, -1).tolist()
    x, U = exact(X), [mp.mpf(0.3) * mp.mpf(float(v)) for v in s]
    alpha = np.zeros(N)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    optimum = hinge_optimum(x * x.T, signs, U, alpha)
    numbers = [mp.mpf(float(v)) for v in model.coef_[0]]
    primal = objective("hinge", x, signs, U, numbers, float(model.intercept_[0]))
    check(found, primal, optimum, verify(model, X, y, sample_weight=s), tol=1e-9)
    low, high = ends(again)
    assert (
        low <= fraction(optimum) + Fraction(1, 10**40) and fraction(optimum) <= high + low / 10**40
    )


def test_one_against_the_rest_has_parts_that_add_up():
    X, y = data(classes=3)
    model = fit(LinearSVC(), X, y)
    found = verify(model, X, y, rigorous=True)
    assert len(found.parts) == 3
    assert found.primal == pytest.approx(sum(p.primal for p in found.parts), rel=1e-14)
    assert found.ok and all(isinstance(p, RigorousCertificate) for p in found.parts)


# --- softmax ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "none"])
def test_softmax(penalty, weighted):
    X, y = data(classes=3, seed=4)
    if penalty == "none":
        y = np.random.default_rng(1).integers(0, 3, size=N)
    s = np.where(WEIGHTS > 0, WEIGHTS, 0.5) if weighted else np.ones(N)
    options, _, kappa = PENALTIES[penalty]
    model = fit(LogisticRegression(tol=1e-9, **options), X, y, sample_weight=s)
    found = verify(model, X, y, sample_weight=s, rigorous=True)
    x, U = exact(X), [mp.mpf(float(v)) for v in s]
    W, b = [[mp.mpf(float(v)) for v in row] for row in model.coef_], model.intercept_.tolist()
    primal = softmax_value(x, y, U, W, b, 0, kappa)
    optimum = softmax_optimum(x, y, U, model.coef_, b, kappa)
    check(found, primal, optimum, verify(model, X, y, sample_weight=s), tol=1e-9)
    assert found.ok


@pytest.mark.parametrize("options", [{"penalty": "l1"}, {"l1_ratio": 0.4}])
def test_softmax_with_a_kink(options):
    X, y = data(classes=3, seed=4)
    weights = np.array(WEIGHTS)
    model = fit(LogisticRegression(tol=1e-8, **options), X, y, sample_weight=weights)
    found = verify(model, X, y, sample_weight=weights, rigorous=True)
    rho = mp.mpf(options.get("l1_ratio", 1.0))
    W = [[mp.mpf(float(v)) for v in row] for row in model.coef_]
    U = [mp.mpf(float(v)) for v in weights]
    primal = softmax_value(exact(X), y, U, W, model.intercept_.tolist(), rho, 1 - rho)
    assert found.ok and found.dual >= verify(model, X, y, sample_weight=weights).dual * (1 - 1e-9)
    assert 0 <= Fraction(found.primal) - fraction(primal) <= Fraction(1, 10**12)


# --- kernels and hard margins ----------------------------------------------------------------


def rbf(X, gamma):
    n = len(X)
    x = [[mp.mpf(float(v)) for v in row] for row in X]
    return mp.matrix(
        n, n
    ) + mp.matrix([
        [mp.exp(-mp.mpf(gamma) * sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in x]
        for p in x
    ])  # fmt: skip


def poly(X, gamma, coef0, degree):
    x = exact(X)
    return (mp.mpf(gamma) * (x * x.T)).apply(lambda v: (v + mp.mpf(coef0)) ** degree)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_kernel_machines(kernel, hard):
    X, y = data()
    options = {"rbf": {"gamma": 0.5}, "poly": {"gamma": 0.5, "coef0": 1.5, "degree": 2}}
    C = np.inf if hard else 2.0
    if hard:
        X = X + 3.0 * np.where(y == 1, 1.0, -1.0)[:, None]
    given = X
    if kernel == "precomputed":
        given = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = fit(KernelSVC(kernel=kernel, C=C, tol=1e-10, **options.get(kernel, {})), given, y)
    found = verify(model, given, y, rigorous=True)
    K = {
        "rbf": lambda: rbf(X, 0.5),
        "poly": lambda: poly(X, 0.5, 1.5, 2),
        "precomputed": lambda: exact(given),
    }[kernel]()
    signs = np.where(y == 1, 1, -1).tolist()
    c = [mp.mpf(0)] * N
    for i, v in zip(model.support_.tolist(), model.dual_coef_[0].tolist(), strict=True):
        c[i] = mp.mpf(v)
    b = mp.mpf(float(model.intercept_[0]))
    product = K * mp.matrix(c)
    square = sum(c[i] * product[i] for i in range(N))
    margins = [signs[i] * (product[i] + b) for i in range(N)]
    if hard:
        primal = square / (2 * min(margins) ** 2)
    else:
        primal = square / 2 + 2 * sum(max(1 - z, mp.mpf(0)) for z in margins)
    optimum = hinge_optimum(K, signs, [mp.mpf(2)] * N, [abs(float(v)) for v in c], hard)
    check(found, primal, optimum, verify(model, given, y), tol=1e-9)
    assert found.ok


def test_the_hard_margin_of_a_plane():
    X, y = data()
    X = X + 3.0 * np.where(y == 1, 1.0, -1.0)[:, None]
    model = fit(LinearSVC(C=np.inf, tol=1e-10), X, y)
    found = verify(model, X, y, rigorous=True)
    machine = fit(KernelSVC(kernel="linear", C=np.inf, tol=1e-10), X, y)
    alpha = np.zeros(N)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    x, signs = exact(X), np.where(y == 1, 1, -1).tolist()
    optimum = hinge_optimum(x * x.T, signs, None, alpha, hard=True)
    w, b = [mp.mpf(float(v)) for v in model.coef_[0]], mp.mpf(float(model.intercept_[0]))
    margin = min(signs[i] * (mp.fdot([x[i, j] for j in range(D)], w) + b) for i in range(N))
    check(found, sum(v * v for v in w) / (2 * margin**2), optimum, verify(model, X, y), 1e-9)
    assert verify(machine, X, y, rigorous=True).ok


def test_one_against_one():
    X, y = data(classes=3)
    for model in (KernelSVC(C=2.0, tol=1e-9), sklearn.svm.SVC(C=2.0, tol=1e-9)):
        fit(model, X, y)
        found = verify(model, X, y, tol=1e-7, rigorous=True)
        assert found.ok and len(found.parts) == 3
        assert found.primal == pytest.approx(verify(model, X, y).primal, rel=1e-12)


def test_a_kernel_that_is_no_scalar_product_has_no_bound():
    X, y = data()
    model = fit(KernelSVC(kernel="sigmoid", gamma=1.0), X, y)
    found = verify(model, X, y, rigorous=True)
    assert found.status == "indefinite"
    assert found.interval[0] == "-inf" and found.dual == -np.inf and np.isfinite(found.primal)


def test_a_matrix_of_whole_numbers_is_decided_exactly():
    # A matrix of rank two: float64 sees eigenvalues of either sign, a polynomial none below zero.
    points = np.random.default_rng(0).integers(-5, 6, size=(N, 2)).astype(float)
    y = (points[:, 0] > 0).astype(int)
    K = points @ points.T
    model = fit(KernelSVC(kernel="precomputed", C=0.5), K, y)
    assert verify(model, K, y, rigorous=True).ok
    # One entry of the diagonal is a little too small now, by no more than rounding would be.
    K[0, 0] -= 1e-13
    found = verify(model, K, y, rigorous=True)
    assert found.status == "indefinite"


def test_a_matrix_of_many_rows_is_proved_by_its_factors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    K = np.exp(-np.abs(X[:, None] - X[None]).sum(axis=2)) + 0.1 * np.eye(200)
    model = fit(KernelSVC(kernel="precomputed"), K, y)
    assert verify(model, K, y, rigorous=True).ok


def test_an_approximation_is_held_to_its_own_problem():
    X, y = data()
    model = fit(KernelSVC(approximation="nystroem", random_state=0), X, y)
    assert verify(model, X, y, rigorous=True).ok


# --- what nobody should be able to get past --------------------------------------------------


@pytest.mark.parametrize("change", [1.01, 1.1, 0.0, -1.0])
def test_forged_weights(change):
    X, y = data()
    model = fit(LogisticRegression(C=0.7), X, y)
    honest = verify(model, X, y, rigorous=True)
    model.coef_ = model.coef_ * change
    found = verify(model, X, y, rigorous=True)
    assert found.status == "above_tol"
    # The optimum is where it was.
    assert ends(found)[0] <= ends(honest)[1] and found.primal > honest.primal
    assert found.dual == pytest.approx(honest.dual, rel=1e-5)


def test_a_bound_that_is_forged_does_not_get_in(monkeypatch):
    """Whatever dual point float64 suggests, what comes out of it is a bound."""
    X, y = data()
    model = fit(LogisticRegression(C=0.7), X, y)
    honest = verify(model, X, y, rigorous=True)
    rng = np.random.default_rng(0)
    from separatrix.verification import audit

    for size in (1e-3, 1.0, 1e6, 1e300):
        points = [size * rng.normal(size=N), np.full(N, np.nan), np.full(N, np.inf)]
        monkeypatch.setattr(
            audit, "_dual_points", lambda *_, points=points: iter((p, True) for p in points)
        )
        found = verify(model, X, y, rigorous=True)
        assert 0.0 <= found.dual <= honest.primal
        assert ends(found)[0] <= ends(honest)[1]


HOSTILE = {
    "tiny": lambda X: X * 1e-150,
    "huge": lambda X: X * 1e150,
    "one tiny column": lambda X: X * np.array([1e-150, 1.0, 1.0]),
    "columns far apart": lambda X: X * np.array([1e-150, 1.0, 1e150]),
    "an offset": lambda X: X + 1e12,
    "subnormal": lambda X: X * np.array([1.0, 1.0, 5e-324]),
}


@pytest.mark.crossed
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(penalty="l1"),
        LogisticRegression(penalty=None),
        LinearSVC(),
        LinearSVC(loss="hinge"),
        KernelSVC(kernel="linear"),
        KernelSVC(kernel="rbf"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", HOSTILE)
def test_hostile_scales(scale, model):
    X, y = data()
    X = HOSTILE[scale](X)
    try:
        fit(model, X, y)
        plain = verify(model, X, y)
    except (ValueError, OverflowError):
        pytest.skip("float64 refuses these data")
    found = verify(model, X, y, rigorous=True)
    low, high = found.interval
    assert low != "-inf" and Fraction(low) >= 0
    if high != "inf":
        assert Fraction(low) <= Fraction(high)
        assert found.dual <= found.primal and found.gap >= 0.0
    # Two statements about one number never exclude each other.
    assert found.dual <= plain.primal * (1 + 1e-9) + 1e-300
    if scale in ("tiny", "one tiny column", "subnormal"):
        assert plain.dual <= found.primal * (1 + 1e-9)


def test_dependent_columns_without_a_penalty():
    X, y = data()
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=N)
    X = np.column_stack([X, X[:, 0] + X[:, 1] * 0.5, np.ones(N), X[:, 2] * 4.0])
    model = fit(LogisticRegression(penalty=None, tol=1e-9), X, y)
    found = verify(model, X, y, rigorous=True)
    alone = verify(fit(LogisticRegression(penalty=None, tol=1e-9), X[:, :3], y), X[:, :3], y,
                   rigorous=True)  # fmt: skip
    assert alone.ok
    # The fourth column is one only to rounding, so that its optimum is another, but hardly.
    assert found.dual <= alone.primal
    assert found.primal == pytest.approx(alone.primal, rel=1e-8)
    whole = np.column_stack([X[:, :3], X[:, 0] * 2.0, np.ones(N), -X[:, 2]])
    model = fit(LogisticRegression(penalty=None, tol=1e-9), whole, y)
    assert verify(model, whole, y, rigorous=True).ok


def test_data_that_are_separable_have_the_bound_zero():
    X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    y = [0, 0, 1, 1]
    model = fit(LogisticRegression(penalty=None), X, y)
    found = verify(model, X, y, rigorous=True)
    assert found.status == "above_tol" and found.dual == 0.0 and found.interval[0] == "0"


def test_a_plane_that_does_not_separate():
    X, y = data()
    X = X + 3.0 * np.where(y == 1, 1.0, -1.0)[:, None]
    model = fit(LinearSVC(C=np.inf), X, y)
    model.intercept_ = model.intercept_ + 100.0
    found = verify(model, X, y, rigorous=True)
    assert found.primal == np.inf and found.interval[1] == "inf" and np.isfinite(found.dual)


def test_the_mistakes_of_a_perceptron_are_counted():
    X, y = data()
    model = fit(Perceptron(max_passes=3), X, y)
    found = verify(model, X, y, rigorous=True)
    scores = X @ model.coef_[0] + model.intercept_[0]
    assert found.primal == np.sum(np.where(y == 1, 1, -1) * scores <= 0) and found.dual == 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "squared_error"])
def test_every_loss_of_stochastic_gradients(loss):
    X, y = data()
    model = fit(SGDClassifier(loss=loss, random_state=0), X, y)
    found = verify(model, X, y, rigorous=True)
    plain = verify(model, X, y)
    assert found.primal == pytest.approx(plain.primal, rel=1e-12)
    assert found.dual == pytest.approx(plain.dual, rel=1e-3)


def test_a_perceptron_with_a_margin():
    X, y = data()
    model = fit(SGDClassifier(loss="perceptron", margin=0.3, random_state=0), X, y)
    found = verify(model, X, y, rigorous=True)
    plain = verify(model, X, y)
    assert found.primal == pytest.approx(plain.primal, rel=1e-12)
    assert found.dual == pytest.approx(plain.dual, rel=1e-3)


def test_losses_that_are_not_known_are_not_taken_for_their_parents():
    class Steeper(Hinge):
        def value(self, z):
            return 2.0 * np.maximum(1.0 - z, 0.0)

    X, y = data()
    model = fit(SGDClassifier(loss="hinge"), X, y)
    model.loss = Steeper()
    with pytest.raises(ValueError, match="does not cover the loss"):
        verify(model, X, y, rigorous=True)


def test_kernels_that_are_functions_are_the_values_they_return():
    def laplace(X, Z):
        return np.exp(-np.abs(X[:, None] - Z[None]).sum(axis=2))

    X, y = data()
    model = fit(KernelSVC(kernel=laplace), X, y)
    given = fit(KernelSVC(kernel="precomputed"), laplace(X, X), y)
    found = verify(model, X, y, rigorous=True)
    assert found.ok
    again = verify(given, laplace(X, X), y, rigorous=True)
    assert found.dual <= again.primal and again.dual <= found.primal


# --- the face --------------------------------------------------------------------------------


def test_the_time_limit():
    X, y = data()
    model = fit(LogisticRegression(C=0.7), X, y)
    found = verify(model, X, y, rigorous=True, time_limit=1e-9)
    assert found.status == "time_limit"
    assert found.dual == 0.0 and found.primal == np.inf and found.interval == ("0", "inf")


def test_a_tolerance_finer_than_float64():
    X, y = data()
    model = fit(LogisticRegression(tol=1e-12), X, y)
    found = verify(model, X, y, rigorous=True, tol=1e-20)
    assert found.bits > 64 and found.relative_gap < 1e-10


def test_closed_forms_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="LinearRegression solves equations"):
        verify(LinearRegression().fit(X, y), X, y, rigorous=True)


def test_many_weights_without_a_penalty_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 500))
    y = np.arange(40) % 2
    with pytest.raises(ValueError, match="the limit is 400"):
        verify(fit(LogisticRegression(penalty=None), X, y), X, y, rigorous=True)


def test_without_python_flint_the_message_says_what_to_install(monkeypatch):
    X, y = data()
    model = fit(LogisticRegression(), X, y)
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[exact\]"'):
        verify(model, X, y, rigorous=True)
    assert verify(model, X, y).ok


def test_as_json_and_back():
    X, y = data(classes=3)
    found = verify(fit(LinearSVC(), X, y), X, y, rigorous=True)
    again = RigorousCertificate.from_dict(found.to_dict())
    assert again == found and again.parts[0].interval == found.parts[0].interval
    low, high = found.interval
    assert str(found).startswith("optimal: ") and f"[{low}, {high}]" in str(found)


def test_a_strength_as_lam_is_printed_in_its_units():
    X, y = data()
    model = fit(LinearSVC(lam=0.03), X, y)
    found = verify(model, X, y, rigorous=True)
    low, high = (Fraction(end) for end in found.facts()[-1][1][4:-1].split(", "))
    inner = [Fraction(end) * Fraction(0.03) for end in found.interval]
    assert low < inner[0] and inner[1] < high and high - low < Fraction(1, 10**14)
    assert str(found).split(",")[0] == str(model.certificate_).split(",")[0]
    assert RigorousCertificate.from_dict(found.to_dict()) == found


def test_a_sentence_keeps_its_remedy():
    found = RigorousCertificate.enclosing(None, None, tol=1e-6, status="time_limit")
    assert str(found).endswith(REMEDIES["time_limit"].format(tol=1e-6))
    with pytest.raises(ValueError, match="is not one of"):
        RigorousCertificate.enclosing(None, None, tol=1e-6, status="fine")


@pytest.mark.parametrize(
    ("lower", "upper", "texts"),
    [
        ("1/3", "1/3", ("0." + "3" * 41, "0." + "3" * 40 + "4")),
        ("1/2", "1/2", ("0.5", "0.5")),
        ("0", "5", ("0", "5")),
        ("1/3", "2/3", ("0.333333", "0.666667")),
        ("-2/3", "-1/3", ("-0.666667", "-0.333333")),
        ("1e30", "2e30", ("1e+30", "2e+30")),
        ("1e-30", "2e-30", ("1e-30", "2e-30")),
        ("123456", "123457", ("123456", "123457")),
        ("0", "0", ("0", "0")),
    ],
)
def test_an_interval_as_text(lower, upper, texts):
    found = RigorousCertificate.enclosing(
        Fraction(lower), Fraction(upper), tol=1.0, status="above_tol"
    )
    low, high = found.interval
    assert (low, high) == texts
    assert Fraction(low) <= Fraction(lower) <= Fraction(upper) <= Fraction(high)
    assert Fraction(found.dual) <= Fraction(lower) and Fraction(found.primal) >= Fraction(upper)


def test_float64_fields_are_rounded_outward():
    beyond = Fraction(10) ** 400
    found = RigorousCertificate.enclosing(beyond, beyond * 2, tol=1.0, status="above_tol")
    assert found.dual == np.finfo(np.float64).max and found.primal == np.inf
    third = RigorousCertificate.enclosing(Fraction(1, 3), Fraction(1, 3), tol=1.0,
                                          status="above_tol")  # fmt: skip
    assert Fraction(third.dual) < Fraction(1, 3) < Fraction(third.primal)
    assert third.gap == 0.0
