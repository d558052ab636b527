"""What the linear classifiers share: weights and scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import dense
from separatrix.models.base import CertifiedClassifier
from separatrix.models.callbacks import CallbackSupportMixin
from separatrix.models.certified import Problems
from separatrix.models.parameters import parameter
from separatrix.models.scores import narrowed
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


class LinearClassifier(SparseWeights, CallbackSupportMixin, CertifiedClassifier):
    """Half-spaces that minimise, whose fit can be followed step by step."""

    fit_intercept: bool = parameter(default=True)

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "coef_": rules.weights("h"),
        "intercept_": rules.array("h", single=True),
        "certificate_": rules.certificate,
    }
    _needed: tuple[str, ...] = ("coef_", "intercept_", "classes_", "certificate_")

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
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
