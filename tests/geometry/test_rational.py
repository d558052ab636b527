"""Exact linear algebra against elimination over fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from geometry import reference
from separatrix.geometry.exact import rational
from separatrix.geometry.exact.rational import (
    dependency,
    independent,
    root_down,
    root_up,
    round_down,
    round_up,
    solve,
    whole_numbers,
)

LARGEST = float(np.finfo(np.float64).max)
TINIEST = 5e-324
PRIMES = rational._PRIMES


def integers(rng, shape, bits):
    out = np.empty(shape, dtype=object)
    out.ravel()[:] = [
        int.from_bytes(rng.bytes(bits // 8 + 1)) % (1 << (bits + 1)) - (1 << bits)
        for _ in range(out.size)
    ]
    return out


def fractions(matrix):
    return [[Fraction(int(v)) for v in row] for row in matrix]


def sizes(rng):
    for k in (1, 2, 3, 7, 12):
        for bits in (1, 30, 53, 1100) if k < 12 else (1, 200):
            yield k, bits


def test_solve():
    rng = np.random.default_rng(0)
    assert solve(np.empty((0, 0), dtype=object), []) == []
    for k, bits in sizes(rng):
        matrix, right = integers(rng, (k, k), bits), integers(rng, k, bits)
        expected = reference.solve(fractions(matrix), [Fraction(int(v)) for v in right])
        assert solve(matrix, right) == expected


def test_solve_says_what_is_singular():
    rng = np.random.default_rng(1)
    for k, bits in sizes(rng):
        matrix = integers(rng, (k, k), bits)
        weights = integers(rng, k - 1, 3)
        matrix[-1] = matrix[:-1].T.dot(weights) if k > 1 else 0
        assert solve(matrix, integers(rng, k, bits)) is None


def test_solve_beyond_the_size_of_the_fast_products():
    """From a certain size on, products go through floating point in pieces."""
    rng = np.random.default_rng(2)
    for k, bits in ((rational._Product._SMALL - 1, 60), (rational._Product._SMALL + 3, 200)):
        matrix, right = integers(rng, (k, k), bits), integers(rng, k, bits)
        x = solve(matrix, right)
        denominator = math.lcm(*(v.denominator for v in x))
        numerators = np.empty(k, dtype=object)
        numerators[:] = [int(v * denominator) for v in x]
        assert np.array_equal(matrix.dot(numerators), right * denominator)


@pytest.mark.parametrize("factors", [PRIMES[:1], PRIMES[1:2], PRIMES[:3], PRIMES])
def test_data_that_hide_from_the_primes(factors):
    """Regular, but singular modulo the primes; dependent later than it seems."""
    rng = np.random.default_rng(3)
    k = len(factors) + 2
    matrix = integers(rng, (k, k), 20)
    for i, prime in enumerate(factors):
        matrix[i] *= prime
    right = integers(rng, k, 20)
    assert solve(matrix, right) == reference.solve(
        fractions(matrix), [Fraction(int(v)) for v in right]
    )
    assert dependency(matrix) is None
    longer = np.vstack([matrix, 2 * matrix[:1] - 3 * matrix[-1:]])
    found = dependency(longer)
    assert found is not None and any(found) and not np.any(found.dot(longer))
    everything = matrix * math.prod(factors)
    assert dependency(everything) is None
    assert solve(everything, right) is not None


def test_dependency():
    rng = np.random.default_rng(4)
    for k, bits in sizes(rng):
        p = max(1, k - int(rng.integers(0, 3)))
        matrix = integers(rng, (k, p), bits)
        if k > 2 and rng.random() < 0.5:
            matrix[k // 2] = matrix[0] - 2 * matrix[1]
        found = dependency(matrix)
        if reference.rank(fractions(matrix)) == k:
            assert found is None
            continue
        assert all(isinstance(v, int) for v in found.tolist())
        assert any(found) and not np.any(found.dot(matrix))
        # The combination is that of the first row that depends on those before it.
        last = int(np.flatnonzero(found)[-1])
        assert reference.rank(fractions(matrix[:last])) == last
        assert reference.rank(fractions(matrix[: last + 1])) == last


def test_dependency_of_zeros():
    zeros = np.zeros((3, 2), dtype=object)
    assert dependency(zeros).tolist()[0] != 0
    assert dependency(np.array([[1, 0], [0, 0]], dtype=object)).tolist()[0] == 0
    assert dependency(np.empty((0, 2), dtype=object)) is None
    assert any(dependency(np.empty((2, 0), dtype=object)))


def test_independent():
    rng = np.random.default_rng(5)
    for k, bits in sizes(rng):
        matrix = integers(rng, (k, max(1, k - 1)), bits)
        if k > 2:
            matrix[1] = 3 * matrix[0]
        rows, columns = independent(matrix)
        part = fractions(matrix[np.ix_(rows, columns)])
        assert reference.rank(part) == len(rows) == len(columns)
        assert len(rows) == reference.rank(fractions(matrix))
        assert rows.tolist() == sorted(set(rows.tolist()))


def test_whole_numbers():
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 2**64, (40, 3), dtype=np.uint64).view(np.float64)
    for block in (
        np.where(np.isfinite(bits), bits, 0.0),
        np.array([[TINIEST, LARGEST], [-0.0, 1.0]]),
        np.array([[3.0, -4.0]]),
        np.array([[0.5, -6.0, 0.0, -0.0, 2.0**30 + 2.0**-20]]),
        np.array([[2.0**62, -(2.0**62)], [-(2.0**63), 2.0**63]]),
        np.array([[TINIEST, 3 * TINIEST]]),
        rng.standard_normal((5, 2)).astype(np.float32),
        np.empty((0, 3)),
    ):
        whole, shift = whole_numbers(block)
        assert whole.shape == block.shape and shift >= 0
        for v, exact in zip(whole.ravel(), block.ravel().tolist(), strict=True):
            assert isinstance(v, int) and Fraction(v, 1 << shift) == Fraction(exact)


def some_fractions(rng):
    for _ in range(150):
        value = Fraction(
            int.from_bytes(rng.bytes(int(rng.integers(1, 30)))) + 1,
            int.from_bytes(rng.bytes(int(rng.integers(1, 30)))) + 1,
        )
        yield value * Fraction(2) ** int(rng.integers(-1150, 1100))
    # Exact floats, the middle between two, and next to both.
    for x in (TINIEST, 2 * TINIEST, 2.0**-1022, 1.0, 1 + 2.0**-52, 2.0**-1074 * 3, LARGEST, 0.1):
        exact = Fraction(x)
        half = (Fraction(math.nextafter(x, 0)) + exact) / 2
        yield from (exact, half, half + Fraction(1, 10**400), half - Fraction(1, 10**400))
    yield Fraction(LARGEST) + 1
    yield Fraction(10) ** 400
    yield Fraction(1, 10**400)


def test_rounding_down_and_up():
    rng = np.random.default_rng(7)
    for size in some_fractions(rng):
        for value in (size, -size):
            down, up = round_down(value), round_up(value)
            # Infinity is beyond every number; otherwise bounds, and as tight as can be.
            assert down == -math.inf or Fraction(down) <= value
            assert up == math.inf or Fraction(up) >= value
            assert down > -math.inf or value < -Fraction(LARGEST)
            assert up < math.inf or value > Fraction(LARGEST)
            above, below = math.nextafter(down, math.inf), math.nextafter(up, -math.inf)
            assert above == math.inf or Fraction(above) > value
            assert below == -math.inf or Fraction(below) < value
    assert round_down(Fraction(0)) == round_up(Fraction(0)) == 0.0


def test_roots_down_and_up():
    rng = np.random.default_rng(8)
    for value in some_fractions(rng):
        down, up = root_down(value), root_up(value)
        assert Fraction(down) ** 2 <= value
        assert up == math.inf or Fraction(up) ** 2 >= value
        if Fraction(TINIEST) ** 2 < value < Fraction(LARGEST) ** 2:
            # Two floats apart at most, and none where the root is one.
            for _ in range(2):
                down = math.nextafter(down, math.inf)
            assert up <= down
    for root in (1.0, 3.0, 2.0**-500, 2.0**500, 0.1, 1 / 3):
        assert root_down(Fraction(root) ** 2) == root_up(Fraction(root) ** 2) == root
    assert root_down(Fraction(0)) == root_up(Fraction(0)) == 0.0
    assert root_up(Fraction(10) ** 1000) == math.inf
    assert root_down(Fraction(10) ** 1000) == LARGEST
