r"""How well a model predicts the rows of blocks, by sums.

Predictions are a function of a matrix; models are not known here.  Shares, losses and
the table of classes are sums over rows and exact.  The area under the ROC curve needs the order
of all scores: they are held, 8 bytes each, where that fits the memory of the data, and counted in
bins otherwise.  Pairs of rows in the same bin then count as a half, so that the area is off by at
most

.. math:: \tfrac12 \sum_b P_b N_b \Big/ \Big(\sum_b P_b \sum_b N_b\Big)

with the weights :math:`P_b, N_b` of both sides in bin b; this bound is given beside it.

Rows that all have the weight zero, as those that are held out may, count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data.class_scores import (
    ClassScores,
    Ranked,
    class_sums,
    score_columns,
    unit_of_weights,
)
from separatrix.data.design import as_design
from separatrix.data.moments import Moments
from separatrix.data.validation import require_some_weight
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.engines import Engine
from separatrix.scale.passes import Passes
from separatrix.scale.sums import Sum

# The share of the data's memory that scores may take.
_SHARE = 0.25
_BINS = 1 << 14

# The predictions of a model for the rows of a matrix: the numbers of their classes, the scores by
# which they are ranked, of shape (n,) or (n, K), and their probabilities, (n, K); the last two may
# be None.
Answers = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True, eq=False)
class _Judge:
    """The data needed to score a block: the predictions of a model, and the numbers of classes."""

    answer: Callable[[Any], Answers]
    codes: np.ndarray
    n_classes: int
    edges: tuple[np.ndarray, ...] | None
    weighted: bool = True
    unit: float = 1.0


def _weights_of(rows: Rows, weighted: bool, unit: float = 1.0) -> np.ndarray:
    if not weighted or rows.weights is None:
        return np.ones(len(rows))
    return rows.weights if unit == 1.0 else rows.weights / unit


def _judged(rows: Rows, judge: _Judge, own: Any) -> dict[str, Any]:
    true = judge.codes[rows.target]
    weights = _weights_of(rows, judge.weighted, judge.unit)
    predicted, ranking, probabilities = judge.answer(rows.matrix)
    out: dict[str, Any] = class_sums(true, predicted, weights, judge.n_classes, probabilities)
    if ranking is not None:
        scores = score_columns(np.asarray(ranking, dtype=np.float64))
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
    answer: Callable[[Any], Answers],
    engine: Engine | None = None,
    *,
    codes: np.ndarray | None = None,
    n_classes: int | None = None,
    exact: bool | None = None,
) -> ClassScores:
    """Score the predictions of a model for all rows of blocks, in one pass.

    Parameters
    ----------
    data : BlockedData
        The data, whose target has classes.
    answer : callable
        The function that gives the predictions for the rows of a matrix: the numbers of the
        predicted classes; the scores by which rows are ranked, those of the second of two classes,
        of shape (n,), or of each class, (n, K); and probabilities, (n, K). The last two may be
        None.
    engine : Engine, optional
        The engine that goes over the blocks, by default that of the data; the function must be
        such that it can be sent there.
    codes : ndarray of shape (n_classes of the data,), optional
        The model's number of each class of the data, -1 for one that it does not know; by default
        they have the same numbers.
    n_classes : int, optional
        The number of classes of the model; by default as many as the data have.
    exact : bool, optional
        Whether to hold all scores by which rows are ranked; by default if they take at most a
        quarter of the memory of the data.

    Returns
    -------
    ClassScores

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import scan
    >>> from separatrix.scale.scores import scores_over
    >>> data = scan([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], block_rows=2)
    >>> found = scores_over(data, lambda x: ((x[:, 0] > 0.5).astype(int), x[:, 0], None))
    >>> found.confusion.tolist(), found.accuracy, found.ranked[0].area
    ([[1.0, 1.0], [0.0, 2.0]], 0.75, 0.75)
    """
    assert data.classes is not None
    k = len(data.classes) if n_classes is None else n_classes
    codes = np.arange(k) if codes is None else codes
    if exact is None:
        per_row = 8.0 * ((1 if k == 2 else k) + 2)
        exact = per_row * data.n_rows <= _SHARE * data.memory
    edges = None if exact else _edges(data, answer, k)
    # The mean weight; a single one cannot be larger than the sum.
    unit = unit_of_weights(float((data.class_totals / max(data.n_rows, 1)).sum()))
    judge = _Judge(answer, codes, k, edges, unit=unit)
    passes = Passes(data, engine)
    found, held = _judged_over(passes, judge)
    if not found["weight"] > 0.0:
        judge = replace(judge, weighted=False, unit=1.0)
        found, held = _judged_over(passes, judge)
    ranked: tuple[Ranked, ...] = ()
    if held:
        ranked = Ranked.by_class(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
    elif edges is not None:
        of = ((found[f"hits {k}"], found[f"others {k}"]) for k in range(len(edges)))
        ranked = tuple(Ranked(hits[::-1], others[::-1], False) for hits, others in of)
    return ClassScores.of_sums(found, k, ranked, judge.unit)


def _judged_over(passes: Passes, judge: _Judge) -> tuple[dict[str, Any], list[Any]]:
    """The sums over all rows, and the scores of each block that are held."""
    total, held = Sum(), []
    for part in passes.each(_judged, judge):
        if "held" in part:
            held.append(part.pop("held"))
        total.add(part)
    return total.value(), held


def _edges(data: BlockedData, answer: Callable[[Any], Answers], k: int) -> tuple[np.ndarray, ...]:
    """The edges of bins that have about as many rows each, by the sample of the data."""
    if data.sample is None:
        grid = np.sinh(np.linspace(-20.0, 20.0, _BINS))
        return (grid,) * (1 if k == 2 else k)
    some = score_columns(np.asarray(answer(data.sample.matrix)[1], dtype=np.float64))
    # Between the scores of a small sample there are edges, too.
    shares = np.linspace(0.0, 1.0, _BINS)
    return tuple(np.unique(np.quantile(column, shares)) for column in some.T)


def _errors(
    rows: Rows, shared: tuple[Callable[[Any], np.ndarray], bool], own: Any
) -> tuple[dict[str, np.ndarray], Moments]:
    predict, weighted = shared
    off = rows.target - np.asarray(predict(rows.matrix), dtype=np.float64)
    weights = _weights_of(rows, weighted)
    sums = {
        "rows": np.array(float(len(rows))),
        "squared": weights @ np.square(off),
        "absolute": weights @ np.abs(off),
    }
    own_weights = rows.weights if weighted else None
    return sums, Moments.of(as_design(rows.target[:, None]), weights=own_weights)


def _errors_over(
    passes: Passes, predict: Callable[[Any], np.ndarray], *, weighted: bool
) -> tuple[dict[str, Any], Moments]:
    """The sums over all rows, and the moments of their targets."""
    total, moments = Sum(), None
    for sums, own in passes.each(_errors, (predict, weighted)):
        total.add(sums)
        moments = own if moments is None else moments.merge(own)
    assert moments is not None
    return total.value(), moments


def errors_over(
    data: BlockedData, predict: Callable[[Any], np.ndarray], engine: Engine | None = None
) -> dict[str, float | int | None]:
    """The errors of the predictions of a quantity, in one pass.

    Parameters
    ----------
    data : BlockedData
        The data, whose target is a quantity.
    predict : callable
        The function that gives a number for each row of a matrix.
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
    passes = Passes(data, engine)
    found, moments = _errors_over(passes, predict, weighted=True)
    if not moments.total > 0.0:
        found, moments = _errors_over(passes, predict, weighted=False)
    weight = moments.total
    mse = float(found["squared"]) / weight
    variance = float(moments.scatter[0, 0]) / weight
    return {
        "n": int(found["rows"]),
        "mse": mse,
        "rmse": float(np.sqrt(mse)),
        "mae": float(found["absolute"]) / weight,
        "r2": 1.0 - mse / variance if variance > 0.0 else None,
    }


def _total(rows: Rows, shared: None, own: Any) -> dict[str, np.ndarray]:
    weights = _weights_of(rows, True)
    return {"weight": np.array(weights.sum()), "target": np.array(weights @ rows.target)}


def _losses(
    rows: Rows, shared: tuple[Callable[..., np.ndarray], float], own: Any
) -> dict[str, np.ndarray]:
    of, mean = shared
    return {"losses": of(rows.matrix, rows.target, rows.weights, mean)}


def losses_over(
    data: BlockedData, of: Callable[..., np.ndarray], engine: Engine | None = None
) -> np.ndarray:
    """Sums over all rows of losses that are compared with those of the mean, in two passes.

    Parameters
    ----------
    data : BlockedData
        The data, whose target is a quantity.
    of : callable
        ``of(matrix, targets, weights, mean)`` gives the sums of some rows, beside the weighted mean
        of the targets of all; ``weights`` may be None.
    engine : Engine, optional

    Returns
    -------
    ndarray
    """
    passes = Passes(data, engine)
    found = passes.sums(_total, None)
    require_some_weight(float(found["weight"]))
    mean = float(found["target"]) / float(found["weight"])
    out: np.ndarray = passes.sums(_losses, (of, mean))["losses"]
    return out
