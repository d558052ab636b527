"""Polynomial regression: accuracy, what the points bear, overfitting, and scikit-learn."""

from __future__ import annotations

import json
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as SklearnLinear
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nist import DATA_SETS, correct_digits
from rational_least_squares import exact_fit
from separatrix import PolynomialRegression, load_model, save_model
from separatrix.models.polynomial import DegreeWarning

POLYNOMIALS = [name for name, data in DATA_SETS.items() if data.degree is not None]


def sine(n: int = 40, noise: float = 0.2, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, size=(n, 1))
    return x, np.sin(2 * np.pi * x[:, 0]) + noise * rng.normal(size=n)


def table(n: int = 200, d: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2.0
    return X, X[:, 0] * X[:, 1] - X[:, -1] ** 2 + rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::separatrix.models.polynomial.DegreeWarning")
@parametrize_with_checks([PolynomialRegression()])
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::separatrix.models.polynomial.DegreeWarning")
@parametrize_with_checks(
    [
        PolynomialRegression(degree=3, interactions=False),
        PolynomialRegression(degree=1, lam=0.01),
    ]
)
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


# --- accuracy -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_nist_to_at_least_as_many_digits_as_the_best_of_the_others(name) -> None:
    data = DATA_SETS[name]
    x, y, degree = data.x, data.y, data.degree
    powers = np.vander(x, degree + 1, increasing=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = PolynomialFeatures(degree, include_bias=False).fit_transform(x[:, None])
        linear = SklearnLinear().fit(features, y)
        others = {
            "lstsq": np.linalg.lstsq(powers, y, rcond=None)[0],
            "lstsq without a cut": np.linalg.lstsq(powers, y, rcond=-1)[0],
            "polyfit": np.polyfit(x, y, degree)[::-1],
            "Polynomial.fit": np.polynomial.Polynomial.fit(x, y, degree).convert().coef,
            "Chebyshev.fit": np.polynomial.Chebyshev.fit(x, y, degree)
            .convert(kind=np.polynomial.Polynomial)
            .coef,
            "scikit-learn": np.array([linear.intercept_, *linear.coef_]),
            "statsmodels": sm.OLS(y, powers).fit().params,
            "statsmodels qr": sm.OLS(y, powers).fit(method="qr").params,
        }
    digits = {peer: correct_digits(found, data.coefficients) for peer, found in others.items()}
    model = PolynomialRegression(degree).fit(x[:, None], y)
    own = correct_digits([model.intercept_, *model.coef_], data.coefficients)
    # Beyond thirteen, the rounding of the data decides, and on which processor.
    assert own >= min(max(digits.values()), 13.0), digits
    # The published numbers are decimals, which float64 rounds. For the rounded ones this is the
    # exact answer, to the last digit of each coefficient or the one before.
    exact = np.array([float(v) for v in exact_fit(x, y, degree)])
    np.testing.assert_allclose([model.intercept_, *model.coef_], exact, rtol=4e-16)
    assert own > 13
    summary = model.summary()
    if data.residual_deviation > 0.0:
        assert correct_digits(summary.standard_error, data.errors) > 13
        assert correct_digits(summary.sigma, data.residual_deviation) > 13
    assert correct_digits(summary.r2, data.r_squared) > 13
    assert model.certificate_.ok


@pytest.mark.parametrize(
    "x",
    [
        np.linspace(0.0, 1.0, 20),
        np.linspace(1990.0, 2009.0, 20),
        np.cos(np.pi * (2 * np.arange(41) + 1) / 82),
        1e8 + np.cos(np.pi * (2 * np.arange(41) + 1) / 82),
        np.linspace(-1e-8, 3e-8, 12),
        np.array([3.0, 7.0]),
    ],
    ids=["20 even", "20 years", "41 Chebyshev", "far away", "tiny", "a line"],
)
def test_through_m_points_goes_degree_m_minus_1(x) -> None:
    y = 100.0 * np.random.default_rng(0).normal(size=len(x))
    model = PolynomialRegression(len(x) - 1).fit(x[:, None], y)
    # Rounding: some units of the last place of the largest value, for up to 41 terms.
    assert model.mse_ <= (100 * np.finfo(float).eps * np.abs(y).max()) ** 2
    np.testing.assert_allclose(model.predict(x[:, None]), y, atol=1e-12 * np.abs(y).max())
    assert model.certificate_.ok and model.rank_ == len(x) - 1
    assert model.score(x[:, None], y) == 1.0


def test_against_numpy_s_polynomials() -> None:
    x, y = sine(200)
    for degree in (1, 4, 9):
        model = PolynomialRegression(degree).fit(x, y)
        theirs = np.polynomial.Polynomial.fit(x[:, 0], y, degree)
        new = np.linspace(0.0, 1.0, 50)
        np.testing.assert_allclose(model.predict(new[:, None]), theirs(new), rtol=0, atol=1e-11)
        plain = theirs.convert().coef
        np.testing.assert_allclose([model.intercept_, *model.coef_], plain, rtol=1e-8)


@pytest.mark.parametrize("interactions", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_several_features_against_least_squares_in_plain_powers(degree, interactions) -> None:
    X, y = table()
    model = PolynomialRegression(degree, interactions=interactions).fit(X, y)
    features = np.prod(X[:, None, :] ** model.powers_, axis=2)
    with_constant = np.column_stack([np.ones(len(X)), features])
    expected = np.linalg.lstsq(with_constant, y)[0]
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), with_constant @ expected, rtol=1e-9, atol=1e-9)
    assert model.mse_ == pytest.approx(np.mean((y - with_constant @ expected) ** 2), rel=1e-10)
    if interactions:
        theirs = PolynomialFeatures(degree, include_bias=False).fit(X)
        assert model.terms_ == theirs.get_feature_names_out().tolist()
        np.testing.assert_allclose(theirs.transform(X), features, rtol=1e-12)


def test_an_offset_changes_nothing_but_the_names_of_the_numbers() -> None:
    x, y = sine()
    x = np.round(x * 1024) / 1024
    near = PolynomialRegression(6).fit(x, y)
    far = PolynomialRegression(6).fit(x + 2.0**20, y)
    np.testing.assert_allclose(far.predict(x + 2.0**20), near.predict(x), atol=1e-12)
    assert far.mse_ == pytest.approx(near.mse_, rel=1e-12)


def test_the_residuals_are_orthogonal_to_every_power() -> None:
    X, y = table()
    model = PolynomialRegression(3).fit(X, y)
    residuals = model.residuals(X, y)
    np.testing.assert_allclose(residuals, y - model.projection(X), atol=0)
    features = np.prod(X[:, None, :] ** model.powers_, axis=2)
    features -= features.mean(axis=0)
    cosines = features.T @ residuals
    cosines /= np.linalg.norm(features, axis=0) * np.linalg.norm(residuals)
    assert np.abs(cosines).max() < 1e-12 and abs(residuals.mean()) < 1e-12


# --- data of every kind ---------------------------------------------------------------------


def test_several_targets_are_fitted_side_by_side() -> None:
    X, y = table()
    Y = np.column_stack([y, np.cos(X[:, 0])])
    model = PolynomialRegression(2).fit(X, Y)
    assert model.coef_.shape == (2, 9) and model.intercept_.shape == (2,)
    assert model.predict(X).shape == (200, 2) and model.mse_.shape == (2,)
    for j in range(2):
        alone = PolynomialRegression(2).fit(X, Y[:, j])
        np.testing.assert_allclose(model.coef_[j], alone.coef_, rtol=1e-12)
        np.testing.assert_allclose(model.predict(X)[:, j], alone.predict(X), atol=1e-12)
        np.testing.assert_allclose(
            model.summary()[j].p_value, alone.summary().p_value, rtol=1e-9, atol=1e-300
        )
    one = PolynomialRegression(2).fit(X, Y[:, :1])
    assert one.coef_.shape == (1, 9) and one.predict(X).shape == (200, 1)
    assert model.r2(X, Y) == pytest.approx(model.score(X, Y))


def test_weights_are_copies() -> None:
    X, y = table(100)
    s = np.random.default_rng(1).integers(0, 4, size=100)
    rows = np.repeat(np.arange(100), s)
    for lam in (0.0, 0.1):
        weighted = PolynomialRegression(3, lam=lam).fit(X, y, sample_weight=s)
        copied = PolynomialRegression(3, lam=lam).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-10)
        assert weighted.mse_ == pytest.approx(copied.mse_, rel=1e-12)
        assert weighted.n_samples_seen_ == len(rows)
        assert weighted.r2(X, y, s) == pytest.approx(copied.r2(X[rows], y[rows]))


