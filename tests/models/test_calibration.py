"""Probabilities from scores: deterministic, monotone, cross-fitted, and never against predict."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from grids import share
from separatrix import LinearSVC, Perceptron, load_model, save_model, verify
from separatrix.data.design import as_design
from separatrix.data.splitting import fold_numbers
from separatrix.expressions import Evaluation, Features, FirstWins, Threshold, calibrated
from separatrix.models.calibration import Folds
from separatrix.probabilities.calibration import fit_calibration
from separatrix.solvers.driver import watch

METHODS = ["sigmoid", "isotonic"]
MODELS = [
    LinearSVC(calibrate="sigmoid"),
    LinearSVC(calibrate="isotonic", loss="hinge"),
    Perceptron(calibrate="sigmoid", max_passes=20, average=True),
    Perceptron(calibrate="isotonic", max_passes=20),
]
each_method = pytest.mark.parametrize("method", METHODS)
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)
# Perceptrons on classes that overlap say so, and so do their folds.
overlap = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def probabilities(calibration, scores):
    """The probabilities of rows from their scores."""
    columns = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
    node = Features(columns.shape[1])
    winner = Threshold(node) if columns.shape[1] == 1 else FirstWins(node)
    values = Evaluation(None).given(node, columns)
    return values.of(calibrated(calibration, node, winner))


def data(classes: int = 2, n: int = 90, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


def standard(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def same(left: dict, right: dict, rtol: float = 0.0) -> None:
    assert left.keys() == right.keys()
    for key, value in left.items():
        if isinstance(value, str) or rtol == 0.0:
            np.testing.assert_array_equal(value, right[key])
        else:
            np.testing.assert_allclose(value, right[key], rtol=rtol, atol=1e-9)


# --- scikit-learn's own checks -----------------------------------------------------------------


# Configurations of classes whose other ones are in test_sklearn_contract.py.
@pytest.mark.exhaustive
@overlap
@parametrize_with_checks(
    [
        LinearSVC(calibrate="sigmoid"),
        LinearSVC(calibrate="isotonic"),
        # Random labels are not separable, so that every fit takes all its passes.
        Perceptron(calibrate="isotonic", max_passes=30),
        Perceptron(calibrate="sigmoid", max_passes=30),
    ],
    # Where a perceptron's passes end depends on the order of the rows: no weight stands for copies
    # of a row wherever they lie.
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "the order of the rows counts"
        for kind in (("dense", "sparse") if isinstance(estimator, Perceptron) else ())
    },
)
def test_check_estimator(estimator, check) -> None:
    check(estimator)


# --- never against predict ---------------------------------------------------------------------

# Cross-fitted values of every kind: overlapping, separated, the wrong way round, off centre, flat.
NOTHING = np.zeros(12)
HALVES = np.repeat([0, 1], 6)
SPREAD = np.linspace(-1.0, 1.0, 12)
BINARY = {
    "overlap": (SPREAD, np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1])),
    "separated": (SPREAD, HALVES),
    "reversed": (-SPREAD, HALVES),
    "above": (SPREAD + 3.0, HALVES),
    "below": (SPREAD - 3.0, HALVES),
    "flat": (NOTHING, HALVES),
    "flat and rare": (NOTHING + 7.0, np.arange(12) > 9),
    "one apart": (np.where(np.arange(12) == 11, 1e300, SPREAD), HALVES),
    "huge": (SPREAD * 1e300, HALVES),
    "beyond": (np.where(np.arange(12) == 0, -np.inf, SPREAD), HALVES),
    "tiny": (SPREAD * 1e-300, HALVES),
    "least": (SPREAD.round() * 5e-324, HALVES),
    "next to each other": (1.0 + SPREAD * 1e-15, HALVES),
}
EXTREMES = [0.0, 5e-324, 1e-300, 1e-17, 1e-3, 0.1, 1.0, 2.5, 37.0, 700.0, 1e10, 1e150, 1e300]
EXTREMES = sorted([*EXTREMES, *(-value for value in EXTREMES)])


def check_agreement(proba: np.ndarray, scores: np.ndarray) -> None:
    assert np.all(np.isfinite(proba))
    assert np.all(proba >= 0.0)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    winner = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(proba.argmax(axis=1), winner)
    top = proba[np.arange(len(proba)), winner]
    assert np.all((proba == top[:, None]).sum(axis=1) == 1)


@each_method
@pytest.mark.parametrize("case", list(BINARY))
def test_two_classes_agree_and_rise(method: str, case: str) -> None:
    scores, codes = BINARY[case]
    found = fit_calibration(method, scores, codes.astype(int))
    at = np.unique(np.concatenate([EXTREMES, scores[np.isfinite(scores)], np.linspace(-5, 5, 201)]))
    at = np.concatenate([[-np.inf], at, [np.inf]])
    proba = probabilities(found, at)
    check_agreement(proba, at)
    assert np.all(np.diff(proba[:, 1]) >= -1e-15)
    # A finite sample proves no certainty, wherever it had points.
    inside = probabilities(found, scores)
    assert np.all(inside > 0.0)
    assert np.all(inside < 1.0)


SCORES = st.one_of(st.sampled_from(EXTREMES), st.floats(-3.0, 3.0))


@each_method
@given(
    rows=st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=20),
    at=st.lists(SCORES, min_size=1, max_size=20),
)
@pytest.mark.sampled
@settings(max_examples=share(150), deadline=None)
def test_two_classes_anywhere(method: str, rows: list, at: list) -> None:
    scores, codes = np.array([s for s, _ in rows]), np.array([int(c) for _, c in rows])
    codes[:2] = [0, 1]
    at = np.sort(at)
    proba = probabilities(fit_calibration(method, scores, codes), at)
    check_agreement(proba, at)
    assert np.all(np.diff(proba[:, 1]) >= -1e-15)


@each_method
@given(
    rows=st.lists(st.tuples(SCORES, SCORES, SCORES, st.integers(0, 2)), min_size=3, max_size=15),
    at=st.lists(st.tuples(SCORES, SCORES, SCORES), min_size=1, max_size=8),
    raised=st.lists(SCORES, min_size=2, max_size=8),
    k=st.integers(0, 2),
)
@pytest.mark.sampled
@settings(max_examples=share(150), deadline=None)
def test_three_classes_anywhere(method: str, rows: list, at: list, raised: list, k: int) -> None:
    scores, codes = np.array([r[:3] for r in rows]), np.array([r[3] for r in rows])
    codes[:3] = [0, 1, 2]
    found = fit_calibration(method, scores, codes)
    check_agreement(probabilities(found, np.array(at)), np.array(at))
    # One score rises, the others stay, through every tie and change of winner.
    for row in np.array(at):
        path = np.repeat(row[None], len(raised) + 2, axis=0)
        path[:, k] = np.sort([*raised, *np.delete(row, k)])
        proba = probabilities(found, path)
        check_agreement(proba, path)
        assert np.all(np.diff(proba[:, k]) >= -1e-15)


def exact(method: str, classes: int, weights: np.ndarray | None = None):
    """A calibrated model whose scores are the features themselves."""
    X, y = data(classes)
    model = LinearSVC(calibrate=method).fit(X, y)
    if classes == 2:
        model.coef_, model.intercept_ = np.array([[1.0]]), np.zeros(1)
    else:
        model.coef_, model.intercept_ = np.eye(classes), np.zeros(classes)
    model.n_features_in_ = model.coef_.shape[1]
    return model


@each_method
def test_points_on_the_plane_and_ties(method: str) -> None:
    model = exact(method, 2)
    # Whatever the offset of the sigmoid, zero belongs to the first class, what is above does not.
    X = np.array([[0.0], [-0.0], [-5e-324], [5e-324], [-1e-9], [1e-9]])
    assert model.predict(X).tolist() == [0, 0, 0, 1, 0, 1]
    proba = model.predict_proba(X)
    check_agreement(proba, model.decision_function(X))
    # On one side of zero the sigmoid of this sample disagrees and is held.
    assert (proba == 0.5).any() or np.nextafter(0.5, 1.0) in proba
    model = exact(method, 3)
    X = np.array([[1.0, 1, 1], [0, 2, 2], [2, 0, 2], [0, 0, -1], [1e300, 1e300, 0], [-1, -1, -1]])
    assert model.predict(X).tolist() == [0, 1, 0, 0, 0, 0]
    proba = model.predict_proba(X)
    check_agreement(proba, X)
    np.testing.assert_allclose(proba[[0, 5]], 1 / 3, rtol=1e-14)
    np.testing.assert_allclose(proba[1, 1], proba[1, 2], rtol=1e-14)


@overlap
@each_model
@pytest.mark.parametrize("classes", [2, 4])
def test_fitted_models_agree(model, classes: int) -> None:
    X, y = data(classes)
    model = clone(model).fit(X, np.array(["d", "b", "a", "c"])[y])
    rng = np.random.default_rng(1)
    for points in (X, 1e3 * rng.normal(size=(500, 4)), 1e-3 * rng.normal(size=(500, 4))):
        proba = model.predict_proba(points)
        assert proba.shape == (len(points), classes)
        check_agreement(proba, model.decision_function(points))
        np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(points))
        with np.errstate(divide="ignore"):
            logs = np.log(proba)
        # Logarithms of numbers that are nearly 1, or underflow, have lost digits.
        found = model.predict_log_proba(points)
        np.testing.assert_allclose(np.maximum(found, -700.0), np.maximum(logs, -700.0), atol=1e-12)


# --- what is fitted ----------------------------------------------------------------------------


def platt(scores, codes, weights=None):
    """Platt's objective by another minimiser."""
    weights = np.ones(len(codes)) if weights is None else weights
    n1, n0 = weights[codes == 1].sum(), weights[codes == 0].sum()
    target = np.where(codes == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def objective(ab):
        z = ab[0] * scores + ab[1]
        return weights @ (np.logaddexp(0.0, z) - target * z)

    def gradient(ab):
        r = weights * (expit(ab[0] * scores + ab[1]) - target)
        return np.array([r @ scores, r.sum()])

    return minimize(objective, [0.0, 0.0], jac=gradient, method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", ["overlap", "separated", "above", "below"])
def test_the_sigmoid_is_platts(case: str, weighted: bool) -> None:
    scores, codes = BINARY[case]
    weights = np.linspace(0.5, 3.0, len(codes)) if weighted else None
    found = fit_calibration("sigmoid", scores, codes, weights)
    slope, intercept = platt(scores, codes, weights)
    np.testing.assert_allclose(found["slope"], slope, rtol=1e-5)
    np.testing.assert_allclose(found["intercept"], intercept, rtol=1e-5, atol=1e-6)
    # Where score and sigmoid agree on the side, the probability is the sigmoid's.
    z = found["slope"] * scores + found["intercept"]
    agree = (z > 0) == (scores > 0)
    proba = probabilities(found, scores)
    np.testing.assert_allclose(proba[agree, 1], expit(z[agree]), rtol=1e-14)
    np.testing.assert_allclose(proba[~agree], 0.5, rtol=1e-15)


def test_the_sigmoid_has_a_scale() -> None:
    scores, codes = BINARY["overlap"]
    plain = fit_calibration("sigmoid", scores, codes)
    for factor in (1e-250, 1e-3, 7.0, 1e250):
        scaled = fit_calibration("sigmoid", scores * factor, codes)
        np.testing.assert_allclose(scaled["slope"] * factor, plain["slope"], rtol=1e-9)
        np.testing.assert_allclose(scaled["intercept"], plain["intercept"], rtol=1e-7, atol=1e-9)


def test_scores_the_wrong_way_round_tell_nothing() -> None:
    scores, codes = -SPREAD, np.array([0] * 8 + [1] * 4)
    found = fit_calibration("sigmoid", scores, codes)
    # The mean of Platt's targets.
    mean = (8 * 1 / 10 + 4 * 5 / 6) / 12
    assert found["slope"] == 0.0
    np.testing.assert_allclose(expit(found["intercept"]), mean, rtol=1e-12)
    proba = probabilities(found, np.array([-2.0, -1.0, 1.0, 2.0]))[:, 1]
    np.testing.assert_allclose(proba, [mean, mean, 0.5, 0.5], rtol=1e-12)
    found = fit_calibration("sigmoid", -np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 0]))
    assert found["slope"] == 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_is_the_likeliest(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(60, 4)), rng.integers(4, size=60)
    scores[np.arange(60), codes] += 1.0
    weights = rng.uniform(0.1, 3.0, 60) if weighted else np.ones(60)
    found = fit_calibration("sigmoid", scores, codes, weights if weighted else None)
    n = weights.sum()
    target = np.where(codes[:, None] == np.arange(4), (n + 1) / (n + 2), 1 / (n + 2) / 3)
    slopes = found["slope"] * np.array([0.99, 1.0, 1.01])
    losses = [-weights @ (target * log_softmax(a * scores, axis=1)).sum(axis=1) for a in slopes]
    assert np.argmin(losses) == 1
    expected = np.exp(log_softmax(found["slope"] * scores, axis=1))
    np.testing.assert_allclose(probabilities(found, scores), expected, rtol=1e-12)


