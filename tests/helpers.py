"""Independent answers that the library is measured against.

Nothing here uses the library's arithmetic: losses are written out again, optima come from
Newton's method and an interior point method of their own in extended precision, a whole batch
of small problems at a time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

LONG = np.longdouble
EPS = float(np.finfo(np.float64).eps)


# --- losses, written out again -----------------------------------------------------------------


def softplus(z: np.ndarray) -> np.ndarray:
    """``log(1 + exp(z))`` without overflow."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def loss_value(name: str, z: np.ndarray) -> np.ndarray:
    """The loss called ``name`` at the margins ``z``."""
    if name in ("hinge", "margin perceptron"):  # the latter with its default margin of one
        return np.maximum(1 - z, 0)
    if name == "squared hinge":
        return np.maximum(1 - z, 0) ** 2
    if name == "log loss":
        return softplus(-z)
    if name == "squared error":
        return (1 - z) ** 2 / 2
    if name == "perceptron":
        return np.maximum(-z, 0)
    if name == "modified Huber":
        return np.where(z >= -1, np.maximum(1 - z, 0) ** 2, -4 * z)
    raise KeyError(name)


def _slope_and_curvature(name: str, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if name == "squared hinge":
        return -2 * np.maximum(1 - z, 0), np.where(z < 1, LONG(2), LONG(0))
    if name == "squared error":
        return z - 1, np.ones_like(z)
    if name == "modified Huber":
        near = (z < 1) & (z >= -1)
        return -2 * np.clip(1 - z, 0, 2), np.where(near, LONG(2), LONG(0))
    if name == "log loss":
        e = np.exp(-np.abs(z))
        tail = np.where(z >= 0, e, LONG(1)) / (1 + e)
        return -tail, e / (1 + e) ** 2
    raise KeyError(name)


def softmax_loss(scores: np.ndarray, hot: np.ndarray) -> np.ndarray:
    """``log sum_k exp(s_k - s_y)`` along the last axis; ``hot`` marks the labels with 1.

    Relative to the label's own score, so that the loss of a row far on its side keeps its digits.
    """
    apart = scores - np.sum(scores * hot, axis=-1, keepdims=True)
    apart = np.where(hot == 1, -np.inf, apart)
    top = np.maximum(apart.max(axis=-1), 0)
    rest = np.exp(apart - top[..., None]).sum(axis=-1)
    # log(exp(-top) + rest) + top, with log1p where the label leads.
    return np.where(top > 0, top + np.log(np.exp(-top) + rest), np.log1p(rest))


def primal_margin(
    name: str,
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    b: float,
    *,
    C: float = 1.0,
    weights: np.ndarray | None = None,
    penalised: bool = True,
    intercept_penalty: float = 0.0,
) -> float:
    """``1/2 |w|^2 + tau/2 b^2 + C sum s_i l(y_i (w.x_i + b))``, in extended precision."""
    X, w = np.asarray(X, dtype=LONG), np.asarray(w, dtype=LONG).ravel()
    s = np.ones(len(X)) if weights is None else np.asarray(weights)
    z = np.asarray(y, dtype=LONG) * (X @ w + LONG(b))
    total = LONG(C) * np.sum(s.astype(LONG) * loss_value(name, z))
    if penalised:
        total += w @ w / 2
    return float(total + LONG(intercept_penalty) * LONG(b) ** 2 / 2)


def primal_softmax(
    X: np.ndarray,
    codes: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    *,
    C: float = 1.0,
    weights: np.ndarray | None = None,
    penalised: bool = True,
) -> float:
    """``1/2 |W|^2 + C sum s_i (log sum_k exp(s_ik) - s_iy)`` for ``W`` of shape (K, d)."""
    X, W = np.asarray(X, dtype=LONG), np.asarray(W, dtype=LONG)
    s = np.ones(len(X)) if weights is None else np.asarray(weights)
    scores = X @ W.T + np.asarray(b, dtype=LONG)
    losses = softmax_loss(scores, np.eye(scores.shape[1])[codes])
    total = LONG(C) * np.sum(s.astype(LONG) * losses)
    return float(total + (np.sum(W * W) / 2 if penalised else 0))


# --- optima of many small problems at once -----------------------------------------------------


@dataclass
class Batch:
    """Small problems of the same kind, padded to one shape, in extended precision.

    ``X`` is (B, n, p) with the intercept, where there is one, as a last column of ones;
    ``ridge`` is (B, p): 1 for penalised coefficients, 0 for free ones.  Rows and columns that
    pad have weight 0 and entries 0.
    """

    X: np.ndarray
    y: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray


def pad(problems: list[dict], n: int, d: int) -> Batch:
    """Pack problems (dicts with X, y, upper, intercept, penalised) into a batch."""
    count = len(problems)
    X = np.zeros((count, n, d + 1), dtype=LONG)
    y = np.ones((count, n), dtype=LONG)
    upper = np.zeros((count, n), dtype=LONG)
    ridge = np.ones((count, d + 1), dtype=LONG)
    for k, problem in enumerate(problems):
        rows, columns = problem["X"].shape
        X[k, :rows, :columns] = problem["X"]
        y[k, :rows] = problem["y"]
        upper[k, :rows] = problem["upper"]
        if not problem["penalised"]:
            ridge[k, :columns] = 0
        if problem["intercept"]:
            X[k, :rows, d] = 1
            ridge[k, d] = 0
    return Batch(X, y, upper, ridge)


def solve_batch(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve positive semidefinite systems by elimination with pivoting.

    ``matrix`` is (B, p, p) and ``rhs`` (B, p), or (B, p, q) for q right sides.  The diagonal is
    scaled to one and a ridge at the size of rounding is added.
    """
    diagonal = np.einsum("bii->bi", matrix)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))
    a = matrix * scale[:, :, None] * scale[:, None, :]
    p = a.shape[1]
    a[:, np.arange(p), np.arange(p)] += 4 * np.finfo(LONG).eps
    x = rhs.reshape(*scale.shape, -1) * scale[:, :, None]
    rows = np.arange(len(a))
    for k in range(p):
        pivot = k + np.abs(a[:, k:, k]).argmax(axis=1)
        a[rows, k], a[rows, pivot] = a[rows, pivot].copy(), a[rows, k].copy()
        x[rows, k], x[rows, pivot] = x[rows, pivot].copy(), x[rows, k].copy()
        head = np.where(a[:, k, k] == 0, 1, a[:, k, k])
        factor = a[:, k + 1 :, k] / head[:, None]
        # What stands below the diagonal is not read again.
        a[:, k + 1 :, k + 1 :] -= factor[:, :, None] * a[:, None, k, k + 1 :]
        x[:, k + 1 :] -= factor[:, :, None] * x[:, None, k]
    for k in range(p - 1, -1, -1):
        head = np.where(a[:, k, k] == 0, 1, a[:, k, k])
        x[:, k] -= np.einsum("bj,bjq->bq", a[:, k, k + 1 :], x[:, k + 1 :])
        x[:, k] /= head[:, None]
    return (x * scale[:, :, None]).reshape(rhs.shape)


# Step lengths that every line search tries, all at once.
_STEPS = np.exp2(np.concatenate([np.arange(3, -12, -1), np.arange(-13, -100, -3)])).astype(LONG)


def _newton(theta, value, derivatives, max_iter):
    """Damped Newton on a batch: value(theta (B, T, p)) and derivatives(theta (B, p))."""
    best = value(theta[:, None])[:, 0]
    rows = np.arange(len(theta))
    still = 0
    for _ in range(max_iter):
        gradient, hessian = derivatives(theta)
        step = -solve_batch(hessian, gradient)
        step = np.where(np.isfinite(step), step, 0)
        trial = theta[:, None] + _STEPS[:, None] * step[:, None]
        values = value(trial)
        values = np.where(np.isfinite(values), values, np.inf)
        k = values.argmin(axis=1)
        better = values[rows, k] < best
        theta = np.where(better[:, None], trial[rows, k], theta)
        gain = np.where(better, best - values[rows, k], 0)
        small = np.all(gain <= 1e-18 * np.abs(best))
        best = np.where(better, values[rows, k], best)
        still = still + 1 if small else 0
        if still == 2:
            break
    return theta, best


def minimum_smooth(name: str, batch: Batch, max_iter: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Points (B, p) and values (B,) of a smooth margin loss: upper bounds of the optima."""

    def value(theta):
        z = batch.y[:, None] * np.einsum("bnp,btp->btn", batch.X, theta)
        loss = np.einsum("bn,btn->bt", batch.upper, loss_value(name, z))
        return loss + np.einsum("bp,btp->bt", batch.ridge, theta * theta) / 2

    def derivatives(theta):
        z = batch.y * np.einsum("bnp,bp->bn", batch.X, theta)
        slope, curvature = _slope_and_curvature(name, z)
        gradient = np.einsum("bnp,bn->bp", batch.X, batch.upper * batch.y * slope)
        hessian = np.einsum(
            "bnp,bnq->bpq", batch.X * (batch.upper * curvature)[:, :, None], batch.X
        )
        p = hessian.shape[1]
        hessian[:, np.arange(p), np.arange(p)] += batch.ridge
        return gradient + batch.ridge * theta, hessian

    start = np.zeros((len(batch.X), batch.X.shape[2]), dtype=LONG)
    return _newton(start, value, derivatives, max_iter)


def minimum_softmax(
    batch: Batch, codes: np.ndarray, classes: int, max_iter: int = 120
) -> tuple[np.ndarray, np.ndarray]:
    """Points (B, p * K) and values (B,) of multinomial logistic regression."""
    count, _, p = batch.X.shape
    hot = np.eye(classes, dtype=LONG)[codes]
    ridge = np.repeat(batch.ridge, classes, axis=1)

    def value(theta):
        weights = theta.reshape(*theta.shape[:2], p, classes)
        scores = np.einsum("bnp,btpk->btnk", batch.X, weights)
        loss = np.einsum("bn,btn->bt", batch.upper, softmax_loss(scores, hot[:, None]))
        return loss + np.einsum("bp,btp->bt", ridge, theta * theta) / 2

    def derivatives(theta):
        scores = np.einsum("bnp,bpk->bnk", batch.X, theta.reshape(count, p, classes))
        q = np.exp(scores - scores.max(axis=2, keepdims=True))
        q /= q.sum(axis=2, keepdims=True)
        residual = batch.upper[:, :, None] * (q - hot)
        gradient = np.einsum("bnp,bnk->bpk", batch.X, residual).reshape(count, -1)
        hessian = np.zeros((count, p, classes, p, classes), dtype=LONG)
        for j in range(classes):
            for k in range(classes):
                weight = batch.upper * (q[:, :, j] * ((j == k) - q[:, :, k]))
                hessian[:, :, j, :, k] = np.einsum(
                    "bnp,bnq->bpq", batch.X * weight[:, :, None], batch.X
                )
        hessian = hessian.reshape(count, p * classes, p * classes)
        size = p * classes
        hessian[:, np.arange(size), np.arange(size)] += ridge
        return gradient + ridge * theta, hessian

    start = np.zeros((count, p * classes), dtype=LONG)
    return _newton(start, value, derivatives, max_iter)


def minimum_hinge(batch: Batch, max_iter: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Points and values of the hinge loss, by a primal-dual interior point method.

    minimise 1/2 theta' R theta + sum U xi  subject to  y X theta + xi - 1 = s, xi >= 0, s >= 0,
    with multipliers ``a`` of ``s`` and ``m = U - a`` of ``xi``.
    """
    X, y, ridge = batch.X, batch.y, batch.ridge
    used = batch.upper > 0
    # Rows of weight zero take part as harmless constants.
    U = np.where(used, batch.upper, 1)
    count, n, p = X.shape
    theta = np.zeros((count, p), dtype=LONG)
    best_theta, best = theta, np.full(count, np.inf, dtype=LONG)
    a, m = U / 2, U / 2
    s = np.ones((count, n), dtype=LONG)
    xi = np.ones((count, n), dtype=LONG)
    live = used.sum(axis=1)
    for _ in range(max_iter):
        z = y * np.einsum("bnp,bp->bn", X, theta)
        value = np.einsum("bn,bn->b", batch.upper, np.maximum(1 - z, 0))
        value = value + np.einsum("bp,bp->b", ridge, theta * theta) / 2
        better = value < best
        best = np.where(better, value, best)
        best_theta = np.where(better[:, None], theta, best_theta)
        mean = np.where(used, a * s + m * xi, 0).sum(axis=1) / (2 * live)
        target = (0.1 * mean)[:, None]
        slack = z + xi - 1 - s
        D = s + a * xi / m
        c = target - a * s - a * slack - a * (target - m * xi) / m
        c, gain = np.where(used, c / D, 0), np.where(used, a / D, 0)
        held = np.where(used, a, 0)
        matrix = np.einsum("bnp,bnq->bpq", X * gain[:, :, None], X)
        matrix[:, np.arange(p), np.arange(p)] += ridge
        right = np.einsum("bnp,bn->bp", X, y * (c + held)) - ridge * theta
        step = solve_batch(matrix, right)
        move = y * np.einsum("bnp,bp->bn", X, step)
        da = np.where(used, c - gain * move, 0)
        dxi = np.where(used, (target - m * xi + xi * da) / m, 0)
        ds = np.where(used, move + dxi + slack, 0)
        limit = np.ones(count, dtype=LONG)
        for v, dv in ((a, da), (m, -da), (xi, dxi), (s, ds)):
            room = np.where(dv < 0, -v / np.where(dv < 0, dv, -1), np.inf)
            limit = np.minimum(limit, LONG(0.995) * room.min(axis=1))
        limit = np.where(np.isfinite(step).all(axis=1), limit, 0)[:, None]
        step = np.where(np.isfinite(step), step, 0)
        theta = theta + limit * step
        a, m = a + limit * da, m - limit * da
        xi, s = xi + limit * dxi, s + limit * ds
        if np.all(mean * live <= 1e-21 * np.abs(best)):
            break
    return best_theta, best


def minimum_kinked(name: str, problem: dict, l1: float, l2: float) -> tuple[np.ndarray, float]:
    """A point and its value of ``l1 |w|_1 + l2/2 |w|^2 + sum U l``: an upper bound of the optimum.

    For every pattern of signs, zero among them, the objective that has this pattern's linear
    terms is minimised by Newton's method; the optimum's own pattern gives the optimum.
    """
    X = np.asarray(problem["X"], dtype=LONG)
    d = X.shape[1]
    if problem["intercept"]:
        X = np.column_stack([X, np.ones(len(X), dtype=LONG)])
    p = X.shape[1]
    signs = np.array(list(itertools.product([-1, 0, 1], repeat=d)), dtype=LONG)
    signs = np.column_stack([signs, np.zeros((len(signs), p - d), dtype=LONG)])
    used = signs != 0
    used[:, d:] = True
    ridge = np.where(np.arange(p) < d, LONG(l2), LONG(0))
    y, upper = problem["y"], np.asarray(problem["upper"], dtype=LONG)

    def smooth(theta):
        losses = loss_value(name, y * (theta @ X.T)) @ upper
        return losses + (theta * theta) @ ridge / 2

    def value(theta):
        return smooth(theta) + l1 * np.einsum("btp,bp->bt", theta, signs)

    def derivatives(theta):
        slope, curvature = _slope_and_curvature(name, y * (theta @ X.T))
        gradient = (upper * y * slope) @ X + ridge * theta + l1 * signs
        hessian = np.einsum("bn,np,nq->bpq", upper * curvature, X, X) + np.diag(ridge)
        hessian = np.where(used[:, :, None] & used[:, None, :], hessian, 0)
        hessian[:, np.arange(p), np.arange(p)] += ~used
        return np.where(used, gradient, 0), hessian

    # A pattern that is not the optimum's may have no minimum, and then the steps run away.
    with np.errstate(all="ignore"):
        theta, _ = _newton(np.zeros((len(signs), p), dtype=LONG), value, derivatives, 80)
        values = smooth(theta[:, None])[:, 0] + l1 * np.abs(theta[:, :d]).sum(axis=1)
    values = np.where(np.isfinite(values), values, np.inf)
    best = int(values.argmin())
    return theta[best], values[best]
