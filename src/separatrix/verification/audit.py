"""Certificates for fitted models, this library's and scikit-learn's.

A model claims to minimise an objective; each claim is read from the model's class and
parameters, in that library's own convention (the factors of loss and penalty, whether the intercept
is penalised), and the model's weights are judged by it.  A model with a closed form claims to solve
equations; they are set up anew from the data, and the residuals of its numbers are evaluated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from separatrix._compiled.rounding import UNIT
from separatrix.certificate import (
    NO_OPTIMUM,
    Certificate,
    ResidualCertificate,
    RigorousCertificate,
    outward,
)
from separatrix.closed_form.least_squares import certify
from separatrix.closed_form.normal_equations import LeastSquaresProblem, for_all_targets
from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import Labels, class_factors, encode_as
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import check_number, sample_weight_of, validate
from separatrix.geometry.exact.deadline import Deadline
from separatrix.kernels.functions import (
    CallableKernel,
    Kernel,
)
from separatrix.kernels.objective import KernelHardMarginObjective, KernelObjective
from separatrix.losses import LogLoss, Loss, SquaredError, loss_of
from separatrix.messages import Message
from separatrix.models.blocked import is_blocked, refuse, require_alone
from separatrix.models.certified import Claimed, begun_again, bounded
from separatrix.models.discriminant import certify_classes, moments_of_classes
from separatrix.models.kernel_machine import resolved_kernel
from separatrix.models.registry import ESTIMATORS, estimator
from separatrix.models.regressor import bounds_of, rows_of_fit
from separatrix.models.svc import SVC
from separatrix.models.training_data import other_data, require_classes, require_rows
from separatrix.objectives.base import Bound, LinearProblem
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.objectives.penalties import L1, L2, NoPenalty, Penalty, penalty_of
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Solution, minimise
from separatrix.solvers.protocol import Solver
from separatrix.verification.exact_numbers import quotient

# A placeholder for the solver that :func:`_solver` has for the problem.
_BY_PROBLEM: Any = object()


@dataclass(frozen=True)
class _Claim:
    """One problem that a model claims to solve, in multiples of ``scale``."""

    part: str
    problem: LinearProblem
    theta: np.ndarray
    scale: Fraction = Fraction(1)
    # The numbers for exact arithmetic, where the problem holds rounded ones: the point in the
    # coordinates of the data as they are, the weights of the rows, and numbers that are quotients.
    given: np.ndarray | None = None
    weights: np.ndarray | None = None
    C: Fraction | None = None
    tau: Fraction | None = None
    last: Fraction | None = None
    # For a last weight that is an intercept over a number, where that quotient is rounded: the same
    # objective without that weight's penalty, the point with the intercept as it is, and an upper
    # bound of the penalty.
    without: tuple[MarginObjective, np.ndarray, float] | None = None
    # The solver for a tighter bound, or None for no solver.
    solver: Any = _BY_PROBLEM


def verify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    tol: float | None = None,
    time_limit: float | None = None,
    rigorous: bool = False,
    engine: Any = None,
) -> Certificate | ResidualCertificate:
    """Certify how far a fitted model is from the optimum of the objective it claims to minimise.

    The objective is evaluated at the model's weights, from scratch and in float64.  The lower
    bound comes from the slopes of the loss there, for a machine with a kernel from the model's own
    dual coefficients; where it is not tight enough, the problem is solved anew, which gives a
    bound that is.  For a model with a closed form (least squares, Gaussian discriminants) the
    residual of its equations is evaluated.

    Parameters
    ----------
    model : estimator
        A fitted model: any of this library's but ``DecisionStump``; scikit-learn's
        ``LogisticRegression``, ``LinearSVC``, ``SVC``, ``SGDClassifier`` (losses ``log_loss``,
        ``hinge``, ``squared_hinge``), ``SGDRegressor``, ``RidgeClassifier``, ``HuberRegressor``,
        ``PoissonRegressor``,
        ``LinearRegression``, ``Ridge``, ``Lasso``, ``ElasticNet`` and their CVs,
        ``LinearDiscriminantAnalysis`` or ``QuadraticDiscriminantAnalysis``; or a pipeline that
        ends in one of them.  An ``SVC`` with an approximation is held to the approximate problem.
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        The training data; for a precomputed kernel its matrix, shape (n_samples, n_samples).  Row
        blocks, of :func:`separatrix.scale.scan`, are read in passes, for models of this
        library that can be fitted to them.
    y : array-like of shape (n_samples,)
        The training labels, or the targets of a regression.
    sample_weight : array-like of shape (n_samples,), optional
        The training weights.
    tol : float, optional
        The relative gap that counts as optimal; default: the model's own for this library's
        models, else 1e-6.  For a closed form the relative residual, by default 1e-8, or the
        tolerance of its fit if that is larger.
    time_limit : float, optional
        The seconds for finding the bound; the bound that is reached by then is reported.
    rigorous : bool, default=False
        Whether to prove it without rounding, which needs no theorem about float64: both sides in
        integers and, where there are exponentials or logarithms, in balls (Arb), at a dual point
        that is feasible exactly.  Data, weights, ``C`` and the numbers of a kernel are taken as
        the float64 numbers that they are.  It takes seconds to minutes, and needs python-flint:
        ``pip install "separatrix[exact]"``.
    engine : separatrix.scale.Engine, optional
        The engine that reads row blocks.

    Returns
    -------
    Certificate, or ResidualCertificate for a closed form
        Its status is ``"optimal"`` or ``"above_tol"``; or ``"separable"``,
        ``"quasi_separable"`` or ``"unattained"``, where without a penalty there is no finite
        optimum; or ``"indefinite"``, where the kernel is no scalar product, so that no bound holds,
        and the model is stationary to ``tol``.  ``primal`` is in the model's own convention.  For
        more than two classes an ``SVC`` has one part for each pair of them.

        With ``rigorous=True`` a ``RigorousCertificate``, whose ``interval`` holds the exact
        optimum.  Its status is ``"optimal"``, ``"above_tol"`` or ``"time_limit"``;
        ``"not_separable"`` where that is proved for a hard margin; or ``"indefinite"``, and there
        is no bound, where a precomputed, callable or sigmoid kernel, or a polynomial one with
        ``coef0 < 0``, is not proved to be positive semidefinite.  That needs the matrix to be so
        exactly, which one with eigenvalues of the size of rounding need not be; for more than
        600 rows it is not tried.

    Raises
    ------
    TypeError
        For a model whose objective is not known here.
    ValueError
        For data that do not fit the model (for a machine with a kernel: that are not those it was
        trained on), or a penalty of an ``SGDClassifier`` other than L2; with ``rigorous=True``
        for a closed form, and for more than 400 weights without a penalty.
    ImportError
        For ``rigorous=True`` without python-flint.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from separatrix import verify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> verify(RidgeClassifier().fit(X, y), X, y).status
    'optimal'

    The default tolerance of scikit-learn's ``SVC``, 1e-3, is about a slope; the relative gap at
    that tolerance:

    >>> from sklearn.svm import SVC
    >>> found = verify(SVC(C=10.0).fit(X, y), X, y)
    >>> found.status, bool(1e-6 < found.relative_gap < 1e-2)
    ('above_tol', True)

    The same verification in exact arithmetic, which needs ``separatrix[exact]``:

    >>> proof = verify(SVC(C=10.0, tol=1e-9).fit(X, y), X, y, rigorous=True)
    >>> proof.status, proof.interval
    ('optimal', ('1014.53...', '1014.53...'))
    """
    start = time.perf_counter()
    if rigorous:
        # This is checked before anything takes time.
        from separatrix.verification import exact, exact_numbers

        exact_numbers.require_balls()
    if tol is not None:
        check_number("tol", tol, above=0)
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    _require_no_intercept(model)
    if is_blocked(X):
        require_alone(y, sample_weight)
        if rigorous:
            raise refuse(model, "exact arithmetic needs all rows at once: leave out rigorous")
        return _over_blocks(model, X, engine, tol, time_limit, start)
    closed = _closed_form(model)
    if closed is not None:
        check_is_fitted(model)
        if rigorous:
            raise exact.NotOffered(Message("exact_equations", model=type(model).__name__))
        own = max(_CLOSED_TOL, getattr(model, "_tolerance", 0.0))
        return closed(X, y, sample_weight, own if tol is None else tol)
    reader = _reader(model)
    check_is_fitted(model)
    if not all(np.all(np.isfinite(weights)) for weights in _weights(model)):
        raise ValueError(f"The weights of {type(model).__name__} hold NaN or infinity.")
    matrix = validate(model, X)
    sample_weight = sample_weight_of(sample_weight, matrix)
    design = as_design(matrix).merged()
    data: Any
    if is_regressor(model):
        design, data = bounded(design, rows_of_fit(model, X, y, sample_weight))
    elif is_outlier_detector(model):
        data = TrainingRows.of(matrix, np.zeros(matrix.shape[0]), sample_weight)
        design, data = bounded(design, data)
    else:
        design = design.bounded(sample_weight)
        data = _data(model, y, matrix.shape[0], sample_weight)
    claims = reader(model, design, data)
    if tol is None:
        own = getattr(model, "certificate_", None)
        tol = own.tol if isinstance(own, Certificate) else 1e-6
    judged = (
        _rigorous(claims, design, tol, time_limit, start)
        if rigorous
        else _judged(claims, tol, time_limit, start)
    )
    return _printed_as(model, judged)


def _require_no_intercept(model: Any) -> None:
    """Raise ValueError for an intercept of a model whose objective has none."""
    level = np.ravel(getattr(model, "intercept_", 0.0))
    if not getattr(model, "fit_intercept", True) and np.any(level != 0.0):
        raise ValueError(
            f"{type(model).__name__} has fit_intercept=False, and its intercept_ is "
            f"{level[np.argmax(level != 0.0)]:g}; an objective without an intercept cannot have "
            "this point."
        )


def _over_blocks(
    model: Any, data: Any, engine: Any, tol: float | None, time_limit: float | None, start: float
) -> Certificate | ResidualCertificate:
    """The certificate of :func:`verify`, in passes over row blocks."""
    check_is_fitted(model)
    if getattr(model, "_in_closed_form", False):
        own = max(_CLOSED_TOL, getattr(model, "_tolerance", 0.0))
        tol = own if tol is None else tol
        return _own_equations(model, data, None, None, tol, engine)
    claimed = getattr(model, "_blocked_claims", None)
    if claimed is None:
        raise TypeError(Message("blocks_as_matrix", model=type(model).__name__))
    claims = []
    for part, problem, theta, solver in claimed(data, engine):
        own = _BY_PROBLEM
        if isinstance(problem, MistakeObjective):
            # Mistakes have no lower bound but zero.
            own = None
        elif problem.penalty.kinked or not problem.smooth:
            own = solver
        claims.append(_Claim(part, problem, theta, solver=own))
    tol = model.certificate_.tol if tol is None else tol
    return _printed_as(model, _judged(claims, tol, time_limit, start))


def _printed_as(model: Any, found: Certificate) -> Certificate:
    """The certificate in the units in which the model's own is printed."""
    scale = getattr(getattr(model, "certificate_", None), "scale", 1.0)
    return found if scale == 1.0 else found.in_units(scale)


