"""What a model says of rows that come in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.assessment.scoring import Predictions, predictions
from separatrix.scale.blocks import Block

__all__ = ["predicted_over"]


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
