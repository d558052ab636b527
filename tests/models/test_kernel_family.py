"""Regression, one class and shares of the rows: kernel machines besides SVC."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    SVC,
    SVR,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    load_model,
    save_model,
    verify,
)
from separatrix.data.design import as_design
from separatrix.kernels.functions import PolynomialKernel
from separatrix.kernels.gram import gram_of
from separatrix.kernels.nu import KernelNuObjective, quantile_below

KINDS = [SVR, NuSVR, OneClassSVM, NuSVC]
# As with scikit-learn's own: a share of weighted rows may need more than a class has.
INFEASIBLE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_class_weight_classifiers",
)


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)


def targets(kind, y):
    return y > 0.0 if kind is NuSVC else y


def scores(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@parametrize_with_checks([SVR(), NuSVR(), OneClassSVM()])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks([SVR(kernel="precomputed")])
def test_scikit_learns_checks_of_a_matrix(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@parametrize_with_checks([NuSVC()])
def test_scikit_learns_checks_of_a_share(estimator, check):
    if getattr(check, "func", check).__name__ in INFEASIBLE:
        with pytest.raises(ValueError, match="specified nu is infeasible"):
            check(estimator)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "precomputed"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_answer_of_libsvm(kind, kernel, sparse):
    X, y = data()
    if kind in (OneClassSVM, NuSVC) and kernel in ("linear", "poly"):
        # Away from the origin, and apart, or the best weights are zero.
        X = X + 4.0 * (np.ones(120) if kind is OneClassSVM else np.sign(y))[:, None]
    if kernel == "precomputed":
        X = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
        if sparse:
            pytest.skip("LIBSVM takes no sparse matrix of a kernel")
    rows = sp.csr_matrix(X) if sparse else X
    options = {"kernel": kernel, **({"nu": 0.31} if kind is NuSVC else {})}
    ours = kind(**options, tol=1e-9).fit(rows, targets(kind, y))
    theirs = getattr(svm, kind.__name__)(**options, tol=1e-9).fit(rows, targets(kind, y))
    assert ours.certificate_.ok
    expected = scores(theirs, rows)
    assert scores(ours, rows) == pytest.approx(expected, abs=2e-3 * np.abs(expected).max())
    assert ours.dual_coef_.shape[0] == 1 and sp.issparse(ours.dual_coef_) == sparse
    assert sp.issparse(theirs.dual_coef_) == sparse
    assert ours.shape_fit_ == theirs.shape_fit_ and ours.fit_status_ == 0
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert verify(ours, rows, targets(kind, y)).ok
    if kernel == "linear":
        assert ours.coef_.shape == theirs.coef_.shape


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_stored_and_read(kind, tmp_path):
    X, y = data()
    model = kind(kernel="linear" if kind is SVR else "rbf").fit(X, targets(kind, y))
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model").model
    assert np.array_equal(scores(again, X), scores(model, X))
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_rows_are_copies_of_them(kind):
    X, y = data(60)
    s = np.random.default_rng(1).integers(1, 4, 60)
    side = targets(kind, y)
    options = {"gamma": 0.3, "tol": 1e-9}
    one = kind(**options).fit(X, side, sample_weight=s)
    other = kind(**options).fit(np.repeat(X, s, axis=0), np.repeat(side, s))
    assert scores(one, X) == pytest.approx(scores(other, X), abs=1e-5)
    assert verify(one, X, side, sample_weight=s).ok


# --- regression -----------------------------------------------------------------------------------


def primal_of_regression(model, X, y, C, epsilon):
    """The primal objective, written out again in the space of the rows."""
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[0]
    K = np.exp(-model.gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    f = K @ c + model.intercept_[0]
    return 0.5 * c @ K @ c + C * np.maximum(0.0, np.abs(y - f) - epsilon).sum()


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_regression_has_the_objective_that_it_says(epsilon, C):
    X, y = data()
    ours = SVR(gamma=0.3, C=C, epsilon=epsilon).fit(X, y)
    found = primal_of_regression(ours, X, y, C, epsilon)
    assert ours.certificate_.primal == pytest.approx(found, rel=1e-7, abs=1e-9)
    theirs = svm.SVR(gamma=0.3, C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    other = primal_of_regression(theirs, X, y, C, epsilon)
    assert ours.certificate_.dual <= other * (1.0 + 1e-12)
    assert found <= other * (1.0 + 1e-6) + 1e-12


def test_the_linear_kernel_is_the_linear_machine():
    X, y = data()
    one = SVR(kernel="linear", epsilon=0.2, tol=1e-9).fit(X, y)
    other = LinearSVR(epsilon=0.2, tol=1e-9).fit(X, y)
    assert one.coef_[0] == pytest.approx(other.coef_, abs=1e-5)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)


def test_a_share_of_the_rows_is_outside_the_tube():
    X, y = data(100)
    for nu in (0.1, 0.5, 0.9):
        model = NuSVR(nu=nu, gamma=0.3, C=10.0, tol=1e-9).fit(X, y)
        off = np.abs(y - model.predict(X))
        width = np.sort(off)[::-1][int(nu * 100)]
        assert np.mean(off > width * (1.0 + 1e-4)) <= nu <= len(model.support_) / 100 + 1e-9
        # SVR with a tube of that width gives the same function.
        other = SVR(epsilon=float(width), gamma=0.3, C=10.0, tol=1e-9).fit(X, y)
        assert other.predict(X) == pytest.approx(model.predict(X), abs=1e-2)


# --- shares ---------------------------------------------------------------------------------------


def test_quantiles_are_the_best_thresholds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(1, 9)
        values, weights = rng.integers(-3, 4, n).astype(float), rng.integers(0, 3, n) / 2.0
        if not weights.any():
            continue
        mass = float(rng.random() * weights.sum())

        def gain(r, values=values, weights=weights, mass=mass):
            return mass * r - weights @ np.maximum(0.0, r - values)

        best = max(gain(r) for r in values)
        assert gain(quantile_below(values, weights, mass)) == pytest.approx(best, abs=1e-12)


def test_a_share_is_the_machine_of_another_strength():
    X, y = data(200)
    side = y > 0.0
    model = NuSVC(nu=0.4, gamma=0.3, tol=1e-10).fit(X, side)
    other = SVC(C=1.0 / model.rho_[0], gamma=0.3, tol=1e-10).fit(X, side)
    assert model.decision_function(X) == pytest.approx(other.decision_function(X), abs=1e-4)
    wrong = np.mean(np.where(side, 1, -1) * model.decision_function(X) < 1.0 - 1e-6)
    assert wrong <= 0.4 <= len(model.support_) / 200 + 1e-9
    assert model.kkt_violations().worst < 1e-4


def test_several_classes_and_probabilities():
    X, y = load_iris(return_X_y=True)
    model = NuSVC(nu=0.2, calibrate="sigmoid", random_state=0).fit(X, y)
    theirs = svm.NuSVC(nu=0.2, tol=1e-9).fit(X, y)
    assert np.mean(model.predict(X) == theirs.predict(X)) > 0.99
    assert model.rho_.shape == (3,) and len(model.certificate_.parts) == 3
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert model.decision_function(X).shape == (150, 3)
    assert NuSVC(nu=0.2, probability=True, random_state=0).fit(X, y).predict_proba(X).shape == (
        150,
        3,
    )
    gram = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    settings = {"nu": 0.2, "calibrate": "sigmoid", "random_state": 0}
    # Folds follow the rows' bytes, which differ between points and their kernel.
    given = NuSVC(kernel="precomputed", **settings).fit(gram, y)
    same = NuSVC(gamma=0.3, **settings).fit(X, y)
    assert given.predict_proba(gram) == pytest.approx(same.predict_proba(X), abs=0.01)
    with pytest.raises(AttributeError, match="NuSVC has no C, so it has no path"):
        model.path(X, y)


def test_most_rows_are_inside():
    X, _ = data(400)
    for nu in (0.05, 0.3):
        model = OneClassSVM(nu=nu, gamma=0.1, tol=1e-10).fit(X)
        assert np.mean(model.predict(X) == -1) <= nu <= len(model.support_) / 400 + 1e-9
        assert model.dual_coef_.sum() == pytest.approx(nu * 400, rel=1e-12)
        assert model.score_samples(X) - model.offset_ == pytest.approx(model.decision_function(X))
        assert np.array_equal(model.fit_predict(X), model.predict(X))


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0, 1e6, 1e120])
@pytest.mark.parametrize("classes", [1, 2])
def test_bounds_of_shares_are_bounds_in_rationals(scale, classes):
    # The least of the dual over a share, in exact numbers, is no less than the bound; the
    # objective at the coefficients no more than what is claimed.
    rng = np.random.default_rng(3)
    n = 12
    X = (rng.standard_normal((n, 2)) + 3.0) * scale
    y = np.ones(n) if classes == 1 else np.where(np.arange(n) % 2, 1.0, -1.0)
    X[y < 0] *= -1.0
    kind = OneClassSVM if classes == 1 else NuSVC
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(kernel="linear", nu=0.4).fit(X, None if classes == 1 else y)
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    gram = [[sum(a * b for a, b in zip(r, q, strict=True)) for q in rows] for r in rows]
    problem = KernelNuObjective(
        gram_of(PolynomialKernel(1, 1.0, 0.0), as_design(X), cache_mb=10.0), y, 0.4
    )
    rho = 1.0 if classes == 1 else float(model.rho_[0])
    c = np.zeros(n)
    c[model.support_] = model.dual_coef_[0] * rho
    bound = problem.certify(problem.join(c, 0.0), problem.bound(problem.join(c, 0.0)), 1e-6)
    exact = [Fraction(v) for v in c.tolist()]
    f = [sum(k * v for k, v in zip(row, exact, strict=True)) for row in gram]
    square = sum(v * g for v, g in zip(exact, f, strict=True))
    assert Fraction(bound.primal) >= square / 2
    # The tangent at the exact point, with the best thresholds.
    best = -square / 2
    for side in (1.0, -1.0):
        own = [i for i in range(n) if y[i] == side]
        if not own:
            continue
        mass = sum(abs(exact[i]) for i in own)
        z = [int(side) * f[i] for i in own]
        best += max(mass * r - sum(max(Fraction(0), r - v) for v in z) for r in z)
    assert Fraction(bound.dual) <= max(best, Fraction(0))
    assert Fraction(bound.dual) <= square / 2


def test_hulls_that_meet_have_no_margin():
    X, _ = data()
    for model in (OneClassSVM(kernel="linear", nu=0.5), NuSVC(kernel="linear", nu=0.2)):
        X = X - X.mean(axis=0)
        side = (
            None if isinstance(model, OneClassSVM) else np.random.default_rng(0).random(120) > 0.5
        )
        with pytest.warns(ConvergenceWarning, match="no_margin: .* give a larger nu, or another"):
            model.fit(X, side)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NuSVC(nu=0.0), "nu=0.0 must be a finite number greater than 0."),
        (NuSVR(nu=1.5), "nu=1.5 must be a share of the rows, at most 1."),
        (OneClassSVM(nu=2), "nu=2 must be a share of the rows, at most 1."),
        (SVR(epsilon=-1), "epsilon=-1 must be a finite number of at least 0."),
        (SVR(C=0), "C=0 must be a finite number greater than 0."),
        (SVR(kernel="cosine"), "kernel='cosine' is not known; choose one of"),
        (SVR(tol=0), "tol=0 must be a finite number greater than 0."),
        (
            NuSVC(nu=0.99),
            "specified nu is infeasible: nu=0.99 needs more rows than the smaller class",
        ),
        (
            SVR(kernel="precomputed"),
            "X must be the square matrix k(x_i, x_j); its shape is (120, 4)",
        ),
    ],
    ids=repr,
)
def test_bad_parameters_in_one_sentence(model, words):
    X, y = data()
    with pytest.raises(ValueError) as caught:
        model.fit(X, y > 0.5 if isinstance(model, NuSVC) else y)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_time_and_steps_are_limited():
    X, y = data(2000)
    for model in (SVR(C=1e4, max_iter=1, epsilon=0.0), NuSVR(C=1e4, max_iter=1)):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, y)
        assert np.all(np.isfinite(model.predict(X))) and model.fit_status_ == 1
    trace = SVR(record=True).fit(X, y).trace_
    assert len(trace.primal) > 1 and trace.n_support[-1] > 0


def test_a_column_that_drowns_the_others_is_named():
    X, y = load_breast_cancer(return_X_y=True)
    for model in (
        SVC(kernel="poly", gamma=1.0, max_iter=10),
        SVC(kernel="poly", gamma=1.0, degree=5, max_iter=10),
        SVR(kernel="poly", gamma=1.0, max_iter=5),
        NuSVR(kernel="poly", gamma=1.0, max_iter=5),
        NuSVC(kernel="poly", gamma=1.0, nu=0.1, max_iter=5),
    ):
        with pytest.warns(ConvergenceWarning, match=r"gamma='scale'.*column 23"):
            model.fit(X, y)
        if type(model) is SVC:
            # Never worse than no weights at all, whose hinge losses are one a row at most.
            assert model.certificate_.primal <= len(X) * (1.0 + 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        far = SVC(kernel="poly", gamma=1.0, max_iter=5).fit(X, y)
        assert set(far.predict(X)) <= {0, 1}
    assert SVC(kernel="poly").fit(X, y).certificate_.ok
