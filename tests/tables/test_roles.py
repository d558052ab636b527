"""Columns that say something of the rows: equal rows, groups, times and weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.exceptions import DataError
from separatrix.tables import Table, split_rows, take_roles
from separatrix.tables.roles import equal_rows


def drawn(seed: int, n: int = 300) -> Table:
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 400, n).astype(np.float64) % 90
    number[rng.random(n) < 0.1] = np.nan
    words = rng.choice(np.array(["a", "b", "", "c"], dtype=object), n)
    return Table.from_columns({"x": number, "zero": rng.choice([0.0, -0.0], n), "z": words})


@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_are_those_that_print_alike(seed) -> None:
    table = drawn(seed)
    codes = equal_rows(table)
    printed = [
        tuple("" if cell is np.ma.masked else str(cell).replace("-0.0", "0.0") for cell in row)
        for row in zip(*(np.ma.asarray(table.columns[name]) for name in table.names), strict=True)
    ]
    first: dict[tuple, int] = {}
    assert codes.tolist() == [first.setdefault(row, i) for i, row in enumerate(printed)]


def test_rows_that_differ_are_alone() -> None:
    assert equal_rows(Table.from_columns({"x": [1.0, 2.0], "z": ["a", "a"]})) is None
    assert equal_rows(Table.from_columns({"x": [1.0, 1.0], "z": ["a", "b"]})) is None
    # A value in another column is another row.
    assert equal_rows(Table.from_columns({"x": [1.0, 2.0], "y": [2.0, 1.0]})) is None


def test_sparse_rows() -> None:
    matrix = sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    table = Table(names=(), columns={}, kinds={}, n_rows=3, matrix=matrix)
    assert equal_rows(table).tolist() == [0, 1, 0]


@pytest.mark.parametrize("stratify", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_stay_on_one_side(seed, stratify) -> None:
    table = drawn(seed)
    y = np.random.default_rng(seed).choice(["p", "q", "r"], 300, p=[0.6, 0.3, 0.1])
    _, roles = take_roles(table, {})
    fitted, held = roles.split(y, test_size=0.25, seed=seed, stratify=stratify)
    assert sorted([*fitted, *held]) == list(range(300)) and len(held) > 20
    codes = equal_rows(table)
    assert not set(codes[fitted]) & set(codes[held])
    if stratify:
        assert set(y[fitted]) == {"p", "q", "r"}


def test_without_equal_rows_the_split_is_that_of_before() -> None:
    y = np.repeat(["a", "b"], [30, 70])
    table = Table.from_columns({"x": np.arange(100.0)})
    _, roles = take_roles(table, {})
    new = roles.split(y, test_size=0.2, seed=3, stratify=True)
    old = split_rows(y, test_size=0.2, seed=3)
    assert all(np.array_equal(one, other) for one, other in zip(new, old, strict=True))


def test_groups_are_drawn_whole() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 25, 400)
    table = Table.from_columns({"x": rng.normal(size=400), "g": [f"p{k}" for k in group]})
    y = rng.choice(["a", "b"], 400)
    features, roles = take_roles(table, {"group": "g"})
    assert features.names == ("x",)
    fitted, held = roles.split(y, test_size=0.2, seed=1, stratify=True)
    assert not set(group[fitted]) & set(group[held]) and 60 <= len(held) <= 120
    other = roles.split(y, test_size=0.2, seed=2, stratify=True)
    assert not np.array_equal(held, other[1])


def test_the_latest_rows_are_held_out() -> None:
    times = np.array([5.0, 1.0, 4.0, 4.0, 2.0, 3.0, 0.0, 4.0])
    table = Table.from_columns({"t": times, "x": np.arange(8.0)})
    features, roles = take_roles(table, {"time": "t"})
    assert features.names == ("t", "x")
    y = np.array(list("abababab"))
    fitted, held = roles.split(y, test_size=0.3, seed=0, stratify=True)
    # Rows of one time are on one side.
    assert held.tolist() == [0, 2, 3, 7] and fitted.tolist() == [1, 4, 5, 6]
    late = np.array(list("cabbabab"))
    with pytest.raises(DataError, match="all rows of class 'c' would be held out"):
        roles.split(late, test_size=0.3, seed=0, stratify=True)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"weight": "z"}, "column 'z' holds 'a', which is not a weight"),
        ({"weight": "v"}, "column 'v', row 2: -1 is not a weight"),
        ({"weight": "o"}, "column 'o' gives every row the weight 0"),
        ({"time": "z"}, "column 'z' holds 'a', which is not a time"),
        ({"group": "m"}, "column 'm', row 2 is missing"),
        ({"group": "n"}, "memory has no column 'n'"),
    ],
)
def test_what_is_refused(names, said) -> None:
    columns = {"x": [0.0, 1.0], "z": ["a", "b"], "v": [1.0, -1.0], "o": [0.0, 0.0]}
    table = Table.from_columns({**columns, "m": ["p", None]})
    with pytest.raises(DataError, match=said):
        take_roles(table, names)


def test_one_group_or_one_time_cannot_be_split() -> None:
    table = Table.from_columns({"x": [0.0, 1.0], "one": [1.0, 1.0]})
    y = np.array(["a", "b"])
    for role in ("group", "time"):
        _, roles = take_roles(table, {role: "one"})
        with pytest.raises(DataError, match=f"all rows (belong to one|have the same) {role}"):
            roles.split(y, test_size=0.5, seed=0, stratify=False)


def test_rows_of_few_categories_are_no_copies() -> None:
    table = Table.from_columns({"x": [1.0, 2.0] * 5})
    _, roles = take_roles(table, {})
    assert roles.together is None
    fitted, held = roles.split(np.array(list("ababababab")), test_size=0.5, seed=0, stratify=True)
    assert len(fitted) + len(held) == 10
