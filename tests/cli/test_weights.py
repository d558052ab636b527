"""Which weights are called the largest."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from separatrix import SVC
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.commands.info.details import describe_weights


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spread_of_dense_and_sparse_columns(dtype):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(dtype)
    X[X < 0.3] = 0
    expected = X.astype(np.float64).std(axis=0)
    assert column_spread(X) == pytest.approx(expected, rel=1e-12)
    assert column_spread(sparse.csr_matrix(X)) == pytest.approx(expected, rel=1e-12)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert column_spread(wide) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e305])
def test_spread_of_numbers_whose_squares_overflow_or_vanish(size):
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[X < -0.5] = 0.0
    expected = X.std(axis=0) * [1.0, size, 1.0]
    X[:, 1] *= size
    for matrix in (X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        assert column_spread(matrix) == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_one_against_one_names_both_classes():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0], [8.0, 8.0], [9.0, 9.0]])
    model = SVC(kernel="linear").fit(X, np.array(["a", "b", "a", "b", "c", "c"]))
    assert has_weights(model)
    entries = largest_weights(model, ["x", "z"], X.std(axis=0), count=20)
    found = {(e["class"], e["against"], e["feature"]): e["weight"] for e in entries}
    for pair, (first, second) in enumerate([("a", "b"), ("a", "c"), ("b", "c")]):
        for column, name in enumerate("xz"):
            weight = model.coef_[pair, column]
            assert found.get((first, second, name), 0.0) == pytest.approx(weight, abs=1e-12)
    assert max(entries, key=lambda e: e["class"] == "a" and e["against"] == "b")["weight"] < 0
    assert describe_weights(entries, multiclass=True).startswith(
        f"{entries[0]['class']} vs {entries[0]['against']}: "
    )
    two = SVC(kernel="linear").fit(X[:4], [0, 1, 0, 1])
    assert {e["class"] for e in largest_weights(two, ["x", "z"], np.ones(2))} == {1}
    assert not has_weights(SVC().fit(X[:4], [0, 1, 0, 1]))
    lifted = SVC(kernel="linear", approximation="nystroem").fit(X[:4], [0, 1, 0, 1])
    assert not has_weights(lifted)


def test_size_is_weight_times_spread():
    model = SimpleNamespace(coef_=np.array([[1.0, -3.0, 0.0, 2.0]]), classes_=np.array([0, 1]))
    entries = largest_weights(model, ["a", "b", "c", "d"], np.array([10.0, 1.0, 5.0, 2.0]))
    assert [entry["feature"] for entry in entries] == ["a", "d", "b"]
    assert entries[2] == {"feature": "b", "class": 1, "weight": -3.0, "standardised": -3.0}
    assert describe_weights(entries, multiclass=False) == "a +10, d +4, b -3"


def test_several_classes_are_named():
    model = SimpleNamespace(
        coef_=np.array([[1.0, 0.0], [0.0, -4.0], [2.0, 0.5]]),
        classes_=np.array(["x", "y", "z"]),
    )
    entries = largest_weights(model, ["a", "b"], np.ones(2), count=3)
    assert describe_weights(entries, multiclass=True) == "y: b -4, z: a +2, x: a +1"


def test_no_weight_at_all():
    model = SimpleNamespace(coef_=np.zeros((1, 2)), classes_=np.array([0, 1]))
    assert describe_weights(largest_weights(model, ["a", "b"], np.ones(2)), multiclass=False) == (
        "all zero"
    )


def test_all_ten_are_on_the_line():
    entries = [{"feature": f"name_{i}", "class": 1, "standardised": 1.0} for i in range(10)]
    text = describe_weights(entries, multiclass=False)
    assert text == ", ".join(f"name_{i} +1" for i in range(10))


def test_the_end_of_a_very_long_name_is_left_out():
    long = "n" * 10_000
    entries = [
        {"feature": long, "class": long, "against": long, "weight": 1.0, "standardised": 1.0},
        {"feature": "b" * 60, "class": "a", "weight": -1.0, "standardised": -1.0},
    ]
    cut = "n" * 57 + "..."
    told = describe_weights(entries, multiclass=True)
    assert told == f"{cut} vs {cut}: {cut} +1, a: {'b' * 60} -1"
