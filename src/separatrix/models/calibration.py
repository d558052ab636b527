"""Probabilities for classifiers that have scores: their folds, and what their fits call."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from separatrix.data import rules
from separatrix.data.design import as_design
from separatrix.data.labels import Labels, encode, plain_label
from separatrix.data.random_state import seed_of
from separatrix.data.splitting import fold_numbers
from separatrix.data.validation import require_classes, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.expressions import Expression, calibrated
from separatrix.messages import Message, Setting, message_of
from separatrix.models.limits import seconds_to
from separatrix.models.parameters import parameter
from separatrix.models.predicting import OfClasses, class_scores
from separatrix.probabilities.calibration import METHODS, fit_calibration

_MOST_FOLDS = 5


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
    """The rows that are left out of each fit; iterates over pairs ``(train, test)``.

    Attributes
    ----------
    pairs : tuple of (ndarray, ndarray)
        Row numbers, ascending; rows of weight zero are in none.
    seed : int
        The seed of the fits.
    deadline : float
        The end of the fits, in seconds of ``time.perf_counter``; infinite without a time limit.
    shared : object
        The data that the fit to all rows shares with those of the folds, as the matrix of a kernel.
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
    return OfClasses.predict_proba(self, X)


predict_log_proba = available_if(_calibrating)(OfClasses.predict_log_proba)


def from_scores(model: Any, scores: Expression, label: Expression) -> Expression | None:
    """The probabilities of a model that is to have them; else None."""
    if model._calibration_method is None:
        return None
    if "calibration_" not in vars(model):
        raise NotFittedError(
            f"This {type(model).__name__} has weights but no calibration: it was fitted with "
            "calibrate=None, was interrupted before its calibration, or was continued with "
            "partial_fit; call fit."
        )
    return calibrated(model.calibration_, scores, label)


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
        out[test] = class_scores(member, X[test])
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
        # Another name of what ``calibrate`` requests.
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
        # Other errors are reported by the fit.
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
                first=message_of(early[0].message),
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
