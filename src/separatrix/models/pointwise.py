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
from separatrix.models import certified
from separatrix.models.certified import Certified, FitContext, Problems
from separatrix.models.parameters import fitted, parameter
from separatrix.models.predicting import OfNumbers
from separatrix.solvers.driver import Solution


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

    fit = certified.fit
    predict, score = OfNumbers.predict, OfNumbers.score

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

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        self._keep(problems, solutions)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        coef, levels = self._weights(problems, solutions)
        self.coef_, self.intercept_ = coef[0], float(levels[0])
        self._record(problems, solutions)
