"""What the page says of a fit and of its points: in words, and with the names of its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from separatrix.certificate import Certificate
from separatrix.messages import Wording, counted, percent
from separatrix.studio.fitting import Fitted

__all__ = ["PAGE", "certificate_of", "sentence"]

# Below this share of the objective nobody counts the zeros.
_NEAR = 1e-8


class _Page(Wording):
    """The words of the page, which has buttons and sliders where Python has parameters."""

    templates: ClassVar[Mapping[str, str]] = {
        "cause.callback": "the fit was ended",
        "cause.interrupted": "the fit was interrupted",
        "cause.memory_limit": "the memory was too small",
        "cause.stalled": "the passes no longer lowered the objective",
        "cause.small_step": "the steps became too short",
        "cause.precision_limit": "floating point allows no further progress",
        "ask_for_separability": "press the button Separable?",
        "judge_by_class": "count the mistakes of each class separately",
        "keep_a_penalty": "keep a penalty and choose its strength by cross-validation; the button "
        "Separable? shows the proof",
    }
    phrases: ClassVar[Mapping[str, str]] = {
        **Wording.phrases,
        "separability": "the button Separable?",
    }


PAGE = _Page()


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def certificate_of(fit: Fitted) -> dict[str, Any]:
    """The certificate of a fit: its figures, its status as a code, and its verdict in words."""
    found = getattr(fit.model, "certificate_", None)
    if found is None:
        text = "This model does not minimise an objective, so there is no certificate."
        return {**_figures(None), "status": "done", "sentence": text}
    if not isinstance(found, Certificate):
        figures = _figures(None) | {"condition": found.condition, "seconds": found.seconds}
        text = f"the {found.equations} hold to {found.relative_residual:.2g}"
        text = f"Solved: {text}." if found.ok else f"Not solved: {text} only."
        return {**figures, "status": found.status, "sentence": text}
    if fit.state.model == "perceptron":
        figures = _figures(None) | {"iterations": found.n_iter, "seconds": found.seconds}
        return {**figures, "status": found.status, "sentence": _of_perceptron(found)}
    return {**_figures(found), "status": found.status, "sentence": _of_optimum(fit, found)}


def _figures(found: Certificate | None) -> dict[str, Any]:
    """Those of an optimum; each None where there is none."""
    names = {
        "objective": "primal",
        "bound": "dual",
        "gap": "gap",
        "relative_gap": "relative_gap",
        "iterations": "n_iter",
        "seconds": "seconds",
    }
    return {key: getattr(found, name, None) for key, name in names.items()}


def _of_perceptron(found: Certificate) -> str:
    passes = counted(found.n_iter, "pass")
    if found.status == "optimal":
        return f"Separated: after {passes} every point is on its side."
    # Its objective is the number of mistakes of the best weights.
    left = counted(int(found.primal), "mistake")
    return (
        f"Not separated: the best line of {passes} makes {left}. Linear SVM and Logistic "
        "regression allow for classes that overlap."
    )


def _of_optimum(fit: Fitted, found: Certificate) -> str:
    distance = "no lower bound is known yet"
    if found.gap == 0.0:
        distance = "the objective is the best possible"
    elif not found.bounds_share and math.isfinite(found.dual):
        distance = f"the best lower bound is {found.dual:.3g}"
    elif math.isfinite(found.relative_gap):
        share = percent(max(found.relative_gap, _NEAR))
        distance = f"the objective is within {share} of the best possible"
    if found.status == "optimal":
        return f"Optimal: {distance}."
    sgd = fit.state.model == "sgd"
    if found.status == "max_iter":
        steps = counted(found.n_iter, "pass" if sgd else "iteration")
        more = " More passes bring it closer." if sgd else ""
        return f"Stopped after {steps}: {distance}.{more}"
    if found.status == "time_limit":
        return f"Stopped after {found.seconds:.2g} s: {distance}. Fewer points take less time."
    if found.status == "non_finite":
        rate = sgd and fit.options["learning_rate"] != "optimal"
        less = "; a smaller first rate prevents it" if rate else ""
        return f"The arithmetic overflowed, and this is the last finite iterate{less}."
    return f"{sentence(PAGE(found.cause))[:-1]}: {distance}."
