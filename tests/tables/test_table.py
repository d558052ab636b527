"""The table itself: memory to columns, selections, fingerprints, labels."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from separatrix.exceptions import DataError
from separatrix.tables import Table, take_target


def test_columns_from_memory():
    table = Table.from_columns(
        {
            "i": [1, None, 3],
            "f": np.array([1.0, np.nan, np.inf]),
            "b": [True, False, None],
            "s": ["x", " ? ", " y "],
            "m": np.ma.MaskedArray([1, 2, 3], mask=[0, 0, 1]),
            "d": np.array(["1970-01-02", "NaT", "1969-12-31T12"], dtype="datetime64[s]"),
            "mixed": [1, "x", 2.5],
        }
    )
    assert [table.columns[name].tolist() for name in "ifbsmd"] == [
        [1.0, None, 3.0],
        [1.0, None, np.inf],
        [True, False, None],
        ["x", None, "y"],
        [1.0, 2.0, None],
        [1.0, None, -0.5],
    ]
    assert table.columns["mixed"].tolist() == ["1", "x", "2.5"]
    assert table.n_missing == 6
    assert table.dates == {"d"}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames(frame):
    made = frame({"x": [1.5, None, 2.0], "s": ["u", None, "v"]})
    table = Table.from_columns({name: made[name] for name in made.columns})
    assert table.columns["x"].tolist() == [1.5, None, 2.0]
    assert table.columns["s"].tolist() == ["u", None, "v"]


def test_bad_columns_from_memory():
    with pytest.raises(DataError, match="differ in length"):
        Table.from_columns({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match=r"column 'a', row 2: a value of type date"):
        Table.from_columns({"a": ["x", datetime.date(2020, 1, 1)]})
    with pytest.raises(DataError, match="not have one value for each row"):
        Table.from_columns({"a": np.zeros((2, 2))})


def test_the_given_arrays_are_not_changed():
    given = np.array([1.0, np.nan, 3.0])
    given.setflags(write=False)
    words = np.array(["x", "?", None], dtype=object)
    table = Table.from_columns({"a": given, "w": words})
    assert table.columns["a"].tolist() == [1.0, None, 3.0]
    assert np.isnan(given[1])
    assert words.tolist() == ["x", "?", None]


def test_select_and_drop():
    table = Table.from_columns({"a": [1, 2, None], "b": ["x", "y", "z"]})
    part = table.select([2, 0])
    assert part.n_rows == 2
    assert part.columns["a"].tolist() == [None, 1.0]
    assert table.select(np.array([False, True, True])).columns["b"].tolist() == ["y", "z"]
    assert table.select([]).n_rows == 0
    assert table.drop("a").names == ("b",)
    assert table.drop(["a", "b"]).names == ()
    assert table.names == ("a", "b")
    with pytest.raises(DataError, match=r"no column 'c'"):
        table.drop("c")


def test_the_fingerprint_depends_on_values_and_on_nothing_else():
    base = {"a": [1.0, None, -0.0], "s": ["x", None, "é\ny"]}
    first = Table.from_columns(base, source="one").fingerprint()
    assert len(first) == 64
    assert first == Table.from_columns(base, source="two").fingerprint()
    # A number that does not show below a mask must not count, nor the sign of zero.
    masked = np.ma.MaskedArray([1.0, 77.0, 0.0], mask=[0, 1, 0])
    assert first == Table.from_columns({**base, "a": masked}).fingerprint()
    others = [
        {"a": [1.0, 0.0, 0.0], "s": base["s"]},
        {"a": base["a"], "s": ["x", "", "é\ny"]},
        {"a": base["a"], "s": ["x", "n", "é\ny"]},
        {"b": base["a"], "s": base["s"]},
        {"s": base["s"], "a": base["a"]},
    ]
    prints = [Table.from_columns(other, missing=["??"]).fingerprint() for other in others]
    # The empty string counts as missing, so the second of these is the same table.
    assert prints[1] == first
    assert len({first, *prints}) == 5
    kinds = Table.from_columns(base, kinds={"s": "text"}).fingerprint()
    assert kinds != first


def test_the_fingerprint_is_pinned():
    # Stored in model files, so it must not change from one version to the next.
    table = Table.from_columns({"x": [1, 2.5, None], "c": ["a", None, "ü"]})
    assert table.fingerprint() == "f03c539967a45042f0c194a62ed81f8e57005898bddfb4503388d4024e27c2c6"


# -------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("given", "labels", "kind"),
    [
        ([0, 1, 1], [0, 1, 1], "i"),
        ([-1.0, 1.0, 1.0], [-1, 1, 1], "i"),
        ([True, False, True], [True, False, True], "b"),
        ([0.5, 1.0, 0.5], ["0.5", "1", "0.5"], "U"),
        (["no", "yes", "no"], ["no", "yes", "no"], "U"),
    ],
)
def test_labels(given, labels, kind):
    table = Table.from_columns({"x": [1, 2, 3], "y": given})
    features, y = take_target(table, "y")
    assert features.names == ("x",)
    assert y.tolist() == labels
    assert y.dtype.kind == kind


def test_an_absent_target_names_the_columns_and_the_nearest():
    table = Table.from_columns({"age": [1, 2], "Income": ["a", "b"]}, source="adult.csv")
    with pytest.raises(
        DataError,
        match=r"adult.csv has no column 'income'; its columns are 'age', 'Income'; "
        r"did you mean 'Income'\?",
    ):
        take_target(table, "income")
    wide = Table.from_columns({f"c{i:02d}": [1] for i in range(30)})
    with pytest.raises(DataError) as caught:
        take_target(wide, "zzzzzz")
    assert "'c19' and 10 more" in str(caught.value)
    assert "c20" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["a", None, "?", "b"], r"lacks 2 of 4 labels, the first in row 2"),
        (["a", None, "?"], r"has the label 'a' or none"),
        (["a", "a", "a"], r"has one class only \('a'\)"),
        ([1, 1, 1], r"has one class only \('1'\)"),
        ([1, np.inf, 2], r"column 'y', row 2: inf is not a label"),
    ],
)
def test_bad_targets(given, sentence):
    with pytest.raises(DataError, match=sentence):
        take_target(Table.from_columns({"y": given}), "y")


def test_a_quantity_is_not_taken_for_classes():
    numbers = np.arange(200) / 7
    with pytest.raises(DataError, match="200 distinct values in 200 rows: .* a quantity"):
        take_target(Table.from_columns({"y": numbers}), "y")
    insisted = Table.from_columns({"y": numbers}, kinds={"y": "category"})
    assert len(set(take_target(insisted, "y")[1])) == 200
    with pytest.raises(DataError, match="free text or an identifier"):
        take_target(Table.from_columns({"y": [f"id{i}" for i in range(60)]}), "y")


def test_labels_of_new_data_are_matched_to_the_classes_of_a_model():
    strings = Table.from_columns({"y": ["1.0", "2"]})
    _, y = take_target(strings, "y", classes=np.array([1, 2, 3]))
    assert y.tolist() == [1, 2]
    assert y.dtype.kind == "i"
    numbers = Table.from_columns({"y": [1, 1]})
    assert take_target(numbers, "y", classes=["01", "x"])[1].tolist() == ["01", "01"]
    flags = Table.from_columns({"y": ["True", "FALSE"]})
    assert take_target(flags, "y", classes=[False, True])[1].tolist() == [True, False]
    with pytest.raises(DataError, match=r"row 2: '4' is not a class of the model.*'1', '2'"):
        take_target(Table.from_columns({"y": [1, 4]}), "y", classes=[1, 2])
