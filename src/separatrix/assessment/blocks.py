"""How well a model predicts the rows of blocks: the record of rows in memory, from sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.assessment.decision import Decision
from separatrix.assessment.intervals import area_interval_of_levels, mean_interval_of_sums
from separatrix.assessment.scoring import class_figures, gives_probabilities, predictions
from separatrix.exceptions import DataError
from separatrix.models.blocked import PredictionAdapter, codes_for, require_columns
from separatrix.scale.blocks import BlockedData
from separatrix.scale.engines import Engine
from separatrix.scale.scores import errors_over, scores_over

__all__ = ["score_blocks"]


@dataclass(frozen=True, eq=False)
class _Decided:
    """The predicted classes of rows, by number, from a threshold on."""

    model: Any
    decision: Decision

    def __call__(self, matrix: Any) -> np.ndarray:
        labels = predictions(self.model, matrix, self.decision).labels
        return np.searchsorted(self.model.classes_, labels)


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
        Fitted, a classifier or a regressor.
    data : BlockedData
    engine : Engine, optional
        Who goes over the blocks.
    positive : label, optional
        Of two classes the one that matters; by default the rarer.
    decision : Decision, optional
        The score from which a row is predicted to be of it.
    intervals : bool, default=False
        Whether ``roc_auc_interval`` (of two classes whose scores were put in order) and
        ``log_loss_interval`` are given as well; None of weighted rows.

    Returns
    -------
    dict
        As :func:`separatrix.assessment.scoring.score_rows`, and ``roc_auc_error``: how far the
        area may be off where the scores took too much memory to be put in order;
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
    probabilities = adapter.probabilities if gives_probabilities(model) else None
    # A softmax score alone does not say how sure a class is; its probability does.
    ranking = adapter.scores if len(classes) == 2 or probabilities is None else probabilities
    found = scores_over(
        data,
        engine,
        labels=adapter.labels if decision is None else _Decided(model, decision),
        scores=ranking,
        probabilities=probabilities,
        codes=codes,
        n_classes=len(classes),
    )
    if len(classes) == 2 and positive is None:
        positive = classes[0 if found.counts[0] < found.counts[1] else 1].item()
    ranked = found.ranked
    if len(classes) == 2 and positive == classes[0]:
        # The same rows from the other side.
        ranked = tuple(r.reversed for r in ranked)
    areas = [r.area for r in ranked]
    whole = bool(areas) and None not in areas
    precise = whole and all(r.exact for r in ranked)
    figures = {
        "roc_auc": float(np.mean(np.array(areas, dtype=float))) if whole else None,
        "average_precision": (
            float(np.mean([r.average_precision for r in ranked])) if precise else None
        ),
        "log_loss": found.log_loss,
        "brier": found.brier,
    }
    known = found.weight**2 / found.squares
    confusion = found.confusion
    if np.array_equal(confusion, np.rint(confusion)):
        # Rows, or weights that count them.
        confusion = confusion.astype(np.int64)
    out = class_figures(classes, found.counts, confusion, known, positive, figures)
    out["roc_auc_error"] = max((r.area_error for r in ranked), default=0.0)
    if not intervals:
        return out
    out |= {"roc_auc_interval": None, "log_loss_interval": None}
    # Those of weighted figures would be others.
    if found.squares == found.weight == found.n_rows:
        if len(ranked) == 1 and precise:
            one = ranked[0]
            out["roc_auc_interval"] = area_interval_of_levels(one.hits, one.others)
        if found.log_loss is not None and found.log_loss_squares is not None:
            out["log_loss_interval"] = mean_interval_of_sums(
                found.log_loss, found.log_loss_squares, found.n_rows
            )
    return out
