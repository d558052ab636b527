"""Least squares as pictures: residuals as squares, and the fit as a projection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Arc, Polygon
from matplotlib.transforms import Affine2D
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from separatrix.geometry.hyperplane import Hyperplane
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import (
    as_model,
    axis_label,
    class_codes,
    column_names,
    dense,
    labelled_rows,
    quietly,
    r2_text,
    r_squared,
    target_label,
    two_classes,
)
from separatrix.plots.planar import span_of
from separatrix.plots.points import (
    SPARSE,
    axes_row,
    draw_arrow,
    one_axes,
    padded,
    place_text,
    scatter_classes,
    scatter_one,
    write_title,
)
from separatrix.plots.space import axes_in_space, draw_plane, draw_stems, scatter_about
from separatrix.plots.style import class_colours, ink, muted, number, plain, plain_all
from separatrix.plots.zero_set import curves_in
from separatrix.verification.audit import verify

# More squares than this hide one another; more stems than this make a solid block.
_MOST_SQUARES, _MOST_STEMS = 50, 500
# The deviation from a right angle that a projection may have by rounding, relative to the lengths.
_RIGHT = 1e-6
# A shorter side of the triangle, relative to the targets, is nothing but rounding.
_SMALL = 1e-9


@dataclass(frozen=True)
class RightTriangle:
    r"""The targets, their projection on the span of the columns, and the residual.

    Attributes
    ----------
    total : float
        :math:`|y - \bar y|`, the hypotenuse; :math:`|y|` where the model has no intercept.
    fitted : float
        :math:`|\hat y - \bar y|`, or :math:`|\hat y|`: the side within the space of the columns.
    residual : float
        :math:`|y - \hat y|`, the side at a right angle to ``fitted``.
    cosine : float
        The cosine of the angle between the residual and the fit: 0 but for rounding.
    centred : bool
        Whether means are subtracted.
    words : str
        A statement of how far the residual is from orthogonal to the columns.
    """

    total: float
    fitted: float
    residual: float
    cosine: float
    centred: bool
    words: str

    @property
    def r2(self) -> float:
        """The square of the cosine of the angle between targets and fit."""
        return (self.fitted / self.total) ** 2


class _Squares(PolyCollection):
    """Squares that stand on vertical segments, as wide on the screen as they are high.

    The number of units of x that are as long as one of y is known only when it is drawn.
    """

    def __init__(self, ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, side: np.ndarray,
                 **kwargs: Any) -> None:  # fmt: skip
        self._shape = x, low, high, side
        self._home = ax
        super().__init__([], **kwargs)
        # The layout needs extents before anything is drawn.
        self.set_in_layout(False)

    def fit_screen(self) -> None:
        """Give the squares the width that they need on the axes as they are now."""
        x, low, high, side = self._shape
        width = side * (high - low) * units_per_unit(self._home)
        corners = np.stack([x, low, x, high, x + width, high, x + width, low], axis=1)
        self.set_verts(list(corners.reshape(len(x), 4, 2)))

    def draw(self, renderer: Any) -> None:
        self.fit_screen()
        super().draw(renderer)


def units_per_unit(ax: Axes) -> float:
    """The number of units of x that are as long on the screen as one unit of y."""
    box, view = ax.bbox, ax.viewLim
    return float((view.width / box.width) * (box.height / view.height))


@dataclass(kw_only=True, eq=False, repr=False)
class LeastSquaresDisplay(Display):
    r"""Least squares: residuals as squares whose sum is smallest, and the projection.

    With one feature the picture shows the line through the points; with several, the observed
    against the fitted values, where the line is the diagonal, or, with ``surface``, two features
    and the plane above them.  Squares are squares on the screen, with the residual for a side.  The
    second panel, with ``projection``, is the geometry in the space that has one dimension a row:
    the fit is the foot of the perpendicular from the targets on the span of the columns.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The horizontal coordinates: the feature, or the fitted values.
    y : ndarray of shape (n,)
        The observed targets.
    fitted : ndarray of shape (n,)
    line : tuple of float
        Slope and intercept of the line drawn: the fit, or the diagonal.
    x_label, y_label : str
        The labels of the axes, ready to draw.
    r2 : float
        :math:`1 - \sum r_i^2 / \sum (y_i - \bar y)^2`; NaN where the targets do not vary.
    several : bool, default=False
        Whether ``x`` are fitted values.
    codes : ndarray of int of shape (n,), optional
        The classes of the rows of a classifier, in whose colours -1 and +1 are drawn.
    classes : sequence of two labels, optional
    boundary : float, optional
        The place at which the line crosses 0.
    plane : Hyperplane, optional
        The plane in the space of two features and the target, where the picture has three
        dimensions.
    features : ndarray of shape (n, 2), optional
        The two features of the rows, where there is a ``plane``.
    feature_names : list of str, optional
        The names of the two features, ready to draw.
    triangle : RightTriangle, optional

    Attributes
    ----------
    axes_ : ndarray of Axes
    ax_ : Axes
        The first of the axes.
    figure_ : Figure
    points_ : PathCollection, or list of one a class
    line_ : Line2D or None
    plane_ : Poly3DCollection or None
    squares_ : PolyCollection or None
        Drawn for up to 50 rows.
    stems_ : LineCollection, Line3DCollection or None
        Residuals as segments, where squares are not drawn, for up to 500 rows.
    boundary_ : Line2D or None
    triangle_ : Polygon or None
        Its vertices are mean, fit, targets, and its sides the lengths of ``triangle``.

    References
    ----------
    Gauss (1809), Theoria motus.  Strang, *Introduction to Linear Algebra* (2016), section 4.2.

    Examples
    --------
    >>> from separatrix import LinearRegression
    >>> from separatrix.plots import LeastSquaresDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> model = LinearRegression().fit(X, y)
    >>> display = LeastSquaresDisplay.from_estimator(model, X, y, projection=True)
    >>> [round(v, 10) for v in display.line], round(display.r2, 4)
    ([2.2, 0.7], 0.9308)
    >>> triangle = display.triangle
    >>> [round(v**2, 10) for v in (triangle.total, triangle.fitted, triangle.residual)]
    [26.0, 24.2, 1.8]
    """

    x: np.ndarray
    y: np.ndarray
    fitted: np.ndarray
    line: tuple[float, float]
    x_label: str
    y_label: str
    r2: float
    several: bool = False
    codes: np.ndarray | None = None
    classes: Any = None
    boundary: float | None = None
    plane: Hyperplane | None = None
    features: np.ndarray | None = None
    feature_names: list[str] | None = None
    triangle: RightTriangle | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        squares: bool = True,
        projection: bool = False,
        surface: bool = False,
        ax: Any = None,
    ) -> LeastSquaresDisplay:
        """Draw a fitted model on rows.

        Parameters
        ----------
        model : estimator
            :class:`~separatrix.LinearRegression`, :class:`~separatrix.LeastSquaresClassifier` of
            two classes, scikit-learn's ``LinearRegression`` or ``Ridge``; with several features
            any regressor.  Or a :class:`~separatrix.Hyperplane` or a pair ``(w, b)``, which is a
            classifier where `y` has two names, or -1 and +1.
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Numbers, or the labels of a classifier.
        squares : bool, default=True
            Whether to draw residuals as squares; else as segments.
        projection : bool, default=False
            Whether to draw the triangle of targets, fit and residual, in a second panel.  It has
            its right angle for the rows of the fit, and without a penalty.
        surface : bool, default=False
            Whether to draw the plane above two features in three dimensions, with residuals as
            segments.
        ax : Axes, or two of them with ``projection``, optional
            Axes with ``projection="3d"`` for ``surface``.

        Returns
        -------
        LeastSquaresDisplay

        Raises
        ------
        TypeError
            If a model of one feature, or of two with ``surface``, has no slope for each.
        ValueError
            For ``surface`` with other than two features, or with ``projection``; for more than one
            target or more than two classes; or, with ``projection``, where the residual is not
            orthogonal to the fit.
        """
        model = as_model(model, y, numbers=True)
        check_is_fitted(model)
        classes, codes, boundary = None, None, None
        if is_classifier(model):
            matrix, labels, names = labelled_rows(model, X, y)
            classes, codes = _two_classes(model, labels)
            numbers, y_name = np.where(codes == 1, 1.0, -1.0), "target"
            fitted = quietly(model.decision_function, X)
        else:
            matrix, numbers, names = labelled_rows(model, X, y, regression=True)
            fitted, y_name = quietly(model.predict, X), target_label(y)
        fitted = np.asarray(fitted, dtype=np.float64).reshape(numbers.shape)
        several = matrix.shape[1] > 1
        x, line = fitted, (1.0, 0.0)
        plane, features = None, None
        if surface:
            if matrix.shape[1] != 2 or projection:
                raise ValueError(
                    "surface=True draws a plane above two features, in one panel; X has "
                    f"{matrix.shape[1]} columns, and projection is {projection}."
                )
            features, (slopes, level) = dense(matrix), _slopes_of(model, 2)
            plane = Hyperplane(np.append(slopes, -1.0), level)
        elif not several:
            x, (slopes, level) = dense(matrix)[:, 0], _slopes_of(model, 1)
            line = float(slopes[0]), level
        if classes is None and (surface or not several):
            off = float(np.abs(fitted - (matrix @ slopes + level)).max())
            if off > 1e-4 * max(float(np.abs(fitted).max()), 1e-300):
                raise ValueError(
                    f"{type(model).__name__} does not predict a sum of the features times coef_ "
                    "and intercept_, so there is no line or plane to draw."
                )
        if several and codes is None:
            y_name = y_name if surface else f"observed {y_name}"
        elif several:
            boundary = 0.0
        elif codes is not None and line[0] != 0.0:
            boundary = float(Hyperplane(np.array([line[0]]), line[1]).point[0])
        display = cls(
            x=x,
            y=numbers,
            fitted=fitted,
            line=line,
            x_label=axis_label(matrix, names),
            y_label=y_name,
            r2=r_squared(numbers, fitted),
            several=several,
            codes=codes,
            classes=classes,
            boundary=boundary,
            plane=plane,
            features=features,
            feature_names=plain_all(column_names(names, matrix.shape[1])) if surface else None,
            triangle=_triangle(model, X, y, numbers, fitted) if projection else None,
        )
        return display.plot(ax, squares=squares)

    def plot(self, ax: Any = None, *, squares: bool = True) -> LeastSquaresDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, or two of them where there is a triangle, optional
            Axes with ``projection="3d"`` where there is a plane.
        squares : bool, default=True

        Returns
        -------
        LeastSquaresDisplay
        """
        self.triangle_: Polygon | None = None
        self.line_: Line2D | None = None
        self.boundary_: Line2D | None = None
        self.squares_: _Squares | None = None
        self.plane_: Any = None
        self.stems_: Any = None
        self.points_: Any
        if self.plane is not None and self.features is not None:
            self._plot_space(ax, self.plane, self.features)
            return self
        if self.triangle is None:
            self._begin(one_axes(ax, (5.6, 4.4)))
        else:
            self._begin(axes_row(ax, 2, panel=(5.0, 4.2)))
        self._plot_fit(self.ax_, squares)
        if self.triangle is not None:
            self._plot_triangle(self.axes_[1], self.triangle)
        return self

    def _targets(self) -> list[str]:
        """The targets -1, 0 and +1 as ticks."""
        low, high = (plain(label, 16) for label in self.classes)
        return [f"{low}\n−1", "0", f"{high}\n+1"]

    # --- points and a plane -------------------------------------------------------------------

    def _plot_space(self, ax: Any, plane: Hyperplane, features: np.ndarray) -> None:
        points = np.column_stack([features, self.y])
        feet = np.column_stack([features, self.fitted])
        low, high, size = span_of(np.concatenate([points, feet]))
        low, high = low - 0.06 * size, high + 0.06 * size
        ax = axes_in_space(ax, [*(self.feature_names or []), self.y_label])
        self._begin(ax)
        (left, right), (near, far), zlim = zip(low, high, strict=True)
        ax.set(xlim=(left, right), ylim=(near, far), zlim=zlim)
        self.plane_ = draw_plane(ax, plane, low, high)
        codes, classes, tint = self.codes, self.classes, muted()
        if codes is None:
            codes, classes, tint = np.zeros(len(points), dtype=int), ["points"], class_colours(2)[1]
        self.points_ = scatter_about(ax, plane, points, codes, classes, size)
        if len(points) <= _MOST_STEMS:
            self.stems_ = draw_stems(ax, np.stack([points, feet], axis=1), colors=tint)
        if self.codes is not None:
            ax.set_zticks([-1.0, 0.0, 1.0], self._targets())
            ax.tick_params("z", pad=12.0)
            ax.zaxis.labelpad = 20.0
            # Where the plane crosses 0.
            level = Hyperplane(plane.w[:2], plane.b)
            for ends in curves_in(level, (left, right, near, far)):
                (self.boundary_,) = ax.plot(*ends.T, 0.0, color=ink(), ls=(0, (4, 3)), zorder=4.2)
        write_title(ax, self._title())

    # --- points, line, squares ----------------------------------------------------------------

    def _plot_fit(self, ax: Axes, squares: bool) -> None:
        n, (slope, level) = len(self.y), self.line
        squared = squares and n <= _MOST_SQUARES
        self._limits(ax, squared)
        ends = np.array(ax.get_xlim())
        above = 2.5 if n <= SPARSE else 4.0
        (self.line_,) = ax.plot(ends, level + slope * ends, color=ink(), lw=1.8, zorder=above)
        self._plot_residuals(ax, squared)
        where = np.column_stack([self.x, self.y])
        if self.codes is None:
            self.points_ = scatter_one(ax, where)
        else:
            self.points_ = scatter_classes(ax, where, self.codes, self.classes)
        if self.boundary is not None:
            self._plot_boundary(ax, self.boundary)
        elif self.several:
            ax.set_aspect("equal", adjustable="box")
        if self.codes is not None:
            ax.set_yticks([-1.0, 0.0, 1.0], self._targets())
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        write_title(ax, self._title())

    def _plot_residuals(self, ax: Axes, squared: bool) -> None:
        n, r = len(self.y), self.y - self.fitted
        low, high = np.minimum(self.y, self.fitted), np.maximum(self.y, self.fitted)
        tint = muted() if self.codes is not None else class_colours(2)[1]
        if squared:
            # Tints add up where squares overlap.
            faint = min(1.0, (15.0 / n) ** 0.5)
            face, edge = to_rgba(tint, 0.18 * faint), to_rgba(tint, 0.8 * faint)
            looks = {"facecolors": face, "edgecolors": edge, "linewidths": 0.8, "zorder": 2.0}
            self.squares_ = _Squares(ax, self.x, low, high, _sides(r, self.line[0]), **looks)
            ax.add_collection(self.squares_, autolim=False)
            self.squares_.fit_screen()
        elif n <= _MOST_STEMS:
            colour = to_rgba(tint, 0.55)
            self.stems_ = ax.vlines(self.x, low, high, color=colour, lw=0.9, zorder=2.0)

    def _plot_boundary(self, ax: Axes, boundary: float) -> None:
        ax.axhline(0.0, color=muted(), lw=0.8, zorder=1)
        self.boundary_ = ax.axvline(boundary, color=ink(), ls=(0, (4, 3)), lw=1.2, zorder=2)
        places = [(boundary, y) for y in np.linspace(*ax.get_ylim()[::-1], 20)]
        text = f"boundary\nat {number(boundary)}"
        place_text(ax, text, places, ways=[(1, 0), (-1, 0)])

    def _title(self) -> str:
        r = self.y - self.fitted
        what = "squares of the residuals" if self.squares_ is not None else "squared residuals"
        size = float(np.abs(self.y).max()) + float(np.abs(self.fitted).max())
        left = float(r @ r)
        # The residuals of an exact fit are rounding, which is nothing to read.
        total = f"{what}: sum {_number(left if left > len(r) * (1e-14 * size) ** 2 else 0.0)}"
        share = r2_text(self.r2)
        if self.several:
            return f"{share}\n{total}" if share else total
        return (
            rf"$\hat{{y}}$ = {_equation(*self.line, self.x_label)}"
            + f"{share and ',   '}{share}\n{total}"
        )

    def _limits(self, ax: Axes, squared: bool) -> None:
        """Set limits that include the points, the line, and the squares, about in final shape."""
        r, side = self.y - self.fitted, _sides(self.y - self.fitted, self.line[0])
        both = np.concatenate([self.y, self.fitted])
        low, high = padded(both.min(), both.max(), 0.06, 0.5)
        if self.several and self.codes is None:
            if squared:
                reach = self.x + side * np.abs(r)
                low, high = min(low, float(reach.min())), max(high, float(reach.max()))
            ax.set(xlim=(low, high), ylim=(low, high))
            return
        left, right = float(self.x.min()), float(self.x.max())
        width = (right - left) or 1.0
        left, right = left - 0.05 * width, right + 0.05 * width
        ax.set(xlim=(left, right), ylim=(low, high))
        for _ in range(20 if squared else 0):
            # Wider limits make the squares wider in units of x, a little less each time.
            reach = self.x + side * np.abs(r) * units_per_unit(ax)
            a = min(left, float(reach.min()) - 0.01 * width)
            b = max(right, float(reach.max()) + 0.01 * width)
            if b - a > 3.0 * width:
                break
            ax.set_xlim(a, b)

    # --- the triangle -------------------------------------------------------------------------

    def _plot_triangle(self, ax: Axes, t: RightTriangle) -> None:
        # Lengths over the hypotenuse: the triangle fits one and the same frame.
        base, height = t.fitted / t.total, t.residual / t.total
        middle = 0.5 * base
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="box")
        ax.set(xlim=(middle - 0.74, middle + 0.9), ylim=(-0.5, max(0.75, height + 0.1)))
        # The columns' span as a plane seen from the side: only its base line is to scale.
        plane = [(middle - 0.66, -0.24), (middle + 0.5, -0.24), (middle + 0.66, 0.1)]
        plane.append((middle - 0.5, 0.1))
        ax.add_patch(Polygon(plane, facecolor=muted(), alpha=0.14, edgecolor="none", zorder=0))
        corners = np.array([(0.0, 0.0), (base, 0.0), (base, height)])
        shape = Affine2D().scale(1.0 / t.total) + ax.transData
        nothing: Looks = {"facecolor": "none", "edgecolor": "none"}
        self.triangle_ = Polygon(corners * t.total, transform=shape, **nothing)
        ax.add_patch(self.triangle_)
        colours = class_colours(3)
        for a, b, colour in ((0, 1, colours[0]), (1, 2, colours[1]), (0, 2, ink())):
            draw_arrow(ax, corners[a], corners[b], color=colour, lw=2.0, mutation_scale=13)
        corner, slope = 0.05, math.atan2(height, base)
        if min(base, height) > 2 * corner:
            inner = base - corner
            ax.plot([inner, inner, base], [0, corner, corner], color=muted(), lw=1.1)
        radius = 0.5 * min(base, 0.6)
        if base > 0.15:
            arc: Looks = {"theta1": 0, "theta2": math.degrees(slope), "lw": 1.1}
            ax.add_patch(Arc((0, 0), radius, radius, color=muted(), **arc))
        ax.plot(0.0, 0.0, "o", color=ink(), ms=4)
        share = r2_text(t.r2, "" if t.centred else " about 0")
        ax.set_title(rf"$\cos^2\,\theta$ = {share}, angle $\theta$ = {math.degrees(slope):.3g}°")
        self._label_triangle(ax, t, radius)

    @staticmethod
    def _label_triangle(ax: Axes, t: RightTriangle, radius: float) -> None:
        """Write the lengths beside the sides, and the sums of squares below."""
        base, height = t.fitted / t.total, t.residual / t.total
        middle, slope = 0.5 * base, math.atan2(height, base)
        across, up = math.cos(slope), math.sin(slope)
        residual = 0.0 if height < _SMALL else t.residual
        less, origin = (r"-\bar{y}", r"$\bar{y}$") if t.centred else ("", "0")
        sums = [_number(v**2) for v in (t.total, t.fitted, residual)]
        pythagoras = rf"$|y{less}|^2 = |\hat{{y}}{less}|^2 + |r|^2$:  {sums[0]} = "
        below = f"{pythagoras}{sums[1]} + {sums[2]}\n{t.words}"
        small: Looks = {"color": muted(), "fontsize": "small"}
        tilt = {"rotation": math.degrees(slope), "rotation_mode": "anchor"}
        far = radius / 2 + 0.035
        labels: list[tuple[float, float, str, str, dict[str, Any]]] = [
            (middle + 0.47, -0.225, "space of the columns", "right bottom", small),
            (middle, -0.03, rf"$|\hat{{y}}{less}|$ = {_number(t.fitted)}", "center top", {}),
            (base + 0.03, height / 2, f"$|r|$ = {_number(residual)}", "left center", {}),
            (
                middle - 0.02 * up,
                height / 2 + 0.02 * across,
                rf"$|y{less}|$ = {_number(t.total)}",
                "center bottom",
                {**tilt, "transform_rotates_text": True},
            ),
            (-0.03, 0.0, origin, "right center", {}),
            (0.0, 0.0, below, "left bottom", {**small, "transform": ax.transAxes}),
        ]
        if base > 0.15 and slope > 0.3:
            place = far * math.cos(slope / 2), far * math.sin(slope / 2)
            labels.append((*place, r"$\theta$", "center center", {"color": muted()}))
        for x, y, text, aligned, looks in labels:
            ha, va = aligned.split()
            written = ax.text(x, y, text, **{"color": ink(), "ha": ha, "va": va, **looks})
            # Within small axes text is wider than they are, which no layout can mend.
            written.set_in_layout(False)


