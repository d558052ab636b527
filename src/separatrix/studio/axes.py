"""The two columns of a table that separate its classes best, to be proposed as axes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations

import numpy as np
from sklearn.feature_selection import f_classif
from sklearn.metrics import recall_score

from separatrix.models.discriminant import LinearDiscriminantAnalysis

# The most columns that are combined in pairs, the best ones alone; the most rows; and the folds.
_COLUMNS, _ROWS, _FOLDS = 12, 300, 5
# A difference below this is due to the rows that happened to be drawn.
_BETTER = 0.02


class Pairs:
    """Pairs of columns, and the share of the rows that each pair classifies correctly.

    A pair's share is the mean over the classes of the share of their rows that linear
    discriminants with equal priors, fitted to the other four of five folds, assign to them.

    Parameters
    ----------
    table : mapping of str to ndarray of shape (n,)
        The columns by name, with NaN where a value is missing.
    labels : ndarray of shape (n,)
        The labels of the rows, of the classes that are shown; other rows are left out beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.studio.axes import Pairs
    >>> rng = np.random.default_rng(0)
    >>> noise, labels = rng.standard_normal((3, 200)), np.repeat(["a", "b"], 100)
    >>> apart = 2.0 * (labels == "b")
    >>> table = {"x": noise[0], "y": noise[1] + apart, "z": noise[2] + apart}
    >>> Pairs(table, labels).best
    ('y', 'z')
    """

    def __init__(self, table: Mapping[str, np.ndarray], labels: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        chosen = np.sort(rng.permutation(len(labels))[:_ROWS])
        self._codes = np.unique(labels[chosen], return_inverse=True)[1]
        self._table = {name: column[chosen] for name, column in table.items()}
        self.rows = len(chosen)
        order = rng.permutation(self.rows)
        # Classes are dealt out one after the other, so that each fold has its part of each.
        order = order[np.argsort(self._codes[order], kind="stable")]
        self._fold = np.empty(self.rows, dtype=int)
        self._fold[order] = np.arange(self.rows) % _FOLDS
        self._found: dict[tuple[str, str], float] = {}
        pairs = list(combinations(self._ranked(), 2))
        # Among pairs whose order may be due to the draw, the one that hides the fewest points.
        least = max((self.share(*pair) for pair in pairs), default=0.0) - _BETTER
        good = [pair for pair in pairs if self.share(*pair) > max(least, 0.0)]
        self.best = max(good, key=self._places, default=None)

    def _ranked(self) -> list[str]:
        """The columns whose classes differ most in their means, in the order of the table."""
        ranks = {}
        for name, column in self._table.items():
            there = np.isfinite(column)
            # Without a spread, or with one class alone, there is nothing to rank.
            several = len(np.unique(self._codes[there])) > 1 and np.ptp(column[there]) > 0.0
            if several and 2 * there.sum() >= self.rows:
                with np.errstate(all="ignore"):
                    rank = f_classif(column[there, None], self._codes[there])[0][0]
                ranks[name] = np.nan_to_num(rank)
        best = sorted(ranks, key=lambda name: -ranks[name])[:_COLUMNS]
        return [name for name in ranks if name in best]

    def _places(self, pair: tuple[str, str]) -> int:
        """The number of places at which the points lie."""
        return len(np.unique(np.stack([self._table[name] for name in pair]), axis=1).T)

    def share(self, x: str, y: str) -> float:
        """The mean over the classes of the share that is classified correctly; 0 without a fit."""
        if (x, y) not in self._found:
            self._found[x, y] = self._share(np.stack([self._table[x], self._table[y]], axis=1))
        return self._found[x, y]

    def _share(self, X: np.ndarray) -> float:
        there = np.isfinite(X).all(axis=1)
        X, codes, fold = X[there], self._codes[there], self._fold[there]
        if 2 * len(X) < self.rows or len(np.unique(codes)) < 2:
            return 0.0
        predicted = np.full(len(X), -1)
        for k in range(_FOLDS):
            own, rest = fold == k, fold != k
            classes = np.unique(codes[rest])
            if not own.any():
                continue
            model = LinearDiscriminantAnalysis(priors=np.full(len(classes), 1.0 / len(classes)))
            try:
                with warnings.catch_warnings():
                    # Columns that follow from one another are judged like others.
                    warnings.simplefilter("ignore")
                    predicted[own] = model.fit(X[rest], codes[rest]).predict(X[own])
            except ValueError:
                return 0.0
        return float(recall_score(codes, predicted, labels=np.unique(codes), average="macro"))

    def sentence(self, x: str, y: str) -> str | None:
        """A sentence on what a better pair gains; None where none is better."""
        if self.best is None or set(self.best) == {x, y}:
            return None
        now, then = self.share(x, y), self.share(*self.best)
        if then - now < _BETTER:
            return None
        return (
            f"{x} and {y} classify {100 * now:.0f} % of the rows correctly, {self.best[0]} and "
            f"{self.best[1]} {100 * then:.0f} %: linear discriminants in cross-validation on "
            f"{self.rows:,} rows, where each class counts the same."
        )
