"""SGDClassifier: special cases, certificates, weights, early stopping, rates, bad input."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier as SklearnSGD
from sklearn.preprocessing import scale

from separatrix import LinearSVC, LogisticRegression, Perceptron, SGDClassifier, verify
from separatrix.losses import LogLoss, SquaredError
from separatrix.schedules import Constant, InverseTime, Power
from separatrix.solvers.driver import watch

NOT_CERTIFIED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def overlapping(n: int = 300, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)


# --- the perceptrons -----------------------------------------------------------------------------


def same_updates(one, other) -> None:
    """Two models made the very same corrections, to the digit."""
    traces = [m.trace_ if isinstance(m.trace_, tuple) else (m.trace_,) for m in (one, other)]
    for a, b in zip(*traces, strict=True):
        assert len(a.updates) == len(b.updates)
        for u, v in zip(a.updates, b.updates, strict=True):
            assert (u.sample, u.epoch, u.mistakes) == (v.sample, v.epoch, v.mistakes)
            assert np.array_equal(u.coef_before, v.coef_before)
            assert u.intercept_before == v.intercept_before
            assert np.array_equal(u.coef, v.coef)
            assert u.intercept == v.intercept


def test_published_updates() -> None:
    X, y = [(-1, 3), (-1, -1), (3, -1), (0, 1.5)], [-1, -1, 1, 1]
    model = SGDClassifier.perceptron(record=True).fit(X, y)
    assert [[*u.coef, u.intercept] for u in model.trace_.updates][:2] == [[1, -3, -1], [2, -2, -2]]
    assert len(model.trace_.updates) == 9
    assert [*model.coef_[0], model.intercept_[0]] == [4.0, -0.5, 1.0]
    same_updates(model, Perceptron(record=True).fit(X, y))
    assert model.certificate_.ok and model.certificate_.primal == 0.0


@pytest.mark.parametrize(
    ("third", "updates", "last"), [([-1, 1.5], 2, [-2.0, 0.5]), ([-1, 10], 6, [-6.0, 5.0])]
)
def test_published_updates_through_the_origin(third, updates: int, last) -> None:
    X, y = np.array([[-1, -1], [1, 0], third]), np.array([1, -1, 1])
    model = SGDClassifier.perceptron(fit_intercept=False, record=True).fit(X, y)
    assert len(model.trace_.updates) == updates
    assert model.coef_.tolist() == [last]
    # From the second row on there is one.
    order = [1, 2, 0]
    again = SGDClassifier.perceptron(fit_intercept=False, record=True).fit(X[order], y[order])
    assert len(again.trace_.updates) == 1


@pytest.mark.crossed
@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("lift", [True, False])
def test_the_very_updates_of_the_perceptron(margin: float, kind, lift: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.8)
        y = np.where(X @ rng.normal(size=5) > 0, "up", "down")
        X[:, 0] += 0.0
        old = Perceptron(margin=margin, fit_intercept=lift, record=True).fit(kind(X), y)
        make = SGDClassifier.margin_perceptron if margin else None
        new = (
            make(margin, fit_intercept=lift, record=True)
            if make
            else SGDClassifier.perceptron(fit_intercept=lift, record=True)
        ).fit(kind(X), y)
        assert len(old.trace_.updates) > 10
        same_updates(new, old)
        assert old.certificate_.ok and new.certificate_.ok
        assert np.array_equal(new.coef_, old.coef_)
        assert np.array_equal(new.intercept_, old.intercept_)
        assert new.n_iter_ == old.n_iter_
        assert new.n_steps_.tolist() == [60 * new.n_iter_]


@NOT_CERTIFIED
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_the_very_updates_on_classes_that_overlap(rate: float) -> None:
    X, y = iris()
    old = Perceptron(max_passes=20, learning_rate=rate, record=True).fit(X, y)
    new = SGDClassifier.perceptron(max_iter=20, learning_rate=Constant(rate), record=True).fit(X, y)
    same_updates(new, old)


def test_the_average_of_the_perceptron() -> None:
    X, y = iris()
    y = y == 0
    old = Perceptron(average=True).fit(X, y)
    new = SGDClassifier.perceptron(average=True).fit(X, y)
    np.testing.assert_allclose(new.plain_coef_, old.plain_coef_, rtol=1e-13)
    np.testing.assert_allclose(new.coef_, old.coef_, rtol=1e-12)
    np.testing.assert_allclose(new.intercept_, old.intercept_, rtol=1e-12)
    assert new.n_visits_ == old.n_visits_


def test_the_passes_of_partial_fit() -> None:
    X, y = overlapping()
    old, new = Perceptron(), SGDClassifier.perceptron()
    for rows in np.array_split(np.arange(len(y)), 7):
        old.partial_fit(X[rows], y[rows], classes=[0, 1])
        new.partial_fit(X[rows], y[rows], classes=[0, 1])
        assert np.array_equal(new.coef_, old.coef_)
        assert np.array_equal(new.intercept_, old.intercept_)
    assert new.n_steps_.tolist() == [len(y)]
    assert new.n_iter_ == old.n_iter_ == 7


def test_a_margin_is_reached() -> None:
    X, y = iris()
    y = np.where(y == 0, 1, -1)
    model = SGDClassifier.margin_perceptron(5.0).fit(X, y)
    assert np.min(y * model.decision_function(X)) >= 5.0
    assert model.certificate_.ok and model.certificate_.primal == 0.0
    assert "max(0, 5 - y (w.x + b))" in model.objective_formula_
    # With a penalty it is a support vector machine.
    model = SGDClassifier("perceptron", margin=1.0, alpha=0.1, random_state=0, tol=1e-2).fit(X, y)
    best = LinearSVC(loss="hinge", lam=0.1).fit(X, y).certificate_
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(best.primal, rel=1e-2)


# --- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "peer"),
    [
        ("log_loss", LogisticRegression(lam=0.1, multiclass="ovr")),
        ("hinge", LinearSVC(lam=0.1, loss="hinge")),
        ("squared_hinge", LinearSVC(lam=0.1)),
    ],
)
@pytest.mark.parametrize("data", [cancer, iris])
@pytest.mark.parametrize("weighted", [False, True])
def test_certified_solvers_agree(loss: str, peer, data, weighted: bool) -> None:
    X, y = data()
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y)) if weighted else None
    model = SGDClassifier(loss, alpha=0.1, tol=5e-3, random_state=0).fit(X, y, sample_weight=w)
    best = clone(peer).fit(X, y, sample_weight=w).certificate_
    found = model.certificate_
    assert found.ok
    # Each in the interval of the other.
    assert found.dual <= best.primal and best.dual <= found.primal
    assert found.primal <= best.primal * (1 + 5e-3 + 1e-6)
    # The penalty is strongly convex: |w - w*|^2 <= 2 gap, for both.
    reach = np.sqrt(2 * found.gap) + np.sqrt(2 * best.gap)
    assert np.linalg.norm(model.coef_ - clone(peer).fit(X, y, sample_weight=w).coef_) <= reach


@pytest.mark.crossed
@NOT_CERTIFIED
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge", "squared_error"])
@pytest.mark.parametrize("average", [False, True, 1000, "linear"])
def test_the_certificate_is_true(loss: str, average) -> None:
    X, y = overlapping()
    model = SGDClassifier(
        loss, alpha=0.01, average=average, max_iter=4, tol=1e-9, batch_size=3, random_state=0
    ).fit(X, y)
    found = model.certificate_
    assert found.status == "max_iter"
    assert model.n_iter_ == found.n_iter == 4
    assert model.n_steps_.tolist() == [400]
    tight = verify(model, X, y, tol=1e-6)
    # The same objective at the same weights; and no bound beyond the optimum.
    assert found.primal == pytest.approx(tight.primal, rel=1e-10)
    assert found.dual <= tight.primal
    optimum = tight.primal - tight.gap
    assert found.dual <= optimum * (1 + 1e-5)
    s = np.where(y == 1, 1, -1)
    z = s * model.decision_function(X)
    losses = {
        "hinge": np.maximum(1 - z, 0),
        "log_loss": np.log1p(np.exp(-z)),
        "squared_hinge": np.maximum(1 - z, 0) ** 2,
        "squared_error": (1 - z) ** 2 / 2,
    }[loss]
    # The printed form is the documented one over alpha.
    documented = losses.mean() + 0.01 / 2 * np.sum(model.coef_**2)
    assert found.primal == pytest.approx(documented / 0.01, rel=1e-10)


@NOT_CERTIFIED
def test_without_a_penalty_the_formula_says_so() -> None:
    X, y = overlapping()
    options = {"learning_rate": "invscaling", "random_state": 0, "max_iter": 50}
    none = SGDClassifier("log_loss", penalty=None, **options).fit(X, y)
    zero = SGDClassifier("log_loss", alpha=0.0, **options).fit(X, y)
    assert np.array_equal(none.coef_, zero.coef_)
    assert "|w|" not in none.objective_formula_
    best = LogisticRegression(penalty=None).fit(X, y).certificate_
    # There the loss is summed, here it is a mean.
    assert none.certificate_.primal >= best.dual / len(y)
    assert none.certificate_.primal <= 1.1 * best.primal / len(y)
    assert none.certificate_.dual <= best.primal / len(y)


def test_a_loss_may_be_an_object() -> None:
    X, y = overlapping()
    options = {"alpha": 0.1, "random_state": 0}
    one = SGDClassifier(LogLoss(), **options).fit(X, y)
    other = SGDClassifier("log_loss", **options).fit(X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert clone(SGDClassifier(SquaredError(), **options)).fit(X, y).certificate_.ok


def test_probabilities() -> None:
    X, y = iris()
    model = SGDClassifier("log_loss", alpha=0.05, tol=1e-2, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    expected = 1 / (1 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(proba, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    binary = SGDClassifier("log_loss", alpha=0.05, tol=1e-2, random_state=0).fit(X, y == 0)
    np.testing.assert_allclose(
        binary.predict_proba(X)[:, 1], 1 / (1 + np.exp(-binary.decision_function(X)))
    )
    assert not hasattr(SGDClassifier("hinge"), "predict_proba")


# --- steps, and the method in their place --------------------------------------------------------

CHOICES = [
    {"learning_rate": "constant", "eta0": 0.1},
    {"eta0": 0.1},
    {"batch_size": 2},
    {"average": False},
    {"average": 20},
    {"shuffle": False},
    {"step_tol": 0.1},
    {"early_stopping": True},
]


def test_digits_are_certified_without_a_warning() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = scale(X)[:600], y[:600]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SGDClassifier().fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.learning_rate_formula_ == "none"
    assert not {"eta0_", "rate_curve_", "plain_coef_"} & set(vars(model))
    # The seed decides nothing.
    assert np.array_equal(model.coef_, SGDClassifier(random_state=1).fit(X, y).coef_)


@NOT_CERTIFIED
def test_any_choice_of_the_steps_is_a_fit_by_steps() -> None:
    X, y = overlapping(n=60)
    for options in CHOICES:
        model = SGDClassifier("log_loss", alpha=0.05, max_iter=3, **options).fit(X, y)
        assert model.learning_rate_formula_ != "none", options
        assert model.eta0_ > 0.0, options
        assert model.n_steps_[0] > 0, options
    for options in ({"max_iter": 50}, {"random_state": 3}, {"warm_start": True}, {"record": True}):
        model = SGDClassifier("log_loss", alpha=0.05, **options).fit(X, y)
        assert model.learning_rate_formula_ == "none", options
        assert model.certificate_.ok, options


def test_both_ways_have_one_objective() -> None:
    X, y = overlapping(n=80)
    for loss in ("hinge", "log_loss", "squared_hinge", "modified_huber", "squared_error"):
        whole = SGDClassifier(loss, alpha=0.05, tol=1e-6).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            steps = SGDClassifier(loss, alpha=0.05, average=True, max_iter=30, tol=None).fit(X, y)
        assert whole.objective_formula_ == steps.objective_formula_
        # Each in the interval of the other.
        assert whole.certificate_.dual <= steps.certificate_.primal, loss
        assert steps.certificate_.dual <= whole.certificate_.primal, loss
        assert steps.certificate_.primal <= 1.1 * whole.certificate_.primal, loss


def test_steps_end_by_the_rule_of_scikit_learn() -> None:
    X, y = overlapping()
    options = {"alpha": 0.01, "learning_rate": "constant", "eta0": 0.1, "average": False}
    with pytest.warns(ConvergenceWarning, match="stalled: objective .* lower tol, or leave"):
        model = SGDClassifier("log_loss", **options).fit(X, y)
    assert 5 < model.n_iter_ < 60
    peer = SklearnSGD(loss="log_loss", random_state=0, **options).fit(X, y)
    assert abs(model.n_iter_ - peer.n_iter_) <= 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        longer = SGDClassifier("log_loss", n_iter_no_change=12, **options).fit(X, y)
    assert longer.n_iter_ > model.n_iter_
    # All passes, without a tolerance; and losses that kernels do not know the value of.
    assert SGDClassifier("log_loss", tol=None, max_iter=70, **options).fit(X, y).n_iter_ == 70


@NOT_CERTIFIED
def test_passes_in_one_loop_are_those_of_one_by_one() -> None:
    X, y = iris()
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    for options in ({"eta0": 0.1}, {"average": False, "batch_size": 3}, {"step_tol": 0.05}):
        model = SGDClassifier("log_loss", alpha=0.01, **options)
        alone = clone(model).fit(X, y, sample_weight=weights)
        with watch(lambda progress: None):
            followed = clone(model).fit(X, y, sample_weight=weights)
        assert np.array_equal(alone.coef_, followed.coef_), options
        assert alone.n_iter_ == followed.n_iter_, options
        assert alone.certificate_.gap == followed.certificate_.gap, options


# --- weights, order, storage ---------------------------------------------------------------------


@NOT_CERTIFIED
@pytest.mark.parametrize(
    "options",
    [{"average": True}, {"batch_size": 5}, {"early_stopping": True, "max_iter": 100}],
    ids=str,
)
def test_a_weight_of_k_is_k_copies_in_any_order(options: dict) -> None:
    X, y = overlapping(n=150)
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 4, size=150)
    copies = rng.permutation(np.repeat(np.arange(150), weights))
    make = lambda: SGDClassifier(alpha=0.05, random_state=0, **{"max_iter": 30, **options})  # noqa: E731
    weighted = make().fit(X, y, sample_weight=weights)
    copied = make().fit(X[copies], y[copies])
    assert np.array_equal(weighted.coef_, copied.coef_)
    assert np.array_equal(weighted.intercept_, copied.intercept_)
    assert weighted.eta0_ == copied.eta0_
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-12)


def test_scaled_weights_are_the_same_objective() -> None:
    X, y = overlapping()
    weights = np.random.default_rng(0).choice([1.0, 2.0], size=len(y))
    one, *others = (
        SGDClassifier(alpha=0.05, tol=1e-2, random_state=0).fit(
            X, y, sample_weight=factor * weights
        )
        for factor in (1.0, 0.5, 2.0**-40)
    )
    assert one.certificate_.ok
    for other in others:
        assert other.certificate_.ok
        assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-2)
    # As far as copies go, one is as good as the other: the largest weight is one.
    assert np.array_equal(others[0].coef_, others[1].coef_)


def test_data_of_next_to_nothing() -> None:
    model = SGDClassifier("log_loss", random_state=0).partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    assert model.predict([[1.0, 2.0]]).tolist() == [1]
    zero = SGDClassifier(
        "log_loss", penalty=None, learning_rate="constant", fit_intercept=False, max_iter=2
    )
    zero.fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert not zero.coef_.any()
    assert zero.certificate_.ok
    assert zero.certificate_.primal == pytest.approx(np.log(2))


def test_class_weights_are_weights() -> None:
    X, y = overlapping()
    one = SGDClassifier(alpha=0.1, class_weight={0: 1, 1: 3}, tol=1e-2, random_state=0).fit(X, y)
    best = LinearSVC(loss="hinge", lam=0.1, class_weight={0: 1, 1: 3}).fit(X, y).certificate_
    assert one.certificate_.ok
    assert one.certificate_.primal == pytest.approx(best.primal, rel=1e-2)
    balanced = SGDClassifier(alpha=0.1, class_weight="balanced", tol=1e-2, random_state=0).fit(X, y)
    best = LinearSVC(loss="hinge", lam=0.1, class_weight="balanced").fit(X, y).certificate_
    assert balanced.certificate_.primal == pytest.approx(best.primal, rel=1e-2)


@NOT_CERTIFIED
def test_storage_makes_no_difference() -> None:
    X, y = overlapping()
    X = np.where(np.abs(X) < 0.4, 0.0, X).astype(np.float32).astype(np.float64)
    models = [
        SGDClassifier(alpha=0.01, average=True, max_iter=10, random_state=0).fit(A, y)
        for A in (X, X.astype(np.float32), sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.coef_, models[0].coef_, rtol=1e-9)
        assert other.certificate_.primal == pytest.approx(models[0].certificate_.primal, rel=1e-9)


@NOT_CERTIFIED
def test_the_seed_decides() -> None:
    X, y = iris()
    one, same, other = (
        SGDClassifier(max_iter=3, average=True, random_state=s).fit(X, y) for s in (1, 1, 2)
    )
    assert np.array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)
    # Without shuffling there is nothing to decide, but where the rate is searched for.
    one, other = (
        SGDClassifier(max_iter=3, eta0=0.1, shuffle=False, random_state=s).fit(X, y) for s in (1, 2)
    )
    assert np.array_equal(one.coef_, other.coef_)


def test_the_data_are_left_as_they_were() -> None:
    X, y = overlapping()
    before = X.copy()
    X.flags.writeable = y.flags.writeable = False
    SGDClassifier(alpha=0.1, tol=1e-2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(X, before)


# --- partial_fit ---------------------------------------------------------------------------------


@pytest.mark.crossed
@NOT_CERTIFIED
@pytest.mark.parametrize("average", [False, True, 100, "linear"])
@pytest.mark.parametrize("data", [overlapping, iris])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_are_one_pass(average, data, weighted: bool) -> None:
    X, y = data()
    # The order mixes the classes, as otherwise one pass would end worse than it began.
    rng = np.random.default_rng(0)
    mixed = rng.permutation(len(y))
    X, y = X[mixed], y[mixed]
    w = rng.choice([0.5, 1.0, 2.0], size=len(y)) if weighted else np.ones(len(y))
    options = {"shuffle": False, "eta0": 0.05, "alpha": 0.01, "average": average}
    whole = SGDClassifier(max_iter=1, tol=1e-12, **options).fit(X, y, sample_weight=w)
    model = SGDClassifier(**options)
    for rows in np.array_split(np.arange(len(y)), [3, 4, 50, 120]):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y), sample_weight=w[rows])
    last = model.plain_coef_ if average else model.coef_
    np.testing.assert_allclose(last, whole.plain_coef_ if average else whole.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-9)
    assert model.n_steps_.tolist() == whole.n_steps_.tolist()
    assert model.n_iter_ == 5


@NOT_CERTIFIED
def test_partial_fit_goes_on_after_fit() -> None:
    X, y = overlapping()
    options = {"alpha": 0.05, "average": True, "random_state": 0, "max_iter": 2, "tol": 1e-9}
    model = SGDClassifier(**options).fit(X, y)
    steps, gap, rate = model.n_steps_[0], model.certificate_.primal, model.eta0_
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.n_steps_[0] == steps + 20 * len(y)
    assert model.n_iter_ == 22
    assert model.eta0_ == rate
    assert model.certificate_.primal < gap
    again = SGDClassifier(**options).fit(X, y)
    fitted = model.fit(X, y)
    assert np.array_equal(fitted.coef_, again.coef_)
    # From the optimum, too, steps go on at the rates that as many passes would have reached.
    optimum = SGDClassifier(alpha=0.05, random_state=0).fit(X, y)
    passes, value = optimum.n_iter_, optimum.certificate_.primal
    optimum.partial_fit(X, y)
    assert optimum.n_steps_.tolist() == [(passes + 1) * len(y)]
    assert optimum.certificate_.primal <= 1.1 * value


def test_partial_fit_says_what_is_wrong() -> None:
    X, y = iris()
    model = SGDClassifier()
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] differ from those of earlier calls"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"Row 2 has the label 7, which is not in classes="):
        model.partial_fit(X[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="sample_weight must not be negative; row 1 has -1"):
        model.partial_fit(X[:3], y[:3], sample_weight=[1, -1, 1])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        model.set_params(class_weight="balanced").partial_fit(X, y)


def test_partial_fit_that_overflows_changes_nothing() -> None:
    X, y = overlapping()
    model = SGDClassifier("squared_hinge", learning_rate=Constant(0.01), random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.n_steps_.copy()
    model.set_params(learning_rate=Constant(1e300))
    with pytest.warns(ConvergenceWarning, match="non_finite"):
        model.partial_fit(X, y)
    assert np.array_equal(model.coef_, before[0])
    assert np.array_equal(model.n_steps_, before[1])


# --- rates ---------------------------------------------------------------------------------------


@NOT_CERTIFIED
def test_the_search_and_its_curve() -> None:
    X, y = cancer()
    options = {"alpha": 0.05, "tol": 1e-2, "average": True, "random_state": 0}
    model = SGDClassifier("log_loss", **options).fit(X, y)
    curve = model.rate_curve_
    assert sorted(curve) == ["objective", "rates"]
    assert model.eta0_ == curve["rates"][curve["objective"].argmin()]
    again = SGDClassifier("log_loss", **options)
    found = again.search_learning_rate(X, y)
    assert np.array_equal(found["rates"], curve["rates"])
    assert np.array_equal(found["objective"], curve["objective"])
    assert set(vars(again)) == set(again.get_params())
    own = again.search_learning_rate(X, y, rates=[1e-3, 1e-1])
    assert own["rates"].tolist() == [1e-3, 1e-1]
    # A number is taken as it is, and leaves no curve.
    given = model.set_params(eta0=0.01).fit(X, y)
    assert given.eta0_ == 0.01
    assert not hasattr(given, "rate_curve_")
    assert given.learning_rate_formula_ == "eta_k = 20 / (2000 + k)"
    assert "reach the optimum" in given.learning_rate_condition_


def test_a_rate_that_diverged_is_never_chosen() -> None:
    X, y = overlapping()
    model = SGDClassifier("squared_error", learning_rate="constant", alpha=0.01, random_state=0)
    curve = model.search_learning_rate(X, y, rates=[1e-3, 1e3, 1e200])
    assert np.isfinite(curve["objective"][0])
    assert np.isinf(curve["objective"][2])
    assert curve["objective"].argmin() == 0
    several = SGDClassifier("squared_error", alpha=0.01, random_state=0)
    X, y = iris()
    curve = several.search_learning_rate(X, y, rates=[1e-2, 1e100])
    assert curve["objective"].argmin() == 0


def test_the_search_for_a_schedule_of_ones_own() -> None:
    X, y = overlapping()
    model = SGDClassifier(learning_rate=Power(1.0, tau=10.0, kappa=0.8), random_state=0)
    curve = model.search_learning_rate(X, y, rates=[1e-3, 1.0])
    best = curve["rates"][curve["objective"].argmin()]
    assert best == 1.0
    with pytest.raises(ValueError, match="rates=-1.0 must be a finite number greater than 0"):
        model.search_learning_rate(X, y, rates=[1.0, -1.0])


@NOT_CERTIFIED
@pytest.mark.parametrize(
    ("rate", "formula", "converges"),
    [
        (Constant(0.5), "eta_k = 0.5", False),
        (InverseTime(2.0), "eta_k = 2 / k", True),
        (Power(1.0, 2.0, 0.75), "eta_k = 1 * (2 + k)^-0.75", True),
    ],
)
def test_the_schedule_is_stated(rate, formula: str, converges: bool) -> None:
    X, y = overlapping()
    model = SGDClassifier(learning_rate=rate, max_iter=2).fit(X, y)
    assert model.learning_rate_formula_ == formula
    assert ("reach the optimum" in model.learning_rate_condition_) == converges
    assert not hasattr(model, "eta0_")


def test_no_rate_stays_finite() -> None:
    X, y = overlapping()
    with pytest.raises(ValueError, match="found no learning rate .* standardise the features"):
        SGDClassifier(average=True, random_state=0).fit(X * 1e160, y)


# --- stopping ------------------------------------------------------------------------------------


def test_early_stopping_holds_rows_out() -> None:
    X, y = overlapping(n=400)
    model = SGDClassifier(
        "log_loss",
        alpha=1e-4,
        learning_rate=Constant(0.5),
        early_stopping=True,
        random_state=0,
        validation_fraction=0.2,
    )
    with pytest.warns(ConvergenceWarning, match="early_stopped"):
        model.fit(X, y)
    held = model.validation_rows_
    # A fifth of each class is held out.
    for k in (0, 1):
        assert np.sum(y[held] == k) == round(0.2 * np.sum(y == k))
    assert len(model.validation_scores_) == model.n_iter_
    assert model.score(X[held], y[held]) == pytest.approx(model.validation_scores_.max())
    assert int(model.validation_scores_.argmax()) <= model.n_iter_ - 6
    # The objective is that of the other rows.
    rest = np.setdiff1d(np.arange(400), held)
    z = np.where(y[rest] == 1, 1, -1) * model.decision_function(X[rest])
    expected = np.log1p(np.exp(-z)).sum() + 1e-4 * len(rest) / 2 * np.sum(model.coef_**2)
    assert model.certificate_.primal == pytest.approx(expected / (1e-4 * len(rest)), rel=1e-10)
    assert verify(model, X, y).primal == pytest.approx(model.certificate_.primal, rel=1e-10)
    # A certified optimum comes first.
    easy = SGDClassifier("log_loss", alpha=0.5, tol=1e-2, early_stopping=True, random_state=0)
    assert easy.fit(X, y).certificate_.status == "optimal"


@NOT_CERTIFIED
def test_copies_are_held_out_together() -> None:
    X, y = overlapping(n=60)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    model = SGDClassifier(early_stopping=True, max_iter=3, random_state=0).fit(X, y)
    held = set(model.validation_rows_.tolist())
    assert 0 < len(held) < 60
    assert all((i in held) == (i + 60 in held) == (i + 120 in held) for i in range(60))
    several = SGDClassifier(early_stopping=True, max_iter=3, random_state=0).fit(*iris())
    assert [len(scores) for scores in several.validation_scores_] == [3, 3, 3]
    # What was held out belongs to that fit alone.
    again = several.set_params(early_stopping=False).fit(*iris())
    assert not hasattr(again, "validation_rows_")
    assert not hasattr(again, "validation_scores_")


def test_nothing_to_hold_out() -> None:
    with pytest.raises(ValueError, match="early_stopping=True needs two different rows"):
        SGDClassifier(early_stopping=True).fit([[0.0], [1.0], [1.0]], [0, 1, 1])


def test_a_small_step() -> None:
    X, y = overlapping()
    model = SGDClassifier(alpha=1e-3, step_tol=0.05, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="small_step.*lower step_tol"):
        model.fit(X, y)
    assert model.n_iter_ < 1000


def test_too_few_passes_are_said_to_be() -> None:
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="max_iter: objective .*within .* % of the best"):
        SGDClassifier(max_iter=2, eta0=0.1, random_state=0).fit(X, y)


@NOT_CERTIFIED
def test_a_time_limit_is_kept() -> None:
    X, y = overlapping(n=2000)
    model = SGDClassifier(eta0=0.1, tol=None, max_iter=1, random_state=0).fit(X, y)
    # What is compiled by now takes a hundredth of the limit for a step.
    model.set_params(max_iter=10**9, time_limit=0.1).fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.n_iter_ > 0


@pytest.fixture
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("default_ctrl_c")
@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(eta0=0.1, tol=None, random_state=0),
        SGDClassifier.perceptron(),
        SGDClassifier(tol=1e-15, early_stopping=True, n_iter_no_change=10**6, random_state=0),
    ],
    ids=["steps", "perceptron", "early stopping"],
)
@pytest.mark.signals
def test_ctrl_c_keeps_the_best_so_far(model) -> None:
    X, _ = overlapping(n=200)
    y = np.random.default_rng(0).integers(3, size=200)
    pressed = []

    def press(progress) -> None:
        if (progress.part, progress.iteration) == ("1", 3) and not pressed:
            pressed.append(True)
            timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            timer.join()
            time.sleep(0.01)

    with watch(press), pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert pressed
    assert model.certificate_.status == "interrupted"
    assert str(caught.value) == str(model.certificate_)
    assert model.certificate_.parts[1].n_iter in (3, 4)
    assert model.certificate_.parts[2].n_iter == 0
    assert model.certificate_.primal >= model.certificate_.dual
    assert set(model.predict(X)) <= {0, 1, 2}


@NOT_CERTIFIED
def test_a_trace_of_every_pass() -> None:
    X, y = overlapping()
    options = {"alpha": 0.01, "eta0": 0.1, "max_iter": 12, "tol": 1e-9, "random_state": 0}
    model = SGDClassifier(record=True, **options).fit(X, y)
    trace = model.trace_
    assert trace.iterations == list(range(13))
    assert np.all(trace.gap >= 0)
    assert np.all(np.diff(trace.dual) >= 0)
    assert trace.primal[-1] == model.certificate_.primal
    assert np.array_equal(trace.coef[-1], model.coef_[0])
    # Steps of a smooth loss are too many to keep.
    assert trace.updates == []


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"loss": "logarithm"},
            "loss='logarithm' is not known; choose one of 'hinge', 'log_loss', ",
        ),
        ({"loss": LogLoss}, "loss=<class"),
        ({"penalty": "l3"}, "penalty='l3' is not known; choose one of 'l2', 'l1', 'elasticnet',"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set when penalty is"),
        ({"penalty": "elasticnet", "l1_ratio": 2.0}, "l1_ratio=2.0 must be a number from 0 to 1."),
        (
            {"penalty": "l1", "early_stopping": True},
            "early_stopping=True needs passes over the rows, and fits with an L1 penalty",
        ),
        ({"alpha": -1}, "alpha=-1 must be a finite number of at least 0."),
        ({"alpha": np.inf}, "alpha=inf must be a finite number of at least 0."),
        ({"margin": -1}, "margin=-1 must be a finite number of at least 0."),
        (
            {"margin": 1.0},
            "margin=1.0 is for loss='perceptron', and loss='hinge' has its own margin",
        ),
        ({"alpha": 0.0}, "learning_rate='optimal' is 1 / (alpha (t0 + k)) and needs a penalty"),
        ({"learning_rate": "pa1"}, "learning_rate='pa1' is the passive-aggressive algorithm"),
        ({"learning_rate": 0.1}, "learning_rate=0.1 is not known; choose one of 'optimal'"),
        (
            {"learning_rate": "invscaling", "power_t": 1.5},
            "power_t=1.5 must be from 0 to 1; otherwise the steps may stop short",
        ),
        ({"eta0": -1}, "eta0=-1 must be a finite number of at least 0."),
        ({"eta0": "find"}, "eta0='find' is not known; choose one of 'search'."),
        (
            {"learning_rate": Constant(1.0), "eta0": 0.1},
            "learning_rate=Constant(rate=1.0) has its own rate; leave eta0 at 'search'",
        ),
        ({"batch_size": 0}, "batch_size=0 must be a finite whole number of at least 1."),
        ({"average": -1}, "average=-1 must be a finite whole number of at least 0."),
        ({"average": "late"}, "average='late' is not known; choose one of 'linear', True, False."),
        ({"shuffle": 1}, "shuffle=1 is not known; choose one of True, False."),
        ({"max_iter": 0}, "max_iter=0 must be a finite whole number of at least 1."),
        ({"tol": -1}, "tol=-1 must be a finite number of at least 0."),
        ({"step_tol": 0}, "step_tol=0 must be a finite number greater than 0."),
        ({"early_stopping": "yes"}, "early_stopping='yes' is not known; choose one of True"),
        ({"validation_fraction": 0}, "validation_fraction=0 must be a finite number greater"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 must be less than 1,"),
        ({"n_iter_no_change": 0}, "n_iter_no_change=0 must be a finite whole number of at least"),
        ({"time_limit": 0}, "time_limit=0 must be a finite number greater than 0."),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_bad_parameters_in_one_sentence(options: dict, words: str) -> None:
    X, y = overlapping(n=30)
    for call in ("fit", "search_learning_rate", "partial_fit"):
        with pytest.raises(ValueError) as caught:
            getattr(SGDClassifier(**options), call)(X, y)
        assert str(caught.value).startswith(words)
        assert "\n" not in str(caught.value)


def test_bad_data_are_named() -> None:
    X, y = overlapping(n=30)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, column 2"):
        SGDClassifier().fit(X, y)
    X[7, 2] = 0.0
    with pytest.raises(ValueError, match="y has one class only"):
        SGDClassifier().fit(X, np.ones(30))
    with pytest.raises(ValueError, match="visited k times in every pass; divide all weights by"):
        SGDClassifier(eta0=0.1).fit(X, y, sample_weight=np.full(30, 1e8))
    with pytest.raises(ValueError, match="sample_weight must not be negative; row 3"):
        SGDClassifier().fit(X, y, sample_weight=np.where(np.arange(30) == 3, -1.0, 1.0))
    assert clone(SGDClassifier.margin_perceptron(2.0)).get_params()["margin"] == 2.0
