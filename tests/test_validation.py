"""Checks of parameters and of data, by themselves."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin

from separatrix import LogisticRegression
from separatrix.data.validation import (
    check_choice,
    check_number,
    require_finite,
    sample_weight_of,
    validate,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2.0), np.int8(3), np.inf])
def test_good_numbers(value) -> None:
    check_number("x", value, above=0, finite=False)


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (0, {"above": 0}),
        (-1e-9, {"minimum": 0}),
        (np.nan, {}),
        (np.inf, {}),
        ("3", {}),
        (None, {}),
        (True, {}),
        (1.5, {"integer": True}),
        (1j, {}),
        (np.array([1.0, 2.0]), {}),
    ],
)
def test_bad_numbers(value, options: dict) -> None:
    with pytest.raises(ValueError, match=r"^x=.* must be a"):
        check_number("x", value, **options)


def test_choices() -> None:
    check_choice("penalty", None, ["l2", None])
    check_choice("penalty", np.str_("l2"), ["l2", None])
    for bad in ("L2", 0, False, ["l2"], np.array(["l2", "l2"])):
        with pytest.raises(ValueError, match="is not known; choose one of 'l2', None"):
            check_choice("penalty", bad, ["l2", None])
    for plain in (True, False, np.True_, np.False_):
        check_choice("shuffle", plain, [True, False])
    for bad in (1, 0, 1.0, "True", None, np.array([True, False])):
        with pytest.raises(ValueError, match="is not known; choose one of True, False"):
            check_choice("shuffle", bad, [True, False])
    with pytest.raises(ValueError, match="choose one of True"):
        check_choice("shuffle", np.False_, [True])


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 9000),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    data=st.data(),
    dtype=st.sampled_from([np.float32, np.float64]),
    sparse=st.booleans(),
)
def test_the_first_bad_value_is_found(rows, bad, data, dtype, sparse) -> None:
    x = np.ones((rows, 3), dtype=dtype)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, 2))
    x[row, column] = bad
    # A later one does not matter.
    x[-1, 2] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=rf"X contains {what}.* at row {row}, column {column}"):
        require_finite(sp.csr_array(x) if sparse else x)


def test_finite_data_pass_whatever_their_size() -> None:
    require_finite(np.full((5, 2), 1.7e308))
    require_finite(np.array([[1.7e308, -1.7e308], [-1.7e308, -1.7e308]]))
    require_finite(np.full((5, 2), 3e38, dtype=np.float32))
    require_finite(sp.csr_array(np.full((5, 2), -1.7e308)))
    require_finite(np.zeros((0, 2)))


def test_names_are_told() -> None:
    with pytest.raises(ValueError, match=r"column 1 \('age'\)"):
        require_finite(np.array([[0.0, np.nan]]), ["size", "age"])


def test_sample_weight_of_rows() -> None:
    X = np.zeros((3, 2))
    assert sample_weight_of(None, X) is None
    assert sample_weight_of(2, X).tolist() == [2.0, 2.0, 2.0]
    weights = np.array([1.0, 0.0, 2.0])
    assert sample_weight_of(weights, X) is weights
    assert sample_weight_of([1, 0, 2], X).tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"has the shape \(2,\); pass one weight for each of the 3 rows"),
        ([[1.0], [1.0], [1.0]], r"has the shape \(3, 1\)"),
        (["a", "b", "c"], "must hold numbers"),
        ([1.0, np.nan, 1.0], "must be finite; row 1 has nan"),
        ([1.0, 1.0, np.inf], "must be finite; row 2 has inf"),
        ([1.0, -2.0, 1.0], "must not be negative; row 1 has -2"),
        ([0.0, 0.0, 0.0], "zero for every row"),
    ],
)
def test_bad_weights_are_named(weights, message) -> None:
    with pytest.raises(ValueError, match=message):
        sample_weight_of(weights, np.zeros((3, 2)))


class _Regressor(RegressorMixin, BaseEstimator):
    pass


def test_targets_are_numbers() -> None:
    X = [[1.0], [2.0], [3.0]]
    _, y = validate(_Regressor(), X, [1, 2, 3], regression=True)
    assert y.dtype == np.float64 and y.shape == (3,)
    _, Y = validate(_Regressor(), X, [[1, 0], [2, 0], [3, 0]], regression=True)
    assert Y.shape == (3, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], "y contains NaN at row 1; fill"),
        ([[1, 2], [1, np.inf], [0, 0]], r"y contains infinity \(inf\) at row 1, column 1"),
        (["low", "high", "low"], "y must hold numbers for a regression; entry 0 is 'low'"),
        (None, "requires y"),
    ],
)
def test_bad_targets_are_named(y, message) -> None:
    with pytest.raises(ValueError, match=message):
        validate(_Regressor(), [[1.0], [2.0], [3.0]], y, regression=True)


def test_the_search_for_nan_can_be_left_to_the_fit() -> None:
    X = np.array([[1.0], [np.nan], [3.0]])
    assert validate(_Regressor(), X, [1.0, 2.0, 3.0], regression=True, finite=False)[0] is X


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["a", "b", "a", "b"], "column 'job' holds 'a' in row 0"),
        ([1, None, "x", 2], "column 'job' holds 'x' in row 2"),
        (np.array(["2024-01-01"] * 4, dtype="M8[ns]"), "column 'job' holds dates"),
    ],
)
def test_a_column_that_is_no_number_is_named(column, words) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "job": column})
    with pytest.raises(ValueError, match=re.escape(words)):
        LogisticRegression().fit(frame, [0, 1, 0, 1])


def test_numbers_written_as_text_are_numbers() -> None:
    frame = pd.DataFrame({"age": ["1", "2", "3", "4"]})
    assert LogisticRegression().fit(frame, [0, 1, 0, 1]).coef_.shape == (1, 1)


def test_a_frame_of_one_type_is_read_as_its_matrix() -> None:
    # The names, the number and the order of columns, missing values and rows that do not match are
    # noticed as in a frame of several types.
    rng = np.random.default_rng(0)
    for kind in (np.float64, np.float32):
        X = pd.DataFrame(rng.normal(size=(60, 4)).astype(kind), columns=list("abcd"))
        y = pd.Series(np.where(X["a"] > 0, "u", "v"), index=X.index)
        model = LogisticRegression().fit(X, y)
        assert list(model.feature_names_in_) == list("abcd") and model.n_features_in_ == 4
        np.testing.assert_array_equal(
            model.coef_, LogisticRegression().fit(np.asfortranarray(X), y.to_numpy()).coef_
        )
        mixed = X.assign(d=X["d"].astype(np.float64 if kind is np.float32 else np.float32))
        missing = X.copy()
        missing.iloc[3, 2] = np.nan
        for call in (
            lambda table, model=model: model.predict(table[["b", "a", "c", "d"]]),
            lambda table, model=model: model.predict(table[["a", "b", "c"]]),
            lambda table, y=y: LogisticRegression().fit(table, y[:50]),
            lambda table, y=y: LogisticRegression().fit(table[:0], y[:0]),
        ):
            messages = []
            for frame in (X, mixed):
                with pytest.raises(ValueError) as error:
                    call(frame)
                messages.append(str(error.value))
            assert messages[0] == messages[1]
        with pytest.raises(ValueError, match=r"row 3, column 2 \('c'\)"):
            LogisticRegression().fit(missing, y)
        with pytest.raises(ValueError, match=r"row 3, column 2 \('c'\)"):
            model.predict(missing)
