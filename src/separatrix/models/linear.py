"""What the linear classifiers share: weights and scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, dense
from separatrix.data.labels import Labels
from separatrix.models.base import CertifiedClassifier, Claimed, linear_scores, narrowed
from separatrix.models.callbacks import CallbackMixin
from separatrix.models.parameters import parameter
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.driver import Solution

__all__ = ["AVERAGED", "LinearClassifier", "SparseWeights", "check_averaged"]


class SparseWeights:
    """Weights that can be kept as a sparse matrix."""

    coef_: Any

    def sparsify(self) -> Any:
        """Make ``coef_`` a CSR matrix, which for weights that are mostly zero takes less memory.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Make ``coef_`` an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self


class LinearClassifier(SparseWeights, CallbackMixin, CertifiedClassifier):
    """Half-spaces: one for two classes, one a class for more."""

    fit_intercept: bool = parameter(default=True)

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "coef_": rules.weights("h"),
        "intercept_": rules.array("h", single=True),
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
        if self._follows_dtype:
            design = problems[0][1].design
            self.coef_, self.intercept_ = narrowed(self.coef_, self.intercept_, design)
        self._record(problems, solutions)

    def _fit_with_callbacks(
        self, X: Any, y: Any, sample_weight: Any, design: Design, labels: Labels
    ) -> bool:
        if not self._has_callbacks:
            return self._fit_encoded(design, labels)
        return self._followed(
            lambda: self._fit_encoded(design, labels),
            labels.classes,
            X=X,
            y=y,
            metadata={"sample_weight": sample_weight},
        )

    def _claims(self, design: Design, labels: Labels) -> list[Claimed]:
        problems = self._problems(design, labels)
        return [
            (part, problem, point, labels.weights)
            for (part, problem), point in zip(problems, self._points(problems), strict=True)
        ]

    def _points(self, problems: list[tuple[str, LinearProblem]]) -> list[np.ndarray]:
        """The weights and intercepts of the fit, as points of problems."""
        coef = dense(self.coef_).astype(np.float64, copy=False)
        intercept = np.asarray(self.intercept_, dtype=np.float64)
        if len(problems) == 1 and problems[0][1].output_shape:
            return [problems[0][1].join(coef.T, intercept)]
        return [p.join(coef[k], intercept[k]) for k, (_, p) in enumerate(problems)]

    def _starts(self, problems: list[tuple[str, LinearProblem]]) -> list[np.ndarray] | None:
        if not getattr(self, "warm_start", False) or "coef_" not in vars(self):
            return None
        outputs = sum(p.output_shape[0] if p.output_shape else 1 for _, p in problems)
        # Of other columns or classes there is nothing to start from.
        if self.coef_.shape != (outputs, problems[0][1].design.n_features):
            return None
        return self._points(problems)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores ``w.x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
            Positive for ``classes_[1]``.
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
        raise rules.refuse("plain_coef_", "must come with plain_intercept_ and n_visits_")
