"""The steps of ``separatrix report`` and ``fit --report``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from separatrix._compiled import pool
from separatrix.assessment.decision import positive_of
from separatrix.cli.commands.report import ReportOptions
from separatrix.cli.interruption import undisturbed
from separatrix.cli.output import Exit, Output, print_message
from separatrix.cli.reading import (
    blocks_like_training,
    blocks_of_fit,
    decision_of,
    exceeds_memory,
    held_out,
    load_for_tables,
    read_again,
    read_like_training,
    sample_of,
    target_of,
)
from separatrix.cli.wording import Terminal
from separatrix.exceptions import DataError
from separatrix.persistence.model_file import StoredModel, check_writable
from separatrix.report.files import twin_of
from separatrix.report.report import Report
from separatrix.tables import Table

if TYPE_CHECKING:
    from separatrix.scale.blocks import BlockedData


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
        report = Report.from_table(
            stored,
            _table(stored, options),
            target=options.target,
            time_limit=options.time_limit,
            wording=Terminal(stored.encoder.feature_names_),
        )
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
    target = target_of(stored, options.target)
    recorded = stored.provenance.get("data") or {}
    data = None
    if "in_passes" in recorded and not options.missing:
        data = blocks_of_fit(out, stored, options)
    fitted = data is not None and data.fingerprint == recorded["fingerprint"]
    if data is None or not fitted:
        data = blocks_like_training(out, stored, options, target=target)
    return of_blocks(
        stored,
        data,
        sample_of(stored, options),
        fitted=fitted,
        target=options.target,
        time_limit=options.time_limit,
    )


def of_blocks(
    stored: StoredModel,
    data: BlockedData,
    sample: Table,
    *,
    test: BlockedData | None = None,
    fitted: bool = True,
    **options: Any,
) -> Report:
    """The report whose figures are of all rows of row blocks, and its pictures of a sample.

    ``test``: row blocks of another table to measure on.  ``fitted``: whether these are the rows of
    the fit.
    """
    from separatrix.assessment.measuring import measure_blocks

    parts = [("fit", "rows of the fit", data) if fitted else ("given", "rows of this table", data)]
    if test is not None:
        parts.insert(0, ("held_out", "test rows", test))
    elif fitted and data.held:
        parts.insert(0, ("held_out", "held-out rows", held_out(data)))
    shared: dict[str, Any] = {
        "positive": positive_of(stored.provenance, stored.model),
        "decision": decision_of(stored, None),
    }
    figures = [measure_blocks(stored.model, some, key, name, **shared) for key, name, some in parts]
    return Report.from_sample(
        stored,
        sample,
        figures=figures,
        fingerprint=data.fingerprint,
        wording=Terminal(stored.encoder.feature_names_),
        **options,
    )


def report_fit(out: Output, make: Callable[[], Report], output: str) -> bool:
    """Write the report of a model that was just fitted and saved; False when interrupted."""
    try:
        report = make()
    except KeyboardInterrupt:
        print_message("error", "interrupted before the report was written; the model is saved")
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
            table = read_again(stored, options)
        except DataError:
            pass  # a table of other columns
        else:
            if table.fingerprint() == recorded:
                return table
    return read_like_training(stored, options, labels=target_of(stored, options.target))


def _save(out: Output, report: Report, output: str) -> None:
    # Both files or none.
    with undisturbed():
        report.save(output)
    out.report("report", f"{output}, numbers in {os.path.basename(twin_of(output))}")
