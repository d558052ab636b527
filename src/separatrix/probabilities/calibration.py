r"""Probabilities for classifiers that have scores: cross-fitted, monotone, true to ``predict``.

A score is turned into a probability by a function that is fitted to *cross-fitted* scores: those
that models fitted without a row give to that row.  The functions are such that the largest
probability is always that of the class that the scores choose.

Two classes, score :math:`s`
    ``"sigmoid"``: :math:`p = \sigma(a s + b)` with :math:`a \ge 0`, by maximum likelihood with
    Platt's smoothed targets :math:`(n_1 + 1)/(n_1 + 2)` and :math:`1/(n_0 + 2)`.
    ``"isotonic"``: the non-decreasing function nearest to the same targets in squares.
    Either would contradict ``predict`` where :math:`p` crosses one half elsewhere than at
    :math:`s = 0`; there it is held at one half, on the side of the class that is predicted.

More classes, scores :math:`s_1 \ldots s_K`
    ``"sigmoid"``: :math:`p_k \propto e^{a s_k}` with one :math:`a \ge 0`, by maximum likelihood
    where the class of a row has the target :math:`(n + 1)/(n + 2)` and the others share the rest.
    ``"isotonic"``: :math:`p_k \propto g(s_k - \max_{j \ne k} s_j)` with one non-decreasing
    :math:`g`, fitted to all rows and classes at once.
    Both keep the order of the scores, and :math:`p_k` rises with :math:`s_k`: in the isotonic
    ratio :math:`g_k / (g_k + \sum_j g_j)`, the first term rises and all others fall.

scikit-learn's ``CalibratedClassifierCV`` promises less, which is why only its isotonic regression
is used here: its sigmoid crosses one half at :math:`-b/a`, so that probabilities contradict the
sign of the score in between; its slope may be negative; for more classes it normalises one
function a class, which can give another class the largest share; and its isotonic
probabilities reach 0 and 1, whose logarithms make one surprise cost infinitely much.

References
----------
Platt (1999), Probabilistic outputs for support vector machines.  Lin, Lin and Weng (2007), A note
on Platt's probabilistic outputs for support vector machines.  Zadrozny and Elkan (2002),
Transforming classifier scores into accurate multiclass probability estimates.  Guo et al. (2017),
On calibration of modern neural networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from separatrix.data.design import as_design
from separatrix.losses import LogLoss
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.probabilities.ties import leads
from separatrix.solvers import select_solver
from separatrix.solvers.driver import minimise

METHODS = ("sigmoid", "isotonic")

# No score is taken for larger: differences of two must stay finite.
_HUGE = 1e300
_STEEPEST = float(np.finfo(np.float64).max)


def fit_calibration(
    method: str, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Fit the function that maps scores to probabilities.

    Parameters
    ----------
    method : {"sigmoid", "isotonic"}
    scores : ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
        Cross-fitted.
    codes : ndarray of shape (n_samples,)
        Class numbers.
    weights : ndarray of shape (n_samples,), optional
        A weight of k is the same as k copies.

    Returns
    -------
    dict
        ``method``; for the sigmoid ``slope`` and, for two classes, ``intercept``, floats; for
        the isotonic ``scores`` and ``probabilities``, arrays of equal length: the function is
        linear between these points and constant beyond them.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.probabilities.calibration import fit_calibration
    >>> scores = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> found = fit_calibration("isotonic", scores, np.array([0, 0, 1, 0, 1, 1]))
    >>> found["scores"].tolist(), found["probabilities"].round(3).tolist()
    ([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], [0.2, 0.2, 0.5, 0.5, 0.8, 0.8])
    """
    scores = _bounded(scores)
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    if method == "isotonic":
        return {"method": method, **_isotonic(scores, codes, weights)}
    if scores.ndim == 1:
        return {"method": method, **_platt(scores, codes == 1, weights)}
    return {"method": method, "slope": _temperature(scores, codes, weights)}


def _bounded(scores: np.ndarray) -> np.ndarray:
    """Scores in float64 within reason; an overflow to NaN is taken for zero."""
    scores = np.asarray(scores, dtype=np.float64)
    return np.clip(np.where(np.isnan(scores), 0.0, scores), -_HUGE, _HUGE)


