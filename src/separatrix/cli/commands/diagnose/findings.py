"""Findings on a terminal: in words about commands, and none that were reported already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled.tuning import Tuned
from separatrix.cli.output import Output
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.alerts import gravity, not_alerted
from separatrix.geometry.diagnosis.diagnosis import diagnose
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.tables import Encoder


@dataclass(frozen=True)
class Tuning:
    """The size of data up to which a fit waits for the slower checks.

    Parameters
    ----------
    quick_entries : int
        The most stored numbers with which rows, labels and scales are checked.
    quick_gram : float
        The most multiplications for the Gram matrix of the columns, by which collinear ones are
        found.
    """

    quick_entries: int = 5_000_000
    quick_gram: float = 5e8


tuned = Tuned(Tuning())

# Findings that deserve a line though they do no harm by themselves.
_NOTED = (
    "imbalance",
    "contradictory_rows",
    "duplicate_rows",
    "empty_rows",
    "nearly_constant_column",
)


def warn_before_fit(
    out: Output,
    X: Any,
    y: np.ndarray,
    encoder: Encoder,
    row_numbers: np.ndarray,
    *,
    penalised: bool,
    read: bool = True,
) -> list[Finding]:
    """Report what will hurt the fit, a line each, where it is quickly found and not yet reported.

    On a table of the size of adult.csv all of it takes less than a tenth of a second.

    Parameters
    ----------
    out : Output
    X, y : matrix and ndarray
        The rows to fit.
    encoder : Encoder
        The encoder of these rows, whose own alerts are reported already.
    row_numbers : ndarray of int
        The numbers of the rows in the file, from 1.
    penalised : bool
        Whether the weights have a penalty. Without one it matters that they are not determined.
    read : bool
        Whether there are weights to be read, so that it matters what columns share.

    Returns
    -------
    list of Finding
        The findings that were not yet reported.
    """
    n, d = X.shape
    checks = ["classes"]
    quick = (X.nnz if hasattr(X, "nnz") else X.size) <= tuned.now.quick_entries
    if quick:
        checks += ["rows", "label"]
        if penalised and (None in encoder.columns_ or not encoder.standardise):
            checks.append("scales")  # numbers of other tables are standardised
    # Many of thousands of words are rare, or stand only beside another: such are texts.
    texts = "text" in encoder.kinds_.values()
    if not penalised or (read and quick and not texts):
        checks += ["shape", "columns"]
    if not penalised and n * d * d <= tuned.now.quick_gram:
        checks.append("collinear")
    found = diagnose(
        X,
        y,
        checks=checks,
        feature_names=encoder.feature_names_,
        row_numbers=row_numbers,
        value_text=encoder.value_text,
    )
    kept = list(not_alerted(found, encoder))
    kept.sort(key=gravity)
    for finding in kept:
        if finding.severity != "note":
            out.warn("; ".join(map(TERMINAL, filter(None, (finding.what, finding.remedy)))))
        elif finding.code in _NOTED and not _of_levels(finding, encoder):
            out.note(TERMINAL(finding.what))
    return kept


def _of_levels(finding: Finding, encoder: Encoder) -> bool:
    """Whether it is about levels of categories, of which every table has rare ones."""
    features = finding.where.get("columns", ())
    return bool(features) and not set(features) & set(encoder.columns_)
