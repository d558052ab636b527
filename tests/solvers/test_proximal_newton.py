"""The proximal Newton method: optimality, sparsity, working sets and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.svm import LinearSVC as PeerSVC

from separatrix import LogisticRegression
from separatrix.data.design import as_design
from separatrix.losses import Hinge, LogLoss, SquaredError, SquaredHinge, SquaredResidual
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, L2, ElasticNet, NoPenalty, Penalty
from separatrix.objectives.residual import ResidualObjective
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import (
    Newton,
    ProximalNewton,
    QuasiNewton,
    Smoothing,
    proximal_newton,
    select_solver,
)
from separatrix.solvers.class_columns import ClassColumnModel
from separatrix.solvers.column_model import ColumnModel, common_move, reach
from separatrix.solvers.driver import minimise
from separatrix.solvers.proximal_newton import Tuning

N, D = 120, 40

LOSSES = [LogLoss(), SquaredHinge(), SquaredError()]
PENALTIES = [L1(), ElasticNet(0.5), ElasticNet(0.01)]
STORAGES = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


def data(n: int = N, d: int = D, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    X = X.astype(np.float32).astype(np.float64)
    w = np.where(np.arange(d) < 5, 1.0, 0.0)
    return X, np.where(X @ w + rng.normal(size=n) > 0.3, 1.0, -1.0)


def objective(loss, penalty=None, storage: str = "dense", **options) -> MarginObjective:
    X, y = data()
    return MarginObjective(as_design(STORAGES[storage](X)), y, loss, penalty or L1(), **options)


def optimal(problem, theta, tol: float) -> None:
    """The optimality conditions, written out: slopes at zero within the threshold, and so on."""
    gradient = problem.gradient(theta)
    d, threshold = problem.design.n_features, problem.penalty.l1
    w, g = theta[:d], gradient[:d]
    assert np.all(np.abs(g[w == 0.0]) <= threshold + tol)
    np.testing.assert_allclose(g[w != 0.0], -threshold * np.sign(w[w != 0.0]), atol=tol)
    if problem.fit_intercept:
        np.testing.assert_allclose(gradient[d:], 0.0, atol=tol)


@pytest.mark.crossed
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0])
def test_reaches_the_tolerance_and_the_conditions(loss, penalty, intercept: bool, C) -> None:
    problem = objective(loss, penalty, C=C, fit_intercept=intercept)
    solution = minimise(problem, ProximalNewton(), tol=1e-10)
    assert solution.certificate.ok, str(solution.certificate)
    optimal(problem, solution.theta, 1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("storage", STORAGES)
def test_every_design_gives_the_same_optimum(loss, storage: str) -> None:
    first = minimise(objective(loss), ProximalNewton(), tol=1e-10)
    other = minimise(objective(loss, storage=storage), ProximalNewton(), tol=1e-10)
    assert other.certificate.ok
    np.testing.assert_allclose(other.certificate.primal, first.certificate.primal, rtol=2e-10)
    np.testing.assert_array_equal(other.theta != 0.0, first.theta != 0.0)


@pytest.mark.parametrize("C", [0.05, 0.3, 2.0])
def test_the_zeros_are_those_of_liblinear(C: float) -> None:
    X, y = data()
    options = {"C": C, "fit_intercept": False, "tol": 1e-10, "max_iter": 100_000}
    peers = [
        (LogLoss(), Peer(l1_ratio=1.0, solver="liblinear", random_state=0, **options)),
        (SquaredHinge(), PeerSVC(penalty="l1", dual=False, random_state=0, **options)),
    ]
    for loss, peer in peers:
        w = peer.fit(X, y).coef_[0]
        problem = objective(loss, C=C, fit_intercept=False)
        solution = minimise(problem, ProximalNewton(), tol=1e-12)
        np.testing.assert_array_equal(solution.theta != 0.0, w != 0.0)
        np.testing.assert_allclose(solution.theta, w, atol=1e-4)
        assert solution.certificate.dual <= problem.value(w) * (1 + 1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_below_the_critical_C_all_weights_are_exactly_zero(loss, intercept: bool) -> None:
    problem = objective(loss, C=1.0, fit_intercept=intercept)
    zero = problem.zero()
    if intercept:
        zero[-1] = problem.best_intercept(np.zeros(N))
    critical = 1.0 / np.abs(problem.gradient(zero)[:D]).max()
    for factor, some in ((0.999, False), (1.001, True)):
        near = objective(loss, C=factor * critical, fit_intercept=intercept)
        solution = minimise(near, ProximalNewton(), tol=1e-12)
        assert solution.certificate.ok
        assert bool(np.any(solution.theta[:D])) is some


def test_a_path_of_warm_starts_ends_where_cold_starts_do() -> None:
    theta = None
    for C in np.geomspace(0.02, 20.0, 12):
        problem = objective(LogLoss(), C=C)
        warm = minimise(problem, ProximalNewton(), tol=1e-10, theta=theta)
        cold = minimise(problem, ProximalNewton(), tol=1e-10)
        assert warm.certificate.ok
        assert cold.certificate.ok
        np.testing.assert_allclose(warm.theta, cold.theta, atol=1e-3)
        theta = warm.theta
    again = minimise(problem, ProximalNewton(), tol=1e-10, theta=theta, residual=warm.residual)
    assert again.certificate.n_iter == 0


def test_weights_are_copies() -> None:
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, size=N)
    copies = np.repeat(np.arange(N), weights)
    one = MarginObjective(as_design(X), y, LogLoss(), L1(), weights=weights.astype(float))
    other = MarginObjective(as_design(X[copies]), y[copies], LogLoss(), L1())
    one, other = (minimise(p, ProximalNewton(), tol=1e-11) for p in (one, other))
    np.testing.assert_allclose(one.certificate.primal, other.certificate.primal, rtol=1e-10)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-4)


def test_equal_columns_and_columns_of_zeros() -> None:
    X, y = data()
    X = np.column_stack([X, X[:, :10], np.zeros((N, 3))])
    problem = MarginObjective(as_design(X), y, LogLoss(), L1())
    solution = minimise(problem, ProximalNewton(), tol=1e-10)
    assert solution.certificate.ok
    assert not np.any(solution.theta[D + 10 : D + 13])
    alone = minimise(objective(LogLoss()), ProximalNewton(), tol=1e-10)
    np.testing.assert_allclose(solution.certificate.primal, alone.certificate.primal, rtol=1e-9)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_separable_data(loss, C: float) -> None:
    X, y = data()
    X[:, 0] = y * (0.1 + np.abs(X[:, 0]))
    problem = MarginObjective(as_design(X), y, loss, L1(), C=C)
    solution = minimise(problem, ProximalNewton(), tol=1e-6)
    assert solution.certificate.ok, str(solution.certificate)


@pytest.mark.parametrize("seed", range(4))
def test_more_columns_than_rows(seed: int) -> None:
    X, y = data(30, 3000, seed)
    problem = MarginObjective(as_design(sp.csr_array(X)), y, LogLoss(), L1(), C=3.0)
    solution = minimise(problem, ProximalNewton(), tol=1e-8)
    assert solution.certificate.ok
    # No more weights than rows are needed, and the columns are in general position.
    assert 0 < np.count_nonzero(solution.theta[:-1]) <= 30


@pytest.mark.parametrize("tuning", [Tuning(), Tuning(dense=1)], ids=["hessian", "columns"])
def test_a_loose_gap_is_proved_long_before_the_optimum(tuning: Tuning) -> None:
    X = sp.random_array((600, 400), density=0.05, rng=np.random.default_rng(0), format="csr")
    rng = np.random.default_rng(1)
    w = rng.normal(size=400) * (rng.random(400) < 0.2)
    y = np.where(X @ w + 0.3 * rng.normal(size=600) > 0, 1.0, -1.0)
    problem = MarginObjective(as_design(X), y, LogLoss(), L1(), C=10.0)
    loose, tight = (minimise(problem, ProximalNewton(tuning), tol=tol) for tol in (0.7, 0.1))
    assert 0.1 < loose.certificate.relative_gap <= 0.7
    assert loose.certificate.ok and tight.certificate.ok
    assert 2 * loose.certificate.n_iter <= tight.certificate.n_iter + 1


def softmax(penalty=None, **options) -> SoftmaxObjective:
    X, _ = data()
    codes = np.random.default_rng(3).integers(4, size=N)
    codes[X[:, 0] > 0.5] = 0
    return SoftmaxObjective(as_design(X), codes, 4, penalty or L1(), **options)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.5)])
def test_more_weights_than_a_hessian_is_for(penalty, intercept: bool) -> None:
    problem = softmax(penalty, C=3.0, fit_intercept=intercept)
    whole = minimise(problem, ProximalNewton(), tol=1e-10)
    columns = minimise(problem, ProximalNewton(Tuning(dense=20)), tol=1e-10)
    assert columns.state.by_columns
    assert not whole.state.by_columns
    assert columns.certificate.ok, str(columns.certificate)
    # Two of four weights may rise and two fall together: the optimum is not unique.
    assert columns.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)


class WithoutHessian(ProximalNewton):
    """A solver that factorises nothing, whatever the size."""

    def __init__(self) -> None:
        super().__init__(Tuning(cheap=0.0))

    def step(self, problem, state, check_interrupt):
        state = super().step(problem, state, check_interrupt)
        assert state.hessian is None or len(state.index) == 0
        return state


@pytest.mark.crossed
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0])
def test_without_a_hessian_it_reaches_the_same(loss, penalty, intercept: bool, C) -> None:
    problem = objective(loss, penalty, C=C, fit_intercept=intercept)
    solution = minimise(problem, WithoutHessian(), tol=1e-10)
    assert solution.certificate.ok, str(solution.certificate)
    optimal(problem, solution.theta, 1e-3)


@pytest.mark.parametrize("storage", STORAGES)
def test_without_a_hessian_every_design_gives_the_same_optimum(storage: str) -> None:
    first = minimise(objective(LogLoss()), WithoutHessian(), tol=1e-10)
    other = minimise(objective(LogLoss(), storage=storage), WithoutHessian(), tol=1e-10)
    assert other.certificate.ok
    np.testing.assert_array_equal(other.theta != 0.0, first.theta != 0.0)
    np.testing.assert_allclose(other.theta, first.theta, atol=1e-4)


def test_without_a_hessian_entries_in_parts_count_once() -> None:
    X, y = data()
    whole = sp.csr_array(X)
    parts = sp.csr_array(
        (np.repeat(0.5 * whole.data, 2), np.repeat(whole.indices, 2), 2 * whole.indptr),
        shape=X.shape,
    )
    fits = [
        minimise(MarginObjective(as_design(x), y, LogLoss(), L1()), WithoutHessian(), tol=1e-10)
        for x in (whole, parts)
    ]
    assert fits[1].certificate.ok
    np.testing.assert_allclose(fits[0].theta, fits[1].theta, atol=1e-4)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
def test_without_a_hessian_wide_separable_data_and_the_same_bits(loss) -> None:
    X, y = data(40, 600)
    problem = MarginObjective(as_design(sp.csr_array(X)), y, loss, L1(), C=100.0)
    fits = [minimise(problem, WithoutHessian(), tol=1e-6) for _ in range(2)]
    assert fits[0].certificate.ok, str(fits[0].certificate)
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_find_the_minimum_of_a_model(intercept: bool, sparse: bool, bounded: bool) -> None:
    """Passes alone, and few of them with a leap; where that leads without kinks is known."""
    rng = np.random.default_rng(3)
    X, _ = data()
    A = np.hstack([X, np.ones((N, 1))]) if intercept else X
    curvature, residual = rng.random(N), rng.normal(size=N)
    x = rng.normal(size=A.shape[1])
    own = np.full(len(x), 0.1)
    penalty = (
        Penalty(l1=2.0, lower=[0.0, -1.0] * (D // 2), upper=1.0) if bounded else Penalty(l1=2.0)
    )
    kinks = penalty.kinks(x.shape, D)
    x = kinks.within(x)
    if intercept:
        own[-1] = 0.0
    H = A.T @ (curvature[:, None] * A)

    def model() -> ColumnModel:
        design = as_design(sp.csr_array(X) if sparse else X)
        where = (x, kinks, own, 0.0)
        return ColumnModel(design, np.arange(D), curvature, residual, *where)

    def away(m: ColumnModel) -> float:
        g = A.T @ residual + H @ (m.x - x) + own * m.x
        np.testing.assert_allclose(A.T @ m.u, g - own * m.x, atol=1e-9)
        assert penalty.allows(m.x[:D])
        # A step along the slopes, back to where it may lead, leads nowhere.
        shrunk = np.sign(m.x - g) * np.maximum(np.abs(m.x - g) - kinks.l1, 0.0)
        return float(np.abs(m.x - kinks.within(shrunk)).max())

    slow, fast = model(), model()
    worst, passes = slow.descend(1e-9, 1000, lambda: None)
    assert passes < 1000
    assert worst <= 1e-9
    assert away(slow) < 1e-8
    assert np.any(slow.x == 0.0)
    fast.descend(0.0, 20, lambda: None)
    signs, before = np.sign(fast.x), fast.x.copy()
    ahead = fast.leap(1e-10, lambda: None)
    free = (before != 0.0) | (kinks.l1 == 0.0)
    free &= (before != kinks.lower) & (before != kinks.upper)
    steep = A.T @ residual + H @ (before - x) + own * before + kinks.l1 * signs
    whole = np.linalg.solve((H + np.diag(own))[np.ix_(free, free)], -steep[free])
    expected = residual + curvature * (A @ (before - x)) + curvature * (A[:, free] @ whole)
    np.testing.assert_allclose(ahead, expected, atol=1e-8)
    fast.descend(0.0, 3, lambda: None)
    assert away(fast) < 1e-6
    np.testing.assert_allclose(fast.x, slow.x, atol=1e-6)


@pytest.mark.parametrize("C", [1e2, 1e4])
def test_a_start_far_on_the_wrong_side_is_no_obstacle(C: float) -> None:
    # There the log loss is straight, and what its model foresees is without end.
    X, y = data(60, 400)
    problem = MarginObjective(as_design(sp.csr_array(X)), y, LogLoss(), L1(), C=C)
    far = np.append(-1e3 * X.T @ y, 1e4)
    solution = minimise(problem, ProximalNewton(), tol=1e-6, theta=far)
    assert solution.certificate.ok, str(solution.certificate)


def test_levels_of_a_category_that_add_up_to_the_constant() -> None:
    # One direction changes no score; the kinks decide how far to go along it.
    rng = np.random.default_rng(0)
    codes = rng.integers(8, size=(400, 3))
    X = np.hstack([np.eye(8)[column] for column in codes.T])
    y = np.where(X @ rng.normal(size=24) + rng.normal(size=400) > 0.0, 1.0, -1.0)
    for loss in (LogLoss(), SquaredHinge()):
        for C in (1.0, 100.0, 1e4):
            problem = MarginObjective(as_design(X), y, loss, L1(), C=C)
            solution = minimise(problem, ProximalNewton(), tol=1e-8, max_iter=100)
            assert solution.certificate.ok, str(solution.certificate)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("flat", [True, False])
def test_the_search_along_a_line_ends_at_the_least_point_on_it(seed: int, flat: bool) -> None:
    rng = np.random.default_rng(seed)
    x, step = rng.normal(size=(2, 12))
    x[:3] = 0.0
    threshold = np.where(np.arange(12) == 5, 0.0, rng.random(12))
    side = np.where(x != 0.0, np.sign(x), np.sign(step))
    smooth = -1.0 - float(np.sum(threshold * side * step))
    bend = 0.0 if flat else 0.3
    steep = smooth + float(np.sum(threshold * side * step))
    length, last, kink = reach(x, step, Penalty(l1=threshold).kinks((12,), 12), steep, bend)

    def value(t):
        sizes = np.abs(x[:, None] + step[:, None] * t)
        return smooth * t + 0.5 * bend * t * t + threshold @ sizes

    t = np.linspace(0.0, 3.0 * length + 1.0, 20001)
    if not flat:
        assert value(np.array([length]))[0] <= value(t).min() + 1e-9
    if last >= 0:
        assert abs(x[last] + length * step[last]) < 1e-12
        assert kink == 0.0


@pytest.mark.parametrize("flat", [True, False])
def test_weights_move_together_to_the_least_point_on_their_line(flat: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        x = np.round(rng.normal(size=5), 1) * (rng.random(5) < 0.7)
        # In balance, where nothing but the kinks bends the line.
        slope = rng.normal(size=5) * 3.0
        slope -= slope.mean() * flat
        l1, bend = rng.random(5), 0.0 if flat else rng.random() * 5.0
        lower, upper = np.full(5, -np.inf), np.full(5, np.inf)
        if rng.random() < 0.5:
            lower, upper = np.round(x.min() - rng.random(5), 1), np.maximum(x, 0.5)
        found = common_move(slope, x, bend, l1, lower, upper)

        def value(t, slope=slope, bend=bend, x=x, l1=l1, lower=lower, upper=upper):
            moved = x[:, None] + t
            beyond = np.maximum(lower[:, None] - moved, moved - upper[:, None]).max(axis=0) > 1e-12
            model = slope.sum() * t + 0.5 * bend * t * t + l1 @ np.abs(moved)
            return np.where(beyond, np.inf, model)

        if bend == 0.0 and abs(slope.sum()) > l1.sum() and np.isinf(upper[0]):
            continue
        assert value(np.array([found]))[0] <= value(np.linspace(-30.0, 30.0, 6001)).min() + 1e-9


def test_weights_of_several_classes_meet_their_kinks_in_few_systems(monkeypatch) -> None:
    """Each column has a direction that no probability sees: one kink a system were hundreds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    codes = np.argmax(X[:, :3] + rng.gumbel(scale=0.3, size=(300, 3)), axis=1)
    problem = SoftmaxObjective(as_design(X), codes, 3, ElasticNet(0.5), C=1e3)
    systems = []
    solve = proximal_newton.solve_positive

    def counted(matrix, rhs):
        systems.append(len(rhs))
        return solve(matrix, rhs)

    monkeypatch.setattr(proximal_newton, "solve_positive", counted)
    found = minimise(problem, ProximalNewton(), tol=1e-8)
    assert found.certificate.ok
    assert not found.state.by_columns
    assert len(systems) <= 4 * found.certificate.n_iter


