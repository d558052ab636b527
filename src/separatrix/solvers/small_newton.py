"""Newton's steps on small problems, each in one compiled call.

Where there are few rows and columns, what surrounds the arithmetic takes longer than the
arithmetic: a Newton step on a hundred rows is two microseconds of multiplications, and in NumPy a
hundred of calls.  The steps here are those of :mod:`~separatrix.solvers.newton` and of
:mod:`~separatrix.solvers.augmented_lagrangian`, whose classes take them where :func:`fits` says so:
the Hessian formed and factorised (Cholesky, its diagonal scaled to one), a search along the scores
for a slope that has fallen well and a value that has not risen, and for a loss with a kink its
Moreau envelope, moved to new multipliers where only these can lower the gap (Li, Sun and Toh,
2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit, scalar, specialise
from separatrix._compiled.row_access import read_only
from separatrix.data.design import Design
from separatrix.losses.hinge import _hinge_slack as slack_at
from separatrix.losses.hinge import _hinge_terms as terms_at
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers.line_search import compiled_begin, compiled_trial
from separatrix.solvers.protocol import Candidate

__all__ = [
    "SmallState",
    "candidate",
    "dense_rows",
    "fits",
    "should_check",
    "solve",
    "start",
    "step",
]

# Up to so many entries and parameters NumPy's calls cost more than its products save: of sparse
# rows, whose zeros are multiplied here, of dense ones, and of a loss with a kink, of which only the
# rows near it have curvature.
_SPARSE, _SMOOTH, _KINKED = (20_000, 64), (120_000, 80), (500_000, 160)
# By how many times the envelopes become sharper than the first, at most.
_SHARPEST = 1e14
# Targets are smaller than this, and the largest larger than its reciprocal.
_WIDEST = 1e60


@scalar
def _no_slack(a, z, upper, parameter):
    return 0.0


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def solve(h, gradient, out):
    """Newton's direction from the lower half of a Hessian, which is overwritten; and its slope.

    Cholesky's factor of the Hessian with its diagonal scaled to one.  What rounding leaves of a
    pivot that depends on those before it is not divided by.
    """
    p = gradient.shape[0]
    scale = np.empty(p)
    for j in range(p):
        scale[j] = 1.0 / np.sqrt(h[j, j]) if h[j, j] > 0.0 else 1.0
    least, good = 1e-14 * p, True
    for j in range(p):
        for k in range(j + 1):
            total = h[j, k] * scale[j] * scale[k]
            for m in range(k):
                total -= h[j, m] * h[k, m]
            if j > k:
                h[j, k] = total / h[k, k]
            else:
                good = good and total > -1e-10
                h[j, j] = np.sqrt(max(total, least))
    for j in range(p):
        total = -scale[j] * gradient[j]
        for k in range(j):
            total -= h[j, k] * out[k]
        out[j] = total / h[j, j]
    for j in range(p - 1, -1, -1):
        total = out[j]
        for k in range(j + 1, p):
            total -= h[k, j] * out[k]
        out[j] = total / h[j, j]
    slope = 0.0
    for j in range(p):
        out[j] *= scale[j]
        slope += gradient[j] * out[j]
    if not (good and slope < 0.0 and slope > -np.inf):
        slope = 0.0
        for j in range(p):
            out[j] = -gradient[j]
            slope -= gradient[j] * gradient[j]
    return slope


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(x, curvature, gradient, out):
    """Newton's direction, and the slope along it; of steepest descent where there is none."""
    n, d = x.shape
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
    """``X w + b``."""
    n, d = x.shape
    for i in range(n):
        total = theta[d] if theta.shape[0] > d else 0.0
        for j in range(d):
            total += x[i, j] * theta[j]
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _adjoint(x, slopes, out):
    """The transpose of that."""
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


