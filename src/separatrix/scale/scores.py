r"""How well a model predicts the rows of blocks, by sums.

What is asked of a model are functions of a matrix; models are not known here.  Shares, losses and
the table of classes are sums over rows and exact.  The area under the ROC curve asks for the order
of all scores: they are held, 8 bytes each, where that fits the memory of the data, and counted in
bins otherwise.  Pairs of rows in the same bin then count as a half, so that the area is off by at
most

.. math:: \tfrac12 \sum_b P_b N_b \Big/ \Big(\sum_b P_b \sum_b N_b\Big)

with the weights :math:`P_b, N_b` of both sides in bin b; this bound is given beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.data.design import as_design
from separatrix.data.moments import Moments
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.engines import Engine, Local
from separatrix.scale.passes import Passes
from separatrix.scale.sums import Sum

__all__ = ["ClassScores", "Ranked", "errors_over", "scores_over"]

# The share of the data's memory that scores may take.
_SHARE = 0.25
_BINS = 1 << 14

Answer = Callable[[Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Weights of the rows of a class and of the others, by score, the highest first.

    Attributes
    ----------
    hits, others : ndarray of shape (n_levels,)
        How much of them has exactly the score of a level, or lies in its bin.
    exact : bool
        Whether the levels are single scores.
    """

    hits: np.ndarray
    others: np.ndarray
    exact: bool

    @property
    def area(self) -> float | None:
        """Under the ROC curve: the share of pairs in the right order, equals counting a half."""
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
        return float(np.dot(self.hits, precision)) / float(hits[-1])

    @property
    def reversed(self) -> Ranked:
        """The same rows for who looks for the others."""
        return Ranked(self.others[::-1], self.hits[::-1], self.exact)

    @property
    def area_error(self) -> float:
        """How far the area can be off."""
        pairs = float(self.hits.sum()) * float(self.others.sum())
        if self.exact or not pairs > 0.0:
            return 0.0
        return 0.5 * float(np.dot(self.hits, self.others)) / pairs


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
    log_loss, brier : float or None
        Means over the rows; of two classes the Brier score is that of one of them.
    log_loss_squares : float or None
        The mean of the squared losses.
    ranked : tuple of Ranked
        Of two classes for the second, of more for each; empty without scores.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import scan
    >>> from separatrix.scale.scores import scores_over
    >>> data = scan([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], block_rows=2)
    >>> found = scores_over(
    ...     data, labels=lambda x: (x[:, 0] > 0.5).astype(int), scores=lambda x: x[:, 0]
    ... )
    >>> found.confusion.tolist(), found.accuracy, found.ranked[0].area
    ([[1.0, 1.0], [0.0, 2.0]], 0.75, 0.75)
    """

    n_rows: int
    weight: float
    squares: float
    counts: np.ndarray
    confusion: np.ndarray
    log_loss: float | None
    brier: float | None
    ranked: tuple[Ranked, ...]
    log_loss_squares: float | None = None

    @property
    def accuracy(self) -> float:
        """The share of the weight that is predicted right."""
        return float(np.trace(self.confusion)) / self.weight


@dataclass(frozen=True, eq=False)
class _Judge:
    """The predictions that a model is asked for, and how they are counted."""

    labels: Answer
    scores: Answer | None
    probabilities: Answer | None
    codes: np.ndarray
    n_classes: int
    edges: tuple[np.ndarray, ...] | None


def _columns(scores: np.ndarray) -> np.ndarray:
    """Scores with a column for each class that is ranked."""
    return scores[:, None] if scores.ndim == 1 else scores


def _judged(rows: Rows, judge: _Judge, own: Any) -> dict[str, Any]:
    k, true = judge.n_classes, judge.codes[rows.target]
    predicted = judge.labels(rows.matrix)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    # A class that the model knows nothing of is predicted wrong, whatever it says.
    known = true >= 0
    pairs = (true * k + predicted)[known]
    out: dict[str, Any] = {
        "rows": np.array(float(len(rows))),
        "weight": weights.sum(),
        "squares": (weights * weights).sum(),
        "counts": np.bincount(true[known], minlength=k),
        "confusion": np.bincount(pairs, weights[known], k * k),
    }
    if judge.probabilities is not None:
        proba = np.asarray(judge.probabilities(rows.matrix), dtype=np.float64)
        least = EPS
        chosen = np.where(known, proba[np.arange(len(rows)), np.maximum(true, 0)], 0.0)
        chosen = np.clip(chosen, least, 1.0 - least)
        errors = np.square(proba - (true[:, None] == np.arange(k))).sum(axis=1)
        losses = -np.log(chosen)
        out["log_loss"], out["log_loss_squares"] = weights @ losses, weights @ losses**2
        out["brier"] = weights @ errors
    if judge.scores is not None:
        scores = _columns(np.asarray(judge.scores(rows.matrix), dtype=np.float64))
        if judge.edges is None:
            out["held"] = scores, true, weights
        else:
            for column, (values, edges) in enumerate(zip(scores.T, judge.edges, strict=True)):
                hit = true == (1 if len(judge.edges) == 1 else column)
                bins = np.searchsorted(edges, values)
                size = len(edges) + 1
                out[f"hits {column}"] = np.bincount(bins[hit], weights[hit], size)
                out[f"others {column}"] = np.bincount(bins[~hit], weights[~hit], size)
    return out


def scores_over(
    data: BlockedData,
    engine: Engine | None = None,
    *,
    labels: Answer,
    scores: Answer | None = None,
    probabilities: Answer | None = None,
    codes: np.ndarray | None = None,
    n_classes: int | None = None,
    exact: bool | None = None,
) -> ClassScores:
    """Ask a model about all rows of blocks, in one pass, and count.

    Parameters
    ----------
    data : BlockedData
        Of classes.
    engine : Engine, optional
        Who goes over the blocks, by default that of the data; the functions must be such that they
        can be sent there.
    labels : callable
        The number of the class that is predicted for each row of a matrix.
    scores : callable, optional
        Scores of the second of two classes, shape (n,), or of each, (n, K).
    probabilities : callable, optional
        Shape (n, K).
    codes : ndarray of shape (n_classes of the data,), optional
        The model's number of each class of the data, -1 for one that it does not know; by default
        they have the same numbers.
    n_classes : int, optional
        How many classes the model has; by default as many as the data.
    exact : bool, optional
        Whether to hold all scores; by default if they take at most a quarter of the memory of the
        data.

    Returns
    -------
    ClassScores
    """
    assert data.classes is not None
    k = len(data.classes) if n_classes is None else n_classes
    codes = np.arange(k) if codes is None else codes
    if exact is None:
        per_row = 8.0 * ((1 if k == 2 else k) + 2)
        exact = per_row * data.n_rows <= _SHARE * data.memory
    edges = None if exact or scores is None else _edges(data, scores, k)
    judge = _Judge(labels, scores, probabilities, codes, k, edges)
    total, held = Sum(), []
    passes = Passes(data, engine or data.engine or Local())
    for part in passes.each(_judged, judge):
        held.append(part.pop("held", None))
        total.add(part)
    found = total.value()
    weight = float(found["weight"])
    ranked: list[Ranked] = []
    if scores is not None and edges is None:
        ranked = _sorted_out(held, k)
    elif edges is not None:
        for column in range(len(edges)):
            hits, others = found[f"hits {column}"], found[f"others {column}"]
            ranked.append(Ranked(hits[::-1], others[::-1], False))
    mean = {name: float(found[name]) / weight for name in ("log_loss", "brier") if name in found}
    if k == 2 and "brier" in mean:
        mean["brier"] *= 0.5
    return ClassScores(
        int(found["rows"]),
        weight,
        float(found["squares"]),
        found["counts"].astype(np.int64),
        found["confusion"].reshape(k, k),
        mean.get("log_loss"),
        mean.get("brier"),
        tuple(ranked),
        float(found["log_loss_squares"]) / weight if "log_loss_squares" in found else None,
    )


def _sorted_out(held: list[Any], k: int) -> list[Ranked]:
    """The weights at every score, from all scores."""
    scores, true, weights = (np.concatenate(parts) for parts in zip(*held, strict=True))
    out = []
    for column, values in enumerate(scores.T):
        hit = true == (1 if scores.shape[1] == 1 else column)
        order = np.argsort(-values, kind="stable")
        first = np.concatenate([[True], np.diff(values[order]) != 0.0])
        starts = np.flatnonzero(first)
        hits = np.add.reduceat((weights * hit)[order], starts)
        others = np.add.reduceat((weights * ~hit)[order], starts)
        out.append(Ranked(hits, others, True))
    return out


def _edges(data: BlockedData, scores: Answer, k: int) -> tuple[np.ndarray, ...]:
    """The edges of bins that have about as many rows each, by the sample of the data."""
    if data.sample is None:
        grid = np.sinh(np.linspace(-20.0, 20.0, _BINS))
        return (grid,) * (1 if k == 2 else k)
    some = _columns(np.asarray(scores(data.sample.matrix), dtype=np.float64))
    shares = np.linspace(0.0, 1.0, min(_BINS, len(some)))
    return tuple(np.unique(np.quantile(column, shares)) for column in some.T)


def _errors(rows: Rows, predict: Answer, own: Any) -> tuple[dict[str, np.ndarray], Moments]:
    off = rows.target - np.asarray(predict(rows.matrix), dtype=np.float64)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    sums = {
        "rows": np.array(float(len(rows))),
        "squared": weights @ np.square(off),
        "absolute": weights @ np.abs(off),
    }
    return sums, Moments.of(as_design(rows.target[:, None]), weights=rows.weights)


def errors_over(
    data: BlockedData, predict: Answer, engine: Engine | None = None
) -> dict[str, float | int | None]:
    """How far predictions of a quantity are off, in one pass.

    Parameters
    ----------
    data : BlockedData
        Of a quantity.
    predict : callable
        A number for each row of a matrix.
    engine : Engine, optional

    Returns
    -------
    dict
        ``n``, ``mse``, ``rmse``, ``mae``, and ``r2``, ``1 - mse / variance``; None where the
        quantity is constant.

    Examples
    --------
    >>> from separatrix.scale import scan
    >>> from separatrix.scale.scores import errors_over
    >>> data = scan([[0.0], [1.0], [2.0]], [0.0, 2.0, 1.0], quantity=True, block_rows=2)
    >>> found = errors_over(data, lambda x: x[:, 0])
    >>> round(found["mse"], 6), round(found["mae"], 6), round(found["r2"], 6)
    (0.666667, 0.666667, 0.0)
    """
    total, moments = Sum(), None
    passes = Passes(data, engine or data.engine or Local())
    for sums, own in passes.each(_errors, predict):
        total.add(sums)
        moments = own if moments is None else moments.merge(own)
    assert moments is not None
    found, weight = total.value(), moments.total
    mse = float(found["squared"]) / weight
    variance = float(moments.scatter[0, 0]) / weight
    return {
        "n": int(found["rows"]),
        "mse": mse,
        "rmse": float(np.sqrt(mse)),
        "mae": float(found["absolute"]) / weight,
        "r2": 1.0 - mse / variance if variance > 0.0 else None,
    }
