"""Folds of rows in blocks: by what is in them, so that nothing has to be kept for any row.

A row's fold is that of a hash of its numbers: the same wherever the row lies and however the
blocks are cut, and equal rows share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.row_hashing import row_keys
from separatrix.data.splitting import hashed_folds
from separatrix.scale.blocks import Rows

__all__ = ["Fold", "fold_hits", "fold_totals", "folds_of"]


def folds_of(rows: Rows, count: int) -> np.ndarray:
    """The fold of every row, from 0 to ``count - 1``."""
    known = getattr(rows, "_folds", None)
    if known is None or known[0] != count:
        known = count, hashed_folds(row_keys(rows.design), count)
        # As long as the rows are there they need not be looked at again.
        object.__setattr__(rows, "_folds", known)
    found: np.ndarray = known[1]
    return found


@dataclass(frozen=True)
class Fold:
    """The rows that a fit leaves out.

    Attributes
    ----------
    number, count : int

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale.blocks import Rows
    >>> from separatrix.scale.folds import Fold
    >>> rows = Rows(np.arange(8.0)[:, None], np.zeros(8, dtype=np.int32))
    >>> masks = np.array([Fold(k, 3).kept(rows) for k in range(3)])
    >>> masks.sum(axis=0).tolist()   # every row is left out once
    [2, 2, 2, 2, 2, 2, 2, 2]
    """

    number: int
    count: int

    def kept(self, rows: Rows) -> np.ndarray:
        """Which rows the fit is to."""
        out: np.ndarray = folds_of(rows, self.count) != self.number
        return out


def fold_totals(rows: Rows, shared: tuple[int, int], own: Any) -> dict[str, np.ndarray]:
    """The sums of the weights of every fold and class."""
    count, k = shared
    cells = folds_of(rows, count).astype(np.int64) * k + rows.target
    totals = np.bincount(cells, weights=rows.weights, minlength=count * k)
    return {"totals": totals.reshape(count, k).astype(np.float64)}


def fold_hits(
    rows: Rows, shared: tuple[int, list[tuple[int, np.ndarray, np.ndarray]]], own: Any
) -> dict[str, np.ndarray]:
    """How much weight of the rows that each model left out it predicts right.

    Every model is its fold, its weights of shape (K or 1, n_features) and its intercepts.
    """
    count, models = shared
    folds, design = folds_of(rows, count), rows.design
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    out = np.zeros(len(models))
    for k in range(count):
        index = np.flatnonzero(folds == k)
        these = [m for m, (fold, _, _) in enumerate(models) if fold == k]
        if not len(index) or not these:
            continue
        some, target, weight = design.take(index), rows.target[index], weights[index]
        for m in these:
            _, coef, intercept = models[m]
            scores = some.dot(np.ascontiguousarray(coef.T)) + intercept
            if scores.shape[1] == 1:
                predicted = (scores[:, 0] > 0.0).astype(np.intp)
            else:
                predicted = scores.argmax(axis=1)
            out[m] = float(np.sum(weight[predicted == target]))
    return {"hits": out}
