"""The proof of the perceptron's convergence theorem, along a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from separatrix.geometry.separation.convergence import Convergence, convergence
from separatrix.plots.display import Animated, Display
from separatrix.plots.points import write_beside, write_title
from separatrix.plots.style import class_colours, ink, muted, paper
from separatrix.plots.updates import bound_of, most_in_words, recorded, weights_after

# A bound that is farther off than this many times the corrections is written, not drawn.
_REACH = 25.0
# Corrections that are marked one by one.
_FEW = 40


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Animated, Display):
    r"""The proof of the perceptron's convergence theorem, correction by correction.

    Let :math:`u` be the unit vector of the largest margin :math:`\gamma` and :math:`R` the length
    of the longest point, both with the constant 1 as another coordinate if there is an offset.
    Every correction adds at least :math:`\gamma` to :math:`\theta \cdot u` and at most
    :math:`R^2` to :math:`\|\theta\|^2`, so that after :math:`k` corrections from zero

    .. math:: k\gamma \le \theta_k \cdot u \le \|\theta_k\| \le \sqrt k\,R:

    a line that stays below a square root, which it cannot do beyond :math:`k = (R/\gamma)^2`. From
    another start, with another rate or with a margin the two ends are those of
    :func:`separatrix.perceptron_bound`, and the legend has their formulas.

    Parameters
    ----------
    proof : Convergence

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : dict of Line2D
        ``"lower"``, ``"projection"``, ``"length"`` and ``"upper"``.
    bound_ : Line2D or None
        The bound on the corrections, where the axis can hold it.

    References
    ----------
    Novikoff (1962), On convergence proofs for perceptrons.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> from separatrix.plots import ConvergenceDisplay
    >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    >>> model = Perceptron(record=True).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model, X, y)
    >>> len(display.proof.length) - 1, int(display.proof.bound.bound)
    (9, 55)
    """

    proof: Convergence
    # Inches.
    frame_size = 6.4, 5.0

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, part: Any = None, ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Draw the proof along the corrections of a fitted perceptron.

        Parameters
        ----------
        model : Perceptron or SGDClassifier
            Fitted with ``record=True``, as for :class:`PerceptronDisplay`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,)
        part : object, optional
            The class whose problem, against the rest, is shown, for more than two classes.
        ax : Axes, optional

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        TypeError
            For a model that makes no such updates.
        ValueError
            If the updates were not recorded, there were none, the classes are not separable, the
            rate changes or rows have weights, ``X`` or ``y`` are not the training data, or no
            class of several is chosen.
        """
        run = recorded(model, X, y, part)
        thetas, rows = weights_after(run), [update.sample for update in run.updates]
        lengths = run.rate * np.sqrt(run.X.row_squares()[rows] + float(run.fit_intercept))
        steps = np.linalg.norm(np.diff(thetas, axis=0), axis=1)
        if not (run.plain_rule and np.allclose(steps, lengths, rtol=1e-6)):
            raise ValueError(
                "The convergence theorem is about corrections by rate * y * x with one rate for "
                "all; fit without row weights and with a constant rate."
            )
        signs = np.where(run.codes == 1, 1.0, -1.0)
        return cls(proof=convergence(bound_of(run), run.X, signs, thetas)).plot(ax=ax)

    @property
    def n_frames(self) -> int:
        """The frames of an animation: the start, and one after every correction."""
        return len(self.proof.length)

    def legend_handles(self) -> list[Any]:
        """Both sides of the proof and its ends, for a legend."""
        return list(self.lines_.values())

    def _draw_step(self, k: int, ax: Axes) -> None:
        """The run up to correction ``k``, in axes of the whole run."""
        self._begin(ax)
        proof, made = self.proof, self.n_frames - 1
        known = proof.bound.bound <= _REACH * max(made, 1)
        last = max(proof.bound.bound * 1.08 if known else 1.15 * made, 1.0)
        smooth = np.linspace(0.0, last, 300)
        below, above = class_colours(2)
        lower, upper = proof.formulas
        along = {"color": ink(), "ls": "--", "marker": "s", "markerfacecolor": paper()}
        lines: dict[str, tuple[Any, Any, dict[str, Any]]] = {
            "upper": (smooth, proof.upper(smooth), {"color": above, "label": upper}),
            "length": (None, proof.length, {"color": ink(), "marker": "o", "label": "‖θ‖"}),
            "projection": (None, proof.projection, {**along, "label": "θ·u"}),
            "lower": (smooth, proof.lower(smooth), {"color": below, "label": lower}),
        }
        self.lines_: dict[str, Line2D] = {}
        for name, (x, y, looks) in lines.items():
            if x is None:
                x, y = np.arange(k + 1), y[: k + 1]
                looks |= {"markersize": 4, "zorder": 3}
                looks |= {} if made <= _FEW else {"marker": ""}
            (self.lines_[name],) = ax.plot(x, y, lw=1.8, **looks)
        self.bound_: Line2D | None = None
        text = "$(R/\\gamma)^2$" if proof.plain else "the bound"
        if known:
            self.bound_ = ax.axvline(proof.bound.bound, color=muted(), ls=":", lw=1.4)
            looks = {"xycoords": ax.get_xaxis_transform(), "color": muted(), "ha": "right"}
            write_beside(ax, text, (proof.bound.bound, 0.0), (-4, 5), **looks)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        values = np.concatenate([proof.upper(smooth), proof.lower(smooth[:1])])
        ax.set(xlim=(0.0, last), ylim=(min(0.0, float(values.min())), 1.03 * float(values.max())))
        ax.set(xlabel="corrections k", ylabel="length")
        write_title(ax, f"{k:,} of at most {most_in_words(proof.bound.bound)} corrections")
