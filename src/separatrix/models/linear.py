"""What the linear classifiers share: weights and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.data.validation import check_choice
from separatrix.models.base import CertifiedClassifier, Penalised, linear_scores
from separatrix.objectives.base import LinearProblem
from separatrix.solvers import SOLVERS, select_solver
from separatrix.solvers.driver import Solution, Solver

# The weakest penalty of a path, relative to the strongest, where weights can be zero.
_SPARSE_REACH = 1e3

__all__ = ["LinearClassifier", "PenalisedClassifier"]


class LinearClassifier(CertifiedClassifier):
    """Half-spaces: one for two classes, one a class for more."""

    def _keep(self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]) -> None:
        coefs, intercepts = [], []
        for (_, problem), solution in zip(problems, solutions, strict=True):
            coefs.append(np.atleast_2d(problem.weights_of(solution.theta).T))
            intercepts.append(np.atleast_1d(problem.intercept_of(solution.theta)))
        # Contiguous and owned: a view would keep the whole point alive.
        self.coef_ = np.array(np.concatenate(coefs), order="C")
        self.intercept_ = np.array(np.concatenate(intercepts))
        self._record(problems, solutions)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores ``w.x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
            Positive for ``classes_[1]``; zero counts as positive.
        """
        if "coef_" not in vars(self):
            # To raise: for one row it would take longer than all the rest.
            check_is_fitted(self)
        scores = linear_scores(self, X, self.coef_, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores


class PenalisedClassifier(Penalised, LinearClassifier):
    """A linear classifier with ``C`` or ``lam``, a tolerance and a choice of solver."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, ["auto", *SOLVERS])

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        member = run.member(1.0)
        problems = member._problems(run.design, run.labels)
        # A little less, or a fit within its tolerance may have one that is not quite zero.
        first = 0.999 * min(problem.critical_C for _, problem in problems)
        if not 0.0 < first < np.inf:
            return super()._path_values(parameter, count, run)
        # From where the first weight is not zero (Friedman, Hastie and Tibshirani, 2010, 2.5).
        strengths = first * np.geomspace(1.0, _SPARSE_REACH, count)
        return strengths if parameter == "C" else 1.0 / (strengths * run.labels.total)

    def _solver(self, problem: LinearProblem) -> Solver:
        if not isinstance(self.solver, str):
            return self.solver
        return select_solver(problem) if self.solver == "auto" else SOLVERS[self.solver]()
