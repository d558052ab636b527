"""The distance to residuals that are orthogonal to all columns: a bound of the exact one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from separatrix import LogisticRegression
from separatrix.data.design import DenseDesign, as_design
from separatrix.objectives import orthogonality
from separatrix.objectives.enclosure import Level
from separatrix.objectives.orthogonality import Projector, Tuning


def exact_distance(A: np.ndarray, weights: np.ndarray, residual: np.ndarray) -> list[Fraction]:
    """``|c_i A_i t|`` with ``A' diag(c) A t = A' r``, in fractions."""
    rows = [[Fraction(v) for v in row] for row in A.tolist()]
    c, r = ([Fraction(v) for v in vector.tolist()] for vector in (weights, residual))
    d = A.shape[1]
    matrix = [
        [sum(u * a[j] * a[k] for u, a in zip(c, rows, strict=True)) for k in range(d)]
        for j in range(d)
    ]
    right = [sum(a[j] * v for a, v in zip(rows, r, strict=True)) for j in range(d)]
    # Gauss-Jordan.
    for j in range(d):
        p = next(k for k in range(j, d) if matrix[k][j] != 0)
        matrix[j], matrix[p], right[j], right[p] = matrix[p], matrix[j], right[p], right[j]
        for k in range(d):
            if k != j and matrix[k][j] != 0:
                q = matrix[k][j] / matrix[j][j]
                matrix[k] = [u - q * v for u, v in zip(matrix[k], matrix[j], strict=True)]
                right[k] -= q * right[j]
    t = [right[j] / matrix[j][j] for j in range(d)]
    return [
        abs(u * sum(v * w for v, w in zip(a, t, strict=True))) for u, a in zip(c, rows, strict=True)
    ]


# The settings are those for long matrices, and for those with many columns.
@pytest.mark.parametrize("whole", [Tuning.whole, 0])
@pytest.mark.parametrize("few", [Tuning.few, 0])
def test_it_bounds_the_exact_distance(whole: int, few: int) -> None:
    rng = np.random.default_rng(0)
    tuning = Tuning(whole=whole, few=few)
    for n, d, near in ((12, 2, 1.0), (30, 4, 1e-2), (30, 4, 1e-4)):
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d)
        X[:, -1] = X[:, 0] + near * X[:, -1]
        weights = rng.random(n) * (rng.random(n) < 0.9)
        A = np.column_stack([X, np.ones(n)])
        residual = rng.normal(size=n)
        residual -= weights * (A @ np.linalg.lstsq(A.T @ (weights[:, None] * A), A.T @ residual)[0])
        projector = Projector.of(
            as_design(X), weights, True, lambda w, A=A: A.T @ (w[:, None] * A), tuning
        )
        assert projector is not None
        found = projector.distance(residual, Level.DOUBLED, 0.0)
        exact = exact_distance(A, weights, residual)
        assert all(bound >= true for bound, true in zip(found.tolist(), exact, strict=True))
        # No bound is useless: it is larger by at most the condition of columns of equal length.
        assert found.max() <= 1e3 / near * float(max(exact))


def test_an_unpenalised_fit_forms_a_gram_matrix_for_each_step_and_one_more(monkeypatch) -> None:
    formed: list[int] = []
    gram = DenseDesign.gram
    monkeypatch.setattr(DenseDesign, "gram", lambda *of: formed.append(1) or gram(*of))
    rng = np.random.default_rng(1)
    # The matrix is so long that it is not factorised as it is.
    X = rng.normal(size=(37_000, 110))
    y = X @ rng.normal(size=110) + 8 * rng.normal(size=len(X)) > 0
    model = LogisticRegression(penalty=None, solver="newton").fit(X, y)
    assert model.certificate_.ok
    assert len(formed) <= model.certificate_.n_iter + 1
    assert model.information_.shape == (111, 111)


def test_many_independent_columns_take_no_other_factor_than_that_of_their_gram_matrix(
    monkeypatch,
) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 120))
    y = X @ rng.normal(size=120) + 8 * rng.normal(size=len(X)) > 0
    expected = LogisticRegression(penalty=None).fit(X, y).certificate_
    monkeypatch.setattr(orthogonality.scipy.linalg, "qr", None)
    found = LogisticRegression(penalty=None).fit(X, y).certificate_
    assert found.ok
    assert (found.primal, found.dual) == (expected.primal, expected.dual)
