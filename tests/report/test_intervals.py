"""Intervals hold the truth about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import f1_score, r2_score

from separatrix.assessment.intervals import (
    area_interval,
    class_intervals,
    mean_interval,
    number_intervals,
)
from separatrix.assessment.measuring import calibration_z
from separatrix.assessment.scoring import wilson_interval


def test_the_area_is_within_its_interval_95_times_in_a_hundred():
    rng = np.random.default_rng(0)
    # The true area, of two normal distributions one standard deviation apart.
    truth, held = norm.cdf(1.0 / np.sqrt(2.0)), 0
    for _ in range(500):
        y = rng.integers(0, 2, 120)
        low, high = area_interval(y, rng.normal(size=120) + y, np.array([0, 1]))
        held += low <= truth <= high
    # Three standard deviations of the count.
    assert abs(held - 475) <= 15


def test_the_variance_of_the_area_is_delongs():
    # The definition: the variances of the placements of the rows of either side.
    rng = np.random.default_rng(1)
    y = np.array([0] * 30 + [1] * 20)
    scores = np.round(rng.normal(size=50) + y, 1)
    wins = (scores[y == 1][:, None] > scores[y == 0]) + 0.5 * (
        scores[y == 1][:, None] == scores[y == 0]
    )
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / 20 + wins.mean(axis=0).var(ddof=1) / 30
    low, high = area_interval(y, scores, np.array([0, 1]))
    odds = [np.log(end / (1.0 - end)) for end in (low, high)]
    assert np.mean(odds) == pytest.approx(np.log(area / (1.0 - area)))
    half = 1.959964 * np.sqrt(variance) / (area * (1.0 - area))
    # One degree of freedom is counted once for all rows rather than once a side.
    assert (odds[1] - odds[0]) / 2 == pytest.approx(half, rel=0.03)


def test_an_area_of_one_is_not_sure():
    y = np.array([0] * 10 + [1] * 10)
    low, high = area_interval(y, y.astype(float), np.array([0, 1]))
    assert (low, high) == wilson_interval(10, 10)
    assert area_interval(y[9:], y[9:].astype(float), np.array([0, 1])) is None


def test_intervals_by_class():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 200)
    told = np.where(rng.random(200) < 0.7, truth, rng.integers(0, 3, 200))
    matrix = np.zeros((3, 3), dtype=int)
    np.add.at(matrix, (truth, told), 1)
    for k, found in enumerate(class_intervals(matrix)):
        f1 = f1_score(truth == k, told == k)
        assert found["f1"][0] < f1 < found["f1"][1]
        hits, true = matrix[k, k], matrix[k].sum()
        assert found["recall"] == pytest.approx(wilson_interval(hits, true))
    absent = class_intervals(np.array([[3, 0], [0, 0]]))[1]
    assert absent == {"precision": None, "recall": None, "f1": None}


def test_intervals_of_a_quantity_hold_the_truth():
    rng = np.random.default_rng(3)
    held = np.zeros(3, dtype=int)
    for _ in range(400):
        x = rng.normal(size=150)
        y = x + rng.normal(size=150)
        found = number_intervals(y, x)
        # The mean and root mean square error, and the share of the variance that is explained.
        truths = {"mae": np.sqrt(2.0 / np.pi), "rmse": 1.0, "r2": 0.5}
        held += [found[key][0] <= truth <= found[key][1] for key, truth in truths.items()]
        assert found["r2"][0] < r2_score(y, x) < found["r2"][1]
    assert (np.abs(held - 380) <= 20).all()


def test_the_mean_of_nothing():
    assert mean_interval(np.array([1.0])) is None
    assert mean_interval(np.array([1.0, np.inf])) is None
    assert mean_interval(np.array([2.0, 2.0])) == [2.0, 2.0]
    # A loss is never below zero, and neither is the mean of many.
    assert mean_interval(np.array([0.0, 0.0, 0.9]))[0] == 0.0
    assert mean_interval(np.array([-0.1, 0.0, 0.9]))[0] < 0.0


def test_the_mean_of_few_rows_is_within_its_interval():
    rng = np.random.default_rng(5)
    # Student's quantile: the normal one would hold the mean of five rows 88 times in a hundred.
    held = [low <= 0.0 <= high for low, high in map(mean_interval, rng.normal(size=(2_000, 5)))]
    assert abs(np.mean(held) - 0.95) < 0.015


def test_calibrated_probabilities_pass_and_others_do_not():
    rng = np.random.default_rng(4)
    p = rng.random(4_000)
    own = (rng.random(4_000) < p).astype(int)
    assert abs(calibration_z(np.column_stack([1 - p, p]), own)) < 3.0
    sharp = p**3 / (p**3 + (1 - p) ** 3)
    assert calibration_z(np.column_stack([1 - sharp, sharp]), own) > 4.0
    dull = 0.25 + 0.5 * p
    assert calibration_z(np.column_stack([1 - dull, dull]), own) < -4.0
    assert calibration_z(np.column_stack([1 - p, p])[:40], own[:40]) is None
