"""The steps of ``separatrix diagnose``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.cli.commands.diagnose import DiagnoseOptions
from separatrix.cli.output import Exit, Output, aligned
from separatrix.cli.reading import (
    columns_of_all,
    describe_table,
    exceeds_memory,
    read_training_table,
    report_notes,
    training_sample,
)
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.diagnosis import Diagnosis, diagnose_table
from separatrix.geometry.diagnosis.tabular import PreparedTable, prepared_table
from separatrix.messages import counted, percent, quoted, sentences, short
from separatrix.tables import Table
from separatrix.tables.profiles.counting import rows_of
from separatrix.tables.profiles.records import ColumnProfile, TableProfile
from separatrix.tables.profiles.values import value_text

# Columns in the table at the terminal; all are in the page and in the document.
_COLUMNS = 60
_NAME, _ALERTS = 28, 60


def run(out: Output, options: DiagnoseOptions) -> Exit:
    """Read, encode, diagnose, print, and write the page."""
    n_rows = None
    parts: Iterable[Table] = ()
    if exceeds_memory(options.data, options.memory, options.sql):
        table = training_sample(options, described=True)
        n_rows = rows_of(options.data, options.sql)
        if n_rows is not None and n_rows > table.n_rows:
            parts = columns_of_all(options, table, n_rows)
    else:
        table = read_training_table(options, described=True)
    target = options.target or ("target" if "target" in table.columns else None)
    prepared = prepared_table(table, target)
    _report(out, prepared, n_rows)
    found = diagnose_table(
        prepared,
        fit_intercept=not options.no_intercept,
        time_limit=options.time_limit,
        # Where they stand in the file.
        row_numbers=1 + (np.arange(table.n_rows) if table.rows is None else table.rows),
        profile=True,
        n_rows=n_rows,
        parts=parts,
    )
    assert found.profile is not None
    profile = found.profile.worded(TERMINAL)
    found = replace(
        found,
        findings=tuple(one.worded(TERMINAL) for one in found),
        profile=profile,
    )
    for finding in found:
        out.answer(finding.severity, finding.what)
        for line in (finding.why, finding.remedy):
            if line:
                out.below(sentences(line))
    if profile.n_profiled < profile.n_described:
        out.report("described", f"the columns below, by all {profile.n_described:,} rows")
    out.reported("columns", _lines(profile))
    if options.report is not None:
        from separatrix.report.report import Report

        Report.from_diagnosis(found).save(options.report)
        out.report("report", options.report)
    out.answer("found", found.summary())
    out.document(Exit.DONE, _document(options, prepared, found))
    return Exit.DONE


def _report(out: Output, prepared: PreparedTable, n_rows: int | None) -> None:
    """Print what was read, and what was settled for the user."""
    out.report("read", describe_table(prepared.features, prepared.encoder))
    if n_rows is not None and n_rows > prepared.table.n_rows:
        out.report(
            "sample",
            f"{counted(prepared.table.n_rows, 'row')} of {n_rows:,}, because the table takes more "
            "than --memory; what follows is true of the sample, and rows are numbered in it",
        )
    if prepared.quantity:
        out.report("target", f"{quoted(prepared.target)}, a quantity")
    elif prepared.target is None:
        out.report("target", "none, so the columns are described by themselves; --target names one")
    report_notes(out, prepared.table, prepared.features.alerts)


def _document(
    options: DiagnoseOptions, prepared: PreparedTable, found: Diagnosis
) -> dict[str, Any]:
    return {
        "data": options.data,
        "target": prepared.target,
        "quantity": prepared.quantity,
        "rows": prepared.table.n_rows,
        "features": found.n_features,
        "classes": list(found.classes),
        "findings": [finding.to_dict() for finding in found],
        "checked": list(found.checked),
        "skipped": dict(found.skipped),
        "profile": None if found.profile is None else found.profile.to_dict(),
        "report": options.report,
    }


def _lines(profile: TableProfile) -> list[str]:
    """A line a column, below a head."""
    head = ["column", "kind", "missing", "distinct", "values", ""]
    rows = [head, *(_line(one, profile) for one in profile.columns[:_COLUMNS])]
    if len(profile.columns) == 0:
        return ["the columns have no names"]
    # Names, kinds, values and alerts stand to the left, numbers to the right.
    left = [*zip(*(aligned([[row[k]] for row in rows], indent="") for k in (0, 1, 4)), strict=True)]
    widths = [max(len(line[k]) for line in left) for k in range(3)]
    numbers = aligned([["", *row[2:4]] for row in rows], indent="")
    lines = [
        f"{name:{widths[0]}}  {kind:{widths[1]}}{number}  {values:{widths[2]}}  {row[5]}".rstrip()
        for (name, kind, values), number, row in zip(left, numbers, rows, strict=True)
    ]
    more = len(profile.columns) - _COLUMNS
    if more > 0:
        lines.append(f"{counted(more, 'more column')}: --report and --json have all of them")
    return lines


def _line(one: ColumnProfile, profile: TableProfile) -> list[str]:
    share = percent(one.n_missing / profile.n_described) if one.n_missing else ""
    alerts = "; ".join(one.alerts)
    if one.name == profile.target:
        alerts = "; ".join(["the target", *one.alerts])
    return [
        short(one.name, _NAME),
        one.kind,
        share,
        f"{one.n_distinct:,}",
        _values(one, profile.n_described),
        short(alerts, _ALERTS),
    ]


def _values(one: ColumnProfile, n: int) -> str:
    if one.numbers:
        ends = [value_text(one.kind, one.numbers[end]) for end in ("least", "most")]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)
    if one.kind == "text" or not one.levels:
        return ""
    shown = [
        f"{short(level, 12)} {percent(count / n)}" if one.levels[0][1] > 1 else short(level, 12)
        for level, count in one.levels[:2]
    ]
    more = one.n_distinct - len(shown)
    return ", ".join([*shown, *([f"{more:,} more"] if more else [])])
