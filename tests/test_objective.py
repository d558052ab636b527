"""The objective: derivatives, feasibility of dual points, and the parts of the bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from grids import share
from helpers import minimum_smooth, minimum_softmax, pad, primal_margin, primal_softmax
from separatrix import LogisticRegression
from separatrix.data.design import as_design
from separatrix.losses import (
    Hinge,
    LogLoss,
    PerceptronLoss,
    SquaredError,
    SquaredHinge,
    margin_losses,
)
from separatrix.losses.smoothed import Smoothed
from separatrix.objectives.base import Bound, Objective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.objectives.penalties import L2, NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import Newton
from separatrix.solvers.driver import minimise

N, D, K = 40, 3, 4


def data(seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    codes = np.concatenate([np.arange(K), rng.integers(K, size=N - K)])
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=N)
    weights[:K] = 1.0
    return X, codes, weights


def objectives(smooth_only: bool = False):
    X, codes, weights = data()
    y = np.where(codes % 2 == 0, 1.0, -1.0)
    design = as_design(X)
    out = {}
    for penalty in (L2(), NoPenalty()):
        for intercept in (True, False):
            options = {"C": 0.7, "weights": weights, "fit_intercept": intercept}
            tag = f"{penalty!r}-{intercept}"
            for loss in margin_losses():
                if loss.smooth or not smooth_only:
                    out[f"{loss.name}-{tag}"] = MarginObjective(design, y, loss, penalty, **options)
            out[f"softmax-{tag}"] = SoftmaxObjective(design, codes, K, penalty, **options)
    out["penalised intercept"] = MarginObjective(
        design, y, LogLoss(), C=0.7, weights=weights, intercept_penalty=0.3
    )
    return out


ALL, SMOOTH = objectives(), objectives(smooth_only=True)
every_objective = pytest.mark.parametrize("name", ALL)
every_smooth_objective = pytest.mark.parametrize("name", SMOOTH)


def point(objective, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=objective.shape)


@every_objective
def test_a_pull_at_hand_changes_no_bound(name: str) -> None:
    objective = ALL[name]
    theta = point(objective)
    residual = objective.residual(objective.linear(theta))
    for dual_point in (residual, objective.balanced(residual)):
        pull = objective.design.t_dot(dual_point)
        expected = objective.bound(theta, dual_point)
        found = objective.bound(theta, dual_point, None, pull)
        assert (found.primal, found.dual, found.gap) == (
            expected.primal,
            expected.dual,
            expected.gap,
        )


@every_objective
def test_value_equals_the_formula_written_out(name: str) -> None:
    objective = ALL[name]
    X, codes, weights = data()
    theta = point(objective)
    b = theta[D] if objective.fit_intercept else 0.0
    options = {"C": 0.7, "weights": weights, "penalised": "NoPenalty" not in name}
    if name.startswith("softmax"):
        expected = primal_softmax(X, codes, theta[:D].T, b, **options)
    else:
        y = np.where(codes % 2 == 0, 1.0, -1.0)
        expected = primal_margin(
            objective.loss.name,
            X,
            y,
            theta[:D],
            b,
            intercept_penalty=objective.intercept_penalty,
            **options,
        )
    assert objective.value(theta) == pytest.approx(expected, rel=1e-13)
    assert objective.bound(theta).primal == pytest.approx(expected, rel=1e-13)


@every_objective
def test_linear_and_adjoint_are_transposes(name: str) -> None:
    objective = ALL[name]
    theta = point(objective)
    r = np.random.default_rng(2).normal(size=(N, *objective.output_shape))
    assert np.vdot(objective.linear(theta), r) == pytest.approx(
        np.vdot(theta, objective.adjoint(r)), rel=1e-12
    )


@every_objective
def test_gradient_against_differences(name: str) -> None:
    objective = ALL[name]
    theta, h = point(objective), 1e-6
    gradient = objective.gradient(theta)
    for index in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[index] = h
        slope = (objective.value(theta + step) - objective.value(theta - step)) / (2 * h)
        assert gradient[index] == pytest.approx(slope, abs=2e-7)


@every_smooth_objective
def test_hessian_against_differences(name: str) -> None:
    objective = SMOOTH[name]
    theta, h = point(objective), 1e-6
    curvature = objective.curvature(objective.linear(theta))
    hessian = objective.hessian(curvature)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-13)
    columns = []
    for index in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[index] = h
        change = objective.gradient(theta + step) - objective.gradient(theta - step)
        columns.append((change / (2 * h)).ravel())
    np.testing.assert_allclose(hessian, np.array(columns).T, atol=3e-7)
    direction = point(objective, 3)
    np.testing.assert_allclose(
        objective.hessian_product(curvature, direction).ravel(),
        hessian @ direction.ravel(),
        rtol=1e-11,
        atol=1e-11,
    )
    np.testing.assert_allclose(
        objective.hessian_diagonal(curvature).ravel(), np.diagonal(hessian), rtol=1e-12
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_hessian_of_a_step_is_rough_where_the_penalty_outweighs_it(fit_intercept) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    y = np.where(X[:, 0] > 0.3, 1.0, -1.0)
    for C, rough in ((1e-2, True), (50.0, True), (1e4, False)):
        problem = MarginObjective(
            as_design(X), y, LogLoss(), L2(), C=C, fit_intercept=fit_intercept
        )
        curvature = problem.curvature(problem.linear(problem.zero()))
        exact, found = problem.hessian(curvature), problem.step_hessian(curvature)
        assert np.array_equal(found, exact) != rough
        # They differ by much less than the least curvature that there is.
        assert np.linalg.norm(found - exact, 2) < 0.1
    wide = MarginObjective(as_design(X.astype(np.float64)), y, LogLoss(), L2(), C=1e-2)
    curvature = wide.curvature(wide.linear(wide.zero()))
    np.testing.assert_array_equal(wide.step_hessian(curvature), wide.hessian(curvature))


@every_objective
def test_balanced_residuals_sum_to_zero_and_stay_feasible(name: str) -> None:
    objective = ALL[name]
    rng = np.random.default_rng(4)
    for scale in (0.01, 1.0, 5.0, 30.0):
        scores = scale * rng.normal(size=(N, *objective.output_shape))
        raw = objective.residual(scores)
        r = objective.balanced(raw)
        mass = np.abs(raw).sum() + 1e-300
        assert np.abs(r.sum(axis=0)).max() <= 1e-14 * mass
        assert np.isfinite(objective.fenchel_young(scores, r))
        assert objective.fenchel_young(scores, r) >= 0.0


@every_objective
def test_balanced_keeps_what_is_balanced(name: str) -> None:
    objective = ALL[name]
    scores = np.random.default_rng(5).normal(size=(N, *objective.output_shape))
    once = objective.balanced(objective.residual(scores))
    np.testing.assert_allclose(objective.balanced(once), once, rtol=1e-9, atol=1e-12)


@every_objective
def test_balanced_does_not_change_its_argument(name: str) -> None:
    objective = ALL[name]
    r = objective.residual(np.random.default_rng(5).normal(size=(N, *objective.output_shape)))
    before = r.copy()
    objective.balanced(r)
    np.testing.assert_array_equal(r, before)


# Without a penalty the dual has no quadratic term; the bound test covers that case.
@pytest.mark.parametrize("name", [name for name in ALL if "NoPenalty" not in name])
def test_gap_equals_primal_minus_the_dual_written_out(name: str) -> None:
    # The gap as a sum of non-negative terms against  D = -Omega*(v) - sum U l*(r / U).
    objective = ALL[name]
    theta = 0.1 * point(objective)
    bound = objective.bound(theta)
    r = bound.residual
    v = -objective.design.t_dot(r)
    used = objective.upper > 0
    u = objective.upper[used]
    if name.startswith("softmax"):
        p = r[used] / u[:, None]
        p[np.arange(len(u)), objective.codes[used]] += 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            conjugate = np.where(p > 0, p * np.log(p), 0.0).sum(axis=1)
    else:
        conjugate = objective.loss.conjugate((objective.y * r)[used] / u)
    dual = -0.5 * np.sum(v * v) - u @ conjugate
    if objective.intercept_penalty:
        dual -= 0.5 * float(r.sum()) ** 2 / objective.intercept_penalty
    assert bound.gap == pytest.approx(bound.primal - bound.dual, rel=1e-9)
    assert bound.dual == pytest.approx(max(dual, 0.0), rel=1e-9, abs=1e-9)


@every_objective
def test_an_infeasible_residual_proves_nothing(name: str) -> None:
    objective = ALL[name]
    rng = np.random.default_rng(6)
    theta = point(objective)
    best = min(objective.value(objective.zero()), objective.value(theta))
    for scale in (1e-3, 1.0, 1e3, 1e9):
        r = scale * rng.normal(size=(N, *objective.output_shape))
        bound = objective.bound(theta, r)
        assert 0.0 <= bound.dual <= best * (1 + 1e-12)


@every_objective
def test_rows_of_weight_zero_leave_no_trace(name: str) -> None:
    objective = ALL[name]
    X, _codes, weights = data()
    wild = X.copy()
    wild[weights == 0.0] = 1e6
    other = type(objective).__new__(type(objective))
    other.__dict__.update(objective.__dict__)
    other.design = as_design(wild)
    theta = point(objective)
    assert other.value(theta) == objective.value(theta)
    np.testing.assert_array_equal(other.gradient(theta), objective.gradient(theta))
    assert other.bound(theta).dual == pytest.approx(objective.bound(theta).dual, rel=1e-9)


def test_a_heavy_row_of_weight_zero_does_not_loosen_the_constraint() -> None:
    # Without a penalty the bound requires X'r = 0, relative to the columns; a row of weight
    # zero is no part of the problem and must not enter the scale.
    rng = np.random.default_rng(7)
    weights = np.append(np.ones(7), 0.0)
    cases = []
    for _ in range(200):
        X, y = rng.normal(size=(8, 2)), rng.choice([-1.0, 1.0], 8)
        X[-1] = 1e14
        cases.append((X, y, rng.normal(size=2) * 3.0))
    options = {"upper": np.ones(7), "intercept": False, "penalised": False}
    problems = [{"X": X[:-1], "y": y[:-1], **options} for X, y, _ in cases]
    optima = minimum_smooth("squared hinge", pad(problems, 7, 2))[1].astype(float)
    for trial, ((X, y, theta), optimum) in enumerate(zip(cases, optima, strict=True)):
        objective = MarginObjective(
            as_design(X), y, SquaredHinge(), NoPenalty(), weights=weights, fit_intercept=False
        )
        assert objective.bound(theta).dual <= optimum * (1 + 1e-9) + 1e-12, trial


# --- the offset of a column, where float64 runs out --------------------------------------------


def offset_problem(offset: float):
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    y = np.where(z + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
    X = (z + offset)[:, None]
    return X, X - offset, y


@pytest.mark.crossed
@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge(), SquaredError()], ids=repr)
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8, 1e9, 1e10, 1e12, 1e13, 1e14])
def test_no_penalty_a_column_with_an_offset(loss, offset: float) -> None:
    # The same half-spaces with and without the offset: the same optimum.  Where the offset
    # drowns the column, a bound may be absent but never wrong.
    X, centred, y = offset_problem(offset)
    problem = {"X": centred, "y": y, "upper": np.ones(60), "intercept": True, "penalised": False}
    optimum = float(minimum_smooth(loss.name, pad([problem], 60, 1))[1][0])
    objective = MarginObjective(as_design(X), y, loss, NoPenalty())
    certificate = minimise(objective, Newton(), max_iter=200).certificate
    assert certificate.dual <= optimum * (1 + 1e-15 * offset + 1e-9)
    if certificate.ok:
        assert certificate.primal <= optimum * (1 + 1e-6 + 1e-15 * offset)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8, 1e9, 1e10, 1e12])
def test_l2_a_column_with_an_offset(offset: float) -> None:
    X, centred, y = offset_problem(offset)
    problem = {"X": centred, "y": y, "upper": np.ones(60), "intercept": True, "penalised": True}
    optimum = float(minimum_smooth("log loss", pad([problem], 60, 1))[1][0])
    objective = MarginObjective(as_design(X), y, LogLoss())
    certificate = minimise(objective, Newton(), max_iter=200).certificate
    # The scores themselves carry an error of eps * offset.
    assert certificate.dual <= optimum * (1 + 1e-9 + 1e-14 * offset)
    if certificate.ok:
        assert certificate.primal <= optimum * (1 + 1e-6 + 1e-14 * offset)


@pytest.mark.parametrize("distance", [1e-4, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
def test_no_penalty_columns_that_nearly_coincide(distance: float) -> None:
    rng = np.random.default_rng(0)
    a, z = rng.normal(size=60), rng.normal(size=60)
    y = np.where(z + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
    X = np.stack([a, a + distance * z], axis=1)
    # The difference of the columns as they are stored, exactly; same span, same optimum.
    apart = np.stack([a, (X[:, 1] - X[:, 0]) / distance], axis=1)
    problem = {"X": apart, "y": y, "upper": np.ones(60), "intercept": True, "penalised": False}
    optimum = float(minimum_smooth("log loss", pad([problem], 60, 2))[1][0])
    objective = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
    certificate = minimise(objective, Newton(), max_iter=200).certificate
    assert certificate.dual <= optimum * (1 + 1e-6)
    if certificate.ok:
        assert certificate.primal <= optimum * (1 + 2e-6)


# --- bounds at extreme points ------------------------------------------------------------------


@pytest.mark.parametrize("b", [1e3, -1e6, 1e12, 1e17, -1e200])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), SquaredHinge()], ids=repr)
def test_bound_at_a_wild_intercept(loss, b: float) -> None:
    # All rows of one class are far on the right side: one side of the balance is empty.
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    objective = MarginObjective(as_design(X), y, loss)
    with np.errstate(over="ignore"):
        bound = objective.bound(np.array([0.5, b]))
    optimum = minimise(objective, Newton() if loss.smooth else _al(), tol=1e-9).certificate.primal
    assert bound.dual <= optimum * (1 + 1e-9)


def _al():
    from separatrix.solvers import AugmentedLagrangian

    return AugmentedLagrangian()


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
@pytest.mark.parametrize("multinomial", [False, True])
def test_bound_without_penalty_at_saturated_scores(scale: float, multinomial: bool) -> None:
    # The curvature underflows; there is no bound beyond the trivial one, and no failure.
    X = np.array([[-2.0, 1.0], [-1.0, 0.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.0], [0.1, 3.0]])
    codes = np.array([0, 0, 1, 1, 0, 2])
    if multinomial:
        objective = SoftmaxObjective(as_design(X), codes, 3, NoPenalty())
    else:
        y = np.where(codes == 1, 1.0, -1.0)
        objective = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
    theta = scale * np.random.default_rng(0).normal(size=objective.shape)
    bound = objective.bound(theta)
    assert 0.0 <= bound.dual <= objective.value(objective.zero())
    assert np.isfinite(bound.primal)


def test_one_side_of_weight_zero() -> None:
    # Nothing holds the intercept back: the infimum is 0 and every bound is 0.
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    for loss in (Hinge(), LogLoss(), SquaredHinge(), PerceptronLoss()):
        objective = MarginObjective(as_design(X), y, loss, weights=np.array([0.0, 1.0, 1.0]))
        for b in (-3.0, 0.0, 3.0):
            assert objective.bound(np.array([0.3, b])).dual <= 1e-12


def test_a_class_of_weight_zero_in_the_multinomial_loss() -> None:
    X, codes, weights = data()
    weights = np.where(codes == 2, 0.0, 1.0)
    objective = SoftmaxObjective(as_design(X), codes, K, weights=weights)
    theta = point(objective)
    without = codes != 2
    rest = SoftmaxObjective(as_design(X[without]), np.searchsorted([0, 1, 3], codes[without]), 3)
    optimum = minimise(rest, Newton(), tol=1e-10).certificate.primal
    assert objective.bound(theta).dual <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("ratio", [1e3, 1e9, 1e15])
def test_huge_imbalance(ratio: float) -> None:
    X, _, _ = data()
    y = np.full(N, -1.0)
    y[0] = 1.0
    weights = np.ones(N)
    weights[0] = ratio
    for loss in (Hinge(), LogLoss(), SquaredHinge()):
        objective = MarginObjective(as_design(X), y, loss, weights=weights)
        solver = Newton() if loss.smooth else _al()
        certificate = minimise(objective, solver).certificate
        # Beyond the digits of float64 the fit may say that it cannot, never that it can.
        assert certificate.ok or (ratio > 1e10 and certificate.status == "precision_limit")
        problem = {"X": X, "y": y, "upper": weights, "intercept": True, "penalised": True}
        if loss.smooth:
            optimum = float(minimum_smooth(loss.name, pad([problem], N, D))[1][0])
            assert certificate.dual <= optimum * (1 + 1e-12)
            assert certificate.primal <= optimum * (1 + 1.1 * max(certificate.relative_gap, 1e-12))


# --- the intercept -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", margin_losses(), ids=lambda loss: loss.name)
@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_best_intercept_against_a_fine_grid(loss, tau: float) -> None:
    X, codes, weights = data()
    y = np.where(codes % 2 == 0, 1.0, -1.0)
    objective = MarginObjective(as_design(X), y, loss, weights=weights, intercept_penalty=tau)
    # With many rows, those whose slopes are settled are left out on the way.
    times = 60
    many = MarginObjective(
        as_design(np.tile(X, (times, 1))),
        np.tile(y, times),
        loss,
        weights=np.tile(weights, times),
        intercept_penalty=times * tau,
    )
    for scale in (0.1, 3.0):
        w = scale * np.array([1.0, -2.0, 0.5])
        b = objective.best_intercept(X @ w)
        steps = np.geomspace(1e-6, 3.0, 60)
        grid = np.concatenate([b - steps, [b], b + steps])
        best = min(objective.value(np.append(w, g)) for g in grid)
        for found in (b, many.best_intercept(np.tile(X @ w, times))):
            assert objective.value(np.append(w, found)) <= best + 1e-9


@pytest.mark.parametrize(
    ("loss", "scores", "y", "weights", "tau"),
    [
        (SquaredHinge(), [-999.42, -1001.16], [1, -1], [3.9, 156e3], 0.0),
        (SquaredHinge(), [-14.4687], [1], [1.0], 1e-12),
        (Smoothed(Hinge(), 1e-3), [-14.4687], [1], [1.0], 1e-9),
        (Smoothed(Hinge(), 1e-3), [0.3, -2.0, 40.0], [1, -1, -1], [1e3, 1e3, 1e3], 1e-3),
        (LogLoss(), [-1e6, -1e6], [1, 1], [1e-170, 1e-170], 0.0),
        (Hinge(), [0.1, -0.4, 3.0], [1, -1, 1], [1e-8, 1.0, 1e8], 1e-3),
    ],
)
def test_best_intercept_past_kinks_and_beside_faint_slopes(loss, scores, y, weights, tau) -> None:
    scores, y, weights = (np.array(values, dtype=float) for values in (scores, y, weights))
    design = as_design(np.zeros((len(y), 1)))
    objective = MarginObjective(design, y, loss, weights=weights, intercept_penalty=tau)

    def slope(b: float) -> float:
        return float(np.sum(weights * y * loss.derivative(y * (scores + b)))) + tau * b

    def value(b: float) -> float:
        return objective.loss_value(scores + b) + 0.5 * tau * b * b

    low, high = -1e7, 1e7
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0.0 else (middle, high)
    best = min(value(low), value(high))
    assert value(objective.best_intercept(scores)) <= best * (1.0 + 1e-12)


def test_best_intercept_far_away_and_tiny() -> None:
    X = np.array([[0.0], [1.0]])
    y = np.array([-1.0, 1.0])
    for shift in (0.0, 1e-9, 1e6, -1e12):
        objective = MarginObjective(as_design(X), y, LogLoss())
        b = objective.best_intercept(np.array([0.0, 1.0]) + shift)
        assert b == pytest.approx(-0.5 - shift, rel=1e-9, abs=1e-9)


# --- statements about directions ---------------------------------------------------------------


def test_separates_and_recedes() -> None:
    X = np.array([[-1.0], [1.0], [5.0]])
    y = np.array([-1.0, 1.0, -1.0])
    ignoring = MarginObjective(as_design(X), y, LogLoss(), weights=np.array([1.0, 1.0, 0.0]))
    strict = MarginObjective(as_design(X), y, LogLoss())
    scores = X[:, 0]
    assert ignoring.separates(scores)
    assert not strict.separates(scores)
    assert not ignoring.separates(0.0 * scores)
    along = np.array([1.0, 0.0])
    assert ignoring.has_recession_direction(scores, along)
    assert not strict.has_recession_direction(scores, along)
    assert not strict.has_recession_direction(scores, 0.0 * along)
    assert not ignoring.has_recession_direction(scores, -along)
    softmax = SoftmaxObjective(as_design(X), np.array([0, 1, 0]), 2)
    both = np.stack([-scores, scores], axis=1)
    assert not softmax.separates(both)
    assert softmax.separates(both * np.array([1, 1, -1])[:, None])


def test_canonical_keeps_probabilities_and_lowers_nothing_but_the_shift() -> None:
    X, codes, _ = data()
    for penalty in (L2(), NoPenalty()):
        objective = SoftmaxObjective(as_design(X), codes, K, penalty)
        theta = point(objective)
        moved = objective.canonical(theta)
        assert objective.value(moved) == pytest.approx(objective.value(theta), rel=1e-13)
        np.testing.assert_allclose(moved[D:].mean(axis=1), 0.0, atol=1e-15)


# --- formulas ----------------------------------------------------------------------------------


def test_formula_reads_as_the_design_says() -> None:
    X, codes, weights = data()
    y = np.where(codes % 2 == 0, 1.0, -1.0)
    design = as_design(X)
    assert (
        str(MarginObjective(design, y, LogLoss()).formula())
        == "minimise 1/2 |w|^2 + 1 * sum log(1 + exp(-y (w.x + b)))"
    )
    without = MarginObjective(design, y, Hinge(), C=0.25, fit_intercept=False)
    assert str(without.formula()) == "minimise 1/2 |w|^2 + 0.25 * sum max(0, 1 - y w.x)"
    weighted = MarginObjective(design, y, SquaredHinge(), C=3.0, weights=weights)
    assert str(weighted.formula()) == "minimise 1/2 |w|^2 + 3 * sum s_i max(0, 1 - y (w.x + b))^2"
    free = MarginObjective(design, y, LogLoss(), NoPenalty())
    assert str(free.formula()) == "minimise 1 * sum log(1 + exp(-y (w.x + b)))"
    softmax = SoftmaxObjective(design, codes, K, fit_intercept=False)
    assert (
        str(softmax.formula())
        == "minimise 1/2 |w|^2 + 1 * sum log sum_k exp(s_k - s_y), s_k = w_k.x"
    )


def test_mistakes_are_counted_with_their_weights() -> None:
    X = np.array([[-1.0], [1.0], [2.0], [3.0]])
    y = np.array([-1.0, 1.0, -1.0, 1.0])
    objective = MistakeObjective(
        as_design(X), y, PerceptronLoss(), weights=np.array([1.0, 1.0, 2.5, 1.0])
    )
    assert objective.bound(np.array([1.0, 0.0])).primal == 2.5
    # On the plane is a mistake.
    assert objective.bound(np.array([0.0, 0.0])).primal == 5.5
    assert objective.bound(np.array([1.0, 0.0])).dual == 0.0


def test_sparse_and_dense_objectives_agree() -> None:
    X, codes, weights = data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    for objective in (
        lambda design: MarginObjective(
            design, np.where(codes == 0, 1.0, -1.0), LogLoss(), weights=weights
        ),
        lambda design: SoftmaxObjective(design, codes, K, weights=weights),
    ):
        dense, sparse = objective(as_design(X)), objective(as_design(sp.csr_array(X)))
        theta = point(dense)
        assert dense.value(theta) == pytest.approx(sparse.value(theta), rel=1e-13)
        np.testing.assert_allclose(dense.gradient(theta), sparse.gradient(theta), atol=1e-12)
        assert dense.bound(theta).gap == pytest.approx(sparse.bound(theta).gap, rel=1e-10)


def test_the_objective_does_not_depend_on_the_estimator() -> None:
    X, codes, weights = data()
    model = LogisticRegression(C=0.7).fit(X, codes, sample_weight=weights)
    assert model.certificate_.primal == pytest.approx(
        primal_softmax(X, codes, model.coef_, model.intercept_, C=0.7, weights=weights), rel=1e-12
    )


# --- a row of great leverage ----------------------------------------------------------------------


def test_no_penalty_a_satisfied_outlier_does_not_set_the_scale() -> None:
    # The outlier is right by far and has no slope; what the other rows still say is no rounding.
    X = np.array([[0.57192], [-0.31621], [0.45779], [-1.8682e10], [-0.036511]])
    codes = np.array([0, 1, 2, 0, 0])
    objective = SoftmaxObjective(as_design(X), codes, 3, NoPenalty(), C=1e-3)
    better = np.array([[0.0, 0.0, 4.13], [0.14, -0.56, -1.79]])
    certificate = minimise(objective, Newton(dense=True)).certificate
    assert certificate.dual <= objective.value(better)
    assert not certificate.ok or certificate.primal <= objective.value(better) * (1 + 1e-6)


@pytest.mark.crossed
@pytest.mark.sampled
@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e8, 1e10, 1e13])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_penalty_problems_with_an_outlier(outlier: float, classes: int) -> None:
    rng = np.random.default_rng(11)
    batch, cases = [], []
    for _ in range(share(80)):
        X = rng.normal(size=(12, 1))
        X[0] *= outlier
        codes = np.concatenate([np.arange(classes), rng.integers(classes, size=12 - classes)])
        batch.append(
            {
                "X": X,
                "y": np.where(codes == 1, 1.0, -1.0),
                "upper": np.ones(12),
                "intercept": True,
                "penalised": False,
            }
        )
        cases.append((X, codes))
    if classes == 2:
        optima = minimum_smooth("log loss", pad(batch, 12, 1))[1]
    else:
        optima = minimum_softmax(pad(batch, 12, 1), np.array([c for _, c in cases]), 3)[1]
    for (X, codes), optimum in zip(cases, optima.astype(float), strict=True):
        if classes == 2:
            y = np.where(codes == 1, 1.0, -1.0)
            objective = MarginObjective(as_design(X), y, LogLoss(), NoPenalty())
        else:
            objective = SoftmaxObjective(as_design(X), codes, 3, NoPenalty())
        certificate = minimise(objective, Newton(), max_iter=100).certificate
        assert certificate.dual <= optimum * (1 + 1e-9)
        assert not certificate.ok or certificate.primal <= optimum * (1 + 2e-6)


def test_a_penalised_intercept_whose_square_underflows() -> None:
    # What the penalty's factor makes of a square that is zero in float64 is not zero.
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])

    def judged(tau: float, C: float, b: float) -> tuple[Bound, Fraction]:
        problem = MarginObjective(as_design(X), y, Hinge(), C=C, intercept_penalty=tau)
        slopes = Bound(0.0, 0.0, 0.0, np.array([-C, -C]))
        found = problem.certify(np.array([0.0, b]), slopes, 1e-6)
        intercept = Fraction(b)
        value = Fraction(tau) * intercept**2 / 2 + 2 * Fraction(C) * max(0, 1 - intercept)
        return found, value

    # The intercept's square, in the objective,
    found, value = judged(tau=1e300, C=1e-60, b=1e-165)
    assert Fraction(found.primal) >= value
    # and that of the sum of the slopes, in the bound: an intercept of one costs next to nothing.
    found, value = judged(tau=1e-300, C=1e-170, b=1.0)
    assert Fraction(found.dual) <= value <= Fraction(found.primal)


def test_intercepts_that_are_off_cost_the_bound_little() -> None:
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 4, size=60)
    X += 4.0 * np.eye(4)[:, :3][codes]
    weights = rng.uniform(0.5, 2.0, size=60)
    objective = SoftmaxObjective(as_design(X), codes, 4, C=100.0, weights=weights)
    theta = minimise(objective, Newton(), tol=1e-12).theta
    way = np.zeros_like(theta)
    way[-1] = rng.normal(size=4)
    gaps = [objective.bound(theta + distance * way).gap for distance in (1e-2, 1e-3, 1e-4)]
    # The gap is of the second order: ten times nearer, a hundred times less.
    assert gaps[1] < 0.03 * gaps[0] and gaps[2] < 0.03 * gaps[1]
    for distance in (1e-2, 1.0, 30.0):
        at = theta + distance * way
        slopes = objective.residual(objective.linear(at))
        balanced = objective.balanced(slopes)
        assert np.abs(balanced.sum(axis=0)).max() < 1e-11 * np.abs(slopes).sum()
        assert np.isfinite(objective.conjugate_value(balanced))


def test_sparse_rows_of_several_classes_are_read_once_with_the_same_sums() -> None:
    X = sp.random(150, 12, density=0.3, random_state=0, format="csr")
    rng = np.random.default_rng(0)
    for storage, classes in ((np.float64, 3), (np.float32, 9)):
        codes, weights = rng.integers(0, classes, 150), rng.integers(0, 3, 150).astype(float)
        options = {"weights": weights, "C": 2.0}
        one = SoftmaxObjective(as_design(X.astype(storage)), codes, classes, **options)
        other = SoftmaxObjective(as_design(X.toarray()), codes, classes, **options)
        theta, along = rng.normal(size=(2, *one.shape))
        found, there = one.evaluate(theta), Objective.evaluate(other, theta)
        for name in ("scores", "loss", "paired", "adjoint"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(there, name), rtol=1e-6, atol=1e-6
            )
        p = other.curvature(there.scores)
        expected = Objective.hessian_product(other, p, along)
        np.testing.assert_allclose(one.hessian_product(p, along), expected, rtol=1e-6, atol=1e-6)
