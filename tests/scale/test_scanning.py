"""Files in row blocks: encoded as tables in memory are."""

from __future__ import annotations

import functools
import pickle
import re
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import processes
from separatrix import LogisticRegression, cli
from separatrix.exceptions import DataError
from separatrix.scale import BlockedData, encoding, scan, statistics
from separatrix.scale.encoding import EncodingPlan, Stage
from separatrix.scale.plans import KeptPlan
from separatrix.scale.statistics import Statistics
from separatrix.tables import Encoder, Table, read_table, take_target
from separatrix.tables import source_files as files
from separatrix.tables.writing import to_parquet

duckdb = pytest.importorskip("duckdb")


def matrix_of(blocks: Any) -> np.ndarray:
    parts = [block.load().matrix for block in blocks]
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    return np.concatenate(dense)


def target_of(data: BlockedData) -> np.ndarray:
    codes = np.concatenate([block.load().target for block in data.blocks])
    return codes if data.classes is None else data.classes[codes]


@functools.cache
def database() -> Any:
    """One connection for all files: to open one takes longer than to write most of them."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def write(path: Path, sql: str) -> Path:
    connection = database()
    connection.execute("SELECT setseed(0.25)")
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


@pytest.fixture(scope="module")
def in_memory(mixed: Path) -> tuple[Table, np.ndarray]:
    return take_target(read_table(mixed, target="label"), "label")


@pytest.mark.parametrize("standardise", [True, False])
def test_as_in_memory(mixed: Path, in_memory: Any, tmp_path: Path, standardise: bool) -> None:
    data = scan(mixed, "label", cache=tmp_path, standardise=standardise, block_rows=700)
    features, y = in_memory
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


@pytest.mark.parametrize("values", ["0.5, 9.5, 10.5", "-2.0, -10.0, 3.0", "true, false, true"])
def test_classes_of_numbers_are_those_of_their_rows(tmp_path: Path, values: str) -> None:
    """Fractions are named by texts, and these have another order than the numbers."""
    chosen = f"[{values}][(i * i % 7 % 3 + 1)::INTEGER] AS y"
    path = write(
        tmp_path / "numbers.parquet", f"SELECT i * 1.5 AS x, {chosen} FROM range(200) t(i)"
    )
    data = scan(path, "y", cache=tmp_path / "cache", quantity=False, block_rows=64)
    own = take_target(read_table(path, target="y"), "y")[1]
    np.testing.assert_array_equal(target_of(data), own)
    assert data.class_rows.tolist() == [int((own == label).sum()) for label in data.classes]


def test_fit_is_that_of_memory(mixed: Path, in_memory: Any, tmp_path: Path) -> None:
    data = scan(mixed, "label", cache=tmp_path, block_rows=700)
    features, y = in_memory
    encoder = Encoder().fit(features)
    memory = LogisticRegression().fit(encoder.transform(features), y)
    blocks = LogisticRegression().fit(data)
    low = max(memory.certificate_.dual, blocks.certificate_.dual)
    # float32 moves the optimum by its rounding.
    assert blocks.certificate_.primal - low < 1e-5 * low
    assert memory.certificate_.primal - low < 1e-5 * low
    assert list(data.feature_names) == encoder.feature_names_


def test_many_files_are_one(mixed: Path, tmp_path: Path) -> None:
    connection = database()
    for k in range(5):
        where = "WHERE false" if k == 2 else f"LIMIT 1000 OFFSET {1000 * (k - (k > 2))}"
        connection.execute(
            f"COPY (SELECT * FROM '{mixed}' {where}) TO '{tmp_path}/part-{k}.parquet' "
            "(FORMAT parquet)"
        )
    paths = [tmp_path / f"part-{k}.parquet" for k in range(5)]
    whole = tmp_path / "whole.parquet"
    connection.execute(f"COPY (SELECT * FROM '{mixed}' LIMIT 4000) TO '{whole}' (FORMAT parquet)")
    one = scan(whole, "label", cache=tmp_path / "a")
    for source in (str(tmp_path / "part-*.parquet"), paths):
        many = scan(source, "label", cache=tmp_path / "b")
        assert many.feature_names == one.feature_names
        # Sums of other stretches are rounded otherwise.
        np.testing.assert_allclose(matrix_of(many.blocks), matrix_of(one.blocks), atol=1e-6)
        np.testing.assert_array_equal(target_of(many), target_of(one))
    assert "part-0.parquet" in many.blocks[0].place


@pytest.mark.parametrize("suffix", ["csv.gz", "json"])
def test_text_files(mixed: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    chosen = "wide, whole, flag, colour, day, label"
    form = "json" if suffix == "json" else "csv"
    database().execute(
        f"COPY (SELECT {chosen} FROM '{mixed}' LIMIT 500) TO '{path}' (FORMAT {form})"
    )
    data = scan(path, "label", cache=tmp_path / "cache")
    features, y = take_target(read_table(path, target="label"), "label")
    assert list(data.feature_names) == Encoder().fit(features).feature_names_
    expected = data.encoder.transform(features).astype(np.float32)
    np.testing.assert_array_equal(matrix_of(data.blocks), expected)
    np.testing.assert_array_equal(target_of(data), y)
    assert not list((tmp_path / "cache").rglob("*.parquet"))


@pytest.mark.parametrize(
    "target, classes",
    [
        ("whole", np.arange(6)),
        ("flag", np.array([False, True])),
        ("label", np.array(["no", "yes"])),
    ],
)
def test_classes(mixed: Path, tmp_path: Path, target: str, classes: np.ndarray) -> None:
    data = scan(mixed, target, cache=tmp_path)
    np.testing.assert_array_equal(data.classes, classes)
    known = take_target(read_table(mixed, target=target), target)[1]
    assert data.classes.dtype == known.dtype
    np.testing.assert_array_equal(target_of(data), known)


def test_quantity(mixed: Path, tmp_path: Path) -> None:
    for target in ("narrow", "price"):
        data = scan(mixed, target, cache=tmp_path)
        assert data.classes is None
        table = read_table(mixed, target=target)
        np.testing.assert_array_equal(target_of(data), np.asarray(table.columns[target]))
        assert target not in data.feature_names


def test_weights(mixed: Path, tmp_path: Path) -> None:
    data = scan(mixed, "label", weight="whole", cache=tmp_path)
    table = read_table(mixed)
    weights = np.asarray(table.columns["whole"])
    got = np.concatenate([block.load().weights for block in data.blocks])
    np.testing.assert_array_equal(got, weights)
    labels = np.asarray(table.columns["label"])
    assert data.class_totals.tolist() == [weights[labels == c].sum() for c in ("no", "yes")]
    assert "whole" not in data.feature_names


def test_held_out(mixed: Path, tmp_path: Path) -> None:
    double = tmp_path / "double.parquet"
    database().execute(
        f"COPY (SELECT * FROM '{mixed}' UNION ALL SELECT * FROM '{mixed}') TO '{double}' "
        "(FORMAT parquet)"
    )
    data = scan(double, "label", test_size=0.2, seed=1, cache=tmp_path / "a")
    held, fit = matrix_of(data.held), matrix_of(data.blocks)
    assert len(held) + len(fit) == 10_000
    assert 1600 < len(held) < 2400
    assert not {row.tobytes() for row in held} & {row.tobytes() for row in fit}
    # The target decides nothing, and neither does the size of the blocks.
    other = scan(double, "flag", ignore=["label"], test_size=0.2, seed=1, cache=tmp_path / "a")
    same = scan(double, "label", test_size=0.2, seed=1, block_rows=500, cache=tmp_path / "a")
    np.testing.assert_array_equal(matrix_of(same.held), held)
    assert other.n_rows != data.n_rows
    another = scan(double, "label", test_size=0.2, seed=2, cache=tmp_path / "a")
    assert another.n_rows != data.n_rows


def test_decoded_on_every_pass(mixed: Path, tmp_path: Path) -> None:
    stored = scan(mixed, "label", test_size=0.1, cache=tmp_path / "a")
    data = scan(mixed, "label", test_size=0.1, cache=tmp_path / "b", cache_limit=0)
    assert not list((tmp_path / "b").rglob("*-000.block"))
    assert "decoded in every pass" in data.notes[0]
    np.testing.assert_array_equal(matrix_of(data.blocks), matrix_of(stored.blocks))
    np.testing.assert_array_equal(matrix_of(data.held), matrix_of(stored.held))
    np.testing.assert_array_equal(target_of(data), target_of(stored))
    assert LogisticRegression().fit(data).certificate_.status == "optimal"


def test_found_again(mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scan(mixed, "label", test_size=0.1, cache=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("separatrix.scale.files.open_files", None)
        again = scan(mixed, "label", test_size=0.1, cache=tmp_path)
    assert again.fingerprint == first.fingerprint
    assert again.classes.tolist() == first.classes.tolist()
    assert again.encoder.feature_names_ == first.encoder.feature_names_
    assert (again.class_rows == first.class_rows).all()
    np.testing.assert_array_equal(again.sample.matrix, first.sample.matrix)
    assert "found in the cache" in again.notes[0]
    other = scan(mixed, "label", cache=tmp_path, standardise=False)
    assert other.fingerprint != first.fingerprint
    if hasattr(Path, "chmod"):
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


def test_goes_on_where_it_was_killed(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scan(mixed, "label", cache=tmp_path / "a", block_rows=300)

    def stop(stage: str, rows: int, n_rows: int) -> None:
        if stage == "encoding" and rows > 2000:
            raise KeyboardInterrupt

    options = {"cache": tmp_path / "b", "block_rows": 300}
    with pytest.raises(KeyboardInterrupt):
        scan(mixed, "label", on_progress=stop, **options)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").rglob("*.block")}
    assert kept
    seen: list[tuple[str, int, int]] = []
    with pytest.warns(FutureWarning, match="on_progress"):
        data = scan(mixed, "label", heard=lambda *state: seen.append(state), **options)
    assert seen
    assert data.fingerprint == whole.fingerprint
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    np.testing.assert_array_equal(data.sample.matrix, whole.sample.matrix)


def test_whoever_scans_the_same_data_meanwhile_waits(mixed: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    found: list[BlockedData] = []
    second = threading.Thread(
        target=lambda: found.append(scan(mixed, "label", cache=tmp_path, block_rows=300))
    )

    def on_progress(stage: str, rows: int, n_rows: int) -> None:
        if stage == "encoding" and second.ident is None:
            second.start()
            second.join(0.3)

    first = scan(mixed, "label", cache=tmp_path, block_rows=300, on_progress=on_progress)
    second.join()
    assert "found in the cache" in found[0].notes[0]
    assert found[0].fingerprint == first.fingerprint
    np.testing.assert_array_equal(matrix_of(first.blocks), matrix_of(found[0].blocks))
    # Blocks that are decoded in every pass keep the data that they are decoded from.
    decoded = scan(mixed, "label", cache=tmp_path, seed=3, cache_limit=0)
    scan(mixed, "label", cache=tmp_path, seed=3)
    assert sum(len(block.load()) for block in decoded.blocks) == first.n_rows


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0, 1, 0, 2], "one class only of positive weight ('b')"),
        # The refusal is that of a table in memory, before there is a model.
        ([0] * 4, "column 'w' gives every row the weight 0"),
    ],
)
def test_classes_without_weight_are_no_classes(weights, said, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = zip("abab", weights, strict=True)
    table.write_text("x,y,w\n" + "".join(f"{k},{y},{w}\n" for k, (y, w) in enumerate(rows)))
    with pytest.raises(ValueError, match=re.escape(said)):
        LogisticRegression().fit(scan(table, "y", weight="w", cache=tmp_path / "c"))


def test_what_is_noted_of_columns_is_noted_in_memory(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("day,x,y\n" + "".join(f"2024-01-{k:02d},{k},{k % 2}\n" for k in range(1, 29)))
    fitted = Encoder().fit(features := read_table(table).drop("y"))
    data = scan(table, "y", cache=tmp_path / "c")
    assert features.notes and list(data.notes[1:]) == list(features.notes)
    more = tmp_path / "more.csv"
    more.write_text(table.read_text().replace("x,y", "x,other"))
    whole = read_table(more)
    fitted.transform(whole)
    blocks = scan(more, encoder=data.encoder, cache=tmp_path / "c", cache_limit=0)
    assert list(blocks.notes[1:]) == [*whole.notes, *fitted.notes_]
    assert "'other'" in blocks.notes[-1]


def test_oldest_makes_room(mixed: Path, tmp_path: Path) -> None:
    first = scan(mixed, "label", cache=tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*"))
    second = scan(mixed, "label", cache=tmp_path, seed=1, cache_limit=int(1.5 * size))
    assert "encoded into the cache" in second.notes[0]
    assert not Path(first.blocks[0].path).exists()


def test_numbers_of_text_files_stay_numbers_by_an_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,c,y\n" + "".join(f"{k / 7:.3f},{k % 3}s,{k % 2}\n" for k in range(500)))
    fitted = scan(path, "y", cache=tmp_path)
    # Each of their texts would be a level, of which a large file has too many.
    asked: list[str] = []
    levels = Statistics.levels

    def noted(self: Statistics, column: Any, **options: Any) -> Any:
        asked.append(column.name)
        return levels(self, column, **options)

    monkeypatch.setattr(Statistics, "levels", noted)
    again = scan(path, encoder=fitted.encoder, ignore=["y"], cache_limit=0)
    np.testing.assert_array_equal(matrix_of(again.blocks), matrix_of(fitted.blocks))
    assert set(asked) <= {"c"}


def test_by_an_encoder(mixed: Path, tmp_path: Path) -> None:
    fitted = scan(mixed, "label", cache=tmp_path)
    part = tmp_path / "part.parquet"
    database().execute(
        f"COPY (SELECT * EXCLUDE (label) FROM '{mixed}' WHERE colour IS DISTINCT FROM 'late' "
        f"LIMIT 700) TO '{part}' (FORMAT parquet)"
    )
    data = scan(part, encoder=fitted.encoder, cache=tmp_path)
    assert data.feature_names == fitted.feature_names
    expected = fitted.encoder.transform(read_table(part, kinds=fitted.encoder.kinds_))
    np.testing.assert_array_equal(matrix_of(data.blocks), expected.astype(np.float32))
    database().execute(
        f"COPY (SELECT * REPLACE (NULL::VARCHAR AS colour) FROM '{part}' LIMIT 9) "
        f"TO '{tmp_path}/none.parquet' (FORMAT parquet)"
    )
    none = matrix_of(scan(tmp_path / "none.parquet", encoder=fitted.encoder, cache=tmp_path).blocks)
    assert none[:, fitted.feature_names.index("colour=(missing)")].all()
    with pytest.raises(DataError, match="lacks the column 'colour'"):
        scan(part, encoder=fitted.encoder, ignore=["colour"], cache=tmp_path)


def test_texts_that_64_bits_do_not_tell_apart(mixed: Path, tmp_path: Path, monkeypatch) -> None:
    expected = matrix_of(scan(mixed, "label", cache=tmp_path / "one").blocks)
    for module in (encoding, statistics):
        monkeypatch.setattr(
            module, "text_hash", lambda value: f"hash(CAST({value} AS VARCHAR)) % 2"
        )
    found = matrix_of(scan(mixed, "label", cache=tmp_path / "two").blocks)
    np.testing.assert_array_equal(found, expected)
    table = encoding._Table.of(np.array([7, 2**63, 0, 15], dtype=np.uint64))
    assert table is not None
    assert table.codes(np.array([0, 15, 7, 2**63], dtype=np.uint64)).tolist() == [2, 3, 0, 1]
    assert table.codes(np.array([0, 23], dtype=np.uint64)) is None


def test_queries_and_relations(mixed: Path, tmp_path: Path) -> None:
    sql = "SELECT wide, colour, label FROM data WHERE whole > 2"
    data = scan(mixed, "label", sql=sql, cache=tmp_path)
    relation = duckdb.sql(f"SELECT wide, colour, label FROM '{mixed}' WHERE whole > 2")
    other = scan(relation, "label", cache=tmp_path)
    dataset = pytest.importorskip("pyarrow.dataset").dataset(mixed)
    np.testing.assert_array_equal(matrix_of(data.blocks), matrix_of(other.blocks))
    third = scan(dataset, "label", ignore=["price", "day"], cache=tmp_path)
    assert third.n_rows == 5000


@pytest.mark.parametrize(
    "sql, options, message",
    [
        ("SELECT 1.0 AS x, 'a' AS y FROM range(9)", {}, "one class only"),
        ("SELECT 1.0 AS x, 'a' AS y WHERE false", {}, "holds no rows"),
        ("SELECT i AS x, i % 2 AS z FROM range(9) t(i)", {}, "has no column 'y'"),
        (
            "SELECT i AS x, CASE WHEN i <> 6 THEN i % 2 END AS y FROM range(9) t(i)",
            {},
            "lacks 1 of 9 values, the first in .*t.parquet, row 7",
        ),
        (
            "SELECT i AS x, CASE WHEN i <> 6 THEN i % 2 ELSE 'nan'::DOUBLE END AS y "
            "FROM range(9) t(i)",
            {},
            "lacks 1 of 9 values, the first in .*t.parquet, row 7",
        ),
        (
            "SELECT CASE WHEN i = 3 THEN 'inf'::DOUBLE ELSE i END AS x, i % 2 AS y "
            "FROM range(9) t(i)",
            {},
            "t.parquet, row 4: column 'x' is infinite",
        ),
        (
            "SELECT i AS x, i % 2 AS y, i - 2 AS w FROM range(9) t(i)",
            {"weight": "w"},
            "t.parquet, row 1: the weight 'w' is -2.0",
        ),
        (
            "SELECT i * 1e300 AS x, i % 2 AS y FROM range(9) t(i)",
            {"standardise": False},
            "'x' is too large for the type in which it is stored; give single=False",
        ),
        ("SELECT i AS x, i % 2 AS y FROM range(9) t(i)", {"ignore": ["y"]}, "it cannot be ignored"),
    ],
)
def test_refused(tmp_path: Path, sql: str, options: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "t.parquet", sql)
    with pytest.raises(DataError, match=message) as caught:
        scan(path, "y", cache=tmp_path / "cache", **options)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").rglob("tmp-*"))


def test_a_string_is_one_mark_for_missing_values(tmp_path: Path) -> None:
    rows = [f"{-1 if i == 7 else i},{i % 2}\n" for i in range(30)]
    (tmp_path / "a.csv").write_text("".join(["x,y\n", *rows]))
    for missing in ("-1", ["-1"]):
        data = scan(tmp_path / "a.csv", "y", cache=tmp_path / "cache", missing=missing)
        assert data.encoder.feature_names_ == ["x", "x=(missing)"]


def test_marks_names_and_labels_hold_any_sign(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for k, signs in enumerate((("{c}", "{0}", "%s"), ("'", '"', "\\"), ("a\nb", "c0", "$1"))):
        marks = [f"none of {sign} was given" for sign in signs]
        columns: dict[str, list[str]] = {}
        for sign, mark in zip(signs, marks, strict=True):
            columns[f"text {sign}"] = [
                mark if i % 4 == 0 else f"some {'xyz'[i % 3]}x words {i}" for i in range(60)
            ]
            columns[sign] = [mark if i % 5 == 0 else f"{sign}{i % 3}" for i in range(60)]
        columns["y"] = ["u", *(f"{sign} " for sign in signs)] * 15
        path = tmp_path / f"{k}.parquet"
        path.write_bytes(b"".join(to_parquet([columns])))
        read = {"missing": marks, "kinds": {f"text {sign}": "text" for sign in signs}}
        data = scan(path, "y", cache=tmp_path, single=False, **read)
        features, y = take_target(read_table(path, target="y", **read), "y")
        assert list(data.feature_names) == Encoder().fit(features).feature_names_, signs
        expected = data.encoder.transform(features)
        np.testing.assert_array_equal(
            matrix_of(data.blocks), expected.toarray(), err_msg=str(signs)
        )
        np.testing.assert_array_equal(target_of(data), y, err_msg=str(signs))


def test_a_target_that_is_not_there_is_named_before_rows_are_read(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("when,x,label\n2020-01-01,1,0\n2021-02-03,2,1\n")
    read_rows: list[str] = []
    for name in ("unlike", "count", "fetch"):
        monkeypatch.setattr(files.Part, name, lambda *_, name=name: read_rows.append(name))
    for read in (
        partial(read_table, needed=["lable"]),
        partial(scan, target="lable", cache=tmp_path / "cache"),
    ):
        with pytest.raises(DataError, match="no column 'lable'.*did you mean 'label'") as caught:
            read(path)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    for target in (["--target", "lable"], []):
        assert cli.main(["fit", str(path), *target]) == 3
        fault = capsys.readouterr().err
        assert ("did you mean 'label'" if target else "name the column to predict with") in fault
    assert not read_rows
    # Columns that are made of dates are there once these have been read.
    monkeypatch.undo()
    assert read_table(path, needed=["when (month)"]).n_rows == 2


def test_files_of_more_columns_than_rows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("separatrix.tables.wide.is_wide", lambda *_: True)
    rows = [f"{i},{'abc'[i % 3]},{i % 2}\n" for i in range(30)]
    (tmp_path / "a.csv").write_text("".join(["x,c,y\n", *rows]))
    data = scan(tmp_path / "a.csv", "y", cache=tmp_path / "cache")
    assert data.encoder.feature_names_ == ["x", "c=a", "c=b", "c=c"]


def test_a_row_that_repeats_the_header(tmp_path: Path, monkeypatch) -> None:
    rows = [f"{i},{i % 2}\n" for i in range(30)]
    for k in range(2):
        repeated = ["x, y \n"] if k else []
        (tmp_path / f"{k}.csv").write_text("".join(["x,y\n", *rows, *repeated, *rows]))
    said = "1.csv: 1 line inside the table is the header again and is left out (first line 32)"

    def check(found) -> None:
        assert len([note for note in found.notes if said in note]) == 1
        assert found.n_rows == 120

    for read in (read_table, partial(scan, target="y", cache=tmp_path)):
        check(read(tmp_path / "*.csv"))
    # Cell by cell, which is how wide files are read whose later rows differ from the first ones.
    with monkeypatch.context() as patched:
        patched.setattr("separatrix.tables.wide.is_wide", lambda *_: True)
        patched.setattr("separatrix.tables.source_files.is_wide", lambda *_: True)
        with files.tuned(files.Tuning(sample_rows=10)):
            check(read_table(tmp_path / "*.csv"))
    numbered = [f"{i},{row}" for i, row in enumerate(rows)]
    (tmp_path / "a.csv").write_text("".join([",x,y\n", *numbered, ",x,y\n", *numbered]))
    for read in (read_table, partial(scan, target="y", cache=tmp_path)):
        assert read(tmp_path / "a.csv").n_rows == 60


def test_type_that_differs(tmp_path: Path) -> None:
    for k in range(40):
        x = "'late'" if k == 39 else "1.5"
        write(tmp_path / f"{k:02d}.parquet", f"SELECT {x} AS x, i % 2 AS y FROM range(5) t(i)")
    with pytest.raises(DataError, match=r"number values in .*00.parquet and string.*39.parquet"):
        scan(str(tmp_path / "*.parquet"), "y", cache=tmp_path / "cache")


@pytest.mark.parametrize("odd", ["", "NULL", "'nan'::FLOAT"])
def test_numbers_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    """Columns that float32 holds are put aside as they are read, unless something is missing."""
    value = f"CASE WHEN i = 4000 THEN {odd} ELSE random() END" if odd else "random()"
    sql = f"""SELECT ({value} * 9 + 1000)::FLOAT AS a, (i % 300)::SMALLINT AS b, 2.5::FLOAT AS same,
        (i % 3)::UTINYINT AS w, random()::FLOAT AS c, i % 2 AS y FROM range(5000) t(i)"""
    path = write(tmp_path / "plain.parquet", sql)
    taken = []
    real = Stage.rows
    monkeypatch.setattr(Stage, "rows", lambda *given: taken.append(1) or real(*given))
    options = {"weight": "w", "test_size": 0.1, "block_rows": 700, "cache": tmp_path / "cache"}
    data = scan(path, "y", **options)
    assert bool(taken) is not bool(odd)
    table = read_table(path, target="y").drop("w")
    features, _ = take_target(table, "y")
    encoder = Encoder().fit(features)
    assert list(data.feature_names) == encoder.feature_names_
    assert data.encoder.left_out_ == ["same"]
    expected = data.encoder.transform(features).astype(np.float32)
    rows = np.concatenate([matrix_of(data.blocks), matrix_of(data.held)])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], expected[np.lexsort(expected.T)])
    weights = [block.load().weights.sum() for block in (*data.blocks, *data.held)]
    assert sum(weights) == sum(i % 3 for i in range(5000))
    np.testing.assert_allclose(encoder.transform(features), expected, atol=1e-4)
    assert not [*(tmp_path / "cache").rglob("*.raw"), *(tmp_path / "cache").rglob("*.sums")]


@pytest.fixture(scope="module")
def repeating(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Encoder]:
    """A table of which columns repeat others, and its encoder in memory."""
    rng, n = np.random.default_rng(0), 3000
    place = rng.integers(0, 5, n)
    town, level = np.array(list("VWXYZ"))[place], np.array(list("klmno"))[place]
    # But for one row they would be one-to-one.
    level[17] = "k" if level[17] != "k" else "l"
    celsius = rng.normal(15.0, 8.0, n).round(3)
    y = np.where(rng.random(n) < 0.4, "yes", "no")
    plan = np.where(y == "yes", *(rng.choice(list(pair), n) for pair in ("ab", "pq")))
    almost = np.where(np.arange(n) == 2900, "p", plan)
    table = {
        "town": town,
        "code": np.array([31, 7, 55, 12, 9])[place],
        "level": level,
        "celsius": celsius,
        "fahrenheit": celsius * 1.8 + 32.0,
        "near": celsius + 1e-4 * rng.normal(size=n),
        "plan": plan,
        "almost": almost,
        "answer": np.where(y == "yes", 1, 2),
        "y": y,
    }
    rows = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path = tmp_path_factory.mktemp("repeating") / "t.csv"
    path.write_text("\n".join(rows))
    features, labels = take_target(read_table(path, target="y"), "y")
    expected = Encoder().fit(features, labels)
    assert len(expected.alerts_) == 4
    return path, expected


@pytest.mark.parametrize(
    "options", [{}, {"cache_limit": 0}, {"standardise": False}, {"reference": True}], ids=str
)
def test_columns_that_repeat_others_are_alerted_of_as_in_memory(
    repeating: tuple[Path, Encoder], tmp_path: Path, options: dict[str, Any]
) -> None:
    path, expected = repeating
    for _ in range(2):
        # The second time they are found in the cache.
        data = scan(path, "y", cache=tmp_path / "cache", memory="2MB", **options)
        assert [*map(str, data.encoder.alerts_)] == [*map(str, expected.alerts_)]
        found, known = ({one[:2] for one in e.alerted_} for e in (data.encoder, expected))
        assert found == known


def test_a_table_that_is_refused_leaves_no_rows_that_were_put_aside(tmp_path: Path) -> None:
    odd = "CASE WHEN i = 8999 THEN 'inf'::FLOAT ELSE 1 END"
    sql = f"SELECT random()::FLOAT AS a, {odd} AS b, i % 2 AS y FROM range(9000) t(i)"
    path = write(tmp_path / "odd.parquet", sql)
    with pytest.raises(DataError, match="row 9,000: column 'b' is infinite"):
        scan(path, "y", cache=tmp_path / "cache", memory="1MB")
    assert {file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()} == {"lock"}


@pytest.mark.signals
def test_a_killed_scan_goes_on_where_it_was(tmp_path: Path, monkeypatch) -> None:
    """What was encoded, or put aside, is not read again, and the blocks have the same bits."""
    sql = "SELECT random()::FLOAT AS a, {} AS b, i % 2 AS y FROM range(9000) t(i)"
    killed = []
    for name, b, stage in (
        ("numbers", "(i % 9)::FLOAT", "encoding"),
        ("read", "(i % 9)::FLOAT", "statistics"),
        ("levels", "'level ' || (i % 9)", "encoding"),
    ):
        path = write(tmp_path / f"{name}.parquet", sql.format(b))
        process = processes.started(processes.killed_scan, path, tmp_path / name, stage)
        killed.append((path, name, stage, process))
    read: list[int] = []
    real = EncodingPlan._fetch
    monkeypatch.setattr(EncodingPlan, "_fetch", lambda *given: read.append(1) or real(*given))
    for path, name, stage, process in killed:
        process.join()
        assert process.exitcode == -9
        read.clear()
        again = scan(path, "y", cache=tmp_path / name, memory="1MB")
        some = len(read)
        read.clear()
        fresh = scan(path, "y", cache=tmp_path / "fresh", memory="1MB")
        assert some < len(read)
        there = re.search(r"; (\d) of 5 row groups were there", again.notes[0])
        assert bool(there) is (stage == "encoding") and again.fingerprint == fresh.fingerprint
        found, expected = ([block.checksum for block in d.blocks] for d in (again, fresh))
        assert found == expected


@pytest.mark.signals
def test_the_facts_of_the_first_pass_are_there_after_a_scan_that_was_killed(
    tmp_path: Path, monkeypatch
) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.normal():.3f},{'' if i % 40 == 0 else f'level {i % 9}'},{i % 60} kg,"
        f"2021-03-{1 + i % 28:02},{'no' if i % 3 else 'yes'}"
        for i in range(9000)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    assert processes.ended(processes.killed_scan, path, tmp_path / "cache", "encoding") == -9
    (kept,) = (tmp_path / "cache").rglob("plan.checked")
    fresh = scan(path, "y", cache=tmp_path / "fresh", memory="1MB")
    whole = kept.read_bytes()
    # A plan that is damaged, or that belongs to other files, counts as none.
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert KeptPlan.read(kept, None) is None
    kept.write_bytes(whole)
    with monkeypatch.context() as given:
        given.setattr(Statistics, "of_columns", lambda *_: pytest.fail("the rows are read again"))
        again = scan(path, "y", cache=tmp_path / "cache", memory="1MB")
    # The only row group is there in part.
    there = "; the facts of the first pass were there; 0 of 1 row group were there"
    assert again.notes[0].endswith(there)
    assert again.fingerprint == fresh.fingerprint and again.notes[1:] == fresh.notes[1:]
    assert [*map(str, again.encoder.alerts_)] == [*map(str, fresh.encoder.alerts_)]
    assert [b.checksum for b in again.blocks] == [b.checksum for b in fresh.blocks]
    assert not kept.exists()
    # Rows that are decoded in every pass leave it for the next scan.
    for said in (False, True):
        data = scan(
            path, "y", cache=tmp_path / "decoded", cache_limit=0, memory="1MB", test_size=0.1
        )
        assert ("the facts of the first pass were there" in data.notes[0]) == said
        assert data.classes.tolist() == ["no", "yes"] and data.fingerprint


def test_folders_and_open_files(tmp_path: Path) -> None:
    """All files of a folder are one table, of which names of folders are columns."""
    for k, year in enumerate((2023, 2024, 2024)):
        (tmp_path / f"data/year={year}").mkdir(parents=True, exist_ok=True)
        sql = f"SELECT i * {k + 1.5} AS x, i % 2 AS y FROM range(50) t(i)"
        write(tmp_path / f"data/year={year}/{k}.parquet", sql)
    (tmp_path / "data/_SUCCESS").touch()
    data = scan(tmp_path / "data", "y", cache=tmp_path / "cache")
    assert data.feature_names == ("x", "year=2023", "year=2024")
    features, _ = take_target(read_table(tmp_path / "data", target="y"), "y")
    expected = data.encoder.transform(features).astype(np.float32)
    np.testing.assert_array_equal(matrix_of(data.blocks), expected)
    assert expected[:, 1].sum() == 50
    # Where the files have a column of the same name, its values count, in memory and in passes.
    for year in (2023, 2024):
        sql = f"SELECT i / 7.0 AS year, i * {year - 2022.5} AS x, i % 2 AS y FROM range(50) t(i)"
        (tmp_path / f"both/year={year}").mkdir(parents=True)
        write(tmp_path / f"both/year={year}/0.parquet", sql)
    both = scan(tmp_path / "both", "y", cache=tmp_path / "cache")
    assert both.feature_names == ("x", "year=2023", "year=2024")
    features, _ = take_target(read_table(tmp_path / "both", target="y"), "y")
    expected = both.encoder.transform(features).astype(np.float32)
    np.testing.assert_array_equal(matrix_of(both.blocks), expected)
    # Without the folder there is no such column.
    pattern = scan(str(tmp_path / "data/*/*.parquet"), "y", cache=tmp_path / "cache")
    assert pattern.feature_names == ("x",)
    numbers = scan(tmp_path / "data", "y", kinds={"year": "number"}, cache=tmp_path / "cache")
    assert numbers.feature_names == ("x", "year")
    for name, text in (("a.parquet", None), ("b.csv", "x,y\n1,0\n2,1\n3,0\n")):
        path = tmp_path / name
        if text is None:
            write(path, "SELECT i AS x, i % 2 AS y FROM range(3) t(i)")
        else:
            path.write_text(text)
        with path.open("rb") as file:
            opened = scan(file, "y", cache=tmp_path / "cache")
        assert opened.fingerprint == scan(path, "y", cache=tmp_path / "cache").fingerprint


def test_blocks_of_files_with_many_columns_have_more_rows(tmp_path):
    sql = "SELECT 'level' || (i * 7919) % 60000 AS c, i % 3 = 0 AS y FROM range(150000) t(i)"
    path = write(tmp_path / "many.parquet", sql)
    options = {"kinds": {"c": "category"}, "cache": tmp_path / "cache", "memory": "2GB"}
    data = scan(path, "y", **options)
    assert data.n_features == 60_000
    assert [block.n_rows for block in data.blocks] == [150_000]
    limited = scan(path, "y", block_rows=65_536, **options)
    assert max(block.n_rows for block in limited.blocks) <= 65_536
    assert limited.fingerprint == data.fingerprint
    assert (matrix_rows(limited) != matrix_rows(data)).nnz == 0


def matrix_rows(data: BlockedData) -> sp.csr_matrix:
    return sp.vstack([block.load().matrix for block in data.blocks], format="csr")
