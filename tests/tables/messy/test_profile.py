"""``separatrix diagnose`` on exports as offices make them: what it prints, and its page."""

from __future__ import annotations

import csv
import json
import re
from datetime import date, timedelta
from html.parser import HTMLParser

import numpy as np
import pytest

from separatrix import Report, diagnose
from separatrix.cli import main
from separatrix.tables import Table, read_table

NAMES = ["<script>alert(1)</script>", "quo\"te's & <b>", "🙂 naïve 数", "=cmd|' /C calc'!A0"]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Tables as offices write them, in one folder."""
    folder = tmp_path_factory.mktemp("exports")
    rng = np.random.default_rng(0)

    def write(name, columns, *, delimiter=",", encoding="utf-8"):
        with open(folder / name, "w", newline="", encoding=encoding) as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def german(values):
        return [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) + " €" for v in values]

    n = 300
    # A bank: amounts and dates as Germans write them, and fees that rose.
    days = [date(2022, 1, 3) + timedelta(days=3 * i) for i in range(n)]
    balance = rng.normal(2500, 900, n)
    left = np.where(rng.random(n) < np.where(balance < 2200, 0.7, 0.2), "ja", "nein")
    write(
        "bank.csv",
        {
            "Saldo": german(balance),
            "Buchungstag": [f"{d:%d.%m.%Y}" for d in days],
            "Gebühr": german(np.arange(n) / 60 + rng.random(n)),
            "Kanal": np.where(rng.random(n) < np.arange(n) / n, "Netz", "Filiale"),
            "gekündigt": left,
        },
        delimiter=";",
    )
    # A hospital: -999 for no sample, a panel that is taken as a whole, a code after the fact.
    died = rng.random(n) < 0.25
    taken = rng.random(n) < 0.6
    glucose = rng.normal(105, 20, n).round()
    write(
        "hospital.csv",
        {
            "glucose": np.where(rng.random(n) < 0.12, -999, glucose).astype(int),
            "sodium": np.where(taken, rng.normal(140, 3, n).round(0).astype(str), ""),
            "potassium": np.where(taken, rng.normal(4, 0.4, n).round(1).astype(str), ""),
            "certificate": [f"{rng.integers(9)}" if d else "" for d in died],
            "died": np.where(died, "yes", "no"),
        },
    )
    # A shop: the price with tax is the price without it, and two articles say one thing.
    price = rng.gamma(2, 40, n).round(2)
    size = rng.integers(0, 3, n)
    write(
        "boutique.csv",
        {
            "prix HT": [f"{v:.2f}".replace(".", ",") for v in price],
            "taille": np.array(["S", "M", "L"])[size],
            "code taille": np.array(["T1", "T2", "T3"])[size],
            "stock": rng.integers(0, 400, n),
            "prix TTC": [f"{1.2 * v:.2f}".replace(".", ",") for v in price],
        },
        delimiter=";",
        encoding="utf-8-sig",
    )
    # A survey in Japanese, with nothing to predict.
    write(
        "調査.csv",
        {
            "年齢": rng.integers(18, 90, n),
            "地域": np.array(["東京", "大阪", "福岡"])[rng.integers(0, 3, n)],
            "意見": [f"とても 良い と 思い ます {i}" for i in range(n)],
            "備考": [""] * n,
        },
    )
    # Sensors: readings by the hour, of which one is stuck; the last rows were exported twice.
    hours = [f"2023-05-{1 + i // 24:02d} {i % 24:02d}:00" for i in range(n)]
    rows = [*range(n), *range(n - 20, n)]
    warm = (15 + np.arange(n) / 30 + rng.normal(0, 1, n)).round(2)
    write(
        "sensors.csv",
        {
            "time": [hours[i] for i in rows],
            "temperature": [warm[i] for i in rows],
            "stuck": [7] * len(rows),
            "fault": ["none"] * len(rows),
        },
    )
    # Names and cells that a page must not take for markup.
    cells = np.array(["<img src=x onerror=alert(1)>", '"x"', "a&b", "\u202eabc"], dtype=object)
    write(
        "hostile.csv",
        {
            NAMES[0]: rng.normal(size=60).round(3),
            NAMES[1]: cells[rng.integers(0, 4, 60)],
            NAMES[2]: rng.integers(0, 3, 60),
            NAMES[3]: np.array(["</style>", "b"])[rng.integers(0, 2, 60)],
        },
    )
    (folder / "row.csv").write_text("a,b\n1,x\n")
    (folder / "column.csv").write_text("a\n" + "".join(f"{i % 7}\n" for i in range(50)))
    (folder / "gone.csv").write_text("a,b\n" + "NA,?\n" * 30)
    wide = {f"c{j}": rng.normal(size=40).round(3) for j in range(250)}
    write("wide.csv", {**wide, "target": np.array(["a", "b"])[rng.integers(0, 2, 40)]})
    return folder


@pytest.fixture
def ran(exports, run):
    """Run the command on an export: the exit code, and what it printed."""
    return lambda name, *options: run("diagnose", exports / name, *options)


def document_of(ran, name, *options):
    code, out, _ = ran(name, *options, "--json")
    assert code == 0
    document = json.loads(out)
    columns = {one["name"]: one for one in document["profile"]["columns"]}
    return document, columns, {one["code"]: one for one in document["findings"]}


# ------------------------------------------------------------------------------- the first command


def test_a_bank(ran):
    document, columns, found = document_of(ran, "bank.csv", "--target", "gekündigt")
    assert [one["kind"] for one in columns.values()] == [
        "number", "date", "number", "category", "category",
    ]  # fmt: skip
    assert columns["Saldo"]["read_as"] == "numbers, written with '€' and with a decimal comma"
    assert columns["Buchungstag"]["read_as"] == "dates, written day-first"
    assert document["profile"]["time"] == "Buchungstag"
    assert found["moves_with_time"]["where"]["columns"] == ["Gebühr", "Kanal"]
    assert found["moves_with_time"]["remedy"] == "hold out the latest rows (--time Buchungstag)"
    assert columns["Saldo"]["association"] > 0.25 > columns["Kanal"]["association"]
    bins = columns["Saldo"]["bins"]
    assert document["profile"]["classes"] == ["nein", "ja"]
    assert sum(one["n"] for one in bins) == 300
    assert bins[2]["by_class"][1] > bins[-3].get("by_class", [0, 0])[1]
    _, out, _ = ran("bank.csv", "--target", "gekündigt")
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("columns "))
    assert re.split(r"  +", lines[head]) == [
        "columns",
        "column",
        "kind",
        "missing",
        "distinct",
        "values",
    ]
    assert re.split(r"  +", lines[head + 2].strip())[:2] == ["Buchungstag", "date"]
    assert lines[head + 2].endswith("2022-01-03 to 2024-06-18")
    assert lines[head + 5].endswith("the target")


def test_a_hospital(ran):
    _, columns, found = document_of(ran, "hospital.csv", "--target", "died")
    glucose = columns["glucose"]
    (code,) = glucose["placeholders"]
    assert (code["values"], code["missing"]) == ([-999.0], True)
    assert glucose["n_missing"] == code["n"] > 20
    assert 95 < glucose["numbers"]["mean"] < 115
    assert found["placeholder"]["what"].startswith("column 'glucose': ")
    assert "--kind 'glucose=number'" in found["placeholder"]["what"]
    # So the scales are those that a fit sees.
    assert "scales_differ" not in found
    assert found["missing_together"]["where"]["columns"] == ["sodium", "potassium"]
    assert found["missing_tells"]["where"]["columns"] == ["certificate"]
    assert columns["certificate"]["missing_association"] > 0.99
    assert columns["sodium"]["missing_association"] < 0.1


def test_the_facts_of_an_export_are_those_of_the_table_cleaned_by_hand(ran, exports):
    with open(exports / "hospital.csv", newline="") as file:
        cells = [row["glucose"] for row in csv.DictReader(file)]
    clean = np.array([float(cell) for cell in cells if cell != "-999"])
    _, columns, _ = document_of(ran, "hospital.csv", "--target", "died")
    numbers = columns["glucose"]["numbers"]
    assert numbers["mean"] == pytest.approx(clean.mean(), rel=1e-12)
    assert numbers["deviation"] == pytest.approx(clean.std(), rel=1e-12)
    quartiles = np.quantile(clean, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert numbers["quartiles"] == quartiles.tolist()
    with open(exports / "bank.csv", newline="") as file:
        texts = [row["Saldo"] for row in csv.DictReader(file, delimiter=";")]
    clean = [float(t[:-2].replace(".", "").replace(",", ".")) for t in texts]
    _, columns, _ = document_of(ran, "bank.csv")
    assert columns["Saldo"]["numbers"]["mean"] == pytest.approx(np.mean(clean), rel=1e-12)
    assert columns["Saldo"]["n_distinct"] == len(set(clean))


def test_a_table_in_which_nothing_moves_has_no_column_that_does():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = 120
        days = np.datetime64("2023-01-01") + rng.integers(0, 600, n)
        table = Table.from_columns(
            {
                "day": days,
                "children": rng.integers(0, 4, n).astype(float),
                "amount": rng.gamma(2.0, 50.0, n),
                "office": np.array(["Köln", "Bonn", "Ulm"])[rng.integers(0, 3, n)].tolist(),
            }
        )
        found = diagnose(table, profile=True)
        assert found.profile.time == "day" and not found.profile.drift, seed


def test_rows_whose_texts_differ_are_equal_in_their_features_alone(ran):
    document, _, found = document_of(ran, "調査.csv", "--target", "地域")
    assert document["profile"]["duplicates"]["n"] == 0
    assert "of another label in every feature: " in found["contradictory_rows"]["what"]
    assert "repeat an earlier row in every feature" in found["duplicate_rows"]["what"]


def test_what_is_shown_of_values(ran, run, tmp_path):
    _, columns, _ = document_of(ran, "boutique.csv", "--target", "prix TTC")
    assert columns["prix HT"]["read_as"] == "numbers, written with a decimal comma"
    # Names that occur once each have no bars and no levels; file names keep their letters.
    lines = ["Name;Jahr;Anteil;y"]
    lines += [f"N{i:03d};{1950 + i % 70};{i % 50} %;{'ja' if i % 3 else 'nein'}" for i in range(90)]
    (tmp_path / "export.csv").write_text("Auszug\n\n" + "\n".join(lines) + "\n")
    code, _, _ = run("diagnose", "export.csv", "--target", "y", "--report", "page.html")
    assert code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<li>export.csv: the header is line 3" in page and "Export.csv" not in page
    assert "N000" not in page and "decimal comma" not in page
    assert '<span class="whole">1950</span>' in page


def test_a_quantity(ran):
    document, columns, found = document_of(ran, "boutique.csv", "--target", "prix TTC")
    assert document["quantity"] is True
    assert document["classes"] == []
    assert "separability" not in document["checked"]
    assert found["gives_target_away"]["where"]["columns"] == ["prix HT"]
    assert "determines_target" not in found
    assert found["one_to_one"]["where"]["columns"] == ["taille", "code taille"]
    means = [one["mean"] for one in columns["prix HT"]["bins"] if one.get("n")]
    assert means == sorted(means)
    assert all("mean" not in one for one in columns["prix TTC"]["bins"])
    _, out, _ = ran("boutique.csv", "--target", "prix TTC")
    assert "target    'prix TTC', a quantity" in out.splitlines()


def test_a_table_without_a_target(ran):
    document, columns, found = document_of(ran, "調査.csv")
    assert document["target"] is None
    assert [one["kind"] for one in columns.values()] == ["number", "category", "text", "empty"]
    assert all(one["association"] is None for one in columns.values())
    assert columns["備考"]["alerts"] == ["holds no values"]
    assert document["checked"] == ["columns", "scales", "rows", "collinear"]
    assert "imbalance" not in found
    _, out, _ = ran("調査.csv")
    assert "--target names one" in out


def test_sensors_that_were_exported_twice(ran):
    document, columns, found = document_of(ran, "sensors.csv")
    profile = document["profile"]
    assert profile["duplicates"]["n"] == 20
    assert profile["duplicates"]["rows"][0] == [281, 301]
    assert found["duplicate_rows"]["what"].endswith(
        "20 rows (6.2 %) repeat an earlier row in every feature"
    )
    assert found["moves_with_time"]["where"]["columns"] == ["temperature"]
    assert columns["stuck"]["alerts"] == columns["fault"]["alerts"] == ["constant"]
    moves = profile["drift"][0]
    assert moves["what"] == "mean"
    assert moves["after"] - moves["before"] == pytest.approx(9.0, abs=1.0)


@pytest.mark.parametrize("name", ["row.csv", "column.csv", "gone.csv"])
def test_small_tables(ran, name, tmp_path):
    code, out, err = ran(name, "--report", "page.html")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("found ")
    assert b"<h1>" in (tmp_path / "page.html").read_bytes()
    if name == "gone.csv":
        assert "2 columns: none of them can be used" in out


# --------------------------------------------------------------------------------------------- page


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        assert not any(name.startswith("on") for name, _ in attributes)

    def handle_data(self, data):
        self.text.append(data)


def test_nothing_in_a_table_is_markup(ran, tmp_path):
    for options in ((), ("--target", NAMES[2]), ("--target", NAMES[3])):
        assert ran("hostile.csv", *options, "--report", "page.html")[0] == 0
        text = (tmp_path / "page.html").read_text("utf-8")
        page = Page(text)
        assert not {"script", "img", "b", "iframe", "link"} & set(page.tags)
        assert page.tags.count("style") == 1
        assert "http" not in text.replace("http-equiv", "")
        shown = "".join(page.text)
        for name in NAMES:
            assert name in shown
        assert "<img src=x onerror=alert(1)>" in shown
        assert len(set(page.ids)) == len(page.ids)


def test_the_page_of_many_columns_is_light(ran, tmp_path):
    code, out, _ = ran("wide.csv", "--report", "page.html")
    assert code == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    page = Page(text)
    assert page.tags.count("article") == 200
    assert "51 more columns are in the JSON document" in "".join(page.text)
    assert len(text) < 1_000_000
    document = json.loads((tmp_path / "page.json").read_text())
    assert (document["kind"], len(document["profile"]["columns"])) == ("profile", 251)
    assert len(document["profile"]["matrix"]["columns"]) == 30
    assert "191 more columns: --report and --json have all of them" in out


def test_the_bars_are_the_rows(ran, tmp_path):
    ran("bank.csv", "--target", "gekündigt", "--report", "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    document = json.loads((tmp_path / "page.json").read_text())
    bins = document["profile"]["columns"][0]["bins"]
    most = max(one["n"] for one in bins)
    card = text[text.index('id="column-1"') : text.index('id="column-2"')]
    paths = [re.findall(r"M(\S+) (\S+)h10v(\S+?)h-10z", d) for d in re.findall(r' d="(.*?)"', card)]
    assert len(paths) == 4
    for k in range(2):
        drawn = {float(x): float(height) for x, _, height in paths[k]}
        counts = {12 * i: one.get("by_class", [0, 0])[k] for i, one in enumerate(bins)}
        assert drawn == pytest.approx({x: 34 * n / most for x, n in counts.items() if n}, rel=1e-3)
    shares = [float(height) / 20 for _, _, height in paths[3]]
    own = [one["by_class"][1] / one["n"] for one in bins if one.get("by_class", [0, 0])[1]]
    assert shares == pytest.approx(own, rel=1e-3)


# ----------------------------------------------------------------------------------------- refusals


def test_what_is_refused(ran, tmp_path):
    code, _, err = ran("bank.csv", "--target", "gekundigt")
    assert code == 3
    assert "did you mean 'gekündigt'?" in err
    (tmp_path / "mine.html").write_text("mine")
    code, _, err = ran("bank.csv", "--report", "mine.html")
    assert code == 2
    assert "is not a report of separatrix" in err
    assert (tmp_path / "mine.html").read_text() == "mine"
    code, _, err = ran("hospital.csv", "--target", "certificate")
    assert code == 3
    assert "--drop-missing-target" in err
    assert ran("hospital.csv", "--target", "certificate", "--drop-missing-target")[0] == 0


def test_a_sample_of_a_table_that_is_too_large(exports, tmp_path, monkeypatch, capsys):
    path = tmp_path / "large.csv"
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, 60_000)
    path.write_text("x,k\n" + "".join(f"{v},{'ab'[v % 2]}\n" for v in values.tolist()))
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", str(path), "--memory", "1MB", "--report", "page.html"]) == 0
    out = capsys.readouterr().out
    assert "50,000 rows of 60,000, because the table takes more than --memory" in out
    assert "sample of" in (tmp_path / "page.html").read_text("utf-8")
    document = json.loads((tmp_path / "page.json").read_text())
    assert (document["profile"]["n_rows"], document["profile"]["n_profiled"]) == (60_000, 50_000)


def test_columns_of_a_table_that_is_too_large_are_described_by_all_rows(tmp_path, ran):
    rng = np.random.default_rng(2)
    n = 52_000
    rare = rng.permutation(n)[:3]
    towns = np.array(["Ulm", "ulm", "Bern", "Linz"])[rng.integers(4, size=n)]
    towns[rare] = "Wien"
    weights = [f"{one:.0f} kg" for one in rng.normal(70.0, 9.0, n)]
    days = np.datetime64("2021-01-01") + rng.integers(900, size=n)
    sodium = rng.integers(120, 160, n)
    sodium[rng.permutation(n)[:40]] = -999
    y = np.where(rng.random(n) < 0.3, "yes", "no")
    rows = zip(towns, weights, days, sodium, y, strict=True)
    lines = ["town,weight,day,sodium,ill", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    found = []
    for memory in ("4GB", "4MB"):
        words = (tmp_path / "t.csv", "--target", "ill", "--memory", memory, "--report", "p.html")
        code, out, err = ran(*words)
        assert code == 0, err
        found.append(json.loads((tmp_path / "p.json").read_text())["profile"])
        assert ("the columns below, by all 52,000 rows" in out) == (memory == "4MB")
    whole, passes = found
    assert (passes["n_described"], passes["n_profiled"]) == (n, 50_000)
    assert passes["classes"] == whole["classes"]
    of_pairs = ("association", "measure", "missing_association")
    for one, other in zip(whole["columns"], passes["columns"], strict=True):
        # What a column has to do with the target is of the sample.
        for name in set(one) - set(of_pairs):
            assert other[name] == one[name], (one["name"], name)
    assert "The cards of the columns are of all rows" in (tmp_path / "p.html").read_text("utf-8")


# ------------------------------------------------------------------------------------------- Python


def test_python_has_the_same(ran, exports):
    table = read_table(exports / "bank.csv", target="gekündigt")
    found = diagnose(table, target="gekündigt", profile=True)
    document, _, codes = document_of(ran, "bank.csv", "--target", "gekündigt")
    own = {**document["profile"], "source": found.profile.source}
    assert json.loads(json.dumps(found.profile.to_dict())) == own
    assert {one.code for one in found} == set(codes)
    # The table is as it was.
    again = read_table(exports / "bank.csv", target="gekündigt")
    assert table.fingerprint() == again.fingerprint()
    with pytest.raises(ValueError, match="profile=True"):
        Report.from_diagnosis(diagnose(table, target="gekündigt"))


def test_a_table_with_codes_for_missing_values_stays_as_it_was(exports):
    table = read_table(exports / "hospital.csv")
    before = table.fingerprint()
    diagnose(table, target="died", profile=True)
    assert table.fingerprint() == before


def test_arrays_and_columns_in_memory():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    found = diagnose(X, X @ [1.0, 2.0, 0.0], profile=True)
    assert found.profile.target == "target"
    assert [one.name for one in found.profile.columns[:2]] == ["column 0", "column 1"]
    assert found.profile.columns[1].association == pytest.approx(0.9, abs=0.05)
    assert found.classes == ()
    only = diagnose(X, checks=["collinear", "classes"])
    assert only.checked == ("collinear",)
    words = diagnose({"x": X[:, 0], "k": ["a", "b"] * 100}, ["u", "v"] * 100)
    assert [one.code for one in words if one.where.get("columns") == ["k"]] == ["gives_label_away"]
    page = Report.from_diagnosis(found, data="three columns").to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "three columns" in page
    with pytest.raises(ValueError, match="as target"):
        diagnose({"x": X[:, 0]}, X[:, 1], target="x")


def test_random_tables_are_described_and_every_row_is_in_a_bar():
    rng = np.random.default_rng(3)
    for _ in range(30):
        n = int(rng.integers(1, 60))
        columns = {}
        for j in range(int(rng.integers(1, 6))):
            kind = rng.integers(5)
            values = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
            if kind == 0:
                values = rng.integers(-2, 3, n).astype(float)
            if kind == 1:
                values = np.array(["u", "v w x y", "ü"], dtype=object)[rng.integers(0, 3, n)]
            if kind == 2:
                values = rng.random(n) < 0.5
            if kind == 3:
                values = rng.integers(0, 9999, n).astype("datetime64[D]")
            cells = list(values)
            for i in np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.3, 1.0])):
                cells[i] = np.datetime64("NaT") if kind == 3 else None
            columns[f"c{j}"] = np.array(cells, dtype="datetime64[D]") if kind == 3 else cells
        table = Table.from_columns(columns)
        found = diagnose(table, profile=True)
        for one in found.profile.columns:
            if one.bins:
                assert sum(part.n for part in one.bins) == n
                assert sum(part.n for part in one.bins if part.missing) == one.n_missing
        json.dumps(found.to_dict(), allow_nan=False)
