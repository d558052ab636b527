"""How people write numbers, dates and truth values."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.tables import Encoder, read_table
from separatrix.tables.value_format import ValueFormat, find_spelling


def numbers(*texts, **options):
    found = find_spelling(texts, **options)
    return None if found is None else [found.spelling.number(text) for text in texts]


def days(year, month, day, hours=0.0):
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days + hours / 24.0


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["$1,063", "$12.50", "($3)", "-$4", "$-5"], [1063, 12.5, -3, -4, -5]),
        (["1.063,50 €", "12,5 €", "3 €"], [1063.5, 12.5, 3]),
        (["EUR 1.000.000", "EUR 0,5"], [1e6, 0.5]),
        (["39.6%", "12 %", "-3%", "(2%)"], [39.6, 12, -3, -2]),
        (["$(1,250.50)", "$3", "($4)"], [-1250.5, 3, -4]),
        (["￥13,600", "¥500", "￥12"], [13600, 500, 12]),
        (["5,300*", "4,407", "12†"], [5300, 4407, 12]),
        (["<0.5", "1.25", ">= 40", "3"], [0.5, 1.25, 40, 3]),
        (["1'000", "12'345.5"], [1000, 12345.5]),
        (["1 234,5", "12"], [1234.5, 12]),
        (["1\u202f234", "12\u202f345\u202f678"], [1234, 12345678]),
        (["12,34,567", "1,000"], [1234567, 1000]),
        (["12k", "3.5M", "950"], [12e3, 3.5e6, 950]),
        (["$1.2M", "$900k", "$12"], [1.2e6, 9e5, 12]),
        (["12k", "13k"], [12, 13]),
        (["5 kg", "7kg", "8"], [5, 7, 8]),
        (["20 km/h", "35 km/h"], [20, 35]),
        (["21 °C", "-3 °C"], [21, -3]),
        (["5-", "6", "–3", "+2"], [-5, 6, -3, 2]),
        (["1,5e3", "2,25"], [1500, 2.25]),
        ([".5", "$.25"], [0.5, 0.25]),
    ],
)
def test_numbers(texts, meant) -> None:
    assert numbers(*texts) == meant


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "green"],
        ["1", "2.5", "-3e4"],
        ["007", "123"],
        ["5 kg", "300 km"],
        ["$5", "€6"],
        ["10.0.0.1", "10.0.0.2"],
        ["1.2.3", "1.2.4"],
        ["A12", "B4"],
        ["3-4", "5-6"],
        ["12:30", "13:45"],
        ["1,23", "1,234,5"],
        ["1st", "2nd"],
        ["٣ kg", "٤ kg"],
        ["0,123,456"],
        ["(5", "6)"],
        ["--5", "+-6"],
        ["31/02/2024", "30/02/2024"],
        ["25:00 1/1/2024"],
        [""],
    ],
)
def test_what_is_no_number(texts) -> None:
    assert find_spelling(texts) is None


def test_an_exponent_is_rounded_once_with_its_digits() -> None:
    form = ValueFormat("number")
    for text in (
        "1234567890123456789012345e5",
        "0.1000000000000000055511151231e23",
        "5.e3",
        ".5e-3",
    ):
        assert form.number(text) == float(text)
    assert form.number("1e５") is None
    assert ValueFormat("number", unit="°").number("12° ") == 12.0


def test_a_mark_that_can_be_either() -> None:
    found = find_spelling(["1,063", "2,500"])
    assert (found.spelling.decimal, found.ambiguous) == (".", "1,063")
    assert numbers("1,063", "2,500", comma=True) == [1.063, 2.5]
    assert numbers("1,063", "2,500", decimal=",") == [1.063, 2.5]
    assert find_spelling(["1,063", "2,5"]).ambiguous == ""
    assert numbers("1.063", "2", decimal=",") == [1063, 2]


@pytest.mark.parametrize(
    ("texts", "order", "first"),
    [
        (["2024-03-01", "2023/12/31"], "year-first", days(2024, 3, 1)),
        (["05/09/2025", "13/01/2024"], "day-first", days(2025, 9, 5)),
        (["05/09/2025", "01/13/2024"], "month-first", days(2025, 5, 9)),
        (["05.09.25", "01.12.69"], "day-first", days(2025, 9, 5)),
        (["01-Mar-2024", "2 Apr 2023"], "year-first", days(2024, 3, 1)),
        (["March 3rd, 2024 5:30 PM", "Sep 5, 2025"], "year-first", days(2024, 3, 3, 17.5)),
        (["Tue, 05 Mar 2024 12:00", "5 may 2024"], "year-first", days(2024, 3, 5, 12)),
        (["2024-03-01T06:00:00Z", "2024-03-01 06:00"], "year-first", days(2024, 3, 1, 6)),
        (["2024-03-01T00:00+02:00", "2024-03-01"], "year-first", days(2024, 3, 1, -2)),
        (["1/2/2024 11:59:30 pm", "13/2/2024 12:00 AM"], "day-first", days(2024, 2, 1, 23.9917)),
    ],
)
def test_dates(texts, order, first) -> None:
    found = find_spelling(texts)
    assert (found.spelling.kind, found.spelling.order) == ("date", order)
    assert found.spelling.number(texts[0]) == pytest.approx(first, abs=1e-4)
    assert found.ambiguous == ""


def test_dates_whose_order_nothing_tells() -> None:
    found = find_spelling(["05/09/2025", "04/01/2024"])
    assert (found.spelling.order, found.ambiguous) == ("month-first", "05/09/2025")
    assert find_spelling(["05.09.2025", "04.01.2024"]).spelling.order == "day-first"
    assert find_spelling(["05/05/2025"]).ambiguous == ""
    assert numbers("05/09/2025", order="day-first") == [days(2025, 9, 5)]
    assert numbers("5|9|25", order="%d|%m|%y") == [days(2025, 9, 5)]


def test_truth_in_many_spellings() -> None:
    texts = ["Yes", "yes", "No", "Y", "yes", "1"]
    found = find_spelling(texts)
    assert [found.spelling.word(text) for text in texts] == [
        "yes",
        "yes",
        "No",
        "yes",
        "yes",
        "yes",
    ]
    # Two words for two things need no reading.
    assert find_spelling(["yes", "no"]) is None
    assert find_spelling(["yes", "no", "maybe"]) is None


def test_what_stands_in_the_way_is_counted() -> None:
    found = find_spelling([*(f"${k}" for k in range(40)), "call us", "-", "n.a.", "-"])
    assert (found.strays, found.n_strays) == (("call us",), 1)
    assert dict(found.marks) == {"-": 2, "n.a.": 1}
    # More than one in ten is no slip, and of a few values all must be numbers.
    assert find_spelling([*(f"${k}" for k in range(9)), "call us"]) is None
    assert find_spelling([*(f"${k}" for k in range(36)), *["call us"] * 5]) is None


def test_a_slip_is_no_unit() -> None:
    found = find_spelling([*map(str, range(40)), "12O"])
    assert (found.strays, found.spelling.unit, found.plain) == (("12O",), "", True)


def test_spellings_are_stored() -> None:
    for spelling in (
        ValueFormat("number", ",", "€", True),
        ValueFormat("date", order="%d|%m|%y"),
        ValueFormat("truth", words=("yes", "no")),
    ):
        assert ValueFormat.from_state(spelling.state()) == spelling
    for state in (
        {"kind": "colour"},
        {"kind": "number", "decimal": ";"},
        {"kind": "date"},
        {"kind": "truth", "words": ["yes"]},
        {"kind": "number", "unit": 3},
        {"kind": "number", "magnitudes": "x"},
    ):
        with pytest.raises(ValueError, match="spelling"):
            ValueFormat.from_state(state)


# ------------------------------------------------------------------------------------- tables


@pytest.fixture
def write(tmp_path):
    def write_rows(name, header, rows):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return write_rows


def test_later_tables_are_read_by_the_spelling_of_the_fit(write) -> None:
    rows = [f"{k};1.{k % 10}00,5;{1 + k % 12:02d}/{1 + k % 28:02d}/2024" for k in range(60)]
    table = read_table(write("a.csv", "id;price;when", rows))
    assert table.columns["price"][3] == 1300.5
    encoder = Encoder().fit(table)
    assert "id" in encoder.left_out_
    again = Encoder.from_state(*encoder.state())
    # Read by itself, this table would have other marks and another order.
    later = write("b.csv", "id;price;when", ["1;1.300;03/04/2024"])
    read = read_table(later, spellings=again.spellings_)
    assert read.columns["price"][0] == 1300.0
    assert read.columns["when"][0] == days(2024, 3, 4)
    by_hand = read_table(write("c.csv", "id;price;when", ["1;1300,0;03/04/2024"]), decimal=",")
    with pytest.raises(DataError, match="another spelling than in the fit"):
        again.transform(read_table(later, date_format="day-first"))
    by_hand.spellings.update(again.spellings_)
    np.testing.assert_array_equal(
        again.transform(read).toarray(), again.transform(by_hand).toarray()
    )


def test_a_target_loses_no_cell(write) -> None:
    rows = [f"{k},{k % 3 + 1}" for k in range(60)] + ["60,X"]
    path = write("a.csv", "x,class", rows)
    assert read_table(path).kinds["class"] == "category"
    rows = [f"{k},${k}.5" for k in range(60)] + ["60,call us"]
    path = write("b.csv", "x,price", rows)
    assert read_table(path).kinds["price"] == "number"
    assert read_table(path, target="price").kinds["price"] == "category"
    path = write("c.csv", "x,price", rows[:-1])
    assert read_table(path, target="price").columns["price"][3] == 3.5


def test_kinds_that_are_asked_for(write) -> None:
    path = write("a.csv", "a,b,c,d", ["$1,1/2/2024,007,x", "$2,2/3/2024,12,y"])
    table = read_table(path, kinds={"a": "category", "b": "category", "c": "number"})
    assert table.columns["a"].tolist() == ["$1", "$2"]
    assert table.columns["b"].tolist() == ["1/2/2024", "2/3/2024"]
    assert table.columns["c"].tolist() == [7.0, 12.0]
    with pytest.raises(DataError, match="column 'd', row 1: 'x' is not a date"):
        read_table(path, kinds={"d": "date"})
    with pytest.raises(DataError, match="column 'd', row 1: 'x' is not a number"):
        read_table(path, kinds={"d": "number"})
    parts = {"b (hour)": "ignore", "b (weekday)": "ignore", "b (month)": "ignore"}
    assert read_table(path, kinds=parts).names[4:] == ("b (year)",)
    with pytest.raises(DataError, match="no column 'z \\(year\\)'"):
        read_table(path, kinds={"z (year)": "ignore"})
    with pytest.raises(DataError, match="is not a date order"):
        read_table(path, date_format="backwards")
    with pytest.raises(DataError, match="';' is not a decimal mark"):
        read_table(path, decimal=";")


def test_limits_alone_are_classes() -> None:
    assert find_spelling(["<=50K", ">50K"] * 20) is None
    found = find_spelling(["3.2"] * 10 + ["4.1"] * 10 + ["<0.5"])
    assert found is not None and found.example == "<0.5"


def test_dates_and_amounts_of_several_words_are_no_prose(write) -> None:
    rows = [
        f"{1 + k % 12:02d}/{1 + k % 28:02d}/2021 {1 + k % 12:02d}:15 {'AP'[k % 2]}M,"
        f"{200 + k}\u202f{100 + k} €,room {k} of the house,2023年{1 + k % 12}月{1 + k % 28}日"
        for k in range(60)
    ]
    table = read_table(write("a.csv", "when,price,text,day", rows))
    assert {"when", "day"} == set(table.dates)
    assert table.columns["price"][0] == 200100.0
    assert table.kinds["text"] == "text"
    assert table.columns["day"][0] == days(2023, 1, 1)
    assert any("'01/01/2021 01:15 AM', read month-first" in str(note) for note in table.notes)


def test_the_parts_of_a_date(write) -> None:
    rows = [f"2024-01-{k:02d} {k % 24:02d}:30,{k % 2}" for k in range(1, 29)]
    encoder = Encoder().fit(read_table(write("a.csv", "when,y", rows)).drop("y"))
    # The year and the month never vary.
    assert encoder.columns_.count("when (weekday)") == 7
    assert set(encoder.columns_) == {"when", "when (weekday)", "when (hour)"}
    assert not encoder.alerts_
    table = read_table(write("b.csv", "when", ["1969-12-31 23:00"]))
    assert [table.columns[f"when ({p})"][0] for p in ("year", "month", "weekday", "hour")] == [
        *(1969.0, "Dec", "Wed", 23.0)
    ]
