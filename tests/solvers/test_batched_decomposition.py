"""Several machines at once: the same optima, true bounds, limits that hold."""

from __future__ import annotations

import functools
import itertools
import signal

import numpy as np
import pytest

from kernel_svm_reference import kernel_matrix, solve_soft
from separatrix import SVC
from separatrix.data.design import as_design
from separatrix.kernels import LinearKernel, PolynomialKernel, RBFKernel
from separatrix.kernels.batched import BatchedNuObjective, BatchedObjective
from separatrix.kernels.gram import Gram
from separatrix.kernels.nu import KernelNuObjective
from separatrix.kernels.objective import KernelObjective
from separatrix.losses import Hinge
from separatrix.objectives.base import Bound
from separatrix.solvers import select_solver
from separatrix.solvers.batched_decomposition import BatchedDecomposition
from separatrix.solvers.driver import minimise, minimise_batch, watch

KERNELS = {
    "linear": (LinearKernel(), {}),
    "rbf": (RBFKernel(0.5), {"gamma": 0.5}),
    "poly": (PolynomialKernel(2, 0.5, 1.0), {"degree": 2, "gamma": 0.5, "coef0": 1.0}),
}
PARTS = 3


def problems_of(name: str, C: float, n: int = 40, cache_mb: float = 100.0, exact: bool = True):
    """Pairs of classes on one matrix, with weights, some of them zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(PARTS * n, 3))
    codes = np.repeat(np.arange(PARTS), n)
    X[:, 0] += 0.8 * codes
    gram = Gram(KERNELS[name][0], as_design(X), cache_mb=cache_mb)
    if not exact:
        gram._open(np.float32)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(X), p=[0.1, 0.3, 0.3, 0.3])
    out = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((codes == first) | (codes == second))
        y = np.where(codes[rows] == first, 1.0, -1.0)
        out.append(KernelObjective(gram.take(rows), y, Hinge(), C=C, weights=weights[rows]))
    return X, out


def solve(problems, tol: float = 1e-9, **options):
    batch = BatchedObjective.of(problems)
    assert batch is not None
    settings = {"tol": tol, "max_iter": 10_000, "parts": ["a", "b", "c"][: len(problems)]}
    return minimise_batch(batch, BatchedDecomposition(), select_solver, **{**settings, **options})


STRENGTHS = (0.01, 1.0, 100.0)


@functools.cache
def references_of(name: str) -> dict[float, list[tuple[float, float]]]:
    """Bounds of the optimum of each problem, by C; they take longer than all else."""
    X, problems = problems_of(name, 1.0, n=20)
    matrix = [kernel_matrix(name, X[one.samples], **KERNELS[name][1]) for one in problems]
    found = solve_soft(
        np.array(matrix * len(STRENGTHS)),
        np.array([one.y for one in problems] * len(STRENGTHS)),
        np.array([C * one.upper for C in STRENGTHS for one in problems]),
    )
    bounds = [(float(low), float(high)) for low, high in zip(found.lower, found.upper, strict=True)]
    return {C: bounds[PARTS * k : PARTS * (k + 1)] for k, C in enumerate(STRENGTHS)}


@pytest.mark.crossed
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("name", "C"), list(itertools.product(KERNELS, STRENGTHS)))
def test_the_optima_of_all_parts(name: str, C: float, exact: bool) -> None:
    _, problems = problems_of(name, C, n=20, exact=exact)
    for problem, solution, (lower, upper) in zip(
        problems, solve(problems), references_of(name)[C], strict=True
    ):
        certificate = solution.certificate
        assert certificate.ok
        assert certificate.dual <= upper * (1 + 1e-14)
        assert certificate.primal >= lower * (1 - 1e-12)
        c = problem.weights_of(solution.theta)
        assert np.all(problem.y * c >= 0.0)
        assert np.all(np.abs(c) <= problem.upper)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_certificates_at_once_are_those_of_one_by_one(name: str, exact: bool) -> None:
    _, problems = problems_of(name, 2.0, exact=exact)
    batch = BatchedObjective.of(problems)
    assert batch is not None
    rng = np.random.default_rng(1)
    every = np.arange(len(problems))
    for size in (0.0, 1e-3, 1.0):
        # Points that are anywhere in their range, and not balanced.
        c = batch.y * batch.upper * rng.uniform(size=len(batch.y)) * size
        b = rng.normal(size=len(problems))
        product = batch.product(c)
        for k, bound in enumerate(batch.certify(c, b, product, 1e-6, every)):
            problem, own = problems[k], c[batch.starts[k] : batch.starts[k + 1]]
            theta = problem.join(own, b[k])
            np.testing.assert_allclose(
                product[batch.starts[k] : batch.starts[k + 1]],
                problem.matrix.dot(own),
                atol=1e-12 * (1.0 + np.abs(own).sum()),
            )
            alone = problem.certify(theta, Bound(np.inf, 0.0, np.inf, -own), 1e-6)
            assert bound.primal == pytest.approx(alone.primal, rel=1e-9)
            assert bound.dual == pytest.approx(alone.dual, rel=1e-9, abs=1e-9 * alone.primal)


def test_a_point_out_of_range_has_no_bound() -> None:
    _, problems = problems_of("rbf", 1.0)
    batch = BatchedObjective.of(problems)
    assert batch is not None
    c = np.zeros(len(batch.y))
    c[0] = -batch.y[0]
    bounds = batch.certify(c, np.zeros(3), batch.product(c), 1e-6, np.arange(3))
    assert [bound.dual for bound in bounds] == [0.0] * 3


def test_what_is_not_taken() -> None:
    _, problems = problems_of("rbf", 1.0)
    others = problems_of("rbf", 1.0)[1]
    assert BatchedObjective.of([problems[0], others[1]]) is None
    assert BatchedObjective.of([problems[0], object()]) is None
    # A matrix that does not fit into memory.
    assert BatchedObjective.of(problems_of("rbf", 1.0, cache_mb=0.01)[1]) is None


def test_limits_hold_and_what_is_left_goes_on_alone() -> None:
    _, problems = problems_of("rbf", 100.0)
    for solution in solve(problems, max_iter=1):
        assert solution.certificate.n_iter <= 1
        assert solution.certificate.status in ("max_iter", "optimal")
    for solution in solve(problems, time_limit=1e-9):
        assert solution.certificate.status == "time_limit"
        assert solution.certificate.dual <= solution.certificate.primal
    for solution in solve(problems, tol=1e-300):
        assert solution.certificate.status == "precision_limit"
        assert solution.certificate.relative_gap < 1e-10


def test_those_who_watch_change_nothing() -> None:
    _, problems = problems_of("rbf", 10.0)
    plain = solve(problems)
    seen = []
    with watch(seen.append):
        watched = solve(problems)
    for one, other in zip(plain, watched, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
    assert {progress.part for progress in seen} == {"a", "b", "c"}
    assert seen[-1].relative_gap <= seen[-1].tol


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.signals
def test_ctrl_c_leaves_every_part_with_a_bound() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.repeat([0, 1, 2], 30)
    model = SVC(C=10.0, tol=1e-300)
    pressed = []

    def press(progress) -> None:
        if not pressed:
            pressed.append(progress)
            signal.raise_signal(signal.SIGINT)

    with watch(press), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    for part in model.certificate_.parts:
        assert 0.0 <= part.dual <= part.primal < np.inf
    assert model.predict(X).shape == y.shape


def test_one_part_is_the_same_as_alone() -> None:
    _, problems = problems_of("rbf", 3.0)
    whole = solve(problems, tol=1e-10)
    alone = solve(problems[1:2], tol=1e-10)[0]
    other = minimise(problems[1], select_solver(problems[1]), tol=1e-10)
    np.testing.assert_allclose(alone.theta, whole[1].theta, atol=1e-6)
    np.testing.assert_allclose(alone.theta[:-1], other.theta[:-1], atol=1e-4)


def test_equal_gradients_do_not_hide_a_violator() -> None:
    # Most rows are copies, so that the gradients of most are equal.
    rng = np.random.default_rng(3)
    X = np.concatenate([np.repeat(rng.normal(size=(4, 2)), 100, axis=0), rng.normal(size=(60, 2))])
    y = (rng.uniform(size=len(X)) < 0.5).astype(int)
    certificate = SVC(C=1.0, gamma=2.0).fit(X, y).certificate_
    assert certificate.ok
    assert certificate.n_iter < 100


def nu_problems_of(name: str, nu: float, n: int = 40):
    """Pairs of classes on one matrix, in no order, with weights, some of them zero."""
    rng = np.random.default_rng(1)
    codes = rng.permutation(np.repeat(np.arange(PARTS), n))
    X = rng.normal(size=(PARTS * n, 3))
    X[:, 0] += 2.0 * codes
    gram = Gram(KERNELS[name][0], as_design(X), cache_mb=100.0)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(X), p=[0.1, 0.3, 0.3, 0.3])
    out = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((codes == first) | (codes == second))
        y = np.where(codes[rows] == first, 1.0, -1.0)
        out.append(KernelNuObjective(gram.take(rows), y, nu, weights=weights[rows]))
    return out


def solve_nu(problems, tol: float = 1e-9, **options):
    batch = BatchedNuObjective.of(problems)
    assert batch is not None
    settings = {"tol": tol, "max_iter": 10_000, "parts": ["a", "b", "c"][: len(problems)]}
    options = {**settings, **options}
    return minimise_batch(batch, BatchedDecomposition(), select_solver, **options)


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_machines_with_a_sum_for_each_class(name: str) -> None:
    met = []
    for nu in (0.05, 0.3, 0.6):
        problems, apart = nu_problems_of(name, nu, n=20), nu_problems_of(name, nu, n=20)
        found = solve_nu(problems, record=True)
        for problem, other, solution in zip(problems, apart, found, strict=True):
            case = (name, nu, solution.certificate)
            alone = minimise(other, select_solver(other), tol=1e-9, theta=other.zero())
            met.append(alone.certificate.status)
            assert solution.certificate.status == alone.certificate.status, case
            if alone.certificate.status == "no_margin":
                continue
            assert solution.certificate.primal == pytest.approx(
                alone.certificate.primal, rel=2e-9
            ), case
            assert len(solution.trace.primal) > 0
            a = problem.y * problem.weights_of(solution.theta)
            assert np.all(a >= 0.0) and np.all(a <= problem.upper), case
            for side, mass in problem.groups:
                assert a[side].sum() == pytest.approx(mass, rel=1e-14), case
            assert problem.intercept_of(solution.theta) == pytest.approx(
                other.intercept_of(alone.theta), rel=1e-4, abs=1e-4
            ), case
    assert met.count("optimal") >= 5


def test_limits_of_machines_with_a_sum_for_each_class() -> None:
    for options in ({"max_iter": 1}, {"time_limit": 1e-9}):
        for solution in solve_nu(nu_problems_of("rbf", 0.3), **options):
            certificate = solution.certificate
            assert certificate.status in ("optimal", *options)
            assert certificate.n_iter <= 1
            assert 0.0 <= certificate.dual <= certificate.primal < np.inf
    one = KernelNuObjective(nu_problems_of("rbf", 0.3)[0].matrix, np.ones(80), 0.3)
    assert BatchedNuObjective.of([one]) is None
