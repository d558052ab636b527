"""Scores of predictions over blocks are those of predictions in memory."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, r2_score, roc_auc_score

from separatrix import (
    LinearDiscriminantAnalysis,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
)
from separatrix.assessment.blocks import score_blocks
from separatrix.assessment.scoring import score_rows
from separatrix.exceptions import DataError
from separatrix.scale import Local, scan
from separatrix.scale.scores import errors_over, scores_over


def table(seed, k=2, n=700):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(n, 3)) + y[:, None] * np.array([1.0, 0.0, -0.5])
    return X.round(1), np.array(list("abc"))[y], rng.uniform(0.5, 2.0, size=n)


def asked(model, data, workers=1, **options):
    def answer(rows):
        labels = np.searchsorted(model.classes_, model.predict(rows))
        return labels, model.decision_function(rows), model.predict_proba(rows)

    return scores_over(data, answer, Local(workers), **options)


@pytest.mark.parametrize("k", [2, 3])
def test_sums_over_blocks_are_the_figures_in_memory(k):
    X, y, s = table(1, k)
    model = LogisticRegression().fit(X, y)
    data = scan(X, y, weight=s, block_rows=90)
    found = asked(model, data)
    proba = model.predict_proba(X)
    assert found.accuracy == pytest.approx(model.score(X, y, s), rel=1e-12)
    assert model.score(data) == found.accuracy
    assert found.log_loss == pytest.approx(log_loss(y, proba, sample_weight=s), rel=1e-12)
    for column, ranked in enumerate(found.ranked):
        values = model.decision_function(X) if k == 2 else model.decision_function(X)[:, column]
        hit = y == model.classes_[1 if k == 2 else column]
        expected = roc_auc_score(hit, values, sample_weight=s)
        assert ranked.area == pytest.approx(expected, rel=1e-12) and ranked.area_error == 0.0
    if k == 2:
        expected = brier_score_loss(y == "b", proba[:, 1], sample_weight=s)
        assert found.brier == pytest.approx(expected, rel=1e-12)
    for workers in (2, 3):
        other = asked(model, data, workers)
        assert other.log_loss == found.log_loss
        assert other.confusion.tobytes() == found.confusion.tobytes()


@pytest.mark.parametrize("unit", [2.0**990, 2.0**-990])
def test_scores_do_not_depend_on_the_unit_of_the_weights(unit):
    X, y, s = table(2)
    model = LogisticRegression().fit(X, y)
    for found in (
        lambda w: score_rows(model, X, y, weights=w),
        lambda w: score_blocks(model, scan(X, y, weight=w, block_rows=300)),
    ):
        usual, far = found(s), found(s * unit)
        np.testing.assert_allclose(
            np.array(far.pop("confusion_matrix")) / unit, usual.pop("confusion_matrix"), rtol=1e-12
        )
        assert far == usual


def test_rows_held_out_that_all_weigh_nothing_count_alike():
    X, y, _ = table(3)
    model = LogisticRegression().fit(X, y)
    weights = np.r_[np.zeros(640), np.ones(60)]
    zero = scan(X, y, weight=weights, block_rows=90)
    held = replace(zero, blocks=zero.blocks[:-1])
    n = held.n_rows
    found = score_blocks(model, held)
    assert found["accuracy"] == pytest.approx(model.score(X[:n], y[:n]), rel=1e-12)
    assert found == score_blocks(model, scan(X[:n], y[:n], block_rows=90))
    numbers = scan(X, X[:, 0], weight=weights, quantity=True, block_rows=90)
    held = replace(numbers, blocks=numbers.blocks[:-1])
    assert errors_over(held, lambda x: x[:, 1])["mse"] == pytest.approx(
        np.mean((X[:n, 0] - X[:n, 1]) ** 2), rel=1e-9
    )


@pytest.mark.parametrize("k", [2, 3])
def test_bins_say_how_far_the_area_can_be_off(k):
    X, y, _ = table(2, k)
    model = LogisticRegression().fit(X, y)
    data = scan(X, y, block_rows=90)
    exact, binned = asked(model, data, exact=True), asked(model, data, exact=False)
    for one, other in zip(exact.ranked, binned.ranked, strict=True):
        assert 0.0 <= other.area_error < 0.01
        assert abs(one.area - other.area) <= other.area_error * (1.0 + 1e-9)
        assert one.hits.sum() == other.hits.sum()


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), RidgeClassifier()], ids=str)
def test_models_of_other_classes_and_names(model):
    X, y, _ = table(3, 3)
    model.fit(X, y)
    # Rows of two of its classes.
    some = y != "a"
    assert model.score(scan(X[some], y[some], block_rows=90)) == model.score(X[some], y[some])
    # A label that it does not know is predicted wrong.
    strange = np.where(y == "b", "z", y)
    assert model.score(scan(X, strange, block_rows=90)) == np.mean(model.predict(X) == strange)
    with pytest.raises(ValueError, match="have 2 features"):
        model.score(scan(X[:, :2], y))
    with pytest.raises(ValueError, match="y is given"):
        model.score(scan(X, y), y)
    with pytest.raises(ValueError, match="is a quantity"):
        model.score(scan(X, X[:, 0], quantity=True))


def test_quantities():
    X, _, s = table(4)
    y = X @ np.array([1.0, 2.0, 3.0]) + np.sin(9.0 * X[:, 0]) + 1e4
    model = LinearRegression().fit(X, y)
    data = scan(X, y, quantity=True, weight=s, block_rows=90)
    expected = r2_score(y, model.predict(X), sample_weight=s)
    assert model.score(data) == pytest.approx(expected, rel=1e-9)
    found = errors_over(data, model.predict)
    assert found["n"] == 700
    assert found["mae"] == pytest.approx(
        np.average(np.abs(y - model.predict(X)), weights=s), rel=1e-9
    )
    with pytest.raises(ValueError, match="quantity=True"):
        model.score(scan(X, y > 1e4))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [RidgeClassifier, LogisticRegression])
def test_the_record_is_that_of_rows_in_memory(kind, k):
    X, y, s = table(5, k)
    model = kind().fit(X, y)
    found = score_blocks(model, scan(X, y, weight=s, block_rows=90))
    expected = score_rows(model, X, y, weights=s)
    assert found.pop("roc_auc_error") == 0.0
    assert list(found) == list(expected)
    for name, value in expected.items():
        if isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=1e-12), name
    assert found["positive"] == expected["positive"]
    assert found["majority"]["class"] == expected["majority"]["class"]
    assert np.allclose(found["confusion_matrix"], expected["confusion_matrix"], rtol=1e-12)
    with pytest.raises(DataError, match="'z', which the model does not know"):
        score_blocks(model, scan(X, np.where(y == "b", "z", y), block_rows=90))
