"""The 95 % intervals of the figures of all rows, from a sample of the rows.

Proportions have Wilson's interval. A mean over rows has Student's, and so has any figure whose
error is, for many rows, a mean of one term a row (its *influence function*).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import stdtrit

from separatrix.assessment.scoring import Z, wilson_interval


def mean_interval(values: np.ndarray) -> list[float] | None:
    """The interval of the mean of a figure that every row has; None for fewer than two rows.

    For a figure that is never negative the interval has no negative end.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    mean, half = float(np.mean(values)), _half(values - np.mean(values))
    least = 0.0 if values.min() >= 0.0 else -math.inf
    return [max(least, mean - half), mean + half]


def _half(influence: np.ndarray) -> float:
    """Half the interval of a figure whose error is the mean of these terms."""
    # Few rows do not determine the spread well either: Student's t is wider.
    return float(stdtrit(len(influence) - 1, 0.975)) * _error(influence)


def _error(influence: np.ndarray) -> float:
    """The standard error of the mean of these terms."""
    return float(np.std(influence, ddof=1)) / math.sqrt(len(influence))


def area_interval(y: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> list[float] | None:
    r"""The interval of the area under the ROC curve (DeLong, DeLong and Clarke-Pearson, 1988).

    The area is the share of pairs, one row of each side, whose scores are in the right order; the
    part of a row is the share of its own pairs. The interval is symmetric in the log odds; where
    every pair is in order it is Wilson's, of as many rows as the smaller side has. For several
    classes it is that of the mean over the classes, one against the rest.

    Parameters
    ----------
    y : ndarray of shape (n,)
    scores : ndarray of shape (n,) or (n, K)
    classes : ndarray of shape (K,)

    Returns
    -------
    list of two floats, or None
        None where some class has fewer than two rows.
    """
    columns = scores[:, None] if scores.ndim == 1 else scores
    positives = classes[1:] if scores.ndim == 1 else classes
    area, influence, smallest = 0.0, np.zeros(len(y)), len(y)
    for k, label in enumerate(positives):
        chosen = y == label
        m, n = int(chosen.sum()), int((~chosen).sum())
        if m < 2 or n < 2:
            return None
        smallest = min(smallest, m, n)
        # A row's rank among all, less that among its own side, counts the other side below it.
        below = _ranks(columns[:, k])
        own = np.empty(len(y))
        own[chosen] = _ranks(columns[chosen, k])
        own[~chosen] = _ranks(columns[~chosen, k])
        share = below - own
        share[chosen] /= n
        share[~chosen] = 1.0 - share[~chosen] / m
        one = float(share[chosen].mean())
        area += one / len(positives)
        weight = np.where(chosen, len(y) / m, len(y) / n) / len(positives)
        influence += weight * (share - one)
    # Each side's mean has an error of its own, which the weights bring to that of all rows.
    return _around(area, Z * _error(influence), smallest)


def _around(area: float, half: float, smallest: int) -> list[float]:
    """The interval about an area, whose standard error times ``Z`` is ``half``.

    ``smallest``: the number of rows of the smallest side.
    """
    if half == 0.0 or not 0.0 < area < 1.0:
        # Every pair is in order, which for few rows does not prove that all others are.
        return list(wilson_interval(round(area * smallest), smallest))
    # On the scale of log odds, so that the ends are within 0 and 1.
    odds, half = math.log(area / (1.0 - area)), half / (area * (1.0 - area))
    return [1.0 / (1.0 + math.exp(min(700.0, end))) for end in (half - odds, -half - odds)]


def mean_interval_of_sums(mean: float, squares: float, n: int) -> list[float] | None:
    """:func:`mean_interval` of a figure that is never negative, from its mean and that of squares.

    Examples
    --------
    >>> from separatrix.assessment.intervals import mean_interval_of_sums
    >>> [round(end, 3) for end in mean_interval_of_sums(2.0, 5.0, 101)]
    [1.802, 2.198]
    """
    if n < 2 or not math.isfinite(squares):
        return None
    error = math.sqrt(max(0.0, squares - mean**2) / (n - 1))
    half = float(stdtrit(n - 1, 0.975)) * error
    return [max(0.0, mean - half), mean + half]


def area_interval_of_levels(hits: np.ndarray, others: np.ndarray) -> list[float] | None:
    """:func:`area_interval` of two classes, from the counts of rows by score, highest first.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.assessment.intervals import area_interval_of_levels
    >>> area = area_interval_of_levels(np.array([3, 1, 1]), np.array([1, 1, 3]))
    >>> [round(end, 3) for end in area]
    [0.369, 0.933]
    """
    m, n = float(hits.sum()), float(others.sum())
    if m < 2 or n < 2:
        return None
    # The share of negatives below each positive, and that of positives above each negative.
    below = (n - np.cumsum(others) + 0.5 * others) / n
    above = (np.cumsum(hits) - 0.5 * hits) / m
    area = float(hits @ below) / m
    total = m + n
    squares = float(hits @ (below - area) ** 2) / m**2 + float(others @ (above - area) ** 2) / n**2
    # Both means of the influence are zero, and its spread is that of one sample.
    return _around(area, Z * math.sqrt(squares * total / (total - 1.0)), int(min(m, n)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """The ranks from 1 on, with the mean for equal values. (scipy.stats takes long to import.)"""
    ordered = np.sort(values)
    first, last = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return 0.5 * (first + last + 1.0)


def class_intervals(matrix: np.ndarray) -> list[dict[str, Any]]:
    """The intervals of precision, recall and F1 of every class, from the confusion matrix.

    F1 is ``2 q / (1 + q)`` of the share ``q`` of hits among the rows that are of the class or were
    taken for it, so its interval is that of ``q``, transformed.
    """
    found = []
    for k in range(len(matrix)):
        hits, true, predicted = (
            count.item() for count in (matrix[k, k], matrix[k].sum(), matrix[:, k].sum())
        )
        either = true + predicted - hits
        shares = [list(wilson_interval(hits, n)) if n else None for n in (predicted, true, either)]
        f1 = None if shares[2] is None else [2.0 * q / (1.0 + q) for q in shares[2]]
        found.append({"precision": shares[0], "recall": shares[1], "f1": f1})
    return found


def number_intervals(y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """The intervals of R^2, the root of the mean squared error, and the mean absolute error."""
    errors = y - predicted
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares, spread = errors**2, (y - y.mean()) ** 2
        mse, variance = float(squares.mean()), float(spread.mean())
    found: dict[str, Any] = {"mae": mean_interval(np.abs(errors)), "rmse": None, "r2": None}
    mean = mean_interval(squares)
    if mean is not None:
        found["rmse"] = [math.sqrt(max(0.0, end)) for end in mean]
        if variance > 0.0 and math.isfinite(variance):
            r2 = 1.0 - mse / variance
            influence = -(squares - mse) / variance + mse * (spread - variance) / variance**2
            half = _half(influence)
            found["r2"] = [r2 - half, min(1.0, r2 + half)]
    return found
