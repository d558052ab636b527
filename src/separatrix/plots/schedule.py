"""Learning rates of stochastic gradients over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from separatrix.data.validation import check_number
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import last_step
from separatrix.plots.points import axes_row, one_axes, write_legend, write_title
from separatrix.plots.style import class_colours, class_markers, ink, plain
from separatrix.solvers.schedules import Schedule


def _verdict(schedule: Schedule) -> str:
    if schedule.converges:
        return "converges"
    if not schedule.sum_diverges:
        return "may stop short: Σ η < ∞"
    return "stays near: Σ η² = ∞"


def _formula(name: str) -> str:
    text = name.removeprefix("eta_k = ").removeprefix("1 * ")
    return text.replace(" * ", " · ").replace("^-", "^−")


@dataclass(kw_only=True, eq=False, repr=False)
class ScheduleDisplay(Display):
    r"""Learning rates :math:`\eta_k` over the steps ``k``, both on scales of powers of ten.

    There a power of time is a straight line, and its exponent the slope.  Steps reach the optimum
    of a convex objective whatever the noise if the rates add up to infinity and their squares do
    not (Robbins and Monro, 1951); the legend states for each schedule whether they do, and those
    for which they do not are dashed.

    Parameters
    ----------
    schedules : dict of Schedule
        The schedules, by their names in the legend.
    steps : ndarray of int of shape (n,)
    rates : list of ndarray of shape (n,)
        The rates at these steps, one array a schedule.
    search : dict of ndarray, optional
        The ``rate_curve_`` of a fit, whose first rate was searched for: ``"rates"``, and the
        ``"objective"`` that each reached.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D
    search_ : Line2D
        The objective by the rate, where there was a search.

    References
    ----------
    Robbins and Monro (1951), A stochastic approximation method.

    Examples
    --------
    >>> from separatrix.plots import ScheduleDisplay
    >>> from separatrix.solvers.schedules import Constant, InverseTime, Power
    >>> display = ScheduleDisplay.from_schedules([Constant(0.1), InverseTime(1.0)])
    >>> [line.get_label() for line in display.lines_]
    ['0.1: stays near: Σ η² = ∞', '1 / k: converges']
    """

    schedules: Mapping[str, Schedule]
    steps: np.ndarray
    rates: list[np.ndarray]
    search: Mapping[str, np.ndarray] | None = None

    @classmethod
    def from_schedules(
        cls, schedules: Any, *, n_steps: int = 1000, ax: Axes | None = None
    ) -> ScheduleDisplay:
        """Draw the first rates of some schedules.

        Parameters
        ----------
        schedules : Schedule, sequence of Schedule, or dict of Schedule
            Schedules of :mod:`separatrix.schedules`; a dict names them by its keys, else they are
            named by their formulas.
        n_steps : int, default=1000
            The last step that is drawn; at least 2.
        ax : Axes, optional

        Returns
        -------
        ScheduleDisplay

        Raises
        ------
        TypeError
            For something that is no schedule.
        ValueError
            For no schedule, or ``n_steps`` below 2.
        """
        check_number("n_steps", n_steps, minimum=2, integer=True)
        if isinstance(schedules, str) or not isinstance(schedules, Iterable):
            schedules = [schedules]
        if not isinstance(schedules, Mapping):
            schedules = {getattr(s, "formula", repr(s)): s for s in schedules}
        if not schedules:
            raise ValueError("schedules is empty; name at least one.")
        for schedule in schedules.values():
            if not isinstance(schedule, Schedule):
                raise TypeError(
                    f"schedules has {repr(schedule)[:60]}, which is not a schedule; see "
                    "separatrix.schedules, and schedule_of() for scikit-learn's names."
                )
        return cls._of(schedules, n_steps).plot(ax=ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> ScheduleDisplay:
        """Draw the rates of a fit by stochastic gradients, and the search for the first of them.

        Parameters
        ----------
        model : SGDClassifier or SGDRegressor
            A model fitted by steps, or a pipeline that ends in one.
        ax : Axes or sequence of two Axes, optional
            Two axes where the first rate was searched for (``eta0="auto"``).

        Returns
        -------
        ScheduleDisplay

        Raises
        ------
        TypeError
            For a model that takes no such steps.
        ValueError
            For another number of axes.

        Examples
        --------
        >>> from separatrix import SGDClassifier
        >>> from separatrix.plots import ScheduleDisplay
        >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
        >>> model = SGDClassifier("log_loss", learning_rate="invscaling", tol=None, max_iter=5)
        >>> model = model.fit(X, y)
        >>> display = ScheduleDisplay.from_estimator(model)
        >>> best = display.search["objective"].argmin()
        >>> bool(display.search["rates"][best] == model.eta0_)
        True
        """
        model = last_step(model)
        if getattr(model, "learning_rate_formula_", "none") == "none":
            raise TypeError(
                f"This {type(model).__name__} took no steps with learning rates; give "
                "SGDClassifier or SGDRegressor a learning_rate."
            )
        schedule = model._schedule()
        display = cls._of({schedule.formula: schedule}, max(2, int(np.max(model.n_steps_))))
        display.search = getattr(model, "rate_curve_", None)
        return display.plot(ax=ax)

    @classmethod
    def _of(cls, schedules: Mapping[Any, Schedule], n_steps: int) -> ScheduleDisplay:
        # A line on this scale needs 200 points, however many steps there are.
        steps = np.unique(np.geomspace(1, n_steps, 200).round().astype(np.int64))
        rates = [np.asarray(schedule(steps), dtype=np.float64) for schedule in schedules.values()]
        named = {str(name): schedule for name, schedule in schedules.items()}
        return cls(schedules=named, steps=steps, rates=rates)

    def plot(self, ax: Axes | None = None) -> ScheduleDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, or sequence of two Axes where there was a search, optional

        Returns
        -------
        self
        """
        if self.search is None:
            self._begin(one_axes(ax, figsize=(6.4, 4.6)))
        else:
            self._begin(axes_row(ax, 2, panel=(5.0, 4.2)))
            self._draw_search(self.axes_[1], self.search)
        n = len(self.schedules)
        looks = zip(class_colours(max(n, 2)), class_markers(n), strict=False)
        # Marks at the same steps for all, so that curves on one another are seen to be so.
        marked = np.searchsorted(self.steps, np.geomspace(1, self.steps[-1], 6).round())
        every = np.unique(marked).tolist()
        self.lines_: list[Line2D] = []
        for (name, schedule), rates, (colour, marker) in zip(
            self.schedules.items(), self.rates, looks, strict=False
        ):
            dashes = "-" if schedule.converges else (0, (5, 2))
            label = f"{plain(_formula(name), 40)}: {_verdict(schedule)}"
            style: Looks = {"color": colour, "lw": 1.8, "ls": dashes, "label": label}
            marks: Looks = {"marker": marker, "markersize": 5, "markevery": every}
            self.lines_ += self.ax_.plot(self.steps, rates, **style, **marks)
        self.ax_.set(xscale="log", yscale="log")
        lowest, highest = (f([float(f(r)) for r in self.rates]) for f in (min, max))
        if highest < 30.0 * lowest:
            # A constant alone would be on a scale that shows no power of ten.
            middle = (lowest * highest) ** 0.5
            self.ax_.set_ylim(middle / 12.0, middle * 12.0)
        self.ax_.set(xlabel="step $k$", ylabel="learning rate $\\eta_k$")
        write_title(self.ax_, "Learning rates, and whether the steps reach the optimum")
        write_legend(self.ax_, self.lines_, below=True)
        return self

    def _draw_search(self, ax: Axes, search: Mapping[str, np.ndarray]) -> None:
        rates, objective = search["rates"], search["objective"]
        known = np.isfinite(objective)
        best = int(objective.argmin())
        looks: Looks = {"color": ink(), "lw": 1.5, "markersize": 4}
        (self.search_,) = ax.plot(rates[known], objective[known], "o-", **looks)
        ax.plot(rates[best], objective[best], "*", color=class_colours(2)[1], markersize=14)
        ax.set(xscale="log", xlabel="first rate $\\eta$", ylabel="objective of the trial")
        if objective[known].max() > 30.0 * max(objective[best], 0.0) > 0.0:
            ax.set_yscale("log")
        lost = int((~known).sum())
        diverged = f"; {lost:,} larger ones diverged" if lost else ""
        write_title(ax, f"{len(rates):,} rates were tried, {rates[best]:.3g} is best{diverged}")
