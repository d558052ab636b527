"""What there is to know of a model, in words.

Weights, priors, terms, ranks, learning rates; and of a kernel machine its support vectors, its
approximation and its calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.assessment.records import support_record
from separatrix.cli.output import Output
from separatrix.messages import counted, short
from separatrix.tables.table import quote

# Of terms and classes in a line of text or a table; --json has them all.
_IN_A_LINE = 6
_IN_A_TABLE = 50


def degree_alert(model: Any, columns: Sequence[str]) -> str | None:
    """What to say where columns of a polynomial do not bear its degree; None where all do.

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
        f"by their distinct values some columns bear fewer powers than --degree {model.degree} "
        f"asks for: {', '.join(text)}{more}; the higher ones are left out"
    )


def report_details(out: Output, record: dict[str, Any]) -> None:
    """Print, with a fit, what its user will want to know at once."""
    if "terms" in record:
        out.report("terms", _polynomial(record))
    if "classes" in record:
        out.report("classes", _gaussians(record))
    if "schedule" in record:
        out.report("steps", _steps(record))


def print_details(out: Output, record: dict[str, Any]) -> None:
    """Print, of a model file, all of it."""
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


def _steps(record: dict[str, Any]) -> str:
    steps = "" if record["steps"] is None else f"{record['steps']:,} in "
    passes = record["passes"]
    text = f"{steps}{passes:,} {'pass' if passes == 1 else 'passes'}"
    if record["fits"] > 1:
        text += f", {record['fits']:,} classes together"
    text += f", {record['schedule']}"
    if record["searched"]:
        text += f" (the best of {record['searched']} rates on a sample)"
    return text + (", weights averaged" if record["averaged"] else "")


def describe_weights(entries: Sequence[dict[str, Any]], *, multiclass: bool) -> str:
    """``capital_gain +2.31, ...``, with the class in front when there are several."""
    if not entries:
        return "all zero"
    texts = [
        (f"{_sides(entry)}: " if multiclass else "")
        + f"{short(entry['feature'])} {entry['standardised']:+.3g}"
        for entry in entries
    ]
    return ", ".join(texts)


def _sides(entry: dict[str, Any]) -> str:
    against = f" vs {short(entry['against'])}" if "against" in entry else ""
    return f"{short(entry['class'])}{against}"


# ----------------------------------------------------------------------- kernel machines


def report_support(report: Callable[[str, str], None], model: Any) -> None:
    """Print what a kernel machine rests on, if the model is one; `report` takes a labelled line."""
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
            f"{record['components']:,} components, waves of random frequencies; the objective is "
            "that of the approximate kernel"
        )
    share = 100.0 * record["unexplained"]
    text = (
        f"{record['components']:,} components, landmarks among {counted(record['rows'], 'row')}, "
        f"which leave {share:.2g} % of the kernel unexplained"
    )
    if record["exact_primal"] is None:
        return text
    primal, dual = record["exact_primal"], record["exact_dual"]
    cost = 100.0 * (primal - dual) / primal if primal > 0.0 else 0.0
    return (
        f"{text}; in the true problem the objective is {primal:,.6g}, within {cost:.2g} % of the "
        "best possible"
    )


def _describe_calibration(model: Any) -> str:
    found = getattr(model, "calibration_", None)
    if found is None:
        return "interrupted before it was done, so there are no probabilities"
    return f"{found['method']}, fitted to the scores of {counted(found['folds'], 'fold')}"
