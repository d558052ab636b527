"""Drawn rates are the schedules' own, and the words are what is proved of them."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pictures import bare, compared
from separatrix.plots import ScheduleDisplay
from separatrix.schedules import Constant, InverseTime, Power, Schedule


@dataclass(frozen=True)
class Squared(Schedule):
    """Rates whose sum is finite."""

    rate: float = 1.0
    sum_diverges = False

    @property
    def numbers(self):
        return self.rate, 0.0, 2.0

    @property
    def formula(self):
        return "eta_k = 1 / k^2"


SCHEDULES = [Constant(0.1), InverseTime(2.0), Power(1.0, tau=10.0, kappa=0.75), Squared()]


def test_drawn_rates_are_the_schedule_s():
    display = ScheduleDisplay.from_schedules(SCHEDULES, n_steps=5000)
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    for line, schedule in zip(display.lines_, SCHEDULES, strict=True):
        steps, rates = line.get_data()
        assert steps[0] == 1 and steps[-1] == 5000 and len(steps) <= 200
        assert np.array_equal(steps, np.round(steps))
        np.testing.assert_allclose(rates, [schedule(int(k)) for k in steps], rtol=1e-14)


def test_words_say_which_converge():
    display = ScheduleDisplay.from_schedules(SCHEDULES)
    labels = [line.get_label() for line in display.lines_]
    assert labels == [
        "0.1: stays near: Σ η² = ∞",
        "2 / k: converges",
        "(10 + k)^−0.75: converges",
        "1 / k^2: may stop short: Σ η < ∞",
    ]
    solid = [line.get_linestyle() == "-" for line in display.lines_]
    assert solid == [schedule.converges for schedule in SCHEDULES] == [False, True, True, False]


def test_names_of_one_s_own_and_one_alone():
    display = ScheduleDisplay.from_schedules({"the $safe$ one": Constant(0.5)}, n_steps=2)
    assert display.lines_[0].get_label().startswith(r"the \$safe\$ one: stays near")
    low, high = display.ax_.get_ylim()
    assert low < 0.05 and high > 5.0
    assert len(ScheduleDisplay.from_schedules(InverseTime(1.0)).lines_) == 1


def test_given_axes_get_the_legend():
    figure, ax = plt.subplots()
    display = ScheduleDisplay.from_schedules(SCHEDULES, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert len(ax.get_legend().get_texts()) == 4


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="schedules is empty"):
        ScheduleDisplay.from_schedules([])
    with pytest.raises(TypeError, match="schedules has 'optimal', which is not a schedule"):
        ScheduleDisplay.from_schedules({"optimal": "optimal"})
    for wrong in ("optimal", 3, None):
        with pytest.raises(TypeError, match=f"schedules has {wrong!r}, which is not a schedule"):
            ScheduleDisplay.from_schedules(wrong)
    with pytest.raises(ValueError, match="n_steps=1 must be"):
        ScheduleDisplay.from_schedules(SCHEDULES, n_steps=1)


@compared()
def test_schedule_picture():
    return bare(ScheduleDisplay.from_schedules(SCHEDULES[:3]).figure_)
