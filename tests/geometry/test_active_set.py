"""The exact active-set method: its optima meet the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from geometry import reference
from separatrix.data.design import as_design
from separatrix.geometry.exact.active_set import Stationary, Unbounded, exact_minimum
from separatrix.geometry.points import Cloud

GEOMETRIES = {"offset": (True, True), "lifted": (True, False), "origin": (False, False)}


def cloud_of(X, s, lifted):
    return Cloud(as_design(X), np.array(s, dtype=np.float64), lifted)


def problems(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        X = rng.integers(-3, 4, (n, d)).astype(float)
        if rng.random() < 0.5:
            X += rng.choice([0.0, 2.0**-50, 1e-9, 0.1], X.shape)
        s = rng.choice([-1, 1], n)
        s[:2] = [1, -1]
        yield X, s.tolist()


def signed(X, s, width):
    return [row[:width] for row in reference.signed_rows(X, s, True)]


def products(rows, w):
    return [sum((a * b for a, b in zip(row, w, strict=True)), Fraction(0)) for row in rows]


def total(rows, multipliers, width):
    out = [Fraction(0)] * width
    for i, a in multipliers.items():
        out = [o + a * v for o, v in zip(out, rows[i], strict=True)]
    return out


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_hard_margin_or_a_vanishing_combination(geometry):
    lifted, balanced = GEOMETRIES[geometry]
    seen = set()
    for X, s in problems(40, seed=0):
        width = X.shape[1] + (geometry == "lifted")
        rows = signed(X, s, width)
        found = exact_minimum(cloud_of(X, s, lifted), balanced=balanced)
        separable = reference.status(X, s, lifted) == "separable"
        seen.add(separable)
        assert isinstance(found, Stationary if separable else Unbounded)
        assert all(isinstance(a, Fraction) and a > 0 for a in found.multipliers.values())
        sums = total(rows, found.multipliers, width)
        if balanced:
            assert sum(a * s[i] for i, a in found.multipliers.items()) == 0
        if not separable:
            assert not any(sums) and found.multipliers
            assert len(found.multipliers) <= width + 1 + balanced
            continue
        assert tuple(sums) == found.w
        values = [v + sign * found.b for v, sign in zip(products(rows, found.w), s, strict=True)]
        assert all(v >= 1 for v in values)
        assert all(values[i] == 1 for i in found.multipliers)
        square = sum((v * v for v in found.w), Fraction(0))
        assert 1 / square == reference.squared_margin(X, s, geometry)
    assert seen == {True, False}


@pytest.mark.parametrize("lifted", [True, False])
def test_the_distance_to_the_cone_of_the_rows(lifted):
    """With a target: w is the nearest point of the cone, so that w - target is orthogonal to it."""
    rng = np.random.default_rng(1)
    for X, s in problems(40, seed=2):
        width = X.shape[1] + lifted
        rows = signed(X, s, width)
        target = tuple(
            Fraction(int(v), int(rng.integers(1, 5))) for v in rng.integers(-5, 6, width)
        )
        found = exact_minimum(cloud_of(X, s, lifted), balanced=False, target=target)
        assert isinstance(found, Stationary)
        assert all(a > 0 for a in found.multipliers.values())
        assert tuple(total(rows, found.multipliers, width)) == found.w
        away = [a - b for a, b in zip(found.w, target, strict=True)]
        slopes = products(rows, away)
        assert all(v >= 0 for v in slopes)
        assert all(slopes[i] == 0 for i in found.multipliers)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_any_start_leads_to_the_same_end(geometry):
    """Also one from many dependent rows, and one far from the optimum."""
    lifted, balanced = GEOMETRIES[geometry]
    rng = np.random.default_rng(3)
    for X, s in problems(20, seed=4):
        cloud = cloud_of(X, s, lifted)
        cold = exact_minimum(cloud, balanced=balanced)
        start = {i: Fraction(int(v), 7) for i, v in enumerate(rng.integers(1, 100, len(s)))}
        if balanced:
            sides = {g: sum(a for i, a in start.items() if s[i] == g) for g in (1, -1)}
            start = {i: a / sides[s[i]] for i, a in start.items()}
        warm = exact_minimum(cloud, balanced=balanced, start=start)
        assert type(warm) is type(cold)
        if isinstance(cold, Stationary):
            # The weights are unique; the multipliers need not be.
            assert warm.w == cold.w
            if balanced:
                assert warm.b == cold.b
        else:
            width = X.shape[1] + (geometry == "lifted")
            assert not any(total(signed(X, s, width), warm.multipliers, width))
            assert all(a > 0 for a in warm.multipliers.values())


def test_storage_does_not_matter():
    for X, s in problems(8, seed=5):
        y = np.array(s, dtype=np.float64)
        expected = exact_minimum(Cloud(as_design(X), y, True), balanced=True)
        for matrix in (sp.csr_array(X), np.asfortranarray(X)):
            assert exact_minimum(Cloud(as_design(matrix), y, True), balanced=True) == expected


def test_sizes_far_apart():
    """Columns and rows of every size: the arithmetic has no size of its own."""
    rng = np.random.default_rng(6)
    for X, s in problems(15, seed=7):
        X = np.round(X) * 2.0 ** rng.integers(-500, 500, (1, X.shape[1]))
        found = exact_minimum(cloud_of(X, s, True), balanced=True)
        assert isinstance(found, Stationary) == (reference.status(X, s) == "separable")


def test_a_pulse_stops_it():
    class Stop(Exception):
        pass

    def check_interrupt():
        raise Stop

    with pytest.raises(Stop):
        exact_minimum(
            cloud_of(np.array([[1.0], [2.0]]), [1, -1], True),
            balanced=True,
            deadline=check_interrupt,
        )


def test_many_rows_come_in_from_outside():
    """More rows than are looked at in one go, with the decisive ones last."""
    rng = np.random.default_rng(8)
    X = rng.integers(5, 1000, (400, 2)).astype(float)
    s = np.ones(400)
    X[200:] *= -1
    s[200:] = -1
    X[-1], X[-2], X[-3] = [-1, 0], [0, -2], [1, 1]
    s[-3] = 1
    found = exact_minimum(cloud_of(X, s, True), balanced=True)
    assert isinstance(found, Stationary)
    # The classes are nearest at (1, 1) and the segment from (-1, 0) to (0, -2).
    assert set(found.multipliers) <= {397, 398, 399}
    assert 1 / sum(v * v for v in found.w) == reference.squared_margin(
        X[-3:], [1, -1, -1], "offset"
    )
