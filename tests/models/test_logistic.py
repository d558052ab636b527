"""Logistic regression: parameters, formulas, and data without a finite optimum."""

from __future__ import annotations

import pickle
import warnings

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

from helpers import minimum_smooth, pad, primal_margin, primal_softmax
from separatrix import Certificate, LogisticRegression, LogisticRegressionCV, verify


def data(classes: int = 2, n: int = 120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (X @ rng.normal(size=(4, classes)) + 2 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


def test_the_certificate_is_about_the_returned_weights() -> None:
    X, y = data()
    model = LogisticRegression(C=0.5).fit(X, y)
    expected = primal_margin("log loss", X, 2.0 * y - 1, model.coef_[0], model.intercept_[0], C=0.5)
    assert model.certificate_.primal == pytest.approx(expected, rel=1e-13)
    X, y = data(4)
    model = LogisticRegression(C=2.0).fit(X, y)
    expected = primal_softmax(X, y, model.coef_, model.intercept_, C=2.0)
    assert model.certificate_.primal == pytest.approx(expected, rel=1e-13)
    model = LogisticRegression(C=2.0, multiclass="ovr").fit(X, y)
    parts = [
        primal_margin(
            "log loss", X, np.where(y == k, 1.0, -1.0), model.coef_[k], model.intercept_[k], C=2.0
        )
        for k in range(4)
    ]
    np.testing.assert_allclose([p.primal for p in model.certificate_.parts], parts, rtol=1e-13)
    assert model.certificate_.primal == pytest.approx(sum(parts), rel=1e-13)
    assert model.n_iter_.tolist() == [p.n_iter for p in model.certificate_.parts]


def test_the_printed_formula() -> None:
    X, y = data()
    model = LogisticRegression(C=1.0).fit(X, y)
    assert model.objective_formula_ == "minimise 1/2 |w|^2 + 1 * sum log(1 + exp(-y (w.x + b)))"
    X, y = data(3)
    model = LogisticRegression(C=0.1, multiclass="ovr").fit(X, y)
    assert model.objective_formula_ == (
        "minimise 1/2 |w|^2 + 0.1 * sum log(1 + exp(-y (w.x + b))), for each class against the rest"
    )
    model = LogisticRegression(lam=0.01).fit(X, y)
    assert f"minimise 0.01/2 |w|^2 + 1/{len(y)} * sum log" in model.objective_formula_


def test_with_lam_formula_and_certificate_are_printed_in_its_form() -> None:
    X, y = data()
    weights = np.where(y == y[0], 2.0, 0.5)
    model = LogisticRegression(lam=0.02).fit(X, y, weights)
    mean = "minimise 0.02/2 |w|^2 + 1/{:.6g} * sum s_i log(1 + exp(-y (w.x + b)))"
    assert model.objective_formula_ == mean.format(weights.sum())
    z = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    losses = np.average(np.log1p(np.exp(-z)), weights=weights)
    printed = f"objective {losses + 0.01 * np.square(model.coef_).sum():.5g}, "
    certificate = model.certificate_
    assert printed in str(certificate) and printed in str(
        verify(model, X, y, sample_weight=weights)
    )
    assert ("objective", printed[10:-2]) in certificate.facts()
    # The figures are those of the same problem with C = 1 / (lam n).
    other = LogisticRegression(C=1.0 / (0.02 * weights.sum())).fit(X, y, weights).certificate_
    assert other.primal == pytest.approx(certificate.primal, rel=1e-9)
    again = pickle.loads(pickle.dumps(certificate))
    assert again == certificate == Certificate.from_dict(certificate.to_dict())
    assert "scale" not in other.to_dict()
    # Without a penalty there is nothing that lam weighs.
    free = LogisticRegression(lam=0.02, penalty=None).fit(X, np.arange(len(y)) % 2)
    assert free.objective_formula_.startswith("minimise 1 * sum") and free.certificate_.scale == 1.0


def test_the_intercept_is_not_penalised() -> None:
    X, y = data()
    moved = LogisticRegression(tol=1e-10).fit(X + 100.0, y)
    plain = LogisticRegression(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-4)
    assert moved.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-9)


def test_without_intercept_it_is_zero() -> None:
    X, y = data(3)
    for multiclass in ("multinomial", "ovr"):
        model = LogisticRegression(fit_intercept=False, multiclass=multiclass).fit(X, y)
        assert model.intercept_.tolist() == [0.0, 0.0, 0.0]
        assert model.certificate_.ok


def test_multinomial_weights_are_centred() -> None:
    X, y = data(4)
    model = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_.mean(), 0.0, atol=1e-12)


