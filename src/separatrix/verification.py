"""Certificates for fitted models, this library's and scikit-learn's.

A model claims to minimise an objective; each claim is read from the model's class and
parameters, in that library's own convention (what multiplies what, whether the intercept is
penalised), and the model's weights are judged by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from separatrix.certificate import Certificate
from separatrix.design import Design, as_design
from separatrix.labels import Labels, class_factors, codes_of, merge_weights, require_weights
from separatrix.losses import Hinge, LogLoss, Loss, SquaredError, SquaredHinge
from separatrix.models.linear import LinearClassifier
from separatrix.objective import LinearProblem, MarginObjective, SoftmaxObjective
from separatrix.penalties import L2, NoPenalty, Penalty
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Solver, minimise
from separatrix.validation import check_number, validate

__all__ = ["verify"]


@dataclass(frozen=True)
class _Claim:
    """One problem that a model claims to solve, in multiples of ``scale``."""

    part: str
    problem: LinearProblem
    theta: np.ndarray
    scale: float = 1.0


def verify(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    tol: float | None = None,
    time_limit: float | None = None,
) -> Certificate:
    """How far a fitted model is from the optimum of the objective that it claims to minimise.

    The objective is evaluated at the model's weights, from scratch and in float64.  The lower
    bound comes from the slopes of the loss there; where it is not tight enough, the problem is
    solved anew, which gives a bound that is.

    Parameters
    ----------
    model : estimator
        Fitted: this library's ``LogisticRegression``, ``LinearSVC`` or ``Perceptron``;
        scikit-learn's ``LogisticRegression``, ``LinearSVC``, ``SGDClassifier`` (losses
        ``log_loss``, ``hinge``, ``squared_hinge``) or ``RidgeClassifier``; or a pipeline that
        ends in one of them.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training data.
    y : array-like of shape (n_samples,)
        The training labels.
    sample_weight : array-like of shape (n_samples,), optional
        The training weights.
    tol : float, optional
        Relative gap that counts as optimal; default: the model's own for this library's
        models, else 1e-6.
    time_limit : float, optional
        Seconds for finding the bound; what is reached by then is reported.

    Returns
    -------
    Certificate
        Its status is ``"optimal"`` or ``"above_tol"``; or ``"separable"`` or
        ``"quasi_separable"``, where without a penalty there is no finite optimum.  ``primal`` is
        in the model's own convention.

    Raises
    ------
    TypeError
        For a model whose objective is not known here.
    ValueError
        For data that do not fit the model, or a penalty other than L2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from separatrix import verify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> verify(RidgeClassifier().fit(X, y), X, y).status
    'optimal'
    """
    start = time.perf_counter()
    if tol is not None:
        check_number("tol", tol, above=0)
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    reader = _reader(model)
    check_is_fitted(model)
    if not (np.all(np.isfinite(model.coef_)) and np.all(np.isfinite(model.intercept_))):
        raise ValueError(f"The weights of {type(model).__name__} hold NaN or infinity.")
    matrix = validate(model, X)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64)
        require_weights(sample_weight)
    data = _data(model, y, matrix.shape[0], sample_weight)
    claims = reader(model, as_design(matrix), data)
    if tol is None:
        own = getattr(model, "certificate_", None)
        tol = own.tol if isinstance(own, Certificate) else 1e-6
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
    without = [p.status for p in parts if p.status in _NO_OPTIMUM]
    status = "optimal" if whole.relative_gap <= tol else (without or ["above_tol"])[0]
    return replace(whole, status=status, seconds=time.perf_counter() - start)


# Ways of having no finite optimum, which no tighter fit could reach.
_NO_OPTIMUM = ("separable", "quasi_separable")


def _judge(claim: _Claim, tol: float, time_limit: float | None) -> Certificate:
    problem, theta = claim.problem, claim.theta
    with np.errstate(over="ignore", invalid="ignore"):
        # Weights beyond all reason overflow; the certificate then says that nothing is known.
        bound = problem.bound(theta)
    primal, dual, gap, n_iter = bound.primal, bound.dual, bound.gap, 0
    reason = "above_tol"
    solver = _solver(problem)
    if solver is not None and gap > tol * abs(primal):
        # A tenth of the tolerance: the bound's own slack must not decide the verdict.
        solution = minimise(
            problem,
            solver,
            tol=0.1 * tol,
            max_iter=100_000,
            time_limit=time_limit,
            theta=theta,
            seed=0,
        )
        n_iter = solution.certificate.n_iter
        if solution.certificate.status in _NO_OPTIMUM:
            reason = solution.certificate.status
        if solution.certificate.dual > dual:
            dual = solution.certificate.dual
            gap = max(primal - dual, 0.0)
    found = Certificate.of(
        primal=claim.scale * primal,
        dual=claim.scale * dual,
        gap=claim.scale * gap,
        tol=tol,
        status="optimal",
        n_iter=n_iter,
    )
    return found if found.relative_gap <= tol else replace(found, status=reason)


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
    """Labels weighed by row, and what their weights are made of."""

    labels: Labels
    sample_weight: np.ndarray | None
    class_factors: np.ndarray | None

    def by_side(self, k: int, y: np.ndarray) -> np.ndarray | None:
        """Weights of one problem of many where class ``k`` has its factor and the rest have 1."""
        if self.class_factors is None or self.labels.binary:
            return self.labels.weights
        side = np.where(y > 0, self.class_factors[k], 1.0)
        return side if self.sample_weight is None else side * self.sample_weight


def _data(model: Any, y: Any, n: int, sample_weight: np.ndarray | None) -> _Data:
    """The labels, coded by the model's classes, and their weights."""
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y must hold one label for each of the {n} rows; its shape is {y.shape}.")
    classes = np.asarray(model.classes_)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f"Row {row} has the label {y[row : row + 1].tolist()[0]!r}, which the model was not "
            "trained on; pass the training data."
        )
    total = float(n if sample_weight is None else sample_weight.sum())
    codes = codes_of(y, classes)
    if isinstance(model, LinearClassifier) or model.class_weight is None:
        weights = merge_weights(y, sample_weight, model.class_weight)
        return _Data(Labels(classes, codes, weights, total), weights, None)
    # Of scikit-learn's models these count rows for "balanced", whatever the sample weights.
    counted = type(model).__name__ in ("SGDClassifier", "RidgeClassifier")
    factors = class_factors(y, classes, None if counted else sample_weight, model.class_weight)
    weights = factors[codes] if sample_weight is None else factors[codes] * sample_weight
    return _Data(Labels(classes, codes, weights, total), sample_weight, factors)