def test_a_temperature_of_separated_scores_is_finite() -> None:
    codes = np.arange(30) % 3
    for scale in (1e-300, 1.0, 1e300):
        found = fit_calibration("sigmoid", scale * np.eye(3)[codes], codes)
        # Every row leaves 1/32 for the other two classes.
        proba = probabilities(found, scale * np.eye(3)[codes])
        np.testing.assert_allclose(proba[np.arange(30), codes], 31 / 32, rtol=1e-9)
    assert fit_calibration("sigmoid", np.zeros((30, 3)), codes)["slope"] == 0.0


def test_isotonic_is_scikit_learns_with_smoothed_targets() -> None:
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=200), rng.uniform(0.0, 2.0, 200)
    codes = (scores + rng.normal(size=200) > 0).astype(int)
    found = fit_calibration("isotonic", scores, codes, weights)
    n1, n0 = weights[codes == 1].sum(), weights[codes == 0].sum()
    target = np.where(codes == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    direct = IsotonicRegression(out_of_bounds="clip").fit(scores, target, weights)
    at = np.linspace(-4, 4, 400)
    expected = direct.predict(at)
    agree = (expected > 0.5) == (at >= 0)
    assert agree.sum() > 300
    np.testing.assert_allclose(probabilities(found, at)[agree, 1], expected[agree], rtol=1e-12)


def test_isotonic_of_scores_of_any_size() -> None:
    scores, codes = BINARY["overlap"]
    plain = probabilities(fit_calibration("isotonic", scores, codes), scores)
    for factor in (2.0**-900, 2.0**-30, 2.0**900):
        found = fit_calibration("isotonic", factor * scores, codes)
        np.testing.assert_allclose(probabilities(found, factor * scores), plain, rtol=1e-12)


def test_isotonic_of_many_classes_is_that_of_the_lead() -> None:
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(100, 3)), rng.integers(3, size=100)
    scores[np.arange(100), codes] += 1.0

    def leads(scores):
        return np.stack([scores[:, k] - np.delete(scores, k, 1).max(1) for k in range(3)], axis=1)

    hits = codes[:, None] == np.arange(3)
    target = np.where(hits, 101 / 102, 1 / 202)
    direct = IsotonicRegression(out_of_bounds="clip").fit(leads(scores).ravel(), target.ravel())
    expected = direct.predict(leads(scores).ravel()).reshape(100, 3)
    expected /= expected.sum(axis=1, keepdims=True)
    found = probabilities(fit_calibration("isotonic", scores, codes), scores)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    # A larger lead of the winner is worth something.
    assert len(np.unique(found.max(axis=1).round(6))) > 3


