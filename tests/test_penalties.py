"""Penalties: value, gradient, curvature and their part of the duality gap."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.penalties import L2, NoPenalty

SHAPES = [(4,), (4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("penalty", [L2(), NoPenalty()], ids=repr)
def test_gradient_and_curvature_against_differences(penalty, shape) -> None:
    rng = np.random.default_rng(0)
    w, direction = rng.normal(size=shape), rng.normal(size=shape)
    h = 1e-5
    slope = (penalty.value(w + h * direction) - penalty.value(w - h * direction)) / (2 * h)
    assert np.vdot(penalty.gradient(w), direction) == pytest.approx(slope, abs=1e-9)
    bend = penalty.gradient(w + h * direction) - penalty.gradient(w - h * direction)
    np.testing.assert_allclose(bend / (2 * h), penalty.curvature * direction, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_fenchel_young_of_l2(shape) -> None:
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=shape), rng.normal(size=shape)
    gap = L2().fenchel_young(w, v)
    # 1/2 |w|^2 + 1/2 |v|^2 - w.v
    assert gap == pytest.approx(0.5 * np.sum(w * w) + 0.5 * np.sum(v * v) - np.sum(w * v))
    assert L2().fenchel_young(w, w) == 0.0


def test_fenchel_young_of_no_penalty_charges_what_is_left() -> None:
    w = np.array([3.0, -2.0])
    assert NoPenalty().fenchel_young(w, np.zeros(2)) == 0.0
    assert NoPenalty().fenchel_young(w, np.array([1e-9, 1e-9])) >= 5e-9 * (1 - 1e-12)


def test_formulas() -> None:
    assert L2().formula == "1/2 |w|^2"
    assert NoPenalty().formula == ""
