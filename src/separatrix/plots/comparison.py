"""Several models on the same folds: how far each is behind the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D

from separatrix.assessment.comparison import Comparison
from separatrix.plots.display import Display
from separatrix.plots.points import one_axes, write_title
from separatrix.plots.style import class_colours, ink, muted, plain_all


@dataclass(kw_only=True, eq=False, repr=False)
class ComparisonDisplay(Display):
    """The distances of models from the best one, with 95 % intervals of the differences.

    A line a model, the best on top; hollow marks are of models whose interval reaches zero, which
    chance alone may have put behind.  Beside each name stands its score.  A yardstick is the last
    line, a diamond.

    Parameters
    ----------
    comparison : Comparison

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    intervals_ : list of ErrorbarContainer
        One for each model that is not the best and has scores, from the top.
    zero_ : Line2D

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from separatrix import compare
    >>> from separatrix.plots import ComparisonDisplay
    >>> found = compare(*load_wine(return_X_y=True), ["lda", "stump", "constant"])
    >>> display = ComparisonDisplay.from_comparison(found)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['lda  0.977', 'stump  0.668', 'constant  0.399']
    """

    comparison: Comparison

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ax: Axes | None = None
    ) -> ComparisonDisplay:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
            A result of :func:`separatrix.compare`.
        ax : Axes, optional

        Returns
        -------
        ComparisonDisplay

        Raises
        ------
        ValueError
            If no model has scores.
        """
        if comparison.best.why:
            raise ValueError(f"no model could be scored; {comparison.remarks()[0]}.")
        return cls(comparison=comparison).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ComparisonDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        self
        """
        beside = self.comparison.yardstick
        compared = [*self.comparison.contenders, *([] if beside is None else [beside])]
        shown = [one for one in compared if not one.why]
        self._begin(one_axes(ax, figsize=(6.4, 1.4 + 0.36 * len(shown))))
        self.zero_: Line2D = self.ax_.axvline(0.0, color=muted(), lw=1.0)
        colour = class_colours(2)[0]
        self.intervals_: list[ErrorbarContainer] = []
        for place, one in enumerate(shown):
            found = self.comparison.behind(one)
            assert found is not None
            mean, low, high = found
            if one is self.comparison.best:
                self.ax_.plot([0.0], [place], "o", color=colour, ms=7)
                continue
            ends = np.array([[mean - low], [high - mean]])
            face: Any = "none" if self.comparison.noise(one) else ink()
            self.intervals_.append(
                self.ax_.errorbar(
                    *([mean], [place]),
                    xerr=np.where(np.isfinite(ends), ends, 0.0),
                    fmt="D" if one is beside else "o",
                    color=ink(),
                    mfc=face,
                    capsize=3,
                    lw=1.4,
                )
            )
        names = plain_all([one.name for one in shown], 30)
        labels = [f"{name}  {one.score:.3f}" for name, one in zip(names, shown, strict=True)]
        if beside is not None and shown[-1] is beside:
            labels[-1] += "\nnot linear"
        self.ax_.set_yticks(range(len(shown)), labels)
        self.ax_.set_ylim(len(shown) - 0.5, -0.5)
        self.ax_.grid(visible=False, axis="y")
        self.ax_.set_xlabel(f"difference of {self.comparison.scoring} to the best, 95 % interval")
        write_title(self.ax_, f"{len(shown)} models on the same {self.comparison.n_folds} folds")
        return self
