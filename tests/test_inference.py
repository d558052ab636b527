"""Standard errors, tests and intervals against statsmodels and against the formulas."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.stats
import statsmodels.api as sm

from nist import DATA_SETS, correct_digits
from separatrix import LinearRegression, LogisticRegression, load_model, save_model
from separatrix.closed_form import inference
from separatrix.closed_form.inference import Summary, likelihood_information
from separatrix.data.design import as_design
from separatrix.losses import LogLoss
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty

ROBUST = ["HC0", "HC1", "HC2", "HC3"]
COLUMNS = ["estimate", "standard_error", "statistic", "p_value", "lower", "upper"]


def regression(n: int = 60, d: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 5.0, 0.1] + [0.0, 3.0, 10.0]
    y = X @ [1.0, -0.5, 2.0] + rng.normal(size=n) * (0.5 + np.abs(X[:, 0]))
    return X, y, rng.integers(0, 4, size=n)


def classes(n: int = 150, k: int = 2, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 3.0, 0.5] + [0.0, 2.0, -1.0]
    scores = X @ rng.normal(size=(3, k)) * 0.5 + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1), rng.integers(0, 4, size=n)


def agrees(found: Summary, theirs, *, rtol: float = 1e-8) -> None:
    """The table of a statsmodels result; its parameters of several classes one after another."""
    interval = np.asarray(theirs.conf_int(1.0 - found.level))
    interval = interval.reshape(-1, 2)
    expected = {
        "estimate": np.ravel(theirs.params, order="F"),
        "standard_error": np.ravel(theirs.bse, order="F"),
        "statistic": np.ravel(theirs.tvalues, order="F"),
        "p_value": np.ravel(theirs.pvalues, order="F"),
        "lower": interval[:, 0],
        "upper": interval[:, 1],
    }
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(found, name), expected[name], rtol=rtol, atol=1e-11)


def exog(X: np.ndarray, intercept: bool = True) -> np.ndarray:
    return sm.add_constant(X) if intercept else X


# --- least squares --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("robust", [None, *ROBUST])
def test_least_squares_as_in_statsmodels(robust, intercept, weighted) -> None:
    X, y, s = regression()
    s = s if weighted else np.ones(len(y), dtype=int)
    rows = np.repeat(np.arange(len(y)), s)
    model = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=s)
    found = model.summary(X, y, sample_weight=s, robust=robust)
    theirs = sm.OLS(y[rows], exog(X[rows], intercept))
    # Student's t for robust errors as well; statsmodels takes the normal one by default.
    theirs = theirs.fit() if robust is None else theirs.fit(cov_type=robust, use_t=True)
    agrees(found, theirs)
    pairs = [
        (found.n, theirs.nobs),
        (found.df_model, theirs.df_model),
        (found.df_residual, theirs.df_resid),
        (found.log_likelihood, theirs.llf),
        (found.aic, theirs.aic),
        (found.bic, theirs.bic),
        (found.r2, theirs.rsquared),
        (found.adjusted_r2, theirs.rsquared_adj),
        (found.f_statistic, theirs.fvalue),
        (found.f_p_value, theirs.f_pvalue),
        (found.sigma, np.sqrt(theirs.scale)),
    ]
    np.testing.assert_allclose(*zip(*pairs, strict=True), rtol=1e-8)
    assert found.kind == "t" and found.robust == robust
    if robust is None:
        without_rows = model.summary()
        for name in COLUMNS:
            np.testing.assert_allclose(
                getattr(without_rows, name), getattr(found, name), rtol=1e-10, atol=1e-300
            )


def test_the_null_model_of_least_squares() -> None:
    X, y, _ = regression()
    found = LinearRegression().fit(X, y).summary()
    null = sm.OLS(y, np.ones((len(y), 1))).fit()
    assert found.log_likelihood_null == pytest.approx(null.llf, rel=1e-12)


def test_weights_as_in_a_generalised_linear_model() -> None:
    X, y, s = regression()
    model = LinearRegression().fit(X, y, sample_weight=s)
    theirs = sm.GLM(y, exog(X), freq_weights=s).fit()
    found = model.summary()
    np.testing.assert_allclose(found.estimate, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(found.standard_error, theirs.bse, rtol=1e-8)
    X, y, s = classes()
    fit = LogisticRegression(penalty=None, tol=1e-13).fit(X, y, sample_weight=s)
    theirs = sm.GLM(y, exog(X), family=sm.families.Binomial(), freq_weights=s).fit(tol=1e-14)
    agrees(fit.summary(), theirs)
    assert fit.summary().log_likelihood == pytest.approx(theirs.llf, rel=1e-10)
    assert fit.summary().n == s.sum()


def test_after_rows_in_chunks() -> None:
    X, y, s = regression()
    model = LinearRegression()
    for part in np.array_split(np.arange(len(y)), 7):
        model.partial_fit(X[part], y[part], sample_weight=s[part])
    rows = np.repeat(np.arange(len(y)), s)
    agrees(model.summary(), sm.OLS(y[rows], exog(X[rows])).fit())
    theirs = sm.OLS(y[rows], exog(X[rows])).fit(cov_type="HC1", use_t=True)
    agrees(model.summary(X, y, sample_weight=s, robust="HC1"), theirs)


def test_fractional_weights() -> None:
    # The formulas with n the sum of the weights, as they stand.
    X, y, _ = regression()
    s = np.random.default_rng(1).uniform(0.1, 2.0, size=len(y))
    found = LinearRegression().fit(X, y, sample_weight=s).summary()
    A = exog(X)
    inverse = np.linalg.inv((A * s[:, None]).T @ A)
    residuals = y - A @ inverse @ (A * s[:, None]).T @ y
    variance = s @ residuals**2 / (s.sum() - 4)
    expected = np.sqrt(variance * np.diag(inverse))
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-10)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_level_of_the_intervals(level) -> None:
    X, y, _ = regression()
    agrees(LinearRegression().fit(X, y).summary(level=level), sm.OLS(y, exog(X)).fit())
    found = LinearRegression().fit(X, y).summary(level=level)
    inside = scipy.stats.t.cdf((found.upper - found.estimate) / found.standard_error, 56)
    np.testing.assert_allclose(2 * inside - 1, level, rtol=1e-9)


def test_several_targets_have_a_summary_each() -> None:
    X, y, _ = regression()
    Y = np.column_stack([y, y**2, X[:, 0] - y])
    found = LinearRegression().fit(X, Y).summary(X, Y, robust="HC3")
    assert [own.target for own in found] == ["y0", "y1", "y2"]
    for own, column in zip(found, Y.T, strict=True):
        agrees(own, sm.OLS(column, exog(X)).fit(cov_type="HC3", use_t=True), rtol=1e-7)


def test_an_offset_costs_no_digits() -> None:
    # Years, or seconds since 1970: the columns are centred before anything is squared.
    rng = np.random.default_rng(0)
    small = rng.integers(-8, 9, size=(40, 2)) / 8.0
    y = small @ [1.0, 2.0] + rng.normal(size=40)
    near = LinearRegression().fit(small, y)
    far = LinearRegression().fit(small + 2.0**30, y)
    for robust in (None, "HC3"):
        at_home = near.summary(small, y, robust=robust)
        away = far.summary(small + 2.0**30, y, robust=robust)
        np.testing.assert_allclose(away.standard_error[1:], at_home.standard_error[1:], rtol=1e-9)
        np.testing.assert_allclose(away.p_value[1:], at_home.p_value[1:], rtol=1e-6)


def test_sparse_and_float32_rows() -> None:
    X, y, s = regression()
    X = np.round(X * 4) / 4 * (np.abs(X) > 0.7)
    dense = LinearRegression().fit(X, y, s).summary(X, y, s, robust="HC2")
    for other in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        found = LinearRegression().fit(other, y, s).summary(other, y, s, robust="HC2")
        np.testing.assert_allclose(found.standard_error, dense.standard_error, rtol=1e-10)
    X, y, s = classes()
    X = np.round(X * 4) / 4
    dense = LogisticRegression(penalty=None, tol=1e-13).fit(X, y, s).summary(X, y, s, robust="HC2")
    # The weights of float32 rows are rounded to float32, which every standard error feels.
    for other, close in ((sp.csr_matrix(X), 1e-8), (X.astype(np.float32), 1e-6)):
        fit = LogisticRegression(penalty=None, tol=1e-13).fit(other, y, s)
        found = fit.summary(other, y, s, robust="HC2")
        np.testing.assert_allclose(found.standard_error, dense.standard_error, rtol=close)


def test_a_perfect_fit() -> None:
    X = np.arange(12.0).reshape(6, 2) ** 2
    found = LinearRegression().fit(X, X @ [1.0, 2.0]).summary()
    assert np.all(found.standard_error < 1e-10)
    assert found.r2 == pytest.approx(1.0)
    json.dumps(found.to_dict(), allow_nan=False)
    constant = LinearRegression().fit(X, np.ones(6)).summary()
    json.dumps(constant.to_dict(), allow_nan=False)
    assert str(constant)


def test_longley_to_the_certified_digits() -> None:
    # NIST's certified standard deviations of the estimates, 15 digits.
    longley = DATA_SETS["Longley"]
    found = LinearRegression().fit(longley.x, longley.y).summary()
    assert correct_digits(found.estimate, longley.coefficients) > 11
    assert correct_digits(found.standard_error, longley.errors) > 11
    assert correct_digits(found.sigma, longley.residual_deviation) > 12
    assert correct_digits(found.r2, longley.r_squared) > 13


# --- maximum likelihood ---------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_as_in_statsmodels(intercept, weighted) -> None:
    X, y, s = classes()
    s = s if weighted else np.ones(len(y), dtype=int)
    rows = np.repeat(np.arange(len(y)), s)
    model = LogisticRegression(penalty=None, fit_intercept=intercept, tol=1e-13)
    found = model.fit(X, y, sample_weight=s).summary()
    theirs = sm.Logit(y[rows], exog(X[rows], intercept)).fit(disp=0, tol=1e-14)
    agrees(found, theirs)
    np.testing.assert_allclose(found.odds_ratio, np.exp(theirs.params), rtol=1e-8)
    np.testing.assert_allclose(
        np.column_stack([found.odds_lower, found.odds_upper]), np.exp(theirs.conf_int()), rtol=1e-8
    )
    pairs = [
        (found.n, theirs.nobs),
        (found.df_residual, theirs.df_resid),
        (found.log_likelihood, theirs.llf),
        (found.bic, -2 * theirs.llf + np.log(theirs.nobs) * theirs.params.size),
        (found.aic, -2 * theirs.llf + 2 * theirs.params.size),
    ]
    if intercept:
        pairs += [
            (found.df_model, theirs.df_model),
            (found.log_likelihood_null, theirs.llnull),
            (found.pseudo_r2, theirs.prsquared),
            (found.lr_statistic, theirs.llr),
            (found.lr_p_value, theirs.llr_pvalue),
            (found.aic, theirs.aic),
            (found.bic, theirs.bic),
        ]
    else:
        # Without an intercept the model without columns says 1/2 of every row.
        pairs.append((found.log_likelihood_null, -s.sum() * np.log(2.0)))
    np.testing.assert_allclose(*zip(*pairs, strict=True), rtol=1e-8)
    assert found.kind == "z"
    again = model.summary(X, y, sample_weight=s)
    for name in [*COLUMNS, "odds_ratio"]:
        np.testing.assert_allclose(getattr(again, name), getattr(found, name), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_multinomial_as_in_statsmodels(intercept) -> None:
    X, y, s = classes(n=240, k=4)
    rows = np.repeat(np.arange(len(y)), s)
    model = LogisticRegression(penalty=None, fit_intercept=intercept, tol=1e-13)
    model.fit(X, np.array(list("abcd"))[y], sample_weight=s)
    found = model.summary()
    theirs = sm.MNLogit(y[rows], exog(X[rows], intercept)).fit(disp=0, tol=1e-14, maxiter=100)
    agrees(found, theirs)
    assert found.log_likelihood == pytest.approx(theirs.llf, rel=1e-10)
    assert found.df_residual == s.sum() - theirs.params.size
    if intercept:
        assert found.names[:2] == ("b: (intercept)", "b: x0")
        assert found.df_model == theirs.df_model
        np.testing.assert_allclose(
            [found.aic, found.bic, found.pseudo_r2],
            [theirs.aic, theirs.bic, theirs.prsquared],
            rtol=1e-8,
        )
        # The model of an intercept alone has the shares of the classes, exactly.
        shares = np.bincount(y[rows]) / len(rows)
        null = len(rows) * float(shares @ np.log(shares))
        expected = scipy.stats.chi2.sf(2.0 * (theirs.llf - null), 9)
        assert found.lr_p_value == pytest.approx(expected, rel=1e-8)
    with_rows = model.summary(X, np.array(list("abcd"))[y], sample_weight=s)
    np.testing.assert_allclose(with_rows.standard_error, found.standard_error, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_white_s_errors_as_in_statsmodels(k) -> None:
    X, y, s = classes(k=k, n=200)
    rows = np.repeat(np.arange(len(y)), s)
    model = LogisticRegression(penalty=None, tol=1e-13).fit(X, y, sample_weight=s)
    kind = sm.Logit if k == 2 else sm.MNLogit
    theirs = kind(y[rows], exog(X[rows])).fit(disp=0, tol=1e-14, maxiter=100, cov_type="HC0")
    agrees(model.summary(X, y, sample_weight=s, robust="HC0"), theirs)


@pytest.mark.parametrize("robust", ROBUST)
def test_robust_logistic_errors_by_the_formula(robust) -> None:
    # statsmodels gives HC0 for all four; this is the sandwich written out, row by row.
    X, y, s = classes(n=80)
    model = LogisticRegression(penalty=None, tol=1e-13).fit(X, y, sample_weight=s)
    rows = np.repeat(np.arange(len(y)), s)
    A, t = exog(X[rows]), y[rows]
    p = model.predict_proba(X[rows])[:, 1]
    bread = np.linalg.inv((A * (p * (1 - p))[:, None]).T @ A)
    leverage = np.einsum("ij,jk,ik->i", A, bread, A) * p * (1 - p)
    n, k = A.shape
    g = (t - p) ** 2
    if robust == "HC1":
        g = g * n / (n - k)
    elif robust == "HC2":
        g = g / (1 - leverage)
    elif robust == "HC3":
        g = g / (1 - leverage) ** 2
    expected = np.sqrt(np.diag(bread @ (A * g[:, None]).T @ A @ bread))
    found = model.summary(X, y, sample_weight=s, robust=robust)
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-9)


def test_robust_multinomial_errors_by_the_formula() -> None:
    X, y, _ = classes(n=120, k=3)
    model = LogisticRegression(penalty=None, tol=1e-13).fit(X, y)
    A, p = exog(X), model.predict_proba(X)
    information, meat = np.zeros((8, 8)), np.zeros((8, 8))
    for i in range(len(y)):
        q = p[i, 1:]
        information += np.kron(np.diag(q) - np.outer(q, q), np.outer(A[i], A[i]))
        slope = np.kron((y[i] == np.array([1, 2])) - q, A[i])
        meat += np.outer(slope, slope)
    np.testing.assert_allclose(model.information_, information, rtol=1e-9, atol=1e-12)
    bread = np.linalg.inv(information)
    n, k = len(y), 8
    for robust, factor in (("HC0", 1.0), ("HC1", n / (n - k))):
        expected = np.sqrt(factor * np.diag(bread @ meat @ bread))
        found = model.summary(X, y, robust=robust)
        np.testing.assert_allclose(found.standard_error, expected, rtol=1e-9)


def test_class_totals_are_sums_of_weights() -> None:
    X, y, s = classes(k=3)
    model = LogisticRegression(penalty=None).fit(X, y, sample_weight=s)
    assert model.class_totals_.tolist() == [s[y == k].sum() for k in range(3)]
    model.set_params(penalty="l2").fit(X, y)
    assert not hasattr(model, "class_totals_") and not hasattr(model, "information_")


def test_lam_zero_and_infinite_C_are_no_penalty() -> None:
    X, y, _ = classes()
    plain = LogisticRegression(penalty=None, tol=1e-12).fit(X, y).summary()
    for options in ({"lam": 0.0}, {"C": np.inf}):
        found = LogisticRegression(tol=1e-12, **options).fit(X, y).summary()
        np.testing.assert_allclose(found.p_value, plain.p_value, rtol=1e-9)


def test_a_summary_of_a_stored_model(tmp_path) -> None:
    X, y, _ = classes()
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    logistic = LogisticRegression(penalty=None).fit(frame, y)
    linear = LinearRegression().fit(frame, X[:, 0] + y)
    for k, model in enumerate((logistic, linear)):
        save_model(tmp_path / f"{k}.separatrix", model)
        again = load_model(tmp_path / f"{k}.separatrix").model
        assert str(again.summary()) == str(model.summary())
        assert again.summary().names == ("(intercept)", "age", "income", "height")


# --- what it refuses ------------------------------------------------------------------------


def test_a_penalty_is_refused() -> None:
    X, y, _ = classes()
    with pytest.raises(ValueError, match="penalty draws the estimates.*penalty=None"):
        LogisticRegression().fit(X, y).summary()
    with pytest.raises(ValueError, match="penalty draws the estimates.*lam=0"):
        LinearRegression(lam=0.1).fit(X, y).summary()


def test_robust_errors_need_the_rows() -> None:
    X, y, _ = classes()
    for model in (LinearRegression(), LogisticRegression(penalty=None)):
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"robust='HC1' needs the rows .* summary\(X, y"):
            model.summary(robust="HC1")
        with pytest.raises(ValueError, match="give both X and y"):
            model.summary(X)
        with pytest.raises(ValueError, match="robust='HC4' is not known"):
            model.summary(X, y, robust="HC4")
        for level in (0, 1, 1.5, "high"):
            with pytest.raises(ValueError, match="level="):
                model.summary(level=level)


def test_other_rows_are_refused() -> None:
    X, y, _ = classes()
    for model in (LinearRegression(), LogisticRegression(penalty=None)):
        model.fit(X, y)
        with pytest.raises(ValueError, match="not those of the fit"):
            model.summary(X[::-1], y, robust="HC0")
        with pytest.raises(ValueError, match="not those of the fit"):
            model.summary(X, y, np.arange(len(y)) % 3, robust="HC0")
        model.summary(X, y, robust="HC0")
    linear = LinearRegression().fit(X, y)
    for other in ((X + 1.0, y), (X, y + 0.01), (X[:-1], y[:-1]), (X * 1.001, y)):
        with pytest.raises(ValueError, match="not those of the fit"):
            linear.summary(*other)
    with pytest.raises(ValueError, match="label 7 in row 3"):
        model.summary(X, np.where(np.arange(len(y)) == 3, 7, y))


def test_leverage_one_is_refused() -> None:
    X, y, _ = regression()
    X = np.column_stack([X, np.arange(len(y)) == 5])
    model = LinearRegression().fit(X, y)
    assert np.all(np.isfinite(model.summary(X, y, robust="HC1").standard_error))
    for robust in ("HC2", "HC3"):
        with pytest.raises(ValueError, match="leverage 1"):
            model.summary(X, y, robust=robust)


def test_no_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    with pytest.raises(ValueError, match="4 rows leave no degrees of freedom"):
        LinearRegression().fit(X, y).summary()


def test_an_unfinished_or_infinite_fit_is_refused() -> None:
    X, y, _ = classes()
    with pytest.warns(UserWarning):
        model = LogisticRegression(penalty=None).fit(X[:, :1], X[:, 0] > 0)
    with pytest.raises(ValueError, match="no finite maximum.* a hyperplane separates"):
        model.summary()
    assert not hasattr(model, "information_")
    D = np.column_stack([X, y * (np.arange(len(y)) < 40)])
    with pytest.warns(UserWarning):
        model = LogisticRegression(penalty=None).fit(D, y)
    with pytest.raises(ValueError, match="no finite maximum.* a direction separates"):
        model.summary()


def test_a_fit_that_ran_out_of_iterations_is_refused() -> None:
    X, y, _ = classes(k=3)
    with pytest.warns(UserWarning, match="max_iter"):
        model = LogisticRegression(penalty=None, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="unfinished fit .max_iter"):
        model.summary()


def test_an_uncertified_least_squares_fit_is_refused() -> None:
    X, y, _ = regression()
    model = LinearRegression().fit(X, y)
    model.certificate_ = replace(model.certificate_, status="precision_limit")
    with pytest.raises(ValueError, match="no standard errors for this fit .precision_limit"):
        model.summary()


def test_coefficients_on_their_way_to_infinity_are_noticed() -> None:
    # However far the last coefficient has got, the information alone would look harmless.
    X, y, _ = classes()
    D = np.column_stack([X, y * (np.arange(len(y)) < 40)])
    design, signs = as_design(D), 2.0 * y - 1
    problem = MarginObjective(design, signs, LogLoss(), NoPenalty())
    base = LogisticRegression(penalty=None, tol=1e-12).fit(X[D[:, 3] == 0], y[D[:, 3] == 0])
    for far in (8.0, 16.0, 24.0):
        theta = np.concatenate([base.coef_[0], [far], base.intercept_])
        assert likelihood_information(problem, theta) is None
    model = LogisticRegression(penalty=None).fit(X, y)
    model.coef_ = np.array([[*base.coef_[0], 16.0]])
    model.intercept_, model.n_features_in_ = base.intercept_, 4
    primal = problem.loss_value(problem.linear(np.r_[model.coef_[0], model.intercept_]))
    model.certificate_ = replace(model.certificate_, primal=primal)
    with pytest.raises(ValueError, match="no finite maximum: a further step"):
        model.summary(D, y)
    bounded = MarginObjective(as_design(X), signs, LogLoss(), NoPenalty())
    model = LogisticRegression(penalty=None).fit(X, y)
    theta = np.concatenate([model.coef_[0], model.intercept_])
    assert likelihood_information(bounded, theta) is not None
    # The time limit has passed.
    assert likelihood_information(bounded, theta, 0.0) is None


def test_a_loose_fit_is_refused() -> None:
    X, y, _ = classes(n=3000)
    model = LogisticRegression(penalty=None, tol=1e-12).fit(X, y)
    # The certificate is as a slower solver, or one that stopped early, might have left it.
    model.certificate_ = replace(model.certificate_, gap=0.5, tol=1e-3)
    with pytest.raises(ValueError, match="gap of 0.5 only proves .* 1 standard .* tol=3e-06"):
        model.summary()


def test_dependent_columns_are_named() -> None:
    X, y, _ = classes()
    # To so few digits that the difference is exact; one that was rounded depends on nothing.
    X = np.round(X * 1024.0) / 1024.0
    D = np.column_stack([X, X[:, 0] - X[:, 2]])
    model = LogisticRegression(penalty=None).fit(D, y)
    with pytest.raises(ValueError, match="'x0', 'x2', 'x3'; leave one of them out"):
        model.summary()
    with pytest.warns(scipy.linalg.LinAlgWarning):
        model = LinearRegression().fit(D, y)
    with pytest.raises(ValueError, match=r"only 3 of 4 columns .*\('x0', 'x2', 'x3'\); leave out"):
        model.summary()
    # A column that does not vary is one with the intercept.
    with pytest.warns(scipy.linalg.LinAlgWarning):
        model = LinearRegression().fit(np.column_stack([X, np.full(len(y), 3.0)]), y)
    with pytest.raises(ValueError, match=r"only 3 of 4 columns .*\('x3'\); leave out"):
        model.summary()


def test_one_versus_rest_and_class_weights_are_refused() -> None:
    X, y, _ = classes(k=3)
    with pytest.raises(ValueError, match="one-vs-rest .* multiclass='multinomial'"):
        LogisticRegression(penalty=None, multiclass="ovr").fit(X, y).summary()
    with pytest.raises(ValueError, match="class_weight changes how often rows count"):
        LogisticRegression(penalty=None, class_weight="balanced").fit(X, y).summary()
    model = LogisticRegression(penalty=None).fit(X, y)
    with pytest.raises(ValueError, match="HC3 needs one leverage.*'HC0' or 'HC1'"):
        model.summary(X, y, robust="HC3")


@pytest.mark.parametrize("limits", [{"most_parameters": 3}, {"most_work": 0, "most_products": 0}])
def test_too_many_coefficients_need_the_rows(limits) -> None:
    X, y, _ = classes()
    with inference.tuned(inference.Tuning(**limits)):
        model = LogisticRegression(penalty=None).fit(X, y)
    assert not hasattr(model, "information_")
    with pytest.raises(ValueError, match=r"kept no information matrix, .* summary\(X, y\)"):
        model.summary()
    theirs = sm.Logit(y, exog(X)).fit(disp=0)
    np.testing.assert_allclose(model.summary(X, y).standard_error, theirs.bse, rtol=1e-4)


# --- how it is shown ------------------------------------------------------------------------


def test_as_a_data_frame(monkeypatch) -> None:
    X, y, _ = classes()
    found = LogisticRegression(penalty=None).fit(X, y).summary()
    frame = found.to_frame()
    assert frame.index.tolist() == list(found.names) == ["(intercept)", "x0", "x1", "x2"]
    assert frame.columns.tolist() == [*COLUMNS, "odds_ratio", "odds_lower", "odds_upper"]
    np.testing.assert_array_equal(frame["p_value"], found.p_value)
    linear = LinearRegression().fit(X, y).summary().to_frame()
    assert linear.columns.tolist() == COLUMNS
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, .* pip install pandas"):
        found.to_frame()


def test_as_json() -> None:
    X, y, _ = classes()
    found = LogisticRegression(penalty=None).fit(X, y).summary()
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["name"] for row in record["coefficients"]] == list(found.names)
    assert record["coefficients"][1]["p_value"] == found.p_value[1]
    assert record["r2"] is None and record["pseudo_r2"] == found.pseudo_r2
    assert record["n"] == 150.0 and record["kind"] == "z" and record["robust"] is None


def test_as_text() -> None:
    X, y, _ = classes()
    names = ["age", "a" * 60 + " in the middle " + "b" * 60, "height"]
    X = X * [1.0, 1e-9, 1e9]
    for model in (LinearRegression(), LogisticRegression(penalty=None, solver="newton")):
        text = str(model.fit(pd.DataFrame(X, columns=names), y).summary())
        lines = text.splitlines()
        assert max(map(len, lines)) <= 100
        cut = next(line for line in lines if "..." in line)
        assert cut.startswith("aaa") and "bbb" in cut and "middle" not in cut
        table = [line for line in lines if line.startswith(("(intercept)", "age", "aaa", "height"))]
        # Aligned: every row ends where the others do.
        assert len(table) == 4 and len({len(line) for line in table}) == 1
    assert "odds ratio" in text and "pseudo R^2" in text


def test_the_text_of_a_small_table() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = LinearRegression().fit(x, [1.0, 3.0, 4.0, 8.0])
    assert str(model.summary()).splitlines() == [
        "Least squares",
        "",
        "n (sum of weights)        4    R^2                            0.93077",
        "degrees of freedom        2    adjusted R^2                   0.89615",
        "log-likelihood      -4.0787    residuals' deviation           0.94868",
        "without columns     -9.4194    F                     26.889, p 0.0352",
        "AIC                  12.157    condition number                     1",
        "BIC                   10.93",
        "",
        "             estimate  std. error       t       p  95 % from      to",
        "(intercept)       0.7     0.79373  0.8819  0.4708    -2.7151  4.1151",
        "x0                2.2     0.42426   5.185  0.0352    0.37454  4.0255",
        "",
        "Standard errors: classic, for residuals of equal variance; tests and intervals by "
        "Student's t with 2",
        "degrees of freedom.",
    ]
