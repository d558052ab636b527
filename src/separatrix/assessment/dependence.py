"""Features that follow from the others, before a fit whose coefficients are to be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.columns import columns_of
from separatrix.data.design import as_design
from separatrix.geometry.diagnosis.collinearity import Relation, dependence, equation
from separatrix.tables import Encoder
from separatrix.tables.table import quote

# Beyond so many entries, or columns, a fit does not wait for it.
_MOST_ENTRIES, _MOST_COLUMNS = 20_000_000, 1000
# The most relations that a warning names, and the most terms of each.
_NAMED, _TERMS = 3, 5
# A coefficient below this, in standard deviations, is rounding.
_ROUNDING = 1e-8


def leave_out_dependent(encoder: Encoder, X: Any, *, fit_intercept: bool) -> str | None:
    """Take features from an encoding that are exact combinations of others.

    Their coefficients would not be determined, and no coefficient of the others would have a
    standard error. The predictions of a fit do not depend on them. Among features that depend on
    one another, the last in the order of the encoding are left out, which are levels rather than
    numbers.

    Parameters
    ----------
    encoder : Encoder
        The encoding, which is changed where something is left out.
    X : matrix of shape (n_rows, n_features)
        The rows to fit.
    fit_intercept : bool
        Whether a constant is a column too.

    Returns
    -------
    str or None
        The features that were left out and the reason, in one sentence.
    """
    n, d = X.shape
    # With too few rows everything depends on everything, which the fit itself reports.
    if d > _MOST_COLUMNS or n * d > _MOST_ENTRIES or n <= d + 1:
        return None
    design = as_design(X)
    table = columns_of(design)
    constant = table.moments.constant if fit_intercept else table.moments.largest == 0.0
    fixed = np.flatnonzero(constant).tolist()
    if len(fixed) == d:
        return None
    found = dependence(table, design, np.flatnonzero(~constant), centred=fit_intercept)
    relations = () if found is None else found.relations
    if not relations and not fixed:
        return None
    deviation = table.moments.deviation
    unit = np.where(deviation > 0.0, deviation, np.maximum(table.moments.largest, 1e-300))
    solved = _solved_for_the_last(relations, unit)
    names = encoder.feature_names_
    sentences = [_in_words(j, row, unit, names) for j, row in solved]
    sentences += [f"{quote(names[j])} is constant" for j in fixed]
    more = f" and {len(sentences) - _NAMED} more" if len(sentences) > _NAMED else ""
    encoder.leave_out([names[j] for j in [*(j for j, _ in solved), *fixed]])
    one = len(sentences) == 1
    return (
        f"{'a feature follows' if one else 'features follow'} from others and "
        f"{'is' if one else 'are'} left out, because coefficients would not be determined: "
        f"{'; '.join(sentences[:_NAMED])}{more}"
    )


def _solved_for_the_last(
    relations: tuple[Relation, ...], unit: np.ndarray
) -> list[tuple[int, np.ndarray]]:
    """Solve each relation for a column of its own, the last one possible, and scale it to that.

    Gauss-Jordan elimination from the last column on, of relations between columns in their units;
    their constants come last.
    """
    d = len(unit)
    rows = np.zeros((len(relations), d + 1))
    for row, relation in zip(rows, relations, strict=True):
        row[list(relation.columns)] = relation.coefficients
        row[:d] *= unit
        row[d] = relation.constant
        row /= np.abs(row[:d]).max()
    solved: list[tuple[int, np.ndarray]] = []
    left = list(range(len(rows)))
    for j in range(d - 1, -1, -1):
        if not left:
            break
        best = max(left, key=lambda i: abs(rows[i, j]))
        if abs(rows[best, j]) <= _ROUNDING:
            continue
        rows[best] /= rows[best, j]
        for i in range(len(rows)):
            if i != best:
                rows[i] -= rows[i, j] * rows[best]
        left.remove(best)
        solved.append((j, rows[best]))
    return solved


def _in_words(j: int, row: np.ndarray, unit: np.ndarray, names: list[str]) -> str:
    d = len(unit)
    others = [k for k in np.flatnonzero(np.abs(row[:d]) > _ROUNDING).tolist() if k != j]
    terms = [(-row[k] * unit[j] / unit[k], quote(names[k])) for k in others]
    constant = row[d] * unit[j] if abs(row[d]) > _ROUNDING else 0.0
    return equation(quote(names[j]), terms, constant, most=_TERMS)
