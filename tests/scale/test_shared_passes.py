"""Values, folds and classes that share passes: what each finds alone, in as many passes as one."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from separatrix import LinearSVC, LogisticRegression, LogisticRegressionCV, PathInterrupt
from separatrix.losses import LogLoss
from separatrix.objectives.penalties import L2
from separatrix.scale import Local, scan
from separatrix.scale.engines import work
from separatrix.scale.objectives import PointwiseRows, _account
from separatrix.scale.passes import watch_passes

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
IRIS = load_iris(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore:the intercept is not penalised")


def test_one_vs_rest_takes_the_passes_of_its_longest():
    data = scan(*IRIS, block_rows=40)
    model = LogisticRegression(C=10.0, multiclass="ovr", random_state=0).fit(data)
    memory = LogisticRegression(C=10.0, multiclass="ovr", tol=1e-9).fit(*IRIS)
    certificate = model.certificate_
    assert certificate.ok and len(certificate.parts) == 3
    assert model.n_passes_ <= max(part.n_iter for part in certificate.parts) + 3
    assert certificate.dual <= memory.certificate_.primal
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=2e-2)
    svm = LinearSVC(random_state=0).fit(data)
    assert svm.certificate_.ok and svm.n_passes_ < sum(p.n_iter + 1 for p in svm.certificate_.parts)


@pytest.mark.parametrize("options", [{}, {"l1_ratio": 0.5, "class_weight": "balanced"}])
def test_fits_of_a_path_are_those_that_they_are_alone(options):
    data, values = scan(X, Y, block_rows=150), [0.01, 0.3, 10.0]
    model = LogisticRegression(**options, random_state=0)
    path = model.path(data, Cs=values)
    alone = [
        LogisticRegression(**options, random_state=0, C=C).fit(data, engine=Local(1))
        for C in values
    ]
    for fit, other in zip(path.models, alone, strict=True):
        assert fit.certificate_.ok
        assert fit.coef_.tobytes() == other.coef_.tobytes()
        assert fit.certificate_.dual == other.certificate_.dual
    assert path.models[0].n_passes_ == max(fit.n_passes_ for fit in alone)
    assert path.scores is None


@pytest.mark.parametrize("weighed", [False, True])
def test_folds_are_those_of_rows_in_memory(weighed):
    """The folds agree also where a class appears late, and rows without weight are in no fold."""
    x, y = np.vstack([X, X[:50]]), np.concatenate([Y, Y[:50]])
    order = np.argsort(y == y[0], kind="stable")[::-1]
    x, y = x[order], y[order]
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    weights = weights if weighed else None
    model = LogisticRegression(random_state=0, class_weight="balanced", tol=1e-9)
    memory = model.path(x, y, lams=[1e-1, 1e-3], cv=3, sample_weight=weights)
    for rows in (57,) if weighed else (130,):
        path = model.path(scan(x, y, weight=weights, block_rows=rows), lams=[1e-1, 1e-3], cv=3)
        np.testing.assert_allclose(path.scores, memory.scores, rtol=1e-12)
        for found, known in zip(path.fold_certificates, memory.fold_certificates, strict=True):
            for one, other in zip(found, known, strict=True):
                assert one.ok
                assert one.primal == pytest.approx(other.primal, rel=3e-9)


def test_cross_validation_chooses_among_values():
    data = scan(*IRIS, block_rows=60)
    model = LogisticRegressionCV(Cs=[1e-4, 1e-2, 1.0], cv=4, random_state=0).fit(data)
    assert model.certificate_.ok
    assert model.fold_scores_.shape == (4, 1, 3)
    assert model.chosen_C_ == 1.0
    assert model.n_passes_ <= 10
    alone = LogisticRegression(C=1.0, random_state=0).fit(data)
    assert model.coef_.tobytes() == alone.coef_.tobytes()
    assert model.score(*IRIS) > 0.9


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_values_by_default_are_those_of_memory(penalty):
    options = {"penalty": penalty, "tol": 1e-3, "class_weight": {np.unique(Y)[0]: 9.0}}
    x, y = X[:, :5], Y
    found = LogisticRegression(**options).path(scan(x, y, block_rows=200), Cs=3)
    known = LogisticRegression(**options).path(x, y, 3)
    np.testing.assert_allclose(found.values, known.values, rtol=1e-6)
    if penalty == "l1":
        assert not found.models[0].coef_.any()


@pytest.mark.signals
def test_errors_and_limits_end_all():
    data = scan(X, Y, block_rows=150)
    before = threading.active_count()

    def fail(progress):
        if progress.number == 3:
            raise RuntimeError("the disk is gone")

    with watch_passes(fail), pytest.raises(RuntimeError, match="disk"):
        LogisticRegression().path(data, Cs=[0.1, 1.0, 100.0], cv=3)
    assert threading.active_count() == before

    def press(progress):
        if progress.number == 4 and progress.rows == len(Y):
            os.kill(os.getpid(), signal.SIGINT)

    with watch_passes(press), pytest.raises(PathInterrupt) as stopped:
        LogisticRegression(tol=1e-14).path(data, Cs=[0.1, 1.0, 1e4], cv=3)
    assert len(stopped.value.path.models) == 3
    assert "interrupted" in {c.status for c in stopped.value.path.certificates}
    assert threading.active_count() == before
    seen = []

    def press_at_once(progress):
        seen.append(progress.number)
        if progress.number == 2:
            os.kill(os.getpid(), signal.SIGINT)

    # Before the first pass of the fits is complete, when most have nothing to show.
    with watch_passes(press_at_once), pytest.raises(PathInterrupt) as stopped:
        LogisticRegression(tol=1e-14).path(data, Cs=[0.1, 1.0, 1e4], cv=3)
    assert len(stopped.value.path.models) == 1 and len(stopped.value.path.not_reached) == 2
    assert max(seen) == 3 and threading.active_count() == before
    with pytest.raises(ValueError, match="fold 1 of 2"):
        few = scan([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], block_rows=2)
        LogisticRegression().path(few, Cs=[1.0], cv=2)
    with pytest.raises(TypeError, match="fit the values separately"):
        LinearSVC(loss="hinge").path(data, Cs=[1.0])
    with pytest.raises(TypeError, match="accuracy"):
        LogisticRegression().path(data, Cs=[1.0], cv=3, scoring="roc_auc")


def test_sums_do_not_depend_on_where_the_arrays_lie():
    # Parallel versions of a compiled loop, of which one is chosen by where its arrays are, once
    # rounded in two ways.
    rng, kept, found = np.random.default_rng(0), [], set()
    theta = 0.1 * rng.normal(size=X.shape[1] + 1)
    for block in scan(X, Y, block_rows=150).blocks:
        found.clear()
        for _ in range(40):
            kept.append(np.empty(rng.integers(1, 400)))
            shared = PointwiseRows(LogLoss(), L2(), 0.3, True, 1, np.ones(2)), theta.copy()
            sums = work(_account, block, shared, None)
            found.add(sums["sums"].tobytes() + sums["adjoint"].tobytes())
        assert len(found) == 1


def test_as_many_fits_at_a_time_as_memory_has_room_for():
    data = scan(X, Y, block_rows=150)
    values = [0.01, 0.1, 1.0]
    at_once = LogisticRegression(random_state=0).path(data, Cs=values)
    little = replace(data, memory=60_000)
    in_turn = LogisticRegression(random_state=0).path(little, Cs=values)
    assert in_turn.models[0].n_passes_ > at_once.models[0].n_passes_
    for one, other in zip(at_once.models, in_turn.models, strict=True):
        assert one.coef_.tobytes() == other.coef_.tobytes()


def test_one_vs_rest_goes_on_from_its_checkpoint(tmp_path):
    data, path = scan(*IRIS, block_rows=40), tmp_path / "fit.checkpoint"
    options = {"multiclass": "ovr", "C": 100.0, "random_state": 0, "tol": 1e-9}
    straight = LogisticRegression(**options).fit(data)
    assert straight.n_passes_ >= 3

    def stop(progress):
        if progress.number == 3 and progress.rows == 150:
            raise RuntimeError("the power failed")

    with watch_passes(stop), pytest.raises(RuntimeError, match="power"):
        LogisticRegression(**options).fit(data, checkpoint=path)
    counted = []
    with watch_passes(counted.append):
        model = LogisticRegression(**options).fit(data, checkpoint=path)
    # The points of all three classes are there, and no pass is made again for them.
    assert counted[0].number == 3
    assert model.certificate_.ok and not path.exists()
    assert model.certificate_.primal == pytest.approx(straight.certificate_.primal, rel=1e-8)