@pytest.mark.parametrize("classes", [2, 3])
def test_a_factor_that_dwarfs_the_products_is_not_made(classes: int) -> None:
    """A Hessian of rows with few entries is formed in no time, and factorised in a long one."""
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 400), density=0.02, format="csr", rng=rng)
    y = rng.integers(classes, size=200)
    options = {"C": 1e3, "penalty": ElasticNet(0.5)}
    if classes == 2:
        problem = MarginObjective(as_design(X), 2.0 * y - 1.0, LogLoss(), **options)
    else:
        problem = SoftmaxObjective(as_design(X), y, classes, **options)
    found = minimise(problem, ProximalNewton(), tol=1e-8)
    assert found.certificate.ok
    assert found.state.by_columns


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.3)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_multinomial(penalty, intercept: bool) -> None:
    for C in (1e-3, 0.2, 3.0):
        problem = softmax(penalty, C=C, fit_intercept=intercept)
        solution = minimise(problem, ProximalNewton(), tol=1e-9)
        assert solution.certificate.ok, str(solution.certificate)
        optimal(problem, solution.theta, 1e-3)


def tall(loss=None) -> MarginObjective:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 3))
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=len(X)) > 1.0, 1.0, -1.0)
    return MarginObjective(as_design(X), y, loss or LogLoss(), ElasticNet(0.5))


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()], ids=repr)
def test_many_rows_begin_at_the_optimum_of_a_sample(loss) -> None:
    problem = tall(loss)
    sampled = minimise(problem, ProximalNewton(), tol=1e-10, seed=0)
    again = minimise(problem, ProximalNewton(), tol=1e-10, seed=0)
    whole = minimise(problem, ProximalNewton(Tuning(tall=math.inf)), tol=1e-10, seed=0)
    assert sampled.certificate.ok
    assert sampled.certificate.n_iter < whole.certificate.n_iter
    np.testing.assert_array_equal(sampled.theta, again.theta)
    np.testing.assert_allclose(sampled.certificate.primal, whole.certificate.primal, rtol=2e-10)


