"""Inputs on which the closed forms once went wrong."""

from __future__ import annotations

import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Other

from separatrix import (
    LinearDiscriminantAnalysis,
    LinearRegression,
    LogisticRegression,
    PolynomialRegression,
    QuadraticDiscriminantAnalysis,
    SGDClassifier,
    verify,
)
from separatrix.closed_form.polynomial import PolynomialBasis, count_terms
from separatrix.data.design import as_design

rng = np.random.default_rng(20)


def nearly_dependent(n, distance):
    X = rng.normal(size=(n, 4))
    X[:, 1] = X[:, 2] + distance * rng.normal(size=n)
    return X, X[:, 0] + rng.normal(size=n)


# --- what a fit keeps of the rows ---------------------------------------------------------------


def exact_errors(X, y):
    """Standard errors with an intercept, in fifty digits."""
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(1), *map(mpmath.mpf, row)] for row in X.tolist()]
        targets = [mpmath.mpf(v) for v in y.tolist()]
        k = len(rows[0])
        gram = mpmath.matrix(k, k)
        right = mpmath.matrix(k, 1)
        for a in range(k):
            right[a] = mpmath.fsum(r[a] * t for r, t in zip(rows, targets, strict=True))
            for b in range(k):
                gram[a, b] = mpmath.fsum(r[a] * r[b] for r in rows)
        w = mpmath.lu_solve(gram, right)
        rss = mpmath.fsum(
            (t - mpmath.fsum(r[a] * w[a] for a in range(k))) ** 2
            for r, t in zip(rows, targets, strict=True)
        )
        inverse = gram**-1
        return [float(mpmath.sqrt(rss / (len(rows) - k) * inverse[a, a])) for a in range(k)]


@pytest.mark.parametrize("distance", [1e-3, 1e-5])
def test_standard_errors_of_ill_conditioned_columns(distance) -> None:
    # The sums of products, which solve this with a step of refinement, lose five digits of them.
    X, y = nearly_dependent(200, distance)
    found = LinearRegression().fit(X, y).summary().standard_error
    np.testing.assert_allclose(found, exact_errors(X, y), rtol=1e-10)


@pytest.mark.parametrize("distance", [1e-3, 1e-5])
def test_partial_fit_after_fit_loses_nothing(distance) -> None:
    X, y = nearly_dependent(4000, distance)
    whole = LinearRegression().fit(X, y)
    after = LinearRegression().fit(X[:2000], y[:2000]).partial_fit(X[2000:], y[2000:])
    np.testing.assert_allclose(after.coef_, whole.coef_, rtol=1e-4 * distance**-1 * 1e-9)


def test_partial_fit_after_fit_to_means_far_from_zero() -> None:
    X, beta = rng.normal(size=(3000, 3)) + 1e9, np.array([1.0, -2.0, 0.5])
    y = (X - 1e9) @ beta + rng.normal(size=3000)
    whole = LinearRegression().fit(X, y)
    after = LinearRegression().fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    np.testing.assert_allclose(after.coef_, whole.coef_, rtol=1e-13)


def test_partial_fit_after_fit_keeps_small_residuals() -> None:
    X, noise = rng.normal(size=(3000, 3)), rng.normal(size=3000)
    y = X @ [1.0, -2.0, 0.5] + 1e-9 * noise
    whole = LinearRegression().fit(X, y)
    after = LinearRegression().fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    assert after.mse_ == pytest.approx(whole.mse_, rel=1e-6)
    assert whole.mse_ == pytest.approx(1e-18, rel=0.1)


# --- the certificate ----------------------------------------------------------------------------


def judged(X, y, coef, intercept):
    model = Other().fit(X, np.sign(y))
    model.coef_, model.intercept_ = np.asarray(coef, dtype=float), intercept
    return verify(model, X, y)


def test_large_weights_that_cancel_are_no_exact_fit() -> None:
    x = rng.normal(size=200)
    X, y = np.column_stack([x, x]), x + 0.1 * rng.normal(size=200)
    # The weights predict zero, and leave all of y.
    for size in (1e6, 1e10, 1e12):
        certificate = judged(X, y, [size, -size], 0.0)
        assert not certificate.ok
        assert certificate.relative_residual > 0.5
    assert judged(X, x, [0.5, 0.5], 0.0).ok


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_targets_whose_squares_are_out_of_range(size) -> None:
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    plain = LinearRegression().fit(X, y)
    for model in (LinearRegression().fit(X, size * y), LinearRegression().partial_fit(X, size * y)):
        np.testing.assert_allclose(model.coef_ / size, plain.coef_, rtol=1e-12)
        assert model.intercept_ / size == pytest.approx(plain.intercept_, rel=1e-12)
        assert model.certificate_.ok
        assert verify(model, X, size * y).ok
        assert model.certificate_.orthogonality < 1e-10
        with pytest.raises(ValueError, match="squares of y are out of the range of float64"):
            model.summary()
    # Weights of zero leave all of y.
    assert not judged(X, size * y, [0.0, 0.0], 0.0).ok


