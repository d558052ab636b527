"""Files to typed columns: what is read, and the sentences about what cannot be."""

from __future__ import annotations

import csv
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import separatrix.tables
from grids import EXHAUSTIVE, share
from separatrix.exceptions import DataError
from separatrix.tables import (
    BUILTIN_NAMES,
    Encoder,
    Table,
    load_builtin,
    read_table,
    source_files,
    take_target,
    wide,
)
from separatrix.tables.categorical import Categorical
from separatrix.tables.source_files import Tuning
from separatrix.tables.table import DEFAULT_MISSING, missing_mask
from separatrix.tables.writing import to_parquet

duckdb = pytest.importorskip("duckdb")

ROWS = (
    "age,job,when,ok,note\n"
    "31, clerk,2020-01-01,true,fine\n"
    "?,clerk ,1969-12-31,False, NA \n"
    '4.5,"a, b",2020-01-02T12:00:00Z,TRUE,""\n'
)


def values(table: Table, name: str) -> list:
    return table.columns[name].tolist()


# ------------------------------------------------------------------------------------- contents


def test_csv_columns_get_their_kinds_and_values(write):
    table = read_table(write("a.csv", ROWS))
    assert table.n_rows == 3
    parts = [f"when ({part})" for part in ("year", "month", "weekday", "hour")]
    assert table.names == ("age", "job", "when", "ok", "note", *parts)
    assert [values(table, part)[0] for part in parts] == [2020.0, "Jan", "Wed", 0.0]
    assert set(table.derived) == set(parts)
    table = table.drop(parts)
    assert values(table, "age") == [31.0, None, 4.5]
    assert values(table, "job") == ["clerk", "clerk", "a, b"]
    assert values(table, "when") == [18262.0, -1.0, 18263.5]
    assert values(table, "ok") == [True, False, True]
    assert values(table, "note") == ["fine", None, None]
    assert set(table.kinds.values()) == {"number", "category"}
    assert [table.kinds[n] for n in ("when", "ok")] == ["number", "number"]
    assert table.n_missing == 3
    assert table.dates == {"when"}
    assert any("'when'" in note and "a trend in time (UTC), months" in note for note in table.notes)


@pytest.mark.parametrize("mark", ["", "?", "NA", "NaN", "N/A", "null", "NULL", " ? ", "<NA>"])
def test_marks_for_missing_values(write, mark):
    table = read_table(write("a.csv", f"x,c\n1,u\n{mark},{mark}\n3,v\n"))
    assert table.kinds == {"x": "number", "c": "category"}
    assert values(table, "x") == [1.0, None, 3.0]
    assert values(table, "c") == ["u", None, "v"]


def test_marks_for_missing_values_can_be_chosen(write):
    path = write("a.csv", "x,c\n1,?\n-999,none\n-999.5,b\n")
    table = read_table(path, missing=["-999", "none"])
    assert values(table, "x") == [1.0, None, -999.5]
    assert values(table, "c") == ["?", None, "b"]
    path = write("a.csv", "x,c\n1,a\ninf,b\n-inf,a\n2.5,Infinity\n")
    table = read_table(path, missing="inf")
    assert values(table, "x") == [1.0, None, float("-inf"), 2.5]
    assert values(table, "c") == ["a", "b", "a", None]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "a\tb\n1\tx, y\n2\tz\n"),
        ("a.csv", 'a,b\n1,"x, y"\n2,z\n'),
        ("a.csv", 'a, b\n1, "x, y"\n2, z\n'),
        ("a.csv", "a;b\n1;x, y\n2;z\n"),
        ("a.csv", '\ufeffa,b\n1,"x, y"\n2,z\n'),
        ("a.csv", '\n \na,b\r\n1,"x, y"\n2,z\r\n'),
        ("a.csv", 'a,b\r1,"x, y"\r2,z'),
        ("a.csv", 'a,b\n\n1,"x, y"\n\n2,z\n\n'),
        ("a.CSV", '"a","b"\n1,"x, y"\n2,z\n'),
        ("a.json", '[{"a":1,"b":"x, y"},{"a":2,"b":"z"}]'),
        ("a.jsonl", '{"a":1,"b":"x, y"}\n{"b":"z","a":2.0}\n'),
        ("a.json", '{"a":1,"b":"x, y"}\n{"b":"z","a":2}\n'),
    ],
)
def test_the_same_rows_in_many_forms(write, name, content):
    table = read_table(write(name, content))
    assert values(table, "a") == [1.0, 2.0]
    assert values(table, "b") == ["x, y", "z"]
    same = Table.from_columns({"a": [1, 2], "b": ["x, y", "z"]})
    assert table.fingerprint() == same.fingerprint()


def test_parquet_types(tmp_path):
    path = tmp_path / "a.parquet"
    duckdb.sql(
        "SELECT 7::UTINYINT AS u, 1.5::DECIMAL(5,2) AS d, true AS b, DATE '2020-01-01' AS day, "
        "TIMESTAMPTZ '2020-01-01 12:00:00+00' AS stamp, TIME '06:30:00' AS clock, ' x ' AS s, "
        "'?' AS q, NULL::INTEGER AS n, 'nan'::DOUBLE AS nan, '1' AS code, "
        "'b'::ENUM('a', 'b') AS e"
    ).write_parquet(str(path))
    table = read_table(path)
    got = {name: values(table, name)[0] for name in table.names if name not in table.derived}
    assert values(table, "stamp (hour)") == [12.0]
    assert got == {
        "u": 7.0, "d": 1.5, "b": True, "day": 18262.0, "stamp": 18262.5, "clock": 6.5,
        "s": "x", "q": None, "n": None, "nan": None, "code": "1", "e": "b",
    }  # fmt: skip
    assert table.kinds["code"] == "category"
    assert read_table(path, kinds={"day": "category"}).columns["day"].tolist() == ["2020-01-01"]


