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
from separatrix.cli.reading import decision_of, encode, load_for_tables, read_like_training
from separatrix.exceptions import DataError
from separatrix.messages import short


def run(out: Output, options: EvaluateOptions) -> Exit:
    """Read a model and labelled rows, score them and print."""
    stored = load_for_tables(options.model)
    target = options.target or stored.provenance.get("target")
    if target is None:
        raise DataError("the model file does not say what its target was: name it with --target")
    table = read_like_training(
        stored,
        options.data,
        options.missing,
        delimiter=options.delimiter,
        encoding=options.encoding,
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
    same = table.fingerprint() == trained.get("fingerprint")
    if same and "split" in stored.provenance:
        fitted = stored.provenance["split"]["fit_rows"]
        out.warn(
            f"the model was fitted to {fitted:,} of these rows, so it looks better here than on "
            "new ones; separatrix info shows the held-out figures"
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
