"""Typed columns to a matrix, and the same matrix from the stored encoding."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from separatrix.exceptions import DataError, ModelFileError
from separatrix.tables import Encoder, Table, read_table, take_target
from separatrix.tables.statistics import Spread


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def column(encoder, table, name):
    return dense(encoder.transform(table))[:, encoder.feature_names_.index(name)].tolist()


def stored(encoder):
    """Through JSON and plain bytes, as a file would do it."""
    meta, arrays = encoder.state()
    copies = {
        name: np.frombuffer(array.tobytes(), dtype=array.dtype) for name, array in arrays.items()
    }
    return Encoder.from_state(json.loads(json.dumps(meta)), copies)


def same_bits(left, right):
    assert type(left) is type(right)
    if sparse.issparse(left):
        assert left.shape == right.shape
        for part in ("data", "indices", "indptr"):
            a, b = getattr(left, part), getattr(right, part)
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
    else:
        assert left.tobytes() == right.tobytes()


# -------------------------------------------------------------------------------------- numbers


def test_numbers_are_standardised():
    table = Table.from_columns({"a": [1, 2, 3, 4], "b": [True, False, True, True]})
    encoder = Encoder().fit(table)
    matrix = encoder.transform(table)
    assert isinstance(matrix, np.ndarray)
    assert matrix.flags.c_contiguous
    assert encoder.feature_names_ == ["a", "b"]
    np.testing.assert_allclose(matrix.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(matrix.std(axis=0), 1)
    np.testing.assert_allclose(matrix[:, 0], (np.arange(4) - 1.5) / np.sqrt(1.25))
    assert encoder.summary_ == "2 numbers"


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-12, 1.0, 1e12, 1e200, 1e300])
def test_any_scale_gives_the_same_matrix(scale):
    base = np.random.default_rng(0).standard_normal(500)
    want = Encoder().fit_transform(Table.from_columns({"a": base}))
    got = Encoder().fit_transform(Table.from_columns({"a": base * scale}))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_a_small_spread_on_a_large_offset():
    base = np.arange(1000.0)
    got = Encoder().fit_transform(Table.from_columns({"a": 1e12 + base}))
    np.testing.assert_allclose(got[:, 0], (base - base.mean()) / base.std(), rtol=1e-12)


@pytest.mark.parametrize("unit, offset", [(1.0, 1e15), (1.0, 0.0), (2e293, 1e308), (1e-300, 0.0)])
def test_the_spread_of_parts_is_that_of_all_values(unit, offset):
    parts = [[0, 0, 0], [1, 1], [0, 3, 0, 1], [2]]
    whole = [offset + unit * k for part in parts for k in part]
    exact = [Fraction(value) for value in whole]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    unit_of = Fraction(max(map(abs, whole)))
    length = math.sqrt(variance / unit_of**2)
    spreads = [Spread.of(np.array([offset + unit * k for k in part])) for part in parts]
    for found in (Spread.of(np.array(whole)), Spread.merged(spreads)):
        assert found.mean == float(mean)
        assert float(Fraction(found.scale) / unit_of) == pytest.approx(length, rel=1e-6)


def test_the_largest_floats_do_not_overflow():
    big = sys.float_info.max
    got = Encoder().fit_transform(Table.from_columns({"a": [big, -big, big, -big]}))
    assert got[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0]
    # What is missing is the mean where the distance to it is out of range, too.
    got = Encoder().fit_transform(Table.from_columns({"a": [big, None, -big, big, None, big]}))
    assert got[:, 0] == pytest.approx(np.array([1.0, 0.0, -3.0, 1.0, 0.0, 1.0]) / np.sqrt(3.0))


def test_missing_numbers_take_the_mean_and_are_marked():
    table = Table.from_columns({"a": [1, None, 3], "b": [1, 2, 6]})
    encoder = Encoder().fit(table)
    assert encoder.feature_names_ == ["a", "a=(missing)", "b"]
    assert column(encoder, table, "a") == [-1.0, 0.0, 1.0]
    assert column(encoder, table, "a=(missing)") == [0.0, 1.0, 0.0]
    new = Table.from_columns({"a": [3, 3, 3], "b": [None, 3, 6]})
    assert column(encoder, new, "b")[:2] == [0.0, 0.0]
    assert encoder.notes_ == ["column 'b': 1 missing, none at fit; read as the mean (3)"]


def test_constant_columns_are_left_out_with_an_alert():
    table = Table.from_columns(
        {
            "one": [7, 7, 7],
            "tenth": [0.1 + 0.2, 0.3, 0.3],  # equal but for rounding
            "level": ["x", "x", "x"],
            "none": [None, None, None],
            "half": [5, None, 5],
            "good": [1, 2, 4],
        }
    )
    encoder = Encoder().fit(table)
    assert encoder.feature_names_ == ["half=(missing)", "good"]
    assert encoder.left_out_ == ["one", "tenth", "level", "none"]
    assert "column 'one' is constant (7); it is left out" in encoder.alerts_
    assert "column 'none' holds no values; it is left out" in encoder.alerts_
    assert any("'half' is constant (5) where it is not missing" in text for text in encoder.alerts_)
    assert encoder.summary_ == "2 numbers, 4 left out"
    # What is left out is not needed later, and does not count as unknown.
    np.testing.assert_array_equal(
        encoder.transform(table.select([0])), encoder.transform(table)[:1]
    )
    assert encoder.notes_ == []
    encoder.transform(table.drop(["one", "none"]))
    assert encoder.notes_ == []


def test_nothing_but_constants_cannot_be_used():
    table = Table.from_columns({"a": [1, 1], "b": ["x", "x"]}, source="a.csv")
    with pytest.raises(DataError, match=r"a\.csv has no column that a model can use.*'a' is const"):
        Encoder().fit(table)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_located(value):
    bad = Table.from_columns({"ok": [1, 2, 3], "a": [1, 2, value]})
    with pytest.raises(DataError, match=r"column 'a', row 3: -?inf is not a finite number"):
        Encoder().fit(bad)
    encoder = Encoder().fit(Table.from_columns({"a": [1, 2, 3]}))
    with pytest.raises(DataError, match=r"column 'a', row 3: -?inf is not a finite number"):
        encoder.transform(bad)


def test_a_value_beyond_the_range_of_the_fit():
    encoder = Encoder().fit(Table.from_columns({"a": [1e-300, 2e-300]}))
    with pytest.raises(DataError, match=r"row 2: 1e\+300 is so far from the values of the fit"):
        encoder.transform(Table.from_columns({"a": [0, 1e300]}))


def test_text_where_numbers_were_is_located():
    encoder = Encoder().fit(Table.from_columns({"age": [1, 2, 3]}))
    with pytest.raises(DataError, match=r"column 'age', row 2: 'thirty' is not a number"):
        encoder.transform(Table.from_columns({"age": ["1", "thirty", "3"]}))
    strings = Table.from_columns({"age": ["1", "2.0", "3"]}, kinds={"age": "category"})
    numbers = Table.from_columns({"age": [1, 2, 3]})
    same_bits(encoder.transform(strings), encoder.transform(numbers))


def test_dates_and_numbers_are_not_mixed_up():
    dates = np.array(["2020-01-01", "2020-01-03"], dtype="datetime64[D]")
    encoder = Encoder().fit(Table.from_columns({"d": dates}))
    # Only the weekday varies among the parts of these dates.
    assert encoder.feature_names_ == ["d", "d (weekday)=Fri", "d (weekday)=Wed"]
    later = encoder.transform(Table.from_columns({"d": dates[1:]}))
    assert dense(later).tolist() == [[1.0, 1.0, 0.0]]
    gone = encoder.transform(Table.from_columns({"d": [None]}))
    assert dense(gone).tolist() == [[0.0, 0.0, 0.0]]
    with pytest.raises(DataError, match="column 'd' holds numbers, but held dates in the fit"):
        stored(encoder).transform(Table.from_columns({"d": [20200101.0]}))
    with pytest.raises(DataError, match=r"column 'd', row 1: 'soon' is not a date"):
        encoder.transform(Table.from_columns({"d": ["soon"]}))


# ----------------------------------------------------------------------------------- categories


def test_every_level_has_a_feature_and_so_has_missing():
    table = Table.from_columns({"c": ["b", "a", None, "b"], "d": ["x", "y", "x", "y"]})
    encoder = Encoder().fit(table)
    assert encoder.feature_names_ == ["c=a", "c=b", "c=(missing)", "d=x", "d=y"]
    assert dense(encoder.transform(table)).tolist() == [
        [0, 1, 0, 1, 0],
        [1, 0, 0, 0, 1],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
    ]
    assert encoder.summary_ == "2 categories"


@pytest.mark.parametrize("n_levels", [3, 30])
def test_unseen_levels_are_all_zeros_and_told(n_levels):
    # Few levels give a dense array, many a CSR matrix.
    levels = [f"l{i:02d}" for i in range(n_levels)] * 3
    encoder = Encoder().fit(Table.from_columns({"c": levels}))
    new = Table.from_columns({"c": ["l01", "zz", "yy", "zz", None]})
    matrix = encoder.transform(new)
    assert sparse.issparse(matrix) == (n_levels == 30)
    assert dense(matrix).sum(axis=1).tolist() == [1, 0, 0, 0, 0]
    assert encoder.notes_ == [
        "column 'c': 1 missing, none at fit; read as no level",
        "column 'c': 2 levels not seen at fit in 3 rows ('zz', 'yy'), read as no level",
    ]
    encoder.transform(Table.from_columns({"c": ["l01"]}))
    assert encoder.notes_ == []


def test_levels_are_matched_by_the_text_of_a_number():
    encoder = Encoder().fit(Table.from_columns({"c": ["1", "2", "007", "x", "0.5", "1"]}))
    numbers = Table.from_columns({"c": [1.0, 2.0, 7.0, 0.5]})
    rows = dense(encoder.transform(numbers))
    names = [encoder.feature_names_[j] for j in rows.argmax(axis=1)]
    assert names == ["c=1", "c=2", "c=007", "c=0.5"]
    assert encoder.notes_ == []
    strings = Table.from_columns({"c": ["1.0", "x", "7", ".50"]})
    rows = dense(encoder.transform(strings))
    assert rows.sum(axis=1).tolist() == [1, 1, 0, 1]
    assert "('7')" in encoder.notes_[0]


def test_flags_find_their_levels():
    table = Table.from_columns({"c": [True, False, True]}, kinds={"c": "category"})
    encoder = Encoder().fit(table)
    assert encoder.feature_names_ == ["c=false", "c=true"]
    for given in ([True, False], ["TRUE", "False"], [1, 0]):
        assert column(encoder, Table.from_columns({"c": given}), "c=true") == [1.0, 0.0]


def test_two_levels_that_spell_one_number_stay_apart():
    encoder = Encoder().fit(Table.from_columns({"c": ["1", "01", "1.0", "y"]}))
    new = Table.from_columns({"c": ["01", "1", "1.0", "001"]})
    assert dense(encoder.transform(new)).tolist() == [*np.eye(4)[:3].tolist(), [0.0] * 4]


def test_rare_levels_share_a_feature():
    table = Table.from_columns({"c": ["a"] * 5 + ["b"] * 3 + ["c", "d"]})
    encoder = Encoder(min_frequency=3).fit(table)
    assert encoder.feature_names_ == ["c=a", "c=b", "c=(rare)"]
    new = Table.from_columns({"c": ["a", "c", "d", "new"]})
    for made in (encoder, stored(encoder)):
        assert column(made, new, "c=(rare)") == [0.0, 1.0, 1.0, 1.0]
        assert made.notes_ == ["column 'c': 1 level not seen at fit in 1 row ('new'), read as rare"]
    with pytest.raises(DataError, match="min_frequency must be a whole number"):
        Encoder(min_frequency=0)


def test_a_column_that_identifies_the_row_is_left_out():
    ids = [f"u{i}" for i in range(40)]
    columns = {"id": ids, "x": np.arange(40.0) ** 2}
    encoder = Encoder().fit(Table.from_columns(columns))
    assert encoder.feature_names_ == ["x"]
    assert any("'id' has 40 levels in 40 rows" in text for text in encoder.alerts_)
    insisted = Encoder().fit(Table.from_columns(columns, kinds={"id": "category"}))
    assert len(insisted.feature_names_) == 41


def test_levels_named_like_the_special_ones_stay_apart():
    table = Table.from_columns({"c": ["(missing)", None, "x"], "c=x": ["u", "v", "v"]})
    encoder = Encoder().fit(table)
    assert encoder.feature_names_[:4] == ["c=(missing)", "c=x", "c=(missing) #2", "c=x=u"]
    assert dense(encoder.transform(table))[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


# ---------------------------------------------------------------------------------------- text


TEXTS = [
    "the film was Great great fun",
    "the film was dull and long, dull",
    "great actors, dull plot",
    "no words shared whatsoever",
]


def test_text_becomes_tfidf():
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = Table.from_columns({"t": TEXTS * 30}, kinds={"t": "text"})
    encoder = Encoder().fit(table)
    peer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    want = peer.fit_transform(TEXTS * 30)
    assert encoder.feature_names_ == [f"t:{word}" for word in peer.get_feature_names_out()]
    got = encoder.transform(table)
    np.testing.assert_allclose(got.toarray(), want.toarray(), rtol=1e-14)
    assert got.dtype == np.float64
    assert got.indices.dtype == got.indptr.dtype == np.int32
    assert encoder.summary_ == "1 text"


def test_tiny_text_keeps_words_of_one_row():
    table = Table.from_columns({"t": TEXTS}, kinds={"t": "text"})
    assert "t:whatsoever" in Encoder().fit(table).feature_names_
    kept = Encoder(text={"min_df": 2}).fit(table).feature_names_
    assert kept == ["t:dull", "t:film", "t:great", "t:the", "t:was"]


def test_several_texts_missing_texts_and_numbers_as_text():
    table = Table.from_columns(
        {"t": [*TEXTS, None], "u": [*reversed(TEXTS), "great"], "x": [1, 2, 3, 4, 6]},
        kinds={"t": "text", "u": "text"},
    )
    encoder = Encoder().fit(table)
    matrix = encoder.transform(table)
    assert encoder.summary_ == "1 number, 2 texts"
    assert encoder.feature_names_[0] == "x"
    of_t = [j for j, name in enumerate(encoder.feature_names_) if name.startswith("t:")]
    assert matrix[4, of_t].nnz == 0
    assert "column 't': 1 missing, read as no words" in encoder.notes_
    new = Table.from_columns({"t": [1984.0], "u": ["great"], "x": [1]})
    assert encoder.transform(new).shape == (1, len(encoder.feature_names_))


def test_text_without_words_is_left_out():
    table = Table.from_columns({"t": ["! ?", "a b c", "..."], "x": [1, 2, 4]}, kinds={"t": "text"})
    encoder = Encoder().fit(table)
    assert encoder.feature_names_ == ["x"]
    assert any("'t' holds text without usable words" in text for text in encoder.alerts_)


def test_words_of_one_row_are_kept_where_no_word_stands_in_two():
    texts = [f"alpha{i} beta{i} gamma{i}" for i in range(120)]
    encoder = Encoder().fit(Table.from_columns({"t": texts}, kinds={"t": "text"}))
    assert len(encoder.feature_names_) == 360


def test_text_options():
    table = Table.from_columns({"t": TEXTS}, kinds={"t": "text"})
    options = {"ngram_range": (1, 2), "stop_words": ["the"], "use_idf": False, "max_features": 30}
    encoder = Encoder(text=options).fit(table)
    assert "t:film was" in encoder.feature_names_
    assert "t:the" not in encoder.feature_names_
    same_bits(encoder.transform(table), stored(encoder).transform(table))
    with pytest.raises(DataError, match=r"'ngramrange' is not an .*did you mean 'ngram_range'"):
        Encoder(text={"ngramrange": 2})
    with pytest.raises(DataError, match="column 't': the options for text: .*'min_df'"):
        Encoder(text={"min_df": -3}).fit(table)


# ------------------------------------------------------------------------------------- matching


def test_columns_are_matched_by_name():
    table = Table.from_columns({"a": [1, 2, 4], "c": ["x", "y", "x"]})
    encoder = Encoder().fit(table)
    turned = Table.from_columns({"z": [0, 0, 0], "c": ["x", "y", "x"], "a": [1, 2, 4]})
    same_bits(encoder.transform(table), encoder.transform(turned))
    assert encoder.notes_ == ["1 column ignored, not known at fit: 'z'"]


def test_an_absent_column_is_named():
    table = Table.from_columns({"age": [1, 2, 4], "c": ["x", "y", "x"]})
    encoder = Encoder().fit(table)
    new = Table.from_columns({"Age": [1], "c": ["x"]}, source="new.csv")
    with pytest.raises(DataError, match=r"new\.csv lacks the column 'age'.*did you mean 'Age'\?"):
        encoder.transform(new)


def test_before_the_fit():
    for call in (lambda: Encoder().transform(Table.from_columns({"a": [1]})), Encoder().state):
        with pytest.raises(DataError, match="has not been fitted"):
            call()


def test_no_rows():
    table = Table.from_columns({"a": [1, 2, 4], "c": ["x", "y", "x"], "t": TEXTS[:3]},
                               kinds={"t": "text"})  # fmt: skip
    encoder = Encoder().fit(table)
    assert encoder.transform(table.select([])).shape == (0, len(encoder.feature_names_))
    with pytest.raises(DataError, match="no rows to fit"):
        Encoder().fit(table.select([]))


# -------------------------------------------------------------------------------------- alerts


@pytest.mark.parametrize(
    ("leak", "word"),
    [
        (["yes", "no"] * 30, "one-to-one"),
        ([1, 0] * 30, "one-to-one"),
        ([True, False] * 30, "one-to-one"),
        (["yes", None] * 30, "one-to-one"),
        (["a", "b", "c", "b"] * 15, "determines"),
        ([3, 4, 5, 4] * 15, "determines"),
    ],
)
def test_a_column_that_gives_the_target_away(leak, word):
    y = ["yes", "no"] * 30
    noise = np.random.default_rng(0).standard_normal(60)
    encoder = Encoder().fit(Table.from_columns({"x": noise, "leak": leak}), y)
    assert len([text for text in encoder.alerts_ if word in text and "'leak'" in text]) == 1
    assert not any("'x'" in text for text in encoder.alerts_)


def test_no_false_alarm():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    almost = y.copy()
    almost[7] ^= 1
    columns = {"x": rng.standard_normal(60), "almost": almost, "c": rng.choice(list("abc"), 60)}
    assert Encoder().fit(Table.from_columns(columns), y).alerts_ == []
    for name in ("iris", "wine", "breast-cancer"):
        features, labels = take_target(read_table(name), "target")
        assert Encoder().fit(features, labels).alerts_ == []


def test_columns_that_repeat_others():
    rng = np.random.default_rng(2)
    cm = rng.standard_normal(400)
    code = rng.integers(0, 5, 400)
    columns = {
        "cm": cm,
        "inch": 3.0 - cm / 2.54,
        "code": code,
        "name": np.array(list("abcde"))[code],
        "line": np.arange(10, 410),
    }
    alerts = Encoder().fit(Table.from_columns(columns)).alerts_
    assert len(alerts) == 3
    assert any("'inch' is column 'cm' on another scale" in text for text in alerts)
    assert any("'code' and 'name' are one-to-one" in text for text in alerts)
    assert any("'line' numbers the rows (10, 11, ...)" in text for text in alerts)


def test_columns_that_part_behind_their_first_rows() -> None:
    draw = np.random.default_rng(0)
    n, late = 6_000, 4_000
    code = draw.integers(0, 3, n)
    other = np.where(np.arange(n) < late, code, draw.integers(0, 3, n))
    zero = np.where(np.arange(n) < late, 0, code)
    columns = {
        "code": code,
        "other": other,
        "name": np.array(list("abc"))[code],
        "zero": zero,
        "flag": np.array(list("xyz"))[zero],
        "none": np.where(np.arange(n) < late, 7, other),
        "void": np.array(["u", "v", "w"])[np.where(np.arange(n) < late, 2, other)],
    }
    encoder = Encoder().fit(Table.from_columns(columns), other > 0)
    told = [(sort, names) for sort, names, _ in encoder.alerted_]
    assert told == [
        ("whose value determines the target", ("other",)),
        ("one-to-one with an earlier one", ("code", "name")),
        ("one-to-one with an earlier one", ("zero", "flag")),
    ]


def test_labels_must_fit_the_rows():
    with pytest.raises(DataError, match="2 labels for 3 rows"):
        Encoder().fit(Table.from_columns({"a": [1, 2, 4]}), [0, 1])


# --------------------------------------------------------------------------------------- state


STRANGE = ["é ☃ 数", 'q"u', "it's", "line\nend", "a\x00b", "🦉", "\ud800", "a", "A", "=", "a=b"]


def test_the_state_holds_everything():
    n = 44
    rng = np.random.default_rng(3)
    table = Table.from_columns(
        {
            'n"1\n': [None, *rng.standard_normal(n - 1)],
            "n2": rng.standard_normal(n) * 1e-12 + 1e-9,
            "ü": [*(STRANGE * 4)],
            "t": [f"{word} some more words like é数{i % 5}" for i, word in enumerate(STRANGE * 4)],
            "t2": TEXTS * 11,
            "same": [1] * n,
        },
        kinds={"t": "text", "t2": "text"},
    )
    encoder = Encoder(min_frequency=2).fit(table, rng.integers(0, 2, n))
    again = stored(encoder)
    for name in ("feature_names_", "summary_", "alerts_", "left_out_", "kinds_", "n_features_"):
        assert getattr(again, name) == getattr(encoder, name)
    new = Table.from_columns({**table.columns, "ü": ["new", *table.columns["ü"][1:]]})
    for given in (table, table.select([3, 1]), new):
        same_bits(encoder.transform(given), again.transform(given))
        assert encoder.notes_ == again.notes_
    # A second round changes nothing.
    first, second = encoder.state(), again.state()
    assert first[0] == second[0]
    assert {k: v.tobytes() for k, v in first[1].items()} == {
        k: v.tobytes() for k, v in second[1].items()
    }


def test_the_state_is_plain():
    table = Table.from_columns({"a": [1, 2, 4], "c": ["x", "y", "x"]})
    meta, arrays = Encoder().fit(table).state()
    assert json.loads(json.dumps(meta)) == meta
    assert {array.dtype.name for array in arrays.values()} <= {"float64", "int64", "uint8"}


def test_damaged_state_is_told():
    table = Table.from_columns({"a": [1, 2, 4], "c": ["x", "y", "x"]})
    meta, arrays = Encoder().fit(table).state()
    with pytest.raises(ModelFileError, match="version 8"):
        Encoder.from_state({**meta, "version": 8}, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        Encoder.from_state({k: v for k, v in meta.items() if k != "dense"}, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        Encoder.from_state(meta, {k: v for k, v in arrays.items() if "scale" not in k})
    for key in ("categories.levels", "categories.levels.counts", "categories.rare.counts"):
        damaged = {**arrays, key: arrays[key][:-1]}
        with pytest.raises(ModelFileError, match="damaged"):
            Encoder.from_state(meta, damaged)
    moved = {**arrays, "categories.levels.counts": np.array([-2], dtype=np.int64)}
    with pytest.raises(ModelFileError, match=r"damaged: categories\.levels does not add up"):
        Encoder.from_state(meta, moved)


def test_the_same_alert_for_many_columns_is_counted():
    columns = {f"k{j}": [7, 7, 7] for j in range(12)}
    columns |= {"a": [1, 2, 4], "b": [None, None, None]}
    encoder = Encoder().fit(Table.from_columns(columns))
    assert encoder.alerts_ == [
        *(f"column 'k{j}' is constant (7); it is left out" for j in range(5)),
        "column 'b' holds no values; it is left out",
        "7 more columns of one value, left out",
    ]
    assert len(encoder.left_out_) == 13
    assert stored(encoder).alerts_ == encoder.alerts_


def test_the_same_note_for_many_columns_is_counted():
    names = [f"x{j}" for j in range(6)]
    encoder = Encoder().fit(Table.from_columns({name: [1, 2, 4] for name in names}))
    encoder.transform(Table.from_columns({name: [1, None, 4] for name in names}))
    assert len(encoder.notes_) == 6
    assert encoder.notes_[4].startswith("column 'x4': 1 missing")
    assert encoder.notes_[5] == "1 more column with missing values, none at fit, read as the mean"


def test_levels_of_several_categories_are_stored_apart():
    table = Table.from_columns({"c": ["a", "b", "a"], "d": ["a", "é", ""], "e": ["u", "u", "v"]})
    encoder = Encoder(min_frequency=2).fit(table)
    again = stored(encoder)
    assert again.feature_names_ == encoder.feature_names_
    same_bits(encoder.transform(table), again.transform(table))


# ------------------------------------------------------------------------------------- svmlight


@pytest.mark.parametrize("start", [0, 1])
def test_svmlight_passes_through_whatever_it_counts_from(write, start):
    lines = [(1, {start: 0.5, start + 2: 2.0}), (-1, {start + 1: 1.0})]
    text = "".join(
        f"{label} " + " ".join(f"{j}:{v}" for j, v in row.items()) + "\n" for label, row in lines
    )
    features, _ = take_target(read_table(write("a.svm", text)), "target")
    encoder = Encoder().fit(features)
    matrix = encoder.transform(features)
    assert matrix.format == "csr"
    assert matrix.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert encoder.feature_names_ == [f"f{start + j}" for j in range(3)]
    assert encoder.summary_ == "3 sparse numbers"
    same_bits(matrix, stored(encoder).transform(features))

    # A later file that lacks the first or last columns, or has more, keeps its columns in place.
    narrow = read_table(write("b.svm", f"1 {start + 1}:7\n")).drop("target")
    assert encoder.transform(narrow).toarray().tolist() == [[0, 7, 0]]
    wide = read_table(write("c.svm", f"1 {start + 1}:7 {start + 5}:1\n")).drop("target")
    assert encoder.transform(wide).toarray().tolist() == [[0, 7, 0]]
    assert len(encoder.notes_) == 1
    assert f"features above {start + 2} were not known at fit" in encoder.notes_[0]
    with pytest.raises(DataError, match="fitted to an svmlight file"):
        encoder.transform(Table.from_columns({"a": [1]}))


def test_rows_of_a_selection_are_named_as_in_the_file():
    x = np.arange(30.0)
    x[17] = np.inf
    table = Table.from_columns({"x": x})
    part = table.select(np.arange(30) % 2 == 1).select([3, 8, 0])
    with pytest.raises(DataError, match=r"column 'x', row 18: inf is not a finite number"):
        Encoder().fit(part)
    encoder = Encoder().fit(table.select([1, 2, 3]))
    with pytest.raises(DataError, match=r"column 'x', row 18: inf is not a finite number"):
        encoder.transform(part)


def test_only_a_free_and_near_column_is_suggested():
    encoder = Encoder().fit(Table.from_columns({"age": [1.0, 2.0, 3.0], "race": ["a", "b", "a"]}))
    with pytest.raises(DataError) as caught:
        encoder.transform(Table.from_columns({"race": ["a"], "target": ["x"]}))
    assert "lacks the column 'age'" in str(caught.value)
    assert "did you mean" not in str(caught.value)
    with pytest.raises(DataError, match=r"did you mean 'ages'\?"):
        encoder.transform(Table.from_columns({"race": ["a"], "ages": [1.0]}))


def test_blocks_are_the_rows_of_the_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    n = 1000
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(5.0, 3.0, n))
    levels = rng.choice(np.array(["a", "b", "c"], dtype=object), n)
    words = [" ".join(rng.choice(["good", "bad", "plain", "long", "short"], 4)) for _ in range(n)]
    columns = {"x": x, "z": rng.normal(size=n), "c": levels}
    monkeypatch.setattr("separatrix.tables.encoder._BLOCK", 1000)
    for more, kinds in (({}, None), ({"t": words}, {"t": "text"})):
        table = Table.from_columns({**columns, **more}, kinds=kinds)
        encoder = Encoder(terms=["z:c"]).fit(table)
        blocks = [*encoder.blocks(table)]
        whole = dense(encoder.transform(table))
        assert len(blocks) > 3 and blocks[-1][0].stop == n
        for rows, X in blocks:
            np.testing.assert_array_equal(dense(X), whole[rows])
    missing = np.isnan(x)
    values = np.where(missing, 0.0, (x - np.nanmean(x)) / np.nanstd(x))
    np.testing.assert_allclose(whole[:, encoder.feature_names_.index("x")], values, atol=1e-12)
