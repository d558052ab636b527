"""Checks of fits that were ended early, by computations apart from the library.

Objectives are written out again from the documentation, in extended precision, so that a census can
end a fit anywhere and hold what it returns to four things: the objective at the returned point is
the one that its certificate states; the lower bound is below every objective that anybody has
reached; the gap, the relative gap and the status agree with both; and the point is no worse than
the start.  Whether the rows lay in memory or came in passes makes no difference here.
"""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

LONG = np.longdouble
# How far a stated objective may be above that of the returned point: it is charged for rounding.
CHARGED = 1e-7
# The rounding error of the judge itself.
ROUNDED = 1e-13


# --- objectives, written out again ---------------------------------------------------------------


def _hinge(z: np.ndarray) -> np.ndarray:
    return np.maximum(1 - z, 0)


def _log(z: np.ndarray) -> np.ndarray:
    return np.maximum(-z, 0) + np.log1p(np.exp(-np.abs(z)))


MARGIN_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hinge": _hinge,
    "squared_hinge": lambda z: _hinge(z) ** 2,
    "log_loss": _log,
    "modified_huber": lambda z: np.where(z >= -1, _hinge(z) ** 2, -4 * z),
    "squared_error": lambda z: (1 - z) ** 2 / 2,
    "perceptron": lambda z: np.maximum(-z, 0),
}


def residual_loss(name: str, z: np.ndarray, epsilon: float) -> np.ndarray:
    """A loss of the residuals, by scikit-learn's name for it."""
    size = np.abs(z)
    if name == "squared_error":
        return z * z / 2
    if name == "huber":
        return np.where(size <= epsilon, z * z / 2, epsilon * size - LONG(epsilon) ** 2 / 2)
    beyond = np.maximum(size - epsilon, 0)
    return beyond if name == "epsilon_insensitive" else beyond**2


def _matrix(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=LONG)


def _mixture(model: Any) -> float:
    """The share of L1 in the penalty."""
    penalty = getattr(model, "penalty", None)
    if penalty == "l1":
        return 1.0
    if penalty == "l2":
        return float(getattr(model, "l1_ratio", 0.0)) if _takes_any_ratio(model) else 0.0
    return float(np.mean(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0))))


def _takes_any_ratio(model: Any) -> bool:
    return type(model).__name__ in ("LogisticRegression", "LinearSVC")


def _penalty(w: np.ndarray, ratio: float) -> Any:
    return ratio * np.abs(w).sum() + (1 - ratio) * (w * w).sum() / 2


def _kernel(model: Any, X: np.ndarray) -> np.ndarray:
    if model.kernel == "linear":
        return X @ X.T
    if model.kernel == "poly":
        return (model.gamma * (X @ X.T) + model.coef0) ** model.degree
    assert model.kernel == "rbf"
    squares = (X * X).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * X @ X.T
    np.fill_diagonal(apart, 0)
    return np.exp(-LONG(model.gamma) * np.maximum(apart, 0))


def _huber_scale(z: np.ndarray, s: np.ndarray, epsilon: float, sigma: float) -> Any:
    """The scaled Huber loss of the residuals at a scale."""
    u = np.abs(z) / sigma
    H = np.where(u <= epsilon, u * u, 2 * LONG(epsilon) * u - LONG(epsilon) ** 2)
    return (s * LONG(sigma) * (1 + H)).sum() / 2


def _of_classes(model: Any, X: np.ndarray, y: np.ndarray, s: np.ndarray) -> Any:
    """Linear classifiers: multinomial where that is the model's, else each class by itself."""
    name = type(model).__name__
    classes = np.unique(y)
    coef = np.atleast_2d(np.asarray(_matrix(model.coef_), dtype=LONG))
    level = np.atleast_1d(np.asarray(model.intercept_, dtype=LONG))
    scores = X @ coef.T + level
    if name == "Perceptron":
        signs = _signs(y, classes)
        return (s[:, None] * (signs * scores <= 0)).sum()
    if name.startswith("SGD"):
        alpha = float(model.alpha)
        free = model.penalty is None or alpha == 0.0
        C = LONG(1) / s.sum() if free else LONG(1) / (LONG(alpha) * s.sum())
    else:
        free = model.penalty is None
        C = LONG(1) if free and name == "LogisticRegressionCV" else LONG(float(model.C))
    penalty = 0 if free else _penalty(coef, _mixture(model))
    logistic = name.startswith("LogisticRegression")
    if logistic and len(classes) > 2 and model.multiclass == "multinomial":
        top = scores.max(axis=1)
        own = scores[np.arange(len(y)), np.searchsorted(classes, y)]
        losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own
        return penalty + C * (s * losses).sum()
    loss = "log_loss" if logistic else model.loss
    signs = _signs(y, classes)
    if loss in MARGIN_LOSSES:
        values = MARGIN_LOSSES[loss](signs * scores)
    else:
        values = residual_loss(loss, signs - scores, model.epsilon)
    return penalty + C * (s[:, None] * values).sum()


