"""Checks of parameters and of data, by themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.validation import check_choice, check_number, require_finite


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
