"""Newton's steps on small multinomial problems, each in one compiled call.

The steps are those of :mod:`~separatrix.solvers.newton` with the Hessian of all classes, formed and
factorised as in :mod:`~separatrix.solvers.small_newton`.  Adding one number to the intercepts of
all classes changes no probability, so that the last class's is held in the system and the
intercepts are centred afterwards.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from separatrix._compiled.compilation import FASTMATH, njit, scalar
from separatrix._compiled.elementary import exp_negative
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers.small_newton import SmallState, begin, solve, step_of

# The largest number of parameters of all classes together, and of rows times its square, for which
# a Hessian in one compiled loop takes less time than NumPy's calls.
_PARAMETERS, _WORK = 64, 2_500_000


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _linear(x, flat, out):
    """Compute ``X W + b``."""
    (n, d), classes = x.shape, out.shape[1]
    theta = flat.reshape(-1, classes)
    for i in range(n):
        for k in range(classes):
            out[i, k] = theta[d, k] if theta.shape[0] > d else 0.0
        for j in range(d):
            for k in range(classes):
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
    # The label's own entry without cancellation: minus the sum of the others.
    p[own] = -rest / total
    shift = largest - scores[own]
    # Relative to the label's own score: the loss of a row far on its side keeps its digits.
    return np.log1p(rest) if shift == 0.0 else shift + np.log(total)


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _direction(x, fixed, old, gradient, out):
    """Find Newton's direction; return the slope along it."""
    codes, upper = fixed
    p, (n, d), classes, size = old[1], x.shape, old.shape[2], gradient.shape[0]
    rows = size // classes
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
            flat[a + j] = gradient[j * classes + k]
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
            out[j * classes + k] = step[k * rows + j]
    return slope


@scalar
def _prepare(fixed, old, new, sharpness):
    """Do nothing, since there are no envelopes."""


@scalar
def _sharpen(fixed, new, growth):
    """Do nothing, since there are no envelopes."""


@scalar
def _slack(fixed, new, parameter):
    return 0.0


@scalar
def _losses(x, fixed, new, flat, total, parameter):
    """Add the losses at the scores to the total; store their slopes and the sums of these."""
    (codes, upper), (n, d), scores, slopes = fixed, x.shape, new[0], new[1]
    classes = scores.shape[1]
    adjoint = flat.reshape(-1, classes)
    flat[:] = 0.0
    for i in range(n):
        for k in range(classes):
            slopes[i, k] = 0.0
        if upper[i] > 0.0:
            total += upper[i] * _row(scores[i], codes[i], slopes[i])
            for j in range(adjoint.shape[0]):
                r = upper[i] * (x[i, j] if j < d else 1.0)
                for k in range(classes):
                    adjoint[j, k] += r * slopes[i, k]
    return total


@scalar
def _line(fixed, old, new, along, t, total, slope, parameter):
    """Add the losses at a point of a line to the total, and their slopes along it to ``slope``."""
    (codes, upper), (n, classes) = fixed, along.shape
    p, moved = np.empty(classes), np.empty(classes)
    for i in range(n):
        if upper[i] > 0.0:
            for k in range(classes):
                moved[k] = old[0, i, k] + t * along[i, k]
            total += upper[i] * _row(moved, codes[i], p)
            for k in range(classes):
                slope += upper[i] * p[k] * along[i, k]
    return total, slope


@scalar
def _centre(x, new, theta):
    """Centre the intercepts, which leaves every probability as it is."""
    start, classes, mean = x.shape[1] * new.shape[2], new.shape[2], 0.0
    for j in range(start, theta.shape[0]):
        mean += theta[j] / classes
    for j in range(start, theta.shape[0]):
        theta[j] -= mean


def fits(problem: Any) -> bool:
    """Whether a problem is small, multinomial, and has the penalty of the compiled steps."""
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


@functools.cache
def _kernel() -> Any:
    """The steps for several classes."""
    return step_of(
        _prepare=_prepare, _direction=_direction, _linear=_linear, _losses=_losses, _line=_line,
        _slack=_slack, _sharpen=_sharpen, _centre=_centre,
    )  # fmt: skip


def start(problem: Any, theta: np.ndarray, residual: np.ndarray | None = None) -> SmallState:
    """The state at a point; a dual point is of no use."""
    rows = np.zeros((2, problem.design.n_samples, theta.shape[1]))
    return begin(problem, theta, _kernel(), (problem.codes, problem.upper), rows)