def _signs(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    own = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == own[None, :], LONG(1), LONG(-1))


def _of_numbers(model: Any, X: np.ndarray, y: np.ndarray, s: np.ndarray) -> Any:
    """Linear regressions, in multiples of the strength as their formulas are."""
    name = type(model).__name__
    coef = np.asarray(_matrix(model.coef_), dtype=LONG)
    targets = np.asarray(y, dtype=LONG)
    if coef.ndim == 2 and targets.ndim == 1:
        coef = coef.ravel()
    level = np.asarray(model.intercept_, dtype=LONG)
    scores = X @ coef.T + (level if targets.ndim == 2 else level.ravel()[0])
    z = targets - scores
    if name == "LinearSVR":
        values = residual_loss(model.loss, z, LONG(float(model.epsilon)))
        return (coef * coef).sum() / 2 + LONG(float(model.C)) * (s * values).sum()
    if name == "HuberRegressor":
        alpha = float(model.alpha)
        loss = _huber_scale(z, s, float(model.epsilon), float(model.scale_))
        return (coef * coef).sum() / 2 + loss / LONG(alpha) if alpha > 0 else loss
    alpha = float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)
    loss = getattr(model, "loss", "squared_error")
    values = residual_loss(loss, z, LONG(float(getattr(model, "epsilon", 0.0))))
    if name == "PoissonRegressor":
        logs = np.log(np.where(targets > 0, targets, LONG(1)))
        values = np.exp(scores) - targets * scores + targets * logs - targets
    total = ((s if z.ndim == 1 else s[:, None]) * values).sum() / s.sum()
    if alpha == 0.0 or (name == "SGDRegressor" and model.penalty is None):
        return total
    if name == "SGDRegressor":
        ratio = _mixture(model)
    else:
        ratio = 1.0 if name.startswith("Lasso") else _mixture(model)
    return _penalty(coef, ratio) + total / LONG(alpha)


def _of_kernel(model: Any, X: np.ndarray, y: Any, s: np.ndarray) -> Any:
    """The objective of kernel machines: of pairs of classes, of regressions, or of one class."""
    name = type(model).__name__
    K = _kernel(model, X)
    support = np.asarray(model.support_)
    dual = np.asarray(_matrix(model.dual_coef_), dtype=LONG)
    if name in ("NuSVC", "OneClassSVM"):
        scale = LONG(1)
        if name == "NuSVC":
            # Coefficients come in multiples of the margin, and as multipliers they fill nu.
            scale = LONG(float(model.nu)) * s.sum() / np.abs(dual).sum()
        c = np.zeros(len(X), dtype=LONG)
        c[support] = dual[0] * scale
        return c @ K @ c / 2
    level = np.asarray(model.intercept_, dtype=LONG).ravel()
    if name in ("SVR", "NuSVR"):
        c = np.zeros(len(X), dtype=LONG)
        c[support] = dual[0]
        z = np.asarray(y, dtype=LONG) - (K @ c + level[0])
        if name == "SVR":
            loss = (s * residual_loss("epsilon_insensitive", z, LONG(float(model.epsilon)))).sum()
        else:
            # The width that is best for these residuals is one of their sizes, or zero.
            mass = LONG(float(model.nu)) * s.sum()
            widths = np.append(np.abs(z), LONG(0))
            loss = min(
                mass * e + (s * residual_loss("epsilon_insensitive", z, e)).sum() for e in widths
            )
        return c @ K @ c / 2 + LONG(float(model.C)) * loss
    classes = np.unique(y)
    starts = np.append(0, np.cumsum(model.n_support_))
    total, pair = LONG(0), 0
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            c = np.zeros(len(X), dtype=LONG)
            for own, row in ((i, j - 1), (j, i)):
                at = slice(starts[own], starts[own + 1])
                c[support[at]] = dual[row, at]
            rows = (y == classes[i]) | (y == classes[j])
            first = classes[j] if len(classes) == 2 else classes[i]
            signs = np.where(y == first, LONG(1), LONG(-1))
            margins = signs * (K @ c + level[pair])
            total += c @ K @ c / 2
            total += LONG(float(model.C)) * (s * _hinge(margins))[rows].sum()
            pair += 1
    return total


def objective(model: Any, X: Any, y: Any, weights: Any = None) -> float:
    """The objective of a fitted model at its returned point, in its certificate's convention.

    Parameters
    ----------
    model : fitted estimator
    X : array or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
    weights : ndarray of shape (n_samples,), optional
    """
    X = _matrix(X)
    s = np.ones(len(X), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG)
    name = type(model).__name__
    if name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
        return float(_of_kernel(model, X, y, s))
    if hasattr(model, "classes_"):
        return float(_of_classes(model, X, y, s))
    return float(_of_numbers(model, X, y, s))


