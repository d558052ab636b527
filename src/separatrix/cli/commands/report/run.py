"""What ``separatrix report`` and ``fit --report`` do, step by step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from separatrix._compiled import pool
from separatrix.assessment.decision import positive_of
from separatrix.cli.commands.report import ReportOptions
from separatrix.cli.interruption import undisturbed
from separatrix.cli.output import Exit, Output, reading_bar, say
from separatrix.cli.reading import (
    blocks_like_training,
    blocks_of_fit,
    decision_of,
    exceeds_memory,
    load_for_tables,
    read_again,
    read_like_training,
    sample_of,
)
from separatrix.cli.wording import Terminal
from separatrix.exceptions import DataError
from separatrix.persistence.model_file import StoredModel, check_writable
from separatrix.report.files import twin_of
from separatrix.report.report import Report
from separatrix.tables import Table


def run(out: Output, options: ReportOptions) -> Exit:
    """Read a model and a table, and write the report."""
    output = options.output
    document = twin_of(output)
    for path in (output, document):
        check_writable(path)
    stored = load_for_tables(options.model)
    # While DuckDB reads, which leaves the interpreter alone.
    pool.aside(_load_what_draws)
    if exceeds_memory(options.data, options.memory):
        report = _in_passes(out, stored, options)
    else:
        table = _table(stored, options)
        report = _make(stored, table, target=options.target, time_limit=options.time_limit)
    if not report.to_dict()["data"]["same_data"]:
        out.note(
            "these are not the data of the fit, so the scores are measured on all rows; the "
            "certificate belongs to the fit"
        )
    _save(out, report, output)
    out.document(Exit.DONE, {**report.to_dict(), "output": output, "document": document})
    return Exit.DONE


def _in_passes(out: Output, stored: StoredModel, options: ReportOptions) -> Report:
    """The report on a table that does not fit the memory."""
    target = options.target or stored.provenance.get("target")
    if target is None:
        raise DataError(
            "the model file does not record the name of its target: give it with --target"
        )
    recorded = stored.provenance.get("data") or {}
    known = "in_passes" in recorded and not options.missing
    reading = {"memory": options.memory, "unpacked_limit": options.unpacked_limit}
    with reading_bar(shown=not out.quiet) as on_progress:
        data = None
        if known:
            data = blocks_of_fit(stored, options.data, on_progress=on_progress, **reading)
        if data is None or data.fingerprint != recorded["fingerprint"]:
            known = False
            data = blocks_like_training(
                stored,
                options.data,
                options.missing,
                target=target,
                on_progress=on_progress,
                **reading,
            )
    parts = [("given", "rows of this table", data)]
    if known:
        parts = [("fit", "rows of the fit", data)]
        if data.held:
            parts.insert(0, ("held_out", "held-out rows", replace(data, blocks=data.held, held=())))
    return _of_blocks(
        stored,
        parts,
        sample_of(stored, options.data, options.missing, **reading),
        target=options.target,
        fingerprint=data.fingerprint,
        time_limit=options.time_limit,
    )


def _of_blocks(
    stored: StoredModel, parts: Iterable[tuple[str, str, Any]], sample: Table, **options: Any
) -> Report:
    """The report whose figures are of all rows of some parts, and its pictures of a sample."""
    from separatrix.assessment.measuring import measure_blocks

    shared: dict[str, Any] = {
        "positive": positive_of(stored.provenance, stored.model),
        "decision": decision_of(stored, None),
    }
    figures = [measure_blocks(stored.model, some, key, name, **shared) for key, name, some in parts]
    wording = Terminal(stored.encoder.feature_names_)
    return Report.from_sample(stored, sample, figures=figures, wording=wording, **shared)


def report_fit(
    out: Output, stored: StoredModel, table: Table, encoded: Mapping[str, Any], output: str
) -> bool:
    """Write the report of a model that was just fitted and saved; False when interrupted."""
    return _saved_unless_interrupted(out, lambda: _make(stored, table, encoded=encoded), output)


def report_fit_in_passes(
    out: Output,
    stored: StoredModel,
    data: Any,
    test: Any,
    output: str,
    *,
    memory: str | None,
) -> bool:
    """:func:`report_fit` of row blocks, and those of another table to measure on, or None."""
    parts = [("fit", "rows of the fit", data)]
    if test is not None:
        parts.insert(0, ("held_out", "test rows", test))
    elif data.held:
        parts.insert(0, ("held_out", "held-out rows", replace(data, blocks=data.held, held=())))
    config = stored.provenance["config"]

    def make() -> Report:
        sample = sample_of(stored, config["data"], None, memory=memory)
        return _of_blocks(stored, parts, sample, fingerprint=data.fingerprint)

    return _saved_unless_interrupted(out, make, output)


def _saved_unless_interrupted(out: Output, make: Callable[[], Report], output: str) -> bool:
    try:
        report = make()
    except KeyboardInterrupt:
        say("error", "interrupted before the report was written; the model is saved")
        return False
    _save(out, report, output)
    return True


def _load_what_draws() -> None:
    from separatrix.plots import decision, loss, metrics  # noqa: F401
    from separatrix.report import pictures  # noqa: F401


def _table(stored: StoredModel, options: ReportOptions) -> Table:
    """The table, read with the options of the fit where it is the same one."""
    recorded = (stored.provenance.get("data") or {}).get("fingerprint")
    known = recorded is not None and stored.provenance.get("config") is not None
    if known and not options.missing and options.data != "-":
        try:
            table = read_again(stored, options.data, unpacked_limit=options.unpacked_limit)
        except DataError:
            pass  # a table of other columns
        else:
            if table.fingerprint() == recorded:
                return table
    return read_like_training(
        stored, options.data, options.missing, unpacked_limit=options.unpacked_limit
    )


def _make(stored: StoredModel, table: Table, **options: Any) -> Report:
    names = stored.encoder.feature_names_
    return Report.from_table(stored, table, wording=Terminal(names), **options)


def _save(out: Output, report: Report, output: str) -> None:
    # Both files or none.
    with undisturbed():
        report.save(output)
    out.report("report", f"{output}, numbers in {os.path.basename(twin_of(output))}")
