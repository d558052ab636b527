"""Least squares under L1 and elastic net: scikit-learn's problems, with certificates."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import ElasticNet, ElasticNetCV, Lasso, LassoCV, load_model, save_model, verify

TIGHT = {"tol": 1e-12, "max_iter": 100_000}


# Some checks fit a few rows under a penalty that leaves no weight, or targets that are all equal.
@parametrize_with_checks(
    [Lasso(), ElasticNet(), LassoCV(alphas=5, cv=3), ElasticNetCV(alphas=5, cv=3)]
)
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks([Lasso(alpha=0.01), Lasso(alpha=0.01, positive=True)])
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, y, np.random.default_rng(0).integers(0, 3, len(y)).astype(float)


def objective(model, X, y, alpha, l1_ratio):
    residual = y - X @ model.coef_ - model.intercept_
    size = l1_ratio * np.abs(model.coef_).sum() + (1 - l1_ratio) / 2 * model.coef_ @ model.coef_
    return residual @ residual / (2 * len(y)) + alpha * size


def saved(model, tmp_path):
    save_model(tmp_path / "m.separatrix", model)
    return load_model(tmp_path / "m.separatrix").model


@pytest.mark.crossed
@pytest.mark.parametrize("l1_ratio", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("alpha", [5.0, 0.3, 0.01])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_answers_of_scikit_learn(alpha, l1_ratio, fit_intercept, tmp_path) -> None:
    X, y, weights = diabetes()
    options = {"alpha": alpha, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept}
    model = ElasticNet(**options, tol=1e-12).fit(X, y)
    if l1_ratio > 0.0:
        peer = theirs.ElasticNet(**options, **TIGHT).fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
        # The certificate is about the problem divided by the strength.
        own, other = (objective(m, X, y, alpha, l1_ratio) for m in (model, peer))
        certificate = model.certificate_
        assert own == pytest.approx(alpha * certificate.primal, rel=1e-10)
        assert alpha * certificate.dual <= other * (1 + 1e-12)
        assert model.dual_gap_ == pytest.approx(alpha * certificate.gap)
        assert verify(peer, X, y, tol=1e-6).primal == pytest.approx(other)
    else:
        peer = theirs.Ridge(alpha * len(y), fit_intercept=fit_intercept).fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4)
    weighted = ElasticNet(**options, tol=1e-12).fit(X, y, weights)
    repeated = ElasticNet(**options, tol=1e-12).fit(
        X.repeat(weights.astype(int), axis=0), y.repeat(weights.astype(int))
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    for rows in (sp.csr_array(X), np.asfortranarray(X)):
        again = ElasticNet(**options, tol=1e-12).fit(rows, y)
        np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-3)
    stored = saved(model, tmp_path)
    assert verify(stored, X, y, tol=1e-10).ok
    assert np.array_equal(stored.predict(X), model.predict(X))


def test_more_columns_than_rows_and_several_targets(tmp_path) -> None:
    X, Y = make_regression(60, 300, n_informative=8, n_targets=3, random_state=0)
    model = Lasso(0.5, tol=1e-10).fit(X, Y)
    peer = theirs.Lasso(0.5, **TIGHT).fit(X, Y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.intercept_.shape == model.dual_gap_.shape == model.n_iter_.shape == (3,)
    assert model.sparse_coef_.shape == (3, 300)
    assert len(model.certificate_.parts) == 3
    assert verify(saved(model, tmp_path), X, Y, tol=1e-8).ok
    assert model.predict(X).shape == (60, 3)


def test_no_penalty_and_all_zero() -> None:
    X, y, _ = diabetes()
    plain = Lasso(0.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(plain.coef_, theirs.LinearRegression().fit(X, y).coef_, rtol=1e-3)
    empty = Lasso(1e6).fit(X, y)
    assert not empty.coef_.any()
    assert empty.intercept_ == pytest.approx(y.mean())


def test_a_fit_goes_on_from_the_one_before() -> None:
    X, y, _ = diabetes()
    model = Lasso(0.1, warm_start=True, tol=1e-10).fit(X, y)
    first = model.coef_
    assert model.fit(X, y).n_iter_ <= 1
    np.testing.assert_allclose(model.coef_, first, rtol=1e-6)
    model.set_params(alpha=0.2).fit(X, y)
    np.testing.assert_allclose(model.coef_, Lasso(0.2, tol=1e-10).fit(X, y).coef_, atol=1e-3)


def test_a_limit_keeps_the_best_and_says_so() -> None:
    X, y = make_regression(50, 400, n_informative=30, noise=5.0, random_state=1)
    with pytest.warns(ConvergenceWarning, match="within"):
        model = Lasso(0.01, max_iter=1).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.dual <= model.certificate_.primal


def test_paths() -> None:
    X, y, _ = diabetes()
    for ours, peer in ((Lasso, theirs.Lasso), (ElasticNet, theirs.ElasticNet)):
        # Both are without an intercept and with an L1 share of a half, also as Lasso.path.
        found = ours.path(X, y, alphas=[0.5, 0.05], tol=1e-12)
        known = peer.path(X, y, alphas=[0.5, 0.05], tol=1e-12)
        np.testing.assert_allclose(found[1], known[1], rtol=1e-3, atol=1e-3)
        assert found[2].shape == known[2].shape
    alphas, coefs, gaps = ElasticNet.path(X, y, l1_ratio=0.8, alphas=7, eps=0.01)
    np.testing.assert_allclose(
        alphas, theirs.ElasticNet.path(X, y, l1_ratio=0.8, alphas=7, eps=0.01)[0]
    )
    assert not coefs[:, 0].any()
    assert (gaps >= 0.0).all()
    *_, counts = ElasticNet.path(X, y, alphas=3, return_n_iter=True, precompute=False)
    assert len(counts) == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        ElasticNet.path(X, y, colour=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_choice_of_scikit_learn(weighted, tmp_path) -> None:
    X, y, weights = diabetes()
    weights = weights + 0.5 if weighted else None
    model = LassoCV(alphas=15, cv=4, tol=1e-10).fit(X, y, weights)
    peer = theirs.LassoCV(alphas=15, cv=4, **TIGHT).fit(X, y, weights)
    assert model.alpha_ == pytest.approx(peer.alpha_)
    np.testing.assert_allclose(model.alphas_, peer.alphas_)
    np.testing.assert_allclose(model.mse_path_, peer.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-2)
    assert verify(saved(model, tmp_path), X, y, sample_weight=weights, tol=1e-8).ok
    model = ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=9, cv=3, tol=1e-10).fit(X, y, weights)
    peer = theirs.ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=9, cv=3, **TIGHT).fit(X, y, weights)
    assert (model.l1_ratio_, model.alphas_.shape) == (peer.l1_ratio_, peer.alphas_.shape)
    assert model.alpha_ == pytest.approx(peer.alpha_)
    np.testing.assert_allclose(model.mse_path_, peer.mse_path_, rtol=1e-4)
    assert verify(saved(model, tmp_path), X, y, sample_weight=weights, tol=1e-8).ok


def test_bad_input_is_one_sentence() -> None:
    X, y, _ = diabetes()
    for model, sentence in (
        (Lasso(-1.0), "alpha"),
        (ElasticNet(l1_ratio=1.5), "l1_ratio=1.5 must be a number from 0 to 1"),
        (Lasso(0.0, positive=True), r"is solved in closed form by LinearRegression\(positive=True"),
        (ElasticNet(l1_ratio=0, positive=True), r"in closed form by Ridge\(positive=True"),
        (LassoCV(alphas=[]), "alphas is empty"),
        (LassoCV(alphas=[1.0, -1.0]), "alpha=-1.0 must be a finite number of at least 0"),
        (ElasticNetCV(l1_ratio=0.0), "give alphas, or an l1_ratio above 0"),
        (Lasso(tol=0), "tol"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.fit(X, y)
    with pytest.raises(ValueError, match="y has 2 targets, and the strength is chosen for one"):
        LassoCV().fit(X, np.stack([y, y], axis=1))


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1.0, 1e12, 1e150])
def test_bounds_hold_on_hostile_scales(size) -> None:
    X, y = make_regression(40, 12, n_informative=5, noise=1.0, random_state=4)
    X = X * np.geomspace(1.0, 1e6, 12) * size
    reference = np.linalg.lstsq(np.c_[X / size, np.ones(40)], y, rcond=None)[0]
    residual = y - np.c_[X / size, np.ones(40)] @ reference
    alpha = 1e-3 * size
    model = Lasso(alpha).fit(X, y)
    # The optimum is no less than that without a penalty, and no more than at that point.
    least = residual @ residual / 80.0
    most = least + alpha * np.abs(reference[:12] / size).sum()
    assert model.certificate_.dual * alpha <= most * (1 + 1e-9)
    assert model.certificate_.primal * alpha >= least * (1 - 1e-9)


@pytest.mark.crossed
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(150, 10), (40, 120)])
def test_weights_that_are_not_negative(l1_ratio, fit_intercept, shape, tmp_path) -> None:
    X, y = make_regression(*shape, n_informative=8, noise=5.0, bias=3.0, random_state=1)
    for alpha in (20.0, 1.0, 0.05):
        options = {"alpha": alpha, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept}
        model = ElasticNet(**options, positive=True, tol=1e-9).fit(X, y)
        peer = theirs.ElasticNet(**options, positive=True, **TIGHT).fit(X, y)
        own, other = (objective(m, X, y, alpha, l1_ratio) for m in (model, peer))
        certificate = model.certificate_
        assert certificate.status == "optimal" and model.coef_.min() >= 0.0
        assert own == pytest.approx(alpha * certificate.primal, rel=1e-10)
        assert alpha * certificate.dual <= other * (1.0 + 1e-12)
        assert own <= other * (1.0 + 1e-8)
        judged = verify(peer, X, y, tol=1e-6)
        assert judged.ok and judged.primal == pytest.approx(other, rel=1e-10)
        for rows in (sp.csr_array(X), X.astype(np.float32)):
            again = ElasticNet(**options, positive=True, tol=1e-9).fit(rows, y)
            assert objective(again, X, y, alpha, l1_ratio) == pytest.approx(own, rel=1e-6)
    stored = saved(model, tmp_path)
    assert stored.positive is True and verify(stored, X, y).ok
    # A weight below zero is no point of the problem.
    model.coef_ = -model.coef_
    assert verify(model, X, y).primal == np.inf


@pytest.mark.parametrize("model", [Lasso(0.5), ElasticNet(0.01), Lasso(0.5, positive=True)])
def test_weights_have_the_precision_of_the_rows(model, tmp_path) -> None:
    X, y, _ = diabetes()
    wide, narrow = clone(model).fit(X, y), clone(model).fit(X.astype(np.float32), y)
    assert wide.coef_.dtype == np.float64 and narrow.coef_.dtype == np.float32
    assert narrow.certificate_.ok and narrow.predict(X.astype(np.float32)).dtype == np.float32
    assert verify(saved(narrow, tmp_path), X.astype(np.float32), y, tol=1e-6).ok
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=1e-2)


def _eliminated(rows) -> list[Fraction]:
    """The solution of a system whose right side is the last column."""
    for k in range(len(rows)):
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _least_by_enumeration(X, y, alpha, ratio) -> Fraction:
    """The optimum, in rational numbers: one choice of columns meets the conditions for it."""
    n, d = X.shape
    x = [[Fraction(float(v)) for v in row] for row in X]
    t = [Fraction(float(v)) for v in y]
    lasso, ridge = n * alpha * ratio, n * alpha * (1 - ratio)
    gram = [[sum(r[i] * r[j] for r in x) + ridge * (i == j) for j in range(d)] for i in range(d)]
    right = [sum(r[i] * v for r, v in zip(x, t, strict=True)) - lasso for i in range(d)]
    for size in range(d + 1):
        for used in itertools.combinations(range(d), size):
            w = [Fraction(0)] * d
            if used:
                square = [[gram[i][j] for j in used] + [right[i]] for i in used]
                for i, value in zip(used, _eliminated(square), strict=True):
                    w[i] = value
            pulls = [right[i] - sum(gram[i][j] * w[j] for j in range(d)) for i in range(d)]
            if min(w) >= 0 and max(pulls) <= 0:
                fits = [sum(a * b for a, b in zip(r, w, strict=True)) for r in x]
                left = [v - fit for v, fit in zip(t, fits, strict=True)]
                penalty = ratio * sum(w) + (1 - ratio) / 2 * sum(v * v for v in w)
                return sum(v * v for v in left) / (2 * n) + alpha * penalty
    raise AssertionError


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [2.0**-300, 1.0, 2.0**300])
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(1, 4)])
def test_bounds_under_weights_that_are_not_negative_are_bounds(size, ratio) -> None:
    rng = np.random.default_rng(5)
    for spread in (1.0, 2.0**20):
        X = rng.standard_normal((7, 4)) * np.geomspace(1.0, spread, 4)
        X[:, 2] = X[:, 1] * (1.0 + 1e-7 * rng.standard_normal(7))
        y = X @ [1.0, 2.0, -1.0, 0.5] + rng.standard_normal(7)
        for alpha in (0.5, 2.0**-20):
            least = _least_by_enumeration(X, y, Fraction(alpha), ratio)
            options = {"alpha": alpha * size, "fit_intercept": False, "positive": True}
            scaled = ElasticNet(**options, l1_ratio=float(ratio), max_iter=20)
            if ratio == 1:
                # Weights are in the units of the targets over those of the columns.
                scaled.fit(X * size, y)
            else:
                scaled.set_params(alpha=alpha).fit(X, y)
            factor = Fraction(scaled.alpha)
            assert Fraction(scaled.certificate_.dual) * factor <= least
            assert least <= Fraction(scaled.certificate_.primal) * factor


def test_the_paths_of_scikit_learn() -> None:
    X, y, _ = diabetes()
    for kind in (Lasso, LassoCV, ElasticNet, ElasticNetCV):
        expected = getattr(theirs, kind.__name__).path(X, y, alphas=[1.0, 0.1], tol=1e-12)[1]
        found = kind.path(X, y, alphas=[1.0, 0.1], tol=1e-12)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=kind.__name__)