def test_a_sample_without_weight_is_none() -> None:
    problem = tall()
    problem.upper[1:-1] = 0.0
    for seed in range(3):
        assert minimise(problem, ProximalNewton(), tol=1e-8, seed=seed).certificate.ok


def test_a_model_that_is_far_off_gives_no_dual_point(monkeypatch) -> None:
    made = []
    dual = ProximalNewton._with_dual

    def counted(problem, state, residual):
        made.append(1)
        return dual(problem, state, residual)

    monkeypatch.setattr(ProximalNewton, "_with_dual", staticmethod(counted))
    found = minimise(objective(LogLoss(), C=100.0), ProximalNewton(), tol=1e-8)
    assert found.certificate.ok
    # The dual point of the start is counted, too.
    assert len(made) < found.certificate.n_iter


def test_two_softmax_columns_are_one_logistic_regression() -> None:
    # w = (u, -u) has twice the penalty of u, and softmax the margin 2 u.x.
    X, y = data()
    two = SoftmaxObjective(as_design(X), (y > 0).astype(int), 2, L1(), fit_intercept=False)
    one = MarginObjective(as_design(X), y, LogLoss(), L1(), fit_intercept=False)
    two, one = (minimise(p, ProximalNewton(), tol=1e-10).certificate for p in (two, one))
    np.testing.assert_allclose(two.primal, one.primal, rtol=1e-9)


