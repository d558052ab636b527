"""The linear classifiers: labels, scores, what is kept of the solutions, and paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import Labels, encode
from separatrix.data.random_state import seed_of
from separatrix.data.validation import (
    require_classes,
    require_finite,
    sample_weight_of,
    validate,
)
from separatrix.expressions import Expression
from separatrix.models.base import SEED_OF_VISITS
from separatrix.models.blocked import refuse
from separatrix.models.calibration import cross_fitted_scores, from_scores
from separatrix.models.certified import Certified, FitContext, Problems
from separatrix.models.limits import counting
from separatrix.models.parameters import parameter
from separatrix.models.predicting import OfClasses
from separatrix.models.search import sparse_strengths, strengths_of_rows
from separatrix.objectives.base import LinearProblem
from separatrix.solvers import SOLVERS, select_solver
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Solver
from separatrix.solvers.warm_starts import Continuation


class LinearClassifier(ClassifierMixin, Certified):
    """A classifier by half-spaces, one problem or several, each with a certificate."""

    fit_intercept: bool = parameter(default=True)
    class_weight: Any = parameter(default=None)
    random_state: Any = parameter(default=None, meaning=SEED_OF_VISITS)

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "coef_": rules.weights("h"),
        "intercept_": rules.array("h", single=True),
        "certificate_": rules.certificate,
    }
    _needed: tuple[str, ...] = ("coef_", "intercept_", "classes_", "certificate_")

    _each = ", for each class against the rest"

    decision_function = OfClasses.decision_function
    predict, score = OfClasses.predict, OfClasses.score

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
        self.coef_, self.intercept_ = self._weights(problems, solutions)
        self._record(problems, solutions)

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        self.classes_ = fit.target.classes
        self._keep(problems, solutions)

    def _solver(self, problem: LinearProblem) -> Solver:
        solver = getattr(self, "solver", "auto")
        if not isinstance(solver, str):
            return solver
        if problem.in_passes and solver in SOLVERS:
            raise refuse(self, f"solver={solver!r} keeps vectors as long as the data: give 'auto'")
        return SOLVERS[solver]() if solver in SOLVERS else select_solver(problem)

    # --- calibration ------------------------------------------------------------------------

    @property
    def _calibration_method(self) -> str | None:
        """The method that turns scores into probabilities, or None."""
        return getattr(self, "calibrate", None)

    def _probabilities(self, scores: Expression, winner: Expression) -> Expression | None:
        return from_scores(self, scores, winner)

    def _cross_fitted_scores(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, folds: Any
    ) -> np.ndarray:
        """The scores of the rows of each fold by a fit to the others."""
        return cross_fitted_scores(self, X, y, sample_weight, folds)

    # --- along a path -----------------------------------------------------------------------

    def _path_fits(self, run: Any) -> Iterator[tuple[int, int, Any]]:
        """The fits as (number of the value, number of the fold or 0 for all rows, model)."""
        chains = [Continuation() for _ in range(len(run.folds) + 1)]
        whole: Any = None
        for i, value in enumerate(run.values):
            for j, chain in enumerate(chains):
                # The first value is fitted in any case.
                if i > 0 and run.over:
                    return
                member = run.member(value, others=len(chains) - 1 - j if i == 0 else 0)
                if j > 0:
                    member._settle_as(whole)
                labels = run.labels_of(j)
                # ``labels_of`` has just found which classes are left.
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

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        """Values from the strongest penalty to the weakest."""
        problems, total = run.prepared._problems(run.design, run.labels), run.labels.total
        # A little less, or a fit within its tolerance may have one that is not quite zero.
        first = 0.999 * min(problem.critical_C for _, problem in problems)
        if 0.0 < first < np.inf:
            return sparse_strengths(parameter, count, first, total)
        weight, square = run.mean_square(centred=bool(self.fit_intercept))
        return strengths_of_rows(parameter, count, weight, total, square)

    def _know_one(self, design: Design, labels: Labels) -> None:
        """Become the model of rows of one class, where folds may lack classes."""
        raise NotImplementedError

    def _know_absent(self, classes: np.ndarray) -> None:
        """Become a model of all classes, some of which had no row in the fit."""

    def _settle_as(self, whole: Any) -> None:
        """Take over what the fit to all rows has settled and a fold need not find anew."""


#: The attributes of a classifier that may keep the average of its weights.
AVERAGED: rules.Rules = {
    "plain_coef_": rules.array("h", "d"),
    "plain_intercept_": rules.array("h"),
    "n_visits_": rules.array("h", low=0.0),
}


def resumed(
    model: Any, labels: Labels, n_features: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The weights and intercepts that a further pass starts from, their averages, and the visits
    that these are over; zero before the first pass."""
    parts = 1 if labels.binary else len(labels.classes)
    average = np.zeros((parts, n_features)), np.zeros(parts)
    if hasattr(model, "classes_"):
        average = dense(model.coef_), model.intercept_
    if hasattr(model, "plain_coef_"):
        return (model.plain_coef_, model.plain_intercept_), average, model.n_visits_
    return average, average, np.zeros(parts)


def keep_steps(model: Any, problems: Problems, solutions: list[Solution]) -> None:
    """Keep what passes leave beside the answer: the weights before averaging, and all updates."""
    forget_averaged(model)
    if model.average:
        pairs = [(p, s.state) for (_, p), s in zip(problems, solutions, strict=True)]
        model.plain_coef_ = np.array([p.weights_of(state.theta) for p, state in pairs])
        model.plain_intercept_ = np.array([p.intercept_of(state.theta) for p, state in pairs])
        model.n_visits_ = np.array([state.elapsed for _, state in pairs])
    if model.record:
        for solution in solutions:
            assert solution.trace is not None
            solution.trace.updates = solution.state.updates
            solution.trace.stretches = getattr(solution.state, "stretches", [])


def forget_averaged(model: Any) -> None:
    """Drop the weights before averaging of an earlier fit."""
    for name in AVERAGED:
        model.__dict__.pop(name, None)


def check_averaged(model: Any) -> None:
    """Raise ModelCheckError unless all of :data:`AVERAGED` are there, or none."""
    if len({name in vars(model) for name in AVERAGED}) > 1:
        raise rules.refuse("plain_coef_", "must come with plain_intercept_ and n_visits_")


# --- methods of estimators whose weights can be kept as a sparse matrix ---------------------------


def sparsify(self: Any) -> Any:
    """Make ``coef_`` a CSR matrix, which for weights that are mostly zero takes less memory.

    Returns
    -------
    self
    """
    check_is_fitted(self)
    self.coef_ = sp.csr_matrix(self.coef_)
    return self


def densify(self: Any) -> Any:
    """Make ``coef_`` an array again.

    Returns
    -------
    self
    """
    check_is_fitted(self)
    self.coef_ = dense(self.coef_)
    return self
