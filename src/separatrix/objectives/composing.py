"""The kind of objective that a loss of one score and its target has."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.design import Design
from separatrix.losses import Loss
from separatrix.losses.base import MarginLoss
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.objectives.residual import ResidualObjective


def objective_of(
    design: Design, targets: np.ndarray, loss: Loss, penalty: Penalty, **options: Any
) -> PointwiseObjective:
    """The objective of a loss of one score a row, for rows in memory.

    Parameters
    ----------
    design : Design
    targets : ndarray of shape (n_samples,)
        Labels, -1.0 or +1.0, or numbers.
    loss : Loss
    penalty : Penalty
    **options
        ``C``, ``weights`` and ``fit_intercept`` of :class:`~separatrix.objectives.base.Objective`.
    """
    kind: Any = PointwiseObjective
    if isinstance(loss, MarginLoss):
        kind = MarginObjective
    elif loss.of_residual:
        kind = ResidualObjective
    found: PointwiseObjective = kind(design, targets, loss, penalty, **options)
    return found
