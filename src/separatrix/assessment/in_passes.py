"""What a model says of rows that come in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.assessment.scoring import Predictions, predictions
from separatrix.scale.blocks import Block, BlockedData

__all__ = ["labels_over", "predicted_over"]


def predicted_over(model: Any, blocks: Sequence[Block], decision: Any = None) -> Predictions:
    """All that a model says of the rows of some blocks, a block at a time.

    What is kept are a few numbers a row, and not the rows.

    Parameters
    ----------
    model : estimator
        Fitted.
    blocks : sequence of Block
        At least one.
    decision : Decision, optional
    """
    parts = [predictions(model, block.load().matrix, decision) for block in blocks]

    def whole(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        return None if columns[0] is None else np.concatenate(columns)

    return Predictions(whole("labels"), whole("scores"), whole("probabilities"))


def labels_over(data: BlockedData, blocks: Sequence[Block]) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels, or numbers, and weights of the rows of some blocks of a data set."""
    targets: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for block in blocks:
        rows = block.load()
        targets.append(np.array(rows.target))
        if rows.weights is not None:
            weights.append(np.array(rows.weights))
    if not targets:
        return np.empty(0), None
    y = np.concatenate(targets)
    labels = y if data.classes is None else data.classes[y]
    return labels, np.concatenate(weights) if weights else None
