"""Rows to fit on and rows to test on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.exceptions import DataError
from separatrix.messages import Message, quoted

__all__ = ["split_rows"]


def split_rows(
    y: npt.ArrayLike,
    *,
    test_size: float = 0.2,
    seed: int = 0,
    stratify: bool = True,
    together: npt.ArrayLike | None = None,
    whole: bool = False,
    times: npt.ArrayLike | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Split row numbers into a part to fit on and a part held out, for classes class by class.

    The shares of the classes are the same in both parts, up to rounding. A class that has a
    single row goes to the fit part whole. Where there are fewer rows to hold out than classes,
    shares cannot be kept: the rows are then drawn at random, and any class that would be left
    without a row to fit on gets one back.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels, or a quantity.
    test_size : float, default=0.2
        The share of rows to hold out, ``0 <= test_size < 1``; 0 holds out none.
    seed : int, default=0
        The same seed gives the same split.
    stratify : bool, default=True
        False draws the rows at random whatever is in `y`: a quantity has no classes.
    together : array-like of int of shape (n_rows,), optional
        Rows that share a number stay on one side: that of the first of them.
    whole : bool, default=False
        Groups are drawn rather than rows, whatever their classes, until they have the share.
    times : array-like of shape (n_rows,), optional
        The rows of the latest times are held out; nothing is drawn.

    Returns
    -------
    fit_rows, held_out_rows : ndarray of int64
        Sorted row numbers, from 0; together every row once.

    Raises
    ------
    DataError
        If ``test_size`` is not a share, or there are too few rows to have both parts.

    Examples
    --------
    >>> from separatrix.tables import split_rows
    >>> fit_rows, held_out = split_rows(["a", "b"] * 10, test_size=0.2)
    >>> len(fit_rows), len(held_out)
    (16, 4)
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"labels must be one column, not an array of shape {labels.shape}")
    share = float(test_size)
    if not (math.isfinite(share) and 0.0 <= share < 1.0):
        raise DataError(f"test_size must be a share from 0 up to below 1, not {test_size!r}")
    n_rows = labels.shape[0]
    every = np.arange(n_rows, dtype=np.int64)
    if share == 0.0:
        return every, every[:0]
    n_held = round(share * n_rows)
    groups = None if together is None else np.asarray(together)
    if times is not None:
        in_held = _latest(np.asarray(times, dtype=np.float64), n_held)
        return _known(labels, _parts(labels, in_held, None, False), stratify)
    if groups is not None and whole:
        drawn_groups = _drawn_groups(groups, n_held, seed)
        return _known(labels, _parts(labels, drawn_groups, groups, False), stratify)
    if n_held < 1 or n_held >= n_rows:
        rows = f"{n_rows:,} {'row is' if n_rows == 1 else 'rows are'}"
        raise DataError(Message("too_few_to_hold_out", rows=rows, share=share))
    in_held = np.zeros(n_rows, dtype=bool)
    random = np.random.RandomState(seed)
    if not stratify:
        in_held[random.permutation(n_rows)[:n_held]] = True
        return _parts(labels, in_held, groups, False)

    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    splittable = every[counts[codes] >= 2]
    n_classes = int((counts >= 2).sum())
    n_held = min(n_held, len(splittable) - n_classes)
    if n_held >= n_classes and n_classes > 0:
        held = splittable[_stratified(codes[splittable], n_held, random)]
    else:
        held = random.permutation(n_rows)[: round(share * n_rows)]
    in_held[held] = True
    return _parts(codes, in_held, groups, True)


def _stratified(
    codes: npt.NDArray[Any], n_held: int, random: np.random.RandomState
) -> npt.NDArray[np.int64]:
    """So many rows, of each class its share; the same as scikit-learn's StratifiedShuffleSplit.

    Model files say a seed, by which these rows are found again, so the draws are those.
    """
    _, counts = np.unique(codes, return_counts=True)
    fitted = _shares(counts, len(codes) - n_held, random)
    held = _shares(counts - fitted, n_held, random)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    return np.concatenate(
        [
            own[random.permutation(len(own))[first : first + size]]
            for own, first, size in zip(rows, fitted, held, strict=True)
        ]
    )


def _shares(
    counts: npt.NDArray[Any], n: int, random: np.random.RandomState
) -> npt.NDArray[np.int64]:
    """How many of ``n`` each class gets: the largest remainders are rounded up, ties at random."""
    exact = counts / counts.sum() * n
    given = np.floor(exact)
    left = int(n - given.sum())
    for remainder in np.unique(exact - given)[::-1]:
        if not left:
            break
        (tied,) = np.where(exact - np.floor(exact) == remainder)
        chosen = random.choice(tied, size=min(len(tied), left), replace=False)
        given[chosen] += 1
        left -= len(chosen)
    return given.astype(np.int64)


def _latest(times: npt.NDArray[np.float64], n_held: int) -> npt.NDArray[np.bool_]:
    """The rows of the latest times; those of one time are on one side."""
    cut = np.sort(times)[len(times) - max(1, n_held)]
    if cut == times.min():
        # So many rows are of the earliest time that none would be left to fit.
        later = times[times > cut]
        if not len(later):
            raise DataError("all rows have the same time, so the latest cannot be held out")
        cut = later.min()
    return times >= cut


def _drawn_groups(groups: npt.NDArray[Any], n_held: int, seed: int) -> npt.NDArray[np.bool_]:
    """Rows of groups that are drawn until there are enough, one group left at least."""
    names, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise DataError(Message("one_group"))
    order = np.random.default_rng(seed).permutation(len(names))[:-1]
    count = 1 + int(np.searchsorted(np.cumsum(sizes[order]), n_held))
    held = np.zeros(len(names), dtype=bool)
    held[order[:count]] = True
    return held[group.reshape(-1)]


def _known(
    labels: npt.NDArray[Any],
    parts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    check: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The parts, unless a class is in the rows to hold out alone."""
    new = ~np.isin(labels[parts[1]], labels[parts[0]])
    if check and new.any():
        label = labels[parts[1]][new][0]
        raise DataError(
            f"all rows of class {quoted(label.item())} would be held out, and none fitted; leave "
            "out its rows, or hold out other rows"
        )
    return parts


def _parts(
    labels: npt.NDArray[Any],
    in_held: npt.NDArray[np.bool_],
    groups: npt.NDArray[Any] | None,
    classes: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both parts; no group is in both, and no class is held out as a whole unless it must be."""
    every = np.arange(len(labels), dtype=np.int64)
    if groups is not None:
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        in_held = in_held[first][group.reshape(-1)]
    if classes:
        for label in np.unique(labels):
            rows = every[labels == label]
            if in_held[rows].all():
                back = rows[:1] if groups is None else every[groups == groups[rows[0]]]
                in_held[back] = False
    if not in_held.any():
        raise DataError(Message("single_rows", rows=len(labels)))
    if in_held.all():
        raise DataError(
            "there are so few different rows that none would be left to fit; hold out a smaller "
            "share"
        )
    return every[~in_held], every[in_held]
