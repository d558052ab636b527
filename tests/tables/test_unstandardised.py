"""``Encoder(standardise=False)``: numbers bit for bit as the table has them."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from scipy import sparse

from separatrix.tables import Encoder, Table, read_table, take_target

TEXTS = ["the film was great fun", "dull and long and dull", "great actors dull plot"] * 2


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def stored(encoder):
    meta, arrays = encoder.state()
    return Encoder.from_state(json.loads(json.dumps(meta)), arrays)


def test_numbers_are_not_touched():
    big = sys.float_info.max
    columns = {
        "a": [0.1, 0.2, 0.1 + 0.2, 1e-320],
        "b": [big, -big, 5e-324, 0.3],
        "c": [1.0, 1.0 + 2**-52, 1.0, 1.0],
        "flag": [True, False, True, True],
        "seven": [7, 7, 7, 7],
    }
    table = Table.from_columns(columns)
    encoder = Encoder(standardise=False).fit(table)
    assert encoder.feature_names_ == list(columns)
    for made in (encoder, stored(encoder)):
        matrix = made.transform(table)
        for j, values in enumerate(columns.values()):
            want = np.array(values, dtype=np.float64)
            assert matrix[:, j].tobytes() == want.tobytes()
        assert made.standardise is False
    # What differs in the last bit only is no constant here; standardised, it is left out.
    assert (
        "c" not in Encoder().fit(Table.from_columns({"a": [1, 2], "c": [1.0, 1.0 + 2**-52]})).kinds_
    )


def test_missing_numbers_are_zero_and_marked():
    table = Table.from_columns({"a": [5.0, None, 7.0], "b": [1, 2, 3]})
    encoder = Encoder(standardise=False).fit(table)
    assert encoder.feature_names_ == ["a", "a=(missing)", "b"]
    assert dense(encoder.transform(table)).tolist() == [[5, 0, 1], [0, 1, 2], [7, 0, 3]]
    new = Table.from_columns({"a": [5, 5, 5], "b": [None, 3, 6]})
    assert dense(encoder.transform(new))[:, 2].tolist() == [0, 3, 6]
    assert encoder.notes_ == ["column 'b': 1 missing, none at fit; read as 0"]


def test_the_other_columns_are_encoded_as_ever():
    table = Table.from_columns(
        {"n": np.arange(6.0) ** 2, "c": ["x", "y", None] * 2, "t": TEXTS}, kinds={"t": "text"}
    )
    raw, plain = Encoder(standardise=False).fit(table), Encoder().fit(table)
    assert raw.feature_names_ == plain.feature_names_
    assert raw.columns_ == plain.columns_
    assert raw.columns_[:4] == ["n", "c", "c", "c"]
    left, right = dense(raw.transform(table)), dense(plain.transform(table))
    np.testing.assert_array_equal(left[:, 1:], right[:, 1:])
    np.testing.assert_array_equal(left[:, 0], np.arange(6.0) ** 2)


def test_an_encoding_that_does_not_say_standardises():
    table = Table.from_columns({"a": [1, 2, 4], "c": ["x", "y", "x"]})
    encoder = Encoder().fit(table)
    meta, arrays = encoder.state()
    assert meta.pop("standardise") is True
    again = Encoder.from_state(meta, arrays)
    assert again.standardise
    assert again.transform(table).tobytes() == encoder.transform(table).tobytes()


def test_alerts_say_what_they_are_about():
    rng = np.random.default_rng(0)
    cm = rng.standard_normal(400)
    y = rng.integers(0, 2, 400)
    columns = {"cm": cm, "inch": cm / 2.54, "leak": y, "row": np.arange(400), "k": [3] * 400}
    for standardise in (True, False):
        encoder = Encoder(standardise=standardise).fit(Table.from_columns(columns), y)
        about = {columns for _, columns, _ in encoder.alerted_}
        assert about == {("cm", "inch"), ("leak",), ("row",)} | ({("k",)} if standardise else set())
        assert [sentence for _, _, sentence in encoder.alerted_] == encoder.alerts_
    # A second constant column repeats nothing.
    encoder = Encoder(standardise=False).fit(Table.from_columns({"k": [3] * 9, "m": [4] * 9}))
    assert encoder.alerts_ == []


def test_svmlight_features_have_no_column(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    features, _ = take_target(read_table(path), "target")
    encoder = Encoder(standardise=False).fit(features)
    assert encoder.columns_ == [None] * 3
    assert dense(encoder.transform(features)).tolist() == [[0.5, 0, 2], [0, 1, 0]]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_still_refused(value):
    from separatrix.exceptions import DataError

    with pytest.raises(DataError, match=r"column 'a', row 2: -?inf is not a finite number"):
        Encoder(standardise=False).fit(Table.from_columns({"a": [1.0, value]}))
