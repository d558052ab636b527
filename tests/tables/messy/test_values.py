"""Exports whose cells hold more than a number or a word, read by the first command."""

from __future__ import annotations

import csv
import datetime
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.exceptions import DataError, ModelFileError
from separatrix.geometry.diagnosis.diagnosis import diagnose_table
from separatrix.geometry.diagnosis.tabular import prepared_table
from separatrix.persistence.model_file import load_model
from separatrix.scale import scan
from separatrix.tables import Encoder, read_table, take_target
from separatrix.tables.level_spellings import merged_levels, misspellings
from separatrix.tables.quantities import conversion
from separatrix.tables.value_format import ValueFormat, find_spelling

N = 300


def written(path, columns, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    return path


def labels(rng, score):
    return np.where(score + 0.3 * rng.logistic(size=len(score)) > 0, "yes", "no").tolist()


# ------------------------------------------------------------------- exports as offices make them


def german_clinic(rng):
    """Stays in hours, doses in mg and g, a date for none, findings in three spellings."""
    hours, dose = rng.gamma(2, 20, N).round(), rng.gamma(3, 300, N).round()
    where = rng.choice(["Station Nord", "Ambulanz"], N)
    born = [
        f"{d:02d}.{m:02d}.{y}" for d, m, y in rng.integers([1, 1, 2012], [29, 13, 2022], (N, 3))
    ]
    messy = {
        "liegezeit": [f"{int(h // 24)}d {int(h % 24)}h" for h in hours],
        "dosis": [f"{d / 1000:.3f} g".replace(".", ",") if k % 3 else f"{d:.0f} mg"
                  for k, d in enumerate(dose)],
        "ort": [w.upper() if k % 5 == 0 else w + "." if k % 7 == 0 else w
                for k, w in enumerate(where)],
        "impfung": ["01.01.1900" if k % 9 == 0 else b for k, b in enumerate(born)],
    }  # fmt: skip
    clean = {
        "liegezeit": hours * 3600.0,
        "dosis": dose,
        "ort": where,
        "impfung": ["" if k % 9 == 0 else b for k, b in enumerate(born)],
    }
    score = (hours - 40) / 25 + (dose - 900) / 500 + (where == "Ambulanz")
    said = ["durations, in seconds", "quantities, in g", "'AMBULANZ'", "1900-01-01 read as missing"]
    return messy, clean, score, said, {"delimiter": ";"}


def american_survey(rng):
    """Ratings of ten, heights in feet, several answers in a cell, incomes and ages in ranges."""
    stars, inches = rng.integers(0, 11, N), rng.integers(58, 78, N)
    ways = [sorted(rng.choice(["email", "phone", "store", "web"], k, replace=False).tolist())
            for k in rng.integers(0, 4, N)]  # fmt: skip
    ages, names = rng.integers(0, 4, N), ["Under 18", "18-34", "35-64", "65+"]
    messy = {
        "satisfaction": [f"{s}/10" for s in stars],
        "height": [f"{h // 12}'{h % 12}\"" for h in inches],
        "channels": [", ".join(one) for one in ways],
        "age": [names[k] for k in ages],
    }
    clean = {"satisfaction": stars, "height": inches}
    clean |= {w: [int(w in one) for one in ways] for w in ("email", "phone", "store", "web")}
    clean["age"] = ages
    score = (stars - 5) / 2 + np.array(["web" in one for one in ways]) - 0.5 + (ages - 1.5) / 2
    said = ["shares", "'5\\'", "'channels (email)'", "Under 18 < 18-34 < 35-64 < 65+"]
    return messy, clean, score, said, {}


def bank(rng):
    """Amounts in two currencies, calls as clocks, minutes as ISO 8601."""
    euros, calls = rng.gamma(2, 50, N).round(2), rng.integers(30, 9000, N)
    foreign = rng.random(N) < 0.4
    messy = {
        "amount": [f"${1.1 * e:,.2f}" if f else f"€{e:,.2f}"
                   for e, f in zip(euros, foreign, strict=True)],
        "call": [f"{c // 3600}:{c // 60 % 60:02d}:{c % 60:02d}" for c in calls],
        "idle": [f"PT{c // 60}M{c % 60}S" for c in calls[::-1]],
    }  # fmt: skip
    clean = {"amount": euros, "call": calls, "idle": calls[::-1]}
    score = (euros - 100) / 40 + (calls - 4500) / 3000
    said = ["several currencies", "'call' holds durations", "'idle' holds durations"]
    return messy, clean, score, said, {}


def japanese_shop(rng):
    """Weights in kg and g, ages in ranges, prefectures with blanks of full width."""
    kilos, ages = rng.gamma(2, 1, N).round(3), rng.integers(0, 3, N)
    where = rng.choice(["東京 都", "大阪 府"], N)
    messy = {
        "重さ": [f"{k}kg" if i % 2 else f"{1000 * k:.0f}g" for i, k in enumerate(kilos)],
        "年齢": [["20未満", "20-39", "40以上"][k] for k in ages],
        "県": [w.replace(" ", "\u3000") if i % 4 == 0 else w for i, w in enumerate(where)],
    }
    clean = {"重さ": kilos, "年齢": ages, "県": where}
    score = kilos - 2 + (ages - 1) + (where == "大阪 府")
    said = ["quantities, in kg", "20未満 < 20-39 < 40以上", "as '東京 都'"]
    return messy, clean, score, said, {}


def french_sensors(rng):
    """Coordinates, angles, temperatures in two scales, sentinels in three columns."""
    lat, lon = rng.uniform(43, 50, N), rng.uniform(-1, 7, N)
    celsius, bars = rng.normal(15, 8, N).round(1), rng.normal(5, 1, N).round(2)
    messy = {
        "position": [f"{a:.4f}, {b:.4f}" for a, b in zip(lat, lon, strict=True)],
        "relais": [f"{int(b)}°{int(b % 1 * 60):02d}'E" for b in lon + 2],
        "température": [f"{1.8 * c + 32:.2f} °F" if k % 3 == 0 else f"{c} °C"
                        for k, c in enumerate(celsius)],
        "pression": ["-999" if k % 13 == 0 else "-999.0" if k % 29 == 0 else b
                     for k, b in enumerate(bars)],
        "débit": ["non renseigné" if k % 15 == 0 else b for k, b in enumerate(bars[::-1])],
    }  # fmt: skip
    clean = {
        "lat": lat, "lon": lon, "relais": lon + 2, "température": celsius,
        "pression": ["" if k % 13 == 0 or k % 29 == 0 else b for k, b in enumerate(bars)],
        "débit": ["" if k % 15 == 0 else b for k, b in enumerate(bars[::-1])],
    }  # fmt: skip
    score = (lat - 46.5) / 2 + (celsius - 15) / 6 + (lon - 3) / 4
    said = ["(latitude)", "angles, in degrees", "quantities, in °C", "of -999 read as missing",
            "'non renseigné'"]  # fmt: skip
    return messy, clean, score, said, {"delimiter": ";"}


OFFICES = [german_clinic, american_survey, bank, japanese_shop, french_sensors]


def accuracy(run, path):
    code, out, err = run("fit", path, "--target", "y", "--json", "-o", "m.separatrix")
    assert code == 0, err
    return json.loads(out)["held_out"]["accuracy"], out + err


@pytest.mark.parametrize("office", OFFICES, ids=lambda office: office.__name__)
def test_an_export_is_read_like_the_table_that_is_cleaned_by_hand(office, run, tmp_path):
    rng = np.random.default_rng(5)
    messy, clean, score, said, how = office(rng)
    y = labels(rng, score)
    written(tmp_path / "messy.csv", {**messy, "y": y}, **how)
    written(tmp_path / "clean.csv", {**clean, "y": y}, **how)
    code, out, err = run("fit", "messy.csv", "--target", "y", "-o", "messy.separatrix")
    assert code == 0, err
    for words in said:
        assert words in out + err
    own = float(re.search(r"held out  accuracy ([\d.]+)", out)[1])
    code, out, err = run("fit", "clean.csv", "--target", "y", "-o", "clean.separatrix")
    by_hand = float(re.search(r"held out  accuracy ([\d.]+)", out)[1])
    assert abs(own - by_hand) <= 0.04


@pytest.mark.parametrize("office", OFFICES, ids=lambda office: office.__name__)
def test_an_export_is_read_in_passes_and_by_a_stored_encoding_as_in_memory(office, tmp_path):
    rng = np.random.default_rng(6)
    messy, _, score, _, how = office(rng)
    path = written(tmp_path / "messy.csv", {**messy, "y": labels(rng, score)}, **how)
    table, y = take_target(read_table(path, target="y"), "y")
    encoder = Encoder().fit(table, y)
    expected = dense(encoder.transform(table))
    data = scan(path, target="y", test_size=0.0, cache=str(tmp_path), single=False)
    assert list(data.feature_names) == encoder.feature_names_
    assert data.encoder.spellings_ == encoder.spellings_
    rows = np.vstack([dense(block.load().matrix) for block in data.blocks])
    assert np.abs(rows - expected).max() < 1e-12
    meta, arrays = encoder.state()
    loaded = Encoder.from_state(json.loads(json.dumps(meta)), arrays)
    own = read_table(path, target="y", spellings=loaded.spellings_).drop("y")
    assert np.array_equal(dense(loaded.transform(own)), expected)
    # Without it the texts of the same columns are read all the same.
    kinds = dict.fromkeys(loaded.spellings_, "category")
    as_text = read_table(path, target="y", kinds=kinds).drop("y")
    assert np.array_equal(dense(loaded.transform(as_text)), expected)
    with pytest.raises(ModelFileError):
        Encoder.from_state({**meta, "version": 99}, arrays)


def test_the_parts_of_a_date_that_some_rows_lack_are_one_hot_columns(tmp_path):
    rng = np.random.default_rng(5)
    messy, _, score, _, how = german_clinic(rng)
    path = written(tmp_path / "messy.csv", {**messy, "y": labels(rng, score)}, **how)
    found = diagnose_table(prepared_table(read_table(path, target="y"), "y"))
    (one_hot,) = (finding for finding in found if finding.code == "one_hot")
    # Months and weekdays share the feature of the rows without a date.
    assert sum("impfung=(missing)" in group for group in one_hot.where["groups"]) == 2
    assert "collinear" not in {finding.code for finding in found}


def dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def fitted(tmp_path, columns):
    path = written(tmp_path / "fit.csv", columns)
    table = read_table(path)
    return table, Encoder().fit(table)


def later(tmp_path, encoder, columns):
    """The rows of a later table, and the notes and alerts about it."""
    path = written(tmp_path / "later.csv", columns)
    table = read_table(path, spellings=encoder.spellings_)
    return dense(encoder.transform(table)), "\n".join(map(str, (*table.notes, *table.alerts)))


def test_later_tables_are_read_by_the_units_of_the_fit(tmp_path):
    _, encoder = fitted(tmp_path, {"w": [f"{k} kg" for k in range(1, 31)]})
    one, said = later(tmp_path, encoder, {"w": ["0.5 kg", "500 g", "3 furlongs"]})
    assert one[0] == one[1]
    assert "'3 furlongs'" in said
    assert "missing" in said


def test_values_of_lists_that_were_not_seen_are_named(tmp_path):
    ways = ["web", "web, mail", "mail, phone", "phone", "", "mail"] * 6
    table, encoder = fitted(tmp_path, {"w": ways, "x": range(36)})
    assert [n for n in encoder.feature_names_ if n[0] == "w"] == [
        "w (mail)",
        "w (phone)",
        "w (web)",
    ]
    assert table.n_missing == 6
    rows, said = later(tmp_path, encoder, {"w": ["fax, web", "WEB"], "x": [1, 2]})
    ones = rows[:, 1:] > 0
    assert ones.tolist() == [[False, False, True], [False, False, False]]
    assert "'WEB', 'fax'" in said


def test_a_column_that_is_taken_apart_is_asked_for_by_its_own_name(tmp_path):
    _, encoder = fitted(tmp_path, {"w": ["a", "a, b", "b, c", "c, a"] * 9, "x": range(36)})
    table = read_table(written(tmp_path / "later.csv", {"x": [1, 2]}))
    with pytest.raises(DataError, match="lacks the column 'w', which"):
        encoder.transform(table)


def test_levels_keep_their_spellings_where_the_user_says_so(tmp_path):
    path = written(tmp_path / "a.csv", {"plan": ["Pro", "PRO", "Free"] * 10, "y": [0, 1, 1] * 10})
    assert set(read_table(path).columns["plan"].tolist()) == {"Free", "Pro"}
    kept = read_table(path, kinds={"plan": "category"})
    assert set(kept.columns["plan"].tolist()) == {"Free", "PRO", "Pro"}


def test_all_levels_are_kept_apart_in_every_command(run, tmp_path):
    rng = np.random.default_rng(3)
    plans = [["Pro", "PRO", "Free"][k] for k in rng.integers(0, 3, N)]
    sure = [["Yes", "YES", "no", "No"][k] for k in rng.integers(0, 4, N)]
    y = [["Won", "WON", "lost"][k] for k in rng.integers(0, 3, N)]
    written(tmp_path / "a.csv", {"plan": plans, "sure": sure, "x": rng.normal(size=N), "y": y})
    given = ["a.csv", "--target", "y"]
    code, out, err = run("fit", *given, "-o", "merged.separatrix")
    assert code == 0
    assert "or with --keep-levels in all columns" in out + err
    for limit in ([], ["--memory", "1KB", "--model", "logistic"]):
        code, out, err = run("fit", *given, "--keep-levels", "-o", "m.separatrix", *limit)
        assert code == 0, err
        assert "levels" not in out + err
        stored = load_model("m.separatrix")
        assert {n for n in stored.encoder.feature_names_ if "plan" in n or "sure" in n} == {
            *("plan=Free", "plan=PRO", "plan=Pro"),
            *("sure=No", "sure=YES", "sure=Yes", "sure=no"),
        }
        assert sorted(stored.model.classes_) == ["WON", "Won", "lost"]
        # Labels are read as those of the fit were.
        code, out, err = run("evaluate", "m.separatrix", "a.csv")
        assert code == 0, err
        assert "WON" in out
    code, out, err = run("diagnose", *given, "--keep-levels")
    assert "read as one level" not in out + err
    table = read_table("a.csv", keep_levels=True)
    assert set(table.columns["sure"].tolist()) == {"Yes", "YES", "no", "No"}
    run("separable", *given, "--keep-levels", "--certificate", "c.json")
    code, out, err = run("check-certificate", "c.json", "a.csv")
    assert code == 0, err


# ----------------------------------------------------------------------------------------- targets


def test_a_label_that_may_be_missing_is_asked_about(run, tmp_path):
    x = np.arange(120.0)
    y = np.where(x > 60, "yes", "no").astype(object)
    y[::11] = "TBD"
    written(tmp_path / "a.csv", {"x": x, "y": y})
    code, _, err = run("fit", "a.csv", "--target", "y")
    assert code == 3
    assert "--missing 'TBD' and --drop-missing-target" in err
    assert "--kind 'y=category'" in err
    answers = (["--missing", "TBD", "--drop-missing-target"], ["--kind", "y=category"])
    for words, classes in zip(answers, (2, 3), strict=True):
        code, out, err = run(
            "fit", "a.csv", "--target", "y", *words, "--json", "-o", "m.separatrix"
        )
        assert code == 0, err
        assert len(json.loads(out)["model"]["classes"]) == classes
    with pytest.raises(DataError, match="'TBD'"):
        scan(tmp_path / "a.csv", target="y", cache=str(tmp_path))


@pytest.mark.parametrize("mark", ["x", "1"])
def test_a_target_of_one_label_or_none_is_asked_about(mark, run, tmp_path):
    x = np.arange(120.0)
    path = written(tmp_path / "a.csv", {"x": x, "y": np.where(x > 60, mark, "")})
    code, _, err = run("fit", "a.csv", "--target", "y")
    assert code == 3
    assert "'y=category'" in err
    code, out, err = run("fit", "a.csv", "--target", "y", "--kind", "y=category", "--json")
    assert code == 0, err
    assert json.loads(out)["model"]["classes"] == ["(blank)", mark]
    code, out, err = run("evaluate", "a.separatrix", "a.csv", "--json")
    assert code == 0, err
    with pytest.raises(DataError, match="or none"):
        scan(path, target="y", cache=str(tmp_path))
    data = scan(path, target="y", kinds={"y": "category"}, cache=str(tmp_path), test_size=0.0)
    assert data.classes.tolist() == ["(blank)", mark]
    assert data.class_rows.tolist() == [61, 59]


# ---------------------------------------------------------------------------------- two readings


@pytest.mark.parametrize(
    ("texts", "words", "number"),
    [
        ([f"{k % 12}:{k % 60:02d}" for k in range(40)], "minutes and seconds", 3660.0),
        ([f"{110 + k}/{70 + k % 9}" for k in range(40)], "pairs of numbers", None),
        ([f"{k} kg" if k % 2 else f"{k} Stk" for k in range(40)], "'Stk', 'kg'", None),
        ([f"{k}" if k % 2 else f"{k}-{k + 10}" for k in range(20, 60)], "as '20-30', and", None),
        (["20", "20-30", "from 25", "35"] * 10, "numbers and ranges such as '20-30'", None),
        ([f"${k}-${k + 9}" if k % 9 else f"from ${k}" for k in range(90)], "and ranges", None),
    ],
)
def test_two_readings_are_named_and_neither_is_taken(texts, words, number, tmp_path):
    path = written(tmp_path / "a.csv", {"c": texts})
    table = read_table(path)
    assert table.kinds["c"] == "category"
    assert words in "\n".join(map(str, table.alerts))
    if number is not None:
        assert read_table(path, kinds={"c": "number"}).columns["c"][1] == number


def test_what_is_no_quantity_stays_as_it_is(tmp_path):
    columns = {
        "city": ["Berlin, DE", "Paris, FR", "Rome, IT"] * 12,
        "genotype": ["AA", "Aa", "aa"] * 12,
        "score": ["3-2", "1-0", "0-2"] * 12,
        "class": ["5a", "7b", "6c"] * 12,
        "rank": ["1st", "2nd", "3rd"] * 12,
        "month": ["2020-01", "2020-02", "2021-01"] * 12,
        "person": ["Doe, Jane", "Roe, Max", "Poe, Edgar"] * 12,
        "accents": ["pêche", "péché", "poire"] * 12,
        "phone": [f"555-{1000 + 37 * k}" for k in range(36)],
        "part": [f"{k * 7919 % 97}-{k * 104729 % 89}" for k in range(36)],
    }
    table = read_table(written(tmp_path / "a.csv", columns))
    assert set(table.kinds.values()) == {"category"}
    assert not table.spellings
    assert not table.alerts


def test_numbers_that_are_all_in_brackets_are_named(tmp_path):
    losses = [f"({1 + k},{k:03d})" if k % 5 else "0" for k in range(100, 140)]
    balances = [text.strip("()") if k % 3 else text for k, text in enumerate(losses)]
    path = written(tmp_path / "a.csv", {"loss": losses, "balance": balances})
    table = read_table(path, decimal=".")
    (alert,) = table.alerts
    assert alert.startswith(
        "column 'loss': all numbers are in brackets, and so are read as negative"
    )
    assert "'(102,101)' as -102101" in alert
    assert table.columns["loss"].max() == 0.0 and table.columns["balance"].max() > 0.0


def test_a_few_cells_in_no_known_unit_are_named(tmp_path):
    texts = ["3 Stk" if k == 7 else f"{k} kg" if k % 2 else f"{k + 1}00 g" for k in range(40)]
    table = read_table(written(tmp_path / "a.csv", {"w": texts}))
    assert table.kinds["w"] == "number"
    assert table.n_missing == 1
    assert "'3 Stk' in row 8" in table.alerts[0]


# ------------------------------------------------------------------------------------------ parts


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**7))
def test_a_duration_is_read_in_every_way_to_write_it(seconds):
    days, rest = divmod(seconds, 86_400)
    h, m, s = rest // 3600, rest // 60 % 60, rest % 60
    ways = [
        str(datetime.timedelta(seconds=seconds)),
        f"{24 * days + h}:{m:02d}:{s:02d}",
        f"P{days}DT{h}H{m}M{s}S",
        f"{days}d {h}h {m}m {s}s",
        f"{days} Tage, {h} Std {m} Min und {s} Sek",
        f"{seconds} s",
    ]
    form = ValueFormat("measure", unit="s")
    assert [form.number(text) for text in ways] == [float(seconds)] * len(ways)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["g", "lb", "°F", "ft", "km/h"]), st.sampled_from(["kg", "°C", "m", "m/s"]))
