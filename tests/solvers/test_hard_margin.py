"""The largest margin: exact on small problems, in every regime, and honest where there is none."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from hard_margin_reference import exact_hard_margin, hard_margin_by_quadratic_programming
from separatrix import select_solver
from separatrix.data.design import as_design
from separatrix.losses import Hinge
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.solvers import AugmentedLagrangian, DualDescent, HardMargin, Newton, dual_descent
from separatrix.solvers.active_set_qp import ActiveSet
from separatrix.solvers.driver import minimise, watch
from separatrix.solvers.hard_margin import Tuning, maximum_margin

GEOMETRIES = {
    "free": {},
    "none": {"fit_intercept": False},
    "lifted": {"intercept_penalty": 1.0},
}
each_geometry = pytest.mark.parametrize("geometry", GEOMETRIES)


def solve(X, y, geometry: str = "free", **options):
    y = np.asarray(y, dtype=np.float64)
    return maximum_margin(as_design(np.asarray(X)), y, **GEOMETRIES[geometry], **options)


def separable(n: int = 40, d: int = 4, seed: int = 0, geometry: str = "free", gap: float = 0.1):
    """Random points, moved apart from a random plane."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    w /= np.linalg.norm(w)
    b = 0.0 if geometry == "none" else 0.3
    y = np.where(X @ w + b > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X -= np.outer(X @ w + b, w)
    X += np.outer(y * (gap + rng.exponential(size=n)) - b, w)
    return X, y


def parts(solution, d: int, geometry: str):
    return solution.theta[:d], (solution.theta[d] if geometry != "none" else 0.0)


def assert_optimal(X, y, solution, geometry: str, rtol: float = 1e-9) -> None:
    """The Karush-Kuhn-Tucker conditions, which say it all."""
    d = X.shape[1]
    w, b = parts(solution, d, geometry)
    z = y * (X @ w + b)
    alpha = -y * solution.residual
    assert z.min() == pytest.approx(1.0, abs=1e-12 * max(1.0, np.abs(X).max() * np.abs(w).max()))
    assert np.all(alpha >= 0.0)
    alpha = alpha * (w @ w + (b * b if geometry == "lifted" else 0.0)) / alpha.sum()
    scale = np.abs(w).max()
    np.testing.assert_allclose(X.T @ (alpha * y), w, rtol=0, atol=rtol * scale)
    assert np.all(alpha * (z - 1.0) <= rtol * alpha.max())
    if geometry == "free":
        assert abs(alpha @ y) <= 1e-12 * alpha.sum()
    if geometry == "lifted":
        assert alpha @ y == pytest.approx(b, abs=rtol * scale)


# --- closed forms ------------------------------------------------------------------------------


def test_two_points() -> None:
    # The plane halfway between them, across the line that joins them.
    p, q = np.array([1.0, 2.0, -1.0]), np.array([4.0, -2.0, 11.0])
    solution = solve([p, q], [1, -1])
    w = 2 * (p - q) / ((p - q) @ (p - q))
    np.testing.assert_allclose(solution.theta[:3], w, rtol=1e-14)
    assert solution.theta[3] == pytest.approx(-w @ (p + q) / 2, rel=1e-14)
    assert 2 / np.linalg.norm(solution.theta[:3]) == pytest.approx(13.0, rel=1e-15)
    np.testing.assert_allclose(-solution.residual * [1, -1], 2 / 169, rtol=1e-14)


def test_three_points() -> None:
    # The nearest point of the segment from (2, 0) to (1, 3) to the origin is (1.8, 0.6).
    solution = solve([[0, 0], [2, 0], [1, 3]], [-1, 1, 1])
    np.testing.assert_allclose(solution.theta, [1, 1 / 3, -1], rtol=1e-14)
    # The multipliers add up to |w|^2, and mix the segment's ends to 4 : 1.
    np.testing.assert_allclose(-solution.residual, [-5 / 9, 4 / 9, 1 / 9], rtol=1e-14)
    # Where the foot of the perpendicular is an end, that end alone holds the margin.
    solution = solve([[0, 0], [2, 0], [3, 5]], [-1, 1, 1])
    np.testing.assert_allclose(solution.theta, [1, 0, -1], atol=1e-15)
    assert solution.residual[2] == 0.0


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_the_vertices_of_a_cube(d: int) -> None:
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=d)))
    solution = solve(X, X[:, 0])
    np.testing.assert_allclose(solution.theta, np.eye(d + 1)[0], atol=1e-14)
    # One vertex against all others: the plane across its diagonal, through 1 - 1/d of the way.
    y = np.where(X.sum(axis=1) == d, 1.0, -1.0)
    solution = solve(X, y)
    np.testing.assert_allclose(solution.theta, np.append(np.ones(d), 1 - d), atol=1e-13)
    assert solution.certificate.relative_gap <= 1e-12


