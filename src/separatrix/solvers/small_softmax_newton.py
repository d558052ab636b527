"""Newton's steps on small multinomial problems, each in one compiled call.

The steps are those of :mod:`~separatrix.solvers.newton` with the Hessian of all classes, formed and
factorised as in :mod:`~separatrix.solvers.small_newton`.  Adding one number to the intercepts of
all classes changes no probability, so that the last class's is held in the system and the
intercepts are centred afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit
from separatrix._compiled.elementary import exp_negative
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers.line_search import compiled_begin, compiled_trial
from separatrix.solvers.protocol import Candidate
from separatrix.solvers.small_newton import dense_rows, solve

__all__ = ["SmallSoftmaxState", "candidate", "fits", "should_check", "start", "step"]

# Parameters of all classes together, and rows times their square, up to which a Hessian in one
# compiled loop takes less than NumPy's calls.
_PARAMETERS, _WORK = 64, 2_500_000


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _linear(x, theta, out):
    """``X W + b``."""
    n, d = x.shape
    for i in range(n):
        for k in range(out.shape[1]):
            out[i, k] = theta[d, k] if theta.shape[0] > d else 0.0
        for j in range(d):
            for k in range(out.shape[1]):
                out[i, k] += x[i, j] * theta[j, k]


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _row(scores, own, p):
    """The loss of a row's scores; ``p`` becomes the probabilities, the label's less one."""
    classes = scores.shape[0]
    largest = scores[0]
    for k in range(1, classes):
        largest = max(largest, scores[k])
    total, rest = 0.0, 0.0
    for k in range(classes):
        e = exp_negative(scores[k] - largest)
        p[k] = e
        total += e
        rest += e if k != own else 0.0
    for k in range(classes):
        p[k] /= total
    # The label's own without cancellation: minus what the others have.
    p[own] = -rest / total
    shift = largest - scores[own]
    # Relative to the label's own score: the loss of a row far on its side keeps its digits.
    return np.log1p(rest) if shift == 0.0 else shift + np.log(total)


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(x, codes, upper, p, gradient, out):
    """Newton's direction, and the slope along it."""
    (n, d), (rows, classes) = x.shape, gradient.shape
    size = rows * classes
    h = np.zeros((size, size))
    q = np.empty(classes)
    for i in range(n):
        u = upper[i]
        if u > 0.0:
            for k in range(classes):
                q[k] = p[i, k] + (1.0 if k == codes[i] else 0.0)
            for k in range(classes):
                for m in range(k + 1):
                    # The variance of the label's class without cancellation.
                    c = -u * q[k] * q[m]
                    if k == m:
                        c = u * q[k] * (-p[i, k] if k == codes[i] else 1.0 - q[k])
                    a, b = k * rows, m * rows
                    for j in range(d):
                        cx = c * x[i, j]
                        for e in range(j + 1):
                            h[a + j, b + e] += cx * x[i, e]
                    if rows > d:
                        for e in range(d):
                            h[a + d, b + e] += c * x[i, e]
                        h[a + d, b + d] += c
    flat, step = np.empty(size), np.empty(size)
    for k in range(classes):
        a = k * rows
        for j in range(rows):
            flat[a + j] = gradient[j, k]
            for m in range(k):
                # The other half of a block, which is symmetric.
                for e in range(j):
                    h[a + e, m * rows + j] = h[a + j, m * rows + e]
        for j in range(d):
            h[a + j, a + j] += 1.0
    if rows > d:
        last = size - 1
        for j in range(last):
            h[last, j] = 0.0
        h[last, last], flat[last] = 1.0, 0.0
    slope = solve(h, flat, step)
    for k in range(classes):
        for j in range(rows):
            out[j, k] = step[k * rows + j]
    return slope


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _step(x, codes, upper, old, new, before, after, value, moving):
    """A Newton step, or without ``moving`` a first look at the point.

    ``old`` and ``new`` hold scores and the slopes of the rows' losses, ``before`` and ``after`` the
    point and the sum of the slopes times the rows.

    Returns the new value, what the step was expected to gain, the gap that the slopes at the point
    have as dual point, and how the step went: 0 well, 1 as far as rounding allows, 2 not at all.
    """
    n, d = x.shape
    rows, classes = before.shape[1], before.shape[2]
    theta, adjoint, scores, slopes = after[0], after[1], new[0], new[1]
    decrement, ended, squares, slope = np.inf, 0, 0.0, 0.0
    gradient, direction = np.empty((rows, classes)), np.empty((rows, classes))
    trying, best = False, 0.0
    if moving:
        for j in range(rows):
            for k in range(classes):
                gradient[j, k] = before[1, j, k] + (before[0, j, k] if j < d else 0.0)
                squares += gradient[j, k] * gradient[j, k]
        slope = _direction(x, codes, upper, old[1], gradient, direction)
        decrement = -0.5 * slope
        trying = slope < 0.0 and slope > -np.inf
        ended, best = (0, 1.0) if trying else (2, 0.0)
    while True:
        if moving:
            for j in range(rows):
                mean = 0.0
                for k in range(classes):
                    theta[j, k] = before[0, j, k] + (best * direction[j, k] if best > 0.0 else 0.0)
                    mean += theta[j, k] / classes
                for k in range(classes):
                    theta[j, k] -= mean if j == d else 0.0
        # Fresh scores: sums of updates would drift away from X w + b.
        _linear(x, theta, scores)
        there = 0.0
        for j in range(rows):
            for k in range(classes):
                adjoint[j, k] = 0.0
                there += 0.5 * theta[j, k] * theta[j, k] if j < d else 0.0
        for i in range(n):
            for k in range(classes):
                slopes[i, k] = 0.0
            if upper[i] > 0.0:
                there += upper[i] * _row(scores[i], codes[i], slopes[i])
                for j in range(rows):
                    r = upper[i] * (x[i, j] if j < d else 1.0)
                    for k in range(classes):
                        adjoint[j, k] += r * slopes[i, k]
        if not trying:
            break
        # Nearly all full steps are taken: only for another are the scores searched along.
        trying, here = False, 0.0
        for j in range(rows):
            for k in range(classes):
                here += direction[j, k] * (adjoint[j, k] + (theta[j, k] if j < d else 0.0))
        t, bracket = compiled_trial(1.0, there, here, value, slope, compiled_begin(slope))
        if t == 0.0:
            break
        p, moved, along = np.empty(classes), np.empty(classes), np.empty((n, classes))
        ww, wd, dd = 0.0, 0.0, 0.0
        for j in range(d):
            for k in range(classes):
                ww += before[0, j, k] * before[0, j, k]
                wd += before[0, j, k] * direction[j, k]
                dd += direction[j, k] * direction[j, k]
        _linear(x, direction, along)
        tries = 1
        while tries < 100 and t > 0.0:
            tries += 1
            there = 0.5 * ww + t * (wd + 0.5 * t * dd)
            here = wd + t * dd
            for i in range(n):
                if upper[i] > 0.0:
                    for k in range(classes):
                        moved[k] = old[0, i, k] + t * along[i, k]
                    there += upper[i] * _row(moved, codes[i], p)
                    for k in range(classes):
                        here += upper[i] * p[k] * along[i, k]
            t, bracket = compiled_trial(t, there, here, value, slope, bracket)
        best = bracket[0]
        ended = 2 if best == 0.0 else 0
    gap, left = 0.0, 0.0
    for j in range(rows):
        for k in range(classes):
            if j < d:
                left += (theta[j, k] + adjoint[j, k]) ** 2
            else:
                gap += abs(theta[j, k] * adjoint[j, k])
    gap += 0.5 * left
    for k in range(classes):
        left += adjoint[d, k] ** 2 if rows > d else 0.0
    if moving and ended == 0 and not there < value and not left < 0.25 * squares:
        ended = 2 if there > value else 1
    return there, decrement, gap, ended


