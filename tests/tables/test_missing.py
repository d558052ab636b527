"""What is read as missing: marks that are numbers, words among numbers, and values far away."""

from __future__ import annotations

import pytest

from separatrix.scale import scan
from separatrix.tables import Encoder, Table, read_table
from separatrix.tables.table import missing_mask

duckdb = pytest.importorskip("duckdb")


def lost(table: Table) -> dict[str, int]:
    return {name: int(missing_mask(table.columns[name]).sum()) for name in table.names}


def features(path, cache, **options) -> list[str]:
    return list(scan(path, "t", cache=cache, cache_limit=0, **options).feature_names)


def test_a_mark_that_is_a_number_stands_for_all_ways_to_write_it(write, tmp_path):
    cells = [("-999.0", "a"), ("1.5", "-999"), ("-999", "b"), ("2", "-999.00"), ("-9.99e2", "NA")]
    rows = [f"{x},{c},0999,{i % 2}" for i, (x, c) in enumerate(cells * 8)]
    text = "\n".join(["x,c,code,t", *rows, ""])
    path = write("a.csv", text)
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{path}')) TO '{tmp_path / 'a.parquet'}'")
    euros = "\n".join(["x;t", *(f"{v};{i % 2}" for i, v in enumerate(["-999,0", "1,5"] * 20)), ""])
    # Words take the place of the usual marks, numbers are added to them.
    expected = {"x": 24, "c": 24, "code": 0, "t": 0}
    for source in (path, tmp_path / "a.parquet"):
        table = read_table(source, missing=["-999"])
        assert lost(table) == expected
        assert not table.alerts
        by_blocks = features(source, tmp_path / "cache", missing=["-999"])
        assert by_blocks == Encoder().fit(table.drop("t")).feature_names_
    for options in ({}, {"decimal": ","}, {"kinds": {"x": "number"}, "decimal": ","}):
        table = read_table(write("b.csv", euros), missing=["-999"], **options)
        assert (lost(table)["x"], table.alerts) == (20, ())
    table = Table.from_columns({"x": [-999, 1.5], "c": ["-999.0", "b"]}, missing=["-999"])
    assert lost(table) == {"x": 1, "c": 1}


def test_a_mark_that_matches_nothing_is_said(write, tmp_path):
    path = write("a.csv", "x,t\n1,0\n2,1\n3,0\n-999.0,1\n")
    for missing, said in [(["-9999"], 1), (["-9999", "none", "-999"], 2), (["-999"], 0)]:
        table = read_table(path, missing=missing)
        data = scan(path, "t", cache=tmp_path, cache_limit=0, missing=missing)
        assert len(table.alerts) == said
        assert [note for note in data.notes if "no cell" in note] == list(table.alerts)
    assert "no cell of the table is '-9999'" in read_table(path, missing="-9999").alerts[0]
    assert "'77'" in read_table("iris", missing=["77"]).alerts[0]
    # Who reads a table as another was read does not look for the marks of that one.
    assert not read_table(path, missing=["-9999"], skip_absent=True).alerts