def test_same_bits_twice() -> None:
    fits = [minimise(objective(LogLoss()), ProximalNewton(), tol=1e-10) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)


def test_limits() -> None:
    problem = objective(LogLoss(), C=10.0)
    stopped = minimise(problem, ProximalNewton(), tol=1e-12, max_iter=1)
    best = minimise(problem, ProximalNewton(), tol=1e-12).certificate.primal
    assert stopped.certificate.status == "max_iter"
    assert stopped.certificate.dual <= best <= stopped.certificate.primal
    assert minimise(problem, ProximalNewton(), time_limit=1e-9).certificate.status == "time_limit"
    hopeless = minimise(problem, ProximalNewton(), tol=1e-300, max_iter=1000).certificate
    assert hopeless.status == "precision_limit"
    assert hopeless.relative_gap < 1e-12


def test_refusals_name_the_capability() -> None:
    with pytest.raises(TypeError, match="curvature"):
        minimise(objective(Hinge()), ProximalNewton())
    for penalty in (L2(), NoPenalty()):
        with pytest.raises(TypeError, match="a penalty with a kink"):
            minimise(objective(LogLoss(), penalty), ProximalNewton())
    with pytest.raises(TypeError, match="penalty without a kink"):
        minimise(objective(LogLoss()), Newton())
    assert isinstance(select_solver(objective(Hinge())), Smoothing)


