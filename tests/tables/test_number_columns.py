"""Columns of numbers are distinguished from others in one match, as value by value."""

from __future__ import annotations

import random

import pytest

from separatrix.tables import source_files
from separatrix.tables.table import BLANKS, is_marked

MARKS = frozenset({"", "NA", "nan", "-999"})
CELLS = [
    *("1", "2.5", "-3e4", ".5", "inf", "infinity", "nan", "NA", "", "-999", "-999.0", "true"),
    *("2020-01-01", "x", "1\n2", " 7", "+1.", "007", "1_0"),
]


def value_by_value(values: list[str]) -> list[bool]:
    texts = [value.strip(BLANKS) for value in values]
    left = [text for text in texts if not is_marked(text, MARKS)]
    return [not all(like(text) for text in left) for like in source_files._LIKE.values()]


@pytest.mark.parametrize("seed", range(4))
def test_one_match_says_what_single_values_say(seed):
    draw = random.Random(seed)
    for _ in range(1000):
        values = draw.choices(CELLS, k=draw.randint(0, 4))
        assert source_files._unlike_kinds(values, MARKS) == value_by_value(values), values


def test_a_column_that_nearly_holds_numbers_takes_no_longer():
    # An expression that goes back on what it matched would not end within years.
    values: list[str] = ["12345678901234567890.5e10"] * 2000
    assert source_files._unlike_kinds([*values, "x"], MARKS) == [True, True, True]