# --- the checks ----------------------------------------------------------------------------------


# The parameters that a cross-validation chooses.
_CHOSEN = ("alpha_", "C_", "l1_ratio_")


@dataclass
class Judge:
    """Holds every fit of one problem to the best objective that any of them has reached.

    Parameters
    ----------
    X, y, weights
        The whole data that the fits are made to.
    """

    X: Any
    y: Any
    weights: Any = None
    faults: list[str] = field(default_factory=list)
    # The least objective found, by the strength of the penalty that a cross-validation chooses.
    best: dict[Any, float] = field(default_factory=dict)
    duals: list[tuple[str, Any, float]] = field(default_factory=list)

    def look(self, case: str, model: Any, statuses: tuple[str, ...]) -> None:
        """Judge one fit, whose status must be one of ``statuses``."""
        certificate = model.certificate_
        found = objective(model, self.X, self.y, self.weights)
        primal, dual = certificate.primal, certificate.dual
        room = ROUNDED * max(abs(found), abs(primal))
        said = []
        if certificate.status not in statuses:
            said.append(f"status {certificate.status!r}, none of {statuses}")
        if not found <= primal + room:
            said.append(f"states {primal!r}, and the returned point has {found!r}")
        if not primal <= found + CHARGED * abs(found):
            said.append(f"states {primal!r}, far above {found!r} of the returned point")
        start = self._at_zero(model)
        if not found <= start + CHARGED * abs(start):
            said.append(f"returns {found!r}, and zero weights have {start!r}")
        if not certificate.gap >= primal - dual - room:
            said.append(f"gap {certificate.gap!r} of {primal!r} and {dual!r}")
        relative = certificate.gap / abs(primal) if certificate.gap and primal else certificate.gap
        if primal and not math.isclose(relative, certificate.relative_gap, rel_tol=1e-9):
            said.append(f"relative gap {certificate.relative_gap!r} for {relative!r}")
        if (certificate.status == "optimal") != (certificate.relative_gap <= certificate.tol):
            said.append(f"{certificate.status} at {certificate.relative_gap!r}")
        problem = tuple(float(np.mean(getattr(model, name, 0.0))) for name in _CHOSEN)
        self.best[problem] = min(self.best.get(problem, math.inf), found)
        self.duals.append((case, problem, dual))
        self.faults += [f"{case}: {sentence}" for sentence in said]

    def _at_zero(self, model: Any) -> float:
        """The objective at weights and intercepts of zero; infinite where that is no point."""
        # Multipliers that fill a share nu of the rows are never zero; a scale goes with weights.
        if not hasattr(model, "coef_") or hasattr(model, "nu") or hasattr(model, "scale_"):
            return math.inf
        other = copy(model)
        for name in ("dual_coef_", "coef_", "intercept_"):
            if name in vars(model):
                setattr(other, name, 0.0 * _matrix(getattr(model, name)))
        return objective(other, self.X, self.y, self.weights)

    def verdict(self) -> list[str]:
        """All faults that were found; call it after the last fit has been judged."""
        above = [
            f"{case}: lower bound {dual!r}, and a point has {self.best[problem]!r}"
            for case, problem, dual in self.duals
            if not dual <= self.best[problem] + ROUNDED * abs(self.best[problem])
        ]
        return self.faults + above


# --- three ways of ending ------------------------------------------------------------------------


class Clock:
    """A clock that goes by looks: each is a second later than the one before.

    Parameters
    ----------
    press_at : int, optional
        The look at which Ctrl-C is pressed.
    """

    def __init__(self, press_at: int | None = None) -> None:
        self.looks, self.press_at = 0, press_at

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self.press_at:
            signal.raise_signal(signal.SIGINT)
        return float(self.looks)


@contextmanager
def looking_at(clock: Clock) -> Iterator[Clock]:
    """Let the library look at a clock of its own, with the usual Ctrl-C."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    real, time.perf_counter = time.perf_counter, clock
    try:
        yield clock
    finally:
        time.perf_counter = real
        signal.signal(signal.SIGINT, previous)


def instants(looks: int, count: int) -> list[int]:
    """Looks from the first to the last, closer together at the beginning."""
    return sorted({round(v) for v in np.geomspace(1, max(looks, 1), count)})


def ended(fit: Callable[[], Any], clock: Clock) -> tuple[int, bool]:
    """Fit under a clock; return the number of looks and whether it raised KeyboardInterrupt."""
    with looking_at(clock), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            fit()
        except KeyboardInterrupt:
            return clock.looks, True
    return clock.looks, False