@dataclass(slots=True)
class SmallSoftmaxState:
    """Where the method stands.

    Attributes
    ----------
    x : ndarray of shape (n_samples, n_features)
    rows : ndarray of shape (2, n_samples, n_classes)
        Scores, and the slopes of the losses in them.
    point : ndarray of shape (2, n_features + 1, n_classes)
        The point, and the sum of the weighted slopes times the rows.
    value : float
    decrement, gap : float
        What the last step was expected to gain, and the gap.
    status : str or None
    """

    x: np.ndarray
    rows: np.ndarray
    point: np.ndarray
    value: float
    decrement: float = np.inf
    gap: float = np.inf
    status: str | None = None

    @property
    def theta(self) -> np.ndarray:
        return self.point[0]


def fits(problem: Any) -> bool:
    """Whether a problem is small, multinomial, and has the penalty that the steps know."""
    if type(problem) is not SoftmaxObjective:
        return False
    design, size = problem.design, math.prod(problem.shape)
    return (
        size <= _PARAMETERS
        and design.n_samples * size * size <= _WORK
        and 2 * design.n_stored > math.prod(design.shape)
        and problem.penalty.ridge
        and problem.intercept_penalty == 0.0
    )


def start(problem: Any, theta: np.ndarray) -> SmallSoftmaxState:
    """The state at a point."""
    point = np.zeros((2, *theta.shape))
    point[0] = theta
    rows = np.zeros((2, problem.design.n_samples, theta.shape[1]))
    state = SmallSoftmaxState(dense_rows(problem.design), rows, point, np.inf)
    return _moved(problem, state, False)


def step(problem: Any, state: SmallSoftmaxState) -> SmallSoftmaxState:
    """The state after a Newton step."""
    return _moved(problem, state, True)


def _moved(problem: Any, state: SmallSoftmaxState, moving: bool) -> SmallSoftmaxState:
    rows, point = np.empty_like(state.rows), np.empty_like(state.point)
    if not moving:
        point[0] = state.point[0]
    value, decrement, gap, ended = _step(
        state.x,
        problem.codes,
        problem.upper,
        state.rows,
        rows,
        state.point,
        point,
        state.value,
        moving,
    )
    if ended == 2:
        # The better of two points is kept where only rounding tells them apart.
        rows, point = state.rows, state.point
    status = "precision_limit" if ended else None
    return SmallSoftmaxState(state.x, rows, point, value, decrement, gap, status)


def candidate(problem: Any, state: SmallSoftmaxState) -> Candidate:
    """The point to certify, and its dual point."""
    scores, slopes = state.rows
    adjoint = state.point[1, : problem.design.n_features]
    return Candidate(state.theta, problem.upper[:, None] * slopes, scores, adjoint)


def should_check(state: SmallSoftmaxState, tol: float) -> bool:
    """Whether the gap, as the step has found it, promises a certificate."""
    return state.gap <= 0.9 * tol * abs(state.value)