def test_the_trace() -> None:
    X, y = data(3)
    model = LogisticRegression(record=True).fit(X, y)
    assert model.trace_.coef[-1].shape == (3, 4)
    assert model.trace_.primal[-1] == model.certificate_.primal
    ovr = LogisticRegression(record=True, multiclass="ovr").fit(X, y)
    assert [t.part for t in ovr.trace_] == ["0", "1", "2"]
    assert not hasattr(LogisticRegression().fit(X, y), "trace_")


@pytest.mark.parametrize("solver", ["newton", "dual", "augmented-lagrangian"])
def test_solver_by_name_and_as_object(solver: str) -> None:
    from separatrix.solvers import SOLVERS

    X, y = data()
    model = LogisticRegression(solver=solver, max_iter=20_000).fit(X, y)
    assert model.certificate_.ok
    again = LogisticRegression(solver=SOLVERS[solver](), max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-2)


def test_a_solver_that_cannot_is_refused() -> None:
    X, y = data(3)
    with pytest.raises(TypeError, match="dual_step"):
        LogisticRegression(solver="dual").fit(X, y)
    X, y = data()
    with pytest.raises(TypeError, match="penalty"):
        LogisticRegression(solver="dual", penalty=None).fit(X, y)


def test_too_few_iterations_warn_with_the_certificate() -> None:
    X, y = data()
    model = LogisticRegression(max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert str(caught[0].message) == str(model.certificate_)
    assert str(model.certificate_).startswith("max_iter: objective")
    # The warning points at the caller's line.
    assert caught[0].filename == __file__


def test_a_passed_time_limit_warns_and_leaves_a_model() -> None:
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LogisticRegression(time_limit=1e-9, tol=1e-12).fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.predict(X).shape == y.shape


def test_a_time_limit_is_shared_among_the_parts() -> None:
    X, y = data(4)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LogisticRegression(time_limit=1e-9, multiclass="ovr").fit(X, y)
    assert [p.status for p in model.certificate_.parts] == ["time_limit"] * 4
    assert model.coef_.shape == (4, 4)


# --- no penalty --------------------------------------------------------------------------------


def no_penalty(X, y, status: str, **options) -> LogisticRegression:
    model = LogisticRegression(penalty=None, **options)
    with pytest.warns(ConvergenceWarning, match=f"{status}: .*add a penalty"):
        model.fit(X, y)
    assert model.certificate_.status == status
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intercept_))
    return model


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
def test_separable_data(multiclass: str) -> None:
    X, _ = data()
    y = (X[:, 0] > 0.3).astype(int)
    assert no_penalty(X, y, "separable", multiclass=multiclass).score(X, y) == 1.0
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    if multiclass == "multinomial":
        assert no_penalty(X, three, "separable").score(X, three) == 1.0


def test_one_separable_class_among_three() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(20, 2)) + 30])
    y = np.concatenate([rng.integers(2, size=60), np.full(20, 2)])
    model = LogisticRegression(penalty=None, multiclass="ovr")
    with pytest.warns(ConvergenceWarning, match="separable"):
        model.fit(X, y)
    assert [p.status for p in model.certificate_.parts] == ["optimal", "optimal", "separable"]
    model = LogisticRegression(penalty=None)
    with pytest.warns(ConvergenceWarning, match="separable"):
        model.fit(X, y)
    assert model.certificate_.status == "quasi_separable"


def test_quasi_separable_data() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = (X[:, 1] + rng.normal(size=60) > 0).astype(int)
    X[:, 0] = 0.0
    X[:10, 0] = 2 * y[:10] - 1
    no_penalty(X, y, "quasi_separable")
    no_penalty(sp.csr_array(X), y, "quasi_separable")


