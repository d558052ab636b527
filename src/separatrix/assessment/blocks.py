"""How well a model predicts the rows of blocks: the record of rows in memory, from sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.assessment.decision import Decision
from separatrix.assessment.intervals import area_interval_of_levels, mean_interval_of_sums
from separatrix.assessment.periods import PARTS, GroupSums
from separatrix.assessment.scoring import (
    class_figures,
    predictions,
    ranked_for,
    ranking_scores,
)
from separatrix.data.labels import codes_of
from separatrix.data.splitting import parts_of_times
from separatrix.exceptions import DataError
from separatrix.models.blocked import PredictionAdapter, codes_for, require_columns
from separatrix.scale.blocks import Block, BlockedData, Rows
from separatrix.scale.engines import Engine
from separatrix.scale.passes import Passes
from separatrix.scale.scores import Answers, errors_over, scores_over

# The share of the memory that the different groups or times may take, and the bytes of each.
_SHARE, _EACH = 0.125, 64


@dataclass(frozen=True, eq=False)
class _Answer:
    """A model's predictions for the rows of a matrix, in a form that can be sent to a worker."""

    model: Any
    decision: Decision | None

    def __call__(self, matrix: Any) -> Answers:
        predicted, classes = predictions(self.model, matrix, self.decision), self.model.classes_
        labels = codes_of(predicted.labels, classes)
        return labels, ranking_scores(predicted, classes), predicted.probabilities


def score_blocks(
    model: Any,
    data: BlockedData,
    engine: Engine | None = None,
    *,
    positive: Any = None,
    decision: Decision | None = None,
    intervals: bool = False,
) -> dict[str, Any]:
    """Measure a model on row blocks, in one pass and the memory of the data.

    Parameters
    ----------
    model : estimator
        The fitted classifier or regressor.
    data : BlockedData
    engine : Engine, optional
        The engine that goes over the blocks.
    positive : label, optional
        The one of two classes that matters; by default the rarer.
    decision : Decision, optional
        The score from which a row is predicted to be of that class.
    intervals : bool, default=False
        Whether ``roc_auc_interval`` (for two classes whose scores were put in order) and
        ``log_loss_interval`` are given as well; they are None for weighted rows.

    Returns
    -------
    dict
        As :func:`separatrix.assessment.scoring.score_rows`, and ``roc_auc_error``: a bound on the
        error of the area where the scores took too much memory to be put in order;
        ``average_precision`` is then None.

    Raises
    ------
    DataError
        For a label that the model does not know.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> from separatrix.assessment.blocks import score_blocks
    >>> from separatrix.scale import scan
    >>> data = scan(*load_breast_cancer(return_X_y=True), block_rows=100)
    >>> found = score_blocks(LinearDiscriminantAnalysis().fit(data), data)
    >>> round(found["accuracy"], 3), round(found["roc_auc"], 3), found["confusion_matrix"]
    (0.965, 0.997, [[194, 18], [2, 355]])
    """
    require_columns(model, data)
    adapter = PredictionAdapter(model)
    if is_regressor(model):
        return dict(errors_over(data, adapter.numbers, engine))
    codes, classes = codes_for(model, data), model.classes_
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        assert data.classes is not None
        label = data.classes[unknown[0]].item()
        raise DataError(f"{data.source} has rows of class {label!r}, which the model does not know")
    answer = _Answer(adapter.model, decision)
    found = scores_over(data, answer, engine, codes=codes, n_classes=len(classes))
    # Weights that are whole numbers count rows, too.
    counted = np.array_equal(found.confusion, np.rint(found.confusion))
    out = class_figures(found, classes, positive, counted=counted)
    ranked = ranked_for(found, classes, out["positive"])
    out["roc_auc_error"] = max((r.area_error for r in ranked), default=0.0)
    if not intervals:
        return out
    out |= {"roc_auc_interval": None, "log_loss_interval": None}
    # The intervals of weighted figures would be others.
    if found.squares == found.weight == found.n_rows:
        if len(ranked) == 1 and out["average_precision"] is not None:
            one = ranked[0]
            out["roc_auc_interval"] = area_interval_of_levels(one.hits, one.others)
        if found.log_loss is not None and found.log_loss_squares is not None:
            out["log_loss_interval"] = mean_interval_of_sums(
                found.log_loss, found.log_loss_squares, found.n_rows
            )
    return out


