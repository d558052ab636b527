"""How much of the residuals the columns explain, beside exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rational_least_squares import exact_solution
from separatrix.closed_form.projection import Columns
from separatrix.data.design import as_design


def exact_share(X: Any, y: Any, s: Any, w: Any, b: float, ridge: float, level: bool) -> float:
    """The share of the objective that other coefficients take away, in fractions."""
    d = X.shape[1]
    A = [[*map(Fraction, row), *[Fraction(1)] * level] for row in X.tolist()]
    A += [[Fraction(i == j) for j in range(d + level)] for i in range(d)] * (ridge > 0.0)
    targets = [*map(Fraction, y.tolist()), *[Fraction(0)] * d * (ridge > 0.0)]
    weights = [*map(Fraction, s.tolist()), *[Fraction(ridge)] * d * (ridge > 0.0)]

    def objective(point: list[Fraction]) -> Fraction:
        left = [
            t - sum(a * v for a, v in zip(row, point, strict=True))
            for row, t in zip(A, targets, strict=True)
        ]
        return sum((u * r * r for u, r in zip(weights, left, strict=True)), Fraction(0))

    best = exact_solution(A, targets, weights)
    assert best is not None
    here = objective([*map(Fraction, w.tolist()), *[Fraction(b)] * level])
    return float(1 - objective(best) / here)


def share(
    parts: list[slice], X: Any, y: Any, s: Any, w: Any, b: float, ridge: float, level: bool
) -> float:
    made = [
        Columns.of(
            as_design(X[part]), y[part, None], np.sqrt(s[part]), level, w[None], np.array([b])
        )
        for part in parts
    ]
    if len(made) > 1:
        made = [part.reduced() for part in made]
    columns = Columns.joined(made)
    if ridge:
        columns = columns.with_penalty(ridge, w[None])
    raw = np.sqrt(s @ X**2)
    spread = np.sqrt(s @ (X - X.mean(axis=0) * level) ** 2)
    return float(columns.explained(raw, spread, None if ridge else w[None])[0])


@pytest.mark.parametrize("level", [False, True])
def test_the_share_is_exact_whatever_the_columns_are(level):
    smallest = 1.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
        s = 10.0 ** rng.uniform(-20, 20, size=9) if seed % 4 == 1 else np.ones(9)
        X *= 10.0 ** rng.uniform(-40, 40, size=3)
        if seed % 4 == 2:
            X[:, 2] = X[:, 0] * (1.0 + 1e-12 * rng.normal(size=9))
        if seed % 4 == 3:
            X += 1e12 * np.abs(X).max(axis=0)
        ridge = float(10.0 ** rng.uniform(-9, 3)) if seed % 2 else 0.0
        unit = np.abs(X).max(axis=0)
        whole = np.c_[X / unit, np.ones(9)][:, : 3 + level]
        w = np.linalg.lstsq(whole, y, rcond=None)[0][:3] / unit
        case = X, y, s, w, float(y.mean() - w @ X.mean(axis=0)) * level, ridge, level
        true = exact_share(*case)
        for parts in ([slice(None)], [slice(0, 6), slice(6, 9)], [slice(0, 1), slice(1, 9)]):
            assert share(parts, *case) == pytest.approx(true, rel=1e-6, abs=1e-20), (seed, parts)
        smallest = min(smallest, true)
    assert smallest < 1e-10


def test_what_rounding_tells_apart_explains_nothing():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=30), np.zeros(2)
    X[:, 1] = 2.54 * X[:, 0]
    one = share([slice(None)], X[:, :1], y, np.ones(30), w[:1], 0.0, 0.0, True)
    both = share([slice(None)], X, y, np.ones(30), w, 0.0, 0.0, True)
    assert both == pytest.approx(one, rel=1e-12)
    # But a penalty distinguishes the columns, as does a coefficient that makes rounding large.
    assert share([slice(None)], X, y, np.ones(30), w, 0.0, 1e-3, True) == pytest.approx(
        exact_share(X, y, np.ones(30), w, 0.0, 1e-3, True), rel=1e-9
    )
    far = np.array([2.54e15, -1e15])
    assert share([slice(None)], X, y, np.ones(30), far, 0.0, 0.0, True) == pytest.approx(
        exact_share(X, y, np.ones(30), far, 0.0, 0.0, True), rel=1e-9
    )
