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
    _enclose,
    arithmetic,
    certain_labels,
    enclosed,
    matrix_of,
)
from separatrix.expressions import (
    Affine,
    Clipped,
    Consistent,
    Difference,
    Evaluation,
    Exp,
    Features,
    FirstWins,
    Interpolate,
    KernelSum,
    Leads,
    LogSigmoid,
    Monomials,
    Normalised,
    Positive,
    Quadratic,
    Scaled,
    Sigmoid,
    Softmax,
    Threshold,
    Votes,
    Wins,
    evaluated,
)
from separatrix.expressions.features import (
    Arithmetic,
    Cell,
    Compare,
    Constant,
    DatePart,
    Function,
    IsMissing,
    Power,
    Program,
    Where,
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
    near = Votes(Affine(Features(1), np.array([[1.0], [1.0], [0.0]]), np.array([-1.0, 0, 0])), 3)
    assert not np.isfinite(enclosed(near, of_features(np.array([[1.0]]))).errors).any()
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


def taken_through(node, evaluated_at):
    """The values of a node, given those of its argument."""
    return Evaluation(None).given(node.of, evaluated_at).of(node)


def test_errors_of_the_arguments_are_charged_at_their_worst_place():
    """Exact arguments lie within once the error, and those of another evaluation within twice."""
    random = np.random.default_rng(5)
    n, inner = 4000, Affine(Features(3), np.eye(3), np.zeros(3))
    values = random.standard_normal((n, 3)) * 10.0 ** random.uniform(-3, 3, size=(n, 1))
    errors = np.abs(values) * 10.0 ** random.uniform(-10, 2, size=(n, 3))
    # Scores whose exponentials are no numbers any more, and errors that bring them back.
    values[:200] = random.uniform(-900, 900, size=(200, 3))
    errors[:200] = random.uniform(0, 1500, size=(200, 3))
    values[200:300, :2] = values[200:300, 2:]
    exact, other = values.copy(), values.copy()
    for k in (0, 1):
        side = random.choice([-1.0, -0.5, 0.0, 1.0], size=(n, 3)) * 0.99999
        exact += side * errors * (k == 0)
        other = exact + side * errors
    points, heights = np.array([-2.0, 0.0, 1e-9, 2.0]), np.array([0.0, 0.2, 0.7, 0.9])
    one = Affine(Features(3), np.eye(3)[:1], np.zeros(1))
    nodes = [
        *(Sigmoid(one), Softmax(inner), Exp(inner), LogSigmoid(inner), Clipped(inner)),
        *(Leads(inner), Scaled(inner, -3.0, 0.5), Interpolate(inner, points, heights)),
        *(Votes(inner, 3), Wins(inner, 3), Positive(inner), Difference(inner)),
    ]
    for node in nodes:
        columns = 1 if node.of is one else 2 if isinstance(node, Difference) else 3
        known = Enclosed(values[:, :columns], errors[:, :columns])
        with np.errstate(all="ignore"):
            found = given(node, known)
            at = [taken_through(node, part[:, :columns]) for part in (exact, other)]
            for own in (at[1], found.values):
                off = np.where(np.isinf(found.errors), 0.0, np.abs(at[0] - own))
                assert (off <= found.errors).all(), type(node)
    for node in (Threshold(one), FirstWins(inner), Positive(inner)):
        columns = node.of.n_columns
        known = Enclosed(values[:, :columns], errors[:, :columns])
        labels, certain = certain_labels(node, lambda _: known)  # noqa: B023
        assert 0.1 < certain.mean() < 0.9
        for part in (exact, other):
            own = taken_through(node, part[:, :columns])
            assert (own[certain] == labels[certain]).all()
    shares = Normalised(inner)
    found = given(shares, Enclosed(np.abs(values), errors))
    at = [taken_through(shares, np.maximum(np.abs(values) + (part - values), 0.0))
          for part in (exact, other)]  # fmt: skip
    assert (np.abs(at[0] - at[1]) <= found.errors).all()


def given(node, known):
    """The bounds of a node, given those of its argument."""
    return _enclose(node, lambda _: known)


def test_what_float32_rounds_and_loses_is_charged_for():
    random = np.random.default_rng(6)
    one = Affine(Features(1), np.eye(1), np.zeros(1))
    S = random.uniform(-110, 110, size=(60, 1)).astype(np.float32).astype(np.float64)
    points, heights = np.array([-9.0, 1e5, 1e5 + 1e-3, 2e5]), np.array([0.0, 0.3, 0.9, 1.0])
    near = 1e5 + random.uniform(-0.02, 0.02, size=(60, 1))
    single = np.float32
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        minus, plus = (
            single(1) / (single(1) + np.exp(sign * S.astype(single))) for sign in (1, -1)
        )
        x, rounded = near.astype(single), points.astype(single)
        left = np.clip(np.searchsorted(rounded, x, side="right") - 1, 0, 2)
        p, q = (heights.astype(single)[left + k] for k in (0, 1))
        share = (x - rounded[left]) / (rounded[left + 1] - rounded[left])
        cases = [
            (Sigmoid(one), S, np.hstack([minus, plus])),
            (Exp(one), S, np.exp(S.astype(single))),
            (Interpolate(one, points, heights), near, np.fmin(p + share * (q - p), q)),
            # Weights that are no numbers of float32, and sums that are none.
            (Affine(Features(1), np.array([[1.7e-45]]), np.zeros(1)), S * 1e30,
             single(1.7e-45) * (S * 1e30).astype(single)),
            (Affine(Features(2), np.array([[1e20, -1e20]]), np.zeros(1)), np.hstack([S, S]) * 1e18,
             S.astype(single) * single(1e38) - S.astype(single) * single(1e38)),
        ]  # fmt: skip
        for node, rows, found in cases:
            whole = of_features(rows)
            with arithmetic(SINGLE):
                narrow = enclosed(node, of_features(rows, np.abs(rows) * SINGLE.unit))
            bounds = enclosed(node, whole).errors + narrow.errors
            off = np.abs(found - enclosed(node, whole).values)
            assert ((off <= bounds) | np.isinf(bounds)).all(), type(node)
            assert not np.isinf(bounds).all() or not np.isfinite(found).all()


def test_features_of_cells_that_cancel_overflow_or_lie_beside_a_condition():
    x, zero = Cell("x"), Constant(0.0)
    third = Arithmetic("/", x, Constant(3.0))
    # Nine thirds less three are rounded, and so may be on either side of zero.
    less = Arithmetic("-", Power(third, 2), Constant(1.0))
    side = Where(Compare("<", less, zero), zero, Constant(1.0))
    tiny = Arithmetic("/", Constant(1e-310), Power(Power(third, 60), 2))
    program = Program((x,), (side, Function("floor", less), tiny, less), ("",) * 4, None)
    found = matrix_of(program, {"x": [3.0 + 2e-15, 4.0, 3.0 - 2e-15]}, None)
    assert np.isinf(found.errors[[0, 2], :2]).all()
    assert (found.errors[1, :2] == 0.0).all()
    for k, cell in enumerate((3.0 + 2e-15, 4.0, 3.0 - 2e-15)):
        exact = EXACT(1e-310) / (EXACT(cell) / 3) ** 120
        assert abs(EXACT(float(found.values[k, 2])) - exact) <= found.errors[k, 2]
    missing = Where(IsMissing(x, (-999.9,)), zero, x)
    cells = {"x": [-999.9, np.nextafter(-999.9, 0.0), -998.0]}
    with arithmetic(SINGLE):
        found = matrix_of(Program((x,), (missing,), ("",), None), cells, None)
    assert np.isinf(found.errors[:, 0]).tolist() == [False, True, False]
    hour = DatePart(Cell("x", "date"), "hour")
    found = matrix_of(Program((x,), (hour,), ("",), None), {"x": [0.5, (1 - 1e-9) / 24]}, None)
    assert found.values[:, 0].tolist() == [12.0, 1.0]
    assert np.isinf(found.errors[:, 0]).tolist() == [False, True]
