"""Poisson regression: an estimator on a loss whose target is no label and leaves no residual."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from census import objective
from grids import grid, share
from separatrix import PoissonRegressor, compare, load_model, save_model, verify
from separatrix.data.design import as_design
from separatrix.losses import PoissonDeviance
from separatrix.models import poisson, predicting
from separatrix.objectives.penalties import L2
from separatrix.objectives.pointwise import PointwiseObjective


@pytest.fixture(scope="module")
def claims():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) * [1.0, 0.1, 3.0, 1.0]
    y = rng.poisson(np.exp(X @ [0.4, 2.0, -0.2, 0.0] + 0.5)).astype(float)
    return X, y, rng.integers(0, 4, size=150).astype(float)


@parametrize_with_checks([PoissonRegressor(), PoissonRegressor(alpha=0.01, l1_ratio=0.5)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@grid("alpha, fit_intercept", [(a, b) for a in (0.0, 1e-3, 1.0, 30.0) for b in (True, False)])
def test_the_model_is_the_peers(claims, alpha, fit_intercept):
    X, y, weights = claims
    options = {"alpha": alpha, "fit_intercept": fit_intercept}
    peer = Peer(solver="newton-cholesky", tol=1e-10, **options).fit(X, y, weights)
    model = PoissonRegressor(tol=1e-12, **options).fit(X, y, weights)
    assert model.certificate_.status == "optimal"
    assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-5)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-4)
    assert_allclose(model.score(X, y, weights), peer.score(X, y, weights), atol=1e-6)
    found = verify(peer, X, y, sample_weight=weights, tol=1e-4)
    assert found.ok
    means = peer.predict(X)
    loss = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / means), 0.0) - y + means
    expected = np.average(loss, weights=weights) + alpha / 2 * peer.coef_ @ peer.coef_
    assert_allclose(found.primal, expected, rtol=1e-9)


@grid("l1_ratio", [0.3, 1.0])
def test_a_share_of_l1_against_brute_force(claims, l1_ratio):
    X, y, weights = claims
    model = PoissonRegressor(alpha=0.15, l1_ratio=l1_ratio, tol=1e-12).fit(X, y, weights)
    assert model.certificate_.status == "optimal"
    assert 0 < np.count_nonzero(model.coef_) < 4

    def value(v):
        w, f = v[:4] - v[4:8], X @ (v[:4] - v[4:8]) + v[8]
        mean = np.average(np.exp(f) - y * f, weights=weights)
        return mean + 0.15 * (l1_ratio * np.sum(v[:8]) + (1 - l1_ratio) / 2 * w @ w)

    bounds = [(0, None)] * 8 + [(None, None)]
    found = minimize(value, np.full(9, 0.1), bounds=bounds, options={"ftol": 1e-15})
    assert_allclose(model.coef_, found.x[:4] - found.x[4:8], atol=2e-4)
    ours = np.concatenate([np.maximum(model.coef_, 0), np.maximum(-model.coef_, 0)])
    assert value(np.append(ours, model.intercept_)) <= found.fun + 1e-9


def test_gradient_and_curvature_are_differences(claims):
    X, y, weights = claims
    problem = PointwiseObjective(as_design(X), y, PoissonDeviance(), L2(), weights=weights)
    theta, h = np.array([0.3, -1.0, 0.1, 0.2, 0.4]), 1e-6
    for j, step in enumerate(np.eye(5) * h):
        ahead, behind = problem.value(theta + step), problem.value(theta - step)
        assert (ahead - behind) / (2 * h) == pytest.approx(problem.gradient(theta)[j], rel=1e-6)
    curvature = problem.curvature(problem.linear(theta))
    bends = (problem.gradient(theta + h) - problem.gradient(theta - h)) / (2 * h)
    assert_allclose(problem.hessian(curvature).sum(axis=1), bends, rtol=1e-6)


def test_the_best_intercept_balances_the_counts(claims):
    X, y, weights = claims
    problem = PointwiseObjective(as_design(X), y, PoissonDeviance(), L2(), weights=weights)
    scores = X @ [0.3, -1.0, 0.1, 0.2]
    b = problem.best_intercept(scores)
    r = problem.residual(scores + b)
    assert abs(r.sum()) <= 1e-12 * np.abs(r).sum()
    point = problem.dual_point(r)
    assert np.isfinite(point.conjugate_above)
    assert 0.0 < point.spread < 1e-10
    # No row moves out of the domain, whichever way all of them move.
    assert np.all(r - point.reach >= -weights * y * (1 + 1e-12))
    # Scores that overflow otherwise.
    assert problem.best_intercept(scores + 5000.0) == pytest.approx(b - 5000.0, rel=1e-12)


@grid("storage", ["sparse", "float32", "columns"])
def test_layouts_and_copies_of_rows(claims, storage):
    X, y, weights = claims
    X = np.round(X, 1)
    model = PoissonRegressor(alpha=0.1, tol=1e-11).fit(X, y, weights)
    kinds = {"sparse": sp.csr_array, "float32": np.float32, "columns": np.asfortranarray}
    other = PoissonRegressor(alpha=0.1, tol=1e-11).fit(kinds[storage](X), y, weights)
    assert_allclose(other.coef_, model.coef_, rtol=1e-5 if storage != "float32" else 1e-3)
    assert other.coef_.dtype == (np.float32 if storage == "float32" else np.float64)
    times = weights.astype(int)
    copies = PoissonRegressor(alpha=0.1, tol=1e-11)
    copies.fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(copies.coef_, model.coef_, rtol=1e-5)


def test_what_it_refuses(claims):
    X, y, _ = claims
    with pytest.raises(ValueError, match="negative number, -1 in row 1"):
        PoissonRegressor().fit(X[:3], [1.0, -1.0, 2.0])
    with pytest.raises(ValueError, match="All numbers in y are 0"):
        PoissonRegressor().fit(X[:3], np.zeros(3))
    with pytest.raises(ValueError, match="All numbers in y are 0"):
        PoissonRegressor().fit(X[:3], [0.0, 0.0, 2.0], [1.0, 1.0, 0.0])
    assert PoissonRegressor(fit_intercept=False).fit(X[:3], np.zeros(3)).certificate_.ok
    with pytest.raises(ValueError, match="alpha"):
        PoissonRegressor(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="l1_ratio"):
        PoissonRegressor(l1_ratio=1.5).fit(X, y)
    with pytest.raises(ValueError, match="loss="):
        separatrix.SGDClassifier(PoissonDeviance()).fit(X, y > 1)


def test_a_model_file_and_the_place_of_scikit_learn(claims, tmp_path):
    X, y, _ = claims
    model = PoissonRegressor(l1_ratio=0.5).fit(X, y)
    save_model(tmp_path / "counts.json", model)
    other = load_model(tmp_path / "counts.json").model
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert verify(other, X, y).ok
    separatrix.install()
    try:
        from sklearn.linear_model import PoissonRegressor as Installed

        assert Installed is PoissonRegressor
    finally:
        separatrix.uninstall()


def test_counts_are_compared_with_other_regressions(claims):
    X, y, _ = claims
    # More numbers than there are classes.
    y = np.round(10.0 * y + np.arange(len(y)) % 10)
    counts = {one.name for one in compare(X, y).contenders}
    assert "poisson" in counts
    found = compare(X, y - 0.5).contenders
    assert {one.name for one in found} == counts - {"poisson"}
    (alone,) = compare(X, y, ["poisson"]).contenders
    # The score is by the same measure as the others' scores, which is not the model's own.
    assert alone.why == ""
    assert 0.0 < alone.score < 1.0


# --- no bound is false --------------------------------------------------------------------------


def _hostile(seed: int) -> tuple[Any, ...]:
    """A small problem of the kinds that floating point is bad at."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X, kind = rng.normal(size=(n, d)), rng.integers(5)
    if kind == 1:
        X *= 10.0 ** rng.uniform(-8, 3, size=d)
    elif kind == 2:
        X += 10.0 ** rng.uniform(0, 7)
    elif kind == 3:
        X[:, 0] = X[:, -1] * (1 + 1e-12)
    elif kind == 4:
        X *= 10.0 ** rng.uniform(-3, 2, size=(n, 1))
    y = rng.poisson(10.0 ** rng.uniform(-1, rng.choice([2, 12])), size=n).astype(float)
    if rng.random() < 0.3:
        y = np.exp(rng.normal(size=n) * rng.uniform(0, 20))
    if rng.random() < 0.3:
        y[rng.random(n) < 0.6] = 0.0
    y[0] += 1.0
    weights = 10.0 ** rng.uniform(-8, 4, size=n) if rng.random() < 0.4 else np.ones(n)
    options = {
        "alpha": float(rng.choice([0.0, 10.0 ** rng.uniform(-12, 6), 10.0 ** rng.uniform(-3, 1)])),
        "l1_ratio": float(rng.choice([0.0, 0.0, 0.5, 1.0])),
        "fit_intercept": bool(rng.random() < 0.6),
    }
    return X, y, weights, options


