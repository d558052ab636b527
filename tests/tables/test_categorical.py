"""Columns of few texts: to NumPy they are masked arrays, and a file gives them as it did before."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.tables import Encoder, Table, read_table, take_target
from separatrix.tables import source_files as files
from separatrix.tables.categorical import Categorical, first_appearance
from separatrix.tables.table import missing_mask, text_counts


def drawn(seed: int, n: int = 400) -> tuple[Categorical, np.ma.MaskedArray]:
    rng = np.random.default_rng(seed)
    levels = np.array(["red", "green", "ünï", "never"], dtype=object)
    codes = rng.integers(-1, 3, n).astype(np.int32)
    texts = np.array([levels[k] if k >= 0 else "" for k in codes], dtype=object)
    return Categorical(codes, levels), np.ma.MaskedArray(texts, mask=codes < 0)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_the_masked_array_is(seed) -> None:
    coded, plain = drawn(seed)
    assert len(coded) == len(plain) and coded.shape == plain.shape and coded.dtype == object
    assert np.ma.getdata(coded).tolist() == plain.data.tolist()
    assert np.array_equal(missing_mask(coded), plain.mask)
    rows = np.random.default_rng(seed).permutation(400)[:50]
    for chosen in (rows, plain.mask, slice(3, 30)):
        assert np.ma.getdata(coded[chosen]).tolist() == plain[chosen].data.tolist()
        assert text_counts(coded[chosen]) == text_counts(plain[chosen])
        assert list(text_counts(coded[chosen])) == list(text_counts(plain[chosen]))
    assert np.array_equal(first_appearance(coded), first_appearance(plain))
    numbers = np.ma.MaskedArray(np.round(np.arange(400) % 7.0), mask=plain.mask)
    listed = [None if lost else v for v, lost in zip(numbers.data, numbers.mask, strict=True)]
    known: dict = {}
    wanted = [known.setdefault(value, len(known)) for value in listed]
    assert first_appearance(numbers).tolist() == wanted


_ROWS = [
    f"{i % 7},{word},{'yes' if i % 3 else 'no'},{i * 0.5},{code}"
    for i in range(4000)
    for word, code in [((" red ", "green", "?", "\u00a0blue", "", "NA", "x y")[i % 7], f"0{i % 5}")]
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_is_read_as_before(tmp_path, suffix) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,word,target,b,code", *_ROWS]) + "\n", encoding="utf-8")
    if suffix == ".parquet":
        whole = files.import_duckdb().read_csv(str(path), all_varchar=True)
        path = tmp_path / "t.parquet"
        whole.write_parquet(str(path))
    with files.tuned(files.Tuning(worth_coding=0)):
        coded = read_table(str(path))
    with files.tuned(files.Tuning(worth_coding=10**12)):
        plain = read_table(str(path))
    assert isinstance(coded.columns["word"], Categorical)
    assert not isinstance(plain.columns["word"], Categorical)
    assert sorted(coded.columns["word"].levels) == ["blue", "green", "red", "x y"]
    assert (coded.kinds, coded.notes, coded.alerts) == (plain.kinds, plain.notes, plain.alerts)
    assert coded.fingerprint() == plain.fingerprint() and coded.n_missing == plain.n_missing
    (features, y), (other, z) = take_target(coded, "target"), take_target(plain, "target")
    assert y.tolist() == z.tolist() and y.dtype == z.dtype
    one, two = Encoder().fit(features, y), Encoder().fit(other, z)
    assert one.feature_names_ == two.feature_names_ and one.alerts_ == two.alerts_
    rows = np.arange(0, 4000, 3)
    for table, same in ((features, other), (features.select(rows), other.select(rows))):
        X, Z = one.transform(table), two.transform(same)
        assert type(X) is type(Z) and abs(X - Z).max() == 0.0
        # A table may be coded where that of the fit was not.
        assert abs(two.transform(table) - Z).max() == 0.0 and one.notes_ == two.notes_


def test_many_texts_are_no_levels(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["name,k", *(f" n{i},{'pq'[i % 2]}" for i in range(500))]) + "\n")
    with files.tuned(files.Tuning(worth_coding=0)):
        table = read_table(str(path))
    assert table.columns["name"].tolist()[:2] == ["n0", "n1"]
    assert isinstance(table.columns["k"], Categorical)


def test_a_column_without_texts(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b", *("?,x" for _ in range(50)), "?,y"]) + "\n")
    with files.tuned(files.Tuning(worth_coding=0)):
        table = read_table(str(path), kinds={"a": "category"})
    assert missing_mask(table.columns["a"]).all()


def test_texts_are_counted_once_and_have_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(40)])
    texts = [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(60)]
    table = Table.from_columns({"said": texts}, kinds={"said": "text"})
    for options in ({}, {"use_idf": False, "norm": None}, {"ngram_range": (1, 2)}):
        encoder = Encoder(text=options).fit(table)
        first, again = encoder.transform(table), encoder.transform(table)
        for part in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(first, part), getattr(again, part))
