"""Fits in passes: one account of a point a pass, and certificates that are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from separatrix import LinearSVC, LogisticRegression, threads
from separatrix._compiled import pool
from separatrix.data.design import as_design
from separatrix.exceptions import DataError
from separatrix.losses import LogLoss, SquaredHinge
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, L2, ElasticNet
from separatrix.objectives.row_sums import SUMS
from separatrix.scale import Local, scan
from separatrix.scale.objectives import BlockedPointwise
from separatrix.scale.passes import watch_passes
from separatrix.solvers.driver import minimise
from separatrix.solvers.newton import Newton

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def blocked(loss, *, C=1.0, fit_intercept=True, penalty=None, weight=None, rows=50, matrix=X):
    data = scan(matrix, Y, weight=weight, block_rows=rows)
    penalty = L2() if penalty is None else penalty
    return BlockedPointwise(data, Local(), loss, penalty, C=C, fit_intercept=fit_intercept)


def whole(loss, *, C=1.0, fit_intercept=True, penalty=None, weight=None):
    y = np.where(Y == 1, 1.0, -1.0)
    penalty = L2() if penalty is None else penalty
    return MarginObjective(
        as_design(X), y, loss, penalty, C=C, weights=weight, fit_intercept=fit_intercept
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()])
def test_an_account_is_that_of_all_rows(loss, fit_intercept):
    parts, one = (
        blocked(loss, fit_intercept=fit_intercept),
        whole(loss, fit_intercept=fit_intercept),
    )
    theta = np.random.default_rng(0).normal(size=parts.shape)
    found, expected = parts.account(theta), one.evaluate(theta)
    assert found["loss"] == pytest.approx(expected.loss, rel=1e-13)
    np.testing.assert_allclose(found["gradient"], expected.adjoint, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(
        parts.hessian(parts.curvature(parts.linear(theta))),
        one.hessian(one.curvature(one.linear(theta))),
        rtol=1e-11,
        atol=1e-9,
    )
    v = np.random.default_rng(1).normal(size=parts.shape)
    np.testing.assert_allclose(
        parts.hessian_product(parts.linear(theta), v),
        one.hessian_product(one.curvature(one.linear(theta)), v),
        rtol=1e-10,
        atol=1e-8,
    )
    t = 0.3
    along = parts.along_line(parts.linear(theta), parts.linear(v), t)
    reference = one.along_line(one.linear(theta), one.linear(v), t)
    assert along == pytest.approx(reference, rel=1e-11)


@pytest.mark.crossed
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.5), L1()])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredHinge()])
def test_bounds_near_and_far_are_below_the_optimum(loss, C, penalty):
    # Along the way from zero to the optimum and beyond, where the slopes are far from balanced.
    one = whole(loss, C=C)
    parts = blocked(loss, C=C, penalty=penalty)
    from separatrix.solvers import select_solver

    problem = whole(loss, C=C, penalty=penalty)
    best = minimise(problem, select_solver(problem), tol=1e-9, max_iter=5000, seed=0)
    assert best.certificate.relative_gap < 1e-6
    reached = []
    for step in (0.0, 0.5, 0.9, 1.0, 1.01, 2.0):
        theta = step * best.theta
        bound = parts.bound(theta)
        settled = parts.certify(theta, bound, 1e-6, bound)
        assert settled.dual <= best.certificate.primal
        assert bound.dual <= best.certificate.primal * (1.0 + 1e-9)
        assert settled.primal >= problem.value(theta) * (1.0 - 1e-12)
        reached.append(settled.dual)
    if not penalty.kinked:
        assert reached[3] >= best.certificate.primal * (1.0 - 1e-5)
    assert one.shape == parts.shape


def test_the_intercept_costs_its_square_alone():
    # A slope of the intercept of the size h costs h^2 over its curvature, and not h itself.
    problem = blocked(LogLoss())
    best = minimise(whole(LogLoss()), Newton(), tol=1e-12, seed=0)
    gaps = []
    for off in (1e-2, 1e-3, 1e-4):
        theta = best.theta.copy()
        theta[-1] += off
        gaps.append(problem.bound(theta).gap)
    np.testing.assert_allclose(np.log10(gaps[0] / np.array(gaps[1:])), [2.0, 4.0], atol=0.1)


def test_a_weight_is_so_many_copies():
    weight = np.random.default_rng(2).integers(0, 3, size=len(Y)).astype(float)
    weight[np.flatnonzero(Y == 0)[0]] = weight[np.flatnonzero(Y == 1)[0]] = 1.0
    weighted = LogisticRegression(tol=1e-9).fit(scan(X, Y, weight=weight, block_rows=60))
    copied = np.repeat(np.arange(len(Y)), weight.astype(int))
    copies = LogisticRegression(tol=1e-9).fit(scan(X[copied], Y[copied], block_rows=60))
    assert weighted.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(C=0.1)])
def test_any_number_of_workers_gives_the_same_bits(model):
    data = scan(X, Y, block_rows=37)
    found = {model.fit(data, engine=Local(workers)).coef_.tobytes() for workers in (1, 2, 3)}
    assert len(found) == 1


def test_the_threads_of_the_process_that_fits_do_not_show_in_the_bits():
    # The sample, too, is fitted in parts that have nothing to do with them.
    split = pool.Tuning(parallel_work=1000)
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60_000, 5))
    data = scan(X, X @ np.arange(5.0) > rng.logistic(size=len(X)), block_rows=5000)
    found = set()
    for number in (1, 2, 3):
        with threads(number), pool.tuned(split):
            model = LogisticRegression(random_state=0).fit(data, engine=Local(2))
        found.add(model.coef_.tobytes())
    assert len(found) == 1


def test_passes_are_counted_and_told_of():
    seen = []
    with watch_passes(seen.append):
        model = LogisticRegression().fit(scan(X, Y, block_rows=100))
    assert model.n_passes_ == seen[-1].number <= 6
    assert seen[-1].rows == seen[-1].n_rows == len(Y)
    assert [one.rows for one in seen[:6]] == np.cumsum([94, 95, 95, 95, 95, 95]).tolist()


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    data, path = scan(X, Y, block_rows=100), tmp_path / "fit.checkpoint"
    straight = LogisticRegression(C=100.0, tol=1e-11).fit(data)
    assert straight.n_passes_ >= 3

    def stop(progress):
        if progress.number == 3 and progress.rows > 200:
            raise RuntimeError("the power failed")

    with watch_passes(stop), pytest.raises(RuntimeError, match="power"):
        LogisticRegression(C=100.0, tol=1e-11).fit(data, checkpoint=path)
    assert path.exists()
    counted = []
    with watch_passes(counted.append):
        model = LogisticRegression(C=100.0, tol=1e-11).fit(data, checkpoint=path)
    # Passes of the first fit are not made again.
    assert counted[0].number == 3
    assert model.certificate_.ok
    assert not path.exists()
    assert model.certificate_.primal == pytest.approx(straight.certificate_.primal, rel=1e-9)


def test_a_checkpoint_of_other_data_or_damaged_is_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"

    def stop(progress):
        if progress.number == 2:
            raise RuntimeError

    with watch_passes(stop), pytest.raises(RuntimeError):
        LogisticRegression(C=100.0).fit(scan(X, Y, block_rows=100), checkpoint=path)
    with pytest.raises(DataError, match="another fit"):
        LogisticRegression(C=1.0).fit(scan(X, Y, block_rows=100), checkpoint=path)
    with pytest.raises(DataError, match="another fit"):
        LogisticRegression(C=100.0).fit(scan(2.0 * X, Y, block_rows=100), checkpoint=path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="damaged"):
        LogisticRegression(C=100.0).fit(scan(X, Y, block_rows=100), checkpoint=path)


@pytest.mark.signals
def test_interrupted_fits_keep_the_best_point():
    import os
    import signal

    def press(progress):
        if progress.number == 2 and progress.rows == 284:
            os.kill(os.getpid(), signal.SIGINT)

    model = LogisticRegression(C=100.0)
    with watch_passes(press), pytest.raises(KeyboardInterrupt):
        model.fit(scan(X, Y, block_rows=100))
    assert model.certificate_.status == "interrupted"
    assert 0.0 < model.certificate_.relative_gap < 1.0


def test_what_is_for_blocks_is_refused_with_arrays():
    with pytest.raises(ValueError, match="engine is for data in row blocks"):
        LogisticRegression().fit(X, Y, engine=Local())
    with pytest.raises(ValueError, match="row blocks contain it"):
        LogisticRegression().fit(scan(X, Y), Y)


def test_named_sums_are_those_of_the_kernel():
    found = blocked(LogLoss()).account(np.zeros(X.shape[1] + 1))
    n = len(Y)
    assert found["upper"] == n and found["outside"] == 0.0
    assert found["shift"] == pytest.approx(n / 4) and found["slope_size"] == pytest.approx(n / 2)
    assert found["conjugate"] == pytest.approx(-n * np.log(2.0))
    assert set(SUMS) <= set(found)


def test_a_checkpoint_is_of_the_rows_their_labels_and_their_weights():
    weight = np.linspace(0.5, 2.0, len(Y))
    same = scan(X, Y, weight=weight, block_rows=90).fingerprint
    assert same == scan(X.copy(), Y, weight=weight.tolist(), block_rows=50).fingerprint
    others = [
        scan(X, Y),
        scan(X, Y, weight=weight[::-1]),
        scan(X, 1 - Y, weight=weight),
        # Rows of the same lengths.
        scan(-X, Y, weight=weight),
        scan(X[:, ::-1], Y, weight=weight),
    ]
    assert len({same, *(data.fingerprint for data in others)}) == 6