@each_method
def test_scores_that_overflowed_are_no_reason_to_fail(method: str) -> None:
    for scores, codes in [BINARY["overlap"], (np.eye(3)[np.arange(12) % 3], np.arange(12) % 3)]:
        scores = scores.copy()
        scores[0] = np.nan
        proba = probabilities(fit_calibration(method, scores, codes), scores)
        assert np.all(np.isfinite(proba))
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)


# --- weights -----------------------------------------------------------------------------------


@each_method
@pytest.mark.parametrize("classes", [2, 3])
def test_a_weight_is_copies_to_the_fit_of_the_probabilities(method: str, classes: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(40) % classes
    scores = rng.normal(size=(40, classes) if classes > 2 else 40)
    scores += np.eye(3)[codes] if classes > 2 else codes
    copies = rng.integers(0, 4, 40)
    weighted = fit_calibration(method, scores, codes, copies.astype(float))
    repeated = fit_calibration(method, np.repeat(scores, copies, 0), np.repeat(codes, copies))
    at = rng.normal(size=(50, classes) if classes > 2 else 50)
    np.testing.assert_allclose(
        probabilities(weighted, at), probabilities(repeated, at), rtol=1e-7, atol=1e-12
    )


@pytest.mark.crossed
@each_method
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 2.0}], ids=repr)
def test_a_weight_is_copies_folds_included(method: str, classes: int, class_weight) -> None:
    if isinstance(class_weight, dict) and classes == 2:
        class_weight = {0: 1.0, 1: 3.0}
    X, y = data(classes)
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    model = LinearSVC(calibrate=method, class_weight=class_weight, tol=1e-10)
    weighted = clone(model).fit(X, y, copies)
    # In another order, because weights do not state where the copies lie.
    order = np.random.default_rng(2).permutation(copies.sum())
    again, labels = np.repeat(X, copies, axis=0)[order], np.repeat(y, copies)[order]
    repeated = clone(model).fit(again, labels)
    same(weighted.calibration_, repeated.calibration_, rtol=1e-4)
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-4, atol=1e-6
    )


