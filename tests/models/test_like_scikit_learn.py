"""What programs for scikit-learn rely on, beyond the parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import RidgeCV
from sklearn.metrics import get_scorer

import separatrix
from separatrix import LogisticRegression, LogisticRegressionCV
from separatrix.migration.installing import originals

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)


@pytest.mark.filterwarnings("ignore")
def test_underflow_is_no_error_where_numpy_raises_errors() -> None:
    for name in originals():
        model = getattr(separatrix, name)()
        if name == "NuSVC":
            model.nu = 0.1
        X, y = DIABETES if is_regressor(model) else IRIS
        # Squares of the rows underflow where they are not held to classes.
        X, y = (X * 1e-150, y * 1e-150) if is_regressor(model) else (X * 1e-2, y)
        if hasattr(model, "time_limit"):
            model.time_limit = 0.1
        with np.errstate(all="raise"):
            model.fit(X, y).predict(X)
            separatrix.verify(model, X, y)


class Remembering:
    """A scorer with a memory: the third of four values is its best, fold by fold."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, model, X, y, sample_weight=None) -> float:
        self.calls += 1
        return [0.1, 0.4, 0.8, 0.5][(self.calls - 1) % 4]


def test_cross_validation_scores_fold_by_fold_in_the_order_of_the_values() -> None:
    X, y = make_classification(random_state=0)
    for values, best in (([1, 2, 3, 4], 3), ([4, 1, 3, 2], 3), ([3, 4, 1, 2], 1)):
        scorer = Remembering()
        model = LogisticRegressionCV(
            Cs=values, cv=2, l1_ratios=(0,), scoring=scorer, use_legacy_attributes=False
        ).fit(X, y)
        assert (model.C_, scorer.calls) == (best, 8)


def test_a_scorer_is_not_given_weights_that_it_did_not_request() -> None:
    X, y = make_classification(n_samples=60, random_state=0)
    weights = np.where(np.arange(60) % 3, 1.0, 4.0)
    with config_context(enable_metadata_routing=True):
        for wanted in (False, True):
            scorer = get_scorer("accuracy").set_score_request(sample_weight=wanted)
            model = LogisticRegressionCV(Cs=2, cv=2, scoring=scorer)
            model.fit(X, y, sample_weight=weights)
            if wanted:
                hit = model.predict(X) == y
                mean = np.average(hit, weights=weights)
                assert model.score(X, y, sample_weight=weights) == pytest.approx(mean)
            else:
                with pytest.raises(TypeError, match="sample_weight"):
                    model.score(X, y, sample_weight=weights)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_without_a_step_is_one_task_of_callbacks() -> None:
    pytest.importorskip("sklearn.callback")
    from sklearn.callback.tests._utils import RecordingCallback

    X, y = make_classification(n_features=4, random_state=0)
    for most in (0, 1, 5):
        heard = RecordingCallback()
        model = LogisticRegression(max_iter=most).set_callbacks(heard).fit(X, y)
        for hook in ("on_fit_task_begin", "on_fit_task_end"):
            assert heard.count_hooks(hook) == 1 + max(model.n_iter_[0], 1) + 1


def test_what_scikit_learn_refuses_is_refused_with_a_remedy() -> None:
    X, y = IRIS
    alone = [[0.5, 0.6], [0.6, 0.5], [0.4, 0.4], [0.6, 0.5]]
    for model, rows, labels, sentence in (
        (
            separatrix.LogisticRegression(penalty="elasticnet", l1_ratio=None),
            *(X, y, "penalty='elasticnet' needs l1_ratio"),
        ),
        (
            separatrix.LinearSVC(multi_class="crammer_singer"),
            *(X, y, "use scikit-learn's LinearSVC for the joint problem"),
        ),
        (separatrix.SGDClassifier(learning_rate="pa1"), X, y, "passive-aggressive"),
        (separatrix.SGDRegressor(learning_rate="pa2"), X, y, "passive-aggressive"),
        (separatrix.QuadraticDiscriminantAnalysis(), alone, list("aaab"), "Class 'b' has one row"),
        (separatrix.LinearDiscriminantAnalysis(), alone[:2], list("ab"), "more than the number"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.fit(rows, labels)
    # Two copies of a row are two rows, and so is one of weight two: both are fitted, with a floor.
    twice = [*alone, alone[3]]
    for rows, labels, weights in ((twice, "aaabb", None), (alone, "aaab", [1, 1, 1, 2])):
        with pytest.warns(scipy.linalg.LinAlgWarning, match="has 2 rows, too few"):
            separatrix.QuadraticDiscriminantAnalysis().fit(rows, list(labels), weights)
    model = separatrix.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(alone, list("aaab"))
    assert model.certificate_.ok
    model = separatrix.QuadraticDiscriminantAnalysis().partial_fit(alone, list("aaab"), list("ab"))
    assert model.partial_fit([[0.0, 1.0], [1.0, 3.0]], list("bb")).certificate_.ok


def test_a_scorer_of_ridge_regressions_sees_all_targets_at_once() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    Y = X @ rng.normal(size=(4, 2)) + rng.normal(size=(20, 2)) * [0.1, 3.0]

    def second_counts_double(model, X, y) -> float:
        error = np.square(y - model.predict(X)).mean(axis=0)
        return -float(np.average(error, weights=[1.0, 2.0]))

    options = {"alphas": [0.1, 1.0, 10.0], "scoring": second_counts_double}
    ours, theirs = (kind(**options).fit(X, Y) for kind in (separatrix.RidgeCV, RidgeCV))
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    with pytest.raises(ValueError, match="alpha_per_target=True needs leave-one-out errors"):
        separatrix.RidgeCV(cv=3, alpha_per_target=True).fit(X, Y)


def test_strengths_that_are_given_are_one_row_for_all_mixtures() -> None:
    for alphas, shape in (([0.1, 1.0], (2,)), (3, (2, 3))):
        model = separatrix.ElasticNetCV(alphas=alphas, l1_ratio=[0.5, 0.9], cv=2).fit(*DIABETES)
        assert model.alphas_.shape == shape
