"""The hinge in passes: few rows near the kink stand for all, and what they prove holds for all."""

from __future__ import annotations

import operator
import os
import signal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearSVC
from separatrix.data.design import as_design
from separatrix.losses import Hinge
from separatrix.objectives.enclosure import Level
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L2
from separatrix.scale import Local, scan
from separatrix.scale import kinked as module
from separatrix.scale.kinked import BlockedKinked
from separatrix.scale.passes import watch_passes
from separatrix.solvers import select_solver
from separatrix.solvers.driver import minimise


def noisy(n, d, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + offset
    y = np.where((X - offset) @ np.linspace(1.0, -0.5, d) + 1.5 * rng.normal(size=n) > 0, 1, 0)
    return X, y


@pytest.fixture
def banded():
    """Fits in which not all rows are near, as if there were very many."""
    with module.tuned(module.Tuning(few=0)):
        yield


def in_memory(X, y, **options):
    return LinearSVC(loss="hinge", tol=1e-9, **options).fit(X, y).certificate_


@pytest.mark.crossed
@pytest.mark.parametrize("kind", ["dense", "single", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_agrees_with_the_fit_in_memory(banded, kind, fit_intercept, C):
    X, y = noisy(9000, 6)
    if kind == "single":
        X = X.astype(np.float32)
    if kind == "sparse":
        X[np.abs(X) < 0.5] = 0.0
        X = sp.csr_matrix(X)
    options = {"C": C, "fit_intercept": fit_intercept}
    expected = in_memory(X, y, **options)
    model = LinearSVC(loss="hinge", **options).fit(scan(X, y, block_rows=700))
    found = model.certificate_
    assert found.ok and found.status == "optimal"
    assert found.dual <= expected.primal and expected.dual <= found.primal
    assert model.n_passes_ <= 4


def test_several_classes_and_weights_of_rows_and_classes(banded):
    X, y = noisy(6000, 4)
    y = y + 2 * (X[:, 3] > 0.3)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    options = {"class_weight": {0: 2.0, 1: 0.5, 2: 1.0, 3: 1.0}, "C": 0.1}
    blocks = scan(X, y, weight=weight, block_rows=900)
    model = LinearSVC(loss="hinge", **options).fit(blocks)
    reference = LinearSVC(loss="hinge", tol=1e-8, **options).fit(X, y, weight)
    copied = np.repeat(np.arange(len(y)), weight.astype(int))
    copies = LinearSVC(loss="hinge", **options).fit(scan(X[copied], y[copied], block_rows=900))
    # The sum over the classes, each against the rest.
    a, b, c = (one.certificate_ for one in (model, copies, reference))
    assert a.ok and b.ok
    assert max(a.dual, b.dual) <= c.primal and c.dual <= min(a.primal, b.primal)


def exact_value(theta, X, y, upper):
    """The objective of weights and an intercept in exact rational numbers."""
    w, b = [Fraction(v) for v in theta[:-1]], Fraction(theta[-1])
    total = sum(v * v for v in w) / 2
    for row, sign, u in zip(X.tolist(), y.tolist(), upper.tolist(), strict=True):
        z = sum((Fraction(x) * v for x, v in zip(row, w, strict=True)), b) * int(sign)
        total += Fraction(u) * max(Fraction(0), 1 - z)
    return total


def groups_of(signs, beyond, band, upper):
    """The rows of each group in the order of the groups: class, side, distance."""
    for sign in (-1.0, 1.0):
        for side in (False, True):
            for k in range(1, 5):
                mine = (signs == sign) & (beyond == side) & (band == k) & (upper > 0.0)
                if mine.any():
                    yield np.flatnonzero(mine)


def hostile(name):
    rng = np.random.default_rng(3)
    X, y = noisy(300, 3, seed=4)
    weight = None
    if name == "offset":
        X = X + 1e7
    elif name == "tiny":
        X = X * 1e-160
    elif name == "long":
        X = X * 1e9
    elif name == "weights":
        weight = 10.0 ** rng.uniform(-12, 6, size=300)
    elif name == "duplicates":
        X = np.round(X)
    elif name == "outlier":
        X[0] = 1e12
    return X, y, weight


@pytest.mark.crossed
@pytest.mark.parametrize("name", ["offset", "tiny", "long", "weights", "duplicates", "outlier"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_bounds_hold_in_exact_arithmetic(name, C):
    X, y, weight = hostile(name)
    data = scan(X, y, weight=weight, block_rows=80)
    problem = BlockedKinked(data, Local(1), Hinge(), L2(), C=C)
    signs = np.where(y == 1, 1.0, -1.0)
    upper = np.full(300, C) if weight is None else C * weight
    whole = MarginObjective(as_design(X), signs, Hinge(), L2(), C=C, weights=weight)
    best = minimise(whole, select_solver(whole), tol=1e-9, max_iter=2000, seed=0)
    lowest = exact_value(best.theta, X, signs, upper)
    edges = [*4.0 ** np.arange(4), np.inf]
    for step, width in ((1.0, 0.3), (0.45, 0.5), (1.0, 1.3e-3), (1.5, 2.0)):
        theta = step * best.theta
        if not theta.any():
            continue
        problem.width = width
        few = problem.look(theta)
        margin = signs * (X @ theta[:-1] + theta[-1])
        band = np.searchsorted(edges, np.abs(1.0 - margin) / width)
        true = []
        for mine in groups_of(signs, margin > 1.0, band, upper):
            u = [Fraction(v) for v in upper[mine].tolist()]
            total = sum(u)
            columns = ([Fraction(v) for v in X[mine, j].tolist()] for j in range(3))
            true.append((total, [sum(map(operator.mul, u, column)) / total for column in columns]))
        # Means, none of which weighs more than its rows, and as near to the true ones as is stated.
        means = few.objective.design.matrix[: len(few.objective.y) - few.near]
        assert few.exact
        assert len(means) == len(true)
        off = 0.0
        for (total, mean), found, u in zip(true, means, few.objective.upper, strict=False):
            assert Fraction(float(u)) <= total
            away = sum((Fraction(a) - b) ** 2 for a, b in zip(found.tolist(), mean, strict=True))
            off += float(u) * float(away) ** 0.5
        assert off <= few.off[0] and few.off[1] == 0.0
        # The bounds themselves: from above at a point, and from below for all points.
        found = minimise(
            few.objective, select_solver(few.objective), tol=1e-9, max_iter=2000, seed=0
        )
        problem.settle(few, found.theta, found.certificate)
        bound = problem.certify(theta, problem.bound(theta), 1e-6)
        assert Fraction(bound.dual) <= lowest
        assert Fraction(bound.primal) >= exact_value(theta, X, signs, upper)


def test_the_objective_is_bounded_where_lengths_of_rows_overflow():
    data = scan(np.full((4, 1), 1e200), np.arange(4) % 2, block_rows=2)
    problem, theta = BlockedKinked(data, Local(1), Hinge(), L2()), np.array([0.0, 3.0])
    assert problem.charged(theta, Level.NORMS, problem.bound(theta)).primal >= 8.0


def test_any_number_of_workers_gives_the_same_bits(banded):
    X, y = noisy(20_000, 5)
    data = scan(X, y, block_rows=1100)
    models = [LinearSVC(loss="hinge").fit(data, engine=Local(workers)) for workers in (1, 2, 3)]
    assert len({model.coef_.tobytes() + model.intercept_.tobytes() for model in models}) == 1
    assert len({model.certificate_.dual for model in models}) == 1


@pytest.mark.parametrize("copies", [False, True])
def test_more_near_rows_than_memory_holds(banded, copies):
    X, y = noisy(30_000, 5)
    if copies:
        # A kink with thousands of rows on it, which are no more than a few.
        X = np.round(X)
    data = scan(X, y, block_rows=4000, memory=1_000_000)
    looks = []

    class Watched(BlockedKinked):
        def look(self, theta):
            if self.latest is None or self.latest.theta is not theta:
                looks.append(super().look(theta))
            return super().look(theta)

    problem = Watched(data, Local(), Hinge(), L2(), C=1.0)
    assert problem.limit < 2000
    found = minimise(problem, select_solver(problem), tol=1e-6, max_iter=30)
    expected = in_memory(X, y)
    assert found.certificate.ok
    assert found.certificate.dual <= expected.primal
    assert expected.dual <= found.certificate.primal
    assert not looks[0].exact and any(look.exact for look in looks)
    assert max(look.near for look in looks) <= problem.limit


def test_a_method_for_memory_is_refused():
    with pytest.raises(TypeError, match="leave solver at 'auto'"):
        LinearSVC(loss="hinge", solver="dual").fit(scan(*noisy(50, 2)))


def test_means_alone_prove_a_bound(banded):
    # All rows of one class at the kink, next to one another, and no two of them the same.
    n = 30_000
    X = 1.0 + 1e-9 * np.arange(n)[:, None]
    y = np.where(np.random.default_rng(0).random(n) < 0.6, 1, 0)
    data = scan(X, y, block_rows=3000, memory=1_000_000)
    problem = BlockedKinked(data, Local(), Hinge(), L2(), C=1.0, fit_intercept=False)
    problem.width = 0.5
    few = problem.look(np.ones(1))
    assert not few.exact
    found = minimise(problem, select_solver(problem), tol=1e-3, max_iter=30)
    expected = in_memory(X, y, fit_intercept=False)
    assert found.certificate.ok
    assert found.certificate.dual <= expected.primal
    # Where nothing comes nearer it ends, and says why.
    late = minimise(problem, select_solver(problem), tol=1e-13, max_iter=1000)
    assert late.certificate.status in ("memory_limit", "precision_limit", "optimal")
    assert problem.passes.count < 60


def test_a_fit_goes_on_from_its_checkpoint(banded, tmp_path):
    X, y = noisy(20_000, 5)
    data, path = scan(X, y, block_rows=1000), tmp_path / "fit.checkpoint"
    straight = LinearSVC(loss="hinge").fit(data)

    def stop(progress):
        if progress.number == 2 and progress.rows > 5000:
            raise RuntimeError("the power failed")

    with watch_passes(stop), pytest.raises(RuntimeError, match="power"):
        LinearSVC(loss="hinge").fit(data, checkpoint=path)
    passes = []
    with watch_passes(passes.append):
        model = LinearSVC(loss="hinge").fit(data, checkpoint=path)
    # The first pass is not made again, nor what was proved in memory since.
    assert passes[0].number == 2
    assert model.n_passes_ == straight.n_passes_
    assert model.coef_.tobytes() == straight.coef_.tobytes()
    assert model.certificate_.dual == straight.certificate_.dual
    assert not path.exists()


@pytest.mark.signals
def test_interrupted_and_late_fits_keep_what_is_proved(banded):
    X, y = noisy(20_000, 5)
    data = scan(X, y, block_rows=1000)

    def press(progress):
        if progress.number == 2 and progress.rows == 5000:
            os.kill(os.getpid(), signal.SIGINT)

    model = LinearSVC(loss="hinge", tol=1e-9)
    with watch_passes(press), pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert model.certificate_.status == "interrupted"
    assert 0.0 < model.certificate_.relative_gap < 0.1
    late = LinearSVC(loss="hinge", time_limit=1e-9)
    with pytest.warns(match="time limit"):
        late.fit(data)
    assert late.certificate_.status == "time_limit"
    assert late.certificate_.primal == pytest.approx(len(y), rel=1e-9)
