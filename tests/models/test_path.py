"""Paths: each point is that of a single fit, each fold that of a fit to its rows."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.svm import l1_min_c

import separatrix
from separatrix import (
    SVC,
    Hyperplane,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Path,
    PathInterrupt,
    PolynomialRegression,
    QuadraticDiscriminantAnalysis,
    SGDClassifier,
)
from separatrix.objectives.base import Objective
from separatrix.objectives.enclosure import Level
from separatrix.solvers.driver import watch

VALUES = [0.01, 0.1, 1.0, 10.0]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_rounding_may_have_half_of_the_tolerance_of_a_fit_of_a_path(monkeypatch):
    looks, charged = [], Objective.charged

    def looking(self, theta, level, *others):
        looks.append(level)
        return charged(self, theta, level, *others)

    monkeypatch.setattr(Objective, "charged", looking)
    X, y = load_iris(return_X_y=True)
    path = LogisticRegression().path(X + 1e3, y, Cs=[1.0, 1e3])
    assert looks == [Level.NORMS] * 2
    assert all(certificate.ok for certificate in path.certificates)


def even_digits():
    X, y = load_digits(return_X_y=True)
    return scale(X[:300, 10:26]), y[:300] % 2


def iris():
    return load_iris(return_X_y=True)


CLASSIFIERS = [
    LogisticRegression(tol=1e-5),
    LogisticRegression(tol=1e-5, multiclass="ovr", class_weight="balanced"),
    LinearSVC(tol=1e-5, loss="hinge"),
    LinearSVC(tol=1e-5, fit_intercept=False, solver="dual", random_state=0),
    SVC(tol=1e-5, gamma=0.1),
    SVC(tol=1e-5, approximation="nystroem", gamma=0.1, n_components=40, random_state=0),
]


@pytest.mark.crossed
@pytest.mark.parametrize("data", [cancer, iris], ids=["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_each_point_is_that_of_a_single_fit(model, data) -> None:
    X, y = data()
    path = model.path(X, y, VALUES)
    assert path.parameter == "C" and path.values.tolist() == VALUES
    for i, C in enumerate(VALUES):
        alone = type(model)(**{**model.get_params(), "C": C}).fit(X, y).certificate_
        here = path.certificates[i]
        assert here.ok and here.tol == 1e-5
        # Each objective is within its gap of the same optimum.
        assert here.dual <= alone.primal and alone.dual <= here.primal
        assert path[i].C == C and path[i].certificate_ == here
        assert path[i].get_params() == {**model.get_params(), "C": C}
        if getattr(model, "approximation", None) is None:
            assert separatrix.verify(path.at(C), X, y).relative_gap <= 2e-5


@pytest.mark.crossed
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(tol=1e-9),
        LogisticRegression(tol=1e-9, class_weight="balanced"),
        LinearSVC(tol=1e-9, loss="hinge"),
        SVC(tol=1e-9, gamma=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("data", [cancer, iris], ids=["two", "three"])
def test_scores_are_those_of_fits_to_the_rows_of_the_folds(model, data) -> None:
    X, y = data()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    path = model.path(X, y, [0.1, 1.0], cv=folds)
    assert path.scores.shape == (3, 2)
    for j, (train, test) in enumerate(folds.split(X, y)):
        for i, C in enumerate([0.1, 1.0]):
            alone = type(model)(**{**model.get_params(), "C": C}).fit(X[train], y[train])
            score = accuracy_score(y[test], alone.predict(X[test]))
            assert path.scores[j, i] == pytest.approx(score)
            fold, own = path.fold_certificates[j][i], alone.certificate_
            assert fold.primal == pytest.approx(own.primal, rel=1e-8)
    mean = path.scores.mean(axis=0)
    np.testing.assert_allclose(path.mean_scores, mean)
    np.testing.assert_allclose(path.standard_errors, path.scores.std(axis=0, ddof=1) / np.sqrt(3))
    assert path.best == path.values[mean.argmax()]


def test_the_default_values_follow_the_scale_of_the_data() -> None:
    X, y = cancer()
    values = LogisticRegression(tol=1e-3).path(X, y).values
    assert len(values) == 20 and values[-1] == pytest.approx(1e6 * values[0])
    assert values[0] == pytest.approx(1.0 / np.sum((X - X.mean(axis=0)) ** 2))
    smaller = LogisticRegression(tol=1e-3).path(X / 10.0, y, 3).values
    np.testing.assert_allclose(smaller, 100.0 * values[[0, 0, -1]] * [1, 1e3, 1])
    # Copies are the same as weights; and the values of lam do not depend on their number.
    twice = LogisticRegression(tol=1e-3).path(X, y, 3, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(twice.values, [values[0] / 2, values[0] * 500, values[-1] / 2])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
def test_with_l1_they_begin_where_the_first_weight_is_not_zero(loss: str, intercept: bool) -> None:
    X, y = cancer()
    kind = LogisticRegression if loss == "log" else LinearSVC
    model = kind(l1_ratio=1, fit_intercept=intercept)
    path = model.path(X, y, 4)
    assert path.values[-1] == pytest.approx(1e3 * path.values[0])
    assert np.count_nonzero(path[0].coef_) == 0 < np.count_nonzero(path[1].coef_)
    if not intercept:
        least = l1_min_c(X, y, loss=loss, fit_intercept=False)
        assert path.values[0] == pytest.approx(0.999 * least)
    # A little weaker, and the first weight is there.
    beyond = kind(l1_ratio=1, fit_intercept=intercept, C=1.02 * path.values[0], tol=1e-9).fit(X, y)
    assert 1 <= np.count_nonzero(beyond.coef_) <= 3
    lams = model.path(X, y, lams=4).values
    np.testing.assert_allclose(1.0 / (lams * len(y)), path.values)
    # A path of one value has the strongest penalty.
    assert model.path(X, y, 1).values == pytest.approx(path.values[:1])
    assert model.path(X, y, lams=1).values == pytest.approx(lams[:1])


def test_with_l1_and_nothing_to_learn_from() -> None:
    _, y = cancer()
    # The pull of constant columns is rounding, which sets no scale.
    model = LogisticRegression(l1_ratio=1)
    path = model.path(np.full((len(y), 2), 3.7), y, 4)
    assert all(certificate.ok for certificate in path.certificates)
    assert not any(np.any(path[i].coef_) for i in range(4))


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
def test_with_l1_and_several_classes(multiclass: str) -> None:
    X, y = iris()
    model = LogisticRegression(l1_ratio=0.7, multiclass=multiclass, class_weight="balanced")
    path = model.path(X, y, 5)
    counts = [np.count_nonzero(path[i].coef_) for i in range(5)]
    # With one class against the rest, the other classes may still have no weight.
    assert counts[0] <= 1 and counts[-1] > 5
    before = type(model)(**{**model.get_params(), "C": 0.98 * path.values[0]}).fit(X, y)
    assert np.count_nonzero(before.coef_) == 0
    assert all(certificate.ok for certificate in path.certificates)


def test_order_lam_and_bad_values() -> None:
    X, y = cancer()
    model = LogisticRegression(tol=1e-6)
    path = model.path(X, y, [10.0, 0.1, 1.0])
    assert path.values.tolist() == [10.0, 0.1, 1.0]
    assert np.all(np.diff([path.certificates[i].primal for i in (1, 2, 0)]) > 0)
    same = model.path(X, y, lams=[1 / (C * len(y)) for C in path.values])
    assert same.parameter == "lam"
    np.testing.assert_allclose(same.coefs, path.coefs, rtol=1e-2, atol=1e-3)
    planes = [Hyperplane.from_model(one) for one in same.models]
    mean_losses = [
        plane.objective(X, y, "log loss", lam=lam)
        for plane, lam in zip(planes, same.values, strict=True)
    ]
    np.testing.assert_allclose(same.table()["objective"], mean_losses)
    with pytest.raises(ValueError, match="Give Cs or lams, not both"):
        model.path(X, y, [1.0], lams=[1.0])
    with pytest.raises(ValueError, match=r"C=-1\.0 must be"):
        model.path(X, y, [1.0, -1.0])
    with pytest.raises(ValueError, match="Cs is empty"):
        model.path(X, y, [])
    with pytest.raises(ValueError, match="C=3 is not a value of this path"):
        path.at(3)
    with pytest.raises(ValueError, match="give cv"):
        path.best  # noqa: B018
    with pytest.raises(ValueError, match="scoring='nice' is not known"):
        model.path(X, y, [1.0], cv=3, scoring="nice")
    with pytest.raises(ValueError, match="calibrate='sigmoid'"):
        LinearSVC(calibrate="sigmoid").path(X, y)


@pytest.mark.crossed
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scoring", ["neg_brier_score", "neg_log_loss", "accuracy"])
def test_folds_that_lack_a_class_have_its_limit(scoring, fit_intercept) -> None:
    X, y = load_iris(return_X_y=True)
    cv, C = KFold(3), [0.1, 1.0]
    options = {"fit_intercept": fit_intercept, "tol": 1e-12}
    model = LogisticRegressionCV(
        Cs=C, cv=cv, scoring=scoring, use_legacy_attributes=False, **options
    ).fit(X, y)
    for fold, (train, _) in enumerate(cv.split(X)):
        there = np.unique(y[train])
        if not fit_intercept:
            # The penalty keeps the weights of a class without rows finite.
            theta = minimize(
                lambda w, rows=train: _multinomial(w, X[rows], y[rows]),
                np.zeros(12),
                jac=True,
                options={"gtol": 1e-9, "maxiter": 2000},
            ).x.reshape(3, 4)
            found = model.coefs_paths_[fold, 0, 1]
            np.testing.assert_allclose(found, theta, atol=1e-5)
            continue
        # A softmax of two classes is a logistic regression with twice the C.
        alone = LogisticRegression(C=2.0, tol=1e-12).fit(X[train], y[train])
        found = model.coefs_paths_[fold, 0, 1]
        lacking = int(np.setdiff1d(y, there)[0])
        assert found[lacking].tolist() == [0.0] * 4 + [-np.inf]
        difference = found[there[1]] - found[there[0]]
        np.testing.assert_allclose(difference[:4], alone.coef_[0], atol=1e-6)
        np.testing.assert_allclose(difference[4], alone.intercept_[0], atol=1e-5)
    assert np.isfinite(model.scores_).all()


def _multinomial(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Half the squared norm and the sum of losses, and its gradient."""
    scores = X @ w.reshape(3, 4).T
    p = softmax(scores, axis=1)
    loss = -np.log(p[np.arange(len(y)), y]).sum()
    gradient = (p - np.eye(3)[y]).T @ X + w.reshape(3, 4)
    return loss + 0.5 * w @ w, gradient.ravel()