def test_conversions_there_and_back_are_inverse(one, other):
    there, back = conversion(one, other), conversion(other, one)
    assert (there is None) == (back is None)
    if there and back:
        assert there[0] * back[0] == pytest.approx(1.0)
        assert back[0] * there[1] + back[1] == pytest.approx(0.0, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(st.sampled_from("aAbB .é"), min_size=1), st.integers(1, 50)))
def test_names_of_levels_are_among_the_levels_and_are_their_own(counts):
    names = merged_levels(counts)
    assert set(names.values()) <= set(counts)
    if names:
        form = ValueFormat("levels", words=tuple(sorted(set(names.values()))))
        assert {text: form.word(text) for text in names} == names
        assert all(counts[name] >= counts[text] for text, name in names.items())


def test_spellings_that_may_be_slips_are_named_alone():
    assert [one.text for one in misspellings({"Female": 300, "Femal": 3, "Male": 200})] == ["Femal"]
    assert not misspellings({"Type A": 300, "Type B": 3, "Type C": 200})
    assert not misspellings({"Female": 300, "Femal": 200, "Male": 200})
    # The most frequent of several frequent levels is taken, and the first of equally frequent ones.
    counts = {"parse": 400, "horse": 400, "house": 900, "hourse": 3, "house7": 3, "morse": 15}
    found = {one.text: (one.frequent, one.of) for one in misspellings(counts)}
    assert found == {"hourse": ("house", 900), "morse": ("horse", 400)}