def _number(value: float) -> str:
    """Four digits, without an exponent where that is readable."""
    return f"{value:,.0f}" if 1e4 <= value < 1e9 else number(value)


def _sides(r: np.ndarray, slope: float) -> np.ndarray:
    """The sides of the squares: +1 to the right, -1 to the left, so that none crosses the line."""
    return np.where(r * slope > 0.0, -1.0, 1.0)


def _equation(slope: float, level: float, x: str) -> str:
    sign = "−" if level < 0 else "+"
    return f"{number(slope)} {x} {sign} {number(abs(level))}"


def _slopes_of(model: Any, n_features: int) -> tuple[np.ndarray, float]:
    """The slopes and the intercept of a model of ``n_features`` features."""
    coef = getattr(model, "coef_", None)
    if coef is None or np.size(coef) != n_features:
        what, drawn = ("one number", "line") if n_features == 1 else ("two numbers", "plane")
        raise TypeError(
            f"{type(model).__name__} has no slope (coef_ with {what}), so there is no {drawn} to "
            "draw; PolynomialDisplay draws curves."
        )
    level = np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64).ravel()
    return np.asarray(coef, dtype=np.float64).ravel(), float(level[0])


def _two_classes(model: Any, labels: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The model's classes, and the rows' positions among them."""
    known = two_classes(model)
    if not hasattr(model, "decision_function"):
        raise TypeError(
            f"{type(model).__name__} has no decision_function to compare with the targets −1 and "
            "+1."
        )
    return known, class_codes(model, labels, len(labels))


def _triangle(model: Any, X: Any, y: Any, numbers: np.ndarray, fitted: np.ndarray) -> RightTriangle:
    centred = bool(getattr(model, "fit_intercept", True))
    middle = float(numbers.mean()) if centred else 0.0
    r = numbers - fitted
    total = float(np.linalg.norm(numbers - middle))
    base, height = float(np.linalg.norm(fitted - middle)), float(np.linalg.norm(r))
    if total == 0.0:
        raise ValueError("y is constant, so there is no triangle to draw.")
    # Where one of the two is nothing but rounding it has no direction.
    small = _SMALL * total
    cosine = 0.0 if min(base, height) < small else float(r @ (fitted - middle)) / (base * height)
    level = abs(float(r.sum())) / (math.sqrt(len(r)) * height) if centred and height > small else 0
    if abs(cosine) > _RIGHT or level > _RIGHT:
        raise ValueError(
            f"the residual is not orthogonal to the fit (cosine {cosine:.3g}, with the constant "
            f"{level:.3g}), so there is no right angle to draw: there is one on the rows that the "
            "model was fitted to, without weights and without a penalty, unless columns are so far "
            "from zero that rounding destroys it."
        )
    certificate: Any = getattr(model, "certificate_", None) or quietly(
        lambda rows: verify(model, rows, y), X
    )
    left = certificate.orthogonality
    left = certificate.relative_residual if left is None else left
    words = f"residual orthogonal to the columns: $|A^\\top r|\\,/\\,|A||r|$ = {left:.1e}"
    if height < small:
        words = "the fit is exact: all residuals are zero"
    return RightTriangle(total, base, height, cosine, centred, words)
