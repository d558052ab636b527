"""Files in row blocks: encoded as tables in memory are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix.scale import BlockedData, scan
from separatrix.tables import Encoder, read_table, take_target

duckdb = pytest.importorskip("duckdb")


def matrix_of(blocks: Any) -> np.ndarray:
    parts = [block.load().matrix for block in blocks]
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    return np.concatenate(dense)


def target_of(data: BlockedData) -> np.ndarray:
    codes = np.concatenate([block.load().target for block in data.blocks])
    return codes if data.classes is None else data.classes[codes]


def write(path: Path, sql: str, rows: int = 300) -> Path:
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.25)")
    connection.execute("SET threads = 1")
    connection.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return path


MIXED = """
SELECT CASE WHEN random() < 0.05 THEN NULL ELSE random() * 100 + 1e6 END AS wide,
    (random() * 10)::FLOAT AS narrow,
    CASE WHEN i % 97 = 0 THEN 'nan'::DOUBLE ELSE i / 7.0 END AS holes,
    (random() * 5)::INTEGER AS whole,
    random() < 0.3 AS flag,
    CASE WHEN i > 4000 THEN 'late' WHEN random() < 0.1 THEN NULL
        ELSE ['red', 'green ', '?', 'blue'][(random() * 4)::INTEGER + 1] END AS colour,
    '$' || (i % 50) || '.50' AS price,
    DATE '2020-01-01' + (i % 700)::INTEGER AS day,
    3.5 AS same,
    ['no', 'yes'][(random() < 0.4)::INTEGER + 1] AS label
FROM range(5000) t(i)
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("mixed") / "mixed.parquet", MIXED)


@pytest.mark.parametrize("standardise", [True, False])
def test_as_in_memory(mixed: Path, tmp_path: Path, standardise: bool) -> None:
    data = scan(mixed, "label", cache=tmp_path, standardise=standardise, block_rows=700)
    features, y = take_target(read_table(mixed, target="label"), "label")
    encoder = Encoder(standardise=standardise).fit(features)
    assert list(data.feature_names) == encoder.feature_names_
    assert data.encoder.left_out_ == encoder.left_out_
    assert data.encoder.spellings_ == encoder.spellings_
    assert data.encoder.kinds_ == encoder.kinds_
    for mine, other in zip(data.encoder.encodings, encoder.encodings, strict=True):
        for name in ("mean", "scale", "levels", "with_missing", "with_value"):
            if hasattr(other, name):
                expected = getattr(other, name)
                if isinstance(expected, float):
                    expected = pytest.approx(expected, rel=1e-12)
                assert getattr(mine, name) == expected
    np.testing.assert_array_equal(target_of(data), y)
    expected = data.encoder.transform(features).astype(np.float32)
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    np.testing.assert_array_equal(matrix_of(data.blocks), expected)
    assert data.class_rows.tolist() == [int((y == c).sum()) for c in data.classes]
    assert max(block.n_rows for block in data.blocks) <= 700
