"""The objectives, valued in plain NumPy: independent of every solver that is compared.

All of them are ``1/2 |w|^2 + C sum loss``, and the intercept is never penalised; with an
``l1_ratio`` r the penalty is ``r |w|_1 + (1 - r) / 2 |w|^2``. A loss of the margin with class
numbers for labels is one-vs-rest: the sum of the objectives of the classes. The losses:

- ``log``: ``log(1 + exp(-z))`` of the margin ``z = y (w.x + b)``, ``y`` in {-1, +1};
- ``hinge``: ``max(0, 1 - z)``; ``squared_hinge``: its square;
- ``multinomial``: ``logsumexp(s) - s[y]`` of the scores ``s = W x + b``, ``y`` in 0 ... K-1.
"""

from __future__ import annotations

import numpy as np

LOSSES = ("log", "hinge", "squared_hinge", "multinomial")

FORMULAS = {
    "log": "1/2 |w|^2 + C sum log(1 + exp(-y (w.x + b)))",
    "hinge": "1/2 |w|^2 + C sum max(0, 1 - y (w.x + b))",
    "squared_hinge": "1/2 |w|^2 + C sum max(0, 1 - y (w.x + b))^2",
    "multinomial": "1/2 |W|^2 + C sum (logsumexp(W x + b) - (W x + b)[y])",
}


def _scores(X, coef: np.ndarray, intercept) -> np.ndarray:
    """``X W' + b``: one column for each row of ``coef``, flat where ``coef`` is flat."""
    return np.asarray(X @ coef.T) + intercept


def _log_sum_exp(scores: np.ndarray) -> np.ndarray:
    largest = scores.max(axis=1)
    return largest + np.log(np.exp(scores - largest[:, None]).sum(axis=1))


def _penalty(coef: np.ndarray, l1_ratio: float) -> float:
    squares, sizes = float(np.vdot(coef, coef)), float(np.abs(coef).sum())
    return l1_ratio * sizes + 0.5 * (1.0 - l1_ratio) * squares


def _conjugate_penalty(v: np.ndarray, l1_ratio: float) -> float:
    """The least of ``penalty(w) - v.w``, negated: infinite where L1 stands alone and v is above."""
    if l1_ratio == 1.0:
        return 0.0 if np.abs(v).max(initial=0.0) <= 1.0 else np.inf
    beyond = np.maximum(np.abs(v) - l1_ratio, 0.0)
    return float(np.vdot(beyond, beyond)) / (2.0 * (1.0 - l1_ratio))


def _by_class(y: np.ndarray, coef: np.ndarray, intercept) -> list[tuple]:
    """The binary problems of one-vs-rest: labels -1 and +1, weights and intercept of each."""
    intercepts = np.broadcast_to(intercept, len(coef))
    return [(np.where(y == k, 1.0, -1.0), coef[k], intercepts[k]) for k in range(len(coef))]


def objective(
    loss: str,
    X,
    y: np.ndarray,
    coef: np.ndarray,
    intercept=0.0,
    *,
    C: float,
    l1_ratio: float = 0.0,
) -> float:
    """The value of a point.

    Parameters
    ----------
    loss : str
        One of `LOSSES`.
    X : ndarray or CSR matrix of shape (n, d)
    y : ndarray of shape (n,)
        -1 and +1, or class numbers for ``"multinomial"`` and for one-vs-rest.
    coef : ndarray of shape (d,), or (K, d) for class numbers
    intercept : float, or ndarray of shape (K,)
    C : float
    l1_ratio : float, default=0.0
    """
    coef = np.asarray(coef, dtype=np.float64)
    if loss != "multinomial" and coef.ndim == 2:
        parts = _by_class(y, coef, intercept)
        return sum(objective(loss, X, *part, C=C, l1_ratio=l1_ratio) for part in parts)
    scores = _scores(X, coef, intercept)
    if loss == "multinomial":
        total = np.sum(_log_sum_exp(scores) - scores[np.arange(len(y)), y])
    elif loss == "log":
        total = np.sum(np.logaddexp(0.0, -y * scores))
    else:
        slack = np.maximum(0.0, 1.0 - y * scores)
        total = slack.sum() if loss == "hinge" else slack @ slack
    return float(_penalty(coef, l1_ratio) + C * total)


def _entropy(p: np.ndarray) -> float:
    """``-sum p log p`` with ``0 log 0 = 0``."""
    inside = p[p > 0]
    return float(-np.sum(inside * np.log(inside)))


def lower_bound(
    loss: str,
    X,
    y: np.ndarray,
    coef: np.ndarray,
    intercept=0.0,
    *,
    C: float,
    free_intercept=False,
    l1_ratio: float = 0.0,
) -> float:
    """A lower bound of all values of the objective, from any point.

    The dual objective at the dual point that belongs to ``(coef, intercept)``: tight near the
    optimum for the smooth losses. For the hinge it is a bound, but a loose one: the multipliers of
    rows on the margin can't be read off the weights. ``-inf`` where none is known (the multinomial
    loss with a free intercept, or with L1 alone where the point is outside of the dual's domain).
    """
    coef = np.asarray(coef, dtype=np.float64)
    if loss != "multinomial" and coef.ndim == 2:
        options = {"C": C, "free_intercept": free_intercept, "l1_ratio": l1_ratio}
        return sum(lower_bound(loss, X, *p, **options) for p in _by_class(y, coef, intercept))
    scores = _scores(X, coef, intercept)
    if loss == "multinomial":
        if free_intercept:
            return -np.inf
        p = np.exp(scores - _log_sum_exp(scores)[:, None])
        residual = -p
        residual[np.arange(len(y)), y] += 1.0
        v = C * np.asarray(X.T @ residual)
        return float(C * _entropy(p) - _conjugate_penalty(v, l1_ratio))

    z = y * scores
    if loss == "log":
        share = np.exp(-np.logaddexp(0.0, z))  # alpha / C, inside (0, 1)
    elif loss == "hinge":
        share = (z < 1.0).astype(np.float64)
    else:
        share = 2.0 * np.maximum(0.0, 1.0 - z)
    if free_intercept:
        # A free intercept requires sum(alpha y) = 0: shrinking the heavier class keeps the domain.
        positive, negative = share[y > 0].sum(), share[y < 0].sum()
        if positive == 0.0 or negative == 0.0:
            share = np.zeros_like(share)
        elif positive > negative:
            share = np.where(y > 0, share * (negative / positive), share)
        else:
            share = np.where(y < 0, share * (positive / negative), share)
    v = C * np.asarray(X.T @ (share * y))
    if l1_ratio == 1.0:  # L1 requires that no |v| is above one: shrinking all of them keeps that
        shrink = min(1.0, (1.0 - 1e-12) / max(np.abs(v).max(initial=0.0), 1e-300))
        share, v = shrink * share, shrink * v
    if loss == "log":
        conjugate = -_entropy(share) - _entropy(1.0 - share)
    elif loss == "hinge":
        conjugate = -share.sum()
    else:
        conjugate = 0.25 * (share @ share) - share.sum()
    return float(-_conjugate_penalty(v, l1_ratio) - C * conjugate)
