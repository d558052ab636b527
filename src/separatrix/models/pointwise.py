"""What the regressions by a loss of one score share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.validation import sample_weight_of, validate
from separatrix.models.base import Claimed, conclude, keep_record, narrowed, scores_of
from separatrix.models.blocked import ScoresNumbers
from separatrix.models.limits import Limited, counted, remaining
from separatrix.models.parameters import fitted, parameter
from separatrix.models.regressor import TrainingRows
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Interrupt, minimise

__all__ = ["CertifiedRegressor"]


class CertifiedRegressor(ScoresNumbers, RegressorMixin, Limited, metaclass=ABCMeta):
    """A regression on one target by a loss of the score, with a certificate.

    Subclasses say what they minimise (``_problem``) and which parameters it has.
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
    # Whether weights are float32 where the data are, as scikit-learn's are.
    _follows_dtype = False

    coef_: np.ndarray = fitted()
    intercept_: float = fitted()

    @abstractmethod
    def _problem(self, design: Design, rows: TrainingRows) -> PointwiseObjective:
        """Build the problem that the fit minimises."""

    def _keep(self, problem: Any, theta: np.ndarray) -> None:
        """Set the attributes that say what was found."""
        self.coef_, level = self._weights(problem, theta)
        self.intercept_ = float(level[0])

    def _weights(self, problem: Any, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights and, as an array of one, the intercept, in the precision that is kept."""
        coef = np.array(problem.weights_of(theta))
        level = np.array([float(problem.intercept_of(theta))])
        return narrowed(coef, level, problem.design) if self._follows_dtype else (coef, level)

    @counted
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CertifiedRegressor:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Float32 and float64, dense of any strides or CSR, are used without a copy; sums are
            float64.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.

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
        self._fit(*self._rows_of(X, y, sample_weight))
        return self

    def _rows_of(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        self._check_parameters()
        matrix, numbers = validate(self, X, y, regression=True)
        weights = sample_weight_of(sample_weight, matrix)
        if numbers.ndim != 1:
            numbers = column_or_1d(numbers, warn=True)
        rows = TrainingRows.of(matrix, numbers, weights)
        return as_design(matrix).merged(), rows

    def _fit(self, design: Design, rows: TrainingRows, start: np.ndarray | None = None) -> None:
        problem = self._problem(design, rows)
        if start is None and self.warm_start and hasattr(self, "coef_"):
            known = dense(self.coef_).size == design.n_features
            level = float(np.sum(self.intercept_))
            start = problem.join(dense(self.coef_).ravel(), level) if known else None
        limits: dict[str, Any] = {"tol": self._goal, "max_iter": self.max_iter}
        limits["time_limit"] = remaining(self.time_limit)
        shown: dict[str, Any] = {"verbose": self.verbose, "record": self.record}
        shown["single"] = self._follows_dtype and design.matrix.dtype == np.float32
        with Interrupt() as interrupt:
            solution = minimise(problem, select_solver(problem), theta=start, **limits, **shown)
            self._keep(problem, solution.theta)
            keep_record(self, [("", problem)], [solution], self._goal)
        conclude(self, interrupt.requested)

    @property
    def _goal(self) -> float:
        """The relative gap to be certified."""
        return float(self.tol)

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        problem = self._problem(design, rows)
        level = float(np.sum(self.intercept_))
        return [("", problem, problem.join(dense(self.coef_).ravel(), level), rows.weights)]

    def predict(self, X: Any) -> np.ndarray:
        """The fitted values ``w.x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._scores(validate(self, X, finite=False))

    def _scores(self, matrix: Any) -> np.ndarray:
        """The scores ``w.x + b`` of a matrix that has been validated."""
        return scores_of(self, matrix, np.atleast_2d(dense(self.coef_)), self.intercept_)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
