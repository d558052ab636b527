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
    Both keep the order of the scores, and :math:`p_k` rises with :math:`s_k`: of the isotonic
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

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import as_design
from separatrix.data.labels import Labels, encode, plain_label
from separatrix.data.random_state import seed_of
from separatrix.data.splitting import fold_numbers
from separatrix.data.validation import require_classes, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.losses import LogLoss
from separatrix.messages import Message, Setting, said_by
from separatrix.models.limits import seconds_to
from separatrix.models.parameters import parameter
from separatrix.models.scores import agreeing, winners
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.solvers import select_solver
from separatrix.solvers.driver import minimise

__all__ = [
    "CALIBRATE",
    "METHODS",
    "Folds",
    "calibrate",
    "cross_fitted_scores",
    "fit_calibration",
    "predict_log_proba",
    "predict_proba",
    "probabilities",
    "require_rows_for_folds",
]

METHODS = ("sigmoid", "isotonic")

_MOST_FOLDS = 5
# No score is taken for larger: differences of two must stay finite.
_HUGE = 1e300
_STEEPEST = float(np.finfo(np.float64).max)


# --- scores to probabilities ------------------------------------------------------------------


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
    >>> from separatrix.models.calibration import fit_calibration, probabilities
    >>> scores = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> found = fit_calibration("isotonic", scores, np.array([0, 0, 1, 0, 1, 1]))
    >>> probabilities(found, np.array([-3.0, 0.0, 3.0])).round(3).tolist()
    [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]
    """
    scores = _bounded(scores)
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    if method == "isotonic":
        return {"method": method, **_isotonic(scores, codes, weights)}
    if scores.ndim == 1:
        return {"method": method, **_platt(scores, codes == 1, weights)}
    return {"method": method, "slope": _temperature(scores, codes, weights)}


def probabilities(calibration: dict[str, Any], scores: np.ndarray) -> np.ndarray:
    """Probabilities of all classes from scores; see :func:`fit_calibration`.

    Parameters
    ----------
    calibration : dict
    scores : ndarray of shape (n_samples,) or (n_samples, K)

    Returns
    -------
    ndarray of shape (n_samples, 2) or (n_samples, K)
        The class chosen by the scores has the largest entry, without ties.
    """
    winner = winners(scores)
    scores = _bounded(scores)
    isotonic = calibration["method"] == "isotonic"
    if scores.ndim == 1:
        if isotonic:
            positive = _interpolate(calibration, scores)
            proba = np.stack([1.0 - positive, positive], axis=1)
        else:
            with np.errstate(over="ignore"):
                z = calibration["slope"] * scores + calibration["intercept"]
            # Each from its own sigmoid: 1 - p has no small values.
            proba = np.stack([expit(-z), expit(z)], axis=1)
        # Non-decreasing still: at most one half on one side of zero, at least that on the other.
        against = proba[np.arange(len(proba)), winner] < 0.5
        proba[against] = 0.5
        return agreeing(proba, winner)
    if isotonic:
        proba = _interpolate(calibration, _leads(scores))
    else:
        with np.errstate(over="ignore"):
            proba = np.exp(calibration["slope"] * (scores - scores.max(axis=1, keepdims=True)))
    proba /= proba.sum(axis=1, keepdims=True)
    return agreeing(proba, winner)


def _bounded(scores: np.ndarray) -> np.ndarray:
    """Scores in float64 within reason; an overflow to NaN says nothing and is taken for zero."""
    scores = np.asarray(scores, dtype=np.float64)
    return np.clip(np.where(np.isnan(scores), 0.0, scores), -_HUGE, _HUGE)


def _leads(scores: np.ndarray) -> np.ndarray:
    """Return each score less the largest of the others."""
    rows, best = np.arange(len(scores)), scores.argmax(axis=1)
    others = scores.copy()
    others[rows, best] = -np.inf
    rival = np.repeat(scores.max(axis=1)[:, None], scores.shape[1], axis=1)
    rival[rows, best] = others.max(axis=1)
    out: np.ndarray = scores - rival
    return out


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
        x = _leads(scores).ravel()
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


def _interpolate(calibration: dict[str, Any], scores: np.ndarray) -> np.ndarray:
    """Linear between the points, constant beyond; monotone to the last digit."""
    x, p = calibration["scores"], calibration["probabilities"]
    if len(x) == 1:
        return np.full(scores.shape, p[0])
    clipped = np.clip(scores, x[0], x[-1])
    left = np.clip(np.searchsorted(x, clipped, side="right") - 1, 0, len(x) - 2)
    # A share of the way first: a slope could overflow between neighbouring scores.
    share = (clipped - x[left]) / (x[left + 1] - x[left])
    out: np.ndarray = np.minimum(p[left] + share * (p[left + 1] - p[left]), p[left + 1])
    return out


# --- folds ------------------------------------------------------------------------------------


def check_calibration(name: str, value: Any, sizes: rules.Sizes) -> None:
    """The rule of ``calibration_``."""
    if not isinstance(value, dict) or value.get("method") not in ("sigmoid", "isotonic"):
        raise rules.refuse(name, "is not a calibration")
    wanted: rules.Rules = {"method": rules.text, "folds": rules.whole(1)}
    if value["method"] == "sigmoid":
        wanted["slope"] = rules.number(low=0.0)
        if sizes.known["K"] == 2:
            wanted["intercept"] = rules.number()
    else:
        wanted["scores"] = rules.array("points")
        wanted["probabilities"] = rules.array("points", low=0.0)
    rules.check_parts(name, value, wanted, sizes)
    if value["method"] == "isotonic":
        scores, shares = value["scores"], value["probabilities"]
        rising = np.all(scores[1:] >= scores[:-1]) and np.all(shares[1:] >= shares[:-1])
        if not (len(scores) and rising and shares[-1] <= 1.0):
            raise rules.refuse(name, "is not a nondecreasing function from 0 to at most 1")


@dataclass(frozen=True)
class Folds:
    """Which rows are left out of which fit; iterates over pairs ``(train, test)``.

    Attributes
    ----------
    pairs : tuple of (ndarray, ndarray)
        Row numbers, ascending; rows of weight zero are in none.
    seed : int
        For the fits.
    deadline : float
        In seconds of ``time.perf_counter``; infinite without a time limit.
    shared : object
        What the fit to all rows has in common with those of the folds, as the matrix of a kernel.
    """

    pairs: tuple[tuple[np.ndarray, np.ndarray], ...]
    seed: int = 0
    deadline: float = np.inf
    shared: Any = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return iter(self.pairs)

    def seconds(self, done: int) -> float | None:
        """The share of the time left that the fold after ``done`` others may take."""
        return seconds_to(self.deadline, len(self.pairs) - done)


def _require_two_rows(labels: Labels, sample_weight: np.ndarray | None, method: str) -> None:
    codes, weights = labels.codes, np.ones(len(labels.codes))
    if labels.weights is not None:
        used = labels.weights > 0.0
        codes, weights = codes[used], weights[used]
        if sample_weight is not None:
            weights = sample_weight[used]
    # Two copies of one row are two rows, and so is one of weight two.
    enough = (np.bincount(codes) > 1) | (np.bincount(codes, weights=weights) >= 2.0)
    if not enough.all():
        label = plain_label(labels.classes[int(enough.argmin())])
        raise ValueError(
            Message("calibration_rows", calibrate=Setting("calibrate", method), label=repr(label))
        )


# --- the estimator's part ---------------------------------------------------------------------

# A classifier that can be calibrated has the parameter `calibrate`, and names both methods in its
# body.  Its `fit` calls, in this order, `require_rows_for_folds`, its own fit, and `calibrate`; it
# drops `calibration_` where it sets the attributes that a calibration would be of.

#: The parameter ``calibrate``.
CALIBRATE = parameter(default=None, choices=(None, *METHODS))


def _calibrating(model: Any) -> bool:
    if model._calibration_method is None:
        raise AttributeError(
            f"{type(model).__name__} has scores but no probabilities: set calibrate='sigmoid' or "
            "calibrate='isotonic', and fit it again."
        )
    return True


@available_if(_calibrating)
def predict_proba(self: Any, X: Any) -> np.ndarray:
    """Probabilities of the classes; available where ``calibrate`` is set.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, K)
        Rows sum to one. The largest entry always belongs to the predicted class, without ties:
        where two would be equal, that class has the next larger number. The entry of a class
        never decreases as its score increases and the others stay, except by rounding in the
        last digit.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If there is no calibration, because there was no fit since ``calibrate`` was set, the
        fit was interrupted before it, or ``partial_fit`` was called afterwards.
    """
    check_is_fitted(self)
    if not hasattr(self, "calibration_"):
        raise NotFittedError(
            f"This {type(self).__name__} has weights but no calibration: it was fitted with "
            "calibrate=None, was interrupted before its calibration, or was continued with "
            "partial_fit; call fit."
        )
    return probabilities(self.calibration_, self._calibration_scores(X))


@available_if(_calibrating)
def predict_log_proba(self: Any, X: Any) -> np.ndarray:
    """Logarithms of ``predict_proba``."""
    with np.errstate(divide="ignore"):
        return np.log(self.predict_proba(X))


def cross_fitted_scores(
    model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, folds: Folds
) -> np.ndarray:
    """Score the rows of every fold by a model that was fitted without the fold.

    ``X`` is validated and ``folds`` holds numbers of its rows; rows in no fold may get any
    score.  A ``ConvergenceWarning`` for a fold is caught, and all are summed up in one.
    """
    shape = (len(y),) if len(model.classes_) == 2 else (len(y), len(model.classes_))
    out = np.zeros(shape)
    for done, (train, test) in enumerate(folds):
        member = _fold_model(model, folds, done)
        if sample_weight is None:
            member.fit(X[train], y[train])
        else:
            member.fit(X[train], y[train], sample_weight=sample_weight[train])
        out[test] = member._calibration_scores(X[test])
    return out


def _fold_model(model: Any, folds: Folds, done: int) -> Any:
    """A fresh model with the same parameters for the fold after ``done`` others."""
    member: Any = clone(model)
    options: dict[str, Any] = {
        "calibrate": None,
        "random_state": (folds.seed + done) % 2**31,
        "record": False,
        "time_limit": folds.seconds(done),
    }
    if getattr(member, "probability", None) is True:
        # Another name of what calibrate asks for.
        options["probability"] = "deprecated"
    if isinstance(member.class_weight, dict):
        # Classes without a row of positive weight are in no fold.
        present = set(model.classes_.tolist())
        options["class_weight"] = {c: w for c, w in member.class_weight.items() if c in present}
    if member.verbose:
        print(f"calibration, fold {done + 1} of {len(folds)}", file=sys.stderr)
    return member.set_params(**options)


def require_rows_for_folds(model: Any, y: Any, sample_weight: Any = None) -> None:
    """Refuse a class with a single row now, and not after a long fit.

    Scikit-learn's name for the sigmoid requests probabilities whatever they are worth: a
    single row is then in every fit, and judged by one that knew it.
    """
    if model.calibrate is None:
        return
    model._parameters["calibrate"].check("calibrate", model.calibrate)
    try:
        y = column_or_1d(y)
        with np.errstate(invalid="ignore"):
            require_classes(y)
        sample_weight = sample_weight_of(sample_weight, y)
        labels = encode(y, sample_weight, model.class_weight)
    except (TypeError, ValueError):
        # What else is wrong is for the fit to say.
        return
    _require_two_rows(labels, sample_weight, model.calibrate)


def calibrate(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, since: float, shared: Any = None
) -> None:
    """Set ``calibration_``; ``since`` is when the time limit began to run.

    ``shared``: what the fit to all rows has in common with those of the folds.

    Called by the public fit, whose caller is where warnings point.
    """
    if model._calibration_method is None:
        return
    X, y = validate(model, X), column_or_1d(y)
    sample_weight = sample_weight_of(sample_weight, X)
    labels = encode(y, sample_weight, model.class_weight)
    used = np.arange(len(y))
    if labels.weights is not None:
        used = np.flatnonzero(labels.weights > 0.0)
    folds = replace(_folds_of(model, X, labels, used, since), shared=shared)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores = model._cross_fitted_scores(X, y, sample_weight, folds)
            found = fit_calibration(
                model._calibration_method,
                scores[used],
                labels.codes[used],
                None if labels.weights is None else labels.weights[used],
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "interrupted during the calibration of the probabilities; the model itself is "
                "fitted, and a new fit starts over"
            ) from None
    model.calibration_ = {**found, "folds": len(folds)}
    early = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in caught:
        if other not in early:
            warn(other.message, other.category)
    if early:
        warn(
            Message(
                "calibration_folds",
                folds=len(folds),
                early=len(early),
                first=said_by(early[0].message),
            ),
            ConvergenceWarning,
        )


def _folds_of(model: Any, X: Any, labels: Labels, used: np.ndarray, since: float) -> Folds:
    seed = seed_of(model.random_state)
    number, count = fold_numbers(as_design(X), labels.codes, used, most=_MOST_FOLDS, seed=seed)
    # The scores that rows of no fold have in the first are as good as those in any other.
    seen = np.where(number < 0, 0, number)
    pairs = tuple((used[number != k], used[seen == k]) for k in range(count))
    limit = model.time_limit
    return Folds(pairs, seed, np.inf if limit is None else since + limit)
