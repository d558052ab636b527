"""The kernel trick as a picture: here, lifted to where a plane separates, and back."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix.data.design import as_design
from separatrix.data.validation import validate
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels.functions import Kernel, PolynomialKernel, PrecomputedKernel, RBFKernel
from separatrix.plots.fitted import class_codes
from separatrix.plots.points import (
    MANY,
    SPARSE,
    axes_row,
    figure_of,
    marker_size,
    readable,
    ring_points,
    scatter_classes,
    write_legend,
    write_title,
)
from separatrix.plots.style import class_colours, class_markers, ink, muted, paper, plain, plain_all
from separatrix.plots.zero_set import Field
from separatrix.verification.audit import kernel_of

__all__ = ["KernelDisplay"]

# A lift of more coordinates is not looked into.
_MOST_COORDINATES = 2_000
# Terms of the third coordinate that its axis names.
_TERMS = 2
# Relative to the largest: a weight that is zero but for rounding.
_ZERO = 1e-9
# Points a side of the surface of scores.
_SURFACE = 41
# From this shape on a unit across is no longer drawn as long as one up.
_SLENDER = 4.0
# Letters of a column's name.
_LETTERS = 18
# Letters of both classes' names for which there is room beside the first panel's title.
_BESIDE_TITLE = 20


class KernelDisplay:
    r"""A kernel machine of two features: the data, their lift, and the boundary.

    In the middle are three coordinates of the kernel's space, chosen so that the plane that
    separates depends on them alone: with :math:`f(x) = \langle w, \varphi(x)\rangle + b`, two
    columns of the lift, and the combination of the others that :math:`w` makes, over its length.
    They are orthonormal directions, so that what is drawn is a projection of the lifted points:
    the plane is exact, and distances to it are those of the kernel's space.  A kernel without a
    finite lift (the Gaussian one), or with one of two coordinates, is drawn as a surface instead:
    the score above the plane of the data, and the level 0.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    codes : ndarray of int of shape (n,)
        Positions in ``classes``.
    classes : sequence of two labels
    decision : callable
        From points of shape (k, 2) to scores of shape (k,).
    lifted : ndarray of shape (n, 3)
    plane : Hyperplane
        In the three coordinates.
    axis_names : sequence of two str
        Ready to draw.
    lift_names : sequence of three str
        Ready to draw.
    support : ndarray of int
        Rows of the support vectors.
    formula : str
        The kernel.
    finite : bool, default=True
        Whether ``lifted`` are coordinates of the lift; else the third is the score.

    Attributes
    ----------
    axes_ : ndarray of three Axes
        The second is three-dimensional.
    ax_ : Axes
        The last of them.
    figure_ : Figure
    points_ : list of PathCollection
        Of the first panel.
    plane_ : Poly3DCollection
    lifted_ : list of Path3DCollection
    surface_ : Poly3DCollection or None
        The score, of a kernel without a finite lift.
    boundary_ : list of Line2D
    margin_lines_ : list of Line2D
        Where the score is -1 or +1.
    support_ : PathCollection or None

    References
    ----------
    Boser, Guyon and Vapnik (1992), A training algorithm for optimal margin classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import SVC
    >>> from separatrix.plots import KernelDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = (X**2).sum(axis=1) > 1.5
    >>> model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    >>> display = KernelDisplay.from_estimator(model, X, y)
    >>> bool(np.allclose(display.plane.decision(display.lifted), model.decision_function(X)))
    True
    """

    def __init__(
        self,
        *,
        points: np.ndarray,
        codes: np.ndarray,
        classes: Any,
        decision: Any,
        lifted: np.ndarray,
        plane: Hyperplane,
        axis_names: Any,
        lift_names: Any,
        support: np.ndarray,
        formula: str,
        finite: bool = True,
    ) -> None:
        self.points = points
        self.codes = codes
        self.classes = list(classes)
        self.decision = decision
        self.lifted = lifted
        self.plane = plane
        self.axis_names = tuple(axis_names)
        self.lift_names = tuple(lift_names)
        self.support = support
        self.formula = formula
        self.finite = finite

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> KernelDisplay:
        """Draw a fitted kernel machine.

        Parameters
        ----------
        model : estimator
            :class:`~separatrix.SVC`, or scikit-learn's, of two classes and two features.
        X : array-like or sparse matrix of shape (n_samples, 2)
            The rows of the fit.
        y : array-like of shape (n_samples,)
        ax : array-like of three Axes, optional
            The second with ``projection="3d"``.

        Returns
        -------
        KernelDisplay

        Raises
        ------
        TypeError
            For a model without support vectors, or a precomputed kernel.
        ValueError
            For other than two features and two classes.
        """
        check_is_fitted(model)
        name = type(model).__name__
        if not hasattr(model, "dual_coef_") or not hasattr(model, "support_vectors_"):
            raise TypeError(
                f"{name} has no support vectors, dual_coef_ and support_vectors_, to draw; for its "
                "regions there is DecisionDisplay."
            )
        holder = BaseEstimator()
        matrix, labels = validate(holder, X, y)
        if not hasattr(model, "classes_"):
            raise TypeError(f"{name} is no classifier, so it has no boundary to draw.")
        kernel = kernel_of(model, as_design(matrix))
        if isinstance(kernel, PrecomputedKernel):
            raise TypeError("a precomputed kernel has no points to draw.")
        if matrix.shape[1] != 2:
            raise ValueError(
                f"X has {matrix.shape[1]} columns; the picture is of two. For more there is "
                "DecisionDisplay."
            )
        known = np.asarray(model.classes_).tolist()
        if len(known) != 2:
            raise ValueError(
                f"the model has {len(known)} classes; the picture is of two. Fit it to two of "
                "them, or draw DecisionDisplay."
            )
        codes = class_codes(model, labels, len(labels))
        points = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
        points = points.astype(np.float64)
        names = getattr(holder, "feature_names_in_", getattr(model, "feature_names_in_", None))
        columns = ["x0", "x1"] if names is None else [_short(n) for n in names]
        vectors = model.support_vectors_
        vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
        if vectors.shape[1] != 2:
            raise TypeError(
                f"{name} has kept no support vectors, as its kernel is a function; for its regions "
                "there is DecisionDisplay."
            )
        dual = model.dual_coef_
        dual = np.asarray(dual.toarray() if sp.issparse(dual) else dual, dtype=np.float64)[0]
        level = float(np.ravel(model.intercept_)[0])

        def decision(places: np.ndarray) -> np.ndarray:
            with warnings.catch_warnings():
                # The two columns are the model's own, whatever they are called.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                return np.asarray(model.decision_function(places), dtype=np.float64)

        some = points[:50]
        if not np.allclose(kernel(some, vectors) @ dual + level, decision(some), atol=1e-6):
            raise ValueError(
                f"scores of {name} do not follow from its support vectors and {kernel.formula}; "
                "pass the rows of the fit, from which gamma='scale' is taken."
            )
        shown: dict[str, Any] = {
            "points": points,
            "codes": codes,
            "classes": known,
            "decision": decision,
            "axis_names": plain_all(columns),
            "support": np.asarray(getattr(model, "support_", []), dtype=np.int64),
            "formula": _formula(kernel),
        }
        lift = _lift(kernel, vectors, dual, points)
        if lift is None:
            height = decision(points)
            display = cls(
                lifted=np.column_stack([points, height]),
                plane=Hyperplane(np.array([0.0, 0.0, 1.0]), 0.0),
                lift_names=[*plain_all(columns), "score"],
                finite=False,
                **shown,
            )
        else:
            lifted, weights, told = lift
            if not weights.any():
                raise ValueError(
                    "the weights of the model are all zero: its score is the same everywhere, and "
                    "there is no boundary to draw."
                )
            display = cls(
                lifted=lifted, plane=Hyperplane(weights, level), lift_names=told(columns), **shown
            )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> KernelDisplay:
        """Draw.

        Parameters
        ----------
        ax : array-like of three Axes, optional
            The second with ``projection="3d"``.

        Returns
        -------
        KernelDisplay
        """
        if ax is None:
            figure = plt.figure(figsize=(10.0, 3.6), layout="constrained")
            engine: Any = figure.get_layout_engine()
            # The layout does not see how far the labels of three axes reach.
            engine.set(w_pad=0.1, wspace=0.15)
            grid = figure.add_gridspec(1, 3, width_ratios=(1.0, 1.25, 1.0))
            axes = np.array(
                [
                    figure.add_subplot(grid[0]),
                    figure.add_subplot(grid[1], projection="3d"),
                    figure.add_subplot(grid[2]),
                ],
                dtype=object,
            )
        else:
            axes = axes_row(ax, 3)
            if not hasattr(axes[1], "get_zlim"):
                raise ValueError('the second of the axes must be made with projection="3d".')
        # Axes of its own are wide enough, whatever they measure before they are laid out.
        self._write = write_title if ax is not None else _set_title
        self.axes_, self.ax_ = axes, axes[2]
        self.figure_ = figure_of(axes[0])
        self.surface_: Any = None
        self._plot_here(axes[0])
        self._plot_there(axes[1])
        self._plot_back(axes[2])
        if ax is None:
            # The same as in the first panel; here it would touch the names of the lift.
            axes[2].set_ylabel("")
            axes[2].tick_params(labelleft=False)
        return self

    # --- here ---------------------------------------------------------------------------------

    def _frame(self, ax: Axes) -> tuple[float, float, float, float]:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        span = np.where(high > low, high - low, float((high - low).max()) or 1.0)
        pad = 0.1 * span
        equal = span.max() < _SLENDER * span.min()
        if equal:
            # One scale across and up, in panels of nearly one shape.
            pad = np.maximum(pad, 0.5 * (0.96 * span.max() - (high - low)))
            ax.set_aspect("equal", adjustable="box")
        low, high = low - pad, high + pad
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_xlabel(self.axis_names[0])
        ax.set_ylabel(self.axis_names[1])
        return float(low[0]), float(high[0]), float(low[1]), float(high[1])

    def _plot_here(self, ax: Axes) -> None:
        self.points_ = scatter_classes(ax, self.points, self.codes, self.classes)
        self._frame(ax)
        ax.set_title("the data", loc="left")
        if sum(len(plain(label)) for label in self.classes) > _BESIDE_TITLE:
            write_legend(self.axes_[2], self.points_)
            return
        # Beside the title it hides no point.
        legend = ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, borderpad=0.1,
            columnspacing=0.8, handletextpad=0.1,
        )  # fmt: skip
        readable(legend)

    # --- there --------------------------------------------------------------------------------

    def _plot_there(self, ax: Any) -> None:
        points = self.lifted
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        low, high = low - 0.04 * span, high + 0.04 * span
        if not self.finite:
            low[2], high[2] = min(low[2], -0.5), max(high[2], 0.5)
        ax.computed_zorder = False
        eye = self._viewpoint(high - low)
        outline = self.plane.clip(low, high)
        self.plane_ = Poly3DCollection(
            [outline] if len(outline) > 2 else [],
            facecolors=to_rgba(ink(), 0.14),
            edgecolors=to_rgba(ink(), 0.75),
            linewidths=1.0,
            zorder=4,
        )
        ax.add_collection3d(self.plane_)
        if not self.finite:
            self._plot_surface(ax, low, high)
        # What the plane hides from the eye is drawn before it.
        colours, markers = class_colours(2), class_markers(2)
        scores = self.plane.decision(points)
        toward = float(self.plane.w @ (eye * (high - low)))
        front = scores * toward >= 0.0
        size = 0.7 * marker_size(len(points))
        self.lifted_: list[Any] = []
        for k in (0, 1):
            for near in (False, True):
                own = (self.codes == k) & (front == near)
                if own.any():
                    drawn = ax.scatter(
                        *points[own].T, s=size, c=colours[k], marker=markers[k],
                        depthshade=False, edgecolors=paper(), linewidths=0.3,
                        alpha=0.95 if near else 0.75, zorder=5 if near else 3,
                        rasterized=len(points) > MANY,
                    )  # fmt: skip
                    self.lifted_.append(drawn)
        for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), self.lift_names, strict=True):
            axis.set_major_locator(MaxNLocator(4))
            axis.set_pane_color(to_rgba(muted(), 0.06))
            axis.line.set_color(muted())
            axis.set_tick_params(labelsize="x-small", pad=0)
            axis.set_label_text(name, fontsize="small")
            axis.labelpad = 1
        # It would stand on its head where that axis is on the left.
        ax.zaxis.set_rotate_label(False)
        ax.zaxis.label.set_rotation(90)
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_zlim(low[2], high[2])
        ax.set_box_aspect((1.0, 1.0, 0.85), zoom=0.92)
        if self.finite:
            self._write(ax, f"lifted by {self.formula}: a plane")
        else:
            self._write(ax, f"{self.formula}: the score, and level 0")

    def _viewpoint(self, span: np.ndarray) -> np.ndarray:
        """Turn the axes so that the plane is seen nearly from its edge, and points spread."""
        ax: Any = self.axes_[1]
        if not self.finite:
            best = (24.0, -60.0)
            ax.view_init(*best)
            return _eye(*best)
        middle = (self.lifted - self.lifted.mean(axis=0)) / span
        # In units of the box; directions across a plane scale the other way round.
        normal = self.plane.w * span
        normal = normal / (np.linalg.norm(normal) or 1.0)
        best, record = (20.0, -60.0), -math.inf
        # Ticks of an axis that points at the eye would lie on one another.
        turns = [q + a for q in (-180, -90, 0, 90) for a in (25, 35, 45, 55, 65)]
        for elevation, azimuth in itertools.product((10.0, 18.0, 26.0), turns):
            eye = _eye(elevation, azimuth)
            right = np.cross([0.0, 0.0, 1.0], eye)
            right /= np.linalg.norm(right)
            seen = middle @ np.column_stack([right, np.cross(eye, right)])
            spread = math.sqrt(abs(float(np.linalg.det(np.cov(seen.T)))))
            value = spread - 0.25 * abs(abs(float(eye @ normal)) - 0.2)
            if value > record:
                best, record = (elevation, float(azimuth)), value
        ax.view_init(*best)
        return _eye(*best)

    def _plot_surface(self, ax: Any, low: np.ndarray, high: np.ndarray) -> None:
        across, up = (np.linspace(low[j], high[j], _SURFACE) for j in (0, 1))
        x, y = np.meshgrid(across, up)
        score = self.decision(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
        self.surface_ = ax.plot_wireframe(
            x, y, np.clip(score, low[2], high[2]), rcount=_SURFACE, ccount=_SURFACE,
            color=to_rgba(muted(), 0.45), lw=0.5, zorder=2,
        )  # fmt: skip
        field = self._field((low[0], high[0], low[1], high[1]))
        for curve in field.lines(0.0):
            ax.plot(curve[:, 0], curve[:, 1], 0.0, color=ink(), lw=1.8, zorder=4.5)

    # --- and back -----------------------------------------------------------------------------

    def _field(self, extent: tuple[float, float, float, float]) -> Field:
        return Field(self.decision, extent, levels=(-1.0, 0.0, 1.0))

    def _plot_back(self, ax: Axes) -> None:
        extent = self._frame(ax)
        field = self._field(extent)
        # Many points would hide the lines below them.
        above = 2.0 if len(self.points) <= SPARSE else 3.5
        self.boundary_: list[Any] = []
        self.margin_lines_: list[Any] = []
        for level in (-1.0, 0.0, 1.0):
            looks: dict[str, Any] = {"lw": 1.8} if level == 0 else {"lw": 1.1, "ls": "--"}
            lines = self.boundary_ if level == 0.0 else self.margin_lines_
            for curve in field.lines(level):
                lines += ax.plot(curve[:, 0], curve[:, 1], color=ink(), zorder=above, **looks)
        scatter_classes(ax, self.points, self.codes, self.classes)
        self.support_: Any = None
        if len(self.support) and self.support.max() < len(self.points):
            held = self.points[self.support]
            self.support_ = ring_points(ax, held, len(self.points))
        count = f", {len(self.support):,} support vectors" if len(self.support) else ""
        self._write(ax, f"and back{count}")


# --- from models to what is drawn -------------------------------------------------------------


def _set_title(axes: Any, text: str) -> None:
    # Three axes take more room upwards than they fill.
    axes.set_title(text, y=0.99 if hasattr(axes, "get_zlim") else None)


def _eye(elevation: float, azimuth: float) -> np.ndarray:
    """The direction to the eye."""
    e, a = math.radians(elevation), math.radians(azimuth)
    return np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])


def _short(name: Any) -> str:
    """A column's name, so short that three of them go along an axis; not yet ready to draw."""
    return plain(name, _LETTERS).replace(r"\$", "$")


