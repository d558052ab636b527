"""What the classifiers share: validation, composition, decoding."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, column_or_1d

from separatrix._compiled import pool
from separatrix.certificate import Certificate
from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import Labels, encode, encode_among, known_classes
from separatrix.data.random_state import seed_of
from separatrix.data.validation import (
    require_classes,
    require_finite,
    sample_weight_of,
    validate,
)
from separatrix.exceptions import warn
from separatrix.models import blocked
from separatrix.models.limits import Limited, counting, deadline_of, remaining
from separatrix.models.parameters import parameter
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.continuation import ROUNDING_SHARE, Continuation
from separatrix.solvers.driver import Interrupt, Solution, Solver, minimise

__all__ = [
    "SEED_OF_VISITS",
    "CertifiedClassifier",
    "Claimed",
    "agreeing",
    "column_names",
    "conclude",
    "keep_record",
    "linear_scores",
    "portion_of",
    "scores_of",
    "winners",
]


# Multiplications.
_FEW = 4096

# A part, its problem, a point of it in the coordinates of the data, and the weights of its rows.
Claimed = tuple[str, LinearProblem, np.ndarray, np.ndarray | None]


SEED_OF_VISITS = (
    "the seed of methods that visit rows in random order; it changes results by no more than `tol`"
)


class CertifiedClassifier(ClassifierMixin, Limited, metaclass=ABCMeta):
    """A classifier that solves one problem or several, each with a certificate.

    Subclasses say which problems to solve and by which solver, and what to keep of the solutions;
    the rest is here, once.
    """

    class_weight: Any = parameter(default=None)
    time_limit: float | None = None
    random_state: Any = parameter(default=None, meaning=SEED_OF_VISITS)
    verbose: int = 0
    record: bool = False

    # Whether ``n_iter_`` is an array of one number for each problem, as scikit-learn's is.
    _counts_each = False
    # Whether weights are float32 where the data are, as scikit-learn's are.
    _follows_dtype = False
    # What the formula says where there is more than one problem.
    _each = ", for each class against the rest"

    # --- what a model supplies --------------------------------------------------------------

    def _prepare(self, design: Design, labels: Labels) -> None:
        """Settle what depends on the data and outlives the fit; by default nothing."""

    @abstractmethod
    def _problems(self, design: Design, labels: Labels) -> list[tuple[str, LinearProblem]]:
        """The problems, each with the name of its part."""

    @abstractmethod
    def _solver(self, problem: LinearProblem) -> Solver: ...

    @abstractmethod
    def _keep(self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]) -> None:
        """Set the fitted attributes; calls :meth:`_record`."""

    @abstractmethod
    def _claims(self, design: Design, labels: Labels) -> list[Claimed]:
        """What the fitted model claims to solve, set up from the training data for `verify`."""

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray: ...

    @abstractmethod
    def _limits(self) -> dict[str, Any]:
        """``tol``, ``max_iter`` and the status of reaching it, for the driver."""

    @property
    def _has_callbacks(self) -> bool:
        """Whether somebody hears of every step."""
        return False

    # --- fit --------------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> None:
        if blocked.is_blocked(X):
            blocked.require_alone(y, sample_weight)
            self._fit_blocks(X, engine, checkpoint)
            return
        blocked.require_blocks(engine, checkpoint)
        self._check_parameters()
        X_, y_ = validate(self, X, y, finite=False)
        design = as_design(X_)
        if not design.known_finite():
            require_finite(X_, getattr(self, "feature_names_in_", None))
        design = design.merged()
        require_classes(y_)
        sample_weight = sample_weight_of(sample_weight, X_)
        labels = encode(y_, sample_weight, self.class_weight)
        interrupted = self._fit_with_callbacks(X, y, sample_weight, design, labels)
        conclude(self, interrupted)

    # --- in passes --------------------------------------------------------------------------

    def _blocked_problems(self, fit: blocked.InPasses) -> list[tuple[str, LinearProblem]]:
        """:meth:`_problems` over row blocks.

        Raises
        ------
        TypeError
            For a model, or parameters, that cannot be fitted in passes.
        """
        raise blocked.refuse(self, "its objective is not a sum over rows")

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

    def _points(self, problems: list[tuple[str, LinearProblem]]) -> list[np.ndarray]:
        """The weights and intercepts of the fit, as points of problems."""
        raise blocked.refuse(self, "its weights do not belong to columns")

    def _concluded(
        self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]
    ) -> list[Solution]:
        """Post-process the solutions of a fit in passes; by default they stay as they are."""
        return solutions

    def _fit_blocks(self, data: Any, engine: Any, checkpoint: Any) -> None:
        """Fit to row blocks, from a checkpoint where there is one."""
        self._check_parameters()
        fit = blocked.begin(self, data, engine, checkpoint)
        problems = self._blocked_problems(fit)
        seed = seed_of(self.random_state)
        with Interrupt() as interrupt:
            limits = self._limits()
            points = blocked.starts(fit, problems)
            if len(problems) > 1 and blocked.share(problems):
                deadline = deadline_of(self.time_limit)
                jobs = [
                    functools.partial(
                        self._minimised,
                        problem,
                        seed + k,
                        part,
                        limits if points is None else {**limits, "theta": points[k]},
                        deadline,
                    )
                    for k, (part, problem) in enumerate(problems)
                ]
                size, names = math.prod(problems[0][1].shape), [part for part, _ in problems]
                solutions = blocked.together(fit, jobs, size, names)
            else:
                limits["time_limit"] = remaining(self.time_limit)
                solutions = self._solved(problems, seed, limits, record=self.record, starts=points)
            solutions = self._concluded(problems, solutions)
            self.classes_ = fit.classes
            self._keep(problems, solutions)
            self.n_passes_ = fit.passes.count
        if fit.passes.checkpoint is not None and self.certificate_.ok:
            fit.passes.checkpoint.remove()
        conclude(self, interrupt.requested)

    def _minimised(
        self,
        problem: LinearProblem,
        seed: int,
        part: str,
        limits: dict[str, Any],
        deadline: float = math.inf,
    ) -> Solution:
        """The solution of one of several problems that share their passes.

        ``deadline``: on the clock of :func:`time.perf_counter`, for all of them.
        """
        left = None if deadline == math.inf else max(deadline - time.perf_counter(), 1e-9)
        return minimise(
            problem,
            self._solver(problem),
            seed=seed,
            record=self.record,
            verbose=int(self.verbose),
            part=part,
            time_limit=left,
            **limits,
        )

    def _fit_with_callbacks(
        self, X: Any, y: Any, sample_weight: Any, design: Design, labels: Labels
    ) -> bool:
        """Fit, where nobody hears of the steps; ``X``, ``y`` and the weights as they were given."""
        return self._fit_encoded(design, labels)

    def _fit_encoded(
        self, design: Design, labels: Labels, warm_start: Continuation | None = None
    ) -> bool:
        """Fit, and keep what was found; whether Ctrl-C was pressed meanwhile."""
        self._prepare(design, labels)
        problems = self._problems(design, labels)
        seed = seed_of(self.random_state)
        # From here on there is something to keep: between two problems, and while it is kept, too.
        with Interrupt() as interrupt:
            solutions = self._solve(problems, seed, warm_start)
            self.classes_ = labels.classes
            self._keep(problems, solutions)
        return interrupt.requested

    def _solve(
        self,
        problems: list[tuple[str, LinearProblem]],
        seed: int,
        warm_start: Continuation | None = None,
    ) -> list[Solution]:
        limits = {**self._limits(), "time_limit": remaining(self.time_limit)}
        starts = self._starts(problems) if warm_start is None else None
        return self._solved(
            problems,
            seed,
            limits,
            record=self.record or self._has_callbacks,
            warm_start=warm_start,
            starts=starts,
        )

    def _starts(self, problems: list[tuple[str, LinearProblem]]) -> list[np.ndarray] | None:
        """Points of the fit before to start from, with ``warm_start``; by default none."""
        return None

    def _solved(
        self,
        problems: list[tuple[str, LinearProblem]],
        seed: int,
        limits: dict[str, Any],
        *,
        record: bool,
        warm_start: Continuation | None = None,
        starts: list[np.ndarray] | None = None,
    ) -> list[Solution]:
        """Solve the problems one after another, within a time limit for all of them.

        Along a path they start from where the fits before point to.
        """
        start = time.perf_counter()
        solutions: list[Solution] = []
        ended = False
        for done, (part, problem) in enumerate(problems):
            own = dict(limits)
            if ended:
                # The parts not reached yet stand at zero, with their own honest bounds.
                own["max_iter"] = 0
            if limits["time_limit"] is not None:
                left = limits["time_limit"] - (time.perf_counter() - start)
                own["time_limit"] = max(left, 0.0) / (len(problems) - done)
            if starts is not None:
                own["theta"] = starts[done]
            if problem.in_passes:
                problem.passes.part = part  # type: ignore[attr-defined]
            if warm_start is not None:
                problem.charge_share = ROUNDING_SHARE
                own.update(warm_start.start(done, problem))
            solution = minimise(
                problem,
                self._solver(problem),
                single=self._follows_dtype and problem.design.matrix.dtype == np.float32,
                seed=seed + done,
                record=record,
                verbose=int(self.verbose),
                part=part,
                **own,
            )
            ended = ended or solution.interrupted or solution.certificate.status == "callback"
            solutions.append(solution)
            if warm_start is not None:
                warm_start.add(done, problem, solution)
        return solutions

    def _record(self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]) -> None:
        """Keep the certificate, the formula and the trace."""
        keep_record(self, problems, solutions, self._limits()["tol"], self._each)

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
                with counting(None):
                    member._fit_encoded(run.design, labels, chain)
                if labels.absent:
                    member._know_absent(run.labels.classes)
                if j == 0:
                    whole = member
                member.time_limit = run.model.time_limit
                yield i, j, member

    def _know_absent(self, classes: np.ndarray) -> None:
        """Become a model of all classes, some of which had no row in the fit."""

    def _settle_as(self, whole: Any) -> None:
        """Take over what the fit to all rows has settled and a fold need not find anew."""

    # --- predict --------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The first class wins ties; for two classes, a point on the plane (score 0) belongs to
            ``classes_[0]``.
        """
        scores = self.decision_function(X)
        return self.classes_[winners(scores)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy: the share of the rows that are predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Row blocks contain their labels and weights.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if blocked.is_blocked(X):
            return blocked.accuracy_over(self, X, y, sample_weight)
        plain = sample_weight is None and type(y) is np.ndarray and y.ndim == 1 and len(y) > 0
        if plain and "classes_" in vars(self) and y.dtype.kind in "biuU":
            predicted = self.predict(X)
            if predicted.dtype.kind == y.dtype.kind and len(predicted) == len(y):
                # What scikit-learn checks besides takes it ten times as long.
                return float(np.count_nonzero(predicted == y) / len(y))
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def keep_record(
    model: Any,
    problems: Sequence[tuple[str, LinearProblem]],
    solutions: list[Solution],
    tol: float,
    each: str = "",
) -> None:
    """Keep the certificate, the formula and the trace of a fit.

    ``each``: what the formula says where there is more than one problem.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        solutions = [
            replace(s, certificate=replace(c, column=str(names[c.column])))
            if isinstance((c := s.certificate).column, int)
            else s
            for s in solutions
        ]
    if len(solutions) == 1:
        model.certificate_ = solutions[0].certificate
    else:
        parts = [s.certificate for s in solutions]
        seconds = sum(p.seconds for p in parts)
        model.certificate_ = Certificate.total(parts, tol=tol, seconds=seconds)
    each_counts = getattr(model, "_counts_each", False)
    counts = [s.certificate.n_iter for s in solutions]
    model.n_iter_ = np.array(counts, dtype=np.int32) if each_counts else max(counts)
    model.objective_formula_ = str(problems[0][1].formula()) + (each if len(problems) > 1 else "")
    vars(model).pop("trace_", None)
    if model.record:
        traces = tuple(s.trace for s in solutions)
        model.trace_ = traces[0] if len(traces) == 1 else traces


def conclude(model: Any, interrupted: bool) -> None:
    """Raise KeyboardInterrupt after Ctrl-C, and warn where the certificate is not good enough."""
    certificate = model.certificate_
    if certificate.status == "interrupted" or interrupted:
        raise KeyboardInterrupt(str(certificate))
    # A tolerance of None asks for all iterations, whatever they come to.
    if not certificate.ok and getattr(model, "tol", 0.0) is not None:
        warn(str(certificate), ConvergenceWarning)


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


def linear_scores(
    estimator: Any, X: Any, coef: np.ndarray, intercept: np.ndarray | float
) -> np.ndarray:
    """``X W' + b`` for the data of a prediction, which are read once.

    NaN and infinities in ``X`` are not looked for: they show in the scores, as finite weights
    hide none.  Only then does anything search for the first one.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    coef : ndarray or sparse matrix of shape (K, n_features)
    intercept : ndarray of shape (K,) or float

    Returns
    -------
    ndarray of shape (n_samples, K)
        Of float64; of float32 where both the data and the weights are.

    Raises
    ------
    ValueError
        For data that scikit-learn refuses, and NaN or infinity, named by row and column.
    """
    return scores_of(estimator, validate(estimator, X, finite=False), coef, intercept)


def scores_of(
    estimator: Any, matrix: Any, coef: np.ndarray, intercept: np.ndarray | float
) -> np.ndarray:
    """:func:`linear_scores` of a matrix that has been validated."""
    if coef.ndim != 2 or coef.shape[1] != matrix.shape[1]:
        # Attributes can be set by hand, and compiled loops follow the shape of the data.
        raise ValueError(
            f"The coef_ of this {type(estimator).__name__} has the shape {coef.shape}, which does "
            f"not match data of {matrix.shape[1]:,} columns (n_features_in_ is "
            f"{estimator.n_features_in_!r}); fit it again."
        )
    single = coef.dtype == np.float32
    if single or type(coef) is not np.ndarray:
        # Products and sums are taken in float64 whatever the data are.
        coef = dense(coef).astype(np.float64)
        intercept = np.asarray(intercept, dtype=np.float64)
    # So few entries BLAS gives to one thread by itself.
    few = matrix.size * len(coef) <= _FEW
    with (
        contextlib.nullcontext() if few else pool.bounded_blas(),
        np.errstate(over="ignore", under="ignore", invalid="ignore"),
    ):
        scores, total = as_design(matrix).scores(coef, intercept)
    # Some BLAS pass over weights of zero, where an infinity would show as NaN.
    if not (math.isfinite(total) and (coef.all() or sp.issparse(matrix))):
        require_finite(matrix, getattr(estimator, "feature_names_in_", None))
    return scores.astype(np.float32) if single and matrix.dtype == np.float32 else scores


def narrowed(
    coef: np.ndarray, intercept: np.ndarray, design: Design
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts as float32, where the data are, and that loses nothing."""
    if design.matrix.dtype == np.float32:
        narrow = coef.astype(np.float32), intercept.astype(np.float32)
        if np.array_equal(narrow[0], coef) and np.array_equal(narrow[1], intercept):
            return narrow
    return coef, intercept


def column_names(model: Any) -> list[str]:
    """The names of a fitted model's columns; ``x0``, ``x1``, ... where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]


def winners(scores: np.ndarray) -> np.ndarray:
    """Class numbers from scores: the one place where ties are decided."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.intp)
    return scores.argmax(axis=1)


def agreeing(proba: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """Lift the winner's probability by an ulp where rounding made it tie or lose."""
    rows = np.arange(len(proba))
    others = proba.copy()
    others[rows, winner] = -np.inf
    best = others.max(axis=1)
    tied = proba[rows, winner] <= best
    proba[rows[tied], winner[tied]] = np.nextafter(best[tied], 2.0)
    return proba
