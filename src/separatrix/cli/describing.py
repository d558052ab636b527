"""Certificates and sentences of the library in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import separatrix
from separatrix.certificate import Certificate, ResidualCertificate
from separatrix.tables.table import shown

# The library speaks of its arguments; here they are options.
_AS_OPTIONS = (
    (re.compile(r"\bmax_(iter|passes)\b"), "--max-iter"),
    (re.compile(r"\btime_limit\b(?!:)"), "--time-limit"),
    (re.compile(r"penalty='l2'"), "--penalty l2"),
    (
        re.compile(r"kernel='rbf' or 'poly' with coef0 >= 0"),
        "--kernel rbf, or poly with --coef0 >= 0,",
    ),
    (re.compile(r"separatrix\.separability\(X, y\)"), "separatrix separable"),
    (re.compile(r"\btol=([0-9])"), r"--tol \1"),
    (re.compile(r"\b(shrinkage|covariance)='(\w+)'"), r"--\1 \2"),
    (re.compile(r"early_stopping=False goes on"), "without --early-stopping it goes on"),
    (re.compile(r"\bstep_tol\b"), "--step-tol"),
    (re.compile(r"\bset lam > 0"), "give --lam"),
    (re.compile(r"\bset interactions=False"), "do without --interactions"),
    # Tables are standardised where it helps, and no option does more.
    (re.compile(r"(raise --max-iter), or standardise the features"), r"\1"),
    (re.compile(r"\bdegree=([0-9])"), r"--degree \1"),
)


def in_fit_options(message: str) -> str:
    """A sentence of the library about a fit, with options where it names arguments."""
    for pattern, replacement in _AS_OPTIONS:
        message = pattern.sub(replacement, message)
    return message


# What the library calls columns that it has no names of.
_GENERIC = re.compile(r"'x(\d+)'")
_COLUMNS = re.compile(r"\b[Cc]olumns? \d+(?:, \d+)*(?: and \d+(?! more)\b)?")


def with_names(message: str, names: Sequence[str]) -> str:
    """A sentence of the library with the names of columns where it has their numbers."""

    def named(match: re.Match[str]) -> str:
        numbers = [int(text) for text in re.findall(r"\d+", match[0])]
        if max(numbers) >= len(names):
            return match[0]
        return re.sub(r"\d+", lambda number: shown(names[int(number[0])]), match[0])

    def generic(match: re.Match[str]) -> str:
        j = int(match[1])
        return shown(names[j]) if j < len(names) else match[0]

    return _GENERIC.sub(generic, _COLUMNS.sub(named, message))


def describe_certificate(
    model: Any, certificate: Certificate | ResidualCertificate, *, advice: bool = True
) -> str:
    """A certificate in one sentence, with what to do about it unless `advice` is false."""
    sentence, _, remedy = str(certificate).partition("; ")
    if isinstance(certificate, Certificate) and isinstance(model, separatrix.Perceptron):
        # Its objective is the number of mistakes, and no bound but zero is known.
        mistakes = "no training mistake"
        if certificate.primal > 0:
            noun = "training mistake" if certificate.primal == 1 else "training mistakes"
            weighted = "weighted " if model.class_weight is not None else ""
            mistakes = f"{certificate.primal:,.6g} {weighted}{noun} left"
        passes = "pass" if certificate.n_iter == 1 else "passes"
        sentence = (
            f"{certificate.status}: {mistakes}, {certificate.n_iter:,} {passes}, "
            f"{certificate.seconds:.2f} s"
        )
    if not advice or not remedy:
        return sentence
    return f"{sentence}; {in_fit_options(remedy)}"
