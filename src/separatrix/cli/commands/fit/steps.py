"""The hyperplane of a linear fit in numbers, and the recorded steps that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.output import Output, aligned
from separatrix.data.design import dense
from separatrix.geometry import Hyperplane
from separatrix.messages import quoted

# Features whose weights are printed; more have the table of the largest ones.
_FEW = 8
# Steps in a table, and in a document.
_SHOWN, _KEPT = 20, 10_000
# Weights in a document.
_NUMBERS = 1_000_000


def plane_record(model: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """The weights and the intercept of a linear model of a few features and one score, or None."""
    coef = getattr(model, "coef_", None)
    if coef is None or hasattr(model, "powers_") or not 0 < len(names) <= _FEW:
        return None
    theta, offset = np.ravel(dense(coef)), np.ravel(model.intercept_)
    if len(theta) != len(names) or len(offset) != 1 or not np.isfinite([*theta, *offset]).all():
        return None
    record = {"theta": theta.tolist(), "theta_0": float(offset[0])}
    if hasattr(model, "classes_") and theta.any():
        plane = Hyperplane(theta, offset[0])
        record |= {"equation": plane.equation([*names])}
        record |= {"positive_side": model.classes_[1].item()}
    return record


def report_plane(out: Output, record: dict[str, Any], rows: SplitRows) -> None:
    """Print the weights and the intercept, for a classifier also the equation of its boundary."""
    text = f"({_listed(record['theta'])}), theta_0 = {_listed([record['theta_0']])}"
    if "equation" in record:
        text += f"; boundary {record['equation']}, above it {quoted(record['positive_side'])}"
    if rows.options.standardises:
        text += " (in standardised units)"
    out.report("theta", text)


def steps_record(model: Any, rows: SplitRows) -> list[dict[str, Any]] | None:
    """The record of each problem of a fit: corrections, or the bounds at every check.

    It has at most ten thousand of them, and fewer of wide corrections; ``count`` has all.
    """
    traces = getattr(model, "trace_", None)
    if traces is None:
        return None
    return [_record(one, rows) for one in (traces if isinstance(traces, tuple) else (traces,))]


def _record(trace: Any, rows: SplitRows) -> dict[str, Any]:
    part = {"part": str(trace.part)} if trace.part else {}
    updates = trace.updates
    if not updates:
        checks = np.column_stack([trace.iterations, trace.primal, trace.dual])[:_KEPT].tolist()
        names = "iteration", "primal", "dual"
        return {
            **part,
            "count": len(trace),
            "checks": [dict(zip(names, values, strict=True)) for values in checks],
        }
    first, most = updates[0], max(_SHOWN, min(_KEPT, _NUMBERS // len(updates[0].coef)))
    corrections = [
        {
            "k": k,
            "pass": one.epoch,
            "row": one.sample + 1 if rows.numbers is None else int(rows.numbers[one.sample]) + 1,
            "theta": one.coef.tolist(),
            "theta_0": float(one.intercept),
        }
        for k, one in enumerate(updates, start=1)
        if k <= most or k == len(updates)
    ]
    start = {"theta": first.coef_before.tolist(), "theta_0": float(first.intercept_before)}
    return {**part, "count": len(updates), "start": start, "corrections": corrections}


def report_steps(out: Output, records: Sequence[dict[str, Any]]) -> None:
    """Print a table of the corrections of each problem, at most twenty of them."""
    for record in records:
        count, corrections = record["count"], record.get("corrections")
        if corrections is None:
            continue
        shown = corrections
        if count > _SHOWN:
            shown = [*corrections[: _SHOWN - 1], corrections[-1]]
        few = len(record["start"]["theta"]) <= _FEW
        zero = {"k": 0, "pass": "", "row": "start", **record["start"]}
        table = [["k", "pass", "row", *(["theta", "theta_0"] if few else [])]]
        for one in (zero, *shown) if few else shown:
            line = [str(one[name]) for name in ("k", "pass", "row")]
            weights = [f"({_listed(one['theta'])})", _listed([one["theta_0"]])]
            table.append([*line, *weights] if few else line)
        lines = aligned(table, indent="")
        if count > _SHOWN:
            lines.insert(-1, f"... {count - _SHOWN:,} more; --json has them")
        if "part" in record:
            lines.insert(0, f"{quoted(record['part'])} against the rest")
        out.reported("steps", lines)


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value + 0.0:.6g}" for value in values)
