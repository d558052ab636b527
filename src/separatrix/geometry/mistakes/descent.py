"""Few training mistakes by exact line search: upper bounds, without a proof that none is lower.

Along a line through weight space the weight of the mistakes is piecewise constant; sorting where
each row changes sides finds the best place on the whole line at once (Li and Lin, 2007; Nguyen
and Sanner, 2013).  The lines go along random directions, along the axes, and towards rows that
are wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def descend(
    product: Callable[[np.ndarray], np.ndarray],
    row: Callable[[int], np.ndarray],
    costs: np.ndarray,
    start: np.ndarray,
    rng: np.random.Generator,
    *,
    patience: int,
    deadline: Callable[[], None] = lambda: None,
) -> tuple[np.ndarray, float]:
    """A vector ``u`` with little ``sum costs_i [z_i . u <= 0]``.

    Parameters
    ----------
    product : callable
        ``u -> Z u``, for rows on a scale near one.
    row : callable
        ``i -> z_i``, dense.
    costs : ndarray of float64, shape (n,)
    start : ndarray of shape (p,)
    rng : Generator
    patience : int
        Lines without improvement before it ends.
    deadline : callable
        Called between lines; may raise.

    Returns
    -------
    u : ndarray of shape (p,)
    cost : float
    """
    u = start
    scores = product(u)
    cost = float(costs[~(scores > 0)].sum())
    left, count = patience, 0
    while left and cost > 0:
        deadline()
        v = _direction(count, row, np.flatnonzero(~(scores > 0)), len(start), rng)
        count += 1
        slopes = product(v)
        step, found = _search(scores, slopes, costs)
        left -= 1
        # Sideways steps are welcome: they are the way off a plateau.
        if found <= cost and step != 0.0:
            u = u + step * v
            size = float(np.abs(u).max())
            u = u / size if size > 0 else u
            scores = product(u)
            reached = float(costs[~(scores > 0)].sum())
            if reached < cost:
                left = patience
            cost = reached
    return u, cost


def _direction(
    count: int,
    row: Callable[[int], np.ndarray],
    wrong: np.ndarray,
    p: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """The next direction: an axis, a random one, or towards one or two rows that are wrong."""
    kind = count % 4
    if kind == 0:
        v = np.zeros(p)
        v[(count // 4) % p] = 1.0
        return v
    if kind == 1:
        return rng.standard_normal(p)
    v = row(int(rng.choice(wrong)))
    return v + row(int(rng.choice(wrong))) if kind == 3 else v


def _search(scores: np.ndarray, slopes: np.ndarray, costs: np.ndarray) -> tuple[float, float]:
    """The step ``t`` with the least ``sum costs [scores + t slopes <= 0]``, and that sum."""
    moving = slopes != 0.0
    fixed = float(costs[~moving & ~(scores > 0)].sum())
    if not moving.any():
        return 0.0, fixed
    with np.errstate(over="ignore"):
        places = -scores[moving] / slopes[moving]
    costs, rising = costs[moving], slopes[moving] > 0
    order = np.argsort(places)
    places = places[order]
    # Far to the left the rising rows are wrong; each place passed changes one row.
    change = np.where(rising, -costs, costs)[order]
    totals = fixed + float(costs[rising].sum()) + np.concatenate([[0.0], np.cumsum(change)])
    middles = np.empty(len(places) + 1)
    middles[1:-1] = 0.5 * places[1:] + 0.5 * places[:-1]
    middles[0], middles[-1] = places[0] - 1.0, places[-1] + 1.0
    # Only where there is room between two places.
    open_ = np.ones(len(middles), dtype=bool)
    open_[1:-1] = (places[:-1] < middles[1:-1]) & (middles[1:-1] < places[1:])
    totals[~open_ | ~np.isfinite(middles)] = np.inf
    best = int(np.argmin(totals))
    return float(middles[best]), float(totals[best])
