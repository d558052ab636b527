"""The benchmark of small fits: its cells, its measurement and its table."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import small

pytestmark = pytest.mark.benchmarks


def test_every_cell_is_an_estimator_of_both_libraries():
    found = list(small.cells())
    assert len(found) == len(set(found)) == 48
    assert {data for _, data in found} == set(small.DATA)
    for name in {name for name, _ in found}:
        assert small.peer(name).__name__ == getattr(separatrix, name).__name__ == name
    for name in small.DATA:
        X, y = small.load(name)
        assert len(X) == len(y) <= 1800


def test_a_cell_is_measured_and_the_slowest_is_printed_first():
    cell = small.measure("Ridge", "diabetes", time.process_time, seconds=0.0)
    assert cell.ours > 0.0 and cell.theirs > 0.0 and cell.certified
    slow = small.Cell("SVC", "tiny", 3.0, 1.0, False)
    shown = small.text([small.Cell("Ridge", "diabetes", 1.0, 2.0, True), slow]).splitlines()
    assert shown[2].split() == ["SVC", "tiny", "3", "1", "3.00", "NO"]
    assert shown[3].split() == ["Ridge", "diabetes", "1", "2", "0.50", "yes"]
    assert shown[-4].startswith("1 of 2 take longer")


def test_scikit_learn_is_timed_once_more_at_equal_suboptimality():
    cell = small.measure("LogisticRegressionCV", "tiny", time.process_time, seconds=0.0)
    assert cell.equal is not None and 0.0 < cell.equal < float("inf")
    assert small.text([cell]).splitlines()[2].split()[-1] == f"{cell.ours / cell.equal:.2f}"
    X, y = small.load("tiny")
    rough, exact = (
        small._objectives(separatrix.LogisticRegression(tol=tol).fit(X, y), X, y)
        for tol in (1e-2, 1e-10)
    )
    assert 0.0 < small._worst(rough, exact) < 1e-2
