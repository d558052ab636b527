"""Predictions for plain arrays: scikit-learn's checks are passed by, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from grids import grid
from separatrix import (
    SVC,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    threads,
)
from separatrix._compiled import pool
from separatrix.data import design, validation
from separatrix.data.design import Tuning, as_design

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32).astype(np.float64)
Y = {2: (X[:, 0] > 0).astype(int), 3: np.digitize(X[:, 0], [-0.5, 0.5])}
KINDS = [
    LogisticRegression,
    LinearSVC,
    Perceptron,
    LeastSquaresClassifier,
    LinearRegression,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    SVC,
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
FAST = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr matrix": sp.csr_matrix,
    "csr array of float32": lambda X: sp.csr_array(X.astype(np.float32)),
}
SLOW = {
    "lists": lambda X: X.tolist(),
    "matrix": lambda X: np.ma.masked_array(X),
    "csc": sp.csc_array,
    "big-endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
}


def answers(model, rows):
    names = ("decision_function", "predict", "predict_proba")
    return [getattr(model, name)(rows) for name in names if hasattr(model, name)]


@each_kind
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_both_lanes_give_the_same(kind, classes, monkeypatch) -> None:
    model = kind().fit(X, Y[classes])
    calls = []
    original = validation.validate_data
    monkeypatch.setattr(
        validation, "validate_data", lambda *a, **o: calls.append(1) or original(*a, **o)
    )
    expected = answers(model, X.tolist())
    assert calls
    for convert in FAST.values():
        del calls[:]
        for found, wanted in zip(answers(model, convert(X)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        assert not calls
    for convert in SLOW.values():
        del calls[:]
        for found, wanted in zip(answers(model, convert(X)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        assert calls


@each_kind
@grid("bad", [np.nan, np.inf, -np.inf])
@grid("storage", FAST)
def test_bad_numbers_are_named_in_the_fast_lane(kind, bad, storage) -> None:
    model = kind().fit(X, Y[2])
    rows = X.copy()
    rows[7, 2] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=f"contains {what}.* at row 7, column 2"):
        model.predict(FAST[storage](rows))
    with pytest.raises(ValueError, match=f"contains {what}.* at row 0, column 2"):
        model.predict(FAST[storage](rows[7:8]))


@pytest.mark.parametrize("storage", FAST)
def test_weights_of_zero_hide_nothing(storage, monkeypatch) -> None:
    model = LogisticRegression().fit(X, Y[2])
    model.coef_ = np.zeros((1, 4))
    # A BLAS that skips weights of zero would answer like this.
    monkeypatch.setattr(design.DenseDesign, "dot", lambda self, w: np.zeros((len(self._x), 1)))
    rows = X.copy()
    rows[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, column 2"):
        model.decision_function(FAST[storage](rows))


def test_infinities_that_cancel_are_named() -> None:
    model = LogisticRegression().fit(X, Y[2])
    rows = X.copy()
    rows[3], rows[5] = np.inf, -np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) at row 3, column 0"):
        model.decision_function(rows)


def test_finite_rows_may_have_scores_beyond_float64() -> None:
    model = LogisticRegression().fit(X, Y[2])
    model.coef_ = np.array([[10.0, 1.0, 1.0, 1.0]])
    assert model.decision_function(np.array([[1e308, 0.0, 0.0, 0.0]])).tolist() == [np.inf]
    assert model.predict(np.array([[-1e308, 0.0, 0.0, 0.0]])).tolist() == [0]


@each_kind
def test_what_is_unusual_has_the_old_sentences(kind) -> None:
    model = kind().fit(X, Y[2])
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict(X + 0j)
    with pytest.raises(NotFittedError):
        kind().predict(X)


@each_kind
def test_a_model_with_names_warns_of_columns_without(kind) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = kind().fit(frame, Y[2])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    assert model.predict(frame).shape == (60,)


@grid("number", [1, 2, 3])
@grid("width", [1, 3])
@pytest.mark.parametrize("storage", FAST)
def test_large_products(storage, width, number) -> None:
    # With the limits lowered, any product is a large one.
    tuning = Tuning(own_products=0, block_bytes=100)
    w = RNG.normal(size=(4, width))
    with threads(number), pool.tuned(pool.Tuning(parallel_work=0)):
        found = as_design(FAST[storage](X), tuning).dot(w)
        again = as_design(FAST[storage](X), tuning).dot(w)
    np.testing.assert_allclose(found, X @ w, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(found, again)


@grid("number", [1, 3])
@pytest.mark.parametrize("storage", FAST)
def test_large_data_are_searched_in_parts(storage, number) -> None:
    # Each part is more than is added up at a time.
    X = np.tile(RNG.normal(size=(60, 4)), (1200, 1))
    rows = FAST[storage](X)
    with threads(number), pool.tuned(pool.Tuning(parallel_work=0)):
        validation.require_finite(rows)
        for row in (0, 36_031, 71_999):
            bad = X.copy()
            bad[row, 1] = np.nan
            with pytest.raises(ValueError, match=f"NaN at row {row}, column 1"):
                validation.require_finite(FAST[storage](bad))
        # Sums that overflow are no infinities in the data.
        validation.require_finite(FAST[storage](np.full(X.shape, 3e38)))
