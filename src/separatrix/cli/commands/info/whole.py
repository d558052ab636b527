"""The contents of any model file, from the model object itself."""

from __future__ import annotations

from separatrix.assessment.decision import Decision
from separatrix.assessment.provenance_checks import known_origin
from separatrix.assessment.records import describe_model, details_of, support_record
from separatrix.cli.commands.info.contents import Contents
from separatrix.persistence.model_file import load_model


def contents_of(path: str) -> Contents:
    """Load a model, and collect what the command prints of it."""
    stored = load_model(path)
    model, encoder = stored.model, stored.encoder
    return Contents(
        description=describe_model(model, encoder),
        certificate=getattr(model, "certificate_", None),
        provenance=stored.provenance,
        format_version=stored.format_version,
        library_version=stored.library_version,
        summary=None if encoder is None else encoder.summary_,
        model=model,
        encoder=encoder,
        decision=Decision.of(known_origin(stored.provenance), model),
        support=support_record(model),
        details=details_of(model),
    )
