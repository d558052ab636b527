"""Folds of rows in blocks: those that the same rows have in memory.

A row's fold follows from its class and from how many rows of that class come before it, so that
nothing has to be kept for any row: a block knows how many there are in the blocks before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data.moments import Moments
from separatrix.scale.blocks import Rows


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
    >>> folds = np.array([0, 0, 1, 1, 2, 2])
    >>> rows = Rows(np.arange(6.0)[:, None], np.zeros(6, dtype=np.int32), folds=folds)
    >>> masks = np.array([Fold(k, 3).kept(rows) for k in range(3)])
    >>> masks.sum(axis=0).tolist()   # every row is left out once
    [2, 2, 2, 2, 2, 2]
    """

    number: int
    count: int

    def kept(self, rows: Rows) -> np.ndarray:
        """Whether each row is in the fit; all rows of a sample are, whose folds are not known."""
        if rows.folds is None:
            return np.ones(len(rows), dtype=bool)
        out: np.ndarray = rows.folds != self.number
        return out


@dataclass(frozen=True, eq=False)
class BlockFolds:
    """The places of the rows of a block among all rows of their classes, and the ends of folds.

    Attributes
    ----------
    before : ndarray of shape (K,)
        The number of rows of each class in earlier blocks; a quantity is one class.
    ends : ndarray of shape (K, count)
        The number of rows of each class in a fold and in those before it.
    """

    before: np.ndarray
    ends: np.ndarray

    def of(self, rows: Rows) -> np.ndarray:
        """The fold of every row; -1 for one without weight, which is in none."""
        out = np.full(len(rows), -1, dtype=np.int32)
        codes, used = _codes(rows, len(self.before))
        for k in range(len(self.before)):
            index = np.flatnonzero((codes == k) & used)
            ranks = self.before[k] + np.arange(len(index))
            out[index] = np.searchsorted(self.ends[k], ranks, side="right")
        return out