class _Exact:
    """The objective in 50 digits."""

    def __init__(self, X, y, weights, options):
        self.rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
        self.y = [mpmath.mpf(float(v)) for v in y]
        self.s = [mpmath.mpf(float(v)) for v in weights]
        self.alpha, self.ratio = mpmath.mpf(options["alpha"]), mpmath.mpf(options["l1_ratio"])
        self.intercept = options["fit_intercept"]

    def value(self, w, b):
        total = mpmath.mpf(0)
        for row, y, s in zip(self.rows, self.y, self.s, strict=True):
            f = mpmath.fdot(row, w) + b
            total += s * (mpmath.exp(f) - y * f + (y * mpmath.log(y) - y if y > 0 else 0))
        total /= mpmath.fsum(self.s)
        if self.alpha == 0:
            return total
        size, square = mpmath.fsum(abs(v) for v in w), mpmath.fdot(w, w)
        return total / self.alpha + self.ratio * size + (1 - self.ratio) / 2 * square

    def better(self, w, b):
        """The objective after Newton steps from this point on the weights in use."""
        free = [j for j, v in enumerate(w) if v != 0 or self.ratio == 0 or self.alpha == 0]
        best, scale = self.value(w, b), mpmath.fsum(self.s) * (self.alpha or 1)
        k = len(free) + self.intercept
        for _ in range(6 if k else 0):
            g, H = mpmath.zeros(k, 1), mpmath.zeros(k, k)
            for row, y, s in zip(self.rows, self.y, self.s, strict=True):
                v = [row[j] for j in free] + [mpmath.mpf(1)] * self.intercept
                mean = mpmath.exp(mpmath.fdot(row, w) + b)
                for i in range(k):
                    g[i] += s * (mean - y) * v[i] / scale
                    for m in range(k):
                        H[i, m] += s * mean * v[i] * v[m] / scale
            if self.alpha > 0:
                for i, j in enumerate(free):
                    g[i] += self.ratio * mpmath.sign(w[j]) + (1 - self.ratio) * w[j]
                    H[i, i] += 1 - self.ratio
            try:
                step = mpmath.lu_solve(H, -g)
            except ZeroDivisionError:
                break
            moved = list(w)
            for i, j in enumerate(free):
                moved[j] += step[i]
            level = b + step[k - 1] if self.intercept else b
            found = self.value(moved, level)
            if not found < best:
                break
            best, w, b = found, moved, level
        return best