def _formula(kernel: Kernel) -> str:
    if isinstance(kernel, PolynomialKernel):
        product = r"x{\cdot}z" if kernel.gamma == 1.0 else rf"{_number(kernel.gamma)}\,x{{\cdot}}z"
        plus = f"+{_number(kernel.coef0)}" if kernel.coef0 else ""
        return f"$({product}{plus})^{{{kernel.degree}}}$"
    if isinstance(kernel, RBFKernel):
        return rf"$\exp(-{_number(kernel.gamma)}\,|x-z|^2)$"
    return kernel.formula.replace("$", r"\$")


def _number(value: float) -> str:
    """Three digits of a number, in the notation of a formula."""
    digits, _, power = f"{value:.3g}".partition("e")
    return rf"{digits}\times10^{{{int(power)}}}" if power else digits


def _lift(
    kernel: Kernel, vectors: np.ndarray, dual: np.ndarray, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Any] | None:
    """Three coordinates of the lift, the weights in them, and a way to name them.

    None where the kernel has no finite lift, or one of fewer than three coordinates.
    """
    try:
        names = kernel.lift_names(2)
        if len(names) > _MOST_COORDINATES:
            return None
        weights = kernel.lift(vectors).T @ dual
        lifted = kernel.lift(points)
    except (TypeError, ValueError):
        return None
    if len(names) < 3:
        return None
    spread = lifted.std(axis=0)
    moving = np.flatnonzero(spread > 0.0)
    # The features themselves, where the lift has them: the picture then stands on the data.
    own = [j for j, name in enumerate(names) if name.split()[-1] in ("x0", "x1")]
    own = [j for j in own if "x0 x1" not in names[j] and "^" not in names[j]]
    if len(moving) == 3 and len(names) == 3:
        # The lift is these three.
        order = np.array([0, 2, 1])
        return lifted[:, order], weights[order], lambda columns: _told(kernel, columns, order)
    first = own if len(own) == 2 else sorted(np.argsort(-np.abs(weights) * spread)[:2].tolist())
    rest = np.array([j for j in range(len(names)) if j not in first])
    pull = weights[rest]
    length = float(np.linalg.norm(pull))
    if length <= _ZERO * float(np.linalg.norm(weights)):
        # The plane is upright: any other coordinate will do; the one that varies most.
        pull = np.zeros(len(rest))
        pull[int(np.argmax(spread[rest]))] = 1.0
        third, height = lifted[:, rest] @ pull, 0.0
    else:
        pull = pull / length
        third, height = lifted[:, rest] @ pull, length
    three = np.column_stack([lifted[:, first], third])

    def told(columns: list[str]) -> list[str]:
        return [*_told(kernel, columns, first), _combined(kernel, columns, rest, pull)]

    return three, np.array([*weights[first], height]), told


