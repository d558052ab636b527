"""What ``separatrix evaluate`` does."""

from __future__ import annotations

import math
from typing import Any

from separatrix.assessment.decision import positive_of
from separatrix.assessment.documents import headline
from separatrix.assessment.rows import labelled
from separatrix.assessment.scoring import constant, further, score_rows
from separatrix.cli.commands.evaluate import EvaluateOptions
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import (
    blocks_like_training,
    decision_of,
    encode,
    exceeds_memory,
    load_for_tables,
    read_like_training,
    target_of,
)
from separatrix.messages import short
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Table


def run(out: Output, options: EvaluateOptions) -> Exit:
    """Read a model and labelled rows, score them and print."""
    stored = load_for_tables(options.model)
    target = target_of(stored, options.target)
    decision = decision_of(stored, options.threshold)
    shared: dict[str, Any] = {
        "positive": positive_of(stored.provenance, stored.model),
        "decision": decision,
    }
    if exceeds_memory(options.data, options.memory):
        from separatrix.assessment.blocks import score_blocks

        data = blocks_like_training(out, stored, options, target=target)
        # Behind how the rows lie.
        for note in data.notes[1:]:
            out.warn(note)
        scores = score_blocks(stored.model, data, **shared)
    else:
        table = read_like_training(stored, options, labels=target)
        found = labelled(stored, table, target)
        X = encode(out, stored, found.features)
        scores = score_rows(stored.model, X, found.y, weights=found.roles.weights, **shared)
        _warn_of_fitted_rows(out, stored, table)
    out.answer("rows", f"{scores['n']:,}")
    if decision is not None:
        out.answer("threshold", str(decision))
    out.answer("scores", headline(scores))
    if "per_class" in scores:
        out.answer("also", further(scores))
        out.answer("constant", constant(scores))
        _print_classes(out, scores)
    out.document(
        Exit.DONE,
        {
            "model": options.model,
            "data": options.data,
            "target": target,
            "threshold": None if decision is None else decision.record(),
            "scores": scores,
        },
    )
    return Exit.DONE


def _warn_of_fitted_rows(out: Output, stored: StoredModel, table: Table) -> None:
    """Warn where the table is that of the fit."""
    trained = stored.provenance.get("data") or {}
    if table.fingerprint() == trained.get("fingerprint") and "split" in stored.provenance:
        out.warn(
            f"the model was fitted to {stored.provenance['split']['fit_rows']:,} of these rows, so "
            "these scores are too optimistic; separatrix info shows those on held-out rows"
        )


def _print_classes(out: Output, scores: dict[str, Any]) -> None:
    names = [short(entry["class"]) for entry in scores["per_class"]]
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for name, entry in zip(names, scores["per_class"], strict=True):
        shares = [_share(entry[key]) for key in ("precision", "recall", "f1")]
        rows.append([name, *shares, f"{entry['n']:,}"])
    out.table(rows)
    rows = [["true \\ predicted", *names]]
    for name, counts in zip(names, scores["confusion_matrix"], strict=True):
        rows.append([name, *(f"{count:,}" for count in counts)])
    out.table(rows)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