def _judged(
    claims: list[_Claim], tol: float, time_limit: float | None, start: float
) -> Certificate:
    """The certificate of all claims."""
    parts = []
    for done, claim in enumerate(claims):
        left = None
        if time_limit is not None:
            left = max(time_limit - (time.perf_counter() - start), 0.0) / (len(claims) - done)
        parts.append(_judge(claim, tol, left))
    whole = (
        parts[0]
        if len(parts) == 1
        else Certificate.total(parts, tol=tol, seconds=time.perf_counter() - start)
    )
    without = [p.status for p in parts if p.status in NO_OPTIMUM]
    failed = {p.status for p in parts} - {"optimal"}
    reason = without[0] if without else "above_tol"
    status = "optimal" if whole.relative_gap <= tol else reason
    if failed in ({"indefinite"}, {"vanishing"}):
        (status,) = failed
    return replace(whole, status=status, seconds=time.perf_counter() - start)


def _weights(model: Any) -> list[np.ndarray]:
    """The numbers from which a model's predictions are computed."""
    # scikit-learn's kernel machines have a coef_ that raises unless the kernel is linear.
    dual = hasattr(model, "dual_coef_") and hasattr(model, "support_vectors_")
    weights = model.dual_coef_ if dual else model.coef_
    return [weights.data if sp.issparse(weights) else weights, model.intercept_]


