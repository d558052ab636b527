"""What a kernel machine rests on: its kernel, its support vectors, its approximation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from separatrix.cli.output import Output, counted
from separatrix.kernels import Kernel

# What the options call the kernels that they can name.
_NAMES = {
    "LinearKernel": "linear",
    "PolynomialKernel": "poly",
    "PrecomputedKernel": "precomputed",
    "RBFKernel": "rbf",
    "SigmoidKernel": "sigmoid",
}


def kernel_record(kernel: Kernel) -> dict[str, Any]:
    """The name of a kernel, its formula and its numbers."""
    name = type(kernel).__name__
    return {"name": _NAMES.get(name, name), "formula": kernel.formula, **asdict(kernel)}  # type: ignore[call-overload]


def support_record(model: Any) -> dict[str, Any] | None:
    """What a kernel machine rests on; None for another model.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    dict or None
        ``kernel``, ``rows`` (that were fitted), and for a machine on the kernel itself
        ``vectors``, ``on_margin`` (support vectors with a coefficient between its ends, which
        lie on the margin, for more than two classes on that of some pair), ``bounded`` (the
        others), of two classes ``wrong`` (those of the others that are on the wrong side), and
        ``by_class``; for an approximation ``approximation``, ``components``, and of the one by
        landmarks ``unexplained`` (share of the kernel), ``exact_primal`` (the true problem's
        objective) and ``exact_dual`` (a lower bound of it).
    """
    if not hasattr(model, "kernel_"):
        return None
    record: dict[str, Any] = {"kernel": kernel_record(model.kernel_), "rows": len(model.slack_)}
    if hasattr(model, "lift_"):
        return {
            **record,
            "approximation": model.approximation,
            "components": int(model.lift_.n_components_),
            "unexplained": getattr(model.lift_, "unexplained_", None),
            "exact_primal": getattr(model, "exact_primal_", None),
            "exact_dual": getattr(model, "exact_dual_", None),
        }
    free = ((model.dual_coef_ != 0.0) & ~model.bounded_).any(axis=0)
    binary = len(model.classes_) == 2
    wrong = int(np.sum(model.slack_[model.support_[~free]] >= 1.0)) if binary else None
    return {
        **record,
        "vectors": len(model.support_),
        "on_margin": int(free.sum()),
        "bounded": int((~free).sum()),
        "wrong": wrong,
        "by_class": [
            {"class": label, "vectors": int(count)}
            for label, count in zip(model.classes_.tolist(), model.n_support_, strict=True)
        ],
    }


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
