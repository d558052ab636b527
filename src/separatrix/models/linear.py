"""What the linear classifiers share: weights and scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.labels import Labels
from separatrix.models.base import CertifiedClassifier, Claimed, linear_scores
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.driver import Solution

__all__ = ["AVERAGED", "LinearClassifier", "check_averaged"]


class LinearClassifier(CertifiedClassifier):
    """Half-spaces: one for two classes, one a class for more."""

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "coef_": rules.array("h", "d"),
        "intercept_": rules.array("h"),
        "certificate_": rules.certificate,
    }
    _needed: tuple[str, ...] = ("coef_", "intercept_", "classes_", "certificate_")

    def _keep(self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]) -> None:
        coefs, intercepts = [], []
        for (_, problem), solution in zip(problems, solutions, strict=True):
            coefs.append(np.atleast_2d(problem.weights_of(solution.theta).T))
            intercepts.append(np.atleast_1d(problem.intercept_of(solution.theta)))
        # Contiguous and owned: a view would keep the whole point alive.
        self.coef_ = np.array(np.concatenate(coefs), order="C")
        self.intercept_ = np.array(np.concatenate(intercepts))
        self._record(problems, solutions)

    def _claims(self, design: Design, labels: Labels) -> list[Claimed]:
        problems = self._problems(design, labels)
        coef = np.asarray(self.coef_, dtype=np.float64)
        intercept = np.asarray(self.intercept_, dtype=np.float64)
        if len(problems) == 1 and problems[0][1].output_shape:
            points = [problems[0][1].join(coef.T, intercept)]
        else:
            points = [p.join(coef[k], intercept[k]) for k, (_, p) in enumerate(problems)]
        return [
            (part, problem, point, labels.weights)
            for (part, problem), point in zip(problems, points, strict=True)
        ]

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


#: The attributes of a classifier that may keep the average of its weights.
AVERAGED: rules.Rules = {
    "plain_coef_": rules.array("h", "d"),
    "plain_intercept_": rules.array("h"),
    "n_visits_": rules.array("h", low=0.0),
}


def check_averaged(model: Any) -> None:
    """Raise ModelCheckError unless all of :data:`AVERAGED` are there, or none."""
    if len({name in vars(model) for name in AVERAGED}) > 1:
        raise rules.refuse("plain_coef_", "goes with plain_intercept_ and n_visits_")
