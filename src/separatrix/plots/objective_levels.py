"""Level sets of an objective over two of its weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.plots.zero_set import Field, Function

_LEVELS = 9
# The value at which a field clips larger ones.
_FIELD_END = 1e300


def objective_levels(
    objective: Function, best: np.ndarray, extent: Sequence[float], cells: int
) -> list[tuple[float, list[np.ndarray]]]:
    """Level sets of an objective over two weights, closer together near the least value.

    Parameters
    ----------
    objective : callable
        A function from points of shape (k, 2) to values of shape (k,).
    best : ndarray of shape (2,)
        The point with the smallest known value of the objective.
    extent : (float, float, float, float)
        The limits of the first weight, then of the second.
    cells : int
        The number of cells along a side of the grid on which the objective is evaluated.

    Returns
    -------
    list of (float, list of ndarray of shape (k, 2))
        Levels with their polylines; none where the objective is the same everywhere, or too large
        for floats.
    """
    field = Field(objective, extent, cells=cells, halvings=0, steps=0)
    least, most = float(field.values.min()), float(field.values.max())
    # A field ends where floats do.
    if not least < most < _FIELD_END:
        return []
    least = min(least, float(objective(best[None])[0]))
    levels = least + (most - least) * (np.arange(1, _LEVELS + 1) / (_LEVELS + 1)) ** 3
    return [(level, field.lines(level)) for level in levels.tolist()]
