"""What the linear classifiers share: weights and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.models.base import CertifiedClassifier, linear_scores
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.driver import Solution

__all__ = ["LinearClassifier"]


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