def _judge(claim: _Claim, tol: float, time_limit: float | None) -> Certificate:
    problem, theta = claim.problem, claim.theta
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # Huge weights overflow; the certificate then states that nothing is known.
        first = problem.bound(theta)
        bound = problem.certify(theta, first, tol, first)
        if claim.without is not None:
            bound = _at_the_quotient(bound, *claim.without, tol)
    primal, dual, gap, n_iter = bound.primal, bound.dual, bound.gap, 0
    reason = "above_tol"
    solver = _solver(problem) if claim.solver is _BY_PROBLEM else claim.solver
    if isinstance(problem, KernelObjective | KernelHardMarginObjective) and not problem.convex:
        reason, solver = _stationary(problem, theta, tol), None
    if gap <= tol * abs(primal):
        solver = None
    deadline = None if time_limit is None else time.perf_counter() + time_limit

    def left() -> float | None:
        return None if deadline is None else max(deadline - time.perf_counter(), 0.0)

    for solution in _solutions(problem, solver, theta, first.residual, tol, left):
        n_iter += solution.certificate.n_iter
        if solution.certificate.status in NO_OPTIMUM:
            reason = solution.certificate.status
        if solution.certificate.dual > dual:
            dual = solution.certificate.dual
            gap = max(primal - dual, 0.0)
        worse = primal - solution.certificate.primal > tol * abs(primal)
        if worse or solution.certificate.status != "optimal" or gap <= tol * abs(primal):
            break
    if reason == "above_tol" and gap > tol * abs(primal):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            vanished = problem.has_vanished(theta, primal, tol)
        reason = "vanishing" if vanished else reason
    found = Certificate.of(
        primal=_scaled(claim, primal, up=True),
        dual=_scaled(claim, dual, up=False),
        gap=_scaled(claim, gap, up=True),
        tol=tol,
        status="optimal",
        n_iter=n_iter,
    )
    return found if found.relative_gap <= tol else replace(found, status=reason)


