"""What every display is: data first, then axes and a figure once it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from separatrix.plots.points import figure_of

__all__ = ["Display", "Looks"]

# How an artist looks, as keywords of matplotlib.
Looks = dict[str, Any]


class Display:
    """The axes and the figure that a display is drawn in, by the names that all displays share.

    Attributes
    ----------
    axes_ : ndarray of Axes
    ax_ : Axes
        One of them, or the only one.
    figure_ : Figure
    """

    axes_: np.ndarray
    ax_: Axes
    figure_: Figure

    def _begin(self, axes: Any, main: int = 0) -> None:
        """Keep the axes that are about to be drawn in."""
        self.axes_ = np.atleast_1d(np.asarray(axes, dtype=object))
        self.ax_ = self.axes_.flat[main]
        self.figure_ = figure_of(self.ax_)
