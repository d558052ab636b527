"""Cells read as missing: marks that are numbers, words among numbers, and values far away."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.scale import scan
from separatrix.tables import Encoder, Table, read_table, take_quantity
from separatrix.tables.number_encoding import PLACEHOLDERS
from separatrix.tables.placeholders import ColumnEnds, of_parts, of_values
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
    # A table that is read as another one was is not searched for the marks of that one.
    assert not read_table(path, missing=frozenset({"-9999"})).alerts


def test_a_word_or_two_among_numbers_are_missing_cells(write, tmp_path):
    drawn = np.random.default_rng(0).lognormal(3, 1, 200)
    for words, share, kind in [
        (["NC"], 0.3, "number"), (["absent"], 0.05, "number"), (["absent", "void"], 0.1, "number"),
        (["absent"], 0.11, "category"), (["a", "b", "c"], 0.07, "category"),
    ]:  # fmt: skip
        cells = [f"{x:.2f}" for x in drawn]
        for k in range(round(share * len(cells))):
            cells[(7 * k + 3) % 200] = words[k % len(words)]
        path = write("a.csv", "x,t\n" + "".join(f"{x},{k % 2}\n" for k, x in enumerate(cells)))
        table = read_table(path)
        assert table.kinds["x"] == kind, (words, share)
        if kind == "number":
            names = features(path, tmp_path / "cache")
            (said,) = [s for s in (*table.notes, *table.alerts) if words[0] in s]
            assert 'kinds={"x": "category"}' in said and names == ["x", "x=(missing)"]
            assert lost(table)["x"] == round(share * 200)
    assert read_table(path, kinds={"x": "category"}).kinds["x"] == "category"


# ------------------------------------------------------------------------ values that are far away

RNG = np.random.default_rng(1)
N = 400
EIGHT = np.arange(8) * 50


def among(values, *others) -> np.ndarray:
    """Values of which eight are others."""
    made = np.asarray(values, dtype=np.float64).copy()
    made[EIGHT] = np.resize(others, 8)
    return made


# Columns, what is read as missing in them, and what is named.
HOLD = {
    "normal": (among(RNG.normal(size=N), -999), {-999.0}, set()),
    "incomes": (among(RNG.lognormal(7, 1, N), -999), set(), {-999.0}),
    "shares": (among(RNG.uniform(0, 50, N), 9999), {9999.0}, set()),
    "sizes": (among(RNG.normal(50, 9, N), -1e30), {-1e30}, set()),
    "answers": (among(RNG.integers(1, 6, N), 99, 98, 97), {97.0, 98.0, 99.0}, set()),
    "both": (among(RNG.normal(50, 9, N), -99, 99999), {-99.0, 99999.0}, set()),
    "years": (among(RNG.integers(1950, 2020, N), 9999), {9999.0}, set()),
    "limits": (among(RNG.normal(size=N), 2147483647), {2147483647.0}, set()),
    "gains": (
        among(np.where(RNG.random(N) < 0.9, 0, RNG.lognormal(8, 1, N).clip(0, 41310)), 99999),
        set(), {99999.0},
    ),
    "prices": (among(RNG.choice([9, 19, 29, 49, 99, 199], N), 999), set(), {999.0}),
    "weights": (among(RNG.normal(70, 12, N).clip(38), 0), set(), {0.0}),
    "debts": (among(RNG.uniform(-90_000, -20_000, N).round(), 0), set(), {0.0}),
    "pressures": (among(RNG.normal(120, 15, N), 0, -999), {-999.0}, {0.0}),
}  # fmt: skip
HOLD_NONE = {
    "once": np.append(RNG.normal(size=N), -999.0),
    "ages": among(RNG.integers(18, 91, N), 99),
    "hours": among(RNG.normal(40, 12, N).clip(1, 80).round(), 99),
    "lognormal": RNG.lognormal(8, 2, 20_000).round(),
    "counts": RNG.negative_binomial(0.3, 0.02, 20_000),
    "Cauchy": RNG.standard_cauchy(20_000).round(),
    "Pareto": RNG.pareto(1, 20_000).round(),
    "zeros": np.where(RNG.random(N) < 0.9, 0, RNG.lognormal(6, 1, N).round()),
    "codes": RNG.integers(10_000, 100_000, 20_000),
    "pairs": np.repeat([0, 99], 200),
    "signs": np.resize([-1, 0, 1], N),
    "rooms": RNG.binomial(5, 0.7, N),
    "doses": RNG.choice([0, 50, 75, 100], N, p=[0.1, 0.3, 0.3, 0.3]),
    "rents": np.where(RNG.random(N) < 0.4, 0, RNG.normal(900, 150, N)),
    "paid": np.where(RNG.random(N) < 0.2, 0, RNG.exponential(100, N)),
    "one": np.append(RNG.normal(70, 12, N), 0.0),
    "row numbers": np.arange(1000),
}


def found_in(encoder: Encoder) -> tuple[dict[str, set[float]], set[str]]:
    named = {names[0] for sort, names, _ in encoder.alerted_ if sort == PLACEHOLDERS[False]}
    return {name: set(values) for name, values in encoder.placeholders_.items()}, named


@pytest.fixture(scope="module")
def held() -> Table:
    return Table.from_columns({name: column for name, (column, _, _) in HOLD.items()})


def test_isolated_values_that_repeat_are_read_as_missing_or_named(held):
    encoder = Encoder().fit(held)
    read, named = found_in(encoder)
    assert read == {name: values for name, (_, values, _) in HOLD.items() if values}
    assert named == {name for name, (_, _, values) in HOLD.items() if values}
    X = encoder.transform(held)
    for name, values in read.items():
        j = encoder.feature_names_.index(f"{name}=(missing)")
        assert X[:, j].sum() == np.isin(held.columns[name], list(values)).sum()
    said = " ".join(text for _, _, text in encoder.alerted_)
    assert all(f'kinds={{"{name}": "number"}}' in said for name in read)
    assert any('missing=["99999"]' in text for text in encoder.alerts_)
    # A model file remembers, and a row alone is read as those of the fit were.
    again = Encoder.from_state(*encoder.state())
    assert np.array_equal(again.transform(held.select([0])), X[:1])
    assert again.placeholders_ == encoder.placeholders_ and encoder.state()[0]["version"] == 4


def test_ordinary_columns_hold_no_placeholders():
    for name, column in HOLD_NONE.items():
        assert not of_values(np.asarray(column, dtype=np.float64)), name


def test_what_was_said_of_a_column_is_kept(held):
    kept = Table.from_columns(held.columns, kinds=dict.fromkeys(held.names, "number"))
    encoder = Encoder().fit(kept)
    assert not encoder.placeholders_ and not encoder.alerted_
    # Statements about the very numbers of a file leave them as they are, and name them.
    exact = Encoder(standardise=False).fit(held)
    assert not exact.placeholders_ and found_in(exact)[1] == set(held.names)
    assert np.array_equal(exact.transform(held)[:, 0], held.columns["normal"])


def test_files_in_passes_and_partitions_are_judged_as_tables_are(held, tmp_path):
    columns = {name: held.columns[name] for name in held.names}
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    labels = np.arange(N) % 2
    whole = pa.table({**columns, "t": labels})
    narrow = pa.table({**{n: c.astype(np.float32) for n, c in columns.items()}, "t": labels})
    spelled = pa.table({"sizes": [f"{x!r} kg" for x in columns["shares"].tolist()], "t": labels})
    for k, (rows, single) in enumerate([(whole, False), (narrow, True), (spelled, False)]):
        path = tmp_path / f"{k}.parquet"
        parquet.write_table(rows, path, row_group_size=128)
        table = read_table(path).drop("t")
        encoder = Encoder().fit(table)
        data = scan(path, "t", cache=tmp_path / "cache", cache_limit=0, single=single)
        assert found_in(data.encoder) == found_in(encoder)
        assert data.encoder.alerts_ == encoder.alerts_
        X = np.concatenate([block.load().matrix for block in data.blocks])
        np.testing.assert_allclose(X, encoder.transform(table), rtol=1e-6, atol=1e-6)
        assert encoder.placeholders_
    for name, column in {**columns, **HOLD_NONE}.items():
        values = np.asarray(column, dtype=np.float64)
        for n_parts in (1, 3, 40):
            parts = [ColumnEnds.of(part) for part in np.array_split(values, n_parts)]

            def spread(away, values=values):
                left = values[~np.isin(values, list(away))]
                return left.mean(), left.std()

            assert of_parts(parts, spread) == of_values(values), (name, n_parts)


def test_zeros_far_from_all_others_are_missing_where_a_mark_of_their_column_says_so(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "weight": among(rng.normal(70, 9, N).round(), 0),
        "paid": among(rng.uniform(2e4, 9e4, N).round(), 0),
        "visits": rng.poisson(1, N),
    }
    path = tmp_path / "a.csv"
    path.write_text("weight;paid;visits;t\n" + "".join(
        f"{w:.0f};${p:,.0f};{v};{v % 2}\n" for w, p, v in zip(*columns.values(), strict=True)
    ))  # fmt: skip
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{path}')) TO '{tmp_path / 'a.parquet'}'")
    frame = {**columns, "t": columns["visits"] % 2}
    for source in (path, tmp_path / "a.parquet", frame):
        options = {"missing": ["weight=0", "paid=0", "visits=99"]}
        make = Table.from_columns if source is frame else read_table
        named = [text for text in Encoder().fit(make(source).drop("t")).alerts_ if "of 0" in text]
        assert len(named) == 2 and all("8 cells of 0 are far from" in text for text in named)
        assert 'missing=["weight=0"]' in named[0] and 'missing=["paid=0"]' in named[1]
        table = make(source, **options)
        assert lost(table) == {"weight": 8, "paid": 8, "visits": 0, "t": 0}
        encoder = Encoder().fit(table.drop("t"))
        assert not any("of 0" in text for text in encoder.alerts_)
        if source is not frame:
            assert [text for text in table.alerts if "visits=99" in text]
            assert not [text for text in table.alerts if "'weight=0'" in text]
            by_blocks = features(source, tmp_path / "cache", **options)
            assert by_blocks == encoder.feature_names_


def test_evenly_spaced_values_are_a_scale():
    for values in ([97.0, 98.0, 99.0], [1e15, 1e15 + 1, 1e15 + 2]):
        assert of_values(np.repeat(values, 20)) == []


def test_complete_marks_of_an_earlier_table_are_taken_as_they_are(write, tmp_path):
    """A model file may hold -999 alone, from when numbers took the place of the usual marks."""
    path = write("a.csv", "x,c,t\n1,NA,0\n2,a,1\n-999,NA,0\n4,b,1\n")
    for missing, expected in [
        (["-999"], {"x": 1, "c": 2, "t": 0}),
        (frozenset({"-999"}), {"x": 1, "c": 0, "t": 0}),
        (frozenset({"none"}), {"x": 0, "c": 0, "t": 0}),
    ]:
        table = read_table(path, missing=missing)
        assert (lost(table), table.alerts) == (expected, ())
        data = scan(path, "t", cache=tmp_path / "cache", missing=missing)
        assert list(data.feature_names) == Encoder().fit(table.drop("t")).feature_names_


def test_a_quantity_to_predict_is_named_and_left_as_it_is(held, tmp_path):
    rows = "".join(f"{k},{y!r}\n" for k, y in enumerate(held.columns["normal"].tolist()))
    (tmp_path / "a.csv").write_text("x,y\n" + rows)
    features, y = take_quantity(read_table(tmp_path / "a.csv"), "y")
    (said,) = features.alerts
    assert (y == -999.0).sum() == 8 and 'missing=["-999"]' in said and "target 'y'" in said
    data = scan(tmp_path / "a.csv", "y", cache=tmp_path / "cache", cache_limit=0)
    assert said in data.notes
    assert sum((block.load().target == -999.0).sum() for block in data.blocks) == 8


def test_a_target_that_is_nan_is_named_with_its_row(tmp_path):
    """The footers of pyarrow leave NaN out, and DuckDB believes them."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    y = np.where(np.arange(N) == 7, np.nan, np.arange(N) + 0.5)
    parquet.write_table(pa.table({"x": np.arange(N) % 13, "y": y}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"lacks 1 of 400 values.*row 8"):
        scan(tmp_path / "a.parquet", "y", cache=tmp_path / "cache", cache_limit=0)


def test_a_placeholder_on_one_side_is_counted_once_where_the_other_side_has_more():
    values = np.array([-99.0, 777.0, 9999.9, 32767.0] * 2 + [*range(0, 140, 5)], dtype=np.float64)
    low, high = of_values(values)
    assert (low.values, low.n) == ((-99.0,), 2)
    assert (high.values, high.n) == ((32767.0, 9999.9, 777.0), 6)
