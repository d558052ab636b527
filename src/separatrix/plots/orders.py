"""Corrections and passes of perceptrons that visit the rows in several orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from separatrix.geometry.separation.convergence import OrderRuns
from separatrix.plots.display import Display
from separatrix.plots.points import axes_row, scatter_one, write_legend, write_title
from separatrix.plots.style import class_colours, ink, muted, number
from separatrix.plots.updates import rounded_up

# A bound that is farther off than this many times the corrections is written, not drawn.
_REACH = 25.0
# The area, in square points, of the disc that stands for all runs of a row.
_LARGEST = 320.0


@dataclass(kw_only=True, eq=False, repr=False)
class OrdersDisplay(Display):
    r"""Corrections and passes of the perceptron by the order of its visits, beside the bound.

    A row for each order and start, with discs whose areas are the shares of the runs that ended
    with that number of corrections or passes, and a bar at their median. The bound of the
    convergence theorem, :math:`(R/\gamma)^2` from zero, is the same for all orders; each start has
    its own. It does not bound the passes, each of which may make a single correction.

    Parameters
    ----------
    runs : sequence of OrderRuns
        See :meth:`PerceptronDisplay.compare_orders`, which makes them.

    Attributes
    ----------
    axes_ : ndarray of two Axes
        The axes of the corrections and of the passes.
    ax_ : Axes
        The first of the axes.
    figure_ : Figure
    bounds_ : list of Line2D
        The bound of each row, where the axis can hold it.

    Examples
    --------
    >>> from separatrix.plots import PerceptronDisplay
    >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    >>> display = PerceptronDisplay.compare_orders(X, y, ["cyclic", "margin"])
    >>> [(runs.order, runs.corrections.tolist()) for runs in display.runs]
    [('cyclic', [9]), ('margin', [9])]
    """

    runs: Sequence[OrderRuns]

    def labels(self) -> list[str]:
        """The name of each row: its order and, if there are several starts, its start."""
        several = len({tuple(runs.start) for runs in self.runs}) > 1
        out = []
        for runs in self.runs:
            text = ", ".join(number(value, 3) for value in runs.start)
            start = f"({text})" if runs.start.any() else "0"
            out.append(f"{runs.order}\nfrom {start}" if several else runs.order)
        return out

    def plot(self, ax: Any = None) -> OrdersDisplay:
        """Draw.

        Parameters
        ----------
        ax : sequence of two Axes, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For another number of axes.
        """
        labels = self.labels()
        height = 1.5 + 0.3 * sum(1 + label.count("\n") for label in labels)
        self._begin(axes_row(ax, 2, panel=(4.8, height)))
        self.bounds_: list[Line2D] = []
        heights = np.arange(len(labels))[::-1].astype(float)
        for axes, what in zip(self.axes_, ("corrections", "passes"), strict=True):
            for runs, y in zip(self.runs, heights, strict=True):
                self._draw_row(axes, getattr(runs, what), y)
            axes.set(xlabel=what, ylim=(-0.6, len(labels) - 0.4))
            axes.set_yticks(heights, labels if axes is self.ax_ else [""] * len(labels))
            axes.tick_params(axis="y", length=0)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        most = max(int(runs.corrections.max()) for runs in self.runs)
        bounds = [runs.bound.bound for runs in self.runs]
        if max(bounds) <= _REACH * max(most, 1):
            for bound, y in zip(bounds, heights, strict=True):
                looks: dict[str, Any] = {"color": muted(), "ls": "--", "lw": 1.4}
                self.bounds_ += self.ax_.plot([bound, bound], [y - 0.4, y + 0.4], **looks)
        self.ax_.set_xlim(left=0)
        self.axes_[1].set_xlim(left=0)
        write_title(self.ax_, f"{self._bound_text(bounds)}; the most made was {most:,}")
        unfinished = sum(int((~runs.finished).sum()) for runs in self.runs)
        end = f"{unfinished:,} runs stopped before" if unfinished else "every run came to"
        write_title(self.axes_[1], f"{end} a pass without a mistake")
        if ax is None:
            write_legend(self.ax_, self.legend_handles(), below=True)
        return self

    def _bound_text(self, bounds: Sequence[float]) -> str:
        plain = self.runs[0].bound
        if len(set(bounds)) > 1:
            few, many = rounded_up(min(bounds)), rounded_up(max(bounds))
            return f"No order makes more than {few} to {many}, by the start"
        formula = "$(R/\\gamma)^2$ = " if plain.from_zero and not plain.update_margin else ""
        return f"No order makes more than {formula}{rounded_up(plain.bound)}"

    def _draw_row(self, ax: Axes, values: np.ndarray, y: float) -> None:
        found, counts = np.unique(values, return_counts=True)
        points = np.column_stack([found, np.full(len(found), y)])
        sizes = _LARGEST * counts / len(values)
        scatter_one(ax, points, color=class_colours(2)[0], alpha=0.75, zorder=2.5, s=sizes)
        median = float(np.median(values))
        ax.plot([median, median], [y - 0.38, y + 0.38], color=ink(), lw=2.0, zorder=3)

    def legend_handles(self) -> list[Any]:
        """The handles of a legend of the picture's signs."""
        run: dict[str, Any] = {"marker": "o", "ls": "none", "color": class_colours(2)[0]}
        handles = [
            Line2D([], [], markersize=8, label="runs, by area", **run),
            Line2D([], [], color=ink(), lw=2.0, label="median"),
        ]
        if self.bounds_:
            handles.append(Line2D([], [], color=muted(), ls="--", lw=1.4, label="the bound"))
        return handles
