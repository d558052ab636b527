"""The trace as a record of its own."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from separatrix import LogisticRegression, Perceptron, Trace
from separatrix.solvers.trace import Update


def test_an_empty_trace() -> None:
    trace = Trace()
    assert len(trace) == 0
    assert trace.gap.shape == (0,)
    assert Trace().iterations is not Trace().iterations


def test_gap_is_primal_minus_dual() -> None:
    trace = Trace(iterations=[0, 1], primal=[3.0, 2.0], dual=[-np.inf, 1.5])
    assert len(trace) == 2
    assert trace.gap.tolist() == [np.inf, 0.5]


def test_an_update_is_frozen() -> None:
    update = Update(3, 1, np.zeros(2), 0.5, np.ones(2), 1.5, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        update.sample = 4


def test_the_gap_of_a_fit_closes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = rng.integers(2, size=50)
    trace = LogisticRegression(record=True).fit(X, y).trace_
    assert trace.gap[-1] <= 1e-6 * trace.primal[-1] < trace.gap[0]
    assert trace.updates == []


def test_updates_belong_to_mistake_driven_fits() -> None:
    trace = Perceptron(record=True).fit([[-1.0], [1.0]], [0, 1]).trace_
    assert [u.sample for u in trace.updates] == [0, 1]
    assert [u.epoch for u in trace.updates] == [1, 1]


def test_running_mistakes_count_up_to_the_mistakes_of_the_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=12) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(max_passes=5, record=True).fit(X, y)
    trace = model.trace_
    running = trace.running_mistakes(12)
    assert running.shape == (len(trace.updates), 12)
    assert running[-1].tolist() == model.mistakes_.tolist()
    assert running.sum(axis=1).tolist() == list(range(1, len(running) + 1))
    assert [row[u.sample] for row, u in zip(running, trace.updates, strict=True)] == [
        u.mistakes for u in trace.updates
    ]
    assert Trace().running_mistakes(3).shape == (0, 3)
    with pytest.raises(ValueError, match="n_samples=1 is too small: the record"):
        trace.running_mistakes(1)