def test_coefficients_out_of_range_are_an_error() -> None:
    X, y = 1e-310 * rng.normal(size=(50, 2)), rng.normal(size=50)
    with pytest.raises(ValueError, match="coefficients are out of the range of float64"):
        LinearRegression().fit(X, y)


def test_a_column_near_the_largest_number_goes_on() -> None:
    X, y = 1e305 * rng.normal(size=(50, 2)), rng.normal(size=50)
    model = LinearRegression().fit(X, y)
    after = LinearRegression().fit(X[:25], y[:25]).partial_fit(X[25:], y[25:])
    assert np.isfinite(after.intercept_)
    np.testing.assert_allclose(after.coef_, model.coef_, rtol=1e-10)
    np.testing.assert_allclose(after.intercept_, model.intercept_, rtol=1e-10)


# --- state and messages -------------------------------------------------------------------------


def test_a_failed_fit_leaves_nothing_behind() -> None:
    model = LinearRegression()
    with pytest.raises(ValueError, match="NaN at row 1"):
        model.fit([[0.0], [np.nan], [1.0]], [0.0, 1.0, 2.0])
    assert not [name for name in vars(model) if name.startswith("_n")]


def test_an_intercept_changed_between_calls_is_named() -> None:
    model = LinearRegression().partial_fit([[0.0], [1.0]], [0.0, 1.0])
    model.set_params(fit_intercept=False)
    with pytest.raises(ValueError, match="fit_intercept=False differs from the earlier calls"):
        model.partial_fit([[2.0]], [2.0])


def test_a_rate_beyond_float64_asks_for_standardised_features() -> None:
    X, y = 1e151 * rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(ValueError, match="standardise the features"):
        SGDClassifier(average=True, random_state=0).fit(X, y)


# --- polynomials --------------------------------------------------------------------------------


def test_many_degrees_are_written_out_exactly() -> None:
    # The reference is the recurrence in exact fractions, for one column and for two.
    x = rng.normal(size=(60, 2))
    for columns, degree in ((1, 30), (2, 5)):
        basis = PolynomialBasis.of(as_design(np.ascontiguousarray(x[:, :columns])), degree)
        high = rng.normal(size=(1, 1 + basis.n_terms))
        low = 1e-20 * rng.normal(size=high.shape)
        coef, intercept = basis.to_powers(high, low)
        point = [Fraction(float(v)) for v in x[7, :columns]]
        value = _value(basis, high[0], low[0], point)
        plain = sum(
            (
                Fraction(float(c)) * _power(point, row)
                for c, row in zip(coef[0], basis.powers, strict=True)
            ),
            Fraction(float(intercept[0])),
        )
        size = sum(
            abs(Fraction(float(c)) * _power(point, row))
            for c, row in zip(coef[0], basis.powers, strict=True)
        )
        # Each is rounded once.
        assert abs(plain - value) <= (size + abs(Fraction(float(intercept[0])))) / 2**52


def _power(point, row):
    out = 1
    for v, k in zip(point, row.tolist(), strict=True):
        out *= v**k
    return out


def _value(basis, high, low, point):
    tables = []
    for j, v in enumerate(point):
        t = (v - Fraction(float(basis.centre[j]))) * Fraction(float(basis.scale[j]))
        before, values = Fraction(0), [Fraction(1)]
        for k in range(int(basis.top[j])):
            a, b, s = (Fraction(float(u)) for u in basis.recurrence[j, k])
            before, after = values[-1], s * ((t - a) * values[-1] - b * before)
            values.append(after)
        tables.append(values)
    total = Fraction(float(high[0])) + Fraction(float(low[0]))
    for c, rest, row in zip(high[1:], low[1:], basis.powers, strict=True):
        term = Fraction(float(c)) + Fraction(float(rest))
        for j, k in enumerate(row.tolist()):
            term *= tables[j][k]
        total += term
    return total


@pytest.mark.parametrize("top", [[3, 0, 2], [5], [1, 1, 1, 1], []])
@pytest.mark.parametrize("degree", [0, 1, 4, 9])
def test_terms_are_counted(top, degree) -> None:
    brute = sum(sum(exponents) <= degree for exponents in np.ndindex(*[t + 1 for t in top]))
    assert count_terms(top, degree, True) == brute - 1


def test_a_degree_beyond_all_points_costs_no_more() -> None:
    x, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        huge = PolynomialRegression(10**30, interactions=False).fit(x, y)
        plain = PolynomialRegression(11, interactions=False).fit(x, y)
        both = PolynomialRegression(10**9).fit(x, y)
    np.testing.assert_array_equal(huge.coef_, plain.coef_)
    np.testing.assert_allclose(both.predict(x), y, atol=1e-9)


def test_too_many_terms_are_refused_before_they_are_made() -> None:
    x, y = rng.normal(size=(5000, 2)), rng.normal(size=5000)
    with pytest.raises(ValueError, match="terms or more"):
        PolynomialRegression(4000).fit(x, y)


# --- verify -------------------------------------------------------------------------------------


def tampered(model, name, X, y):
    assert verify(model, X, y).ok
    old = getattr(model, name)
    setattr(model, name, np.asarray(old) * 1.001)
    found = verify(model, X, y)
    setattr(model, name, old)
    return found