@pytest.mark.parametrize("k", [2, 3, 7])
def test_a_simplex_through_the_origin(k: int) -> None:
    # The unit vectors on one side: w = (1, ..., 1), each multiplier 1.
    solution = solve(np.eye(k), np.ones(k), "none")
    np.testing.assert_allclose(solution.theta, np.ones(k), rtol=1e-14)
    np.testing.assert_allclose(-solution.residual, np.ones(k), rtol=1e-14)
    # Lifted, the plane shares the work with its intercept: |w|^2 + b^2 is least.
    solution = solve(np.eye(k), np.ones(k), "lifted")
    np.testing.assert_allclose(solution.theta, np.append(np.ones(k), k) / (1 + k), rtol=1e-13)


# --- exact references --------------------------------------------------------------------------


def small_problems(count: int, seed: int):
    """Integer points on a small grid: ties, duplicates, dependent rows, contradictions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        d = int(rng.integers(1, 4))
        n = int(rng.integers(2, 8))
        X = rng.integers(-3, 4, size=(n, d)).astype(np.float64)
        if rng.random() < 0.7:
            z = X @ rng.integers(-2, 3, size=d) + rng.integers(-2, 3)
            y = np.where(z > 0, 1.0, -1.0)
        else:
            y = rng.choice([-1.0, 1.0], size=n)
        if rng.random() < 0.5:
            y[:2] = 1.0, -1.0
        if np.all(y == y[0]):
            continue
        # A scale and a shift that floats hold exactly.
        yield X * 2.0 ** rng.integers(-10, 11) + float(rng.choice([0, 0, 64])), y


@each_geometry
def test_small_problems_against_exact_fractions(geometry: str) -> None:
    verdicts = {True: 0, False: 0}
    for X, y in small_problems(60, seed=sorted(GEOMETRIES).index(geometry)):
        reference = exact_hard_margin(X, y, geometry)
        solution = solve(X, y, geometry)
        certificate = solution.certificate
        verdicts[reference is not None] += 1
        if reference is None:
            assert certificate.status == "not_separable", (X, y)
            continue
        half, w, b = reference
        # Shifted points have margins of larger terms, and their rounding.
        terms = 1.0 + np.abs(X).max() * float(max(abs(v) for v in w))
        assert certificate.relative_gap <= 1e-13 * terms, (X, y, str(certificate))
        assert certificate.status == "optimal" or terms > 1e3
        # Weak duality, in exact arithmetic: not by an ulp above the optimum.
        assert Fraction(certificate.dual) <= half
        assert certificate.primal == pytest.approx(float(half), rel=1e-14 * terms)
        scale = max(float(abs(v)) for v in (*w, b))
        expected = [float(v) for v in w] + ([] if geometry == "none" else [float(b)])
        np.testing.assert_allclose(solution.theta, expected, rtol=0, atol=1e-14 * terms * scale)
    assert min(verdicts.values()) >= 8, verdicts


@each_geometry
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_the_bound_is_a_bound_anywhere(geometry: str, shift: float) -> None:
    # Not only at solutions, and where rounding is no smaller than the gap.
    rng = np.random.default_rng(5)
    checked = 0
    for seed in range(12):
        X, y = separable(6, 2, seed, geometry, gap=0.01)
        X = X + shift
        reference = exact_hard_margin(X, y, geometry)
        if reference is None:
            continue
        problem = HardMarginObjective(as_design(X), y, **GEOMETRIES[geometry])
        solution = solve(X, y, geometry)
        for noise in (0.0, 1e-12, 1e-8, 1e-4, 1.0):
            theta = solution.theta * (1 + noise * rng.normal(size=len(solution.theta)))
            residual = solution.residual * (1 + noise * rng.normal(size=6))
            bound = problem.bound(theta, residual)
            assert Fraction(bound.dual) <= reference[0]
            if np.isfinite(bound.primal):
                # A margin that is rounding makes no promise; the gap must admit it.
                assert Fraction(bound.primal) >= reference[0] - Fraction(bound.gap)
                assert bound.gap >= bound.primal - bound.dual - 1e-18
                checked += 1
    assert checked >= 15


@each_geometry
def test_against_a_general_solver(geometry: str) -> None:
    rng = np.random.default_rng(2)
    for seed in range(6):
        n, d = int(rng.integers(4, 41)), int(rng.integers(1, 7))
        X, y = separable(n, d, seed, geometry)
        w, b = hard_margin_by_quadratic_programming(X, y, geometry)
        solution = solve(X, y, geometry)
        found, offset = parts(solution, d, geometry)
        scale = np.abs(np.append(w, b)).max()
        np.testing.assert_allclose(found, w, rtol=0, atol=1e-8 * scale)
        if geometry != "none":
            assert offset == pytest.approx(b, abs=1e-8 * scale)
        assert_optimal(X, y, solution, geometry)


# --- every regime ------------------------------------------------------------------------------

# Each replaces what decides between the methods, so that small problems meet all of them.
REGIMES = {
    "alone": Tuning(),
    "few at a time": Tuning(batch=2, batch_share=0),
    "after descent": Tuning(few=0, passes=0),
    "after descent, few at a time": Tuning(few=0, passes=0, batch=1, batch_share=0),
    "descent to the end": Tuning(few=0, passes=0, face_entries=0.0),
}


each_regime = pytest.mark.parametrize("regime", REGIMES)

FORMATS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "csr": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


@each_regime
@each_geometry
def test_every_regime_finds_the_optimum(regime: str, geometry: str) -> None:
    shapes = [(60, 8), (15, 40), (150, 2)]
    tol = 1e-12
    if regime == "descent to the end":
        # Descent is for more columns than rows, and not for the last digits.
        shapes, tol = [(15, 40), (60, 90)], 1e-8
    for seed, (n, d) in enumerate(shapes):
        X, y = separable(n, d, seed, geometry)
        solution = solve(X, y, geometry, tol=tol, tuning=REGIMES[regime])
        assert solution.certificate.ok, str(solution.certificate)
        assert_optimal(X, y, solution, geometry, rtol=20 * math.sqrt(tol) if tol > 1e-9 else 1e-9)


@pytest.mark.crossed
@each_regime
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_the_same_matrix(regime: str, form: str) -> None:
    X, y = separable(120, 10, seed=3)
    X = (X * (np.random.default_rng(0).random(X.shape) < 0.8)).astype(np.float32)
    X = X.astype(np.float64) + 0.5 * y[:, None]
    X = X.astype(np.float32).astype(np.float64)
    reference = solve(X, y, tol=1e-11, tuning=REGIMES[regime])
    assert reference.certificate.ok
    other = maximum_margin(as_design(FORMATS[form](X)), y, tol=1e-9, tuning=REGIMES[regime])
    assert other.certificate.ok, str(other.certificate)
    assert other.certificate.primal == pytest.approx(reference.certificate.primal, rel=1.1e-9)
    np.testing.assert_allclose(
        other.theta, reference.theta, atol=1e-4 * np.abs(reference.theta).max()
    )


@each_regime
@each_geometry
def test_no_hyperplane_in_any_regime(regime: str, geometry: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    for case, (Z, y) in enumerate(
        [
            (X, rng.choice([-1.0, 1.0], size=80)),
            # Separable but for one row twice, with both labels.
            (np.vstack([X, X[:1]]), np.append(np.where(X[:, 0] > 0, 1.0, -1.0), np.sign(-X[0, 0]))),
        ]
    ):
        solution = solve(Z, y, geometry, tol=1e-6, tuning=REGIMES[regime])
        assert solution.certificate.status == "not_separable", (case, str(solution.certificate))
        assert solution.certificate.primal == np.inf
        assert not solution.certificate.ok
        # The multipliers of a combination that vanishes, which is the reason.
        alpha = -y * solution.residual
        assert np.all(alpha >= 0.0) and alpha.sum() > 0.0
        lifted = Z if geometry == "none" else np.column_stack([Z, np.ones(len(Z))])
        assert np.linalg.norm(lifted.T @ (alpha * y)) <= 1e-10 * alpha.sum()


@each_geometry
def test_columns_that_depend_on_one_another(geometry: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        rank, extra = int(rng.integers(1, 12)), int(rng.integers(1, 20))
        X = rng.normal(size=(200, rank)) @ rng.normal(size=(rank, rank + extra))
        assert solve(X, rng.choice([-1.0, 1.0], size=200), geometry).certificate.status == (
            "not_separable"
        )
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        moved = X + np.outer(y, X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0))
        solution = solve(moved, y, geometry, tol=1e-9)
        assert solution.certificate.ok, str(solution.certificate)
        assert_optimal(moved, y, solution, geometry, rtol=1e-8)


@each_regime
def test_one_label_against_the_plane_among_many_columns(regime: str) -> None:
    X, y = separable(150, 6, seed=9, gap=1.0)
    y[17] *= -1.0
    assert solve(X, y, tuning=REGIMES[regime]).certificate.status == "not_separable"


def test_descent_that_comes_to_nothing_ends() -> None:
    # A contradiction among more rows than are examined: presumed, and left for others to prove.
    impatient = Tuning(few=0, passes=0, face_entries=0.0, patience=100, suspects=2)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 4)), rng.choice([-1.0, 1.0], size=80)
    solution = solve(X, y, tuning=impatient)
    assert solution.certificate.status == "not_separable"
    # Fewer columns than rows at the margin: passes that are not extrapolated crawl, and the bounds
    # say how far they got.
    plain = replace(impatient, descent=dual_descent.Tuning(early=math.inf))
    X, y = separable(60, 8, seed=4, geometry="none")
    slow = solve(X, y, "none", tol=1e-12, tuning=plain)
    best = solve(X, y, "none", tol=1e-12).certificate.primal
    assert slow.certificate.status == "precision_limit"
    assert slow.certificate.dual <= best <= slow.certificate.primal


# --- geometry with edges -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "geometry"),
    [
        # Quasi-separable: some points on the plane, whichever it is.
        ([[0], [1], [1], [2]], [-1, -1, 1, 1], "free"),
        ([[0, 0], [0, 1], [1, 0], [1, 2]], [1, -1, -1, -1], "none"),
        # All points the same; the exclusive or.
        ([[0, 0]] * 4, [1, 1, -1, -1], "free"),
        ([[3, 1]] * 4, [1, 1, -1, -1], "none"),
        ([[0, 0], [1, 1], [1, 0], [0, 1]], [-1, -1, 1, 1], "free"),
        ([[0, 0], [1, 1], [1, 0], [0, 1]], [-1, -1, 1, 1], "lifted"),
        # A row of zeros is on every plane through the origin.
        ([[1, 0], [2, 1], [0, 0]], [1, 1, -1], "none"),
    ],
)
def test_quasi_separable_is_not_separable(X, y, geometry: str) -> None:
    solution = solve(np.array(X, dtype=float), y, geometry)
    assert solution.certificate.status == "not_separable"
    assert exact_hard_margin(X, y, geometry) is None


def test_a_zero_row_through_the_origin_among_many() -> None:
    X, y = separable(50, 5, geometry="none")
    X[20] = 0.0
    found = solve(X, y, "none", tuning=REGIMES["after descent"])
    assert found.certificate.status == "not_separable"


def test_one_sign_alone() -> None:
    X = np.array([[3.0, 4.0], [6.0, 8.0]])
    # Through the origin, the nearest point of the hull says it all: |w| = 1/5.
    assert solve(X, [1, 1], "none").certificate.primal == pytest.approx(1 / 50, rel=1e-14)
    with pytest.raises(ValueError, match="one sign only"):
        solve(X, [1, 1])


def test_degenerate_points_on_a_grid() -> None:
    # Hundreds of rows at margin 1, thousands of faces that give the same plane.
    X = np.array(list(itertools.product(range(5), repeat=4)), dtype=float)
    y = np.where(X.sum(axis=1) > 7, 1.0, -1.0)
    for rows in (np.arange(len(X)), np.repeat(np.arange(len(X)), 3)):
        solution = solve(X[rows], y[rows], tol=1e-12)
        assert solution.certificate.ok
        np.testing.assert_allclose(solution.theta, [2, 2, 2, 2, -15], atol=1e-12)


@pytest.mark.parametrize("spread", [1e2, 1e4, 1e6])
def test_columns_of_any_scale(spread: float) -> None:
    X, y = separable(100, 5, seed=4)
    X = X * np.geomspace(1 / spread, spread, 5)
    solution = solve(X, y, tol=1e-7)
    assert solution.certificate.status in ("optimal", "precision_limit")
    # Rounding alone is left: the multipliers are a million million times the columns.
    assert solution.certificate.relative_gap <= 1e-20 * spread**2.5 + 1e-7
    # The exact answer on the rows that hold the margin proves the point, whatever the bound.
    rows = np.flatnonzero(solution.residual)
    half, _, _ = exact_hard_margin(X[rows], y[rows], "free")
    assert solution.certificate.primal == pytest.approx(float(half), rel=1e-11)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_offsets_cost_no_more_than_their_rounding(offset: float) -> None:
    X, y = separable(100, 4, seed=6)
    near = solve(X, y)
    # What the shifted floats are, exactly, shifted back.
    far = solve(X + offset, y)
    assert far.certificate.status in ("optimal", "precision_limit")
    assert far.certificate.relative_gap <= 1e-13 * offset
    np.testing.assert_allclose(far.theta[:4], near.theta[:4], rtol=1e-9 * max(1, offset / 1e3))


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_narrow_gaps(gap: float) -> None:
    X, y = separable(100, 3, seed=7)
    w = np.array([1.0, 2.0, -2.0]) / 3.0
    X -= np.outer(X @ w, w)
    X += np.outer(y * gap, w)
    solution = solve(X, y, tol=1e-12)
    assert solution.certificate.status in ("optimal", "precision_limit")
    rows = np.flatnonzero(solution.residual)
    half, _, _ = exact_hard_margin(X[rows], y[rows], "free")
    assert Fraction(solution.certificate.dual) <= half
    assert solution.certificate.primal == pytest.approx(float(half), rel=1e-14 / gap)
    assert solution.certificate.relative_gap <= 1e-13 / gap


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
def test_scaling_the_data_scales_the_gap(scale: float) -> None:
    X, y = separable(80, 4, seed=8)
    one, other = solve(X, y), solve(X * scale, y)
    assert other.certificate.ok
    np.testing.assert_allclose(other.theta[:4] * scale, one.theta[:4], rtol=1e-12)
    assert other.theta[4] == pytest.approx(one.theta[4], rel=1e-12)


# --- weights, duplicates, order ----------------------------------------------------------------


@each_geometry
def test_order_and_duplicates_do_not_matter(geometry: str) -> None:
    X, y = separable(90, 5, seed=10, geometry=geometry)
    reference = solve(X, y, geometry).theta
    rng = np.random.default_rng(0)
    for rows in (rng.permutation(90), np.repeat(np.arange(90), 3), np.arange(90)[::-1]):
        np.testing.assert_allclose(
            solve(X[rows], y[rows], geometry).theta, reference, rtol=1e-11, atol=1e-12
        )


def test_rows_of_weight_zero_are_not_there() -> None:
    X, y = separable(60, 3, seed=11)
    weights = np.ones(60)
    weights[[3, 9]] = 0.0
    wrong = y.copy()
    wrong[[3, 9]] *= -1.0
    problem = HardMarginObjective(as_design(X), wrong, weights=weights * 7.5)
    kept = np.flatnonzero(weights)
    solution = minimise(problem, HardMargin(), tol=1e-12)
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.theta, solve(X[kept], y[kept]).theta, rtol=1e-11)
    assert not solution.residual[[3, 9]].any()


# --- the objective -----------------------------------------------------------------------------


def test_the_objective_is_that_of_the_scaled_point() -> None:
    X, y = separable(30, 3, seed=12)
    problem = HardMarginObjective(as_design(X), y)
    theta = solve(X, y).theta
    for factor in (1e-3, 1.0, 40.0):
        assert problem.value(factor * theta) == pytest.approx(0.5 * theta[:3] @ theta[:3])
        np.testing.assert_allclose(problem.canonical(factor * theta), theta, rtol=1e-12)
    assert problem.value(-theta) == np.inf
    np.testing.assert_array_equal(problem.canonical(-theta), -theta)
    assert problem.value(problem.zero()) == np.inf
    # Any other intercept is worse.
    scores = X @ theta[:3]
    best = problem.best_intercept(scores)
    assert best == pytest.approx(theta[3], rel=1e-10)
    for b in (best - 1e-3, best + 1e-3):
        assert problem.margin(scores + b) < problem.margin(scores + best)


def test_balanced_residuals_add_up_to_exactly_zero() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], size=50)
    problem = HardMarginObjective(as_design(rng.normal(size=(50, 2))), y)
    for scale in (1e-8, 1.0, 1e12):
        alpha = scale * rng.exponential(size=50) ** 4
        out = problem.balanced(-alpha * y)
        assert sum(Fraction(v) for v in out.tolist()) == 0
        assert np.all(-y * out >= 0.0)
        # One class is scaled down, and nothing else is done.
        ratio = (-y * out) / alpha
        # Multipliers below the last digit of the largest one are left out.
        ratio[alpha < 1e-9 * alpha.max()] = np.nan
        for side in (1.0, -1.0):
            here = ratio[(y == side) & np.isfinite(ratio)]
            np.testing.assert_allclose(here, here.max(), rtol=1e-6)
        assert np.nanmax(ratio) == pytest.approx(1.0, rel=1e-6)
    assert not problem.balanced(-np.where(y > 0, 1.0, 0.0) * y).any()


def test_multipliers_at_their_best_scale() -> None:
    X, y = separable(40, 4, seed=13)
    problem = HardMarginObjective(as_design(X), y)
    solution = solve(X, y)
    for factor in (0.01, 1.0, 300.0):
        alpha = problem.multipliers(factor * solution.residual)
        np.testing.assert_allclose(X.T @ (alpha * y), solution.theta[:4], rtol=1e-10)
        assert alpha.sum() == pytest.approx(2 * solution.certificate.primal, rel=1e-12)


@each_geometry
@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
def test_the_rounding_of_the_margins_is_allowed_for(geometry: str, shift: float) -> None:
    rng = np.random.default_rng(3)
    rounded = 0
    for seed in range(20):
        X, y = separable(12, 5, seed, geometry)
        X = X + shift
        problem = HardMarginObjective(as_design(X), y, **GEOMETRIES[geometry])
        solution = solve(X, y, geometry)
        theta = solution.theta * rng.uniform(0.5, 2.0)
        scores = problem.linear(theta)
        exact = [Fraction(v) for v in theta.tolist()] + [Fraction(0)] * (geometry == "none")
        true = min(
            int(s) * (sum(Fraction(a) * v for a, v in zip(x, exact, strict=False)) + exact[5])
            for s, x in zip(y, X.tolist(), strict=True)
        )
        computed = problem.margin(scores)
        allowance = problem._margin_rounding(theta, scores)
        assert true >= Fraction(computed) - Fraction(allowance)
        rounded += true < Fraction(computed)
        # A few units in the last place of what is added up, no more.
        size = np.abs(X).max() * np.abs(theta[:5]).sum() + np.abs(theta[-1])
        assert 0.0 < allowance <= 1e-14 * size
        # The gap is charged for the rounding.
        if computed > 0.0:
            bound = problem.bound(theta, solution.residual, scores)
            assert bound.gap >= min(2.0 * allowance / computed, 1.0) * bound.primal
    # How many margins were rounded up depends on the processor; without any, nothing was tried.
    assert rounded >= 1


def test_without_multipliers_the_bound_is_trivial() -> None:
    X, y = separable()
    problem = HardMarginObjective(as_design(X), y)
    bound = problem.bound(solve(X, y).theta)
    assert bound.dual == 0.0
    assert bound.gap == bound.primal > 0.0
    assert problem.bound(problem.zero()).primal == np.inf


def test_formula() -> None:
    X, y = separable()
    assert str(HardMarginObjective(as_design(X), y).formula()) == (
        "minimise 1/2 |w|^2 subject to y (w.x + b) >= 1"
    )
    assert str(HardMarginObjective(as_design(X), y, fit_intercept=False).formula()) == (
        "minimise 1/2 |w|^2 subject to y w.x >= 1"
    )


# --- the face ----------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_a_face_stays_a_factorisation(constant: float) -> None:
    rng = np.random.default_rng(0)
    width = 12
    active_set = ActiveSet(width, constant)
    pool = rng.normal(size=(60, width))
    if constant:
        pool[:, -1] = constant * rng.choice([-1.0, 1.0], size=60)
    for k in range(60):
        if len(active_set) == width - 1 or (len(active_set) > 2 and rng.random() < 0.4):
            active_set.drop(int(rng.integers(len(active_set))))
        active_set.add(k, pool[k], 1.0)
        np.testing.assert_array_equal(active_set.rows, pool[active_set.members])
        k_ = len(active_set)
        np.testing.assert_allclose(active_set.basis @ active_set.basis.T, np.eye(k_), atol=1e-13)
        # alpha with R alpha = Q'v are the multipliers of any point v in the span.
        alpha = rng.normal(size=k_)
        found = active_set.multipliers(active_set.basis @ (alpha @ active_set.rows))
        np.testing.assert_allclose(found, alpha, atol=1e-10)
        c, offset = active_set.shortest(np.ones(k_))
        u = c @ active_set.basis
        if constant:
            np.testing.assert_allclose(
                active_set.rows @ u + active_set.signs * offset, 1.0, atol=1e-10
            )
            assert abs(u[-1]) <= 1e-10
        else:
            np.testing.assert_allclose(active_set.rows @ u, 1.0, atol=1e-10)


def test_a_face_rebuilt_leaves_dependent_rows_out() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 6))
    rows = np.vstack([rows, rows[0] - 2 * rows[3], rows[1], rng.normal(size=6)])
    active_set = ActiveSet(6, 0.0)
    active_set.rebuild(np.arange(10, 17), rows)
    # The fifth and the sixth depend on the others, and there is no space for a seventh.
    assert active_set.members == [10, 11, 12, 13]
    np.testing.assert_array_equal(active_set.rows, rows[:4])
    active_set.rebuild(np.arange(3), rows[[6, 0, 1]])
    assert active_set.members == [0, 1, 2]
    np.testing.assert_allclose(active_set.basis @ active_set.basis.T, np.eye(3), atol=1e-14)


# --- under the driver --------------------------------------------------------------------------


def test_deterministic() -> None:
    X, y = separable(500, 250, seed=14)
    first, second = solve(X, y), solve(X, y)
    np.testing.assert_array_equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.residual, second.residual)


def test_no_time_at_all() -> None:
    X, y = separable(400, 6)
    solution = solve(X, y, time_limit=1e-9)
    assert solution.certificate.status == "time_limit"
    assert solution.certificate.primal == np.inf
    assert np.all(np.isfinite(solution.theta))


def test_stopped_halfway_the_bounds_hold() -> None:
    few_at_a_time = HardMargin(REGIMES["few at a time"])
    X, y = separable(400, 6, seed=15)
    optimum = solve(X, y).certificate.primal
    problem = HardMarginObjective(as_design(X), y)
    seen = []
    with watch(seen.append):
        full = minimise(problem, few_at_a_time, tol=1e-12, record=True)
    assert full.certificate.n_iter > 4
    for progress in seen:
        assert progress.dual <= optimum * (1 + 1e-12) <= progress.primal * (1 + 2e-12)
    assert full.trace.primal[0] == np.inf
    assert full.trace.primal[-1] == pytest.approx(optimum, rel=1e-11)
    assert len(full.trace.coef) == full.certificate.n_iter + 1
    halfway = minimise(problem, few_at_a_time, tol=1e-12, max_iter=3)
    assert halfway.certificate.status == "max_iter"
    assert halfway.certificate.dual <= optimum


def test_a_known_plane_is_kept_where_there_is_no_time() -> None:
    X, y = separable(400, 6, seed=16)
    optimum = solve(X, y)
    theta = optimum.theta * 3.0 + 1e-3
    solution = minimise(
        HardMarginObjective(as_design(X), y), HardMargin(), theta=theta, time_limit=1e-9
    )
    assert solution.certificate.status == "time_limit"
    assert optimum.certificate.primal < solution.certificate.primal < np.inf
    assert np.min(y * (X @ solution.theta[:6] + solution.theta[6])) == pytest.approx(1.0)


def test_the_choice_and_the_refusals() -> None:
    X, y = separable()
    hard = HardMarginObjective(as_design(X), y)
    soft = MarginObjective(as_design(X), y, Hinge())
    assert isinstance(select_solver(hard), HardMargin)
    with pytest.raises(TypeError, match="'margin'"):
        minimise(soft, HardMargin())
    for other in (Newton(), DualDescent(), AugmentedLagrangian()):
        with pytest.raises(TypeError, match="needs"):
            minimise(hard, other)


def test_a_large_C_reaches_the_hard_margin() -> None:
    # Once C exceeds the largest multiplier, the hinge has the same optimum.
    X, y = separable(60, 4, seed=17)
    hard = solve(X, y)
    C = 2.0 * np.abs(hard.residual).max()
    soft = minimise(
        MarginObjective(as_design(X), y, Hinge(), C=C), AugmentedLagrangian(), tol=1e-11
    )
    assert soft.certificate.ok
    assert soft.certificate.primal == pytest.approx(hard.certificate.primal, rel=1e-10)
    np.testing.assert_allclose(soft.theta, hard.theta, atol=1e-4 * np.abs(hard.theta).max())
