"""Every estimator in memory, ended early in every way: the best iterate, truly certified."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor

import separatrix
from census import Clock, Judge, ended, instants
from grids import EXHAUSTIVE

PENALTIES = ("l1", "l2", None)
# Estimators with limits, and what besides their defaults is gone through.
CENSUS = {
    "LogisticRegression": [
        *({"penalty": p} for p in PENALTIES),
        {"penalty": "elasticnet", "l1_ratio": 0.5},
    ],
    "LogisticRegressionCV": [{"penalty": p, "Cs": 2, "cv": 2} for p in PENALTIES],
    "LinearSVC": [{"loss": "hinge"}, {"penalty": "l1"}, {"penalty": "l2"}],
    "SGDClassifier": [
        *(
            {"penalty": p, "loss": loss, "alpha": 0.1, **steps}
            for p in ("l1", "l2")
            for loss in ("hinge", "log_loss")
            for steps in ({}, {"eta0": 0.1})
        ),
        # An average is returned as it is, and of a few steps it can be worse than the start.
        {"penalty": None, "loss": "hinge", "average": False},
        {"penalty": None, "loss": "log_loss"},
    ],
    "SGDRegressor": [{"penalty": p, "alpha": 0.1} for p in PENALTIES],
    "Perceptron": [{}],
    "Lasso": [{"alpha": 0.1}],
    "ElasticNet": [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.0}, {"alpha": 0.0}],
    "LassoCV": [{"alphas": 3, "cv": 2}],
    "ElasticNetCV": [{"alphas": 3, "cv": 2}],
    "HuberRegressor": [{}, {"alpha": 0.0}],
    "PoissonRegressor": [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.5}, {"alpha": 0.0}],
    "LinearSVR": [{}, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}],
    "SVC": [{"gamma": 0.3}, {"kernel": "linear"}],
    "SVR": [{"gamma": 0.3}],
    "NuSVC": [{"gamma": 0.3}],
    "NuSVR": [{"gamma": 0.3}],
    "OneClassSVM": [{"gamma": 0.3}],
}
# Fits that solve equations, which no limit ends.
CLOSED = {
    *("DecisionStump", "LeastSquaresClassifier", "LinearDiscriminantAnalysis", "LinearRegression"),
    *("PolynomialRegression", "QuadraticDiscriminantAnalysis", "Ridge", "RidgeCV"),
    *("RidgeClassifier", "RidgeClassifierCV"),
}
# Models that are fitted to three classes.
SEVERAL = {
    "LogisticRegression": [{}, {"penalty": "l1"}, {"multiclass": "ovr"}],
    "LinearSVC": [{}, {"loss": "hinge", "solver": "dual"}],
    "SGDClassifier": [{"alpha": 0.1, "loss": "log_loss"}],
    "SVC": [{"gamma": 0.3}],
}
CASES = [
    (name, options, classes)
    for classes, cases in ((2, CENSUS), (3, SEVERAL))
    for name, each in cases.items()
    for options in each
]
ROWS, COLUMNS = 24, 4
# Steps and looks after which fits are ended: the ends and one between, or more in make exhaustive.
STEPS, LOOKS = ((1, 2, 3, 5), 5) if EXHAUSTIVE else ((1, 2, 5), 3)


def rows(kind: str, classes: int = 2):
    """Rows that overlap, labels and numbers, as a storage holds them."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(ROWS, COLUMNS)), 2)
    X[rng.random(X.shape) < 0.3] = 0.0
    noisy = X[:, 0] - X[:, 1] + rng.normal(size=ROWS)
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))
    stored = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[kind]
    return stored, y, np.round(3.0 * X[:, 0] + noisy, 2)


def test_no_estimator_is_left_out():
    assert set(CENSUS) | CLOSED == set(separatrix._ESTIMATORS)
    limited = {
        name
        for name in separatrix._ESTIMATORS
        if "time_limit" in inspect.signature(getattr(separatrix, name)).parameters
    }
    assert limited == set(CENSUS)


