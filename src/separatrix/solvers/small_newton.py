"""Newton's steps on small problems, each in one compiled call.

Where there are few rows and columns, the overhead takes longer than the arithmetic: a Newton step
on a hundred rows is two microseconds of multiplications, and in NumPy a hundred microseconds of
calls.  The steps here are those of :mod:`~separatrix.solvers.newton` and of
:mod:`~separatrix.solvers.augmented_lagrangian`, in whose place :class:`SmallNewton` takes them
where :func:`fits` allows it: the Hessian formed and factorised (Cholesky, its diagonal scaled to
one), a search along the scores for a slope that has fallen well and a value that has not risen,
and for a loss with a kink its Moreau envelope, moved to new multipliers where only these can lower
the gap (Li, Sun and Toh, 2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit, scalar, specialise
from separatrix._compiled.linear_algebra import solve_lower
from separatrix._compiled.row_access import read_only
from separatrix.data.design import Design
from separatrix.losses.hinge import _hinge_slack as slack_at
from separatrix.losses.hinge import _hinge_terms as terms_at
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers.line_search import compiled_begin, compiled_trial
from separatrix.solvers.protocol import Candidate, Solver

# The numbers of entries and parameters up to which NumPy's calls cost more than its products save:
# of sparse rows, whose zeros are multiplied here, of dense ones, and of a loss with a kink, where
# only the rows near it have curvature.
_SPARSE, _SMOOTH, _KINKED = (20_000, 64), (120_000, 80), (500_000, 160)
# The largest sharpness of the envelopes, as a multiple of the first.
_SHARPEST = 1e14
# The upper limit of the sizes of targets; the largest size is above its reciprocal.
_WIDEST = 1e60


@scalar
def _no_slack(a, z, upper, parameter):
    return 0.0


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def solve(h, gradient, out):
    """Find Newton's direction from the lower half of a Hessian, overwritten; return its slope."""
    p = gradient.shape[0]
    for j in range(p):
        out[j] = -gradient[j]
    good, slope = solve_lower(h, out) > -1e-10, 0.0
    for j in range(p):
        slope += gradient[j] * out[j]
    if not (good and slope < 0.0 and slope > -np.inf):
        slope = 0.0
        for j in range(p):
            out[j] = -gradient[j]
            slope -= gradient[j] * gradient[j]
    return slope


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(x, fixed, old, gradient, out):
    """Find Newton's direction, or else that of steepest descent; return the slope along it."""
    curvature, (n, d) = old[2], x.shape
    p = gradient.shape[0]
    h = np.zeros((p, p))
    for i in range(n):
        c = curvature[i]
        if c > 0.0:
            for j in range(d):
                cx = c * x[i, j]
                for k in range(j + 1):
                    h[j, k] += cx * x[i, k]
            if p > d:
                for k in range(d):
                    h[d, k] += c * x[i, k]
                h[d, d] += c
    for j in range(d):
        h[j, j] += 1.0
    return solve(h, gradient, out)


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _linear(x, theta, out):
    """Compute ``X w + b``."""
    n, d = x.shape
    for i in range(n):
        total = theta[d] if theta.shape[0] > d else 0.0
        for j in range(d):
            total += x[i, j] * theta[j]
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _adjoint(x, slopes, out):
    """Multiply slopes by the transpose of ``X``, with a last entry for ``b``."""
    n, d = x.shape
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(n):
        r = slopes[i]
        if r != 0.0:
            for j in range(d):
                out[j] += r * x[i, j]
            if out.shape[0] > d:
                out[d] += r


@scalar
def _prepare(fixed, old, new, sharpness):
    """Store the centres and the widths of the envelopes."""
    upper = fixed[1]
    for i in range(upper.shape[0]):
        new[3, i] = old[3, i]
        # Finite where a weight is nearly zero: rows that do not move must not cost 0 times inf.
        new[4, i] = min(1.0 / (sharpness * upper[i]), 1e300) if upper[i] > 0.0 else 1.0


