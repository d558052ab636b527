"""Every linear estimator has the problem over row blocks that it has of rows in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from grids import EXHAUSTIVE, grid
from separatrix import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    PoissonRegressor,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    verify,
)
from separatrix.losses import Hinge
from separatrix.losses.base import MarginLoss
from separatrix.scale import kinked, objectives, scan

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
N, D = 900, 6
X = RNG.normal(size=(N, D)) * [0.3, 1.0, 3.0, 1.0, 1.0, 0.7] + [0.0, 1.0, -2.0, 0.0, 0.0, 5.0]
W = np.array([1.0, -2.0, 0.5, 0.0, 0.0, 1.0])
NUMBERS = X @ W + 3.0 + RNG.standard_t(3, size=N)
COUNTS = RNG.poisson(np.exp(0.3 * (X - X.mean(axis=0)) @ W)).astype(float)
LABELS = np.where(X @ W - 3.0 + RNG.logistic(size=N) > 0.0, "yes", "no")
THREE = np.where(X[:, 3] > 0.8, "maybe", LABELS)
WEIGHTS = RNG.integers(0, 3, size=N).astype(float)

BOUNDS = {0: (0, None), 2: (-0.1, 0.1), 5: (None, 0)}
SHARED = {"alpha": 0.05, "penalty": "elasticnet", "l1_ratio": 0.3}
MODELS = {
    "numbers": [
        Lasso(alpha=0.1),
        Lasso(alpha=0.1, positive=True),
        ElasticNet(alpha=0.1),
        ElasticNet(alpha=0.1, l1_ratio=0.0),
        ElasticNet(alpha=0.0),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.5),
        LinearSVR(epsilon=0.5, C=0.1),
        LinearSVR(C=0.01),
        HuberRegressor(alpha=1.0),
        HuberRegressor(alpha=10.0, epsilon=2.0),
        SGDRegressor(alpha=0.01),
        SGDRegressor(loss="huber", **SHARED),
        SGDRegressor(loss="epsilon_insensitive", **SHARED),
        SGDRegressor(loss="squared_epsilon_insensitive", epsilon=0.0, penalty="l1", alpha=0.1),
    ],
    "counts": [
        PoissonRegressor(alpha=0.1),
        PoissonRegressor(alpha=0.0),
        PoissonRegressor(alpha=0.02, l1_ratio=0.5),
    ],
    "labels": [
        LogisticRegression(bounds=BOUNDS, C=0.1),
        LogisticRegression(penalty=None),
        LogisticRegression(bounds=BOUNDS, C=0.1, penalty="l1", class_weight="balanced"),
        LinearSVC(l1_ratio=0.5, C=0.05),
        SGDClassifier("log_loss", alpha=0.01),
        SGDClassifier("modified_huber", penalty="l1", alpha=0.01),
        SGDClassifier("squared_error", alpha=0.01),
        SGDClassifier("huber", alpha=0.01),
        SGDClassifier("hinge", class_weight={"yes": 2.0, "no": 0.5}, **SHARED),
    ],
    "three": [
        LogisticRegression(bounds=BOUNDS, C=0.1),
        LogisticRegression(multiclass="ovr", C=0.1, penalty="l1"),
        SGDClassifier("modified_huber", alpha=0.01),
        SGDClassifier("hinge", alpha=0.01),
    ],
}
TARGETS = {"numbers": NUMBERS, "counts": COUNTS, "labels": LABELS, "three": THREE}


def blocks_of(kind, weight, matrix=X):
    quantity = kind in ("numbers", "counts")
    data = scan(matrix, TARGETS[kind], weight=weight, quantity=quantity, block_rows=250)
    # A sample that is some of the rows and not all of them.
    return replace(data, sample=data.blocks[1].load())


def agree(model, memory):
    """Each bound is below the other's objective."""
    found, expected = model.certificate_, memory.certificate_
    assert found.ok and expected.ok
    assert found.dual <= expected.primal * (1.0 + 1e-12)
    assert expected.dual <= found.primal * (1.0 + 1e-12)


