"""Findings on a terminal: in words about commands, and none that were told already."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.assessment.findings import not_alerted
from separatrix.cli.output import Output
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.diagnosis import diagnose
from separatrix.tables import Encoder

# Beyond so many stored numbers a fit does not wait for the slower checks.
_QUICK_ENTRIES = 5_000_000
_QUICK_GRAM = 5e8


def warn_before_fit(
    out: Output,
    X: Any,
    y: np.ndarray,
    encoder: Encoder,
    row_numbers: np.ndarray,
    *,
    penalised: bool,
) -> None:
    """Warn of what will hurt the fit, as far as it is quickly found and was not told already.

    Parameters
    ----------
    out : Output
    X, y : matrix and ndarray
        The rows to fit.
    encoder : Encoder
        Of these rows; its own alerts are out.
    row_numbers : ndarray of int
        Where the rows stand in the file, from 1.
    penalised : bool
        Whether the weights have a penalty. Without one it matters that they are not determined.
    """
    n, d = X.shape
    checks = ["classes"]
    if (X.nnz if hasattr(X, "nnz") else X.size) <= _QUICK_ENTRIES:
        checks += ["rows", "label"]
        if None in encoder.columns_:  # of an svmlight file; other numbers are standardised
            checks.append("scales")
    if not penalised:
        checks += ["shape", "columns"]
        if n * d * d <= _QUICK_GRAM:
            checks.append("collinear")
    found = diagnose(
        X, y, checks=checks, feature_names=encoder.feature_names_, row_numbers=row_numbers
    )
    for finding in not_alerted(found, encoder):
        if finding.severity != "note":
            out.warn("; ".join(map(TERMINAL, filter(None, (finding.what, finding.remedy)))))
