"""The column to predict: classes or a quantity."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.tables import (
    Table,
    looks_like_quantity,
    read_table,
    split_rows,
    take_quantity,
    take_target,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "quantity"),
    [
        (np.arange(30) / 7, True),  # fractions
        ([0.5, 1.0, 1.5] * 20, False),  # few fractions
        (np.arange(16) * 1000, True),  # hardly any value twice
        (np.arange(10), False),  # as few as letters
        (np.repeat(np.arange(26), 40), False),
        (np.repeat(np.arange(62), 40), False),  # letters and digits, many of each
        (np.concatenate([np.repeat(np.arange(17, 80), 40), [88, 90]]), True),  # ages: rare ends
        ([True, False] * 100, False),
        (["a", "b"] * 100, False),
        ([0, 1] * 100, False),
        ([1.5, np.inf, None] * 20, False),
    ],
)
def test_what_looks_like_a_quantity(values, quantity):
    table = Table.from_columns({"y": list(values)})
    assert looks_like_quantity(table, "y") is quantity
    if quantity:
        with pytest.raises(DataError, match="it looks like a quantity, not like classes"):
            take_target(table, "y")


def test_what_the_user_says_overrules():
    y = [1, 2, 3] * 10
    as_number = Table.from_columns({"y": y}, kinds={"y": "number"})
    as_words = Table.from_columns({"y": np.arange(30) / 7}, kinds={"y": "category"})
    assert looks_like_quantity(as_number, "y")
    assert not looks_like_quantity(as_words, "y")
    assert take_quantity(as_number, "y")[1].tolist() == y
    flags = Table.from_columns({"y": [True, False]}, kinds={"y": "number"})
    assert take_quantity(flags, "y")[1].tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="no column 'z'"):
        looks_like_quantity(as_number, "z")


def test_the_real_ones():
    found = {
        name: looks_like_quantity(read_table(name), "target")
        for name in ("iris", "wine", "digits", "diabetes", "breast-cancer")
    }
    assert [name for name, quantity in found.items() if quantity] == ["diabetes"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1.5, None, 2, None], r"column 'y' lacks 2 of 4 values, the first in row 2; fill them in"),
        ([1.5, 2, np.inf], r"column 'y', row 3: inf is not a finite number; correct it"),
        ([-np.inf, 2, 3], r"column 'y', row 1: -inf is not a finite number; correct it"),
        ([3, 3, 3], r"column 'y' is 3 in every row, so there is nothing to predict"),
        (
            [*map(str, np.arange(15) / 7), "x"],
            r"column 'y', row 16: 'x' is not a number, and the column is to be predicted",
        ),
        ([7.5], r"memory has 1 row, from which there is nothing to learn"),
        (["a", "b", "3"], r"column 'y' holds classes \('a' in row 1\), not a quantity"),
        ([False, True], r"column 'y' holds classes \('false' in row 1\), not a quantity"),
    ],
)
def test_bad_quantities(values, sentence):
    with pytest.raises(DataError, match=sentence):
        take_quantity(Table.from_columns({"y": values}, missing=[""]), "y")


def test_rows_of_a_part_are_named_as_in_the_file():
    table = Table.from_columns({"y": [1.0, 2.0, 3.0, np.inf]}).select([2, 3])
    with pytest.raises(DataError, match="row 4: inf"):
        take_quantity(table, "y")


def test_quantities_of_new_data():
    one = Table.from_columns({"y": ["2.5", "2.5"]}, kinds={"y": "category"})
    assert take_quantity(one, "y", fitted=True)[1].tolist() == [2.5, 2.5]
    with pytest.raises(DataError, match="row 1: 'high' is not a number"):
        take_quantity(Table.from_columns({"y": ["high", "low"]}), "y", fitted=True)


def test_a_word_among_numbers_is_named():
    values = [f"{i / 7:.3f}" for i in range(40)]
    values[30] = "n.a."
    table = Table.from_columns({"y": values})
    with pytest.raises(DataError, match=r"be a quantity but for 'n.a.' in row 31, which is"):
        take_target(table, "y")


def test_numbers_stored_as_text_are_told_how_to_be_read():
    values = [f"{i}.25" for i in range(60)]
    table = Table.from_columns({"x": np.arange(60), "y": values})
    with pytest.raises(DataError, match=r"whose numbers are text \('0.25' in row 1\); read them w"):
        take_target(table, "y")
    with pytest.raises(DataError, match=r"if it is a quantity, read it as one with kinds=\{"):
        take_quantity(table, "y")
    told = Table.from_columns({"y": values}, kinds={"y": "number"})
    assert take_quantity(told, "y")[1].tolist() == [i + 0.25 for i in range(60)]


def test_a_quantity_is_split_at_random():
    y = RNG.normal(size=103)
    fit_rows, held = split_rows(y, test_size=0.2, seed=0, stratify=False)
    assert sorted([*fit_rows, *held]) == list(range(103))
    assert len(held) == 21
    assert (np.diff(fit_rows) > 0).all()
    again = split_rows(y[::-1], test_size=0.2, seed=0, stratify=False)
    np.testing.assert_array_equal(held, again[1])  # the values do not matter
    assert not np.array_equal(held, split_rows(y, test_size=0.2, seed=1, stratify=False)[1])
    assert split_rows(y, test_size=0, stratify=False)[1].tolist() == []
    with pytest.raises(DataError, match="too few to hold out"):
        split_rows(y[:1], stratify=False)
