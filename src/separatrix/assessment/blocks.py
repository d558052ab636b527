"""How well a model predicts the rows of blocks: the record of rows in memory, from sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.assessment.decision import Decision
from separatrix.assessment.intervals import area_interval_of_levels, mean_interval_of_sums
from separatrix.assessment.scoring import (
    class_figures,
    predictions,
    ranked_for,
    ranking_scores,
)
from separatrix.data.labels import codes_of
from separatrix.exceptions import DataError
from separatrix.models.blocked import PredictionAdapter, codes_for, require_columns
from separatrix.scale.blocks import BlockedData
from separatrix.scale.engines import Engine
from separatrix.scale.scores import Answers, errors_over, scores_over

__all__ = ["score_blocks"]


@dataclass(frozen=True, eq=False)
class _Answer:
    """What a model says of the rows of a matrix, in a form that can be sent to a worker."""

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
    # Those of weighted figures would be others.
    if found.squares == found.weight == found.n_rows:
        if len(ranked) == 1 and out["average_precision"] is not None:
            one = ranked[0]
            out["roc_auc_interval"] = area_interval_of_levels(one.hits, one.others)
        if found.log_loss is not None and found.log_loss_squares is not None:
            out["log_loss_interval"] = mean_interval_of_sums(
                found.log_loss, found.log_loss_squares, found.n_rows
            )
    return out
