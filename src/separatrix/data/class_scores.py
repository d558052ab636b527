r"""Scores of predicted classes, from sums over rows: shares, losses, table of classes, and ranks.

Sums of some rows add up to those of all, so that rows in memory and rows in blocks are scored by
the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from separatrix._compiled.rounding import EPS


@dataclass(frozen=True, eq=False)
class Ranked:
    """Weights of the rows of a class and of the others, by score, the highest first.

    Attributes
    ----------
    hits, others : ndarray of shape (n_levels,)
        The weight of the rows of either kind with exactly the score of a level, or in its bin.
    exact : bool
        Whether the levels are single scores.
    """

    hits: np.ndarray
    others: np.ndarray
    exact: bool = True

    @classmethod
    def of(cls, scores: np.ndarray, hit: np.ndarray, weights: np.ndarray) -> Ranked:
        """The weights at every score, from the scores of all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix.data.class_scores import Ranked
        >>> hit = np.array([True, False, True])
        >>> Ranked.of(np.array([0.5, 0.5, 2.0]), hit, np.ones(3)).area
        0.75
        """
        order = np.argsort(-scores, kind="stable")
        starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0.0)
        hits = np.add.reduceat((weights * hit)[order], starts)
        return cls(hits, np.add.reduceat((weights * ~hit)[order], starts))

    @classmethod
    def by_class(
        cls, scores: np.ndarray, true: np.ndarray, weights: np.ndarray
    ) -> tuple[Ranked, ...]:
        """The ranks of the second of two classes, whose scores are one column, or of each."""
        columns = score_columns(scores)
        return tuple(
            cls.of(values, true == (k if len(columns.T) > 1 else 1), weights)
            for k, values in enumerate(columns.T)
        )

    @property
    def area(self) -> float | None:
        """The area under the ROC curve: the share of pairs in the right order, ties as a half."""
        pairs = float(self.hits.sum()) * float(self.others.sum())
        if not pairs > 0.0:
            return None
        above = np.cumsum(self.hits) - 0.5 * self.hits
        return float(np.dot(self.others, above)) / pairs

    @property
    def average_precision(self) -> float:
        r"""The mean precision over the hits, :math:`\sum_n (R_n - R_{n-1}) P_n`."""
        hits, others = np.cumsum(self.hits), np.cumsum(self.others)
        with np.errstate(invalid="ignore"):
            precision = np.nan_to_num(hits / (hits + others))
        return float(np.sum(self.hits * precision)) / float(hits[-1])

    @property
    def reversed(self) -> Ranked:
        """The ranks of the same rows where the others are the hits."""
        return Ranked(self.others[::-1], self.hits[::-1], self.exact)

    @property
    def area_error(self) -> float:
        """A bound on the error of the area."""
        pairs = float(self.hits.sum()) * float(self.others.sum())
        if self.exact or not pairs > 0.0:
            return 0.0
        return 0.5 * float(np.dot(self.hits, self.others)) / pairs


def unit_of_weights(largest: float) -> float:
    """The unit in which weights are counted: 1 unless their squares leave the range of float64.

    Examples
    --------
    >>> from separatrix.data.class_scores import unit_of_weights
    >>> unit_of_weights(3.0), unit_of_weights(1e300) > 1e299
    (1.0, True)
    """
    usual = 1e-100 < largest < 1e100 or not largest > 0.0
    return 1.0 if usual else 2.0 ** max(math.frexp(largest)[1] - 1, -1000)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Scores of predictions of classes.

    Attributes
    ----------
    n_rows : int
    weight, squares : float
        The sums of the weights, and of their squares.
    counts : ndarray of shape (K,)
        Rows of each class.
    confusion : ndarray of shape (K, K)
        The weight of the rows by true and by predicted class.
    ranked : tuple of Ranked
        The ranks for the second of two classes, or for each of more; empty without scores.
    log_loss, brier : float or None
        Means over the rows; with two classes the Brier score is that of one of them.
    log_loss_squares : float or None
        The mean of the squared losses.
    unit : float
        The unit of all weights, a power of two.
    """

    n_rows: int
    weight: float
    squares: float
    counts: np.ndarray
    confusion: np.ndarray
    ranked: tuple[Ranked, ...] = ()
    log_loss: float | None = None
    brier: float | None = None
    log_loss_squares: float | None = None
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        true: np.ndarray,
        predicted: np.ndarray,
        n_classes: int,
        *,
        scores: np.ndarray,
        probabilities: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> ClassScores:
        """The scores of rows in memory.

        Parameters
        ----------
        true, predicted, n_classes, probabilities
            As for :func:`class_sums`.
        scores : ndarray of shape (n,) or (n, K)
            The scores by which rows are ranked: those of the second of two classes, or of each.
        weights : ndarray of shape (n,), optional
        """
        weights = np.ones(len(true)) if weights is None else weights
        unit = unit_of_weights(float(weights.max(initial=0.0)))
        weights = weights if unit == 1.0 else weights / unit
        sums = class_sums(true, predicted, weights, n_classes, probabilities)
        return cls.of_sums(sums, n_classes, Ranked.by_class(scores, true, weights), unit)

    @classmethod
    def of_sums(
        cls,
        sums: Mapping[str, np.ndarray],
        n_classes: int,
        ranked: tuple[Ranked, ...],
        unit: float = 1.0,
    ) -> ClassScores:
        """The scores, from :func:`class_sums` of all rows."""
        weight = float(sums["weight"])
        losses = ("log_loss", "brier", "log_loss_squares")
        means = {name: float(sums[name]) / weight for name in losses if name in sums}
        if n_classes == 2 and "brier" in means:
            means["brier"] *= 0.5
        return cls(
            int(sums["rows"]),
            weight,
            float(sums["squares"]),
            sums["counts"].astype(np.int64),
            sums["confusion"].reshape(n_classes, n_classes),
            ranked,
            **means,
            unit=unit,
        )

    @property
    def accuracy(self) -> float:
        """The share of the weight that is predicted right."""
        return float(np.trace(self.confusion)) / self.weight


def class_sums(
    true: np.ndarray,
    predicted: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    probabilities: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """The sums over some rows that their scores are made of.

    Parameters
    ----------
    true, predicted : ndarray of int, shape (n,)
        The numbers of their classes. Rows of -1, a class that the model does not know, are
        predicted wrong, whatever the prediction is.
    weights : ndarray of shape (n,)
    n_classes : int
    probabilities : ndarray of shape (n, K), optional
    """
    known = true >= 0
    pairs = (true * n_classes + predicted)[known]
    out = {
        "rows": np.array(float(len(true))),
        "weight": weights.sum(),
        "squares": (weights * weights).sum(),
        "counts": np.bincount(true[known], minlength=n_classes),
        "confusion": np.bincount(pairs, weights[known], n_classes * n_classes),
    }
    if probabilities is not None:
        proba = np.asarray(probabilities, dtype=np.float64)
        chosen = np.where(known, proba[np.arange(len(true)), np.maximum(true, 0)], 0.0)
        losses = -np.log(np.clip(chosen, EPS, 1.0 - EPS))
        errors = np.square(proba - (true[:, None] == np.arange(n_classes))).sum(axis=1)
        out["log_loss"] = (weights * losses).sum()
        out["log_loss_squares"] = (weights * losses**2).sum()
        out["brier"] = (weights * errors).sum()
    return out


def score_columns(scores: np.ndarray) -> np.ndarray:
    """Scores with a column for each class that is ranked."""
    return scores[:, None] if scores.ndim == 1 else scores
