"""``Encoder(reference=True)``: every category is compared with its most frequent level."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from separatrix.exceptions import DataError, ModelFileError
from separatrix.tables import Encoder, Table


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def stored(encoder):
    meta, arrays = encoder.state()
    return Encoder.from_state(json.loads(json.dumps(meta)), arrays)


TABLE = Table.from_columns(
    {
        "age": [30.0, None, 50.0, 40.0, 35.0],
        "job": ["clerk", "cook", "cook", "smith", None],
        "seven": [7, 7, 7, 7, 7],
        "flag": [True, False, True, True, False],
    }
)


@pytest.mark.parametrize("standardise", [False, True])
def test_the_most_frequent_level_has_no_feature(standardise):
    encoder = Encoder(standardise=standardise, reference=True).fit(TABLE)
    assert encoder.feature_names_ == [
        "age", "age=(missing)", "flag", "job=clerk", "job=smith", "job=(missing)",
    ]  # fmt: skip
    assert encoder.references_ == {"job": "cook"}
    assert encoder.left_out_ == ["seven"]
    for made in (encoder, stored(encoder)):
        matrix = dense(made.transform(TABLE))
        assert matrix[:, 3:].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
        assert made.references_ == {"job": "cook"}
        assert made.feature_names_ == encoder.feature_names_
        age = [30, 38.75, 50, 40, 35]  # a missing number is the mean
        if standardise:
            deviation = np.std([30, 50, 40, 35])
            age = [(a - 38.75) / deviation for a in age]
        np.testing.assert_allclose(matrix[:, 0], age, rtol=1e-15, atol=1e-15)


def test_numbers_are_not_touched():
    values = [0.1, 0.2, 0.1 + 0.2, 1e-320]
    table = Table.from_columns({"a": values})
    matrix = Encoder(standardise=False, reference=True).fit(table).transform(table)
    assert matrix[:, 0].tobytes() == np.array(values).tobytes()


def test_with_an_intercept_the_columns_are_independent():
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(list("abc"), 60).tolist() for name in "uvw"}
    table = Table.from_columns({**columns, "x": rng.normal(size=60)})
    for reference, rank in ((True, 8), (False, 8)):
        matrix = dense(Encoder(standardise=False, reference=reference).fit(table).transform(table))
        lifted = np.column_stack([np.ones(60), matrix])
        assert np.linalg.matrix_rank(lifted) == rank
        assert (lifted.shape[1] == rank) is reference


def test_what_is_new_is_read_as_the_reference():
    encoder = Encoder(reference=True).fit(TABLE.drop("age"))
    new = Table.from_columns({"job": ["cook", "pilot"], "flag": [True, None]})
    assert dense(encoder.transform(new))[:, 1:].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert "read as the mean (0.6)" in encoder.notes_[0]
    assert encoder.notes_[1].endswith("('pilot'), read as the reference 'cook'")
    plain = Table.from_columns({"c": ["x", "x", "y"]})
    encoder = Encoder(reference=True).fit(plain)
    encoder.transform(Table.from_columns({"c": ["x", None]}))
    assert encoder.notes_ == ["column 'c': 1 missing, none at fit; read as the reference 'x'"]


def test_ties_take_the_first_level_and_rare_ones_are_never_the_reference():
    table = Table.from_columns({"c": ["b", "a", "b", "a", "z", "y"], "x": range(6)})
    assert Encoder(reference=True).fit(table).references_ == {"c": "a"}
    grouped = Encoder(reference=True, min_frequency=2).fit(table)
    assert grouped.feature_names_ == ["x", "c=b", "c=(rare)"]
    assert dense(grouped.transform(table))[:, 1:].tolist() == [
        [1, 0], [0, 0], [1, 0], [0, 0], [0, 1], [0, 1],
    ]  # fmt: skip
    assert (
        dense(stored(grouped).transform(table)).tolist() == dense(grouped.transform(table)).tolist()
    )


def test_the_state_says_that_it_is_of_another_version():
    meta, arrays = Encoder(reference=True).fit(TABLE).state()
    assert meta["version"] == 2
    assert Encoder().fit(TABLE).state()[0]["version"] == 1
    with pytest.raises(ModelFileError, match="version 8, and this library reads versions 1 to 7"):
        Encoder.from_state({**meta, "version": 8}, arrays)


def test_without_it_nothing_changes():
    encoder = Encoder().fit(TABLE)
    assert encoder.references_ == {}
    assert "job=cook" in encoder.feature_names_


# ------------------------------------------------------------------------------------ leave_out


@pytest.mark.parametrize("words", [["age"], ["job=smith", "age=(missing)"]])
@pytest.mark.parametrize("sparse_too", [False, True])
def test_features_can_be_left_out(words, sparse_too):
    table = TABLE
    if sparse_too:
        texts = ["red fox", "red hen", "blue hen", "blue fox", "a fox and a hen"]
        columns = TABLE.columns | {"t": texts}
        table = Table.from_columns(columns, kinds={"t": "text"})
    encoder = Encoder(reference=True).fit(table)
    names, full = encoder.feature_names_, encoder.transform(table)
    assert sparse.issparse(full) is sparse_too
    assert encoder.leave_out(words) is encoder
    kept = [j for j, name in enumerate(names) if name not in words]
    for made in (encoder, stored(encoder)):
        matrix = made.transform(table)
        assert type(matrix) is type(full)
        assert made.feature_names_ == [names[j] for j in kept]
        assert made.n_features_ == len(made.columns_) == matrix.shape[1] == len(kept)
        assert dense(matrix).tolist() == dense(full)[:, kept].tolist()
        assert made.dependent_ == words
    assert encoder.state()[0]["version"] == 2
    assert encoder.fit(table).feature_names_ == names


def test_leaving_out_makes_an_encoding_of_the_second_version():
    assert Encoder().fit(TABLE).leave_out(["age"]).state()[0]["version"] == 2
    assert stored(Encoder().fit(TABLE).leave_out(["age"])).reference is False


def test_what_cannot_be_left_out():
    encoder = Encoder().fit(Table.from_columns({"a": [1, 2, 4]}))
    with pytest.raises(DataError, match="there is no feature 'b' in the encoding"):
        encoder.leave_out(["b"])
    with pytest.raises(DataError, match="without these features the encoding would have none"):
        encoder.leave_out(["a"])
