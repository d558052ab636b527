"""The record of a fitted perceptron, checked against the data that it is drawn with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from separatrix.certificate import Certificate
from separatrix.data.design import as_design
from separatrix.data.validation import validate
from separatrix.geometry.separation.perceptron_bound import PerceptronBound, perceptron_bound
from separatrix.plots.fitted import class_codes, column_names, dense, last_rows, traces_of
from separatrix.solvers.schedules import Constant, Schedule
from separatrix.solvers.trace import Trace, Update

# Longer numbers are written with a power of ten.
_WRITTEN_OUT = 1e12


def most_in_words(bound: float) -> str:
    """The largest whole number of corrections that a bound allows, in words; no fewer."""
    if bound < _WRITTEN_OUT:
        return f"{math.floor(bound):,}"
    if not math.isfinite(bound):
        return "infinitely many"
    return rounded_up(bound)


def rounded_up(bound: float) -> str:
    """A bound with four digits, which is still a bound."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(bound):,.4g}"


@dataclass(kw_only=True, eq=False, repr=False)
class Run:
    """The recorded run of a perceptron; :class:`PerceptronDisplay` documents the fields."""

    X: Any
    codes: np.ndarray
    classes: Sequence[Any]
    updates: Sequence[Update]
    names: Sequence[str]
    margin: float = 0.0
    fit_intercept: bool = True
    n_passes: int = 0
    finished: bool = True
    plain_rule: bool = True
    rate: float = 1.0
    row_numbers: Sequence[int] | None = None


def recorded(model: Any, X: Any, y: Any, part: Any) -> Run:
    """The run of a fitted perceptron.

    Raises
    ------
    TypeError
        For a model that makes no such updates.
    ValueError
        If the updates were not recorded, there were none, ``X`` or ``y`` are not the training
        data, or ``part`` chooses none of several classes.
    """
    # The perceptron's own points.
    model, X = last_rows(model, X)
    trace, certificate, classes = _run_of(model, part)
    design = as_design(validate(model, X))
    codes = class_codes(model, y, design.n_samples)
    if len(model.classes_) > 2:
        codes = (np.asarray(model.classes_)[codes] == part).astype(np.intp)
    updates = trace.updates
    if not updates:
        raise ValueError(
            f"This {type(model).__name__} made no update: its initial weights were right for every "
            "row, so there is nothing to draw."
        )
    highest = max(update.sample for update in updates)
    if highest >= design.n_samples:
        raise ValueError(
            f"X has {design.n_samples:,} rows, and row {highest:,} was updated; pass the "
            "training data."
        )
    _require_training_data(model, design, codes, updates)
    plain_rule, rate = _rule(model)
    return Run(
        X=design,
        codes=codes,
        classes=classes,
        updates=updates,
        names=column_names(getattr(model, "feature_names_in_", None), design.n_features),
        margin=float(getattr(model, "margin", 0.0)),
        fit_intercept=bool(getattr(model, "fit_intercept", True)),
        # More than the trace has checks, where the last look found out before the clean pass.
        n_passes=max(certificate.n_iter, updates[-1].epoch),
        finished=certificate.status in ("optimal", "averaged"),
        plain_rule=plain_rule,
        rate=rate,
    )


def bound_of(run: Run) -> PerceptronBound:
    """The bound of the convergence theorem for a recorded run."""
    start = run.updates[0]
    return perceptron_bound(
        run.X.matrix,
        np.where(run.codes == 1, 1, -1),
        fit_intercept=run.fit_intercept,
        coef_init=start.coef_before,
        intercept_init=start.intercept_before if run.fit_intercept else None,
        learning_rate=run.rate,
        margin=run.margin,
        # The run is known; only the bound is needed.
        max_passes=1,
    )


def weights_after(run: Run) -> np.ndarray:
    """The weights of the start and after every update, with the offset last if there is one."""
    first = run.updates[0]
    pairs = [(first.coef_before, first.intercept_before)]
    pairs += [(update.coef, update.intercept) for update in run.updates]
    return np.array([[*w, b] if run.fit_intercept else w for w, b in pairs])


def _run_of(model: Any, part: Any) -> tuple[Trace, Certificate, list[Any]]:
    """The record of the problem that is shown, its certificate, and its two sides."""
    name = type(model).__name__
    if not hasattr(model, "classes_") or not hasattr(model, "coef_"):
        raise TypeError(f"{name} is not a fitted perceptron.")
    if not _corrects(model):
        raise TypeError(
            f"This {name} has no record of single corrections; those of separatrix.Perceptron and "
            "SGDClassifier.perceptron() can be drawn."
        )
    traces, classes = traces_of(model, "updates"), np.asarray(model.classes_).tolist()
    if len(traces) == 1:
        if part is not None:
            raise ValueError(f"part={part!r} is for more than two classes; leave it out.")
        return traces[0], model.certificate_, classes
    if part not in classes:
        known = ", ".join(map(repr, classes[:6])) + (", ..." if len(classes) > 6 else "")
        fault = "" if part is None else f"part={part!r} is not one of the classes; "
        raise ValueError(
            f"{fault}each of the {len(classes)} classes has its own updates, against the rest; "
            f"choose one with part: {known}."
        )
    k = classes.index(part)
    return traces[k], model.certificate_.parts[k], ["rest", part]


def _corrects(model: Any) -> bool:
    """Whether a model of this library makes the updates of a perceptron, and can record them."""
    if not hasattr(model, "record"):
        return False
    plainly = getattr(model, "penalty", "l2") is None or getattr(model, "alpha", 1.0) == 0
    single = getattr(model, "batch_size", 0) == 1
    stochastic = getattr(model, "loss", None) == "perceptron" and plainly and single
    return hasattr(model, "mistakes_") or stochastic


def _rule(model: Any) -> tuple[bool, float]:
    """Whether every step has the same length a row, and its factor."""
    rate = getattr(model, "learning_rate", 1.0)
    if isinstance(rate, Constant):
        rate = rate.rate
    if isinstance(rate, Schedule | str):
        return False, 1.0
    return getattr(model, "class_weight", None) is None, float(rate)


def _require_training_data(
    model: Any, design: Any, codes: np.ndarray, updates: Sequence[Update]
) -> None:
    """Raise ValueError unless the first updates are along the rows that they name."""
    for update in updates[:20]:
        row = dense(design.take(np.array([update.sample])).matrix).ravel()
        step = update.coef - update.coef_before
        sign = 1.0 if codes[update.sample] == 1 else -1.0
        size = float(row @ row)
        factor = float(step @ row) / size if size else 0.0
        off = float(np.abs(step - factor * row).max(initial=0.0))
        scale = max(float(np.abs(update.coef).max(initial=0.0)), float(np.abs(step).max()))
        if off > 1e-6 * max(scale, 1e-300) or factor * sign < 0:
            raise ValueError(
                f"X and y are not what this {type(model).__name__} was trained on: the update on "
                f"row {update.sample} is not a multiple of that row; pass the training data."
            )
