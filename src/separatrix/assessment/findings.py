"""Findings from the table, from the encoded matrix and from the fit, each reported once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.assessment.certificates import certificate_findings
from separatrix.assessment.evaluation_data import EvaluationData
from separatrix.assessment.measuring import measured_findings
from separatrix.assessment.other_scores import OtherScore, figure
from separatrix.geometry.diagnosis.alerts import alerts_as_findings, gravity, not_alerted
from separatrix.geometry.diagnosis.diagnosis import Diagnosis, diagnose
from separatrix.geometry.diagnosis.findings import Finding, counts_by_severity
from separatrix.messages import Joined, Message
from separatrix.models.registry import stated
from separatrix.tables.table import quote


def finding_record(
    evaluation: EvaluationData,
    certificate: Any,
    why: str | None,
    measured: list[dict[str, Any]],
    wording: Callable[[str], str],
    diagnosis: Diagnosis | None,
) -> dict[str, Any]:
    """The findings on all that may be wrong, from the gravest.

    ``diagnosis``: the result of :func:`diagnosis_of`.

    Returns
    -------
    dict
        ``findings``, ``counts`` (of every severity), ``checked`` and ``skipped``.
    """
    found = certificate_findings(certificate, why)
    found += measured_findings(evaluation, measured)
    if not evaluation.same_data:
        found.append(
            Finding(
                "other_data",
                "note",
                "these are not the data of the fit",
                "the scores below are measured on these rows, which may not have been fitted; the "
                "certificate belongs to the fit",
            )
        )
    else:
        found += _other_findings(evaluation.provenance)
    checked: tuple[str, ...] = ()
    skipped: dict[str, str] = {}
    if evaluation.table is not None:
        found += [Finding("table", "warning", alert, "") for alert in evaluation.table.alerts]
    if evaluation.encoder is not None:
        found += map(_explained, alerts_as_findings(evaluation.encoder))
    if diagnosis is not None:
        new = [_of_model(one, evaluation.model) for one in diagnosis]
        if evaluation.encoder is not None:
            new = list(not_alerted(new, evaluation.encoder))
        found += new
        checked, skipped = diagnosis.checked, dict(diagnosis.skipped)
    found = sorted((one.worded(wording) for one in found), key=gravity)
    return {
        "findings": [one.to_dict() for one in found],
        "counts": counts_by_severity(found),
        "checked": list(checked),
        "skipped": skipped,
    }


def _other_findings(provenance: Mapping[str, Any]) -> list[Finding]:
    """The findings from the scores that the fit measured beside that of its random split."""
    held_out = provenance.get("held_out")
    if held_out is None:
        return []
    found = []
    for one in OtherScore.all_of(provenance):
        warning = one.warning(held_out)
        if warning is not None:
            where = {"columns": list(one.columns)}
            found.append(Finding(f"falls_by_{one.by}", "warning", warning, "", "", where))
        elif one.by == "without":
            what = Message(
                "leaks",
                columns=Joined(tuple(map(quote, one.columns))),
                score=figure(held_out),
                fewer=figure(one.scores),
            )
            where = {"columns": list(one.columns)}
            found.append(Finding("gives_label_away", "warning", what, *_LEAK, where))
    return found


_LEAK = (
    "a column that is known only with the label is missing from new rows, so the scores below are "
    "too optimistic",
    "leave it out unless it is known before the label",
)

# Why what the encoder noticed matters, and what to do, by the code of the finding.
_ENCODER: dict[str, tuple[str, str]] = {
    "left_out": (
        "a column that is the same in every row, or different in every row, cannot tell classes "
        "apart",
        "",
    ),
    "gives_label_away": _LEAK,
    "one_to_one": (
        "the split of the weight between the two columns is arbitrary",
        "leave one of them out",
    ),
    "collinear": (
        "the split of the weight between the two columns is arbitrary",
        "leave one of them out",
    ),
    "row_numbers": (
        "the number of a row is no property of what it describes",
        "leave the column out",
    ),
}


def _explained(finding: Finding) -> Finding:
    why, remedy = _ENCODER.get(finding.code, ("", ""))
    return replace(finding, why=finding.why or why, remedy=finding.remedy or remedy)


def _of_model(finding: Finding, model: Any) -> Finding:
    """A finding about the data, as far as it is true of the model."""
    # The explanation for a model whose weights stay finite all the same.
    why = stated(model, "_where_separable")
    if why is None or finding.code not in ("separable", "quasi_separable"):
        return finding
    return replace(finding, severity="note", why=why, remedy="")


def diagnosis_of(evaluation: EvaluationData, time_limit: float) -> Diagnosis | None:
    """The diagnosis of the rows that a report shows; None where there are no two classes."""
    part = evaluation.shown
    if evaluation.quantity or len(np.unique(part.y)) < 2:
        return None
    return diagnose(
        part.X,
        part.y,
        fit_intercept=bool(getattr(evaluation.model, "fit_intercept", True)),
        time_limit=time_limit,
        feature_names=evaluation.feature_names,
        row_numbers=part.numbers,
        value_text=None if evaluation.encoder is None else evaluation.encoder.value_text,
    )
