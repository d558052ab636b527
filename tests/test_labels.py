"""Labels: encoding, signs, and the weights that classes add."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.data.labels import codes_of, encode


def test_codes_point_into_sorted_classes() -> None:
    y = np.array(["b", "a", "c", "a"])
    labels = encode(y, None, None)
    assert labels.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(labels.classes[labels.codes], y)
    assert not labels.binary
    assert labels.weights is None
    assert labels.total == 4.0


def test_two_classes_make_one_problem_with_the_second_positive() -> None:
    labels = encode(np.array([7, 3, 7]), None, None)
    ((name, signs),) = labels.parts()
    assert name == ""
    assert signs.tolist() == [1.0, -1.0, 1.0]


def test_three_classes_make_three_problems_with_their_names() -> None:
    labels = encode(np.array([10, 30, 20, 30]), None, None)
    parts = dict(labels.parts())
    assert list(parts) == ["10", "20", "30"]
    assert parts["30"].tolist() == [-1.0, 1.0, -1.0, 1.0]
    np.testing.assert_array_equal(sum(parts.values()), -1.0)


def test_total_counts_sample_weights_and_not_class_weights() -> None:
    y, s = np.array([0, 0, 1]), np.array([0.5, 2.0, 1.5])
    labels = encode(y, s, {0: 10.0})
    assert labels.total == 4.0
    assert labels.weights.tolist() == [5.0, 20.0, 1.5]


def test_balanced_uses_the_weights() -> None:
    y, s = np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 0.0, 4.0])
    labels = encode(y, s, "balanced")
    # Six units of weight in two classes: three each.
    np.testing.assert_allclose(labels.weights, [1.5, 1.5, 0.0, 3.0])


@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.0, 1.0])])
def test_one_class(weights) -> None:
    y = np.array(["x", "y" if weights is not None else "x", "x"])
    with pytest.raises(ValueError, match=r"one class only.*\('x'\)"):
        encode(y, weights, None)


def test_negative_class_weight() -> None:
    with pytest.raises(ValueError, match="class_weight must not be negative"):
        encode(np.array([0, 1]), None, {0: -1.0})


def test_class_weight_that_leaves_one_class() -> None:
    with pytest.raises(ValueError, match="one class"):
        encode(np.array([0, 1]), None, {0: 0.0})


def test_class_weight_that_misses_the_classes() -> None:
    # scikit-learn's rule: a class may be left out, unless the weights name one that is not there.
    assert encode(np.array([0, 1]), None, {0: 2.0}).weights.tolist() == [2.0, 1.0]
    with pytest.raises(ValueError, match="not in class_weight"):
        encode(np.array([0, 1]), None, {0: 2.0, 5: 3.0})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
@pytest.mark.parametrize("step", [1, 3, 20, 700])
def test_whole_numbers_by_a_table_are_those_by_sorting(dtype, step: int) -> None:
    rng = np.random.default_rng(step)
    info = np.iinfo(dtype)
    low = {np.int8: -7, np.int16: -900, np.int64: -(2**40)}.get(dtype, 1)
    y = (low + step * rng.integers(0, 5, 300) % (info.max // 2)).astype(dtype)
    y[:2] = np.unique(y)[:2]
    weights = np.where(y == np.unique(y)[-1], 0.0, rng.integers(0, 3, 300) + 1.0)
    for sample_weight in (None, weights):
        if sample_weight is not None and len(np.unique(y)) < 3:
            continue
        found = encode(y, sample_weight, None)
        used = y if sample_weight is None else y[sample_weight > 0]
        np.testing.assert_array_equal(found.classes, np.unique(used))
        assert found.classes.dtype == y.dtype
        np.testing.assert_array_equal(found.codes, codes_of(y, found.classes))


def test_whole_numbers_far_apart() -> None:
    for y in ([0, 2**62], [-(2**63), 2**63 - 1], [5, 5 + (1 << 16)]):
        found = encode(np.array(y * 2, dtype=np.int64), None, None)
        assert found.classes.tolist() == y and found.codes.tolist() == [0, 1, 0, 1]
    top = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    assert encode(top, None, None).codes.tolist() == [1, 0]