@pytest.mark.parametrize("kind", ["F", "float32", "csr", "csc", "frame"])
def test_every_storage_gives_the_same_fit(kind) -> None:
    X, y = table()
    X = np.round(X * 4) / 4 * (np.abs(X) > 1)
    stored = {
        "F": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "csr": sp.csr_matrix(X),
        "csc": sp.csc_matrix(X),
        "frame": pd.DataFrame(X, columns=["a", "b", "c"]),
    }[kind]
    plain = PolynomialRegression(3).fit(X, y)
    model = PolynomialRegression(3).fit(stored, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(stored), plain.predict(X), rtol=1e-12)
    if kind == "frame":
        assert model.terms_[:5] == ["a", "b", "c", "a^2", "a b"]
        assert model.summary().names[5] == "a b"


def test_the_powers_are_never_all_in_memory() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 4)), rng.normal(size=60_000)
    PolynomialRegression(4).fit(X[:500], y[:500])
    tracemalloc.start()
    model = PolynomialRegression(4).fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 69 terms: 33 MB at once. A few vectors and blocks are what it takes.
    assert len(model.terms_) == 69
    assert peak < 12e6


def test_a_stored_model(tmp_path) -> None:
    X, y = table()
    model = PolynomialRegression(3).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    save_model(tmp_path / "cubic.separatrix", model)
    again = load_model(tmp_path / "cubic.separatrix").model
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert str(again.summary()) == str(model.summary())
    json.dumps(again.summary().to_dict(), allow_nan=False)
    # Names that come from elsewhere, like a table's.
    again.feature_names_in_ = np.array(["x", "y", "z"], dtype=object)
    assert again.summary().names[5:7] == ("x y", "x z")


