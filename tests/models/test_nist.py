"""NIST's certified least-squares data sets: digits beside those of other libraries."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression as Other

from nist import DATA_SETS, correct_digits
from separatrix import LinearRegression

each = pytest.mark.parametrize("data", DATA_SETS.values(), ids=DATA_SETS.keys())


def rational(X, y):
    """The exact answer for the floats that are given, and the sum of squared residuals."""
    rows = [[Fraction(1), *map(Fraction, row)] for row in X.tolist()]
    y = [Fraction(v) for v in y.tolist()]
    p = len(rows[0])
    table = [
        [sum(r[i] * r[j] for r in rows) for j in range(p)]
        + [sum(r[i] * v for r, v in zip(rows, y, strict=True))]
        for i in range(p)
    ]
    for i in range(p):
        for k in range(p):
            if k != i:
                f = table[k][i] / table[i][i]
                table[k] = [a - f * b for a, b in zip(table[k], table[i], strict=True)]
    coef = [table[i][p] / table[i][i] for i in range(p)]
    residuals = [
        v - sum(a * b for a, b in zip(r, coef, strict=True)) for r, v in zip(rows, y, strict=True)
    ]
    return coef, sum(r * r for r in residuals)


@each
def test_the_observations_are_those_that_were_certified(data) -> None:
    # From the decimals as they are printed, in rational arithmetic.
    decimal = np.vectorize(lambda v: Fraction(repr(float(v))), otypes=[object])
    x, y = decimal(data.x), decimal(data.y)
    if data.degree is not None:
        x = np.stack([x**k for k in range(1, data.degree + 1)], axis=1)
    coef, rss = rational(x, y)
    assert correct_digits([float(c) for c in coef], data.coefficients) >= 14
    freedom = len(y) - len(coef)
    if data.residual_deviation == 0.0:
        assert rss == 0
    else:
        deviation = float(rss / freedom) ** 0.5
        assert correct_digits(deviation, data.residual_deviation) >= 14
        mean = sum(y) / len(y)
        r_squared = float(1 - rss / sum((v - mean) ** 2 for v in y))
        assert correct_digits(r_squared, data.r_squared) >= 14


def digits_of_others(data) -> dict[str, float]:
    A = np.column_stack([np.ones(len(data.y)), data.columns])
    with warnings.catch_warnings():
        # Nearly dependent columns are the point of these data.
        warnings.simplefilter("ignore")
        other = Other().fit(data.columns, data.y)
        found = {
            "numpy.linalg.lstsq": np.linalg.lstsq(A, data.y, rcond=None)[0],
            "scikit-learn": np.r_[other.intercept_, other.coef_],
            "statsmodels, pinv": sm.OLS(data.y, A).fit().params,
            "statsmodels, qr": sm.OLS(data.y, A).fit(method="qr").params,
        }
    return {name: correct_digits(b, data.coefficients) for name, b in found.items()}


@each
def test_digits(data) -> None:
    model = LinearRegression().fit(data.columns, data.y)
    ours = np.r_[model.intercept_, model.coef_]
    # The answer for the numbers that were given, rounded once.
    exact = np.array([float(c) for c in rational(data.columns, data.y)[0]])
    np.testing.assert_array_equal(ours, exact)
    assert model.certificate_.ok
    digits, others = correct_digits(ours, data.coefficients), digits_of_others(data)
    if data.name == "Filip":
        # Powers up to the tenth do not fit into floats, and a condition number of 4e9 makes of
        # their rounding an error in the eighth digit: no method can do better with these columns,
        # but by chance (statsmodels' qr has 8.03 digits here, and the exact answer 7.61).
        # PolynomialRegression, which makes the powers itself, has them all.
        assert digits > 7.5
        assert digits > max(v for k, v in others.items() if k != "statsmodels, qr")
    else:
        # Beyond thirteen, others are nearer than the exact answer by chance: by how the data were
        # rounded, and on which processor.
        assert digits >= min(max(others.values()), 13.0)


@each
def test_statistics(data) -> None:
    model = LinearRegression().fit(data.columns, data.y)
    freedom = len(data.y) - len(data.coefficients)
    deviation = np.sqrt(model.mse_ * len(data.y) / freedom)
    least = 7 if data.name == "Filip" else 12
    assert correct_digits(model.r2(data.columns, data.y), data.r_squared) >= least
    if data.residual_deviation:
        assert correct_digits(deviation, data.residual_deviation) >= least
    else:
        assert deviation <= 1e-14 * np.abs(data.y).max()


@pytest.mark.crossed
@each
@pytest.mark.parametrize("size", [1, 7])
def test_in_portions(data, size) -> None:
    # From the triangular factor alone: as exact as a QR factorisation of all rows.
    model = LinearRegression()
    with warnings.catch_warnings():
        # A dozen of Filip's rows leave a residual so small that the coefficients' rounding shows
        # in it, and the certificate says so.
        warnings.simplefilter("ignore" if data.name == "Filip" else "error")
        for start in range(0, len(data.y), size):
            part = slice(start, start + size)
            model.partial_fit(data.columns[part], data.y[part])
    assert model.certificate_.ok
    others = digits_of_others(data)
    del others["statsmodels, qr"]
    found = np.r_[model.intercept_, model.coef_]
    assert correct_digits(found, data.coefficients) >= max(others.values()) - 0.5
