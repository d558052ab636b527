"""The proof of the perceptron's convergence theorem along a run, and runs in several orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import Design, as_design
from separatrix.data.random_state import seed_of
from separatrix.data.validation import check_choice, check_number
from separatrix.geometry.separation.perceptron_bound import (
    PerceptronBound,
    perceptron_bound,
    posed,
    run_of,
)
from separatrix.solvers.perceptron import ORDERS

# Orders in which chance has no part.
_DETERMINED = ("cyclic", "restart", "margin")


@dataclass(frozen=True)
class Convergence:
    r"""Both sides of the proof of the convergence theorem, after every correction of a run.

    With the unit vector :math:`u` of the largest margin :math:`\gamma`, the length :math:`R` of the
    longest point, the rate :math:`\eta` and the margin :math:`m` of the rule,

    .. math::
        \theta_0 \cdot u + k\,\eta\,\gamma \;\le\; \theta_k \cdot u \;\le\; \|\theta_k\|
        \;\le\; \sqrt{\|\theta_0\|^2 + k\,(2\,\eta\,m + \eta^2 R^2)}.

    From zero, with :math:`\eta = 1` and :math:`m = 0`, the ends are :math:`k\gamma` and
    :math:`\sqrt k R`. Where there is an offset, points and weights have it as a last coordinate.

    Attributes
    ----------
    bound : PerceptronBound
        The most corrections that this start, rate and margin allow.
    direction : ndarray
        ``u``.
    gamma : float
        The margin of the points along ``u``.
    projection, length : ndarray of shape (n_updates + 1,)
        ``theta_k . u`` and ``|theta_k|``, from ``k = 0``.
    """

    bound: PerceptronBound
    direction: np.ndarray
    gamma: float
    projection: np.ndarray
    length: np.ndarray

    @property
    def plain(self) -> bool:
        """Whether the run began at zero, with a rate of 1 and no margin."""
        return self._from_zero and self.bound.learning_rate == 1.0

    @property
    def _from_zero(self) -> bool:
        return self.bound.from_zero and self.bound.update_margin == 0.0

    def lower(self, k: Any) -> np.ndarray:
        """The lower end of the chain after ``k`` corrections."""
        gain = self.bound.learning_rate * self.gamma
        return np.asarray(self.projection[0] + np.asarray(k) * gain)

    def upper(self, k: Any) -> np.ndarray:
        """The upper end of the chain after ``k`` corrections."""
        rate, margin = self.bound.learning_rate, self.bound.update_margin
        growth = math.hypot(math.sqrt(2.0 * rate * margin), rate * self.bound.radius)
        # Squares of long points may be beyond the range of floats.
        return np.asarray(np.hypot(self.length[0], np.sqrt(k) * growth))

    @property
    def formulas(self) -> tuple[str, str]:
        """The lower and the upper end as formulas."""
        if self.plain:
            return "k γ", "√k R"
        if self._from_zero:
            return "k η γ", "√k η R"
        margin = "2 η m + " if self.bound.update_margin else ""
        growth = f"({margin}η² R²)" if margin else "η² R²"
        start = "" if self.bound.from_zero else "‖θ₀‖² + "
        return ("" if self.bound.from_zero else "θ₀·u + ") + "k η γ", f"√({start}k {growth})"


def convergence(bound: PerceptronBound, X: Any, y: np.ndarray, thetas: np.ndarray) -> Convergence:
    """Evaluate the proof of the convergence theorem at the weights of a run.

    Parameters
    ----------
    bound : PerceptronBound
        The bound for the same points, start, rate and margin.
    X : Design, array or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    thetas : ndarray of shape (n_updates + 1, n_features) or (n_updates + 1, n_features + 1)
        The weights of the start and after every correction, with the offset last if there is one.

    Raises
    ------
    ValueError
        If the classes are not separable, or by no margin that floats can hold.
    """
    if bound.margin is None or not bound.margin.lower > 0.0:
        raise ValueError(f"The convergence theorem bounds nothing here: {bound.verdict}.")
    design = X if isinstance(X, Design) else as_design(X)
    plane = bound.margin.hyperplane
    lifted = thetas.shape[1] > design.n_features
    # The offset of a plane through the origin is zero.
    u = np.array([*plane.w, plane.b] if lifted else plane.w, dtype=np.float64)
    u /= np.linalg.norm(u)
    scores = design.dot(np.ascontiguousarray(u[: design.n_features]))
    gamma = float(np.min(y * (scores + (u[-1] if lifted else 0.0))))
    size = float(np.abs(thetas).max()) or 1.0
    length = size * np.linalg.norm(thetas / size, axis=1)
    return Convergence(bound, u, gamma, thetas @ u, length)


@dataclass(frozen=True)
class OrderRuns:
    """Runs of the perceptron in one order from one start.

    Attributes
    ----------
    order : str
    start : ndarray
        The weights at the start, with the offset last if there is one.
    corrections, passes : ndarray of int of shape (n_runs,)
    finished : ndarray of bool of shape (n_runs,)
        Whether the run came to a pass without a mistake.
    bound : PerceptronBound
        The bound for this start; it holds for every order.
    """

    order: str
    start: np.ndarray
    corrections: np.ndarray
    passes: np.ndarray
    finished: np.ndarray
    bound: PerceptronBound


def order_runs(
    X: Any,
    y: Any,
    *,
    orders: Sequence[str] = ("cyclic", "random", "replacement"),
    starts: Sequence[Any] | None = None,
    n_trials: int = 30,
    fit_intercept: bool = True,
    learning_rate: float = 1.0,
    margin: float = 0.0,
    max_passes: int = 1000,
    random_state: Any = None,
) -> list[OrderRuns]:
    """Run the perceptron in several orders from several starts.

    Parameters
    ----------
    X, y, fit_intercept, learning_rate, margin, max_passes
        As in :func:`separatrix.perceptron_bound`.
    orders : sequence of str
        The orders, as in :class:`separatrix.Perceptron`.
    starts : sequence of array-like, optional
        Weights to start from, with the offset last if there is one; zero by default.
    n_trials : int, default=30
        The number of runs of each order in which rows are drawn; the others are run once.
    random_state : int, RandomState or None
        None is a fixed stream.

    Returns
    -------
    list of OrderRuns
        Order by order from the first start, then from the others.

    Raises
    ------
    ValueError
        For bad parameters or data, and for classes that are not separable.
    """
    if isinstance(orders, str) or not len(orders):
        raise ValueError(f"orders={orders!r} must be a sequence of orders, such as ('cyclic',).")
    for order in orders:
        check_choice("orders", order, ORDERS)
    check_number("n_trials", n_trials, minimum=1, integer=True)
    seed = seed_of(random_state)
    out = []
    for start in [()] if starts is None else starts:
        theta = np.ravel(np.asarray(start, dtype=np.float64))
        given: dict[str, Any] = {"fit_intercept": fit_intercept, "learning_rate": learning_rate}
        given |= {"margin": margin, "coef_init": None, "intercept_init": None}
        if len(theta):
            given["coef_init"] = theta[:-1] if fit_intercept else theta
            given["intercept_init"] = theta[-1] if fit_intercept else None
        # The runs are those below.
        bound = perceptron_bound(X, y, max_passes=1, **given)
        if not bound.separable:
            raise ValueError(f"No order of visits comes to an end: {bound.verdict}.")
        *_, problem = posed(X, y, **given)
        for order in orders:
            trials = range(1 if order in _DETERMINED else n_trials)
            runs = [run_of(problem, order, max_passes, [seed, trial]) for trial in trials]
            mistakes, passes, finished = zip(*runs, strict=True)
            corrections = np.array([one.sum() for one in mistakes])
            own = order, problem.zero(), corrections, np.array(passes), np.array(finished)
            out.append(OrderRuns(*own, bound))
    return out
