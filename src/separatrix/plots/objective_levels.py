"""Level sets of an objective over two of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.plots.zero_set import Field

__all__ = ["objective_levels"]

_LEVELS = 9
# What a field has in place of larger values.
_FIELD_END = 1e300


def objective_levels(
    problem: Any, point: np.ndarray, pair: tuple[int, int], extent: Sequence[float], cells: int
) -> list[tuple[float, list[np.ndarray]]]:
    """Level sets of an objective over two of its weights, closer together near the least value.

    Parameters
    ----------
    problem : Objective
    point : ndarray of shape (p,)
        Weights, with the intercept last if there is one: those that stay as they are, and of the
        two others the best that are known.
    pair : (int, int)
        The positions of the two.
    extent : (float, float, float, float)
        Of the two.
    cells : int
        A side of the grid on which the objective is evaluated.

    Returns
    -------
    list of (float, list of ndarray of shape (k, 2))
        Values with their polylines; none where the objective is the same everywhere, or too large
        for floats.
    """

    def objective(places: np.ndarray) -> np.ndarray:
        moved = np.tile(point, (len(places), 1))
        moved[:, pair] = places
        values = [problem.value(problem.to_internal(theta)) for theta in moved]
        return np.nan_to_num(values, nan=np.inf)

    field = Field(objective, extent, cells=cells, halvings=0, steps=0)
    least, most = float(field.values.min()), float(field.values.max())
    # A field ends where floats do.
    if not least < most < _FIELD_END:
        return []
    least = min(least, float(objective(point[None, pair])[0]))
    levels = least + (most - least) * (np.arange(1, _LEVELS + 1) / (_LEVELS + 1)) ** 3
    return [(level, field.lines(level)) for level in levels.tolist()]
