"""The work of ``separatrix info``."""

from __future__ import annotations

from typing import Any

from separatrix.assessment.documents import headline
from separatrix.assessment.other_scores import OtherScore
from separatrix.cli.commands.info import InfoOptions
from separatrix.cli.commands.info.contents import Contents, plain_contents
from separatrix.cli.commands.info.details import (
    print_details,
    print_tables,
    print_weights,
    report_support,
    weights_per_unit,
)
from separatrix.cli.output import Exit, Output
from separatrix.cli.wording import TERMINAL, describe_certificate
from separatrix.messages import join, short


def run(out: Output, options: InfoOptions) -> Exit:
    """Read a model file and print what it holds."""
    # The document names all features, which the encoder makes.
    held = None if out.as_json else plain_contents(options.model)
    if held is None:
        from separatrix.cli.commands.info.whole import contents_of

        held = contents_of(options.model)
    description, certificate, provenance = held.description, held.certificate, held.origin()

    out.answer("model", f"{description['name']}: {description['formula']}")
    if description["classes"] is not None:
        out.answer("classes", join(map(short, description["classes"])))
    summary = f"{held.summary} -> " if held.summary is not None else ""
    out.answer("features", f"{summary}{description['features']:,}")
    if "terms" in description:
        out.answer("formula", f"{provenance.get('target', 'target')} ~ {description['terms']}")
    if certificate is not None:
        out.answer("fit", describe_certificate(held.model, certificate))
    if held.support is not None:
        out.answer("kernel", _describe_kernel(held.support["kernel"]))
    if held.model is not None:
        report_support(out.answer, held.model)
    print_details(out, held.details)
    if provenance:
        _print_origin(out, held, provenance)
    out.answer(
        "file",
        f"format {held.format_version}, written by separatrix {held.library_version}",
    )
    if provenance.get("weights"):
        out.text()
        print_weights(out.answered, weights_per_unit(provenance, held.encoder))
    print_tables(out, held.details)
    out.document(
        Exit.DONE,
        {
            "file": options.model,
            "format_version": held.format_version,
            "written_by": held.library_version,
            "model": description,
            "support": held.support,
            "details": held.details,
            "certificate": None if certificate is None else certificate.to_dict(),
            "provenance": held.provenance,
        },
    )
    return Exit.DONE


def _describe_kernel(record: dict[str, Any]) -> str:
    numbers = {k: v for k, v in record.items() if k not in ("name", "formula")}
    values = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
    return f"{record['name']}: {record['formula']}" + (f" ({values})" if values else "")


def _print_origin(out: Output, held: Contents, provenance: dict[str, Any]) -> None:
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
    for other in OtherScore.all_of(provenance):
        label, line = other.line
        out.answer(label, TERMINAL(line))
    if held.decision is not None:
        out.answer("threshold", str(held.decision))
    for name in ("command", "created"):
        if provenance.get(name):
            out.answer(name, provenance[name])
