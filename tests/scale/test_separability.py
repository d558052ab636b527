"""Verdicts on separability in passes are those on all rows at once, and their witnesses hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from grids import EXHAUSTIVE
from separatrix import separability
from separatrix.geometry.separation.in_passes import Tuning, places_of, separability_in_passes
from separatrix.scale import Local, scan

# With so few rows at first, those that decide are seldom among them.
FEW_AT_FIRST = Tuning(first=6, joining=3)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers: ties, points on planes, and columns that depend on one another."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 5))
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    if seed % 3 == 0:
        X = np.column_stack([X, X @ rng.integers(-2, 3, size=d)])
    scores = X @ rng.normal(size=X.shape[1]) + rng.normal() * (seed % 2)
    y = (scores > np.median(scores)).astype(int)
    if seed % 4 == 1:
        y[rng.integers(n)] ^= 1
    if seed % 5 == 2:
        X[y == 1, 0] = np.maximum(X[y == 1, 0], 0.0)
        X[y == 0, 0] = np.minimum(X[y == 0, 0], 0.0)
    y[:2] = 0, 1
    return X, y


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(60 if EXHAUSTIVE else 21))
def test_verdicts_are_those_on_all_rows(seed):
    X, y = problem(seed)
    fit_intercept = seed % 7 != 3
    stored = sp.csr_matrix(X) if seed % 6 == 5 else X
    expected = separability(X, y, fit_intercept=fit_intercept, margin=False)
    found = separability_in_passes(
        scan(stored, y, block_rows=7), fit_intercept=fit_intercept, tuning=FEW_AT_FIRST
    )
    assert found.status == expected.status
    assert found.n_samples == len(y)
    if found.status in ("separable", "not_separable"):
        spans = np.linalg.matrix_rank(np.column_stack([X, np.ones(len(X))])) > X.shape[1]
        if found.status == "separable" or (spans and fit_intercept):
            proof = found.check(X, y)
            assert proof, proof.reason


def test_all_verdicts_of_three_classes():
    X, y = load_iris(return_X_y=True)
    found = separability_in_passes(scan(X, y, block_rows=20), engine=Local(2), tuning=FEW_AT_FIRST)
    expected = separability(X, y, margin=False)
    assert [v.status for v in found] == [v.status for v in expected]


def test_an_overlap_of_two_rows_far_apart_is_found_and_named():
    X = np.arange(1000.0)[:, None]
    y = (X[:, 0] > 500).astype(int)
    y[777] = 0
    data = scan(X, y, block_rows=100)
    found = separability_in_passes(data, tuning=FEW_AT_FIRST)
    assert found.status == "not_separable" and 777 in found.witness.rows
    assert places_of(data, [777]) == ["rows 701 to 800, row 78 of these"]
    assert found.check(X, y)