@pytest.mark.sampled
def test_no_bound_is_false() -> None:
    certified = 0
    with mpmath.workdps(50), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(share(800)):
            X, y, weights, options = _hostile(seed)
            model = PoissonRegressor(max_iter=40, **options).fit(X, y, weights)
            exact, found = _Exact(X, y, weights, options), model.certificate_
            w, b = [mpmath.mpf(float(v)) for v in model.coef_], mpmath.mpf(model.intercept_)
            assert exact.value(w, b) <= found.primal, seed
            if found.dual > 0.0:
                assert found.dual <= exact.better(w, b), seed
            certified += found.ok
        assert certified > 0.6 * share(800)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_that_overflow_end_in_no_nonsense() -> None:
    X = np.array([[1.0], [2.0], [700.0]])
    model = PoissonRegressor(alpha=1e-9).fit(X, [1e15, 1.0, 0.0])
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.primal >= model.certificate_.dual >= 0.0
    assert np.isinf(PoissonRegressor(alpha=1e-6).fit([[0.0], [1.0]], [1.0, 9.0]).predict([[1e6]]))
    tiny = PoissonRegressor(alpha=1e-3).fit([[0.0], [1.0], [2.0]], [1e-300, 1e10, 3e10])
    assert np.isfinite(tiny.certificate_.primal)


def test_objective_as_it_is_printed(claims):
    X, y, weights = claims
    model = PoissonRegressor(alpha=0.1, l1_ratio=0.5).fit(X, y, weights)
    expected = "sum s_i [e^(w.x + b) - y (w.x + b) + y log(y) - y]"
    assert model.objective_formula_.endswith(expected)
    found = model.certificate_
    assert found.dual <= float(objective(model, X, y, weights)) <= found.primal * (1 + 1e-12)
    with pytest.warns(ConvergenceWarning):
        PoissonRegressor(max_iter=1, alpha=1e-3, tol=1e-12).fit(X, y)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_weights_whose_sum_is_no_strength_are_refused(claims):
    X, y, _ = claims
    for kind in (PoissonRegressor, separatrix.Lasso):
        for weight in (1e307, 1e-318):
            with pytest.raises(ValueError, match="sample weights, which add up to"):
                kind().fit(X, y, np.full(len(y), weight))
        with pytest.raises(ValueError, match="penalty.s weight 9.99989e-321 and"):
            kind(alpha=1e-320).fit(X, y)