@each_method
@pytest.mark.parametrize("by_class", [False, True])
def test_a_weight_of_zero_is_no_row(method: str, by_class: bool) -> None:
    X, y = data(4)
    weights = np.where(y == 3, 0.0, np.linspace(0.5, 2.0, len(y)))
    if by_class:
        # The other classes have no factor, and class 3 would be no label of a fold.
        all_rows = LinearSVC(calibrate=method, class_weight={1: 2.0, 3: 0.0}).fit(X, y)
        kept = LinearSVC(calibrate=method, class_weight={1: 2.0})
        kept.fit(X[y < 3], y[y < 3])
    else:
        # A row of a class that stays, and of one that goes.
        weights[np.flatnonzero(y == 0)[0]] = 0.0
        used = weights > 0.0
        all_rows = LinearSVC(calibrate=method).fit(X, y, weights)
        kept = LinearSVC(calibrate=method).fit(X[used], y[used], weights[used])
    assert all_rows.classes_.tolist() == kept.classes_.tolist() == [0, 1, 2]
    same(all_rows.calibration_, kept.calibration_)


# --- folds -------------------------------------------------------------------------------------


class Recording(LinearSVC):
    """Keeps what the calibration is fitted to."""

    def _cross_fitted_scores(self, X, y, sample_weight, folds):
        self.seen = folds, super()._cross_fitted_scores(X, y, sample_weight, folds)
        return self.seen[1]


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_come_from_models_that_did_not_see_the_row(classes: int) -> None:
    X, y = data(classes)
    model = Recording(calibrate="sigmoid").fit(X, y)
    folds, scores = model.seen
    assert len(folds) == model.calibration_["folds"] == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in folds])), np.arange(len(y)))
    for train, test in folds:
        assert not np.intersect1d(train, test).size
        assert len(train) + len(test) == len(y)
        alone = LinearSVC().fit(X[train], y[train])
        np.testing.assert_allclose(scores[test], alone.decision_function(X[test]), rtol=1e-6)
        # Stratified: of every class its share, to a row.
        for k in range(classes):
            assert abs(np.sum(y[test] == k) - np.sum(y == k) / 5) < 1
    expected = fit_calibration("sigmoid", scores, y)
    same({**expected, "folds": 5}, model.calibration_)


