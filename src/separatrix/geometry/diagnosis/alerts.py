"""The alerts of an encoder as findings, and the removal of findings that repeat them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from separatrix.geometry.diagnosis.findings import SEVERITIES, Finding
from separatrix.messages import Joined, Message
from separatrix.tables.table import Remarks, quote

if TYPE_CHECKING:
    from separatrix.tables import Encoder

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
# The gravest first; what has no place here is in the middle.
_RANKS = {
    "falls_by_group": 0,
    "falls_by_time": 0,
    "gives_label_away": 0,
    "nearly_gives_label_away": 0,
    "gives_target_away": 0,
    "determines_target": 0,
    "row_numbers": 1,
    "column": 2,
    "one_to_one": 3,
    "collinear": 3,
    "left_out": 4,
}


def gravity(finding: Finding) -> tuple[int, int]:
    """The sort key of findings, the gravest first: the severity, and the rank within it."""
    return SEVERITIES.index(finding.severity), _RANKS.get(finding.code, 2)


def alerts_as_findings(encoder: Encoder) -> list[Finding]:
    """The encoder's alerts at fit, as findings."""
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
    return sorted(found, key=gravity)


def ranked_alerts(encoder: Encoder) -> list[str]:
    """The encoder's alerts at fit, as sentences, the gravest first."""
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