# --------------------------------------------------------------------------- by groups and by times


def blocks_by_groups(
    model: Any, data: BlockedData, decision: Decision | None = None, engine: Engine | None = None
) -> dict[str, Any]:
    """The mean over the rows of blocks, of which groups are right or wrong together.

    Parameters
    ----------
    model : estimator
        The fitted classifier or regressor.
    data : BlockedData
        The data, scanned with ``group`` and ``beside=True``.
    decision : Decision, optional
    engine : Engine, optional

    Returns
    -------
    dict
        As :func:`separatrix.assessment.periods.by_groups`.
    """
    labels = np.empty(0) if is_regressor(model) else data.classes
    found: GroupSums | None = None
    for part in Passes(data, engine).each(_sums_by_group, (model, decision, labels)):
        if part is not None:
            found = part if found is None else found.merged(part)
            _require_room(data, len(found.groups), "groups")
    assert found is not None
    return found.score()


def _sums_by_group(
    rows: Rows, shared: tuple[Any, Decision | None, np.ndarray], own: Any
) -> GroupSums | None:
    model, decision, classes = shared
    if not len(rows):
        return None
    assert rows.beside is not None
    predicted = predictions(PredictionAdapter(model).model, rows.matrix, decision).labels
    if is_regressor(model):
        return GroupSums.of(np.abs(predicted - rows.target), rows.beside)
    return GroupSums.of(predicted == classes[rows.target], rows.beside)


def blocks_by_times(
    data: BlockedData, score: Callable[[BlockedData], dict[str, Any]], engine: Engine | None = None
) -> list[dict[str, Any]]:
    """The scores of parts of the rows of blocks that follow in time.

    Parameters
    ----------
    data : BlockedData
        The data, scanned with ``time`` and ``beside=True``.
    score : callable
        The function that gives the scores of the rows of a part.
    engine : Engine, optional

    Returns
    -------
    list of dict
        As :func:`separatrix.assessment.periods.by_times`: the same parts.
    """
    passes = Passes(data, engine)
    times, sizes = np.empty(0), np.empty(0, dtype=np.int64)
    for own, count in passes.each(_times_of, None):
        times, place = np.unique(np.concatenate([times, own]), return_inverse=True)
        sizes = np.bincount(place.reshape(-1), np.concatenate([sizes, count])).astype(np.int64)
        _require_room(data, len(times), "times")
    part = parts_of_times(sizes, min(PARTS, len(times)))
    # The first time of each part.
    first = times[np.flatnonzero(np.diff(part, prepend=-1))]
    counts = np.array([*passes.each(_rows_by_part, first)])
    found = []
    for k, start in enumerate(first.tolist()):
        blocks = tuple(
            _PartBlock(block, first, k, int(n), block.n_stored, block.nbytes, block.place)
            for block, n in zip(data.blocks, counts[:, k], strict=True)
            if n
        )
        scores = score(replace(data, blocks=blocks))
        found.append({"first": start, "last": float(times[part == k][-1]), "scores": scores})
    return found


def _times_of(rows: Rows, shared: None, own: Any) -> tuple[np.ndarray, np.ndarray]:
    assert rows.beside is not None
    return np.unique(rows.beside, return_counts=True)


def _parts_of(rows: Rows, first: np.ndarray) -> np.ndarray:
    """The part of each row, by the first times of the parts."""
    assert rows.beside is not None
    return np.searchsorted(first, rows.beside, side="right") - 1


def _rows_by_part(rows: Rows, first: np.ndarray, own: Any) -> np.ndarray:
    return np.bincount(_parts_of(rows, first), minlength=len(first))


@dataclass(frozen=True, eq=False)
class _PartBlock(Block):
    """The rows of a block in part ``k`` of the times, by the first time of each part."""

    inner: Block
    first: np.ndarray
    k: int
    n_rows: int
    n_stored: int
    nbytes: int
    place: str

    def load(self) -> Rows:
        rows = self.inner.load()
        return rows[_parts_of(rows, self.first) == self.k]


def _require_room(data: BlockedData, count: int, what: str) -> None:
    """Refuse more different groups or times than the memory holds."""
    if count * _EACH > max(_SHARE * data.memory, 1 << 20):
        raise DataError(
            f"{data.source} has more than {count - 1:,} different {what}, which take more than the "
            "memory that they may take: give a larger one"
        )
