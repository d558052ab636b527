"""How strongly columns depend on one another, beside formulas that are written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from separatrix import diagnose
from separatrix.geometry.diagnosis.described import profile_findings
from separatrix.geometry.diagnosis.tabular import prepared_table
from separatrix.tables import Table, read_table
from separatrix.tables.profiles.columns import prepared
from separatrix.tables.profiles.dependences import strengths
from separatrix.tables.profiles.profiling import profile_of
from separatrix.tables.row_times import likely_time


@pytest.fixture(scope="module")
def mixed():
    """Two numbers and two categories with missing cells, and a lot of ties."""
    rng = np.random.default_rng(0)
    n = 240
    x = rng.integers(0, 12, n).astype(float)
    y = np.exp(x / 3) + rng.normal(0, 2, n)
    a = np.array(["p", "q", "r"], dtype=object)[(x // 4).astype(int)]
    a[rng.random(n) < 0.2] = "q"
    b = np.where(rng.random(n) < 0.3, "u", np.where(a == "p", "v", "w")).astype(object)
    for column in (a, b):
        column[rng.random(n) < 0.1] = None
    x[rng.random(n) < 0.15] = np.nan
    y[rng.random(n) < 0.15] = np.nan
    return {"x": x, "y": y, "a": a, "b": b}


def found_of(columns):
    table = Table.from_columns(columns)
    return strengths([prepared(table, name) for name in table.names])


def test_correlations(mixed):
    found = found_of(mixed)
    both = ~np.isnan(mixed["x"]) & ~np.isnan(mixed["y"])
    x, y = mixed["x"][both], mixed["y"][both]
    assert found.pearson[0, 1] == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    # Ranks are those among all values of a column.
    assert found.spearman[0, 1] == pytest.approx(stats.spearmanr(x, y)[0], abs=0.01)
    whole = {name: np.nan_to_num(mixed[name], nan=-1.0) for name in "xy"}
    own = found_of(whole)
    expected = stats.spearmanr(whole["x"], whole["y"])[0]
    assert own.spearman[0, 1] == pytest.approx(expected, abs=1e-12)
    assert own.values[0, 1] == max(own.pearson[0, 1], own.spearman[0, 1])


def test_cramer(mixed):
    a, b = mixed["a"], mixed["b"]
    both = np.array([u is not None and v is not None for u, v in zip(a, b, strict=True)])
    table = np.array([[((a == u) & (b == v) & both).sum() for v in "uvw"] for u in "pqr"])
    n, k = table.sum(), 3
    phi = stats.chi2_contingency(table, correction=False).statistic / n
    corrected = max(0.0, phi - (k - 1) ** 2 / (n - 1))
    side = k - (k - 1) ** 2 / (n - 1)
    expected = np.sqrt(corrected / (side - 1))
    assert found_of(mixed).values[2, 3] == pytest.approx(expected, abs=1e-12)


def test_correlation_ratio(mixed):
    there = ~np.isnan(mixed["y"]) & np.array([u is not None for u in mixed["a"]])
    groups = [mixed["y"][there & (mixed["a"] == u)] for u in "pqr"]
    every = np.concatenate(groups)
    within = sum(((one - one.mean()) ** 2).sum() for one in groups)
    total = ((every - every.mean()) ** 2).sum()
    n = len(every)
    expected = np.sqrt(1 - within / total * (n - 1) / (n - 3))
    assert found_of(mixed).values[1, 2] == pytest.approx(expected, abs=1e-12)


def test_independent_columns_are_about_zero():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(40):
        words = np.array([f"l{i}" for i in range(20)])[rng.integers(0, 20, (2, 150))]
        columns = {"x": rng.normal(size=150), "a": words[0].tolist(), "b": words[1].tolist()}
        values = found_of(columns).values
        found.append((values[0, 1] ** 2, values[1, 2] ** 2))
    # Uncorrected, the means would be about .13.
    assert np.mean(found, axis=0).max() < 0.03


def test_numbers_of_every_size_and_constants():
    x = np.linspace(-1, 1, 50)
    columns = {"big": x * 1.7e308, "tiny": x * 1e-300, "one": np.ones(50), "odd": x**2}
    found = found_of(columns)
    big, tiny, *_ = profile_of(Table.from_columns(columns)).columns
    assert big.numbers["deviation"] == pytest.approx(1.7e308 * x.std())
    assert tiny.numbers["deviation"] == pytest.approx(1e-300 * x.std())
    assert found.values[0, 1] == pytest.approx(1.0)
    assert found.values[2].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert abs(found.pearson[0, 3]) < 1e-9


def test_a_correlation_far_from_zero():
    # Microseconds since 1970, within a few minutes.
    rng = np.random.default_rng(4)
    x = np.round(1.7e15 + 1e2 * rng.normal(size=200))
    y = (x - 1.7e15) + 1e2 * rng.normal(size=200)
    found = found_of({"x": x, "y": y, "constant": np.full(200, 1.7e15 + 0.25)})
    assert found.pearson[0, 1] == pytest.approx(np.corrcoef(x - 1.7e15, y)[0, 1], abs=1e-3)
    assert found.pearson[2, 1] == 0.0


def test_the_outermost_bars_hold_what_lies_far_out():
    values = np.r_[np.random.default_rng(2).normal(size=2000), [1e6, -3e5]]
    profile = profile_of(Table.from_columns({"x": values}))
    bins = profile.columns[0].bins
    assert (bins[0].least, bins[-1].most) == (-3e5, 1e6)
    assert max(one.n for one in bins) < 600
    assert profile.columns[0].alerts == ("long tail above",)


def test_missing_together():
    gone = np.arange(100) < 30
    one = np.where(gone, np.nan, 1.0 * np.arange(100))
    two = np.where(gone | (np.arange(100) == 60), np.nan, 2.0)
    three = np.where(np.arange(100) >= 50, np.nan, 3.0)
    profile = profile_of(Table.from_columns({"a": one, "b": two, "c": three, "d": np.arange(100)}))
    (group,) = profile.missing_together
    assert (group.columns, group.n, group.exactly) == (("a", "b"), 30, False)


def test_what_the_cells_of_every_kind_hold(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["call|parcel|tags|rating|plan|paid|place"]
    for k in range(120):
        parcel = f"{k / 1000:.3f} kg" if k % 3 else f"{k} g"
        tags, plan = ("b", "a, b", "c, a", "c")[k % 4], ("Pro", "PRO", "Basic")[k % 3]
        paid, place = f"{k % 9} {'EUR' if k % 2 else 'USD'}", f"52.{100 + k}, 13.{200 + k}"
        call = f"{k % 5 + 1}:{k % 60:02}:00"
        lines.append("|".join((call, parcel, tags, f"{k % 10}/10", plan, paid, place)))
    path.write_text("\n".join(lines) + "\n")
    profile = profile_of(read_table(path))
    assert {one.name: one.read_as for one in profile.columns} == {
        "call": "durations, in seconds",
        "parcel": "quantities, in kg",
        "tags": "lists, of which each value has a column",
        "rating": "shares",
        "plan": "levels, of which some are spelled in several ways",
        "paid": "amounts in several currencies, of which each has a column",
        "place": "pairs of coordinates, of which each has a column",
    }


def test_columns_move_with_the_time_of_the_rows_and_not_with_births():
    rng = np.random.default_rng(4)
    born = np.datetime64("1940-01-01") + rng.integers(0, 20_000, 300)
    seen = np.datetime64("2019-01-01") + np.arange(300)
    seen[::9] = np.datetime64("9999-12-31")
    table = Table.from_columns({"born": born, "seen": seen, "x": np.arange(300.0)})
    profile = profile_of(table)
    assert (profile.time, [one.column for one in profile.drift]) == ("seen", ["x"])
    assert profile.column("seen").alerts == ("9999-12-31 read as missing (34 cells)",)
    # A fit cannot hold out the latest of rows that have no time.
    assert likely_time(table) is None


def test_parts_of_dates_that_are_missing_are_missing():
    seen = np.datetime64("2019-01-01") + 40 * np.arange(100)
    seen[::9] = np.datetime64("9999-12-31")
    prepared_ = prepared_table(Table.from_columns({"seen": seen, "x": np.arange(100.0) % 7}))
    (found,) = prepared_.placeholders
    assert "9999-12-31" in str(found.what)
    assert prepared_.encoder.missing_cells(prepared_.features, "seen (month)").sum() == 12


def test_pairs_that_say_the_same_are_counted_as_far_as_they_are_known():
    x = np.random.default_rng(5).normal(size=200)
    table = Table.from_columns({f"c{k}": x + k for k in range(12)})
    (found,) = profile_findings(profile_of(table))
    assert found.what.startswith("40 pairs of columns or more say nearly the same")
    table = Table.from_columns({f"c{k}": x + k for k in range(3)})
    (found,) = profile_findings(profile_of(table))
    assert found.what.startswith("3 pairs of columns say nearly the same")


def test_leaks_come_before_columns_that_are_left_out():
    rng = np.random.default_rng(6)
    paid = rng.normal(size=100)
    table = {"one": ["a"] * 100, "id": [f"n{k}" for k in range(100)], "net": paid * 0.81}
    found = diagnose({**table, "x": rng.normal(size=100)}, paid)
    assert [one.code for one in found] == ["gives_target_away", "left_out"]
