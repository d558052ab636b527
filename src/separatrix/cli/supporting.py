"""What a kernel machine rests on: its kernel, its support vectors, its approximation."""

from __future__ import annotations

from typing import Any

from separatrix.assessment.records import support_record
from separatrix.cli.output import Output
from separatrix.messages import counted


def tell_support(out: Output, model: Any, *, answer: bool = False) -> None:
    """Print what a kernel machine rests on, if the model is one."""
    record = support_record(model)
    tell = out.answer if answer else out.report
    if record is not None and "approximation" in record:
        tell("lift", _describe_lift(record))
    elif record is not None:
        tell("support", _describe_support(record, model))
    if getattr(model, "calibrate", None) is not None:
        tell("calibrate", _describe_calibration(model))


def _describe_support(record: dict[str, Any], model: Any) -> str:
    n, free, bounded = record["vectors"], record["on_margin"], record["bounded"]
    one = n == 1
    told = f"{n:,} of {counted(record['rows'], 'row')} {'is a' if one else 'are'} support vector"
    told += "" if one else "s"
    pairs = len(model.classes_) > 2
    where = "on the margin of a pair" if pairs else "on the margin"
    if not bounded:
        return f"{told}, all {where}" if n else told
    if pairs:
        return f"{told}: {free:,} {where}, the other {bounded:,} inside or on the wrong side"
    inside, wrong = bounded - record["wrong"], record["wrong"]
    return f"{told}: {free:,} {where}, {inside:,} inside it, {wrong:,} on the wrong side"


def _describe_lift(record: dict[str, Any]) -> str:
    if record["approximation"] == "fourier":
        return (
            f"{record['components']:,} components, waves of random frequencies; the objective is "
            "that of the approximate kernel"
        )
    share = 100.0 * record["unexplained"]
    told = (
        f"{record['components']:,} components, landmarks among {counted(record['rows'], 'row')}, "
        f"which leave {share:.2g} % of the kernel unexplained"
    )
    if record["exact_primal"] is None:
        return told
    primal, dual = record["exact_primal"], record["exact_dual"]
    cost = 100.0 * (primal - dual) / primal if primal > 0.0 else 0.0
    return (
        f"{told}; in the true problem the objective is {primal:,.6g}, within {cost:.2g} % of the "
        "best possible"
    )


def _describe_calibration(model: Any) -> str:
    found = getattr(model, "calibration_", None)
    if found is None:
        return "interrupted before it was done, so there are no probabilities"
    return f"{found['method']}, fitted to the scores of {counted(found['folds'], 'fold')}"
