"""Polynomials as pictures: one curve with its residuals, or many degrees side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from separatrix.data.splitting import held_out_rows
from separatrix.data.validation import check_number
from separatrix.models.polynomial import DegreeCurve, PolynomialRegression
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import (
    axis_label,
    dense,
    labelled_rows,
    quietly,
    r2_text,
    r_squared,
    target_label,
)
from separatrix.plots.points import MANY, SPARSE, axes_row, padded, scatter_one, write_title
from separatrix.plots.style import class_colours, ink, muted, paper

# Points at which a curve is evaluated: more than a panel has pixels.
_FINE = 601
# Panels in a row at most.
_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class FittedCurve:
    """One fit, ready to draw.

    Attributes
    ----------
    title : str
    x : ndarray of shape (n,)
        The horizontal coordinates: the feature, or the fitted values where there are several.
    fitted : ndarray of shape (n,)
    residuals : ndarray of shape (n,)
    curve : ndarray of shape (m, 2)
        The fitted curve over the range of the data; the diagonal where there are several features.
    """

    title: str
    x: np.ndarray
    fitted: np.ndarray
    residuals: np.ndarray
    curve: np.ndarray


@dataclass(kw_only=True, eq=False, repr=False)
class PolynomialDisplay(Display):
    """Polynomial regression: curves, residuals, and the errors by degree.

    With one feature the picture shows the curve over the range of the data and no further; with
    several, the observed against the fitted values, where the diagonal is the perfect fit.  Limits
    are those of the data, so that a wild curve leaves the panel instead of flattening it;
    residuals beyond a panel are marked by triangles on its edge.

    Parameters
    ----------
    y : ndarray of shape (n,)
    curves : sequence of FittedCurve
    x_label, y_label : str
        The labels of the axes, ready to draw.
    several : bool, default=False
        Whether the points are drawn against fitted values.
    held_out : ndarray of bool of shape (n,), optional
        Rows that no curve was fitted to.
    errors : DegreeCurve, optional
        The errors by degree, drawn in a last panel.

    Attributes
    ----------
    axes_ : ndarray of Axes
        The axes of the curves, then of their residuals, then of the errors, where those are drawn.
    ax_ : Axes
        The first of the axes.
    figure_ : Figure
    curves_ : list of Line2D
    points_ : list of PathCollection
        Rows that were fitted, by panel.
    residuals_ : list of PathCollection
        The residuals of the rows that were fitted, by panel.
    training_line_, validation_line_ : Line2D or None
    best_ : Line2D or None
        The mark at the smallest validation error.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.plots import PolynomialDisplay
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 1, 30))
    >>> y = np.sin(2 * np.pi * x) + 0.2 * rng.standard_normal(30)
    >>> display = PolynomialDisplay.from_degrees(x[:, None], y, [1, 3, 7])
    >>> display.errors.degrees, display.errors.best_degree
    ((1, 2, 3, 4, 5, 6, 7), 3)
    >>> len(display.axes_)
    7
    """

    y: np.ndarray
    curves: Sequence[FittedCurve]
    x_label: str
    y_label: str
    several: bool = False
    held_out: np.ndarray | None = None
    errors: DegreeCurve | None = None

    # --- from models and data -----------------------------------------------------------------

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> PolynomialDisplay:
        """Draw a fitted curve over its data, and the residuals below.

        Parameters
        ----------
        model : estimator
            :class:`~separatrix.PolynomialRegression`, or any fitted regressor.
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        ax : array-like of two Axes, optional
            Axes for the curve and for the residuals.

        Returns
        -------
        PolynomialDisplay

        Raises
        ------
        TypeError
            For a classifier.
        ValueError
            For more than one target.
        """
        check_is_fitted(model)
        if is_classifier(model):
            raise TypeError(
                f"{type(model).__name__} is a classifier, which has no curve to draw; "
                "DecisionDisplay draws its boundary."
            )
        matrix, numbers, names = labelled_rows(model, X, y, regression=True)
        fitted = np.asarray(model.predict(X), dtype=np.float64).reshape(numbers.shape)
        title = r2_text(r_squared(numbers, fitted))
        degree = getattr(model, "degree", None)
        if isinstance(degree, (int, np.integer)):
            title = f"degree {degree},  {title}" if title else f"degree {degree}"
        curve = _curve(model, matrix, numbers, fitted, title)
        return cls._of(matrix, numbers, names, target_label(y), [curve]).plot(ax)

    @classmethod
    def _of(
        cls, matrix: Any, y: np.ndarray, names: Any, y_label: str, curves: Any, **more: Any
    ) -> PolynomialDisplay:
        labels: dict[str, Any] = {"x_label": axis_label(matrix, names), "y_label": y_label}
        return cls(y=y, curves=tuple(curves), several=matrix.shape[1] > 1, **labels, **more)

    @classmethod
    def from_degrees(
        cls,
        X: Any,
        y: Any,
        degrees: Iterable[int] = (1, 3, 9),
        *,
        validation: Any = 0.3,
        interactions: bool = True,
        lam: float = 0.0,
        random_state: Any = 0,
        ax: Any = None,
    ) -> PolynomialDisplay:
        """Fit polynomials of several degrees and draw them side by side, with their errors.

        Rows are held out as by :meth:`separatrix.PolynomialRegression.degree_curve`, which also
        gives the errors of the last panel, for every degree from the lowest to the highest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        degrees : iterable of int, default=(1, 3, 9)
            One panel each.
        validation : float, default=0.3
            Share of the rows to hold out, drawn at random.
        interactions : bool, default=True
        lam : float, default=0.0
        random_state : int, RandomState or None, default=0
            The generator, or its seed, for the draw.
            None is a fixed stream: the same call on the same data gives the same bits.
        ax : array-like of Axes, optional
            Axes for the curves of all degrees, then for the residuals of all, then one for the
            errors.

        Returns
        -------
        PolynomialDisplay

        Raises
        ------
        TypeError
            If ``degrees`` is not a list, or ``validation`` not a number.
        ValueError
            For bad parameters or data, or no rows on one of the sides.

        Warns
        -----
        DegreeWarning
            If a degree exceeds what the training rows bear.
        """
        if not isinstance(degrees, Iterable):
            raise TypeError(f"degrees={degrees!r} must be a list of degrees, such as [1, 3, 9].")
        degrees = list(degrees)
        if not degrees:
            raise ValueError("degrees is empty; give at least one degree.")
        for degree in degrees:
            check_number("a degree", degree, minimum=0, integer=True)
        degrees = sorted({int(degree) for degree in degrees})
        if not isinstance(validation, Real):
            raise TypeError(
                "validation must be the share of rows to hold out, such as 0.3; it is a "
                f"{type(validation).__name__}."
            )
        matrix, numbers, names = labelled_rows(None, X, y, regression=True)
        own, out = held_out_rows(len(numbers), validation, random_state)
        terms: dict[str, Any] = {"interactions": interactions, "lam": lam}
        every, held = range(degrees[0], degrees[-1] + 1), (matrix[out], numbers[out])
        errors = PolynomialRegression.degree_curve(
            matrix[own], numbers[own], every, validation=held, **terms
        )
        curves = []
        for degree in degrees:
            model = PolynomialRegression(degree, **terms)
            with warnings.catch_warnings():
                # The curve of errors shows it, once for all degrees.
                warnings.simplefilter("ignore")
                model.fit(matrix[own], numbers[own])
            curves.append(_curve(model, matrix, numbers, model.predict(matrix), f"degree {degree}"))
        held_out = np.zeros(len(numbers), dtype=bool)
        held_out[out] = True
        panels = {"held_out": held_out, "errors": errors}
        return cls._of(matrix, numbers, names, target_label(y), curves, **panels).plot(ax)

    # --- drawing ------------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> PolynomialDisplay:
        """Draw.

        Parameters
        ----------
        ax : array-like of Axes, optional
            One for each curve, one for the residuals of each, and one for the errors.

        Returns
        -------
        PolynomialDisplay
        """
        k = len(self.curves)
        panels = k + (self.errors is not None)
        columns = min(panels, _COLUMNS if panels != 5 else 3)
        axes = self._new_axes(panels, columns) if ax is None else axes_row(ax, k + panels)
        for first in range(0, k, columns if ax is None else k):
            axes[first].set_ylabel(f"observed {self.y_label}" if self.several else self.y_label)
            axes[k + first].set_ylabel("residual")
        # Axes of its own are wide enough, whatever they measure before they are laid out.
        self._write: Any = Axes.set_title if ax is None else write_title
        self._begin(axes)
        self.curves_: list[Any] = []
        self.points_: list[Any] = []
        self.residuals_: list[Any] = []
        self.training_line_: Line2D | None = None
        self.validation_line_: Line2D | None = None
        self.best_: Line2D | None = None
        reach = self._reach()
        for above, below, curve in zip(axes[:k], axes[k : 2 * k], self.curves, strict=True):
            self._plot_curve(above, curve)
            self._plot_residuals(below, curve, reach)
        if self.errors is not None:
            self._plot_errors(axes[2 * k], self.errors)
        return self

    def _new_axes(self, panels: int, columns: int) -> np.ndarray:
        """Each curve above its residuals, in rows of panels of one size."""
        k, rows = len(self.curves), -(-panels // columns)
        # No wider than a page, so that its text can be read there.
        width = 5.6 if panels == 1 else min(3.3 * columns, 10.0)
        size = (width, (4.6 if panels == 1 else 3.9) * rows)
        figure = plt.figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(2 * rows, columns, height_ratios=[3, 1] * rows)
        above: list[Axes] = []
        below: list[Axes] = []
        for place in range(k):
            row, column = 2 * (place // columns), place % columns
            first = above[0] if above and not self.several else None
            above.append(figure.add_subplot(grid[row, column], sharex=first, sharey=first))
            level = below[0] if below else None
            below.append(figure.add_subplot(grid[row + 1, column], sharex=above[-1], sharey=level))
            above[-1].tick_params(labelbottom=False, labelleft=self.several or not column)
            below[-1].tick_params(labelleft=not column)
        last = []
        if self.errors is not None:
            row = 2 * (k // columns)
            last = [figure.add_subplot(grid[row : row + 2, k % columns])]
        return np.array([*above, *below, *last], dtype=object)

    def _reach(self) -> float:
        """The largest residual within the panels, the same for all."""
        own = slice(None) if self.held_out is None else ~self.held_out
        largest = max(float(np.abs(c.residuals[own]).max()) for c in self.curves)
        spread = float(np.ptp(self.y))
        # The residuals of an exact fit are rounding, which is nothing to look at.
        return 1.15 * largest if largest > 1e-9 * spread else 0.05 * spread or 1.0

    def _sides(self) -> list[tuple[np.ndarray, dict[str, Any]]]:
        """Rows fitted and rows held out, each with its looks, which the last panel names."""
        n = len(self.y)
        if self.held_out is None:
            return [(np.ones(n, dtype=bool), {"n": n})]
        width = 1.2 if n <= SPARSE else 0.6
        hollow = {"n": n, "marker": "s", "facecolors": "none", "linewidths": width}
        hollow["edgecolors"] = class_colours(2)[1]
        return [(~self.held_out, {"n": n}), (self.held_out, hollow)]

    def _plot_curve(self, ax: Axes, curve: FittedCurve) -> None:
        above = 2.5 if len(self.y) <= SPARSE else 4.0
        self.curves_ += ax.plot(*curve.curve.T, color=ink(), lw=1.8, zorder=above)
        for place, (rows, looks) in enumerate(self._sides()):
            points = scatter_one(ax, np.column_stack([curve.x, self.y])[rows], **looks)
            if place == 0:
                self.points_.append(points)
        sides = padded(curve.x.min(), curve.x.max(), 0.04, 0.5)
        ax.set(xlim=sides, ylim=padded(self.y.min(), self.y.max(), 0.12, 0.5))
        self._write(ax, curve.title)

    def _plot_residuals(self, ax: Axes, curve: FittedCurve, reach: float) -> None:
        ax.axhline(0.0, color=ink(), lw=1.0, zorder=2)
        for place, (rows, looks) in enumerate(self._sides()):
            x, r = curve.x[rows], curve.residuals[rows]
            if len(self.y) <= MANY:
                ax.vlines(x, 0.0, np.clip(r, -reach, reach), color=muted(), lw=0.6, alpha=0.7)
            points = scatter_one(ax, np.column_stack([x, r])[np.abs(r) <= reach], **looks)
            if place == 0:
                self.residuals_.append(points)
            for beyond, marker, edge in ((r > reach, "^", reach), (r < -reach, "v", -reach)):
                if beyond.any():
                    places = np.column_stack([x[beyond], np.full(beyond.sum(), 0.98 * edge)])
                    scatter_one(ax, places, **{**looks, "marker": marker})
        ax.set(ylim=(-1.08 * reach, 1.08 * reach), xlabel=self.x_label)

    def _plot_errors(self, ax: Axes, errors: DegreeCurve) -> None:
        degrees, best = np.array(errors.degrees), errors.degrees.index(errors.best_degree)
        # Zero has no place on a logarithmic axis; there is a gap then.
        training, validation = (
            np.where(v > 0.0, v, np.nan) for v in (errors.training_mse, errors.validation_mse)
        )
        blue, orange = class_colours(2)
        own: Looks = {"color": blue, "label": "training rows"}
        other: Looks = {"color": orange, "label": "rows held out", "mfc": paper()}
        (self.training_line_,) = ax.plot(degrees, training, "o-", ms=4.5, lw=1.4, **own)
        (self.validation_line_,) = ax.plot(degrees, validation, "s--", ms=4.5, lw=1.4, **other)
        known = np.concatenate([training, validation])
        known = known[np.isfinite(known)]
        if len(known) and np.isfinite(validation[best]):
            # Errors of wild curves may leave the panel; those that decide do not.
            ceiling = 30.0 * max(float(np.nanmax(training, initial=0.0)), float(validation[best]))
            top, bottom = min(float(known.max()), ceiling), float(known.min())
            # Training errors of an interpolation are next to nothing; the smallest error counts.
            bottom = max(bottom, 1e-6 * min(top, float(validation[best])))
            if top > 8.0 * bottom:
                _logarithmic(ax, bottom, top)
            else:
                # Room for the legend above.
                span = top - bottom or top
                ax.set_ylim(bottom - 0.12 * span, top + 0.35 * span)
            ring: Looks = {"mfc": "none", "mec": ink(), "ms": 12, "mew": 1.4}
            (self.best_,) = ax.plot(degrees[best], validation[best], "o", **ring)
            ax.axvline(degrees[best], color=muted(), lw=0.9, ls=(0, (2, 3)), zorder=1)
        self._write(ax, f"best degree on held-out rows: {errors.best_degree}")
        ax.set_xticks(degrees[:: max(1, math.ceil(len(degrees) / 10))])
        side = 0.06 * np.ptp(degrees) + 0.25
        ends = (degrees[0] - side, degrees[-1] + side)
        ax.set(xlim=ends, xlabel="degree", ylabel="mean squared error")
        ax.legend(loc="best")


def _logarithmic(ax: Axes, bottom: float, top: float) -> None:
    """A logarithmic axis with numbers that are read at a glance."""
    ax.set_yscale("log")
    pad = 1.05 * (top / bottom) ** 0.08
    # The legend needs the room above.
    ax.set_ylim(bottom / pad, top * pad * (top / bottom) ** 0.2)
    few = top < 300.0 * bottom
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _curve(model: Any, matrix: Any, y: np.ndarray, fitted: np.ndarray, title: str) -> FittedCurve:
    if matrix.shape[1] > 1:
        ends = np.array([min(fitted.min(), y.min()), max(fitted.max(), y.max())])
        return FittedCurve(title, fitted, fitted, y - fitted, np.column_stack([ends, ends]))
    x = dense(matrix)[:, 0]
    grid = np.linspace(x.min(), x.max(), _FINE)
    curve = np.asarray(quietly(model.predict, grid[:, None]), dtype=np.float64)
    curve = np.column_stack([grid, curve.reshape(grid.shape)])
    return FittedCurve(title, x, fitted, y - fitted, curve)
