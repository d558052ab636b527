r"""Scores of rows that are not independent: by groups, and by parts that follow in time.

Rows of one group are right or wrong together, so that the share of right rows varies more than that
of as many independent ones.  With :math:`h_g` right ones of :math:`n_g` rows of group :math:`g` of
:math:`G`, and :math:`n` rows in all, the standard error of the share :math:`a` is that of a ratio
(Cochran, 1977, 6.5),

.. math:: \frac{1}{n} \sqrt{\frac{G}{G - 1} \sum_g (h_g - a\, n_g)^2} .
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from separatrix.data.splitting import time_parts

PARTS = 5
"""The largest number of parts of the rows, in the order of time, whose scores are shown."""


def by_groups(right: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    """The mean over rows of groups and its 95 % interval, by Student's distribution.

    Parameters
    ----------
    right : ndarray of shape (n,)
        Whether each row is predicted right, or how large its error is.
    groups : ndarray of shape (n,)

    Returns
    -------
    dict
        ``groups`` (their number), ``mean`` and ``interval``, which is None for a single group.

    Examples
    --------
    >>> import numpy as np
    >>> found = by_groups(np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 2, 2]))
    >>> found["groups"], round(found["mean"], 2)
    (3, 0.67)
    """
    return GroupSums.of(right, groups).score()


@dataclass(frozen=True, eq=False)
class GroupSums:
    """The sums of the rows of each group; the sums of several sets of rows merge.

    Attributes
    ----------
    groups : ndarray
        The groups in ascending order.
    sizes, sums : ndarray
        The number of rows of each group, and the sum of their values.
    low, high : float
        The range of the values of all rows.
    """

    groups: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray, groups: np.ndarray) -> GroupSums:
        """The sums of some rows, of which there is one at least."""
        values = np.asarray(values, dtype=np.float64)
        own, place = np.unique(groups, return_inverse=True)
        place = place.reshape(-1)
        ends = float(values.min()), float(values.max())
        return cls(own, np.bincount(place), np.bincount(place, values), *ends)

    def merged(self, other: GroupSums) -> GroupSums:
        """The sums of the rows of both."""
        groups, place = np.unique(np.concatenate([self.groups, other.groups]), return_inverse=True)
        place = place.reshape(-1)
        sizes, sums = (
            np.bincount(place, np.concatenate([getattr(self, name), getattr(other, name)]))
            for name in ("sizes", "sums")
        )
        return GroupSums(
            groups,
            sizes.astype(np.int64),
            sums,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def score(self) -> dict[str, Any]:
        """The mean over rows and its interval; see :func:`by_groups`."""
        count, n = len(self.sizes), int(self.sizes.sum())
        mean = float(self.sums.sum()) / n
        interval = None
        if count > 1:
            spread = float(np.square(self.sums - mean * self.sizes).sum()) * count / (count - 1)
            half = float(stdtrit(count - 1, 0.975)) * math.sqrt(spread) / n
            # Within the range of the values, as shares are from 0 to 1.
            interval = [max(self.low, mean - half), min(self.high, mean + half)]
        return {"groups": count, "mean": mean, "interval": interval}


def by_times(
    times: np.ndarray, score: Callable[[np.ndarray], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The scores of parts of about equal size that follow in time.

    Parameters
    ----------
    times : ndarray of shape (n,)
    score : callable
        The function that gives the scores of rows, from their numbers.

    Returns
    -------
    list of dict
        ``first`` and ``last``, the times between which the rows of a part are, and ``scores``.
        There are five parts, or one for each time where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> parts = by_times(np.array([1.0, 2.0, 2.0, 3.0]), lambda rows: {"n": len(rows)})
    >>> [(one["first"], one["scores"]["n"]) for one in parts]
    [(1.0, 1), (2.0, 2), (3.0, 1)]
    """
    times = np.asarray(times, dtype=np.float64)
    part = time_parts(times, min(PARTS, len(np.unique(times))))
    found = []
    for k in range(int(part.max()) + 1):
        rows = np.flatnonzero(part == k)
        first, last = float(times[rows].min()), float(times[rows].max())
        found.append({"first": first, "last": last, "scores": score(rows)})
    return found
