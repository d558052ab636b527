"""``--test``, ``--group``, ``--time``, ``--weight`` and ``--drop-missing-target``, as files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.conftest import write_csv

from separatrix import LogisticRegression, load_model

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def visits(tmp_path):
    """Two rows a patient at least, over a year, of which two lack the label."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        x, w = rng.normal(), int(rng.integers(0, 4))
        label = "yes" if x + 0.7 * rng.normal() > 0 else "no"
        day = f"2024-{1 + i // 40:02d}-{1 + i % 28:02d}"
        rows.append([f"p{rng.integers(0, 30)}", day, f"{x:.3f}", w, "" if i in (3, 50) else label])
    return write_csv(tmp_path / "visits.csv", ["who", "day", "x", "w", "target"], rows)


def again(run, model, data):
    """Everything that finds the rows of the fit again."""
    assert run("verify", model, data).code == 0
    ran = run("report", model, data, "-o", "r.html", "--json")
    assert ran.code == 0 and ran.document["data"]["same_data"]
    return ran.document


def test_rows_without_a_label(run, visits):
    ran = run("fit", visits)
    assert ran.code == 3
    assert "lacks 2 of 400 labels, the first in row 4; fill them in, or leave" in ran.err
    assert "with --drop-missing-target" in ran.err
    ran = run("fit", visits, "--drop-missing-target", "-o", "m.s")
    assert ran.code == 0 and "2 rows without 'target' left out" in ran.err
    again(run, "m.s", visits)
    assert run("evaluate", "m.s", visits).lines["rows"] == "398"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "who"], "(by 'who', seed 0)"),
        (["--time", "day"], "80 held out (the latest by 'day')"),
        (["--weight", "w"], "(stratified, seed 0)"),
        (["--group", "who", "--weight", "w", "--model", "svm"], "(by 'who', seed 0)"),
        (["--weight", "w", "--model", "lda"], "(stratified, seed 0)"),
    ],
)
def test_rows_are_found_again(run, visits, tmp_path, words, said):
    ran = run("fit", visits, "--drop-missing-target", *words, "-o", "m.s")
    assert ran.code == 0 and said in ran.lines["split"]
    document = again(run, "m.s", visits)
    fitted = load_model(tmp_path / "m.s").provenance["split"]["fit_rows"]
    parts = {part["rows"]: part["n"] for part in document["metrics"]}
    assert parts["fit"] == fitted and parts["held_out"] == 398 - fitted
    # The report does the same again in Python.
    code = document["reproduce"]["python"]
    names: dict[str, object] = {}
    exec(code, names)
    assert len(names["fitted"]) == fitted
    stored = load_model(tmp_path / "m.s").model
    assert np.allclose(names["model"].coef_, stored.coef_, atol=1e-6)


def test_weights_are_copies(run, visits, tmp_path):
    run("fit", visits, "--drop-missing-target", "--weight", "w", "--test-size", "0", "-o", "m.s",
        "--tol", "1e-10", "--ignore", "who", "--ignore", "day")  # fmt: skip
    model = load_model(tmp_path / "m.s").model
    rows = [line.split(",") for line in visits.read_text().splitlines()[1:]]
    rows = [row for row in rows if row[4]]
    x = np.array([float(row[2]) for row in rows])[:, None]
    x = (x - x.mean()) / x.std()
    y, w = np.array([row[4] for row in rows]), np.array([int(row[3]) for row in rows])
    copies = np.repeat(np.arange(len(y)), w)
    same = LogisticRegression(tol=1e-10).fit(x[copies], y[copies])
    assert np.allclose(model.coef_, same.coef_, atol=1e-5)


def test_a_table_to_measure_on(run, visits, tmp_path):
    lines = visits.read_text().splitlines()
    (tmp_path / "later.csv").write_text("\n".join([lines[0], *lines[300:]]) + "\n")
    (tmp_path / "early.csv").write_text("\n".join(lines[:300]) + "\n")
    words = ["--test", "later.csv", "--drop-missing-target", "--ignore", "who"]
    ran = run("fit", "early.csv", *words, "-o", "m.s", "--report", "r.html")
    assert ran.code == 0 and "ignored" not in ran.err
    assert ran.lines["split"] == "297 to fit, 101 rows of later.csv to measure on"
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert [part["n"] for part in document["metrics"]] == [101, 297]
    held = load_model(tmp_path / "m.s").provenance["held_out"]
    own = run("evaluate", "m.s", "later.csv", "--json").document["scores"]
    assert own["accuracy"] == held["accuracy"] and own["brier"] == pytest.approx(held["brier"])
    (tmp_path / "odd.csv").write_text("who,day,x,w,target\np1,2024-01-01,1,1,maybe\n")
    ran = run("fit", "early.csv", "--test", "odd.csv", "--drop-missing-target")
    assert ran.code == 3 and "'maybe' is not a class of the model" in ran.err


def test_comparisons_by_group(run, visits):
    words = ["--drop-missing-target", "--group", "who", "--weight", "w", "--models", "lda,stump"]
    ran = run("compare", visits, *words)
    assert ran.code == 0 and ran.lines["folds"] == "5, stratified, seed 0; by 'who'"
    assert "--group=who --weight=w" in ran.lines["to fit"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--test", "x.csv", "--time", "day"],
            "--test and --time both choose the rows to measure on",
        ),
        (["--group", "who", "--time", "day"], "give one of them"),
        (["--weight", "target"], "--weight names the column to predict"),
        (["--group", "who", "--ignore", "who"], "--group who names a column that is left out"),
    ],
)
def test_what_cannot_be_meant(run, visits, words, said):
    ran = run("fit", visits, *words)
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1
