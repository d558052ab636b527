"""verify: what each model claims to minimise, and how far it is from it."""

from __future__ import annotations

import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import covariance, discriminant_analysis, linear_model, naive_bayes, svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from helpers import (
    minimum_hinge,
    minimum_smooth,
    minimum_softmax,
    pad,
    primal_margin,
    primal_softmax,
)
from separatrix import LinearSVC, LogisticRegression, Perceptron, verify

N, D = 90, 3
WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], size=N)
WEIGHTS[:3] = 1.0


def data(classes: int = 2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 0.3
    y = (X @ rng.normal(size=(D, classes)) + rng.normal(size=(N, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        # How tightly these models converge is what is under test.
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def ovr_objective(
    name: str,
    X,
    y,
    model,
    *,
    C: float,
    scale: float = 1.0,
    weights=None,
    penalised: bool = True,
    tau: float = 0.0,
) -> float:
    """The sum over the one-vs-rest problems, written out."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    intercept = np.broadcast_to(intercept, len(coef))
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return scale * sum(
        primal_margin(
            name,
            X,
            np.where(y == c, 1.0, -1.0),
            w,
            b,
            C=C,
            weights=weights,
            penalised=penalised,
            intercept_penalty=tau,
        )
        for c, w, b in zip(classes, coef, intercept, strict=True)
    )


OPTIMA: dict = {}


def optimum_of(name: str, X, y, *, weights=None, scale: float = 1.0, **options) -> float:
    """The best value of the same, from the independent solvers, which solve each problem once."""
    s = np.ones(len(y)) if weights is None else weights
    key = name, X.tobytes(), y.tobytes(), s.tobytes(), *sorted(options.items())
    if key not in OPTIMA:
        OPTIMA[key] = solved(name, X, y, s, **options)
    return scale * OPTIMA[key]


def solved(name: str, X, y, s, *, C: float, intercept=True, penalised=True, tau=0.0) -> float:
    classes = np.unique(y)
    if name == "softmax":
        problem = {"X": X, "y": y, "upper": C * s, "intercept": intercept, "penalised": penalised}
        batch = pad([problem], len(y), X.shape[1])
        return float(minimum_softmax(batch, y[None], len(classes))[1][0])
    if tau:
        # v = sqrt(tau) b is one more penalised feature.
        X, intercept = np.hstack([X, np.full((len(X), 1), tau**-0.5)]), False
    problems = [
        {
            "X": X,
            "y": np.where(y == c, 1.0, -1.0),
            "upper": C * s,
            "intercept": intercept,
            "penalised": penalised,
        }
        for c in (classes[1:] if len(classes) == 2 else classes)
    ]
    batch = pad(problems, len(y), X.shape[1])
    return float(
        (minimum_hinge(batch) if name == "hinge" else minimum_smooth(name, batch))[1].sum()
    )


def check(certificate, primal: float, optimum: float, tol: float = 1e-6) -> None:
    """The claim is read right, and the truth lies between the bounds."""
    # Charged for rounding, by at most a thousandth of the tolerance.
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual <= optimum * (1 + 1e-9)
    assert certificate.primal >= optimum * (1 - 1e-12)
    # The bound is tight enough to judge by.
    assert certificate.dual >= optimum * (1 - 2 * tol)
    assert certificate.relative_gap == pytest.approx((primal - optimum) / primal, abs=2 * tol)
    assert certificate.status == ("optimal" if certificate.relative_gap <= tol else "above_tol")


# --- scikit-learn's logistic regression --------------------------------------------------------

TIGHT = {
    "lbfgs": {"tol": 1e-9, "max_iter": 10_000},
    "newton-cg": {"tol": 1e-10, "max_iter": 1000},
    "newton-cholesky": {"tol": 1e-10, "max_iter": 1000},
    "liblinear": {"tol": 1e-10, "max_iter": 10_000},
    "sag": {"tol": 1e-9, "max_iter": 20_000, "random_state": 0},
    "saga": {"tol": 1e-9, "max_iter": 20_000, "random_state": 0},
}


@pytest.mark.crossed
@pytest.mark.parametrize("solver", TIGHT)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tight", [True, False])
def test_logistic_regression_binary(solver: str, weighted: bool, tight: bool) -> None:
    X, y = data()
    s = WEIGHTS if weighted else None
    options = TIGHT[solver] if tight else {"max_iter": 2, "tol": 1e-9, "random_state": 0}
    if solver == "liblinear":
        options = {**options, "intercept_scaling": 2.0}
    model = fit(linear_model.LogisticRegression(C=0.7, solver=solver, **options), X, y, s)
    tau = 0.25 if solver == "liblinear" else 0.0
    primal = ovr_objective("log loss", X, y, model, C=0.7, weights=s, tau=tau)
    optimum = optimum_of("log loss", X, y, C=0.7, weights=s, tau=tau)
    certificate = verify(model, X, y, sample_weight=s)
    check(certificate, primal, optimum)
    if tight:
        assert certificate.ok
        assert certificate.relative_gap <= 1e-8


@pytest.mark.crossed
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
@pytest.mark.parametrize("tight", [True, False])
def test_logistic_regression_multinomial(solver: str, tight: bool) -> None:
    X, y = data(3)
    options = TIGHT[solver] if tight else {"max_iter": 2, "tol": 1e-9, "random_state": 0}
    model = fit(linear_model.LogisticRegression(C=2.0, solver=solver, **options), X, y)
    primal = primal_softmax(X, y, model.coef_, model.intercept_, C=2.0)
    optimum = optimum_of("softmax", X, y, C=2.0)
    certificate = verify(model, X, y)
    check(certificate, primal, optimum)
    assert not certificate.parts
    assert certificate.ok == tight


def test_logistic_regression_without_intercept() -> None:
    X, y = data()
    for solver in ("lbfgs", "liblinear"):
        model = fit(
            linear_model.LogisticRegression(fit_intercept=False, solver=solver, **TIGHT[solver]),
            X,
            y,
        )
        primal = ovr_objective("log loss", X, y, model, C=1.0)
        check(verify(model, X, y), primal, optimum_of("log loss", X, y, C=1.0, intercept=False))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 2.0}], ids=str)
def test_logistic_regression_with_class_weights(class_weight, weights) -> None:
    X, y = data()
    model = fit(
        linear_model.LogisticRegression(class_weight=class_weight, **TIGHT["lbfgs"]), X, y, weights
    )
    certificate = verify(model, X, y, sample_weight=weights)
    # Whatever the convention, a tight fit is at the optimum of what it minimised.
    assert certificate.ok, str(certificate)
    s = np.ones(N) if weights is None else weights
    counts = np.array([s[y == 0].sum(), s[y == 1].sum()])
    by_class = s.sum() / (2 * counts) if class_weight == "balanced" else np.array([0.5, 2.0])
    primal = ovr_objective("log loss", X, y, model, C=1.0, weights=s * by_class[y])
    # Charged for rounding, by at most a thousandth of the tolerance.
    assert certificate.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_without_penalty(classes: int) -> None:
    X, y = data(classes)
    model = fit(linear_model.LogisticRegression(C=np.inf, **TIGHT["newton-cg"]), X, y)
    if classes == 2:
        primal = ovr_objective("log loss", X, y, model, C=1.0, penalised=False)
        optimum = optimum_of("log loss", X, y, C=1.0, penalised=False)
    else:
        primal = primal_softmax(X, y, model.coef_, model.intercept_, penalised=False)
        optimum = optimum_of("softmax", X, y, C=1.0, penalised=False)
    check(verify(model, X, y), primal, optimum)


def test_penalty_none_by_its_old_name() -> None:
    X, y = data()
    model = fit(linear_model.LogisticRegression(penalty=None, **TIGHT["newton-cg"]), X, y)
    primal = ovr_objective("log loss", X, y, model, C=1.0, penalised=False)
    check(verify(model, X, y), primal, optimum_of("log loss", X, y, C=1.0, penalised=False))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_no_penalty_on_separable_data_has_no_bound_and_no_failure(classes, size: float) -> None:
    X, _ = data()
    y = np.digitize(X[:, 0], [0.0, 0.8][: classes - 1])
    model = fit(linear_model.LogisticRegression(C=np.inf, max_iter=100), X, y)
    # Push the weights out along the separating direction: scores saturate, curvature underflows.
    model.coef_, model.intercept_ = model.coef_ * size, model.intercept_ * size
    certificate = verify(model, X, y)
    assert certificate.dual <= 1e-9
    if size == 1.0:
        assert certificate.status == "separable"
    assert certificate.status in ("separable", "above_tol") or certificate.primal < 1e-300


# --- scikit-learn's linear support vector machine ----------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("loss", "classes"),
    [("hinge", 2), ("hinge", 3), ("squared_hinge", 2), ("squared_hinge", 3)],
)
@pytest.mark.parametrize("scaling", [1.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tight", [True, False])
def test_linear_svc(loss, classes, scaling, weighted, tight) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model = fit(
        svm.LinearSVC(
            C=0.3,
            loss=loss,
            intercept_scaling=scaling,
            tol=1e-10,
            random_state=0,
            max_iter=200_000 if tight else 2,
        ),
        X,
        y,
        s,
    )
    options = {"C": 0.3, "weights": s, "tau": 1 / scaling**2}
    primal = ovr_objective(loss.replace("_", " "), X, y, model, **options)
    optimum = optimum_of(loss.replace("_", " "), X, y, **options)
    certificate = verify(model, X, y, sample_weight=s)
    check(certificate, primal, optimum)
    assert len(certificate.parts) == (0 if classes == 2 else 3)
    if tight:
        assert certificate.relative_gap <= 1e-6


def by_side_objective(name, X, y, model, by_class, s, *, C, scale=1.0, tau=0.0) -> float:
    """One-vs-rest where only the positive side is weighted by its class."""
    coef, total = np.atleast_2d(model.coef_), 0.0
    intercept = np.broadcast_to(np.atleast_1d(model.intercept_), len(coef))
    for k, c in enumerate(model.classes_):
        total += primal_margin(
            name,
            X,
            np.where(y == c, 1.0, -1.0),
            coef[k],
            intercept[k],
            C=C,
            weights=s * np.where(y == c, by_class[k], 1.0),
            intercept_penalty=tau,
        )
    return scale * total


def test_linear_svc_without_intercept_and_with_class_weights() -> None:
    X, y = data(3)
    model = fit(
        svm.LinearSVC(fit_intercept=False, class_weight={0: 2.0}, tol=1e-10, max_iter=100_000), X, y
    )
    # In "class k against the rest" LIBLINEAR weighs the positive side alone; that its tight fit
    # is at the optimum shows that this is the convention.
    certificate = verify(model, X, y)
    primal = by_side_objective("squared hinge", X, y, model, [2.0, 1.0, 1.0], np.ones(N), C=1.0)
    # Charged for rounding, by at most a thousandth of the tolerance.
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.ok, str(certificate)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_svc_balanced(classes: int, weights) -> None:
    X, y = data(classes)
    model = fit(svm.LinearSVC(class_weight="balanced", tol=1e-10, max_iter=100_000), X, y, weights)
    certificate = verify(model, X, y, sample_weight=weights)
    assert certificate.ok, str(certificate)


# --- stochastic gradient descent ---------------------------------------------------------------

SGD = {"hinge": "hinge", "log_loss": "log loss", "squared_hinge": "squared hinge"}


@pytest.mark.crossed
@pytest.mark.parametrize("loss", SGD)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_sgd(loss: str, classes: int, weighted: bool, average: bool) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model = fit(
        linear_model.SGDClassifier(
            loss=loss,
            alpha=0.02,
            max_iter=300,
            tol=None,
            random_state=0,
            average=average,
            learning_rate="invscaling",
            eta0=0.02,
        ),
        X,
        y,
        sample_weight=s,
    )
    # 1/n sum s loss + alpha/2 |w|^2 with n the number of rows.
    options = {"C": 1 / (0.02 * N), "scale": 0.02, "weights": s}
    primal = ovr_objective(SGD[loss], X, y, model, **options)
    optimum = optimum_of(SGD[loss], X, y, **options)
    check(verify(model, X, y, sample_weight=s), primal, optimum)
    # It does descend on this objective: the convention is the right one.
    assert primal <= 1.2 * optimum


def test_sgd_balanced_weights_count_rows() -> None:
    X, y = data()
    model = fit(
        linear_model.SGDClassifier(
            loss="log_loss", alpha=0.02, class_weight="balanced", random_state=0
        ),
        X,
        y,
        sample_weight=WEIGHTS,
    )
    by_class = N / (2 * np.bincount(y))
    primal = ovr_objective(
        "log loss", X, y, model, C=1 / (0.02 * N), scale=0.02, weights=WEIGHTS * by_class[y]
    )
    assert verify(model, X, y, sample_weight=WEIGHTS).primal == pytest.approx(primal, rel=1e-12)


def test_sgd_weighs_the_positive_side_of_each_problem() -> None:
    X, y = data(3)
    model = fit(
        linear_model.SGDClassifier(
            loss="log_loss",
            alpha=0.02,
            class_weight="balanced",
            max_iter=3000,
            tol=None,
            random_state=0,
            average=True,
        ),
        X,
        y,
        sample_weight=WEIGHTS,
    )
    by_class = N / (3 * np.bincount(y))
    primal = by_side_objective(
        "log loss", X, y, model, by_class, WEIGHTS, C=1 / (0.02 * N), scale=0.02
    )
    certificate = verify(model, X, y, sample_weight=WEIGHTS)
    # Charged for rounding, by at most a thousandth of the tolerance.
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    # Long and averaged, the descent comes near the optimum of this objective.
    assert certificate.relative_gap <= 1e-3


@pytest.mark.crossed
@pytest.mark.parametrize("loss", SGD)
@pytest.mark.parametrize("classes", [2, 3])
def test_sgd_without_penalty(loss: str, classes: int) -> None:
    X, y = data(classes)
    model = fit(
        linear_model.SGDClassifier(loss=loss, penalty=None, max_iter=50, tol=None, random_state=0),
        X,
        y,
    )
    primal = ovr_objective(SGD[loss], X, y, model, C=1.0, scale=1 / N, penalised=False)
    optimum = optimum_of(SGD[loss], X, y, C=1.0, scale=1 / N, penalised=False)
    certificate = verify(model, X, y)
    # Charged for rounding, by at most a thousandth of the tolerance.
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert 0.0 <= certificate.dual <= optimum * (1 + 1e-9)
    if loss != "hinge":
        check(certificate, primal, optimum)


def test_sgd_with_alpha_zero_has_no_penalty() -> None:
    X, y = data()
    model = fit(
        linear_model.SGDClassifier(
            loss="log_loss", alpha=0.0, learning_rate="constant", eta0=0.01, random_state=0
        ),
        X,
        y,
    )
    primal = ovr_objective("log loss", X, y, model, C=1.0, scale=1 / N, penalised=False)
    assert verify(model, X, y).primal == pytest.approx(primal, rel=1e-12)


# --- ridge -------------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge(classes: int, alpha: float, weighted: bool, intercept: bool) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model = fit(
        linear_model.RidgeClassifier(alpha=alpha, fit_intercept=intercept, solver="svd"), X, y, s
    )
    # sum s (y - w.x - b)^2 + alpha |w|^2
    options = {
        "C": 1 / alpha if alpha else 1.0,
        "scale": 2 * alpha if alpha else 2.0,
        "weights": s,
        "penalised": alpha > 0,
    }
    primal = ovr_objective("squared error", X, y, model, **options)
    optimum = optimum_of("squared error", X, y, intercept=intercept, **options)
    certificate = verify(model, X, y, sample_weight=s)
    check(certificate, primal, optimum)
    assert certificate.relative_gap <= 1e-9


def test_ridge_balanced_weights_count_rows() -> None:
    X, y = data(3)
    model = fit(linear_model.RidgeClassifier(class_weight="balanced", solver="svd"), X, y, WEIGHTS)
    certificate = verify(model, X, y, sample_weight=WEIGHTS)
    assert certificate.ok, str(certificate)


def test_a_ridge_moved_off_its_optimum() -> None:
    X, y = data()
    model = fit(linear_model.RidgeClassifier(alpha=1.0, solver="svd"), X, y)
    optimum = verify(model, X, y).primal
    model.coef_ = model.coef_ * 1.01
    moved = ovr_objective("squared error", X, y, model, C=1.0, scale=2.0)
    check(verify(model, X, y), moved, optimum)


def test_a_strength_whose_inverse_float64_cannot_hold() -> None:
    X, y = data()
    model = fit(linear_model.RidgeClassifier(alpha=1e-310), X, y)
    with pytest.raises(ValueError, match="weigh more than float64 can hold"):
        verify(model, X, y)


def test_a_scaling_of_the_intercept_whose_square_float64_cannot_hold() -> None:
    X, y = data()
    model = fit(svm.LinearSVC(intercept_scaling=1e-200), X, y)
    assert model.intercept_ == 0.0
    without = fit(svm.LinearSVC(fit_intercept=False), X, y)
    without.coef_ = model.coef_
    assert verify(model, X, y).primal == pytest.approx(verify(without, X, y).primal, rel=1e-12)


# --- this library's models ---------------------------------------------------------------------

OWN = [
    (LogisticRegression(), 2),
    (LogisticRegression(C=3.0), 3),
    (LogisticRegression(penalty=None), 3),
    (LogisticRegression(multiclass="ovr", class_weight="balanced"), 3),
    (LogisticRegression(lam=0.02, fit_intercept=False), 3),
    (LinearSVC(), 3),
    (LinearSVC(loss="hinge", C=0.2), 2),
    (LinearSVC(loss="hinge", lam=0.1), 3),
]


@pytest.mark.parametrize(("model", "classes"), OWN, ids=lambda v: repr(v))
@pytest.mark.parametrize("weighted", [False, True])
def test_own_models_repeat_their_certificate(model, classes: int, weighted: bool) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model.fit(X, y, s)
    certificate = verify(model, X, y, sample_weight=s)
    assert certificate.ok
    assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert certificate.tol == 1e-6
    assert len(certificate.parts) == len(model.certificate_.parts)
    # Labels in another type are the same labels.
    assert verify(model, pd.DataFrame(X), y.tolist(), sample_weight=s).ok


def test_own_model_with_its_own_tolerance() -> None:
    X, y = data()
    model = LogisticRegression(tol=1e-3).fit(X, y)
    assert verify(model, X, y).tol == 1e-3
    tight = verify(model, X, y, tol=1e-12)
    assert tight.tol == 1e-12
    assert tight.status == "above_tol"


def test_own_model_with_other_weights() -> None:
    X, y = data()
    model = LogisticRegression().fit(X, y)
    model.coef_ = model.coef_ + 0.1
    optimum = LogisticRegression(tol=1e-10).fit(X, y).certificate_.primal
    primal = ovr_objective("log loss", X, y, model, C=1.0)
    check(verify(model, X, y), primal, optimum)


def test_perceptron() -> None:
    X, y = data()
    model = fit(Perceptron(max_passes=5), X, y)
    certificate = verify(model, X, y)
    wrong = np.sum(np.where(y == 1, 1, -1) * model.decision_function(X) <= 0)
    assert certificate.primal == wrong
    assert certificate.status == "above_tol"
    separable = Perceptron().fit(X, X[:, 0] > 0.1)
    assert verify(separable, X, X[:, 0] > 0.1).ok


# --- support vector machines with kernels -------------------------------------------------------

FUNCTIONS = {
    "linear": lambda a, b, gamma: a @ b.T,
    "poly": lambda a, b, gamma: (gamma * (a @ b.T) + 0.5) ** 2,
    "rbf": lambda a, b, gamma: np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2)),
    "sigmoid": lambda a, b, gamma: np.tanh(gamma * (a @ b.T) + 0.5),
}


def of_scale(X, weights=None) -> float:
    """``gamma="scale"``; with weights as this library has it, where they count copies."""
    mean = np.average(X.mean(axis=1), weights=weights)
    return 1.0 / (X.shape[1] * np.average(((X - mean) ** 2).mean(axis=1), weights=weights))


def laplace(X, Z):
    return np.exp(-np.abs(X[:, None] - Z[None]).sum(axis=2))


def pair_objective(K, y, model, *, C: float, weights=None) -> float:
    """The sum over the pairs of classes, written out from public attributes alone."""
    s = np.ones(len(y)) if weights is None else weights
    dual = model.dual_coef_
    dual = dual.toarray() if sp.issparse(dual) else dual
    support = model.support_
    if weights is not None and not isinstance(model, separatrix.SVC):
        support = np.flatnonzero(s > 0)[support]
    classes = model.classes_
    total, pair = 0.0, 0
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            rows = (y == classes[i]) | (y == classes[j])
            c = np.zeros(len(y))
            for k, (own, label) in enumerate(zip(support, y[support], strict=True)):
                if label == classes[i]:
                    c[own] = dual[j - 1, k]
                elif label == classes[j]:
                    c[own] = dual[i, k]
            signs = np.where(y == classes[j if len(classes) == 2 else i], 1.0, -1.0)
            scores = K @ c + model.intercept_[pair]
            slack = np.maximum(0.0, 1.0 - signs * scores)
            total += 0.5 * c @ K @ c + C * (s * slack)[rows].sum()
            pair += 1
    return float(total)


def tight(kernel: str, X, y, weights=None, **options) -> float:
    return (
        separatrix.SVC(kernel=kernel, degree=2, coef0=0.5, tol=1e-10, gamma=of_scale(X), **options)
        .fit(X, y, weights)
        .certificate_.primal
    )


def kernel_machine(kernel: str, **options):
    return svm.SVC(kernel=kernel, degree=2, coef0=0.5, **options)


@pytest.mark.crossed
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tol", [1e-10, 0.3])
def test_sklearn_svc(kernel: str, classes: int, weighted: bool, tol: float) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model = fit(kernel_machine(kernel, C=0.7, tol=tol), X, y, s)
    K = FUNCTIONS[kernel](X, X, of_scale(X))
    primal = pair_objective(K, y, model, C=0.7, weights=s)
    optimum = tight(kernel, X, y, s, C=0.7)
    certificate = verify(model, X, y, sample_weight=s)
    check(certificate, primal, optimum)
    assert len(certificate.parts) == (0 if classes == 2 else 3)
    assert certificate.ok == (tol == 1e-10)
    if tol == 1e-10:
        # The model's own coefficients are proof enough.
        assert certificate.n_iter == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_sklearn_svc_at_its_default_tolerance_has_a_gap_to_be_told(classes: int) -> None:
    X, y = data(classes)
    model = fit(svm.SVC(C=20.0), X, y)
    primal = pair_objective(FUNCTIONS["rbf"](X, X, of_scale(X)), y, model, C=20.0)
    optimum = separatrix.SVC(C=20.0, tol=1e-10).fit(X, y).certificate_.primal
    certificate = verify(model, X, y)
    check(certificate, primal, optimum)
    assert certificate.relative_gap > 1e-6


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 2: 2.0}], ids=str)
def test_sklearn_svc_weighs_classes_by_their_rows(class_weight, weights) -> None:
    X, y = data(3)
    model = fit(kernel_machine("rbf", class_weight=class_weight, tol=1e-10), X, y, weights)
    # The factors of classes are those of all rows, not of the pair, whatever the sample weights.
    by_class = N / (3 * np.bincount(y)) if class_weight == "balanced" else np.array([0.5, 1, 2])
    s = (np.ones(N) if weights is None else weights) * by_class[y]
    certificate = verify(model, X, y, sample_weight=weights)
    K = FUNCTIONS["rbf"](X, X, of_scale(X))
    assert certificate.primal == pytest.approx(
        pair_objective(K, y, model, C=1.0, weights=s), rel=1e-9
    )
    assert certificate.ok, str(certificate)
    check(certificate, certificate.primal, tight("rbf", X, y, s))


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csr_matrix])
def test_sklearn_svc_gamma_is_found_from_its_parameters(gamma, storage) -> None:
    X, y = data(3)
    X[np.abs(X) < 0.4] = 0.0
    model = fit(svm.SVC(gamma=gamma, tol=1e-10), storage(X), y)
    number = {"scale": of_scale(X), "auto": 1 / D}.get(gamma, gamma)
    expected = pair_objective(FUNCTIONS["rbf"](X, X, number), y, model, C=1.0)
    for form in (storage(X), X):
        certificate = verify(model, form, y)
        assert certificate.primal == pytest.approx(expected, rel=1e-9)
        assert certificate.ok, str(certificate)


@pytest.mark.parametrize("classes", [2, 3])
def test_sklearn_svc_precomputed_and_callable(classes: int) -> None:
    X, y = data(classes)
    K = laplace(X, X)
    for model, rows in ((svm.SVC(kernel="precomputed"), K), (svm.SVC(kernel=laplace), X)):
        fit(model.set_params(tol=1e-10), rows, y)
        certificate = verify(model, rows, y)
        assert certificate.ok, str(certificate)
        expected = pair_objective(K, y, model, C=1.0)
        assert certificate.primal == pytest.approx(expected, rel=1e-9)
        optimum = separatrix.SVC(kernel="precomputed", tol=1e-10).fit(K, y).certificate_.primal
        check(certificate, expected, optimum)


def test_sklearn_svc_far_off_is_judged_by_a_fit_of_ones_own() -> None:
    X, y = data(3)
    model = fit(svm.SVC(tol=1e-10), X, y)
    optimum = separatrix.SVC(tol=1e-10).fit(X, y).certificate_.primal
    # Beyond the constraints of the dual: still a point of the primal.
    model.dual_coef_ = model.dual_coef_ * 1.5
    model.intercept_ = model.intercept_ + 0.1
    primal = pair_objective(FUNCTIONS["rbf"](X, X, of_scale(X)), y, model, C=1.0)
    certificate = verify(model, X, y)
    check(certificate, primal, optimum)
    assert certificate.n_iter > 0


def test_a_subclass_keeps_its_parents_objective() -> None:
    class Mine(svm.SVC):
        pass

    X, y = data()
    model = fit(Mine(class_weight="balanced", tol=1e-10), X, y, WEIGHTS)
    assert verify(model, X, y, sample_weight=WEIGHTS).ok


@pytest.mark.parametrize("library", [svm.SVC, separatrix.SVC])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_kernel_that_is_no_scalar_product_has_no_bound(library, classes: int) -> None:
    X, y = data(classes)
    model = fit(library(kernel="sigmoid", gamma=0.5, coef0=-1.0, tol=1e-8), X, y)
    K = np.tanh(0.5 * (X @ X.T) - 1.0)
    assert np.linalg.eigvalsh(K).min() < -1e-3
    certificate = verify(model, X, y, tol=1e-4)
    assert certificate.dual == -np.inf
    assert certificate.status == "indefinite"
    expected = pair_objective(K, y, model, C=1.0)
    assert certificate.primal == pytest.approx(expected, rel=1e-9)
    # Moved off, it is not stationary any more.
    model.intercept_ = model.intercept_ + 0.5
    assert verify(model, X, y, tol=1e-4).status == "above_tol"


OWN_KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "C": 5.0},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "lam": 0.01},
    {"kernel": "rbf", "class_weight": "balanced"},
    {"kernel": laplace},
    {"kernel": "rbf", "approximation": "nystroem", "n_components": 12},
    {"kernel": "rbf", "approximation": "fourier", "n_components": 40},
]


@pytest.mark.crossed
@pytest.mark.parametrize(
    "options",
    OWN_KERNELS,
    # A function's own repr is another in every process.
    ids=lambda o: " ".join(f"{k}={getattr(v, '__name__', v)}" for k, v in o.items()),
)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_own_kernel_machines_repeat_their_certificate(options, classes, weighted) -> None:
    X, y = data(classes)
    s = WEIGHTS if weighted else None
    model = separatrix.SVC(random_state=0, **options).fit(X, y, s)
    certificate = verify(model, X, y, sample_weight=s)
    assert certificate.ok, str(certificate)
    assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert len(certificate.parts) == len(model.certificate_.parts)
    if "approximation" not in options:
        assert certificate.n_iter == 0
        function = options["kernel"]
        if not callable(function):
            gamma = of_scale(X, s)
            K = {
                "linear": X @ X.T,
                "rbf": FUNCTIONS["rbf"](X, X, gamma),
                "poly": (gamma * (X @ X.T) + 1.0) ** 2,
            }[function]
        else:
            K = laplace(X, X)
        weights = np.ones(N) if s is None else s
        C = options.get("C", 1.0)
        if "lam" in options:
            C = 1.0 / (0.01 * weights.sum())
        if "class_weight" in options:
            count = np.bincount(y, weights=weights)
            weights = weights * (weights.sum() / (classes * count))[y]
        expected = pair_objective(K, y, model, C=C, weights=weights)
        assert certificate.primal == pytest.approx(expected, rel=1e-10)


def test_own_precomputed_kernel_and_hard_margin() -> None:
    X, y = data(3)
    K = laplace(X, X)
    assert verify(separatrix.SVC(kernel="precomputed").fit(K, y), K, y).ok
    for kernel, rows in (("precomputed", K), ("rbf", X)):
        model = separatrix.SVC(kernel=kernel, C=np.inf, gamma=2.0).fit(rows, y)
        certificate = verify(model, rows, y)
        assert certificate.ok, str(certificate)
        assert certificate.primal == pytest.approx(0.5 * (1 / model.margin_**2).sum(), rel=1e-9)
        model.intercept_ = model.intercept_ + 0.01
        assert verify(model, rows, y).status == "above_tol"


def test_an_approximation_is_held_to_the_approximate_problem() -> None:
    X, y = data()
    model = separatrix.SVC(approximation="nystroem", n_components=5, random_state=0).fit(X, y)
    L = model.lift_.transform(X)
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X))
    expected = 0.5 * model.coef_[0] @ model.coef_[0] + slack.sum()
    assert verify(model, X, y).primal == pytest.approx(expected, rel=1e-12)
    assert expected < model.exact_primal_ * (1 + 1e-12)
    exact = LinearSVC(loss="hinge", tol=1e-10).fit(L, y).certificate_.primal
    check(verify(model, X, y), expected, exact)


@pytest.mark.parametrize("library", [svm.SVC, separatrix.SVC])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_other_data_than_those_of_the_fit_are_told(library, kernel: str) -> None:
    X, y = data()
    if kernel == "precomputed":
        X = laplace(X, X)
    model = library(kernel=kernel).fit(X, y)
    row = int(model.support_[0])
    other = y.copy()
    other[row] = 1 - y[row]
    with pytest.raises(ValueError, match=f"row {row} has the label {other[row]}, and as a support"):
        verify(model, X, other)
    if kernel == "rbf":
        moved = X.copy()
        moved[row] += 1e-9
        for form in (moved, sp.csr_array(moved), X[::-1]):
            with pytest.raises(ValueError, match="support vectors are not the rows of X at"):
                verify(model, form, y)
        with pytest.raises(ValueError, match="trained on 90 rows"):
            verify(model, X[:80], y[:80])
    with pytest.raises(ValueError) as caught:
        verify(model, X[:40], y[:40])
    assert "\n" not in str(caught.value)


def test_other_data_than_those_of_an_approximation_are_told() -> None:
    X, y = data()
    model = separatrix.SVC(approximation="nystroem", n_components=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="its landmarks are not the rows of X at their"):
        verify(model, X + 1e-9, y)


def test_a_linear_machine_whose_weights_are_not_its_coefficients_is_told() -> None:
    X, y = data()
    model = separatrix.SVC(kernel="linear").fit(X, y)
    model.coef_ = model.coef_ * 1.001
    with pytest.raises(ValueError, match="coef_ is not the sum of its support vectors"):
        verify(model, X, y)


def test_weights_that_are_left_out_are_told() -> None:
    X, y = data(3)
    model = fit(svm.SVC(), X, y, WEIGHTS)
    with pytest.raises(ValueError, match="with sample_weight where the fit had it"):
        verify(model, X, y)


@pytest.mark.parametrize("library", [svm.SVC, separatrix.SVC])
def test_a_kernel_machine_in_any_storage_and_in_a_pipeline(library) -> None:
    X, y = data(3)
    names = np.array(["c", "a", "b"])[y]
    model = library(tol=1e-8).fit(X.astype(np.float32), names)
    expected = verify(model, X.astype(np.float32), names)
    assert expected.relative_gap <= 1e-6
    for form in (X.astype(np.float32).astype(np.float64), sp.csc_array(X.astype(np.float32))):
        found = verify(model, form, names)
        assert found.primal == pytest.approx(expected.primal, rel=1e-9)
        assert found.ok
    piped = make_pipeline(StandardScaler(), library(tol=1e-8)).fit(X, names)
    assert verify(piped, X, names).ok


def test_a_sklearn_svc_that_lost_a_class_is_told() -> None:
    X, y = data(3)
    model = fit(svm.SVC(), X, y, np.where(y == 0, 0.0, 1.0))
    with pytest.raises(ValueError, match="all rows of some class had weight zero"):
        verify(model, X, y, sample_weight=np.where(y == 0, 0.0, 1.0))


# --- forms of input ----------------------------------------------------------------------------


def test_pipeline() -> None:
    X, y = data()
    scaled = StandardScaler().fit_transform(X)
    for inner in (LogisticRegression(), linear_model.LogisticRegression(**TIGHT["lbfgs"])):
        model = make_pipeline(StandardScaler(), inner).fit(X, y)
        certificate = verify(model, X, y)
        assert certificate.ok
        expected = ovr_objective("log loss", scaled, y, model[-1], C=1.0)
        assert certificate.primal == pytest.approx(expected, rel=1e-9)
    alone = Pipeline([("model", LogisticRegression())]).fit(X, y)
    assert verify(alone, X, y).ok


def test_storage_of_the_data_does_not_matter() -> None:
    X, y = data(3)
    X = X.astype(np.float32)
    model = fit(svm.LinearSVC(max_iter=50), X, y)
    expected = verify(model, X.astype(np.float64), y)
    for form in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), X.tolist()):
        found = verify(model, form, y)
        assert found.primal == pytest.approx(expected.primal, rel=1e-9)
        assert found.relative_gap == pytest.approx(expected.relative_gap, abs=2e-6)


def test_string_labels() -> None:
    X, y = data(3)
    names = np.array(["c", "a", "b"])[y]
    model = fit(linear_model.LogisticRegression(**TIGHT["lbfgs"]), X, names)
    assert verify(model, X, names).ok
    assert verify(model, X, pd.Series(names)).ok


def test_the_model_is_left_as_it_was() -> None:
    X, y = data()
    model = fit(linear_model.LogisticRegression(max_iter=3), X, y)
    before = {k: np.copy(v) for k, v in vars(model).items() if k.endswith("_")}
    verify(model, X, y)
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(model, key), value)


def test_tolerance_decides_the_status_and_the_work() -> None:
    X, y = data()
    model = fit(linear_model.LogisticRegression(max_iter=3, tol=1e-9), X, y)
    loose = verify(model, X, y, tol=0.5)
    assert (loose.status, loose.n_iter) == ("optimal", 0)
    tight = verify(model, X, y, tol=1e-9)
    assert tight.status == "above_tol"
    assert tight.n_iter > 0
    assert tight.dual >= loose.dual


def test_time_limit_gives_an_honest_bound() -> None:
    X, y = data(3)
    model = fit(svm.LinearSVC(loss="hinge", max_iter=2), X, y)
    certificate = verify(model, X, y, time_limit=1e-9)
    optimum = optimum_of("hinge", X, y, C=1.0, tau=1.0)
    assert 0.0 <= certificate.dual <= optimum * (1 + 1e-9)
    assert certificate.status == "above_tol"


# --- L1 and elastic net ------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("scaling", [3.0, 7.0, 1e-3, 4.0])
@pytest.mark.parametrize("intercept", [-1e8, 1e8, -123456789.0, 1e8 / 3])
@pytest.mark.parametrize("kind", ["svm", "logistic"])
def test_an_intercept_by_its_scaling_is_no_float(kind, intercept: float, scaling: float) -> None:
    # One weight of one cancels the intercept, so that the last digit of the quotient, times the
    # scaling, is many digits of the loss.
    X = np.array([[-0.3], [0.9], [-0.1], [0.2]]) - intercept
    y, C = np.array([0, 1, 1, 0]), 1e12
    model = {
        "svm": svm.LinearSVC(penalty="l1", dual=False, intercept_scaling=scaling, C=C),
        "logistic": elastic(1.0).set_params(solver="liblinear", intercept_scaling=scaling, C=C),
    }[kind]
    model = fit(model, X - X.mean(axis=0), y)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([intercept])
    scores = [Fraction(x) + Fraction(intercept) for x in X[:, 0].tolist()]
    margins = [s if label else -s for s, label in zip(scores, y, strict=True)]
    penalty = 1 + abs(Fraction(intercept)) / Fraction(scaling)
    found = verify(model, X, y, tol=1e-12)
    if kind == "svm":
        value = penalty + Fraction(C) * sum(max(Fraction(0), 1 - z) ** 2 for z in margins)
        assert value <= Fraction(found.primal) <= value * (1 + Fraction(1, 10**13))
    else:
        with mpmath.workdps(50):
            terms = [
                mpmath.log1p(mpmath.exp(-mpmath.mpf(z.numerator) / z.denominator)) for z in margins
            ]
            value = mpmath.mpf(penalty.numerator) / penalty.denominator + C * mpmath.fsum(terms)
            assert value <= found.primal <= value * (1 + mpmath.mpf(10) ** -13)
    assert found.dual <= found.primal


@pytest.mark.crossed
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["liblinear", "saga l1", "saga elastic", "svm", "own"])
def test_models_with_zero_weights(kind: str, intercept: bool, classes: int) -> None:
    X, y = data(classes)
    model = {
        "liblinear": svm.LinearSVC(penalty="l1", dual=False, tol=1e-8, max_iter=100_000),
        "saga l1": elastic(1.0),
        "saga elastic": elastic(0.5),
        "svm": svm.LinearSVC(penalty="l1", dual=False, tol=1e-8, intercept_scaling=3.0),
        "own": LogisticRegression(l1_ratio=0.7),
    }[kind]
    if kind == "liblinear" and classes == 2:
        model = elastic(1.0).set_params(solver="liblinear", intercept_scaling=2.0)
    if kind.startswith("saga"):
        model.set_params(tol=1e-8, max_iter=100_000)
    model.set_params(fit_intercept=intercept, random_state=0)
    fit(model, X, y)
    certificate = verify(model, X, y)
    assert certificate.ok, str(certificate)
    # Somewhere else than at the optimum, the bound still is one, and says so.
    model.coef_ = 1.5 * model.coef_
    worse = verify(model, X, y)
    assert worse.status == "above_tol"
    assert worse.dual <= certificate.primal <= worse.primal


# --- refusals ----------------------------------------------------------------------------------


def elastic(l1_ratio):
    options = {"l1_ratio": l1_ratio, "solver": "saga"}
    # From 1.8 on the penalty is named by its ratio alone.
    if linear_model.LogisticRegression().penalty == "l2":
        options["penalty"] = "elasticnet"
    return linear_model.LogisticRegression(**options)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            svm.LinearSVC(multi_class="crammer_singer"),
            "multi_class='crammer_singer' does not fit a sum",
        ),
        (linear_model.SGDClassifier(penalty="l1"), "penalty other than L2"),
        (linear_model.SGDClassifier(penalty="elasticnet"), "penalty other than L2"),
        (
            linear_model.SGDClassifier(loss="modified_huber"),
            "loss='modified_huber' cannot be verif",
        ),
        (linear_model.SGDClassifier(loss="perceptron"), "loss='perceptron' cannot be verified"),
        (linear_model.RidgeClassifier(positive=True), "has constraints and cannot be verified"),
    ],
    ids=lambda v: repr(v) if not isinstance(v, str) else "",
)
def test_other_objectives_are_refused_in_a_sentence(model, words: str) -> None:
    X, y = data(3)
    fit(model, X, y)
    with pytest.raises(ValueError, match=words) as caught:
        verify(model, X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        naive_bayes.GaussianNB(),
        svm.NuSVC(),
        linear_model.Perceptron(),
        linear_model.RidgeClassifierCV(),
        linear_model.LassoLars(),
    ],
    ids=repr,
)
def test_unknown_models_are_refused_by_name(model) -> None:
    X, y = data()
    fit(model, X, y)
    with pytest.raises(TypeError, match=f"objective of {type(model).__name__} is not known"):
        verify(model, X, y)


def test_cross_validated_logistic_regression_is_judged_or_refused() -> None:
    X, y = data()
    options = {"tol": 1e-9, "max_iter": 10_000}
    # Later releases require these options.
    if hasattr(linear_model.LogisticRegressionCV(), "use_legacy_attributes"):
        options |= {"l1_ratios": (0,), "use_legacy_attributes": False}
    model = fit(linear_model.LogisticRegressionCV(**options), X, y)
    try:
        certificate = verify(model, X, y)
    except TypeError as error:
        assert "LogisticRegressionCV" in str(error)
    else:
        C = float(np.ravel(model.C_)[0])
        expected = ovr_objective("log loss", X, y, model, C=C)
        assert certificate.primal == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("thing", [None, 3, "model", separatrix, LogisticRegression])
def test_what_is_no_model(thing) -> None:
    with pytest.raises(TypeError):
        verify(thing, [[0.0]], [0])


def test_not_fitted() -> None:
    X, y = data()
    for model in (LogisticRegression(), linear_model.LogisticRegression()):
        with pytest.raises(NotFittedError):
            verify(model, X, y)


def test_bad_arguments() -> None:
    X, y = data()
    model = fit(linear_model.LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="Row 4 has the label 7, which the model was not trained"):
        verify(model, X, np.where(np.arange(N) == 4, 7, y))
    with pytest.raises(ValueError, match=f"one label for each of the {N} rows"):
        verify(model, X, y[:5])
    with pytest.raises(ValueError, match="features"):
        verify(model, X[:, :2], y)
    bad = X.copy()
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 5, column 1"):
        verify(model, bad, y)
    for tol in (0, -1, np.nan):
        with pytest.raises(ValueError, match="tol="):
            verify(model, X, y, tol=tol)
    weights = np.ones(N)
    weights[3] = -1.0
    with pytest.raises(ValueError, match=r"sample_weight|negative"):
        verify(model, X, y, sample_weight=weights)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_of_the_model_that_are_not_finite(bad: float) -> None:
    X, y = data()
    model = fit(linear_model.LogisticRegression(), X, y)
    model.coef_ = np.full_like(model.coef_, bad)
    try:
        certificate = verify(model, X, y)
    except ValueError as error:
        assert "NaN or infinity" in str(error)
    else:
        assert not certificate.ok
        assert not certificate.relative_gap <= 1.0


def test_huge_weights_are_far_from_optimal_and_no_failure() -> None:
    X, y = data()
    for size in (1e6, 1e100, 1e160, 1e300):
        model = fit(linear_model.LogisticRegression(), X, y)
        model.coef_ = np.full_like(model.coef_, size)
        certificate = verify(model, X, y)
        assert certificate.status == "above_tol"
        assert certificate.dual <= optimum_of("log loss", X, y, C=1.0) * (1 + 1e-9)


@pytest.mark.parametrize("b", [1e9, 1e15, 1e17, -1e20])
def test_a_wild_intercept_does_not_lift_the_bound(b: float) -> None:
    # P is 1e9 and more: what is lost in P - D must not pass for a bound.
    X, y = data()
    model = fit(linear_model.LogisticRegression(), X, y)
    model.intercept_ = np.array([b])
    certificate = verify(model, X, y)
    assert certificate.dual <= optimum_of("log loss", X, y, C=1.0) * (1 + 1e-9)
    assert certificate.status == "above_tol"


# --- closed forms -----------------------------------------------------------------------------


def _scalar_regression():
    return load_diabetes(return_X_y=True)


def _two_targets():
    X, y = load_diabetes(return_X_y=True)
    return X, np.column_stack([y, np.sqrt(y)])


REGRESSORS = [
    separatrix.LinearRegression(),
    separatrix.LinearRegression(lam=0.1),
    separatrix.LinearRegression(fit_intercept=False),
    separatrix.PolynomialRegression(),
    separatrix.PolynomialRegression(3, interactions=False, lam=0.01),
    linear_model.LinearRegression(),
    linear_model.LinearRegression(fit_intercept=False),
    linear_model.Ridge(0.5),
]


# One of the ten columns has two values, and so no square.
@pytest.mark.crossed
@pytest.mark.filterwarnings("ignore::separatrix.closed_form.polynomial.DegreeWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("load", [_scalar_regression, _two_targets])
@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_least_squares_solves_its_equations(model, load, weighted) -> None:
    X, y = load()
    weights = np.arange(len(X)) % 3 + 0.5 if weighted else None
    model = clone(model).fit(X, y, sample_weight=weights)
    found = verify(model, X, y, sample_weight=weights)
    assert found.ok
    assert found.relative_residual < 1e-12
    if weighted:
        assert not verify(model, X, y).ok
    # Another point solves other equations.
    name = "basis_coef_" if hasattr(model, "basis_coef_") else "coef_"
    setattr(model, name, getattr(model, name) * 1.001)
    worse = verify(model, X, y, sample_weight=weights)
    assert worse.status == "above_tol"
    assert worse.relative_residual > 1e-6


def test_no_number_whose_square_underflows_fits_targets_of_zeros() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    for model in (separatrix.LinearRegression(), separatrix.Ridge()):
        for y in (np.zeros((50, 1)), np.column_stack([np.zeros(50), X[:, 0] + 1.0])):
            fitted = model.fit(X, y)
            assert verify(fitted, X, y).ok
            for small in (1e-100, 1e-200, 1e-295, 1e-310):
                for numbers, place in ((fitted.intercept_, 0), (fitted.coef_, (0, 1))):
                    numbers[place] = small
                    assert not verify(fitted, X, y).ok, (model, place, small)
                    numbers[place] = 0.0


def test_a_looser_tolerance_is_heard() -> None:
    X, y = _scalar_regression()
    model = separatrix.LinearRegression().fit(X, y)
    model.coef_ = model.coef_ * (1.0 + 1e-9)
    assert verify(model, X, y, tol=1e-4).ok
    assert not verify(model, X, y, tol=1e-14).ok


def test_targets_that_the_model_was_not_fitted_to() -> None:
    X, y = _scalar_regression()
    model = separatrix.LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="y has 2 columns, and the model was fitted to 1"):
        verify(model, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y must hold numbers for a regression"):
        verify(model, X, ["a"] * len(X))


_Linear = discriminant_analysis.LinearDiscriminantAnalysis
_Quadratic = discriminant_analysis.QuadraticDiscriminantAnalysis
DISCRIMINANTS = [
    separatrix.LinearDiscriminantAnalysis(),
    separatrix.LinearDiscriminantAnalysis(covariance="unbiased", shrinkage="auto"),
    separatrix.LinearDiscriminantAnalysis(shrinkage=0.3),
    separatrix.QuadraticDiscriminantAnalysis(),
    separatrix.QuadraticDiscriminantAnalysis(shrinkage="auto"),
    separatrix.LeastSquaresClassifier(),
    separatrix.LeastSquaresClassifier(lam=0.1, class_weight="balanced"),
    _Linear(),
    _Linear(solver="lsqr"),
    _Linear(solver="eigen", shrinkage=0.2),
    _Linear(solver="lsqr", shrinkage="auto"),
    _Quadratic(),
]


@pytest.mark.crossed
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("model", DISCRIMINANTS, ids=repr)
def test_discriminants_follow_from_the_rows(model, two) -> None:
    X, y = load_wine(return_X_y=True)
    y = y > 0 if two else y
    model = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert verify(model, X, y).ok
    # Other rows, and another model.
    assert verify(model, X[:-7], y[:-7]).status == "above_tol"
    name = "means_" if hasattr(model[-1], "means_") else "coef_"
    setattr(model[-1], name, getattr(model[-1], name) + 0.01)
    assert verify(model, X, y).status == "above_tol"


@pytest.mark.parametrize("kind", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_discriminants_with_weights_and_priors(kind) -> None:
    X, y = load_wine(return_X_y=True)
    weights = np.arange(len(X)) % 3 + 0.5
    model = getattr(separatrix, kind)(priors=[0.5, 0.25, 0.25]).fit(X, y, sample_weight=weights)
    assert verify(model, X, y, sample_weight=weights).ok
    assert not verify(model, X, y).ok


def test_discriminants_that_are_not_known() -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises(
        ValueError, match="weights the covariances of the classes by the given priors"
    ):
        verify(_Linear(priors=[0.5, 0.25, 0.25]).fit(X, y), X, y)
    with pytest.raises(ValueError, match="reg_param cannot be verified"):
        verify(_Quadratic(reg_param=0.1).fit(X, y), X, y)
    own = _Linear(solver="lsqr", covariance_estimator=covariance.OAS()).fit(X, y)
    with pytest.raises(ValueError, match="covariance_estimator=None"):
        verify(own, X, y)
    with pytest.raises(ValueError, match="Row 3 has the label 9"):
        verify(separatrix.LinearDiscriminantAnalysis().fit(X, y), X, [*y[:3], 9, *y[4:]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_stochastic_gradients_stopped() -> None:
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = separatrix.SGDClassifier("log_loss", max_iter=5, random_state=0).fit(X, y)
    told, found = model.certificate_, verify(model, X, y)
    assert found.primal == pytest.approx(told.primal, rel=1e-9)
    # The fit's own bound comes from its last point; the one found here is tight.
    assert told.dual <= found.dual <= found.primal


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97, 0.999])
def test_a_model_just_within_the_tolerance_is_optimal(share: float) -> None:
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y > 0
    model = LogisticRegression(tol=1e-13).fit(X, y)
    best = model.certificate_.primal
    # Along a ray the objective is convex: bisection finds where it is as far above as wished.
    tol, low, high = 1e-3, 1.0, 2.0
    coef = model.coef_
    for _ in range(60):
        middle = 0.5 * (low + high)
        model.coef_ = middle * coef
        gap = verify(model, X, y, tol=1e-9).primal - best
        low, high = (middle, high) if gap < share * tol * (best + gap) else (low, middle)
    model.coef_ = low * coef
    assert verify(model, X, y, tol=tol).ok
    model.coef_ = coef * (1.0 + (low - 1.0) / np.sqrt(share) * 1.01)
    assert verify(model, X, y, tol=tol).status == "above_tol"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_rows_held_out_take_their_sample_weights_with_them(class_weight) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    weights = rng.uniform(0.5, 3.0, size=400)
    model = separatrix.SGDClassifier(
        "log_loss", early_stopping=True, class_weight=class_weight, random_state=0
    ).fit(X, y, sample_weight=weights)
    found = verify(model, X, y, sample_weight=weights)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