def test_line_breaks_within_quotes_are_those_of_any_system(write, tmp_path):
    from separatrix.scale import scan

    breaks = ("\n", "\r\n", "\r")
    for end in breaks:
        for inner in breaks:
            rows = [["a", f"b{inner}c", "y"], ["1", f"p{inner}q", "0"], ["2", "r", "1"]]
            lines = (
                ",".join(f'"{cell}"' if inner in cell else cell for cell in row) for row in rows
            )
            path = write("a.csv", end.join([*lines, ""]))
            table = read_table(path)
            assert list(table.names) == rows[0], (end, inner)
            assert [values(table, name) for name in table.names[:2]] == [
                [1.0, 2.0],
                [rows[1][1], "r"],
            ]
            if (end, inner) == ("\r\n", "\n"):
                data = scan(path, "y", cache=tmp_path / "cache", cache_limit=0)
                assert data.encoder.feature_names_ == Encoder().fit(table.drop("y")).feature_names_
    table = read_table(write("a.csv", '"a\nb",y\r\n1,2\r\n'), sql="select y from data")
    assert (table.names, values(table, "y")) == (("y",), [2.0])
    assert read_table(write("a.csv", "# of\r# Monday\ra,b\r1,2\r")).names == ("a", "b")


def test_json_with_mixed_values_and_gaps(write):
    table = read_table(write("a.json", '[{"a":1,"b":null},{"a":"x"},{"a":true,"b":2}]'))
    assert values(table, "a") == ["1", "x", "true"]
    assert values(table, "b") == [None, None, 2.0]


def test_text_and_category_are_told_apart(write):
    rows = "\n".join(
        f"this film number {i} was rather good and long,{'New York City' if i % 2 else 'Rome'},w{i}"
        for i in range(40)
    )
    table = read_table(write("a.csv", f"review,city,code\n{rows}\n"))
    assert table.kinds == {"review": "text", "city": "category", "code": "category"}


def test_a_late_surprise_far_behind_the_sample_is_seen(write):
    rows = [f"{i},true,2020-01-01,{i}" for i in range(6_000)]
    rows[5_000] = "x,maybe,never,?"
    table = read_table(write("a.csv", "n,b,d,m\n" + "\n".join(rows) + "\n"))
    # One word in 6,000 rows is no level: it counts as missing, and is reported.
    assert [table.kinds[name] for name in "nbdm"] == ["number", "category", "number", "number"]
    assert values(table, "n")[4_999:5_002] == [4_999.0, None, 5_001.0]
    assert values(table, "d")[5_000] is None
    assert "'x' in row 5001" in table.alerts[0]
    assert table.columns["b"][4_999] == "true"
    # Rows come in the order of the file, whatever number of threads read it.
    assert [table.columns["m"][i] for i in (0, 2_345, 5_999)] == [0.0, 2_345.0, 5_999.0]


@pytest.mark.parametrize("many_columns", [False, True])
def test_rows_keep_their_order_where_strings_may_be_missing(write, monkeypatch, many_columns):
    monkeypatch.setattr(wide, "is_wide", lambda *_: many_columns)
    n_rows = 60_000
    long = "x" * 360  # large enough for several threads to read it
    path = write("a.csv", "n,s\n" + "".join(f"{i},{long}{i}\n" for i in range(n_rows)))
    table = read_table(path)
    assert table.columns["n"].tolist() == list(range(n_rows))
    assert values(table, "s") == [f"{long}{i}" for i in range(n_rows)]


# One cell of each form, and others of these forms.
_ODD_CELLS = (
    *(" 1.5", '"1.5"', '""', "  ", "+1.5", "5.", "1E+5", "0x1F", "1_000", "1 000", '"1,000"'),
    *("007", "-01", "0", "inf", "nan", "NA", "-999", "1e400", "true", "1f", "\u00a01", "word"),
    *("2020-01-02", "1.5.2", "-", "9007199254740993", "1\x00", "12:30", "?", '"NA"', "-999.0"),
    *("?-", "'"),
)
_MORE_ODD_CELLS = (
    *("1.5", "1.5 ", "\t1.5", '" 1.5"', "", "-.5", '"007"', " 007", "00.5", "0.", "0e5", "-inf"),
    *("1e-400", "e5", "word_1", " NA ", "na"),
)


