"""The kernel trick as a picture: here, lifted to where a plane separates, and back."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from separatrix.data.design import as_design
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels.functions import Kernel, PolynomialKernel, PrecomputedKernel, RBFKernel
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import class_codes, dense, labelled_rows, quietly, two_classes
from separatrix.plots.planar import framed, span_of
from separatrix.plots.points import (
    SPARSE,
    axes_row,
    readable,
    ring_points,
    scatter_classes,
    set_limits,
    write_legend,
    write_title,
)
from separatrix.plots.space import draw_plane, eye_of, scatter_about
from separatrix.plots.style import ink, muted, plain, plain_all
from separatrix.plots.zero_set import level_sets
from separatrix.verification.audit import kernel_of

# The most coordinates of a lift that is computed.
_MOST_COORDINATES = 2_000
# The most terms of the third coordinate that its axis names.
_TERMS = 2
# Weights whose norm is at most this share of that of all weights are zero but for rounding.
_ZERO = 1e-9
# Points along a side of the surface of scores.
_SURFACE = 41
# Axes whose ranges differ by a larger factor are not drawn to one scale.
_SLENDER = 4.0
# The most letters of a column's name.
_LETTERS = 18
# The digits of an exponent.
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The levels of the score that are drawn: the boundary, and the two lines beside it.
_LEVELS = (-1.0, 0.0, 1.0)
# The most letters of both classes' names that fit beside the first panel's title.
_BESIDE_TITLE = 20


@dataclass(kw_only=True, eq=False, repr=False)
class KernelDisplay(Display):
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
        The classes of the points, as positions in ``classes``.
    classes : sequence of two labels
    decision : callable
        A function from points of shape (k, 2) to scores of shape (k,).
    lifted : ndarray of shape (n, 3)
    plane : Hyperplane
        The plane in the three coordinates.
    axis_names : sequence of two str
        The names of the two features, ready to draw.
    lift_names : sequence of three str
        The names of the three coordinates, ready to draw.
    support : ndarray of int
        The rows of the support vectors.
    formula : str
        The formula of the kernel.
    finite : bool, default=True
        Whether ``lifted`` are coordinates of the lift; else the third is the score.

    Attributes
    ----------
    axes_ : ndarray of three Axes
        The second is three-dimensional.
    ax_ : Axes
        The last of the axes.
    figure_ : Figure
    points_ : list of PathCollection
        The points of the first panel.
    plane_ : Poly3DCollection
    lifted_ : list of Path3DCollection
    surface_ : Poly3DCollection or None
        The surface of the score, for a kernel without a finite lift.
    boundary_ : list of Line2D
    margin_lines_ : list of Line2D
        The lines where the score is -1 or +1.
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

    points: np.ndarray
    codes: np.ndarray
    classes: Any
    decision: Any
    lifted: np.ndarray
    plane: Hyperplane
    axis_names: Any
    lift_names: Any
    support: np.ndarray
    formula: str
    finite: bool = True

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
        kernel, points, labels, names = _rows_and_kernel(model, X, y)
        vectors, dual, level = _expansion(model)

        def decision(places: np.ndarray) -> np.ndarray:
            return np.asarray(quietly(model.decision_function, places), dtype=np.float64)

        some = points[:50]
        if not np.allclose(kernel(some, vectors) @ dual + level, decision(some), atol=1e-6):
            raise ValueError(
                f"the scores of {type(model).__name__} do not agree with its support vectors and "
                f"{kernel.formula}; pass the rows of the fit, from which gamma='scale' is computed."
            )
        columns = ["x0", "x1"] if names is None else [_short(n) for n in names]
        lift = _lift(kernel, vectors, dual, points, columns)
        if lift is None:
            lifted = np.column_stack([points, decision(points)])
            plane = Hyperplane(np.array([0.0, 0.0, 1.0]), 0.0)
            lift_names = [*plain_all(columns), "score"]
        else:
            lifted, weights, lift_names = lift
            if not weights.any():
                raise ValueError(
                    "the weights of the model are all zero: its score is the same everywhere, and "
                    "there is no boundary to draw."
                )
            plane = Hyperplane(weights, level)
        display = cls(
            points=points,
            codes=class_codes(model, labels, len(labels)),
            classes=np.asarray(model.classes_).tolist(),
            decision=decision,
            lifted=lifted,
            plane=plane,
            axis_names=tuple(plain_all(columns)),
            lift_names=tuple(lift_names),
            support=np.asarray(getattr(model, "support_", []), dtype=np.int64),
            formula=_formula(kernel),
            finite=lift is not None,
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
            kinds = enumerate((None, "3d", None))
            axes = [figure.add_subplot(grid[i], projection=kind) for i, kind in kinds]
        else:
            axes = list(axes_row(ax, 3))
            if not hasattr(axes[1], "get_zlim"):
                raise ValueError('the second of the axes must be made with projection="3d".')
        # Axes of its own are wide enough, whatever they measure before they are laid out.
        self._write = write_title if ax is not None else _set_title
        self._begin(axes, main=2)
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
        ends = self.points.min(axis=0), self.points.max(axis=0)
        low, high, equal = framed(*ends, pad=0.1, alike=_SLENDER, narrow=0.8)
        set_limits(ax, low, high, equal=equal)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        return float(low[0]), float(high[0]), float(low[1]), float(high[1])

    def _plot_here(self, ax: Axes) -> None:
        self.points_ = scatter_classes(ax, self.points, self.codes, self.classes)
        self._frame(ax)
        ax.set_title("the data", loc="left")
        if sum(len(plain(label)) for label in self.classes) > _BESIDE_TITLE:
            write_legend(self.axes_[2], self.points_)
            return
        # Beside the title it hides no point.
        where: Looks = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
        readable(ax.legend(borderpad=0.1, columnspacing=0.8, handletextpad=0.1, ncols=2, **where))

    # --- there --------------------------------------------------------------------------------

    def _plot_there(self, ax: Any) -> None:
        low, high, span = span_of(self.lifted)
        low, high = low - 0.04 * span, high + 0.04 * span
        if not self.finite:
            low[2], high[2] = min(low[2], -0.5), max(high[2], 0.5)
        ax.computed_zorder = False
        ax.view_init(*self._viewpoint(high - low))
        self.plane_ = draw_plane(ax, self.plane, low, high)
        if not self.finite:
            self._plot_surface(ax, low, high)
        # What the plane hides from the eye is drawn before it.
        size = high - low
        self.lifted_ = scatter_about(ax, self.plane, self.lifted, self.codes, self.classes, size)
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
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        ax.set_box_aspect((1.0, 1.0, 0.85), zoom=0.92)
        lift = f"lifted by {self.formula}: a plane"
        self._write(ax, lift if self.finite else f"{self.formula}: the score, and level 0")

    def _viewpoint(self, span: np.ndarray) -> tuple[float, float]:
        """Elevation and azimuth from which the plane is seen from its edge, and points spread."""
        middle = (self.lifted - self.lifted.mean(axis=0)) / span
        # In units of the box; directions across a plane scale the other way round.
        normal = self.plane.w * span
        normal = normal / (np.linalg.norm(normal) or 1.0)

        def worth(view: tuple[float, float]) -> float:
            eye = eye_of(*view)
            right = np.cross([0.0, 0.0, 1.0], eye)
            right /= np.linalg.norm(right)
            seen = middle @ np.column_stack([right, np.cross(eye, right)])
            spread = math.sqrt(abs(float(np.linalg.det(np.cov(seen.T)))))
            return spread - 0.25 * abs(abs(float(eye @ normal)) - 0.2)

        best = (24.0, -60.0)
        if self.finite:
            # Ticks of an axis that points at the eye would lie on one another.
            turns = [float(q + a) for q in (-180, -90, 0, 90) for a in (25, 35, 45, 55, 65)]
            best = max(itertools.product((10.0, 18.0, 26.0), turns), key=worth)
        return best

    def _plot_surface(self, ax: Any, low: np.ndarray, high: np.ndarray) -> None:
        x, y = np.meshgrid(*(np.linspace(low[j], high[j], _SURFACE) for j in (0, 1)))
        score = self.decision(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
        looks = {"color": to_rgba(muted(), 0.45), "lw": 0.5, "zorder": 2}
        height, counts = np.clip(score, low[2], high[2]), {"rcount": _SURFACE, "ccount": _SURFACE}
        self.surface_ = ax.plot_wireframe(x, y, height, **counts, **looks)
        (curves,) = level_sets(self.decision, (0.0,), (low[0], high[0], low[1], high[1]))
        for curve in curves:
            ax.plot(curve[:, 0], curve[:, 1], 0.0, color=ink(), lw=1.8, zorder=4.5)

    # --- and back -----------------------------------------------------------------------------

    def _plot_back(self, ax: Axes) -> None:
        found = level_sets(self.decision, _LEVELS, self._frame(ax))
        # Many points would hide the lines below them.
        above = 2.0 if len(self.points) <= SPARSE else 3.5
        self.boundary_: list[Any] = []
        self.margin_lines_: list[Any] = []
        for level, curves in zip(_LEVELS, found, strict=True):
            looks: Looks = {"lw": 1.8} if level == 0 else {"lw": 1.1, "ls": "--"}
            lines = self.boundary_ if level == 0.0 else self.margin_lines_
            for curve in curves:
                lines += ax.plot(*curve.T, color=ink(), zorder=above, **looks)
        scatter_classes(ax, self.points, self.codes, self.classes)
        self.support_: Any = None
        if len(self.support) and self.support.max() < len(self.points):
            self.support_ = ring_points(ax, self.points[self.support], len(self.points))
        count = f", {len(self.support):,} support vectors" if len(self.support) else ""
        self._write(ax, f"and back{count}")


# --- from models to what is drawn -------------------------------------------------------------


def _rows_and_kernel(model: Any, X: Any, y: Any) -> tuple[Kernel, np.ndarray, np.ndarray, Any]:
    """The kernel of a machine of two classes, its rows of two features, their labels and names."""
    check_is_fitted(model)
    name = type(model).__name__
    if not hasattr(model, "dual_coef_") or not hasattr(model, "support_vectors_"):
        raise TypeError(
            f"{name} has no support vectors (dual_coef_ and support_vectors_) to draw; "
            "DecisionDisplay draws its regions."
        )
    matrix, labels, names = labelled_rows(model, X, y)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{name} is not a classifier, so it has no boundary to draw.")
    kernel = kernel_of(model, as_design(matrix))
    if isinstance(kernel, PrecomputedKernel):
        raise TypeError("a precomputed kernel has no points to draw.")
    if matrix.shape[1] != 2:
        raise ValueError(
            f"X has {matrix.shape[1]} columns; this picture needs two. For more columns use "
            "DecisionDisplay."
        )
    two_classes(model)
    return kernel, dense(matrix), labels, names


def _expansion(model: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Support vectors, their coefficients and the intercept."""
    vectors = model.support_vectors_
    if vectors.shape[1] != 2:
        raise TypeError(
            f"{type(model).__name__} did not store its support vectors, because its kernel is a "
            "function; DecisionDisplay draws its regions."
        )
    return dense(vectors), dense(model.dual_coef_)[0], float(np.ravel(model.intercept_)[0])


