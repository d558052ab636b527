"""Findings on a terminal: in words about commands, and none that were told already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from separatrix.cli.output import Output
from separatrix.geometry.diagnosis import Finding, diagnose
from separatrix.tables import Encoder

# Beyond so many stored numbers a fit does not wait for the slower checks.
_QUICK_ENTRIES = 5_000_000
_QUICK_GRAM = 5e8

# What an alert of the encoder is about, by how its sort ends.
_SORTS = (
    ("left out", "left_out"),
    ("the target", "gives_label_away"),
    ("an earlier one", "one_to_one"),
    ("on another scale", "collinear"),
    ("of row numbers", "row_numbers"),
)

# The library speaks of its arguments; here they are options and commands.
_AS_COMMANDS = (
    (re.compile(r"class_weight='balanced'"), "--class-weight balanced"),
    (re.compile(r"separatrix\.separability\(X, y\)"), "separatrix separable"),
    (re.compile(r"\btime_limit\b"), "--time-limit"),
)


def in_commands(text: str) -> str:
    """A sentence of the library, with options and commands where it names arguments."""
    for pattern, replacement in _AS_COMMANDS:
        text = pattern.sub(replacement, text)
    return text


def warn_before_fit(
    out: Output,
    X: Any,
    y: np.ndarray,
    encoder: Encoder,
    row_numbers: np.ndarray,
    *,
    penalised: bool,
) -> None:
    """Warn of what will hurt the fit, as far as it is quickly found and was not told already.

    Parameters
    ----------
    out : Output
    X, y : matrix and ndarray
        The rows to fit.
    encoder : Encoder
        Of these rows; its own alerts are out.
    row_numbers : ndarray of int
        Where the rows stand in the file, from 1.
    penalised : bool
        Whether the weights have a penalty. Without one it matters that they are not determined.
    """
    n, d = X.shape
    checks = ["classes"]
    if (X.nnz if hasattr(X, "nnz") else X.size) <= _QUICK_ENTRIES:
        checks += ["rows", "label"]
        if None in encoder.columns_:  # of an svmlight file; other numbers are standardised
            checks.append("scales")
    if not penalised:
        checks += ["shape", "columns"]
        if n * d * d <= _QUICK_GRAM:
            checks.append("collinear")
    found = diagnose(
        X, y, checks=checks, feature_names=encoder.feature_names_, row_numbers=row_numbers
    )
    for finding in told_anew(found, encoder):
        if finding.severity != "note":
            out.warn(in_commands("; ".join(filter(None, (finding.what, finding.remedy)))))


def alerts_as_findings(encoder: Encoder) -> list[Finding]:
    """What the encoder noticed at fit."""
    about = {sentence: (sort, columns) for sort, columns, sentence in encoder.alerted_}
    made = []
    for line in encoder.alerts_:
        # The last lines count what is not told one by one, and end with the sort.
        sort, columns = about.get(line, (line, ()))
        made.append(Finding(_code(sort), "warning", line, "", "", {"columns": list(columns)}))
    return made


def told_anew(found: Iterable[Finding], encoder: Encoder) -> list[Finding]:
    """The findings that the encoder's alerts have not told already."""
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

    def told(features: Sequence[str]) -> bool:
        """Whether these are features of different columns that say the same."""
        columns = {source.get(name) or "" for name in features}
        return len(columns) > 1 and len(set(map(first, columns))) == 1

    kept = []
    for finding in found:
        features = finding.where.get("columns", ())
        if finding.code.endswith("gives_label_away") and features:
            known = {source.get(name) for name in features} <= leaks
        elif finding.code == "collinear" and features:
            known = told(features)
        elif finding.code == "duplicate_columns":
            known = all(map(told, finding.where["groups"]))
        else:
            known = False
        if not known:
            kept.append(finding)
    return kept


def _code(sort: str) -> str:
    return next((code for end, code in _SORTS if sort.endswith(end)), "column")
