"""What programs for scikit-learn rely on, beyond the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_classification
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
            model.time_limit = 1.0
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