def _set_title(axes: Any, text: str) -> None:
    # Three axes take more room upwards than they fill.
    axes.set_title(text, y=0.99 if hasattr(axes, "get_zlim") else None)


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
    kernel: Kernel, vectors: np.ndarray, dual: np.ndarray, points: np.ndarray, columns: list[str]
) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """Three coordinates of the lift, the weights in them, and their names.

    None where the kernel has no finite lift, or one of fewer than three coordinates.
    """
    try:
        names = kernel.lift_names(2)
        if not 3 <= len(names) <= _MOST_COORDINATES:
            return None
        weights, lifted = kernel.lift(vectors).T @ dual, kernel.lift(points)
    except (TypeError, ValueError):
        return None
    spread, named = lifted.std(axis=0), [_mathematical(v) for v in kernel.lift_names(columns)]
    if len(names) == 3 and np.all(spread > 0.0):
        # The lift is these three.
        order = [0, 2, 1]
        return lifted[:, order], weights[order], [named[j] for j in order]
    # The features themselves, where the lift has them: the picture then stands on the data.
    own = [j for j, name in enumerate(names) if name.split()[-1] in ("x0", "x1")]
    own = [j for j in own if "x0 x1" not in names[j] and "^" not in names[j]]
    first = own if len(own) == 2 else sorted(np.argsort(-np.abs(weights) * spread)[:2].tolist())
    rest = np.array([j for j in range(len(names)) if j not in first])
    direction, height = weights[rest], float(np.linalg.norm(weights[rest]))
    if height <= _ZERO * float(np.linalg.norm(weights)):
        # The plane is upright: any other coordinate will do; the one that varies most.
        direction, height = np.eye(len(rest))[int(np.argmax(spread[rest]))], 0.0
    else:
        direction = direction / height
    three = np.column_stack([lifted[:, first], lifted[:, rest] @ direction])
    last = _combined(kernel, columns, rest, direction)
    return three, np.array([*weights[first], height]), [*(named[j] for j in first), last]