@pytest.mark.parametrize("name", ["coef_", "intercept_", "centred_coef_", "centred_intercept_"])
def test_all_discriminants_that_are_reported_are_verified(name) -> None:
    X, y = rng.normal(size=(90, 3)) + 5.0, np.arange(90) % 3
    assert not tampered(LinearDiscriminantAnalysis().fit(X, y), name, X, y).ok


def test_priors_that_were_given_are_verified() -> None:
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    model = QuadraticDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(X, y)
    assert not tampered(model, "priors_", X, y).ok


@pytest.mark.parametrize("name", ["coef_", "intercept_", "basis_coef_", "basis_intercept_"])
@pytest.mark.parametrize("degree", [1, 3, 8])
def test_plain_powers_are_verified(name, degree) -> None:
    X = rng.normal(size=(60, 1)) + 2.0
    y = np.exp(X[:, 0]) + 0.1 * rng.normal(size=60)
    assert not tampered(PolynomialRegression(degree).fit(X, y), name, X, y).ok


def test_a_class_without_rows_cannot_be_verified() -> None:
    X, y = rng.normal(size=(20, 2)), np.zeros(20, dtype=int)
    model = LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="Class 1 has no rows yet"):
        verify(model, X, y)


@pytest.mark.parametrize("kind", [LinearRegression, PolynomialRegression])
def test_a_penalised_fit_has_no_summary_whatever_is_set_later(kind) -> None:
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = kind(lam=0.1).fit(X, y).set_params(lam=0.0)
    with pytest.raises(ValueError, match="a penalty draws the estimates towards zero"):
        model.summary()


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_the_summary_is_of_the_fit_whatever_is_set_later(kind) -> None:
    X, y = rng.normal(size=(40, 2)) + 3.0, np.arange(40) % 2
    model = (kind(penalty=None) if kind is LogisticRegression else kind()).fit(X, y)
    before = model.summary().standard_error
    np.testing.assert_array_equal(
        model.set_params(fit_intercept=False).summary().standard_error, before
    )


# --- columns that nearly depend on one another --------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(1000, 60), (1000, 27), (200, 25), (200, 20)])
def test_powers_beyond_what_float64_tells_apart(n, k) -> None:
    # Their relations are known so badly that the answer of least norm once left more than all of y.
    x, y = np.linspace(0.0, 1.0, n), np.random.default_rng(k).normal(size=n)
    X = x[:, None] ** np.arange(1, k + 1)
    A = np.column_stack([np.ones(n), X])
    other = np.linalg.lstsq(A, y, rcond=None)[0]
    least = np.linalg.norm(y - A @ other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = LinearRegression().fit(X, y), LinearRegression().partial_fit(X, y)
    for model in models:
        # Exact numbers may leave less, by more than a millionth, than any that float64 finds.
        assert model.certificate_.status in ("optimal", "precision_limit")
        assert np.linalg.norm(model.residuals(X, y)) <= 1.001 * least


def test_an_answer_is_never_worse_than_zero_weights() -> None:
    # Nearly of rank 3: weights of 1e13, whose rounding would explain any residual.
    random = np.random.default_rng(301)
    for trial in range(20):
        n, d, r = 75, 17, int(random.integers(1, 5))
        X = random.normal(size=(n, r)) @ random.normal(size=(r, d))
        X += 10.0 ** random.integers(-16, -10) * random.normal(size=(n, d))
        X *= 10.0 ** random.integers(-5, 5, size=d)
        y = random.normal(size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearRegression(fit_intercept=bool(trial % 2)).fit(X, y)
        size = np.linalg.norm(y - y.mean()) if trial % 2 else np.linalg.norm(y)
        if model.certificate_.ok:
            assert np.linalg.norm(model.residuals(X, y)) <= 1.02 * size
    x = random.normal(size=50)
    # Twice as far off as zero weights, by numbers whose rounding is as large.
    assert not judged(np.column_stack([x, x]), x, [1e16 - 1.0, -1e16], 0.0).ok


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_a_column_whose_variance_cannot_be_told_is_named(size) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(50)
    frame = pd.DataFrame(X * [size, 1.0, 1.0], columns=["a", "b", "c"])
    model = LinearRegression().fit(frame, y)
    with pytest.raises(ValueError, match="coefficient of 'a' is out of the range of float64"):
        model.summary()


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_a_portion_out_of_range_leaves_the_model_as_it_was(kind) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.arange(60) % 3
    model = kind().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(
        ValueError, match="out of the range of float64, so the model was not changed"
    ):
        model.partial_fit(np.full((3, 3), 1e308) * [[1.0], [-1.0], [1.0]], [0, 0, 1])
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.partial_fit(X, y).means_, kind().fit(X, y).means_)


def test_weights_that_no_float_holds_together() -> None:
    X = np.random.default_rng(0).standard_normal((12, 3))
    weights = np.r_[1e300, 1e-300, np.ones(10)]
    with pytest.raises(ValueError, match="span more than float64 can hold together"):
        LinearDiscriminantAnalysis().fit(X, np.arange(12) % 3, weights)
