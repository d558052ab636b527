"""The lift in three dimensions: points at a height above the picture, and what separates them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.studio.fitting import Fitted
from separatrix.studio.lifting import lifted
from separatrix.studio.pictures import lines_of
from separatrix.studio.state import FEATURES

# Places along a side of the grid.
_ACROSS = 17
# A feature whose weight is below this share of the largest does not affect the boundary.
_NOTHING = 1e-9
# The padding of the heights of the points, as a share of their range.
_ROOM = 0.15


def lift_of(fit: Fitted) -> dict[str, Any]:
    """Heights of the points and of two surfaces over a grid in the view.

    With features chosen, the height is the first of them: points stand on the surface of the
    feature, and the other surface is where the score is 0 at that height, a plane where no other
    feature is chosen. Without, the height is the score, and what separates is the plane at 0.

    Returns
    -------
    dict
        A ``note``, and ``lift`` with the name of the ``height``; the ranges ``x``, ``y`` and ``z``
        that are drawn; ``points`` of shape (n, 4): place, height and class; the number ``across``
        of places in a row of the grid; heights ``surface`` and ``sheet`` and the predicted class
        ``side`` of its places, row by row; and the ``boundary``, lines in space.
    """
    state = fit.state
    low, high, bottom, top = state.view
    axes = np.linspace(low, high, _ACROSS), np.linspace(bottom, top, _ACROSS)
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    places = state.points[fit.rows]
    lines = [np.array(part) for one in lines_of(fit) if one["level"] == 0 for part in one["parts"]]
    if state.lift:
        height, at, surface, sheet = _by_feature(fit, places, grid)
        lines = [np.column_stack([one, lifted(one, state.lift[:1])[:, 2]]) for one in lines]
        note = f"Points at the height {height}. Where the sheet cuts the surface is the boundary."
        if sheet is None:
            note = f"Points at the height {height}, on which the score hardly depends."
    else:
        height, at, surface = "score", fit.scores(places), fit.scores(grid)
        sheet = np.zeros(len(grid))
        lines = [np.column_stack([one, np.zeros(len(one))]) for one in lines]
        note = "Points at the height of their score: the sheet at 0 cuts the surface of the score "
        note += "at the boundary."
    ends = float(min(at.min(), 0.0)), float(max(at.max(), 0.0))
    room = _ROOM * (ends[1] - ends[0]) or 1.0
    z = ends[0] - room, ends[1] + room
    return {
        "note": note,
        "lift": {
            "height": height,
            "x": (low, high),
            "y": (bottom, top),
            "z": z,
            "points": np.column_stack([places, at, state.codes[fit.rows]]),
            "across": _ACROSS,
            "surface": surface,
            "sheet": sheet,
            "side": fit.predicted(grid),
            "boundary": [line.tolist() for line in lines],
        },
    }


def _by_feature(
    fit: Fitted, places: np.ndarray, grid: np.ndarray
) -> tuple[str, np.ndarray, np.ndarray, np.ndarray | None]:
    """Name and heights of the first feature, and the heights at which the score is 0."""
    state = fit.state
    first = state.lift[:1]
    # The polynomial kernel's own coordinates follow the two of the plane; x squared is the first.
    height = "x\u00b2" if first == ("poly",) else FEATURES[first[0]]
    at, surface = (lifted(one, first)[:, 2] for one in (places, grid))
    weights = fit.weights
    assert weights is not None
    weight = weights[0][2]
    if abs(weight) <= _NOTHING * np.abs(weights[0]).max():
        return height, at, surface, None
    return height, at, surface, surface - fit.scores(grid) / weight
