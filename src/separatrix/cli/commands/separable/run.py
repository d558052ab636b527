"""The steps of ``separatrix separable``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import separatrix
from separatrix.cli.commands.separable import SeparableOptions, infeasibility
from separatrix.cli.commands.separable.certificate_file import to_bytes
from separatrix.cli.interruption import undisturbed
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import RawTable, encode_raw, read_training_table
from separatrix.data.columns import columns_of
from separatrix.data.design import as_design
from separatrix.geometry.diagnosis.alerts import ranked_alerts
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.separability import Separability
from separatrix.geometry.separation.witness import MultiplierWitness
from separatrix.messages import counted, join, plural, quoted
from separatrix.persistence.model_file import check_writable, write_atomically
from separatrix.tables.reader import OPTIONS
from separatrix.tables.table import missing_marks

# Columns of a plane in a line of text; --json has them all.
_IN_PLANE = 6

STATUS_WORDS = {
    "separable": "separable",
    "quasi_separable": "separable in part",
    "not_separable": "not separable",
    "undecided": "not decided in time",
}


def run(out: Output, options: SeparableOptions) -> Exit:
    """Read, encode, decide, print and save; return the exit code."""
    path = options.certificate
    if path is not None:
        check_writable(path)
    raw = encode_raw(read_training_table(options), options.target)
    counts = Counter(raw.y.tolist())
    classes = join([f"{quoted(c)} ({counted(counts[c], 'row')})" for c in sorted(counts)])
    raw.report(out, raw.encoder, alerts=ranked_alerts(raw.encoder))
    out.report("classes", classes)
    answer = separability(
        raw.X, raw.y, fit_intercept=not options.no_intercept, time_limit=options.time_limit
    )
    if isinstance(answer, Separability):
        _report_one(out, raw, answer)
        verdicts = deciding = [answer]
    else:
        verdicts, deciding = list(answer), list(answer.pairs.values())
        _report_many(out, raw, deciding, list(answer.one_vs_rest.values()))
    code = exit_code([verdict.status for verdict in deciding])

    with undisturbed():
        if path is not None:
            _save(out, path, options, raw, verdicts)
        out.document(
            code,
            {
                "data": options.data,
                "target": raw.name,
                "rows": raw.table.n_rows,
                "fit_intercept": not options.no_intercept,
                "classes": sorted(counts),
                "features": raw.names,
                "separable": all(verdict.separable for verdict in deciding),
                "verdicts": [_record(raw, verdict) for verdict in verdicts],
                "certificate": path,
            },
        )
    return code


def exit_code(statuses: Sequence[str]) -> Exit:
    """Return the exit code for one verdict, or for those of all pairs of classes."""
    if any(status in ("not_separable", "quasi_separable") for status in statuses):
        return Exit.NEGATIVE
    return Exit.ABOVE_TOL if "undecided" in statuses else Exit.DONE


def plane_words(fit_intercept: bool) -> str:
    return "plane" if fit_intercept else "plane through the origin"


# --------------------------------------------------------------------------------- two classes


def _report_one(out: Output, raw: RawTable, verdict: Separability) -> None:
    plane = plane_words(verdict.fit_intercept)
    negative, positive = (quoted(c) for c in verdict.classes)
    n = f"{verdict.n_samples:,}"
    if verdict.status == "separable":
        out.answer(
            "verdict",
            f"separable: a {plane} has every one of the {n} rows strictly on its side",
        )
        out.answer("gap", _gap(raw, verdict))
        out.answer("plane", _plane(raw, verdict))
        out.answer("proof", f"the {plane}: the side of each row was computed in exact arithmetic")
    elif verdict.status == "not_separable":
        out.answer(
            "verdict",
            f"not separable: no {plane} has every row of {negative} on one side and every row of "
            f"{positive} on the other",
        )
        entries = _infeasibility(raw, verdict.witness)
        infeasibility.report(out, "proof", entries, fit_intercept=verdict.fit_intercept)
    elif verdict.status == "quasi_separable":
        count = len(verdict.witness.separated)  # type: ignore[union-attr]
        out.answer(
            "verdict",
            f"separable in part: no {plane} has every row strictly on its side, but one has "
            f"{count:,} of the {n} rows strictly on their side and all others exactly on it",
        )
        out.answer("meaning", "logistic regression without a penalty has no finite optimum")
        out.answer("columns", _weak_columns(raw, verdict))
        out.answer("rows", f"strictly on their side: {_rows(raw, verdict.witness.separated)}")  # type: ignore[union-attr]
        out.answer("proof", f"that {plane}, and for the other rows:")
        entries = _infeasibility(raw, verdict.common)
        infeasibility.report(out, "meeting", entries, fit_intercept=verdict.fit_intercept)
    else:
        out.answer("verdict", "not decided: the time limit came first; raise --time-limit")


def _gap(raw: RawTable, verdict: Separability) -> str:
    margin = verdict.margin
    if margin is None:
        return (
            "its width was not computed, because the time limit came first or it is beyond the "
            "range of floats"
        )
    low, high = 2 * margin.lower, 2 * margin.upper
    tight = high - low <= 1e-6 * high
    width = f"{low:.6g}" if tight else f"between {low:.6g} and {high:.6g}"
    through = "" if verdict.fit_intercept else ", with the plane through the origin"
    held = f", held by {_rows(raw, margin.support)}" if margin.support else ""
    # The band is that of the whole classes, not of two rows: half of it is the largest margin.
    return f"the widest empty band between the classes is {width} wide{through}{held}"


def _plane(raw: RawTable, verdict: Separability) -> str:
    plane = verdict.hyperplane
    if plane is None:
        return "its weights are beyond the range of floats; --certificate saves them exactly"
    reach = abs(plane.w) * columns_of(as_design(raw.X)).moments.deviation
    order = sorted((j for j in range(len(reach)) if plane.w[j]), key=lambda j: -reach[j])
    parts = [f"{plane.w[j]:+.4g} * {quoted(raw.names[j])}" for j in order[:_IN_PLANE]]
    if len(order) > _IN_PLANE:
        parts.append(f"+ ... ({len(order) - _IN_PLANE:,} more)")
    if plane.b:
        parts.append(f"{plane.b:+.4g}")
    text = " ".join(f"{part[0]} {part[1:].strip()}" for part in parts).removeprefix("+ ")
    return (
        f"{quoted(verdict.classes[1])} where {text} > 0 (rounded; --certificate saves it exactly)"
    )


def _weak_columns(raw: RawTable, verdict: Separability) -> str:
    witness: Any = verdict.witness
    negative, positive = (quoted(c) for c in verdict.classes)
    parts = [
        f"{quoted(raw.names[j])} towards {positive if witness.w[j] > 0 else negative}"
        for j in witness.columns[: infeasibility.MOST_ROWS]
    ]
    more = len(witness.columns) - len(parts)
    if more > 0:
        parts.append(f"{more:,} more")
    return ", ".join(parts) or "none, only the intercept"


def _rows(raw: RawTable, rows: Sequence[int]) -> str:
    most = infeasibility.MOST_ROWS
    numbers = [f"{raw.table.row_number(i):,}" for i in rows[:most]]
    return f"{plural('row', len(rows))} {join(numbers, len(rows) - most)}"


def _infeasibility(raw: RawTable, witness: Any) -> list[dict[str, Any]]:
    return infeasibility.record(witness, raw.y, raw.table.row_number)


# -------------------------------------------------------------------------- three classes, more


def _report_many(
    out: Output, raw: RawTable, pairs: list[Separability], rest: list[Separability]
) -> None:
    counts = Counter(verdict.status for verdict in pairs)
    by_status = [f"{counts[s]} {words}" for s, words in STATUS_WORDS.items() if counts[s]]
    whole = "separable" if all(v.separable for v in pairs) else "not separable"
    if exit_code([v.status for v in pairs]) == Exit.ABOVE_TOL:
        whole = "not decided"
    out.answer("verdict", f"{whole}: {counted(len(pairs), 'pair')} of classes, {join(by_status)}")
    for title, verdicts in (("pair", pairs), ("class against the rest", rest)):
        rows = [
            [
                _sides(verdict),
                STATUS_WORDS[verdict.status],
                f"{2 * verdict.margin.lower:.4g}" if verdict.margin else "-",
                _short_proof(raw, verdict),
            ]
            for verdict in verdicts
        ]
        out.table([[title, "verdict", "gap", "proof"], *rows])


def _sides(verdict: Separability) -> str:
    negative, positive = verdict.classes
    return str(positive) if verdict.sides.against_rest else f"{negative}, {positive}"


def _short_proof(raw: RawTable, verdict: Separability) -> str:
    if verdict.status == "separable":
        return "a plane"
    witness = verdict.common if verdict.status == "quasi_separable" else verdict.witness
    if not isinstance(witness, MultiplierWitness):
        return "-"
    numbers = [f"{raw.table.row_number(i):,}" for i in witness.rows[:4]]
    more = len(witness.rows) - len(numbers)
    return f"rows {', '.join(numbers)}" + (f" and {more} more" if more > 0 else "") + " meet"


# ------------------------------------------------------------------------------------ documents


def _record(raw: RawTable, verdict: Separability) -> dict[str, Any]:
    """The record of a verdict in the JSON document, with rows as the file counts them."""
    negative, positive = verdict.classes
    plane, margin = verdict.hyperplane, verdict.margin
    record: dict[str, Any] = {
        "negative": negative,
        "positive": positive,
        "against_rest": verdict.sides.against_rest,
        "status": verdict.status,
        "rows": verdict.n_samples,
        "seconds": verdict.seconds,
        "plane": None if plane is None else {"weights": plane.w, "intercept": plane.b},
        "gap": None
        if margin is None
        else {
            "lower": 2 * margin.lower,
            "upper": 2 * margin.upper,
            "held_by_rows": [raw.table.row_number(i) for i in margin.support],
        },
        "meeting": None,
        "off_plane": None,
    }
    for witness in (verdict.witness, verdict.common):
        if isinstance(witness, MultiplierWitness):
            record["meeting"] = _infeasibility(raw, witness)
    if verdict.status == "quasi_separable":
        weak: Any = verdict.witness
        record["off_plane"] = {
            "columns": [raw.names[j] for j in weak.columns],
            "rows": [raw.table.row_number(i) for i in weak.separated],
        }
    return record


def _save(
    out: Output, path: str, options: SeparableOptions, raw: RawTable, verdicts: list[Separability]
) -> None:
    if all(verdict.status == "undecided" for verdict in verdicts):
        out.warn(f"nothing was proved, so {path} was not written")
        return
    document = {
        "library_version": separatrix.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "source": raw.table.source,
            "rows": raw.table.n_rows,
            "fingerprint": raw.table.fingerprint(),
            "target": raw.name,
        },
        "reading": {
            "kinds": options.kinds,
            "ignore": options.ignore,
            # All of them: what a mark stands for is then read the same way by later versions.
            "missing": sorted(missing_marks(options.missing)) if options.missing else None,
            **{name: getattr(options, name) for name in OPTIONS},
        },
        "encoding": {
            "standardise": False,
            "features": len(raw.names),
            "sha256": raw.digest,
        },
        "fit_intercept": not options.no_intercept,
        "classes": sorted(set(raw.y.tolist())),
        "verdicts": [verdict.to_dict() for verdict in verdicts],
    }
    write_atomically(path, to_bytes(document))
    out.report("saved", path)