def _mathematical(name: str) -> str:
    """A coordinate's name, as of ``lift_names``, in the notation of a formula."""
    text = re.sub(r"sqrt\((\d+)\)", r"√\1", name)
    text = re.sub(r"\b\d+(\.\d+)?(e[+-]\d+)?(?= )", lambda found: _digits(found[0]), text)
    return plain(re.sub(r"\^([2-5])", lambda found: found[1].translate(_RAISED), text))


def _digits(number: str) -> str:
    """Three digits of a number, in plain letters."""
    digits, _, power = f"{float(number):.3g}".partition("e")
    return f"{digits}×10{str(int(power)).translate(_RAISED)}" if power else digits


def _combined(kernel: Kernel, columns: list[str], rest: np.ndarray, direction: np.ndarray) -> str:
    """The third axis in words: its largest terms, and how many more there are."""
    names = kernel.lift_names([c if len(c) < 12 else f"x{j}" for j, c in enumerate(columns)])
    order = [i for i in np.argsort(-np.abs(direction), kind="stable") if abs(direction[i]) > 5e-3]
    text = ""
    for i in order[:_TERMS]:
        sign = "−" if direction[i] < 0 else ("+" if text else "")
        term, size = _mathematical(names[rest[i]]), abs(direction[i])
        factor = f"{size:.2g}" if abs(size - 1.0) > 5e-3 or term == "1" else ""
        between = "·" if factor and term[0] in "√0123456789" else " "
        text += f" {sign} " if text else sign
        text += f"{factor}{between}{term}"
    return (text + (" + …" if len(order) > _TERMS else "")).strip()