def _step(x, rows, old, new, before, after, value, sharpness, growth, parameter, moving):
    """A Newton step, or without ``moving`` a first look at the point.

    ``rows`` hold labels, weights and targets, which are zero where there are labels, and
    ``parameter`` is the loss's; ``old`` and ``new`` scores, their slopes and curvatures, and
    the centres of the envelopes; ``before`` and ``after`` the point and the sum of the slopes times
    the rows.
    ``growth`` is zero where the loss has no kink.

    Returns the new value and sharpness, what the step was expected to gain, the shares of the gap
    that the slopes at this point and the multipliers as such have, whether the envelope has moved,
    and how it went: 0 well, 1 as far as rounding allows, 2 not at all.
    """
    n, d = x.shape
    p = before.shape[1]
    y, upper, target, width = rows[0], rows[1], rows[2], np.empty(n)
    centre, theta, adjoint = new[3], after[0], after[1]
    for i in range(n):
        centre[i] = old[3, i]
        # Finite where a weight is next to nothing: what does not move must not cost 0 times inf.
        width[i] = min(1.0 / (sharpness * upper[i]), 1e300) if upper[i] > 0.0 else 1.0
    decrement, ended, squares, slope = np.inf, 0, 0.0, 0.0
    gradient, direction = np.empty(p), np.empty(p)
    trying = moving
    if moving:
        for j in range(p):
            gradient[j] = before[1, j] + (before[0, j] if j < d else 0.0)
            squares += gradient[j] * gradient[j]
        slope = _direction(x, old[2], gradient, direction)
        decrement = -0.5 * slope
        trying = slope < 0.0 and slope > -np.inf
        ended = 0 if trying else 2
        for j in range(p):
            theta[j] = before[0, j] + (direction[j] if trying else 0.0)
    # Fresh scores: sums of updates would drift away from X w + b.
    _linear(x, theta, new[0])
    fresh, slack, distance = False, 0.0, 0.0
    while True:
        there = 0.0
        for j in range(d):
            there += 0.5 * theta[j] * theta[j]
        for i in range(n):
            new[1, i], new[2, i] = 0.0, 0.0
            if upper[i] > 0.0:
                z = y[i] * (new[0, i] - target[i])
                v, s, c = terms_at(z, centre[i], width[i], upper[i], parameter)
                there += v
                new[1, i], new[2, i] = y[i] * s, c
        _adjoint(x, new[1], adjoint)
        if trying:
            # Nearly all full steps are taken: only for another are the scores searched along.
            trying, here = False, 0.0
            for j in range(p):
                here += direction[j] * (adjoint[j] + (theta[j] if j < d else 0.0))
            t, bracket = compiled_trial(1.0, there, here, value, slope, compiled_begin(slope))
            if t > 0.0:
                along, ww, wd, dd = np.empty(n), 0.0, 0.0, 0.0
                for j in range(d):
                    ww += before[0, j] * before[0, j]
                    wd += before[0, j] * direction[j]
                    dd += direction[j] * direction[j]
                _linear(x, direction, along)
                tries = 1
                while tries < 100 and t > 0.0:
                    tries += 1
                    there = 0.5 * ww + t * (wd + 0.5 * t * dd)
                    here = wd + t * dd
                    for i in range(n):
                        if upper[i] > 0.0:
                            z = y[i] * (old[0, i] - target[i] + t * along[i])
                            v, s, _ = terms_at(z, centre[i], width[i], upper[i], parameter)
                            there += v
                            here += s * y[i] * along[i]
                    t, bracket = compiled_trial(t, there, here, value, slope, bracket)
                best = bracket[0]
                ended = 2 if best == 0.0 else 0
                for j in range(p):
                    theta[j] = before[0, j] + best * direction[j]
                _linear(x, theta, new[0])
                continue
        if fresh:
            break
        for j in range(d):
            distance += 0.5 * (theta[j] + adjoint[j]) ** 2
        left = 2.0 * distance + (adjoint[d] ** 2 if p > d else 0.0)
        distance += abs(adjoint[d] * theta[d]) if p > d else 0.0
        if not moving:
            break
        if ended == 0 and not there < value and not left < 0.25 * squares:
            ended = 2 if there > value else 1
        if growth == 0.0:
            break
        for i in range(n):
            if upper[i] > 0.0:
                z = y[i] * (new[0, i] - target[i])
                slack += slack_at(-y[i] * new[1, i], z, upper[i], parameter)
        # Newton's steps lower the one share, new multipliers the other: work on the larger.
        if distance > 0.5 * slack and ended == 0:
            break
        fresh = True
        sharpness *= growth
        for i in range(n):
            centre[i] = -y[i] * new[1, i]
            width[i] /= growth
    return there, sharpness, decrement, distance, slack, fresh, ended