@pytest.mark.sampled
@grid(
    "of, model, weight, fit_intercept",
    [
        (of, model, weight, fit_intercept)
        for of, models in MODELS.items()
        for k, model in enumerate(models)
        for way, (weight, fit_intercept) in enumerate(
            ((None, True), (None, False), (WEIGHTS, True))
        )
        # Every model in one of the three ways, and in all of them in make exhaustive.
        if EXHAUSTIVE or k % 3 == way
    ],
    ids=lambda case: (*case[:2], case[2] is not None, case[3]),
    kind=lambda case: case[0],
)
@kinked.tuned(kinked.Tuning(few=0))
def test_the_optimum_is_that_of_rows_in_memory(of, model, weight, fit_intercept):
    # Not all rows count as near a kink, as if there were very many.
    model = type(model)(**{**model.get_params(), "fit_intercept": fit_intercept, "tol": 1e-5})
    memory = type(model)(**model.get_params()).fit(X, TARGETS[of], sample_weight=weight)
    data = blocks_of(of, weight)
    agree(model.fit(data), memory)
    assert model.objective_formula_ == memory.objective_formula_
    # Huber's loss takes several passes for each step, which find the scale.
    assert model.n_passes_ <= (60 if hasattr(model, "scale_") else 30)
    if hasattr(model, "scale_"):
        assert model.scale_ == pytest.approx(memory.scale_, rel=1e-2)
    judged = verify(model, data)
    assert judged.status == "optimal"
    assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert model.coef_.shape == memory.coef_.shape
    assert np.shape(model.intercept_) == np.shape(memory.intercept_)


def test_few_passes_look_for_the_scale_of_rows_on_a_plane():
    target = X @ np.linspace(-1.0, 1.0, X.shape[1]) + 1.0
    model = HuberRegressor(alpha=1.0).fit(scan(X, target, block_rows=300, quantity=True))
    assert model.n_passes_ < 90 and model.scale_ < 1e-9 and model.certificate_.ok


@pytest.mark.sampled
@grid(
    "share, options, seed",
    # A quarter of all combinations, which contains every value.
    [
        (share, options, seed)
        for share in (0.1, 0.35)
        for k, options in enumerate(
            ({}, {"epsilon": 1.0, "alpha": 0.1}, {"epsilon": 1.1, "tol": 1e-9})
        )
        for seed in (0, 1)
        if EXHAUSTIVE or (share, k, seed) in ((0.1, 0, 0), (0.35, 1, 1), (0.1, 2, 1))
    ],
    ids=str,
)
def test_a_scale_that_vanishes_is_that_of_rows_in_memory(share, options, seed):
    # A plane fits the other rows exactly: numbers that are labels, by levels, or sums of columns.
    rng = np.random.default_rng(seed)
    rows = np.hstack([np.eye(k)[rng.integers(k, size=120)] for k in (2, 4)])
    target = np.where(rng.random(120) < share, 1.0, -1.0)
    if seed:
        rows = rng.normal(size=(120, 3))
        target = np.where(rng.random(120) < share, 30.0 * rng.normal(size=120), rows.sum(axis=1))
    memory = HuberRegressor(**options).fit(rows, target)
    data = scan(rows, target, quantity=True, block_rows=40)
    model = HuberRegressor(**options).fit(data)
    agree(model, memory)
    # The objective at the parameters, as scikit-learn's documentation has it.
    z = np.abs(target - model.predict(rows)) / model.scale_
    e, alpha = model.epsilon, model.alpha
    losses = model.scale_ * (1.0 + np.where(z < e, z**2, 2.0 * e * z - e**2))
    stated = (losses.sum() + alpha * model.coef_ @ model.coef_) / (2.0 * alpha)
    assert model.certificate_.primal == pytest.approx(stated, rel=1e-9)
    assert verify(model, data).ok