def test_folds_of_one_class_and_the_mean_of_infinite_weights() -> None:
    X, y = np.arange(4.0)[:, None], np.array(["a", "a", "b", "b"])
    model = LogisticRegressionCV(
        Cs=[1.0, 2.0], cv=KFold(2), scoring="neg_brier_score", use_legacy_attributes=False
    ).fit(X, y)
    # A fold knows one class and is sure of it; the other half of the rows is of the other.
    np.testing.assert_array_equal(model.scores_, -np.ones((2, 1, 2)))
    assert model.coefs_paths_[:, 0, 0, 0].tolist() == [[0.0, np.inf], [0.0, -np.inf]]
    with pytest.raises(ValueError, match="lacks a class they are infinite; give stratified"):
        LogisticRegressionCV(Cs=[1.0], cv=KFold(2), refit=False).fit(X, y)


def test_folds_without_a_class_and_rows_on_both_sides() -> None:
    X, y = iris()
    model = LogisticRegression()
    lost = [(np.arange(100), np.arange(100, 150))]
    with pytest.raises(ValueError, match="holds out all rows of class 2"):
        LinearSVC().path(X, y, [1.0], cv=lost)
    with pytest.raises(ValueError, match="both fits and scores row 10"):
        model.path(X, y, [1.0], cv=[(np.arange(140), np.arange(10, 150))])