def test_folds_are_as_many_as_the_smallest_class_allows() -> None:
    X, y = data(2, n=60)
    for rows, folds in [(2, 2), (3, 3), (4, 4), (5, 5), (9, 5)]:
        few = np.concatenate([np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:rows]])
        assert LinearSVC(calibrate="sigmoid").fit(X[few], y[few]).calibration_["folds"] == folds


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    return fold_numbers(as_design(X), y, np.arange(len(y)), most=5, seed=seed)


def test_copies_share_a_fold_whatever_the_order() -> None:
    X, y = data(3)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    number, count = numbers(X, y, 7)
    assert count == 5
    np.testing.assert_array_equal(number[::2], number[1::2])
    order = np.random.default_rng(0).permutation(len(y))
    again, _ = numbers(X[order], y[order], 7)
    np.testing.assert_array_equal(again, number[order])
    other, _ = numbers(X, y, 8)
    assert np.any(other != number)


def test_values_that_repeat_by_nature_are_dealt_singly() -> None:
    # A truth table with noise, and one whose second class is a single point, left out of no fit.
    X = np.repeat([[0.0, 0], [0, 1], [1, 0], [1, 1]], 25, axis=0)
    noisy = (X.sum(axis=1) + np.tile([0.0, 0.3, 0.6, -0.6, 0.1], 20) > 0.9).astype(int)
    conjunction = (X.sum(axis=1) == 2).astype(int)
    for y in (noisy, conjunction):
        number, count = numbers(X, y, 0)
        assert count >= 2
        for k in range(count):
            assert set(y[number != k]) == {0, 1}
        # A point at which both labels are seen is in the rows of every fit.
        for point in range(0, 100, 25):
            if len(set(y[point : point + 25])) == 2:
                assert len(set(number[point : point + 25])) == count
        model = LinearSVC(calibrate="sigmoid").fit(X, y)
        assert model.calibration_["slope"] > 0.0
        check_agreement(model.predict_proba(X), model.decision_function(X))


def test_a_class_that_is_one_point_is_in_every_fit() -> None:
    X, y = data(3)
    one = np.flatnonzero(y == 2)
    X[one] = X[one[0]]
    number, count = numbers(X, y, 0)
    assert count == 5
    np.testing.assert_array_equal(number == -1, y == 2)
    model = Recording(calibrate="sigmoid").fit(X, y)
    folds, scores = model.seen
    for train, _ in folds:
        assert set(one) <= set(train)
    assert np.isin(one, folds.pairs[0][1]).all()
    assert len(np.unique(scores[one], axis=0)) == 1
    # One row of the same weight gives the same calibration.
    rows = np.sort(np.concatenate([np.flatnonzero(y < 2), one[:1]]))
    weights = np.where(y == 2, float(len(one)), 1.0)[rows]
    again = LinearSVC(calibrate="sigmoid").fit(X[rows], y[rows], weights)
    same(again.calibration_, model.calibration_, rtol=1e-5)


def test_every_class_one_point() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    model = LinearSVC(calibrate="sigmoid").fit(X, y)
    assert model.calibration_["folds"] == 1
    check_agreement(model.predict_proba(X), model.decision_function(X))


