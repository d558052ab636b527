"""Stochastic gradients against their definition in plain Python, and against scikit-learn."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier as SklearnSGD

from separatrix.data.design import as_design
from separatrix.data.row_hashing import canonical_order, row_keys
from separatrix.losses import (
    Hinge,
    LogLoss,
    MarginPerceptronLoss,
    PerceptronLoss,
    SquaredError,
    SquaredHinge,
)
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L2, NoPenalty
from separatrix.schedules import Constant, Power
from separatrix.solvers import select_solver, stochastic
from separatrix.solvers.augmented_lagrangian import AugmentedLagrangian
from separatrix.solvers.driver import _Stop, minimise
from separatrix.solvers.dual_descent import DualDescent
from separatrix.solvers.stochastic import (
    Holdout,
    ResumeState,
    StochasticDescent,
    StochasticObjective,
    Tuning,
    Visits,
    _shuffle,
    finalize,
    one_pass,
    try_rates,
)

# --- the definition ------------------------------------------------------------------------------

SLOPES = {
    "hinge": lambda z: -1.0 if z < 1 else 0.0,
    "log loss": lambda z: -1.0 / (1.0 + math.exp(z)),
    "squared hinge": lambda z: -2.0 * max(1.0 - z, 0.0),
    "squared error": lambda z: z - 1.0,
    "perceptron": lambda z: -1.0 if z <= 0 else 0.0,
    "margin perceptron": lambda z: -1.0 if z < 0.7 else 0.0,
}
LOSSES = [
    Hinge(),
    LogLoss(),
    SquaredHinge(),
    SquaredError(),
    PerceptronLoss(),
    MarginPerceptronLoss(0.7),
]


class Reference:
    """Steps written out, with the sums of the weights after each of them."""

    def __init__(self, d: int, lift: bool) -> None:
        self.w, self.b, self.lift, self.k = [0.0] * d, 0.0, lift, 0
        self.sum_w, self.sum_b, self.total = [0.0] * d, 0.0, 0.0

    def run(self, X, y, loss, visits, rate, alpha, batch=1, average=False) -> Reference:
        slope = SLOPES[loss]
        begins = 1 if average in (True, "linear") else int(average)
        for start in range(0, len(visits), batch):
            self.k += 1
            some = visits[start : start + batch]
            eta = rate(self.k)
            gradient_w, gradient_b, mass = [0.0] * len(self.w), 0.0, 0.0
            for i, share in some:
                z = y[i] * (sum(a * c for a, c in zip(X[i], self.w, strict=True)) + self.b)
                g = share * slope(z) * y[i] / batch
                gradient_w = [a + g * c for a, c in zip(gradient_w, X[i], strict=True)]
                gradient_b += g
                mass += share / batch
            self.w = [
                (1.0 - eta * alpha * mass) * a - eta * g
                for a, g in zip(self.w, gradient_w, strict=True)
            ]
            if self.lift:
                self.b -= eta * gradient_b
            if average and self.k * batch >= begins:
                mass *= self.k if average == "linear" else 1.0
                self.sum_w = [s + mass * a for s, a in zip(self.sum_w, self.w, strict=True)]
                self.sum_b += mass * self.b
                self.total += mass
        return self

    @property
    def theta(self):
        return np.array([*self.w, self.b] if self.lift else self.w)

    @property
    def averaged(self):
        if not self.total:
            return self.theta
        sums = [*self.sum_w, self.sum_b] if self.lift else self.sum_w
        return np.array(sums) / self.total


def data(n: int = 23, d: int = 4, seed: int = 0, density: float = 0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X = X.astype(np.float32).astype(np.float64)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def problem(X, y, loss, alpha: float = 0.1, weights=None, lift: bool = True, **options):
    penalised = alpha > 0
    total = len(y) if weights is None else weights.sum()
    return StochasticObjective(
        as_design(X),
        y,
        loss,
        L2() if penalised else NoPenalty(),
        C=1.0 / ((alpha if penalised else 1.0) * total),
        weights=weights,
        fit_intercept=lift,
        **options,
    )


def passes(objective, solver, count: int, seed: int = 0):
    """The states after some passes, and the visits of each."""
    state = solver.init(objective, objective.zero(), np.random.default_rng(seed))
    orders = []
    for _ in range(count):
        state = solver.step(objective, state, lambda: None)
        shares = state.shares if len(state.shares) else np.ones(len(state.visits))
        orders.append(list(zip(state.visits.tolist(), shares.tolist(), strict=True)))
    return state, orders


FRACTIONS = np.array([0.0, 0.4, 1.0, 2.5, 3.0, 1.0, 0.25] * 4)[:23]


@pytest.mark.crossed
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("average", [False, True, 9, "linear"])
def test_every_step_is_that_of_the_definition(loss, alpha, batch, average) -> None:
    X, y = data()
    rate = Power(0.8, tau=2.0, kappa=0.75)
    for weights, lift in ((None, True), (FRACTIONS, False)):
        solver = StochasticDescent(rate, batch_size=batch, average=average)
        objective = problem(X, y, loss, alpha, weights, lift)
        state, orders = passes(objective, solver, 3)
        expected = Reference(X.shape[1], lift)
        for order in orders:
            expected.run(X, y, loss.name, order, rate, alpha, batch, average)
        np.testing.assert_allclose(state.theta, expected.theta, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(state.kept, expected.averaged, rtol=1e-10, atol=1e-12)
        assert state.steps == expected.k
        assert state.elapsed == pytest.approx(expected.total)
        assert not state.broken


# Every way of storing with one loss, whose loop another test compiles as well where there is one;
# every loss has steps from dense rows above. Each pair has a loop of its own, which takes three
# seconds to compile: the others are left to make exhaustive.
STORED = [
    pytest.param(
        kind,
        loss,
        marks=() if loss is usual else pytest.mark.exhaustive,
        id=f"{kind}-{loss!r}",
    )
    for kind, usual in (
        ("csr", LOSSES[0]),
        ("csr64", LOSSES[0]),
        ("float32", LOSSES[1]),
        ("fortran", LOSSES[0]),
        ("strided", LOSSES[0]),
        ("csr float32", LOSSES[1]),
    )
    for loss in LOSSES
]


@pytest.mark.parametrize(("kind", "loss"), STORED)
def test_one_path_however_the_rows_are_stored(kind: str, loss) -> None:
    X, y = data()
    stored = {
        "csr": sp.csr_array,
        "csr64": lambda a: sp.csr_array(
            (
                sp.csr_array(a).data,
                *(v.astype(np.int64) for v in (sp.csr_array(a).indices, sp.csr_array(a).indptr)),
            ),
            shape=a.shape,
        ),
        "float32": np.float32,
        "fortran": np.asfortranarray,
        "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        "csr float32": lambda a: sp.csr_array(a.astype(np.float32)),
    }[kind](X)
    solver = StochasticDescent(Power(0.8, 2.0, 0.75), average="linear")
    one, other = (passes(problem(A, y, loss), solver, 3)[0] for A in (X, stored))
    np.testing.assert_allclose(other.kept, one.kept, rtol=1e-10)
    np.testing.assert_allclose(other.theta, one.theta, rtol=1e-10)
    np.testing.assert_allclose(other.multipliers, one.multipliers, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", [False, True, "linear"])
@pytest.mark.parametrize("shrink", [1.0, 0.5, 1.5, 0.999])
def test_a_penalty_that_shrinks_to_nothing(average, shrink: float) -> None:
    # The scale of the vector becomes zero, changes its sign, or passes the floor many times over.
    X, y = data(n=60)
    alpha = 0.5
    rate = Constant(shrink / alpha)
    state, orders = passes(
        problem(X, y, Hinge(), alpha), StochasticDescent(rate, average=average), 10
    )
    expected = Reference(X.shape[1], True)
    for order in orders:
        expected.run(X, y, "hinge", order, rate, alpha, 1, average)
    np.testing.assert_allclose(state.kept, expected.averaged, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state.theta, expected.theta, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("hinge", Hinge()),
        # Rows in their order have a loop of their own.
        pytest.param("log_loss", LogLoss(), marks=pytest.mark.exhaustive),
        pytest.param("squared_hinge", SquaredHinge(), marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("average", [False, True, 40])
def test_the_path_of_scikit_learn(name: str, loss, average) -> None:
    X, y = data(n=50, d=6)
    alpha = 0.02
    for rate, options in (
        (Constant(0.05), {"learning_rate": "constant", "eta0": 0.05}),
        (Power(0.3, 0.0, 0.75), {"learning_rate": "invscaling", "eta0": 0.3, "power_t": 0.75}),
    ):
        theirs = SklearnSGD(
            loss=name, alpha=alpha, shuffle=False, tol=None, max_iter=4, average=average, **options
        ).fit(X, y)
        solver = StochasticDescent(rate, shuffle=False, average=average)
        ours, _ = passes(problem(X, y, loss, alpha), solver, 4)
        np.testing.assert_allclose(ours.kept[:-1], theirs.coef_[0], rtol=1e-8)
        np.testing.assert_allclose(ours.kept[-1], theirs.intercept_[0], rtol=1e-8)


# --- visits --------------------------------------------------------------------------------------


def test_a_row_of_weight_k_is_visited_k_times() -> None:
    visits = Visits.of(5, np.array([2.0, 0.0, 0.5, 1.25, 1.0]))
    assert visits.rows.tolist() == [0, 0, 2, 3, 3, 4]
    assert visits.shares.tolist() == [1.0, 1.0, 0.5, 1.0, 0.25, 1.0]
    whole = Visits.of(3, np.array([2.0, 0.0, 1.0]), np.array([2, 1, 0]))
    assert whole.rows.tolist() == [2, 0, 0]
    assert len(whole.shares) == 0
    assert Visits.of(3).rows.tolist() == [0, 1, 2]
    small = Visits.of(3, np.array([0.25, 0.5, 0.0]), relative=True)
    assert (small.rows.tolist(), small.shares.tolist()) == ([0, 1], [0.5, 1.0])
    assert small.factor == 2.0
    assert Visits.of(2, np.array([0.25, 1.0]), relative=True).shares.tolist() == [0.25, 1.0]


def test_every_order_of_visits_is_as_likely_as_any() -> None:
    times = 2400
    counts: Counter = Counter()
    for seed in np.random.default_rng(0).integers(2**64, size=times, dtype=np.uint64):
        visits = np.arange(4, dtype=np.int32)
        _shuffle(visits, np.empty(0), seed)
        counts[tuple(visits.tolist())] += 1
    assert set(counts) == set(itertools.permutations(range(4)))
    expected = times / 24
    # Chi-squared with 23 degrees of freedom is beyond 60 once in 30,000 by chance.
    assert sum((count - expected) ** 2 for count in counts.values()) / expected < 60.0


def test_shares_stay_with_their_visits() -> None:
    solver = StochasticDescent(Constant(0.1))
    X, y = data(n=40)
    weights = np.random.default_rng(2).uniform(0.0, 20.0, size=40)
    objective = problem(X, y, Hinge(), weights=weights)
    _, orders = passes(objective, solver, 3)
    before = objective.visits
    there = sorted(zip(before.rows.tolist(), before.shares.tolist(), strict=True))
    assert len(there) > 300
    assert all(sorted(order) == there for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    # An order of places, whatever is in them: copies of a row are worth what its weight is.
    whole = np.ceil(weights)
    copies = np.repeat(np.arange(40), whole.astype(int))
    weighted = problem(X, y, Hinge(), weights=whole)
    weighted._visits = lambda: Visits.of(40, whole)
    one, _ = passes(weighted, solver, 3)
    other, _ = passes(problem(X[copies], y[copies], Hinge()), solver, 3)
    assert np.array_equal(one.kept, other.kept)


def test_weights_beyond_reason_are_refused() -> None:
    with pytest.raises(
        ValueError,
        match="sum of the row weights is 3e\\+12, .* divide all weights by about 1e\\+12",
    ):
        Visits.of(3, np.full(3, 1e12))
    X, y = data()
    with pytest.raises(ValueError, match="visited k times in every pass"):
        _ = problem(X, y, Hinge(), weights=np.full(len(y), 1e9)).visits


@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=repr)
def test_weights_are_copies_wherever_they_lie(loss) -> None:
    X, y = data(n=40)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, size=40).astype(float)
    copies = rng.permutation(np.repeat(np.arange(40), weights.astype(int)))

    def end(A, labels, w):
        order = canonical_order(as_design(A), (labels > 0).astype(int))[0]
        objective = problem(A, labels, loss, weights=w)
        objective._visits = lambda: Visits.of(len(labels), w, order)
        state, _ = passes(objective, StochasticDescent(Constant(0.1), average=True), 5)
        return state.kept

    weighted = end(X, y, weights)
    copied = end(X[copies], y[copies], None)
    assert np.array_equal(weighted, copied)
    np.testing.assert_allclose(end(sp.csr_array(X), y, weights), weighted, rtol=1e-12)


def test_keys_depend_on_values_alone() -> None:
    X, _ = data(n=30, d=5)
    keys = row_keys(as_design(X))
    assert len(np.unique(keys)) == len(np.unique(X, axis=0))
    signed = np.where(X == 0.0, -0.0, X)
    stored = sp.csr_array(X)
    stored.data[3] = 0.0
    changed = stored.toarray()
    shuffled = sp.csr_array(X)
    shuffled.data, shuffled.indices = shuffled.data.copy(), shuffled.indices.copy()
    for i in range(30):
        part = slice(shuffled.indptr[i], shuffled.indptr[i + 1])
        shuffled.data[part] = shuffled.data[part][::-1]
        shuffled.indices[part] = shuffled.indices[part][::-1]
    for other in (signed, X.astype(np.float32), np.asfortranarray(X), sp.csr_array(X), shuffled):
        assert np.array_equal(row_keys(as_design(other)), keys)
    assert np.array_equal(row_keys(as_design(stored)), row_keys(as_design(changed)))
    # A value in another column is another row.
    assert np.all(row_keys(as_design(np.roll(X, 1, axis=1))) != keys)


def test_copies_share_a_group_and_labels_part_them() -> None:
    X = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    order, group = canonical_order(as_design(X), np.array([0, 0, 1, 0]))
    by_row = dict(zip(order.tolist(), group.tolist(), strict=True))
    assert by_row[0] == by_row[3]
    assert len({by_row[0], by_row[1], by_row[2]}) == 3


def test_every_pass_has_an_order_of_its_own() -> None:
    X, y = data()
    _, (one, two) = passes(problem(X, y, Hinge()), StochasticDescent(Constant(0.1)), 2)
    assert one != two
    assert sorted(one) == sorted(two) == [(i, 1.0) for i in range(len(y))]
    _, (one, two) = passes(
        problem(X, y, Hinge()), StochasticDescent(Constant(0.1), shuffle=False), 2
    )
    assert one == two == [(i, 1.0) for i in range(len(y))]
    # The list that problems share is not the one that is shuffled.
    objective = problem(X, y, Hinge())
    passes(objective, StochasticDescent(Constant(0.1)), 2)
    assert objective.visits.rows.tolist() == list(range(len(y)))


# --- the perceptron loss with a margin -----------------------------------------------------------


def test_the_loss_with_a_margin() -> None:
    z = np.linspace(-3, 3, 25)
    one = MarginPerceptronLoss(1.0)
    for name in ("value", "derivative"):
        np.testing.assert_array_equal(getattr(one, name)(z), getattr(Hinge(), name)(z))
    u = np.array([-1.5, -1.0, -0.3, 0.0, 0.2])
    np.testing.assert_array_equal(one.conjugate(u), Hinge().conjugate(u))
    loss = MarginPerceptronLoss(0.7)
    grid = np.linspace(-50, 50, 20001)
    for slope in (-1.0, -0.4, 0.0):
        brute = np.max(slope * grid - np.maximum(0.7 - grid, 0))
        assert loss.conjugate(np.array(slope)) == pytest.approx(brute, abs=1e-2)
    for a, zed, q, upper in ((0.2, -1.0, 3.0, 0.5), (0.2, 2.0, 3.0, 0.5), (0.2, 0.9, 0.5, 1.0)):
        t = np.linspace(0, upper, 100_001)
        # The term's dual is -U l*(-t/U) = m t.
        value = -zed * (t - a) - 0.5 * q * (t - a) ** 2 + 0.7 * t
        assert loss.dual_step(a, zed, q, upper) == pytest.approx(t[value.argmax()], abs=1e-4)
        assert loss.gap_at(a, zed, upper) == pytest.approx(
            upper * max(0.7 - zed, 0) - 0.7 * a + a * zed
        )
        assert loss.dual_slope(a, zed, upper) == pytest.approx(zed - 0.7)
        assert loss.conjugate_at(a, upper) == pytest.approx(-0.7 * a)
        assert loss.value_at(zed) == loss.value(np.array(zed))
        assert loss.slope_at(zed) == loss.derivative(np.array(zed))
    assert "max(0, 0.7 - y (w.x + b))" in loss.formula


@pytest.mark.parametrize("solver", [AugmentedLagrangian, DualDescent])
def test_a_margin_scales_the_support_vector_machine(solver) -> None:
    # max(0, m - z) at weights m w is m times the hinge at w: the penalty makes the difference.
    X, y = data(n=60)
    m = 3.0
    objective = problem(X, y, MarginPerceptronLoss(m), alpha=0.1)
    found = minimise(objective, solver(), tol=1e-8, max_iter=100_000)
    hinge = MarginObjective(as_design(X), y, Hinge(), C=objective.C / m)
    other = minimise(hinge, solver(), tol=1e-8, max_iter=100_000)
    assert found.certificate.ok and other.certificate.ok
    assert found.certificate.primal == pytest.approx(m * m * other.certificate.primal, rel=1e-7)
    assert select_solver(objective).requires(objective) is None


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("loss", [*LOSSES[:4], LOSSES[5]], ids=repr)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 5.0])
@pytest.mark.parametrize("average", [False, "linear"])
def test_the_bound_is_one(loss, alpha: float, average) -> None:
    for seed in range(4):
        X, y = data(n=60, seed=seed)
        weights = [None, np.random.default_rng(seed).choice([0.0, 0.5, 2.0], size=60)][seed % 2]
        objective = problem(X, y, loss, alpha, weights, lift=seed < 2)
        tight = minimise(objective, select_solver(objective), tol=1e-9, max_iter=200_000)
        assert tight.certificate.relative_gap <= 1e-7
        # Rates that are too large, too: a bound must hold wherever one stops.
        for rate in (Power.strongly_convex(alpha, 10.0), Constant(0.3 / (1 + alpha))):
            solver = StochasticDescent(rate, average=average)
            found = minimise(objective, solver, tol=1e-6, max_iter=30, seed=seed, record=True)
            best = tight.certificate
            assert max(found.trace.dual) <= best.primal * (1 + 1e-9)
            assert min(found.trace.primal) >= best.dual * (1 - 1e-9)
            # Points on the way are shown, and the one at the end is certified.
            alone = minimise(objective, solver, tol=1e-6, max_iter=30, seed=seed)
            assert found.certificate.dual == alone.certificate.dual
            assert found.certificate.dual <= max(found.trace.dual) * (1 + 1e-12)
            z = y * objective.linear(found.theta)
            w = found.theta[: X.shape[1]]
            value = 0.5 * w @ w + np.sum(objective.upper * loss.value(z))
            assert found.certificate.primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), SquaredHinge()], ids=repr)
def test_the_gap_falls_as_one_over_time(loss) -> None:
    X, y = data(n=200, d=5, density=1.0)
    alpha = 0.1
    objective = problem(X, y, loss, alpha)
    best = minimise(objective, select_solver(objective), tol=1e-10, max_iter=200_000)
    solver = StochasticDescent(Power.strongly_convex(alpha, 100.0), average="linear")
    state = solver.init(objective, objective.zero(), np.random.default_rng(0))
    primal, dual = [], []
    for _ in range(400):
        state = solver.step(objective, state, lambda: None)
        bound = objective.bound(state.kept, objective.upper * y * state.multipliers)
        primal.append(bound.primal / best.certificate.dual - 1)
        dual.append(1 - bound.dual / best.certificate.primal)
    k = np.arange(10, 400)
    for gap in (np.array(primal)[k], np.array(dual)[k]):
        rate = np.polyfit(np.log(k), np.log(np.maximum(gap, 1e-15)), 1)[0]
        assert -2.5 < rate < -0.7
        assert gap[-1] < 0.1 * gap[0]
    # The certificate of a run is at least as good.
    run = minimise(objective, solver, tol=1e-12, max_iter=400, seed=0)
    assert run.certificate.relative_gap <= primal[-1] + max(dual[-1], 0.0) + 1e-9


def test_a_constant_rate_reaches_a_neighbourhood() -> None:
    X, y = data(n=200, d=5, density=1.0)
    objective = problem(X, y, LogLoss(), 0.1)
    best = minimise(objective, select_solver(objective), tol=1e-10).certificate.primal
    ends = []
    for rate in (0.3, 0.03, 0.003):
        solver = StochasticDescent(Constant(rate))
        state = solver.init(objective, objective.zero(), np.random.default_rng(0))
        values = []
        for _ in range(300):
            state = solver.step(objective, state, lambda: None)
            values.append(objective.value(solver.candidate(objective, state).theta))
        ends.append(np.mean(values[-100:]) / best - 1)
    # Smaller rates end nearer, in proportion.
    assert 2 * ends[1] < ends[0] and 2 * ends[2] < ends[1]
    assert ends[2] > 1e-7


def test_no_penalty_no_bound_until_a_pass_is_clean() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.3 * y
    objective = problem(X, y, PerceptronLoss(), alpha=0.0)
    # All at zero is a minimum of the perceptron loss, and no answer.
    assert objective.bound(objective.zero()).gap == np.inf
    found = minimise(objective, StochasticDescent(Constant(1.0)), tol=1e-6, max_iter=500, seed=0)
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == 0.0
    assert np.all(y * objective.linear(found.theta) > 0)
    # The hinge without a penalty is as good: zero once every row is beyond the margin.
    objective = problem(X, y, Hinge(), alpha=0.0)
    found = minimise(objective, StochasticDescent(Constant(1.0)), tol=1e-6, max_iter=5000, seed=0)
    assert found.certificate.status == "optimal"
    assert np.all(y * objective.linear(found.theta) >= 1)
    # Mixed classes at one place: no pass is ever clean.
    X, y = np.ones((4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    found = minimise(
        problem(X, y, PerceptronLoss(), alpha=0.0),
        StochasticDescent(Constant(1.0)),
        tol=1e-6,
        max_iter=5,
    )
    assert not found.certificate.ok


@pytest.mark.crossed
@pytest.mark.parametrize("dense", [True, False], ids=["factorised", "conjugate gradients"])
@pytest.mark.parametrize("loss", [*LOSSES[:4], LOSSES[5]], ids=repr)
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_a_newton_step_gives_a_closer_bound(monkeypatch, loss, alpha: float, dense: bool) -> None:
    monkeypatch.setattr(stochastic, "factorises", lambda problem: dense)
    gained = []
    for seed in range(4):
        X, y = data(n=80, seed=seed)
        weights = [None, np.random.default_rng(seed).choice([0.0, 0.5, 2.0], size=80)][seed % 2]
        objective = problem(X, y, loss, alpha, weights, lift=seed < 2)
        tight = minimise(objective, select_solver(objective), tol=1e-9, max_iter=200_000)
        state, _ = passes(objective, StochasticDescent(Constant(0.05), average="linear"), 5)
        scores = objective.linear(state.kept)
        cheap = objective.upper * y * state.multipliers
        found = stochastic.closer(objective, state.kept, scores, cheap)
        before, after = (objective.bound(state.kept, r, scores).dual for r in (cheap, found))
        assert before <= after <= tight.certificate.primal * (1 + 1e-9)
        # A dual point within the domain, as it is.
        slopes = np.divide(y * found, objective.upper, where=objective.upper > 0, out=0 * y)
        assert np.all(np.isfinite(loss.conjugate(slopes)))
        assert np.all(found[objective.upper == 0.0] == 0.0)
        gained.append((tight.certificate.primal - after) / (tight.certificate.primal - before))
    assert np.median(gained) < 0.8
    assert all(share <= 1.0 + 1e-9 for share in gained)


def test_where_a_loss_has_its_kink() -> None:
    X, y = data()
    assert problem(X, y, Hinge()).kink == pytest.approx(1.0, abs=1e-12)
    assert problem(X, y, MarginPerceptronLoss(0.7)).kink == pytest.approx(0.7, abs=1e-12)


# --- stopping ------------------------------------------------------------------------------------


def test_overflow_keeps_the_last_finite_weights() -> None:
    X, y = data()
    objective = problem(X, y, SquaredHinge(), alpha=1e-3)
    solver = StochasticDescent(Constant(1e30))
    found = minimise(objective, solver, tol=1e-6, max_iter=100, seed=0)
    assert found.certificate.status == "non_finite"
    assert np.all(np.isfinite(found.theta))
    assert found.certificate.primal == pytest.approx(objective.bound(found.theta).primal, rel=1e-12)
    assert "standardise" in str(found.certificate)


def test_a_small_step_ends_the_run() -> None:
    X, y = data()
    objective = problem(X, y, LogLoss(), alpha=0.1)
    solver = StochasticDescent(Power.strongly_convex(0.1, 20.0), step_tol=1e-2)
    found = minimise(objective, solver, tol=1e-12, max_iter=1000, seed=0, record=True)
    assert found.certificate.status == "small_step"
    steps = [
        np.linalg.norm(b - a) / np.linalg.norm(b)
        for a, b in zip(found.trace.coef, found.trace.coef[1:], strict=False)
    ]
    assert steps[-1] < 1e-2 and min(steps[:-1]) >= 1e-2
    assert found.state.moved == pytest.approx(steps[-1])


def test_held_out_rows_decide() -> None:
    X, y = data(n=120, d=6)
    held = np.arange(0, 120, 5)
    weights = np.ones(120)
    weights[held] = 0.0
    own = np.linspace(0.5, 1.5, len(held))
    objective = problem(X, y, LogLoss(), 1e-3, weights, holdout=Holdout(held, own))
    solver = StochasticDescent(Constant(0.5), patience=4)
    run = minimise(objective, solver, tol=1e-12, max_iter=300, seed=0, record=True)
    found = finalize(objective, solver, run, 300)
    assert found.certificate.status == "early_stopped"
    # Run it again, and judge every pass from outside.
    state = solver.init(objective, objective.zero(), np.random.default_rng(0))
    ends, scores = [], []
    for _ in range(run.certificate.n_iter):
        state = solver.step(objective, state, lambda: None)
        ends.append(state.kept.copy())
        z = y[held] * (X[held] @ state.kept[:-1] + state.kept[-1])
        loss = own @ np.log1p(np.exp(-z)) / own.sum()
        scores.append((own @ (z > 0) / own.sum(), -loss))
    best = max(range(len(scores)), key=lambda k: scores[k])
    assert len(scores) == best + 1 + 4
    np.testing.assert_array_equal(found.theta, ends[best])
    np.testing.assert_allclose(found.state.held, [s for s, _ in scores])
    # The certificate is that of these weights, on the rows that they were fitted to.
    again = objective.bound(found.theta)
    assert again.primal <= found.certificate.primal <= again.primal * (1.0 + 1e-12)
    assert found.certificate.dual >= again.dual
    assert found.certificate.dual <= minimise(
        objective, select_solver(objective), tol=1e-8, max_iter=1000
    ).certificate.primal * (1 + 1e-7)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_pulse_ends_a_pass_in_the_middle(batch: int) -> None:
    X, y = data(n=200)
    objective = problem(X, y, Hinge(), 0.1)
    rate = Constant(0.1)
    short = Tuning(stretch=60 * X.shape[1])
    solver = StochasticDescent(rate, batch_size=batch, average=True, tuning=short)
    state = solver.init(objective, objective.zero(), np.random.default_rng(0))

    calls = []

    def check_interrupt() -> None:
        calls.append(state.position)
        if len(calls) == 2:
            raise _Stop(None)

    with pytest.raises(_Stop):
        solver.step(objective, state, check_interrupt)
    assert calls == [60, 120]
    theta = solver.candidate(objective, state).theta
    order = [(i, 1.0) for i in state.visits[:120].tolist()]
    expected = Reference(X.shape[1], True).run(X, y, "hinge", order, rate, 0.1, batch, True)
    np.testing.assert_allclose(theta, expected.averaged, rtol=1e-10)


def test_stretches_make_no_difference() -> None:
    X, y = data(n=200)
    objective = problem(X, y, LogLoss(), 0.1)
    one, two = (
        passes(
            objective,
            StochasticDescent(Constant(0.1), batch_size=7, average="linear", tuning=tuning),
            2,
        )[0]
        for tuning in (Tuning(), Tuning(stretch=10 * X.shape[1]))
    )
    assert np.array_equal(one.kept, two.kept)


def test_what_it_needs_is_named() -> None:
    X, y = data()
    plain = MarginObjective(as_design(X), y, Hinge())
    with pytest.raises(TypeError, match="needs 'visits'"):
        minimise(plain, StochasticDescent(Constant(1.0)))


# --- one pass after another ----------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True, 30, "linear"])
def test_chunks_go_on_where_the_last_one_ended(average) -> None:
    X, y = data(n=60)
    rate = Power(0.5, 3.0, 0.8)
    solver = StochasticDescent(rate, shuffle=False, average=average)
    whole, _ = passes(problem(X, y, Hinge(), 0.1), solver, 1)
    theta, carried = np.zeros(5), ResumeState()
    for part in np.split(np.arange(60), [7, 8, 31]):
        objective = problem(X[part], y[part], Hinge(), 0.1, start=theta)
        found = one_pass(objective, solver, carried=carried, tol=1e-3)
        theta = found.state.theta
        carried = ResumeState(found.state.steps, found.state.elapsed, found.theta)
        assert found.certificate.status in ("optimal", "above_tol")
    np.testing.assert_allclose(theta, whole.theta, rtol=1e-12)
    np.testing.assert_allclose(found.theta, whole.kept, rtol=1e-10)
    assert (carried.steps, carried.elapsed) == (whole.steps, pytest.approx(whole.elapsed))


def test_a_pass_that_overflows_changes_nothing() -> None:
    X, y = data()
    start = np.arange(5.0)
    objective = problem(X, y, SquaredHinge(), 0.1, start=start)
    solver = StochasticDescent(Constant(1e200), average=True)
    carried = ResumeState(steps=10, elapsed=10.0, average=2 * start)
    found = one_pass(objective, solver, carried=carried, tol=1e-3)
    assert found.certificate.status == "non_finite"
    np.testing.assert_array_equal(found.theta, 2 * start)
    np.testing.assert_array_equal(found.state.theta, start)
    assert (found.state.steps, found.state.elapsed) == (10, 10.0)


# --- the search for a rate -----------------------------------------------------------------------


def test_the_curve_is_the_objective_that_each_rate_reaches() -> None:
    X, y = data(n=1500, d=3)
    alpha = 0.01
    objective = problem(X, y, LogLoss(), alpha)
    rates, curve = try_rates([objective], Constant, np.array([1e-4, 1e-2, 1.0]), seed=3)
    for rate, value in zip(rates[:2], curve[:2], strict=True):
        # All visits are in the sample; which order they came in is the search's own affair.
        solver = StochasticDescent(Constant(rate))
        ends = [passes(objective, solver, 20_000 // 1500, seed)[0].kept for seed in range(5)]
        values = [objective.value(theta) / objective.upper.sum() for theta in ends]
        assert value == pytest.approx(np.mean(values), rel=0.01)
    assert curve[1] < curve[0]


def test_the_range_covers_the_best_rate_and_divergence_is_infinite() -> None:
    for scale in (1e-3, 1.0, 1e3):
        X, y = data(n=500, d=6)
        objective = problem(scale * X, y, SquaredHinge(), 1e-3 * scale**2, lift=False)
        rates, curve = try_rates([objective], Constant, None, seed=0)
        assert len(rates) == 11
        np.testing.assert_allclose(rates[1:] / rates[:-1], 4.0)
        assert 0 < curve.argmin() < 10
    rates, curve = try_rates([objective], Constant, np.array([1e-9, 1e100]), seed=0)
    assert np.isfinite(curve[0]) and curve[1] == np.inf


def test_the_search_takes_weights_for_copies() -> None:
    X, y = data(n=300)
    weights = np.random.default_rng(0).integers(0, 3, size=300).astype(float)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(300), weights.astype(int)))

    def curve(A, labels, w):
        order = canonical_order(as_design(A), (labels > 0).astype(int))[0]
        objective = problem(A, labels, Hinge(), 0.1, w)
        objective._visits = lambda: Visits.of(len(labels), w, order)
        return try_rates([objective], Constant, None, seed=0)

    one, other = curve(X, y, weights), curve(X[copies], y[copies], None)
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])