# --- what each model claims -----------------------------------------------------------------


def _theta(problem: LinearProblem, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """Weights and intercepts as a point of the problem; (d,) or (K, d) weights."""
    return problem.join(np.asarray(coef, dtype=np.float64).T, np.asarray(intercept, np.float64))


def _own(model: LinearClassifier, design: Design, data: _Data) -> list[_Claim]:
    problems = model._problems(design, data.labels)
    if len(problems) == 1 and problems[0][1].tail:
        problem = problems[0][1]
        return [_Claim("", problem, _theta(problem, model.coef_, model.intercept_))]
    return [
        _Claim(part, problem, _theta(problem, model.coef_[k], model.intercept_[k]))
        for k, (part, problem) in enumerate(problems)
    ]


def _one_vs_rest(
    model: Any,
    design: Design,
    data: _Data,
    loss: Loss,
    penalty: Penalty,
    C: float,
    scale: float = 1.0,
    intercept_penalty: float = 0.0,
    by_side: bool = False,
) -> list[_Claim]:
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    intercept = np.broadcast_to(intercept, (len(coef),))
    claims = []
    for k, (part, y) in enumerate(data.labels.parts()):
        problem = MarginObjective(
            design,
            y,
            loss,
            penalty,
            C=C,
            weights=data.by_side(k, y) if by_side else data.labels.weights,
            fit_intercept=model.fit_intercept,
            intercept_penalty=intercept_penalty if model.fit_intercept else 0.0,
        )
        claims.append(_Claim(part, problem, _theta(problem, coef[k], intercept[k]), scale))
    return claims


def _only_l2(model: Any, is_l2: bool) -> None:
    if not is_l2:
        raise ValueError(
            f"{model!r} has a penalty other than L2; only L2 or no penalty can be verified."
        )


def _sklearn_logistic(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/2 |w|^2 + C sum loss; liblinear alone penalises (b / intercept_scaling)^2.
    penalty = getattr(model, "penalty", "deprecated")
    ratio = getattr(model, "l1_ratio", 0.0) or 0.0
    _only_l2(model, penalty in ("l2", None) or (penalty == "deprecated" and ratio == 0.0))
    labels = data.labels
    free = penalty is None or not np.isfinite(model.C)
    shrink: Penalty = NoPenalty() if free else L2()
    C = 1.0 if free else float(model.C)
    if labels.binary or model.solver == "liblinear":
        tau = 1.0 / model.intercept_scaling**2 if model.solver == "liblinear" else 0.0
        return _one_vs_rest(model, design, data, LogLoss(), shrink, C, intercept_penalty=tau)
    problem = SoftmaxObjective(
        design,
        labels.codes,
        len(labels.classes),
        shrink,
        C=C,
        weights=labels.weights,
        fit_intercept=model.fit_intercept,
    )
    intercept = np.broadcast_to(model.intercept_, (len(labels.classes),))
    return [_Claim("", problem, _theta(problem, model.coef_, intercept))]


def _sklearn_linear_svc(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/2 (|w|^2 + (b / intercept_scaling)^2) + C sum loss.
    _only_l2(model, model.penalty == "l2")
    if model.multi_class != "ovr" and not data.labels.binary:
        raise ValueError(
            f"multi_class={model.multi_class!r} is not a sum of binary problems and cannot be "
            "verified; fit with multi_class='ovr'."
        )
    loss: Loss = Hinge() if model.loss == "hinge" else SquaredHinge()
    tau = 1.0 / model.intercept_scaling**2
    return _one_vs_rest(
        model, design, data, loss, L2(), float(model.C), intercept_penalty=tau, by_side=True
    )


def _sklearn_sgd(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: 1/n sum loss + alpha/2 |w|^2, n the number of rows.
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "log_loss": LogLoss(),
    }
    if model.loss not in losses:
        raise ValueError(
            f"loss={model.loss!r} cannot be verified; the losses known here are "
            f"{', '.join(losses)}."
        )
    _only_l2(model, model.penalty in ("l2", None))
    n, loss = design.n_samples, losses[model.loss]
    if model.penalty is None or model.alpha == 0:
        return _one_vs_rest(
            model, design, data, loss, NoPenalty(), 1.0, scale=1.0 / n, by_side=True
        )
    C = 1.0 / (model.alpha * n)
    return _one_vs_rest(model, design, data, loss, L2(), C, scale=model.alpha, by_side=True)


def _sklearn_ridge(model: Any, design: Design, data: _Data) -> list[_Claim]:
    # Convention: sum (y - w.x - b)^2 + alpha |w|^2 with labels -1 and +1.
    if model.positive:
        raise ValueError("RidgeClassifier(positive=True) has constraints and cannot be verified.")
    alpha = float(model.alpha)
    penalty: Penalty = L2() if alpha > 0 else NoPenalty()
    C = 1.0 / alpha if alpha > 0 else 1.0
    scale = 2.0 * alpha if alpha > 0 else 2.0
    return _one_vs_rest(model, design, data, SquaredError(), penalty, C, scale=scale)


_SKLEARN: dict[str, Callable[[Any, Design, _Data], list[_Claim]]] = {
    "LogisticRegression": _sklearn_logistic,
    "LinearSVC": _sklearn_linear_svc,
    "SGDClassifier": _sklearn_sgd,
    "RidgeClassifier": _sklearn_ridge,
}


def _reader(model: Any) -> Callable[[Any, Design, _Data], list[_Claim]]:
    if isinstance(model, LinearClassifier):
        return _own
    # A subclass keeps its parent's objective.
    for kind in type(model).__mro__:
        if kind.__module__.split(".")[0] == "sklearn":
            if kind.__name__ in _SKLEARN:
                return _SKLEARN[kind.__name__]
            break
    raise TypeError(
        f"The objective of {type(model).__name__} is not known here; models that can be verified "
        "are this library's linear classifiers and scikit-learn's " + ", ".join(_SKLEARN) + "."
    )
