"""The most mistakes that a perceptron can make before it is done: the convergence theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.rounding import EPS
from separatrix.data.labels import plain_label
from separatrix.data.random_state import generator_of, seed_of
from separatrix.data.validation import check_choice, check_number
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.exact.rational import dot, root_down, root_up, round_up
from separatrix.geometry.points import Cloud, LabelledPoints, labelled_points
from separatrix.geometry.separation.margin import MarginBounds, margin_bounds
from separatrix.geometry.separation.separability import Separability, decide
from separatrix.geometry.separation.witness import Sides
from separatrix.losses import PerceptronLoss
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import minimise
from separatrix.solvers.perceptron import ORDERS, MistakeDriven, starting_points


@dataclass(frozen=True)
class PerceptronBound:
    """The bound of the convergence theorem, and what a run of the perceptron made of it.

    With an offset the points are the lifted ones, ``(x, 1)``, and all hyperplanes go through
    their origin: lengths, margin and start then count the last coordinate too.

    Attributes
    ----------
    verdict : Separability
        Whether the classes are separable, with its witness.  If they are not, there is no bound.
    radius : float
        R, the length of the longest point, rounded up.
    margin : MarginBounds or None
        The largest margin gamma of the points, between ``margin.lower`` and ``margin.upper``.
        None where there is none, or none that floats can hold.
    bound : float
        The most mistakes that any order of visits can make, from this start and with this rate
        and margin: rounded up, and from ``margin.lower``, so that it is a bound.  From zero and
        with the plain rule it is ``(R / gamma)^2``.  Infinite where there is no bound.
    mistakes : int or None
        The number of mistakes in the run; None where the classes are not separable, and there was
        no run.
    by_sample : ndarray of shape (n_samples,) or None
        The run's mistakes on every point.
    passes : int or None
        The number of passes in the run; None likewise.
    finished : bool
        Whether the run came to a pass without a mistake.
    order : str
    learning_rate : float
    update_margin : float
        The value that ``y (w.x + b)`` must reach for a point not to be a mistake; 0 is the plain
        rule.
    from_zero : bool
        Whether the start was zero.
    """

    verdict: Separability
    radius: float
    margin: MarginBounds | None
    bound: float
    mistakes: int | None
    by_sample: np.ndarray | None = field(repr=False, compare=False)
    passes: int | None
    finished: bool
    order: str
    learning_rate: float
    update_margin: float
    from_zero: bool

    @property
    def separable(self) -> bool:
        """Whether the classes are separable: whether there is a bound at all."""
        return self.verdict.separable

    @property
    def B(self) -> float:
        """``1 / gamma``, rounded up: the length of the shortest weights of margin 1 or more."""
        if self.margin is None or not self.margin.lower > 0.0:
            return math.inf
        return round_up(1 / Fraction(self.margin.lower))

    def __str__(self) -> str:
        if not self.separable:
            return f"no bound on the mistakes of a perceptron: {self.verdict}"
        if self.margin is None or not math.isfinite(self.bound):
            text = (
                "no bound in floating point: the classes are separable, but the margin is too "
                "small for it"
            )
        else:
            most = math.floor(self.bound)
            plain = self.from_zero and self.update_margin == 0.0
            formula = f"(R / margin)^2 = {self.bound:.6g}" if plain else f"bound {self.bound:.6g}"
            text = (
                f"at most {most:,} {'mistake' if most == 1 else 'mistakes'} in any order: "
                f"R = {self.radius:.6g}, margin {self.margin}, {formula}"
            )
        start = "from zero" if self.from_zero else "from the given start"
        passes = "1 pass" if self.passes == 1 else f"{self.passes:,} passes"
        done = "" if self.finished else ", and had not ended"
        return f"{text}; the {self.order} order {start} made {self.mistakes:,} in {passes}{done}"


def perceptron_bound(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    coef_init: Any = None,
    intercept_init: Any = None,
    learning_rate: float = 1.0,
    margin: float = 0.0,
    order: str = "cyclic",
    max_passes: int = 1000,
    random_state: Any = None,
) -> PerceptronBound:
    r"""Bound the mistakes of a perceptron on these points, and count those of one run.

    Let the points :math:`x_i` (lifted to :math:`(x_i, 1)` with an offset) be no longer than
    :math:`R`, and let a unit vector :math:`u` separate them with the margin
    :math:`\gamma = \min_i y_i\,u\cdot x_i > 0`.  Every mistake adds :math:`\eta\,y_i x_i` to the
    weights :math:`\theta`, where :math:`y_i\,\theta\cdot x_i \le m` (the plain rule has
    :math:`m = 0`).  After :math:`k` mistakes, in whatever order,

    .. math::
        \theta_k\cdot u \ge \theta_0\cdot u + k\,\eta\,\gamma, \qquad
        \|\theta_k\|^2 \le \|\theta_0\|^2 + k\,(2\,\eta\,m + \eta^2 R^2),

    and because :math:`\theta_k\cdot u \le \|\theta_k\|`, ``k`` is at most the larger root of

    .. math::
        (\theta_0\cdot u + k\,\eta\,\gamma)^2 = \|\theta_0\|^2 + k\,(2\,\eta\,m + \eta^2 R^2).

    From zero and with the plain rule that is :math:`(R/\gamma)^2 = (R B)^2`, with
    :math:`B = 1/\gamma` the length of the shortest weights of margin 1, and the rate does not
    matter.  ``bound`` is computed from a margin that was certified in exact arithmetic, and
    rounded up.  It is about exact arithmetic: a run in floating point can only make more mistakes
    where rounding decides whether a point is one.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes.
    fit_intercept : bool, default=True
        Lift the points, or keep the plane at the origin.
    coef_init, intercept_init : array-like, optional
        Where to start; zero by default.  As in :meth:`separatrix.Perceptron.fit`.
    learning_rate : float, default=1.0
    margin : float, default=0.0
        A point is a mistake while ``y (w.x + b) < margin``; with 0, while it is ``<= 0``.
    order : {"cyclic", "restart", "random", "replacement", "margin"}, default="cyclic"
        The order of the run, as in :class:`separatrix.Perceptron`; the bound holds for every
        order.
    max_passes : int, default=1000
        The most passes of the run.
    random_state : int, RandomState or None
        The source of the random order.
        None is a fixed stream: the same call on the same data gives the same bits.

    Returns
    -------
    PerceptronBound
        If the classes are not separable, it has no bound, but a witness that they are not.

    Raises
    ------
    ValueError
        For bad parameters, NaN or infinity (named by row and column), or any number of classes
        but two.

    References
    ----------
    Block (1962), The perceptron: a model for brain functioning.  Novikoff (1962), On convergence
    proofs for perceptrons.

    Examples
    --------
    >>> from separatrix import perceptron_bound
    >>> X, y = [[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1]
    >>> print(perceptron_bound(X, y, fit_intercept=False))
    at most 3 mistakes in any order: R = 1.80278, margin 1, (R / margin)^2 = 3.25;
    the cyclic order from zero made 2 in 2 passes
    >>> X, y = [[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1]
    >>> perceptron_bound(X, y).verdict.status
    'not_separable'
    """
    check_choice("order", order, ORDERS)
    check_number("max_passes", max_passes, minimum=1, integer=True)
    points, sides, cloud, problem = posed(
        X,
        y,
        fit_intercept=fit_intercept,
        coef_init=coef_init,
        intercept_init=intercept_init,
        learning_rate=learning_rate,
        margin=margin,
    )
    start = problem.zero()
    verdict = decide(points, sides, fit_intercept=fit_intercept, margin=False)
    radius = _squared_radius(cloud)
    found: MarginBounds | None = None
    bound, by_sample, passes, finished = math.inf, None, None, False
    if verdict.separable:
        plane = verdict.hyperplane
        assert plane is not None
        found = margin_bounds(cloud, (plane.w, plane.b), penalised_intercept=fit_intercept)
        if found is not None and found.lower > 0.0:
            bound = _bound(cloud, found, radius, start, learning_rate, margin)
        by_sample, passes, finished = run_of(problem, order, max_passes, seed_of(random_state))
    return PerceptronBound(
        verdict=verdict,
        radius=root_up(radius),
        margin=found,
        bound=bound,
        mistakes=None if by_sample is None else int(by_sample.sum()),
        by_sample=by_sample,
        passes=passes,
        finished=finished,
        order=order,
        learning_rate=float(learning_rate),
        update_margin=float(margin),
        from_zero=not start.any(),
    )


def posed(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool,
    coef_init: Any,
    intercept_init: Any,
    learning_rate: float,
    margin: float,
) -> tuple[LabelledPoints, Sides, Cloud, MistakeObjective]:
    """The points of two classes, and what a perceptron makes of them; see `perceptron_bound`."""
    check_number("learning_rate", learning_rate, above=0)
    check_number("margin", margin, minimum=0)
    points = labelled_points(X, y)
    classes = [plain_label(c) for c in points.labels.classes]
    if len(classes) != 2:
        raise ValueError(
            f"The bound needs two classes, and y has {len(classes)}; pass one of them against the "
            "rest (y == label)."
        )
    start = starting_points(
        coef_init,
        intercept_init,
        n_features=points.design.n_features,
        parts=1,
        fit_intercept=fit_intercept,
    )[0]
    sides = Sides(classes[0], classes[1])
    cloud, _ = sides.cloud(points, lifted=fit_intercept)
    problem = MistakeObjective(
        cloud.design,
        cloud.y,
        PerceptronLoss(),
        margin=margin,
        rate=learning_rate,
        start=start,
        fit_intercept=fit_intercept,
    )
    return points, sides, cloud, problem


def run_of(
    problem: MistakeObjective, order: str, max_passes: int, seed: Any
) -> tuple[np.ndarray, int, bool]:
    """The mistakes of a run on every point, its passes, and whether it came to an end."""
    solution = minimise(
        problem,
        MistakeDriven(order, keep="last"),
        max_iter=max_passes,
        seed=generator_of(seed),
        exhausted="not_separated",
    )
    if solution.interrupted:
        raise KeyboardInterrupt(str(solution.certificate))
    return solution.state.mistakes, solution.state.passes, solution.certificate.ok


def _squared_radius(cloud: Cloud) -> Fraction:
    """The largest squared length of a point, rounded up."""
    with np.errstate(over="ignore", under="ignore"):
        largest = float(cloud.design.row_squares().max())
    if 1e-280 < largest < 1e300:
        # A sum of squares in floats is this exact, whatever the order.
        terms = cloud.design.n_features + 8
        square = Fraction(largest) * (1 + Fraction(terms * EPS))
    else:
        square = Fraction(0)
        for i in range(cloud.n):
            row = cloud.design.take(np.array([i])).matrix
            row = row.toarray() if sp.issparse(row) else row
            values = [Fraction(v) for v in row.ravel().tolist() if v]
            square = max(square, dot(values, values))
    return square + 1 if cloud.lifted else square


def _bound(
    cloud: Cloud,
    margins: MarginBounds,
    radius: Fraction,
    start: np.ndarray,
    rate: float,
    margin: float,
) -> float:
    """The most mistakes, from a squared radius that is rounded up."""
    eta = Fraction(rate)
    growth = 2 * eta * Fraction(margin) + eta**2 * radius
    exact_start = [Fraction(v) for v in start.tolist()]
    square = dot(exact_start, exact_start)
    # Whatever the direction u of the largest margin is, the start is no further behind than its
    # length ...
    gamma = Fraction(margins.lower)
    best = _larger_root(-Fraction(root_up(square)), eta * gamma, square, growth)
    if not square:
        return best
    # ... and for a direction that is known as floats, with its own margin, how far is known too.
    plane = margins.hyperplane
    u = [Fraction(v) for v in plane.w.tolist()]
    if cloud.lifted:
        u.append(Fraction(float(plane.b)))
    signs, values = product_signs(cloud.design, cloud.y, plane.w, float(plane.b))
    if not np.all(signs > 0):
        return best
    length = dot(u, u)
    least = Fraction(float(values.min())) * (1 - Fraction(1e-12))
    gamma = Fraction(root_down(least**2 / length))
    ahead = dot(exact_start, u)
    square_ahead = ahead**2 / length
    projection = Fraction(root_down(square_ahead) if ahead > 0 else -root_up(square_ahead))
    if not gamma:
        return best
    return min(best, _larger_root(projection, eta * gamma, square, growth))


def _larger_root(projection: Fraction, gain: Fraction, square: Fraction, growth: Fraction) -> float:
    """The larger root k of ``(projection + k gain)^2 = square + k growth``, rounded up.

    It falls as ``projection`` grows, so that a lower bound of it serves.
    """
    # Everything in units of the root itself, so that the scale of the data cancels.
    middle = (growth - 2 * projection * gain) / (2 * gain**2)
    root = root_up(middle**2 + max(square - projection**2, Fraction(0)) / gain**2)
    return max(round_up(middle + Fraction(root)), 0.0) if math.isfinite(root) else math.inf