def test_weights_are_copies_and_zero_is_no_row() -> None:
    X, y = cancer()
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, size=len(y))
    fold = rng.integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    model = LogisticRegression(tol=1e-10)
    weighted = model.path(
        X, y, VALUES, cv=[(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)],
        sample_weight=counts,
    )  # fmt: skip
    repeated = fold[rows]
    copied = model.path(
        X[rows], y[rows], VALUES,
        cv=[(np.flatnonzero(repeated != k), np.flatnonzero(repeated == k)) for k in range(3)],
    )  # fmt: skip
    np.testing.assert_allclose(weighted.scores, copied.scores, rtol=1e-12)
    np.testing.assert_allclose(weighted.coefs, copied.coefs, rtol=1e-4, atol=1e-6)
    # A splitter never sees a row of weight zero.
    used = counts > 0
    by_splitter = model.path(X, y, [1.0], cv=4, sample_weight=counts)
    without = model.path(X[used], y[used], [1.0], cv=4, sample_weight=counts[used])
    np.testing.assert_allclose(by_splitter.scores, without.scores, rtol=1e-12)


def test_the_same_again_sparse_and_in_frames() -> None:
    X, y = cancer()
    X, y = X[::3, :6], y[::3]
    model = LinearSVC(loss="hinge", tol=1e-3, solver="dual", random_state=3)
    one, other = (model.path(X, y, VALUES[:3], cv=3) for _ in range(2))
    np.testing.assert_array_equal(one.coefs, other.coefs)
    np.testing.assert_array_equal(one.scores, other.scores)
    sparse = model.path(sp.csr_matrix(X), y, one.values, cv=3)
    for a, b in zip(sparse.certificates, one.certificates, strict=True):
        assert a.dual <= b.primal and b.dual <= a.primal
    frame = pd.DataFrame(X).rename(columns=str)
    named = model.path(frame, pd.Series(y), VALUES[:1], cv=3)
    assert named[0].feature_names_in_.tolist() == list(frame.columns)
    assert not hasattr(model, "coef_")


