"""LinearSVC with an infinite C: the hard margin."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hard_margin_reference import exact_hard_margin, hard_margin_by_quadratic_programming
from separatrix import LinearSVC, verify
from separatrix.exceptions import NotSeparableError
from separatrix.models import linear_svc
from separatrix.persistence.model_file import load_model, save_model
from separatrix.solvers import AugmentedLagrangian, HardMargin
from separatrix.solvers.driver import watch

HARD = {"C": np.inf}


def setosa():
    X, y = load_iris(return_X_y=True)
    return X, np.where(y == 0, "setosa", "other")


def three_clusters(n: int = 25):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    X = np.repeat(centres, n, axis=0) + 0.4 * rng.normal(size=(3 * n, 2))
    return X, np.repeat(["a", "b", "c"], n)


def overlapping():
    rng = np.random.default_rng(1)
    return rng.normal(size=(60, 3)), rng.integers(2, size=60)


# --- the optimum -------------------------------------------------------------------------------


def test_the_textbook_case() -> None:
    model = LinearSVC(**HARD).fit([[0, 0], [2, 0], [1, 3]], [0, 1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 1 / 3]], rtol=1e-14)
    np.testing.assert_allclose(model.intercept_, [-1.0], rtol=1e-14)
    # The distance from (0, 0) to the segment between the others is sqrt(3.6).
    np.testing.assert_allclose(2 * model.margin_, [np.sqrt(3.6)], rtol=1e-14)
    assert model.support_.tolist() == [0, 1, 2]
    assert model.n_support_.tolist() == [1, 2]
    np.testing.assert_allclose(model.dual_coef_, [[-5 / 9, 4 / 9, 1 / 9]], rtol=1e-13)
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(5 / 9, rel=1e-14)
    assert model.objective_formula_ == "minimise 1/2 |w|^2 subject to y (w.x + b) >= 1"


@pytest.mark.parametrize("options", [HARD, {"lam": 0}, {"C": np.inf, "loss": "hinge"}])
def test_iris_by_a_general_solver(options: dict) -> None:
    X, y = setosa()
    signs = np.where(y == "setosa", 1.0, -1.0)
    w, b = hard_margin_by_quadratic_programming(X, signs, "free")
    model = LinearSVC(**options).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-8)
    # The same, in exact fractions of the floats, on the rows that hold the margin.
    half, exact_w, exact_b = exact_hard_margin(X[model.support_], signs[model.support_], "free")
    np.testing.assert_allclose(model.coef_[0], [float(v) for v in exact_w], rtol=1e-12)
    assert model.intercept_[0] == pytest.approx(float(exact_b), rel=1e-12)
    assert (
        model.certificate_.dual
        <= float(half) * (1 + 1e-15)
        <= model.certificate_.primal * (1 + 1e-14)
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_the_attributes_say(fit_intercept: bool) -> None:
    X, y = setosa()
    model = LinearSVC(**HARD, fit_intercept=fit_intercept).fit(X, y)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    margins = signs * model.decision_function(X)
    # Scaled so that the nearest points are at 1, to rounding; those alone have multipliers.
    assert margins.min() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(margins[model.support_], 1.0, rtol=1e-12)
    assert np.all(np.delete(margins, model.support_) > 1.0)
    np.testing.assert_allclose(model.margin_, 1 / np.linalg.norm(model.coef_), rtol=1e-14)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-12)
    assert np.all(model.dual_coef_[0] * signs[model.support_] > 0)
    if fit_intercept:
        assert abs(model.dual_coef_.sum()) <= 1e-14
    else:
        assert model.objective_formula_ == "minimise 1/2 |w|^2 subject to y w.x >= 1"
        assert model.intercept_.tolist() == [0.0]
    for label, count in zip(model.classes_, model.n_support_, strict=True):
        assert count == np.sum(y[model.support_] == label)
    # No hyperplane has a wider empty band: the bound on its width is certified.
    certificate = model.certificate_
    assert 1 / np.sqrt(2 * certificate.primal) == pytest.approx(model.margin_[0], rel=1e-14)
    assert 1 / np.sqrt(2 * certificate.dual) >= model.margin_[0]


def test_the_names_are_those_of_scikit_learn() -> None:
    X, y = setosa()
    ours = LinearSVC(**HARD).fit(X, y)
    theirs = SVC(kernel="linear", C=1e9, tol=1e-12).fit(X, y)
    assert ours.support_.tolist() == sorted(theirs.support_)
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    order = np.argsort(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_[:, order], rtol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)


def test_a_large_C_comes_close() -> None:
    X, y = setosa()
    hard = LinearSVC(**HARD).fit(X, y)
    soft = LinearSVC(loss="hinge", C=1e6, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(soft.coef_, hard.coef_, atol=1e-4)
    # The hinge loss is exact once C exceeds every multiplier; the squared one never is.
    assert soft.certificate_.primal == pytest.approx(hard.certificate_.primal, rel=2e-8)
    squared = [LinearSVC(C=C, tol=1e-9).fit(X, y).certificate_.primal for C in (1e2, 1e4, 1e6)]
    distances = [hard.certificate_.primal - value for value in squared]
    assert distances[0] > distances[1] > distances[2] > 0


def test_more_than_two_classes() -> None:
    X, y = three_clusters()
    model = LinearSVC(**HARD).fit(X, y)
    assert model.coef_.shape == (3, 2)
    assert model.margin_.shape == (3,)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert len(model.certificate_.parts) == 3
    assert model.certificate_.ok
    assert model.objective_formula_.endswith(">= 1, for each class against the rest")
    alone = [LinearSVC(**HARD).fit(X, y == label) for label in model.classes_]
    for k, part in enumerate(alone):
        np.testing.assert_allclose(model.coef_[k], part.coef_[0], rtol=1e-12)
        assert model.margin_[k] == part.margin_[0]
        used = model.dual_coef_[k] != 0
        assert model.support_[used].tolist() == part.support_.tolist()
    assert model.support_.tolist() == sorted(set().union(*(p.support_.tolist() for p in alone)))
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-12)
    assert model.n_support_.tolist() == [np.sum(y[model.support_] == c) for c in "abc"]
    assert np.all(model.predict(X) == y)


# --- invariance --------------------------------------------------------------------------------

FORMATS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 3, axis=0)[::3],
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr int64": lambda X: _int64(sp.csr_array(X)),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
}


def _int64(X: sp.csr_array) -> sp.csr_array:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_the_same_numbers(form: str) -> None:
    X, y = setosa()
    reference = LinearSVC(**HARD).fit(X, y)
    model = LinearSVC(**HARD).fit(FORMATS[form](X), y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-12)
    assert model.support_.tolist() == reference.support_.tolist()
    if form in ("pandas", "polars"):
        assert len(model.feature_names_in_) == 4


def test_float32_is_the_same_numbers_in_less_memory() -> None:
    X, y = setosa()
    single = X.astype(np.float32)
    single.flags.writeable = False
    wide = single.astype(np.float64)
    for a in (single, sp.csr_array(single)):
        model = LinearSVC(**HARD).fit(a, y)
        reference = LinearSVC(**HARD).fit(wide, y)
        assert model.coef_.dtype == np.float64
        np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-12)


def test_the_plane_moves_with_the_data() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    shift = np.array([1.0, -2.0, 3.0, 0.5])
    moved = LinearSVC(**HARD).fit(X + shift, y)
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=1e-12)
    np.testing.assert_allclose(moved.intercept_, model.intercept_ - model.coef_ @ shift, rtol=1e-12)
    for scale in (1e-6, 1000.0):
        scaled = LinearSVC(**HARD).fit(X * scale, y)
        np.testing.assert_allclose(scaled.margin_, scale * model.margin_, rtol=1e-12)
        np.testing.assert_allclose(scaled.intercept_, model.intercept_, rtol=1e-11)
    # A rotation turns the weights.
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    turned = LinearSVC(**HARD).fit(X @ turn, y)
    np.testing.assert_allclose(turned.coef_, model.coef_ @ turn, atol=1e-12)


def test_order_and_copies() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    rng = np.random.default_rng(0)
    for rows in (rng.permutation(150), np.repeat(np.arange(150), 2)):
        other = LinearSVC(**HARD).fit(X[rows], y[rows])
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-11)
        assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-13)


def test_weights_count_only_where_they_are_zero() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    weights = np.random.default_rng(0).uniform(0.01, 100, size=150)
    weighed = LinearSVC(**HARD, class_weight="balanced").fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(weighed.coef_, model.coef_)
    without = np.ones(150)
    without[model.support_[:2]] = 0.0
    kept = without > 0
    part = LinearSVC(**HARD).fit(X[kept], y[kept])
    full = LinearSVC(**HARD).fit(X, y, sample_weight=without)
    np.testing.assert_allclose(full.coef_, part.coef_, rtol=1e-12)
    assert full.margin_[0] > model.margin_[0]
    assert np.flatnonzero(kept)[part.support_].tolist() == full.support_.tolist()
    assert verify(full, X, y, sample_weight=without).ok


# --- no hyperplane -----------------------------------------------------------------------------


def test_not_separable_comes_with_a_proof() -> None:
    X, y = overlapping()
    with pytest.raises(NotSeparableError, match="separates 0 and 1, and there is none") as caught:
        LinearSVC(**HARD).fit(X, y)
    message = str(caught.value)
    assert "give a finite C" in message and "\n" not in message
    verdict = caught.value.verdict
    assert verdict.status == "not_separable"
    assert verdict.check(X, y)
    assert caught.value.witness is verdict.witness
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == message and again.verdict == verdict
    assert isinstance(caught.value, ValueError)


def test_quasi_separable_is_not_enough() -> None:
    X, y = [[0.0], [1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    with pytest.raises(NotSeparableError, match="'no' and 'yes'") as caught:
        LinearSVC(**HARD).fit(X, y)
    assert caught.value.verdict.status == "quasi_separable"
    assert caught.value.verdict.check(X, y)
    # Without the row that touches the other class, there is a margin.
    assert LinearSVC(**HARD).fit(X, y, sample_weight=[1, 0, 1, 1]).margin_[0] == 0.5


def test_the_class_that_is_not_separable_is_named() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.raises(NotSeparableError, match="'versicolor' and the rest") as caught:
        LinearSVC(**HARD).fit(X, names)
    assert caught.value.verdict.check(X, names)


def test_through_the_origin() -> None:
    X, y = [[1.0, 1.0], [2.0, 2.0], [3.0, 3.5]], [0, 1, 1]
    assert LinearSVC(**HARD).fit(X, y).certificate_.ok
    with pytest.raises(NotSeparableError, match="through the origin") as caught:
        LinearSVC(**HARD, fit_intercept=False).fit(X, y)
    assert caught.value.verdict.check(X, y)


def test_one_row_with_both_labels_among_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(300, 2000, density=0.01, rng=rng))
    X = sp.vstack([X, X[[7]]], format="csr")
    y = rng.integers(2, size=301)
    y[7], y[300] = 0, 1
    with pytest.raises(NotSeparableError) as caught:
        LinearSVC(**HARD).fit(X, y)
    assert caught.value.verdict.check(X, y)
    y[300] = 0
    assert LinearSVC(**HARD).fit(X, y).certificate_.ok


def test_the_verdict_is_asked_for_the_right_thing(monkeypatch) -> None:
    asked = []

    def decide(points, sides, **options):
        asked.append((points, sides, options))
        return original(points, sides, **options)

    original = linear_svc.decide
    monkeypatch.setattr(linear_svc, "decide", decide)
    X, y = overlapping()
    weights = np.ones(60)
    weights[:5] = 0.0
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(NotSeparableError):
        LinearSVC(**HARD, fit_intercept=False).fit(frame, y, sample_weight=weights)
    ((points, sides, options),) = asked
    assert points.design.shape == (55, 3)
    assert points.names == ("a", "b", "c")
    assert (sides.negative, sides.positive) == (0, 1)
    assert options["fit_intercept"] is False and options["margin"] is False
    np.testing.assert_array_equal(points.labels.codes, y[5:])


def test_what_floats_cannot_hold_is_said() -> None:
    # Separable, as exact arithmetic proves, by a difference that the solver's sums drown.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    w = rng.normal(size=6)
    y = X @ w > 0
    X = (X + 0.1 * np.outer(np.where(y, 1, -1), w)) * np.geomspace(1e-9, 1e9, 6)
    with pytest.warns(ConvergenceWarning, match="precision_limit"):
        model = LinearSVC(**HARD).fit(X, y)
    assert model.certificate_.status == "precision_limit"
    assert model.certificate_.relative_gap > 1e-6
    assert np.all(model.predict(X) == y)


def test_a_solver_that_finds_neither_is_no_verdict(monkeypatch) -> None:
    # Neither a plane nor a contradiction, in floats: the exact verdict decides all the same.
    def stall(self, problem, state, pool, check_interrupt):
        state.status = "precision_limit"

    monkeypatch.setattr(HardMargin, "_solve_pool", stall)
    with pytest.raises(NotSeparableError):
        LinearSVC(**HARD).fit(*overlapping())
    X, y = setosa()
    with pytest.warns(ConvergenceWarning, match="precision_limit"):
        model = LinearSVC(**HARD).fit(X, y)
    # The plane is that of the proof, and nothing is known about its margin.
    assert np.all(model.predict(X) == y)
    assert model.certificate_.dual == 0.0


def test_undecided_in_time_is_no_verdict(monkeypatch) -> None:
    def decide(points, sides, **options):
        assert options["deadline"] < np.inf
        return linear_svc.Separability("undecided", sides, True, 60, 3, None)

    monkeypatch.setattr(linear_svc, "decide", decide)
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LinearSVC(**HARD, time_limit=100.0).fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.margin_.tolist() == [0.0]


# --- limits, records ---------------------------------------------------------------------------


def test_no_time() -> None:
    X, y = three_clusters()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LinearSVC(**HARD, time_limit=1e-9).fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.coef_.shape == (3, 2)
    assert np.all(np.isfinite(model.coef_))
    assert model.margin_.tolist() == [0.0, 0.0, 0.0]
    model.predict(X)


def test_an_interrupt_keeps_what_there_is(monkeypatch) -> None:
    def press(progress) -> None:
        # Ctrl-C, without a signal: what the driver's handler would do.
        if (progress.part, progress.iteration) == ("b", 0):
            handlers[-1]._handle(2, None)

    from separatrix.solvers import driver

    handlers = []
    enter = driver.Interrupt.__enter__

    def remember(self):
        handlers.append(self)
        return enter(self)

    monkeypatch.setattr(driver.Interrupt, "__enter__", remember)
    X, y = three_clusters()
    model = LinearSVC(**HARD)
    with watch(press), pytest.raises(KeyboardInterrupt, match="interrupted"):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    first = LinearSVC(**HARD).fit(X, y == "a")
    np.testing.assert_allclose(model.coef_[0], first.coef_[0], rtol=1e-12)
    assert model.margin_[0] == pytest.approx(first.margin_[0])
    assert model.margin_[1:].tolist() == [0.0, 0.0]


def test_max_iter_and_tol() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.01, -0.01)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC(**HARD, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    full = LinearSVC(**HARD, tol=1e-9).fit(X, y)
    assert full.n_iter_ > 1
    assert full.certificate_.relative_gap <= 1e-9
    assert model.certificate_.dual <= full.certificate_.primal <= model.certificate_.primal
    with pytest.warns(ConvergenceWarning, match="precision_limit"):
        LinearSVC(**HARD, tol=1e-17).fit(X, y)


def test_record() -> None:
    X, y = three_clusters()
    model = LinearSVC(**HARD, record=True).fit(X, y)
    assert len(model.trace_) == 3
    for part, trace in zip(model.certificate_.parts, model.trace_, strict=True):
        assert trace.primal[-1] == pytest.approx(part.primal, rel=1e-12)
        assert np.all(np.diff(trace.dual) >= 0)
        assert len(trace.coef) == part.n_iter + 1


def test_in_a_thread() -> None:
    X, y = setosa()
    models = []
    thread = threading.Thread(target=lambda: models.append(LinearSVC(**HARD).fit(X, y)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(models[0].coef_, LinearSVC(**HARD).fit(X, y).coef_)


# --- verify ------------------------------------------------------------------------------------


def test_verify_agrees_and_catches_others() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    certificate = verify(model, X, y)
    assert certificate.ok
    assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert certificate.dual == pytest.approx(model.certificate_.dual, rel=1e-12)
    # The objective is that of the point at its own scale, which carries no meaning.
    model.coef_ *= 3.0
    model.intercept_ *= 3.0
    assert verify(model, X, y).ok
    tilted = clone(model).fit(X, y)
    tilted.coef_ *= [1.1, 1.0, 1.0, 1.0]
    worse = verify(tilted, X, y)
    assert worse.status == "above_tol"
    assert worse.dual <= model.certificate_.primal < worse.primal
    assert worse.relative_gap > 1e-3


def test_verify_on_points_that_the_plane_does_not_separate() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    wrong = np.where(y == "setosa", "other", "setosa")
    certificate = verify(model, X, wrong)
    assert certificate.status == "above_tol"
    assert certificate.primal == np.inf and certificate.relative_gap == np.inf


def test_verify_many_classes() -> None:
    X, y = three_clusters()
    model = LinearSVC(**HARD).fit(X, y)
    certificate = verify(model, X, y)
    assert certificate.ok and len(certificate.parts) == 3


# --- an estimator as any other -----------------------------------------------------------------


def test_clone_pickle_and_the_model_file(tmp_path) -> None:
    X, y = setosa()
    model = LinearSVC(**HARD)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    path = tmp_path / "model.separatrix"
    save_model(path, model)
    for other in (copy, load_model(path).model):
        for name in ("coef_", "intercept_", "support_", "dual_coef_", "n_support_", "margin_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
        assert other.certificate_ == model.certificate_
        assert np.isinf(other.C)


def test_refitting_forgets() -> None:
    X, y = setosa()
    model = LinearSVC(**HARD).fit(X, y)
    model.set_params(C=1.0).fit(X, y)
    for name in ("support_", "dual_coef_", "n_support_", "margin_"):
        assert not hasattr(model, name)
    model.set_params(C=np.inf).fit(X, y)
    assert model.support_.tolist() == [23, 41, 98]


def test_in_a_pipeline_with_a_frame() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LinearSVC(**HARD)).fit(X, y == 0)
    assert model.score(X, y == 0) == 1.0
    assert verify(model, X, y == 0).ok


def test_the_data_are_left_alone() -> None:
    X, y = setosa()
    X.flags.writeable = False
    before = X.copy()
    LinearSVC(**HARD).fit(X, y)
    np.testing.assert_array_equal(X, before)


def test_solvers_by_name() -> None:
    X, y = setosa()
    auto = LinearSVC(**HARD).fit(X, y)
    again = LinearSVC(**HARD, solver=HardMargin()).fit(X, y)
    np.testing.assert_array_equal(again.coef_, auto.coef_)
    for solver in ("newton", "dual", "augmented-lagrangian"):
        with pytest.raises(ValueError, match="needs a finite C"):
            LinearSVC(**HARD, solver=solver).fit(X, y)
    with pytest.raises(TypeError, match="'margin'"):
        LinearSVC(solver=HardMargin()).fit(X, y)
    with pytest.raises(TypeError, match="'dual_step'"):
        LinearSVC(**HARD, solver=AugmentedLagrangian()).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": -np.inf}, "C=-inf must be a number greater than 0"),
        ({"C": np.inf, "lam": 0.0}, "Give C or lam, not both"),
        ({"C": np.inf, "loss": "log"}, "loss='log' is not known"),
        ({"C": np.inf, "tol": 0}, "tol=0 must be"),
        ({"C": np.inf, "max_iter": -1}, "max_iter=-1 must be"),
    ],
)
def test_bad_parameters(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearSVC(**options).fit(*setosa())


def test_bad_data() -> None:
    X, y = setosa()
    with pytest.raises(ValueError, match="one class only"):
        LinearSVC(**HARD).fit(X, np.full(150, "setosa"))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 2"):
        LinearSVC(**HARD).fit(X, y)


def test_two_rows_and_constant_columns() -> None:
    model = LinearSVC(**HARD).fit([[1.0, 5.0], [3.0, 5.0]], [0, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(model.intercept_, [-2.0], rtol=1e-14)
    wide = np.zeros((2, 50_000))
    wide[0, 7], wide[1, 49_999] = 3.0, 4.0
    for X in (wide, sp.csr_array(wide)):
        model = LinearSVC(**HARD).fit(X, [0, 1])
        assert 2 * model.margin_[0] == pytest.approx(5.0, rel=1e-14)


def test_no_warning_when_it_is_solved() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(**HARD).fit(*setosa())