def _scaled(claim: _Claim, value: float, up: bool) -> float:
    """A number in the units of the model's own objective, rounded up or down."""
    return outward(claim.scale * Fraction(value), up) if math.isfinite(value) else value


def _solutions(
    problem: LinearProblem,
    solver: Solver | None,
    theta: np.ndarray,
    residual: np.ndarray | None,
    tol: float,
    left: Callable[[], float | None],
) -> Iterator[Solution]:
    """Ever tighter fits of a problem, each from the end of the one before it.

    Without a solver there are none.  ``residual`` is the dual point of ``theta``, and ``left``
    gives the seconds for the next fit.
    """
    if solver is None:
        return
    if isinstance(problem, KernelObjective | KernelHardMarginObjective):
        # The solver stays within the constraints of the dual, so it must start there.
        start = np.zeros_like(theta) if residual is None else -residual
        theta = problem.join(start[: len(problem.y)], problem.intercept_of(theta))
    # The tolerance is a tenth of the given one: the bound's own slack must not decide the verdict.
    # It is tightened where the slack still could, because the model is that close to the last fit.
    for share in (0.1, 0.01, 0.001):
        solution = minimise(
            problem,
            solver,
            tol=share * tol,
            max_iter=100_000,
            time_limit=left(),
            theta=theta,
            seed=0,
        )
        theta = solution.theta
        yield solution


def _at_the_quotient(
    bound: Bound, problem: MarginObjective, theta: np.ndarray, penalty: float, tol: float
) -> Bound:
    """The bound of a rounded point with the objective of the true one, see :class:`_Claim`.

    Scores are large sums that cancel: one unit in the quotient's last digit can be many in that of
    the objective.
    """
    primal = problem.certify(theta, Bound(np.inf, 0.0, np.inf), tol).primal + penalty
    primal *= 1.0 + 4.0 * UNIT
    gap = max(primal - bound.dual, 0.0) if primal < np.inf else np.inf
    return replace(bound, primal=primal, gap=gap)


def _rigorous(
    claims: list[_Claim], design: Design, tol: float, time_limit: float | None, start: float
) -> RigorousCertificate:
    """The certificate of all claims in exact arithmetic."""
    from separatrix.verification import exact

    found, parts = [], []
    for done, claim in enumerate(claims):
        begun = time.perf_counter()
        at = math.inf
        if time_limit is not None:
            at = begun + max(time_limit - (begun - start), 0.0) / (len(claims) - done)
        deadline, steps = Deadline(at), [0]
        problem = claim.problem
        enclosure = exact.enclose(
            exact.Statement(
                problem=problem,
                theta=claim.theta if claim.given is None else claim.given,
                design=exact.design_of(problem, design),
                C=Fraction(problem.C) if claim.C is None else claim.C,
                weights=_exact_weights(problem, claim.weights),
                tau=(
                    Fraction(float(getattr(problem, "intercept_penalty", 0.0)))
                    if claim.tau is None
                    else claim.tau
                ),
                scale=claim.scale,
                last=claim.last,
            ),
            _dual_points(claim, tol, deadline, steps),
            tol,
            deadline,
        )
        found.append(enclosure)
        parts.append(
            RigorousCertificate.enclosing(
                enclosure.lower,
                enclosure.upper,
                tol=tol,
                status=enclosure.reason or "above_tol",
                n_iter=steps[0],
                seconds=time.perf_counter() - begun,
                bits=enclosure.bits,
            )
        )
    lows, highs = [e.lower for e in found], [e.upper for e in found]
    reasons = [e.reason for e in found if e.reason]
    return RigorousCertificate.enclosing(
        None if None in lows else sum((e for e in lows if e is not None), Fraction(0)),
        None if None in highs else sum((e for e in highs if e is not None), Fraction(0)),
        tol=tol,
        status=reasons[0] if reasons else "above_tol",
        n_iter=sum(part.n_iter for part in parts),
        seconds=time.perf_counter() - start,
        bits=max(e.bits for e in found),
        parts=parts if len(parts) > 1 else (),
    )


def _exact_weights(problem: LinearProblem, weights: np.ndarray | None) -> np.ndarray:
    """The weights that a problem was given, which it keeps as rounded products with ``C``."""
    own = np.ones(len(problem.upper)) if weights is None else np.asarray(weights, dtype=np.float64)
    if isinstance(problem, HardMarginObjective):
        return np.where(own > 0.0, 1.0, 0.0)
    if np.array_equal(problem.upper, problem.C * own):
        return own
    # The rows that were held out have an upper bound of zero.
    return np.where(problem.upper > 0.0, own, 0.0)


