"""A table is read, learned and encoded alike in memory, in passes and in partitions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix.scale import scan
from separatrix.tables import Encoder, Table, read_table, take_target
from separatrix.tables.statistics import (
    CategoryFacts,
    NameSample,
    Numbers,
    category_facts,
    numbers_in,
)

N = 240
RNG = np.random.default_rng(0)
I = np.arange(N)  # noqa: E741
LABELS = np.where(RNG.random(N) < 0.4, "yes", "no")
FEW = ["film", "plot", "actor", "music", "ending", "scene", "slow", "great"]


def now_and_then(every: int, value: Any, others: Any) -> list[Any]:
    return [
        value if i % every == 0 else other for i, other in enumerate(np.asarray(others).tolist())
    ]


# What is hard about each is in its name; the columns of numbers in texts are named apart.
TABLES: dict[str, dict[str, Any]] = {
    "holes": {
        "a": now_and_then(7, None, I / 3),
        "c": now_and_then(5, None, np.where(I % 2, "a", "b")),
        "x": RNG.normal(size=N),
    },
    "placeholders": {
        "a": now_and_then(50, -999, RNG.random(N).round(3)),
        "b": now_and_then(60, 9999, RNG.integers(0, 50, N)),
        "named": now_and_then(40, 99, RNG.integers(0, 90, N)),
        "both": now_and_then(30, -99, now_and_then(45, 99999, RNG.normal(50, 9, N))),
        "limits": now_and_then(40, 2147483647, RNG.normal(size=N)),
    },
    "names of rows": {
        "customer_id": RNG.permutation(N) + 1000, "twice_id": I // 2, "x": RNG.normal(size=N),
    },
    "numbers in texts": {
        "price": [f"${i % 50:,}.50" for i in I], "share": [f"{i % 37}%" for i in I],
        "comma": [f"{i % 90},{i % 10}" for i in I],
        "number": now_and_then(100, "n.a.", [str(i / 7) for i in I]),
        "stray": now_and_then(201, "oops", I.astype(str)), "x": RNG.normal(size=N),
    },
    "dates": {
        "day": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in I],
        "at": [f"2023-0{1 + i % 9}-11 {i % 24:02d}:30:00" for i in I], "x": RNG.normal(size=N),
    },
    "dates in texts": {"day": [f"{1 + i % 28}.{1 + i % 12}.2024" for i in I], "x": I % 17},
    "words": {
        "review": [" ".join(RNG.choice(FEW, 9)) + f" w{i % 90}" for i in I],
        "x": RNG.normal(size=N),
    },
    "truth values": {
        "f": np.resize(["Yes", "yes", "NO", "no"], N), "g": np.resize(["true", "false"], N),
        "x": RNG.normal(size=N),
    },
    "many levels": {
        "c": [f"l{i % 90}" for i in I], "d": np.where(I % 3, "01", "1"),
        "blank": np.where(I % 2, " a ", "b"),
        "mark": now_and_then(9, "?", np.where(I % 4, "k", "m")),
    },
    "constants": {
        "k": np.full(N, 3), "none": [None] * N, "s": ["x"] * N, "x": RNG.normal(size=N),
        "some": [None if i % 3 else 5 for i in I],
    },
    "sizes": {
        "huge": (I % 7) * 1e200, "tiny": (I % 5) * 1e-200, "far": 1e15 + I % 3,
        "still": 1.0 + (I % 2) * 1e-16, "drift": I * I * 1.5,
    },
}  # fmt: skip
IN_TEXTS = {"price", "share", "comma", "number", "stray", "day", "day (year)"}


def written(folder: Path, name: str, suffix: str) -> Path:
    columns = {**TABLES[name], "y": LABELS}
    path = folder / f"rows.{suffix}"
    plain = {key: np.asarray(values, dtype=object).tolist() for key, values in columns.items()}
    if suffix == "parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(plain), path, row_group_size=90)
        return path
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(plain)
        rows.writerows(
            ["" if v is None else v for v in row] for row in zip(*plain.values(), strict=True)
        )
    return path


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


@pytest.mark.crossed
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", TABLES)
def test_in_passes_as_in_memory(tmp_path: Path, name: str, suffix: str) -> None:
    path = written(tmp_path, name, suffix)
    features, labels = take_target(read_table(path, target="y"), "y")
    encoder = Encoder().fit(features)
    data = scan(path, "y", cache=tmp_path / "cache", single=False, block_rows=100)
    mine = data.encoder
    for of in ("feature_names_", "kinds_", "left_out_", "spellings_", "placeholders_", "dense"):
        assert getattr(mine, of) == getattr(encoder, of)
    assert sorted(mine.alerts_) == sorted(encoder.alerts_)
    # What reading says of the columns comes with the notes.
    assert {*features.notes, *features.alerts} == {*data.notes[1:]}
    for one, other in zip(mine.encodings, encoder.encodings, strict=True):
        if one.name in IN_TEXTS and one.kind == "number":
            assert (one.mean, one.scale) == pytest.approx((other.mean, other.scale), rel=1e-12)
        elif one.kind != "text":
            assert one == other
    expected = dense(encoder.transform(features))
    rows = np.concatenate([dense(block.load().matrix) for block in data.blocks])
    exact = [j for j, column in enumerate(encoder.columns_) if column not in IN_TEXTS]
    np.testing.assert_array_equal(rows[:, exact], expected[:, exact])
    np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-12)
    codes = np.concatenate([block.load().target for block in data.blocks])
    np.testing.assert_array_equal(data.classes[codes], labels)


@pytest.mark.parametrize("name", ["holes", "placeholders", "names of rows", "constants", "sizes"])
def test_in_parts_as_as_a_whole(name: str) -> None:
    """However rows are cut and merged, what is learned of a column is the same."""
    table = Table.from_columns(TABLES[name])
    whole = Encoder().fit(table)
    for cuts in ([N], [1, 50], [17, 90, 91, 200]):
        parts = [table.select(rows) for rows in np.split(I, cuts)]
        facts: list[Any] = []
        for column, kind in table.kinds.items():
            if kind == "number":
                some = [numbers_in(part, column) for part in parts]
                merged = Numbers.merged([Numbers.merged(some[:2]), *some[2:]])
                facts.append(merged.facts(column, exact=False))
                assert merged.facts(column, exact=False) == Numbers.merged(some).facts(
                    column, exact=False
                )
            else:
                facts.append(
                    CategoryFacts.merged(column, [category_facts(part, column) for part in parts])
                )
        found = Encoder().fit_statistics(facts)
        assert found.feature_names_ == whole.feature_names_
        assert found.left_out_ == whole.left_out_
        assert found.placeholders_ == whole.placeholders_
        np.testing.assert_allclose(
            dense(found.transform(table)), dense(whole.transform(table)), rtol=1e-9, atol=1e-9
        )


def test_rows_are_held_out_by_what_cells_are_read_as(tmp_path: Path) -> None:
    """Two ways to write a number or a truth value are one group, and times are read as dates."""
    path = tmp_path / "rows.csv"
    ways = {"$1,000": 1000, "$1000": 1000, "$3.00": 3, "$3": 3}
    price = np.resize([*ways, *(f"${k}" for k in range(4, 12))], N)
    day = [f"{1 + i % 28}.{1 + i % 12}.2024" for i in I]
    lines = (f'"{price[i]}",{day[i]},{i % 5},{LABELS[i]}' for i in I)
    path.write_text("price,day,x,y\n" + "\n".join(lines) + "\n")
    values = np.array([float(text.strip("$").replace(",", "")) for text in price])
    options = {"cache": tmp_path / "cache", "standardise": False, "single": False}
    for seed in range(2):
        data = scan(path, "y", group="price", test_size=0.4, seed=seed, **options)
        held = sum(block.n_rows for block in data.held)
        sizes = np.unique(values, return_counts=True)[1]
        # All rows of a price are on one side: twelve ways to write ten prices, N / 12 rows a way.
        assert held % (N // 12) == 0 and set(sizes.tolist()) == {N // 12, N // 6}
        rows = np.concatenate([dense(block.load().matrix) for block in data.held])
        assert len(rows) == held
    same = scan(path, "y", time="price", test_size=0.05, **options)
    at = same.feature_names.index("price")
    held = np.concatenate([dense(block.load().matrix) for block in same.held])
    assert held[:, at].tolist() == [1000.0] * (N // 6)
    latest = scan(path, "y", time="day", test_size=0.1, **options)
    at = latest.feature_names.index("day")
    held, fit = (
        np.concatenate([dense(block.load().matrix)[:, at] for block in side])
        for side in (latest.held, latest.blocks)
    )
    assert held.min() > fit.max()


def test_names_of_rows_are_judged_by_a_sample_where_there_are_many() -> None:
    names = RNG.permutation(4000).astype(np.float64)
    parts = [NameSample.of(part) for part in np.split(names, [1000, 1001, 3000])]
    found = NameSample.merged(parts, most=100)
    assert found is not None and found.level > 0 and 20 < len(found.values) <= 100
    assert NameSample.merged([found, NameSample.of(names[:1])], most=100) is None or (
        names[0] not in found.values
    )
    assert NameSample.merged([found, NameSample.of(found.values[:1])], most=100) is None
    assert NameSample.of(np.array([1.0, 1.0])) is NameSample.of(np.array([0.5, 1.0])) is None
