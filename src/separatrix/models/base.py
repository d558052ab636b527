"""What the classifiers share that minimise: labels, rows in blocks, paths."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode, encode_among, known_classes
from separatrix.data.random_state import seed_of
from separatrix.data.validation import (
    require_classes,
    require_finite,
    sample_weight_of,
    validate,
)
from separatrix.models import blocked
from separatrix.models.certified import Certified, FitContext, Problems
from separatrix.models.limits import counting
from separatrix.models.parameters import parameter
from separatrix.models.scores import ClassPredictions
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Solver
from separatrix.solvers.warm_starts import Continuation

__all__ = ["SEED_OF_VISITS", "CertifiedClassifier", "portion_of"]

SEED_OF_VISITS = (
    "the seed of methods that visit rows in random order; it changes results by no more than `tol`"
)


class CertifiedClassifier(ClassPredictions, Certified):
    """A classifier that solves one problem or several, each with a certificate."""

    class_weight: Any = parameter(default=None)
    time_limit: float | None = None
    random_state: Any = parameter(default=None, meaning=SEED_OF_VISITS)
    verbose: int = 0
    record: bool = False

    _takes_blocks = True
    _each = ", for each class against the rest"

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Labels]:
        matrix, y = validate(self, X, y, finite=False)
        design = as_design(matrix)
        if not design.known_finite():
            require_finite(matrix, getattr(self, "feature_names_in_", None))
        design = design.merged()
        require_classes(y)
        return design, encode(y, sample_weight_of(sample_weight, matrix), self.class_weight)

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        """Set the fitted attributes that follow from the solutions alone."""
        raise NotImplementedError

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        self.classes_ = fit.labels.classes
        self._keep(problems, solutions)
        if fit.blocks is not None:
            self.n_passes_ = fit.blocks.passes.count

    def _blocked_claims(
        self, data: Any, engine: Any
    ) -> list[tuple[str, LinearProblem, np.ndarray, Solver]]:
        """:meth:`_claims` over row blocks, with who would solve each."""
        blocked.require_same(self, data)
        # A fit settles things on its way.
        other = copy.copy(self)
        problems = other._blocked_problems(blocked.begin(other, data, engine))
        points = other._points(problems)
        return [
            (part, problem, point, other._solver(problem))
            for (part, problem), point in zip(problems, points, strict=True)
        ]

    # --- along a path -----------------------------------------------------------------------

    def _path_fits(self, run: Any) -> Iterator[tuple[int, int, Any]]:
        """The fits as (number of the value, number of the fold or 0 for all rows, model)."""
        chains = [Continuation() for _ in range(len(run.folds) + 1)]
        whole: Any = None
        for i, value in enumerate(run.values):
            for j, chain in enumerate(chains):
                # Of the first value there is something in any case.
                if i > 0 and run.over:
                    return
                member = run.member(value, others=len(chains) - 1 - j if i == 0 else 0)
                if j > 0:
                    member._settle_as(whole)
                labels = run.labels_of(j)
                # What is left was found out just now.
                if len(labels.classes) > 1:
                    with counting(None):
                        member._run(FitContext(run.design, labels, shared=run.shared, chain=chain))
                else:
                    member._know_one(run.design, labels)
                if labels.absent:
                    member._know_absent(run.labels.classes)
                if j == 0:
                    whole = member
                member.time_limit = run.model.time_limit
                yield i, j, member

    def _know_one(self, design: Design, labels: Labels) -> None:
        """Become the model of rows of one class, where folds may lack classes."""
        raise NotImplementedError

    def _know_absent(self, classes: np.ndarray) -> None:
        """Become a model of all classes, some of which had no row in the fit."""

    def _settle_as(self, whole: Any) -> None:
        """Take over what the fit to all rows has settled and a fold need not find anew."""


def portion_of(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    finite: bool = True,
) -> tuple[Any, Labels]:
    """The matrix and the labels of one call of ``partial_fit``.

    The first call settles the columns and the classes; later ones are held to them.
    """
    earlier = getattr(estimator, "classes_", None)
    known = known_classes(classes, earlier)
    if earlier is None:
        matrix, y = validate(estimator, X, y, finite=finite)
    else:
        matrix, y = validate(estimator, X, finite=finite), column_or_1d(y, warn=True)
        check_consistent_length(matrix, y)
    require_classes(y)
    weights = sample_weight_of(sample_weight, matrix)
    return matrix, encode_among(known, y, weights, class_weight)
