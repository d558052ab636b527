"""Paths of descent over the level sets of what they minimise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from separatrix.messages import counted
from separatrix.plots.display import Animated, Display
from separatrix.plots.fitted import column_names, last_step, recorded_iterates, two_columns
from separatrix.plots.objective_levels import objective_levels
from separatrix.plots.points import draw_lines, set_limits, write_title
from separatrix.plots.style import class_colours, class_markers, ink, muted, plain

# A path may lead this many times as far from the minimum as the farthest start is.
_REACH = 4.0
# Iterates of a path that are marked one by one.
_FEW = 60
# Cells along a side of the grid on which the objective is evaluated.
_CELLS = 64
# The shorter side of the picture is at least this share of the longer.
_SLIM = 0.6
# Objectives whose values at one point differ by a larger share are different ones.
_SAME = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class DescentDisplay(Animated, Display):
    """Iterates of fits over the level sets of their objective, for two of its weights.

    Schedules, batch and single steps, or solvers are compared on one objective: each path has a
    mark for every recorded iterate, which for stochastic gradients is one a pass. Level sets are
    closer together near the minimum; all weights but the two are held at the minimum, where the
    paths need not have been. One unit is as long to the right as up, so that gradients are
    perpendicular to level sets.

    Parameters
    ----------
    paths : dict of ndarray of shape (n_iterates, 2)
        The iterates of each fit, by its name.
    best : ndarray of shape (2,)
        The certified answer, or without one the answer with the lowest objective.
    certified : bool
        Whether ``best`` is certified as the minimum.
    problem : Objective
    point : ndarray of shape (p,)
        All weights of the best answer, with the intercept last if there is one.
    pair : (int, int)
        The positions of the two weights.
    names : (str, str)
        The names of the two weights.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : dict of Line2D
        The paths.
    extent : tuple of float
        The part of the plane that is shown.
    contours : list of (float, list of ndarray)
        The values of the level sets, and their polylines.
    minimum_ : Line2D
        The mark of the best answer.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LogisticRegression, SGDClassifier
    >>> from separatrix.plots import DescentDisplay
    >>> X, y = [[-1.0, 2.0], [-1.0, -1.0], [2.0, -1.0], [1.0, 1.5]], [-1, -1, 1, 1]
    >>> same = {"fit_intercept": False, "record": True}
    >>> newton = LogisticRegression(C=0.5, **same).fit(X, y)
    >>> steps = SGDClassifier("log_loss", alpha=0.5, learning_rate="constant", eta0=0.3, **same)
    >>> display = DescentDisplay.from_estimators({"Newton": newton, "SGD": steps.fit(X, y)}, X, y)
    >>> bool(np.allclose(display.best, newton.coef_))
    True
    """

    paths: Mapping[str, np.ndarray]
    best: np.ndarray
    certified: bool
    problem: Any
    point: np.ndarray
    pair: tuple[int, int]
    names: tuple[str, str]
    # Inches.
    frame_size = 6.4, 5.6

    @classmethod
    def from_estimators(
        cls,
        models: Any,
        X: Any,
        y: Any,
        *,
        weights: Sequence[int | str] | None = None,
        ax: Axes | None = None,
    ) -> DescentDisplay:
        """Draw the recorded iterates of fits to the same data.

        Parameters
        ----------
        models : estimator or dict of estimator
            Linear models of this library, fitted with ``record=True`` to two classes or one
            target, which minimise the same objective; by names of your own. One that is certified
            shows where the minimum is.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,)
        weights : sequence of two, optional
            The two weights: columns by name or position, or ``"intercept"``. By default the first
            two columns, or the only one and the intercept.
        ax : Axes, optional

        Returns
        -------
        DescentDisplay

        Raises
        ------
        TypeError
            For models that are not linear, or not of this library.
        ValueError
            If nothing was recorded, the objectives are not the same, there are several classes or
            targets, or ``weights`` names no two weights.
        """
        if not isinstance(models, Mapping):
            models = {type(last_step(models)).__name__: models}
        if not models:
            raise ValueError("models is empty; name at least one fit.")
        fits = {str(name): recorded_iterates(model, X, y) for name, model in models.items()}
        best, problem, *_ = min(
            fits.values(), key=lambda one: (not one[0].certificate_.ok, one[0].certificate_.primal)
        )
        point = problem.join(np.ravel(best.coef_), np.ravel(best.intercept_)[0])
        value = problem.value(problem.to_internal(point))
        for name, (_, other, *_) in fits.items():
            if other.shape != problem.shape or not np.isclose(
                other.value(other.to_internal(point)), value, rtol=_SAME
            ):
                raise ValueError(
                    f"The fit {name!r} minimises another objective than the others; compare fits "
                    "with the same loss, penalty and intercept (C = 1 / (alpha n))."
                )
        columns = column_names(getattr(best, "feature_names_in_", None), problem.design.n_features)
        if weights is None:
            weights = (0, 1) if len(columns) > 1 else (0, "intercept")
        known = [*columns, "intercept"] if problem.fit_intercept else columns
        pair = two_columns(weights, known, "weights", "weight")
        called = [f"weight of {name}" for name in columns] + ["intercept"]
        return cls(
            paths={name: iterates[:, pair] for name, (*_, iterates) in fits.items()},
            best=point[list(pair)],
            certified=best.certificate_.ok,
            problem=problem,
            point=point,
            pair=pair,
            names=(called[pair[0]], called[pair[1]]),
        ).plot(ax=ax)

    def __post_init__(self) -> None:
        self.extent = self._extent()
        self.contours = objective_levels(self.objective, self.best, self.extent, _CELLS)

    def objective(self, places: np.ndarray) -> np.ndarray:
        """The objective where the two weights are those of some places, shape (k, 2)."""
        thetas = np.tile(self.point, (len(places), 1))
        thetas[:, self.pair] = places
        values = [self.problem.value(self.problem.to_internal(theta)) for theta in thetas]
        return np.nan_to_num(values, nan=np.inf)

    @property
    def n_frames(self) -> int:
        """The frames of an animation: one for each iterate of the longest path."""
        return max(len(path) for path in self.paths.values())

    def _extent(self) -> tuple[float, float, float, float]:
        """The part of the plane that is shown: the paths, unless they lead too far off."""
        starts = np.array([path[0] for path in self.paths.values()])
        far = _REACH * float(np.max(np.abs(starts - self.best), initial=0.0))
        shown = np.concatenate([self.best[None], *self.paths.values()])
        away = np.max(np.abs(shown - self.best), axis=1)
        # Paths that begin at the minimum have their own length.
        shown = shown[away <= (far or np.inf)]
        low, high = shown.min(axis=0), shown.max(axis=0)
        longest = float((high - low).max()) or 1.0
        half = 0.575 * np.maximum(high - low, _SLIM * longest)
        (left, bottom), (right, top) = (low + high) / 2 - half, (low + high) / 2 + half
        return float(left), float(right), float(bottom), float(top)

    def legend_handles(self) -> list[Any]:
        """The paths and the minimum, for a legend."""
        return [*self.lines_.values(), self.minimum_]

    def _draw_step(self, k: int, ax: Axes) -> None:
        """The paths up to iterate ``k``; shorter ones stay at their ends."""
        self._begin(ax)
        left, right, bottom, top = self.extent
        for _, lines in self.contours:
            draw_lines(ax, lines, 0.8, colors=muted(), alpha=0.6, zorder=1.5)
        set_limits(ax, (left, bottom), (right, top), equal=True)
        n = max(len(self.paths), 2)
        looks = zip(class_colours(n), class_markers(n), strict=True)
        self.lines_: dict[str, Line2D] = {}
        for (name, path), (colour, marker) in zip(self.paths.items(), looks, strict=False):
            style: dict[str, Any] = {"color": colour, "lw": 1.3, "markersize": 4, "zorder": 3}
            style["marker"] = marker if len(path) <= _FEW else ""
            shown = path[: k + 1].T
            (self.lines_[name],) = ax.plot(*shown, label=plain(name, 28), **style)
        label = "minimum" if self.certified else "best of these fits"
        mark: dict[str, Any] = {"marker": "*", "markersize": 13, "ls": "none", "zorder": 4}
        (self.minimum_,) = ax.plot(*self.best[:, None], color=ink(), label=label, **mark)
        ax.set(xlabel=plain(self.names[0], 28), ylabel=plain(self.names[1], 28))
        outside = [
            plain(name, 20)
            for name, path in self.paths.items()
            if np.any((path < [left, bottom]) | (path > [right, top]))
        ]
        others = len(self.point) - 2
        title = "The objective over two weights"
        title += f", {counted(others, 'other')} at their best" if others else ""
        title += f"; beyond the picture: {', '.join(outside)}" if outside else ""
        write_title(ax, title)
