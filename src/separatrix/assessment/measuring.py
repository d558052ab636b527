"""How well a model predicts each part of its rows, and what the figures warn of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.assessment.intervals import (
    area_interval,
    class_intervals,
    mean_interval,
    number_intervals,
)
from separatrix.assessment.material import Material, Part
from separatrix.assessment.scoring import ranking_scores, score_predictions
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.messages import Message, Parameter, percent, quoted

__all__ = ["measure", "measured_findings"]

# Of tests that are made in every report: what chance alone would do once in thousands.
_FAR = 4.0
# Before a normal approximation says anything.
_FEW_ROWS = 50


def measure(part: Part) -> dict[str, Any]:
    """The figures of one part, each with its 95 % interval."""
    model, y, told = part.model, part.y, part.told
    record: dict[str, Any] = {"rows": part.key, "name": part.name}
    record |= score_predictions(model, told, y)
    if "mse" in record:
        found = number_intervals(y, told.labels)
        return record | {f"{name}_interval": found[name] for name in ("r2", "rmse", "mae")}
    labels, counts = np.unique(y, return_counts=True)
    most = int(np.argmax(counts))
    record["majority"] = {"class": labels[most].item(), "share": int(counts[most]) / len(y)}
    record["roc_auc_interval"] = None
    if record["roc_auc"] is not None:
        scores = ranking_scores(told, model.classes_)
        record["roc_auc_interval"] = area_interval(y, scores, model.classes_)
    record["log_loss_interval"] = None
    record["calibration_z"] = None
    if told.probabilities is not None:
        own = np.searchsorted(model.classes_, y)
        chosen = told.probabilities[np.arange(len(y)), own]
        record["log_loss_interval"] = mean_interval(
            -np.log(np.clip(chosen, np.finfo(np.float64).eps, 1.0))
        )
        record["calibration_z"] = calibration_z(told.probabilities, own)
    intervals = class_intervals(np.asarray(record["confusion_matrix"]))
    for entry, found in zip(record["per_class"], intervals, strict=True):
        entry |= {f"{name}_interval": found[name] for name in ("precision", "recall", "f1")}
    return record


def calibration_z(probabilities: np.ndarray, own: np.ndarray) -> float | None:
    r"""How far the squared error of probabilities is from what they themselves promise.

    In standard deviations, after Spiegelhalter (1986): of labels drawn with the probabilities
    :math:`p`, :math:`\sum (y - p)(1 - 2p)` has the mean 0 and the variance
    :math:`\sum (1 - 2p)^2 p (1 - p)`.  For several classes that of the class farthest from it.

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


def measured_findings(material: Material, measured: list[dict[str, Any]]) -> list[Finding]:
    """What the figures warn of."""
    by_rows = {record["rows"]: record for record in measured}
    fit, held = by_rows.get("fit"), by_rows.get("held_out") or by_rows.get("given")
    found = []
    if held is None:
        found.append(
            Finding(
                "nothing_held_out",
                "warning",
                "every row was fitted, so nothing here says how good the model is on new rows",
                "a model always looks better on the rows that it was fitted to",
                "hold rows out, or measure it on other labelled rows",
            )
        )
    if material.quantity:
        return found
    one = held or fit
    assert one is not None
    share, most = one["majority"]["share"], one["accuracy_interval"][1]
    if share == 1.0:
        found.append(
            Finding(
                "one_class",
                "warning",
                f"{_all_of(one)} of the class {quoted(one['majority']['class'])}",
                "so there is no ROC curve, and nothing here says how often rows of other classes "
                "are taken for it",
                "measure the model on rows of all classes",
            )
        )
    elif most < share:
        found.append(
            Finding(
                "no_better_than_majority",
                "problem",
                f"with an accuracy of {_percent(one['accuracy'])} the model is worse than always "
                f"saying {quoted(one['majority']['class'])}, which is right for {_percent(share)}",
                f"measured on {one['n']:,} {one['name']}",
                "look at precision and recall by class; another weight of the classes, other "
                "columns or another model may help",
            )
        )
    elif one["accuracy_interval"][0] <= share and len(one["per_class"]) > 1:
        found.append(
            Finding(
                "near_majority",
                "warning",
                f"the accuracy of {_percent(one['accuracy'])} cannot be told from that of always "
                f"saying {quoted(one['majority']['class'])}, {_percent(share)}",
                f"its 95 % interval on {one['n']:,} {one['name']} holds that share",
                "look at precision and recall by class, and at the ROC curve",
            )
        )
    if fit and held and held["accuracy_interval"][1] < fit["accuracy_interval"][0]:
        found.append(
            Finding(
                "overfitted",
                "warning",
                f"right for {_percent(fit['accuracy'])} of the rows it was fitted to, but for "
                f"{_percent(held['accuracy'])} of the {held['name']}",
                "the 95 % intervals do not meet, which chance alone would seldom do: the model has "
                "learned its rows by heart in part",
                _against_overfitting(material.model),
            )
        )
    part = material.measured
    if part.told.probabilities is None:
        found.append(
            Finding(
                "not_calibrated",
                "note",
                "the scores are no probabilities",
                "they order rows, but a score of 2 is not twice as likely as 1",
                _calibration_remedy(material.model),
            )
        )
    elif one["calibration_z"] is not None and abs(one["calibration_z"]) > _FAR and held:
        found.append(
            Finding(
                "not_calibrated",
                "warning",
                "the probabilities are not calibrated: their squared error is "
                f"{abs(one['calibration_z']):.1f} standard deviations "
                f"{'above' if one['calibration_z'] > 0 else 'below'} what they promise",
                f"Spiegelhalter's test on {one['n']:,} {one['name']}; the calibration curve shows "
                "where",
                "do not read them as frequencies before they are calibrated"
                if getattr(material.model, "class_weight", None) is None
                else "weights of classes change how frequent they seem to be: fit without them "
                "where probabilities are to be frequencies",
            )
        )
    return found


def _calibration_remedy(model: Any) -> str:
    if not hasattr(model, "calibrate"):
        return ""
    return Message("calibrate")


# What makes a model simpler, by the parameter that does.
_SIMPLER = {
    "C": Message("stronger_penalty", direction="smaller", parameter=Parameter("C")),
    "lam": Message("stronger_penalty", direction="larger", parameter=Parameter("lam")),
    "alpha": Message("stronger_penalty", direction="larger", parameter=Parameter("alpha")),
    "shrinkage": "more shrinkage, ",
    "degree": "a lower degree, ",
}


def _against_overfitting(model: Any) -> str:
    names = model.get_params(deep=False)
    stronger = next((told for name, told in _SIMPLER.items() if name in names), "")
    return Message("overfitted", stronger=stronger)


def _all_of(record: dict[str, Any]) -> str:
    if record["n"] == 1:
        return f"the only one of the {record['name']} is"
    return f"all {record['n']:,} {record['name']} are"


def _percent(share: float) -> str:
    # Never 100 % where it is not all.
    return percent(share) if not 0.0005 <= share <= 0.9995 else f"{100.0 * share:.1f} %"
