"""Independent answers that kernel machines are measured against.

Nothing here uses the library's arithmetic: kernels are written out again, one entry at a time
from the definition, in extended precision; optima come from an interior point method on the dual,
a whole batch of small problems at a time, and for the smallest from an enumeration of all active
sets in rational numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from helpers import LONG, solve_batch

# --- kernels, written out again ----------------------------------------------------------------


def kernel_matrix(
    name: str,
    X: np.ndarray,
    Z: np.ndarray | None = None,
    *,
    gamma: float = 1.0,
    coef0: float = 0.0,
    degree: int = 3,
) -> np.ndarray:
    """``k(x_i, z_j)`` in extended precision; distances are sums of squared differences."""
    X = np.asarray(X, dtype=LONG)
    Z = X if Z is None else np.asarray(Z, dtype=LONG)
    if name == "rbf":
        squares = np.sum((X[:, None, :] - Z[None, :, :]) ** 2, axis=2)
        return np.exp(-LONG(gamma) * squares)
    products = np.sum(X[:, None, :] * Z[None, :, :], axis=2)
    if name == "linear":
        return products
    inside = LONG(gamma) * products + LONG(coef0)
    if name == "poly":
        return inside**degree
    if name == "sigmoid":
        return np.tanh(inside)
    raise KeyError(name)


# --- objectives in extended precision ----------------------------------------------------------


def primal(K: np.ndarray, y: np.ndarray, upper: np.ndarray, c: np.ndarray, b: float) -> LONG:
    """``1/2 c'Kc + sum U_i max(0, 1 - y_i ((Kc)_i + b))``."""
    c = np.asarray(c, dtype=LONG)
    product = K @ c
    short = np.maximum(1 - np.asarray(y, dtype=LONG) * (product + LONG(b)), 0)
    return c @ product / 2 + np.asarray(upper, dtype=LONG) @ short


def hard_primal(K: np.ndarray, y: np.ndarray, used: np.ndarray, c: np.ndarray, b: float) -> LONG:
    """``1/2 |w|^2 / m^2`` with ``m`` the smallest margin; infinite where that is not positive."""
    c = np.asarray(c, dtype=LONG)
    product = K @ c
    margin = np.min((np.asarray(y, dtype=LONG) * (product + LONG(b)))[used])
    return c @ product / 2 / margin**2 if margin > 0 else LONG(np.inf)


# --- optima of many small problems at once -----------------------------------------------------


@dataclass
class Optimum:
    """Bounds of an optimum from both sides, and the points that give them.

    ``lower`` is the dual at ``alpha``, ``upper`` the primal at ``alpha`` and ``b``.
    """

    lower: np.ndarray
    upper: np.ndarray
    alpha: np.ndarray
    b: np.ndarray


