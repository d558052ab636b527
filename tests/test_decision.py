"""Which class matters: thresholds, the figures that depend on them, and what files may say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    matthews_corrcoef,
    precision_recall_fscore_support,
    roc_auc_score,
)

from separatrix import LinearSVC, LogisticRegression
from separatrix.assessment.decision import Decision, choose_threshold, goal_of, positive_of
from separatrix.assessment.scoring import Predictions, predictions, score_rows
from separatrix.data.class_scores import Ranked

CLASSES = np.array(["no", "yes"])


def drawn(seed, n=60):
    """Predictions with ties that depend on the labels, and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    p = np.clip(np.round(0.3 * y + rng.random(n) * 0.7, 1), 0.0, 1.0)
    return Predictions(CLASSES[(p > 0.5) * 1], p - 0.5, np.column_stack([1 - p, p])), y


@pytest.mark.parametrize(
    ("positive", "said"), [("yes", ["no", "yes", "yes"]), ("no", ["no", "no", "yes"])]
)
def test_a_row_on_the_threshold_is_positive(positive, said) -> None:
    predicted = Predictions(CLASSES[[0, 0, 0]], np.array([-0.5, 0.0, 0.5]))
    assert Decision(positive, 0.0, "score").labels(predicted, CLASSES).tolist() == said


@pytest.mark.crossed
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("goal", ["f1", "balanced", "cost=5:1", "cost=1:3"])
@pytest.mark.parametrize("positive", ["no", "yes"])
def test_no_threshold_is_better(seed, goal, positive) -> None:
    predicted, hit = drawn(seed)
    y = CLASSES[hit * 1]
    found = choose_threshold(predicted, y, CLASSES, positive, goal, seed=seed)
    truth = y == positive

    def value(said: np.ndarray) -> float:
        if goal == "f1":
            return f1_score(truth, said, zero_division=0.0)
        if goal == "balanced":
            return balanced_accuracy_score(truth, said)
        miss, alarm = map(float, goal[5:].split(":"))
        return -float(np.mean(miss * (truth & ~said) + alarm * (~truth & said)))

    p = predicted.probabilities[:, CLASSES.tolist().index(positive)]
    # Below all scores every row is positive; above them none is, which F1 calls zero.
    best = max(value(p >= t) for t in np.unique(p))
    own = value(found.labels(predicted, CLASSES) == positive)
    assert found.value == pytest.approx(own, abs=1e-12)
    if not goal.startswith("cost"):
        assert own == pytest.approx(best, abs=1e-12)
    else:
        assert own >= best - 1e-12
    low, high = found.interval
    assert low <= high and found.value_interval[0] <= found.value_interval[1]


def test_a_cost_may_ask_for_no_positive_row() -> None:
    p = np.array([0.1, 0.9, 0.2, 0.8])
    predicted = Predictions(CLASSES[[0, 1, 0, 1]], p - 0.5, np.column_stack([1 - p, p]))
    y = CLASSES[[1, 0, 0, 0]]
    found = choose_threshold(predicted, y, CLASSES, "yes", "cost=1:100")
    assert (found.labels(predicted, CLASSES) == "no").all() and found.value == -0.25


def test_scores_where_there_are_no_probabilities() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVC().fit(X, y)
    for positive in (0, 1):
        found = choose_threshold(predictions(model, X), y, model.classes_, positive, "f1")
        assert found.scale == "score"
        said = found.labels(predictions(model, X), model.classes_)
        plain = f1_score(y == positive, model.predict(X) == positive)
        assert f1_score(y == positive, said == positive) >= plain


def test_a_goal_by_another_name() -> None:
    for text in ("f2", "cost=5", "cost=0:1", "cost=a:b", "cost=-1:1", "cost=nan:1", "5:1"):
        with pytest.raises(ValueError, match="is not f1, balanced or cost=MISS:ALARM"):
            goal_of(text)
    predicted, _ = drawn(0)
    with pytest.raises(ValueError, match="all belong to one class"):
        choose_threshold(predicted, np.full(60, "no"), CLASSES, "yes", "f1")


