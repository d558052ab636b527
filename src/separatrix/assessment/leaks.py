r"""Columns that give the target away: known with it or after it, and missing from new rows.

A column that does so alone is found by how it predicts rows that are held out: a number by the
order of its values (the area under the ROC curve), or for a quantity by a line; a category by the
mean target of its levels in the rows that were fitted.  A column that does so together with
another, such as what was repaid of a loan together with its amount, is found by the model: its
score is high, and falls far where the values of this column are exchanged among the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.assessment.scoring import class_scores
from separatrix.assessment.weights import has_weights
from separatrix.data.class_scores import Ranked
from separatrix.data.design import dense
from separatrix.tables import Table
from separatrix.tables.categorical import first_appearance
from separatrix.tables.table import missing_mask

TELLING = 0.99
"""A column that scores more than this alone gives the target away."""

# The most fitted and held-out rows that are used, and the fewest rows, in all and of each class,
# that are enough for a score.
_FITTED, _HELD, _LEAST, _LEAST_OF_CLASS = 6_000, 3_000, 50, 10
# With more classes each against the rest would take long.
_CLASSES = 20
# About so many of the held-out rows, where _LEAST of them are of each class, show first whether a
# column scores far less: where the area of all rows is .99, theirs is hardly ever below .95.
_FEW_HELD, _FAR_BELOW = 600, 0.95


def single_scores(
    table: Table, y: np.ndarray, fitted: np.ndarray, held: np.ndarray, *, quantity: bool
) -> dict[str, float]:
    """The score of each column alone on held-out rows.

    Parameters
    ----------
    table : Table
        The table without the target.
    y : ndarray of shape (n_rows,)
    fitted, held : ndarray of int
        The numbers of the rows from which levels are learned, and on which columns are scored.
    quantity : bool
        Whether `y` holds numbers to be predicted rather than classes.

    Returns
    -------
    dict
        The scores by column: the area under the ROC curve, for more than two classes its mean over
        the classes; R^2 for a quantity.  Where rows are many, a part of them scores a column that
        is far below :data:`TELLING`.  The score of a column that lacks values is the higher of
        those of all rows and of the rows that have one.  Empty where there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Table
    >>> rng = np.random.default_rng(0)
    >>> paid = np.repeat([0, 1], 200)
    >>> table = Table.from_columns({"age": rng.normal(size=400), "repaid": paid + 0.1})
    >>> rows = rng.permutation(400)
    >>> found = single_scores(table, paid, rows[:300], rows[300:], quantity=False)
    >>> found["repaid"], found["age"] < 0.6
    (1.0, True)
    """
    rng = np.random.default_rng(0)
    fitted, held = (
        rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
        for rows, most in ((fitted, _FITTED), (held, _HELD))
    )
    if len(held) < _LEAST or table.matrix is not None:
        return {}
    # The other rows are not needed.
    chosen = np.concatenate([fitted, held])
    y, fitted, held = np.asarray(y)[chosen], np.arange(len(fitted)), np.arange(len(held))
    held += len(fitted)
    if quantity:
        targets = np.asarray(y, dtype=np.float64)[:, None]
    else:
        classes, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes[held], minlength=len(classes))
        if not 2 <= len(classes) <= _CLASSES or counts.min() < _LEAST_OF_CLASS:
            return {}
        targets = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        targets = targets[:, 1:] if len(classes) == 2 else targets
    true, some = targets[held], slice(None, None, max(1, len(held) // _FEW_HELD))
    hits = true[some].sum(axis=0)
    if quantity or min(hits.min(), (len(true[some]) - hits).min()) < _LEAST:
        some = slice(None)
    found = {}
    for name in table.names:
        if name in table.derived or table.kinds[name] == "text":
            continue
        column = table.columns[name][chosen]
        if column.dtype == object:
            predicted = _of_levels(first_appearance(column), targets, fitted, held)
        else:
            predicted = _of_numbers(column, targets, fitted, held, quantity)
        if predicted is not None:
            score = _score(true[some], predicted[some], quantity)
            whole = score < _FAR_BELOW or some == slice(None)
            found[name] = score if whole else _score(true, predicted, quantity)
            # A column that gives the target away does so where it is known, however often that is.
            there = ~missing_mask(column[held])
            if not there.all() and _enough(true[there], quantity):
                known = _score(true[there], predicted[there], quantity)
                found[name] = max(found[name], known)
    return found


def _enough(targets: np.ndarray, quantity: bool) -> bool:
    """Whether there are enough rows for a score, and for classes enough on either side."""
    if quantity or len(targets) < _LEAST:
        return len(targets) >= _LEAST
    hits = targets.sum(axis=0)
    return bool(np.minimum(hits, len(targets) - hits).min() >= _LEAST_OF_CLASS)


def _of_levels(
    codes: np.ndarray, targets: np.ndarray, fitted: np.ndarray, held: np.ndarray
) -> np.ndarray | None:
    """The mean target of each row's level in the rows that were fitted."""
    n_levels = int(codes.max()) + 1
    if n_levels == 1:
        return None
    sizes = np.bincount(codes[fitted], minlength=n_levels)
    out = np.empty((len(held), targets.shape[1]))
    for k, own in enumerate(targets.T):
        sums = np.bincount(codes[fitted], own[fitted], minlength=n_levels)
        # As if one more row of every level had the mean.
        out[:, k] = ((sums + own[fitted].mean()) / (sizes + 1.0))[codes[held]]
    return out


