"""Findings from the table, from the encoded matrix and from the fit, each reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.assessment.certificates import certificate_findings
from separatrix.assessment.evaluation_data import EvaluationData
from separatrix.assessment.measuring import measured_findings
from separatrix.assessment.other_scores import OtherScore, figure
from separatrix.geometry.diagnosis.diagnosis import Diagnosis, diagnose
from separatrix.geometry.diagnosis.findings import SEVERITIES, Finding
from separatrix.messages import Joined, Message
from separatrix.models.registry import stated
from separatrix.tables import Encoder
from separatrix.tables.table import Remarks, quote

# Why a column is no feature, of one and of several, by the sort of the encoder's alert.
_LEFT_OUT = {
    "of one value, left out": ("is constant", "are constant"),
    "that identify rows, left out": ("identifies rows", "identify rows"),
    "without values, left out": ("has no value", "have no value"),
    "of text without words, left out": ("has no words", "have no words"),
}
# Columns of a sort that are named.
_SHOWN = 5
# The code of a finding, by the sort of the encoder's alert.
_CODES = {
    **dict.fromkeys(_LEFT_OUT, "left_out"),
    "one-to-one with the target": "gives_label_away",
    "whose value determines the target": "gives_label_away",
    "one-to-one with an earlier one": "one_to_one",
    "that repeat an earlier one on another scale": "collinear",
    "of row numbers": "row_numbers",
}


def alerts_as_findings(encoder: Encoder) -> list[Finding]:
    """What the encoder noticed at fit."""
    if not encoder.alerted_:  # a file of version 0.1.0, which has the sentences alone
        return [Finding("column", "warning", sentence, "") for sentence in encoder.alerts_]
    remarks, about = Remarks(), {}
    # Rows that were encoded before have messages there, and their sentences with the columns.
    messages = {sentence: sentence for sentence in encoder.alerts_}
    gone = [(sort, columns) for sort, columns, _ in encoder.alerted_ if sort in _LEFT_OUT]
    for sort, columns, sentence in encoder.alerted_:
        if len(gone) < 2 or sort not in _LEFT_OUT:
            remarks.add(sort, messages.get(sentence, sentence))
            about[sentence] = columns
    found = [
        Finding(
            _code(sort), "warning", sentence, "", "", {"columns": list(about.get(sentence, ()))}
        )
        for sort, sentence in remarks.entries()
    ]
    if len(gone) > 1:
        found.append(_left_out(gone))
    return sorted(found, key=_rank)


def ranked_alerts(encoder: Encoder) -> list[str]:
    """What the encoder noticed at fit in sentences, the gravest first."""
    return [one.what for one in alerts_as_findings(encoder)]


def _left_out(gone: Sequence[tuple[str, Sequence[str]]]) -> Finding:
    """The finding about all columns that are no features, in one sentence."""
    by_sort: dict[str, list[str]] = {}
    for sort, columns in gone:
        by_sort.setdefault(sort, []).extend(columns)
    parts = tuple(
        Message(
            "left_out_because",
            columns=Joined(tuple(map(quote, names[:_SHOWN])), more=max(0, len(names) - _SHOWN)),
            why=_LEFT_OUT[sort][len(names) > 1],
        )
        for sort, names in by_sort.items()
    )
    names = [name for columns in by_sort.values() for name in columns]
    what = Message("left_out", count=len(names), parts=Joined(parts, separator=", "))
    return Finding("left_out", "warning", what, "", "", {"columns": names})


def not_alerted(found: Iterable[Finding], encoder: Encoder) -> list[Finding]:
    """The findings that the encoder's alerts have not reported already."""
    source = dict(zip(encoder.feature_names_, encoder.columns_, strict=True))
    leaks: set[str] = set()
    same: dict[str, str] = {}

    def first(column: str) -> str:
        while column in same:
            column = same[column]
        return column

    for sort, columns, _ in encoder.alerted_:
        if _code(sort) == "gives_label_away":
            leaks.update(columns)
        elif _code(sort) in ("one_to_one", "collinear"):
            one, other = map(first, columns)
            if one != other:
                same[other] = one

    def same_column(features: Sequence[str]) -> bool:
        """Whether these are features of different columns that say the same."""
        columns = {source.get(name) or "" for name in features}
        return len(columns) > 1 and len(set(map(first, columns))) == 1

    kept = []
    for finding in found:
        features = finding.where.get("columns", ())
        if finding.code in ("gives_label_away", "nearly_gives_label_away") and features:
            known = {source.get(name) for name in features} <= leaks
        elif finding.code == "collinear" and features:
            known = same_column(features)
        elif finding.code == "duplicate_columns":
            known = all(map(same_column, finding.where["groups"]))
        else:
            known = False
        if not known:
            kept.append(finding)
    return kept


def _code(sort: str) -> str:
    return _CODES.get(sort, "column")


def finding_record(
    evaluation: EvaluationData,
    certificate: Any,
    why: str | None,
    measured: list[dict[str, Any]],
    wording: Callable[[str], str],
    diagnosis: Diagnosis | None,
) -> dict[str, Any]:
    """All that may be wrong, from the gravest.

    ``diagnosis``: what :func:`diagnosis_of` gives.

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
    found = [
        replace(one, what=wording(one.what), why=wording(one.why), remedy=wording(one.remedy))
        for one in found
    ]
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), _rank(one)))
    return {
        "findings": [one.to_dict() for one in found],
        "counts": {s: sum(one.severity == s for one in found) for s in SEVERITIES},
        "checked": list(checked),
        "skipped": skipped,
    }


def _other_findings(provenance: Mapping[str, Any]) -> list[Finding]:
    """What the scores warn of that the fit measured beside that of its random split."""
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

# The gravest first; what has no place here is in the middle.
_RANKS = {
    "falls_by_group": 0,
    "falls_by_time": 0,
    "gives_label_away": 0,
    "nearly_gives_label_away": 0,
    "row_numbers": 1,
    "column": 2,
    "one_to_one": 3,
    "collinear": 3,
    "left_out": 4,
}


def _rank(finding: Finding) -> int:
    """The place of a finding among those of its severity."""
    return _RANKS.get(finding.code, 2)


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
    # What it means for a model whose weights stay finite all the same.
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
    )
