"""The perceptron: the published sequences, to the digit."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference_perceptron as reference
from separatrix import LinearSVC, Perceptron, SGDClassifier, SGDRegressor, verify
from separatrix.data.random_state import generator_of, seed_of
from separatrix.exceptions import ConventionWarning
from separatrix.models import sklearn_compat
from separatrix.persistence.model_file import load_model, save_model
from separatrix.solvers.driver import watch
from separatrix.solvers.perceptron import ORDERS
from separatrix.solvers.schedules import Constant

LIFTED_X = np.array([[-1, 3], [-1, -1], [3, -1], [0, 1.5]])
LIFTED_Y = np.array([-1, -1, 1, 1])


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, np.float32])
def test_the_lifted_example(kind) -> None:
    # From zero, cyclic, with a trailing constant 1: 9 updates, (1, -3, -1) to (4, -0.5, 1).
    model = Perceptron(record=True).fit(kind(LIFTED_X), LIFTED_Y)
    W = [(*u.coef.tolist(), u.intercept) for u in model.trace_.updates]
    assert W[0] == (1.0, -3.0, -1.0)
    assert W[1] == (2.0, -2.0, -2.0)
    assert W[-1] == (4.0, -0.5, 1.0)
    assert len(W) == 9 == model.n_updates_ == model.mistakes_.sum()
    # The whole sequence, by hand: W += y (x, 1) at every mistake.
    expected, theta = [], np.zeros(3)
    rows = np.hstack([LIFTED_X, np.ones((4, 1))])
    while True:
        before = len(expected)
        for row, sign in zip(rows, LIFTED_Y, strict=True):
            if sign * (row @ theta) <= 0:
                theta = theta + sign * row
                expected.append(tuple(theta))
        if len(expected) == before:
            break
    assert expected == W
    assert model.coef_.tolist() == [[4.0, -0.5]]
    assert model.intercept_.tolist() == [1.0]
    assert model.certificate_.ok
    assert model.certificate_.primal == 0.0


@pytest.mark.parametrize(
    ("third", "first", "mistakes", "last"),
    [
        ([-1, 1.5], 0, [1, 0, 1], (-2.0, 0.5)),
        ([-1, 10], 0, None, (-6.0, 5.0)),
    ],
)
def test_the_example_through_the_origin(third, first, mistakes, last) -> None:
    X, y = np.array([[-1, -1], [1, 0], third]), np.array([1, -1, 1])
    model = Perceptron(fit_intercept=False, record=True).fit(X, y)
    assert model.coef_.tolist() == [list(last)]
    assert model.intercept_.tolist() == [0.0]
    assert model.n_updates_ == (2 if mistakes else 6)
    if mistakes:
        assert model.mistakes_.tolist() == mistakes


@pytest.mark.parametrize("third", [[-1, 1.5], [-1, 10]])
def test_the_example_from_the_second_point_takes_one_mistake(third) -> None:
    X, y = np.array([[1, 0], third, [-1, -1]]), np.array([-1, 1, 1])
    model = Perceptron(fit_intercept=False).fit(X, y)
    assert model.n_updates_ == 1
    assert model.mistakes_.tolist() == [1, 0, 0]


def test_iris_setosa_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    setosa = y == 0
    assert Perceptron().fit(X, setosa).certificate_.ok
    updates, right = [], []
    for seed in range(100):
        rows = np.random.default_rng(seed).permutation(150)[:60]
        model = Perceptron().fit(X[rows], setosa[rows])
        updates.append(model.n_updates_)
        right.append(model.score(X, setosa))
        assert model.certificate_.ok
    # A single-digit number of updates, and nearly always all 150 right.
    assert np.median(updates) <= 9
    assert np.mean(np.array(updates) <= 9) >= 0.9
    assert np.mean(np.array(right) == 1.0) >= 0.9


def test_overlapping_classes_are_said_to_be() -> None:
    X, y = load_iris(return_X_y=True)
    model = Perceptron(max_passes=30)
    with pytest.warns(
        ConvergenceWarning, match="not_separated: .*LinearSVC and LogisticRegression"
    ):
        model.fit(X[50:], y[50:])
    assert model.n_iter_ == 30
    scores = model.decision_function(X[50:])
    assert np.sum(np.where(y[50:] == 2, scores, -scores) <= 0) == model.certificate_.primal
    assert model.certificate_.dual == 0.0


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(20, 2)) + 20 * np.array(c) for c in ((0, 1), (1, -1), (-1, -1))]
    )
    y = np.repeat(["a", "b", "c"], 20)
    model = Perceptron(record=True).fit(X, y)
    assert model.certificate_.ok
    assert model.mistakes_.shape == (3, 60)
    assert model.n_updates_ == model.mistakes_.sum()
    assert [t.part for t in model.trace_] == ["a", "b", "c"]
    assert [len(t.updates) for t in model.trace_] == model.mistakes_.sum(axis=1).tolist()
    assert model.score(X, y) == 1.0


def test_random_order_follows_the_seed() -> None:
    X, y = load_iris(return_X_y=True)
    one, same, other = (
        Perceptron(order="random", random_state=s).fit(X, y == 0) for s in (0, 0, 1)
    )
    assert np.array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)


def test_record_does_not_change_the_fit() -> None:
    X, y = load_iris(return_X_y=True)
    for order in ORDERS:
        with_trace, without = (
            Perceptron(order=order, random_state=0, record=r).fit(X, y == 0) for r in (True, False)
        )
        assert np.array_equal(with_trace.coef_, without.coef_)
        assert np.array_equal(with_trace.mistakes_, without.mistakes_)
        assert len(with_trace.trace_.updates) == without.n_updates_


def test_class_weight_is_a_number_of_visits() -> None:
    X, y = load_iris(return_X_y=True)
    y = y == 0
    weighted = Perceptron(class_weight={True: 2, False: 1}).fit(X, y)
    copied = Perceptron().fit(np.repeat(X, 1 + y, axis=0), np.repeat(y, 1 + y))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-12)


def test_the_learning_rate_changes_no_decision() -> None:
    X, y = load_iris(return_X_y=True)
    fast, slow = (Perceptron(learning_rate=r).fit(X, y == 0) for r in (1.0, 2.0**-20))
    np.testing.assert_array_equal(fast.coef_ * 2.0**-20, slow.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"order": "backwards"},
            "order='backwards' is not known; choose one of 'cyclic', 'restart', 'random'",
        ),
        ({"learning_rate": 0}, "learning_rate=0 must be a finite number greater than 0"),
        ({"margin": -1.0}, "margin=-1.0 must be a finite number of at least 0"),
        ({"average": 3}, "average=3 is not known; choose one of True, False"),
        ({"learning_rate": np.inf}, "learning_rate=inf must be a finite number greater than 0"),
        ({"max_passes": 0}, "max_passes=0 must be a finite whole number of at least 1"),
        ({"max_passes": 2.5}, "max_passes=2.5 must be a finite whole number of at least 1"),
    ],
)
def test_bad_parameters(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Perceptron(**options).fit(LIFTED_X, LIFTED_Y)


# --- orders, starts and margins ----------------------------------------------------------------


@pytest.mark.parametrize("order", ["cyclic", "restart"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float32])
def test_a_start_is_where_the_updates_begin(order: str, kind) -> None:
    start = [-1.0, 2.0, 0.5]
    expected = reference.run(LIFTED_X.tolist(), LIFTED_Y.tolist(), order=order, start=start)
    model = Perceptron(order=order, record=True).fit(
        kind(LIFTED_X), LIFTED_Y, coef_init=[start[:2]], intercept_init=start[2]
    )
    assert model.mistakes_.tolist() == expected.mistakes
    assert [*model.coef_[0], model.intercept_[0]] == [float(t) for t in expected.theta]
    assert model.n_iter_ == expected.passes
    first = model.trace_.updates[0]
    assert [*first.coef_before, first.intercept_before] == start
    # The start is of one fit only, and not kept.
    assert all(name.endswith("_") for name in set(vars(model)) - set(model.get_params()))
    again = model.fit(LIFTED_X, LIFTED_Y)
    assert again.trace_.updates[0].coef_before.tolist() == [0.0, 0.0]


def test_published_starts_through_the_origin() -> None:
    X, y = np.array([[-1, -1], [1, 0], [-1, 1.5]]), np.array([1, -1, 1])
    for third, mistakes, last in (([-1, 1.5], 1, [-2.0, 0.5]), ([-1, 10], 5, [-6.0, 5.0])):
        X[2] = third
        model = Perceptron(fit_intercept=False).fit(X, y, coef_init=[-1, -1])
        assert model.n_updates_ == mistakes
        assert model.coef_.tolist() == [last]


def test_a_start_that_separates_is_the_answer() -> None:
    X, y = load_iris(return_X_y=True)
    setosa = y == 0
    found = Perceptron().fit(X, setosa)
    again = Perceptron(record=True).fit(
        X, setosa, coef_init=found.coef_, intercept_init=found.intercept_
    )
    assert again.n_updates_ == again.n_iter_ == 0
    assert np.array_equal(again.coef_, found.coef_)
    assert again.certificate_.ok


def test_a_start_for_every_class() -> None:
    X, y = load_iris(return_X_y=True)
    coef, intercept = np.arange(12.0).reshape(3, 4), np.array([1.0, -2.0, 3.0])
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(record=True, max_passes=3).fit(
            X, y, coef_init=coef, intercept_init=intercept
        )
    for k, trace in enumerate(model.trace_):
        assert np.array_equal(trace.updates[0].coef_before, coef[k])
        assert trace.updates[0].intercept_before == intercept[k]
    with pytest.raises(ValueError, match=r"coef_init has the shape \(4,\); .* \(3, 4\)"):
        model.fit(X, y, coef_init=coef[0])


def test_a_margin_is_reached() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y == 0
    for margin, rate in ((1.0, 1.0), (1.0, 0.1), (0.25, 1.0)):
        model = Perceptron(margin=margin, learning_rate=rate).fit(X, y)
        scores = np.where(y, 1, -1) * model.decision_function(X)
        assert scores.min() >= margin
        assert model.certificate_.ok
        assert f"y (w.x + b) < {margin:g} by w += {'' if rate == 1 else '0.1 '}y x" in (
            model.objective_formula_
        )
    # A larger ratio of margin to rate comes nearer to the widest gap.
    wide = [Perceptron(margin=m).fit(X, y) for m in (0.0, 100.0)]
    gaps = [
        (np.where(y, 1, -1) * m.decision_function(X)).min() / np.linalg.norm(m.coef_) for m in wide
    ]
    best = LinearSVC(loss="hinge", C=1e4).fit(X, y)
    assert gaps[0] < gaps[1] <= 1.001 / np.linalg.norm(best.coef_)


def test_restart_goes_back_to_the_first_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] > X[:, 2], 1, -1)
    X[:, 0] += 0.1 * y
    model = Perceptron(order="restart", record=True).fit(X, y)
    assert model.certificate_.ok
    # Every row before the one that is updated was right at the weights before the update.
    signed = np.column_stack([X, np.ones(200)]) * y[:, None]
    for update in model.trace_.updates:
        z = signed @ np.append(update.coef_before, update.intercept_before)
        assert np.all(z[: update.sample] > 0)
        assert z[update.sample] <= 0
    # A pass is as many visits as there are rows.
    visits = sum(u.sample + 1 for u in model.trace_.updates) + 200
    assert model.n_iter_ == -(-visits // 200)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_the_steps_are_all_visits_of_the_fit(order: str, margin: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, size=(25, 2)).astype(float)
    signs = np.where(X @ [2, -1] > 0.5, 1, -1)
    y = np.array(["no", "yes"])[(signs + 1) // 2]
    start, seed = [-1.0, 2.0, 0.5], 5
    draws = generator_of(seed_of(seed))
    arranged = (
        (draws.permutation(25) if order == "random" else draws.integers(25, size=25)).tolist()
        for _ in itertools.count()
    )
    options = {"order": order, "margin": margin, "max_passes": 400}
    expected = reference.run(
        X.tolist(), signs.tolist(), **options, start=start, rate=0.5, permutations=arranged
    )
    model = Perceptron(**options, learning_rate=0.5, random_state=seed)
    begin = {"coef_init": start[:2], "intercept_init": start[2]}
    steps = model.steps(X, y, **begin)
    assert not hasattr(model, "coef_")
    model.fit(X, y, **begin)
    assert model.certificate_.ok
    # The rows, passes and weights are those of the definition, in exact arithmetic ...
    assert [(s.sample, s.epoch) for s in steps] == expected.visits
    after = [reference.exact([*s.coef, s.intercept]) for s in steps]
    assert after == expected.visited
    before = [reference.exact([*s.coef_before, s.intercept_before]) for s in steps]
    assert before == [reference.exact(start), *after[:-1]]
    # ... and so are the scores, and what follows from them.
    updates = 0
    for k, (step, theta) in enumerate(zip(steps, before, strict=True), start=1):
        score = reference.dot(theta, reference.exact([*X[step.sample], 1]))
        z = score * int(signs[step.sample])
        assert (step.visit, step.label, step.sign) == (k, y[step.sample], signs[step.sample])
        assert (step.score, step.mistake) == (score, reference.is_mistake(z, Fraction(margin)))
        updates += step.mistake
        assert step.updates == updates
    # The run is that of the fit.
    assert model.n_updates_ == steps[-1].updates == len(expected.updates)
    assert model.n_iter_ == steps[-1].epoch == expected.passes
    assert [*steps[-1].coef, steps[-1].intercept] == [*model.coef_[0], model.intercept_[0]]
    assert [s.visit for s in steps[2:5]] == [3, 4, 5]


def test_steps_say_why_and_name_the_class_of_several() -> None:
    X, y = [[-1, -1], [1, 0], [-1, 1.5]], [5, 6, 7]
    steps = Perceptron(max_passes=2).steps(X, y)
    assert {step.part for step in steps} == {5, 6, 7}
    assert all(step.sign == (1 if step.label == step.part else -1) for step in steps)
    assert steps[0].why == "score 0 does not have the sign of 5 (+1)"
    wide = Perceptron(margin=2.0).steps([[-1.0], [3.0]], [-1, 1])
    assert wide[0].why == "y times the score, 0, is below 2"
    assert wide[-1].why.endswith("reaches 2")
    # Weights that separate the rows are no run.
    assert len(Perceptron().steps([[-1.0], [3.0]], [-1, 1], coef_init=[1.0])) == 0
    for options in ({"early_stopping": True}, {"early_stopping": True, "order": "margin"}):
        with pytest.raises(ValueError, match="early_stopping=True"):
            (Perceptron(**options).steps if len(options) == 1 else Perceptron(**options).fit)(X, y)


# --- the average -------------------------------------------------------------------------------


def test_the_average_of_all_visits() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    X = np.round(4 * StandardScaler().fit_transform(X))
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(average=True, max_passes=5).fit(X, y)
    expected = reference.run(X.tolist(), (2 * y - 1).tolist(), max_passes=5)
    mean = np.array(expected.visited, dtype=float).mean(axis=0)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], mean, rtol=1e-12)
    assert model.n_visits_.tolist() == [5 * len(y)]
    last = [float(t) for t in expected.theta]
    assert [*model.plain_coef_[0], *model.plain_intercept_] == last
    # The certificate is the average's.
    wrong = np.sum((2 * y - 1) * model.decision_function(X) <= 0)
    assert model.certificate_.primal == wrong == verify(model, X, y).primal
    # Without it nothing of it is left.
    model.set_params(average=False, max_passes=1000).fit(X[:40], y[:40])
    assert not hasattr(model, "plain_coef_")
    assert not hasattr(model, "n_visits_")


def test_an_average_that_still_errs_says_so() -> None:
    # A clean pass ends the fit; the average of the way there is not on the right side yet.
    X, y = np.array([[-1.0, -1.0], [1.0, 0.0], [-1.0, 10.0]]), np.array([1, -1, 1])
    plain = Perceptron(fit_intercept=False).fit(X, y)
    assert plain.certificate_.ok
    model = Perceptron(fit_intercept=False, average=True)
    with pytest.warns(ConvergenceWarning, match="averaged: 1 training mistake left,"):
        model.fit(X, y)
    assert np.array_equal(model.plain_coef_, plain.coef_)
    assert model.n_iter_ == plain.n_iter_
    assert np.sum(y * (X @ model.coef_[0]) <= 0) == 1


# --- partial_fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_chunks_are_one_pass(average: bool, classes: int, kind) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, size=(60, 4)).astype(float)
    y = np.array(["a", "b", "c"])[rng.integers(classes, size=60)]
    with pytest.warns(ConvergenceWarning):
        # All in one pass; that is the end of it, not the best of it.
        whole = Perceptron(average=True, max_passes=1).fit(kind(X), y)
    model, mistakes, at = Perceptron(average=average), [], 0
    for size in (1, 20, 9, 30):
        rows = slice(at, at + size)
        assert model.partial_fit(kind(X[rows]), y[rows], classes=np.unique(y)) is model
        mistakes.append(np.atleast_2d(model.mistakes_))
        assert model.mistakes_.shape[-1] == size
        at += size
    assert np.array_equal(np.hstack(mistakes), np.atleast_2d(whole.mistakes_))
    assert model.n_updates_ == whole.n_updates_
    assert model.n_iter_ == 4
    if average:
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-12, atol=1e-13)
        assert np.array_equal(model.plain_coef_, whole.plain_coef_)
        assert np.array_equal(model.n_visits_, whole.n_visits_)
    else:
        assert np.array_equal(model.coef_, whole.plain_coef_)
        assert np.array_equal(model.intercept_, whole.plain_intercept_)
    # What is certified is the last chunk, at the weights after it.
    assert model.certificate_.primal == verify(model, kind(X[rows]), y[rows]).primal


def test_partial_fit_goes_on_from_fit() -> None:
    X, y = LIFTED_X, LIFTED_Y
    model = Perceptron(record=True).fit(X, y)
    updates = model.n_updates_
    model.partial_fit(X, y)
    assert model.n_updates_ == updates
    assert model.mistakes_.tolist() == [0, 0, 0, 0]
    assert model.trace_.updates == []
    assert model.certificate_.ok
    assert model.coef_.tolist() == [[4.0, -0.5]]
    model.partial_fit(-X, y)
    first = model.trace_.updates[0]
    assert [*first.coef_before, first.intercept_before] == [4.0, -0.5, 1.0]
    # ... and fit starts anew.
    model.fit(X, y)
    assert model.n_updates_ == updates
    assert model.coef_.tolist() == [[4.0, -0.5]]


def test_partial_fit_goes_on_after_a_file(tmp_path) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    model = Perceptron(average=True).partial_fit(X[:25], y[:25], classes=[0, 1])
    save_model(tmp_path / "m.separatrix", model)
    other = load_model(tmp_path / "m.separatrix").model
    for m in (model, other):
        m.partial_fit(X[25:], y[25:])
    assert np.array_equal(model.coef_, other.coef_)
    assert model.n_visits_.tolist() == [50.0]


def test_partial_fit_shuffles_every_pass_anew() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)), rng.integers(2, size=30)
    # With such a margin every visit is an update, so that the updates show the order.
    one, same = (
        Perceptron(order="random", random_state=0, margin=1e9, record=True) for _ in range(2)
    )
    orders = []
    for _ in range(3):
        for m in (one, same):
            m.partial_fit(X, y, classes=[0, 1])
        orders.append([u.sample for u in one.trace_.updates])
        assert orders[-1] == [u.sample for u in same.trace_.updates]
        assert sorted(orders[-1]) == list(range(30))
    assert len({tuple(o) for o in orders}) == 3


def test_partial_fit_weighs_by_a_dict() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 2)), rng.integers(2, size=30)
    copies = np.where(y == 1, 2, 1)
    weighted = Perceptron(class_weight={1: 2}).partial_fit(X, y, classes=[0, 1])
    copied = Perceptron().partial_fit(X.repeat(copies, axis=0), y.repeat(copies), classes=[0, 1])
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-12)
    # Also where a chunk lacks a class that has a weight.
    Perceptron(class_weight={0: 2, 1: 3}).partial_fit(X[y == 1], y[y == 1], classes=[0, 1])


@pytest.mark.parametrize(
    ("options", "labels", "classes", "words"),
    [
        ({}, [0, 1, 0, 1], None, "classes must be given in the first call of partial_fit"),
        ({}, [0, 1, 0, 1], [0], r"classes=\[0\] must name at least two labels"),
        ({}, [0, 1, 2, 1], [0, 1], r"Row 2 has the label 2, which is not in classes=\[0, 1\]"),
        ({"class_weight": "balanced"}, [0, 1, 0, 1], [0, 1], "class_weight='balanced' needs all"),
        ({"margin": -1}, [0, 1, 0, 1], [0, 1], "margin=-1 must be"),
    ],
)
def test_bad_partial_fits(options: dict, labels: list, classes, words: str) -> None:
    model = Perceptron(**options)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(LIFTED_X, labels, classes=classes)
    assert not hasattr(model, "coef_")


def test_bad_later_partial_fits() -> None:
    model = Perceptron().partial_fit(LIFTED_X, LIFTED_Y, classes=[-1, 1])
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] differ from those of earlier calls"):
        model.partial_fit(LIFTED_X, LIFTED_Y, classes=[0, 1])
    with pytest.raises(ValueError, match="X has 3 features, but Perceptron is expecting 2"):
        model.partial_fit(np.ones((2, 3)), [-1, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(LIFTED_X, [-1, 1])
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        model.partial_fit([[1.0, np.nan]], [1])
    assert np.array_equal(model.coef_, coef)


def test_an_overflow_in_partial_fit_is_said() -> None:
    model = Perceptron(learning_rate=1e300).partial_fit([[1.0], [-1.0]], [0, 1], classes=[0, 1])
    coef = model.coef_.copy()
    with pytest.warns(ConvergenceWarning, match="non_finite"):
        model.partial_fit([[1e300], [1e305]], [1, 1])
    assert np.array_equal(model.coef_, coef)


# --- scikit-learn ------------------------------------------------------------------------------


# The default configuration is in test_sklearn_contract.py.
@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [Perceptron(order="restart"), Perceptron(average=True), Perceptron(margin=1.0)],
    # Where the passes end depends on the order of the rows: no weight stands for copies of a row
    # wherever they lie.
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "the order of the rows counts"
        for kind in ("dense", "sparse")
    },
)
def test_check_estimator(estimator, check) -> None:
    if estimator.order == "restart" and "class_weight" in check.func.__name__:
        # Overlapping classes, and a first row whose steps are a ten-thousandth: going back to it
        # after every one of them, restart gets nowhere, as its docstring says.
        pytest.skip("restart is for separable data")
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("average", [False, True])
def test_many_passes_at_once_are_the_same_passes(overlap: float, average: bool) -> None:
    # A fit that is watched makes one pass at a time.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        y = np.where(X[:, 0] + overlap * rng.normal(size=60) > 0.1, 1, -1)
        alone = Perceptron(max_passes=200, average=average).fit(X, y)
        with watch(lambda _: None):
            watched = Perceptron(max_passes=200, average=average).fit(X, y)
        for name in ("coef_", "intercept_", "mistakes_", "n_iter_"):
            assert np.array_equal(getattr(alone, name), getattr(watched, name)), name
        assert alone.certificate_.primal == watched.certificate_.primal
        assert alone.certificate_.status == watched.certificate_.status


# --- where the theorem promises nothing more ------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_passes_end_where_nothing_is_left_to_hope_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X[:, 0] + rng.normal(size=100) > 0.0
    model = Perceptron().fit(X, y)
    assert 5 <= model.n_iter_ < 500
    assert model.certificate_.status == "not_separated"
    # Passes that are requested are all made.
    assert Perceptron(tol=None).fit(X, y).n_iter_ == 1000
    assert Perceptron(max_passes=300).fit(X, y).n_iter_ == 300
    assert Perceptron(max_iter=250).fit(X, y).n_iter_ == 250
    # At least half of the passes came after the best weights.
    half = Perceptron(max_passes=model.n_iter_ // 2).fit(X, y)
    assert half.certificate_.primal == model.certificate_.primal
    # Watching a fit changes nothing, and neither does recording it.
    with watch(lambda progress: None):
        looked_at = Perceptron().fit(X, y)
    for other in (looked_at, Perceptron(record=True).fit(X, y)):
        assert np.array_equal(other.coef_, model.coef_)
        assert other.n_iter_ == model.n_iter_


def test_separable_rows_are_separated_however_narrow() -> None:
    # For many passes only one row is a mistake.
    X, y = load_iris(return_X_y=True)
    model = Perceptron().fit(X[:, :2], y == 0)
    assert model.certificate_.ok and model.n_iter_ > 400
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        y = X @ [1.0, -2.0, 0.5] > 0.0
        # A margin a hundredth of the longest row.
        X += np.where(y, 0.02, -0.02)[:, None] * [1.0, -2.0, 0.5]
        assert Perceptron().fit(X, y).certificate_.ok, seed


# --- what scikit-learn's has besides --------------------------------------------------------------


def test_weights_of_rows_are_visits_in_a_row() -> None:
    X = np.array([[-1.0, 3.0], [-1.0, -1.0], [3.0, -1.0], [0.0, 1.5]])
    y, weights = np.array([-1, -1, 1, 1]), np.array([2, 1, 3, 1])
    weighted = Perceptron().fit(X, y, sample_weight=weights)
    repeated = Perceptron().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.coef_, repeated.coef_)
    half = Perceptron().fit(X, y, sample_weight=[0.5] * 4)
    whole = Perceptron(learning_rate=0.5).fit(X, y)
    assert np.array_equal(half.coef_, whole.coef_)
    part = Perceptron().partial_fit(X, y, classes=[-1, 1], sample_weight=weights)
    assert part.n_updates_ > 0
    with pytest.raises(ValueError, match="sample_weight must not be negative; row 1 has -1"):
        Perceptron().fit(X, y, sample_weight=[1, -1, 1, 1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_early_stopping_keeps_what_is_best_on_rows_held_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = X[:, 0] + 0.7 * rng.standard_normal(400) > 0.0
    model = Perceptron(early_stopping=True, random_state=0, validation_fraction=0.25).fit(X, y)
    assert model.n_iter_ < 1000 and model.certificate_.status == "early_stopped"
    assert model.score(X, y) > 0.7
    wrong = np.sum(np.where(y, 1, -1) * model.decision_function(X) <= 0.0)
    assert model.certificate_.primal == wrong
    other = SGDClassifier.perceptron(
        learning_rate=Constant(1.0), early_stopping=True, validation_fraction=0.25, random_state=0
    ).fit(X, y)
    assert np.array_equal(model.coef_, other.coef_)


def test_a_penalty_is_taken_and_not_applied(monkeypatch) -> None:
    monkeypatch.setattr(sklearn_compat, "_warned", set())
    X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    with pytest.warns(ConventionWarning, match="no penalty is applied here"):
        model = Perceptron(penalty="elasticnet", alpha=1.0).fit(X, y)
    assert np.array_equal(model.coef_, Perceptron().fit(X, y).coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_that_mean_something_else_are_told_once(monkeypatch) -> None:
    X, y, s = np.eye(4), [0, 1, 0, 1], np.full(4, 2.0)
    for kind in (SGDClassifier, SGDRegressor):
        monkeypatch.setattr(sklearn_compat, "_warned", set())
        with pytest.warns(ConventionWarning, match=r"give alpha / mean\(sample_weight\)"):
            kind().fit(X, y, sample_weight=s)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConventionWarning)
            kind().fit(X, y, sample_weight=s)
            monkeypatch.setattr(sklearn_compat, "_warned", set())
            kind().fit(X, y, sample_weight=s / 2.0)
            kind(penalty=None, learning_rate="constant", eta0=0.01).fit(X, y, sample_weight=s)


def test_warm_start_begins_anew_with_other_columns_or_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) + 1.0
    two, three = (X[:, 0] > 1.0).astype(int), np.digitize(X[:, 0], [0.6, 1.4])
    model = Perceptron(warm_start=True, max_passes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for data, y in ((X, two), (X[:, :2], two), (X[:, :2], three)):
            model.fit(data, y)
            anew = Perceptron(max_passes=3).fit(data, y)
            np.testing.assert_array_equal(model.coef_, anew.coef_)
        model.set_params(fit_intercept=False).fit(X[:, :2], three)
    assert not model.intercept_.any()


def test_weights_that_ask_for_more_visits_than_a_pass_can_have_are_refused():
    weights = np.r_[1e72, np.ones(3)]
    with pytest.raises(ValueError, match="visited k times in every pass; divide all weights by"):
        Perceptron().fit(np.arange(4.0)[:, None], [0, 1, 0, 1], sample_weight=weights)