def _losses(x, fixed, new, adjoint, total, parameter):
    """Add the losses at the scores to the total; store their slopes, curvatures and sums."""
    y, upper, target = fixed[0], fixed[1], fixed[2]
    scores, slopes, curvature, centre, width = new[0], new[1], new[2], new[3], new[4]
    for i in range(x.shape[0]):
        slopes[i], curvature[i] = 0.0, 0.0
        if upper[i] > 0.0:
            z = y[i] * (scores[i] - target[i])
            v, s, c = terms_at(z, centre[i], width[i], upper[i], parameter)
            total += v
            slopes[i], curvature[i] = y[i] * s, c
    _adjoint(x, slopes, adjoint)
    return total


def _line(fixed, old, new, along, t, total, slope, parameter):
    """Add the losses at a point of a line to the total, and their slopes along it to ``slope``."""
    y, upper, target = fixed[0], fixed[1], fixed[2]
    for i in range(along.shape[0]):
        if upper[i] > 0.0:
            z = y[i] * (old[0, i] - target[i] + t * along[i])
            v, s, _ = terms_at(z, new[3, i], new[4, i], upper[i], parameter)
            total += v
            slope += s * y[i] * along[i]
    return total, slope


def _slack(fixed, new, parameter):
    """The part of the gap that is due to the envelopes."""
    y, upper, target, total = fixed[0], fixed[1], fixed[2], 0.0
    for i in range(upper.shape[0]):
        if upper[i] > 0.0:
            z = y[i] * (new[0, i] - target[i])
            total += slack_at(-y[i] * new[1, i], z, upper[i], parameter)
    return total


@scalar
def _sharpen(fixed, new, growth):
    """Move the envelopes to the multipliers at hand, and make them sharper."""
    for i in range(new.shape[1]):
        new[3, i] = -fixed[0, i] * new[1, i]
        new[4, i] /= growth


@scalar
def _centre(x, new, theta):
    """Leave a single intercept as it is."""


@scalar
def _advance(start, t, direction, theta):
    for j in range(theta.shape[0]):
        theta[j] = start[j] + (t * direction[j] if t > 0.0 else 0.0)


@scalar
def _half_square(theta, penalised):
    total = 0.0
    for j in range(penalised):
        total += 0.5 * theta[j] * theta[j]
    return total


@scalar
def _distances(theta, adjoint, penalised):
    """The part of the gap that is due to the slopes, and the squared length of the gradient."""
    left, distance = 0.0, 0.0
    for j in range(penalised):
        left += (theta[j] + adjoint[j]) ** 2
    distance += 0.5 * left
    for j in range(penalised, theta.shape[0]):
        distance += abs(theta[j] * adjoint[j])
        left += adjoint[j] ** 2
    return distance, left


def _search(x, fixed, old, new, start, direction, penalised, value, slope, trial, parameter):
    """The best length in a search along the scores after a first trial, or 0."""
    t, bracket = trial
    along, ww, wd, dd = np.empty_like(new[0]), 0.0, 0.0, 0.0
    for j in range(penalised):
        ww += start[j] * start[j]
        wd += start[j] * direction[j]
        dd += direction[j] * direction[j]
    _linear(x, direction, along)
    tries = 1
    while tries < 100 and t > 0.0:
        tries += 1
        there, here = _line(
            fixed, old, new, along, t,
            0.5 * ww + t * (wd + 0.5 * t * dd), wd + t * dd, parameter,
        )  # fmt: skip
        t, bracket = compiled_trial(t, there, here, value, slope, bracket)
    return bracket[0]