def test_numbers_that_are_all_zero_have_no_scale():
    for options in ({}, {"epsilon": 1.0}):
        model = HuberRegressor(**options).fit(scan(X, np.zeros(N), quantity=True, block_rows=90))
        assert model.certificate_.primal == 0.0 and model.certificate_.ok and not model.coef_.any()


@pytest.mark.parametrize("of", MODELS)
def test_sparse_rows(of):
    rows = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    for model in (MODELS[of][0], MODELS[of][-1]):
        memory = type(model)(**model.get_params()).fit(rows, TARGETS[of])
        agree(type(model)(**model.get_params()).fit(blocks_of(of, None, rows)), memory)


@pytest.mark.parametrize(
    "model",
    [
        LassoCV(alphas=20, cv=3, positive=True, fit_intercept=False),
        ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=10),
    ],
    ids=str,
)
def test_a_strength_is_chosen_as_in_memory(model):
    for weight in (None, WEIGHTS):
        memory = type(model)(**model.get_params()).fit(X, NUMBERS, sample_weight=weight)
        data = blocks_of("numbers", weight)
        model.fit(data)
        np.testing.assert_allclose(model.mse_path_, memory.mse_path_, rtol=1e-9)
        assert model.alpha_ == pytest.approx(memory.alpha_, rel=1e-9)
        agree(model, memory)
        assert model.n_passes_ <= 6 and verify(model, data).status == "optimal"
    with pytest.raises(TypeError, match="give the number of folds"):
        type(model)(cv=[([0], [1])]).fit(data)
    with pytest.raises(TypeError, match="give alphas and l1_ratio above 0"):
        type(model)(alphas=[0.0, 1.0]).fit(data)


@pytest.mark.parametrize("of", MODELS)
def test_rows_without_weight_may_have_any_length(of):
    rows, weights = X.copy(), np.where(np.arange(N) % 3 == 1, 0.0, 1.0)
    model = MODELS[of][0]
    known = type(model)(**model.get_params()).fit(X, TARGETS[of], sample_weight=weights)
    rows[1::6] = 1e308
    for matrix in (rows, sp.csr_matrix(rows)):
        agree(type(model)(**model.get_params()).fit(blocks_of(of, weights, matrix)), known)
        found = type(model)(**model.get_params()).fit(matrix, TARGETS[of], sample_weight=weights)
        agree(found, known)
        assert verify(found, matrix, TARGETS[of], sample_weight=weights).ok
    assert (rows[1::6] == 1e308).all()


def test_targets_without_weight_may_have_any_size():
    targets, weights = NUMBERS.copy(), np.where(np.arange(N) % 3 == 1, 0.0, 1.0)
    targets[1::6] = 1e308
    known = Lasso(alpha=0.1).fit(X, NUMBERS, sample_weight=weights)
    found = Lasso(alpha=0.1).fit(X, targets, sample_weight=weights)
    agree(found, known)
    assert verify(found, X, targets, sample_weight=weights).ok
    agree(Lasso(alpha=0.1).fit(scan(X, targets, weight=weights, quantity=True)), known)
    # The means of all fits are those of the rows that have a weight.
    chosen = RidgeCV().fit(np.where(weights[:, None] > 0.0, X, 1e200), targets, weights)
    assert chosen.alpha_ == RidgeCV().fit(X, NUMBERS, weights).alpha_