@pytest.mark.parametrize("method", METHODS)
def test_storage_makes_no_difference(method: str) -> None:
    X, y = data(3)
    X[np.abs(X) < 0.5] = 0.0
    dense = LinearSVC(calibrate=method).fit(X, y)
    sparse = LinearSVC(calibrate=method).fit(sp.csr_array(X), y)
    same(dense.calibration_, sparse.calibration_, rtol=1e-6)


# --- deterministic, and no other model than without --------------------------------------------


@overlap
@pytest.mark.parametrize(
    "model", [*MODELS, Perceptron(order="random", calibrate="sigmoid", max_passes=20)], ids=repr
)
@pytest.mark.parametrize("random_state", [None, 3])
def test_the_same_every_time(model, random_state) -> None:
    X, y = data(3)
    model = clone(model).set_params(random_state=random_state)
    first, second = (clone(model).fit(X, y).calibration_ for _ in range(2))
    same(first, second)


def test_random_state_deals_other_folds() -> None:
    X, y = data(2)
    slopes = {
        LinearSVC(calibrate="sigmoid", random_state=seed).fit(X, y).calibration_["slope"]
        for seed in range(3)
    }
    assert len(slopes) == 3
    state = np.random.RandomState(0)
    one, two = (
        LinearSVC(calibrate="sigmoid", random_state=s).fit(X, y)
        for s in (state, np.random.RandomState(0))
    )
    same(one.calibration_, two.calibration_)


@pytest.mark.crossed
@overlap
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(random_state=0),
        LinearSVC(loss="hinge", solver="dual", random_state=0),
        Perceptron(order="random", random_state=0, max_passes=20),
        Perceptron(average=True, max_passes=20),
    ],
    ids=repr,
)
@each_method
def test_the_model_is_the_one_without(model, method: str) -> None:
    X, y = data(3)
    plain = clone(model).fit(X, y)
    calibrated = clone(model).set_params(calibrate=method).fit(X, y)
    assert set(vars(calibrated)) - set(vars(plain)) == {"calibration_"}
    for name in ("coef_", "intercept_", "classes_", "n_iter_"):
        np.testing.assert_array_equal(getattr(calibrated, name), getattr(plain, name))
    assert calibrated.certificate_.primal == plain.certificate_.primal
    assert calibrated.certificate_.gap == plain.certificate_.gap
    np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))


# --- availability and staleness ----------------------------------------------------------------


@pytest.mark.parametrize("kind", [LinearSVC, Perceptron])
def test_without_calibration_there_are_no_probabilities(kind) -> None:
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = kind().fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        assert hasattr(kind(calibrate="sigmoid"), name)
        with pytest.raises(AttributeError) as caught:
            getattr(model, name)
        words = "set calibrate='sigmoid' or calibrate='isotonic', and fit"
        assert words in str(caught.value.__cause__)
    assert not hasattr(model, "calibration_")
    # A calibration that is requested after the fit needs another fit.
    model.set_params(calibrate="sigmoid")
    with pytest.raises(NotFittedError, match="has weights but no calibration"):
        model.predict_proba(X)
    with pytest.raises(NotFittedError):
        kind(calibrate="sigmoid").predict_proba(X)
    model.fit(X, y)
    check_agreement(model.predict_proba(X), model.decision_function(X))
    model.set_params(calibrate=None).fit(X, y)
    assert not hasattr(model, "calibration_")


@pytest.mark.parametrize("bad", ["platt", 1, True, b"sigmoid"], ids=repr)
@pytest.mark.parametrize("kind", [LinearSVC, Perceptron])
def test_a_method_that_is_not_known(kind, bad) -> None:
    with pytest.raises(ValueError) as caught:
        kind(calibrate=bad).fit([[0.0], [1.0]], [0, 1])
    assert str(caught.value) == (
        f"calibrate={bad!r} is not known; choose one of None, 'sigmoid', 'isotonic'."
    )


def test_partial_fit_drops_the_calibration() -> None:
    X, y = data(2)
    y = (X[:, 0] > 0).astype(int)
    model = Perceptron(calibrate="sigmoid").fit(X, y)
    assert "calibration_" in vars(model)
    model.partial_fit(X[:1], y[:1])
    assert "calibration_" not in vars(model)
    with pytest.raises(NotFittedError, match="partial_fit"):
        model.predict_proba(X)
    # A single row of each class is no obstacle to partial_fit.
    model = Perceptron(calibrate="isotonic").partial_fit(X[:2], y[:2], classes=[0, 1])
    assert not hasattr(model, "calibration_")


