"""L1 and elastic net in passes, beside the fits in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from separatrix import LinearSVC, LogisticRegression
from separatrix.losses import LogLoss
from separatrix.objectives.penalties import L1
from separatrix.scale import Local, scan
from separatrix.scale.objectives import BlockedPointwise
from separatrix.solvers import ProximalQuasiNewton
from separatrix.solvers.driver import minimise
from separatrix.solvers.proximal_quasi_newton import Tuning

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
# The warning is about scikit-learn's intercept, which is penalised.
pytestmark = pytest.mark.filterwarnings("ignore:the intercept is not penalised")


def agree(model, memory):
    """Each bound is below the other's objective, and the weights that are zero are the same."""
    assert model.certificate_.ok and memory.certificate_.ok
    assert model.certificate_.dual <= memory.certificate_.primal * (1.0 + 1e-12)
    assert memory.certificate_.dual <= model.certificate_.primal * (1.0 + 1e-12)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=2e-3)


@pytest.mark.crossed
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_logistic_regression_with_l1(C, intercept):
    options = {"penalty": "l1", "C": C, "fit_intercept": intercept}
    # A sample that is some of the rows and not all of them.
    data = scan(X, Y, block_rows=150)
    sample = replace(data.blocks[1].load())
    model = LogisticRegression(**options).fit(replace(data, sample=sample))
    memory = LogisticRegression(**options, tol=1e-9).fit(X, Y)
    agree(model, memory)
    assert np.array_equal(model.coef_ == 0.0, memory.coef_ == 0.0)
    # Without a sample all Hessians are those of passes.
    agree(LogisticRegression(**options).fit(replace(data, sample=None)), memory)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1_ratio=0.5, C=0.5),
        LogisticRegression(l1_ratio=0.01, C=5.0, class_weight="balanced"),
        LinearSVC(penalty="l1", C=0.05),
        LinearSVC(l1_ratio=0.7, C=0.5, fit_intercept=False),
    ],
    ids=str,
)
def test_mixtures_and_the_squared_hinge(model):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, size=len(Y)).astype(float)
    data = scan(X, Y, weight=weights, block_rows=200)
    data = replace(data, sample=data.blocks[0].load())
    memory = type(model)(**{**model.get_params(), "tol": 1e-9}).fit(X, Y, weights)
    model.fit(data)
    agree(model, memory)


@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"l1_ratio": 0.5}])
def test_several_classes(penalty):
    x, y = load_iris(return_X_y=True)
    data = scan(x, y, block_rows=40)
    model = LogisticRegression(**penalty).fit(replace(data, sample=data.blocks[2].load()))
    memory = LogisticRegression(**penalty, tol=1e-9).fit(x, y)
    agree(model, memory)


@pytest.mark.parametrize("most", [60, 149])
def test_more_columns_than_a_hessian_has(most):
    rng = np.random.default_rng(5)
    x = sp.random(3000, 150, 0.05, format="csr", random_state=rng)
    y = (x @ (3.0 * rng.normal(size=150)) + rng.logistic(size=3000) > 0.0).astype(int)
    data = scan(x, y, block_rows=800)
    rows = data.blocks[0].load()
    # Some columns have no entry in the sample.
    matrix = rows.matrix.toarray()
    matrix[:, :7] = 0.0
    few = replace(rows, matrix=sp.csr_matrix(matrix), squares=None)
    problem = BlockedPointwise(replace(data, sample=few), Local(), LogLoss(), L1())
    # The same way with fewer columns.
    solver = ProximalQuasiNewton(Tuning(dense=most, few=10))
    found = minimise(problem, solver, tol=1e-6, seed=0)
    memory = LogisticRegression(penalty="l1", C=1.0, tol=1e-9).fit(x, y)
    assert found.certificate.ok
    assert found.certificate.dual <= memory.certificate_.primal * (1.0 + 1e-12)
    assert found.certificate.primal <= memory.certificate_.primal * (1.0 + 1e-6)
    assert 60 < np.count_nonzero(found.theta[:-1]) < 150


def test_few_passes():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(40_000, 15))
    y = (x @ rng.normal(size=15) + rng.logistic(size=40_000) > 0.5).astype(int)
    data = scan(x, y, block_rows=15_000)
    for model in (LogisticRegression(penalty="l1", C=0.01), LinearSVC(penalty="l1", C=0.001)):
        assert model.fit(data).certificate_.ok
        assert model.n_passes_ <= 4
