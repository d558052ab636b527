"""What encoders compute of the cells of a row is what their matrices hold."""

from __future__ import annotations

import csv
import io
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exports.row_reference import matrix, rows_of
from separatrix.exceptions import DataError
from separatrix.tables import Encoder, Table, load_builtin, read_table
from separatrix.tables.features import Cell, cells_of


def assert_same(encoder: Encoder, table: Table, texts: Any = None, rtol: float = 1e-15) -> None:
    features, _ = encoder.features()
    expected = encoder.transform(table)
    expected = expected if isinstance(expected, np.ndarray) else expected.toarray()
    found = matrix(features, rows_of(table, texts))
    assert found.shape == expected.shape
    # Sums cancel where the terms of a curve are large: an absolute error of their size is none.
    assert_allclose(found, expected, rtol=rtol, atol=rtol)


LISTS = ["web", "web, phone", "phone", "mail, web", "phone, mail"]
JOBS = ["clerk", "cook", "a'b\";--", "", "É*/"]
DATES = ["2020-02-29T23:59:59.999999", "1900-01-01", "NaT", "1969-12-31T23", "9999-12-31"]


def mixed(n: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    dates = np.datetime64("2019-12-28T00:00", "m") + rng.integers(0, 900_000, n)
    dates[5] = np.datetime64("NaT")
    return {
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40.0, 12.0, n)),
        "income": rng.lognormal(10.0, 1.0, n),
        "children": rng.poisson(1.5, n).astype(float),
        "job": rng.choice(JOBS, n, p=[0.5, 0.3, 0.1, 0.05, 0.05]),
        "zone": [str(k) for k in rng.integers(0, 3, n)],
        "when": dates,
        "owner": rng.random(n) < 0.5,
    }  # fmt: skip


LATER = {
    "age": [np.nan, 0.0, -0.0, 1e300, 5e-324],
    "income": [1.0, np.nan, 1e-300, 7.0, 2.0**53],
    "children": [np.nan, 0.0, 3.0, 1.0, 2.0],
    "job": ["clerk", None, "unseen", "CLERK", "a'b\";--"],
    "zone": ["1.0", "01", None, "2", "7"],
    "when": np.array(DATES, dtype="datetime64[us]"),
    "owner": [True, None, False, True, False],
}  # fmt: skip

KINDS = {"zone": "category"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardise": False},
        {"reference": True},
        {"reference": True, "standardise": False},
        {"min_frequency": 30},
        {"terms": ["log(income)", "log(children)", "spline(age, 4)", "age:job", "job:zone"]},
        {"terms": ["polynomial(age, 3)", "log(income)"], "standardise": False},
        {"terms": ["log(income):job:zone", "income:children"], "reference": True},
    ],
    ids=str,
)
def test_features_are_those_of_the_matrix(options: dict[str, Any]) -> None:
    table = Table.from_columns(mixed(), kinds=KINDS)
    encoder = Encoder(**options).fit(table)
    assert_same(encoder, table, rtol=5e-13 if "terms" in options else 1e-15)
    later = {**LATER, "age": [np.nan, 0.0, -0.0, 90.0, 5e-324]} if "terms" in options else LATER
    assert_same(encoder, Table.from_columns(later, kinds=KINDS), rtol=5e-13)
    stored = Encoder.from_state(*encoder.state())
    assert stored.features() == encoder.features()


def test_features_of_iris() -> None:
    table = load_builtin("iris")
    assert_same(Encoder().fit(table), table)


def test_features_of_adult(real_data: Any) -> None:
    table = read_table(real_data / "adult.csv").select(np.arange(400)).drop("income")
    assert_same(Encoder().fit(table), table)


def test_a_level_is_found_by_the_numbers_that_spell_it() -> None:
    texts = ["1", "2", "2", "1", "03", "3", "true", "true"] * 5
    encoder = Encoder().fit(Table.from_columns({"c": texts}, kinds={"c": "category"}))
    later = ["1.0", "2.0", "2", "3.0", "3", "03", "1", "true", "True", "TRUE", None, "4"]
    assert_same(encoder, Table.from_columns({"c": later}, kinds={"c": "category"}))
    one = next(f for f in encoder.features()[0] if "2" in f.condition.levels)
    assert one.condition.levels == ("2", "2.0")


def test_texts_are_words() -> None:
    texts = ["good, very good", "bad", "É good É", "not bad at all", "", None] * 4
    table = Table.from_columns({"t": texts, "x": [*range(24)]}, kinds={"t": "text"})
    for text in ({}, {"ngram_range": (1, 2), "norm": "l1"}, {"binary": True, "lowercase": False}):
        assert_same(Encoder(text=text).fit(table), table)