@pytest.mark.sampled
def test_numbers_that_are_parsed_are_those_that_are_cast(write):
    # A cell of another form, late in one column, decides how both columns are read.
    rows = [f"{k / 8},{k}.25,a{k % 3}" for k in range(40)]
    for cell in (*_ODD_CELLS, *(_MORE_ODD_CELLS if EXHAUSTIVE else ())):
        path = write("odd.csv", "\n".join(["x,y,z", *rows, f"{cell},1.5,a1", ""]))
        others = [["-999"], ["?-", "'"]] if cell in ("-999", "-999.0", "?-", "'", "007") else []
        for missing in (DEFAULT_MISSING, *others):
            found = []
            for least in (0, 1 << 40):
                with source_files.tuned(Tuning(worth_parsing=least)):
                    found.append(read_table(path, missing=missing))
            _assert_same_tables(*found, case=(cell, missing))


def _assert_same_tables(one, other, case):
    assert one.kinds == other.kinds, case
    assert (one.notes, one.alerts) == (other.notes, other.alerts), case
    for name in one.names:
        left, right = one.columns[name], other.columns[name]
        assert isinstance(left, Categorical) == isinstance(right, Categorical), case
        gone = missing_mask(left)
        np.testing.assert_array_equal(gone, missing_mask(right), err_msg=str(case))
        left, right = (np.ma.getdata(column)[~gone].tolist() for column in (left, right))
        assert left == right, case


def test_levels_found_here_are_those_that_sql_finds(write):
    texts = ("a", " a ", "NA", "b c", "-999.0", "\ta", "007", "")
    rows = [f"{texts[k % 8]},{texts[(k * k + 3) % 8]} {k},{k % 3}" for k in range(200)]
    csv_file = write("levels.csv", "\n".join(["x,y,z", *rows, ""]))
    parquet = csv_file.with_suffix(".parquet")
    columns = {"x": [*texts, "b"] * 30, "z": [1, 2, 3] * 90}
    parquet.write_bytes(b"".join(to_parquet([columns])))
    for path in (csv_file, parquet):
        for missing in (DEFAULT_MISSING, ["-999"]):
            found = []
            for rows_here in (1 << 40, 0):
                with source_files.tuned(Tuning(worth_coding=0, few_rows=rows_here)):
                    found.append(read_table(path, missing=missing, kinds={"z": "category"}))
            assert isinstance(found[0].columns["x"], Categorical)
            _assert_same_tables(*found, case=(path.suffix, missing))


def test_only_numbers_are_parsed_as_they_are_read(write, monkeypatch):
    rows = [f"{k / 8},{k}.25,a{k % 3}" for k in range(40)]
    parsed = []
    plain = source_files.Part.relation
    monkeypatch.setattr(
        source_files.Part,
        "relation",
        lambda part, numbers=(), nulls=(): (
            parsed.append(sorted(numbers)),
            plain(part, numbers, nulls),
        )[1],
    )
    cells = {"1.5": [0, 1], "NA": [0, 1], "word": [1], "007": [], "1_000": []}
    for cell, expected in cells.items():
        parsed.clear()
        path = write("few.csv", "\n".join(["x,y,z", *rows, f"{cell},1.5,a1", ""]))
        with source_files.tuned(Tuning(worth_parsing=0)):
            read_table(path)
        assert max(parsed, key=len) == expected


def test_numbers_are_read_strictly(write):
    table = read_table(write("a.csv", "a,b,c,d\n1_0,1e5,7,007\n2_0,-.5,+8,8\n"))
    assert values(table, "a") == ["1_0", "2_0"]
    assert values(table, "b") == [100000.0, -0.5]
    assert values(table, "c") == [7.0, 8.0]
    assert values(table, "d") == ["007", "8"]
    assert "'d' holds codes that begin with a zero, such as '007'" in table.notes[0]


def test_kinds_override(write):
    path = write("a.csv", "zip,word,x,y\n01234,aa,1,2\n1234,bb,2,3\n")
    kinds = {"zip": "category", "word": "text", "y": "ignore"}
    table = read_table(path, kinds=kinds)
    assert table.names == ("zip", "word", "x")
    assert values(table, "zip") == ["01234", "1234"]
    assert table.kinds == {"zip": "category", "word": "text", "x": "number"}
    assert table.overridden == {"zip", "word"}


def test_text_cannot_be_forced_to_be_a_number(write):
    path = write("a.csv", "x,c\n1,2\n3,four\n")
    with pytest.raises(DataError, match=r"column 'c', row 2: 'four' is not a number"):
        read_table(path, kinds={"c": "number"})


def test_kinds_are_checked(write):
    path = write("a.csv", "income,c\n1,2\n")
    with pytest.raises(DataError, match=r"'incom'.*'income', 'c'; did you mean 'income'\?"):
        read_table(path, kinds={"incom": "number"})
    with pytest.raises(DataError, match="'float' for column 'c' is not one of number, date, "):
        read_table(path, kinds={"c": "float"})


def test_a_very_long_value_is_read(write):
    long = "word " * 450_000
    table = read_table(write("a.csv", f"a,b\n1,{long}\n2,short\n"))
    assert len(table.columns["b"][0]) == len(long) - 1
    assert values(table, "a") == [1.0, 2.0]


NASTY = ['q"u', "it's", "a\nb", "é ☃ 数", "A", "a", "'); DROP TABLE t; --", "{}[]*?%s"]


def test_names_of_any_sort_survive(write):
    header = ",".join('"' + name.replace('"', '""') + '"' for name in NASTY)
    row = ",".join(str(i) for i in range(len(NASTY)))
    table = read_table(write("a.csv", f"{header}\n{row}\n{row}\n"))
    assert table.names == tuple(NASTY)
    assert [values(table, name) for name in NASTY] == [[i, i] for i in map(float, range(8))]


