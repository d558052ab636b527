"""Losses of the residual: derivatives, the scale that is found as well, and bounds that hold."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.linear_model import HuberRegressor as Peer

from grids import grid, share
from separatrix import ElasticNet as SparseMixture
from separatrix import Lasso, LinearSVR, SGDRegressor
from separatrix.data.design import as_design
from separatrix.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    ModifiedHuber,
    SquaredEpsilonInsensitive,
    SquaredResidual,
)
from separatrix.objectives.enclosure import Level, gamma
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, L2, ElasticNet, NoPenalty
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.residual import ResidualObjective, ScaledResidualObjective
from separatrix.solvers import Newton, QuasiNewton, ScaleContinuation, select_solver
from separatrix.solvers.driver import minimise

THRESHOLD = 1.35


def rows(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.linspace(-2, 3, d) + 0.3 * rng.normal(size=n) + 4.0
    y[: n // 10] += 20.0 * rng.normal(size=n // 10)
    return X, y


def problems():
    X, y = rows()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for kind, loss in (
        (ResidualObjective, Huber(THRESHOLD, 0.5)),
        (ScaledResidualObjective, Huber(THRESHOLD)),
    ):
        for fit_intercept in (True, False):
            for w in (None, weights):
                options = {"C": 2.0, "weights": w, "fit_intercept": fit_intercept}
                yield kind(as_design(X), y, loss, L2(), **options)


@pytest.mark.parametrize("problem", list(problems()))
def test_derivatives(problem):
    rng = np.random.default_rng(2)
    theta = 0.1 * rng.normal(size=problem.shape)
    step = 1e-6
    ends = [(theta + step * e, theta - step * e) for e in np.eye(len(theta))]
    slopes = [(problem.value(a) - problem.value(b)) / (2 * step) for a, b in ends]
    gradient = problem.gradient(theta)
    assert_allclose(gradient, slopes, atol=1e-6 * np.abs(gradient).max())
    turns = [(problem.gradient(a) - problem.gradient(b)) / (2 * step) for a, b in ends]
    curvature = problem.curvature(problem.linear(theta))
    hessian = problem.hessian(curvature)
    assert_allclose(hessian, turns, atol=1e-6 * np.abs(hessian).max())
    direction = rng.normal(size=problem.shape)
    assert_allclose(problem.hessian_product(curvature, direction), hessian @ direction, rtol=1e-9)
    assert_allclose(problem.hessian_diagonal(curvature), np.diagonal(hessian), rtol=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        EpsilonInsensitive(0.0),
        EpsilonInsensitive(0.3),
        SquaredEpsilonInsensitive(0.3),
        SquaredResidual(),
        LogLoss(),
        Hinge(),
        ModifiedHuber(),
    ],
    ids=repr,
)
def test_compiled_sums_are_those_of_arrays(loss, monkeypatch):
    X, y = rows(5000)
    targets = y if loss.of_residual else np.sign(y - 4.0)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    kind = ResidualObjective if loss.of_residual else MarginObjective
    problem = kind(as_design(X), targets, loss, L2(), C=2.0, weights=weights)
    theta = np.append(np.linspace(-0.5, 0.5, 4), 0.1)
    proof = problem.bound(theta)
    outside = 4.0 * proof.residual + 4.0 * problem.upper
    stray = np.where(weights > 0.0, proof.residual, 1.0)

    def sums():
        charged = problem.charged(theta, Level.NORMS, proof, proof)
        terms = problem.dual_terms(proof.scores, proof.residual)
        for residual in (outside, stray):
            terms += problem.dual_terms(proof.scores, residual)
        return *terms, charged.primal, charged.dual

    compiled = sums()
    # A row without weight has no multiplier.
    assert compiled[4:6] == (np.inf, np.inf) and problem.conjugate_value(stray) == np.inf
    monkeypatch.setattr("separatrix.objectives.pointwise.scalars_of", lambda loss: None)
    assert_allclose(compiled, sums(), rtol=1e-11)


@pytest.mark.parametrize("problem", list(problems()))
def test_weak_duality_holds_at_any_pair_of_points(problem):
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta, other = rng.normal(size=(2, *problem.shape))
        bound = problem.bound(other, problem.residual(problem.linear(theta)))
        assert bound.dual <= problem.value(theta) * (1 + 1e-12)
        assert bound.dual <= bound.primal


def test_the_scale_is_the_best_one():
    X, y = rows()
    rng = np.random.default_rng(4)
    weights = rng.integers(0, 3, len(y)).astype(float)
    problem = ScaledResidualObjective(as_design(X), y, Huber(THRESHOLD), C=3.0, weights=weights)
    for spread in (0.1, 1.0, 10.0):
        z = spread * rng.standard_t(1.5, size=len(y))

        def value(log_scale, z=z):
            loss = Huber(THRESHOLD, np.exp(log_scale))
            return problem.upper @ (0.5 * loss.scale + loss.value(z))

        best = minimize_scalar(value, bounds=(-10, 10), method="bounded", options={"xatol": 1e-12})
        assert_allclose(problem.scale_of(z), np.exp(best.x), rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scikit_learn_finds_nothing_better(alpha, fit_intercept):
    X, y = rows()
    peer = Peer(alpha=alpha, epsilon=THRESHOLD, max_iter=10_000, tol=1e-8)
    peer.set_params(fit_intercept=fit_intercept).fit(X, y)
    penalty, C = (L2(), 1.0 / alpha) if alpha else (NoPenalty(), 1.0)
    problem = ScaledResidualObjective(
        as_design(X), y, Huber(THRESHOLD), penalty, C=C, fit_intercept=fit_intercept
    )
    solution = minimise(problem, select_solver(problem), tol=1e-9)
    assert solution.certificate.status == "optimal"
    theirs = problem.join(peer.coef_, peer.intercept_)
    assert solution.certificate.dual <= problem.value(theirs)
    assert problem.value(solution.theta) <= problem.value(theirs) * (1 + 1e-12)
    assert_allclose(solution.theta, theirs, atol=1e-4)
    scale = problem.scale_of(y - problem.linear(solution.theta))
    assert_allclose(scale, peer.scale_, rtol=1e-4)


def test_some_of_the_rows_have_their_targets():
    index = np.array([3, 17, 40])
    for problem in problems():
        for part in (problem.of_rows(index), problem.sample(np.append(index, 41))):
            assert np.array_equal(
                part.targets, problem.targets[np.append(index, 41)][: len(part.y)]
            )


def test_a_sample_of_the_rows_serves_quasi_newton():
    X, y = rows(n=4000)
    problem = ScaledResidualObjective(as_design(X), y, Huber(THRESHOLD), C=0.1)
    assert minimise(problem, QuasiNewton(), tol=1e-8).certificate.status == "optimal"


def test_more_columns_than_rows():
    X, y = rows(n=60, d=3000)
    problem = ScaledResidualObjective(as_design(X), y, Huber(THRESHOLD), C=0.01)
    assert isinstance(select_solver(problem), ScaleContinuation)
    assert minimise(problem, select_solver(problem)).certificate.status == "optimal"


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_rows_that_can_be_fitted_exactly(C):
    X = rows(n=200, d=20)[0]
    problem = ScaledResidualObjective(as_design(X), X @ np.arange(20.0) + 1.0, Huber(), C=C)
    found = minimise(problem, select_solver(problem), max_iter=100)
    assert found.certificate.status == "optimal"


# --- bounds, against the objective in eighty digits -------------------------------------------


def _hostile(rng):
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 10.0 ** rng.uniform(-9, 1) * rng.standard_t(1.5, size=n)
    kind = rng.integers(8)
    if kind == 0:
        X[0, 0] = 10.0 ** rng.uniform(3, 12)
    elif kind == 1:
        X[:, 0] += 10.0 ** rng.uniform(3, 10)
    elif kind == 2:
        y += 10.0 ** rng.uniform(3, 12)
    elif kind == 3:
        y *= 10.0 ** rng.uniform(-100, 100)
    elif kind == 4:
        X *= 10.0 ** rng.uniform(-60, 60, size=d)
    elif kind == 5:
        y[0] = 10.0 ** rng.uniform(3, 15)
    elif kind == 6:
        X[:, -1] = X[:, 0] * (1 + 1e-15 * rng.normal(size=n))
    weights = None
    if rng.random() < 0.4:
        weights = 10.0 ** rng.uniform(-3, 3, size=n) * rng.integers(0, 2, size=n)
        weights[0] = 1.0
    alpha = rng.choice([0.0, 1e-4, 1.0, 10.0 ** rng.uniform(-20, 20)])
    return X, y, weights, alpha, bool(rng.integers(2))


def _exact_value(problem, X, y, theta, scaled):
    """The objective without rounding but that of eighty digits."""
    mp.mp.dps = 80

    def number(v):
        f = Fraction(float(v))
        return mp.mpf(f.numerator) / f.denominator

    w = theta[: X.shape[1]]
    b = Fraction(float(theta[-1])) if problem.fit_intercept else Fraction(0)
    z = []
    for row, t in zip(X, y, strict=True):
        s = sum((Fraction(float(a)) * Fraction(float(c)) for a, c in zip(row, w, strict=True)), b)
        f = abs(Fraction(float(t)) - s)
        z.append(mp.mpf(f.numerator) / f.denominator)
    u, delta = [number(v) for v in problem.upper], number(THRESHOLD)
    penalty = sum(number(v) ** 2 for v in w) / 2 if problem.penalty.coercive else mp.mpf(0)

    def losses(scale):
        total = mp.mpf(0)
        for weight, size in zip(u, z, strict=True):
            near = min(size, delta * scale)
            total += weight * (near**2 / (2 * scale) + delta * (size - near))
        return total + (sum(u) * scale / 2 if scaled else 0)

    if not scaled:
        return penalty + losses(number(problem.loss.scale))
    # The best scale is one of those that are best for a number of rows within reach, or the least.
    candidates = [number(problem.least_scale)]
    order = sorted(range(len(z)), key=z.__getitem__)
    squares, beyond = mp.mpf(0), sum(u)
    for i in order:
        squares, beyond = squares + u[i] * z[i] ** 2, beyond - u[i]
        rest = sum(u) - delta**2 * beyond
        if rest > 0 and squares > 0:
            candidates.append(mp.sqrt(squares / rest))
    return penalty + min(losses(s) for s in candidates if s >= candidates[0])


@pytest.mark.crossed
@pytest.mark.sampled
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("block", range(4))
def test_bounds_hold_on_hostile_data(scaled, block):
    rng = np.random.default_rng([block, scaled])
    certified, count = 0, share(120)
    for _ in range(count):
        X, y, weights, alpha, fit_intercept = _hostile(rng)
        penalty, C = (L2(), 1.0 / alpha) if alpha else (NoPenalty(), 1.0)
        kind = ScaledResidualObjective if scaled else ResidualObjective
        loss = Huber(THRESHOLD, 1.0 if scaled else 10.0 ** rng.uniform(-3, 3))
        options = {"C": C, "weights": weights, "fit_intercept": fit_intercept}
        problem = kind(as_design(X), y, loss, penalty, **options)
        points = []
        for tol in (1e-4, 1e-10):
            solution = minimise(problem, Newton(), tol=tol, max_iter=60)
            points.append((solution.certificate, solution.theta))
        values = [_exact_value(problem, X, y, theta, scaled) for _, theta in points]
        for (certificate, _), value in zip(points, values, strict=True):
            certified += certificate.status == "optimal"
            assert certificate.primal >= value
            assert certificate.dual <= min(values)
    assert 3 * certified >= 2 * count


def test_targets_of_rows_without_weight_cost_no_digits_of_the_bound() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    weights = np.r_[np.zeros(20), np.ones(40)]
    wide = np.where(weights > 0.0, y, 1e20)
    for fit_intercept in (False, True):
        for loss in (Huber(1.0), SquaredEpsilonInsensitive(0.1), EpsilonInsensitive(0.1)):
            options = {"weights": weights, "fit_intercept": fit_intercept}
            plain = ResidualObjective(as_design(X), y, loss, **options)
            other = ResidualObjective(as_design(X), wide, loss, **options)
            solution = minimise(plain, select_solver(plain), tol=1e-6, max_iter=200)
            residual = plain.residual(plain.linear(solution.theta))
            proofs = [problem.bound(solution.theta, residual) for problem in (plain, other)]
            bounds = [
                problem.certify(solution.theta, proof, 1e-6)
                for problem, proof in zip((plain, other), proofs, strict=True)
            ]
            assert bounds[1].gap == bounds[0].gap


# --- the charged bound, beside both sides of duality in exact numbers -----------------------------

HALF, EPSILON = Fraction(1, 2), Fraction(0.25)
# Value at a residual and conjugate at a slope, in exact numbers.
EXACT = {
    SquaredResidual: (lambda z: HALF * z * z, lambda t: HALF * t * t),
    EpsilonInsensitive: (lambda z: max(abs(z) - EPSILON, 0), lambda t: EPSILON * abs(t)),
    SquaredEpsilonInsensitive: (
        lambda z: max(abs(z) - EPSILON, 0) ** 2,
        lambda t: EPSILON * abs(t) + t * t / 4,
    ),
    Huber: (
        lambda z: HALF * z * z if abs(z) <= 1 else abs(z) - HALF,
        lambda t: HALF * t * t,
    ),
}


def exact_sides(problem, theta, residual, share):
    """The objective at a point, and the dual objective near a residual, made feasible exactly."""
    value, conjugate = EXACT[type(problem.loss)]
    X = [[Fraction(x) for x in row] for row in problem.design.matrix.tolist()]
    U, c = ([Fraction(v) for v in part.tolist()] for part in (problem.upper, problem.centres))
    d, l1, l2 = problem.design.n_features, Fraction(problem.penalty.l1), problem.penalty.l2
    w, b = [Fraction(v) for v in theta[:d].tolist()], Fraction(float(problem.intercept_of(theta)))
    scores = [sum(x * v for x, v in zip(row, w, strict=True)) + b for row in X]
    primal = sum(l1 * abs(v) + Fraction(l2) / 2 * v * v for v in w)
    primal += sum(u * value(t - s) for u, t, s in zip(U, c, scores, strict=True))
    r = [(1 - Fraction(share)) * Fraction(v) for v in residual.tolist()]
    if problem.balances:
        excess = sum(r) / sum(U)
        r = [v - excess * u for v, u in zip(r, U, strict=True)]
    if problem.loss.dual_upper < np.inf:
        assert all(abs(v) <= u for v, u in zip(r, U, strict=True))
    v = [abs(sum(s * row[j] for s, row in zip(r, X, strict=True))) for j in range(d)]
    if l2 == 0.0:
        longest = max(1, max(v) / l1)
        r, v = [s / longest for s in r], [l1] * d
    dual = -sum(max(p - l1, 0) ** 2 / (2 * Fraction(l2)) for p in v if p > l1)
    for s, u, t in zip(r, U, c, strict=True):
        dual -= s * t + (u * conjugate(-s / u) if u > 0 else 0)
    return primal, dual


LOSSES = [SquaredResidual(), EpsilonInsensitive(0.25), SquaredEpsilonInsensitive(0.25), Huber(1.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.key)
@grid("case", range(16))
def test_a_charged_bound_of_residuals_is_one_in_exact_numbers(loss, case):
    rng = np.random.default_rng(case)
    n, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d) + rng.choice([0.0, 1e4])
    y = X @ rng.normal(size=d) * 10.0 ** -rng.integers(0, 3) + rng.normal(size=n)
    y += rng.choice([0.0, 1e6])
    options = {
        "C": 10.0 ** rng.integers(-3, 4),
        "weights": rng.integers(0, 3, size=n) + 0.1 if case % 2 else None,
        "fit_intercept": bool(case % 5),
    }
    penalty = (L2(), L1(), ElasticNet(0.5))[case % 3]
    problem = ResidualObjective(as_design(X), y, loss, penalty, **options)
    theta = minimise(problem, select_solver(problem), tol=1e-9, max_iter=100).theta
    bound = problem.bound(theta)
    if bound.dual == 0.0:
        return
    found = problem.charged(theta, Level.NORMS, bound, bound)
    weight, share = float(np.sum(problem.upper)), 0.0
    if problem.balances:
        share = problem._moves_to_balance(bound.residual, weight, gamma(n))[0]
    primal, dual = exact_sides(problem, theta, bound.residual, share)
    assert primal <= Fraction(found.primal)
    assert Fraction(found.dual) <= dual


def test_a_small_fit_of_residuals_is_charged_without_another_look_at_the_rows(monkeypatch):
    def none(self, *arguments):
        raise AssertionError("another dual point was made")

    X, y = rows(60, 3)
    monkeypatch.setattr(PointwiseObjective, "dual_point", none)
    for model in (Lasso(0.1), SparseMixture(0.1), LinearSVR(), SGDRegressor(random_state=0)):
        assert model.fit(X, y).certificate_.ok, model