def test_the_share_of_the_deviance_is_that_of_rows_in_memory():
    counts = TARGETS["counts"]
    for weight in (None, np.where(np.arange(N) % 3 == 1, 0.0, WEIGHTS)):
        data = blocks_of("counts", weight)
        model = PoissonRegressor(alpha=0.1).fit(data)
        expected = model.score(X, counts, weight)
        assert model.score(data) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="negative number, -"):
        model.score(blocks_of("numbers", None))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_single_rows_are_left_out_as_in_memory(fit_intercept):
    options = {"alphas": np.geomspace(0.1, 1e5, 13), "fit_intercept": fit_intercept}
    for model, of in ((RidgeCV(**options), "numbers"), (RidgeClassifierCV(**options), "three")):
        for weight in (None, WEIGHTS):
            data = blocks_of(of, weight)
            memory = type(model)(**options).fit(X, TARGETS[of], sample_weight=weight)
            model.fit(data)
            assert model.alpha_ == memory.alpha_ and model.n_passes_ <= 6
            assert model.best_score_ == pytest.approx(memory.best_score_, rel=1e-9)
            np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-9)
            assert verify(model, data).ok
        for other in ({"cv": 3}, {"scoring": "r2"}, {"store_cv_results": True}):
            with pytest.raises(TypeError, match="cannot be fitted in passes"):
                type(model)(**other).fit(data)


def test_standard_errors_are_those_of_rows_in_memory():
    for weight in (None, WEIGHTS):
        model = LogisticRegression(penalty=None, tol=1e-10).fit(blocks_of("labels", weight))
        found = model.summary()
        known = type(model)(**model.get_params()).fit(X, LABELS, sample_weight=weight).summary()
        np.testing.assert_allclose(found.estimate, known.estimate, rtol=1e-3)
        np.testing.assert_allclose(found.standard_error, known.standard_error, rtol=1e-3)
        assert found.aic == pytest.approx(known.aic, rel=1e-9)


@pytest.mark.parametrize("status", ["separable", "quasi_separable", "precision_limit"])
def test_where_no_unpenalised_optimum_is_known(status):
    """The classes are apart, or apart but for a plane, or a column depends on another."""
    apart = np.where(X @ W > 3.0, "yes", "no")
    rare = (LABELS == "yes") & (np.arange(N) % 7 == 0)
    rows, labels = {
        "separable": (X, apart),
        "quasi_separable": (np.column_stack([X, rare]), LABELS),
        "precision_limit": (np.column_stack([X, X[:, 0]]), LABELS),
    }[status]
    model = LogisticRegression(penalty=None).fit(scan(rows, labels, block_rows=250))
    assert model.certificate_.status == status
    assert model.certificate_.dual <= model.certificate_.primal


def test_slopes_that_two_passes_round_differently_prove_nothing(monkeypatch):
    conjugate = objectives._free_conjugate

    def elsewhere(rows, shared, own):
        of, by = shared
        return conjugate(rows, (of, replace(by, theta=np.nextafter(by.theta, np.inf))), own)

    data = blocks_of("labels", None)
    assert LogisticRegression(penalty=None).fit(data).certificate_.ok
    monkeypatch.setattr(objectives, "_free_conjugate", elsewhere)
    found = LogisticRegression(penalty=None).fit(data).certificate_
    assert not found.ok and found.dual == 0.0


def test_what_no_sum_over_rows_bounds():
    numbers, labels = blocks_of("numbers", None), blocks_of("labels", None)
    for model, data, why in (
        (HuberRegressor(alpha=0.0), numbers, "without a penalty"),
        (LogisticRegression(penalty=None), blocks_of("three", None), "without a penalty"),
        (SGDClassifier("hinge", penalty="l1"), labels, "a share of L2"),
        (SGDRegressor("epsilon_insensitive", penalty="l1"), numbers, "a share of L2"),
    ):
        with pytest.raises(TypeError, match=why):
            model.fit(data)
    with pytest.raises(ValueError, match="negative number, -"):
        PoissonRegressor().fit(numbers)
    data = scan(X, np.zeros(N), quantity=True)
    with pytest.raises(ValueError, match="All numbers in y are 0"):
        PoissonRegressor().fit(data)


def test_a_loss_of_somebody_else_says_what_it_lacks():
    class Bare(Hinge):
        pieces = ()

    class Smooth(Hinge):
        smooth = True
        shift = MarginLoss.shift

    for loss in (Bare(), Smooth()):
        with pytest.raises(TypeError, match="does not say how its slopes can be moved"):
            SGDClassifier(loss).fit(blocks_of("labels", None))