@pytest.mark.parametrize("name", ["it's.csv", 'q".csv', "b[1]*?.csv", "x=1/a b%.csv", "é;--.csv"])
def test_paths_of_any_sort_are_read(write, name):
    write("b1zz.csv", "other\n5\n")
    assert read_table(write(name, "a\n1\n")).names == ("a",)
    assert read_table(str(write(name, "a\n1\n"))).names == ("a",)


def test_standard_input(monkeypatch):
    class Stream:
        buffer = io.BytesIO(b"a\tb\n1\tx\n")

    monkeypatch.setattr(sys, "stdin", Stream)
    table = read_table("-")
    assert (values(table, "a"), values(table, "b")) == ([1.0], ["x"])
    assert table.source == "standard input"
    with pytest.raises(DataError, match="standard input is empty"):
        read_table("-")


def test_standard_input_errors_name_it(monkeypatch):
    class Stream:
        buffer = io.BytesIO(b"a,b\n1,2\n3,4,5\n")

    monkeypatch.setattr(sys, "stdin", Stream)
    with pytest.raises(DataError, match=r"^standard input, line 3: 3 fields, where"):
        read_table("-")


# --------------------------------------------------------------------------------- several files


def test_a_pattern_reads_the_files_in_the_order_of_their_names(write, tmp_path):
    write("p2.csv", "b,a\nz,3\n")
    write("p1.csv", "a,b\n1,x\n2,?\n")
    table = read_table(str(tmp_path / "p*.csv"))
    assert values(table, "a") == [1.0, 2.0, 3.0]
    assert values(table, "b") == ["x", None, "z"]


def test_a_column_is_of_one_kind_over_all_files(write, tmp_path):
    write("p1.csv", "a,d\n1,2020-01-01\n")
    write("p2.csv", "a,d\nx,2020-01-02\n")
    table = read_table(str(tmp_path / "p*.csv"))
    assert values(table, "a") == ["1", "x"]
    assert values(table, "d") == [18262.0, 18263.0]


def test_files_that_differ_in_their_columns(write, tmp_path):
    write("p1.csv", "a,b\n1,2\n")
    write("p2.csv", "a,c\n1,2\n")
    with pytest.raises(DataError, match=r"p2\.csv lacks 'b' and also has 'c'.*p1\.csv"):
        read_table(str(tmp_path / "p*.csv"))


def test_files_that_differ_in_their_types(tmp_path):
    duckdb.sql("SELECT 1 AS a").write_parquet(str(tmp_path / "p1.parquet"))
    duckdb.sql("SELECT 'x' AS a").write_parquet(str(tmp_path / "p2.parquet"))
    with pytest.raises(DataError, match=r"'a' holds integer values in .*p1.* and string .*p2"):
        read_table(str(tmp_path / "p*.parquet"))
    duckdb.sql("SELECT 2.5 AS a").write_parquet(str(tmp_path / "p2.parquet"))
    assert values(read_table(str(tmp_path / "p*.parquet")), "a") == [1.0, 2.5]


def test_a_broken_file_among_several_is_named(write, tmp_path):
    write("p1.csv", "a,b\n1,2\n")
    write("p2.csv", "a,b\n1,2\n1,2,3\n")
    with pytest.raises(DataError, match=r"p2\.csv, line 3: 3 fields"):
        read_table(str(tmp_path / "p*.csv"))


@pytest.mark.sampled
def test_lines_of_two_sorts_of_ends_and_odd_quotes(write):
    """DuckDB alone loses or refuses these; Python's reader is the referee."""
    rng = random.Random(0)
    for k in range(share(120)):
        width = rng.choice([2, 3])
        ends = ["\n", "\r\n"] if k % 2 else [rng.choice(["\n", "\r\n"])]

        def value():
            text = "".join(rng.choice("ab1\",\n é'\\") for _ in range(rng.randrange(4)))
            quote = any(mark in text for mark in '",\n') or rng.random() < 0.2
            return '"' + text.replace('"', '""') + '"' if quote else text

        lines = [",".join(f"c{j}" for j in range(width))]
        lines += [",".join(value() for _ in range(width)) for _ in range(4)]
        blanks = "\n" * (k % 3)
        content = blanks + "".join(line + rng.choice(ends) for line in lines)
        rows = list(csv.reader(io.StringIO(content, newline="")))
        want = [[text.strip() or None for text in row] for row in rows if row][1:]
        while not any(want[-1]):  # blank lines below the last row
            want.pop()
        kinds = {f"c{j}": "category" for j in range(width)}
        table = read_table(write("a.csv", content), missing=[], kinds=kinds)
        got = [list(row) for row in zip(*(values(table, name) for name in kinds), strict=True)]
        assert got == want, content


# ------------------------------------------------------------------------- files of many columns


def outcome(path, **options):
    """All that reading gives: the table in comparable form, or the sentence."""
    try:
        table = read_table(path, **options)
    except DataError as error:
        return str(error)
    columns = [(name, table.columns[name].dtype.kind, values(table, name)) for name in table.names]
    return table.fingerprint(), columns, table.kinds, table.dates, table.notes, table.overridden


