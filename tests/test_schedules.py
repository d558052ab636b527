"""Schedules: their numbers, what they promise, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from separatrix.schedules import SCHEDULES, Constant, InverseTime, Power, Schedule, schedule_of

ALL = [
    Constant(0.3),
    InverseTime(2.0),
    Power(0.7),
    Power(0.7, tau=12.5, kappa=0.75),
    Power(3.0, tau=0.0, kappa=0.51),
    Power.strongly_convex(alpha=0.01, t0=50.0),
]
each = pytest.mark.parametrize("schedule", ALL, ids=repr)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Constant(0.25), lambda k: Fraction(1, 4)),
        (InverseTime(3.0), lambda k: Fraction(3, k)),
        (Power(3.0, tau=2.0), lambda k: Fraction(3, k + 2)),
        (Power.strongly_convex(alpha=0.25, t0=8.0), lambda k: 4 / Fraction(8 + k)),
    ],
    ids=["constant", "inverse time", "power", "strongly convex"],
)
def test_rates_are_those_of_the_formula(schedule: Schedule, expected) -> None:
    k = np.array([1, 2, 3, 10, 1000])
    np.testing.assert_allclose(schedule(k), [float(expected(int(i))) for i in k], rtol=1e-15)
    assert [schedule(int(i)) for i in k] == schedule(k).tolist()


def test_a_power_of_time() -> None:
    schedule = Power(0.5, tau=3.0, kappa=0.75)
    for k in (1, 5, 97):
        assert schedule(k) == pytest.approx(0.5 / math.exp(0.75 * math.log(3 + k)), rel=1e-14)


@each
def test_what_is_said_of_the_sums_holds(schedule: Schedule) -> None:
    # From n to 2n: a series that diverges like a power, or a logarithm, gains at least as much
    # as before; one that converges gains ever less, by a factor that stays away from one.
    n = 2 ** np.arange(14, 21)
    rates = schedule(np.arange(1, 2 * n[-1] + 1))
    sums, squares = np.cumsum(rates), np.cumsum(rates**2)
    gain = sums[2 * n - 1] - sums[n - 1]
    assert np.all(gain[1:] >= 0.999 * gain[:-1]) == schedule.sum_diverges
    gain = squares[2 * n - 1] - squares[n - 1]
    assert np.all(gain[1:] < 0.99 * gain[:-1]) == schedule.squares_converge
    assert schedule.converges == (schedule.sum_diverges and schedule.squares_converge)
    assert ("reach the optimum" in schedule.condition) == schedule.converges


@each
def test_with_another_rate(schedule: Schedule) -> None:
    other = schedule.with_rate(2 * schedule.rate)
    assert type(other) is type(schedule)
    np.testing.assert_allclose(other([1, 7, 100]), 2 * schedule([1, 7, 100]), rtol=1e-15)
    assert schedule.with_rate(schedule.rate) == schedule


@each
def test_numbers_and_text_say_the_same(schedule: Schedule) -> None:
    rate, tau, kappa = schedule.numbers
    assert schedule(9) == pytest.approx(rate * (tau + 9) ** -kappa, rel=1e-14)
    text = schedule.formula.removeprefix("eta_k = ").replace("^", "**")
    assert eval(text, {"k": 9}) == pytest.approx(schedule(9), rel=1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Constant(0), "rate=0 must be a finite number greater than 0."),
        (lambda: Constant(math.inf), "rate=inf must be a finite number greater than 0."),
        (lambda: InverseTime(-1.0), "rate=-1.0 must be a finite number greater than 0."),
        (lambda: InverseTime("1"), "rate='1' must be a finite number greater than 0."),
        (lambda: Power(math.nan), "rate=nan must be a finite number greater than 0."),
        (lambda: Power(1.0, -1.0), "tau=-1.0 must be a finite number of at least 0."),
        (lambda: Power(1.0, 0.0, -0.1), "kappa=-0.1 must be from 0 to 1: "),
        (lambda: Power(1.0, 0.0, 1.01), "kappa=1.01 must be from 0 to 1: "),
        (lambda: Power(1.0, 0.0, None), "kappa=None must be a finite number."),
        (lambda: Power.strongly_convex(0.0, 1.0), "alpha=0.0 must be a finite number greater"),
        (lambda: Power.strongly_convex(1.0, -1), "t0=-1 must be a finite number of at least 0."),
        (
            lambda: schedule_of("adaptive", 1.0, alpha=1.0, power_t=1.0),
            "learning_rate='adaptive' is not known; choose one of 'optimal', 'invscaling', "
            "'constant'.",
        ),
        (
            lambda: schedule_of("optimal", 1.0, alpha=0.0, power_t=1.0),
            "learning_rate='optimal' is 1 / (alpha (t0 + k)) and needs a penalty;",
        ),
    ],
)
def test_bad_numbers_are_refused_in_one_sentence(make, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_names() -> None:
    found = [schedule_of(name, 0.1, alpha=0.5, power_t=0.6) for name in SCHEDULES]
    # 1 / (0.5 (t0 + k)) with t0 = 1 / (0.5 * 0.1).
    assert found == [Power(2.0, 20.0, 1.0), Power(0.1, 0.0, 0.6), Constant(0.1)]
    # The schedule starts at about the requested rate.
    assert found[0](1) == pytest.approx(0.1, rel=0.05)


def test_schedules_are_values() -> None:
    assert Power(1.0, 2.0, 0.75) == Power(1.0, 2.0, 0.75)
    assert hash(Constant(1.0)) == hash(Constant(1.0))
    with pytest.raises(AttributeError):
        Constant(1.0).rate = 2.0