def test_it_is_chosen_where_the_penalty_has_a_kink() -> None:
    for loss in LOSSES:
        for penalty in PENALTIES:
            assert isinstance(select_solver(objective(loss, penalty)), ProximalNewton)


# --- several classes, and more weights than a Hessian is for --------------------------------------


def many_weights(sparse, rng):
    """Rows of few informative columns among many, in four classes."""
    X = rng.standard_normal((150, 400))
    if sparse:
        X *= rng.random(X.shape) < 0.2
    y = np.argmax(X[:, :4] + rng.gumbel(scale=0.3, size=(150, 4)), axis=1)
    return (sp.csr_matrix(X) if sparse else X), y


@pytest.mark.parametrize("sparse", [False, True])
def test_many_weights_of_several_classes(sparse):
    X, y = many_weights(sparse, np.random.default_rng(0))
    model = LogisticRegression(l1_ratio=1.0, tol=1e-7).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-7
    assert 0 < np.count_nonzero(model.coef_) < 0.5 * model.coef_.size
    # Optimal, where nothing of the library says so: no slope is beyond the penalty's.
    scores = X @ model.coef_.T + model.intercept_
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    slopes = X.T @ (p / p.sum(axis=1, keepdims=True) - np.eye(4)[y])
    assert np.abs(slopes).max() <= 1.0 + 1e-3
    used = model.coef_.T != 0.0
    assert slopes[used] == pytest.approx(-np.sign(model.coef_.T[used]), abs=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_model_of_several_classes_is_that_of_the_loss(sparse):
    """Its slopes are those of the quadratic model, and no search lets that rise."""
    rng = np.random.default_rng(1)
    X, _ = many_weights(sparse, rng)
    n, d, k = 150, 400, 4
    p = rng.dirichlet(np.full(k, 0.5), size=n)
    upper, residual = rng.random(n) * 3.0, rng.standard_normal((n, k))
    x, own = (
        rng.standard_normal((d + 1, k)) * (rng.random((d + 1, k)) < 0.1),
        np.full((d + 1, k), 0.3),
    )
    kinks = Penalty(l1=2.0).kinks((d + 1, k), d)

    def bent(scores):
        return upper[:, None] * (p * scores - p * (p * scores).sum(axis=1, keepdims=True))

    weights = (upper, p, bent)
    where = (residual, x, kinks, own, 1e-9)
    model = ClassColumnModel(as_design(X), np.arange(d), *weights, *where)

    def value():
        scores = X @ (model.x - x)[:d] + (model.x - x)[d]
        square = np.sum(scores * (0.5 * bent(scores) + residual))
        return square + np.sum(0.5 * own * model.x**2 + kinks.l1 * np.abs(model.x)), scores

    before = value()[0]
    for search in (
        lambda: model.descend(0.0, 3, lambda: None),
        lambda: model.leap(1e-6, lambda: None),
    ):
        search()
        after, scores = value()
        assert after < before
        assert model.u == pytest.approx(residual + bent(scores), abs=1e-9)
        before = after


def test_twice_the_diagonal_is_above_the_softmax_s_hessian():
    for p in np.random.default_rng(2).dirichlet(np.full(5, 0.3), size=50):
        above = np.diag(2.0 * p * (1.0 - p)) - (np.diag(p) - np.outer(p, p))
        assert np.linalg.eigvalsh(above).min() >= -1e-15


# --- bounds and factors by column -----------------------------------------------------------------

BOUNDED = {
    "box": {"lower": np.linspace(-0.5, 0.0, D), "upper": np.linspace(0.1, 1.0, D)},
    "ridge": {"l2": 1.0, "lower": 0.0},
    "ridge of one sign each": {
        "l2": np.linspace(0.1, 2.0, D),
        "lower": np.where(np.arange(D) % 2, 0.0, -np.inf),
        "upper": np.where(np.arange(D) % 3, np.inf, 0.3),
    },
    "lasso": {"l1": 1.0, "lower": -0.2, "upper": 0.1},
    "factors": {"l1": np.linspace(0.1, 2.0, D), "l2": np.where(np.arange(D) < 5, 1.0, 0.0)},
}


def reference(problem) -> float:
    """The optimum by L-BFGS-B, with the positive and the negative part of each weight."""
    penalty, d = problem.penalty, problem.design.n_features
    l1, l2, lower, upper = (
        np.broadcast_to(part, (d,))
        for part in (penalty.l1, penalty.l2, penalty.lower, penalty.upper)
    )

    def value(z):
        w = z[:d] - z[d : 2 * d]
        theta = problem.join(w, z[-1])
        scores = problem.linear(theta)
        slope = problem.adjoint(problem.residual(scores))
        total = problem.loss_value(scores) + 0.5 * np.sum(l2 * w * w)
        inner = slope[:d] + l2 * w
        total += np.sum(l1 * (z[:d] + z[d : 2 * d]))
        return total, np.concatenate([inner + l1, l1 - inner, [slope[-1] * problem.fit_intercept]])

    bounds = [(0.0, u) for u in upper] + [(0.0, -low) for low in lower] + [(None, None)]
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        value, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return float(found.fun)


@pytest.mark.parametrize("without", [False, True])
@pytest.mark.parametrize("kind", BOUNDED)
def test_bounds_and_factors_by_column(kind: str, without: bool) -> None:
    penalty = Penalty(**BOUNDED[kind])
    rng = np.random.default_rng(4)
    X, y = data()
    problems = [
        objective(LogLoss(), penalty, C=3.0),
        objective(SquaredHinge(), penalty, storage="csr", fit_intercept=False),
        ResidualObjective(as_design(X), y + rng.normal(size=N), SquaredResidual(), penalty),
    ]
    for problem in problems:
        solver = select_solver(problem)
        if without and isinstance(solver, ProximalNewton):
            solver = WithoutHessian()
        solution = minimise(problem, solver, tol=1e-8)
        certificate, w = solution.certificate, problem.weights_of(solution.theta)
        assert certificate.ok, str(certificate)
        assert penalty.allows(w)
        best = reference(problem)
        assert certificate.dual <= best * (1.0 + 1e-12)
        assert certificate.primal <= best * (1.0 + 1e-6)
        if penalty.bounded:
            # To the last digit, and not nearly.
            lower, upper = (np.broadcast_to(b, w.shape) for b in (penalty.lower, penalty.upper))
            assert np.any((w == lower) | (w == upper))


def test_bounds_of_several_classes() -> None:
    problem = softmax(Penalty(l1=0.5, lower=BOUNDED["box"]["lower"], upper=0.3), C=3.0)
    whole = minimise(problem, ProximalNewton(), tol=1e-8)
    columns = minimise(problem, ProximalNewton(Tuning(dense=20)), tol=1e-8)
    assert columns.state.by_columns
    for found in (whole, columns):
        assert found.certificate.ok, str(found.certificate)
        assert problem.penalty.allows(problem.weights_of(found.theta))
    assert columns.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-7)


