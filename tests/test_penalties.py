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
    violation,
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
        # The bound is larger by no more than some units, and what underflows.
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


def test_weights_that_may_not_be_negative_need_no_share_of_l1() -> None:
    for ratio in (0.0, 0.4, 1.0):
        penalty = penalty_of(ratio, nonnegative=True)
        assert (penalty.l1, penalty.l2) == (ratio, 1.0 - ratio)
        assert (penalty.lower, penalty.upper) == (0.0, np.inf)
        assert penalty.kinked


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


# --- by column, and between bounds ----------------------------------------------------------------

INF = np.inf
BY_COLUMN = [
    Penalty(l2=[0.5, 1.0, 2.0, 3.0], l1=[0.0, 0.3, 0.0, 1.0]),
    Penalty(l1=[0.2, 0.5, 1.0, 2.0]),
    Penalty(l2=1.0, lower=[0.0, -1.0, -0.1, -INF], upper=[1.0, 0.0, INF, INF]),
    Penalty(lower=[0.0, -1.0, -0.1, -0.0], upper=[1.0, 0.0, 2.0, 0.0]),
    Penalty(l2=0.7, l1=0.2, lower=-0.4, upper=0.6),
    Penalty(l1=0.2, lower=-0.4, upper=0.6),
    Penalty(l2=0.7, upper=0.0),
    Penalty(l1=0.7, upper=0.0),
    Penalty(l2=[0.0, 0.0, 1.0, 1.0], l1=[0.5, 0.0, 0.0, 0.1], lower=[-INF, -1.0, 0.0, -0.5]
            , upper=[0.5, 2.0, INF, INF]),
]  # fmt: skip


def parts(penalty, j):
    """The four numbers of one column."""
    values = penalty.l2, penalty.l1, penalty.lower, penalty.upper
    return tuple(float(np.broadcast_to(part, (4,))[j]) for part in values)


def exact_conjugate(penalty, v) -> Fraction | None:
    """The conjugate in rational numbers, from where a weight is best; None where it is infinite."""
    out = Fraction(0)
    for index, value in np.ndenumerate(v):
        l2, l1, lower, upper = parts(penalty, index[0])
        value = Fraction(value)
        beyond = max(abs(value) - Fraction(l1), Fraction(0))
        bound = upper if value > 0 else -lower
        if beyond == 0 or bound == 0.0:
            continue
        if bound == INF and l2 == 0.0:
            return None
        best = beyond / Fraction(l2) if l2 > 0.0 else Fraction(bound)
        best = min(best, Fraction(bound)) if bound < INF else best
        out += beyond * best - Fraction(l2) / 2 * best * best
    return out


def exact_value(penalty, w) -> Fraction:
    out = Fraction(0)
    for index, value in np.ndenumerate(w):
        l2, l1, *_ = parts(penalty, index[0])
        x = Fraction(float(value))
        out += Fraction(l1) * abs(x) + Fraction(l2) / 2 * x * x
    return out


def within(penalty, w):
    return penalty.kinks(w.shape, len(w)).within(w)


@pytest.mark.parametrize("penalty", BY_COLUMN, ids=repr)
@pytest.mark.parametrize("shape", SHAPES)
def test_conjugate_and_gap_of_parts_by_column_against_rational_numbers(penalty, shape) -> None:
    rng = np.random.default_rng(6)
    finite = 0
    for _ in range(15):
        v, w = 2.0 * rng.normal(size=shape), within(penalty, rng.normal(size=shape))
        w[rng.random(shape) < 0.3] = 0.0
        v = penalty.dual_scale(v) * v if rng.random() < 0.8 else v
        exact = exact_conjugate(penalty, v)
        if exact is None:
            assert penalty.conjugate(v) == penalty.fenchel_young(w, v) == np.inf
            continue
        finite += 1
        assert penalty.conjugate(v) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
        assert penalty.value(w) == pytest.approx(float(exact_value(penalty, w)), rel=1e-12)
        gap = exact_value(penalty, w) + exact
        gap -= sum(Fraction(a) * Fraction(b) for a, b in zip(w.flat, v.flat, strict=True))
        found = penalty.fenchel_young(w, v)
        assert found >= 0.0
        assert found == pytest.approx(float(gap), rel=1e-9, abs=1e-12)
    assert finite >= 7
    assert penalty.value(np.full(shape, 100.0)) == np.inf or np.any(np.isinf(penalty.upper))


