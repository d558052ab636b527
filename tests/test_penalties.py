"""Penalties: value, gradient, curvature and their part of the duality gap."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from separatrix.objectives.enclosure import Enclosure, half_square_above
from separatrix.objectives.penalties import (
    L1,
    L2,
    ElasticNet,
    NoPenalty,
    Penalty,
    _half_square,
    penalty_of,
    prox,
)

SHAPES = [(4,), (4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("penalty", [L2(), NoPenalty(), L1(), ElasticNet(0.3)], ids=repr)
def test_gradient_and_curvature_against_differences(penalty, shape) -> None:
    rng = np.random.default_rng(0)
    w, direction = rng.normal(size=shape), rng.normal(size=shape)
    h = 1e-5
    slope = (penalty.value(w + h * direction) - penalty.value(w - h * direction)) / (2 * h)
    # The gradient is that of the smooth part; away from zero the kink's slope is its sign.
    gradient = penalty.gradient(w) + penalty.l1 * np.sign(w)
    assert np.vdot(gradient, direction) == pytest.approx(slope, abs=1e-9)
    bend = penalty.gradient(w + h * direction) - penalty.gradient(w - h * direction)
    curvature = penalty.curvature(shape, len(w))
    np.testing.assert_allclose(bend / (2 * h), curvature * direction, atol=1e-9)


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


KINKED = [
    L1(),
    ElasticNet(0.3),
    ElasticNet(0.999),
    L1(nonnegative=True),
    ElasticNet(0.3, nonnegative=True),
]


@pytest.mark.parametrize("penalty", KINKED, ids=repr)
@pytest.mark.parametrize("shape", SHAPES)
def test_conjugates_by_brute_force(penalty, shape) -> None:
    rng = np.random.default_rng(2)
    v = rng.normal(size=shape)
    if penalty.l2 == 0.0:
        largest = v.max() if penalty.bounded else np.abs(v).max()
        assert penalty.conjugate(v * (1.5 / largest)) == np.inf
        v /= largest
    # One weight at a time, since the penalty is a sum over them.
    reach = 10.0 / (penalty.l2 or 1.0)
    w = np.linspace(0.0 if penalty.bounded else -reach, reach, 400_001)
    best = 0.0
    for one in v.ravel():
        values = penalty.l1 * np.abs(w) + 0.5 * penalty.l2 * w * w
        best += np.max(one * w - values)
    assert penalty.conjugate(v) == pytest.approx(best, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("penalty", KINKED, ids=repr)
@pytest.mark.parametrize("shape", SHAPES)
def test_fenchel_young_of_a_kink(penalty, shape) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        w = rng.normal(size=shape) * (rng.random(shape) < 0.5)
        if penalty.bounded:
            assert penalty.value(w) == np.inf or w.min() >= 0.0
            w = np.abs(w)
        v = penalty.dual_scale(5 * (v := rng.normal(size=shape))) * 5 * v
        gap = penalty.fenchel_young(w, v)
        assert gap >= 0.0
        assert gap == pytest.approx(penalty.value(w) + penalty.conjugate(v) - np.sum(w * v))
        # Zero exactly where v is a slope of the penalty at w.
        slope = penalty.gradient(w) + penalty.l1 * np.sign(w)
        assert penalty.fenchel_young(w, slope) == pytest.approx(0.0, abs=1e-14)


def test_room_of_l1_is_the_way_into_the_box() -> None:
    v = np.array([0.5, -3.0, 2.0])
    assert L1().fenchel_young(np.ones(3), v) == np.inf
    room = L1().dual_scale(v)
    assert room == pytest.approx(1 / 3)
    assert np.abs(room * v).max() <= 1.0
    assert L1().dual_scale(v / 4) == 1.0
    # What pulls below zero is held.
    assert L1(nonnegative=True).dual_scale(v) == pytest.approx(1 / 2)
    assert ElasticNet(0.5).dual_scale(v) == L2().dual_scale(v) == 1.0


@pytest.mark.parametrize("l1", [0.0, 0.5, 2.0])
def test_the_proximal_step_by_brute_force(l1: float) -> None:
    x = np.linspace(-5, 5, 100_001)
    for u in (-3.0, -0.5, -0.2, 0.0, 0.5, 1.7, 4.0):
        values = 0.5 * 1.5 * x**2 - u * x + l1 * np.abs(x)
        for lower, upper in ((-np.inf, np.inf), (0.0, np.inf), (-0.3, 0.7), (-2.0, 0.0)):
            inside = (x >= lower) & (x <= upper)
            best = x[inside][np.argmin(values[inside])]
            assert prox(u, 1.5, l1, lower, upper) == pytest.approx(best, abs=2e-4)
    assert prox(l1, 1.0, l1, -np.inf, np.inf) == 0.0


def test_penalty_of_a_ratio() -> None:
    assert isinstance(penalty_of(0.0), L2)
    assert isinstance(penalty_of(1.0), L1)
    w = np.array([1.0, -2.0])
    assert penalty_of(0.25).value(w) == pytest.approx(0.25 * 3.0 + 0.375 * 5.0)


def test_capabilities() -> None:
    penalties = L2(), NoPenalty(), L1(), ElasticNet(0.5)
    assert [p.kinked for p in penalties] == [False, False, True, True]
    assert [p.quadratic for p in penalties] == [True, False, False, False]
    assert [p.supercoercive for p in penalties] == [True, False, False, True]
    assert [p.coercive for p in penalties] == [True, False, True, True]


def test_formulas() -> None:
    assert L1().formula == "|w|_1"
    assert ElasticNet(0.25).formula == "0.25 |w|_1 + 0.375 |w|^2"
    assert L2().formula == "1/2 |w|^2"
    assert NoPenalty().formula == ""


# --- upper bounds ---------------------------------------------------------------------------------

# Around 1e-162 squares become coarse, and below they are zero.
SCALES = [1.0, 1e-150, 3e-162, 1e-165, 1e-300, 5e-324, 1e150]


def squares(values, beyond=0) -> Fraction:
    """The sum of the squares of what is beyond a threshold, exactly."""
    excess = [max(abs(Fraction(v)) - beyond, Fraction(0)) for v in np.ravel(values).tolist()]
    return sum((e * e for e in excess), Fraction(0))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", [L2(), L1(), ElasticNet(0.3), ElasticNet(1e-3)], ids=repr)
def test_a_value_is_bounded_from_above_though_squares_underflow(penalty, scale: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        w = scale * rng.normal(size=int(rng.integers(1, 9)))
        sizes = sum((abs(Fraction(v)) for v in w.tolist()), Fraction(0))
        value = Fraction(penalty.l1) * sizes
        value += Fraction(penalty.l2) / 2 * squares(w)
        above = penalty.value_above(w)
        assert Fraction(above) >= value
        # And by no more than some units, and what underflows.
        tiny = 5 * (len(w) + 1) * Fraction(2) ** -1074
        assert Fraction(above) <= value * (1 + Fraction(2) ** -48) + tiny
    assert penalty.value_above(np.zeros(3)) == 0.0


@pytest.mark.parametrize("radius", ["each", "all", None])
@pytest.mark.parametrize("scale", SCALES)
def test_half_a_square_is_bounded_from_above_wherever_the_point_is(scale: float, radius) -> None:
    rng = np.random.default_rng(4)
    for threshold in (0.0, 0.25 * scale):
        for _ in range(10):
            middle = scale * rng.normal(size=4)
            error = 0.1 * scale * np.abs(rng.normal(size=4))
            if radius == "each":
                found = Enclosure.of(middle, error)
                farthest = [
                    abs(Fraction(m)) + Fraction(e)
                    for m, e in zip(middle.tolist(), error.tolist(), strict=True)
                ]
            elif radius == "all":
                # One bound for the errors together: here all of it is in one entry.
                length = float(error[0])
                found = Enclosure(middle, length, length)
                farthest = [abs(Fraction(m)) for m in middle.tolist()]
                farthest[0] += Fraction(length)
            else:
                found = Enclosure(middle, 0.0, 0.0)
                farthest = [abs(Fraction(m)) for m in middle.tolist()]
            beyond = [max(f - Fraction(threshold), Fraction(0)) for f in farthest]
            value = sum((b * b for b in beyond), Fraction(0)) / 2
            assert Fraction(_half_square(found, threshold)) >= value


@pytest.mark.parametrize("root", [1.0, 3.0, 1e150, 1e-150, 1e-162, 0.0])
@pytest.mark.parametrize("scale", SCALES)
def test_squares_times_a_factor_underflow_no_earlier_than_their_product(scale, root) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        values = scale * rng.normal(size=3)
        value = Fraction(root) ** 2 * squares(values) / 2
        above = half_square_above(values, root)
        assert above == np.inf or Fraction(above) >= value
        if above < np.inf:
            assert Fraction(above) <= value * (1 + Fraction(2) ** -47) + 3 * Fraction(2) ** -1074
        else:
            assert value >= Fraction(np.finfo(np.float64).max)
    assert half_square_above(np.zeros(2), root) == 0.0


def test_a_bound_below_zero_without_a_kink_is_refused():
    with pytest.raises(ValueError, match="need a share of L1"):
        penalty_of(0.0, nonnegative=True)


@pytest.mark.parametrize(
    ("penalty", "ridge"),
    [(L2(), True), (L1(), False), (ElasticNet(0.5), False), (NoPenalty(), False)],
)
def test_only_half_the_squared_norm_is_a_ridge(penalty, ridge):
    assert penalty.ridge is ridge


def test_a_squared_norm_with_a_bound_is_no_ridge():
    bounded = Penalty(l2=1.0, lower=0.0)
    assert not bounded.ridge
    assert not bounded.quadratic
    assert bounded.kinked