def test_a_start_is_for_the_model_alone() -> None:
    X, y = data(2)
    y = (X[:, 0] > 0).astype(int)
    plain = Perceptron(calibrate="sigmoid").fit(X, y)
    begun = Perceptron(calibrate="sigmoid").fit(X, y, coef_init=np.eye(4)[0], intercept_init=0.0)
    assert begun.n_updates_ == 0 < plain.n_updates_
    same(begun.calibration_, plain.calibration_)


# --- bad input and other trouble ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [LinearSVC, Perceptron])
def test_a_class_with_one_row(kind) -> None:
    X, y = data(2)
    y = np.array(["no", "yes", "perhaps"])[y]
    y[17] = "perhaps"
    words = (
        "calibrate='sigmoid' needs two rows of every class, one to fit and one to calibrate on, "
        "and class 'perhaps' has 1; add rows of it, leave it out, or set calibrate=None."
    )
    model = kind(calibrate="sigmoid")
    with pytest.raises(ValueError) as caught:
        model.fit(X, y)
    assert str(caught.value) == words
    # Before the fit, not after it.
    assert not hasattr(model, "coef_")


def test_a_class_with_one_row_of_positive_weight() -> None:
    X, y = data(2)
    weights = np.ones(len(y))
    weights[np.flatnonzero(y == 1)[1:]] = 0.0
    with pytest.raises(ValueError, match=r"class 1 has 1; add rows"):
        LinearSVC(calibrate="isotonic").fit(X, y, weights)
    assert hasattr(LinearSVC().fit(X, y, weights), "coef_")


@pytest.mark.parametrize("kind", [LinearSVC, Perceptron])
@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[0.0], [np.nan], [1.0], [2.0]], [0, 0, 1, 1], "NaN at row 1"),
        ([[0.0], [1.0]], [1, 1], "one class only"),
        ([[0.0], [1.0]], [0.5, 1.5], "continuous"),
        ([[0.0], [1.0]], [0.0, np.nan], "NaN"),
        ([[0.0], [1.0]], None, "y"),
        ([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1, 1], "inconsistent numbers of samples"),
    ],
    ids=range(6),
)
def test_other_faults_are_told_as_without(kind, X, y, words: str) -> None:
    messages = []
    for calibrate in (None, "sigmoid"):
        with pytest.raises(ValueError, match=words) as caught:
            kind(calibrate=calibrate).fit(X, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


class Press:
    """A watcher that presses Ctrl-C at the first check of the nth fit."""

    def __init__(self, fit: int) -> None:
        self.fit, self.begun, self.pressed = fit, 0, False

    def __call__(self, progress) -> None:
        self.begun += progress.iteration == 0
        if self.begun == self.fit and not self.pressed:
            self.pressed = True
            timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            timer.join()


@each_method
@pytest.mark.parametrize("fit", [1, 2, 4, 6])
@pytest.mark.parametrize("model", [LinearSVC(), Perceptron(max_passes=500)], ids=repr)
@pytest.mark.signals
def test_ctrl_c(model, method: str, fit: int, default_ctrl_c) -> None:
    X, _ = data(2)
    y = (X[:, 0] > 0).astype(int)
    plain = clone(model).fit(X, y)
    model = clone(model).set_params(calibrate=method).fit(X, y)
    press = Press(fit)
    with watch(press), pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert press.pressed
    # A calibration of an earlier fit would be of another model.
    assert not hasattr(model, "calibration_")
    assert (model.certificate_.status == "interrupted") == (fit == 1)
    if fit > 1:
        assert "the model itself is fitted" in str(caught.value)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert model.certificate_.ok
    model.predict(X)
    with pytest.raises(NotFittedError, match="interrupted"):
        model.predict_proba(X)


def test_the_folds_share_what_is_left_of_the_time_limit() -> None:
    clock_like = Folds(tuple((np.arange(1), np.arange(1)) for _ in range(4)), deadline=-1.0)
    assert 0.0 < clock_like.seconds(0) < clock_like.seconds(3) <= 1e-9
    assert Folds(()).seconds(0) is None
    fitted = []

    class Watched(LinearSVC):
        def fit(self, X, y, **options):
            fitted.append((self.calibrate, self.time_limit, self.record))
            return super().fit(X, y, **options)

    model = Watched(calibrate="sigmoid", time_limit=1000.0, record=True).fit(*data(2))
    assert fitted[0] == ("sigmoid", 1000.0, True) and hasattr(model, "trace_")
    assert len(fitted) == 6
    for done, (calibrate, limit, record) in enumerate(fitted[1:]):
        assert calibrate is None and 0 < limit < 1000.0 / (5 - done)
        # No fold keeps a trace.
        assert record is False


def test_no_time_left_gives_the_best_iterates_and_one_warning() -> None:
    X, y = data(3)
    late = LinearSVC(calibrate="sigmoid", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning) as caught:
        late.fit(X, y)
    first, second = (str(w.message) for w in caught)
    assert first == str(late.certificate_)
    assert "5 folds, 5 of which did not reach tol" in second
    assert "the time limit came before" in second
    assert {w.filename for w in caught} == {__file__}
    check_agreement(late.predict_proba(X), late.decision_function(X))


def test_the_warnings_of_the_folds_are_one() -> None:
    X, y = data(2)
    model = Perceptron(calibrate="isotonic", max_passes=3)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 2
    assert str(caught[0].message) == str(model.certificate_)
    assert str(caught[1].message).startswith("The probabilities are based on fits to 5 folds, ")
    assert {w.filename for w in caught} == {__file__}


def test_other_warnings_of_the_folds_pass() -> None:
    class Noisy(LinearSVC):
        def _cross_fitted_scores(self, X, y, sample_weight, folds):
            warnings.warn("watch out", UserWarning, stacklevel=1)
            return super()._cross_fitted_scores(X, y, sample_weight, folds)

    X, y = data(2)
    with pytest.warns(UserWarning, match="watch out"):
        Noisy(calibrate="sigmoid").fit(X, y)


def test_verbose_names_the_fold(capsys) -> None:
    X, y = data(2)
    LinearSVC(calibrate="sigmoid", verbose=1).fit(X, y)
    told = capsys.readouterr().err
    assert [f"calibration, fold {k} of 5" in told for k in (1, 5, 6)] == [True, True, False]


def test_the_hard_margin() -> None:
    X, y = data(2)
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 0.2, -0.2)
    model = LinearSVC(C=np.inf, calibrate="sigmoid").fit(X, y)
    check_agreement(model.predict_proba(X), model.decision_function(X))
    assert hasattr(model, "support_")


