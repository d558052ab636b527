"""What ``separatrix evaluate`` does."""

from __future__ import annotations

import math
from typing import Any

from separatrix.assessment.decision import Decision, positive_of
from separatrix.assessment.documents import headline
from separatrix.assessment.rows import labelled
from separatrix.assessment.scoring import (
    constant,
    further,
    score_rows,
)
from separatrix.cli.commands.evaluate import EvaluateOptions
from separatrix.cli.output import Exit, Output, reading_bar
from separatrix.cli.reading import (
    blocks_like_training,
    decision_of,
    encode,
    exceeds_memory,
    load_for_tables,
    read_like_training,
)
from separatrix.exceptions import DataError
from separatrix.messages import short
from separatrix.persistence.model_file import StoredModel


def run(out: Output, options: EvaluateOptions) -> Exit:
    """Read a model and labelled rows, score them and print."""
    stored = load_for_tables(options.model)
    target = options.target or stored.provenance.get("target")
    if target is None:
        raise DataError(
            "the model file does not record the name of its target: give it with --target"
        )
    if exceeds_memory(options.data, options.memory):
        scores, decision, same, fitted = _in_passes(out, options, stored, target)
    else:
        scores, decision, same, fitted = _in_memory(out, options, stored, target)
    if same:
        out.warn(
            f"the model was fitted to {fitted:,} of these rows, so these scores are too "
            "optimistic; separatrix info shows those on held-out rows"
        )
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


def _in_passes(
    out: Output, options: EvaluateOptions, stored: StoredModel, target: str
) -> tuple[dict[str, Any], Decision | None, bool, int]:
    """The scores on rows that do not fit the memory, which come a block at a time."""
    from separatrix.assessment.blocks import score_blocks

    with reading_bar(shown=not out.quiet) as on_progress:
        data = blocks_like_training(
            stored,
            options.data,
            options.missing,
            memory=options.memory,
            target=target,
            on_progress=on_progress,
            delimiter=options.delimiter,
            encoding=options.encoding,
            unpacked_limit=options.unpacked_limit,
        )
    # Behind how the rows lie.
    for note in data.notes[1:]:
        out.warn(note)
    decision = decision_of(stored, options.threshold)
    positive = positive_of(stored.provenance, stored.model)
    scores = score_blocks(stored.model, data, positive=positive, decision=decision)
    return scores, decision, False, 0


def _in_memory(
    out: Output, options: EvaluateOptions, stored: StoredModel, target: str
) -> tuple[dict[str, Any], Decision | None, bool, int]:
    """The scores, the threshold, whether these are the rows of the fit and how many of them."""
    table = read_like_training(
        stored,
        options.data,
        options.missing,
        delimiter=options.delimiter,
        encoding=options.encoding,
        unpacked_limit=options.unpacked_limit,
    )
    found = labelled(stored, table, target)
    decision = decision_of(stored, options.threshold)
    scores = score_rows(
        stored.model,
        encode(out, stored, found.features),
        found.y,
        weights=found.roles.weights,
        positive=positive_of(stored.provenance, stored.model),
        decision=decision,
    )

    trained = stored.provenance.get("data") or {}
    same = table.fingerprint() == trained.get("fingerprint") and "split" in stored.provenance
    return scores, decision, same, stored.provenance["split"]["fit_rows"] if same else 0


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
