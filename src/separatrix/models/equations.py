"""Estimators that solve equations: how they are fitted, and their certificates."""

from __future__ import annotations

import copy
from typing import Any

from separatrix.certificate import ResidualCertificate
from separatrix.models import blocked
from separatrix.models.certified import FitContext, bounded

__all__ = ["NOT_ITERATED", "fit", "residual_certificate"]

#: The parameters of iterative methods.
NOT_ITERATED = ("max_iter", "tol", "time_limit", "verbose", "record")


def fit(
    self: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    engine: Any = None,
    checkpoint: Any = None,
) -> Any:
    """Fit to training data.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        Float32 and float64, dense of any strides or CSR, are used without a copy; sums are
        float64. Row blocks of :func:`separatrix.scale.scan` are fitted in passes; they contain
        their targets and weights.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        For a classifier labels: numbers, strings or booleans. Where a
        :class:`~separatrix.RidgeClassifier` is fitted to rows of several labels, 1 for each
        label of the row and 0 for the others.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0; a weight of k is the same as k copies of the row.
    engine : separatrix.scale.Engine, optional
        What computes the passes over row blocks; by default the threads of this process.
    checkpoint : path, optional
        Not supported: the fit needs only a few passes.

    Returns
    -------
    self

    Raises
    ------
    ValueError
        For bad parameters, NaN or infinity (named by row and column), one class only, or too
        few rows for ``covariance="unbiased"``.

    Warns
    -----
    LinAlgWarning
        If columns depend on one another and no penalty decides; the text says which. Of
        Gaussian classes also if a covariance is singular, named by column and class with the
        remedy; it is then given a floor, see ``floored_``.
    ConvergenceWarning
        If the certificate is above its tolerance; the text is the certificate.
    """
    self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
    return self


def residual_certificate(
    model: Any, X: Any, y: Any, sample_weight: Any, tol: float, engine: Any = None
) -> ResidualCertificate:
    """How well a fitted model solves its equations on the training data, which may be row blocks.

    The model supplies ``_rows_again``, the rows that it was fitted to and the target as it has it,
    and ``_certified``, how well the equations hold that are set up anew from these.
    """
    fit = FitContext()
    if blocked.is_blocked(X):
        blocked.require_same(model, X)
        blocked.require_passes(model)
        fit.blocks = fit.design = fit.target = blocked.begin(copy.copy(model), X, engine)
    else:
        fit.design, fit.target = bounded(*model._rows_again(X, y, sample_weight))
    certificate: ResidualCertificate = model._certified(fit, tol)
    return certificate