def _platt(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    n1, n0 = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0))
    # A target of t is a row of either class, with the weights t and 1 - t.  So no plane
    # separates the classes, and the likelihood has its maximum at finite parameters.
    unit = float(np.abs(scores).max())
    scaled = scores / unit if unit > 0.0 else scores
    centre = float(scaled.mean())
    scaled = scaled - centre
    spread = float(np.abs(scaled).max())
    mean = float((weights * target).sum() / weights.sum())
    flat = {"slope": 0.0, "intercept": float(np.log(mean) - np.log1p(-mean))}
    # Values that differ by no more than rounding are one value.
    if spread <= 1e-14:
        return flat
    scaled /= spread
    problem = MarginObjective(
        as_design(np.concatenate([scaled, scaled])[:, None]),
        np.repeat([1.0, -1.0], len(scaled)),
        LogLoss(),
        NoPenalty(),
        C=1.0,
        weights=np.concatenate([weights * target, weights * (1.0 - target)]),
        fit_intercept=True,
    )
    solution = minimise(problem, select_solver(problem), tol=1e-12, max_iter=1000)
    if solution.interrupted:
        raise KeyboardInterrupt
    slope = float(problem.weights_of(solution.theta)[0])
    intercept = float(problem.intercept_of(solution.theta))
    # A probability must not fall as the score rises.  The objective is convex, so of all slopes
    # >= 0 zero is then the best, with the intercept that fits the mean.
    if not slope > 0.0:
        return flat
    intercept -= slope * centre / spread
    with np.errstate(over="ignore"):
        slope = min(float(np.divide(slope / spread, unit)), _STEEPEST)
    return {"slope": float(slope), "intercept": intercept}


def _temperature(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
    n, n_classes = float(weights.sum()), scores.shape[1]
    rows = np.arange(len(codes))
    scaled = scores - scores.max(axis=1, keepdims=True)
    unit = float(-scaled.min())
    if unit == 0.0:
        return 0.0
    scaled /= unit
    # One number is fitted from all rows, so that they count together against the one more of
    # either kind that the smoothing adds; it keeps the slope finite where no row is wrong.
    other = 1.0 / (n + 2.0) / (n_classes - 1)
    own = scaled[rows, codes]
    observed = weights @ (other * (scaled.sum(axis=1) - own) + (n + 1.0) / (n + 2.0) * own)

    def derivative(slope: float) -> float:
        with np.errstate(over="ignore", under="ignore"):
            share = np.exp(slope * scaled)
        share /= share.sum(axis=1, keepdims=True)
        return float(weights @ (share * scaled).sum(axis=1) - observed)

    # Convex in the slope, so its derivative rises; in the limit it is -observed > 0.
    if derivative(0.0) >= 0.0:
        return 0.0
    high = 1.0
    while derivative(high) < 0.0 and high < _HUGE:
        high *= 2.0
    if high >= _HUGE:
        slope = _HUGE
    else:
        slope = float(
            scipy.optimize.brentq(derivative, 0.0, high, xtol=1e-300, rtol=1e-14, maxiter=2000)
        )
    with np.errstate(over="ignore"):
        return float(min(np.divide(slope, unit), _STEEPEST))


def _isotonic(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
    if scores.ndim == 1:
        x, hit, by_entry = scores, codes == 1, weights
    else:
        n_classes = scores.shape[1]
        x = leads(scores).ravel()
        hit = (codes[:, None] == np.arange(n_classes)).ravel()
        by_entry = np.repeat(weights, n_classes)
    n1, n0 = float(by_entry[hit].sum()), float(by_entry[~hit].sum())
    low, high = 1.0 / (n0 + 2.0), (n1 + 1.0) / (n1 + 2.0)
    # The regression takes scores less than 1e-15 apart for one, so small ones are enlarged, by a
    # power of two, which rounds nothing.
    exponent = min(int(np.frexp(np.abs(x).max())[1]), 0)
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
        np.ldexp(x, -exponent), hit.astype(np.float64), by_entry / by_entry.max()
    )
    # Smoothing the targets is the same as smoothing the fit, which commutes with a rising line.
    return {
        "scores": np.ldexp(fitted.X_thresholds_, exponent),
        "probabilities": low + (high - low) * fitted.y_thresholds_,
    }
