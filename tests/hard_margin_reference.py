"""The hard margin of small problems by other means: in exact fractions, and by a general solver."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def solve_exactly(matrix: list[list[Fraction]], rhs: list[Fraction]) -> list[Fraction] | None:
    """Gauss-Jordan elimination; None for a singular matrix."""
    n = len(rhs)
    rows = [[*row, value] for row, value in zip(matrix, rhs, strict=True)]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column]
        rows[column] = [value / head for value in rows[column]]
        for i in range(n):
            if i != column and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


def exact_hard_margin(X, y, geometry: str):
    """``(1/2 norm^2, w, b)`` as fractions, or None where no hyperplane separates.

    Tries every set of rows as the one that is held at margin 1, and takes the one that meets
    the Karush-Kuhn-Tucker conditions, which prove it optimal.  ``geometry`` is "free", "none"
    (no intercept) or "lifted" (an intercept that counts in the norm).
    """
    signs = [int(s) for s in y]
    rows = [[Fraction(float(v)) for v in x] for x in X]
    lifted = [[*x, Fraction(1)] if geometry == "lifted" else x for x in rows]
    n, d = len(rows), len(lifted[0])
    free = geometry == "free"
    products = [
        [
            s * t * sum(a * b for a, b in zip(x, z, strict=True))
            for t, z in zip(signs, lifted, strict=True)
        ]
        for s, x in zip(signs, lifted, strict=True)
    ]
    for size in range(2 if free else 1, d + 1 + int(free)):
        for part in combinations(range(n), size):
            if free and len({signs[i] for i in part}) == 1:
                continue
            gram = [[products[i][j] for j in part] for i in part]
            rhs = [Fraction(1)] * size
            if free:
                gram = [[*row, Fraction(signs[i])] for row, i in zip(gram, part, strict=True)]
                gram.append([Fraction(signs[i]) for i in part] + [Fraction(0)])
                rhs = [*rhs, Fraction(0)]
            found = solve_exactly(gram, rhs)
            if found is None or min(found[:size]) < 0:
                continue
            w = [
                sum(found[k] * signs[i] * lifted[i][j] for k, i in enumerate(part))
                for j in range(d)
            ]
            b = found[size] if free else Fraction(0)
            margins = [
                s * (sum(a * v for a, v in zip(x, w, strict=True)) + b)
                for s, x in zip(signs, lifted, strict=True)
            ]
            if min(margins) < 1:
                continue
            half = sum(v * v for v in w) / 2
            return (half, w[:-1], w[-1]) if geometry == "lifted" else (half, w, b)
    return None


def hard_margin_by_quadratic_programming(X, y, geometry: str):
    """``(w, b)`` by sequential quadratic programming (scipy), polished on the rows it holds at 1.

    The polished point is checked against the Karush-Kuhn-Tucker conditions.
    """
    n, d = X.shape
    ends = {"free": np.ones(n), "none": np.zeros(n), "lifted": np.ones(n)}[geometry]
    Z = y[:, None] * np.column_stack([X, ends])
    ridge = np.ones(d + 1)
    ridge[d] = 0.0 if geometry == "free" else 1.0
    found = minimize(
        lambda t: 0.5 * np.sum(ridge * t * t),
        np.linalg.lstsq(Z, np.full(n, 1.5), rcond=None)[0],
        jac=lambda t: ridge * t,
        constraints={"type": "ineq", "fun": lambda t: Z @ t - 1.0, "jac": lambda t: Z},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    held = Z[Z @ found.x < 1.0 + 1e-5]
    k = len(held)
    system = np.block([[np.diag(ridge), -held.T], [held, np.zeros((k, k))]])
    polished = np.linalg.lstsq(system, np.append(np.zeros(d + 1), np.ones(k)), rcond=None)[0]
    theta, alpha = polished[: d + 1], polished[d + 1 :]
    assert np.all(Z @ theta >= 1.0 - 1e-10)
    assert np.all(alpha >= -1e-8 * np.abs(alpha).max())
    np.testing.assert_allclose(held.T @ alpha, ridge * theta, atol=1e-9 * np.abs(theta).max())
    return theta[:d], theta[d]