@pytest.fixture
def both(monkeypatch):
    """Read a file as one of few columns and as one of many; the outcomes must be the same."""

    def both(path, **options):
        monkeypatch.setattr(wide, "is_wide", lambda *_: False)
        narrow = outcome(path, **options)
        monkeypatch.setattr(wide, "is_wide", lambda *_: True)
        assert outcome(path, **options) == narrow
        return narrow

    return both


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (ROWS, {}),
        (ROWS, {"kinds": {"age": "category", "ok": "text", "job": "ignore"}}),
        (ROWS, {"kinds": {"age": "number", "job": "number"}}),
        (ROWS, {"kinds": {"age": "category", "gone": "text"}, "skip_absent": True}),
        (ROWS, {"kinds": {"gone": "text"}}),
        (ROWS, {"missing": ["clerk", "31"]}),
        ("a,b\n1_0,0x1F\n2,3\n", {}),
        ("a,b,c\n inf , nan,-Infinity\n1e400,-.5,+8.\n", {}),
        ("a,b\n\u00a01\u00a0,\ufeff2\n2,3\n", {}),
        ("a,b\n 1 ,\ttrue \n2\t, FALSE\n", {}),
        ("a;b;c\n2020-1-2;2020/01/02 03:04;2020-13-45\n;epoch;2020-01-01\n", {}),
        ('a,b\n"x\ny","q""u"\n" ",\n', {}),
        ("\n \na,b,\r\n1,2,\r\n\r\n3,4,\r\n", {}),
        ("a,b\n1,2,\n3,4\n", {}),
        ("a\n1\n\n2\n", {}),
        ("a,b\r1,2\r3,4", {}),
        ("\ufeffa,b\n1,\u2603\n", {}),
        ("a,b\n", {}),
        ("a,b\n\n", {}),
        ("a,b\n1,2\n3\n4,5\n", {}),
        ("a,b\n1,2\n3,4,5\n", {}),
        ('a,b\n"x\ny",2\n3\n', {}),
        ('a,b\n1,2\n3,"4\n5,6\n', {}),
        ('a,b\n1,2\n3,"4"x\n5,6\n', {}),
        (b"a,b\n1,2\n3,caf\xe9\n", {}),
        ("a,b\n1,2\n".encode("utf-16"), {}),
        ("a,b, a\n1,2,3\n", {}),
        ("", {}),
    ],
)
def test_files_of_many_columns_are_read_alike(write, both, content, options):
    both(write("a.csv", content), **options)


@pytest.mark.sampled
def test_random_files_of_many_columns_are_read_alike(write, both):
    rng = random.Random(1)
    words = ["1", "2.5", "-3e2", "", "?", "NA", " 4 ", "true", "False", "2020-01-02", "x", "inf",
             "2020-01-02T03:04:05Z", "07", "1_0", "a b c d", "é", "it's", '"', "\n"]  # fmt: skip
    for _ in range(share(160)):
        width, n_rows = rng.choice([1, 2, 5]), rng.choice([1, 3, 8])
        pools = [rng.sample(words, rng.choice([1, 2, 4])) for _ in range(width)]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(f"c{j}" for j in range(width))
        writer.writerows([rng.choice(pool) for pool in pools] for _ in range(n_rows))
        made = both(write("a.csv", text.getvalue()))
        assert not isinstance(made, str), text.getvalue()


def test_several_files_of_many_columns_are_read_alike(write, tmp_path, both):
    write("p1.csv", "a,b,c\n1,x,2020-01-01\n2,?,\n")
    write("p2.csv", "c;a;b\n2020-01-02;3;z\n")
    both(str(tmp_path / "p*.csv"))
    write("p3.tsv", "a\tb\tc\nx\t1\t1\n")
    table = both(str(tmp_path / "p*.?sv"))
    assert table[2] == dict.fromkeys("abc", "category")
    write("p4.csv", "a,b,c\n1,2,3,4\n")
    assert "p4.csv, line 2: 4 fields" in both(str(tmp_path / "p*.csv"))


@pytest.mark.parametrize(("last", "told"), [("7", False), ("n.a.", False), ("x", True)])
def test_a_late_surprise_in_a_file_that_is_read_once(write, last, told):
    # Long enough for its texts to come as levels, and for the sample to end before the surprise.
    lines = [f"{k},{'even' if k % 2 == 0 else 'odd'}" for k in range(4_000)]
    path = write("a.csv", "\n".join(["n,parity", *lines, f"{last},odd"]) + "\n")
    with source_files.tuned(Tuning(worth_coding=20_000, few_rows=2_000, first_rows=1_000)):
        table = read_table(path)
    assert isinstance(table.columns["parity"], Categorical)
    assert table.kinds == {"n": "number", "parity": "category"}
    assert table.n_rows == 4_001
    assert values(table, "n")[3_998:] == [3_998.0, 3_999.0, 7.0 if last == "7" else None]
    assert [f"{last!r} in row 4001" in alert for alert in table.alerts] == [True] * told


