"""The work of ``separatrix evaluate``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from separatrix.assessment.decision import positive_of
from separatrix.assessment.documents import headline
from separatrix.assessment.periods import by_groups, by_times
from separatrix.assessment.rows import Labelled, labelled
from separatrix.assessment.scoring import constant, further, predictions, score_rows
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
from separatrix.messages import quoted, short
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Table
from separatrix.tables.table import day_text, number_text


def run(out: Output, options: EvaluateOptions) -> Exit:
    """Read a model and labelled rows, score them and print."""
    stored = load_for_tables(options.model)
    target = target_of(stored, options.target)
    decision = decision_of(stored, options.threshold)
    shared: dict[str, Any] = {
        "positive": positive_of(stored.provenance, stored.model),
        "decision": decision,
    }
    apart: dict[str, Any] = {}
    if exceeds_memory(options.data, options.memory):
        scores, apart, dates = _in_passes(out, stored, options, target, shared)
    else:
        table = read_like_training(stored, options, labels=target)
        found = labelled(stored, table, target, group=options.group, time=options.time)
        X = encode(out, stored, found.features)
        scores = score_rows(stored.model, X, found.y, weights=found.roles.weights, **shared)
        apart = _apart(stored.model, X, found, options, shared)
        dates = options.time in table.dates
        _warn_of_fitted_rows(out, stored, table)
    out.answer("rows", f"{scores['n']:,}")
    if decision is not None:
        out.answer("threshold", str(decision))
    out.answer("scores", headline(scores))
    if "per_class" in scores:
        out.answer("also", further(scores))
        out.answer("constant", constant(scores))
        _print_classes(out, scores)
    if "groups" in apart:
        out.answer("groups", _describe_groups(apart["groups"], options.group))
    if "times" in apart:
        out.table(_describe_times(apart["times"], dates=dates))
    out.document(
        Exit.DONE,
        {
            "model": options.model,
            "data": options.data,
            "target": target,
            "threshold": None if decision is None else decision.record(),
            "scores": scores,
            **apart,
        },
    )
    return Exit.DONE


def _apart(
    model: Any, X: Any, found: Labelled, options: EvaluateOptions, shared: dict[str, Any]
) -> dict[str, Any]:
    """The scores by groups, and by parts that follow in time, as far as they are requested."""
    y, weights, roles = found.y, found.roles.weights, found.roles
    apart: dict[str, Any] = {}
    if options.group is not None and roles.together is not None:
        labels = predictions(model, X, shared["decision"]).labels
        quantity = is_regressor(model)
        apart["groups"] = by_groups(np.abs(labels - y) if quantity else labels == y, roles.together)
        apart["groups"]["of"] = _figure(model)
    if options.time is not None and roles.times is not None:

        def score(rows: np.ndarray) -> dict[str, Any]:
            own = None if weights is None else weights[rows]
            return score_rows(model, X[rows], y[rows], weights=own, **shared)

        apart["times"] = by_times(roles.times, score)
    return apart


def _figure(model: Any) -> str:
    """The figure whose interval is that of groups."""
    return "mae" if is_regressor(model) else "accuracy"


def _in_passes(
    out: Output, stored: StoredModel, options: EvaluateOptions, target: str, shared: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The scores of a table in passes, those apart, and whether its times are dates."""
    from separatrix.assessment.blocks import blocks_by_groups, blocks_by_times, score_blocks

    model = stored.model
    roles: list[str | None] = [
        name for name in ("group", "time") if getattr(options, name) is not None
    ]
    apart: dict[str, Any] = {}
    scores: dict[str, Any] | None = None
    dates = False
    # The rows of a block have one column beside them, so that each has a scan of its own.
    for role in roles or [None]:
        by = {} if role is None else {role: getattr(options, role), "beside": True}
        data = blocks_like_training(out, stored, options, target=target, **by)
        if scores is None:
            # The first note is about where the rows lie.
            for note in data.notes[1:]:
                out.warn(note)
            scores = score_blocks(model, data, **shared)
        if role == "group":
            apart["groups"] = blocks_by_groups(model, data, shared["decision"])
            apart["groups"]["of"] = _figure(model)
        elif role == "time":
            apart["times"] = blocks_by_times(data, partial(score_blocks, model, **shared))
            dates = data.dates_beside
    assert scores is not None
    return scores, apart, dates


def _describe_groups(found: dict[str, Any], column: str | None) -> str:
    name = "accuracy" if found["of"] == "accuracy" else "MAE"
    text = f"{found['groups']:,} of {quoted(column)}: {name} {found['mean']:.4g}"
    if found["interval"] is None:
        return f"{text}, without an interval"
    low, high = found["interval"]
    return f"{text} [{low:.4g}, {high:.4g}], where rows of a group are right or wrong together"


def _describe_times(parts: Sequence[dict[str, Any]], *, dates: bool) -> list[list[str]]:
    """A table of the scores of parts that follow in time."""
    quantity = "mse" in parts[0]["scores"]
    names = ("R^2", "MAE") if quantity else ("accuracy", "ROC AUC")
    keys = ("r2", "mae") if quantity else ("accuracy", "roc_auc")
    rows = [["from", "to", "rows", *names]]
    for one in parts:
        ends = [_time(one[key], dates=dates) for key in ("first", "last")]
        figures = [one["scores"][key] for key in keys]
        words = ["-" if value is None else f"{value:.3f}" for value in figures]
        rows.append([*ends, f"{one['scores']['n']:,}", *words])
    return rows


def _time(value: float, *, dates: bool) -> str:
    return day_text(value) if dates else number_text(value)


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