def _step(
    x, fixed, old, new, before, after, penalised, value, sharpness, growth, parameter, moving
):
    """Make a Newton step, or without ``moving`` evaluate the point for the first time.

    ``fixed`` holds the data of the rows; ``old`` and ``new`` their scores, the slopes there, and
    further numbers for the losses; ``before`` and ``after`` the point and the sum of the slopes
    times the rows, of which the first ``penalised`` numbers are weights.  ``growth`` is zero where
    the loss has no kink, and ``parameter`` is that of the loss.

    Returns the new value and sharpness, the expected gain of the step, the parts of the gap that
    are due to the slopes at this point and to the multipliers, whether the envelope has moved, and
    the outcome: 0 for success, 1 for a limit of precision, 2 for a failure.
    """
    p, theta, adjoint = before.shape[1], after[0], after[1]
    decrement, ended, squares, slope, trying = np.inf, 0, 0.0, 0.0, False
    gradient, direction = np.empty(p), np.empty(p)
    _prepare(fixed, old, new, sharpness)
    if moving:
        for j in range(p):
            gradient[j] = before[1, j] + (before[0, j] if j < penalised else 0.0)
            squares += gradient[j] * gradient[j]
        slope = _direction(x, fixed, old, gradient, direction)
        decrement = -0.5 * slope
        trying = slope < 0.0 and slope > -np.inf
        ended = 0 if trying else 2
        _advance(before[0], 1.0 if trying else 0.0, direction, theta)
        _centre(x, new, theta)
    # Fresh scores: sums of updates would drift away from X w + b.
    _linear(x, theta, new[0])
    there = _losses(x, fixed, new, adjoint, _half_square(theta, penalised), parameter)
    if trying:
        here = 0.0
        for j in range(p):
            here += direction[j] * (adjoint[j] + (theta[j] if j < penalised else 0.0))
        trial = compiled_trial(1.0, there, here, value, slope, compiled_begin(slope))
        # Nearly all full steps are taken: only after another is there a search along the scores.
        if trial[0] > 0.0:
            best = _search(
                x, fixed, old, new, before[0], direction, penalised, value, slope, trial, parameter
            )
            ended = 2 if best == 0.0 else 0
            _advance(before[0], best, direction, theta)
            _centre(x, new, theta)
            _linear(x, theta, new[0])
            there = _losses(x, fixed, new, adjoint, _half_square(theta, penalised), parameter)
    (distance, left), slack, fresh = _distances(theta, adjoint, penalised), 0.0, False
    if moving and ended == 0 and not there < value and not left < 0.25 * squares:
        ended = 2 if there > value else 1
    if moving and growth > 0.0:
        slack = _slack(fixed, new, parameter)
        # Newton's steps lower the one part, new multipliers the other: work on the larger.
        if not (distance > 0.5 * slack and ended == 0):
            fresh = True
            sharpness *= growth
            _sharpen(fixed, new, growth)
            there = _losses(x, fixed, new, adjoint, _half_square(theta, penalised), parameter)
    return there, sharpness, decrement, distance, slack, fresh, ended


# Not frozen: that takes a third of the time of a step.
@dataclass(slots=True)
class SmallState:
    """The state of the method.

    Attributes
    ----------
    x : ndarray of shape (n_samples, n_features)
    fixed : ndarray of shape (3, n_samples)
        The labels, the weights of the losses, and the targets of a loss of the residual; for
        several classes the numbers of the rows' classes and the weights.
    rows : ndarray of shape (5, n_samples)
        The scores, their slopes and curvatures, and the centres and widths of the envelopes; for
        several classes scores and slopes, (2, n_samples, n_classes).
    point : ndarray of shape (2, n_parameters)
        The point, and the sum of the slopes times the rows.
    shape : tuple of int
        The shape of the point.
    penalised : int
        The number of weights in the point; they come first.
    value : float
    sharpness, growth : float
        The sharpness of the envelopes and its growth; no growth where the loss has no kink.
    sharpest : float
        The sharpness at which the method ends, because narrower envelopes are lost in rounding.
    parameter : float
        The parameter of the loss.
    decrement, distance, slack : float
        The expected gain of the last step, and the two parts of the gap.
    fresh : bool
        Whether the envelope has just moved.
    stalled : int
        The number of envelopes in succession that ended in rounding.
    status : str or None
    nearest : SmallState or None
        The state whose multipliers leave the least gap, among those at the ends of the envelopes so
        far, where it is not the last one.
    """

    kernel: Any
    x: np.ndarray
    fixed: Any
    rows: np.ndarray
    point: np.ndarray
    shape: tuple[int, ...]
    penalised: int
    value: float = np.inf
    sharpness: float = 1.0
    growth: float = 0.0
    sharpest: float = np.inf
    parameter: float = 0.0
    decrement: float = np.inf
    distance: float = np.inf
    slack: float = 0.0
    fresh: bool = False
    stalled: int = 0
    status: str | None = None
    nearest: SmallState | None = None

    @property
    def theta(self) -> np.ndarray:
        return self.point[0].reshape(self.shape)

    @property
    def gap(self) -> float:
        return self.distance + self.slack


