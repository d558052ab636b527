"""Rows to fit and rows to judge by: the one place where rows are split.

Folds are those of a splitter (:func:`folds_of`), drawn at random with the copies of a row on one
side (:func:`drawn_folds`, :func:`fold_numbers`), or follow the times of the rows
(:func:`time_folds`).  Rows are held out by a share of them: of each class, of groups, of the latest
times (:func:`split_rows`), of all alike (:func:`held_out_rows`), of the different rows of each
class (:func:`held_out_by_class`), or by what is in a row alone (:func:`hashed_hold_out`).  Rows of
weight zero are in no fold.

Scikit-learn is imported where it is used, because tables and blocks do without it.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix._compiled.splitmix import mixed
from separatrix.data.design import Design, as_design
from separatrix.data.row_hashing import canonical_order, row_keys
from separatrix.exceptions import DataError
from separatrix.messages import Message, quoted

# The numbers of the rows to fit, and of those to judge by.
Fold = tuple[np.ndarray, np.ndarray]


# --- folds ----------------------------------------------------------------------------------------


def folds_of(
    cv: Any, X: Any, y: Any, weights: np.ndarray | None, groups: Any = None, *, stratify: bool
) -> list[Fold]:
    """The folds of a splitter.

    Rows of no weight are split like rows that are not there.

    Parameters
    ----------
    cv : int, splitter or iterable of pairs
        A splitter, the folds or their number; the row numbers in pairs are those of all rows.
    X : array-like of shape (n_samples, ...)
        The rows as the splitter sees them.
    y : array-like of shape (n_samples, ...)
    weights : ndarray of shape (n_samples,), optional
    groups : array-like of shape (n_samples,), optional
    stratify : bool
        Whether a number of folds stands for stratified ones.

    Raises
    ------
    ValueError
        For groups of another length, no folds, a fold that is no pair of rows that are there, or
        one without a row of positive weight to fit or to score.
    """
    from sklearn.model_selection import check_cv
    from sklearn.utils import _safe_indexing, column_or_1d
    from sklearn.utils.validation import _num_samples

    n = _num_samples(y)
    pairs = not isinstance(cv, Integral) and not hasattr(cv, "split")
    used = np.arange(n) if pairs else _used(weights, n)
    rows, targets = (X, y) if len(used) == n else (_safe_indexing(X, used), _safe_indexing(y, used))
    splitter = check_cv(cv, targets, classifier=stratify)
    if groups is not None:
        groups = column_or_1d(groups)
        _require_groups(groups, n)
        groups = _safe_indexing(groups, used)
    out = []
    for number, pair in enumerate(splitter.split(rows, targets, groups)):
        try:
            train, held = used[pair[0]], used[pair[1]]
        except IndexError as error:
            raise DataError(
                f"Fold {number} of cv is no pair of numbers of rows to fit and of rows to score, "
                f"from 0 to {len(used) - 1}: {error}."
            ) from error
        if weights is not None:
            held = held[weights[held] > 0.0]
        for part, verb in ((train, "fit"), (held, "score")):
            if not len(part) or (weights is not None and not weights[part].any()):
                raise DataError(
                    f"Fold {number} of cv has no row of positive weight to {verb}; give fewer "
                    "folds, or weights to more rows."
                )
        out.append((train, held))
    if not out:
        raise DataError("cv has no folds; give at least one pair of rows to fit and rows to score.")
    return out


def _require_groups(groups: np.ndarray, n: int) -> None:
    """Raise DataError unless there is one group for each row."""
    if groups.shape != (n,):
        raise DataError(f"groups has the shape {groups.shape}; give one group for each row.")


def _used(weights: np.ndarray | None, n: int) -> np.ndarray:
    """The rows of positive weight."""
    if weights is None:
        return np.arange(n)
    from separatrix.data.validation import require_some_weight

    require_some_weight(float(weights.max(initial=0.0)))
    return np.flatnonzero(weights > 0.0)


def drawn_folds(
    cv: Any,
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    groups: Any = None,
    *,
    times: Any = None,
    stratify: bool = True,
    seed: int = 0,
) -> list[Fold]:
    """Folds that are drawn at random; rows that belong together are in one of them.

    With times nothing is drawn: see :func:`time_folds`.

    Parameters
    ----------
    cv : int, splitter or iterable of pairs
        The number of folds, drawn at random; anything else is split as :func:`folds_of` does.
    X : matrix of shape (n_samples, n_features)
        The rows: equal ones are a group, whose copies would otherwise be known from the fit, unless
        fewer than half of the rows are different.
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,), optional
    groups : array-like of shape (n_samples,), optional
        The group of each row: rows of one group stay together, in the place of equal ones.
    times : array-like of shape (n_samples,), optional
        Numbers by which each fold fits the rows before those that it scores.
    stratify : bool
        Whether the folds have the same shares of the classes in `y`.
    seed : int

    Raises
    ------
    ValueError
        If there are fewer groups or times than folds, or no class has so many.
    """
    if times is not None:
        if groups is not None or isinstance(cv, bool) or not isinstance(cv, Integral):
            raise DataError(Message("times_alone"))
        return time_folds(times, int(cv), y if stratify else None, weights)
    if isinstance(cv, bool) or not isinstance(cv, Integral):
        return folds_of(cv, X, y, weights, groups, stratify=stratify)
    count, n = int(cv), len(y)
    together = row_keys(as_design(X)) if groups is None else np.asarray(groups)
    _require_groups(together, n)
    used = _used(weights, n)
    _, first, group = np.unique(together[used], return_index=True, return_inverse=True)
    if groups is None and 2 * len(first) < len(used):
        # Where most rows are equal to others, of few categories, they are no copies.
        first = group = np.arange(len(used))
    if len(first) < count:
        if groups is None:
            raise DataError(f"{cv} folds need {cv} different rows, and there are {len(first)}.")
        are = f"is {len(first)}" if len(first) == 1 else f"are {len(first)}"
        raise DataError(Message("few_groups", folds=cv, are=are))
    classes = y[used[first]] if stratify else None
    if classes is not None:
        most = int(np.unique(classes, return_counts=True)[1].max())
        if most < count:
            raise DataError(
                f"{cv} folds need a class with {cv} rows, and the largest has {most}; give fewer "
                "folds."
            )
    fold = _dealt(len(first), classes, count, seed)[group.reshape(-1)]
    return [(used[fold != k], used[fold == k]) for k in range(count)]


def time_parts(times: npt.ArrayLike, count: int) -> np.ndarray:
    """The part of each row, from 0 on, of ``count`` parts of about equal size that follow in time.

    Rows of one time are in one part.

    Raises
    ------
    DataError
        For fewer different times than parts.

    Examples
    --------
    >>> from separatrix.data.splitting import time_parts
    >>> time_parts([2021, 2023, 2022, 2022, 2024, 2021], 3).tolist()
    [0, 2, 1, 1, 2, 0]
    """
    values = np.asarray(times, dtype=np.float64)
    different, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(different) < count or np.isnan(values).any():
        raise DataError(Message("few_times", parts=count, times=len(different)))
    return parts_of_times(sizes, count)[place.reshape(-1)]


def parts_of_times(sizes: np.ndarray, count: int) -> np.ndarray:
    """The part of each different time in ascending order, by the number of rows that have it.

    There are as many parts as times, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.splitting import parts_of_times
    >>> parts_of_times(np.array([2, 2, 1, 1]), 3).tolist()
    [0, 1, 2, 2]
    """
    # The part in which the middle of the rows of a time would be, moved where one would be empty.
    middle = (np.cumsum(sizes) - 0.5 * sizes) / sizes.sum()
    part: np.ndarray = np.minimum((middle * count).astype(np.intp), count - 1)
    part[0] = 0
    steps = np.arange(len(part))
    part = np.minimum.accumulate(part - steps) + steps
    return np.maximum(part, count - len(part) + steps)


def time_folds(
    times: npt.ArrayLike,
    count: int,
    classes: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> list[Fold]:
    """Folds that score later rows than they fit: forward chaining.

    The rows are cut into one more part than there are folds, in the order of their times.  The
    first fold fits the first part and scores the second; each other one fits all parts before the
    one that it scores.

    Parameters
    ----------
    times : array-like of shape (n_samples,)
    count : int
    classes : ndarray of shape (n_samples,), optional
        The labels, where each class has to be in every fit.
    weights : ndarray of shape (n_samples,), optional
        Rows of weight zero are in no fold.

    Raises
    ------
    DataError
        For too few different times, or a class that is in none of the rows that a fold fits.

    Examples
    --------
    >>> from separatrix.data.splitting import time_folds
    >>> [(fit.tolist(), held.tolist()) for fit, held in time_folds([3, 1, 2, 4], 3)]
    [([1], [2]), ([1, 2], [0]), ([0, 1, 2], [3])]
    """
    values = np.asarray(times, dtype=np.float64)
    used = _used(weights, len(values))
    part = np.full(len(values), -1, dtype=np.intp)
    part[used] = time_parts(values[used], count + 1)
    folds = []
    for k in range(1, count + 1):
        fitted, held = np.flatnonzero((part >= 0) & (part < k)), np.flatnonzero(part == k)
        if classes is not None:
            new = np.setdiff1d(classes[used], classes[fitted])
            if len(new):
                label = quoted(new[0].item() if hasattr(new[0], "item") else new[0])
                raise DataError(Message("class_not_before", label=label, fold=k, folds=count))
        folds.append((fitted, held))
    return folds


def fold_numbers(
    design: Design, codes: np.ndarray, used: np.ndarray, *, most: int, seed: int
) -> tuple[np.ndarray, int]:
    """The fold that leaves each of the rows in use out, -1 for none, and the number of folds.

    Copies of a row share a fold, and which one depends on the values of the rows and not on
    their order: so a weight of k is the same as k copies, and no row is judged by a model that
    was fitted to a copy of it.  Where copies differ in their class, values repeat by nature,
    and they are dealt singly.  A class that is copies of one row is left out of no fit, because
    no fit can do without it.

    Parameters
    ----------
    design : Design
    codes : ndarray of shape (n_samples,)
        The classes of the rows, as numbers from 0.
    used : ndarray of int
        The rows of positive weight.
    most : int
        There are as many folds as the smallest class has different rows, but no more than this.
    seed : int
    """
    keys, codes = row_keys(design)[used], codes[used]
    order = np.lexsort((codes, keys))
    keys, codes = keys[order], codes[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    starts = first.copy()
    starts[1:] |= codes[1:] != codes[:-1]
    place = np.cumsum(first) - 1
    starts |= (np.bincount(place, weights=starts) > 1.0)[place]
    unit = np.cumsum(starts) - 1
    unit_codes = codes[starts]
    sizes = np.bincount(unit_codes)
    fold_of_unit = np.full(len(unit_codes), -1, dtype=np.intp)
    dealt = np.flatnonzero(sizes[unit_codes] > 1)
    count = 1
    if len(dealt):
        count = int(min(most, sizes[sizes > 1].min()))
        fold_of_unit[dealt] = _dealt(len(dealt), unit_codes[dealt], count, seed)
    out = np.empty(len(order), dtype=np.intp)
    out[order] = fold_of_unit[unit]
    return out, count


def _dealt(n: int, classes: np.ndarray | None, count: int, seed: int) -> np.ndarray:
    """The fold of each of n units, drawn at random, and for classes class by class."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if classes is None else StratifiedKFold
    splitter = kind(count, shuffle=True, random_state=seed)
    out = np.empty(n, dtype=np.intp)
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer rows than folds: a fold may have none to score.
        warnings.simplefilter("ignore", UserWarning)
        for k, (_, held) in enumerate(splitter.split(np.zeros(n), classes)):
            out[held] = k
    return out