def test_a_copy_that_is_read_twice_keeps_the_names_of_the_columns(write, tmp_path):
    rows = "1,a\n2,b\n3,a\n4,b\nword,a\n"
    with source_files.tuned(Tuning(sample_rows=3)):
        for head in ("\n\nage,parity\n", '"age",parity\r\n', "age,parity\r", "age,parity\n\n\r\n"):
            assert read_table(write("a.csv", head + rows)).names == ("age", "parity"), head
        assert read_table(write("a.csv", '"a\nge",parity\n' + rows)).names == ("a\nge", "parity")
        write("p1.csv", "age,parity\n" + rows)
        write("p2.csv", "\n\nage,parity\n" + rows)
        table = read_table(str(tmp_path / "p?.csv"))
    assert (table.names, table.n_rows) == (("age", "parity"), 10)


@pytest.mark.parametrize("first_rows", [50, 7_000, 20_000])
def test_strings_are_the_same_wherever_they_first_appear(write, first_rows):
    n, draw = 12_000, random.Random(0)
    columns = {
        "early": draw.choices(["north", "south", " north ", "?", '"a, b"', ""], k=n),
        "late": ["a"] * 6_000 + draw.choices([" b", "a", "NA", "c \ufeff", ""], k=n - 6_000),
        "empty": [""] * 6_000 + draw.choices(["x", "y", " "], k=n - 6_000),
        "never": draw.choices(["", "?", " "], k=n),
        "named": ["nobody"] * 6_000 + [f"n {draw.randrange(10**6)}" for _ in range(n - 6_000)],
    }
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    path = write("a.csv", "\n".join([",".join(columns), *rows]) + "\n")
    with source_files.tuned(Tuning(first_rows=first_rows)):
        table = read_table(path, kinds=dict.fromkeys(columns, "category"))
    for name, cells in columns.items():
        bare = [cell.strip('"').strip(" \ufeff") for cell in cells]
        there, texts = ~missing_mask(table.columns[name]), np.ma.getdata(table.columns[name])
        assert there.tolist() == [cell not in ("", "?", "NA") for cell in bare]
        assert texts[there].tolist() == [cell for cell in bare if cell not in ("", "?", "NA")]
    coded = {name: isinstance(column, Categorical) for name, column in table.columns.items()}
    assert coded == {**dict.fromkeys(columns, True), "named": False}
    assert table.columns["early"].codes.dtype == np.int8


def test_a_late_surprise_in_a_file_of_many_columns(write, both):
    rows = [f"{i},true,2020-01-01,{i}" for i in range(300)]
    rows[290] = "x,maybe,never,?"
    with source_files.tuned(Tuning(sample_rows=200)):
        _, _, kinds, *_ = both(write("a.csv", "n,b,d,m\n" + "\n".join(rows) + "\n"))
    assert list(kinds.values())[:4] == ["number", "category", "number", "number"]


def test_a_file_of_very_many_columns(write):
    width = 2_000
    rows = [[str(i * width + j) for j in range(width)] for i in range(3)]
    rows[1][7], rows[2][-1] = "", "x"
    names = [f"c{j}" for j in range(width)]
    table = read_table(write("a.csv", "\n".join(map(",".join, [names, *rows])) + "\n"))
    assert table.names == tuple(names)
    assert values(table, "c7") == [7.0, None, 2.0 * width + 7]
    assert values(table, "c1999") == ["1999", "3999", "x"]
    assert values(table, "c1998") == [1998.0, 3998.0, 5998.0]
    assert table.n_missing == 1


def test_notes_on_many_columns_are_counted(write):
    table = read_table(write("a.csv", "a,b,c,d,e,f,g\n" + ",".join(["2020-01-01"] * 7) + "\n"))
    assert len(table.notes) == 6
    assert table.notes[5] == "2 more columns holding dates"


def test_a_database_that_broke_is_opened_anew(write):
    path = write("a.csv", ROWS)
    first = read_table(path)
    source_files._for_small_files(duckdb).close()
    assert read_table(path).fingerprint() == first.fingerprint()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that fork")