def fits(problem: Any) -> bool:
    """Whether a problem is small, and of a kind that the compiled steps can solve."""
    if type(problem) not in (MarginObjective, ResidualObjective):
        return False
    if problem.loss.of_residual and not _even(problem.targets):
        return False
    n, d = problem.design.shape
    most = _SMOOTH if problem.loss.smooth else _KINKED
    entries, parameters = most if 2 * problem.design.n_stored > n * d else _SPARSE
    return (
        n * d <= entries
        and d < parameters
        and hasattr(problem.loss, "terms_at")
        and problem.penalty.ridge
        and problem.intercept_penalty == 0.0
    )


def _even(targets: np.ndarray) -> bool:
    """Whether targets vary, and their squares are well within the range of float64.

    With constant ones the least objective is zero, or nearly, where a relative gap means nothing.
    """
    low, high = float(targets.min()), float(targets.max())
    return low < high and 1.0 / _WIDEST < max(-low, high) < _WIDEST


def dense_rows(design: Design) -> np.ndarray:
    x: Any = getattr(design, "rows", (None,))[0]
    if x is None or not (
        x.ndim == 2 and x.dtype == np.float64 and x.flags.c_contiguous and x.flags.aligned
    ):
        x = next(iter(design.blocks(owned=True, size=design.n_samples)))[1]
    return read_only(x)


def start(
    problem: Any,
    theta: np.ndarray,
    residual: np.ndarray | None = None,
    growth: float = 0.0,
) -> SmallState:
    """The state at a point, with the envelopes at multipliers where there are some."""
    loss, n = problem.loss, problem.design.n_samples
    rows, fixed = np.zeros((5, n)), np.zeros((3, n))
    if residual is not None and growth > 0.0:
        rows[3] = problem.multipliers(residual)
    fixed[0], fixed[1] = problem.y, problem.upper
    # A kink as wide as the margin itself, or as the mean residual.
    sharpness = 1.0
    if loss.of_residual:
        fixed[2] = problem.targets
        mean = problem.value(theta) / max(float(problem.upper.sum()), 1e-300)
        sharpness = 1.0 / mean if 0.0 < mean < np.inf else 1.0
    kernel = _kernel(loss.terms_at, loss.slack_at if growth > 0.0 else _no_slack)
    return begin(
        problem, theta, kernel, fixed, rows,
        sharpness=sharpness, growth=growth, sharpest=_SHARPEST * sharpness,
        parameter=loss.parameter,
    )  # fmt: skip


@functools.cache
def _kernel(terms_at: Any, slack_at: Any) -> Any:
    """The steps for a loss of the margin or of the residual."""
    return step_of(
        _losses=specialise(_losses, terms_at=terms_at),
        _line=specialise(_line, terms_at=terms_at),
        _slack=specialise(_slack, slack_at=slack_at),
    )


def step_of(**parts: Any) -> Any:
    """The compiled step with some of its parts replaced, by their names."""
    own = {"_linear": _linear, **parts}
    search = specialise(_search, _linear=own["_linear"], _line=own["_line"])
    return specialise(_step, _search=search, **parts)


