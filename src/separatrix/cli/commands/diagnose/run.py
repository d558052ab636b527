"""What ``separatrix diagnose`` does, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.assessment.findings import alerts_as_findings, not_alerted
from separatrix.cli.commands.diagnose import DiagnoseOptions
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import encode_raw, read_training_table
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.diagnosis import diagnose
from separatrix.geometry.diagnosis.findings import SEVERITIES
from separatrix.messages import sentences


def run(out: Output, options: DiagnoseOptions) -> Exit:
    """Read, encode, diagnose and print."""
    raw = encode_raw(read_training_table(options), options.target, labels_too=True)
    raw.report(out, raw.encoder)
    found = diagnose(
        raw.X,
        raw.y,
        fit_intercept=not options.no_intercept,
        time_limit=options.time_limit,
        feature_names=raw.names,
        # Where they stand in the file.
        row_numbers=np.arange(1, raw.table.n_rows + 1),
    )
    findings = [*alerts_as_findings(raw.encoder), *not_alerted(found, raw.encoder)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    found = replace(found, findings=tuple(findings))
    for finding in found:
        out.answer(finding.severity, TERMINAL(finding.what))
        for line in (finding.why, finding.remedy):
            if line:
                out.below(sentences(TERMINAL(line)))
    out.answer("found", found.summary())
    out.document(
        Exit.DONE,
        {
            "data": options.data,
            "target": raw.name,
            "rows": raw.table.n_rows,
            "features": len(raw.names),
            "classes": list(found.classes),
            "findings": [finding.to_dict() for finding in found],
            "checked": list(found.checked),
            "skipped": dict(found.skipped),
        },
    )
    return Exit.DONE
