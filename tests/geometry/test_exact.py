"""Exact sums against fractions: whatever the sizes, whatever cancels, however many."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix._compiled import pool
from separatrix.data.design import as_design
from separatrix.geometry.exact.products import Terms, combination, product_signs

TINIEST = 5e-324
LARGEST = float(np.finfo(np.float64).max)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
CORNERS = np.array(
    [
        *(0.0, -0.0, TINIEST, -TINIEST, 3 * TINIEST, SMALLEST_NORMAL, -SMALLEST_NORMAL),
        *(LARGEST, -LARGEST, 1.0, -1.0, 1 + 2.0**-52, 1 - 2.0**-53, 2.0**53 + 2),
        *(2.0**-1000, -(2.0**1000), 1e300, 1e-300),
    ]
)


def any_floats(rng, shape):
    """Floats of every size that there is: random bits, without NaN and infinity."""
    bits = rng.integers(0, 2**64, shape, dtype=np.uint64)
    out = bits.view(np.float64)
    return np.where(np.isfinite(out), out, 1.0)


def close_floats(rng, shape):
    """Few sizes and few digits, so that sums cancel, all of them or almost."""
    return rng.integers(-3, 4, shape) * 2.0 ** rng.choice([0, 0, 1, 60, -60, -1070, 900], shape)


def corner_floats(rng, shape):
    return rng.choice(CORNERS, shape)


KINDS = {"any": any_floats, "close": close_floats, "corners": corner_floats}
LAYOUTS = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "csr": sp.csr_array,
}


def by_fractions(X, y, w, b, c):
    w = [Fraction(v) for v in w]
    out = []
    for row, sign in zip(X.tolist(), y.tolist(), strict=True):
        inner = sum((Fraction(x) * v for x, v in zip(row, w, strict=True)), Fraction(b))
        out.append((inner if sign > 0 else -inner) + Fraction(c))
    return out


def agree(signs, values, expected):
    """Signs to the letter; values to a few ulps, with the limits of floats beyond them."""
    for sign, value, exact in zip(signs.tolist(), values.tolist(), expected, strict=True):
        assert sign == (exact > 0) - (exact < 0)
        if abs(exact) > LARGEST:
            # The value is the nearest float, which is infinite but for half an ulp.
            assert abs(value) >= LARGEST * (1 - 1e-14) and math.copysign(1, value) == sign
        else:
            assert math.isfinite(value) or abs(exact) > LARGEST * (1 - 1e-14)
            slack = abs(exact) * Fraction(2) ** -50 + Fraction(TINIEST)
            assert not math.isfinite(value) or abs(Fraction(value) - exact) <= slack


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_signs_and_sizes_of_products(kind, layout):
    rng = np.random.default_rng(3)
    for _ in range(10):
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 7))
        X = KINDS[kind](rng, (n, d))
        y = rng.choice([-1.0, 1.0], n)
        w, (b, c) = KINDS[kind](rng, d), KINDS[kind](rng, 2).tolist()
        signs, values = product_signs(as_design(LAYOUTS[layout](X)), y, w, b, c)
        agree(signs, values, by_fractions(X, y, w.tolist(), b, c))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_any_length(kind):
    """Rationals over powers of two, of one word or of forty."""
    rng = np.random.default_rng(4)
    for words in (1, 2, 3, 10, 40):
        n, d = 12, 4
        X, y = KINDS[kind](rng, (n, d)), rng.choice([-1.0, 1.0], n)
        numbers = [
            Fraction(int.from_bytes(rng.bytes(4 * words)) - (1 << (32 * words - 1)))
            / (1 << int(rng.integers(0, 40 * words)))
            for _ in range(d + 2)
        ]
        *w, b, c = numbers
        agree(*product_signs(as_design(X), y, w, b, c), by_fractions(X, y, w, b, c))
        whole = [v.numerator for v in numbers]
        *w, b, c = whole
        agree(*product_signs(as_design(X), y, w, b, c), by_fractions(X, y, w, b, c))


def test_exact_zeros_and_near_zeros():
    rng = np.random.default_rng(5)
    X = any_floats(rng, (60, 1))
    # (x, y) . (y, -x) is zero, and a change of one bit of the offset is not.
    pairs = np.column_stack([X, any_floats(rng, (60, 1))])
    for row in pairs:
        w = np.array([row[1], -row[0]])
        design = as_design(row[None, :])
        for b, sign in ((0.0, 0), (TINIEST, 1), (-TINIEST, -1)):
            assert product_signs(design, np.ones(1), w, b)[0].tolist() == [sign]
            assert product_signs(design, -np.ones(1), w, b)[0].tolist() == [-sign]
            assert product_signs(design, np.ones(1), w, 0.0, b)[0].tolist() == [sign]
            assert product_signs(design, -np.ones(1), w, 0.0, b)[0].tolist() == [sign]


def test_values_are_told_whatever_else_is_in_the_sum():
    """A tiny term far below does not spoil the size of the rest."""
    X = np.array([[1.0, 1e-300], [2.0, 1.0], [-3.0, TINIEST], [0.0, 1e-300]])
    w = np.array([1.0, 1e-300])
    agree(*product_signs(as_design(X), np.ones(4), w, 0.0), by_fractions(X, np.ones(4), w, 0, 0))
    w = np.array([1e300, TINIEST])
    agree(*product_signs(as_design(X), np.ones(4), w, 0.0), by_fractions(X, np.ones(4), w, 0, 0))


def test_long_rows_carry():
    """Many equal terms of either sign, so that carries run through many digits."""
    for value in (1 - 2.0**-53, LARGEST, TINIEST, -(1 - 2.0**-53)):
        X = np.full((2, 100_000), value)
        X[1, 1::2] *= -1
        w = np.full(100_000, 1 - 2.0**-53)
        signs, values = product_signs(as_design(X), np.ones(2), w, 0.0)
        expected = [100_000 * Fraction(value) * Fraction(w[0]), Fraction(0)]
        agree(signs, values, expected)


def test_single_precision_counts_as_it_is_stored():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 3)).astype(np.float32)
    w = rng.standard_normal(3)
    y = rng.choice([-1.0, 1.0], 50)
    for layout in LAYOUTS.values():
        agree(
            *product_signs(as_design(layout(X)), y, w, 0.5, -0.25),
            by_fractions(X, y, w.tolist(), 0.5, -0.25),
        )


def test_no_rows_no_columns_no_entries():
    signs, values = product_signs(as_design(np.empty((0, 3))), np.empty(0), np.ones(3), 1.0)
    assert signs.shape == values.shape == (0,)
    signs, _ = product_signs(as_design(sp.csr_array((4, 3))), np.ones(4), np.ones(3), -1.0)
    assert signs.tolist() == [-1] * 4
    assert product_signs(as_design(np.zeros((2, 3))), np.ones(2), np.ones(3), 0.0)[0].any() == 0
    assert combination(as_design(np.ones((2, 3))), np.empty(0, dtype=int), []) == [0, 0, 0]


def test_the_thread_count_does_not_matter(monkeypatch):
    rng = np.random.default_rng(7)
    X, y, w = any_floats(rng, (5000, 6)), rng.choice([-1.0, 1.0], 5000), any_floats(rng, 6)
    one = product_signs(as_design(X), y, w, 0.5)
    monkeypatch.setattr(pool, "n_threads", lambda: 3)
    several = product_signs(as_design(X), y, w, 0.5)
    for a, b in zip(one, several, strict=True):
        assert np.array_equal(a, b)


# --- combinations of rows ------------------------------------------------------------------------


def sum_by_fractions(X, index, coefficients):
    out = [Fraction(0)] * X.shape[1]
    for i, a in zip(index.tolist(), coefficients, strict=True):
        for j, v in enumerate(X[i].tolist()):
            out[j] += Fraction(a) * Fraction(v)
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_combinations(kind, layout):
    rng = np.random.default_rng(8)
    for _ in range(8):
        n, d, k = (int(v) for v in rng.integers(1, 20, 3))
        X = KINDS[kind](rng, (n, d))
        design = as_design(LAYOUTS[layout](X))
        index = rng.integers(0, n, k)
        floats = KINDS[kind](rng, k)
        assert combination(design, index, floats) == sum_by_fractions(X, index, floats.tolist())
        # Any denominators, and more than a word of digits.
        rationals = [
            Fraction(int(rng.integers(-(2**62), 2**62)) ** 3, int(rng.integers(1, 2**62)))
            for _ in range(k)
        ]
        assert combination(design, index, rationals) == sum_by_fractions(X, index, rationals)


@pytest.mark.parametrize("value", [1 - 2.0**-53, -(1 - 2.0**-53), LARGEST, -TINIEST, 0.1])
def test_many_equal_addends(value):
    n = 100_000
    X = np.full((1, 2), value)
    X[0, 1] *= -1
    index = np.zeros(n, dtype=np.int64)
    a = 1 - 2.0**-53
    expected = n * Fraction(value) * Fraction(a)
    assert combination(as_design(X), index, np.full(n, a)) == [expected, -expected]
    alternating = np.where(np.arange(n) % 2 == 0, a, -a)
    assert combination(as_design(X), index, alternating) == [0, 0]


def test_terms_hold_their_numbers():
    rng = np.random.default_rng(9)
    wide = [int(v) for v in rng.integers(-(2**62), 2**62, 20)] + [0, 1, -1, 2**53, 2**53 - 1]
    samples = {
        "floats": any_floats(rng, 50),
        "corners": CORNERS,
        "zeros": np.zeros(3),
        "integers": [v**7 for v in wide],
        "dyadic": [Fraction(v**5, 1 << int(rng.integers(0, 500))) for v in wide],
    }
    for numbers in samples.values():
        terms = Terms.of(numbers)
        assert np.abs(terms.mantissas).max() < 2**53 and terms.positions.min() >= 0
        for j, number in enumerate(numbers):
            held = sum(
                int(m) << int(p)
                for m, p in zip(terms.mantissas[:, j], terms.positions[:, j], strict=True)
            )
            assert Fraction(held, 1) / Fraction(2) ** terms.base == Fraction(number)


def test_terms_refuse_thirds():
    with pytest.raises(ValueError, match="powers of two"):
        Terms.of([Fraction(1, 3)])
