"""Lasso paths on the Gram matrix, beside fits of the rows and the conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from separatrix import ElasticNet, ElasticNetCV, Lasso, LassoCV
from separatrix.data.design import as_design
from separatrix.data.moments import Moments
from separatrix.solvers.gram_path import GramPath


def _data(kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = (30, 60) if kind == "wide" else (120, 12)
    X = rng.normal(size=(n, d))
    if kind == "correlated":
        X += 4.0 * rng.normal(size=(n, 1))
    if kind == "duplicates":
        X[:, 1], X[:, 2], X[:, 3] = X[:, 0], -X[:, 0], 7.0
    if kind == "offsets":
        X += 1e5
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-4, 4, d)
    y = X @ rng.normal(size=d) * (rng.random() + 0.5) + rng.normal(size=n)
    return X, y


KINDS = ("plain", "correlated", "duplicates", "offsets", "scales", "wide")


def _violation(path: GramPath, alpha: float, ratio: float, nonnegative: bool) -> float:
    """The worst violation of the conditions of optimality, in units of the threshold."""
    w = path.weights[0]
    threshold, ridge = path.total * alpha * ratio, path.total * alpha * (1.0 - ratio)
    slope = path.pull[0] - path.gram @ w - ridge * w
    at_zero = slope if nonnegative else np.abs(slope)
    away = np.where(w != 0.0, np.abs(slope - threshold * np.sign(w)), at_zero - threshold)
    return float(away.max(initial=0.0) / threshold)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_of_optimality_hold_along_the_path(kind: str, nonnegative: bool) -> None:
    X, y = _data(kind)
    moments = Moments.of(as_design(X), targets=y[:, None])
    for centred in (True, False):
        for ratio in (1.0, 0.3):
            path = GramPath(moments, 1, centred=centred, nonnegative=nonnegative)
            first = np.abs(path.pull).max() / (path.total * ratio)
            for alpha in np.geomspace(first, 1e-2 * first, 6):
                path.move_to(alpha, ratio, 1e-13)
                case = (kind, nonnegative, centred, ratio, alpha / first)
                assert _violation(path, alpha, ratio, nonnegative) < 1e-4, case
                assert not nonnegative or (path.weights >= 0.0).all(), case


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_is_that_of_scikit_learn_and_certified(kind: str) -> None:
    X, y = _data(kind)
    alphas, ours, gaps = ElasticNet.path(X, y, l1_ratio=0.8, alphas=8, eps=1e-2, tol=1e-7)
    _, theirs, _ = enet_path(X, y, l1_ratio=0.8, alphas=alphas, tol=1e-12, max_iter=100_000)
    n = len(y)

    def objective(w: np.ndarray, alpha: float) -> float:
        penalty = 0.8 * np.abs(w).sum() + 0.1 * w @ w
        return float(0.5 / n * np.sum(np.square(y - X @ w)) + alpha * penalty)

    for alpha, w, other, gap in zip(alphas, ours.T, theirs.T, gaps, strict=True):
        value = objective(w, alpha)
        assert gap <= 1.01e-7 * value, (kind, alpha)
        assert value - gap <= objective(other, alpha) * (1.0 + 1e-12), (kind, alpha)


def test_several_targets_sparse_rows_and_weights_have_the_path_of_single_fits() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 9)) * (rng.random((80, 9)) < 0.4)
    Y = X @ rng.normal(size=(9, 2)) + 0.1 * rng.normal(size=(80, 2))
    weights = rng.integers(0, 3, 80).astype(float)
    for matrix in (X, sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        alphas, coefs, _ = Lasso.path(
            matrix, Y, l1_ratio=1.0, alphas=5, eps=0.05, sample_weight=weights, tol=1e-10
        )
        for k, alpha in enumerate(alphas):
            fit = Lasso(alpha=alpha, fit_intercept=False, tol=1e-10).fit(matrix, Y, weights)
            np.testing.assert_allclose(coefs[:, :, k], fit.coef_, atol=2e-5)


def test_moments_of_folds_are_those_of_their_rows() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(23, 4)) + 1e6
    X[0] *= 1e8  # an outlier, which a difference from the whole would leave behind
    y, weights = rng.normal(size=(23, 1)), rng.integers(0, 3, 23).astype(float)
    for splitter in (KFold(3), LeaveOneOut(), ShuffleSplit(2, random_state=0)):
        folds = list(splitter.split(X))
        made = Moments.of_folds(as_design(X), folds, weights=weights, targets=y)
        assert len(made) == len(folds) + 1
        for index, moments in zip([np.arange(23), *(a for a, _ in folds)], made, strict=True):
            one = Moments.of(as_design(X[index]), weights=weights[index], targets=y[index])
            size = np.sqrt(np.diagonal(one.scatter[..., :, :]))
            np.testing.assert_allclose(moments.mean, one.mean, rtol=1e-13)
            error = np.abs(moments.scatter - one.scatter) / np.outer(size, size)
            assert error.max() < 1e-9, splitter


@pytest.mark.parametrize("kind", KINDS)
def test_a_strength_is_chosen_by_the_errors_of_fits_of_the_rows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = _data(kind)
    model = ElasticNetCV(l1_ratio=[0.4, 1.0], alphas=6, eps=0.05, cv=3, tol=1e-9)
    by_gram = model.fit(X, y)
    errors, chosen = by_gram.mse_path_, by_gram.alpha_
    monkeypatch.setattr(GramPath, "pays", staticmethod(lambda design, strengths: False))
    # The method for rows does not get along with large offsets.
    by_rows = ElasticNetCV(**model.get_params()).fit(X - 1e5 if kind == "offsets" else X, y)
    np.testing.assert_allclose(errors, by_rows.mse_path_, rtol=1e-3)
    assert chosen == pytest.approx(by_rows.alpha_)
    assert by_gram.certificate_.status == by_rows.certificate_.status == "optimal"
    assert by_gram.certificate_.dual <= by_rows.certificate_.primal


def test_large_offsets_cost_a_single_fit_nothing() -> None:
    X, y = _data("offsets")
    for model in (Lasso(alpha=0.05), ElasticNet(alpha=0.1, l1_ratio=0.4)):
        certificate = model.fit(X, y).certificate_
        assert certificate.status == "optimal"
        assert certificate.n_iter < 100
        assert certificate.primal == pytest.approx(model.fit(X - 1e5, y).certificate_.primal)


def test_the_iteration_limit_is_that_of_the_passes_over_the_matrix() -> None:
    X, y = _data("correlated")
    path = GramPath(Moments.of(as_design(X), targets=y[:, None]), 1, centred=True)
    assert path.move_to(1e-4, 1.0, 1e-12, max_iter=3) == 3
    needed = path.move_to(1e-4, 1.0, 1e-12)
    assert Lasso(alpha=1e-4, max_iter=needed + 100, tol=1e-6).fit(X, y).certificate_.ok
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = Lasso(alpha=1e-4, max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 2


def test_sums_that_underflow_or_overflow_leave_the_path_to_the_rows() -> None:
    X, y = _data("plain")
    for factor in (1e-160, 1e160):
        moments = Moments.of(as_design(X * factor), targets=y[:, None] * factor)
        assert not GramPath(moments, 1, centred=True).finite
    model = LassoCV(alphas=4, cv=3).fit(1e-160 * X, y)
    assert np.isfinite(model.mse_path_).all()


def test_columns_far_from_zero_have_weights_and_constant_ones_have_none() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 4)) * 1024.0) / 1024.0
    y = X[:, 0] + X[:, 2] + rng.normal(size=80)
    X[:, 1] = 0.1
    known = LassoCV(cv=3).fit(X, y)
    for offset in (1e7, 1e9):
        far = X + offset
        assert (far[:, 1] == far[0, 1]).all()
        found = LassoCV(cv=3).fit(far, y)
        assert found.coef_[1] == 0.0 < found.coef_[0]
        assert found.alpha_ == pytest.approx(known.alpha_, rel=1e-5)
        np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-3)