def test_inside_pipelines_and_searches() -> None:
    x, y = sine(80)
    pipe = make_pipeline(StandardScaler(), PolynomialRegression())
    search = GridSearchCV(pipe, {"polynomialregression__degree": [1, 3, 5]}, cv=4).fit(x, y)
    assert search.best_params_["polynomialregression__degree"] > 1
    assert search.best_score_ > 0.8
    again = clone(search.best_estimator_[-1])
    assert again.get_params() == search.best_estimator_[-1].get_params()


# --- the penalty ----------------------------------------------------------------------------


def test_the_penalty_is_on_the_coefficients_in_the_basis() -> None:
    X, y = table()
    n, lam = len(y), 0.25
    model = PolynomialRegression(2, lam=lam).fit(X, y)
    # The basis is that of the same rows without a penalty: the terms as the formula has them.
    t = (X - model.basis_centre_) * model.basis_scale_
    a, b, s = np.moveaxis(model.basis_recurrence_, 2, 0)
    first = (t - a[:, 0]) * s[:, 0]
    second = ((t - a[:, 1]) * first - b[:, 1]) * s[:, 1]
    np.testing.assert_allclose([np.mean(first**2, 0), np.mean(second**2, 0)], 1.0, rtol=1e-12)
    single = [np.ones_like(t), first, second]
    terms = np.column_stack(
        [np.prod([single[p][:, j] for j, p in enumerate(row)], axis=0) for row in model.powers_]
    )
    centred = terms - terms.mean(axis=0)
    expected = np.linalg.solve(
        centred.T @ centred / n + lam * np.eye(9), centred.T @ (y - y.mean()) / n
    )
    np.testing.assert_allclose(model.basis_coef_[0], expected, rtol=1e-10, atol=1e-12)
    assert "+ 0.125 |c|^2" in model.objective_formula_
    with pytest.raises(ValueError, match="penalty draws the estimates.*lam=0"):
        model.summary()


def test_a_penalty_makes_any_degree_determined() -> None:
    x, y = sine(10)
    model = PolynomialRegression(9, lam=1e-3).fit(x, y)
    assert model.certificate_.ok and np.isfinite(model.coef_).all()
    X, y = table(20)
    # 34 terms on 20 rows: no warning, because the penalty decides.
    assert PolynomialRegression(4, lam=0.01).fit(X, y).certificate_.ok


# --- what the points bear -------------------------------------------------------------------


def test_fewer_distinct_points_than_coefficients() -> None:
    x = np.array([[0.0], [1.0], [2.0], [1.0], [0.0], [2.0]])
    y = np.arange(6.0)
    with pytest.warns(
        DegreeWarning, match="degree=4 is more than .* 'x0' determines powers up to 2"
    ):
        model = PolynomialRegression(4).fit(x, y)
    assert model.terms_ == ["x0", "x0^2"]
    np.testing.assert_allclose(model.predict([[0.0], [1.0], [2.0]]), [2.0, 2.0, 3.5])
    # Points determine as many coefficients as there are points.
    PolynomialRegression(2).fit(x, y)