def test_a_process_that_was_forked_reads_as_well(write):
    code = (
        "import os, sys, separatrix.tables\n"
        "read = lambda: separatrix.tables.read_table(sys.argv[1]).n_rows\n"
        "read()\n"
        "forked = os.fork()\n"
        "print(read() if forked == 0 else os.waitpid(forked, 0)[1])\n"
    )
    where = str(Path(separatrix.tables.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, write("a.csv", ROWS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": where},
    )
    assert done.stdout.split() == ["3", "0"]


def test_kinds_of_absent_columns_can_be_skipped(write, monkeypatch):
    kinds = {"zip": "category", "gone": "text"}
    for name, content in [("a.csv", "zip,x\n01,1\n1,2\n"), ("a.json", '[{"zip":"01","x":1}]')]:
        path = write(name, content)
        with pytest.raises(DataError, match="has no column 'gone'"):
            read_table(path, kinds=kinds)
        table = read_table(path, kinds=kinds, skip_absent=True)
        assert values(table, "zip")[0] == "01"
        assert table.overridden == {"zip"}
    with pytest.raises(DataError, match="'float' for column 'gone' is not one of"):
        read_table(path, kinds={"gone": "float"}, skip_absent=True)
    with pytest.raises(DataError, match="every column of .* is left out; keep at least one"):
        read_table(path, kinds={"zip": "ignore", "x": "ignore"})
    iris = read_table("iris", kinds={"gone": "text", "target": "category"}, skip_absent=True)
    assert iris.overridden == {"target"}


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "", r"a\.csv is empty"),
        ("a.csv", "\n\n", r"a\.csv is empty"),
        ("a.csv", "a,b\n", r"a\.csv holds a header but no rows"),
        ("a.csv", "a,b,c\n1,2,3\n3,4\n4,5\n4,5,6\n", r"a\.csv, line 4: 2 fields, where the header"),
        ("a.csv", "a,b\n1,2\n3,4,5\n", r"a\.csv, line 3: 3 fields, where the header has 2"),
        ("a.csv", 'a,b\n"x\ny",2\n3,4,5\n', r"a\.csv, line 4: 3 fields"),
        ("a.csv", "a,b\n1,2\n3", r"a\.csv, line 3: the file ends within a row \(1 field, where"),
        (
            "a.csv",
            'a,b\n1,2\n3,"4\n5,6\n',
            r"a\.csv, line 3: a quotation mark is opened and not closed",
        ),
        ("a.csv", b"a,b\n1,2\n3,caf\xe9\xf7x\n", r"not UTF-8: line 3, byte 14 of the file is 0xe9"),
        ("a.csv", b"caf\xe9\xf7x,b\n1,2\n", r"not UTF-8: line 1, byte 4 of the file is 0xe9"),
        ("a.csv", b"\x7fELF\x02\0\xd0\xff\n", r"a\.csv is not a table in text: byte 6 of the file"),
        ("a.json", "", r"a\.json is empty"),
        ("a.json", "[]", r"a\.json holds no rows"),
        ("a.json", "[1, 2]", r"a\.json holds JSON that is not a list of records"),
        ("a.json", '[{"a": 1', r"a\.json is not readable JSON: Malformed JSON"),
        ("a.json", b'[{"a":"caf\xe9"}]', r"a\.json is not UTF-8: line 1, byte 11"),
        ("a.json", '[{"a":1,"a":2}]', r'a\.json is not readable JSON: .*duplicate key "a"'),
        ("a.json", '[{"a":[1]}]', r"column 'a' holds list values.*\"ignore\""),
        ("a.json", '[{"a":{"b":1}}]', r"column 'a' holds struct values"),
        ("a.parquet", "PAR1 and so on", r"a\.parquet is not a readable Parquet file"),
        ("a.xlsx", "PK", r"a\.xlsx is not a readable workbook: "),
        ("a.docx", "PK", r"a\.docx has the suffix '\.docx', which is not one of \.csv"),
        ("a.svm", "1 3:0.5 1:2\n", r"a\.svm, line 1: index 1 comes after 3"),
        ("a.svm", "1 1:1\n\n1 1:x\n", r"a\.svm, line 3: '1:x' is not index:value"),
        ("a.svm", "1 1:1\nyes 1:1\n", r"a\.svm, line 2: the label 'yes' is not a number"),
        ("a.svm", "1 1:1\n0 2:inf\n", r"a\.svm, row 2: feature 2 is inf"),
        ("a.svm", "# nothing\n", r"a\.svm holds no rows"),
    ],
)
def test_one_clear_sentence_for_a_bad_file(write, name, content, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        read_table(write(name, content))
    assert "\n" not in str(caught.value)


def write_parquet(path, sql, *, garbled):
    """A Parquet file in which a word, in names or in values, is not UTF-8."""
    duckdb.sql(f"COPY ({sql}) TO '{path}' (FORMAT parquet, COMPRESSION uncompressed)")
    content = path.read_bytes()
    assert garbled in content
    path.write_bytes(content.replace(garbled, b"\xff" * len(garbled)))
    return path


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("SELECT 1 AS word, 2 AS b", r"t\.parquet: the name of column 1 is not UTF-8; write"),
        ("SELECT 1 AS a, 2 AS b, 3 AS word", r"t\.parquet: the name of column 3 is not UTF-8"),
        (
            f"SELECT {', '.join(f'{i} AS a{i}' for i in range(41))}, 1 AS word, 2 AS b",
            "the name of column 42 is not UTF-8",
        ),
        ("SELECT {'word': 1} AS a, 2 AS b", "column of records in which a field's name is not"),
        ("SELECT 'word' AS a, 2 AS b", r"is not a readable Parquet file: .* found: value"),
    ],
)
def test_parquet_that_is_not_utf8(tmp_path, sql, sentence):
    path = write_parquet(tmp_path / "t.parquet", sql, garbled=b"word")
    with pytest.raises(DataError, match=sentence) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux alone")
def test_the_name_of_a_file_that_is_not_utf8(tmp_path, monkeypatch):
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n")
    (folder / "a.svm").write_text("1 1:1\n")
    with pytest.raises(DataError, match=r"a\.csv: the name of the file or of one of its folders"):
        read_table(folder / "a.csv")
    monkeypatch.chdir(folder)
    with pytest.raises(DataError, match=r"a\.csv: the name of the file or of one of its folders"):
        read_table("a.csv")
    assert read_table("a.svm").n_rows == 1


