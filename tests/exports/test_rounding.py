"""The bound on rounding: no evaluation is further from the exact value, and it is not vacuous."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from grids import share
from separatrix import QuadraticDiscriminantAnalysis
from separatrix.closed_form.polynomial import PolynomialBasis
from separatrix.data.design import as_design
from separatrix.exports.rounding import (
    DOUBLE,
    SINGLE,
    Enclosed,
    arithmetic,
    certain_labels,
    enclosed,
)
from separatrix.expressions import (
    Affine,
    Clipped,
    Consistent,
    Difference,
    Exp,
    Features,
    FirstWins,
    Interpolate,
    KernelSum,
    Leads,
    LogSigmoid,
    Monomials,
    Normalised,
    Quadratic,
    Scaled,
    Sigmoid,
    Softmax,
    Threshold,
    Votes,
    evaluated,
)
from separatrix.kernels.functions import PolynomialKernel, RBFKernel, SigmoidKernel

mpmath.mp.dps = 60

EXACT = mpmath.mpf


def of_features(X, errors=None):
    return Enclosed(X, np.zeros(X.shape) if errors is None else errors)


def hostile(random, n, d):
    """Columns of wild scales and offsets, so that sums cancel."""
    scales = 10.0 ** random.uniform(-6, 6, size=d)
    return scales * (random.standard_normal((n, d)) + random.choice([0.0, 1e4], size=d))


def exact_affine(X, W, b):
    return [
        [sum((Fraction(w) * Fraction(x) for w, x in zip(row, r, strict=True)), Fraction(c))
         for row, c in zip(W.tolist(), b.tolist(), strict=True)]
        for r in X.tolist()
    ]  # fmt: skip


def hold(found, exact, values, *, least=0.0):
    """The errors hold for what NumPy computed, and for the values beside them."""
    errors = found.errors.ravel()
    for own in (values, found.values):
        off = np.array([
            float(abs(EXACT(float(v)) - e)) for v, e in zip(own.ravel(), exact, strict=True)
        ])  # fmt: skip
        assert (off <= errors).all()
    assert np.median(errors[np.isfinite(errors)]) <= least


@pytest.mark.sampled
def test_sums_of_products():
    random = np.random.default_rng(0)
    for _ in range(share(40)):
        d = int(random.integers(1, 40))
        X = hostile(random, 5, d)
        W = random.standard_normal((3, d)) / np.abs(X).max(axis=0)
        b = random.standard_normal(3)
        tree = Affine(Features(d), W, b)
        exact = [EXACT(v.numerator) / v.denominator for r in exact_affine(X, W, b) for v in r]
        size = (np.abs(X) @ np.abs(W).T).max()
        least = 3 * (d + 3) * 2.0**-53 * (size + 3)
        hold(enclosed(tree, of_features(X)), exact, evaluated(tree, as_design(X)), least=least)
        # Another order of the sums, and products that are not rounded before they are added.
        order = random.permutation(d)
        other = np.array([[float(sum(Fraction(w[j]) * Fraction(x[j]) for j in order)) for w in W]
                          for x in X]) + b  # fmt: skip
        assert (np.abs(other - enclosed(tree, of_features(X)).values)
                <= 2 * enclosed(tree, of_features(X)).errors).all()  # fmt: skip


def test_sums_that_lose_every_term():
    """From left to right each small term is rounded away, as none is where they come first."""
    for d in (3, 60, 1000):
        tree = Affine(Features(d), np.ones((1, d)), np.zeros(1))
        row = np.full((1, d), 2.0**-53)
        row[0, 0] = 1.0
        found = enclosed(tree, of_features(row))
        assert sum(row[0].tolist()) == 1.0
        assert (d - 1) * 2.0**-53 <= found.errors[0, 0] <= (d + 3) * 2.0**-53
        small_first = sum(row[0, ::-1].tolist())
        assert abs(small_first - 1.0) <= 2.0 * found.errors[0, 0]


def test_functions_of_scores():
    random = np.random.default_rng(1)
    S = np.concatenate([random.standard_normal((30, 3)) * 5, random.standard_normal((20, 3)) * 300])
    scores = Affine(Features(3), np.eye(3), np.zeros(3))
    one = Affine(Features(3), np.eye(3)[:1], np.zeros(1))
    rows = as_design(S)

    def shares(row, of=mpmath.exp):
        parts = [of(EXACT(v)) for v in row]
        return [p / sum(parts) for p in parts]

    def sigmoid(v):
        return 1 / (1 + mpmath.exp(-EXACT(v)))

    points, heights = np.array([-3.0, -1.0, 0.5, 4.0]), np.array([0.1, 0.2, 0.7, 0.95])

    def interpolated(v):
        v = min(max(Fraction(v), Fraction(-3)), Fraction(4))
        k = max(j for j in range(3) if points[j] <= v)
        x = [Fraction(float(p)) for p in points]
        p = [Fraction(float(h)) for h in heights]
        value = p[k] + (v - x[k]) / (x[k + 1] - x[k]) * (p[k + 1] - p[k])
        return EXACT(value.numerator) / value.denominator

    flat = S.ravel().tolist()
    cases = [
        (Softmax(scores), [p for row in S for p in shares(row)]),
        (Sigmoid(one), [p for v in S[:, 0] for p in (sigmoid(-v), sigmoid(v))]),
        (Exp(scores), [mpmath.exp(EXACT(v)) for v in flat]),
        (LogSigmoid(scores), [mpmath.log(sigmoid(v)) for v in flat]),
        (Softmax(LogSigmoid(scores)), [p for row in S for p in shares(row, sigmoid)]),
        (Interpolate(scores, points, heights), [interpolated(v) for v in flat]),
        (Clipped(scores), [(min(max(EXACT(v), -1), 1) + 1) / 2 for v in flat]),
        (Scaled(scores, 0.3, -0.7), [EXACT(0.3) * EXACT(v) - EXACT(0.7) for v in flat]),
        (Normalised(Clipped(scores)), None),
        (Leads(scores), [EXACT(row[k]) - max(EXACT(row[j]) for j in range(3) if j != k)
                         for row in S.tolist() for k in range(3)]),
    ]  # fmt: skip
    for node, exact in cases:
        found, values = enclosed(node, of_features(S)), evaluated(node, rows)
        if exact is None:
            own = [[(min(max(EXACT(v), -1), 1) + 1) / 2 for v in row] for row in S.tolist()]
            exact = [p / sum(r) if sum(r) else EXACT(1) / 3 for r in own for p in r]
        size = float(np.abs(values).max())
        hold(found, exact, values, least=1e-12 * (1.0 + size))


def test_gaussians_and_kernels():
    random = np.random.default_rng(2)
    X = random.standard_normal((60, 4)) @ np.diag([1.0, 100.0, 1e-3, 5.0]) + [0, 1e3, 0, 0]
    y = (X[:, 0] + random.standard_normal(60) > 0).astype(int)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    own = model._ready()
    tree = Quadratic(Features(4), own)
    rows = X[:8]
    exact = []
    for x in rows.tolist():
        for k, constant in enumerate(tree.constants.tolist()):
            lower = mpmath.matrix(np.tril(own.factor(k).lower).tolist())
            rest = np.zeros(4) if own.rest is None else own.rest[k]
            step = mpmath.matrix([
                (EXACT(a) - EXACT(float(m)) - EXACT(float(r))) * EXACT(float(s))
                for a, m, r, s in zip(x, own.means[k], rest, own.factor(k).scale, strict=True)
            ])  # fmt: skip
            white = mpmath.lu_solve(lower, step)
            exact.append(EXACT(constant) - sum(v**2 for v in white) / 2)
    values = evaluated(tree, as_design(rows))
    hold(enclosed(tree, of_features(rows)), exact, values, least=1e-8)

    vectors, coefficients = X[20:40] / [1, 100, 1e-3, 5], random.standard_normal((20, 2))
    points = X[:8] / [1, 100, 1e-3, 5]
    product = lambda a, b: sum(EXACT(p) * EXACT(q) for p, q in zip(a, b, strict=True))  # noqa: E731
    kernels = [
        (RBFKernel(gamma=0.3), lambda a, b: mpmath.exp(
            -EXACT(0.3) * sum((EXACT(p) - EXACT(q)) ** 2 for p, q in zip(a, b, strict=True)))),
        (PolynomialKernel(degree=3, gamma=0.2, coef0=1.0),
         lambda a, b: (EXACT(0.2) * product(a, b) + 1) ** 3),
        (SigmoidKernel(gamma=0.1, coef0=-0.5),
         lambda a, b: mpmath.tanh(EXACT(0.1) * product(a, b) - EXACT(0.5))),
    ]  # fmt: skip
    for kernel, of in kernels:
        tree = KernelSum(Features(4), kernel, vectors, coefficients, np.array([0.1, -2.0]))
        exact = [
            sum(EXACT(c) * of(x, v) for c, v in zip(own, vectors.tolist(), strict=True)) + EXACT(b)
            for x in points.tolist()
            for own, b in zip(coefficients.T.tolist(), (0.1, -2.0), strict=True)
        ]
        values = evaluated(tree, as_design(points))
        size = float(np.abs(values).max())
        hold(enclosed(tree, of_features(points)), exact, values, least=1e-9 * (1.0 + size))


def test_polynomials():
    random = np.random.default_rng(3)
    X = random.standard_normal((50, 2)) * [1.0, 1e3] + [5.0, 1e5]
    basis = PolynomialBasis.of(as_design(X), 4)
    tree = Monomials(Features(2), basis)
    rows = X[:6]
    exact = []
    for x in rows.tolist():
        single = []
        for j in range(2):
            t = (EXACT(x[j]) - EXACT(float(basis.centre[j]))) * EXACT(float(basis.scale[j]))
            own, before = [EXACT(1)], EXACT(0)
            for a, b, s in basis.recurrence[j, : int(basis.top[j])].tolist():
                after = ((t - EXACT(a)) * own[-1] - EXACT(b) * before) * EXACT(s)
                before = own[-1]
                own.append(after)
            single.append(own)
        exact += [single[0][p] * single[1][q] for p, q in basis.powers.tolist()]
    values = evaluated(tree, as_design(rows))
    hold(enclosed(tree, of_features(rows)), exact, values, least=1e-9)


def test_classes_are_certain_beyond_the_bound_alone():
    tree = Affine(Features(1), np.array([[1.0]]), np.array([-1.0]))
    rows = of_features(np.array([[1.0], [np.nextafter(1.0, 2.0)], [2.0]]))

    def of(node):
        return enclosed(node, rows)

    labels, certain = certain_labels(Threshold(tree), of)
    assert labels.tolist() == [0, 1, 1]
    assert certain.tolist() == [False, False, True]
    both = Affine(Features(1), np.array([[1.0], [1.0], [0.0]]), np.zeros(3))
    labels, certain = certain_labels(FirstWins(both), of)
    assert labels.tolist() == [0, 0, 0]
    assert not certain.any()
    # A tie is lifted to the class that is predicted, which may be another there.
    first = Softmax(both)
    lifted = enclosed(Consistent(first, FirstWins(both)), rows)
    assert (lifted.errors >= enclosed(first, rows).errors).all()
    assert not np.isfinite(enclosed(Votes(both, 3), of_features(np.array([[0.0]]))).errors).any()
    pair = Affine(Features(1), np.array([[1.0], [3.0]]), np.zeros(2))
    apart = enclosed(Difference(pair), of_features(np.array([[1.0], [2.0]])))
    assert apart.values[:, 0].tolist() == [2.0, 4.0]


def test_single_precision_is_charged_for():
    random = np.random.default_rng(4)
    X, W = random.standard_normal((20, 6)), random.standard_normal((2, 6))
    tree = Softmax(Affine(Features(6), W, np.array([0.5, -0.5])))
    single = X.astype(np.float32) @ W.T.astype(np.float32) + np.float32([0.5, -0.5])
    with arithmetic(SINGLE):
        rounded = Enclosed(X, np.abs(X) * SINGLE.unit)
        scores = enclosed(tree.of, rounded)
        shares = enclosed(tree, rounded)
    assert (np.abs(single - scores.values) <= 2 * scores.errors).all()
    assert (scores.errors > 1e-8).all()
    exponents = np.exp(single - single.max(axis=1, keepdims=True))
    own = exponents / exponents.sum(axis=1, keepdims=True)
    assert (np.abs(own - shares.values) <= 2 * shares.errors).all()
    assert arithmetic.now is DOUBLE