def test_groups_and_scoring() -> None:
    X, y = cancer()
    groups = np.arange(len(y)) % 7
    path = LogisticRegression().path(
        X, y, VALUES, cv=GroupKFold(7), groups=groups, scoring="neg_log_loss"
    )
    assert path.scores.shape == (7, 4) and np.all(path.scores < 0)
    assert path.scoring == "neg_log_loss"


def test_one_standard_error_prefers_the_stronger_penalty() -> None:
    scores = np.array([[0.90, 0.94, 0.95, 0.94], [0.91, 0.95, 0.99, 0.93]])
    certificate = separatrix.Certificate.of(primal=1.0, dual=1.0, tol=1e-4, status="optimal")
    common = {"certificates": (certificate,) * 4, "scores": scores, "scoring": "accuracy"}
    path = Path("C", np.array([0.1, 1.0, 10.0, 100.0]), **common)
    # The best is 0.97 with an error of 0.02, and 0.945 is further away than that; of "lam" the
    # stronger penalty is the larger value.
    assert (path.best_index, path.one_standard_error_index) == (2, 2)
    lower = scores + np.array([[0.0, 0.0, -0.02, 0.0], [0.0] * 4])
    wide = Path("C", path.values, **{**common, "scores": lower})
    assert (wide.best_index, wide.one_standard_error_index) == (2, 1)
    falling = Path("lam", path.values, **{**common, "scores": scores[:, ::-1]})
    assert (falling.best_index, falling.one_standard_error_index) == (1, 1)
    equal = Path("lam", path.values, **{**common, "scores": np.ones((2, 4))})
    assert equal.best == 100.0