def _balance(alpha: np.ndarray, y: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Shrink the side that has more, so that ``sum alpha y = 0``."""
    alpha = np.clip(alpha, 0, top)
    plus = np.where(y > 0, alpha, 0).sum(axis=1)
    minus = np.where(y < 0, alpha, 0).sum(axis=1)
    least = np.minimum(plus, minus)
    for side, total in ((y > 0, plus), (y < 0, minus)):
        factor = least / np.where(total > 0, total, 1)
        alpha = np.where(side, alpha * factor[:, None], alpha)
    return alpha


def _best_intercept(scores: np.ndarray, y: np.ndarray, top: np.ndarray) -> np.ndarray:
    """The intercept that makes the hinge loss least: of all knots, the best."""
    knots = y - scores
    short = np.maximum(1 - y[:, None, :] * (scores[:, None, :] + knots[:, :, None]), 0)
    total = np.einsum("bkn,bn->bk", short, top)
    total = np.where(top > 0, total, np.inf)
    return knots[np.arange(len(knots)), total.argmin(axis=1)]


@np.errstate(all="ignore")
def solve_soft(K: np.ndarray, y: np.ndarray, top: np.ndarray, max_iter: int = 200) -> Optimum:
    """Soft-margin machines, ``K`` (B, n, n), ``y`` and ``top`` (B, n); rows of top 0 take no part.

    A primal-dual interior point method on the dual, minimise ``1/2 a'Qa - sum a`` under
    ``0 <= a <= U`` and ``y'a = 0``, with multipliers ``s`` and ``x`` of the two ends.
    """
    K, y, top = (np.asarray(v, dtype=LONG) for v in (K, y, top))
    count, n = y.shape
    used = top > 0
    U = np.where(used, top, 1)
    Q = K * y[:, :, None] * y[:, None, :]
    Q = np.where(used[:, :, None] & used[:, None, :], Q, 0)
    sign = np.where(used, y, 0)
    live = used.sum(axis=1)
    eye = np.arange(n)
    # Each row starts near the scale at which its own curvature is met.
    scale = np.maximum(np.einsum("bii->bi", Q).max(axis=1), LONG(1e-300))[:, None]
    a = np.minimum(U / 2, 1 / scale)
    s = np.ones((count, n), dtype=LONG)
    x = np.ones((count, n), dtype=LONG)
    b = np.zeros(count, dtype=LONG)
    lower, upper = np.full(count, -np.inf, LONG), np.full(count, np.inf, LONG)
    best_alpha, best_b = np.zeros((count, n), LONG), np.zeros(count, LONG)
    gap, still = upper - lower, 0
    for _ in range(max_iter):
        alpha = _balance(np.where(used, a, 0), y, np.where(used, U, 0))
        Qa = np.einsum("bij,bj->bi", Q, alpha)
        square = np.einsum("bi,bi->b", alpha, Qa)
        dual = alpha.sum(axis=1) - square / 2
        better = dual > lower
        lower = np.where(better, dual, lower)
        scores = y * Qa
        b_now = _best_intercept(scores, y, np.where(used, U, 0))
        short = np.maximum(1 - y * (scores + b_now[:, None]), 0)
        value = square / 2 + np.einsum("bi,bi->b", np.where(used, U, 0), short)
        better = value < upper
        upper = np.where(better, value, upper)
        best_alpha = np.where(better[:, None], alpha, best_alpha)
        best_b = np.where(better, b_now, best_b)
        still = still + 1 if np.all(upper - lower >= gap) else 0
        gap = upper - lower
        # Rounding may keep them a little further apart than that.
        if np.all(gap <= 1e-17 * upper) or (still >= 10 and np.all(gap <= 1e-15 * upper)):
            break
        room = U - a
        mean = np.where(used, a * s + room * x, 0).sum(axis=1) / (2 * live)
        target = (LONG(0.1) * mean)[:, None]
        D = np.where(used, s / a + x / room, 1)
        right = 1 - np.einsum("bij,bj->bi", Q, np.where(used, a, 0)) - sign * b[:, None]
        right = np.where(used, right + target / a - target / room, 0)
        M = Q.copy()
        M[:, eye, eye] += D
        along, across = np.moveaxis(solve_batch(M, np.stack([right, sign], axis=2)), 2, 0)
        balance = np.einsum("bi,bi->b", sign, np.where(used, a, 0))
        db = np.einsum("bi,bi->b", sign, along) + balance
        db = db / np.einsum("bi,bi->b", sign, across)
        da = np.where(used, along - across * db[:, None], 0)
        ds = np.where(used, (target - s * da) / a - s, 0)
        dx = np.where(used, (target + x * da) / room - x, 0)
        limit = np.ones(count, dtype=LONG)
        for v, dv in ((a, da), (room, -da), (s, ds), (x, dx)):
            ratio = np.where(dv < 0, -v / np.where(dv < 0, dv, -1), np.inf)
            limit = np.minimum(limit, LONG(0.99) * ratio.min(axis=1))
        sound = np.isfinite(da).all(axis=1) & np.isfinite(ds).all(axis=1) & np.isfinite(db)
        sound &= np.isfinite(dx).all(axis=1)
        limit = np.where(sound, limit, 0)[:, None]
        da, ds, dx = (np.where(sound[:, None], v, 0) for v in (da, ds, dx))
        a, s, x = a + limit * da, s + limit * ds, x + limit * dx
        b = b + limit[:, 0] * np.where(sound, db, 0)
    return Optimum(lower, upper, best_alpha, best_b)


# --- the smallest problems, exactly ------------------------------------------------------------


def _solve_exactly(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The solution of an augmented system, or None where it is singular."""
    n = len(rows)
    rows = [list(row) for row in rows]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        head = rows[k][k]
        rows[k] = [v / head for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [v - factor * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def exact_optimum(
    K: Sequence[Sequence[Fraction]], y: Sequence[int], top: Sequence[Fraction]
) -> tuple[Fraction, list[Fraction]]:
    """The optimum and its multipliers, by trying every active set; of a semidefinite ``K``.

    Each multiplier is 0, at its upper end, or free.  Where the system of the free ones is
    singular, another active set with fewer of them has the same objective.
    """
    n = len(y)
    for states in itertools.product((0, 1, 2), repeat=n):
        free = [i for i in range(n) if states[i] == 2]
        alpha = [top[i] if states[i] == 1 else Fraction(0) for i in range(n)]
        fixed = [sum((K[i][j] * y[j] * alpha[j] for j in range(n)), Fraction(0)) for i in range(n)]
        balance = sum((a * s for a, s in zip(alpha, y, strict=True)), Fraction(0))
        b: Fraction | None = None
        if free:
            system = [[K[i][j] * y[j] for j in free] + [Fraction(1), y[i] - fixed[i]] for i in free]
            system.append([Fraction(y[j]) for j in free] + [Fraction(0), -balance])
            solution = _solve_exactly(system)
            if solution is None:
                continue
            for i, value in zip(free, solution[:-1], strict=True):
                alpha[i] = value
            b = solution[-1]
            if any(not 0 <= alpha[i] <= top[i] for i in free):
                continue
        elif balance != 0:
            continue
        scores = [sum((K[i][j] * y[j] * alpha[j] for j in range(n)), Fraction(0)) for i in range(n)]
        low: Fraction | None = b
        high: Fraction | None = b
        sound = True
        for i in range(n):
            if states[i] == 2 or top[i] == 0:
                continue
            # y (score + b) >= 1 at zero, <= 1 at the upper end.
            knot = y[i] - scores[i]
            above = (states[i] == 0) == (y[i] > 0)
            if b is not None:
                sound &= b >= knot if above else b <= knot
            elif above:
                low = knot if low is None else max(low, knot)
            else:
                high = knot if high is None else min(high, knot)
        if not sound or (low is not None and high is not None and low > high):
            continue
        square = sum((alpha[i] * y[i] * scores[i] for i in range(n)), Fraction(0))
        return sum(alpha, Fraction(0)) - square / 2, alpha
    raise ArithmeticError("no active set satisfies the conditions: K is not semidefinite")
