"""Regressions that minimise: their targets, and the attributes of their solutions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import sample_weight_of, validate
from separatrix.models import predicting_numbers
from separatrix.models.certified import Certified, FitContext, Problems
from separatrix.models.limits import counted
from separatrix.models.parameters import fitted, parameter
from separatrix.models.scores import narrowed
from separatrix.solvers.driver import Solution

__all__ = ["LinearRegressor", "solution_values"]


class LinearRegressor(RegressorMixin, Certified):
    """A regression by a loss of the score, with a certificate.

    Subclasses state the problem of one target (``_problem``) and its parameters.
    """

    fit_intercept: bool = parameter(default=True)
    warm_start: bool = parameter(default=False)

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "coef_": rules.array("d"),
        "intercept_": rules.number(),
        "certificate_": rules.certificate,
    }
    _needed: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "certificate_")
    # Whether it predicts several numbers a row where it was fitted to several.
    _several: ClassVar[bool] = False

    predict, score = predicting_numbers.predict, predicting_numbers.score

    coef_: np.ndarray = fitted()
    intercept_: Any = fitted()

    @abstractmethod
    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> Any:
        """Build the problem of the numbers of one target."""

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix, numbers = validate(self, X, y, regression=True)
        weights = sample_weight_of(sample_weight, matrix)
        if numbers.ndim != 1 and not self._several:
            numbers = column_or_1d(numbers, warn=True)
        return as_design(matrix).merged(), TrainingRows.of(matrix, numbers, weights)

    def _problems(self, design: Design, rows: TrainingRows) -> Problems:
        return [(part, self._problem(design, y, rows)) for part, y in rows.parts()]

    def _weights(
        self, problems: Problems, solutions: list[Solution]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weights (n_targets, d) and the intercepts (n_targets,), in the kept precision."""
        coef, levels = solution_values(problems, solutions)
        if self._follows_dtype:
            return narrowed(coef, levels, problems[0][1].design)
        return coef, levels

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        self._keep(problems, solutions)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        coef, levels = self._weights(problems, solutions)
        self.coef_, self.intercept_ = coef[0], float(levels[0])
        self._record(problems, solutions)

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> LinearRegressor:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; sums are
            float64. Row blocks of :func:`separatrix.scale.scan` are fitted in passes; they contain
            their numbers and weights.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            What computes the passes over row blocks; by default the threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves its state. A fit that finds its own
            file continues from it, and removes it at the end.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), or several targets.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        return self


def solution_values(problems: Problems, solutions: list[Solution]) -> tuple[np.ndarray, np.ndarray]:
    """The weights (n_targets, d) and the intercepts (n_targets,) of some solutions."""
    pairs = [(problem, s.theta) for (_, problem), s in zip(problems, solutions, strict=True)]
    coef = np.array([problem.weights_of(theta) for problem, theta in pairs])
    return coef, np.array([float(problem.intercept_of(theta)) for problem, theta in pairs])