def test_what_a_path_shows() -> None:
    X, y = cancer()
    path = LogisticRegression(tol=1e-4).path(X, y, VALUES, cv=3)
    lines = str(path).splitlines()
    assert len(lines) == 5 and lines[0].split()[:3] == ["C", "objective", "gap"]
    assert sum("<- best" in line for line in lines) == 1
    frame = path.to_frame()
    assert frame["C"].tolist() == VALUES and "mean_score" in frame
    assert path.coefs.shape == (4, 1, 30) and path.intercepts.shape == (4, 1)
    assert len(path) == 4 and len(list(path)) == 4
    assert path.n_nonzero.tolist() == [30] * 4


def test_a_time_limit_leaves_what_was_reached() -> None:
    X, y = cancer()
    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        path = LinearSVC(loss="hinge", tol=1e-12, time_limit=1e-9).path(X, y, VALUES, cv=3)
    assert len(caught) == 1
    assert path.values.tolist() == [0.01] and path.not_reached.tolist() == VALUES[1:]
    assert np.isfinite(path.scores).all() and path.best == 0.01
    assert path[0].time_limit == 1e-9
    with pytest.warns(ConvergenceWarning, match=r"4 of 4 fits ended above .*0\.1, 1 and 1 more"):
        LinearSVC(loss="hinge", tol=1e-14, max_iter=2).path(X, y, VALUES)


def test_a_time_limit_counts_the_scores(monkeypatch) -> None:
    X, y = load_iris(return_X_y=True)
    calls: list[float] = []

    def scored(model, X, y):
        calls.append(model.score(X, y))
        return calls[-1]

    # A clock that only the scores move on.
    monkeypatch.setattr("time.perf_counter", lambda: float(len(calls)))
    for limit, made in ((2.0, 3), (7.0, 8)):
        calls.clear()
        model = LogisticRegressionCV(Cs=VALUES, cv=3, scoring=scored, time_limit=limit)
        with pytest.warns(ConvergenceWarning, match="time limit"):
            model.fit(X, y)
        assert len(calls) == made


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


class Press:
    """A watcher that presses Ctrl-C once, at the start of the fit of a given number."""

    def __init__(self, fit: int) -> None:
        self.left = fit

    def __call__(self, progress) -> None:
        if progress.iteration == 0:
            self.left -= 1
            if self.left == 0:
                timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                timer.join()


