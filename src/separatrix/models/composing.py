"""The problems of an estimator, composed of a loss and a penalty, for rows in memory or in blocks.

An estimator states its problems once.  For rows in memory the problem is an objective on their
design; for row blocks it is the same sum, taken in passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.closed_form.normal_equations import LeastSquaresProblem, Tuning, for_all_targets
from separatrix.losses import Huber, Loss
from separatrix.models.blocked import InPasses, refuse
from separatrix.objectives.composing import objective_of
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.residual import ScaledResidualObjective
from separatrix.objectives.softmax import SoftmaxObjective


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
        The target of a part, as ``parts`` of the labels, numbers or blocks gives it.
    loss : Loss
    penalty : Penalty
    C : float
        The weight of the loss.
    weights : ndarray of shape (n_samples,), optional
        The weights of rows in memory; those of blocks are in the blocks.
    fit_intercept : bool

    Returns
    -------
    Objective
        An objective that keeps to :class:`~separatrix.objectives.base.LinearProblem`.
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


def least_squares(
    rows: Any,
    target: Any,
    *,
    other: float,
    bounds: Any = None,
    names: Any = None,
    single: bool = False,
    **options: Any,
) -> tuple[LeastSquaresProblem, float]:
    """Least squares without a penalty, and the sum of the sample weights.

    With row blocks it takes a pass, for the moments of the rows.

    Parameters
    ----------
    rows : Design or InPasses
    target : TrainingRows or InPasses
    other : float
        The target of the other classes, where a row has one for each of more than two.
    bounds : tuple of ndarray, optional
        Bounds of the weights, for rows in memory.
    names : sequence of str, optional
        The names of the columns.
    single : bool
        Whether the weights are float32 where the data are.
    **options
        See :class:`~separatrix.closed_form.normal_equations.LeastSquaresProblem`.
    """
    if not isinstance(rows, InPasses):
        options.update(weights=target.weights, bounds=for_all_targets(bounds), names=names)
        options["single"] = single and rows.matrix.dtype == np.float32
        return LeastSquaresProblem(rows, target.targets, **options), target.total
    from separatrix.scale.equations import BlockedProblem

    targets = answers_of(rows, other)
    require_memory(rows, targets.count)
    single = single and rows.data.single
    problem = BlockedProblem.of(rows.passes, targets, single=single, **options)
    return problem, problem.total


def answers_of(rows: InPasses, other: float) -> Any:
    """The targets of least squares over row blocks; see :func:`least_squares`."""
    from separatrix.scale.equations import Targets

    return Targets(len(rows.classes), other, rows.factors) if len(rows.classes) else Targets()


def require_memory(rows: InPasses, n_targets: int, copies: int = 6) -> None:
    """Raise TypeError where pairs of columns are too many to be held.

    ``copies``: the sums, those of the next block, and the matrices that are made of them.
    """
    columns = rows.data.n_features + n_targets
    needed, most = 8 * copies * columns**2, Tuning.most_square
    if columns > most or needed > rows.data.memory:
        raise refuse(
            rows.model,
            f"the sums of products of {columns:,} columns take {needed / 1e6:,.0f} MB; leave "
            f"out columns, or give more memory (at most {most:,} columns are possible)",
        )