def _mathematical(name: str) -> str:
    """A coordinate's name, as of ``lift_names``, in the notation of a formula."""
    text = re.sub(r"sqrt\((\d+)\)", r"√\1", name)
    text = re.sub(r"\b\d+(\.\d+)?(e[+-]\d+)?(?= )", lambda found: _digits(found[0]), text)
    for power, sign in (("^2", "²"), ("^3", "³"), ("^4", "⁴"), ("^5", "⁵")):
        text = text.replace(power, sign)
    return plain(text)


def _digits(number: str) -> str:
    """Three digits of a number, in plain letters."""
    digits, _, power = f"{float(number):.3g}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")) if power else ""
    return f"{digits}×10{raised}" if power else digits


def _told(kernel: Kernel, columns: list[str], which: Any) -> list[str]:
    names = kernel.lift_names(columns)
    return [_mathematical(names[j]) for j in which]


def _combined(kernel: Kernel, columns: list[str], rest: np.ndarray, pull: np.ndarray) -> str:
    """The third axis in words: its largest terms, and how many more there are."""
    names = kernel.lift_names([c if len(c) < 12 else f"x{j}" for j, c in enumerate(columns)])
    order = [i for i in np.argsort(-np.abs(pull), kind="stable") if abs(pull[i]) > 5e-3]
    text = ""
    for i in order[:_TERMS]:
        sign = "−" if pull[i] < 0 else ("+" if text else "")
        term = _mathematical(names[rest[i]])
        size = f"{abs(pull[i]):.2g}" if abs(abs(pull[i]) - 1.0) > 5e-3 or term == "1" else ""
        between = "·" if size and term[0] in "√0123456789" else " "
        text += f" {sign} {size}{between}{term}" if text else f"{sign}{size}{between}{term}"
    if len(order) > _TERMS:
        text += " + …"
    return text.strip()
