"""What ``separatrix diagnose`` does, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from separatrix.assessment.findings import alerts_as_findings, told_anew
from separatrix.cli.output import Exit, Output
from separatrix.cli.raw import read_raw, tell_reading
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.diagnosis import diagnose
from separatrix.geometry.diagnosis.findings import SEVERITIES
from separatrix.messages import sentences


def diagnose_table(out: Output, config: dict[str, Any]) -> Exit:
    """Read, encode, diagnose and tell."""
    raw = read_raw(config, labels_too=True)
    tell_reading(out, raw, alerts=False)
    found = diagnose(
        raw.X,
        raw.y,
        fit_intercept=not config["no_intercept"],
        time_limit=config["time_limit"],
        feature_names=raw.names,
        row_numbers=raw.row_numbers,
    )
    findings = [*alerts_as_findings(raw.encoder), *told_anew(found, raw.encoder)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    found = replace(found, findings=tuple(findings))
    for finding in found:
        out.answer(finding.severity, TERMINAL(finding.what))
        for line in (finding.why, finding.remedy):
            if line:
                out.text(f"{'':10}{sentences(TERMINAL(line))}")
    out.answer("found", found.summary())
    out.document(
        Exit.DONE,
        {
            "data": config["data"],
            "target": raw.target,
            "rows": raw.table.n_rows,
            "features": len(raw.names),
            "classes": list(found.classes),
            "findings": [finding.to_dict() for finding in found],
            "checked": list(found.checked),
            "skipped": dict(found.skipped),
        },
    )
    return Exit.DONE