def test_columns_that_depend_on_one_another_to_rounding_separate_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 0] = X[:, 1] + X[:, 2]
    y = (X[:, 3] + rng.logistic(scale=2.0, size=300) > 0).astype(int)
    # Along (1, -1, -1) all scores stay but for rounding; a finite optimum is not ruled out.
    with pytest.warns(ConvergenceWarning, match="precision_limit"):
        model = LogisticRegression(penalty=None).fit(X, y)
    assert model.certificate_.status == "precision_limit"


def test_a_level_that_lacks_one_of_three_classes_is_quasi_separable() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), np.arange(200) < 20])
    y = rng.integers(3, size=200)
    y[:20] = np.arange(20) % 2
    no_penalty(X, y, "quasi_separable")


def test_a_tolerance_below_rounding_ends_an_l1_fit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(3, size=200)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(l1_ratio=1.0, tol=1e-15, max_iter=200).fit(X, y)
    assert model.certificate_.status == "precision_limit"


def test_iris_without_a_penalty_is_separable_in_part() -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    no_penalty(X, y, "quasi_separable")
    no_penalty(X[:100], y[:100], "separable")
    # Versicolor against virginica overlap: a finite optimum.
    model = LogisticRegression(penalty=None).fit(X[50:], y[50:])
    assert model.certificate_.ok


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_one_hot_columns_are_collinear_and_certified(sparse: bool, classes: int) -> None:
    rng = np.random.default_rng(1)
    levels = rng.integers(5, size=300)
    other = rng.integers(3, size=300)
    # All levels of both variables, besides an intercept: two dependencies.
    X = np.hstack([np.eye(5)[levels], np.eye(3)[other], rng.normal(size=(300, 1))])
    y = rng.integers(classes, size=300)
    model = LogisticRegression(penalty=None, tol=1e-9).fit(sp.csr_array(X) if sparse else X, y)
    assert model.certificate_.ok
    assert np.all(np.abs(model.coef_) < 1e6)
    # Dropping the redundant columns changes nothing.
    less = LogisticRegression(penalty=None, tol=1e-9).fit(np.delete(X, [0, 5], axis=1), y)
    assert less.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-8)


def test_a_level_seen_in_one_class_only_is_quasi_separable() -> None:
    rng = np.random.default_rng(2)
    levels = rng.integers(4, size=200)
    y = rng.integers(2, size=200)
    y[levels == 2] = 1
    no_penalty(np.eye(4)[levels], y, "quasi_separable")


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e11])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # allowed to say so
def test_an_identifier_like_column(offset: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 1000, size=80).astype(float)
    y = (z / 500 - 1 + 0.7 * rng.normal(size=80) > 0).astype(int)
    problem = {
        "X": z[:, None],
        "y": 2.0 * y - 1,
        "upper": np.ones(80),
        "intercept": True,
        "penalised": False,
    }
    optimum = float(minimum_smooth("log loss", pad([problem], 80, 1))[1][0])
    model = LogisticRegression(penalty=None).fit((z + offset)[:, None], y)
    certificate = model.certificate_
    assert certificate.dual <= optimum * (1 + 1e-6)
    if certificate.ok:
        assert certificate.primal <= optimum * (1 + 2e-6)
    # And a verification of the same model says the same.
    again = verify(model, (z + offset)[:, None], y)
    assert again.dual <= optimum * (1 + 1e-6)


# --- class weights -----------------------------------------------------------------------------


def test_class_weight_is_a_weight() -> None:
    X, y = data(3)
    by_class = {0: 2.0, 1: 0.5, 2: 1.0}
    one = LogisticRegression(class_weight=by_class, tol=1e-10).fit(X, y)
    other = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=np.array([2.0, 0.5, 1.0])[y])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)


