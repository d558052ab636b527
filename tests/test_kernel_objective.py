"""The bound of a kernel machine is a bound: many random tiny problems against independent optima.

The optimum lies between the two values that ``kernel_svm_reference`` finds in extended precision;
that these are sharp is tested too, by exact optima in rational numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from grids import share
from kernel_svm_reference import exact_optimum, hard_primal, kernel_matrix, primal, solve_soft
from separatrix.data.design import as_design
from separatrix.kernels import (
    CallableKernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
)
from separatrix.kernels.gram import Gram
from separatrix.kernels.objective import (
    KernelHardMarginObjective,
    KernelObjective,
    evened,
    is_semidefinite,
    kkt_conditions,
)
from separatrix.losses import Hinge
from separatrix.solvers import select_solver
from separatrix.solvers.driver import minimise

ROWS = 8
GEOMETRIES = (
    "plain",
    "duplicates",
    "contradictions",
    "offset",
    "scale",
    "column scales",
    "integers",
    "separable",
    "constant",
)


def random_problem(rng: np.random.Generator, geometry: str) -> dict:
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(ROWS, d))
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    if geometry == "duplicates":
        X = X[rng.integers(3, size=ROWS)]
    elif geometry == "contradictions":
        X[ROWS // 2 :] = X[: ROWS // 2]
    elif geometry == "offset":
        X[:, 0] += 10.0 ** rng.integers(1, 7)
    elif geometry == "scale":
        X *= 10.0 ** rng.integers(-8, 4)
    elif geometry == "column scales":
        X *= 10.0 ** rng.integers(-4, 3, size=d)
    elif geometry == "integers":
        X = rng.integers(-2, 3, size=(ROWS, d)).astype(float)
    elif geometry == "separable":
        X[:, 0] = y * rng.uniform(1.0, 2.0, size=ROWS)
    elif geometry == "constant":
        X[:, 0] = 3.0
    weights = None
    if rng.random() < 0.5:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 1e-3, 1e3], size=ROWS)
        weights[:2] = np.maximum(weights[:2], 0.5)
    return {
        "X": X,
        "y": y,
        "kernel": str(rng.choice(["linear", "rbf", "poly"])),
        "gamma": float(10.0 ** rng.integers(-3, 3)),
        "degree": int(rng.integers(1, 5)),
        "coef0": float(rng.choice([0.0, 0.5, 1.0])),
        "C": float(10.0 ** rng.integers(-4, 6)),
        "weights": weights,
        "geometry": geometry,
    }


def kernel_of(problem: dict):
    if problem["kernel"] == "linear":
        return LinearKernel()
    if problem["kernel"] == "rbf":
        return RBFKernel(problem["gamma"])
    return PolynomialKernel(problem["degree"], problem["gamma"], problem["coef0"])


def matrix_of(problem: dict) -> np.ndarray:
    numbers = {k: problem[k] for k in ("gamma", "coef0", "degree")}
    return kernel_matrix(problem["kernel"], problem["X"], **numbers)


def upper_of(problem: dict) -> np.ndarray:
    s = np.ones(ROWS) if problem["weights"] is None else problem["weights"]
    return problem["C"] * s


def objective_of(problem: dict) -> KernelObjective:
    gram = Gram(kernel_of(problem), as_design(problem["X"]), cache_mb=1.0)
    return KernelObjective(gram, problem["y"], Hinge(), C=problem["C"], weights=problem["weights"])


def solved(problems: list[dict]):
    K = np.array([matrix_of(p) for p in problems])
    y = np.array([p["y"] for p in problems])
    return K, solve_soft(K, y, np.array([upper_of(p) for p in problems]))


# --- the reference itself ----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_the_reference_is_sharp(kernel: str) -> None:
    rng = np.random.default_rng(0)
    count, n = 6, 5
    X = rng.integers(-3, 4, size=(count, n, 2)).astype(float)
    y = np.where(rng.random((count, n)) < 0.5, 1, -1)
    y[:, :2] = [1, -1]
    top = np.exp2(rng.integers(-9, 9, size=(count, n)))
    top[:, 2:] *= rng.integers(0, 2, size=(count, n - 2))
    K = np.array([kernel_matrix(kernel, x, degree=2, coef0=1.0) for x in X])
    found = solve_soft(K, y, top)
    for k in range(count):
        exact, alpha = exact_optimum(
            [[Fraction(int(v)) for v in row] for row in K[k]],
            [int(v) for v in y[k]],
            [Fraction(float(u)) for u in top[k]],
        )
        assert found.lower[k] <= float(exact) * (1 + 1e-15)
        assert found.upper[k] >= float(exact) * (1 - 1e-15)
        assert float(found.upper[k] - found.lower[k]) <= 1e-13 * float(exact)
        # Where no dual point is better, the exact point is feasible and as good.
        c = np.array([float(a) for a in alpha]) * y[k]
        assert np.all(np.abs(c) <= top[k] * (1 + 1e-15))


# --- soft margin -------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_bound_is_a_bound(geometry: str) -> None:
    rng = np.random.default_rng(GEOMETRIES.index(geometry))
    count = share(100)
    problems = [random_problem(rng, geometry) for _ in range(count)]
    K, reference = solved(problems)
    sharp = tight = 0
    for k, problem in enumerate(problems):
        low, high = float(reference.lower[k]), float(reference.upper[k])
        # Where rounding has crossed its two sides, the reference knows no better either.
        if not -1e-15 * high <= high - low <= 1e-9 * high:
            continue
        sharp += 1
        objective = objective_of(problem)
        solution = minimise(objective, select_solver(objective), tol=1e-8, max_iter=200)
        certificate = solution.certificate
        assert certificate.dual <= high * (1 + 1e-14)
        theta = objective.from_internal(solution.theta)
        value = float(primal(K[k], problem["y"], upper_of(problem), theta[:-1], theta[-1]))
        # The objective is as stated, to the rounding of its float64 sums.
        size = np.abs(theta[:-1]) @ np.abs(K[k].astype(float)) @ np.abs(theta[:-1])
        size += upper_of(problem) @ (np.abs(K[k].astype(float)) @ np.abs(theta[:-1]))
        size += upper_of(problem).sum() * abs(theta[-1])
        # The errors of the entries of the matrix, from norms and products that cancel.
        entries, truth = objective.matrix.entries(np.arange(ROWS)), K[k]
        if problem["kernel"] == "linear":
            # The matrix of the linear kernel is that of the points less their mean.
            centred = problem["X"].astype(np.longdouble) - problem["X"].mean(axis=0)
            truth = centred @ centred.T
        off = float(np.abs(entries - truth).max())
        reach = np.abs(theta[:-1]).sum()
        noise = 1e-14 * (size + value) + 2 * off * reach * (reach + upper_of(problem).sum())
        # Charged for its own rounding, and not by much.
        assert certificate.primal >= value - noise
        assert certificate.primal - value <= noise + 1e-9 * value
        if certificate.ok:
            tight += 1
            assert value - high <= certificate.gap + noise + (high - low)
        for _ in range(4):
            bad = np.append(
                rng.normal(size=ROWS) * 10.0 ** rng.integers(-4, 4),
                rng.normal() * 10.0 ** rng.integers(-3, 4),
            )
            best = np.append((reference.alpha[k] * problem["y"]), reference.b[k]).astype(float)
            best = objective.to_internal(best)
            theta = [bad, best, solution.theta * (1 + 1e-6 * bad)][rng.integers(3)]
            residual = [
                None,
                rng.normal(size=ROWS) * 10.0 ** rng.integers(-4, 4),
                -best[:-1] * (1 + 1e-9 * bad[:-1]),
                np.zeros(ROWS),
                np.full(ROWS, 1e300),
            ][rng.integers(5)]
            bound = objective.bound(theta, residual)
            assert bound.dual <= high * (1 + 1e-14)
            assert bound.dual <= bound.primal
            assert bound.gap >= 0
            assert bound.gap >= bound.primal - bound.dual - 1e-12 * abs(bound.primal)
    assert sharp > (0.4 if geometry == "offset" else 0.65) * count
    assert tight > 0.4 * sharp


def test_the_bound_is_sharp_at_the_optimum() -> None:
    rng = np.random.default_rng(5)
    problems = [random_problem(rng, "plain") for _ in range(30)]
    problems = [p for p in problems if p["C"] <= 100]
    _, reference = solved(problems)
    for k, problem in enumerate(problems):
        theta = np.append(reference.alpha[k] * problem["y"], reference.b[k]).astype(float)
        objective = objective_of(problem)
        bound = objective.bound(objective.to_internal(theta))
        assert bound.gap <= 1e-7 * bound.primal
        assert bound.primal == pytest.approx(float(reference.upper[k]), rel=1e-7)


# --- hard margin -------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("geometry", ["plain", "duplicates", "integers", "separable", "offset"])
def test_the_hard_bound_is_a_bound(geometry: str) -> None:
    rng, count = np.random.default_rng(17), share(300 if geometry == "duplicates" else 150)
    problems = []
    for _ in range(count):
        problem = random_problem(rng, geometry)
        problems.append({**problem, "C": 1e13, "gamma": float(rng.choice([0.1, 1.0]))})
    K, reference = solved([{**p, "weights": None} for p in problems])
    judged = 0
    for k, problem in enumerate(problems):
        # A machine of huge C that is nowhere short is the hard margin.
        scores = K[k] @ (reference.alpha[k] * problem["y"]) + reference.b[k]
        least = float(np.min(problem["y"] * scores))
        apart = (reference.upper[k] - reference.lower[k]) / reference.upper[k]
        sharp = -1e-15 <= apart <= 1e-9
        gram = Gram(kernel_of(problem), as_design(problem["X"]), cache_mb=1.0)
        objective = KernelHardMarginObjective(gram, problem["y"])
        if not sharp or least < 1 - 1e-6:
            continue
        judged += 1
        high = float(reference.upper[k]) * (1 + 1e-8)
        solution = minimise(objective, select_solver(objective), tol=1e-7, max_iter=200)
        certificate = solution.certificate
        assert certificate.dual <= high
        theta = objective.from_internal(solution.theta)
        used = np.ones(ROWS, dtype=bool)
        value = float(hard_primal(K[k], problem["y"], used, theta[:-1], theta[-1]))
        assert value >= float(reference.lower[k]) * (1 - 1e-8)
        if certificate.ok:
            assert value == pytest.approx(float(reference.lower[k]), rel=1e-6)
        for _ in range(4):
            bad = rng.normal(size=ROWS + 1) * 10.0 ** rng.integers(-4, 4)
            best = np.append(reference.alpha[k] * problem["y"], reference.b[k]).astype(float)
            best = objective.to_internal(best)
            point = [bad, best, best * (1 + 1e-6 * bad), np.zeros(ROWS + 1)][rng.integers(4)]
            residual = [None, bad[:-1], -best[:-1], -1e200 * best[:-1]][rng.integers(4)]
            bound = objective.bound(point, residual)
            assert bound.dual <= high
            assert bound.dual <= bound.primal
    # Few problems with duplicated rows are separable.
    assert judged >= (0.02 if geometry == "duplicates" else 0.13) * count


# --- semidefinite or not -----------------------------------------------------------------------

POINTS = np.random.default_rng(0).normal(size=(30, 3))
MATRICES = {
    "products": (LinearKernel(), POINTS, True),
    "rbf": (RBFKernel(0.5), POINTS, True),
    "sigmoid": (SigmoidKernel(0.5, -1.0), POINTS, False),
    "tiny sigmoid": (SigmoidKernel(1e-9, 0.0), POINTS, True),
    "polynomial": (PolynomialKernel(3, 1.0, 1.0), POINTS, True),
    "negative coef0": (PolynomialKernel(2, 1.0, -3.0), POINTS, False),
    "precomputed": (PrecomputedKernel(), POINTS @ POINTS.T, True),
    "precomputed in float32": (
        PrecomputedKernel(),
        (POINTS @ POINTS.T).astype(np.float32),
        True,
    ),
    "asymmetric": (PrecomputedKernel(), POINTS @ POINTS.T + np.arange(30.0), False),
    "slightly indefinite": (PrecomputedKernel(), POINTS @ POINTS.T - 1e-6 * np.eye(30), False),
    "zero": (PrecomputedKernel(), np.zeros((30, 30)), True),
    "negative": (PrecomputedKernel(), -np.eye(30), False),
    "called": (CallableKernel(lambda A, B: (A @ B.T) ** 2), POINTS, True),
    "called, indefinite": (CallableKernel(lambda A, B: -(A @ B.T)), POINTS, False),
}


@pytest.mark.parametrize("name", [*MATRICES])
def test_what_is_semidefinite(name: str) -> None:
    kernel, X, expected = MATRICES[name]
    gram = Gram(kernel, as_design(X), cache_mb=1.0)
    assert is_semidefinite(gram) is expected
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    for objective in (
        KernelObjective(gram, y, Hinge(), C=1.0),
        KernelHardMarginObjective(gram, y),
    ):
        assert objective.convex is expected
        bound = objective.bound(np.append(0.1 * y, 0.0))
        # Points that are all equal have no hard margin, which an infinite bound states.
        assert (bound.dual > -np.inf) == expected
        assert (bound.gap == np.inf) >= (not expected)


def test_a_large_matrix_is_looked_at_in_part() -> None:
    n = 601
    kernel = CallableKernel(lambda A, B: np.where(A == B.T, 1.0, 0.0) - 0.01)
    gram = Gram(kernel, as_design(np.arange(float(n))[:, None]), cache_mb=1.0)
    assert not is_semidefinite(gram) and not is_semidefinite(gram, most_rows=n - 1)


# --- complementary slackness -------------------------------------------------------------------


def test_sides_violations_and_gaps_case_by_case() -> None:
    # margin, multiplier, upper: side, violation, gap
    cases = [
        (2.0, 0.0, 1.0, "outside", 0.0, 0.0),
        (2.0, 0.5, 1.0, "outside", 1.0, 0.5),
        (2.0, 1.0, 1.0, "outside", 1.0, 1.0),
        (1.0, 0.0, 1.0, "on", 0.0, 0.0),
        (1.0, 0.5, 1.0, "on", 0.0, 0.0),
        (1.0, 1.0, 1.0, "on", 0.0, 0.0),
        (0.5, 1.0, 1.0, "inside", 0.0, 0.0),
        (0.5, 0.25, 1.0, "inside", 0.5, 0.375),
        (0.5, 0.0, 1.0, "inside", 0.5, 0.5),
        (0.0, 1.0, 1.0, "wrong", 0.0, 0.0),
        (-1.0, 2.0, 2.0, "wrong", 0.0, 0.0),
        (-1.0, 0.0, 2.0, "wrong", 2.0, 4.0),
        (3.0, 0.0, np.inf, "outside", 0.0, 0.0),
        (1.0, 7.0, np.inf, "on", 0.0, 0.0),
        (3.0, 2.0, np.inf, "outside", 2.0, 4.0),
        (-1.0, 0.0, 0.0, "", np.nan, np.nan),
    ]
    margin, multiplier, upper = (np.array(v) for v in list(zip(*cases, strict=True))[:3])
    found = kkt_conditions(margin, multiplier, upper, 1e-3)
    for k, (*_, side, violation, gap) in enumerate(cases):
        assert found.side[k] == side
        np.testing.assert_equal(found.violation[k], violation)
        np.testing.assert_equal(found.gap[k], gap)
    assert found.worst == 2.0
    assert found.counts() == {"outside": 5, "on": 4, "inside": 3, "wrong": 3}
    assert str(found).startswith("5 outside the margin, 4 on it, 3 inside it, 3 on the wrong side")


def test_coefficients_whose_sum_is_evened_stay_in_their_range() -> None:
    unit = 2.0**-53
    c, low = np.array([1.0 - unit, -1.0, -2.0 * unit]), np.array([-1.0, -1.0, -2.0 * unit])
    found = evened(c, low, 1.0)
    assert np.all(found >= low) and np.all(found <= 1.0)
    # Nor does it fail on sums that are beyond float64.
    for wide in ([1e308, 1e308, -1e308, -1e308], [np.inf, -np.inf]):
        np.testing.assert_array_equal(evened(np.array(wide)), wide)
