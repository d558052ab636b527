"""Least squares with weights between bounds, against enumeration and SciPy."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear, nnls
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from grids import share
from separatrix import LinearRegression, Ridge, RidgeClassifier, load_model, save_model, verify
from separatrix.closed_form.bounded import solve
from separatrix.closed_form.least_squares import certify
from separatrix.closed_form.normal_equations import LeastSquaresProblem, for_all_targets
from separatrix.data.design import as_design


def data(n=60, d=5, m=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return X, X @ rng.standard_normal((d, m)) + 0.5 * rng.standard_normal((n, m)) + 2.0


def problem(X, y, lower, upper, **options):
    bounds = for_all_targets((lower, upper))
    return LeastSquaresProblem(as_design(X), y, bounds=bounds, **options)


def by_enumeration(X, y, s, ridge, intercept):
    """The best over all sets of columns whose least squares have no negative weight."""
    n, d = X.shape
    best = np.inf
    for size in range(d + 1):
        for used in itertools.combinations(range(d), size):
            rows = X[:, used]
            if intercept:
                rows = np.column_stack([rows, np.ones(n)])
            root = np.sqrt(s)[:, None]
            penalty = np.sqrt(ridge) * np.eye(rows.shape[1])[:size]
            left = np.vstack([root * rows, penalty])
            right = np.concatenate([root[:, 0] * y, np.zeros(size)])
            w = np.linalg.lstsq(left, right, rcond=None)[0]
            if np.all(w[:size] >= 0.0):
                best = min(best, float(np.sum((left @ w - right) ** 2)))
    return best


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(share(32)))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_as_good_as_the_best_of_all_sets(seed, intercept, ridge):
    X, y = data(seed=seed)
    s = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    ends = np.zeros(5), np.full(5, np.inf)
    options = {"weights": s, "ridge": ridge, "fit_intercept": intercept}
    found = solve(problem(X, y, *ends, **options))
    w, b = found.coef[0], found.intercept[0]
    value = s @ (y[:, 0] - X @ w - b) ** 2 + ridge * w @ w
    assert np.all(w >= 0.0) and found.certificate.ok
    assert value == pytest.approx(by_enumeration(X, y[:, 0], s, ridge, intercept), rel=1e-10)


def test_hostile_columns():
    X, y = data(40, 4, 3)
    hostile = np.column_stack([X, X[:, 0], -X[:, 1], np.ones(40), np.zeros(40), 1e9 * X[:, 2]])
    for intercept in (False, True):
        model = LinearRegression(positive=True, fit_intercept=intercept).fit(hostile, y)
        assert model.certificate_.ok and np.all(model.coef_ >= 0.0), str(model.certificate_)
        centred, targets = hostile, y
        if intercept:
            centred, targets = hostile - hostile.mean(axis=0), y - y.mean(axis=0)
        for k in range(3):
            rest = nnls(centred, targets[:, k])[1]
            own = np.linalg.norm(y[:, k] - model.predict(hostile)[:, k])
            assert own <= rest * (1.0 + 1e-9)


def test_more_columns_than_rows_and_nothing_to_explain():
    X, y = data(20, 50)
    model = LinearRegression(positive=True).fit(X, y[:, 0])
    assert model.certificate_.ok and np.all(model.coef_ >= 0.0)
    assert not np.any(LinearRegression(positive=True).fit(X, np.ones(20)).coef_)
    none = LinearRegression(positive=True, fit_intercept=False)
    assert not np.any(none.fit(np.abs(X), -np.abs(X).sum(axis=1)).coef_)


@pytest.mark.parametrize("make", [LinearRegression, Ridge])
def test_the_same_as_scikit_learns_and_both_verified(make):
    X, y = data(80, 6, 2)
    theirs = getattr(linear_model, make.__name__)(
        positive=True, **({} if make is LinearRegression else {"tol": 1e-12})
    )
    ours, theirs = make(positive=True).fit(X, y), theirs.fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert verify(ours, X, y).ok
    assert verify(theirs, X, y, tol=1e-4).ok
    sparse = make(positive=True).fit(sp.csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(ours.coef_, rel=1e-9, abs=1e-12)
    assert "w >= 0" in ours.certificate_.equations


def test_what_is_no_optimum_is_not_taken_for_one():
    X, y = data()
    best = LinearRegression(positive=True).fit(X, y[:, 0])
    free = LinearRegression().fit(X, y[:, 0])
    assert np.any(free.coef_ < 0.0)

    def judged(coef, intercept):
        ends = np.zeros(5), np.full(5, np.inf)
        return certify(problem(X, y, *ends), coef[None, :], np.array([intercept]))

    assert judged(best.coef_, best.intercept_).ok
    assert not judged(free.coef_, free.intercept_).ok
    assert not judged(np.maximum(free.coef_, 0.0), free.intercept_).ok
    assert not judged(np.zeros(5), float(y.mean())).ok


def test_classes_and_strengths_by_target():
    X, y = data(80, 6, 2)
    model = RidgeClassifier(positive=True, alpha=2.0).fit(X, y[:, 0] > 0)
    assert model.certificate_.ok and np.all(model.coef_ >= 0.0)
    each = Ridge(alpha=[0.1, 50.0], positive=True).fit(X, y)
    for k, alpha in enumerate([0.1, 50.0]):
        one = Ridge(alpha=alpha, positive=True).fit(X, y[:, k])
        assert each.coef_[k] == pytest.approx(one.coef_, rel=1e-9)
    assert verify(each, X, y).ok


def test_what_does_not_go_with_it():
    X, y = data()
    with pytest.raises(ValueError, match="positive=True needs all rows in one call; use fit"):
        LinearRegression(positive=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="constrained to be nonnegative have no standard errors"):
        LinearRegression(positive=True).fit(X, y[:, 0]).summary()
    with pytest.raises(
        ValueError, match="square matrix over all columns, which is too large for 9,000"
    ):
        LinearRegression(positive=True).fit(sp.csr_matrix((3, 9000)), np.ones(3))
    path = LinearRegression(positive=True).path(X, y[:, 0], [1.0, 0.1], cv=3)
    assert np.all(path.coefs >= 0.0) if hasattr(path, "coefs") else path.best in (1.0, 0.1)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        LinearRegression(positive=True).fit(X, y)


def least_between(X, y, s, ridge, intercept, lower, upper):
    """The least objective between bounds, by SciPy, on columns and targets about their means."""
    if intercept:
        X, y = X - np.average(X, axis=0, weights=s), y - np.average(y, weights=s)
    rows = np.vstack([np.sqrt(s)[:, None] * X, np.sqrt(ridge) * np.eye(X.shape[1])])
    right = np.concatenate([np.sqrt(s) * y, np.zeros(X.shape[1])])
    room = lower < upper
    found = lsq_linear(rows[:, room], right, (lower[room], upper[room]), method="bvls", tol=1e-15)
    return 2.0 * found.cost


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_as_good_as_scipys_between_bounds(intercept, ridge):
    for seed in range(share(80)):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 12))
        X, y = data(40, d, 2, seed=seed)
        X = X @ (np.eye(d) + 0.9 * rng.uniform(size=(d, d)))
        s = rng.integers(0, 3, len(y)).astype(float)
        lower = -rng.choice([0.0, 0.1, 1.0, np.inf], d)
        upper = rng.choice([0.0, 0.1, 1.0, np.inf], d)
        options = {"weights": s, "ridge": ridge, "fit_intercept": intercept}
        found = solve(problem(X, y, lower, upper, **options))
        assert found.certificate.ok, (seed, str(found.certificate))
        assert np.all((found.coef >= lower) & (found.coef <= upper))
        for k in range(2):
            left = y[:, k] - X @ found.coef[k] - found.intercept[k]
            value = s @ left**2 + ridge * found.coef[k] @ found.coef[k]
            best = least_between(X, y[:, k], s, ridge, intercept, lower, upper)
            assert value <= best * (1.0 + 1e-10), (seed, k)


def test_positive_weights_are_a_case_of_bounds():
    X, y = data(80, 6, 2)
    some, others = (
        LinearRegression(**own).fit(X, y) for own in ({"positive": True}, {"bounds": (0, None)})
    )
    assert some.coef_.tobytes() == others.coef_.tobytes()
    assert some.certificate_.equations == others.certificate_.equations
    assert some.certificate_.relative_residual == others.certificate_.relative_residual
    with pytest.raises(ValueError, match="leave one out"):
        LinearRegression(positive=True, bounds=(0, None)).fit(X, y)
    free, unbounded = LinearRegression().fit(X, y), LinearRegression(bounds=(None, None)).fit(X, y)
    assert free.coef_.tobytes() == unbounded.coef_.tobytes()
    assert free.objective_formula_ == unbounded.objective_formula_


def test_bounds_are_read_as_everywhere_else(tmp_path):
    import pandas as pd

    X, y = data(60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LinearRegression(bounds={"a": (0, 0.1), 2: (-0.2, None)}).fit(frame, y[:, 0])
    pairs = (np.array([0, -np.inf, -0.2]), [0.1, None, None])
    again = LinearRegression(bounds=pairs).fit(X, y[:, 0])
    assert model.coef_.tobytes() == again.coef_.tobytes()
    assert model.coef_[0] in (0.0, 0.1) and model.coef_[2] >= -0.2
    assert model.objective_formula_.endswith("subject to lower_j <= w_j <= upper_j")
    assert "l <= w <= u" in str(model.certificate_) and verify(model, frame, y[:, 0]).ok
    sparse = LinearRegression(bounds=pairs).fit(sp.csr_matrix(X), y[:, 0])
    assert sparse.coef_ == pytest.approx(again.coef_, rel=1e-9, abs=1e-12)
    file = tmp_path / "bounded.json"
    save_model(file, again)
    for twin in (load_model(file).model, pickle.loads(pickle.dumps(again))):
        assert twin.coef_.tobytes() == again.coef_.tobytes()
        assert twin.objective_formula_ == again.objective_formula_
    for bounds, words in (
        ((1, 2), "have to allow a weight of zero"),
        ({"d": (0, 1)}, "names the column 'd'"),
        ((0, [1, 2]), "one for each of the 3 columns"),
    ):
        with pytest.raises(ValueError, match=words):
            LinearRegression(bounds=bounds).fit(frame, y)


def test_a_point_between_bounds_that_is_no_optimum_is_refused():
    X, y = data(60, 4)
    ends = np.array([-0.2, 0.0, -np.inf, -1.0]), np.array([0.3, 0.0, np.inf, 0.5])
    best = LinearRegression(bounds=ends).fit(X, y[:, 0])
    free = LinearRegression().fit(X, y[:, 0])

    def judged(coef):
        level = np.array([float((y[:, 0] - X @ coef).mean())])
        return certify(problem(X, y, *ends), coef[None, :], level)

    assert judged(best.coef_).ok and not judged(free.coef_).ok
    assert not judged(np.clip(free.coef_, *ends)).ok or np.allclose(
        best.coef_, np.clip(free.coef_, *ends)
    )
    for j, step in itertools.product(range(4), (-1e-4, 1e-4)):
        moved = best.coef_.copy()
        moved[j] += step
        assert not judged(moved).ok, (j, step)


def test_bounds_of_targets_whose_squares_are_out_of_range():
    X, y = data(50, 4, 2)
    for size in (1e-200, 1e200):
        ends = np.array([0.0, -0.1, -np.inf, 0.0]), np.array([0.2, 0.1, np.inf, 0.0])
        small = LinearRegression(bounds=ends).fit(X, y)
        scaled = LinearRegression(bounds=(ends[0] * size, ends[1] * size)).fit(X, y * size)
        assert scaled.certificate_.ok
        assert scaled.coef_ / size == pytest.approx(small.coef_, rel=1e-9, abs=1e-12)


def test_hostile_columns_between_bounds():
    X, y = data(40, 4, 3)
    hostile = np.column_stack([X, X[:, 0], -X[:, 1], np.ones(40), np.zeros(40), 1e9 * X[:, 2]])
    for bounds, intercept in itertools.product(
        [(-0.1, 0.1), (0, 0), (-1, None), ([-1e-3] * 9, [None] * 8 + [1e-12])], [False, True]
    ):
        model = LinearRegression(bounds=bounds, fit_intercept=intercept).fit(hostile, y)
        assert model.certificate_.ok, (bounds, intercept, str(model.certificate_))
    few, targets = data(12, 30)
    assert LinearRegression(bounds=(-0.5, 0.5)).fit(few, targets).certificate_.ok
    assert not np.any(LinearRegression(bounds=(-1, 1)).fit(few, np.ones(12)).coef_)


def test_what_does_not_go_with_bounds():
    from separatrix.scale import scan

    X, y = data()
    model = LinearRegression(bounds=(0, 1))
    with pytest.raises(ValueError, match="bounds need all rows in one call; use fit"):
        model.partial_fit(X, y)
    with pytest.raises(TypeError, match="bounds need all rows to choose the columns"):
        model.fit(scan(X, y[:, 0], quantity=True))
    with pytest.raises(ValueError, match="between bounds have no standard errors"):
        model.fit(X, y[:, 0]).summary()
    path = model.path(X, y[:, 0], [1.0, 0.1], cv=3)
    assert all(c.ok for c in path.certificates) and verify(path[0], X, y[:, 0]).ok


@pytest.mark.parametrize("options", [{"positive": True}, {"bounds": (-1.0, 1.0)}])
def test_a_penalty_that_overflows_is_told_by_the_certificate(options, capfd) -> None:
    X, y = data(n=8, d=2)
    model = LinearRegression(lam=1e300, **options)
    with pytest.warns(ConvergenceWarning, match="non_finite"):
        model.fit(X, y[:, 0], sample_weight=np.full(8, 1e20))
    assert model.certificate_.status == "non_finite"
    # LAPACK's words about NaN.
    assert capfd.readouterr().out == ""


def test_bounds_that_overflow_in_the_unit_of_a_target_are_none() -> None:
    X, y = data(n=12, d=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression(bounds=(-1e200, 1e200)).fit(X, 1e-200 * y[:, 0])
    assert model.certificate_.ok
    assert model.coef_ == pytest.approx(1e-200 * LinearRegression().fit(X, y[:, 0]).coef_)


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"bounds": (-1.0, 1.0)}])
def test_weights_that_underflow_are_certified_as_they_are_returned(options) -> None:
    from separatrix.scale import scan

    # The best weights are about 1e-450: those of zero that are returned explain nothing.
    X = np.array([[1e150, 1.0], [1e150, 1.0], [0.0, 0.0]])
    y = np.array([1e-300, 1e-300, 0.0])
    model = LinearRegression(lam=1.0, fit_intercept=False, **options)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert not np.any(model.coef_)
    assert not model.certificate_.ok and not verify(model, X, y).ok
    if not options:
        with pytest.warns(ConvergenceWarning):
            parts = LinearRegression(lam=1.0, fit_intercept=False).partial_fit(X, y)
        with pytest.warns(ConvergenceWarning):
            rows = scan(X, y, quantity=True, block_rows=2)
            passes = LinearRegression(lam=1.0, fit_intercept=False).fit(rows)
        assert not parts.certificate_.ok and not passes.certificate_.ok
    # Digits that are lost below the least normal number, of weights that are good enough.
    small = LinearRegression(fit_intercept=False, **options).fit(X[:, :1] / 1e142, y[:, None] / 10)
    assert small.certificate_.ok and verify(small, X[:, :1] / 1e142, y[:, None] / 10).ok


@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_weights_that_are_pushed_beyond_their_bounds_explain_nothing(offset) -> None:
    # Rounding of the offset is what is left of the equations of the other columns.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4)) + offset
        y = X @ np.array([1.0, -1.0, 0.5, -0.2]) + rng.normal(size=40) + offset
        for options in ({"positive": True}, {"bounds": (0.0, 0.4)}):
            model = LinearRegression(**options).fit(X, y)
            assert model.certificate_.ok, (seed, options, str(model.certificate_))


def test_what_columns_could_take_away_together_counts_between_bounds_too() -> None:
    # Each column is orthogonal to the residual to 1e-9, and their difference is not.
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 40))
    X, y = np.column_stack([x, x + 1e-9 * e]), x + e + 0.5 * rng.normal(size=40)
    model = LinearRegression(bounds=(-1e11, 1e11)).fit(X, y)
    assert model.certificate_.ok and verify(model, X, y).ok
    best, half = model.mse_, 0.5 * model.coef_[1]
    rest = LinearRegression().fit(X[:, :1], y - X[:, 1] * half)
    model.coef_, model.intercept_ = np.array([rest.coef_[0], half]), rest.intercept_
    assert np.mean((y - model.predict(X)) ** 2) > 2.0 * best
    assert not verify(model, X, y).ok
