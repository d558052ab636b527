"""What an encoder noticed, as findings, and findings that say no more than that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from separatrix.geometry.diagnosis.findings import Finding
from separatrix.tables.table import Remarks

if TYPE_CHECKING:
    from separatrix.tables import Encoder

__all__ = ["alerts_as_findings", "not_alerted"]

# The code of a finding, by the sort of the encoder's alert.
_CODES = {
    "of one value, left out": "left_out",
    "of text without words, left out": "left_out",
    "that identify rows, left out": "left_out",
    "without values, left out": "left_out",
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
    for sort, columns, sentence in encoder.alerted_:
        remarks.add(sort, sentence)
        about[sentence] = columns
    return [
        Finding(
            _code(sort), "warning", sentence, "", "", {"columns": list(about.get(sentence, ()))}
        )
        for sort, sentence in remarks.entries()
    ]


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
