"""The problems of an estimator, composed of a loss and a penalty, for rows in memory or in blocks.

An estimator states its problems once.  Of rows in memory the problem is an objective on their
design; of row blocks it is the same sum, taken in passes.
"""

from __future__ import annotations

from typing import Any

from separatrix.losses import Huber, Loss
from separatrix.models.blocked import InPasses
from separatrix.objectives.composing import objective_of
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.residual import ScaledResidualObjective
from separatrix.objectives.softmax import SoftmaxObjective

__all__ = ["multinomial", "pointwise", "with_scale"]


def pointwise(
    rows: Any,
    target: Any,
    loss: Loss,
    penalty: Penalty,
    *,
    C: float,
    weights: Any = None,
    fit_intercept: bool = True,
) -> Any:
    """The objective of a loss of one score a row and its target.

    Parameters
    ----------
    rows : Design or InPasses
    target : ndarray of shape (n_samples,), or int
        What :meth:`parts` of the labels or numbers gives for a part.
    loss : Loss
    penalty : Penalty
    C : float
        Weight of the loss.
    weights : ndarray of shape (n_samples,), optional
        Of rows in memory; those of blocks are in the blocks.
    fit_intercept : bool

    Returns
    -------
    Objective
        One that keeps to :class:`~separatrix.objectives.base.LinearProblem`.
    """
    if isinstance(rows, InPasses):
        return rows.pointwise(target, loss, penalty, C=C, fit_intercept=fit_intercept)
    options = {"C": C, "weights": weights, "fit_intercept": fit_intercept}
    return objective_of(rows, target, loss, penalty, **options)


def with_scale(
    rows: Any,
    target: Any,
    loss: Huber,
    penalty: Penalty,
    *,
    C: float,
    weights: Any = None,
    fit_intercept: bool = True,
) -> Any:
    """The objective of Huber's loss with the best scale, of rows as :func:`pointwise` has them."""
    if isinstance(rows, InPasses):
        return rows.with_scale(target, loss, penalty, C=C, fit_intercept=fit_intercept)
    options: dict[str, Any] = {"C": C, "weights": weights, "fit_intercept": fit_intercept}
    return ScaledResidualObjective(rows, target, loss, penalty, **options)


def multinomial(
    rows: Any, labels: Any, penalty: Penalty, *, C: float, fit_intercept: bool = True
) -> Any:
    """The objective of the multinomial loss of all classes, of rows as :func:`pointwise` has them.

    ``labels``: :class:`~separatrix.data.labels.Labels`, or the blocks themselves.
    """
    if isinstance(rows, InPasses):
        return rows.multinomial(penalty, C=C, fit_intercept=fit_intercept)
    options = {"C": C, "weights": labels.weights, "fit_intercept": fit_intercept}
    return SoftmaxObjective(rows, labels.codes, len(labels.classes), penalty, **options)
