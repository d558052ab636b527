"""Models on the same folds: the folds, scores, intervals of differences, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import t
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import Ridge

import separatrix
from separatrix import LogisticRegression, compare
from separatrix.assessment.comparing import Entry, race
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
    # Of so few different rows they are no copies.
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
    found = compare(*load_wine(return_X_y=True), ["svm", "lda"], scoring="neg_log_loss")
    assert [one.name for one in found.contenders] == ["lda", "svm"]
    assert "does not suit the model" in found.contenders[1].why
    assert "predict_proba" in found.contenders[1].why and found.contenders[1].name in str(found)
    assert found.verdict == "lda is the only one with a score"
    none = compare(*load_wine(return_X_y=True), ["svm"], scoring="neg_log_loss")
    assert none.verdict == "no model could be scored" and none.behind(none.best) is None


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