def test_balanced_weights() -> None:
    X, y = data(3)
    counts = np.bincount(y)
    one = LogisticRegression(class_weight="balanced", tol=1e-10).fit(X, y)
    other = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=(len(y) / (3 * counts))[y])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_class_weight_of_zero(classes: int) -> None:
    X, y = data(classes)
    model = LogisticRegression(class_weight={0: 0.0, 1: 1.0, 2: 1.0} if classes == 3 else {0: 0.0})
    if classes == 2:
        # One class is left.
        with pytest.raises(ValueError, match="one class"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.certificate_.ok, str(model.certificate_)
    rest = LogisticRegression().fit(X[y != 0], y[y != 0])
    assert model.certificate_.primal == pytest.approx(rest.certificate_.primal, rel=2e-6)


# --- L1 and elastic net ------------------------------------------------------------------------


def test_the_ratio_alone_and_the_name_are_two_spellings_of_one_fit() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for name, ratio in (("l1", 1.0), ("elasticnet", 0.5), ("l2", 0.0)):
        one = LogisticRegression(penalty=name, l1_ratio=0.0 if name == "l1" else ratio).fit(X, y)
        other = LogisticRegression(l1_ratio=ratio).fit(X, y)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.objective_formula_ == other.objective_formula_
    assert one.objective_formula_.startswith("minimise 1/2 |w|^2 + 1 * sum log")


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_optimum_is_that_of_saga(ratio: float, classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    y = (X @ rng.normal(size=(6, classes)) + 2 * rng.normal(size=(100, classes))).argmax(axis=1)
    ours = LogisticRegression(l1_ratio=ratio, C=0.3, tol=1e-12).fit(X, y)
    saga = sklearn.linear_model.LogisticRegression(
        l1_ratio=ratio, C=0.3, tol=1e-12, solver="saga", max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, saga.coef_, atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ == 0.0, np.abs(saga.coef_) < 1e-7)


def test_one_against_the_rest_with_l1() -> None:
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(penalty="l1", multiclass="ovr").fit(X, y)
    assert len(model.certificate_.parts) == 3
    assert "|w|_1" in model.objective_formula_


def test_no_summary_after_l1() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(penalty="l1").fit(X, y)
    with pytest.raises(ValueError, match="a penalty draws the estimates towards zero"):
        model.summary()


def test_verify_judges_the_one_that_was_cross_validated():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegressionCV(Cs=3, cv=2).fit(X, y)
    assert verify(model, X, y).ok


# --- bounds ---------------------------------------------------------------------------------------


def bounded_reference(X, y, C, lower, upper, share: float = 0.0) -> float:
    """The optimum of two classes by L-BFGS-B, with both parts of each weight."""
    d, signs = X.shape[1], np.where(y, 1.0, -1.0)

    def value(z):
        w = z[:d] - z[d : 2 * d]
        margins = signs * (X @ w + z[-1])
        slope = X.T @ (-C * signs * expit(-margins)) + (1.0 - share) * w
        total = C * np.sum(np.logaddexp(0.0, -margins)) + share * np.sum(z[: 2 * d])
        total += 0.5 * (1.0 - share) * (w @ w)
        shift = np.sum(-C * signs * expit(-margins))
        return total, np.concatenate([slope + share, share - slope, [shift]])

    bounds = [(0.0, u) for u in upper] + [(0.0, -low) for low in lower] + [(None, None)]
    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(2 * d + 1)
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_weights_between_bounds_are_those_of_l_bfgs_b(share: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    for lower, upper in (
        (-0.1, 0.2),
        (0.0, None),
        (-0.5 * rng.random(30), np.where(rng.random(30) < 0.5, 0.0, np.inf)),
    ):
        model = LogisticRegression(C=2.0, l1_ratio=share, bounds=(lower, upper)).fit(X, y)
        assert model.certificate_.status == "optimal"
        low, high = (np.broadcast_to(b, 30) for b in (lower, np.inf if upper is None else upper))
        w = model.coef_[0]
        assert np.all((w >= low) & (w <= high))
        assert np.any((w == low) | (w == high))
        best = bounded_reference(X, y, 2.0, low, high, share)
        assert model.certificate_.dual <= best * (1.0 + 1e-12)
        assert model.certificate_.primal <= best * (1.0 + 2e-6)
        assert verify(model, X, y).ok


def test_bounds_by_column_and_what_is_said_of_them() -> None:
    X, y = data(3)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    by_name = LogisticRegression(bounds={"b": (-0.1, 0.1), "d": (None, 0)}).fit(table, y)
    by_index = LogisticRegression(bounds={1: (-0.1, 0.1), np.int64(3): (None, 0)}).fit(table, y)
    np.testing.assert_array_equal(by_name.coef_, by_index.coef_)
    assert by_name.certificate_.ok
    assert np.abs(by_name.coef_[:, 1]).max() == 0.1
    assert by_name.coef_[:, 3].max() == 0.0
    assert by_name.objective_formula_.endswith(" subject to lower_j <= w_j <= upper_j")
    formula = LogisticRegression(bounds=(0, 0.5), multiclass="ovr").fit(X, y).objective_formula_
    assert " subject to 0 <= w <= 0.5, for each class" in formula
    assert by_name.path(table, y, [0.1, 1.0]).certificates[1].ok
    # A Series names its columns itself, and None is no bound among others, too.
    upper = {"d": 0.0, "b": 0.1, "a": np.inf, "c": np.inf}
    for bounds in (
        (pd.Series({"b": -0.1}), pd.Series(upper)),
        (pd.Series([-0.1, -np.inf], index=[1, 0]), pd.Series([0.0, 0.1], index=[3, 1])),
        (pd.Series({"b": -0.1, "a": None}), pd.Series(upper)),
        ([None, -0.1, None, None], (np.inf, 0.1, None, 0)),
        (np.array([None, -0.1, None, None]), np.array([np.inf, 0.1, np.inf, 0.0])),
    ):
        model = LogisticRegression(bounds=bounds).fit(table, y)
        np.testing.assert_array_equal(model.coef_, by_name.coef_)
    # Infinite bounds are none.
    free = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(
        LogisticRegression(bounds=(None, np.inf)).fit(X, y).coef_, free.coef_
    )


def test_without_a_penalty_bounds_keep_weights_finite() -> None:
    # Separable rows: no optimum without them.
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    model = LogisticRegression(penalty=None, bounds=(-3.0, 3.0)).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.coef_.tolist() == [[3.0]]
    with pytest.raises(ValueError, match="no standard errors"):
        model.summary()
    with pytest.raises(ValueError, match="every column needs a lower and an upper bound"):
        LogisticRegression(penalty=None, bounds=(0, None)).fit(X, y)


def test_float32_that_a_bound_does_not_have_costs_no_certificate() -> None:
    X, y = data(3)
    # In float32 a third is more than a third.
    model = LogisticRegression(bounds=(0.0, 1.0 / 3.0), multiclass="ovr")
    model.fit(X.astype(np.float32), y)
    assert model.certificate_.ok
    assert model.coef_.max() == 1.0 / 3.0
    model = LogisticRegression(bounds=(0.0, 0.25)).fit(X.astype(np.float32), y)
    assert (model.coef_.dtype, model.coef_.max()) == (np.float32, 0.25)


def test_separable_classes_between_wide_bounds_end_where_the_loss_has_vanished() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = LogisticRegression(penalty=None, bounds=(-1e6, 1e6))
    with pytest.warns(ConvergenceWarning, match="vanishing: .* below 1e-28 of what it is at"):
        model.fit(X, X[:, 0] > 0)
    assert model.certificate_.n_iter < 100
    # Under a penalty an objective may be as small as that because of the units alone.
    long = LogisticRegression().fit(1e20 * X, X[:, 0] > 0).certificate_
    assert long.ok and long.primal < 1e-28


def test_a_warm_start_from_beyond_the_bounds() -> None:
    X, y = data()
    model = LogisticRegression(bounds=(-1.0, 1.0), warm_start=True).fit(X, y)
    model.set_params(bounds=(-0.1, 0.1)).fit(X, y)
    assert model.certificate_.ok
    assert np.abs(model.coef_).max() == 0.1


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ((1, 2), "bounds of column 'x0' are 1 and 2"),
        ((0, np.nan), "bounds of column 'x0' are 0 and nan"),
        (3, "must be a pair"),
        ({0: (1,)}, "bounds of column 'x0' must be a pair"),
        ("01", "must be a pair .* got '01'"),
        (("0", "1"), "bounds has '0' as the lower bound of column 'x0'; give a number, or None"),
        ((0, [1, "1", 1, 1]), "bounds has '1' as the upper bound of column 'x1'"),
        ((0, [1, 1, [1], 1]), r"bounds has \[1\] as the upper bound of column 'x2'"),
        ((False, 1), "bounds has False as the lower"),
        ((np.zeros((1, 4)), 1), r"lower bounds of the shape \(1, 4\); give one number for all"),
        ((0, [1, 2, 3]), r"upper bounds of the shape \(3,\); .* or one for each of the 4"),
        ({"x1": (0, 1), 1: (0, 2)}, "names the column 'x1' twice, as 'x1' and as 1"),
        ((pd.Series([0, 0], index=["x0", "q"]), 1), "names the column 'q', which is not there"),
        ("ab", "must be a pair"),
        ((np.zeros(3), 1), "one for each of the 4 columns"),
        ({"z": (0, 1)}, "the column 'z', which is not there"),
        ({4: (0, 1)}, "the column 4, which is not there"),
        ({-1: (0, 1)}, "the column -1, which is not there"),
        ({True: (0, 1)}, "the column True, which is not there"),
        ((0, pd.Index([1, 2, 3, 4])), "bounds has upper bounds of type Index; give a number"),
        ((pd.DataFrame({"x0": [0.0]}), 1), "bounds has lower bounds of type DataFrame"),
        ((0, {1, 2, 3, 4}), "upper bounds of type set, whose order is not that of the columns"),
        ((-(10**400), 1), "bounds has -1000.* as the lower bound of column 'x0'"),
    ],
)
def test_bad_bounds_are_refused(bounds, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        LogisticRegression(bounds=bounds).fit(*data())


def test_other_ways_to_fit_say_that_they_know_no_bounds() -> None:
    X, y = data()
    with pytest.raises(TypeError, match="bounds are kinks"):
        LogisticRegression(bounds=(0, 1), solver="newton").fit(X, y)
    model = LogisticRegression(bounds=(0, 1)).fit(X, y)
    with pytest.raises(ValueError, match="rigorous=True does not cover"):
        verify(model, X, y, rigorous=True)


def exactly(model, X, y, C, share) -> mp.mpf:
    """The objective of two classes in 60 digits."""
    with mp.workdps(60):
        w, b = [mp.mpf(v) for v in model.coef_[0].tolist()], mp.mpf(float(model.intercept_[0]))
        out = mp.mpf(share) * sum(abs(v) for v in w)
        out += mp.mpf(1.0 - share) / 2 * sum(v * v for v in w)
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            z = (2 * label - 1) * (sum(mp.mpf(x) * v for x, v in zip(row, w, strict=True)) + b)
            out += mp.mpf(C) * (mp.log1p(mp.exp(-z)))
        return out


@pytest.mark.parametrize("kind", ["offset", "scales", "tiny bounds", "ties", "long"])
def test_no_bound_is_above_an_objective_that_was_reached(kind: str) -> None:
    """The certificates of three tolerances, against the best of their points in 60 digits."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 9)), int(rng.integers(1, 5))
        X, y = rng.normal(size=(n, d)), (rng.random(n) < 0.5).astype(int)
        y[:2] = 0, 1
        width = 10.0 ** rng.uniform(-3, 2, size=d)
        if kind == "offset":
            X += 10.0 ** rng.uniform(0, 7, size=d)
        elif kind == "scales":
            X *= 10.0 ** rng.uniform(-60, 60, size=d)
        elif kind == "tiny bounds":
            width = 10.0 ** rng.uniform(-300, -9, size=d)
        elif kind == "ties":
            X = np.round(X)
        else:
            X *= 1e4
        lower, upper = -width * rng.choice([0.0, 1.0], size=d), width * rng.choice([0.0, 1.0, 1e3])
        share = float(rng.choice([0.0, 0.3, 1.0]))
        C = 10.0 ** rng.uniform(-4, 4)
        fits = []
        for tol in (1e-2, 1e-8, 1e-15):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = LogisticRegression(
                    C=C, l1_ratio=share, bounds=(lower, upper), tol=tol, max_iter=20
                )
                fits.append(model.fit(X, y))
        values = [exactly(model, X, y, C, share) for model in fits]
        for model, value in zip(fits, values, strict=True):
            assert mp.mpf(float(model.certificate_.primal)) >= value, (
                seed,
                str(model.certificate_),
            )
            assert mp.mpf(float(model.certificate_.dual)) <= min(values), seed
