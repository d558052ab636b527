"""Exports in which a random split flatters: entities that repeat, drift, columns that give away."""

from __future__ import annotations

import csv
import json
import shlex
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import compare
from separatrix.assessment.entities import likely_group
from separatrix.assessment.leaks import single_scores
from separatrix.assessment.periods import by_groups
from separatrix.cli.commands.fit import training
from separatrix.data.splitting import drawn_folds, time_folds, time_parts
from separatrix.tables import Table
from separatrix.tables.row_times import likely_time


def accuracy(ran: Any, label: str) -> float:
    return float(ran.line(label).split()[1])


@pytest.fixture
def export(tmp_path):
    """Write columns as an office does: its delimiter, its decimal mark, its encoding."""

    def write(
        name: str, columns: dict[str, Any], *, delimiter: str = ",", decimal: str = "."
    ) -> str:
        def cell(value: Any) -> str:
            if isinstance(value, (float, np.floating)):
                return "" if np.isnan(value) else f"{value:.3f}".replace(".", decimal)
            return str(value)

        with open(tmp_path / name, "w", newline="", encoding="utf-8-sig") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(columns)
            writer.writerows([map(cell, row) for row in zip(*columns.values(), strict=True)])
        return name

    return write


def visits(seed: int, n_patients: int = 80, each: int = 12) -> dict[str, np.ndarray]:
    """Visits of patients, in the order of the day: their values are much alike, and one outcome."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.repeat(np.arange(n_patients), each))
    base = rng.normal(size=(10, n_patients))
    values = base[:, patient] + 0.3 * rng.normal(size=(10, len(patient)))
    ill = rng.uniform(size=n_patients) < 0.45
    return {"patient": patient, "values": values, "ill": ill[patient]}


# --- entities ---------------------------------------------------------------------------------


def test_a_german_hospital_exports_visits(run, export):
    found = visits(0)
    names = ["Puls", "RR_sys", "RR_dia", "Temp", "CRP", "Leuko", "Na", "K", "Hb", "Krea"]
    columns = {"PatientenNr": [f"{8000 + 37 * p % 1000}" for p in found["patient"]]}
    columns |= dict(zip(names, 50.0 + 10.0 * found["values"], strict=True))
    columns["Befund"] = np.where(found["ill"], "krank", "gesund")
    data = export("besuche.csv", columns, delimiter=";", decimal=",")
    first = run("fit", data, "--target", "Befund", "-o", "a.separatrix")
    assert first.code == 0
    line = first.line("by group")
    assert line.endswith("('PatientenNr' repeats: its rows on one side; --group PatientenNr)")
    warned = "rows of one 'PatientenNr' resemble one another"
    assert (warned in first.err) == (
        accuracy(first, "by group") < accuracy(first, "held out") - 0.1
    )
    # Beside it stands what the named option gives, up to the looser tolerance.
    named = run("fit", data, "--target", "Befund", "--group", "PatientenNr", "-o", "b.separatrix")
    assert "by group" not in named.out
    assert abs(accuracy(named, "held out") - accuracy(first, "by group")) <= 0.01


def test_a_french_clinic_whose_model_learns_the_patients(run, export):
    found = visits(1)
    columns = {"n° dossier": [f"FR-{p * 7919 % 10007:05}" for p in found["patient"]]}
    columns |= {f"mesure {j}": one for j, one in enumerate(found["values"], start=1)}
    columns["sortie"] = np.where(found["ill"], "réadmis", "domicile")
    data = export("séjours.csv", columns, delimiter=";", decimal=",")
    ran = run("fit", data, "--target", "sortie", "-o", "a.separatrix", "--json")
    document = json.loads(ran.out)
    shown = run("info", "a.separatrix")
    assert shown.line("by group").endswith("--group 'n° dossier')")
    (other,) = (one for one in document["other_scores"] if one["by"] == "group")
    assert other["columns"] == ["n° dossier"]
    # A level for each patient learns them by heart.
    assert document["held_out"]["accuracy"] > 0.95 > 0.7 > other["scores"]["accuracy"]
    assert any("--group 'n° dossier' splits so" in one for one in document["warnings"])
    # What names the entities is no leak.
    assert all(one["by"] == "group" for one in document["other_scores"])


def orders(seed: int, n: int = 2000) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    store, product, country = (rng.integers(k, size=n) for k in (25, 60, 30))
    price = np.exp(rng.normal(3.0, 1.0, 60))[product]
    effects = [rng.normal(0.0, 0.6, k)[one] for k, one in ((25, store), (60, product))]
    returned = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-sum(effects)))
    return {
        "store": [f"Store {k}" for k in store],
        "product": [f"SKU-{37 * k % 997:03}" for k in product],
        "country": [f"C{k}" for k in country],
        "price": price,
        "category": np.array(list("abcdef"))[rng.integers(6, size=60)[product]],
        "quantity": rng.integers(1, 6, n),
        "basket": rng.lognormal(3.0, 1.0, n),
        "returned": np.where(returned, "yes", "no"),
    }


def test_a_shop_whose_stores_products_and_countries_are_categories(run, export):
    data = export("orders.csv", orders(2))
    ran = run("fit", data, "--target", "returned", "-o", "a.separatrix")
    assert ran.code == 0
    labels = {line[:10].strip() for line in ran.out.splitlines()}
    assert not labels & {"by group", "by time", "without"}
    assert (
        ran.err
        == "warning   columns 'price' and 'product' are one-to-one: each determines the other\n"
    )


def test_a_panel_of_stores_with_columns_of_their_own_raises_no_alarm():
    rng = np.random.default_rng(3)
    place = np.repeat(np.arange(100), 20)
    columns = {
        "size": rng.normal(100.0, 20.0, 100)[place],
        "staff": rng.integers(3, 20, 100)[place].astype(float),
        "customers": rng.normal(500.0, 100.0, 100)[place] + rng.normal(0.0, 50.0, 2000),
    }
    names = [f"F{k * 7 % 1000:03}" for k in place]
    y = rng.integers(2, size=2000)
    assert likely_group(Table.from_columns({"Filiale": names, **columns}), y) is None
    # The same rows of machines, of which others will come.
    found = likely_group(Table.from_columns({"machine": names, **columns}), y)
    assert found.column == "machine" and found.n_values == 100


def test_quantities_that_repeat_are_no_names():
    rng = np.random.default_rng(4)
    z = rng.normal(size=600)
    table = Table.from_columns(
        {
            "displacement": (200.0 + 80.0 * z).round(-1),
            "weight": 3000.0 + 600.0 * z + 100.0 * rng.normal(size=600),
            "power": 100.0 + 30.0 * z + 5.0 * rng.normal(size=600),
            "customer_age": np.clip(45.0 + 15.0 * rng.normal(size=600), 18, 90).round(),
        }
    )
    assert likely_group(table, z > 0) is None


# --- time ---------------------------------------------------------------------------------------


def drifting(seed: int, n: int = 1500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, n))
    sign = np.where(np.arange(n) < 0.75 * n, 1.5, -1.0)
    return x, rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-sign * x[0] - 0.3 * x[1])), np.arange(n)


def test_a_japanese_shop_drifts(run, export):
    x, bought, order = drifting(5)
    start = np.datetime64("2022-04-01")
    days = [str(start + int(k) // 2).replace("-", "/") for k in order]
    columns = {"注文日": days, "金額": x[0], "年齢": x[1], "訪問": x[2]}
    data = export("売上.csv", {**columns, "購入": np.where(bought, "はい", "いいえ")})
    first = run("fit", data, "--target", "購入", "-o", "a.separatrix")
    # The shell takes these letters with quotation marks as well as without.
    assert first.line("by time").endswith("(the latest rows by '注文日'; --time '注文日')")
    assert accuracy(first, "by time") < accuracy(first, "held out") - 0.1
    assert "the latest rows by '注文日' are predicted worse than rows at random" in first.err
    named = run("fit", data, "--target", "購入", "--time", "注文日", "-o", "b.separatrix")
    assert abs(accuracy(named, "held out") - accuracy(first, "by time")) <= 0.01
    # Folds in the order of time see it, too, and the parts of the rows show when it began.
    words = ("compare", data, "--target", "購入", "--models", "logistic,constant", "--json")
    random, forward = (
        json.loads(run(*words, *more).out)["models"][0] for more in ((), ("--time", "注文日"))
    )
    assert forward["score"] < random["score"]
    assert shlex.split(forward["command"])[4] == "--time=注文日"
    ran = run("evaluate", "b.separatrix", data, "--time", "注文日", "--json")
    parts = [one["scores"]["accuracy"] for one in json.loads(ran.out)["times"]]
    assert len(parts) == 5 and min(parts[:3]) > 0.65 > 0.5 > parts[4]


def test_dates_of_birth_are_no_times():
    rng = np.random.default_rng(6)
    born = np.datetime64("1940-01-01") + rng.integers(0, 24_000, 300)
    hired = np.datetime64("2019-01-01") + rng.integers(0, 1_500, 300)
    age = {"age": rng.normal(size=300)}
    assert likely_time(Table.from_columns({"Geburtsdatum": born, **age})) is None
    assert likely_time(Table.from_columns({"date": born, **age})) is None
    late = Table.from_columns({"Geburtsdatum": born, "Eintritt": hired, **age})
    assert likely_time(late) == "Eintritt"
    # A date by which the rows are in order is their time, however long it lasts.
    assert likely_time(Table.from_columns({"date": np.sort(born), **age})) == "date"


def test_a_path_along_time(run, export):
    x, bought, order = drifting(7, 600)
    columns = {"day": order + 1000.0, "a": x[0], "b": x[1]}
    data = export("days.csv", {**columns, "y": np.where(bought, "p", "n")})
    words = ("path", data, "--target", "y", "--cv", 3, "--values", "0.1,1", "--json")
    document = json.loads(run(*words, "--time", "day").out)
    X = np.column_stack(list(columns.values()))
    y = np.where(bought, "p", "n")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = compare(X, y, ["logistic"], cv=3, times=columns["day"], standardise=False)
    assert np.allclose(np.array(document["scores"])[:, 1], found.best.scores, atol=0.01)


# --- leaks --------------------------------------------------------------------------------------


def test_an_american_bank_knows_what_was_repaid(run, export, undrawn):
    rng = np.random.default_rng(8)
    n = 1500
    amount, rate = rng.lognormal(9.0, 0.6, n), rng.normal(12.0, 3.0, n)
    bad = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(1.5 - 0.3 * (rate - 12.0)))
    share = np.where(bad, rng.uniform(0.1, 0.8, n), rng.uniform(0.97, 1.0, n))
    last = np.where(bad, rng.uniform(0.0, 330.0, n), rng.uniform(290.0, 900.0, n))
    columns = {
        "loan_amnt": [f"${one:,.2f}" for one in amount],
        "int_rate": [f"{one:.2f}%" for one in rate],
        "purpose": rng.choice(["car", "debt", "home"], n),
        "total_pymnt": amount * (1.0 + rate / 100.0) * share,
        "last_pymnt": last,
        "status": np.where(bad, "Charged Off", "Fully Paid"),
    }
    data = export("loans.csv", columns)
    ran = run("fit", data, "--target", "status", "-o", "a.separatrix")
    assert accuracy(ran, "held out") > 0.95
    assert "column 'last_pymnt' alone predicts held-out rows with ROC AUC 0.9" in ran.err
    assert "column 'total_pymnt' nearly gives the target away together with others" in ran.err
    assert ran.line("without").endswith("--ignore last_pymnt --ignore total_pymnt)")
    # The same as the table without them.
    words = ("--ignore", "last_pymnt", "--ignore", "total_pymnt", "-o", "b.separatrix")
    alerts = json.loads(run("report", "a.separatrix", data, "-o", "a.html", "--json").out)["alerts"]
    first = alerts["findings"][0]
    assert first["code"] == "gives_label_away"
    assert first["where"]["columns"] == ["last_pymnt", "total_pymnt"]
    clean = run("fit", data, "--target", "status", *words)
    assert "without" not in {line[:10].strip() for line in clean.out.splitlines()}
    assert abs(accuracy(clean, "held out") - accuracy(ran, "without")) <= 0.04


def test_two_columns_that_make_up_for_each_other_give_the_target_away(run, export, undrawn):
    rng = np.random.default_rng(9)
    n = 1200
    amount, rate = rng.uniform(1_000, 35_000, n).round(), rng.normal(12.0, 4.0, n).round(2)
    lost = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-(rate - 13.0) / 4.0))
    columns = {
        "amount": amount,
        "rate": rate,
        "repaid": (amount * np.where(lost, rng.uniform(0.05, 0.75, n), 1.1)).round(2),
        "recovered": (amount * rng.uniform(0.0, 0.2, n) * (lost & (rng.uniform(size=n) < 0.9))),
    }
    data = export("loans.csv", {**columns, "status": np.where(lost, "lost", "paid")})
    ran = run("fit", data, "--target", "status", "-o", "a.separatrix")
    for name in ("repaid", "recovered"):
        assert f"column '{name}' nearly gives the target away together with others" in ran.err
        assert f"--ignore {name}" in ran.line("without")
    assert accuracy(ran, "held out") > 0.95 > 0.8 > accuracy(ran, "without")


@pytest.mark.parametrize("leaks", [False, True])
def test_some_of_many_rows_tell_that_a_column_is_no_leak(run, export, monkeypatch, leaks):
    fitted = []
    fit = training.SplitRows.fit
    monkeypatch.setattr(
        training.SplitRows,
        "fit",
        lambda rows, model: (fitted.append(len(rows.given[1])), fit(rows, model))[1],
    )
    rng = np.random.default_rng(9)
    x = rng.normal(size=(3, 13_000))
    z = 3.0 * (x[0] + x[1] if leaks else x.sum(axis=0))
    y = np.where(rng.uniform(size=x.shape[1]) < 1.0 / (1.0 + np.exp(-z)), "yes", "no")
    if leaks:
        x[1] = z + x[0] * 2.0 + 0.3 * rng.normal(size=x.shape[1])
    data = export("many.csv", {"a": x[0], "b": x[1], "c": x[2], "y": y})
    ran = run("fit", data, "--target", "y", "-o", "a.separatrix")
    assert ("'b' nearly gives the target away together with others" in ran.err) == leaks
    assert fitted[:2] == [10_400, 5_000]
    assert (10_400 in fitted[1:]) == leaks


def test_what_is_missing_for_one_class_gives_it_away(run, export):
    rng = np.random.default_rng(9)
    n = 800
    x = rng.normal(size=(2, n))
    left = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-x[0]))
    columns = {
        "tenure": x[0],
        "calls": x[1],
        "refund": np.where(left & (rng.uniform(size=n) < 0.995), rng.normal(50.0, 10.0, n), np.nan),
        "churned": np.where(left, "yes", "no"),
    }
    ran = run("fit", export("churn.csv", columns), "--target", "churned", "-o", "a.separatrix")
    assert "refund" in ran.err
    assert ran.line("without").endswith("(without 'refund'; --ignore refund)")
    assert accuracy(ran, "without") < 0.8 < accuracy(ran, "held out")


def test_a_weekday_that_gives_the_target_away_is_a_column_of_dates(run, export):
    rng = np.random.default_rng(12)
    weeks, closed = rng.integers(0, 50, 400), rng.uniform(size=400) < 0.4
    days = np.datetime64("2024-01-01") + 7 * weeks + np.where(closed, 5, rng.integers(0, 5, 400))
    columns = {
        "sales": rng.normal(size=400) - closed,
        "day": days.astype(str),
        "closed": np.where(closed, "yes", "no"),
    }
    ran = run("fit", export("shop.csv", columns), "--target", "closed")
    assert "'day (weekday)=Sat'" in ran.err and "together with others" not in ran.err
    assert ran.line("without").endswith("(without 'day'; --ignore day)")
    assert accuracy(ran, "without") < 0.8 < accuracy(ran, "held out")


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_a_quantity_in_any_unit_is_given_away(unit):
    rng = np.random.default_rng(8)
    y = unit * rng.normal(size=400)
    table = Table.from_columns({"again": 2.0 * y, "noise": rng.normal(size=400)})
    found = single_scores(table, y, np.arange(300), np.arange(300, 400), quantity=True)
    assert found["again"] == pytest.approx(1.0) and found["noise"] < 0.1


def test_a_price_in_another_currency(run, export):
    rng = np.random.default_rng(10)
    n = 600
    area, rooms = rng.normal(80.0, 20.0, n), rng.integers(1, 6, n)
    price = 2000.0 * area + 5000.0 * rooms + rng.normal(0.0, 30_000.0, n)
    columns = {
        "area": area,
        "rooms": rooms,
        "price_usd": price * rng.normal(1.08, 0.005, n),
        "price": price,
    }
    ran = run("fit", export("flats.csv", columns), "--target", "price", "-o", "a.separatrix")
    assert "column 'price_usd' alone predicts held-out rows with R^2 0.99" in ran.err
    assert 0.4 < float(ran.line("without").split()[1]) < 0.9 < accuracy(ran, "held out")


def test_a_deposit_that_is_not_always_known_gives_the_rent_away(run, export):
    rng = np.random.default_rng(12)
    n = 900
    area = rng.normal(75.0, 20.0, n)
    rent = 12.0 * area + rng.normal(0.0, 90.0, n)
    known = rng.uniform(size=n) < 0.8
    deposit = np.where(known, (3.0 * rent / 50.0).round() * 50.0, np.nan)
    noise = np.where(known, rng.normal(size=n), np.nan)
    columns = {
        "area": area,
        "deposit": ["" if np.isnan(one) else one for one in deposit],
        "noise": ["" if np.isnan(one) else one for one in noise],
        "rent": rent,
    }
    ran = run("fit", export("rents.csv", columns), "--target", "rent", "-o", "a.separatrix")
    assert "column 'deposit' alone predicts held-out rows with R^2 0.99" in ran.err
    # What predicts well without being a copy is no leak, and neither is what is only missing.
    assert "'area'" not in ran.err and "'noise'" not in ran.err
    assert ran.line("without").endswith("--ignore deposit)")


def test_one_good_predictor_is_no_leak(run, export):
    rng = np.random.default_rng(13)
    n = 700
    income, balance = rng.normal(size=n), rng.normal(size=n)
    bad = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(3.2 * income + 1.9 * balance))
    columns = {"income": income, "balance": balance, "bad": np.where(bad, "yes", "no")}
    ran = run("fit", export("bank.csv", columns), "--target", "bad", "-o", "a.separatrix")
    assert 0.9 < float(ran.line("held out").split("ROC AUC")[1].split()[0]) < 0.95
    assert "gives the target away" not in ran.err


# --- alerts, signs ------------------------------------------------------------------------------


@pytest.fixture
def crm(export):
    """Customers of one country, with an id, a link and a column that nobody fills in."""
    rng = np.random.default_rng(11)
    n = 600
    x = rng.normal(size=(2, n))
    won = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * x[0]))
    columns = {
        "id": 70_001 + 13 * rng.permutation(n),
        "link": [f"https://crm.example/{k}" for k in range(n)],
        "currency": ["EUR"] * n,
        "country": ["DE"] * n,
        "fax": [""] * n,
        "revenue": x[0],
        "age": x[1],
        "stage": np.where(won, "a won", "lost"),
    }
    return export("crm.csv", columns)


def test_ids_and_constants_share_a_line_below_what_is_graver(run, crm):
    ran = run("fit", crm, "--target", "stage", "-o", "a.separatrix")
    assert ran.err.splitlines() == [
        "warning   5 columns are left out: 'id' and 'link' identify rows, 'currency' and 'country' "
        "are constant, 'fax' has no value"
    ]
    findings = json.loads(run("diagnose", crm, "--target", "stage", "--json").out)["findings"]
    assert [one["code"] for one in findings].count("left_out") == 1


def test_weights_that_spoil_probabilities(run, crm):
    words = ("fit", crm, "--target", "stage", "-o", "a.separatrix")
    balanced = run(*words, "--class-weight", "balanced")
    assert "class weights shift the probabilities: their mean for 'a won' is" in balanced.err
    assert "--calibrate sigmoid" in balanced.err
    assert "class weights" not in run(*words).err


def test_signs_are_towards_the_positive_class(run, crm, undrawn, tmp_path):
    words = ("fit", crm, "--target", "stage", "-o", "a.separatrix", "--penalty", "none")
    for positive, sign in (("a won", 1.0), ("lost", -1.0)):
        ran = run(*words, "--positive", positive, "--report", "a.html", "--json")
        document = json.loads(ran.out)
        first = document["weights"][0]
        assert (first["feature"], first["class"]) == ("revenue", positive)
        assert np.sign(first["weight"]) == sign
        info = json.loads(run("info", "a.separatrix", "--json").out)
        assert info["provenance"]["weights"][0] == first
        side = "towards" if sign > 0.0 else "away from"
        assert f"revenue  {side} {positive}" in run("info", "a.separatrix").out
        summary = json.loads(run("summary", "a.separatrix", "--json").out)["summary"]
        assert summary["target"].startswith(f"stage: odds of {positive} against")
        by_name = {one["name"]: one for one in summary["coefficients"]}
        revenue = by_name["revenue"]
        assert np.sign(revenue["estimate"]) == np.sign(revenue["statistic"]) == sign
        assert revenue["lower"] < revenue["estimate"] < revenue["upper"]
        assert np.isclose(revenue["odds_ratio"], np.exp(revenue["estimate"]))
        report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["weights"]
        assert report["outputs"] == [positive]
        assert np.sign(report["columns"][0]["features"][0]["weight"][0]) == sign
        assert np.isclose(report["constant"][0], by_name["(intercept)"]["estimate"], rtol=1e-4)


# --- refusals, and the folds --------------------------------------------------------------------


def test_refusals(run, export):
    columns = {"day": [1, 1, 2, 2] * 10, "name": list("abcd") * 10, "x": np.arange(40.0)}
    data = export("t.csv", {**columns, "y": ["n", "p"] * 20})
    for command in ("compare", "path"):
        words = (command, data, "--target", "y", "--cv", 3)
        both = run(*words, "--time", "day", "--group", "name")
        assert both.code == 2 and "--time and --group choose the rows to hold out" in both.err
        few = run(*words, "--time", "day")
        assert few.code == 3
        assert "4 parts that follow in time need as many different times" in few.err
        text = run(*words, "--time", "name")
        assert text.code == 3 and "--time name: column 'name' holds 'a', which is not a time" in (
            text.err
        )
    alone = run("path", data, "--target", "y", "--time", "day")
    assert alone.code == 2 and "--time orders the folds of a cross-validation" in alone.err


def test_a_class_that_comes_late_is_refused():
    times, classes = np.arange(20.0), np.repeat(["early", "late"], 10)
    with pytest.raises(ValueError, match="fold 1 of 3 in the order of time has no row of class"):
        time_folds(times, 3, classes)
    with pytest.raises(ValueError, match="give no groups beside them"):
        drawn_folds(3, np.zeros((20, 1)), classes, groups=times, times=times)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=8, max_size=60), st.integers(2, 6), st.integers(0, 99))
def test_folds_in_time_never_fit_what_is_later(times, count, seed):
    times = np.array(times, dtype=float)
    if len(np.unique(times)) <= count:
        with pytest.raises(ValueError, match="different times"):
            time_folds(times, count)
        return
    weights = np.random.default_rng(seed).integers(0, 3, len(times)).astype(float)
    used = weights > 0.0
    if len(np.unique(times[used])) <= count:
        return
    held_rows: list[int] = []
    for fitted, held in time_folds(times, count, weights=weights):
        assert len(fitted) and len(held)
        assert times[fitted].max() < times[held].min()
        assert used[fitted].all() and used[held].all()
        held_rows += held.tolist()
    assert len(set(held_rows)) == len(held_rows)
    parts = time_parts(times, count)
    assert set(parts.tolist()) == set(range(count))


def test_the_interval_of_groups_holds_its_level():
    """Nineteen of twenty intervals hold the mean of all groups; Wilson's hold it far less often."""
    rng = np.random.default_rng(12)
    hits = 0
    for _ in range(400):
        share = rng.beta(1.0, 1.0, 40)
        right = rng.uniform(size=(40, 15)) < share[:, None]
        low, high = by_groups(right.ravel() * 1.0, np.repeat(np.arange(40), 15))["interval"]
        hits += low <= 0.5 <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_the_score_of_a_column_with_missing_cells_is_computed_without_a_warning():
    rng = np.random.default_rng(3)
    y, x = rng.integers(0, 2, 300), rng.normal(size=300)
    x[y == 1] += 1.0
    x[::7] = np.nan
    rows = rng.permutation(300)
    with np.errstate(all="raise"):
        found = single_scores(
            Table.from_columns({"x": x}), y, rows[:200], rows[200:], quantity=False
        )
    assert 0.6 < found["x"] < 0.9


def test_the_ranges_of_a_leak_are_in_the_units_of_the_table(run, export):
    rng = np.random.default_rng(8)
    late = rng.random(200) < 0.5
    days = np.datetime64("2021-03-01") + np.where(late, 40, 0) + rng.integers(0, 30, 200)
    fee = np.where(late, 25.0, 3.0) + rng.integers(0, 15, 200) / 2
    noise = rng.normal(size=200).round(3)
    y = np.where(late, "late", "paid")
    path = export("bills.csv", {"sent": days.astype(str), "fee": fee, "noise": noise, "y": y})
    ends = {name: [[own[late == one].min(), own[late == one].max()] for one in (False, True)]
            for name, own in (("sent", days), ("fee", fee))}  # fmt: skip
    for words in (["fit", path, "--target", "y"], ["diagnose", path, "--target", "y"]):
        ran = run(*words)
        printed = " ".join((ran.out + ran.err).split())
        for name, (first, last) in ends.items():
            ranges = [f"{a:.6g} to {b:.6g}" if name == "fee" else f"{a} to {b}"
                      for a, b in (first, last)]  # fmt: skip
            assert f"it is {ranges[0]} for 'paid' and {ranges[1]} for 'late'" in printed