def test_factors_by_column_without_a_kink() -> None:
    # Newton's method, by a Hessian and by products; scaled columns say the same.
    X, y = data()
    factors = np.linspace(0.1, 5.0, D)
    scaled = MarginObjective(as_design(X / np.sqrt(factors)), y, LogLoss())
    best = minimise(scaled, Newton(), tol=1e-10)
    for solver in (Newton(dense=True), Newton(dense=False), QuasiNewton()):
        problem = objective(LogLoss(), Penalty(l2=factors))
        found = minimise(problem, solver, tol=1e-10)
        assert found.certificate.ok, str(found.certificate)
        assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_driver_gets_the_products_of_the_dual_point(intercept: bool) -> None:
    """The bound of a candidate takes no product with the data, and is that of its residual."""
    problem = objective(LogLoss(), fit_intercept=intercept)
    solver = ProximalNewton()
    state = solver.init(problem, problem.zero(), np.random.default_rng(0))
    for _ in range(3):
        state = solver.step(problem, state, lambda: None)
        given = solver.candidate(problem, state)
        assert given.residual is not None and given.adjoint is not None
        np.testing.assert_array_equal(given.adjoint, problem.design.t_dot(given.residual))
        found = problem.bound(given.theta, given.residual, given.scores, given.adjoint)
        plain = problem.bound(given.theta, given.residual)
        assert found.dual == pytest.approx(plain.dual, rel=1e-12)
        assert found.residual is not None and found.adjoint is not None
        own = problem.design.t_dot(found.residual)
        sizes = problem.design.absolute_t_dot(found.residual)
        # Each entry is off by what ``apart`` allows, beside the rounding of two products.
        assert np.all(np.abs(found.adjoint - own) <= (found.apart + 2 * N * 2.0**-53) * sizes)
    problem.design.t_dot = lambda a: pytest.fail("a product with the data")
    problem.bound(given.theta, given.residual, given.scores, given.adjoint)
