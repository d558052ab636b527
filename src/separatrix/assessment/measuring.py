"""How well a model predicts each part of its rows, and what the figures warn of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.assessment.blocks import score_blocks
from separatrix.assessment.decision import Decision
from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.assessment.intervals import (
    area_interval,
    class_intervals,
    mean_interval,
    number_intervals,
)
from separatrix.assessment.scoring import Predictions, ranking_scores, score_predictions
from separatrix.data.class_scores import unit_of_weights
from separatrix.geometry.diagnosis.findings import Finding, finding
from separatrix.messages import Message, Parameter, percent, quoted
from separatrix.scale.blocks import BlockedData

# Every report makes these tests: chance alone exceeds this score once in thousands.
_FAR = 4.0
# A normal approximation is of no use for fewer rows.
_FEW_ROWS = 50


def measure(part: Part) -> dict[str, Any]:
    """The figures of one part, each with its 95 % interval."""
    model, y, predicted = part.model, part.y, part.predictions
    record: dict[str, Any] = {"rows": part.key, "name": part.name}
    record |= score_predictions(model, predicted, y, part.positive, part.weights)
    if "mse" in record:
        # The intervals of weighted figures would be others.
        found = number_intervals(y, predicted.labels) if part.weights is None else {}
        return record | {f"{name}_interval": found.get(name) for name in ("r2", "rmse", "mae")}
    record["roc_auc_interval"] = None
    if record["roc_auc"] is not None and part.weights is None:
        scores = ranking_scores(predicted, model.classes_)
        record["roc_auc_interval"] = area_interval(y, scores, model.classes_)
    record["log_loss_interval"] = None
    record["calibration_z"] = None
    if predicted.probabilities is not None and part.weights is None:
        own = np.searchsorted(model.classes_, y)
        chosen = predicted.probabilities[np.arange(len(y)), own]
        record["log_loss_interval"] = mean_interval(-np.log(np.clip(chosen, EPS, 1.0)))
        record["calibration_z"] = calibration_z(predicted.probabilities, own)
    confusion = np.asarray(record["confusion_matrix"])
    if part.weights is not None and part.weights.any():
        unit = unit_of_weights(float(part.weights.max()))
        weights = part.weights / unit
        confusion = confusion / unit * (weights.sum() / float(weights @ weights))
    return _with_class_intervals(record, confusion)


def _with_class_intervals(record: dict[str, Any], confusion: np.ndarray) -> dict[str, Any]:
    """The figures with the intervals of those of every class, from the confusion matrix."""
    for entry, found in zip(record["per_class"], class_intervals(confusion), strict=True):
        entry |= {f"{name}_interval": found[name] for name in ("precision", "recall", "f1")}
    return record


def measure_blocks(
    model: Any,
    data: BlockedData,
    key: str,
    name: str,
    *,
    positive: Any = None,
    decision: Decision | None = None,
) -> dict[str, Any]:
    """The figures of rows that come in blocks; those that need all scores at once are None.

    ``key`` and ``name``: as in :class:`Part`.
    """
    record: dict[str, Any] = {"rows": key, "name": name}
    record |= score_blocks(model, data, positive=positive, decision=decision, intervals=True)
    if "mse" in record:
        return record | {f"{one}_interval": None for one in ("r2", "rmse", "mae")}
    record["calibration_z"] = None
    return _with_class_intervals(record, np.asarray(record["confusion_matrix"]))


def calibration_z(probabilities: np.ndarray, own: np.ndarray) -> float | None:
    r"""The deviation of the squared error of probabilities from its expected value.

    It is in standard deviations, after Spiegelhalter (1986): for labels drawn with the
    probabilities :math:`p`, :math:`\sum (y - p)(1 - 2p)` has the mean 0 and the variance
    :math:`\sum (1 - 2p)^2 p (1 - p)`.  For several classes it is the deviation of the class for
    which it is largest.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
    own : ndarray of int, shape (n,)
        The column of each row's class.
    """
    if len(own) < _FEW_ROWS:
        return None
    found = []
    for k in range(1 if probabilities.shape[1] == 2 else 0, probabilities.shape[1]):
        p, hit = probabilities[:, k], own == k
        variance = float(np.sum((1.0 - 2.0 * p) ** 2 * p * (1.0 - p)))
        if variance > 0.0:
            found.append(float(np.sum((hit - p) * (1.0 - 2.0 * p))) / math.sqrt(variance))
    return max(found, key=abs) if found else None


def spoiled_by_weights(model: Any, predicted: Predictions, y: np.ndarray) -> Finding | None:
    r"""Return the finding that class weights shift the probabilities; None where they do not.

    For labels drawn with the probabilities :math:`p` of a class, :math:`\sum (y - p)` has the mean
    0 and the variance :math:`\sum p (1 - p)`.

    Parameters
    ----------
    model : estimator
    predicted : Predictions
        The predictions for rows that were not fitted.
    y : ndarray of shape (n,)
        The labels of these rows.
    """
    probabilities = predicted.probabilities
    if getattr(model, "class_weight", None) is None or probabilities is None:
        return None
    if len(y) < _FEW_ROWS:
        return None
    counts = np.bincount(np.searchsorted(model.classes_, y), minlength=len(model.classes_))
    means, shares = probabilities.mean(axis=0), counts / len(y)
    spreads = np.sqrt((probabilities * (1.0 - probabilities)).sum(axis=0)) / len(y)
    k = int(np.argmax(means - shares))
    if means[k] - shares[k] <= _FAR * spreads[k]:
        return None
    label = quoted(model.classes_[k].item())
    mean, share = percent(float(means[k])), percent(float(shares[k]))
    what = Message("weights_shift", label=label, mean=mean, share=share)
    why = "a class that counts more than its rows seems more probable than it is"
    return Finding("not_calibrated", "warning", what, why, Message("without_weights"))


# The warnings that figures give rise to, why they matter, and what to do, as in a diagnosis.
_WORDINGS: dict[str, tuple[str, str, str]] = {
    "nothing_held_out": (
        "every row was fitted, so these scores do not show how well the model predicts new rows",
        "a model nearly always scores better on the rows that it was fitted to",
        "hold rows out, or measure it on other labelled rows",
    ),
    "one_class": (
        "{rows} of the class {majority}",
        "so there is no ROC curve, and the rate of false alarms is unknown",
        "measure the model on rows of all classes",
    ),
    "no_better_than_majority": (
        "the accuracy of {accuracy} is below the {share} of always predicting {majority}",
        "measured on {n:,} {name}",
        "look at precision and recall by class; other class weights, other columns or another "
        "model may help",
    ),
    "near_majority": (
        "the accuracy of {accuracy} may be no better than the {share} of always predicting "
        "{majority}",
        "its 95 % interval on {n:,} {name} includes that share",
        "look at precision and recall by class, and at the ROC curve",
    ),
    "overfitted": (
        "the accuracy is {fitted} on the rows of the fit, but {accuracy} on the {name}",
        "the 95 % intervals do not overlap, so chance hardly explains it: the model has partly "
        "memorised its rows",
        "",
    ),
    "scores alone": (
        "the scores are not probabilities",
        "they rank the rows, but a row of score 2 is not twice as likely as one of score 1",
        "",
    ),
    "not_calibrated": (
        "the probabilities are not calibrated: their squared error is {size:.1f} standard "
        "deviations {side} its expected value",
        "Spiegelhalter's test on {n:,} {name}; the calibration curve shows where",
        "",
    ),
}


def measured_findings(evaluation: EvaluationData, measured: list[dict[str, Any]]) -> list[Finding]:
    """The findings that the figures give rise to."""
    by_rows = {record["rows"]: record for record in measured}
    fit, held = by_rows.get("fit"), by_rows.get("held_out") or by_rows.get("given")
    found = [] if held else [_finding("nothing_held_out", "warning")]
    if evaluation.quantity:
        return found
    one = held or fit
    assert one is not None
    found += _beside_the_majority(one)
    if fit and held and held["accuracy_interval"][1] < fit["accuracy_interval"][0]:
        remedy = _against_overfitting(evaluation.model)
        found.append(_finding("overfitted", "warning", held, remedy, fitted=fit["accuracy"]))
    z = one["calibration_z"]
    if evaluation.measured.predictions.probabilities is None:
        remedy = Message("calibrate") if hasattr(evaluation.model, "calibrate") else ""
        found.append(_finding("not_calibrated", "note", None, remedy, wording="scores alone"))
        return found
    part = evaluation.measured
    shifted = spoiled_by_weights(evaluation.model, part.predictions, part.y) if held else None
    if shifted is not None and part.weights is None:
        found.append(shifted)
    elif z is not None and abs(z) > _FAR and held:
        remedy = "calibrate them before you read them as frequencies"
        side = "above" if z > 0 else "below"
        found.append(_finding("not_calibrated", "warning", one, remedy, size=abs(z), side=side))
    return found


def _beside_the_majority(one: dict[str, Any]) -> list[Finding]:
    """The finding that the accuracy is not clearly above that of the most frequent class."""
    share, (low, high) = one["majority"]["share"], one["accuracy_interval"]
    if share == 1.0:
        n, name = one["n"], one["name"]
        rows = f"the only one of the {name} is" if n == 1 else f"all {n:,} {name} are"
        return [_finding("one_class", "warning", one, rows=rows)]
    if high < share:
        return [_finding("no_better_than_majority", "problem", one)]
    if low <= share and len(one["per_class"]) > 1:
        return [_finding("near_majority", "warning", one)]
    return []


def _finding(
    code: str,
    severity: str,
    record: dict[str, Any] | None = None,
    remedy: str = "",
    wording: str = "",
    **values: Any,
) -> Finding:
    """A finding about the figures of some rows."""
    if record is not None:
        values |= {"n": record["n"], "name": record["name"], "accuracy": record["accuracy"]}
        values["majority"] = quoted(record["majority"]["class"])
        values["share"] = record["majority"]["share"]
    for name in ("accuracy", "share", "fitted"):
        if name in values:
            values[name] = _percent(values[name])
    found = finding(code, severity, None, wording, _WORDINGS, **values)
    return replace(found, remedy=remedy) if remedy else found


# The advice that makes a model simpler, by the parameter that does.
_SIMPLER = {
    "C": Message("stronger_penalty", direction="smaller", parameter=Parameter("C")),
    "lam": Message("stronger_penalty", direction="larger", parameter=Parameter("lam")),
    "alpha": Message("stronger_penalty", direction="larger", parameter=Parameter("alpha")),
    "shrinkage": "more shrinkage, ",
    "degree": "a lower degree, ",
}


def _against_overfitting(model: Any) -> str:
    names = model.get_params(deep=False)
    stronger = next((advice for name, advice in _SIMPLER.items() if name in names), "")
    return Message("overfitted", stronger=stronger)


def _percent(share: float) -> str:
    # Never 100 % where it is not all.
    return percent(share) if not 0.0005 <= share <= 0.9995 else f"{100.0 * share:.1f} %"