@pytest.mark.signals
def test_ctrl_c_keeps_the_values_that_were_reached(default_ctrl_c) -> None:
    X, y = cancer()
    with watch(Press(6)), pytest.raises(PathInterrupt, match="after 2 of 4 values of C") as caught:
        LinearSVC(loss="hinge", tol=1e-9).path(X, y, VALUES, cv=3)
    path = caught.value.path
    # Four fits a value: the second value has the fit to all rows, and one fold.
    assert path.values.tolist() == VALUES[:2]
    assert np.isfinite(path.scores[:, 0]).all() and np.isnan(path.scores[1:, 1]).all()
    assert path.best == 0.01 and path[0].predict(X).shape == y.shape
    model = LogisticRegressionCV(Cs=VALUES, cv=3)
    with watch(Press(6)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.C_ == 0.01 and model.predict(X).shape == y.shape


def test_the_estimator_is_the_path_s_choice_and_the_single_fit(tmp_path) -> None:
    X, y = cancer()
    model = LogisticRegressionCV(Cs=VALUES, cv=4, scoring="neg_log_loss").fit(X, y)
    path = LogisticRegression().path(X, y, VALUES, cv=4, scoring="neg_log_loss")
    assert model.C_ == model.C == path.best
    np.testing.assert_array_equal(model.scores_[1], path.scores)
    np.testing.assert_array_equal(model.fold_scores_[:, 0], path.scores)
    np.testing.assert_array_equal(model.Cs_, VALUES)
    alone = LogisticRegression(C=model.C).fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    careful = LogisticRegressionCV(Cs=VALUES, cv=4, choice="one_standard_error").fit(X, y)
    assert careful.path_.values[careful.path_.one_standard_error_index] == careful.C_
    assert len(LogisticRegressionCV(Cs=3, cv=3).fit(X, y).Cs_) == 3
    separatrix.save_model(tmp_path / "m.separatrix", model)
    again = separatrix.load_model(tmp_path / "m.separatrix").model
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params() == model.get_params() and again.C_ == model.C_
    assert not hasattr(again, "path_") and again.certificate_ == model.certificate_
    with pytest.raises(ValueError, match="choice='nice' is not known"):
        LogisticRegressionCV(choice="nice").fit(X, y)


# --- the other models ---------------------------------------------------------------------------


def test_stochastic_gradients() -> None:
    X, y = cancer()
    model = SGDClassifier("log_loss", tol=1e-2, random_state=0)
    path = model.path(X, y, [0.3, 0.1, 0.01], cv=3)
    assert path.parameter == "alpha" and all(c.ok for c in path.certificates)
    assert path.at(0.1).alpha == 0.1 and path.at(0.1).eta0 == "search"
    assert path.scores.shape == (3, 3)


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_discriminants_shrink(kind) -> None:
    X, y = cancer()
    path = kind().path(X, y, [0.9, 0.1], cv=StratifiedKFold(3))
    for i, value in enumerate([0.9, 0.1]):
        alone = kind(shrinkage=value).fit(X, y)
        np.testing.assert_allclose(path[i].decision_function(X), alone.decision_function(X))
        for j, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            score = kind(shrinkage=value).fit(X[train], y[train]).score(X[test], y[test])
            assert path.scores[j, i] == pytest.approx(score)
    assert kind().path(X, y, 3).values.tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("model", [LinearRegression(), PolynomialRegression(2)], ids=repr)
def test_regressions(model) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = np.delete(X, 1, axis=1)
    path = model.path(X, y, [1e-2, 1e-4], cv=3)
    for i, lam in enumerate([1e-2, 1e-4]):
        alone = type(model)(**{**model.get_params(), "lam": lam}).fit(X, y)
        np.testing.assert_allclose(path[i].predict(X), alone.predict(X), rtol=1e-9)
        assert path.certificates[i].ok
    cut = len(y) // 3 + 1
    alone = type(model)(**{**model.get_params(), "lam": 1e-4}).fit(X[cut:], y[cut:])
    assert path.scores[0, 1] == pytest.approx(alone.score(X[:cut], y[:cut]))
    assert path.scoring == "R^2" and "residual" in str(path)


def test_least_squares_of_classes() -> None:
    X, y = iris()
    path = LeastSquaresClassifier().path(X, y, [1.0, 1e-3], cv=3)
    alone = LeastSquaresClassifier(lam=1e-3).fit(X, y)
    np.testing.assert_allclose(path[1].coef_, alone.coef_, rtol=1e-9)
    assert path.coefs.shape == (2, 3, 4)


# --- what it costs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (LogisticRegression(tol=1e-4), cancer),
        (LinearSVC(loss="squared_hinge", tol=1e-4, solver="dual", random_state=0), cancer),
        (LinearSVC(loss="hinge", tol=1e-4, solver="dual", random_state=0), even_digits),
    ],
    ids=["log", "squared hinge", "hinge"],
)
def test_twenty_values_cost_at_most_three_of_the_hardest(model, data) -> None:
    X, y = data()
    values = np.geomspace(1e-3, 100.0, 20)
    path = model.path(X, y, values)
    hardest = type(model)(**{**model.get_params(), "C": 100.0}).fit(X, y)
    assert all(c.ok for c in path.certificates)
    assert path.n_iter.sum() <= 3 * hardest.n_iter_
