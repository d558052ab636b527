"""Thirty tables as a user meets them: read right, or refused in one sentence with the flag."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sqlite3
import zipfile
from datetime import date, datetime

import duckdb
import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.tables import read_table

PLAIN = "id,price,when\n" + "".join(f"{k},{k}.5,2024-01-{k:02d}\n" for k in range(1, 21))
# Without the time of day, which would be in the names of tests: workers have to collect the same.
ZIPPED = gzip.compress(PLAIN.encode(), mtime=0)


def price(table):
    return table.columns["price"].tolist()


EXPECTED = [k + 0.5 for k in range(1, 21)]


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def zipped(tmp_path, entries):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


# ------------------------------------------------------------------------------------ read right


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv.gz", gzip.compress),
        ("a.csv.bz2", bz2.compress),
        ("a.csv.xz", lzma.compress),
        ("a.csv.zst", lambda data: pytest.importorskip("zstandard").compress(data)),
        ("a.tsv.gz", lambda data: gzip.compress(data.replace(b",", b"\t"))),
        ("a.txt", lambda data: data.replace(b",", b"|")),
        ("a.csv", lambda data: data.replace(b",", b";").replace(b".5", b",5")),
        ("a.csv", lambda data: data.decode().encode("utf-16")),
        ("a.csv", lambda data: data.decode().encode("utf-16-be").join([b"\xfe\xff", b""])),
        ("a.csv", lambda data: b"\xef\xbb\xbf" + data),
        ("a.csv", lambda data: data.replace(b"\n", b"\r\n")),
        ("a.csv", lambda data: b"# an export\n# of May\n" + data + b"# the end\n"),
        ("a.csv", lambda data: b"# an export\n#" + data),
        ("a.csv", lambda data: b"\n\n" + data),
    ],
)
def test_packed_and_otherwise_written(file, name, pack) -> None:
    table = read_table(file(name, pack(PLAIN.encode())))
    assert price(table) == EXPECTED
    assert table.dates == {"when"}


def test_an_archive(tmp_path) -> None:
    assert price(read_table(zipped(tmp_path, {"a.csv": PLAIN, "__MACOSX/a.csv": "-"}))) == EXPECTED


def test_workbooks(tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "2024"
    sheet.append(["id", "price", "when", "ok", "note"])
    for k in range(1, 21):
        note = None if k == 3 else f"n{k % 2}"
        sheet.append([k, k + 0.5, datetime(2024, 1, k, 12), k % 2 == 0, note])
    path = tmp_path / "a.xlsx"
    book.save(path)
    table = read_table(path)
    assert price(table) == EXPECTED
    assert table.columns["when"][0] == (date(2024, 1, 1) - date(1970, 1, 1)).days + 0.5
    assert table.columns["ok"].dtype == bool
    assert table.columns["note"].mask.sum() == 1
    for row in (["a", "b"], [1, 2], [3, 4]):
        (book["prices"] if "prices" in book else book.create_sheet("prices")).append(row)
    book.save(path)
    with pytest.raises(
        DataError, match=r"has 2 sheets \('2024', 'prices'\); name one, such as .*a\.xlsx::2024"
    ):
        read_table(path)
    assert price(read_table(f"{path}::2024")) == EXPECTED
    with pytest.raises(DataError, match=r"has no sheet 'price'; it has .*did you mean 'prices'"):
        read_table(f"{path}::price")
    with pytest.raises(DataError, match="'price', row 2: 'x' is not a number"):
        book["2024"]["B3"] = "x"
        book.save(path)
        read_table(f"{path}::2024", kinds={"price": "number"})


def test_databases(tmp_path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "my orders" (id INTEGER, price TEXT, "when" TEXT)')
        rows = [(k, f"${k}.50", f"2024-01-{k:02d}") for k in range(1, 21)]
        connection.executemany('INSERT INTO "my orders" VALUES (?, ?, ?)', rows)
    connection.close()
    assert price(read_table(path)) == EXPECTED
    table = read_table(f"{path}::my orders")
    assert (price(table), table.dates) == (EXPECTED, {"when"})
    with pytest.raises(DataError, match="has no table 'orders'; it has 'my orders'"):
        read_table(f"{path}::orders")
    other = tmp_path / "b.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS id, range + 0.5 AS price FROM range(1, 21)"
        )
    assert price(read_table(other)) == EXPECTED
    assert price(read_table(f"{other}::t")) == EXPECTED
    assert price(read_table(other, sql="SELECT price FROM data WHERE id <= 5")) == EXPECTED[:5]


@pytest.mark.parametrize("name", ["a.arrow", "a.feather"])
def test_arrow_files(tmp_path, name) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({"price": EXPECTED, "when": [date(2024, 1, k) for k in range(1, 21)]})
    path = tmp_path / name
    with pa.OSFile(str(path), "wb") as out:
        make = pa.ipc.new_file if name == "a.feather" else pa.ipc.new_stream
        with make(out, rows.schema) as writer:
            writer.write_table(rows)
    table = read_table(path)
    assert (price(table), table.dates) == (EXPECTED, {"when"})


def test_a_query_over_files(file) -> None:
    path = file("a.csv", PLAIN)
    file("b.csv", PLAIN)
    table = read_table(path, sql="SELECT price * 2 AS twice, id FROM data WHERE id > 10;")
    assert table.columns["twice"].tolist() == [2 * value for value in EXPECTED[10:]]
    both = read_table(str(path.parent / "*.csv"), sql="SELECT count(*) AS n FROM data GROUP BY id")
    assert both.columns["n"].tolist() == [2.0] * 20
    with pytest.raises(DataError, match='the query cannot be answered: .*"prise" not found'):
        read_table(path, sql="SELECT prise FROM data")


def test_delimiters_and_encodings(file) -> None:
    odd = file("a.csv", PLAIN.replace(",", "~"))
    assert price(read_table(odd, delimiter="~")) == EXPECTED
    assert price(read_table(file("b.csv", PLAIN.replace(",", "\t")), delimiter="tab")) == EXPECTED
    with pytest.raises(DataError, match="'::' is not a delimiter"):
        read_table(odd, delimiter="::")
    latin = file("c.csv", "name,x\nJosé,1\nZoë,2\n".encode("latin-1"))
    table = read_table(latin)
    assert table.columns["name"].tolist() == ["José", "Zoë"]
    assert "is not UTF-8; it is read as cp1252" in table.notes[0]
    wild = file("d.csv", b"name,x\nJos\xe9\xf7\xe9,1\n")
    with pytest.raises(DataError, match="is not UTF-8: line 2, .*encoding='latin-1' or the like"):
        read_table(wild)
    assert read_table(latin, encoding="latin-1").columns["name"].tolist() == ["José", "Zoë"]
    with pytest.raises(DataError, match="'latin-99' is not a known encoding"):
        read_table(latin, encoding="latin-99")
    with pytest.raises(DataError, match="is not ascii: "):
        read_table(latin, encoding="ascii")


def test_columns_of_lists_and_records(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    duckdb.sql("SELECT [1] AS a, {'b': 1} AS b, range AS c FROM range(3)").write_parquet(str(path))
    with pytest.raises(
        DataError, match=r"columns 'a' \(list\), 'b' \(struct\) hold no .*ignore_unusable=True"
    ):
        read_table(path)
    table = read_table(path, ignore_unusable=True)
    assert table.names == ("c",)
    assert table.alerts == (
        "columns 'a', 'b' hold no numbers, dates or strings; they are left out",
    )


# ------------------------------------------------------------------- refused, in one sentence


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv.gz", b"id,price\n1,2\n", "it is damaged or not a .gz file"),
        ("a.csv.zst", b"id,price\n1,2\n", "it is damaged or not a .zst file"),
        ("a.csv.gz", ZIPPED[:-20], "it is damaged or not a .gz file"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "contains an empty file"),
        ("a.zip", b"PK", "it is damaged or not a .zip file"),
        ("a.gz", ZIPPED, r"has the suffix '\.gz'"),
        ("a.sqlite", b"no database", "is not a readable SQLite database"),
        ("a.duckdb", b"no database", "is not a readable DuckDB database"),
        ("a.feather", b"no arrow", "is not a readable Arrow file"),
        ("a.csv", b"# nothing but comments\n# here\n", "is empty"),
    ],
)
def test_refused(file, name, content, sentence) -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        read_table(file(name, content))
    assert "\n" not in str(caught.value)


def test_refused_archives_and_names(tmp_path, file) -> None:
    with pytest.raises(DataError, match="holds 2 tables"):
        read_table(zipped(tmp_path, {"a.csv": PLAIN, "b.csv": PLAIN}))
    with pytest.raises(DataError, match="holds no table"):
        read_table(zipped(tmp_path, {"readme": "-"}))
    with pytest.raises(DataError, match="only workbooks and databases have several"):
        read_table(f"{file('a.csv', PLAIN)}::t")


def test_text_that_is_no_number_stays_text(file) -> None:
    rows = "\n".join(f"{10 + k}.{k}.0.1,v1.{k}.2,{k}-{k + 1},PO-{k:03d}" for k in range(30))
    table = read_table(file("a.csv", "address,version,range,order\n" + rows + "\n"))
    assert set(table.kinds.values()) == {"category"}
    assert not table.spellings
    assert np.ma.getdata(table.columns["range"])[0] == "0-1"


# --------------------------------------------------------- small files that would grow without end


def bombs(folder):
    """Small files and views, each of which has many more bytes than its file."""
    text = b"a,b\n" + b"1,2\n" * 300_000
    for name, pack in [
        ("a.csv.gz", gzip.compress),
        ("a.csv.bz2", bz2.compress),
        ("a.csv.xz", lzma.compress),
        ("a.csv.zst", pytest.importorskip("zstandard").compress),
    ]:
        (folder / name).write_bytes(pack(text))
        yield folder / name
    with zipfile.ZipFile(folder / "a.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", text)
    yield folder / "a.csv.zip"
    with zipfile.ZipFile(folder / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", text)
    yield folder / "a.xlsx"
    where = folder / "a.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS a, 2 AS b FROM range(100000)) TO '{where}'")
    yield where
    feather = pytest.importorskip("pyarrow.feather")
    import pyarrow as pa

    feather.write_feather(pa.table({"a": [1] * 200_000}), folder / "a.feather", compression="zstd")
    yield folder / "a.feather"
    with sqlite3.connect(folder / "a.sqlite") as connection:
        connection.execute(
            "CREATE VIEW v AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
            "SELECT x FROM r"
        )
    yield folder / "a.sqlite"
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.sql("CREATE VIEW v AS SELECT i FROM range(1000000000000) t(i)")
    yield folder / "a.duckdb"


def test_what_would_grow_without_end_is_refused_with_the_option_that_raises_the_limit(tmp_path):
    for path in bombs(tmp_path):
        with pytest.raises(DataError, match=r"takes more than 1 MB.*unpacked_limit='2MB'") as found:
            read_table(path, unpacked_limit="1MB")
        assert str(path) in str(found.value)
    assert read_table(tmp_path / "a.csv.gz").n_rows == 300_000
    with pytest.raises(DataError, match="result of the query takes more than 2 MB"):
        read_table(tmp_path / "a.csv.gz", sql="SELECT i FROM range(1000000000000) t(i)",
                   unpacked_limit="2MB")  # fmt: skip
    with pytest.raises(DataError, match="unpacked_limit='much' is not an amount of memory"):
        read_table(tmp_path / "a.csv.gz", unpacked_limit="much")


def test_a_workbook_whose_cells_lie_far_apart_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    for last, words in [("XFD1048576", "cells reach to XFD1048576"), ("ZZ9999", "9,999 rows")]:
        book = openpyxl.Workbook()
        book.active["A1"], book.active[last] = "x", 3
        book.save(tmp_path / "a.xlsx")
        with pytest.raises(DataError, match=words) as found:
            read_table(tmp_path / "a.xlsx", unpacked_limit="100MB")
        assert "delete cells far from the table" in str(found.value)


def test_pipes_and_devices_are_refused(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("pipes as POSIX has them")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zeros.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zeros.csv"):
        with pytest.raises(
            DataError, match="is a pipe or a device, not a file; read it from stand"
        ):
            read_table(tmp_path / name)
