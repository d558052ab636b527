"""Labels: encoding, signs, and the weights that classes add."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.labels import encode


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