def _dual_points(
    claim: _Claim, tol: float, deadline: Deadline, steps: list[int]
) -> Iterator[tuple[np.ndarray, bool]]:
    """Dual points in float64, each nearer to the best one, and whether it looks near enough.

    The first is that of the model's own coefficients, the next are those of ever tighter
    fits.  ``steps`` counts their iterations.
    """
    problem, theta = claim.problem, claim.theta
    with np.errstate(all="ignore"):
        bound = problem.bound(theta)
    zero = np.zeros((len(problem.upper), *problem.output_shape))
    yield (
        zero if bound.residual is None else bound.residual,
        bound.gap <= 0.5 * tol * abs(bound.primal),
    )

    def left() -> float | None:
        deadline()
        return deadline.left

    for solution in _solutions(problem, _solver(problem), theta, bound.residual, tol, left):
        certificate = solution.certificate
        if solution.interrupted:
            raise KeyboardInterrupt
        steps[0] += certificate.n_iter
        residual = solution.residual
        if residual is None:
            with np.errstate(all="ignore"):
                residual = problem.bound(solution.theta).residual
        if residual is None:
            return
        worse = bound.primal - certificate.primal > tol * abs(bound.primal)
        yield residual, certificate.ok
        if worse or not certificate.ok:
            return


def _stationary(
    problem: KernelObjective | KernelHardMarginObjective, theta: np.ndarray, tol: float
) -> str:
    """The status of a point whose kernel is no scalar product, by the gap as if it were one."""
    scores = problem.linear(theta)
    if isinstance(problem, KernelHardMarginObjective):
        return "above_tol"
    primal = problem.value(theta, scores)
    c = problem.weights_of(theta)
    r = -problem.y * np.clip(problem.y * c, 0.0, problem.upper)
    excess = problem.fenchel_young(scores, r) + abs(problem.intercept_of(theta) * float(r.sum()))
    excess += abs(float((c + r) @ scores))
    return "indefinite" if excess <= tol * abs(primal) else "above_tol"


def _solver(problem: LinearProblem) -> Solver | None:
    """The solver for a tighter bound; None where there is none (a kink and no penalty)."""
    try:
        solver = select_solver(problem)
        solver.requires(problem)
    except TypeError:
        return None
    return solver


@dataclass(frozen=True)
class _Data:
    """Labels with weights for the rows, and the factors of these weights."""

    labels: Labels
    sample_weight: np.ndarray | None
    class_factors: np.ndarray | None

    def by_side(self, k: int, y: np.ndarray) -> np.ndarray | None:
        """The weights of one problem of many, where class ``k`` has its factor, the rest have 1."""
        if self.class_factors is None or self.labels.binary:
            return self.labels.weights
        side = np.where(y > 0, self.class_factors[k], 1.0)
        return side if self.sample_weight is None else side * self.sample_weight


def _data(model: Any, y: Any, n: int, sample_weight: np.ndarray | None) -> _Data:
    """The labels, coded by the model's classes, and their weights."""
    own = hasattr(model, "_claims")
    class_weight = getattr(model, "class_weight", None)
    given = class_weight if own else None
    labels = encode_as(model.classes_, y, n, sample_weight, given)
    if own or class_weight is None:
        return _Data(labels, labels.weights, None)
    # These models of scikit-learn count rows for "balanced", whatever the sample weights.
    counted = _sklearn_name(model) in ("RidgeClassifier", "SGDClassifier", "SVC")
    rows = None if counted else sample_weight
    factors = class_factors(np.asarray(y), labels.classes, rows, class_weight)
    weights = factors[labels.codes]
    weights = weights if sample_weight is None else weights * sample_weight
    return _Data(replace(labels, weights=weights), sample_weight, factors)


# --- the claims of each model ---------------------------------------------------------------


