"""Which weights are called the largest."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from separatrix import SVC
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.commands.info.details import weight_lines, weights_per_unit


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
    assert " from " in weight_lines(entries, 100)[1]
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
    assert weight_lines(entries, 100) == [
        "feature  direction    per s.d.  per unit",
        "a        towards 1         +10        +1  " + 20 * "\u2588",
        "d        towards 1          +4        +2  " + 8 * "\u2588",
        "b        away from 1        -3        -3  " + 6 * "\u2588",
    ]
    # A unit of the column is worth its weight over the scale; the deviation is what it was.
    scaled = largest_weights(
        model, list("abcd"), np.array([10.0, 1.0, 5.0, 2.0]), scales=np.array([4.0, 1.0, 1.0, 2.0])
    )
    assert [entry["weight"] for entry in scaled] == [0.25, 1.0, -3.0]
    assert [entry["standardised"] for entry in scaled] == [10.0, 4.0, -3.0]


def test_files_that_have_weights_of_features():
    encoder = SimpleNamespace(feature_names_=["a", "b=x"], scales_=np.array([4.0, 1.0]))
    old = {"weights": [{"feature": "a", "weight": 2.0}, {"feature": "b=x", "weight": 3.0}]}
    assert [one["weight"] for one in weights_per_unit(old, encoder)] == [0.5, 3.0]
    new = {**old, "weights_per": "unit"}
    assert weights_per_unit(new, encoder) == new["weights"]


def test_several_classes_are_named():
    model = SimpleNamespace(
        coef_=np.array([[1.0, 0.0], [0.0, -4.0], [2.0, 0.5]]),
        classes_=np.array(["x", "y", "z"]),
    )
    entries = largest_weights(model, ["a", "b"], np.ones(2), count=3)
    sides = [line.split("  ")[1].strip() or line for line in weight_lines(entries, 100)[1:]]
    assert [line.split()[1:3] for line in weight_lines(entries, 100)[1:]] == [
        ["away", "from"], ["towards", "z"], ["towards", "x"],
    ], sides  # fmt: skip


def test_no_weight_at_all():
    model = SimpleNamespace(coef_=np.zeros((1, 2)), classes_=np.array([0, 1]))
    assert weight_lines(largest_weights(model, ["a", "b"], np.ones(2)), 100) == ["all zero"]


@pytest.mark.parametrize("width", [54, 62, 70, 90, 140])
def test_a_table_fits_the_terminal(width):
    long = "n" * 10_000
    entries = [
        {"feature": long, "class": long, "weight": 1.0, "standardised": 1.0},
        {"feature": "b" * 60, "class": "a", "weight": -1e-5, "standardised": -0.5},
    ]
    head, *rows = weight_lines(entries, width)
    assert max(map(len, rows)) <= width
    assert ("per unit" in head) == (width >= 62)
    assert ("\u2588" in rows[0]) == (width == 140)
    # The bar of the second is half as long.
    assert 2 * rows[1].count("\u2588") == rows[0].count("\u2588")


def test_the_end_of_a_very_long_name_is_left_out():
    long = "n" * 10_000
    entry = {"feature": long, "class": long, "against": long, "weight": 1.0, "standardised": 1.0}
    cut = "n" * 17 + "..."
    assert f"towards {cut} from {cut}" in weight_lines([entry], 100)[1]
