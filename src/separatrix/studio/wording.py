"""The texts of the page about a fit and its points, with the names of its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context
from typing import Any, ClassVar

from separatrix.certificate import Certificate
from separatrix.messages import Wording, counted, percent
from separatrix.studio.fitting import Fitted

# Below this share of the objective nobody counts the zeros.
_NEAR = 1e-8
# The digits of an objective and of its bound that are tried, until both agree; otherwise four.
_DIGITS = (6, 5, 4, 3)
# A formula of the library in the signs of a printed page.
_SIGNS = {
    "minimise ": "",
    "1/2 ": "\u00bd ",
    "|^2": "|\u00b2",
    " * ": " \u00b7 ",
    "sum ": "\u03a3 ",
}


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
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def certificate_of(fit: Fitted) -> dict[str, Any]:
    """The certificate of a fit: its figures, its status as a code, and its verdict in words."""
    found = getattr(fit.model, "certificate_", None)
    figures = dict.fromkeys((*_FIGURES, "condition", "equations", "residual", "measure"))
    if found is None:
        text = "This model does not minimise an objective, so there is no certificate."
        return {**figures, "status": "done", "sentence": text}
    figures |= {"status": found.status, "seconds": found.seconds}
    if not isinstance(found, Certificate):
        figures["condition"], figures["residual"] = found.condition, found.relative_residual
        figures["equations"] = found.equations
        return {**figures, "sentence": _of_equations(fit, found)}
    if fit.state.model == "perceptron":
        return {**figures, "iterations": found.n_iter, "sentence": _of_perceptron(found)}
    figures |= {key: getattr(found, name) for key, name in _FIGURES.items()}
    measure = str(fit.model.objective_formula_)
    for plain, sign in _SIGNS.items():
        measure = measure.replace(plain, sign)
    return {**figures, "measure": measure, "sentence": _of_optimum(fit, found)}


_FIGURES = {
    "objective": "primal",
    "bound": "dual",
    "gap": "gap",
    "relative_gap": "relative_gap",
    "iterations": "n_iter",
    "seconds": "seconds",
}


def _of_equations(fit: Fitted, found: Any) -> str:
    if not found.ok:
        return f"Not solved: the {found.equations} hold to {found.relative_residual:.2g} only."
    if fit.state.model in ("lda", "qda"):
        return "Solved: the boundary follows from the means and covariances, up to rounding."
    return f"Solved: {_none(fit)} can do better by this measure, up to rounding."


def _none(fit: Fitted) -> str:
    """Return what cannot do better than the fit, by the name of what the model draws."""
    if fit.regression:
        return "no curve of this degree" if fit.options["degree"] > 1 else "no line"
    if fit.state.model == "kernel_svm":
        return "no boundary of this kernel"
    return "no other set of lines" if fit.several else "no line"


def below(value: float, digits: int) -> str:
    """A number of ``digits`` digits that is at most ``value``: a lower bound stays one."""
    cut = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(value)
    return f"{float(cut):.{digits}g}"


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


def _distance(fit: Fitted, found: Certificate) -> str:
    """The distance of the fit from the best possible, in digits that the certificate proves."""
    if not math.isfinite(found.dual) or not math.isfinite(found.primal):
        return "nothing is proved yet of how good it is"
    for digits in _DIGITS:
        bound, own = below(found.dual, digits), below(found.primal, digits)
        if bound == own:
            break
    else:
        bound, own = below(found.dual, 4), f"{found.primal:.4g}"
    proved = f"{_none(fit)} can do better than {bound} by this measure"
    one = "these have" if fit.several else "this one has"
    if bound == own or not found.bounds_share:
        return f"{proved}; {one} {own}"
    share = percent(max(found.relative_gap, _NEAR))
    return f"{proved}; {one} {own}, so at most {share} of it can be saved"


def _of_optimum(fit: Fitted, found: Certificate) -> str:
    distance = _distance(fit, found)
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