def _theta(problem: LinearProblem, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """Weights and intercepts as a point of the problem; (d,) or (K, d) weights."""
    return problem.join(np.asarray(coef, dtype=np.float64).T, np.asarray(intercept, np.float64))


def _own(model: Any, design: Design, data: _Data | TrainingRows) -> list[_Claim]:
    return _claims(model._claims(design, data.labels if isinstance(data, _Data) else data))


def _claims(stated: list[Claimed]) -> list[_Claim]:
    return [
        _Claim(
            part,
            problem,
            problem.to_internal(theta),
            scale=problem.multiple,
            given=theta,
            weights=weights,
        )
        for part, problem, theta, weights in stated
    ]


def _one_vs_rest(
    model: Any,
    design: Design,
    data: _Data,
    loss: Loss,
    penalty: Penalty,
    C: Fraction,
    scale: Fraction = Fraction(1),
    tau: Fraction = Fraction(0),
    by_side: bool = False,
) -> list[_Claim]:
    """One claim for each class; ``tau`` is the factor of the squared intercept in the penalty.

    LIBLINEAR's intercept is the weight of one more column: under a penalty with a kink it is
    penalised as such, and not by its square.
    """
    coef, intercept = np.atleast_2d(dense(model.coef_)), np.atleast_1d(model.intercept_)
    intercept = np.broadcast_to(intercept, (len(coef),)).astype(np.float64)
    lifted = model.fit_intercept and tau != 0 and penalty.kinked
    tau = tau if model.fit_intercept and not lifted else Fraction(0)
    column = _with_column(design, float(model.intercept_scaling)) if lifted else design
    claims = []
    for k, (part, y) in enumerate(data.labels.parts()):
        weights = data.by_side(k, y) if by_side else data.labels.weights
        given: dict[str, Any] = {"C": _nearest(C), "weights": weights}
        made = partial(MarginObjective, targets=y, loss=loss, penalty=penalty, **given)
        options = {"fit_intercept": model.fit_intercept, "intercept_penalty": _nearest(tau)}
        plain = made(design=design, **options)
        theta = _theta(plain, coef[k], intercept[k])
        claim = _Claim(part, plain, theta, scale, weights=weights, C=C, tau=tau)
        if lifted:
            own, scaling = float(intercept[k]), float(model.intercept_scaling)
            ratio, last = Fraction(own) / Fraction(scaling), own / scaling
            point = np.append(coef[k].astype(np.float64), last)
            problem = made(design=column, fit_intercept=False)
            claim = replace(claim, problem=problem, theta=point, last=ratio)
            if ratio != last:
                above = penalty.value_above(np.array([math.nextafter(abs(last), math.inf)]))
                claim = replace(claim, without=(plain, theta, above))
        claims.append(claim)
    return claims


def _with_column(design: Design, value: float) -> Design:
    """A copy of the design with one more column, of the same value in every row."""
    column = np.full((design.n_samples, 1), value)
    if sp.issparse(design.matrix):
        return as_design(sp.hstack([design.matrix, column], format="csr"))
    return as_design(np.hstack([design.matrix, column]))


def _nearest(value: Fraction) -> float:
    return quotient(value.numerator, value.denominator)


def _of_scaling(model: Any) -> Fraction:
    """The factor of the squared intercept where LIBLINEAR penalises it."""
    return 1 / Fraction(float(model.intercept_scaling)) ** 2


def _sklearn_logistic(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/2 |w|^2 + C sum loss; liblinear alone penalises (b / intercept_scaling)^2.
    penalty = getattr(model, "penalty", "deprecated")
    ratio = getattr(model, "l1_ratio", 0.0) or 0.0
    # Before scikit-learn 1.8 the penalty's name decides; since then the ratio does.
    ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, ratio)
    labels = data.labels
    free = penalty is None or not np.isfinite(model.C)
    shrink: Penalty = NoPenalty() if free else penalty_of(ratio)
    C = Fraction(1) if free else Fraction(float(model.C))
    if labels.binary or model.solver == "liblinear":
        tau = _of_scaling(model) if model.solver == "liblinear" else Fraction(0)
        return _one_vs_rest(model, design, data, LogLoss(), shrink, C, tau=tau)
    problem = SoftmaxObjective(
        design,
        labels.codes,
        len(labels.classes),
        shrink,
        C=float(C),
        weights=labels.weights,
        fit_intercept=model.fit_intercept,
    )
    intercept = np.broadcast_to(model.intercept_, (len(labels.classes),))
    theta = _theta(problem, dense(model.coef_), intercept)
    return [_Claim("", problem, theta, weights=labels.weights)]


def _sklearn_linear_svc(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/2 (|w|^2 + (b / intercept_scaling)^2) + C sum loss.
    if model.multi_class != "ovr" and not data.labels.binary:
        raise ValueError(
            f"multi_class={model.multi_class!r} does not fit a sum of binary problems, so it "
            "cannot be verified; fit with multi_class='ovr'."
        )
    penalty: Penalty = L1() if model.penalty == "l1" else L2()
    C, tau = Fraction(float(model.C)), _of_scaling(model)
    return _one_vs_rest(model, design, data, loss_of(model.loss), penalty, C, tau=tau, by_side=True)


def _sklearn_sgd(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/n sum loss + alpha/2 |w|^2, n the number of rows.
    losses = ("hinge", "squared_hinge", "log_loss")
    if model.loss not in losses:
        raise ValueError(
            f"loss={model.loss!r} cannot be verified; the losses known here are "
            f"{', '.join(losses)}."
        )
    if model.penalty not in ("l2", None):
        raise ValueError(
            f"{model!r} has a penalty other than L2, which cannot be verified for this model."
        )
    n, loss = design.n_samples, loss_of(model.loss)
    alpha = Fraction(0 if model.penalty is None else float(model.alpha))
    penalty: Penalty = L2() if alpha else NoPenalty()
    C, scale = (1 / (alpha * n), alpha) if alpha else (Fraction(1), Fraction(1, n))
    return _one_vs_rest(model, design, data, loss, penalty, C, scale, by_side=True)


def _sklearn_ridge(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: sum (y - w.x - b)^2 + alpha |w|^2 with labels -1 and +1.
    if model.positive:
        raise ValueError("RidgeClassifier(positive=True) has constraints and cannot be verified.")
    alpha = Fraction(float(model.alpha))
    penalty: Penalty = L2() if alpha else NoPenalty()
    C, scale = (1 / alpha, 2 * alpha) if alpha else (Fraction(1), Fraction(2))
    return _one_vs_rest(model, design, data, SquaredError(), penalty, C, scale)


def _sklearn_svc(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/2 |w|^2 + C sum loss for each pair of classes; the class weights are those of
    # the whole, not of the pair.
    labels = data.labels
    if len(model.n_support_) != len(labels.classes):
        raise ValueError(
            "In the fit of this SVC all rows of some class had weight zero, and its attributes do "
            "not record which class; fit it without these rows."
        )
    if model.shape_fit_[0] != design.n_samples:
        raise ValueError(other_data(model, f"it was trained on {model.shape_fit_[0]:,} rows"))
    kernel = kernel_of(model, design)
    # The claim is that of a model of this library, whose layout is the same.
    own = SVC(C=float(model.C), kernel=kernel)
    own.kernel_, own.classes_ = kernel, labels.classes
    own.intercept_, own.n_support_ = model.intercept_, model.n_support_
    dual = model.dual_coef_
    own.dual_coef_ = dense(dual)
    own.support_ = model.support_
    if data.sample_weight is not None and not np.all(data.sample_weight > 0.0):
        # LIBSVM drops rows of weight zero, and numbers its support vectors without them.
        own.support_ = np.flatnonzero(data.sample_weight > 0.0)[model.support_]
    require_rows(model, design, own.support_, model.support_vectors_, "support vectors", kernel)
    require_classes(model, labels, own.support_)
    return _claims(own._pair_claims(design, labels))


def kernel_of(model: Any, design: Design) -> Kernel:
    """The kernel of a kernel machine, of this library or scikit-learn's, with its numbers.

    Where scikit-learn's takes ``gamma`` from the data, ``design`` must be the data of the fit.
    """
    own = getattr(model, "kernel_", None)
    if isinstance(own, Kernel):
        return own
    if callable(model.kernel):
        return CallableKernel(model.kernel)
    if model.kernel == "poly" and model.degree == 0:
        raise ValueError(
            "With degree=0 every value of the kernel is 1: there is nothing to verify."
        )
    # The names are the same, and gamma follows the same rule.
    options = {"degree": max(int(model.degree), 1), "gamma": model.gamma, "coef0": model.coef0}
    return resolved_kernel(SVC(kernel=model.kernel, **options), design)


# The parameters that determine the objective of a regression.
_MINIMISED = ("loss", "epsilon", "penalty", "alpha", "l1_ratio", "positive", "fit_intercept")


def _sklearn_by_loss(model: Any, design: Design, rows: TrainingRows) -> list[_Claim]:
    """The claims of a regression of this library with the weights of scikit-learn's.

    The class of that regression states the factor by which the objectives differ.
    """
    kind = estimator(_sklearn_name(model).removesuffix("CV"))
    names = set(_MINIMISED) & set(kind._parameters) & set(model.get_params(deep=False))
    # The results of a search are attributes beside the given parameters.
    found = {name: getattr(model, f"{name}_", getattr(model, name)) for name in names}
    alpha = float(found.get("alpha", getattr(model, "alpha_", 1.0)))
    own = kind(**found | {"alpha": alpha})
    own.coef_ = np.asarray(dense(model.coef_), dtype=np.float64)
    own.intercept_ = np.asarray(model.intercept_, dtype=np.float64)
    penalised = alpha > 0.0 and found.get("penalty", "l2") is not None
    scale = Fraction(kind._sklearn_factor) * Fraction(alpha if penalised else 1.0)
    return [replace(claim, scale=scale) for claim in _claims(own._claims(design, rows))]


def _sklearn_sgd_regressor(model: Any, design: Design, rows: TrainingRows) -> list[_Claim]:
    # Convention: 1/n sum s loss + alpha penalty, n the number of rows.
    return _sklearn_by_loss(model, design, rows._replace(total=float(design.n_samples)))


_SKLEARN: dict[str, Callable[[Any, Design, Any], list[_Claim]]] = {
    "LogisticRegression": _sklearn_logistic,
    "LinearSVC": _sklearn_linear_svc,
    "SVC": _sklearn_svc,
    "SGDClassifier": _sklearn_sgd,
    "RidgeClassifier": _sklearn_ridge,
    "SGDRegressor": _sklearn_sgd_regressor,
}


def _is_by_loss(name: str) -> bool:
    """Whether the class of that name states the factor from its objective to scikit-learn's."""
    return name in ESTIMATORS and hasattr(estimator(name), "_sklearn_factor")


# --- closed forms ---------------------------------------------------------------------------

# The tolerance of closed forms: sums in another order are no error of the model.
_CLOSED_TOL = 1e-8


def _closed_form(model: Any) -> Callable[..., ResidualCertificate] | None:
    """The check of a model that solves equations; None for one that minimises."""
    if getattr(model, "_in_closed_form", False):
        return partial(_own_equations, model)
    theirs = _SKLEARN_CLOSED.get(_sklearn_name(model))
    return None if theirs is None else partial(theirs, model)


def _own_equations(
    model: Any, X: Any, y: Any, sample_weight: Any, tol: float, engine: Any = None
) -> ResidualCertificate:
    """The residual of a fitted model's equations on the training data, which may be blocks."""
    fit = begun_again(model, X, y, sample_weight, engine)
    certificate: ResidualCertificate = model._certified(fit, tol)
    return certificate


def _sklearn_regression(
    model: Any, X: Any, y: Any, sample_weight: Any, tol: float
) -> ResidualCertificate:
    # Convention: sum s (y - w.x - b)^2 + alpha |w|^2.
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    if np.ndim(alpha) > 0:
        raise ValueError(
            "Separate penalties for the targets cannot be verified; give one alpha for all."
        )
    rows = rows_of_fit(model, X, y, sample_weight)
    design = as_design(rows.matrix)
    problem = LeastSquaresProblem(
        design,
        rows.targets,
        weights=rows.weights,
        ridge=float(alpha),
        fit_intercept=bool(model.fit_intercept),
        tol=tol,
        bounds=for_all_targets(bounds_of(model, design.n_features)),
    )
    point = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return certify(problem, *point, rank=getattr(model, "rank_", None))


def _sklearn_discriminants(
    model: Any, X: Any, y: Any, sample_weight: Any, tol: float
) -> ResidualCertificate:
    matrix = validate(model, X)
    weights = sample_weight_of(sample_weight, matrix)
    labels = _data(model, y, matrix.shape[0], weights).labels
    linear = hasattr(model, "coef_")
    covariance = _sklearn_covariance(model, linear)
    shrinkage = getattr(model, "shrinkage", None)
    moments = moments_of_classes(as_design(matrix), labels, pooled=linear, shrinkage=shrinkage)
    # scikit-learn's divisor changed from version to version: the nearer one is used.
    return certify_classes(model, moments, ("mle", "unbiased"), covariance, [], tol)


def _sklearn_covariance(model: Any, linear: bool) -> np.ndarray | None:
    """The covariances by which a model of scikit-learn decides, where it keeps them."""
    if getattr(model, "covariance_estimator", None) is not None:
        raise ValueError(
            "A covariance_estimator cannot be verified; fit with covariance_estimator=None."
        )
    if getattr(model, "reg_param", 0.0):
        raise ValueError("reg_param cannot be verified; fit with reg_param=0.")
    if not linear:
        parts = zip(model.rotations_, model.scalings_, strict=True)
        return np.array([(axes * squares) @ axes.T for axes, squares in parts])
    if model.priors is not None:
        raise ValueError(
            "scikit-learn weights the covariances of the classes by the given priors instead of "
            "their numbers of rows, which is another model; fit with priors=None."
        )
    # With a decomposition of the rows, the stored covariance is not the one that it decides by.
    return None if model.solver == "svd" else model.covariance_


_SKLEARN_CLOSED: dict[str, Callable[..., ResidualCertificate]] = {
    "LinearRegression": _sklearn_regression,
    "Ridge": _sklearn_regression,
    "RidgeCV": _sklearn_regression,
    "LinearDiscriminantAnalysis": _sklearn_discriminants,
    "QuadraticDiscriminantAnalysis": _sklearn_discriminants,
}


def _reader(model: Any) -> Callable[[Any, Design, Any], list[_Claim]]:
    if hasattr(model, "_claims"):
        return _own
    name = _sklearn_name(model)
    if name in _SKLEARN:
        return _SKLEARN[name]
    if _is_by_loss(name):
        return _sklearn_by_loss
    raise TypeError(
        f"The objective of {type(model).__name__} is not known; models that can be verified are "
        "those of this library (except DecisionStump), and scikit-learn's "
        + ", ".join(dict.fromkeys([*_SKLEARN, *filter(_is_by_loss, ESTIMATORS), *_SKLEARN_CLOSED]))
        + "."
    )


def _sklearn_name(model: Any) -> str:
    """The name of a model's class in scikit-learn; a subclass keeps its parent's objective."""
    for kind in type(model).__mro__:
        if kind.__module__.split(".")[0] == "sklearn":
            return kind.__name__
    return ""
