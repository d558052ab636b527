"""``separatrix info``: what a model file holds."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import Exit, Output, aligned, short
from separatrix.messages import join

_EXAMPLES = """
separatrix info income.separatrix
separatrix info income.separatrix --json | jq .certificate.relative_gap
"""


@options.command(
    "info",
    summary="Say what a model file holds.",
    examples=_EXAMPLES,
)
@click.argument("model")
@options.common
def info(model: str, as_json: bool, quiet: bool) -> int:
    """Say what the model file MODEL holds: formula, classes, certificate, weights, origin.

    Of least squares also the rank and the condition number, of a polynomial the coefficients of its
    plain powers, of lda and qda the priors, and of sgd the learning rates and where they led.
    """
    out = Output("info", as_json=as_json, quiet=quiet)

    from separatrix.assessment.origin import known_origin
    from separatrix.assessment.records import describe_model, details_of, support_record
    from separatrix.cli.describing import describe_certificate
    from separatrix.cli.details import print_details, print_tables
    from separatrix.cli.supporting import tell_support
    from separatrix.persistence.model_file import load_model

    stored = load_model(model)
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
    tell_support(out, stored.model, answer=True)
    details = details_of(stored.model)
    print_details(out, details)
    if provenance:
        _print_origin(out, provenance)
    out.answer(
        "file",
        f"format {stored.format_version}, written by separatrix {stored.library_version}",
    )
    if provenance.get("weights"):
        _print_weights(out, provenance["weights"])
    print_tables(out, details)
    out.document(
        Exit.DONE,
        {
            "file": model,
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
    told = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
    return f"{record['name']}: {record['formula']}" + (f" ({told})" if told else "")


def _print_origin(out: Output, provenance: dict[str, Any]) -> None:
    from separatrix.assessment.scoring import headline

    data, split = provenance.get("data"), provenance.get("split")
    if data and split:
        out.answer(
            "data",
            f"{data.get('source')}: {data['rows']:,} rows, {split['fit_rows']:,} fitted, target "
            f"{provenance.get('target')}, fingerprint {data['fingerprint'][:16]}",
        )
    if provenance.get("trained"):
        out.answer("fitted", headline(provenance["trained"]))
    if provenance.get("held_out"):
        out.answer("held out", headline(provenance["held_out"]))
    if provenance.get("command"):
        out.answer("command", provenance["command"])
    if provenance.get("created"):
        out.answer("created", provenance["created"])


def _print_weights(out: Output, weights: list[dict[str, Any]]) -> None:
    out.text()
    towards = any("class" in entry for entry in weights)
    rows = [["largest weights", *(["towards"] if towards else []), "weight", "x deviation"]]
    for entry in weights:
        against = f" from {short(entry['against'])}" if "against" in entry else ""
        rows.append(
            [
                short(entry["feature"]),
                *([f"{short(entry['class'])}{against}"] if towards else []),
                f"{entry['weight']:+.4g}",
                f"{entry['standardised']:+.4g}",
            ]
        )
    for line in aligned(rows):
        out.text(line)
