"""Rows of no weight in cross-validated models, and warm starts from nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_regressor
from sklearn.model_selection import KFold

from separatrix import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from separatrix.closed_form.leave_one_out import leave_one_out_residuals
from separatrix.data.design import as_design


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    numbers = X @ [1.0, -1.0, 0.5] + rng.normal(size=40)
    # The first block is the first fold of five that are not shuffled.
    weights = np.r_[np.zeros(8), np.ones(32)]
    return X, numbers, (numbers > 0.0).astype(int), weights


def test_rows_of_no_weight_are_as_if_they_were_not_there():
    X, numbers, labels, weights = rows()
    there = weights > 0.0
    for model in (
        RidgeCV(),
        RidgeCV(cv=KFold(4)),
        RidgeClassifierCV(),
        RidgeClassifierCV(cv=4),
        LassoCV(alphas=[0.3, 0.1, 0.01]),
        ElasticNetCV(alphas=[0.3, 0.1, 0.01]),
        LogisticRegressionCV(Cs=3),
    ):
        y = numbers if is_regressor(model) else labels
        whole = model.fit(X, y, sample_weight=weights)
        coef, level, alpha = whole.coef_, whole.intercept_, getattr(whole, "alpha_", None)
        part = model.fit(X[there], y[there], sample_weight=weights[there])
        assert alpha == getattr(part, "alpha_", None), model
        assert_allclose(coef, part.coef_, rtol=1e-6, atol=1e-9, err_msg=repr(model))
        assert_allclose(level, part.intercept_, rtol=1e-6, atol=1e-9)
    for model in (LinearSVC(calibrate="sigmoid"), LinearSVC(calibrate="isotonic")):
        model.fit(X, labels, sample_weight=weights)


def test_a_row_of_no_weight_changes_nothing_when_it_is_left_out():
    X, numbers, _, weights = rows()
    y = numbers[:, None]
    alphas = np.array([0.1, 10.0])
    there = weights > 0.0
    for intercept in (True, False):
        found = leave_one_out_residuals(as_design(X), y, alphas, weights, intercept)
        part = leave_one_out_residuals(as_design(X[there]), y[there], alphas, None, intercept)
        assert_allclose(found[:, there], part, rtol=1e-9, atol=1e-12)
        for k, alpha in enumerate(alphas):
            mean_x = X[there].mean(axis=0) * intercept
            mean_y = y[there].mean() * intercept
            A, b = X[there] - mean_x, y[there] - mean_y
            w = np.linalg.solve(A.T @ A + alpha * np.eye(3), A.T @ b)
            plain = y[~there] - mean_y - (X[~there] - mean_x) @ w
            assert_allclose(found[k, ~there], plain, rtol=1e-9, atol=1e-12)


def test_a_fold_without_weight_is_named():
    X, numbers, _, weights = rows()
    held, fitted = np.arange(8), np.arange(8, 40)
    for model in (LassoCV(cv=[(fitted, held)]), RidgeCV(cv=[(fitted, held)])):
        with pytest.raises(ValueError, match="Fold 0 of cv has no row of positive weight to score"):
            model.fit(X, numbers, sample_weight=weights)
    for model in (LassoCV(cv=[(held, fitted)]), RidgeCV(cv=[(held, fitted)])):
        with pytest.raises(ValueError, match="Fold 0 of cv has no row of positive weight to fit"):
            model.fit(X, numbers, sample_weight=weights)


def test_a_warm_start_from_nothing():
    X, numbers, labels, _ = rows()
    for kind in (
        *(Lasso, ElasticNet, HuberRegressor, LinearSVR, SGDRegressor),
        *(LogisticRegression, SGDClassifier, Perceptron),
    ):
        for columns in (1, 3):
            model = kind(warm_start=True)
            y = numbers if is_regressor(model) else labels
            for _ in range(2):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X[:, :columns], y)
                assert np.atleast_2d(model.coef_).shape == (1, columns), kind
    for kind in (Lasso, ElasticNet):
        model = kind(alpha=0.1, warm_start=True)
        for targets in (numbers[:, None], np.stack([numbers, -numbers], axis=1), numbers):
            model.fit(X[:, :1], targets)
            assert model.certificate_.ok