@pytest.mark.parametrize(
    "state",
    [
        {"kind": "measure"},
        {"kind": "measure", "unit": "s", "order": "year-first"},
        {"kind": "list", "unit": "x", "words": ["a"]},
        {"kind": "list", "unit": ",", "words": ["a", "a"]},
        {"kind": "coordinates", "words": ["a", "b"]},
        {"kind": "amounts", "words": ["€"]},
        {"kind": "levels"},
        {"kind": "share", "words": ["a"]},
        {"kind": "weight"},
    ],
)
def test_a_damaged_format_is_refused(state):
    with pytest.raises(ValueError, match="spelling"):
        ValueFormat.from_state(state)


def test_formats_survive_a_file():
    columns = [
        ["1:02:33", "45:10"] * 10,
        ["5'6\"", "6'"] * 10,
        ["€5", "$6"] * 10,
        ["7 of 10", "3 of 9"] * 10,
        ["52.5200, 13.4050", "48.1000, 120.5000"] * 10,
        ["POINT(13.4 52.5)", "POINT(14.4 51.5)"] * 10,
        ["Pro", "pro", "x"] * 10,
    ]
    kinds = ["measure", "measure", "amounts", "share", "coordinates", "coordinates", "levels"]
    for texts, kind in zip(columns, kinds, strict=True):
        found = find_spelling(texts)
        assert found is not None
        assert found.spelling.kind == kind
        assert ValueFormat.from_state(found.spelling.state()) == found.spelling
    assert find_spelling(columns[5]).spelling.words == ("longitude", "latitude")