def _codes(rows: Rows, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of rows, and which rows have a weight."""
    codes = np.zeros(len(rows), dtype=np.int64) if n_classes == 1 else rows.target
    used = np.ones(len(rows), dtype=bool) if rows.weights is None else rows.weights > 0.0
    return codes, used


def in_folds(rows: Rows, shared: tuple[Any, Any], own: BlockFolds) -> Any:
    """The result of a function of the rows of a block, with the folds that they are in."""
    task, given = shared
    return task(replace(rows, folds=own.of(rows)), given, None)


def _numbers(rows: Rows, n_classes: int, own: Any) -> tuple[np.ndarray, np.ndarray]:
    """The number of rows of each class that have a weight, and the first such row of each."""
    codes, used = _codes(rows, n_classes)
    counts = np.bincount(codes[used], minlength=n_classes)
    first = [np.flatnonzero((codes == k) & used)[:1].sum() for k in range(n_classes)]
    return counts, np.array(first)


def laid_out(passes: Any, count: int, n_classes: int) -> list[BlockFolds]:
    """Folds of consecutive rows, or for classes of consecutive rows of each; see scikit-learn.

    Parameters
    ----------
    passes : Passes
        One pass is made where the number of rows of each class in a block is not known.
    count : int
        The number of folds.
    n_classes : int
        The number of classes; one for a quantity.
    """
    if n_classes == 1 and not passes.weighted:
        found = [(np.array([b.n_rows]), np.zeros(1, dtype=int)) for b in passes.data.blocks]
    else:
        found = list(passes.each(_numbers, n_classes))
    counts = np.array([own for own, _ in found])
    totals, n = counts.sum(axis=0), int(counts.sum())
    if n_classes == 1:
        sizes = np.full((1, count), n // count)
        sizes[0, : n % count] += 1
    else:
        # Scikit-learn deals the classes, in the order in which they appear, to the folds in turn.
        first = [int(np.argmax(counts[:, k] > 0)) for k in range(n_classes)]
        places = [(b, int(found[b][1][k]), k) for k, b in enumerate(first)]
        order = [k for _, _, k in sorted(places)]
        edges = np.concatenate([[0], np.cumsum(totals[order])])
        sizes = np.zeros((n_classes, count), dtype=np.int64)
        for place, k in enumerate(order):
            low, high = edges[place], edges[place + 1]
            for fold in range(count):
                # Places that are fold modulo count.
                sizes[k, fold] = (high - fold + count - 1) // count - (
                    low - fold + count - 1
                ) // count
    before = np.cumsum(counts, axis=0) - counts
    ends = np.cumsum(sizes, axis=1)
    return [BlockFolds(own, ends) for own in before]


def fold_totals(rows: Rows, shared: tuple[int, int], own: Any) -> dict[str, np.ndarray]:
    """The sums of the weights of every fold and class."""
    count, k = shared
    assert rows.folds is not None
    used = rows.folds >= 0
    cells = rows.folds[used].astype(np.int64) * k + rows.target[used]
    weights = None if rows.weights is None else rows.weights[used]
    totals = np.bincount(cells, weights=weights, minlength=count * k)
    return {"totals": totals.reshape(count, k).astype(np.float64)}


def fold_hits(
    rows: Rows, shared: tuple[int, list[tuple[int, np.ndarray, np.ndarray]]], own: Any
) -> dict[str, np.ndarray]:
    """The weight of the rows that each model predicts right among those that it left out.

    Every model is its fold, its weights of shape (K or 1, n_features) and its intercepts.
    """
    count, models = shared
    folds, design = rows.folds, rows.design
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


def _moments(rows: Rows, count: int, own: Any) -> list[Moments | None]:
    """The moments of the rows of a block with their targets, by fold."""
    design, out = rows.design, []
    for k in range(count):
        index = np.flatnonzero(rows.folds == k)
        weights = None if rows.weights is None else rows.weights[index]
        targets = rows.target[index, None]
        some = (
            Moments.of(design.take(index), weights=weights, targets=targets) if len(index) else None
        )
        out.append(some)
    return out


def fold_moments(passes: Any, count: int) -> list[Moments]:
    """The moments of all rows with their targets and, after them, of those that each fold leaves.

    ``passes.folds`` gives the fold of every row; each fold has some rows.
    """
    found: list[Moments | None] = [None] * count
    for parts in passes.each(_moments, count):
        for k, part in enumerate(parts):
            known = found[k]
            found[k] = part if known is None else known if part is None else known.merge(part)
    for k, part in enumerate(found):
        if part is None:
            raise ValueError(f"fold {k + 1} of {count} has no row to score; give fewer folds.")
    return Moments.without_each([part for part in found if part is not None])


def _squares(rows: Rows, shared: tuple[np.ndarray, np.ndarray], own: Any) -> dict[str, np.ndarray]:
    coefs, levels = shared
    squares, totals = np.zeros(levels.shape), np.zeros(len(levels))
    for k, (coef, level) in enumerate(zip(coefs, levels, strict=True)):
        index = np.flatnonzero(rows.folds == k)
        if not len(index):
            continue
        weights = np.ones(len(index)) if rows.weights is None else rows.weights[index]
        scores = rows.design.take(index).dot(np.ascontiguousarray(coef.T)) + level
        squares[k] = weights @ np.square(rows.target[index, None] - scores)
        totals[k] = weights.sum()
    return {"squares": squares, "totals": totals}


def fold_squares(passes: Any, coefs: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Mean squared errors on what each fold holds out, by one pass.

    Parameters
    ----------
    passes : Passes
    coefs : ndarray of shape (n_folds, n_fits, n_features)
        Weights of the fits to what each fold leaves.
    levels : ndarray of shape (n_folds, n_fits)
        Their intercepts.

    Returns
    -------
    ndarray of shape (n_folds, n_fits)
    """
    found = passes.sums(_squares, (coefs, levels))
    out: np.ndarray = found["squares"] / found["totals"][:, None]
    return out
