"""The tables on real files, where they are at hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from separatrix.tables import Encoder, read_table, split_rows, take_target

pytest.importorskip("duckdb")


def test_adult(real_data):
    table = read_table(real_data("adult.csv"))
    features, y = take_target(table, "income")
    assert features.n_rows == 32_561
    assert features.n_missing == 4_262
    encoder = Encoder().fit(features, y)
    assert encoder.summary_ == "6 numbers, 8 categories"
    assert len(encoder.feature_names_) == 108
    assert [n for n in encoder.feature_names_ if n.endswith("=(missing)")] == [
        "workclass=(missing)",
        "occupation=(missing)",
        "native_country=(missing)",
    ]
    matrix = encoder.transform(features)
    assert matrix.shape == (32_561, 108)
    assert matrix.nnz == 14 * 32_561
    assert matrix.indices.dtype == np.int32
    np.testing.assert_allclose(np.asarray(matrix[:, :6].mean(axis=0)).ravel(), 0, atol=1e-12)
    # Each category has one level in every row.
    assert (matrix[:, 6:].sum(axis=1) == 8).all()
    # Years of schooling are the level of education in numbers; nothing gives the target away.
    # The largest gains are cut off at 99999, which is named and kept.
    gains, repeated = encoder.alerts_
    assert "'capital_gain': 159 cells of 99999 are apart" in gains
    assert not encoder.placeholders_
    assert "'education_num' and 'education' are one-to-one" in repeated
    assert [len(rows) for rows in split_rows(y)] == [26_049, 6_512]


def test_adult_survives_a_change_of_format(real_data, tmp_path):
    import duckdb

    path = real_data("adult.csv")
    parquet = tmp_path / "adult.parquet"
    duckdb.read_csv(str(path)).write_parquet(str(parquet))
    from_csv, from_parquet = read_table(path), read_table(parquet)
    assert from_csv.fingerprint() == from_parquet.fingerprint()


def test_reviews(real_data):
    table = read_table(real_data("imdb-train.parquet"))
    assert table.kinds == {"text": "text", "label": "category"}
    part = table.select(np.arange(0, table.n_rows, 10))
    features, y = take_target(part, "label")
    encoder = Encoder().fit(features, y)
    matrix = encoder.transform(features)
    assert encoder.summary_ == "1 text"
    assert matrix.shape == (2_500, len(encoder.feature_names_))
    assert matrix.indices.dtype == np.int32
    np.testing.assert_allclose(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel(), 1.0)
    meta, arrays = encoder.state()
    again = Encoder.from_state(json.loads(json.dumps(meta)), arrays).transform(features)
    assert again.data.tobytes() == matrix.data.tobytes()
    assert again.indices.tobytes() == matrix.indices.tobytes()
