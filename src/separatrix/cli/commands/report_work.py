"""What ``separatrix report`` and ``fit --report`` do, step by step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from separatrix.cli.interruption import undisturbed
from separatrix.cli.output import Exit, Output, say
from separatrix.cli.reading import load_for_tables, read_like_training, read_training_table
from separatrix.cli.wording import Terminal
from separatrix.exceptions import DataError
from separatrix.persistence.model_file import StoredModel, check_writable
from separatrix.report.files import twin_of
from separatrix.report.report import Report
from separatrix.tables import Table

__all__ = ["report_file", "report_fit"]


def report_file(
    out: Output,
    path: str,
    data: str,
    output: str,
    *,
    missing: tuple[str, ...],
    target: str | None,
    time_limit: float,
) -> Exit:
    """Read a model and a table, and write the report."""
    for one in (output, twin_of(output)):
        check_writable(one)
    stored = load_for_tables(path)
    table = _table(stored, data, missing)
    report = _made(out, stored, table, target=target, time_limit=time_limit)
    if not report.to_dict()["data"]["same_data"]:
        out.note(
            "these are not the data of the fit, so the figures are of all rows, and the "
            "certificate is that of the fit"
        )
    _save(out, report, output)
    out.document(Exit.DONE, {**report.to_dict(), "output": output, "document": twin_of(output)})
    return Exit.DONE


def report_fit(
    out: Output, stored: StoredModel, table: Table, encoded: Mapping[str, Any], output: str
) -> bool:
    """Write the report of a model that was just fitted and saved; False when interrupted."""
    try:
        report = _made(out, stored, table, encoded=encoded)
    except KeyboardInterrupt:
        say("error", "interrupted before the report was made; the model is saved")
        return False
    _save(out, report, output)
    return True


def _table(stored: StoredModel, data: str, missing: tuple[str, ...]) -> Table:
    """The table, read with the options of the fit where it is the same one."""
    config = stored.provenance.get("config")
    recorded = (stored.provenance.get("data") or {}).get("fingerprint")
    if config is not None and recorded is not None and not missing and data != "-":
        try:
            table = read_training_table({**config, "data": data})
        except DataError:
            pass  # a table of other columns
        else:
            if table.fingerprint() == recorded:
                return table
    return read_like_training(stored, data, missing)


def _made(out: Output, stored: StoredModel, table: Table, **options: Any) -> Report:
    names = stored.encoder.feature_names_
    return Report.from_table(stored, table, wording=Terminal(names), **options)


def _save(out: Output, report: Report, output: str) -> None:
    # Both files or none.
    with undisturbed():
        report.save(output)
    out.report("report", f"{output}, numbers in {os.path.basename(twin_of(output))}")