def test_words_that_were_left_out_are_refused() -> None:
    table = Table.from_columns({"t": ["aa bb", "bb cc", "cc aa"]}, kinds={"t": "text"})
    encoder = Encoder().fit(table).leave_out(["t:aa"])
    with pytest.raises(DataError, match="some words of a text were left out"):
        encoder.features()


def test_what_was_left_out_has_no_features() -> None:
    table = Table.from_columns({"cm": [1.0, 2.0, 4.0], "mm": [10.0, 20.0, 40.0]})
    features, _ = Encoder().fit(table).leave_out(["mm"]).features()
    assert {cell.column for one in features for cell in cells_of(one)} == {"cm"}


def test_placeholders_are_missing() -> None:
    rng = np.random.default_rng(0)
    dates = np.array(["2020-01-01"] * 40, dtype="datetime64[D]") + rng.integers(0, 700, 40)
    dates[:4] = np.datetime64("9999-12-31")
    x = rng.normal(size=40).round(3)
    x[3:6] = -999.0
    table = Table.from_columns({"x": x, "when": dates})
    encoder = Encoder().fit(table)
    assert encoder.placeholders_["x"] == (-999.0,) and "when" in encoder.placeholders_
    assert_same(encoder, table)


def read(folder: Any, columns: dict[str, list[str]], **options: Any) -> tuple[Table, Any]:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    (path := folder / "t.csv").write_text(text.getvalue(), "utf-8")
    texts = {name: [v or None for v in own] for name, own in columns.items()}
    return read_table(path, **options), texts


def test_cells_that_were_read_from_texts(tmp_path: Any) -> None:
    n = 60
    columns = {
        "price": [f"${k},063.50" for k in range(1, n + 1)],
        "lasts": [f"{k}:{k:02d}:30" for k in range(1, n + 1)],
        "size": [["small", "medium", "large"][k % 3] for k in range(n)],
        "plan": [["Pro", "PRO", "free", "Free", "Free"][k % 5] for k in range(n)],
        "paid": [["yes", "No", "Y", "no", ""][k % 5] for k in range(n)],
        "via": [LISTS[k % 5] for k in range(n)],
        "range": [["0-10", "10-20", "20-30", ""][k % 4] for k in range(n)],
        "day": [f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2020" for k in range(n)],
    }  # fmt: skip
    table, texts = read(tmp_path, columns)
    encoder = Encoder().fit(table)
    features, remarks = encoder.features()
    kinds = {cell.column: cell.kind for one in features for cell in cells_of(one)}
    assert kinds == {
        "price": "number", "lasts": "number", "size": "text", "plan": "text", "paid": "text",
        "via (mail)": "number", "via (phone)": "number", "via (web)": "number",
        "range": "text", "day": "date",
    }  # fmt: skip
    own = {name: texts[name] for name, kind in kinds.items() if kind == "text"}
    assert_same(encoder, table, own)
    joined = " ".join(remarks)
    assert "price' was read from texts, as numbers in $: give the number alone" in joined
    assert "durations, in seconds" in joined and "via (web)" in joined


def test_every_case_of_a_truth_word_is_listed(tmp_path: Any) -> None:
    words = ["yes", "No", "Y", "no", "true"]
    table, _ = read(tmp_path, {"paid": [words[k % 5] for k in range(60)]})
    encoder = Encoder().fit(table)
    assert not any("several spellings" in remark for remark in encoder.features()[1])
    known = ("true", "FALSE", "yes", "no", "y", "N", "on", "off", "t", "f")
    mixed = (itertools.product(*(c.lower() + c.upper() for c in word)) for word in known)
    every = ["".join(text) for text in itertools.chain.from_iterable(mixed)]
    texts = [*every, "1", "0", "maybe", "ＹＥＳ", None]
    later = Table.from_columns({"paid": texts}, kinds={"paid": "category"})
    assert_same(encoder, later, {"paid": texts})


def test_spellings_of_a_level_are_listed(tmp_path: Any) -> None:
    plans = ["Pro", "PRO", "Zürich", "Zurich", "zürich."]
    table, _ = read(tmp_path, {"plan": [plans[k % 5] for k in range(60)]})
    encoder = Encoder().fit(table)
    texts = ["Pro", "pro.", "PRO.", "ZURICH", "zurich.", "ZÜRICH.", "Zug", None]
    later = Table.from_columns({"plan": texts}, kinds={"plan": "category"})
    assert_same(encoder, later, {"plan": texts})
    assert "several spellings" in " ".join(encoder.features()[1])


def test_an_svmlight_file_has_numbered_columns(tmp_path: Any) -> None:
    (path := tmp_path / "t.svm").write_text("1 1:0.5 3:2\n-1 2:1\n1 1:1 2:3\n", "utf-8")
    table = read_table(path).drop("target")
    features, _ = Encoder().fit(table).features()
    assert features == [Cell("f1"), Cell("f2"), Cell("f3")]
