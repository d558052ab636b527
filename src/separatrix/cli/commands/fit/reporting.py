"""The report of a fit: the model, its certificate, its threshold and how well it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.assessment import records
from separatrix.assessment.decision import PROBABILITY, SCORE, Decision, choose_threshold
from separatrix.assessment.documents import headline
from separatrix.assessment.other_scores import OtherScore
from separatrix.assessment.scoring import constant, further, gives_probabilities
from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.commands.info.details import (
    degree_alert,
    print_weights,
    report_details,
    report_support,
)
from separatrix.cli.output import Output, print_message
from separatrix.cli.wording import TERMINAL, describe_certificate
from separatrix.persistence.model_file import save_model
from separatrix.tables import Encoder


def report_model(out: Output, model: Any, encoder: Encoder) -> dict[str, Any]:
    """Print what was fitted and how well it is proved, and give its details."""
    out.report("model", f"{records.model_name(model)}: {model.objective_formula_}")
    fit = describe_certificate(model, model.certificate_)
    out.report("fit", fit)
    if out.quiet and not model.certificate_.ok:
        print_message("warning", fit)
    report_support(out.report, model)
    if hasattr(model, "powers_"):
        model.terms_ = records.term_names(model.powers_, encoder.feature_names_)
        short = degree_alert(model, encoder.feature_names_)
        if short is not None:
            out.warn(short)
    details = records.details_of(model)
    report_details(out, details)
    return details


def save_fit(
    out: Output,
    path: str,
    model: Any,
    encoder: Encoder,
    details: dict[str, Any],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Save the model and give the document of the fit."""
    save_model(path, model, encoder=encoder, provenance=provenance)
    out.report("saved", path)
    return {
        "status": model.certificate_.status,
        "certificate": model.certificate_.to_dict(),
        "model": records.describe_model(model, encoder),
        "support": records.support_record(model),
        "details": details,
        **provenance,
        "output": path,
    }


def decide(out: Output, model: Any, rows: SplitRows) -> Decision | None:
    """The threshold that was given or is to be chosen, in a line of its own."""
    options, positive = rows.options, rows.positive
    if options.threshold is not None:
        scale = PROBABILITY if gives_probabilities(model) else SCORE
        decision = Decision(positive, options.threshold, scale)
    elif options.optimise is not None:
        try:
            predicted, y = rows.held_predictions(model)
            decision = choose_threshold(
                predicted, y, model.classes_, positive, options.optimise, seed=options.seed
            )
        except ValueError as error:
            out.warn(f"no threshold was chosen: {error}")
            return None
    else:
        return None
    out.report("threshold", str(decision))
    return decision


def report_measures(
    out: Output,
    held_out: dict[str, Any] | None,
    weights: list[dict[str, Any]] | None,
    others: Sequence[OtherScore] = (),
) -> None:
    """Print how well rows are predicted that were not fitted, and the largest weights.

    ``others``: the scores beside that of the random split, a line each.
    """
    out.report("held out", headline(held_out) if held_out else "no rows: every row was fitted")
    for one in others:
        label, line = one.line
        out.report(label, TERMINAL(line))
    if held_out and "per_class" in held_out:
        out.report("also", further(held_out))
        out.report("constant", constant(held_out))
    if weights is not None:
        print_weights(out.reported, weights)
