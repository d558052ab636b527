"""Least squares without any rounding, to measure the library against."""

from __future__ import annotations

from fractions import Fraction


def exact_solution(terms, y, weights=None, ridge=0) -> list[Fraction] | None:
    """Coefficients of columns that hold fractions; None where they are not determined.

    ``ridge`` times the squares of all coefficients but the first is penalised.
    """
    y = [Fraction(v) for v in y]
    w = [Fraction(1)] * len(y) if weights is None else [Fraction(v) for v in weights]
    k = len(terms[0])
    rows = [
        [sum(c * t[i] * t[j] for t, c in zip(terms, w, strict=True)) for j in range(k)]
        + [sum(c * t[i] * v for t, v, c in zip(terms, y, w, strict=True))]
        for i in range(k)
    ]
    for i in range(1, k):
        rows[i][i] += Fraction(ridge)
    for column in range(k):
        pivot = next((r for r in range(column, k) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [v / rows[column][column] for v in rows[column]]
        for other in range(k):
            if other != column and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[column], strict=True)
                ]
    return [row[k] for row in rows]


def exact_fit(x, y, degree: int, weights=None) -> list[Fraction] | None:
    """Coefficients of the powers of one column, the constant first."""
    terms = [[Fraction(float(v)) ** p for p in range(degree + 1)] for v in x]
    return exact_solution(terms, y, weights)
