"""Certificates in the words of the command line."""

from __future__ import annotations

from typing import Any

import separatrix
from separatrix.certificate import Certificate, ResidualCertificate
from separatrix.cli.wording import TERMINAL
from separatrix.messages import counted


def describe_certificate(
    model: Any, certificate: Certificate | ResidualCertificate, *, advice: bool = True
) -> str:
    """A certificate in one sentence, with what to do about it unless `advice` is false."""
    sentence = certificate.outcome
    if isinstance(certificate, Certificate) and isinstance(model, separatrix.Perceptron):
        # Its objective is the number of mistakes, and no bound but zero is known.
        mistakes = "no training mistake"
        if certificate.primal > 0:
            noun = "training mistake" if certificate.primal == 1 else "training mistakes"
            weighted = "weighted " if model.class_weight is not None else ""
            mistakes = f"{certificate.primal:,.6g} {weighted}{noun} left"
        sentence = (
            f"{certificate.status}: {mistakes}, {counted(certificate.n_iter, 'pass')}, "
            f"{certificate.seconds:.2f} s"
        )
    remedy = certificate.remedy if advice else ""
    return f"{sentence}; {TERMINAL(remedy)}" if remedy else sentence