# --- rows held out --------------------------------------------------------------------------------


def hashed_hold_out(keys: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Whether each row is held out, by its number of :func:`row_keys`: equal rows on one side."""
    word = keys ^ mixed(np.array([seed + 1], dtype=np.uint64))
    drawn: np.ndarray = (mixed(word) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share
    return drawn


def held_out_rows(n: int, share: Any, random_state: Any) -> Fold:
    """Rows of which the share ``validation`` is held out, drawn at random whatever they are."""
    from separatrix.data.random_state import random_state_of
    from separatrix.data.validation import check_number

    check_number("validation", share, above=0)
    held = round(n * float(share))
    if not 0 < held < n:
        raise DataError(
            f"validation={share!r} of {n} rows leaves no rows to fit or none to validate; give a "
            "share between 0 and 1."
        )
    in_held = _drawn(n, held, random_state_of(random_state))
    return np.flatnonzero(~in_held), np.flatnonzero(in_held)


def held_out_by_class(
    design: Design, codes: np.ndarray, weights: np.ndarray | None, share: float, seed: Any
) -> np.ndarray:
    """A share of the different rows of every class, one of which is left at least.

    Parameters
    ----------
    design : Design
        The rows: copies of a row stay together, and the draw depends on the values of the rows
        alone.
    codes : ndarray of shape (n_samples,)
        The classes of the rows, as numbers from 0.
    weights : ndarray of shape (n_samples,), optional
    share : float
    seed : int or sequence of int

    Returns
    -------
    ndarray of int
        Sorted row numbers; none where no class has two different rows.
    """
    order, group = canonical_order(design, codes)
    if weights is not None:
        used = weights[order] > 0.0
        order, group = order[used], group[used]
    starts = np.ones(len(group), dtype=bool)
    starts[1:] = group[1:] != group[:-1]
    unit_codes = codes[order[starts]]
    rng = np.random.default_rng(seed)
    out = np.zeros(len(unit_codes), dtype=bool)
    for k in range(int(unit_codes.max(initial=-1)) + 1):
        own = np.flatnonzero(unit_codes == k)
        count = min(max(1, round(share * len(own))), len(own) - 1)
        out[rng.permutation(own)[: max(count, 0)]] = True
    held: np.ndarray = np.sort(order[out[np.cumsum(starts) - 1]])
    return held


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
        The seed of the draw: the same seed gives the same split.
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
    random = np.random.RandomState(seed)
    if not stratify:
        return _parts(labels, _drawn(n_rows, n_held, random), groups, False)

    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    splittable = every[counts[codes] >= 2]
    n_classes = int((counts >= 2).sum())
    n_held = min(n_held, len(splittable) - n_classes)
    if n_held >= n_classes and n_classes > 0:
        in_held = np.zeros(n_rows, dtype=bool)
        in_held[splittable[_stratified(codes[splittable], n_held, random)]] = True
    else:
        in_held = _drawn(n_rows, round(share * n_rows), random)
    return _parts(codes, in_held, groups, True)


def _drawn(n: int, n_held: int, random: np.random.RandomState) -> npt.NDArray[np.bool_]:
    """A mask of ``n_held`` of ``n`` rows, drawn at random."""
    in_held = np.zeros(n, dtype=bool)
    in_held[random.permutation(n)[:n_held]] = True
    return in_held


def _stratified(
    codes: npt.NDArray[Any], n_held: int, random: np.random.RandomState
) -> npt.NDArray[np.int64]:
    """Draw ``n_held`` rows, each class by its share, like scikit-learn's StratifiedShuffleSplit.

    Model files state a seed, by which these rows are found again, so the draws are the same.
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
    """The row counts of the classes in ``n``: largest remainders rounded up, ties at random."""
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
