"""Fits along a path of strengths: how they do on held-out rows, and how their weights grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from separatrix.data.validation import check_choice
from separatrix.models.path import Path
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import column_names
from separatrix.plots.points import one_axes, write_title
from separatrix.plots.style import class_colours, line_dashes, muted, plain

_MOST = 8
_LABELS = {"C": "$C$", "lam": "$\\lambda$", "alpha": "$\\alpha$", "shrinkage": "shrinkage"}


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    r"""Scores on held-out rows, or weights, over the strength.

    The strength is on a scale of powers of ten (shrinkage, which ends at zero, is not), the weaker
    penalty always to the right.  Scores are means over the folds, in a band of one standard error;
    a vertical line stands at the best, a dashed one at the strongest penalty within one standard
    error of it.  Only the weights that are largest at the weakest penalty have names; the others
    are drawn without.

    Parameters
    ----------
    path : Path
    show : {"scores", "weights"}
    names : list of str
        The names of the columns.
    k : int
        The class whose weights are shown.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D
        The mean score, or the weights that have names, the largest first.
    band_ : PolyCollection or None
    choices_ : list of Line2D
        For scores, the lines at the best strength and, if it differs, at the one within one
        standard error.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, 7.10.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import PathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegression(tol=1e-4).path(scale(X), y, [0.01, 0.1, 1, 10], cv=5)
    >>> display = PathDisplay.from_path(path)
    >>> display.ax_.get_ylabel(), [float(line.get_xdata()[0]) for line in display.choices_]
    ('accuracy on held-out rows', [1.0])
    """

    path: Path
    show: str
    names: list[str]
    k: int = 0

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        show: str | None = None,
        feature_names: Any = None,
        class_index: int = 0,
        ax: Axes | None = None,
    ) -> PathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : Path
        show : {"scores", "weights"}, optional
            What to draw; by default ``"scores"`` where the path has them.
        feature_names : sequence of str, optional
            The names of the columns; by default those that the models were fitted with, or numbers.
        class_index : int, default=0
            The row of ``coef_`` that is shown, for more than two classes.
        ax : Axes, optional

        Returns
        -------
        PathDisplay

        Raises
        ------
        TypeError
            For something that is no path.
        ValueError
            For scores of a path without folds, or weights of models that have none.
        """
        if not isinstance(path, Path):
            raise TypeError(
                f"{type(path).__name__} is not a path; the method path() of a model returns one."
            )
        if show is None:
            show = "weights" if path.scores is None else "scores"
        check_choice("show", show, ["scores", "weights"])
        if show == "scores" and path.scores is None:
            raise ValueError("this path has no scores on held-out rows; call path() with cv.")
        names: list[str] = []
        if show == "weights":
            if path.n_nonzero is None:
                raise ValueError("these models have no weights of columns to draw.")
            count = path.coefs.shape[2]
            if feature_names is None:
                feature_names = getattr(path[0], "feature_names_in_", None)
            names = column_names(feature_names, count)
            if len(names) != count:
                raise ValueError(f"feature_names has {len(names)} names for {count} columns.")
            if not 0 <= class_index < path.coefs.shape[1]:
                raise ValueError(
                    f"class_index={class_index!r} is not one of the {path.coefs.shape[1]} rows of "
                    "coef_."
                )
        return cls(path=path, show=show, names=names, k=class_index).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> PathDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        self
        """
        self._begin(one_axes(ax, figsize=(6.4, 4.4)))
        self.band_: PolyCollection | None = None
        self.choices_: list[Line2D] = []
        order = np.argsort(self.path.values)
        values = self.path.values[order]
        draw = self._scores if self.show == "scores" else self._weights
        draw(self.ax_, values, order)
        if np.all(values > 0.0) and self.path.parameter != "shrinkage":
            self.ax_.set_xscale("log")
        if self.path.parameter != "C":
            # The weaker penalty to the right, as for C.
            self.ax_.invert_xaxis()
        self.ax_.set_xlabel(_LABELS[self.path.parameter])
        return self

    def _scores(self, ax: Axes, values: np.ndarray, order: np.ndarray) -> None:
        path, colour = self.path, class_colours(2)[0]
        assert path.scores is not None
        mean, error = path.mean_scores[order], path.standard_errors[order]
        self.lines_ = ax.plot(values, mean, "o-", color=colour, lw=1.8, ms=4, label="mean")
        if np.any(np.isfinite(error)):
            tint: Looks = {"color": colour, "alpha": 0.2, "lw": 0}
            label = "one standard error"
            self.band_ = ax.fill_between(values, mean - error, mean + error, label=label, **tint)
        best, simple = path.best_index, path.one_standard_error_index
        chosen: list[tuple[int, Any, str]] = [(best, "-", "best")]
        if simple != best:
            chosen.append((simple, (0, (5, 2)), "within one standard error"))
        for index, dashes, what in chosen:
            value = path.values[index]
            line = ax.axvline(value, color=muted(), lw=1.2, ls=dashes, zorder=0)
            line.set_label(f"{what}: {value:.3g}")
            self.choices_.append(line)
        ax.set_ylabel(f"{plain(path.scoring)} on held-out rows")
        write_title(ax, f"Cross-validation, {len(path.scores)} folds")
        ax.legend(loc="best")

    def _weights(self, ax: Axes, values: np.ndarray, order: np.ndarray) -> None:
        weights = self.path.coefs[order, self.k]
        end = -1 if self.path.parameter == "C" else 0
        rank = np.argsort(-np.abs(weights[end]), kind="stable")
        named, rest = rank[:_MOST], rank[_MOST:]
        if len(rest):
            ax.plot(values, weights[:, rest], color=muted(), lw=0.6, alpha=0.35, zorder=1)
        self.lines_ = []
        looks = zip(class_colours(max(len(named), 2)), line_dashes(len(named)), strict=False)
        for j, (colour, dashes) in zip(named, looks, strict=True):
            label = plain(self.names[j], 24)
            self.lines_ += ax.plot(
                values, weights[:, j], color=colour, ls=dashes, lw=1.8, label=label
            )
        ax.axhline(0.0, color=muted(), lw=0.8, zorder=0)
        ax.set_ylabel("weight")
        which = f", the largest {len(named)} of {len(rank):,} named" if len(rest) else ""
        write_title(ax, f"Weights along the path{which}")
        ax.legend(loc="best", fontsize="x-small")