def test_what_is_not_there(write, tmp_path, monkeypatch):
    write("adult.csv", "a\n1\n")
    with pytest.raises(DataError, match=r"adlt\.csv does not exist; did you mean 'adult\.csv'"):
        read_table(tmp_path / "adlt.csv")
    with pytest.raises(DataError, match="no file matches the pattern"):
        read_table(str(tmp_path / "nothing-*.csv"))
    with pytest.raises(DataError, match="there is no folder"):
        read_table(tmp_path / "gone" / "a.csv")
    (tmp_path / "sub").mkdir()
    with pytest.raises(DataError, match="is a folder without a file of a table"):
        read_table(tmp_path / "sub")
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(DataError, match=r"files of several kinds \(.csv .json\); give a pattern"):
        read_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"'irsi' is neither a file.*did you mean 'iris'"):
        read_table("irsi")


def test_without_duckdb_the_message_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[app\]"'):
        read_table(write("a.csv", "a\n1\n"))


def test_importing_the_tables_does_not_import_the_heavy_packages():
    code = (
        "import sys, separatrix.tables\n"
        "print([m for m in ('duckdb', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    where = str(Path(separatrix.tables.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": where},
    )
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------------- svmlight and built-ins


def test_svmlight_keeps_the_column_numbers_of_the_file(write):
    table = read_table(write("a.svm", "1 1:0.5 3:2 # hi\n-1 2:1\n"))
    assert table.names == ("target",)
    assert table.matrix.toarray().tolist() == [[0, 0.5, 0, 2], [0, 0, 1, 0]]
    features, y = take_target(table, "target")
    assert y.tolist() == [1, -1]
    assert features.matrix.shape == (2, 4)
    assert features.select([1]).matrix.toarray().tolist() == [[0, 0, 1, 0]]


@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_every_builtin_name_can_be_read(name):
    table = read_table(name)
    assert table.names[-1] == "target"
    assert table.n_rows > 100
    assert table.n_missing == 0
    assert table.fingerprint() == load_builtin(name).fingerprint()


def test_an_unknown_builtin_name_suggests_the_nearest():
    with pytest.raises(DataError, match=r"breast-cancer, .*did you mean 'breast-cancer'\?"):
        load_builtin("breastcancer")


def test_kinds_apply_to_builtin_tables():
    table = read_table("digits", kinds={"target": "category", "pixel_0_0": "ignore"})
    assert set(table.columns["target"].tolist()) == set("0123456789")
    assert "pixel_0_0" not in table.names


# ---------------------------------------------------------------------------------------- slips


def test_a_few_words_among_numbers_are_told(write):
    def alerts(cells, **options):
        text = "x,y\n" + "".join(f"{cell},1\n" for cell in cells)
        return read_table(write("slips.csv", text), **options).alerts

    numbers = [str(k / 2) for k in range(40)]
    (one,) = alerts([*numbers[:7], "abc", *numbers[7:]])
    assert one == (
        "column 'x': 1 cell is no number ('abc' in row 8) and counts as missing; correct the file, "
        'or keep what is written with kinds={"x": "category"}'
    )
    (two,) = alerts(["?", "b", "a", *numbers])
    assert "2 cells are no numbers ('b' in row 2, 'a') and count as missing" in two
    assert alerts([*numbers, "abc"], kinds={"x": "category"}) == ()
    assert alerts([*numbers, "abc"], missing=["abc"]) == ()
    assert alerts(numbers) == ()
    # Neither a tenth of words nor nine numbers make a column of numbers.
    assert alerts([*numbers, "a", "b", "c", "d"]) == ()
    assert alerts([*numbers[:9], "a"]) == ()


def test_a_slip_late_in_a_long_column_is_told(write):
    cells = [str(k) for k in range(5000)]
    cells[4321] = "12O"
    table = read_table(write("long.csv", "x,y\n" + "".join(f"{c},1\n" for c in cells)))
    assert "'12O' in row 4322" in table.alerts[0]


def test_nul_bytes_are_told(write):
    table = read_table(write("nul.csv", "a,b\nx,1\nx\0,2\n"))
    assert table.alerts == (
        r"column 'a', row 2: 'x\x00' holds a NUL byte, so the file may be damaged or not UTF-8",
    )


def test_a_column_without_a_name_is_told(write):
    table = read_table(write("unnamed.csv", "a,,unnamed_3\n1,2,3\n"))
    assert table.names == ("a", "unnamed_2", "unnamed_3")
    assert table.notes == ("column 2 has no name in the header; its name is 'unnamed_2'",)


def test_an_empty_name_is_told():
    with pytest.raises(DataError, match="the name of the table is empty"):
        read_table("")


@pytest.mark.parametrize(
    "error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error")]
)
def test_an_interrupted_query_is_an_interruption(write, error):
    from separatrix.tables import source_files

    class Interrupted:
        def execute(self, sql):
            raise error

    path = Path(write("a.csv", ROWS))
    with pytest.raises(KeyboardInterrupt):
        source_files.Part(path, "a.csv", ".csv").run(Interrupted(), "SELECT 1")


def test_the_same_rows_are_drawn_each_time(write):
    path = write(
        "a.csv", "n,c\n" + "".join(f"{k},{'yes' if k % 3 else 'no'}\n" for k in range(900))
    )
    drawn = read_table(path, most_rows=100)
    assert drawn.n_rows == 100 and set(drawn.columns["c"].tolist()) == {"yes", "no"}
    numbers = values(drawn, "n")
    assert len(set(numbers)) == 100 and min(numbers) < 300 and max(numbers) > 600
    assert values(read_table(path, most_rows=100), "n") == numbers