# Not frozen: that takes a third of the time of a step.
@dataclass(slots=True)
class SmallState:
    """Where the method stands.

    Attributes
    ----------
    x : ndarray of shape (n_samples, n_features)
    fixed : ndarray of shape (3, n_samples)
        Labels, the weights of the losses, and the targets of a loss of the residual.
    rows : ndarray of shape (4, n_samples)
        Scores, their slopes and curvatures, and the centres of the envelopes.
    point : ndarray of shape (2, n_parameters)
        The point, and the sum of the slopes times the rows.
    value : float
    sharpness, growth : float
        Of the envelopes; no growth where the loss has no kink.
    sharpest : float
        Where the method ends, for envelopes as narrow as that are lost in rounding.
    parameter : float
        The loss's.
    decrement, distance, slack : float
        What the last step was expected to gain, and the gap's two shares.
    fresh : bool
        Whether the envelope has just moved.
    stalled : int
        How many envelopes in a row were left for the rounding.
    status : str or None
    nearest : SmallState or None
        Of the envelopes so far that one whose multipliers leave the least gap, where it is not
        the last.
    """

    x: np.ndarray
    fixed: np.ndarray
    rows: np.ndarray
    point: np.ndarray
    value: float
    sharpness: float
    growth: float
    sharpest: float
    parameter: float
    kernel: Any
    decrement: float = np.inf
    distance: float = np.inf
    slack: float = 0.0
    fresh: bool = False
    stalled: int = 0
    status: str | None = None
    nearest: SmallState | None = None

    @property
    def theta(self) -> np.ndarray:
        return self.point[0]

    @property
    def gap(self) -> float:
        return self.distance + self.slack


def fits(problem: Any) -> bool:
    """Whether a problem is small, and of a kind that the compiled steps know."""
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

    Of constant ones the least objective is zero, or nearly, where a relative gap means nothing.
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
    """The state at a point, around multipliers where there are some."""
    kernel = specialise(
        _step,
        terms_at=problem.loss.terms_at,
        slack_at=problem.loss.slack_at if growth > 0.0 else _no_slack,
    )
    n = problem.design.n_samples
    point, rows = np.zeros((2, len(theta))), np.zeros((4, n))
    point[0] = theta
    if residual is not None and growth > 0.0:
        rows[3] = problem.multipliers(residual)
    fixed = np.zeros((3, n))
    fixed[0], fixed[1] = problem.y, problem.upper
    # A kink as wide as the margin itself, or as the mean residual.
    sharpness = 1.0
    if problem.loss.of_residual:
        fixed[2] = problem.targets
        mean = problem.value(theta) / max(float(problem.upper.sum()), 1e-300)
        sharpness = 1.0 / mean if 0.0 < mean < np.inf else 1.0
    x, sharpest, parameter = (
        dense_rows(problem.design),
        _SHARPEST * sharpness,
        problem.loss.parameter,
    )
    state = SmallState(
        x, fixed, rows, point, np.inf, sharpness, growth, sharpest, parameter, kernel
    )
    return _moved(problem, state, False)


def step(problem: Any, state: SmallState) -> SmallState:
    """The state after a Newton step."""
    return _moved(problem, state, True)


def _moved(problem: Any, state: SmallState, moving: bool) -> SmallState:
    rows, point = np.empty_like(state.rows), np.empty_like(state.point)
    if not moving:
        point[0] = state.point[0]
    value, sharpness, decrement, distance, slack, fresh, ended = state.kernel(
        state.x,
        state.fixed,
        state.rows,
        rows,
        state.point,
        point,
        state.value,
        state.sharpness,
        state.growth,
        state.parameter,
        moving,
    )
    stalled = state.stalled + 1 if fresh and ended else 0
    status = None
    if state.growth == 0.0 and ended:
        # The better of two points is kept where only rounding tells them apart.
        rows, point = (state.rows, state.point) if ended == 2 else (rows, point)
        status = "precision_limit"
    if stalled >= 4 or sharpness > state.sharpest:
        status = "precision_limit"
    nearest = state.nearest
    if state.fresh and (nearest is None or state.gap < nearest.gap):
        # Without the one before it, or they would all be kept.
        state.nearest, nearest = None, state
    return SmallState(
        state.x, state.fixed, rows, point, value, sharpness, state.growth, state.sharpest,
        state.parameter, state.kernel,
        decrement, distance, slack, fresh, stalled, status, nearest,
    )  # fmt: skip


def candidate(problem: Any, state: SmallState) -> Candidate:
    """The point to certify, and its dual point."""
    scores, slopes, _, centre = state.rows
    if state.growth == 0.0:
        return Candidate(state.theta, slopes, scores, state.point[1, : problem.design.n_features])
    # On a fresh envelope the multipliers that belong to this point are its centre.
    return Candidate(state.theta, -problem.y * centre if state.fresh else slopes, scores)


def should_check(state: SmallState, tol: float) -> bool:
    """Whether the gap, as the step has found it, promises a certificate."""
    # Another step takes less time than a certificate that fails.
    if state.growth > 0.0 and not state.fresh:
        return False
    return state.gap <= 0.9 * tol * abs(state.value)
