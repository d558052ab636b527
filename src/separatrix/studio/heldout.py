"""Points to test on: a share of those of the page, or fresh ones of the same shape."""

from __future__ import annotations

import numpy as np

from separatrix.studio.shapes import shape
from separatrix.studio.state import State, StateError

FRESH = 100
"""The number of fresh points that are drawn."""
# Shapes are drawn by the seed alone; numbers of the same stream would depend on where a point is.
_STREAM = 1
# The seeds of fresh points: none of those that the page draws its own points with.
_FIRST_SEED = 1_000_000


def held_out(state: State) -> np.ndarray:
    """A mask over all points, true for those that are held out.

    Each point has a random number of its own, by its place in the list, and in each class those
    with the smallest numbers are held out: whoever adds a point sees the others stay where they
    are. At least one point of each class is left to train on. A regression has no classes.
    """
    keys = np.random.default_rng([state.seed, _STREAM]).random(len(state.points))
    held = np.zeros(len(keys), dtype=bool)
    if state.fresh or not state.hold_out:
        return held
    groups = np.zeros(len(keys), int) if state.model == "regression" else state.codes
    for code in np.unique(groups).tolist():
        own = np.flatnonzero(groups == code)
        held[own[np.argsort(keys[own])[: len(own) * state.hold_out // 100]]] = True
    return held


def fresh_points(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Places and classes of new points from the shape of a state; none unless it is ``fresh``.

    Raises
    ------
    StateError
        Where the points came from no shape from which new ones can be drawn.
    """
    if not state.fresh:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    if state.source is None:
        raise StateError("Fresh points need points of a built-in shape: choose one and make them.")
    drawn = shape(**state.source, n=FRESH, seed=_FIRST_SEED + state.seed)
    if drawn["source"] is None:
        raise StateError("No fresh points can be drawn from these data; hold out a share of them.")
    made = np.array(drawn["points"])
    return made[:, :2], made[:, 2].astype(np.int64)
