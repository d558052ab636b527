"""Rows to fit on and rows to test on."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from separatrix.exceptions import DataError
from separatrix.messages import Message

__all__ = ["split_rows"]


def split_rows(
    y: npt.ArrayLike, *, test_size: float = 0.2, seed: int = 0, stratify: bool = True
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
    if n_held < 1 or n_held >= n_rows:
        rows = f"{n_rows:,} {'row is' if n_rows == 1 else 'rows are'}"
        raise DataError(Message("too_few_to_hold_out", rows=rows, share=share))
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    if not stratify:
        drawn = ShuffleSplit(n_splits=1, test_size=n_held, random_state=seed).split(every)
        left, held = next(drawn)
        return np.sort(left).astype(np.int64), np.sort(held).astype(np.int64)

    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    splittable = every[counts[codes] >= 2]
    n_classes = int((counts >= 2).sum())
    n_held = min(n_held, len(splittable) - n_classes)
    if n_held >= n_classes and n_classes > 0:
        splitter = StratifiedShuffleSplit(n_splits=1, test_size=n_held, random_state=seed)
        _, chosen = next(splitter.split(splittable, codes[splittable]))
        held = splittable[chosen]
    else:
        n_held = round(share * n_rows)
        _, held = next(ShuffleSplit(n_splits=1, test_size=n_held, random_state=seed).split(every))
    held = np.sort(held).astype(np.int64)
    in_held = np.zeros(n_rows, dtype=bool)
    in_held[held] = True
    for code in range(len(classes)):
        rows = every[codes == code]
        if in_held[rows].all():
            in_held[rows[0]] = False
    if not in_held.any():
        raise DataError(Message("single_rows", rows=n_rows))
    return every[~in_held], every[in_held]
