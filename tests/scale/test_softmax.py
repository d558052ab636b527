"""The multinomial loss in passes: beside the fit in memory, and its bound beside exact slopes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax, xlogy
from sklearn.datasets import load_digits, load_iris

from separatrix import LogisticRegression
from separatrix.objectives.penalties import L2
from separatrix.scale import Local, scan
from separatrix.scale.softmax import BlockedSoftmax, Tuning

X, Y = load_iris(return_X_y=True)


def drawn(n=20_000, d=12, k=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[:, :3] = np.exp(0.7 * x[:, :3])
    scores = 0.6 * x @ rng.normal(size=(d, k)) + rng.normal(size=k)
    return x, (scores + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.crossed
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("case", ["iris", "digits", "drawn"])
def test_the_fit_is_that_of_memory_within_six_passes(case, intercept):
    x, y = {"iris": (X, Y), "digits": load_digits(return_X_y=True), "drawn": drawn()}[case]
    x = x / (16.0 if case == "digits" else 1.0)
    options = {"fit_intercept": intercept, "C": 0.3}
    memory = LogisticRegression(**options, tol=1e-9).fit(x, y)
    model = LogisticRegression(**options).fit(scan(x, y, block_rows=len(y) // 3 - 1))
    certificate, optimum = model.certificate_, memory.certificate_
    assert certificate.ok and certificate.relative_gap <= 1e-6
    # The optimum lies between the bound and the value in memory.
    assert certificate.dual <= optimum.primal * (1.0 + 1e-12)
    assert optimum.dual <= certificate.primal <= optimum.primal * (1.0 + 1e-6)
    assert model.n_passes_ <= 6
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-9)
    assert model.coef_.shape == memory.coef_.shape
    assert np.mean(model.predict(x) == memory.predict(x)) > 0.999


def test_weights_are_copies_and_classes_have_theirs():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, size=len(Y)).astype(float)
    copies = np.repeat(np.arange(len(Y)), weights.astype(int))
    options = {"C": 0.2, "class_weight": "balanced", "tol": 1e-9}
    weighted = LogisticRegression(**options).fit(scan(X, Y, weight=weights, block_rows=40))
    copied = LogisticRegression(**options).fit(scan(X[copies], Y[copies], block_rows=70))
    memory = LogisticRegression(**options).fit(X, Y, weights)
    for other in (copied, memory):
        np.testing.assert_allclose(weighted.coef_, other.coef_, atol=1e-4)
        assert weighted.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-9)


def test_the_bits_do_not_depend_on_the_workers():
    data = scan(*drawn(3000), block_rows=500)
    fits = [
        LogisticRegression(random_state=0).fit(data, engine=Local(workers=k)) for k in (1, 2, 3)
    ]
    assert len({fit.coef_.tobytes() + fit.intercept_.tobytes() for fit in fits}) == 1


@pytest.mark.parametrize("pairs", [True, False])
def test_bounds_are_those_of_slopes_that_are_balanced(pairs):
    rng = np.random.default_rng(2)
    weights, C = rng.uniform(0.5, 2.0, size=len(Y)), 0.7
    data = scan(X, Y, weight=weights, block_rows=37)
    problem = BlockedSoftmax(
        data, Local(), L2(), C=C, tuning=Tuning() if pairs else Tuning(paired=0)
    )
    upper, hot = C * weights, np.eye(3)[Y]
    theta = LogisticRegression(C=C).fit(X, Y, weights)
    theta = np.vstack([theta.coef_.T, theta.intercept_])
    gaps, way = [], rng.normal(size=theta.shape)
    for distance in (1e-2, 1e-3):
        at = theta + distance * way
        found = problem.bound(at)
        proved = problem.certify(at, found, 1e-6)
        # The same slopes, moved, made here from nothing but the definition.
        p = softmax(X @ at[:4] + at[4], axis=1)
        excess = upper @ (p - hot)
        if pairs:
            curvature = np.diag(upper @ p) - (p * upper[:, None]).T @ p
            epsilon = np.linalg.lstsq(curvature, excess, rcond=None)[0]
            p = p * (1.0 - epsilon + (p @ epsilon)[:, None])
        else:
            totals = upper @ hot
            t = (np.maximum(excess, 0.0) / (totals + np.maximum(excess, 0.0))).max()
            p = (1.0 - t) * p + t * (totals - (1.0 - t) / t * excess) / totals.sum()
        r = upper[:, None] * (p - hot)
        assert np.abs(r.sum(axis=0)).max() < 1e-10 and p.min() >= 0.0
        dual = -0.5 * np.sum((X.T @ r) ** 2) - upper @ xlogy(p, p).sum(axis=1)
        # Bounds of the entropies are no less than they are, and charged for rounding.
        assert proved.dual <= dual
        assert proved.dual >= found.dual * (1.0 - 1e-9)
        if pairs:
            assert proved.dual == pytest.approx(dual, abs=0.6 * found.gap)
            assert proved.dual == pytest.approx(found.dual, rel=1e-9)
        assert found.primal == pytest.approx(
            0.5 * np.sum(at[:4] ** 2)
            - upper @ np.log(softmax(X @ at[:4] + at[4], axis=1)[np.arange(len(Y)), Y])
        )
        gaps.append(found.gap)
    # At a tenth of the distance the gap is of the second order, or of the first.
    assert (gaps[1] < 0.03 * gaps[0]) == pairs


def test_many_parameters_take_conjugate_gradients():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 900)) * (rng.random((600, 900)) < 0.05)
    y = rng.integers(0, 3, size=600)
    model = LogisticRegression(C=0.5).fit(scan(x, y, block_rows=250))
    memory = LogisticRegression(C=0.5).fit(x, y)
    assert model.certificate_.ok
    assert model.certificate_.dual <= memory.certificate_.primal
    assert memory.certificate_.dual <= model.certificate_.primal


def test_a_block_of_rows_without_weight_adds_nothing():
    X, y = load_iris(return_X_y=True)
    weight = np.ones(len(y))
    weight[20:40] = 0.0
    model = LogisticRegression().fit(scan(X, y, weight=weight, block_rows=10))
    whole = LogisticRegression().fit(X[weight > 0.0], y[weight > 0.0])
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-6)
