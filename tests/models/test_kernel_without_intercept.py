"""Kernel machines without an intercept, whose duals have boxes alone and no equality."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_breast_cancer, load_iris

from separatrix import SVC, SVR, LinearSVC, LinearSVR, load_model, save_model, verify
from separatrix.data.design import as_design
from separatrix.exceptions import NotSeparableError
from separatrix.kernels.functions import RBFKernel
from separatrix.kernels.gram import Gram
from separatrix.kernels.objective import KernelObjective
from separatrix.losses import Hinge
from separatrix.solvers.decomposition import Decomposition
from separatrix.solvers.driver import minimise


def data(n=80, shift=0.5):
    """Standardised rows whose mean is not the origin."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X[:n, :5] - X[:n, :5].mean(axis=0)) / X[:n, :5].std(axis=0) + shift, y[:n]


def rbf(X, Z, gamma):
    return np.exp(-gamma * np.square(X[:, None] - Z[None]).sum(axis=-1))


def in_box(K, y, upper):
    """The optimum of ``sum a - 1/2 a'YKYa`` in a box by bounded least squares, and ``y a``."""
    at, out = np.flatnonzero(upper), np.zeros(len(y))
    factor = np.linalg.cholesky((y[:, None] * K * y)[np.ix_(at, at)])
    aim = np.linalg.solve(factor, np.ones(len(at)))
    bounds = np.zeros(len(at)), upper[at]
    a = scipy.optimize.lsq_linear(factor.T, aim, bounds, method="bvls", tol=1e-15).x
    out[at] = y[at] * a
    return a.sum() - 0.5 * np.square(factor.T @ a).sum(), out


def test_a_machine_reaches_the_optimum_of_the_box():
    X, labels = data()
    gamma, C, K = 0.3, 2.0, rbf(*[data()[0]] * 2, 0.3)
    y = 2.0 * labels - 1.0
    weights = np.tile([1.0, 2.0, 0.0, 0.5], 20)
    for name, fitted, rows, s in (
        ("plain", {"gamma": gamma}, X, None),
        ("precomputed", {"kernel": "precomputed"}, K, None),
        ("float32", {"gamma": gamma}, X.astype(np.float32), None),
        ("weights", {"gamma": gamma}, X, weights),
        ("hard", {"gamma": gamma, "C": np.inf}, X, None),
    ):
        own = {"C": C, **fitted}
        model = SVC(**own, fit_intercept=False, tol=1e-9).fit(rows, labels, s)
        upper = own["C"] * np.ones(len(y)) if s is None else C * s
        best, c = in_box(K, y, upper)
        found = model.certificate_
        rounded = 1e-5 if name == "float32" else 1e-8
        assert found.ok, name
        assert found.dual * (1.0 - rounded) <= best <= found.primal * (1.0 + rounded), name
        assert model.intercept_.tolist() == [0.0]
        np.testing.assert_allclose(model.decision_function(rows), K @ c, atol=1e-3, err_msg=name)
        # An intercept allows for a smaller objective.
        assert SVC(**own).fit(rows, labels, s).certificate_.primal < (1.0 - 1e-4) * best


def test_the_linear_kernel_is_the_linear_machine():
    X, y = data(300)
    for C in (0.01, 10.0):
        options = {"C": C, "fit_intercept": False, "tol": 1e-9}
        linear = LinearSVC(loss="hinge", **options).fit(X, y)
        model = SVC(kernel="linear", **options).fit(X, y)
        assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-5)
        tube = SVR(kernel="linear", epsilon=0.2, **options).fit(X[:, 1:], X[:, 0])
        of_columns = LinearSVR(epsilon=0.2, **options).fit(X[:, 1:], X[:, 0])
        gap = of_columns.certificate_.gap + tube.certificate_.gap
        assert abs(of_columns.certificate_.primal - tube.certificate_.primal) <= gap
        assert tube.intercept_.tolist() == [0.0]
        assert verify(tube, X[:, 1:], X[:, 0]).ok


def test_verify_holds_every_pair_to_an_objective_without_an_intercept(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SVC(C=10.0, fit_intercept=False).fit(X, y)
    assert model.intercept_.tolist() == [0.0, 0.0, 0.0]
    exact = verify(model, X, y, rigorous=True)
    assert exact.ok
    assert exact.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    save_model(tmp_path / "m.separatrix", model)
    again = load_model(tmp_path / "m.separatrix").model
    assert again.fit_intercept is False
    assert verify(again, X, y).ok
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    # Its multipliers are those of no machine that has an intercept, nor the other way round.
    again.fit_intercept = True
    assert not verify(again, X, y).ok
    other = SVC(C=10.0).fit(X, y)
    other.fit_intercept = False
    with pytest.raises(ValueError, match="fit_intercept=False, and its intercept_ is"):
        verify(other, X, y)


def test_an_anchor_that_is_in_no_working_set_is_no_obstacle():
    X, labels = data(400)
    y = 2.0 * labels - 1.0
    best, _ = in_box(rbf(X, X, 0.3), y, np.full(400, 5.0))
    for cache_mb, working_set in ((10.0, 8), (0.1, 16)):
        gram = Gram(RBFKernel(0.3), as_design(X), cache_mb=cache_mb)
        problem = KernelObjective(gram, y, Hinge(), C=5.0, fit_intercept=False)
        solution = minimise(problem, Decomposition(working_set), tol=1e-8, max_iter=100_000)
        assert solution.certificate.ok
        assert solution.certificate.primal == pytest.approx(best, rel=1e-7)


def test_a_surface_through_the_origin_may_not_exist():
    with pytest.raises(NotSeparableError, match="not separable through the origin"):
        SVC(kernel="linear", C=np.inf, fit_intercept=False).fit([[1.0], [2.0]], [0, 1])