def _of_numbers(
    column: Any, targets: np.ndarray, fitted: np.ndarray, held: np.ndarray, quantity: bool
) -> np.ndarray | None:
    """Values in the order in which they predict the target, missing ones where they belong."""
    values = np.ma.getdata(column).astype(np.float64)
    gone = missing_mask(column) | ~np.isfinite(values)
    there = fitted[~gone[fitted]]
    if len(there) < _LEAST:
        return None
    x = values[there] - values[there].mean()
    largest = float(np.abs(x).max())
    if not 0.0 < largest < np.inf:
        return None
    x /= largest
    # Squares of deviations of the size of 1 leave the range of float64 nowhere.
    slopes = (x @ (targets[there] - targets[there].mean(axis=0))) / float(x @ x)
    z = (np.where(gone, values[there].mean(), values)[held] - values[there].mean()) / largest
    out = z[:, None] * (slopes if quantity else np.sign(slopes))
    if quantity:
        out += targets[there].mean(axis=0)
    lost = gone[held]
    if lost.any():
        without = fitted[gone[fitted]]
        means = targets[without if len(without) else fitted].mean(axis=0)
        if quantity:
            out[lost] = means
        else:
            beyond = 1.0 + float(np.abs(z).max())
            out[lost] = np.where(means > targets[there].mean(axis=0), beyond, -beyond)
    return out


def _score(targets: np.ndarray, predicted: np.ndarray, quantity: bool) -> float:
    if quantity:
        # Squares of numbers up to 1 leave the range of float64 nowhere.
        unit = float(np.abs(targets).max()) or 1.0
        targets, predicted = targets / unit, predicted / unit
        spread = float(np.square(targets - targets.mean()).sum())
        return 1.0 - float(np.square(targets - predicted).sum()) / spread if spread else 0.0
    return _mean_area(predicted, targets > 0.5)


def _mean_area(scores: np.ndarray, hits: np.ndarray) -> float:
    """The mean area under the ROC curves of columns, each reversed where it is below a half."""
    ones = np.ones(len(scores))
    areas = [Ranked.of(own, hit, ones).area for own, hit in zip(scores.T, hits.T, strict=True)]
    return float(np.mean([0.5 if area is None else max(area, 1.0 - area) for area in areas]))


def falls_without(model: Any, X: Any, y: np.ndarray, columns: list[list[int]]) -> np.ndarray | None:
    """The fall of a linear model's score where values of columns are exchanged among the rows.

    Parameters
    ----------
    model : estimator
    X : matrix of shape (n_rows, n_features)
        Rows that were not fitted, encoded.
    y : ndarray of shape (n_rows,)
    columns : list of lists of int
        The features of each column.

    Returns
    -------
    ndarray of shape (n_columns,)
        None for another model, or few rows.
    """
    if not has_weights(model) or X.shape[0] < _LEAST:
        return None
    X, y = X[:_HELD], y[:_HELD]
    order = np.random.default_rng(0).permutation(X.shape[0])
    weights = np.atleast_2d(dense(model.coef_).astype(np.float64, copy=False))
    if hasattr(model, "classes_"):
        scores = np.asarray(class_scores(model, X), dtype=np.float64).reshape(len(y), -1)
        if len(model.classes_) == 2:
            hits = (y == model.classes_[1])[:, None]
        else:
            hits = y[:, None] == model.classes_
        if scores.shape[1] != len(weights) or hits.all(axis=0).any() or not hits.any(axis=0).all():
            return None
        score = lambda given: _mean_area(given, hits)  # noqa: E731
    else:
        scores, targets = model.predict(X)[:, None], np.asarray(y, dtype=np.float64)[:, None]
        score = lambda given: _score(targets, given, True)  # noqa: E731
    before = score(scores)
    out = np.empty(len(columns))
    for place, features in enumerate(columns):
        share = np.asarray(X[:, features] @ weights[:, features].T)
        out[place] = before - score(scores - share + share[order])
    return out
