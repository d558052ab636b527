"""Exports whose columns want a logarithm, a curve or a product, and dates that are summed up."""

from __future__ import annotations

import csv
import datetime
import json
import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import LinearRegression, LogisticRegression
from separatrix.assessment.logarithms import logarithms_that_help
from separatrix.assessment.rows import both_parts, labelled
from separatrix.data.design import dense
from separatrix.exceptions import DataError, ModelFileError
from separatrix.persistence.model_file import load_model
from separatrix.scale import scan
from separatrix.scale.statistics import _merged_points
from separatrix.tables import Encoder, Table, read_table, take_target
from separatrix.tables.curves import Curve, Points
from separatrix.tables.formulas import terms_of_formula
from separatrix.tables.terms import Factor, Terms


def exported(name, rows, *, delimiter=",", encoding="utf-8"):
    """Write an export, its first row the header, and give its name."""
    with open(name, "w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return name


def german(value, digits=2):
    """A number as a German office writes it."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def practice(rng, n=700):
    """Patients of a practice: age in a curve that differs by sex, and a skewed amount."""
    age, male = rng.integers(18, 91, n), rng.random(n) < 0.5
    amount = np.exp(rng.normal(5.0, 1.2, n))
    day = [datetime.date(2021, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 900, n)]
    score = 1.3 * (np.log(amount) - 5.0) + np.where(male, 1.0, -1.0) * ((age - 54.0) / 14.0)
    yes = rng.random(n) < 1.0 / (1.0 + np.exp(-score))
    return age, male, amount, day, yes


def practice_rows(age, male, amount, day, yes):
    """The same patients as the practice exports them."""
    head = ["Aufnahme", "Alter", "Geschlecht", "Betrag", "Antwort"]
    words = zip(day, age, male, amount, yes, strict=True)
    return [head] + [
        [f"{d:%d.%m.%Y}", a, "m" if m else "w", german(x), "ja" if y else "nein"]
        for d, a, m, x, y in words
    ]


def score_by_hand(model, stored, path, clean, y):
    """The held-out score of the same table cleaned by hand, on the rows of a fit."""
    table = read_table(path, target=stored.provenance["target"])
    fitted, held = both_parts(stored, labelled(stored, table, stored.provenance["target"]))
    mean, scale = clean[fitted].mean(axis=0), clean[fitted].std(axis=0)
    clean = (clean - mean) / scale
    return model.fit(clean[fitted], y[fitted]).score(clean[held], y[held])


# --- at a terminal --------------------------------------------------------------------------------


def test_a_skewed_amount_is_named_with_its_gain_and_its_logarithm_is_fitted(run):
    age, male, amount, day, yes = practice(np.random.default_rng(1))
    path = exported("praxis.csv", practice_rows(age, male, amount, day, yes), delimiter=";")
    first = run("fit", path, "--target", "Antwort", "-o", "a.separatrix")
    assert "column 'Betrag' is positive and skewed: --log 'Betrag' would raise" in first.err
    words = ("--log", "Betrag", "--interact", "Alter:Geschlecht", "--positive", "ja")
    second = run("fit", path, "--target", "Antwort", *words, "--json", "-o", "b.separatrix")
    assert "skewed" not in second.err
    # The same table cleaned by hand.
    clean = np.column_stack([np.log(amount), age, male, male * age]).astype(float)
    stored = load_model("b.separatrix")
    held = second.document["held_out"]
    by_hand = score_by_hand(LogisticRegression(), stored, path, clean, yes)
    assert abs(held["accuracy"] - by_hand) < 0.04
    assert stored.encoder.formula_ == ". + log(Betrag) + Alter:Geschlecht"
    assert "Antwort ~ . + log(Betrag) + Alter:Geschlecht" in run("info", "b.separatrix").out
    # A new table has the same features, and what has no logarithm is named.
    new = exported("neu.csv", [["Aufnahme", "Alter", "Geschlecht", "Betrag"],
                               ["01.02.2024", 50, "w", "0,00"], ["01.02.2024", 50, "w", "9,50"],
                               ["02.02.2024", 61, "m", "31,25"]], delimiter=";")  # fmt: skip
    predicted = run("predict", "b.separatrix", new)
    assert predicted.code == 0
    assert "column 'Betrag': 1 0 or less, which have no logarithm; read as missing" in predicted.err


def test_zeros_make_it_the_logarithm_of_one_more(run):
    rng = np.random.default_rng(2)
    spent = np.where(rng.random(400) < 0.3, 0.0, np.exp(rng.normal(3, 1, 400)))
    again = rng.random(400) < 1 / (1 + np.exp(-(np.log1p(spent) - 2.3)))
    rows = [["Montant dépensé (€)", "Fidèle"]]
    rows += [[german(x), "oui" if y else "non"] for x, y in zip(spent, again, strict=True)]
    path = exported("clients.csv", rows, delimiter=";", encoding="utf-8-sig")
    words = ("--target", "Fidèle", "--log", "Montant dépensé (€)", "-o", "c.separatrix")
    found = run("fit", path, *words)
    assert found.code == 0 and "log(1 + `Montant dépensé (€)`)" in found.out
    encoder = load_model("c.separatrix").encoder
    values = np.log1p(np.round(spent, 2))
    features = encoder.transform(take_target(read_table(path), "Fidèle")[0])[:, 0]
    assert np.corrcoef(features, values)[0, 1] > 1 - 1e-12


def test_a_fit_without_a_penalty_of_a_table_with_a_date_is_summed_up(run):
    rng = np.random.default_rng(3)
    rows = [["Month", "Region", "Sales"]]
    for year in range(2016, 2024):
        for month in range(1, 13):
            trend = 40 * (year - 2016 + (month - 1) / 12)
            season = 30 * math.sin(month / 6 * math.pi)
            rows += [[f"{month:02d}/01/{year}", r, f"${1000 + trend + season + rng.normal():,.2f}"]
                     for r in ("North", "South")]  # fmt: skip
    path = exported("sales.csv", rows)
    words = ("--target", "Sales", "--date-format", "month-first", "-o", "s.separatrix")
    assert run("fit", path, *words).code == 0
    printed = run("summary", "s.separatrix")
    assert printed.code == 0 and "Column 'Month' is in years since 2019-11-11." in printed.out
    found = run("summary", "s.separatrix", "--json").document["summary"]
    by_name = {one["name"]: one for one in found["coefficients"]}
    assert by_name["Month"]["estimate"] == pytest.approx(40.0, abs=0.5)
    assert by_name["Month"]["standard_error"] < 0.2
    assert found["condition_number"] < 1e3
    assert not any("(year)" in name for name in by_name)


def test_missing_dates_are_one_feature_and_a_summary_has_its_errors(run):
    rng = np.random.default_rng(6)
    days = np.datetime64("2015-01-01") + rng.integers(0, 3000, 400)
    there = rng.random(400) < 0.85
    paid = np.where(there, 0.01 * (days - days.min()).astype(int), 9.0) + rng.normal(size=400)
    dates = [str(d) if one else "" for d, one in zip(days, there, strict=True)]
    rows = [["since", "paid"], *zip(dates, paid.round(4), strict=True)]
    path = exported("customers.csv", rows)
    table = read_table(path).drop("paid")
    for encoder in (Encoder(), Encoder(reference=True)):
        names = encoder.fit(table).feature_names_
        assert [name for name in names if "missing" in name] == ["since=(missing)"]
        gone = dense(encoder.transform(table))[~there]
        assert np.abs(gone[:, names.index("since=(missing)")] - 1).max() == 0
        assert np.abs(np.delete(gone, names.index("since=(missing)"), 1)).max() < 0.6
        assert encoder.notes_ == []
        data = scan(path, "paid", test_size=0.0, reference=encoder.reference)
        assert list(data.feature_names) == names
    # An encoding of before, in which every part has the feature, is read as it is.
    meta, arrays = Encoder().fit(table).state()
    for one in meta["categories"]:
        one["missing"] = True
    old = Encoder.from_state(meta, arrays)
    assert sum("missing" in name for name in old.feature_names_) == 3
    assert dense(old.transform(table))[~there].sum(axis=1) == pytest.approx(3.0)
    ran = run("fit", path, "--target", "paid", "-o", "c.separatrix")
    assert ran.code == 0
    assert "depend" not in ran.err and "equal" not in ran.err
    found = run("summary", "c.separatrix", "--json").document["summary"]
    errors = [one["standard_error"] for one in found["coefficients"]]
    assert all(error is not None and 0 < error < 10 for error in errors)


def test_a_sensor_is_fitted_by_a_curve(run):
    rng = np.random.default_rng(4)
    heat = rng.uniform(-5, 35, 500)
    load = 200 + 0.5 * (heat - 17) ** 2 + rng.normal(0, 5, 500)
    start = datetime.datetime(2024, 3, 1)
    rows = [["時刻", "気温", "負荷"]]
    rows += [[f"{start + datetime.timedelta(hours=k):%Y/%m/%d %H:%M}", f"{t:.1f}", f"{x:.1f}"]
             for k, (t, x) in enumerate(zip(heat, load, strict=True))]  # fmt: skip
    path = exported("sensor.csv", rows, encoding="utf-8-sig")
    plain = run("fit", path, "--target", "負荷", "--json", "-o", "1.separatrix").document
    words = ("--spline", "気温:4", "--json", "-o", "2.separatrix")
    curved = run("fit", path, "--target", "負荷", *words).document
    assert plain["held_out"]["r2"] < 0.5
    design = np.column_stack([heat, (heat - 17) ** 2])
    stored = load_model("2.separatrix")
    by_hand = score_by_hand(LinearRegression(), stored, path, design, np.round(load, 1))
    assert abs(curved["held_out"]["r2"] - by_hand) < 0.04
    words = ("--polynomial", "気温", "--json", "-o", "3.separatrix")
    powers = run("fit", path, "--target", "負荷", *words).document
    assert abs(powers["held_out"]["r2"] - by_hand) < 0.04


def test_a_formula_is_the_options_in_another_spelling(run):
    rng = np.random.default_rng(5)
    path = exported("praxis.csv", practice_rows(*practice(rng)), delimiter=";")
    options = ("--log", "Betrag", "--spline", "Alter:3", "--interact", "Alter:Geschlecht")
    left_out = ("--ignore", "Aufnahme", "-o", "a.separatrix", "--json")
    one = run("fit", path, "--target", "Antwort", *options, *left_out).document
    formula = "Antwort ~ log(Betrag) + spline(Alter, 3)*Geschlecht"
    other = run("fit", path, "--formula", formula, "-o", "b.separatrix", "--json").document
    assert one["certificate"]["primal"] == pytest.approx(other["certificate"]["primal"], rel=1e-9)
    encoders = [load_model(name).encoder for name in ("a.separatrix", "b.separatrix")]
    assert encoders[0].feature_names_ == encoders[1].feature_names_
    assert encoders[1].formula_ == "log(Betrag) + spline(Alter, 3) + Geschlecht + " \
        "spline(Alter, 3):Geschlecht"  # fmt: skip
    features = take_target(read_table(path), "Antwort")[0]
    assert np.array_equal(*(one.transform(features) for one in encoders))
    # A column that is in no term may be absent, and is not reported as new.
    assert encoders[1].left_out_ == ["Aufnahme", *(f"Aufnahme ({p})" for p in (
        "year", "month", "weekday", "hour"))]  # fmt: skip
    assert not encoders[1].notes_


def test_coefficients_of_a_formula_are_those_of_statsmodels(run):
    age, male, amount, _, yes = practice(np.random.default_rng(6))
    rows = [["Account No.", "Sex", "Age", "Amount", "zip", "Bought"]]
    zips = np.random.default_rng(0).choice(["01067", "02826", "10115"], len(age))
    rows += [[k, "M" if m else "F", a, f"{x!r}", z, "TRUE" if y else "FALSE"]
             for k, (m, a, x, z, y) in enumerate(zip(male, age, amount.tolist(), zips, yes,
                                                     strict=True))]  # fmt: skip
    path = exported("bank.csv", rows)
    formula = "Bought ~ Age*Sex + log(Amount) + C(zip)"
    words = ("--test-size", "0", "--tol", "1e-10", "--positive", "TRUE", "-o", "b.separatrix")
    assert run("fit", path, "--formula", formula, "--penalty", "none", *words).code == 0
    found = run("summary", "b.separatrix", "--json").document["summary"]["coefficients"]
    own = {one["name"]: (one["estimate"], one["standard_error"]) for one in found}
    reference = load_model("b.separatrix").encoder.references_
    less = "F" if reference["Sex"] == "M" else "M"
    other = male == (less == "M")
    levels = [z for z in ("01067", "02826", "10115") if z != reference["zip"]]
    columns = {"(intercept)": np.ones(len(age)), "Age": age, "log(Amount)": np.log(amount)}
    columns |= {f"Sex={less}": other, f"Age:Sex={less}": other * age}
    columns |= {f"zip={z}": zips == z for z in levels}
    design = np.column_stack([*columns.values()]).astype(float)
    theirs = sm.Logit(yes.astype(float), design).fit(disp=0, tol=1e-12)
    assert set(own) == set(columns)
    for name, estimate, error in zip(columns, theirs.params, theirs.bse, strict=True):
        assert own[name] == pytest.approx((estimate, error), rel=1e-6, abs=1e-8)


def test_errors_by_cluster_are_those_of_statsmodels(run):
    rng = np.random.default_rng(7)
    patient = rng.integers(0, 40, 400)
    dose = rng.normal(size=400) + rng.normal(size=40)[patient]
    pressure = 120 + 4 * dose + 6 * rng.normal(size=40)[patient] + 3 * rng.normal(size=400)
    rows = [["patient", "dose", "pressure", "high"]]
    rows += [[f"P-{p:03d}", f"{d:.6f}", f"{x:.6f}", "yes" if x > 120 else "no"]
             for p, d, x in zip(patient, dose, pressure, strict=True)]  # fmt: skip
    path = exported("visits.csv", rows)
    design = sm.add_constant(np.round(dose, 6))
    for target, ignored, y, peer in (
        ("pressure", "high", np.round(pressure, 6), sm.OLS),
        ("high", "pressure", (pressure > 120) * 1.0, sm.Logit),
    ):
        words = ("--target", target, "--ignore", "patient", "--ignore", ignored)
        penalty = () if target == "pressure" else ("--penalty", "none", "--tol", "1e-11")
        done = run("fit", path, *words, *penalty, "--test-size", "0", "-o", "v.separatrix")
        assert done.code == 0
        options = ("--cluster", "patient", "--json")
        found = run("summary", "v.separatrix", path, *options).document["summary"]
        fit = {"disp": 0} if peer is sm.Logit else {"use_t": True}
        how = {"cov_type": "cluster", "cov_kwds": {"groups": patient}, **fit}
        theirs = peer(y, design).fit(**how)
        own = found["coefficients"]
        assert found["n_clusters"] == len(np.unique(patient))
        errors, ps = ([one[name] for one in own] for name in ("standard_error", "p_value"))
        assert errors == pytest.approx(theirs.bse, rel=1e-6)
        assert ps == pytest.approx(theirs.pvalues, rel=1e-5, abs=1e-12)
    assert run("summary", "v.separatrix", "--cluster", "patient").code == 2
    lacking = run("summary", "v.separatrix", path, "--cluster", "ward")
    assert lacking.code != 0 and "no column 'ward'" in lacking.err


def test_levels_of_a_survey_interact(run):
    rng = np.random.default_rng(8)
    plan, region = rng.choice(list("ABC"), 600), rng.choice(["Ost", "West"], 600)
    stays = rng.random(600) < np.where((plan == "A") == (region == "Ost"), 0.85, 0.2)
    rows = [["Tarif", "Region: Haushalt", "bleibt"]]
    rows += [[p, r, "x" if s else "-"] for p, r, s in zip(plan, region, stays, strict=True)]
    path = exported("umfrage.csv", rows, delimiter=";")
    alone = run("fit", path, "--target", "bleibt", "--json", "-o", "1.separatrix").document
    words = ("--interact", 'Tarif:"Region: Haushalt"', "--json", "-o", "2.separatrix")
    found = run("fit", path, "--target", "bleibt", *words).document
    by_hand = np.mean(np.where((plan == "A") == (region == "Ost"), stays, ~stays))
    assert alone["held_out"]["accuracy"] < by_hand - 0.1
    assert abs(found["held_out"]["accuracy"] - by_hand) < 0.04
    encoder = load_model("2.separatrix").encoder
    assert "Tarif=A:Region: Haushalt=Ost" in encoder.feature_names_
    features = take_target(read_table(path), "bleibt")[0]
    X = dense(encoder.transform(features))
    both = X[:, encoder.feature_names_.index("Tarif=C:Region: Haushalt=West")]
    assert np.array_equal(both, (plan == "C") & (region == "West"))
    # A level that was not there at the fit is of no combination.
    new = Table.from_columns({"Tarif": ["D", "A"], "Region: Haushalt": ["Ost", "Ost"]})
    X = encoder.transform(new)
    products = X[:, ["Tarif=" in n and "Region" in n for n in encoder.feature_names_]]
    assert products.sum(axis=1).tolist() == [0.0, 1.0]
    assert any("not seen at fit" in note for note in encoder.notes_)


REFUSED = {
    "no column": (("--log", "Betrg"), "has no column 'Betrg', which the term log(Betrg) needs"),
    "words": (("--spline", "Geschlecht"), "column 'Geschlecht' holds words or dates"),
    "negative": (("--log", "Saldo"), "column 'Saldo' has no logarithm: its lowest value is -"),
    "few values": (("--spline", "Kinder:5"), "different values"),
    "degree": (("--polynomial", "Alter:9"), "a polynomial has a degree from 2 to 5"),
    "alone": (("--interact", "Alter"), "--interact Alter is not COL:COL"),
    "itself": (("--interact", "Alter:Alter"), "a product of a column with itself"),
    "twice": (("--log", "Betrag", "--spline", "Betrag"), "column 'Betrag' has two functions"),
    "target": (("--interact", "Antwort:Alter"), "the column to predict, Antwort, is also one"),
    "both": (("--formula", "Antwort ~ Alter", "--log", "Betrag"), "--formula has all terms"),
    "targets": (("--formula", "Alter ~ Betrag"), "name two columns to predict"),
    "kind": (("--formula", "Antwort ~ log(Betrag)", "--kind", "Betrag=category"),
             "column 'Betrag' holds words"),
    "square": (("--formula", "Antwort ~ Alter^2"), "character 15: a formula has no powers"),
    "function": (("--formula", "Antwort ~ exp(Alter)"), "character 11: exp(Alter) is not one of"),
    "grammar": (("--formula", "Antwort ~ (Alter"), "character 11"),
    "left out": (("--log", "Betrag", "--ignore", "Betrag"), "and --ignore makes it no feature"),
}  # fmt: skip


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """An export with a balance that may be negative and a number of few values."""
    rng = np.random.default_rng(9)
    rows = practice_rows(*practice(rng, 120))
    extra = [["Saldo", "Kinder"]] + [[german(x), k] for x, k in zip(
        rng.normal(0, 900, 120), rng.integers(0, 4, 120), strict=True)]  # fmt: skip
    path = tmp_path_factory.mktemp("konto") / "konto.csv"
    return exported(path, [[*a, *b] for a, b in zip(rows, extra, strict=True)], delimiter=";")


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused_in_a_sentence(run, account, case):
    words, sentence = REFUSED[case]
    found = run("fit", account, "--target", "Antwort", *words)
    assert found.code != 0
    assert sentence in " ".join(found.err.split())


def test_passes_learn_the_curves_of_a_table_in_memory(run, tmp_path):
    age, male, amount, day, yes = practice(np.random.default_rng(10), 500)
    path = exported("praxis.csv", practice_rows(age, male, amount, day, yes), delimiter=";")
    formula = "Antwort ~ log(Betrag) + spline(Alter)*Geschlecht + `Aufnahme (month)`"
    words = ("--formula", formula, "--test-size", "0", "--json")
    memory = run("fit", path, *words, "-o", "m.separatrix").document
    passes = run("fit", path, *words, "--cache", "rows", "-o", "p.separatrix").document
    assert passes["certificate"]["primal"] == pytest.approx(
        memory["certificate"]["primal"], rel=1e-6
    )
    one, other = (load_model(name).encoder for name in ("m.separatrix", "p.separatrix"))
    assert one.feature_names_ == other.feature_names_ and one.formula_ == other.formula_
    features = take_target(read_table(path), "Antwort")[0]
    assert other.transform(features) == pytest.approx(one.transform(features), abs=1e-9)
    again = run("predict", "p.separatrix", path, "--memory", "20MB")
    assert again.out == run("predict", "p.separatrix", path).out
    data = scan(path, formula=formula, cache=tmp_path / "rows")
    assert data.shape == (500, one.n_features_) and data.classes.tolist() == ["ja", "nein"]
    with pytest.raises(DataError, match="name two columns"):
        scan(path, "Alter", formula=formula)
    with pytest.raises(TypeError, match="terms"):
        scan(np.ones((4, 1)), [0, 1, 0, 1], terms=["log(x)"])


# --- from Python ----------------------------------------------------------------------------------


def test_a_model_file_of_before_is_read_and_predicts_the_same():
    days = np.array([18_000.0, 18_400.0, 19_000.0, 19_321.5])
    column = (days * 86_400).astype("datetime64[s]")
    names = ("d", "d (year)", "d (hour)")
    values = [[18_680.0, 500.0], [2020.5, 1.2], [3.0, 5.2]]
    entry = {"value": True, "missing": False}
    meta = {
        "version": 1, "numbers": [{"name": n, **entry, "date": n == "d"} for n in names],
        "categories": [], "texts": [], "matrix_columns": None, "dense": True,
        "text": {**Encoder().text, "ngram_range": [1, 1]}, "min_frequency": None,
        "standardise": True, "left_out": [], "alerts": [], "summary": "3 numbers",
    }  # fmt: skip
    mean, scale = np.array(values).T
    empty = np.array([], dtype=np.uint8)
    arrays = {"numbers.mean": mean, "numbers.scale": scale}
    for part in ("levels", "rare"):
        whole = np.array([], dtype=np.int64)
        arrays |= {f"categories.{part}": empty, f"categories.{part}.ends": whole,
                   f"categories.{part}.counts": whole}  # fmt: skip
    encoder = Encoder.from_state(meta, arrays)
    X = encoder.transform(Table.from_columns({"d": column}))
    parts = np.column_stack([days, [2019, 2020, 2022, 2022], [0, 0, 0, 12]])
    assert pytest.approx((parts - mean) / scale) == X
    assert encoder.origins_ == {} and encoder.state()[0]["version"] == 1
    assert encoder.scales_.tolist() == scale.tolist()


def made(rng, n=300):
    return Table.from_columns(
        {
            "age": rng.integers(18, 91, n).astype(float),
            "sex": rng.choice(["f", "m", "x"], n),
            "amount": np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(4, 1, n))),
            "visits": rng.poisson(2.0, n).astype(float),
            "word": [f"report number {k} is here today" for k in range(n)],
        }
    )


TERMS = ["log(amount)", "spline(age, 5)", "log(visits)", "amount:visits", "age:sex", "sex:visits"]


@pytest.mark.parametrize("reference", [False, True])
def test_features_are_what_their_names_say_and_come_back_from_a_state(reference):
    table = made(np.random.default_rng(11))
    encoder = Encoder(terms=TERMS, reference=reference, standardise=not reference).fit(table)
    X = encoder.transform(table)
    meta, arrays = encoder.state()
    again = Encoder.from_state(json.loads(json.dumps(meta)), arrays, n_features=X.shape[1])
    assert (again.transform(table) != X).nnz == 0
    assert again.terms.texts == encoder.terms.texts and again.kinds_ == encoder.kinds_
    X, names = X.toarray(), encoder.feature_names_
    visits = np.log1p(table.columns["visits"])
    own = X[:, names.index("log(1 + visits)")]
    assert own == pytest.approx(visits if reference else (visits - visits.mean()) / visits.std())
    amount = X[:, names.index("log(amount)")]
    assert X[:, names.index("log(amount):log(1 + visits)")] == pytest.approx(amount * own)
    male = table.columns["sex"] == "m"
    if "log(1 + visits):sex=m" in names or "sex=m:log(1 + visits)" in names:
        assert X[:, names.index("sex=m:log(1 + visits)")] == pytest.approx(own * male)
    levels = 2 if reference else 3
    assert sum("spline(age)" in n and "sex=" in n for n in names) == 5 * levels
    curve = X[:, [names.index(f"spline(age)[{k}]") for k in range(1, 6)]]
    assert curve.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-12)
    assert curve.T @ curve / len(curve) == pytest.approx(np.eye(5), abs=1e-9)
    age = table.columns["age"]
    assert curve[:, 0] == pytest.approx((age - age.mean()) / age.std())


def test_a_level_is_left_out_of_a_product_where_the_other_column_is_a_term():
    table = made(np.random.default_rng(16))
    for formula, levels in (("age + age:sex", 2), ("age:sex", 3), ("sex + age:sex", 3)):
        encoder = Encoder(formula=formula, standardise=False, reference=True).fit(table)
        assert sum(name.startswith("age:") for name in encoder.feature_names_) == levels, formula
        X = np.column_stack([np.ones(300), dense(encoder.transform(table))])
        assert np.linalg.matrix_rank(X) == X.shape[1]


def test_damaged_terms_are_refused():
    meta, arrays = Encoder(terms=TERMS).fit(made(np.random.default_rng(12))).state()
    key = "curves.0.knots"
    for damage in (
        ({}, {key: arrays[key][::-1]}),
        ({}, {key: arrays[key][:-1]}),
        ({}, {"curves.0.mixing": np.full_like(arrays["curves.0.mixing"], np.nan)}),
        ({}, {"curves.0.mixing": arrays["curves.0.mixing"][:-1]}),
        ({"terms": {"products": [[["x", "exp", None]]], "every": True}}, {}),
        ({"curves": [{**meta["curves"][0], "function": "exp"}, *meta["curves"][1:]]}, {}),
        ({"products": {"places": [[["numbers", 9]]], "factors": {}}}, {}),
        ({"products": {"places": [[]], "factors": {}}}, {}),
    ):
        with pytest.raises(ModelFileError):
            Encoder.from_state({**meta, **damage[0]}, {**arrays, **damage[1]})


def test_a_product_of_a_text_or_of_too_many_levels_is_refused():
    table = made(np.random.default_rng(13))
    with pytest.raises(DataError, match="a text has no products"):
        Encoder(terms=["age:word"]).fit(table)
    names = [f"v{k % 140}" for k in range(300)]
    wide = Table.from_columns({"a": names, "b": names[::-1]})
    with pytest.raises(DataError, match=r"a:b has 19,600 features"):
        Encoder(terms=["a:b"]).fit(wide)


numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3))


@settings(max_examples=30, deadline=None)
@given(st.lists(numbers, min_size=12, max_size=60, unique=True), st.integers(2, 6))
def test_a_spline_is_linear_beyond_its_last_knots(values, df):
    table = Table.from_columns({"x": values})
    try:
        encoder = Encoder(terms=[f"spline(x, {df})"]).fit(table)
    except DataError as error:  # of values so unequal that a feature would be rounding
        assert "give fewer" in str(error) or "different whole number" in str(error)
        return
    curve = encoder.encodings[0]
    assert isinstance(curve, Curve)
    span = curve.knots[-1] - curve.knots[0]
    for end in (curve.knots[0] - span * np.array([3, 2, 1]), curve.knots[-1] + span * np.arange(3)):
        far = encoder.transform(Table.from_columns({"x": end.tolist() * 1}))
        bend = far[0] - 2 * far[1] + far[2]
        assert np.abs(bend).max() <= 1e-6 * (1.0 + np.abs(far).max())


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_curve_does_not_depend_on_the_units_of_its_column(scale):
    x = np.random.default_rng(15).normal(size=200)
    for term in ("spline(x, 4)", "polynomial(x, 3)"):
        one, other = (
            Encoder(terms=[term]).fit_transform(Table.from_columns({"x": x * unit}))
            for unit in (1.0, scale)
        )
        assert dense(other) == pytest.approx(dense(one), abs=1e-9)


def test_knots_that_are_equal_beside_one_value_far_away_are_refused():
    x = np.r_[np.random.default_rng(16).normal(size=200), 1e300]
    with pytest.raises(DataError, match="too unequal"):
        Encoder(terms=["spline(x, 4)"]).fit(Table.from_columns({"x": x}))


def test_logarithms_rarely_help_to_predict_noise():
    said = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.exp(1.3 * rng.normal(size=(600, 5)))
        table = Table.from_columns({f"a{j}": X[:, j] for j in range(5)})
        encoder = Encoder()
        encoded, y = encoder.fit_transform(table), rng.integers(0, 2, 600)
        said += logarithms_that_help(encoder, table, encoded, y, quantity=False) is not None
    # Chance makes a share of about 1 in 50 of them.
    assert said <= 4


def test_a_spline_spans_the_natural_splines_of_formulaic():
    from formulaic.transforms.cubic_spline import natural_cubic_spline  # independent of ours

    x = np.random.default_rng(14).normal(50.0, 12.0, 400)
    encoder = Encoder(terms=["spline(x, 4)"]).fit(Table.from_columns({"x": x}))
    knots = encoder.encodings[0].knots
    assert knots == pytest.approx(np.quantile(x, [0.05, 0.275, 0.5, 0.725, 0.95]))
    inside = x[(x > knots[0]) & (x < knots[-1])]
    ends = {"lower_bound": knots[0], "upper_bound": knots[-1]}
    basis = natural_cubic_spline(inside, knots=knots[1:-1], **ends)
    theirs = np.column_stack([*dict(basis).values()])
    own = encoder.transform(Table.from_columns({"x": inside}))
    left = own - theirs @ np.linalg.lstsq(theirs, own, rcond=None)[0]
    assert np.abs(left).max() < 1e-8


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(numbers, min_size=1, max_size=40), min_size=1, max_size=5))
def test_points_of_parts_are_those_of_all_rows(parts):
    (merged,) = _merged_points([[Points.of(np.array(part))] for part in parts])
    values = np.concatenate(parts)
    whole = Points.of(values)
    assert np.array_equal(merged.values, whole.values)
    assert np.array_equal(merged.counts, whole.counts)
    shares = [0.0, 0.05, 0.3, 0.5, 1.0]
    assert merged.quantiles(shares) == pytest.approx(np.quantile(values, shares), abs=1e-9)


def test_many_points_are_summed_up_with_their_ends_and_their_mean():
    values = np.exp(np.random.default_rng(15).normal(size=50_000))
    whole = Points.of(values)
    few = whole.limited(1000)
    assert len(few.values) <= 1000 and few.counts.sum() == len(values)
    assert few.values[[0, -1]].tolist() == [values.min(), values.max()]
    assert np.average(few.values, weights=few.counts) == pytest.approx(values.mean())
    shares = np.array([0.05, 0.5, 0.95])
    between = np.searchsorted(np.sort(values), few.quantiles(shares)) / len(values)
    assert between == pytest.approx(shares, abs=0.002)


@pytest.mark.parametrize(
    ("formula", "texts"),
    [
        ("y ~ a*b", ["a", "b", "a:b"]),
        ("y ~ (a + b)**2 - a:b", ["a", "b"]),
        ("y ~ bs(x, df=5) + cr(`a b`, 3)", ["spline(x, 5)", "spline(`a b`, 3)"]),
        ("poly(x, 3):C(z) + log(`€ net`)", ["log(`€ net`)", "polynomial(x, 3):C(z)"]),
    ],
)
def test_a_formula_is_read_by_formulaics_grammar(formula, texts):
    terms = terms_of_formula(formula)
    assert terms.texts == texts and not terms.every
    assert Terms.parse(texts, every=False).products == terms.products
    assert bool(terms.remarks) == ("bs(" in formula)


@pytest.mark.parametrize(
    ("formula", "character"),
    [("y ~ .", 5), ("y ~ x | z", 7), ("y ~ 2:x", 5), ("log(y) ~ x", 1), ("y ~ log(x + 1)", 5),
     ("y ~ 1", 6), ("y ~ x +* z", 7), ("y ~ spline(x, 40)", 5), ("y ~ C(x, Sum)", 5)],
)  # fmt: skip
def test_a_formula_that_means_something_else_is_refused_with_its_place(formula, character):
    with pytest.raises(DataError, match=rf", character {character}: "):
        terms_of_formula(formula)


def test_a_factor_is_parsed_as_it_is_written():
    for text in ("age", "log(`a b`)", "spline(größe, 7)", "C(x.y)", "polynomial(x, 2)"):
        assert str(Factor.parse(text)) == text
    for text in ("", "exp(x)", "log x", "log(x", "x)", "a b", "spline(x, 1)", "log(x, 2)"):
        with pytest.raises(DataError):
            Factor.parse(text)


def test_the_year_of_a_date_has_a_feature_where_its_kind_is_requested(tmp_path):
    path = tmp_path / "t.csv"
    days = [f"{2010 + k % 7}-0{1 + k % 9}-1{k % 7},{k % 2}" for k in range(60)]
    path.write_text("d,y\n" + "\n".join(days) + "\n")
    for kinds, there in (({}, False), ({"d (year)": "category"}, True)):
        features, _ = take_target(read_table(path, kinds=kinds, target="y"), "y")
        names = Encoder().fit(features).feature_names_
        assert any(name.startswith("d (year)") for name in names) == there


def test_the_penalised_weight_of_a_date_is_per_year(run, tmp_path):
    days = np.arange(0, 4000, 10)
    column = (np.datetime64("2012-01-01") + days).astype("datetime64[s]")
    table = Table.from_columns({"d": column})
    encoder = Encoder().fit(table)
    assert encoder.scales_[0] * 365.2425 == pytest.approx(days.std())
    own = Encoder(standardise=False, reference=True).fit(table)
    assert own.origins_ == {"d": "2017-06-18"} and own.scales_[0] == 1.0
    values = dense(own.transform(table))[:, 0]
    assert np.diff(values) == pytest.approx(np.full(len(days) - 1, 10 / 365.2425))
    exact = Encoder(standardise=False).fit(table).transform(table)
    assert dense(exact)[:, 0].tolist() == (days + 15340.0).tolist()


@pytest.mark.parametrize("none", [None, math.nan])
def test_rows_without_a_cluster_are_refused(none):
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    clusters = np.array([k % 8 for k in range(40)], dtype=object)
    clusters[5] = none
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="no name for row 5"):
        model.summary(X, y, clusters=clusters)
    # A row without weight is in no cluster.
    weights = np.where(np.arange(40) == 5, 0.0, 1.0)
    model.fit(X, y, sample_weight=weights)
    assert model.summary(X, y, sample_weight=weights, clusters=clusters).n_clusters == 8