def test_an_indicator_has_no_square() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"male": rng.integers(0, 2, 50), "age": rng.normal(size=50), "one": 1.0})
    y = rng.normal(size=50)
    with pytest.warns(
        DegreeWarning, match="'male' determines powers up to 1, 'one' is constant; the higher"
    ):
        model = PolynomialRegression(2).fit(frame, y)
    assert model.terms_ == ["male", "age", "male age", "age^2"]
    features = np.column_stack([np.ones(50), frame["male"], frame["age"]])
    features = np.column_stack([features, frame["male"] * frame["age"], frame["age"] ** 2])
    expected = np.linalg.lstsq(features, y)[0]
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-9)


def test_more_terms_than_rows() -> None:
    X, y = table(15)
    with pytest.warns(
        DegreeWarning, match="15 rows do not determine 19 terms .* determine degree 2"
    ):
        model = PolynomialRegression(3).fit(X, y)
    assert model.mse_ < 1e-20
    with pytest.raises(ValueError, match="only 14 of 19 terms are independent"):
        model.summary()
    # Rows without weight are no rows.
    X, y = table(40)
    with pytest.warns(DegreeWarning, match="15 rows do not determine"):
        PolynomialRegression(3).fit(X, y, sample_weight=np.arange(40) < 15)


def test_columns_that_depend_on_one_another() -> None:
    X, y = table()
    X = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(DegreeWarning, match="3 of 5 terms depend on the others"):
        model = PolynomialRegression(2).fit(X, y)
    alone = PolynomialRegression(2).fit(X[:, :1], y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X[:, :1]), rtol=1e-10)
    with pytest.raises(ValueError, match=r"coefficients \('x0', 'x1', 'x0\^2', 'x0 x1', 'x1\^2'\)"):
        model.summary()


def test_a_constant_column_has_the_mean() -> None:
    with pytest.warns(DegreeWarning, match="'x0' is constant"):
        model = PolynomialRegression(2).fit([[3.0], [3.0], [3.0]], [1.0, 2.0, 6.0], [1, 1, 2])
    assert model.intercept_ == 3.75 and model.terms_ == []
    assert model.predict([[3.0], [9.0]]).tolist() == [3.75, 3.75]
    zero = PolynomialRegression(0).fit([[1.0], [2.0]], [1.0, 2.0])
    assert zero.intercept_ == 1.5 and zero.certificate_.ok


