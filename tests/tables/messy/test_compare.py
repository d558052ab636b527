"""Exports as offices make them, compared by one command without options."""

from __future__ import annotations

import json

import numpy as np
import pytest


def _scores(printed: str) -> dict[str, float]:
    return {one["model"]: one["score"] for one in json.loads(printed)["models"]}


def _bank(path, n=420, *, messy: bool) -> None:
    """Loans of a German bank: semicolons, decimal commas, euro signs, dates, trailing minus."""
    rng = np.random.default_rng(4)
    income, saldo = rng.gamma(4.0, 700.0, n), rng.normal(0.0, 900.0, n)
    month, branch = rng.integers(1, 13, n), rng.choice(["Köln", "Bonn", "Aachen"], n)
    default = -income / 900.0 - saldo / 600.0 + (branch == "Bonn") + rng.logistic(size=n) > -3.0
    lines = ["Einkommen;Saldo;Eröffnet;Filiale;Ausfall" if messy else "e,s,o,f,Ausfall"]
    for i in range(n):
        answer = "ja" if default[i] else "nein"
        if messy:
            euro = f"{income[i]:,.2f}".translate(str.maketrans(",.", ".,")) + " €"
            size = f"{abs(saldo[i]):,.2f}".translate(str.maketrans(",.", ".,"))
            signed = size + ("-" if saldo[i] < 0.0 else "")
            opened = f"{1 + i % 28:02d}.{month[i]:02d}.2021"
            lines.append(f"{euro};{signed};{opened};{branch[i]};{answer}")
        else:
            opened = f"2021-{month[i]:02d}-{1 + i % 28:02d}"
            lines.append(f"{income[i]:.2f},{saldo[i]:.2f},{opened},{branch[i]},{answer}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_bank_is_compared_as_its_clean_table_is(run, tmp_path) -> None:
    _bank(tmp_path / "bank.csv", messy=True)
    _bank(tmp_path / "clean.csv", messy=False)
    found = []
    # The default budget is of wall clock, and a busy machine may not finish within it.
    words = "--target", "Ausfall", "--cv", "3", "--budget", "3600", "--json"
    for name in ("bank.csv", "clean.csv"):
        code, out, _ = run("compare", name, *words)
        assert code == 0
        found.append(_scores(out))
    assert found[0].keys() == found[1].keys() and len(found[0]) == 9
    for name, score in found[0].items():
        assert score == pytest.approx(found[1][name], abs=0.04)
    assert max(found[0].values()) > found[0]["constant"] + 0.05


def test_many_classes_and_a_wide_text_end_within_the_budget(run, tmp_path) -> None:
    rng = np.random.default_rng(7)
    words = [f"Wort{i}" for i in range(300)]
    lines = ["Beschreibung,Preis,Warengruppe"]
    for _ in range(300):
        kind = int(rng.integers(0, 12))
        text = " ".join([*rng.choice(words, 6), f"Art{kind}"])
        lines.append(f"{text},{rng.gamma(2.0, 9.0):.2f},G{kind:02d}")
    (tmp_path / "shop.csv").write_text("\n".join(lines) + "\n")
    options = "--target", "Warengruppe", "--budget", "1", "--cv", "3", "--json"
    code, out, _ = run("compare", "shop.csv", *options)
    document = json.loads(out)
    assert code == 0 and document["budget"] == 1.0 and len(document["models"]) == 9
    whole = [one for one in document["models"] if one["folds_scored"] == 3]
    # Models that the budget cut off are marked, and stand below those that were finished.
    assert document["models"][: len(whole)] == whole
    for one in document["models"][len(whole) :]:
        assert one["why"] or "budget of 1 s" in one["stopped"]


def test_a_count_of_a_hospital_beside_the_yardstick(run, tmp_path) -> None:
    rng = np.random.default_rng(9)
    n = 300
    age, ward = rng.integers(18, 95, n), rng.choice(["A 1", "A 2", "B"], n)
    stays = rng.poisson(np.exp((age - 50) / 40.0 + 0.8 * (ward == "B")))
    lines = ["Alter;Station;Nächte"]
    lines += [f"{a};{w};{s}" for a, w, s in zip(age, ward, stays, strict=True)]
    (tmp_path / "ward.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = "--target", "Nächte", "--kind", "Nächte=number", "--cv", "3", "--budget", "3600"
    code, out, _ = run("compare", "ward.csv", *words, "--yardstick")
    assert code == 0 and "  poisson" in out and "  boosting" in out
    assert "HistGradientBoostingRegressor at its defaults" in out


def test_a_report_has_the_scores_of_the_groups_that_were_named(run, undrawn, tmp_path) -> None:
    rng = np.random.default_rng(11)
    lines = ["praxis,bmi,raucher,sex,krank"]
    for i in range(400):
        place, smokes = i % 5, rng.random() < 0.4
        bmi = 26.0 + 4.0 * rng.normal()
        ill = (bmi - 26.0) / 4.0 + 1.2 * smokes + rng.logistic() * (0.3 + place) > 0.5
        cell = "" if i % 17 == 0 else f"{bmi:.1f}"
        lines.append(f"P{place},{cell},{'ja' if smokes else 'nein'},{'wmd'[i % 3]},{int(ill)}")
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    words = "--target", "krank", "--group", "praxis", "--test-size", "0.4", "--report", "r.html"
    code, _, err = run("fit", "p.csv", *words, "--penalty", "none", "-o", "m.sepx")
    assert code == 0, err
    record = json.loads((tmp_path / "r.json").read_text("utf-8"))
    found = record["diagnostics"]["groups"]
    by_name = {one["column"]: one for one in found["columns"]}
    assert found["score"] == "accuracy" and by_name["praxis"]["group"]
    for column in found["columns"]:
        assert sum(one["n"] for one in column["figures"]) == record["metrics"][0]["n"]
        right = sum(one["n"] * one["score"] for one in column["figures"])
        whole = record["metrics"][0]["accuracy"] * record["metrics"][0]["n"]
        assert right == pytest.approx(whole)
        for one in column["figures"]:
            assert one["interval"][0] <= one["score"] + 1e-12 and one["score"] <= 1.0
    # In the units of the table, and without the cells that are missing.
    (curve,) = record["diagnostics"]["partial_residuals"]["curves"]
    assert curve["column"] == "bmi"
    values = [one["value"] for one in curve["groups"]]
    assert values == sorted(values) and 15.0 < values[0] < 26.0 < values[-1] < 40.0
    weights = {
        one["feature"]: one["weight"][0]
        for column in record["weights"]["columns"]
        for one in column["features"]
    }
    ratios = {one["feature"]: one for one in record["diagnostics"]["odds_ratios"]["ratios"]}
    assert curve["weight"] == pytest.approx(weights["bmi"])
    assert np.log(ratios["bmi"]["ratio"]) == pytest.approx(weights["bmi"])
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '<th scope="col">group</th>' in page and '<th scope="col">level</th>' in page
