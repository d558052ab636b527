"""Estimators that solve equations: the one sequence of their fits, and their certificates."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

from separatrix.certificate import ResidualCertificate
from separatrix.data.design import Design
from separatrix.models import blocked
from separatrix.models.certified import Certified, FitContext
from separatrix.models.pickled import Pickled

__all__ = ["ClosedForm"]


class ClosedForm(
    Pickled, Certified, without=("max_iter", "tol", "time_limit", "verbose", "record")
):
    """An estimator whose problems are solved by a few passes over the rows.

    There is nothing to keep before the end: Ctrl-C ends such a fit where it is.
    """

    # A few passes leave no checkpoint, and the first one finds all facts about the targets.
    _resumes = False
    _sums_targets = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> Self:
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

    def _run(self, fit: FitContext) -> bool:
        problems = self._settled(fit)
        self._keep_fit(fit, problems, self._solve(problems, fit))
        if fit.blocks is not None:
            self.n_passes_ = fit.blocks.passes.count
        return False

    @abstractmethod
    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Any]:
        """The rows that a fitted model was fitted to, and the target as it has it."""

    @abstractmethod
    def _certified(self, fit: FitContext, tol: float) -> ResidualCertificate:
        """How well the equations hold at the fitted numbers, set up anew from the rows."""

    def _equations(
        self, X: Any, y: Any, sample_weight: Any, tol: float, engine: Any = None
    ) -> ResidualCertificate:
        """How well the equations hold on the training data, which may be row blocks."""
        fit = FitContext()
        if blocked.is_blocked(X):
            blocked.require_same(self, X)
            blocked.require_passes(self)
            fit.blocks = fit.design = fit.target = blocked.begin(copy.copy(self), X, engine)
        else:
            fit.design, fit.target = self._rows_again(X, y, sample_weight)
        return self._certified(fit, tol)