# --- the summary ----------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [None, "HC0", "HC1", "HC2", "HC3"])
def test_the_summary_is_that_of_plain_powers(robust) -> None:
    X, y = table(60, 2)
    s = np.random.default_rng(2).integers(1, 3, size=60)
    rows = np.repeat(np.arange(60), s)
    model = PolynomialRegression(2).fit(X, y, sample_weight=s)
    found = model.summary(X, y, s, robust=robust)
    theirs = sm.OLS(y[rows], PolynomialFeatures(2).fit_transform(X[rows]))
    theirs = theirs.fit() if robust is None else theirs.fit(cov_type=robust, use_t=True)
    np.testing.assert_allclose(found.estimate, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(found.standard_error, theirs.bse, rtol=1e-8)
    np.testing.assert_allclose(found.p_value, theirs.pvalues, rtol=1e-7)
    assert found.f_statistic == pytest.approx(theirs.fvalue, rel=1e-8)
    if robust is None:
        np.testing.assert_allclose(model.summary().standard_error, found.standard_error, rtol=1e-10)


# --- overfitting ----------------------------------------------------------------------------


def test_the_degree_curve_shows_overfitting() -> None:
    x, y = sine(25)
    x_new, y_new = sine(400, seed=1)
    curve = PolynomialRegression.degree_curve(
        x, y, range(1, 16), validation=(x_new, y_new), random_state=0
    )
    assert curve.degrees == tuple(range(1, 16)) == curve.n_terms
    # More degrees of freedom always fit the training rows better, and the others worse in the end.
    assert np.all(np.diff(curve.training_mse) <= 1e-12)
    assert 3 <= curve.best_degree <= 6
    best = curve.validation_mse[curve.best_degree - 1]
    assert best < 0.06 < 0.2 < curve.validation_mse[0]
    assert curve.validation_mse[-1] > 100 * best
    assert curve.training_mse[-1] < 0.2**2
    for i, degree in enumerate(curve.degrees):
        model = PolynomialRegression(degree).fit(x, y)
        assert curve.training_mse[i] == pytest.approx(model.mse_, rel=1e-8)
        held = np.mean((y_new - model.predict(x_new)) ** 2)
        assert curve.validation_mse[i] == pytest.approx(held, rel=1e-6)
    assert str(curve).count("<- best") == 1 and len(str(curve).splitlines()) == 16


def test_the_degree_curve_draws_its_own_validation_rows() -> None:
    X, y = table(100, 2)
    first = PolynomialRegression.degree_curve(X, y, [1, 2, 3], validation=0.25, random_state=3)
    again = PolynomialRegression.degree_curve(
        sp.csr_matrix(X), y, (3, 2, 1, 1), validation=0.25, random_state=3
    )
    np.testing.assert_allclose(first.validation_mse, again.validation_mse, rtol=1e-10)
    assert first.best_degree == 2 and first.n_terms == (2, 5, 9)
    s = np.ones(100)
    s[::2] = 2.0
    weighted = PolynomialRegression.degree_curve(X, y, [2], sample_weight=s, lam=0.1)
    assert weighted.validation_mse[0] > 0 and weighted.training_mse[0] != first.training_mse[1]
    with pytest.warns(
        DegreeWarning, match="degree=12 is more than the 7 training rows determine.* is 6"
    ):
        PolynomialRegression.degree_curve(*sine(10), [1, 6, 12])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degrees": []}, "degrees is empty"),
        ({"degrees": [1, 2.5]}, "a degree=2.5 must be a finite whole number"),
        (
            {"validation": 1.0},
            "validation=1.0 of 40 rows leaves no rows to fit or none to validate",
        ),
        ({"validation": 0.001}, "leaves no rows to fit or none to validate"),
        ({"validation": -1}, "validation=-1 must be"),
        ({"validation": (np.ones((3, 2)), np.ones(3))}, "2 features"),
        (
            {"validation": (np.ones((3, 1)), np.ones((3, 2)))},
            "1 targets, and the y of validation has 2",
        ),
        ({"lam": -1.0}, "lam=-1.0 must be"),
        ({"sample_weight": -np.ones(40)}, "sample_weight must not be negative"),
    ],
)
def test_bad_input_of_the_degree_curve(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        PolynomialRegression.degree_curve(*sine(), **options)


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"degree": -1}, "degree=-1 must be a finite whole number of at least 0"),
        ({"degree": 2.0}, "degree=2.0 must be a finite whole number"),
        ({"degree": True}, "degree=True"),
        ({"lam": -0.5}, "lam=-0.5 must be a finite number of at least 0"),
        ({"lam": np.nan}, "lam=nan"),
        ({"interactions": "no"}, "interactions='no' must be True or False"),
    ],
)
def test_bad_parameters(params, message) -> None:
    with pytest.raises(ValueError, match=message):
        PolynomialRegression(**params).fit(*sine())


def test_bad_data_is_named() -> None:
    X, y = table()
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, column 1"):
        PolynomialRegression().fit(bad, y)
    with pytest.raises(ValueError, match="Input y contains NaN at row 3"):
        PolynomialRegression().fit(X, np.where(np.arange(200) == 3, np.nan, y))
    with pytest.raises(ValueError, match="row 5 has -1"):
        PolynomialRegression().fit(X, y, np.where(np.arange(200) == 5, -1.0, 1.0))
    with pytest.raises(ValueError, match="makes 176,850 terms"):
        PolynomialRegression(3).fit(np.random.default_rng(0).normal(size=(20, 100)), np.ones(20))
    model = PolynomialRegression().fit(X, y)
    with pytest.raises(ValueError, match="y has two dimensions and 2 targets, and the"):
        model.residuals(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="not those of the fit"):
        model.summary(X[::-1], y, robust="HC3")
    with pytest.raises(ValueError, match="needs the rows"):
        model.summary(robust="HC3")
    with pytest.raises(ValueError, match="give both X and y"):
        model.summary(X)


def test_every_parameter_and_attribute_is_documented() -> None:
    model = PolynomialRegression().fit(*sine())
    described = {
        word.strip()
        for line in PolynomialRegression.__doc__.splitlines()
        if " : " in line
        for word in line.split(" : ")[0].split(",")
    }
    assert set(model.get_params()) <= described
    assert {a for a in vars(model) if a.endswith("_")} <= described
