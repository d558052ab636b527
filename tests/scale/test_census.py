"""Fits in passes that end early: whatever is under way, the best point and a true certificate."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.census import Clock, Judge, ended, instants

import separatrix as sx
from grids import EXHAUSTIVE
from separatrix.losses import LogLoss
from separatrix.objectives.penalties import L1, L2
from separatrix.scale import Local, scan
from separatrix.scale.objectives import BlockedPointwise
from separatrix.solvers import ProximalQuasiNewton, QuasiNewton, TwoLevels

# Ways of ending, and what a fit may then say of itself.
ENDS = ("optimal", "time_limit", "interrupted", "max_iter", "not_separated", "precision_limit")
# How many instants a fit is ended at.
INSTANTS = 8 if EXHAUSTIVE else 2


def _rows(kind: str, classes: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(96, 5))
    X[rng.random(X.shape) < 0.4] = 0.0
    scores = X @ rng.normal(size=(5, classes)) + 0.7 * rng.normal(size=(96, classes))
    y = scores.argmax(axis=1)
    if kind == "sparse":
        return sp.csr_matrix(X), y
    return (X.astype(np.float32) if kind == "float32" else X), y


def _penalties(make: Any, **others: Any) -> dict[str, Any]:
    kinds = {"L2": "l2", "L1": "l1"}
    return {name: partial(make, penalty=value, **others) for name, value in kinds.items()}


MODELS: dict[str, Any] = {
    **{f"logistic {k}": v for k, v in _penalties(sx.LogisticRegression, C=0.3).items()},
    "logistic alone": partial(sx.LogisticRegression, penalty=None, multiclass="ovr"),
    "logistic elastic net": partial(sx.LogisticRegression, C=0.3, l1_ratio=0.5),
    "logistic CV": partial(sx.LogisticRegressionCV, Cs=[0.03, 0.3], cv=2),
    "squared hinge L2": partial(sx.LinearSVC, C=0.3),
    "squared hinge L1": partial(sx.LinearSVC, C=0.3, penalty="l1"),
    "hinge L2": partial(sx.LinearSVC, C=0.3, loss="hinge"),
    "sgd log": partial(sx.SGDClassifier, "log_loss", alpha=0.05, max_iter=4),
    "sgd hinge": partial(sx.SGDClassifier, "hinge", alpha=0.05, max_iter=4, average=False),
    "perceptron": partial(sx.Perceptron, max_iter=4),
    "perceptron average": partial(sx.Perceptron, average=True, max_iter=4),
}


@pytest.mark.sampled
@pytest.mark.crossed
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_a_fit_that_ends_early_has_its_best_point_and_a_true_certificate(
    kind: str, classes: int, name: str
) -> None:
    X, y = _rows(kind, classes)
    data = scan(X, y, block_rows=20)
    judge, engine = Judge(X, y), Local(workers=1)
    whole = Clock()
    model = MODELS[name]()
    ended(partial(model.fit, data, engine=engine), whole)
    judge.look(f"{name} {kind} {classes} whole", model, ENDS)
    for k in instants(whole.looks, INSTANTS):
        for how in ("time_limit", "Ctrl-C"):
            model = MODELS[name]()
            if how == "time_limit":
                model.set_params(time_limit=float(k) + 0.5)
            clock = Clock(press_at=k if how == "Ctrl-C" else None)
            _, interrupted = ended(partial(model.fit, data, engine=engine), clock)
            if not hasattr(model, "certificate_"):
                assert interrupted
                continue
            judge.look(f"{name} {kind} {classes} {how} at {k}", model, ENDS)
    for most in (1, 2, 3) if EXHAUSTIVE else (2,):
        model = MODELS[name]().set_params(max_iter=most)
        ended(partial(model.fit, data, engine=engine), Clock())
        judge.look(f"{name} {kind} {classes} max_iter {most}", model, ENDS)
    assert judge.verdict() == []


def test_what_has_no_bound_in_passes_is_refused_before_a_pass() -> None:
    data = scan(*_rows("dense", 3), block_rows=20)
    for model in (sx.LogisticRegression(penalty=None), sx.SGDClassifier(penalty=None)):
        with pytest.raises(TypeError, match="without a penalty there is no bound"):
            model.fit(data)


class _Ended(Exception):
    pass


def test_a_sample_is_fitted_within_the_limits_of_the_fit_in_passes() -> None:
    def end() -> None:
        raise _Ended

    rng = np.random.default_rng(0)
    X = (rng.random((600, 60)) < 0.05).astype(float)
    y = (X @ rng.normal(size=60) + rng.normal(size=600) > 0.0).astype(int)
    data = scan(sp.csr_matrix(X), y, block_rows=100)
    for solver, penalty in (
        (QuasiNewton(), L2()),
        (ProximalQuasiNewton(), L1()),
        (TwoLevels(), L2()),
    ):
        # A sample is what begins in memory, and nothing is known of the rows yet.
        problem = BlockedPointwise(data, Local(workers=1), LogLoss(), penalty, C=0.1)
        assert problem.some(0, rng) is not problem
        problem.listen(end)
        with pytest.raises(_Ended):
            solver.init(problem, problem.zero(), rng)
        assert problem.passes.count == 0
