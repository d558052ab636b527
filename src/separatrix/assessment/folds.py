"""Rows to fit to and rows to score on, fold by fold; rows that belong together stay on one side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.data.design import as_design
from separatrix.data.row_hashing import row_keys
from separatrix.messages import Message

__all__ = ["Fold", "folds_of"]

Fold = tuple[np.ndarray, np.ndarray]


def folds_of(
    X: Any, y: np.ndarray, cv: Any, *, groups: Any = None, stratify: bool = True, seed: int = 0
) -> list[Fold]:
    """The rows to fit to, and those to score on, of every fold.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Equal rows are a group, whose copies would otherwise be known from the fit, unless fewer
        than half of the rows are different.
    y : ndarray of shape (n_samples,)
    cv : int, splitter or iterable of pairs
        How many folds, drawn at random; anything else is taken as scikit-learn's ``check_cv`` does.
    groups : array-like of shape (n_samples,), optional
        Which rows belong together, in the place of equal ones.
    stratify : bool
        Whether the folds have the same shares of the classes in `y`.
    seed : int

    Raises
    ------
    ValueError
        If there are fewer groups than folds, or no class has so many.
    """
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)):
        return [
            (np.asarray(fit), np.asarray(held))
            for fit, held in check_cv(cv, y, classifier=stratify).split(X, y, groups)
        ]
    together = row_keys(as_design(X)) if groups is None else np.asarray(groups)
    if together.shape != (len(y),):
        raise ValueError(f"groups has the shape {together.shape}; give one group for each row.")
    _, first, group = np.unique(together, return_index=True, return_inverse=True)
    if groups is None and 2 * len(first) < len(y):
        # Where most rows are equal to others, of few categories, they are no copies.
        first = group = np.arange(len(y))
    if len(first) < cv:
        if groups is None:
            raise ValueError(f"{cv} folds need {cv} different rows, and there are {len(first)}.")
        are = f"is {len(first)}" if len(first) == 1 else f"are {len(first)}"
        raise ValueError(Message("few_groups", folds=cv, are=are))
    if stratify:
        most = int(np.unique(y[first], return_counts=True)[1].max())
        if most < cv:
            raise ValueError(
                f"{cv} folds need a class with {cv} rows, and the largest has {most}; give fewer "
                "folds."
            )
    splitter = (StratifiedKFold if stratify else KFold)(int(cv), shuffle=True, random_state=seed)
    number = np.empty(len(first), dtype=np.int64)
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer rows than folds: a fold may have none to score.
        warnings.simplefilter("ignore", UserWarning)
        for k, (_, held) in enumerate(splitter.split(first, y[first])):
            number[held] = k
    fold = number[group.reshape(-1)]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(cv))]
