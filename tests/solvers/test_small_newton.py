"""Steps in one compiled call, for small problems: the same answers as those in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from separatrix import LinearSVC, LinearSVR, LogisticRegression, Perceptron
from separatrix.data.design import as_design
from separatrix.losses import (
    EpsilonInsensitive,
    Hinge,
    LogLoss,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    SquaredResidual,
)
from separatrix.losses.smoothed import Smoothed
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, NoPenalty
from separatrix.objectives.residual import ResidualObjective
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import (
    AugmentedLagrangian,
    Newton,
    select_solver,
    small_newton,
    small_softmax_newton,
)
from separatrix.solvers.driver import minimise

LOSSES = {"log": LogLoss(), "squared hinge": SquaredHinge(), "hinge": Hinge()}
FORMS = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
}


def data(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(3)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y


def problem(loss, form="dense", **options) -> MarginObjective:
    X, y = data()
    return MarginObjective(as_design(FORMS[form](X)), y, LOSSES[loss], **options)


def solver(loss):
    return AugmentedLagrangian() if loss == "hinge" else Newton()


@pytest.mark.crossed
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_optimum_as_without(loss, intercept, form, monkeypatch) -> None:
    weights = np.random.default_rng(1).integers(0, 3, size=80).astype(float)
    one = problem(loss, form, fit_intercept=intercept, weights=weights, C=3.0)
    assert small_newton.fits(one)
    found = minimise(one, solver(loss), tol=1e-9)
    assert isinstance(found.state, small_newton.SmallState)
    monkeypatch.setattr(small_newton, "fits", lambda problem: False)
    other = minimise(one, solver(loss), tol=1e-9)
    assert not isinstance(other.state, small_newton.SmallState)
    assert found.certificate.ok and other.certificate.ok
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_weight_zero_are_no_rows(loss) -> None:
    X, y = data()
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    both = (
        MarginObjective(as_design(X), y, LOSSES[loss], weights=weights),
        MarginObjective(as_design(X[:60]), y[:60], LOSSES[loss]),
    )
    first, second = (minimise(one, solver(loss), tol=1e-10).theta for one in both)
    np.testing.assert_allclose(first, second, rtol=1e-4)


def test_what_it_leaves_to_others() -> None:
    X, y = data()
    assert not small_newton.fits(MarginObjective(as_design(X), y, LogLoss(), NoPenalty()))
    assert not small_newton.fits(MarginObjective(as_design(X), y, LogLoss(), L1()))
    for loss, shape in (
        (LogLoss(), (1600, 76)),
        (LogLoss(), (301, 90)),
        (Hinge(), (3200, 158)),
        (Hinge(), (301, 170)),
    ):
        large = np.ones(shape)
        assert not small_newton.fits(MarginObjective(as_design(large), large[:, 0], loss)), shape
    # Zeros of sparse rows would be multiplied with.
    sparse = sp.random(2000, 20, density=0.1, random_state=0, format="csr")
    assert not small_newton.fits(MarginObjective(as_design(sparse), np.ones(2000), Hinge()))
    assert small_newton.fits(
        MarginObjective(as_design(sparse.toarray() + 1.0), np.ones(2000), Hinge())
    )


def test_newton_by_products_stays_newton_by_products() -> None:
    state = minimise(problem("log"), Newton(dense=False)).state
    assert not isinstance(state, small_newton.SmallState)


def test_multipliers_to_start_from() -> None:
    one = problem("hinge", C=2.0)
    cold = minimise(one, AugmentedLagrangian(), tol=1e-8)
    again = minimise(one, AugmentedLagrangian(), tol=1e-8, theta=cold.theta, residual=cold.residual)
    assert again.certificate.ok
    assert again.certificate.n_iter < cold.certificate.n_iter


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_of_any_length(loss) -> None:
    X, y = data()
    X = X * np.array([1e-8, 1.0, 1e6, 1e3])
    one = MarginObjective(as_design(X), y, LOSSES[loss], C=1.0)
    assert minimise(one, solver(loss), tol=1e-6, max_iter=1000).certificate.ok


def test_an_iteration_is_a_newton_step() -> None:
    X, y = data()
    with pytest.warns(match="max_iter|iterations"):
        model = LogisticRegression(max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    whole = LogisticRegression(record=True).fit(X, y)
    assert len(whole.trace_.primal) == whole.n_iter_ + 1 > 3


def test_an_early_end_is_no_worse_than_the_start() -> None:
    X, y = data()
    one = MarginObjective(as_design(X), y, Hinge(), C=1e6)
    for limit in (1, 2, 3):
        found = minimise(one, AugmentedLagrangian(), max_iter=limit).certificate
        assert found.primal <= one.value(one.zero()) * (1 + 1e-9)


def test_two_ways_to_make_the_same_passes() -> None:
    X, y = data()
    labels = (y > 0).astype(int)
    with pytest.warns(match="."):
        fits = [
            Perceptron(max_passes=60, record=record, average=average).fit(X, labels)
            for average in (False, True)
            for record in (False, True)
        ]
    for few, one in (fits[:2], fits[2:]):
        np.testing.assert_array_equal(few.coef_, one.coef_)
        np.testing.assert_array_equal(few.mistakes_, one.mistakes_)
        assert few.n_iter_ == one.n_iter_ and few.n_updates_ == one.n_updates_
        assert few.certificate_.primal == one.certificate_.primal


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge")])
def test_a_score_is_the_share_of_right_predictions(model) -> None:
    X, y = data()
    for labels in (y.astype(int), np.where(y > 0, "b", "a"), y > 0):
        model.fit(X, labels)
        right = float(np.mean(model.predict(X) == labels))
        assert model.score(X, labels) == right
        assert model.score(X, list(labels)) == right
        assert model.score(X, labels, np.ones(len(y))) == pytest.approx(right)
    with pytest.raises(ValueError):
        model.score(X, labels[:-1])


@pytest.mark.parametrize("rows", [80, 30_000])
@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-300])
def test_a_weight_that_is_next_to_nothing_is_no_obstacle(rows: int, weight: float) -> None:
    X, y = data(n=rows)
    s = np.ones(rows)
    s[3] = weight
    found = LinearSVC(loss="hinge", random_state=0).fit(X, y, sample_weight=s).certificate_
    s[3] = 0.0
    without = LinearSVC(loss="hinge", random_state=0).fit(X, y, sample_weight=s).certificate_
    assert found.status == "optimal"
    assert found.primal == pytest.approx(without.primal, rel=2e-6)


RESIDUAL_LOSSES = (
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(0.7),
    SquaredEpsilonInsensitive(0.0),
    SquaredEpsilonInsensitive(0.7),
    SquaredResidual(),
)


@pytest.mark.parametrize("loss", RESIDUAL_LOSSES, ids=repr)
def test_losses_of_the_residual_have_the_same_optimum_as_without(loss, monkeypatch) -> None:
    X, _ = data()
    rng = np.random.default_rng(2)
    targets = X @ rng.normal(size=4) + rng.normal(size=80) + 5.0
    weights = rng.integers(0, 3, size=80).astype(float)
    for intercept, C in ((True, 0.01), (True, 100.0), (False, 1.0)):
        one = ResidualObjective(
            as_design(X), targets, loss, weights=weights, fit_intercept=intercept, C=C
        )
        found = minimise(one, select_solver(one), tol=1e-9)
        assert isinstance(found.state, small_newton.SmallState)
        with monkeypatch.context() as patch:
            patch.setattr(small_newton, "fits", lambda problem: False)
            other = minimise(one, select_solver(one), tol=1e-9)
        assert not isinstance(other.state, small_newton.SmallState)
        assert found.certificate.ok and other.certificate.ok, (intercept, C)
        assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-9)


def test_the_slack_and_the_envelopes_of_a_tube() -> None:
    rng = np.random.default_rng(0)
    for epsilon in (0.0, 0.5):
        loss = EpsilonInsensitive(epsilon)
        for a, z, upper in rng.normal(size=(60, 3)) * [1.0, 2.0, 1.0] + [0.0, 0.0, 3.0]:
            upper = abs(upper) + 0.1
            a = min(max(a, -upper), upper)
            gap = upper * loss.value(z) + upper * loss.conjugate(-a / upper) + a * z
            slack = loss.slack_at(a, z, upper, epsilon)
            assert slack >= 0.0 and slack == pytest.approx(gap, abs=1e-12)
            # The envelope around zero is the smoothed loss.
            value, slope, bend = loss.terms_at(z, 0.0, 0.25 / upper, upper, epsilon)
            smooth = Smoothed(loss, 0.25)
            assert value == pytest.approx(upper * smooth.value(z), abs=1e-12)
            assert slope == pytest.approx(upper * smooth.derivative(z), abs=1e-12)
            assert bend == pytest.approx(upper * smooth.curvature(z), abs=1e-12)


def test_regression_by_a_tube_takes_few_steps() -> None:
    """Smooth losses that come ever closer took ten times as many."""
    X, y = load_diabetes(return_X_y=True)
    model = LinearSVR().fit(scale(X), y)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ <= 30


def test_several_classes_have_the_same_optimum_as_without(monkeypatch) -> None:
    X, _ = data(n=90)
    rng = np.random.default_rng(3)
    codes = np.argmax(X[:, :3] + rng.normal(size=(90, 3)), axis=1)
    weights = rng.integers(0, 3, size=90).astype(float)
    for form in FORMS:
        for intercept, C in ((True, 1e-3), (True, 1e3), (False, 1.0)):
            options = {"weights": weights, "fit_intercept": intercept, "C": C}
            one = SoftmaxObjective(as_design(FORMS[form](X)), codes, 3, **options)
            found = minimise(one, select_solver(one), tol=1e-9)
            assert isinstance(found.state, small_newton.SmallState)
            with monkeypatch.context() as patch:
                patch.setattr(small_softmax_newton, "fits", lambda problem: False)
                other = minimise(one, select_solver(one), tol=1e-9)
            assert not isinstance(other.state, small_newton.SmallState)
            case = (form, intercept, C)
            assert found.certificate.ok and other.certificate.ok, case
            assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-9)
            if intercept:
                assert abs(found.theta[-1].sum()) <= 1e-9 * np.abs(found.theta[-1]).sum(), case


def test_classes_of_many_parameters_are_left_to_blas() -> None:
    for n, d, classes in ((90, 16, 4), (2000, 20, 3)):
        one = SoftmaxObjective(as_design(np.ones((n, d))), np.arange(n) % classes, classes)
        assert not small_softmax_newton.fits(one)


def test_columns_of_any_length_and_several_classes() -> None:
    X, _ = data()
    codes = np.arange(80) % 3
    for C in (1e-2, 1.0, 1e2):
        one = SoftmaxObjective(as_design(X * [1e-8, 1.0, 1e6, 1e3]), codes, 3, C=C)
        assert small_softmax_newton.fits(one)
        assert minimise(one, Newton(), tol=1e-6).certificate.ok, C
