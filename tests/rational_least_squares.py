"""Least squares without any rounding, to measure the library against."""

from __future__ import annotations

import math
from fractions import Fraction


def exact_solution(terms, y, weights=None, ridge=0) -> list[Fraction] | None:
    """Coefficients of columns that hold fractions; None where they are not determined.

    ``ridge`` times the squares of all coefficients but the first is penalised.
    """
    y, w = (
        [Fraction(v) for v in part] for part in (y, [1] * len(y) if weights is None else weights)
    )
    k = len(terms[0])
    # Whole numbers: fractions would be reduced after every operation.
    units = [math.lcm(*(Fraction(row[j]).denominator for row in terms)) for j in range(k)]
    of_y, of_w = (math.lcm(*(v.denominator for v in part)) for part in (y, w))
    of_ridge = Fraction(ridge)
    T = [[int(v * u) for v, u in zip(row, units, strict=True)] for row in terms]
    weighted = [[int(c * of_w) * v for v in row] for row, c in zip(T, w, strict=True)]
    right = [int(v * of_y) for v in y]
    factor = of_ridge.denominator
    rows = [
        [factor * sum(a[i] * b[j] for a, b in zip(weighted, T, strict=True)) for j in range(k)]
        + [factor * sum(a[i] * v for a, v in zip(weighted, right, strict=True))]
        for i in range(k)
    ]
    for i in range(1, k):
        rows[i][i] += of_ridge.numerator * of_w * units[i] ** 2
    # Bareiss (1968): every division leaves no remainder.
    before = 1
    for column in range(k):
        pivot = next((r for r in range(column, k) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = rows[column]
        for other in rows[column + 1 :]:
            first = other[column]
            for j in range(column, k + 1):
                other[j] = (other[j] * top[column] - first * top[j]) // before
        before = top[column]
    out = [Fraction(0)] * k
    for i in reversed(range(k)):
        known = sum(rows[i][j] * out[j] for j in range(i + 1, k))
        out[i] = Fraction(rows[i][k] - known) / rows[i][i]
    return [v * u / of_y for v, u in zip(out, units, strict=True)]


def exact_fit(x, y, degree: int, weights=None) -> list[Fraction] | None:
    """Coefficients of the powers of one column, the constant first."""
    terms = [[Fraction(float(v)) ** p for p in range(degree + 1)] for v in x]
    return exact_solution(terms, y, weights)