@pytest.mark.parametrize("penalty", BY_COLUMN, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9, 1e-165, 1e150])
def test_conjugate_of_parts_by_column_is_bounded_from_above(penalty, scale: float) -> None:
    """Wherever the true point is, its conjugate is at most the bound, or that of a share of it."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        middle = scale * rng.normal(size=4) * 10.0 ** rng.integers(-3, 2, size=4)
        radius = float(rng.choice([0.0, 1e-16, 1e-6, 0.3])) * scale * rng.random(4)
        if rng.random() < 0.5:
            found = Enclosure.of(middle, radius)
            errors = radius * rng.choice([-1.0, 1.0], size=4)
        else:
            # One bound for all errors together: here all of it is in one entry.
            j, length = int(rng.integers(4)), float(radius[0])
            found = Enclosure(middle, length, length)
            errors = np.where(np.arange(4) == j, length * rng.choice([-1.0, 1.0]), 0.0)
        above, losses = penalty.conjugate_above(found, -1.0)
        # The losses give the share by which the point was scaled.
        share = Fraction(-losses) if losses < 0.0 else Fraction(0)
        assert 0 <= share <= 1
        true = [
            share * (Fraction(m) + Fraction(e))
            for m, e in zip(middle.tolist(), errors.tolist(), strict=True)
        ]
        exact = exact_conjugate(penalty, np.array(true, dtype=object))
        assert exact is not None or share == 0
        assert above == np.inf or Fraction(above) >= (exact or 0)
        if not radius.any() and penalty.supercoercive and scale in (1.0, 1e-9, 1e9):
            assert above <= float(exact) * (1.0 + 1e-12) + 1e-13 * scale * (scale + 1.0)
        w = within(penalty, scale * rng.normal(size=4))
        assert Fraction(min(penalty.value_above(w), 1e300)) >= min(
            exact_value(penalty, w), Fraction(1e300)
        )


@pytest.mark.parametrize("penalty", [*KINKED, *BY_COLUMN], ids=repr)
def test_slopes_are_off_by_their_distance_from_the_subdifferential(penalty) -> None:
    rng = np.random.default_rng(8)
    for _ in range(30):
        w = within(penalty, rng.choice([-2.0, -0.4, -0.1, 0.0, 0.3, 0.6, 2.0], size=4))
        slope = rng.normal(size=4)
        kinks = penalty.kinks((5,), 4)
        x, g = np.append(w, 0.7), np.append(slope, 0.2)
        away = kinks.violation(x, g)
        # Nothing holds an intercept.
        assert away[4] == 0.2
        np.testing.assert_array_equal(away[:4], penalty.violation(w, slope))
        for j in range(4):
            _, l1, lower, upper = parts(penalty, j)
            assert violation(w[j], slope[j], l1, lower, upper) == away[j]
            low = -l1 if w[j] <= 0.0 else l1
            high = l1 if w[j] >= 0.0 else -l1
            low, high = -INF if w[j] == lower else low, INF if w[j] == upper else high
            distance = max(low + slope[j], -slope[j] - high, 0.0)
            assert max(away[j], 0.0) == pytest.approx(distance, abs=1e-15)
        free = kinks.free(x)
        assert free[4]
        assert not np.any(free[:4] & ((w == 0.0) & (np.broadcast_to(penalty.l1, (4,)) > 0.0)))


def test_parts_that_are_the_same_for_all_columns_are_numbers() -> None:
    penalty = Penalty(l2=np.ones(3), lower=[-INF] * 3)
    assert penalty.ridge
    assert penalty.restricted(np.array([0, 2])) is penalty
    some = BY_COLUMN[2].restricted(np.array([1, 2]))
    np.testing.assert_array_equal(some.lower, [-1.0, -0.1])
    np.testing.assert_array_equal(some.upper, [0.0, INF])
    assert [p.coercive for p in BY_COLUMN] == [True] * 9
    assert [p.supercoercive for p in BY_COLUMN[:4]] == [True, False, True, True]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"l1": -1.0}, "at least 0"),
        ({"l2": [1.0, np.nan]}, "at least 0"),
        ({"lower": 0.5}, "allow zero"),
        ({"upper": [1.0, -0.5]}, "allow zero"),
        ({"lower": np.nan}, "allow zero"),
    ],
)
def test_factors_below_zero_and_bounds_without_zero_are_refused(wrong, match) -> None:
    with pytest.raises(ValueError, match=match):
        Penalty(**wrong)
