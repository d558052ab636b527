"""What results mean in a condition: what a reader would take them to mean, or an error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from separatrix import diagnose, min_training_error, separability, training_error
from separatrix.kernels import DeltaKernel
from separatrix.models.perceptron import Perceptron

LINE = np.arange(4.0)[:, None]
APART, MIXED = [0, 0, 1, 1], [0, 1, 0, 1]


def test_a_verdict_is_true_where_the_classes_are_separable():
    assert separability(LINE, APART)
    assert not separability(LINE, MIXED)
    assert not separability([[0.0], [1.0], [1.0], [2.0]], APART)  # quasi-separable
    assert separability([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 2])
    assert not separability(np.arange(5.0)[:, None], [0, 1, 2, 0, 1])


def labellings(points):
    """How many labellings of six points are separable: by the library, and by a linear program."""
    ways = [np.array(signs) for signs in itertools.product((-1, 1), repeat=6)]
    ways = [signs for signs in ways if abs(signs.sum()) < 6]
    lifted = np.column_stack([points, np.ones(6)])
    feasible = [
        linprog(
            np.zeros(lifted.shape[1]),
            A_ub=-signs[:, None] * lifted,
            b_ub=-np.ones(6),
            bounds=(None, None),
        ).status
        == 0
        for signs in ways
    ]
    return sum(bool(separability(points, signs)) for signs in ways), sum(feasible)


def test_the_count_of_separable_labellings():
    points = np.random.default_rng(1).normal(size=(6, 2))
    lifted = DeltaKernel().lift(points)
    dense = lifted.toarray() if hasattr(lifted, "toarray") else np.asarray(lifted)
    assert labellings(dense) == (62, 62)
    assert labellings(points) == (30, 30)


def test_a_diagnosis_is_true_where_something_was_found():
    assert diagnose(np.column_stack([LINE, np.ones(4)]), APART, checks=["columns"])
    x = np.random.default_rng(0).normal(size=(60, 2))
    assert not diagnose(x, np.arange(60) % 2, checks=["scales"])


def test_mistakes_are_true_where_a_row_is_wrong():
    model = Perceptron().fit(LINE, APART)
    assert bool(training_error(model, LINE, APART)) == (model.score(LINE, APART) < 1.0)
    assert training_error(model, LINE, MIXED)


def test_bounds_on_mistakes_are_neither():
    with pytest.raises(TypeError, match=r"neither true nor false: use \.upper or \.lower"):
        bool(min_training_error(LINE, MIXED))