# --- files, copies, verification ---------------------------------------------------------------


@overlap
@each_model
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_file_keeps_the_probabilities(model, classes: int, tmp_path) -> None:
    X, y = data(classes)
    model = clone(model).fit(X, np.array(["a", "b", "c"])[y])
    path = tmp_path / "model.separatrix"
    save_model(path, model)
    for again in (
        load_model(path).model,
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        assert again.calibrate == model.calibrate
        same(again.calibration_, model.calibration_)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_verify_looks_at_the_model_alone(classes: int) -> None:
    X, y = data(classes)
    model = LinearSVC(calibrate="sigmoid").fit(X, y)
    assert verify(model, X, y).status == "optimal"
    # Also on data whose classes would be too small for folds.
    few = np.unique(y, return_index=True)[1]
    assert verify(model, X[few], y[few]).primal < model.certificate_.primal


# --- beside scikit-learn's ---------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_scikit_learns_sigmoid_from_the_same_folds(C: float) -> None:
    X, y = standard(load_breast_cancer)
    model = Recording(C=C, calibrate="sigmoid").fit(X, y)
    folds, scores = model.seen
    peer = CalibratedClassifierCV(
        LinearSVC(C=C), method="sigmoid", ensemble=False, cv=list(folds)
    ).fit(X, y)
    values = cross_val_predict(LinearSVC(C=C), X, y, cv=list(folds), method="decision_function")
    np.testing.assert_allclose(scores, values, rtol=1e-9, atol=1e-9)
    (sigmoid,) = peer.calibrated_classifiers_[0].calibrators
    # Theirs is 1 / (1 + exp(a f + b)), and stops earlier.
    np.testing.assert_allclose(model.calibration_["slope"], -sigmoid.a_, rtol=1e-3)
    np.testing.assert_allclose(model.calibration_["intercept"], -sigmoid.b_, rtol=2e-3)
    proba, theirs = model.predict_proba(X)[:, 1], peer.predict_proba(X)[:, 1]
    agree = (theirs >= 0.5) == (model.decision_function(X) >= 0)
    np.testing.assert_allclose(proba[agree], theirs[agree], atol=1e-3)
    assert agree.mean() > 0.95


@pytest.mark.crossed
@each_method
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_as_good_as_scikit_learns(method: str, load) -> None:
    X, y = load(return_X_y=True)
    outer = StratifiedKFold(3, shuffle=True, random_state=0)
    ours = make_pipeline(StandardScaler(), LinearSVC(calibrate=method))
    theirs = make_pipeline(
        StandardScaler(), CalibratedClassifierCV(LinearSVC(), method=method, ensemble=False)
    )
    mine, other = (
        cross_val_predict(m, X, y, cv=outer, method="predict_proba") for m in (ours, theirs)
    )
    assert log_loss(y, mine) < 1.05 * log_loss(y, other)
    assert brier_score_loss(y, mine) < 1.1 * brier_score_loss(y, other)
