"""The details of a model, in words.

Weights, priors, terms, ranks, learning rates; and for a kernel machine its support vectors, its
approximation and its calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.cli.output import LABEL_WIDTH, Output, terminal_width
from separatrix.messages import counted, short
from separatrix.tables.table import quote

# The most terms and classes in a line of text or a table; --json has them all.
_IN_A_LINE = 6
_IN_A_TABLE = 50


def degree_alert(model: Any, columns: Sequence[str]) -> str | None:
    """The alert about columns of a polynomial that do not bear its degree; None where all do.

    Columns of two values, such as the levels of a category, have no powers at all, and nobody who
    fits a curve to a table expects them to.
    """
    alone = model.powers_[np.count_nonzero(model.powers_, axis=1) == 1]
    top = alone.max(axis=0, initial=0)
    short = [j for j, power in enumerate(top.tolist()) if 2 <= power < model.degree]
    if not short:
        return None
    text = [f"{quote(columns[j])} up to {top[j]}" for j in short[:_IN_A_LINE]]
    more = f" and {len(short) - _IN_A_LINE} more" if len(short) > _IN_A_LINE else ""
    return (
        "columns with few distinct values do not determine all powers up to --degree "
        f"{model.degree}: {', '.join(text)}{more}; higher powers are left out"
    )


def report_details(out: Output, record: dict[str, Any]) -> None:
    """Print, with a fit, what its user will want to know at once."""
    if "terms" in record:
        out.report("terms", _polynomial(record))
    if "classes" in record:
        out.report("classes", _gaussians(record))
    if "corrections" in record:
        out.report("updates", _corrections(record))
    if "schedule" in record:
        out.report("steps", _steps(record))


def print_details(out: Output, record: dict[str, Any]) -> None:
    """Print all details of a model file."""
    if "rank" in record:
        text = (
            f"{record['rank']:,} of {counted(record['columns'], 'column')} independent, condition "
            f"number {record['condition_number']:.3g}"
        )
        if "mse" in record:
            text += f", mean squared error of the fit {record['mse']:,.6g}"
        out.answer("rank", text)
    if "classes" in record:
        out.answer("gaussians", _gaussians(record))
    if "corrections" in record:
        out.answer("updates", _corrections(record))
    if "schedule" in record:
        out.answer("steps", f"{_steps(record)}; {record['condition']}")


def print_tables(out: Output, record: dict[str, Any]) -> None:
    """Print the tables that stand at the end: of terms, and of classes."""
    if "terms" in record:
        rows = [[short(one["term"]), f"{one['coefficient']:.10g}"] for one in record["terms"]]
        constant = ["(constant)", f"{record['constant']:.10g}"]
        _print_first(out, [["term", "coefficient"], constant], rows)
    if "classes" in record:
        rows = [
            [short(one["class"]), f"{one['prior']:.6g}", f"{one['rows']:,.6g}"]
            for one in record["classes"]
        ]
        _print_first(out, [["class", "prior", "rows"]], rows)


def _print_first(out: Output, head: list[list[str]], rows: list[list[str]]) -> None:
    out.table([*head, *rows[:_IN_A_TABLE]])
    if len(rows) > _IN_A_TABLE:
        out.text(f"  and {len(rows) - _IN_A_TABLE:,} more; --json has them all")


def _polynomial(record: dict[str, Any]) -> str:
    terms = record["terms"]
    if len(terms) > _IN_A_LINE:
        return f"{len(terms):,} and a constant; separatrix info lists their coefficients"
    text = f"{record['constant']:.6g}"
    for entry in terms:
        sign = "-" if entry["coefficient"] < 0 else "+"
        text += f" {sign} {abs(entry['coefficient']):.6g} {short(entry['term'])}"
    return text


def _gaussians(record: dict[str, Any]) -> str:
    classes = record["classes"]
    text = f"{len(classes):,} means"
    if len(classes) <= _IN_A_LINE:
        text += ", priors " + ", ".join(f"{short(c['class'])} {c['prior']:.3g}" for c in classes)
    shrinkage = sorted(set(np.ravel(record["shrinkage"]).tolist()))
    if shrinkage[-1] > 0.0:
        low, high = f"{shrinkage[0]:.3g}", f"{shrinkage[-1]:.3g}"
        text += f"; covariances shrunk by {low}" + (f" to {high}" if low != high else "")
    else:
        text += "; covariances not shrunk"
    return text


def _corrections(record: dict[str, Any]) -> str:
    mistakes = counted(round(record["mistakes"]), "mistake")
    # Each of several classes has passes of its own.
    passes = "" if record["passes"] is None else f" in {counted(record['passes'], 'pass')}"
    return f"{counted(record['corrections'], 'correction')}{passes}, {mistakes} left"


def _steps(record: dict[str, Any]) -> str:
    steps = "" if record["steps"] is None else f"{record['steps']:,} in "
    passes = record["passes"]
    text = f"{steps}{counted(passes, 'pass')}"
    if record["fits"] > 1:
        text += f", {record['fits']:,} classes together"
    text += f", {record['schedule']}"
    if record["searched"]:
        text += f" (the best of {record['searched']} rates on a sample)"
    return text + (", weights averaged" if record["averaged"] else "")


# ---------------------------------------------------------------------------------- weights


def weights_per_unit(provenance: dict[str, Any], encoder: Any) -> list[dict[str, Any]]:
    """The weights that a model file states, for one unit of their columns.

    Those of two classes point towards the positive one; earlier versions stated them towards the
    second class, whichever was positive.
    """
    positive = provenance.get("positive")
    entries: list[dict[str, Any]] = [
        one
        if positive is None or one.get("class") == positive
        else {
            **one,
            "class": positive,
            "weight": 0.0 - one["weight"],
            "standardised": 0.0 - one["standardised"],
        }
        for one in provenance["weights"]
    ]
    if provenance.get("weights_per") == "unit" or encoder is None:
        return entries
    scales = dict(zip(encoder.feature_names_, encoder.scales_.tolist(), strict=True))
    return [{**one, "weight": one["weight"] / scales.get(one["feature"], 1.0)} for one in entries]


def print_weights(
    lines: Callable[[str, Sequence[str]], None], entries: list[dict[str, Any]]
) -> None:
    """Print the largest weights as a table with bars; `lines` takes a label and lines."""
    lines("weights", weight_lines(entries, terminal_width() - LABEL_WIDTH))


def weight_lines(entries: Sequence[dict[str, Any]], width: int) -> list[str]:
    """A table of weights with what they point at, in lines of at most this width if that can be.

    Weights are for one standard deviation (s.d.) and for one unit of the column. The bars show the
    first, and are left out where the line is too short, as in narrow lines the second are.
    """
    if not entries:
        return ["all zero"]
    columns = [["per s.d.", *(f"{entry['standardised']:+.3g}" for entry in entries)]]
    if width >= _WIDE:
        columns.append(["per unit", *(f"{entry['weight']:+.3g}" for entry in entries)])
    if "class" in entries[0]:
        columns.insert(0, ["direction", *map(_direction, entries)])
    widths = [max(map(len, column)) for column in columns]
    left = width - sum(widths) - 2 * len(widths)
    # Long names give way to bars, as long as enough of them is left.
    of_name = left - _BAR // 2 if left >= 3 * _BAR else left
    features = ["feature", *(short(one["feature"], max(_SHORTEST, of_name)) for one in entries)]
    longest = max(map(len, features))
    bar = min(_BAR, left - longest - 2)
    most = max(abs(entry["standardised"]) for entry in entries)
    lines = []
    for k, feature in enumerate(features):
        words = [feature.ljust(longest)]
        for column, size in zip(columns, widths, strict=True):
            words.append(
                column[k].ljust(size) if column[0] == "direction" else column[k].rjust(size)
            )
        if bar >= _LEAST_BAR and k:
            words.append(_bar(abs(entries[k - 1]["standardised"]) / most, bar))
        lines.append("  ".join(words).rstrip())
    return lines


# The longest bar, the shortest that is legible, the shortest name of a feature, and the width from
# which on all columns fit.
_BAR, _LEAST_BAR, _SHORTEST, _WIDE = 20, 5, 12, 62


def _bar(share: float, width: int) -> str:
    eighths = round(8 * width * share)
    whole, rest = divmod(eighths, 8)
    return "\u2588" * whole + (chr(0x2590 - rest) if rest else "")


def _direction(entry: dict[str, Any]) -> str:
    """The direction in which a larger value of the feature moves a row."""
    first = short(entry["class"], 20)
    if "against" in entry:
        one, other = (first, short(entry["against"], 20))[:: 1 if entry["weight"] > 0.0 else -1]
        return f"towards {one} from {other}"
    return f"{'towards' if entry['weight'] > 0.0 else 'away from'} {first}"


# ----------------------------------------------------------------------- kernel machines


def report_support(report: Callable[[str, str], None], model: Any) -> None:
    """Print what a kernel machine rests on, if the model is one; `report` takes a labelled line."""
    from separatrix.assessment.records import support_record

    record = support_record(model)
    if record is not None and "approximation" in record:
        report("lift", _describe_lift(record))
    elif record is not None:
        report("support", _describe_support(record, model))
    if getattr(model, "calibrate", None) is not None:
        report("calibrate", _describe_calibration(model))


def _describe_support(record: dict[str, Any], model: Any) -> str:
    n, free, bounded = record["vectors"], record["on_margin"], record["bounded"]
    one = n == 1
    text = f"{n:,} of {counted(record['rows'], 'row')} {'is a' if one else 'are'} support vector"
    text += "" if one else "s"
    pairs = len(model.classes_) > 2
    where = "on the margin of a pair" if pairs else "on the margin"
    if not bounded:
        return f"{text}, all {where}" if n else text
    if pairs:
        return f"{text}: {free:,} {where}, the other {bounded:,} inside or on the wrong side"
    inside, wrong = bounded - record["wrong"], record["wrong"]
    return f"{text}: {free:,} {where}, {inside:,} inside it, {wrong:,} on the wrong side"


def _describe_lift(record: dict[str, Any]) -> str:
    if record["approximation"] == "fourier":
        return (
            f"{record['components']:,} components, cosines of random frequencies; the objective is "
            "that of the approximate kernel"
        )
    share = 100.0 * record["unexplained"]
    text = (
        f"{record['components']:,} components, landmarks among {counted(record['rows'], 'row')}, "
        f"which leave {share:.2g} % of the trace of the kernel matrix unexplained"
    )
    if record["exact_primal"] is None:
        return text
    primal, dual = record["exact_primal"], record["exact_dual"]
    text += f"; with the exact kernel the objective is {primal:,.6g}, "
    cost = 100.0 * (primal - dual) / primal if primal > 0.0 else 0.0
    # A bound at or below zero is no share of the objective, nor is one that rounds to 100 %.
    if cost >= 99.5:
        return f"{text}lower bound {dual:,.6g}"
    return f"{text}within {cost:.2g} % of the best possible"


def _describe_calibration(model: Any) -> str:
    found = getattr(model, "calibration_", None)
    if found is None:
        return "interrupted before it was complete, so there are no probabilities"
    return f"{found['method']}, fitted to the scores of {counted(found['folds'], 'fold')}"
