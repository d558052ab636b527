"""The one sequence of a fit that minimises: check, encode, compose, solve, keep, conclude."""

from __future__ import annotations

import copy
import math
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix._compiled import pool
from separatrix.certificate import Certificate
from separatrix.data.design import Design, dense
from separatrix.data.labels import Labels
from separatrix.data.targets import TrainingRows, bounded_numbers
from separatrix.exceptions import warn
from separatrix.models import blocked
from separatrix.models.callbacks import followed
from separatrix.models.limits import (
    CERTIFIED_GAP,
    counted,
    deadline_of,
    seconds_to,
    shared_deadline,
)
from separatrix.models.parameters import Parameters, fitted, parameter
from separatrix.models.pickled import packed, unpacked
from separatrix.models.predicting import Predicting
from separatrix.models.scores import narrowed
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.formula import Formula
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Interrupt, Solution, lent_interrupt, minimise, watched
from separatrix.solvers.protocol import Solver
from separatrix.solvers.warm_starts import ROUNDING_SHARE, Continuation

#: The parameters of iterative methods, without which equations are solved.
NOT_ITERATED = ("max_iter", "tol", "time_limit", "verbose", "record")

#: The target of a fit: labels or numbers, with the weights of the rows.
Target = Labels | TrainingRows

Problems = Sequence[tuple[str, Any]]

# A part, its problem, a point of it in the coordinates of the data, and the weights of its rows.
Claimed = tuple[str, LinearProblem, np.ndarray, np.ndarray | None]


@dataclass(eq=False)
class FitContext:
    """A fit under way: its data, and how it goes.

    It is passed along, so that an estimator holds its parameters and what was found, and nothing
    else.

    Attributes
    ----------
    design : Design or None
        The rows in memory.
    target : Labels or TrainingRows or None
        The target of the rows in memory.
    blocks : InPasses or None
        The rows in blocks, which then stand for the design and the target as well.
    shared : object
        Data that fits to the same rows share, as the matrix of a kernel; None before the first fit.
    begin : tuple
        The weights and the intercept to start from, as the caller gave them.
    chain : Continuation or None
        The fits before this one, along a path.
    starts : sequence of dict or None
        The start of each problem: options of :func:`~separatrix.solvers.driver.minimise`.
    record : bool or None
        Whether to keep a trace; None is as the estimator says.
    seed : int
        The seed of the first problem; the others have those after it.
    deadline : float
        The end of the time limit, on the clock of :func:`time.perf_counter`.
    begun : float
        The start of the fit, on the same clock.
    """

    design: Any = None
    target: Any = None
    blocks: blocked.InPasses | None = None
    shared: Any = None
    begin: tuple[Any, Any] = (None, None)
    chain: Continuation | None = None
    starts: Sequence[dict[str, Any]] | None = None
    record: bool | None = None
    seed: int = 0
    deadline: float = math.inf
    begun: float = field(default_factory=time.perf_counter)


