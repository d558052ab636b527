"""Models on the same folds: the folds, scores, intervals of differences, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import t
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import separatrix
from separatrix import LinearDiscriminantAnalysis, LinearSVC, LogisticRegression, compare
from separatrix.assessment import racing
from separatrix.assessment.comparing import contenders, scores_probabilities, settings_of
from separatrix.assessment.racing import Entry, forecast, race, yardstick_of
from separatrix.data.splitting import drawn_folds


def test_equal_rows_and_groups_stay_on_one_side() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 18, size=(200, 2)).astype(np.float64)
    few = rng.integers(0, 4, size=(200, 2)).astype(np.float64)
    y = rng.integers(0, 2, size=200)
    for stored in (X, sp.csr_array(X)):
        folds = drawn_folds(4, stored, y, seed=3)
        assert sorted(np.concatenate([held for _, held in folds])) == list(range(200))
        for fit, held in folds:
            assert not set(map(tuple, X[fit])) & set(map(tuple, X[held]))
    # With so few different rows equal ones do not count as copies.
    assert sum(len(held) for _, held in drawn_folds(4, few, y)) == 200
    groups = np.arange(200) // 10
    for fit, held in drawn_folds(5, X, y, groups=groups):
        assert not set(groups[fit]) & set(groups[held])


def test_rows_of_weight_zero_are_in_no_fold_and_bad_weights_are_refused() -> None:
    X, y = load_wine(return_X_y=True)
    weights = np.arange(len(y)) % 4.0
    options = {"cv": 3, "standardise": False}
    found = compare(X, y, "stump", sample_weight=weights, **options)
    there = weights > 0.0
    alone = compare(X[there], y[there], "stump", sample_weight=weights[there], **options)
    assert found.best.scores.tolist() == alone.best.scores.tolist()
    assert found.shares == alone.shares
    with pytest.raises(ValueError, match="negative"):
        compare(X, y, "stump", sample_weight=-weights)
    with pytest.raises(ValueError, match="zero for every row"):
        compare(X, y, "stump", sample_weight=0.0 * weights)


def test_folds_have_the_shares_of_the_classes() -> None:
    y = np.repeat([0, 1], [150, 50])
    X = np.random.default_rng(0).normal(size=(200, 2))
    for _, held in drawn_folds(5, X, y):
        assert np.bincount(y[held]).tolist() == [30, 10]


def test_scores_and_intervals_are_those_of_the_formula() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    models = {"weak": LogisticRegression(C=1e-6), "strong": LogisticRegression(C=0.1)}
    found = compare(X, y, models, cv=4, standardise=False, random_state=1)
    folds = drawn_folds(4, X, y, seed=1)
    by_hand = {
        name: [clone(model).fit(X[fit], y[fit]).score(X[held], y[held]) for fit, held in folds]
        for name, model in models.items()
    }
    for one in found.contenders:
        assert one.scores.tolist() == by_hand[one.name]
        assert one.certified and one.gap <= 1e-6 and one.status == "optimal"
    assert found.best.score >= found.contenders[1].score
    apart = found.contenders[0].scores - found.contenders[1].scores
    mean, low, high = found.behind(found.contenders[1])
    share = np.mean([len(held) / len(fit) for fit, held in folds])
    half = t.ppf(0.975, 3) * math.sqrt((1 / 4 + share) * np.var(apart, ddof=1))
    assert mean == pytest.approx(apart.mean()) and low == pytest.approx(mean - half)
    assert high == pytest.approx(mean + half)
    assert found.noise(found.contenders[1]) == (low <= 0.0)


def test_what_cannot_be_scored_is_told() -> None:
    models = {"svm": LinearSVC(), "lda": LinearDiscriminantAnalysis()}
    found = compare(*load_wine(return_X_y=True), models, scoring="neg_log_loss")
    assert [one.name for one in found.contenders] == ["lda", "svm"]
    assert "does not suit the model" in found.contenders[1].why
    assert "predict_proba" in found.contenders[1].why and found.contenders[1].name in str(found)
    assert found.verdict == "lda is the only one with a score"
    alone = {"svm": LinearSVC()}
    none = compare(*load_wine(return_X_y=True), alone, scoring="neg_log_loss")
    assert none.verdict == "no model could be scored" and none.behind(none.best) is None


def test_models_are_calibrated_where_probabilities_are_scored_and_nowhere_else() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = compare(X, y, ["svm", "constant"], cv=3, scoring="neg_brier_score")
    best = found.best
    assert best.name == "svm" and best.estimator.calibrate == "sigmoid"
    scaled = StandardScaler().fit_transform(X)
    folds = drawn_folds(3, scaled, y)
    by_hand = []
    for fit, held in folds:
        model = clone(best.estimator).fit(scaled[fit], y[fit])
        positive = model.predict_proba(scaled[held])[:, 1]
        by_hand.append(-np.mean((positive - y[held]) ** 2))
    assert best.scores == pytest.approx(by_hand)
    assert scores_probabilities("neg_log_loss") and not scores_probabilities("roc_auc")
    assert not scores_probabilities(None)
    for scoring in (None, "roc_auc"):
        assert contenders(99, probabilities=scores_probabilities(scoring))["svm"].calibrate is None


def test_kernel_machines_have_landmarks_above_two_thousand_rows() -> None:
    assert "approximation" not in settings_of("kernel-svm", 2000)
    assert settings_of("kernel-svm", 2001)["approximation"] == "nystroem"


def test_all_models_and_a_quantity() -> None:
    X, y = load_wine(return_X_y=True)
    found = compare(X, y)
    assert found.contenders[-1].name == "constant" and not found.noise(found.contenders[-1])
    assert {row["model"] for row in found.table()} >= {"logistic", "stump", "perceptron"}
    X, y = load_diabetes(return_X_y=True)
    found = compare(X, y)
    assert found.scoring == "R^2" and found.contenders[-1].name == "constant"
    assert {one.name for one in found.contenders} == {
        *("lstsq", "huber", "poisson", "poly", "constant")
    }


def test_names_are_harmless_in_a_notebook() -> None:
    X, y = load_diabetes(return_X_y=True)
    page = compare(X, y, {"<script>": Ridge(), "b": Ridge(10.0)})._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "<table>" in page


class _Impatient(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise KeyboardInterrupt


def test_ctrl_c_leaves_what_is_done() -> None:
    X, y = load_wine(return_X_y=True)
    entries = {"a": Entry(separatrix.DecisionStump(), X), "b": Entry(_Impatient(), X)}
    found = race(entries, y, drawn_folds(3, X, y))
    assert found.interrupted and [one.name for one in found.contenders] == ["a"]
    with pytest.raises(KeyboardInterrupt):
        race({"b": entries["b"]}, y, drawn_folds(3, X, y))


class _Slow(LogisticRegression):
    """A model that takes longer than the budget from the second fit on."""

    now = 0.0
    fits = 0

    def fit(self, X, y, sample_weight=None):
        _Slow.fits += 1
        _Slow.now += 1.0 if _Slow.fits == 1 else 5.0
        return super().fit(X, y, sample_weight)


def test_a_budget_ends_it_and_the_scores_of_finished_folds_are_kept(monkeypatch) -> None:
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(racing, "time", SimpleNamespace(perf_counter=lambda: _Slow.now))
    models = {"slow": _Slow(), "stump": separatrix.DecisionStump()}
    found = compare(X, y, models, cv=4, budget=3.0)
    # A model about which too little is known comes last.
    assert [one.name for one in found.contenders] == ["stump", "slow"]
    slow = found.contenders[1]
    assert slow.n_scored == 1 and np.isnan(slow.scores[1:]).all() and found.budget == 3.0
    fit, held = drawn_folds(4, X, y)[0]
    scaled = StandardScaler().fit_transform(X)
    alone = LogisticRegression().fit(scaled[fit], y[fit]).score(scaled[held], y[held])
    assert slow.score == alone and slow.stopped == "the budget of 3 s ended before its last fold"
    assert "(1 of 4)" in str(found) and f"slow: {slow.stopped}" in str(found)
    assert found.verdict.endswith("; slow was not fitted to all folds")
    record = found.table()[1]
    assert record["folds_scored"] == 1 and record["scores"][1:] == [None] * 3
    assert record["stopped"] == slow.stopped and record["behind_interval"] is None
    # A difference is that of the folds which both have, and one fold has no interval.
    assert found.behind(slow)[0] == found.best.scores[0] - alone and found.noise(slow)


def test_the_verdict_names_what_is_ahead_on_the_folds_that_it_finished() -> None:
    X, y = load_wine(return_X_y=True)
    whole = compare(X, y, ["logistic", "stump"], cv=4)
    logistic, stump = whole.contenders
    assert logistic.name == "logistic" and not whole.noise(stump)
    scores = np.append(logistic.scores[:3], np.nan)
    cut = replace(logistic, scores=scores, stopped="the budget of 3 s ended before its last fold")
    found = replace(whole, contenders=(stump, cut))
    assert found.verdict == (
        "stump is best of those that were fitted to all folds, by more than chance explains on "
        "these folds; logistic was not fitted to all folds, and logistic is ahead on the folds "
        "that were scored"
    )
    beaten = replace(found, contenders=(replace(cut, name="lda"), replace(stump, stopped="cut")))
    assert "ahead" not in beaten.verdict


def test_a_budget_that_is_used_up_leaves_the_costly_models_without_a_score() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = compare(X, y, ["kernel-svm", "logistic"], budget=1e-9, yardstick=True)
    assert found.verdict == "no model could be scored" and found.yardstick.why
    assert all("before its first fold was scored" in one.why for one in found.contenders)
    with pytest.raises(ValueError, match="budget"):
        compare(X, y, ["stump"], budget=0.0)


def test_cheap_models_come_first() -> None:
    rng = np.random.default_rng(0)
    for n, d in ((300, 5), (5000, 30)):
        X = rng.normal(size=(n, d))
        entries = {name: Entry(one, X) for name, one in contenders(n).items()}
        order = sorted(entries, key=lambda name: forecast(entries[name], 1))
        assert order[0] == "constant" and order[-1] == "kernel-svm"
        assert order.index("stump") < order.index("logistic") < order.index("perceptron")
    # A calibration multiplies the fits, and columns decide between models as rows do.
    wide = Entry(LinearSVC(), np.zeros((50, 2000)))
    calibrated = Entry(LinearSVC(calibrate="sigmoid"), wide.X)
    assert forecast(calibrated, 1) > forecast(wide, 1)
    assert forecast(Entry(LinearDiscriminantAnalysis(), wide.X), 1) > forecast(wide, 1)


def test_progress_is_told_in_shares_of_the_forecast() -> None:
    X, y = load_wine(return_X_y=True)
    models = {"svm": LinearSVC(), "stump": separatrix.DecisionStump()}
    entries = {name: Entry(model, X) for name, model in models.items()}
    told: list[tuple[str, int, float]] = []
    race(entries, y, drawn_folds(3, X, y), on_progress=lambda *one: told.append(one))
    assert [name for name, _, _ in told] == ["stump"] * 4 + ["svm"] * 4
    assert [fold for _, fold, _ in told] == [0, 1, 2, 3] * 2
    shares = [share for _, _, share in told]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_the_yardstick_is_beside_the_models_and_takes_no_part(storage) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    plain = compare(storage(X), y, ["logistic", "constant"], cv=3, standardise=False)
    options = {"cv": 3, "standardise": False, "yardstick": True}
    found = compare(storage(X), y, ["logistic", "constant"], **options)
    assert found.table() == [
        {**one, "seconds": two["seconds"]}
        for one, two in zip(plain.table(), found.table(), strict=True)
    ]
    model, by_hand = HistGradientBoostingClassifier(random_state=0), []
    with threadpool_limits(1, user_api="openmp"):
        for fit, held in drawn_folds(3, X, y):
            by_hand.append(model.fit(X[fit], y[fit]).score(X[held], y[held]))
    assert found.yardstick.scores.tolist() == by_hand
    record = found.yardstick_record()
    assert record["linear"] is False and record["certified"] is False and record["behind"] < -0.2
    assert "is ahead of" in found.beside_the_yardstick and not found.noise(found.yardstick)
    assert "neither linear nor certified" in str(found)
    assert plain.yardstick is None and plain.yardstick_record() is None


def test_the_yardstick_of_a_quantity_and_of_rows_that_would_not_fit() -> None:
    X, y = load_diabetes(return_X_y=True)
    found = compare(X, y, ["lstsq"], cv=3, yardstick=True)
    assert type(found.yardstick.estimator).__name__ == "HistGradientBoostingRegressor"
    huge = sp.csr_matrix((1000, 10_000_000))
    assert yardstick_of(huge, quantity=False).X is huge


def test_folds_side_by_side_have_the_scores_of_one_thread() -> None:
    X, y = (part[:200] for part in load_breast_cancer(return_X_y=True))
    names = ["logistic", "kernel-svm", "perceptron", "lstsq"]
    with separatrix.threads(1):
        one = compare(X, y, names)
    with separatrix.threads(3):
        several = compare(X, y, names)
    for left, right in zip(one.contenders, several.contenders, strict=True):
        assert left.name == right.name and left.scores.tolist() == right.scores.tolist()
        assert left.gap == right.gap


def test_what_is_refused() -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=r"'tree' is not one of the models: logistic, svm"):
        compare(X, y, ["tree"])
    with pytest.raises(ValueError, match="models is empty"):
        compare(X, y, [])
    with pytest.raises(ValueError, match="5 folds need 5 different rows, and there are 4"):
        compare(np.arange(4.0)[:, None], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="5 folds need a class with 5 rows"):
        compare(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="one group for each row"):
        compare(X, y, groups=[1, 2])