def begin(
    problem: Any, theta: np.ndarray, kernel: Any, fixed: Any, rows: np.ndarray, **more: Any
) -> SmallState:
    """The state at a point, for a compiled step."""
    point = np.zeros((2, theta.size))
    point[0] = theta.ravel()
    penalised = problem.design.n_features * (theta.size // len(theta))
    x = dense_rows(problem.design)
    state = SmallState(kernel, x, fixed, rows, point, theta.shape, penalised, **more)
    return _moved(state, False)


def _moved(state: SmallState, moving: bool) -> SmallState:
    rows, point = np.empty_like(state.rows), np.empty_like(state.point)
    if not moving:
        point[0] = state.point[0]
    value, sharpness, decrement, distance, slack, fresh, ended = state.kernel(
        state.x, state.fixed, state.rows, rows, state.point, point, state.penalised, state.value,
        state.sharpness, state.growth, state.parameter, moving,
    )  # fmt: skip
    stalled = state.stalled + 1 if fresh and ended else 0
    status = None
    if state.growth == 0.0 and ended:
        # The better of two points is kept where they differ only by rounding.
        rows, point = (state.rows, state.point) if ended == 2 else (rows, point)
        status = "precision_limit"
    if stalled >= 4 or sharpness > state.sharpest:
        status = "precision_limit"
    nearest = state.nearest
    if state.fresh and (nearest is None or state.gap < nearest.gap):
        # Its own ``nearest`` is dropped, or they would all be kept.
        state.nearest, nearest = None, state
    return SmallState(
        state.kernel, state.x, state.fixed, rows, point, state.shape, state.penalised,
        value, sharpness, state.growth, state.sharpest, state.parameter,
        decrement, distance, slack, fresh, stalled, status, nearest,
    )  # fmt: skip


class SmallNewton(Solver):
    """Newton's steps on a small problem, in the place of a method that takes the same ones.

    Parameters
    ----------
    name : str
        The name of the method.
    start : callable
        A function that gives the state at a point and a dual point.
    """

    def __init__(self, name: str, start: Callable[..., SmallState]) -> None:
        self.name = name
        self._start = start

    def requires(self, problem: Any) -> None:
        """Do nothing: the method that this replaces has checked that the problem fits."""

    def judges_start(self, problem: Any) -> bool:
        """Whether the gradient at the start bounds the gap there, as it does without envelopes."""
        return bool(problem.smooth)

    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> SmallState:
        return self._start(problem, theta, residual)

    def step(
        self, problem: Any, state: SmallState, check_interrupt: Callable[[], None]
    ) -> SmallState:
        return _moved(state, True)

    def candidate(self, problem: Any, state: SmallState) -> Candidate:
        scores, slopes = state.rows[0], state.rows[1]
        if state.growth > 0.0:
            # On a fresh envelope the multipliers that belong to this point are its centre.
            dual = -problem.y * state.rows[3] if state.fresh else slopes
            return Candidate(state.theta, dual, scores)
        if slopes.ndim > 1:
            slopes = problem.upper[:, None] * slopes
        adjoint = state.point[1, : state.penalised].reshape(-1, *state.shape[1:])
        return Candidate(state.theta, slopes, scores, adjoint)

    def earlier(self, problem: Any, state: SmallState) -> Candidate | None:
        """A point from an earlier envelope; between two envelopes the multipliers give no bound."""
        return None if state.nearest is None else self.candidate(problem, state.nearest)

    def objective_at(self, state: SmallState) -> float:
        return state.value

    def should_check(self, problem: Any, state: SmallState, tol: float) -> bool:
        """Whether the gap that the step found promises a certificate."""
        # Another step takes less time than a certificate that fails.
        if state.growth > 0.0 and not state.fresh:
            return False
        return state.gap <= 0.9 * tol * abs(state.value)

    def stopped(self, problem: Any, state: SmallState) -> str | None:
        return state.status