@pytest.mark.sampled
@pytest.mark.crossed
@pytest.mark.parametrize("storage", ["dense", "sparse", "float32"])
@pytest.mark.parametrize(("name", "options", "classes"), CASES, ids=str)
def test_a_fit_that_is_ended_shows_its_best(name, options, classes, storage):
    kind = getattr(separatrix, name)
    X, y, numbers = rows(storage, classes)
    y = numbers if is_regressor(kind()) else None if name == "OneClassSVM" else y
    y = np.maximum(np.round(y), 0.0) if name == "PoissonRegressor" else y
    fixed = {} if name == "Perceptron" else {"tol": 1e-9}
    if "random_state" in inspect.signature(kind).parameters:
        fixed["random_state"] = 0

    def made(**limits):
        return kind(**{**options, **fixed, **limits})

    full = made()
    clock = Clock()
    looks, _ = ended(lambda: full.fit(X, y), clock)
    natural = full.certificate_.status
    judge = Judge(np.asarray(rows("dense")[0]) if storage != "float32" else X, y)
    judge.look("whole", full, (natural,))
    for k in STEPS:
        model = made(max_iter=k)
        ended(lambda model=model: model.fit(X, y), Clock())
        limit = "not_separated" if name == "Perceptron" else "max_iter"
        judge.look(f"max_iter={k}", model, (natural, "optimal", limit))
    for k in instants(looks, LOOKS):
        model = made(time_limit=k)
        ended(lambda model=model: model.fit(X, y), Clock())
        judge.look(f"time_limit={k}", model, (natural, "optimal", "time_limit"))
    for k in instants(looks, LOOKS):
        model = made()
        _, raised = ended(lambda model=model: model.fit(X, y), Clock(k))
        if hasattr(model, "certificate_"):
            judge.look(f"Ctrl-C at {k}", model, (natural, "optimal", "interrupted"))
        assert raised or model.certificate_.status == natural
    assert not judge.verdict()


def test_the_judge_can_tell():
    X, y, _ = rows("dense")
    model = separatrix.LogisticRegression().fit(X, y)
    told = model.certificate_
    for changed in (
        {"primal": 0.99 * told.primal},
        {"primal": 1.01 * told.primal},
        {"dual": 1.01 * told.dual},
        {"gap": 0.0, "relative_gap": 0.0, "dual": 0.5 * told.dual},
        {"status": "max_iter"},
    ):
        judge = Judge(X, y)
        model.certificate_ = replace(told, **changed)
        judge.look("changed", model, ("optimal",))
        assert judge.verdict(), changed
    judge = Judge(X, y)
    model.certificate_ = told
    model.coef_ = model.coef_ - 3.0
    judge.look("moved", model, ("optimal",))
    assert len(judge.verdict()) >= 2


def test_limits_are_for_all_fits_of_an_estimator():
    X, y, numbers = rows("dense")
    for model in (
        separatrix.LassoCV(alphas=60),
        separatrix.ElasticNetCV(l1_ratio=[0.3, 0.7], alphas=40),
        separatrix.LogisticRegressionCV(Cs=10),
        separatrix.LogisticRegressionCV(
            Cs=3, penalty="elasticnet", l1_ratios=[0.1, 0.9], random_state=0
        ),
        separatrix.HuberRegressor(tol=1e-9),
        separatrix.LogisticRegression(tol=1e-12, penalty="l1"),
    ):
        targets = numbers if is_regressor(model) else y
        # Without a limit some fits do not look at the clock.
        model.set_params(time_limit=1e9)
        looks, _ = ended(lambda model=model, y=targets: model.fit(X, y), Clock())
        for share in (0.02, 0.3, 0.6):
            limit = max(1.0, share * looks)
            model.set_params(time_limit=limit)
            taken, _ = ended(lambda model=model, y=targets: model.fit(X, y), Clock())
            # A fit under way looks at the clock a few times more, and each path has a first fit.
            assert taken <= 1.1 * limit + 100, (model, share, looks, taken)
        model.set_params(time_limit=None)


def test_a_cross_validation_chooses_from_what_was_reached():
    X, _, numbers = rows("dense")
    model = separatrix.LassoCV(alphas=20, time_limit=60.0)
    ended(lambda: model.fit(X, numbers), Clock())
    reached = ~np.isnan(model.mse_path_)
    assert reached[0].all()
    assert not reached[-1].any()
    assert model.alpha_ in model.alphas_[reached.all(axis=1)]