class Certified(Parameters, metaclass=ABCMeta):
    """An estimator that minimises one objective or several, each with a certificate.

    Subclasses say what their target is, which problems it makes, by which solver they are solved
    and what is kept of the solutions; the sequence is here, once.
    """

    _several: ClassVar[Any] = False
    _predicted_classes = Predicting._predicted_classes
    _scores, _winner = Predicting._scores, Predicting._winner
    _probabilities, _reported = Predicting._probabilities, Predicting._reported
    _prediction = Predicting._prediction

    max_iter: int = parameter(
        default=1000,
        minimum=1,
        integer=True,
        meaning="the limit of iterations of the method, `{default}` by default",
    )
    tol: float = parameter(default=1e-6, above=0, meaning=CERTIFIED_GAP)
    time_limit: float | None = parameter(default=None, above=0)
    verbose: int = parameter(default=0, meaning="1 prints the checks of the certificate to stderr")
    record: bool = parameter(default=False)

    # Whether ``n_iter_`` is an array of one number for each problem, as scikit-learn's is.
    _counts_each = False
    # Whether weights are float32 where the data are, as scikit-learn's are.
    _follows_dtype = False
    # The text of the formula where there is more than one problem.
    _each = ""
    # Whether its problems are equations, which a few passes over the rows solve: these find all
    # facts about the targets, leave no checkpoint, and there is nothing to keep before their end.
    _in_closed_form = False
    # Whether a fit in passes continues from a checkpoint.
    _resumes = True
    # Whether a fit warns where its certificate is above the tolerance.
    _warns = True

    certificate_: Any = fitted()

    # Attributes that no method needs, or that are computed anew where the data are given.
    _left_out: ClassVar[tuple[str, ...]] = ()
    # Arrays that are as long as the data, and mostly zero.
    _mostly_zero: ClassVar[tuple[str, ...]] = ()

    # --- what a model supplies --------------------------------------------------------------

    @abstractmethod
    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Any]:
        """Check the data of a fit; the rows and the target."""

    @abstractmethod
    def _problems(self, design: Design, target: Any) -> Problems:
        """The problems, each with the name of its part."""

    @abstractmethod
    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        """Set the fitted attributes; calls :meth:`_record`."""

    def _settled(self, fit: FitContext) -> Problems:
        """Settle what depends on the data and outlives the fit; the problems to solve."""
        return self._problems(fit.design, fit.target)

    @property
    def _factor(self) -> float | None:
        """The factor of the solved objective where it is printed.

        It is the strength of the penalty where that is given as ``lam`` or ``alpha``.
        """
        lam, alpha = getattr(self, "lam", None), getattr(self, "alpha", None)
        if lam is None and isinstance(alpha, float | int):
            lam = alpha * getattr(self, "_sklearn_factor", 1.0)
        return None if lam is None else float(lam)

    def _solver(self, problem: Any) -> Solver:
        return select_solver(problem)

    def _limits(self) -> dict[str, Any]:
        """``tol``, ``max_iter`` and the status of reaching it, for the driver."""
        return {"tol": self.tol, "max_iter": self.max_iter}

    def _seed(self) -> int:
        """The seed of methods that visit rows at random."""
        return 0

    def _finished(self, problems: Problems, solutions: list[Solution]) -> list[Solution]:
        """Post-process the solutions; by default they stay as they are."""
        return solutions

    @property
    def _has_callbacks(self) -> bool:
        """Whether callbacks follow the fit step by step."""
        return bool(getattr(self, "_skl_callbacks", None))

    # --- the sequence -----------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
        begin: tuple[Any, Any] = (None, None),
    ) -> FitContext:
        """Fit to rows in memory, or in blocks, from a checkpoint where there is one."""
        fit = begun(self, X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        fit.begin = begin
        if fit.blocks is not None or not self._has_callbacks:
            interrupted = self._run(fit)
        else:
            # A callback is given the point of each step, which the trace has.
            fit.record = True
            given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            interrupted = followed(self, lambda: self._run(fit), fit.target.classes, **given)
        file = None if fit.blocks is None else fit.blocks.passes.checkpoint
        if file is not None and self.certificate_.ok:
            file.remove()
        conclude(self, interrupted)
        return fit

    def _run(self, fit: FitContext) -> bool:
        """Solve the problems, and keep what was found; whether Ctrl-C was pressed meanwhile."""
        problems = self._settled(fit)
        fit.seed = self._seed()
        if self._in_closed_form:
            self._solve_and_keep(problems, fit)
            return False
        # From here on there is something to keep: between two problems, and while it is kept, too.
        with Interrupt() as interrupt:
            fit.deadline = deadline_of(self.time_limit)
            self._solve_and_keep(problems, fit)
        return interrupt.requested

    def _solve_and_keep(self, problems: Problems, fit: FitContext) -> None:
        self._keep_fit(fit, problems, self._finished(problems, self._solve(problems, fit)))
        if fit.blocks is not None:
            self.n_passes_ = fit.blocks.passes.count

    def _starts(self, problems: Problems, fit: FitContext) -> Sequence[dict[str, Any]] | None:
        """The starts of the problems, as options of ``minimise``; None is zero."""
        if fit.blocks is not None:
            points = blocked.starts(fit.blocks, list(problems))
        elif getattr(self, "warm_start", False) and "coef_" in vars(self):
            outputs = sum(p.output_shape[0] if p.output_shape else 1 for _, p in problems)
            # With other columns or targets there is nothing to start from.
            shape = np.atleast_2d(dense(self.coef_)).shape
            same = shape == (outputs, problems[0][1].design.n_features)
            points = self._points(problems) if same else None
        else:
            return None
        return None if points is None else [{"theta": point} for point in points]

    def _solve(self, problems: Problems, fit: FitContext) -> list[Solution]:
        """Solve the problems one after another, within a time limit for all of them.

        Along a path they start from the points that the fits before suggest.  Those whose passes
        can be common are solved at once, and large ones side by side.
        """
        limits, starts = self._limits(), fit.starts
        if starts is None and fit.chain is None:
            starts = self._starts(problems, fit)
        if fit.blocks is not None and len(problems) > 1 and blocked.share(problems):
            jobs = [
                partial(
                    self._minimised,
                    problem,
                    fit.seed + k,
                    part,
                    limits if starts is None else {**limits, **starts[k]},
                    fit.deadline,
                )
                for k, (part, problem) in enumerate(problems)
            ]
            size, names = math.prod(problems[0][1].shape), [part for part, _ in problems]
            return blocked.together(fit.blocks, jobs, size, names)
        return self._solved_in_turn(problems, fit, limits, starts)

    def _solved_in_turn(
        self,
        problems: Problems,
        fit: FitContext,
        limits: dict[str, Any],
        starts: Sequence[dict[str, Any]] | None,
    ) -> list[Solution]:
        """The solutions of problems that are begun in their order, one on each thread at a time."""
        solutions: list[Solution | None] = [None] * len(problems)
        threads = self._threads_for(problems, fit)

        def solve(k: int) -> None:
            part, problem = problems[k]
            own = dict(limits) if starts is None else {**limits, **starts[k]}
            if any(s and (s.interrupted or s.certificate.status == "callback") for s in solutions):
                # The parts not reached yet stand at their starts, with their own honest bounds.
                own["max_iter"] = 0
            if problem.in_passes:
                problem.passes.part = part
            solver = self._solver(problem)
            if fit.chain is not None:
                problem.charge_share = ROUNDING_SHARE
                own.update(fit.chain.start(k, problem))
                solver = fit.chain.method(k, solver)
            deadline = shared_deadline(fit.deadline, math.ceil((len(problems) - k) / threads))
            at = own, deadline, fit.record, solver
            solutions[k] = solution = self._minimised(problem, fit.seed + k, part, *at)
            if fit.chain is not None:
                fit.chain.add(k, problem, solution, solver)

        if threads == 1:
            for k in range(len(problems)):
                solve(k)
        else:
            left = iter(range(len(problems)))

            def solve_those_left() -> None:
                with pool.one_after_another():
                    for k in left:
                        solve(k)

            # BLAS has one thread from before the first problem until after the last.
            with lent_interrupt(), pool.one_blas_thread():
                contexts = [copy_context() for _ in range(threads)]
                pool.run([partial(context.run, solve_those_left) for context in contexts])
        return [s for s in solutions if s is not None]

    def _threads_for(self, problems: Problems, fit: FitContext) -> int:
        """The number of problems that are solved side by side; one has all threads for its parts.

        Work is split into the same parts either way, so no bit depends on it.
        """
        design = problems[0][1].design
        # Kernel machines share the rows of their matrix that are in memory.
        if fit.blocks is not None or fit.chain is not None or not isinstance(design, Design):
            return 1
        if design.n_stored < pool.tuned.now.parallel_work or watched() or self.verbose:
            return 1
        # A method that the caller made is one object, which may keep what it learns.
        if not isinstance(getattr(self, "solver", ""), str):
            return 1
        # Each holds what its method does, such as a Hessian, so there are not too many at a time.
        threads = min(pool.threads_here(), pool.tuned.now.parts)
        return threads if threads <= len(problems) else 1

    def _minimised(
        self,
        problem: Any,
        seed: int | None,
        part: str,
        limits: dict[str, Any],
        deadline: float = math.inf,
        record: bool | None = None,
        solver: Solver | None = None,
    ) -> Solution:
        """The solution of one problem.

        ``deadline``: on the clock of :func:`time.perf_counter`; ``solver``: by default the one
        that suits the problem.
        """
        return minimise(
            problem,
            solver or self._solver(problem),
            seed=seed,
            single=self._follows_dtype and problem.design.matrix.dtype == np.float32,
            record=self.record if record is None else record,
            verbose=int(self.verbose),
            part=part,
            time_limit=seconds_to(deadline),
            **limits,
        )

    def _weights(
        self, problems: Problems, solutions: list[Solution]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weights (h, d) and the intercepts (h,) of the solutions, in the kept precision."""
        found = solution_values(problems, solutions)
        return narrowed(*found, problems[0][1].design) if self._follows_dtype else found

    def _record(self, problems: Problems, solutions: list[Solution]) -> None:
        """Keep the certificate, the formula and the trace."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            solutions = [
                replace(s, certificate=replace(c, column=str(names[c.column])))
                if isinstance((c := s.certificate).column, int)
                else s
                for s in solutions
            ]
        if len(solutions) == 1:
            self.certificate_ = solutions[0].certificate
        else:
            parts = [s.certificate for s in solutions]
            seconds = sum(p.seconds for p in parts)
            self.certificate_ = Certificate.total(parts, tol=self._limits()["tol"], seconds=seconds)
        counts = [s.certificate.n_iter for s in solutions]
        self.n_iter_: Any = np.array(counts, dtype=np.int32) if self._counts_each else max(counts)
        each = self._each if len(problems) > 1 else ""
        formula = problems[0][1].formula()
        factor = self._factor
        if factor and isinstance(formula, Formula) and formula.penalty:
            formula = replace(formula, scale=factor)
            self.certificate_ = self.certificate_.in_units(factor)
        self.objective_formula_ = str(formula) + each
        self.__dict__.pop("trace_", None)
        if self.record:
            traces = tuple(s.trace for s in solutions)
            self.trace_: Any = traces[0] if len(traces) == 1 else traces

    # --- in passes --------------------------------------------------------------------------

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        """The reason why the model or its parameters forbid a fit in passes; None if they allow it.

        ``n_classes``: the number of classes of the target, as far as it is known.
        """
        return None

    def _blocked_claims(
        self, data: Any, engine: Any
    ) -> list[tuple[str, LinearProblem, np.ndarray, Solver]]:
        """:meth:`_claims` over row blocks, with the solver of each."""
        fit = begun_again(self, data, None, None, engine)
        assert fit.blocks is not None
        # A fit settles things on its way.
        other = fit.blocks.model
        problems = other._settled(fit)
        points = other._points(problems)
        return [
            (part, problem, point, other._solver(problem))
            for (part, problem), point in zip(problems, points, strict=True)
        ]

    # --- what the fit claims ----------------------------------------------------------------

    def _claims(self, design: Design, target: Any) -> list[Claimed]:
        """The problems that the fitted model claims to solve, from the training data."""
        problems = self._problems(design, target)
        return [
            (part, problem, point, target.weights)
            for (part, problem), point in zip(problems, self._points(problems), strict=True)
        ]

    def _points(self, problems: Problems) -> list[np.ndarray]:
        """The weights and intercepts of the fit, as points of problems."""
        coef = np.atleast_2d(dense(self.coef_)).astype(np.float64, copy=False)
        levels = np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64))
        if len(problems) == 1 and problems[0][1].output_shape:
            return [problems[0][1].join(coef.T, levels)]
        return [p.join(coef[k], levels[k]) for k, (_, p) in enumerate(problems)]

    # --- copies -----------------------------------------------------------------------------

    def _made_again(self) -> dict[str, Any]:
        """Attributes as they follow from the others; those that agree are not pickled."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return packed(self, super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(unpacked(state))
        for name, value in self._made_again().items():
            self.__dict__.setdefault(name, value)

    def __copy__(self) -> Any:
        # Copies in memory have all attributes.
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        out = type(self).__new__(type(self))
        memo[id(self)] = out
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out


@counted
def fit(
    self: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    engine: Any = None,
    checkpoint: Any = None,
) -> Any:
    """Fit to training data.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        Float32 and float64, dense of any strides or CSR, are used without a copy; other types
        are converted once to float64, other sparse formats to CSR. Sums are float64. Row blocks
        of :func:`separatrix.scale.scan` are fitted in passes; they contain their labels or
        numbers, and their weights.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        For a classifier labels: numbers, strings or booleans. Where a
        :class:`~separatrix.RidgeClassifier` is fitted to rows of several labels, 1 for each
        label of the row and 0 for the others. For a regression numbers; least squares and
        elastic nets take several targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0; a weight of k is the same as k copies of the row.
    engine : separatrix.scale.Engine, optional
        The engine of the passes over row blocks; by default the threads of this process.
    checkpoint : path, optional
        For row blocks: a file in which every pass saves its state. A fit that finds its own
        file continues from it, and removes it at the end. Where equations are solved it is
        refused, because the fit needs only a few passes.

    Returns
    -------
    self

    Raises
    ------
    ValueError
        For bad parameters, NaN or infinity (named by row and column), one class only, more
        targets than the model has, or too few rows for ``covariance="unbiased"``.
    KeyboardInterrupt
        On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

    Warns
    -----
    ConvergenceWarning
        If the certificate is above its tolerance; the text is the certificate.
    LinAlgWarning
        Where equations are solved, if columns depend on one another and no penalty decides; the
        text says which. For Gaussian classes also if a covariance is singular, named by column
        and class with the remedy; it is then given a floor, see ``floored_``.
    """
    self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
    return self


def begun(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    engine: Any = None,
    checkpoint: Any = None,
    groups: Any = None,
) -> FitContext:
    """A fit whose parameters and data have been checked, of rows in memory or in blocks."""
    in_blocks = blocked.in_blocks(X, y, sample_weight, engine, checkpoint)
    model._check_parameters()
    fit = FitContext()
    if in_blocks:
        blocked.require_alone(None, None, groups)
        fit.blocks = fit.design = fit.target = blocked.begin(model, X, engine, checkpoint)
    else:
        fit.design, fit.target = bounded(*model._rows(X, y, sample_weight))
    return fit


def begun_again(model: Any, X: Any, y: Any, sample_weight: Any, engine: Any) -> FitContext:
    """The fit of a fitted model, set up anew from the training data; of row blocks, of a copy."""
    fit = FitContext()
    if blocked.is_blocked(X):
        blocked.require_same(model, X)
        fit.blocks = fit.design = fit.target = blocked.begin(copy.copy(model), X, engine)
    else:
        fit.design, fit.target = bounded(*model._rows_again(X, y, sample_weight))
    return fit


def bounded(design: Design, target: Any) -> tuple[Design, Any]:
    """The rows and the target of a fit with zeros where squares of what has no weight overflow."""
    rows = design.bounded(target.weights)
    if isinstance(target, TrainingRows):
        numbers = bounded_numbers(target.targets, target.weights)
        matrix = target.matrix if rows is design else rows.matrix
        target = target._replace(matrix=matrix, targets=numbers)
    return rows, target


def solution_values(problems: Problems, solutions: list[Solution]) -> tuple[np.ndarray, np.ndarray]:
    """The weights (h, d) and the intercepts (h,) of some solutions."""
    coef: list[np.ndarray] = []
    intercept: list[float] = []
    for (_, problem), solution in zip(problems, solutions, strict=True):
        weights = problem.weights_of(solution.theta)
        coef += [*weights.T.reshape(-1, len(weights))]
        intercept += np.ravel(problem.intercept_of(solution.theta)).tolist()
    # Contiguous and owned: a view would keep the whole point alive.
    return np.array(coef), np.array(intercept)


def conclude(model: Any, interrupted: bool) -> None:
    """Raise KeyboardInterrupt after Ctrl-C, and warn where the certificate is not good enough."""
    certificate = model.certificate_
    if certificate.status == "interrupted" or interrupted:
        raise KeyboardInterrupt(str(certificate))
    # A tolerance of None requests all iterations, whatever they come to.
    if not certificate.ok and model._warns and getattr(model, "tol", 0.0) is not None:
        warn(str(certificate), ConvergenceWarning)