@pytest.mark.parametrize(
    "options", [{}, {"alpha": 0.0}, {"l1_ratio": 0.5}, {"l1_ratio": 1.0}, {"warm_start": True}]
)
def test_equal_counts_end_at_once_with_a_sentence_that_is_true(options):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = PoissonRegressor(**options)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="below 1e-28 of what it is at .* accept this"):
            model.fit(X, np.full(60, 3.0))
        found = model.certificate_
        assert found.status == "vanishing" and found.n_iter < 20
        assert found.primal < 1e-28 and "standardise" not in str(found)
        assert_allclose(model.predict(X), 3.0, rtol=1e-12)


def test_a_saturated_fit_ends_with_a_sentence_that_is_true():
    rng = np.random.default_rng(0)
    for columns in (8, 12):
        X, y = rng.normal(size=(8, columns)), rng.poisson(5.0, size=8) + 1.0
        with pytest.warns(ConvergenceWarning, match="vanishing"):
            model = PoissonRegressor(alpha=0.0).fit(X, y)
        assert_allclose(model.predict(X), y, rtol=1e-12)


def test_numbers_that_are_all_the_same_are_fitted_exactly():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.full(60, 3.0)
    for model in (
        separatrix.LinearSVR(),
        separatrix.LinearSVR(loss="squared_epsilon_insensitive"),
        separatrix.SGDRegressor(),
        separatrix.SGDRegressor(alpha=0.0),
    ):
        found = model.fit(X, y).certificate_
        assert found.status == "optimal" and found.primal == 0.0 and found.n_iter < 10
        assert not model.coef_.any() and np.all(model.predict(X) == 3.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_column_whose_rows_count_nothing_is_named(fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.poisson(2.0, size=60)
    X[:, 3], y[:12] = np.arange(60) < 12, 0
    table = pandas.DataFrame(X, columns=["age", "height", "weight", "absent"])
    for rows, name in ((X, "3"), (sp.csr_array(X), "3"), (table, "'absent'")):
        model = PoissonRegressor(alpha=0.0, fit_intercept=fit_intercept)
        with pytest.warns(
            ConvergenceWarning, match=f"no finite .*alpha > 0.* column {name}, along"
        ):
            model.fit(rows, y)
        assert model.certificate_.status == "unattained" and model.certificate_.n_iter < 10
        assert "separat" not in str(model.certificate_)
    assert PoissonRegressor(alpha=1e-6).fit(X, y).certificate_.ok
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert verify(PoissonRegressor(alpha=0.0).fit(X, y), X, y).status == "unattained"


def test_a_direction_of_several_columns_without_counts_is_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = rng.poisson(2.0, size=60)
    # Rows without counts lie beyond a line of two columns, and all others on it.
    beyond = X[:, 0] + X[:, 1] > 1.0
    X[~beyond, :2], y[beyond] = 0.0, 0
    cases = [(X, y), (np.abs(X), np.zeros(60)), (rng.normal(size=(30, 60)), rng.poisson(1.0, 30))]
    for (rows, counts), fit_intercept in zip(cases, (True, False, True), strict=True):
        with pytest.warns(ConvergenceWarning, match="unattained"):
            PoissonRegressor(alpha=0.0, fit_intercept=fit_intercept).fit(rows, counts)
    # A few counts of zero have an optimum, however far.
    X[:, 0] = rng.normal(size=60)
    assert PoissonRegressor(alpha=0.0).fit(X[:, :1], y).certificate_.ok


def test_a_score_knows_no_rows_of_weight_zero_and_validates_once(claims, monkeypatch):
    X, y, weights = claims
    model = PoissonRegressor().fit(X, y)
    weights = weights.copy()
    weights[y > 0] = 0.0
    # All counts that count are zero, as the mean of them is.
    assert model.score(X, y, weights) == model.score(X[y == 0], y[y == 0]) == 0.0
    weights[:] = np.arange(len(y)) % 2
    some = weights > 0.0
    assert model.score(X, y, weights) == pytest.approx(model.score(X[some], y[some]), rel=1e-12)
    looked = []
    seen = poisson.validate
    monkeypatch.setattr(predicting, "validate", lambda *a, **k: looked.append(1) or seen(*a, **k))
    monkeypatch.setattr(poisson, "validate", lambda *a, **k: looked.append(1) or seen(*a, **k))
    model.score(X, y)
    assert len(looked) == 1


def test_a_share_of_l1_is_refused_in_its_own_words(claims):
    X, y, _ = claims
    for ratio, words in ((None, "l1_ratio=None must be a finite number"), (2, "from 0 to 1")):
        with pytest.raises(ValueError, match=words) as caught:
            PoissonRegressor(l1_ratio=ratio).fit(X, y)
        assert "penalty" not in str(caught.value)
