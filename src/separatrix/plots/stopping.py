"""Stopping rules over the iterates of a fit, and the suboptimality that each leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from separatrix.data.validation import check_number
from separatrix.plots.certificate import Curve
from separatrix.plots.display import Display
from separatrix.plots.fitted import recorded_iterates
from separatrix.plots.points import one_axes, write_beside, write_legend, write_title
from separatrix.plots.style import class_colours, class_markers, ink, muted

# Iterates that are marked one by one.
_FEW = 40


@dataclass(frozen=True)
class StoppingRule:
    """A rule that stops at the first iterate at which a number is at most ``tol``.

    Attributes
    ----------
    name, formula : str
        The name and the formula of the number that is compared with ``tol``.
    tol : float
    iterations : ndarray of shape (n_checks,)
    values : ndarray of shape (n_checks,)
        The number at every recorded iterate; infinite where it is not known.
    suboptimality : ndarray of shape (n_checks,)
        The most by which the objective of the iterate can exceed the optimum, relative to the best
        lower bound of the whole fit.
    """

    name: str
    formula: str
    tol: float
    iterations: np.ndarray
    values: np.ndarray
    suboptimality: np.ndarray

    @property
    def stop(self) -> int | None:
        """The position of the iterate at which the rule stops; None if it does not."""
        found = np.flatnonzero(self.values <= self.tol)
        return int(found[0]) if len(found) else None

    @property
    def iteration(self) -> int | None:
        """The iteration at which the rule stops; None if it does not."""
        return None if self.stop is None else int(self.iterations[self.stop])

    @property
    def left(self) -> float:
        """The largest possible suboptimality at the stop, or at the end without one."""
        return float(self.suboptimality[-1 if self.stop is None else self.stop])

    def __str__(self) -> str:
        if self.stop is None:
            return f"{self.name}: does not stop, at most {self.left:.2g} left at the end"
        return f"{self.name}: stops at iteration {self.iteration:,}, at most {self.left:.2g} left"


def stopping_rules(model: Any, X: Any, y: Any, *, tol: float = 1e-4) -> list[StoppingRule]:
    r"""The stopping rules, applied to the iterates of a recorded fit.

    The rules compare with ``tol`` the length of the last step,
    :math:`\|\theta_k - \theta_{k-1}\| / \|\theta_k\|`; the decrease of the objective,
    :math:`|P_{k-1} - P_k| / |P_k|`; where the loss is smooth, the length of the gradient,
    :math:`\|\nabla P(\theta_k)\| / \|\nabla P(\theta_0)\|`; and the gap between the objective
    and its lower bound, :math:`(P_k - D_k) / |P_k|`. Only the last of them bounds what is left.

    Parameters
    ----------
    model : estimator
        A linear model of this library, fitted with ``record=True`` to two classes or one target;
        or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training data.
    y : array-like of shape (n_samples,)
    tol : float, default=1e-4

    Returns
    -------
    list of StoppingRule

    Raises
    ------
    TypeError
        For a model that was not fitted in steps, or is not of this library.
    ValueError
        If nothing was recorded, or there are several classes or targets.

    Examples
    --------
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import stopping_rules
    >>> X, y = [[-1.0, 2.0], [-1.0, -1.0], [2.0, -1.0], [1.0, 1.5]], [-1, -1, 1, 1]
    >>> model = LogisticRegression(solver="newton", tol=1e-12, record=True).fit(X, y)
    >>> for rule in stopping_rules(model, X, y, tol=1e-3):
    ...     print(rule.name, rule.iteration, rule.left < 1e-3)
    step 4 True
    decrease 3 True
    gradient 3 True
    gap 2 True
    """
    check_number("tol", tol, above=0)
    fit, problem, trace, weights = recorded_iterates(model, X, y)
    curve = Curve.of(trace, "", fit.certificate_)
    theta = np.array([problem.to_internal(one) for one in weights])
    primal = curve.primal
    best = float(max(curve.dual.max(initial=-np.inf), fit.certificate_.dual))
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.linalg.norm(np.diff(theta, axis=0), axis=1) / np.linalg.norm(theta[1:], axis=1)
        decrease = np.abs(np.diff(primal)) / np.abs(primal[1:])
        left = np.maximum(primal - best, 0.0) / abs(best) if np.isfinite(best) else primal * np.inf
    # The step from zero to zero is none.
    step[np.isnan(step)] = 0.0
    numbers = [
        ("step", "‖θₖ − θₖ₋₁‖ / ‖θₖ‖", np.append(np.inf, step)),
        ("decrease", "|Pₖ₋₁ − Pₖ| / |Pₖ|", np.append(np.inf, decrease)),
    ]
    if problem.smooth:
        gradient = np.array([np.linalg.norm(problem.gradient(one)) for one in theta])
        numbers.append(("gradient", "‖∇Pₖ‖ / ‖∇P₀‖", gradient / (gradient[0] or 1.0)))
    numbers.append(("gap", "(Pₖ − Dₖ) / |Pₖ|", curve.relative_gap))
    return [
        StoppingRule(name, formula, float(tol), curve.iterations, values, left)
        for name, formula, values in numbers
    ]


@dataclass(kw_only=True, eq=False, repr=False)
class StoppingDisplay(Display):
    """The numbers that stopping rules compare with ``tol``, and the suboptimality each leaves.

    One curve for each rule, with a ring where it stops; and the most by which each iterate can
    exceed the optimum, with a ring at every stop. A rule that stops above ``tol`` on that curve has
    stopped too early.

    Parameters
    ----------
    rules : sequence of StoppingRule
        See :func:`stopping_rules`.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : dict of Line2D
        The curves by the names of the rules, and ``"left"``, the suboptimality.

    Examples
    --------
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import StoppingDisplay
    >>> X, y = [[-1.0, 2.0], [-1.0, -1.0], [2.0, -1.0], [1.0, 1.5]], [-1, -1, 1, 1]
    >>> model = LogisticRegression(solver="newton", tol=1e-12, record=True).fit(X, y)
    >>> display = StoppingDisplay.from_estimator(model, X, y, tol=1e-3)
    >>> print(display.rules[2].name, display.rules[2].iteration)
    gradient 3
    """

    rules: Sequence[StoppingRule]

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, tol: float = 1e-4, ax: Axes | None = None
    ) -> StoppingDisplay:
        """Draw the rules over the iterations of a recorded fit.

        Parameters
        ----------
        model, X, y, tol
            See :func:`stopping_rules`.
        ax : Axes, optional

        Returns
        -------
        StoppingDisplay

        Raises
        ------
        TypeError, ValueError
            As :func:`stopping_rules`.
        """
        return cls(rules=stopping_rules(model, X, y, tol=tol)).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> StoppingDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        self
        """
        self._begin(one_axes(ax, figsize=(6.8, 5.2)))
        axes, first = self.ax_, self.rules[0]
        x, marked = first.iterations, len(first.iterations) <= _FEW
        n = len(self.rules)
        self.lines_: dict[str, Line2D] = {}
        for rule, colour, marker in zip(
            self.rules, class_colours(n), class_markers(n), strict=True
        ):
            style: dict[str, Any] = {"color": colour, "lw": 1.5, "markersize": 4}
            style |= {"marker": marker if marked else "", "label": f"{rule.formula}; {rule}"}
            (self.lines_[rule.name],) = axes.plot(x, _positive(rule.values), **style)
            if rule.stop is not None:
                rings = np.array([rule.values[rule.stop], rule.left])
                ring: dict[str, Any] = {"ls": "none", "marker": "o", "markersize": 10}
                ring |= {"markerfacecolor": "none", "markeredgecolor": colour}
                axes.plot(x[[rule.stop, rule.stop]], _positive(rings), zorder=4, **ring)
        left: dict[str, Any] = {"color": ink(), "lw": 2.0, "ls": "--"}
        left["label"] = "(Pₖ − D) / |D|: the most that is left of the objective"
        (self.lines_["left"],) = axes.plot(x, _positive(first.suboptimality), **left)
        axes.axhline(first.tol, color=muted(), ls=":", lw=1.3)
        looks = {"xycoords": axes.get_yaxis_transform(), "color": muted()}
        write_beside(axes, f"tol = {first.tol:g}", (0.0, first.tol), (4, 3), **looks)
        axes.set(yscale="log", xlabel="iteration", ylabel="compared with tol")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        write_title(axes, "When each rule stops, and what it leaves")
        write_legend(axes, list(self.lines_.values()), below=True, inside=ax is not None)
        return self


def _positive(values: np.ndarray) -> np.ndarray:
    """The values, with NaN, which is not drawn, for those that a logarithmic axis cannot show."""
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