def test_figures_are_those_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(C=1e-3).fit(X, y)
    p = model.predict_proba(X)
    found = score_rows(model, X, y)
    assert found["positive"] == 0 and found["majority"] == {"class": 1, "share": 357 / 569}
    assert found["brier"] == pytest.approx(brier_score_loss(y, p[:, 1]))
    assert found["mcc"] == pytest.approx(matthews_corrcoef(y, model.predict(X)))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, model.predict(X)))
    assert found["average_precision"] == pytest.approx(average_precision_score(y == 0, p[:, 0]))
    other = score_rows(model, X, y, positive=1)
    assert other["average_precision"] == pytest.approx(average_precision_score(y == 1, p[:, 1]))
    decided = score_rows(model, X, y, decision=Decision(0, 0.0, "probability"))
    assert decided["per_class"][0]["recall"] == 1.0 and decided["mcc"] == 0.0


def test_figures_of_several_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(C=1e-3).fit(X, y)
    found, p = score_rows(model, X, y), model.predict_proba(X)
    assert found["positive"] is None
    assert found["mcc"] == pytest.approx(matthews_corrcoef(y, model.predict(X)))
    assert found["brier"] == pytest.approx(brier_score_loss(y, p))
    wanted = np.mean([average_precision_score(y == k, p[:, k]) for k in range(3)])
    assert found["average_precision"] == pytest.approx(wanted)
    part = score_rows(model, X[y > 0], y[y > 0])
    assert part["average_precision"] is None and 0.0 <= part["balanced_accuracy"] <= 1.0


def test_a_file_may_say_nonsense() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    linear, logistic = LinearSVC().fit(X, y), LogisticRegression().fit(X, y)
    record = Decision(0, 0.4, "probability").record()
    assert Decision.of({"decision": record}, logistic) == Decision(0, 0.4, "probability")
    assert Decision.of({"decision": record}, linear) is None
    assert Decision.of({"decision": {**record, "positive": "x"}}, logistic) is None
    assert positive_of({"positive": "x"}, logistic) is None
    assert positive_of({"positive": 0}, logistic) == 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_scored_as_scikit_learn_does(seed, weighted) -> None:
    rng = np.random.default_rng(seed)
    hit = rng.random(80) < 0.3
    scores = np.round(rng.normal(size=80) + hit, 1)
    weights = rng.integers(0, 4, 80).astype(np.float64) if weighted else np.ones(80)
    own, found = {"sample_weight": weights}, Ranked.of(scores, hit, weights)
    assert found.area == pytest.approx(roc_auc_score(hit, scores, **own))
    precision = average_precision_score(hit, scores, **own)
    assert found.average_precision == pytest.approx(precision)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_figures_of_a_model_are_those_of_scikit_learn(weighted) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]
    model = LogisticRegression(C=1e-2).fit(X, y)
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    own = {"sample_weight": weights}
    found, said = score_rows(model, X, y, weights=weights), model.predict(X)
    assert found["accuracy"] == pytest.approx(accuracy_score(y, said, **own))
    loss = log_loss(y, model.predict_proba(X), **own)
    assert found["log_loss"] == pytest.approx(loss)
    assert np.allclose(found["confusion_matrix"], confusion_matrix(y, said, **own))
    wanted = precision_recall_fscore_support(y, said, zero_division=np.nan, **own)
    for name, values in zip(("precision", "recall", "f1"), wanted, strict=False):
        assert np.allclose([one[name] for one in found["per_class"]], values, equal_nan=True)
    assert found["mcc"] == pytest.approx(matthews_corrcoef(y, said, **own))


def test_a_cost_of_zero_has_no_sign() -> None:
    found = Decision("ill", 0.14, "probability", "cost=5:1", (0.13, 0.2), -0.0, (-0.26, -0.0))
    assert str(found) == (
        "'ill' from a probability of 0.14 [0.13, 0.2] upwards, chosen for cost=5:1: mean cost of a "
        "row 0 [0, 0.26]"
    )
