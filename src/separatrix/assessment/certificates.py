"""A certificate in words, for people who have not met one before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from separatrix.certificate import NO_OPTIMUM, Certificate, ResidualCertificate
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.messages import Message, message_of
from separatrix.models.registry import stated

_GRAVE = (*NO_OPTIMUM, "not_separable", "non_finite")


def certificate_of(model: Any, X: Any, y: Any) -> tuple[Any, str | None]:
    """The certificate of a model, computed where it has none, or why there is none."""
    own = getattr(model, "certificate_", None)
    if isinstance(own, (Certificate, ResidualCertificate)):
        return own, None
    import warnings

    from separatrix.verification.audit import verify

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return verify(model, X, y), None
    except (AttributeError, TypeError, ValueError) as error:
        return None, message_of(error)


def certificate_record(
    model: Any, certificate: Any, why: str | None, wording: Callable[[str], str]
) -> dict[str, Any]:
    """The record of a certificate for a page.

    Returns
    -------
    dict
        ``kind`` (``"gap"``, ``"equations"``, ``"mistakes"`` or None), ``record`` (the certificate's
        own), ``printed`` (the same in the units of the printed formula), ``words`` (sentences) and
        ``own`` (whether the fit gave it).
    """
    if certificate is None:
        return {"kind": None, "why": None if why is None else " ".join(wording(why).split())}
    printed = certificate.as_printed() if isinstance(certificate, Certificate) else certificate
    record: dict[str, Any] = {
        "record": certificate.to_dict(),
        "printed": printed.to_dict(),
        "status": certificate.status,
        "ok": bool(certificate.ok),
        "own": hasattr(model, "certificate_"),
        "remedy": wording(certificate.remedy),
    }
    if isinstance(certificate, ResidualCertificate):
        return record | {"kind": "equations", "words": _of_equations(certificate)}
    if stated(model, "_counts_mistakes"):
        return record | {"kind": "mistakes", "words": _of_mistakes(certificate)}
    return record | {
        "kind": "gap",
        "words": _of_gap(certificate),
        "interval": _interval(certificate),
        "digits": _digits(certificate),
    }


def _interval(certificate: Certificate) -> dict[str, float] | None:
    """The places of the ends of the interval in the drawing, in per cent of its width."""
    if not (math.isfinite(certificate.gap) and math.isfinite(certificate.primal)):
        return None
    gap, tolerance = certificate.gap, certificate.tol * abs(certificate.primal)
    width = max(gap, tolerance) * 1.25
    if width <= 0.0:
        return None

    def place(below: float) -> float:
        return 90.0 - 80.0 * below / width * 1.25

    return {"primal": 90.0, "dual": place(gap), "tolerance": place(tolerance)}


def _digits(certificate: Certificate) -> int:
    """The number of digits that distinguish the objective from its bound."""
    gap = certificate.relative_gap
    if not 0.0 < gap < 1.0:
        return 6
    return min(15, max(6, 2 - math.floor(math.log10(gap))))


def _of_gap(c: Certificate) -> list[str]:
    if not math.isfinite(c.gap):
        return [
            "There is no lower bound, so nothing is proved about how far the objective is from the "
            "best possible."
        ]
    sentences = [
        "The objective is what the fit minimises. The lower bound is a number below which no "
        "weights can bring it: the dual problem proves this from the rows of the fit, whatever the "
        "solver did. The best possible objective lies between the two."
    ]
    if c.ok:
        sentences.append(
            "A better fit could improve the objective by the gap between them at most."
        )
    elif c.status != "vanishing":
        sentences.append("The gap is wider than the tolerance, so a better fit may exist.")
    if c.parts:
        sentences.append(
            f"The objective is the sum of {len(c.parts):,} problems, each with its own bound."
        )
    return sentences


def _of_equations(c: ResidualCertificate) -> list[str]:
    sentences = [
        "The model is the solution of linear equations, and the certificate states how well they "
        "hold: their residual, relative to the size of their terms, was computed in float64 from "
        "the data."
    ]
    if not math.isnan(c.condition):
        sentences.append(
            "The condition number is the factor by which a relative error in the data can grow in "
            "the weights."
        )
    if c.rank < c.n_columns:
        sentences.append(
            "The columns depend on one another, so the data alone do not determine the weights; "
            "this is the solution of smallest norm."
        )
    return sentences


def _of_mistakes(c: Certificate) -> list[str]:
    if c.primal == 0.0:
        return [
            "The perceptron corrects mistakes until a pass over the rows has none. The last pass "
            "had none, which proves that a hyperplane separates the rows of the fit."
        ]
    return [
        "The perceptron corrects mistakes until a pass over the rows has none. It stopped before "
        "that, and the only lower bound that is known for the fewest possible mistakes is zero."
    ]


def certificate_findings(certificate: Any, why: str | None) -> list[Finding]:
    """The findings that a certificate gives rise to."""
    if certificate is None:
        return [
            Finding(
                "no_certificate",
                "warning",
                "there is no certificate, so nothing is proved about how well the model was fitted",
                why or "",
            )
        ]
    found = []
    if not certificate.ok:
        if hasattr(certificate, "relative_gap"):
            reached = f"the certified relative gap is {certificate.relative_gap:.3g}, and tol is "
            reached += f"{certificate.tol:g}"
            if not math.isfinite(certificate.relative_gap):
                reached = "there is no lower bound, so nothing is proved"
        else:
            reached = (
                f"the equations hold to {certificate.relative_residual:.3g}, and the tolerance is "
                f"{certificate.tol:g}"
            )
        found.append(
            Finding(
                certificate.status,
                "problem" if certificate.status in _GRAVE else "warning",
                Message("not_optimal", cause=certificate.cause),
                reached,
                certificate.advice,
            )
        )
    if isinstance(certificate, ResidualCertificate):
        if certificate.rank < certificate.n_columns:
            found.append(
                Finding(
                    "rank_deficient",
                    "warning",
                    f"{certificate.rank:,} of {certificate.n_columns:,} columns are independent",
                    "the weights of columns that depend on one another are not determined",
                    "leave columns out, or add a penalty",
                )
            )
        elif certificate.condition > 1e8:
            found.append(
                Finding(
                    "ill_conditioned",
                    "warning",
                    f"the condition number is {certificate.condition:.3g}",
                    "it multiplies relative errors in the data on their way into the weights",
                    "leave out columns that are nearly copies of others, or add a penalty",
                )
            )
    return found
