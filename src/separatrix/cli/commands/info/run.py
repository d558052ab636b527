"""What ``separatrix info`` does."""

from __future__ import annotations

from typing import Any

from separatrix.assessment.decision import Decision
from separatrix.assessment.origin import known_origin
from separatrix.assessment.records import describe_model, details_of, support_record
from separatrix.assessment.scoring import headline
from separatrix.cli.commands.info import InfoOptions
from separatrix.cli.commands.info.details import (
    print_details,
    print_tables,
    print_weights,
    report_support,
    weights_per_unit,
)
from separatrix.cli.output import Exit, Output
from separatrix.cli.wording import describe_certificate
from separatrix.messages import join, short
from separatrix.persistence.model_file import load_model


def run(out: Output, options: InfoOptions) -> Exit:
    """Read a model file and print what it holds."""
    stored = load_model(options.model)
    description = describe_model(stored.model, stored.encoder)
    certificate = getattr(stored.model, "certificate_", None)
    provenance = known_origin(stored.provenance)

    out.answer("model", f"{description['name']}: {description['formula']}")
    if description["classes"] is not None:
        out.answer("classes", join(map(short, description["classes"])))
    summary = f"{stored.encoder.summary_} -> " if stored.encoder is not None else ""
    out.answer("features", f"{summary}{description['features']:,}")
    if certificate is not None:
        out.answer("fit", describe_certificate(stored.model, certificate))
    support = support_record(stored.model)
    if support is not None:
        out.answer("kernel", _describe_kernel(support["kernel"]))
    report_support(out.answer, stored.model)
    details = details_of(stored.model)
    print_details(out, details)
    if provenance:
        _print_origin(out, stored.model, provenance)
    out.answer(
        "file",
        f"format {stored.format_version}, written by separatrix {stored.library_version}",
    )
    if provenance.get("weights"):
        out.text()
        print_weights(out.answered, weights_per_unit(provenance, stored.encoder))
    print_tables(out, details)
    out.document(
        Exit.DONE,
        {
            "file": options.model,
            "format_version": stored.format_version,
            "written_by": stored.library_version,
            "model": description,
            "support": support,
            "details": details,
            "certificate": None if certificate is None else certificate.to_dict(),
            "provenance": stored.provenance,
        },
    )
    return Exit.DONE


def _describe_kernel(record: dict[str, Any]) -> str:
    numbers = {k: v for k, v in record.items() if k not in ("name", "formula")}
    values = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
    return f"{record['name']}: {record['formula']}" + (f" ({values})" if values else "")


def _print_origin(out: Output, model: Any, provenance: dict[str, Any]) -> None:
    data, split = provenance.get("data"), provenance.get("split")
    if data and split:
        out.answer(
            "data",
            f"{data.get('source')}: {data['rows']:,} rows, {split['fit_rows']:,} fitted, target "
            f"{provenance.get('target')}, fingerprint {data['fingerprint'][:16]}",
        )
    for label, scores in (("fitted", "trained"), ("held out", "held_out")):
        if provenance.get(scores):
            out.answer(label, headline(provenance[scores]))
    decision = Decision.of(provenance, model)
    if decision is not None:
        out.answer("threshold", str(decision))
    for name in ("command", "created"):
        if provenance.get(name):
            out.answer(name, provenance[name])
